package machine

import "github.com/gompss/gompss/internal/spin"

// A machineLock consists of a lock of its own and those of all spaces but the host.
type machineLock struct {
	first  spin.Mutex
	spaces []*space
}

// Lock locks g, always in the same order.
func (g *machineLock) Lock() {
	spin.LockLong(&g.first)
	for _, s := range g.spaces {
		spin.LockLong(&s.mu)
	}
}

// Unlock unlocks g.
func (g *machineLock) Unlock() {
	for _, s := range g.spaces {
		s.mu.Unlock()
	}
	g.first.Unlock()
}
