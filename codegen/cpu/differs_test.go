package cpu_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gompss/gompss/codegen"
	"github.com/gompss/gompss/codegen/cpu"
	"github.com/gompss/gompss/codegen/ir"
)

const differing = `package p

import (
	"math"

	"github.com/gompss/gompss/codegen/kernel"
)

//omp:target device(smp)
func Exact(n int, x []float64, c []int32) {
	//omp:teams distribute parallel for
	for i := 1; i < n; i++ {
		x[i] = math.Sqrt(math.Abs(x[i]))/2 - float64(c[i])
		c[i] = c[i]<<3 ^ 5
	}
}

//omp:target device(smp)
func Counts(x []float32, n *int64, least *float32) {
	//omp:teams distribute parallel for reduction(+: *n) reduction(min: *least)
	for i := range x {
		if x[i] > 0 {
			*n++
		}
		*least = min(*least, x[i])
	}
}

//omp:target device(smp) fastmath
func Fast(x []float64) {
	//omp:teams distribute parallel for
	for i := range x {
		x[i] = 1 / x[i]
	}
}

//omp:target device(smp)
func Sums(x []float64, s *float64) {
	//omp:teams distribute parallel for reduction(+: *s)
	for i := range x {
		*s += x[i]
	}
}

//omp:target device(smp)
func Inner(n int, x, y []float64) {
	//omp:teams distribute parallel for
	for i := range y {
		s := 0.0
		//omp:simd reduction(*: s)
		for j := 0; j < n; j++ {
			s *= x[i*n+j]
		}
		y[i] = s
	}
}

func helper(x float64) float64 { return math.Exp(x) }

//omp:target device(smp)
func Helped(x []float64) {
	//omp:teams distribute parallel for
	for i := range x {
		x[i] = helper(x[i])
	}
}

//omp:target device(smp)
func Cubed(x []float64) {
	//omp:teams distribute parallel for
	for i := range x {
		x[i] = math.Cbrt(x[i])
	}
}

//omp:target device(smp)
func Numbered(x []int) {
	//omp:teams distribute parallel for
	for i := range x {
		x[i] = kernel.NumThreads()
	}
}

//omp:target device(smp)
func Updates(x []float64, s *float64) {
	//omp:teams distribute parallel for
	for i := range x {
		//omp:atomic
		*s += x[i]
	}
}

//omp:target device(smp)
func Keeps(x []int32, n []int32) {
	//omp:teams distribute parallel for
	for i := range x {
		//omp:atomic capture
		{
			x[i] = n[0]
			n[0]++
		}
	}
}

//omp:target device(smp) contract
func Fused(x []float64) {
	//omp:teams distribute parallel for
	for i := range x {
		x[i] += 2 * x[i]
	}
}

//omp:target device(smp) contract
func Products(x []float64) {
	//omp:teams distribute parallel for
	for i := range x {
		x[i] *= 2
	}
}
`

// What may run as either variant is what gives the same bits as both.
func TestDiffers_NamesWhatChangesBits(t *testing.T) {
	p, err := codegen.Load(codegen.File{Name: "k.go", Text: differing})
	require.NoError(t, err)
	for name, want := range map[string]string{
		"Exact": "", "Counts": "", "Products": "", "Cubed": "", // Go computes the cube root lane by lane
		"Fast":     "fastmath lets it round",
		"Sums":     "k.go:39:51: a reduction of floats combines in another order",
		"Inner":    "k.go:50:27: a reduction of floats combines",
		"Helped":   "k.go:58:41: exp of vector code is within 1.5 ulp",
		"Numbered": "", // vector code is one team of one thread, as the Go function is
		"Updates":  "atomic updates of floats", "Keeps": "what an atomic keeps",
		"Fused": "contract makes one operation of a product and a sum",
	} {
		k, err := p.Kernel(name)
		require.NoError(t, err)
		if why := cpu.Differs(k); want == "" {
			require.Empty(t, why, name)
		} else {
			require.Contains(t, why, want, name)
		}
	}
}

