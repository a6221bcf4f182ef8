//go:build linux && (amd64 || arm64)

package codegen_test

import (
	_ "embed"
	"math"
	"math/rand/v2"
	"reflect"
	"runtime"
	"runtime/debug"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/gompss/gompss/codegen"
	"github.com/gompss/gompss/codegen/cpu"
	"github.com/gompss/gompss/codegen/ir"
)

//go:embed operations_kernels_test.go
var operationsSource string

func loadOperations(t testing.TB) *codegen.Package {
	t.Helper()
	p, err := codegen.Load(codegen.File{Name: "operations_kernels_test.go", Text: operationsSource})
	require.NoError(t, err)
	return p
}

// operation is the kernel of a name with its types in brackets.
func operation(t testing.TB, p *codegen.Package, name string) *ir.Kernel {
	t.Helper()
	name, types, generic := strings.Cut(strings.TrimSuffix(name, "]"), "[")
	if !generic {
		k, err := p.Kernel(name)
		require.NoError(t, err)
		return k
	}
	k, err := p.Instance(name, strings.Split(types, ", ")...)
	require.NoError(t, err)
	return k
}

// oddNumber is a number of t: any, a small one, or one at an end of what is there.
func oddNumber(r *rand.Rand, t reflect.Type) reflect.Value {
	v := reflect.New(t).Elem()
	switch {
	case v.CanFloat() && r.IntN(3) == 0:
		odd := []float64{0, math.Copysign(0, -1), math.Inf(1), math.Inf(-1), math.NaN(), 1e-40, 0.5, -0.5, 1.5, 2.5, math.Nextafter(0.5, 0), 1<<52 + 0.5, 1<<53 + 1, -1 << 63, 1 << 63, 1 << 64,
			1<<31 - 0.5, 1 << 31, -1<<31 - 1, 1<<32 - 1, 1 << 32, 255.9, 256, -1, 3e38, -1e300, 1e-310, 1<<23 + 0.5, float64(float32(8388607.5)), float64(math.Nextafter32(0.5, 0)), 65535.7, -129}
		v.SetFloat(odd[r.IntN(len(odd))])
	case v.CanFloat():
		v.SetFloat(math.Ldexp(r.Float64()*2-1, r.IntN(70)-4))
	case r.IntN(2) == 0:
		v.Set(reflect.ValueOf(r.IntN(90) - 10).Convert(t))
	case r.IntN(3) == 0:
		v.Set(reflect.ValueOf(uint64(1) << r.IntN(64)).Convert(t))
	default:
		v.Set(reflect.ValueOf(r.Uint64() >> r.IntN(64)).Convert(t))
	}
	return v
}

// operationArgs makes arguments of n elements. Counts of shifts have no sign unless the kernel
// looks at it.
func operationArgs(r *rand.Rand, fn any, name string, n int) []any {
	t := reflect.TypeOf(fn)
	var out []any
	for i := range t.NumIn() {
		s := reflect.MakeSlice(t.In(i), n, n)
		for k := range n {
			v := oddNumber(r, t.In(i).Elem())
			if i == 1 && strings.HasPrefix(name, "OpSh") && !strings.HasPrefix(name, "OpShiftSome") && v.CanInt() && v.Int() < 0 {
				v.SetInt(v.Int() & math.MaxInt8)
			}
			s.Index(k).Set(v)
		}
		out = append(out, s.Interface())
	}
	return out
}

// operationBounds are how far results may differ, relatively, where they are not exact.
var operationBounds = map[string]float64{"OpHypot[float32]": 4e-7, "OpHypot[float64]": 8e-16}

// TestOperations_AreVectorCode runs one operation at a time, at every width, between pages without
// access: the results are Go's, and no lane is computed by Go.
//
// Issue 16, item 21.
func TestOperations_AreVectorCode(t *testing.T) {
	t.Parallel()
	p := loadOperations(t)
	arena, err := cpu.NewArena()
	if err != nil {
		t.Skip(err)
	}
	defer func() { require.NoError(t, arena.Close()) }()
	defer debug.SetPanicOnFault(debug.SetPanicOnFault(true))
	for machine, o := range cpuMachines(t) {
		for _, c := range operations {
			t.Run(machine+"/"+c.name, func(t *testing.T) {
				source := operation(t, p, c.name)
				skipWhereGoDiffers(t, source)
				k := codegen.ForCPU(source)
				run, err := cpu.NewKernelRunner(arena, k, o)
				require.NoError(t, err)
				for _, n := range run.Program().Code.Notes {
					require.NotContains(t, n, "computed by Go")
					require.NotContains(t, n, "lane by lane")
				}
				for _, n := range []int{0, 1, 9, 131, 1003} {
					pc := practiceCase{fn: c.fn, bound: operationBounds[c.name], args: func(r *rand.Rand, n int) []any { return operationArgs(r, c.fn, c.name, n) }}
					pc.compare(t, run, run.Program().Code, n)
				}
			})
		}
	}
}

// BenchmarkOperations says how often faster the vector code of each operation is than the Go
// function, as BenchmarkPractice does.
func BenchmarkOperations(b *testing.B) {
	p := loadOperations(b)
	arena, err := cpu.NewArena()
	require.NoError(b, err)
	defer func() { require.NoError(b, arena.Close()) }()
	for machine, o := range cpuMachines(b) {
		if machine == "single" || machine == "avx512vl" || o.StopAlways {
			continue
		}
		o.Single = cpu.SingleAuto
		for _, c := range operations {
			b.Run(strings.ReplaceAll(c.name, ", ", ",")+"/"+machine, func(b *testing.B) {
				run, err := cpu.NewKernelRunner(arena, codegen.ForCPU(operation(b, p, c.name)), o)
				require.NoError(b, err)
				timesGo(b, run, practiceCase{fn: c.fn}, operationArgs(rand.New(rand.NewPCG(1, 1)), c.fn, c.name, 1<<14))
			})
		}
	}
}

// timesGo measures vector code and the Go function in turns, and reports the ratio of the best
// processor times.
func timesGo(b *testing.B, run *cpu.Runner, c practiceCase, args []any) {
	var values []cpu.Value
	for _, a := range args {
		values = append(values, cpuValue(reflect.ValueOf(a)))
	}
	runtime.LockOSThread() // whose time is asked for
	defer runtime.UnlockOSThread()
	ours, gos := time.Hour, time.Hour
	for b.Loop() {
		began := threadTime(b)
		require.NoError(b, run.Call(values, nil))
		between := threadTime(b)
		c.runGo(args)
		ours, gos = min(ours, between-began), min(gos, threadTime(b)-between)
	}
	b.ReportMetric(float64(gos)/float64(ours), "times-Go")
	b.ReportMetric(float64(ours.Nanoseconds())/1000, "us/vector")
	b.ReportMetric(0, "ns/op")
}
