package otel

import (
	"context"
	"errors"
	"testing"

	"github.com/gompss/gompss/deps"
	"github.com/gompss/gompss/task"
	"github.com/gompss/gompss/trace/record"
	"github.com/gompss/gompss/trace/run"
	"github.com/stretchr/testify/require"
)

// The steps of replays are tasks in metrics and spans: their counts and times are those of the summary.
func TestSink_StepsOfReplays(t *testing.T) {
	const plain, replays = 20, 60
	p, m, r := &provider{}, &countingMeter{sums: map[string]int64{}}, run.New(0)
	s, err := New(Options{TracerProvider: p, MeterProvider: countingProvider{of: m}, TaskSpans: 1})
	require.NoError(t, err)
	rec := record.New(record.Options{Sinks: []record.Sink{s, r}})
	rt, err := task.New(task.Options{Devices: "smp:2", Observer: rec})
	require.NoError(t, err)
	x, body := make([]int64, 3), func() error { return nil }
	it, err := rt.Record(func(r *task.Recorder) error {
		return errors.Join(r.Go(body, task.InOut(x), task.Label("a")), r.Go(body, task.InOut(x), task.Label("b")), r.Go(body, task.InOut(x), task.Label("c")))
	})
	require.NoError(t, err)
	for i := range replays {
		_, err := it.Replay()
		require.NoError(t, err)
		if i < plain {
			_, err := rt.Go(body, task.Label("plain"))
			require.NoError(t, err)
		}
	}
	require.NoError(t, rt.Wait(context.Background()))
	require.NoError(t, rt.Close())
	require.NoError(t, rec.Close())
	require.EqualValues(t, plain+4*replays, r.Summary().Tasks)
	require.Equal(t, r.Summary().Tasks, m.sums["gompss.tasks"])
	spans := map[string]int{}
	for _, x := range p.ended {
		about := map[string]int64{}
		for _, a := range x.config.Attributes() {
			about[string(a.Key)] = a.Value.AsInt64()
		}
		n := about["gompss.replay.number"]
		spans[x.name]++
		switch x.name {
		case "a", "b", "c":
			require.Equal(t, int64(x.name[0]-'a')+1, about["gompss.replay.step"])
			require.GreaterOrEqual(t, n, int64(1))
		case "iteration":
			require.EqualValues(t, 3, about["gompss.task.steps"])
			require.True(t, x.config.Timestamp().Before(x.end), "the span of a replay covers its steps")
			require.GreaterOrEqual(t, n, int64(1))
		default:
			require.Zero(t, n, x.name)
		}
		if n > 0 && x.name != "iteration" {
			of := r.Find(deps.TaskID(about["gompss.task.id"]))
			require.Equal(t, r.Machine.Opened.Add(of.Start), x.config.Timestamp())
			require.Equal(t, r.Machine.Opened.Add(of.End), x.end)
		}
	}
	for _, name := range []string{"a", "b", "c", "iteration"} {
		require.Equal(t, replays, spans[name], name)
	}
	require.Equal(t, plain, spans["plain"])
}
