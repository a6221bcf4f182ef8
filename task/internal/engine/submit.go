package engine

import (
	"context"
	"fmt"

	"github.com/gompss/gompss/deps"
	"github.com/gompss/gompss/devices/smp"
	"github.com/gompss/gompss/internal/goid"
	"github.com/gompss/gompss/internal/spin"
	"github.com/gompss/gompss/task/internal/kernels"
	"github.com/gompss/gompss/task/internal/life"
	"github.com/gompss/gompss/task/internal/state"
)

// OpenUnlocked starts the submission of a kernel task of the program without the submission lock.
// AbortUnlocked or CommitUnlocked ends it.
func (s *Scope) OpenUnlocked(k *kernels.Kernel, g *Group) (*Record, error) {
	rt := s.RT
	rt.Callers.Enter()
	err := rt.ClosedError(g)
	if err != nil {
		rt.Callers.Leave()
		return nil, err
	}
	r := rt.RecordShards.take(s)
	r.Kind = KernelBody
	r.Traits.Set(life.Simple, false)
	r.Kernel, r.Pos, r.Label = k, k.Pos, k.IR.Task.Label
	if g != nil {
		r.Group = g
		if g.Scope == s {
			r.member = g
		}
	}
	return r, nil
}

func (s *Scope) AbortUnlocked(r *Record, err error) (Task, error) {
	r.clear()
	s.RT.RecordShards.put(r)
	s.RT.Callers.Leave()
	return Task{}, err
}

// CommitUnlocked is Commit for a record of OpenUnlocked.
func (s *Scope) CommitUnlocked(r *Record) (t Task, err error) {
	rt := s.RT
	unobserved := rt.EagerQueues != nil && !rt.Observers.HasObserver && !r.Traits.Is(life.Undeferred) && !s.Memory.Grew()
	if unobserved {
		s.Graph.Domain.Prepare(r.graphNode(), r.Accesses)
	}
	if err := s.LockSubmission(rt.ContextOf(r.Group)); err != nil {
		return s.AbortUnlocked(r, err)
	}
	s.submitters.Observe(goid.Of(), &rt.Contention)
	if unobserved && len(s.Reductions) == 0 && !s.Memory.Grew() {
		t = s.commitUnobserved(r)
	} else {
		t = s.Commit(r)
	}
	rt.Callers.Leave()
	return t, nil
}

// commitUnobserved is Commit for a prepared task of the program that is neither observed nor waited
// for, while no reduction is open. The critical section contains only the steps that determine the
// order and the edges. Cache lines that another processor wrote are fetched outside it, which takes
// longer than the rest.
func (s *Scope) commitUnobserved(r *Record) Task {
	rt, domain := s.RT, s.Graph.Domain // r may have finished, and be another task, after commitEdges
	id := deps.TaskID(rt.Window.Enter())
	s.count(r)
	if e := s.Graph.poisonOf(r.Accesses); e != nil {
		r.poison.Store(e)
	}
	r.Node.ID = id
	edges := domain.Place(&r.Node, r.Accesses)
	s.Submitting.Unlock()
	spin.Perturb()
	r.Life.Submit(id) // before commitEdges, r is not ready, and other goroutines know only its node
	var ready RecordList
	late, start := rt.commitEdges(r, domain, edges)
	if late {
		if late = !r.Life.Release(); !late {
			ready.Push(r)
		}
	}
	if start {
		rt.StartOn(r)
	}
	if late {
		rt.predecessorsDone(r, nil)
	}
	StartAll(rt, &ready)
	return Task{rt, r, id}
}

