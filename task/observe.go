package task

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"runtime/pprof"
	"runtime/trace"
	"strings"
	"sync"
	"time"

	"github.com/gompss/gompss/codegen"
	"github.com/gompss/gompss/deps"
	"github.com/gompss/gompss/devices"
	"github.com/gompss/gompss/internal/machine"
	"github.com/gompss/gompss/sched"
	"github.com/gompss/gompss/task/internal/kernels"
	"github.com/gompss/gompss/task/internal/life"
	"github.com/gompss/gompss/task/internal/memory"
	"github.com/gompss/gompss/trace/clock"
	"github.com/gompss/gompss/trace/probe"
	"github.com/gompss/gompss/trace/session"
)

// This file reports to the observers of a runtime. observers.observer wants points,
// observers.recorder whole tasks; each is nil when there is none, and then a point costs one
// comparison.
//
// With a recorder a task costs three looks at the clock: at its submission, its start and its end.
// A successor is ready when the runtime has observed the end of its last predecessor, and a CPU
// worker starts what it has chosen at once, so these moments need no look of their own.

// observe sets the observers: that of the options, and the session that the options or the
// environment ask for.
func (rt *Runtime) observe(o *Options) error {
	trace, dash := orVariable(o.Trace, TraceVariable), orVariable(o.Dash, DashVariable)
	if rank, ranks := rankOf(o.World); ranks > 1 {
		trace, dash = session.OfRank(trace, dash, rank)
	}
	s, err := session.Open(trace, dash, os.Stderr)
	if err != nil {
		return fmt.Errorf("task: new: %w", fromVariable(fromVariable(err, o.Dash, DashVariable), o.Trace, TraceVariable))
	}
	rt.observers.session = s
	var points []probe.Observer
	var whole []probe.Recorder
	if s != nil {
		rt.observers.profile.on = s.Profile
		if s.Recorder != nil {
			whole = append(whole, s.Recorder)
		}
	}
	var given probe.Observer
	if o.Observer != nil {
		given = probe.Contain(o.Observer, func(e *probe.ObserverError) { rt.broke.add(e) })
	}
	if rec, ok := given.(probe.Recorder); ok {
		whole = append(whole, rec)
	} else if given != nil {
		points = append(points, given)
		rt.observers.observer = given
	}
	rt.observers.recorder = probe.TeeRecorders(whole...)
	if rt.observers.recorder != nil {
		points = append(points, rt.observers.recorder)
	}
	rt.observers.hasObserver = rt.observers.observer != nil || rt.observers.recorder != nil
	o.Machine.Observer, o.Machine.Now = probe.Tee(points...), rt.observers.now
	return nil
}

func orVariable(value, name string) string {
	if value == "" {
		return os.Getenv(name)
	}
	return value
}

// fromVariable adds the name of the variable to an error of what orVariable may have taken from
// there.
func fromVariable(err error, value, name string) error {
	if text := orVariable(value, name); value == "" && text != "" {
		return fmt.Errorf("%s=%s: %w", name, text, err)
	}
	return err
}

// describe tells the recorder what the machine is.
func (rt *Runtime) describe(w World) {
	if rt.observers.recorder == nil {
		return
	}
	m := &probe.Machine{Policy: rt.ready.sched.PolicyName(), Opened: rt.observers.clock.Opened(), Program: filepath.Base(os.Args[0]), PID: os.Getpid()}
	m.Host, _ = os.Hostname() // a machine without a name has none on the page
	if rank, ranks := rankOf(w); ranks > 1 {
		m.Rank, m.Ranks = rank, ranks
	}
	for p, d := range rt.topology.machine.Devices() {
		of := d.Properties()
		m.Places = append(m.Places, probe.Place{Rank: m.Rank, Name: of.Name, Kind: string(of.Kind), Description: of.Description, Workers: of.Workers,
			Memory: of.Memory, Tokens: rt.ready.sched.Limit(sched.PlaceID(p)), Host: of.Kind == devices.SMP, Bandwidth: of.Bandwidth, ClockError: of.ClockError})
	}
	for _, a := range rt.topology.machine.Absent() {
		m.Absent = append(m.Absent, fmt.Sprintf("%s: %v", a.Device, a.Why))
	}
	rt.observers.recorder.Open(m)
	for _, p := range rt.topology.machine.Phases() {
		rt.observers.recorder.Observe(p)
	}
	rt.observePhase(probe.PhaseOpen, 0, memory.Known{})
}

