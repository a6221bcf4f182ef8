package image

import (
	"unsafe"

	"github.com/gompss/gompss/codegen/ir"
)

// An UpdatedSlice is one that a loop touches by one atomic operation alone.
type UpdatedSlice struct {
	Sum
	Identity uint64
}

// SharedUpdates are the slices of a loop with atomics, and the words of the others that it uses:
// none of these may overlap the former.
type SharedUpdates struct {
	Slices []UpdatedSlice
	Others []OtherSlice
}

// An OtherSlice is a slice that a loop with atomics uses without updating it.
type OtherSlice struct {
	Word int   // of its address in the block; the length follows
	Size int64 // of an element
}

func overlap(b *Block, x int, xSize int64, y int, ySize int64) bool {
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

// Apart reports whether the updated slices of this launch lie apart from each other and from all
// others.
func (u *SharedUpdates) Apart(b *Block) bool {
	for i, x := range u.Slices {
		for _, y := range u.Slices[:i] {
			if overlap(b, x.Word, int64(x.Type.Size), y.Word, int64(y.Type.Size)) {
				return false
			}
		}
		for _, y := range u.Others {
			if overlap(b, x.Word, int64(x.Type.Size), y.Word, y.Size) {
				return false
			}
		}
	}
	return true
}

// CopyOf has n elements that are the identity.
func (x *UpdatedSlice) CopyOf(n int64) []byte {
	size := int64(x.Type.Size)
	m := make([]byte, n*size)
	if x.Identity != 0 {
		for at := int64(0); at < n*size; at += size {
			ir.StoreBits(x.Type, m[at:], ir.Bits(x.Identity))
		}
	}
	return m
}

// CombineAll is to[i] op= from[i] of all elements.
func (x *UpdatedSlice) CombineAll(to, from []byte) {
	switch {
	case x.Type.Kind == ir.Float64 && x.Op == ir.Add:
		addAll[float64](to, from)
	case x.Type.Kind == ir.Float32 && x.Op == ir.Add:
		addAll[float32](to, from)
	case x.Type.Size == 8 && x.Op == ir.Add:
		addAll[uint64](to, from)
	case x.Type.Size == 4 && x.Op == ir.Add:
		addAll[uint32](to, from)
	default:
		size := int(x.Type.Size)
		for at := 0; at < len(to); at += size {
			a, b := ir.LoadBits(x.Type, to[at:]), ir.LoadBits(x.Type, from[at:])
			ir.StoreBits(x.Type, to[at:], ir.Bits(x.combine(uint64(a), uint64(b))))
		}
	}
}
