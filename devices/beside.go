package devices

import (
	"slices"
	"time"

	"github.com/gompss/gompss/deps"
)

// This file is how kernels on different accelerators are started and released beside each other.
//
// Each space has a lock, and who holds Machine.mu holds all of them. The usual kernel finds all that it reads valid where it runs, all
// granules backed, and what it writes nowhere else: then it only concerns what the directory keeps of that one space, and the lock of
// that space is enough. What is found otherwise under it takes the way of all others.
//
// A buffer whose sole is a space has its values there and nowhere else, nothing of it is on its way since, and kernels elsewhere that
// used it are over: the lists of other spaces stay as they are as long as that space alone is locked.

// A guard is the lock of a Machine, which consists of one for itself and one for each space but the host's.
type guard struct {
	own    mutex
	spaces []*space
}

// Lock locks g.
func (g *guard) Lock() {
	lock(&g.own)
	for _, s := range g.spaces {
		lock(&s.mu)
	}
}

// Unlock unlocks g.
func (g *guard) Unlock() {
	for _, s := range g.spaces {
		s.mu.Unlock()
	}
	g.own.Unlock()
}

// startBeside is Start for a kernel that concerns its own space alone: it holds its granules then, and ws.events are what it waits for.
// Otherwise it reports false, and has done nothing.
func (m *Machine) startBeside(ws *WorkingSet) bool {
	if ws.Ready != nil || !m.knows(ws.Space, ws.launch) || !m.grantBeside(ws) {
		return false
	}
	ws.events = eventsOf(ws.events[:0], ws.waits) // they stay as they are as long as somebody waits
	return true
}

// AtOnce is how many StartTogether takes at most.
const AtOnce = 8

// A Starting is what Start takes.
type Starting struct {
	Set    *WorkingSet
	Launch *Launch
}

// StartTogether is Start for some on one accelerator of which none waits for another. What concerns their own space alone is done for all
// of them under its lock at once, for which those wait that tell of what is over there.
func (m *Machine) StartTogether(list []Starting) {
	var each [AtOnce]struct {
		beside, begun bool
		end           Event
		asked         time.Duration
	}
	s, n := m.spaces[list[0].Set.Space.Device], int32(0)
	for i, l := range list {
		m.prepareStart(l.Set, l.Launch)
		each[i].beside = l.Set.Ready == nil && m.knows(l.Set.Space, l.Launch)
	}
	lock(&s.mu)
	for i, l := range list {
		if each[i].beside = each[i].beside && m.grantHere(l.Set, s); each[i].beside {
			n++
		}
	}
	s.mu.Unlock()
	for i, l := range list {
		if each[i].beside {
			l.Set.events = eventsOf(l.Set.events[:0], l.Set.waits)
			each[i].end, each[i].asked = m.enqueueKernel(l.Set)
		}
	}
	lock(&s.mu)
	for i, l := range list {
		each[i].begun = each[i].beside && l.Set.Launched != nil && m.beginHere(l.Set, s, each[i].end)
	}
	s.mu.Unlock()
	for i, l := range list {
		e := &each[i]
		if !e.beside {
			continue
		}
		if e.begun || l.Set.Launched != nil && m.beginAmongAll(l.Set, e.end) {
			l.Set.Launched(l.Set)
		}
		m.awaitKernel(l.Set, e.end, e.asked)
	}
	if n > 0 {
		m.hasLaunched(s, n)
	}
	for i, l := range list {
		if !each[i].beside && m.startAmongAll(l.Set) {
			m.launchNow(l.Set)
			m.hasLaunched(s, 1)
		}
	}
}

// grantBeside is what of startBeside needs the lock of the space.
func (m *Machine) grantBeside(ws *WorkingSet) bool {
	s := m.spaces[ws.Space.Device]
	lock(&s.mu)
	defer s.mu.Unlock()
	return m.grantHere(ws, s)
}

// grantHere is grantBeside for who holds the lock of s, the space of ws.
func (m *Machine) grantHere(ws *WorkingSet, s *space) bool {
	if m.closed.Load() || s.retired != nil || s.waiting.head != nil {
		return false
	}
	s.plan.Reset()
	if !m.dir.planBeside(ws.Accesses, ws.Space, &s.plan) {
		return false
	}
	m.collect(ws, s)
	if ws.need.absent > 0 || ws.need.blocked {
		ws.need.clear()
		return false
	}
	s.held.reserve(&ws.need, nil) // nothing is absent: it has no victims
	for i := range ws.Accesses {
		if b := m.buffer(ws.Accesses[i].Region.Buffer); !b.away.Load() {
			b.away.Store(true)
		}
	}
	ws.state, ws.direct = grantedSet, true
	m.waitFor(ws, s.plan.Wait)
	s.direct.Add(1)
	return true
}

