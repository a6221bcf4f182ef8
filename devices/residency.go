package devices

import (
	"fmt"
	"sync/atomic"

	"github.com/gompss/gompss/deps"
)

// A granuleState says what backs a granule of a mirror.
type granuleState uint8

const (
	absent   granuleState = iota // nothing
	mapping                      // promised to a working set; the device is being asked
	backed                       // memory
	evicting                     // memory still; what is dirty is being written back, then it goes
	dropping                     // memory still; the buffer is being dropped
)

// A granule is the unit in which a mirror is backed and evicted.
type granule struct {
	mirror     *mirror
	prev, next *granule // in residency.idle: backed and not pinned
	index      int32
	pins       int32  // working sets and transfers that use it
	mark       uint32 // the last count that saw it
	state      granuleState
}

// A mirror is one buffer on one accelerator.
type mirror struct {
	buffer   Buffer
	granules []granule
	reserved atomic.Bool // the device knows of it; set by who carries steps out
}

// A residency is what one accelerator has backed, and in which order it would be given up. It is pure: it decides, the
// Machine asks the device.
//
// Invariants: promised + used - leaving <= limit, and no working set has more victims than granules to map, so that
// used never passes the limit, in whatever order rooms change; a granule is in idle if and only if it is backed and has no pins.
type residency struct {
	size     deps.Bytes // of a granule
	limit    int        // granules that the device can back
	used     int        // backed, evicting or dropping
	leaving  int        // evicting
	promised int        // mapping, or to be mapped once evictions are over
	mirrors  []*mirror  // by buffer; nil where there is none
	idle     granule    // ring: next is the least recently used
	idleLen  int
	count    uint32 // of collect
}

func newResidency(memory, size deps.Bytes) *residency {
	r := &residency{size: size, limit: int(memory / size)}
	r.idle.next, r.idle.prev = &r.idle, &r.idle
	return r
}

// mirrorOf returns the mirror of a buffer, or nil.
func (r *residency) mirrorOf(b deps.BufferID) *mirror {
	if int(b) < len(r.mirrors) {
		return r.mirrors[b]
	}
	return nil
}

// add makes the bookkeeping of a mirror.
func (r *residency) add(b Buffer) *mirror {
	for int(b.ID) >= len(r.mirrors) {
		r.mirrors = append(r.mirrors, nil)
	}
	m := &mirror{buffer: b, granules: make([]granule, granulesOf(b.Size, r.size))}
	for i := range m.granules {
		m.granules[i].mirror, m.granules[i].index = m, int32(i)
	}
	r.mirrors[b.ID] = m
	return m
}

// detach takes the granules of a mirror that nothing uses any more away from those that can be victims. Their memory
// counts until drop.
func (r *residency) detach(m *mirror) {
	for i := range m.granules {
		g := &m.granules[i]
		if g.pins != 0 || g.state == mapping || g.state == evicting {
			panic(fmt.Sprintf("gompss: bug: devices: buffer %d is dropped while granule %d is in use", m.buffer.ID, i))
		}
		if g.state == backed {
			r.unlink(g)
			g.state = dropping
		}
	}
}

// drop forgets a detached mirror.
func (r *residency) drop(b deps.BufferID) {
	m := r.mirrors[b]
	for i := range m.granules {
		if m.granules[i].state == dropping {
			r.used--
		}
	}
	r.mirrors[b] = nil
}

// unsettled reports whether some granule is being mapped or evicted.
func (m *mirror) unsettled() bool {
	for i := range m.granules {
		if s := m.granules[i].state; s == mapping || s == evicting {
			return true
		}
	}
	return false
}

// A need is what a working set wants of a residency: its granules, each once, and how they stand.
type need struct {
	granules []*granule
	absent   int  // granules to map
	idle     int  // granules that are backed and used by nobody else: they are no victims
	blocked  bool // a granule is being mapped or evicted: wait until that is over
}

