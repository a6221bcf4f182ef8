package cpu_test

import (
	"errors"
	"fmt"
	"math"
	"math/rand/v2"
	"reflect"
	"runtime"
	"slices"
	"testing"
	"unsafe"

	"github.com/stretchr/testify/require"

	"github.com/gompss/gompss/codegen"
	"github.com/gompss/gompss/codegen/cpu"
	"github.com/gompss/gompss/codegen/cpu/vcode"
	"github.com/gompss/gompss/codegen/ir"
)

// A trial is one kernel of kernels_test.go with random arguments of size n. bound is the largest
// relative error accepted: 0 is bit for bit.
type trial struct {
	fn    any
	args  func(r *rand.Rand, n int) []any
	bound float64
}

func floats32(r *rand.Rand, n int) []float32 {
	x := make([]float32, n)
	for i := range x {
		x[i] = 2*r.Float32() - 1
	}
	return x
}

func floats64(r *rand.Rand, n int) []float64 {
	x := make([]float64, n)
	for i := range x {
		x[i] = 2*r.Float64() - 1
	}
	return x
}

func integers[T int | int16 | int32 | uint8 | uint32](r *rand.Rand, n int) []T {
	x := make([]T, n)
	for i := range x {
		x[i] = T(r.Uint64())
	}
	return x
}

func special64(r *rand.Rand, n int) []float64 {
	x := floats64(r, n)
	odd := []float64{0, math.Copysign(0, -1), math.NaN(), math.Inf(1), math.Inf(-1), 1e308, 5e-324}
	for i := range x {
		if r.IntN(4) == 0 {
			x[i] = odd[r.IntN(len(odd))]
		}
	}
	return x
}

func special32(r *rand.Rand, n int) []float32 {
	x := make([]float32, n)
	for i, v := range special64(r, n) {
		x[i] = float32(v)
	}
	return x
}

func forcesArgs(r *rand.Rand, n int) []any {
	lo := r.IntN(n + 1)
	return []any{lo, lo + r.IntN(n-lo+1), float32(0.01), floats32(r, n), floats32(r, n), floats32(r, n), floats32(r, n), floats32(r, n), floats32(r, n)}
}

func gridArgs(r *rand.Rand, n int) []any {
	h, w := 1+n/8, 3+n%41
	return []any{h, w, floats64(r, h*w), floats64(r, h*w)}
}

func sparseArgs(r *rand.Rand, n int) []any {
	rows := make([]int32, n+1)
	for i := range n {
		rows[i+1] = rows[i] + int32(r.IntN(40))
	}
	nnz := int(rows[n])
	cols := make([]int32, nnz)
	for i := range cols {
		cols[i] = int32(r.IntN(n))
	}
	return []any{rows, cols, floats32(r, nnz), floats32(r, n), floats32(r, n)}
}

func conjugateArgs(r *rand.Rand, n int) []any {
	m := sparseArgs(r, n)
	return []any{m[0], m[1], floats64(r, len(m[1].([]int32))), floats64(r, n), floats64(r, n), floats64(r, 1)}
}

