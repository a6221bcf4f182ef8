package task

import (
	"fmt"
	"os"
	"strings"
	"time"

	"github.com/gompss/gompss/codegen"
	"github.com/gompss/gompss/deps"
	"github.com/gompss/gompss/devices"
	"github.com/gompss/gompss/internal/machine"
	"github.com/gompss/gompss/sched"
	"github.com/gompss/gompss/trace/probe"
	"github.com/gompss/gompss/trace/session"
)

// This file reports to the observers of a runtime. rt.observer wants points, rt.recorder
// whole tasks; each is nil when there is none, and then a point costs one comparison.
//
// With a recorder a task costs three looks at the clock: at its submission, its start and its end.
// A successor is ready when the runtime has heard of the end of its last predecessor, and a CPU
// worker starts what it has chosen at once, so these moments need no look of their own.

// observe sets the observers: that of the options, and the session that the options or the
// environment ask for.
func (rt *Runtime) observe(o *Options) error {
	s, err := session.Open(orVariable(o.Trace, TraceVariable), orVariable(o.Dash, DashVariable), os.Stderr)
	if err != nil {
		return fmt.Errorf("task: new: %w", fromVariable(fromVariable(err, o.Dash, DashVariable), o.Trace, TraceVariable))
	}
	rt.session = s
	var points []probe.Observer
	var whole []probe.Recorder
	if s != nil {
		rt.profile.on = s.Profile
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
		rt.observer = given
	}
	rt.recorder = probe.TeeRecorders(whole...)
	if rt.recorder != nil {
		points = append(points, rt.recorder)
	}
	rt.hasObserver = rt.observer != nil || rt.recorder != nil
	o.Machine.Observer, o.Machine.Now = probe.Tee(points...), rt.now
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
func (rt *Runtime) describe() {
	if rt.recorder == nil {
		return
	}
	m := &probe.Machine{Policy: rt.sched.PolicyName(), Opened: rt.clock.Opened()}
	for p, d := range rt.topology.machine.Devices() {
		of := d.Properties()
		m.Places = append(m.Places, probe.Place{Name: of.Name, Kind: string(of.Kind), Description: of.Description, Workers: of.Workers,
			Memory: of.Memory, Tokens: rt.sched.Limit(sched.PlaceID(p)), Host: of.Kind == devices.SMP, ClockError: of.ClockError})
	}
	for _, a := range rt.topology.machine.Absent() {
		m.Absent = append(m.Absent, fmt.Sprintf("%s: %v", a.Device, a.Why))
	}
	rt.recorder.Open(m)
	for _, p := range rt.topology.machine.Phases() {
		rt.recorder.Observe(p)
	}
	rt.observePhase(probe.PhaseOpen, 0, known{})
}

// observeSubmit tells that r has become task id. Requires: submitting held.
func (rt *Runtime) observeSubmit(r *record, id deps.TaskID) {
	if r.kind.waits() {
		return
	}
	if o := rt.observer; o != nil {
		o.Observe(probe.Point{Kind: probe.Submit, Task: id, Other: r.scope.id(), Time: rt.now(), Label: r.name(), Kernel: r.kernelName()})
		if rt.recorder == nil && r.detail != rt.none {
			r.trace = probe.Task{ID: id, Submit: rt.now(), Place: -1}
		}
	}
	if rt.recorder != nil {
		if r.scope.brief = nil; r.detail == rt.none {
			if b := rt.briefs.New(id); b != nil {
				b.Submit, r.scope.brief = rt.soon(), b
				return
			}
		}
		r.need()
		r.trace = probe.Task{ID: id, Parent: r.scope.id(), Submit: rt.soon(), Kernel: r.kernelName(), Label: r.label, Place: -1}
	}
}

// observeEdges makes the graph of s tell of edges.
func (rt *Runtime) observeEdges(d *deps.Domain, s *Scope) {
	o := rt.observer
	switch {
	case o == nil && rt.recorder != nil:
		d.Edges = func(succ deps.TaskID, preds []deps.TaskID) { rt.observeAccesses(s, succ, preds) }
	case o != nil:
		d.Edges = func(succ deps.TaskID, preds []deps.TaskID) {
			for _, p := range preds {
				o.Observe(probe.Point{Kind: probe.Edge, Task: succ, Other: p, Time: rt.now()})
			}
			rt.observeAccesses(s, succ, preds)
		}
	}
}

// observeAccesses tells what task id touches and which tasks it waits for, once for each task.
// Requires: s.submitting held.
func (rt *Runtime) observeAccesses(s *Scope, id deps.TaskID, preds []deps.TaskID) {
	if s.unreported && len(s.pendingAccesses)+len(preds) > 0 {
		if b := s.brief; b == nil || !b.Pack(s.pendingAccesses, preds) {
			rt.recorder.Submitted(id, s.pendingAccesses, preds)
		}
	}
	s.unreported, s.pendingAccesses = false, nil
}

// observeReady tells that s waits for no task any more; by was the last one, nil when there was
// none.
func (rt *Runtime) observeReady(s, by *record) {
	if o := rt.observer; o != nil {
		o.Observe(probe.Point{Kind: probe.Ready, Task: s.taskID(), Time: rt.now()})
	}
	if rt.recorder != nil {
		rt.seenReady(s, by)
	}
}

func (rt *Runtime) seenReady(s, by *record) {
	var last deps.TaskID
	var at time.Duration
	switch {
	case by == nil:
	case by.kind.waits():
		at = rt.now()
	default:
		if at = rt.released(by); at != 0 {
			last = by.taskID()
		} else {
			at = rt.now()
		}
	}
	if s.detail == rt.none {
		x := rt.brief(s)
		x.Last, x.Ready = last, max(at, x.Submit)
		return
	}
	s.trace.Last, s.trace.Ready = last, max(at, s.trace.Submit)
}

// released returns when the end of a task was noticed, 0 when it did not run.
func (rt *Runtime) released(r *record) time.Duration {
	if r.detail == rt.none {
		return rt.brief(r).End
	}
	return r.trace.Release
}

// observeEagerStart reports that r, which was launched before its predecessors were finished, was
// ready when the last of them was, and was chosen and launched then. An observer of points learns
// so now, and only of a task that was not skipped.
func (rt *Runtime) observeEagerStart(r *record, ran bool) {
	x := &r.trace
	x.Ready = max(x.Submit, x.Launch, r.lastPredecessor.at)
	x.Last, x.Choice = r.lastPredecessor.by, x.Ready
	if o := rt.observer; o != nil && ran {
		for _, kind := range []probe.Kind{probe.Ready, probe.Choice, probe.Launch} {
			p := rt.point(kind, r)
			p.Time = x.Ready
			o.Observe(p)
		}
	}
}

// observeChoice tells where r will run.
func (rt *Runtime) observeChoice(r *record) {
	if o := rt.observer; o != nil && !r.launchedEarly() {
		pt := rt.point(probe.Choice, r)
		if len(r.item.Missing) > 0 {
			pt.Bytes = r.item.Missing[r.item.Place()]
		}
		o.Observe(pt)
	}
	if o := rt.recorder; o != nil {
		rt.seenChoice(r, o)
	}
}

func (rt *Runtime) seenChoice(r *record, o probe.Recorder) {
	if r.detail == rt.none {
		return
	}
	p := r.item.Place()
	r.trace.Choice, r.trace.Launch, r.trace.Start = 0, 0, 0 // it may have been at another place before
	r.trace.Place, r.trace.Short = int16(p), r.item.Short()
	r.trace.Tokens = int32(rt.sched.Need(&r.item, p))
	if len(r.item.Missing) > 0 {
		r.trace.Missing = r.item.Missing[p]
	}
	if seen := r.item.Seen(); len(seen) > 0 {
		o.Considered(r.taskID(), int(p), seen)
	}
}

// observeLaunch tells that r goes to its accelerator.
func (rt *Runtime) observeLaunch(r *record) {
	if o := rt.observer; o != nil && !r.launchedEarly() {
		o.Observe(rt.point(probe.Launch, r))
	}
	if rt.hasObserver {
		r.trace.Choice = rt.now()
		r.trace.Launch, r.trace.Variant = r.trace.Choice, string(rt.topology.places[r.item.Place()].Kind)
	}
}

// observeStart tells that a CPU worker begins with the body of r.
func (rt *Runtime) observeStart(r *record) {
	if o := rt.observer; o != nil {
		o.Observe(rt.point(probe.Start, r))
	}
	switch {
	case rt.recorder == nil:
	case r.detail == rt.none:
		x := rt.brief(r)
		x.Start = max(x.Ready, rt.soon())
	default:
		r.trace.Worker, r.trace.Start = int16(r.worker), rt.now()
		if r.trace.Choice == 0 {
			r.trace.Choice = r.trace.Start
		}
	}
}

// observeAgain reports that the body of r has ended on a CPU worker with err, and will run again.
func observeAgain(r *record, err error) {
	if o := r.rt.observer; o != nil {
		p := r.rt.point(probe.End, r)
		p.Err = err
		o.Observe(p)
	}
}

// observeFetch tells that the data of r are being brought to the host.
func (rt *Runtime) observeFetch(r *record) {
	if rt.recorder != nil {
		r.trace.Choice = rt.now()
	}
}

// observeEnd tells that the body of r has finished, or that it cannot be run. On an accelerator its
// times are the device's.
func (rt *Runtime) observeEnd(r *record) {
	if r.kind.waits() {
		return
	}
	accelerator := r.held && r.set.Space != devices.Host
	switch {
	case r.detail == rt.none && rt.recorder != nil:
		rt.brief(r).End = rt.soon() // perhaps some nanoseconds before the start: the collector corrects that
	case r.detail == rt.none:
	default:
		r.trace.Release = max(r.trace.Choice, r.trace.Start, rt.soon())
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
	if o := rt.observer; o != nil && r.poison.Load() == nil {
		rt.pointsOfEnd(o, r, accelerator)
	}
}

func (rt *Runtime) pointsOfEnd(o probe.Observer, r *record, accelerator bool) {
	p := rt.point(probe.End, r)
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
func (rt *Runtime) observeFailure(r *record) {
	if o := rt.observer; o != nil {
		o.Observe(probe.Point{Kind: probe.Failure, Task: r.taskID(), Time: rt.now(), Label: r.name(), Kernel: r.kernelName(), Device: r.err.Device, Err: r.err})
	}
	if rt.recorder != nil && r.detail != rt.none {
		r.trace.Err = r.err.Error()
	}
}

// observeRelease tells that all is done for r.
func (rt *Runtime) observeRelease(r *record, id deps.TaskID) {
	if r.kind.waits() {
		return
	}
	if o := rt.observer; o != nil {
		o.Observe(probe.Point{Kind: probe.Release, Task: id, Time: rt.now()})
	}
	if o := rt.recorder; o != nil {
		if r.detail == rt.none {
			rt.reportBrief(o, r, id)
			return
		}
		if r.trace.Release == 0 {
			r.trace.Release, r.trace.Skipped = rt.now(), r.poison.Load() != nil
		}
		o.Ended(&r.trace)
	}
}

// observeCompile tells that the variant of a kernel was asked for at a device, since began.
func (rt *Runtime) observeCompile(k *Kernel, d devices.Device, began time.Duration, err error) {
	p := probe.Point{Kind: probe.Compile, Device: d.Properties().Name, Kernel: k.name, Begin: began, Time: rt.now(), Err: err}
	p.Hit = machine.FromCache(rt.topology.machine, d, &k.device)
	rt.observeAny(p)
}

// observePhase tells of what the runtime or the program did since began, and what memory was known
// then.
func (rt *Runtime) observePhase(label string, began time.Duration, k known) {
	rt.observeAny(probe.Point{Kind: probe.Phase, Label: label, Begin: began, Time: rt.now(), Other: deps.TaskID(k.buffers), Bytes: k.size})
	rt.observeLearned(label == probe.PhaseClose)
}

// observeKernel tells what was decided for a kernel and why, or why it cannot run on accelerators.
// Finding that out takes milliseconds, which no task waits for; Close does. onCPU says that CPU
// workers may run it.
func (rt *Runtime) observeKernel(k *Kernel, onCPU bool) {
	if rt.recorder == nil || k.ir == nil {
		return
	}
	rt.cleaning.Go(func() {
		text := ""
		if lowered, err := codegen.Lower(k.ir, codegen.LowerOptions{}); err != nil {
			text = err.Error()
		} else {
			text = lowered.Explain()
		}
		if onCPU {
			text = strings.TrimRight(text, "\n") + "\n" + probe.CPUCode + rt.CPUCode(k) + "\n"
		}
		rt.recorder.Observe(probe.Point{Kind: probe.Explain, Kernel: k.name, Label: text, Time: rt.now()})
	})
}

// reportInterval is the least time between two reports of learned times.
const reportInterval = 250 * time.Millisecond

// observeLearned tells what the policy has learned, but for the end not more often than people can
// read.
func (rt *Runtime) observeLearned(end bool) {
	if rt.recorder == nil || !rt.learned.on {
		return
	}
	rt.mu.Lock()
	now := rt.now()
	if !end && now < rt.learned.nextReport {
		rt.unlock()
		return
	}
	rt.learned.nextReport = now + reportInterval
	list := rt.learned.times.List()
	rt.unlock()
	for i := range list {
		l := &list[i]
		rt.recorder.Observe(probe.Point{Kind: probe.Learn, Kernel: l.Version, Device: string(l.Kind), Bytes: l.Size, Time: now, Begin: now,
			Learned: &probe.Learned{Samples: l.Samples, Middle: l.Middle, Least: l.Least, Most: l.Most}})
	}
}

// observeAny tells of a point that belongs to no task.
func (rt *Runtime) observeAny(p probe.Point) {
	if rt.observer != nil {
		rt.observer.Observe(p)
	}
	if rt.recorder != nil {
		rt.recorder.Observe(p)
	}
}

// watched reports whether there is an observer. A simple task calls it six times; without an
// observer tracing does nothing else.
func (rt *Runtime) watched() bool { return rt.hasObserver }

// launchedEarly reports whether r was launched before its predecessors were finished, and is not
// finished itself.
func (r *record) launchedEarly() bool {
	return r.eagerState.Load() == r.id.Load()<<stateBits|eagerGranted
}

// point fills a point of r.
func (rt *Runtime) point(kind probe.Kind, r *record) probe.Point {
	p := probe.Point{Kind: kind, Task: r.taskID(), Time: rt.now(), Label: r.name(), Kernel: r.kernelName(), Worker: int(r.worker)}
	if kind >= probe.Choice && kind <= probe.End && !r.kind.waits() {
		p.Device = rt.topology.places[r.item.Place()].Name
	}
	return p
}
