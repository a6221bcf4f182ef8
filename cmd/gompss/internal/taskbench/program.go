package taskbench

import (
	"errors"
	"fmt"
	"sync"
	"sync/atomic"

	"github.com/gompss/gompss/task"
)

// A program is a graph bound to memory of its own, ready to be submitted to a runtime.
type program struct {
	graph     *Graph
	cells     []int64
	bodies    []func() error
	kernel    kernel
	iteration *task.Iteration // nil when the tasks are submitted one by one
	once      []int32         // by task, where the cells do not tell how often it ran
	strayed   atomic.Int64    // accesses whose cell had another version
	backwards bool            // the last task is submitted first
}

// ErrOrder is the cause of errors about tasks that ran out of order, twice or never.
var ErrOrder = errors.New("out of order")

// turn is the task that is submitted as number i.
func (p *program) turn(i int) int {
	if p.backwards {
		return len(p.graph.nodes) - 1 - i
	}
	return i
}

// line is the number of elements that a cell takes: a cache line, so that workers share no line but
// by the accesses of their tasks. The first one holds the version.
const line = 8

func newProgram(rt *task.Runtime, g *Graph, k kernel) (*program, error) {
	p := &program{graph: g, kernel: k}
	var err error
	if p.cells, err = task.Alloc[int64](rt, g.cells*line); err != nil {
		return nil, err
	}
	p.bodies = make([]func() error, len(g.nodes))
	p.once = make([]int32, len(g.nodes)-g.writers())
	for i := range g.nodes {
		n := &g.nodes[i]
		if n.writer {
			p.bodies[i] = func() error { p.run(n); return nil }
		} else {
			p.bodies[i] = func() error { p.kernel.run(); p.once[i]++; return nil }
		}
	}
	return p, nil
}

// run is the body of a task.
func (p *program) run(n *node) {
	bad := p.look(n)
	p.kernel.run()
	bad += p.look(n)
	p.cells[n.writes.cell*line]++
	if bad > 0 {
		p.strayed.Add(bad)
	}
}

// look counts the accesses of n whose cells do not have the version that they should have.
func (p *program) look(n *node) (bad int64) {
	for i := range n.reads[:n.count] {
		if p.cells[n.reads[i].cell*line] != int64(n.reads[i].version) {
			bad++
		}
	}
	if p.cells[n.writes.cell*line] != int64(n.writes.version) {
		bad++
	}
	return bad
}

// submit submits all tasks in order.
func (p *program) submit(rt *task.Runtime) error {
	for i := range p.graph.nodes {
		if err := p.submitOne(rt, p.turn(i)); err != nil {
			return err
		}
	}
	return nil
}

func (p *program) submitOne(rt *task.Runtime, i int) error {
	n := &p.graph.nodes[i]
	at := p.at
	var last task.Option
	if n.own {
		last = task.InOut(at(&n.writes))
	} else if n.writer {
		last = task.Out(at(&n.writes))
	}
	var err error
	r := &n.reads
	switch {
	case !n.writer:
		_, err = rt.Go(p.bodies[i])
	case n.count == 0:
		_, err = rt.Go(p.bodies[i], last)
	case n.count == 1:
		_, err = rt.Go(p.bodies[i], task.In(at(&r[0])), last)
	case n.count == 2:
		_, err = rt.Go(p.bodies[i], task.In(at(&r[0])), task.In(at(&r[1])), last)
	case n.count == 3:
		_, err = rt.Go(p.bodies[i], task.In(at(&r[0])), task.In(at(&r[1])), task.In(at(&r[2])), last)
	case n.count == 4:
		_, err = rt.Go(p.bodies[i], task.In(at(&r[0])), task.In(at(&r[1])), task.In(at(&r[2])), task.In(at(&r[3])), last)
	default:
		_, err = rt.Go(p.bodies[i], task.In(at(&r[0])), task.In(at(&r[1])), task.In(at(&r[2])), task.In(at(&r[3])), task.In(at(&r[4])), last)
	}
	return err
}

// at returns the memory of a cell.
func (p *program) at(s *stamp) []int64 { return p.cells[s.cell*line : s.cell*line+line] }

// record records all tasks as an iteration.
func (p *program) record(rt *task.Runtime) (err error) {
	p.iteration, err = rt.Record(func(r *task.Recorder) error {
		for i := range p.graph.nodes {
			i = p.turn(i)
			n := &p.graph.nodes[i]
			var options []task.Option
			for k := range n.reads[:n.count] {
				options = append(options, task.In(p.at(&n.reads[k])))
			}
			if n.own {
				options = append(options, task.InOut(p.at(&n.writes)))
			} else if n.writer {
				options = append(options, task.Out(p.at(&n.writes)))
			}
			if err := r.Go(p.bodies[i], options...); err != nil {
				return err
			}
		}
		return nil
	})
	return err
}

// start submits all tasks, one after the other or as the iteration that was recorded.
func (p *program) start(rt *task.Runtime) error {
	if p.iteration == nil {
		return p.submit(rt)
	}
	_, err := p.iteration.Replay()
	return err
}

// reset makes the cells as they were before the first task.
func (p *program) reset() {
	clear(p.cells)
	clear(p.once)
	p.strayed.Store(0)
}

// check returns an error unless every task ran once and in order. Requires: all tasks have
// finished.
func (p *program) check() error {
	if n := p.strayed.Load(); n > 0 {
		return fmt.Errorf("bench tasks: %s: %d accesses %w", p.graph.Pattern, n, ErrOrder)
	}
	for i, n := range p.once {
		if n != 1 {
			return fmt.Errorf("bench tasks: %s: %w: task %d ran %d times", p.graph.Pattern, ErrOrder, i, n)
		}
	}
	want := make([]int64, p.graph.cells)
	for i := range p.graph.nodes {
		if n := &p.graph.nodes[i]; n.writer {
			want[n.writes.cell]++
		}
	}
	for c, v := range want {
		if p.cells[c*line] != v {
			return fmt.Errorf("bench tasks: %s: %w: cell %d was written %d times, not %d", p.graph.Pattern, ErrOrder, c, p.cells[c*line], v)
		}
	}
	return nil
}

// submitAll submits the programs at once, each from a goroutine of its own if there are several.
func submitAll(rt *task.Runtime, programs []*program) error {
	if len(programs) == 1 {
		return programs[0].start(rt)
	}
	var all sync.WaitGroup
	errs := make([]error, len(programs))
	for i, p := range programs {
		all.Go(func() { errs[i] = p.start(rt) })
	}
	all.Wait()
	for _, err := range errs {
		if err != nil {
			return err
		}
	}
	return nil
}
