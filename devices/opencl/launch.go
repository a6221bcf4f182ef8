//go:build linux && (amd64 || arm64)

package opencl

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math"
	"sync"

	"github.com/gompss/gompss/codegen/ir"
	"github.com/gompss/gompss/codegen/opencl"
	"github.com/gompss/gompss/deps"
	"github.com/gompss/gompss/devices"
)

// A run is one launch, or one step of a sequence.
type run struct {
	device  *Device
	kernel  *devices.Kernel
	program *program
	version *version
	binding binding
	grids   []grid
	zeroed  deps.Bytes // of the scratch memory, its beginning
	scratch deps.Bytes
	slot    *faultSlot // nil where no check is made
	args    *devices.Args
}

// Launch enqueues a run of a kernel, or of all steps of a sequence.
func (d *Device) Launch(l *devices.Launch, after []devices.Event) devices.Event {
	op := &operation{what: "launch " + l.Kernel.Name, pos: l.Kernel.Pos, event: &event{}, after: append([]devices.Event(nil), after...)}
	if l.Label != "" && l.Label != l.Kernel.Name {
		op.what += " as " + l.Label
	}
	var runs []*run
	if len(l.Kernel.Steps) == 0 {
		runs = []*run{{device: d, kernel: l.Kernel, args: l.Args}}
	}
	for i := range l.Sequence() {
		s := &l.Sequence()[i]
		runs = append(runs, &run{device: d, kernel: s.Kernel, args: &devices.Args{List: s.Args}})
	}
	for _, r := range runs {
		if err := d.choose(r); err != nil {
			op.start = func([]uintptr, bool) (uintptr, error) { return 0, err }
			return d.launch.submit(op)
		}
		op.event.alone = op.event.alone || r.version.mayFail()
	}
	op.start = func(waits []uintptr, marked bool) (uintptr, error) { return d.startRuns(runs, waits, marked) }
	op.finish = func() error {
		var errs []error
		for _, r := range runs {
			if r.slot != nil {
				errs = append(errs, r.kernel.Checked(r.slot.fault(r.version.program.Name, r.version.source.Sites)))
			}
		}
		return joined(errs)
	}
	op.drop = func() {
		for _, r := range runs {
			if r.slot != nil {
				d.faults.put(r.slot)
			}
		}
	}
	return d.launch.submit(op)
}

// choose finds the version for the arguments of a run.
func (d *Device) choose(r *run) (err error) {
	if r.program, err = d.program(r.kernel); err != nil {
		return err
	}
	r.version = r.program.versionFor(r.args.List)
	return d.load(r.program, r.version)
}

// joined is the one error of a list, or all.
func joined(errs []error) error {
	var out []error
	for _, e := range errs {
		if e != nil {
			out = append(out, e)
		}
	}
	if len(out) == 1 {
		return out[0]
	}
	return errors.Join(out...)
}

// mayFail reports whether a check of the version may fail.
func (v *version) mayFail() bool {
	if v.source == nil {
		return false
	}
	for i := range v.source.Entries {
		if v.source.Entries[i].Fault {
			return true
		}
	}
	return false
}

// startRuns enqueues the commands of runs, one behind the other.
func (d *Device) startRuns(runs []*run, waits []uintptr, marked bool) (uintptr, error) {
	c := &commands{device: d, queue: d.launch, waits: waits}
	for _, r := range runs {
		c.flush(0) // the arguments of a kernel are those of when it is enqueued
		start := r.start
		if r.program.native != nil {
			start = r.startNative
		}
		if err := start(c); err != nil {
			c.err = errors.Join(c.err, err)
			break
		}
	}
	if c.err != nil {
		return 0, errors.Join(c.err, d.driver.do(clFinish, d.launch.cl))
	}
	return c.end(marked)
}

