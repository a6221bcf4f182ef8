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

// These constants control how an engine waits when there is nothing to enqueue. It polls without
// pause while operations have been active recently, for the latency of chains of short kernels and
// copies. Then it sleeps for a short time between polls. If no operation is in flight, it sleeps
// until it is woken.
//
// The short sleeps use nanosleep, because the Go runtime rounds the sleep of an idle process up to
// a millisecond. Waking a sleeping thread takes 70 microseconds in a virtual machine, so a
// goroutine that finds the next thread asleep does its work itself.
const (
	activePoll    = time.Millisecond
	nap           = 20 * time.Microsecond
	minProcessors = 4 // on a machine with fewer processors no thread polls
)

// pollEvery is the number of operations that an engine enqueues between two polls for completions.
// A query of the driver takes a third of the time of a launch.
const pollEvery = 32

// An engine is the goroutine of a device that calls the driver: it enqueues submitted operations in
// order, and polls for completions. If two threads did this, they would contend for locks in the
// driver.
type engine struct {
	device      *Device
	done        sync.WaitGroup
	completions completionThread
	launcher    launchThread
	flying      atomic.Int64 // operations that were submitted and have not happened

	collected []*event     // used by the goroutine only
	queued    atomic.Int32 // the length of jobs, read without the lock
	mu        spin.Mutex
	wake      sync.Cond
	jobs      []*operation
	asleep    atomic.Bool
	notified  bool // an operation was enqueued by another goroutine
	stopping  bool
}

func (g *engine) start(d *Device) {
	g.device = d
	g.launcher.when = d.options.LaunchThread
	g.wake.L = &g.mu
	g.completions.start(g)
	g.launcher.start()
	g.done.Go(g.run)
}

// submit submits op to run after the events in after, and returns its event immediately. The
// engine's goroutine enqueues it right away if the GPU can wait for the events, otherwise when they
// have happened.
func (g *engine) submit(op *operation, after []devices.Event) devices.Event {
	e := op.event // after accept, op may have been recycled
	if g.accept(op, after) {
		g.enqueue(op)
	}
	return e
}

// accept counts op as in flight, with its predecessors, for the engine to enqueue. It returns false
// if op has failed because the device is lost.
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

// enqueue enqueues op: on this goroutine if the engine is asleep.
func (g *engine) enqueue(op *operation) {
	if !g.asleep.Load() {
		g.push(op)
		return
	}
	d := g.device
	d.gpu.enter()
	if s := d.submitter.begin(op, false); s != nil {
		_ = s.record() // if the stream has operations; an error is also theirs
	}
	d.gpu.leave()
	g.notify()
}

// push queues op for the engine. It does not block.
func (g *engine) push(op *operation) {
	spin.Lock(&g.mu)
	g.jobs = append(g.jobs, op)
	g.queued.Store(int32(len(g.jobs)))
	g.mu.Unlock()
	if g.asleep.Load() {
		g.wake.Signal()
	}
}

// take returns the queued operations, and keeps spare as the next queue.
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

// stop waits until no operation is in flight and ends the goroutines.
func (g *engine) stop() {
	g.mu.Lock()
	g.stopping = true
	g.mu.Unlock()
	g.wake.Signal()
	g.done.Wait()
	g.completions.stop()
	g.launcher.stop()
}

// sleep waits until there is work, and returns false when the engine has to stop.
func (g *engine) sleep() bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	for len(g.jobs) == 0 && !g.notified {
		if g.stopping && g.flying.Load() == 0 {
			return false
		}
		g.asleep.Store(true)
		g.wake.Wait()
		g.asleep.Store(false)
	}
	g.notified = false
	return true
}

