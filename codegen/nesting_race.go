package codegen

import (
	"fmt"
	"slices"

	"github.com/gompss/gompss/codegen/ir"
)

// teamWrites warns of writes to shared memory that every team makes: inside teams, outside distribute, not atomic, and
// as far as can be seen not to a place, nor under a condition, that depends on the team.
func (c *nestingCheck) teamWrites(k *ir.Kernel) {
	own := teamDependent(k.Body)
	ir.WalkStmts(k.Body, func(s ir.Stmt) bool {
		d := ir.DirectiveOf(s)
		if d == nil || d.Parts&ir.Teams == 0 {
			return true
		}
		if d.Parts&(ir.Distribute|ir.Loop) == 0 && !isOne(d.NumTeams) {
			c.teamBody(k, s, d, own)
		}
		return false
	})
}

// isOne reports whether e is the constant 1.
func isOne(e ir.Expr) bool {
	c, ok := e.(*ir.Const)
	return ok && c.Bits == 1
}

func (c *nestingCheck) teamBody(k *ir.Kernel, s ir.Stmt, d *ir.Directive, own *ir.VarSet) {
	inside := ir.Declared([]ir.Stmt{s})
	for _, r := range collectStmt(k, s) {
		if !r.write || r.atomic || inside.Has(r.base) || r.shared(s) || ownedByTeam(r, own) || copied(d, r.base) {
			continue
		}
		name := sourceText(r.expr)
		c.warnOf(r.base, Warning, r.at, "write to "+name, "every team of "+d.At.String()+" makes it, and "+r.base.Name+" is shared by all teams",
			"put it in a distribute loop, or write //omp:atomic above it")
	}
}

// collectStmt returns the reaches of the statements inside s.
func collectStmt(k *ir.Kernel, s ir.Stmt) []reach {
	c := newCollector(k)
	c.define(k.Body)
	ir.Lists(s, c.stmts)
	return c.out
}

// shared reports whether a loop around r, inside outer, shares its iterations out to the teams.
func (r *reach) shared(outer ir.Stmt) bool {
	return slices.ContainsFunc(r.in, func(s ir.Stmt) bool {
		d := ir.DirectiveOf(s)
		return s != outer && (d.Parts&ir.Distribute != 0 || d.Parts&ir.Loop != 0 && d.Bind != ir.BindThread && d.Parts&ir.Parallel == 0)
	})
}

// ownedByTeam reports whether the place of r, or a condition around it, depends on the team.
func ownedByTeam(r reach, own *ir.VarSet) bool {
	return slices.ContainsFunc(append([]ir.Expr{r.expr}, r.conds...), func(e ir.Expr) bool { return e != nil && fromTeam(e, own) })
}

func fromTeam(e ir.Expr, own *ir.VarSet) bool {
	found := false
	ir.WalkExpr(e, func(x ir.Expr) bool {
		switch x := x.(type) {
		case *ir.Query:
			found = found || x.What == ir.TeamNum
		case *ir.Ref:
			found = found || own.Has(x.Var)
		}
		return !found
	})
	return found
}

// teamDependent returns the variables whose value comes from kernel.TeamNum.
func teamDependent(list []ir.Stmt) *ir.VarSet {
	own := &ir.VarSet{}
	for before := -1; before != own.Len(); {
		before = own.Len()
		ir.WalkStmts(list, func(s ir.Stmt) bool {
			switch s := s.(type) {
			case *ir.Decl:
				addIf(own, s.Var, s.Init)
			case *ir.Assign:
				addIf(own, ir.RootVar(s.Place), s.Value)
			case *ir.For:
				addIf(own, s.Var, s.Lo)
			}
			return true
		})
	}
	return own
}

func addIf(own *ir.VarSet, v *ir.Var, e ir.Expr) {
	if e != nil && fromTeam(e, own) {
		own.Add(v)
	}
}

