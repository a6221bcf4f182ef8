package sched

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"sync/atomic"

	"github.com/gompss/gompss/devices"
)

// A Policy keeps ready items and chooses among them. Its owner calls it under one lock. A
// registered policy that panics, or pops an item that it must not, is taken out of use: see
// PolicyError. A policy must not end the calling goroutine (runtime.Goexit).
type Policy interface {
	// Push takes a ready item; it may decide where the item should run.
	Push(it *Item)
	// Pop takes out and returns the item that p should run next: one that State.Admit admits there,
	// or nil.
	Pop(p PlaceID) *Item
	// Remove takes out an item that was pushed.
	Remove(it *Item)
	// Each calls f for all items; f may Remove the item that it is given.
	Each(f func(*Item))
	// Len returns the number of items kept.
	Len() int
}

// A Learner is a policy that receives finished items, with Item.Took set where it is known.
type Learner interface {
	Done(it *Item)
}

// A grantObserver is a policy that learns of items that run without having been pushed.
type grantObserver interface {
	Granted(it *Item, p PlaceID)
}

// A localPopper is a policy under which a worker may run an item that it has just made ready before
// items that were ready earlier.
type localPopper interface {
	// popLocal takes out an item that was pushed, so that p runs it now, and reports whether it
	// did.
	popLocal(it *Item, p PlaceID) bool
}

// An earlyPlacer is a policy that decides whether an item may be launched at a place before its
// predecessors have finished. Such a launch bypasses the queues of the policy.
type earlyPlacer interface {
	// agrees reports whether no known time speaks against p, and whether all times that the
	// decision needs are known. it is not queued. It starts after its predecessors wherever it
	// runs, so the current load of places does not count.
	agrees(it *Item, p PlaceID) (agrees, known bool)
}

// A peeker is a policy that can name the item that Pop would return, without removing it.
type peeker interface {
	peek(p PlaceID) *Item
}

// A State is the view that a policy has of the machine.
type State struct {
	Places []Place
	Seed   uint64
	Times  *Times // the learned times
	places []placeLoad
	idle   atomic.Uint64 // the places with nothing in flight
	pools  []pool
	pool   []int          // by place
	links  []devices.Link // by place
}

// Admit reports whether it could be granted to p now: p is allowed and has the tokens. A policy
// calls it on items in the order in which they should run, for the first one refused is the one
// that ages.
func (s *State) Admit(it *Item, p PlaceID) bool {
	if !it.marks.has(needsTokens) {
		return it.Allowed.Has(p)
	}
	k := s.pool[p]
	return it.Allowed.Has(p) && s.pools[k].admit(it, int(it.need[k]))
}

// kindsOf returns how many kinds of device it may run on.
func (s *State) kindsOf(it *Item) int {
	var seen [MaxKinds]bool
	n := 0
	for rest := it.Allowed; rest != 0; {
		p := rest.First()
		rest = rest.Without(p)
		if k := s.pool[p]; !seen[k] {
			seen[k] = true
			n++
		}
	}
	return n
}

// Short reports whether it lacks tokens at p, without ageing it.
func (s *State) Short(it *Item, p PlaceID) bool {
	t := &s.pools[s.pool[p]]
	need := int(it.need[s.pool[p]])
	return need > 0 && (t.free < need || t.reserved != nil && t.reserved != it)
}

// registry holds the policies by name: the only package-level state.
var registry = struct {
	sync.Mutex
	policies map[string]func(*State) Policy
	own      map[string]bool // the registered ones
}{own: map[string]bool{}, policies: map[string]func(*State) Policy{
	"fifo":     func(s *State) Policy { return &fifo{state: s} },
	"priority": func(s *State) Policy { return &fifo{state: s, priorities: true} },
	"locality": newLocality,
	"random":   newRandom,

	"versioning": newVersioning,
}}

// Register makes a policy known by name. It panics when the name is empty or taken.
func Register(name string, open func(*State) Policy) {
	registry.Lock()
	defer registry.Unlock()
	if _, taken := registry.policies[name]; taken || name == "" || open == nil {
		panic(fmt.Sprintf("sched: register policy %q: name empty or taken, or no constructor", name))
	}
	registry.policies[name], registry.own[name] = open, true
}

// Policies returns the names of the policies, sorted.
func Policies() []string {
	registry.Lock()
	defer registry.Unlock()
	return slices.Sorted(maps.Keys(registry.policies))
}

func openPolicy(name string, s *State, broke func(error)) (Policy, error) {
	registry.Lock()
	open, own := registry.policies[name], registry.own[name]
	registry.Unlock()
	if open == nil {
		return nil, fmt.Errorf("sched: policy %q: unknown: the policies are %s", name, strings.Join(Policies(), ", "))
	}
	if !own {
		return open(s), nil
	}
	g, err := openGuarded(name, open, s, broke)
	if err != nil {
		return nil, err
	}
	return g, nil
}

// fifo runs items in the order in which they became ready; as "priority", the highest priority
// first.
type fifo struct {
	state      *State
	items      queue
	priorities bool
}

func (f *fifo) Push(it *Item) {
	priority := 0
	if f.priorities {
		priority = it.Priority
	}
	f.items.push(it, priority)
}

func (f *fifo) peek(p PlaceID) *Item { return f.items.first(f.state, p) }

func (f *fifo) Pop(p PlaceID) *Item {
	it := f.peek(p)
	if it != nil {
		it.remove()
	}
	return it
}

func (f *fifo) Remove(it *Item)        { it.remove() }
func (f *fifo) Each(visit func(*Item)) { f.items.each(visit) }
func (f *fifo) Len() int               { return f.items.len }

func (q *queue) each(f func(*Item)) {
	for _, l := range q.lanes {
		for it := l.head; it != nil; {
			next := it.next
			f(it)
			it = next
		}
	}
}
