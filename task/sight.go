package task

import (
	"sync/atomic"
	"time"

	"github.com/gompss/gompss/deps"
	"github.com/gompss/gompss/trace/probe"
)

// A sight is what a recorder wants to know of a task that has no detail of its own. Such tasks are many and short, and what is kept
// of each is one cache line, beside those of its neighbours in the order of submission.
type sight struct {
	id      atomic.Uint64 // of the task it is of; 0 for none
	last    deps.TaskID
	submit  time.Duration
	ready   time.Duration
	start   time.Duration
	release time.Duration
	_       [16]byte
}

// maxSights bounds the memory of all sights to 16 MiB.
const maxSights = 1 << 18

// makeSights makes room for the sights of as many tasks as may be in flight, and more, as some stay long.
func (rt *Runtime) makeSights(window int64) {
	if rt.recorder == nil || !rt.quick {
		return
	}
	n := 1 << 10
	for int64(n) < 4*window && n < maxSights {
		n *= 2
	}
	rt.sights = make([]sight, n)
	rt.telling = make([]told, len(rt.rooms))
}

// sightFor finds a sight for task id. It returns false when that is taken by a task from long ago that is still in flight: then the
// task needs a detail.
func (rt *Runtime) sightFor(id deps.TaskID) bool {
	if len(rt.sights) == 0 {
		return false
	}
	x := &rt.sights[int(id)&(len(rt.sights)-1)]
	if x.id.Load() != 0 {
		return false
	}
	x.last, x.submit, x.ready, x.start, x.release = 0, rt.soon(), 0, 0, 0
	x.id.Store(uint64(id))
	return true
}

// sight returns the sight of a task that has one.
func (rt *Runtime) sight(r *record) *sight {
	id := r.id.Load()
	x := &rt.sights[int(id)&(len(rt.sights)-1)]
	if x.id.Load() != id {
		rt.bug("task %d has neither a detail nor a sight", id)
	}
	return x
}

// tell tells the recorder of a task without a detail that is over, and gives its sight back.
func (rt *Runtime) tell(o probe.Recorder, r *record, id deps.TaskID) {
	x := rt.sight(r)
	if x.start == 0 || r.worker < 0 || r.err != nil {
		rt.tellAll(o, r, x, id)
		return
	}
	b := &rt.telling[r.worker].Brief // it ends on the worker that ran it
	b.ID, b.Last = id, x.last        // one by one: a copy of the whole would wait for its parts
	b.Submit, b.Ready, b.Start, b.End = x.submit, x.ready, x.start, x.release
	b.Worker, b.Place = int16(r.worker), int16(rt.host)
	x.id.Store(0)
	o.Ran(b)
}

// tellAll is tell for tasks that failed or did not run.
func (rt *Runtime) tellAll(o probe.Recorder, r *record, x *sight, id deps.TaskID) {
	b := probe.Brief{ID: id, Last: x.last, Submit: x.submit, Ready: x.ready, Start: x.start, End: x.release, Worker: int16(r.worker), Place: int16(rt.host)}
	t := b.Task()
	if r.err != nil {
		t.Err = r.err.Error()
	}
	if x.start == 0 {
		t.Place, t.Release, t.Skipped = -1, rt.now(), r.poison.Load() != nil
	}
	x.id.Store(0)
	o.Ended(&t)
}

// A told is what the recorder is being told by a worker; those of two workers share no cache line.
type told struct {
	probe.Brief
	_ [64]byte
}
