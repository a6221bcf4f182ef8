// Package learn keeps the data that a policy has learned: run times of kernels, in a file from one
// run to the next, and its answers on where tasks of a kernel belong.
package learn

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"math/bits"
	"os"
	"path/filepath"
	"sync/atomic"
	"time"

	"github.com/gompss/gompss/deps"
	"github.com/gompss/gompss/sched"
)

// Times passes run times of kernels to policies that learn. Without such a policy no clock is
// read.
type Times struct {
	On         bool
	file       string
	Learned    *sched.Times
	NextReport time.Duration // when a recorder gets the next report; its user guards it
}

// Load reads the file, if there is one yet.
func (l *Times) Load(file string) error {
	l.file, l.Learned = file, &sched.Times{}
	if file == "" {
		return nil
	}
	text, err := os.ReadFile(file)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return nil
	case err == nil:
		err = json.Unmarshal(text, l.Learned)
	}
	if err != nil {
		return fmt.Errorf("learned times: %s: %w", file, err)
	}
	return nil
}

// Check returns an error if save could not write the file, before the program has learned for hours
// without success.
func (l *Times) Check() error {
	if l.file == "" || !l.On {
		return nil
	}
	f, err := l.create()
	if err != nil {
		return fmt.Errorf("learned times: %s: cannot be written: %w", l.file, err)
	}
	return errors.Join(f.Close(), os.Remove(f.Name()))
}

// create makes a file beside that of l.
func (l *Times) create() (*os.File, error) {
	return os.CreateTemp(filepath.Dir(l.file), filepath.Base(l.file)+".*")
}

// Save writes the file, which others may be reading: it appears as a whole or not at all. Requires:
// no task in flight.
func (l *Times) Save() error {
	if l.file == "" || !l.On {
		return nil
	}
	text, err := json.Marshal(l.Learned)
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

// agreeInterval is the number of tasks that finish from one question to the next.
const agreeInterval = 16

// agreements is the number of Agreements. Kernels and size classes that share an
// entry share its answer, which costs a way through the queues and no more.
const agreements = 256

// An Agreement is the last answer of the policy for tasks of one kernel and size class.
type Agreement struct {
	finished  atomic.Uint32
	disagrees atomic.Bool
	known     atomic.Bool // it has seen enough tasks to decide
}

// An AgreementTable holds the answers of the policy by kernel and size class.
type AgreementTable [agreements]Agreement

// Of returns the entry of a kernel with a hash, for tasks that touch so many bytes.
func (t *AgreementTable) Of(hash uint64, work deps.Bytes) *Agreement {
	return &t[(hash+uint64(bits.Len64(uint64(work))))%agreements]
}

// Due counts a task that has finished, and reports whether the policy is to be asked again.
func (a *Agreement) Due() bool {
	n := a.finished.Add(1)
	return !a.known.Load() || n%agreeInterval == 0
}

// Set notes an answer of the policy.
func (a *Agreement) Set(agrees, known bool) {
	a.known.Store(known)
	a.disagrees.Store(!agrees)
}

// Disagrees reports whether the policy would run such tasks elsewhere.
func (a *Agreement) Disagrees() bool { return a.disagrees.Load() }

// Known reports whether the policy has seen enough tasks to decide.
func (a *Agreement) Known() bool { return a.known.Load() }
