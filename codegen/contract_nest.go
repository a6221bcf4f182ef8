package codegen

import "math"

// This file decides for a launch whether the needs of a proof hold in every iteration of its nest. The ends of each loop are worked out
// outermost first, and cut by the conditions around; nearly every need then holds at the ends. Else the iterations are halved a few times.

// An end is what the variable of a loop is known to lie between: fixed numbers, or, where they depend on loops around, the forms of the loop.
type end struct {
	lo, hi int64
	fixed  bool
}

// Proves reports whether the arguments that were loaded let the kernel run without the checks that Unchecked leaves out.
//
// It may be asked once after Load. Cost: some tens of nanoseconds for each nest of loops; no allocation but the first time.
func (p *Proof) Proves() bool {
	p.load(p.c.atoms[len(p.atoms):], p.c.forms[len(p.values):])
	p.env = nil
	for i := range p.c.proofs {
		if !p.nestHolds(&p.c.proofs[i]) {
			return false
		}
	}
	return true
}

// nestHolds decides for one nest.
func (p *Proof) nestHolds(c *contractCheck) bool {
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

// needHolds decides for one need: at the ends, at the ends with a condition taken away, which is not negative either, or by halving.
func (p *Proof) needHolds(c *contractCheck, need *linear) bool {
	all := stretch{k: -1}
	if p.valueOver(c, &all, need, len(c.loops), false).atLeast(0) {
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
			less[k] = coef[k].minus(less[k])
		}
		base := p.values[need.base].minus(p.values[form.base])
		if base.plus(p.bound(c, &all, less, len(c.loops), false)).atLeast(0) {
			return true
		}
	}
	p.steps = 0
	return p.searchNeed(c, need, 0)
}

// maxSplits bounds the halving of one need: a launch that takes more runs with its checks.
const maxSplits = 64

// searchNeed decides for the iterations in which the loops outside of number k are at p.point.
func (p *Proof) searchNeed(c *contractCheck, need *linear, k int) bool {
	if k == len(c.loops) {
		return p.at(need, k, &p.point).atLeast(0) || p.barred(c)
	}
	l := &c.loops[k]
	if l.derived {
		v := p.derivedAt(l, p.at(&l.first, k, &p.point), p.at(&l.last, k, &p.point))
		p.point[k] = v.n
		return v.ok && p.searchNeed(c, need, k+1)
	}
	first, last := p.at(&l.first, k, &p.point), p.at(&l.last, k, &p.point)
	span := last.minus(first)
	switch {
	case !span.ok:
		return false
	case span.n != 0 && span.n > 0 != (l.step > 0):
		return true
	}
	from, to := int64(0), span.n/l.step // iterations
	if e := &p.loopEnds[k]; e.fixed {
		lo, hi := number{e.lo, true}.minus(first), number{e.hi, true}.minus(first)
		if l.step < 0 {
			lo, hi = hi, lo
		}
		if !lo.ok || !hi.ok || l.step == math.MinInt64 {
			return false
		}
		from, to = max(from, -floorDiv(-lo.n*sign(l.step), l.step*sign(l.step))), min(to, floorDiv(hi.n*sign(l.step), l.step*sign(l.step)))
	}
	return from > to || p.halveNeed(c, need, k, first.n+from*l.step, to-from)
}

func sign(n int64) int64 {
	if n < 0 {
		return -1
	}
	return 1
}

// barred reports whether a condition does not hold at p.point.
func (p *Proof) barred(c *contractCheck) bool {
	for i := range c.conds {
		if n := p.at(&c.conds[i].form, len(c.loops), &p.point); !p.off[i] && n.ok && n.n < 0 {
			return true
		}
	}
	return false
}

// halveNeed decides for the iterations in which the variable of loop k is from, and trips more.
func (p *Proof) halveNeed(c *contractCheck, need *linear, k int, from, trips int64) bool {
	if p.steps++; p.steps > maxSplits {
		return false
	}
	step := c.loops[k].step
	in := stretch{k: k, lo: from, hi: from + trips*step}
	if step < 0 {
		in.lo, in.hi = in.hi, in.lo
	}
	if p.valueOver(c, &in, need, len(c.loops), false).atLeast(0) {
		return true
	}
	for i := range c.conds {
		if most := p.valueOver(c, &in, &c.conds[i].form, len(c.loops), true); !p.off[i] && most.ok && most.n < 0 {
			return true
		}
	}
	if trips == 0 {
		p.point[k] = from
		return p.searchNeed(c, need, k+1)
	}
	half := trips / 2
	return p.halveNeed(c, need, k, from, half) && p.halveNeed(c, need, k, from+(half+1)*step, trips-half-1)
}

