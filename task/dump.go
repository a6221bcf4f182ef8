package task

import (
	"cmp"
	"context"
	"fmt"
	"io"
	"iter"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/gompss/gompss/codegen/ir"
	"github.com/gompss/gompss/deps"
	"github.com/gompss/gompss/devices"
	"github.com/gompss/gompss/internal/spin"
	"github.com/gompss/gompss/sched"
	"github.com/gompss/gompss/task/internal/life"
	"github.com/gompss/gompss/task/internal/state"
	"github.com/gompss/gompss/trace/probe"
)

// This file says what the tasks in flight wait for. It costs nothing until it is asked: it looks at
// the records, which belong to other goroutines, and throws away what was read of a record that has
// become another task's meanwhile.

const (
	dumpTasks    = 100              // rows of Dump
	errorTasks   = 3                // in the error of a wait
	stalledAfter = 10 * time.Second // without a finished task, a run counts as stalled
	sampleEvery  = time.Second
	lockPatience = 50 * time.Millisecond // of an observer: a run that is stalled may stand still with a lock
)

// Dump writes what is in flight: the numbers of tasks that are blocked, ready and running, and the
// oldest 100 tasks with their line, state, what they wait for and since when. It may be called at
// any time from any goroutine, also of a body: for a run that does not end. On Unix a program
// prints it when it gets SIGQUIT.
//
// Where the run is not traced, "since" counts from when a wait of the program first saw the task,
// so that it may be longer.
func (rt *Runtime) Dump(w io.Writer) error {
	if !rt.usable() {
		return rt.unusable("Runtime.Dump")
	}
	return rt.Status(dumpTasks).Write(w)
}

// Status is Dump for programs: the run at this moment, with the oldest most tasks in flight.
func (rt *Runtime) Status(most int) *Status {
	rt.mustBeUsable("Runtime.Status")
	return rt.status(most, 0)
}

// A recordRegistry is all records that were ever made: they are used again, and live as long as the
// runtime.
type recordRegistry struct {
	mu   spin.Mutex
	list []*record
}

func (g *recordRegistry) add(r *record) *record {
	spin.Lock(&g.mu)
	g.list = append(g.list, r)
	g.mu.Unlock()
	return r
}

func (g *recordRegistry) all() []*record {
	spin.Lock(&g.mu)
	defer g.mu.Unlock()
	return g.list[:len(g.list):len(g.list)]
}

// A sighting is a record as it was when it was looked at.
type sighting struct {
	r     *record // the record itself,
	d     *detail // and its detail
	id    deps.TaskID
	state state.State
	copy  record // what is read of it without a lock
	info  detail
	by    []deps.TaskID
	at    sched.PlaceID
}

// look copies what a report needs of a task in flight. It reports false where the record is no
// task, or not the same all the time.
//
// The fields are written by other goroutines. A task is described before it has its id, and loses
// its id before it is cleared, so that they are those of one task where the id is the same before
// and after.
//
//go:norace
func (v *sighting) look(r *record) bool {
	id := r.life.ID()
	d := r.detail
	if id == 0 || d == nil {
		return false
	}
	v.r, v.d, v.id = r, d, id
	v.copy.detail = &v.info
	v.copy.kind, v.copy.traits, v.state, v.copy.body = r.kind, r.traits, r.life.State(), r.body
	v.info.rt, v.info.label, v.info.pos, v.info.origin, v.info.kernel = d.rt, d.label, d.pos, d.origin, d.kernel
	v.info.bodyCtx, v.info.nested, v.info.inner, v.info.replayRun = d.bodyCtx, d.nested, d.inner, d.replayRun
	v.info.trace.Submit, v.info.trace.ID = d.trace.Submit, d.trace.ID
	return r.life.ID() == id && r.detail == d
}

