package taskbench

import (
	"sync/atomic"
	"time"
)

// A kernel is the work of a task: so many steps of an arithmetic loop, each of which needs the one
// before. 0 is an empty task.
type kernel int

// sink keeps the loop from being removed.
var sink atomic.Uint64

func (k kernel) run() {
	if k == 0 {
		return
	}
	x := uint64(k)
	for range int(k) {
		x ^= x << 13
		x ^= x >> 7
		x ^= x << 17
	}
	if x == 0 { // never, but the compiler does not know
		sink.Add(1)
	}
}

// cost returns how long one kernel takes by itself: the quickest of some batches.
func (k kernel) cost() time.Duration {
	best := time.Duration(1 << 62)
	batch := max(1, 200_000/(int(k)+1))
	for range 15 {
		began := time.Now()
		for range batch {
			k.run()
		}
		best = min(best, time.Since(began))
	}
	return best / time.Duration(batch)
}
