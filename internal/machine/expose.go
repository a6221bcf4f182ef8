package machine

import (
	"fmt"

	"github.com/gompss/gompss/deps"
	"github.com/gompss/gompss/devices"
)

// This file lets libraries access data where they are: in the memory of accelerators that implement
// devices.Exposed. Such a use lasts until another process does its part, which may itself wait for
// kernels of this one. So the uses have memory of their own, that kernels never need: a kernel that
// waited for memory which a message holds could wait for itself.

// messageShare is the share of an accelerator's memory that messages may hold.
const messageShare = 8

// KeepRoom keeps memory of each accelerator with devices.Exposed for PlaceMessage, and reports
// whether there is such an accelerator. It is called before the first working set.
func (m *Machine) KeepRoom() (exposed bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, s := range m.planner.spaces[1:] {
		if _, ok := s.device.Accelerator.(devices.Exposed); ok {
			s.messages, exposed = s.residency.Limit()/messageShare, true
		}
	}
	return exposed
}

// limit returns how many granules a kernel can have.
func (s *space) limit() int { return s.residency.Limit() - s.messages }

// PlaceMessage sets the space of ws, which m is to acquire: the accelerator that alone has what ws
// reads, or has what ws overwrites, if it has room for messages; else the host.
func (ws *WorkingSet) PlaceMessage(m *Machine) {
	ws.Space = devices.Host
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, s := range m.planner.spaces[1:] {
		if s.messages == 0 || s.retired != nil || !m.planner.holds(s, ws.Accesses) {
			continue
		}
		if n := len(m.planner.granulesOf(s, ws.Accesses)); s.held+n <= s.messages {
			s.held += n
			ws.Space, ws.room = s.id, n
			return
		}
	}
}

// holds reports whether s is the place of a message with these accesses. Requires: Machine.mu held.
func (p *planner) holds(s *space, accesses []deps.Access) bool {
	for i := range accesses {
		a := &accesses[i]
		if p.buffers.find(a.Region.Buffer) == nil || a.Mode.Reads() && p.dir.Valid(a.Region, devices.Host) || !p.dir.Valid(a.Region, s.id) {
			return false
		}
	}
	return true
}

// Expose returns the accelerator of a working set that is Ready, and the address of a region there.
func (ws *WorkingSet) Expose(r deps.Region) (on devices.Exposed, at uintptr, err error) {
	m := ws.machine
	p := m.planner.spaces[ws.Space.Device].device
	defer p.recovered("address", &err)
	on, ok := p.Accelerator.(devices.Exposed)
	if !ok {
		return nil, 0, fmt.Errorf("devices: %s: its memory has no addresses", p.name)
	}
	at, err = on.Address(r.Buffer)
	lo, _ := r.Bounds()
	return on, at + uintptr(lo)*uintptr(m.planner.buffers.get(r.Buffer).Elem), err
}
