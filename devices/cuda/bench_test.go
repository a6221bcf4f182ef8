//go:build linux && (amd64 || arm64)

package cuda

import (
	_ "embed"
	"fmt"
	"math"
	"runtime"
	"slices"
	"testing"
	"time"
	"unsafe"

	"github.com/stretchr/testify/require"

	"github.com/gompss/gompss/codegen"
	"github.com/gompss/gompss/codegen/cuda"
	"github.com/gompss/gompss/codegen/ir"
	"github.com/gompss/gompss/deps"
	"github.com/gompss/gompss/devices"
	"github.com/gompss/gompss/devices/cuda/internal/driver"
)

//go:embed testdata/bench.go.txt
var benchSource string

//go:embed testdata/reference.cu
var referenceSource string

// benchKernel compiles a kernel of testdata/bench.go.txt.
func benchKernel(t testing.TB, name string) *devices.Kernel {
	t.Helper()
	pkg, err := codegen.Load(codegen.File{Name: "bench.go", Text: benchSource})
	require.NoError(t, err)
	k, err := pkg.Kernel(name)
	require.NoError(t, err)
	lowered, err := codegen.Lower(k, codegen.LowerOptions{})
	require.NoError(t, err)
	return &devices.Kernel{Name: name, Pos: k.At, Program: lowered.Program}
}

// A bench is one GPU and buffers on it.
type bench struct {
	t    testing.TB
	d    *Device
	all  []*Device
	next deps.BufferID
	keep []any
	rows *[]string
}

func openBench(t testing.TB, n int, rows *[]string) *bench {
	opened, err := Open(n, devices.SpaceID{Device: 1}, Options{})
	require.NoError(t, err)
	b := &bench{t: t, d: opened[0], all: opened, rows: rows}
	t.Cleanup(func() {
		for _, d := range opened {
			require.NoError(t, d.Close())
		}
	})
	return b
}

// row notes one line of the table; reference 0 is none.
func (b *bench) row(name string, value float64, unit string, reference float64) {
	line := fmt.Sprintf("%-44s %10.3f %-9s", name, value, unit)
	if reference > 0 {
		line += fmt.Sprintf(" reference %10.3f ratio %.3f", reference, value/reference)
	}
	*b.rows = append(*b.rows, line)
}

// put makes x a buffer on all GPUs, with its content on the first, and returns it as an argument.
func put[T float32 | float64 | int64](b *bench, x []T) devices.Arg {
	b.t.Helper()
	var zero T
	elem := deps.Bytes(unsafe.Sizeof(zero))
	types := map[deps.Bytes]*ir.Type{4: ir.Float32Type, 8: ir.Float64Type}
	if _, ok := any(zero).(int64); ok {
		types[8] = ir.Int64Type
	}
	id := b.next
	b.next++
	b.keep = append(b.keep, x)
	size := deps.Bytes(len(x)) * elem
	for _, d := range b.all {
		require.NoError(b.t, d.Reserve(devices.Buffer{ID: id, Host: devices.NewHostMemory(unsafe.Pointer(&x[0])), Size: size, Elem: elem}))
		require.NoError(b.t, d.Map(id, 0, size))
	}
	b.move(id, len(x), elem, devices.Host, b.d.gpu.space)
	return devices.Arg{Type: ir.SliceOf(types[elem]), Buffer: id, Len: int64(len(x)), Cap: int64(len(x))}
}

// move copies a whole buffer and waits.
func (b *bench) move(id deps.BufferID, n int, elem deps.Bytes, from, to devices.SpaceID) {
	b.t.Helper()
	at := b.d
	if to != devices.Host && to != b.d.gpu.space {
		at = b.d.platform.at(to)
	}
	require.NoError(b.t, waitFor(at.Copy(devices.Transfer{Region: deps.Interval(id, 0, int64(n)), Elem: elem, From: from, To: to}, nil)))
}

func waitFor(e devices.Event) error {
	done := make(chan error, 1)
	e.Then(func(err error) { done <- err })
	return <-done
}

