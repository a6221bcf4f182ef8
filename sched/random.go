package sched

import "math/rand/v2"

// random gives a place any item that may run there: for tests, which must hold under every order.
type random struct {
	state *State
	items []*Item
	rng   *rand.Rand
}

func newRandom(s *State) Policy {
	return &random{state: s, rng: rand.New(rand.NewPCG(s.Seed, 0x9e3779b97f4a7c15))}
}

func (r *random) Push(it *Item) { r.items = append(r.items, it) }

func (r *random) Pop(p PlaceID) *Item {
	n := len(r.items)
	if n == 0 {
		return nil
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
