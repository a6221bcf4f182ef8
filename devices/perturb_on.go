//go:build perturb

package devices

import (
	"math/rand/v2"
	"runtime"
	"sync"
	"time"
)

// A mutex lets others in before and after each of its critical sections.
type mutex struct{ sync.Mutex }

func (m *mutex) Lock() {
	perturb()
	m.Mutex.Lock()
	perturb()
}

func (m *mutex) Unlock() {
	perturb()
	m.Mutex.Unlock()
	perturb()
}

// perturb lets other goroutines run, now and then, and now and then for a while: orders that are rare otherwise.
func perturb() {
	switch n := rand.Uint32N(64); {
	case n == 0:
		time.Sleep(time.Duration(rand.Uint32N(50)) * time.Microsecond)
	case n < 16:
		runtime.Gosched()
	}
}
