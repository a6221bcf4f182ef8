package task

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"github.com/gompss/gompss/devices"
	"github.com/gompss/gompss/internal/spin"
	"github.com/gompss/gompss/sched"
)

// learned passes run times of kernels to policies that learn. Without such a policy no clock is
// read.
type learned struct {
	on         bool
	file       string
	times      *sched.Times
	nextReport time.Duration // when a recorder gets the next report; guarded by readyQueues.mu
}

// load reads the file, if there is one yet.
func (l *learned) load(file string) error {
	l.file, l.times = file, &sched.Times{}
	if file == "" {
		return nil
	}
	text, err := os.ReadFile(file)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil
	case err == nil:
		err = json.Unmarshal(text, l.times)
	}
	if err != nil {
		return fmt.Errorf("learned times: %s: %w", file, err)
	}
	return nil
}

// check returns an error if save could not write the file, before the program has learned for hours
// without success.
func (l *learned) check() error {
	if l.file == "" || !l.on {
		return nil
	}
	f, err := l.create()
	if err != nil {
		return fmt.Errorf("learned times: %s: cannot be written: %w", l.file, err)
	}
	return errors.Join(f.Close(), os.Remove(f.Name()))
}

// create makes a file beside that of l.
func (l *learned) create() (*os.File, error) {
	return os.CreateTemp(filepath.Dir(l.file), filepath.Base(l.file)+".*")
}

// save writes the file, which others may be reading: it appears as a whole or not at all. Requires:
// no task in flight.
func (l *learned) save() error {
	if l.file == "" || !l.on {
		return nil
	}
	text, err := json.Marshal(l.times)
	if err != nil {
		return fmt.Errorf("task: close: learned times: %w", err)
	}
	f, err := l.create()
	if err != nil {
		return fmt.Errorf("task: close: learned times: %w", err)
	}
	_, err = f.Write(append(text, '\n'))
	if err = errors.Join(err, f.Close()); err == nil {
		err = os.Rename(f.Name(), l.file)
	}
	if err != nil {
		return fmt.Errorf("task: close: learned times: %w", errors.Join(err, os.Remove(f.Name())))
	}
	return nil
}

// timeOf returns how long the kernel of r ran on its accelerator, which it shared with those
// launched before.
func (rt *Runtime) timeOf(r *record, p sched.PlaceID) time.Duration {
	b := &rt.backlogs[p]
	spin.LockLong(&b.mu)
	defer b.mu.Unlock()
	now := rt.observers.now()
	began := max(r.began, b.freeAt)
	r.item.Beside = r.began < b.freeAt
	b.freeAt = max(now, b.freeAt)
	switch {
	case r.err != nil || r.kind != kernelBody:
		return 0
	case r.set.Space != devices.Host && r.set.Lasted > 0:
		r.item.Beside = false
		return r.set.Lasted
	case r.set.Space != devices.Host && r.set.Ended > r.set.Began:
		began, now = r.set.Began, r.set.Ended
		if before := b.endedAt; before < now {
			r.item.Beside = began < before
			began, b.endedAt = max(began, before), now
		}
	}
	return max(1, now-began)
}