func (g *engine) run() {
	d := g.device
	spin := pollTime()
	var jobs []*operation
	streams := d.streams.all()
	d.gpu.enter()
	defer d.gpu.leave()
	begun := 0 // since the last poll
	for busy := monotonic(); ; {
		if g.queued.Load() > 0 {
			jobs = g.take(jobs)
			for i, op := range jobs {
				d.submitter.begin(op, true)
				jobs[i] = nil
				if begun++; begun == pollEvery {
					begun = 0
					d.submitter.flushAll()
					markAll(streams)
					g.poll(streams, false)
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
		found, empty := g.poll(streams, true)
		waited := time.Duration(monotonic() - busy)
		switch {
		case found || g.completions.queued.Load() > 0:
			if g.completions.reportNow() { // the completion thread is asleep: let the waiting goroutine run next on this thread
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
			shortSleep(nap)
		}
	}
}

// markAll records marks for all operations without one.
// Requires: the context is current.
func markAll(streams []*stream) {
	for _, s := range streams {
		if s.unmarked() > 0 {
			_ = s.record() // an error is also the error of the operations
		}
	}
}

// shortSleep releases the processor for about d.
func shortSleep(d time.Duration) {
	t := unix.NsecToTimespec(int64(d))
	_ = unix.Nanosleep(&t, nil) // an interrupted sleep is shorter
}

// poll collects the events that have happened since the last poll. It reports whether there were
// any, and whether no operation is left in flight. If several marks are in flight, it queries one
// in the middle, because earlier marks have then completed too; with closely it finds all completed
// ones.
// Requires: the context is current, on the engine's goroutine.
func (g *engine) poll(streams []*stream, closely bool) (found, empty bool) {
	empty = true
	for _, s := range streams {
		for s.length() > 0 {
			n := g.pollStream(s, closely)
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

// pollStream queries one or two marks of a stream, and returns the number of completed events.
func (g *engine) pollStream(s *stream, closely bool) int {
	d := g.device
	if d.gpu.lost.Load() != nil {
		return g.collect(s, 1<<64-1, 0)
	}
	choose := middle
	if d.clock.on { // the mark of each event gives its time
		choose = earliest
	}
	for {
		m, n := s.markAt(choose)
		if m == nil {
			return 0
		}
		over, heard := d.health.ended(m, s), 0
		if over {
			heard = g.collect(s, m.upTo, m.cu)
		}
		m.unref()
		if over || n < 2 || !closely || g.queued.Load() > 0 || choose(n) == 0 {
			return heard
		}
		choose = earliest
	}
}

// collect passes the events of a stream up to a number to the completion thread. last is the
// CUevent after them.
func (g *engine) collect(s *stream, upTo uint64, last uintptr) int {
	now, first := monotonic(), s.first()
	g.collected = s.popTo(upTo, g.collected[:0])
	n := len(g.collected)
	if n == 0 {
		return 0
	}
	pace := (now - max(first.began, s.lastDone)) / int64(n)
	if s.opTime > 0 {
		pace = (3*s.opTime + pace) / 4
	}
	atomic.StoreInt64(&s.opTime, max(1, pace))
	s.lastDone = now
	for _, e := range g.collected {
		g.device.clock.timeOf(e, last)
	}
	g.completions.push(g.collected...)
	clear(g.collected)
	return n
}

// pollTime is the time for which engines and completion threads poll before they sleep: 0 on a
// machine with few processors.
func pollTime() time.Duration {
	if runtime.GOMAXPROCS(0) < minProcessors {
		return 0
	}
	return activePoll
}

// monotonic is the time since the process started, in nanoseconds.
func monotonic() int64 { return int64(time.Since(started)) }

var started = time.Now()

// A pageableThread is the goroutine of a device for copies of host memory that is not pinned: the
// driver accesses that memory before the call returns, which may take as long as the copy.
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

// stop finishes the queued copies and ends the goroutine.
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
		c.device.engine.notify()
	}
}

// notify wakes the engine after another goroutine has enqueued an operation.
func (g *engine) notify() {
	g.mu.Lock()
	g.notified = true
	g.mu.Unlock()
	g.wake.Signal()
}
