package task

import (
	"context"
	"fmt"
	"io"
	"iter"
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	"github.com/gompss/gompss/codegen/ir"
	"github.com/gompss/gompss/deps"
	"github.com/gompss/gompss/devices"
	"github.com/gompss/gompss/devices/smp"
	"github.com/gompss/gompss/internal/machine"
	"github.com/gompss/gompss/internal/quit"
	"github.com/gompss/gompss/sched"
	"github.com/gompss/gompss/task/internal/engine"
	"github.com/gompss/gompss/task/internal/learn"
	"github.com/gompss/gompss/task/internal/life"
	"github.com/gompss/gompss/task/internal/values"
	"github.com/gompss/gompss/trace/probe"
)

// Dump writes the state of the tasks in flight: the numbers of blocked, ready and running tasks,
// and for the oldest 100 tasks the source line, the state, what each one waits for, and since when.
// Any goroutine may call it at any time, including a task body, for example to examine a run that
// does not end. On Unix a program calls it for all runtimes on SIGQUIT.
//
// Without a trace, "since" is the time at which a wait of the program first saw the task, so that
// the true time may be longer.
func (rt *Runtime) Dump(w io.Writer) error {
	if !rt.usable() {
		return rt.unusable("Runtime.Dump")
	}
	return rt.Status(engine.DumpTasks).Write(w)
}

// Status returns the state of the run as data, with at most the given number of the oldest tasks in
// flight.
func (rt *Runtime) Status(most int) *Status {
	rt.mustBeUsable("Runtime.Status")
	return statusOf(&rt.core, most, 0)
}

// Expect announces the number of tasks that the program will submit, including children. Status,
// Progress and the live page then show which part of them has ended, and estimate the remaining
// time at the rate so far. A later call starts a new estimate; 0 ends it. The estimate has no
// effect on the run.
func Expect(rt *Runtime, tasks int64) {
	rt.mustBeUsable("Expect")
	rt.core.Samples.Expect(&rt.core, tasks)
}

// statusOf returns the state of the run. If first is not 0, that task is listed before all others.
func statusOf(rt *engine.Runtime, most int, first deps.TaskID) *probe.Status {
	rt.Samples.Take(rt)
	live := liveOf(rt)
	submitted, flight := rt.Window.Submitted()
	s := &probe.Status{Submitted: submitted - rt.Waits.Load(), Ready: live.Ready, Running: live.Running, Idle: rt.Samples.Idle(rt)}
	s.Done = s.Submitted - flight
	if rt.Window.Limit < 1<<62 {
		s.Window = rt.Window.Limit
	}
	rt.Samples.Estimate(s, rt.Observers.Now())
	seen, flying, blocked := rt.Sight(most, first)
	s.Blocked = int64(blocked)
	s.Waiting = max(0, int64(flying)-s.Blocked-s.Ready-s.Running)
	s.More = max(0, int64(flying-len(seen)))
	rt.FindPredecessors(seen)
	queued := rt.Pool.InSimpleQueues()
	locked := engine.TryLock(&rt.Ready.Mu)
	for _, v := range seen {
		s.Tasks = append(s.Tasks, reportTask(rt, v, queued[v.R], locked))
	}
	if locked {
		rt.Ready.Mu.Unlock()
	}
	for i, v := range seen {
		if k := &s.Tasks[i]; k.State == "running" && v.At >= 0 && v.At != rt.Topology.Host && locked {
			if memory := rt.Topology.Machine.WaitsForMemory(&v.D.Set); memory != "" {
				k.State, k.Waits = "waiting", memory+" "+rt.Topology.Places[v.At].Name
			}
		}
	}
	s.Tasks = slices.DeleteFunc(s.Tasks, func(k probe.InFlight) bool { // tasks that have ended meanwhile
		return !slices.ContainsFunc(seen, func(v *engine.Sighting) bool { return v.ID == k.ID && v.R.TaskID() == v.ID })
	})
	if s.Idle >= engine.StalledAfter && flying > 0 {
		s.Stalled()
	}
	return s
}

