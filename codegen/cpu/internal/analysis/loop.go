package analysis

import "github.com/gompss/gompss/codegen/ir"

// Between is the loop from iteration lo on up to hi.
func Between(s *ir.For, lo, hi *ir.Var) *ir.For {
	step, _ := ir.ConstStep(s)
	at := func(trip *ir.Var) ir.Expr {
		t := ir.IntType // wide enough for the end of the last step
		n := &ir.Binary{Op: ir.Mul, X: &ir.Ref{Var: trip, At: s.At}, Y: &ir.Const{T: t, Bits: uint64(step), At: s.At}, T: t, At: s.At}
		var lo ir.Expr = &ir.Convert{T: t, X: s.Lo, At: s.At}
		if c, ok := ir.ConstInt(s.Lo); ok {
			lo = &ir.Const{T: t, Bits: uint64(c), At: s.At}
		}
		return &ir.Binary{Op: ir.Add, X: lo, Y: n, T: t, At: s.At}
	}
	c := *s
	c.Lo, c.Hi, c.Rel = at(lo), at(hi), ir.Lt
	if step < 0 {
		c.Rel = ir.Gt
	}
	return &c
}

// ClosedInside reports whether the loops in the body of one are left at their ends alone.
func ClosedInside(body []ir.Stmt) bool {
	closed := true
	ir.WalkStmts(body, func(s ir.Stmt) bool {
		switch s.(type) {
		case *ir.For, *ir.While:
			closed = closed && !ir.LeavesLoop(s)
		}
		return closed
	})
	return closed
}

// Innermost reports whether there is no loop in the body of one.
func Innermost(body []ir.Stmt) bool {
	is := true
	ir.WalkStmts(body, func(s ir.Stmt) bool {
		switch s.(type) {
		case *ir.For, *ir.While:
			is = false
		}
		return is
	})
	return is
}

// Continues reports whether a continue in body names the loop with the label.
func Continues(body []ir.Stmt, l *ir.Label) bool {
	found := false
	ir.WalkStmts(body, func(s ir.Stmt) bool {
		c, ok := s.(*ir.Continue)
		found = found || ok && c.Label == l
		return !found
	})
	return found
}

func ChangedIn(s *ir.For) *ir.VarSet {
	set := ir.Assigned(s.Body)
	for _, v := range ir.Declared(s.Body).List() {
		set.Add(v)
	}
	set.Add(s.Var)
	return set
}

// FactorsOf takes v*y apart.
func FactorsOf(e ir.Expr, v *ir.Var) (x, y ir.Expr, ok bool) {
	b, ok := e.(*ir.Binary)
	if !ok || b.Op != ir.Mul || !ir.IsWide(b.T) {
		return nil, nil, false
	}
	if ir.IsRef(b.X, v) && !ir.ExprVars(b.Y).Has(v) {
		return b.X, b.Y, true
	}
	if ir.IsRef(b.Y, v) && !ir.ExprVars(b.X).Has(v) {
		return b.Y, b.X, true
	}
	return nil, nil, false
}

// Loads reports whether e reads memory.
func Loads(e ir.Expr) bool {
	found := false
	ir.WalkExpr(e, func(x ir.Expr) bool {
		_, ok := x.(*ir.Index)
		found = found || ok
		return !found
	})
	return found
}

// IsCounter tells the counter itself, or made wide.
func IsCounter(e ir.Expr, v *ir.Var) bool {
	if c, ok := e.(*ir.Convert); ok && c.T.IsInteger() && c.T.Size == 8 && c.X.Type().IsInteger() {
		e = c.X
	}
	r, ok := e.(*ir.Ref)
	return ok && r.Var == v
}

// Operations is about how many simple operations e takes, besides those of its operands.
func Operations(e ir.Expr) int64 {
	switch e := e.(type) {
	case *ir.Const, *ir.Ref, *ir.Len, *ir.Cap:
		return 0
	case *ir.Math:
		return 32
	case *ir.Binary:
		if e.Op == ir.Div || e.Op == ir.Rem {
			return 16
		}
	}
	return 1
}
