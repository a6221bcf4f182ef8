package devices

import (
	"slices"
	"time"

	"github.com/gompss/gompss/deps"
)

// A Flight is a copy that has been planned and has not landed.
type Flight struct {
	Transfer
	// After are the flights that it must not overtake.
	After []*Flight
	// Event is set by the owner when the copy has been enqueued.
	Event Event

	began time.Duration // when it was enqueued, for observers
	heard bool          // the owner has heard of its end
	// given is what spaces gave up in favour of this copy, as far as it has not been written since: if the copy is not
	// made, they still have it.
	given   []given
	waiters []*WorkingSet
	pinned  [2][]*granule // at From and at To
}

// given is a part of a buffer that a space gave up.
type given struct {
	by    SpaceID
	parts deps.Set
}

// staysHere reports whether f cannot fail because of another device than that of space s: it is over, a kernel there, or comes
// from the host alone.
func (f *Flight) staysHere(s SpaceID) bool {
	switch {
	case f.heard, f.From == s:
		return true
	case f.From != Host:
		return false
	}
	for _, g := range f.After {
		if !g.heard && g.From != s && (g.From != Host || len(g.After) > 0) {
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
