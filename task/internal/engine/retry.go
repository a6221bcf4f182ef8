package engine

import (
	"errors"
	"fmt"

	"github.com/gompss/gompss/deps"
	"github.com/gompss/gompss/devices"
	"github.com/gompss/gompss/sched"
	"github.com/gompss/gompss/task/internal/life"
	"github.com/gompss/gompss/task/internal/memory"
)

// errNotAgain is the reason why a kernel that failed on an accelerator was not run again although
// the program asked for it.
var errNotAgain = errors.New("not run again: what it also reads is not as it was before")

// A saved has the content of a region before a task ran.
type saved struct {
	region deps.Region
	bytes  []byte
}

// runRetrying is runBody for a task that may run again.
func (w CPU) runRetrying(r *Record) {
	before := w.save(r)
	for ; ; r.tries++ {
		w.runOnce(r)
		if r.err != nil {
			r.err.Cause = r.retried(r.err.Cause)
		}
		if r.err == nil || r.Retries == 0 || r.Context().Err() != nil || isViolation(r.err) || !w.leaveScope(r) {
			return
		}
		r.Retries--
		observeAgain(r, r.err)
		w.RT.unchecked(func() { restoreAll(&w.RT.Buffers, before) })
		r.err = nil
	}
}

// isViolation reports whether a task has written what it had no right to: that is not put back, so
// it must not run on it again.
func isViolation(e *Error) bool {
	var v *ViolationError
	return errors.As(e, &v)
}

// leaveScope ends the scope of a run that failed, and reports whether nothing was submitted there.
// The next run is on the worker that this one has now: a goroutine that has waited may have another
// than before.
func (w CPU) leaveScope(r *Record) bool {
	if r.Inner == nil {
		return true
	}
	worker := r.Inner.End()
	if r.Inner.Submitted.Load() {
		return false
	}
	r.worker = int32(worker)
	w.RT.closeScope(r)
	r.Inner = nil
	return true
}

// save keeps what the task may change although it reads it. It is not the task's turn yet: what is
// closed for the body whose turn it is may be just that.
func (w CPU) save(r *Record) (before []saved) {
	rt := w.RT
	rt.PageGuard.beginUnguarded()
	defer rt.PageGuard.endUnguarded()
	for _, a := range r.strong(r.Accesses) {
		if !a.Mode.Reads() || !a.Mode.Writes() {
			continue
		}
		b := rt.Buffers.ByID(a.Region.Buffer)
		before = append(before, saved{a.Region, copyOut(b, a.Region)})
	}
	return before
}

func restoreAll(t *memory.Table, before []saved) {
	for _, s := range before {
		copyIn(t.ByID(s.region.Buffer), s.region, s.bytes)
	}
}

// inputs returns the accesses of r whose data must be as before for it to run again.
func inputs(r *Record) (list []deps.Access) {
	for _, a := range r.Data() {
		if a.Mode.Writes() && a.Mode.Reads() && !a.Region.Empty() {
			list = append(list, a)
		}
	}
	return list
}

// keepInputs makes what r, which was granted to an accelerator, reads and writes valid on the host
// too, and launches it then. The host is what it runs again from: a kernel writes where it runs,
// and no other task may access what it writes until it has finished. It reports false when there is
// nothing to keep.
func (e *eagerLaunch) keepInputs(r *Record) bool {
	list := inputs(r)
	if len(list) == 0 {
		return false
	}
	e.rt.Topology.Machine.Fetch(list, func(err error) {
		if err != nil {
			r.outcome = err
			e.finishTask(r)
			return
		}
		e.launchOn(r)
	})
	return true
}

// retryOnAccelerator reports whether r, which failed on an accelerator, is ready again: elsewhere,
// if it may run elsewhere.
func (e *eagerLaunch) retryOnAccelerator(r *Record, p sched.PlaceID, err error) bool {
	rt := e.rt
	if r.Retries == 0 || r.Context().Err() != nil || errors.Is(err, devices.ErrLost) {
		return false
	}
	list := inputs(r)
	started := r.Holds.Has(life.HeldData) // else it has failed while its inputs were kept
	unhold(rt, r, err)
	if started && rt.Topology.Machine.MissingBytes(list, devices.Host) > 0 { // only data that were lost with another device since
		r.outcome = fmt.Errorf("%w; %w", err, errNotAgain)
		return false
	}
	r.Retries--
	r.tries++
	if rest := r.Item.Allowed.Without(p); rest != 0 {
		r.Item.Allowed = rest
	}
	rt.requeue(r)
	return true
}

// retryFetch reports whether r, whose data could not be brought to the host, is ready again.
func (w CPU) retryFetch(r *Record) bool {
	if r.Retries == 0 || r.Context().Err() != nil || errors.Is(r.err, devices.ErrLost) {
		return false
	}
	unhold(w.RT, r, r.err)
	r.Retries--
	r.tries++
	r.err = nil
	w.RT.requeue(r)
	return true
}

// unhold gives back what r, which failed, held of the machine.
func unhold(rt *Runtime, r *Record, err error) {
	if r.Holds.Has(life.HeldData) {
		rt.Topology.Machine.ReleaseSet(&r.Set, err)
		r.Holds.Drop(life.HeldData)
	}
	if r.Holds.Has(life.HeldPrivates) {
		rt.returnPrivates(r)
		r.Holds.Drop(life.HeldPrivates)
	}
}

// retried says in the error of a task how often it ran.
func (a *attempts) retried(last error) error {
	if a.tries == 0 {
		return last
	}
	return &RetriedError{Times: a.tries + 1, Last: last}
}

// A RetriedError is the last failure of a task that was run again.
type RetriedError struct {
	Times int // that it ran
	Last  error
}

func (e *RetriedError) Error() string { return fmt.Sprintf("run %d times: %v", e.Times, e.Last) }

// Unwrap returns the last failure.
func (e *RetriedError) Unwrap() error { return e.Last }
