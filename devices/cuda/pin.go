//go:build linux && (amd64 || arm64)

package cuda

import (
	"errors"
	"os"
	"runtime"
	"slices"
	"sync"

	"github.com/gompss/gompss/deps"
	"github.com/gompss/gompss/devices"
	"github.com/gompss/gompss/devices/cuda/internal/driver"
)

// pinSize is the minimum size of a pinned buffer. Below it, a copy through the driver's own pinned
// memory costs less than pinning.
const pinSize deps.Bytes = 64 << 10

// pins manages the host memory that is registered (pinned) with the driver for all GPUs.
//
// Registration is slow, so one goroutine does it in the background, one buffer after the other; two
// registrations in parallel take as long as in sequence. Buffers for which copies wait come first.
// Only operations that need the registration wait for it: copies from and to the host, and the
// release of the buffer. The goroutine ends when the queue is empty; a GPU that closes waits for
// it.
//
// Cost per GiB: 0.1 s (4 H200, 64 processors), or 0.4 s for memory that was never touched, which
// populate reduces to 0.15 s in total. Unregistration takes 26 ms.
type pins struct {
	platform *platform

	mu      sync.Mutex
	changed sync.Cond // a buffer has left registering or unregistering, or the goroutine has ended
	of      map[deps.BufferID]*pinned
	queue   []*pinned // the buffers to register
	busy    bool      // the goroutine is running
	in      *Device   // the device in whose context it currently registers
}

// A pinned is the registration state of one buffer.
// Guarded by pins.mu.
type pinned struct {
	buffer  devices.Buffer
	users   []*Device // the devices that have a mirror of it
	state   pinState
	wanted  bool   // it is to be registered
	done    *event // happens when the registration has finished; nil if it was never requested
	awaited bool   // a copy waits for done, and fails with its error
	err     error  // the error of the registration, until a copy or unpin returns it
}

type pinState uint8

const (
	pageable      pinState = iota // copied through the driver's own memory: it is small, or the driver refused
	awaiting                      // in the queue
	registering                   // the goroutine registers it
	registered                    // the GPU can copy it asynchronously
	unregistered                  // the registration failed: the next copy tries again
	unregistering                 // by the last release
)

func (p *pins) start(of *platform) {
	p.platform, p.of = of, make(map[deps.BufferID]*pinned)
	p.changed.L = &p.mu
}

// pin requests the registration of a buffer, unless it is small or empty. Each pin needs an unpin
// by the same device. A buffer that cannot be registered, or that shares a page with a registered
// one, is copied through the driver's own memory.
func (p *pins) pin(d *Device, b devices.Buffer) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for p.of[b.ID] != nil && p.of[b.ID].state == unregistering {
		p.changed.Wait()
	}
	if e := p.of[b.ID]; e != nil {
		e.users = append(e.users, d)
		return
	}
	e := &pinned{buffer: b, users: []*Device{d}}
	p.of[b.ID] = e
	if e.wanted = b.Size >= pinSize && !p.platform.options.NoPin; e.wanted || p.blocked(e) {
		p.enqueue(e)
	}
}

// blocked reports whether the memory of e overlaps with a freed buffer that is still registered and
// is being dropped. The driver would confuse the pages of the two, because the system has reused
// them.
// Requires: mu held.
func (p *pins) blocked(e *pinned) bool {
	page := uintptr(os.Getpagesize())
	lo, hi := e.buffer.Host.Address()&^(page-1), e.buffer.Host.Address()+uintptr(e.buffer.Size)
	for _, o := range p.of {
		if o == e || o.state != registered && o.state != registering && o.state != unregistering {
			continue
		}
		at := o.buffer.Host.Address()
		if at < hi && lo < (at+uintptr(o.buffer.Size)+page-1)&^(page-1) && o.buffer.Host.At() == nil {
			return true
		}
	}
	return false
}

// enqueue queues e for registration.
// Requires: mu held.
func (p *pins) enqueue(e *pinned) {
	e.state, e.awaited, e.done = awaiting, false, &event{device: e.users[0]}
	p.queue = append(p.queue, e)
	p.wake()
}

// wake starts the goroutine if the queue is not empty.
// Requires: mu held.
func (p *pins) wake() {
	if !p.busy && len(p.queue) > 0 {
		p.busy = true
		go p.run()
	}
}

func (p *pins) run() {
	for {
		e, d := p.next()
		if e == nil {
			return
		}
		if !e.wanted { // it only waited until freed memory at its address was unregistered
			p.finishRegistration(e, d, nil)
			continue
		}
		p.finishRegistration(e, d, d.gpu.register(e.buffer))
	}
}

// next returns the next buffer to register, and the device in whose context; nil if the goroutine
// has to end.
func (p *pins) next() (*pinned, *Device) {
	p.mu.Lock()
	defer p.mu.Unlock()
	at := slices.IndexFunc(p.queue, func(e *pinned) bool { return e.awaited && !p.blocked(e) }) // buffers that no copy waits for come later
	if at < 0 {
		at = slices.IndexFunc(p.queue, func(e *pinned) bool { return !p.blocked(e) })
	}
	if at < 0 {
		p.busy = false
		p.changed.Broadcast()
		return nil, nil
	}
	e := p.queue[at]
	p.queue = slices.Delete(p.queue, at, at+1)
	e.state = registering
	if p.in = e.living(); p.in == nil {
		p.in = e.users[0]
	}
	return e, p.in
}

