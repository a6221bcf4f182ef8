//go:build linux && (amd64 || arm64)

package opencl

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gompss/gompss/deps"
)

// A region is copied in as few boxes as OpenCL takes, which have each of its bytes once.
func TestEachRect_FewBoxesAndEveryByteOnce(t *testing.T) {
	region := func(offset int64, dims ...deps.Dim) deps.Region {
		r := deps.Region{N: uint8(len(dims)), Offset: offset}
		copy(r.Dims[:], dims)
		return r
	}
	const elem = 4
	for _, c := range []struct {
		what  string
		r     deps.Region
		boxes int
	}{
		{"an interval", region(7, deps.Dim{Count: 100, Stride: 1}), 1},
		{"rows", region(3, deps.Dim{Count: 5, Stride: 20}, deps.Dim{Count: 8, Stride: 1}), 1},
		{"rows in planes", region(3, deps.Dim{Count: 3, Stride: 100}, deps.Dim{Count: 5, Stride: 20}, deps.Dim{Count: 8, Stride: 1}), 1},
		{"every third element", region(1, deps.Dim{Count: 9, Stride: 3}), 1},
		{"elements of rows", region(1, deps.Dim{Count: 4, Stride: 30}, deps.Dim{Count: 9, Stride: 3}), 1},
		{"planes that are no multiple of a row apart", region(0, deps.Dim{Count: 3, Stride: 101}, deps.Dim{Count: 5, Stride: 20}, deps.Dim{Count: 8, Stride: 1}), 3},
		{"boxes of planes", region(0, deps.Dim{Count: 2, Stride: 1000}, deps.Dim{Count: 3, Stride: 100}, deps.Dim{Count: 5, Stride: 20}, deps.Dim{Count: 8, Stride: 1}), 2},
	} {
		t.Run(c.what, func(t *testing.T) {
			boxes, seen := 0, map[deps.Bytes]int{}
			eachRect(c.r, elem, func(b rect) {
				boxes++
				for z := range b.depth {
					for y := range b.height {
						for x := range b.width {
							seen[b.offset+z*b.plane+y*b.pitch+x]++
						}
					}
				}
			})
			require.Equal(t, c.boxes, boxes)
			n := 0
			for lo, hi := range c.r.Runs() {
				for at := lo * elem; at < hi*elem; at++ {
					require.Equal(t, 1, seen[deps.Bytes(at)], "byte %d", at)
					n++
				}
			}
			require.Len(t, seen, n)
		})
	}
}
