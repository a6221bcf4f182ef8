package machine

import (
	"errors"
	"sync"
	"time"

	"github.com/gompss/gompss/devices"
	"github.com/gompss/gompss/internal/coherence"
	"github.com/gompss/gompss/internal/spin"
	"github.com/gompss/gompss/trace/probe"
)

// An action is one operation of a device, or one callback. Actions run without the lock, in the
// order in which the planner decided them.
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

// A runner carries out the actions of the planner of a machine: devices copy, map and unmap memory
// and launch kernels, and the callbacks of working sets are called. planner, clock, mu and progress
// belong to the machine; mu guards the fields below them. Methods are called without mu, unless
// their comments say otherwise.
type runner struct {
	planner  *planner
	clock    *clock
	mu       *machineLock
	progress *sync.Cond

	spareActions []action // memory for the next actions
	running      bool     // a goroutine is carrying actions out
}

// runActions carries out actions until none is left, unless another goroutine is already doing so.
func (r *runner) runActions() {
	r.mu.Lock()
	r.unlockAndRun()
}

// unlockAndRun is runActions for callers that hold r.mu. It unlocks r.mu.
func (r *runner) unlockAndRun() {
	if r.running || len(r.planner.actions) == 0 {
		r.mu.Unlock()
		return
	}
	r.running = true
	for len(r.planner.actions) > 0 {
		batch := r.planner.actions
		r.planner.actions = r.spareActions[:0]
		r.mu.Unlock()
		for i := range batch {
			r.runAction(&batch[i])
			batch[i] = action{}
		}
		r.mu.Lock()
		r.spareActions = batch
	}
	r.running = false
	r.progress.Broadcast()
	r.mu.Unlock()
}

func (r *runner) runAction(s *action) {
	switch s.kind {
	case actionCopy:
		r.issueCopy(s.op)
	case actionResize:
		r.resize(s.set)
	case actionLaunch:
		r.launchSet(s.set)
	case actionReady:
		s.set.Ready(s.set, s.err)
	case actionDone:
		s.set.Done(s.set, s.err)
	}
}

// issueCopy issues a copy on the device of its destination, or on the device of its source if the
// destination is the host.
func (r *runner) issueCopy(op *coherence.Operation) {
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
		r.copyCompleted(op, nil)
		return
	}
	if o := r.clock.observer; o != nil {
		o.Observe(probe.Point{Kind: probe.Transfer, Time: r.clock.now(), From: r.planner.spaces[op.From.Device].name,
			To: r.planner.spaces[op.To.Device].name, Bytes: op.Size(), Region: op.Region})
		state.began = r.clock.now()
	}
	device := r.planner.spaces[end.Device].device
	op.Event = device.Copy(op.Transfer, after)
	state.issued.Store(true)
	c := &continuation{run: func(err error) { r.copyCompleted(op, err) }}
	device.then(op.Event, c, c.call)
}

// eventsOf appends the events of ops to events. All ops have been issued, because an action only
// waits for issued operations.
func eventsOf(events []devices.Event, ops []*coherence.Operation) []devices.Event {
	for _, op := range ops {
		events = append(events, op.Event)
	}
	return events
}

// copyCompleted handles the end of a copy: it updates the directory, and resumes the working sets
// that wait for the copy or for the memory that it held.
func (r *runner) copyCompleted(op *coherence.Operation, err error) {
	state := stateOf(op)
	if o := r.clock.observer; o != nil && !state.hostFreed {
		end := op.To
		if end == devices.Host {
			end = op.From
		}
		began, ended := r.clock.timesOf(r.planner.spaces[end.Device].device, op.Event, state.began)
		o.Observe(probe.Point{Kind: probe.Arrive, Time: ended, Begin: began, From: r.planner.spaces[op.From.Device].name,
			To: r.planner.spaces[op.To.Device].name, Bytes: op.Size(), Region: op.Region, Err: err})
	}
	r.mu.Lock()
	r.planner.pending--
	r.planner.completed++
	state.host = nil
	r.planner.dir.Complete(op, err == nil)
	for i, id := range [2]devices.SpaceID{op.From, op.To} {
		if id != devices.Host {
			r.planner.spaces[id.Device].residency.UnpinAll(state.pinned[i])
		}
	}
	if err == nil && !state.hostFreed {
		r.planner.count(op)
	}
	r.planner.resumeWaiters(op, err)
	r.planner.retireFailed(err)
	r.planner.admitWaiting(r.planner.spaces[op.From.Device])
	r.planner.admitWaiting(r.planner.spaces[op.To.Device])
	r.progress.Broadcast()
	r.unlockAndRun()
}

// resize unmaps the victims of ws on the device, and then maps the granules of ws.
func (r *runner) resize(ws *WorkingSet) {
	s := r.planner.spaces[ws.Space.Device]
	unmapped, err := s.residency.EachEvictedRun(ws.victims, r.clock.watched(s, probe.Evict, s.device.Unmap))
	mapped := 0
	if err == nil {
		err = r.reserveMirrors(ws, s)
	}
	if err == nil {
		mapped, err = s.residency.EachMappedRun(&ws.need, r.clock.watched(s, probe.Alloc, s.device.Map))
	}
	r.mu.Lock()
	r.planner.resized(ws, unmapped, mapped, err)
	r.mu.Unlock()
}

