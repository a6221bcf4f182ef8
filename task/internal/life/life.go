// Package life holds the properties of a task that change while it is in flight: its state, beside
// its number; its traits, which are fixed before its submission; and its holdings, which it
// releases when it finishes.
//
// Package state has the table of the states. A word of a Life has 8 bits of state below the number
// of the task, so that one store or one comparison changes both.
package life

import (
	"sync/atomic"

	"github.com/gompss/gompss/deps"
	"github.com/gompss/gompss/task/internal/state"
)

// A Life holds the number of a record's task and the state of that task, in one word; 0 means no
// task. Only the table of package state changes the word.
type Life struct{ Word atomic.Uint64 }

// stateBits is the width of the state, which lies below the number of the task.
const stateBits = 8

func LifeOf(id deps.TaskID, s state.State) uint64 { return uint64(id)<<stateBits | uint64(s) }

// ID returns the number of the task, 0 for none.
func (l *Life) ID() deps.TaskID { return deps.TaskID(l.Word.Load() >> stateBits) }

func (l *Life) State() state.State { return state.State(l.Word.Load() & (1<<stateBits - 1)) }

// Submit makes the record task id.
func (l *Life) Submit(id deps.TaskID) { l.Word.Store(LifeOf(id, l.State().After(state.Submit).To)) }

// Enter is the transition of an event that no other goroutine races with.
func (l *Life) Enter(e state.Event) state.Action {
	word := l.Word.Load()
	t := state.State(word & (1<<stateBits - 1)).After(e)
	l.Word.Store(word&^(1<<stateBits-1) | uint64(t.To))
	return t.Do
}

// Race is enter where another goroutine may raise an event at the same time. The later one sees the
// effects of the earlier one.
func (l *Life) Race(e state.Event) state.Action {
	for {
		word := l.Word.Load()
		t := state.State(word & (1<<stateBits - 1)).After(e)
		if l.Word.CompareAndSwap(word, word&^(1<<stateBits-1)|uint64(t.To)) {
			return t.Do
		}
	}
}

// Move is the transition of an event for a task that another goroutine may have moved on, or ended:
// it reports false, and nothing has changed, where the record is not task id in state from.
func (l *Life) Move(id deps.TaskID, from state.State, e state.Event) bool {
	return l.Word.CompareAndSwap(LifeOf(id, from), LifeOf(id, from.After(e).To))
}

// Release says that the predecessors have finished. It reports false, and nothing has changed, for
// a task that was launched behind them: predecessorsDone ends that.
func (l *Life) Release() bool {
	for {
		word := l.Word.Load()
		s := state.State(word & (1<<stateBits - 1))
		t := s.After(state.Release)
		if s.Early() {
			return false
		}
		if l.Word.CompareAndSwap(word, word&^(1<<stateBits-1)|uint64(t.To)) {
			return true
		}
	}
}

// End ends the task; the record then holds no task.
func (l *Life) End(e state.Event) { l.Word.Store(uint64(l.State().After(e).To.After(state.Forget).To)) }

// A Trait is a property of a task that is fixed before its submission.
type Trait uint16

const (
	Simple          Trait = 1 << iota // it goes past the scheduler; means nothing while the record is free
	Relaxed                           // some access is not in, out or inout: others may run beside it that it must be kept from
	HostOnly                          // may run on the host alone
	Undeferred                        // the submitting goroutine waits until it has finished
	Final                             // so do its children
	OrderOnly                         // accesses order it, and copyAccesses lists the data that are copied for it
	IgnoresFailures                   // a wait that does not fail because of those that it waits for
	EarlyRelease                      // what its children do not use is released when its body ends
	Linked                            // it has weak accesses, or early release
)

// A Traits is a set of them.
type Traits uint16

func (t Traits) Is(x Trait) bool { return t&Traits(x) != 0 }

// Set adds x, or removes it.
func (t *Traits) Set(x Trait, on bool) {
	if *t &^= Traits(x); on {
		*t |= Traits(x)
	}
}

// A Holding is a resource that a task releases when it finishes.
type Holding uint8

const (
	HeldData       Holding = 1 << iota // the working set is acquired
	HeldPrivates                       // uses have their private copies
	HeldExclusive                      // has its commutative regions, or waits for them
	HeldConcurrent                     // has concurrent regions that keep others from other address spaces, or waits for them
	HeldLinks                          // has links, some of them open, or its node is complete
)

// A Holdings is a set of them. Only the goroutine that owns the task uses it.
type Holdings uint8

func (h Holdings) Has(x Holding) bool { return h&Holdings(x) != 0 }
func (h *Holdings) Take(x Holding)    { *h |= Holdings(x) }
func (h *Holdings) Drop(x Holding)    { *h &^= Holdings(x) }
