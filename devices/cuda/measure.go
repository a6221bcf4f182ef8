//go:build linux && (amd64 || arm64)

package cuda

import (
	"errors"
	"math"
	"runtime"
	"slices"
	"time"
	"unsafe"

	"github.com/gompss/gompss/deps"
	"github.com/gompss/gompss/devices"
	"github.com/gompss/gompss/devices/cuda/internal/driver"
	"github.com/gompss/gompss/devices/cuda/internal/tuner"
)

// The link to the host is measured when the device is opened: linkTries copies of each size in
// linkSizes, after one that does not count. That is 30 MiB in total, 1.2 ms at 25 GB/s, plus the
// allocation of the memory.
const linkTries = 5

var linkSizes = [...]deps.Bytes{4 << 10, 1 << 20, 4 << 20}

// Link returns the link to the host, as measured when the device was opened. Its rate is 0 if the
// device had no memory for the measurement.
func (d *Device) Link() devices.Link { return d.link.link }

// A linkMeter measures the link to the host and keeps the result.
type linkMeter struct {
	gpu    *gpu
	stream *stream // of copies to the device
	link   devices.Link
}

// measure measures the link with copies from pinned or pageable memory, the kind that the device
// uses.
// Requires: the context is current.
func (m *linkMeter) measure(pinned bool) error {
	n := linkSizes[len(linkSizes)-1]
	host, freeHost, err := m.hostMemory(n, pinned)
	if err != nil {
		return unlessFull(err)
	}
	return errors.Join(m.timeAll(host, n), freeHost())
}

// unlessFull returns err unless it means that there is no memory: such a device does not know its
// link.
func unlessFull(err error) error {
	if driver.CodeOf(err) == driver.CodeNoMemory {
		return nil
	}
	return err
}

// hostMemory returns n bytes of host memory to copy from, and a function that frees them.
func (m *linkMeter) hostMemory(n deps.Bytes, pinned bool) (at uintptr, free func() error, err error) {
	if !pinned {
		memory := make([]byte, n)
		clear(memory) // so that its pages exist
		at = uintptr(unsafe.Pointer(unsafe.SliceData(memory)))
		return at, func() error { runtime.KeepAlive(memory); return nil }, nil
	}
	b := driver.NewBlock()
	defer b.Free()
	if err := m.gpu.driver.Do(driver.CuMemHostAlloc, b.At(0), uintptr(n), 0); err != nil {
		return 0, nil, err
	}
	at = uintptr(b.Words[0])
	return at, func() error { return m.gpu.driver.Do(driver.CuMemFreeHost, at) }, nil
}

// timeAll copies at most n bytes from host, and sets the link.
func (m *linkMeter) timeAll(host uintptr, n deps.Bytes) (err error) {
	b := driver.NewBlock()
	defer b.Free()
	if err := m.gpu.driver.Do(driver.CuMemAllocAsync, b.At(0), uintptr(n), m.stream.cu); err != nil {
		return unlessFull(err)
	}
	to := uintptr(b.Words[0])
	defer func() {
		err = errors.Join(err, m.gpu.driver.Do(driver.CuMemFreeAsync, to, m.stream.cu), m.gpu.driver.Do(driver.CuStreamSynchronize, m.stream.cu))
	}()
	var took [len(linkSizes)]time.Duration
	for i, size := range linkSizes {
		if took[i], err = m.timeCopies(to, host, size); err != nil {
			return err
		}
	}
	m.link = fitLink(linkSizes[:], took[:])
	return nil
}

// timeCopies returns the median time of copies of size bytes, including the host's wait for their
// end.
func (m *linkMeter) timeCopies(to, host uintptr, size deps.Bytes) (time.Duration, error) {
	var took [linkTries]time.Duration
	for i := -1; i < linkTries; i++ {
		began := monotonic()
		if err := m.gpu.driver.Do(driver.CuMemcpyHtoDAsync, to, host, uintptr(size), m.stream.cu); err != nil {
			return 0, err
		}
		if err := m.gpu.driver.Do(driver.CuStreamSynchronize, m.stream.cu); err != nil {
			return 0, err
		}
		if i >= 0 {
			took[i] = time.Duration(monotonic() - began)
		}
	}
	slices.Sort(took[:])
	return took[linkTries/2], nil
}

