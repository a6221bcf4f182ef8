package engine

import (
	"fmt"
	"hash/maphash"
	"runtime/debug"
	"slices"
	"sync/atomic"
	"time"
	"unsafe"

	"github.com/gompss/gompss/deps"
	"github.com/gompss/gompss/task/internal/memory"
)

// This file verifies that the bodies of Go tasks, and kernels on CPU workers, touch only what they
// declare, as far as sums over memory can tell. What a task declares as read must be the same after
// its body as before: no other task may write it meanwhile. On a machine without accelerators what
// it has not declared, of any buffer, must be the same too. For that bodies run one at a time, as
// they would with one worker; one of a GoScope gives way when it waits, is judged by what it has
// not declared until then, and what runs beside it later is not.
// The program must not write buffers while tasks are in flight. What is read without having been
// declared leaves no trace in memory: the policy random, with several seeds, runs what nothing
// orders in other orders.

// A ViolationError means that memory changed under a task which did not say that it would.
type ViolationError struct {
	Label  string
	Region deps.Region
	Mode   deps.Mode // as declared
	Index  int64     // of the first element that changed, in its buffer
	Stray  bool      // the region is not in its accesses
	// Touched says that it was read or written, which its pages have told of: Options.CheckReads.
	Touched bool
	// Buffer says which slice or variable the region is of, as far as the runtime knows: its
	// length, the size of its elements and its address.
	Buffer string
}

func (e *ViolationError) Error() string {
	if e.Buffer == "" {
		return e.what()
	}
	return fmt.Sprintf("%s; b%d is %s", e.what(), e.Region.Buffer, e.Buffer)
}

func (e *ViolationError) what() string {
	switch {
	case e.Touched:
		return fmt.Sprintf("check: element %d of %v was read or written by %s, which has not declared it", e.Index, e.Region, e.Label)
	case e.Stray && e.Index < 0:
		return fmt.Sprintf("check: %v changed while %s ran, which has declared nothing there", e.Region, e.Label)
	case e.Stray:
		return fmt.Sprintf("check: element %d of %v changed while %s ran, which has not declared it", e.Index, e.Region, e.Label)
	}
	if e.Mode == deps.Reduction {
		return fmt.Sprintf("check: element %d of %v changed while %s ran, which reduces into it: what it adds goes into its private copy (Private)",
			e.Index, e.Region, e.Label)
	}
	return fmt.Sprintf("check: element %d of %v changed while %s ran, which has declared it as %s: it wrote it, or another task did that has not declared it",
		e.Index, e.Region, e.Label, e.Mode)
}

// A guardedRegion is a region that must not change under a body, with a copy of what it held.
type guardedRegion struct {
	region     deps.Region
	mode       deps.Mode
	undeclared bool
	before     []byte // nil for a buffer that the task does not use
	b          *memory.Buffer
	sum        uint64
}

// An accessChecker is what bodies that are checked have in common.
type accessChecker struct {
	Token     chan struct{} // its holder is the only body that runs alone
	unguarded atomic.Int64  // bodies that run without having it, each twice
}

// tokenTimeout is the time that a body waits for its turn: one that talks to another, by a channel,
// would wait for ever.
const tokenTimeout = 200 * time.Millisecond

// takeToken waits for the turn of a body, and reports whether it came.
func (w *accessChecker) takeToken() bool {
	select {
	case w.Token <- struct{}{}:
		return true
	case <-time.After(tokenTimeout):
		return false
	}
}

// Bodies without the turn are counted when they begin and when they end, by odd and even: state
// changes when one of them was there.
const (
	unguardedBegin = 1<<32 + 1
	unguardedEnd   = 1<<32 - 1
)

// quiet reports whether no body without the turn has run since loose was what it is in before.
func (w *accessChecker) quiet(before int64) bool {
	return before&(1<<32-1) == 0 && w.unguarded.Load() == before
}

// BeginUnguarded records that a goroutine without the token begins to access memory; endUnguarded
// records the end.
func (c *checks) BeginUnguarded() {
	c.Checker.unguarded.Add(unguardedBegin)
	c.PageGuard.beginUnguarded()
}

func (c *checks) EndUnguarded() {
	c.Checker.unguarded.Add(unguardedEnd)
	c.PageGuard.endUnguarded()
}

// unchecked calls f, which writes what tasks work on.
func (c *checks) unchecked(f func()) {
	if !c.Check {
		f()
		return
	}
	c.BeginUnguarded()
	defer c.EndUnguarded()
	f()
}

