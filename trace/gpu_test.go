package trace_test

import (
	"context"
	"testing"
	"time"

	"github.com/gompss/gompss/task"
	"github.com/gompss/gompss/trace/probe"
	"github.com/gompss/gompss/trace/record"
	"github.com/gompss/gompss/trace/run"
	"github.com/stretchr/testify/require"
)

// On a GPU, tasks and copies have times of the GPU's clock, which fit the host's within the bound
// that the place states.
func TestTimesOfAGPU(t *testing.T) {
	r := run.New(0)
	rec := record.New(record.Options{Sinks: []record.Sink{r}})
	rt, err := task.New(task.Options{Devices: "cuda:1", Observer: rec})
	if err != nil {
		t.Skipf("no GPU: %v", err)
	}
	pull, err := task.NewKernel(Pull, task.SourceFile{Name: "k.go", Text: kernelSource})
	require.NoError(t, err)
	const n, block = 1 << 15, 1 << 13
	px, v := make([]float32, n), make([]float32, n)
	for range 20 {
		for lo := 0; lo < n; lo += block {
			_, err := pull.Submit(rt, lo, lo+block, px, v)
			require.NoError(t, err)
		}
		require.NoError(t, rt.Wait(context.Background()))
	}
	require.NoError(t, rt.Close())
	require.NoError(t, rec.Close())
	p := r.Machine.Places[0]
	require.NotZero(t, p.ClockError)
	require.Less(t, p.ClockError, time.Millisecond)
	var kernels, host time.Duration
	for i := range r.Len() {
		x := r.Task(i)
		require.True(t, run.Ran(x))
		require.GreaterOrEqual(t, x.Start+p.ClockError, x.Launch, "task %d starts after it was launched", x.ID)
		require.Greater(t, x.End, x.Start)
		require.LessOrEqual(t, x.End, x.Release+p.ClockError, "task %d ends before that is known", x.ID)
		kernels, host = kernels+x.End-x.Start, host+x.Release-x.Launch
	}
	require.Less(t, kernels, host)
	copies := 0
	for _, x := range r.Points {
		if x.Kind == probe.Arrive {
			copies++
			require.Greater(t, x.Time, x.Begin)
		}
	}
	require.NotZero(t, copies)
	t.Logf("clock to within %v; kernels %v of %v between launch and the news of the end, %d copies", p.ClockError, kernels, host, copies)
}