// measure returns the median seconds of one call of f, which enqueues work on the stream, by events
// of the device.
func (b *bench) measure(repeat int, f func(stream uintptr) error) float64 {
	b.t.Helper()
	d := b.d
	d.gpu.enter()
	defer d.gpu.leave()
	w := driver.NewBlock()
	defer w.Free()
	require.NoError(b.t, d.gpu.driver.Do(driver.CuEventCreate, w.At(0), 0))
	require.NoError(b.t, d.gpu.driver.Do(driver.CuEventCreate, w.At(1), 0))
	first, last, stream := uintptr(w.Words[0]), uintptr(w.Words[1]), d.streams.kernels[0].cu
	var times []float64
	for round := range 12 {
		require.NoError(b.t, d.gpu.driver.Do(driver.CuEventRecord, first, stream))
		for range repeat {
			require.NoError(b.t, f(stream))
		}
		require.NoError(b.t, d.gpu.driver.Do(driver.CuEventRecord, last, stream))
		require.NoError(b.t, d.gpu.driver.Do(driver.CuStreamSynchronize, stream))
		require.NoError(b.t, d.gpu.driver.Do(driver.CuEventElapsedTime, w.At(2), first, last))
		if round >= 2 { // warm
			times = append(times, float64(math.Float32frombits(uint32(w.Words[2])))/1e3/float64(repeat))
		}
	}
	require.NoError(b.t, d.gpu.driver.Do(driver.CuEventDestroy, first))
	require.NoError(b.t, d.gpu.driver.Do(driver.CuEventDestroy, last))
	slices.Sort(times)
	return times[len(times)/2]
}

// ours measures a kernel as Launch runs it, and logs its shape.
func (b *bench) ours(repeat int, k *devices.Kernel, args ...devices.Arg) float64 {
	b.t.Helper()
	r, err := b.d.newRun(&devices.Launch{Kernel: k, Args: &devices.Args{List: args}})
	require.NoError(b.t, err)
	b.t.Logf("%s: index32 %t, grids %v, scratch %v, checks %t", k.Name, r.version.index32, r.grids, r.scratch.Total(), r.faults)
	op := &operation{event: &event{device: b.d}}
	seconds := b.measure(repeat, func(stream uintptr) error {
		op.stream = b.d.streams.kernels[0]
		return r.start(op)
	})
	for _, c := range op.event.checks {
		require.NoError(b.t, c.slot.fault(r.version))
	}
	return seconds
}

// reference loads the hand-written kernels and returns what launches one of them.
func (b *bench) reference(name string, teams, threads int, params ...uint64) func(stream uintptr) error {
	b.t.Helper()
	names := []string{"triad", "triad2", "forces", "forces_tiles"}
	options := []string{"--std=c++17", "--use_fast_math"}
	code, _, err := b.d.platform.compile("reference", referenceSource, fmt.Sprint(referenceSource, options), b.d.gpu.chip.arch(), options)
	require.NoError(b.t, err)
	b.d.gpu.enter()
	defer b.d.gpu.leave()
	_, entries, err := b.d.gpu.loadModule(code, names)
	require.NoError(b.t, err)
	function := entries[slices.Index(names, name)].function
	values := slices.Clone(params)
	list := make([]unsafe.Pointer, len(values))
	for i := range values {
		list[i] = unsafe.Pointer(&values[i])
	}
	return func(stream uintptr) error {
		err := b.d.gpu.driver.Do(driver.CuLaunchKernel, function, uintptr(teams), 1, 1, uintptr(threads), 1, 1, 0, stream,
			uintptr(unsafe.Pointer(&list[0])), 0)
		runtime.KeepAlive(list)
		return err
	}
}

func (b *bench) addressOf(a devices.Arg) uint64 {
	base, err := b.d.mirrors.addressOf(a.Buffer)
	require.NoError(b.t, err)
	return base
}

