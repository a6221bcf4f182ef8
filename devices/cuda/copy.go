//go:build linux && (amd64 || arm64)

package cuda

import (
	"fmt"
	"slices"

	"github.com/gompss/gompss/deps"
	"github.com/gompss/gompss/devices"
	"github.com/gompss/gompss/devices/cuda/internal/driver"
)

// Copy enqueues a copy between this GPU and the host, or from a GPU whose memory it can read.
//
// The driver accesses host memory that is not pinned when the copy is enqueued, so such a copy
// waits on the host for its predecessors. If the memory is being pinned, the copy is enqueued
// afterwards.
func (d *Device) Copy(t devices.Transfer, after []devices.Event) devices.Event {
	op, over := d.copyOperation(t)
	if over == nil {
		return d.engine.submit(op, after)
	}
	e := op.event
	if d.engine.accept(op, append(slices.Clone(after), over)) { // the copy fails with its error
		over.Then(func(error) {
			op.host = !d.platform.pins.has(t.Region.Buffer)
			d.engine.push(op)
		})
	}
	return e
}

// copyOperation returns the operation of a copy. If the copy has to wait for the pinning of its
// memory, it also returns the event of its end.
func (d *Device) copyOperation(t devices.Transfer) (_ *operation, over *event) {
	c := &copying{device: d, transfer: t, event: event{device: d}}
	c.event.copy = &c.transfer
	op := &c.operation
	op.event, op.work = &c.event, c
	switch {
	case t.To == d.gpu.space && t.From == devices.Host:
		op.stream = d.streams.toDevice
	case t.From == d.gpu.space && t.To == devices.Host:
		op.stream = d.streams.toHost
	case t.To == d.gpu.space && t.From != d.gpu.space && d.Reaches(t.From):
		op.stream = d.streams.between
	default:
		panic(fmt.Sprintf("gompss: bug: %s is asked to copy from %v to %v", d.gpu.name, t.From, t.To))
	}
	if op.stream != d.streams.between {
		var has bool
		has, over = d.platform.pins.request(t.Region.Buffer)
		op.host = !has
	}
	return op, over
}

// An end is the source or the destination of a copy.
type end struct {
	host bool
	base uintptr // the address of byte 0 of the buffer
}

// A copying is the operation of a copy, in one allocation.
type copying struct {
	operation
	event    event
	device   *Device
	transfer devices.Transfer
}

// start makes the driver calls of a copy.
func (c *copying) start(op *operation) error {
	d, t := c.device, c.transfer
	from, err := d.endOf(t, t.From)
	if err != nil {
		return err
	}
	to, err := d.endOf(t, t.To)
	if err != nil {
		return err
	}
	return eachPiece(t.Region, t.Elem, d.gpu.chip.maxPitch, func(p piece) error { return d.gpu.copyPiece(p, from, to, op.stream.cu) })
}

// endOf returns one end of a copy. It returns an error if the memory is not mapped or this GPU
// cannot access it.
func (d *Device) endOf(t devices.Transfer, s devices.SpaceID) (end, error) {
	if s == devices.Host {
		m, err := d.mirrors.get(t.Region.Buffer)
		if err != nil {
			return end{}, err
		}
		return end{host: true, base: m.buffer.Host.Address()}, nil
	}
	owner := d.platform.at(s)
	if err := owner.gpu.alive(); err != nil {
		return end{}, err
	}
	m, err := owner.mirrors.get(t.Region.Buffer)
	if err != nil {
		return end{}, err
	}
	if err := m.covered(t); err != nil {
		return end{}, fmt.Errorf("%s: %w", owner.gpu.name, err)
	}
	if owner != d {
		if err := owner.mirrors.share(m, t, d); err != nil {
			return end{}, err
		}
	}
	return end{base: m.base}, nil
}

// covered returns an error unless all of a region is mapped.
func (m *mirror) covered(t devices.Transfer) error {
	for lo, hi := range t.Region.Runs() {
		if !m.covers(deps.Bytes(lo)*t.Elem, deps.Bytes(hi)*t.Elem) {
			return fmt.Errorf("elements [%d,%d) are not mapped", lo, hi)
		}
	}
	return nil
}

