package opencl

import (
	"math"
	"math/bits"

	"github.com/gompss/gompss/codegen/internal/cprint"
	"github.com/gompss/gompss/codegen/ir"
)

// An interval bounds an integer; the zero interval says nothing.
type interval struct {
	lo, hi int64
	known  bool
}

func span(lo, hi int64) interval { return interval{lo, hi, true} }

// The most of what a device has: elements of memory, threads of a grid.
const (
	mostElements = 1 << 47
	mostThreads  = 1 << 31
)

// rangeOf bounds e. Arithmetic that may wrap around has no bounds but those of its type.
func (p *body) rangeOf(e ir.Expr) interval {
	switch e := e.(type) {
	case *ir.Const:
		if e.T.IsInteger() && (e.T.IsSigned() || int64(e.Bits) >= 0) {
			return span(int64(e.Bits), int64(e.Bits))
		}
	case *ir.Ref:
		if r, ok := p.ranges[e.Var]; ok {
			return r
		}
	case *ir.Query:
		switch e.What {
		case ir.Lane:
			return span(0, warp-1)
		case ir.WarpSize:
			return span(warp, warp)
		case ir.NumThreads, ir.NumTeams:
			return span(1, mostThreads)
		}
		return span(0, mostThreads)
	case *ir.Len, *ir.Cap:
		return span(0, mostElements)
	case *ir.Convert:
		if r := p.rangeOf(e.X); e.T.IsInteger() && e.X.Type().IsInteger() && r.within(typeRange(e.T)) {
			return r
		}
	case *ir.Binary:
		if e.T.IsInteger() {
			if r := p.arithmetic(e); r.within(typeRange(e.T)) {
				return r
			}
		}
	}
	return typeRange(e.Type())
}

// wraps reports whether an addition, subtraction or multiplication may leave its type.
func (p *body) wraps(e *ir.Binary) bool { return !p.arithmetic(e).within(typeRange(e.T)) }

// arithmetic bounds the exact result of an operation, unknown where it may be beyond 64 bits.
func (p *body) arithmetic(e *ir.Binary) interval {
	x, y := p.rangeOf(e.X), p.rangeOf(e.Y)
	if !x.known || !y.known {
		return interval{}
	}
	switch e.Op {
	case ir.Add:
		return corners(x, y, add)
	case ir.Sub:
		return corners(x, y, func(a, b int64) (int64, bool) {
			if b == math.MinInt64 {
				return 0, false
			}
			return add(a, -b)
		})
	case ir.Mul:
		return corners(x, y, mul)
	case ir.Div:
		if y.lo > 0 {
			return corners(x, y, func(a, b int64) (int64, bool) { return a / b, true }).with(0)
		}
	case ir.Rem:
		if x.lo >= 0 && y.lo > 0 {
			return span(0, min(x.hi, y.hi-1))
		}
	case ir.And:
		if y.lo >= 0 {
			return span(0, y.hi)
		}
	case ir.Shr:
		if x.lo >= 0 && y.lo >= 0 {
			return span(0, x.hi)
		}
	}
	return interval{}
}

// corners bounds an operation that is monotonous in each operand.
func corners(x, y interval, f func(a, b int64) (int64, bool)) interval {
	out := interval{lo: math.MaxInt64, hi: math.MinInt64, known: true}
	for _, a := range [2]int64{x.lo, x.hi} {
		for _, b := range [2]int64{y.lo, y.hi} {
			v, ok := f(a, b)
			if !ok {
				return interval{}
			}
			out.lo, out.hi = min(out.lo, v), max(out.hi, v)
		}
	}
	return out
}

// with returns r with v in it, where x changes its sign.
func (r interval) with(v int64) interval {
	if r.known && r.lo < 0 && r.hi > 0 {
		return span(min(r.lo, v), max(r.hi, v))
	}
	return r
}

func add(a, b int64) (int64, bool) {
	c := a + b
	return c, (c > a) == (b > 0)
}

func mul(a, b int64) (int64, bool) {
	hi, lo := bits.Mul64(magnitude(a), magnitude(b))
	return a * b, hi == 0 && lo <= math.MaxInt64
}

func magnitude(a int64) uint64 {
	if a < 0 {
		return -uint64(a)
	}
	return uint64(a)
}

// typeRange bounds the values of an integer type, unknown for uint64.
func typeRange(t *ir.Type) interval {
	switch {
	case !t.IsInteger() || t.Kind == ir.Uint64:
		return interval{}
	case t.IsSigned():
		return span(math.MinInt64>>(64-cprint.Width(t)), math.MaxInt64>>(64-cprint.Width(t)))
	}
	return span(0, 1<<cprint.Width(t)-1)
}

// within reports whether r is known and in all.
func (r interval) within(all interval) bool {
	if !all.known { // uint64
		return r.known && r.lo >= 0
	}
	return r.known && r.lo >= all.lo && r.hi <= all.hi
}

// learn notes the values and ranges of the variables of list that keep their first value, and the
// ranges of the variables of counted loops.
func (p *body) learn(list []ir.Stmt, changed *ir.VarSet) {
	ir.WalkStmts(list, func(s ir.Stmt) bool {
		switch s := s.(type) {
		case *ir.Decl:
			if s.Init == nil || s.Var.Space != ir.Local || changed.Has(s.Var) {
				break
			}
			if s.Var.Type.IsInteger() {
				p.ranges[s.Var] = p.rangeOf(s.Init)
			}
			p.inits[s.Var] = s.Init
		case *ir.For:
			lo, hi, step := p.rangeOf(s.Lo), p.rangeOf(s.Hi), p.rangeOf(s.Step)
			if s.Rel == ir.Lt && lo.known && hi.known && step.known && step.lo > 0 && hi.hi > math.MinInt64 && !changed.Has(s.Var) {
				if last, ok := add(hi.hi, step.hi); ok && span(lo.lo, max(lo.lo, last)).within(typeRange(s.Var.Type)) {
					p.ranges[s.Var] = span(lo.lo, max(lo.lo, hi.hi-1))
				}
			}
		}
		return true
	})
}
