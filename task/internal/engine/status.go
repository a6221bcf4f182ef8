package engine

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"github.com/gompss/gompss/deps"
	"github.com/gompss/gompss/devices"
	"github.com/gompss/gompss/internal/spin"
	"github.com/gompss/gompss/sched"
	"github.com/gompss/gompss/task/internal/life"
	"github.com/gompss/gompss/task/internal/state"
	"github.com/gompss/gompss/trace/probe"
)

// This file reports the state of the tasks in flight. It has no cost until it is called. It reads
// the records of other goroutines, and discards the result if the record has been reused for
// another task meanwhile.

const (
	DumpTasks    = 100              // rows of Dump
	ErrorTasks   = 3                // in the error of a wait
	StalledAfter = 10 * time.Second // without a finished task, a run counts as stalled
	sampleEvery  = time.Second
	lockPatience = 50 * time.Millisecond // of an observer: the holder of a lock may have stalled
)

// A recordRegistry lists all records of a runtime. Records are recycled, and live as long as the
// runtime.
type recordRegistry struct {
	mu   spin.Mutex
	list []*Record
}

func (g *recordRegistry) add(r *Record) *Record {
	spin.Lock(&g.mu)
	g.list = append(g.list, r)
	g.mu.Unlock()
	return r
}

func (g *recordRegistry) all() []*Record {
	spin.Lock(&g.mu)
	defer g.mu.Unlock()
	return g.list[:len(g.list):len(g.list)]
}

// A Sighting is a copy of a record at the time of a report.
type Sighting struct {
	R     *Record // the record itself,
	D     *Detail // and its detail
	ID    deps.TaskID
	State state.State
	Copy  Record // the fields that are read without a lock
	Info  Detail
	By    []deps.TaskID
	At    sched.PlaceID
}

// look copies the fields of a record that a report needs. It returns false if the record is not a
// task, or was reused during the copy.
//
// Other goroutines write the fields. A task gets its id after its fields are set, and loses its id
// before they are cleared. If the id is the same before and after the copy, the fields belong to
// one task.
//
//go:norace
func (v *Sighting) look(r *Record) bool {
	id := r.Life.ID()
	d := r.Detail
	if id == 0 || d == nil {
		return false
	}
	v.R, v.D, v.ID = r, d, id
	v.Copy.Detail = &v.Info
	v.Copy.Kind, v.Copy.Traits, v.State, v.Copy.Body = r.Kind, r.Traits, r.Life.State(), r.Body
	v.Info.RT, v.Info.Label, v.Info.Pos, v.Info.Origin, v.Info.Kernel = d.RT, d.Label, d.Pos, d.Origin, d.Kernel
	v.Info.BodyCtx, v.Info.Nested, v.Info.Inner, v.Info.Replay = d.BodyCtx, d.Nested, d.Inner, d.Replay
	v.Info.Steps, v.Info.Step = d.Steps, d.Step
	v.Info.Trace.Submit, v.Info.Trace.ID = d.Trace.Submit, d.Trace.ID
	return r.Life.ID() == id && r.Detail == d
}

// Sight copies the records of the oldest tasks in flight. It also counts the tasks in flight,
// except waits, and those among them with predecessors.
func (p *recordPools) Sight(most int, first deps.TaskID) (seen []*Sighting, flying, blocked int) {
	type entry struct {
		id deps.TaskID
		r  *Record
	}
	var list []entry
	for _, r := range p.madeRecords.all() {
		if id := r.TaskID(); id != 0 {
			list = append(list, entry{id, r})
		}
	}
	slices.SortFunc(list, func(a, b entry) int {
		if (a.id == first) != (b.id == first) {
			return cmp.Compare(Bit(a.id != first), Bit(b.id != first))
		}
		return cmp.Compare(a.id, b.id)
	})
	for _, e := range list {
		v := &Sighting{At: -1}
		if !v.look(e.r) || v.Copy.Kind.Waits() {
			continue
		}
		if v.R.Node.Pending() > 0 {
			blocked++
		}
		if flying++; len(seen) < most {
			seen = append(seen, v)
		}
	}
	return seen, flying, blocked
}

// FindPredecessors determines the tasks in flight for which the seen tasks wait.
func (p *recordPools) FindPredecessors(seen []*Sighting) {
	blocked := map[*deps.Node]*Sighting{}
	for _, v := range seen {
		if v.R.Node.Pending() > 0 {
			blocked[&v.R.Node] = v
		}
	}
	if len(blocked) == 0 {
		return
	}
	var next []*deps.Node
	for _, r := range p.madeRecords.all() {
		id := r.TaskID()
		if id == 0 {
			continue
		}
		next = r.Node.Successors(next[:0], 1<<16)
		if r.TaskID() != id {
			continue
		}
		for _, n := range next {
			if v := blocked[n]; v != nil && v.ID != id && !slices.Contains(v.By, id) {
				v.By = append(v.By, id)
			}
		}
	}
	for _, v := range seen {
		slices.Sort(v.By)
	}
}

