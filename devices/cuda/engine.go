//go:build linux && (amd64 || arm64)

package cuda

import (
	"runtime"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/sys/unix"

	"github.com/gompss/gompss/internal/spin"
)

// How an engine waits when there is nothing to enqueue: it looks without pause while something
// happened lately, as chains of short kernels and copies want it; then it naps between looks, and
// with nothing in flight it sleeps.
//
// The naps are nanosleep's: the Go runtime rounds what an idle process sleeps up to a millisecond.
// To wake a thread that sleeps takes 70 microseconds in a virtual machine, so the goroutine that
// finds the next one asleep does its work.
const (
	eager = time.Millisecond
	nap   = 20 * time.Microsecond
	crowd = 4 // processors below which no thread spins
)

// lookEvery is the number of operations that an engine enqueues before it looks at what has
// finished: to ask the driver takes a third of the time that a launch takes.
const lookEvery = 32

// An engine is the goroutine of a device that calls the driver for work: it enqueues what is
// submitted, in order, and sees what has finished. That both are one thread's keeps them from
// waiting for each other inside the driver.
type engine struct {
	device *Device
	done   sync.WaitGroup
	over   finisher
	beside attendant
	flying atomic.Int64 // operations submitted that have not happened

	heard    []*event     // the goroutine's
	queued   atomic.Int32 // length of jobs, to be looked at without the lock
	mu       spin.Mutex
	wake     sync.Cond
	jobs     []*operation
	asleep   atomic.Bool
	nudged   bool // an operation came to a stream without the engine
	stopping bool
}

func (g *engine) start(d *Device) {
	g.device = d
	g.beside.when = d.options.Attend
	g.wake.L = &g.mu
	g.over.start(g)
	g.beside.start()
	g.done.Go(g.run)
}

// submit has op enqueued: here and now when the engine sleeps.
func (g *engine) submit(op *operation) {
	if !g.asleep.Load() {
		g.push(op)
		return
	}
	d := g.device
	d.gpu.enter()
	if s := d.begin(op, false); s != nil {
		_ = s.record() // if there is something on it; what that would have stood for fails with it
	}
	d.gpu.leave()
	g.nudge()
}

// push has op enqueued by the engine. It does not block.
func (g *engine) push(op *operation) {
	spin.Lock(&g.mu)
	g.jobs = append(g.jobs, op)
	g.queued.Store(int32(len(g.jobs)))
	g.mu.Unlock()
	if g.asleep.Load() {
		g.wake.Signal()
	}
}

// take returns what has been pushed, and keeps spare for what comes.
func (g *engine) take(spare []*operation) []*operation {
	spin.Lock(&g.mu)
	defer g.mu.Unlock()
	jobs := g.jobs
	g.jobs = spare[:0]
	g.queued.Store(0)
	return jobs
}

// landed counts an operation out.
func (g *engine) landed() {
	if g.flying.Add(-1) == 0 {
		g.mu.Lock()
		stopping := g.stopping
		g.mu.Unlock()
		if stopping {
			g.wake.Signal()
		}
	}
}

// stop waits until nothing is in flight and ends the goroutines.
func (g *engine) stop() {
	g.mu.Lock()
	g.stopping = true
	g.mu.Unlock()
	g.wake.Signal()
	g.done.Wait()
	g.over.stop()
	g.beside.stop()
}

// sleep waits until there is something to do, and reports false when there never will be.
func (g *engine) sleep() bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	for len(g.jobs) == 0 && !g.nudged {
		if g.stopping && g.flying.Load() == 0 {
			return false
		}
		g.asleep.Store(true)
		g.wake.Wait()
		g.asleep.Store(false)
	}
	g.nudged = false
	return true
}