var trials = map[string]trial{
	"Triad64": {Triad64, func(r *rand.Rand, n int) []any {
		return []any{floats64(r, n), floats64(r, n), floats64(r, n), 1.5}
	}, 1e-15},
	"TriadStrict32": {TriadStrict32, func(r *rand.Rand, n int) []any {
		return []any{floats32(r, n), floats32(r, n), floats32(r, n), float32(1.7)}
	}, 0},
	"ScaleBy": {ScaleBy, func(r *rand.Rand, n int) []any {
		return []any{floats32(r, n), int64(r.IntN(100) - 50), uint64(r.IntN(9))}
	}, 0},
	"RowScale": {RowScale, func(r *rand.Rand, n int) []any {
		return []any{floats32(r, n), floats32(r, n), max(n/3, 1)}
	}, 1e-3},
	"Turns": {Turns, func(r *rand.Rand, n int) []any {
		a, b, c := make([]uint32, n), make([]uint32, n), make([]int16, n)
		for i := range a {
			a[i], b[i], c[i] = r.Uint32(), r.Uint32(), int16(r.Uint32())
		}
		return []any{a, b, c, []uint64{0, 1, 13, 31, 32, 63, 64, 1 << 32, 1<<63 + 1}[r.IntN(9)], []int{0, 5, 15, 16, 40, 1 << 33}[r.IntN(6)]}
	}, 0},
	"Reverse":    {Reverse, func(r *rand.Rand, n int) []any { return []any{floats32(r, n), floats32(r, n)} }, 0},
	"Down":       {Down, func(r *rand.Rand, n int) []any { return []any{floats64(r, n), floats64(r, n)} }, 0},
	"Every3":     {Every3, func(r *rand.Rand, n int) []any { return []any{floats32(r, n), floats32(r, n)} }, 0},
	"Forces":     {Forces, forcesArgs, 2e-4},
	"ForcesFast": {ForcesFast, forcesArgs, 2e-4},
	"Jacobi":     {Jacobi, gridArgs, 0},
	"RowSums": {RowSums, func(r *rand.Rand, n int) []any {
		h, w := 1+n/16, 1+n%67
		return []any{h, w, floats64(r, h*w), floats64(r, h)}
	}, 1e-12},
	"SpMV": {SpMV, sparseArgs, 1e-4},
	"Clip": {Clip, func(r *rand.Rand, n int) []any { return []any{floats32(r, n), float32(-0.3), float32(0.6)} }, 0},
	"Mandel": {Mandel, func(r *rand.Rand, n int) []any {
		h, w := 1+n/16, 1+n%43
		return []any{w, h, 50, make([]int32, w*h)}
	}, 0},
	"Bits": {Bits, func(r *rand.Rand, n int) []any {
		return []any{integers[uint32](r, n), integers[uint32](r, n), integers[int32](r, n)}
	}, 0},
	"Shorts": {Shorts, func(r *rand.Rand, n int) []any {
		return []any{integers[int16](r, n), integers[uint8](r, n), floats32(r, n)}
	}, 0},
	"Longs": {Longs, func(r *rand.Rand, n int) []any {
		return []any{integers[int](r, n), integers[int](r, n), floats64(r, n)}
	}, 0},
	"Points": {Points, func(r *rand.Rand, n int) []any {
		p := make([]point, n)
		for i := range p {
			p[i] = point{r.Float32(), r.Float32(), -1}
		}
		return []any{p, floats32(r, n)}
	}, 0},
	"MinMax": {MinMax, func(r *rand.Rand, n int) []any { return []any{special64(r, n), special64(r, n), floats64(r, n)} }, 0},
	"Extremes": {Extremes, func(r *rand.Rand, n int) []any {
		return []any{special64(r, n), special64(r, n), floats64(r, n), floats64(r, n), special32(r, n), special32(r, n), floats32(r, n), floats32(r, n)}
	}, 0},
	"MatMul": {MatMul, func(r *rand.Rand, n int) []any {
		n = n % 40
		return []any{n, floats32(r, n*n), floats32(r, n*n), floats32(r, n*n)}
	}, 0},
	"Gather": {Gather, func(r *rand.Rand, n int) []any {
		ix := make([]int, n)
		for i := range ix {
			ix[i] = r.IntN(n)
		}
		return []any{floats64(r, n), ix, floats64(r, n)}
	}, 0},
	"Guarded": {Guarded, func(r *rand.Rand, n int) []any { return []any{floats32(r, n), floats32(r, n)} }, 0},
	"Ladder":  {Ladder, func(r *rand.Rand, n int) []any { return []any{floats32(r, n), integers[int32](r, n)} }, 0},
	"Fill": {Fill, func(r *rand.Rand, n int) []any {
		lo := r.IntN(n + 1)
		return []any{lo, lo + r.IntN(n-lo+1), r.Uint32(), make([]uint32, n)}
	}, 0},
	"FillBox": {FillBox, func(r *rand.Rand, n int) []any {
		h, w, i0, i1, j0, j1 := boxArgs(r, n)
		return []any{h, w, i0, i1, j0, j1, r.Uint32(), make([]uint32, h*w)}
	}, 0},
	"MixBox": {MixBox, func(r *rand.Rand, n int) []any {
		h, w, i0, i1, j0, j1 := boxArgs(r, n)
		a, b := r.IntN(h-(i1-i0)+1), r.IntN(w-(j1-j0)+1)
		return []any{h, w, i0, i1, j0, j1, a, b, r.Uint32(), integers[uint32](r, h*w), integers[uint32](r, h*w)}
	}, 0},
	"Total": {Total, func(r *rand.Rand, n int) []any {
		return []any{floats32(r, n), floats32(r, n), floats32(r, n+2)}
	}, 1e-4},
	"Conjugate": {Conjugate, conjugateArgs, 1e-11},
	"Odd":       {Odd, func(r *rand.Rand, n int) []any { return []any{floats32(r, n), floats32(r, n)} }, 0},
	"RowExtremes": {RowExtremes, func(r *rand.Rand, n int) []any {
		h, w := 1+n/16, 1+n%67
		return []any{h, w, floats32(r, h*w), floats32(r, h), floats32(r, h), make([]int32, h)}
	}, 0},
}

func boxArgs(r *rand.Rand, n int) (h, w, i0, i1, j0, j1 int) {
	h, w = 2+n/16, 2+n%37
	i0, j0 = r.IntN(h), r.IntN(w)
	return h, w, i0, i0 + r.IntN(h-i0+1), j0, j0 + r.IntN(w-j0+1)
}

