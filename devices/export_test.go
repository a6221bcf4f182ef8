package devices

import "fmt"

// ParseSpec is parseSpec.
var ParseSpec = parseSpec

// EachGranules is eachGranules.
var EachGranules = eachGranules

// Leak waits for copies under way and says what a machine still holds that it should not, or "".
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