// collect adds the granules [lo, hi) of m to n, if they are not in it yet. All calls for one need come between two
// calls of r.begin.
func (r *residency) collect(n *need, m *mirror, lo, hi int) {
	for i := lo; i < hi; i++ {
		g := &m.granules[i]
		if g.mark == r.count {
			continue
		}
		g.mark = r.count
		n.granules = append(n.granules, g)
		switch {
		case g.state == absent:
			n.absent++
		case g.state != backed:
			n.blocked = true
		case g.pins == 0:
			n.idle++
		}
	}
}

// begin starts a new count.
func (r *residency) begin() { r.count++ }

// reserve pins the granules of a need, promises those that are absent and chooses the least recently used idle
// granules as victims to make room; or does nothing at all and reports false when the room is not there now.
func (r *residency) reserve(n *need, victims []*granule) ([]*granule, bool) {
	short := r.used - r.leaving + r.promised + n.absent - r.limit
	if n.absent == 0 {
		short = 0
	}
	if n.blocked || short > r.idleLen-n.idle {
		return victims, false
	}
	for _, g := range n.granules {
		r.pin(g)
	}
	r.promised += n.absent
	for ; short > 0; short-- {
		g := r.idle.next
		r.unlink(g)
		g.state = evicting
		r.leaving++
		victims = append(victims, g)
	}
	for _, g := range n.granules {
		if g.state == absent {
			g.state = mapping
		}
	}
	return victims, true
}

// pin takes a granule out of the idle ones.
func (r *residency) pin(g *granule) {
	if g.pins == 0 && g.state == backed {
		r.unlink(g)
	}
	g.pins++
}

// unpin makes a granule the most recently used one when nobody else uses it.
func (r *residency) unpin(g *granule) {
	if g.pins--; g.pins < 0 {
		panic(fmt.Sprintf("gompss: bug: devices: granule %d of buffer %d is unpinned twice", g.index, g.mirror.buffer.ID))
	}
	if g.pins == 0 && g.state == backed {
		r.link(g)
	}
}

// settle ends the eviction or the mapping of a granule: what was asked of the device has happened, or has not.
func (r *residency) settle(g *granule, happened bool) {
	switch {
	case g.state == evicting && happened:
		g.state = absent
		r.used--
		r.leaving--
	case g.state == evicting:
		g.state = backed
		r.leaving--
		r.link(g)
	case g.state == mapping && happened:
		g.state = backed
		r.used++
		r.promised--
		if g.pins == 0 {
			r.link(g)
		}
	case g.state == mapping:
		g.state = absent
		r.promised--
	default:
		panic(fmt.Sprintf("gompss: bug: devices: granule %d of buffer %d is settled twice", g.index, g.mirror.buffer.ID))
	}
}

func (r *residency) link(g *granule) {
	last := r.idle.prev
	g.prev, g.next = last, &r.idle
	last.next, r.idle.prev = g, g
	r.idleLen++
}

func (r *residency) unlink(g *granule) {
	g.prev.next, g.next.prev = g.next, g.prev
	g.prev, g.next = nil, nil
	r.idleLen--
}

// eachRun calls f with the bytes of each run of neighbours among the granules that are in state, until one fails. It
// returns the number of granules that it got past.
func eachRun(granules []*granule, state granuleState, s *space, f func(b deps.BufferID, lo, hi deps.Bytes) error) (int, error) {
	for i := 0; i < len(granules); {
		g := granules[i]
		if g.state != state {
			i++
			continue
		}
		last, j := g, i+1
		for j < len(granules) && granules[j].state == state && granules[j].mirror == g.mirror && granules[j].index == last.index+1 {
			last = granules[j]
			j++
		}
		lo, _ := g.span(s.held.size)
		_, hi := last.span(s.held.size)
		if err := f(g.mirror.buffer.ID, lo, hi); err != nil {
			return i, err
		}
		i = j
	}
	return len(granules), nil
}

// span returns the bytes [lo, hi) of the buffer that g covers.
func (g *granule) span(size deps.Bytes) (lo, hi deps.Bytes) {
	lo = deps.Bytes(g.index) * size
	return lo, min(lo+size, g.mirror.buffer.Size)
}

func granulesOf(bytes, size deps.Bytes) int { return int((bytes + size - 1) / size) }
