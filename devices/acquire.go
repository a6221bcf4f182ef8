package devices

import (
	"fmt"
	"runtime"

	"github.com/gompss/gompss/deps"
)

// Acquire starts to make what ws reads valid in its space, and room there for all of it.
//
// It returns true when all is there already, on the host; then Ready is not called. Otherwise, on the host, Ready is
// called once everything has arrived. On an accelerator the whole working set gets its room at once or waits, first
// come first served; then its copies are enqueued, each made once for all who need it, and Launch may be called at any
// time after Acquire. Failures come through Ready and Done. Every working set that was acquired must be released.
//
// Cost: on the host, for buffers that no accelerator has to do with, one atomic load an access and no allocation.
func (m *Machine) Acquire(ws *WorkingSet) bool {
	if ws.state != idleSet {
		panic(fmt.Sprintf("gompss: bug: devices: %s: working set is acquired twice", ws.Label))
	}
	if ws.Space == Host && m.ownedByHost(ws.Accesses) {
		ws.state = ownedSet
		return true
	}
	ws.machine, ws.told = m, false
	m.mu.Lock()
	if ws.Space == Host {
		m.grant(ws)
	} else {
		m.queue(ws)
	}
	there := ws.Space == Host && ws.state == grantedSet && ws.pending == 0
	ws.told = ws.told || there
	m.mu.Unlock()
	if !there {
		m.drive()
	}
	return there
}

// ownedByHost reports whether no accelerator has to do with any of the buffers.
func (m *Machine) ownedByHost(accesses []deps.Access) bool {
	if len(m.spaces) == 1 {
		return true
	}
	for i := range accesses {
		if m.buffer(accesses[i].Region.Buffer).away.Load() {
			return false
		}
	}
	return true
}

// queue lets ws wait for room, and serves those who wait. Requires: m.mu held.
func (m *Machine) queue(ws *WorkingSet) {
	s := m.spaces[ws.Space.Device]
	if m.closed.Load() {
		m.fail(ws, ErrClosed)
		return
	}
	ws.state = waitingSet
	s.waiting.push(ws)
	m.serve(s)
}

// serve gives room to those who wait for it, in order, until one does not get it. Requires: m.mu held.
func (m *Machine) serve(s *space) {
	if s.held == nil {
		return
	}
	for s.waiting.head != nil {
		ws := s.waiting.head
		if s.retired != nil {
			s.waiting.pop()
			m.fail(ws, s.retired)
			continue
		}
		m.collect(ws, s)
		victims, ok := s.held.reserve(&ws.need, ws.victims[:0])
		if n := len(ws.need.granules); n > s.held.limit {
			s.waiting.pop()
			ws.need.clear()
			m.fail(ws, m.noSpace(s, ws.Accesses, ws.Label, ws.Pos, n))
			continue
		}
		if !ok {
			ws.need.clear()
			return
		}
		s.waiting.pop()
		ws.victims = victims
		m.makeRoom(ws, s)
	}
}

// collect finds the granules that ws needs. Requires: m.mu held.
func (m *Machine) collect(ws *WorkingSet, s *space) {
	s.held.begin()
	for i := range ws.Accesses {
		r := ws.Accesses[i].Region
		b := m.buffer(r.Buffer)
		mirror := s.held.mirrorOf(r.Buffer)
		if mirror == nil {
			mirror = s.held.add(b.Buffer)
		}
		eachGranules(r, b.Elem, s.held.size, func(lo, hi int) { s.held.collect(&ws.need, mirror, lo, hi) })
	}
}

// makeRoom starts to write back what is dirty in the victims of ws. Requires: m.mu held.
func (m *Machine) makeRoom(ws *WorkingSet, s *space) {
	ws.state = makingRoom
	m.plan.Reset()
	for _, g := range ws.victims {
		m.buffer(g.mirror.buffer.ID).sole.Store(0)
		m.dir.Evict(g.elements(s.held.size), s.id, &m.plan)
	}
	m.counted.Evictions += int64(len(ws.victims))
	m.counted.WriteBacks += int64(len(m.plan.Copies))
	m.enqueue(m.plan.Copies)
	m.follow(ws, m.plan.Wait)
	if ws.pending == 0 {
		m.proceed(ws)
	}
}

// follow makes ws wait for flights. Requires: m.mu held.
func (m *Machine) follow(ws *WorkingSet, flights []*Flight) {
	ws.pending += len(flights)
	for _, f := range flights {
		f.waiters = append(f.waiters, ws)
	}
}

