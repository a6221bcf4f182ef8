//go:build linux && (amd64 || arm64)

package codegen_test

import (
	"math/rand/v2"
	"reflect"
	"runtime/debug"
	"testing"
	"unsafe"

	"github.com/stretchr/testify/require"

	"github.com/gompss/gompss/codegen"
	"github.com/gompss/gompss/codegen/cpu"
)

// filled is n elements of any type without pointers, of small numbers.
func filled[T any](r *rand.Rand, n int) []T {
	x := make([]T, n)
	var fill func(v reflect.Value)
	fill = func(v reflect.Value) {
		switch {
		case v.Kind() == reflect.Struct:
			for i := range v.NumField() {
				fill(reflect.NewAt(v.Field(i).Type(), v.Field(i).Addr().UnsafePointer()).Elem())
			}
		case v.Kind() == reflect.Array:
			for i := range v.Len() {
				fill(v.Index(i))
			}
		case v.CanFloat():
			v.SetFloat(float64(float32(r.Float64()*8 - 4)))
		case v.Kind() == reflect.Bool:
			v.SetBool(r.IntN(2) == 0)
		case v.CanInt():
			v.SetInt(int64(r.IntN(21) - 10))
		default:
			v.SetUint(uint64(r.IntN(250)))
		}
	}
	for i := range x {
		fill(reflect.ValueOf(x).Index(i))
	}
	return x
}

var apartCases = []practiceCase{
	{ApartPair, "ApartPair", 0, func(r *rand.Rand, n int) []any { return []any{filled[apartPair](r, n), float32(1.5)} }},
	{ApartPoint, "ApartPoint", 0, func(r *rand.Rand, n int) []any {
		return []any{filled[apartPoint](r, n), filled[apartPoint](r, n), 0.25}
	}},
	{ApartPixel, "ApartPixel", 0, func(r *rand.Rand, n int) []any { return []any{filled[apartPixel](r, n), filled[apartPixel](r, n)} }},
	{ApartMixed, "ApartMixed", 0, func(r *rand.Rand, n int) []any { return []any{filled[apartMixed](r, n), filled[int32](r, n)} }},
	{ApartWide, "ApartWide", 0, func(r *rand.Rand, n int) []any { return []any{filled[apartWide](r, n), float32(0.5)} }},
	{ApartLong, "ApartLong", 0, func(r *rand.Rand, n int) []any { return []any{filled[apartLong](r, n)} }},
	{ApartSteps, "ApartSteps", 0, func(r *rand.Rand, n int) []any {
		return []any{n, filled[float32](r, 4*n), filled[float32](r, 3*n)}
	}},
	{ApartBack, "ApartBack", 0, func(r *rand.Rand, n int) []any {
		return []any{n, filled[float64](r, 3*n), filled[float64](r, 2*n)}
	}},
	{ApartTurned, "ApartTurned", 0, func(r *rand.Rand, n int) []any {
		return []any{n, filled[float64](r, 2*n), filled[float64](r, 3*n), filled[int32](r, n)}
	}},
	{ApartInner, "ApartInner", 0, func(r *rand.Rand, n int) []any {
		return []any{n, filled[int64](r, 5*n), filled[int64](r, 5*n)}
	}},
	{ApartFew, "ApartFew", 0, func(r *rand.Rand, n int) []any {
		return []any{n, filled[int32](r, 7*n), filled[int32](r, 4*n), filled[float64](r, 2*n)}
	}},
	{ApartBytes, "ApartBytes", 0, func(r *rand.Rand, n int) []any {
		return []any{n, belowOf[uint8](r, 5*n, 256), belowOf[uint8](r, 2*n, 256), randomOf[int8](r, 4*n), randomOf[int8](r, 2*n)}
	}},
	{ApartShorts, "ApartShorts", 0, func(r *rand.Rand, n int) []any {
		return []any{n, randomOf[uint16](r, 4*n), randomOf[uint16](r, 2*n), randomOf[int16](r, 4*n), randomOf[int16](r, 2*n)}
	}},
	{ApartBytesOfLong, "ApartBytesOfLong", 0, func(r *rand.Rand, n int) []any {
		return []any{n, belowOf[uint8](r, 5*n, 256), randomOf[int16](r, 3*n), randomOf[int64](r, 2*n), belowOf[uint8](r, 2*n, 256)}
	}},
	{RowsMixed, "RowsMixed", 0, func(r *rand.Rand, n int) []any { return []any{filled[rowsMixed](r, n), filled[int32](r, n), 0.125} }},
	{RowsBack, "RowsBack", 0, func(r *rand.Rand, n int) []any { return []any{n, filled[rowsMixed](r, n)} }},
	{RowsOnlySet, "RowsOnlySet", 0, func(r *rand.Rand, n int) []any { return []any{filled[rowsFour](r, n), filled[float32](r, n)} }},
	{RowsGuarded, "RowsGuarded", 0, func(r *rand.Rand, n int) []any { return []any{filled[rowsFour](r, n/2), filled[int32](r, n)} }},
	{RowsSame, "RowsSame", 0, func(r *rand.Rand, n int) []any { return []any{filled[rowsFour](r, n), filled[rowsFour](r, n)} }},
	{RowsInside, "RowsInside", 0, func(r *rand.Rand, n int) []any { return []any{n, filled[rowsArray](r, n), filled[float32](r, 4*n)} }},
	{RowsOwn, "RowsOwn", 0, func(r *rand.Rand, n int) []any { return []any{n, filled[float64](r, n), filled[float64](r, n)} }},
	{RowsFlag, "RowsFlag", 0, func(r *rand.Rand, n int) []any {
		return []any{filled[int32](r, n), filled[int32](r, n), filled[int32](r, n)}
	}},
	{ApartSame, "ApartSame", 0, func(r *rand.Rand, n int) []any { return []any{filled[apartPair](r, n), filled[apartPair](r, n)} }},
}

