package task

import (
	"time"

	"github.com/gompss/gompss/devices"
	"github.com/gompss/gompss/task/internal/virtual"
)

// This file connects a runtime with the turns of a virtual time.

// openVirtual makes the devices of rt wait for their turns, if they have a virtual time.
func (rt *Runtime) openVirtual() {
	line := rt.topology.machine.Timeline()
	if line == nil {
		return
	}
	outside := false
	for _, d := range rt.topology.machine.Accelerators() {
		s, ok := d.(devices.Simulated)
		outside = outside || !ok || s.Timeline() == nil
	}
	rt.virtual = virtual.Open(line, outside, virtual.Engine{
		Ended: func() bool { return rt.ctx.Err() != nil }, Stop: rt.stop, Background: rt.cleaning.Go,
		Offers: rt.ready.offersWork, Begin: func() { rt.pool.workers.Begin() }, InBody: insideBody,
	})
	rt.ready.virtual, rt.background.virtual, rt.window.Turns = rt.virtual, rt.virtual, rt.virtual
	rt.topology.machine.SetWait(func(over func() bool) { rt.virtual.Wait(over, nil) })
	rt.sweeps.Disable() // when the collector frees memory is not to be seen: it is kept
}

// run calls f beside the caller, which must not be kept.
func (b *background) run(f func()) {
	if b.virtual != nil {
		b.virtual.Do(f)
		return
	}
	b.cleaning.Go(f)
}

// A hostCost is what HostCost says of a task.
type hostCost struct {
	given bool
	time  time.Duration
}

// virtualCost returns how long the body of r takes in virtual time.
func (r *record) virtualCost(v *virtual.Turns) time.Duration {
	switch {
	case r.kind != goBody && r.kind != kernelBody && r.kind != combineBody || r.replayRun != nil:
		return 0
	case r.cost.given:
		return r.cost.time
	}
	return v.During(r.work)
}

// offersWork reports whether a CPU worker would find something now.
func (hq *readyQueues) offersWork() bool {
	if hq.pool.workers == nil {
		return false
	}
	hq.mu.Lock()
	defer hq.mu.Unlock()
	return hq.offersHost()
}

// offersHost is offersWork. Requires: mu held.
func (hq *readyQueues) offersHost() bool {
	host := hq.topology.host
	return hq.hostHasRoom() && (hq.handedOff.head != nil || hq.arrived.head != nil || hq.fetching < hq.topology.depth[host] && hq.sched.Offers(host))
}

// hostHasRoom reports whether one more body may begin or continue in virtual time.
func (hq *readyQueues) hostHasRoom() bool {
	return hq.virtual == nil || hq.virtual.Passes() < hq.topology.places[hq.topology.host].Width
}

// cpuInTurns is cpu for workers that have turns.
type cpuInTurns struct{ cpu }

// Turn implements smp.Turns.
func (w cpuInTurns) Turn(worker int) bool {
	return w.rt.virtual.IsTurnOf(worker) || w.rt.pool.states[worker].next != nil
}

// End implements smp.Turns.
func (w cpuInTurns) End(worker int) { w.rt.virtual.EndWorkers(worker) }

// startWorkers starts the CPU workers and returns how many there are.
func (rt *Runtime) startWorkers() (err error) {
	if rt.virtual != nil {
		rt.pool.workers, err = rt.topology.cpus.Start(cpuInTurns{cpu{rt}})
	} else {
		rt.pool.workers, err = rt.topology.cpus.Start(cpu{rt})
	}
	rt.pool.simple.Start(rt.pool.workers)
	rt.exec.Start(rt.pool.workers)
	return err
}