// reserveMirrors makes the buffers that ws accesses known to its device.
func (r *runner) reserveMirrors(ws *WorkingSet, s *space) error {
	for _, g := range ws.need.Granules() {
		if err := r.reserve(s, r.planner.buffers.get(g.BufferID())); err != nil {
			return err
		}
	}
	return nil
}

// reserveArgs makes the buffers of all arguments known to the device, including arguments without
// an access: a kernel may read the length of a slice whose elements it does not access.
func (r *runner) reserveArgs(ws *WorkingSet) error {
	if r.planner.knowsBuffers(ws.Space, ws.launch) {
		return nil
	}
	s := r.planner.spaces[ws.Space.Device]
	for i := range ws.launch.Args.List {
		a := &ws.launch.Args.List[i]
		if !a.InMemory() {
			continue
		}
		b := r.planner.buffers.get(a.Buffer)
		spin.LockLong(&s.mu)
		s.residency.EnsureMirror(b.Buffer)
		s.mu.Unlock()
		if err := r.reserve(s, b); err != nil {
			return err
		}
	}
	return nil
}

// launchSet issues the kernel of ws.
func (r *runner) launchSet(ws *WorkingSet) {
	ws.events = eventsOf(ws.events[:0], ws.waits)
	if err := r.reserveArgs(ws); err != nil {
		r.kernelEnded(ws, err)
		return
	}
	r.launchNow(ws)
}

// launchNow is launchSet for a working set whose buffers are all known to the device. The kernel
// waits for ws.events.
func (r *runner) launchNow(ws *WorkingSet) {
	e, asked := r.issueKernel(ws)
	if ws.Launched != nil && (r.beginSingleSpace(ws, e) || r.beginGlobal(ws, e)) {
		ws.Launched(ws)
	}
	r.awaitKernel(ws, e, asked)
}

// issueKernel issues the kernel of ws after ws.events. It returns the event of the kernel and, if
// there is an observer, the time of the call.
func (r *runner) issueKernel(ws *WorkingSet) (e devices.Event, asked time.Duration) {
	if r.clock.observer != nil {
		asked = r.clock.now()
	}
	e = r.planner.spaces[ws.Space.Device].device.Launch(ws.launch, ws.events)
	clear(ws.events)
	return e, asked
}

// awaitKernel arranges that kernelEnded is called when the kernel of ws has ended. When awaitKernel
// returns, ws may already belong to another task.
func (r *runner) awaitKernel(ws *WorkingSet, e devices.Event, asked time.Duration) {
	if ws.onEnd == nil {
		ws.onEnd = &continuation{run: func(err error) { ws.machine.runner.kernelEnded(ws, err) }, set: ws}
		ws.onEnd.whole = ws.onEnd.call
	}
	ws.Lasted = 0
	s, onEnd := r.planner.spaces[ws.Space.Device], ws.onEnd
	switch {
	case s.virtual:
		s.device.then(e, onEnd, func(err error) {
			onEnd.callAs(func(err error) { r.virtualKernelEnded(ws, e, asked, err) }, err)
		})
	case r.clock.observer == nil:
		s.device.then(e, onEnd, onEnd.whole)
	default:
		s.device.then(e, onEnd, func(err error) {
			onEnd.callAs(func(err error) {
				ws.Began, ws.Ended = r.clock.timesOf(s.device, e, asked)
				onEnd.run(err)
			}, err)
		})
	}
}

// virtualKernelEnded handles the end of a kernel on a device with virtual time.
func (r *runner) virtualKernelEnded(ws *WorkingSet, e devices.Event, asked time.Duration, err error) {
	device := r.planner.spaces[ws.Space.Device].device
	if l, ok := e.(devices.Lasting); ok {
		ws.Lasted = max(1, device.lasted(l))
	}
	if r.clock.observer != nil {
		ws.Began, ws.Ended = r.clock.timesOf(device, e, asked)
	}
	r.kernelEnded(ws, err)
}

// kernelEnded handles the end of the kernel of ws. It calls Done, or plans ws again after an error
// that allows it.
func (r *runner) kernelEnded(ws *WorkingSet, err error) {
	if err == nil {
		ws.Done(ws, nil)
		return
	}
	r.mu.Lock()
	r.planner.retireFailed(err)
	again := r.planner.canReplan(ws, err)
	if again {
		r.planner.replan(ws)
	}
	r.mu.Unlock()
	r.runActions()
	if !again {
		ws.Done(ws, err)
	}
}

// fatal returns the error that takes a device out of service, if err wraps one.
func fatal(err error) (*devices.DeviceError, bool) {
	var e *devices.DeviceError
	if errors.As(err, &e) && e.Fatal && !errors.Is(err, devices.ErrLost) {
		return e, true
	}
	return nil, false
}