// observeSubmit tells that r has become task id. Requires: submitting held.
func (ob *observers) observeSubmit(r *record, id deps.TaskID) {
	if r.kind.waits() {
		return
	}
	if o := ob.observer; o != nil {
		o.Observe(probe.Point{Kind: probe.Submit, Task: id, Other: r.scope.id(), Time: ob.now(), Label: r.name(), Kernel: r.kernelName()})
		if ob.recorder == nil && r.detail != ob.none {
			r.trace = probe.Task{ID: id, Submit: ob.now(), Place: -1}
		}
	}
	if ob.recorder != nil {
		if r.scope.brief = nil; r.detail == ob.none {
			if b := ob.briefs.New(id); b != nil {
				b.Submit, r.scope.brief = ob.soon(), b
				return
			}
			found := r.scope.declared // r has no accesses of its own yet
			r.need()
			r.accesses = append(r.accesses[:0], found...)
		}
		r.trace = probe.Task{ID: id, Parent: r.scope.id(), Submit: ob.soon(), Kernel: r.kernelName(), Label: r.label, Place: -1, Traffic: probe.Traffic{Bytes: traffic(r)}}
	}
}

// traffic returns the bytes that the accesses of r, a kernel, name, those that are read and written
// twice; 0 for other tasks. Requires: the submitting of its home held.
func traffic(r *record) (n deps.Bytes) {
	if r.kernel == nil {
		return 0
	}
	for i := range r.accesses {
		a := &r.accesses[i]
		size := deps.Bytes(a.Region.Len()) * r.rt.buffers.ByID(a.Region.Buffer).Elem
		if n += size; a.Mode >= deps.InOut {
			n += size
		}
	}
	return n
}

// observeEdges makes the graph of s report edges.
func (ob *observers) observeEdges(d *deps.Domain, s *Scope) {
	o := ob.observer
	switch {
	case o == nil && ob.recorder != nil:
		d.Edges = func(succ deps.TaskID, preds []deps.TaskID) { ob.observeAccesses(s, succ, preds) }
	case o != nil:
		d.Edges = func(succ deps.TaskID, preds []deps.TaskID) {
			for _, p := range preds {
				o.Observe(probe.Point{Kind: probe.Edge, Task: succ, Other: p, Time: ob.now()})
			}
			ob.observeAccesses(s, succ, preds)
		}
	}
}

// observeAccesses tells what task id touches and which tasks it waits for, once for each task.
// Requires: s.submitting held.
func (ob *observers) observeAccesses(s *Scope, id deps.TaskID, preds []deps.TaskID) {
	if s.unreported && len(s.pendingAccesses)+len(preds) > 0 {
		if b := s.brief; b == nil || !b.Pack(s.pendingAccesses, preds) {
			ob.recorder.Submitted(id, s.pendingAccesses, preds)
		}
	}
	s.unreported, s.pendingAccesses = false, nil
}

// observeReady tells that s waits for no task any more; by was the last one, nil when there was
// none.
func (ob *observers) observeReady(s, by *record) {
	if o := ob.observer; o != nil {
		o.Observe(probe.Point{Kind: probe.Ready, Task: s.taskID(), Time: ob.now()})
	}
	if ob.recorder != nil {
		ob.seenReady(s, by)
	}
}

func (ob *observers) seenReady(s, by *record) {
	var last deps.TaskID
	var at time.Duration
	switch {
	case by == nil:
	case by.kind.waits():
		at = ob.now()
	default:
		if at = ob.released(by); at != 0 {
			last = by.taskID()
		} else {
			at = ob.now()
		}
	}
	if s.detail == ob.none {
		x := ob.brief(s)
		x.Last, x.Ready = last, max(at, x.Submit)
		return
	}
	s.trace.Last, s.trace.Ready = last, max(at, s.trace.Submit)
}

// released returns when the end of a task was noticed, 0 when it did not run.
func (ob *observers) released(r *record) time.Duration {
	if r.detail == ob.none {
		return ob.brief(r).End
	}
	return r.trace.Release
}

// observeEagerStart reports that r, which was launched before its predecessors were finished, was
// ready when the last of them was, and was chosen and launched then. An observer of points learns
// so now, and only of a task that was not skipped.
func (ob *observers) observeEagerStart(r *record, ran bool) {
	x := &r.trace
	x.Ready = max(x.Submit, x.Launch, r.lastPredecessor.at)
	x.Last, x.Choice = r.lastPredecessor.by, x.Ready
	if o := ob.observer; o != nil && ran {
		for _, kind := range []probe.Kind{probe.Ready, probe.Choice, probe.Launch} {
			p := ob.point(kind, r)
			p.Time = x.Ready
			o.Observe(p)
		}
	}
}

