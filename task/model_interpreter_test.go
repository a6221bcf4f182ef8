package task_test

import (
	"testing"

	"github.com/gompss/gompss/deps"
	"github.com/stretchr/testify/require"
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
	sees  func(s *step) sight
	looks func(s *step) // where it is behind, compares what a wait for an area has found
	cut   []bool        // tasks that cancellation or a device ended
	// undefined, by buffer, are the elements that it cannot know: what such tasks have perhaps written, and what was made of that by
	// those who may read it because a wait for their group has told of the failure.
	undefined [][]bool
}

func newInterpreter(tasks int) *interpreter {
	return &interpreter{outcomes: make([]outcome, tasks), cut: make([]bool, tasks)}
}

// add gives it a buffer.
func (in *interpreter) add(x []uint32) {
	in.x = append(in.x, append([]uint32(nil), x...))
	in.undefined = append(in.undefined, make([]bool, len(x)))
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
	// outside are those that weak accesses of the task have from the world around: no wait removes them.
	outside []stain
	open    []*pending
	// Failures that no wait has told of: of the group that is being run, or of tasks in none; and of combined reductions, which
	// are in no group.
	failed, skipped, uncombined int
	// late counts, by group, combined reductions that its wait tells of.
	late map[int]int
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
	group int // the innermost of its tasks, which waits for the combination; 0 for none
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

// behind returns the taints of w that tasks inside a weak access come after: it is linked as a whole.
func (w *world) behind(a area) (out []stain) {
	if !a.weak || !w.tainted([]area{a}) {
		return nil
	}
	return []stain{{area: a.closed()}}
}

// closed is the access of all that comes after the children on a.
func (a area) closed() area {
	a.mode, a.weak = deps.InOut, false
	return a
}

// strong returns the accesses that s itself waits for.
func (s *step) strong() (out []area) {
	for _, a := range s.accs {
		if !a.weak {
			out = append(out, a)
		}
	}
	return out
}

// combine ends the reductions that accs meet, all of them with nil.
func (w *world) combine(accs []area) {
	w.combineIf(func(p *pending) bool {
		hit := accs == nil
		for _, a := range accs {
			for _, b := range p.areas {
				hit = hit || b.ordered(a)
			}
		}
		return hit
	})
}

// combineIf ends those of the open reductions that hit says.
func (w *world) combineIf(hit func(p *pending) bool) {
	kept := w.open[:0:0]
	for _, p := range w.open {
		if !hit(p) {
			kept = append(kept, p)
			continue
		}
		all := make([]area, len(p.areas))
		for i, a := range p.areas {
			a.mode = deps.InOut
			all[i] = a
		}
		if w.tainted(all) {
			w.taint(all, p.group)
			if p.group == 0 {
				w.uncombined++
			} else {
				if w.late == nil {
					w.late = map[int]int{}
				}
				w.late[p.group]++
			}
			continue
		}
		for _, f := range p.doing {
			f()
		}
	}
	w.open = kept
}

// join adds a reduction access to the open reductions.
func (w *world) join(a area, group int, f func()) {
	mine := &pending{areas: []area{a}, buf: a.buf, xor: a.xor, group: group}
	kept := w.open[:0:0]
	for _, p := range w.open {
		if p.buf == a.buf && p.xor == a.xor && meetsAny(p.areas, a) {
			mine.areas = append(mine.areas, p.areas...)
			mine.doing = append(mine.doing, p.doing...)
			mine.group = max(mine.group, p.group) // a group inside another has the greater number
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
			w.taints, w.failed, w.skipped, w.uncombined = append([]stain(nil), w.outside...), 0, 0, 0
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
			w.combineIf(func(p *pending) bool { return p.group == s.id })
			s.failed, s.skipped = w.failed, w.skipped+w.late[s.id]
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
	case w.tainted(s.strong()):
		result = skipped
	case seen != asUsual:
		result, in.cut[s.id] = failed, true
		for _, a := range s.accs {
			if seen == begun && a.mode != deps.In {
				a.each(func(i int) { in.undefined[a.buf][i] = true })
			}
		}
	case s.fails:
		result = failed
	}
	var k uint32
	var inner world
	unknown, body := false, result == good
	if body {
		k, unknown = contribution(s, func(buf int) []uint32 { return in.x[buf] }), in.readsUndefined(s)
		for _, a := range s.accs {
			if a.mode != deps.Reduction {
				in.apply(a, k, unknown)
			}
		}
		if s.kind == nestedTask {
			for _, a := range s.accs {
				inner.outside = append(inner.outside, w.behind(a)...)
			}
			inner.taints = append(inner.taints, inner.outside...)
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
				f = func() { in.apply(a, k, unknown) }
			}
			w.join(a, group, f)
		}
	}
	in.outcomes[s.id] = result
	switch result {
	case failed:
		w.failed++
	case skipped:
		w.skipped++
	}
	for _, a := range s.accs {
		bad := result != good
		if body && (a.weak || s.early) { // it has ended as its children on it have
			bad = inner.tainted([]area{a.closed()})
		}
		if bad {
			w.taint([]area{a}, group)
		}
	}
}

// readsUndefined reports whether s reads an element that cannot be known.
func (in *interpreter) readsUndefined(s *step) bool {
	found := false
	for _, a := range s.accs {
		if a.mode == deps.In && !a.weak {
			a.each(func(i int) { found = found || in.undefined[a.buf][i] })
		}
	}
	return found
}

// apply does what a task does with one access, and says of what it cannot be known what came of it: unknown is whether that holds for k.
func (in *interpreter) apply(a area, k uint32, unknown bool) {
	apply(a, k, in.x[a.buf])
	if a.mode == deps.In || a.weak {
		return
	}
	a.each(func(i int) {
		u := &in.undefined[a.buf][i]
		*u = unknown || *u && a.mode != deps.Out
	})
}

// TestInterpreterKnowsWhatIsUndefined has a device end a task whose group is waited for: who comes then may read what that has left, and
// what is made of it cannot be known either, until it is written again.
func TestInterpreterKnowsWhatIsUndefined(t *testing.T) {
	row := func(i int, mode deps.Mode) area { return area{i0: i, i1: i + 1, j1: modelCols, mode: mode} }
	steps := []step{
		{kind: groupOf, body: []step{{id: 0, accs: []area{row(0, deps.InOut)}}}},
		{id: 1, k: 1, accs: []area{row(0, deps.In), row(1, deps.Concurrent)}},
		{id: 2, k: 1, accs: []area{row(1, deps.In), row(2, deps.Reduction)}},
		{id: 3, k: 1, accs: []area{row(3, deps.Out)}},
		{id: 4, k: 1, accs: []area{row(0, deps.In), row(3, deps.Out)}},
		{id: 5, k: 1, accs: []area{row(1, deps.Out)}},
		{id: 6, k: 1, accs: []area{row(1, deps.In), row(4, deps.InOut)}},
		{kind: waitAll},
	}
	in := newInterpreter(7)
	in.add(make([]uint32, modelRows*modelCols))
	in.sees = func(s *step) sight {
		if s.id == 0 {
			return begun
		}
		return asUsual
	}
	in.run(steps, &world{}, 0)
	require.Equal(t, 1, steps[0].failed)
	for i, want := range []bool{true, false, true, true, false, false} {
		for j := range modelCols {
			require.Equal(t, want, in.undefined[0][i*modelCols+j], "row %d, column %d", i, j)
		}
	}
}
