package task

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"

	"github.com/gompss/gompss/deps"
	"github.com/gompss/gompss/task/internal/life"
	"github.com/gompss/gompss/task/internal/memory"
)

// This file is Group.Wait: the tasks of the group finish, their reductions are combined, and what
// they wrote comes back to the host.

// Wait waits until the tasks of the group have finished, combines what they reduced, makes what
// they wrote valid on the host, and ends the group. It returns a *FailedError for the tasks that
// failed, which no other Wait returns then; what depends on what they access may be submitted
// again. In the body of a task the worker runs other tasks meanwhile.
//
// The program may then read and write these data, until it submits a task that uses them; with
// ReadOnly it may only read, and devices keep their copies; with KeepOnDevice the data stay where
// they are. What an unfinished task outside of the group accesses too stays that task's: it is not
// waited for, what it writes is not brought back, and what it reads may only be read. A reduction
// into which tasks outside of the group reduce too is combined when those have finished that were
// submitted before.
//
// Errors: also that of ctx, and then the tasks and the group continue; ErrInsideTask for a group of
// the program in a body, and for one of another task's Scope, in which the caller may be itself;
// data that were lost with a device (devices.LostError).
func (g *Group) Wait(ctx context.Context, options ...WaitOption) error {
	if !g.usable() {
		return misuse("Group.Wait", g.unusable())
	}
	o, err := waitOptions("Group.Wait", ctx, options)
	if err != nil {
		return err
	}
	if rec := g.scope.records; rec != nil {
		if rec.scope != g.scope {
			return errRecorderFinished
		}
		return rec.wait(g)
	}
	if g.scope.program() && g.unfinished() && insideBody() {
		return misuse("Group.Wait", errInBody)
	}
	if err := g.scope.wrongScopeIn("Group.Wait"); err != nil {
		return err
	}
	for {
		g.rt.awaits()
		if err := g.waitTasks(o.ctx); err != nil {
			return g.rt.withStatus(err, 0)
		}
		back, ended, err := g.bringBack(o)
		if err == nil && !g.scope.awaitUntil(back, o.ctx) {
			return g.rt.withStatus(fmt.Errorf("task: group: wait: %w", context.Cause(o.ctx)), 0)
		}
		if err == nil && back.record != nil {
			err = g.rt.log.forgetError(back)
		}
		if ended && g.end() {
			return errors.Join(g.rt.log.takeGroup(g), err)
		}
	}
}

