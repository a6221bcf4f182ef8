//go:build linux && (amd64 || arm64)

package cuda

import (
	"errors"
	"fmt"
	"math"
	"runtime"
	"unsafe"

	"github.com/gompss/gompss/codegen/cuda"
	"github.com/gompss/gompss/devices"
	"github.com/gompss/gompss/devices/cuda/internal/driver"
	"github.com/gompss/gompss/devices/cuda/internal/launch"
	"github.com/gompss/gompss/devices/cuda/internal/tune"
	"github.com/gompss/gompss/devices/cuda/internal/tuner"
	"github.com/gompss/gompss/internal/spin"
)

// A launchOp is the operation of a launch, with its parameters, in one allocation. It is recycled
// when it has been enqueued.
type launchOp struct {
	operation
	run    run
	grids  [2]launch.Grid
	pads   [4]launch.Scratchpad
	params [16]uint64
	next   *launchOp // in the free list
}

// launchOps is the free list of launchOps of a device. One thread allocates from it and another one
// frees: a sync.Pool would search the caches of all processors in each allocation.
type launchOps struct {
	mu   spin.Mutex
	list *launchOp
	n    int
	_    [128]byte
	// The recently freed ones, up to launchOpsPerBatch; guarded by submitter.mu.
	back, last *launchOp
	backs      int
	block      *eventBlock // a block with unused events; guarded by mu
}

const (
	launchOpsPerBatch = 16
	keptLaunchOps     = 1024
)

// get returns a launchOp and an event.
func (l *launchOps) get() (o *launchOp, e *event) {
	spin.Lock(&l.mu)
	if o = l.list; o != nil {
		l.list, o.next = o.next, nil
		l.n--
	}
	if c := l.block; c != nil {
		e = c.take()
		if c.next == len(c.list) {
			l.block = nil
		}
	}
	l.mu.Unlock()
	if o == nil {
		o = new(launchOp)
	}
	if e == nil {
		c := new(eventBlock)
		e = c.take()
		spin.Lock(&l.mu)
		l.block = c
		l.mu.Unlock()
	}
	return o, e
}

// put frees o.
// Requires: submitter.mu held.
func (l *launchOps) put(o *launchOp) {
	if l.backs == 0 {
		l.last = o
	}
	o.next, l.back = l.back, o
	if l.backs++; l.backs < launchOpsPerBatch {
		return
	}
	spin.Lock(&l.mu)
	if l.n < keptLaunchOps {
		l.last.next, l.list = l.list, l.back
		l.n += l.backs
	}
	l.mu.Unlock()
	l.back, l.last, l.backs = nil, nil, 0
}

// newLaunchOp returns the operation of a kernel, with its event.
func newLaunchOp(d *Device, k *devices.Kernel, label string) *launchOp {
	o, e := d.submitter.launchOps.get()
	e.device, e.kernel, e.label = d, k, label
	e.after = e.room[:0]
	o.operation = operation{event: e, part: o}
	o.run = run{grids: o.grids[:0], pads: o.pads[:0]}
	return o
}

// recycle frees op if it is a launch. It has been enqueued, or never will be.
// Requires: for a launch, submitter.mu held.
func (op *operation) recycle() {
	if o := op.part; o != nil {
		d := op.event.device
		o.operation, o.run = operation{}, run{}
		d.submitter.launchOps.put(o)
	}
}

// Launch enqueues the launches of a kernel's program, in order, on one stream.
func (d *Device) Launch(l *devices.Launch, after []devices.Event) devices.Event {
	o := newLaunchOp(d, l.Kernel, l.Label)
	if err := d.choose(l, o, (*tuner.Kernel).Next); err != nil {
		e := o.event
		e.happen(d.health.failAt(e, err))
		return e
	}
	if p := o.run.varies; p != nil {
		if c := d.countRows(l, p); c != nil {
			o.run.count, o.event.counted, o.run.lone = c, c, false
		}
	}
	return d.engine.submit(&o.operation, after)
}

// A chooser says whose turn a launch of a class is.
type chooser func(*tuner.Kernel, tune.Class) tuner.Turn

