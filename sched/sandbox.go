package sched

import (
	"cmp"
	"fmt"
	"maps"
	"runtime/debug"
	"slices"
)

// A PolicyError means that a registered policy failed: a method panicked or did something
// forbidden. The scheduler continues with the items of the policy in the order in which they came.
type PolicyError struct {
	Policy string
	Method string
	What   string
	Value  any    // of a panic, else nil
	Stack  []byte // of the panic
}

func (e *PolicyError) Error() string {
	return fmt.Sprintf("sched: policy %s: %s: %s", e.Policy, e.Method, e.What)
}

// Unwrap returns the value of the panic, if that is an error.
func (e *PolicyError) Unwrap() error {
	err, _ := e.Value.(error)
	return err
}

// A policySandbox wraps a registered policy, which may fail in any call under the lock of the
// scheduler's owner. It keeps its own record of the pushed items.
type policySandbox struct {
	name  string
	inner Policy // nil once it has broken
	state *State
	items map[*Item]struct{}
	after fifo // has the items once inner has broken
	broke func(error)
}

// openGuarded opens a registered policy in a sandbox.
func openGuarded(name string, open func(*State) Policy, s *State, broke func(error)) (g *policySandbox, err error) {
	g = &policySandbox{name: name, state: s, items: map[*Item]struct{}{}, after: fifo{state: s}, broke: broke}
	defer func() {
		if v := recover(); v != nil {
			err = &PolicyError{Policy: name, Method: "constructor", What: fmt.Sprintf("panic: %v", v), Value: v, Stack: debug.Stack()}
		}
	}()
	if g.inner = open(s); g.inner == nil {
		return nil, &PolicyError{Policy: name, Method: "constructor", What: "returned nil"}
	}
	return g, nil
}

// call runs f, which calls a method of inner, and reports whether it returned.
func (g *policySandbox) call(method string, f func()) (fine bool) {
	if g.inner == nil {
		return false
	}
	defer func() {
		if fine {
			return
		}
		v := recover()
		g.fail(&PolicyError{Policy: g.name, Method: method, What: fmt.Sprintf("panic: %v", v), Value: v, Stack: debug.Stack()})
	}()
	f()
	return true
}

// inOrder returns the items in the order of their pushes.
func (g *policySandbox) inOrder() []*Item {
	return slices.SortedFunc(maps.Keys(g.items), func(a, b *Item) int { return cmp.Compare(a.order, b.order) })
}

// fail replaces inner by a queue.
func (g *policySandbox) fail(e *PolicyError) {
	g.inner = nil
	for _, it := range g.inOrder() {
		it.prev, it.next, it.lane = nil, nil, nil
		g.after.Push(it)
	}
	if g.broke != nil {
		g.broke(e)
	}
}

func (g *policySandbox) Push(it *Item) {
	if g.inner == nil {
		g.after.Push(it)
	}
	g.items[it] = struct{}{}
	g.call("Push", func() { g.inner.Push(it) })
}

func (g *policySandbox) Pop(p PlaceID) *Item {
	var it *Item
	if g.call("Pop", func() { it = g.inner.Pop(p) }) && it != nil && g.wrong(it, p) == "" {
		delete(g.items, it)
		return it
	}
	if it != nil && g.inner != nil {
		g.fail(&PolicyError{Policy: g.name, Method: "Pop", What: g.wrong(it, p)})
	}
	if g.inner != nil {
		return nil
	}
	if it = g.after.Pop(p); it != nil {
		delete(g.items, it)
	}
	return it
}

// wrong returns the reason why an item cannot be granted to p; empty if it can.
func (g *policySandbox) wrong(it *Item, p PlaceID) string {
	if _, ours := g.items[it]; !ours {
		return "returned an item that it does not have"
	}
	if !it.Allowed.Has(p) {
		return fmt.Sprintf("returned an item that may not run on %s", g.state.Places[p].Name)
	}
	if k := g.state.pool[p]; g.state.Short(it, p) {
		return fmt.Sprintf("returned an item that needs %d tokens of %s, of which %d are free, or kept for one that has waited longer: State.Admit says so",
			it.need[k], g.state.Places[p].Kind, g.state.pools[k].free)
	}
	return ""
}

func (g *policySandbox) Remove(it *Item) {
	if !g.call("Remove", func() { g.inner.Remove(it) }) {
		g.after.Remove(it)
	}
	delete(g.items, it)
}

// Each and Len use the sandbox's own record and do not call inner.
func (g *policySandbox) Each(f func(*Item)) {
	for _, it := range g.inOrder() {
		f(it)
	}
}

func (g *policySandbox) Len() int { return len(g.items) }

// learns reports whether inner is a Learner.
func (g *policySandbox) learns() bool { _, is := g.inner.(Learner); return is }

// Done implements Learner, where inner does.
func (g *policySandbox) Done(it *Item) {
	if l, learns := g.inner.(Learner); learns {
		g.call("Done", func() { l.Done(it) })
	}
}
