package check

import (
	"fmt"
	"slices"

	"github.com/gompss/gompss/codegen/internal/analysis"
	"github.com/gompss/gompss/codegen/internal/analysis/affine"
	"github.com/gompss/gompss/codegen/internal/diag"
	"github.com/gompss/gompss/codegen/internal/integers"
	"github.com/gompss/gompss/codegen/ir"
	"github.com/gompss/gompss/codegen/ir/query"
)

// This file checks the statements that follow a construct with nowait, up to the next barrier of
// its parallel region: some threads execute them while others are still in the construct. Two loops
// with the same static schedule assign equal iteration numbers to the same threads (OpenMP 5.2,
// section 11.5.3). Any other two accesses to one element, at least one of them a write, conflict;
// the conflict is certain if the iteration numbers are known to differ.

// nowait checks construct s and the statements that threads may reach after it without a barrier.
func (c *Check) nowait(k *ir.Kernel, s ir.Stmt, rest []analysis.FollowUp, around []ir.Stmt) {
	own := regionOwn(around)
	first := analysis.DistinctReaches(collectAlone(k, s))
	for _, f := range rest {
		if f.Stmt == s && ir.DirectiveOf(s).Parts&ir.Workshare != 0 && analysis.DealtInOrder(ir.DirectiveOf(s)) && len(changesOf(f.Again).List()) == 0 {
			continue
		}
		found := map[*ir.Var]bool{}
		second := analysis.DistinctReaches(collectAlone(k, f.Stmt))
		for _, certain := range []bool{true, false} {
			for i := range first {
				for j := range second {
					w, r := &first[i], &second[j]
					if !mayClash(w, r, own) || found[w.Base] {
						continue
					}
					if how := c.clash(k, s, f, w, r, around); how == analysis.ClashCertain || how == analysis.ClashPossible && !certain {
						found[w.Base] = true
						c.clashFound(s, w, r, how)
					}
				}
			}
		}
	}
}

// collectAlone returns the memory references of s.
func collectAlone(k *ir.Kernel, s ir.Stmt) []analysis.Reach {
	c := analysis.NewCollector(k)
	c.Define(k.Body)
	c.Stmts([]ir.Stmt{s})
	return c.Out
}

// regionOwn returns the variables that are private to each thread of the innermost parallel region
// in around.
func regionOwn(around []ir.Stmt) *ir.VarSet {
	for i := len(around) - 1; i >= 0; i-- {
		if ir.DirectiveOf(around[i]).Parts&ir.Parallel != 0 {
			worker := &ir.For{Directive: &ir.Directive{Parts: ir.Workshare}}
			return threadOwn(worker, around[i:i+1])
		}
	}
	return &ir.VarSet{}
}

// mayClash reports whether a and b refer to memory that threads share, and one of them writes it.
func mayClash(a, b *analysis.Reach, own *ir.VarSet) bool {
	return a.Base != nil && a.Base == b.Base && (a.Write || b.Write) && !(a.Atomic && b.Atomic) && !own.Has(a.Base) && a.Base.Name != query.BadName &&
		!query.HasBadValue(a.Expr) && !query.HasBadValue(b.Expr) && !otherField(a.Expr, b.Expr) && !a.CopiedHere() && !b.CopiedHere()
}

// clash decides whether reference w of construct s conflicts with r of f.
func (c *Check) clash(k *ir.Kernel, s ir.Stmt, f analysis.FollowUp, w, r *analysis.Reach, around []ir.Stmt) analysis.ClashKind {
	a, b := analysis.SharerOf(w), analysis.SharerOf(r)
	kind := analysis.ClashKind(analysis.ClashPossible)
	if c.sound && f.Sure && w.Happens() && r.Happens() && (b == f.Stmt || b == nil) &&
		!slices.ContainsFunc(around, func(s ir.Stmt) bool { return mayRunAlone(ir.DirectiveOf(s)) }) {
		kind = analysis.ClashCertain
	}
	if !w.Index.Known() || !r.Index.Known() || variesBetween(w, f, a, b) || variesBetween(r, f, a, b) {
		return analysis.ClashPossible
	}
	if len(w.Inside) == 1 && len(r.Inside) == 1 {
		if gap, known := w.Inside[0].Sub(r.Inside[0]).Const(); known && gap != 0 {
			return analysis.ClashNever
		}
	}
	x, y := analysis.LoopOf(a), analysis.LoopOf(b)
	index := alignedIndex(w, r, x, y)
	p, ok1 := numberedIndex(w.Index, w.Loops, x)
	q, ok2 := numberedIndex(index, r.Loops, y)
	if !ok1 || !ok2 {
		return analysis.ClashPossible
	}
	gap := q.base.Sub(p.base) // the rest depends on no inner loop variable, or on loops with equal ranges
	if strange(gap, w, x) || strange(gap, r, y) {
		return analysis.ClashPossible
	}
	if n, known := gap.Const(); known && n != 0 && p.per.Equal(affine.Form{}) && q.per.Equal(affine.Form{}) {
		return analysis.ClashNever
	}
	switch {
	case x != nil && y != nil && p.per.Equal(q.per) && !p.per.Equal(affine.Form{}):
		return alikeClash(kind, x, y, w, r, p.per, gap)
	case p.per.Equal(affine.Form{}) && q.per.Equal(affine.Form{}):
		if n, known := gap.Const(); !known || n != 0 || !manyThreads(b) && !manyThreads(a) || a == b {
			return analysis.ClashPossible
		}
		return kind
	case q.per.Equal(affine.Form{}) && manyThreads(b):
		return onOneElement(kind, x, w, p.per, gap)
	case p.per.Equal(affine.Form{}) && manyThreads(a):
		return onOneElement(kind, y, r, q.per, gap.Mul(affine.Constant(-1)))
	}
	return analysis.ClashPossible
}

