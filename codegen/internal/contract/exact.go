package contract

import (
	"math/bits"
	"slices"
	"sync/atomic"

	"github.com/gompss/gompss/codegen/internal/analysis"
	"github.com/gompss/gompss/codegen/internal/integers"
)

// This file decides exactly whether an affine access stays inside a union of boxes. The bounds of
// the index over all iterations settle nearly every launch at once; where they do not, for the
// declared regions leave a gap or meet in the middle, the iterations are halved until the bounds of
// each part do, down to single ones.

// Where is the union of boxes that an index must stay in.
type Where struct {
	Boxes   [][]Box
	Regions []int // those of boxes that count
}

// Below returns the elements [0, n).
func (p *Proof) Below(n int64) Where {
	p.ends = [3]int64{n, 0, n}
	p.slice[0] = Box{Shape: p.ends[:1], Lo: p.ends[1:2], Hi: p.ends[2:]}
	p.whole[0] = p.slice[:]
	return Where{p.whole[:], onlyFirst}
}

var onlyFirst = []int{0}

// holds reports whether element n lies in one of the boxes.
func (w Where) holds(n int64) bool {
	for _, r := range w.Regions {
		for i := range w.Boxes[r] {
			if w.Boxes[r][i].holds(n) {
				return true
			}
		}
	}
	return false
}

// A Verdict is the proved result for an access.
type Verdict uint8

const (
	Undecided Verdict = iota // a value is not known, leaves 64 bits, or the search grew too long
	AllInside
	SomeOutside
)

// A search of many steps is remembered, so that the same launch costs nothing again; one of too
// many is given up.
const (
	ManySteps = 64
	maxSteps  = 1 << 20
)

// Stays decides whether every element that c touches lies in w. Where one does not, p.point is an
// iteration that touches it.
func (p *Proof) Stays(c *Check, w Where) Verdict {
	p.Steps, p.loopEnds = 0, [analysis.MaxDepth]end{}
	if len(c.conds) > 0 && !p.narrow(c) {
		return AllInside
	}
	found := p.level(c, w, 0, ManySteps)
	if found != Undecided || p.Steps < ManySteps {
		return found
	}
	p.key = p.key[:0]
	for _, v := range p.values {
		p.key = append(p.key, v.N)
	}
	for _, r := range w.Regions {
		for _, b := range w.Boxes[r] {
			p.key = append(append(append(p.key, b.Shape...), b.Lo...), b.Hi...)
		}
	}
	if c.Passed.has(p.key) {
		return AllInside
	}
	if found = p.level(c, w, 0, maxSteps); found == AllInside {
		c.Passed.add(slices.Clone(p.key))
	}
	return found
}

// narrow cuts the ends of the loops of c by its conditions, where numbers stay within 64 bits. It
// returns false where no iteration makes the access.
func (p *Proof) narrow(c *Check) (runs bool) {
	holds, runs := p.measure(c)
	if holds {
		return runs && p.cut(c)
	}
	p.loopEnds = [analysis.MaxDepth]end{}
	for i := range c.conds {
		p.off[i] = true
	}
	return true
}

// happens reports whether the conditions of c hold at p.point; known is false where they may wrap.
func (p *Proof) happens(c *Check) (yes, known bool) {
	for i := range c.conds {
		h := &c.conds[i]
		n := p.At(&h.form, len(c.loops), &p.Point)
		for j := range h.sides {
			n.Ok = n.Ok && p.At(&h.sides[j], len(c.loops), &p.Point).Ok
		}
		if !n.Ok || n.N < 0 {
			return false, n.Ok
		}
	}
	return true, true
}

// level decides for the iterations in which the loops outside of number k are at p.point.
func (p *Proof) level(c *Check, w Where, k, limit int) Verdict {
	if k == len(c.loops) {
		n := p.At(&c.Index, k, &p.Point)
		switch yes, known := p.happens(c); {
		case !known:
			return Undecided
		case !yes:
			return AllInside
		case !n.Ok:
			return Undecided
		case w.holds(n.N):
			return AllInside
		}
		return SomeOutside
	}
	l := &c.loops[k]
	first, last := p.At(&l.first, k, &p.Point), p.At(&l.last, k, &p.Point)
	span := last.Minus(first)
	switch {
	case !span.Ok:
		return Undecided
	case l.passes(last.N):
		return Undecided // its bound or its variable wraps
	case span.N != 0 && span.N > 0 != (l.step > 0):
		return AllInside // no iteration
	}
	if p.settles(c, k) {
		p.Point[k] = first.N
		return p.level(c, w, k+1, limit)
	}
	return p.halve(c, w, k, first.N, span.N/l.step, limit)
}

