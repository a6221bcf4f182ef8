//go:build linux && (amd64 || arm64)

package codegen_test

import (
	"fmt"
	"math/rand/v2"
	"reflect"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gompss/gompss/codegen"
	"github.com/gompss/gompss/codegen/cpu"
)

// recordKernels load several fields of elements that are looked up.
const recordKernels = `package k

type whole struct{ a, b, c, d float32 }

type mixed struct {
	x    float64
	k, l int32
	y, z float64
	n    [2]int64
}

type odd struct {
	a, b, c, d, e float32
	f          float32
	g          float32
}

//omp:target device(smp)
//omp:task in(p, at) out(o)
func Whole(p []whole, at []int32, o []float32) {
	//omp:teams distribute parallel for
	for i := range o {
		q := p[at[i]]
		o[i] = q.a + 2*q.b - q.c*q.d
	}
}

//omp:target device(smp)
//omp:task in(p, at) out(o)
func Mixed(p []mixed, at []int64, o []float64) {
	//omp:teams distribute parallel for
	for i := range o {
		q := p[at[i]]
		s := q.x*float64(q.k) - q.z
		for k := 0; k < 3; k++ {
			r := p[(at[i]+int64(k)*int64(i))%int64(len(p))]
			s += r.y - r.z*float64(r.l) + float64(r.n[1]-r.n[0])
		}
		o[i] = s
	}
}

//omp:target device(smp)
//omp:task in(p, at) out(o)
func Odd(p []odd, at []uint32, o []float64) {
	//omp:teams distribute parallel for
	for i := range o {
		q := p[at[i]]
		o[i] = float64(q.a + q.b - q.c + q.d*q.e - q.g)
	}
}
`

type recordWhole struct{ a, b, c, d float32 }

type recordMixed struct {
	x    float64
	k, l int32
	y, z float64
	n    [2]int64
}

type recordOdd struct{ a, b, c, d, e, f, g float32 }

// TestRecords_FieldsOfOneElement loads fields of looked-up elements in lanes and one iteration
// after the other: the same bits, also of the last element, and an index that is out of range is
// the same error.
//
// Issue 16, item 21.
func TestRecords_FieldsOfOneElement(t *testing.T) {
	p, err := codegen.Load(codegen.File{Name: "k.go", Text: recordKernels})
	require.NoError(t, err)
	arena, err := cpu.NewArena()
	if err != nil {
		t.Skip(err)
	}
	defer func() { require.NoError(t, arena.Close()) }()
	machines := cpuMachines(t)
	for machine, o := range machines {
		for name, elements := range map[string]func(r *rand.Rand, n int) (p, at, out any){
			"Whole": func(r *rand.Rand, n int) (any, any, any) {
				p := fenced[recordWhole](t, 19)
				for i := range p {
					p[i] = recordWhole{r.Float32(), r.Float32(), r.Float32(), r.Float32()}
				}
				return p, belowOf[int32](r, n, 19), make([]float32, n)
			},
			"Mixed": func(r *rand.Rand, n int) (any, any, any) {
				p := fenced[recordMixed](t, 23)
				for i := range p {
					p[i] = recordMixed{r.Float64(), int32(i), -int32(i), r.Float64(), r.Float64(), [2]int64{r.Int64N(9), 4}}
				}
				return p, belowOf[int64](r, n, 23), make([]float64, n)
			},
			"Odd": func(r *rand.Rand, n int) (any, any, any) {
				p := fenced[recordOdd](t, 11)
				for i := range p {
					p[i] = recordOdd{r.Float32(), r.Float32(), r.Float32(), r.Float32(), r.Float32(), 0, r.Float32()}
				}
				return p, belowOf[uint32](r, n, 11), make([]float64, n)
			},
		} {
			k, err := p.Kernel(name)
			require.NoError(t, err)
			run, err := cpu.NewKernelRunner(arena, codegen.ForCPU(k), o)
			require.NoError(t, err)
			if code := run.Program().Code; name != "Odd" && code.Lanes > 1 {
				require.Regexp(t, "VINSERTF|VUNPCKLPS|zip1", code.Listing(), "%s %s: pieces of elements are loaded", machine, name)
			}
			one, err := cpu.NewKernelRunner(arena, codegen.ForCPU(k), cpu.Options{AVX512: o.AVX512, Single: cpu.SingleAlways})
			require.NoError(t, err)
			for _, n := range []int{1, 7, 8, 65, 300} {
				in, at, want := elements(rand.New(rand.NewPCG(uint64(n), 3)), n)
				got := reflect.MakeSlice(reflect.TypeOf(want), n, n).Interface()
				require.NoError(t, one.Call(argumentsOf(in, at, want), nil))
				require.NoError(t, run.Call(argumentsOf(in, at, got), nil))
				require.Equal(t, want, got, "%s %s n=%d", machine, name, n)
				reflect.ValueOf(at).Index(n / 2).Set(reflect.ValueOf(1 << 20).Convert(reflect.TypeOf(at).Elem()))
				if name == "Mixed" {
					continue // indices are taken modulo the length too
				}
				require.ErrorContains(t, run.Call(argumentsOf(in, at, got), nil), fmt.Sprint(1<<20))
			}
		}
	}
}

// fenced is a slice right before a page without access.
func fenced[T any](t *testing.T, n int) []T {
	t.Helper()
	v := reflect.MakeSlice(reflect.TypeFor[[]T](), n, n)
	return newFence(t, n*int(reflect.TypeFor[T]().Size())).copyOf(v, true).Interface().([]T)
}