// status looks at the run. first, if not 0, is a task that is listed before all others.
func (rt *Runtime) status(most int, first deps.TaskID) *probe.Status {
	rt.samples.take(rt)
	live := rt.Live()
	s := &probe.Status{Submitted: rt.window.Entered.Load() - rt.waits.Load(), Ready: live.Ready, Running: live.Running, Idle: rt.samples.idle(rt)}
	s.Done = s.Submitted - rt.window.ObservedLive()
	if rt.window.Limit < 1<<62 {
		s.Window = rt.window.Limit
	}
	rt.samples.estimate(s, rt.observers.now())
	seen, flying, blocked := rt.sight(most, first)
	s.Blocked = int64(blocked)
	s.Waiting = max(0, int64(flying)-s.Blocked-s.Ready-s.Running)
	s.More = max(0, int64(flying-len(seen)))
	rt.findPredecessors(seen)
	queued := rt.pool.inSimpleQueues()
	locked := tryLock(&rt.ready.mu)
	for _, v := range seen {
		s.Tasks = append(s.Tasks, rt.report(v, queued[v.r], locked))
	}
	if locked {
		rt.ready.mu.Unlock()
	}
	for i, v := range seen {
		if k := &s.Tasks[i]; k.State == "running" && v.at >= 0 && v.at != rt.topology.host && locked {
			if memory := rt.topology.machine.WaitsForMemory(&v.d.set); memory != "" {
				k.State, k.Waits = "waiting", memory+" "+rt.topology.places[v.at].Name
			}
		}
	}
	s.Tasks = slices.DeleteFunc(s.Tasks, func(k probe.InFlight) bool { // those that have ended meanwhile
		return !slices.ContainsFunc(seen, func(v *sighting) bool { return v.id == k.ID && v.r.taskID() == v.id })
	})
	if s.Idle >= stalledAfter && flying > 0 {
		s.Stalled()
	}
	return s
}

// sight looks at the oldest tasks in flight, and counts all but waits, and those with predecessors.
func (p *recordPools) sight(most int, first deps.TaskID) (seen []*sighting, flying, blocked int) {
	type entry struct {
		id deps.TaskID
		r  *record
	}
	var list []entry
	for _, r := range p.madeRecords.all() {
		if id := r.taskID(); id != 0 {
			list = append(list, entry{id, r})
		}
	}
	slices.SortFunc(list, func(a, b entry) int {
		if (a.id == first) != (b.id == first) {
			return cmp.Compare(bit(a.id != first), bit(b.id != first))
		}
		return cmp.Compare(a.id, b.id)
	})
	for _, e := range list {
		v := &sighting{at: -1}
		if !v.look(e.r) || v.copy.kind.waits() {
			continue
		}
		if v.r.node.Pending() > 0 {
			blocked++
		}
		if flying++; len(seen) < most {
			seen = append(seen, v)
		}
	}
	return seen, flying, blocked
}

// findPredecessors finds which tasks in flight those that were seen wait for.
func (p *recordPools) findPredecessors(seen []*sighting) {
	blocked := map[*deps.Node]*sighting{}
	for _, v := range seen {
		if v.r.node.Pending() > 0 {
			blocked[&v.r.node] = v
		}
	}
	if len(blocked) == 0 {
		return
	}
	var next []*deps.Node
	for _, r := range p.madeRecords.all() {
		id := r.taskID()
		if id == 0 {
			continue
		}
		next = r.node.Successors(next[:0], 1<<16)
		if r.taskID() != id {
			continue
		}
		for _, n := range next {
			if v := blocked[n]; v != nil && v.id != id && !slices.Contains(v.by, id) {
				v.by = append(v.by, id)
			}
		}
	}
	for _, v := range seen {
		slices.Sort(v.by)
	}
}

// inSimpleQueues returns the records that wait for a worker and that the scheduler does not hold.
func (wp *workerPool) inSimpleQueues() map[*record]bool {
	out := map[*record]bool{}
	wp.simple.Each(tryLock, func(r *record) { out[r] = true })
	return out
}

func tryLock(mu *spin.Mutex) bool {
	for end := time.Now().Add(lockPatience); !mu.TryLock(); time.Sleep(time.Millisecond) {
		if time.Now().After(end) {
			return false
		}
	}
	return true
}