// observeChoice tells where r will run.
func (rt *Runtime) observeChoice(r *record) {
	if o := rt.observers.observer; o != nil && !r.launchedEarly() {
		pt := rt.observers.point(probe.Choice, r)
		if len(r.item.Missing) > 0 {
			pt.Bytes = r.item.Missing[r.item.Place()]
		}
		o.Observe(pt)
	}
	if o := rt.observers.recorder; o != nil {
		rt.seenChoice(r, o)
	}
}

func (rt *Runtime) seenChoice(r *record, o probe.Recorder) {
	if r.detail == rt.observers.none {
		return
	}
	p := r.item.Place()
	r.trace.Choice, r.trace.Launch, r.trace.Start = 0, 0, 0 // it may have been at another place before
	r.trace.Place, r.trace.Short = int16(p), r.item.Short()
	r.trace.Tokens = int32(rt.ready.sched.Need(&r.item, p))
	if len(r.item.Missing) > 0 {
		r.trace.Missing = r.item.Missing[p]
	}
	if seen := r.item.Seen(); len(seen) > 0 {
		o.Considered(r.taskID(), int(p), seen)
	}
}

// observeLaunch tells that r goes to its accelerator.
func (ob *observers) observeLaunch(r *record) {
	if o := ob.observer; o != nil && !r.launchedEarly() {
		o.Observe(ob.point(probe.Launch, r))
	}
	if ob.hasObserver {
		r.trace.Choice = ob.now()
		r.trace.Launch, r.trace.Variant = r.trace.Choice, string(ob.topology.places[r.item.Place()].Kind)
	}
}

// observeStart tells that a CPU worker begins with the body of r.
func (ob *observers) observeStart(r *record) {
	if o := ob.observer; o != nil {
		o.Observe(ob.point(probe.Start, r))
	}
	switch {
	case ob.recorder == nil:
	case r.detail == ob.none:
		x := ob.brief(r)
		x.Start = max(x.Ready, ob.soon())
	default:
		r.trace.Worker, r.trace.Start = int16(r.worker), ob.now()
		if r.trace.Choice == 0 {
			r.trace.Choice = r.trace.Start
		}
	}
}

// observeAgain reports that the body of r has ended on a CPU worker with err, and will run again.
func observeAgain(r *record, err error) {
	if o := r.rt.observers.observer; o != nil {
		p := r.rt.observers.point(probe.End, r)
		p.Err = err
		o.Observe(p)
	}
}

// observeFetch tells that the data of r are being brought to the host.
func (ob *observers) observeFetch(r *record) {
	if ob.recorder != nil {
		r.trace.Choice = ob.now()
	}
}

// observeEnd tells that the body of r has finished, or that it cannot be run. On an accelerator its
// times are the device's.
func (ob *observers) observeEnd(r *record) {
	if r.kind.waits() {
		return
	}
	accelerator := r.holds.Has(life.HeldData) && r.set.Space != devices.Host
	switch {
	case r.detail == ob.none && ob.recorder != nil:
		ob.brief(r).End = ob.soon() // perhaps some nanoseconds before the start: the collector corrects that
	case r.detail == ob.none:
	default:
		r.trace.Release = max(r.trace.Choice, r.trace.Start, ob.soon())
		switch {
		case accelerator && r.set.Began > 0:
			// Two clocks are compared. A task that follows its predecessor on the device began
			// after the end of that one. A task has finished when the host knows of it: its
			// successors are ready from then on.
			r.trace.Start = min(max(r.set.Began, r.trace.Choice), r.trace.Release)
			r.trace.End = min(max(r.set.Ended, r.trace.Start), r.trace.Release)
		case r.trace.Start > 0 && !accelerator:
			r.trace.End = r.trace.Release
		}
	}
	if o := ob.observer; o != nil && r.poison.Load() == nil {
		ob.pointsOfEnd(o, r, accelerator)
	}
}

// observeLast tells that the last child or event of r has finished, whose body has, too: its
// successors are ready from now on.
func (ob *observers) observeLast(r *record) {
	if r.detail != ob.none && !r.kind.waits() && r.trace.Release > 0 {
		r.trace.Release = max(r.trace.Release, ob.now())
	}
}

