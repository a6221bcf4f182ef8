package record

import (
	"errors"
	"sync"
	"time"

	"github.com/gompss/gompss/deps"
	"github.com/gompss/gompss/trace/probe"
)

// A Sink takes what was recorded, from one goroutine.
type Sink interface {
	Open(m *probe.Machine) error
	Take(b *Batch) error
	// Close is called once, after the last batch, also when Take has failed.
	Close() error
}

// Options are those of a Recorder. The zero value works, and drops everything for want of sinks.
type Options struct {
	// Slots is the size of each ring; 0 chooses by the number of rings.
	Slots int
	// Every is the longest time between two batches while there is something; 0 is 20 ms.
	Every time.Duration
	Sinks []Sink
}

// A Recorder is a probe.Recorder that keeps tasks in rings and hands them to sinks. Close must be called after the runtime's.
type Recorder struct {
	options Options
	tasks   rings[probe.Task]
	briefs  rings[brief]
	details rings[Detail]
	points  rings[probe.Point]
	workers int

	wake         chan struct{}
	stop         chan struct{}
	done         sync.WaitGroup
	open, closed bool
	errs         []error // by sink, then those of Close; of the collecting goroutine until it is over
}

// New returns a recorder. It records from Open on, which the runtime calls.
func New(o Options) *Recorder {
	if o.Every <= 0 {
		o.Every = 20 * time.Millisecond
	}
	return &Recorder{options: o, wake: make(chan struct{}, 1), stop: make(chan struct{})}
}

// A brief is a slot of tasks of which little is to say.
type brief probe.Brief

// ringMemory bounds the slots of all rings for tasks together.
const ringMemory = 1 << 18

// Open implements probe.Recorder: it makes the rings and starts to collect.
func (r *Recorder) Open(m *probe.Machine) {
	if r.open {
		panic("gompss: bug: trace: a recorder is opened twice: it belongs to one runtime")
	}
	r.open = true
	for _, p := range m.Places {
		if p.Host {
			r.workers = max(r.workers, p.Workers)
		}
	}
	writers := r.workers + len(m.Places)
	slots := r.options.Slots
	if slots == 0 {
		slots = min(1<<14, max(1<<10, ringMemory/(writers+spare)))
	}
	r.tasks = newRings[probe.Task](writers, slots/2)
	r.briefs = newRings[brief](r.workers, slots)
	r.details = newRings[Detail](1+len(m.Places), 4*slots)
	r.points = newRings[probe.Point](1+len(m.Places), max(2, slots/2))
	r.errs = make([]error, len(r.options.Sinks))
	for i, s := range r.options.Sinks {
		r.errs[i] = s.Open(m)
	}
	r.done.Go(r.collect)
}

// Observe implements probe.Observer for points that belong to no task; others are left out, as Ended tells of tasks.
func (r *Recorder) Observe(p probe.Point) {
	if p.Kind >= probe.Arrive && r.points.put(0, &p) {
		r.hurry()
	}
}

// room makes room for n details. It returns nil when there is none.
func (r *Recorder) room(writer, n int) (*ring[Detail], int64) {
	to, at := r.details.claim(writer, n)
	if to == nil {
		r.hurry()
	}
	return to, at
}

// enter publishes what was written to the room for n details.
func (r *Recorder) enter(to *ring[Detail], at int64, n int) {
	if to.publish(at, n) {
		r.hurry()
	}
}

// Submitted implements probe.Recorder.
func (r *Recorder) Submitted(id deps.TaskID, accesses []deps.Access) {
	if to, at := r.room(0, len(accesses)); to != nil {
		for i := range accesses {
			to.slot(at+int64(i)).access(id, &accesses[i])
		}
		r.enter(to, at, len(accesses))
	}
}

// Waits implements probe.Recorder.
func (r *Recorder) Waits(id deps.TaskID, predecessors []deps.TaskID) {
	const each = len(Detail{}.Values)
	n := (len(predecessors) + each - 1) / each
	to, at := r.room(0, n)
	if to == nil {
		return
	}
	for i := range n {
		some := predecessors[i*each : min(len(predecessors), (i+1)*each)]
		d := to.slot(at + int64(i))
		*d = Detail{Task: id, What: Waits, Count: uint8(len(some))}
		for k, p := range some {
			d.Values[k] = int64(p)
		}
	}
	r.enter(to, at, n)
}

// Considered implements probe.Recorder.
func (r *Recorder) Considered(id deps.TaskID, place int, candidates []probe.Candidate) {
	if to, at := r.room(1+place, len(candidates)); to != nil {
		for i := range candidates {
			to.slot(at+int64(i)).candidate(id, &candidates[i])
		}
		r.enter(to, at, len(candidates))
	}
}

// Ran implements probe.Recorder.
func (r *Recorder) Ran(b *probe.Brief) {
	if r.briefs.put(int(b.Worker), (*brief)(b)) {
		r.hurry()
	}
}

// Ended implements probe.Recorder.
func (r *Recorder) Ended(t *probe.Task) {
	writer := int(t.Worker)
	if t.Launch != 0 || t.Place < 0 {
		writer = r.workers + max(0, int(t.Place))
	}
	if r.tasks.put(writer, t) {
		r.hurry()
	}
}

// hurry wakes the collecting goroutine.
func (r *Recorder) hurry() {
	select {
	case r.wake <- struct{}{}:
	default:
	}
}

// collect empties the rings until Close.
func (r *Recorder) collect() {
	tick := time.NewTicker(r.options.Every)
	defer tick.Stop()
	var b Batch
	for end := false; !end; {
		select {
		case <-r.wake:
		case <-tick.C:
		case <-r.stop:
			end = true
		}
		for r.hand(&b) {
		}
	}
	for i, s := range r.options.Sinks {
		r.errs[i] = errors.Join(r.errs[i], s.Close())
	}
}

// hand takes what is in the rings to the sinks and reports whether there may be more.
func (r *Recorder) hand(b *Batch) bool {
	// Tasks before details: what is known of a task was put before it ended, so it comes with it or came before.
	b.Tasks = r.tasks.take(b.Tasks[:0])
	for _, of := range r.briefs {
		of.each(func(x *brief) { b.Tasks = append(b.Tasks, (*probe.Brief)(x).Task()) })
	}
	b.Details = r.details.take(b.Details[:0])
	b.Points = r.points.take(b.Points[:0])
	b.Dropped = r.Dropped()
	if b.Empty() {
		return false
	}
	for i, s := range r.options.Sinks {
		if r.errs[i] == nil {
			r.errs[i] = s.Take(b)
		}
	}
	return len(b.Tasks) > len(r.tasks[0].slots)
}

// Dropped returns how many tasks, details and points were lost so far because a ring was full.
func (r *Recorder) Dropped() uint64 {
	return r.tasks.dropped() + r.briefs.dropped() + r.details.dropped() + r.points.dropped()
}

// Close hands over what is left and closes the sinks. Errors: theirs. Call it when the runtime is closed.
func (r *Recorder) Close() error {
	switch {
	case r.closed:
		return nil
	case r.open:
		close(r.stop)
		r.done.Wait()
	default: // its runtime was never opened
		for _, s := range r.options.Sinks {
			r.errs = append(r.errs, s.Close())
		}
	}
	r.closed = true
	return errors.Join(r.errs...)
}