// Begin allocates a record and takes the submission lock. Abort or Commit releases the lock.
func (s *Scope) Begin(g *Group, kind BodyKind) (*Record, error) {
	rt := s.RT
	if s.Program() && rt.Refuses() {
		return nil, ErrClosed
	}
	var ctx context.Context
	if kind != WaitBody {
		ctx = rt.ContextOf(g)
	}
	if ctx != nil && ctx.Err() != nil {
		if s.Program() {
			return nil, rt.ClosedError(g)
		}
		return nil, fmt.Errorf("task: submit: %w", context.Cause(ctx))
	}
	if s.Program() && kind != WaitBody {
		rt.Virtual.Spend()
	}
	if err := s.LockSubmission(ctx); err != nil {
		return nil, err
	}
	r := TakeRecord(s)
	if kind != GoBody {
		r.Kind = kind
		r.Traits.Set(life.Simple, false)
	}
	r.Need()
	if g != nil {
		r.Group = g
		if g.Scope == s {
			r.member = g
		}
	}
	return r, nil
}

// ClosedError returns the reason why no task of the program may be submitted, in group g if that is
// not nil; else nil.
func (l *lifecycle) ClosedError(g *Group) error {
	if l.Refuses() {
		return ErrClosed
	}
	ctx := l.ContextOf(g)
	if ctx.Err() == nil {
		return nil
	}
	if l.Refuses() { // checked again, because Close ends the context
		return ErrClosed
	}
	return fmt.Errorf("task: submit: %w", context.Cause(ctx))
}

func (s *Scope) Abort(r *Record, err error) (Task, error) {
	r.clear()
	PutRecord(s, r, smp.None)
	s.Submitting.Unlock()
	return Task{}, err
}

// Commit makes r a task: it gets its number and its predecessors, and starts if it has none.
func (s *Scope) Commit(r *Record) Task {
	var ready RecordList
	if !r.isStep() && r.Replay == nil && s.Memory.Grew() {
		s.CatchUp(r, &ready)
	}
	if !r.isStep() { // a step was described when it was recorded
		s.CloseReductions(r, &ready)
		s.joinReductions(r)
	}
	waits := r.Traits.Is(life.Undeferred) || !s.Program() && s.final
	var enough <-chan struct{}
	if !waits && !s.Program() && s.RT.Window.Full() { // it then waits for capacity, and the program does not use the handle
		waits, enough = true, r.Context().Done()
	}
	if waits && !r.Traits.Is(life.Undeferred) && s.WrongScope() != nil { // and it has not checked whether it would wait for itself
		waits, enough = false, nil
	}
	id, late, eager := s.enterGraph(r, &ready)
	if eager {
		s.RT.StartOn(r)
	}
	if late {
		s.RT.predecessorsDone(r, nil)
	}
	t := Task{s.RT, r, id}
	if !waits {
		StartAll(s.RT, &ready)
		return t
	}
	mine := ready.takeLast(r)
	StartAll(s.RT, &ready) // the children of r may depend on these tasks through its weak accesses
	if mine && !s.runInline(r) {
		ready.Push(r)
		StartAll(s.RT, &ready)
	}
	s.AwaitTask(t, enough) // the submitting goroutine takes the error
	return t
}

// enterGraph enters r into the graph and releases the submission lock. late is as in commitLocked.
// eager is true if r is to be launched eagerly. Without an observer, the part that concerns only r
// runs without the lock, so that the next submission need not wait.
func (s *Scope) enterGraph(r *Record, ready *RecordList) (id deps.TaskID, late, eager bool) {
	rt := s.RT
	if rt.EagerQueues == nil || rt.Observers.Recorder != nil || r.Kind != KernelBody || r.isStep() {
		id, late, eager = s.commitLocked(r, ready)
		s.Submitting.Unlock()
		return id, late, eager
	}
	id = s.number(r)
	edges := rt.graphEnter(r)
	domain := s.Graph.Domain
	s.Submitting.Unlock()
	spin.Perturb()
	if late, eager = rt.commitEdges(r, domain, edges); late { // otherwise r may have finished, and be another task
		if late = !r.Life.Release(); !late {
			ready.Push(r)
		}
	}
	return id, late, eager
}

// takeLast removes r from the list if it is the last element.
func (l *RecordList) takeLast(r *Record) bool {
	if l.tail != r {
		return false
	}
	var rest RecordList
	for o := l.pop(); o != nil; o = l.pop() {
		if o != r {
			rest.Push(o)
		}
	}
	*l = rest
	return true
}

