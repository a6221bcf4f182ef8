package deps

import (
	"fmt"
	"iter"
	"strings"
)

// MaxDims is the largest number of dimensions of a region.
const MaxDims = 4

// A Dim is one dimension of a region: Count indices, Stride elements apart.
type Dim struct{ Count, Stride int64 }

// A Region is the set of elements Offset + i0*Dims[0].Stride + i1*Dims[1].Stride + ... of a buffer,
// with 0 <= ik < Dims[k].Count, for the first N dimensions. The zero Region is empty.
//
// Regions made by Interval, Box and Strided are canonical: strides are positive and descend, a
// dimension steps over the whole extent of those inside it, dimensions of one index are left out
// and two that form an even progression are one. So two regions of a buffer are == if and only if
// they have the same elements (a single element is {N: 1, Count 1, Stride 1}; what has no such form
// is refused by Strided).
type Region struct {
	Buffer BufferID
	N      uint8
	Offset int64
	Dims   [MaxDims]Dim
}

// Interval returns elements [lo, hi) of b; empty when hi <= lo.
func Interval(b BufferID, lo, hi int64) Region {
	if hi <= lo {
		return Region{Buffer: b}
	}
	return Region{Buffer: b, N: 1, Offset: lo, Dims: [MaxDims]Dim{{hi - lo, 1}}}
}

// Box returns the half-open box lo to hi of the row-major array with extents shape whose first
// element is element offset of b. The outermost extent may be -1: unknown. An index alone is the
// range lo, lo+1. No allocation but for errors. Errors: wrong numbers of dimensions, a box outside
// of the shape.
func Box(b BufferID, offset int64, shape, lo, hi []int64) (Region, error) {
	n := len(shape)
	if n == 0 || n > MaxDims || len(lo) != n || len(hi) != n {
		return Region{}, fmt.Errorf("deps: box: %d extents, %d lower and %d upper bounds: want the same number, 1 to %d", n, len(lo), len(hi), MaxDims)
	}
	var dims [MaxDims]Dim
	stride, empty := int64(1), false
	for k := n - 1; k >= 0; k-- {
		unknown := k == 0 && shape[0] < 0
		if lo[k] < 0 || hi[k] > shape[k] && !unknown {
			return Region{}, fmt.Errorf("deps: box: dimension %d: [%d:%d] is outside of 0 to %d", k+1, lo[k], hi[k], shape[k])
		}
		empty = empty || hi[k] <= lo[k]
		dims[k] = Dim{hi[k] - lo[k], stride}
		offset += lo[k] * stride
		if k > 0 && shape[k] > 0 && stride > maxElement/shape[k] {
			return Region{}, fmt.Errorf("deps: box: an array with extents %d has more than 2^62 elements", shape)
		}
		stride *= shape[k]
	}
	if empty {
		return Region{Buffer: b}, nil
	}
	return Strided(b, offset, dims[:n])
}

// maxElement bounds offsets and extents, so that sums of two cannot overflow.
const maxElement = 1 << 62

// Strided returns the region with the given dimensions, at most 2*MaxDims, in any order and with
// strides of either sign; a stride of 0 names one element again and again, and overlapping
// progressions are joined. No allocation but for errors. Errors: more than MaxDims dimensions are
// needed, or dimensions interleave so that no canonical form exists, such as strides 2 and 3.
func Strided(b BufferID, offset int64, dims []Dim) (Region, error) {
	var kept [2 * MaxDims]Dim
	if len(dims) > len(kept) {
		return Region{}, fmt.Errorf("deps: region: %d dimensions, at most %d", len(dims), len(kept))
	}
	n := 0
	for _, d := range dims {
		switch {
		case d.Count < 0:
			return Region{}, fmt.Errorf("deps: region: a dimension has %d elements", d.Count)
		case d.Count == 0:
			return Region{Buffer: b}, nil
		case d.Count == 1 || d.Stride == 0:
			continue
		case d.Stride < 0:
			offset += (d.Count - 1) * d.Stride
			d.Stride = -d.Stride
		}
		k := n
		for ; k > 0 && kept[k-1].Stride > d.Stride; k-- {
			kept[k] = kept[k-1]
		}
		kept[k] = d
		n++
	}
	n, err := joinDims(kept[:n])
	if err != nil {
		return Region{}, err
	}
	r := Region{Buffer: b, Offset: offset, N: uint8(max(1, n)), Dims: [MaxDims]Dim{{1, 1}}}
	for k := range n {
		r.Dims[n-1-k] = kept[k]
	}
	return r, nil
}

