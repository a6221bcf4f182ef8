package codegen

import (
	"slices"
	"sync/atomic"
)

// This file decides exactly whether an affine access stays inside a union of boxes. The bounds of the index over all
// iterations settle nearly every launch at once; where they do not, for the declared regions leave a gap or meet in the
// middle, the iterations are halved until the bounds of each part do, down to single ones.

// where is the union of boxes that an index must stay in.
type where struct {
	boxes   [][]Box
	regions []int // those of boxes that count
}

// below returns the elements [0, n).
func (p *Proof) below(n int64) where {
	p.ends = [3]int64{n, 0, n}
	p.slice[0] = Box{Shape: p.ends[:1], Lo: p.ends[1:2], Hi: p.ends[2:]}
	p.whole[0] = p.slice[:]
	return where{p.whole[:], onlyFirst}
}

var onlyFirst = []int{0}

// holds reports whether element n lies in one of the boxes.
func (w where) holds(n int64) bool {
	for _, r := range w.regions {
		for i := range w.boxes[r] {
			if w.boxes[r][i].holds(n) {
				return true
			}
		}
	}
	return false
}

// A verdict is what is known of an access.
type verdict uint8

const (
	undecided verdict = iota // a value is not known, leaves 64 bits, or the search grew too long
	allInside
	someOutside
)

// A search of many steps is remembered, so that the same launch costs nothing again; one of too many is given up.
const (
	manySteps = 64
	maxSteps  = 1 << 20
)

// stays decides whether every element that c touches lies in w. Where one does not, p.point is an iteration that
// touches it.
func (p *Proof) stays(c *contractCheck, w where) verdict {
	p.steps, p.loopEnds = 0, [maxDepth]end{}
	found := p.level(c, w, 0, manySteps)
	if found != undecided || p.steps < manySteps {
		return found
	}
	p.key = p.key[:0]
	for _, v := range p.values {
		p.key = append(p.key, v.n)
	}
	for _, r := range w.regions {
		for _, b := range w.boxes[r] {
			p.key = append(append(append(p.key, b.Shape...), b.Lo...), b.Hi...)
		}
	}
	if c.passed.has(p.key) {
		return allInside
	}
	if found = p.level(c, w, 0, maxSteps); found == allInside {
		c.passed.add(slices.Clone(p.key))
	}
	return found
}

// level decides for the iterations in which the loops outside of number k are at p.point.
func (p *Proof) level(c *contractCheck, w where, k, limit int) verdict {
	if k == len(c.loops) {
		n := p.at(&c.index, k, &p.point)
		switch {
		case !n.ok:
			return undecided
		case w.holds(n.n):
			return allInside
		}
		return someOutside
	}
	l := &c.loops[k]
	first, last := p.at(&l.first, k, &p.point), p.at(&l.last, k, &p.point)
	span := last.minus(first)
	switch {
	case !span.ok:
		return undecided
	case l.passes(last.n):
		return undecided // its bound or its variable wraps
	case span.n != 0 && span.n > 0 != (l.step > 0):
		return allInside // no iteration
	}
	if p.settles(c, k) {
		p.point[k] = first.n
		return p.level(c, w, k+1, limit)
	}
	return p.halve(c, w, k, first.n, span.n/l.step, limit)
}

// passes reports whether a step from last leads past the end of the type of the variable.
func (l *nestLoop) passes(last int64) bool {
	return l.limited && (l.step > 0 && last > l.limit || l.step < 0 && last < l.limit)
}

// settles reports whether neither the index nor a loop inside depends on the variable of loop k: one of its iterations
// stands for all.
func (p *Proof) settles(c *contractCheck, k int) bool {
	if c.index.coefs[k] > 0 {
		return false
	}
	for _, l := range c.loops[k+1:] {
		if l.first.coefs[k] > 0 || l.last.coefs[k] > 0 {
			return false
		}
	}
	return true
}

