package devices

import (
	"slices"
	"sync/atomic"
	"time"

	"github.com/gompss/gompss/deps"
)

// A Flight is a copy that has been planned and has not landed.
type Flight struct {
	Transfer
	// After are the flights that it must not overtake.
	After []*Flight
	// Event is set by the owner when the copy has been enqueued, and then there.
	Event Event
	there atomic.Bool

	began time.Duration // when it was enqueued, for observers
	heard bool          // its end has been heard of
	fell  bool          // it is a copy, and was not made
	// given is what spaces gave up in favour of this copy, as far as it has not been written since: if the copy is not
	// made, they still have it.
	given   []given
	stayed  []deps.Region // once it was not made: what is where it came from after all
	coming  []*Flight     // those on their way to where a task's flight took something from, of the same elements
	waiters []*WorkingSet
	pinned  [2][]*granule // at From and at To
	// users counts who has a kernel's flight: its working set, those that wait for it, and copies behind it. Without any it is used
	// again, if it is the Machine's.
	users int32
	// inAt and outAt are the places in the lists of the directory, from 1; 0 is in none.
	inAt, outAt int32
}

// enterIn and enterOut put f into a list of those that come to a space or go from it; leaveIn and leaveOut take it out, if it is there.
func (p *replicas) enterIn(f *Flight)  { p.in = append(p.in, f); f.inAt = int32(len(p.in)) }
func (p *replicas) enterOut(f *Flight) { p.out = append(p.out, f); f.outAt = int32(len(p.out)) }

func (p *replicas) leaveIn(f *Flight) {
	if i := int(f.inAt) - 1; i >= 0 {
		last := len(p.in) - 1
		moved := p.in[last]
		p.in[i], moved.inAt = moved, f.inAt
		p.in[last], f.inAt = nil, 0
		p.in = p.in[:last]
	}
}

func (p *replicas) leaveOut(f *Flight) {
	if i := int(f.outAt) - 1; i >= 0 {
		last := len(p.out) - 1
		moved := p.out[last]
		p.out[i], moved.outAt = moved, f.outAt
		p.out[last], f.outAt = nil, 0
		p.out = p.out[:last]
	}
}

// overtake takes the kernels out of the lists that f, a kernel that writes, comes behind and covers: who has to wait for one of them
// has to wait for f, and that is enough.
func (p *replicas) overtake(f *Flight) {
	for i := len(p.in) - 1; i >= 0; i-- {
		if g := p.in[i]; g.From == g.To && f.Region.Contains(g.Region) {
			p.leaveIn(g)
		}
	}
	for i := len(p.out) - 1; i >= 0; i-- {
		if g := p.out[i]; g.From == g.To && f.Region.Contains(g.Region) {
			p.leaveOut(g)
		}
	}
}

// given is a part of a buffer that a space gave up.
type given struct {
	by    SpaceID
	parts deps.Set
}

// staysHere reports whether f cannot fail, and has not failed, because of another device than that of space s: it is over, a kernel
// there, or comes from the host alone.
func (f *Flight) staysHere(s SpaceID) bool {
	switch {
	case f.fell:
		return false
	case f.heard, f.From == s:
		return true
	case f.From != Host:
		return false
	}
	for _, g := range f.After {
		if g.fell || !g.heard && g.From != s && (g.From != Host || len(g.After) > 0) {
			return false
		}
	}
	return true
}

// giveUp notes that a space gives up a part of f's region in favour of f.
func (f *Flight) giveUp(by SpaceID, part deps.Region) {
	for i := range f.given {
		if f.given[i].by == by {
			f.given[i].parts.Add(part)
			return
		}
	}
	f.given = append(f.given, given{by: by})
	f.given[len(f.given)-1].parts.Add(part)
}

// takeFlights adds n flights for kernels to list, each with one user. Requires: s.mu held.
func (s *space) takeFlights(list []*Flight, n int) []*Flight {
	for range n {
		last := len(s.flights) - 1
		if last < 0 {
			list = append(list, &Flight{users: 1})
			continue
		}
		f := s.flights[last]
		s.flights = s.flights[:last]
		f.users = 1
		list = append(list, f)
	}
	return list
}

// letGo takes back one use of f. Requires: m.mu held, or that of the space of a kernel.
func (m *Machine) letGo(f *Flight) {
	if f.users--; f.users == 0 && f.From == f.To { // copies are few
		s := m.spaces[f.To.Device]
		*f = Flight{}
		s.flights = append(s.flights, f)
	}
}

// waitFor makes flights those that the kernel of ws waits for. Requires: as letGo.
func (m *Machine) waitFor(ws *WorkingSet, flights []*Flight) {
	for _, f := range flights {
		f.users++
	}
	for _, f := range ws.waits {
		m.letGo(f)
	}
	clear(ws.waits)
	ws.waits = append(ws.waits[:0], flights...)
}

// forget takes ws out of those who wait for f.
func (f *Flight) forget(ws *WorkingSet) {
	if i := slices.Index(f.waiters, ws); i >= 0 {
		f.waiters = slices.Delete(f.waiters, i, i+1)
	}
}

// A Plan is what makes an access valid: copies to make, in this order, and copies under way to wait for. It is filled
// by several calls and used again.
type Plan struct {
	Copies []*Flight
	Wait   []*Flight // all flights whose landing makes the accesses valid, those of Copies included
}

// Reset empties p and keeps its memory.
func (p *Plan) Reset() {
	clear(p.Copies)
	clear(p.Wait)
	p.Copies, p.Wait = p.Copies[:0], p.Wait[:0]
}
