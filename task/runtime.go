package task

import (
	"context"
	"errors"
	"fmt"
	"os"
	"sync"

	vec "github.com/gompss/gompss/codegen/cpu"
	"github.com/gompss/gompss/deps"
	"github.com/gompss/gompss/devices"
	"github.com/gompss/gompss/devices/smp"
	"github.com/gompss/gompss/internal/environment"
	"github.com/gompss/gompss/internal/machine"
	"github.com/gompss/gompss/sched"
	"github.com/gompss/gompss/task/internal/admission"
	"github.com/gompss/gompss/task/internal/cpucode"
	"github.com/gompss/gompss/task/internal/engine"
	"github.com/gompss/gompss/task/internal/kernels"
	"github.com/gompss/gompss/task/internal/memory"
	"github.com/gompss/gompss/task/internal/virtual"
	"github.com/gompss/gompss/trace/clock"
	"github.com/gompss/gompss/trace/probe"
)

// CheckVariable is the environment variable with the default of Options.Check: "1" and "on" enable
// it, "0" and "off" do not, and "reads" enables Options.CheckReads too.
const CheckVariable = "GOMPSS_CHECK"

// wantedChecks returns the checks that CheckVariable selects.
func wantedChecks() (check, reads bool, err error) {
	switch text := os.Getenv(CheckVariable); text {
	case "", "0", "off":
		return false, false, nil
	case "1", "on":
		return true, false, nil
	case "reads":
		return true, true, nil
	default:
		return false, false, fmt.Errorf("task: new: %s=%s: want 0, off, 1, on or reads", CheckVariable, text)
	}
}

// limitedChecks describes which errors the checks of a runtime cannot find, "" if there is no
// limitation.
func limitedChecks(on, reads, accelerators bool) string {
	switch {
	case !on || !accelerators:
		return ""
	case reads:
		return "gompss: " + CheckVariable + "=reads finds neither reads nor writes without any declaration while there are accelerators: run it on smp alone, as with GOMPSS_DEVICES=smp:2"
	}
	return "gompss: " + CheckVariable + " finds no writes without any declaration while there are accelerators: run it on smp alone, as with GOMPSS_DEVICES=smp:2"
}

var warnedOfChecks sync.Once

// enableEager makes the graphs report the tasks that can be launched eagerly.
func enableEager(rt *engine.Runtime) {
	rt.Backlogs = make([]engine.DeviceBacklog, len(rt.Topology.Places))
	if !rt.Topology.Accelerators {
		return
	}
	rt.EagerQueues = make([]engine.EagerQueue, len(rt.Topology.Places))
	rt.OnEagerCandidate = func(n *deps.Node, stream int) {
		if r, ok := n.Owner.(*engine.Record); ok && rt.ClaimEagerly(r, sched.PlaceID(stream-1)) {
			rt.StartOn(r)
		}
	}
	rt.Root.Graph.Domain = rt.GetDomain(&rt.Root) // from the first submission on, several goroutines read it
	for p, d := range rt.Topology.Machine.Devices() {
		if a := machine.LaunchHelper(rt.Topology.Machine, d); a != nil {
			id := sched.PlaceID(p)
			rt.Backlogs[p].Launcher = a
			a.StartHelper(func() bool { return launchQueued(rt, id) }, rt.Contention.Contended)
		}
	}
}

// launchQueued starts tasks of the eager queue of p while there is capacity, and reports whether it
// started one.
func launchQueued(rt *engine.Runtime, p sched.PlaceID) bool {
	b := &rt.Backlogs[p]
	if !b.Recheck.Load() || int(b.Tasks.Load()) >= engine.MaxEager {
		return false
	}
	b.Recheck.Store(false) // the end of another task sets it again
	return rt.StartEager(p)
}

// checkNone panics if a field of the shared empty detail has been written.
func checkNone(rt *engine.Runtime) {
	n := rt.Observers.None
	if n.Item.Owner != nil || n.Inner != nil || n.Group != nil || n.Label != "" || n.Kernel != nil || len(n.Accesses) > 0 || len(n.Uses) > 0 ||
		n.Set.Owner != nil || len(n.Settings.Tokens) > 0 {
		engine.Bug("the detail of tasks without one was written to")
	}
}