// knows reports whether the device of a space knows all buffers of a launch.
func (m *Machine) knows(at SpaceID, l *Launch) bool {
	for i := range l.Args.List {
		if a := &l.Args.List[i]; a.InMemory() && m.buffer(a.Buffer).knownAt.Load()>>at.Device&1 == 0 {
			return false
		}
	}
	return true
}

// reserve makes the device of s know a mirror, if it does not.
func (m *Machine) reserve(s *space, mirror *mirror) error {
	if mirror.reserved.Load() {
		return nil
	}
	if err := s.device.Reserve(mirror.buffer); err != nil {
		return err
	}
	mirror.reserved.Store(true)
	m.buffer(mirror.buffer.ID).knownAt.Or(1 << s.id.Device)
	return nil
}

// planBeside is Plan for all accesses of a kernel when nothing has to be copied for it and it waits for kernels there alone. Otherwise it
// reports false.
func (d *Directory) planBeside(accesses []deps.Access, at SpaceID, p *Plan) bool {
	for i := range accesses {
		a := &accesses[i]
		here := &d.buffers[a.Region.Buffer].at[at.Device]
		if a.Mode.Reads() && !here.valid.Contains(a.Region) {
			return false
		}
		p.Wait = overlapping(p.Wait, here.in, a.Region)
		if a.Mode.Writes() {
			p.Wait = overlapping(p.Wait, here.out, a.Region)
		}
	}
	return !slices.ContainsFunc(p.Wait, (*Flight).isCopy)
}

// isCopy reports whether f is no kernel.
func (f *Flight) isCopy() bool { return f.From != f.To }

// beginBeside is beginKernel for a kernel that concerns its own space alone. Otherwise it reports false, and has done nothing.
func (m *Machine) beginBeside(ws *WorkingSet, e Event) bool {
	s := m.spaces[ws.Space.Device]
	lock(&s.mu)
	defer s.mu.Unlock()
	return m.beginHere(ws, s, e)
}

// beginHere is beginBeside for who holds the lock of s, the space of ws.
func (m *Machine) beginHere(ws *WorkingSet, s *space, e Event) bool {
	if m.options.WriteThrough || s.retired != nil || slices.ContainsFunc(ws.waits, (*Flight).isCopy) {
		return false
	}
	sole := int32(ws.Space.Device) + 1
	for i := range ws.Accesses {
		if a := &ws.Accesses[i]; a.Mode.Writes() && m.buffer(a.Region.Buffer).sole.Load() != sole {
			return false
		}
	}
	ws.kernel = s.takeFlights(ws.kernel[:0], len(ws.Accesses))
	for i := range ws.Accesses {
		m.dir.beginBeside(&ws.Accesses[i], ws.Space, e, ws.kernel[i])
	}
	return true
}

// beginBeside is begin for what is valid in its space alone.
func (d *Directory) beginBeside(a *deps.Access, at SpaceID, e Event, f *Flight) {
	b := d.buffers[a.Region.Buffer]
	f.Transfer, f.Event = Transfer{Region: a.Region, Elem: b.elem, From: at, To: at}, e
	f.there.Store(true)
	here := &b.at[at.Device]
	if !a.Mode.Writes() {
		here.enterOut(f)
		return
	}
	for _, g := range here.out { // as in Commit
		for k := range g.given {
			g.given[k].parts.Remove(a.Region)
		}
	}
	if !here.valid.Contains(a.Region) {
		here.valid.Add(a.Region)
	}
	here.overtake(f)
	here.enterIn(f)
}

// releaseBeside is ReleaseSet for a kernel that did not fail and concerns its own space alone. Otherwise it reports false, and has done
// nothing.
func (m *Machine) releaseBeside(ws *WorkingSet) bool {
	if ws.Space == Host || len(ws.kernel) == 0 || slices.ContainsFunc(ws.waits, (*Flight).isCopy) {
		return false
	}
	s := m.spaces[ws.Space.Device]
	lock(&s.mu)
	defer s.mu.Unlock()
	if s.retired != nil || s.waiting.head != nil || ws.pending > 0 || slices.ContainsFunc(ws.kernel, func(f *Flight) bool { return len(f.waiters) > 0 }) {
		return false
	}
	for i, f := range ws.kernel {
		f.heard = true
		m.dir.endBeside(f)
		f.waiters = nil
		m.letGo(f)
		ws.kernel[i] = nil
	}
	ws.kernel = ws.kernel[:0]
	for _, g := range ws.need.granules {
		s.held.unpin(g)
	}
	m.waitFor(ws, nil)
	ws.reset()
	return true
}

// endBeside is End for a kernel that did not fail, by its flight alone.
func (d *Directory) endBeside(f *Flight) {
	here := &d.buffers[f.Region.Buffer].at[f.To.Device]
	here.leaveIn(f)
	here.leaveOut(f)
}