// InSimpleQueues returns the tasks that wait for a worker in queues other than the scheduler's.
func (wp *workerPool) InSimpleQueues() map[*Record]bool {
	out := map[*Record]bool{}
	wp.Simple.Each(TryLock, func(r *Record) { out[r] = true })
	return out
}

func TryLock(mu *spin.Mutex) bool {
	for end := time.Now().Add(lockPatience); !mu.TryLock(); time.Sleep(time.Millisecond) {
		if time.Now().After(end) {
			return false
		}
	}
	return true
}

// Place sets the place in the scheduler's queues at which the task waits.
//
//go:norace
func (ob *Observers) Place(v *Sighting, locked bool) {
	if locked && !v.Copy.Traits.Is(life.Simple) && v.D != ob.None && v.D.Item.InFlight() {
		v.At = v.D.Item.Place()
	}
}

//go:norace
func (ob *Observers) ItemQueued(v *Sighting) bool {
	return v.D != ob.None && v.D.Item.Queued()
}

// WantsPlace describes the resource that a task in the scheduler waits for.
// Requires: mu held.
//
//go:norace
func WantsPlace(hq *readyQueues, v *Sighting) string {
	var names []string
	it := &v.D.Item
	for p := range hq.Topology.Places {
		if id := sched.PlaceID(p); it.Allowed.Has(id) {
			name := hq.Topology.Places[p].Name
			if need, free := hq.Sched.Need(it, id), hq.Sched.Free(id); need > free {
				name = fmt.Sprintf("%d tokens of %s, of which %d are free", need, hq.Topology.Places[p].Kind, free)
			}
			names = append(names, name)
		}
	}
	return strings.Join(names, " or ")
}

// samples records over time how many tasks have been submitted and have ended. Reports derive the
// age of a task, and the time without progress, from it. A wait starts the sampling; it stops by
// itself when no task is in flight.
type samples struct {
	running atomic.Bool // the timer is set
	mu      sync.Mutex
	timer   *time.Timer
	closed  bool
	ended   int64 // at the last sample
	// expected derives from the argument of Expect. before is the number of tasks that had ended
	// before, and since is the time of the call.
	expected, before int64
	since            time.Duration
	changed          time.Duration
	replayed         int64    // steps of replays that had finished when nothing else had for a while
	list             []sample // in ascending order of time
}

type sample struct {
	at      time.Duration
	entered int64
}

const keptSamples = 128

// start takes a sample, and further ones at intervals while tasks are in flight.
func (p *samples) start(rt *Runtime) {
	if rt.Virtual != nil || p.running.Load() || rt.Window.Live() == 0 || p.running.Swap(true) {
		return
	}
	p.Take(rt)
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
	p.Take(rt)
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.closed || rt.Window.Live() == 0 {
		p.running.Store(false)
		return
	}
	p.timer.Reset(sampleEvery)
}

func (p *samples) Stop() {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.closed = true; p.timer != nil {
		p.timer.Stop()
	}
}

func (p *samples) Take(rt *Runtime) {
	now, ended, entered := rt.Observers.Now(), rt.Window.Finished(), rt.Window.Entered.Load()
	replayed := int64(-1)
	if p.quiet(now) {
		replayed = rt.finishedSteps()
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	if ended != p.ended || p.changed == 0 || replayed >= 0 && replayed != p.replayed {
		p.ended, p.changed = ended, now
	}
	if replayed >= 0 {
		p.replayed = replayed
	}
	if n := len(p.list); n == 0 || p.list[n-1].entered != entered {
		if n == keptSamples { // drop every other sample: the ages become less accurate in a long run
			for i := range n / 2 {
				p.list[i] = p.list[2*i]
			}
			p.list = p.list[:n/2]
		}
		p.list = append(p.list, sample{now, entered})
	}
}

// quiet reports whether no task has ended for a while.
func (p *samples) quiet(now time.Duration) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return now-p.changed >= sampleEvery
}

// finishedSteps returns the number of steps of the replays in flight that have finished, of steps
// that are no tasks.
func (p *recordPools) finishedSteps() (n int64) {
	for _, r := range p.madeRecords.all() {
		v := &Sighting{At: -1}
		if r.TaskID() != 0 && v.look(r) && v.Info.Replay != nil {
			_, finished := v.Waits()
			n += finished
		}
	}
	return n
}