// copied reports whether every iteration, team or thread of d has its own v, or combines it.
func copied(d *ir.Directive, v *ir.Var) bool {
	if d == nil {
		return false
	}
	for _, r := range d.Reductions {
		if placeVar(r.Place) == v || r.Index != nil && placeVar(r.Index) == v {
			return true
		}
	}
	for _, a := range d.DistArrays {
		if a.Var == v {
			return true
		}
	}
	return privateAgain(d, v)
}

// dependences warns of prescriptive loops whose iterations visibly depend on one another.
func (c *nestingCheck) dependences(k *ir.Kernel) {
	ir.WalkStmts(k.Body, func(s ir.Stmt) bool {
		l, ok := s.(*ir.For)
		if ok && l.Directive != nil && l.Directive.Parts&(ir.Distribute|ir.Workshare|ir.Simd) != 0 {
			c.dependence(k, l)
		}
		return true
	})
}

// dependence looks at pairs of a write and another use of the same memory in the body of l. It warns once per pair of
// places, and only where the distance between two iterations that meet is known.
func (c *nestingCheck) dependence(k *ir.Kernel, l *ir.For) {
	reaches := distinctReaches(collectStmt(k, l))
	nest := nestOf(l)
	inside := ir.Declared([]ir.Stmt{l})
	for _, f := range k.Funcs {
		for _, v := range append(ir.Declared(f.Body).List(), f.Params...) {
			inside.Add(v)
		}
	}
	around := constructsAround(k.Body, l)
	var team *ir.Directive // where a team runs its iterations one after the other
	if l.Directive.Parts&(ir.Parallel|ir.Simd|ir.Workshare) == 0 {
		team = teamAround(around)
		for _, v := range teamLocals(k, l).List() {
			inside.Add(v)
		}
	}
	for _, v := range threadOwn(l, around).List() {
		inside.Add(v)
	}
	fixed := make([]bool, len(reaches))
	for i := range reaches {
		fixed[i] = reaches[i].fixed(inside, nest)
	}
	for i, w := range reaches {
		if !fixed[i] || !w.write || w.atomic || hasBadValue(w.expr) || inside.Has(w.base) || w.guarded(nest) || w.copiedIn(l) || w.copiedBy(team) {
			continue
		}
		for j, r := range reaches {
			if r.base != w.base || r.write && j < i || !fixed[j] || hasBadValue(r.expr) || otherField(w.expr, r.expr) {
				continue
			}
			if c.meet(l, nest, w, r, i == j, around) {
				break
			}
		}
	}
}

// nestOf returns l and the loops that are collapsed into it.
func nestOf(l *ir.For) []*ir.For {
	nest := []*ir.For{l}
	for n := 1; n < l.Directive.Collapse; n++ {
		inner := onlyLoop(nest[n-1].Body)
		if inner == nil {
			break
		}
		nest = append(nest, inner)
	}
	return nest
}

// teamAround returns the directive of the teams among the constructs around a loop, nil for none.
func teamAround(around []ir.Stmt) *ir.Directive {
	for _, s := range around {
		if d := ir.DirectiveOf(s); d.Parts&ir.Teams != 0 {
			return d
		}
	}
	return nil
}

// teamLocals returns the variables of the construct of teams around l, of which each team has its own.
func teamLocals(k *ir.Kernel, l *ir.For) *ir.VarSet {
	out := &ir.VarSet{}
	ir.WalkStmts(k.Body, func(s ir.Stmt) bool {
		d := ir.DirectiveOf(s)
		if d == nil || d.Parts&ir.Teams == 0 {
			return true
		}
		around := false
		ir.WalkStmts([]ir.Stmt{s}, func(t ir.Stmt) bool { around = around || t == ir.Stmt(l); return true })
		if around {
			out = ir.Declared([]ir.Stmt{s})
		}
		return false
	})
	return out
}

// fixed reports whether the indices of r hold nothing but loop variables and what is declared outside of the loop: a
// local of the body, or of a function that it calls, may differ from iteration to iteration.
func (r *reach) fixed(inside *ir.VarSet, nest []*ir.For) bool {
	for _, index := range r.indices() {
		for _, a := range index.Atoms() {
			loop := slices.ContainsFunc(nest, func(l *ir.For) bool { return l.Var == a.Var }) ||
				slices.ContainsFunc(r.loops, func(l loopRange) bool { return l.Var == a.Var })
			if !loop && inside.Has(a.Var) {
				return false
			}
		}
	}
	return true
}

