//go:build linux && (amd64 || arm64)

package opencl

import (
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	"github.com/gompss/gompss/codegen/target"
	"github.com/gompss/gompss/deps"
	"github.com/gompss/gompss/devices"
	"github.com/gompss/gompss/internal/sighandlers"
)

// A Device is one device with an OpenCL driver.
type Device struct {
	driver  *driver
	options Options
	info    Info
	name    string
	space   devices.SpaceID
	memory  deps.Bytes
	context *sharedContext
	clock   clock
	cache   *cache

	mirrors                  mirrorTable
	toDevice, toHost, launch *queue
	faults                   faultSlots
	scratch                  scratch
	objects                  atomic.Int64 // memory objects that were made

	lost atomic.Pointer[devices.DeviceError]

	mu       sync.Mutex
	programs map[*devices.Kernel]*program
	closed   bool
}

// part is the default share of a device's memory that is used, in percent: drivers allocate late,
// and use some memory themselves.
const part = 80

func openDevice(drv *driver, i int, info Info, space devices.SpaceID, o Options) (_ *Device, err error) {
	d := &Device{driver: drv, options: o, info: info, name: fmt.Sprintf("%s:%d", Kind, i), space: space, memory: o.Memory,
		mirrors: mirrorTable{of: map[deps.BufferID]*mirror{}}, programs: map[*devices.Kernel]*program{}}
	if d.memory == 0 {
		d.memory = max(info.Memory/100*part/o.Granule, 1) * o.Granule
	}
	if info.Largest == 0 {
		return nil, fmt.Errorf("opencl: %s: addresses are not 64 bits wide: not supported", info.Name)
	}
	if dir := o.cacheDir(); dir != "" {
		d.cache = &cache{dir: dir, limit: o.CacheLimit}
	}
	restore := sighandlers.Keep() // the first context starts threads and handlers of the driver
	defer func() { err = errors.Join(err, restore()) }()
	if d.context, err = drv.contexts.take(drv, &info); err != nil {
		return nil, fmt.Errorf("opencl: %s: %w", info.Name, err)
	}
	for _, q := range []**queue{&d.toDevice, &d.toHost, &d.launch} {
		if *q, err = newQueue(d, q == &d.launch); err != nil {
			return nil, errors.Join(fmt.Errorf("opencl: %s: %w", info.Name, err), d.Close())
		}
	}
	if o.Timed {
		if err := d.clock.calibrate(d); err != nil {
			return nil, errors.Join(fmt.Errorf("opencl: %s: %w", info.Name, err), d.Close())
		}
	}
	return d, nil
}

// Properties describes the device.
func (d *Device) Properties() devices.Properties {
	i := &d.info
	p := devices.Properties{
		Name:        d.name,
		Kind:        Kind,
		Description: fmt.Sprintf("%s (%s, platform %s, %s), %v of %v", i.Name, i.Type, i.Platform, i.Version, d.memory, i.Memory),
		Memory:      d.memory,
		Granule:     d.options.Granule,
		Workers:     1,
		Depth:       2,
	}
	if d.options.Timed {
		p.ClockError = d.clock.err
	}
	return p
}

// Info returns what the driver says of the device.
func (d *Device) Info() Info { return d.info }

// Target returns the numbers that kernels are made by.
func (d *Device) Target() *target.Target { return d.info.Target }

// Reaches reports whether s is this device: others are reached through the host.
func (d *Device) Reaches(s devices.SpaceID) bool { return s == d.space }

// alive returns the error that says that the device is out of service.
func (d *Device) alive() error {
	if e := d.lost.Load(); e != nil {
		return e
	}
	return nil
}

// lose takes the device out of service.
func (d *Device) lose(what string, err error) error {
	if d.lost.CompareAndSwap(nil, &devices.DeviceError{Device: d.name, What: what, Err: err, Fatal: true}) {
		d.driver.contexts.abandon(d.context)
	}
	return d.alive()
}

// fail makes the error of something that the device was asked to do.
func (d *Device) fail(what string, err error) error {
	switch codeOf(err) {
	case codeNoObjectMemory, codeNoResources, codeNoHostMemory, codeBufferTooLarge:
		err = fmt.Errorf("%w: %w", devices.ErrNoMemory, err)
	}
	return &devices.DeviceError{Device: d.name, What: what, Err: err}
}

// Close waits for the work in flight and frees everything. Where work never ends, what it uses
// stays.
func (d *Device) Close() error {
	d.mu.Lock()
	closed := d.closed
	d.closed = true
	d.mu.Unlock()
	if closed {
		return nil
	}
	stuck := false
	for _, q := range []*queue{d.toDevice, d.toHost, d.launch} {
		if q != nil {
			q.stop()
			stuck = stuck || q.stuck.Load()
		}
	}
	if stuck {
		return nil
	}
	var errs []error
	for _, p := range d.programs {
		errs = append(errs, p.checked.release(d))
		if p.proved != nil {
			errs = append(errs, p.proved.release(d))
		}
	}
	errs = append(errs, d.mirrors.freeAll(d), d.faults.free(d), d.scratch.free(d))
	for _, q := range []*queue{d.toDevice, d.toHost, d.launch} {
		if q != nil {
			errs = append(errs, d.driver.do(clReleaseCommandQueue, q.cl))
		}
	}
	errs = append(errs, d.driver.contexts.give(d.driver, d.context))
	if err := errors.Join(errs...); err != nil && d.alive() == nil {
		return d.fail("close", err)
	}
	return nil
}

// A clock relates the device's time to the host's.
type clock struct {
	offset int64         // of the device's time in nanoseconds, to those of the host since base
	base   time.Time     // with the monotonic clock
	err    time.Duration // bound of the offset's error
}

// rounds is the number of times that the clocks are compared: the best counts.
const rounds = 10

// calibrate compares the clocks by markers.
func (c *clock) calibrate(d *Device) error {
	c.base, c.err = time.Now(), time.Hour
	for range rounds {
		b := newBlock()
		before := time.Since(c.base)
		if err := d.driver.do(clEnqueueMarkerWithWaitList, d.launch.cl, 0, 0, b.at(0)); err != nil {
			b.free()
			return err
		}
		err := d.driver.do(clWaitForEvents, 1, b.at(0))
		after := time.Since(c.base)
		marker := uintptr(b.words[0])
		b.free()
		var ended int64
		if err == nil {
			_, ended, err = d.profile(marker)
		}
		if err = errors.Join(err, d.driver.do(clReleaseEvent, marker)); err != nil {
			return err
		}
		if half := (after - before + 1) / 2; half < c.err {
			c.offset, c.err = int64(before+half)-ended, half
		}
	}
	return nil
}

// host returns the moment of the host's clock at which the device's shows t.
func (c *clock) host(t int64) time.Time { return c.base.Add(time.Duration(t + c.offset)) }

// profile returns when the command of an event began and ended, in the device's time.
func (d *Device) profile(cl uintptr) (began, ended int64, err error) {
	const start, end = 0x1282, 0x1283
	a, err := d.driver.number(clGetEventProfilingInfo, cl, start)
	if err != nil {
		return 0, 0, err
	}
	b, err := d.driver.number(clGetEventProfilingInfo, cl, end)
	return int64(a), int64(b), err
}
