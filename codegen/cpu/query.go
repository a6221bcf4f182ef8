package cpu

import (
	"strconv"
	"strings"

	"github.com/gompss/gompss/codegen/ir"
)

// constInt is the value of an integer constant.
func constInt(e ir.Expr) (int64, bool) {
	c, ok := e.(*ir.Const)
	if !ok || !c.T.IsInteger() {
		return 0, false
	}
	return int64(c.Bits), true
}

// wide tells the 64-bit integers, in which indices are computed.
func wide(t *ir.Type) bool { return t.Kind == ir.Int64 || t.Kind == ir.Uint64 }

// escapes tells whether s holds a break or continue that leaves s.
func escapes(s ir.Stmt) bool {
	inner := map[*ir.Label]bool{}
	found := false
	ir.WalkStmts([]ir.Stmt{s}, func(s ir.Stmt) bool {
		switch s := s.(type) {
		case *ir.For:
			inner[s.Label] = true
		case *ir.While:
			inner[s.Label] = true
		case *ir.Block:
			inner[s.Label] = true
		case *ir.Break:
			found = found || !inner[s.Label]
		case *ir.Continue:
			found = found || !inner[s.Label]
		case *ir.Return:
			found = true
		}
		return true
	})
	return found
}

// constStep is the step of a loop, where it is a constant and not 0.
func constStep(s *ir.For) (int64, bool) {
	c, ok := constInt(s.Step)
	return c, ok && c != 0
}

// exprKey is a text that two expressions share only where they are the same, variables by their
// identity.
func exprKey(e ir.Expr) string {
	var b strings.Builder
	for _, v := range ir.ExprVars(e).List() {
		b.WriteByte('#')
		b.WriteString(strconv.Itoa(v.ID))
	}
	return ir.ExprString(e) + b.String()
}

// parallel tells the loops that a directive lets run on several workers.
func parallel(s ir.Stmt) (*ir.For, bool) {
	f, ok := s.(*ir.For)
	return f, ok && freed(f)
}

// freed tells whether a directive lets the iterations of f run together.
func freed(f *ir.For) bool {
	d := f.Directive
	return d != nil && d.Parts&(ir.Parallel|ir.Teams|ir.Workshare|ir.Loop|ir.Distribute|ir.Simd) != 0
}

// isRef tells whether e names v.
func isRef(e ir.Expr, v *ir.Var) bool {
	r, ok := e.(*ir.Ref)
	return ok && r.Var == v
}

// number is a constant of type int.
func number(n int64, at ir.Pos) ir.Expr {
	return &ir.Const{T: ir.IntType, Bits: uint64(n), At: at}
}

// toInt converts e to int, unless it is an int or int64.
func toInt(e ir.Expr) ir.Expr {
	if e.Type().Kind == ir.Int64 {
		return e
	}
	if c, ok := e.(*ir.Const); ok {
		return number(int64(c.Bits), c.At)
	}
	return &ir.Convert{T: ir.IntType, X: e, At: e.Pos()}
}
