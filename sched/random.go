package sched

import "math/rand/v2"

// random gives a place any item that may run there. It serves tests, which must hold under every
// order. Chance alone could delay an item for ever, so each place takes the oldest item from time
// to time.
type random struct {
	state *State
	items []*Item
	rng   *rand.Rand
	pops  []int // by place
}

// oldestEach is the number of pops of a place between two that take the oldest item.
const oldestEach = 8

func newRandom(s *State) Policy {
	return &random{state: s, rng: rand.New(rand.NewPCG(s.Seed, 0x9e3779b97f4a7c15)), pops: make([]int, len(s.Places))}
}

func (r *random) Push(it *Item) { r.items = append(r.items, it) }

func (r *random) Pop(p PlaceID) *Item {
	n := len(r.items)
	if n == 0 {
		return nil
	}
	if r.pops[p]++; r.pops[p]%oldestEach == 0 {
		if at := r.oldest(p); at >= 0 && r.state.Admit(r.items[at], p) {
			it := r.items[at]
			r.take(at)
			return it
		}
	}
	for i, start := 0, r.rng.IntN(n); i < n; i++ {
		at := (start + i) % n
		if it := r.items[at]; r.state.Admit(it, p) {
			r.take(at)
			return it
		}
	}
	return nil
}

// oldest returns the index of the first item by priority and order that may run at p; -1 if there
// is none.
func (r *random) oldest(p PlaceID) int {
	best := -1
	for i, it := range r.items {
		if it.Allowed.Has(p) && (best < 0 || it.before(r.items[best])) {
			best = i
		}
	}
	return best
}

func (r *random) take(at int) {
	last := len(r.items) - 1
	r.items[at], r.items[last] = r.items[last], nil
	r.items = r.items[:last]
}

func (r *random) Remove(it *Item) {
	for i, x := range r.items {
		if x == it {
			r.take(i)
			return
		}
	}
}

func (r *random) Each(f func(*Item)) {
	for _, it := range append([]*Item(nil), r.items...) {
		f(it)
	}
}

func (r *random) Len() int { return len(r.items) }
