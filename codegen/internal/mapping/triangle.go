package mapping

import (
	"github.com/gompss/gompss/codegen/internal/analysis"
	"github.com/gompss/gompss/codegen/internal/analysis/affine"
	"github.com/gompss/gompss/codegen/ir"
	"github.com/gompss/gompss/codegen/ir/build"
	"github.com/gompss/gompss/codegen/ir/query"
)

// A collapsed loop whose bounds depend on the loops around it, as in a triangle, becomes a loop
// over the most iterations that it ever has: all loops then make a rectangle, and an iteration
// outside of the loop's own bounds does nothing.

// OuterVars returns the variables of nest that the bounds of the loop inside it depend on.
func OuterVars(nest []*ir.For, inner *ir.For) []*ir.Var {
	var out []*ir.Var
	for _, f := range nest {
		for _, e := range []ir.Expr{inner.Lo, inner.Hi, inner.Step} {
			if ir.ExprVars(e).Has(f.Var) {
				out = append(out, f.Var)
				break
			}
		}
	}
	return out
}

// LevelDependent makes rectangles of all collapsed loops.
func (l *Work) LevelDependent() {
	l.Kernel.Body = (&ir.Rewrite{Stmt: func(s ir.Stmt) []ir.Stmt {
		if f, ok := s.(*ir.For); ok && f.Directive != nil && f.Directive.Collapse > 1 {
			return []ir.Stmt{l.level(f)}
		}
		return []ir.Stmt{s}
	}}).CopyStmts(l.Kernel.Body)
}

// level returns f, which begins a collapsed nest, as a rectangle.
func (l *Work) level(f *ir.For) ir.Stmt {
	nest := analysis.NestOf(f)
	dependent := map[*ir.For]ir.Expr{}
	for k := 1; k < len(nest); k++ {
		if len(OuterVars(nest[:k], nest[k])) == 0 {
			continue
		}
		most := mostTrips(nest[:k], nest[k])
		if most == nil && k == 1 && len(nest) == 2 { // the front end let it pass: rows, which CollapseRows could not bisect
			f.Directive.Collapse = 0
			l.Decide(f.At, "loop "+f.Var.Text(), "not collapsed with loop "+nest[k].Var.Text(), "its rows lie in memory, and only a "+
				"construct of the kernel's own code can test that they follow each other", "teams distribute parallel for collapse(2), outside of other constructs")
			return f
		}
		if most == nil {
			l.Refuse(nest[k].At, "collapse", "the bounds of this loop depend on an outer loop in a way that has no greatest value",
				"collapse fewer loops")
			return f
		}
		dependent[nest[k]] = most
	}
	if len(dependent) == 0 {
		return f
	}
	var cond ir.Expr
	var decls []ir.Stmt
	for k := len(nest) - 1; k > 0; k-- {
		g := nest[k]
		if dependent[g] == nil {
			continue
		}
		n := l.Local(g.Var.Name+"Turn", ir.IntType, g.At)
		value := build.Binary(ir.Add, build.ToInt(g.Lo), build.Binary(ir.Mul, build.Ref(n, g.At), build.ToInt(g.Step), g.At), g.At)
		decls = append([]ir.Stmt{build.Decl(g.Var, build.Convert(g.Var.Type, value, g.At), g.At)}, decls...)
		in := build.Compare(g.Rel, build.Ref(g.Var, g.At), g.Hi, g.At)
		if cond == nil {
			cond = in
		} else {
			cond = build.Compare(ir.LAnd, in, cond, g.At)
		}
		l.Decide(f.At, "loop "+g.Var.Text(), "a rectangle with the loops around it", "it has at most "+ir.ExprString(dependent[g])+
			" iterations; those that it has not do nothing", "collapse(1)")
		g.Var, g.Lo, g.Hi, g.Step, g.Rel = n, build.Int(0, g.At), dependent[g], build.Int(1, g.At), ir.Lt
	}
	last := nest[len(nest)-1]
	last.Body = append(decls, &ir.If{Cond: cond, Then: last.Body, At: last.At})
	return f
}

// mostEnds bounds the forms that a bound may have.
const mostEnds = 8

// mostTrips returns the most iterations that inner has for any values of the variables of the loops
// around it, which it depends on; nil where there is no such expression.
func mostTrips(nest []*ir.For, inner *ir.For) ir.Expr {
	step, ok := query.Int64(inner.Step)
	if !ok || step == 0 || !affine.NeverWraps(inner.Var.Type) {
		return nil
	}
	from, to := inner.Lo, inner.Hi
	switch inner.Rel {
	case ir.Lt, ir.Le:
	case ir.Gt, ir.Ge:
		from, to, step = to, from, -step
	default:
		return nil
	}
	at, extra := inner.At, step-1
	if inner.Rel == ir.Le || inner.Rel == ir.Ge {
		extra = step
	}
	if step < 0 {
		return nil
	}
	most := mostWidth(nest, to, from, extra, at)
	if most == nil || step == 1 {
		return most
	}
	return &ir.Binary{Op: ir.Div, X: most, Y: build.Int(step, at), T: ir.IntType, At: at}
}

