package task_test

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"runtime"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/gompss/gompss/deps"
	"github.com/gompss/gompss/task"
	"github.com/gompss/gompss/trace/probe"
	"github.com/gompss/gompss/trace/record"
	"github.com/gompss/gompss/trace/run"
	"github.com/stretchr/testify/require"
)

// The steps of an iteration of Go functions are in the records, with label, worker, times, replay and step, on a machine where
// they are tasks and on one where they are none.
func TestTracedReplay_StepsHaveRecords(t *testing.T) {
	const replays, width, depth = 5, 4, 3
	for _, spec := range []string{"smp:1", "smp:2", "smp:2,sim:1"} {
		t.Run(spec, func(t *testing.T) {
			r := traced(t, task.Options{Devices: spec}, func(rt *task.Runtime) {
				x := make([]int64, width)
				it, err := rt.Record(func(r *task.Recorder) error {
					for d := range depth {
						for i := range width {
							if err := r.Go(func() error { x[i]++; return nil }, task.InOut(x[i:i+1]), task.Label(fmt.Sprintf("step %d", d))); err != nil {
								return err
							}
						}
					}
					return nil
				})
				require.NoError(t, err)
				for range replays {
					_, err := it.Replay()
					require.NoError(t, err)
				}
				require.NoError(t, rt.Wait(context.Background()))
				require.EqualValues(t, replays*depth, x[0])
				if !strings.Contains(spec, "sim") { // a recorder does not change what counts as a task
					require.EqualValues(t, replays, rt.Stats().Submitted)
					require.EqualValues(t, replays, rt.Stats().Done)
				}
			})
			steps, parents := map[deps.TaskID]*probe.Task{}, map[deps.TaskID]probe.Nesting{}
			for i := range r.Len() {
				x := r.Task(i)
				n := r.NestingOf(x.ID)
				switch {
				case n.Step > 0:
					require.True(t, run.Ran(x))
					require.Equal(t, fmt.Sprintf("step %d", (n.Step-1)/width), x.Label)
					require.LessOrEqual(t, x.Submit, x.Ready)
					require.LessOrEqual(t, x.Ready, x.Start)
					require.LessOrEqual(t, x.Start, x.End)
					require.LessOrEqual(t, x.End, x.Release)
					steps[x.ID] = x
				default:
					require.False(t, run.Ran(x), "task %d: only the steps run", x.ID)
					require.EqualValues(t, depth*width, n.Steps)
					parents[x.ID] = n
				}
			}
			require.Len(t, steps, replays*depth*width)
			require.Len(t, parents, replays)
			for id, x := range steps {
				n := r.NestingOf(id)
				require.Equal(t, parents[n.Parent].Replay, n.Replay)
				require.GreaterOrEqual(t, x.Start, r.Find(n.Parent).Submit)
				require.LessOrEqual(t, x.End, r.Find(n.Parent).Release)
				for _, p := range r.Predecessors(id) {
					require.LessOrEqual(t, steps[p].End, x.Start, "task %d comes after task %d", id, p)
				}
				if n.Step > width && !strings.Contains(spec, "sim") {
					require.Equal(t, []deps.TaskID{id - width}, r.Predecessors(id))
					require.Equal(t, id-width, x.Last)
					require.Equal(t, steps[x.Last].End, x.Ready)
				}
			}
			s := r.Summary()
			require.EqualValues(t, replays*(depth*width+1), s.Tasks)
			require.Len(t, s.Kernels, depth)
			for _, k := range s.Kernels {
				require.EqualValues(t, replays*width, k.Count, k.Sort)
			}
			require.EqualValues(t, replays*depth*width, s.Places[0].Tasks)
		})
	}
}

// Steps that fail, are skipped, panic or end their goroutine are in the records as such tasks are.
func TestTracedReplay_FailedAndSkippedSteps(t *testing.T) {
	for _, spec := range []string{"smp:2", "smp:2,sim:1"} {
		for name, bad := range map[string]func() error{
			"fails":  func() error { return errors.New("boom") },
			"panics": func() error { panic("boom") },
			"exits":  func() error { runtime.Goexit(); return nil },
		} {
			t.Run(spec+" "+name, func(t *testing.T) {
				r := traced(t, task.Options{Devices: spec}, func(rt *task.Runtime) {
					x, y := make([]int64, 1), make([]int64, 1)
					it, err := rt.Record(func(r *task.Recorder) error {
						return errors.Join(r.Go(bad, task.InOut(x), task.Label("bad")), r.Go(nothing, task.InOut(x), task.Label("after")), r.Go(nothing, task.InOut(y), task.Label("other")))
					})
					require.NoError(t, err)
					_, err = it.Replay()
					require.NoError(t, err)
					require.Error(t, rt.Wait(context.Background()))
				})
				outcome := map[string]probe.Task{}
				for i := range r.Len() {
					outcome[r.Task(i).Label] = *r.Task(i)
				}
				require.True(t, run.Ran(&probe.Task{Place: outcome["bad"].Place, Start: outcome["bad"].Start}))
				require.NotEmpty(t, outcome["bad"].Err)
				require.False(t, outcome["bad"].Skipped)
				after := outcome["after"]
				require.True(t, after.Skipped)
				require.NotEmpty(t, after.Err)
				require.False(t, run.Ran(&after))
				require.Positive(t, after.Release)
				require.Empty(t, outcome["other"].Err)
				s := r.Summary()
				require.EqualValues(t, 2, s.Failed) // the step and the replay
				require.EqualValues(t, 1, s.Skipped)
			})
		}
	}
}

