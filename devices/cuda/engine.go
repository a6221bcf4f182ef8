//go:build linux && (amd64 || arm64)

package cuda

import (
	"runtime"
	"sync"
	"sync/atomic"
	"time"

	"golang.org/x/sys/unix"

	"github.com/gompss/gompss/devices"
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
	eager         = time.Millisecond
	nap           = 20 * time.Microsecond
	minProcessors = 4 // processors below which no thread spins
)

// lookEvery is the number of operations that an engine enqueues before it looks at what has
// finished: to ask the driver takes a third of the time that a launch takes.
const lookEvery = 32

// An engine is the goroutine of a device that calls the driver for work: it enqueues what is
// submitted, in order, and sees what has finished. That both are one thread's keeps them from
// waiting for each other inside the driver.
type engine struct {
	device      *Device
	done        sync.WaitGroup
	completions completionThread
	launcher    launchThread
	flying      atomic.Int64 // operations submitted that have not happened

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
	g.launcher.when = d.options.LaunchThread
	g.wake.L = &g.mu
	g.completions.start(g)
	g.launcher.start()
	g.done.Go(g.run)
}

// submit enqueues op behind events: on the engine's goroutine, and there at once when the GPU can
// do the waiting, else when they have happened. It returns at once.
func (g *engine) submit(op *operation, after []devices.Event) devices.Event {
	e := op.event // from submit on op may be another one
	if g.accept(op, after) {
		g.enqueue(op)
	}
	return e
}

// accept counts op in, behind events, for the engine to enqueue. It reports false when op has
// failed, as the device is lost.
func (g *engine) accept(op *operation, after []devices.Event) bool {
	e := op.event
	if err := g.device.gpu.alive(); err != nil {
		e.happen(err)
		return false
	}
	for _, a := range after {
		if !a.Done() || a.Err() != nil {
			e.after = append(e.after, a)
		}
	}
	g.flying.Add(1)
	g.launcher.rouse()
	return true
}

// enqueue has op enqueued: here and now when the engine sleeps.
func (g *engine) enqueue(op *operation) {
	if !g.asleep.Load() {
		g.push(op)
		return
	}
	d := g.device
	d.gpu.enter()
	if s := d.submitter.begin(op, false); s != nil {
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

// completed decrements the number of operations in flight.
func (g *engine) completed() {
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
	g.completions.stop()
	g.launcher.stop()
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
	spin := pollTime()
	var jobs []*operation
	streams := d.streams.all()
	d.gpu.enter()
	defer d.gpu.leave()
	begun := 0 // since it last looked
	for busy := monotonic(); ; {
		if g.queued.Load() > 0 {
			jobs = g.take(jobs)
			for i, op := range jobs {
				d.submitter.begin(op, true)
				jobs[i] = nil
				if begun++; begun == lookEvery {
					begun = 0
					d.submitter.flushAll()
					markAll(streams)
					g.look(streams, false)
				}
			}
			d.submitter.flushAll()
			busy = monotonic()
			if g.completions.queued.Load() == 0 {
				continue
			}
		}
		begun = 0
		if g.queued.Load() == 0 {
			markAll(streams)
		}
		found, empty := g.look(streams, true)
		waited := time.Duration(monotonic() - busy)
		switch {
		case found || g.completions.queued.Load() > 0:
			if g.completions.reportNow() { // the completion thread sleeps: the waiting goroutine runs next on this thread
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

// markAll makes marks for all that has none. Requires: the context is current.
func markAll(streams []*stream) {
	for _, s := range streams {
		if s.unmarked() > 0 {
			_ = s.record() // what it would stand for fails with it
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
func (g *engine) look(streams []*stream, closely bool) (found, empty bool) {
	empty = true
	for _, s := range streams {
		for s.length() > 0 {
			n := g.lookAt(s, closely)
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
func (g *engine) lookAt(s *stream, closely bool) int {
	d := g.device
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
		over, heard := d.health.ended(m, s), 0
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
	g.completions.push(g.heard...)
	clear(g.heard)
	return n
}

// pollTime is the time for which engines and completion threads poll before they sleep: 0 on a
// machine with few processors.
func pollTime() time.Duration {
	if runtime.GOMAXPROCS(0) < minProcessors {
		return 0
	}
	return eager
}

// monotonic is the time since the process started, in nanoseconds.
func monotonic() int64 { return int64(time.Since(started)) }

var started = time.Now()

// A pageableThread is the goroutine of a device for copies of host memory that is not pinned: the
// driver looks at that memory before it returns, which may take as long as the copy.
type pageableThread struct {
	device   *Device
	done     sync.WaitGroup
	mu       spin.Mutex
	wake     sync.Cond
	jobs     []*operation
	stopping bool
}

func (c *pageableThread) start(d *Device) {
	c.device = d
	c.wake.L = &c.mu
	c.done.Go(c.run)
}

func (c *pageableThread) push(op *operation) {
	c.mu.Lock()
	c.jobs = append(c.jobs, op)
	c.mu.Unlock()
	c.wake.Signal()
}

// stop finishes the rest and ends the goroutine.
func (c *pageableThread) stop() {
	c.mu.Lock()
	c.stopping = true
	c.mu.Unlock()
	c.wake.Signal()
	c.done.Wait()
}

func (c *pageableThread) run() {
	for {
		c.mu.Lock()
		for len(c.jobs) == 0 && !c.stopping {
			c.wake.Wait()
		}
		jobs := c.jobs
		c.jobs = nil
		c.mu.Unlock()
		if len(jobs) == 0 {
			return
		}
		for _, op := range jobs {
			c.device.gpu.enter()
			c.device.submitter.place(op)
			c.device.gpu.leave()
		}
		c.device.engine.nudge()
	}
}

// nudge wakes the engine: something is on a stream.
func (g *engine) nudge() {
	g.mu.Lock()
	g.nudged = true
	g.mu.Unlock()
	g.wake.Signal()
}
