//go:build linux && (amd64 || arm64)

package opencl

import (
	"errors"
	"os"
	"slices"
	"sync"

	"github.com/gompss/gompss/deps"
	"github.com/gompss/gompss/devices"
)

// pinSize is the least size of a buffer that is pinned: below it the driver's own way costs less.
//
// Source: measured on an H100, NVIDIA's driver 580: 12.8 ms to pin 256 MiB, 32 ms to copy them from
// pageable memory, 4.9 ms from pinned.
const pinSize deps.Bytes = 1 << 20

// pins is host memory that a memory object has been made of, of all devices of a driver: OpenCL has
// no call that locks pages, but drivers do it for such an object (CL_MEM_USE_HOST_PTR), and copies
// from and to its memory then need no help of the host. No command uses the object itself.
//
// The collector may have freed the memory of a buffer that is being dropped, and the system may
// have taken its pages back, while the driver still copies by the pages that it has locked. So a
// buffer that begins where such memory was has the object released first.
type pins struct {
	mu   sync.Mutex
	list []*pinned
}

// A pinned is the memory of one buffer, locked for one device. It is released when the mirror and
// the copies in flight have given it back. Where the driver fails to release it, the memory stays
// locked and in the list, and the release is tried again before a copy of what is there then.
type pinned struct {
	device *Device
	buffer devices.Buffer
	lo, hi uintptr // whole pages

	mu     sync.Mutex
	object uintptr
	users  int // the mirror, and the copies in flight
}

// pin locks the memory of m, once, before its first copy. A driver that refuses copies in its own
// way.
//
// Errors: the memory is locked as that of a buffer before, and the driver does not release it.
func (m *mirror) pin(d *Device) (*pinned, error) {
	m.pinOnce.Do(func() {
		page := uintptr(os.Getpagesize())
		lo := m.buffer.Host.Address() &^ (page - 1)
		hi := (m.buffer.Host.Address() + uintptr(m.buffer.Size) + page - 1) &^ (page - 1)
		if m.pinErr = d.driver.pins.releaseFreed(lo, hi); m.pinErr != nil {
			return
		}
		if m.buffer.Size < pinSize || d.options.NoPin {
			return
		}
		const readWrite, useHostMemory = 1, 8
		object, err := d.driver.create(clCreateBuffer, d.context.cl, readWrite|useHostMemory, hi-lo, lo)
		if err != nil {
			return
		}
		p := &pinned{device: d, buffer: m.buffer, lo: lo, hi: hi, object: object, users: 1}
		d.driver.pins.add(p)
		m.mu.Lock()
		m.pinned = p
		m.mu.Unlock()
	})
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.pinned != nil {
		m.pinned.use()
	}
	return m.pinned, m.pinErr
}

// use counts a copy.
func (p *pinned) use() {
	p.mu.Lock()
	p.users++
	p.mu.Unlock()
}

// give gives the memory back. A nil p is of a mirror that is not pinned.
func (p *pinned) give() error {
	if p == nil {
		return nil
	}
	p.mu.Lock()
	p.users--
	last := p.users == 0
	p.mu.Unlock()
	if !last {
		return nil
	}
	err := p.release()
	if err == nil {
		p.device.driver.pins.remove(p)
	}
	return err
}

// release unlocks the memory, once.
func (p *pinned) release() error {
	p.mu.Lock()
	object := p.object
	p.object = 0
	p.mu.Unlock()
	if object == 0 {
		return nil
	}
	err := p.device.driver.do(clReleaseMemObject, object)
	if err != nil {
		p.mu.Lock()
		p.object = object
		p.mu.Unlock()
	}
	return err
}

// unused reports whether no buffer needs the memory as it is locked: the collector has freed it, or
// its release has failed.
func (p *pinned) unused() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.users == 0 || p.buffer.Host.At() == nil
}

func (s *pins) add(p *pinned) {
	s.mu.Lock()
	s.list = append(s.list, p)
	s.mu.Unlock()
}

func (s *pins) remove(p *pinned) {
	s.mu.Lock()
	for i, o := range s.list {
		if o == p {
			s.list = slices.Delete(s.list, i, i+1)
			break
		}
	}
	s.mu.Unlock()
}

// releaseFreed unlocks what is in [lo, hi) and no buffer needs. No copy is in flight there: it
// would have kept the memory.
//
// Errors: memory that the driver keeps locked, where a copy could reach pages that are no longer
// those of the program.
func (s *pins) releaseFreed(lo, hi uintptr) error {
	s.mu.Lock()
	var freed []*pinned
	for _, p := range s.list {
		if p.lo < hi && lo < p.hi && p.unused() {
			freed = append(freed, p)
		}
	}
	s.mu.Unlock()
	var errs []error
	for _, p := range freed {
		err := p.release()
		if p.given() && err == nil {
			s.remove(p)
		}
		errs = append(errs, err)
	}
	return errors.Join(errs...)
}

// given reports whether the mirror and all copies have given the memory back.
func (p *pinned) given() bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.users == 0
}

// unpin gives back what the mirror has.
func (m *mirror) unpin() error {
	m.mu.Lock()
	p := m.pinned
	m.pinned = nil
	m.mu.Unlock()
	return p.give()
}
