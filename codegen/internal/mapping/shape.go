package mapping

import (
	"slices"
	"strconv"

	"github.com/gompss/gompss/codegen/internal/analysis"
	"github.com/gompss/gompss/codegen/internal/analysis/affine"
	"github.com/gompss/gompss/codegen/ir"
	"github.com/gompss/gompss/codegen/ir/build"
	"github.com/gompss/gompss/codegen/ir/query"
)

// One nest is written in many forms: with a sum in a variable or in the element itself, with its
// loops in one order or another, with the directive on one loop or on two. Here they become one:
// the loops that are independent outside, as one space, the ones that add up inside, and the sum in
// a variable. Every element still goes through its iterations in their order, so no bit changes.
//
// That an element may wait in a variable rests on the other slices of the loop not overlapping its
// own, and on there being an iteration at all; what is not proved is tested at each launch, and the
// loop exists twice.

// maxCollapse is the number of loops that one space may have.
const maxCollapse = 4

// ShapeNests does that for the parallel loops of the kernel that no construct is around.
func ShapeNests(l *Work) {
	m := NewMapper(l)
	shaper{m}.shapeIn(l.Kernel.Body)
}

// A shaper brings loop nests of the kernel of a mapper into one form.
type shaper struct{ mapper *mapper }

func (sh shaper) shapeIn(list []ir.Stmt) {
	for i, s := range list {
		switch s := s.(type) {
		case *ir.If:
			before := len(sh.mapper.Known)
			sh.mapper.Known = append(sh.mapper.Known, sh.mapper.holding(s)...)
			sh.shapeIn(s.Then)
			sh.mapper.Known = sh.mapper.Known[:before]
			sh.shapeIn(s.Else)
		case *ir.Block:
			sh.shapeIn(s.Body)
		case *ir.For:
			if shapeable(s) && !jumps(s) {
				list[i] = sh.shape(s)
			}
		}
	}
}

// jumps reports whether f holds a break, a continue or a return: loops that change places keep
// none.
func jumps(f *ir.For) bool {
	found := false
	ir.WalkStmts(f.Body, func(s ir.Stmt) bool {
		switch s.(type) {
		case *ir.Break, *ir.Continue, *ir.Return:
			found = true
		}
		return !found
	})
	return found
}

// shapeable reports whether f is a parallel loop with no clause that speaks of its iterations one
// by one.
func shapeable(f *ir.For) bool {
	d := f.Directive
	if d == nil || d.Parts&(ir.Workshare|ir.Loop|ir.Distribute) == 0 || d.Bind != ir.BindNone || d.Scan != nil || d.NumThreads != nil || d.If != nil {
		return false
	}
	return WholeSchedule(d) && len(d.Reductions)+len(d.Private)+len(d.Firstprivate)+len(d.Lastprivate)+len(d.DistArrays) == 0
}

// WholeSchedule reports whether d leaves it open which thread runs which iteration.
func WholeSchedule(d *ir.Directive) bool {
	switch d.Schedule.Kind {
	case ir.ScheduleNone, ir.ScheduleStatic, ir.ScheduleAuto:
		return d.Schedule.Chunk == nil && d.DistSchedule.Chunk == nil
	}
	return false
}

// shape returns what stands for f: f in its one form, or that and f as it is with a test between.
func (sh shaper) shape(f *ir.For) ir.Stmt {
	decided := len(sh.mapper.decisions)
	own := func() *ir.For { return sh.mapper.CopyOf([]ir.Stmt{f}, &sh.mapper.Kernel.NumVars)[0].(*ir.For) }
	shaped := own()
	if sh.reshape(shaped) {
		return sh.withSums(shaped)
	}
	sh.mapper.decisions = sh.mapper.decisions[:decided]
	shaped = own()
	conds, ok := sh.mapper.Supposing(shaped, func() bool { return sh.reshape(shaped) }) // what it declares is in no condition
	if !ok {
		sh.mapper.decisions = sh.mapper.decisions[:decided]
		return f
	}
	return sh.mapper.Where(f, conds, func(fast *ir.For) { *fast = *shaped })
}

