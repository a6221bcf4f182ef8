//go:build linux && (amd64 || arm64)

package cuda

import (
	"errors"
	"sync"
	"unsafe"

	"github.com/gompss/gompss/codegen/ir"
	"github.com/gompss/gompss/codegen/target"
	"github.com/gompss/gompss/devices"
	"github.com/gompss/gompss/devices/cuda/internal/driver"
	"github.com/gompss/gompss/devices/cuda/internal/tune"
)

// A rows chooses among the forms of a kernel with nested loops, by the lengths of these loops in an
// earlier launch of the same kernel and size class. In front of a launch that is looked at, a small
// kernel counts lengths in samples of its iterations, and a copy behind that takes the counts to
// the host. No launch waits for the counts or for the code of a form: the next launch has the form
// that is known and made by then.
type rows struct {
	of    *devices.Rows
	table *moduleTable

	mu      sync.Mutex
	state   rowsState
	count   *program                  // by rowsReady
	forms   map[target.Width]*program // by rowsReady; those that are made
	asked   map[target.Width]bool     // to be made
	offered []target.Width
	classes map[tune.Class]*tune.Feedback
}

// A rowsState is how far the programs of a rows are.
type rowsState uint8

// The states, in their order.
const (
	rowsUnknown rowsState = iota
	rowsMaking
	rowsReady
	rowsAbsent // lengths cannot be counted, or there is no other form
)

// mostRowClasses is how many size classes of a kernel are looked at; others have the first form.
const mostRowClasses = 32

// newRows returns the choice among forms of k; nil where there is one alone.
func (t *moduleTable) newRows(k *devices.Kernel) *rows {
	if k.Rows == nil || t.tuner.IsOff() {
		return nil
	}
	return &rows{of: k.Rows, table: t, forms: map[target.Width]*program{}, asked: map[target.Width]bool{}, classes: map[tune.Class]*tune.Feedback{}}
}

// make makes the program that counts, on a goroutine.
func (r *rows) make(k *devices.Kernel) {
	own := *k
	var err error
	own.Name += " counts"
	own.Program, own.Unchecked, err = r.of.Count()
	if own.Unchecked == nil {
		own.Proves = nil
	}
	var count *program
	if err == nil {
		count = newProgram(&own)
		err = r.table.load(count, count.first(false))
	}
	var offered []target.Width
	for _, f := range r.of.Forms() {
		offered = append(offered, f.Width)
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	r.count, r.offered, r.state = count, offered, rowsReady
	if err != nil || len(offered) == 0 {
		r.state = rowsAbsent
	}
}

// makeForm makes the form for w lanes, on a goroutine. A form that the compiler refuses is left
// out: the first one is right for all lengths.
func (r *rows) makeForm(k *devices.Kernel, w target.Width) {
	for _, f := range r.of.Forms() {
		if f.Width != w {
			continue
		}
		own := *k
		if own.Program, own.Unchecked = f.Program, f.Unchecked; own.Unchecked == nil {
			own.Proves = nil
		}
		p := newProgram(&own)
		if r.table.load(p, p.first(false)) != nil {
			return
		}
		r.mu.Lock()
		r.forms[w] = p
		r.mu.Unlock()
	}
}

// class returns the feedback of the launches of a class. Requires: r.mu held.
func (r *rows) class(c tune.Class) *tune.Feedback {
	if r.classes[c] == nil && len(r.classes) < mostRowClasses {
		r.classes[c] = &tune.Feedback{}
	}
	return r.classes[c]
}

// form returns the form of p for a launch with args: that which follows from an earlier launch
// where it is made, else p.
func (r *rows) form(p *program, args []devices.Arg) *program {
	r.mu.Lock()
	defer r.mu.Unlock()
	if c := r.classes[p.sizeClass(args)]; c != nil {
		if f := r.forms[target.Width(c.Form())]; f != nil {
			return f
		}
	}
	return p
}

// A rowCount is the count of the lengths of one launch.
type rowCount struct {
	rows    *rows
	class   *tune.Feedback // guarded by rows.mu
	kernel  *devices.Kernel
	run     run
	samples int64
	slot    *slot // by start; nil where nothing was enqueued
}

// prepare decides about the launch that counts. It reports false where that could fail, or the host
// does not know the number of samples.
func (c *rowCount) prepare(d *Device, l *devices.Launch) bool {
	if err := c.run.prepare(d, l, c.rows.count); err != nil || c.run.faults || len(c.run.version.source.Entries) != 1 {
		return false
	}
	only := c.run.version.source.Entries[0].Launch
	if only.Trip == nil || c.run.binding.Idle(only) {
		return false
	}
	n, err := ir.EvalInt(only.Trip, &c.run.binding)
	c.samples = n
	return err == nil
}

// start enqueues the count, and the copy of what it counts to the host. Requires: as for run.start.
func (c *rowCount) start(op *operation) (failed error) {
	d := c.run.device
	slot, err := d.slots.get()
	if err != nil {
		return err
	}
	c.slot = slot
	p, err := op.stream.takeScratch(c.run.scratch)
	if err != nil {
		return err
	}
	c.run.binding.Place(uint64(p.zeroed), uint64(p.unset))
	if p.owned() {
		defer func() {
			if freed := p.free(op.stream); failed == nil {
				failed = freed
			}
		}()
	}
	if err := c.run.launch(0, op.stream.cu, 0); err != nil {
		return err
	}
	return d.gpu.driver.Do(driver.CuMemcpyDtoHAsync, uintptr(slot.address), uintptr(c.run.binding.Pad(target.LengthsName)), unsafe.Sizeof(target.Lengths{}), op.stream.cu)
}

// finish decides about the form of the next launches, and gives the slot back. The launch has
// ended; ok reports that it has not failed.
func (c *rowCount) finish(ok bool) {
	if c.slot == nil {
		c.lost()
		return
	}
	// Safe: a record has the size of the counts, see lengthsFit.
	lengths := *(*target.Lengths)(unsafe.Pointer(c.slot.record))
	c.run.device.slots.put(c.slot)
	if !ok {
		c.lost()
		return
	}
	r := c.rows
	chip := &c.run.device.gpu.chip
	gpu := target.Nearest(chip.major, chip.minor)
	if gpu == nil {
		gpu = target.Default()
	}
	width, _ := gpu.NestedWidth(&lengths, c.samples, r.offered)
	r.mu.Lock()
	defer r.mu.Unlock()
	asked := width == 0 || r.asked[width]
	c.class.Met(int(width))
	r.asked[width] = true
	if !asked && !r.table.making.ending.Load() {
		r.table.making.jobs.Go(func() { r.makeForm(c.kernel, width) })
	}
}

// lengthsFit is the room of a record beyond counts: the conversion in finish needs that it is none.
const lengthsFit = unsafe.Sizeof(record{}) - unsafe.Sizeof(target.Lengths{})

var _ [lengthsFit]byte

func (c *rowCount) lost() {
	c.rows.mu.Lock()
	c.class.Lost()
	c.rows.mu.Unlock()
}

// unload frees the modules of all forms.
func (r *rows) unload(d *Device) error {
	var errs []error
	if r.count != nil {
		errs = append(errs, r.count.unload(d))
	}
	for _, f := range r.forms {
		errs = append(errs, f.unload(d))
	}
	return errors.Join(errs...)
}