// start enqueues a printed kernel.
func (r *run) start(c *commands) error {
	d, src := r.device, r.version.source
	r.binding = binding{params: r.version.program.Params, args: r.args.List}
	for i := range src.Entries {
		g, err := shapeOf(src.Entries[i].Launch, &r.binding, d.fitOf(&r.version.entries[i]))
		if err != nil {
			return fmt.Errorf("%s: %w", src.Entries[i].Name, err)
		}
		r.grids = append(r.grids, g)
	}
	var err error
	if r.zeroed, r.scratch, err = r.binding.sizeScratch(r.version.program, r.grids); err != nil {
		return err
	}
	var pads uintptr
	if r.scratch > 0 {
		if pads, err = d.scratch.take(d, r.scratch); err != nil {
			return err
		}
	}
	if r.zeroed > 0 {
		c.add(func(count, list, event uintptr) error { return d.clear(pads, r.zeroed, count, list, event) })
	}
	if r.version.mayFail() {
		if r.slot, err = d.faults.get(d); err != nil {
			return err
		}
		if r.slot.dirty {
			c.add(func(count, list, event uintptr) error {
				return d.clear(r.slot.object, opencl.FaultSize, count, list, event)
			})
			c.flush(0)
			r.slot.dirty = false
		}
	}
	for i := range src.Entries {
		e := &src.Entries[i]
		if r.binding.idle(e.Launch) {
			continue
		}
		c.flush(0)
		if err := r.setArguments(i, pads); err != nil {
			return fmt.Errorf("%s: %w", e.Name, err)
		}
		g := r.grids[i]
		c.add(func(count, list, event uintptr) error {
			if err := d.enqueueKernel(r.version.entries[i].kernel, [3]int64{g.teams, 1, 1}, [3]int64{g.threads, 1, 1}, count, list, event); err != nil {
				return fmt.Errorf("%s: grid of %d teams of %d threads: %w", e.Name, g.teams, g.threads, err)
			}
			return nil
		})
	}
	if r.slot != nil {
		c.add(func(count, list, event uintptr) error {
			const async = 0
			return d.driver.do(clEnqueueReadBuffer, d.launch.cl, r.slot.object, async, 0, uintptr(opencl.FaultSize), addressOf(r.slot.record), count, list, event)
		})
	}
	return nil
}

// clear zeroes the first bytes of a memory object.
func (d *Device) clear(object uintptr, size deps.Bytes, count, list, event uintptr) error {
	b := newBlock()
	defer b.free()
	b.words[0] = 0
	return d.driver.do(clEnqueueFillBuffer, d.launch.cl, object, b.at(0), word, 0, uintptr((size+word-1)/word*word), count, list, event)
}

func (d *Device) enqueueKernel(kernel uintptr, teams, team [3]int64, count, list, event uintptr) error {
	b := newBlock()
	defer b.free()
	for i := range teams {
		b.words[i], b.words[3+i] = uint64(teams[i]*team[i]), uint64(team[i])
	}
	return d.driver.do(clEnqueueNDRangeKernel, d.launch.cl, kernel, 3, 0, b.at(0), b.at(3), count, list, event)
}

// setArguments sets those of entry i. Only the goroutine of the queue does.
func (r *run) setArguments(i int, pads uintptr) error {
	entry, to := &r.version.source.Entries[i], &r.version.entries[i]
	b := newBlock()
	defer b.free()
	if made := r.device.objects.Load(); to.args.objects != made {
		clear(to.args.known)
		to.args.objects = made
	}
	for n := range entry.Args {
		a := &entry.Args[n]
		b.words[0] = 0
		address, err := r.argument(a, b, pads)
		if err != nil {
			return err
		}
		inWord := address == b.at(0)
		if bits := b.words[0]; to.args.keeps(n, bits) && inWord {
			continue
		}
		if err := r.device.driver.do(clSetKernelArg, to.kernel, uintptr(n), uintptr(a.Size), address); err != nil {
			return fmt.Errorf("argument %d: %w", n, err)
		}
		if inWord {
			to.args.isSet(n, b.words[0])
		}
	}
	return nil
}

