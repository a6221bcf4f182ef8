package task_test

import (
	"bytes"
	"context"
	"errors"
	"os"
	"path/filepath"
	"testing"
	"time"

	"github.com/gompss/gompss/deps"
	"github.com/gompss/gompss/devices"
	"github.com/gompss/gompss/devices/sim"
	"github.com/gompss/gompss/task"
	"github.com/gompss/gompss/trace/probe"
	"github.com/gompss/gompss/trace/record"
	"github.com/gompss/gompss/trace/run"
	"github.com/stretchr/testify/require"
)

// traced runs f under a recorder and returns what was recorded.
func traced(t testing.TB, o task.Options, f func(rt *task.Runtime)) *run.Run {
	r := run.New(0)
	rec := record.New(record.Options{Sinks: []record.Sink{r}})
	o.Observer = rec
	rt, err := task.New(o)
	require.NoError(t, err)
	f(rt)
	var leak *task.LeakError
	require.False(t, errors.As(rt.Close(), &leak), "%v", leak) // its error is that of the tasks, which the caller has seen
	require.NoError(t, rec.Close())
	return r
}

func TestTheRecordOfEveryTask(t *testing.T) {
	r := traced(t, task.Options{Devices: "smp:2,sim:2"}, func(rt *task.Runtime) {
		add := kernelOf(t, Fill)
		x := make([]uint32, 256)
		for i := range 64 {
			lo := i % 4 * 64
			k := add.With()
			if i == 63 {
				k = add.With(task.OnDevice("sim:0")) // so that something moves
			}
			_, err := k.Submit(rt, lo, lo+64, uint32(i), x)
			require.NoError(t, err)
		}
		hold := make(chan struct{})
		_, err := rt.Go(func() error { <-hold; time.Sleep(time.Millisecond); return nil }, task.InOut(x), task.Label("all"))
		require.NoError(t, err)
		_, err = rt.Go(nothing, task.In(x)) // whose edge is there however slowly the others were submitted
		require.NoError(t, err)
		close(hold)
		require.NoError(t, rt.Wait(context.Background()))
		_, err = rt.Go(func() error { return errors.New("boom") }, task.InOut(x))
		require.NoError(t, err)
		_, err = rt.Go(nothing, task.In(x))
		require.NoError(t, err)
		require.Error(t, rt.Wait(context.Background()))
	})
	s := r.Summary()
	require.EqualValues(t, 68, s.Tasks)
	require.EqualValues(t, 1, s.Failed)
	require.EqualValues(t, 1, s.Skipped)
	require.Zero(t, s.Dropped)
	ran := int64(0)
	for _, p := range s.Places {
		ran += p.Tasks
	}
	require.EqualValues(t, 67, ran)
	var edges int
	for i := range r.Len() {
		x := r.Task(i)
		if !run.Ran(x) {
			require.True(t, x.Skipped)
			continue
		}
		require.LessOrEqual(t, x.Submit, x.Ready, "task %d", x.ID)
		require.LessOrEqual(t, x.Ready, x.Choice, "task %d", x.ID)
		require.LessOrEqual(t, x.Choice, x.Start, "task %d", x.ID)
		require.LessOrEqual(t, x.Start, x.End, "task %d", x.ID)
		require.LessOrEqual(t, x.End, x.Release+time.Microsecond, "task %d", x.ID)
		preds := r.Predecessors(x.ID)
		edges += len(preds)
		if x.Last != 0 {
			require.Contains(t, preds, x.Last)
			for _, p := range preds {
				require.LessOrEqual(t, r.Find(p).End, x.Start, "task %d starts before %d is over", x.ID, p)
			}
		}
	}
	require.NotZero(t, edges)
	all := r.Find(65)
	require.Equal(t, "all", all.Label)
	require.GreaterOrEqual(t, all.End-all.Start, time.Millisecond)
	var sawAccess bool
	for _, d := range r.DetailsOf(65) {
		sawAccess = sawAccess || d.What == record.Accesses && d.Mode == deps.InOut && d.Values[2] == 256
	}
	require.True(t, sawAccess)
	kinds := map[probe.Kind]int{}
	for _, p := range r.Points {
		kinds[p.Kind]++
		require.LessOrEqual(t, p.Begin, p.Time)
	}
	require.NotZero(t, kinds[probe.Compile])
	require.NotZero(t, kinds[probe.Arrive])
	require.NotZero(t, kinds[probe.Alloc])
}

