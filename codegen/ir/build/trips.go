package build

import (
	"cmp"
	"math/bits"
	"slices"

	"github.com/gompss/gompss/codegen/ir"
	"github.com/gompss/gompss/codegen/ir/query"
)

// Trips returns the number of iterations of f as an int, given its bounds as ints. A step of zero
// or of the wrong sign fails as a division by zero.
func Trips(f *ir.For, lo, hi, step ir.Expr) ir.Expr {
	far := f.Var.Type.Size == 8 && f.Rel != ir.Ne && !(Near(f.Lo) && (Near(f.Hi) || fromZero(f)))
	if !far || f.Var.Type.Kind != ir.Uint64 && (f.Rel == ir.Lt || f.Rel == ir.Gt) {
		return trips(f, lo, hi, step, far)
	}
	n, t, at := trips(f, lo, hi, step, false), f.Var.Type, f.At
	switch holds, constant := ConstHolds(f.Rel, t, lo, hi); {
	case constant && holds:
		return n
	case constant:
		return Int(0, at)
	}
	return Choose(Compare(f.Rel, Convert(t, lo, at), Convert(t, hi, at), at), n, Int(0, at), at)
}

// ConstHolds reports whether relation rel of two integers of type t holds, and whether both are
// constants.
func ConstHolds(rel ir.Op, t *ir.Type, x, y ir.Expr) (holds, constant bool) {
	a, ok1 := query.Int64(x)
	b, ok2 := query.Int64(y)
	if !ok1 || !ok2 {
		return false, false
	}
	order := cmp.Compare(a, b)
	if t.Kind == ir.Uint64 {
		order = cmp.Compare(uint64(a), uint64(b))
	}
	switch rel {
	case ir.Lt:
		holds = order < 0
	case ir.Le:
		holds = order <= 0
	case ir.Gt:
		holds = order > 0
	case ir.Ge:
		holds = order >= 0
	case ir.Eq:
		holds = order == 0
	case ir.Ne:
		holds = order != 0
	}
	return holds, true
}

// fromZero reports whether the width of f is its signed bound, up from zero or down to it.
func fromZero(f *ir.For) bool {
	if f.Var.Type.Kind == ir.Uint64 {
		return false
	}
	zero := f.Lo
	if f.Rel == ir.Gt || f.Rel == ir.Ge {
		zero = f.Hi
	}
	c, ok := query.Int64(zero)
	return ok && c == 0
}

// Near reports whether the absolute value of e is known to be below 2^62: the difference of two
// such numbers has 64 bits, and a counter that begins at one does not wrap.
func Near(e ir.Expr) bool { return magnitude(e) <= 62 }

// LengthBits is how many bits the length of a slice has at most: addresses have no more.
const LengthBits = 48

// magnitude returns a number n such that the absolute value of e is at most 2^n; 64 if nothing is
// known.
func magnitude(e ir.Expr) int {
	const index, unknown = 32, 64 // bits of numbers of teams and threads
	switch e := e.(type) {
	case *ir.Const:
		if c, ok := query.Int64(e); ok && e.T.Kind != ir.Uint64 {
			return bits.Len64(uint64(max(c, -(c + 1))))
		}
		return min(bits.Len64(uint64(e.Bits)), unknown)
	case *ir.Len:
		return LengthBits
	case *ir.Query:
		return index
	case *ir.Convert:
		switch from := e.X.Type(); {
		case !from.IsInteger():
		case from.Size < 8:
			return 8 * int(from.Size)
		default:
			return magnitude(e.X)
		}
	case *ir.Binary:
		return magnitudeOf(e)
	case *ir.Math:
		if e.Fn == ir.IMin || e.Fn == ir.IMax {
			n := 0
			for _, x := range e.Args {
				n = max(n, magnitude(x))
			}
			return n
		}
	}
	return unknown
}

func magnitudeOf(e *ir.Binary) int {
	const unknown = 64
	x, y := magnitude(e.X), magnitude(e.Y)
	whole := min(x, 63) // of numbers of 64 bits with a sign
	if e.T.Kind == ir.Uint64 {
		whole = x
	}
	n := unknown
	c, constant := query.Int64(e.Y)
	switch e.Op {
	case ir.Add:
		n = max(x, y) + 1
	case ir.Sub:
		if n = max(x, y) + 1; e.T.Kind == ir.Uint64 {
			n = unknown
		}
	case ir.Mul:
		n = x + y
	case ir.Div:
		if n = whole; constant && c > 1 {
			n -= bits.Len64(uint64(c)) - 1
		}
	case ir.Shr:
		if n = whole; constant && c > 0 {
			n = max(n-int(min(c, unknown)), 0)
		}
	case ir.Rem:
		n = min(whole, y)
	case ir.And:
		if constant && c >= 0 {
			n = min(n, y)
		}
		if k, ok := query.Int64(e.X); ok && k >= 0 {
			n = min(n, x)
		}
	}
	if size := 8 * int(e.T.Size); e.T.Size < 8 {
		return min(n, size)
	}
	if n > 62 { // it may have wrapped
		return unknown
	}
	return n
}

// trips is Trips; where far, the bounds may be 2^63 or more behind each other.
func trips(f *ir.For, lo, hi, step ir.Expr, far bool) ir.Expr {
	at := f.At
	up := trip{at: at, from: lo, to: hi, step: step, right: atLeastOne(f.Step), far: far}
	down := trip{at: at, from: hi, to: lo, step: negate(step, at), right: atMostMinusOne(f.Step), far: far}
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
	far            bool // to may lie so far before from that their difference is positive
}

// count is max(0, ceil((to-from)/step)), with to inside the range where inclusive.
func (t trip) count(inclusive bool) ir.Expr {
	to := t.to
	if t.far {
		to = IntMath(ir.IMax, t.to, t.from)
	}
	width := Binary(ir.Sub, to, t.from, t.at)
	if c, ok := query.Int64(t.step); ok && c == 1 {
		if t.far {
			return width
		}
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
