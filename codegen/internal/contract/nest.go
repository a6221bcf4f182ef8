package contract

import (
	"math"

	"github.com/gompss/gompss/codegen/internal/analysis"
	"github.com/gompss/gompss/codegen/internal/integers"
)

// This file decides for a launch whether the needs of a proof hold in every iteration of its nest.
// The ends of each loop are worked out outermost first, and cut by the conditions around; nearly
// every need then holds at the ends. Else the iterations are halved a few times.

// An end is what the variable of a loop is known to lie between: fixed numbers, or, where they
// depend on loops around, the forms of the loop.
type end struct {
	lo, hi int64
	fixed  bool
}

// Proves reports whether the arguments that were loaded let the kernel run without the checks that
// Unchecked leaves out.
//
// It may be asked once after Load. Cost: some tens of nanoseconds for each nest of loops; no
// allocation but the first time.
func (p *Proof) Proves() bool {
	p.load(p.c.Atoms[len(p.atoms):], p.c.Forms[len(p.values):])
	p.env = nil
	for i := range p.c.proofs {
		if !p.nestHolds(&p.c.proofs[i]) {
			return false
		}
	}
	return true
}

// nestHolds decides for one nest.
func (p *Proof) nestHolds(c *Check) bool {
	if p.far(c) {
		return false
	}
	holds, runs := p.measure(c)
	if !holds || !runs {
		return holds
	}
	if runs = p.cut(c); !runs {
		return true
	}
	for i := range c.needs {
		if !p.needHolds(c, &c.needs[i]) {
			return false
		}
	}
	return true
}

// nearest is less than any number that the threads of a grid may pass the end of 64 bits from.
const nearest = 1 << 62

// far reports whether a loop of c begins or ends near the ends of 64 bits: code without checks lets
// each thread count on from where it begins, up to the number of threads past the end.
func (p *Proof) far(c *Check) bool {
	for k := range c.loops {
		if l := &c.loops[k]; !l.derived {
			for _, n := range []integers.Number{p.values[l.first.base], p.values[l.last.base]} {
				if n.N >= nearest || n.N <= -nearest {
					return true
				}
			}
		}
	}
	return false
}

// needHolds decides for one need: at the ends, at the ends with a condition taken away, which is
// not negative either, or by halving.
func (p *Proof) needHolds(c *Check, need *linear) bool {
	all := stretch{k: -1}
	if p.valueOver(c, &all, need, len(c.loops), false).AtLeast(0) {
		return true
	}
	coef := p.coefs(need, len(c.loops))
	for i := range c.conds {
		if p.off[i] {
			continue
		}
		form := &c.conds[i].form
		less := p.coefs(form, len(c.loops))
		for k := range less {
			less[k] = coef[k].Minus(less[k])
		}
		base := p.values[need.base].Minus(p.values[form.base])
		if base.Plus(p.bound(c, &all, less, len(c.loops), false)).AtLeast(0) {
			return true
		}
	}
	p.Steps = 0
	return p.searchNeed(c, need, 0)
}

// maxSplits bounds the halving of one need: a launch that takes more runs with its checks.
const maxSplits = 64

// searchNeed decides for the iterations in which the loops outside of number k are at p.point.
func (p *Proof) searchNeed(c *Check, need *linear, k int) bool {
	if k == len(c.loops) {
		return p.At(need, k, &p.Point).AtLeast(0) || p.barred(c)
	}
	l := &c.loops[k]
	if l.derived {
		v := p.derivedAt(l, p.At(&l.first, k, &p.Point), p.At(&l.last, k, &p.Point))
		if l.op == analysis.DerivedEither {
			v = valueProof{p, c}.at(l, k)
		}
		p.Point[k] = v.N
		return v.Ok && p.searchNeed(c, need, k+1)
	}
	first, last := p.At(&l.first, k, &p.Point), p.At(&l.last, k, &p.Point)
	span := last.Minus(first)
	switch {
	case !span.Ok:
		return false
	case span.N != 0 && span.N > 0 != (l.step > 0):
		return true
	}
	from, to := int64(0), span.N/l.step // iterations
	if e := &p.loopEnds[k]; e.fixed {
		lo, hi := integers.Number{N: e.lo, Ok: true}.Minus(first), integers.Number{N: e.hi, Ok: true}.Minus(first)
		if l.step < 0 {
			lo, hi = hi, lo
		}
		if !lo.Ok || !hi.Ok || l.step == math.MinInt64 {
			return false
		}
		from, to = max(from, -integers.FloorDiv(-lo.N*sign(l.step), l.step*sign(l.step))), min(to, integers.FloorDiv(hi.N*sign(l.step), l.step*sign(l.step)))
	}
	return from > to || p.halveNeed(c, need, k, first.N+from*l.step, to-from)
}