// passes reports whether a step from last leads past the end of the type of the variable.
func (l *nestLoop) passes(last int64) bool {
	return l.limited && (l.step > 0 && last > l.limit || l.step < 0 && last < l.limit)
}

// settles reports whether neither the index, nor a condition, nor a loop inside depends on the
// variable of loop k: one of its iterations stands for all.
func (p *Proof) settles(c *Check, k int) bool {
	if c.Index.coefs[k] > 0 || slices.ContainsFunc(c.conds, func(h hostCond) bool { return h.form.coefs[k] > 0 }) {
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
func (p *Proof) halve(c *Check, w Where, k int, from, trips int64, limit int) Verdict {
	if p.Steps++; p.Steps > limit {
		return Undecided
	}
	step := c.loops[k].step
	inner := stretch{k: k, lo: from, hi: from + trips*step}
	if step < 0 {
		inner.lo, inner.hi = inner.hi, inner.lo
	}
	switch ok, known := p.covered(c, w, &inner); {
	case ok:
		return AllInside
	case !known:
		return Undecided
	case p.idle(c, &inner), p.never(c, &inner):
		return AllInside
	}
	if trips == 0 {
		p.Point[k] = from
		return p.level(c, w, k+1, limit)
	}
	half := trips / 2
	if found := p.halve(c, w, k, from, half, limit); found != AllInside {
		return found
	}
	return p.halve(c, w, k, from+(half+1)*step, trips-half-1, limit)
}

// idle reports whether a loop inside makes no iteration anywhere in a stretch.
func (p *Proof) idle(c *Check, in *stretch) bool {
	for k := in.k + 1; k < len(c.loops); k++ {
		l := &c.loops[k]
		var coef [analysis.MaxDepth]integers.Number
		for j := range k {
			coef[j] = p.values[l.last.coefs[j]].Minus(p.values[l.first.coefs[j]])
		}
		span := p.values[l.last.base].Minus(p.values[l.first.base]).Plus(p.bound(c, in, coef, k, l.step > 0))
		if span.Ok && span.N != 0 && span.N > 0 != (l.step > 0) {
			return true
		}
	}
	return false
}

// never reports whether a condition does not hold anywhere in a stretch.
func (p *Proof) never(c *Check, in *stretch) bool {
	for i := range c.conds {
		if most := p.valueOver(c, in, &c.conds[i].form, len(c.loops), true); !p.off[i] && most.Ok && most.N < 0 {
			return true
		}
	}
	return false
}

// A stretch is the iterations of a nest in which the loops outside of number k are at the point of
// the proof, and the variable of loop k is in [lo, hi].
type stretch struct {
	k      int
	lo, hi int64
}

// covered reports whether the bounds of the index over a stretch lie in boxes of one shape. They
// may be wider than what is touched, where steps do not meet the bounds of loops; known is false
// where they leave 64 bits.
func (p *Proof) covered(c *Check, w Where, in *stretch) (ok, known bool) {
	for i, r := range w.Regions {
		for j := range w.Boxes[r] {
			shape := w.Boxes[r][j].Shape
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
func (w Where) shaped(shape []int64, n int) bool {
	for _, r := range w.Regions[:n] {
		for i := range w.Boxes[r] {
			if slices.Equal(w.Boxes[r][i].Shape, shape) {
				return true
			}
		}
	}
	return false
}

type coordinates [analysis.MaxDepth]int64

// cover reports whether the boxes of the shape, from region number i on, hold all from lo to hi:
// the first box that meets it leaves slabs, which the others must hold.
func (w Where) cover(shape []int64, i int, lo, hi coordinates) bool {
	for ; i < len(w.Regions); i++ {
		for j := range w.Boxes[w.Regions[i]] {
			b := &w.Boxes[w.Regions[i]][j]
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

// bounds returns the bounds of the coordinates of the index in an array of the shape, over a
// stretch. fits is false where coordinates wrap into the next row; known where numbers leave 64
// bits.
func (p *Proof) bounds(c *Check, in *stretch, shape []int64, lo, hi *coordinates) (fits, known bool) {
	if len(shape) > analysis.MaxDepth {
		return false, true
	}
	var rest [analysis.MaxDepth]integers.Number // what is left of the coefficients for the dimensions further in
	for k := range c.loops {
		rest[k] = p.values[c.Index.coefs[k]]
		if !rest[k].Ok {
			return false, false
		}
	}
	least := p.values[c.Index.base]
	strides, ok := stridesOf(shape)
	if !ok {
		return false, true
	}
	for d := range shape {
		var digits [analysis.MaxDepth]integers.Number
		for k := range c.loops {
			digits[k] = integers.Number{N: rest[k].N / strides[d], Ok: true}
			rest[k].N %= strides[d]
		}
		low, high := p.bound(c, in, digits, len(c.loops), false), p.bound(c, in, digits, len(c.loops), true)
		width := high.Minus(low)
		if least = least.Plus(low.Times(integers.Number{N: strides[d], Ok: true})); !least.Ok || !width.Ok {
			return false, false
		}
		hi[d] = width.N
	}
	return place(least.N, shape, &strides, lo, hi), true
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

// stridesOf returns the distance of two elements in each dimension of a row-major array; ok is
// false where it is empty.
func stridesOf(shape []int64) (out coordinates, ok bool) {
	stride := int64(1)
	for d := len(shape) - 1; d >= 0; d-- {
		if out[d] = stride; d > 0 {
			stride *= shape[d] // the box fits into memory
		}
	}
	return out, stride > 0
}

// bound returns the least or greatest value of a sum of coefficients times the variables of the
// outermost depth loops over a stretch. Each variable is put at the end of its loop that its
// coefficient asks for, innermost first: no iteration passes that.
func (p *Proof) bound(c *Check, in *stretch, coef [analysis.MaxDepth]integers.Number, depth int, greatest bool) integers.Number {
	sum := integers.Number{Ok: true}
	for k := depth - 1; k > in.k; k-- {
		if coef[k].N == 0 && coef[k].Ok {
			continue
		}
		l, e := &c.loops[k], &p.loopEnds[k]
		if e.fixed {
			at := e.lo
			if greatest == (coef[k].N > 0) {
				at = e.hi
			}
			sum = sum.Plus(coef[k].Times(integers.Number{N: at, Ok: true}))
			continue
		}
		end := &l.first
		if greatest == (coef[k].N > 0) == (l.step > 0) {
			end = &l.last
		}
		sum = sum.Plus(coef[k].Times(p.values[end.base]))
		for j := range k {
			if f := end.coefs[j]; f > 0 {
				coef[j] = coef[j].Plus(coef[k].Times(p.values[f]))
			}
		}
	}
	if in.k < 0 {
		return sum
	}
	at := in.lo
	if greatest == (coef[in.k].N > 0) {
		at = in.hi
	}
	sum = sum.Plus(coef[in.k].Times(integers.Number{N: at, Ok: true}))
	for j := range in.k {
		sum = sum.Plus(coef[j].Times(integers.Number{N: p.Point[j], Ok: true}))
	}
	return sum
}

// Launches is a memory of launches that took long to prove, by the numbers that the proof took. It
// grows where two launches have one place in it: the tasks of a loop over blocks come again in each
// of its turns.
type Launches struct{ table atomic.Pointer[[]launchSlot] }

// A launchSlot holds the numbers of one launch, nil for none.
type launchSlot struct{ key atomic.Pointer[[]int64] }

const (
	fewLaunches  = 8
	mostLaunches = 1024 // bounds the memory, 100 kB or so for each check of a kernel
)

// slotOf returns the place of key in a table, whose length is a power of two.
func slotOf(table []launchSlot, key []int64) *launchSlot {
	h := uint64(0)
	for _, v := range key {
		h = (h ^ uint64(v)) * 0x9e3779b97f4a7c15
	}
	return &table[bits.RotateLeft64(h, 32)&uint64(len(table)-1)]
}

func (l *Launches) has(key []int64) bool {
	table := l.table.Load()
	if table == nil {
		return false
	}
	known := slotOf(*table, key).key.Load()
	return known != nil && slices.Equal(*known, key)
}

// add remembers key. What another goroutine adds meanwhile may be forgotten.
func (l *Launches) add(key []int64) {
	table := l.table.Load()
	if table == nil {
		first := make([]launchSlot, fewLaunches)
		l.table.CompareAndSwap(nil, &first)
		table = l.table.Load()
	}
	for len(*table) < mostLaunches && slotOf(*table, key).key.Load() != nil {
		larger := make([]launchSlot, 2*len(*table))
		for i := range *table {
			if known := (*table)[i].key.Load(); known != nil {
				slotOf(larger, *known).key.Store(known)
			}
		}
		if !l.table.CompareAndSwap(table, &larger) {
			break
		}
		table = &larger
	}
	slotOf(*table, key).key.Store(&key)
}