// share grants device to access to the granules of a region of t when it needs them for the first
// time. From then on it also gets access to newly mapped memory (grantAtOnce).
//
// Cost: 0.06 to 0.3 ms for one new granule on four H200, up to milliseconds for more, else O(runs).
func (t *mirrorTable) share(m *mirror, c devices.Transfer, to *Device) error {
	if bit := uint64(1) << to.gpu.index; t.sharers.Load()&bit == 0 {
		t.sharers.Or(bit)
	}
	for lo, hi := range c.Region.Runs() {
		first := int(deps.Bytes(lo) * c.Elem / m.granule)
		last := int((deps.Bytes(hi)*c.Elem + m.granule - 1) / m.granule)
		if err := t.grantMapped(m, first, last, 1<<to.gpu.index); err != nil {
			return err
		}
	}
	return nil
}

// copyPiece enqueues one piece.
func (g *gpu) copyPiece(p piece, from, to end, stream uintptr) error {
	if p.height > 1 {
		return g.copyRows(p, from, to, stream)
	}
	a, b, n := from.base+uintptr(p.offset), to.base+uintptr(p.offset), uintptr(p.width)
	switch {
	case from.host:
		return g.driver.Do(driver.CuMemcpyHtoDAsync, b, a, n, stream)
	case to.host:
		return g.driver.Do(driver.CuMemcpyDtoHAsync, b, a, n, stream)
	}
	return g.driver.Do(driver.CuMemcpyDtoDAsync, b, a, n, stream)
}

// copyRows enqueues a 2-D copy of two ends with the same layout. The words are those of
// CUDA_MEMCPY2D.
func (g *gpu) copyRows(p piece, from, to end, stream uintptr) error {
	const host, onDevice = 1, 2
	b := driver.NewBlock()
	defer b.Free()
	side := func(at int, e end) {
		address := uint64(e.base) + uint64(p.offset)
		b.Words[at], b.Words[at+1] = 0, 0 // x, y
		b.Words[at+2], b.Words[at+3], b.Words[at+4] = onDevice, 0, address
		if e.host {
			b.Words[at+2], b.Words[at+3], b.Words[at+4] = host, address, 0
		}
		b.Words[at+5], b.Words[at+6] = 0, uint64(p.pitch) // array, pitch
	}
	side(0, from)
	side(7, to)
	b.Words[14], b.Words[15] = uint64(p.width), uint64(p.height)
	return g.driver.Do(driver.CuMemcpy2DAsync, b.At(0), stream)
}

// A piece is a part of a copy that one driver call copies: height rows of width bytes, pitch bytes
// apart, starting at offset. A single row has no pitch.
type piece struct {
	offset, width, height, pitch deps.Bytes
}

// eachPiece calls f for the pieces of a region, which cover each element exactly once, until f
// returns an error.
//
// The innermost two dimensions are one piece, so that a tile is one 2-D copy; elements that are not
// contiguous are rows of one element. maxPitch is the maximum pitch of the driver's 2-D copies:
// beyond it every row is a piece. Cost: O(pieces), no allocation.
func eachPiece(r deps.Region, elem, maxPitch deps.Bytes, f func(piece) error) error {
	if r.Empty() {
		return nil
	}
	n := int(r.N)
	one := piece{width: elem, height: 1}
	if in := r.Dims[n-1]; in.Stride == 1 {
		one.width = deps.Bytes(in.Count) * elem
		n--
	}
	if n > 0 && deps.Bytes(r.Dims[n-1].Stride)*elem <= maxPitch {
		one.height, one.pitch = deps.Bytes(r.Dims[n-1].Count), deps.Bytes(r.Dims[n-1].Stride)*elem
		n--
	}
	var at [deps.MaxDims]int64
	for first := r.Offset; ; {
		one.offset = deps.Bytes(first) * elem
		if err := f(one); err != nil {
			return err
		}
		k := n - 1
		for ; k >= 0; k-- {
			at[k]++
			first += r.Dims[k].Stride
			if at[k] < r.Dims[k].Count {
				break
			}
			first -= at[k] * r.Dims[k].Stride
			at[k] = 0
		}
		if k < 0 {
			return nil
		}
	}
}