// halve decides for the iterations in which the variable of loop k is from, and trips more.
func (p *Proof) halve(c *contractCheck, w where, k int, from, trips int64, limit int) verdict {
	if p.steps++; p.steps > limit {
		return undecided
	}
	step := c.loops[k].step
	inner := stretch{k: k, lo: from, hi: from + trips*step}
	if step < 0 {
		inner.lo, inner.hi = inner.hi, inner.lo
	}
	switch ok, known := p.covered(c, w, &inner); {
	case ok:
		return allInside
	case !known:
		return undecided
	case p.idle(c, &inner):
		return allInside
	}
	if trips == 0 {
		p.point[k] = from
		return p.level(c, w, k+1, limit)
	}
	half := trips / 2
	if found := p.halve(c, w, k, from, half, limit); found != allInside {
		return found
	}
	return p.halve(c, w, k, from+(half+1)*step, trips-half-1, limit)
}

// idle reports whether a loop inside makes no iteration anywhere in a stretch.
func (p *Proof) idle(c *contractCheck, in *stretch) bool {
	for k := in.k + 1; k < len(c.loops); k++ {
		l := &c.loops[k]
		var coef [maxDepth]number
		for j := range k {
			coef[j] = p.values[l.last.coefs[j]].minus(p.values[l.first.coefs[j]])
		}
		span := p.values[l.last.base].minus(p.values[l.first.base]).plus(p.bound(c, in, coef, k, l.step > 0))
		if span.ok && span.n != 0 && span.n > 0 != (l.step > 0) {
			return true
		}
	}
	return false
}

// A stretch is the iterations of a nest in which the loops outside of number k are at the point of the proof, and the
// variable of loop k is in [lo, hi].
type stretch struct {
	k      int
	lo, hi int64
}

// covered reports whether the bounds of the index over a stretch lie in boxes of one shape. They may be wider than what is
// touched, where steps do not meet the bounds of loops; known is false where they leave 64 bits.
func (p *Proof) covered(c *contractCheck, w where, in *stretch) (ok, known bool) {
	for i, r := range w.regions {
		for j := range w.boxes[r] {
			shape := w.boxes[r][j].Shape
			if w.shaped(shape, i) {
				continue
			}
			var lo, hi coordinates
			fits, numbers := p.bounds(c, in, shape, &lo, &hi)
			if !numbers {
				return false, false
			}
			if fits && w.cover(shape, i, lo, hi) {
				return true, true
			}
		}
	}
	return false, true
}

// shaped reports whether one of the first n regions has the shape.
func (w where) shaped(shape []int64, n int) bool {
	for _, r := range w.regions[:n] {
		for i := range w.boxes[r] {
			if slices.Equal(w.boxes[r][i].Shape, shape) {
				return true
			}
		}
	}
	return false
}

type coordinates [maxDepth]int64

// cover reports whether the boxes of the shape, from region number i on, hold all from lo to hi: the first box that meets
// it leaves slabs, which the others must hold.
func (w where) cover(shape []int64, i int, lo, hi coordinates) bool {
	for ; i < len(w.regions); i++ {
		for j := range w.boxes[w.regions[i]] {
			b := &w.boxes[w.regions[i]][j]
			if !slices.Equal(b.Shape, shape) || !b.meets(&lo, &hi) {
				continue
			}
			for d := range shape {
				if lo[d] < b.Lo[d] {
					slab := hi
					slab[d] = b.Lo[d] - 1
					if !w.cover(shape, i+1, lo, slab) {
						return false
					}
					lo[d] = b.Lo[d]
				}
				if hi[d] >= b.Hi[d] {
					slab := lo
					slab[d] = b.Hi[d]
					if !w.cover(shape, i+1, slab, hi) {
						return false
					}
					hi[d] = b.Hi[d] - 1
				}
			}
			return true
		}
	}
	return false
}

// meets reports whether b holds a place from lo to hi.
func (b *Box) meets(lo, hi *coordinates) bool {
	for d := range b.Shape {
		if hi[d] < b.Lo[d] || lo[d] >= b.Hi[d] {
			return false
		}
	}
	return true
}

