package blocks

import (
	"slices"

	"github.com/gompss/gompss/codegen/internal/analysis"
	"github.com/gompss/gompss/codegen/internal/analysis/affine"
	"github.com/gompss/gompss/codegen/internal/lower/crews"
	"github.com/gompss/gompss/codegen/internal/lower/forms"
	"github.com/gompss/gompss/codegen/internal/lower/guarded"
	"github.com/gompss/gompss/codegen/internal/lower/strategy/bodies"
	"github.com/gompss/gompss/codegen/internal/lower/strategy/unchecked"
	"github.com/gompss/gompss/codegen/ir"
	"github.com/gompss/gompss/codegen/ir/build"
	"github.com/gompss/gompss/codegen/ir/query"
)

// This file prepares the body of a block: it propagates affine values of variables, unrolls short
// loops with constant trip counts, and hoists the tests that fail only at the boundary of the
// iteration space.

const (
	outMost  = 16  // largest trip count of a loop that is unrolled completely
	outFlat  = 40  // the same if the nest has one loop, so that a thread has no copies for several rows
	outWhole = 160 // largest number of statements of an unrolled body
)

// mergeStores if-converts branches whose two sides store to the same place into one store of a
// select, so that loads of other iterations can move across it.
func mergeStores(list []ir.Stmt) []ir.Stmt {
	out := slices.Clone(list)
	for k, s := range out {
		c, ok := s.(*ir.If)
		if !ok || !forms.PlainValue(c.Cond) {
			continue
		}
		x, y := onlyAssign(mergeStores(c.Then)), onlyAssign(mergeStores(c.Else))
		if x != nil && y != nil && query.Same(x.Place, y.Place) {
			out[k] = build.Assign(x.Place, &ir.Select{Cond: c.Cond, X: x.Value, Y: y.Value, At: c.At}, c.At)
		}
	}
	return out
}

// onlyAssign returns the assignment of list if list is one assignment of a plain scalar, else nil.
func onlyAssign(list []ir.Stmt) *ir.Assign {
	if len(list) != 1 {
		return nil
	}
	a, ok := list[0].(*ir.Assign)
	if !ok || !a.Value.Type().IsScalar() || !forms.PlainValue(a.Place) || !forms.PlainValue(a.Value) {
		return nil
	}
	return a
}

// unrollLoops unrolls the loops of list whose constant trip count is at most most, innermost loops
// first.
func unrollLoops(l *crews.Crew, list []ir.Stmt, most int64) []ir.Stmt {
	var out []ir.Stmt
	for _, s := range bodies.FoldBranches(list) {
		f, ok := s.(*ir.For)
		if !ok {
			out = append(out, s)
			continue
		}
		c := *f
		c.Body = unrollLoops(l, query.Flatten(f.Body), most)
		n, known := analysis.ConstTrips(&c)
		lo, okLo := query.Int64(c.Lo)
		step, okStep := query.Int64(c.Step)
		if !known || !okLo || !okStep || n > most || n*int64(len(c.Body))+int64(len(out)) > outWhole || !query.OnlyPlain(c.Body) || query.LeavesLoop(&c) {
			out = append(out, &c)
			continue
		}
		for k := range n {
			value := &ir.Const{T: f.Var.Type, Bits: uint64(lo + k*step), At: f.At}
			turn := ir.SubstStmts(c.Body, map[*ir.Var]ir.Expr{f.Var: value})
			out = append(out, bodies.FoldBranches(l.CopyOf(turn, &l.Kernel.NumVars))...)
		}
	}
	return out
}

// splitInside moves conditions from the fast body to b.inside: comparisons of affine forms over row
// and column without an else branch, which fail only at the boundary of the iteration space.
func (b *block) splitInside() {
	kept := b.fast
	var conds []ir.Expr
	var strip func(list []ir.Stmt) ([]ir.Stmt, bool)
	strip = func(list []ir.Stmt) ([]ir.Stmt, bool) {
		var out []ir.Stmt
		for _, s := range list {
			c, ok := s.(*ir.If)
			if !ok {
				out = append(out, s)
				continue
			}
			parts, fine := b.rim(c.Cond)
			if !fine || len(c.Else) > 0 {
				return nil, false
			}
			then, ok := strip(c.Then)
			if !ok || len(ir.Declared(then).List()) > 0 {
				return nil, false
			}
			conds = append(conds, parts...)
			out = append(out, then...)
		}
		return out, true
	}
	list, ok := strip(b.fast)
	if !ok || len(conds) == 0 {
		b.fast = kept
		return
	}
	b.fast, b.inside = list, append(b.inside, conds...)
}

// rim returns the comparisons in the conjunction cond. It reports false unless each compares affine
// forms over row, column and loop-invariant variables.
func (b *block) rim(cond ir.Expr) ([]ir.Expr, bool) {
	c, ok := cond.(*ir.Binary)
	if !ok {
		return nil, false
	}
	switch c.Op {
	case ir.LAnd:
		x, okx := b.rim(c.X)
		y, oky := b.rim(c.Y)
		return append(x, y...), okx && oky
	case ir.Lt, ir.Le, ir.Gt, ir.Ge:
	default:
		return nil, false
	}
	form, ok := guarded.LessForm(c)
	if !ok {
		return nil, false
	}
	own := ir.Declared(b.body)
	for _, x := range form.Atoms() {
		if own.Has(x.Var) || x.Var != b.row.Var && x.Var != b.column.Var && ir.Assigned(b.body).Has(x.Var) {
			return nil, false
		}
	}
	for _, f := range []*ir.For{b.row, b.column} {
		coef, ok := form.Coef(f.Var)
		if _, isConst := coef.Const(); !ok || !isConst {
			return nil, false
		}
	}
	return []ir.Expr{c}, true
}

