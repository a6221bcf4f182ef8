//go:build linux && (amd64 || arm64)

package codegen_test

import (
	_ "embed"
	"math/rand/v2"
	"reflect"
	"runtime/debug"
	"testing"
	"unsafe"

	"github.com/stretchr/testify/require"

	"github.com/gompss/gompss/codegen"
	"github.com/gompss/gompss/codegen/cpu"
)

//go:embed arrays_kernels_test.go
var arraysSource string

// arrayCases are the kernels of arrays_kernels_test.go.
var arrayCases = map[string]any{"ArrayRangeVal": ArrayRangeVal, "ArrayCopyVal": ArrayCopyVal, "ArrayCopyPtr": ArrayCopyPtr, "ArrayHelpVal": ArrayHelpVal,
	"ArrayHelpPtr": ArrayHelpPtr, "ArrayHelpPtr2": ArrayHelpPtr2, "ArrayHelpSlice": ArrayHelpSlice, "ArrayHelpSlicePtr": ArrayHelpSlicePtr,
	"ArrayFirst": ArrayFirst, "ArrayArrStruct": ArrayArrStruct, "ArrayStructArr": ArrayStructArr, "ArrayRed": ArrayRed, "ArrayRed2": ArrayRed2,
	"ArrayWritePtr": ArrayWritePtr, "ArrayAssign": ArrayAssign, "ArrayBools": ArrayBools, "ArraySum4": ArraySum4, "ArraySliceOfArr": ArraySliceOfArr,
	"ArrayTwo": ArrayTwo, "ArrayCmp": ArrayCmp, "ArrayFilter": ArrayFilter, "ArrayLocal": ArrayLocal}

// fillRandom gives every number in v a value: small ones, so that sums are not all rounding.
func fillRandom(r *rand.Rand, v reflect.Value) {
	switch {
	case v.Kind() == reflect.Array || v.Kind() == reflect.Slice:
		for i := range v.Len() {
			fillRandom(r, v.Index(i))
		}
	case v.Kind() == reflect.Struct:
		for i := range v.NumField() {
			f := v.Field(i)
			fillRandom(r, reflect.NewAt(f.Type(), unsafe.Pointer(f.UnsafeAddr())).Elem()) // also what is not exported
		}
	case v.Kind() == reflect.Bool:
		v.SetBool(r.IntN(2) == 0)
	case v.CanFloat():
		v.SetFloat(r.Float64()*4 - 2)
	default:
		v.Set(reflect.ValueOf(r.IntN(100)).Convert(v.Type()))
	}
}

func arrayArgs(r *rand.Rand, fn any, name string, n int) []any {
	side, t := n, reflect.TypeOf(fn)
	if name == "ArrayFilter" {
		side = roughRoot(n)
		n = side * side
	}
	var out []any
	for i := range t.NumIn() {
		a := reflect.New(t.In(i)).Elem()
		switch a.Kind() {
		case reflect.Int:
			a.SetInt(int64(side))
		case reflect.Slice:
			a.Set(reflect.MakeSlice(t.In(i), n, n))
			fillRandom(r, a)
		case reflect.Pointer:
			a.Set(reflect.New(t.In(i).Elem()))
			fillRandom(r, a.Elem())
		default:
			fillRandom(r, a)
		}
		out = append(out, a.Interface())
	}
	return out
}

// TestArrayParameters_AreVectorCode runs kernels with arrays by value and by pointer: read, changed, copied, passed on, cut, and their address taken.
//
// Issue 16, item 21.
func TestArrayParameters_AreVectorCode(t *testing.T) {
	p, err := codegen.Load(codegen.File{Name: "arrays_kernels_test.go", Text: arraysSource})
	require.NoError(t, err)
	arena, err := cpu.NewArena()
	if err != nil {
		t.Skip(err)
	}
	defer func() { require.NoError(t, arena.Close()) }()
	defer debug.SetPanicOnFault(debug.SetPanicOnFault(true))
	require.Len(t, p.Kernels(), len(arrayCases))
	for machine, o := range cpuMachines(t) {
		for name, fn := range arrayCases {
			t.Run(machine+"/"+name, func(t *testing.T) {
				k, err := p.Kernel(name)
				require.NoError(t, err)
				run, err := cpu.NewKernelRunner(arena, codegen.ForCPU(k), o)
				require.NoError(t, err)
				c := practiceCase{fn: fn, args: func(r *rand.Rand, n int) []any { return arrayArgs(r, fn, name, n) }}
				if name == "ArrayRed2" {
					c.bound = 1e-9
				}
				for _, n := range []int{0, 1, 9, 131, 1003} {
					c.compare(t, run, run.Program().Code, n)
				}
			})
		}
	}
}
