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
	driver   *driver.Driver
	options  Options
	name     string // "cuda:0"
	model    string // "NVIDIA H200"
	index    int
	ordinal  int32 // the driver's CUdevice
	context  uintptr
	// contextTook is the time that this took.
	contextTook time.Duration
	space       devices.SpaceID
	memory      deps.Bytes
	link        devices.Link // to the host
	chip        chip
	peers       []bool // by index: their memory can be read from here
	mirrors     mirrorTable
	sharers     atomic.Uint64 // the devices that have been let touch memory of this one, by index
	lost        atomic.Pointer[devices.DeviceError]
	waits       bool        // generated kernels can wait for what they are behind; see early.go
	noEdges     atomic.Bool // the driver refused to make a graph in which they do
	stuck       atomic.Bool // something never ended: the driver may block for ever in calls that wait

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

// A chip is what decides about arch and launch shapes.
type chip struct {
	major, minor int
	sms          int // multiprocessors
	warp         int
	maxPitch     deps.Bytes // of a 2-D copy
}

// arch names the architecture for NVRTC.
func (c chip) arch() string { return fmt.Sprintf("sm_%d%d", c.major, c.minor) }

// Attributes of a device, by their numbers in cuda.h.
const (
	attributeWarp      = 10
	attributeMaxPitch  = 11
	attributeSMs       = 16
	attributeMajor     = 75
	attributeMinor     = 76
	attributeVirtual   = 102 // virtual memory management
	attributeMemPools  = 115
	attributeUnifiedVA = 41
)

// openDevice opens the GPU of the driver's number ordinal as the one of an index in p.
func openDevice(p *platform, ordinal, i int, space devices.SpaceID) (_ *Device, err error) {
	d := &Device{
		platform: p,
		driver:   p.driver,
		options:  p.options,
		name:     fmt.Sprintf("%s:%d", Kind, ordinal),
		index:    i,
		ordinal:  int32(ordinal),
		space:    space,
		mirrors:  mirrorTable{of: make(map[deps.BufferID]*mirror)},
		programs: make(map[*devices.Kernel]*program),
	}
	d.spare.device, d.slots.device = d, d
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	restore := sighandlers.Keep() // the first context starts threads and handlers of the driver
	defer func() { err = errors.Join(err, restore()) }()
	for _, step := range []func() error{d.identify, d.retain, d.makeStreams, d.measureLink, d.measure, d.startClock} {
		if err := step(); err != nil {
			return nil, errors.Join(d.fail("open", err), d.freeAll())
		}
	}
	d.engine.start(d)
	d.later.start(d)
	return d, nil
}

// identify reads what the device is.
func (d *Device) identify() error {
	b := driver.NewBlock()
	defer b.Free()
	if err := d.driver.Do(driver.CuDeviceGet, b.At(0), uintptr(d.ordinal)); err != nil {
		return err
	}
	d.ordinal = b.Int32(0)
	if err := d.driver.Do(driver.CuDeviceGetName, b.At(0), 256, uintptr(d.ordinal)); err != nil {
		return err
	}
	d.model = textOf(b.Bytes(0))
	var virtual, pools, unified, pitch int
	for _, a := range []struct {
		to     *int
		number int
	}{
		{&d.chip.major, attributeMajor}, {&d.chip.minor, attributeMinor}, {&d.chip.sms, attributeSMs},
		{&d.chip.warp, attributeWarp}, {&pitch, attributeMaxPitch}, {&virtual, attributeVirtual},
		{&pools, attributeMemPools}, {&unified, attributeUnifiedVA},
	} {
		if err := d.driver.Do(driver.CuDeviceGetAttribute, b.At(0), uintptr(a.number), uintptr(d.ordinal)); err != nil {
			return err
		}
		*a.to = int(b.Int32(0))
	}
	d.chip.maxPitch = deps.Bytes(pitch)
	d.waits = !d.options.NoEarly && d.chip.major >= 9 && d.driver.Addresses[driver.CuGraphAddDependencies] != 0
	if virtual == 0 || pools == 0 || unified == 0 {
		return fmt.Errorf("%s: virtual memory management %d, memory pools %d, unified addresses %d: all are needed",
			d.model, virtual, pools, unified)
	}
	return nil
}

// textOf is b up to the first 0.
func textOf(b []byte) string {
	for i, c := range b {
		if c == 0 {
			return string(b[:i])
		}
	}
	return string(b)
}

// retain makes the primary context and makes it current.
func (d *Device) retain() error {
	b := driver.NewBlock()
	defer b.Free()
	began := monotonic()
	if err := d.driver.Do(driver.CuDevicePrimaryCtxRetain, b.At(0), uintptr(d.ordinal)); err != nil {
		return err
	}
	d.context = uintptr(b.Words[0])
	err := d.driver.Do(driver.CuCtxSetCurrent, d.context)
	d.contextTook = time.Duration(monotonic() - began)
	return err
}

