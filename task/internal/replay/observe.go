package replay

import (
	"time"

	"github.com/gompss/gompss/trace/clock"
	"github.com/gompss/gompss/trace/probe"
)

// A Trace says where the steps of one replay are reported. Workers call its functions.
type Trace struct {
	Clock *clock.Clock
	Begin time.Duration // of the replay
	Owner func() int    // the worker that the owner is
	Ran   func(*probe.StepRun)
}

// An arrival is the end of the last predecessor of a step.
type arrival struct {
	at time.Duration
	by int32
}

// Observe sets where the next replay reports its steps, nil for nowhere. Requires: no replay is
// running.
func (r *Run) Observe(t *Trace) {
	if r.trace = t; t != nil && r.arrivals == nil {
		r.arrivals = make([]arrival, len(r.graph.Steps))
	}
}

// observeStart notes that a step starts.
func (r *Run) observeStart(d *deque, i int32, s *Step) {
	x := probe.StepRun{Step: i, Last: -1, Worker: d.worker, Ready: r.trace.Begin}
	if s.Preds > 0 {
		x.Ready, x.Last = r.arrivals[i].at, r.arrivals[i].by
	}
	x.Start = max(x.Ready, r.trace.Clock.Early())
	d.step = x
}

// observeEnd reports the step that has started last, which failed with err or was skipped because
// of it, if that is not nil.
func (r *Run) observeEnd(d *deque, err error) {
	x := &d.step
	if x.End = max(x.Ready, x.Start, r.trace.Clock.Early()); err != nil {
		x.Err = err.Error()
	}
	r.trace.Ran(x)
}

// A Progress is the state of a replay at one moment.
type Progress struct {
	Completed int64   // steps, of the replay that runs or has run last
	Running   []int32 // the steps that run now
}

// Progress returns the state of the replay that runs. It reads what workers write meanwhile, and is
// exact for a replay that makes no progress. Requires: Prepare is not called meanwhile.
//
//go:norace
func (r *Run) Progress() (p Progress) {
	p.Completed = r.completed.Load()
	for i := range r.deques {
		d := &r.deques[i]
		if p.Completed += d.completed; d.running > 0 {
			p.Running = append(p.Running, d.running-1)
		}
	}
	return p
}