// Records that find no room are counted, so that the counts of a program that mostly replays stay exact.
func TestTracedReplay_LostStepsAreCounted(t *testing.T) {
	const replays, n = 2000, 64
	ran := run.New(0)
	rec := record.New(record.Options{Sinks: []record.Sink{ran}, Slots: 16, Every: time.Hour})
	rt, err := task.New(task.Options{Devices: "smp:2", Observer: rec})
	require.NoError(t, err)
	it, err := rt.Record(func(r *task.Recorder) error {
		for range n {
			if err := r.Go(nothing, task.Label("short")); err != nil {
				return err
			}
		}
		return nil
	})
	require.NoError(t, err)
	for range replays {
		_, err := it.Replay()
		require.NoError(t, err)
	}
	require.NoError(t, rt.Close())
	require.NoError(t, rec.Close())
	require.Positive(t, ran.Summary().Lost.Sum().Count, "nothing was lost: this test needs less room")
	s := ran.Summary()
	require.EqualValues(t, replays*(n+1), s.Tasks)
	require.EqualValues(t, replays*n, s.Kernels[0].Count)
}

// A plainRecorder keeps the tasks and their accesses.
type plainRecorder struct {
	probe.Recorder
	mu      sync.Mutex
	tasks   map[string]int
	touched int
}

func (r *plainRecorder) Open(*probe.Machine) {}
func (r *plainRecorder) Observe(probe.Point) {}

func (r *plainRecorder) Submitted(_ deps.TaskID, accesses []deps.Access, _ []deps.TaskID) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.touched += len(accesses)
}

func (r *plainRecorder) Ended(t *probe.Task) {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.tasks == nil {
		r.tasks = map[string]int{}
	}
	r.tasks[t.Label]++
}

// A recorder that takes whole tasks alone gets those of steps too.
func TestTracedReplay_PlainRecorder(t *testing.T) {
	var got plainRecorder
	rt, err := task.New(task.Options{Devices: "smp:2", Observer: &got})
	require.NoError(t, err)
	x := make([]int64, 1)
	it, err := rt.Record(func(r *task.Recorder) error {
		return errors.Join(r.Go(nothing, task.InOut(x), task.Label("a")), r.Go(nothing, task.InOut(x), task.Label("b")))
	})
	require.NoError(t, err)
	_, err = it.Replay()
	require.NoError(t, err)
	require.NoError(t, rt.Close())
	require.Equal(t, map[string]int{"a": 1, "b": 1, "iteration": 1}, got.tasks)
	require.Equal(t, 3, got.touched)
}

// Random programs, of which tasks and replays alternate, keep their counts.
func TestTracedReplay_RandomPrograms(t *testing.T) {
	for seed := range uint64(20) {
		rng := rand.New(rand.NewPCG(seed, 22))
		spec := []string{"smp:1", "smp:2", "smp:2,sim:1"}[rng.IntN(3)]
		want := map[string]int64{}
		r := traced(t, task.Options{Devices: spec}, func(rt *task.Runtime) {
			x := make([]int64, 8)
			require.NoError(t, task.Register(rt, x))
			access := func() task.Option {
				lo := rng.IntN(len(x))
				part := x[lo : lo+1+rng.IntN(len(x)-lo)]
				return []task.Option{task.In(part), task.InOut(part), task.Out(part)}[rng.IntN(3)]
			}
			var its []*task.Iteration
			var labels [][]string
			for range 1 + rng.IntN(3) {
				var of []string
				it, err := rt.Record(func(r *task.Recorder) error {
					of = nil
					for range 1 + rng.IntN(12) {
						label := fmt.Sprintf("sort %d", rng.IntN(5))
						of = append(of, label)
						if err := r.Go(nothing, access(), task.Label(label)); err != nil {
							return err
						}
					}
					return nil
				})
				require.NoError(t, err)
				its, labels = append(its, it), append(labels, of)
			}
			for range 200 {
				switch k := rng.IntN(10); {
				case k == 0:
					require.NoError(t, rt.Wait(context.Background()))
				case k < 3:
					_, err := rt.Go(nothing, access(), task.Label("plain"))
					require.NoError(t, err)
					want["plain"]++
				default:
					i := rng.IntN(len(its))
					_, err := its[i].Replay()
					require.NoError(t, err)
					for _, l := range labels[i] {
						want[l]++
					}
				}
			}
			require.NoError(t, rt.Wait(context.Background()))
		})
		s, got := r.Summary(), map[string]int64{}
		require.Zero(t, s.Dropped)
		for _, k := range s.Kernels {
			got[k.Sort] += k.Count
		}
		require.Equal(t, want, got, "seed %d, %s", seed, spec)
		require.LessOrEqual(t, s.Critical, s.Elapsed, "seed %d, %s", seed, spec)
		for _, e := range r.Edges() {
			if pred, succ := r.Row(int(e.Pred)), r.Row(int(e.Succ)); pred.Ran() && succ.Ran() {
				require.LessOrEqual(t, pred.End(), succ.Start()+time.Microsecond, "seed %d, %s", seed, spec) // two processors read their clocks
			}
		}
	}
}

