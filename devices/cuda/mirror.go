//go:build linux && (amd64 || arm64)

package cuda

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math/bits"
	"slices"
	"sync"
	"sync/atomic"

	"github.com/gompss/gompss/deps"
	"github.com/gompss/gompss/devices"
	"github.com/gompss/gompss/devices/cuda/internal/driver"
)

// A mirror is the address range of one buffer on one GPU. Physical memory is created, mapped and
// unmapped in granules, because the driver can unmap only what one call has mapped.
//
// No driver call is made with the lock held. A call of Map or Unmap claims its granules by changing
// their state; until it changes the state again, it owns their other fields.
type mirror struct {
	buffer  devices.Buffer
	base    uintptr
	size    deps.Bytes // the size of the address range, a multiple of the granule
	granule deps.Bytes

	mu       sync.Mutex
	granules []granule
}

// A granule is a piece of a mirror. Its state and grants are guarded by mirror.mu, and so are its
// other fields while it is mapped.
type granule struct {
	state  granuleState
	grants int32  // the number of running calls that grant a device access; the granule is mapped then
	memory uint64 // the CUmemGenericAllocationHandle
	access uint64 // the set of devices with access, by index
}

type granuleState uint8

const (
	unmapped  granuleState = iota
	mapping                // claimed by a call of Map
	mapped                 // it has memory, which operations may access
	unmapping              // claimed by a call of Unmap, or by the release of the mirror
)

var granuleStates = [...]string{"unmapped", "being mapped", "mapped", "being unmapped"}

func (s granuleState) String() string { return granuleStates[s] }

// granuleNext lists the legal transitions of a granule.
var granuleNext = [...][]granuleState{
	unmapped:  {mapping},
	mapping:   {mapped, unmapped}, // the second one if the driver refuses
	mapped:    {unmapping},        // while no grant is in progress
	unmapping: {unmapped},
}

// A mirrorTable contains the mirrors of one device.
type mirrorTable struct {
	gpu      *gpu
	platform *platform
	limit    deps.Bytes    // the maximum number of mapped bytes
	sharers  atomic.Uint64 // the set of devices that may access memory of this one, by index

	mu     sync.RWMutex
	of     map[deps.BufferID]*mirror
	backed atomic.Int64 // bytes
}

func (t *mirrorTable) get(b deps.BufferID) (*mirror, error) {
	t.mu.RLock()
	defer t.mu.RUnlock()
	if m := t.of[b]; m != nil {
		return m, nil
	}
	return nil, fmt.Errorf("buffer %d: %w", b, devices.ErrUnknownBuffer)
}

// addressOf returns the address of byte 0 of a buffer's mirror.
func (t *mirrorTable) addressOf(b deps.BufferID) (uint64, error) {
	m, err := t.get(b)
	if err != nil {
		return 0, err
	}
	return uint64(m.base), nil
}

// Address implements devices.Exposed.
func (d *Device) Address(b deps.BufferID) (uintptr, error) {
	at, err := d.mirrors.addressOf(b)
	return uintptr(at), err
}

// Current implements devices.Exposed.
func (d *Device) Current() error {
	if err := d.gpu.alive(); err != nil {
		return err
	}
	return d.gpu.driver.Do(driver.CuCtxSetCurrent, d.gpu.context)
}

// Reserve creates the mirror of a buffer without memory, and requests the pinning of the buffer.
// That continues in the background; copies of the buffer wait for it.
func (d *Device) Reserve(b devices.Buffer) error {
	if err := d.gpu.alive(); err != nil {
		return err
	}
	if _, err := d.mirrors.get(b.ID); err == nil {
		return d.health.fail("reserve", fmt.Errorf("buffer %d has a mirror already", b.ID))
	}
	m := &mirror{buffer: b, granule: d.options.Granule}
	n := (b.Size + m.granule - 1) / m.granule
	m.size, m.granules = n*m.granule, make([]granule, n)
	d.gpu.enter()
	defer d.gpu.leave()
	if m.size > 0 {
		w := driver.NewBlock()
		defer w.Free()
		if err := d.gpu.driver.Do(driver.CuMemAddressReserve, w.At(0), uintptr(m.size), uintptr(m.granule), 0, 0); err != nil {
			return d.health.fail(fmt.Sprintf("reserve %v", m.size), err)
		}
		m.base = uintptr(w.Words[0])
	}
	d.platform.pins.pin(d, b)
	d.mirrors.mu.Lock()
	d.mirrors.of[b.ID] = m
	d.mirrors.mu.Unlock()
	return nil
}

