//go:build linux && (amd64 || arm64)

package cuda

import (
	"errors"
	"fmt"

	"github.com/gompss/gompss/devices"
)

// Kind is the kind of NVIDIA GPUs.
const Kind devices.Kind = "cuda"

func init() { devices.Register(Kind, openConfig) }

// A platform is the GPUs that were opened together: they may reach each other and share the pinned host memory.
type platform struct {
	driver  *driver
	options Options
	devices []*Device
	first   devices.SpaceID
	pins    pins
	cache   *cache
	nvtx    *nvtx // nil when no tool wants ranges
}

// Open opens n GPUs, the first ones, with address spaces from first on; all that there are when n is 0.
//
// Errors: *LibraryError when there is no driver or it is too old; how many GPUs there are when they are too few.
func Open(n int, first devices.SpaceID, o Options) (_ []*Device, err error) {
	if err := o.fill(); err != nil {
		return nil, err
	}
	drv, err := theDriver()
	if err != nil {
		return nil, err
	}
	if n == 0 {
		n = max(drv.count, 1)
	}
	if n < 0 || n > drv.count {
		return nil, fmt.Errorf("cuda: %d GPUs wanted: the driver (%s, CUDA %s) sees %d", n, drv.path, release(drv.version), drv.count)
	}
	p := &platform{driver: drv, options: o, first: first, cache: o.cache()}
	p.pins.start(p)
	if p.nvtx, err = theNvtx(); err != nil {
		return nil, err
	}
	for i := range n {
		d, err := openDevice(p, i, devices.SpaceID{Node: first.Node, Device: first.Device + uint16(i)})
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
	o.Timed = o.Timed || c.Timed
	opened, err := Open(c.Count, c.First, o)
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
	b := newBlock()
	defer b.free()
	for _, d := range p.devices {
		d.peers = make([]bool, len(p.devices))
		for i, other := range p.devices {
			if d == other || p.options.NoPeer {
				continue
			}
			if err := p.driver.do(cuDeviceCanAccessPeer, b.at(0), uintptr(d.ordinal), uintptr(other.ordinal)); err != nil {
				return d.fail("open", err)
			}
			d.peers[i] = b.int32(0) != 0
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