// proceed takes ws to its next state, now that nothing is pending. Requires: m.mu held.
func (m *Machine) proceed(ws *WorkingSet) {
	switch {
	case ws.state == makingRoom && ws.err != nil:
		m.giveUpRoom(ws)
	case ws.state == makingRoom && (len(ws.victims) > 0 || ws.need.absent > 0):
		m.steps = append(m.steps, step{what: stepRoom, set: ws})
	case ws.state == makingRoom:
		m.grant(ws)
	case ws.state == plannedAgain, ws.launch == nil && m.outlives(ws, ws.err):
		ws.err = nil
		m.grant(ws)
		if ws.Space == Host && ws.pending == 0 {
			m.tell(ws)
		}
	case m.outlives(ws, ws.err): // the kernel will fail for the same reason, and then all is planned again
	default:
		m.tell(ws)
	}
}

// giveUpRoom ends a working set that could not get its room: the write-back of a victim failed. Requires: m.mu held.
func (m *Machine) giveUpRoom(ws *WorkingSet) {
	s := m.spaces[ws.Space.Device]
	for _, g := range ws.victims {
		s.held.settle(g, false)
	}
	for _, g := range ws.need.granules {
		if g.state == mapping {
			s.held.settle(g, false)
		}
	}
	ws.victims = ws.victims[:0]
	m.fail(ws, ws.err)
	m.serve(s)
}

// roomChanged settles what the device was asked for: victims up to unmapped have gone, granules up to mapped are
// backed. Requires: m.mu held.
func (m *Machine) roomChanged(ws *WorkingSet, unmapped, mapped int, err error) {
	s := m.spaces[ws.Space.Device]
	for i, g := range ws.victims {
		s.held.settle(g, i < unmapped)
	}
	ws.victims = ws.victims[:0]
	for i, g := range ws.need.granules {
		if g.state == mapping {
			s.held.settle(g, i < mapped)
		}
	}
	if err == nil && s.retired != nil {
		err = s.retired
	}
	if err != nil {
		m.fail(ws, err)
		m.retireFor(err)
	} else {
		m.grant(ws)
	}
	m.serve(s)
}

// grant plans the copies that ws needs, now that it has its room. Requires: m.mu held.
func (m *Machine) grant(ws *WorkingSet) {
	ws.state = grantedSet
	m.plan.Reset()
	for i := range ws.Accesses {
		if b := m.buffer(ws.Accesses[i].Region.Buffer); ws.Space != Host && !b.away.Load() {
			b.away.Store(true)
		}
		if err := m.dir.Plan(ws.Accesses[i], ws.Space, &m.plan); err != nil && ws.err == nil {
			ws.err = err
		}
	}
	m.enqueue(m.plan.Copies)
	if ws.Space == Host {
		m.follow(ws, m.plan.Wait)
		if ws.err != nil && ws.pending == 0 {
			m.fail(ws, ws.err)
		}
		return
	}
	if ws.err != nil { // what was planned goes on, and serves those who come later
		m.fail(ws, ws.err)
		return
	}
	m.waitFor(ws, m.plan.Wait)
	if ws.Ready != nil {
		m.follow(ws, m.plan.Wait)
	}
	switch {
	case ws.launch == nil:
	case m.starting == ws && m.ready(ws):
		ws.direct = true
	default:
		m.steps = append(m.steps, step{what: stepLaunch, set: ws})
	}
	if ws.pending == 0 {
		m.tell(ws)
	}
}

// ready reports whether the kernel of ws can be launched past the steps: all that it waits for is enqueued, and its device knows its
// buffers. Then nothing that it needs is among the steps. Requires: m.mu held.
func (m *Machine) ready(ws *WorkingSet) bool {
	for _, f := range ws.waits {
		if !f.there.Load() {
			return false
		}
	}
	return m.knows(ws.Space, ws.launch)
}

// Start is Acquire and Launch in one, on an accelerator. Where everything is there and what ws waits for is enqueued, the caller
// launches the kernel itself, beside others who do.
func (m *Machine) Start(ws *WorkingSet, l *Launch) {
	m.prepareStart(ws, l)
	if !m.startBeside(ws) && !m.startAmongAll(ws) {
		return
	}
	s := m.spaces[ws.Space.Device] // ws may be another task's when it is launched
	m.launchNow(ws)
	m.hasLaunched(s, 1)
}

func (m *Machine) prepareStart(ws *WorkingSet, l *Launch) {
	if ws.state != idleSet || ws.Space == Host || ws.Done == nil {
		panic(fmt.Sprintf("gompss: bug: devices: start of %s: acquired, on the host or without Done", l.Label))
	}
	ws.machine, ws.told, ws.launch, ws.direct = m, false, l, false
}

