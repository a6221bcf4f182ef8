package task

import "context"

// This file is what makes one replay of an iteration another than the next: the values of Args. A replay is a task that may have to
// wait for earlier ones of the same iteration, so what it was asked for with is kept until it begins.

// slot is an Arg of any type.
type slot interface {
	keep(turn int) // the value, for a replay that is asked for
	use(turn int)  // that value, now that it begins
}

// An Arg is a value that the steps of an iteration read and that every replay may set anew. It may be an argument of a kernel
// that is recorded, in place of a T.
type Arg[T any] struct {
	mu        mutex
	now, next T
	asked     T    // for the latest replay
	saved     []T  // by turn
	set, news bool // since the last replay, and before it
}

// NewArg makes an argument of the iteration that r records. What Set says holds from the next Replay on.
func NewArg[T any](r *Recorder, value T) *Arg[T] {
	a := &Arg[T]{now: value, next: value, asked: value}
	r.args = append(r.args, a)
	return a
}

// Get returns the value for this replay. It is for the bodies of steps.
func (a *Arg[T]) Get() T { return a.now }

// Set sets the value for the replays that are asked for from now on.
func (a *Arg[T]) Set(value T) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.next, a.set = value, true
}

func (a *Arg[T]) keep(turn int) {
	a.mu.Lock()
	defer a.mu.Unlock()
	for len(a.saved) <= turn {
		a.saved = append(a.saved, a.next)
	}
	a.asked, a.saved[turn] = a.next, a.next
	a.news, a.set = a.set, false
}

func (a *Arg[T]) use(turn int) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.now = a.saved[turn]
}

func (a *Arg[T]) value() any { return a.asked }

func (a *Arg[T]) fresh() bool { return a.news }

// A turn is one replay, from when it is asked for until it is over.
type turn struct {
	it    *Iteration
	n     int
	does  []*described // of the steps that are dynamic
	group *Group
	body  func() error // of the task, where the steps are none
	task  *record
	next  *turn // in the list of those that nobody uses
}

// takeTurn returns a turn that nobody uses.
func (it *Iteration) takeTurn() *turn {
	it.turning.Lock()
	defer it.turning.Unlock()
	t := it.turns
	if t == nil {
		t = &turn{it: it, n: it.made}
		t.body = func() error { t.begin(); return it.run.runAll(t.task) }
		it.made++
		return t
	}
	it.turns, t.next = t.next, nil
	return t
}

func (t *turn) giveBack() {
	t.it.turning.Lock()
	defer t.it.turning.Unlock()
	t.next, t.it.turns = t.it.turns, t
}

// begin makes the steps those of this replay: the one before is over.
func (t *turn) begin() {
	it := t.it
	for _, a := range it.args {
		a.use(t.n)
	}
	for k, i := range it.dynamic {
		it.steps[i].does = t.does[k]
	}
	it.run.ctx = it.rt.contextOf(t.group)
	it.renewGroups(it.run.ctx)
}

// renewGroups lets groups that were cancelled in the replay before begin anew, inside ctx.
func (it *Iteration) renewGroups(ctx context.Context) {
	fresh := it.graph.within == ctx
	for _, g := range it.groups {
		fresh = fresh && g.ctx.Err() == nil
	}
	if fresh {
		return
	}
	it.graph.within = ctx
	for _, g := range it.groups { // the outer ones are first
		outer := ctx
		if g.outer != nil {
			outer = g.outer.ctx
		}
		g.Cancel(nil)
		g.mu.Lock()
		g.ctx, g.cancel = context.WithCancelCause(outer)
		g.mu.Unlock()
	}
}