// choose decides what o will launch, where there are candidates by next.
func (d *Device) choose(l *devices.Launch, o *launchOp, next chooser) error {
	if err := d.gpu.alive(); err != nil {
		return err
	}
	p := d.modules.program(l.Kernel)
	if p.graph != nil {
		r, err := p.graph.decide(d, l.Sequence())
		if err == nil {
			o.event.alone, o.work = r.alone, r
		}
		return err
	}
	if n := p.native; n != nil {
		r, err := n.prepare(d, l)
		if err == nil {
			o.work = r
		}
		return err
	}
	r := &o.run
	sample, err := r.prepareBest(d, l, p, next)
	if err != nil {
		return l.Kernel.Checked(err)
	}
	o.event.alone, o.work, o.event.sample = r.faults, r, sample
	r.lone = sample == nil && !r.faults && r.scratch.Total() <= ringPart && len(r.version.entries) == 1 && !r.version.source.Entries[0].Launch.Cooperative
	if r.lone && r.scratch.Total() == 0 {
		return r.packAhead(o.params[:])
	}
	return nil
}

// A run is one launch of a kernel on one GPU: all that is decided before anything is enqueued.
type run struct {
	device  *Device
	version *version
	binding launch.Binding
	grids   []launch.Grid
	pads    []launch.Scratchpad // room for those of the binding
	scratch launch.Room
	faults  bool
	waits   bool      // of versions that can wait for what they are behind
	resize  int       // of the teams, by a power of two
	lone    bool      // it is one kernel that cannot fail, and needs little scratch memory or none
	packed  []uint64  // the parameters of the one entry, where they are known already
	varies  *program  // of a kernel with nested loops that has other forms; else nil
	count   *rowCount // of the lengths of these loops; nil where they are not counted
}

// prepareBest prepares the candidate of p whose turn it is; the launch is to be timed where there
// is a sample.
func (r *run) prepareBest(d *Device, l *devices.Launch, p *program, next chooser) (*tuner.Sample, error) {
	if p.rows != nil && len(p.kernel.Program.Params) == len(l.Args.List) {
		r.varies = p
		if f := p.rows.form(p, l.Args.List); f != p {
			return nil, r.prepare(d, l, f)
		}
	}
	p = d.modules.sized(p, l.Args.List)
	if p.tuned == nil || len(p.kernel.Program.Params) != len(l.Args.List) {
		return nil, r.prepare(d, l, p)
	}
	turn := next(p.tuned, p.sizeClass(l.Args.List))
	c := p.candidate(turn.Candidate)
	r.resize = c.resize
	err := r.prepare(d, l, c.program)
	if turn.Candidate == 0 || err == nil {
		return turn.Sample, err
	}
	turn.Drop()
	r.resize = 0
	return nil, r.prepare(d, l, p)
}

// errNotResized means that the shapes are those of teams of the usual size.
var errNotResized = errors.New("the size of its teams is given")

// prepare chooses the version and the shapes of a launch on d of p, a program of its kernel.
func (r *run) prepare(d *Device, l *devices.Launch, p *program) error {
	if k := l.Kernel; k.Program == nil {
		return d.Prepare(k)
	}
	r.device, r.binding = d, launch.Binding{Params: p.kernel.Program.Params, Args: l.Args.List}
	if len(r.binding.Params) != len(r.binding.Args) {
		return fmt.Errorf("%d arguments for %d parameters", len(r.binding.Args), len(r.binding.Params))
	}
	proved := p.proved.Holds(&r.binding)
	for _, v := range p.narrow(proved, r.waits) {
		if v.program == nil || !launch.Exact(v.program, &r.binding, d.gpu.chip.sms, d.gpu.chip.warp) {
			continue
		}
		if ok, err := r.take(p, v); ok || err != nil {
			return err
		}
	}
	v := &p.versions[versionOf(false, proved, r.waits, false, false)]
	if err := d.modules.load(p, v); err != nil {
		return err
	}
	return r.choose(v, math.MaxInt64)
}

