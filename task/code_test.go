//go:build linux && amd64

package task

import (
	"context"
	"fmt"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	vec "github.com/gompss/gompss/codegen/cpu"
	"github.com/gompss/gompss/devices"
	"github.com/gompss/gompss/devices/smp/choose"
	"github.com/gompss/gompss/internal/environment"
	"github.com/gompss/gompss/task/internal/cpucode"
	"github.com/gompss/gompss/task/internal/engine"
	"github.com/gompss/gompss/task/internal/values"
	"github.com/gompss/gompss/trace/probe"
	"github.com/stretchr/testify/require"
)

func slowSum(x []float64) {
	for i := range x {
		x[i]++
	}
}

// slowToCompile returns a kernel with so many statements; with exact its variants give the same bits.
func slowToCompile(t *testing.T, statements int, exact bool) *Kernel {
	t.Helper()
	var body strings.Builder
	for i := range statements {
		e := fmt.Sprintf("x[i] = x[i]*%d.5 + 1/(x[i]+%d)", i+1, i+2)
		if !exact {
			e = fmt.Sprintf("x[i] = math.Exp(x[i]/%d)", i+2)
		}
		body.WriteString("\t\t" + e + "\n")
	}
	use := ""
	if !exact {
		use = "import \"math\"\n"
	}
	k, err := NewKernel(slowSum, SourceFile{Name: "slow.go", Text: "package task\n\n" + use + `
//omp:target device(acc, smp)
//omp:task inout(x)
func slowSum(x []float64) {
	//omp:teams distribute parallel for
	for i := range x {
` + body.String() + "\t}\n}\n"})
	require.NoError(t, err)
	return k
}

// A journal keeps the points of a run.
type journal struct {
	mu     sync.Mutex
	points []probe.Point
}

func (j *journal) Observe(p probe.Point) {
	j.mu.Lock()
	j.points = append(j.points, p)
	j.mu.Unlock()
}

func (j *journal) all(kind probe.Kind) (out []probe.Point) {
	j.mu.Lock()
	defer j.mu.Unlock()
	for _, p := range j.points {
		if p.Kind == kind {
			out = append(out, p)
		}
	}
	return out
}

func opened(t *testing.T, o Options) *Runtime {
	t.Helper()
	if _, err := vec.Detect(); err != nil {
		t.Skip(err)
	}
	rt, err := New(o)
	require.NoError(t, err)
	t.Cleanup(func() { require.NoError(t, rt.Close()) })
	if environment.RaceDetector && o.Vector == VectorAuto {
		rt.core.Exec.Vectors.Off = nil // these tests are of vector code
	}
	return rt
}

func submitted(t *testing.T, rt *Runtime, k *Kernel, args ...any) {
	t.Helper()
	_, err := k.Submit(rt, args...)
	require.NoError(t, err)
	require.NoError(t, rt.Wait(context.Background()))
}

// Issue 16, item 9: compiling was a part of the first task's body, which took milliseconds in place of microseconds, and policies learned that.
func TestCompile_IsNoPartOfABody(t *testing.T) {
	for name, exact := range map[string]bool{"waits": false, "Go meanwhile": true} {
		t.Run(name, func(t *testing.T) {
			var seen journal
			rt := opened(t, Options{Devices: "smp:1", Policy: "versioning", Learned: t.TempDir() + "/times", Observer: &seen})
			k := slowToCompile(t, 120, exact)
			x := make([]float64, 64)
			for range 3 {
				submitted(t, rt, k, x)
			}
			require.NoError(t, rt.Vectorised(k))
			submitted(t, rt, k, x)
			compiled := seen.all(probe.Compile)
			require.Len(t, compiled, 1, "a phase of its own")
			phase := compiled[0].Time - compiled[0].Begin
			require.Equal(t, []string{"slowSum", "smp"}, []string{compiled[0].Kernel, compiled[0].Device})
			require.Greater(t, phase, 500*time.Microsecond)
			began, ended := seen.all(probe.Start), seen.all(probe.End)
			require.Less(t, ended[0].Time-began[0].Time, phase, "the first body has no compiling in it")
			if !exact {
				require.GreaterOrEqual(t, began[0].Time, compiled[0].Time, "vector code alone gives these bits: the task has waited for it")
			}
			for _, l := range rt.core.Ready.Learned.Learned.List() {
				require.Less(t, l.Most, phase, "what is learned has no compiling in it")
			}
		})
	}
}

