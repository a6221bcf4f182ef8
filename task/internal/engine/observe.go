package engine

import (
	"context"
	"runtime/pprof"
	"runtime/trace"
	"strings"
	"sync"
	"time"

	"github.com/gompss/gompss/codegen"
	"github.com/gompss/gompss/deps"
	"github.com/gompss/gompss/devices"
	"github.com/gompss/gompss/internal/machine"
	"github.com/gompss/gompss/task/internal/kernels"
	"github.com/gompss/gompss/task/internal/life"
	"github.com/gompss/gompss/trace/clock"
	"github.com/gompss/gompss/trace/probe"
	"github.com/gompss/gompss/trace/session"
)

// observeSubmit reports the submission of r as task id.
// Requires: submitting held.
func (ob *Observers) observeSubmit(r *Record, id deps.TaskID) {
	if r.Kind.Waits() {
		return
	}
	if o := ob.Observer; o != nil {
		o.Observe(probe.Point{Kind: probe.Submit, Task: id, Other: r.Scope.ID(), Time: ob.Now(), Label: r.Name(), Kernel: r.kernelName()})
		if ob.Recorder == nil && r.Detail != ob.None {
			r.Trace = probe.Task{ID: id, Submit: ob.Now(), Place: -1}
		}
	}
	if ob.Recorder != nil {
		if r.Scope.brief = nil; r.Detail == ob.None {
			if b := ob.Briefs.New(id); b != nil {
				b.Submit, r.Scope.brief = ob.soon(), b
				return
			}
			found := r.Scope.Declared // r does not have its accesses yet
			r.Need()
			r.Accesses = append(r.Accesses[:0], found...)
		}
		r.Trace = probe.Task{ID: id, Nesting: nesting(r), Submit: ob.soon(), Kernel: r.kernelName(), Label: r.Label, Place: -1, Traffic: probe.Traffic{Bytes: traffic(r)}}
		if r.isStep() { // it was requested with the replay
			r.Trace.Submit = r.Scope.Owner.Trace.Submit
		}
	}
}

// nesting says what r is a part of.
func nesting(r *Record) probe.Nesting {
	n := probe.Nesting{Parent: r.Scope.ID()}
	switch {
	case r.Replay != nil:
		n.Replay, n.Steps = r.Replay.Number()
	case r.isStep():
		n.Replay, n.Step = r.Steps.Number, r.Step+1
	default:
		n.Steps = int32(len(r.Sequence))
	}
	return n
}

// traffic returns the number of bytes that kernel task r accesses; bytes that are read and written
// count twice. It returns 0 for other tasks.
// Requires: r.Scope.Submitting held.
func traffic(r *Record) (n deps.Bytes) {
	if r.Kernel == nil {
		return 0
	}
	for i := range r.Accesses {
		a := &r.Accesses[i]
		size := deps.Bytes(a.Region.Len()) * r.RT.Buffers.ByID(a.Region.Buffer).Elem
		if n += size; a.Mode >= deps.InOut {
			n += size
		}
	}
	return n
}

// observeEdges makes the graph of s report dependence edges.
func (ob *Observers) observeEdges(d *deps.Domain, s *Scope) {
	o := ob.Observer
	switch {
	case o == nil && ob.Recorder != nil:
		d.Edges = func(succ deps.TaskID, preds []deps.TaskID) { ob.observeAccesses(s, succ, preds) }
	case o != nil:
		d.Edges = func(succ deps.TaskID, preds []deps.TaskID) {
			for _, p := range preds {
				o.Observe(probe.Point{Kind: probe.Edge, Task: succ, Other: p, Time: ob.Now()})
			}
			ob.observeAccesses(s, succ, preds)
		}
	}
}

// observeAccesses reports the accesses of task id and its predecessors, once for each task.
// Requires: s.Submitting held.
func (ob *Observers) observeAccesses(s *Scope, id deps.TaskID, preds []deps.TaskID) {
	if s.unreported && len(s.pendingAccesses)+len(preds) > 0 {
		if b := s.brief; b == nil || !b.Pack(s.pendingAccesses, preds) {
			ob.Recorder.Submitted(id, s.pendingAccesses, preds)
		}
	}
	s.unreported, s.pendingAccesses = false, nil
}

// observeReady reports that s is ready. by is the last predecessor that finished, nil if there was
// none.
func (ob *Observers) observeReady(s, by *Record) {
	if o := ob.Observer; o != nil {
		o.Observe(probe.Point{Kind: probe.Ready, Task: s.TaskID(), Time: ob.Now()})
	}
	if ob.Recorder != nil {
		ob.seenReady(s, by)
	}
}

