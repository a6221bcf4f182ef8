package codegen

import (
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/gompss/gompss/codegen/ir"
)

func integer(n int64) ir.Expr { return &ir.Const{T: ir.IntType, Bits: uint64(n)} }

func TestEvalRegion(t *testing.T) {
	x := &ir.Var{Name: "x", Type: ir.SliceOf(ir.Float32Type)}
	n := &ir.Var{Name: "n", Type: ir.IntType}
	ref := &ir.Ref{Var: n}
	env := ir.Values{n: {Bits: 4}}
	divide := &ir.Binary{Op: ir.Div, X: integer(1), Y: &ir.Binary{Op: ir.Sub, X: ref, Y: integer(4), T: ir.IntType}, T: ir.IntType, Checked: true}
	for _, c := range []struct {
		name   string
		region ir.Region
		want   []Box
		err    string
	}{
		{"whole", ir.Region{}, []Box{{Shape: []int64{20}, Lo: []int64{0}, Hi: []int64{20}}}, ""},
		{"element", ir.Region{Dims: []ir.Range{{Lo: ref}}}, []Box{{Shape: []int64{20}, Lo: []int64{4}, Hi: []int64{5}}}, ""},
		{"range", ir.Region{Dims: []ir.Range{{Lo: integer(1), Hi: ref}}}, []Box{{Shape: []int64{20}, Lo: []int64{1}, Hi: []int64{4}}}, ""},
		{"empty", ir.Region{Dims: []ir.Range{{Lo: ref, Hi: integer(4)}}}, nil, ""},
		{"empty outside", ir.Region{Dims: []ir.Range{{Lo: integer(70), Hi: integer(60)}}}, nil, ""},
		{"shaped", ir.Region{Shape: []ir.Expr{ref, integer(5)}, Dims: []ir.Range{{Lo: integer(1), Hi: integer(3)}}},
			[]Box{{Shape: []int64{4, 5}, Lo: []int64{1, 0}, Hi: []int64{3, 5}}}, ""},
		{"open", ir.Region{Shape: []ir.Expr{nil, integer(6)}, Dims: []ir.Range{{Lo: integer(2)}, {Lo: integer(1), Hi: integer(3)}}},
			[]Box{{Shape: []int64{3, 6}, Lo: []int64{2, 1}, Hi: []int64{3, 3}}}, ""},
		{"a tile", ir.Region{Shape: []ir.Expr{ref, integer(6)}, Dims: []ir.Range{{Lo: integer(1), Hi: ref}, {Lo: integer(0), Hi: integer(2)}}},
			[]Box{{Shape: []int64{4, 6}, Lo: []int64{1, 0}, Hi: []int64{4, 2}}}, ""},
		{"an open tile", ir.Region{Shape: []ir.Expr{nil, integer(6)}, Dims: []ir.Range{{Lo: integer(0), Hi: ref}, {Lo: integer(0), Hi: integer(2)}}},
			[]Box{{Shape: []int64{4, 6}, Lo: []int64{0, 0}, Hi: []int64{4, 2}}}, ""},
		{"behind a tile", ir.Region{Shape: []ir.Expr{ref, integer(6)}, Dims: []ir.Range{{Lo: integer(0), Hi: ref}, {Lo: integer(0), Hi: integer(3)}}}, nil,
			"its shape [4 6] has 24 elements, and the slice has 20"},
		{"behind an open tile", ir.Region{Shape: []ir.Expr{nil, integer(6)}, Dims: []ir.Range{{Lo: integer(0), Hi: integer(5)}, {Lo: integer(0), Hi: integer(1)}}}, nil,
			"it is [0:5], and dimension 1 of the shape has 3"},
		{"whole rows without a row", ir.Region{Shape: []ir.Expr{integer(5), integer(6)}, Dims: []ir.Range{{Lo: integer(0), Hi: integer(1)}}}, nil,
			"its shape [5 6] has 30 elements, and the slice has 20"},
		{"past the end", ir.Region{Dims: []ir.Range{{Lo: integer(1), Hi: integer(21)}}}, nil, "it is [1:21], and the slice has 20 elements"},
		{"before the start", ir.Region{Dims: []ir.Range{{Lo: integer(-1), Hi: integer(3)}}}, nil, "it is [-1:3], and the slice has 20 elements"},
		{"outside the shape", ir.Region{Shape: []ir.Expr{ref, integer(5)}, Dims: []ir.Range{{Lo: integer(0)}, {Lo: integer(5)}}}, nil,
			"it is [5:6], and dimension 2 of the shape has 5"},
		{"too large a shape", ir.Region{Shape: []ir.Expr{ref, integer(6)}}, nil, "its shape [4 6] has 24 elements, and the slice has 20"},
		{"negative shape", ir.Region{Shape: []ir.Expr{integer(-2), integer(6)}}, nil, "extent 1 of its shape, -2, is negative: -2"},
		{"huge shape", ir.Region{Shape: []ir.Expr{integer(1 << 40), integer(1 << 40)}}, nil, "has more elements than an int counts"},
		{"division by zero", ir.Region{Dims: []ir.Range{{Lo: divide}}}, nil, "divi"},
	} {
		t.Run(c.name, func(t *testing.T) {
			c.region.Var, c.region.Text, c.region.At = x, "x[...]", ir.Pos{File: "f.go", Line: 3, Col: 14}
			got, err := EvalRegion(c.region, 20, env)
			if c.err == "" {
				require.NoError(t, err)
				require.Equal(t, c.want, got)
				return
			}
			require.ErrorContains(t, err, c.err)
			require.ErrorContains(t, err, "f.go:3:14: region x[...] of parameter x: ")
			var region *RegionError
			require.ErrorAs(t, err, &region)
		})
	}
}

// TestInterval compares Interval with the elements that the box holds.
func TestInterval(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		n := rapid.IntRange(1, 3).Draw(t, "dims")
		b := Box{Shape: make([]int64, n), Lo: make([]int64, n), Hi: make([]int64, n)}
		for d := range n {
			b.Shape[d] = rapid.Int64Range(1, 4).Draw(t, "extent")
			b.Lo[d] = rapid.Int64Range(0, b.Shape[d]-1).Draw(t, "lo")
			b.Hi[d] = rapid.Int64Range(b.Lo[d]+1, b.Shape[d]).Draw(t, "hi")
		}
		held := elements(b, 0, 0)
		run := held[len(held)-1]-held[0]+1 == int64(len(held))
		lo, hi, ok := b.Interval()
		require.Equal(t, run, ok)
		if ok {
			require.Equal(t, []int64{held[0], held[len(held)-1] + 1}, []int64{lo, hi})
		}
	})
}

// elements returns the elements of b in order.
func elements(b Box, d int, at int64) []int64 {
	if d == len(b.Shape) {
		return []int64{at}
	}
	var out []int64
	for i := b.Lo[d]; i < b.Hi[d]; i++ {
		out = append(out, elements(b, d+1, at*b.Shape[d]+i)...)
	}
	return out
}
