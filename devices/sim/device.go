package sim

import (
	"errors"
	"fmt"
	"sync/atomic"
	"time"
	"unsafe"

	"github.com/gompss/gompss/deps"
	"github.com/gompss/gompss/devices"
	"github.com/gompss/gompss/internal/spin"
)

// A Device is one simulated accelerator.
type Device struct {
	platform *platform
	options  Options
	name     string
	space    devices.SpaceID
	mirrors  mirrorTable
	used     atomic.Int64 // granules backed
	lost     atomic.Pointer[devices.DeviceError]
	loseAt   time.Duration // 0: never

	toDevice, toHost, peers, kernels enqueuer

	mu       spin.Mutex
	prepared map[*devices.Kernel]*program
	closed   bool

	helper launchHelper
}

func newDevice(p *platform, i int, space devices.SpaceID) *Device {
	d := &Device{
		platform: p,
		options:  p.options,
		name:     fmt.Sprintf("%s:%d", Kind, i),
		space:    space,
		mirrors:  mirrorTable{of: make(map[deps.BufferID]*mirror)},
		toDevice: p.newQueue(),
		toHost:   p.newQueue(),
		peers:    p.newQueue(),
		kernels:  p.newQueue(),
		prepared: make(map[*devices.Kernel]*program),
	}
	if at := p.options.Faults.LoseAt; i < len(at) {
		d.loseAt = at[i]
	}
	return d
}

// newQueue returns what runs operations in the time of the platform.
func (p *platform) newQueue() enqueuer {
	if p.line != nil {
		return &lane{line: p.line}
	}
	return newStream()
}

// Properties describes the device, with the way it runs kernels.
func (d *Device) Properties() devices.Properties {
	o := &d.options
	text := fmt.Sprintf("simulated accelerator, %v in granules of %v, exec=%v, %v clock", o.Memory, o.Granule, o.Exec, o.Clock)
	if o.Races {
		text += ", races reported"
	}
	if o.NoPeer {
		text += ", no peer copies"
	}
	return devices.Properties{
		Name:        d.name,
		Kind:        Kind,
		Description: text,
		Memory:      o.Memory,
		Granule:     o.Granule,
		Workers:     1,
		Depth:       2,
	}
}

// Reaches reports whether s is a device opened together with d, unless peer=off.
func (d *Device) Reaches(s devices.SpaceID) bool {
	return s == d.space || !d.options.NoPeer && d.platform.at(s) != nil
}

// Link returns the link to the host that the options describe; without bandwidth its rate is not
// known.
func (d *Device) Link() devices.Link {
	return devices.Link{Rate: d.options.Bandwidth, Latency: d.options.Latency}
}

// Elapsed returns the device's time: when the last of what it has done ended. It is meaningful when
// nothing is in flight.
func (d *Device) Elapsed() time.Duration {
	return max(d.toDevice.now(), d.toHost.now(), d.peers.now(), d.kernels.now())
}

// Virtual returns Elapsed, and whether that is the time that counts: clock=virtual.
func (d *Device) Virtual() (elapsed time.Duration, virtual bool) {
	return d.Elapsed(), d.options.Clock == Virtual
}

// Timeline returns the virtual time that all devices opened together have, nil with clock=real.
func (d *Device) Timeline() devices.Timeline {
	if d.platform.line == nil {
		return nil
	}
	return d.platform.line
}

// Backed returns how much memory is backed now.
func (d *Device) Backed() deps.Bytes { return deps.Bytes(d.used.Load()) * d.options.Granule }

// Lose takes the device out of service: from now on everything fails, and what it holds is gone.
func (d *Device) Lose(cause error) {
	d.lost.CompareAndSwap(nil, &devices.DeviceError{Device: d.name, What: "device lost", Err: cause, Fatal: true})
}

// alive returns the error that says that the device is lost.
func (d *Device) alive() error {
	if d.loseAt > 0 && d.platform.line.Now() >= d.loseAt {
		d.Lose(fmt.Errorf("at %v: %w", d.loseAt, ErrInjected))
	}
	if e := d.lost.Load(); e != nil {
		return e
	}
	return nil
}

// fail makes the error of an operation of this device.
func (d *Device) fail(what string, err error) error {
	return &devices.DeviceError{Device: d.name, What: what, Err: err}
}

