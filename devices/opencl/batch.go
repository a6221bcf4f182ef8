//go:build linux && (amd64 || arm64)

package opencl

import (
	"errors"
	"sync"
)

// A batch is operations that a queue has enqueued one behind the other, of which the last alone has
// an event of the driver: when that happens, all are done. To ask for an event costs a driver about
// half of a launch, and waiting for many slows the thread that enqueues.
//
// Source: docs/results/h200.md, a C program on NVIDIA's driver.
type batch struct {
	list []*operation // of the goroutine that enqueues until it is closed, then of the one that waits

	mu    sync.Mutex
	cl    uintptr // the event; 0 before the last is enqueued, and when it has happened
	last  int64   // the number of the last operation, when it is enqueued
	ended bool    // and was given back
}

// close notes the event of the last operation.
func (g *batch) close(cl uintptr) {
	g.mu.Lock()
	g.cl, g.last = cl, g.list[len(g.list)-1].event.number
	g.mu.Unlock()
}

// handle returns an event of the driver that happens when all of the batch up to now is done, 0
// where that has happened, and the number of the operation up to which the queue has to be flushed
// for it, 0 where it is. The caller gives the event back.
func (g *batch) handle(q *queue) (cl uintptr, last int64, err error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	switch {
	case g.ended:
		return 0, 0, nil
	case g.cl != 0:
		return g.cl, g.last, q.device.driver.do(clRetainEvent, g.cl)
	}
	if cl, err = q.marker(); err != nil {
		return 0, 0, err
	}
	if err := q.device.driver.do(clFlush, q.cl); err != nil {
		return 0, 0, errors.Join(err, q.device.driver.do(clReleaseEvent, cl))
	}
	return cl, 0, nil
}

// marker enqueues a marker and returns its event. Any goroutine may call it.
func (q *queue) marker() (uintptr, error) {
	b := newBlock()
	defer b.free()
	if err := q.device.driver.do(clEnqueueMarkerWithWaitList, q.cl, 0, 0, b.at(0)); err != nil {
		return 0, err
	}
	return uintptr(b.words[0]), nil
}

// release gives the event back. All have happened.
func (g *batch) release(d *Device) error {
	g.mu.Lock()
	cl := g.cl
	g.cl, g.ended = 0, true
	g.mu.Unlock()
	if cl == 0 {
		return nil
	}
	return d.driver.do(clReleaseEvent, cl)
}
