package sim

import (
	"context"
	"fmt"
	"runtime/debug"
	"runtime/pprof"
	"time"
	"unsafe"

	"github.com/gompss/gompss/deps"
	"github.com/gompss/gompss/devices"
)

// Launch enqueues a run of a kernel.
func (d *Device) Launch(l *devices.Launch, after []devices.Event) devices.Event {
	return d.kernels.enqueue(operation{
		after: append([]devices.Event(nil), after...),
		run:   func() error { return d.start(l) },
		cost:  d.costOf(l),
	})
}

// costOf models how long a launch takes.
func (d *Device) costOf(l *devices.Launch) time.Duration {
	if d.options.Cost != nil {
		return d.options.Cost(l)
	}
	var touched deps.Bytes
	for i := range l.Args.List {
		if a := &l.Args.List[i]; !a.Nil && a.Type.Elem != nil {
			touched += deps.Bytes(a.Len) * a.Type.Elem.Size
		}
	}
	return d.options.during(touched, d.options.Speed)
}

func (d *Device) start(l *devices.Launch) error {
	if err := d.alive(); err != nil {
		return err
	}
	what := "launch " + l.Kernel.Name
	if fault(&d.platform.launches, d.options.Faults.Launch) {
		if d.options.Faults.Late {
			_ = d.execute(l) // the fault is what it fails by
		}
		return d.inject(what)
	}
	var err error
	// The labels let CPU profiles tell kernels and devices apart; beside a simulated launch they
	// cost nothing.
	pprof.Do(context.Background(), pprof.Labels("task", l.Kernel.Name, "device", d.name), func(context.Context) { err = d.execute(l) })
	if err != nil {
		return &devices.DeviceError{Device: d.name, What: what, Pos: l.Kernel.Pos, Err: err}
	}
	return nil
}

// execute runs a kernel, or the steps of one that is a sequence.
func (d *Device) execute(l *devices.Launch) error {
	for i := range l.Sequence() {
		s := &l.Sequence()[i]
		if err := d.execute(&devices.Launch{Kernel: s.Kernel, Args: &devices.Args{List: s.Args}, Label: l.Label}); err != nil {
			return err
		}
	}
	switch {
	case len(l.Kernel.Steps) > 0:
		return nil
	case d.options.Exec == SIMT, readsVariables(l.Kernel):
		return d.interpret(l)
	}
	return d.call(l)
}

// call runs the Go function of a kernel over this device's mirrors.
func (d *Device) call(l *devices.Launch) error {
	if p := d.programOf(l.Kernel); p.err != nil {
		return p.err
	}
	return d.guard(l.Kernel, func() error {
		args := *l.Args
		args.At = d.at
		l.Kernel.Go(&args)
		return nil
	})
}

// guard runs f. A panic in it is an error, and so is touching memory that is not backed.
func (d *Device) guard(k *devices.Kernel, f func() error) (err error) {
	ended := false
	defer debug.SetPanicOnFault(debug.SetPanicOnFault(true))
	defer func() {
		if ended {
			return
		}
		value := recover()
		if fault, ok := value.(interface{ Addr() uintptr }); ok {
			value = d.explain(fault.Addr(), value)
		}
		err = k.Panicked(value, debug.Stack())
	}()
	err = f()
	ended = true
	return err
}

// explain says which element of which buffer was touched and is not there.
func (d *Device) explain(addr uintptr, value any) any {
	d.mirrors.mu.RLock()
	defer d.mirrors.mu.RUnlock()
	for id, m := range d.mirrors.of {
		base := uintptr(unsafe.Pointer(unsafe.SliceData(m.memory)))
		if offset := addr - base; addr >= base && offset < uintptr(len(m.memory)) {
			return fmt.Errorf("element %d of buffer %d is not on the device: the kernel touches what its accesses do not declare",
				deps.Bytes(offset)/m.buffer.Elem, id)
		}
	}
	return value
}
