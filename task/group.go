package task

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"

	"github.com/gompss/gompss/deps"
	"github.com/gompss/gompss/devices/smp"
	"github.com/gompss/gompss/task/internal/engine"
	"github.com/gompss/gompss/task/internal/life"
	"github.com/gompss/gompss/task/internal/memory"
)

// A Group is a set of tasks that are waited for and cancelled together. It does not order tasks:
// the tasks of a group have the same predecessors as without it. Cancelling a group also cancels
// the children of its tasks.
type Group struct{ core engine.Group }

// NewGroup returns a group of tasks that are submitted to at: a Runtime, the Scope of a task, or
// another Group. The other group then also waits for these tasks and cancels them when it is
// cancelled. The caller must call Wait at the end. NewGroup panics if at is nil or a zero value.
//
// A group of a Recorder is part of the iteration. While the iteration is recorded, its Wait orders
// all tasks that are recorded later after the tasks of the group. Cancel cancels these tasks in the
// current replay only.
func NewGroup(at Submitter) *Group {
	s, outer, err := submitterOf("NewGroup", at)
	if err != nil {
		panic(err)
	}
	public := &Group{}
	g := &public.core
	g.RT, g.Scope = s.RT, s
	if outer != nil && outer.Scope == s {
		g.Outer = outer
	}
	g.Changed = sync.NewCond(&g.Mu)
	g.Ctx, g.Cancel = context.WithCancelCause(s.RT.ContextOf(outer))
	if rec := recorderOf(s); rec != nil {
		rec.addGroup(g)
	}
	return public
}

func (g *Group) submitter() (*engine.Scope, *engine.Group) { return g.core.Scope, &g.core }

// Go submits a task of the group that runs body: see Runtime.Go.
func (g *Group) Go(body func() error, options ...Option) (Task, error) {
	if !g.usable() {
		return Task{}, misuse("Group.Go", g.unusable())
	}
	return goTask(g.core.Scope, &g.core, body, options)
}

// GoScope submits a task of the group that may have children: see Runtime.GoScope.
func (g *Group) GoScope(body func(*Scope) error, options ...Option) (Task, error) {
	if !g.usable() {
		return Task{}, misuse("Group.GoScope", g.unusable())
	}
	return goScope(g.core.Scope, &g.core, body, options)
}

// Context returns the context of the group's tasks.
func (g *Group) Context() context.Context {
	g.core.Mu.Lock() // the context of a recorded group changes
	defer g.core.Mu.Unlock()
	return g.core.Ctx
}

// Cancel cancels the group: tasks that have not started fail with cause, or with context.Canceled
// if cause is nil, and so do their successors. Running tasks are notified through their context.
// Tasks outside the group continue.
func (g *Group) Cancel(cause error) { cancelGroup(&g.core, cause) }

func cancelGroup(g *engine.Group, cause error) {
	g.Mu.Lock()
	cancel := g.Cancel
	g.Mu.Unlock()
	cancel(cause)
}

// The following functions implement Group.Wait: the tasks of the group finish, their reductions are
// combined, and the data that they wrote become valid on the host.

// Wait waits until the tasks of the group have finished, combines their reductions, makes the data
// that they wrote valid on the host, and ends the group. It returns a *FailedError for the tasks
// that failed; no other Wait returns these failures. Afterwards tasks that depend on the data of
// failed tasks may be submitted again. In the body of a task, the worker runs other tasks
// meanwhile.
//
// The program may then read and write these data, until it submits a task that uses them. With
// ReadOnly it may only read them, and devices keep their copies. With KeepOnDevice the data stay
// where they are. Wait does not wait for unfinished tasks outside the group: data that such a task
// writes are not made valid, and data that it reads may only be read. A reduction that also has
// tasks outside the group is combined when those submitted before have finished.
//
// Errors: also the cause of ctx, while the tasks and the group continue; ErrInsideTask in a body,
// for a group of the program and for a group of another task's Scope, which may contain the caller;
// data that were lost with a device (devices.LostError).
func (g *Group) Wait(ctx context.Context, options ...WaitOption) error {
	if !g.usable() {
		return misuse("Group.Wait", g.unusable())
	}
	o, err := waitOptions("Group.Wait", ctx, options)
	if err != nil {
		return err
	}
	if rec := recorderOf(g.core.Scope); rec != nil {
		if rec.scope != g.core.Scope {
			return engine.ErrRecorderFinished
		}
		return rec.wait(&g.core)
	}
	if g.core.Scope.Program() && unfinished(&g.core) && smp.InBody() {
		return misuse("Group.Wait", engine.ErrInBody)
	}
	if err := wrongScopeIn(g.core.Scope, "Group.Wait"); err != nil {
		return err
	}
	for {
		engine.Awaits(g.core.RT)
		if err := waitTasks(&g.core, o.ctx); err != nil {
			return withStatus(g.core.RT, err, 0)
		}
		back, ended, err := bringBack(&g.core, o)
		if err == nil && !awaitUntil(g.core.Scope, back, o.ctx) {
			return withStatus(g.core.RT, fmt.Errorf("task: group: wait: %w", context.Cause(o.ctx)), 0)
		}
		if err == nil && back.h.Record != nil {
			err = g.core.RT.Log.ForgetError(back.h)
		}
		if ended && endGroup(&g.core) {
			return errors.Join(g.core.RT.Log.TakeGroup(&g.core), err)
		}
	}
}

