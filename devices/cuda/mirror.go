//go:build linux && (amd64 || arm64)

package cuda

import (
	"encoding/binary"
	"errors"
	"fmt"
	"math/bits"
	"sync"
	"sync/atomic"

	"github.com/gompss/gompss/deps"
	"github.com/gompss/gompss/devices"
	"github.com/gompss/gompss/devices/cuda/internal/driver"
)

// A mirror is the address range of one buffer on one GPU. Physical memory is created, mapped and
// unmapped in granules, since what was mapped at once can only be unmapped at once.
type mirror struct {
	buffer  devices.Buffer
	base    uintptr
	size    deps.Bytes // of the address range: whole granules
	granule deps.Bytes

	mu     sync.Mutex
	memory []uint64 // by granule: the CUmemGenericAllocationHandle, 0 where nothing is mapped
	access []uint64 // by granule: the devices that may touch it, by index
}

// A mirrorTable is the mirrors of one device.
type mirrorTable struct {
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

// Reserve makes the mirror of a buffer, with nothing mapped, and has the buffer pinned: that
// continues after it has returned, and copies of the buffer's memory wait for it.
func (d *Device) Reserve(b devices.Buffer) error {
	if err := d.alive(); err != nil {
		return err
	}
	if _, err := d.mirrors.get(b.ID); err == nil {
		return d.fail("reserve", fmt.Errorf("buffer %d has a mirror already", b.ID))
	}
	m := &mirror{buffer: b, granule: d.options.Granule}
	n := (b.Size + m.granule - 1) / m.granule
	m.size, m.memory, m.access = n*m.granule, make([]uint64, n), make([]uint64, n)
	d.enter()
	defer d.leave()
	if m.size > 0 {
		w := driver.NewBlock()
		defer w.Free()
		if err := d.driver.Do(driver.CuMemAddressReserve, w.At(0), uintptr(m.size), uintptr(m.granule), 0, 0); err != nil {
			return d.fail(fmt.Sprintf("reserve %v", m.size), err)
		}
		m.base = uintptr(w.Words[0])
	}
	d.platform.pins.pin(d, b)
	d.mirrors.mu.Lock()
	d.mirrors.of[b.ID] = m
	d.mirrors.mu.Unlock()
	return nil
}

func (d *Device) freeRange(m *mirror) error {
	if m.size == 0 {
		return nil
	}
	return d.driver.Do(driver.CuMemAddressFree, m.base, uintptr(m.size))
}

// span returns the granules of [lo, hi), which must be whole granules or reach to the end of the
// buffer.
func (m *mirror) span(lo, hi deps.Bytes) (first, last int, err error) {
	if lo%m.granule != 0 || hi%m.granule != 0 && hi != m.buffer.Size || lo < 0 || hi <= lo || hi > m.buffer.Size {
		return 0, 0, fmt.Errorf("bytes [%d,%d) of buffer %d: not whole granules of %v", lo, hi, m.buffer.ID, m.granule)
	}
	return int(lo / m.granule), int((hi + m.granule - 1) / m.granule), nil
}

// expect checks that the granules [first, last) are mapped, or are not. Requires: m.mu held.
func (m *mirror) expect(first, last int, mapped bool) error {
	for i := first; i < last; i++ {
		if (m.memory[i] != 0) != mapped {
			return fmt.Errorf("granule %d of buffer %d: mapped is %t already", i, m.buffer.ID, !mapped)
		}
	}
	return nil
}

// covers reports whether all of [lo, hi) is mapped.
func (m *mirror) covers(lo, hi deps.Bytes) bool {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.expect(int(lo/m.granule), int((hi+m.granule-1)/m.granule), true) == nil
}

// Map maps fresh memory at [lo, hi). What it holds is undefined.
//
// Cost: 26 microseconds a granule (H200). It does not wait for work in flight.
func (d *Device) Map(b deps.BufferID, lo, hi deps.Bytes) error {
	if err := d.alive(); err != nil {
		return err
	}
	what := fmt.Sprintf("map %v", hi-lo)
	m, err := d.mirrors.get(b)
	if err != nil {
		return d.fail(what, err)
	}
	first, last, err := m.span(lo, hi)
	if err != nil {
		return d.fail(what, err)
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if err := m.expect(first, last, false); err != nil {
		return d.fail(what, err)
	}
	if used := deps.Bytes(d.mirrors.backed.Load()); used+deps.Bytes(last-first)*m.granule > d.memory {
		return d.fail(what, fmt.Errorf("%w: %v of %v are mapped", devices.ErrNoMemory, used, d.memory))
	}
	d.enter()
	defer d.leave()
	for i := first; i < last; i++ {
		if err := d.mapGranule(m, i); err != nil {
			return d.fail(what, errors.Join(err, d.unmapGranules(m, first, i)))
		}
	}
	if err := d.grantAtOnce(m, first, last); err != nil {
		return d.fail(what, errors.Join(err, d.unmapGranules(m, first, last)))
	}
	return nil
}

// grantAtOnce lets d touch fresh granules of m, and with the same call those that have been let
// touch others of d: they will most likely want these too, and would wait for that with a copy, on
// the thread that enqueues for them. Where that fails they wait: share asks again, and its error is
// told. Requires: m.mu held.
func (d *Device) grantAtOnce(m *mirror, first, last int) error {
	own, all := uint64(1)<<d.index, d.sharers.Load()
	for _, p := range d.platform.devices {
		if p.lost.Load() != nil {
			all &^= 1 << p.index
		}
	}
	if all |= own; all != own && d.grant(m, first, last, all) == nil {
		return nil
	}
	return d.grant(m, first, last, own)
}

// fillAllocation writes the CUmemAllocationProp of this device's memory at the start of a zeroed
// block.
func fillAllocation(b *driver.Block, d *Device) {
	const pinned, onDevice = 1, 1
	b.Words[0] = pinned                                         // type; no handle type
	b.Words[1] = onDevice | uint64(d.ordinal)<<32               // location
	b.Words[2], b.Words[3], b.Words[4], b.Words[5] = 0, 0, 0, 0 // security, flags
}

// mapGranule creates and maps the memory of granule i. Requires: m.mu held, nothing mapped there.
func (d *Device) mapGranule(m *mirror, i int) error {
	b := driver.NewBlock()
	defer b.Free()
	fillAllocation(b, d)
	if err := d.driver.Do(driver.CuMemCreate, b.At(20), uintptr(m.granule), b.At(0), 0); err != nil {
		return err
	}
	memory := b.Words[20]
	if err := d.driver.Do(driver.CuMemMap, m.at(i), uintptr(m.granule), 0, uintptr(memory), 0); err != nil {
		return errors.Join(err, d.driver.Do(driver.CuMemRelease, uintptr(memory)))
	}
	m.memory[i], m.access[i] = memory, 0
	d.mirrors.backed.Add(int64(m.granule))
	return nil
}

// at returns the address of granule i.
func (m *mirror) at(i int) uintptr { return m.base + uintptr(i)*uintptr(m.granule) }

// grant lets the devices of a set, by index, touch the granules [first, last) of m, a mirror of d,
// all of which are mapped. Requires: m.mu held.
func (d *Device) grant(m *mirror, first, last int, to uint64) error {
	for i := first; i < last; {
		lacking := to &^ m.access[i]
		if lacking == 0 {
			i++
			continue
		}
		j := i
		for j < last && to&^m.access[j] == lacking {
			j++
		}
		if err := d.setAccess(m.at(i), deps.Bytes(j-i)*m.granule, lacking); err != nil {
			return err
		}
		for ; i < j; i++ {
			m.access[i] |= lacking
		}
	}
	return nil
}

// setAccess lets the devices of a set touch size bytes from address on, which are mapped.
func (d *Device) setAccess(address uintptr, size deps.Bytes, to uint64) error {
	const onDevice, readWrite, word = 1, 3, 4 // a CUmemAccessDesc is three words: where, which device, and how
	b := driver.NewBlock()
	defer b.Free()
	list := b.Bytes(0)
	most := len(list) / (3 * word)
	for to != 0 {
		n := 0
		for ; to != 0 && n < most; n++ {
			p := d.platform.devices[bits.TrailingZeros64(to)]
			to &^= 1 << p.index
			for k, v := range []uint32{onDevice, uint32(p.ordinal), readWrite} {
				binary.NativeEndian.PutUint32(list[(3*n+k)*word:], v)
			}
		}
		if err := d.driver.Do(driver.CuMemSetAccess, address, uintptr(size), b.At(0), uintptr(n)); err != nil {
			return err
		}
	}
	return nil
}

// Unmap takes the memory of [lo, hi) away and gives it back to the GPU. It does not wait for other
// work.
func (d *Device) Unmap(b deps.BufferID, lo, hi deps.Bytes) error {
	what := fmt.Sprintf("unmap %v", hi-lo)
	m, err := d.mirrors.get(b)
	if err != nil {
		return d.fail(what, err)
	}
	first, last, err := m.span(lo, hi)
	if err != nil {
		return d.fail(what, err)
	}
	if err := d.alive(); err != nil {
		return err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if err := m.expect(first, last, true); err != nil {
		return d.fail(what, err)
	}
	d.enter()
	defer d.leave()
	if err := d.unmapGranules(m, first, last); err != nil {
		return d.fail(what, err)
	}
	return nil
}

// unmapGranules unmaps those of the granules [first, last) that are mapped. Requires: m.mu held.
func (d *Device) unmapGranules(m *mirror, first, last int) error {
	var errs []error
	for i := first; i < last; i++ {
		if m.memory[i] == 0 {
			continue
		}
		errs = append(errs, d.driver.Do(driver.CuMemUnmap, m.at(i), uintptr(m.granule)),
			d.driver.Do(driver.CuMemRelease, uintptr(m.memory[i])))
		m.memory[i], m.access[i] = 0, 0
		d.mirrors.backed.Add(-int64(m.granule))
	}
	return errors.Join(errs...)
}

// Release drops the mirror of a buffer, with all that is mapped.
func (d *Device) Release(b deps.BufferID) error {
	d.mirrors.mu.Lock()
	m := d.mirrors.of[b]
	delete(d.mirrors.of, b)
	d.mirrors.mu.Unlock()
	if m == nil {
		return d.fail("release", fmt.Errorf("buffer %d: %w", b, devices.ErrUnknownBuffer))
	}
	if d.stuck.Load() {
		d.platform.pins.rest(d)
		return nil // what never ends may use it still
	}
	d.enter()
	defer d.leave()
	if err := d.drop(m); err != nil && d.lost.Load() == nil {
		return d.fail("release", err)
	}
	return nil
}

// drop frees all that a mirror has.
func (d *Device) drop(m *mirror) error {
	err := d.platform.pins.unpin(d, m.buffer)
	m.mu.Lock()
	defer m.mu.Unlock()
	return errors.Join(err, d.unmapGranules(m, 0, len(m.memory)), d.freeRange(m))
}

// freeAll drops all mirrors.
func (t *mirrorTable) freeAll(d *Device) error {
	t.mu.Lock()
	of := t.of
	t.of = make(map[deps.BufferID]*mirror)
	t.mu.Unlock()
	var errs []error
	for _, m := range of {
		errs = append(errs, d.drop(m))
	}
	return errors.Join(errs...)
}
