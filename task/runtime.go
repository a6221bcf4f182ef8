package task

import (
	"context"
	"errors"
	"fmt"
	"os"
	"sync"
	"sync/atomic"
	"time"

	vec "github.com/gompss/gompss/codegen/cpu"
	"github.com/gompss/gompss/deps"
	"github.com/gompss/gompss/devices"
	"github.com/gompss/gompss/internal/environment"
	"github.com/gompss/gompss/internal/machine"
	"github.com/gompss/gompss/internal/printer"
	"github.com/gompss/gompss/internal/spin"
	"github.com/gompss/gompss/sched"
	"github.com/gompss/gompss/task/internal/admission"
	"github.com/gompss/gompss/task/internal/cpucode"
	"github.com/gompss/gompss/task/internal/memory"
	"github.com/gompss/gompss/task/internal/virtual"
	"github.com/gompss/gompss/trace/clock"
	"github.com/gompss/gompss/trace/probe"
)

// DevicesVariable is the environment variable that names the devices of a runtime whose Options do
// not.
const DevicesVariable = "GOMPSS_DEVICES"

// TraceVariable and DashVariable are the environment variables that Options.Trace and Options.Dash
// are taken from.
const (
	TraceVariable = "GOMPSS_TRACE"
	DashVariable  = "GOMPSS_DASH"
)

// DefaultWindow is the window of Options without one.
const DefaultWindow = admission.DefaultLimit

// Options are those of a Runtime. The zero value works: the CPU workers and the GPUs of this
// machine, under the default policy.
type Options struct {
	// Devices names the devices, such as "smp:2,sim:4"; "" takes them from GOMPSS_DEVICES, and where
	// that is empty, "auto": the CPU workers and every GPU that opens. Kinds other than smp must be
	// imported, for example by devices/all. "cuda?" takes the GPUs if there are any. Stats.Absent
	// lists the missing devices with the reasons.
	Devices string
	// Policy is the scheduling policy: fifo, priority, locality (default), versioning, random, or
	// one of sched.Register.
	Policy string
	// Tokens is the number of tokens of each kind for resources clauses; the default is 100.
	// devices.Acc means every accelerator. Kinds that the run has no device of may be named; one that
	// neither this module nor an imported plug-in has is an error.
	Tokens map[devices.Kind]int
	// Window bounds the tasks in flight: submission waits while there are as many. 0 is
	// DefaultWindow, negative is no bound.
	Window int
	// Context ends the runtime's tasks: those that have not started when it is done fail with its
	// cause, and so does a submission that waits for room in the window, as it does when its
	// group's context ends.
	Context context.Context
	// Observer gets every point of every task's life, or, when it is a probe.Recorder, of every task;
	// nil costs nothing. One that panics is not called any more: the tasks continue, and Close returns
	// a *probe.ObserverError.
	Observer probe.Observer
	// Trace records the run: "summary" prints one on standard error when the runtime is closed,
	// "file:PATH" writes a trace file, "summary,file:PATH" does both; with "wait" tasks wait where
	// their record would be dropped; "profile" labels CPU profiles with kernels and devices; "off"
	// and "" do nothing, but "" takes GOMPSS_TRACE. See package trace/session.
	Trace string
	// Dash is the address of a live page, such as "127.0.0.1:0", in programs that import package
	// trace; "" takes GOMPSS_DASH.
	Dash string
	// Machine holds the options of devices; its Observer and Now are set by the runtime.
	Machine machine.Options
	// Vector chooses how kernels run on the CPU workers: see VectorAuto; "" takes GOMPSS_VECTOR. In
	// a program built with -race "" is VectorOff: the race detector sees nothing that vector code
	// does.
	Vector string
	// AwaitCode makes tasks on CPU workers wait for the vector code of their kernel. Else the Go
	// function runs until it is compiled, where both give the same bits (Runtime.CPUCode says where
	// not).
	AwaitCode bool
	// Learned is a file for what the versioning policy learns: read at the start if it exists, written
	// by Close. New fails where that could not be done. "" keeps nothing.
	Learned string
	// Check verifies that tasks on CPU workers write only what they declare, as far as sums over
	// memory can tell (check.go), one at a time, which makes them slow; false takes GOMPSS_CHECK.
	// In a run with accelerators what is written without any declaration is not found.
	Check bool
	// CheckReads is Check that also finds what tasks read without having declared it, by pages, in
	// memory of Alloc that other tasks use (fence.go), on machines without accelerators. A program
	// that touches such memory itself before it has waited for it ends with a fault. It runs the Go
	// functions of kernels, not their vector code. GOMPSS_CHECK=reads asks for it.
	CheckReads bool
	// Seed is for the random policy.
	Seed uint64
	// World joins the runtimes of several ranks: see package dist. nil is one rank.
	World World
}

