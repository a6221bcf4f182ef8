package cpu_test

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"os"
	"os/exec"
	"runtime"
	"strings"
	"syscall"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/gompss/gompss/codegen"
	"github.com/gompss/gompss/codegen/cpu"
	"github.com/gompss/gompss/codegen/cpu/image"
	"github.com/gompss/gompss/devices/devicetest"
)

// Kernels whose single iterations take long: sums over millions of elements, in one loop of scalars and in one of lanes.
func longKernels(t *testing.T) map[string]func() error {
	t.Helper()
	o, err := cpu.Detect()
	if err != nil {
		t.Skip(err)
	}
	arena, err := cpu.NewArena()
	if err != nil {
		t.Skip(err)
	}
	t.Cleanup(func() { require.NoError(t, arena.Close()) })
	p := loadKernels(t)
	const n = 4 << 20
	x, out := make([]float32, n), make([]float32, n)
	wide := make([]float64, n)
	make1 := func(name string, args ...any) func() error {
		k, err := p.Kernel(name)
		require.NoError(t, err)
		r, err := cpu.NewKernelRunner(arena, k, o)
		require.NoError(t, err)
		return func() error { return r.Call(values(args), nil) }
	}
	runs := map[string]func() error{}
	growing(t, arena, o, runs)
	steps, again := loadNest(t, "Steps", o), make([]float64, n)
	runs["sequential code"] = func() error { return steps.Call(values([]any{9, wide, again}), nil) }
	runs["loop of scalars"] = make1("Forces", 0, 16, float32(0.1), x, x, x, out, out, out)
	runs["loop of lanes"] = make1("RowSums", 1, n, wide, wide[:1])
	return runs
}

// growingSource has kernels whose later iterations take a thousand times as long as the first: the time of those before tells nothing of them.
const growingSource = `package k

import "math"

//omp:target device(smp)
func Rows(n int, length []int32, x, s []float64) {
	//omp:teams distribute parallel for
	for i := 0; i < n; i++ {
		sum := 0.0
		for j := 0; j < int(length[i]); j++ {
			sum += x[j]
		}
		s[i] = sum
	}
}

//omp:target device(smp)
func Loops(n int, length []int32, x, s []float64) {
	//omp:teams distribute parallel for
	for i := 0; i < n; i++ {
		v := x[i]
		for j := int32(0); j < length[i]; j++ {
			v = v*0.5 + float64(j)
		}
		s[i] = v
	}
}

//omp:target device(smp)
func Branch(n int, length []int32, x, s []float64) {
	//omp:teams distribute parallel for
	for i := 0; i < n; i++ {
		if length[i] > 1 {
			v := math.Exp(x[i]) / (1 + x[i]*x[i])
			v = math.Pow(v, x[i]) / math.Sqrt(1+v*v)
			v += math.Sin(v) / math.Log(2+v*v) / math.Cbrt(3+v)
			s[i] = math.Tan(v) / math.Atan2(v, x[i]) / (1 + math.Exp(v)/(2+v))
		}
	}
}

//omp:target device(smp)
func Gathers(n int, length, ix []int32, x, s []float64) {
	//omp:teams distribute parallel for
	for i := 0; i < n; i++ {
		k := 0
		if length[i] > 1 {
			k = int(ix[i])
		}
		s[i] = x[k] + x[k^1] + x[k^1023] + x[k^65535] + x[k^0xfffff]
	}
}

//omp:target device(smp)
func Small(n int, length []int32, x, s []float64) {
	//omp:teams distribute parallel for
	for i := 0; i < n; i++ {
		v := x[i]
		if length[i] > 1 {
			v *= 0x1p-1040
		}
		v *= 0.75
		v *= 0.75
		v *= 0.75
		v *= 0.75
		s[i] = v * 0.75
	}
}

//omp:target device(smp)
func Tables(n int, length []int32, x, s []float64) {
	//omp:teams distribute parallel for
	for i := 0; i < n; i++ {
		if length[i] > 1 {
			var t [60000]float64
			t[length[i]] = x[i]
			s[i] = t[int(length[i])/2] + t[i%7]
		}
	}
}
`

