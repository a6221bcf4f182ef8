package analysis

import (
	"slices"

	"github.com/gompss/gompss/codegen/ir"
	"github.com/gompss/gompss/codegen/ir/query"
)

// A FollowUp is a statement that threads come to without a barrier in between.
type FollowUp struct {
	Stmt  ir.Stmt
	Sure  bool      // every thread comes to it, behind the construct
	Again []ir.Stmt // the sequential loops whose next iteration it is in
}

// Holds reports whether f is a statement that is wanted, or has one inside with no barrier in front
// of it there: in a branch, or in a loop that no directive governs.
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

// WithoutBarrier returns what threads come to from each construct with nowait in k without a
// barrier in between.
func WithoutBarrier(k *ir.Kernel) map[ir.Stmt][]FollowUp {
	out := map[ir.Stmt][]FollowUp{}
	Nowaits(k, func(s ir.Stmt, rest []FollowUp, _ []ir.Stmt) { out[s] = rest })
	return out
}

// sequential returns the body of a loop without a directive.
func sequential(s ir.Stmt) (body []ir.Stmt, ok bool) {
	switch s := s.(type) {
	case *ir.For:
		return s.Body, s.Directive == nil
	case *ir.While:
		return slices.Concat(s.Pre, s.Body, s.Post), true
	}
	return nil, false
}

// followUps returns what threads come to from the start of list on without a barrier: that of list,
// then of the next iteration of loop up to where list begins, and what is behind.
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

// upToBarrier returns the statements of list up to the first barrier; open says that there is none.
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

// ofTeam reports whether d shares work out among the threads of a region that is there, with a
// barrier at its end.
func ofTeam(d *ir.Directive) bool {
	return d.Parts&ir.Parallel == 0 && d.Parts&(ir.Workshare|ir.Single) != 0
}

func endsWithoutBarrier(s ir.Stmt) bool {
	d := ir.DirectiveOf(s)
	return d != nil && ofTeam(d) && d.Nowait
}

// A ClashKind is the known relation of two touches.
type ClashKind uint8

const (
	ClashNever ClashKind = iota
	ClashPossible
	ClashCertain
)

// SharerOf returns the innermost loop or construct around r that its team shares, nil where each
// thread comes to r.
func SharerOf(r *Reach) ir.Stmt {
	for i := len(r.In) - 1; i >= 0; i-- {
		if d := ir.DirectiveOf(r.In[i]); ofTeam(d) || d.Parts&ir.Masked != 0 {
			return r.In[i]
		}
	}
	return nil
}

// LoopOf returns s where it is a loop, else nil.
func LoopOf(s ir.Stmt) *ir.For {
	l, _ := s.(*ir.For)
	return l
}

// SameIteration decides about touches in iterations of the same number: one thread runs both where
// the loops are dealt out alike.
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

// DealtInOrder reports whether the thread of an iteration follows from its number.
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

// A nowaitVisit gets a construct with nowait, what threads come to from it without a barrier, and
// the constructs around.
type nowaitVisit func(s ir.Stmt, rest []FollowUp, around []ir.Stmt)

// Nowaits looks at each construct with nowait in the bodies of k and of what it calls.
func Nowaits(k *ir.Kernel, met nowaitVisit) {
	v := &nowaitSearch{kernel: k, met: met, holds: map[ir.Stmt]bool{}}
	v.in(k.Body, nil, nil, nil)
	for _, f := range k.Funcs {
		v.in(f.Body, nil, nil, nil)
	}
}

// nowaitSearch goes through a kernel. holds says of the statements that it has met whether they are
// constructs with nowait or have one inside: only of these it looks at what follows.
type nowaitSearch struct {
	kernel *ir.Kernel
	met    nowaitVisit
	holds  map[ir.Stmt]bool
}

// has reports whether s is a construct with nowait or has one inside.
func (v *nowaitSearch) has(s ir.Stmt) bool {
	known, ok := v.holds[s]
	if !ok {
		known = endsWithoutBarrier(s)
		ir.Lists(s, func(list []ir.Stmt) { known = slices.ContainsFunc(list, v.has) || known })
		v.holds[s] = known
	}
	return known
}

// in looks at the constructs of a list. behind is what follows the list without a barrier, loop the
// sequential loop that the list is the body of, and around the constructs around.
func (v *nowaitSearch) in(list []ir.Stmt, behind []FollowUp, loop ir.Stmt, around []ir.Stmt) {
	for i, s := range list {
		if !v.has(s) {
			continue
		}
		rest := followUps(v.kernel, list[i+1:], list[i+1:], behind, loop, list[:i+1])
		if endsWithoutBarrier(s) {
			v.met(s, rest, around)
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

// enclosing is where a Collector is: the directives around, and the phase.
type enclosing struct {
	in     []ir.Stmt
	phases []int // of each phase an earlier one that it is, or itself
}

// phase returns the number of the phase that code is in.
func (c *enclosing) phase() int { return max(0, len(c.phases)-1) }

// PhaseOf returns one number for all phases that threads may be in at once with phase n.
// Requires: all code has been collected.
func (c *enclosing) PhaseOf(n int) int {
	for n < len(c.phases) && c.phases[n] != n {
		n = c.phases[n]
	}
	return n
}

// join makes two phases one.
func (c *enclosing) join(a, b int) {
	if a, b = c.PhaseOf(a), c.PhaseOf(b); a != b {
		c.phases[max(a, b)] = min(a, b)
	}
}

// begin begins a phase.
func (c *enclosing) begin() {
	if len(c.phases) == 0 {
		c.phases = []int{0}
	}
	c.phases = append(c.phases, len(c.phases))
}

// behind notes the barrier that s is or ends with, and joins the phases that barriers in s do not
// keep apart: of the last part of a loop with the first one of its next iteration, of the branches
// of an If, and of what a jump leaves out.
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
