package exec

import (
	"unsafe"

	"github.com/gompss/gompss/codegen/cpu/image"
	"github.com/gompss/gompss/codegen/ir/order"
)

// The parts of a loop whose reductions round are the values of groups of iterations. They are
// combined in their order when all are complete, whichever workers have made them. What rounds
// nothing is combined as it comes.

// openParts makes room for the parts.
func (l *Loop) openParts() {
	if l.each = 0; !l.stage.Order.Shows() {
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

// aim lets a call from iteration lo on leave the values of its groups among the parts, and returns
// how many iterations it may have: those of as many groups as n allow, or of one.
func (l *Loop) aim(b *image.Block, lo, n int64) int64 {
	b[image.WordBlock] = uint64(l.part / l.stage.Order.Blocks)
	if !l.stage.Order.Groups {
		return l.part
	}
	// Safe: memory without pointers, which the loop keeps and the allocator never moves.
	b[image.WordGroups] = uint64(uintptr(unsafe.Pointer(&l.parts[l.each*((lo-l.from)/l.part)])))
	return max(1, n/l.part) * l.part
}

// aimGroups is aim for a loop of so many iterations that is one group.
func (l *launch) aimGroups(s *image.Stage, trips int64) {
	l.block[image.WordBlock] = uint64(s.Order.Length(trips))
	// Safe: memory of the launch, which the allocator never moves.
	l.block[image.WordGroups] = uint64(uintptr(unsafe.Pointer(&l.group)))
}

// takeGroup puts the values of the group into the words.
func (l *launch) takeGroup(s *image.Stage) {
	k := 0
	for _, x := range s.Sums {
		if x.Ordered() {
			l.block[x.Word] = l.group[k]
			k++
		}
	}
}

// fold takes in what a call has left in its block for part k of the loop.
func (l *Loop) fold(own *image.Block, k int64) {
	at := l.each * k
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, s := range l.stage.Sums {
		switch {
		case l.each == 0 || !s.Ordered():
			s.Fold(l.master, own)
		case !l.stage.Order.Groups:
			s.SavePart(l.parts[at:at+s.PartBytes()], own)
			at += s.PartBytes()
		}
	}
}

// foldParts combines the parts, and then the result with what was there before the loop, in the
// order that package order defines.
func (l *Loop) foldParts() {
	if l.each == 0 || l.Trips == 0 {
		return
	}
	for k := int64(order.LastLanes); k < l.Trips; k++ {
		l.meet(k%order.LastLanes, k)
	}
	parts := min(l.Trips, order.LastLanes)
	for k := int64(order.Lanes); k < parts; k++ {
		l.meet(k%order.Lanes, k)
	}
	for n := int64(order.Lanes / 2); n > 0; n /= 2 {
		for k := int64(0); k < min(n, parts-n); k++ {
			l.meet(k, k+n)
		}
	}
	at := int64(0)
	for _, s := range l.stage.Sums {
		if s.Ordered() {
			s.FoldPart(l.master, l.parts[at:at+s.PartBytes()])
			at += s.PartBytes()
		}
	}
}

// meet combines part k into part i.
func (l *Loop) meet(i, k int64) {
	to, from := l.each*i, l.each*k
	for _, s := range l.stage.Sums {
		if s.Ordered() {
			s.CombineParts(l.parts[to:to+s.PartBytes()], l.parts[from:from+s.PartBytes()])
			to, from = to+s.PartBytes(), from+s.PartBytes()
		}
	}
}
