package coherence

import (
	"fmt"

	"github.com/gompss/gompss/deps"
	"github.com/gompss/gompss/devices"
)

// A granuleState says what backs a granule of a mirror.
type granuleState uint8

const (
	absent   granuleState = iota // nothing
	mapping                      // promised to a working set; being mapped
	backed                       // memory
	evicting                     // memory until the write-back of what is dirty has completed
	dropping                     // memory until the mirror is dropped
)

// A Granule is the unit in which a mirror is backed and evicted.
type Granule struct {
	mirror     *Mirror
	prev, next *Granule // in residency.idle: backed and not pinned
	index      int32
	pins       int32  // working sets and transfers that use it
	mark       uint32 // the last need that collected it, by Residency.count
	state      granuleState
}

// A Mirror is one buffer on one accelerator.
type Mirror struct {
	buffer   devices.Buffer
	granules []Granule
}

// A Residency knows what one accelerator has backed, and in which order that is evicted.
//
// Invariants: promised + used - leaving <= limit, and no working set has more victims than granules
// to map, so that used never passes the limit, in whatever order evictions and mappings complete; a
// granule is in idle if and only if it is backed and has no pins.
type Residency struct {
	size     deps.Bytes // of a granule
	limit    int        // granules that the device can back
	used     int        // backed, evicting or dropping
	leaving  int        // evicting
	promised int        // mapping, or to be mapped after evictions
	mirrors  []*Mirror  // by buffer; nil where there is none
	idle     Granule    // ring: next is the least recently used
	idleLen  int
	count    uint32 // of calls of BeginCollect
}

// NewResidency returns the residency of a device with this much memory, in granules of size bytes.
func NewResidency(memory, size deps.Bytes) *Residency {
	r := &Residency{size: size, limit: int(memory / size)}
	r.idle.next, r.idle.prev = &r.idle, &r.idle
	return r
}

// MirrorOf returns the mirror of a buffer, or nil.
func (r *Residency) MirrorOf(b deps.BufferID) *Mirror {
	if int(b) < len(r.mirrors) {
		return r.mirrors[b]
	}
	return nil
}

// EnsureMirror returns the mirror of a buffer, and adds it where there is none.
func (r *Residency) EnsureMirror(b devices.Buffer) *Mirror {
	if m := r.MirrorOf(b.ID); m != nil {
		return m
	}
	return r.add(b)
}

func (r *Residency) add(b devices.Buffer) *Mirror {
	for int(b.ID) >= len(r.mirrors) {
		r.mirrors = append(r.mirrors, nil)
	}
	m := &Mirror{buffer: b, granules: make([]Granule, granuleCount(b.Size, r.size))}
	for i := range m.granules {
		m.granules[i].mirror, m.granules[i].index = m, int32(i)
	}
	r.mirrors[b.ID] = m
	return m
}

// Detach excludes the granules of a mirror from eviction. Their memory counts until Drop. Requires:
// nothing uses the mirror.
func (r *Residency) Detach(m *Mirror) {
	for i := range m.granules {
		g := &m.granules[i]
		if g.pins != 0 || g.state == mapping || g.state == evicting {
			panic(fmt.Sprintf("gompss: bug: coherence: buffer %d is dropped while granule %d is in use", m.buffer.ID, i))
		}
		if g.state == backed {
			r.unlink(g)
			g.state = dropping
		}
	}
}

// Drop removes a detached mirror.
func (r *Residency) Drop(b deps.BufferID) {
	m := r.mirrors[b]
	for i := range m.granules {
		if m.granules[i].state == dropping {
			r.used--
		}
	}
	r.mirrors[b] = nil
}

// InTransition reports whether a granule is being mapped or evicted.
func (m *Mirror) InTransition() bool {
	for i := range m.granules {
		if s := m.granules[i].state; s == mapping || s == evicting {
			return true
		}
	}
	return false
}

// A Need is what a working set needs of a residency: its granules, each once, and their state.
type Need struct {
	granules []*Granule
	absent   int  // granules to map
	idle     int  // backed granules without other users, which cannot be victims
	blocked  bool // a granule is being mapped or evicted
}

// Reset empties n and keeps its memory.
func (n *Need) Reset() {
	clear(n.granules)
	*n = Need{granules: n.granules[:0]}
}

// CollectRegion adds to n the granules that the elements of region touch and that are not in it
// yet. All calls for one need come between two calls of BeginCollect.
func (r *Residency) CollectRegion(n *Need, region deps.Region, b devices.Buffer) {
	m := r.EnsureMirror(b)
	EachGranules(region, b.Elem, r.size, func(lo, hi int) { r.collect(n, m, lo, hi) })
}

