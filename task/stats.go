package task

import (
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	"github.com/gompss/gompss/deps"
	"github.com/gompss/gompss/devices"
	"github.com/gompss/gompss/internal/machine"
	"github.com/gompss/gompss/internal/spin"
	"github.com/gompss/gompss/sched"
	"github.com/gompss/gompss/task/internal/learn"
)

// Stats holds the counts and times of a runtime so far.
type Stats struct {
	Submitted int64
	Failed    int64 // by themselves
	Skipped   int64 // because of others
	InFlight  int64
	// Buffers is the number of slices and variables that the runtime knows, of Alloc and ordinary
	// ones, and Known their size: those of Alloc until Free, registered ones until Unregister, and
	// others until the collector has freed them.
	Buffers int64
	Known   deps.Bytes
	// ByDevice counts the tasks that ran, by the device's name ("smp" for all CPU workers);
	// MostAtOnce is how many were there at the same time, by kind: granted, with tokens taken, and
	// not over. Where tasks without tokens were put behind others on accelerators there may have
	// been more for a moment.
	ByDevice   map[string]int64
	MostAtOnce map[devices.Kind]int
	// Makespan is when the last of what devices with a virtual clock, and CPU workers beside them,
	// have done ended, in their time; 0 without such devices.
	Makespan time.Duration
	// OutOfTurn is how many things in virtual time happened while the program, or a body, seemed to
	// run, as it waited for something outside of the runtime for ten seconds: placement and
	// Makespan may then differ between runs.
	OutOfTurn int64
	// Choices are the kernels and sizes for which both vector code and another variant were measured
	// on CPU workers, and which of them runs there from then on.
	Choices []VariantChoice
	// Kernels are the latest run times of kernels by device kind and size. They are measured where
	// the policy learns: with devices beside the CPU workers, or with Options.Learned.
	Kernels []KernelTime
	// Absent are the optional devices ("auto", "cuda?") that the run does not have, and why.
	Absent []machine.Absent
	// What moved: see machine.Counters.
	machine.Counters
}

// String returns the statistics as lines of text for people: tasks, devices, memory, copies, and
// the devices that are not there.
func (s Stats) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, "tasks: %d submitted, %d failed, %d skipped, %d in flight\n", s.Submitted, s.Failed, s.Skipped, s.InFlight)
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
		fmt.Fprintf(&b, "%s on %s, from %v: %v (%v to %v), %d runs\n", k.Kernel, k.Kind, k.Size, k.Mean, k.Least, k.Most, k.Runs)
	}
	for _, a := range s.Absent {
		fmt.Fprintf(&b, "absent: %s: %v\n", a.Device, a.Why)
	}
	return b.String()
}

// A KernelTime is how long the runs of a kernel on one kind of device took, for one class of sizes.
type KernelTime struct {
	Kernel string
	Kind   devices.Kind
	// Size is the least of the class: the bytes that a task accesses are at least that and less
	// than twice as many.
	Size deps.Bytes
	Runs int64 // all that were measured
	// Mean, Least and Most are of the latest runs, a rare long one counted as four times the median
	// at most. A run is the execution alone, without copies; runs that overlap on a device share
	// their time.
	Mean, Least, Most time.Duration
}

// kernelTimes returns the learned times. Requires: readyQueues.mu held.
func kernelTimes(l *learn.Times) []KernelTime {
	var list []KernelTime
	for _, t := range l.Learned.List() {
		list = append(list, KernelTime{Kernel: t.Version, Kind: t.Kind, Size: t.Size, Runs: t.Samples, Mean: t.Middle, Least: t.Least, Most: t.Most})
	}
	return list
}

// counts are written by all goroutines that start and end tasks.
type counts struct {
	ran   []placeCount
	held  []placeCount // that were granted and are not over
	kind  []int        // index of the kind of each place
	kinds []devices.Kind
	most  []int64 // by kind, at once; guarded by readyQueues.mu
}

// A placeCount is how many tasks of some sort there are at a place.
type placeCount struct {
	n atomic.Int64
	_ spin.Line
}