// inject makes the error of an injected fault.
func (d *Device) inject(what string) error {
	if d.options.Faults.Lose {
		d.Lose(fmt.Errorf("%s: %w", what, ErrInjected))
		return d.alive()
	}
	return d.fail(what, ErrInjected)
}

// Reserve makes the mirror of a buffer, with nothing backed.
func (d *Device) Reserve(b devices.Buffer) error {
	if err := d.alive(); err != nil {
		return err
	}
	d.mirrors.mu.Lock()
	defer d.mirrors.mu.Unlock()
	if d.mirrors.of[b.ID] != nil {
		return d.fail("reserve", fmt.Errorf("buffer %d has a mirror already", b.ID))
	}
	m, err := newMirror(b, d.options.Granule)
	if err != nil {
		return d.fail("reserve", err)
	}
	d.mirrors.of[b.ID] = m
	return nil
}

// Map backs [lo, hi) with poisoned memory.
func (d *Device) Map(b deps.BufferID, lo, hi deps.Bytes) error {
	if err := d.alive(); err != nil {
		return err
	}
	if fault(&d.platform.allocs, d.options.Faults.Alloc) {
		return d.inject(fmt.Sprintf("map %v", hi-lo))
	}
	m, err := d.mirrors.get(b)
	if err != nil {
		return d.fail("map", err)
	}
	n := int64((hi - lo + d.options.Granule - 1) / d.options.Granule)
	limit := int64(d.options.Memory / d.options.Granule)
	if used := d.used.Add(n); used > limit {
		d.used.Add(-n)
		return d.fail(fmt.Sprintf("map %v", hi-lo), fmt.Errorf("%w: %v of %v are backed",
			devices.ErrNoMemory, deps.Bytes(used-n)*d.options.Granule, d.options.Memory))
	}
	if err := m.mapRange(lo, hi); err != nil {
		d.used.Add(-n)
		return d.fail("map", err)
	}
	return nil
}

// Unmap takes the backing of [lo, hi) away.
func (d *Device) Unmap(b deps.BufferID, lo, hi deps.Bytes) error {
	m, err := d.mirrors.get(b)
	if err != nil {
		return d.fail("unmap", err)
	}
	if err := m.unmapRange(lo, hi); err != nil {
		return d.fail("unmap", err)
	}
	d.used.Add(-int64((hi - lo + d.options.Granule - 1) / d.options.Granule))
	return nil
}

// Release drops the mirror of a buffer, with all that is backed.
func (d *Device) Release(b deps.BufferID) error {
	d.mirrors.mu.Lock()
	m := d.mirrors.of[b]
	delete(d.mirrors.of, b)
	d.mirrors.mu.Unlock()
	if m == nil {
		return d.fail("release", fmt.Errorf("buffer %d: %w", b, devices.ErrUnknownBuffer))
	}
	d.used.Add(-int64(m.granules()))
	return release(m.memory)
}

// Close runs what is enqueued, ends the streams and frees the mirrors.
func (d *Device) Close() error {
	d.mu.Lock()
	closed := d.closed
	d.closed = true
	d.mu.Unlock()
	if closed {
		return nil
	}
	d.helper.stop()
	for _, s := range []enqueuer{d.toDevice, d.toHost, d.peers, d.kernels} {
		s.close()
	}
	if line := d.platform.line; d.platform.open.Add(-1) == 0 && line != nil {
		line.close()
	}
	var errs []error
	d.mirrors.mu.Lock()
	defer d.mirrors.mu.Unlock()
	for b, m := range d.mirrors.of {
		errs = append(errs, release(m.memory))
		delete(d.mirrors.of, b)
	}
	d.used.Store(0)
	return errors.Join(errs...)
}

// At returns the address of byte 0 of a buffer's mirror. It panics when there is none: a launch's
// arguments name buffers of its working set.
func (d *Device) at(b deps.BufferID) unsafe.Pointer {
	m, err := d.mirrors.get(b)
	if err != nil {
		panic(fmt.Sprintf("gompss: bug: %s: a kernel asks for %v", d.name, err))
	}
	return m.base()
}

// Address implements devices.Exposed: the memory of a simulated device is memory of the process.
func (d *Device) Address(b deps.BufferID) (uintptr, error) {
	m, err := d.mirrors.get(b)
	if err != nil {
		return 0, err
	}
	return uintptr(m.base()), nil
}

// Current implements devices.Exposed.
func (d *Device) Current() error { return d.alive() }
