//go:build linux && (amd64 || arm64)

package cuda

import (
	"errors"
	"fmt"
	"runtime"
	"sync/atomic"
	"time"

	"github.com/gompss/gompss/deps"
	"github.com/gompss/gompss/devices"
	"github.com/gompss/gompss/devices/cuda/internal/driver"
	"github.com/gompss/gompss/devices/cuda/internal/tuner"
	"github.com/gompss/gompss/internal/sighandlers"
)

// A Device is one GPU. Each of its parts has one job. The engine, the pageableThread, and the
// threads that the engine starts have goroutines.
type Device struct {
	platform *platform
	options  Options
	gpu      gpu
	health   health
	link     linkMeter
	peers    []bool // by index: whether this device can read the memory of that one
	mirrors  mirrorTable
	modules  moduleTable

	streams   streamSet
	submitter submitter
	engine    engine
	pageable  pageableThread
	spare     eventPool
	clock     clock
	slots     slotPool

	closed atomic.Bool
}

// newDevice returns the device with the driver's ordinal and index i in p, with its parts
// connected.
func newDevice(p *platform, ordinal, i int, space devices.SpaceID) *Device {
	d := &Device{platform: p, options: p.options}
	g := &d.gpu
	g.driver, g.name, g.index = p.driver, fmt.Sprintf("%s:%d", Kind, ordinal), i
	g.ordinal, g.space = int32(ordinal), space
	d.health = health{gpu: g, streams: &d.streams, limit: p.options.TimeLimit}
	d.mirrors = mirrorTable{gpu: g, platform: p, of: make(map[deps.BufferID]*mirror)}
	d.modules = moduleTable{gpu: g, platform: p, of: make(map[*devices.Kernel]*program)}
	d.submitter = submitter{gpu: g, platform: p, streams: &d.streams, health: &d.health, clock: &d.clock,
		engine: &d.engine, pageable: &d.pageable}
	d.clock.gpu, d.clock.spare = g, &d.spare
	d.spare.device, d.slots.gpu = d, g
	return d
}

// openDevice opens the GPU with the driver's ordinal and index i in p.
func openDevice(p *platform, ordinal, i int, space devices.SpaceID) (_ *Device, err error) {
	d := newDevice(p, ordinal, i, space)
	runtime.LockOSThread()
	defer runtime.UnlockOSThread()
	restore := sighandlers.Keep() // the first context starts threads and installs signal handlers of the driver
	defer func() { err = errors.Join(err, restore()) }()
	for _, step := range []func() error{
		d.gpu.identify,
		d.gpu.retain,
		func() error { return d.streams.open(d, d.options.Streams) },
		d.measureLink,
		d.measureMemory,
		func() error { return d.clock.start(p.timed) },
	} {
		if err := step(); err != nil {
			return nil, errors.Join(d.health.fail("open", err), d.freeAll())
		}
	}
	d.modules.waits = !d.options.NoEarly && d.gpu.chip.major >= 9 && d.gpu.driver.Addresses[driver.CuGraphAddDependencies] != 0
	d.modules.tuner = tuner.New(p.driver, p.cache, p.tuning, fmt.Sprintf("%s of %d multiprocessors", d.gpu.chip.arch(), d.gpu.chip.sms))
	d.engine.start(d)
	d.pageable.start(d)
	return d, nil
}

func (d *Device) measureLink() error {
	d.link = linkMeter{gpu: &d.gpu, stream: d.streams.toDevice}
	return d.link.measure(!d.options.NoPin)
}

// measureMemory reads the size of the memory, and configures the pool of scratch memory to keep
// freed memory.
func (d *Device) measureMemory() error {
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

// Model returns the manufacturer's name of the device.
func (d *Device) Model() string { return d.gpu.model }

// Multiprocessors returns the number of multiprocessors.
func (d *Device) Multiprocessors() int { return d.gpu.chip.sms }

// ContextTime returns how long the driver took to make the context, at open.
func (d *Device) ContextTime() time.Duration { return d.gpu.contextTook }

// depthOfStream is the number of tasks that are worth having in flight for each stream of kernels:
// as many as finish before the host observes the first completion and enqueues another task.
const depthOfStream = 4

// Properties describes the device.
func (d *Device) Properties() devices.Properties {
	return devices.Properties{
		Name:      d.gpu.name,
		Kind:      Kind,
		Bandwidth: d.gpu.chip.bandwidth,
		Description: fmt.Sprintf("%s, %s, %d SMs, %v in granules of %v, driver %s", d.gpu.model, d.gpu.chip.arch(), d.gpu.chip.sms,
			d.mirrors.limit, d.options.Granule, driver.Release(d.gpu.driver.Version)),
		Memory:  d.mirrors.limit,
		Granule: d.options.Granule,
		Workers: 1,
		Depth:   depthOfStream * len(d.streams.kernels),

		ClockError: d.clock.bound,
	}
}

// Reaches reports whether d can read the memory of s, a GPU opened together with d.
func (d *Device) Reaches(s devices.SpaceID) bool {
	if s == d.gpu.space {
		return true
	}
	other := d.platform.at(s)
	return other != nil && d.peers[other.gpu.index]
}

// Backed returns the number of mapped bytes.
func (d *Device) Backed() deps.Bytes { return deps.Bytes(d.mirrors.backed.Load()) }

// Close waits for the operations in flight, ends the goroutines and frees all resources. It does
// not wait for an operation beyond the time limit: such an operation and its resources remain until
// the end of the process.
func (d *Device) Close() error {
	if d.closed.Swap(true) {
		return nil
	}
	d.engine.stop()
	d.pageable.stop()
	d.modules.making.end()
	d.modules.tuner.Close()
	if d.gpu.stuck.Load() {
		d.platform.pins.waitIdle(d)
		return nil
	}
	d.gpu.enter()
	defer d.gpu.leave()
	return d.freeAll()
}

// freeAll frees all resources of the driver. For a lost device it reports new errors only.
func (d *Device) freeAll() error {
	var errs []error
	free := func(err error) {
		if err != nil && d.gpu.lost.Load() == nil {
			errs = append(errs, d.health.fail("close", err))
		}
	}
	if d.gpu.context == 0 {
		return nil
	}
	free(d.streams.synchronize(&d.gpu))
	free(d.streams.freeBatches())
	free(d.modules.unloadAll(d))
	free(d.mirrors.freeAll(d))
	d.platform.pins.waitIdle(d)
	free(d.spare.freeAll())
	free(d.slots.freeAll())
	free(d.clock.stop())
	if d.modules.tuner != nil { // otherwise the device is being opened
		free(d.modules.tuner.Free())
	}
	free(d.streams.destroy(&d.gpu))
	free(d.gpu.driver.Do(driver.CuDevicePrimaryCtxRelease, uintptr(d.gpu.ordinal)))
	d.gpu.context = 0
	return errors.Join(errs...)
}

// StartHelper sets the functions for the launch thread and the completion thread.
func (d *Device) StartHelper(launch, contended func() bool) {
	d.engine.launcher.call.Store(&launchCallback{launch, contended})
}

// HelperAwake reports whether the goroutine that currently launches tasks is awake. Such a
// goroutine calls launch once more before it sleeps.
func (d *Device) HelperAwake() bool {
	if d.engine.launcher.contended() {
		return d.engine.launcher.awake.Load()
	}
	return d.engine.completions.now() == polling
}
