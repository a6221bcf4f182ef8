package analysis

import (
	"slices"

	"github.com/gompss/gompss/codegen/internal/integers"
	"github.com/gompss/gompss/codegen/ir"
	"github.com/gompss/gompss/codegen/ir/query"
)

// steppedOver reports whether w and a never access the same element because the elements of one are
// between those of the other. Their constant strides then have a common divisor that does not
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

// withoutEqual removes from w and a a loop inside f whose variable must have the same value in both
// wherever they access the same element, because its stride exceeds the distance that all other
// variables can cover. In a[i*m+j] with for j { for i { } } this is the loop over i.
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

// sameLattice reports whether two values of g's variable, in any two iterations of f, differ by a
// multiple of g's step: g starts at the same value in each iteration, or visits every integer.
func (m *Dependences) sameLattice(f, g *ir.For) bool {
	if step, ok := query.Int64(g.Step); ok && (step == 1 || step == -1) {
		return true
	}
	first, ok := AffineOf(g.Lo)
	return ok && first.Known() && !first.Has(f.Var) && m.keeps(f, first)
}

// boundsOn reports whether the bounds of one of ranges depend on v.
func boundsOn(ranges []bounds, v *ir.Var) bool {
	return slices.ContainsFunc(ranges, func(b bounds) bool { return b.Var != v && (b.Lo.Has(v) || b.Hi.Has(v)) })
}

// without returns a with the variable of its loop i replaced by zero.
func (a AccessForm) without(i int) AccessForm {
	a.Form = a.Form.Without(a.Loops[i].Var)
	a.Loops = slices.Delete(slices.Clone(a.Loops), i, i+1)
	a.ranges = slices.Delete(slices.Clone(a.ranges), i, i+1)
	return a
}

// restOver returns the range of the index of a minus the index of w, in any two iterations of f.
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

// counts reports whether f runs about coef iterations. A loop with enough iterations to make an
// index wrap would never end.
func (m *Dependences) counts(f *ir.For, coef Affine) bool {
	b := boundsOfAll([]*ir.For{f})[0]
	if !b.Lo.Known() || !b.Hi.Known() {
		return false
	}
	c, ok := coef.Sub(b.Hi).Add(b.Lo).Const()
	return ok && integers.Magnitude(c) < smallStride
}

// fromZero returns a with inner loops that start at zero. It shifts each loop whose start, but not
// whose length, depends on the variable of f: for j := i*m; j < (i+1)*m with x[j] becomes a loop
// from 0 with x[i*m+j].
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
