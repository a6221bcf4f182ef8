package machine

import (
	"fmt"

	"github.com/gompss/gompss/deps"
	"github.com/gompss/gompss/devices"
	"github.com/gompss/gompss/internal/coherence"
)

// Counters are what has moved since the machine was opened. Copies that failed do not count.
type Counters struct {
	HostToDevice   deps.Bytes
	DeviceToHost   deps.Bytes
	DeviceToDevice deps.Bytes
	Transfers      int64 // copies
	Evictions      int64 // granules unmapped to free memory
	WriteBacks     int64 // copies to the host before an eviction, or under write-through
	Links          []LinkCounter
}

// A LinkCounter is what was copied from one address space to another.
type LinkCounter struct {
	From, To  devices.SpaceID
	Bytes     deps.Bytes
	Transfers int64
}

// Moved returns all bytes that were copied.
func (c *Counters) Moved() deps.Bytes { return c.HostToDevice + c.DeviceToHost + c.DeviceToDevice }

// WaitForTransfers waits until the copies that were pending when it was called are counted. A
// kernel is issued after its copies, so a task may finish before the host has observed that they
// completed.
func (m *Machine) WaitForTransfers() {
	m.mu.Lock()
	defer m.mu.Unlock()
	all := m.planner.completed + uint64(m.planner.pending)
	m.await(func() bool { return m.planner.pending == 0 || m.planner.completed >= all })
}

// Counters returns a copy of the counters. Links has the links that were used, by From, then To.
func (m *Machine) Counters() Counters {
	m.mu.Lock()
	defer m.mu.Unlock()
	c := m.planner.counters
	for _, l := range m.planner.links {
		if l.Transfers > 0 {
			c.Links = append(c.Links, l)
		}
	}
	return c
}

// count counts a copy that succeeded. Requires: Machine.mu held.
func (p *planner) count(op *coherence.Operation) {
	size := op.Size()
	switch {
	case op.From == devices.Host:
		p.counters.HostToDevice += size
	case op.To == devices.Host:
		p.counters.DeviceToHost += size
	default:
		p.counters.DeviceToDevice += size
	}
	p.counters.Transfers++
	if p.links == nil {
		p.links = make([]LinkCounter, len(p.spaces)*len(p.spaces))
	}
	l := &p.links[int(op.From.Device)*len(p.spaces)+int(op.To.Device)]
	l.From, l.To = op.From, op.To
	l.Bytes += size
	l.Transfers++
}

// Leak waits for pending copies and names what the machine still holds and should not hold when no
// working set is in use, or returns "": pins, promised memory, operations, waiting working sets.
//
// Cost: O(buffers x granules).
func (m *Machine) Leak() string {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.await(func() bool { return !m.runner.running && len(m.planner.actions) == 0 && m.planner.pending == 0 })
	if leak := m.planner.dir.Leak(); leak != "" {
		return leak
	}
	for _, s := range m.planner.spaces[1:] {
		if leak := s.residency.Leak(); leak != "" || s.queue.head != nil {
			return fmt.Sprintf("%s: %s, waiting %t", s.name, leak, s.queue.head != nil)
		}
	}
	return ""
}

// Held returns the bytes that mirrors take on accelerators.
func (m *Machine) Held() (sum deps.Bytes) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, s := range m.planner.spaces[1:] {
		sum += deps.Bytes(s.residency.Used()) * s.residency.Granule()
	}
	return sum
}
