package contract

import (
	"slices"

	"github.com/gompss/gompss/codegen/internal/analysis"
	"github.com/gompss/gompss/codegen/internal/analysis/affine"
	"github.com/gompss/gompss/codegen/internal/integers"
)

// This file finds what a variable lies between that has one of several values, each on a path of
// its own: for each value the least and the greatest where the conditions of the path hold.

// A hostValue is one of the values of a variable.
type hostValue struct {
	form  linear
	conds []hostCond
	fits  []linear // what must not be negative for form to be right
}

func sameValue(x, y hostValue) bool {
	return x.form == y.form && slices.Equal(x.fits, y.fits) && slices.EqualFunc(x.conds, y.conds, sameCond)
}

func sameCond(x, y hostCond) bool {
	return x.form == y.form && x.depth == y.depth && x.unequal == y.unequal && slices.Equal(x.sides, y.sides) && slices.Equal(x.fits, y.fits)
}

// eitherOf fills in the values of d, variable number i of the nest.
func (b *siteBuilder) eitherOf(l *nestLoop, d *analysis.Derivation, i int) bool {
	for _, a := range d.Either {
		var v hostValue
		var fits []affine.Form
		form, ok := b.expand(a.Form, &fits)
		if !ok || !b.over(&v.form, form, i) {
			return false
		}
		for _, a := range fits {
			var fit linear
			if !b.over(&fit, a, i) {
				return false
			}
			v.fits = append(v.fits, fit)
		}
		for _, f := range a.Facts {
			if _, h, ok := b.conditionOver(f, i); ok && len(v.conds) < analysis.MaxConds {
				v.conds = append(v.conds, h)
			}
		}
		b.sharpen(v.conds)
		l.either = append(l.either, v)
	}
	return true
}

// sharpen makes plain conditions of those that two values differ where another condition says which
// is the greater, if it is not the same: q != n where q <= n.
func (b *Builder) sharpen(conds []hostCond) {
	for i := range conds {
		u := &conds[i]
		for j := range conds {
			f := &conds[j]
			if !u.unequal || f.unequal || u.form.coefs != f.form.coefs {
				continue
			}
			if more, ok := b.difference(u.form.base, f.form.base); ok && more >= -1 {
				u.unequal = false
				u.sides, u.fits = slices.Concat(u.sides, f.sides), slices.Concat(u.fits, f.fits)
			}
		}
	}
}

// A valueProof decides for the variables of one nest that have one of several values.
type valueProof struct {
	*Proof
	c *Check
}

// measure is measureLoop for a variable that has one of several values.
func (p valueProof) measure(k int) (holds, runs bool) {
	found := end{fixed: true}
	for i := range p.c.loops[k].either {
		v := &p.c.loops[k].either[i]
		lo, hi, ok := p.measureValue(v, k)
		if !ok {
			return false, false
		}
		if lo > hi || p.excludedOver(v, k) {
			continue
		}
		if !runs {
			found.lo, found.hi = lo, hi
		}
		found.lo, found.hi, runs = min(found.lo, lo), max(found.hi, hi), true
	}
	p.loopEnds[k] = found
	return true, runs
}

// measureValue returns what a value lies between where its conditions hold. A condition says that
// its form is not negative, so the value is no less than the value minus that form.
func (p valueProof) measureValue(v *hostValue, depth int) (lo, hi int64, ok bool) {
	all := stretch{k: -1}
	for j := range v.fits {
		if !p.valueOver(p.c, &all, &v.fits[j], depth, false).AtLeast(0) {
			return 0, 0, false
		}
	}
	least, most := p.valueOver(p.c, &all, &v.form, depth, false), p.valueOver(p.c, &all, &v.form, depth, true)
	if !least.Ok || !most.Ok {
		return 0, 0, false
	}
	lo, hi = least.N, most.N
	for j := range v.conds {
		h := &v.conds[j]
		if !p.usable(h, depth) {
			continue
		}
		if less := p.combined(&v.form, &h.form, -1, depth, false); less.Ok {
			lo = max(lo, less.N)
		}
		if more := p.combined(&v.form, &h.form, 1, depth, true); more.Ok {
			hi = min(hi, more.N)
		}
	}
	return lo, hi, true
}

// excludedOver reports whether a condition of v never holds.
func (p valueProof) excludedOver(v *hostValue, depth int) bool {
	for j := range v.conds {
		most := p.valueOver(p.c, &stretch{k: -1}, &v.conds[j].form, depth, true)
		if most.Ok && most.N < 0 && p.usable(&v.conds[j], depth) {
			return true
		}
	}
	return false
}

// usable reports whether h, over the outermost depth loops, says that its form is not negative:
// nothing in it wraps.
func (p valueProof) usable(h *hostCond, depth int) bool {
	all := stretch{k: -1}
	for j := range h.sides {
		if !p.valueOver(p.c, &all, &h.sides[j], depth, false).Ok || !p.valueOver(p.c, &all, &h.sides[j], depth, true).Ok {
			return false
		}
	}
	for j := range h.fits {
		if !p.valueOver(p.c, &all, &h.fits[j], depth, false).AtLeast(0) {
			return false
		}
	}
	return !h.unequal || p.valueOver(p.c, &all, &h.form, depth, false).AtLeast(-1)
}

// combined returns the least or greatest value of x + sign*y over the outermost depth loops.
func (p valueProof) combined(x, y *linear, sign int64, depth int, greatest bool) integers.Number {
	by := integers.Number{N: sign, Ok: true}
	coef, other := p.coefs(x, depth), p.coefs(y, depth)
	for k := range coef {
		coef[k] = coef[k].Plus(other[k].Times(by))
	}
	base := p.values[x.base].Plus(p.values[y.base].Times(by))
	return base.Plus(p.bound(p.c, &stretch{k: -1}, coef, depth, greatest))
}

// at returns the value at p.Point of a variable that has one of several; not ok where more
// than one may be.
func (p valueProof) at(l *nestLoop, k int) (out integers.Number) {
	for i := range l.either {
		v := &l.either[i]
		if p.excluded(v.conds, k) {
			continue
		}
		n := p.At(&v.form, k, &p.Point)
		if !n.Ok || out.Ok && n.N != out.N {
			return integers.Number{}
		}
		out = n
	}
	return out
}

// excluded reports whether one of conds, in which nothing wraps, does not hold at p.Point.
func (p valueProof) excluded(conds []hostCond, k int) bool {
	return slices.ContainsFunc(conds, func(h hostCond) bool {
		n := p.At(&h.form, k, &p.Point)
		for j := range h.sides {
			n.Ok = n.Ok && p.At(&h.sides[j], k, &p.Point).Ok
		}
		for j := range h.fits {
			fit := p.At(&h.fits[j], k, &p.Point)
			n.Ok = n.Ok && fit.AtLeast(0)
		}
		return !h.unequal && n.Ok && n.N < 0
	})
}
