package analysis

import (
	"math"
	"slices"

	"github.com/gompss/gompss/codegen/internal/analysis/affine"
	"github.com/gompss/gompss/codegen/ir"
	"github.com/gompss/gompss/codegen/ir/build"
	"github.com/gompss/gompss/codegen/ir/query"
)

// CollectStmt returns the memory references of the statements inside s.
func CollectStmt(k *ir.Kernel, s ir.Stmt) []Reach {
	c := NewCollector(k)
	c.Define(k.Body)
	ir.Lists(s, c.Stmts)
	return c.Out
}

// Shared reports whether a loop around r, inside outer, distributes its iterations to the teams.
func (r *Reach) Shared(outer ir.Stmt) bool {
	return slices.ContainsFunc(r.In, func(s ir.Stmt) bool {
		d := ir.DirectiveOf(s)
		return s != outer && (d.Parts&ir.Distribute != 0 || d.Parts&ir.Loop != 0 && d.Bind != ir.BindThread && d.Parts&ir.Parallel == 0)
	})
}

// HasCopy reports whether each iteration, team or thread of d has a private copy of v, or v is a
// reduction variable of d.
func HasCopy(d *ir.Directive, v *ir.Var) bool {
	if d == nil {
		return false
	}
	for _, r := range d.Reductions {
		if query.PlaceVar(r.Place) == v || r.Index != nil && query.PlaceVar(r.Index) == v {
			return true
		}
	}
	for _, a := range d.DistArrays {
		if a.Var == v {
			return true
		}
	}
	return privateAgain(d, v)
}

// NestOf returns l and the inner loops that it is collapsed with. Declarations of plain values may
// stand between them.
func NestOf(l *ir.For) []*ir.For {
	nest := []*ir.For{l}
	for n := 1; n < l.Directive.Collapse; n++ {
		_, inner := query.Perfect(query.Flatten(nest[n-1].Body))
		if inner == nil {
			break
		}
		nest = append(nest, inner)
	}
	return nest
}

// Fixed reports whether the indices of r contain only variables of nest and variables that are
// declared outside the loop. A local variable of the body, or of a function that it calls, may
// differ between iterations.
func (r *Reach) Fixed(inside *ir.VarSet, nest []*ir.For) bool {
	for _, index := range r.Indices() {
		for _, a := range index.Atoms() {
			loop := slices.ContainsFunc(nest, func(l *ir.For) bool { return l.Var == a.Var }) ||
				slices.ContainsFunc(r.Loops, func(l LoopRange) bool { return l.Var == a.Var })
			if !loop && (inside.Has(a.Var) || IsInstance(a.Var)) {
				return false
			}
		}
	}
	return true
}

// Guarded reports whether a condition or construct around r selects some iterations or threads, so
// that the others do not execute r.
func (r *Reach) Guarded(nest []*ir.For) bool {
	if slices.ContainsFunc(r.Conds, func(cond ir.Expr) bool { return singlesOut(cond, nest, true) }) {
		return true
	}
	return slices.ContainsFunc(r.In, func(s ir.Stmt) bool { return ir.DirectiveOf(s).Parts&(ir.Single|ir.Masked) != 0 })
}

// singlesOut reports whether cond, if it has the value holds, selects one iteration of a loop of
// nest, or a thread.
func singlesOut(cond ir.Expr, nest []*ir.For, holds bool) bool {
	equal := ir.Eq
	if !holds {
		equal = ir.Ne
	}
	switch e := cond.(type) {
	case *ir.Query:
		return true
	case *ir.Unary:
		return singlesOut(e.X, nest, holds != (e.Op == ir.Not))
	case *ir.Binary:
		if e.Op == equal && slices.ContainsFunc(nest, func(l *ir.For) bool { return ir.ExprVars(e).Has(l.Var) }) {
			return true
		}
	}
	if cond == nil {
		return false
	}
	found := false
	ir.Operands(cond, func(x ir.Expr) { found = found || singlesOut(x, nest, holds) })
	return found
}

// CopiedIn reports whether l, or a construct inside l around r, makes private copies of r.Base.
func (r *Reach) CopiedIn(l *ir.For) bool {
	return r.CopiedBy(l.Directive) || slices.ContainsFunc(r.In, func(s ir.Stmt) bool { return r.CopiedBy(ir.DirectiveOf(s)) })
}

// CopiedBy reports whether d makes private copies of r.Base, or of the variable that r names: the
// place of a reduction may be a pointer to r.Base.
func (r *Reach) CopiedBy(d *ir.Directive) bool {
	return HasCopy(d, r.Base) || r.Expr != nil && HasCopy(d, query.BaseVar(r.Expr))
}

// Indices returns the index of the element and the indices inside the element.
func (r *Reach) Indices() []affine.Form { return append([]affine.Form{r.Index}, r.Inside...) }

// Uses reports whether v occurs in an index of r.
func (r *Reach) Uses(v *ir.Var) bool {
	return slices.ContainsFunc(r.Indices(), func(a affine.Form) bool { return a.Has(v) })
}

