//go:build linux && (amd64 || arm64)

package cuda_test

import (
	"context"
	_ "embed"
	"fmt"
	"runtime"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/gompss/gompss/devices"
	"github.com/gompss/gompss/devices/cuda"
	"github.com/gompss/gompss/task"
)

//go:embed testdata/bench.go.txt
var taskSource string

func emptyKernel() *task.Kernel {
	return task.MustKernel(task.KernelSpec{Name: "Empty", Files: []task.SourceFile{{Name: "bench.go", Text: taskSource}},
		Go: func(a *task.Args) {
			for i, x := 0, devices.SliceArg[int64](a, 0); i < len(x); i++ {
				x[i]++
			}
		}})
}

// TestTasks runs chains and contended submissions of tiny tasks through the whole runtime, checks what they did,
// and prints what one costs; on a real GPU in the numbers that the goals are about.
func TestTasks(t *testing.T) {
	n := gpus(t)
	_, real, _ := cuda.Ground()
	count := 10000
	if !real {
		count = 300
	}
	contended := "64 chains on all GPUs, 8 submitters"
	for _, c := range []struct {
		name                 string
		options              string
		gpus, chains, submit int
	}{{"one chain", "", 1, 1, 1}, {"64 chains", "", 1, 64, 1}, {contended, "", n, 64, 8}, {"one chain", "(early=off)", 1, 1, 1}, {contended, "(early=off)", n, 64, 8},
		{contended, "(helper=always)", n, 64, 8}, {contended, "(helper=never)", n, 64, 8}} {
		t.Run(c.name+c.options, func(t *testing.T) {
			if c.options != "" { // so many that engines look without pause, and launch threads work
				defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(max(4, runtime.GOMAXPROCS(0))))
			}
			rt, err := task.New(task.Options{Devices: fmt.Sprintf("cuda:%d%s", c.gpus, c.options), Window: -1})
			require.NoError(t, err)
			defer func() { require.NoError(t, rt.Close()) }()
			k := emptyKernel()
			var cells [][]int64
			for range c.chains {
				x, err := task.Alloc[int64](rt, 1)
				require.NoError(t, err)
				cells = append(cells, x)
			}
			for round := range 2 { // the first one warms: mirrors, replicas
				start := time.Now()
				var all sync.WaitGroup
				for s := range c.submit {
					all.Go(func() {
						for i := s; i < count; i += c.submit {
							if _, err := k.Submit(rt, cells[i%c.chains]); err != nil {
								t.Error(err)
								return
							}
						}
					})
				}
				all.Wait()
				submitted := time.Since(start)
				require.NoError(t, rt.Wait(context.Background()))
				took := time.Since(start)
				if round == 1 {
					fmt.Printf("TASKS %-56s %d GPUs %8.3f us a task, %8.3f of that until all are submitted\n", c.name+c.options, c.gpus,
						took.Seconds()/float64(count)*1e6, submitted.Seconds()/float64(count)*1e6)
				}
			}
			var sum int64
			for _, x := range cells {
				sum += x[0]
			}
			require.EqualValues(t, 2*count, sum)
		})
	}
}

// TestSequences runs a recorded sequence as a graph of the driver, and one whose checks can fail
// step by step.
func TestSequences(t *testing.T) {
	gpus(t)
	rt, err := task.New(task.Options{Devices: "cuda:1"})
	require.NoError(t, err)
	k := emptyKernel()
	var cells [][]int64
	for range 4 {
		x, err := task.Alloc[int64](rt, 1)
		require.NoError(t, err)
		cells = append(cells, x)
	}
	it, err := rt.RecordKernels("graph", func(r *task.KernelRecorder) error {
		for i := range 100 {
			if err := r.Submit(k, cells[i%len(cells)]); err != nil {
				return err
			}
		}
		return nil
	})
	require.NoError(t, err)
	for range 3 {
		_, err := it.Replay()
		require.NoError(t, err)
		_, err = k.Submit(rt, cells[0])
		require.NoError(t, err)
	}
	require.NoError(t, rt.Wait(context.Background()))
	for i, x := range cells {
		want := 75
		if i == 0 {
			want += 3
		}
		require.EqualValues(t, want, x[0])
	}
	require.NoError(t, rt.Close())
}
