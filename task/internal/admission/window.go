// Package admission counts what uses a runtime: calls that have no task yet, tasks in flight, and
// goroutines that submit kernels in alternation.
//
// The window bounds the tasks in flight and is what waits for them to finish. No count is shared by
// two processors as long as nothing waits for it.
package admission

import (
	"context"
	"fmt"
	"math"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/gompss/gompss/internal/spin"
)

// A Window counts the tasks in flight. It makes submitting and waiting goroutines wait until there
// are few enough.
//
// Finished tasks are counted in several tallies, one for each worker, so that workers share no
// memory as long as no goroutine waits. A waiting goroutine divides the missing number among the
// tallies and writes into each the count at which to look again: before enough tasks have finished,
// one of the tallies must have reached its mark.
type Window struct {
	Limit   int64
	Ctx     context.Context // the end of it calls wake
	tallies []tally         // the first is that of all goroutines that are no workers
	_       spin.Line       // leave reads the tallies

	Entered      atomic.Int64 // numbers that were given out: that of the latest task
	lastFinished atomic.Int64 // finished tasks as of the latest count
	_            spin.Line

	reserving spin.Mutex // guards the field below, and its change with Entered and the tallies
	reserved  int64      // numbers among Entered that are those of no task
	_         spin.Line

	idle    spin.Mutex // guards the fields below, and the marks
	changed *sync.Cond
	limits  []int64 // by waiter: the number of tasks in flight to wait for
	Turns   Turns
}

// Turns are how a goroutine waits where the devices have a virtual time.
type Turns interface {
	// Wait returns when over reports true, or ctx, if it is not nil, is done.
	Wait(over func() bool, ctx context.Context)
}

// A tally counts finished tasks.
type tally struct {
	finished atomic.Int64
	mark     atomic.Int64 // a worker that reaches it calls wakeSatisfied
	seen     int64        // of finished, when the mark was set; guarded by window.idle
	_        [104]byte
}

// DefaultLimit is the limit of a window of 0.
const DefaultLimit = 1 << 12

// noMark is a mark that is never reached.
const noMark = math.MaxInt64

func (w *Window) Open(limit int, workers int) {
	switch {
	case limit == 0:
		w.Limit = DefaultLimit
	case limit < 0:
		w.Limit = 1 << 62
	default:
		w.Limit = int64(limit)
	}
	w.changed = sync.NewCond(&w.idle)
	w.tallies = make([]tally, workers+1)
	w.clearMarks()
}

// HasCapacity reports whether there is capacity for a task of the program. Requires: the submitting
// of the program held, so that the answer stays true.
func (w *Window) HasCapacity() bool {
	n := w.Entered.Load()
	if n-w.lastFinished.Load() < w.Limit {
		return true
	}
	w.lastFinished.Store(w.Finished())
	return n-w.lastFinished.Load() < w.Limit
}

// WaitCapacity waits until half of the window is free, or ctx is done: the submitting goroutine is
// woken once for many tasks.
func (w *Window) WaitCapacity(ctx context.Context) error {
	if w.Wait(w.Limit-1-w.Limit/2, ctx) != nil {
		return fmt.Errorf("task: submit: there is no room in the window of %d tasks: %w", w.Limit, context.Cause(ctx))
	}
	return nil
}

// Enter counts a task in, whether there is capacity or not, and returns its number, from 1.
func (w *Window) Enter() int64 {
	spin.Perturb()
	return w.Entered.Add(1)
}

// Reserve takes n numbers that follow each other for what is no task in flight, and returns the
// first. They count as finished at once.
func (w *Window) Reserve(n int64) (first int64) {
	w.reserving.Lock()
	w.reserved += n
	first = w.Entered.Add(n) - n + 1
	t := &w.tallies[0]
	finished := t.finished.Add(n)
	w.reserving.Unlock()
	if finished >= t.mark.Load() {
		w.wakeSatisfied()
	}
	return first
}

// Submitted returns the number of tasks so far, and of those in flight: never more than there were,
// a little less while some end.
func (w *Window) Submitted() (tasks, live int64) {
	w.reserving.Lock()
	defer w.reserving.Unlock()
	entered := w.Entered.Load() // before the finished ones, so that the rest is never too small
	return entered - w.reserved, max(0, entered-w.Finished())
}

// Full reports whether one more task in flight is one too many.
func (w *Window) Full() bool {
	n := w.Entered.Load()
	if n-w.lastFinished.Load() < w.Limit {
		return false
	}
	w.lastFinished.Store(w.Finished())
	return n-w.lastFinished.Load() >= w.Limit
}

