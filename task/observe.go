package task

import (
	"fmt"
	"os"
	"path/filepath"
	"time"

	"github.com/gompss/gompss/deps"
	"github.com/gompss/gompss/devices"
	"github.com/gompss/gompss/sched"
	"github.com/gompss/gompss/task/internal/engine"
	"github.com/gompss/gompss/task/internal/memory"
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

// openObservers sets the observers: that of the options, and the session that the options or the
// environment ask for.
func openObservers(rt *engine.Runtime, o *Options) error {
	trace, dash := orVariable(o.Trace, TraceVariable), orVariable(o.Dash, DashVariable)
	if rank, ranks := rankOf(o.World); ranks > 1 {
		trace, dash = session.OfRank(trace, dash, rank)
	}
	s, err := session.Open(trace, dash, os.Stderr)
	if err != nil {
		return fmt.Errorf("task: new: %w", fromVariable(fromVariable(err, o.Dash, DashVariable), o.Trace, TraceVariable))
	}
	rt.Observers.Session = s
	var points []probe.Observer
	var whole []probe.Recorder
	if s != nil {
		rt.Observers.Profile.On = s.Profile
		if s.Recorder != nil {
			whole = append(whole, s.Recorder)
		}
	}
	var given probe.Observer
	if o.Observer != nil {
		given = probe.Contain(o.Observer, func(e *probe.ObserverError) { rt.Broke.Add(e) })
	}
	if rec, ok := given.(probe.Recorder); ok {
		whole = append(whole, rec)
	} else if given != nil {
		points = append(points, given)
		rt.Observers.Observer = given
	}
	rt.Observers.Recorder = probe.TeeRecorders(whole...)
	if rt.Observers.Recorder != nil {
		points = append(points, rt.Observers.Recorder)
	}
	rt.Observers.HasObserver = rt.Observers.Observer != nil || rt.Observers.Recorder != nil
	o.Machine.Observer, o.Machine.Now = probe.Tee(points...), rt.Observers.Now
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

// describeRun tells the recorder what the machine is.
func describeRun(rt *engine.Runtime, w World) {
	if rt.Observers.Recorder == nil {
		return
	}
	m := &probe.Machine{Policy: rt.Ready.Sched.PolicyName(), Opened: rt.Observers.Clock.Opened(), Program: filepath.Base(os.Args[0]), PID: os.Getpid()}
	m.Host, _ = os.Hostname() // a machine without a name has none on the page
	if rank, ranks := rankOf(w); ranks > 1 {
		m.Rank, m.Ranks = rank, ranks
	}
	for p, d := range rt.Topology.Machine.Devices() {
		of := d.Properties()
		m.Places = append(m.Places, probe.Place{Rank: m.Rank, Name: of.Name, Kind: string(of.Kind), Description: of.Description, Workers: of.Workers,
			Memory: of.Memory, Tokens: rt.Ready.Sched.Limit(sched.PlaceID(p)), Host: of.Kind == devices.SMP, Bandwidth: of.Bandwidth, ClockError: of.ClockError})
	}
	for _, a := range rt.Topology.Machine.Absent() {
		m.Absent = append(m.Absent, fmt.Sprintf("%s: %v", a.Device, a.Why))
	}
	rt.Observers.Recorder.Open(m)
	for _, p := range rt.Topology.Machine.Phases() {
		rt.Observers.Recorder.Observe(p)
	}
	observePhase(rt, probe.PhaseOpen, 0, memory.Known{})
}

// observePhase reports the phase of the runtime or the program since began, and the buffers known
// at that time.
func observePhase(rt *engine.Runtime, label string, began time.Duration, k memory.Known) {
	rt.Observers.ObserveAny(probe.Point{Kind: probe.Phase, Label: label, Begin: began, Time: rt.Observers.Now(), Other: deps.TaskID(k.Buffers), Bytes: k.Size})
	observeLearned(rt, label == probe.PhaseClose)
}

// reportInterval is the least time between two reports of learned times.
const reportInterval = 250 * time.Millisecond

// observeLearned tells what the policy has learned, but for the end not more often than people can
// read.
func observeLearned(rt *engine.Runtime, end bool) {
	if rt.Observers.Recorder == nil || !rt.Ready.Learned.On {
		return
	}
	rt.Ready.Mu.Lock()
	now := rt.Observers.Now()
	if !end && now < rt.Ready.Learned.NextReport {
		rt.Ready.Unlock()
		return
	}
	rt.Ready.Learned.NextReport = now + reportInterval
	list := rt.Ready.Learned.Learned.List()
	rt.Ready.Unlock()
	for i := range list {
		l := &list[i]
		rt.Observers.Recorder.Observe(probe.Point{Kind: probe.Learn, Kernel: l.Version, Device: string(l.Kind), Bytes: l.Size, Time: now, Begin: now,
			Learned: &probe.Learned{Samples: l.Samples, Middle: l.Middle, Least: l.Least, Most: l.Most}})
	}
}

// makeBriefs makes room for what a recorder wants to know of tasks that have no detail of their
// own. Such tasks are many and short, and what is kept of each is two cache lines, beside those of
// its neighbours in the order of submission.
func makeBriefs(rt *engine.Runtime) {
	c, ok := rt.Observers.Recorder.(probe.Collector)
	if !ok || !rt.Ready.FastPath {
		return
	}
	rt.Observers.Briefs = probe.NewBriefs(func() {
		if rt.Root.Submitting.TryLock() {
			rt.Observers.Briefs.Publish()
			rt.Root.Submitting.Unlock()
		}
	})
	c.Collect(rt.Observers.Briefs)
}