func machines() map[string]cpu.Options {
	if runtime.GOARCH == "arm64" {
		return map[string]cpu.Options{"neon": {ISA: cpu.ARM64}, "once": {ISA: cpu.ARM64, Unroll: 1}}
	}
	return map[string]cpu.Options{"avx512": {AVX512: true}, "avx512vl": {AVX512: true, Width: vcode.W256}, "avx2": {}, "once": {AVX512: true, Unroll: 1}, "short": {ISA: cpu.AMD64Short}}
}

func loadKernels(t testing.TB) *codegen.Package {
	t.Helper()
	p, err := codegen.Load(codegen.File{Name: "kernels_test.go", Text: kernelSource})
	require.NoError(t, err)
	return p
}

// TestKernelsAgreeWithGo runs every kernel with all sizes up to 40 and random ones, whole and in
// chunks, on every machine.
func TestKernelsAgreeWithGo(t *testing.T) {
	p := loadKernels(t)
	arena, err := cpu.NewArena()
	if err != nil {
		t.Skip(err)
	}
	defer func() { require.NoError(t, arena.Close()) }()
	for name, tr := range trials {
		for machine, o := range machines() {
			t.Run(name+"/"+machine, func(t *testing.T) {
				k, err := p.Kernel(name)
				require.NoError(t, err)
				code, err := cpu.Compile(k, o)
				require.NoError(t, err)
				prog, err := arena.Install(code)
				require.NoError(t, err)
				for seed := range uint64(100) {
					r, n := rand.New(rand.NewPCG(seed, 9)), int(seed)
					if n > 40 {
						n = 1 + r.IntN(300)
					}
					tr.compare(t, r, prog, k, n)
					if t.Failed() {
						t.Fatalf("seed %d\n%s", seed, code.Listing())
					}
				}
			})
		}
	}
}

// compare runs the Go function and the vector code on equal arguments.
func (tr trial) compare(t *testing.T, r *rand.Rand, prog *cpu.Program, k *ir.Kernel, n int) {
	t.Helper()
	want := tr.args(r, n)
	got := make([]any, len(want))
	for i, a := range want {
		got[i] = cloneArg(a)
	}
	in := make([]reflect.Value, len(want))
	for i := range want {
		in[i] = reflect.ValueOf(want[i])
	}
	reflect.ValueOf(tr.fn).Call(in)
	require.NoError(t, cpu.NewRunner(prog).Call(values(got), func(l *cpu.Loop) error {
		cut := r.Int64N(l.Trips + 1)
		return errors.Join(l.Run(cut, l.Trips), l.Run(0, cut))
	}))
	for i := range want {
		same(t, k.Params[i].Name, want[i], got[i], tr.bound)
	}
}

func cloneArg(a any) any {
	v := reflect.ValueOf(a)
	if v.Kind() != reflect.Slice {
		return a
	}
	c := reflect.MakeSlice(v.Type(), v.Len(), v.Len())
	reflect.Copy(c, v)
	return c.Interface()
}

func values(args []any) []cpu.Value {
	out := make([]cpu.Value, len(args))
	for i, a := range args {
		switch v := reflect.ValueOf(a); v.Kind() {
		case reflect.Slice:
			out[i] = cpu.Value{Addr: v.UnsafePointer(), Len: int64(v.Len())}
		case reflect.Float32:
			out[i].Bits = uint64(math.Float32bits(float32(v.Float())))
		case reflect.Float64:
			out[i].Bits = math.Float64bits(v.Float())
		case reflect.Uint32, reflect.Uint64:
			out[i].Bits = v.Uint()
		default:
			out[i].Bits = uint64(v.Int())
		}
	}
	return out
}

func same(t *testing.T, name string, want, got any, bound float64) {
	t.Helper()
	exact := bound == 0
	bound = max(bound, fusedError)
	if bound == 0 && !hasNaN(want) {
		require.Equal(t, want, got, name)
		return
	}
	w, g := reflect.ValueOf(want), reflect.ValueOf(got)
	if w.Kind() != reflect.Slice {
		return
	}
	for i := range w.Len() {
		x, y := number(w.Index(i)), number(g.Index(i))
		if x == y && (!exact || math.Signbit(x) == math.Signbit(y)) || math.IsNaN(x) && math.IsNaN(y) || x != y && math.Abs(x-y) <= bound*math.Max(1, math.Abs(x)) {
			continue
		}
		require.Fail(t, fmt.Sprintf("%s[%d]: want %v, got %v", name, i, x, y))
	}
}

func hasNaN(x any) bool {
	switch f := x.(type) {
	case []float64:
		return slices.ContainsFunc(f, math.IsNaN)
	case []float32:
		return slices.ContainsFunc(f, func(v float32) bool { return v != v })
	}
	return false
}

func number(v reflect.Value) float64 {
	switch {
	case v.CanFloat():
		return v.Float()
	case v.CanInt():
		return float64(v.Int())
	case v.CanUint():
		return float64(v.Uint())
	}
	return float64(uintptr(unsafe.Pointer(nil)))
}
