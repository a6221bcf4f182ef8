package run_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"github.com/gompss/gompss/devices"
	"github.com/gompss/gompss/devices/sim"
	"github.com/gompss/gompss/task"
	"github.com/gompss/gompss/trace/probe"
	"github.com/gompss/gompss/trace/record"
	"github.com/gompss/gompss/trace/run"
	"github.com/stretchr/testify/require"

	_ "github.com/gompss/gompss/devices/all"
)

// The kernels of realSource: one that reads, one that writes, one that does both, and one that
// needs most of the tokens.
const realSource = `package k

//omp:target device(acc)
//omp:task in(x[0:n]) inout(sum[0:1])
func Reads(n int, x, sum []float32) {
	//omp:teams distribute parallel for
	for i := 0; i < 1; i++ {
		sum[i] += x[i]
	}
}

//omp:target device(acc)
//omp:task out(x[0:n])
func Writes(n int, x []float32) {
	//omp:teams distribute parallel for
	for i := 0; i < n; i++ {
		x[i] = 1
	}
}

//omp:target device(acc)
//omp:task inout(x[0:n])
func Works(n int, x []float32) {
	//omp:teams distribute parallel for
	for i := 0; i < n; i++ {
		x[i] *= 2
	}
}

//omp:target device(acc) resources(acc: 60)
//omp:task inout(x[0:n])
func Greedy(n int, x []float32) {
	//omp:teams distribute parallel for
	for i := 0; i < n; i++ {
		x[i] *= 2
	}
}
`

// A slowDevice takes long to make variants of kernels.
type slowDevice struct{ *sim.Device }

func (d slowDevice) Prepare(k *devices.Kernel) error {
	time.Sleep(300 * time.Millisecond)
	return d.Device.Prepare(k)
}

// A lateDevice takes long to launch what it is given.
type lateDevice struct{ *sim.Device }

func (d lateDevice) Launch(l *devices.Launch, after []devices.Event) devices.Event {
	time.Sleep(20 * time.Millisecond)
	return d.Device.Launch(l, after)
}

func init() {
	devices.Register("late", func(c devices.Config) ([]devices.Device, error) {
		d, err := sim.Open(1, c.First, sim.Options{})
		if err != nil {
			return nil, err
		}
		return []devices.Device{lateDevice{d[0]}}, nil
	})
	devices.Register("slow", func(c devices.Config) ([]devices.Device, error) {
		d, err := sim.Open(1, c.First, sim.Options{})
		if err != nil {
			return nil, err
		}
		return []devices.Device{slowDevice{d[0]}}, nil
	})
}

func Reads(_ int, x, sum []float32) { sum[0] += x[0] }

func Writes(n int, x []float32) {
	for i := range x[:n] {
		x[i] = 1
	}
}

func Works(n int, x []float32) {
	for i := range x[:n] {
		x[i] *= 2
	}
}

func Greedy(n int, x []float32) { Works(n, x) }

func kernel(t *testing.T, f any) *task.Kernel {
	k, err := task.NewKernel(f, task.SourceFile{Name: "k.go", Text: realSource})
	require.NoError(t, err)
	return k
}

// What the runtime knew of the program's memory: at the waits, and in the end.
func TestKnownMemoryOfARealRun(t *testing.T) {
	s := runOn(t, "smp:1", func(rt *task.Runtime) {
		for round := range 3 {
			x := make([]float64, 100)
			_, err := rt.Go(func() error { return nil }, task.Out(x), task.Out(make([]float64, 50)))
			require.NoError(t, err)
			require.NoError(t, rt.Wait(context.Background()))
			if round < 2 {
				require.NoError(t, task.Unregister(rt, x))
			}
		}
	})
	require.Equal(t, [4]int64{4, 3*400 + 800, 4, 3*400 + 800}, [4]int64{s.Buffers, int64(s.Known), s.MostBuffers, int64(s.MostKnown)})
	s = runOn(t, "smp:1", func(rt *task.Runtime) {
		x := make([]float64, 128)
		_, err := rt.Go(func() error { return nil }, task.Out(x))
		require.NoError(t, err)
		require.NoError(t, rt.Wait(context.Background()))
		require.NoError(t, task.Unregister(rt, x))
	})
	var text strings.Builder
	require.NoError(t, s.Write(&text))
	require.Contains(t, text.String(), "buffers  0 of 0 B known in the end, 1 of 1.0 KiB at most")
}