func newCounts(places []sched.Place) counts {
	c := counts{ran: make([]placeCount, len(places)), held: make([]placeCount, len(places))}
	seen := map[devices.Kind]int{}
	for _, p := range places {
		k, ok := seen[p.Kind]
		if !ok {
			k = len(seen)
			seen[p.Kind] = k
			c.kinds = append(c.kinds, p.Kind)
		}
		c.kind = append(c.kind, k)
	}
	c.most = make([]int64, len(seen))
	return c
}

// grant counts a task in. Requires: readyQueues.mu held.
func (c *counts) grant(p sched.PlaceID) {
	c.grantUncounted(p)
	of, n := c.kind[p], int64(0)
	for q := range c.held {
		if c.kind[q] == of {
			n += c.held[q].n.Load()
		}
	}
	c.most[of] = max(c.most[of], n)
}

// grantUncounted is grant for a place that shares no counter with others and does not know the
// total.
func (c *counts) grantUncounted(p sched.PlaceID) { c.held[p].n.Add(1) }

func (c *counts) end(p sched.PlaceID) { c.held[p].n.Add(-1) }

// Stats returns the counts and times so far; they are complete when no task is in flight.
func (rt *Runtime) Stats() Stats {
	rt.mustBeUsable("Runtime.Stats")
	if rt.window.ObservedLive() == 0 {
		rt.topology.machine.WaitForTransfers()
	}
	s := Stats{ByDevice: map[string]int64{}, MostAtOnce: map[devices.Kind]int{}, InFlight: rt.window.ObservedLive(), Makespan: rt.topology.machine.Makespan(), Counters: rt.topology.machine.Counters()}
	ended, forced := rt.virtual.Makespan()
	s.Makespan, s.OutOfTurn = max(s.Makespan, ended), forced
	known := rt.buffers.Sum()
	s.Buffers, s.Known = known.Buffers, known.Size
	rt.log.failing.Lock()
	s.Failed, s.Skipped = rt.log.broken, rt.log.skipped
	rt.log.failing.Unlock()
	s.Choices = rt.exec.Vectors.Choices()
	s.Absent = rt.topology.machine.Absent()
	s.Submitted = rt.window.Entered.Load() - rt.waits.Load()
	rt.ready.mu.Lock()
	defer rt.ready.mu.Unlock()
	s.Kernels = kernelTimes(&rt.ready.learned)
	for p, place := range rt.topology.places {
		s.ByDevice[place.Name] = rt.ready.counts.ran[p].n.Load()
	}
	for k, kind := range rt.ready.counts.kinds {
		s.MostAtOnce[kind] = int(rt.ready.counts.most[k])
	}
	if rt.ready.fastPath {
		s.ByDevice[rt.topology.places[rt.topology.host].Name] += rt.window.Ran()
		s.MostAtOnce[devices.SMP] = max(s.MostAtOnce[devices.SMP], int(rt.pool.mostBusy.Load()))
	}
	return s
}

// Live is the tasks in flight.
type Live struct {
	Blocked int64 // wait for predecessors, or are on their way in or out
	Ready   int64 // wait for a place
	Running int64 // have a place: their data are fetched, or they run
	// RunningOn is Running by the name of the device.
	RunningOn map[string]int64
	// Tokens counts those held, by kind.
	Tokens map[devices.Kind]int
}

// Live returns the tasks in flight. The numbers are looked at one after the other while tasks
// continue; Blocked is the rest.
func (rt *Runtime) Live() Live {
	rt.mustBeUsable("Runtime.Live")
	l := Live{Tokens: map[devices.Kind]int{}, RunningOn: map[string]int64{}, Ready: int64(rt.ready.waiting.Load() + rt.ready.waitingLow.Load()), Running: int64(rt.pool.busy.Load())}
	l.Ready += rt.pool.simple.Len()
	rt.ready.mu.Lock()
	for p, place := range rt.topology.places {
		id := sched.PlaceID(p)
		on := l.Running // that were on the CPU workers
		if id != rt.topology.host {
			on = int64(rt.ready.sched.Load(id))
		}
		l.RunningOn[place.Name] = on
		l.Tokens[place.Kind] = rt.ready.sched.Limit(id) - rt.ready.sched.Free(id)
	}
	rt.ready.mu.Unlock()
	l.Running = 0
	for _, n := range l.RunningOn {
		l.Running += n
	}
	l.Blocked = max(0, rt.window.Live()-l.Ready-l.Running)
	return l
}