func (r *Residency) collect(n *Need, m *Mirror, lo, hi int) {
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

// BeginCollect starts the collection of a need.
func (r *Residency) BeginCollect() { r.count++ }

// Reserve pins the granules of a need, promises memory to those that are absent and chooses the
// least recently used idle granules as victims. Where there is not enough memory now, it changes
// nothing and reports false.
func (r *Residency) Reserve(n *Need, victims []*Granule) ([]*Granule, bool) {
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

// pin adds a user to a granule, which is not idle then.
func (r *Residency) pin(g *Granule) {
	if g.pins == 0 && g.state == backed {
		r.unlink(g)
	}
	g.pins++
}

// unpin removes a user. A granule without users is the most recently used idle one.
func (r *Residency) unpin(g *Granule) {
	if g.pins--; g.pins < 0 {
		panic(fmt.Sprintf("gompss: bug: coherence: granule %d of buffer %d is unpinned twice", g.index, g.mirror.buffer.ID))
	}
	if g.pins == 0 && g.state == backed {
		r.link(g)
	}
}

// UnpinAll unpins each of granules.
func (r *Residency) UnpinAll(granules []*Granule) {
	for _, g := range granules {
		r.unpin(g)
	}
}

// CommitEvictions says that the first n victims are unmapped, and the others stay backed.
func (r *Residency) CommitEvictions(victims []*Granule, n int) {
	for i, g := range victims {
		r.commitTransition(g, i < n)
	}
}

// CommitMappings says that the device has backed the absent granules among the first count of n,
// and not the others.
func (r *Residency) CommitMappings(n *Need, count int) {
	for i, g := range n.granules {
		if g.state == mapping {
			r.commitTransition(g, i < count)
		}
	}
}

// commitTransition ends the eviction or mapping of a granule, which the device has made or not.
func (r *Residency) commitTransition(g *Granule, happened bool) {
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
		panic(fmt.Sprintf("gompss: bug: coherence: granule %d of buffer %d is committed twice", g.index, g.mirror.buffer.ID))
	}
}

func (r *Residency) link(g *Granule) {
	last := r.idle.prev
	g.prev, g.next = last, &r.idle
	last.next, r.idle.prev = g, g
	r.idleLen++
}

func (r *Residency) unlink(g *Granule) {
	g.prev.next, g.next.prev = g.next, g.prev
	g.prev, g.next = nil, nil
	r.idleLen--
}

// EachEvictedRun calls f with the bytes of each run of neighbours among victims, until f fails. It
// returns how many victims f was called for without failing.
func (r *Residency) EachEvictedRun(victims []*Granule, f func(b deps.BufferID, lo, hi deps.Bytes) error) (int, error) {
	return r.eachRun(victims, evicting, f)
}

// EachMappedRun is EachEvictedRun for the granules of n that are to be mapped.
func (r *Residency) EachMappedRun(n *Need, f func(b deps.BufferID, lo, hi deps.Bytes) error) (int, error) {
	return r.eachRun(n.granules, mapping, f)
}

// Used returns the number of granules that have memory.
func (r *Residency) Used() int { return r.used }

// Limit returns how many granules the device can back.
func (r *Residency) Limit() int { return r.limit }

// Granule returns the size of a granule.
func (r *Residency) Granule() deps.Bytes { return r.size }

// BufferID returns the buffer that g is part of.
func (g *Granule) BufferID() deps.BufferID { return g.mirror.buffer.ID }

// Granules returns the granules of a need. The caller does not change them.
func (n *Need) Granules() []*Granule { return n.granules }

// Unbacked returns how many granules are to be mapped.
func (n *Need) Unbacked() int { return n.absent }

// Backed reports whether all granules are backed.
func (n *Need) Backed() bool { return n.absent == 0 && !n.blocked }

// eachRun calls f with the bytes of each run of neighbours among the granules that are in state,
// until f fails. It returns the number of granules before the run that failed.
func (r *Residency) eachRun(granules []*Granule, state granuleState, f func(b deps.BufferID, lo, hi deps.Bytes) error) (int, error) {
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
		lo, _ := g.span(r.size)
		_, hi := last.span(r.size)
		if err := f(g.mirror.buffer.ID, lo, hi); err != nil {
			return i, err
		}
		i = j
	}
	return len(granules), nil
}

// span returns the bytes [lo, hi) of the buffer that g covers.
func (g *Granule) span(size deps.Bytes) (lo, hi deps.Bytes) {
	lo = deps.Bytes(g.index) * size
	return lo, min(lo+size, g.mirror.buffer.Size)
}

func granuleCount(bytes, size deps.Bytes) int { return int((bytes + size - 1) / size) }

// PinRegion pins the backed granules that the elements of region touch, and returns them: one end
// of a copy. A granule that is being evicted is not pinned: its eviction waits for the copy.
func (r *Residency) PinRegion(region deps.Region, b devices.Buffer) []*Granule {
	var n Need
	r.BeginCollect()
	r.CollectRegion(&n, region, b)
	kept := n.granules[:0]
	for _, g := range n.granules {
		switch g.state {
		case backed:
			r.pin(g)
			kept = append(kept, g)
		case evicting:
		default:
			panic(fmt.Sprintf("gompss: bug: coherence: copy of %v: granule %d is not backed", region, g.index))
		}
	}
	return kept
}

// Leak names a granule or a count that is not as it should be when nothing is in use, or returns
// "".
func (r *Residency) Leak() string {
	idle, used := 0, 0
	for b, m := range r.mirrors {
		for i := 0; m != nil && i < len(m.granules); i++ {
			switch g := &m.granules[i]; {
			case g.pins != 0:
				return fmt.Sprintf("granule %d of buffer %d has %d pins", i, b, g.pins)
			case g.state == backed:
				used++
				idle++
			case g.state != absent:
				return fmt.Sprintf("granule %d of buffer %d is in state %d", i, b, g.state)
			}
		}
	}
	if r.used != used || r.idleLen != idle || r.leaving != 0 || r.promised != 0 {
		return fmt.Sprintf("used %d of %d, idle %d, leaving %d, promised %d", r.used, used, r.idleLen, r.leaving, r.promised)
	}
	return ""
}