// runOn runs a program and returns the summary of it.
func runOn(t *testing.T, devices string, program func(rt *task.Runtime)) *run.Summary {
	return runWith(t, task.Options{Devices: devices}, program)
}

func runWith(t *testing.T, o task.Options, program func(rt *task.Runtime)) *run.Summary {
	r := run.New(0)
	rec := record.New(record.Options{Sinks: []record.Sink{r}})
	o.Observer = rec
	rt, err := task.New(o)
	require.NoError(t, err)
	program(rt)
	require.NoError(t, rt.Wait(context.Background()))
	require.NoError(t, rt.Close())
	require.NoError(t, rec.Close())
	return r.Summary()
}

// turns is what parents take turns with.
var turns = make([]int, 1)

const elements = 1 << 16 // 256 KiB

func arrays(n int) (out [][]float32) {
	for range n {
		out = append(out, make([]float32, elements))
	}
	return out
}

// Each verdict, found on programs that were made to be bound by that one thing: what they wait for
// lasts some hundred milliseconds, by the models of the simulated devices or because they sleep,
// and all else they do takes a few. What noise there is makes everything slower.
func TestVerdictsOfRealRuns(t *testing.T) {
	each := func(rt *task.Runtime, k *task.Kernel, n int, on func(i int) string) {
		for i, x := range arrays(n) {
			_, err := k.With(task.OnDevice(on(i))).Submit(rt, elements, x)
			require.NoError(t, err)
		}
	}
	everywhere := func(int) string { return "sim" }
	for _, c := range []struct {
		name, devices   string
		program         func(rt *task.Runtime)
		bound, sentence string
		evidence        string
	}{
		{"a slow link to a device", "smp:2,sim:2(bandwidth=20MB/s,peerbw=10GB/s)", func(rt *task.Runtime) {
			sum := make([]float32, 1)
			for _, x := range arrays(20) {
				_, err := kernel(t, Reads).With(task.OnDevice("sim:1")).Submit(rt, elements, x, sum)
				require.NoError(t, err)
			}
		}, "transfers", "bound by transfers host -> sim:1", "sim:1 waited for copies"},
		{"a slow link from a device", "smp:2,sim:2(bandwidth=20MB/s)", func(rt *task.Runtime) {
			each(rt, kernel(t, Writes), 20, func(int) string { return "sim:0" })
		}, "transfers", "bound by transfers sim:0 -> host", "sim:0 waited for copies"},
		{"uneven work", "smp:2,sim:2(speed=20MB/s)", func(rt *task.Runtime) {
			each(rt, kernel(t, Works), 20, func(i int) string { return fmt.Sprintf("sim:%d", i%10/9) })
		}, "load", "bound by uneven load: most of the work of kind sim is on sim:0", "the 2 lanes of its kind"},
		{"a device that has enough to do", "smp:2,sim:1(speed=20MB/s)", func(rt *task.Runtime) {
			each(rt, kernel(t, Works), 20, everywhere)
		}, "devices", "bound by the work on sim:0", "more or faster devices help"},
		{"a chain", "smp:2,sim:2(speed=8MB/s)", func(rt *task.Runtime) {
			x := make([]float32, elements)
			for range 20 {
				_, err := kernel(t, Works).With(task.OnDevice("sim")).Submit(rt, elements, x)
				require.NoError(t, err)
			}
		}, "path", "bound by the critical path: more devices will not help", "most of it is Works x "}, // all but those that were over at once
		{"too few tokens", "smp:2,sim:4(speed=20MB/s)", func(rt *task.Runtime) {
			each(rt, kernel(t, Greedy), 20, everywhere)
		}, "tokens", "bound by tokens", "short of tokens"},
		{"late submission", "smp:2", func(rt *task.Runtime) {
			for range 20 {
				_, err := rt.Go(func() error { time.Sleep(time.Millisecond); return nil })
				require.NoError(t, err)
				time.Sleep(20 * time.Millisecond)
			}
		}, "submission", "bound by submission", "submission of the next"},
		{"tiny tasks", "smp:2", func(rt *task.Runtime) {
			x := make([]int, 1)
			for range 20000 {
				_, err := rt.Go(func() error { x[0]++; return nil }, task.InOut(x))
				require.NoError(t, err)
			}
		}, "tasks", "tasks too small", "the runtime had"},
		{"nothing", "smp:2", func(*task.Runtime) {}, "nothing", "nothing ran", "no task"},
		{"a wait after each task", "smp:4", func(rt *task.Runtime) {
			for range 20 {
				_, err := rt.Go(func() error { time.Sleep(10 * time.Millisecond); return nil })
				require.NoError(t, err)
				require.NoError(t, rt.Wait(context.Background()))
			}
		}, "submission", "bound by submission", "before the next was submitted"},
		{"a memory that is too small", "smp:2,sim:1(memory=1MiB,granule=64KiB,bandwidth=100MB/s)", func(rt *task.Runtime) {
			all, sum := arrays(8), make([]float32, 1) // twice what there is room for, in an order that the sum keeps
			for range 5 {
				for _, x := range all {
					_, err := kernel(t, Reads).With(task.OnDevice("sim")).Submit(rt, elements, x, sum)
					require.NoError(t, err)
				}
			}
		}, "memory", "bound by the memory of sim:0", "came again"},
		{"once through a memory that is too small", "smp:2,sim:1(memory=1MiB,granule=64KiB,bandwidth=50MB/s)", func(rt *task.Runtime) {
			each(rt, kernel(t, Works), 20, everywhere)
		}, "transfers", "bound by transfers", "waited for copies"},
		{"tokens for all that can run at once", "smp:2", func(rt *task.Runtime) {
			for range 20 {
				_, err := rt.Go(func() error { time.Sleep(20 * time.Millisecond); return nil }, task.Resources("smp", 50))
				require.NoError(t, err)
			}
		}, "devices", "bound by the work on smp", "busy"},
		{"a device that waits for copies beside one that has all the work", "smp:2,sim:2(bandwidth=20MB/s,peerbw=10GB/s)", func(rt *task.Runtime) {
			_, err := rt.Go(func() error { time.Sleep(time.Second); return nil }, task.Label("long"))
			require.NoError(t, err)
			sum := make([]float32, 1)
			for range 2 { // 210 ms each
				_, err := kernel(t, Reads).With(task.OnDevice("sim:1")).Submit(rt, 16*elements, make([]float32, 16*elements), sum)
				require.NoError(t, err)
			}
		}, "path", "bound by the critical path", "long x 1"},
		{"a slow link beside one that moves more", "smp:2,sim:2(bandwidth=10MB/s,peerbw=10GB/s)", func(rt *task.Runtime) {
			sum, x, k := make([]float32, 1), make([]float32, 8*elements), kernel(t, Works)
			for i := range 7 { // to and fro between the two devices, after 210 ms to get there
				_, err := k.With(task.OnDevice(fmt.Sprintf("sim:%d", i%2))).Submit(rt, 8*elements, x)
				require.NoError(t, err)
			}
			_, err := kernel(t, Reads).With(task.OnDevice("sim:0")).Submit(rt, 8*elements, make([]float32, 8*elements), sum)
			require.NoError(t, err)
		}, "transfers", "bound by transfers host -> sim:0", "sim:0 waited for copies"},
		{"nested tasks for which there are too few workers", "smp:2", func(rt *task.Runtime) {
			for range 4 {
				_, err := rt.GoScope(func(s *task.Scope) error {
					for range 8 {
						if _, err := s.Go(func() error { time.Sleep(10 * time.Millisecond); return nil }, task.Label("child")); err != nil {
							return err
						}
					}
					return s.Wait(context.Background())
				}, task.Label("parent"), task.InOut(turns))
				require.NoError(t, err)
			}
		}, "devices", "bound by the work on smp", "more or faster devices help"},
		{"a runtime that takes long to launch", "late:1", func(rt *task.Runtime) {
			each(rt, kernel(t, Works), 20, everywhere)
		}, "runtime", "bound by what the runtime does before tasks start on sim:0", "ran and copied nothing"},
		{"chains between waits", "smp:1,sim:4(speed=8MB/s)", func(rt *task.Runtime) {
			for range 5 {
				x := make([]float32, elements)
				for i := range 4 {
					_, err := kernel(t, Works).With(task.OnDevice(fmt.Sprintf("sim:%d", i))).Submit(rt, elements, x)
					require.NoError(t, err)
				}
				require.NoError(t, rt.Wait(context.Background()))
			}
		}, "chain", "bound by a chain of tasks, each after the one before", "most of it is Works x 20"},
		{"a device in turn that has most of the work", "smp:1,sim:4(speed=8MB/s)", func(rt *task.Runtime) {
			for step := range 6 {
				each(rt, kernel(t, Works), 3, func(int) string { return fmt.Sprintf("sim:%d", step%4) })
				require.NoError(t, rt.Wait(context.Background()))
			}
		}, "chain", "bound by the order of tasks", "behind others of the same device, while those of kind sim are busy"},
		{"a kernel that takes long to make", "slow:1", func(rt *task.Runtime) {
			_, err := kernel(t, Works).Submit(rt, 8, make([]float32, 8))
			require.NoError(t, err)
		}, "compile", "bound by making variants of kernels", "before the first submission; 0 of 1 came from a cache"},
		{"a second one", "smp:1,slow:1", func(rt *task.Runtime) {
			_, err := rt.Go(func() error { return nil })
			require.NoError(t, err)
			require.NoError(t, rt.Wait(context.Background()))
			_, err = kernel(t, Works).Submit(rt, 8, make([]float32, 8))
			require.NoError(t, err)
		}, "compile", "bound by making variants of kernels", "0s of that before the first submission"},
	} {
		t.Run(c.name, func(t *testing.T) {
			s := runOn(t, c.devices, c.program)
			for range 2 { // a machine that is stalled for as long as the program waits gets other chances
				if t.Logf("%v", s.Verdict); s.Verdict.Bound == c.bound && strings.Contains(s.Verdict.Sentence, c.sentence) {
					break
				}
				s = runOn(t, c.devices, c.program)
			}
			require.Equal(t, c.bound, s.Verdict.Bound, "%v", s.Verdict)
			require.Contains(t, s.Verdict.Sentence, c.sentence)
			require.Contains(t, s.Verdict.Evidence, c.evidence)
		})
	}
}

