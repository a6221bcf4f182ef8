package bodies

import (
	"github.com/gompss/gompss/codegen/internal/analysis"
	"github.com/gompss/gompss/codegen/internal/analysis/affine"
	"github.com/gompss/gompss/codegen/ir"
	"github.com/gompss/gompss/codegen/ir/query"
)

func HasBranch(list []ir.Stmt) bool {
	found := false
	ir.WalkStmts(list, func(s ir.Stmt) bool {
		_, branch := s.(*ir.If)
		found = found || branch
		return !found
	})
	return found
}

func HasLoop(s ir.Stmt) bool {
	found := false
	ir.WalkStmts([]ir.Stmt{s}, func(s ir.Stmt) bool {
		_, loop := s.(*ir.For)
		found = found || loop
		return !found
	})
	return found
}

// Propagate replaces variables that are declared with an affine integer value and never change by
// that value, and drops their declarations.
func Propagate(list []ir.Stmt) []ir.Stmt {
	changed, taken := ir.Assigned(list), ir.AddressTaken(list)
	values := map[*ir.Var]ir.Expr{}
	var out []ir.Stmt
	for _, s := range list {
		if len(values) > 0 {
			s = ir.SubstStmts([]ir.Stmt{s}, values)[0]
		}
		d, ok := s.(*ir.Decl)
		if ok && d.Init != nil && d.Var.Type.Kind == ir.Int64 && !changed.Has(d.Var) && !taken.Has(d.Var) && query.LoadFree(d.Init) && affine.Is(d.Init) {
			values[d.Var] = d.Init
			continue
		}
		if f, ok := s.(*ir.For); ok {
			c := *f
			c.Body = Propagate(query.Flatten(f.Body))
			s = &c
		}
		out = append(out, s)
	}
	return out
}

// FoldBranches replaces each branch with a constant condition, as in an unrolled loop, by the side
// that runs.
func FoldBranches(list []ir.Stmt) []ir.Stmt {
	var out []ir.Stmt
	for _, s := range list {
		c, ok := s.(*ir.If)
		value, known := false, false
		if ok {
			value, known = decided(c.Cond)
		}
		switch {
		case !known:
			out = append(out, s)
		case value:
			out = append(out, FoldBranches(query.Flatten(c.Then))...)
		default:
			out = append(out, FoldBranches(query.Flatten(c.Else))...)
		}
	}
	return out
}

// decided returns the value of a comparison of integer constants.
func decided(cond ir.Expr) (value, known bool) {
	c, ok := cond.(*ir.Binary)
	if !ok || c.X.Type().Kind != ir.Int64 {
		return false, false
	}
	x, y := Fold(c.X), Fold(c.Y)
	a, okX := query.Int64(x)
	b, okY := query.Int64(y)
	if !okX || !okY {
		return false, false
	}
	switch c.Op {
	case ir.Eq:
		return a == b, true
	case ir.Ne:
		return a != b, true
	case ir.Lt:
		return a < b, true
	case ir.Le:
		return a <= b, true
	case ir.Gt:
		return a > b, true
	case ir.Ge:
		return a >= b, true
	}
	return false, false
}

// Changed returns the variables that list declares or assigns to.
func Changed(list []ir.Stmt) *ir.VarSet {
	out := ir.Declared(list)
	for _, v := range ir.Assigned(list).List() {
		out.Add(v)
	}
	return out
}

// IndexesArray reports whether the variable of f, which runs a known number of turns, indexes an
// array of the thread.
func IndexesArray(f *ir.For) bool {
	found := false
	ir.WalkExprs(f.Body, func(e ir.Expr) bool {
		ix, ok := e.(*ir.Index)
		found = found || ok && ix.X.Type().Kind == ir.Array && ir.ExprVars(ix.I).Has(f.Var)
		return !found
	})
	_, known := analysis.ConstTrips(f)
	return known && found
}
