//go:build linux && (amd64 || arm64)

package cuda

import (
	"errors"
	"sync"

	"github.com/gompss/gompss/deps"
	"github.com/gompss/gompss/devices"
)

// pinSize is the least size of a buffer that is pinned: below it, a copy by way of the driver's own pinned memory
// costs less than pinning does.
const pinSize deps.Bytes = 64 << 10

// pins is the host memory that is registered with the driver, for all GPUs at once.
type pins struct {
	platform *platform

	mu sync.Mutex
	of map[deps.BufferID]*pinned
}

// A pinned is one buffer.
type pinned struct {
	mirrors int  // that need it
	done    bool // it is registered
}

// pin registers a buffer, unless it is small, empty or a neighbour in its pages is registered: such a buffer is copied
// by way of the driver's own memory. Calls are counted: each needs its unpin. Requires: a context is current.
//
// Cost: 8.6 ms for 256 MiB, once.
func (p *pins) pin(b devices.Buffer) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.of == nil {
		p.of = make(map[deps.BufferID]*pinned)
	}
	if have := p.of[b.ID]; have != nil {
		have.mirrors++
		return nil
	}
	entry := &pinned{mirrors: 1}
	if b.Size >= pinSize && !p.platform.options.NoPin {
		const portable = 1
		err := p.platform.driver.do(cuMemHostRegister, uintptr(b.Host), uintptr(b.Size), portable)
		if err != nil && codeOf(err) != codeAlreadyRegistered && !refused(err) {
			return err
		}
		entry.done = err == nil
	}
	p.of[b.ID] = entry
	return nil
}

// refused reports whether memory cannot be registered because of what it is: it may be read-only, mapped from a file
// or of another device; or the system allows no more locked pages.
func refused(err error) bool {
	switch codeOf(err) {
	case 1, 2, 801, 999: // invalid value, out of memory, not supported, unknown
		return true
	}
	return false
}

// has reports whether the memory of a buffer is registered.
func (p *pins) has(b deps.BufferID) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	e := p.of[b]
	return e != nil && e.done
}

// unpin takes back one pin. Requires: a context is current.
func (p *pins) unpin(b devices.Buffer) error {
	p.mu.Lock()
	defer p.mu.Unlock()
	e := p.of[b.ID]
	if e == nil {
		return errors.New("unpinned twice")
	}
	if e.mirrors--; e.mirrors > 0 {
		return nil
	}
	delete(p.of, b.ID)
	if !e.done {
		return nil
	}
	err := p.platform.driver.do(cuMemHostUnregister, uintptr(b.Host))
	if codeOf(err) == codeNotRegistered {
		return nil // the GPU in whose context it was registered is closed already, and the registration went with it
	}
	return err
}