// measure reads how much memory there is, and makes the pool of scratch memory keep what it has.
func (d *Device) measure() error {
	b := driver.NewBlock()
	defer b.Free()
	if err := d.driver.Do(driver.CuMemGetInfo, b.At(0), b.At(1)); err != nil {
		return err
	}
	free := deps.Bytes(b.Words[0])
	d.memory = d.options.Memory
	if d.memory == 0 {
		d.memory = free / 100 * 95
	}
	d.memory = d.memory / d.options.Granule * d.options.Granule
	if d.memory > free {
		return fmt.Errorf("memory=%v: only %v are free", d.memory, free)
	}
	*b = driver.Block{}
	fillAllocation(b, d)
	if err := d.driver.Do(driver.CuMemGetAllocationGranularity, b.At(20), b.At(0), 0); err != nil {
		return err
	}
	if unit := deps.Bytes(b.Words[20]); d.options.Granule%unit != 0 {
		return fmt.Errorf("granule=%v: want a multiple of %v, which the GPU maps", d.options.Granule, unit)
	}
	if err := d.driver.Do(driver.CuDeviceGetDefaultMemPool, b.At(0), uintptr(d.ordinal)); err != nil {
		return err
	}
	const releaseThreshold = 4 // CU_MEMPOOL_ATTR_RELEASE_THRESHOLD
	b.Words[1] = 1<<64 - 1
	return d.driver.Do(driver.CuMemPoolSetAttribute, uintptr(b.Words[0]), releaseThreshold, b.At(1))
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
		if err := d.driver.Do(driver.CuStreamCreate, b.At(0), nonBlocking); err != nil {
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

// enter makes the device's context current on this thread, until leave. Calls may nest.
func (d *Device) enter() {
	runtime.LockOSThread()
	if code := d.driver.Call(driver.CuCtxSetCurrent, d.context); code != 0 && d.lost.Load() == nil {
		d.lose("set context", d.driver.Check(driver.CuCtxSetCurrent, code))
	}
}

func (d *Device) leave() { runtime.UnlockOSThread() }

// within calls f with the device's context current, on a locked thread whose context may be another
// before and after.
func (d *Device) within(f func() error) error {
	b := driver.NewBlock()
	defer b.Free()
	if err := d.driver.Do(driver.CuCtxGetCurrent, b.At(0)); err != nil {
		return err
	}
	before := uintptr(b.Words[0])
	if before == d.context {
		return f()
	}
	if err := d.driver.Do(driver.CuCtxSetCurrent, d.context); err != nil {
		return err
	}
	err := f()
	return errors.Join(err, d.driver.Do(driver.CuCtxSetCurrent, before))
}

// Model returns what the maker calls the device.
func (d *Device) Model() string { return d.model }

// Multiprocessors returns how many there are.
func (d *Device) Multiprocessors() int { return d.chip.sms }

// ContextTime returns how long the driver took to make the context, at open.
func (d *Device) ContextTime() time.Duration { return d.contextTook }

// depthOfStream is the number of tasks that are worth having in flight for each stream of kernels:
// as many as finish before the host observes the first completion and enqueues another task.
const depthOfStream = 4

// Properties describes the device.
func (d *Device) Properties() devices.Properties {
	return devices.Properties{
		Name: d.name,
		Kind: Kind,
		Description: fmt.Sprintf("%s, %s, %d SMs, %v in granules of %v, driver %s", d.model, d.chip.arch(), d.chip.sms,
			d.memory, d.options.Granule, driver.Release(d.driver.Version)),
		Memory:  d.memory,
		Granule: d.options.Granule,
		Workers: 1,
		Depth:   depthOfStream * len(d.kernels),

		ClockError: d.clock.bound,
	}
}

// Reaches reports whether s is a GPU opened together with d whose memory d can read.
func (d *Device) Reaches(s devices.SpaceID) bool {
	if s == d.space {
		return true
	}
	other := d.platform.at(s)
	return other != nil && d.peers[other.index]
}

// Backed returns how much memory is mapped now.
func (d *Device) Backed() deps.Bytes { return deps.Bytes(d.mirrors.backed.Load()) }

// alive returns the error that says that the device is lost.
func (d *Device) alive() error {
	if e := d.lost.Load(); e != nil {
		return e
	}
	return nil
}

// lose takes the device out of service and returns why it is.
func (d *Device) lose(what string, cause error) error {
	d.lost.CompareAndSwap(nil, &devices.DeviceError{Device: d.name, What: what, Err: cause, Fatal: true})
	return d.lost.Load()
}

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
			return d.alive()
		}
		return d.lose(what, err)
	}
	if driver.CodeOf(err) == driver.CodeNoMemory {
		err = fmt.Errorf("%w: %w", devices.ErrNoMemory, err)
	}
	return &devices.DeviceError{Device: d.name, What: what, Err: err}
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
	if d.stuck.Load() {
		d.platform.pins.rest(d)
		return nil
	}
	d.enter()
	defer d.leave()
	return d.freeAll()
}

// freeAll gives everything back to the driver. Of a lost device it only reports what is new.
func (d *Device) freeAll() error {
	var errs []error
	free := func(err error) {
		if err != nil && d.lost.Load() == nil {
			errs = append(errs, d.fail("close", err))
		}
	}
	if d.context == 0 {
		return nil
	}
	for _, s := range d.streams() {
		free(d.driver.Do(driver.CuStreamSynchronize, s.cu))
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
	free(d.stopClock())
	for _, s := range d.streams() {
		free(d.driver.Do(driver.CuStreamDestroy, s.cu))
	}
	free(d.driver.Do(driver.CuDevicePrimaryCtxRelease, uintptr(d.ordinal)))
	d.context = 0
	return errors.Join(errs...)
}