// DevicesVariable is the environment variable with the default of Options.Devices.
const DevicesVariable = "GOMPSS_DEVICES"

// TraceVariable and DashVariable are the environment variables with the defaults of Options.Trace
// and Options.Dash.
const (
	TraceVariable = "GOMPSS_TRACE"
	DashVariable  = "GOMPSS_DASH"
)

// DefaultWindow is the window of a runtime whose Options have none.
const DefaultWindow = admission.DefaultLimit

// Options configure a Runtime. The zero value selects the CPU workers and the GPUs of this machine,
// and the default policy.
type Options struct {
	// Devices names the devices, for example "smp:2,sim:4". If it is "", GOMPSS_DEVICES is used; if
	// that is empty too, "auto", which selects the CPU workers and every GPU that can be opened.
	// Kinds other than smp must be imported, for example by package devices/all. "cuda?" selects
	// the GPUs if there are any. Stats.Absent lists the missing devices with the reasons.
	Devices string
	// Policy is the scheduling policy: fifo, priority, locality (default), versioning, random, or a
	// name registered with sched.Register.
	Policy string
	// Tokens is the number of tokens of each kind for resources clauses; the default is 100. The
	// key devices.Acc applies to every accelerator. A kind without a device in this run is
	// permitted. A kind that neither this module nor an imported plug-in defines is an error.
	Tokens map[devices.Kind]int
	// Window is the maximum number of tasks in flight: a submission waits while there are as many.
	// 0 means DefaultWindow; a negative number means no limit.
	Window int
	// Context cancels the runtime's tasks. When it is done, tasks that have not started fail with
	// its cause, and so does a submission that waits for space in the window. The context of a
	// group has the same effect on the submissions of that group.
	Context context.Context
	// Observer receives every point of the life of every task; if it is a probe.Recorder, one
	// record for every task. nil has no cost. An observer that panics is not called again; the
	// tasks continue, and Close returns a *probe.ObserverError.
	Observer probe.Observer
	// Trace records the run. "summary" prints a summary on standard error when the runtime is
	// closed, "file:PATH" writes a trace file, and "summary,file:PATH" does both. With "wait",
	// tasks wait instead of losing records. "profile" labels CPU profiles with kernels and devices.
	// "off" disables tracing; "" takes the value of GOMPSS_TRACE. See package trace/session.
	Trace string
	// Dash is the address of a live page, such as "127.0.0.1:0", in programs that import package
	// trace. "" takes the value of GOMPSS_DASH.
	Dash string
	// Machine contains the options of the devices. The runtime sets its Observer and Now.
	Machine machine.Options
	// Vector selects how kernels run on the CPU workers: see VectorAuto. "" takes the value of
	// GOMPSS_VECTOR. In a program built with -race, "" means VectorOff, because the race detector
	// does not see the accesses of vector code.
	Vector string
	// AwaitCode makes tasks on CPU workers wait for the vector code of their kernel. Otherwise the
	// Go function runs until that code is compiled, provided that both give the same results bit
	// for bit (Runtime.CPUCode lists the exceptions).
	AwaitCode bool
	// Learned is a file for the execution times that the versioning policy learns. New reads it if
	// it exists, and Close writes it. New fails if the file could not be written. "" disables it.
	Learned string
	// Check verifies that tasks on CPU workers write only the memory that they declare, by means of
	// checksums (check.go). Tasks run one at a time, which is slow. false takes the value of
	// GOMPSS_CHECK. With accelerators, Check does not find writes to memory that no task declares.
	Check bool
	// CheckReads is Check that also finds undeclared reads, at the granularity of pages, in memory
	// of Alloc that other tasks use (fence.go), on machines without accelerators. A program that
	// itself touches such memory before it has waited for it ends with a fault. Kernels run as Go
	// functions, not as vector code. GOMPSS_CHECK=reads enables it.
	CheckReads bool
	// Seed is the seed of the random policy.
	Seed uint64
	// World connects the runtimes of several ranks: see package dist. nil means one rank.
	World World
}