// bounds returns the bounds of the coordinates of the index in an array of the shape, over a stretch. fits is false where
// coordinates wrap into the next row; known where numbers leave 64 bits.
func (p *Proof) bounds(c *contractCheck, in *stretch, shape []int64, lo, hi *coordinates) (fits, known bool) {
	if len(shape) > maxDepth {
		return false, true
	}
	var rest [maxDepth]number // what is left of the coefficients for the dimensions further in
	for k := range c.loops {
		rest[k] = p.values[c.index.coefs[k]]
		if !rest[k].ok {
			return false, false
		}
	}
	least := p.values[c.index.base]
	strides, ok := stridesOf(shape)
	if !ok {
		return false, true
	}
	for d := range shape {
		var digits [maxDepth]number
		for k := range c.loops {
			digits[k] = number{rest[k].n / strides[d], true}
			rest[k].n %= strides[d]
		}
		low, high := p.bound(c, in, digits, len(c.loops), false), p.bound(c, in, digits, len(c.loops), true)
		width := high.minus(low)
		if least = least.plus(low.times(number{strides[d], true})); !least.ok || !width.ok {
			return false, false
		}
		hi[d] = width.n
	}
	return place(least.n, shape, &strides, lo, hi), true
}

// place takes the least index apart into coordinates, and adds them to the widths in hi.
func place(least int64, shape []int64, strides, lo, hi *coordinates) bool {
	for d := range shape {
		q := least / strides[d]
		if least -= q * strides[d]; least < 0 {
			q, least = q-1, least+strides[d]
		}
		lo[d], hi[d] = q, hi[d]+q
		if hi[d] < q || d > 0 && hi[d] >= shape[d] {
			return false
		}
	}
	return true
}

// stridesOf returns the distance of two elements in each dimension of a row-major array; ok is false where it is empty.
func stridesOf(shape []int64) (out coordinates, ok bool) {
	stride := int64(1)
	for d := len(shape) - 1; d >= 0; d-- {
		if out[d] = stride; d > 0 {
			stride *= shape[d] // the box fits into memory
		}
	}
	return out, stride > 0
}

// bound returns the least or greatest value of a sum of coefficients times the variables of the outermost depth loops over a stretch. Each
// variable is put at the end of its loop that its coefficient asks for, innermost first: no iteration passes that.
func (p *Proof) bound(c *contractCheck, in *stretch, coef [maxDepth]number, depth int, greatest bool) number {
	sum := number{ok: true}
	for k := depth - 1; k > in.k; k-- {
		if coef[k].n == 0 && coef[k].ok {
			continue
		}
		l, e := &c.loops[k], &p.loopEnds[k]
		if e.fixed {
			at := e.lo
			if greatest == (coef[k].n > 0) {
				at = e.hi
			}
			sum = sum.plus(coef[k].times(number{at, true}))
			continue
		}
		end := &l.first
		if greatest == (coef[k].n > 0) == (l.step > 0) {
			end = &l.last
		}
		sum = sum.plus(coef[k].times(p.values[end.base]))
		for j := range k {
			if f := end.coefs[j]; f > 0 {
				coef[j] = coef[j].plus(coef[k].times(p.values[f]))
			}
		}
	}
	if in.k < 0 {
		return sum
	}
	at := in.lo
	if greatest == (coef[in.k].n > 0) {
		at = in.hi
	}
	sum = sum.plus(coef[in.k].times(number{at, true}))
	for j := range in.k {
		sum = sum.plus(coef[j].times(number{p.point[j], true}))
	}
	return sum
}

// launches is a small memory of launches that took long to prove, by the numbers that the proof took.
type launches [8]atomic.Pointer[[]int64]

func (l *launches) slot(key []int64) *atomic.Pointer[[]int64] {
	h := uint64(0)
	for _, v := range key {
		h = (h ^ uint64(v)) * 0x9e3779b97f4a7c15
	}
	return &l[h>>61]
}

func (l *launches) has(key []int64) bool {
	known := l.slot(key).Load()
	return known != nil && slices.Equal(*known, key)
}

func (l *launches) add(key []int64) { l.slot(key).Store(&key) }
