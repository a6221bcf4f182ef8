package analysis

import (
	"slices"

	"github.com/gompss/gompss/codegen/ir"
	"github.com/gompss/gompss/codegen/ir/query"
)

// A FollowUp is a statement that a thread may reach after a construct with nowait, without a
// barrier in between.
type FollowUp struct {
	Stmt  ir.Stmt
	Sure  bool      // every thread reaches it, after the construct
	Again []ir.Stmt // the sequential loops in whose next iteration it is reached
}

// Holds reports whether wanted accepts f's statement, or a statement inside it that can be reached
// without a barrier: in a branch, or in a loop without a directive.
func (f FollowUp) Holds(wanted func(ir.Stmt) bool) bool {
	if wanted(f.Stmt) {
		return true
	}
	found := false
	if ir.DirectiveOf(f.Stmt) == nil {
		ir.Lists(f.Stmt, func(list []ir.Stmt) {
			inner, _ := upToBarrier(list)
			found = found || slices.ContainsFunc(inner, func(g FollowUp) bool { return g.Holds(wanted) })
		})
	}
	return found
}

// WithoutBarrier returns, for each construct with nowait in k, the statements that threads may
// reach after it without a barrier.
func WithoutBarrier(k *ir.Kernel) map[ir.Stmt][]FollowUp {
	out := map[ir.Stmt][]FollowUp{}
	Nowaits(k, func(s ir.Stmt, rest []FollowUp, _ []ir.Stmt) { out[s] = rest })
	return out
}

// sequential returns the body of s if s is a loop without a directive.
func sequential(s ir.Stmt) (body []ir.Stmt, ok bool) {
	switch s := s.(type) {
	case *ir.For:
		return s.Body, s.Directive == nil
	case *ir.While:
		return slices.Concat(s.Pre, s.Body, s.Post), true
	}
	return nil, false
}

// followUps returns the statements that threads may reach without a barrier from the beginning of
// list: those of list, those of start (the part of the next iteration of loop before list), and
// behind.
func followUps(k *ir.Kernel, list, before []ir.Stmt, behind []FollowUp, loop ir.Stmt, start []ir.Stmt) []FollowUp {
	out, open := upToBarrier(list)
	sure := true
	for i := range out {
		sure = sure && (i >= len(before) || !Jumps(before[i:i+1]))
		out[i].Sure = sure
	}
	if !open {
		return out
	}
	if loop != nil {
		next, _ := upToBarrier(start)
		for _, f := range next {
			f.Again = append(f.Again, loop)
			out = append(out, f)
		}
	}
	return append(out, behind...)
}

// upToBarrier returns the statements of list up to the first barrier. open is true if list has no
// barrier.
func upToBarrier(list []ir.Stmt) (out []FollowUp, open bool) {
	for _, s := range list {
		switch s := s.(type) {
		case *ir.Barrier:
			return out, false
		case *ir.Block:
			inner, open := upToBarrier(s.Body)
			if out = append(out, inner...); !open {
				return out, false
			}
			continue
		}
		out = append(out, FollowUp{Stmt: s})
		if d := ir.DirectiveOf(s); d != nil && ofTeam(d) && !d.Nowait {
			return out, false
		}
	}
	return out, true
}

// ofTeam reports whether d distributes work among the threads of the current team, with a barrier
// at its end unless it has nowait.
func ofTeam(d *ir.Directive) bool {
	return d.Parts&ir.Parallel == 0 && d.Parts&(ir.Workshare|ir.Single) != 0
}

func endsWithoutBarrier(s ir.Stmt) bool {
	d := ir.DirectiveOf(s)
	return d != nil && ofTeam(d) && d.Nowait
}

// A ClashKind says whether two memory references may, or certainly do, conflict.
type ClashKind uint8

const (
	ClashNever ClashKind = iota
	ClashPossible
	ClashCertain
)

// SharerOf returns the innermost construct around r that distributes work among the threads of a
// team or restricts it to one thread, nil if every thread reaches r.
func SharerOf(r *Reach) ir.Stmt {
	for i := len(r.In) - 1; i >= 0; i-- {
		if d := ir.DirectiveOf(r.In[i]); ofTeam(d) || d.Parts&ir.Masked != 0 {
			return r.In[i]
		}
	}
	return nil
}

// LoopOf returns s if s is a for loop, else nil.
func LoopOf(s ir.Stmt) *ir.For {
	l, _ := s.(*ir.For)
	return l
}

// SameIteration returns ClashNever if iterations of x and y with the same number run in the same
// thread, because both loops have the same schedule and the same iteration space; else
// ClashPossible.
func SameIteration(x, y *ir.For, w, r *Reach) ClashKind {
	a := slices.IndexFunc(w.Loops, func(l LoopRange) bool { return l.For == x })
	b := slices.IndexFunc(r.Loops, func(l LoopRange) bool { return l.For == y })
	n := max(1, x.Directive.Collapse)
	if n != max(1, y.Directive.Collapse) || !DealtInOrder(x.Directive) || !DealtInOrder(y.Directive) || a+n > len(w.Loops) || b+n > len(r.Loops) || !sameChunk(x, y) {
		return ClashPossible
	}
	for i := range n {
		p, q := w.Loops[a+i], r.Loops[b+i]
		if !p.Known || !q.Known || p.Stride != q.Stride || !p.Last.Sub(p.First).Equal(q.Last.Sub(q.First)) {
			return ClashPossible
		}
	}
	return ClashNever
}