// A replay of a sequence of kernels is one record, with the number of kernels.
func TestTracedReplay_SequenceHasTheNumberOfItsKernels(t *testing.T) {
	r := traced(t, task.Options{Devices: "sim:1(exec=cpu)"}, func(rt *task.Runtime) {
		mix, x := kernelOf(t, Mix), make([]uint32, 64)
		it, err := rt.RecordKernels("sweep", func(r *task.KernelRecorder) error {
			return errors.Join(r.Submit(mix, 0, 32, 0, 32, uint32(1), x, x), r.Submit(mix, 32, 64, 32, 64, uint32(2), x, x), r.Submit(mix, 0, 64, 0, 64, uint32(3), x, x))
		})
		require.NoError(t, err)
		for range 4 {
			_, err := it.Replay()
			require.NoError(t, err)
		}
		require.NoError(t, rt.Wait(context.Background()))
	})
	require.Equal(t, 4, r.Len())
	for i := range r.Len() {
		require.EqualValues(t, 3, r.NestingOf(r.Task(i).ID).Steps)
	}
	k := r.Summary().Kernels
	require.Len(t, k, 1)
	require.EqualValues(t, 12, k[0].Kernels)
	require.Contains(t, k[0].Name(), "sweep (graph of 3 kernels)")
}

// A replay that does not go on says which step it waits for.
func TestDump_StuckReplay(t *testing.T) {
	for spec, want := range map[string][]string{
		"smp:2":       {"iteration (replay_trace_test.go:", "waits for step 2 of 3 of replay 3: stuck (replay_trace_test.go:"},
		"smp:2,sim:1": {"stuck (replay_trace_test.go:", ", step 2 of 3 of replay 3, runs on smp"},
	} {
		t.Run(spec, func(t *testing.T) {
			rt := open(t, task.Options{Devices: spec})
			x := make([]int64, 1)
			turn, started, release := 0, make(chan struct{}), make(chan struct{})
			it, err := rt.Record(func(r *task.Recorder) error {
				return errors.Join(r.Go(nothing, task.InOut(x), task.Label("first")), r.Go(func() error {
					if turn++; turn == 3 {
						close(started)
						<-release
					}
					return nil
				}, task.InOut(x), task.Label("stuck")), r.Go(nothing, task.InOut(x), task.Label("last")))
			})
			require.NoError(t, err)
			for range 4 {
				_, err = it.Replay()
				require.NoError(t, err)
			}
			<-started
			var text strings.Builder
			require.NoError(t, rt.Dump(&text))
			ctx, cancel := context.WithTimeout(context.Background(), time.Millisecond)
			err = rt.Wait(ctx)
			cancel()
			close(release)
			require.NoError(t, rt.Wait(context.Background()))
			for _, w := range want {
				require.ErrorContains(t, err, w)
			}
			require.Contains(t, text.String(), "step 2 of 3 of replay 3")
		})
	}
}

// BenchmarkTracedReplay is a replayed step of a stencil of 64 blocks, without a recorder and with one whose sink keeps nothing.
// ns/step is for one of them.
func BenchmarkTracedReplay(b *testing.B) {
	const blocks, depth = 64, 16
	for _, spec := range []string{"smp:1", "smp:2"} {
		for _, recorded := range []bool{false, true} {
			b.Run(spec+map[bool]string{false: ",unrecorded", true: ",recorded"}[recorded], func(b *testing.B) {
				o := task.Options{Devices: spec}
				rec := record.New(record.Options{})
				if recorded {
					o.Observer = rec
				}
				rt, err := task.New(o)
				require.NoError(b, err)
				x := make([]int64, blocks+2)
				it, err := rt.Record(func(r *task.Recorder) error {
					for range depth {
						for i := range blocks {
							if err := r.Go(nothing, task.In(x[i:i+3]), task.InOut(x[i+1:i+2])); err != nil {
								return err
							}
						}
					}
					return nil
				})
				require.NoError(b, err)
				b.ResetTimer()
				for range b.N {
					_, err := it.Replay()
					require.NoError(b, err)
				}
				require.NoError(b, rt.Wait(context.Background()))
				b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/blocks/depth, "ns/step")
				require.NoError(b, rt.Close())
				if recorded {
					require.NoError(b, rec.Close())
					b.ReportMetric(float64(rec.Dropped())/float64(b.N)/blocks/depth, "dropped/step")
				}
			})
		}
	}
}
