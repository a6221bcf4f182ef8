package cuda

import (
	"github.com/gompss/gompss/codegen/internal/cprint"
	"github.com/gompss/gompss/codegen/ir"
)

// Lowering spells a shared loop as declarations of its end, its stride and its variable, and a
// general loop. A reader wants the for loop that he would write: the declaration goes into the head
// of the loop, cheap bounds into its text.

// shape is what shaping found in one function.
type shape struct {
	heads   map[*ir.While]*ir.Decl // the variable that a loop counts with, declared before it and dead after it
	merged  map[*ir.Decl]bool      // the declarations in heads
	inlined map[*ir.Var]ir.Expr    // bounds that are printed where they are used
	occur   *ir.VarSet             // variables that something uses
	inits   map[*ir.Var]ir.Expr    // first values of scalar variables that never change
}

// findHeads looks for declarations in front of loops.
func (s *shape) findHeads(list []ir.Stmt) {
	for k, x := range list {
		ir.Lists(x, s.findHeads)
		d, isDecl := x.(*ir.Decl)
		if !isDecl {
			continue
		}
		next := k + 1 + declarations(list[k+1:], d)
		if next == len(list) {
			continue
		}
		if w, ok := list[next].(*ir.While); ok && isHead(d, w) && !ir.Used(list[next+1:]).Has(d.Var) {
			s.heads[w], s.merged[d] = d, true
		}
	}
}

// declarations returns how many declarations at the start of list may as well stand in front of d:
// they do not use its variable, and it cannot fail.
func declarations(list []ir.Stmt, d *ir.Decl) int {
	for n, x := range list {
		other, ok := x.(*ir.Decl)
		if !ok || d.Init == nil || cprint.HasChecks(d.Init) || ir.Used([]ir.Stmt{other}).Has(d.Var) {
			return n
		}
	}
	return len(list)
}

// isHead reports whether w counts with the variable of d: compares it before each iteration and
// changes it after.
func isHead(d *ir.Decl, w *ir.While) bool {
	cond, ok := w.Cond.(*ir.Binary)
	if !ok || !d.Var.Type.IsInteger() || d.Var.Space != ir.Local || d.Init == nil || len(w.Pre) > 0 {
		return false
	}
	post := counting(w)
	return post != nil && ir.IsRef(cond.X, d.Var) && ir.IsRef(post.Place, d.Var)
}

// counting returns the assignment after each iteration, nil where there is none or more.
func counting(w *ir.While) *ir.Assign {
	if len(w.Post) != 1 {
		return nil
	}
	a, ok := w.Post[0].(*ir.Assign)
	if !ok {
		return nil
	}
	if b, ok := a.Value.(*ir.Binary); !ok || !cprint.SameExpr(a.Place, b.X) {
		return nil
	}
	return a
}

// exempt takes the variables that only the heads of their loops change out of the set of changed
// ones.
func (s *shape) exempt(list []ir.Stmt, changed *ir.VarSet) *ir.VarSet {
	kept := &ir.VarSet{}
	counters, inside := map[*ir.Var]bool{}, &ir.VarSet{}
	for w, d := range s.heads {
		counters[d.Var] = true
		for _, v := range ir.Assigned(w.Body).List() {
			inside.Add(v)
		}
	}
	taken := ir.AddressTaken(list)
	for _, v := range changed.List() {
		if !counters[v] || inside.Has(v) && !s.countsAlone(v) || taken.Has(v) {
			kept.Add(v)
		}
	}
	return kept
}

// countsAlone reports whether the loop that counts with v does not change it in its body; an inner
// loop of another variable may be what made v show up among the assigned.
func (s *shape) countsAlone(v *ir.Var) bool {
	for w, d := range s.heads {
		if d.Var == v && ir.Assigned(w.Body).Has(v) {
			return false
		}
	}
	return true
}

// findInlined chooses the bounds that are printed where they are used: never changed, cheap, and
// used in the heads of loops alone.
func (p *facts) findInlined(list []ir.Stmt, changed *ir.VarSet) {
	all, inHeads := map[*ir.Var]int{}, map[*ir.Var]int{}
	count := func(into map[*ir.Var]int) func(ir.Expr) bool {
		return func(e ir.Expr) bool {
			if r, ok := e.(*ir.Ref); ok {
				into[r.Var]++
			}
			return true
		}
	}
	ir.WalkExprs(list, count(all))
	for w := range p.heads {
		ir.WalkExpr(w.Cond, count(inHeads))
		ir.WalkExpr(w.Post[0].(*ir.Assign).Value, count(inHeads))
	}
	ir.WalkStmts(list, func(s ir.Stmt) bool {
		if d, ok := s.(*ir.Decl); ok && p.isInlined(d, changed) && inHeads[d.Var] > 0 && inHeads[d.Var] == all[d.Var] {
			p.inlined[d.Var] = d.Init
		}
		return true
	})
}

func (p *facts) isInlined(d *ir.Decl, changed *ir.VarSet) bool {
	if d.Init == nil || !d.Var.Type.IsInteger() || d.Var.Space != ir.Local || changed.Has(d.Var) || p.merged[d] {
		return false
	}
	for _, v := range ir.ExprVars(d.Init).List() {
		if changed.Has(v) {
			return false
		}
	}
	return p.isCheap(d.Init, 2) && !p.ranges.wraps(d.Init)
}