// TestBench prints the table of measurements; every row is checked for its result first.
func TestBench(t *testing.T) {
	needGround(t)
	if !ground.real {
		t.Skip("no GPU to measure")
	}
	var rows []string
	for _, part := range []struct {
		name string
		run  func(b *bench)
	}{{"copies", benchCopies}, {"triad", benchTriad}, {"nbody", benchForces}, {"tasks", benchTasks}} {
		t.Run(part.name, func(t *testing.T) {
			drv, err := driver.Open()
			require.NoError(t, err)
			part.run(openBench(t, drv.Count, &rows))
		})
	}
	for _, r := range rows {
		fmt.Println("BENCH", r)
	}
}

func benchCopies(b *bench) {
	const n = 32 << 20 // float64: 256 MiB
	x := make([]float64, n)
	a := put(b, x)
	seconds := func(from, to devices.SpaceID) float64 {
		var times []float64
		for range 7 {
			start := time.Now()
			b.move(a.Buffer, n, 8, from, to)
			times = append(times, time.Since(start).Seconds())
		}
		slices.Sort(times)
		return times[len(times)/2]
	}
	rate := func(s float64) float64 { return 8 * n / s / 1e9 }
	b.row("host to device 256 MiB, pinned", rate(seconds(devices.Host, b.d.gpu.space)), "GB/s", 55.5)
	b.row("device to host 256 MiB, pinned", rate(seconds(b.d.gpu.space, devices.Host)), "GB/s", 55.3)
	if len(b.all) > 1 && b.all[1].Reaches(b.d.gpu.space) {
		b.row("peer copy 256 MiB", rate(seconds(b.d.gpu.space, b.all[1].gpu.space)), "GB/s", 395)
	}
}

func benchTriad(b *bench) {
	const n = 1 << 27 // three arrays of 1 GiB
	host := make([]float64, n)
	for i := range host {
		host[i] = float64(i%1000) / 7
	}
	y, z := put(b, host), put(b, slices.Clone(host))
	out := make([]float64, n)
	x := put(b, out)
	s := devices.Arg{Type: ir.Float64Type, Bits: math.Float64bits(3)}
	ours := b.ours(20, benchKernel(b.t, "Triad"), x, y, z, s)
	b.move(x.Buffer, n, 8, b.d.gpu.space, devices.Host)
	for i, v := range out {
		if want := host[i] + float64(3*host[i]); v != want {
			b.t.Fatalf("element %d: want %v, got %v", i, want, v)
		}
	}
	params := []uint64{b.addressOf(x), b.addressOf(y), b.addressOf(z), math.Float64bits(3), n}
	rate := func(s float64) float64 { return 24 * n / s / 1e9 }
	plain := b.measure(20, b.reference("triad", n/128, 128, params...))
	wide := b.measure(20, b.reference("triad2", n/256, 128, params...))
	b.row("STREAM triad float64 n=2^27", rate(ours), "GB/s", rate(plain))
	b.row("STREAM triad float64, 16-byte reference", rate(ours), "GB/s", rate(wide))
}

func benchForces(b *bench) {
	const n, dt = 131072, 0.01
	coordinate := func(seed uint32) []float32 {
		x := make([]float32, n)
		for i := range x {
			seed = seed*1664525 + 1013904223
			x[i] = float32(seed>>8) / (1 << 24)
		}
		return x
	}
	p := [3][]float32{coordinate(1), coordinate(2), coordinate(3)}
	var args []devices.Arg
	number := func(v int64) devices.Arg { return devices.Arg{Type: ir.IntType, Bits: uint64(v)} }
	args = append(args, number(0), number(n), devices.Arg{Type: ir.Float32Type, Bits: uint64(math.Float32bits(dt))})
	v := [3][]float32{make([]float32, n), make([]float32, n), make([]float32, n)}
	for _, x := range append(p[:], v[:]...) {
		args = append(args, put(b, x))
	}
	rate := func(s float64) float64 { return 20 * float64(n) * n / s / 1e12 }
	params := []uint64{n, uint64(math.Float32bits(dt))}
	for _, a := range args[3:] {
		params = append(params, b.addressOf(a))
	}
	plain := rate(b.measure(2, b.reference("forces", n/256, 256, params...)))
	tiles := rate(b.measure(2, b.reference("forces_tiles", n/256, 256, params...)))
	b.row("hand-written CUDA N-Body, plain", plain, "TFLOP/s", 17.0)
	b.row("hand-written CUDA N-Body, tiles", tiles, "TFLOP/s", 30.9)
	for _, name := range []string{"Forces", "ForcesFast"} {
		k := benchKernel(b.t, name)
		b.checkForces(k, args, p, v, dt)
		b.row("N-Body float32 n=131072 "+name+" by tiles", rate(b.ours(2, k, args...)), "TFLOP/s", tiles)
	}
}