func (ob *observers) pointsOfEnd(o probe.Observer, r *record, accelerator bool) {
	p := ob.point(probe.End, r)
	if r.err != nil {
		p.Err = r.err
	}
	if accelerator {
		began := p
		began.Kind, began.Err = probe.Start, nil
		if r.set.Began > 0 {
			began.Time, p.Time = r.trace.Start, r.trace.End
		}
		o.Observe(began)
	}
	o.Observe(p)
}

// observeFailure tells why r failed or was skipped.
func (ob *observers) observeFailure(r *record) {
	if o := ob.observer; o != nil {
		o.Observe(probe.Point{Kind: probe.Failure, Task: r.taskID(), Time: ob.now(), Label: r.name(), Kernel: r.kernelName(), Device: r.err.Device, Err: r.err})
	}
	if ob.recorder != nil && r.detail != ob.none {
		r.trace.Err = r.err.Error()
	}
}

// observeRelease tells that all is done for r.
func (ob *observers) observeRelease(r *record, id deps.TaskID) {
	if r.kind.waits() {
		return
	}
	if o := ob.observer; o != nil {
		o.Observe(probe.Point{Kind: probe.Release, Task: id, Time: ob.now()})
	}
	if o := ob.recorder; o != nil {
		if r.detail == ob.none {
			ob.reportBrief(o, r, id)
			return
		}
		if r.trace.Release == 0 {
			r.trace.Release, r.trace.Skipped = ob.now(), r.poison.Load() != nil
		}
		o.Ended(&r.trace)
	}
}

// observeCompile tells that the variant of a kernel was asked for at a device, since began.
func (ob *observers) observeCompile(k *kernels.Kernel, d devices.Device, began time.Duration, err error) {
	p := probe.Point{Kind: probe.Compile, Device: d.Properties().Name, Kernel: k.Name, Begin: began, Time: ob.now(), Err: err}
	p.Hit = machine.FromCache(ob.topology.machine, d, &k.Device)
	ob.observeAny(p)
}

// observePhase reports the phase of the runtime or the program since began, and the buffers known
// at that time.
func (rt *Runtime) observePhase(label string, began time.Duration, k memory.Known) {
	rt.observers.observeAny(probe.Point{Kind: probe.Phase, Label: label, Begin: began, Time: rt.observers.now(), Other: deps.TaskID(k.Buffers), Bytes: k.Size})
	rt.observeLearned(label == probe.PhaseClose)
}

// observeKernel tells what was decided for a kernel and why, or why it cannot run on accelerators.
// Finding that out takes milliseconds, which no task waits for; Close does. onCPU says that CPU
// workers may run it.
func (rt *Runtime) observeKernel(k *kernels.Kernel, onCPU bool) {
	if rt.observers.recorder == nil || k.IR == nil {
		return
	}
	rt.cleaning.Go(func() {
		text := ""
		if lowered, err := codegen.Lower(k.IR, codegen.LowerOptions{}); err != nil {
			text = err.Error()
		} else {
			text = lowered.Explain()
		}
		if onCPU {
			text = strings.TrimRight(text, "\n") + "\n" + probe.CPUCode + rt.exec.Vectors.Describe(k) + "\n"
		}
		rt.observers.recorder.Observe(probe.Point{Kind: probe.Explain, Kernel: k.Name, Label: text, Time: rt.observers.now()})
	})
}

// reportInterval is the least time between two reports of learned times.
const reportInterval = 250 * time.Millisecond

// observeLearned tells what the policy has learned, but for the end not more often than people can
// read.
func (rt *Runtime) observeLearned(end bool) {
	if rt.observers.recorder == nil || !rt.ready.learned.On {
		return
	}
	rt.ready.mu.Lock()
	now := rt.observers.now()
	if !end && now < rt.ready.learned.NextReport {
		rt.ready.unlock()
		return
	}
	rt.ready.learned.NextReport = now + reportInterval
	list := rt.ready.learned.Learned.List()
	rt.ready.unlock()
	for i := range list {
		l := &list[i]
		rt.observers.recorder.Observe(probe.Point{Kind: probe.Learn, Kernel: l.Version, Device: string(l.Kind), Bytes: l.Size, Time: now, Begin: now,
			Learned: &probe.Learned{Samples: l.Samples, Middle: l.Middle, Least: l.Least, Most: l.Most}})
	}
}

// observeAny reports a point that belongs to no task.
func (ob *observers) observeAny(p probe.Point) {
	if ob.observer != nil {
		ob.observer.Observe(p)
	}
	if ob.recorder != nil {
		ob.recorder.Observe(p)
	}
}

