package record

import (
	"errors"
	"runtime"
	"sync"
	"sync/atomic"
	"time"

	"github.com/gompss/gompss/deps"
	"github.com/gompss/gompss/trace/probe"
)

// A Sink takes records, from one goroutine.
type Sink interface {
	Open(m *probe.Machine) error
	Take(b *Batch) error
	// Close is called once, after the last batch, also when Take has failed.
	Close() error
}

// Options are those of a Recorder. The zero value works, and drops everything for want of sinks.
type Options struct {
	// Slots is the size of the reserves, in tasks, and bounds that of the rings before them; 0
	// chooses.
	Slots int
	// Every is the longest time between two batches while there is something; 0 is 20 ms.
	Every time.Duration
	// Wait makes a writer wait for room where it would drop a record: the run takes as long as its
	// sinks need, and its records are complete. Writers may hold locks of the runtime meanwhile.
	Wait  bool
	Sinks []Sink
}

// A Recorder is a probe.Recorder that keeps tasks in rings and hands them to sinks. Close must be
// called after the runtime's.
type Recorder struct {
	options Options
	tasks   rings[probe.Task]
	briefs  atomic.Pointer[probe.Briefs]
	details rings[uint64]
	points  rings[probe.Point]
	steps   atomic.Pointer[rings[ranStep]] // made for the first replay
	workers int

	lost []losses // by writer

	// Of the collecting goroutine: how far the rings of tasks were written, what was taken of the
	// briefs, and how many lost records the sinks know of, since when.
	ends       []uint64
	swept      Packed
	reported   uint64
	reportedAt time.Time

	wake         chan struct{}
	stop         chan struct{}
	done         sync.WaitGroup
	open, closed bool
	closing      atomic.Bool // nothing is waited for any more
	errs         []error     // by sink, then those of Close; of the collecting goroutine until it has finished
}

// New returns a recorder. It records from Open on, which the runtime calls.
func New(o Options) *Recorder {
	if o.Every <= 0 {
		o.Every = 20 * time.Millisecond
	}
	return &Recorder{options: o, wake: make(chan struct{}, 1), stop: make(chan struct{})}
}

// The sizes of rings, in tasks: of those of writers, which fit a cache, and of the reserves, which
// hold what comes while the collecting goroutine waits for a processor.
const (
	ownSlots     = 1 << 14
	reserveSlots = 1 << 16
	detailWords  = 8                                    // for a task
	leastWords   = 2 * (1 + mostCounted*candidateWords) // what is recorded at once must fit
)

// Open implements probe.Recorder: it makes the rings and starts to collect.
func (r *Recorder) Open(m *probe.Machine) {
	if r.open {
		panic("gompss: bug: trace: a recorder is opened twice: it belongs to one runtime")
	}
	r.open = true
	for i, p := range m.Places {
		if p.Host {
			r.workers = max(r.workers, p.Workers)
			r.swept.place = int16(i)
		}
	}
	writers := r.workers + len(m.Places)
	slots := r.options.Slots
	if slots == 0 {
		slots = reserveSlots
	}
	r.tasks = newRings[probe.Task](writers, ownSlots/2, slots/4)
	r.details = newRings[uint64](1+len(m.Places), detailWords*ownSlots, max(leastWords, detailWords*slots))
	r.points = newRings[probe.Point](1+len(m.Places), ownSlots/2, slots/8)
	r.lost = make([]losses, writers)
	r.errs = make([]error, len(r.options.Sinks))
	for i, s := range r.options.Sinks {
		r.errs[i] = s.Open(m)
	}
	r.done.Go(r.collect)
}

// Observe implements probe.Observer for points that belong to no task; it ignores others, as Ended
// reports tasks.
func (r *Recorder) Observe(p probe.Point) {
	if p.Kind < probe.Arrive {
		return
	}
	for tries := 0; ; tries++ {
		kept, due := r.points.put(0, &p)
		if due {
			r.hurry()
		}
		if kept {
			return
		}
		if !r.pause(tries) {
			r.lost[0].point(&p)
			return
		}
	}
}