func (t *mirrorTable) freeRange(m *mirror) error {
	if m.size == 0 {
		return nil
	}
	return t.gpu.driver.Do(driver.CuMemAddressFree, m.base, uintptr(m.size))
}

// span returns the granules of [lo, hi), which must consist of whole granules or extend to the end
// of the buffer.
func (m *mirror) span(lo, hi deps.Bytes) (first, last int, err error) {
	if lo%m.granule != 0 || hi%m.granule != 0 && hi != m.buffer.Size || lo < 0 || hi <= lo || hi > m.buffer.Size {
		return 0, 0, fmt.Errorf("bytes [%d,%d) of buffer %d: not whole granules of %v", lo, hi, m.buffer.ID, m.granule)
	}
	return int(lo / m.granule), int((hi + m.granule - 1) / m.granule), nil
}

// claim changes the state of the granules [first, last) from from to to, all or none. It returns an
// error with the first granule in another state: another call works on it, or the caller has made a
// mistake.
func (m *mirror) claim(first, last int, from, to granuleState) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	for i := first; i < last; i++ {
		g := &m.granules[i]
		if g.state != from {
			return fmt.Errorf("granule %d of buffer %d is %v: want it %v", i, m.buffer.ID, g.state, from)
		}
		if g.grants > 0 {
			return fmt.Errorf("granule %d of buffer %d is being shared with another device", i, m.buffer.ID)
		}
	}
	m.set(first, last, to)
	return nil
}

// finish changes the state of granules that the caller has claimed.
func (m *mirror) finish(first, last int, to granuleState) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.set(first, last, to)
}

// set changes the state of granules.
// Requires: m.mu held.
func (m *mirror) set(first, last int, to granuleState) {
	for i := first; i < last; i++ {
		if from := m.granules[i].state; !slices.Contains(granuleNext[from], to) {
			panic(fmt.Sprintf("gompss: bug: granule %d of buffer %d goes from %v to %v", i, m.buffer.ID, from, to))
		}
		m.granules[i].state = to
	}
}

// covers reports whether all granules of [lo, hi) are mapped.
func (m *mirror) covers(lo, hi deps.Bytes) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	for i := int(lo / m.granule); i < int((hi+m.granule-1)/m.granule); i++ {
		if m.granules[i].state != mapped {
			return false
		}
	}
	return true
}

// Map maps new memory at [lo, hi). Its contents are undefined.
//
// Cost: 26 microseconds per granule (H200). Map does not wait for operations in flight.
func (d *Device) Map(b deps.BufferID, lo, hi deps.Bytes) error {
	if err := d.gpu.alive(); err != nil {
		return err
	}
	what := fmt.Sprintf("map %v", hi-lo)
	m, err := d.mirrors.get(b)
	if err != nil {
		return d.health.fail(what, err)
	}
	first, last, err := m.span(lo, hi)
	if err != nil {
		return d.health.fail(what, err)
	}
	if err := m.claim(first, last, unmapped, mapping); err != nil {
		return d.health.fail(what, err)
	}
	d.gpu.enter()
	defer d.gpu.leave()
	if err := d.mirrors.mapGranules(m, first, last); err != nil {
		m.finish(first, last, unmapped)
		return d.health.fail(what, err)
	}
	m.finish(first, last, mapped)
	return nil
}

// mapGranules maps the granules [first, last), all or none.
// Requires: the caller has claimed them, and the context is current.
func (t *mirrorTable) mapGranules(m *mirror, first, last int) error {
	n := deps.Bytes(last-first) * m.granule
	if used := deps.Bytes(t.backed.Add(int64(n))) - n; used+n > t.limit {
		t.backed.Add(-int64(n))
		return fmt.Errorf("%w: %v of %v are mapped", devices.ErrNoMemory, used, t.limit)
	}
	for i := first; i < last; i++ {
		if err := t.mapGranule(m, i); err != nil {
			t.backed.Add(-int64(last-i) * int64(m.granule))
			return errors.Join(err, t.unmapGranules(m, first, i))
		}
	}
	if err := t.grantAtOnce(m, first, last); err != nil {
		return errors.Join(err, t.unmapGranules(m, first, last))
	}
	return nil
}

