package goid

import "sync"

// A Set is goroutines, each with the number of times that it entered. The zero Set is empty. Its
// methods are called by any goroutine.
//
// A goroutine leaves before it ends, as a later one may be told apart by the same value.
type Set struct {
	mu     sync.RWMutex
	counts map[uintptr]int
}

// Enter adds the calling goroutine, and returns what takes it out again, on the same goroutine.
// Cost: a lock; it is for what lasts, not for every task.
func (s *Set) Enter() (leave func()) {
	g := Of()
	s.add(g, 1)
	return func() { s.add(g, -1) }
}

func (s *Set) add(g uintptr, n int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.counts == nil {
		s.counts = map[uintptr]int{}
	}
	if s.counts[g] += n; s.counts[g] == 0 {
		delete(s.counts, g)
	}
}

// Has reports whether the calling goroutine is in the set.
func (s *Set) Has() bool {
	g := Of()
	s.mu.RLock()
	defer s.mu.RUnlock()
	return s.counts[g] > 0
}
