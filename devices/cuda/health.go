//go:build linux && (amd64 || arm64)

package cuda

import (
	"errors"
	"fmt"
	"sync"
	"time"
	"unsafe"

	"github.com/gompss/gompss/devices"
	"github.com/gompss/gompss/devices/cuda/internal/driver"
)

// A health interprets errors of the driver: it decides whether an operation has failed or the
// device is out of service, and which operation in flight is the cause.
type health struct {
	gpu     *gpu
	streams *streamSet
	limit   time.Duration // of an operation, 0 for none
}

// fail returns the error of an operation of this device. An error after which CUDA gives no answers
// ends the device and is attributed to a kernel in flight, if there is one.
func (h *health) fail(what string, err error) error {
	var already *devices.DeviceError
	if errors.As(err, &already) {
		return err
	}
	if driver.Sticky(driver.CodeOf(err)) {
		// A call that reports a kernel's failure has not failed itself.
		if k, _ := h.streams.flyingKernels(); k != nil {
			h.blame(k, err)
			return h.gpu.alive()
		}
		return h.gpu.lose(what, err)
	}
	if driver.CodeOf(err) == driver.CodeNoMemory {
		err = fmt.Errorf("%w: %w", devices.ErrNoMemory, err)
	}
	return &devices.DeviceError{Device: h.gpu.name, What: what, Err: err}
}

// failAt returns the error of an operation, with its position in the Go source.
func (h *health) failAt(e *event, err error) error {
	err = h.fail(e.what(), err)
	if own, ok := err.(*devices.DeviceError); ok && own.Pos.File == "" && !own.Fatal {
		own.Pos = e.pos()
	}
	return err
}

// ended queries the driver whether a mark has happened. An error ends the device and is attributed
// to an operation in flight on the stream.
func (h *health) ended(m *mark, s *stream) bool {
	switch code := h.gpu.driver.Call(driver.CuEventQuery, m.cu); code {
	case 0:
		return true
	case driver.CodeNotReady:
		first := s.first()
		return first != nil && h.overdue(first, s)
	default:
		if first := s.first(); first != nil {
			h.blame(first, h.gpu.driver.Check(driver.CuEventQuery, code))
		}
		return true
	}
}

// overdue ends the device if e has been the oldest operation of its stream for longer than the time
// limit, and reports whether it did so.
func (h *health) overdue(e *event, s *stream) bool {
	limit := h.limit
	if limit == 0 || time.Duration(monotonic()-max(e.began, s.lastDone)) < limit {
		return false
	}
	h.gpu.stuck.Store(true)
	h.blame(e, fmt.Errorf("%w: %v", ErrTimeLimit, limit))
	return true
}

// blame ends the device because of e. If e is a copy and a kernel is in flight, the kernel is the
// cause, because copies do not fail. If several kernels are in flight, the driver does not identify
// the failed one: the error names the first and gives their number.
func (h *health) blame(e *event, err error) {
	culprit, kernels := h.streams.flyingKernels()
	if e.kernel != nil || culprit == nil {
		culprit = e
	}
	if kernels > 1 {
		err = fmt.Errorf("%w; it is the first of %d kernels in flight, of which one has failed", err, kernels)
	}
	h.gpu.lost.CompareAndSwap(nil, &devices.DeviceError{Device: h.gpu.name, What: culprit.what(), Pos: culprit.pos(), Err: err, Fatal: true})
}

// slotsPerPage is the number of fault records that are allocated together.
const slotsPerPage = 1024

// A slot is a fault record in pinned host memory. A kernel writes it only if a check fails, so a
// launch without failures transfers nothing.
type slot struct {
	record  *record
	address uint64 // the address for the GPU
}

// A slotPool contains the slots that no launch in flight uses.
type slotPool struct {
	gpu   *gpu
	mu    sync.Mutex
	free  []*slot
	pages []uintptr
}

// get returns an empty slot. Requires: the context is current.
func (p *slotPool) get() (*slot, error) {
	for {
		p.mu.Lock()
		if n := len(p.free); n > 0 {
			s := p.free[n-1]
			p.free = p.free[:n-1]
			p.mu.Unlock()
			*s.record = record{}
			return s, nil
		}
		p.mu.Unlock()
		if err := p.grow(); err != nil {
			return nil, err
		}
	}
}

// grow allocates a page of slots. The conversion is safe: the driver allocates memory of that size,
// which lives until freeAll.
func (p *slotPool) grow() error {
	const portableMapped = 1 | 2
	b := driver.NewBlock()
	defer b.Free()
	if err := p.gpu.driver.Do(driver.CuMemHostAlloc, b.At(0), slotsPerPage*unsafe.Sizeof(record{}), portableMapped); err != nil {
		return err
	}
	start := *(*unsafe.Pointer)(unsafe.Pointer(&b.Words[0]))
	p.mu.Lock()
	defer p.mu.Unlock()
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
		errs = append(errs, p.gpu.driver.Do(driver.CuMemFreeHost, page))
	}
	p.pages, p.free = nil, nil
	return errors.Join(errs...)
}
