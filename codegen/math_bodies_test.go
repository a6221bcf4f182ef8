//go:build linux && (amd64 || arm64)

package codegen_test

import (
	"math"
	"math/bits"
	"math/rand/v2"
	"runtime/debug"
	"testing"

	"github.com/gompss/gompss/codegen/cpu"
	"github.com/stretchr/testify/require"
)

// bodiesKernel calls the functions of packages math and math/bits whose Go bodies travel with the
// compiler.
const bodiesKernel = `//omp:target device(acc, smp)
//omp:task in(x, y, n, hi, lo, by) out(f, g, k, u)
func K(x, y []float64, n []int, hi, lo, by []uint64, f []float64, g []float32, k []int, u []uint64) {
	//omp:teams distribute parallel for
	for i := range x {
		f[8*i], f[8*i+1] = math.Modf(x[i])
		f[8*i+2], k[3*i] = math.Frexp(x[i])
		f[8*i+3] = math.Ldexp(x[i], n[i])
		f[8*i+4] = math.Logb(x[i])
		k[3*i+1] = math.Ilogb(x[i])
		f[8*i+5] = math.Nextafter(x[i], y[i])
		g[i] = math.Nextafter32(float32(x[i]), float32(y[i]))
		f[8*i+6] = math.Inf(n[i])
		_, f[8*i+7] = math.Modf(y[i])
		k[3*i+2] = int(by[i])
		if by[i] > hi[i] {
			u[8*i], u[8*i+1] = bits.Div64(hi[i], lo[i], by[i])
			q, r := bits.Div(uint(hi[i]), uint(lo[i]), uint(by[i]))
			u[8*i+2], u[8*i+3] = uint64(q), uint64(r)
		}
		if by[i] != 0 {
			u[8*i+4] = bits.Rem64(hi[i], lo[i], by[i])
			u[8*i+5] = uint64(bits.Rem(uint(hi[i]), uint(lo[i]), uint(by[i])))
		}
		if d := uint32(by[i]); d > uint32(hi[i]) {
			q, r := bits.Div32(uint32(hi[i]), uint32(lo[i]), d)
			u[8*i+6], u[8*i+7] = uint64(q)<<32|uint64(r), uint64(bits.Rem32(uint32(hi[i]), uint32(lo[i]), d))
		}
	}
}
`

// mathBodies is the kernel in Go.
func mathBodies(x, y []float64, n []int, hi, lo, by []uint64, f []float64, g []float32, k []int, u []uint64) {
	for i := range x {
		f[8*i], f[8*i+1] = math.Modf(x[i])
		f[8*i+2], k[3*i] = math.Frexp(x[i])
		f[8*i+3] = math.Ldexp(x[i], n[i])
		f[8*i+4] = math.Logb(x[i])
		k[3*i+1] = math.Ilogb(x[i])
		f[8*i+5] = math.Nextafter(x[i], y[i])
		g[i] = math.Nextafter32(float32(x[i]), float32(y[i]))
		f[8*i+6] = math.Inf(n[i])
		_, f[8*i+7] = math.Modf(y[i])
		k[3*i+2] = int(by[i])
		if by[i] > hi[i] {
			u[8*i], u[8*i+1] = bits.Div64(hi[i], lo[i], by[i])
			q, r := bits.Div(uint(hi[i]), uint(lo[i]), uint(by[i]))
			u[8*i+2], u[8*i+3] = uint64(q), uint64(r)
		}
		if by[i] != 0 {
			u[8*i+4] = bits.Rem64(hi[i], lo[i], by[i])
			u[8*i+5] = uint64(bits.Rem(uint(hi[i]), uint(lo[i]), uint(by[i])))
		}
		if d := uint32(by[i]); d > uint32(hi[i]) {
			q, r := bits.Div32(uint32(hi[i]), uint32(lo[i]), d)
			u[8*i+6], u[8*i+7] = uint64(q)<<32|uint64(r), uint64(bits.Rem32(uint32(hi[i]), uint32(lo[i]), d))
		}
	}
}