// waitTasks waits until no task of the group is in flight, and no reduction of it is open. Error:
// the context's.
func (g *Group) waitTasks(ctx context.Context) (err error) {
	for g.unfinished() {
		g.endReductions()
		wait := func() { err = g.sleep(ctx) }
		over := func() bool { return g.live.Load() == 0 || ctx != nil && ctx.Err() != nil }
		if g.scope.program() || g.live.Load() == 0 {
			g.rt.virtual.Await(over, ctx)
			wait()
		} else {
			g.scope.block(over, wait)
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// unfinished reports whether a task of the group is in flight, or a reduction of it is open.
func (g *Group) unfinished() bool {
	g.scope.submitting.Lock()
	defer g.scope.submitting.Unlock()
	return !g.finished()
}

// finished is the opposite of unfinished. Requires: the submitting of home held.
func (g *Group) finished() bool {
	return g.live.Load() == 0 && !slices.ContainsFunc(g.scope.reductions, func(o *reduction) bool { return o.concerns(g) })
}

// end ends the group, so that it takes no more tasks, unless one was submitted meanwhile. What
// depends on its failures may be submitted again.
func (g *Group) end() bool {
	g.scope.submitting.Lock()
	defer g.scope.submitting.Unlock()
	if !g.finished() {
		return false
	}
	g.cancel(errGroupFinished)
	for _, of := range g.scope.graph.poisoned {
		for t := range of {
			if t.group.within(g) {
				delete(of, t)
			}
		}
	}
	return true
}

// endReductions submits the combinations of the open reductions that tasks of the group take part
// in.
func (g *Group) endReductions() {
	var ready recordList
	s := g.scope
	s.submitting.Lock()
	kept := s.reductions[:0]
	for _, o := range s.reductions {
		if o.concerns(g) {
			s.submitCombination(o, &ready)
		} else {
			kept = append(kept, o)
		}
	}
	clear(s.reductions[len(kept):])
	s.reductions = kept
	s.submitting.Unlock()
	s.rt.startAll(&ready)
}

// concerns reports whether tasks of g, or of a group inside it, reduce in o.
func (o *reduction) concerns(g *Group) bool {
	return slices.ContainsFunc(o.members, func(m *Group) bool { return m.within(g) })
}

// addMember notes that a task of m, which may be nil, reduces in o.
func (o *reduction) addMember(m *Group) {
	if m != nil && !slices.Contains(o.members, m) {
		o.members = append(o.members, m)
	}
}

// innermost returns the group that is inside most others of those that take part in o, nil where
// none does.
func (o *reduction) innermost() (best *Group) {
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
	for ; g != nil; g = g.outer {
		n++
	}
	return n
}

// others returns the groups that wait for r besides r.member and those around it: where several
// groups take part in the reduction that r combines.
func (r *record) others() (list []*Group) {
	if r.kind != combineBody || len(r.uses) == 0 {
		return nil
	}
	for _, m := range r.uses[0].group.members {
		if !r.member.within(m) {
			list = append(list, m)
		}
	}
	return list
}

// noteWrites adds what a task of g is submitted to write. Requires: the submitting of home held.
func (g *Group) noteWrites(accesses []deps.Access) {
	for ; g != nil; g = g.outer {
		for i := range accesses {
			if a := &accesses[i]; a.Mode.Writes() && !a.Region.Empty() {
				g.setOf(g.rt.buffers.ByID(a.Region.Buffer)).Add(a.Region)
			}
		}
	}
}

// setOf returns what tasks of g were submitted to write of b. Requires: the submitting of home
// held.
func (g *Group) setOf(b *memory.Buffer) *deps.Set {
	of := g.wrote[b]
	if of == nil {
		g.forgetGone()
		of = &deps.Set{}
		if g.wrote == nil {
			g.wrote = map[*memory.Buffer]*deps.Set{}
		}
		g.wrote[b] = of
	}
	return of
}

// forgetGone drops what g wrote in buffers that are gone, now and then. Requires: the submitting of
// home held.
func (g *Group) forgetGone() {
	if len(g.wrote) < g.wroteLimit {
		return
	}
	maps.DeleteFunc(g.wrote, func(b *memory.Buffer, _ *deps.Set) bool { return b.Gone.Load() && b.Grown.Load() == nil })
	g.wroteLimit = 2*len(g.wrote) + memory.SweepBuffers
}

// followGrowth makes what g wrote in buffers that have become parts of others what it wrote of
// those. Requires: submitting held.
func (g *Group) followGrowth() {
	for b, of := range g.wrote {
		if !b.MovedIn(&g.scope.memory) {
			continue
		}
		delete(g.wrote, b)
		to, _ := b.Target()
		for _, r := range of.Regions() {
			g.setOf(to).Add(b.MovedRegion(r))
		}
	}
}

// bringBack submits the task that makes what the group wrote valid on the host: the zero Task where
// there is nothing to do. It reports false when tasks of the group were submitted meanwhile.
func (g *Group) bringBack(o WaitOption) (back Task, ended bool, err error) {
	s := g.scope
	if !g.rt.topology.accelerators || o.keep {
		return Task{}, true, nil
	}
	r, err := s.begin(nil, waitBody)
	if err != nil {
		return Task{}, true, fmt.Errorf("task: group: wait: what its tasks wrote does not come back: %w", err)
	}
	ended = g.finished()
	if ended {
		r.accesses = g.ownData(o.read, r.accesses)
	}
	if len(r.accesses) == 0 {
		_, err = s.abort(r, nil)
		return Task{}, ended, err
	}
	r.label = "wait of a group"
	r.traits.Set(life.IgnoresFailures, true)
	return s.commit(r), ended, nil
}

// ownData appends accesses to what the group wrote, but for what unfinished tasks write: in mode In
// where others read, or where the program only reads. Requires: submitting held, and no task of the
// group in flight.
func (g *Group) ownData(read bool, to []deps.Access) []deps.Access {
	g.followGrowth()
	byNumber := func(a, b *memory.Buffer) int { return int(a.ID) - int(b.ID) }
	for _, b := range slices.SortedFunc(maps.Keys(g.wrote), byNumber) {
		if b.Gone.Load() && b.Grown.Load() == nil {
			continue // it was given back
		}
		if b.Grown.Load() == nil && !g.rt.buffers.Claim(b) {
			continue // its data are undefined
		}
		var taken, shared, rest deps.Set
		for _, r := range g.wrote[b].Regions() {
			if d := g.scope.graph.domain; d != nil {
				d.InFlight(&r, g.scope.isWait, &taken, &shared)
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

// noteWait notes that t is a wait, which has finished soon and brings to the host what it names.
// Requires: submitting held.
func (l *relations) noteWait(t Task) {
	l.waits = slices.DeleteFunc(l.waits, func(o Task) bool { return o.record.taskID() != o.id })
	l.waits = append(l.waits, t)
}

// isWait reports whether a task in flight, of which id is the lower part of the number, is a wait.
// Requires: submitting held.
func (l *relations) isWait(id uint32) bool {
	return slices.ContainsFunc(l.waits, func(t Task) bool { return uint32(t.id) == id })
}

// splitAccess appends accesses to r: in mode In to what is in shared, or to all of it with read,
// and InOut to the rest.
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
