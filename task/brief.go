package task

import (
	"github.com/gompss/gompss/deps"
	"github.com/gompss/gompss/trace/probe"
)

// makeBriefs makes room for what a recorder wants to know of tasks that have no detail of their
// own. Such tasks are many and short, and what is kept of each is two cache lines, beside those of
// its neighbours in the order of submission.
func (rt *Runtime) makeBriefs() {
	c, ok := rt.observers.recorder.(probe.Collector)
	if !ok || !rt.ready.fastPath {
		return
	}
	rt.observers.briefs = probe.NewBriefs(func() {
		if rt.root.submitting.TryLock() {
			rt.observers.briefs.Publish()
			rt.root.submitting.Unlock()
		}
	})
	c.Collect(rt.observers.briefs)
}

// brief returns what is kept of a task without a detail of its own.
func (ob *observers) brief(r *record) *probe.Brief { return ob.briefs.Find(r.taskID()) }

// reportBrief has the recorder come for a task without a detail that has finished.
func (ob *observers) reportBrief(o probe.Recorder, r *record, id deps.TaskID) {
	b := ob.briefs.Find(id)
	if b.Start == 0 || r.worker < 0 || r.err != nil {
		ob.reportUnusual(o, r, b)
		return
	}
	b.Worker = int16(r.worker)
	b.Over()
}

// reportUnusual is tell for tasks that failed or did not run.
func (ob *observers) reportUnusual(o probe.Recorder, r *record, b *probe.Brief) {
	t := probe.Task{ID: b.ID, Last: b.Last, Worker: int16(r.worker), Place: int16(ob.topology.host), Submit: b.Submit, Ready: b.Ready, Choice: b.Start, Start: b.Start, End: b.End, Release: b.End}
	if r.err != nil {
		t.Err = r.err.Error()
	}
	if b.Start == 0 {
		t.Place, t.Release, t.Skipped = -1, ob.now(), r.poison.Load() != nil
	}
	b.Start = 0 // what was packed counts
	b.Over()
	o.Ended(&t)
}
