package taskbench

import (
	"context"
	"fmt"
	"runtime"
	"slices"
	"time"

	"github.com/gompss/gompss/task"
)

// Options say what to measure.
type Options struct {
	Pattern      string
	Width, Steps int
	Grain        int // steps of the arithmetic loop that is the body of a task; 0 is an empty task
	Workers      int
	Submitters   int // goroutines that submit at once, each steps/submitters steps on memory of its own
	Policy       string
	Replay       bool // record the graph once, and measure its replays
	Repetitions  int

	backwards bool // the tasks are submitted in the wrong order: for tests of the check
}

// A Result is one JSON line. Times are medians of the repetitions.
type Result struct {
	Pattern    string  `json:"pattern"`
	Width      int     `json:"width"`
	Steps      int     `json:"steps"`
	Grain      int     `json:"grain"`
	Workers    int     `json:"workers"`
	Submitters int     `json:"submitters"`
	Replay     bool    `json:"replay"`
	Tasks      int     `json:"tasks"`
	Edges      int     `json:"edges"`
	Seconds    float64 `json:"seconds"`
	PerTask    float64 `json:"ns_per_task"`
	Quickest   float64 `json:"ns_per_task_min"`
	Slowest    float64 `json:"ns_per_task_max"`
	CPU        float64 `json:"cpu_ns_per_task"`    // of all threads
	Submit     float64 `json:"submit_ns_per_task"` // the workers held
	Allocs     float64 `json:"allocs_per_task"`
	Pending    float64 `json:"bytes_per_pending_task"`
	METG       float64 `json:"metg50_us,omitempty"`
	Order      string  `json:"order"` // "ok", or what ran out of order

	Peers map[string]float64 `json:"peers_ns_per_task,omitempty"` // by runtime, in a Suite
}

// A rig is a runtime and the programs to run on it.
type rig struct {
	rt       *task.Runtime
	programs []*program
	tasks    int
	edges    int
}

// open starts a runtime and makes the programs. window is as in task.Options.
func (o *Options) open(window int) (*rig, error) {
	rt, err := task.New(task.Options{Devices: fmt.Sprintf("smp:%d", o.Workers), Policy: o.Policy, Window: window})
	if err != nil {
		return nil, err
	}
	r := &rig{rt: rt}
	for range o.Submitters {
		g, err := NewGraph(o.Pattern, o.Width, max(1, o.Steps/o.Submitters))
		if err != nil {
			return nil, err
		}
		p, err := newProgram(rt, g, kernel(o.Grain))
		if err != nil {
			return nil, err
		}
		p.backwards = o.backwards
		r.programs = append(r.programs, p)
		r.tasks += g.Tasks()
		r.edges += g.Edges
	}
	return r, nil
}

// record records the programs, if they are to be replayed.
func (r *rig) record(o *Options) error {
	for _, p := range r.programs {
		if !o.Replay {
			break
		}
		if err := p.record(r.rt); err != nil {
			return err
		}
	}
	return nil
}

func (r *rig) reset() {
	for _, p := range r.programs {
		p.reset()
	}
}

func (r *rig) check() error {
	for _, p := range r.programs {
		if err := p.check(); err != nil {
			return err
		}
	}
	return nil
}

// A sample is one run.
type sample struct {
	elapsed time.Duration
	cpu     time.Duration // of the process
	allocs  uint64
}

// once runs all programs, from the first submission to the end of the last task, and checks the
// order.
func (r *rig) once() (sample, error) {
	r.reset()
	before := mallocs()
	used := processorTime()
	began := time.Now()
	if err := submitAll(r.rt, r.programs); err != nil {
		return sample{}, err
	}
	if err := r.rt.Wait(context.Background()); err != nil {
		return sample{}, err
	}
	s := sample{elapsed: time.Since(began), cpu: processorTime() - used}
	s.allocs = mallocs() - before
	return s, r.check()
}

// samples runs the programs once to warm up and then n times, quickest first.
func (r *rig) samples(n int) ([]sample, error) {
	if _, err := r.once(); err != nil {
		return nil, err
	}
	out := make([]sample, n)
	for i := range out {
		var err error
		if out[i], err = r.once(); err != nil {
			return nil, err
		}
	}
	slices.SortFunc(out, func(a, b sample) int { return int(a.elapsed - b.elapsed) })
	return out, nil
}

func mallocs() uint64 {
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return m.Mallocs
}

// Measure runs a pattern. An error of ErrOrder comes with a Result, whose Order says what was out
// of order.
func Measure(o Options) (Result, error) {
	out, err := o.measure()
	if out.Order = "ok"; err != nil {
		out.Order = err.Error()
	}
	return out, err
}

func (o *Options) measure() (Result, error) {
	out := Result{Pattern: o.Pattern, Width: o.Width, Steps: o.Steps, Grain: o.Grain, Workers: o.Workers, Submitters: o.Submitters, Replay: o.Replay}
	r, err := o.open(0)
	if err != nil {
		return out, err
	}
	defer r.rt.Close()
	out.Tasks, out.Edges = r.tasks, r.edges
	if err := r.record(o); err != nil {
		return out, err
	}
	samples, err := r.samples(o.Repetitions)
	if err != nil {
		return out, err
	}
	middle := samples[len(samples)/2]
	per := func(s sample) float64 { return float64(s.elapsed) / float64(r.tasks) }
	out.Seconds = middle.elapsed.Seconds()
	out.PerTask, out.Quickest, out.Slowest = per(middle), per(samples[0]), per(samples[len(samples)-1])
	out.CPU = float64(middle.cpu) / float64(r.tasks)
	out.Allocs = float64(middle.allocs) / float64(r.tasks)
	out.Submit, out.Pending, err = o.pending()
	return out, err
}

// pending measures submission alone: all workers are held by gates, and the window is open. bytes
// is what the heap grew by for a task the first time, with what was recorded if it is replayed; ns
// is the median of the times after that.
func (o *Options) pending() (ns, bytes float64, err error) {
	r, err := o.open(-1)
	if err != nil {
		return 0, 0, err
	}
	defer r.rt.Close()
	times := make([]time.Duration, o.Repetitions)
	for i := -1; i < len(times); i++ {
		r.reset()
		gate, err := r.hold(o.Workers)
		if err != nil {
			return 0, 0, err
		}
		before := uint64(0)
		if i < 0 {
			before = heap()
			if err := r.record(o); err != nil {
				close(gate)
				return 0, 0, err
			}
		}
		began := time.Now()
		err = submitAll(r.rt, r.programs)
		elapsed := time.Since(began)
		if i < 0 {
			bytes = float64(heap()-before) / float64(r.tasks)
		} else {
			times[i] = elapsed
		}
		close(gate)
		if err == nil {
			err = r.rt.Wait(context.Background())
		}
		if err == nil {
			err = r.check()
		}
		if err != nil {
			return 0, 0, err
		}
	}
	slices.Sort(times)
	return float64(times[len(times)/2]) / float64(r.tasks), bytes, nil
}

// hold keeps all workers busy until the channel is closed.
func (r *rig) hold(workers int) (chan struct{}, error) {
	gate, inside := make(chan struct{}), make(chan struct{})
	for range workers {
		_, err := r.rt.Go(func() error { inside <- struct{}{}; <-gate; return nil })
		if err != nil {
			close(gate)
			return nil, err
		}
	}
	for range workers {
		<-inside
	}
	return gate, nil
}

// heap is the bytes in use after a collection.
func heap() uint64 {
	runtime.GC()
	runtime.GC()
	var m runtime.MemStats
	runtime.ReadMemStats(&m)
	return m.HeapAlloc
}