// PauseCheck is called before the body of s waits, resumes afterwards: it touches nothing
// meanwhile. The first time it gives its turn back.
func (s *Scope) PauseCheck() {
	if s.RT.Check && !s.Program() {
		if v := s.monitor.Swap(nil); v != nil {
			v.end()
		} else {
			s.RT.EndUnguarded()
		}
		s.Pauses.Add(1) // last: a waiter for it does not overlap the body
	}
}

func (s *Scope) ResumeCheck() {
	if s.RT.Check && !s.Program() {
		s.Pauses.Add(-1)
		s.RT.BeginUnguarded()
	}
}

// waitForParents waits until the bodies whose child r is wait too, as with one worker they would:
// else r is beside them. Not for ever, as they may talk to it by a channel.
func waitForParents(r *Record) {
	began := time.Now()
	for s := r.Scope; !s.Program(); s = s.Owner.Scope {
		for s.Pauses.Load() == 0 && time.Since(began) < tokenTimeout {
			time.Sleep(20 * time.Microsecond)
		}
	}
}

// checkSeed is the seed of the sums: any will do, for the process that makes them.
var checkSeed = maphash.MakeSeed()

// snapshotBody copies what the body of r must leave as it is; with strays also what it has not
// declared.
func (w CPU) snapshotBody(r *Record, undeclared bool) (list []guardedRegion) {
	rt := w.RT
	rests := map[deps.BufferID]*deps.Set{} // of the buffers of r, what it does not write
	accesses := r.toCheck()
	for _, a := range accesses {
		if rests[a.Region.Buffer] == nil {
			rests[a.Region.Buffer] = &deps.Set{}
			rests[a.Region.Buffer].Add(rt.Buffers.ByID(a.Region.Buffer).Whole())
		}
	}
	for _, a := range accesses {
		if rt.Topology.mayWrite(a.Mode) {
			rests[a.Region.Buffer].Remove(a.Region)
		}
	}
	for _, a := range accesses {
		if rt.Topology.mayWrite(a.Mode) {
			continue
		}
		rest := rests[a.Region.Buffer]
		for _, p := range rest.Intersect(a.Region, nil) {
			list = append(list, guardedRegion{region: p, mode: a.Mode})
		}
		rest.Remove(a.Region)
	}
	for id := range rests {
		for _, p := range rests[id].Regions() {
			if undeclared {
				list = append(list, guardedRegion{region: p, undeclared: true})
			}
		}
	}
	for i := range list {
		list[i].b = rt.Buffers.ByID(list[i].region.Buffer)
		list[i].before = copyOut(list[i].b, list[i].region)
		list[i].sum = maphash.Bytes(checkSeed, list[i].before)
	}
	if undeclared {
		list = snapshotOthers(&rt.Buffers, rests, list)
	}
	return list
}

// mayWrite reports whether the body of a task may write what it accesses in a mode. What it reduces
// into is its private copy; beside accelerators the host may get the elements themselves from one
// of them meanwhile.
func (top *Topology) mayWrite(m deps.Mode) bool {
	return m.Writes() && (m != deps.Reduction || top.Accelerators)
}

// toCheck returns the accesses of r that are not empty.
func (r *Record) toCheck() (list []deps.Access) {
	if r.isStep() { // its node has none
		list = append(list, r.Accesses...)
	} else {
		for i := range r.Node.Accesses() {
			list = append(list, r.Node.Access(i))
		}
	}
	return slices.DeleteFunc(list, func(a deps.Access) bool { return a.Region.Empty() })
}

// snapshotOthers adds the buffers that are not in uses.
func snapshotOthers(t *memory.Table, uses map[deps.BufferID]*deps.Set, list []guardedRegion) []guardedRegion {
	for s := range t.Load().Tree.All() {
		b := s.Value
		if uses[b.ID] != nil || b.Copied || usesPartOf(t, b, uses) {
			continue
		}
		if sum, ok := sumOf(b); ok {
			list = append(list, guardedRegion{region: b.Whole(), undeclared: true, sum: sum, b: b})
		}
	}
	return list
}

// usesPartOf reports whether one of uses has become a part of b.
func usesPartOf(t *memory.Table, b *memory.Buffer, uses map[deps.BufferID]*deps.Set) bool {
	if b.Parts.Load() == nil {
		return false
	}
	for id := range uses {
		if p := t.OfID(id); p != nil && p.Inside(b) {
			return true
		}
	}
	return false
}

