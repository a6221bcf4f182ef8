package analysis

import (
	"slices"

	"github.com/gompss/gompss/codegen/internal/integers"
	"github.com/gompss/gompss/codegen/ir"
	"github.com/gompss/gompss/codegen/ir/query"
)

// steppedOver reports whether w and a never touch the same element because one of them touches
// elements between those of the other: their constant strides have a common divisor that does not
// divide the distance.
func (m *Dependences) steppedOver(w, a AccessForm) bool {
	gap, ok := w.Form.withoutVars().Sub(a.Form.withoutVars()).Const()
	if !ok {
		return false
	}
	divisor := uint64(0)
	for _, form := range []Affine{w.Form, a.Form} {
		for _, t := range form.Terms {
			if len(t.Atoms) > 0 && integers.Magnitude(t.Coef) < smallStride {
				divisor = gcd(divisor, integers.Magnitude(t.Coef))
			} else if len(t.Atoms) > 0 {
				return false
			}
		}
	}
	return divisor > 1 && integers.Magnitude(gap)%divisor != 0
}

// withoutVars returns the constant term of a.
func (a Affine) withoutVars() Affine {
	if a.Unknown {
		return a
	}
	return Affine{Terms: slices.DeleteFunc(slices.Clone(a.Terms), func(t Term) bool { return len(t.Atoms) > 0 })}
}

func gcd(a, b uint64) uint64 {
	for b != 0 {
		a, b = b, a%b
	}
	return a
}

// withoutEqual takes a loop inside f out of w and a, whose variable must be the same in both where
// they touch the same element: its stride is longer than all that the other variables move the
// index by. Of a[i*m+j] in for j { for i { } } that is i.
func (m *Dependences) withoutEqual(f *ir.For, w, a AccessForm) (w2, a2 AccessForm, ok bool) {
	for i, g := range w.Loops {
		j := slices.Index(a.Loops, g)
		if j < 0 {
			continue
		}
		cw, ok1 := w.Form.Coef(g.Var)
		ca, ok2 := a.Form.Coef(g.Var)
		if !ok1 || !ok2 || !cw.Equal(ca) || cw.Equal(Affine{}) || !m.keeps(f, cw) || cw.Has(f.Var) || boundsOn(w.ranges, g.Var) || boundsOn(a.ranges, g.Var) || !m.sameLattice(f, g) {
			continue
		}
		if _, isConst := cw.Const(); !isConst && !positiveTerms(cw) && !m.notZero(cw, f, []*ir.For{g, f}) {
			continue
		}
		w2, a2 = w.without(i), a.without(j)
		diff, ok := m.restOver(f, w2, a2)
		if ok && m.stepsBeyond(g, cw, diff) && (m.counts(f, cw) || m.wraps(g, cw, "wraps") == "") {
			return w2, a2, true
		}
	}
	return w, a, false
}

// sameLattice reports whether two values of g's variable, each in an iteration of f, differ by a
// multiple of g's step: g begins at the same value in all of them, or passes every integer.
func (m *Dependences) sameLattice(f, g *ir.For) bool {
	if step, ok := query.Int64(g.Step); ok && (step == 1 || step == -1) {
		return true
	}
	first, ok := AffineOf(g.Lo)
	return ok && first.Known() && !first.Has(f.Var) && m.keeps(f, first)
}

// boundsOn reports whether v decides how far one of ranges goes.
func boundsOn(ranges []bounds, v *ir.Var) bool {
	return slices.ContainsFunc(ranges, func(b bounds) bool { return b.Var != v && (b.Lo.Has(v) || b.Hi.Has(v)) })
}

// without is a with the variable of its loop number i at zero.
func (a AccessForm) without(i int) AccessForm {
	a.Form = a.Form.Without(a.Loops[i].Var)
	a.Loops = slices.Delete(slices.Clone(a.Loops), i, i+1)
	a.ranges = slices.Delete(slices.Clone(a.ranges), i, i+1)
	return a
}

// restOver returns the range of a's index minus w's, each in any iteration of f.
func (m *Dependences) restOver(f *ir.For, w, a AccessForm) (extent, bool) {
	whole := boundsOfAll([]*ir.For{f})
	sw, ok1 := spread(w.Form, append(whole, w.ranges...))
	sa, ok2 := spread(a.Form, append(whole, a.ranges...))
	if !ok1 || !ok2 || !m.keeps(f, sw.lo, sw.hi, sa.lo, sa.hi) {
		return extent{}, false
	}
	s := extent{lo: sa.lo.Sub(sw.hi), hi: sa.hi.Sub(sw.lo)}
	return s, s.lo.Known() && s.hi.Known()
}

// counts reports whether f runs coef iterations, or few less: with as many as it would take to
// wrap, it ends never.
func (m *Dependences) counts(f *ir.For, coef Affine) bool {
	b := boundsOfAll([]*ir.For{f})[0]
	if !b.Lo.Known() || !b.Hi.Known() {
		return false
	}
	c, ok := coef.Sub(b.Hi).Add(b.Lo).Const()
	return ok && integers.Magnitude(c) < smallStride
}

// fromZero is a with loops that begin elsewhere in every iteration of f, and are as long in all of
// them, counted from zero: in for j := i*m; j < (i+1)*m it is i*m + j that x[j] means.
func (a AccessForm) fromZero(f *ir.For) AccessForm {
	for i, b := range a.ranges {
		width := b.Hi.Sub(b.Lo)
		if !b.Lo.Has(f.Var) || !width.Known() || width.Has(f.Var) || boundsOn(a.ranges, b.Var) {
			continue
		}
		a.ranges = slices.Clone(a.ranges)
		a.ranges[i].Lo, a.ranges[i].Hi = Affine{}, width
		a.Form = a.Form.Subst(b.Var, VarAffine(b.Var).Add(b.Lo))
	}
	a.Known = a.Form.Known()
	return a
}
