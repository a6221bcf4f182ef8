package task_test

import (
	"context"
	_ "embed"
	"strings"
	"testing"

	"github.com/gompss/gompss/codegen"
	"github.com/gompss/gompss/devices"
	_ "github.com/gompss/gompss/devices/sim"
	"github.com/gompss/gompss/task"
	"github.com/stretchr/testify/require"
)

//go:embed kernels_test.go
var kernelsSource string

// kernelFile is the file that all kernels of the tests are in.
var kernelFile = task.SourceFile{Name: "kernels_test.go", Text: kernelsSource}

func kernelOf(t testing.TB, fn any) *task.Kernel {
	t.Helper()
	k, err := task.NewKernel(fn, kernelFile)
	require.NoError(t, err)
	require.NoError(t, k.Refused())
	return k
}

// kernelWith returns the kernel of a function of kernels_test.go that runs another Go function.
func kernelWith(name string, run func(a *task.Args)) *task.Kernel {
	return task.MustKernel(task.KernelSpec{Name: name, Files: []task.SourceFile{kernelFile}, Go: run})
}

// onEach runs a test on the CPU alone, on accelerators alone and on both.
func onEach(t *testing.T, test func(t *testing.T, spec string)) {
	for _, spec := range []string{"smp:2", "sim:2(exec=cpu)", "smp:2,sim:2(exec=cpu)", "sim:2(exec=simt)", "smp:1,sim:1(exec=simt,races=on)"} {
		t.Run(spec, func(t *testing.T) { test(t, spec) })
	}
}

func TestKernelsRunAnywhere(t *testing.T) {
	fill, mix, sum, shift := kernelOf(t, Fill), kernelOf(t, Mix), kernelOf(t, Sum), kernelOf(t, Shift)
	onEach(t, func(t *testing.T, spec string) {
		rt := open(t, task.Options{Devices: spec})
		a, b := make([]uint32, 1000), make([]uint32, 1000)
		for i := 0; i < 1000; i += 100 {
			_, err := fill.Submit(rt, i, i+100, uint32(7), a)
			require.NoError(t, err)
		}
		for i := 0; i < 1000; i += 250 {
			_, err := mix.Submit(rt, i, i+250, 100, 163, uint32(9), b, a)
			require.NoError(t, err)
		}
		x, s := []float32{1, 2, 3, 4}, new(float32)
		_, err := sum.Submit(rt, x, s)
		require.NoError(t, err)
		p := make([]Point, 10)
		_, err = shift.Submit(rt, p[2:5], Point{1, 2, 3})
		require.NoError(t, err)
		require.NoError(t, rt.Wait(context.Background()))

		wa, wb, wp := make([]uint32, 1000), make([]uint32, 1000), make([]Point, 10)
		Fill(0, 1000, 7, wa)
		for i := 0; i < 1000; i += 250 {
			Mix(i, i+250, 100, 163, 9, wb, wa)
		}
		Shift(wp[2:5], Point{1, 2, 3})
		require.Equal(t, wa, a)
		require.Equal(t, wb, b)
		require.Equal(t, float32(10), *s)
		require.Equal(t, wp, p)
	})
}

func TestShapedRegions(t *testing.T) {
	fill, mix := kernelOf(t, FillBox), kernelOf(t, MixBox)
	rt := open(t, task.Options{Devices: "smp:2,sim:2(exec=cpu)"})
	const n, m = 20, 30
	d, s := make([]uint32, n*m), make([]uint32, n*m)
	wd, ws := make([]uint32, n*m), make([]uint32, n*m)
	_, err := fill.Submit(rt, n, m, 2, 12, 3, 23, uint32(5), s)
	require.NoError(t, err)
	FillBox(n, m, 2, 12, 3, 23, 5, ws)
	for i := range 4 {
		_, err = mix.Submit(rt, n, m, i*5, i*5+5, i, i+20, 3, 4, uint32(i), d, s)
		require.NoError(t, err)
		MixBox(n, m, i*5, i*5+5, i, i+20, 3, 4, uint32(i), wd, ws)
	}
	_, err = rt.Go(func() error { MixBox(n, m, 3, 6, 2, 9, 0, 0, 1, d, s); return nil },
		task.InOut(d).Box([]int{n, m}, []int{3, 2}, []int{6, 9}), task.In(s).Box([]int{n, m}, []int{0, 0}, []int{3, 7}))
	require.NoError(t, err)
	MixBox(n, m, 3, 6, 2, 9, 0, 0, 1, wd, ws)
	require.NoError(t, rt.Wait(context.Background()))
	require.Equal(t, ws, s)
	require.Equal(t, wd, d)
}