func (ob *Observers) seenReady(s, by *Record) {
	var last deps.TaskID
	var at time.Duration
	switch {
	case by == nil && s.isStep():
		at = ob.Now()
	case by == nil:
	case by.Kind.Waits():
		at = ob.Now()
	default:
		if at = ob.released(by); at != 0 {
			last = by.TaskID()
		}
		if at == 0 || len(by.links) > 0 { // the last child may have finished after the body
			at = ob.Now()
		}
	}
	if s.Detail == ob.None {
		x := ob.brief(s)
		x.Last, x.Ready = last, max(at, x.Submit)
		return
	}
	s.Trace.Last, s.Trace.Ready = last, max(at, s.Trace.Submit)
}

// released returns the time at which the runtime noticed the end of r, 0 if r did not run.
func (ob *Observers) released(r *Record) time.Duration {
	if r.Detail == ob.None {
		return ob.brief(r).End
	}
	return r.Trace.Release
}

// observeEagerStart reports the ready, choice and launch of an eager task r at the end of its last
// predecessor. An observer of points receives these points only now, and only if the task was not
// skipped.
func (ob *Observers) observeEagerStart(r *Record, ran bool) {
	x := &r.Trace
	x.Ready = max(x.Submit, x.Launch, r.lastPredecessor.at)
	x.Last, x.Choice = r.lastPredecessor.by, x.Ready
	if o := ob.Observer; o != nil && ran {
		for _, kind := range []probe.Kind{probe.Ready, probe.Choice, probe.Launch} {
			p := ob.point(kind, r)
			p.Time = x.Ready
			o.Observe(p)
		}
	}
}

// observeChoice reports the place that was chosen for r.
func (rt *Runtime) observeChoice(r *Record) {
	if o := rt.Observers.Observer; o != nil && !launchedEarly(r) {
		pt := rt.Observers.point(probe.Choice, r)
		if len(r.Item.Missing) > 0 {
			pt.Bytes = r.Item.Missing[r.Item.Place()]
		}
		o.Observe(pt)
	}
	if o := rt.Observers.Recorder; o != nil {
		rt.seenChoice(r, o)
	}
}

func (rt *Runtime) seenChoice(r *Record, o probe.Recorder) {
	if r.Detail == rt.Observers.None {
		return
	}
	p := r.Item.Place()
	r.Trace.Choice, r.Trace.Launch, r.Trace.Start = 0, 0, 0 // it may have been placed before, elsewhere
	r.Trace.Place, r.Trace.Short = int16(p), r.Item.Short()
	r.Trace.Tokens = int32(rt.Ready.Sched.Need(&r.Item, p))
	if len(r.Item.Missing) > 0 {
		r.Trace.Missing = r.Item.Missing[p]
	}
	if seen := r.Item.Seen(); len(seen) > 0 {
		o.Considered(r.TaskID(), int(p), seen)
	}
}

// observeLaunch reports that r is launched on its accelerator.
func (ob *Observers) observeLaunch(r *Record) {
	if o := ob.Observer; o != nil && !launchedEarly(r) {
		o.Observe(ob.point(probe.Launch, r))
	}
	if ob.HasObserver {
		r.Trace.Choice = ob.Now()
		r.Trace.Launch, r.Trace.Variant = r.Trace.Choice, string(ob.Topology.Places[r.Item.Place()].Kind)
	}
}

// observeStart reports that a CPU worker starts the body of r.
func (ob *Observers) observeStart(r *Record) {
	if o := ob.Observer; o != nil {
		o.Observe(ob.point(probe.Start, r))
	}
	switch {
	case ob.Recorder == nil:
	case r.Detail == ob.None:
		x := ob.brief(r)
		x.Start = max(x.Ready, ob.soon())
	default:
		r.Trace.Worker, r.Trace.Start = int16(r.worker), ob.Now()
		if r.Trace.Choice == 0 {
			r.Trace.Choice = r.Trace.Start
		}
		if r.Replay != nil { // its steps run, and have records
			r.Trace.Place, r.Trace.Start = -1, 0
		}
	}
}

// observeAgain reports that the body of r has ended on a CPU worker with err and will run again.
func observeAgain(r *Record, err error) {
	if o := r.RT.Observers.Observer; o != nil {
		p := r.RT.Observers.point(probe.End, r)
		p.Err = err
		o.Observe(p)
	}
}

