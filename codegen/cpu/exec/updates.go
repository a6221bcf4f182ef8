package exec

import (
	"unsafe"

	"github.com/gompss/gompss/codegen/cpu/image"
)

// Copies are worth it where the loop takes some calls, and combining one takes a small part of
// that.
const (
	perCombined   = 2000 // picoseconds an element
	combinedPart  = 8
	fewestCalls   = 4
	mostCopyBytes = 16 << 20
)

// worthCopies reports whether several workers shall run a loop that takes so many picoseconds with
// copies.
func worthCopies(u *image.SharedUpdates, b *image.Block, expected int64) bool {
	elements, bytes := int64(0), int64(0)
	for _, x := range u.Slices {
		n := int64(b[x.Word+1])
		elements, bytes = elements+n, bytes+n*int64(x.Type.Size)
	}
	return expected >= fewestCalls*int64(callTime)*1000 && bytes <= mostCopyBytes && elements*perCombined*combinedPart <= expected
}

// A copySet holds the copies of one worker; nil memory means the slices themselves.
type copySet struct{ memory [][]byte }

// takeCopies gives a worker a set that no other one uses: the slices themselves to the first.
func (l *Loop) takeCopies(b *image.Block) *copySet {
	l.mu.Lock()
	if n := len(l.idleCopies); n > 0 {
		s := l.idleCopies[n-1]
		l.idleCopies = l.idleCopies[:n-1]
		l.mu.Unlock()
		return s
	}
	s := &copySet{}
	first := len(l.copies) == 0
	l.copies = append(l.copies, s)
	l.mu.Unlock()
	if !first {
		for _, x := range l.stage.Updates.Slices {
			s.memory = append(s.memory, x.CopyOf(int64(b[x.Word+1])))
		}
	}
	return s
}

func (l *Loop) giveBackCopies(s *copySet) {
	l.mu.Lock()
	l.idleCopies = append(l.idleCopies, s)
	l.mu.Unlock()
}

// combineCopies ends the copies, and adds what the workers have in them to the slices where no
// worker failed.
func (l *Loop) combineCopies(master *image.Block, whole bool) {
	sets := l.copies
	l.copies, l.idleCopies = nil, nil
	if !whole {
		return
	}
	for _, s := range sets {
		for i, m := range s.memory {
			x := &l.stage.Updates.Slices[i]
			if len(m) > 0 {
				// Safe: the slice that the argument is, which the caller keeps alive, and whose
				// length the block holds.
				to := unsafe.Slice((*byte)(*(*unsafe.Pointer)(unsafe.Pointer(&master[x.Word]))), len(m))
				x.CombineAll(to, m)
			}
		}
	}
}

// bind lets a block use the copies.
func (s *copySet) bind(b *image.Block, u *image.SharedUpdates) {
	for i, m := range s.memory {
		if len(m) > 0 {
			b[u.Slices[i].Word] = uint64(uintptr(unsafe.Pointer(&m[0])))
		}
	}
}