// withSums returns f, which is in one form, or that and f with its sums in variables with a test
// between: what is proved in every launch may leave them in memory.
func (sh shaper) withSums(f *ir.For) ir.Stmt {
	if f.Directive.Parts&(ir.Workshare|ir.Loop) == 0 {
		return f
	}
	decided := len(sh.mapper.decisions)
	summed := sh.mapper.CopyOf([]ir.Stmt{f}, &sh.mapper.Kernel.NumVars)[0].(*ir.For)
	conds, ok := sh.mapper.Supposing(summed, func() bool {
		inner := innermostOf(summed)
		inner.Body = query.Flatten(inner.Body)
		at := sh.inside(&inner.Body)
		var found bool
		*at, found = sh.sumsInVariables(*at)
		return found
	})
	if !ok || len(conds) == 0 {
		sh.mapper.decisions = sh.mapper.decisions[:decided]
		return f
	}
	return sh.mapper.Where(f, conds, func(fast *ir.For) { *fast = *summed })
}

// inside returns the list in the loops of list that are around each other and independent.
func (sh shaper) inside(list *[]ir.Stmt) *[]ir.Stmt {
	for len(*list) == 1 {
		g, ok := (*list)[0].(*ir.For)
		if !ok || g.Directive != nil || sh.mapper.Dependent(g) != "" {
			break
		}
		g.Body = query.Flatten(g.Body)
		list = &g.Body
	}
	return list
}

// reshape changes f, which is its own, and reports whether it did.
func (sh shaper) reshape(f *ir.For) bool {
	joined := sh.join(f)
	if f.Directive.Parts&(ir.Workshare|ir.Loop) == 0 {
		return false // teams run its iterations, and threads what is in them
	}
	inner := innermostOf(f)
	list, inVariable := query.Flatten(inner.Body), false
	list, exchanged := sh.exchanged(list)
	at := sh.inside(&list) // of the loops that are outside now
	*at, inVariable = sh.sumsInVariables(*at)
	inner.Body = list
	if !joined && !exchanged && !inVariable && f.Directive.Parts&ir.Loop != 0 {
		return false // mapping finds what is parallel in it
	}
	return sh.extend(f) || joined || exchanged || inVariable
}

// innermostOf returns the innermost loop that the directive of f governs.
func innermostOf(f *ir.For) *ir.For {
	nest := analysis.NestOf(f)
	return nest[len(nest)-1]
}

// join makes one space of the loop of the teams and the only loop in it, of their threads.
func (sh shaper) join(f *ir.For) bool {
	d, inner := f.Directive, innermostOf(f)
	if d.Parts != ir.Teams|ir.Distribute {
		return false
	}
	decls, g := query.Perfect(query.Flatten(inner.Body))
	if g == nil || g.Directive == nil || g.Directive.Parts != ir.Parallel|ir.Workshare || !shapeable(g) || sh.bent(f, decls, g) {
		return false
	}
	n := max(d.Collapse, 1) + max(g.Directive.Collapse, 1)
	for _, h := range analysis.NestOf(g)[1:] {
		if sh.bent(f, append(slices.Clone(decls), g), h) {
			return false
		}
	}
	if n > maxCollapse {
		return false
	}
	d.Parts |= ir.Parallel | ir.Workshare
	d.Collapse = n
	g.Directive = nil
	sh.mapper.Decide(f.At, "loop "+f.Var.Text(), "one iteration space of "+strconv.Itoa(n)+" loops", "the loop of the threads is all that is in it", "schedule(onetoone)")
	return true
}