// A Runtime runs tasks. Any goroutine may call its methods.
type Runtime struct{ core engine.Runtime }

// New opens the devices and starts the workers. The caller must call Close.
//
// Errors: an unknown device, kind or policy, with a list of the known ones; errors of devices.
func New(o Options) (*Runtime, error) {
	environment.Warn(os.Stderr)
	spec := orVariable(o.Devices, DevicesVariable)
	if spec == "" {
		spec = string(devices.Auto)
	}
	if err := o.checkKinds(); err != nil {
		return nil, fmt.Errorf("task: new: %w", err)
	}
	public := &Runtime{}
	rt := &public.core
	rt.Init(engine.Bridge{NewScope: newScope, CallNested: callNested})
	rt.Observers.Clock, rt.Topology.Host = clock.New(), -1
	check, reads, err := wantedChecks()
	if err != nil {
		return nil, err
	}
	reads = reads || o.CheckReads
	rt.Check = o.Check || reads || check
	if reads {
		o.Vector = VectorOff // the checks find faults in Go code only
	}
	if err := openObservers(rt, &o); err != nil {
		return nil, err
	}
	if rt.Exec.Vectors, err = cpucode.NewVectors(orVariable(o.Vector, VectorVariable), vec.Processor{}); err != nil {
		return nil, errors.Join(fmt.Errorf("task: new: %w", fromVariable(err, o.Vector, VectorVariable)), rt.Observers.Session.Close())
	}
	rt.Exec.Vectors.Set(o.AwaitCode, rt.Observers.Now, rt.Observers.ObserveCode)
	if environment.RaceDetector && orVariable(o.Vector, VectorVariable) == VectorAuto {
		rt.Exec.Vectors.Off = cpucode.ErrRaceDetector
	}
	if rt.Topology.Machine, err = machine.Open(spec, o.Machine); err != nil {
		return nil, errors.Join(fmt.Errorf("task: %w", fromVariable(err, o.Devices, DevicesVariable)), rt.Observers.Session.Close())
	}
	openRuntimes.add(rt)
	if err := startRuntime(rt, o, reads); err != nil {
		openRuntimes.remove(rt)
		err = errors.Join(fmt.Errorf("task: %w", err), rt.Topology.Machine.Close(), rt.Observers.Session.Close())
		rt.Virtual.Close()
		return nil, err
	}
	if o.World != nil {
		rt.World = o.World
		if _, ranks := rankOf(o.World); ranks > 1 {
			if s, ok := o.World.(Skipper); ok {
				rt.Skipper = &skipper{of: s}
			}
		}
		if err := o.World.Attach(&LocalTasks{rt}); err != nil {
			rt.World = nil
			return nil, errors.Join(fmt.Errorf("task: new: %w", err), public.Close())
		}
	}
	if text := limitedChecks(rt.Check, reads, rt.Topology.Accelerators); text != "" {
		warnedOfChecks.Do(func() { fmt.Fprintln(os.Stderr, text) })
	}
	rt.Observers.Session.ShowStatus(func() *probe.Status { return statusOf(rt, engine.DumpTasks, 0) })
	return public, nil
}