// argument returns where the value of an argument lies: in b, or in the memory of the launch.
func (r *run) argument(a *opencl.Argument, b *block, pads uintptr) (uintptr, error) {
	word := func(x uint64) (uintptr, error) { b.words[0] = x; return b.at(0), nil }
	switch a.Kind {
	case opencl.Fault:
		return word(uint64(r.slot.object))
	case opencl.Length, opencl.Capacity:
		length, capacity, _ := r.binding.Slice(a.Var)
		if a.Kind == opencl.Capacity {
			length = capacity
		}
		return word(uint64(length))
	}
	if p := r.binding.pad(a.Var); p != nil {
		if a.Kind == opencl.Offset {
			return word(uint64(p.offset))
		}
		return word(uint64(pads))
	}
	arg := r.binding.arg(a.Var)
	if arg == nil {
		panic(fmt.Sprintf("gompss: bug: opencl: %s is no parameter of its kernel", a.Var.Name))
	}
	switch {
	case a.Kind == opencl.Memory:
		if !arg.InMemory() {
			return 0, nil // a nil pointer
		}
		object, err := r.device.argumentOf(arg.Buffer)
		if err != nil {
			return 0, err
		}
		return word(uint64(object))
	case a.Kind == opencl.Offset:
		if !arg.InMemory() {
			return word(0)
		}
		return word(uint64(arg.Offset))
	case a.Var.Type.IsScalar():
		return word(arg.Bits)
	case len(arg.Blob) != int(a.Size):
		return 0, fmt.Errorf("argument %s: %d bytes for a %s of %d", a.Var.Name, len(arg.Blob), a.Var.Type, a.Size)
	}
	return addressOf(arg.Blob), nil
}

// scratch is memory for the scratchpads of launches, which run one after the other.
type scratch struct {
	object uintptr
	size   deps.Bytes
}

// take returns memory of at least a size. Only the goroutine of the queue does. The driver keeps
// the memory that is given back until the kernels that use it are done.
func (s *scratch) take(d *Device, size deps.Bytes) (uintptr, error) {
	if size <= s.size {
		return s.object, nil
	}
	if err := s.free(d); err != nil {
		return 0, err
	}
	size = deps.Bytes(1) << max(16, int(math.Ceil(math.Log2(float64(size)))))
	object, err := d.allocate(size)
	if err != nil {
		return 0, fmt.Errorf("%v of scratch memory: %w", size, err)
	}
	s.object, s.size = object, size
	return object, nil
}

func (s *scratch) free(d *Device) error {
	object := s.object
	s.object, s.size = 0, 0
	if object == 0 {
		return nil
	}
	return d.driver.do(clReleaseMemObject, object)
}

// A faultSlot is a fault record on the device, and a copy of it.
type faultSlot struct {
	object uintptr
	record []byte
	dirty  bool // the record on the device is not zero
}

// faultSlots are those that no launch uses.
type faultSlots struct {
	mu   sync.Mutex
	idle []*faultSlot
}

func (f *faultSlots) get(d *Device) (*faultSlot, error) {
	f.mu.Lock()
	if n := len(f.idle); n > 0 {
		s := f.idle[n-1]
		f.idle = f.idle[:n-1]
		f.mu.Unlock()
		return s, nil
	}
	f.mu.Unlock()
	object, err := d.allocate(opencl.FaultSize)
	if err != nil {
		return nil, err
	}
	return &faultSlot{object: object, record: make([]byte, opencl.FaultSize), dirty: true}, nil
}

func (f *faultSlots) put(s *faultSlot) {
	f.mu.Lock()
	f.idle = append(f.idle, s)
	f.mu.Unlock()
}

func (f *faultSlots) free(d *Device) error {
	var errs []error
	for _, s := range f.idle {
		errs = append(errs, d.driver.do(clReleaseMemObject, s.object))
	}
	return errors.Join(errs...)
}

// fault is the *ir.CheckError of the record, nil when there is none. The access was not made; what
// the kernel wrote before stays written.
func (s *faultSlot) fault(kernel string, sites []opencl.Site) error {
	n := binary.LittleEndian.Uint32(s.record)
	if n == 0 {
		return nil
	}
	s.dirty = true
	if int(n) > len(sites) {
		return fmt.Errorf("the fault record names check %d of %d: the kernel overwrote it", n, len(sites))
	}
	site := &sites[n-1]
	return &ir.CheckError{Kernel: kernel, At: site.Pos, Kind: site.Kind, What: site.What, Index: int64(binary.LittleEndian.Uint64(s.record[8:])),
		Length: int64(binary.LittleEndian.Uint64(s.record[16:])), Unsigned: site.Unsigned}
}
