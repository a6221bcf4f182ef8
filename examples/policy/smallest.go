package main

import (
	"slices"

	"github.com/gompss/gompss/sched"
)

// smallest runs the item with the lowest number, given as its priority, of those that a place may
// run.
type smallest struct {
	state *sched.State
	items []*sched.Item
}

func init() {
	sched.Register("smallest", func(s *sched.State) sched.Policy { return &smallest{state: s} })
}

func (p *smallest) Push(it *sched.Item) { p.items = append(p.items, it) }

func (p *smallest) Pop(at sched.PlaceID) *sched.Item {
	slices.SortStableFunc(p.items, func(a, b *sched.Item) int { return a.Priority - b.Priority })
	for _, it := range p.items {
		if p.state.Admit(it, at) { // it may run there, and its tokens are free
			p.Remove(it)
			return it
		}
	}
	return nil
}

func (p *smallest) Remove(it *sched.Item) {
	p.items = slices.DeleteFunc(p.items, func(x *sched.Item) bool { return x == it })
}

func (p *smallest) Each(f func(*sched.Item)) {
	for _, it := range slices.Clone(p.items) {
		f(it)
	}
}

func (p *smallest) Len() int { return len(p.items) }
