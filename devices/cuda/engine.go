//go:build linux && (amd64 || arm64)

package cuda

import (
	"runtime"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/sys/unix"
)

// How an engine waits when there is nothing to enqueue: it looks without pause while something ended lately, as chains of
// short kernels and copies want it; then it naps between looks, and with nothing in flight it sleeps.
//
// The naps are nanosleep's: the Go runtime rounds what an idle process sleeps up to a millisecond.
const (
	eager  = time.Millisecond
	linger = 50 * time.Microsecond // with nothing in flight
	nap    = 20 * time.Microsecond
	crowd  = 4 // processors below which nobody spins
)

// lookEvery is how many operations an engine enqueues before it looks at what is over.
const lookEvery = 4

// An engine is the goroutine of a device that calls the driver for work: it enqueues what is submitted, in order, and sees
// what is over. That both are one thread's keeps them from waiting for each other inside the driver.
type engine struct {
	device *Device
	done   sync.WaitGroup
	over   finisher
	flying atomic.Int64 // operations submitted that have not happened

	queued   atomic.Int32 // length of jobs, to be looked at without the lock
	mu       sync.Mutex
	wake     sync.Cond
	jobs     []*operation
	asleep   bool
	nudged   bool // an operation came to a stream without the engine
	stopping bool
}

func (g *engine) start(d *Device) {
	g.device = d
	g.wake.L = &g.mu
	g.over.start(g)
	g.done.Go(g.run)
}

// push has op enqueued. It does not block.
func (g *engine) push(op *operation) {
	g.mu.Lock()
	g.jobs = append(g.jobs, op)
	g.queued.Store(int32(len(g.jobs)))
	asleep := g.asleep
	g.mu.Unlock()
	if asleep {
		g.wake.Signal()
	}
}

// take returns what has been pushed, and keeps spare for what comes.
func (g *engine) take(spare []*operation) []*operation {
	g.mu.Lock()
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
}

// sleep waits until there is something to do, and reports false when there never will be.
func (g *engine) sleep() bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	for len(g.jobs) == 0 && !g.nudged {
		if g.stopping && g.flying.Load() == 0 {
			return false
		}
		g.asleep = true
		g.wake.Wait()
		g.asleep = false
	}
	g.nudged = false
	return true
}

func (g *engine) run() {
	d := g.device
	spin, idle := eager, linger
	crowded := runtime.GOMAXPROCS(0) < crowd
	if crowded {
		spin, idle = 0, 0
	}
	var jobs []*operation
	streams := d.streams()
	d.enter()
	defer d.leave()
	for busy := monotonic(); ; {
		if g.queued.Load() > 0 {
			jobs = g.take(jobs)
			for i, op := range jobs {
				d.begin(op)
				jobs[i] = nil
				if i%lookEvery == lookEvery-1 {
					d.look(streams)
				}
			}
			busy = monotonic()
		}
		found, empty := d.look(streams)
		waited := time.Duration(monotonic() - busy)
		switch {
		case found:
			busy = monotonic()
		case g.queued.Load() > 0:
		case empty && waited >= idle:
			d.leave()
			more := g.sleep()
			d.enter()
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

// look hands on the events that have happened since it last looked, and reports whether there were any and whether none
// is left. Requires: the context is current, on the engine's goroutine.
func (d *Device) look(streams []*stream) (found, empty bool) {
	empty = true
	for _, s := range streams {
		for e := s.first(); e != nil; e = s.first() {
			if d.lost.Load() == nil && !d.ended(e, s) {
				empty = false
				break
			}
			s.pop()
			s.moved = monotonic()
			d.engine.over.push(e)
			found = true
		}
	}
	return found, empty
}

// A finisher is the goroutine of a device that tells of what is over, so that what is done about it keeps nothing from
// being enqueued.
type finisher struct {
	engine *engine
	done   sync.WaitGroup

	queued   atomic.Int32
	mu       sync.Mutex
	wake     sync.Cond
	events   []*event
	asleep   bool
	stopping bool
}

func (f *finisher) start(g *engine) {
	f.engine = g
	f.wake.L = &f.mu
	f.done.Go(f.run)
}

func (f *finisher) push(e *event) {
	f.mu.Lock()
	f.events = append(f.events, e)
	f.queued.Store(int32(len(f.events)))
	asleep := f.asleep
	f.mu.Unlock()
	if asleep {
		f.wake.Signal()
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

// take waits for events and returns them; none when there will be no more.
func (f *finisher) take(spare []*event) []*event {
	f.mu.Lock()
	defer f.mu.Unlock()
	for len(f.events) == 0 && !f.stopping {
		f.asleep = true
		f.wake.Wait()
		f.asleep = false
	}
	events := f.events
	f.events = spare[:0]
	f.queued.Store(0)
	return events
}

func (f *finisher) run() {
	var events []*event
	idle := int64(linger)
	if runtime.GOMAXPROCS(0) < crowd {
		idle = 0
	}
	for {
		for until := monotonic() + idle; f.queued.Load() == 0 && monotonic() < until; {
			runtime.Gosched()
		}
		if events = f.take(events); len(events) == 0 {
			return
		}
		for i, e := range events {
			e.finish()
			events[i] = nil
			f.engine.landed()
		}
	}
}

// monotonic is the time since the process started, in nanoseconds.
func monotonic() int64 { return int64(time.Since(started)) }

var started = time.Now()

// A later is the goroutine of a device for copies of host memory that is not pinned: the driver looks at that memory
// before it returns, which may take as long as the copy.
type later struct {
	device *Device
	done   sync.WaitGroup
	mu     sync.Mutex
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

// stop does what is left and ends the goroutine.
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
			l.device.enter()
			l.device.place(op)
			l.device.leave()
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
