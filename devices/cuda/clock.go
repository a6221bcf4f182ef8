//go:build linux && (amd64 || arm64)

package cuda

import (
	"errors"
	"math"
	"time"

	"github.com/gompss/gompss/devices/cuda/internal/driver"
)

// A clock maps times of the GPU to the host's clock. It has an event, on a separate stream, whose
// host time is known within bound; events of operations are measured relative to it.
//
// The event is recorded again every few seconds, because the clocks drift apart and the driver
// returns differences in milliseconds as float32: after five seconds their resolution is half a
// microsecond.
type clock struct {
	gpu   *gpu
	spare *eventPool

	on     bool // times are measured
	stream uintptr
	base   uintptr
	at     time.Time // the host time of base
	bound  time.Duration
}

const (
	clockAge   = 5 * time.Second
	clockTries = 8
)

// start creates the clock if times are measured.
// Requires: the context is current.
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
	c.bound = 2*c.bound + time.Microsecond // later measurements may be less exact, and float32 rounds
	return nil
}

// set records the base event several times and keeps the last one. bound is the shortest time in
// which it can have happened.
// Requires: the context is current.
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

// recordFirst records an event before the operation of e.
// Requires: the context is current.
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

// timeOf reads the start and end of the operation of e, which has happened, and frees its first
// event. last is the CUevent after the operation.
// Requires: the context is current.
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

// since returns the time of an event relative to base.
func (c *clock) since(cu uintptr) (time.Duration, bool) {
	b := driver.NewBlock()
	defer b.Free()
	if c.gpu.driver.Call(driver.CuEventElapsedTime, b.At(0), c.base, cu) != 0 {
		return 0, false // the trace then has the times of the host
	}
	ms := float64(math.Float32frombits(uint32(b.Words[0])))
	return time.Duration(ms * float64(time.Millisecond)), true
}

// Times returns the start and end of the operation of e on the host's clock. Both are zero if it
// did not run or times are not measured.
func (e *event) Times() (began, ended time.Time) {
	if e.timed == nil {
		return
	}
	return e.timed.began, e.timed.ended
}

// times are the start and end of an operation; set before the event happens.
type times struct {
	first        uintptr // the CUevent before the operation, until that has finished
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