// guarded reports whether a condition around r singles out iterations or threads, so that not all of them come to it.
func (r *reach) guarded(nest []*ir.For) bool {
	if slices.ContainsFunc(r.conds, func(cond ir.Expr) bool { return singlesOut(cond, nest, true) }) {
		return true
	}
	return slices.ContainsFunc(r.in, func(s ir.Stmt) bool { return ir.DirectiveOf(s).Parts&(ir.Single|ir.Masked) != 0 })
}

// singlesOut reports whether cond, where it holds or where it does not, names one iteration of a loop of nest, or a thread.
func singlesOut(cond ir.Expr, nest []*ir.For, holds bool) bool {
	equal := ir.Eq
	if !holds {
		equal = ir.Ne
	}
	switch e := cond.(type) {
	case *ir.Query:
		return true
	case *ir.Unary:
		return singlesOut(e.X, nest, holds != (e.Op == ir.Not))
	case *ir.Binary:
		if e.Op == equal && slices.ContainsFunc(nest, func(l *ir.For) bool { return ir.ExprVars(e).Has(l.Var) }) {
			return true
		}
	}
	if cond == nil {
		return false
	}
	found := false
	ir.Operands(cond, func(x ir.Expr) { found = found || singlesOut(x, nest, holds) })
	return found
}

// copiedIn reports whether l, or a construct inside it around r, gives r.base copies.
func (r *reach) copiedIn(l *ir.For) bool {
	return r.copiedBy(l.Directive) || slices.ContainsFunc(r.in, func(s ir.Stmt) bool { return r.copiedBy(ir.DirectiveOf(s)) })
}

// copiedBy reports whether d gives r.base copies, or what r names: a pointer to r.base may be the place of a reduction.
func (r *reach) copiedBy(d *ir.Directive) bool {
	return copied(d, r.base) || r.expr != nil && copied(d, baseVar(r.expr))
}

// meet reports where w in one iteration of the nest and r in another are sure to touch the same element, if they happen.
func (c *nestingCheck) meet(l *ir.For, nest []*ir.For, w, r reach, same bool, around []ir.Stmt) bool {
	unknown := func(a Affine) bool { return !a.Known() }
	if slices.ContainsFunc(w.indices(), unknown) || slices.ContainsFunc(r.indices(), unknown) {
		return false
	}
	for _, n := range nest {
		distance, ok := meetingDistance(n, w, r)
		if !ok || distance == 0 && (same && coefficient(w.index, n.Var) != 0) || withinSafelen(l, distance) {
			continue
		}
		say := func(at ir.Pos, what, why, instead string) { c.warnOf(w.base, Warning, at, what, why, instead) }
		if c.sound && certainRace(l, n, w, r, distance, around) {
			say = c.fail
		}
		c.dependenceFound(l, n, w, r, distance, same, say)
		return true
	}
	return false
}

// meetingDistance returns how many steps of n lie between the iterations in which w and r touch the same element, or the same part of it;
// ok is false where they never do or it cannot be told. 0 means that all iterations touch the same.
func meetingDistance(n *ir.For, w, r reach) (distance int64, ok bool) {
	if !sameInner(n, w, r) {
		return 0, false
	}
	all := true
	for i, wi := range w.indices() {
		if i == len(r.indices()) {
			break // r is all of what w is a part of
		}
		d, always, ok := meetingOf(n, wi, r.indices()[i])
		switch {
		case !ok || !always && !all && d != distance:
			return 0, false
		case !always:
			distance, all = d, false
		}
	}
	trips, known := constTrips(n)
	switch {
	case all:
		return 0, !known || trips > 1
	case known && magnitude(distance) >= uint64(trips):
		return 0, false
	}
	return distance, true
}

// indices returns the index of the element and those inside it.
func (r *reach) indices() []Affine { return append([]Affine{r.index}, r.inside...) }