// A Runtime runs tasks. Its methods may be called from any goroutine.
type Runtime struct {
	topology topology
	pool     workerPool
	virtual  *virtual.Turns // nil where no device has a virtual time
	kernelVariants
	observers observers
	worlds
	buffers memory.Table
	printer printer.Printer // of what kernels print
	lifecycle
	checks
	ready readyQueues
	eagerLaunch

	// Until here all is written rarely, and read by all for every task. The fields below are kept
	// on cache lines of their own, by writer.
	_ spin.Line

	mainScope
	recordPools
	background
	reductionPool

	window admission.Window

	log failureLog
}

// A kernelVariants is the variants of kernels.
type kernelVariants struct {
	exec     cpucode.Executor // on CPU workers
	variants sync.Map         // *Kernel to *variants
}

// A worlds is the other ranks.
type worlds struct {
	world       World        // nil where this is the only rank
	skipper     Skipper      // world, where it is one
	knownBlocks *knownBlocks // nil where skipper is
}

// A lifecycle holds the state of closing a runtime.
type lifecycle struct {
	ctx    context.Context // of task bodies; no task starts when it is done
	cancel context.CancelCauseFunc
	unhook func() bool

	closed   atomic.Bool
	finished atomic.Bool // and no body runs any more: see refuses
	broke    brokenCode  // policies and observers of the program
}

// A checks holds the state of GOMPSS_CHECK.
type checks struct {
	check     bool // Options.Check
	checker   accessChecker
	pageGuard pageGuard
}

// An eagerLaunch holds the queues of tasks that are launched before their predecessors finish.
type eagerLaunch struct {
	onEagerCandidate func(n *deps.Node, stream int) // of graphs, when tasks may follow
	eagerQueues      []eagerQueue                   // by place: tasks to launch eagerly there; nil where that is off
	backlogs         []deviceBacklog                // by place: tasks launched eagerly there
}

// A mainScope is the scope of the program, on cache lines of its own.
type mainScope struct {
	root     Scope // of the tasks of the program
	magazine *magazine
	waits    atomic.Int64 // among them
	_        spin.Line
}

// A recordPools is the free records.
type recordPools struct {
	depot        recordDepot
	_            spin.Line
	freeNested   recordFreeList
	freeDetails  detailFreeList
	recordShards shardedFreeList
	madeRecords  recordRegistry
	domains      sync.Pool
}

// A background is the work of the runtime beside the tasks.
type background struct {
	cleaning sync.WaitGroup
	virtual  *virtual.Turns // nil where no device has a virtual time
	// callers are the goroutines that use the runtime and are in no window yet.
	callers    admission.ActiveCallers
	contention admission.Contention
	sweeps     memory.Sweeps
	samples    samples
}

// A reductionPool is the operators of reductions, and private copies that are free.
type reductionPool struct {
	reducing  spin.Mutex // innermost
	operators map[any]deps.ReductionID
	spares    map[deps.Bytes][]*privateCopy // by size
	_         spin.Line
}