func startRuntime(rt *engine.Runtime, o Options, reads bool) error {
	workers := rt.Topology.FindPlaces()
	if reads && !rt.Topology.Accelerators {
		rt.PageGuard.On, rt.PageGuard.Used = true, map[deps.BufferID]*deps.Set{}
	}
	rt.Window.Open(o.Window, workers)
	openVirtual(rt)
	rt.Ready.SetFastPath(o.Policy)
	var err error
	if err = rt.Ready.Learned.Load(o.Learned); err != nil {
		return err
	}
	rt.Ready.Sched, err = sched.New(sched.Options{Policy: o.Policy, Places: rt.Topology.Places, Tokens: o.Tokens, Seed: o.Seed, Times: rt.Ready.Learned.Learned, Watched: rt.Observers.Recorder != nil, Broke: rt.PolicyBroke})
	if err != nil {
		return err
	}
	rt.Ready.Learned.On = rt.Ready.Sched.Learns() && (len(rt.Topology.Places) > 1 || o.Learned != "")
	if err = rt.Ready.Learned.Check(); err != nil {
		return err
	}
	rt.Ready.Counts = newCounts(rt.Topology.Places)
	rt.Exec.Open(workers, rt.Observers.Clock, &rt.Buffers, rt.Topology.Machine.HostAt, func(k *kernels.Kernel) { observeChosen(rt, k) }, rt.PageGuard.On)
	describeRun(rt, o.World)
	enableEager(rt)
	rt.Buffers.Add = rt.Topology.AddBuffer
	rt.Buffers.Drop = func(b *memory.Buffer) error { return dropBuffer(rt, b) }
	rt.Buffers.DropPart = func(b *memory.Buffer) error { return rt.Topology.Machine.DropBuffer(b.ID) }
	rt.Sweeps.Open(&rt.Buffers, memory.Program{Submitting: &rt.Root.Submitting, Describing: rt.Callers.WaitForCurrent, Uses: func(b *memory.Buffer) bool { return engine.UsesBuffer(&rt.Root, b) }, Leaked: rt.Log.NoteLeak})
	watchContext(rt, o.Context) // before the first worker starts, because a task may end the context
	if workers > 0 {
		rt.Pool.States = make([]engine.WorkerState, workers)
		rt.Pool.Simple.Open(workers, &rt.Window, rt.Observers.Clock, fetchRecords)
		makeBriefs(rt)
		if err = startWorkers(rt); err != nil {
			rt.Unhook()
			rt.Cancel(err)
			return err
		}
	}
	return nil
}

// watchContext makes the end of the user's context cancel the tasks.
func watchContext(rt *engine.Runtime, parent context.Context) {
	if parent == nil {
		parent = context.Background()
	}
	rt.Ctx, rt.Cancel = context.WithCancelCause(parent)
	rt.Window.Ctx = rt.Ctx
	ended := func() { stopTasks(rt) }
	if rt.Virtual != nil {
		ended = rt.Virtual.Poke
	}
	rt.Unhook = context.AfterFunc(rt.Ctx, ended) // not a child of parent, whose children end in any order: when this context ends, its cause is set
}

func dropBuffer(rt *engine.Runtime, b *memory.Buffer) error {
	rt.PageGuard.Drop(b)
	return errors.Join(b.Owner.Of.(*engine.Scope).Forget(b.ID), rt.Topology.Machine.DropBuffer(b.ID))
}

// Machine returns the devices of the runtime.
func (rt *Runtime) Machine() *machine.Machine {
	rt.mustBeUsable("Runtime.Machine")
	return rt.core.Topology.Machine
}