func (g *engine) run() {
	d := g.device
	spin := patience()
	var jobs []*operation
	streams := d.streams()
	d.gpu.enter()
	defer d.gpu.leave()
	begun := 0 // since it last looked
	for busy := monotonic(); ; {
		if g.queued.Load() > 0 {
			jobs = g.take(jobs)
			for i, op := range jobs {
				d.begin(op, true)
				jobs[i] = nil
				if begun++; begun == lookEvery {
					begun = 0
					d.flushAll()
					d.markAll(streams)
					d.look(streams, false)
				}
			}
			d.flushAll()
			busy = monotonic()
			if g.over.queued.Load() == 0 {
				continue
			}
		}
		begun = 0
		if g.queued.Load() == 0 {
			d.markAll(streams)
		}
		found, empty := d.look(streams, true)
		waited := time.Duration(monotonic() - busy)
		switch {
		case found || g.over.queued.Load() > 0:
			if g.over.tell() { // the finisher sleeps: the waiting goroutine runs next on this thread
				d.gpu.leave()
				runtime.Gosched()
				d.gpu.enter()
			}
			busy = monotonic()
		case g.queued.Load() > 0:
		case empty && waited >= spin:
			d.gpu.leave()
			more := g.sleep()
			d.gpu.enter()
			if !more {
				return
			}
			busy = monotonic()
		case !empty && waited >= spin:
			rest(nap)
		}
	}
}

// rest gives the processor up for about d.
func rest(d time.Duration) {
	t := unix.NsecToTimespec(int64(d))
	_ = unix.Nanosleep(&t, nil) // an interrupted nap is a shorter one
}

// look hands on the events that have happened since it last looked, and reports whether there were
// any and whether none is left. Where several marks are in flight it asks for one in the middle,
// since those before it have finished when that is; with closely it finds them all. Requires: the
// context is current, on the engine's goroutine.
func (d *Device) look(streams []*stream, closely bool) (found, empty bool) {
	empty = true
	for _, s := range streams {
		for s.length() > 0 {
			n := d.lookAt(s, closely)
			found = found || n > 0
			if n == 0 || !closely {
				empty = empty && s.length() == 0
				break
			}
		}
	}
	return found, empty
}

func middle(n int) int { return (n - 1) / 2 }
func earliest(int) int { return 0 }

// lookAt asks for a mark or two of a stream, and returns how many events have happened.
func (d *Device) lookAt(s *stream, closely bool) int {
	g := &d.engine
	if d.gpu.lost.Load() != nil {
		return g.hear(s, 1<<64-1, 0)
	}
	choose := middle
	if d.clock.on { // the mark of each event says when it finished
		choose = earliest
	}
	for {
		m, n := s.markAt(choose)
		if m == nil {
			return 0
		}
		over, heard := d.ended(m, s), 0
		if over {
			heard = g.hear(s, m.upTo, m.cu)
		}
		m.letGo()
		if over || n < 2 || !closely || g.queued.Load() > 0 || choose(n) == 0 {
			return heard
		}
		choose = earliest
	}
}

// hear hands on the events of a stream up to a number; last is the CUevent behind them.
func (g *engine) hear(s *stream, upTo uint64, last uintptr) int {
	now, first := monotonic(), s.first()
	g.heard = s.popTo(upTo, g.heard[:0])
	n := len(g.heard)
	if n == 0 {
		return 0
	}
	pace := (now - max(first.began, s.moved)) / int64(n)
	if s.pace > 0 {
		pace = (3*s.pace + pace) / 4
	}
	atomic.StoreInt64(&s.pace, max(1, pace))
	s.moved = now
	for _, e := range g.heard {
		g.device.clock.timeOf(e, last)
	}
	g.over.pushAll(g.heard)
	clear(g.heard)
	return n
}

// patience is the time that engines and finishers look for more before they rest.
func patience() time.Duration {
	if runtime.GOMAXPROCS(0) < crowd {
		return 0
	}
	return eager
}

// A finisher is the goroutine of a device that reports completions, so that the work that follows
// them does not delay enqueueing.
type finisher struct {
	engine *engine
	done   sync.WaitGroup

	queued   atomic.Int32
	mu       spin.Mutex
	wake     sync.Cond
	events   []*event
	asleep   bool
	awake    atomic.Bool // looking for events, and attending meanwhile
	working  bool        // a goroutine makes events happen
	alert    bool        // more is to be expected soon
	stopping bool
}

func (f *finisher) start(g *engine) {
	f.engine = g
	f.wake.L = &f.mu
	f.done.Go(f.run)
}

// push adds an event; tell, or the finisher if it is awake, makes it happen.
func (f *finisher) push(e *event) {
	f.mu.Lock()
	f.events = append(f.events, e)
	f.queued.Store(int32(len(f.events)))
	f.mu.Unlock()
}