// take decides for version v, with indices in 32 bits, of p. It reports false where the launch does
// not fit into them, or into teams of the size that v is written for.
func (r *run) take(p *program, v *version) (ok bool, err error) {
	if err := r.device.modules.load(p, v); err != nil {
		return false, err
	}
	if !launch.Fits32(v.source, &r.binding) {
		return false, nil
	}
	if v.align > 0 {
		if ok, err := r.binding.Aligned(v.source, r.device.mirrors.addressOf); !ok || err != nil {
			return false, err
		}
	}
	if err := r.choose(v, cuda.GridLimit); err != nil {
		return false, err
	}
	return r.scratchFits32() && r.sizesFit(), nil
}

// sizesFit reports whether launches that are written for teams of one size get that size.
func (r *run) sizesFit() bool {
	for i := range r.version.source.Entries {
		l := r.version.source.Entries[i].Launch
		if n := l.TeamSize(cuda.Warp); n > 0 && r.grids[i].Threads != n {
			return false
		}
	}
	return true
}

// packAhead packs the parameters of the one entry, into room if they fit there.
func (r *run) packAhead(room []uint64) error {
	e := &r.version.source.Entries[0]
	if int(e.ArgsSize) > 8*len(room) {
		room = make([]uint64, (e.ArgsSize+7)/8)
	}
	r.packed = room
	return r.binding.Pack(e, bytesOfWords(room)[:e.ArgsSize], r.device.mirrors.addressOf, 0)
}

// bytesOfWords returns the memory of words. Safe: a word is 8 bytes.
func bytesOfWords(words []uint64) []byte {
	return unsafe.Slice((*byte)(unsafe.Pointer(unsafe.SliceData(words))), 8*len(words))
}

// scratchFits32 reports whether the lengths of all scratchpads are within the limit of 32-bit
// indices.
func (r *run) scratchFits32() bool {
	for i := range r.binding.Scratch {
		if r.binding.Scratch[i].Count > cuda.Limit {
			return false
		}
	}
	return true
}

// choose decides the shapes of all launches of a version. limit bounds the threads of a grid.
func (r *run) choose(v *version, limit int64) error {
	r.version, r.faults = v, false
	r.grids, r.binding.Scratch = r.grids[:0], r.pads[:0]
	resized := r.resize == 0
	for i := range v.source.Entries {
		e := &v.source.Entries[i]
		fit := &v.entries[i].fit
		g, err := launch.Shape(e.Launch, &r.binding, fit, limit)
		if usual := g; err == nil && r.resize != 0 {
			other := *fit
			other.Resize = r.resize
			g, err = launch.Shape(e.Launch, &r.binding, &other, limit)
			resized = resized || g != usual
		}
		if err != nil {
			return fmt.Errorf("%s: %w", e.Name, err)
		}
		r.grids = append(r.grids, g)
		r.faults = r.faults || e.Fault
	}
	if !resized {
		return errNotResized
	}
	var err error
	r.scratch, err = r.binding.SizeScratch(v.program, r.grids)
	return err
}

// start enqueues a run on the stream of op. Requires: submitter.mu held, the context is current.
func (r *run) start(op *operation) (failed error) {
	d, stream := r.device, op.stream.cu
	if r.count != nil {
		if err := r.count.start(op); err != nil {
			return err
		}
	}
	var fault uint64
	if r.faults {
		s, err := d.slots.get()
		if err != nil {
			return err
		}
		op.event.checks = append(op.event.checks, check{slot: s, version: r.version})
		fault = s.address
	}
	if r.scratch.Total() > 0 && r.packed == nil {
		p, err := op.stream.takeScratch(r.scratch)
		if err != nil {
			return err
		}
		r.binding.Place(uint64(p.zeroed), uint64(p.unset))
		if p.owned() {
			defer func() {
				if freed := p.free(op.stream); failed == nil {
					failed = freed
				}
			}()
		}
	}
	if sample := op.event.sample; sample != nil {
		pushed, alone := d.streams.others(op.stream)
		sample.Begin(stream, pushed, alone)
		defer func() { sample.End(stream) }()
	}
	for i := range r.version.entries {
		if r.binding.Idle(r.version.source.Entries[i].Launch) {
			continue
		}
		if err := r.launch(i, stream, fault); err != nil {
			return fmt.Errorf("%s: grid of %d teams of %d threads: %w", r.version.source.Entries[i].Name,
				r.grids[i].Teams, r.grids[i].Threads, err)
		}
	}
	return nil
}

