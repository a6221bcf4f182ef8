package machine

import (
	"errors"
	"time"

	"github.com/gompss/gompss/devices"
	"github.com/gompss/gompss/internal/coherence"
	"github.com/gompss/gompss/internal/spin"
	"github.com/gompss/gompss/trace/probe"
)

// An action is one thing that devices or callbacks do, without the lock, in the order in which it
// was decided.
type action struct {
	kind actionKind
	set  *WorkingSet
	op   *coherence.Operation
	err  error
}

type actionKind uint8

const (
	actionCopy   actionKind = iota // issue op
	actionResize                   // unmap the victims of set, then map its granules
	actionLaunch                   // issue the kernel of set
	actionReady                    // call Ready
	actionDone                     // call Done of a set whose kernel was not issued
)

// runActions carries actions out until there are none, unless another goroutine is doing so.
func (m *Machine) runActions() {
	m.mu.Lock()
	m.unlockAndRun()
}

// unlockAndRun is runActions for callers that hold m.mu, which it unlocks.
func (m *Machine) unlockAndRun() {
	if m.running || len(m.planner.actions) == 0 {
		m.mu.Unlock()
		return
	}
	m.running = true
	for len(m.planner.actions) > 0 {
		batch := m.planner.actions
		m.planner.actions = m.spareActions[:0]
		m.mu.Unlock()
		for i := range batch {
			m.runAction(&batch[i])
			batch[i] = action{}
		}
		m.mu.Lock()
		m.spareActions = batch
	}
	m.running = false
	m.progress.Broadcast()
	m.mu.Unlock()
}

func (m *Machine) runAction(s *action) {
	switch s.kind {
	case actionCopy:
		m.issueCopy(s.op)
	case actionResize:
		m.resize(s.set)
	case actionLaunch:
		m.launchSet(s.set)
	case actionReady:
		s.set.Ready(s.set, s.err)
	case actionDone:
		s.set.Done(s.set, s.err)
	}
}

// issueCopy issues a copy at the device of its destination, or of its source when it goes to the
// host.
func (m *Machine) issueCopy(op *coherence.Operation) {
	end := op.To
	if end == devices.Host {
		end = op.From
	}
	var few [8]devices.Event
	after := eventsOf(few[:0], op.After)
	state := stateOf(op)
	if state.hostFreed {
		op.Event = completed{}
		state.issued.Store(true)
		m.copyCompleted(op, nil)
		return
	}
	if o := m.clock.observer; o != nil {
		o.Observe(probe.Point{Kind: probe.Transfer, Time: m.clock.now(), From: m.planner.spaces[op.From.Device].name,
			To: m.planner.spaces[op.To.Device].name, Bytes: op.Size(), Region: op.Region})
		state.began = m.clock.now()
	}
	device := m.planner.spaces[end.Device].device
	op.Event = device.Copy(op.Transfer, after)
	state.issued.Store(true)
	c := &continuation{run: func(err error) { m.copyCompleted(op, err) }}
	device.then(op.Event, c, c.call)
}

// eventsOf appends the events of ops, which were issued: an action only waits for such.
func eventsOf(events []devices.Event, ops []*coherence.Operation) []devices.Event {
	for _, op := range ops {
		events = append(events, op.Event)
	}
	return events
}

// copyCompleted continues after a copy.
func (m *Machine) copyCompleted(op *coherence.Operation, err error) {
	state := stateOf(op)
	if o := m.clock.observer; o != nil && !state.hostFreed {
		end := op.To
		if end == devices.Host {
			end = op.From
		}
		began, ended := m.clock.timesOf(m.planner.spaces[end.Device].device, op.Event, state.began)
		o.Observe(probe.Point{Kind: probe.Arrive, Time: ended, Begin: began, From: m.planner.spaces[op.From.Device].name,
			To: m.planner.spaces[op.To.Device].name, Bytes: op.Size(), Region: op.Region, Err: err})
	}
	m.mu.Lock()
	m.planner.pending--
	m.planner.completed++
	state.host = nil
	m.planner.dir.Complete(op, err == nil)
	for i, id := range [2]devices.SpaceID{op.From, op.To} {
		if id != devices.Host {
			m.planner.spaces[id.Device].residency.UnpinAll(state.pinned[i])
		}
	}
	if err == nil && !state.hostFreed {
		m.planner.count(op)
	}
	m.planner.resumeWaiters(op, err)
	m.planner.retireFailed(err)
	m.planner.admitWaiting(m.planner.spaces[op.From.Device])
	m.planner.admitWaiting(m.planner.spaces[op.To.Device])
	m.progress.Broadcast()
	m.unlockAndRun()
}

// resize asks the device to unmap the victims of ws and to map its granules.
func (m *Machine) resize(ws *WorkingSet) {
	s := m.planner.spaces[ws.Space.Device]
	unmapped, err := s.residency.EachEvictedRun(ws.victims, m.clock.watched(s, probe.Evict, s.device.Unmap))
	mapped := 0
	if err == nil {
		err = m.reserveMirrors(ws, s)
	}
	if err == nil {
		mapped, err = s.residency.EachMappedRun(&ws.need, m.clock.watched(s, probe.Alloc, s.device.Map))
	}
	m.mu.Lock()
	m.planner.resized(ws, unmapped, mapped, err)
	m.mu.Unlock()
}

