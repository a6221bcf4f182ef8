//go:build linux && (amd64 || arm64)

package cuda

import (
	"errors"
	"math"
	"time"

	"github.com/gompss/gompss/devices/cuda/internal/driver"
)

// A clock maps moments of the GPU to the host's clock. It has an event on a stream of its own whose
// host time is known within bound; events of operations are measured from there.
//
// The event is made again every few seconds: the clocks drift apart, and the driver tells distances
// in milliseconds as float32, so that after five seconds they are exact to half a microsecond.
type clock struct {
	gpu   *gpu
	spare *eventPool

	on     bool // times are wanted
	stream uintptr
	base   uintptr
	at     time.Time // when base happened
	bound  time.Duration
}

const (
	clockAge   = 5 * time.Second
	clockTries = 8
)

// start makes the clock, if times are wanted. Requires: the context is current.
func (c *clock) start(timed bool) error {
	if !timed {
		return nil
	}
	b := driver.NewBlock()
	defer b.Free()
	const nonBlocking = 1
	if err := c.gpu.driver.Do(driver.CuStreamCreate, b.At(0), nonBlocking); err != nil {
		return err
	}
	c.stream = uintptr(b.Words[0])
	if err := c.gpu.driver.Do(driver.CuEventCreate, b.At(0), 0); err != nil {
		return err
	}
	c.base, c.on = uintptr(b.Words[0]), true
	if err := c.set(); err != nil {
		return err
	}
	c.bound = 2*c.bound + time.Microsecond // later settings may be worse, and float32 has its part
	return nil
}

// set records the base event some times and keeps the last, which is as good as any: the
// shortest time in which it can have happened is the bound. Requires: the context is current.
func (c *clock) set() error {
	best := time.Duration(math.MaxInt64)
	for range clockTries {
		before := time.Now()
		if err := c.gpu.driver.Do(driver.CuEventRecord, c.base, c.stream); err != nil {
			return err
		}
		if err := c.gpu.driver.Do(driver.CuStreamSynchronize, c.stream); err != nil {
			return err
		}
		took := time.Since(before)
		best = min(best, took)
		c.at = before.Add(took / 2)
		if took <= best+best/4 && best < 100*time.Microsecond {
			break
		}
	}
	c.bound = max(c.bound, best)
	return nil
}

// recordFirst records an event before the work of e. Requires: the context is current.
func (c *clock) recordFirst(e *event, s *stream) error {
	first, err := c.spare.get()
	if err != nil {
		return err
	}
	if err := c.gpu.driver.Do(driver.CuEventRecord, first, s.cu); err != nil {
		c.spare.put(first)
		return err
	}
	e.timed = &times{first: first}
	return nil
}

// timeOf reads when the operation of e, which has happened, began and ended, and gives the first of
// its events back; last is the CUevent behind it. Requires: the context is current.
func (c *clock) timeOf(e *event, last uintptr) {
	t := e.timed
	if t == nil || t.first == 0 {
		return
	}
	defer func() { c.spare.put(t.first); t.first = 0 }()
	if c.gpu.lost.Load() != nil || e.failure() != nil {
		return
	}
	if time.Since(c.at) > clockAge && c.set() != nil {
		return // the device has failed, and its next user gets the error
	}
	from, ok1 := c.since(t.first)
	to, ok2 := c.since(last)
	if ok1 && ok2 {
		t.began, t.ended = c.at.Add(from), c.at.Add(to)
	}
}

// since returns how long after the base an event happened.
func (c *clock) since(cu uintptr) (time.Duration, bool) {
	b := driver.NewBlock()
	defer b.Free()
	if c.gpu.driver.Call(driver.CuEventElapsedTime, b.At(0), c.base, cu) != 0 {
		return 0, false // then the trace has the host's times
	}
	ms := float64(math.Float32frombits(uint32(b.Words[0])))
	return time.Duration(ms * float64(time.Millisecond)), true
}

// Times returns when the work of e began and ended on the GPU, on the host's clock; zero when it
// did not run or times were not asked for.
func (e *event) Times() (began, ended time.Time) {
	if e.timed == nil {
		return
	}
	return e.timed.began, e.timed.ended
}

// times is when the work of an event began and ended; set before it happens.
type times struct {
	first        uintptr // the CUevent before the work, until it has finished
	began, ended time.Time
}

func (c *clock) stop() error {
	if c.stream == 0 {
		return nil
	}
	err := c.gpu.driver.Do(driver.CuStreamDestroy, c.stream)
	if c.base != 0 {
		err = errors.Join(err, c.gpu.driver.Do(driver.CuEventDestroy, c.base))
	}
	c.stream, c.base = 0, 0
	return err
}
