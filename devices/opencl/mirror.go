//go:build linux && (amd64 || arm64)

package opencl

import (
	"errors"
	"fmt"
	"sync"
	"sync/atomic"

	"github.com/gompss/gompss/deps"
	"github.com/gompss/gompss/devices"
)

// A mirror is one buffer on one device: a memory object of the buffer's size, which is there while
// any granule is mapped. OpenCL has no virtual memory that could be backed in parts.
type mirror struct {
	buffer  devices.Buffer
	granule deps.Bytes

	mu     sync.Mutex
	object uintptr // cl_mem; 0 while nothing is mapped
	mapped []bool  // by granule
	count  int     // of those mapped
	pinned *pinned // nil where the host memory is not

	pinOnce sync.Once // by the first copy
	pinErr  error     // written by pinOnce
}

// A mirrorTable is the mirrors of one device.
type mirrorTable struct {
	mu     sync.RWMutex
	of     map[deps.BufferID]*mirror
	backed atomic.Int64 // bytes mapped
}

func (t *mirrorTable) get(b deps.BufferID) (*mirror, error) {
	t.mu.RLock()
	defer t.mu.RUnlock()
	if m := t.of[b]; m != nil {
		return m, nil
	}
	return nil, fmt.Errorf("buffer %d: %w", b, devices.ErrUnknownBuffer)
}

// Reserve makes the mirror of a buffer, with nothing mapped.
func (d *Device) Reserve(b devices.Buffer) error {
	if err := d.alive(); err != nil {
		return err
	}
	n := (b.Size + d.options.Granule - 1) / d.options.Granule
	d.mirrors.mu.Lock()
	defer d.mirrors.mu.Unlock()
	if d.mirrors.of[b.ID] != nil {
		return d.fail("reserve", fmt.Errorf("buffer %d has a mirror already", b.ID))
	}
	d.mirrors.of[b.ID] = &mirror{buffer: b, granule: d.options.Granule, mapped: make([]bool, n)}
	return nil
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
		if m.mapped[i] != mapped {
			return fmt.Errorf("granule %d of buffer %d: mapped is %t already", i, m.buffer.ID, !mapped)
		}
	}
	return nil
}

// Map counts [lo, hi) as mapped; the first granule of a buffer brings its memory object. What it
// holds is undefined.
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
	need := int64(last-first) * int64(m.granule)
	if used := d.mirrors.backed.Add(need); used > int64(d.memory) {
		d.mirrors.backed.Add(-need)
		return d.fail(what, fmt.Errorf("%w: %v of %v are mapped", devices.ErrNoMemory, deps.Bytes(used-need), d.memory))
	}
	if m.object == 0 {
		if m.object, err = d.allocate(m.buffer.Size); err != nil {
			d.mirrors.backed.Add(-need)
			return d.fail(what, err)
		}
	}
	for i := first; i < last; i++ {
		m.mapped[i] = true
	}
	m.count += last - first
	return nil
}

// word is what an atomic operation on a small element touches: memory objects are whole ones.
const word = 8

// allocate makes a memory object.
func (d *Device) allocate(size deps.Bytes) (uintptr, error) {
	const readWrite = 1
	size = (size + word - 1) / word * word
	if size > d.info.Largest {
		return 0, fmt.Errorf("%w: %v in one buffer: the device takes at most %v", devices.ErrNoMemory, size, d.info.Largest)
	}
	d.objects.Add(1)
	return d.driver.create(clCreateBuffer, d.context.cl, readWrite, uintptr(size), 0)
}

// Unmap counts [lo, hi) as free; the last granule takes the memory object along. The driver keeps
// that until work in flight is done.
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
	for i := first; i < last; i++ {
		m.mapped[i] = false
	}
	m.count -= last - first
	d.mirrors.backed.Add(-int64(last-first) * int64(m.granule))
	if m.count > 0 {
		return nil
	}
	object := m.object
	m.object = 0
	if err := d.driver.do(clReleaseMemObject, object); err != nil {
		return d.fail(what, err)
	}
	return nil
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
	if err := errors.Join(m.unpin(), d.drop(m)); err != nil && d.alive() == nil {
		return d.fail("release", err)
	}
	return nil
}

// drop frees what a mirror has.
func (d *Device) drop(m *mirror) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	object := m.object
	d.mirrors.backed.Add(-int64(m.count) * int64(m.granule))
	m.object, m.count = 0, 0
	if object == 0 {
		return nil
	}
	return d.driver.do(clReleaseMemObject, object)
}

// freeAll drops all mirrors.
func (t *mirrorTable) freeAll(d *Device) error {
	t.mu.Lock()
	of := t.of
	t.of = make(map[deps.BufferID]*mirror)
	t.mu.Unlock()
	var errs []error
	for _, m := range of {
		errs = append(errs, m.unpin(), d.drop(m))
	}
	return errors.Join(errs...)
}

// argumentOf returns the memory object of a buffer that a kernel has as an argument: none where
// nothing of the buffer is mapped, as where the kernel accesses an empty region of it. On a
// processor an access beyond the regions would end the program then; memory that nothing touches
// costs nothing there, and the kernel gets some.
func (d *Device) argumentOf(b deps.BufferID) (uintptr, error) {
	m, err := d.mirrors.get(b)
	if err != nil {
		return 0, err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.object == 0 && d.info.kind&typeCPU != 0 {
		m.object, err = d.allocate(m.buffer.Size)
	}
	return m.object, err
}

// memoryOf returns the memory object of a buffer.
func (d *Device) memoryOf(b deps.BufferID) (uintptr, error) {
	m, err := d.mirrors.get(b)
	if err != nil {
		return 0, err
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.object == 0 {
		return 0, fmt.Errorf("buffer %d is not mapped", b)
	}
	return m.object, nil
}

// covered checks that all of a region is mapped.
func (m *mirror) covered(t devices.Transfer) error {
	m.mu.Lock()
	defer m.mu.Unlock()
	for lo, hi := range t.Region.Runs() {
		first, last := deps.Bytes(lo)*t.Elem/m.granule, (deps.Bytes(hi)*t.Elem+m.granule-1)/m.granule
		if m.expect(int(first), int(last), true) != nil {
			return fmt.Errorf("elements [%d,%d) are not mapped", lo, hi)
		}
	}
	return nil
}