// manyThreads reports whether several threads execute s: it is neither single nor masked.
func manyThreads(s ir.Stmt) bool { return s == nil || analysis.LoopOf(s) != nil }

// changesOf returns the variables that have other values in the next iteration of loops.
func changesOf(loops []ir.Stmt) *ir.VarSet {
	out := ir.Declared(loops)
	for _, v := range ir.Assigned(loops).List() {
		out.Add(v)
	}
	for _, s := range loops {
		if l, ok := s.(*ir.For); ok {
			out.Add(l.Var)
		}
	}
	return out
}

// variesBetween reports whether the index of r contains a variable that may change between the
// construct and f: a local variable of an iteration, or one that the sequential loop changes.
func variesBetween(r *analysis.Reach, f analysis.FollowUp, a, b ir.Stmt) bool {
	varies := changesOf(f.Again)
	for _, s := range []ir.Stmt{a, b} {
		if s != nil {
			for _, v := range ir.Declared([]ir.Stmt{s}).List() {
				varies.Add(v)
			}
		}
	}
	for _, v := range ir.Assigned([]ir.Stmt{f.Stmt}).List() {
		varies.Add(v)
	}
	return slices.ContainsFunc(r.Index.Atoms(), func(x affine.Atom) bool {
		return varies.Has(x.Var) && !slices.ContainsFunc(r.Loops, func(l analysis.LoopRange) bool { return l.Var == x.Var && !slices.Contains(f.Again, ir.Stmt(l.For)) })
	})
}

// alignedIndex returns the index of r with the variables of loops inside y replaced by those of w's
// loops inside x with the same range.
func alignedIndex(w, r *analysis.Reach, x, y *ir.For) affine.Form {
	index := r.Index
	inW, inR := insideOf(w, x), insideOf(r, y)
	var renamed []int
	for i := range min(len(inW), len(inR)) {
		a, b := inW[i], inR[i]
		lo, hi := b.First, b.Last
		for _, j := range renamed {
			lo, hi = lo.Subst(inR[j].Var, affine.OfVar(inW[j].Var)), hi.Subst(inR[j].Var, affine.OfVar(inW[j].Var))
		}
		if x != nil && y != nil && (lo.Has(y.Var) || a.First.Has(x.Var) || hi.Has(y.Var) || a.Last.Has(x.Var)) {
			continue
		}
		if a.Known && b.Known && a.Stride == b.Stride && a.First.Equal(lo) && a.Last.Equal(hi) {
			renamed = append(renamed, i)
			index = index.Subst(b.Var, affine.OfVar(a.Var))
		}
	}
	return index
}

// insideOf returns the loops around r that are inside l.
func insideOf(r *analysis.Reach, l *ir.For) []analysis.LoopRange {
	i := slices.IndexFunc(r.Loops, func(x analysis.LoopRange) bool { return x.For == l })
	return r.Loops[i+1:]
}

// A numbered is an index of the form base + per*n, where n is the iteration number.
type numbered struct{ base, per affine.Form }

// numberedIndex splits an index by the iteration number of l. l may be nil.
func numberedIndex(index affine.Form, loops []analysis.LoopRange, l *ir.For) (numbered, bool) {
	if l == nil {
		return numbered{base: index}, index.Known()
	}
	i := slices.IndexFunc(loops, func(x analysis.LoopRange) bool { return x.For == l })
	coef, ok := index.Coef(l.Var)
	if !ok || i < 0 || !loops[i].Known || !loops[i].First.Known() {
		return numbered{}, false
	}
	n := numbered{base: index.Without(l.Var).Add(coef.Mul(loops[i].First)), per: coef.Mul(affine.Constant(loops[i].Stride))}
	return n, n.base.Known() && n.per.Known()
}

