package devices

import "github.com/gompss/gompss/deps"

// Counters are what has moved since the machine was opened. Copies that failed do not count.
type Counters struct {
	HostToDevice   deps.Bytes
	DeviceToHost   deps.Bytes
	DeviceToDevice deps.Bytes
	Transfers      int64 // copies
	Evictions      int64 // granules given up to make room
	WriteBacks     int64 // copies to the host before an eviction, or under write-through
	Links          []LinkCounter
}

// A LinkCounter is what has moved from one address space to another.
type LinkCounter struct {
	From, To  SpaceID
	Bytes     deps.Bytes
	Transfers int64
}

// Moved returns all bytes that were copied.
func (c *Counters) Moved() deps.Bytes { return c.HostToDevice + c.DeviceToHost + c.DeviceToDevice }

// Settle waits until the copies that were under way when it was called are counted. Kernels are enqueued behind their copies, so what uses
// a copy may be over before the host has heard of it.
func (m *Machine) Settle() {
	m.mu.Lock()
	defer m.mu.Unlock()
	for all := m.arrived + uint64(m.flying); m.flying > 0 && m.arrived < all; {
		m.quiet.Wait()
	}
}

// Counters returns a copy of the counters; Links has those that something went over, by From, then To.
func (m *Machine) Counters() Counters {
	m.mu.Lock()
	defer m.mu.Unlock()
	c := m.counted
	for _, l := range m.links {
		if l.Transfers > 0 {
			c.Links = append(c.Links, l)
		}
	}
	return c
}

// count counts a copy that was made. Requires: m.mu held.
func (m *Machine) count(f *Flight) {
	size := f.Size()
	switch {
	case f.From == Host:
		m.counted.HostToDevice += size
	case f.To == Host:
		m.counted.DeviceToHost += size
	default:
		m.counted.DeviceToDevice += size
	}
	m.counted.Transfers++
	if m.links == nil {
		m.links = make([]LinkCounter, len(m.spaces)*len(m.spaces))
	}
	l := &m.links[int(f.From.Device)*len(m.spaces)+int(f.To.Device)]
	l.From, l.To = f.From, f.To
	l.Bytes += size
	l.Transfers++
}