// insideTests returns the conditions of b.inside at the corners of a rectangle of rows and columns
// that begins at i and j, without those that other conditions imply.
func (b *block) insideTests(i, j *ir.Var, rows, columns affine.Form) []ir.Expr {
	var all unchecked.Tests
	for _, e := range b.inside {
		form, _ := guarded.LessForm(e.(*ir.Binary))
		if rise, _ := form.Coef(b.row.Var); len(rise.Terms) > 0 && rise.Terms[0].Coef < 0 {
			form = form.Add(rise.Mul(rows.AddConst(-1)))
		}
		if rise, _ := form.Coef(b.column.Var); len(rise.Terms) > 0 && rise.Terms[0].Coef < 0 {
			form = form.Add(rise.Mul(columns.AddConst(-1)))
		}
		all.Need(form.Subst(b.row.Var, affine.OfVar(i)).Subst(b.column.Var, affine.OfVar(j)))
	}
	var out []ir.Expr
	for _, form := range all.Forms {
		out = append(out, analysis.NotNegativeTest(form, b.row.At))
	}
	return out
}

// loadsOnce returns the unroll-and-jammed body of rows and columns from i and j on, some of which
// may be at the boundary, with each load named once.
func (b *block) loadsOnce(t *crews.Crew, body []ir.Stmt, i, j *ir.Var) []ir.Stmt {
	c := guarded.Code{Local: t.Local}
	for _, x := range []struct {
		loop     *ir.For
		first    *ir.Var
		distance int64 // from the first to the last
	}{{b.row, i, b.rows - 1}, {b.column, j, (b.columns - 1) * b.apart()}} {
		first := affine.OfVar(x.first)
		if lo, ok := affine.Of(x.loop.Lo); ok {
			c.Given = append(c.Given, first.Sub(lo))
		}
		if hi, ok := affine.Of(x.loop.Hi); ok {
			c.Given = append(c.Given, hi.Sub(first).AddConst(-1-x.distance))
		}
	}
	return c.Once(body)
}

// A stencil with periodic or clamped boundaries computes the index of a neighbour in every
// iteration by a remainder or a minimum, which has an effect only at the boundary: (i+n-1)%n is i-1
// except for the first i, and min(i+1, n-1) is i+1 except for the last. In the interior these
// indices are sums of induction variables and constants, so the rows and columns of a thread share
// most loads.

// rimWidth is the largest number of boundary iterations at an end of a loop.
const rimWidth = 64

// maxWrapped is the largest size for which twice the size does not overflow an int.
const maxWrapped = 1 << 62

// A wrapping simplifies the body of a block for the iterations in the interior.
type wrapping struct {
	loops []*ir.For
	own   *ir.VarSet // variables that an iteration assigns
	conds []ir.Expr  // conditions of the interior
	gone  int        // number of operations removed
}

// splitWrapped replaces the fast body of b by its version for the interior, and adds the conditions
// of the interior to b.inside.
func (b *block) splitWrapped() {
	x := &wrapping{loops: append(append([]*ir.For{}, b.outer...), b.row, b.column), own: ir.Declared(b.fast)}
	list := (&ir.Rewrite{Expr: x.expr}).CopyStmts(b.fast)
	if x.gone > 0 {
		b.fast, b.inside, b.wrapped = bodies.Propagate(list), x.conds, x.gone
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

// remainder returns v+c for (v+c) % n and (v+n+c) % n, where v is an induction variable whose upper
// bound is n, and e otherwise.
func (x *wrapping) remainder(e *ir.Binary) ir.Expr {
	form, ok := affine.Of(e.X)
	size, okSize := affine.Of(e.Y)
	if !ok || !okSize || !x.fixed(form) || !x.fixed(size) {
		return e
	}
	for _, f := range x.loops {
		rest := form.Sub(affine.OfVar(f.Var))
		lo, okLo := query.Int64(f.Lo)
		hi, okHi := affine.Of(f.Hi)
		spare, isConst := size.Sub(hi).Const()
		if !okLo || lo < 0 || !okHi || !isConst || spare < 0 || spare > rimWidth {
			continue
		}
		c, near := rest.Const()
		if !near || c > rimWidth {
			c, isConst = rest.Sub(size).Const()
			near = false
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

// extreme returns the argument of a minimum or maximum that is its value in the interior, or e.
func (x *wrapping) extreme(e *ir.Math) ir.Expr {
	op := ir.Le
	if e.Fn == ir.IMax {
		op = ir.Ge
	}
	for k := range e.Args {
		if form, ok := affine.Of(e.Args[k]); ok && x.moves(form) && x.needs(build.Compare(op, e.Args[k], e.Args[1-k], e.At)) {
			x.gone++
			return e.Args[k]
		}
	}
	return e
}

// needs reports whether the comparison cond fails at most in rimWidth iterations at the ends of the
// loops: its two sides differ by a constant there. If cond can fail, needs adds it to x.conds.
func (x *wrapping) needs(cond ir.Expr) bool {
	least, ok := guarded.LessForm(cond.(*ir.Binary))
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
		end, known := affine.Of(f.Lo)
		if rise < 0 {
			end, known = affine.Of(f.Hi)
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

// fixed reports whether form has only induction variables and loop-invariant variables.
func (x *wrapping) fixed(form affine.Form) bool {
	return form.Known() && !slices.ContainsFunc(form.Atoms(), func(a affine.Atom) bool { return x.own.Has(a.Var) })
}

// moves reports whether form depends on the induction variable of a loop.
func (x *wrapping) moves(form affine.Form) bool {
	return slices.ContainsFunc(x.loops, func(f *ir.For) bool { return form.Has(f.Var) })
}