// bent reports whether the bounds of g depend on the loops that the directive of f governs, or on
// what is declared between.
func (sh shaper) bent(f *ir.For, decls []ir.Stmt, g *ir.For) bool {
	own := ir.Declared(decls)
	for _, h := range analysis.NestOf(f) {
		own.Add(h.Var)
	}
	for _, e := range []ir.Expr{g.Lo, g.Hi, g.Step} {
		if !query.LoadFree(e) || slices.ContainsFunc(ir.ExprVars(e).List(), own.Has) {
			return true
		}
	}
	return false
}

// extend lets the directive of f govern the loops in it that are independent and all that is in it,
// where more of what they touch are neighbours.
func (sh shaper) extend(f *ir.For) bool {
	d, grown := f.Directive, false
	for max(d.Collapse, 1) < maxCollapse {
		inner := innermostOf(f)
		decls, g := query.Perfect(query.Flatten(inner.Body))
		bent := g != nil && sh.bent(f, decls, g)
		if g == nil || g.Directive != nil || bent && !(len(decls) == 0 && narrow(f, g)) || sh.mapper.Dependent(g) != "" || !sh.worthTeamOrUnknown(g) ||
			sh.mapper.Stride1(g.Body, g.Var) < sh.mapper.Stride1(g.Body, inner.Var) || d.Parts&(ir.Workshare|ir.Loop) == 0 {
			break
		}
		inner.Body = query.Flatten(inner.Body)
		d.Collapse = max(d.Collapse, 1) + 1
		grown = true
		sh.mapper.Decide(f.At, "loop "+f.Var.Text(), "one iteration space with loop "+g.Var.Text(), "its iterations are independent, and touch neighbours", "schedule(onetoone)")
		if bent {
			sh.mapper.level(f)
			break
		}
	}
	return grown
}

// mostSpread is the largest difference between the bounds that a loop has in the iterations of the
// loops around it, for narrow.
const mostSpread = 8

// narrow reports whether the bounds of g, which depend on the loops that the directive of f
// governs, differ by little, as they do where each row of a grid begins at its own colour: the
// rectangle around them has few iterations more.
func narrow(f, g *ir.For) bool {
	nest := analysis.NestOf(f)
	for _, e := range []ir.Expr{g.Lo, g.Hi} {
		least, most := analysis.EndOf(e, false), analysis.EndOf(e, true)
		if n, ok := most.Sub(least).Const(); !ok || n > mostSpread || slices.ContainsFunc(nest, func(h *ir.For) bool { return most.Has(h.Var) }) {
			return false
		}
	}
	return !slices.ContainsFunc(nest, func(h *ir.For) bool { return ir.ExprVars(g.Step).Has(h.Var) }) && mostTrips(nest, g) != nil
}

// leastExtended is the number of iterations below which a loop stays in its thread.
const leastExtended = 8

func (sh shaper) worthTeamOrUnknown(g *ir.For) bool {
	n, known := analysis.ConstTrips(g)
	return !known || n >= leastExtended
}

// exchanged returns list, loops around each other, with the independent ones outside: those whose
// variables all written places have, while the others are in none of them.
func (sh shaper) exchanged(list []ir.Stmt) ([]ir.Stmt, bool) {
	loops, body := chainOf(list)
	if len(loops) < 2 || !plainBody(body) {
		return list, false
	}
	written, ok := sh.mapper.WrittenOnce(body)
	if !ok || len(written) == 0 {
		return list, false
	}
	own := ir.Declared(body)
	var across, adding []*ir.For
	gains := false
	for _, g := range loops {
		has := 0
		for _, w := range written {
			if w.Form.Has(g.Var) {
				has++
			}
		}
		for _, e := range []ir.Expr{g.Lo, g.Hi, g.Step} {
			for _, v := range ir.ExprVars(e).List() {
				if own.Has(v) || has > 0 && slices.ContainsFunc(adding, func(h *ir.For) bool { return h.Var == v }) {
					return list, false
				}
			}
			if !query.LoadFree(e) {
				return list, false
			}
		}
		switch {
		case has == 0:
			adding = append(adding, g)
		case has < len(written) || sh.mapper.Dependent(g) != "":
			return list, false
		default:
			gains = gains || len(adding) > 0
			across = append(across, g)
		}
	}
	if !gains {
		return list, false
	}
	order := append(slices.Clone(across), adding...)
	for k := len(order) - 1; k >= 0; k-- {
		order[k].Body = body
		body = []ir.Stmt{order[k]}
	}
	sh.mapper.Decide(order[0].At, "loop "+order[0].Var.Text(), "outside of loop "+adding[0].Var.Text(), "its iterations are independent, the others add up", "")
	return body, true
}

