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
)

// A gpu is one GPU of the driver: its context and its state. After identify and retain, only lost
// and stuck change, once each.
type gpu struct {
	driver  *driver.Driver
	name    string // "cuda:0"
	model   string // "NVIDIA H200"
	index   int    // in its platform
	ordinal int32  // the driver's CUdevice
	context uintptr
	// contextTook is the time for the creation of the context.
	contextTook time.Duration
	space       devices.SpaceID
	chip        chip
	lost        atomic.Pointer[devices.DeviceError]
	stuck       atomic.Bool // an operation never ended: driver calls that wait may block for ever
}

// A chip contains the properties that determine arch and launch shapes.
type chip struct {
	major, minor int
	sms          int // multiprocessors
	warp         int
	maxPitch     deps.Bytes // of a 2-D copy
	bandwidth    deps.Bytes // in bytes per second; 0 if the driver does not report it
}

// arch returns the name of the architecture for NVRTC.
func (c chip) arch() string { return fmt.Sprintf("sm_%d%d", c.major, c.minor) }

// Attributes of a device, by their numbers in cuda.h.
const (
	attributeWarp        = 10
	attributeMaxPitch    = 11
	attributeSMs         = 16
	attributeMemoryClock = 36 // in kHz
	attributeBusWidth    = 37 // in bits
	attributeMajor       = 75
	attributeMinor       = 76
	attributeVirtual     = 102 // virtual memory management
	attributeMemPools    = 115
	attributeUnifiedVA   = 41
)

// identify reads the properties of the device.
func (g *gpu) identify() error {
	b := driver.NewBlock()
	defer b.Free()
	if err := g.driver.Do(driver.CuDeviceGet, b.At(0), uintptr(g.ordinal)); err != nil {
		return err
	}
	g.ordinal = b.Int32(0)
	if err := g.driver.Do(driver.CuDeviceGetName, b.At(0), 256, uintptr(g.ordinal)); err != nil {
		return err
	}
	g.model = textOf(b.Bytes(0))
	var virtual, pools, unified, pitch int
	for _, a := range []struct {
		to     *int
		number int
	}{
		{&g.chip.major, attributeMajor}, {&g.chip.minor, attributeMinor}, {&g.chip.sms, attributeSMs},
		{&g.chip.warp, attributeWarp}, {&pitch, attributeMaxPitch}, {&virtual, attributeVirtual},
		{&pools, attributeMemPools}, {&unified, attributeUnifiedVA},
	} {
		if err := g.driver.Do(driver.CuDeviceGetAttribute, b.At(0), uintptr(a.number), uintptr(g.ordinal)); err != nil {
			return err
		}
		*a.to = int(b.Int32(0))
	}
	g.chip.maxPitch = deps.Bytes(pitch)
	g.chip.bandwidth = g.bandwidth(b)
	if virtual == 0 || pools == 0 || unified == 0 {
		return fmt.Errorf("%s: virtual memory management %d, memory pools %d, unified addresses %d: all are needed",
			g.model, virtual, pools, unified)
	}
	return nil
}

// bandwidth returns the peak memory bandwidth in bytes per second: two transfers per clock cycle
// over the width of the bus. It returns 0 if the driver does not report these.
func (g *gpu) bandwidth(b *driver.Block) deps.Bytes {
	var kilohertz, bits int32
	for _, a := range []struct {
		to     *int32
		number uintptr
	}{{&kilohertz, attributeMemoryClock}, {&bits, attributeBusWidth}} {
		if g.driver.Do(driver.CuDeviceGetAttribute, b.At(0), a.number, uintptr(g.ordinal)) != nil {
			return 0 // only reports use it
		}
		*a.to = int32(b.Int32(0))
	}
	return 2 * 1000 * deps.Bytes(kilohertz) * deps.Bytes(bits) / 8
}

// textOf returns the text in b up to the first 0 byte.
func textOf(b []byte) string {
	for i, c := range b {
		if c == 0 {
			return string(b[:i])
		}
	}
	return string(b)
}

// retain retains the primary context and makes it current.
func (g *gpu) retain() error {
	b := driver.NewBlock()
	defer b.Free()
	began := monotonic()
	if err := g.driver.Do(driver.CuDevicePrimaryCtxRetain, b.At(0), uintptr(g.ordinal)); err != nil {
		return err
	}
	g.context = uintptr(b.Words[0])
	err := g.driver.Do(driver.CuCtxSetCurrent, g.context)
	g.contextTook = time.Duration(monotonic() - began)
	return err
}

// enter makes the device's context current on this thread, until leave. Calls may nest.
func (g *gpu) enter() {
	runtime.LockOSThread()
	if code := g.driver.Call(driver.CuCtxSetCurrent, g.context); code != 0 && g.lost.Load() == nil {
		g.lose("set context", g.driver.Check(driver.CuCtxSetCurrent, code))
	}
}

func (g *gpu) leave() { runtime.UnlockOSThread() }

// within calls f with the device's context current, on a locked thread, and restores the previous
// context.
func (g *gpu) within(f func() error) error {
	b := driver.NewBlock()
	defer b.Free()
	if err := g.driver.Do(driver.CuCtxGetCurrent, b.At(0)); err != nil {
		return err
	}
	before := uintptr(b.Words[0])
	if before == g.context {
		return f()
	}
	if err := g.driver.Do(driver.CuCtxSetCurrent, g.context); err != nil {
		return err
	}
	err := f()
	return errors.Join(err, g.driver.Do(driver.CuCtxSetCurrent, before))
}

// alive returns an error if the device is lost.
func (g *gpu) alive() error {
	if e := g.lost.Load(); e != nil {
		return e
	}
	return nil
}

// lose takes the device out of service and returns the reason.
func (g *gpu) lose(what string, cause error) error {
	g.lost.CompareAndSwap(nil, &devices.DeviceError{Device: g.name, What: what, Err: cause, Fatal: true})
	return g.lost.Load()
}