// reportTask describes the state of a task.
// Requires: mu held, if locked is true.
func reportTask(rt *engine.Runtime, v *engine.Sighting, queued, locked bool) probe.InFlight {
	k := probe.InFlight{ID: v.ID, Label: v.Copy.ErrorLabel(), At: lineOf(v.Copy.Position()), State: "running", Since: rt.Samples.Age(rt, v)}
	if k.Label == "" {
		k.Label = engine.Unlabelled
	}
	rt.Observers.Place(v, locked)
	k.Step = stepOf(v)
	steps, _ := v.Waits()
	switch {
	case v.R.Node.Pending() > 0 && !v.State.Early():
		k.State, k.Waits = "blocked", "tasks before it"
		if n := len(v.By); n > 0 {
			k.By, k.Waits = v.By[n-1], fmt.Sprintf("task %d", v.By[n-1])
			if n > 1 {
				k.Waits += fmt.Sprintf(" and %d more", n-1)
			}
		}
	case queued:
		k.State, k.Waits = "ready", "a CPU worker"
	case locked && !v.Copy.Traits.Is(life.Simple) && rt.Observers.ItemQueued(v):
		k.State, k.Waits = "ready", engine.WantsPlace(&rt.Ready, v)
	case v.State.Wants():
		k.State, k.Waits = "waiting", "a CPU worker, to go on"
	case locked && !v.Copy.Traits.Is(life.Simple) && v.At < 0 && v.Copy.Traits.Is(life.Relaxed):
		k.State, k.Waits = "blocked", "tasks with the same concurrent or commutative data"
	case v.Info.Inner != nil && innerWait(v.Info.Inner) != "":
		k.State, k.Waits = "waiting", innerWait(v.Info.Inner)
	case steps != "":
		k.State, k.Waits = "waiting", steps
	case v.At >= 0:
		k.Waits = rt.Topology.Places[v.At].Name
	default:
		k.Waits = string(devices.SMP)
	}
	return k
}

// stepOf names the step that a task is; "" for other tasks.
func stepOf(v *engine.Sighting) string {
	if v.Info.Steps == nil {
		return ""
	}
	return v.Info.Steps.Name(v.Info.Step)
}

// innerWait describes what a task waits for whose body has returned or waits; "" if the body runs.
func innerWait(s *engine.Scope) string {
	pending := s.Pending.Load()
	children, reasons := pending&(engine.Holder-1), pending/engine.Holder
	events := s.Uses()
	switch returned := s.Body.Load() == engine.BodyFinished; {
	case returned && events == 1:
		return "an event that is not fulfilled"
	case returned && events > 1:
		return fmt.Sprintf("%d events that are not fulfilled", events)
	case returned && children > 0, s.Waiting.Load() != engine.NoWaiter && children > 0:
		return fmt.Sprintf("%d of its children", children)
	case returned && reasons > 0:
		return "tasks before it on weak accesses"
	}
	return ""
}

func lineOf(p ir.Pos) string {
	if p.File == "" {
		return ""
	}
	return fmt.Sprintf("%s:%d", p.File, p.Line)
}

// withStatus adds the state of the first tasks in flight to the error of a wait whose context has
// ended. first is the awaited task, 0 for all tasks.
func withStatus(rt *engine.Runtime, err error, first deps.TaskID) error {
	if err == nil {
		return nil
	}
	s := statusOf(rt, engine.ErrorTasks, first)
	if len(s.Tasks) == 0 {
		return err
	}
	var lines []string
	for i := range s.Tasks {
		lines = append(lines, s.Tasks[i].Line())
	}
	if n := s.More; n > 0 {
		lines = append(lines, fmt.Sprintf("%d more are in flight", n))
	}
	return &WaitError{err, strings.Join(lines, "; ")}
}

// A WaitError means that the context of a wait has ended. It lists the states of the first tasks in
// flight at that time. The tasks continue.
type WaitError struct {
	Err   error // with the cause of the context
	Tasks string
}

func (e *WaitError) Error() string { return e.Err.Error() + ": " + e.Tasks }

func (e *WaitError) Unwrap() error { return e.Err }

// Progress yields the state of the run immediately, then at intervals of every (at least a
// millisecond), and finally when no task is in flight. It ends then, or when ctx ends. It serves to
// print progress while the program waits, but it is not a wait itself: data are valid on the host
// after Wait only.
//
//	for s := range rt.Progress(ctx, time.Second) {
//		fmt.Printf("\r%d of %d tasks", s.Done, s.Submitted)
//	}
//	err := rt.Wait(ctx)
//
// In the body of a task, which would wait for itself, it yields once.
func (rt *Runtime) Progress(ctx context.Context, every time.Duration) iter.Seq[*Status] {
	return func(yield func(*Status) bool) {
		rt.mustBeUsable("Runtime.Progress")
		for {
			over := rt.core.Window.Live() == 0 || ctx.Err() != nil || smp.InBody()
			if !yield(statusOf(&rt.core, 0, 0)) || over {
				return
			}
			endReductions(&rt.core.Root)
			tick, cancel := context.WithTimeout(ctx, max(every, time.Millisecond))
			_ = rt.core.Window.Wait(0, tick) // until no task is in flight, or tick
			cancel()
		}
	}
}