// chainOf returns loops around each other and the body of the innermost, in front of which is what
// stood between them.
func chainOf(list []ir.Stmt) (loops []*ir.For, body []ir.Stmt) {
	var between []ir.Stmt
	for {
		list = query.Flatten(list)
		n := len(list)
		var g *ir.For
		if n > 0 {
			g, _ = list[n-1].(*ir.For)
		}
		if g == nil || g.Directive != nil && g.Directive.Parts != ir.Simd || query.LeavesLoop(g) || !onlyDecls(list[:n-1]) {
			return loops, append(between, list...)
		}
		between = append(between, list[:n-1]...)
		loops = append(loops, g)
		list = g.Body
	}
}

func onlyDecls(list []ir.Stmt) bool {
	return !slices.ContainsFunc(list, func(s ir.Stmt) bool { d, ok := s.(*ir.Decl); return !ok || d.Init == nil })
}

// plainBody reports whether list is declarations, assignments and conditions, that take no address
// and ask for no place, and assigns no variable from outside.
func plainBody(list []ir.Stmt) bool {
	if !query.OnlyPlain(list) || !readsPlainly(list) {
		return false
	}
	own := ir.Declared(list)
	return !slices.ContainsFunc(ir.Assigned(list).List(), func(v *ir.Var) bool { return !own.Has(v) })
}

func readsPlainly(list []ir.Stmt) bool {
	plain := true
	ir.WalkExprs(list, func(e ir.Expr) bool {
		switch e.(type) {
		case *ir.AddrOf, *ir.Deref, *ir.Reslice, *ir.Query, *ir.Shuffle:
			plain = false
		}
		return plain
	})
	return plain
}

// sumsInVariables puts the elements that the loops of list add to, in a place that stays as it is,
// into variables.
func (sh shaper) sumsInVariables(list []ir.Stmt) ([]ir.Stmt, bool) {
	if slices.ContainsFunc(list, query.JumpsOut) || !readsPlainly(list) {
		return list, false
	}
	if x := (&analysis.Effects{}).Stmts(list); x.Atomics || x.Calls {
		return list, false
	}
	written, ok := sh.mapper.WrittenOnce(list)
	if !ok {
		return list, false
	}
	own, changed := ir.Declared(list), false
	for _, w := range written {
		if len(w.Loops) == 0 && !slices.ContainsFunc(list, func(s ir.Stmt) bool { f, ok := s.(*ir.For); return ok && assignsTo(f.Body, w.Root()) }) {
			continue
		}
		if slices.ContainsFunc(w.Form.Atoms(), func(x affine.Atom) bool { return own.Has(x.Var) }) || !sh.surelyWritten(list, w.Root()) {
			continue
		}
		elem := elementIn(list, w.Root())
		if slices.ContainsFunc(ir.ExprVars(elem).List(), own.Has) {
			continue // a variable of the loops without influence on the place, such as 0*j, is in its text
		}
		list = sh.inVariable(list, elem, w.Root())
		changed = true
	}
	return list, changed
}

// assignsTo reports whether list assigns an element of slice v.
func assignsTo(list []ir.Stmt, v *ir.Var) bool {
	found := false
	ir.WalkStmts(list, func(s ir.Stmt) bool {
		a, ok := s.(*ir.Assign)
		found = found || ok && ir.RootVar(a.Place) == nil && elementOf(a.Place, v)
		return !found
	})
	return found
}

