//go:build linux && (amd64 || arm64)

package cuda

import (
	"errors"
	"fmt"
	"runtime"
	"sync"
	"sync/atomic"
	"time"

	"github.com/gompss/gompss/deps"
	"github.com/gompss/gompss/devices"
	"github.com/gompss/gompss/devices/cuda/internal/driver"
	"github.com/gompss/gompss/internal/sighandlers"
)

// A Device is one GPU.
type Device struct {
	platform *platform
	options  Options
	gpu      gpu
	link     devices.Link // to the host
	peers    []bool       // by index: their memory can be read from here
	mirrors  mirrorTable
	waits    bool        // generated kernels can wait for what they are behind; see early.go
	noEdges  atomic.Bool // the driver refused to make a graph in which they do

	toDevice, toHost, between *stream
	kernels                   []*stream
	enqueueing                sync.Mutex // held while enqueueing
	turn                      uint32     // of kernels; under enqueueing
	launchings                launchings
	engine                    engine
	later                     later
	spare                     eventPool
	clock                     clock
	slots                     slotPool

	mu       sync.Mutex
	programs map[*devices.Kernel]*program
	closed   bool
}

// openDevice opens the GPU of the driver's number ordinal as the one of an index in p.
func openDevice(p *platform, ordinal, i int, space devices.SpaceID) (_ *Device, err error) {
	d := &Device{
		platform: p,
		options:  p.options,
		mirrors:  mirrorTable{platform: p, of: make(map[deps.BufferID]*mirror)},
		programs: make(map[*devices.Kernel]*program),
	}
	g := &d.gpu
	g.driver, g.name, g.index = p.driver, fmt.Sprintf("%s:%d", Kind, ordinal), i
	g.ordinal, g.space = int32(ordinal), space
	d.mirrors.gpu, d.clock.gpu, d.clock.spare = g, g, &d.spare
	d.spare.device, d.slots.device = d, d
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	restore := sighandlers.Keep() // the first context starts threads and handlers of the driver
	defer func() { err = errors.Join(err, restore()) }()
	for _, step := range []func() error{d.gpu.identify, d.gpu.retain, d.makeStreams, d.measureLink, d.measure, d.startClock} {
		if err := step(); err != nil {
			return nil, errors.Join(d.fail("open", err), d.freeAll())
		}
	}
	d.waits = !d.options.NoEarly && d.gpu.chip.major >= 9 && d.gpu.driver.Addresses[driver.CuGraphAddDependencies] != 0
	d.engine.start(d)
	d.later.start(d)
	return d, nil
}

// measure reads how much memory there is, and makes the pool of scratch memory keep what it has.
func (d *Device) measure() error {
	b := driver.NewBlock()
	defer b.Free()
	if err := d.gpu.driver.Do(driver.CuMemGetInfo, b.At(0), b.At(1)); err != nil {
		return err
	}
	free := deps.Bytes(b.Words[0])
	d.mirrors.limit = d.options.Memory
	if d.mirrors.limit == 0 {
		d.mirrors.limit = free / 100 * 95
	}
	d.mirrors.limit = d.mirrors.limit / d.options.Granule * d.options.Granule
	if d.mirrors.limit > free {
		return fmt.Errorf("memory=%v: only %v are free", d.mirrors.limit, free)
	}
	*b = driver.Block{}
	fillAllocation(b, &d.gpu)
	if err := d.gpu.driver.Do(driver.CuMemGetAllocationGranularity, b.At(20), b.At(0), 0); err != nil {
		return err
	}
	if unit := deps.Bytes(b.Words[20]); d.options.Granule%unit != 0 {
		return fmt.Errorf("granule=%v: want a multiple of %v, which the GPU maps", d.options.Granule, unit)
	}
	if err := d.gpu.driver.Do(driver.CuDeviceGetDefaultMemPool, b.At(0), uintptr(d.gpu.ordinal)); err != nil {
		return err
	}
	const releaseThreshold = 4 // CU_MEMPOOL_ATTR_RELEASE_THRESHOLD
	b.Words[1] = 1<<64 - 1
	return d.gpu.driver.Do(driver.CuMemPoolSetAttribute, uintptr(b.Words[0]), releaseThreshold, b.At(1))
}

// startClock makes the clock, when times are wanted. Requires: the context is current.
func (d *Device) startClock() error {
	if !d.options.Timed {
		return nil
	}
	return d.clock.start()
}

func (d *Device) makeStreams() error {
	d.kernels = make([]*stream, d.options.Streams)
	list := []**stream{&d.toDevice, &d.toHost, &d.between}
	for i := range d.kernels {
		list = append(list, &d.kernels[i])
	}
	b := driver.NewBlock()
	defer b.Free()
	const nonBlocking = 1
	for _, s := range list {
		if err := d.gpu.driver.Do(driver.CuStreamCreate, b.At(0), nonBlocking); err != nil {
			return err
		}
		*s = &stream{device: d, cu: uintptr(b.Words[0])}
	}
	for _, s := range d.kernels {
		s.kernels = true
	}
	return nil
}

