package strategy

import (
	"slices"

	"github.com/gompss/gompss/codegen/internal/analysis"
	"github.com/gompss/gompss/codegen/internal/lower/forms"
	"github.com/gompss/gompss/codegen/ir"
	"github.com/gompss/gompss/codegen/ir/build"
	"github.com/gompss/gompss/codegen/ir/query"
)

// What a block is made of: the body of an iteration without names for what the loops around
// compute, short loops of a known length written out, and the tests of the rim taken out of it.

const (
	outMost  = 16  // iterations of one loop that is written out
	outFlat  = 40  // the same where the loop around is alone, and no more than its body is in a thread
	outWhole = 160 // statements that a body may come to
)

// propagated puts the values of variables that are declared with arithmetic on integers, and never
// change, in their stead.
func propagated(list []ir.Stmt) []ir.Stmt {
	changed, taken := ir.Assigned(list), ir.AddressTaken(list)
	values := map[*ir.Var]ir.Expr{}
	var out []ir.Stmt
	for _, s := range list {
		if len(values) > 0 {
			s = ir.SubstStmts([]ir.Stmt{s}, values)[0]
		}
		d, ok := s.(*ir.Decl)
		if ok && d.Init != nil && d.Var.Type.Kind == ir.Int64 && !changed.Has(d.Var) && !taken.Has(d.Var) && query.LoadFree(d.Init) && isAffine(d.Init) {
			values[d.Var] = d.Init
			continue
		}
		if f, ok := s.(*ir.For); ok {
			c := *f
			c.Body = propagated(query.Flatten(f.Body))
			s = &c
		}
		out = append(out, s)
	}
	return out
}

// merged makes one store of those that both sides of a branch end with: no load of another
// iteration has to wait behind a branch then.
func merged(list []ir.Stmt) []ir.Stmt {
	out := slices.Clone(list)
	for k, s := range out {
		c, ok := s.(*ir.If)
		if !ok || !forms.PlainValue(c.Cond) {
			continue
		}
		x, y := onlyAssign(merged(c.Then)), onlyAssign(merged(c.Else))
		if x != nil && y != nil && query.Same(x.Place, y.Place) {
			out[k] = build.Assign(x.Place, &ir.Select{Cond: c.Cond, X: x.Value, Y: y.Value, At: c.At}, c.At)
		}
	}
	return out
}

// chosen is list with the side that runs in the place of branches of which that is known, as it is
// of those of a loop that is written out.
func chosen(list []ir.Stmt) []ir.Stmt {
	var out []ir.Stmt
	for _, s := range list {
		c, ok := s.(*ir.If)
		value, known := false, false
		if ok {
			value, known = decided(c.Cond)
		}
		switch {
		case !known:
			out = append(out, s)
		case value:
			out = append(out, chosen(query.Flatten(c.Then))...)
		default:
			out = append(out, chosen(query.Flatten(c.Else))...)
		}
	}
	return out
}

// decided returns the value of a condition over integers that is the same in all iterations.
func decided(cond ir.Expr) (value, known bool) {
	c, ok := cond.(*ir.Binary)
	if !ok || c.X.Type().Kind != ir.Int64 {
		return false, false
	}
	x, y := folded(c.X), folded(c.Y)
	a, okX := query.Int64(x)
	b, okY := query.Int64(y)
	if !okX || !okY {
		return false, false
	}
	switch c.Op {
	case ir.Eq:
		return a == b, true
	case ir.Ne:
		return a != b, true
	case ir.Lt:
		return a < b, true
	case ir.Le:
		return a <= b, true
	case ir.Gt:
		return a > b, true
	case ir.Ge:
		return a >= b, true
	}
	return false, false
}

// onlyAssign returns the assignment of a plain scalar that list is, nil where it is another.
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

// writtenOut returns list with short loops of a known length written out, loops in them first.
func (l *Sharer) writtenOut(list []ir.Stmt, most int64) []ir.Stmt {
	var out []ir.Stmt
	for _, s := range chosen(list) {
		f, ok := s.(*ir.For)
		if !ok {
			out = append(out, s)
			continue
		}
		c := *f
		c.Body = l.writtenOut(query.Flatten(f.Body), most)
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
			out = append(out, chosen(l.CopyOf(turn, &l.Kernel.NumVars))...)
		}
	}
	return out
}

// splitInside takes conditions that hold everywhere but at the rim of the space out of the fast
// body: comparisons of forms over the row and the column, without an Else.
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

// rim returns the comparisons that cond joins, where each is of forms over the row, the column and
// what does not change.
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
	form, ok := lessForm(c)
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

// lessForm returns the form that is not negative where a comparison of integers holds.
func lessForm(c *ir.Binary) (analysis.Affine, bool) {
	x, okx := analysis.AffineOf(c.X)
	y, oky := analysis.AffineOf(c.Y)
	if !okx || !oky || c.X.Type().Kind != ir.Int64 {
		return analysis.Affine{}, false
	}
	switch c.Op {
	case ir.Lt:
		return y.Sub(x).AddConst(-1), true
	case ir.Le:
		return y.Sub(x), true
	case ir.Gt:
		return x.Sub(y).AddConst(-1), true
	}
	return x.Sub(y), true
}

// insideTests are the conditions at the first and the last row and column of a thread's block that
// begins at i and j, those that follow from others left out.
func (b *block) insideTests(i, j *ir.Var) []ir.Expr {
	var all tests
	for _, e := range b.inside {
		form, _ := lessForm(e.(*ir.Binary))
		if rise, _ := form.Coef(b.row.Var); len(rise.Terms) > 0 && rise.Terms[0].Coef < 0 {
			form = form.AddConst(rise.Terms[0].Coef * (b.rows - 1))
		}
		if rise, _ := form.Coef(b.column.Var); len(rise.Terms) > 0 && rise.Terms[0].Coef < 0 {
			form = form.AddConst(rise.Terms[0].Coef * (b.columns - 1) * b.apart())
		}
		all.need(form.Subst(b.row.Var, analysis.VarAffine(i)).Subst(b.column.Var, analysis.VarAffine(j)))
	}
	var out []ir.Expr
	for _, form := range all.forms {
		out = append(out, analysis.NotNegativeTest(form, b.row.At))
	}
	return out
}

func isAffine(e ir.Expr) bool {
	_, ok := analysis.AffineOf(e)
	return ok
}

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
