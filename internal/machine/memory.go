package machine

import (
	"errors"
	"fmt"
	"slices"

	"github.com/gompss/gompss/codegen/ir"
	"github.com/gompss/gompss/deps"
	"github.com/gompss/gompss/devices"
	"github.com/gompss/gompss/internal/coherence"
	"github.com/gompss/gompss/internal/spin"
)

// Fetch makes regions valid on the host and then calls done, which must not block. The modes of the
// accesses do not matter.
//
// Errors: *devices.LostError; the rest arrives before done is called.
func (m *Machine) Fetch(accesses []deps.Access, done func(error)) { m.toHost(accesses, deps.In, done) }

// Claim is Fetch for regions that the host is about to write: they are valid there and nowhere else
// then.
func (m *Machine) Claim(accesses []deps.Access, done func(error)) {
	m.toHost(accesses, deps.InOut, done)
}

// OnlyOnHost reports whether no accelerator has, or is getting, some of a buffer. No task in flight
// may use the buffer.
//
// Cost: one atomic load.
func (m *Machine) OnlyOnHost(b deps.BufferID) bool { return !m.planner.buffers.get(b).offHost.Load() }

func (m *Machine) toHost(accesses []deps.Access, mode deps.Mode, done func(error)) {
	ws := &WorkingSet{Space: devices.Host, Label: "fetch", Accesses: make([]deps.Access, len(accesses))}
	for i, a := range accesses {
		ws.Accesses[i] = deps.Access{Region: a.Region, Mode: mode}
	}
	ws.Ready = func(ws *WorkingSet, err error) {
		m.ReleaseSet(ws, err)
		done(err)
	}
	if m.Acquire(ws) {
		ws.Ready(ws, nil)
	}
}

// DropBuffer removes a buffer and frees its mirrors. It waits for pending copies. What is valid on
// the host stays; Fetch the rest before. Requires: no working set uses the buffer.
func (m *Machine) DropBuffer(b deps.BufferID) error {
	m.mu.Lock()
	known := m.planner.buffers.find(b)
	if known == nil {
		m.mu.Unlock()
		return fmt.Errorf("devices: drop of buffer %d: %w", b, devices.ErrUnknownBuffer)
	}
	m.await(func() bool { return !m.planner.dir.HasPendingCopies(b) && !m.planner.inTransition(b) })
	var mirrors []*space
	for _, s := range m.planner.spaces[1:] {
		if mirror := s.residency.MirrorOf(b); mirror != nil {
			s.residency.Detach(mirror)
			mirrors = append(mirrors, s)
		}
	}
	m.planner.dir.Drop(b)
	m.planner.buffers.set(b, nil)
	m.mu.Unlock()
	var errs []error
	for _, s := range mirrors {
		errs = append(errs, m.dropMirror(s, known))
	}
	m.runner.runActions()
	return errors.Join(errs...)
}

// dropMirror frees a detached mirror at its device, and its memory for others.
func (m *Machine) dropMirror(s *space, b *buffer) error {
	var err error
	if b.isKnownAt(s.id) {
		err = s.device.Release(b.ID)
	}
	m.mu.Lock()
	s.residency.Drop(b.ID)
	m.planner.admitWaiting(s)
	m.mu.Unlock()
	return err
}

// CheckFits reports whether a task with these accesses can ever run on d, as far as memory goes.
//
// Errors: *devices.NoSpaceError. Cost: O(granule ranges) while a rough sum fits; beyond that the
// granules are counted exactly.
func (m *Machine) CheckFits(accesses []deps.Access, d devices.Device) error {
	id := m.SpaceOf(d)
	if id == devices.Host {
		return nil
	}
	s := m.planner.spaces[id.Device]
	sum := 0
	for i := range accesses {
		coherence.EachGranules(accesses[i].Region, m.planner.buffers.get(accesses[i].Region.Buffer).Elem, s.residency.Granule(), func(lo, hi int) { sum += hi - lo })
	}
	if sum <= s.limit() {
		return nil
	}
	if n := len(m.planner.granulesOf(s, accesses)); n > s.limit() {
		return m.planner.noSpace(s, accesses, "", ir.Pos{}, n)
	}
	return nil
}

// A granuleName is a granule that may not exist yet.
type granuleName struct {
	buffer deps.BufferID
	index  int
}