// Waits describes the steps of a replay that run now, and returns how many have finished.
func (v *Sighting) Waits() (what string, finished int64) {
	if v.Info.Replay == nil {
		return "", 0
	}
	return v.Info.Replay.Waits(func() bool { return v.R.TaskID() == v.ID })
}

// Expect starts an estimate of the time for the given number of further tasks; 0 stops it.
func (p *samples) Expect(rt *Runtime, tasks int64) {
	entered, live := rt.Window.Submitted()
	entered -= rt.Waits.Load()
	now := rt.Observers.Now()
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.expected = 0; tasks > 0 {
		p.before, p.expected, p.since = entered-live, tasks+live, now
	}
}

// Estimate adds the expected number of tasks and the estimated time to s. Tasks that had ended
// before the last Expect do not count.
func (p *samples) Estimate(s *probe.Status, now time.Duration) {
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

// Idle returns a lower bound of the time since the last end of a task.
func (p *samples) Idle(rt *Runtime) time.Duration {
	now := rt.Observers.Now()
	p.mu.Lock()
	defer p.mu.Unlock()
	return now - p.changed
}

// Age returns a lower bound of the time that a task has been in flight.
func (p *samples) Age(rt *Runtime, v *Sighting) time.Duration {
	now := rt.Observers.Now()
	if v.Info.Trace.ID == v.ID && v.Info.Trace.Submit > 0 {
		return now - v.Info.Trace.Submit
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	i, found := slices.BinarySearchFunc(p.list, int64(v.ID), func(s sample, id int64) int { return cmp.Compare(s.entered, id) })
	if i == len(p.list) && !found {
		return 0
	}
	return now - p.list[i].at
}

// Awaits starts the sampling for a wait of the program.
func Awaits(rt *Runtime) { rt.Samples.start(rt) }

// A LeakError lists resources that a runtime still held after Close had waited for its tasks: a bug
// of the runtime, not a failure of a task.
type LeakError struct {
	Held []string
}

func (e *LeakError) Error() string {
	return "gompss: bug: task: close: still held: " + strings.Join(e.Held, "; ")
}

func AddLeak(e *LeakError, what string, n int64) {
	if n != 0 {
		e.Held = append(e.Held, fmt.Sprintf("%s: %d", what, n))
	}
}

func LeakOfScheduler(hq *readyQueues, e *LeakError) {
	hq.Mu.Lock()
	defer hq.Mu.Unlock()
	AddLeak(e, "ready tasks", int64(hq.Sched.Len()))
	AddLeak(e, "tasks for workers", int64(hq.HandedOffLen))
	AddLeak(e, "data being fetched", int64(hq.fetching))
	AddLeak(e, "tasks with concurrent accesses", int64(len(hq.Concurrent.Held)+hq.Concurrent.waiting))
	for p, place := range hq.Topology.Places {
		id := sched.PlaceID(p)
		AddLeak(e, "tasks on "+place.Name, int64(hq.Sched.Load(id)))
		AddLeak(e, "tokens of "+string(place.Kind), int64(hq.Sched.Limit(id)-hq.Sched.Free(id)))
	}
	for p, place := range hq.Topology.Places {
		AddLeak(e, "tasks counted on "+place.Name, hq.Counts.Held[p].N.Load())
	}
	for i := range hq.Pool.States {
		if hq.Pool.States[i].next != nil {
			AddLeak(e, "tasks taken by a worker", 1)
		}
	}
	AddLeak(e, "simple tasks", hq.Pool.Simple.Len())
}

// Counts are updated by all goroutines that start and end tasks.
type Counts struct {
	Ran   []PlaceCount
	Held  []PlaceCount // granted and not finished
	Kind  []int        // index of the kind of each place
	Kinds []devices.Kind
	Most  []int64 // the maximum of concurrent tasks, by kind; guarded by readyQueues.Mu
}

// A PlaceCount is a number of tasks at a place.
type PlaceCount struct {
	N atomic.Int64
	_ spin.Line
}

// Grant counts a task that is granted to p.
// Requires: readyQueues.Mu held.
func (c *Counts) Grant(p sched.PlaceID) {
	c.grantUncounted(p)
	of, n := c.Kind[p], int64(0)
	for q := range c.Held {
		if c.Kind[q] == of {
			n += c.Held[q].N.Load()
		}
	}
	c.Most[of] = max(c.Most[of], n)
}

// grantUncounted is Grant for a place with its own counter and without the total.
func (c *Counts) grantUncounted(p sched.PlaceID) { c.Held[p].N.Add(1) }

func (c *Counts) End(p sched.PlaceID) { c.Held[p].N.Add(-1) }