// joinDims makes dims, innermost first, canonical in place and returns how many are left.
func joinDims(dims []Dim) (int, error) {
	n, extent := 0, int64(0) // extent is the distance from the first element to the last
	for _, d := range dims {
		if d.Count-1 > (maxElement-extent)/d.Stride {
			return 0, fmt.Errorf("deps: region: %d times a stride of %d is more than 2^62 elements", d.Count, d.Stride)
		}
		extent += (d.Count - 1) * d.Stride
		if n > 0 {
			in := &dims[n-1]
			if steps := d.Stride / in.Stride; d.Stride%in.Stride == 0 && steps <= in.Count {
				in.Count += (d.Count - 1) * steps
				continue
			}
			if inner := extent - (d.Count-1)*d.Stride; d.Stride <= inner {
				return 0, fmt.Errorf("deps: region: a stride of %d is less than the %d elements that it steps over", d.Stride, inner+1)
			}
		}
		if n == MaxDims {
			return 0, fmt.Errorf("deps: region: more than %d dimensions", MaxDims)
		}
		dims[n] = d
		n++
	}
	return n, nil
}

// dims is the dimensions in use.
func (r *Region) dims() []Dim { return r.Dims[:r.N] }

// Empty reports whether r has no element.
func (r Region) Empty() bool { return r.N == 0 }

// Len is the number of elements.
func (r Region) Len() int64 {
	if r.N == 0 {
		return 0
	}
	n := int64(1)
	for _, d := range r.dims() {
		n *= d.Count
	}
	return n
}

// Bounds returns the smallest interval [lo, hi) that holds r.
func (r Region) Bounds() (lo, hi int64) {
	if r.N == 0 {
		return 0, 0
	}
	hi = r.Offset + 1
	for _, d := range r.dims() {
		hi += (d.Count - 1) * d.Stride
	}
	return r.Offset, hi
}

// Contiguous reports whether the elements of r are neighbours, without a gap.
func (r Region) Contiguous() bool { return r.N == 0 || r.N == 1 && r.Dims[0].Stride == 1 }

// Translate returns r moved by delta elements.
func (r Region) Translate(delta int64) Region {
	if r.N > 0 {
		r.Offset += delta
	}
	return r
}

// Runs yields the maximal runs [lo, hi) of neighbouring elements, ascending.
func (r Region) Runs() iter.Seq2[int64, int64] {
	return func(yield func(lo, hi int64) bool) {
		if r.N == 0 {
			return
		}
		outer, length := r.dims(), int64(1)
		if last := outer[len(outer)-1]; last.Stride == 1 {
			outer, length = outer[:len(outer)-1], last.Count
		}
		// The last element of a strided row may be the neighbour of the first one of the next row,
		// so a run waits for its successor.
		lo, hi := r.Offset, r.Offset+length
		var at [MaxDims]int64
		for pos := r.Offset; next(outer, &at, &pos); {
			if pos == hi {
				hi += length
				continue
			}
			if !yield(lo, hi) {
				return
			}
			lo, hi = pos, pos+length
		}
		yield(lo, hi)
	}
}

// next advances the indices at and the element pos to the next row, or reports that there is none.
func next(dims []Dim, at *[MaxDims]int64, pos *int64) bool {
	for k := len(dims) - 1; k >= 0; k-- {
		at[k]++
		*pos += dims[k].Stride
		if at[k] < dims[k].Count {
			return true
		}
		*pos -= at[k] * dims[k].Stride
		at[k] = 0
	}
	return false
}

// runCount is the number of runs.
func (r Region) runCount() int64 {
	if r.N == 0 {
		return 0
	}
	if last := r.Dims[r.N-1]; last.Stride == 1 {
		return r.Len() / last.Count
	}
	return r.Len()
}

// String is like "b3[0:4096]", or "b3[128; 16x64 stride 1024x1]" for strided regions.
func (r Region) String() string {
	lo, hi := r.Bounds()
	if r.Contiguous() {
		return fmt.Sprintf("b%d[%d:%d]", r.Buffer, lo, hi)
	}
	var counts, strides []string
	for _, d := range r.dims() {
		counts = append(counts, fmt.Sprint(d.Count))
		strides = append(strides, fmt.Sprint(d.Stride))
	}
	return fmt.Sprintf("b%d[%d; %s stride %s]", r.Buffer, lo, strings.Join(counts, "x"), strings.Join(strides, "x"))
}