// The functions that are compiled from Go bodies have Go's exact results.
func TestMathBodies_EqualGo(t *testing.T) {
	defer debug.SetPanicOnFault(debug.SetPanicOnFault(true))
	var x, y []float64
	var n []int
	var hi, lo, by []uint64
	r := rand.New(rand.NewPCG(3, 4))
	special := []float64{0, 1, 0.5, 1.5, 8 - 0x1p-50, math.Pi, 0x1p-1022, 0x1p-1022 - 0x1p-1074, 0x1p-1074, 3 * 0x1p-1074, math.MaxFloat64, 0x1p1023, math.Inf(1), math.NaN(), 0.25,
		0x1p-126, 0x1p-149, math.MaxFloat32, 1 << 53, 1<<52 + 0.5}
	powers := []int{0, 1, -1, 52, 1024, 1023, -1022, -1023, -1050, -1074, -1075, -1076, 2098, 2099, -2100, 5000, -5000, 1 << 40, math.MaxInt, math.MinInt}
	words := []uint64{0, 1, 2, 3, 10, 1 << 32, 1<<32 - 1, 1 << 63, 1<<63 + 1, math.MaxUint64, math.MaxUint64 - 1}
	for _, a := range special {
		for _, b := range special {
			for sign := range 4 {
				a, b := math.Copysign(a, float64(1-sign&1*2)), math.Copysign(b, float64(1-sign&2))
				if r.IntN(3) == 0 {
					a = math.Float64frombits(r.Uint64())
				}
				x, y, n = append(x, a), append(y, b), append(n, powers[r.IntN(len(powers))]+r.IntN(3)*r.IntN(2))
				word := func() uint64 {
					if r.IntN(2) == 0 {
						return r.Uint64() >> r.IntN(64)
					}
					return words[r.IntN(len(words))]
				}
				hi, lo, by = append(hi, word()), append(lo, word()), append(by, word())
			}
		}
	}
	begin := []any{x, y, n, hi, lo, by, make([]float64, 8*len(x)), make([]float32, len(x)), make([]int, 3*len(x)), make([]uint64, 8*len(x))}
	want := copyArgs(begin)
	mathBodies(x, y, n, hi, lo, by, want[6].([]float64), want[7].([]float32), want[8].([]int), want[9].([]uint64))
	runBodies(t, bodiesKernel, begin, want, goRun{})
}

// A quotient that does not fit fails the task.
func TestMathBodies_Fail(t *testing.T) {
	defer debug.SetPanicOnFault(debug.SetPanicOnFault(true))
	for _, call := range []string{"bits.Div64(hi, lo, by)", "bits.Div(uint(hi), uint(lo), uint(by))", "bits.Div32(uint32(hi), uint32(lo), uint32(by))"} {
		text := "//omp:target device(acc, smp)\n//omp:task inout(x)\nfunc K(hi, lo, by uint64, x []uint64) {\n//omp:teams distribute parallel for\nfor i := range x {\nq, _ := " + call + "\nx[i] += uint64(q)\n}\n}\n"
		for _, a := range [][3]uint64{{3, 5, 3}, {3, 5, 2}, {0, 5, 0}} {
			begin := []any{a[0], a[1], a[2], make([]uint64, 9)}
			runBodies(t, text, begin, begin, goRun{panicked: "divide"})
		}
	}
}

// A slice that is shorter than the array that it is converted to fails the task, whatever its
// capacity is.
func TestArraysOfSlices_TooShort(t *testing.T) {
	defer debug.SetPanicOnFault(debug.SetPanicOnFault(true))
	for _, part := range []string{"x[i:]", "x[i:i+3]", "x[2:5]", "x[by:by+3]", "x[by:]", "x[:by&3]", "x[lo[by]:]"} {
		text := "//omp:target device(acc, smp)\n//omp:task inout(y) in(x, lo)\nfunc K(by int, x, y, lo []int) {\n//omp:teams distribute parallel for\nfor i := range y {\na := [4]int(" + part + ")\ny[i] += a[3]\n}\n}\n"
		for n := range 3 {
			begin := []any{6, []int{1, 2, 3, 4, 5, 6, 7, 8, 9}, make([]int, 7+n), []int{6, 6, 6, 6, 6, 6, 6}}
			runBodies(t, text, begin, begin, goRun{panicked: "index"})
		}
	}
}

func runBodies(t *testing.T, text string, begin, want []any, run goRun) {
	t.Helper()
	f := newFlowRunner(t)
	defer f.close()
	arena, err := cpu.NewArena()
	require.NoError(t, err)
	defer arena.Close()
	list, err := f.targets(flowKernel{text: "import (\n\"math\"\n\"math/bits\"\n)\n\nvar _, _ = math.Pi, bits.UintSize\n\n" + text}, arena)
	require.NoError(t, err)
	require.Positive(t, f.count["device code"])
	for _, x := range list {
		require.NoError(t, f.run(x, rand.New(rand.NewPCG(1, 2)), begin, want, run), x.name)
	}
	require.Positive(t, f.count["vector code"], "%v", f.count)
}
