package task_test

import (
	"math/rand/v2"
	"slices"
	"sync/atomic"

	"github.com/gompss/gompss/deps"
)

// A step is one thing that a program, or the body of a task, does.
type step struct {
	kind stepKind
	accs []area
	k    uint32
	body []step // of a nested task or a group; the parts of a loop

	grain  int        // of a wide task
	number bool       // a loop is cut by the number of its tasks, not by the grain
	cancel cancelKind // of a group
	inner  bool       // of a group: it is in another one
	behind bool       // of a group: the interpreter is, as the group is in one that is cancelled
	after  int        // how long its canceller takes

	fails  bool
	flaky  bool // fails once, and may be run again
	kernel bool
	away   bool // on an accelerator, if it is a kernel
	again  int  // how often a kernel may run again where a device fails
	tokens int
	once   bool // if(false)
	final  bool
	event  bool
	early  bool // releases its accesses early
	prio   int

	id int // of a task, or of a group among the groups

	// What the interpreter expects a wait to return: how many failures and skipped tasks are told of, or that waitFor fails.
	failed, skipped int
	bad             bool
	reading         bool    // the wait of a group leaves devices their copies
	seen            *looked // by a wait for an area, where the interpreter is behind
}

// A looked is what a wait for an area has found.
type looked struct {
	err    error
	values []uint32
}

type stepKind uint8

const (
	plainTask stepKind = iota
	nestedTask
	wideTask // one whose iterations, the columns of accs[0], workers share
	loopOf   // tasks for parts of the columns of an area
	groupOf  // tasks and a wait for them
	waitAll
	waitFor // accs[0]
)

// A cancelKind says what is cancelled while the tasks of a group are submitted and run. Which of them it meets is chance.
type cancelKind uint8

const (
	cancelNothing cancelKind = iota
	cancelGroup
	cancelRuntime // the group is the end of the program
)

// An area is a box of a matrix with an access mode. A vector is a matrix of one row.
type area struct {
	buf            int
	i0, i1, j0, j1 int
	mode           deps.Mode
	xor            bool // the operator of a reduction, or +
	weak           bool // for the children of the task alone
}

const modelRows, modelCols = 6, 40

func (a area) meets(b area) bool {
	return a.buf == b.buf && a.i0 < b.i1 && b.i0 < a.i1 && a.j0 < b.j1 && b.j0 < a.j1
}

// ordered reports whether tasks with these accesses come one after the other.
func (a area) ordered(b area) bool {
	if !a.meets(b) {
		return false
	}
	if a.mode == b.mode && (a.mode == deps.In || a.mode >= deps.Concurrent) {
		return a.mode == deps.Reduction && a.xor != b.xor
	}
	return true
}

func (a area) each(f func(i int)) {
	for i := a.i0; i < a.i1; i++ {
		for j := a.j0; j < a.j1; j++ {
			f(i*modelCols + j)
		}
	}
}

// --- making programs

type maker struct {
	rng    *rand.Rand
	next   int
	groups int
	bufs   int
	faults bool
	calm   bool // nothing is cancelled
	links  bool // there are weak accesses and early release
}

// program returns a program over whole buffers.
func (m *maker) program(all []area) []step {
	depth := m.rng.IntN(4)
	out := m.steps(4+m.rng.IntN(32), depth, all)
	if !m.calm && m.rng.IntN(3) == 0 {
		if g, ok := m.cancelled(depth, all, cancelGroup); ok {
			at := m.rng.IntN(len(out) + 1)
			out = slices.Insert(out, at, g)
		}
	}
	out = append(out, step{kind: waitAll})
	if !m.calm && m.rng.IntN(4) == 0 {
		if g, ok := m.cancelled(depth, all, cancelRuntime); ok {
			out = append(out, g, step{kind: waitAll})
		}
	}
	return out
}

func (m *maker) steps(n, depth int, inside []area) (out []step) {
	for range n {
		if s, ok := m.step(depth, inside); ok {
			out = append(out, s)
		}
	}
	return out
}

func (m *maker) step(depth int, inside []area) (step, bool) {
	switch p := m.rng.IntN(20); {
	case p < 2:
		return step{kind: waitAll}, true
	case p < 4:
		a, ok := m.area(inside, []deps.Mode{deps.In, deps.InOut})
		return step{kind: waitFor, accs: []area{a}}, ok
	case p < 5 && depth > 0:
		return m.group(depth-1, inside, true)
	case p < 6:
		return m.loop(inside, true)
	}
	return m.task(depth, inside, true)
}

