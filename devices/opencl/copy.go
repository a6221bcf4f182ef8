//go:build linux && (amd64 || arm64)

package opencl

import (
	"errors"
	"fmt"

	"github.com/gompss/gompss/deps"
	"github.com/gompss/gompss/devices"
)

// Copy enqueues a copy between this device and the host.
func (d *Device) Copy(t devices.Transfer, after []devices.Event) devices.Event {
	op := &operation{what: fmt.Sprintf("copy of %v from %v to %v", t.Region, t.From, t.To), event: &event{}, after: append([]devices.Event(nil), after...)}
	var host *pinned
	op.start = func(waits []uintptr, _ bool) (cl uintptr, err error) {
		cl, host, err = d.copy(t, waits)
		return cl, err
	}
	op.drop = func() {
		if err := host.give(); err != nil {
			d.lose("unpin", err)
		}
	}
	switch {
	case t.To == d.space && t.From == devices.Host:
		return d.toDevice.submit(op)
	case t.From == d.space && t.To == devices.Host:
		return d.toHost.submit(op)
	}
	panic(fmt.Sprintf("gompss: bug: %s is asked to copy from %v to %v", d.name, t.From, t.To))
}

// copy enqueues the commands of a copy, and returns the host memory that they use.
func (d *Device) copy(t devices.Transfer, waits []uintptr) (cl uintptr, host *pinned, err error) {
	m, err := d.mirrors.get(t.Region.Buffer)
	if err != nil {
		return 0, nil, err
	}
	if err := m.covered(t); err != nil {
		return 0, nil, err
	}
	object, err := d.memoryOf(t.Region.Buffer)
	if err != nil {
		return 0, nil, err
	}
	if host, err = m.pin(d); err != nil {
		return 0, nil, err
	}
	c := commands{device: d, queue: d.toDevice, waits: waits}
	if t.To == devices.Host {
		c.queue = d.toHost
	}
	eachRect(t.Region, t.Elem, func(r rect) {
		c.add(func(count, list, event uintptr) error {
			return c.rect(r, object, m.buffer.Host.Address(), count, list, event)
		})
	})
	cl, err = c.end(true)
	return cl, host, err
}

// A rect is a box of bytes: rows of width bytes, in planes.
type rect struct {
	offset               deps.Bytes
	width, height, depth deps.Bytes // height and depth count rows and planes
	pitch, plane         deps.Bytes // from row to row, from plane to plane
}

// eachRect calls f with the boxes that a region consists of, as few as OpenCL can copy at once.
func eachRect(r deps.Region, elem deps.Bytes, f func(rect)) {
	if r.N == 0 {
		return
	}
	dims := append([]deps.Dim{}, r.Dims[:r.N]...)
	width := elem
	if last := dims[len(dims)-1]; last.Stride == 1 {
		width *= deps.Bytes(last.Count)
		dims = dims[:len(dims)-1]
	}
	walk(dims, deps.Bytes(r.Offset)*elem, elem, width, f)
}

// walk makes loops of the dimensions that do not fit a box.
func walk(dims []deps.Dim, offset, elem, width deps.Bytes, f func(rect)) {
	bytes := func(d deps.Dim) (n, stride deps.Bytes) { return deps.Bytes(d.Count), deps.Bytes(d.Stride) * elem }
	box := rect{offset: offset, width: width, height: 1, depth: 1, pitch: width, plane: width}
	if len(dims) == 0 {
		f(box)
		return
	}
	rows, pitch := bytes(dims[len(dims)-1])
	if pitch < width { // rows that overlap have no box
		loop(dims, offset, elem, width, f)
		return
	}
	box.height, box.pitch, box.plane = rows, pitch, rows*pitch
	switch len(dims) {
	case 1:
		f(box)
		return
	case 2:
		planes, plane := bytes(dims[0])
		if plane%pitch == 0 && plane >= rows*pitch {
			box.depth, box.plane = planes, plane
			f(box)
			return
		}
	}
	loop(dims, offset, elem, width, f)
}

// loop takes the outermost dimension apart.
func loop(dims []deps.Dim, offset, elem, width deps.Bytes, f func(rect)) {
	for i := range dims[0].Count {
		walk(dims[1:], offset+deps.Bytes(i*dims[0].Stride)*elem, elem, width, f)
	}
}

// rect enqueues one box.
func (c *commands) rect(r rect, object, host uintptr, count, list, event uintptr) error {
	d := c.device
	const async = 0
	if r.height == 1 && r.depth == 1 {
		f := clEnqueueReadBuffer
		if c.queue == d.toDevice {
			f = clEnqueueWriteBuffer
		}
		return d.driver.do(f, c.queue.cl, object, async, uintptr(r.offset), uintptr(r.width), host+uintptr(r.offset), count, list, event)
	}
	f := clEnqueueReadBufferRect
	if c.queue == d.toDevice {
		f = clEnqueueWriteBufferRect
	}
	b := newBlock()
	defer b.free()
	b.words[0], b.words[1], b.words[2] = uint64(r.offset%r.pitch), uint64(r.offset/r.pitch), 0
	b.words[3], b.words[4], b.words[5] = uint64(r.width), uint64(r.height), uint64(r.depth)
	return d.driver.do(f, c.queue.cl, object, async, b.at(0), b.at(0), b.at(3), uintptr(r.pitch), uintptr(r.plane), uintptr(r.pitch), uintptr(r.plane),
		host, count, list, event)
}

// commands are those of one operation, in order: the first waits, the last has the event.
type commands struct {
	device *Device
	queue  *queue
	waits  []uintptr
	last   func(count, list, event uintptr) error // not enqueued yet
	err    error
}

// add enqueues the command before, and keeps this one.
func (c *commands) add(enqueue func(count, list, event uintptr) error) {
	c.flush(0)
	c.last = enqueue
}

// flush enqueues the command that is kept.
func (c *commands) flush(event uintptr) {
	if c.last == nil || c.err != nil {
		return
	}
	list := uintptr(0)
	b := newBlock()
	defer b.free()
	n := copy(b.words[:], words(c.waits)) // at most one of each queue
	if n > 0 {
		list = b.at(0)
	}
	c.err = c.last(uintptr(n), list, event)
	c.last, c.waits = nil, nil
}

// end enqueues the last command and returns its event where that is marked; a marker where there is
// no command.
//
// Errors: of any command; those before it may run.
func (c *commands) end(marked bool) (uintptr, error) {
	if c.last == nil && (marked || len(c.waits) > 0) {
		c.add(func(count, list, event uintptr) error {
			return c.device.driver.do(clEnqueueMarkerWithWaitList, c.queue.cl, count, list, event)
		})
	}
	b := newBlock()
	defer b.free()
	event := uintptr(0)
	if b.words[0] = 0; marked {
		event = b.at(0)
	}
	c.flush(event)
	if c.err != nil {
		return 0, errors.Join(c.err, c.device.driver.do(clFinish, c.queue.cl)) // what was enqueued uses what the caller gives back
	}
	return uintptr(b.words[0]), nil
}

func words(list []uintptr) []uint64 {
	out := make([]uint64, len(list))
	for i, w := range list {
		out[i] = uint64(w)
	}
	return out
}
