package dist_test

import (
	"bytes"
	"context"
	"errors"
	"io"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/gompss/gompss/dist"
	"github.com/gompss/gompss/task"
	"github.com/gompss/gompss/trace/probe"
	"github.com/gompss/gompss/trace/record"
	"github.com/gompss/gompss/trace/run"
)

// A slowTransport sends each message after a delay.
type slowTransport struct {
	dist.Transport
	delay time.Duration
}

func (s slowTransport) Send(to int, key dist.Key, priority int, data []byte, done func(error)) {
	time.AfterFunc(s.delay, func() { s.Transport.Send(to, key, priority, data, done) })
}

// traced runs f as ranks of this process, the runtime of each opened at another time, and returns
// their traces. Each message leaves after the delay.
func traced(t *testing.T, ranks int, delay time.Duration, f func(rt *task.Runtime, rank int) error) []*run.Run {
	t.Helper()
	runs, errs := make([]*run.Run, ranks), make([]error, ranks)
	var all sync.WaitGroup
	for rank, tr := range dist.InProcess(ranks, 7) {
		all.Go(func() {
			time.Sleep(time.Duration(rank) * 5 * time.Millisecond)
			runs[rank] = run.New(0)
			recorder := record.New(record.Options{Sinks: []record.Sink{runs[rank]}, Wait: true})
			w, err := dist.NewWorld(slowTransport{tr, delay}, dist.Options{Errors: io.Discard, Silence: -1})
			if err == nil {
				var rt *task.Runtime
				if rt, err = task.New(task.Options{World: w, Devices: "smp:2", Observer: recorder}); err == nil {
					err = errors.Join(f(rt, rank), rt.Close())
				}
			}
			errs[rank] = errors.Join(err, recorder.Close())
		})
	}
	all.Wait()
	require.NoError(t, errors.Join(errs...))
	return runs
}

// The traces of all ranks join to one: on one clock, each message once, from its sender's task to
// that of its receiver, and the chain of tasks to the end goes across ranks.
func TestTrace_OfRanksIsMerged(t *testing.T) {
	const ranks, rounds, delay = 3, 40, time.Millisecond
	runs := traced(t, ranks, delay, func(rt *task.Runtime, rank int) error {
		x, err := vector(rt, 8*ranks, dist.Block(1))
		if err != nil {
			return err
		}
		return ring(rt, x, ranks, rounds, func(int) error { return nil })
	})
	merged, err := run.Merge(runs)
	require.NoError(t, err)
	require.Len(t, merged.Machine.Places, ranks)
	require.Equal(t, "rank 2 smp", merged.Machine.Places[2].Name)
	tasks := 0
	for _, r := range runs {
		tasks += r.Len()
	}
	require.Equal(t, tasks, merged.Len())
	sent := 0
	for _, r := range runs {
		for i := range r.Points {
			if r.Points[i].Kind == probe.Message {
				sent++
			}
		}
	}
	messages := run.MessagesOf(merged)
	require.Len(t, messages, sent)
	require.Greater(t, sent, rounds)
	for id, m := range messages {
		to := merged.Find(id)
		from := merged.Find(run.SenderOf(merged, to))
		require.NotNil(t, from, "message %v", m)
		require.Equal(t, "send", run.Name(from))
		require.Equal(t, "recv", run.Name(to))
		require.Equal(t, m.From+" smp", merged.PlaceName(from.Place))
		require.Equal(t, m.To+" smp", merged.PlaceName(to.Place))
		require.LessOrEqual(t, m.Begin, m.Time)
		// The merged run says how exact its clocks are: that bounds what may seem to come too early. It
		// is microseconds on a quiet machine, and unaligned the clocks are 5 ms apart.
		wrong := merged.Machine.Places[from.Place].ClockError + merged.Machine.Places[to.Place].ClockError
		require.GreaterOrEqual(t, m.Time+wrong, from.Start)
		require.GreaterOrEqual(t, to.Release+wrong, m.Time)
	}
	s, worst := merged.Summary(), time.Duration(0)
	for i := range merged.Machine.Places {
		worst = max(worst, merged.Machine.Places[i].ClockError)
	}
	// Two parts of each task of the chain may be cut off at 0, where the clocks differ by two errors.
	wrong := 4 * worst * time.Duration(len(s.Chain.Tasks))
	require.LessOrEqual(t, s.Chain.Run+s.Chain.Fetch+s.Chain.Queue+s.Chain.Tell+s.Chain.Messages+s.Chain.Submit, s.Elapsed+wrong)
	if 2*worst < delay {
		require.Positive(t, s.Chain.Messages)
	}
	var file bytes.Buffer
	require.NoError(t, run.Write(merged, record.NewWriter(&file)))
	again, err := run.Read(&file)
	require.NoError(t, err)
	require.True(t, again.Damage.Whole(), "%v", again.Damage)
	require.Len(t, run.MessagesOf(again), sent)
	require.Equal(t, -1, again.Machine.Rank)
}

// A run whose tasks wait for messages most of the time is bound by them.
func TestTrace_VerdictOfMessages(t *testing.T) {
	runs := traced(t, 2, 20*time.Millisecond, func(rt *task.Runtime, rank int) error {
		x, err := vector(rt, 1<<10, dist.Block(1))
		if err != nil {
			return err
		}
		n := len(x) / 2
		for i := range 20 { // each half goes to the other rank, for a task that does nothing
			from, to := x[i%2*n:i%2*n+n], x[(1-i%2)*n:(1-i%2)*n+n]
			if _, err := rt.Go(func() error { to[0] = from[0]; return nil }, task.In(from), task.InOut(to)); err != nil {
				return err
			}
		}
		return rt.Wait(context.Background())
	})
	merged, err := run.Merge(runs)
	require.NoError(t, err)
	v := merged.Summary().Verdict
	require.Equal(t, "messages", v.Bound, "%v", v)
	require.Contains(t, v.Evidence, "rank ")
}
