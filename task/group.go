package task

import (
	"context"
	"sync"
	"sync/atomic"
)

// A Group is tasks that are waited for and cancelled together. It orders nothing: its tasks have the predecessors that
// they would have without it.
type Group struct {
	rt     *Runtime
	home   *Scope
	ctx    context.Context
	cancel context.CancelCauseFunc
	live   atomic.Int64
	told   FailedError // guarded by Runtime.failing
	mu     sync.Mutex
	fell   *sync.Cond
}

// NewGroup returns a group of tasks that are submitted to at: a Runtime, the Scope of a task or another Group, which ends
// this one when it is cancelled. Group.Wait or Group.Cancel must be called in the end.
func NewGroup(at Submitter) *Group {
	s, outer := at.submitter()
	g := &Group{rt: s.rt, home: s}
	g.fell = sync.NewCond(&g.mu)
	g.ctx, g.cancel = context.WithCancelCause(s.rt.contextOf(outer))
	return g
}

func (g *Group) submitter() (*Scope, *Group) { return g.home, g }

// contextOf returns the context of the tasks of a group, or of those in none.
func (rt *Runtime) contextOf(g *Group) context.Context {
	if g == nil {
		return rt.ctx
	}
	return g.ctx
}

func (r *record) context() context.Context { return r.rt.contextOf(r.group) }

// fallen counts a task out.
func (g *Group) fallen() {
	if g.live.Add(-1) == 0 {
		g.mu.Lock()
		g.fell.Broadcast()
		g.mu.Unlock()
	}
}
