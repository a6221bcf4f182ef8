package sim

import (
	"time"

	"github.com/gompss/gompss/devices"
	"github.com/gompss/gompss/internal/spin"
)

// An event is a point in a stream: it happens once, with an error or without, at a moment of the
// device's time.
type event struct {
	mu   spin.Mutex
	done bool
	err  error
	at   time.Duration // virtual time
	// lasted is the part of that time that it took; set before it happens.
	lasted time.Duration
	// began and ended are when it was carried out, on the host's clock, whatever the clock of the
	// device is: they are exact.
	began, ended time.Time
	then         []func(error)
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

// Times returns when the work of e began and ended; zero when it did not run.
func (e *event) Times() (began, ended time.Time) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.began.IsZero() {
		return time.Time{}, time.Time{}
	}
	return e.began, e.ended
}

// Lasted returns how long the work of e took in modelled time.
func (e *event) Lasted() time.Duration {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.lasted
}

// happen makes e happen.
func (e *event) happen(at time.Duration, err error) {
	e.mu.Lock()
	e.done, e.err, e.at, e.ended = true, err, at, time.Now()
	then := e.then
	e.then = nil
	e.mu.Unlock()
	for _, f := range then {
		f(err)
	}
}

// moment returns when e happened; events of other plug-ins happened before time began.
func moment(e devices.Event) time.Duration {
	if e, ok := e.(*event); ok {
		e.mu.Lock()
		defer e.mu.Unlock()
		return e.at
	}
	return 0
}