// sumOf returns the checksum of b; false if b was freed meanwhile.
func sumOf(b *memory.Buffer) (sum uint64, ok bool) {
	defer debug.SetPanicOnFault(debug.SetPanicOnFault(true))
	defer func() { ok = recover() == nil && ok && !b.Gone.Load() }()
	at := (*byte)(b.Host.At())
	if at == nil {
		return 0, false
	}
	return maphash.Bytes(checkSeed, unsafe.Slice(at, b.Size())), true
}

// findViolation returns what the body of r has changed of what it must leave as it is, nil for
// nothing. What it has not declared counts only if alone reports, after the checksum, that no other
// goroutine accessed memory meanwhile.
func findViolation(t *memory.Table, r *Record, list []guardedRegion, alone func() bool) error {
	for i := range list {
		w := &list[i]
		table := t.Load()
		b := table.Get(w.region.Buffer)
		if b != w.b || w.undeclared && !alone() { // it was freed, and the number may be another one's; or others write there
			continue
		}
		e := &ViolationError{Label: r.Title(), Region: w.region, Mode: w.mode, Stray: w.undeclared, Index: -1, Buffer: b.String()}
		if w.before == nil {
			if sum, ok := sumOf(b); ok && sum != w.sum && alone() {
				return e
			}
			continue
		}
		after := copyOut(b, w.region)
		if maphash.Bytes(checkSeed, after) == w.sum || w.undeclared && !alone() {
			continue
		}
		at := 0
		for at < len(after) && after[at] == w.before[at] {
			at++
		}
		e.Index = elementAt(w.region, int64(at)/int64(b.Elem))
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

// An accessMonitor is what a body whose turn it is must leave as it is although it has not declared
// it.
type accessMonitor struct {
	rt         *Runtime
	r          *Record
	unguarded  int64 // accessChecker.unguarded when it began
	undeclared []guardedRegion
	violation  error // it, once the turn has finished
}

// takeUndeclared takes what has not been declared out of list.
func (v *accessMonitor) takeUndeclared(list []guardedRegion) []guardedRegion {
	for _, w := range list {
		if w.undeclared {
			v.undeclared = append(v.undeclared, w)
		}
	}
	return slices.DeleteFunc(list, func(w guardedRegion) bool { return w.undeclared })
}

// end gives the turn back, and says in against what the body has done until now.
func (v *accessMonitor) end() {
	w := &v.rt.Checker
	v.violation = findViolation(&v.rt.Buffers, v.r, v.undeclared, func() bool { return w.quiet(v.unguarded) })
	v.undeclared = nil
	<-w.Token
}

// beginMonitor begins an access monitor if it is the turn of the body of r, else the body is loose:
// nil.
func (w CPU) beginMonitor(r *Record) *accessMonitor {
	rt := w.RT
	waitForParents(r)
	if !rt.Checker.takeToken() {
		return nil
	}
	return &accessMonitor{rt: rt, r: r, unguarded: rt.Checker.unguarded.Load()}
}

// checkBody is runBody with a look at what has changed under the body.
func (w CPU) checkBody(r *Record) {
	rt := w.RT
	v := w.beginMonitor(r)
	s, judged := rt.attachMonitor(r, v), false
	defer func() { // also when the body ends the goroutine
		switch {
		case judged:
		case s.monitor.Swap(nil) != nil:
			<-rt.Checker.Token
		default:
			rt.EndUnguarded()
		}
	}()
	list := w.snapshotBody(r, v != nil && !rt.Topology.Accelerators)
	if v != nil {
		list = v.takeUndeclared(list)
	}
	if v != nil && rt.PageGuard.On && r.Nested == nil {
		defer debug.SetPanicOnFault(debug.SetPanicOnFault(true))
		rt.closePages(r)
	}
	w.runBody(r)
	err := findViolation(&rt.Buffers, r, list, nil)
	if err == nil && v != nil {
		if s.monitor.Swap(nil) != nil {
			judged = true
			v.end()
		}
		err = v.violation
	}
	if err != nil && r.err == nil {
		r.Fail("smp", err)
		r.outcome = nil // a trial that has damaged what others use has finished: what it wrote there is not put back
	}
}

// attachMonitor returns where the monitor of the body of r is kept: in its scope, whose waits end
// it. Without one the body is loose.
func (c *checks) attachMonitor(r *Record, v *accessMonitor) *Scope {
	s := &Scope{}
	if r.Nested != nil {
		r.Inner = NewScope(r)
		s = r.Inner
	}
	if v == nil {
		c.BeginUnguarded()
	} else {
		s.monitor.Store(v)
	}
	return s
}
