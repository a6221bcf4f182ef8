// Command policy registers a scheduling policy of its own and runs tasks under it: the smallest go first.
package main

import (
	"errors"
	"flag"
	"fmt"
	"os"
	"slices"
	"strings"
	"sync"

	"github.com/gompss/gompss/sched"
	"github.com/gompss/gompss/task"
)

// smallest runs the item with the lowest number, given as its priority, of those that a place may run.
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

func main() {
	policy := flag.String("policy", "smallest", "scheduling policy: "+strings.Join(sched.Policies(), ", "))
	flag.Parse()
	order, err := run(*policy)
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
	fmt.Println(*policy, order)
}

// run submits tasks of different sizes while the only worker is busy, and returns the order in which they ran.
func run(policy string) (order []int, err error) {
	rt, err := task.New(task.Options{Devices: "smp:1", Policy: policy})
	if err != nil {
		return nil, err
	}
	var mu sync.Mutex
	begun, gate := make(chan struct{}), make(chan struct{})
	_, err = rt.Go(func() error { close(begun); <-gate; return nil })
	if err != nil {
		return nil, errors.Join(err, rt.Close())
	}
	<-begun
	for _, size := range []int{30, 10, 50, 20, 40} {
		_, failed := rt.Go(func() error {
			mu.Lock()
			defer mu.Unlock()
			order = append(order, size)
			return nil
		}, task.Priority(size))
		err = errors.Join(err, failed)
	}
	close(gate)
	return order, errors.Join(err, rt.Wait(), rt.Close())
}
