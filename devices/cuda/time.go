//go:build linux && (amd64 || arm64)

package cuda

import (
	"errors"
	"math"
	"time"

	"github.com/gompss/gompss/devices"
	"github.com/gompss/gompss/devices/cuda/internal/driver"
)

// Time launches l repeat times in a row, rounds times over, and returns how long a launch took in
// each round, by events of the GPU. Everything that l touches must be there: it is launched behind
// nothing. For measurements.
func (d *Device) Time(l *devices.Launch, repeat, rounds int) (each []time.Duration, err error) {
	o := newLaunching(d, l.Kernel, l.Label)
	op := &o.operation
	op.stream = d.kernels[0]
	if err := d.Prepare(l.Kernel); err != nil {
		return nil, err
	}
	if err := d.choose(l, o); err != nil {
		return nil, d.failAt(op.event, err)
	}
	defer func() {
		for _, c := range op.event.checks { // every launch took one
			d.slots.put(c.slot)
		}
	}()
	err = d.timed(op.stream, rounds, func(took time.Duration) { each = append(each, took/time.Duration(repeat)) }, func() error {
		d.enqueueing.Lock()
		defer d.enqueueing.Unlock()
		d.flush(op.stream) // what is pending has scratch memory that comes before
		for range repeat {
			if err := op.work.start(op); err != nil {
				return d.failAt(op.event, err)
			}
		}
		return nil
	})
	return each, err
}

// TimeCopy makes a copy rounds times, one after the other, and returns how long each took by events
// of the GPU.
func (d *Device) TimeCopy(t devices.Transfer, rounds int) (each []time.Duration, err error) {
	op, over := d.copyOperation(t)
	if over != nil {
		pinned := make(chan error, 1)
		over.Then(func(err error) { pinned <- err })
		if err := <-pinned; err != nil {
			return nil, err
		}
	}
	err = d.timed(op.stream, rounds, func(took time.Duration) { each = append(each, took) }, func() error { return op.work.start(op) })
	return each, err
}

// timed calls f between two events on a stream, and told with the time between them, once a round.
func (d *Device) timed(s *stream, rounds int, told func(time.Duration), f func() error) (err error) {
	d.enter()
	defer d.leave()
	w := driver.NewBlock()
	defer w.Free()
	var events [2]uintptr
	for i := range events {
		if err := d.driver.Do(driver.CuEventCreate, w.At(0), 0); err != nil {
			return err
		}
		events[i] = uintptr(w.Words[0])
		defer func() { err = errors.Join(err, d.driver.Do(driver.CuEventDestroy, events[i])) }()
	}
	for range rounds {
		if err := d.driver.Do(driver.CuEventRecord, events[0], s.cu); err != nil {
			return err
		}
		if err := f(); err != nil {
			return err
		}
		if err := d.driver.Do(driver.CuEventRecord, events[1], s.cu); err != nil {
			return err
		}
		if err := d.driver.Do(driver.CuStreamSynchronize, s.cu); err != nil {
			return d.fail("measure", err)
		}
		if err := d.driver.Do(driver.CuEventElapsedTime, w.At(2), events[0], events[1]); err != nil {
			return err
		}
		ms := float64(math.Float32frombits(uint32(w.Words[2])))
		told(time.Duration(ms * float64(time.Millisecond)))
	}
	return nil
}
