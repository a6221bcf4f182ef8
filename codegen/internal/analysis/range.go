package analysis

import (
	"github.com/gompss/gompss/codegen/internal/analysis/affine"
	"github.com/gompss/gompss/codegen/ir"
	"github.com/gompss/gompss/codegen/ir/query"
)

// A LoopRange is a loop and the values of its variable: from First to Last by Stride, downwards if
// Stride is negative. Known is false if a bound is not affine.
type LoopRange struct {
	*ir.For
	First, Last affine.Form
	Stride      int64
	Known       bool
	By          affine.Form   // the step, if it is not a constant
	Loose       bool          // the variable may take fewer values
	Fits        []affine.Form // further forms that must not be negative for the variable to be between First and Last
}

// RangeOf returns the range of l as forms.
func (c *Collector) RangeOf(l *ir.For) LoopRange {
	r := LoopRange{For: l, First: c.form(l.Lo), Last: c.form(l.Hi), By: affine.Form{Unknown: true}}
	step, constant := query.Int64(l.Step)
	if !constant {
		r.By = c.form(l.Step)
		return r
	}
	switch {
	case l.Rel == ir.Lt && step > 0, l.Rel == ir.Ne && step == 1:
		r.Last = r.Last.AddConst(-1)
	case l.Rel == ir.Le && step > 0, l.Rel == ir.Ge && step < 0:
	case l.Rel == ir.Gt && step < 0, l.Rel == ir.Ne && step == -1:
		r.Last = r.Last.AddConst(1)
	default:
		constant = false
	}
	r.Stride, r.Known = step, constant && r.First.Known() && r.Last.Known()
	return r
}

// Ends returns the smallest and the largest value of the variable.
func (r LoopRange) Ends() (lo, hi affine.Form) {
	if r.Stride < 0 {
		return r.Last, r.First
	}
	return r.First, r.Last
}

// extremes returns the smallest and largest value of a over loops, outermost first. known is false
// if the sign of a coefficient or the form of a bound is unknown.
func extremes(a affine.Form, loops []LoopRange) (lo, hi affine.Form, known bool) {
	lo, hi = a, a
	for i := len(loops) - 1; i >= 0; i-- {
		v := loops[i].Var
		if !lo.Has(v) && !hi.Has(v) {
			continue
		}
		if !loops[i].Known {
			return lo, hi, false
		}
		first, last := loops[i].Ends()
		var ok1, ok2 bool
		lo, ok1 = atExtreme(lo, v, first, last)
		hi, ok2 = atExtreme(hi, v, last, first)
		if !ok1 || !ok2 {
			return lo, hi, false
		}
	}
	return lo, hi, lo.Known() && hi.Known()
}

// atExtreme replaces v in a by up if its coefficient is positive, by down if it is negative.
func atExtreme(a affine.Form, v *ir.Var, up, down affine.Form) (affine.Form, bool) {
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

// Past returns the difference between the last value that the bound of a loop allows and the bound
// itself. ok is false if the step is unknown or leads away from the bound.
func (r LoopRange) Past() (add int64, ok bool) {
	step, constant := query.Int64(r.Step)
	switch {
	case !constant:
	case r.Rel == ir.Lt && step > 0, r.Rel == ir.Ne && step == 1:
		return -1, true
	case r.Rel == ir.Gt && step < 0, r.Rel == ir.Ne && step == -1:
		return 1, true
	case r.Rel == ir.Le && step > 0, r.Rel == ir.Ge && step < 0:
		return 0, true
	}
	return 0, false
}

// MaxDepth, MaxForms and MaxConds limit the size of proofs. Accesses beyond the limits are checked
// when the kernel runs.
const (
	MaxDepth = 8
	MaxForms = 256
	MaxConds = 16 // enclosing conditions of one access
)