// held puts off the compiling of k's vector code until the returned function is called.
func held(rt *Runtime, k *Kernel) (compile func()) {
	c := &cpucode.Code{Kernel: k.description, Made: make(chan struct{}), Always: rt.core.Exec.Vectors.AlwaysVector(k.description)}
	rt.core.Exec.Vectors.Mu.Lock()
	defer rt.core.Exec.Vectors.Mu.Unlock()
	if why := rt.core.Exec.Vectors.Cannot(); why != nil {
		panic(why)
	}
	rt.core.Exec.Vectors.Known.Store(k.description, c)
	var once sync.Once
	return func() { once.Do(func() { rt.core.Exec.Vectors.Compile(c) }) }
}

func countUpKernel(t *testing.T, spec KernelSpec) *Kernel {
	t.Helper()
	spec.Name = "countUp"
	spec.Files = []SourceFile{{Name: "count.go", Text: countUpSource}}
	return MustKernel(spec)
}

const countUpSource = `package task

//omp:target device(acc, smp)
//omp:task inout(x)
func countUp(x []int64) {
	//omp:teams distribute parallel for
	for i := range x {
		x[i] += int64(i)
	}
}
`

func addRange(a *Args, lo, hi int64) {
	x := argInts(a)
	for i := lo; i < hi; i++ {
		x[i] += i
	}
}

func argInts(a *Args) []int64 { return devices.SliceArg[int64](a, 0) }

// Kernels whose variants give the same bits run as Go functions until the code is there, and never wait for it.
func TestGoFunction_RunsUntilTheCodeIsThere(t *testing.T) {
	rt := opened(t, Options{Devices: "smp:2"})
	var calls atomic.Int64
	k := countUpKernel(t, KernelSpec{Go: func(a *Args) { calls.Add(1); addRange(a, 0, int64(len(argInts(a)))) }})
	compile := held(rt, k)
	x := make([]int64, 100)
	for n := range int64(10) {
		submitted(t, rt, k, x)
		require.Equal(t, n+1, calls.Load())
	}
	compile()
	submitted(t, rt, k, x)
	require.Equal(t, int64(10), calls.Load(), "vector code is measured first")
	for i := range x {
		require.Equal(t, int64(11*i), x[i])
	}
}

// A loop that can be cut goes on as vector code from the moment that this is there: a long first launch does not stay with the Go function.
func TestGoFunction_HandsTheRestToTheCode(t *testing.T) {
	for _, workers := range []int{1, 2} {
		rt := opened(t, Options{Devices: fmt.Sprintf("smp:%d", workers)})
		var ran atomic.Int64
		compile := func() {}
		k := countUpKernel(t, KernelSpec{
			Go:    func(a *Args) { addRange(a, 0, int64(len(argInts(a)))) },
			Trips: func(a *Args) int64 { return int64(len(argInts(a))) },
			Split: func(a *Args, lo, hi int64) {
				if ran.Add(hi-lo) > 1e5 {
					compile()
				}
				addRange(a, lo, hi)
			}})
		compile = held(rt, k)
		x := make([]int64, 3e6)
		submitted(t, rt, k, x)
		for i := range x {
			if x[i] != int64(i) {
				require.Equal(t, int64(i), x[i])
			}
		}
		require.Less(t, ran.Load(), int64(len(x)*9/10), "the code ran the rest")
	}
}

