package sched_test

import (
	"fmt"
	"slices"

	"github.com/gompss/gompss/sched"
)

// A newest policy runs the item that became ready last.
type newest struct {
	state *sched.State
	items []*sched.Item
}

func (p *newest) Push(it *sched.Item) { p.items = append(p.items, it) }
func (p *newest) Len() int            { return len(p.items) }

func (p *newest) Pop(at sched.PlaceID) *sched.Item {
	for i, it := range slices.Backward(p.items) {
		if p.state.Admit(it, at) {
			p.items = slices.Delete(p.items, i, i+1)
			return it
		}
	}
	return nil
}

func (p *newest) Remove(it *sched.Item) {
	p.items = slices.DeleteFunc(p.items, func(x *sched.Item) bool { return x == it })
}

func (p *newest) Each(f func(*sched.Item)) {
	for _, it := range slices.Clone(p.items) {
		f(it)
	}
}

// A program registers a policy and names it in task.Options{Policy: "newest"}.
func ExampleRegister() {
	sched.Register("newest", func(s *sched.State) sched.Policy { return &newest{state: s} })
	fmt.Println(slices.Contains(sched.Policies(), "newest"))
	// Output: true
}

func ExamplePolicies() {
	fmt.Println(slices.Contains(sched.Policies(), sched.DefaultPolicy))
	// Output: true
}
