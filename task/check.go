package task

import (
	"fmt"
	"hash/maphash"
	"runtime/debug"
	"slices"
	"sync/atomic"
	"time"
	"unsafe"

	"github.com/gompss/gompss/deps"
)

// CheckVariable is the environment variable that Options.Check is taken from: any value but "" and "0" turns it on, and "reads" also
// Options.CheckReads.
const CheckVariable = "GOMPSS_CHECK"

// This file verifies that the bodies of Go tasks, and kernels on CPU workers, touch only what they declare, as far as sums over memory can
// tell. What a task declares as read must be the same after its body as before: no other task may write it meanwhile. On a machine
// without accelerators what it has not declared, of any buffer, must be the same too. For that bodies run one at a time, as they would with
// one worker; one of a GoScope gives way while it waits, and what runs beside it otherwise is not judged by what it has not declared.
// The program must not write buffers while tasks are in flight. What is read without having been declared leaves no trace in memory: the
// policy random, with several seeds, runs what nothing orders in other orders.

// A ViolationError says that memory changed under a task which did not say that it would.
type ViolationError struct {
	Label  string
	Region deps.Region
	Mode   deps.Mode // as declared
	Index  int64     // of the first element that changed, in its buffer
	Stray  bool      // the region is not in its accesses
	// Touched says that it was read or written, which its pages have told of: Options.CheckReads.
	Touched bool
}

func (e *ViolationError) Error() string {
	switch {
	case e.Touched:
		return fmt.Sprintf("check: element %d of %v was read or written by %s, which has not declared it", e.Index, e.Region, e.Label)
	case e.Stray && e.Index < 0:
		return fmt.Sprintf("check: %v changed while %s ran, which has declared nothing there", e.Region, e.Label)
	case e.Stray:
		return fmt.Sprintf("check: element %d of %v changed while %s ran, which has not declared it", e.Index, e.Region, e.Label)
	}
	return fmt.Sprintf("check: element %d of %v changed while %s ran, which has declared it as %s: it wrote it, or another task did that has not declared it",
		e.Index, e.Region, e.Label, e.Mode)
}

// A watched is a region that must not change under a body, with a copy of what it held.
type watched struct {
	region deps.Region
	mode   deps.Mode
	stray  bool
	before []byte // nil for a buffer that the task does not use
	b      *buffer
	sum    uint64
}

// A watch is what bodies that are checked have in common.
type watch struct {
	turn  chan struct{} // who has it is the only body without a Scope
	loose atomic.Int64  // bodies that run without having it, each twice
}

// patience is how long a body waits for its turn: one that talks to another, by a channel, would wait for ever.
const patience = 200 * time.Millisecond

// enter waits for the turn of a body, and reports whether it came.
func (w *watch) enter() bool {
	select {
	case w.turn <- struct{}{}:
		return true
	case <-time.After(patience):
		return false
	}
}

// Bodies without the turn are counted when they begin and when they end, by odd and even: state changes when one of them was there.
const (
	looseBegins = 1<<32 + 1
	looseEnds   = 1<<32 - 1
)

// quiet reports whether no body without the turn has run since loose was what it is in before.
func (w *watch) quiet(before int64) bool { return before&(1<<32-1) == 0 && w.loose.Load() == before }

// beside says that somebody begins to touch memory without having the turn, besideOver that he ends.
func (rt *Runtime) beside() {
	rt.checks.loose.Add(looseBegins)
	rt.fence.beside()
}

func (rt *Runtime) besideOver() {
	rt.checks.loose.Add(looseEnds)
	rt.fence.besideOver()
}

// unchecked calls f, which writes what tasks work on.
func (rt *Runtime) unchecked(f func()) {
	if !rt.check {
		f()
		return
	}
	rt.beside()
	defer rt.besideOver()
	f()
}

// rests is called before the body of s waits, resumes afterwards: it touches nothing meanwhile.
func (s *Scope) rests() {
	if s.rt.check && !s.program() {
		s.rt.besideOver()
		s.resting.Add(1) // last: who waits for it is not beside the body
	}
}

func (s *Scope) resumes() {
	if s.rt.check && !s.program() {
		s.resting.Add(-1)
		s.rt.beside()
	}
}

// giveWay waits until the bodies whose child r is wait too, as with one worker they would: else r is beside them. Not for ever, as they may
// talk to it by a channel.
func (rt *Runtime) giveWay(r *record) {
	began := time.Now()
	for s := r.home; !s.program(); s = s.owner.home {
		for s.resting.Load() == 0 && time.Since(began) < patience {
			time.Sleep(20 * time.Microsecond)
		}
	}
}

// checkSeed is the seed of the sums: any will do, for the process that makes them.
var checkSeed = maphash.MakeSeed()