// A large kernel that cannot be cut waits for its code, as its Go function might take much longer than that.
func TestAwaitCode_WhereTheGoFunctionMayTakeLong(t *testing.T) {
	for name, c := range map[string]struct {
		o Options
		n int
	}{
		"large":  {Options{Devices: "smp:2"}, 1 << 20},
		"asked":  {Options{Devices: "smp:2", AwaitCode: true}, 10},
		"pinned": {Options{Devices: "smp:2", Vector: VectorAVX2}, 10},
	} {
		t.Run(name, func(t *testing.T) {
			rt := opened(t, c.o)
			var calls atomic.Int64
			k := countUpKernel(t, KernelSpec{Go: func(a *Args) { calls.Add(1) }})
			compile := held(rt, k)
			task, err := k.Submit(rt, make([]int64, c.n))
			require.NoError(t, err)
			select {
			case <-task.Done():
				require.Fail(t, "it ran as the Go function")
			case <-time.After(20 * time.Millisecond):
			}
			compile()
			require.NoError(t, rt.Wait(context.Background()))
			require.Zero(t, calls.Load())
		})
	}
}

// A panic of the compiler is the error of the tasks that need the code.
func TestCompile_PanicsOfTheCompilerAreErrorsOfTasks(t *testing.T) {
	rt, err := New(Options{Devices: "smp:1", AwaitCode: true})
	require.NoError(t, err)
	k := countUpKernel(t, KernelSpec{Go: func(a *Args) {}})
	c := &cpucode.Code{Kernel: k.description, Made: make(chan struct{})}
	c.Vector.Store(&cpucode.Variant{Broke: "gompss: bug: cpu: no such register"})
	close(c.Made)
	rt.core.Exec.Vectors.Known.Store(k.description, c)
	_, err = k.Submit(rt, make([]int64, 4))
	require.NoError(t, err)
	require.ErrorContains(t, rt.Wait(context.Background()), "no such register")
	require.Contains(t, rt.CPUCode(k), "the compiler broke")
	require.NoError(t, rt.Close())
}

// Prepare makes everything before the first task does.
func TestPrepare_CompilesForAllDevices(t *testing.T) {
	var seen journal
	rt := opened(t, Options{Devices: "smp:1,sim:1(exec=simt)", Observer: &seen})
	a, b := slowToCompile(t, 40, true), slowToCompile(t, 3, false)
	require.NoError(t, rt.Prepare(context.Background(), a, b))
	require.NotNil(t, rt.core.Exec.Vectors.Of(a.description).Vector.Load())
	require.NotNil(t, rt.core.Exec.Vectors.Of(b.description).Vector.Load())
	on := map[string]int{}
	for _, p := range seen.all(probe.Compile) {
		on[p.Device]++
	}
	require.Equal(t, map[string]int{"smp": 2, "sim:0": 2}, on)
	require.NoError(t, rt.Prepare(context.Background(), a, b), "again costs nothing")
	require.Len(t, seen.all(probe.Compile), 4)
}

func TestPrepare_Errors(t *testing.T) {
	rt := opened(t, Options{Devices: "sim:1"})
	k, err := NewKernel(countUp, SourceFile{Name: "count.go", Text: `package task

//omp:target device(smp)
//omp:task inout(x)
func countUp(x []int64) {
	//omp:teams distribute parallel for
	for i := range x {
		x[i] += int64(i)
	}
}
`})
	require.NoError(t, err)
	var none *engine.NoDeviceError
	require.ErrorAs(t, rt.Prepare(context.Background(), k), &none)
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	other := opened(t, Options{Devices: "smp:1"})
	compile := held(other, k)
	require.ErrorIs(t, other.Prepare(ctx, k), context.Canceled)
	compile()
	var nothing context.Context
	require.ErrorContains(t, rt.Prepare(nothing), "nil context")
	closed, err := New(Options{Devices: "smp:1"})
	require.NoError(t, err)
	require.NoError(t, closed.Close())
	require.ErrorIs(t, closed.Prepare(context.Background(), k), engine.ErrClosed)
}

// decide lets the table of k know that launches of x take so long with each variant.
func decide(rt *Runtime, k *Kernel, n int, vector, goFunction time.Duration) {
	c := rt.core.Exec.Vectors.Of(k.description)
	c.Wait()
	s := choose.SizeOf(int64(n), int64(8*n))
	for range 8 {
		c.Table.Measured(s, choose.Vector, int64(n), vector)
		c.Table.Measured(s, choose.Go, int64(n), goFunction)
	}
}

