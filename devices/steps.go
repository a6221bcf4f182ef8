package devices

import (
	"fmt"
	"time"

	"github.com/gompss/gompss/trace/probe"
)

// A step is one thing that is done without the lock, in the order in which it was decided.
type step struct {
	what   stepKind
	set    *WorkingSet
	flight *Flight
	err    error
}

type stepKind uint8

const (
	stepCopy   stepKind = iota // enqueue flight
	stepRoom                   // unmap the victims of set, then map its granules
	stepLaunch                 // enqueue the kernel of set
	stepReady                  // call Ready
	stepDone                   // call Done of a set whose kernel was not enqueued
)

// enqueue appends the steps that make the copies of flights, and keeps both ends where they are meanwhile. Requires:
// m.mu held.
func (m *Machine) enqueue(flights []*Flight) {
	for _, f := range flights {
		m.flying++
		m.buffer(f.Region.Buffer).sole.Store(0)
		for i, id := range [2]SpaceID{f.From, f.To} {
			if id != Host {
				f.pinned[i] = m.pin(m.spaces[id.Device].held, f)
			}
		}
		m.steps = append(m.steps, step{what: stepCopy, flight: f})
	}
}

// pin keeps the granules of a flight at one of its ends. A granule that is written back because it goes is not
// pinned: its eviction waits for the flight.
func (m *Machine) pin(held *residency, f *Flight) []*granule {
	mirror := held.mirrorOf(f.Region.Buffer)
	var need need
	held.begin()
	eachGranules(f.Region, f.Elem, held.size, func(lo, hi int) { held.collect(&need, mirror, lo, hi) })
	kept := need.granules[:0]
	for _, g := range need.granules {
		switch g.state {
		case backed:
			held.pin(g)
			kept = append(kept, g)
		case evicting:
		default:
			panic(fmt.Sprintf("gompss: bug: devices: copy of %v: granule %d is not backed", f.Region, g.index))
		}
	}
	return kept
}

// drive carries out steps until there are none, unless somebody is at it already: then they will be carried out.
func (m *Machine) drive() {
	m.mu.Lock()
	m.unlockAndDrive()
}

// unlockAndDrive is drive for who holds mu.
func (m *Machine) unlockAndDrive() {
	if m.driving || len(m.steps) == 0 {
		m.mu.Unlock()
		return
	}
	m.driving = true
	for len(m.steps) > 0 {
		batch := m.steps
		m.steps = m.spare[:0]
		m.mu.Unlock()
		for i := range batch {
			m.carryOut(&batch[i])
			batch[i] = step{}
		}
		m.mu.Lock()
		m.spare = batch
	}
	m.driving = false
	m.quiet.Broadcast()
	m.mu.Unlock()
}

func (m *Machine) carryOut(s *step) {
	switch s.what {
	case stepCopy:
		m.copy(s.flight)
	case stepRoom:
		m.changeRoom(s.set)
	case stepLaunch:
		m.launch(s.set)
	case stepReady:
		s.set.Ready(s.set, s.err)
	case stepDone:
		s.set.Done(s.set, s.err)
	}
}

// copy enqueues a flight at the device that it goes to, or comes from when it goes to the host.
func (m *Machine) copy(f *Flight) {
	end := f.To
	if end == Host {
		end = f.From
	}
	var room [8]Event
	after := eventsOf(room[:0], f.After)
	if o := m.options.Observer; o != nil {
		o.Observe(probe.Point{Kind: probe.Transfer, Time: m.options.Now(), From: m.spaces[f.From.Device].name,
			To: m.spaces[f.To.Device].name, Bytes: f.Size(), Region: f.Region})
		f.began = m.options.Now()
	}
	f.Event = m.spaces[end.Device].device.Copy(f.Transfer, after)
	f.there.Store(true)
	f.Event.Then(func(err error) { m.landed(f, err) })
}

// eventsOf returns the events of flights that have been enqueued, as all are that a step can wait for.
func eventsOf(events []Event, flights []*Flight) []Event {
	for _, f := range flights {
		events = append(events, f.Event)
	}
	return events
}

// landed goes on when a copy is over.
func (m *Machine) landed(f *Flight, err error) {
	if o := m.options.Observer; o != nil {
		began, ended := m.timesOf(f.Event, f.began)
		o.Observe(probe.Point{Kind: probe.Arrive, Time: ended, Begin: began, From: m.spaces[f.From.Device].name,
			To: m.spaces[f.To.Device].name, Bytes: f.Size(), Region: f.Region, Err: err})
	}
	m.mu.Lock()
	m.flying--
	m.arrived++
	m.dir.Land(f, err == nil)
	for i, id := range [2]SpaceID{f.From, f.To} {
		for _, g := range f.pinned[i] {
			m.spaces[id.Device].held.unpin(g)
		}
	}
	if err == nil {
		m.count(f)
	}
	m.served(f, err)
	m.retireFor(err)
	m.serve(m.spaces[f.From.Device])
	m.serve(m.spaces[f.To.Device])
	m.quiet.Broadcast()
	m.unlockAndDrive()
}

// served takes those who waited for f on. Requires: m.mu held.
func (m *Machine) served(f *Flight, err error) {
	for _, ws := range f.waiters {
		if ws.err == nil {
			ws.err = err
		}
		if ws.pending--; ws.pending == 0 {
			m.proceed(ws)
		}
	}
	f.waiters = nil
}

