//go:build linux && (amd64 || arm64)

package tuner

import (
	"math"
	"time"

	"github.com/gompss/gompss/devices/cuda/internal/driver"
)

// A Sample measures the time of one launch, between two events on its stream. If the measurement
// fails, the sample is lost; the launch does not fail.
type Sample struct {
	contest     *contest
	first, last uintptr
	beside      uint64 // argument beside of Begin
	broken      bool
}

// Begin records the event before the launch. beside is the number of other launches so far. The
// sample is valid if nothing else runs on the device at its begin (alone), and no other launch is
// added until its end. Requires: the context is current.
func (s *Sample) Begin(stream uintptr, beside uint64, alone bool) {
	s.beside, s.broken = beside, !alone
	if alone {
		s.first = s.record(stream)
	}
}

// End records the event after the launch. Requires: as for Begin.
func (s *Sample) End(stream uintptr) {
	if !s.broken {
		s.last = s.record(stream)
	}
}

func (s *Sample) record(stream uintptr) uintptr {
	t := s.contest.kernel.tuner
	cu, err := t.event()
	if err == nil {
		if err = t.driver.Do(driver.CuEventRecord, cu, stream); err == nil {
			return cu
		}
		t.put(cu)
	}
	s.broken = true
	return 0
}

// Finish adds the time of the launch to the race between the candidates. The launch has ended; ok
// reports that it has not failed.
func (s *Sample) Finish(beside uint64, ok bool) {
	c := s.contest
	took, known := time.Duration(0), false
	if ok && s.last != 0 && !s.broken && beside == s.beside {
		took, known = s.elapsed()
	}
	c.kernel.tuner.put(s.first, s.last)
	c.kernel.mu.Lock()
	defer c.kernel.mu.Unlock()
	if !known {
		c.race.Lost()
		return
	}
	c.race.Took(took)
	c.after()
}

func (s *Sample) elapsed() (time.Duration, bool) {
	b := driver.NewBlock()
	defer b.Free()
	if s.contest.kernel.tuner.driver.Call(driver.CuEventElapsedTime, b.At(0), s.first, s.last) != 0 {
		return 0, false
	}
	ms := float64(math.Float32frombits(uint32(b.Words[0])))
	return time.Duration(ms * float64(time.Millisecond)), ms > 0
}
