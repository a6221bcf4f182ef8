//go:build linux && (amd64 || arm64)

package cuda

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gompss/gompss/devices"
	"github.com/gompss/gompss/task"
)

// TestAReplayIsOneCall launches a sequence of many steps again and again: the driver is asked once
// for each, no node is changed, and what the steps launch is not decided again.
func TestAReplayIsOneCall(t *testing.T) {
	s := newSubject(t, Options{})
	k := benchKernel(t, "Triad")
	sequence := &devices.Kernel{Name: "sequence"}
	const steps = 200
	for i := range steps {
		step := devices.Step{Kernel: k, Args: triad(t, "", k).Args.List}
		if i > 0 {
			step.After = []int{i - 1}
		}
		sequence.Steps = append(sequence.Steps, step)
	}
	require.NoError(t, s.d.Prepare(sequence))
	replay := func() devices.Event { return s.d.Launch(&devices.Launch{Kernel: sequence, Args: &devices.Args{}}, nil) }
	require.NoError(t, waitFor(replay()))
	graphs, nodes, kernels, ran := calls(t, "cuGraphLaunch"), calls(t, "cuGraphExecKernelNodeSetParams"), calls(t, "cuLaunchKernel"), calls(t, "kernel")
	chosen := s.d.modules.program(sequence).graph.run
	const replays = 10
	for range replays {
		require.NoError(t, waitFor(replay()))
	}
	require.Equal(t, graphs+replays, calls(t, "cuGraphLaunch"))
	require.Equal(t, nodes, calls(t, "cuGraphExecKernelNodeSetParams"))
	require.Equal(t, kernels, calls(t, "cuLaunchKernel"))
	require.Equal(t, ran+replays*steps, calls(t, "kernel"))
	require.Same(t, chosen, s.d.modules.program(sequence).graph.run)
	s.close()
}

// affine is a kernel whose launches cannot fail, and gather one whose launches can.
func affineKernels() (affine, gather *task.Kernel) {
	files := []task.SourceFile{{Name: "affine.go", Text: `package affine

//omp:target device(acc)
//omp:task inout(x)
func Affine(a, b int64, x []int64) {
	//omp:teams distribute parallel for
	for i := 0; i < len(x); i++ {
		x[i] = a*x[i] + b
	}
}

//omp:target device(acc)
//omp:task in(at) inout(x)
func Shift(b int64, x, at []int64) {
	//omp:teams distribute parallel for
	for i := 0; i < len(at); i++ {
		x[at[i]] += b
	}
}
`}}
	onGPU := func(*task.Args) { panic("it runs on the GPU") }
	return task.MustKernel(task.KernelSpec{Name: "Affine", Files: files, Go: onGPU}),
		task.MustKernel(task.KernelSpec{Name: "Shift", Files: files, Go: onGPU})
}

// TestReplayOrRecord_ReplacesTheNodesThatDiffer replays a sequence with new scalars and slices. The
// device sets the nodes whose arguments differ. It builds a new graph only where the structure
// changes or the driver refuses a change.
func TestReplayOrRecord_ReplacesTheNodesThatDiffer(t *testing.T) {
	needFake(t)
	rt, err := task.New(task.Options{Devices: "cuda:1"})
	require.NoError(t, err)
	affine, shift := affineKernels()
	var memory, want [3][]int64
	for i := range memory {
		memory[i], err = task.Alloc[int64](rt, 300)
		require.NoError(t, err)
		want[i] = make([]int64, 300)
	}
	at := []int64{0, 7, 42}
	const steps = 20
	type iteration struct {
		factor, summand [steps]int64
		slice           [steps]int // of memory
		length          int
		shift           int64
		without         bool // the last step
	}
	now := iteration{length: 300, shift: 1}
	for i := range steps {
		now.factor[i], now.summand[i], now.slice[i] = 1, int64(i), i%2
	}
	build := func(r *task.KernelRecorder) error {
		for i := range steps {
			if err := r.Submit(affine, now.factor[i], now.summand[i], memory[now.slice[i]][:now.length]); err != nil {
				return err
			}
		}
		if now.without {
			return nil
		}
		return r.Submit(shift, now.shift, memory[0], at)
	}
	it, err := rt.RecordKernels("iteration", build)
	require.NoError(t, err)
	const launches, changes, built, single = "cuGraphLaunch", "cuGraphExecKernelNodeSetParams", "cuGraphInstantiateWithFlags", "cuLaunchKernel"
	replay := func(name string, wantChanges, wantBuilt int, restructured bool) {
		t.Run(name, func(t *testing.T) {
			graphs, nodes, made, kernels := calls(t, launches), calls(t, changes), calls(t, built), calls(t, single)
			_, changed, err := it.ReplayOrRecord(build)
			require.NoError(t, err)
			require.Equal(t, restructured, changed)
			for i := range steps {
				for k, x := range want[now.slice[i]][:now.length] {
					want[now.slice[i]][k] = now.factor[i]*x + now.summand[i]
				}
			}
			for _, k := range at {
				if !now.without {
					want[0][k] += now.shift
				}
			}
			require.NoError(t, rt.Wait(context.Background()))
			require.Equal(t, want, memory)
			require.Equal(t, graphs+1, calls(t, launches))
			require.Equal(t, nodes+wantChanges, calls(t, changes))
			require.Equal(t, made+wantBuilt, calls(t, built))
			require.Equal(t, kernels, calls(t, single))
		})
	}
	replay("the first builds the graph", 0, 1, false)
	replay("the same arguments", 0, 0, false)
	now.factor[3], now.summand[8], now.shift = 3, 99, 5
	replay("three scalars", 3, 0, false)
	replay("the same arguments again", 0, 0, false)
	for i := range steps {
		if now.slice[i] == 1 {
			now.slice[i] = 2
		}
	}
	replay("other slices", steps/2, 0, false)
	now.length = 290
	replay("shorter slices", steps, 0, false)
	now.summand[0] = 1000
	failNext(t, changes, 1, 304)
	replay("a change that the driver refuses", 1, 1, false)
	now.without = true
	replay("a step less", 0, 1, true)
	now.summand[1]++
	replay("a scalar of that", 1, 0, false)

	now.without = false
	_, _, err = it.ReplayOrRecord(build)
	require.NoError(t, err)
	for k := range int64(4) { // with checks, while runs are in flight: each has its own arguments
		now.shift = k
		_, changed, err := it.ReplayOrRecord(build)
		require.NoError(t, err)
		require.False(t, changed)
	}
	for k := range int64(5) {
		for i := range steps {
			for j, x := range want[now.slice[i]][:now.length] {
				want[now.slice[i]][j] = now.factor[i]*x + now.summand[i]
			}
		}
		for _, j := range at {
			want[0][j] += max(k-1, 0)
			if k == 0 {
				want[0][j] += 5
			}
		}
	}
	require.NoError(t, rt.Wait(context.Background()))
	require.Equal(t, want, memory)
	require.NoError(t, rt.Close())
}