// changeRoom asks the device to take the memory of the victims of ws away and to back its granules.
func (m *Machine) changeRoom(ws *WorkingSet) {
	s := m.spaces[ws.Space.Device]
	unmapped, err := eachRun(ws.victims, evicting, s, m.watched(s, probe.Evict, s.device.Unmap))
	mapped := 0
	if err == nil {
		err = m.reserveMirrors(ws, s)
	}
	if err == nil {
		mapped, err = eachRun(ws.need.granules, mapping, s, m.watched(s, probe.Alloc, s.device.Map))
	}
	m.mu.Lock()
	m.roomChanged(ws, unmapped, mapped, err)
	m.mu.Unlock()
}

// reserveMirrors makes the device know the mirrors that ws uses.
func (m *Machine) reserveMirrors(ws *WorkingSet, s *space) error {
	for _, g := range ws.need.granules {
		if err := m.reserve(s, g.mirror); err != nil {
			return err
		}
	}
	return nil
}

// reserveArgs makes the device know the buffers of all arguments, also of those that no access names: a kernel may ask
// for the length of a slice that it does not touch.
func (m *Machine) reserveArgs(ws *WorkingSet) error {
	if m.knows(ws.Space, ws.launch) {
		return nil
	}
	s := m.spaces[ws.Space.Device]
	for i := range ws.launch.Args.List {
		a := &ws.launch.Args.List[i]
		if !a.InMemory() {
			continue
		}
		b := m.buffer(a.Buffer)
		lock(&s.mu)
		mirror := s.held.mirrorOf(a.Buffer)
		if mirror == nil {
			mirror = s.held.add(b.Buffer)
		}
		s.mu.Unlock()
		if err := m.reserve(s, mirror); err != nil {
			return err
		}
	}
	return nil
}

// launch enqueues the kernel of ws.
func (m *Machine) launch(ws *WorkingSet) {
	ws.events = eventsOf(ws.events[:0], ws.waits)
	if err := m.reserveArgs(ws); err != nil {
		m.finished(ws, err)
		return
	}
	m.launchNow(ws)
}

// launchNow is launch for a working set whose device knows all its buffers; ws.events are what it waits for.
func (m *Machine) launchNow(ws *WorkingSet) {
	e, asked := m.enqueueKernel(ws)
	if ws.Launched != nil && (m.beginBeside(ws, e) || m.beginAmongAll(ws, e)) {
		ws.Launched(ws)
	}
	m.awaitKernel(ws, e, asked)
}

// enqueueKernel enqueues the kernel of ws behind ws.events, and returns its end and, for an observer, when that was.
func (m *Machine) enqueueKernel(ws *WorkingSet) (e Event, asked time.Duration) {
	if m.options.Observer != nil {
		asked = m.options.Now()
	}
	e = m.spaces[ws.Space.Device].device.Launch(ws.launch, ws.events)
	clear(ws.events)
	return e, asked
}

// awaitKernel has what is to be done when the kernel of ws is over done then. From here on ws may be another task's.
func (m *Machine) awaitKernel(ws *WorkingSet, e Event, asked time.Duration) {
	if ws.over == nil {
		ws.over = func(err error) { ws.machine.finished(ws, err) }
	}
	if m.options.Observer == nil {
		e.Then(ws.over)
		return
	}
	e.Then(func(err error) {
		ws.Began, ws.Ended = m.timesOf(e, asked)
		ws.over(err)
	})
}

// finished goes on when a kernel is over.
func (m *Machine) finished(ws *WorkingSet, err error) {
	if err == nil {
		ws.Done(ws, nil)
		return
	}
	m.mu.Lock()
	m.retireFor(err)
	again := m.outlives(ws, err)
	if again {
		m.tryAgain(ws)
	}
	m.mu.Unlock()
	m.drive()
	if !again {
		ws.Done(ws, err)
	}
}

// outlives reports whether err is the end of another device than that of ws: what should have come from there may be
// had from elsewhere. Requires: m.mu held.
func (m *Machine) outlives(ws *WorkingSet, err error) bool {
	e, ok := fatal(err)
	return ok && len(ws.kernel) == 0 && e.Device != m.spaces[ws.Space.Device].name && m.spaces[ws.Space.Device].retired == nil
}

// tryAgain plans anew for ws, which holds its room, when all copies that it waited for have been heard of. Requires:
// m.mu held.
func (m *Machine) tryAgain(ws *WorkingSet) {
	ws.state, ws.err, ws.pending = plannedAgain, nil, 0
	for _, f := range ws.waits {
		f.forget(ws)
		if !f.heard {
			f.waiters = append(f.waiters, ws)
			ws.pending++
		}
	}
	if ws.pending == 0 {
		m.proceed(ws)
	}
}

// retireFor takes the device out of service whose end err is, if it is one. Requires: m.mu held.
func (m *Machine) retireFor(err error) {
	e, ok := fatal(err)
	if !ok {
		return
	}
	for _, s := range m.spaces[1:] {
		if s.name == e.Device && s.retired == nil {
			s.retired = e
			m.dir.Lose(s.id, e)
			table := *m.buffers.Load()
			for i := range table {
				if b := table[i].Load(); b != nil {
					b.sole.Store(0)
				}
			}
			m.serve(s)
		}
	}
}