// growing are the kernels of growingSource with arguments of which the second half takes long.
func growing(t *testing.T, arena *cpu.Arena, o cpu.Options, out map[string]func() error) {
	p, err := codegen.Load(codegen.File{Name: "growing.go", Text: growingSource})
	require.NoError(t, err)
	const n, table = 1 << 21, 1 << 21
	r := rand.New(rand.NewPCG(1, 2))
	length, ix, x, s := make([]int32, n), make([]int32, n), floats64(r, table), make([]float64, n)
	for i := range n {
		length[i], ix[i] = 1, int32(r.IntN(table))
		if i >= n*7/8 {
			length[i] = 1000
		}
	}
	for name, most := range map[string]int{"Rows": n, "Loops": n, "Branch": n, "Gathers": n, "Small": n, "Tables": 1 << 10} {
		k, err := p.Kernel(name)
		require.NoError(t, err)
		args := []any{most, length[(n-most)*7/8:], x, s} // the last eighth of them takes long
		if name == "Gathers" {
			args = []any{n, length, ix, x, s}
		}
		for kind, single := range map[string]cpu.Single{"lanes": cpu.SingleNever, "scalars": cpu.SingleAlways} {
			o.Single = single
			runner, err := cpu.NewKernelRunner(arena, k, o)
			require.NoError(t, err)
			out[name+" "+kind] = func() error { return runner.Call(values(args), nil) }
		}
	}
}

// pausesOf compiles a kernel and returns how many points there are where its code can stop.
func pausesOf(t *testing.T, source string, o cpu.Options) (n int) {
	t.Helper()
	p, err := codegen.Load(codegen.File{Name: "k.go", Text: source})
	require.NoError(t, err)
	k, err := p.Kernel("K")
	require.NoError(t, err)
	code, err := cpu.Compile(codegen.ForCPU(k), o)
	require.NoError(t, err)
	for _, s := range code.Sites {
		if s.Kind == image.SitePause {
			n++
		}
	}
	return n
}

// gathersText is kernel K, whose one loop body adds up 3 n gathers of floats at indices of a type.
func gathersText(n int, float, index string) string {
	var b strings.Builder
	b.WriteString("package k\n\n//omp:target device(smp)\nfunc K(x, y []" + float + ", ix []int32) {\n\t//omp:teams distribute parallel for\n\tfor i := range y {\n\t\tv := y[i]\n")
	for j := range n {
		fmt.Fprintf(&b, "\t\tv += x[(%[4]s(ix[i])*%[1]d)&1023] * x[(%[4]s(ix[i])*%[2]d)&1023] * x[(%[4]s(ix[i])*%[3]d)&1023]\n", j+1, j+2, j+3, index)
	}
	b.WriteString("\t\ty[i] = v\n\t}\n}\n")
	return b.String()
}

// TestLongBody_EqualsGo runs a body of more than 1 MiB of code, which neither the conditional
// branches of arm64 nor its loads of constants span.
func TestLongBody_EqualsGo(t *testing.T) {
	if testing.Short() {
		t.Skip("it takes a second to compile, and half a minute under an emulator")
	}
	const lines = 300
	p, err := codegen.Load(codegen.File{Name: "k.go", Text: gathersText(lines, "float64", "int")})
	require.NoError(t, err)
	k, err := p.Kernel("K")
	require.NoError(t, err)
	arena, err := cpu.NewArena()
	if err != nil {
		t.Skip(err)
	}
	defer func() { require.NoError(t, arena.Close()) }()
	r, err := cpu.NewKernelRunner(arena, codegen.ForCPU(k), cpu.Options{Single: cpu.SingleNever})
	require.NoError(t, err)
	x, y, ix := make([]float64, 1024), make([]float64, 13), make([]int32, 13)
	for i := range x {
		x[i] = float64(i%17) / 8
	}
	want := make([]float64, len(y))
	for i := range y {
		y[i], ix[i] = float64(i), int32(i*i)
		v := y[i]
		for j := range lines {
			at := func(n int) float64 { return x[int(ix[i])*(j+n)&1023] }
			v += float64(float64(at(1)*at(2)) * at(3))
		}
		want[i] = v
	}
	require.NoError(t, r.Call(values([]any{x, y, ix}), nil))
	require.Equal(t, want, y)
}

// TestLongBody_OutOfRegisters: a body for whose values there are not enough virtual registers has no vector code.
func TestLongBody_OutOfRegisters(t *testing.T) {
	if testing.Short() {
		t.Skip("it takes seconds to compile")
	}
	p, err := codegen.Load(codegen.File{Name: "k.go", Text: gathersText(1500, "float64", "int")})
	require.NoError(t, err)
	k, err := p.Kernel("K")
	require.NoError(t, err)
	_, err = cpu.Compile(codegen.ForCPU(k), cpu.Options{Single: cpu.SingleNever})
	var refusal *cpu.Refusal
	require.ErrorAs(t, err, &refusal)
	require.ErrorContains(t, err, "virtual registers")
}

