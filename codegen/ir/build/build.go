// Package build constructs expressions and statements of the IR. Each has the position of the
// source construct that it implements. Constants are folded, so that printed code stays readable.
// All functions are pure.
package build

import (
	"github.com/gompss/gompss/codegen/ir"
	"github.com/gompss/gompss/codegen/ir/query"
)

// Constructors of device IR. Each takes the position of the source construct that it implements.

// Ref returns a use of v.
func Ref(v *ir.Var, at ir.Pos) *ir.Ref { return &ir.Ref{Var: v, At: at} }

// Query returns the thread, team or size that q names.
func Query(q ir.QueryKind, at ir.Pos) ir.Expr { return &ir.Query{What: q, At: at} }

// Binary returns x op y, folded if its operands are constants.
func Binary(op ir.Op, x, y ir.Expr, at ir.Pos) ir.Expr {
	cx, okx := query.Int64(x)
	cy, oky := query.Int64(y)
	switch {
	case okx && oky && (op == ir.Add || op == ir.Sub):
		return Int(foldSum(op, cx, cy), at)
	case oky && cy == 0 && (op == ir.Add || op == ir.Sub), oky && cy == 1 && (op == ir.Mul || op == ir.Div):
		return x
	case okx && cx == 0 && op == ir.Add, okx && cx == 1 && op == ir.Mul:
		return y
	}
	return &ir.Binary{Op: op, X: x, Y: y, T: x.Type(), At: at}
}

func foldSum(op ir.Op, x, y int64) int64 {
	if op == ir.Sub {
		return x - y
	}
	return x + y
}

// Compare returns the bool x op y.
func Compare(op ir.Op, x, y ir.Expr, at ir.Pos) ir.Expr {
	return &ir.Binary{Op: op, X: x, Y: y, T: ir.BoolType, At: at}
}

// Not returns !x for a bool.
func Not(x ir.Expr, at ir.Pos) ir.Expr { return &ir.Unary{Op: ir.Not, X: x, At: at} }

// Choose returns x where cond holds, else y; a constant cond is folded.
func Choose(cond, x, y ir.Expr, at ir.Pos) ir.Expr {
	if c, ok := cond.(*ir.Const); ok {
		if c.Bits != 0 {
			return x
		}
		return y
	}
	return &ir.Select{Cond: cond, X: x, Y: y, At: at}
}

// Convert returns x as a value of type t by the rules of a Go conversion; constants are folded.
func Convert(t *ir.Type, x ir.Expr, at ir.Pos) ir.Expr {
	switch {
	case ir.Same(t, x.Type()):
		return x
	case t.Kind == ir.Int64:
		if c, ok := query.Int64(x); ok {
			return Int(c, at)
		}
	}
	return &ir.Convert{T: t, X: x, At: at}
}

// Index returns the element x[i].
func Index(x, i ir.Expr, at ir.Pos) *ir.Index { return &ir.Index{X: x, I: i, At: at} }

// Decl declares v with an initial value; nil means the zero value.
func Decl(v *ir.Var, init ir.Expr, at ir.Pos) ir.Stmt { return &ir.Decl{Var: v, Init: init, At: at} }

// Assign stores value at place.
func Assign(place, value ir.Expr, at ir.Pos) ir.Stmt {
	return &ir.Assign{Place: place, Value: value, At: at}
}

// Barrier waits for all threads of the team.
func Barrier(at ir.Pos) ir.Stmt { return &ir.Barrier{Scope: ir.TeamBarrier, At: at} }

// Combine returns x op y as an expression; MinLoc and MaxLoc are no expressions.
func Combine(op ir.Op, x, y ir.Expr, at ir.Pos) ir.Expr {
	t := x.Type()
	switch op {
	case ir.Min, ir.Max:
		return &ir.Math{Fn: minMax(op, t), Args: []ir.Expr{x, y}, T: t, At: at}
	}
	return &ir.Binary{Op: op, X: x, Y: y, T: t, At: at}
}

func minMax(op ir.Op, t *ir.Type) ir.MathFn {
	switch {
	case op == ir.Min && t.IsFloat():
		return ir.FMin
	case op == ir.Min:
		return ir.IMin
	case t.IsFloat():
		return ir.FMax
	}
	return ir.IMax
}

// IntMath returns fn of two ints.
func IntMath(fn ir.MathFn, x, y ir.Expr) ir.Expr {
	return &ir.Math{Fn: fn, Args: []ir.Expr{x, y}, T: ir.IntType, At: x.Pos()}
}
