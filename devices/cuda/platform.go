//go:build linux && (amd64 || arm64)

package cuda

import (
	"errors"
	"fmt"

	"github.com/gompss/gompss/devices"
	"github.com/gompss/gompss/devices/cuda/internal/driver"
	"github.com/gompss/gompss/devices/cuda/internal/nvtx"
	"github.com/gompss/gompss/devices/cuda/internal/tune"
)

// Kind is the kind of NVIDIA GPUs.
const Kind devices.Kind = "cuda"

func init() { devices.RegisterAutomatic(Kind, openConfig) }

// A platform is the GPUs that were opened together: they may reach each other and share the pinned
// host memory.
type platform struct {
	driver  *driver.Driver
	options Options
	timed   bool // events say when their work ran
	devices []*Device
	first   devices.SpaceID
	pins    pins
	cache   *driver.Cache
	tuning  tune.Mode
	sizes   bool       // kernels get code for the sizes of launches
	nvtx    *nvtx.Tool // nil when no tool wants ranges
}

// Open opens n GPUs, the first ones, with address spaces from first on; all that there are when n
// is 0.
//
// Errors: *LibraryError when there is no driver or it is too old; how many GPUs there are when they
// are too few.
func Open(n int, first devices.SpaceID, o Options) ([]*Device, error) {
	return open(n, first, o, false, nil)
}

// open is Open; with timed, events say when their work ran on the GPU, for two more calls of the
// driver each. Where absent is not nil, n is the most, a GPU that does not open is left out and
// told to absent, and a machine without any is a *devices.MissingError.
func open(n int, first devices.SpaceID, o Options, timed bool, absent func(device string, why error)) (_ []*Device, err error) {
	if err := o.fill(); err != nil {
		return nil, err
	}
	mode, err := o.Tune.mode()
	if err != nil {
		return nil, err
	}
	sizes, err := o.Sizes.made()
	if err != nil {
		return nil, err
	}
	drv, err := driver.Open()
	if err != nil {
		return nil, &devices.MissingError{Err: err}
	}
	if absent != nil {
		if drv.Count == 0 {
			return nil, &devices.MissingError{Err: fmt.Errorf("cuda: the driver (%s, CUDA %s) sees no GPU", drv.Path, driver.Release(drv.Version))}
		}
		n = min(n, drv.Count)
	}
	if n == 0 {
		n = max(drv.Count, 1)
	}
	if n < 0 || n > drv.Count {
		return nil, fmt.Errorf("cuda: %d GPUs wanted: the driver (%s, CUDA %s) sees %d", n, drv.Path, driver.Release(drv.Version), drv.Count)
	}
	p := &platform{driver: drv, options: o, timed: timed, first: first, cache: o.cache(), tuning: mode, sizes: sizes}
	p.pins.start(p)
	if p.nvtx, err = nvtx.Open(); err != nil {
		return nil, err
	}
	for i := range n {
		d, err := openDevice(p, i, len(p.devices), devices.SpaceID{Node: first.Node, Device: first.Device + uint16(len(p.devices))})
		if err != nil && absent != nil {
			absent(fmt.Sprintf("%s:%d", Kind, i), err)
			continue
		}
		if err != nil {
			for _, d := range p.devices {
				err = errors.Join(err, d.Close())
			}
			return nil, err
		}
		p.devices = append(p.devices, d)
	}
	return p.devices, p.findPeers()
}

// optional returns the function that reports GPUs that are left out: nil where the specification
// requires them.
func optional(c devices.Config) func(string, error) {
	switch {
	case !c.Optional:
		return nil
	case c.Absent == nil:
		return func(string, error) {}
	}
	return c.Absent
}

func openConfig(c devices.Config) ([]devices.Device, error) {
	var o Options
	switch given := c.Options.(type) {
	case nil:
	case Options:
		o = given
	default:
		return nil, fmt.Errorf("cuda: options of type %T: want cuda.Options", given)
	}
	if err := c.Scan(o.setters()); err != nil {
		return nil, err
	}
	opened, err := open(c.Count, c.First, o, c.Timed, optional(c))
	if err != nil {
		return nil, err
	}
	out := make([]devices.Device, len(opened))
	for i, d := range opened {
		out[i] = d
	}
	return out, nil
}

// findPeers asks which GPUs can read which others' memory.
func (p *platform) findPeers() error {
	b := driver.NewBlock()
	defer b.Free()
	for _, d := range p.devices {
		d.peers = make([]bool, len(p.devices))
		for i, other := range p.devices {
			if d == other || p.options.NoPeer {
				continue
			}
			if err := p.driver.Do(driver.CuDeviceCanAccessPeer, b.At(0), uintptr(d.gpu.ordinal), uintptr(other.gpu.ordinal)); err != nil {
				return d.health.fail("open", err)
			}
			d.peers[i] = b.Int32(0) != 0
		}
	}
	return nil
}

// at returns the device of an address space, or nil.
func (p *platform) at(s devices.SpaceID) *Device {
	i := int(s.Device) - int(p.first.Device)
	if s.Node != p.first.Node || i < 0 || i >= len(p.devices) {
		return nil
	}
	return p.devices[i]
}

// An Error is a result of the CUDA driver that is not success.
type Error = driver.Error

// A LibraryError means that a library of CUDA is not there or cannot be used.
type LibraryError = driver.LibraryError