// hasLaunched counts out n of those who launched past the steps in s.
func (m *Machine) hasLaunched(s *space, n int32) {
	if s.direct.Add(-n) == 0 && m.closed.Load() {
		m.mu.Lock()
		m.quiet.Broadcast()
		m.mu.Unlock()
	}
}

// startAmongAll acquires ws and reports whether its kernel can be launched past the steps.
func (m *Machine) startAmongAll(ws *WorkingSet) bool {
	m.mu.Lock()
	m.starting = ws
	m.queue(ws)
	m.starting = nil
	if !ws.direct {
		m.unlockAndDrive()
		return false
	}
	ws.events = eventsOf(ws.events[:0], ws.waits)
	m.spaces[ws.Space.Device].direct.Add(1)
	if len(m.steps) > 0 {
		m.unlockAndDrive()
	} else {
		m.mu.Unlock()
	}
	return true
}

// fail ends ws with an error: it holds what it holds until Release. Requires: m.mu held.
func (m *Machine) fail(ws *WorkingSet, err error) {
	ws.state, ws.err = failedSet, err
	m.tell(ws)
	if ws.launch != nil {
		m.steps = append(m.steps, step{what: stepDone, set: ws, err: err})
	}
}

// tell has Ready called, once. Requires: m.mu held.
func (m *Machine) tell(ws *WorkingSet) {
	if ws.told || ws.Ready == nil {
		return
	}
	ws.told = true
	m.steps = append(m.steps, step{what: stepReady, set: ws, err: ws.err})
}

// Launch enqueues a kernel behind the copies of ws, on its accelerator; ws.Done is called when the kernel is over or
// will not run. The caller leaves l and its arguments alone until then.
func (m *Machine) Launch(ws *WorkingSet, l *Launch) {
	m.mu.Lock()
	if ws.Space == Host || ws.state == idleSet || ws.launch != nil || ws.Done == nil {
		panic(fmt.Sprintf("gompss: bug: devices: launch of %s: not acquired on an accelerator, launched before or without Done", l.Label))
	}
	ws.launch = l
	switch ws.state {
	case grantedSet:
		m.steps = append(m.steps, step{what: stepLaunch, set: ws})
	case failedSet:
		m.steps = append(m.steps, step{what: stepDone, set: ws, err: ws.err})
	}
	m.mu.Unlock()
	m.drive()
}

// ReleaseSet ends the use of ws. With a nil err what its accesses write is valid in its space and nowhere else;
// otherwise the task has failed, and copies from before that other spaces hold are what counts.
//
// It must not be called between Launch and Done, nor between an Acquire that returned false and Ready on the host.
func (m *Machine) ReleaseSet(ws *WorkingSet, err error) {
	if ws.state == ownedSet {
		ws.state = idleSet
		return
	}
	if ws.state == idleSet {
		panic(fmt.Sprintf("gompss: bug: devices: %s: working set is released twice", ws.Label))
	}
	if err == nil && m.releaseBeside(ws) {
		m.quiet.Broadcast()
		return
	}
	m.mu.Lock()
	s := m.spaces[ws.Space.Device]
	if ws.Space == Host {
		for _, a := range ws.Accesses {
			m.dir.Leave(a, Host)
		}
	}
	if len(ws.kernel) > 0 {
		m.endKernel(ws, err)
	} else if ws.state == grantedSet {
		m.commit(ws, err)
	}
	for i := 0; ws.pending > 0 && i < len(ws.waits); i++ { // on an accelerator the kernel can be over before we hear of its inputs
		ws.waits[i].forget(ws)
	}
	for _, g := range ws.need.granules {
		s.held.unpin(g)
	}
	m.waitFor(ws, nil)
	ws.reset()
	m.serve(s)
	m.quiet.Broadcast()
	m.unlockAndDrive()
}

// GiveUp says that a task on the host, which holds ws and has written some of what it writes, will run again from its start somewhere
// else, and reports whether it can: what it reads and writes must be as it was in another space. If so the host has nothing any more of
// what ws writes and others have, and ws is to be released with an error.
func (m *Machine) GiveUp(ws *WorkingSet) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	for i := range ws.Accesses {
		a := &ws.Accesses[i]
		if a.Mode.Writes() && a.Mode.Reads() && (ws.state != grantedSet || !m.dir.hasElsewhere(a.Region, Host)) {
			return false
		}
	}
	if ws.state == grantedSet {
		for i := range ws.Accesses {
			if a := &ws.Accesses[i]; a.Mode.Writes() {
				m.buffer(a.Region.Buffer).sole.Store(0)
				m.dir.Spoil(a.Region, Host)
			}
		}
	}
	return true
}