// living returns a device in service that has a mirror of e, or nil.
// Requires: pins.mu held.
func (e *pinned) living() *Device {
	for _, d := range e.users {
		if d.gpu.alive() == nil {
			return d
		}
	}
	return nil
}

// register touches the pages of a buffer and registers them in the context of g.
func (g *gpu) register(b devices.Buffer) error {
	if err := g.alive(); err != nil {
		return err
	}
	memory := bytesOf(b)
	if memory == nil {
		return nil // the buffer was freed, so no copy of it is left
	}
	defer runtime.KeepAlive(memory)
	populate(memory)
	g.enter()
	defer g.leave()
	const portable = 1
	return g.driver.Do(driver.CuMemHostRegister, b.Host.Address(), uintptr(b.Size), portable)
}

// finishRegistration records the result of registering e in the context of d, and wakes the
// waiters. If that GPU has failed, another one with a mirror tries again.
func (p *pins) finishRegistration(e *pinned, d *Device, err error) {
	state := registered
	switch {
	case !e.wanted:
		state = pageable
	case err == nil:
	case driver.CodeOf(err) == driver.CodeAlreadyRegistered || refused(err):
		state, err = pageable, nil
	default:
		state, err = unregistered, d.health.fail("pin", err)
	}
	p.mu.Lock()
	p.in = nil
	if state == unregistered && d.gpu.alive() != nil && e.living() != nil {
		e.state, p.queue = awaiting, slices.Insert(p.queue, 0, e)
		p.changed.Broadcast()
		p.mu.Unlock()
		return
	}
	e.state = state
	if !e.awaited {
		e.err = err
	}
	done := e.done
	p.changed.Broadcast()
	p.mu.Unlock()
	done.happen(err)
}

// refused reports whether memory cannot be registered because of its kind, for example read-only
// memory, a mapped file, or memory of another device, or because the system permits no more locked
// pages.
func refused(err error) bool {
	switch driver.CodeOf(err) {
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
	return e != nil && e.state == registered
}

// request is has for a copy of the memory of a buffer. If the registration has not finished,
// request returns the event of its end; the caller then calls has, or fails with the error of the
// event. If an earlier registration failed, and a copy has returned its error, request tries again.
func (p *pins) request(b deps.BufferID) (has bool, done *event) {
	p.mu.Lock()
	defer p.mu.Unlock()
	e := p.of[b]
	switch {
	case e == nil || e.state == pageable:
		return false, nil
	case e.state == registered:
		return true, nil
	case e.state == unregistered && e.err != nil:
		e.err = nil
		return false, e.done
	case e.state == unregistered:
		p.enqueue(e)
	}
	e.awaited = true
	return false, e.done
}

// unpin releases one pin. The last unpin waits for a registration in progress, and unregisters the
// buffer.
// Requires: the context of d is current, and no copy of the buffer's memory is in flight.
//
// Errors: also the error of the registration, if no copy has returned it.
func (p *pins) unpin(d *Device, b devices.Buffer) error {
	last, err := p.leave(d, b)
	if last == nil {
		return err
	}
	err = p.platform.driver.Do(driver.CuMemHostUnregister, b.Host.Address())
	p.mu.Lock()
	delete(p.of, b.ID)
	p.wake()
	p.changed.Broadcast()
	p.mu.Unlock()
	if driver.CodeOf(err) == driver.CodeNotRegistered {
		return nil // the GPU in whose context it was registered has been closed, which ended the registration
	}
	return err
}

// leave removes d from the users of a buffer. It returns the buffer if the caller has to unregister
// it, because d was the last user.
func (p *pins) leave(d *Device, b devices.Buffer) (last *pinned, err error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	e := p.of[b.ID]
	if e == nil || !slices.Contains(e.users, d) {
		return nil, errors.New("unpinned twice")
	}
	e.users = slices.DeleteFunc(e.users, func(u *Device) bool { return u == d })
	for len(e.users) == 0 && e.state == registering {
		p.changed.Wait()
	}
	switch {
	case len(e.users) > 0 || e.state == unregistering || p.of[b.ID] != e: // it was pinned again meanwhile
		return nil, nil
	case e.state == registered:
		e.state = unregistering
		return e, nil
	case e.state == awaiting:
		p.queue = slices.DeleteFunc(p.queue, func(q *pinned) bool { return q == e })
	}
	delete(p.of, b.ID)
	return nil, e.err
}

// waitIdle waits until no buffer is being registered in the context of d and no buffer of d waits
// for registration. If no buffer is left at all, it also waits for the end of the goroutine.
func (p *pins) waitIdle(d *Device) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for p.in == d || p.waitsFor(d) || p.busy && len(p.of) == 0 {
		p.changed.Wait()
	}
}

// waitsFor reports whether a buffer with a mirror on d is queued or being registered.
// Requires: mu held.
func (p *pins) waitsFor(d *Device) bool {
	for _, e := range p.of {
		if (e.state == awaiting && !p.blocked(e) || e.state == registering) && slices.Contains(e.users, d) {
			return true
		}
	}
	return false
}
