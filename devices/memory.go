package devices

import (
	"errors"
	"fmt"
	"slices"

	"github.com/gompss/gompss/codegen/ir"
	"github.com/gompss/gompss/deps"
)

// Fetch makes regions valid on the host and then calls done, which must not block. What is lost is an error
// (*LostError); the rest arrives all the same before done is called. The modes of the accesses do not matter.
func (m *Machine) Fetch(accesses []deps.Access, done func(error)) { m.toHost(accesses, deps.In, done) }

// Claim is Fetch for regions that the host is about to write: they are valid there and nowhere else then.
func (m *Machine) Claim(accesses []deps.Access, done func(error)) {
	m.toHost(accesses, deps.InOut, done)
}

func (m *Machine) toHost(accesses []deps.Access, mode deps.Mode, done func(error)) {
	ws := &WorkingSet{Space: Host, Label: "fetch", Accesses: make([]deps.Access, len(accesses))}
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

// DropBuffer forgets a buffer and frees its mirrors. It waits for copies under way; no working set may use the buffer
// any more. The host has what was valid there before: Fetch first what is still wanted.
func (m *Machine) DropBuffer(b deps.BufferID) error {
	m.mu.Lock()
	if m.known(b) == nil {
		m.mu.Unlock()
		return fmt.Errorf("devices: drop of buffer %d: %w", b, ErrUnknownBuffer)
	}
	for m.dir.InFlight(b) || m.unsettled(b) {
		m.quiet.Wait()
	}
	var mirrors []*space
	for _, s := range m.spaces[1:] {
		if mirror := s.held.mirrorOf(b); mirror != nil {
			s.held.detach(mirror)
			mirrors = append(mirrors, s)
		}
	}
	m.dir.Drop(b)
	m.setBuffer(b, nil)
	m.mu.Unlock()
	var errs []error
	for _, s := range mirrors {
		errs = append(errs, m.dropMirror(s, b))
	}
	m.drive()
	return errors.Join(errs...)
}

// unsettled reports whether some granule of a buffer is being mapped or evicted. Requires: m.mu held.
func (m *Machine) unsettled(b deps.BufferID) bool {
	for _, s := range m.spaces[1:] {
		if mirror := s.held.mirrorOf(b); mirror != nil && mirror.unsettled() {
			return true
		}
	}
	return false
}

// dropMirror frees a detached mirror at its device, and its room for others.
func (m *Machine) dropMirror(s *space, b deps.BufferID) error {
	m.mu.Lock()
	reserved := s.held.mirrorOf(b).reserved.Load()
	m.mu.Unlock()
	var err error
	if reserved {
		err = s.device.Release(b)
	}
	m.mu.Lock()
	s.held.drop(b)
	m.serve(s)
	m.mu.Unlock()
	return err
}

// CheckFits reports whether a task with these accesses can ever run on d, as far as memory goes.
//
// Errors: *NoSpaceError. Cost: O(granule ranges) while a rough sum fits; beyond that the granules are counted exactly.
func (m *Machine) CheckFits(accesses []deps.Access, d Device) error {
	id := m.SpaceOf(d)
	if id == Host {
		return nil
	}
	s := m.spaces[id.Device]
	sum := 0
	for i := range accesses {
		eachGranules(accesses[i].Region, m.buffer(accesses[i].Region.Buffer).Elem, s.held.size, func(lo, hi int) { sum += hi - lo })
	}
	if sum <= s.held.limit {
		return nil
	}
	if n := len(m.granulesOf(s, accesses)); n > s.held.limit {
		return m.noSpace(s, accesses, "", ir.Pos{}, n)
	}
	return nil
}

// A granuleName is a granule that may not exist yet.
type granuleName struct {
	buffer deps.BufferID
	index  int
}

// granulesOf returns the granules that accesses touch, each once.
func (m *Machine) granulesOf(s *space, accesses []deps.Access) map[granuleName]struct{} {
	out := make(map[granuleName]struct{})
	for _, a := range accesses {
		eachGranules(a.Region, m.buffer(a.Region.Buffer).Elem, s.held.size, func(lo, hi int) {
			for i := lo; i < hi; i++ {
				out[granuleName{a.Region.Buffer, i}] = struct{}{}
			}
		})
	}
	return out
}

// noSpace makes the error of a working set of n granules that is larger than the memory of s.
func (m *Machine) noSpace(s *space, accesses []deps.Access, label string, pos ir.Pos, n int) error {
	e := &NoSpaceError{
		Device:  s.name,
		Label:   label,
		Pos:     pos,
		Need:    deps.Bytes(n) * s.held.size,
		Memory:  deps.Bytes(s.held.limit) * s.held.size,
		Granule: s.held.size,
	}
	for i := range accesses {
		if size := deps.Bytes(len(m.granulesOf(s, accesses[i:i+1]))) * s.held.size; size > e.Size {
			e.Size, e.Largest = size, accesses[i].Region
		}
	}
	return e
}

// MissingBytes returns how many bytes would have to be copied to run a task with these accesses in a space now.
//
// Cost: one atomic load an access for buffers that no accelerator has to do with; else O(replicas that overlap).
func (m *Machine) MissingBytes(accesses []deps.Access, to SpaceID) deps.Bytes {
	var sum deps.Bytes
	locked := false
	s := m.spaces[max(1, int(to.Device))%len(m.spaces)] // what is valid on the host changes only where all are locked
	for i := range accesses {
		a := &accesses[i]
		b := m.buffer(a.Region.Buffer)
		switch {
		case !a.Mode.Reads():
		case b.away.Load():
			if !locked {
				lock(&s.mu)
				locked = true
			}
			sum += m.dir.Missing(*a, to)
		case to != Host:
			sum += deps.Bytes(a.Region.Len()) * b.Elem
		}
	}
	if locked {
		s.mu.Unlock()
	}
	return sum
}

// GuessMissing is MissingBytes as of a moment ago: it does not wait for others where each buffer was written as a whole last.
//
// Cost: one atomic load an access there.
func (m *Machine) GuessMissing(accesses []deps.Access, to SpaceID) deps.Bytes {
	var sum deps.Bytes
	for i := range accesses {
		a := &accesses[i]
		if !a.Mode.Reads() {
			continue
		}
		b := m.buffer(a.Region.Buffer)
		at := b.sole.Load() - 1
		if at < 0 {
			return m.MissingBytes(accesses, to)
		}
		if at != int32(to.Device) {
			sum += deps.Bytes(a.Region.Len()) * b.Elem
		}
	}
	return sum
}

// wrote notes that a task has written r in a space, or is about to and nobody can come in between. Requires: m.mu held.
func (m *Machine) wrote(r deps.Region, at SpaceID) {
	b := m.buffer(r.Buffer)
	sole := int32(at.Device) + 1
	if b.sole.Load() == sole {
		return
	}
	if deps.Bytes(r.Len())*b.Elem != b.Size {
		sole = 0
	}
	b.sole.Store(sole)
}

// ReturnBytes returns how many bytes would have to be copied to run the task again on an accelerator after it has run on the host:
// what it writes, in buffers that an accelerator has to do with. Data that are the host's alone have no home to return to.
//
// Cost: one atomic load an access that writes.
func (m *Machine) ReturnBytes(accesses []deps.Access) deps.Bytes {
	var sum deps.Bytes
	for i := range accesses {
		a := &accesses[i]
		if b := m.buffer(a.Region.Buffer); a.Mode.Writes() && b.away.Load() {
			sum += deps.Bytes(a.Region.Len()) * b.Elem
		}
	}
	return sum
}

// launching reports whether somebody launches a kernel past the steps.
func (m *Machine) launching() bool {
	return slices.ContainsFunc(m.spaces, func(s *space) bool { return s.direct.Load() > 0 })
}

// Close waits for what is in flight and closes the devices. Nothing is written back: fetch first. Calls after the
// first do nothing.
func (m *Machine) Close() error {
	if m.closed.Swap(true) {
		return nil
	}
	m.mu.Lock()
	for m.flying > 0 || m.driving || m.launching() || len(m.steps) > 0 {
		m.quiet.Wait()
	}
	m.mu.Unlock()
	var errs []error
	for _, d := range m.devices {
		errs = append(errs, d.Close())
	}
	return errors.Join(errs...)
}
