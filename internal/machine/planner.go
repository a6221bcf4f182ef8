package machine

import (
	"sync/atomic"

	"github.com/gompss/gompss/deps"
	"github.com/gompss/gompss/devices"
	"github.com/gompss/gompss/internal/coherence"
)

// A planner decides what a machine does: it takes working sets from state to state and appends what
// devices must do to actions. It calls no device and no callback. Machine.mu guards it, except for
// the methods that need the lock of one space alone.
type planner struct {
	spaces       []*space // by SpaceID.Device; spaces[0] is the host
	buffers      bufferTable
	closed       atomic.Bool
	writeThrough bool
	dir          *coherence.Directory
	_            [128]byte // until here all is written rarely, and read for every kernel

	actions   []action // what devices must do, in order
	plan      coherence.Plan
	pending   int    // copies that have not completed
	completed uint64 // copies that have
	// starting is the working set of a Start call that is being planned.
	starting *WorkingSet
	counters Counters
	links    []LinkCounter // by from*spaces + to
}

func (p *planner) init(writeThrough bool) {
	p.writeThrough = writeThrough
	p.spaces = []*space{{id: devices.Host, name: devices.Host.String()}}
	p.dir = coherence.NewDirectory(p.reaches)
	p.buffers.table.Store(&[]atomic.Pointer[buffer]{})
}

// reaches reports whether one copy can go from one address space to another.
func (p *planner) reaches(from, to devices.SpaceID) bool {
	return from == devices.Host || to == devices.Host || p.spaces[to.Device].device.Reaches(from)
}

// enqueueSet adds ws to the working sets that wait for memory, and admits those that can have it.
// Requires: Machine.mu held.
func (p *planner) enqueueSet(ws *WorkingSet) {
	s := p.spaces[ws.Space.Device]
	if p.closed.Load() {
		p.fail(ws, devices.ErrClosed)
		return
	}
	ws.state = waitingSet
	s.queue.push(ws)
	p.admitWaiting(s)
}

// admitWaiting reserves memory for waiting working sets, in order, until one does not get it.
// Requires: Machine.mu held.
func (p *planner) admitWaiting(s *space) {
	if s.residency == nil {
		return
	}
	for s.queue.head != nil {
		ws := s.queue.head
		if s.retired != nil {
			s.queue.pop()
			p.fail(ws, s.retired)
			continue
		}
		p.collectNeed(ws, s)
		victims, ok := s.residency.Reserve(&ws.need, ws.victims[:0])
		if n := len(ws.need.Granules()); n > s.limit() {
			s.queue.pop()
			ws.need.Reset()
			p.fail(ws, p.noSpace(s, ws.Accesses, ws.Label, ws.Pos, n))
			continue
		}
		if !ok {
			ws.need.Reset()
			return
		}
		s.queue.pop()
		ws.victims = victims
		p.evictVictims(ws, s)
	}
}

// collectNeed finds the granules that ws needs. Requires: Machine.mu held, or s.mu.
func (p *planner) collectNeed(ws *WorkingSet, s *space) {
	s.residency.BeginCollect()
	for i := range ws.Accesses {
		r := ws.Accesses[i].Region
		s.residency.CollectRegion(&ws.need, r, p.buffers.get(r.Buffer).Buffer)
	}
}

// evictVictims plans and queues the write-back of what is dirty in the victims of ws. Requires:
// Machine.mu held.
func (p *planner) evictVictims(ws *WorkingSet, s *space) {
	ws.state = evictingSet
	p.plan.Reset()
	for _, g := range ws.victims {
		r := s.residency.Elements(g)
		p.buffers.get(r.Buffer).exclusiveSpace.Store(0)
		p.dir.Evict(r, s.id, &p.plan)
	}
	p.counters.Evictions += int64(len(ws.victims))
	p.counters.WriteBacks += int64(len(p.plan.Copies))
	p.queueCopies(p.plan.Copies)
	p.addWaiter(ws, p.plan.Wait)
	if ws.pending == 0 {
		p.advance(ws)
	}
}