func TestWrongCallsOfKernels(t *testing.T) {
	fill, mix, box, divide, saxpy := kernelOf(t, Fill), kernelOf(t, Mix), kernelOf(t, FillBox), kernelOf(t, Divide), kernelOf(t, Saxpy)
	rt := open(t, task.Options{Devices: "smp:1,sim:2(exec=cpu)", Tokens: map[devices.Kind]int{"acc": 50}})
	d := make([]uint32, 100)
	f := make([]float32, 10)
	for _, c := range []struct {
		k       *task.Kernel
		options []task.Option
		args    []any
		want    string
	}{
		{fill, nil, []any{0, 10, uint32(1)}, "kernel Fill (kernels_test.go:10): 3 arguments, want 4"},
		{fill, nil, []any{0, 10, 1, d}, "argument 3 (k): is int, want uint32"},
		{fill, nil, []any{0, 10, uint32(1), f}, "argument 4 (d): is []float32, want []uint32"},
		{fill, nil, []any{0, 10, uint32(1), nil}, "argument 4 (d): is nil, want []uint32"},
		{fill, nil, []any{0, 101, uint32(1), d}, "region d[lo:hi] of parameter d: it is [0:101], and the slice has 100 elements"},
		{fill, nil, []any{-1, 10, uint32(1), d}, "it is [-1:10]"},
		{fill, nil, []any{0, 10, uint32(1), []uint32(nil)}, "the slice has 0 elements"},
		{mix, nil, []any{0, 10, 95, 105, uint32(1), d, d}, "region s[a:b] of parameter s"},
		{box, nil, []any{10, 12, 0, 1, 0, 1, uint32(0), d}, "its shape [10 12] has 120 elements, and the slice has 100"},
		{box, nil, []any{10, 10, 0, 1, 5, 11, uint32(0), d}, "dimension 2 of the shape has 10"},
		{saxpy, []task.Option{task.OnDevice("smp")}, []any{float32(1), f, f}, "no device can run it: smp: the device clause says acc"},
		{saxpy, []task.Option{task.OnDevice("cuda")}, []any{float32(1), f, f}, `no device "cuda": the devices are smp, sim:0, sim:1`},
		{divide, []task.Option{task.Resources("acc", 51), task.Resources("smp", 101)}, []any{[]int32{1}, []int32{1}, []int32{0}}, "no device that may run it has enough tokens: needs acc:51, smp:101"},
		{fill, []task.Option{task.In(d)}, []any{0, 10, uint32(1), d}, "the accesses of a kernel are those of its task directive"},
	} {
		_, err := c.k.With(c.options...).Submit(rt, c.args...)
		require.ErrorContains(t, err, c.want)
	}
	require.NoError(t, rt.Wait(context.Background()))
	require.Zero(t, rt.Stats().Submitted)
	require.Equal(t, make([]uint32, 100), d)
	var bad *task.ArgumentError
	_, err := fill.Submit(rt)
	require.ErrorAs(t, err, &bad)
	var none *task.NoDeviceError
	cpu := open(t, task.Options{Devices: "smp:1"})
	_, err = saxpy.Submit(cpu, float32(1), f, f)
	require.ErrorAs(t, err, &none)
	require.ErrorContains(t, err, "kernel Saxpy (kernels_test.go:82): no device can run it: smp: the device clause says acc")
	gpu := open(t, task.Options{Devices: "sim:1"})
	_, err = gpu.Go(nothing)
	require.ErrorContains(t, err, "a go task needs CPU workers, and the devices are sim:0: add smp:1")
}

func TestWrongKernels(t *testing.T) {
	_, err := task.NewKernel(5, kernelFile)
	require.ErrorContains(t, err, "int is not a function")
	_, err = task.NewKernel(Fill)
	require.Error(t, err)
	_, err = task.NewKernel(func() {}, kernelFile)
	require.Error(t, err)
	require.Panics(t, func() {
		task.MustKernel(task.KernelSpec{Name: "Missing", Files: []task.SourceFile{kernelFile}, Go: func(*task.Args) {}})
	})
	require.Panics(t, func() { task.MustKernel(task.KernelSpec{Name: "Fill", Files: []task.SourceFile{kernelFile}}) })
}