// report describes the state of a task. Requires: mu held, if locked is set.
func (rt *Runtime) report(v *sighting, queued, locked bool) probe.InFlight {
	k := probe.InFlight{ID: v.id, Label: v.copy.errorLabel(), At: lineOf(v.copy.position()), State: "running", Since: rt.samples.age(rt, v)}
	if k.Label == "" {
		k.Label = unlabelled
	}
	rt.observers.place(v, locked)
	switch {
	case v.r.node.Pending() > 0 && !v.state.Early():
		k.State, k.Waits = "blocked", "tasks before it"
		if n := len(v.by); n > 0 {
			k.By, k.Waits = v.by[n-1], fmt.Sprintf("task %d", v.by[n-1])
			if n > 1 {
				k.Waits += fmt.Sprintf(" and %d more", n-1)
			}
		}
	case queued:
		k.State, k.Waits = "ready", "a CPU worker"
	case locked && !v.copy.traits.Is(life.Simple) && rt.observers.itemQueued(v):
		k.State, k.Waits = "ready", rt.ready.wantsPlace(v)
	case v.state.Wants():
		k.State, k.Waits = "waiting", "a CPU worker, to go on"
	case locked && !v.copy.traits.Is(life.Simple) && v.at < 0 && v.copy.traits.Is(life.Relaxed):
		k.State, k.Waits = "blocked", "tasks with the same concurrent or commutative data"
	case v.info.inner != nil && innerWait(v.info.inner) != "":
		k.State, k.Waits = "waiting", innerWait(v.info.inner)
	case v.at >= 0:
		k.Waits = rt.topology.places[v.at].Name
	default:
		k.Waits = string(devices.SMP)
	}
	return k
}

// place finds where the scheduler has put the task.
//
//go:norace
func (ob *observers) place(v *sighting, locked bool) {
	if locked && !v.copy.traits.Is(life.Simple) && v.d != ob.none && v.d.item.InFlight() {
		v.at = v.d.item.Place()
	}
}

//go:norace
func (ob *observers) itemQueued(v *sighting) bool {
	return v.d != ob.none && v.d.item.Queued()
}

// wantsPlace says what a task in the scheduler waits for. Requires: mu held.
//
//go:norace
func (hq *readyQueues) wantsPlace(v *sighting) string {
	var names []string
	it := &v.d.item
	for p := range hq.topology.places {
		if id := sched.PlaceID(p); it.Allowed.Has(id) {
			name := hq.topology.places[p].Name
			if need, free := hq.sched.Need(it, id), hq.sched.Free(id); need > free {
				name = fmt.Sprintf("%d tokens of %s, of which %d are free", need, hq.topology.places[p].Kind, free)
			}
			names = append(names, name)
		}
	}
	return strings.Join(names, " or ")
}

// innerWait says what a task waits for whose body has returned, or waits itself; "" for one that
// runs.
func innerWait(s *Scope) string {
	pending := s.pending.Load()
	children, reasons := pending&(holder-1), pending/holder
	switch returned := s.body.Load() == bodyFinished; {
	case returned && reasons == 1:
		return "an event that is not fulfilled"
	case returned && reasons > 1:
		return fmt.Sprintf("%d events that are not fulfilled", reasons)
	case returned && children > 0, s.waiting.Load() != noWaiter && children > 0:
		return fmt.Sprintf("%d of its children", children)
	}
	return ""
}

func lineOf(p ir.Pos) string {
	if p.File == "" {
		return ""
	}
	return fmt.Sprintf("%s:%d", p.File, p.Line)
}

// withStatus adds to the error of a wait that was given up what the first tasks in flight do; first
// is the task that was waited for, 0 for all.
func (rt *Runtime) withStatus(err error, first deps.TaskID) error {
	if err == nil {
		return nil
	}
	s := rt.status(errorTasks, first)
	if len(s.Tasks) == 0 {
		return err
	}
	var lines []string
	for i := range s.Tasks {
		lines = append(lines, s.Tasks[i].Line())
	}
	if n := s.More; n > 0 {
		lines = append(lines, fmt.Sprintf("%d more are in flight", n))
	}
	return &WaitError{err, strings.Join(lines, "; ")}
}

// A WaitError means that the context of a wait ended. It lists the states of the first tasks in
// flight at that time. The tasks continue.
type WaitError struct {
	Err   error // with the cause of the context
	Tasks string
}

func (e *WaitError) Error() string { return e.Err.Error() + ": " + e.Tasks }
func (e *WaitError) Unwrap() error { return e.Err }

// samples is when how many tasks had been submitted and had ended: what "since" and "no progress"
// are found from. A wait starts it, and it stops by itself when nothing is in flight.
type samples struct {
	running atomic.Bool // the timer is set
	mu      sync.Mutex
	timer   *time.Timer
	closed  bool
	ended   int64 // when last looked
	// expected is what Expect was told, and when and behind how many tasks.
	expected, before int64
	since            time.Duration
	changed          time.Duration
	list             []sample // by time
}

type sample struct {
	at      time.Duration
	entered int64
}

const keptSamples = 128

