package check

import (
	"fmt"
	"slices"

	"github.com/gompss/gompss/codegen/internal/analysis"
	"github.com/gompss/gompss/codegen/internal/analysis/affine"
	"github.com/gompss/gompss/codegen/internal/diag"
	"github.com/gompss/gompss/codegen/internal/integers"
	"github.com/gompss/gompss/codegen/ir"
	"github.com/gompss/gompss/codegen/ir/query"
)

// teamWrites warns of writes to shared memory that every team executes: inside teams, outside
// distribute, not atomic, and with neither an index nor a condition that is known to depend on the
// team.
func (c *Check) teamWrites(k *ir.Kernel) {
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

func (c *Check) teamBody(k *ir.Kernel, s ir.Stmt, d *ir.Directive, own *ir.VarSet) {
	inside := ir.Declared([]ir.Stmt{s})
	for _, r := range analysis.CollectStmt(k, s) {
		if !r.Write || r.Atomic || inside.Has(r.Base) || r.Shared(s) || ownedByTeam(r, own) || analysis.HasCopy(d, r.Base) {
			continue
		}
		name := query.Source(r.Expr)
		c.warnOf(r.Base, diag.Warning, r.At, "write to "+name, "every team of "+d.At.String()+" makes it, and "+r.Base.Name+" is shared by all teams",
			"put it in a distribute loop, or write //omp:atomic above it")
	}
}

// ownedByTeam reports whether the index of r, or a condition around it, depends on the team.
func ownedByTeam(r analysis.Reach, own *ir.VarSet) bool {
	return slices.ContainsFunc(append([]ir.Expr{r.Expr}, r.Conds...), func(e ir.Expr) bool { return e != nil && fromTeam(e, own) })
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

// teamDependent returns the variables whose value depends on kernel.TeamNum.
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

// dependences warns of loops with a parallel directive whose iterations are known to depend on each
// other.
func (c *Check) dependences(k *ir.Kernel) {
	ir.WalkStmts(k.Body, func(s ir.Stmt) bool {
		l, ok := s.(*ir.For)
		if ok && l.Directive != nil && l.Directive.Parts&(ir.Distribute|ir.Workshare|ir.Simd) != 0 {
			c.dependence(k, l)
		}
		return true
	})
}

// dependence compares pairs of a write and another access to the same memory in the body of l. It
// warns once for each pair of positions, and only if the distance between two dependent iterations
// is known.
func (c *Check) dependence(k *ir.Kernel, l *ir.For) {
	reaches := analysis.DistinctReaches(analysis.CollectStmt(k, l))
	loops := analysis.NestOf(l)
	nest := nestOf(loops)
	inside := ir.Declared([]ir.Stmt{l})
	for _, f := range k.Funcs {
		for _, v := range append(ir.Declared(f.Body).List(), f.Params...) {
			inside.Add(v)
		}
	}
	around := constructsAround(k.Body, l)
	var team *ir.Directive // the teams construct, if each team runs its iterations in order
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
		fixed[i] = reaches[i].Fixed(inside, loops) && !query.HasBadValue(reaches[i].Expr)
	}
	folded(c, k, l, reaches, inside, team, around)
	m := newMeetings(l, nest, reaches)
	for i, w := range reaches {
		if !fixed[i] || !w.Write || w.Atomic || inside.Has(w.Base) || w.Guarded(loops) || w.CopiedIn(l) || w.CopiedBy(team) {
			continue
		}
		j := m.first(i, func(j int) bool {
			r := &reaches[j]
			return fixed[j] && (!r.Write || j >= i) && !otherField(w.Expr, r.Expr)
		})
		if j >= 0 {
			c.meet(l, nest, w, reaches[j], i == j, around)
		}
	}
	scattered(c, k, l, reaches, inside, team)
	bordered(c, k, l, reaches, inside, team)
}

// teamAround returns the directive of the teams construct among the constructs around a loop, nil
// if there is none.
func teamAround(around []ir.Stmt) *ir.Directive {
	for _, s := range around {
		if d := ir.DirectiveOf(s); d.Parts&ir.Teams != 0 {
			return d
		}
	}
	return nil
}

// teamLocals returns the variables that are private to each team of the teams construct around l.
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

// meet reports if w in one iteration of the nest and r in another access the same element whenever
// both are executed.
func (c *Check) meet(l *ir.For, nest []*nestLoop, w, r analysis.Reach, same bool, around []ir.Stmt) {
	n, distance := meetingLoop(l, nest, w, r, same)
	say := func(at ir.Pos, what, why, instead string) { c.warnOf(w.Base, diag.Warning, at, what, why, instead) }
	if c.sound && certainRace(l, n, w, r, distance, around) {
		say = c.fail
	}
	c.dependenceFound(l, n, w, r, distance, same, say)
}

// meetingLoop returns the first loop of the nest with two iterations in which w and r access the
// same element whenever both are executed, and their distance in steps; nil if there is none.
func meetingLoop(l *ir.For, nest []*nestLoop, w, r analysis.Reach, same bool) (n *nestLoop, distance int64) {
	unknown := func(a affine.Form) bool { return !a.Known() }
	if slices.ContainsFunc(w.Indices(), unknown) || slices.ContainsFunc(r.Indices(), unknown) {
		return nil, 0
	}
	for _, n := range nest {
		distance, ok := meetingDistance(n, w, r)
		if !ok || distance == 0 && (same && coefficient(w.Index, n.Var) != 0) || withinSafelen(l, distance) {
			continue
		}
		return n, distance
	}
	return nil, 0
}

// meetingDistance returns the distance, in steps of n, of the iterations in which w and r access
// the same element or an overlapping part of it. ok is false if there are none or they are unknown.
// A distance of 0 means that all iterations access the same element.
func meetingDistance(n *nestLoop, w, r analysis.Reach) (distance int64, ok bool) {
	if !sameInner(n, w, r) {
		return 0, false
	}
	all := true
	for i, wi := range w.Indices() {
		if i == len(r.Indices()) {
			break // r contains the part that w accesses
		}
		d, always, ok := meetingOf(n, wi, r.Indices()[i])
		switch {
		case !ok || !always && !all && d != distance:
			return 0, false
		case !always:
			distance, all = d, false
		}
	}
	trips, known := analysis.ConstTrips(n.For)
	switch {
	case all:
		return 0, !known || trips > 1
	case known && integers.Magnitude(distance) >= uint64(trips):
		return 0, false
	}
	return distance, true
}

// meetingOf returns the distance, in steps of n, of the iterations in which two indices are equal.
// always is true if they are equal in every pair of iterations.
func meetingOf(n *nestLoop, w, r affine.Form) (distance int64, always, ok bool) {
	cw, okw := w.Coef(n.Var)
	cr, okr := r.Coef(n.Var)
	a, constant := cw.Const()
	gap, known := w.Without(n.Var).Sub(r.Without(n.Var)).Const()
	if !okw || !okr || !cw.Equal(cr) || !constant || !known {
		return 0, false, false
	}
	step, constStep := query.Int64(n.Step)
	switch {
	case a == 0:
		return 0, true, gap == 0
	case !constStep || gap == 0 || gap%(a*step) != 0:
		return 0, false, false
	}
	return gap / (a * step), false, true
}

// sameInner reports whether the indices do not depend on loops inside n, so that a difference
// between them is one between iterations of n. Equal indices may contain any variable.
func sameInner(n *nestLoop, w, r analysis.Reach) bool {
	if slices.EqualFunc(w.Indices(), r.Indices(), affine.Form.Equal) {
		return rectangular(n, w.Loops) && rectangular(n, r.Loops)
	}
	for _, of := range []analysis.Reach{w, r} {
		for _, l := range slices.Concat(w.Loops, r.Loops) {
			if l.For != n.For && of.Uses(l.Var) && !outside(l.For, n.For) {
				return false
			}
		}
	}
	return true
}

// outside reports whether l is an outer loop of n.
func outside(l, n *ir.For) bool {
	around := false
	ir.WalkStmts(l.Body, func(s ir.Stmt) bool { around = around || s == ir.Stmt(n); return true })
	return around
}

// A nestLoop is a loop of a nest, with the variables that each of its iterations declares or
// assigns.
type nestLoop struct {
	*ir.For
	own *ir.VarSet // computed at first use
}

func nestOf(loops []*ir.For) (out []*nestLoop) {
	for _, l := range loops {
		out = append(out, &nestLoop{For: l})
	}
	return out
}

// varies reports whether a bound of a loop inside n may differ between iterations of n.
func (n *nestLoop) varies(form affine.Form, e ir.Expr) bool {
	if n.own == nil {
		n.own = ir.Declared(n.Body)
		for _, v := range ir.Assigned(n.Body).List() {
			n.own.Add(v)
		}
		n.own.Add(n.Var)
	}
	if !form.Known() {
		return slices.ContainsFunc(ir.ExprVars(e).List(), n.own.Has)
	}
	return slices.ContainsFunc(form.Atoms(), func(a affine.Atom) bool { return n.own.Has(a.Var) || analysis.IsInstance(a.Var) })
}

// rectangular reports whether the bounds of the loops are the same in all iterations of n.
func rectangular(n *nestLoop, loops []analysis.LoopRange) bool {
	return !slices.ContainsFunc(loops, func(l analysis.LoopRange) bool {
		return l.For != n.For && (n.varies(l.First, l.Lo) || n.varies(l.Last, l.Hi))
	})
}

func coefficient(a affine.Form, v *ir.Var) int64 {
	coef, _ := a.Coef(v)
	c, _ := coef.Const()
	return c
}

func (c *Check) dependenceFound(l *ir.For, n *nestLoop, w, r analysis.Reach, distance int64, same bool, say func(at ir.Pos, what, why, instead string)) {
	what := "directive " + l.Directive.Parts.String()
	place, other, verb := query.Source(w.Expr), query.Source(r.Expr), "reads"
	if r.Write {
		verb = "writes"
	}
	why := fmt.Sprintf("the iterations over %s depend on one another: %s is written here, and an iteration %d away %s %s at %v",
		n.Var.Name, place, integers.Magnitude(distance), verb, other, r.At)
	instead := "take the directive off, or make the iterations independent"
	if distance == 0 {
		why = fmt.Sprintf("every iteration over %s writes %s here", n.Var.Name, place)
		if !same {
			why += fmt.Sprintf(" and %s it at %v", verb, r.At)
		}
		if instead = accumulated(l, w); instead == "" {
			instead = "write private, lastprivate or reduction, or //omp:atomic above the update"
		}
	}
	say(w.At, what, why+" (loop at "+l.Directive.At.String()+")", instead)
}

// accumulated returns the reduction clause to suggest for a place that the body of l updates like a
// reduction; "" for other places.
func accumulated(l *ir.For, w analysis.Reach) (instead string) {
	v, own := query.PlaceVar(w.Expr), ir.Declared([]ir.Stmt{l})
	if slices.ContainsFunc(ir.ExprVars(w.Expr).List(), own.Has) {
		return "" // a different place in each iteration of an inner loop
	}
	ir.WalkStmts(l.Body, func(s ir.Stmt) bool {
		for _, op := range []ir.Op{ir.Add, ir.Mul, ir.Min, ir.Max, ir.And, ir.Or, ir.Xor} {
			use := analysis.ReductionUse{Reduction: ir.Reduction{Op: op, Place: w.Expr}, Var: v}
			if a, ok := s.(*ir.Assign); ok && instead == "" && a.Place.Pos() == w.At && use.Updates(s) {
				instead = fmt.Sprintf("write reduction(%v: %s) on the loop, or //omp:atomic above the update", op, query.Source(w.Expr))
			}
		}
		return true
	})
	return instead
}
