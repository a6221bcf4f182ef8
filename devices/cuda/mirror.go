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
	gpu      *gpu
	platform *platform
	limit    deps.Bytes    // of what is mapped
	sharers  atomic.Uint64 // the devices that have been let touch memory of this one, by index

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
	if err := d.gpu.alive(); err != nil {
		return err
	}
	if _, err := d.mirrors.get(b.ID); err == nil {
		return d.fail("reserve", fmt.Errorf("buffer %d has a mirror already", b.ID))
	}
	m := &mirror{buffer: b, granule: d.options.Granule}
	n := (b.Size + m.granule - 1) / m.granule
	m.size, m.memory, m.access = n*m.granule, make([]uint64, n), make([]uint64, n)
	d.gpu.enter()
	defer d.gpu.leave()
	if m.size > 0 {
		w := driver.NewBlock()
		defer w.Free()
		if err := d.gpu.driver.Do(driver.CuMemAddressReserve, w.At(0), uintptr(m.size), uintptr(m.granule), 0, 0); err != nil {
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

func (t *mirrorTable) freeRange(m *mirror) error {
	if m.size == 0 {
		return nil
	}
	return t.gpu.driver.Do(driver.CuMemAddressFree, m.base, uintptr(m.size))
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
	if err := d.gpu.alive(); err != nil {
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
	if used := deps.Bytes(d.mirrors.backed.Load()); used+deps.Bytes(last-first)*m.granule > d.mirrors.limit {
		return d.fail(what, fmt.Errorf("%w: %v of %v are mapped", devices.ErrNoMemory, used, d.mirrors.limit))
	}
	d.gpu.enter()
	defer d.gpu.leave()
	for i := first; i < last; i++ {
		if err := d.mirrors.mapGranule(m, i); err != nil {
			return d.fail(what, errors.Join(err, d.mirrors.unmapGranules(m, first, i)))
		}
	}
	if err := d.mirrors.grantAtOnce(m, first, last); err != nil {
		return d.fail(what, errors.Join(err, d.mirrors.unmapGranules(m, first, last)))
	}
	return nil
}

// grantAtOnce lets the device of t touch fresh granules of m, and with the same call those that
// have been let touch others of t: they will most likely want these too, and would wait for that
// with a copy, on the thread that enqueues for them. Where that fails they wait: share asks again
// and returns its error. Requires: m.mu held.
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

// fillAllocation writes the CUmemAllocationProp of this device's memory at the start of a zeroed
// block.
func fillAllocation(b *driver.Block, g *gpu) {
	const pinned, onDevice = 1, 1
	b.Words[0] = pinned                                         // type; no handle type
	b.Words[1] = onDevice | uint64(g.ordinal)<<32               // location
	b.Words[2], b.Words[3], b.Words[4], b.Words[5] = 0, 0, 0, 0 // security, flags
}

// mapGranule creates and maps the memory of granule i. Requires: m.mu held, nothing mapped there.
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
	m.memory[i], m.access[i] = memory, 0
	t.backed.Add(int64(m.granule))
	return nil
}

// at returns the address of granule i.
func (m *mirror) at(i int) uintptr { return m.base + uintptr(i)*uintptr(m.granule) }

// grant lets the devices of a set, by index, touch the granules [first, last) of m, a mirror of t,
// all of which are mapped. Requires: m.mu held.
func (t *mirrorTable) grant(m *mirror, first, last int, to uint64) error {
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
		if err := t.setAccess(m.at(i), deps.Bytes(j-i)*m.granule, lacking); err != nil {
			return err
		}
		for ; i < j; i++ {
			m.access[i] |= lacking
		}
	}
	return nil
}

// setAccess lets the devices of a set touch size bytes from address on, which are mapped.
func (t *mirrorTable) setAccess(address uintptr, size deps.Bytes, to uint64) error {
	const onDevice, readWrite, word = 1, 3, 4 // a CUmemAccessDesc is three words: where, which device, and how
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
	if err := d.gpu.alive(); err != nil {
		return err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if err := m.expect(first, last, true); err != nil {
		return d.fail(what, err)
	}
	d.gpu.enter()
	defer d.gpu.leave()
	if err := d.mirrors.unmapGranules(m, first, last); err != nil {
		return d.fail(what, err)
	}
	return nil
}

// unmapGranules unmaps those of the granules [first, last) that are mapped. Requires: m.mu held.
func (t *mirrorTable) unmapGranules(m *mirror, first, last int) error {
	var errs []error
	for i := first; i < last; i++ {
		if m.memory[i] == 0 {
			continue
		}
		errs = append(errs, t.gpu.driver.Do(driver.CuMemUnmap, m.at(i), uintptr(m.granule)),
			t.gpu.driver.Do(driver.CuMemRelease, uintptr(m.memory[i])))
		m.memory[i], m.access[i] = 0, 0
		t.backed.Add(-int64(m.granule))
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
	if d.gpu.stuck.Load() {
		d.platform.pins.rest(d)
		return nil // what never ends may use it still
	}
	d.gpu.enter()
	defer d.gpu.leave()
	if err := d.drop(m); err != nil && d.gpu.lost.Load() == nil {
		return d.fail("release", err)
	}
	return nil
}

// drop frees all that a mirror has.
func (d *Device) drop(m *mirror) error {
	err := d.platform.pins.unpin(d, m.buffer)
	m.mu.Lock()
	defer m.mu.Unlock()
	return errors.Join(err, d.mirrors.unmapGranules(m, 0, len(m.memory)), d.mirrors.freeRange(m))
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
