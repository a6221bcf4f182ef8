package cprint

import (
	"math"

	"github.com/gompss/gompss/codegen/ir"
)

// SameExpr reports whether a and b are the same expression; two checked accesses to one place are
// checked once.
func SameExpr(a, b ir.Expr) bool {
	switch a := a.(type) {
	case *ir.Ref:
		b, ok := b.(*ir.Ref)
		return ok && a.Var == b.Var
	case *ir.Const:
		b, ok := b.(*ir.Const)
		return ok && a.Bits == b.Bits && ir.Same(a.T, b.T)
	case *ir.Query:
		b, ok := b.(*ir.Query)
		return ok && a.What == b.What
	case *ir.Index:
		b, ok := b.(*ir.Index)
		return ok && a.Checked == b.Checked && SameExpr(a.X, b.X) && SameExpr(a.I, b.I)
	case *ir.Member:
		b, ok := b.(*ir.Member)
		return ok && a.Field == b.Field && SameExpr(a.X, b.X)
	case *ir.Deref:
		b, ok := b.(*ir.Deref)
		return ok && a.Checked == b.Checked && SameExpr(a.X, b.X)
	case *ir.Binary:
		b, ok := b.(*ir.Binary)
		return ok && a.Op == b.Op && a.Checked == b.Checked && SameExpr(a.X, b.X) && SameExpr(a.Y, b.Y)
	case *ir.Convert:
		b, ok := b.(*ir.Convert)
		return ok && ir.Same(a.T, b.T) && SameExpr(a.X, b.X)
	case *ir.Len:
		b, ok := b.(*ir.Len)
		return ok && SameExpr(a.X, b.X)
	case *ir.Math:
		b, ok := b.(*ir.Math)
		return ok && a.Fn == b.Fn && sameExprs(a.Args, b.Args)
	}
	return false
}

func sameExprs(a, b []ir.Expr) bool {
	for i := range a {
		if i >= len(b) || !SameExpr(a[i], b[i]) {
			return false
		}
	}
	return len(a) == len(b)
}

// IsNormal reports whether a float32 expression is at least the least normal number, or NaN: a sum
// of squares and of a positive constant. NVIDIA's rsqrt spends a third of its time on the others,
// and gives the same bits for these.
func IsNormal(e ir.Expr, constants map[*ir.Var]ir.Expr) bool {
	low, ok := atLeast(e, constants)
	return ok && low >= 0x1p-126
}

// atLeast returns a lower bound of e that holds unless e is NaN.
func atLeast(e ir.Expr, constants map[*ir.Var]ir.Expr) (low float64, ok bool) {
	switch e := e.(type) {
	case *ir.Const:
		v := float64(math.Float32frombits(uint32(e.Bits)))
		return v, e.T.Kind == ir.Float32 && v >= 0
	case *ir.Ref:
		if init, ok := constants[e.Var]; ok {
			return atLeast(init, constants)
		}
	case *ir.Binary:
		if e.Op == ir.Mul && SameExpr(e.X, e.Y) {
			return 0, true
		}
		if e.Op == ir.Add {
			x, okX := atLeast(e.X, constants)
			y, okY := atLeast(e.Y, constants)
			return max(x, y), okX && okY
		}
	case *ir.Math:
		if e.Fn == ir.FMA && SameExpr(e.Args[0], e.Args[1]) {
			return atLeast(e.Args[2], constants)
		}
	}
	return 0, false
}
