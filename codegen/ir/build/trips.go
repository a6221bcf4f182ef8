package build

import (
	"slices"

	"github.com/gompss/gompss/codegen/ir"
	"github.com/gompss/gompss/codegen/ir/query"
)

// Trips returns the number of iterations of f as an int, given its bounds as ints. A step of zero
// or of the wrong sign fails as a division by zero.
func Trips(f *ir.For, lo, hi, step ir.Expr) ir.Expr {
	at := f.At
	up := trip{at: at, from: lo, to: hi, step: step, right: atLeastOne(f.Step)}
	down := trip{at: at, from: hi, to: lo, step: negate(step, at), right: atMostMinusOne(f.Step)}
	switch f.Rel {
	case ir.Lt:
		return up.count(false)
	case ir.Le:
		return up.count(true)
	case ir.Gt:
		return down.count(false)
	case ir.Ge:
		return down.count(true)
	}
	if c, ok := query.Int64(step); ok && c > 0 {
		return up.count(false)
	} else if ok {
		return down.count(false)
	}
	return Choose(Compare(ir.Gt, step, Int(0, at), at), up.count(false), down.count(false), at)
}

type trip struct {
	at             ir.Pos
	from, to, step ir.Expr
	right          bool // the loop itself says that the step leads to the end
}

// count is max(0, ceil((to-from)/step)), with to inside the range where inclusive.
func (t trip) count(inclusive bool) ir.Expr {
	width := Binary(ir.Sub, t.to, t.from, t.at)
	if c, ok := query.Int64(t.step); ok && c == 1 {
		if inclusive {
			width = Binary(ir.Add, width, Int(1, t.at), t.at)
		}
		return atLeastZero(width, t.at)
	}
	step, checked := t.shortStep(width, inclusive), false
	extra := step
	if _, ok := query.Int64(t.step); !ok && !t.right {
		positive := Compare(ir.Gt, t.step, Int(0, t.at), t.at)
		empty := Compare(ir.Lt, width, Int(0, t.at), t.at) // then the step is no matter
		if !inclusive {
			empty = Compare(ir.Le, width, Int(0, t.at), t.at)
		}
		step, checked = Choose(positive, step, Choose(empty, Int(1, t.at), Int(0, t.at), t.at), t.at), true
	}
	if !inclusive {
		extra = Binary(ir.Sub, extra, Int(1, t.at), t.at)
	}
	sum := Binary(ir.Add, width, extra, t.at)
	quotient := &ir.Binary{Op: ir.Div, X: sum, Y: step, T: ir.IntType, Checked: checked, At: t.at}
	return atLeastZero(quotient, t.at)
}

// atLeastOne reports whether e is a maximum with a positive constant.
func atLeastOne(e ir.Expr) bool { return limited(e, ir.IMax, func(n int64) bool { return n > 0 }) }

// atMostMinusOne reports whether e is a minimum with a negative constant.
func atMostMinusOne(e ir.Expr) bool {
	return limited(e, ir.IMin, func(n int64) bool { return n < 0 })
}

// limited reports whether e is fn of a constant that is fine and something else.
func limited(e ir.Expr, fn ir.MathFn, fine func(int64) bool) bool {
	if c, ok := e.(*ir.Convert); ok && c.T.Size >= c.X.Type().Size {
		return limited(c.X, fn, fine)
	}
	m, ok := e.(*ir.Math)
	return ok && m.Fn == fn && slices.ContainsFunc(m.Args, func(x ir.Expr) bool { n, ok := query.Int64(x); return ok && fine(n) })
}

// shortStep returns a step that makes as many iterations as the one of t and does not wrap around
// where width is added to it: one that is longer than the range makes one iteration, as one that is
// as long does.
func (t trip) shortStep(width ir.Expr, inclusive bool) ir.Expr {
	if c, ok := query.Int64(t.step); ok && c <= MaxShortStep {
		return t.step
	}
	if inclusive {
		width = Binary(ir.Add, width, Int(1, t.at), t.at)
	}
	most := &ir.Math{Fn: ir.IMax, Args: []ir.Expr{width, Int(1, t.at)}, T: ir.IntType, At: t.at}
	return &ir.Math{Fn: ir.IMin, Args: []ir.Expr{t.step, most}, T: ir.IntType, At: t.at}
}

func atLeastZero(e ir.Expr, at ir.Pos) ir.Expr {
	if c, ok := query.Int64(e); ok {
		return Int(max(c, 0), at)
	}
	return &ir.Math{Fn: ir.IMax, Args: []ir.Expr{e, Int(0, at)}, T: ir.IntType, At: at}
}

func negate(e ir.Expr, at ir.Pos) ir.Expr {
	if c, ok := query.Int64(e); ok {
		return Int(-c, at)
	}
	return &ir.Unary{Op: ir.Neg, X: e, At: at}
}

// ToInt converts e to int.
func ToInt(e ir.Expr) ir.Expr { return Convert(ir.IntType, e, e.Pos()) }

// MaxShortStep bounds the steps that may be added to a width, or taken by each thread of a grid,
// without a thought of the ends of int64.
const MaxShortStep = 1 << 24
