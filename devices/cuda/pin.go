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

// pinSize is the least size of a buffer that is pinned: below it, a copy by way of the driver's own
// pinned memory costs less than pinning does.
const pinSize deps.Bytes = 64 << 10

// pins is the host memory that is registered with the driver, for all GPUs at once.
//
// To register takes long, so a goroutine does it beside all else, one buffer after the other, first
// those that copies wait for: two at once take as long as one after the other. Only the one that
// needs the memory of a buffer registered waits for that: its copies from and to the host, which
// are enqueued when it has finished, and the release. The goroutine ends when there is nothing to
// register; the GPUs that close wait for it.
//
// Cost, a GiB: 0.1 s (4 H200, 64 processors), 0.4 where the memory was never touched; where
// populate does that first it is 0.15, by the sum of what the two take. To unregister takes 26 ms.
type pins struct {
	platform *platform

	mu      sync.Mutex
	changed sync.Cond // a buffer has left registering or unregistering, or the goroutine has ended
	of      map[deps.BufferID]*pinned
	queue   []*pinned // that await their turn
	busy    bool      // the goroutine exists
	in      *Device   // in whose context it registers now
}

// A pinned is one buffer. All is guarded by pins.mu.
type pinned struct {
	buffer devices.Buffer
	users  []*Device // that have a mirror of it
	state  pinState
	wanted bool   // it is to be registered
	over   *event // happens when registering has finished, nil where that was never wanted
	asked  bool   // a copy has waited for over, and fails with it
	err    error  // what registering failed with, until a copy returns it
}

type pinState uint8

const (
	pageable      pinState = iota // copied by way of the driver's own memory: it is small, or was refused
	awaiting                      // in the queue
	registering                   // by the goroutine
	registered                    // copied by the GPU, while the host does something else
	unregistered                  // since registering failed: the next copy tries again
	unregistering                 // by the last release
)

func (p *pins) start(of *platform) {
	p.platform, p.of = of, make(map[deps.BufferID]*pinned)
	p.changed.L = &p.mu
}

// pin has a buffer registered, in a while, unless it is small or empty. Calls are counted: each
// needs its unpin by the same device. A buffer that cannot be registered, or has a neighbour in its
// pages that is, will be copied by way of the driver's own memory.
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

// blocked reports whether memory that the collector has freed was where e is, and is registered
// still: its buffer is being dropped. The driver would take pages for those of e that the system
// has taken back since. Requires: mu held.
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

// enqueue has the goroutine register e. Requires: mu held.
func (p *pins) enqueue(e *pinned) {
	e.state, e.asked, e.over = awaiting, false, &event{device: e.users[0]}
	p.queue = append(p.queue, e)
	p.wake()
}

// wake has the goroutine look at the queue. Requires: mu held.
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
		if !e.wanted { // it only waited for freed memory where it is
			p.settle(e, d, nil)
			continue
		}
		p.settle(e, d, d.gpu.register(e.buffer))
	}
}

// next returns what to register in whose context; nothing when the goroutine has to end.
func (p *pins) next() (*pinned, *Device) {
	p.mu.Lock()
	defer p.mu.Unlock()
	at := slices.IndexFunc(p.queue, func(e *pinned) bool { return e.asked && !p.blocked(e) }) // else copies wait for what is not needed yet
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

// living returns a GPU in service that has a mirror, or nil. Requires: pins.mu held.
func (e *pinned) living() *Device {
	for _, d := range e.users {
		if d.gpu.alive() == nil {
			return d
		}
	}
	return nil
}

// register has the pages of a buffer there, and locks them in the context of g.
func (g *gpu) register(b devices.Buffer) error {
	if err := g.alive(); err != nil {
		return err
	}
	memory := bytesOf(b)
	if memory == nil {
		return nil // no copy from or to it is left
	}
	defer runtime.KeepAlive(memory)
	populate(memory)
	g.enter()
	defer g.leave()
	const portable = 1
	return g.driver.Do(driver.CuMemHostRegister, b.Host.Address(), uintptr(b.Size), portable)
}

// settle notes what registering e in the context of d has come to, and wakes those that wait. When
// that GPU has come to its end, another one that has a mirror gets its turn.
func (p *pins) settle(e *pinned, d *Device, err error) {
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
	if !e.asked {
		e.err = err
	}
	over := e.over
	p.changed.Broadcast()
	p.mu.Unlock()
	over.happen(err)
}

// refused reports whether memory cannot be registered because of what it is: it may be read-only,
// mapped from a file or of another device; or the system allows no more locked pages.
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

// ask is has for a copy of the memory of a buffer. Where that is not known yet it returns the end
// of registering, behind which has tells; the copy fails with what that fails with. Where
// registering has failed and a copy has been told, it is tried again.
func (p *pins) ask(b deps.BufferID) (has bool, over *event) {
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
		return false, e.over
	case e.state == unregistered:
		p.enqueue(e)
	}
	e.asked = true
	return false, e.over
}

// unpin takes back one pin. The last one waits until the buffer is registered, if that has begun,
// and has the driver forget it. Requires: the context of d is current, no copy of the buffer's
// memory is in flight.
//
// Errors: also what registering failed with, if no copy was told.
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
		return nil // the GPU in whose context it was registered is closed already, and the registration went with it
	}
	return err
}

// leave takes d from the users of a buffer, and returns the buffer if no user is left and it has to
// be unregistered: the caller does it.
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

// rest waits until nothing is registered in the context of d, nor anything that d has a mirror of.
// When there is nothing more to register at all, it waits for the end of the goroutine.
func (p *pins) rest(d *Device) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for p.in == d || p.waitsFor(d) || p.busy && len(p.of) == 0 {
		p.changed.Wait()
	}
}

// waitsFor reports whether a buffer that d has a mirror of is to be registered, or is just now.
// Requires: mu held.
func (p *pins) waitsFor(d *Device) bool {
	for _, e := range p.of {
		if (e.state == awaiting && !p.blocked(e) || e.state == registering) && slices.Contains(e.users, d) {
			return true
		}
	}
	return false
}
