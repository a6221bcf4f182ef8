//go:build linux && (amd64 || arm64)

package cuda

import (
	"fmt"
	"runtime"
	"sync"
	"time"

	"github.com/gompss/gompss/devices"
)

// How the poller waits: it looks without pause for a while after the last thing that happened, as a chain of short
// kernels wants it, and then less and less often.
const (
	eager     = 200 * time.Microsecond
	napAtMost = 200 * time.Microsecond
)

// A poller is the goroutine of a device that sees what is over. It sleeps when nothing is in flight.
type poller struct {
	device *Device
	done   sync.WaitGroup

	mu       sync.Mutex
	wake     sync.Cond
	flying   int // operations submitted that have not happened
	queued   int // wake-ups: operations enqueued since it last looked
	stopping bool
}

func (p *poller) start(d *Device) {
	p.device = d
	p.wake.L = &p.mu
	p.done.Go(p.run)
}

// expect counts operations in and out.
func (p *poller) expect(n int) {
	p.mu.Lock()
	p.flying += n
	p.mu.Unlock()
	p.wake.Signal()
}

// wakeUp says that an operation is on a stream.
func (p *poller) wakeUp() {
	p.mu.Lock()
	p.queued++
	p.mu.Unlock()
	p.wake.Signal()
}

// stop waits until nothing is in flight and ends the goroutine.
func (p *poller) stop() {
	p.mu.Lock()
	p.stopping = true
	p.mu.Unlock()
	p.wake.Signal()
	p.done.Wait()
}

// idle waits while there is nothing to look at, and reports whether the device is being closed.
func (p *poller) idle(empty bool) (end bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for empty && p.queued == 0 && !(p.stopping && p.flying == 0) {
		p.wake.Wait()
	}
	p.queued = 0
	return p.stopping && p.flying == 0
}

func (p *poller) run() {
	d := p.device
	list := d.streams()
	var over []*event
	nap, busy := time.Duration(0), time.Now()
	empty := false
	for !p.idle(empty) {
		if empty { // it slept
			busy, nap = time.Now(), 0
		}
		over, empty = d.poll(list, over[:0])
		if len(over) > 0 {
			p.finish(over)
			busy, nap = time.Now(), 0
			continue
		}
		if time.Since(busy) < eager {
			runtime.Gosched()
			continue
		}
		nap = min(nap+20*time.Microsecond, napAtMost)
		time.Sleep(nap)
	}
}

// finish makes events happen that are over.
func (p *poller) finish(over []*event) {
	for i, e := range over {
		e.finish()
		over[i] = nil
	}
	p.expect(-len(over))
}

// poll returns the events that have happened since it last looked, and whether nothing is left.
func (d *Device) poll(list []*stream, over []*event) (_ []*event, empty bool) {
	empty = true
	d.enter()
	for _, s := range list {
		for e := s.first(); e != nil; e = s.first() {
			if d.lost.Load() == nil && !d.ended(e) {
				empty = false
				break
			}
			s.pop()
			over = append(over, e)
		}
	}
	d.leave()
	return over, empty
}

// ended asks the driver whether an event has happened. An error ends the device.
func (d *Device) ended(e *event) bool {
	switch code := d.driver.call(cuEventQuery, e.cu); code {
	case 0:
		return true
	case codeNotReady:
		return d.overdue(e)
	default:
		d.blame(e, d.driver.check(cuEventQuery, code))
		return true
	}
}

// overdue ends the device when e has been in flight for longer than the time limit, and reports whether it is.
func (d *Device) overdue(e *event) bool {
	limit := d.options.TimeLimit
	if limit == 0 || time.Duration(monotonic()-e.began) < limit {
		return false
	}
	d.stuck.Store(true)
	d.blame(e, fmt.Errorf("%w: %v", ErrTimeLimit, limit))
	return true
}

// blame ends the device because of e. When e is a copy, a kernel that is in flight is to blame: copies do not fail.
func (d *Device) blame(e *event, err error) {
	culprit := e
	for _, s := range d.kernels {
		if k := s.first(); k != nil && culprit.entry == nil {
			culprit = k
		}
	}
	d.lost.CompareAndSwap(nil, &devices.DeviceError{Device: d.name, What: culprit.what, Pos: culprit.pos, Err: err, Fatal: true})
}

// finish makes an event happen, with the fault of its kernel, the end of the device or what it was behind.
func (e *event) finish() {
	d := e.device
	err := d.alive()
	if err == nil {
		err = firstError(e.after)
	}
	if e.slot != nil {
		if fault := e.slot.fault(e.entry); fault != nil && err == nil {
			err = &devices.DeviceError{Device: d.name, What: e.what, Pos: e.pos, Err: fault}
		}
		d.slots.put(e.slot)
	}
	e.letGo()
	e.happen(err)
}

// monotonic is the time since the process started, in nanoseconds.
func monotonic() int64 { return int64(time.Since(started)) }

var started = time.Now()

// A later is the goroutine of a device that enqueues what the host had to wait for, so that whoever makes an event
// happen does not call the driver.
type later struct {
	done sync.WaitGroup
	mu   sync.Mutex
	wake sync.Cond
	jobs []func()
	over bool
}

func (l *later) start() {
	l.wake.L = &l.mu
	l.done.Go(l.run)
}

func (l *later) push(job func()) {
	l.mu.Lock()
	l.jobs = append(l.jobs, job)
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
		for _, job := range jobs {
			job()
		}
	}
}
