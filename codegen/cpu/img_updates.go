package cpu

import (
	"unsafe"

	"github.com/gompss/gompss/codegen/ir"
)

// An updatedSlice is one that a loop touches by one atomic operation alone.
type updatedSlice struct {
	leagueSum
	identity uint64
}

// sharedUpdates are the slices of a loop with atomics, and the words of the others that it uses: none of these may overlap the former.
type sharedUpdates struct {
	slices []updatedSlice
	others []otherSlice
}

type otherSlice struct {
	word int
	size int64 // of an element
}

func overlap(b *block, x int, xSize int64, y int, ySize int64) bool {
	return b[x] < b[y]+b[y+1]*uint64(ySize) && b[y] < b[x]+b[x+1]*uint64(xSize)
}

func addAll[T float32 | float64 | uint32 | uint64](to, from []byte) {
	n := len(to) / int(unsafe.Sizeof(T(0)))
	// Safe: both hold elements of T, at their alignment.
	a, b := unsafe.Slice((*T)(unsafe.Pointer(&to[0])), n), unsafe.Slice((*T)(unsafe.Pointer(&from[0])), n)
	for i, v := range b {
		a[i] += v
	}
}

// apart tells whether the updated slices of this launch lie apart from each other and from all others.
func (u *sharedUpdates) apart(b *block) bool {
	for i, x := range u.slices {
		for _, y := range u.slices[:i] {
			if overlap(b, x.word, int64(x.t.Size), y.word, int64(y.t.Size)) {
				return false
			}
		}
		for _, y := range u.others {
			if overlap(b, x.word, int64(x.t.Size), y.word, y.size) {
				return false
			}
		}
	}
	return true
}

// copyOf has n elements that are the identity.
func (x *updatedSlice) copyOf(n int64) []byte {
	size := int64(x.t.Size)
	m := make([]byte, n*size)
	if x.identity != 0 {
		for at := int64(0); at < n*size; at += size {
			ir.StoreBits(x.t, m[at:], ir.Bits(x.identity))
		}
	}
	return m
}

// combineAll is to[i] op= from[i] of all elements.
func (x *updatedSlice) combineAll(to, from []byte) {
	switch {
	case x.t.Kind == ir.Float64 && x.op == ir.Add:
		addAll[float64](to, from)
	case x.t.Kind == ir.Float32 && x.op == ir.Add:
		addAll[float32](to, from)
	case x.t.Size == 8 && x.op == ir.Add:
		addAll[uint64](to, from)
	case x.t.Size == 4 && x.op == ir.Add:
		addAll[uint32](to, from)
	default:
		size := int(x.t.Size)
		for at := 0; at < len(to); at += size {
			a, b := ir.LoadBits(x.t, to[at:]), ir.LoadBits(x.t, from[at:])
			ir.StoreBits(x.t, to[at:], ir.Bits(x.combine(uint64(a), uint64(b))))
		}
	}
}