// abortReservation ends a working set that did not get its memory: the write-back of a victim
// failed. Requires: Machine.mu held.
func (p *planner) abortReservation(ws *WorkingSet) {
	s := p.spaces[ws.Space.Device]
	s.residency.CommitEvictions(ws.victims, 0)
	s.residency.CommitMappings(&ws.need, 0)
	ws.victims = ws.victims[:0]
	p.fail(ws, ws.err)
	p.admitWaiting(s)
}

// resized commits what the device has done for ws: the first unmapped victims are gone, the first
// mapped granules are backed. Requires: Machine.mu held.
func (p *planner) resized(ws *WorkingSet, unmapped, mapped int, err error) {
	s := p.spaces[ws.Space.Device]
	s.residency.CommitEvictions(ws.victims, unmapped)
	ws.victims = ws.victims[:0]
	s.residency.CommitMappings(&ws.need, mapped)
	if err == nil && s.retired != nil {
		err = s.retired
	}
	if err != nil {
		p.fail(ws, err)
		p.retireFailed(err)
	} else {
		p.grant(ws)
	}
	p.admitWaiting(s)
}

// inTransition reports whether a granule of a buffer is being mapped or evicted. Requires:
// Machine.mu held.
func (p *planner) inTransition(b deps.BufferID) bool {
	for _, s := range p.spaces[1:] {
		if mirror := s.residency.MirrorOf(b); mirror != nil && mirror.InTransition() {
			return true
		}
	}
	return false
}

// grant plans the copies that ws needs, now that it has its memory. Requires: Machine.mu held.
func (p *planner) grant(ws *WorkingSet) {
	ws.state = grantedSet
	p.plan.Reset()
	for i := range ws.Accesses {
		if b := p.buffers.get(ws.Accesses[i].Region.Buffer); ws.Space != devices.Host && !b.offHost.Load() {
			b.offHost.Store(true)
		}
		if err := p.dir.Plan(ws.Accesses[i], ws.Space, &p.plan); err != nil && ws.err == nil {
			ws.err = err
		}
	}
	p.queueCopies(p.plan.Copies)
	if ws.Space == devices.Host {
		p.addWaiter(ws, p.plan.Wait)
		if ws.err != nil && ws.pending == 0 {
			p.fail(ws, ws.err)
		}
		return
	}
	if ws.err != nil { // the planned copies continue, for later working sets
		p.fail(ws, ws.err)
		return
	}
	p.setWaits(ws, p.plan.Wait)
	if ws.Ready != nil {
		p.addWaiter(ws, p.plan.Wait)
	}
	switch {
	case ws.launch == nil:
	case p.starting == ws && p.canLaunchNow(ws):
		ws.launchesNow = true
	default:
		p.actions = append(p.actions, action{kind: actionLaunch, set: ws})
	}
	if ws.pending == 0 {
		p.reportReady(ws)
	}
}

// canLaunchNow reports whether the kernel of ws needs no action: all that it waits for is issued,
// and its device knows its buffers. Requires: Machine.mu held.
func (p *planner) canLaunchNow(ws *WorkingSet) bool {
	for _, op := range ws.waits {
		if op.IsCopy() && !stateOf(op).issued.Load() {
			return false
		}
	}
	return p.knowsBuffers(ws.Space, ws.launch)
}

// fail ends ws with an error: it holds what it holds until ReleaseSet. Requires: Machine.mu held.
func (p *planner) fail(ws *WorkingSet, err error) {
	ws.state, ws.err = failedSet, err
	p.reportReady(ws)
	if ws.launch != nil {
		p.actions = append(p.actions, action{kind: actionDone, set: ws, err: err})
	}
}

