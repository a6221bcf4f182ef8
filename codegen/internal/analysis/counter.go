package analysis

import (
	"math"

	"github.com/gompss/gompss/codegen/internal/analysis/affine"
	"github.com/gompss/gompss/codegen/ir"
	"github.com/gompss/gompss/codegen/ir/query"
)

// A counterFinder recognises general loops of a Collector's code that count.
type counterFinder struct{ of *Collector }

// counted visits a general loop with a variable that is declared directly before the loop and that
// only the end of the loop changes, in one direction: for d := 1; d < n; d *= 2. It returns false
// for other loops.
func (cf counterFinder) counted(before ir.Stmt, w *ir.While) bool {
	d, ok := before.(*ir.Decl)
	if !ok || d.Init == nil || !d.Var.Type.IsInteger() || len(w.Pre) > 0 || len(w.Post) != 1 || !cf.of.Mutable.Has(d.Var) || cf.of.taken.Has(d.Var) {
		return false
	}
	post, ok := w.Post[0].(*ir.Assign)
	if !ok || !ir.IsRef(post.Place, d.Var) || ir.Assigned(w.Body).Has(d.Var) {
		return false
	}
	step, ok := post.Value.(*ir.Binary)
	if !ok || !ir.IsRef(step.X, d.Var) {
		return false
	}
	valueFlow(cf).drop(w)
	cf.of.Sites.counters[d.Var] = true
	defer delete(cf.of.Sites.counters, d.Var)
	l, ok := cf.rangeOfCounter(d, w, step)
	if !ok {
		return false
	}
	cf.of.Loops = append(cf.of.Loops, l)
	cf.of.stmt(w)
	cf.of.Loops = cf.of.Loops[:len(cf.of.Loops)-1]
	return true
}

// rangeOfCounter returns a range that contains all values of the variable of a general loop.
func (cf counterFinder) rangeOfCounter(d *ir.Decl, w *ir.While, step *ir.Binary) (r LoopRange, ok bool) {
	r = LoopRange{For: &ir.For{Var: d.Var, Lo: d.Init, Step: step.Y, At: w.At}, First: cf.of.form(d.Init), By: affine.Form{Unknown: true}, Stride: 1, Known: true}
	_, most := LimitsOf(d.Var.Type)
	n, constant := query.Int64(step.Y)
	up, factor := true, int64(1)
	switch {
	case step.Op == ir.Add && constant && n > 0:
		r.Stride, r.Rel = n, ir.Le
	case (step.Op == ir.Add || step.Op == ir.Sub) && !constant:
		r.By, r.Known, r.Rel = cf.of.form(step.Y), false, ir.Le
		if step.Op == ir.Sub {
			r.By = affine.Form{}.Sub(r.By)
		}
		if _, _, up = cf.boundOfCounter(w.Cond, d.Var, true); !up {
			r.Rel = ir.Ge
		}
	case step.Op == ir.Sub && constant && n > 0:
		r.Stride, r.Rel, up = -n, ir.Ge, false
	case step.Op == ir.Mul && constant && n > 1:
		factor = n
	case step.Op == ir.Shl && constant && n > 0 && n < 62:
		factor = 1 << n
	case (step.Op == ir.Shr || step.Op == ir.Div) && constant && n > 0:
		up, r.Stride, r.Rel = false, -1, ir.Gt
	default:
		return r, false
	}
	var side affine.Form
	if r.Last, side, ok = cf.boundOfCounter(w.Cond, d.Var, up); !ok || !r.First.Known() {
		return r, false
	}
	if !IsAtom(side) {
		if factor > 1 || r.Rel == ir.Gt {
			return r, false
		}
		next := r.Last.AddConst(r.Stride)
		if !r.Known {
			next = r.Last.Add(r.By)
		}
		r.Fits = append(append(r.Fits, small(side.Subst(d.Var, r.First))...), small(side.Subst(d.Var, next))...)
	}
	switch {
	case factor > 1:
		r.Fits = []affine.Form{r.First.AddConst(-1), affine.Constant(most / factor).Sub(r.Last)}
		r.Rel = ir.Lt
	case r.Rel == ir.Gt:
		r.Fits = []affine.Form{r.Last}
	case r.Known && r.Stride == math.MinInt64:
		return r, false
	}
	said, _ := FactsIn(w.Cond, true)
	r.Loose = factor > 1 || r.Rel == ir.Gt || said != 1
	return r, true
}

