package cuda

import (
	"math"

	"github.com/gompss/gompss/codegen/ir"
)

// assume notes what cond says of variables that do not change, and returns what forgets it again.
// Lowering tests the sizes that a loop is given in front of it: inside, they are known not to be
// negative.
func (p *facts) assume(cond ir.Expr) (forget func()) {
	before := map[*ir.Var]interval{}
	p.assumeAll(cond, before)
	return func() {
		for v, r := range before {
			p.ranges.vars[v] = r
		}
	}
}

func (p *facts) assumeAll(cond ir.Expr, before map[*ir.Var]interval) {
	b, ok := cond.(*ir.Binary)
	if !ok {
		return
	}
	if b.Op == ir.LAnd {
		p.assumeAll(b.X, before)
		p.assumeAll(b.Y, before)
		return
	}
	x, y, op := b.X, b.Y, b.Op
	if _, isConst := x.(*ir.Const); isConst {
		x, y, op = y, x, map[ir.Op]ir.Op{ir.Lt: ir.Gt, ir.Le: ir.Ge, ir.Gt: ir.Lt, ir.Ge: ir.Le}[op]
	}
	r, ok := x.(*ir.Ref)
	c, isConst := y.(*ir.Const)
	if !ok || !isConst || r.Var.Type.Kind != ir.Int64 || p.changed.Has(r.Var) {
		return
	}
	is, limit := p.ranges.of(x), int64(c.Bits)
	if !is.known {
		is = span(math.MinInt64, math.MaxInt64)
	}
	if _, have := before[r.Var]; !have {
		before[r.Var] = p.ranges.vars[r.Var]
	}
	switch {
	case op == ir.Ge:
		is.lo = max(is.lo, limit)
	case op == ir.Gt && limit < math.MaxInt64:
		is.lo = max(is.lo, limit+1)
	case op == ir.Le:
		is.hi = min(is.hi, limit)
	case op == ir.Lt && limit > math.MinInt64:
		is.hi = min(is.hi, limit-1)
	}
	if is.lo <= is.hi {
		p.ranges.vars[r.Var] = is
	}
}

// rises reports whether no part of the sum of products e is larger than e, nor negative: where e
// fits 32 bits, every step of its calculation does, and a compiler that may rely on that makes
// additions of the multiplications in a loop.
func (r *ranges) rises(e ir.Expr) bool {
	v, wraps := r.eval(e)
	if !wraps && v.nonNegative() && v.fits32() {
		return true
	}
	b, ok := e.(*ir.Binary)
	if !ok || b.T.Kind != ir.Int64 {
		return false
	}
	switch b.Op {
	case ir.Add:
		return r.rises(b.X) && r.rises(b.Y)
	case ir.Mul:
		return r.factor(b.X, b.Y) && r.factor(b.Y, b.X)
	}
	return false
}

// factor reports whether x is not larger than its product with y: y is not zero, or x fits 32 bits
// by itself.
func (r *ranges) factor(x, y ir.Expr) bool {
	v, wraps := r.eval(x)
	if !wraps && v.nonNegative() && v.fits32() {
		return true
	}
	w := r.of(y)
	return r.rises(x) && w.known && w.lo > 0
}
