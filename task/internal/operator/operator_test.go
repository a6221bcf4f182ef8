package operator

import (
	"fmt"
	"math"
	"testing"
	"unsafe"

	"github.com/gompss/gompss/codegen/ir"
	"github.com/gompss/gompss/deps"
	"github.com/stretchr/testify/require"
)

// laws checks that the neutral element changes no value, on either side.
func laws[T Number](t *testing.T, values []T, ops ...*Operator[T]) {
	for _, op := range ops {
		require.NoError(t, op.wrong)
		for _, x := range values {
			require.Equal(t, x, op.combine(op.neutral, x), op.name)
			require.Equal(t, x, op.combine(x, op.neutral), op.name)
		}
	}
}

func TestOperators_NeutralElements(t *testing.T) {
	laws(t, []int8{-128, -1, 0, 5, 127}, Sum[int8](), Product[int8](), Min[int8](), Max[int8](), And[int8](), Or[int8](), Xor[int8]())
	laws(t, []int64{math.MinInt64, -1, 0, math.MaxInt64}, Sum[int64](), Product[int64](), Min[int64](), Max[int64](), And[int64](), Or[int64](), Xor[int64]())
	laws(t, []uint16{0, 1, 65535}, Sum[uint16](), Product[uint16](), Min[uint16](), Max[uint16](), And[uint16](), Or[uint16](), Xor[uint16]())
	laws(t, []uint64{0, math.MaxUint64}, Min[uint64](), Max[uint64]())
	laws(t, []float32{-1.5, 0, 3, float32(math.Inf(1)), float32(math.Inf(-1))}, Sum[float32](), Product[float32](), Min[float32](), Max[float32]())
	laws(t, []float64{-1.5, 0, 3, math.Inf(1), math.Inf(-1)}, Min[float64](), Max[float64]())
}

// A kernel and a Go task that name the same operator on the same elements go together.
func TestOfKernel_HasTheKeyOfTheOperator(t *testing.T) {
	of := func(op ir.Op, kind ir.Kind) any {
		r, err := OfKernel(op, &ir.Type{Kind: kind, Size: 8})
		require.NoError(t, err)
		return r.Key
	}
	require.Equal(t, ReducerOf(Sum[int64]()).Key, of(ir.Add, ir.Int64))
	require.Equal(t, ReducerOf(Sum[int]()).Key, of(ir.Add, ir.Int64))
	require.Equal(t, ReducerOf(Max[float64]()).Key, of(ir.Max, ir.Float64))
	require.NotEqual(t, ReducerOf(Sum[int64]()).Key, of(ir.Mul, ir.Int64))
	require.NotEqual(t, ReducerOf(Sum[uint64]()).Key, of(ir.Add, ir.Int64))
	_, err := OfKernel(ir.And, &ir.Type{Kind: ir.Float64, Size: 8})
	require.ErrorContains(t, err, "of integers & | ^")
}

func TestReducer_ChangesItsRegionAlone(t *testing.T) {
	r := ReducerOf(Sum[int32]())
	dst, src := []int32{1, 2, 3, 4, 5, 6}, []int32{10, 20, 30, 40, 50, 60}
	region, err := deps.Box(1, 0, []int64{2, 3}, []int64{0, 1}, []int64{2, 3})
	require.NoError(t, err)
	r.Fold(unsafe.Pointer(&dst[0]), unsafe.Pointer(&src[0]), region)
	require.Equal(t, []int32{1, 22, 33, 4, 55, 66}, dst)
	r.Fill(unsafe.Pointer(&dst[0]), region)
	require.Equal(t, []int32{1, 0, 0, 4, 0, 0}, dst)
}

func TestReducer_ArraysElementByElement(t *testing.T) {
	r, err := OfKernel(ir.Max, &ir.Type{Kind: ir.Array, Elem: &ir.Type{Kind: ir.Int32, Size: 4}, Len: 2, Size: 8})
	require.NoError(t, err)
	dst, src := [][2]int32{{1, 9}, {5, 5}, {7, 7}}, [][2]int32{{3, 4}, {6, 2}, {8, 8}}
	region, err := deps.Box(1, 0, []int64{3}, []int64{0}, []int64{2})
	require.NoError(t, err)
	r.Fold(unsafe.Pointer(&dst[0]), unsafe.Pointer(&src[0]), region)
	require.Equal(t, "[[3 9] [6 5] [7 7]]", fmt.Sprint(dst))
}

func TestNewOperator_RefusesWhatItCannotUse(t *testing.T) {
	add := func(a, b int) int { return a + b }
	require.NoError(t, ReducerOf(NewOperator("add", 0, add)).Wrong)
	require.ErrorContains(t, ReducerOf(NewOperator("", 0, add)).Wrong, "without a name")
	require.ErrorContains(t, ReducerOf(NewOperator[int]("none", 0, nil)).Wrong, "is nil")
	require.Error(t, ReducerOf(NewOperator("p", nil, func(a, b *int) *int { return a })).Wrong)
	require.Error(t, ReducerOf[int](nil).Wrong)
	require.Error(t, ReducerOf(&Operator[int]{}).Wrong)
	require.NotEqual(t, ReducerOf(NewOperator("add", 0, add)).Key, ReducerOf(NewOperator("add", 0, add)).Key)
}