// watchBody copies what the body of r must leave as it is; with strays also what it has not declared.
func (rt *Runtime) watchBody(r *record, strays bool) (list []watched) {
	rests := map[deps.BufferID]*deps.Set{} // of the buffers of r, what it does not write
	accesses := r.toCheck()
	for _, a := range accesses {
		if rests[a.Region.Buffer] == nil {
			rests[a.Region.Buffer] = &deps.Set{}
			rests[a.Region.Buffer].Add(rt.buffers.byID(a.Region.Buffer).whole())
		}
	}
	for _, a := range accesses {
		if a.Mode.Writes() {
			rests[a.Region.Buffer].Remove(a.Region)
		}
	}
	for _, a := range accesses {
		if a.Mode.Writes() {
			continue
		}
		rest := rests[a.Region.Buffer]
		for _, p := range rest.Intersect(a.Region, nil) {
			list = append(list, watched{region: p, mode: a.Mode})
		}
		rest.Remove(a.Region)
	}
	for id := range rests {
		for _, p := range rests[id].Regions() {
			if strays {
				list = append(list, watched{region: p, stray: true})
			}
		}
	}
	for i := range list {
		list[i].b = rt.buffers.byID(list[i].region.Buffer)
		list[i].before = copyOut(list[i].b, list[i].region)
		list[i].sum = maphash.Bytes(checkSeed, list[i].before)
	}
	if strays {
		list = rt.watchOthers(rests, list)
	}
	return list
}

// toCheck returns the accesses of r that are not empty.
func (r *record) toCheck() (list []deps.Access) {
	if r.isStep() { // its node has none
		list = append(list, r.accesses...)
	} else {
		for i := range r.node.Accesses() {
			list = append(list, r.node.Access(i))
		}
	}
	return slices.DeleteFunc(list, func(a deps.Access) bool { return a.Region.Empty() })
}

// watchOthers adds the buffers that are not in uses.
func (rt *Runtime) watchOthers(uses map[deps.BufferID]*deps.Set, list []watched) []watched {
	for _, b := range rt.buffers.list() {
		if uses[b.id] != nil || b.copied {
			continue
		}
		if sum, ok := b.sum(); ok {
			list = append(list, watched{region: b.whole(), stray: true, sum: sum, b: b})
		}
	}
	return list
}

// sum returns the sum over all of b, which nobody keeps from being freed meanwhile: then it is false.
func (b *buffer) sum() (sum uint64, ok bool) {
	defer debug.SetPanicOnFault(debug.SetPanicOnFault(true))
	defer func() { ok = recover() == nil && !b.gone.Load() }()
	return maphash.Bytes(checkSeed, unsafe.Slice((*byte)(b.base), b.size())), true
}

// violated returns what the body of r has changed of what it must leave as it is, nil for nothing. What it has not declared counts only if
// alone says, after a look at it, that nobody else was there.
func (rt *Runtime) violated(r *record, list []watched, alone func() bool) error {
	for i := range list {
		w := &list[i]
		b := rt.buffers.load().byID[w.region.Buffer]
		if b != w.b || w.stray && !alone() { // it was freed, and the number may be another one's; or others write there
			continue
		}
		e := &ViolationError{Label: r.name(), Region: w.region, Mode: w.mode, Stray: w.stray, Index: -1}
		if w.before == nil {
			if sum, ok := b.sum(); ok && sum != w.sum && alone() {
				return e
			}
			continue
		}
		after := copyOut(b, w.region)
		if maphash.Bytes(checkSeed, after) == w.sum || w.stray && !alone() {
			continue
		}
		at := 0
		for at < len(after) && after[at] == w.before[at] {
			at++
		}
		e.Index = elementAt(w.region, int64(at)/int64(b.elem))
		return e
	}
	return nil
}

// elementAt returns element n of a region, counted along its runs, as an element of the buffer.
func elementAt(r deps.Region, n int64) int64 {
	for lo, hi := range r.Runs() {
		if n < hi-lo {
			return lo + n
		}
		n -= hi - lo
	}
	return -1
}

// checkBody is runBody with a look at what has changed under the body.
func (rt *Runtime) checkBody(r *record) {
	w := &rt.checks
	if r.nested == nil {
		rt.giveWay(r)
	}
	turn := r.nested == nil && w.enter()
	if turn {
		defer func() { <-w.turn }() // also when the body ends the goroutine
	} else {
		rt.beside()
		defer rt.besideOver()
	}
	loose := w.loose.Load()
	list := rt.watchBody(r, turn && !rt.accelerators)
	if turn && rt.fence.on {
		defer debug.SetPanicOnFault(debug.SetPanicOnFault(true))
		rt.raise(r)
	}
	rt.runBody(r)
	if err := rt.violated(r, list, func() bool { return turn && w.quiet(loose) }); err != nil && r.err == nil {
		r.fail("smp", err)
		r.stopped = false // a trial that has damaged what others use is over: what it wrote there is not put back
	}
}