// A scan runs in its order on a CPU, so what is compiled gives the bits of Go, although the sum of
// the directive is one of floats.
func TestDiffers_ScansRunInOrder(t *testing.T) {
	p, err := codegen.Load(codegen.File{Name: "k.go", Text: `package p

//omp:target device(smp)
func Running(rows, n int, x, y []float64) {
	//omp:teams distribute
	for r := 0; r < rows; r++ {
		s := 0.0
		//omp:parallel for reduction(inscan, +: s)
		for i := 0; i < n; i++ {
			s += x[r*n+i]
			//omp:scan inclusive(s)
			y[r*n+i] = s
		}
	}
}
`})
	require.NoError(t, err)
	k, err := p.Kernel("Running")
	require.NoError(t, err)
	require.Contains(t, cpu.Differs(k), "a reduction of floats")
	require.Empty(t, cpu.Differs(codegen.ForCPU(k)))
}

// Where scalar code may stand in for vector code, and where the Go function may for scalar code.
func TestDiffers_ByLanesAndAlone(t *testing.T) {
	p, err := codegen.Load(codegen.File{Name: "k.go", Text: differing})
	require.NoError(t, err)
	for name, want := range map[string][2]bool{ // by lanes, alone
		"Exact": {}, "Counts": {}, "Helped": {false, true}, "Fused": {false, true}, "Fast": {true, true}, "Sums": {true, true}, "Inner": {true, true},
		"Updates": {true, false}, "Keeps": {true, false},
	} {
		k, err := p.Kernel(name)
		require.NoError(t, err)
		require.Equal(t, want, [2]bool{cpu.DiffersByLanes(k) != "", cpu.DiffersAlone(k) != ""}, name)
	}
}

// The size of a launch is counted from its arguments, without code.
func TestSize_CountsIterationsAndBytes(t *testing.T) {
	p, err := codegen.Load(codegen.File{Name: "k.go", Text: differing})
	require.NoError(t, err)
	arena, err := cpu.NewArena()
	if err != nil {
		t.Skip(err)
	}
	defer func() { require.NoError(t, arena.Close()) }()
	k, err := p.Kernel("Exact")
	require.NoError(t, err)
	r, err := cpu.NewKernelRunner(arena, codegen.ForCPU(k), cpu.Options{})
	require.NoError(t, err)
	trips, bytes := r.Size(values([]any{41, make([]float64, 100), make([]int32, 50)}))
	require.Equal(t, []int64{40, 1000}, []int64{trips, bytes})
	k, err = p.Kernel("Cubed")
	require.NoError(t, err)
	r, err = cpu.NewKernelRunner(arena, codegen.ForCPU(k), cpu.Options{})
	require.NoError(t, err)
	r.MakeVariants()
	trips, bytes = r.Size(values([]any{make([]float64, 7)}))
	require.Equal(t, []int64{7, 56}, []int64{trips, bytes})
}

// A kernel of one loop runs in parts, by whichever variant is there when a part begins.
func TestRunPart_RunsItsIterationsAlone(t *testing.T) {
	p, err := codegen.Load(codegen.File{Name: "k.go", Text: differing})
	require.NoError(t, err)
	arena, err := cpu.NewArena()
	if err != nil {
		t.Skip(err)
	}
	defer func() { require.NoError(t, arena.Close()) }()
	runner := func(name string) *cpu.Runner {
		k, err := p.Kernel(name)
		require.NoError(t, err)
		r, err := cpu.NewKernelRunner(arena, codegen.ForCPU(k), cpu.Options{})
		require.NoError(t, err)
		return r
	}
	require.False(t, runner("Counts").OneLoop())
	r := runner("Cubed")
	require.True(t, r.OneLoop())
	x := make([]float64, 100)
	for i := range x {
		x[i] = 8
	}
	args := values([]any{x})
	require.NoError(t, r.RunPart(args, 3, 50))
	require.NoError(t, r.RunPart(args, 51, 100))
	for i := range x {
		want := 2.0
		if i < 3 || i == 50 {
			want = 8
		}
		require.Equal(t, want, x[i], i)
	}
	var outside *ir.CheckError
	e := runner("Exact")
	require.ErrorAs(t, e.RunPart(values([]any{41, x, make([]int32, 20)}), 0, 40), &outside)
}