// Words of the block of a launch: "extra" of cuLaunchKernel, the size of the parameters, the
// parameters.
const (
	extraWord = 0
	sizeWord  = 5
	paramWord = 6
)

// launch enqueues launch i.
func (r *run) launch(i int, stream uintptr, fault uint64) error {
	const bufferPointer, bufferSize, end = 1, 2, 0
	e, g := &r.version.source.Entries[i], r.grids[i]
	b := driver.NewBlock()
	defer b.Free()
	params := bytesOfWords(r.packed)
	if r.packed == nil {
		params = b.Bytes(paramWord)
		if int(e.ArgsSize) > len(params) {
			params = make([]byte, e.ArgsSize)
		}
		if err := r.binding.Pack(e, params[:e.ArgsSize], r.device.mirrors.addressOf, fault); err != nil {
			return err
		}
	}
	b.Words[sizeWord] = uint64(e.ArgsSize)
	b.Words[extraWord], b.Words[extraWord+1] = bufferPointer, uint64(uintptr(unsafe.Pointer(&params[0])))
	b.Words[extraWord+2], b.Words[extraWord+3] = bufferSize, uint64(b.At(sizeWord))
	b.Words[extraWord+4] = end
	if e.Launch.Cooperative {
		err := r.launchTogether(i, stream, b.At(extraWord))
		runtime.KeepAlive(params)
		return err
	}
	err := r.device.gpu.driver.Do(driver.CuLaunchKernel, r.version.entries[i].function, uintptr(g.Teams), 1, 1,
		uintptr(g.Threads), 1, 1, 0, stream, 0, b.At(extraWord))
	runtime.KeepAlive(params)
	return err
}

// cooperative is CU_LAUNCH_ATTRIBUTE_COOPERATIVE: the driver runs all teams of a kernel at once, or
// refuses it.
const cooperative = 2

// launchTogether enqueues launch i, whose teams wait for each other. extra is that of
// cuLaunchKernel.
func (r *run) launchTogether(i int, stream, extra uintptr) error {
	g := r.grids[i]
	const config, attribute = 0, 8 // words of a CUlaunchConfig and of a CUlaunchAttribute
	if r.device.gpu.driver.Addresses[driver.CuLaunchKernelEx] == 0 {
		return errors.New("its teams wait for each other, which takes a driver of CUDA 11.8 or later")
	}
	b := driver.NewBlock()
	defer b.Free()
	clear(b.Words[:])
	b.Words[config] = uint64(uint32(g.Teams)) | 1<<32
	b.Words[config+1] = 1 | uint64(uint32(g.Threads))<<32
	b.Words[config+2] = 1 | 1<<32
	b.Words[config+4], b.Words[config+5], b.Words[config+6] = uint64(stream), uint64(b.At(attribute)), 1
	b.Words[attribute], b.Words[attribute+1] = cooperative, 1
	return r.device.gpu.driver.Do(driver.CuLaunchKernelEx, b.At(config), r.version.entries[i].function, 0, extra)
}

// fault names what a kernel left in a slot.
func (s *slot) fault(v *version) error { return s.record.fault(v.program.Name, v.source.Sites) }

// countRows has the lengths of launch l of p, which has rows, counted where it is its turn. It
// returns nil where it is not.
func (d *Device) countRows(l *devices.Launch, p *program) *rowCount {
	r := p.rows
	class := p.sizeClass(l.Args.List)
	r.mu.Lock()
	if r.state == rowsUnknown {
		r.state = rowsMaking
		d.modules.making.jobs.Go(func() {
			if !d.modules.making.ending.Load() {
				r.make(p.kernel)
			}
		})
	}
	c := r.class(class)
	turn := r.state == rowsReady && c != nil && c.Next()
	r.mu.Unlock()
	if !turn {
		return nil
	}
	count := &rowCount{rows: r, class: c, kernel: p.kernel}
	if !count.prepare(d, l) {
		count.lost()
		return nil
	}
	return count
}
