package sim

import (
	"math/rand/v2"
	"runtime"
	"sync"
	"sync/atomic"
	"time"
)

// A launchHelper calls the launch function while it is awake, and sleeps in between. Both periods
// are random, so that tests meet it in both states at every point.
type launchHelper struct {
	done     sync.WaitGroup
	awake    atomic.Bool
	stopping chan struct{}
}

// StartHelper starts the launch helper, if the options enable it.
func (d *Device) StartHelper(launch func() bool, _ func() bool) {
	if !d.options.LaunchHelper {
		return
	}
	a := &d.helper
	a.stopping = make(chan struct{})
	a.done.Go(func() { a.run(launch) })
}

// HelperAwake reports whether the launch helper is awake.
func (d *Device) HelperAwake() bool { return d.helper.awake.Load() }

func (a *launchHelper) run(launch func() bool) {
	for {
		a.awake.Store(true)
		for range rand.IntN(100) {
			launch()
			runtime.Gosched()
		}
		a.awake.Store(false)
		launch()
		select {
		case <-a.stopping:
			return
		case <-time.After(time.Duration(rand.IntN(100)) * time.Microsecond):
		}
	}
}

func (a *launchHelper) stop() {
	if a.stopping != nil {
		close(a.stopping)
		a.done.Wait()
	}
}