// apartKernels are the kernels of apart_kernels_test.go, and memory for their code.
func apartKernels(t *testing.T) (*codegen.Package, *cpu.Arena) {
	p, err := codegen.Load(codegen.File{Name: "apart_kernels_test.go", Text: apartSource})
	require.NoError(t, err)
	arena, err := cpu.NewArena()
	if err != nil {
		t.Skip(err)
	}
	t.Cleanup(func() { require.NoError(t, arena.Close()) })
	return p, arena
}

// TestElementsApartOnTheCPU has fields of structs and elements in steps, in order and turned, of
// every length of vector, between pages that without access: what is loaded and stored in whole
// vectors must be the elements alone.
func TestElementsApartOnTheCPU(t *testing.T) {
	t.Parallel()
	p, arena := apartKernels(t)
	defer debug.SetPanicOnFault(debug.SetPanicOnFault(true))
	for machine, o := range randomOptions(t) {
		for _, unroll := range []int{0, 1, 2, 4} {
			o.Unroll = unroll
			if o.Past {
				continue
			}
			for _, c := range apartCases {
				t.Run(machine+"/"+c.name, func(t *testing.T) {
					run, code := practiceKernel(t, p, arena, c, o)
					step := 1
					if unroll > 0 {
						step = 3
					}
					for n := unroll % step; n < 70; n += step {
						c.compare(t, run, code, n)
					}
					c.compare(t, run, code, 259+unroll)
				})
			}
		}
	}
}

// TestSlicesThatAreOneOnTheCPU passes one slice twice, or its elements as a slice of their own:
// what is kept of a row in registers must not hide what the other name has changed.
func TestSlicesThatAreOneOnTheCPU(t *testing.T) {
	p, arena := apartKernels(t)
	for _, o := range cpuMachines(t) {
		oneSlice(t, p, arena, o, "ApartSame", ApartSame)
		oneSlice(t, p, arena, o, "RowsSame", RowsSame)
		run, _ := practiceKernel(t, p, arena, practiceCase{name: "RowsInside"}, o)
		for n := range 70 {
			x := filled[rowsArray](rand.New(rand.NewPCG(1, uint64(n))), max(n, 1))
			want := append([]rowsArray{}, x...)
			flat := func(x []rowsArray) []float32 { return unsafe.Slice(&x[0].v[0], 4*len(x)) }
			RowsInside(n, want, flat(want))
			require.NoError(t, run.Call([]cpu.Value{cpuValue(reflect.ValueOf(n)), cpuValue(reflect.ValueOf(x)), cpuValue(reflect.ValueOf(flat(x)))}, nil))
			require.Equal(t, want, x)
		}
	}
}

func oneSlice[T any](t *testing.T, p *codegen.Package, arena *cpu.Arena, o cpu.Options, name string, fn func(x, y []T)) {
	t.Helper()
	run, _ := practiceKernel(t, p, arena, practiceCase{name: name}, o)
	for n := range 70 {
		x := filled[T](rand.New(rand.NewPCG(1, uint64(n))), n)
		want := append([]T{}, x...)
		fn(want, want)
		v := cpuValue(reflect.ValueOf(x))
		require.NoError(t, run.Call([]cpu.Value{v, v}, nil))
		require.Equal(t, want, x)
	}
}