// fetchRecords writes to the records of list, to fetch their cache lines from the processor that
// made them ready, all in parallel.
func fetchRecords(list []*engine.Record) {
	for _, r := range list {
		r.Link = nil
	}
}

// countRecords returns the numbers of free and of allocated records.
// Requires: no submission and no running task.
func countRecords(rt *engine.Runtime) (free, made int64) {
	lists := []*engine.Magazine{rt.Depot.Full, rt.Magazine}
	for i := range rt.Pool.States {
		lists = append(lists, rt.Pool.States[i].Magazine)
	}
	for _, b := range lists {
		for ; b != nil; b = b.Next {
			free += int64(b.N)
		}
	}
	for r := rt.FreeNested.List; r != nil; r = r.Link {
		free++
	}
	shelved, made := rt.RecordShards.Count()
	return free + shelved, made + rt.Depot.Made + rt.FreeNested.Made
}

// leakOf returns a *LeakError if a resource has not been returned since the first task.
// Requires: no task is in flight and the workers have ended.
func leakOf(rt *engine.Runtime) error {
	e := &engine.LeakError{}
	engine.AddLeak(e, "tasks in the window", rt.Window.Live())
	engine.AddLeak(e, "open reductions", int64(len(rt.Root.Reductions)))
	if d := rt.Root.Graph.Domain; d != nil {
		engine.AddLeak(e, "regions of tasks in the graph", int64(d.Busy()))
	}
	engine.AddLeak(e, "commutative regions of tasks", int64(rt.Root.Exclusion.Len()))
	engine.LeakOfScheduler(&rt.Ready, e)
	leakOfRecords(rt, e)
	leakOfPrivates(rt, e)
	if text := rt.Topology.Machine.Leak(); text != "" {
		e.Held = append(e.Held, text)
	}
	if len(e.Held) == 0 {
		return nil
	}
	return e
}

// leakOfRecords compares the numbers of free and of allocated records and details.
func leakOfRecords(rt *engine.Runtime, e *engine.LeakError) {
	free, made := countRecords(rt)
	engine.AddLeak(e, "records", made-free)
	n := int64(0)
	for d := rt.FreeDetails.List; d != nil; d = d.Next {
		n++
	}
	if rt.Topology.Accelerators {
		shelved, _ := rt.RecordShards.Count()
		n += shelved
	}
	engine.AddLeak(e, "details of records", rt.FreeDetails.Made-n)
}

// leakOfPrivates counts the private copies of reductions that are in no free list.
func leakOfPrivates(rt *engine.Runtime, e *engine.LeakError) {
	n := int64(0)
	for _, b := range rt.Buffers.List() {
		if b.Copied {
			n++
		}
	}
	for _, list := range rt.Spares {
		for _, c := range list {
			if n--; c.Busy {
				engine.AddLeak(e, "busy private copies", 1)
			}
		}
	}
	engine.AddLeak(e, "private copies", n)
}

// openRuntimes lists the open runtimes of the process, for the signal that prints their tasks.
var openRuntimes runtimeRegistry

type runtimeRegistry struct {
	mu   sync.Mutex
	open map[*engine.Runtime]int // with its number in the order of creation
	made int
	stop func() // stops the signal handler; nil if no runtime is open
}

func (g *runtimeRegistry) add(rt *engine.Runtime) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.open == nil {
		g.open = map[*engine.Runtime]int{}
	}
	g.made++
	g.open[rt] = g.made
	if g.stop == nil {
		g.stop = quit.On(g.dump)
	}
}

func (g *runtimeRegistry) remove(rt *engine.Runtime) {
	g.mu.Lock()
	delete(g.open, rt)
	stop := g.stop
	if len(g.open) > 0 {
		stop = nil
	} else {
		g.stop = nil
	}
	g.mu.Unlock()
	if stop != nil {
		stop()
	}
}

// dump writes the tasks in flight of all runtimes.
func (g *runtimeRegistry) dump(w io.Writer) {
	g.mu.Lock()
	open := maps.Clone(g.open)
	g.mu.Unlock()
	list := slices.SortedFunc(maps.Keys(open), func(a, b *engine.Runtime) int { return open[a] - open[b] })
	for _, rt := range list {
		fmt.Fprintf(w, "gompss: runtime %d\n", open[rt])
		if err := statusOf(rt, engine.DumpTasks, 0).Write(w); err != nil {
			return
		}
		fmt.Fprintln(w)
	}
}