// What the records say moved is what the machine counted.
func TestRecordsAgreeWithTheCounters(t *testing.T) {
	var stats task.Stats
	r := traced(t, task.Options{Devices: "sim:2"}, func(rt *task.Runtime) {
		fill := kernelOf(t, Fill)
		x := make([]uint32, 1024)
		for i := range 32 {
			_, err := fill.Submit(rt, i*32, i*32+32, uint32(i), x)
			require.NoError(t, err)
		}
		require.NoError(t, rt.Wait(context.Background()))
		stats = rt.Stats()
	})
	s := r.Summary()
	var bytes deps.Bytes
	var copies int64
	for _, l := range s.Links {
		bytes, copies = bytes+l.Bytes, copies+l.Copies
	}
	require.Equal(t, stats.Moved(), bytes)
	require.Equal(t, stats.Transfers, copies)
	for _, p := range s.Places {
		require.Equal(t, stats.ByDevice[p.Name], p.Tasks)
	}
}

// Of a task whose device is lost a recorder is told as of one that ran where it did in the end.
func TestTheRecordOfATaskThatRunsElsewhere(t *testing.T) {
	o := task.Options{Devices: "smp:1,sim:1(exec=cpu)"}
	o.Machine.ByKind = map[devices.Kind]any{"sim": sim.Options{Faults: sim.Faults{Launch: 1, Lose: true}}}
	r := traced(t, o, func(rt *task.Runtime) {
		gate, held := make(chan struct{}), make(chan struct{})
		_, err := rt.Go(func() error { close(held); <-gate; return nil })
		require.NoError(t, err)
		<-held
		x := make([]uint32, 64)
		_, err = kernelOf(t, Fill).Submit(rt, 0, 64, uint32(7), x)
		require.NoError(t, err)
		require.Eventually(t, func() bool { return rt.Machine().Retired(rt.Machine().SpaceOf(rt.Machine().Devices()[1])) != nil }, 30*time.Second, time.Millisecond)
		close(gate)
		require.NoError(t, rt.Wait(context.Background()))
		want := make([]uint32, 64)
		Fill(0, 64, 7, want)
		require.Equal(t, want, x)
	})
	x := r.Find(2)
	require.Equal(t, "smp", r.PlaceName(x.Place))
	require.Zero(t, x.Launch)
	require.LessOrEqual(t, x.Choice, x.Start)
	require.LessOrEqual(t, x.Ready, x.Choice)
	require.LessOrEqual(t, x.Start, x.End)
}

func TestTraceOption(t *testing.T) {
	name := filepath.Join(t.TempDir(), "run.gtrace")
	rt, err := task.New(task.Options{Devices: "smp:1", Trace: "file:" + name})
	require.NoError(t, err)
	_, err = rt.Go(nothing)
	require.NoError(t, err)
	require.NoError(t, rt.Close())
	file, err := os.ReadFile(name)
	require.NoError(t, err)
	r, err := run.Read(bytes.NewReader(file))
	require.NoError(t, err)
	require.Equal(t, 1, r.Len())
	require.True(t, r.Damage.Whole())

	_, err = task.New(task.Options{Devices: "smp:1", Trace: "sumary"})
	require.ErrorContains(t, err, `"sumary": want summary`)
	_, err = task.New(task.Options{Devices: "smp:1", Dash: "127.0.0.1:0"})
	require.ErrorContains(t, err, "must import")
	_, err = task.New(task.Options{Devices: "nosuch", Trace: "summary"})
	require.Error(t, err)
}