// tell makes the events happen that were pushed, if the finisher sleeps, and reports whether it
// has.
func (f *finisher) tell() bool {
	f.mu.Lock()
	if !f.asleep || f.working || len(f.events) == 0 {
		f.mu.Unlock()
		return false
	}
	events := f.events
	f.events = nil
	f.queued.Store(0)
	f.working = true
	f.mu.Unlock()
	f.finish(events)
	f.mu.Lock()
	f.working, f.alert = false, true
	f.mu.Unlock()
	f.wake.Signal()
	return true
}

// pushAll adds events; see push.
func (f *finisher) pushAll(list []*event) {
	f.mu.Lock()
	f.events = append(f.events, list...)
	f.queued.Store(int32(len(f.events)))
	f.mu.Unlock()
}

func (f *finisher) finish(events []*event) {
	for i, e := range events {
		if e.finish() {
			f.engine.landed()
		}
		events[i] = nil
	}
}

// stop ends the goroutine. Requires: nothing is in flight.
func (f *finisher) stop() {
	f.mu.Lock()
	f.stopping = true
	f.mu.Unlock()
	f.wake.Signal()
	f.done.Wait()
}

// take waits for events, or until some are to be expected, and returns them; not ok when there will
// be no more.
func (f *finisher) take(spare []*event) (events []*event, ok bool) {
	f.mu.Lock()
	defer f.mu.Unlock()
	for f.working || len(f.events) == 0 && !f.stopping && !f.alert {
		f.asleep = true
		f.wake.Wait()
		f.asleep = false
	}
	events = f.events
	f.events, f.alert = spare[:0], false
	f.queued.Store(0)
	return events, len(events) > 0 || !f.stopping
}

// attend does what has been left to the device to do for the runtime, and reports whether there was
// something.
func (f *finisher) attend() bool {
	c := f.engine.beside.call.Load()
	return c != nil && c.attend()
}

func (f *finisher) run() {
	var events []*event
	idle := int64(patience())
	for {
		f.awake.Store(idle > 0)
		for until := monotonic() + idle; f.queued.Load() == 0 && monotonic() < until; {
			if !f.engine.beside.crowded() && f.attend() {
				until = monotonic() + idle
			} else {
				runtime.Gosched()
			}
		}
		if f.queued.Load() == 0 && f.awake.Swap(false) {
			f.attend() // what was left to it until now
		}
		var ok bool
		if events, ok = f.take(events); !ok {
			return
		}
		f.finish(events)
	}
}

// monotonic is the time since the process started, in nanoseconds.
func monotonic() int64 { return int64(time.Since(started)) }

var started = time.Now()

// A later is the goroutine of a device for copies of host memory that is not pinned: the driver
// looks at that memory before it returns, which may take as long as the copy.
type later struct {
	device *Device
	done   sync.WaitGroup
	mu     spin.Mutex
	wake   sync.Cond
	jobs   []*operation
	over   bool
}

func (l *later) start(d *Device) {
	l.device = d
	l.wake.L = &l.mu
	l.done.Go(l.run)
}

func (l *later) push(op *operation) {
	l.mu.Lock()
	l.jobs = append(l.jobs, op)
	l.mu.Unlock()
	l.wake.Signal()
}

// stop finishes the rest and ends the goroutine.
func (l *later) stop() {
	l.mu.Lock()
	l.over = true
	l.mu.Unlock()
	l.wake.Signal()
	l.done.Wait()
}

func (l *later) run() {
	for {
		l.mu.Lock()
		for len(l.jobs) == 0 && !l.over {
			l.wake.Wait()
		}
		jobs := l.jobs
		l.jobs = nil
		l.mu.Unlock()
		if len(jobs) == 0 {
			return
		}
		for _, op := range jobs {
			l.device.gpu.enter()
			l.device.place(op)
			l.device.gpu.leave()
		}
		l.device.engine.nudge()
	}
}

// nudge wakes the engine: something is on a stream.
func (g *engine) nudge() {
	g.mu.Lock()
	g.nudged = true
	g.mu.Unlock()
	g.wake.Signal()
}