// Stats are the counts and times of a runtime so far.
type Stats struct {
	Submitted int64
	Done      int64 // tasks that have finished: they ran, failed or were skipped
	Failed    int64 // tasks that failed themselves
	Skipped   int64 // tasks that did not run because another task failed
	InFlight  int64
	// Buffers is the number of slices and variables that the runtime knows, and Known is their
	// size. Memory of Alloc counts until Free, registered memory until Unregister, and other memory
	// until the garbage collector has freed it.
	Buffers int64
	Known   deps.Bytes
	// ByDevice is the number of tasks that ran, by device name ("smp" for all CPU workers).
	// MostAtOnce is the maximum number of tasks, by kind, that were granted to a place and not
	// finished at the same time. It may be too low by the tasks without tokens that were launched
	// eagerly on accelerators.
	ByDevice   map[string]int64
	MostAtOnce map[devices.Kind]int
	// Makespan is the virtual time at which the last operation of devices with a virtual clock, and
	// of the CPU workers beside them, ended; 0 without such devices.
	Makespan time.Duration
	// OutOfTurn is the number of events in virtual time that happened while the program or a body
	// counted as running, because it had waited for something outside the runtime for ten seconds.
	// If it is not 0, placement and Makespan may differ between runs.
	OutOfTurn int64
	// Choices are the kernels and sizes for which the runtime has measured both vector code and
	// another variant on CPU workers, and the variant that runs there since then.
	Choices []VariantChoice
	// Kernels are the latest execution times of kernels by device kind and size. They are measured
	// if the policy learns: with devices beside the CPU workers, or with Options.Learned.
	Kernels []KernelTime
	// Absent lists the optional devices ("auto", "cuda?") that the run does not have, with the
	// reasons.
	Absent []machine.Absent
	// The numbers of transfers and bytes: see machine.Counters.
	machine.Counters
}

// String returns the statistics as human-readable lines: tasks, devices, memory, transfers, and
// absent devices.
func (s Stats) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, "tasks: %d submitted, %d done, %d failed, %d skipped, %d in flight\n", s.Submitted, s.Done, s.Failed, s.Skipped, s.InFlight)
	for i, name := range slices.Sorted(maps.Keys(s.ByDevice)) {
		fmt.Fprintf(&b, "%s%s %d", []string{"devices: ", ", "}[min(i, 1)], name, s.ByDevice[name])
	}
	fmt.Fprintf(&b, "\nmemory: %d buffers, %v\n", s.Buffers, s.Known)
	if s.Transfers > 0 {
		fmt.Fprintf(&b, "copies: %d; host to device %v, device to host %v, device to device %v; %d evictions\n", s.Transfers, s.HostToDevice, s.DeviceToHost, s.DeviceToDevice, s.Evictions)
	}
	if s.Makespan > 0 {
		fmt.Fprintf(&b, "virtual time: %v\n", s.Makespan)
	}
	for _, c := range s.Choices {
		fmt.Fprintf(&b, "%s, %s: %s is faster than %s\n", c.Kernel, c.Launches, c.Variant, c.Other)
	}
	for _, k := range s.Kernels {
		fmt.Fprintf(&b, "%s on %s, from %v: %v (%v to %v), %s\n", k.Kernel, k.Kind, k.Size, k.Mean, k.Least, k.Most, values.Count(int(k.Runs), "run"))
	}
	for _, a := range s.Absent {
		fmt.Fprintf(&b, "absent: %s: %s\n", a.Device, strings.TrimPrefix(a.Why.Error(), a.Device+": "))
	}
	return b.String()
}

// A KernelTime is the execution time of a kernel on one kind of device, for one size class.
type KernelTime struct {
	Kernel string
	Kind   devices.Kind
	// Size is the lower limit of the class: tasks in the class access at least Size and less than
	// twice as many bytes.
	Size deps.Bytes
	Runs int64 // the number of measured executions
	// Mean, Least and Most describe the latest executions. An outlier counts as at most four times
	// the median. The time covers the execution alone, without transfers; executions that overlap
	// on a device share their time.
	Mean, Least, Most time.Duration
}

// kernelTimes returns the learned times.
// Requires: readyQueues.Mu held.
func kernelTimes(l *learn.Times) []KernelTime {
	var list []KernelTime
	for _, t := range l.Learned.List() {
		list = append(list, KernelTime{Kernel: t.Version, Kind: t.Kind, Size: t.Size, Runs: t.Samples, Mean: t.Middle, Least: t.Least, Most: t.Most})
	}
	return list
}

