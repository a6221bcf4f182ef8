//go:build linux && (amd64 || arm64)

package opencl

import (
	"sync"
	"time"

	"github.com/gompss/gompss/devices"
)

// An event is the end of one operation.
type event struct {
	device *Device
	queue  *queue
	// alone says that the operation can fail without ending the device, so that nothing may be
	// enqueued behind it before it has happened.
	alone  bool
	number int64  // in its queue
	batch  *batch // it is enqueued in; written before it is placed

	mu           sync.Mutex
	enqueued     bool
	done         bool
	err          error
	began, ended time.Time
	then         []func(error)
	waiting      []func() // called when it is enqueued, or has happened
}

// Done reports whether e has happened.
func (e *event) Done() bool {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.done
}

// Err returns what went wrong, nil before e has happened.
func (e *event) Err() error {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.err
}

// Then calls f when e has happened.
func (e *event) Then(f func(error)) {
	e.mu.Lock()
	if !e.done {
		e.then = append(e.then, f)
		e.mu.Unlock()
		return
	}
	err := e.err
	e.mu.Unlock()
	f(err)
}

// Times returns when the work of e began and ended; zero where that was not wanted, or it did not
// run.
func (e *event) Times() (began, ended time.Time) {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.began, e.ended
}

// placed notes that e is enqueued, and resumes those that want to be enqueued behind it.
func (e *event) placed(g *batch) {
	e.mu.Lock()
	e.batch, e.enqueued = g, true
	waiting := e.waiting
	e.waiting = nil
	e.mu.Unlock()
	for _, f := range waiting {
		f()
	}
}

// isPlaced reports whether e is enqueued or has happened.
func (e *event) isPlaced() bool {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.enqueued || e.done
}

// whenPlaced calls f when e is enqueued or has happened, at once if it is.
func (e *event) whenPlaced(f func()) {
	e.mu.Lock()
	if !e.enqueued && !e.done {
		e.waiting = append(e.waiting, f)
		e.mu.Unlock()
		return
	}
	e.mu.Unlock()
	f()
}

// happen makes e happen, and gives the driver's event back.
func (e *event) happen(err error) {
	e.mu.Lock()
	if e.done {
		e.mu.Unlock()
		return
	}
	e.done, e.err = true, err
	then, waiting := e.then, e.waiting
	e.then, e.waiting = nil, nil
	e.mu.Unlock()
	for _, f := range waiting {
		f()
	}
	for _, f := range then {
		f(err)
	}
}

// handle returns an event of the driver for a list of events to wait for, and the number of the
// operation up to which the queue of e has to be flushed then; 0 where e has happened. The caller
// gives the event back. When it happens, so has e.
func (e *event) handle() (cl uintptr, last int64, err error) {
	e.mu.Lock()
	g, done := e.batch, e.done
	e.mu.Unlock()
	if done || g == nil {
		return 0, 0, nil
	}
	return g.handle(e.queue)
}

// await returns when e has happened.
func await(e devices.Event) error {
	if e.Done() {
		return e.Err()
	}
	ch := make(chan error, 1)
	e.Then(func(err error) { ch <- err })
	return <-ch
}
