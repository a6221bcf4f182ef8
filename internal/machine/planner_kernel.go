package machine

import (
	"fmt"
	"slices"

	"github.com/gompss/gompss/deps"
	"github.com/gompss/gompss/devices"
	"github.com/gompss/gompss/internal/coherence"
)

// This file has what a kernel does to the directory when it begins and ends.

// beginKernel makes what ws writes count as written from the event of its kernel on, and reports
// whether it could: nothing but its own device may make it fail. Requires: Machine.mu held.
func (p *planner) beginKernel(ws *WorkingSet, e devices.Event) bool {
	if p.writeThrough || p.spaces[ws.Space.Device].retired != nil {
		return false
	}
	for _, op := range ws.waits {
		if !op.FailsOnlyWith(ws.Space) {
			return false
		}
	}
	// They are not part of ws: others may refer to them when ws belongs to another task.
	ws.kernel = p.spaces[ws.Space.Device].newKernels(ws.kernel[:0], len(ws.Accesses))
	for i := range ws.Accesses {
		a := &ws.Accesses[i]
		p.dir.Begin(a, ws.Space, e, ws.kernel[i])
		if a.Mode.Writes() {
			p.noteWritten(a.Region, ws.Space)
		}
		if b := p.buffers.get(a.Region.Buffer); !b.offHost.Load() {
			b.offHost.Store(true)
		}
	}
	return true
}

// endKernel ends what beginKernel began. Requires: Machine.mu held.
func (p *planner) endKernel(ws *WorkingSet, err error) {
	for i, op := range ws.kernel {
		p.dir.End(ws.Accesses[i], op, err == nil)
		if err != nil {
			p.buffers.get(ws.Accesses[i].Region.Buffer).exclusiveSpace.Store(0)
		}
		p.resumeWaiters(op, err)
		p.unref(op)
		ws.kernel[i] = nil
	}
	ws.kernel = ws.kernel[:0]
}

// commit updates the directory with what ws has written, or failed to write. Requires: Machine.mu
// held.
func (p *planner) commit(ws *WorkingSet, err error) {
	p.plan.Reset()
	for _, a := range ws.Accesses {
		if !a.Mode.Writes() {
			continue
		}
		b := p.buffers.get(a.Region.Buffer)
		if err != nil {
			b.exclusiveSpace.Store(0)
			p.dir.Invalidate(a.Region, ws.Space)
			continue
		}
		p.dir.Commit(a.Region, ws.Space)
		p.noteWritten(a.Region, ws.Space)
		switch {
		case p.spaces[ws.Space.Device].retired != nil:
			b.offHost.Store(true) // the directory knows what is lost
		case ws.Space == devices.Host:
			b.offHost.Store(!p.dir.OnlyOnHost(a.Region.Buffer))
		default:
			b.offHost.Store(true) // a task that only wrote may have found the buffer on the host alone
			if p.writeThrough {
				p.writeThroughTo(a)
			}
		}
	}
	p.queueCopies(p.plan.Copies)
}

// writeThroughTo plans the copies that make what was written valid on the host too. Requires:
// Machine.mu held.
func (p *planner) writeThroughTo(a deps.Access) {
	before := len(p.plan.Copies)
	a.Mode = deps.In
	if err := p.dir.Plan(a, devices.Host, &p.plan); err != nil {
		panic(fmt.Sprintf("gompss: bug: devices: %v was written just now: %v", a.Region, err))
	}
	p.counters.WriteBacks += int64(len(p.plan.Copies) - before)
}

// noteWritten notes that a task has written r in a space, or will before anything else can.
// Requires: Machine.mu held.
func (p *planner) noteWritten(r deps.Region, at devices.SpaceID) {
	b := p.buffers.get(r.Buffer)
	exclusive := int32(at.Device) + 1
	if b.exclusiveSpace.Load() == exclusive {
		return
	}
	if deps.Bytes(r.Len())*b.Elem != b.Size {
		exclusive = 0
	}
	b.exclusiveSpace.Store(exclusive)
}