// watched reports whether there is an observer. A simple task calls it six times; without an
// observer tracing does nothing else.
func (ob *observers) watched() bool { return ob.hasObserver }

// launchedEarly reports whether r was launched before its predecessors were finished, and is not
// finished itself.
func (r *record) launchedEarly() bool {
	return r.life.State().Early()
}

// point fills a point of r.
func (ob *observers) point(kind probe.Kind, r *record) probe.Point {
	p := probe.Point{Kind: kind, Task: r.taskID(), Time: ob.now(), Label: r.name(), Kernel: r.kernelName(), Worker: int(r.worker)}
	if kind >= probe.Choice && kind <= probe.End && !r.kind.waits() {
		p.Device = ob.topology.places[r.item.Place()].Name
	}
	return p
}

// An observers is what sees the tasks of a runtime: the clock, the observers of the program, and
// the session that the options or the environment ask for. Its methods report one moment each;
// without an observer a moment costs one comparison.
type observers struct {
	topology    *topology
	observer    probe.Observer   // of points, or nil
	recorder    probe.Recorder   // of whole tasks, or nil
	hasObserver bool             // one of them is set
	session     *session.Session // nil when nothing is recorded
	profile     profile
	briefs      *probe.Briefs // of tasks without a detail, for the recorder; nil where there are none
	none        *detail       // of records that have none of their own; never written
	clock       *clock.Clock
}

// makeBriefs makes room for what a recorder wants to know of tasks that have no detail of their
// own. Such tasks are many and short, and what is kept of each is two cache lines, beside those of
// its neighbours in the order of submission.
func (rt *Runtime) makeBriefs() {
	c, ok := rt.observers.recorder.(probe.Collector)
	if !ok || !rt.ready.fastPath {
		return
	}
	rt.observers.briefs = probe.NewBriefs(func() {
		if rt.root.submitting.TryLock() {
			rt.observers.briefs.Publish()
			rt.root.submitting.Unlock()
		}
	})
	c.Collect(rt.observers.briefs)
}

// brief returns what is kept of a task without a detail of its own.
func (ob *observers) brief(r *record) *probe.Brief { return ob.briefs.Find(r.taskID()) }

// reportBrief has the recorder come for a task without a detail that has finished.
func (ob *observers) reportBrief(o probe.Recorder, r *record, id deps.TaskID) {
	b := ob.briefs.Find(id)
	if b.Start == 0 || r.worker < 0 || r.err != nil {
		ob.reportUnusual(o, r, b)
		return
	}
	b.Worker = int16(r.worker)
	b.Over()
}

// reportUnusual is tell for tasks that failed or did not run.
func (ob *observers) reportUnusual(o probe.Recorder, r *record, b *probe.Brief) {
	t := probe.Task{ID: b.ID, Last: b.Last, Worker: int16(r.worker), Place: int16(ob.topology.host), Submit: b.Submit, Ready: b.Ready, Choice: b.Start, Start: b.Start, End: b.End, Release: b.End}
	if r.err != nil {
		t.Err = r.err.Error()
	}
	if b.Start == 0 {
		t.Place, t.Release, t.Skipped = -1, ob.now(), r.poison.Load() != nil
	}
	b.Start = 0 // what was packed counts
	b.Over()
	o.Ended(&t)
}

// A profile is the labels under which the bodies of tasks run on CPU workers, made once for each
// name.
//
// "go tool pprof -tagfocus task=Forces" then shows what belongs to one kernel. While Go's execution
// tracer is on, each body is a region of its own too.
type profile struct {
	on     bool
	labels sync.Map // string to context.Context
}

// of returns the context that has the labels of r.
func (p *profile) of(r *record) context.Context {
	name := r.kernelName()
	if name == "" {
		name = r.name()
	}
	if ctx, ok := p.labels.Load(name); ok {
		return ctx.(context.Context)
	}
	ctx := pprof.WithLabels(context.Background(), pprof.Labels("task", name, "device", "smp"))
	p.labels.Store(name, ctx)
	return ctx
}

// callProfiled is callTimed under labels.
func (rt *Runtime) callProfiled(r *record) error {
	ctx := rt.observers.profile.of(r)
	pprof.SetGoroutineLabels(ctx)
	defer pprof.SetGoroutineLabels(context.Background())
	if trace.IsEnabled() {
		name, _ := pprof.Label(ctx, "task")
		defer trace.StartRegion(ctx, name).End()
	}
	return rt.callTimed(r)
}
