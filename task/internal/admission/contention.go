package admission

import (
	"sync/atomic"

	"github.com/gompss/gompss/internal/spin"
)

// A Contention says whether several goroutines submit kernel tasks in alternation. The threads of
// accelerators poll it, so it is written only when it changes.
type Contention struct {
	on atomic.Bool
	_  spin.Line
}

func (c *Contention) Contended() bool { return c.on.Load() }

// Submitters is the state from which contention is found.
type Submitters struct {
	latest    uintptr // the goroutine of the latest submission
	remaining int     // submissions by one goroutine until contention ends
}

// contentionLasts is the number of consecutive submissions by one goroutine that end contention. It
// is larger than half a window, so that a goroutine that is woken first when the window empties
// does not end it while the others are being woken.
const contentionLasts = 2 * DefaultLimit

// Observe records the submitting goroutine. Submissions count as contended only while at least two
// goroutines alternate.
func (t *Submitters) Observe(by uintptr, c *Contention) {
	switch {
	case by != t.latest:
		if t.remaining > 0 && !c.Contended() {
			c.on.Store(true)
		}
		if t.latest != 0 {
			t.remaining = contentionLasts
		}
		t.latest = by
	case t.remaining > 0:
		if t.remaining--; t.remaining == 0 && c.Contended() {
			c.on.Store(false)
		}
	}
}
