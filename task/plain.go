package task

import (
	"fmt"
	"sync"
	"sync/atomic"

	"github.com/gompss/gompss/deps"
	"github.com/gompss/gompss/internal/spin"
)

// This file submits plain tasks: Go tasks of the program of which nothing is said but accesses in,
// out and inout. They have no detail. Their accesses are all that there is to describe, and only
// their place in the order and their edges need the lock of submission: where several goroutines
// submit, each describes its task before it takes the lock.

// A crowd says whether several goroutines submit to a scope. It is written only when it changes.
type crowd struct {
	on    atomic.Bool
	_     spin.Line
	quiet int // submissions in a row that found the lock free; guarded by it
}

// crowdLasts is the number of submissions in a row that find the lock free after which there is no
// crowd any more.
const crowdLasts = 1 << 8

// note records a submission. Requires: the lock held.
func (c *crowd) note(lockWasFree bool) {
	switch {
	case !lockWasFree:
		if c.quiet = 0; !c.on.Load() {
			c.on.Store(true)
		}
	case c.on.Load():
		if c.quiet++; c.quiet > crowdLasts {
			c.on.Store(false)
		}
	}
}

// A description is the accesses of a plain task, found before the lock of submission is taken.
type description struct {
	accesses []deps.Access
	err      error
	changes  uint64 // of the buffers, as of before they were found
}

var descriptions = sync.Pool{New: func() any { return &description{} }}

// isPlain reports whether a Go task in group g is plain.
func (s *Scope) isPlain(g *Group, options []Option) bool {
	rt := s.rt
	if !rt.ready.fastPath || g != nil || !s.program() || rt.observers.observer != nil || rt.world != nil {
		return false
	}
	for i := range options {
		if o := &options[i]; o.what() != accessOption || o.mode() > deps.InOut {
			return false
		}
	}
	return true
}

// goPlain submits a plain task.
func (s *Scope) goPlain(body func() error, options []Option) (Task, error) {
	rt := s.rt
	if rt.refuses() || rt.ctx.Err() != nil {
		return Task{}, rt.closedError(nil)
	}
	var ahead *description
	if s.crowd.on.Load() {
		ahead = descriptions.Get().(*description)
		defer descriptions.Put(ahead)
		ahead.changes = rt.buffers.changes.Load()
		ahead.err = rt.buffers.describe(&ahead.accesses, s, options)
	}
	if err := s.lockSubmission(rt.ctx); err != nil {
		return Task{}, err
	}
	r := s.takeRecord()
	var err error
	if ahead != nil && ahead.err == nil && ahead.changes == rt.buffers.changes.Load() {
		s.declared, ahead.accesses = ahead.accesses, s.declared
	} else {
		err = rt.buffers.describe(&s.declared, s, options)
	}
	if err != nil {
		return s.abort(r, fmt.Errorf("task: %s: %w", r.title(), err))
	}
	if r.body = body; !r.traits.is(simple) {
		r.traits.set(simple, true)
	}
	return s.commit(r), nil
}

// describe makes list the accesses that options of a plain task say. An empty slice is no access.
func (t *buffers) describe(list *[]deps.Access, s *Scope, options []Option) error {
	out := (*list)[:0]
	for i := range options {
		m := options[i].memory()
		if m.len == 0 {
			continue
		}
		mode := options[i].mode()
		b, first, err := t.locate(m, s)
		if err != nil {
			return fmt.Errorf("%s: %w", mode, err)
		}
		n := len(out)
		if n == cap(out) {
			out = append(out, deps.Access{})
		} else {
			out = out[:n+1]
		}
		out[n].SetInterval(b.id, first, first+m.len, mode)
	}
	*list = out
	return nil
}
