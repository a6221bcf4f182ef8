package devices

import (
	"runtime"
	"sync/atomic"
	"unsafe"
	"weak"
)

// HostMemory is where a buffer lies in the memory of the program. It keeps that memory alive, until
// Weaken has been called: then the collector may free it, and the address may become that of
// something else.
//
// Its methods may be called from any goroutine, but Weaken and Hold by one at a time.
type HostMemory struct {
	held    atomic.Pointer[byte] // nil while the memory is not kept alive
	weak    weak.Pointer[byte]   // written before held becomes nil for the first time
	cleanup runtime.Cleanup
	address uintptr
}

// NewHostMemory returns the memory at an address, which it keeps alive.
func NewHostMemory(at unsafe.Pointer) *HostMemory {
	h := &HostMemory{address: uintptr(at)}
	h.held.Store((*byte)(at))
	return h
}

// At returns the address of byte 0, nil when the collector has freed the memory. The memory lives
// as long as the result.
func (h *HostMemory) At() unsafe.Pointer {
	if p := h.held.Load(); p != nil {
		return unsafe.Pointer(p)
	}
	return unsafe.Pointer(h.weak.Value())
}

// Address returns the address of byte 0, whether the memory is alive or not.
func (h *HostMemory) Address() uintptr { return h.address }

// Collectable reports whether the collector will ever free the memory, which it does not if that is
// of a package variable or was mapped by the program. The first call has freed called with arg when
// the collector has freed it, on a goroutine of the Go runtime.
//
// Requires: the memory is kept alive; arg does not keep it alive once Weaken has been called.
func Collectable[T any](h *HostMemory, freed func(T), arg T) (yes bool) {
	if h.cleanup != (runtime.Cleanup{}) {
		return true
	}
	defer func() { yes = recover() == nil && yes }() // the Go runtime panics where no object of its own is at the address
	h.cleanup = runtime.AddCleanup(h.held.Load(), freed, arg)
	return h.cleanup != (runtime.Cleanup{}) // it is empty for memory that lives for ever
}

// Weaken lets the collector free the memory. Requires: Collectable has returned true.
func (h *HostMemory) Weaken() {
	p := h.held.Load()
	if p == nil {
		return
	}
	if h.weak == (weak.Pointer[byte]{}) {
		h.weak = weak.Make(p)
	}
	h.held.Store(nil)
}

// Hold keeps the memory alive from here on. It reports false when the collector has freed it.
func (h *HostMemory) Hold() bool {
	p := (*byte)(h.At())
	if p == nil {
		return false
	}
	h.held.Store(p)
	return true
}

// Stop ends what Collectable has begun: freed is not called any more, unless it is being called.
func (h *HostMemory) Stop() { h.cleanup.Stop() }
