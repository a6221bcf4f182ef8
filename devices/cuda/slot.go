//go:build linux && (amd64 || arm64)

package cuda

import (
	"errors"
	"sync"
	"unsafe"

	"github.com/gompss/gompss/devices/cuda/internal/driver"
)

// slotsPerPage is the number of fault records that are allocated together.
const slotsPerPage = 1024

// A slot is a fault record in pinned host memory: kernels write to it only when a check fails, so
// that a launch whose checks hold moves nothing.
type slot struct {
	record  *record
	address uint64 // the same for the GPU
}

// A slotPool keeps the slots that no launch in flight has.
type slotPool struct {
	device *Device
	mu     sync.Mutex
	free   []*slot
	pages  []uintptr
}

// get returns an empty slot. Requires: the context is current.
func (p *slotPool) get() (*slot, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if len(p.free) == 0 {
		if err := p.grow(); err != nil {
			return nil, err
		}
	}
	s := p.free[len(p.free)-1]
	p.free = p.free[:len(p.free)-1]
	*s.record = record{}
	return s, nil
}

// grow allocates a page of slots. Safe: the driver gives memory of that size, which stays until
// freeAll.
func (p *slotPool) grow() error {
	const portableMapped = 1 | 2
	b := driver.NewBlock()
	defer b.Free()
	if err := p.device.gpu.driver.Do(driver.CuMemHostAlloc, b.At(0), slotsPerPage*unsafe.Sizeof(record{}), portableMapped); err != nil {
		return err
	}
	start := *(*unsafe.Pointer)(unsafe.Pointer(&b.Words[0]))
	p.pages = append(p.pages, uintptr(b.Words[0]))
	for i := range slotsPerPage {
		r := (*record)(unsafe.Add(start, i*int(unsafe.Sizeof(record{}))))
		p.free = append(p.free, &slot{record: r, address: uint64(uintptr(unsafe.Pointer(r)))})
	}
	return nil
}

func (p *slotPool) put(s *slot) {
	p.mu.Lock()
	p.free = append(p.free, s)
	p.mu.Unlock()
}

func (p *slotPool) freeAll() error {
	var errs []error
	for _, page := range p.pages {
		errs = append(errs, p.device.gpu.driver.Do(driver.CuMemFreeHost, page))
	}
	p.pages, p.free = nil, nil
	return errors.Join(errs...)
}