// isHidden reports whether a statement prints nothing where it stands.
func (p *facts) isHidden(s ir.Stmt) bool {
	d, ok := s.(*ir.Decl)
	if !ok {
		return false
	}
	_, inlined := p.inlined[d.Var]
	return inlined || p.merged[d] || p.isDecided(d) || p.isIdle(d)
}

// isIdle reports whether d declares a local variable that nothing uses, with a value that cannot
// fail.
func (p *facts) isIdle(d *ir.Decl) bool {
	return d.Var.Space == ir.Local && !p.occur.Has(d.Var) && (d.Init == nil || !cprint.HasChecks(d.Init))
}

// isDecided reports whether d declares a flag whose value is known, or an integer that the size of
// the teams decides.
func (p *facts) isDecided(d *ir.Decl) bool {
	if d.Var.Space != ir.Local || p.inits[d.Var] == nil || p.merged[d] || cprint.HasChecks(d.Init) {
		return false
	}
	if d.Var.Type.IsInteger() && p.ranges.team > 0 {
		r := p.ranges.of(d.Init)
		return r.known && r.lo == r.hi
	}
	_, known := p.decided(d.Init)
	return d.Var.Type.Kind == ir.Bool && known
}

// loopOnly returns the loop that a body consists of, but for what is hidden; nil for every other
// body.
func (p *facts) loopOnly(list []ir.Stmt) *ir.While {
	var only *ir.While
	for _, s := range list {
		w, isLoop := s.(*ir.While)
		switch {
		case p.isHidden(s):
		case isLoop && only == nil && p.heads[w] != nil:
			only = w
		default:
			return nil
		}
	}
	return only
}

// decided returns the value of a condition that the ranges of its operands decide.
func (p *facts) decided(e ir.Expr) (value, known bool) {
	switch e := e.(type) {
	case *ir.Const:
		return e.Bits != 0, e.T.Kind == ir.Bool
	case *ir.Ref:
		if init := p.inits[e.Var]; init != nil && e.Var.Type.Kind == ir.Bool {
			return p.decided(init)
		}
	case *ir.Binary:
		switch e.Op {
		case ir.LAnd, ir.LOr:
			return p.decidedBoth(e)
		}
		if cprint.HasChecks(e) {
			return false, false
		}
		return compared(e.Op, p.ranges.of(e.X), p.ranges.of(e.Y))
	}
	return false, false
}

func (p *facts) decidedBoth(e *ir.Binary) (value, known bool) {
	x, knowX := p.decided(e.X)
	y, knowY := p.decided(e.Y)
	stop := e.Op == ir.LOr // the value of X that decides alone
	switch {
	case knowX && x == stop:
		return stop, true
	case knowX && knowY:
		return y, true
	}
	return false, false
}

// compared returns what a comparison of two ranges must give.
func compared(op ir.Op, x, y interval) (value, known bool) {
	if !x.known || !y.known {
		return false, false
	}
	switch op {
	case ir.Lt:
		return x.hi < y.lo, x.hi < y.lo || x.lo >= y.hi
	case ir.Le:
		return x.hi <= y.lo, x.hi <= y.lo || x.lo > y.hi
	case ir.Gt:
		return compared(ir.Lt, y, x)
	case ir.Ge:
		return compared(ir.Le, y, x)
	}
	return false, false
}

// headRange takes the range of the variable that loop w counts with.
func (p *facts) headRange(w *ir.While, changed *ir.VarSet) {
	d := p.heads[w]
	if d == nil || changed.Has(d.Var) {
		return
	}
	cond, b := w.Cond.(*ir.Binary), counting(w).Value.(*ir.Binary)
	if b.Op == ir.Div || b.Op == ir.Shr {
		p.halvingRange(d, cond, b)
		return
	}
	step := b.Y
	if c, ok := step.(*ir.Const); ok && b.Op == ir.Sub && d.Var.Type.IsSigned() {
		step = &ir.Const{T: c.T, Bits: -c.Bits, At: c.At}
	} else if b.Op != ir.Add {
		return
	}
	f := &ir.For{Var: d.Var, Lo: d.Init, Hi: cond.Y, Step: step, Rel: cond.Op}
	if r, all, ok := p.ranges.loop(f); ok {
		p.learn(d.Var, r, all.fits32() && p.ranges.of(f.Hi).fits32())
		p.ranges.ends[d.Var] = all
	}
}

// halvingRange is that of for d = init; d > 0; d = d / 2.
func (p *facts) halvingRange(d *ir.Decl, cond, b *ir.Binary) {
	init, by, least := p.ranges.of(d.Init), p.ranges.of(b.Y), int64(2)
	if b.Op == ir.Shr {
		least = 1
	}
	if cond.Op != ir.Gt || p.ranges.of(cond.Y) != span(0, 0) || !init.nonNegative() || !by.known || by.lo < least {
		return
	}
	p.learn(d.Var, span(1, max(1, init.hi)), init.fits32())
	p.ranges.ends[d.Var] = span(0, max(1, init.hi))
}

// condition prints the condition of a loop that counts with v, which has there also the value that
// ends the loop.
func (p loopsPrinter) condition(e ir.Expr, v *ir.Var) string {
	all, ok := p.ranges.ends[v]
	if !ok {
		return p.expr(e).Text
	}
	inside := p.ranges.vars[v]
	p.ranges.vars[v] = all
	text := p.expr(e).Text
	p.ranges.vars[v] = inside
	return text
}