// grantAtOnce grants, in one driver call, access to new granules of m to the device of t and to the
// devices that already have access to other memory of t. They will probably need these granules
// too, and would otherwise have to wait before a copy, on the thread that enqueues for them. If the
// call fails for the other devices, share tries again later and returns the error.
// Requires: the caller has claimed the granules.
func (t *mirrorTable) grantAtOnce(m *mirror, first, last int) error {
	own, all := uint64(1)<<t.gpu.index, t.sharers.Load()
	for _, p := range t.platform.devices {
		if p.gpu.lost.Load() != nil {
			all &^= 1 << p.gpu.index
		}
	}
	if all |= own; all != own && t.grant(m, first, last, all) == nil {
		return nil
	}
	return t.grant(m, first, last, own)
}

// fillAllocation writes the CUmemAllocationProp of this device's memory to the start of a zeroed
// block.
func fillAllocation(b *driver.Block, g *gpu) {
	const pinned, onDevice = 1, 1
	b.Words[0] = pinned                                         // type; no handle type
	b.Words[1] = onDevice | uint64(g.ordinal)<<32               // location
	b.Words[2], b.Words[3], b.Words[4], b.Words[5] = 0, 0, 0, 0 // security, flags
}

// mapGranule creates and maps the memory of granule i, which already counts as backed.
// Requires: the caller has claimed it.
func (t *mirrorTable) mapGranule(m *mirror, i int) error {
	b := driver.NewBlock()
	defer b.Free()
	fillAllocation(b, t.gpu)
	if err := t.gpu.driver.Do(driver.CuMemCreate, b.At(20), uintptr(m.granule), b.At(0), 0); err != nil {
		return err
	}
	memory := b.Words[20]
	if err := t.gpu.driver.Do(driver.CuMemMap, m.at(i), uintptr(m.granule), 0, uintptr(memory), 0); err != nil {
		return errors.Join(err, t.gpu.driver.Do(driver.CuMemRelease, uintptr(memory)))
	}
	m.granules[i].memory, m.granules[i].access = memory, 0
	return nil
}

// at returns the address of granule i.
func (m *mirror) at(i int) uintptr { return m.base + uintptr(i)*uintptr(m.granule) }

// grant grants a set of devices, by index, access to the granules [first, last) of mirror m.
// Requires: the caller has claimed them, and they have memory.
func (t *mirrorTable) grant(m *mirror, first, last int, to uint64) error {
	if err := t.setAccess(m.at(first), deps.Bytes(last-first)*m.granule, to); err != nil {
		return err
	}
	for i := first; i < last; i++ {
		m.granules[i].access |= to
	}
	return nil
}

// grantMapped grants a set with one device access to the granules [first, last), which are mapped.
func (t *mirrorTable) grantMapped(m *mirror, first, last int, to uint64) error {
	for {
		i, j, err := m.beginGrant(first, last, to)
		if i == j || err != nil {
			return err
		}
		err = t.setAccess(m.at(i), deps.Bytes(j-i)*m.granule, to)
		m.endGrant(i, j, to, err == nil)
		if err != nil {
			return err
		}
		first = j
	}
}

// beginGrant returns the first run of granules in [first, last) to which the device has no access;
// an empty run if there is none. They stay mapped until endGrant.
func (m *mirror) beginGrant(first, last int, to uint64) (i, j int, err error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	lacks := func(i int) bool { return m.granules[i].state == mapped && m.granules[i].access&to == 0 }
	for i = first; i < last && !lacks(i); i++ {
		if s := m.granules[i].state; s != mapped {
			return i, i, fmt.Errorf("granule %d of buffer %d is %v: want it %v", i, m.buffer.ID, s, mapped)
		}
	}
	for j = i; j < last && lacks(j); j++ {
		m.granules[j].grants++
	}
	return i, j, nil
}

func (m *mirror) endGrant(first, last int, to uint64, granted bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	for i := first; i < last; i++ {
		m.granules[i].grants--
		if granted {
			m.granules[i].access |= to
		}
	}
}