// unref removes a user of op. Requires: Machine.mu held, or for a kernel the lock of its space.
func (p *planner) unref(op *coherence.Operation) {
	if op.Unref() && !op.IsCopy() { // copies are few
		s := p.spaces[op.To.Device]
		*op = coherence.Operation{}
		s.freeKernels = append(s.freeKernels, op)
	}
}

// setWaits replaces what the kernel of ws waits for. Requires: as unref.
func (p *planner) setWaits(ws *WorkingSet, ops []*coherence.Operation) {
	for _, op := range ops {
		op.Ref()
	}
	for _, op := range ws.waits {
		p.unref(op)
	}
	clear(ws.waits)
	ws.waits = append(ws.waits[:0], ops...)
}

// The steps of kernels that concern a single space: see single_space.go.

// allOnHost reports whether all of the buffers are on the host alone.
func (p *planner) allOnHost(accesses []deps.Access) bool {
	if len(p.spaces) == 1 {
		return true
	}
	for i := range accesses {
		if p.buffers.get(accesses[i].Region.Buffer).offHost.Load() {
			return false
		}
	}
	return true
}

// grantLocked reserves and plans for ws where that concerns its own space s alone. Otherwise it
// reports false and has changed nothing. Requires: s.mu held.
func (p *planner) grantLocked(ws *WorkingSet, s *space) bool {
	if p.closed.Load() || s.retired != nil || s.queue.head != nil {
		return false
	}
	s.plan.Reset()
	if !p.dir.PlanSingleSpace(ws.Accesses, ws.Space, &s.plan) {
		return false
	}
	p.collectNeed(ws, s)
	if !ws.need.Backed() {
		ws.need.Reset()
		return false
	}
	s.residency.Reserve(&ws.need, nil) // nothing is absent: it has no victims
	for i := range ws.Accesses {
		if b := p.buffers.get(ws.Accesses[i].Region.Buffer); !b.offHost.Load() {
			b.offHost.Store(true)
		}
	}
	ws.state, ws.launchesNow = grantedSet, true
	p.setWaits(ws, s.plan.Wait)
	s.launching.Add(1)
	return true
}

// beginLocked is beginKernel for a kernel that concerns its own space s alone. Otherwise it reports
// false and has changed nothing. Requires: s.mu held.
func (p *planner) beginLocked(ws *WorkingSet, s *space, e devices.Event) bool {
	if p.writeThrough || s.retired != nil || slices.ContainsFunc(ws.waits, (*coherence.Operation).IsCopy) {
		return false
	}
	own := int32(ws.Space.Device) + 1
	for i := range ws.Accesses {
		if a := &ws.Accesses[i]; a.Mode.Writes() && p.buffers.get(a.Region.Buffer).exclusiveSpace.Load() != own {
			return false
		}
	}
	ws.kernel = s.newKernels(ws.kernel[:0], len(ws.Accesses))
	for i := range ws.Accesses {
		p.dir.BeginSingleSpace(&ws.Accesses[i], ws.Space, e, ws.kernel[i])
	}
	return true
}

// releaseLocked is ReleaseSet for a kernel that succeeded and concerns its own space s alone.
// Otherwise it reports false and has changed nothing. Requires: s.mu held.
func (p *planner) releaseLocked(ws *WorkingSet, s *space) bool {
	if s.retired != nil || s.queue.head != nil || ws.pending > 0 || slices.ContainsFunc(ws.kernel, hasWaiters) {
		return false
	}
	for i, op := range ws.kernel {
		p.dir.EndSingleSpace(op)
		p.unref(op)
		ws.kernel[i] = nil
	}
	ws.kernel = ws.kernel[:0]
	s.residency.UnpinAll(ws.need.Granules())
	p.setWaits(ws, nil)
	ws.reset()
	return true
}

// knowsBuffers reports whether the device of a space knows all buffers of a launch.
func (p *planner) knowsBuffers(at devices.SpaceID, l *devices.Launch) bool {
	for i := range l.Args.List {
		if a := &l.Args.List[i]; a.InMemory() && !p.buffers.get(a.Buffer).isKnownAt(at) {
			return false
		}
	}
	return true
}
