package task

import (
	"fmt"
	"strings"

	"github.com/gompss/gompss/sched"
)

// A LeakError says what a runtime still held when Close had waited for its tasks: our own mistake,
// and no failure of a task.
type LeakError struct {
	Held []string
}

func (e *LeakError) Error() string {
	return "gompss: bug: task: close: still held: " + strings.Join(e.Held, "; ")
}

// leak returns a *LeakError when something is not back where it was before the first task.
// Requires: no task is in flight and the workers have ended.
func (rt *Runtime) leak() error {
	e := &LeakError{}
	e.count("tasks in the window", rt.window.Live())
	e.count("open reductions", int64(len(rt.root.reductions)))
	if d := rt.root.graph.domain; d != nil {
		e.count("regions of tasks in the graph", int64(d.Busy()))
	}
	e.count("commutative regions of tasks", int64(rt.root.exclusion.Len()))
	rt.ready.leakOfScheduler(e)
	rt.leakOfRecords(e)
	rt.leakOfPrivates(e)
	if text := rt.topology.machine.Leak(); text != "" {
		e.Held = append(e.Held, text)
	}
	if len(e.Held) == 0 {
		return nil
	}
	return e
}

func (e *LeakError) count(what string, n int64) {
	if n != 0 {
		e.Held = append(e.Held, fmt.Sprintf("%s: %d", what, n))
	}
}

func (hq *readyQueues) leakOfScheduler(e *LeakError) {
	hq.mu.Lock()
	defer hq.mu.Unlock()
	e.count("ready tasks", int64(hq.sched.Len()))
	e.count("tasks for workers", int64(hq.handedOffLen))
	e.count("data being fetched", int64(hq.fetching))
	e.count("tasks with concurrent accesses", int64(len(hq.concurrent.held)+hq.concurrent.waiting))
	for p, place := range hq.topology.places {
		id := sched.PlaceID(p)
		e.count("tasks on "+place.Name, int64(hq.sched.Load(id)))
		e.count("tokens of "+string(place.Kind), int64(hq.sched.Limit(id)-hq.sched.Free(id)))
	}
	for p, place := range hq.topology.places {
		e.count("tasks counted on "+place.Name, hq.counts.held[p].n.Load())
	}
	for i := range hq.pool.states {
		if hq.pool.states[i].next != nil {
			e.count("tasks taken by a worker", 1)
		}
	}
	e.count("simple tasks", hq.pool.simple.Len())
}

// leakOfRecords compares the free records and details with those that were allocated.
func (rt *Runtime) leakOfRecords(e *LeakError) {
	free, made := rt.countRecords()
	e.count("records", made-free)
	n := int64(0)
	for d := rt.freeDetails.list; d != nil; d = d.next {
		n++
	}
	if rt.topology.accelerators {
		shelved, _ := rt.recordShards.count()
		n += shelved
	}
	e.count("details of records", rt.freeDetails.made-n)
}

// leakOfPrivates counts the private copies of reductions that are in no list of spare ones.
func (rt *Runtime) leakOfPrivates(e *LeakError) {
	n := int64(0)
	for _, b := range rt.buffers.List() {
		if b.Copied {
			n++
		}
	}
	for _, list := range rt.spares {
		for _, c := range list {
			if n--; c.busy {
				e.count("busy private copies", 1)
			}
		}
	}
	e.count("private copies", n)
}