// mostWidth returns the greatest value of to - from + extra, of which to may be a minimum and from
// a maximum.
func mostWidth(nest []*ir.For, to, from ir.Expr, extra int64, at ir.Pos) ir.Expr {
	least := func(x, y ir.Expr) ir.Expr {
		if x == nil || y == nil {
			return nil
		}
		return &ir.Math{Fn: ir.IMin, Args: []ir.Expr{x, y}, T: ir.IntType, At: at}
	}
	if m, ok := to.(*ir.Math); ok && m.Fn == ir.IMin && affine.NeverWraps(m.T) && len(m.Args) == 2 {
		return least(mostWidth(nest, m.Args[0], from, extra, at), mostWidth(nest, m.Args[1], from, extra, at))
	}
	if m, ok := from.(*ir.Math); ok && m.Fn == ir.IMax && affine.NeverWraps(m.T) && len(m.Args) == 2 {
		return least(mostWidth(nest, to, m.Args[0], extra, at), mostWidth(nest, to, m.Args[1], extra, at))
	}
	hi, lo := analysis.EndOf(to, true), analysis.EndOf(from, false)
	if !hi.Known() || !lo.Known() {
		return nil
	}
	ends := []affine.Form{hi.Sub(lo).AddConst(extra)}
	for k := len(nest) - 1; k >= 0; k-- {
		if ends = atEnds(ends, nest[k]); ends == nil {
			return nil
		}
	}
	out := ends[0].Expr(at)
	for _, e := range ends[1:] {
		out = &ir.Math{Fn: ir.IMax, Args: []ir.Expr{out, e.Expr(at)}, T: ir.IntType, At: at}
	}
	return out
}

// atEnds puts in place of f's variable its first and last value, whichever makes a form greater.
func atEnds(forms []affine.Form, f *ir.For) []affine.Form {
	var out []affine.Form
	for _, a := range forms {
		if !a.Has(f.Var) {
			out = append(out, a)
			continue
		}
		coef, ok := a.Coef(f.Var)
		lo, hi, okEnds := endsOf(f)
		if !ok || !okEnds {
			return nil
		}
		c, known := coef.Const()
		if !known || c > 0 {
			out = append(out, a.Subst(f.Var, hi))
		}
		if !known || c < 0 {
			out = append(out, a.Subst(f.Var, lo))
		}
	}
	for _, a := range out {
		if !a.Known() || len(out) > mostEnds {
			return nil
		}
	}
	return out
}

// endsOf returns the least and the greatest value of the variable of f.
func endsOf(f *ir.For) (lo, hi affine.Form, ok bool) {
	a, okA := affine.Of(f.Lo)
	b, okB := affine.Of(f.Hi)
	switch f.Rel {
	case ir.Lt:
		return a, b.AddConst(-1), okA && okB
	case ir.Le:
		return a, b, okA && okB
	case ir.Gt:
		return b.AddConst(1), a, okA && okB
	case ir.Ge:
		return b, a, okA && okB
	}
	return a, b, false
}

// DependentFault says why inner cannot be collapsed into nest, although its bounds depend on the
// loops of nest; "" where it can: it has a greatest number of iterations, or it is a row of a
// matrix whose rows follow each other.
func DependentFault(nest []*ir.For, inner *ir.For, d *ir.Directive) (why, instead string) {
	vars := OuterVars(nest, inner)
	name := vars[0].Name
	switch {
	case len(d.Lastprivate) > 0:
		return "the bounds of this loop depend on " + name + ", a loop variable of the same nest, and which iteration is the last " +
			"of all, for lastprivate, depends on them", "collapse fewer loops, or reduce the value"
	case ir.ExprVars(inner.Step).Has(vars[0]):
		return "the step of this loop depends on " + name + ", a loop variable of the same nest", "collapse fewer loops"
	case mostTrips(nest, inner) != nil || len(nest) == 1 && d.Collapse == 2 && isRow(nest[0], inner):
		return "", ""
	}
	return "the bounds of this loop depend on " + name + ", a loop variable of the same nest, and are neither sums of its multiples " +
		"nor the rows start[" + name + "] to start[" + name + "+1]", "collapse fewer loops, or test the bound inside the body"
}