// small returns forms that are not negative if a is far from the limits of 64 bits.
func small(a affine.Form) []affine.Form {
	const limit = 1 << 62
	return []affine.Form{a.AddConst(limit), affine.Constant(limit).Sub(a)}
}

// boundOfCounter returns the last value of v that cond allows, and the side of the comparison that
// contains v. The comparison is v <= last if v increases, v >= last if it decreases.
func (cf counterFinder) boundOfCounter(cond ir.Expr, v *ir.Var, up bool) (last, side affine.Form, ok bool) {
	for _, f := range cf.of.factsWithSides([]ir.Expr{cond}) {
		side := f.X
		if f.Y.Has(v) {
			side = f.Y
		}
		coef, isAffine := f.Form.Coef(v)
		n, constant := coef.Const()
		switch {
		case !isAffine || !constant || f.X.Has(v) && f.Y.Has(v):
		case up && n == -1:
			return f.Form.Without(v), side, true
		case !up && n == 1:
			return affine.Form{}.Sub(f.Form.Without(v)), side, true
		}
	}
	return last, side, false
}

// freeze makes variables that s does not change, but other statements do, atoms of the forms in s.
// Nothing is known about such an atom except its type. Variables that other threads may change
// meanwhile are excluded. The caller calls undo after s.
func (c *Collector) freeze(s ir.Stmt) (undo func()) {
	if c.Sites == nil {
		return func() {}
	}
	switch s.(type) {
	case *ir.If, *ir.For:
	default:
		return func() {}
	}
	list := []ir.Stmt{s}
	changed := ir.Assigned(list)
	var frozen []*ir.Var
	for _, v := range ir.Used(list).List() {
		_, already := c.Sites.frozen[v]
		if already || !v.Type.IsInteger() || !c.Mutable.Has(v) || c.counts(v) || c.taken.Has(v) || changed.Has(v) || c.sharedChange(v) ||
			len(c.Sites.Order) >= MaxForms {
			continue
		}
		c.Sites.frozen[v] = deriver{c}.anyOf(v.Type)
		frozen = append(frozen, v)
	}
	return func() {
		for _, v := range frozen {
			delete(c.Sites.frozen, v)
		}
	}
}

// sharedChange reports whether several threads may share v and one of them changes it.
func (c *Collector) sharedChange(v *ir.Var) bool {
	if len(c.in) == 0 {
		return false
	}
	inner := c.in[len(c.in)-1]
	return !HasCopy(ir.DirectiveOf(inner), v) && !ir.Declared([]ir.Stmt{inner}).Has(v) && !c.inHelper(v) && ir.Assigned(c.in[:1]).Has(v)
}

// inHelper reports whether v is a variable of a function that the kernel calls. Each call has its
// own instance.
func (c *Collector) inHelper(v *ir.Var) bool { return c.helpers.Has(v) }

// FactsIn returns the number of facts that are equivalent to e if holds is true, to its negation
// otherwise. ok is false if no facts are.
func FactsIn(e ir.Expr, holds bool) (n int, ok bool) {
	switch e := e.(type) {
	case *ir.Unary:
		if e.Op == ir.Not {
			return FactsIn(e.X, !holds)
		}
	case *ir.Binary:
		if e.Op == ir.LAnd && holds || e.Op == ir.LOr && !holds {
			x, ok1 := FactsIn(e.X, holds)
			y, ok2 := FactsIn(e.Y, holds)
			return x + y, ok1 && ok2
		}
		op := e.Op
		if !holds {
			op = negated(op)
		}
		n = len(factsOf(op, affine.Form{}, affine.Form{}))
	}
	return n, n > 0
}