func sign(n int64) int64 {
	if n < 0 {
		return -1
	}
	return 1
}

// barred reports whether a condition does not hold at p.point.
func (p *Proof) barred(c *Check) bool {
	for i := range c.conds {
		if n := p.At(&c.conds[i].form, len(c.loops), &p.Point); !p.off[i] && n.Ok && n.N < 0 {
			return true
		}
	}
	return false
}

// halveNeed decides for the iterations in which the variable of loop k is from, and trips more.
func (p *Proof) halveNeed(c *Check, need *linear, k int, from, trips int64) bool {
	if p.Steps++; p.Steps > maxSplits {
		return false
	}
	step := c.loops[k].step
	in := stretch{k: k, lo: from, hi: from + trips*step}
	if step < 0 {
		in.lo, in.hi = in.hi, in.lo
	}
	if p.valueOver(c, &in, need, len(c.loops), false).AtLeast(0) {
		return true
	}
	if p.never(c, &in) {
		return true
	}
	if trips == 0 {
		p.Point[k] = from
		return p.searchNeed(c, need, k+1)
	}
	half := trips / 2
	return p.halveNeed(c, need, k, from, half) && p.halveNeed(c, need, k, from+(half+1)*step, trips-half-1)
}

// measure works out the ends of the loops of c. holds is false where nothing is known, for numbers
// leave 64 bits or a variable may pass the end of its type; runs is false where a loop makes no
// iteration.
func (p *Proof) measure(c *Check) (holds, runs bool) {
	all := stretch{k: -1}
	for k := range c.loops {
		l := &c.loops[k]
		for i := range l.fits {
			if !p.valueOver(c, &all, &l.fits[i], k, false).AtLeast(0) {
				return false, false
			}
		}
		if holds, runs = p.measureLoop(c, k); !holds || !runs {
			return holds, runs
		}
	}
	return true, true
}

// valueOver returns the least or greatest value of a form over the outermost depth loops.
func (p *Proof) valueOver(c *Check, in *stretch, form *linear, depth int, greatest bool) integers.Number {
	if in.k < 0 {
		if n, ok := p.valueAtEnds(form, depth, greatest); ok {
			return n
		}
	}
	return p.values[form.base].Plus(p.bound(c, in, p.coefs(form, depth), depth, greatest))
}

// valueAtEnds is valueOver where the ends of all loops that form depends on are numbers.
func (p *Proof) valueAtEnds(form *linear, depth int, greatest bool) (sum integers.Number, ok bool) {
	sum = p.values[form.base]
	for k := range depth {
		f := form.coefs[k]
		if f == 0 {
			continue
		}
		e := &p.loopEnds[k]
		if !e.fixed {
			return sum, false
		}
		coef, at := p.values[f], e.lo
		if greatest == (coef.N > 0) {
			at = e.hi
		}
		sum = sum.Plus(coef.Times(integers.Number{N: at, Ok: true}))
	}
	return sum, true
}

// coefs returns the coefficients of the outermost depth loops.
func (p *Proof) coefs(form *linear, depth int) (out [analysis.MaxDepth]integers.Number) {
	for k := range analysis.MaxDepth {
		out[k].Ok = true
		if k < depth && form.coefs[k] > 0 {
			out[k] = p.values[form.coefs[k]]
		}
	}
	return out
}

// measureLoop is measure for loop k.
func (p *Proof) measureLoop(c *Check, k int) (holds, runs bool) {
	l, all := &c.loops[k], stretch{k: -1}
	if l.derived && l.op == analysis.DerivedEither {
		return valueProof{p, c}.measure(k)
	}
	if !l.derived && l.first.plain() && l.last.plain() {
		return p.measurePlain(c, k)
	}
	var ends [4]integers.Number
	for i, form := range []*linear{&l.first, &l.first, &l.last, &l.last} {
		if ends[i] = p.valueOver(c, &all, form, k, i&1 == 1); !ends[i].Ok {
			return false, false
		}
	}
	if l.derived {
		lo, hi, ok := l.derivedRange(ends[0].N, ends[1].N, ends[2].N, ends[3].N)
		p.loopEnds[k] = end{lo, hi, true}
		return ok, true
	}
	p.loopEnds[k] = end{}
	if l.passes(ends[3].N) || l.passes(ends[2].N) {
		return false, false
	}
	return true, true
}

// plain reports whether no loop variable occurs in l.
func (l *linear) plain() bool { return l.coefs == [analysis.MaxDepth]int{} }

