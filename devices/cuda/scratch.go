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

// Pieces are the scratch memory of one launch. What is its own is freed behind it.
type pieces struct {
	zeroed, unset uintptr
	own           [2]uintptr
}

func (p *pieces) owned() bool { return p.own != [2]uintptr{} }

// free frees what the launch has of its own, in the order of s. Requires: as for takeScratch.
func (p *pieces) free(s *stream) (err error) {
	for _, at := range p.own {
		if at != 0 {
			err = errors.Join(err, s.device.gpu.driver.Do(driver.CuMemFreeAsync, at, s.cu))
		}
	}
	return err
}

// takeScratch returns memory for what comes next on s. A part of up to ringPart is a piece of the
// ring, whether it must be zero or not. Requires: Device.enqueueing held, the context is current.
func (s *stream) takeScratch(n launch.Room) (p pieces, err error) {
	if p.zeroed, err = s.takePart(n.Zeroed, true, &p.own[0]); err != nil {
		return pieces{}, err
	}
	if p.unset, err = s.takePart(n.Unset, false, &p.own[1]); err != nil {
		return pieces{}, errors.Join(err, p.free(s))
	}
	return p, nil
}

// takePart returns n bytes, and sets own where they have to be freed.
func (s *stream) takePart(n deps.Bytes, zeroed bool, own *uintptr) (at uintptr, err error) {
	switch {
	case n == 0:
		return 0, nil
	case n <= ringPart:
		return s.ring.take(s, n)
	}
	*own, err = s.allocScratch(n, zeroed)
	return *own, err
}

// take returns the next n bytes.
func (r *ring) take(s *stream, n deps.Bytes) (at uintptr, err error) {
	switch {
	case r.base == 0:
		base, err := s.allocScratch(ringSize, true)
		if err != nil {
			return 0, err
		}
		r.base, r.used = base, 0
	case r.full(n):
		if err := s.device.gpu.driver.Do(driver.CuMemsetD8Async, r.base, 0, uintptr(ringSize), s.cu); err != nil {
			return 0, err
		}
		r.used = 0
	}
	at = r.base + uintptr(r.used)
	r.used = launch.AlignUp(r.used+n, launch.ScratchAlign)
	return at, nil
}

// allocScratch allocates memory in the order of s, and zeroes it there if it has to be.
func (s *stream) allocScratch(n deps.Bytes, zeroed bool) (uintptr, error) {
	b := driver.NewBlock()
	defer b.Free()
	d := s.device.gpu.driver
	if err := d.Do(driver.CuMemAllocAsync, b.At(0), uintptr(n), s.cu); err != nil {
		return 0, fmt.Errorf("scratch memory of %v: %w", n, err)
	}
	base := uintptr(b.Words[0])
	if !zeroed {
		return base, nil
	}
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