// A nested task names the one whose body submitted it, in a file too; the others name none.
func TestParentsAreRecorded(t *testing.T) {
	var file bytes.Buffer
	r := run.New(0)
	rec := record.New(record.Options{Sinks: []record.Sink{r, record.NewWriter(&file)}})
	rt, err := task.New(task.Options{Devices: "smp:2", Observer: rec})
	require.NoError(t, err)
	for range 3 {
		_, err := rt.GoScope(func(s *task.Scope) error {
			_, err := s.GoScope(func(s *task.Scope) error {
				_, err := s.Go(func() error { return nil }, task.Label("inner"))
				return err
			}, task.Label("middle"))
			return err
		}, task.Label("outer"))
		require.NoError(t, err)
	}
	require.NoError(t, rt.Wait(context.Background()))
	require.NoError(t, rt.Close())
	require.NoError(t, rec.Close())
	read, err := run.Read(&file)
	require.NoError(t, err)
	for _, r := range []*run.Run{r, read} {
		require.Equal(t, 9, r.Len())
		for i := range r.Len() {
			x := r.Task(i)
			parent := ""
			if p := r.Find(r.ParentOf(x.ID)); p != nil {
				parent = p.Label
			}
			require.Equal(t, map[string]string{"outer": "", "middle": "outer", "inner": "middle"}[x.Label], parent)
		}
	}
}