// strange reports whether a contains the variable of a loop around r inside l.
func strange(a affine.Form, r *analysis.Reach, l *ir.For) bool {
	return !a.Known() || slices.ContainsFunc(insideOf(r, l), func(x analysis.LoopRange) bool { return a.Has(x.Var) })
}

// alikeClash decides about accesses of two loops whose index changes by the same amount per
// iteration.
func alikeClash(kind analysis.ClashKind, x, y *ir.For, w, r *analysis.Reach, per, gap affine.Form) analysis.ClashKind {
	distance, known := timesOf(gap, per)
	if n, fixed := gap.Const(); fixed && !known {
		if step, fixed := per.Const(); fixed && n%step != 0 {
			if len(insideOf(w, x))+len(insideOf(r, y)) == 0 {
				return analysis.ClashNever
			}
			return analysis.ClashPossible
		}
		if within(n, w, r, x, y) {
			return analysis.SameIteration(x, y, w, r)
		}
	}
	switch {
	case !known:
		return analysis.ClashPossible
	case distance == 0:
		return analysis.SameIteration(x, y, w, r)
	}
	for _, of := range []*analysis.Reach{w, r} {
		if trips, ok := analysis.ConstTrips(sharerLoop(of)); ok && trips <= int64(integers.Magnitude(distance)) {
			return analysis.ClashNever
		} else if !ok && integers.Magnitude(distance) > 1 {
			return analysis.ClashPossible
		}
	}
	if !runs(&nestLoop{For: x}, w.Loops) || !runs(&nestLoop{For: y}, r.Loops) || x.Directive.Collapse > 1 || y.Directive.Collapse > 1 {
		return analysis.ClashPossible
	}
	return kind
}

func sharerLoop(r *analysis.Reach) *ir.For { return analysis.LoopOf(analysis.SharerOf(r)) }

// within reports whether a gap of n elements is inside the range of the inner loops, as between
// neighbours in a row. The access is then assumed to stay in the row.
func within(n int64, w, r *analysis.Reach, x, y *ir.For) bool {
	a, b := insideOf(w, x), insideOf(r, y)
	for i := range min(len(a), len(b)) {
		cw, ok1 := w.Index.Coef(a[i].Var)
		cr, ok2 := r.Index.Coef(b[i].Var)
		if step, known := cw.Const(); ok1 && ok2 && known && step != 0 && cw.Equal(cr) && n%step == 0 {
			return true
		}
	}
	return false
}

// timesOf returns n such that a = n*b.
func timesOf(a, b affine.Form) (n int64, ok bool) {
	if a.Equal(affine.Form{}) {
		return 0, true
	}
	x, ok1 := a.Const()
	y, ok2 := b.Const()
	if ok1 && ok2 && y != 0 {
		return x / y, x%y == 0
	}
	for _, n := range []int64{1, -1, 2, -2} {
		if a.Equal(b.Mul(affine.Constant(n))) {
			return n, true
		}
	}
	return 0, false
}

// onOneElement decides about an access to one element by several threads or iterations, and access
// r of loop l at base + per*n; gap is their difference.
func onOneElement(kind analysis.ClashKind, l *ir.For, r *analysis.Reach, per, gap affine.Form) analysis.ClashKind {
	n, known := timesOf(gap, per)
	if step, ok := per.Const(); l == nil || !known {
		if at, fixed := gap.Const(); ok && fixed && step != 0 && at%step != 0 {
			return analysis.ClashNever
		}
		return analysis.ClashPossible
	}
	trips, ok := analysis.ConstTrips(l)
	switch {
	case n < 0 || ok && n >= trips:
		return analysis.ClashNever
	case !ok && n > 1 || !runs(&nestLoop{For: l}, r.Loops):
		return analysis.ClashPossible
	}
	return kind
}

func (c *Check) clashFound(s ir.Stmt, w, r *analysis.Reach, how analysis.ClashKind) {
	verb, done := "read of ", "writes"
	if r.Write {
		verb = "write to "
	}
	if !w.Write {
		done = "reads"
	}
	could := "another thread may touch the same element there"
	if how == analysis.ClashCertain {
		could = "another thread touches the same element there"
	}
	d := ir.DirectiveOf(s)
	why := fmt.Sprintf("directive %s at %v has nowait and %s %s at %v: %s, and need not be done yet", d.Parts, d.At, done, query.Source(w.Expr), w.At, could)
	instead := "leave nowait out, or write kernel.Barrier() in between"
	if how == analysis.ClashCertain {
		c.fail(r.At, verb+query.Source(r.Expr), why, instead)
		return
	}
	c.warnOf(w.Base, diag.Warning, r.At, verb+query.Source(r.Expr), why, instead)
}