// Issue 16, item 21: the variant that was measured to be faster runs, for each size on its own, and the runtime says which and why.
func TestChoice_RunsTheFasterVariant(t *testing.T) {
	rt := opened(t, Options{Devices: "smp:2"})
	var calls atomic.Int64
	k := countUpKernel(t, KernelSpec{Go: func(a *Args) { calls.Add(1); addRange(a, 0, int64(len(argInts(a)))) }})
	require.NoError(t, rt.Vectorised(k))
	// No launch takes less than a nanosecond, so that those that are measured leave these times.
	decide(rt, k, 10, 100, 1)
	decide(rt, k, 1000, 1, 100)
	small, large := make([]int64, 10), make([]int64, 1000)
	for range 20 {
		submitted(t, rt, k, small)
	}
	require.Equal(t, int64(20), calls.Load())
	for range 20 {
		submitted(t, rt, k, large)
	}
	require.Equal(t, int64(20), calls.Load())
	require.Equal(t, int64(20*9), small[9])
	require.Equal(t, int64(20*999), large[999])
	require.Equal(t, []VariantChoice{
		{Kernel: "countUp", Launches: "8 to 15 iterations on 64 to 127 bytes", Variant: "Go function", Other: "vector code", VectorTime: 10, OtherTime: 0.1},
		{Kernel: "countUp", Launches: "512 to 1023 iterations on 4 to 8 KiB", Variant: "vector code", Other: "Go function", VectorTime: 0.001, OtherTime: 0.1},
	}, rt.Stats().Choices)
	require.Contains(t, rt.CPUCode(k), "or the Go function where that is faster; Go function for 8 to 15 iterations on 64 to 127 bytes: 0.1 ns for each against 10 ns of the vector code;")
}

// Launches are measured as they come, and results stay right whichever variant runs.
func TestChoice_IsMadeFromRealLaunches(t *testing.T) {
	rt := opened(t, Options{Devices: "smp:2"})
	k := countUpKernel(t, KernelSpec{Go: func(a *Args) { addRange(a, 0, int64(len(argInts(a)))) }})
	x := make([]int64, 50)
	for n := 0; len(rt.Stats().Choices) == 0; n++ {
		require.Less(t, n, 10000)
		before := x[49]
		submitted(t, rt, k, x)
		require.Equal(t, before+49, x[49])
	}
}

// Where the Go function may differ in bits it never runs: scalar code of the same operations may.
// Where lanes show in the bits vector code always runs. CPUCode says why.
func TestChoice_NeverChangesBits(t *testing.T) {
	rt, lanes := opened(t, Options{Devices: "smp:2"}), opened(t, Options{Devices: "smp:1", Vector: widest(t)})
	k := slowToCompile(t, 2, false)
	for _, faster := range []choose.Variant{choose.Vector, choose.Scalar} {
		c := rt.core.Exec.Vectors.Of(k.description)
		require.NotNil(t, c.Wait().Scalar)
		n := 40 << (4 * faster)
		x := make([]float64, n)
		y := make([]float64, n)
		for i := range x {
			x[i] = float64(i) / 7
			y[i] = x[i]
		}
		for range 8 {
			size := choose.SizeOf(int64(n), int64(8*n))
			for _, v := range []choose.Variant{choose.Vector, choose.Scalar} {
				took := time.Microsecond
				if v == faster {
					took = 1 // which no launch undercuts
				}
				c.Table.Measured(size, v, int64(n), took)
			}
		}
		for range 50 {
			submitted(t, rt, k, x)
			submitted(t, lanes, k, y)
			require.Equal(t, y, x)
		}
	}
	choices := rt.Stats().Choices
	require.Len(t, choices, 2)
	for i, of := range []string{"vector code", "scalar code"} {
		require.Equal(t, of, choices[i].Variant)
		require.NotEqual(t, "Go function", choices[i].Other)
	}
	require.Contains(t, rt.CPUCode(k), "or scalar code where that is faster, never the Go function: slow.go:10:10: exp of vector code is within 1.5 ulp")

	sum := MustKernel(KernelSpec{Name: "sumUp", Go: func(a *Args) { panic("the Go function runs") }, Files: []SourceFile{{Name: "sum.go", Text: `package task

//omp:target device(smp)
//omp:task in(x) inout(*s)
func sumUp(x []float64, s *float64) {
	//omp:teams distribute parallel for reduction(+: *s)
	for i := range x {
		*s += x[i]
	}
}
`}}})
	for range 50 {
		_, err := sum.Submit(rt, []float64{1, 2}, new(float64))
		require.NoError(t, err)
		require.NoError(t, rt.Wait(context.Background()))
	}
	require.Len(t, rt.Stats().Choices, 2)
	require.Contains(t, rt.CPUCode(sum), "never the Go function: sum.go:6:51: a reduction of floats combines in another order")
}