// The Go functions of a wrapper are a copy of what gen saw: with another kernel they would compute something else.
func TestStaleWrappers_EndTheProgramWithOneLine(t *testing.T) {
	pkg, err := codegen.LoadKernel("Fill", kernelFile)
	require.NoError(t, err)
	spec := task.KernelSpec{Name: "Fill", Files: []task.SourceFile{kernelFile}, Sources: pkg.Hash("Fill"), Go: func(*task.Args) {}}
	for _, text := range []string{kernelFile.Text, strings.ReplaceAll(kernelFile.Text, "\n", "\r\n"), kernelFile.Text + "\nconst edited = 1\n"} {
		spec.Files = []task.SourceFile{{Name: kernelFile.Name, Text: text}}
		require.NotPanics(t, func() { task.MustKernel(spec) })
	}
	said := ""
	task.OnExit(t, func(text string) { said = text; panic("exit") })
	spec.Files = []task.SourceFile{{Name: kernelFile.Name, Text: strings.Replace(kernelFile.Text, "func Fill(", "func Fill(unused int, ", 1)}}
	require.PanicsWithValue(t, "exit", func() { task.MustKernel(spec) })
	require.Equal(t, "task: kernel Fill: zkernels_test_gompss.go is stale: the kernel, or what it uses, has changed: run go tool gompss gen kernels_test.go", said)
	spec.Files = []task.SourceFile{{Name: kernelFile.Name, Text: kernelFile.Text}}
	spec.Constants = []task.Constant{{Name: "q.One", Same: true}, {Name: "q.Two", Same: false}}
	require.PanicsWithValue(t, "exit", func() { task.MustKernel(spec) })
	require.Equal(t, "task: kernel Fill: zkernels_test_gompss.go is stale: constant q.Two, which it uses, has another value now: run go tool gompss gen kernels_test.go", said)
	t.Chdir("..") // the command names the folder where it finds the file
	require.PanicsWithValue(t, "exit", func() { task.MustKernel(spec) })
	require.True(t, strings.HasSuffix(said, ": run go tool gompss gen kernels_test.go in task"), said)
}

func TestAFailingKernelFailsItsTaskWithPlaceAndCause(t *testing.T) {
	divide := kernelOf(t, Divide)
	onEach(t, func(t *testing.T, spec string) {
		rt := open(t, task.Options{Devices: spec})
		a, b, c := []int32{6, 4, 2, 0}, []int32{1, 0, 1, 1}, make([]int32, 4)
		bad, err := divide.With(task.Label("halves")).Submit(rt, a, b, c)
		require.NoError(t, err)
		after, err := divide.Submit(rt, c, []int32{1, 1, 1, 1}, make([]int32, 4))
		require.NoError(t, err)
		sibling := make([]int32, 4)
		good, err := divide.Submit(rt, a, []int32{2, 2, 2, 2}, sibling)
		require.NoError(t, err)
		require.Error(t, rt.Wait(context.Background()))
		var e *task.Error
		require.ErrorAs(t, bad.Err(), &e)
		require.Equal(t, "halves", e.Label)
		require.Equal(t, "Divide", e.Kernel)
		require.Equal(t, "kernels_test.go", e.Pos.File)
		require.NotEmpty(t, e.Device)
		require.Regexp(t, "divide by zero|division by zero", bad.Err().Error())
		require.ErrorIs(t, after.Err(), task.ErrSkipped)
		require.NoError(t, good.Err())
		require.Equal(t, []int32{3, 2, 1, 0}, sibling)
	})
}

func TestWhatNeverFitsIsRefusedWithTheNumbers(t *testing.T) {
	saxpy := kernelOf(t, Saxpy)
	rt := open(t, task.Options{Devices: "smp:1,sim:2(exec=cpu,memory=64KiB,granule=4KiB)"})
	x, err := task.Alloc[float32](rt, 16<<10)
	require.NoError(t, err)
	y, err := task.Alloc[float32](rt, 16<<10)
	require.NoError(t, err)
	_, err = saxpy.Submit(rt, float32(2), x, y)
	require.ErrorIs(t, err, devices.ErrNoMemory)
	var space *devices.NoSpaceError
	require.ErrorAs(t, err, &space)
	require.ErrorContains(t, err, "need 128.0 KiB")
	require.ErrorContains(t, err, "memory 64.0 KiB")
	_, err = saxpy.Submit(rt, float32(2), x[:4096], y[:4096])
	require.NoError(t, err, "half of it fits")
}

