package sim

import (
	"errors"
	"fmt"

	"github.com/gompss/gompss/devices"
)

// A program is what a device has made of a kernel.
type program struct {
	err error
}

// Prepare makes the kernel's variant for this device, once.
func (d *Device) Prepare(k *devices.Kernel) error {
	d.mu.Lock()
	defer d.mu.Unlock()
	p := d.prepared[k]
	if p == nil {
		p = d.build(k)
		d.prepared[k] = p
	}
	return p.err
}

func (d *Device) build(k *devices.Kernel) *program {
	fail := func(err error) *program {
		return &program{err: &devices.DeviceError{Device: d.name, What: "kernel " + k.Name, Pos: k.Pos, Err: err}}
	}
	switch {
	case d.options.Exec == CPU && k.Go == nil:
		return fail(errors.New("it has no Go function"))
	case d.options.Exec == CPU:
		return &program{}
	case k.Program == nil && k.Refused != nil:
		return fail(k.Refused)
	case k.Program == nil:
		return fail(errors.New("it has no device program"))
	}
	return fail(fmt.Errorf("exec=simt: not supported yet"))
}

func (d *Device) interpret(l *devices.Launch) error {
	return fmt.Errorf("exec=simt: not supported yet")
}