// waitTasks waits until no task of the group is in flight and no reduction of it is open. It
// returns the cause of ctx if that ends first.
func waitTasks(g *engine.Group, ctx context.Context) (err error) {
	for unfinished(g) {
		endGroupReductions(g)
		wait := func() { err = g.Sleep(ctx) }
		done := func() bool { return g.Live.Load() == 0 || ctx != nil && ctx.Err() != nil }
		if g.Scope.Program() || g.Live.Load() == 0 {
			g.RT.Virtual.Await(done, ctx)
			wait()
		} else {
			g.Scope.Block(done, wait)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// unfinished reports whether a task of the group is in flight or a reduction of it is open.
func unfinished(g *engine.Group) bool {
	g.Scope.Submitting.Lock()
	defer g.Scope.Submitting.Unlock()
	return !g.Finished()
}

// endGroup closes the group for submissions, unless a task was submitted meanwhile; it reports
// whether it did so. Tasks that depend on failures of the group may be submitted again.
func endGroup(g *engine.Group) bool {
	g.Scope.Submitting.Lock()
	defer g.Scope.Submitting.Unlock()
	if !g.Finished() {
		return false
	}
	g.Cancel(engine.ErrGroupFinished)
	g.ForgetFailures()
	return true
}

// endGroupReductions submits the combinations of the open reductions to which tasks of the group
// contribute.
func endGroupReductions(g *engine.Group) {
	var ready engine.RecordList
	s := g.Scope
	s.Submitting.Lock()
	kept := s.Reductions[:0]
	for _, o := range s.Reductions {
		if o.Concerns(g) {
			s.SubmitCombination(o, &ready)
		} else {
			kept = append(kept, o)
		}
	}
	clear(s.Reductions[len(kept):])
	s.Reductions = kept
	s.Submitting.Unlock()
	engine.StartAll(s.RT, &ready)
}

// followGroupGrowth updates the written data of g for buffers that have been merged into others.
// Requires: submitting held.
func followGroupGrowth(g *engine.Group) {
	for b, of := range g.Wrote {
		if !b.MovedIn(&g.Scope.Memory) {
			continue
		}
		delete(g.Wrote, b)
		to, _ := b.Target()
		for _, r := range of.Regions() {
			g.SetOf(to).Add(b.MovedRegion(r))
		}
	}
}

// bringBack submits a task that makes the data that the group wrote valid on the host. It returns
// the zero Task if there are none. ended is false if tasks of the group were submitted meanwhile.
func bringBack(g *engine.Group, o WaitOption) (back Task, ended bool, err error) {
	s := g.Scope
	if !g.RT.Topology.Accelerators || o.keep {
		return Task{}, true, nil
	}
	r, err := s.Begin(nil, engine.WaitBody)
	if err != nil {
		return Task{}, true, fmt.Errorf("task: group: wait: what its tasks wrote does not come back: %w", err)
	}
	ended = g.Finished()
	if ended {
		r.Accesses = ownData(g, o.read, r.Accesses)
	}
	if len(r.Accesses) == 0 {
		_, err = s.Abort(r, nil)
		return Task{}, ended, err
	}
	r.Label = "wait of a group"
	r.Traits.Set(life.IgnoresFailures, true)
	return Task{s.Commit(r)}, ended, nil
}

// ownData appends accesses to the data that the group wrote, except data that unfinished tasks
// write. The mode is In for data that others read, or if the program only reads.
// Requires: submitting held, and no task of the group in flight.
func ownData(g *engine.Group, read bool, to []deps.Access) []deps.Access {
	followGroupGrowth(g)
	byNumber := func(a, b *memory.Buffer) int { return int(a.ID) - int(b.ID) }
	for _, b := range slices.SortedFunc(maps.Keys(g.Wrote), byNumber) {
		if b.Gone.Load() && b.Grown.Load() == nil {
			continue // the memory was freed
		}
		if b.Grown.Load() == nil && !g.RT.Buffers.Claim(b) {
			continue // the data are undefined
		}
		var taken, shared, rest deps.Set
		for _, r := range g.Wrote[b].Regions() {
			if d := g.Scope.Graph.Domain; d != nil {
				d.InFlight(&r, g.Scope.IsWait, &taken, &shared)
			}
			rest.Add(r)
		}
		for _, r := range taken.Regions() {
			rest.Remove(r)
		}
		for _, r := range rest.Regions() {
			to = splitAccess(r, &shared, read, to)
		}
	}
	return to
}

// splitAccess appends accesses to r: with mode In to the part in shared, or to all of r if read is
// true, and with mode InOut to the rest.
func splitAccess(r deps.Region, shared *deps.Set, read bool, to []deps.Access) []deps.Access {
	if read {
		return append(to, deps.Access{Region: r, Mode: deps.In})
	}
	var own deps.Set
	own.Add(r)
	for _, p := range shared.Intersect(r, nil) {
		own.Remove(p)
		to = append(to, deps.Access{Region: p, Mode: deps.In})
	}
	for _, p := range own.Regions() {
		to = append(to, deps.Access{Region: p, Mode: deps.InOut})
	}
	return to
}