// group returns a group of tasks and loops, and of other groups.
func (m *maker) group(depth int, inside []area, reductions bool) (step, bool) {
	m.groups++
	g := step{kind: groupOf, id: m.groups, reading: m.rng.IntN(3) == 0}
	for range 1 + m.rng.IntN(5) {
		var s step
		var ok bool
		switch p := m.rng.IntN(10); {
		case p == 0 && depth > 0:
			s, ok = m.group(depth-1, inside, reductions)
		case p == 1:
			s, ok = m.loop(inside, reductions)
		default:
			s, ok = m.task(depth, inside, reductions)
		}
		if ok {
			s.inner = true
			g.body = append(g.body, s)
		}
	}
	return g, len(g.body) > 0
}

// cancelled returns a group that is cancelled at some time. The bodies of its tasks do not wait for their children, so that
// what cancellation does to a child it does to the parent.
func (m *maker) cancelled(depth int, inside []area, how cancelKind) (step, bool) {
	links := m.links
	m.links = false // a task that is cut on its way ends there, and not where its children were
	defer func() { m.links = links }()
	g, ok := m.group(depth, inside, false)
	for range m.rng.IntN(6) {
		if s, more := m.task(depth, inside, false); more {
			g.body, ok = append(g.body, s), true
		}
	}
	g.cancel, g.after = how, m.rng.IntN(4000)
	dropWaits(g.body)
	return g, ok
}

func dropWaits(steps []step) {
	for i := range steps {
		s := &steps[i]
		if s.kind == nestedTask {
			kept := s.body[:0]
			for _, c := range s.body {
				if c.kind != waitAll && c.kind != waitFor && c.kind != groupOf {
					kept = append(kept, c)
				}
			}
			s.body = kept
		}
		dropWaits(s.body)
	}
}

// loop returns a loop over the columns of an area: its parts access some columns, and perhaps all of another area.
func (m *maker) loop(inside []area, reductions bool) (step, bool) {
	whole, ok := m.area(inside, []deps.Mode{deps.Out, deps.InOut, deps.InOut, deps.Concurrent, deps.Commutative})
	if !ok {
		return step{}, false
	}
	modes := []deps.Mode{deps.In, deps.In, deps.Commutative, deps.Reduction}
	if !reductions {
		modes = modes[:3]
	}
	other, with := m.area(inside, modes)
	with = with && !other.meets(whole) && m.rng.IntN(2) == 0
	s := step{kind: loopOf, accs: []area{whole}, number: m.rng.IntN(2) == 0, prio: m.rng.IntN(3) - 1}
	n := 1 + m.rng.IntN(whole.j1-whole.j0)
	if s.grain = n; !s.number {
		s.grain = (whole.j1 - whole.j0) / n
		n = (whole.j1 - whole.j0) / s.grain
	}
	for i := range n {
		part := whole
		part.j0, part.j1 = cutAt(whole, i, n), cutAt(whole, i+1, n)
		c := step{k: m.rng.Uint32() | 1, id: m.next, accs: []area{part}, prio: s.prio, fails: m.faults && m.rng.IntN(20) == 0}
		if with {
			c.accs = append(c.accs, other)
		}
		m.next++
		s.body = append(s.body, c)
	}
	return s, true
}

// cutAt returns where part i of n parts of the columns begins: those that are one longer come first.
func cutAt(a area, i, n int) int {
	size, rest := (a.j1-a.j0)/n, (a.j1-a.j0)%n
	return a.j0 + i*size + min(i, rest)
}

var modelModes = []deps.Mode{deps.In, deps.In, deps.Out, deps.InOut, deps.InOut, deps.Concurrent, deps.Commutative, deps.Commutative, deps.Reduction, deps.Reduction}

func (m *maker) task(depth int, inside []area, reductions bool) (step, bool) {
	modes := modelModes
	if !reductions {
		modes = modes[:len(modes)-2]
	}
	s := step{k: m.rng.Uint32() | 1, id: m.next, prio: m.rng.IntN(3) - 1}
	for range 1 + m.rng.IntN(3) {
		if a, ok := m.area(inside, modes); ok && !meetsAny(s.accs, a) {
			s.accs = append(s.accs, a)
		}
	}
	if m.calm && len(s.accs) > 0 && m.rng.IntN(2) == 0 { // more of them on devices
		s.accs = s.accs[:1]
		s.accs[0].i1 = s.accs[0].i0 + 1
		s.away = m.rng.IntN(2) == 0
	}
	if len(s.accs) == 0 {
		return s, false
	}
	m.next++
	if m.rng.IntN(8) == 0 {
		s.tokens = 10 + m.rng.IntN(90)
	}
	s.once, s.final = m.rng.IntN(10) == 0, m.rng.IntN(6) == 0
	s.event = m.rng.IntN(12) == 0
	s.kernel = m.isKernel(&s) && !(hasMode(inside, deps.Concurrent) && hasMode(s.accs, deps.Concurrent))
	switch {
	case s.kernel:
		if !hasMode(s.accs, deps.Concurrent) {
			s.again = m.rng.IntN(4)
		}
	case m.rng.IntN(12) == 0 && !hasMode(s.accs, deps.Reduction):
		s.kind, s.grain = wideTask, 1+m.rng.IntN(10)
		s.event, s.fails = false, m.faults && m.rng.IntN(6) == 0
	case m.rng.IntN(20) == 0:
		s.flaky = !hasMode(s.accs, deps.Concurrent)
	case m.faults && m.rng.IntN(12) == 0:
		s.fails = true
	case depth > 0 && m.rng.IntN(3) == 0:
		s.kind = nestedTask
		var mine []area
		for _, a := range s.accs {
			if a.mode != deps.Reduction {
				mine = append(mine, a)
			}
		}
		if len(mine) > 0 {
			s.body = m.steps(1+m.rng.IntN(6), depth-1, mine)
		}
		if m.links {
			m.link(&s)
		}
	}
	return s, true
}

