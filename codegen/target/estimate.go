package target

import (
	"fmt"
	"time"

	"github.com/gompss/gompss/deps"
)

// Work is what one element of a loop costs in a candidate form: instructions of a lane, counted,
// and bytes.
type Work struct {
	Loads, Stores    float64 // accesses to memory, first level of the cache included
	Float32, Float64 float64
	Int              float64
	Special          float64
	Bytes            float64 // from and to device memory
}

// Add returns the sum of w and n times v.
func (w Work) Add(v Work, n float64) Work {
	return Work{w.Loads + n*v.Loads, w.Stores + n*v.Stores, w.Float32 + n*v.Float32, w.Float64 + n*v.Float64, w.Int + n*v.Int,
		w.Special + n*v.Special, w.Bytes + n*v.Bytes}
}

// Clocks returns the clocks that a multiprocessor is busy with one element of every lane of a warp:
// of the unit that is busiest. The accesses to memory are taken to be of neighbours.
func (t *Target) Clocks(w Work) float64 {
	warp, r := float64(t.Team.Warp), t.Rates
	unit := func(n float64, lanes int) float64 { return n * warp / float64(max(lanes, 1)) }
	return max((w.Loads+w.Stores+w.Float32+w.Float64+w.Int+w.Special)/float64(r.Issue),
		unit(w.Loads+w.Stores, r.LoadStore), unit(w.Float32, r.Float32), unit(w.Float64, r.Float64), unit(w.Int, r.Int32), unit(w.Special, r.Special))
}

// An Estimate is the time that n elements take, and what bounds it.
type Estimate struct {
	Time  time.Duration
	Bound string // "memory" or "instructions"
}

// Estimate returns the expected time of n elements that each cost w, with that many warps resident
// on a multiprocessor, each of whose lanes has flight bytes on their way at once.
// Source: XLA's gpu_performance_model (the larger of computing and memory, and a twentieth of the
// smaller); Little's law for the bandwidth of few warps.
func (t *Target) Estimate(n float64, w Work, warps int, flight deps.Bytes) Estimate {
	lanes := float64(t.Team.Multiprocessors * t.Team.Warp)
	compute := n / lanes * t.Clocks(w) / t.Clock
	reach := float64(warps*t.Team.Warp) * float64(flight) / float64(t.Memory.InFlight)
	memory := n * w.Bytes / (t.Memory.Bandwidth * min(1, max(reach, 1e-3)))
	e := Estimate{Bound: "instructions"}
	if memory > compute {
		e.Bound = "memory"
	}
	e.Time = t.Cost.Launch + time.Duration((max(compute, memory)+0.05*min(compute, memory))*float64(time.Second))
	return e
}

// String is as explain prints it.
func (e Estimate) String() string {
	return fmt.Sprintf("%v, bound by %s", e.Time.Round(time.Microsecond), e.Bound)
}