func newCounts(places []sched.Place) engine.Counts {
	c := engine.Counts{Ran: make([]engine.PlaceCount, len(places)), Held: make([]engine.PlaceCount, len(places))}
	seen := map[devices.Kind]int{}
	for _, p := range places {
		k, ok := seen[p.Kind]
		if !ok {
			k = len(seen)
			seen[p.Kind] = k
			c.Kinds = append(c.Kinds, p.Kind)
		}
		c.Kind = append(c.Kind, k)
	}
	c.Most = make([]int64, len(seen))
	return c
}

// Stats returns the counts and times so far. They are complete when no task is in flight.
func (rt *Runtime) Stats() Stats {
	rt.mustBeUsable("Runtime.Stats")
	if rt.core.Window.ObservedLive() == 0 {
		rt.core.Topology.Machine.WaitForTransfers()
	}
	submitted, flight := rt.core.Window.Submitted()
	submitted -= rt.core.Waits.Load()
	s := Stats{ByDevice: map[string]int64{}, MostAtOnce: map[devices.Kind]int{}, InFlight: flight, Makespan: rt.core.Topology.Machine.Makespan(), Counters: rt.core.Topology.Machine.Counters()}
	ended, forced := rt.core.Virtual.Makespan()
	s.Makespan, s.OutOfTurn = max(s.Makespan, ended), forced
	known := rt.core.Buffers.Sum()
	s.Buffers, s.Known = known.Buffers, known.Size
	rt.core.Log.Failing.Lock()
	s.Failed, s.Skipped = rt.core.Log.Broken, rt.core.Log.Skipped
	rt.core.Log.Failing.Unlock()
	s.Choices = rt.core.Exec.Vectors.Choices()
	s.Absent = rt.core.Topology.Machine.Absent()
	s.Submitted, s.Done = submitted, max(0, submitted-s.InFlight)
	rt.core.Ready.Mu.Lock()
	defer rt.core.Ready.Mu.Unlock()
	s.Kernels = kernelTimes(&rt.core.Ready.Learned)
	for p, place := range rt.core.Topology.Places {
		s.ByDevice[place.Name] = rt.core.Ready.Counts.Ran[p].N.Load()
	}
	for k, kind := range rt.core.Ready.Counts.Kinds {
		s.MostAtOnce[kind] = int(rt.core.Ready.Counts.Most[k])
	}
	if rt.core.Ready.FastPath {
		s.ByDevice[rt.core.Topology.Places[rt.core.Topology.Host].Name] += rt.core.Window.Ran()
		s.MostAtOnce[devices.SMP] = max(s.MostAtOnce[devices.SMP], int(rt.core.Pool.MostBusy.Load()))
	}
	return s
}

// Live are the numbers of tasks in flight.
type Live struct {
	Blocked int64 // waiting for predecessors, being submitted, or being retired
	Ready   int64 // waiting for a place
	Running int64 // granted to a place: their data are fetched, or they run
	// RunningOn is Running by device name.
	RunningOn map[string]int64
	// Tokens is the number of tokens in use, by kind.
	Tokens map[devices.Kind]int
}

// Live returns the numbers of tasks in flight. They are read one after the other while tasks
// continue; Blocked is the rest.
func (rt *Runtime) Live() Live {
	rt.mustBeUsable("Runtime.Live")
	return liveOf(&rt.core)
}

func liveOf(rt *engine.Runtime) Live {
	l := Live{Tokens: map[devices.Kind]int{}, RunningOn: map[string]int64{}, Ready: int64(rt.Ready.Waiting.Load() + rt.Ready.WaitingLow.Load()), Running: int64(rt.Pool.Busy.Load())}
	l.Ready += rt.Pool.Simple.Len()
	rt.Ready.Mu.Lock()
	for p, place := range rt.Topology.Places {
		id := sched.PlaceID(p)
		on := l.Running // those on the CPU workers
		if id != rt.Topology.Host {
			on = int64(rt.Ready.Sched.Load(id))
		}
		l.RunningOn[place.Name] = on
		l.Tokens[place.Kind] = rt.Ready.Sched.Limit(id) - rt.Ready.Sched.Free(id)
	}
	rt.Ready.Mu.Unlock()
	l.Running = 0
	for _, n := range l.RunningOn {
		l.Running += n
	}
	l.Blocked = max(0, rt.Window.Live()-l.Ready-l.Running)
	return l
}