// MissingBytes returns how many bytes would have to be copied to run a task with these accesses in
// a space now.
//
// Cost: one atomic load an access for buffers that are on the host alone; else O(replicas that
// overlap).
func (m *Machine) MissingBytes(accesses []deps.Access, to devices.SpaceID) deps.Bytes {
	var sum deps.Bytes
	locked := false
	// What is valid on the host changes only under all locks: any of them will do there.
	s := m.planner.spaces[max(1, int(to.Device))%len(m.planner.spaces)]
	for i := range accesses {
		a := &accesses[i]
		b := m.planner.buffers.get(a.Region.Buffer)
		switch {
		case !a.Mode.Reads():
		case b.offHost.Load():
			if !locked {
				spin.LockLong(&s.mu)
				locked = true
			}
			sum += m.planner.dir.Missing(*a, to)
		case to != devices.Host:
			sum += deps.Bytes(a.Region.Len()) * b.Elem
		}
	}
	if locked {
		s.mu.Unlock()
	}
	return sum
}

// GuessMissing is MissingBytes with recent values: it takes no lock where each buffer was last
// written as a whole.
//
// Cost: one atomic load an access there.
func (m *Machine) GuessMissing(accesses []deps.Access, to devices.SpaceID) deps.Bytes {
	var sum deps.Bytes
	for i := range accesses {
		a := &accesses[i]
		if !a.Mode.Reads() {
			continue
		}
		b := m.planner.buffers.get(a.Region.Buffer)
		at := b.exclusiveSpace.Load() - 1
		if at < 0 {
			return m.MissingBytes(accesses, to)
		}
		if at != int32(to.Device) {
			sum += deps.Bytes(a.Region.Len()) * b.Elem
		}
	}
	return sum
}

// ReturnBytes returns how many bytes would have to be copied to run the task on an accelerator
// again after it has run on the host: what it writes, in buffers that are not on the host alone.
//
// Cost: one atomic load an access that writes.
func (m *Machine) ReturnBytes(accesses []deps.Access) deps.Bytes {
	var sum deps.Bytes
	for i := range accesses {
		a := &accesses[i]
		if b := m.planner.buffers.get(a.Region.Buffer); a.Mode.Writes() && b.offHost.Load() {
			sum += deps.Bytes(a.Region.Len()) * b.Elem
		}
	}
	return sum
}

// anyLaunching reports whether a goroutine launches a kernel past the actions.
func (r *runner) anyLaunching() bool {
	return slices.ContainsFunc(r.planner.spaces, func(s *space) bool { return s.launching.Load() > 0 })
}

// Close waits for pending work and closes the devices. It writes nothing back: Fetch before. Later
// calls do nothing.
func (m *Machine) Close() error {
	if m.planner.closed.Swap(true) {
		return nil
	}
	m.mu.Lock()
	m.await(func() bool {
		return m.planner.pending == 0 && !m.runner.running && !m.runner.anyLaunching() && len(m.planner.actions) == 0
	})
	m.mu.Unlock()
	var errs []error
	for _, d := range m.devices {
		errs = append(errs, closePlugin(d))
	}
	for _, s := range m.planner.spaces[1:] {
		if e := s.device.broke.Load(); e != nil {
			errs = append(errs, e)
		}
	}
	return errors.Join(errs...)
}

// granulesOf returns the granules that accesses touch, each once.
func (p *planner) granulesOf(s *space, accesses []deps.Access) map[granuleName]struct{} {
	out := make(map[granuleName]struct{})
	for _, a := range accesses {
		coherence.EachGranules(a.Region, p.buffers.get(a.Region.Buffer).Elem, s.residency.Granule(), func(lo, hi int) {
			for i := lo; i < hi; i++ {
				out[granuleName{a.Region.Buffer, i}] = struct{}{}
			}
		})
	}
	return out
}

// noSpace returns the error of a working set of n granules that exceeds the memory of s.
func (p *planner) noSpace(s *space, accesses []deps.Access, label string, pos ir.Pos, n int) error {
	e := &devices.NoSpaceError{
		Device:  s.name,
		Label:   label,
		Pos:     pos,
		Need:    deps.Bytes(n) * s.residency.Granule(),
		Memory:  deps.Bytes(s.limit()) * s.residency.Granule(),
		Granule: s.residency.Granule(),
	}
	for i := range accesses {
		if size := deps.Bytes(len(p.granulesOf(s, accesses[i:i+1]))) * s.residency.Granule(); size > e.Size {
			e.Size, e.Largest = size, accesses[i].Region
		}
	}
	return e
}

// WaitsForMemory reports whether a working set waits until its device has room for it. An observer
// may ask at any time; the answer is "" where it does not, else what it waits for.
func (m *Machine) WaitsForMemory(ws *WorkingSet) string {
	m.mu.Lock()
	defer m.mu.Unlock()
	switch ws.state {
	case waitingSet:
		return "memory of the device"
	case evictingSet:
		return "memory of the device, of which others are written back"
	}
	return ""
}