// A matrix four times the size of the device goes through it, tile by tile, again and again.
func TestMoreDataThanDeviceMemoryGoThroughByEviction(t *testing.T) {
	saxpy := kernelOf(t, Saxpy)
	rt := open(t, task.Options{Devices: "sim:2(exec=cpu,memory=64KiB,granule=4KiB)"})
	const n, tile = 64 << 10, 4 << 10
	x, err := task.Alloc[float32](rt, n)
	require.NoError(t, err)
	y, err := task.Alloc[float32](rt, n)
	require.NoError(t, err)
	for i := range x {
		x[i] = float32(i % 97)
	}
	for range 3 {
		for i := 0; i < n; i += tile {
			_, err := saxpy.Submit(rt, float32(2), x[i:i+tile], y[i:i+tile])
			require.NoError(t, err)
		}
	}
	require.NoError(t, rt.Wait(context.Background()))
	for i := range y {
		if y[i] != 6*float32(i%97) {
			t.Fatalf("y[%d] = %v, want %v", i, y[i], 6*float32(i%97))
		}
	}
	s := rt.Stats()
	require.Positive(t, s.Evictions)
	require.Positive(t, s.WriteBacks)
}

// A matrix four times the size of a device, in tiles that are strided in it.
func TestAMatrixLargerThanDeviceMemory(t *testing.T) {
	fill, mix := kernelOf(t, FillBox), kernelOf(t, MixBox)
	rt := open(t, task.Options{Devices: "sim:2(exec=cpu,memory=64KiB,granule=1KiB)"})
	const n, tile = 256, 32
	d, s := make([]uint32, n*n), make([]uint32, n*n)
	wd, ws := make([]uint32, n*n), make([]uint32, n*n)
	for round := range 2 {
		for i := 0; i < n; i += tile {
			for j := 0; j < n; j += tile {
				k := uint32(round + i*j)
				_, err := fill.Submit(rt, n, n, i, i+tile, j, j+tile, k, s)
				require.NoError(t, err)
				FillBox(n, n, i, i+tile, j, j+tile, k, ws)
				a, b := max(0, i-5), max(0, j-7) // of four tiles
				_, err = mix.Submit(rt, n, n, i, i+tile, j, j+tile, a, b, k, d, s)
				require.NoError(t, err)
				MixBox(n, n, i, i+tile, j, j+tile, a, b, k, wd, ws)
			}
		}
	}
	require.NoError(t, rt.Wait(context.Background()))
	require.Equal(t, ws, s)
	require.Equal(t, wd, d)
	require.Positive(t, rt.Stats().Evictions)
}

func TestClausesOfATask(t *testing.T) {
	big := kernelOf(t, Big)
	rt := open(t, task.Options{Devices: "smp:1", Policy: "priority"})
	c := make([]uint32, 1)
	_, err := big.Submit(rt, 40, c)
	require.NoError(t, err)
	require.EqualValues(t, 40, c[0], "its if clause is false: it is over when Submit returns")
	_, err = big.Submit(rt, 101, c)
	require.ErrorContains(t, err, "needs smp:101, limits are smp:100")
	_, err = big.Submit(rt, -1, c)
	require.ErrorContains(t, err, "-1 tokens")
	gate, started := make(chan struct{}), make(chan struct{})
	_, err = rt.Go(func() error { close(started); <-gate; return nil })
	require.NoError(t, err)
	<-started
	var order []string
	d := make([]uint32, 1)
	_, err = rt.Go(func() error { order = append(order, "50"); return nil }, task.Priority(50))
	require.NoError(t, err)
	_, err = big.Submit(rt, 60, c)
	require.NoError(t, err)
	_, err = rt.Go(func() error { order = append(order, "55"); d[0] = c[0]; return nil }, task.Priority(55))
	require.NoError(t, err)
	close(gate)
	require.NoError(t, rt.Wait(context.Background()))
	require.Equal(t, []string{"55", "50"}, order)
	require.EqualValues(t, 100, d[0], "priority 60 ran first")
}

// TestEmptySlicesGoAnywhere: an accelerator looked for the buffer of an argument that has none.
func TestEmptySlicesGoAnywhere(t *testing.T) {
	mix, sum := kernelOf(t, Mix), kernelOf(t, Sum)
	onEach(t, func(t *testing.T, spec string) {
		for _, none := range [][]uint32{{}, nil, make([]uint32, 5)[:0], make([]uint32, 5)[5:]} {
			rt := open(t, task.Options{Devices: spec})
			_, err := mix.Submit(rt, 0, 0, 0, 0, uint32(9), none, none)
			require.NoError(t, err)
			s := float32(7)
			_, err = sum.Submit(rt, []float32{}, &s)
			require.NoError(t, err)
			require.NoError(t, rt.Wait(context.Background()))
			require.NoError(t, rt.Close())
			var want float32 = 7
			Sum(nil, &want)
			require.Equal(t, want, s)
		}
	})
}