// TestPauses_InLongBodies has bodies without loops: the code can stop within one that could take
// long, however long it is, and has no more such points within a short one. Issue 16, item h.
func TestPauses_InLongBodies(t *testing.T) {
	body := func(n int) string { return gathersText(n, "float32", "int32") } // of four lanes, where there are least
	// copies of a short body have points of their own
	lanes, scalars := cpu.Options{Single: cpu.SingleNever, Unroll: 1}, cpu.Options{Single: cpu.SingleAlways}
	few := pausesOf(t, body(2), lanes)
	require.Equal(t, few, pausesOf(t, body(20), lanes))
	require.Greater(t, pausesOf(t, body(300), lanes), few, "gathers of all lanes")
	few = pausesOf(t, body(2), scalars)
	require.Equal(t, few, pausesOf(t, body(40), scalars), "a few hundred instructions")
	scalars.StopAlways = true
	require.Greater(t, pausesOf(t, body(40), scalars), few+5)
}

// TestPauses_WhereOthersComeFirst counts the points of a loop of locked atomics: each loop around a
// compare and exchange has one where it goes back.
func TestPauses_WhereOthersComeFirst(t *testing.T) {
	source := "package k\n\n//omp:target device(smp)\nfunc K(x, y []float64, n []int32) {\n\t//omp:teams distribute parallel for\n\tfor i := range x {\n%s\t}\n}\n"
	update := "\t\t//omp:atomic\n\t\ty[n[i]] += x[i]\n"
	for _, single := range []cpu.Single{cpu.SingleNever, cpu.SingleAlways} {
		alone, shared := cpu.Options{Single: single, Workers: 1}, cpu.Options{Single: single, Workers: 2}
		one := pausesOf(t, fmt.Sprintf(source, update), shared) - 2*pausesOf(t, fmt.Sprintf(source, update), alone)
		require.Positive(t, one, "%v", single)
	}
}

const stopsAlone = "GOMPSS_TEST_STOPS"

// TestLongLoopsDoNotDelayTheCollector stops the world again and again while single iterations of kernels run for long, in a process of its own:
// the longest wait, by the runtime's own account, is below 5 ms.
func TestLongLoopsDoNotDelayTheCollector(t *testing.T) {
	if runtime.GOMAXPROCS(0) < 2 {
		t.Skip("one processor: nothing can stop the world meanwhile")
	}
	if os.Getenv(stopsAlone) == "" {
		cmd := exec.Command(os.Args[0], "-test.run", "^TestLongLoopsDoNotDelayTheCollector$", "-test.v")
		cmd.Env = append(os.Environ(), stopsAlone+"=1")
		out, err := cmd.CombinedOutput()
		if errors.Is(err, syscall.ENOEXEC) {
			t.Skip("an emulator runs this process, and the system cannot start its program again; nor are times under it those of a processor")
		}
		t.Logf("%s", out)
		require.NoError(t, err)
		return
	}
	for name, run := range longKernels(t) {
		t.Run(name, func(t *testing.T) {
			require.NoError(t, run())
			devicetest.StopsSoon(t, func() { assert.NoError(t, run()) })
		})
	}
}

// TestCallsDoNotAllocate runs a plain kernel, one with a sum over all iterations and one that asks Go on the way.
func TestCallsDoNotAllocate(t *testing.T) {
	p := loadKernels(t)
	arena, err := cpu.NewArena()
	if err != nil {
		t.Skip(err)
	}
	defer func() { require.NoError(t, arena.Close()) }()
	for _, name := range []string{"TriadStrict32", "Total", "Odd"} {
		k, err := p.Kernel(name)
		require.NoError(t, err)
		r, err := cpu.NewKernelRunner(arena, k, cpu.Options{})
		require.NoError(t, err)
		x := make([]float32, 1000)
		args := values([]any{x, x, x, float32(2)}[:len(k.Params)])
		require.NoError(t, r.Call(args, nil))
		require.Zero(t, testing.AllocsPerRun(100, func() { _ = r.Call(args, nil) }), name)
		var own cpu.Launcher
		require.NoError(t, own.Call(r, args, nil))
		require.Zero(t, testing.AllocsPerRun(100, func() { _ = own.Call(r, args, nil) }), name)
	}
	steps, x := loadNest(t, "Steps", cpu.Options{}), make([]float64, 2000)
	args := values([]any{9, x, x})
	require.NoError(t, steps.Call(args, nil))
	require.Zero(t, testing.AllocsPerRun(100, func() { _ = steps.Call(args, nil) }))
}