// meetingOf returns how many steps of n lie between the iterations in which two indices are equal; always says that they are in any two.
func meetingOf(n *ir.For, w, r Affine) (distance int64, always, ok bool) {
	cw, okw := w.Coef(n.Var)
	cr, okr := r.Coef(n.Var)
	a, constant := cw.Const()
	gap, known := w.Without(n.Var).Sub(r.Without(n.Var)).Const()
	if !okw || !okr || !cw.Equal(cr) || !constant || !known {
		return 0, false, false
	}
	step, constStep := constInt(n.Step)
	switch {
	case a == 0:
		return 0, true, gap == 0
	case !constStep || gap == 0 || gap%(a*step) != 0:
		return 0, false, false
	}
	return gap / (a * step), false, true
}

// sameInner reports whether the indices are free of the variables of loops inside n, so that a gap between them is
// one between iterations of n; equal indices may hold any.
func sameInner(n *ir.For, w, r reach) bool {
	if slices.EqualFunc(w.indices(), r.indices(), Affine.Equal) {
		return rectangular(n, w.loops) && rectangular(n, r.loops)
	}
	for _, of := range []reach{w, r} {
		for _, l := range slices.Concat(w.loops, r.loops) {
			if l.For != n && of.has(l.Var) && !outside(l.For, n) {
				return false
			}
		}
	}
	return true
}

// has reports whether v is in an index of r.
func (r *reach) has(v *ir.Var) bool {
	return slices.ContainsFunc(r.indices(), func(a Affine) bool { return a.Has(v) })
}

// outside reports whether l is a loop around n.
func outside(l, n *ir.For) bool {
	around := false
	ir.WalkStmts(l.Body, func(s ir.Stmt) bool { around = around || s == ir.Stmt(n); return true })
	return around
}

// rectangular reports whether the bounds of the loops do not depend on the variable of n.
func rectangular(n *ir.For, loops []loopRange) bool {
	return !slices.ContainsFunc(loops, func(l loopRange) bool {
		return l.For != n && (ir.ExprVars(l.Lo).Has(n.Var) || ir.ExprVars(l.Hi).Has(n.Var))
	})
}

func coefficient(a Affine, v *ir.Var) int64 {
	coef, _ := a.Coef(v)
	c, _ := coef.Const()
	return c
}

// constTrips returns the number of iterations of l where its bounds are constant.
func constTrips(l *ir.For) (int64, bool) {
	lo, ok1 := constInt(l.Lo)
	hi, ok2 := constInt(l.Hi)
	step, ok3 := constInt(l.Step)
	if !ok1 || !ok2 || !ok3 || step == 0 {
		return 0, false
	}
	switch {
	case l.Rel == ir.Lt && step > 0:
		return max((hi-lo+step-1)/step, 0), true
	case l.Rel == ir.Le && step > 0:
		return max((hi-lo)/step+1, 0), true
	case l.Rel == ir.Gt && step < 0:
		return max((lo-hi-step-1)/-step, 0), true
	case l.Rel == ir.Ge && step < 0:
		return max((lo-hi)/-step+1, 0), true
	}
	return 0, false
}

func (c *nestingCheck) dependenceFound(l, n *ir.For, w, r reach, distance int64, same bool, say func(at ir.Pos, what, why, instead string)) {
	what := "directive " + l.Directive.Parts.String()
	place, other, verb := sourceText(w.expr), sourceText(r.expr), "reads"
	if r.write {
		verb = "writes"
	}
	why := fmt.Sprintf("the iterations over %s depend on one another: %s is written here, and an iteration %d away %s %s at %v",
		n.Var.Name, place, magnitude(distance), verb, other, r.at)
	instead := "take the directive off, or make the iterations independent"
	if distance == 0 {
		why = fmt.Sprintf("every iteration over %s writes %s here", n.Var.Name, place)
		if !same {
			why += fmt.Sprintf(" and %s it at %v", verb, r.at)
		}
		instead = "write private, lastprivate or reduction, or //omp:atomic above the update"
	}
	say(w.at, what, why+" (loop at "+l.Directive.At.String()+")", instead)
}
