//go:build linux && (amd64 || arm64)

package cuda

import (
	"errors"
	"fmt"

	"github.com/gompss/gompss/deps"
	"github.com/gompss/gompss/devices/cuda/internal/driver"
	"github.com/gompss/gompss/devices/cuda/internal/launch"
)

// A ring is the scratch memory of one stream of kernels. Each launch takes the next piece, which is
// zeroed. At the start of each lap, the whole ring is zeroed in stream order, after the kernels of
// the last lap. A launch with little scratch memory, such as a reduction, thus costs the same as
// one without; allocating, zeroing and freeing its own piece takes three more calls and a step on
// the GPU.
type ring struct {
	base uintptr
	used deps.Bytes
}

// Launches that need more than ringPart allocate their own memory, so that a lap serves many
// launches.
const (
	ringSize deps.Bytes = 2 << 20
	ringPart            = ringSize / 16
)

// full reports whether n bytes start another lap.
func (r *ring) full(n deps.Bytes) bool { return r.base != 0 && r.used+n > ringSize }

// pieces are the scratch memory of one launch. Separately allocated parts are freed after it.
type pieces struct {
	zeroed, unset uintptr
	own           [2]uintptr
}

func (p *pieces) owned() bool { return p.own != [2]uintptr{} }

// free frees the separately allocated parts, in the order of s.
// Requires: as for takeScratch.
func (p *pieces) free(s *stream) (err error) {
	for _, at := range p.own {
		if at != 0 {
			err = errors.Join(err, s.device.gpu.driver.Do(driver.CuMemFreeAsync, at, s.cu))
		}
	}
	return err
}

// takeScratch returns scratch memory for the next launch on s. A part of up to ringPart comes from
// the ring, whether it must be zeroed or not.
// Requires: submitter.mu held, and the context is current.
func (s *stream) takeScratch(n launch.Room) (p pieces, err error) {
	if p.zeroed, err = s.takePart(n.Zeroed, true, &p.own[0]); err != nil {
		return pieces{}, err
	}
	if p.unset, err = s.takePart(n.Unset, false, &p.own[1]); err != nil {
		return pieces{}, errors.Join(err, p.free(s))
	}
	return p, nil
}

// takePart returns n bytes. It sets own if they must be freed.
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

// take returns the next n bytes of the ring.
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

// allocScratch allocates memory in the order of s, and zeroes it if zeroed is true.
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

// free frees the ring, in the order of s.
func (r *ring) free(s *stream) error {
	if r.base == 0 {
		return nil
	}
	base := r.base
	r.base = 0
	return s.device.gpu.driver.Do(driver.CuMemFreeAsync, base, s.cu)
}
