package engine

import (
	"context"
	"errors"
	"fmt"
	"maps"
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
	ErrGroupFinished    = fmt.Errorf("task: the group has been waited for: %w", ErrFinished)
	errScopeFinished    = fmt.Errorf("task: the body of this scope has returned: %w", ErrFinished)
	ErrRecorderFinished = fmt.Errorf("task: record: the iteration is complete: %w", ErrFinished)
)

// A Group has the tasks of a group of the program, and the data for its wait.
type Group struct {
	RT       *Runtime
	Scope    *Scope
	Outer    *Group // of the same scope
	Ctx      context.Context
	Cancel   context.CancelCauseFunc
	Live     atomic.Int64
	failures FailedError // guarded by failureLog.Failing
	Index    int32       // of a group of an iteration, from 1
	last     deps.TaskID // the last task before its wait, 0 until then; guarded by the submitting of home
	// wrote is what tasks of the group were submitted to write, where accelerators may have it;
	// guarded by the submitting of home.
	Wrote      map[*memory.Buffer]*deps.Set
	wroteLimit int // of wrote: then it is looked at for buffers that are gone
	Mu         spin.Mutex
	Changed    *sync.Cond
}

// Sleep waits until no task of the group is in flight.
func (g *Group) Sleep(ctx context.Context) error {
	if ctx != nil {
		defer context.AfterFunc(ctx, func() {
			g.Mu.Lock()
			g.Changed.Broadcast()
			g.Mu.Unlock()
		})()
	}
	g.Mu.Lock()
	defer g.Mu.Unlock()
	for g.Live.Load() > 0 {
		if ctx != nil && ctx.Err() != nil {
			return fmt.Errorf("task: group: wait: %w", context.Cause(ctx))
		}
		g.Changed.Wait()
	}
	return nil
}

// without removes the failures that g has reported.
func (e *FailedError) without(g *Group) {
	e.Failed = slices.DeleteFunc(e.Failed, func(f *Error) bool { return f.group.Within(g) })
	for of, n := range e.skippedBy {
		if of.Within(g) {
			e.Skipped -= n
			delete(e.skippedBy, of)
		}
	}
}

// Within reports whether g is o or inside it.
func (g *Group) Within(o *Group) bool {
	for ; g != nil; g = g.Outer {
		if g == o {
			return true
		}
	}
	return false
}

// reported returns the last task that was submitted before a wait reported the failures of g: its
// own or that of a group around it. It returns 0 if there was none.
// Requires: the submitting of home held.
func (g *Group) reported() (last deps.TaskID) {
	for ; g != nil; g = g.Outer {
		if g.last > 0 && (last == 0 || g.last < last) {
			last = g.last
		}
	}
	return last
}

// enter counts a task in.
func (g *Group) enter() {
	for ; g != nil; g = g.Outer {
		g.Live.Add(1)
	}
}

// leave counts a task out.
func (g *Group) leave() {
	spin.Perturb()
	for ; g != nil; g = g.Outer {
		if g.Live.Add(-1) == 0 {
			g.Mu.Lock()
			g.Changed.Broadcast()
			g.Mu.Unlock()
		}
	}
}

// ContextOf returns the context of the tasks of a group, or of those in none.
func (l *lifecycle) ContextOf(g *Group) context.Context {
	if g == nil {
		return l.Ctx
	}
	return g.Ctx
}

func (r *Detail) Context() context.Context { return r.RT.ContextOf(r.Group) }

// Finished is the opposite of unfinished. Requires: the submitting of home held.
func (g *Group) Finished() bool {
	return g.Live.Load() == 0 && !slices.ContainsFunc(g.Scope.Reductions, func(o *Reduction) bool { return o.Concerns(g) })
}

// Concerns reports whether tasks of g, or of a group inside it, reduce in o.
func (o *Reduction) Concerns(g *Group) bool {
	return slices.ContainsFunc(o.members, func(m *Group) bool { return m.Within(g) })
}

// addMember notes that a task of m, which may be nil, reduces in o.
func (o *Reduction) addMember(m *Group) {
	if m != nil && !slices.Contains(o.members, m) {
		o.members = append(o.members, m)
	}
}

// innermost returns the group that is inside most others of those that take part in o, nil where
// none does.
func (o *Reduction) innermost() (best *Group) {
	deepest := 0
	for _, m := range o.members {
		if d := m.depth(); d > deepest {
			best, deepest = m, d
		}
	}
	return best
}

// depth is the number of groups that g is within.
func (g *Group) depth() (n int) {
	for ; g != nil; g = g.Outer {
		n++
	}
	return n
}

// others returns the groups that wait for r besides r.member and those around it: where several
// groups take part in the reduction that r combines.
func others(r *Record) (list []*Group) {
	if r.Kind != CombineBody || len(r.Uses) == 0 {
		return nil
	}
	for _, m := range r.Uses[0].Group.members {
		if !r.member.Within(m) {
			list = append(list, m)
		}
	}
	return list
}

// noteWrites adds the regions that a task of g is submitted to write. Requires: the submitting of
// home held.
func (g *Group) noteWrites(accesses []deps.Access) {
	for ; g != nil; g = g.Outer {
		for i := range accesses {
			if a := &accesses[i]; a.Mode.Writes() && !a.Region.Empty() {
				g.SetOf(g.RT.Buffers.ByID(a.Region.Buffer)).Add(a.Region)
			}
		}
	}
}

// SetOf returns the part of b that tasks of g were submitted to write. Requires: the submitting of
// home held.
func (g *Group) SetOf(b *memory.Buffer) *deps.Set {
	of := g.Wrote[b]
	if of == nil {
		g.forgetGone()
		of = &deps.Set{}
		if g.Wrote == nil {
			g.Wrote = map[*memory.Buffer]*deps.Set{}
		}
		g.Wrote[b] = of
	}
	return of
}

// forgetGone drops the writes of g in buffers that are gone, now and then. Requires: the submitting
// of home held.
func (g *Group) forgetGone() {
	if len(g.Wrote) < g.wroteLimit {
		return
	}
	maps.DeleteFunc(g.Wrote, func(b *memory.Buffer, _ *deps.Set) bool { return b.Gone.Load() && b.Grown.Load() == nil })
	g.wroteLimit = 2*len(g.Wrote) + memory.SweepBuffers
}

// noteWait notes that t is a wait, which has finished soon and brings to the host what it names.
// Requires: submitting held.
func (l *relations) noteWait(t Task) {
	l.waits = slices.DeleteFunc(l.waits, func(o Task) bool { return o.Record.TaskID() != o.ID })
	l.waits = append(l.waits, t)
}

// IsWait reports whether a task in flight, of which id is the lower part of the number, is a wait.
// Requires: submitting held.
func (l *relations) IsWait(id uint32) bool {
	return slices.ContainsFunc(l.waits, func(t Task) bool { return uint32(t.ID) == id })
}