// Leave counts a task out; worker is the one that the caller is, or smp.None.
func (w *Window) Leave(worker int) {
	t := &w.tallies[worker+1]
	n := int64(0)
	if worker < 0 {
		n = t.finished.Add(1)
	} else {
		n = t.finished.Load() + 1
		t.finished.Store(n) // only this worker writes it
	}
	spin.Perturb()
	if n >= t.mark.Load() && w.wakeSatisfied() && worker >= 0 {
		// The woken goroutine is first in the queue of this processor, which no other processor may
		// look at for a while: workers do not pause.
		runtime.Gosched()
	}
}

// RanOn is the number of tasks that worker has counted out. It is called by that worker.
func (w *Window) RanOn(worker int) int64 { return w.tallies[worker+1].finished.Load() }

// Finished is the number of finished tasks.
func (w *Window) Finished() int64 {
	sum := int64(0)
	for i := range w.tallies {
		sum += w.tallies[i].finished.Load()
	}
	return sum
}

// Ran is the number of tasks that were counted out by workers.
func (w *Window) Ran() int64 { return w.Finished() - w.tallies[0].finished.Load() }

// Live is the number of tasks in flight, or a little more while some end.
func (w *Window) Live() int64 {
	over := w.Finished() // before entered, so that it is never too small
	return w.Entered.Load() - over
}

// ObservedLive is the number of tasks in flight for observers: see Submitted.
func (w *Window) ObservedLive() int64 {
	_, live := w.Submitted()
	return live
}

// wakeSatisfied wakes waiters whose limit is met and re-arms the marks of the rest. It reports
// whether it woke one.
func (w *Window) wakeSatisfied() bool {
	w.idle.Lock()
	defer w.idle.Unlock()
	if !w.anySatisfied() {
		return false
	}
	w.changed.Broadcast()
	return true
}

// anySatisfied reports whether the limit of a waiter is met; if not, it sets the marks. Requires:
// idle held.
func (w *Window) anySatisfied() bool {
	if len(w.limits) == 0 {
		w.clearMarks()
		return false
	}
	limit := slices.Max(w.limits)
	for {
		// The marks count from the tallies that missing was computed from: tasks that end meanwhile
		// may not push them back.
		over := int64(0)
		for i := range w.tallies {
			t := &w.tallies[i]
			t.seen = t.finished.Load()
			over += t.seen
		}
		missing := w.Entered.Load() - over - limit
		if missing <= 0 {
			return true
		}
		share := (missing + int64(len(w.tallies)) - 1) / int64(len(w.tallies))
		for i := range w.tallies {
			t := &w.tallies[i]
			t.mark.Store(t.seen + share)
		}
		// One that has passed its mark meanwhile may not have seen it.
		if !w.markPassed() {
			return false
		}
	}
}

// Wake makes all waiters look at their contexts.
func (w *Window) Wake() {
	w.idle.Lock()
	defer w.idle.Unlock()
	w.changed.Broadcast()
}

func (w *Window) markPassed() bool {
	for i := range w.tallies {
		if t := &w.tallies[i]; t.finished.Load() >= t.mark.Load() {
			return true
		}
	}
	return false
}

// clearMarks removes the marks: there are no waiters.
func (w *Window) clearMarks() {
	for i := range w.tallies {
		w.tallies[i].mark.Store(noMark)
	}
}

// Wait waits until at most limit tasks are in flight, or ctx, if there is one, is done.
func (w *Window) Wait(limit int64, ctx context.Context) error {
	if ctx != nil && ctx != w.Ctx {
		defer context.AfterFunc(ctx, w.Wake)()
	}
	if w.Turns != nil && w.Live() > limit {
		w.Turns.Wait(func() bool { return w.Live() <= limit }, ctx)
	}
	w.idle.Lock()
	defer w.idle.Unlock()
	w.limits = append(w.limits, limit)
	var err error
	for w.Live() > limit {
		if ctx != nil && ctx.Err() != nil {
			err = fmt.Errorf("task: wait: %w", context.Cause(ctx))
			break
		}
		if w.anySatisfied() { // the others set the marks again
			w.changed.Broadcast()
		}
		if w.Live() > limit {
			w.changed.Wait()
		}
	}
	i := slices.Index(w.limits, limit)
	w.limits = slices.Delete(w.limits, i, i+1)
	if w.anySatisfied() { // else the marks for the others are set
		w.changed.Broadcast()
	}
	return err
}