// measurePlain is measureLoop where the ends are numbers.
func (p *Proof) measurePlain(c *Check, k int) (holds, runs bool) {
	l := &c.loops[k]
	first, last := p.values[l.first.base], p.values[l.last.base]
	if !first.Ok || !last.Ok {
		return false, false
	}
	lo, hi := first.N, last.N
	switch {
	case l.step < 0 && lo < hi, l.step > 0 && lo > hi:
		return true, false
	}
	if trips := uint64(hi-lo) / uint64(l.step); l.step > 1 {
		hi = lo + int64(trips)*l.step
	} else if trips := uint64(lo-hi) / uint64(-l.step); l.step < 0 {
		lo, hi = lo-int64(trips)*-l.step, lo
	}
	p.loopEnds[k] = end{lo, hi, true}
	switch {
	case l.passes(last.N):
		return false, false
	}
	return true, true
}

// cut narrows the ends of loops by the conditions around. It returns false where one never holds.
// Conditions that may have wrapped are left out.
func (p *Proof) cut(c *Check) (runs bool) {
	if len(c.conds) == 0 {
		return true
	}
	all := stretch{k: -1}
	p.off = [analysis.MaxConds]bool{}
	for i := range c.conds {
		h := &c.conds[i]
		for j := range h.sides {
			p.off[i] = p.off[i] || !p.valueOver(c, &all, &h.sides[j], len(c.loops), false).Ok || !p.valueOver(c, &all, &h.sides[j], len(c.loops), true).Ok
		}
		for j := range h.fits {
			p.off[i] = p.off[i] || !p.valueOver(c, &all, &h.fits[j], len(c.loops), false).AtLeast(0)
		}
		p.off[i] = p.off[i] || h.unequal && !p.valueOver(c, &all, &h.form, len(c.loops), false).AtLeast(-1)
	}
	for i := range c.conds {
		if !p.off[i] && !p.cutBy(c, &c.conds[i]) {
			return false
		}
	}
	return true
}

// cutBy is cut for one condition of numbers and at most one variable.
func (p *Proof) cutBy(c *Check, h *hostCond) (runs bool) {
	base := p.values[h.form.base]
	if !base.Ok {
		return true
	}
	if h.depth == 0 {
		return base.N >= 0
	}
	k := h.depth - 1
	coef := p.values[h.form.coefs[k]]
	for j := range k {
		if h.form.coefs[j] > 0 {
			return true
		}
	}
	if !coef.Ok || !p.loopEnds[k].fixed || coef.N == math.MinInt64 || base.N == math.MinInt64 {
		return true
	}
	e := &p.loopEnds[k]
	switch {
	case coef.N > 0:
		e.lo = max(e.lo, -integers.FloorDiv(base.N, coef.N))
	case coef.N < 0:
		e.hi = min(e.hi, integers.FloorDiv(base.N, -coef.N))
	default:
		return base.N >= 0
	}
	return e.lo <= e.hi
}

// derivedRange returns the bounds of a derivation whose operands lie in [xl, xh] and [yl, yh].
func (l *nestLoop) derivedRange(xl, xh, yl, yh int64) (lo, hi int64, ok bool) {
	switch l.op {
	case analysis.DerivedAny:
		return xl, yh, true
	case analysis.DerivedMin:
		return min(xl, yl), min(xh, yh), true
	case analysis.DerivedMax:
		return max(xl, yl), max(xh, yh), true
	case analysis.DerivedShr:
		return xl >> uint(yl), xh >> uint(yl), true
	case analysis.DerivedAnd:
		if xl >= 0 {
			return 0, min(xh, yh), true
		}
		return 0, yh, true
	case analysis.DerivedDiv:
		if yl < 1 {
			return 0, 0, false
		}
		return min(xl/yl, xl/yh), max(xh/yl, xh/yh), true
	case analysis.DerivedRem:
		return remRange(xl, xh, yl, yh)
	}
	return 0, 0, false
}

// remRange returns the bounds of x % y.
func remRange(xl, xh, yl, yh int64) (lo, hi int64, ok bool) {
	if yl < 1 {
		return 0, 0, false
	}
	if xl >= 0 && xh < yl {
		return xl, xh, true
	}
	if xl < 0 {
		lo = max(xl, 1-yh)
	}
	if xh > 0 {
		hi = min(xh, yh-1)
	}
	return lo, hi, true
}

// derivedAt returns the value of a derivation.
func (p *Proof) derivedAt(l *nestLoop, x, y integers.Number) integers.Number {
	if !x.Ok || !y.Ok || l.op == analysis.DerivedAny && x != y {
		return integers.Number{}
	}
	lo, hi, ok := l.derivedRange(x.N, x.N, y.N, y.N)
	switch l.op {
	case analysis.DerivedRem:
		if y.N >= 1 {
			return integers.Number{N: x.N % y.N, Ok: true}
		}
	case analysis.DerivedAnd:
		return integers.Number{N: x.N & y.N, Ok: true}
	}
	return integers.Number{N: lo, Ok: ok && lo == hi}
}
