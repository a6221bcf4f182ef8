package sim

import (
	"math/rand/v2"
	"runtime"
	"sync"
	"sync/atomic"
	"time"
)

// An attendant calls what it was given while it is awake, for a while each time, and then sleeps
// for a while: so that all orders of its coming and going with what is left to it are met.
type attendant struct {
	done  sync.WaitGroup
	awake atomic.Bool
	over  chan struct{}
}

// Attend has f called by the attendant, if there is one.
func (d *Device) Attend(f func() bool, _ func() bool) {
	if !d.options.Attended {
		return
	}
	a := &d.attendant
	a.over = make(chan struct{})
	a.done.Go(func() { a.run(f) })
}

// Attends reports whether the attendant is awake.
func (d *Device) Attends() bool { return d.attendant.awake.Load() }

func (a *attendant) run(f func() bool) {
	for {
		a.awake.Store(true)
		for range rand.IntN(100) {
			f()
			runtime.Gosched()
		}
		a.awake.Store(false)
		f()
		select {
		case <-a.over:
			return
		case <-time.After(time.Duration(rand.IntN(100)) * time.Microsecond):
		}
	}
}

func (a *attendant) stop() {
	if a.over != nil {
		close(a.over)
		a.done.Wait()
	}
}
