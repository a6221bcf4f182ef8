package task

import (
	"sync/atomic"

	"github.com/gompss/gompss/deps"
	"github.com/gompss/gompss/trace/probe"
)

// A sight is what a recorder wants to know of a task that has no detail of its own. Such tasks are many and short, and what is kept
// of each is two cache lines, beside those of its neighbours in the order of submission.
type sight struct {
	id atomic.Uint64 // of the task it is of; 0 for none
	probe.Brief
}

// maxSights bounds the memory of all sights to 32 MiB.
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
	x.Last, x.Submit, x.Ready, x.Start, x.End, x.Filled = 0, rt.soon(), 0, 0, 0, 0
	x.id.Store(uint64(id))
	return true
}

// sightOf returns the sight of a task, nil when it has none.
func (rt *Runtime) sightOf(id deps.TaskID) *sight {
	if len(rt.sights) > 0 {
		if x := &rt.sights[int(id)&(len(rt.sights)-1)]; x.id.Load() == uint64(id) {
			return x
		}
	}
	return nil
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
	if x.Start == 0 || r.worker < 0 || r.err != nil {
		rt.tellAll(o, r, x, id)
		return
	}
	x.ID, x.Worker, x.Place = id, int16(r.worker), int16(rt.host)
	o.Ran(&x.Brief)
	x.id.Store(0)
}

// tellAll is tell for tasks that failed or did not run.
func (rt *Runtime) tellAll(o probe.Recorder, r *record, x *sight, id deps.TaskID) {
	x.ID, x.Worker, x.Place = id, int16(r.worker), int16(rt.host)
	if x.Filled > 0 { // what was packed of it
		b := x.Brief
		b.Worker, b.Start = 0, 0
		o.Ran(&b)
	}
	t := x.Task()
	if r.err != nil {
		t.Err = r.err.Error()
	}
	if x.Start == 0 {
		t.Place, t.Release, t.Skipped = -1, rt.now(), r.poison.Load() != nil
	}
	x.id.Store(0)
	o.Ended(&t)
}