// reserveMirrors makes the buffers that ws uses known to its device.
func (m *Machine) reserveMirrors(ws *WorkingSet, s *space) error {
	for _, g := range ws.need.Granules() {
		if err := m.reserve(s, m.planner.buffers.get(g.BufferID())); err != nil {
			return err
		}
	}
	return nil
}

// reserveArgs makes the buffers of all arguments known to the device, also of those without an
// access: a kernel may ask for the length of a slice that it does not touch.
func (m *Machine) reserveArgs(ws *WorkingSet) error {
	if m.planner.knowsBuffers(ws.Space, ws.launch) {
		return nil
	}
	s := m.planner.spaces[ws.Space.Device]
	for i := range ws.launch.Args.List {
		a := &ws.launch.Args.List[i]
		if !a.InMemory() {
			continue
		}
		b := m.planner.buffers.get(a.Buffer)
		spin.LockLong(&s.mu)
		s.residency.EnsureMirror(b.Buffer)
		s.mu.Unlock()
		if err := m.reserve(s, b); err != nil {
			return err
		}
	}
	return nil
}

// launchSet issues the kernel of ws.
func (m *Machine) launchSet(ws *WorkingSet) {
	ws.events = eventsOf(ws.events[:0], ws.waits)
	if err := m.reserveArgs(ws); err != nil {
		m.kernelEnded(ws, err)
		return
	}
	m.launchNow(ws)
}

// launchNow is launchSet for a working set whose device knows all its buffers; ws.events are what
// its kernel waits for.
func (m *Machine) launchNow(ws *WorkingSet) {
	e, asked := m.issueKernel(ws)
	if ws.Launched != nil && (m.beginSingleSpace(ws, e) || m.beginGlobal(ws, e)) {
		ws.Launched(ws)
	}
	m.awaitKernel(ws, e, asked)
}

// issueKernel issues the kernel of ws after ws.events. It returns its event and, for an observer,
// when that was.
func (m *Machine) issueKernel(ws *WorkingSet) (e devices.Event, asked time.Duration) {
	if m.clock.observer != nil {
		asked = m.clock.now()
	}
	e = m.planner.spaces[ws.Space.Device].device.Launch(ws.launch, ws.events)
	clear(ws.events)
	return e, asked
}

// awaitKernel has kernelEnded called after the kernel of ws. From here on ws may belong to another
// task.
func (m *Machine) awaitKernel(ws *WorkingSet, e devices.Event, asked time.Duration) {
	if ws.onEnd == nil {
		ws.onEnd = &continuation{run: func(err error) { ws.machine.kernelEnded(ws, err) }, set: ws}
		ws.onEnd.whole = ws.onEnd.call
	}
	ws.Lasted = 0
	s, onEnd := m.planner.spaces[ws.Space.Device], ws.onEnd
	switch {
	case s.virtual:
		s.device.then(e, onEnd, func(err error) {
			if onEnd.begin() {
				m.virtualKernelEnded(ws, e, asked, err)
				onEnd.end()
			}
		})
	case m.clock.observer == nil:
		s.device.then(e, onEnd, onEnd.whole)
	default:
		s.device.then(e, onEnd, func(err error) {
			if onEnd.begin() {
				ws.Began, ws.Ended = m.clock.timesOf(s.device, e, asked)
				onEnd.run(err)
				onEnd.end()
			}
		})
	}
}

// virtualKernelEnded continues after a kernel on a device that has a time of its own.
func (m *Machine) virtualKernelEnded(ws *WorkingSet, e devices.Event, asked time.Duration, err error) {
	device := m.planner.spaces[ws.Space.Device].device
	if l, ok := e.(devices.Lasting); ok {
		ws.Lasted = max(1, device.lasted(l))
	}
	if m.clock.observer != nil {
		ws.Began, ws.Ended = m.clock.timesOf(device, e, asked)
	}
	m.kernelEnded(ws, err)
}

// kernelEnded continues after a kernel.
func (m *Machine) kernelEnded(ws *WorkingSet, err error) {
	if err == nil {
		ws.Done(ws, nil)
		return
	}
	m.mu.Lock()
	m.planner.retireFailed(err)
	again := m.planner.canReplan(ws, err)
	if again {
		m.planner.replan(ws)
	}
	m.mu.Unlock()
	m.runActions()
	if !again {
		ws.Done(ws, err)
	}
}

// fatal returns the error that takes a device out of service, if err holds one.
func fatal(err error) (*devices.DeviceError, bool) {
	var e *devices.DeviceError
	if errors.As(err, &e) && e.Fatal && !errors.Is(err, devices.ErrLost) {
		return e, true
	}
	return nil, false
}