// setAccess grants a set of devices access to size bytes at address, which are mapped.
func (t *mirrorTable) setAccess(address uintptr, size deps.Bytes, to uint64) error {
	const onDevice, readWrite, word = 1, 3, 4 // a CUmemAccessDesc consists of three words: location type, device, and access
	b := driver.NewBlock()
	defer b.Free()
	list := b.Bytes(0)
	most := len(list) / (3 * word)
	for to != 0 {
		n := 0
		for ; to != 0 && n < most; n++ {
			p := t.platform.devices[bits.TrailingZeros64(to)]
			to &^= 1 << p.gpu.index
			for k, v := range []uint32{onDevice, uint32(p.gpu.ordinal), readWrite} {
				binary.NativeEndian.PutUint32(list[(3*n+k)*word:], v)
			}
		}
		if err := t.gpu.driver.Do(driver.CuMemSetAccess, address, uintptr(size), b.At(0), uintptr(n)); err != nil {
			return err
		}
	}
	return nil
}

// Unmap unmaps and frees the memory of [lo, hi). It does not wait for other operations.
func (d *Device) Unmap(b deps.BufferID, lo, hi deps.Bytes) error {
	what := fmt.Sprintf("unmap %v", hi-lo)
	m, err := d.mirrors.get(b)
	if err != nil {
		return d.health.fail(what, err)
	}
	first, last, err := m.span(lo, hi)
	if err != nil {
		return d.health.fail(what, err)
	}
	if err := d.gpu.alive(); err != nil {
		return err
	}
	if err := m.claim(first, last, mapped, unmapping); err != nil {
		return d.health.fail(what, err)
	}
	d.gpu.enter()
	defer d.gpu.leave()
	err = d.mirrors.unmapGranules(m, first, last)
	m.finish(first, last, unmapped)
	if err != nil {
		return d.health.fail(what, err)
	}
	return nil
}

// unmapGranules unmaps and frees the memory of the granules [first, last), all of which are mapped.
// Requires: the caller has claimed them.
func (t *mirrorTable) unmapGranules(m *mirror, first, last int) error {
	var errs []error
	for i := first; i < last; i++ {
		g := &m.granules[i]
		errs = append(errs, t.gpu.driver.Do(driver.CuMemUnmap, m.at(i), uintptr(m.granule)),
			t.gpu.driver.Do(driver.CuMemRelease, uintptr(g.memory)))
		g.memory, g.access = 0, 0
	}
	t.backed.Add(-int64(last-first) * int64(m.granule))
	return errors.Join(errs...)
}

// Release drops the mirror of a buffer with all its memory.
func (d *Device) Release(b deps.BufferID) error {
	d.mirrors.mu.Lock()
	m := d.mirrors.of[b]
	delete(d.mirrors.of, b)
	d.mirrors.mu.Unlock()
	if m == nil {
		return d.health.fail("release", fmt.Errorf("buffer %d: %w", b, devices.ErrUnknownBuffer))
	}
	if d.gpu.stuck.Load() {
		d.platform.pins.waitIdle(d)
		return nil // an operation that never ends may still use the memory
	}
	d.gpu.enter()
	defer d.gpu.leave()
	if err := d.mirrors.drop(d, m); err != nil && d.gpu.lost.Load() == nil {
		return d.health.fail("release", err)
	}
	return nil
}

// drop frees all resources of a mirror of d that is not in use.
func (t *mirrorTable) drop(d *Device, m *mirror) error {
	errs := []error{t.platform.pins.unpin(d, m.buffer)}
	for i, j := 0, 0; i < len(m.granules); i = j {
		for j = i + 1; j < len(m.granules) && m.stateOf(j) == m.stateOf(i); j++ {
		}
		if m.stateOf(i) == unmapped {
			continue
		}
		if err := m.claim(i, j, mapped, unmapping); err != nil {
			return errors.Join(append(errs, err)...)
		}
		errs = append(errs, t.unmapGranules(m, i, j))
		m.finish(i, j, unmapped)
	}
	return errors.Join(append(errs, t.freeRange(m))...)
}

func (m *mirror) stateOf(i int) granuleState {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.granules[i].state
}

// freeAll drops all mirrors.
func (t *mirrorTable) freeAll(d *Device) error {
	t.mu.Lock()
	of := t.of
	t.of = make(map[deps.BufferID]*mirror)
	t.mu.Unlock()
	var errs []error
	for _, m := range of {
		errs = append(errs, t.drop(d, m))
	}
	return errors.Join(errs...)
}
