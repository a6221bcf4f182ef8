package analysis_test

import (
	"fmt"
	"math"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gompss/gompss/codegen/internal/analysis"
	"github.com/gompss/gompss/codegen/ir"
	"github.com/gompss/gompss/codegen/ir/build"
)

// turns is the number of iterations that Go makes of a loop, false where they are more than most.
func turns(rel ir.Op, unsigned bool, lo, hi, step int64, most int) (n int, ok bool) {
	less := func(x, y int64) bool {
		if unsigned {
			return uint64(x) < uint64(y)
		}
		return x < y
	}
	holds := map[ir.Op]func(x int64) bool{
		ir.Lt: func(x int64) bool { return less(x, hi) }, ir.Le: func(x int64) bool { return !less(hi, x) },
		ir.Gt: func(x int64) bool { return less(hi, x) }, ir.Ge: func(x int64) bool { return !less(x, hi) }}[rel]
	for x := lo; holds(x); x += step {
		if n++; n > most {
			return 0, false
		}
	}
	return n, true
}

// Loops whose constant bounds lie near the ends of the counter's type, before or behind each other,
// run as often as Go runs them: by build.Trips and by ConstTrips.
func TestTrips_OfConstantsNearTheEnds(t *testing.T) {
	var near []int64
	for _, base := range []int64{math.MinInt64, -1, 0, math.MaxInt64} {
		for _, d := range []int64{-21, -3, -1, 0, 1, 3, 21} {
			near = append(near, base+d)
		}
	}
	const most = 100
	ran := 0
	for _, typ := range []*ir.Type{ir.IntType, ir.Uint64Type} {
		unsigned := typ.Kind == ir.Uint64
		constant := func(x int64) ir.Expr { return &ir.Const{T: typ, Bits: ir.Bits(x)} }
		for _, rel := range []ir.Op{ir.Lt, ir.Le, ir.Gt, ir.Ge} {
			for _, step := range []int64{1, 2, 7} {
				if rel == ir.Gt || rel == ir.Ge {
					step = -step
				}
				for _, lo := range near {
					for _, hi := range near {
						want, ok := turns(rel, unsigned, lo, hi, step, most)
						if !ok {
							continue
						}
						f := &ir.For{Var: &ir.Var{Name: "i", Type: typ}, Lo: constant(lo), Hi: constant(hi), Step: constant(step), Rel: rel}
						n := build.Trips(f, build.Int(lo, f.At), build.Int(hi, f.At), build.Int(step, f.At))
						got, err := ir.EvalInt(n, ir.Values{})
						require.NoError(t, err)
						require.EqualValues(t, want, got, fmt.Sprint(typ.Kind, rel, lo, hi, step))
						got, known := analysis.ConstTrips(f)
						require.True(t, known || unsigned) // constants of 2^63 and more have no int64
						if known {
							require.EqualValues(t, want, got, fmt.Sprint(typ.Kind, rel, lo, hi, step))
						}
						ran++
					}
				}
			}
		}
	}
	require.Greater(t, ran, 5000)
}