// fitLink returns the link whose parameters fit the times of copies of increasing sizes: the rate
// is the median of the rates between all pairs of sizes, and the latency is the median of the
// remaining time. The rate is 0 if larger copies do not take longer.
//
// Source: Theil, A rank-invariant method of linear and polynomial regression analysis, 1950,
// section 1.
func fitLink(sizes []deps.Bytes, took []time.Duration) devices.Link {
	var slopes, rests []float64 // seconds per byte, seconds
	for i := range sizes {
		for j := range i {
			slopes = append(slopes, (took[i]-took[j]).Seconds()/float64(sizes[i]-sizes[j]))
		}
	}
	slope := median(slopes)
	if slope <= 0 {
		return devices.Link{}
	}
	for i := range sizes {
		rests = append(rests, took[i].Seconds()-slope*float64(sizes[i]))
	}
	return devices.Link{Rate: deps.Bytes(max(1, 1/slope)), Latency: time.Duration(max(0, median(rests)) * float64(time.Second))}
}

func median(of []float64) float64 {
	slices.Sort(of)
	return of[len(of)/2]
}

// Time makes rounds measurements of repeat consecutive launches of l, and returns the time of a
// launch in each round, by events of the GPU. All mirrors must be valid: the launches have no
// predecessors. They use the fastest variant found so far. For benchmarks.
func (d *Device) Time(l *devices.Launch, repeat, rounds int) (each []time.Duration, err error) {
	o := newLaunchOp(d, l.Kernel, l.Label)
	op := &o.operation
	op.stream = d.streams.kernels[0]
	if err := d.Prepare(l.Kernel); err != nil {
		return nil, err
	}
	if err := d.choose(l, o, (*tuner.Kernel).Settled); err != nil {
		return nil, d.health.failAt(op.event, err)
	}
	defer func() {
		for _, c := range op.event.checks { // every launch took one
			d.slots.put(c.slot)
		}
	}()
	err = d.timed(op.stream, rounds, func(took time.Duration) { each = append(each, took/time.Duration(repeat)) }, func() error {
		d.submitter.mu.Lock()
		defer d.submitter.mu.Unlock()
		d.submitter.flush(op.stream) // the scratch memory of pending operations comes first
		for range repeat {
			if err := op.work.start(op); err != nil {
				return d.health.failAt(op.event, err)
			}
		}
		return nil
	})
	return each, err
}

// TimeCopy makes rounds copies, one after the other, and returns the time of each, by events of the
// GPU.
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

// timed calls f rounds times between two events on a stream, and calls observe with each time
// between them.
func (d *Device) timed(s *stream, rounds int, observe func(time.Duration), f func() error) (err error) {
	d.gpu.enter()
	defer d.gpu.leave()
	w := driver.NewBlock()
	defer w.Free()
	var events [2]uintptr
	for i := range events {
		if err := d.gpu.driver.Do(driver.CuEventCreate, w.At(0), 0); err != nil {
			return err
		}
		events[i] = uintptr(w.Words[0])
		defer func() { err = errors.Join(err, d.gpu.driver.Do(driver.CuEventDestroy, events[i])) }()
	}
	for range rounds {
		if err := d.gpu.driver.Do(driver.CuEventRecord, events[0], s.cu); err != nil {
			return err
		}
		if err := f(); err != nil {
			return err
		}
		if err := d.gpu.driver.Do(driver.CuEventRecord, events[1], s.cu); err != nil {
			return err
		}
		if err := d.gpu.driver.Do(driver.CuStreamSynchronize, s.cu); err != nil {
			return d.health.fail("measure", err)
		}
		if err := d.gpu.driver.Do(driver.CuEventElapsedTime, w.At(2), events[0], events[1]); err != nil {
			return err
		}
		ms := float64(math.Float32frombits(uint32(w.Words[2])))
		observe(time.Duration(ms * float64(time.Millisecond)))
	}
	return nil
}
