package strategy

import (
	"slices"

	"github.com/gompss/gompss/codegen/internal/analysis"
	"github.com/gompss/gompss/codegen/ir"
	"github.com/gompss/gompss/codegen/ir/build"
	"github.com/gompss/gompss/codegen/ir/query"
)

// Spaces that close on themselves, and such as continue beyond their ends with their last values,
// ask in every iteration for a neighbour by a remainder or a minimum, and need it at the rim alone:
// (i+n-1)%n is i-1 but for the first i, and min(i+1, n-1) is i+1 but for the last. Inside, the
// places of neighbours are then sums of loop variables and constants, of which rows and columns of
// a thread share most.

// rimWidth is how many iterations at an end of a loop are its rim.
const rimWidth = 64

// maxWrapped bounds sizes: twice as much is still an int.
const maxWrapped = 1 << 62

// A wrapping takes out of the body of a block what only iterations at the rim need.
type wrapping struct {
	loops []*ir.For
	own   *ir.VarSet // variables that an iteration sets
	conds []ir.Expr  // hold of all others
	gone  int        // operations
}

// splitWrapped makes the fast body of b that of iterations inside, and notes what these are.
func (b *block) splitWrapped() {
	x := &wrapping{loops: append(append([]*ir.For{}, b.outer...), b.row, b.column), own: ir.Declared(b.fast)}
	list := (&ir.Rewrite{Expr: x.expr}).CopyStmts(b.fast)
	if x.gone > 0 {
		b.fast, b.inside, b.wrapped = propagated(list), x.conds, x.gone
	}
}

func (x *wrapping) expr(e ir.Expr) ir.Expr {
	switch e := e.(type) {
	case *ir.Binary:
		if e.Op == ir.Rem && e.T.Kind == ir.Int64 && !e.Checked {
			return x.remainder(e)
		}
	case *ir.Math:
		if (e.Fn == ir.IMin || e.Fn == ir.IMax) && len(e.Args) == 2 && e.T.Kind == ir.Int64 {
			return x.extreme(e)
		}
	}
	return e
}

// remainder returns what (v+c) % n and (v+n+c) % n are inside, where v runs up to n.
func (x *wrapping) remainder(e *ir.Binary) ir.Expr {
	form, ok := analysis.AffineOf(e.X)
	size, okSize := analysis.AffineOf(e.Y)
	if !ok || !okSize || !x.fixed(form) || !x.fixed(size) {
		return e
	}
	for _, f := range x.loops {
		rest := form.Sub(analysis.VarAffine(f.Var))
		lo, okLo := query.Int64(f.Lo)
		hi, okHi := analysis.AffineOf(f.Hi)
		spare, isConst := size.Sub(hi).Const()
		if !okLo || lo < 0 || !okHi || !isConst || spare < 0 || spare > rimWidth {
			continue
		}
		c, near := rest.Const()
		if !near {
			c, isConst = rest.Sub(size).Const()
		}
		if !isConst || c < -rimWidth || c > rimWidth {
			continue
		}
		kept, at := len(x.conds), e.At
		out := build.Binary(ir.Add, build.Ref(f.Var, at), build.Int(c, at), at)
		if !x.needs(build.Compare(ir.Ge, out, build.Int(0, at), at)) || !x.needs(build.Compare(ir.Lt, out, e.Y, at)) {
			x.conds = x.conds[:kept]
			continue
		}
		if !near {
			x.conds = append(x.conds, build.Compare(ir.Le, e.Y, build.Int(maxWrapped, at), at))
		}
		x.gone++
		return out
	}
	return e
}

// extreme returns the side of a minimum or maximum that counts inside.
func (x *wrapping) extreme(e *ir.Math) ir.Expr {
	op := ir.Le
	if e.Fn == ir.IMax {
		op = ir.Ge
	}
	for k := range e.Args {
		if form, ok := analysis.AffineOf(e.Args[k]); ok && x.moves(form) && x.needs(build.Compare(op, e.Args[k], e.Args[1-k], e.At)) {
			x.gone++
			return e.Args[k]
		}
	}
	return e
}

// needs notes that cond, a comparison, has to hold inside, and reports whether that is so but at
// the rim: what it compares differs by a constant at the ends of the loops.
func (x *wrapping) needs(cond ir.Expr) bool {
	least, ok := lessForm(cond.(*ir.Binary))
	if !ok || !x.fixed(least) {
		return false
	}
	for _, f := range x.loops {
		coef, ok := least.Coef(f.Var)
		rise, isConst := coef.Const()
		if !ok || !isConst {
			return false
		}
		if rise == 0 {
			continue
		}
		end, known := analysis.AffineOf(f.Lo)
		if rise < 0 {
			end, known = analysis.AffineOf(f.Hi)
			end = end.AddConst(-1)
		}
		if !known {
			return false
		}
		least = least.Subst(f.Var, end)
	}
	c, isConst := least.Const()
	if !isConst || c < -rimWidth {
		return false
	}
	if c < 0 {
		x.conds = append(x.conds, cond)
	}
	return true
}

// fixed reports whether form has no variable but those of the loops and what no iteration sets.
func (x *wrapping) fixed(form analysis.Affine) bool {
	return form.Known() && !slices.ContainsFunc(form.Atoms(), func(a analysis.Atom) bool { return x.own.Has(a.Var) })
}

// moves reports whether form differs from iteration to iteration of a loop.
func (x *wrapping) moves(form analysis.Affine) bool {
	return slices.ContainsFunc(x.loops, func(f *ir.For) bool { return form.Has(f.Var) })
}