// link makes some accesses of a nested task weak, and perhaps has all released early.
func (m *maker) link(s *step) {
	if hasMode(s.accs, deps.Concurrent) || hasMode(s.accs, deps.Commutative) {
		return
	}
	s.early = m.rng.IntN(3) == 0
	for i := range s.accs {
		a := &s.accs[i]
		a.weak = a.mode <= deps.InOut && m.rng.IntN(2) == 0
		s.early = s.early && a.mode <= deps.InOut
	}
}

// isKernel makes s one of the kernels above, if its accesses are those of one.
func (m *maker) isKernel(s *step) bool {
	d := s.accs[0]
	if d.i1-d.i0 != 1 || d.mode == deps.In || d.xor || m.rng.IntN(3) == 0 {
		return false
	}
	if len(s.accs) == 2 {
		return d.mode == deps.InOut && s.accs[1].mode == deps.In && s.accs[1].i1-s.accs[1].i0 == 1
	}
	return len(s.accs) == 1 && d.mode != deps.InOut
}

func meetsAny(list []area, a area) bool {
	for _, b := range list {
		if a.meets(b) {
			return true
		}
	}
	return false
}

func hasMode(list []area, mode deps.Mode) bool {
	for _, a := range list {
		if a.mode == mode {
			return true
		}
	}
	return false
}

// area returns a part of one of inside, in a mode that this permits.
func (m *maker) area(inside []area, modes []deps.Mode) (area, bool) {
	p := inside[m.rng.IntN(len(inside))]
	a := area{buf: p.buf, mode: modes[m.rng.IntN(len(modes))], xor: m.rng.IntN(3) == 0}
	if p.mode == deps.In || p.mode == deps.Concurrent || p.mode == deps.Commutative {
		a.mode = p.mode // what is done in any order must come to the same
	}
	a.xor = a.xor && a.mode == deps.Reduction
	a.i0, a.i1 = m.part(p.i0, p.i1, 2)
	a.j0, a.j1 = m.part(p.j0, p.j1, 5)
	if a.mode == p.mode && !contains(modes, p.mode) {
		return a, false
	}
	return a, true
}

func contains(modes []deps.Mode, mode deps.Mode) bool {
	for _, m := range modes {
		if m == mode {
			return true
		}
	}
	return false
}

// part returns a part of [lo, hi): often one of the same tiles.
func (m *maker) part(lo, hi, tile int) (int, int) {
	switch m.rng.IntN(5) {
	case 0:
		return lo, hi
	case 1, 2:
		a := lo + m.rng.IntN((hi-lo+tile-1)/tile)*tile
		return a, min(hi, a+tile)
	}
	a := lo + m.rng.IntN(hi-lo)
	return a, a + 1 + m.rng.IntN(hi-a)
}

// --- what a task does

// contribution is what a task that reads ins adds or mixes in.
func contribution(s *step, at func(buf int) []uint32) uint32 {
	k := s.k
	for _, a := range s.accs {
		if a.mode == deps.In && !a.weak {
			a.each(func(i int) { k += at(a.buf)[i] })
		}
	}
	return k
}

func apply(a area, k uint32, x []uint32) {
	if a.weak {
		return
	}
	a.each(func(i int) {
		switch {
		case a.mode == deps.Out:
			x[i] = uint32(i)*2654435761 + k
		case a.mode == deps.InOut:
			x[i] = x[i]*31 + k
		case a.mode == deps.Concurrent:
			atomic.AddUint32(&x[i], k)
		case a.mode == deps.Reduction && a.xor:
			x[i] ^= k
		case a.mode != deps.In:
			x[i] += k
		}
	})
}
