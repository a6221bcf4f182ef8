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

// This file verifies with checksums that the bodies of Go tasks, and kernels on CPU workers, access
// only the memory that they declare. Memory that a task declares as read must not change while its
// body runs, because no other task may write it. On a machine without accelerators, memory that the
// task does not declare, in any buffer, must not change either. For this check bodies run one at a
// time, as with one worker. A GoScope body releases the token when it waits: its undeclared writes
// are checked up to that point, and code that runs concurrently with it later is not checked.
// The program must not write buffers while tasks are in flight. An undeclared read leaves no trace
// in memory; to find it, run policy random with several seeds, which changes the order of tasks
// without dependences.

// A ViolationError reports that memory changed during a task that had not declared a write to it.
type ViolationError struct {
	Label  string
	Region deps.Region
	Mode   deps.Mode // the declared mode
	Index  int64     // the first changed element, as an index of its buffer
	Stray  bool      // the task does not declare the region
	// Touched is true if a page fault found a read or write of undeclared memory:
	// Options.CheckReads.
	Touched bool
	// Buffer describes the slice or variable that contains the region, as far as the runtime knows
	// it: length, element size and address.
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

// A guardedRegion is a region that must not change while a body runs, with a copy of its contents.
type guardedRegion struct {
	region     deps.Region
	mode       deps.Mode
	undeclared bool
	before     []byte // nil for a buffer that the task does not use
	b          *memory.Buffer
	sum        uint64
}

// An accessChecker is the shared state of all checked bodies.
type accessChecker struct {
	Token     chan struct{} // its holder is the only guarded body that runs
	unguarded atomic.Int64  // a sequence number and a count of the bodies that run without the token
}

// tokenTimeout is the time for which a body waits for the token. Without a limit, bodies that
// communicate through a channel would deadlock.
const tokenTimeout = 200 * time.Millisecond

// takeToken waits for the token, and reports whether it got it.
func (w *accessChecker) takeToken() bool {
	select {
	case w.Token <- struct{}{}:
		return true
	case <-time.After(tokenTimeout):
		return false
	}
}

// The low 32 bits of unguarded count the unguarded bodies that run. The high bits count their
// starts and ends, so that the value changes if one has run.
const (
	unguardedBegin = 1<<32 + 1
	unguardedEnd   = 1<<32 - 1
)

// quiet reports whether no unguarded body has run since unguarded had the value before.
func (w *accessChecker) quiet(before int64) bool {
	return before&(1<<32-1) == 0 && w.unguarded.Load() == before
}

// BeginUnguarded records that a goroutine without the token starts to access memory; EndUnguarded
// records the end.
func (c *checks) BeginUnguarded() {
	c.Checker.unguarded.Add(unguardedBegin)
	c.PageGuard.beginUnguarded()
}

func (c *checks) EndUnguarded() {
	c.Checker.unguarded.Add(unguardedEnd)
	c.PageGuard.endUnguarded()
}

// unchecked calls f, which writes memory of tasks on behalf of the runtime.
func (c *checks) unchecked(f func()) {
	if !c.Check {
		f()
		return
	}
	c.BeginUnguarded()
	defer c.EndUnguarded()
	f()
}

// PauseCheck is called before the body of s waits, and ResumeCheck afterwards: meanwhile the body
// accesses no memory. The first PauseCheck releases the token.
func PauseCheck(s *Scope) {
	if s.RT.Check && !s.Program() {
		if v := s.monitor.Swap(nil); v != nil {
			v.end()
		} else {
			s.RT.EndUnguarded()
		}
		s.Pauses.Add(1) // last, so that a task that waits for the pause does not overlap the body
	}
}

func ResumeCheck(s *Scope) {
	if s.RT.Check && !s.Program() {
		s.Pauses.Add(-1)
		s.RT.BeginUnguarded()
	}
}

// waitForParents waits until the bodies of all ancestors of r wait, as they would with one worker;
// otherwise they would run concurrently with r. The wait is limited because they may communicate
// through a channel.
func waitForParents(r *Record) {
	began := time.Now()
	for s := r.Scope; !s.Program(); s = s.Owner.Scope {
		for s.Pauses.Load() == 0 && time.Since(began) < tokenTimeout {
			time.Sleep(20 * time.Microsecond)
		}
	}
}

// checkSeed is the seed of the checksums. They are compared within this process only.
var checkSeed = maphash.MakeSeed()

// snapshotBody copies the memory that the body of r must not change; if undeclared is true, also
// the memory that it does not declare.
func (w CPU) snapshotBody(r *Record, undeclared bool) (list []guardedRegion) {
	rt := w.RT
	rests := map[deps.BufferID]*deps.Set{} // for each buffer of r, the part that r does not write
	accesses := toCheck(r)
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

// mayWrite reports whether the body of a task may write the memory of an access in mode m. A
// reduction writes a private copy; but with accelerators, the host may meanwhile receive the
// combined elements from a device.
func (top *Topology) mayWrite(m deps.Mode) bool {
	return m.Writes() && (m != deps.Reduction || top.Accelerators)
}

// toCheck returns the non-empty accesses of r.
func toCheck(r *Record) (list []deps.Access) {
	if r.isStep() { // a step has no accesses in its node
		list = append(list, r.Accesses...)
	} else {
		for i := range r.Node.Accesses() {
			list = append(list, r.Node.Access(i))
		}
	}
	return slices.DeleteFunc(list, func(a deps.Access) bool { return a.Region.Empty() })
}

// snapshotOthers appends the buffers that are not in uses.
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

// usesPartOf reports whether a buffer of uses has been merged into b.
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

// sumOf returns the checksum of b; ok is false if b has been freed meanwhile.
func sumOf(b *memory.Buffer) (sum uint64, ok bool) {
	defer debug.SetPanicOnFault(debug.SetPanicOnFault(true))
	defer func() { ok = recover() == nil && ok && !b.Gone.Load() }()
	at := (*byte)(b.Host.At())
	if at == nil {
		return 0, false
	}
	return maphash.Bytes(checkSeed, unsafe.Slice(at, b.Size())), true
}

// findViolation returns an error if the body of r has changed memory that it must not change, else
// nil. A change of undeclared memory counts only if alone returns true after the checksum: no other
// goroutine has accessed memory meanwhile.
func findViolation(t *memory.Table, r *Record, list []guardedRegion, alone func() bool) error {
	for i := range list {
		w := &list[i]
		table := t.Load()
		b := table.Get(w.region.Buffer)
		if b != w.b || w.undeclared && !alone() { // b was freed, and its ID may belong to another buffer; or other goroutines write to it
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

// elementAt returns the n-th element of region r, counted along its runs, as an index of the
// buffer.
func elementAt(r deps.Region, n int64) int64 {
	for lo, hi := range r.Runs() {
		if n < hi-lo {
			return lo + n
		}
		n -= hi - lo
	}
	return -1
}

// An accessMonitor holds the undeclared memory that the body with the token must not change.
type accessMonitor struct {
	rt         *Runtime
	r          *Record
	unguarded  int64 // the value of accessChecker.unguarded at the start
	undeclared []guardedRegion
	violation  error // the violation that end found
}

// takeUndeclared moves the undeclared regions of list to v.
func (v *accessMonitor) takeUndeclared(list []guardedRegion) []guardedRegion {
	for _, w := range list {
		if w.undeclared {
			v.undeclared = append(v.undeclared, w)
		}
	}
	return slices.DeleteFunc(list, func(w guardedRegion) bool { return w.undeclared })
}

// end sets v.violation if the body has changed undeclared memory so far, and releases the token.
func (v *accessMonitor) end() {
	w := &v.rt.Checker
	v.violation = findViolation(&v.rt.Buffers, v.r, v.undeclared, func() bool { return w.quiet(v.unguarded) })
	v.undeclared = nil
	<-w.Token
}

// beginMonitor returns an access monitor if the body of r gets the token. It returns nil if it does
// not: the body then runs unguarded.
func (w CPU) beginMonitor(r *Record) *accessMonitor {
	rt := w.RT
	waitForParents(r)
	if !rt.Checker.takeToken() {
		return nil
	}
	return &accessMonitor{rt: rt, r: r, unguarded: rt.Checker.unguarded.Load()}
}

// checkBody runs the body of r and checks the memory that has changed meanwhile.
func (w CPU) checkBody(r *Record) {
	rt := w.RT
	v := w.beginMonitor(r)
	s, judged := rt.attachMonitor(r, v), false
	defer func() { // deferred, because the body may end the goroutine
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
		closePages(rt, r)
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
		r.outcome = nil // a trial that has damaged memory of others counts as finished: its writes are not undone
	}
}

// attachMonitor returns the scope that holds the monitor of the body of r: a wait on this scope
// ends the monitor. Without a monitor the body runs unguarded.
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
