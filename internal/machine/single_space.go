package machine

import (
	"slices"
	"time"

	"github.com/gompss/gompss/devices"
	"github.com/gompss/gompss/internal/coherence"
	"github.com/gompss/gompss/internal/spin"
)

// This file starts and releases kernels on different accelerators in parallel.
//
// Each space has a lock, and Machine.mu includes all of them. The usual kernel finds all that it
// reads valid where it runs, all granules backed, and what it writes nowhere else. Then it concerns
// only what the directory keeps of that one space, and the lock of that space is enough. A kernel
// that finds anything else takes the path of all others, under Machine.mu.
//
// While a space is the exclusiveSpace of a buffer, the values are available and nowhere else,
// nothing of it is being copied, and kernels elsewhere that used it have ended: the lists of other
// spaces do not change while that space alone is locked.

// startSingleSpace is Start for a kernel that concerns its own space alone: on success ws holds its
// granules, and ws.events are what its kernel waits for. Otherwise it reports false and has changed
// nothing.
func (r *runner) startSingleSpace(ws *WorkingSet) bool {
	if ws.Ready != nil || !r.planner.knowsBuffers(ws.Space, ws.launch) || !r.grantSingleSpace(ws) {
		return false
	}
	ws.events = eventsOf(ws.events[:0], ws.waits) // operations with users do not change
	return true
}

// MaxBatch is the most items of one StartBatch.
const MaxBatch = 8

// A BatchItem is the arguments of one Start.
type BatchItem struct {
	Set    *WorkingSet
	Launch *devices.Launch
}

// StartBatch is Start for several working sets on one accelerator, none of which waits for another.
// It takes the lock of the space twice for all of them, as completions there wait for that lock.
func (m *Machine) StartBatch(list []BatchItem) {
	var each [MaxBatch]struct {
		granted, begun bool
		end            devices.Event
		asked          time.Duration
	}
	s, n := m.planner.spaces[list[0].Set.Space.Device], int32(0)
	for i, l := range list {
		m.prepareStart(l.Set, l.Launch)
		each[i].granted = l.Set.Ready == nil && m.planner.knowsBuffers(l.Set.Space, l.Launch)
	}
	spin.LockLong(&s.mu)
	for i, l := range list {
		if each[i].granted = each[i].granted && m.planner.grantLocked(l.Set, s); each[i].granted {
			n++
		}
	}
	s.mu.Unlock()
	for i, l := range list {
		if each[i].granted {
			l.Set.events = eventsOf(l.Set.events[:0], l.Set.waits)
			each[i].end, each[i].asked = m.runner.issueKernel(l.Set)
		}
	}
	spin.LockLong(&s.mu)
	for i, l := range list {
		each[i].begun = each[i].granted && l.Set.Launched != nil && m.planner.beginLocked(l.Set, s, each[i].end)
	}
	s.mu.Unlock()
	for i, l := range list {
		e := &each[i]
		if !e.granted {
			continue
		}
		if e.begun || l.Set.Launched != nil && m.runner.beginGlobal(l.Set, e.end) {
			l.Set.Launched(l.Set)
		}
		m.runner.awaitKernel(l.Set, e.end, e.asked)
	}
	if n > 0 {
		m.runner.endLaunching(s, n)
	}
	for i, l := range list {
		if !each[i].granted && m.runner.startGlobal(l.Set) {
			m.runner.launchNow(l.Set)
			m.runner.endLaunching(s, 1)
		}
	}
}

// grantSingleSpace is grantLocked for callers that do not hold the lock of the space.
func (r *runner) grantSingleSpace(ws *WorkingSet) bool {
	s := r.planner.spaces[ws.Space.Device]
	spin.LockLong(&s.mu)
	defer s.mu.Unlock()
	return r.planner.grantLocked(ws, s)
}

// reserve makes a buffer known to the device of s.
func (r *runner) reserve(s *space, b *buffer) error {
	if b.isKnownAt(s.id) {
		return nil
	}
	if err := s.device.Reserve(b.Buffer); err != nil {
		return err
	}
	b.knownAt.Or(1 << s.id.Device)
	return nil
}

// beginSingleSpace is beginLocked for callers that do not hold the lock of the space.
func (r *runner) beginSingleSpace(ws *WorkingSet, e devices.Event) bool {
	s := r.planner.spaces[ws.Space.Device]
	spin.LockLong(&s.mu)
	defer s.mu.Unlock()
	return r.planner.beginLocked(ws, s, e)
}

// releaseSingleSpace is releaseLocked for callers that do not hold the lock of the space.
func (r *runner) releaseSingleSpace(ws *WorkingSet) bool {
	if ws.Space == devices.Host || len(ws.kernel) == 0 || slices.ContainsFunc(ws.waits, (*coherence.Operation).IsCopy) {
		return false
	}
	s := r.planner.spaces[ws.Space.Device]
	spin.LockLong(&s.mu)
	defer s.mu.Unlock()
	return r.planner.releaseLocked(ws, s)
}
