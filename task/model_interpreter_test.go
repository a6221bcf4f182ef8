package task_test

import (
	"github.com/gompss/gompss/deps"
)

// --- the interpreter

type outcome uint8

const (
	notRun outcome = iota
	good
	failed
	skipped
)

type interpreter struct {
	x        [][]uint32
	outcomes []outcome
	// sees, where something is cancelled, says what became of a task there: the interpreter runs behind then.
	sees      func(s *step) sight
	looks     func(s *step) // where it is behind, compares what a wait for an area has found
	cut       []bool        // tasks that cancellation ended
	undefined []area        // what they have perhaps written
}

// A sight is what is seen of a task of a cancelled group.
type sight uint8

const (
	asUsual      sight = iota
	notSubmitted       // it came too late
	notBegun
	begun
)

// A world is one nesting level of the interpreter.
type world struct {
	taints []stain
	open   []*pending
	// Failures that no wait has told of: of the group that is being run, or of tasks in none; and of combined reductions, which
	// are in no group.
	failed, skipped, uncombined int
}

func (w *world) untold() bool { return w.failed+w.skipped+w.uncombined > 0 }

type stain struct {
	area
	group int // of the task, 0 for none
}

// A pending is a reduction that has not been combined.
type pending struct {
	areas []area
	doing []func()
	buf   int
	xor   bool
}

func (w *world) tainted(accs []area) bool {
	for _, t := range w.taints {
		for _, a := range accs {
			if t.ordered(a) {
				return true
			}
		}
	}
	return false
}

func (w *world) taint(accs []area, group int) {
	for _, a := range accs {
		w.taints = append(w.taints, stain{a, group})
	}
}

// combine ends the reductions that accs meet, all of them with nil.
func (w *world) combine(accs []area) {
	kept := w.open[:0:0]
	for _, p := range w.open {
		hit := accs == nil
		for _, a := range accs {
			for _, b := range p.areas {
				hit = hit || b.ordered(a)
			}
		}
		if !hit {
			kept = append(kept, p)
			continue
		}
		all := make([]area, len(p.areas))
		for i, a := range p.areas {
			a.mode = deps.InOut
			all[i] = a
		}
		if w.tainted(all) {
			w.taint(all, 0)
			w.uncombined++
			continue
		}
		for _, f := range p.doing {
			f()
		}
	}
	w.open = kept
}

// join adds a reduction access to the open reductions.
func (w *world) join(a area, f func()) {
	mine := &pending{areas: []area{a}, buf: a.buf, xor: a.xor}
	kept := w.open[:0:0]
	for _, p := range w.open {
		if p.buf == a.buf && p.xor == a.xor && meetsAny(p.areas, a) {
			mine.areas = append(mine.areas, p.areas...)
			mine.doing = append(mine.doing, p.doing...)
		} else {
			kept = append(kept, p)
		}
	}
	if f != nil {
		mine.doing = append(mine.doing, f)
	}
	w.open = append(kept, mine)
}

func (in *interpreter) run(steps []step, w *world, group int) {
	for i := range steps {
		s := &steps[i]
		switch s.kind {
		case loopOf:
			in.run(s.body, w, group)
		case waitAll:
			w.combine(nil)
			s.failed, s.skipped = w.failed, w.skipped+w.uncombined
			w.taints, w.failed, w.skipped, w.uncombined = nil, 0, 0, 0
		case waitFor:
			w.combine(waiting(s.accs))
			s.bad = w.tainted(waiting(s.accs))
			if in.looks != nil {
				in.looks(s)
			}
		case groupOf:
			failed, skipped := w.failed, w.skipped
			w.failed, w.skipped = 0, 0
			in.run(s.body, w, s.id)
			s.failed, s.skipped = w.failed, w.skipped
			kept := w.taints[:0:0]
			for _, t := range w.taints {
				if t.group != s.id {
					kept = append(kept, t)
				}
			}
			w.taints, w.failed, w.skipped = kept, failed, skipped
		default:
			in.task(s, w, group)
		}
	}
}

func waiting(accs []area) []area {
	out := append([]area(nil), accs...)
	for i := range out {
		if out[i].mode != deps.In {
			out[i].mode = deps.InOut
		}
	}
	return out
}

func (in *interpreter) task(s *step, w *world, group int) {
	seen := asUsual
	if in.sees != nil {
		seen = in.sees(s)
	}
	if seen == notSubmitted {
		in.cut[s.id] = true
		return
	}
	w.combine(s.accs)
	result := good
	switch {
	case w.tainted(s.accs):
		result = skipped
	case seen != asUsual:
		result, in.cut[s.id] = failed, true
		for _, a := range s.accs {
			if seen == begun && a.mode != deps.In {
				in.undefined = append(in.undefined, a)
			}
		}
	case s.fails:
		result = failed
	}
	var k uint32
	if result == good {
		k = contribution(s, func(buf int) []uint32 { return in.x[buf] })
		for _, a := range s.accs {
			if a.mode != deps.Reduction {
				apply(a, k, in.x[a.buf])
			}
		}
		if s.kind == nestedTask {
			var inner world
			in.run(s.body, &inner, 0)
			inner.combine(nil)
			if inner.untold() {
				result = failed
			}
		}
	}
	for _, a := range s.accs {
		if a.mode == deps.Reduction {
			var f func()
			if result == good {
				f = func() { apply(a, k, in.x[a.buf]) }
			}
			w.join(a, f)
		}
	}
	in.outcomes[s.id] = result
	switch result {
	case failed:
		w.failed++
	case skipped:
		w.skipped++
	default:
		return
	}
	w.taint(s.accs, group)
}