// New opens the devices and starts the workers.
//
// Errors: unknown devices, kinds or policies, with those known; what devices say. Close must be
// called in the end.
func New(o Options) (*Runtime, error) {
	environment.Warn(os.Stderr)
	spec := orVariable(o.Devices, DevicesVariable)
	if spec == "" {
		spec = string(devices.Auto)
	}
	if err := o.checkKinds(); err != nil {
		return nil, fmt.Errorf("task: new: %w", err)
	}
	rt := &Runtime{observers: observers{clock: clock.New()}, topology: topology{host: -1}, reductionPool: reductionPool{operators: map[any]deps.ReductionID{}, spares: map[deps.Bytes][]*privateCopy{}}}
	rt.root.rt = rt
	rt.root.memory.Init(&rt.root, nil)
	rt.observers.topology = &rt.topology
	rt.ready.topology, rt.ready.pool = &rt.topology, &rt.pool
	check, reads, err := wantedChecks()
	if err != nil {
		return nil, err
	}
	reads = reads || o.CheckReads
	rt.check = o.Check || reads || check
	if reads {
		o.Vector = VectorOff // faults are looked for in Go code
	}
	rt.checker.token = make(chan struct{}, 1)
	rt.observers.none = &detail{rt: rt}
	if err := rt.observe(&o); err != nil {
		return nil, err
	}
	if rt.exec.Vectors, err = cpucode.NewVectors(orVariable(o.Vector, VectorVariable), vec.Processor{}); err != nil {
		return nil, errors.Join(fmt.Errorf("task: new: %w", fromVariable(err, o.Vector, VectorVariable)), rt.observers.session.Close())
	}
	rt.exec.Vectors.Set(o.AwaitCode, rt.observers.now, rt.observers.observeCode)
	if environment.RaceDetector && orVariable(o.Vector, VectorVariable) == VectorAuto {
		rt.exec.Vectors.Off = cpucode.ErrRaceDetector
	}
	if rt.topology.machine, err = machine.Open(spec, o.Machine); err != nil {
		return nil, errors.Join(fmt.Errorf("task: %w", fromVariable(err, o.Devices, DevicesVariable)), rt.observers.session.Close())
	}
	openRuntimes.add(rt)
	if err := rt.start(o, reads); err != nil {
		openRuntimes.remove(rt)
		err = errors.Join(fmt.Errorf("task: %w", err), rt.topology.machine.Close(), rt.observers.session.Close())
		rt.virtual.Close()
		return nil, err
	}
	if o.World != nil {
		rt.world = o.World
		if _, ranks := rankOf(o.World); ranks > 1 {
			rt.skipper, _ = o.World.(Skipper)
			rt.knownBlocks = new(knownBlocks)
		}
		if err := rt.world.Attach(&LocalTasks{rt}); err != nil {
			rt.world = nil
			return nil, errors.Join(fmt.Errorf("task: new: %w", err), rt.Close())
		}
	}
	if text := limitedChecks(rt.check, reads, rt.topology.accelerators); text != "" {
		warnedOfChecks.Do(func() { fmt.Fprintln(os.Stderr, text) })
	}
	rt.observers.session.ShowStatus(func() *probe.Status { return rt.status(dumpTasks, 0) })
	return rt, nil
}

func (rt *Runtime) start(o Options, reads bool) error {
	workers := rt.topology.findPlaces()
	if reads && !rt.topology.accelerators {
		rt.pageGuard.on, rt.pageGuard.used = true, map[deps.BufferID]*deps.Set{}
	}
	rt.window.Open(o.Window, workers)
	rt.openVirtual()
	rt.ready.setFastPath(o.Policy)
	var err error
	if err = rt.ready.learned.Load(o.Learned); err != nil {
		return err
	}
	rt.ready.sched, err = sched.New(sched.Options{Policy: o.Policy, Places: rt.topology.places, Tokens: o.Tokens, Seed: o.Seed, Times: rt.ready.learned.Learned, Watched: rt.observers.recorder != nil, Broke: rt.policyBroke})
	if err != nil {
		return err
	}
	rt.ready.learned.On = rt.ready.sched.Learns() && (len(rt.topology.places) > 1 || o.Learned != "")
	if err = rt.ready.learned.Check(); err != nil {
		return err
	}
	rt.ready.counts = newCounts(rt.topology.places)
	rt.exec.Open(workers, rt.observers.clock, &rt.buffers, rt.topology.machine.HostAt, rt.observeChosen, rt.pageGuard.on)
	rt.describe(o.World)
	rt.enableEager()
	rt.buffers.Add = rt.topology.addBuffer
	rt.buffers.Drop = rt.dropBuffer
	rt.buffers.DropPart = func(b *memory.Buffer) error { return rt.topology.machine.DropBuffer(b.ID) }
	rt.sweeps.Open(&rt.buffers, memory.Program{Submitting: &rt.root.submitting, Describing: rt.callers.WaitForCurrent, Uses: rt.root.usesBuffer, Leaked: rt.log.noteLeak})
	rt.watch(o.Context) // before there are workers: they may be what ends the context
	if workers > 0 {
		rt.pool.states = make([]workerState, workers)
		rt.pool.simple.Open(workers, &rt.window, rt.observers.clock, fetchRecords)
		rt.makeBriefs()
		if err = rt.startWorkers(); err != nil {
			rt.unhook()
			rt.cancel(err)
			return err
		}
	}
	return nil
}

// watch ties the context of the tasks to that of the user.
func (rt *Runtime) watch(parent context.Context) {
	if parent == nil {
		parent = context.Background()
	}
	rt.ctx, rt.cancel = context.WithCancelCause(parent)
	rt.window.Ctx = rt.ctx
	ended := rt.stop
	if rt.virtual != nil {
		ended = rt.virtual.Poke
	}
	rt.unhook = context.AfterFunc(rt.ctx, ended) // not the parent, whose children end in any order: this context has its cause then
}

