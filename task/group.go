package task

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/gompss/gompss/deps"
	"github.com/gompss/gompss/internal/spin"
	"github.com/gompss/gompss/task/internal/memory"
)

// ErrFinished is the error of a call on a finished object: a Group that was waited for, the Scope
// of a body that has returned, the Recorder of a complete iteration.
var ErrFinished = errors.New("finished already")

// What has ended, each ErrFinished.
var (
	errGroupFinished    = fmt.Errorf("task: the group has been waited for: %w", ErrFinished)
	errScopeFinished    = fmt.Errorf("task: the body of this scope has returned: %w", ErrFinished)
	errRecorderFinished = fmt.Errorf("task: record: the iteration is complete: %w", ErrFinished)
)

// A Group is a set of tasks that are waited for and cancelled together. It adds no order: its tasks
// have the predecessors that they would have without it. What the tasks of a group submit is
// cancelled with it too.
type Group struct {
	rt       *Runtime
	scope    *Scope
	outer    *Group // of the same scope
	ctx      context.Context
	cancel   context.CancelCauseFunc
	live     atomic.Int64
	failures FailedError // guarded by Runtime.failing
	index    int32       // of a group of an iteration, from 1
	// wrote is what tasks of the group were submitted to write, where accelerators may have it;
	// guarded by the submitting of home.
	wrote      map[*memory.Buffer]*deps.Set
	wroteLimit int // of wrote: then it is looked at for buffers that are gone
	mu         spin.Mutex
	changed    *sync.Cond
}

// NewGroup returns a group of tasks that are submitted to at: a Runtime, the Scope of a task, or
// another Group, which then waits for these tasks too and ends them when it is cancelled. Wait must
// be called in the end. It panics where at is nil or a zero value.
//
// A group of a Recorder is part of the iteration. Its Wait, while the iteration is recorded, orders
// what is recorded later behind the tasks of the group; Cancel ends those tasks in the replay that
// runs, and in that alone.
func NewGroup(at Submitter) *Group {
	s, outer, err := submitterOf("NewGroup", at)
	if err != nil {
		panic(err)
	}
	g := &Group{rt: s.rt, scope: s}
	if outer != nil && outer.scope == s {
		g.outer = outer
	}
	g.changed = sync.NewCond(&g.mu)
	g.ctx, g.cancel = context.WithCancelCause(s.rt.contextOf(outer))
	if s.records != nil {
		s.records.addGroup(g)
	}
	return g
}

func (g *Group) submitter() (*Scope, *Group) { return g.scope, g }

// Go submits a task of the group that runs body: see Runtime.Go.
func (g *Group) Go(body func() error, options ...Option) (Task, error) {
	if !g.usable() {
		return Task{}, misuse("Group.Go", g.unusable())
	}
	return goTask(g.scope, g, body, options)
}

// GoScope submits a task of the group that may have children: see Runtime.GoScope.
func (g *Group) GoScope(body func(*Scope) error, options ...Option) (Task, error) {
	if !g.usable() {
		return Task{}, misuse("Group.GoScope", g.unusable())
	}
	return goScope(g.scope, g, body, options)
}

// Context returns the context of the group's tasks.
func (g *Group) Context() context.Context {
	g.mu.Lock() // that of an iteration changes
	defer g.mu.Unlock()
	return g.ctx
}

// Cancel ends the group: tasks that have not started fail with cause, or context.Canceled when that
// is nil, and so do their successors; those that run see it by their context. Tasks outside
// continue.
func (g *Group) Cancel(cause error) {
	g.mu.Lock()
	cancel := g.cancel
	g.mu.Unlock()
	cancel(cause)
}

// sleep waits until no task of the group is in flight.
func (g *Group) sleep(ctx context.Context) error {
	if ctx != nil {
		defer context.AfterFunc(ctx, func() {
			g.mu.Lock()
			g.changed.Broadcast()
			g.mu.Unlock()
		})()
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	for g.live.Load() > 0 {
		if ctx != nil && ctx.Err() != nil {
			return fmt.Errorf("task: group: wait: %w", context.Cause(ctx))
		}
		g.changed.Wait()
	}
	return nil
}

// without removes the failures that g has reported.
func (e *FailedError) without(told *FailedError, g *Group) {
	e.Failed = slices.DeleteFunc(e.Failed, func(f *Error) bool { return f.group.within(g) })
	e.Skipped = max(0, e.Skipped-told.Skipped)
}

// within reports whether g is o or inside it.
func (g *Group) within(o *Group) bool {
	for ; g != nil; g = g.outer {
		if g == o {
			return true
		}
	}
	return false
}

// enter counts a task in.
func (g *Group) enter() {
	for ; g != nil; g = g.outer {
		g.live.Add(1)
	}
}

// leave counts a task out.
func (g *Group) leave() {
	spin.Perturb()
	for ; g != nil; g = g.outer {
		if g.live.Add(-1) == 0 {
			g.mu.Lock()
			g.changed.Broadcast()
			g.mu.Unlock()
		}
	}
}

// contextOf returns the context of the tasks of a group, or of those in none.
func (l *lifecycle) contextOf(g *Group) context.Context {
	if g == nil {
		return l.ctx
	}
	return g.ctx
}

func (r *detail) Context() context.Context { return r.rt.contextOf(r.group) }