// beginAmongAll is beginKernel for who does not hold mu.
func (m *Machine) beginAmongAll(ws *WorkingSet, e Event) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.beginKernel(ws, e)
}

// beginKernel says that what ws writes counts as written, from the event of its kernel on, if nothing but its own device can
// make it fail. Requires: m.mu held.
func (m *Machine) beginKernel(ws *WorkingSet, e Event) bool {
	if m.options.WriteThrough || m.spaces[ws.Space.Device].retired != nil {
		return false
	}
	for _, f := range ws.waits {
		if !f.staysHere(ws.Space) {
			return false
		}
	}
	ws.kernel = m.spaces[ws.Space.Device].takeFlights(ws.kernel[:0], len(ws.Accesses)) // others may look at them when ws is another task's
	for i := range ws.Accesses {
		a := &ws.Accesses[i]
		m.dir.begin(a, ws.Space, e, ws.kernel[i])
		if a.Mode.Writes() {
			m.wrote(a.Region, ws.Space)
		}
		if b := m.buffer(a.Region.Buffer); !b.away.Load() {
			b.away.Store(true)
		}
	}
	return true
}

// endKernel ends what beginKernel began. Requires: m.mu held.
func (m *Machine) endKernel(ws *WorkingSet, err error) {
	for i, f := range ws.kernel {
		f.heard = true
		m.dir.End(ws.Accesses[i], f, err == nil)
		if err != nil {
			m.buffer(ws.Accesses[i].Region.Buffer).sole.Store(0)
		}
		m.served(f, err)
		m.letGo(f)
		ws.kernel[i] = nil
	}
	ws.kernel = ws.kernel[:0]
}

// commit tells the directory what ws has written, or failed to write. Requires: m.mu held.
func (m *Machine) commit(ws *WorkingSet, err error) {
	m.plan.Reset()
	for _, a := range ws.Accesses {
		if !a.Mode.Writes() {
			continue
		}
		b := m.buffer(a.Region.Buffer)
		if err != nil {
			b.sole.Store(0)
			m.dir.Spoil(a.Region, ws.Space)
			continue
		}
		m.dir.Commit(a.Region, ws.Space)
		m.wrote(a.Region, ws.Space)
		switch {
		case m.spaces[ws.Space.Device].retired != nil:
			b.away.Store(true) // lost is known to the directory
		case ws.Space == Host:
			b.away.Store(!m.dir.OnlyOnHost(a.Region.Buffer))
		default:
			b.away.Store(true) // a task that only wrote may have found the buffer on the host alone until now
			if m.options.WriteThrough {
				m.writeThrough(a)
			}
		}
	}
	m.enqueue(m.plan.Copies)
}

// writeThrough plans the copies that make what was written valid on the host too. Requires: m.mu held.
func (m *Machine) writeThrough(a deps.Access) {
	before := len(m.plan.Copies)
	a.Mode = deps.In
	if err := m.dir.Plan(a, Host, &m.plan); err != nil {
		panic(fmt.Sprintf("gompss: bug: devices: %v was written just now: %v", a.Region, err))
	}
	m.counted.WriteBacks += int64(len(m.plan.Copies) - before)
}

// reset empties ws for the next use and keeps its memory.
func (ws *WorkingSet) reset() {
	ws.need.clear()
	ws.state, ws.err, ws.launch, ws.pending = idleSet, nil, nil, 0
}

func (n *need) clear() {
	clear(n.granules)
	*n = need{granules: n.granules[:0]}
}

// spins is how often lock looks for the lock before it goes to sleep: it is held for less time than that takes. longSpins is how often
// where there are manyProcessors: who is woken is put behind what runs on the processor of who has woken it, for 10 to 100 microseconds, and
// keeps all from the lock who want to sleep for it too; that is worse than a processor that looks for 30.
const (
	spins          = 400
	longSpins      = 20000
	manyProcessors = 8
)

// lock locks mu, awake at first: to be put to sleep and woken costs more than what is done under the lock.
func lock(mu *mutex) {
	for range spins {
		if mu.TryLock() {
			return
		}
	}
	lockLate(mu)
}

// lockLate is what lock does when the lock is not to be had at once.
func lockLate(mu *mutex) {
	if runtime.NumCPU() >= manyProcessors {
		for range longSpins {
			if mu.TryLock() {
				return
			}
		}
	}
	mu.Lock()
}