// DealtInOrder reports whether the number of an iteration determines its thread: a static schedule,
// or none.
func DealtInOrder(d *ir.Directive) bool {
	return d.Schedule.Kind == ir.ScheduleNone || d.Schedule.Kind == ir.ScheduleStatic
}

func sameChunk(x, y *ir.For) bool {
	a, b := x.Directive.Schedule.Chunk, y.Directive.Schedule.Chunk
	if a == nil || b == nil {
		return a == nil && b == nil
	}
	m, ok1 := query.Int64(a)
	n, ok2 := query.Int64(b)
	return ok1 && ok2 && m == n
}

// A nowaitVisit receives a construct with nowait, the statements that threads may reach after it
// without a barrier, and the enclosing constructs.
type nowaitVisit func(s ir.Stmt, rest []FollowUp, around []ir.Stmt)

// Nowaits calls visit for each construct with nowait in the body of k and of the functions that k
// calls.
func Nowaits(k *ir.Kernel, visit nowaitVisit) {
	v := &nowaitSearch{kernel: k, visit: visit, holds: map[ir.Stmt]bool{}}
	v.in(k.Body, nil, nil, nil)
	for _, f := range k.Funcs {
		v.in(f.Body, nil, nil, nil)
	}
}

// nowaitSearch visits a kernel. holds caches the results of has; statements without a construct
// with nowait inside are skipped.
type nowaitSearch struct {
	kernel *ir.Kernel
	visit  nowaitVisit
	holds  map[ir.Stmt]bool
}

// has reports whether s is a construct with nowait or contains one.
func (v *nowaitSearch) has(s ir.Stmt) bool {
	known, ok := v.holds[s]
	if !ok {
		known = endsWithoutBarrier(s)
		ir.Lists(s, func(list []ir.Stmt) { known = slices.ContainsFunc(list, v.has) || known })
		v.holds[s] = known
	}
	return known
}

// in visits the constructs of list. behind are the statements that may follow list without a
// barrier, loop is the sequential loop whose body list is, and around are the enclosing constructs.
func (v *nowaitSearch) in(list []ir.Stmt, behind []FollowUp, loop ir.Stmt, around []ir.Stmt) {
	for i, s := range list {
		if !v.has(s) {
			continue
		}
		rest := followUps(v.kernel, list[i+1:], list[i+1:], behind, loop, list[:i+1])
		if endsWithoutBarrier(s) {
			v.visit(s, rest, around)
		}
		inner, within := around, []ir.Stmt(nil)
		var inLoop ir.Stmt
		if ir.DirectiveOf(s) != nil {
			inner, rest = append(slices.Clone(around), s), nil
		} else if list, ok := sequential(s); ok {
			inLoop, within = s, list
		}
		for j := range rest {
			rest[j].Sure = false
		}
		if inLoop != nil {
			v.in(within, rest, inLoop, inner)
			continue
		}
		ir.Lists(s, func(list []ir.Stmt) { v.in(list, rest, nil, inner) })
	}
}

// enclosing is the current position of a Collector: the enclosing directives, and the phase.
type enclosing struct {
	in     []ir.Stmt
	phases []int // for each phase, an earlier phase that it is joined with, or itself (a union-find forest)
}

// phase returns the number of the current phase.
func (c *enclosing) phase() int { return max(0, len(c.phases)-1) }

// PhaseOf returns the representative of the phases that threads may execute concurrently with phase
// n.
// Requires: all code has been collected.
func (c *enclosing) PhaseOf(n int) int {
	for n < len(c.phases) && c.phases[n] != n {
		n = c.phases[n]
	}
	return n
}

// join unites two phases, because threads may execute them concurrently.
func (c *enclosing) join(a, b int) {
	if a, b = c.PhaseOf(a), c.PhaseOf(b); a != b {
		c.phases[max(a, b)] = min(a, b)
	}
}

// begin starts a new phase.
func (c *enclosing) begin() {
	if len(c.phases) == 0 {
		c.phases = []int{0}
	}
	c.phases = append(c.phases, len(c.phases))
}

// behind records the barrier that s is or ends with. It also joins the phases that the barriers
// inside s do not separate: the last phase of a loop with the first phase of its next iteration,
// the branches of an If, and the code that a jump may skip.
func (c *enclosing) behind(s ir.Stmt, first int) {
	if d := ir.DirectiveOf(s); d != nil && ofTeam(d) && !d.Nowait {
		defer c.begin()
	}
	last := c.phase()
	if last == first {
		if _, ok := s.(*ir.Barrier); ok {
			c.begin()
		}
		return
	}
	jumps := false
	switch s := s.(type) {
	case *ir.For, *ir.While, *ir.Block:
		ir.Lists(s, func(list []ir.Stmt) { jumps = jumps || Jumps(list) })
	case *ir.Call:
		jumps = Jumps(s.Fn.Body)
	case *ir.If:
		jumps = true
	}
	switch {
	case jumps:
		for n := first; n < last; n++ {
			c.join(n, last)
		}
	default:
		switch s.(type) {
		case *ir.For, *ir.While:
			c.join(first, last)
		}
	}
}
