package gpubench

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"runtime"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/gompss/gompss/devices"
	"github.com/gompss/gompss/internal/machine"
	"github.com/gompss/gompss/task"
)

// A testbed is a device specification, and the number of parts into which the work is cut: the
// number of accelerators. A program is then the same with and without CPU workers, and its blocks
// can be distributed evenly to the accelerators.
type testbed struct {
	spec  string
	parts int
}

// alone reports whether m has one accelerator and no other device.
func (m testbed) alone() bool { return m.parts == 1 && !strings.Contains(m.spec, string(devices.SMP)) }

// cpuWorkers returns the number of CPU workers beside GPUs. It leaves three processors per GPU: for
// the threads that enqueue, that report completions, and that start dependent tasks.
func cpuWorkers(gpus int) int { return max(1, runtime.GOMAXPROCS(0)-3*gpus) }

// testbedsOf returns the testbed of a specification.
func testbedsOf(spec string) ([]testbed, error) {
	m, err := machine.Open(spec, machine.Options{})
	if err != nil {
		return nil, err
	}
	parts := 0
	for _, d := range m.Devices() {
		if d.Properties().Kind != devices.SMP {
			parts++
		}
	}
	return []testbed{{spec, max(1, parts)}}, m.Close()
}

// playAll measures the rows of tasks and applications on each testbed.
func (o *Options) playAll(testbeds []testbed) error {
	var errs []error
	for _, m := range testbeds {
		if o.wants("tasks") {
			for _, one := range o.inTurn(m) {
				errs = append(errs, o.taskRows(one))
			}
		}
	}
	for _, a := range applications {
		if !o.wants(a.name) || a.trial && !o.Trials {
			continue
		}
		one := 0.0 // the value on the first testbed
		for _, m := range testbeds {
			row := Row{Row: a.name, Devices: m.spec, Goal: a.goal}
			out, err := play(a, m.spec, o.Quick, m.parts, 4)
			if err != nil {
				errs = append(errs, fmt.Errorf("bench gpu: %s on %s: %w", a.name, m.spec, err))
			}
			if out != nil {
				row.Value, row.Unit, row.Verified, row.Note = out.value, out.unit, err == nil, out.links()
				if one == 0 {
					one = out.value
				} else {
					row = row.against("times "+testbeds[0].spec, one)
				}
			}
			errs = append(errs, o.print(row))
			runtime.GC()
		}
	}
	return errors.Join(errs...)
}

// trials are options of GPUs that are compared with the default (""), for the rows of tasks.
var trials = []string{"", "(early=off)", "(helper=always)", "(helper=never)"}

// inTurn returns m. If trials are requested, it returns m with each of the trials, twice in turn.
func (o *Options) inTurn(m testbed) []testbed {
	if !o.Trials || !strings.HasPrefix(m.spec, "cuda:") || strings.ContainsAny(m.spec, "(,") {
		return []testbed{m}
	}
	var out []testbed
	for range 2 {
		for _, t := range trials {
			out = append(out, testbed{m.spec + t, m.parts})
		}
	}
	return out
}

// taskRows measures the cost of tiny kernel tasks in the whole runtime.
func (o *Options) taskRows(m testbed) error {
	n := pick(o.Quick, 10000, 200)
	list := []struct {
		name, unit, goal      string
		chains, submitters, n int
		three, one            bool // kernels with three accesses; rows only for a single GPU
	}{
		{"chain of empty kernel tasks", "us/task", "3.5", 1, 1, n, false, true},
		{"host cost of a task with 3 accesses", "us/task", "5", 16, 1, n, true, true},
		{"tasks in 64 chains, 8 submitters", "tasks/s", "800000 on 4", 64, 8, 10 * n, false, false},
	}
	if m.alone() {
		for _, c := range []struct {
			name string
			tick int
		}{{"chain of kernel tasks, recorded and replayed", 1}, {"chain of empty kernel tasks, recorded and replayed", pick(o.Quick, 100, 5)}} {
			each, err := replayed(m.spec, pick(o.Quick, 1000, 20), 10, c.tick)
			row := Row{Row: c.name, Devices: m.spec, Value: each * 1e6, Unit: "us/task", Goal: "0.8", Verified: err == nil}
			switch {
			case err != nil:
				row.Note = err.Error()
			case c.tick > 1:
				row.Note = fmt.Sprintf("each %dth counts, the others do nothing", c.tick)
			}
			if err := o.print(row); err != nil {
				return err
			}
		}
	}
	for _, c := range list {
		if c.one && !m.alone() {
			continue
		}
		took, submitted, err := contend(m.spec, c.chains, c.submitters, c.n, c.three)
		row := Row{Row: c.name, Devices: m.spec, Unit: c.unit, Goal: c.goal, Verified: err == nil}
		each := took.Seconds() / float64(c.n)
		switch {
		case err != nil:
			row.Note = err.Error()
		case c.unit == "tasks/s":
			row.Value = 1 / each
		default:
			row.Value = each * 1e6
			row.Note = fmt.Sprintf("%.2f us of that until the last is submitted", submitted.Seconds()/float64(c.n)*1e6)
		}
		if err := o.print(row); err != nil {
			return err
		}
	}
	return nil
}