// A run with failures says how many, and which was the first.
func TestANoteOfFailures(t *testing.T) {
	r := run.New(0)
	rec := record.New(record.Options{Sinks: []record.Sink{r}})
	rt, err := task.New(task.Options{Devices: "smp:2", Observer: rec})
	require.NoError(t, err)
	x := make([]int, 1)
	for i := range 5 {
		_, err := rt.Go(func() error {
			if i == 2 {
				return errors.New("no more\nof this")
			}
			return nil
		}, task.InOut(x), task.Label(fmt.Sprintf("step %d", i)))
		require.NoError(t, err)
	}
	require.Error(t, rt.Wait(context.Background()))
	require.NoError(t, rt.Close())
	require.NoError(t, rec.Close())
	notes := strings.Join(r.Summary().Notes, "\n")
	require.Contains(t, notes, "1 tasks failed, and 2 were skipped because of that; the first was task 3: step 2 (real_test.go:")
	require.NotContains(t, notes, "of this")
}

// What no verdict says is in the notes: what runs as a Go function and why, what a memory was too
// small for, which had nothing to do.
func TestNotesOfRealRuns(t *testing.T) {
	text := strings.Replace(realSource, "device(acc)", "device(acc, smp)", -1)
	works, err := task.NewKernel(Works, task.SourceFile{Name: "k.go", Text: text})
	require.NoError(t, err)
	s := runWith(t, task.Options{Devices: "smp:2,sim:2", Vector: task.VectorOff}, func(rt *task.Runtime) {
		_, err := works.With(task.OnDevice("smp")).Submit(rt, elements, make([]float32, elements))
		require.NoError(t, err)
	})
	require.Len(t, s.Notes, 2, "%q", s.Notes)
	require.Regexp(t, `^Works ran as its Go function on the CPU, 100 % of the running time of all tasks: .*off`, s.Notes[0])
	require.Equal(t, "sim:0, sim:1 ran no task", s.Notes[1])
	var out bytes.Buffer
	require.NoError(t, s.Write(&out))
	require.Contains(t, out.String(), s.Notes[0])

	s = runOn(t, "sim:1(memory=1MiB,granule=64KiB)", func(rt *task.Runtime) {
		all, sum := arrays(8), make([]float32, 1)
		for range 3 {
			for _, x := range all {
				_, err := kernel(t, Reads).Submit(rt, elements, x, sum)
				require.NoError(t, err)
			}
		}
	})
	require.Equal(t, []string{"evicted data came again, for want of memory: 4.0 MiB to the 1.0 MiB of sim:0"}, s.Notes)

	s = runOn(t, "sim:1", func(rt *task.Runtime) {
		_, err := kernel(t, Works).Submit(rt, elements, make([]float32, elements))
		require.NoError(t, err)
	})
	require.Empty(t, s.Notes, "nothing is worth a note")
}

// A device that refuses a kernel says why, once for all devices of its kind.
func TestANoteOfARefusal(t *testing.T) {
	r := run.New(0)
	r.Machine = probe.Machine{Places: []probe.Place{{Name: "smp", Kind: "smp", Workers: 1, Host: true}}}
	r.Append(probe.Task{ID: 1, Start: 1, End: 2, Release: 3})
	for i := range 2 {
		r.Points = append(r.Points, probe.Point{Kind: probe.Compile, Kernel: "Sum", Device: fmt.Sprintf("cuda:%d", i), Err: errors.New("no atomics here\nfor long reasons")})
	}
	r.Finish()
	require.Equal(t, []string{"no cuda device runs Sum: no atomics here"}, r.Summary().Notes)
}
