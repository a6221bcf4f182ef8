package admission

import (
	"sync"
	"sync/atomic"
	"time"

	"github.com/gompss/gompss/internal/goid"
	"github.com/gompss/gompss/internal/spin"
)

// ActiveCallers counts the calls that use the runtime with no task in the window yet, so that Close
// waits for them. A call that finds the runtime closed returns at once: either it sees that, or
// Close sees the call.
//
// The count is split into stripes, so that callers share no cache line. wait can look at one stripe
// after the other, since no call stays that begins after the runtime was closed.
type ActiveCallers struct {
	stripes [callerStripes]callerStripe
	closing atomic.Bool
	mu      sync.Mutex
	left    sync.Cond
}

const callerStripes = 64 // a power of 2

type callerStripe struct {
	n atomic.Int64
	_ spin.Line
}

// stripe returns the stripe of the calling goroutine.
func (g *ActiveCallers) stripe() *callerStripe {
	const mix = 0x9e3779b97f4a7c15
	return &g.stripes[uint64(goid.Of())*mix>>58%callerStripes]
}

func (g *ActiveCallers) Enter() { g.stripe().n.Add(1) }

// Leave ends a call, on the goroutine that called enter.
func (g *ActiveCallers) Leave() {
	if g.stripe().n.Add(-1) == 0 && g.closing.Load() {
		g.mu.Lock()
		g.left.Broadcast()
		g.mu.Unlock()
	}
}

// Wait waits until there are no callers. Requires: the runtime is closed.
func (g *ActiveCallers) Wait() {
	g.left.L = &g.mu
	g.closing.Store(true)
	g.mu.Lock()
	defer g.mu.Unlock()
	for i := range g.stripes {
		for g.stripes[i].n.Load() > 0 {
			g.left.Wait()
		}
	}
}

// WaitForCurrent returns when all calls have ended that were active when it was called. It polls,
// as a stripe counts later calls too.
func (g *ActiveCallers) WaitForCurrent() {
	const longest = time.Millisecond
	for i := range g.stripes {
		for pause := time.Microsecond; g.stripes[i].n.Load() > 0; pause = min(2*pause, longest) {
			time.Sleep(pause)
		}
	}
}

// None reports whether no call is active.
func (g *ActiveCallers) None() bool {
	for i := range g.stripes {
		if g.stripes[i].n.Load() > 0 {
			return false
		}
	}
	return true
}
