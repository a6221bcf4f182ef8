package exec

import "github.com/gompss/gompss/codegen/cpu/image"

// The parts of a loop whose reductions round are combined in their order when all are complete,
// whichever workers have made them. What rounds nothing is combined as it comes.

// openParts makes room for the parts.
func (l *Loop) openParts() {
	if l.each = 0; l.stage.Leaf == 0 {
		return
	}
	for _, s := range l.stage.Sums {
		if s.Ordered() {
			l.each += s.PartBytes()
		}
	}
	if need := l.each * l.Trips; int64(cap(l.parts)) < need {
		l.parts = make([]byte, need)
	} else {
		l.parts = l.parts[:need]
	}
}

// fold takes in what a call has left in its block for part k of the loop.
func (l *Loop) fold(own *image.Block, k int64) {
	at := l.each * k
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, s := range l.stage.Sums {
		if l.each == 0 || !s.Ordered() {
			s.Fold(l.master, own)
			continue
		}
		s.SavePart(l.parts[at:at+s.PartBytes()], own)
		at += s.PartBytes()
	}
}

// foldParts combines the parts with what was there before the loop.
func (l *Loop) foldParts() {
	if l.each == 0 {
		return
	}
	for at := int64(0); at < int64(len(l.parts)); {
		for _, s := range l.stage.Sums {
			if s.Ordered() {
				s.FoldPart(l.master, l.parts[at:at+s.PartBytes()])
				at += s.PartBytes()
			}
		}
	}
}
