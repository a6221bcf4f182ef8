package sim

import (
	"errors"
	"fmt"

	"github.com/gompss/gompss/codegen/ir"
	"github.com/gompss/gompss/codegen/simt"
	"github.com/gompss/gompss/deps"
	"github.com/gompss/gompss/devices"
)

// A program is what a device has made of a kernel: compiled device IR with exec=simt, nothing with
// exec=cpu; or why not.
type program struct {
	code *simt.Program
	err  error
}

var (
	errNoGo      = errors.New("it has no Go function, which exec=cpu runs")
	errNoProgram = errors.New("it has no device program, which exec=simt runs")
)

// Prepare makes the kernel's variant for this device, once.
func (d *Device) Prepare(k *devices.Kernel) error {
	if len(k.Steps) > 0 {
		return devices.PrepareSteps(d, k.Steps)
	}
	return d.programOf(k).err
}

func (d *Device) programOf(k *devices.Kernel) *program {
	d.mu.Lock()
	defer d.mu.Unlock()
	p := d.prepared[k]
	if p == nil {
		p = d.build(k)
		d.prepared[k] = p
	}
	return p
}

// readsVariables reports whether k reads package variables: its Go function reads them where the Go
// program has them, when it runs, and not what they were at submission or a mirror, so that it is
// interpreted with exec=cpu, too.
func readsVariables(k *devices.Kernel) bool { return k.Hidden > 0 }

func (d *Device) build(k *devices.Kernel) *program {
	fail := func(err error) *program {
		return &program{err: &devices.DeviceError{Device: d.name, What: "kernel " + k.Name, Pos: k.Pos, Err: err}}
	}
	switch {
	case len(k.Steps) > 0:
		return &program{} // its steps are prepared one by one
	case d.options.Exec == CPU && k.Go == nil:
		return fail(errNoGo)
	case d.options.Exec == CPU && !readsVariables(k):
		return &program{}
	case k.Program == nil && k.Refused != nil:
		return fail(k.Refused)
	case k.Program == nil:
		return fail(errNoProgram)
	}
	code, err := simt.New(k.Program)
	if err != nil {
		return fail(err)
	}
	return &program{code: code}
}

// interpret runs the device program of a kernel over this device's mirrors.
func (d *Device) interpret(l *devices.Launch) error {
	p := d.programOf(l.Kernel)
	if p.err != nil {
		return p.err
	}
	args, err := d.arguments(l.Args)
	if err != nil {
		return err
	}
	return d.guard(l.Kernel, func() error {
		_, err := p.code.Run(args, simt.Config{Races: d.options.Races})
		return l.Kernel.Checked(err)
	})
}

// arguments turns buffers into the memory of their mirrors; equal buffers share one.
func (d *Device) arguments(a *devices.Args) ([]simt.Arg, error) {
	out := make([]simt.Arg, len(a.List))
	memories := make(map[deps.BufferID]*simt.Memory)
	for i := range a.List {
		arg := &a.List[i]
		out[i] = simt.Arg{Bits: ir.Bits(arg.Bits), Bytes: arg.Blob}
		if !arg.InMemory() {
			continue
		}
		memory := memories[arg.Buffer]
		if memory == nil {
			m, err := d.mirrors.get(arg.Buffer)
			if err != nil {
				return nil, fmt.Errorf("argument %d: %w", i, err)
			}
			memory = &simt.Memory{Name: fmt.Sprintf("buffer %d", arg.Buffer), Bytes: m.memory[:m.buffer.Size]}
			memories[arg.Buffer] = memory
		}
		out[i].Memory, out[i].Offset, out[i].Len, out[i].Cap = memory, int64(arg.Offset), arg.Len, arg.Cap
	}
	return out, nil
}
