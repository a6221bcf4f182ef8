package codegen

import (
	"math"

	"github.com/gompss/gompss/codegen/ir"
)

// counted goes into a general loop whose variable, declared right before it, only its end changes, in one direction: for d := 1; d < n; d *= 2.
// It returns false for others.
func (c *collector) counted(before ir.Stmt, w *ir.While) bool {
	d, ok := before.(*ir.Decl)
	if !ok || d.Init == nil || !d.Var.Type.IsInteger() || len(w.Pre) > 0 || len(w.Post) != 1 || !c.mutable.Has(d.Var) || c.taken.Has(d.Var) {
		return false
	}
	post, ok := w.Post[0].(*ir.Assign)
	if !ok || !isVar(post.Place, d.Var) || ir.Assigned(w.Body).Has(d.Var) {
		return false
	}
	step, ok := post.Value.(*ir.Binary)
	if !ok || !isVar(step.X, d.Var) {
		return false
	}
	c.sites.counters[d.Var] = true
	defer delete(c.sites.counters, d.Var)
	l, ok := c.rangeOfCounter(d, w, step)
	if !ok {
		return false
	}
	c.loops = append(c.loops, l)
	c.stmt(w)
	c.loops = c.loops[:len(c.loops)-1]
	return true
}

// rangeOfCounter returns the values of the variable of a general loop, or more.
func (c *collector) rangeOfCounter(d *ir.Decl, w *ir.While, step *ir.Binary) (r loopRange, ok bool) {
	r = loopRange{For: &ir.For{Var: d.Var, Lo: d.Init, Step: step.Y, At: w.At}, first: c.form(d.Init), by: Affine{unknown: true}, step: 1, known: true}
	_, most := limitsOf(d.Var.Type)
	n, constant := constInt(step.Y)
	up, factor := true, int64(1)
	switch {
	case step.Op == ir.Add && constant && n > 0:
		r.step, r.Rel = n, ir.Le
	case step.Op == ir.Add && !constant:
		r.by, r.known, r.Rel = c.form(step.Y), false, ir.Le
	case step.Op == ir.Sub && constant && n > 0:
		r.step, r.Rel, up = -n, ir.Ge, false
	case step.Op == ir.Mul && constant && n > 1:
		factor = n
	case step.Op == ir.Shl && constant && n > 0 && n < 62:
		factor = 1 << n
	case (step.Op == ir.Shr || step.Op == ir.Div) && constant && n > 0:
		up, r.step, r.Rel = false, -1, ir.Gt
	default:
		return r, false
	}
	var side Affine
	if r.last, side, ok = c.boundOfCounter(w.Cond, d.Var, up); !ok || !r.first.Known() {
		return r, false
	}
	if !isAtom(side) {
		if factor > 1 || r.Rel == ir.Gt {
			return r, false
		}
		next := r.last.AddConst(r.step)
		if !r.known {
			next = r.last.Add(r.by)
		}
		r.fits = append(append(r.fits, small(side.Subst(d.Var, r.first))...), small(side.Subst(d.Var, next))...)
	}
	switch {
	case factor > 1:
		r.fits = []Affine{r.first.AddConst(-1), constAffine(most / factor).Sub(r.last)}
		r.Rel = ir.Lt
	case r.Rel == ir.Gt:
		r.fits = []Affine{r.last}
	case r.known && r.step == math.MinInt64:
		return r, false
	}
	said, _ := factsIn(w.Cond, true)
	r.loose = factor > 1 || r.Rel == ir.Gt || said != 1
	return r, true
}

// small returns forms that are not negative where a stays far from the ends of 64 bits.
func small(a Affine) []Affine {
	const limit = 1 << 62
	return []Affine{a.AddConst(limit), constAffine(limit).Sub(a)}
}

// boundOfCounter returns the last value of v that cond allows: v <= last where it goes up, v >= last where it goes down; and the side of the
// comparison that holds v.
func (c *collector) boundOfCounter(cond ir.Expr, v *ir.Var, up bool) (last, side Affine, ok bool) {
	for _, f := range c.factsWithSides([]ir.Expr{cond}) {
		side := f.x
		if f.y.Has(v) {
			side = f.y
		}
		coef, affine := f.form.Coef(v)
		n, constant := coef.Const()
		switch {
		case !affine || !constant || f.x.Has(v) && f.y.Has(v):
		case up && n == -1:
			return f.form.Without(v), side, true
		case !up && n == 1:
			return Affine{}.Sub(f.form.Without(v)), side, true
		}
	}
	return last, side, false
}

// freeze lets variables that change elsewhere, and not in s, be forms in s: each is a number of its type that nothing more is known of. Variables
// that other threads may change meanwhile are left out. The caller calls undo behind s.
func (c *collector) freeze(s ir.Stmt) (undo func()) {
	if c.sites == nil {
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
		_, already := c.sites.frozen[v]
		if already || !v.Type.IsInteger() || !c.mutable.Has(v) || c.counts(v) || c.taken.Has(v) || changed.Has(v) || c.sharedChange(v) ||
			len(c.sites.order) >= maxForms {
			continue
		}
		lo, hi := limitsOf(v.Type)
		c.sites.frozen[v] = varAffine(c.newDerivation(derivedAny, constAffine(lo), constAffine(hi), v.Type).v)
		frozen = append(frozen, v)
	}
	return func() {
		for _, v := range frozen {
			delete(c.sites.frozen, v)
		}
	}
}

// sharedChange reports whether v may be shared by threads, one of which changes it.
func (c *collector) sharedChange(v *ir.Var) bool {
	if len(c.in) == 0 {
		return false
	}
	inner := c.in[len(c.in)-1]
	return !ir.Declared([]ir.Stmt{inner}).Has(v) && !c.inHelper(v) && ir.Assigned(c.in[:1]).Has(v)
}

// inHelper reports whether v is a variable of a function that the kernel calls: each call has its own.
func (c *collector) inHelper(v *ir.Var) bool { return c.helpers.Has(v) }
