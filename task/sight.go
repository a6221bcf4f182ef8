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
	rt.telling = make([]probe.Task, len(rt.rooms))
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
	x.last, x.submit, x.ready, x.start, x.release = 0, rt.now(), 0, 0, 0
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
	var t *probe.Task
	if x.start > 0 && r.worker >= 0 {
		t = &rt.telling[r.worker] // it ends on the worker that ran it
	} else {
		t = new(probe.Task)
	}
	*t = probe.Task{ID: id, Last: x.last, Submit: x.submit, Ready: x.ready, Choice: x.start, Start: x.start, End: x.release, Release: x.release, Worker: int16(r.worker)}
	if r.err != nil {
		t.Err = r.err.Error()
	}
	if x.start == 0 {
		t.Place, t.Release, t.Skipped = -1, rt.now(), r.poison.Load() != nil
	}
	x.id.Store(0)
	o.Ended(t)
}
