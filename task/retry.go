package task

import (
	"errors"
	"fmt"
	"slices"

	"github.com/gompss/gompss/deps"
	"github.com/gompss/gompss/devices"
	"github.com/gompss/gompss/sched"
	"github.com/gompss/gompss/task/internal/life"
	"github.com/gompss/gompss/task/internal/memory"
)

// This file is how a task that failed runs again. It may when no other task can observe that it has
// run before: what it only writes is written again, and what it also reads is put back. No other
// task can have seen what it wrote, as its successors wait.

// errNoRetry is the reason why a task cannot be run again.
var errNoRetry = errors.New("retry: what a concurrent access has written cannot be put back: other tasks write it too")

// checkRetry refuses a task that may run again although it could be seen that it has run. options
// are those with its accesses, if it is no kernel.
func (r *record) checkRetry(options []Option) error {
	if r.retries == 0 {
		return nil
	}
	if slices.ContainsFunc(r.accesses, func(a deps.Access) bool { return a.Mode == deps.Concurrent }) {
		return errNoRetry
	}
	return canRestore(options)
}

// canRestore returns an error when a task that may run again reads and writes elements that hold Go
// pointers: what is kept of those would not keep alive what they point at, nor that as it was.
func canRestore(options []Option) error {
	for i := range options {
		if o := &options[i]; o.isAccess() && o.kind&pointerBit != 0 {
			return fmt.Errorf("retry: %s: its elements hold Go pointers, and cannot be put back", o.mode())
		}
	}
	return nil
}

// errNotAgain is the reason why a kernel that failed on an accelerator was not run again although
// the program asked for it.
var errNotAgain = errors.New("not run again: what it also reads is not as it was before")

// A saved is what a region held before a task ran.
type saved struct {
	region deps.Region
	bytes  []byte
}

// runRetrying is runBody for a task that may run again.
func (rt *Runtime) runRetrying(r *record) {
	before := rt.save(r)
	for ; ; r.tries++ {
		rt.runOnce(r)
		if r.err != nil {
			r.err.Cause = r.retried(r.err.Cause)
		}
		if r.err == nil || r.retries == 0 || r.Context().Err() != nil || isViolation(r.err) || !rt.leaveScope(r) {
			return
		}
		r.retries--
		observeAgain(r, r.err)
		rt.unchecked(func() { restoreAll(&rt.buffers, before) })
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
func (rt *Runtime) leaveScope(r *record) bool {
	if r.inner == nil {
		return true
	}
	worker := r.inner.end()
	if r.inner.submitted.Load() {
		return false
	}
	r.worker = int32(worker)
	rt.closeScope(r)
	r.inner = nil
	return true
}

// save keeps what the task may change although it reads it. It is not the task's turn yet: what is
// closed for the body whose turn it is may be just that.
func (rt *Runtime) save(r *record) (before []saved) {
	rt.pageGuard.beginUnguarded()
	defer rt.pageGuard.endUnguarded()
	for _, a := range r.accesses {
		if !a.Mode.Reads() || !a.Mode.Writes() {
			continue
		}
		b := rt.buffers.ByID(a.Region.Buffer)
		before = append(before, saved{a.Region, copyOut(b, a.Region)})
	}
	return before
}

func restoreAll(t *memory.Table, before []saved) {
	for _, s := range before {
		copyIn(t.ByID(s.region.Buffer), s.region, s.bytes)
	}
}

// inputs returns what r reads and writes: what it must find as it was before to run again.
func (r *record) inputs() (list []deps.Access) {
	for _, a := range r.data() {
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
func (rt *Runtime) keepInputs(r *record) bool {
	list := r.inputs()
	if len(list) == 0 {
		return false
	}
	rt.topology.machine.Fetch(list, func(err error) {
		if err != nil {
			r.outcome = err
			rt.finishTask(r)
			return
		}
		rt.launchOn(r)
	})
	return true
}

// retryOnAccelerator reports whether r, which failed on an accelerator, is ready again: elsewhere,
// if it may run elsewhere.
func (rt *Runtime) retryOnAccelerator(r *record, p sched.PlaceID, err error) bool {
	if r.retries == 0 || r.Context().Err() != nil || errors.Is(err, devices.ErrLost) {
		return false
	}
	list := r.inputs()
	started := r.holds.Has(life.HeldData) // else it has failed while its inputs were kept
	rt.unhold(r, err)
	if started && rt.topology.machine.MissingBytes(list, devices.Host) > 0 { // only what was lost with another device since
		r.outcome = fmt.Errorf("%w; %w", err, errNotAgain)
		return false
	}
	r.retries--
	r.tries++
	if rest := r.item.Allowed.Without(p); rest != 0 {
		r.item.Allowed = rest
	}
	rt.requeue(r)
	return true
}

// retryFetch reports whether r, whose data could not be brought to the host, is ready again.
func (rt *Runtime) retryFetch(r *record) bool {
	if r.retries == 0 || r.Context().Err() != nil || errors.Is(r.err, devices.ErrLost) {
		return false
	}
	rt.unhold(r, r.err)
	r.retries--
	r.tries++
	r.err = nil
	rt.requeue(r)
	return true
}

// unhold gives back what r, which failed, held of the machine.
func (rt *Runtime) unhold(r *record, err error) {
	if r.holds.Has(life.HeldData) {
		rt.topology.machine.ReleaseSet(&r.set, err)
		r.holds.Drop(life.HeldData)
	}
	if r.holds.Has(life.HeldPrivates) {
		rt.returnPrivates(r)
		r.holds.Drop(life.HeldPrivates)
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