// ConstTrips returns the number of iterations of l if its bounds are constant and the number fits
// an int64.
func ConstTrips(l *ir.For) (int64, bool) {
	lo, ok1 := query.Int64(l.Lo)
	hi, ok2 := query.Int64(l.Hi)
	step, ok3 := query.Int64(l.Step)
	if !ok1 || !ok2 || !ok3 || step == 0 || step == math.MinInt64 {
		return 0, false
	}
	up := l.Rel == ir.Lt || l.Rel == ir.Le
	if !up && l.Rel != ir.Gt && l.Rel != ir.Ge || up != (step > 0) {
		return 0, false
	}
	if runs, _ := build.ConstHolds(l.Rel, l.Var.Type, l.Lo, l.Hi); !runs {
		return 0, true
	}
	from, to := uint64(lo), uint64(hi)
	if !up {
		from, to, step = to, from, -step
	}
	width := to - from // of the numbers in order it is their distance
	if l.Rel == ir.Lt || l.Rel == ir.Gt {
		width--
	}
	n := width/uint64(step) + 1
	return int64(n), n-1 < math.MaxInt64
}

// Anywhere returns r as a reference to an unknown element of base.
func (r Reach) Anywhere(base *ir.Var) Reach {
	return Reach{Base: base, Index: affine.Form{Unknown: true}, Write: r.Write, Atomic: r.Atomic, Loops: r.Loops, In: r.In, Phase: r.Phase}
}

// A DistPart is the use of one array by a dist_ clause: each iteration of the innermost of Loops
// owns a part of the array.
type DistPart struct {
	ir.DistArray
	Loops  []LoopRange // outermost first
	Conds  []ir.Expr   // the conditions of the enclosing Ifs
	Always bool        // if Conds hold, every iteration of the enclosing loops reaches the clause
}

// distParts records the arrays of the dist_ clauses of s, the innermost of the enclosing loops.
func (c *Collector) distParts(s *ir.For) {
	if s.Directive == nil {
		return
	}
	for _, a := range s.Directive.DistArrays {
		c.Parts = append(c.Parts, DistPart{DistArray: a, Loops: slices.Clone(c.Loops), Conds: slices.Clone(c.branches.conds), Always: !c.jumps})
	}
}

// Knows reports whether a is not negative whenever r is executed. The proof uses the enclosing
// loops and conditions.
func (r *Reach) Knows(a affine.Form, params []*ir.Var) bool {
	if s, ok := SpanOf(a, r.Loops, params); ok && AtLeast(s.Lo, 0) {
		return true
	}
	return slices.ContainsFunc(r.Facts, func(f Fact) bool { return AtLeast(a.Sub(f.Form), 0) })
}

// BeforeAll reports whether read r, which precedes the writes among later in the program, is
// executed before each of them. sure is true if r is certainly executed; early is true if it is
// executed before them or not at all. In a loop around both, an earlier iteration may have written
// the element, so the read must be in the first iteration.
func (r *Reach) BeforeAll(later []Reach) (early, sure bool) {
	common := 0
	for _, w := range later {
		if w.Write {
			common = max(common, CommonLoops(r.Loops, w.Loops))
		}
	}
	return common == 0 || r.Is(Always) && r.inFirst(common), r.Is(Always) && r.inFirst(common)
}

// inFirst reports whether the first iteration of the outermost n loops executes r, provided that
// the loops inside them are not always empty: the bounds of these must not depend on the n loops.
func (r *Reach) inFirst(n int) bool {
	for _, l := range r.Loops[n:] {
		if trips, ok := ConstTrips(l.For); ok && trips == 0 || n > 0 && !l.Known {
			return false
		}
		for _, outer := range r.Loops[:n] {
			if l.First.Has(outer.Var) || l.Last.Has(outer.Var) {
				return false
			}
		}
	}
	return true
}

// Moves reports whether the index of r depends on every enclosing loop that may be empty. Then the
// span of r is empty if such a loop has no iteration.
func (r *Reach) Moves() bool {
	return !slices.ContainsFunc(r.Loops, func(l LoopRange) bool {
		n, ok := ConstTrips(l.For)
		return !r.Index.Has(l.Var) && (!ok || n == 0)
	})
}

// AtLeast reports whether a is a constant of at least n.
func AtLeast(a affine.Form, n int64) bool {
	c, ok := a.Const()
	return ok && c >= n
}

// CommonLoops returns the number of outermost loops that a and b have in common.
func CommonLoops(a, b []LoopRange) int {
	n := 0
	for n < len(a) && n < len(b) && a[n].For == b[n].For {
		n++
	}
	return n
}

// CopiedHere reports whether r accesses memory that is private to a thread or iteration of a
// construct around r.
func (r *Reach) CopiedHere() bool {
	if slices.ContainsFunc(r.In, func(s ir.Stmt) bool { return r.CopiedBy(ir.DirectiveOf(s)) }) {
		return true
	}
	inside := ir.Declared(r.In)
	for _, l := range r.Loops {
		inside.Add(l.Var)
	}
	return inside.Has(r.Base)
}

// Decided reports whether r is executed if and only if its facts hold.
func (r *Reach) Decided() bool {
	all, n := r.Is(Sure), len(r.Facts)
	for _, c := range r.Conds {
		said, ok := FactsIn(c, true)
		n, all = n-said, all && ok
	}
	return all && n == 0
}

// Happens reports whether every iteration of the enclosing loops executes r, and r accesses a whole
// element.
func (r *Reach) Happens() bool {
	return r.Is(Always) && len(r.Conds) == 0 && PlainPlace(r.Expr) && len(r.Inside) == 0
}

// PlainPlace reports whether e is a whole element or a field of one, and not an element of an array
// inside it.
func PlainPlace(e ir.Expr) bool {
	if m, ok := e.(*ir.Member); ok {
		return PlainPlace(m.X)
	}
	return wholeElement(e)
}
