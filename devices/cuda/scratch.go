//go:build linux && (amd64 || arm64)

package cuda

import (
	"errors"
	"fmt"

	"github.com/gompss/gompss/deps"
	"github.com/gompss/gompss/devices/cuda/internal/driver"
	"github.com/gompss/gompss/devices/cuda/internal/launch"
)

// A ring is scratch memory of one stream of kernels. Each launch takes the next piece, which is
// zero; once a lap all of it is zeroed again, in the order of the stream, when the users of pieces
// of it has finished. A launch with little scratch memory, as a reduction is, so costs what one
// without does: to allocate, zero and free a piece of its own takes three more calls, and a step on
// the GPU.
type ring struct {
	base uintptr
	used deps.Bytes
}

// Launches that need more than ringPart have a piece of their own: a lap is for many.
const (
	ringSize deps.Bytes = 2 << 20
	ringPart            = ringSize / 16
)

// full reports whether n bytes begin another lap.
func (r *ring) full(n deps.Bytes) bool { return r.base != 0 && r.used+n > ringSize }

// takeScratch returns n bytes that are zero for what comes next on s, and what has to be freed
// behind that; 0 for nothing. Requires: Device.enqueueing held, the context is current.
func (s *stream) takeScratch(n deps.Bytes) (at, own uintptr, err error) {
	if n > ringPart {
		own, err = s.allocScratch(n)
		return own, own, err
	}
	r := &s.ring
	switch {
	case r.base == 0:
		base, err := s.allocScratch(ringSize)
		if err != nil {
			return 0, 0, err
		}
		r.base, r.used = base, 0
	case r.full(n):
		if err := s.device.gpu.driver.Do(driver.CuMemsetD8Async, r.base, 0, uintptr(ringSize), s.cu); err != nil {
			return 0, 0, err
		}
		r.used = 0
	}
	at = r.base + uintptr(r.used)
	r.used = launch.AlignUp(r.used+n, launch.ScratchAlign)
	return at, 0, nil
}

// allocScratch allocates and zeroes memory in the order of s.
func (s *stream) allocScratch(n deps.Bytes) (uintptr, error) {
	b := driver.NewBlock()
	defer b.Free()
	d := s.device.gpu.driver
	if err := d.Do(driver.CuMemAllocAsync, b.At(0), uintptr(n), s.cu); err != nil {
		return 0, fmt.Errorf("scratch memory of %v: %w", n, err)
	}
	base := uintptr(b.Words[0])
	if err := d.Do(driver.CuMemsetD8Async, base, 0, uintptr(n), s.cu); err != nil {
		return 0, errors.Join(err, d.Do(driver.CuMemFreeAsync, base, s.cu))
	}
	return base, nil
}

// free gives the memory back, in the order of s.
func (r *ring) free(s *stream) error {
	if r.base == 0 {
		return nil
	}
	base := r.base
	r.base = 0
	return s.device.gpu.driver.Do(driver.CuMemFreeAsync, base, s.cu)
}
