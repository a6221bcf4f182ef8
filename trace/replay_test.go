package trace_test

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"testing"
	"time"

	"github.com/gompss/gompss/deps"
	"github.com/gompss/gompss/task"
	"github.com/gompss/gompss/trace"
	"github.com/gompss/gompss/trace/probe"
	"github.com/gompss/gompss/trace/record"
	"github.com/gompss/gompss/trace/run"
	"github.com/stretchr/testify/require"
)

// A program of which 90 % is replayed has exact counts and times in the summary and on the page: each body measures its own time,
// and no record is shorter.
func TestPage_ProgramThatMostlyReplays(t *testing.T) {
	const plain, replays, width = 100, 90, 10
	r := run.New(0)
	rec := record.New(record.Options{Sinks: []record.Sink{r}})
	rt, err := task.New(task.Options{Devices: "smp:2", Observer: rec})
	require.NoError(t, err)
	x, inside := make([]int64, width), make([]time.Duration, width)
	it, err := rt.Record(func(r *task.Recorder) error {
		for i := range width {
			body := func() error {
				began := time.Now()
				for time.Since(began) < 20*time.Microsecond {
				}
				inside[i] += time.Since(began)
				return nil
			}
			if err := r.Go(body, task.InOut(x[i:i+1]), task.Label(fmt.Sprintf("step %d", i))); err != nil {
				return err
			}
		}
		return nil
	})
	require.NoError(t, err)
	for i := range plain {
		_, err := rt.Go(func() error { return nil }, task.Label("plain"))
		require.NoError(t, err)
		if i < replays {
			_, err := it.Replay()
			require.NoError(t, err)
		}
	}
	require.NoError(t, rt.Wait(context.Background()))
	require.NoError(t, rt.Close())
	require.NoError(t, rec.Close())

	s, err := trace.ServeRun("127.0.0.1:0", "replays", r)
	require.NoError(t, err)
	defer func() { require.NoError(t, s.Close()); http.DefaultClient.CloseIdleConnections() }()
	_, _, body := get(t, s.URL()+"api/state")
	var page struct{ Summary *run.Summary }
	require.NoError(t, json.Unmarshal(body, &page))
	sum := r.Summary()
	require.Equal(t, sum, page.Summary)
	require.EqualValues(t, plain+replays*(width+1), sum.Tasks)
	require.EqualValues(t, plain+replays*width, sum.Places[0].Tasks)
	kernels := map[string]run.KernelUse{}
	for _, k := range sum.Kernels {
		kernels[k.Sort] = k
	}
	require.EqualValues(t, plain, kernels["plain"].Count)
	var all time.Duration
	for i := range width {
		k := kernels[fmt.Sprintf("step %d", i)]
		require.EqualValues(t, replays, k.Count)
		require.GreaterOrEqual(t, k.Total+time.Duration(replays)*100, inside[i], "step %d", i) // the two clocks may differ by some ns
		all += k.Total
	}
	require.LessOrEqual(t, all, 2*sum.Elapsed)

	first := func(step bool) deps.TaskID {
		for i := range r.Len() {
			if n := r.NestingOf(r.Task(i).ID); n.Replay == 3 && (n.Step > 0) == step {
				return r.Task(i).ID
			}
		}
		return 0
	}
	_, _, body = get(t, fmt.Sprintf("%sapi/task?id=%d", s.URL(), first(true)))
	require.Contains(t, string(body), "step 1 of replay 3")
	_, _, body = get(t, fmt.Sprintf("%sapi/task?id=%d", s.URL(), first(false)))
	require.Contains(t, string(body), "replay 3, of 10 steps")
}

// A device graph is shown with the number of its kernels.
func TestPage_DeviceGraph(t *testing.T) {
	r := run.New(0)
	r.Machine = probe.Machine{Policy: "locality", Places: []probe.Place{{Name: "cuda:0", Kind: "cuda", Workers: 1, Memory: 1 << 30}}}
	var b record.Batch
	b.Tasks = []probe.Task{{ID: 1, Submit: 1, Ready: 2, Choice: 3, Launch: 3, Start: 4, End: 5, Release: 6, Kernel: "sweep", Variant: "cuda"}}
	b.Details = []record.Detail{{Task: 1, What: record.Inside, Count: 1, Values: [6]int64{0, 0, 0, 40}}}
	require.NoError(t, r.Take(&b))
	r.Finish()
	s, err := trace.ServeRun("127.0.0.1:0", "graph", r)
	require.NoError(t, err)
	defer func() { require.NoError(t, s.Close()); http.DefaultClient.CloseIdleConnections() }()
	_, _, body := get(t, s.URL()+"api/task?id=1")
	require.Contains(t, string(body), "a device graph of 40 kernels")
	_, _, body = get(t, s.URL()+"api/state")
	require.Contains(t, string(body), `"Strategy":"a device graph, whose kernels are not timed one by one"`)
}
