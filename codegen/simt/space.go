package simt

import (
	"fmt"

	"github.com/gompss/gompss/codegen/ir"
)

// A space is the memory of a run, in segments: an address is a segment and an offset.
type space struct {
	segments [][]byte
	names    []string // of segments
	bases    []uint64 // address of each argument
	pads     []uint64 // address of each scratchpad
	padLens  []int64
}

// newSpace returns a space that has the segments of threads and teams alone.
func newSpace() space {
	return space{segments: make([][]byte, firstSegment), names: []string{"nil", "private memory", "team memory"}}
}

// bytes returns size bytes of memory at p.
func (s *space) bytes(p uint64, size int64) []byte {
	off := p & offsetMask
	return s.segments[p>>segmentShift][off : off+uint64(size)]
}

// place returns the address that an argument of type t starts with.
func (s *space) place(a Arg, t *ir.Type, ids map[*Memory]int) (uint64, error) {
	switch t.Kind {
	case ir.Struct, ir.Array:
		if hasAddress(t) {
			return 0, fmt.Errorf("type %s holds addresses, which bytes cannot", t)
		}
		if len(a.Bytes) != int(t.Size) {
			return 0, fmt.Errorf("%d bytes for type %s of %d", len(a.Bytes), t, int64(t.Size))
		}
		return 0, nil
	case ir.Slice, ir.Pointer:
	default:
		if ir.Normal(t, a.Bits) != a.Bits {
			return 0, fmt.Errorf("bits %#x are not extended as %s", a.Bits, t)
		}
		return 0, nil
	}
	n := a.Cap
	if t.Kind == ir.Pointer && a.Memory != nil {
		n = 1
	}
	if a.Len < 0 || a.Len > a.Cap {
		return 0, fmt.Errorf("length %d, capacity %d", a.Len, a.Cap)
	}
	return s.address(a, n, int64(t.Elem.Size), ids)
}

// address finds n elements of size bytes in the argument's buffer.
func (s *space) address(a Arg, n, size int64, ids map[*Memory]int) (uint64, error) {
	if a.Memory == nil {
		if n != 0 {
			return 0, fmt.Errorf("%d elements in no memory", n)
		}
		return 0, nil
	}
	have := int64(len(a.Memory.Bytes))
	if a.Offset < 0 || a.Offset > have || size > 0 && n > (have-a.Offset)/size {
		return 0, fmt.Errorf("%d elements of %d bytes from byte %d do not fit buffer %q of %d bytes", n, size, a.Offset,
			a.Memory.Name, have)
	}
	id, ok := ids[a.Memory]
	if !ok {
		id = s.segment(a.Memory.Name, a.Memory.Bytes)
		ids[a.Memory] = id
	}
	return pointer(int64(id), a.Offset), nil
}

func (s *space) segment(name string, b []byte) int {
	s.segments, s.names = append(s.segments, b), append(s.names, name)
	return len(s.segments) - 1
}

// copyLater makes the copies of the threads of a team that had until its barrier.
func (s *space) copyLater(threads []*thread) {
	for _, t := range threads {
		for _, c := range t.later {
			put(c.by, s.segments[c.to>>segmentShift][c.to&offsetMask:], c.value)
		}
		t.later = t.later[:0]
	}
}

func hasAddress(t *ir.Type) bool {
	found := false
	switch t.Kind {
	case ir.Slice, ir.Pointer:
		return true
	case ir.Array:
		return hasAddress(t.Elem)
	case ir.Struct:
		for _, f := range t.Fields {
			found = found || hasAddress(f.Type)
		}
	}
	return found
}