// runInline runs r, a child without predecessors that has just been submitted, on the goroutine of
// the submitting body, and reports whether it did so. It does not run tasks that need tokens or an
// accelerator, or that another goroutine has submitted.
func (s *Scope) runInline(r *Record) bool {
	rt := s.RT
	if s.Program() || !s.HoldsNoTokens() || r.Traits.Is(life.Relaxed) || len(r.Settings.Tokens) > 0 || rt.Topology.Host < 0 || r.Kind != GoBody && (r.Kind != KernelBody || rt.EagerQueues != nil) ||
		!r.Traits.Is(life.Simple) && !r.Item.Allowed.Has(rt.Topology.Host) || r.poison.Load() != nil || r.Context().Err() != nil || !s.Lending.TryLock() {
		return false
	}
	defer s.Lending.Unlock()
	if s.Worker == smp.None {
		return false
	}
	if rt.EagerQueues == nil && !r.Traits.Is(life.Simple) {
		r.Life.Enter(state.Release)
	}
	if rt.Observers.Watched() {
		rt.Observers.observeReady(r, nil)
		rt.observeChoice(r)
	}
	if !r.Traits.Is(life.Simple) {
		rt.Ready.Mu.Lock()
		r.Life.Enter(state.Place)
		rt.Ready.Sched.Resume(&r.Item, rt.Topology.Host)
		rt.Ready.Counts.Grant(rt.Topology.Host)
		rt.Ready.Unlock()
	}
	PauseCheck(s)
	s.RunOnStack(r, false)
	ResumeCheck(s)
	return true
}

// commitLocked is the part of Commit that needs the lock. It appends r to ready if it has no
// predecessors. late is true if these had finished after r had already been granted to a place.
// start is as in commitEdges.
// Requires: submitting held.
func (s *Scope) commitLocked(r *Record, ready *RecordList) (id deps.TaskID, late, start bool) {
	rt := s.RT
	id = s.number(r)
	if late, start = rt.graphAdd(r); late {
		if late = rt.EagerQueues != nil && !r.Life.Release(); !late {
			ready.Push(r)
		}
	}
	return id, late, start
}

// number counts r as submitted and assigns its number.
// Requires: submitting held.
func (s *Scope) number(r *Record) deps.TaskID {
	rt := s.RT
	rt.PageGuard.use(r)
	id := deps.TaskID(rt.Window.Enter())
	r.Life.Submit(id)
	if r.Kind.Waits() {
		rt.Waits.Add(1)
		s.noteWait(Task{rt, r, id})
	}
	s.count(r)
	if rt.Observers.Watched() {
		rt.Observers.observeSubmit(r, id)
	}
	return id
}

// StartAll starts submitted tasks without predecessors.
func StartAll(rt *Runtime, ready *RecordList) {
	spin.Perturb()
	var ended, list RecordList
	for r := ready.pop(); r != nil; r = ready.pop() {
		rt.makeReady(r, nil, &ended, &list)
	}
	for r := ended.pop(); r != nil; r = ended.pop() {
		rt.RetireUnscheduled(r)
	}
	if list.head != nil {
		rt.Schedule(nil, &list, smp.None)
	}
}

// count counts r in its scope and groups.
func (s *Scope) count(r *Record) {
	if r.member.enter(); r.member != nil && s.RT.Topology.Accelerators {
		r.member.noteWrites(r.Data())
		r.member.noteWrites(r.Accesses[len(r.Accesses)-r.weak:]) // by its children
	}
	if !s.Program() {
		s.Pending.Add(1)
		s.Submitted.Store(true)
		if len(r.Accesses) > 0 {
			s.releaseSet()
		}
	}
}

// ID returns the number of the task whose children are submitted here, 0 for the program.
func (s *Scope) ID() deps.TaskID {
	if s.Program() {
		return 0
	}
	return s.Owner.TaskID()
}
