package task

import (
	"sync/atomic"

	"github.com/gompss/gompss/deps"
	"github.com/gompss/gompss/task/internal/state"
)

// A life holds the number of a record's task and the state of that task, in one word; 0 means no
// task. Only the table of package state changes the word.
type life struct{ word atomic.Uint64 }

// stateBits is the width of the state, which lies below the number of the task.
const stateBits = 8

func lifeOf(id deps.TaskID, s state.State) uint64 { return uint64(id)<<stateBits | uint64(s) }

// id returns the number of the task, 0 for none.
func (l *life) id() deps.TaskID { return deps.TaskID(l.word.Load() >> stateBits) }

func (l *life) state() state.State { return state.State(l.word.Load() & (1<<stateBits - 1)) }

// submit makes the record task id.
func (l *life) submit(id deps.TaskID) { l.word.Store(lifeOf(id, l.state().After(state.Submit).To)) }

// enter is the transition of an event that no other goroutine races with.
func (l *life) enter(e state.Event) state.Action {
	word := l.word.Load()
	t := state.State(word & (1<<stateBits - 1)).After(e)
	l.word.Store(word&^(1<<stateBits-1) | uint64(t.To))
	return t.Do
}

// race is enter where another goroutine may raise an event at the same time. The later one sees the
// effects of the earlier one.
func (l *life) race(e state.Event) state.Action {
	for {
		word := l.word.Load()
		t := state.State(word & (1<<stateBits - 1)).After(e)
		if l.word.CompareAndSwap(word, word&^(1<<stateBits-1)|uint64(t.To)) {
			return t.Do
		}
	}
}

// move is the transition of an event for a task that another goroutine may have moved on, or ended:
// it reports false, and nothing has changed, where the record is not task id in state from.
func (l *life) move(id deps.TaskID, from state.State, e state.Event) bool {
	return l.word.CompareAndSwap(lifeOf(id, from), lifeOf(id, from.After(e).To))
}

// release says that the predecessors have finished. It reports false, and nothing has changed, for
// a task that was launched behind them: predecessorsDone ends that.
func (l *life) release() bool {
	for {
		word := l.word.Load()
		s := state.State(word & (1<<stateBits - 1))
		t := s.After(state.Release)
		if s.Early() {
			return false
		}
		if l.word.CompareAndSwap(word, word&^(1<<stateBits-1)|uint64(t.To)) {
			return true
		}
	}
}

// end ends the task; the record then holds no task.
func (l *life) end(e state.Event) { l.word.Store(uint64(l.state().After(e).To.After(state.Forget).To)) }

// ending returns the event that ends r.
func (r *record) ending() state.Event {
	switch {
	case r.err == nil:
		return state.Finish
	case isSkip(r.err):
		return state.Skip
	}
	return state.Fail
}

// A trait is a property of a task that is fixed before its submission.
type trait uint16

const (
	simple          trait = 1 << iota // it goes past the scheduler; means nothing while the record is free
	relaxed                           // some access is not in, out or inout: others may run beside it that it must be kept from
	hostOnly                          // may run on the host alone
	undeferred                        // the submitting goroutine waits until it has finished
	final                             // so do its children
	orderOnly                         // accesses order it, and moved is what is copied for it
	ignoresFailures                   // a wait that does not fail because of those that it waits for
)

// A traits is a set of them.
type traits uint16

func (t traits) is(x trait) bool { return t&traits(x) != 0 }

// set adds x, or removes it.
func (t *traits) set(x trait, on bool) {
	if *t &^= traits(x); on {
		*t |= traits(x)
	}
}

// A holding is a resource that a task releases when it finishes.
type holding uint8

const (
	heldData       holding = 1 << iota // the working set is acquired
	heldPrivates                       // uses have their private copies
	heldExclusive                      // has its commutative regions, or waits for them
	heldConcurrent                     // has concurrent regions that keep others from other address spaces, or waits for them
)

// A holdings is a set of them. Only the goroutine that owns the task uses it.
type holdings uint8

func (h holdings) has(x holding) bool { return h&holdings(x) != 0 }
func (h *holdings) take(x holding)    { *h |= holdings(x) }
func (h *holdings) drop(x holding)    { *h &^= holdings(x) }