// checkForces runs the kernel once on velocities of zero and compares some bodies with float64.
func (b *bench) checkForces(k *devices.Kernel, args []devices.Arg, p, v [3][]float32, dt float64) {
	n := len(p[0])
	for c := range v {
		clear(v[c])
		b.move(args[6+c].Buffer, n, 4, devices.Host, b.d.gpu.space)
	}
	require.NoError(b.t, b.d.Prepare(k))
	require.NoError(b.t, waitFor(b.d.Launch(&devices.Launch{Kernel: k, Args: &devices.Args{List: args}}, nil)))
	for c := range v {
		b.move(args[6+c].Buffer, n, 4, b.d.gpu.space, devices.Host)
	}
	for i := 0; i < n; i += n / 16 {
		var f [3]float64
		for j := range n {
			dx, dy, dz := float64(p[0][j]-p[0][i]), float64(p[1][j]-p[1][i]), float64(p[2][j]-p[2][i])
			inv := 1 / math.Sqrt(dx*dx+dy*dy+dz*dz+1e-3)
			inv3 := inv * inv * inv
			f[0], f[1], f[2] = f[0]+dx*inv3, f[1]+dy*inv3, f[2]+dz*inv3
		}
		for c := range f {
			require.InDelta(b.t, dt*f[c], float64(v[c][i]), 1e-3*dt*float64(n), "%s body %d", k.Name, i)
		}
	}
}

// benchTasks measures what a launch costs: alone, and in a chain ordered by events.
func benchTasks(b *bench) {
	x := put(b, make([]int64, 1))
	k := benchKernel(b.t, "Empty")
	launch := &devices.Launch{Kernel: k, Args: &devices.Args{List: []devices.Arg{x}}}
	require.NoError(b.t, b.d.Prepare(k))
	const n = 10000
	start := time.Now()
	var last devices.Event
	for range n {
		var after []devices.Event
		if last != nil {
			after = []devices.Event{last}
		}
		last = b.d.Launch(launch, after)
	}
	require.NoError(b.t, waitFor(last))
	b.row("chain of 10,000 kernels by events", time.Since(start).Seconds()/n*1e6, "us/task", 3.5)
	start = time.Now()
	for range 1000 {
		require.NoError(b.t, waitFor(b.d.Launch(launch, nil)))
	}
	b.row("launch and wait", time.Since(start).Seconds()/1000*1e6, "us/task", 8.0)
	b.move(x.Buffer, 1, 8, b.d.gpu.space, devices.Host)
	require.EqualValues(b.t, n+1000, b.keep[0].([]int64)[0])
}

// TestBenchKernelsCompile makes sure that the kernels of the measurements have a device program,
// also without a GPU.
func TestBenchKernelsCompile(t *testing.T) {
	// With fastmath the sums of few bodies are cut into parts, which are two launches more.
	for name, entries := range map[string]int{"Triad": 1, "Forces": 1, "ForcesFast": 3, "Empty": 1} {
		k := benchKernel(t, name)
		require.NotNil(t, k.Program, name)
		src, err := cuda.Print(k.Program, cuda.Options{Index32: true})
		require.NoError(t, err)
		require.Len(t, src.Entries, entries, name)
		t.Log(name, ir.ExprString(k.Program.Launches[0].Trip), "checks:", src.Entries[0].Fault)
	}
}