// reportReady has Ready called, once. Requires: Machine.mu held.
func (p *planner) reportReady(ws *WorkingSet) {
	if ws.reported || ws.Ready == nil {
		return
	}
	ws.reported = true
	p.actions = append(p.actions, action{kind: actionReady, set: ws, err: ws.err})
}

// queueCopies appends the actions that issue ops, and pins the granules at both ends. Requires:
// Machine.mu held.
func (p *planner) queueCopies(ops []*coherence.Operation) {
	for _, op := range ops {
		p.pending++
		state := stateOf(op)
		b := p.buffers.get(op.Region.Buffer)
		b.exclusiveSpace.Store(0)
		for i, id := range [2]devices.SpaceID{op.From, op.To} {
			if id == devices.Host {
				state.host = b.Host.At()
				state.hostFreed = state.host == nil && b.Host.Address() != 0
			} else {
				state.pinned[i] = p.spaces[id.Device].residency.PinRegion(op.Region, b.Buffer)
			}
		}
		p.actions = append(p.actions, action{kind: actionCopy, op: op})
	}
}

// addWaiter makes ws wait for ops. Requires: Machine.mu held.
func (p *planner) addWaiter(ws *WorkingSet, ops []*coherence.Operation) {
	ws.pending += len(ops)
	for _, op := range ops {
		s := stateOf(op)
		s.waiters = append(s.waiters, ws)
	}
}

// resumeWaiters continues the working sets that wait for op. Requires: Machine.mu held.
func (p *planner) resumeWaiters(op *coherence.Operation, err error) {
	if !hasWaiters(op) {
		return
	}
	state := stateOf(op)
	for _, ws := range state.waiters {
		if ws.err == nil {
			ws.err = err
		}
		if ws.pending--; ws.pending == 0 {
			p.advance(ws)
		}
	}
	state.waiters = nil
}

// advance takes ws to its next state, now that nothing is pending. Requires: Machine.mu held.
func (p *planner) advance(ws *WorkingSet) {
	switch {
	case ws.state == evictingSet && ws.err != nil:
		p.abortReservation(ws)
	case ws.state == evictingSet && (len(ws.victims) > 0 || ws.need.Unbacked() > 0):
		p.actions = append(p.actions, action{kind: actionResize, set: ws})
	case ws.state == evictingSet:
		p.grant(ws)
	case ws.state == replanning, ws.launch == nil && p.canReplan(ws, ws.err):
		ws.err = nil
		p.grant(ws)
		if ws.Space == devices.Host && ws.pending == 0 {
			p.reportReady(ws)
		}
	case p.canReplan(ws, ws.err): // the kernel will fail for the same reason: planned again then
	default:
		p.reportReady(ws)
	}
}

// canReplan reports whether err is the loss of another device than that of ws: what should have
// come from there may come from elsewhere. Requires: Machine.mu held.
func (p *planner) canReplan(ws *WorkingSet, err error) bool {
	e, ok := fatal(err)
	return ok && len(ws.kernel) == 0 && e.Device != p.spaces[ws.Space.Device].name && p.spaces[ws.Space.Device].retired == nil
}

// replan plans again for ws, which holds its memory, when all copies that it waited for have
// completed. Requires: Machine.mu held.
func (p *planner) replan(ws *WorkingSet) {
	ws.state, ws.err, ws.pending = replanning, nil, 0
	for _, op := range ws.waits {
		removeWaiter(op, ws)
		if !op.Observed() {
			p.addWaiter(ws, []*coherence.Operation{op})
		}
	}
	if ws.pending == 0 {
		p.advance(ws)
	}
}

// retireFailed takes the device out of service whose loss err is, if it is one. Requires:
// Machine.mu held.
func (p *planner) retireFailed(err error) {
	e, ok := fatal(err)
	if !ok {
		return
	}
	for _, s := range p.spaces[1:] {
		if s.name == e.Device && s.retired == nil {
			s.retired = e
			p.dir.MarkLost(s.id, e)
			p.buffers.clearExclusive()
			p.admitWaiting(s)
		}
	}
}