// A loop with atomics that runs one iteration after the other makes them in the order of Go on one
// worker, so the Go function may run in its place, also where a value is kept or floats are added
// up. Each launch leaves the same bits whichever runs.
func TestChoice_AtomicsInTheOrderOfGo(t *testing.T) {
	rt := opened(t, Options{Devices: "smp:1"})
	var calls atomic.Int64
	k := MustKernel(KernelSpec{Name: "binUp", Go: func(a *Args) {
		calls.Add(1)
		binUp(devices.SliceArg[int32](a, 0), devices.SliceArg[int64](a, 1), devices.SliceArg[float64](a, 2))
	}, Files: []SourceFile{{Name: "bin.go", Text: fmt.Sprintf(binUpSource, "bins, sum")}}})
	require.NoError(t, rt.Prepare(context.Background(), k))
	require.Contains(t, rt.CPUCode(k), "or the Go function where that is faster")
	x, bins, sum := make([]int32, 1000), make([]int64, 8), make([]float64, 1)
	wantBins, want := make([]int64, 8), make([]float64, 1)
	for i := range x {
		x[i] = int32(i*i) % 8
	}
	sum[0], want[0] = 1e15/3, 1e15/3
	for n := 0; n < 40 || calls.Load() == 0; n++ {
		require.Less(t, n, 10000)
		submitted(t, rt, k, x, bins, sum)
		binUp(x, wantBins, want)
		require.Equal(t, wantBins, bins)
		require.Equal(t, want, sum)
	}
	require.Less(t, calls.Load(), int64(40), "both ran")
	pinned := opened(t, Options{Devices: "smp:2", Vector: VectorAVX2})
	c := countUpKernel(t, KernelSpec{Go: func(a *Args) {}})
	y := make([]int64, 8)
	for n := range 50 {
		submitted(t, pinned, c, y)
		require.Equal(t, int64(7*(n+1)), y[7])
	}
	require.Contains(t, pinned.CPUCode(c), "never the Go function: the program asks for it")
}

// widest returns the value of Options.Vector that names this machine's widest vectors.
func widest(t *testing.T) string {
	o, err := vec.Detect()
	if err != nil {
		t.Skip(err)
	}
	if o.AVX512 {
		return VectorAVX512
	}
	return VectorAVX2
}

// Issue 16, item 26: with the race detector in the program Go functions run, unless the program asks for vector code.
func TestRaceDetector_SeesKernels(t *testing.T) {
	if _, err := vec.Detect(); err != nil {
		t.Skip(err)
	}
	k := countUpKernel(t, KernelSpec{Go: func(a *Args) { addRange(a, 0, int64(len(argInts(a)))) }})
	for choice, want := range map[string]bool{VectorAuto: !environment.RaceDetector, VectorAVX2: true, VectorOff: false} {
		rt, err := New(Options{Devices: "smp:1", Vector: choice})
		require.NoError(t, err)
		require.Equal(t, want, rt.Vectorised(k) == nil, "%q", choice)
		if environment.RaceDetector && choice == VectorAuto {
			require.ErrorIs(t, rt.Vectorised(k), cpucode.ErrRaceDetector)
		}
		require.NoError(t, rt.Close())
	}
}