func elementOf(e ir.Expr, v *ir.Var) bool {
	ix, ok := e.(*ir.Index)
	if !ok {
		return false
	}
	r, ok := ix.X.(*ir.Ref)
	return ok && r.Var == v
}

// surelyWritten reports whether an element of v is assigned whenever list runs, given that the
// loops around have an iteration, which is supposed.
func (sh shaper) surelyWritten(list []ir.Stmt, v *ir.Var) bool {
	for _, s := range list {
		if a, ok := s.(*ir.Assign); ok && elementOf(a.Place, v) {
			return true
		}
	}
	for _, s := range list {
		f, ok := s.(*ir.For)
		if !ok || !assignsTo(f.Body, v) || query.LeavesLoop(f) || f.Rel != ir.Lt {
			continue
		}
		skips := false
		ir.WalkStmts(f.Body, func(s ir.Stmt) bool {
			_, ok := s.(*ir.Continue)
			skips = skips || ok
			return !skips
		})
		if skips || !sh.surelyWritten(query.Flatten(f.Body), v) {
			continue
		}
		if n, known := analysis.ConstTrips(f); known && n > 0 {
			return true
		}
		return sh.mapper.SupposeAll(build.Compare(ir.Lt, f.Lo, f.Hi, f.At))
	}
	return false
}

// elementIn names the one element of v that list assigns, by what stands outside of list where it
// can.
func elementIn(list []ir.Stmt, v *ir.Var) *ir.Index {
	var elem *ir.Index
	ir.WalkStmts(list, func(s ir.Stmt) bool {
		if a, ok := s.(*ir.Assign); ok && elem == nil && elementOf(a.Place, v) {
			elem = a.Place.(*ir.Index)
		}
		return elem == nil
	})
	return ir.Subst(elem, between(list)).(*ir.Index)
}

// inVariable puts the one element of v that list touches, elem, into a variable.
func (sh shaper) inVariable(list []ir.Stmt, elem *ir.Index, v *ir.Var) []ir.Stmt {
	sum := sh.mapper.Local("sum", elem.Type(), elem.At)
	r := &ir.Rewrite{Expr: func(e ir.Expr) ir.Expr {
		if elementOf(e, v) {
			return build.Ref(sum, e.Pos())
		}
		return e
	}}
	out := []ir.Stmt{build.Decl(sum, (&ir.Rewrite{}).CopyExpr(elem), elem.At)}
	rest := r.CopyStmts(list)
	for k, s := range list { // a value that the element is given first takes the place of what it held
		if a, ok := s.(*ir.Assign); ok && elementOf(a.Place, v) && !ir.ExprVars(a.Value).Has(v) {
			first := build.Decl(sum, rest[k].(*ir.Assign).Value, a.At)
			out, rest = append(slices.Clone(rest[:k]), first), rest[k+1:]
			break
		}
		if ir.Used([]ir.Stmt{s}).Has(v) {
			break
		}
	}
	sh.mapper.Decide(elem.At, "element "+ir.ExprString(elem), "a variable", "its loops add to it in place, and nothing else touches it", "")
	return append(append(out, rest...), build.Assign((&ir.Rewrite{}).CopyExpr(elem), build.Ref(sum, elem.At), elem.At))
}

// between are the values of the variables that list declares in front of everything, which an
// element may be named by.
func between(list []ir.Stmt) map[*ir.Var]ir.Expr {
	values := map[*ir.Var]ir.Expr{}
	changed := ir.Assigned(list)
	ir.WalkStmts(list, func(s ir.Stmt) bool {
		if d, ok := s.(*ir.Decl); ok && d.Init != nil && !changed.Has(d.Var) && query.LoadFree(d.Init) {
			values[d.Var] = ir.Subst(d.Init, values)
		}
		return true
	})
	return values
}