// Close waits for all tasks, makes all data valid on the host, stops the workers and frees all
// resources, including the slices of Alloc. It returns the error that Wait would return, and a
// *LeakError if the runtime has leaked resources. Later calls return nil, even while the first one
// waits. In a task body Close returns ErrInsideTask and does nothing.
//
// As soon as Close has been called, the runtime accepts no more tasks of the program: their
// submission returns ErrClosed. Running bodies may still submit tasks, to the runtime and to their
// Scope, and Close waits for these too. This exception does not apply to goroutines that bodies
// have started.
func (rt *Runtime) Close() error {
	if !rt.usable() {
		return rt.unusable("Runtime.Close")
	}
	if !rt.core.Closed.Load() && rt.core.Window.Live() > 0 && smp.InBody() {
		return misuse("Runtime.Close", engine.ErrInBody)
	}
	if rt.core.Closed.Swap(true) {
		return nil
	}
	began := rt.core.Observers.Now()
	err := finishTasks(&rt.core)
	if rt.core.World != nil {
		err = rt.World().Close(err)
	}
	rt.core.Samples.Stop()
	openRuntimes.remove(&rt.core)
	rt.core.Callers.Wait()
	rt.core.Sweeps.EndSweeps()
	rt.core.Unhook()
	rt.core.Cancel(nil)
	rt.core.Observers.Session.ShowStatus(nil)
	if rt.core.Pool.Workers != nil {
		rt.core.Pool.Workers.Close()
	}
	rt.core.Pool.Simple.Close()
	rt.core.Virtual.EndJobs()
	rt.core.Cleaning.Wait()
	checkNone(&rt.core)
	err = errors.Join(err, leakOf(&rt.core))
	known := rt.core.Buffers.Sum()
	for _, b := range rt.core.Buffers.TakeFreed() {
		err = errors.Join(err, rt.core.Buffers.Free(b))
	}
	for _, b := range rt.core.Buffers.Close(engine.ErrClosed) {
		rt.core.Buffers.Remove(b)
		err = errors.Join(err, rt.core.Buffers.Free(b))
	}
	err = errors.Join(err, rt.core.Topology.LeakOfMemory(), rt.core.Ready.Learned.Save(), rt.core.Log.Leaks, rt.core.Exec.Vectors.Close(), rt.core.Topology.Machine.Close())
	rt.core.Virtual.Close()
	if rt.core.Observers.Watched() {
		observePhase(&rt.core, probe.PhaseClose, began, known)
	}
	return errors.Join(err, rt.core.Broke.Err(), rt.core.Observers.Session.Close())
}

// finishTasks waits until no task is in flight whose body could submit tasks. From then on the
// runtime accepts no tasks, not even from the bodies of other runtimes.
func finishTasks(rt *engine.Runtime) error {
	for !rt.Finished.Load() {
		endReductions(&rt.Root)
		if err := rt.Window.Wait(0, nil); err != nil {
			return err
		}
		rt.Root.Submitting.Lock()
		rt.Finished.Store(rt.Window.Live() == 0 && len(rt.Root.Reductions) == 0)
		rt.Root.Submitting.Unlock()
	}
	return waitAll(rt, context.Background(), ReadOnly())
}

// The following functions connect a runtime with virtual time.

// openVirtual makes the devices of rt take turns under virtual time, if they have it.
func openVirtual(rt *engine.Runtime) {
	line := rt.Topology.Machine.Timeline()
	if line == nil {
		return
	}
	outside := false
	for _, d := range rt.Topology.Machine.Accelerators() {
		s, ok := d.(devices.Simulated)
		outside = outside || !ok || s.Timeline() == nil
	}
	rt.Virtual = virtual.Open(line, outside, virtual.Engine{
		Ended: func() bool { return rt.Ctx.Err() != nil }, Stop: func() { stopTasks(rt) }, Background: rt.Cleaning.Go,
		Offers: rt.Ready.OffersWork, Begin: func() { rt.Pool.Workers.Begin() }, InBody: smp.InBody,
	})
	rt.Ready.Virtual, rt.Background.Virtual, rt.Window.Turns = rt.Virtual, rt.Virtual, rt.Virtual
	rt.Topology.Machine.SetWait(func(over func() bool) { rt.Virtual.Wait(over, nil) })
	rt.Sweeps.Disable() // the time at which the collector frees memory must have no effect, so memory is kept
}

// startWorkers starts the CPU workers and returns their number.
func startWorkers(rt *engine.Runtime) (err error) {
	if rt.Virtual != nil {
		rt.Pool.Workers, err = rt.Topology.Cpus.Start(engine.CPUInTurns{CPU: engine.CPU{RT: rt}})
	} else {
		rt.Pool.Workers, err = rt.Topology.Cpus.Start(engine.CPU{RT: rt})
	}
	rt.Pool.Simple.Start(rt.Pool.Workers)
	rt.Exec.Start(rt.Pool.Workers)
	return err
}

// World returns the world of the runtime, nil where it has none.
func (rt *Runtime) World() World {
	rt.mustBeUsable("Runtime.World")
	w, _ := rt.core.World.(World)
	return w
}