// measure works out the ends of the loops of c. holds is false where nothing is known, for numbers leave 64 bits or a variable may pass the
// end of its type; runs is false where a loop makes no iteration.
func (p *Proof) measure(c *contractCheck) (holds, runs bool) {
	all := stretch{k: -1}
	for k := range c.loops {
		l := &c.loops[k]
		for i := range l.fits {
			if !p.valueOver(c, &all, &l.fits[i], k, false).atLeast(0) {
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
func (p *Proof) valueOver(c *contractCheck, in *stretch, form *linear, depth int, greatest bool) number {
	if in.k < 0 {
		if n, ok := p.valueAtEnds(form, depth, greatest); ok {
			return n
		}
	}
	return p.values[form.base].plus(p.bound(c, in, p.coefs(form, depth), depth, greatest))
}

// valueAtEnds is valueOver where the ends of all loops that form depends on are numbers.
func (p *Proof) valueAtEnds(form *linear, depth int, greatest bool) (sum number, ok bool) {
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
		if greatest == (coef.n > 0) {
			at = e.hi
		}
		sum = sum.plus(coef.times(number{at, true}))
	}
	return sum, true
}

// coefs returns the coefficients of the outermost depth loops.
func (p *Proof) coefs(form *linear, depth int) (out [maxDepth]number) {
	for k := range maxDepth {
		out[k].ok = true
		if k < depth && form.coefs[k] > 0 {
			out[k] = p.values[form.coefs[k]]
		}
	}
	return out
}

// measureLoop is measure for loop k.
func (p *Proof) measureLoop(c *contractCheck, k int) (holds, runs bool) {
	l, all := &c.loops[k], stretch{k: -1}
	if !l.derived && l.first.plain() && l.last.plain() {
		return p.measurePlain(c, k)
	}
	var ends [4]number
	for i, form := range []*linear{&l.first, &l.first, &l.last, &l.last} {
		if ends[i] = p.valueOver(c, &all, form, k, i&1 == 1); !ends[i].ok {
			return false, false
		}
	}
	if l.derived {
		lo, hi, ok := l.derivedRange(ends[0].n, ends[1].n, ends[2].n, ends[3].n)
		p.loopEnds[k] = end{lo, hi, true}
		return ok, true
	}
	p.loopEnds[k] = end{}
	if l.passes(ends[3].n) || l.passes(ends[2].n) {
		return false, false
	}
	return true, true
}

// plain reports whether no loop variable occurs in l.
func (l *linear) plain() bool { return l.coefs == [maxDepth]int{} }

// measurePlain is measureLoop where the ends are numbers.
func (p *Proof) measurePlain(c *contractCheck, k int) (holds, runs bool) {
	l := &c.loops[k]
	first, last := p.values[l.first.base], p.values[l.last.base]
	if !first.ok || !last.ok {
		return false, false
	}
	lo, hi := first.n, last.n
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
	case l.passes(last.n):
		return false, false
	}
	return true, true
}

// cut narrows the ends of loops by the conditions around. It returns false where one never holds. Conditions that may have wrapped are left out.
func (p *Proof) cut(c *contractCheck) (runs bool) {
	if len(c.conds) == 0 {
		return true
	}
	all := stretch{k: -1}
	p.off = [maxConds]bool{}
	for i := range c.conds {
		h := &c.conds[i]
		for j := range h.sides {
			p.off[i] = p.off[i] || !p.valueOver(c, &all, &h.sides[j], len(c.loops), false).ok || !p.valueOver(c, &all, &h.sides[j], len(c.loops), true).ok
		}
		for j := range h.fits {
			p.off[i] = p.off[i] || !p.valueOver(c, &all, &h.fits[j], len(c.loops), false).atLeast(0)
		}
	}
	for i := range c.conds {
		if !p.off[i] && !p.cutBy(c, &c.conds[i]) {
			return false
		}
	}
	return true
}

// cutBy is cut for one condition of numbers and at most one variable.
func (p *Proof) cutBy(c *contractCheck, h *hostCond) (runs bool) {
	base := p.values[h.form.base]
	if !base.ok {
		return true
	}
	if h.depth == 0 {
		return base.n >= 0
	}
	k := h.depth - 1
	coef := p.values[h.form.coefs[k]]
	for j := range k {
		if h.form.coefs[j] > 0 {
			return true
		}
	}
	if !coef.ok || !p.loopEnds[k].fixed || coef.n == math.MinInt64 || base.n == math.MinInt64 {
		return true
	}
	e := &p.loopEnds[k]
	switch {
	case coef.n > 0:
		e.lo = max(e.lo, -floorDiv(base.n, coef.n))
	case coef.n < 0:
		e.hi = min(e.hi, floorDiv(base.n, -coef.n))
	default:
		return base.n >= 0
	}
	return e.lo <= e.hi
}

// floorDiv returns the greatest integer that is at most a/b, b being positive.
func floorDiv(a, b int64) int64 {
	q := a / b
	if a%b < 0 {
		q--
	}
	return q
}

// derivedRange returns the bounds of a derivation whose operands lie in [xl, xh] and [yl, yh].
func (l *nestLoop) derivedRange(xl, xh, yl, yh int64) (lo, hi int64, ok bool) {
	switch l.op {
	case derivedAny:
		return xl, yh, true
	case derivedMin:
		return min(xl, yl), min(xh, yh), true
	case derivedMax:
		return max(xl, yl), max(xh, yh), true
	case derivedShr:
		return xl >> uint(yl), xh >> uint(yl), true
	case derivedAnd:
		if xl >= 0 {
			return 0, min(xh, yh), true
		}
		return 0, yh, true
	case derivedDiv:
		if yl < 1 {
			return 0, 0, false
		}
		return min(xl/yl, xl/yh), max(xh/yl, xh/yh), true
	case derivedRem:
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
func (p *Proof) derivedAt(l *nestLoop, x, y number) number {
	if !x.ok || !y.ok || l.op == derivedAny && x != y {
		return number{}
	}
	lo, hi, ok := l.derivedRange(x.n, x.n, y.n, y.n)
	switch l.op {
	case derivedRem:
		if y.n >= 1 {
			return number{x.n % y.n, true}
		}
	case derivedAnd:
		return number{x.n & y.n, true}
	}
	return number{lo, ok && lo == hi}
}

func (a number) atLeast(n int64) bool { return a.ok && a.n >= n }
