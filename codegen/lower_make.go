package codegen

import (
	"math"

	"github.com/gompss/gompss/codegen/ir"
)

// Constructors of device IR. Each takes the position of the source that it stands for.

func ref(v *ir.Var, at ir.Pos) *ir.Ref { return &ir.Ref{Var: v, At: at} }

func query(q ir.QueryKind, at ir.Pos) ir.Expr { return &ir.Query{What: q, At: at} }

// binary folds what is known, so that printed code stays readable.
func binary(op ir.Op, x, y ir.Expr, at ir.Pos) ir.Expr {
	cx, okx := constInt(x)
	cy, oky := constInt(y)
	switch {
	case okx && oky && (op == ir.Add || op == ir.Sub):
		return intConst(foldSum(op, cx, cy), at)
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

func compare(op ir.Op, x, y ir.Expr, at ir.Pos) ir.Expr {
	return &ir.Binary{Op: op, X: x, Y: y, T: ir.BoolType, At: at}
}

func not(x ir.Expr, at ir.Pos) ir.Expr { return &ir.Unary{Op: ir.Not, X: x, At: at} }

func boolConst(b bool, at ir.Pos) ir.Expr {
	c := &ir.Const{T: ir.BoolType, At: at}
	if b {
		c.Bits = 1
	}
	return c
}

func choose(cond, x, y ir.Expr, at ir.Pos) ir.Expr {
	if c, ok := cond.(*ir.Const); ok {
		if c.Bits != 0 {
			return x
		}
		return y
	}
	return &ir.Select{Cond: cond, X: x, Y: y, At: at}
}

func convert(t *ir.Type, x ir.Expr, at ir.Pos) ir.Expr {
	switch {
	case ir.Same(t, x.Type()):
		return x
	case t.Kind == ir.Int64:
		if c, ok := constInt(x); ok {
			return intConst(c, at)
		}
	}
	return &ir.Convert{T: t, X: x, At: at}
}

func index(x, i ir.Expr, at ir.Pos) *ir.Index { return &ir.Index{X: x, I: i, At: at} }

func decl(v *ir.Var, init ir.Expr, at ir.Pos) ir.Stmt { return &ir.Decl{Var: v, Init: init, At: at} }

func assign(place, value ir.Expr, at ir.Pos) ir.Stmt {
	return &ir.Assign{Place: place, Value: value, At: at}
}

func barrier(at ir.Pos) ir.Stmt { return &ir.Barrier{Scope: ir.TeamBarrier, At: at} }

// constInt returns the value of an integer constant that an int64 holds.
func constInt(e ir.Expr) (int64, bool) {
	c, ok := e.(*ir.Const)
	if !ok || !c.T.IsInteger() || c.T.Kind == ir.Uint64 && c.Bits >= 1<<63 {
		return 0, false
	}
	return int64(c.Bits), true
}

// zero returns the zero value of a type that is not a slice or a pointer.
func zero(t *ir.Type, at ir.Pos) ir.Expr {
	switch t.Kind {
	case ir.Array:
		c := &ir.Composite{T: t, At: at}
		for range t.Len {
			c.Elems = append(c.Elems, zero(t.Elem, at))
		}
		return c
	case ir.Struct:
		c := &ir.Composite{T: t, At: at}
		for _, f := range t.Fields {
			c.Elems = append(c.Elems, zero(f.Type, at))
		}
		return c
	}
	return &ir.Const{T: t, At: at}
}

// hasAddress reports whether t is or holds a slice or a pointer, which no memory of a device can hold.
func hasAddress(t *ir.Type) bool {
	switch t.Kind {
	case ir.Slice, ir.Pointer:
		return true
	case ir.Array:
		return hasAddress(t.Elem)
	case ir.Struct:
		for _, f := range t.Fields {
			if hasAddress(f.Type) {
				return true
			}
		}
	}
	return false
}

// identity returns the value of type t that leaves the other operand of op as it is.
func identity(op ir.Op, t *ir.Type, at ir.Pos) ir.Expr {
	c := &ir.Const{T: t, At: at}
	switch op {
	case ir.Mul:
		c.Bits = oneBits(t)
	case ir.And:
		c.Bits = allOnes(t)
	case ir.LAnd:
		c.Bits = 1
	case ir.Min, ir.MinLoc:
		c.Bits = largest(t)
	case ir.Max, ir.MaxLoc:
		c.Bits = smallest(t)
	}
	return c
}

func oneBits(t *ir.Type) uint64 {
	switch t.Kind {
	case ir.Float32:
		return uint64(math.Float32bits(1))
	case ir.Float64:
		return math.Float64bits(1)
	}
	return 1
}

// allOnes is -1, in the unsigned types the greatest value.
func allOnes(t *ir.Type) uint64 {
	if t.IsSigned() {
		return ^uint64(0)
	}
	return ^uint64(0) >> (64 - 8*uint(t.Size))
}

func largest(t *ir.Type) uint64 {
	switch {
	case t.Kind == ir.Float32:
		return uint64(math.Float32bits(float32(math.Inf(1))))
	case t.Kind == ir.Float64:
		return math.Float64bits(math.Inf(1))
	case t.IsSigned():
		return 1<<(8*uint(t.Size)-1) - 1
	}
	return allOnes(t)
}

func smallest(t *ir.Type) uint64 {
	switch {
	case t.Kind == ir.Float32:
		return uint64(math.Float32bits(float32(math.Inf(-1))))
	case t.Kind == ir.Float64:
		return math.Float64bits(math.Inf(-1))
	case t.IsSigned():
		return ^uint64(0) << (8*uint(t.Size) - 1)
	}
	return 0
}

// combine returns x op y as an expression; MinLoc and MaxLoc are no expressions.
func combine(op ir.Op, x, y ir.Expr, at ir.Pos) ir.Expr {
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
