package strategy

import (
	"cmp"

	"github.com/gompss/gompss/codegen/internal/analysis/affine"
	"github.com/gompss/gompss/codegen/internal/lower/strategy/bodies"
	"github.com/gompss/gompss/codegen/ir"
	"github.com/gompss/gompss/codegen/ir/build"
	"github.com/gompss/gompss/codegen/ir/query"
)

// This file handles rows with different bounds, as in a triangular or banded loop. The tiles of a
// block go from the least lower bound of its rows to the greatest upper bound, and iterations
// outside the bounds of a row are masked. The bounds are monotone in the number of the row, so the
// extremes are those of the first and the last row of a block. A test before the loop excludes
// overflow.

// monotone returns whether the int expression e rises (1), falls (-1) or is constant (0) as v
// rises. It reports false if none of these is known.
func monotone(e ir.Expr, v *ir.Var) (sign int, ok bool) {
	if form, isAffine := affine.Of(e); isAffine {
		coef, isForm := form.Coef(v)
		c, isConst := coef.Const()
		switch {
		case !isForm || !isConst || c > bodies.FarStride || c < -bodies.FarStride:
			return 0, false
		case c > 0:
			return 1, true
		case c < 0:
			return -1, true
		}
		return 0, true
	}
	if b, isBinary := e.(*ir.Binary); isBinary && (b.Op == ir.Add || b.Op == ir.Sub) {
		x, okX := monotone(b.X, v)
		y, okY := monotone(b.Y, v)
		if b.Op == ir.Sub {
			y = -y
		}
		return cmp.Or(x, y), okX && okY && x*y >= 0
	}
	m, isMath := e.(*ir.Math)
	if !isMath || m.Fn != ir.IMin && m.Fn != ir.IMax {
		return 0, !ir.ExprVars(e).Has(v)
	}
	for _, arg := range m.Args {
		s, fine := monotone(arg, v)
		if !fine || s*sign < 0 {
			return 0, false
		}
		if s != 0 {
			sign = s
		}
	}
	return sign, true
}

// ends returns the least and the greatest value of the monotone expression e in the rows first to
// last.
func (x *rowed) ends(e, first, last ir.Expr) (least, most ir.Expr) {
	in := func(i ir.Expr) ir.Expr { return ir.Subst(e, map[*ir.Var]ir.Expr{x.f.Var: i}) }
	if sign, _ := monotone(e, x.f.Var); sign < 0 {
		return in(last), in(first)
	}
	return in(first), in(last)
}

// blockOf declares l.lo and l.hi, the union of the bounds of l in the rows of a block.
func (x *rowed) blockOf(l *rowLoop) []ir.Stmt {
	if !l.bent {
		return nil
	}
	at, f := l.loop.At, l.loop
	stop := x.stop
	if !x.all() {
		stop = build.IntMath(ir.IMin, build.Binary(ir.Add, build.Ref(x.base, at), build.Int(rowsOfTeam, at), at), x.end)
	}
	final := build.Binary(ir.Sub, stop, build.Int(1, at), at)
	last, out := x.Temp("last", final, nil)
	lo, _ := x.ends(f.Lo, build.Ref(x.base, at), last)
	_, hi := x.ends(f.Hi, build.Ref(x.base, at), last)
	l.lo, out = x.Temp("lo", lo, out)
	l.hi, out = x.Temp("hi", hi, out)
	return out
}

// tripsOf returns the trip count of l, or, if the bounds differ, the larger one of the first and
// the last row.
func (x *rowed) tripsOf(l *rowLoop) ir.Expr {
	f, at := l.loop, l.loop.At
	if !l.bent {
		return build.Trips(f, f.Lo, f.Hi, f.Step)
	}
	in := func(i ir.Expr) ir.Expr {
		row := map[*ir.Var]ir.Expr{x.f.Var: i}
		return build.Trips(f, ir.Subst(f.Lo, row), ir.Subst(f.Hi, row), f.Step)
	}
	return build.IntMath(ir.IMax, in(x.f.Lo), in(build.Binary(ir.Sub, x.f.Hi, build.Int(1, at), at)))
}

// unwrapped returns the tests that the bounds do not overflow between the first and the last row:
// an overflow would reverse the order of the two.
func (x *rowed) unwrapped() []ir.Expr {
	var out []ir.Expr
	for _, l := range x.inOrder() {
		for _, e := range []ir.Expr{l.loop.Lo, l.loop.Hi} {
			if !ir.ExprVars(e).Has(x.f.Var) {
				continue
			}
			least, most := x.ends(e, x.f.Lo, build.Binary(ir.Sub, x.f.Hi, build.Int(1, e.Pos()), e.Pos()))
			out = append(out, build.Compare(ir.Le, least, most, e.Pos()))
		}
	}
	return out
}

// copies reports whether all staged values are loaded elements.
func (l *rowLoop) copies() bool {
	for _, s := range l.staged {
		if ix, ok := s.e.(*ir.Index); !ok || !containsSame(l.elems, ix) {
			return false
		}
	}
	return true
}

func containsSame(list []*ir.Index, e ir.Expr) bool {
	for _, have := range list {
		if query.Same(have, e) {
			return true
		}
	}
	return false
}