// BenchmarkCallKernel is what a launch costs that works on next to nothing, with each variant and without a choice.
func BenchmarkCallKernel(b *testing.B) {
	for name, choice := range map[string]string{"pinned": VectorAVX2, "chosen": VectorAuto} {
		for _, faster := range []choose.Variant{choose.Vector, choose.Go} {
			b.Run(fmt.Sprint(name, "/", faster), func(b *testing.B) {
				rt, err := New(Options{Devices: "smp:1", Vector: choice})
				require.NoError(b, err)
				defer func() { require.NoError(b, rt.Close()) }()
				x := make([]int64, 16)
				k := MustKernel(KernelSpec{Name: "countUp", Go: func(a *Args) { addRange(a, 0, 16) }, Files: []SourceFile{{Name: "count.go", Text: countUpSource}}})
				require.NoError(b, rt.Prepare(context.Background(), k))
				decide(rt, k, 16, 300*time.Duration(1+faster), 300*time.Duration(2-faster))
				r := &engine.Record{Detail: &engine.Detail{RT: &rt.core, Bodies: engine.Bodies{Kernel: k.description}}}
				buffer, _, err := rt.core.Buffers.Locate(values.MemoryOf(x), &rt.core.Root.Memory)
				require.NoError(b, err)
				r.Args.List = []devices.Arg{{Type: k.description.IR.Params[0].Type, Buffer: buffer.ID, Len: 16, Cap: 16}}
				for b.Loop() {
					rt.core.Exec.Call(engine.CPU{RT: &rt.core}.LaunchOf(r))
				}
			})
		}
	}
}

func binUp(x []int32, bins []int64, sum []float64) {
	for _, v := range x {
		bins[v]++
		sum[0] += float64(v)
	}
}

const binUpSource = `package task

//omp:target device(smp)
//omp:task in(x) inout(%s)
func binUp(x []int32, bins []int64, sum []float64) {
	//omp:teams distribute parallel for
	for i := range x {
		//omp:atomic
		bins[x[i]]++
		//omp:atomic
		sum[0] += float64(x[i])
	}
}
`

// Workers that update one slice with locked instructions are one body for GOMPSS_CHECK: it finds what they write outside of the regions, and
// nothing where they keep to them, whatever runs beside.
func TestCheck_LockedAtomicsOfTwoWorkers(t *testing.T) {
	t.Setenv(CheckVariable, "1")
	rt := opened(t, Options{Devices: "smp:2", AwaitCode: true})
	rt.core.Exec.Vectors.Options.Locked, rt.core.Exec.Vectors.Options.Workers = true, 2
	var shared atomic.Int64
	share := rt.core.Exec.Share
	rt.core.Exec.Share = func(l *vec.Loop) error {
		shared.Add(1)
		return share(l)
	}
	const n, bins = 1 << 17, 5000
	alloc64 := func(n int) []int64 {
		x, err := Alloc[int64](rt, n)
		require.NoError(t, err)
		return x
	}
	x, err := Alloc[int32](rt, n)
	require.NoError(t, err)
	y, other := alloc64(bins), alloc64(1<<14)
	sum, err := Alloc[float64](rt, 1)
	require.NoError(t, err)
	want, total := make([]int64, bins), 0.0
	for i := range x {
		x[i] = int32(i * 7919 % bins)
		want[x[i]]++
		total += float64(x[i])
	}
	good, err := NewKernel(binUp, SourceFile{Name: "bins.go", Text: fmt.Sprintf(binUpSource, "bins, sum")})
	require.NoError(t, err)
	rounds := int64(5)
	for range rounds {
		_, err := good.Submit(rt, x, y, sum)
		require.NoError(t, err)
		_, err = rt.Go(func() error { other[0]++; return nil }, InOut(other))
		require.NoError(t, err)
	}
	require.NoError(t, rt.Wait(context.Background()))
	for i := range want {
		require.Equal(t, rounds*want[i], y[i], "%d", i)
	}
	require.Equal(t, float64(rounds)*total, sum[0], "sums of whole numbers are exact")
	require.Equal(t, rounds, other[0])
	require.Positive(t, shared.Load(), "loops for both workers")
	stray, err := NewKernel(binUp, SourceFile{Name: "bins.go", Text: fmt.Sprintf(binUpSource, "bins[0:4000], sum")})
	require.NoError(t, err)
	_, err = stray.Submit(rt, x, y, sum)
	require.NoError(t, err)
	var v *engine.ViolationError
	require.ErrorAs(t, rt.Wait(context.Background()), &v)
	require.Contains(t, v.Error(), "of b1[4000:5000] changed while binUp ran, which has not declared it")
}
