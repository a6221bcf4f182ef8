package task

import (
	"errors"
	"fmt"
	"slices"

	"github.com/gompss/gompss/deps"
)

// This file is how a task that failed runs again. It may when nobody can see that it has run before: what it only writes is
// written again, and what it also reads is put back. No other task can have seen what it wrote, as its successors wait.

// errNoRetry says why a task cannot be run again.
var errNoRetry = errors.New("retry: what a concurrent access has written cannot be put back: other tasks write it too")

func (r *record) checkRetry() error {
	if r.retries > 0 && slices.ContainsFunc(r.accesses, func(a deps.Access) bool { return a.Mode == deps.Concurrent }) {
		return errNoRetry
	}
	return nil
}

// errNotAgain says why a kernel that failed on an accelerator was not run again although the program asked for it.
var errNotAgain = errors.New("not run again: it also reads what it writes, which is on the accelerator alone")

// A saved is what a region held before a task ran.
type saved struct {
	region deps.Region
	bytes  []byte
}

// runRetrying is runBody for a task that may run again.
func (rt *Runtime) runRetrying(r *record) {
	before := rt.save(r)
	for n := 1; ; n++ {
		rt.runBody(r)
		if r.err != nil && n > 1 {
			r.err.Cause = &RetriedError{Times: n, Last: r.err.Cause}
		}
		if r.err == nil || r.retries == 0 || r.inner != nil && r.inner.submitted.Load() || r.context().Err() != nil {
			return
		}
		r.retries--
		rt.restore(before)
		r.err, r.inner = nil, nil
	}
}

// save keeps what the task may change although it reads it.
func (rt *Runtime) save(r *record) (before []saved) {
	for _, a := range r.accesses {
		if !a.Mode.Reads() || !a.Mode.Writes() {
			continue
		}
		b := rt.buffers.byID(a.Region.Buffer)
		before = append(before, saved{a.Region, copyOut(b, a.Region)})
	}
	return before
}

func (rt *Runtime) restore(before []saved) {
	for _, s := range before {
		copyIn(rt.buffers.byID(s.region.Buffer), s.region, s.bytes)
	}
}

// runsAgain reports whether r, which failed on an accelerator, is ready again.
func (rt *Runtime) runsAgain(r *record, err error) bool {
	reads := func(a deps.Access) bool { return a.Mode.Writes() && a.Mode.Reads() }
	if r.retries == 0 || r.bound || r.context().Err() != nil {
		return false
	}
	if slices.ContainsFunc(r.data(), reads) {
		r.outcome = fmt.Errorf("%w; %w", err, errNotAgain)
		return false
	}
	r.retries--
	rt.machine.ReleaseSet(&r.set, err)
	r.held = false
	rt.again(r)
	return true
}

// A RetriedError is the last failure of a task that was run again.
type RetriedError struct {
	Times int // that it ran
	Last  error
}

func (e *RetriedError) Error() string { return fmt.Sprintf("run %d times: %v", e.Times, e.Last) }

// Unwrap returns the last failure.
func (e *RetriedError) Unwrap() error { return e.Last }