// observeFetch reports that the data of r are transferred to the host.
func (ob *Observers) observeFetch(r *Record) {
	if ob.Recorder != nil {
		r.Trace.Choice = ob.Now()
	}
}

// ObserveEnd reports that the body of r has finished, or cannot run. On an accelerator its times
// are those of the device.
func (ob *Observers) ObserveEnd(r *Record) {
	if r.Kind.Waits() {
		return
	}
	accelerator := r.Holds.Has(life.HeldData) && r.Set.Space != devices.Host
	switch {
	case r.Detail == ob.None && ob.Recorder != nil:
		ob.brief(r).End = ob.soon() // it may be some nanoseconds before the start; the collector corrects that
	case r.Detail == ob.None:
	default:
		r.Trace.Release = max(r.Trace.Choice, r.Trace.Start, ob.soon())
		switch {
		case accelerator && r.Set.Began > 0:
			// The times come from two clocks. A task that follows its predecessor on the device
			// started after the end of that one. It has finished when the host has noticed it: its
			// successors are ready from then on.
			r.Trace.Start = min(max(r.Set.Began, r.Trace.Choice), r.Trace.Release)
			r.Trace.End = min(max(r.Set.Ended, r.Trace.Start), r.Trace.Release)
		case r.Trace.Start > 0 && !accelerator:
			r.Trace.End = r.Trace.Release
		}
	}
	if o := ob.Observer; o != nil && r.poison.Load() == nil {
		ob.pointsOfEnd(o, r, accelerator)
	}
}

// observeLast reports that the last child or event of r has finished, after its body: its
// successors are ready from now on.
func (ob *Observers) observeLast(r *Record) {
	if r.Detail != ob.None && !r.Kind.Waits() && r.Trace.Release > 0 {
		r.Trace.Release = max(r.Trace.Release, ob.Now())
	}
}

func (ob *Observers) pointsOfEnd(o probe.Observer, r *Record, accelerator bool) {
	p := ob.point(probe.End, r)
	if r.err != nil {
		p.Err = r.err
	}
	if accelerator {
		began := p
		began.Kind, began.Err = probe.Start, nil
		if r.Set.Began > 0 {
			began.Time, p.Time = r.Trace.Start, r.Trace.End
		}
		o.Observe(began)
	}
	o.Observe(p)
}

// observeFailure reports why r failed or was skipped.
func (ob *Observers) observeFailure(r *Record) {
	if o := ob.Observer; o != nil {
		o.Observe(probe.Point{Kind: probe.Failure, Task: r.TaskID(), Time: ob.Now(), Label: r.Name(), Kernel: r.kernelName(), Device: r.err.Device, Err: r.err})
	}
	if ob.Recorder != nil && r.Detail != ob.None {
		r.Trace.Err = r.err.Error()
	}
}

// observeRelease reports that the runtime has finished all work for r.
func (ob *Observers) observeRelease(r *Record, id deps.TaskID) {
	if r.Kind.Waits() {
		return
	}
	if o := ob.Observer; o != nil {
		o.Observe(probe.Point{Kind: probe.Release, Task: id, Time: ob.Now()})
	}
	if o := ob.Recorder; o != nil {
		if r.Detail == ob.None {
			ob.reportBrief(o, r, id)
			return
		}
		if r.Trace.Release == 0 {
			r.Trace.Release, r.Trace.Skipped = ob.Now(), r.poison.Load() != nil
		}
		o.Ended(&r.Trace)
	}
}

// observeCompile reports that the variant of a kernel for a device was requested at time began.
func (ob *Observers) observeCompile(k *kernels.Kernel, d devices.Device, began time.Duration, err error) {
	p := probe.Point{Kind: probe.Compile, Device: d.Properties().Name, Kernel: k.Name, Begin: began, Time: ob.Now(), Err: err}
	p.Hit = machine.FromCache(ob.Topology.Machine, d, &k.Device)
	ob.ObserveAny(p)
}

// ObserveKernel reports the compiler's decisions for a kernel, or why it cannot run on
// accelerators. The report takes milliseconds to make, for which no task waits; Close does. onCPU
// is true if CPU workers may run the kernel.
func (rt *Runtime) ObserveKernel(k *kernels.Kernel, onCPU bool) {
	if rt.Observers.Recorder == nil || k.IR == nil {
		return
	}
	rt.Cleaning.Go(func() {
		text := ""
		if lowered, err := codegen.Lower(k.IR, codegen.LowerOptions{}); err != nil {
			text = err.Error()
		} else {
			text = lowered.Explain()
		}
		if onCPU {
			text = strings.TrimRight(text, "\n") + "\n" + probe.CPUCode + rt.Exec.Vectors.Describe(k) + "\n"
		}
		rt.Observers.Recorder.Observe(probe.Point{Kind: probe.Explain, Kernel: k.Name, Label: text, Time: rt.Observers.Now()})
	})
}

