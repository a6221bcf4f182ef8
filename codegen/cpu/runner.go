package cpu

import (
	"sync/atomic"
	"time"
)

// callTime is how long one call of generated code shall take: the goroutine can be stopped between calls only.
const callTime = 50 * time.Microsecond

// A Runner runs a program in calls of about 50 microseconds, between which the goroutine can be stopped. Any number of goroutines may use
// it at once; they share what it has learnt about the time of an iteration.
type Runner struct {
	Program *Program
	each    atomic.Int64 // picoseconds that one iteration took lately
}

// Each is how long an iteration took lately, 0 before the first run.
func (r *Runner) Each() (picoseconds int64) { return r.each.Load() }

// Batch is the least number of iterations that keeps every vector of a round busy.
func (r *Runner) Batch() int64 { return r.Program.Code.round() }

// Grain is how many iterations take about the time of a call, in whole rounds.
func (r *Runner) Grain() int64 {
	n := int64(1)
	if each := r.each.Load(); each > 0 {
		n = int64(callTime) * 1000 / each
	}
	return max(1, n/r.Batch()) * r.Batch()
}

// Run runs iterations [lo, hi).
func (r *Runner) Run(args []Value, lo, hi int64) error {
	for lo < hi {
		end := min(hi, lo+r.Grain())
		began := time.Now()
		if err := r.Program.Run(args, lo, end); err != nil {
			return err
		}
		r.each.Store(max(1, int64(time.Since(began))*1000/(end-lo)))
		lo = end
	}
	return nil
}

// round is how many iterations of the loop that Run cuts one round of vectors takes: one where the lanes are those of a loop further in.
func (c *Code) round() int64 {
	if c.outerLanes {
		return int64(c.Lanes * c.Unroll)
	}
	return 1
}
