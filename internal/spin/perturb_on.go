//go:build perturb

package spin

import (
	"math/rand/v2"
	"runtime"
	"sync"
	"time"
)

// A Mutex lets others in before and after each of its critical sections.
type Mutex struct{ sync.Mutex }

func (m *Mutex) Lock() {
	Perturb()
	m.Mutex.Lock()
	Perturb()
}

func (m *Mutex) Unlock() {
	Perturb()
	m.Mutex.Unlock()
	Perturb()
}

// Perturb lets other goroutines run, now and then, and at times for a while: orders that are rare
// otherwise.
func Perturb() {
	switch n := rand.Uint32N(64); {
	case n == 0:
		time.Sleep(time.Duration(rand.Uint32N(50)) * time.Microsecond)
	case n < 16:
		runtime.Gosched()
	}
}
