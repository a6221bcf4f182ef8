package sim

import (
	"fmt"
	"runtime/debug"
	"unsafe"

	"github.com/gompss/gompss/deps"
	"github.com/gompss/gompss/devices"
)

// Copy enqueues a copy between this device and the host, or from a device that it reaches.
func (d *Device) Copy(t devices.Transfer, after []devices.Event) devices.Event {
	op := operation{after: append([]devices.Event(nil), after...), run: func() error { return d.move(t) }}
	switch {
	case t.To == d.space && t.From == devices.Host:
		op.cost = d.options.during(t.Size(), d.options.Bandwidth)
		return d.toDevice.enqueue(op)
	case t.From == d.space && t.To == devices.Host:
		op.cost = d.options.during(t.Size(), d.options.Bandwidth)
		return d.toHost.enqueue(op)
	case t.To == d.space && t.From != d.space && d.Reaches(t.From):
		op.cost = d.options.during(t.Size(), d.options.PeerBandwidth)
		return d.peers.enqueue(op)
	}
	panic(fmt.Sprintf("gompss: bug: %s is asked to copy from %v to %v", d.name, t.From, t.To))
}

// move copies the runs of a region from one address space to another.
func (d *Device) move(t devices.Transfer) error {
	if err := d.alive(); err != nil {
		return err
	}
	what := fmt.Sprintf("copy of %v from %v to %v", t.Region, t.From, t.To)
	if fault(&d.platform.transfers, d.options.Faults.Transfer) {
		return d.inject(what)
	}
	from, err := d.memoryOf(t, t.From)
	if err != nil {
		return d.wrap(what, err)
	}
	to, err := d.memoryOf(t, t.To)
	if err != nil {
		return d.wrap(what, err)
	}
	if err := copyRuns(to, from, t); err != nil {
		return d.wrap(what, err)
	}
	return nil
}

// copyRuns copies the runs of a region.
//
// Errors: memory that the program has unmapped or protected meanwhile.
func copyRuns(to, from []byte, t devices.Transfer) (err error) {
	defer debug.SetPanicOnFault(debug.SetPanicOnFault(true))
	defer func() {
		switch value := recover().(type) {
		case nil:
		case interface {
			error
			Addr() uintptr
		}:
			err = fmt.Errorf("no memory at %#x: %w", value.Addr(), value)
		default:
			panic(value)
		}
	}()
	for lo, hi := range t.Region.Runs() {
		a, b := deps.Bytes(lo)*t.Elem, deps.Bytes(hi)*t.Elem
		devices.CopyBytes(to[a:b], from[a:b])
	}
	return nil
}

// memoryOf returns the memory of the buffer of t in one of its address spaces, and checks that the
// region is there.
func (d *Device) memoryOf(t devices.Transfer, s devices.SpaceID) ([]byte, error) {
	if s == devices.Host {
		m, err := d.mirrors.get(t.Region.Buffer)
		if err != nil {
			return nil, err
		}
		// Safe: the buffer was registered with this size, and the machine keeps its memory alive
		// until the copy has finished.
		return unsafe.Slice((*byte)(m.buffer.Host.At()), m.buffer.Size), nil
	}
	owner := d.platform.at(s)
	if err := owner.alive(); err != nil {
		return nil, err
	}
	m, err := owner.mirrors.get(t.Region.Buffer)
	if err != nil {
		return nil, err
	}
	for lo, hi := range t.Region.Runs() {
		if !m.covers(deps.Bytes(lo)*t.Elem, deps.Bytes(hi)*t.Elem) {
			return nil, fmt.Errorf("elements [%d,%d) are not backed on %s", lo, hi, owner.name)
		}
	}
	return m.memory, nil
}

// wrap makes the error of an operation; the error of a lost device stays as it is.
func (d *Device) wrap(what string, err error) error {
	if e, ok := err.(*devices.DeviceError); ok && e.Fatal {
		return err
	}
	return d.fail(what, err)
}