// The first warmRounds rounds are not counted. The result is the median of the next countRounds
// rounds, since other processes may use the processors.
const (
	warmRounds  = 2
	countRounds = 11
)

// contend submits n tasks in chains from several goroutines, and checks the counts of the tasks. It
// returns the time of the median round, and the time of the submissions in that round.
func contend(spec string, chains, submitters, n int, three bool) (took, submitted time.Duration, err error) {
	rt, err := task.New(task.Options{Devices: spec})
	if err != nil {
		return 0, 0, err
	}
	defer func() { err = errors.Join(err, rt.Close()) }()
	k, err := kernels(Count, Three)
	if err != nil {
		return 0, 0, err
	}
	cells, err := allocate[int64](rt, chains+2, 1)
	if err != nil {
		return 0, 0, err
	}
	cells[chains][0] = 1 // Three adds this cell and the next one, which is 0
	submit := func(i int) (task.Task, error) {
		call := k[0].With(task.OnDevice(acceleratorOf(spec)))
		if three {
			return k[1].With(task.OnDevice(acceleratorOf(spec))).Submit(rt, cells[chains], cells[chains+1], cells[i%chains])
		}
		return call.Submit(rt, cells[i%chains])
	}
	type round struct{ took, submitted time.Duration }
	var rounds []round
	for range warmRounds + countRounds {
		began := time.Now()
		failed := make(chan error, submitters)
		var all sync.WaitGroup
		for s := range submitters {
			all.Go(func() {
				for i := s; i < n; i += submitters {
					if _, err := submit(i); err != nil {
						failed <- err
						return
					}
				}
			})
		}
		all.Wait()
		r := round{submitted: time.Since(began)}
		if err := rt.Wait(context.Background(), task.KeepOnDevice()); err != nil {
			return 0, 0, err
		}
		r.took = time.Since(began)
		rounds = append(rounds, r)
		select {
		case err := <-failed:
			return 0, 0, err
		default:
		}
	}
	if err := rt.Wait(context.Background()); err != nil {
		return 0, 0, err
	}
	sum := int64(0)
	for _, x := range cells[:chains] {
		sum += x[0]
	}
	if want := int64(len(rounds) * n); sum != want {
		return 0, 0, fmt.Errorf("%d tasks left their mark, want %d", sum, want)
	}
	rounds = rounds[warmRounds:]
	slices.SortFunc(rounds, func(a, b round) int { return cmp.Compare(a.took, b.took) })
	middle := rounds[len(rounds)/2]
	return middle.took, middle.submitted, nil
}

// replayed returns the seconds per kernel of a recorded chain of n kernels that is replayed replays
// times: the median of several runs. Only each tick-th kernel increments the counter.
func replayed(spec string, n, replays, tick int) (each float64, err error) {
	rt, err := task.New(task.Options{Devices: spec})
	if err != nil {
		return 0, err
	}
	defer func() { err = errors.Join(err, rt.Close()) }()
	k, err := kernels(Tick)
	if err != nil {
		return 0, err
	}
	x, err := task.Alloc[int64](rt, 1)
	if err != nil {
		return 0, err
	}
	it, err := rt.RecordKernels("chain", func(r *task.KernelRecorder) error {
		for i := range n {
			more := int64(0)
			if i%tick == 0 {
				more = 1
			}
			if err := r.Submit(k[0], x, more); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		return 0, err
	}
	var times []float64
	for range warmRounds + countRounds { // the first round creates the graph
		began := time.Now()
		for range replays {
			if _, err := it.Replay(); err != nil {
				return 0, err
			}
		}
		if err := rt.Wait(context.Background(), task.KeepOnDevice()); err != nil {
			return 0, err
		}
		times = append(times, time.Since(began).Seconds()/float64(n*replays))
	}
	if err := rt.Wait(context.Background()); err != nil {
		return 0, err
	}
	if want := int64(len(times) * (n / tick) * replays); x[0] != want {
		return 0, fmt.Errorf("%d steps left their mark, want %d", x[0], want)
	}
	times = times[warmRounds:]
	slices.Sort(times)
	return times[len(times)/2], nil
}

// acceleratorOf returns the kind of the accelerators in a specification.
func acceleratorOf(spec string) string {
	if strings.Contains(spec, "sim") {
		return "sim"
	}
	return "cuda"
}
