package codegen

import "github.com/gompss/gompss/codegen/ir"

// A loopRange is a loop and the values that its variable takes: from first to last by step, downwards where step is
// negative; not known where a bound has no form.
type loopRange struct {
	*ir.For
	first, last Affine
	step        int64
	known       bool
	by          Affine   // the step where it is not a constant
	loose       bool     // the variable may take fewer values
	fits        []Affine // what must not be negative besides for the variable to stay between first and last
}

func (c *collector) rangeOf(l *ir.For) loopRange {
	r := loopRange{For: l, first: c.form(l.Lo), last: c.form(l.Hi), by: Affine{unknown: true}}
	step, constant := constInt(l.Step)
	if !constant {
		r.by = c.form(l.Step)
		return r
	}
	switch {
	case l.Rel == ir.Lt && step > 0, l.Rel == ir.Ne && step == 1:
		r.last = r.last.AddConst(-1)
	case l.Rel == ir.Le && step > 0, l.Rel == ir.Ge && step < 0:
	case l.Rel == ir.Gt && step < 0, l.Rel == ir.Ne && step == -1:
		r.last = r.last.AddConst(1)
	default:
		constant = false
	}
	r.step, r.known = step, constant && r.first.Known() && r.last.Known()
	return r
}

// ends returns the smallest and the largest value of the variable.
func (r loopRange) ends() (lo, hi Affine) {
	if r.step < 0 {
		return r.last, r.first
	}
	return r.first, r.last
}

// extremes returns the smallest and largest value of a over the loops, outermost first; known is false where a
// coefficient has no known sign or a bound no form.
func extremes(a Affine, loops []loopRange) (lo, hi Affine, known bool) {
	lo, hi = a, a
	for i := len(loops) - 1; i >= 0; i-- {
		v := loops[i].Var
		if !lo.Has(v) && !hi.Has(v) {
			continue
		}
		if !loops[i].known {
			return lo, hi, false
		}
		first, last := loops[i].ends()
		var ok1, ok2 bool
		lo, ok1 = atExtreme(lo, v, first, last)
		hi, ok2 = atExtreme(hi, v, last, first)
		if !ok1 || !ok2 {
			return lo, hi, false
		}
	}
	return lo, hi, lo.Known() && hi.Known()
}

// atExtreme puts v at up where its coefficient is positive, at down where it is negative.
func atExtreme(a Affine, v *ir.Var, up, down Affine) (Affine, bool) {
	coef, ok := a.Coef(v)
	c, constant := coef.Const()
	switch {
	case !ok || !constant:
		return a, false
	case c < 0:
		return a.Subst(v, down), true
	}
	return a.Subst(v, up), true
}
