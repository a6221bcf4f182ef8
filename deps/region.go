package deps

import (
	"fmt"
	"iter"
	"sort"
	"strings"
)

// MaxDims is the largest number of dimensions of a region.
const MaxDims = 4

// A Dim is one dimension of a region: Count indices, Stride elements apart.
type Dim struct{ Count, Stride int64 }

// A Region is the set of elements Offset + i0*Dims[0].Stride + i1*Dims[1].Stride + ... of a buffer, with 0 <= ik < Dims[k].Count,
// for the first N dimensions. The zero Region is empty.
//
// Regions made by Interval, Box and Strided are canonical: strides are positive and descend, a dimension steps over the
// whole extent of those inside it, dimensions of one index are left out and two that form an even progression are one. So
// regions with the same elements are == (a single element is {N: 1, Count 1, Stride 1}).
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

// Box returns the half-open box lo to hi of the row-major array with extents shape whose first element is element offset of b.
// The outermost extent may be -1: unknown. Errors: wrong numbers of dimensions, a box outside of the shape.
func Box(b BufferID, offset int64, shape, lo, hi []int64) (Region, error) {
	n := len(shape)
	if n == 0 || n > MaxDims || len(lo) != n || len(hi) != n {
		return Region{}, fmt.Errorf("deps: box: %d extents, %d lower and %d upper bounds: want the same number, 1 to %d", n, len(lo), len(hi), MaxDims)
	}
	dims := make([]Dim, n)
	stride := int64(1)
	for k := n - 1; k >= 0; k-- {
		unknown := k == 0 && shape[0] < 0
		if lo[k] < 0 || hi[k] > shape[k] && !unknown {
			return Region{}, fmt.Errorf("deps: box: dimension %d: [%d:%d] is outside of 0 to %d", k, lo[k], hi[k], shape[k])
		}
		if hi[k] <= lo[k] {
			return Region{Buffer: b}, nil
		}
		dims[k] = Dim{hi[k] - lo[k], stride}
		offset += lo[k] * stride
		if !unknown {
			stride *= shape[k]
		}
	}
	return Strided(b, offset, dims)
}

// Strided returns the region with the given dimensions, in any order and with strides of either sign. Errors: more than MaxDims
// dimensions that are needed, or dimensions that run into each other (an element would be named twice or out of order).
func Strided(b BufferID, offset int64, dims []Dim) (Region, error) {
	kept := make([]Dim, 0, MaxDims)
	for _, d := range dims {
		switch {
		case d.Count < 0:
			return Region{}, fmt.Errorf("deps: region: a dimension has %d elements", d.Count)
		case d.Count == 0:
			return Region{Buffer: b}, nil
		case d.Count == 1:
			continue
		case d.Stride < 0:
			offset += (d.Count - 1) * d.Stride
			d.Stride = -d.Stride
		}
		kept = append(kept, d)
	}
	sort.Slice(kept, func(i, j int) bool { return kept[i].Stride > kept[j].Stride })
	kept = mergeDims(kept)
	if len(kept) > MaxDims {
		return Region{}, fmt.Errorf("deps: region: %d dimensions, at most %d", len(kept), MaxDims)
	}
	r := Region{Buffer: b, Offset: offset, N: uint8(max(1, len(kept))), Dims: [MaxDims]Dim{{1, 1}}}
	extent := int64(1)
	for k := len(kept) - 1; k >= 0; k-- {
		if kept[k].Stride < extent {
			return Region{}, fmt.Errorf("deps: region: a stride of %d is less than the %d elements that it steps over", kept[k].Stride, extent)
		}
		extent = (kept[k].Count-1)*kept[k].Stride + extent
		r.Dims[k] = kept[k]
	}
	return r, nil
}

// mergeDims joins neighbouring dimensions that make one even progression.
func mergeDims(dims []Dim) []Dim {
	for k := len(dims) - 2; k >= 0; k-- {
		in := dims[k+1]
		if dims[k].Stride == in.Count*in.Stride {
			dims[k] = Dim{dims[k].Count * in.Count, in.Stride}
			dims = append(dims[:k+1], dims[k+2:]...)
		}
	}
	return dims
}

func mustStrided(b BufferID, offset int64, dims []Dim) Region {
	r, err := Strided(b, offset, dims)
	if err != nil {
		panic("gompss: bug: " + err.Error())
	}
	return r
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

// Runs yields the elements as runs [lo, hi), ascending and disjoint; maximal but where a strided row ends next to the following.
func (r Region) Runs() iter.Seq2[int64, int64] {
	return func(yield func(lo, hi int64) bool) {
		if r.N == 0 {
			return
		}
		outer, length := r.dims(), int64(1)
		if last := outer[len(outer)-1]; last.Stride == 1 {
			outer, length = outer[:len(outer)-1], last.Count
		}
		var at [MaxDims]int64
		for pos := r.Offset; ; {
			if !yield(pos, pos+length) {
				return
			}
			k := len(outer) - 1
			for ; k >= 0; k-- {
				at[k]++
				pos += outer[k].Stride
				if at[k] < outer[k].Count {
					break
				}
				pos -= at[k] * outer[k].Stride
				at[k] = 0
			}
			if k < 0 {
				return
			}
		}
	}
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