// room makes room for n words, which say what records details say. It returns nil when there is
// none.
func (r *Recorder) room(writer, n, records int) (*words, int64) {
	for tries := 0; ; tries++ {
		if to, at := r.details.claim(writer, n); to != nil {
			return to, at
		}
		r.hurry()
		if !r.pause(tries) {
			r.lost[min(writer, len(r.lost)-1)].detail(records)
			return nil, 0
		}
	}
}

// A writer that waits for room yields its processor yields times, and then sleeps between two
// looks.
const (
	yields       = 16
	waitInterval = 50 * time.Microsecond
)

// pause waits a moment for room in the rings. It reports false where a record is dropped instead.
func (r *Recorder) pause(tries int) bool {
	switch {
	case !r.options.Wait || r.closing.Load():
		return false
	case tries < yields:
		runtime.Gosched()
	default:
		time.Sleep(waitInterval)
	}
	return true
}

// enter publishes the n words that were written.
func (r *Recorder) enter(to *words, at int64, n int) {
	if to.publish(at, n) {
		r.hurry()
	}
}

// Submitted implements probe.Recorder.
func (r *Recorder) Submitted(id deps.TaskID, accesses []deps.Access, predecessors []deps.TaskID) {
	near := nearWaits(id, predecessors)
	for len(accesses)+len(predecessors) > 0 {
		some, of := accesses[:min(len(accesses), mostCounted)], predecessors[:min(len(predecessors), mostCounted)]
		accesses, predecessors = accesses[len(some):], predecessors[len(of):]
		touch, n := accessWords(some), waitWords(len(of), near)
		if to, at := r.room(0, touch+n, len(some)+(len(of)+waitsOfDetail-1)/waitsOfDetail); to != nil {
			putAccesses(to, at, id, some)
			putWaits(to, at+int64(touch), id, of, near)
			r.enter(to, at, touch+n)
		}
	}
}

// Considered implements probe.Recorder.
func (r *Recorder) Considered(id deps.TaskID, place int, candidates []probe.Candidate) {
	for len(candidates) > 0 {
		some := candidates[:min(len(candidates), mostCounted)]
		candidates = candidates[len(some):]
		n := 1 + candidateWords*len(some)
		if to, at := r.room(1+place, n, len(some)); to != nil {
			putCandidates(to, at, id, some)
			r.enter(to, at, n)
		}
	}
}

// Collect implements probe.Collector.
func (r *Recorder) Collect(l *probe.Briefs) {
	l.Collect(r.hurry)
	r.briefs.Store(l)
}

// Ended implements probe.Recorder.
func (r *Recorder) Ended(t *probe.Task) {
	writer := int(t.Worker)
	if t.Launch != 0 || t.Place < 0 {
		writer = r.workers + max(0, int(t.Place))
	}
	for tries := 0; ; tries++ {
		kept, due := r.tasks.put(writer, t)
		if due {
			r.hurry()
		}
		if kept {
			return
		}
		if !r.pause(tries) {
			r.lost[max(0, min(writer, len(r.lost)-1))].task(t)
			return
		}
	}
}

// StepRan implements probe.StepRecorder.
func (r *Recorder) StepRan(of *probe.Replay, s *probe.StepRun) {
	l := r.steps.Load()
	if l == nil {
		l = r.makeSteps()
	}
	x := ranStep{of, *s}
	for tries := 0; ; tries++ {
		kept, due := l.put(int(s.Worker), &x)
		if due {
			r.hurry()
		}
		if kept {
			return
		}
		if !r.pause(tries) {
			t := of.TaskOf(s)
			r.lost[max(0, min(int(s.Worker), len(r.lost)-1))].task(&t)
			return
		}
	}
}