// With a recorder, a task costs no allocation either.
func TestRecordedTasksAllocateNothing(t *testing.T) {
	rec := record.New(record.Options{})
	rt, err := task.New(task.Options{Devices: "smp:1", Observer: rec})
	require.NoError(t, err)
	x := make([]float64, 8)
	require.NoError(t, task.Register(rt, x))
	hundred := func() {
		for i := range 100 {
			c := i % 4
			if _, err := rt.Go(nothing, task.In(x[c+1:c+2]), task.InOut(x[c:c+1])); err != nil {
				t.Error(err)
			}
		}
		if err := rt.Wait(context.Background()); err != nil {
			t.Error(err)
		}
	}
	for range 20 {
		hundred()
	}
	perTask := testing.AllocsPerRun(50, hundred) / 100
	require.Less(t, perTask, 0.1, "allocations a task")
	require.NoError(t, rt.Close())
	require.NoError(t, rec.Close())
}

// Tasks beyond those that a recorder has room for keep their order: a task of old holds the place
// of those behind it.
func TestRecordedTasks_ThatFindNoRoomKeepTheirOrder(t *testing.T) {
	const n = 300_000
	rec := record.New(record.Options{})
	rt, err := task.New(task.Options{Devices: "smp:3", Observer: rec})
	require.NoError(t, err)
	gate := make(chan struct{})
	_, err = rt.Go(func() error { <-gate; return nil })
	require.NoError(t, err)
	x, strayed := make([]int64, 1), 0
	require.NoError(t, task.Register(rt, x))
	for i := range int64(n) {
		_, err := rt.Go(func() error {
			if x[0] != i {
				strayed++
			}
			x[0]++
			return nil
		}, task.InOut(x))
		require.NoError(t, err)
	}
	close(gate)
	require.NoError(t, rt.Wait(context.Background()))
	require.Zero(t, strayed)
	require.EqualValues(t, n, x[0])
	require.NoError(t, rt.Close())
	require.NoError(t, rec.Close())
}

// What plain tasks touch and wait for is told whatever becomes of them: few accesses lie in their briefs, many do not fit.
func TestTheAccessesOfPlainTasks(t *testing.T) {
	x := make([]float64, 64)
	many := make([]task.Option, 0, 20)
	for i := range 20 {
		many = append(many, task.In(x[2*i:2*i+1]))
	}
	r := traced(t, task.Options{Devices: "smp:2"}, func(rt *task.Runtime) {
		require.NoError(t, task.Register(rt, x))
		gate := make(chan struct{}) // all are submitted before the third one ends
		boom := func() error { <-gate; return errors.New("boom") }
		for _, of := range []struct {
			body    func() error
			options []task.Option
		}{{nothing, []task.Option{task.Out(x)}}, {nothing, many}, {boom, []task.Option{task.InOut(x[:1]), task.In(x[1:2])}}, {nothing, []task.Option{task.In(x[:1])}}} {
			_, err := rt.Go(of.body, of.options...)
			require.NoError(t, err)
		}
		close(gate)
		require.Error(t, rt.Wait(context.Background()))
	})
	require.Equal(t, 4, r.Len())
	require.Zero(t, r.Dropped)
	accesses, waits := map[deps.TaskID]int{}, map[deps.TaskID][]deps.TaskID{}
	for _, d := range r.Records().Details {
		if d.What == record.Accesses {
			accesses[d.Task]++
		}
	}
	for _, task := range r.Records().Tasks {
		waits[task.ID] = r.Predecessors(task.ID)
	}
	require.Equal(t, map[deps.TaskID]int{1: 1, 2: 20, 3: 2, 4: 1}, accesses)
	for id, preds := range waits { // those that were over are no edges
		for _, p := range preds {
			require.Less(t, p, id)
		}
	}
	failed, skipped := r.Find(3), r.Find(4)
	require.Contains(t, failed.Err, "boom")
	require.Positive(t, failed.Start)
	require.True(t, skipped.Skipped)
	require.Contains(t, waits[4], deps.TaskID(3))
}
