package machine

import (
	"fmt"

	"github.com/gompss/gompss/devices"
)

// Acquire starts to make what ws reads valid in its space, and reserves memory there for all of it.
//
// It returns true when all is on the host already; then Ready is not called. Otherwise, on the
// host, Ready is called once everything has arrived. On an accelerator the whole working set gets
// its memory at once or waits, first come first served; then its copies are issued, each once for
// all tasks that need it, and Launch may be called at any time after Acquire. Failures come through
// Ready and Done. Every acquired working set must be released.
//
// Cost: on the host, for buffers that are there alone, one atomic load an access and no allocation.
func (m *Machine) Acquire(ws *WorkingSet) bool {
	if ws.state != idleSet {
		panic(fmt.Sprintf("gompss: bug: devices: %s: working set is acquired twice", ws.Label))
	}
	if ws.Space == devices.Host && m.planner.allOnHost(ws.Accesses) {
		ws.state = ownedSet
		return true
	}
	ws.machine, ws.reported = m, false
	m.mu.Lock()
	if ws.Space == devices.Host {
		m.planner.grant(ws)
	} else {
		m.planner.enqueueSet(ws)
	}
	there := ws.Space == devices.Host && ws.state == grantedSet && ws.pending == 0
	ws.reported = ws.reported || there
	m.mu.Unlock()
	if !there {
		m.runner.runActions()
	}
	return there
}

// Start is Acquire and Launch in one, on an accelerator. Where the kernel needs no action, the
// caller issues it itself, in parallel with others.
func (m *Machine) Start(ws *WorkingSet, l *devices.Launch) {
	m.prepareStart(ws, l)
	if !m.runner.startSingleSpace(ws) && !m.runner.startGlobal(ws) {
		return
	}
	s := m.planner.spaces[ws.Space.Device] // after the launch ws may belong to another task
	m.runner.launchNow(ws)
	m.runner.endLaunching(s, 1)
}

func (m *Machine) prepareStart(ws *WorkingSet, l *devices.Launch) {
	if ws.state != idleSet || ws.Space == devices.Host || ws.Done == nil {
		panic(fmt.Sprintf("gompss: bug: devices: start of %s: acquired, on the host or without Done", l.Label))
	}
	ws.machine, ws.reported, ws.launch, ws.launchesNow = m, false, l, false
}

// endLaunching counts n launches past the actions in s as returned.
func (r *runner) endLaunching(s *space, n int32) {
	if s.launching.Add(-n) == 0 && r.planner.closed.Load() {
		r.mu.Lock()
		r.progress.Broadcast()
		r.mu.Unlock()
	}
}

// startGlobal acquires ws under m.mu, and reports whether its kernel needs no action.
func (r *runner) startGlobal(ws *WorkingSet) bool {
	r.mu.Lock()
	r.planner.starting = ws
	r.planner.enqueueSet(ws)
	r.planner.starting = nil
	if !ws.launchesNow {
		r.unlockAndRun()
		return false
	}
	ws.events = eventsOf(ws.events[:0], ws.waits)
	r.planner.spaces[ws.Space.Device].launching.Add(1)
	if len(r.planner.actions) > 0 {
		r.unlockAndRun()
	} else {
		r.mu.Unlock()
	}
	return true
}

// Launch issues a kernel after the copies of ws, on its accelerator; ws.Done is called when the
// kernel has ended or will not run. The caller does not change l and its arguments until then.
func (m *Machine) Launch(ws *WorkingSet, l *devices.Launch) {
	m.mu.Lock()
	if ws.Space == devices.Host || ws.state == idleSet || ws.launch != nil || ws.Done == nil {
		panic(fmt.Sprintf("gompss: bug: devices: launch of %s: not acquired on an accelerator, launched before or without Done", l.Label))
	}
	ws.launch = l
	switch ws.state {
	case grantedSet:
		m.planner.actions = append(m.planner.actions, action{kind: actionLaunch, set: ws})
	case failedSet:
		m.planner.actions = append(m.planner.actions, action{kind: actionDone, set: ws, err: ws.err})
	}
	m.mu.Unlock()
	m.runner.runActions()
}

// ReleaseSet ends the use of ws. With a nil err what its accesses write is valid in its space and
// nowhere else; otherwise the task has failed, and copies from before that other spaces hold are
// what counts.
//
// It must not be called between Launch and Done, nor between an Acquire that returned false and
// Ready on the host.
func (m *Machine) ReleaseSet(ws *WorkingSet, err error) {
	if ws.state == ownedSet {
		ws.state = idleSet
		return
	}
	if ws.state == idleSet {
		panic(fmt.Sprintf("gompss: bug: devices: %s: working set is released twice", ws.Label))
	}
	if err == nil && m.runner.releaseSingleSpace(ws) {
		m.progress.Broadcast()
		return
	}
	m.mu.Lock()
	s := m.planner.spaces[ws.Space.Device]
	if ws.Space == devices.Host {
		for _, a := range ws.Accesses {
			m.planner.dir.EndAccess(a, devices.Host)
		}
	}
	if len(ws.kernel) > 0 {
		m.planner.endKernel(ws, err)
	} else if ws.state == grantedSet {
		m.planner.commit(ws, err)
	}
	// A kernel may end before the completion of its inputs is observed.
	for i := 0; ws.pending > 0 && i < len(ws.waits); i++ {
		removeWaiter(ws.waits[i], ws)
	}
	if s.residency != nil {
		s.residency.UnpinAll(ws.need.Granules())
	}
	s.held -= ws.room
	ws.room = 0
	m.planner.setWaits(ws, nil)
	ws.reset()
	m.planner.admitWaiting(s)
	m.progress.Broadcast()
	m.runner.unlockAndRun()
}

// Abort prepares a task on the host, which holds ws and may have written some of what it writes, to
// run again from its start elsewhere, and reports whether it can: another space must have what it
// reads and writes. If so, what ws writes and other spaces have is not valid on the host any more,
// and ws is to be released with an error.
func (m *Machine) Abort(ws *WorkingSet) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	for i := range ws.Accesses {
		a := &ws.Accesses[i]
		if a.Mode.Writes() && a.Mode.Reads() && (ws.state != grantedSet || !m.planner.dir.ValidElsewhere(a.Region, devices.Host)) {
			return false
		}
	}
	if ws.state == grantedSet {
		for i := range ws.Accesses {
			if a := &ws.Accesses[i]; a.Mode.Writes() {
				m.planner.buffers.get(a.Region.Buffer).exclusiveSpace.Store(0)
				m.planner.dir.Invalidate(a.Region, devices.Host)
			}
		}
	}
	return true
}

// beginGlobal is beginKernel for callers that do not hold m.mu.
func (r *runner) beginGlobal(ws *WorkingSet, e devices.Event) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.planner.beginKernel(ws, e)
}

// reset empties ws for its next use and keeps its memory.
func (ws *WorkingSet) reset() {
	ws.need.Reset()
	ws.state, ws.err, ws.launch, ws.pending = idleSet, nil, nil, 0
}
