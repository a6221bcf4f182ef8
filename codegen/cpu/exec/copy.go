package exec

import (
	"unsafe"

	"github.com/gompss/gompss/codegen/cpu/image"
)

const (
	quad      = 4 * 4096
	leastMove = 4 * quad
	mostQuads = 32 // between two points at which the goroutine can be stopped
)

// moveQuads is movePages. The goroutine can be stopped where it begins, as it looks at the stack.
//
//go:noinline
func moveQuads(dst, src unsafe.Pointer, quads int64) { movePages(dst, src, quads) }

// movePast copies for iterations [lo, hi) and reports whether it could: all is in range, nothing
// overlaps, and it is worth while.
func movePast(c image.CopyLoop, b *image.Block, lo, hi int64) bool {
	lo, hi = lo+c.First, hi+c.First
	n := (hi - lo) * c.Size
	if n < leastMove || hi > int64(b[c.Dst+1]) || hi > int64(b[c.Src+1]) {
		return false
	}
	off := uint64(lo * c.Size)
	dst, src := b[c.Dst]+off, b[c.Src]+off
	if dst-src < uint64(n) || src-dst < uint64(n) {
		return false
	}
	// Safe: both ranges were just found to lie in slices that the caller keeps alive.
	to, from := unsafe.Slice((*byte)(*(*unsafe.Pointer)(unsafe.Pointer(&dst))), n), unsafe.Slice((*byte)(*(*unsafe.Pointer)(unsafe.Pointer(&src))), n)
	b[image.WordStatus] = image.StatusRunning // a fault here is one of the kernel
	head := int64(-dst & 31)
	copy(to[:head], from)
	quads := (n - head) / quad
	for at, rest := head, quads; rest > 0; at, rest = at+mostQuads*quad, rest-mostQuads {
		moveQuads(unsafe.Pointer(&to[at]), unsafe.Pointer(&from[at]), min(rest, mostQuads))
	}
	copy(to[head+quads*quad:], from[head+quads*quad:])
	b[image.WordStatus] = image.StatusDone
	return true
}