// start takes samples from now on, while tasks are in flight.
func (p *samples) start(rt *Runtime) {
	if rt.virtual != nil || p.running.Load() || rt.window.Live() == 0 || p.running.Swap(true) {
		return
	}
	p.take(rt)
	p.mu.Lock()
	defer p.mu.Unlock()
	switch {
	case p.closed:
	case p.timer == nil:
		p.timer = time.AfterFunc(sampleEvery, func() { p.tick(rt) })
	default:
		p.timer.Reset(sampleEvery)
	}
}

func (p *samples) tick(rt *Runtime) {
	p.take(rt)
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.closed || rt.window.Live() == 0 {
		p.running.Store(false)
		return
	}
	p.timer.Reset(sampleEvery)
}

func (p *samples) stop() {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.closed = true; p.timer != nil {
		p.timer.Stop()
	}
}

func (p *samples) take(rt *Runtime) {
	now, ended, entered := rt.observers.now(), rt.window.Finished(), rt.window.Entered.Load()
	p.mu.Lock()
	defer p.mu.Unlock()
	if ended != p.ended || p.changed == 0 {
		p.ended, p.changed = ended, now
	}
	if n := len(p.list); n == 0 || p.list[n-1].entered != entered {
		if n == keptSamples { // every other one: ages get coarser with the length of the run
			for i := range n / 2 {
				p.list[i] = p.list[2*i]
			}
			p.list = p.list[:n/2]
		}
		p.list = append(p.list, sample{now, entered})
	}
}

// Expect says that the program is going to submit so many more tasks, those of tasks included:
// Status, Progress and the live page then say what part of them has ended, and how long the rest
// will take at the rate so far. A later call counts from there; 0 ends the estimate. It is for
// people, and nothing else depends on it.
func Expect(rt *Runtime, tasks int64) {
	rt.mustBeUsable("Expect")
	live, entered, now := rt.window.ObservedLive(), rt.window.Entered.Load()-rt.waits.Load(), rt.observers.now()
	p := &rt.samples
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.expected = 0; tasks > 0 {
		p.before, p.expected, p.since = entered-live, tasks+live, now
	}
}

// estimate adds to s what was expected. The count of a new Expect begins with the tasks that had
// ended before it.
func (p *samples) estimate(s *probe.Status, now time.Duration) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.expected == 0 {
		return
	}
	s.Expected = p.before + p.expected
	if done := s.Done - p.before; done > 0 && s.Done < s.Expected {
		s.Left = time.Duration(float64(now-p.since) / float64(done) * float64(s.Expected-s.Done))
	}
}

// idle is the least possible time since the last end of a task.
func (p *samples) idle(rt *Runtime) time.Duration {
	now := rt.observers.now()
	p.mu.Lock()
	defer p.mu.Unlock()
	return now - p.changed
}

// age is the time that a task has been in flight, at least.
func (p *samples) age(rt *Runtime, v *sighting) time.Duration {
	now := rt.observers.now()
	if v.info.trace.ID == v.id && v.info.trace.Submit > 0 {
		return now - v.info.trace.Submit
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	i, found := slices.BinarySearchFunc(p.list, int64(v.id), func(s sample, id int64) int { return cmp.Compare(s.entered, id) })
	if i == len(p.list) && !found {
		return 0
	}
	return now - p.list[i].at
}

// awaits starts samples for a wait of the program.
func (rt *Runtime) awaits() { rt.samples.start(rt) }

// Progress yields what the run does, at once, then every so often (a millisecond at least), and a
// last time when no task is in flight; then, and when ctx ends, it ends. It is for a line of
// progress in place of waiting silently, and no wait itself: data are valid on the host after Wait.
//
//	for s := range rt.Progress(ctx, time.Second) {
//		fmt.Printf("\r%d of %d tasks", s.Done, s.Submitted)
//	}
//	err := rt.Wait(ctx)
//
// In the body of a task, which would wait for itself, it yields once.
func (rt *Runtime) Progress(ctx context.Context, every time.Duration) iter.Seq[*Status] {
	return func(yield func(*Status) bool) {
		rt.mustBeUsable("Runtime.Progress")
		for {
			over := rt.window.Live() == 0 || ctx.Err() != nil || insideBody()
			if !yield(rt.status(0, 0)) || over {
				return
			}
			rt.root.endReductions()
			tick, cancel := context.WithTimeout(ctx, max(every, time.Millisecond))
			_ = rt.window.Wait(0, tick) // it ends with the tasks, or the time
			cancel()
		}
	}
}