// policyBroke ends the runtime: tasks that have not started fail with err, as where its context has
// ended. Requires: mu held.
func (l *lifecycle) policyBroke(err error) {
	l.broke.add(err)
	l.cancel(err)
}

// brokenCode is the panic value of program code that the engine calls: Close returns it.
type brokenCode struct{ errs atomic.Pointer[error] }

func (b *brokenCode) add(err error) {
	for {
		before, all := b.errs.Load(), err
		if before != nil {
			all = errors.Join(*before, err)
		}
		if b.errs.CompareAndSwap(before, &all) {
			return
		}
	}
}

func (b *brokenCode) err() error {
	if errs := b.errs.Load(); errs != nil {
		return fmt.Errorf("task: close: %w", *errs)
	}
	return nil
}

// now is read after all that was done before, soon perhaps some ten nanoseconds early: it suits the
// end of something, and costs less.
func (ob *observers) now() time.Duration  { return ob.clock.Now() }
func (ob *observers) soon() time.Duration { return ob.clock.Early() }

func (rt *Runtime) dropBuffer(b *memory.Buffer) error {
	rt.pageGuard.drop(b)
	return errors.Join(b.Owner.Of.(*Scope).forget(b.ID), rt.topology.machine.DropBuffer(b.ID))
}

// Machine returns the devices of the runtime.
func (rt *Runtime) Machine() *machine.Machine {
	rt.mustBeUsable("Runtime.Machine")
	return rt.topology.machine
}

// Close waits for all tasks, makes all data valid on the host, ends the workers and gives
// everything back: slices of Alloc must not be used any more. It returns what Wait would, and a
// *LeakError if the runtime has lost sight of something. Calls after the first return nil, also
// while that one waits. A task body must not call it: there it is ErrInsideTask, and nothing is
// closed.
//
// From its beginning on the runtime takes no more tasks of the program: what goroutines submit to
// it is ErrClosed. Running bodies continue to submit, to it and to their Scope, and Close waits for
// what they submit. That is the bodies alone, and not goroutines that they started.
func (rt *Runtime) Close() error {
	if !rt.usable() {
		return rt.unusable("Runtime.Close")
	}
	if !rt.closed.Load() && rt.window.Live() > 0 && insideBody() {
		return misuse("Runtime.Close", errInBody)
	}
	if rt.closed.Swap(true) {
		return nil
	}
	began := rt.observers.now()
	err := rt.finish()
	if rt.world != nil {
		err = rt.world.Close(err)
	}
	rt.samples.stop()
	openRuntimes.remove(rt)
	rt.callers.Wait()
	rt.sweeps.EndSweeps()
	rt.unhook()
	rt.cancel(nil)
	rt.observers.session.ShowStatus(nil)
	if rt.pool.workers != nil {
		rt.pool.workers.Close()
	}
	rt.pool.simple.Close()
	rt.virtual.EndJobs()
	rt.cleaning.Wait()
	rt.checkNone()
	err = errors.Join(err, rt.leak())
	known := rt.buffers.Sum()
	for _, b := range rt.buffers.TakeFreed() {
		err = errors.Join(err, rt.buffers.Free(b))
	}
	for _, b := range rt.buffers.Close(ErrClosed) {
		rt.buffers.Remove(b)
		err = errors.Join(err, rt.buffers.Free(b))
	}
	err = errors.Join(err, rt.topology.leakOfMemory(), rt.ready.learned.Save(), rt.log.leaks, rt.exec.Vectors.Close(), rt.topology.machine.Close())
	rt.virtual.Close()
	if rt.observers.watched() {
		rt.observePhase(probe.PhaseClose, began, known)
	}
	return errors.Join(err, rt.broke.err(), rt.observers.session.Close())
}

// finish waits until nothing is in flight whose body could submit more, and takes nothing from
// there on, of the bodies of other runtimes either.
func (rt *Runtime) finish() error {
	for !rt.finished.Load() {
		rt.root.endReductions()
		if err := rt.window.Wait(0, nil); err != nil {
			return err
		}
		rt.root.submitting.Lock()
		rt.finished.Store(rt.window.Live() == 0 && len(rt.root.reductions) == 0)
		rt.root.submitting.Unlock()
	}
	return rt.Wait(context.Background(), ReadOnly())
}

// refuses reports whether the caller may submit nothing any more.
func (l *lifecycle) refuses() bool {
	return l.closed.Load() && (l.finished.Load() || !insideBody())
}
