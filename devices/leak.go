package devices

import (
	"fmt"

	"github.com/gompss/gompss/deps"
)

// Leak waits for copies under way and says what the machine still holds that it should not hold when no working set is in use, or
// "": pins, promises of memory, flights, working sets that wait.
//
// Cost: O(buffers x granules).
func (m *Machine) Leak() string {
	m.mu.Lock()
	defer m.mu.Unlock()
	for m.driving || len(m.steps) > 0 || m.flying > 0 {
		m.quiet.Wait()
	}
	for b, e := range m.dir.buffers {
		for s := 0; e != nil && s < len(e.at); s++ {
			if len(e.at[s].in)+len(e.at[s].out) > 0 {
				return fmt.Sprintf("buffer %d has flights at space %d", b, s)
			}
		}
	}
	for _, s := range m.spaces[1:] {
		if leak := s.held.leak(); leak != "" || s.waiting.head != nil {
			return fmt.Sprintf("%s: %s, waiting %t", s.name, leak, s.waiting.head != nil)
		}
	}
	return ""
}

// Held returns the bytes that mirrors take on accelerators.
func (m *Machine) Held() (sum deps.Bytes) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for _, s := range m.spaces[1:] {
		sum += deps.Bytes(s.held.used) * s.held.size
	}
	return sum
}

// leak says what of a residency is not as it should be when nothing is in use, or "".
func (r *residency) leak() string {
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
