package task

import (
	"fmt"

	"github.com/gompss/gompss/deps"
	"github.com/gompss/gompss/task/internal/life"
)

// This file submits plain tasks: Go tasks of the program without options other than in, out and
// inout accesses. They have no detail record, since nothing but accesses describes them.
//
// They are described with the lock of submission held. Where four goroutines submit, finding the
// accesses before the lock is taken gains nothing that can be measured: it is a tenth of what the
// lock is held for, and the rest is the graph.

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
	if err := s.lockSubmission(rt.ctx); err != nil {
		return Task{}, err
	}
	r := s.takeRecord()
	r.body = body // its line is in the error of a refusal
	if err := describePlain(&s.declared, s, options); err != nil {
		return s.abort(r, fmt.Errorf("task: %s: %w", r.title(), err))
	}
	if !r.traits.Is(life.Simple) {
		r.traits.Set(life.Simple, true)
	}
	return s.commit(r), nil
}

// describePlain sets list to the accesses in the options of a plain task. An empty slice is no
// access.
func describePlain(list *[]deps.Access, s *Scope, options []Option) error {
	out := (*list)[:0]
	for i := range options {
		m := options[i].memory()
		if m.Len == 0 {
			continue
		}
		mode := options[i].mode()
		b, first, err := s.rt.buffers.Locate(m, &s.memory)
		if err != nil {
			return fmt.Errorf("%s: %w", mode, err)
		}
		n := len(out)
		if n == cap(out) {
			out = append(out, deps.Access{})
		} else {
			out = out[:n+1]
		}
		out[n].SetInterval(b.ID, first, first+m.Len, mode)
	}
	*list = out
	return nil
}