// streams returns all streams that were made.
func (d *Device) streams() []*stream {
	var out []*stream
	for _, s := range append([]*stream{d.toDevice, d.toHost, d.between}, d.kernels...) {
		if s != nil {
			out = append(out, s)
		}
	}
	return out
}

// Model returns what the maker calls the device.
func (d *Device) Model() string { return d.gpu.model }

// Multiprocessors returns how many there are.
func (d *Device) Multiprocessors() int { return d.gpu.chip.sms }

// ContextTime returns how long the driver took to make the context, at open.
func (d *Device) ContextTime() time.Duration { return d.gpu.contextTook }

// depthOfStream is the number of tasks that are worth having in flight for each stream of kernels:
// as many as finish before the host observes the first completion and enqueues another task.
const depthOfStream = 4

// Properties describes the device.
func (d *Device) Properties() devices.Properties {
	return devices.Properties{
		Name: d.gpu.name,
		Kind: Kind,
		Description: fmt.Sprintf("%s, %s, %d SMs, %v in granules of %v, driver %s", d.gpu.model, d.gpu.chip.arch(), d.gpu.chip.sms,
			d.mirrors.limit, d.options.Granule, driver.Release(d.gpu.driver.Version)),
		Memory:  d.mirrors.limit,
		Granule: d.options.Granule,
		Workers: 1,
		Depth:   depthOfStream * len(d.kernels),

		ClockError: d.clock.bound,
	}
}

// Reaches reports whether s is a GPU opened together with d whose memory d can read.
func (d *Device) Reaches(s devices.SpaceID) bool {
	if s == d.gpu.space {
		return true
	}
	other := d.platform.at(s)
	return other != nil && d.peers[other.gpu.index]
}

// Backed returns how much memory is mapped now.
func (d *Device) Backed() deps.Bytes { return deps.Bytes(d.mirrors.backed.Load()) }

// fail makes the error of an operation of this device; one after which CUDA gives no answers ends
// the device, and is that of a kernel in flight, if there is one.
func (d *Device) fail(what string, err error) error {
	var already *devices.DeviceError
	if errors.As(err, &already) {
		return err
	}
	if driver.Sticky(driver.CodeOf(err)) {
		if k, _ := d.flyingKernels(); k != nil { // calls that find that a kernel has failed are not what failed
			d.blame(k, err)
			return d.gpu.alive()
		}
		return d.gpu.lose(what, err)
	}
	if driver.CodeOf(err) == driver.CodeNoMemory {
		err = fmt.Errorf("%w: %w", devices.ErrNoMemory, err)
	}
	return &devices.DeviceError{Device: d.gpu.name, What: what, Err: err}
}

// Close waits for what is in flight, ends the goroutines and frees everything. It does not wait for
// what has passed the time limit: that, and what it uses, is left to the end of the process.
func (d *Device) Close() error {
	d.mu.Lock()
	closed := d.closed
	d.closed = true
	d.mu.Unlock()
	if closed {
		return nil
	}
	d.engine.stop()
	d.later.stop()
	if d.gpu.stuck.Load() {
		d.platform.pins.rest(d)
		return nil
	}
	d.gpu.enter()
	defer d.gpu.leave()
	return d.freeAll()
}

// freeAll gives everything back to the driver. Of a lost device it only reports what is new.
func (d *Device) freeAll() error {
	var errs []error
	free := func(err error) {
		if err != nil && d.gpu.lost.Load() == nil {
			errs = append(errs, d.fail("close", err))
		}
	}
	if d.gpu.context == 0 {
		return nil
	}
	for _, s := range d.streams() {
		free(d.gpu.driver.Do(driver.CuStreamSynchronize, s.cu))
	}
	for _, s := range d.kernels {
		if s == nil {
			continue
		}
		for i := range s.graphs {
			free(s.graphs[i].free(d))
		}
		free(s.ring.free(s))
	}
	for _, p := range d.programs {
		free(p.unload(d))
	}
	free(d.mirrors.freeAll(d))
	d.platform.pins.rest(d)
	free(d.spare.freeAll())
	free(d.slots.freeAll())
	free(d.clock.stop())
	for _, s := range d.streams() {
		free(d.gpu.driver.Do(driver.CuStreamDestroy, s.cu))
	}
	free(d.gpu.driver.Do(driver.CuDevicePrimaryCtxRelease, uintptr(d.gpu.ordinal)))
	d.gpu.context = 0
	return errors.Join(errs...)
}