// ObserveAny reports a point that belongs to no task.
func (ob *Observers) ObserveAny(p probe.Point) {
	if ob.Observer != nil {
		ob.Observer.Observe(p)
	}
	if ob.Recorder != nil {
		ob.Recorder.Observe(p)
	}
}

// Watched reports whether there is an observer. Without one, a simple task costs six calls of
// Watched and no other tracing.
func (ob *Observers) Watched() bool { return ob.HasObserver }

// launchedEarly reports whether r was launched before its predecessors had finished, and has not
// finished itself.
func launchedEarly(r *Record) bool {
	return r.Life.State().Early()
}

// point returns a point of r.
func (ob *Observers) point(kind probe.Kind, r *Record) probe.Point {
	p := probe.Point{Kind: kind, Task: r.TaskID(), Time: ob.Now(), Label: r.Name(), Kernel: r.kernelName(), Worker: int(r.worker)}
	if kind >= probe.Choice && kind <= probe.End && !r.Kind.Waits() {
		p.Device = ob.Topology.Places[r.Item.Place()].Name
	}
	return p
}

// Observers are the clock, the observers of the program, and the trace session of a runtime. Each
// of its methods reports one point; without an observer it costs one comparison.
type Observers struct {
	Topology    *Topology
	Observer    probe.Observer   // of points, or nil
	Recorder    probe.Recorder   // of whole tasks, or nil
	HasObserver bool             // one of them is set
	Session     *session.Session // nil when nothing is recorded
	Profile     profile
	Briefs      *probe.Briefs // of tasks without a detail, for the recorder; or nil
	None        *Detail       // the shared detail of records without one; read-only
	Clock       *clock.Clock
}

// brief returns the trace entry of a task without a detail.
func (ob *Observers) brief(r *Record) *probe.Brief { return ob.Briefs.Find(r.TaskID()) }

// reportBrief passes the entry of a finished task without a detail to the recorder.
func (ob *Observers) reportBrief(o probe.Recorder, r *Record, id deps.TaskID) {
	b := ob.Briefs.Find(id)
	if b.Start == 0 || r.worker < 0 || r.err != nil {
		ob.reportUnusual(o, r, b)
		return
	}
	b.Worker = int16(r.worker)
	b.Over()
}

// reportUnusual is reportBrief for a task that failed or did not run.
func (ob *Observers) reportUnusual(o probe.Recorder, r *Record, b *probe.Brief) {
	t := probe.Task{ID: b.ID, Last: b.Last, Worker: int16(r.worker), Place: int16(ob.Topology.Host), Submit: b.Submit, Ready: b.Ready, Choice: b.Start, Start: b.Start, End: b.End, Release: b.End}
	if r.err != nil {
		t.Err = r.err.Error()
	}
	if b.Start == 0 {
		t.Place, t.Release, t.Skipped = -1, ob.Now(), r.poison.Load() != nil
	}
	b.Start = 0 // the entry is complete
	b.Over()
	o.Ended(&t)
}

// A profile holds the labels under which the bodies of tasks run on CPU workers, one set for each
// name.
//
// "go tool pprof -tagfocus task=Forces" then selects one kernel. While Go's execution tracer is on,
// each body is also a trace region.
type profile struct {
	On     bool
	labels sync.Map // string to context.Context
}

// of returns the context with the labels of r.
func (p *profile) of(r *Record) context.Context {
	name := r.kernelName()
	if name == "" {
		name = r.Name()
	}
	if ctx, ok := p.labels.Load(name); ok {
		return ctx.(context.Context)
	}
	ctx := pprof.WithLabels(context.Background(), pprof.Labels("task", name, "device", "smp"))
	p.labels.Store(name, ctx)
	return ctx
}

// callProfiled is callTimed with profiler labels.
func callProfiled(w CPU, r *Record) error {
	ctx := w.RT.Observers.Profile.of(r)
	pprof.SetGoroutineLabels(ctx)
	defer pprof.SetGoroutineLabels(context.Background())
	if trace.IsEnabled() {
		name, _ := pprof.Label(ctx, "task")
		defer trace.StartRegion(ctx, name).End()
	}
	return w.callTimed(r)
}
