package sim

import (
	"errors"
	"fmt"
	"sync"
	"sync/atomic"

	"github.com/gompss/gompss/deps"
	"github.com/gompss/gompss/devices"
)

// Kind is the kind of simulated devices.
const Kind devices.Kind = "sim"

func init() { devices.Register(Kind, openConfig) }

// ErrInjected is the cause of every failure that Faults asked for.
var ErrInjected = errors.New("injected fault")

// A platform is the devices that were opened together: they reach each other and share the count of
// faults.
type platform struct {
	options   Options
	devices   []*Device
	first     devices.SpaceID
	allocs    atomic.Int64
	transfers atomic.Int64
	launches  atomic.Int64
	line      *timeline    // with clock=virtual
	open      atomic.Int32 // devices
}

// Open opens n devices with address spaces from first on.
func Open(n int, first devices.SpaceID, o Options) ([]*Device, error) {
	if n <= 0 {
		return nil, fmt.Errorf("sim: %d devices: want at least one", n)
	}
	if err := o.fill(); err != nil {
		return nil, err
	}
	p := &platform{options: o, first: first}
	if o.Clock == Virtual {
		p.line = newTimeline(devices.HostCosts{Submit: o.Submit, Speed: o.HostSpeed})
	}
	p.open.Store(int32(n))
	for i := range n {
		space := devices.SpaceID{Node: first.Node, Device: first.Device + uint16(i)}
		p.devices = append(p.devices, newDevice(p, i, space))
	}
	return p.devices, nil
}

func openConfig(c devices.Config) ([]devices.Device, error) {
	var o Options
	switch given := c.Options.(type) {
	case nil:
	case Options:
		o = given
	default:
		return nil, fmt.Errorf("sim: options of type %T: want sim.Options", given)
	}
	if err := c.Scan(o.setters()); err != nil {
		return nil, err
	}
	opened, err := Open(max(c.Count, 1), c.First, o)
	if err != nil {
		return nil, err
	}
	out := make([]devices.Device, len(opened))
	for i, d := range opened {
		out[i] = d
	}
	return out, nil
}

// at returns the device of an address space, or nil.
func (p *platform) at(s devices.SpaceID) *Device {
	i := int(s.Device) - int(p.first.Device)
	if s.Node != p.first.Node || i < 0 || i >= len(p.devices) {
		return nil
	}
	return p.devices[i]
}

// fault counts one operation and reports whether it is the one that fails.
func fault(count *atomic.Int64, n int64) bool { return count.Add(1) == n }

// A mirrorTable is the mirrors of one device.
type mirrorTable struct {
	mu sync.RWMutex
	of map[deps.BufferID]*mirror
}

func (t *mirrorTable) get(b deps.BufferID) (*mirror, error) {
	t.mu.RLock()
	defer t.mu.RUnlock()
	if m := t.of[b]; m != nil {
		return m, nil
	}
	return nil, fmt.Errorf("buffer %d: %w", b, devices.ErrUnknownBuffer)
}