// makeSteps makes the rings of steps: most programs replay nothing.
func (r *Recorder) makeSteps() *rings[ranStep] {
	slots := r.options.Slots
	if slots == 0 {
		slots = reserveSlots
	}
	l := newRings[ranStep](r.workers, ownSlots/2, slots/4)
	r.steps.CompareAndSwap(nil, &l)
	return r.steps.Load()
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
		thorough := true
		select {
		case <-r.wake:
			thorough = false
		case <-tick.C:
		case <-r.stop:
			end = true
		}
		for r.hand(&b, thorough) {
		}
	}
	r.reportedAt = time.Time{}
	r.deliver(&b)
	for i, s := range r.options.Sinks {
		r.errs[i] = errors.Join(r.errs[i], s.Close())
	}
}

// The largest batch, in records of each sort, or a few more: what the sinks are handed is still in
// the caches.
const largestBatch = 1 << 10

// hand takes what is in the rings, and tasks that have finished, to the sinks and reports whether
// there may be more.
//
// Tasks are collected only up to the position that the list had before any other record was
// collected: all records of a task precede its end, so they are in the same batch or an earlier
// one.
func (r *Recorder) hand(b *Batch, thorough bool) bool {
	swept := 0
	r.ends = r.tasks.written(r.ends)
	if l := r.briefs.Load(); l != nil {
		swept = l.Sweep(largestBatch, thorough, r.swept.Add)
	}
	for _, of := range r.details {
		for more := true; more; {
			if b.Details, more = takeWords(of, b.Details, largestBatch); len(b.Details) >= largestBatch {
				r.deliver(b)
			}
		}
	}
	for _, of := range r.points {
		for end := of.written(); of.take(end, largestBatch-len(b.Points), func(p *probe.Point) { b.Points = append(b.Points, *p) }) > 0; {
			r.deliver(b)
		}
	}
	n := r.handSteps(b)
	for i, of := range r.tasks {
		for k := 1; k > 0; n += k {
			if k = of.take(r.ends[i], largestBatch-len(b.Tasks), b.take); len(b.Tasks) == largestBatch {
				r.deliver(b)
			}
		}
	}
	b.Packed = r.swept
	r.deliver(b)
	r.swept.clear()
	return n > 4*largestBatch || swept >= largestBatch
}

// handSteps takes the steps of replays that are in the rings to the sinks, and returns how many
// there were.
func (r *Recorder) handSteps(b *Batch) (n int) {
	l := r.steps.Load()
	if l == nil {
		return 0
	}
	for _, of := range *l {
		end := of.written()
		for k := 1; k > 0; n += k {
			if k = of.take(end, largestBatch-len(b.Tasks), b.takeStep); len(b.Tasks) == largestBatch {
				r.deliver(b)
			}
		}
	}
	return n
}

// reportInterval is the least time between two reports of lost records, except the last report.
const reportInterval = 100 * time.Millisecond

// report adds the counts of lost records to b, if the sinks do not have all of them.
func (r *Recorder) report(b *Batch) {
	b.Dropped, b.Lost = r.Dropped(), nil
	if now := time.Now(); b.Dropped != r.reported && now.Sub(r.reportedAt) >= reportInterval {
		b.Lost = r.Losses()
		r.reported, r.reportedAt = b.Lost.Records(), now
	}
}

// deliver hands a batch to the sinks, and empties it.
func (r *Recorder) deliver(b *Batch) {
	if r.report(b); b.Len() == 0 && b.Lost == nil {
		return
	}
	for i, s := range r.options.Sinks {
		if r.errs[i] == nil {
			r.errs[i] = s.Take(b)
		}
	}
	b.Tasks, b.Details, b.Points, b.Packed = b.Tasks[:0], b.Details[:0], b.Points[:0], Packed{}
}

// Dropped returns how many tasks, details and points were lost so far because a ring was full.
func (r *Recorder) Dropped() (n uint64) {
	for i := range r.lost {
		n += r.lost[i].records.Load()
	}
	return n
}

// Losses returns the counts of records that were lost so far because a ring was full.
func (r *Recorder) Losses() *Losses { return lossesOf(r.lost) }

// Close hands over the rest and closes the sinks. Errors: theirs. Call it when the runtime is
// closed.
func (r *Recorder) Close() error {
	switch {
	case r.closed:
		return nil
	case r.open:
		r.closing.Store(true)
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
