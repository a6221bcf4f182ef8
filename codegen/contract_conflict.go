package codegen

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/gompss/gompss/codegen/ir"
)

// This file decides for a launch whether two touches of one prescriptive loop meet: whether its iterations, two different ones, and those of
// the loops inside them, are an integer solution of the bounds of all these loops, the conditions around, and of what the touches refer to
// being the same memory. The loops around are in the same iteration for both.

// Bounds of the work for one pair of touches, in rows of systems: conflictWork to decide it, firstWork to find the first conflict.
const (
	conflictWork = 1 << 15
	firstWork    = 1 << 17
)

// A meeting is the system of two touches in one launch.
type meeting struct {
	p     *Proof
	c     *overlapCheck
	sys   intSystem
	used  int // variables of sys
	exact bool
	sides [2]meetingSide
}

// A meetingSide is one touch in the system.
type meetingSide struct {
	t      *conflictTouch
	values []intRow // of its variables
	ends   []end
	count  []intRow // grows from one iteration of a loop to the next, from least on; nil where that is not known
	least  []int64
	index  intRow
	bytes  intRow // of the first byte, from the start of the parameter
	span   end    // of bytes
	size   int64
}

// meets decides whether the touches of c meet where the second parameter begins gap bytes behind the first: allInside where they do not;
// someOutside where they do, at what at says; else undecided, with an example in at where there is one.
func (p *Proof) meets(c *overlapCheck, gap int64, at *OverlapError) verdict {
	m := meeting{p: p, c: c, exact: true}
	m.sides[0].t, m.sides[1].t = c.write, c.other
	for i := range m.sides {
		m.sys.n += m.sides[i].t.width()
	}
	for i := range m.sides {
		if found := m.addSide(&m.sides[i]); found != someOutside {
			return found
		}
	}
	if found := m.addPlace(gap); found != someOutside {
		return found
	}
	m.addAround()
	return m.decide(at)
}

// width returns how many variables of a system t takes at most.
func (t *conflictTouch) width() int {
	n := 1 // an element of which nothing is known
	for i := range t.vars {
		n++
		if op := t.vars[i].op; t.vars[i].loop == nil && (op == derivedRem || op == derivedAnd) {
			n++
		}
	}
	return n
}

// fresh returns a row that is a variable of its own.
func (m *meeting) fresh() (r intRow, n int) {
	n = m.used
	m.used++
	r = make(intRow, m.sys.n+1)
	r[n] = 1
	return r, n
}

// least adds that a row is not negative; a row that leaves 64 bits is left out.
func (m *meeting) least(r intRow, ok bool) {
	if !ok {
		m.exact = false
		return
	}
	m.sys.least = append(m.sys.least, r)
}

// form returns the row of f and the numbers that it lies between.
func (m *meeting) form(s *meetingSide, f *conflictForm) (r intRow, lo, hi int64, ok bool) {
	base := m.p.values[f.base]
	r = make(intRow, m.sys.n+1)
	r[m.sys.n] = base.n
	least, greatest := base, base
	for _, x := range f.terms {
		coef, e := m.p.values[x.coef], s.ends[x.v]
		if !coef.ok || !e.fixed || !r.add(s.values[x.v], coef.n) {
			return nil, 0, 0, false
		}
		a, b := coef.times(number{e.lo, true}), coef.times(number{e.hi, true})
		if coef.n < 0 {
			a, b = b, a
		}
		least, greatest = least.plus(a), greatest.plus(b)
	}
	return r, least.n, greatest.n, least.ok && greatest.ok
}

// minus returns a - b.
func (a intRow) minus(b intRow) (intRow, bool) {
	out := slices.Clone(a)
	return out, out.add(b, -1)
}

// addConst returns r + c.
func (r intRow) addConst(c int64) (intRow, bool) {
	out := slices.Clone(r)
	sum, ok := addInt64(r[len(r)-1], c)
	out[len(r)-1] = sum
	return out, ok
}

// fit reports whether forms are sure not to be negative.
func (m *meeting) fit(s *meetingSide, forms []conflictForm) bool {
	return !slices.ContainsFunc(forms, func(f conflictForm) bool {
		_, lo, _, ok := m.form(s, &f)
		return !ok || lo < 0
	})
}

// addSide adds the variables and conditions of a touch, and what it refers to: allInside where it never happens.
func (m *meeting) addSide(s *meetingSide) verdict {
	for i := range s.t.vars {
		v := &s.t.vars[i]
		s.count, s.least = append(s.count, nil), append(s.least, 0)
		if v.loop == nil {
			m.addDerivation(s, v)
		} else if !m.addLoop(s, v) {
			return allInside
		}
		m.exact = m.exact && !v.loose
	}
	for i := range s.t.conds {
		c := &s.t.conds[i]
		_, _, _, ok1 := m.form(s, &c.x)
		_, _, _, ok2 := m.form(s, &c.y)
		r, _, hi, ok := m.form(s, &c.form)
		ok = ok && ok1 && ok2 && m.fit(s, c.fits)
		if ok && hi < 0 {
			return allInside
		}
		m.least(r, ok)
	}
	m.exact = m.exact && s.t.exact
	return m.addElement(s)
}

// open adds a variable of which nothing is known.
func (m *meeting) open(s *meetingSide) {
	r, _ := m.fresh()
	m.exact = false
	s.values, s.ends = append(s.values, r), append(s.ends, end{})
}

// addLoop adds the variable of a loop: a variable of the system where its step is 1 or -1, else one that counts its iterations. It returns false
// where the loop has no iteration.
func (m *meeting) addLoop(s *meetingSide, v *conflictVar) (runs bool) {
	first, fl, fh, ok1 := m.form(s, &v.first)
	last, ll, lh, ok2 := m.form(s, &v.last)
	step := m.p.values[v.step]
	if !ok1 || !ok2 || !step.ok || step.n == 0 || step.n == math.MinInt64 || !m.fit(s, v.fits) {
		m.open(s)
		return true
	}
	up := v.loop.Rel == ir.Lt || v.loop.Rel == ir.Le || v.loop.Rel == ir.Ne && step.n > 0
	from, to, lo, hi := first, last, fl, lh // in the order of numbers
	if !up {
		from, to, lo, hi = last, first, ll, fh
	}
	if v.loop.Rel == ir.Ne && (up && ll < fh-1 || !up && lh > fl+1) { // it may pass its bound
		m.open(s)
		return true
	}
	if lo > hi {
		return false
	}
	size := int64(magnitude(step.n))
	if span := (number{hi, true}).minus(number{lo, true}); fl == fh && ll == lh && span.ok { // it ends at a known value
		if span.n = span.n / size * size; up {
			hi = lo + span.n
		} else {
			lo = hi - span.n
		}
	}
	most := limitOf(v.v.Type, step.n)
	meetsBound := size == 1 && v.loop.Rel != ir.Le && v.loop.Rel != ir.Ge
	if up != (step.n > 0) || !meetsBound && (up && hi > most || !up && lo < most) { // it may wrap
		m.open(s)
		return true
	}
	count, _ := m.fresh()
	value, ok := count, true
	n := len(s.count) - 1
	switch {
	case size > 1:
		value = slices.Clone(first)
		ok = value.add(count, step.n)
		m.least(slices.Clone(count), true)
		s.count[n] = count
	case up:
		s.count[n], s.least[n] = count, lo
	default:
		down := make(intRow, len(count))
		down.add(count, -1)
		s.count[n], s.least[n] = down, -hi
	}
	if !ok {
		s.count[n], m.exact = nil, false
		s.values, s.ends = append(s.values, count), append(s.ends, end{})
		return true
	}
	above, ok1 := value.minus(from)
	below, ok2 := to.minus(value)
	m.least(above, ok1)
	m.least(below, ok2)
	s.values, s.ends = append(s.values, value), append(s.ends, end{lo, hi, true})
	return true
}

// addDerivation adds the variable of a derivation: exactly for quotients and remainders, and with its bounds for others.
func (m *meeting) addDerivation(s *meetingSide, v *conflictVar) {
	x, xl, xh, ok1 := m.form(s, &v.first)
	_, yl, yh, ok2 := m.form(s, &v.last)
	l := nestLoop{op: v.op, derived: true}
	lo, hi, ok := int64(0), int64(0), ok1 && ok2 && m.fit(s, v.fits)
	if ok {
		lo, hi, ok = l.derivedRange(xl, xh, yl, yh)
	}
	if !ok {
		m.open(s)
		return
	}
	by, exact := int64(0), false // of a division by a number
	switch v.op {
	case derivedShr:
		exact = yl == yh && yl < 62
		by = 1 << min(uint(yl), 62)
	case derivedAnd:
		exact = yl == yh && yl < math.MaxInt64 && yl&(yl+1) == 0
		by = yl + 1
	case derivedDiv, derivedRem:
		exact = yl == yh && xl >= 0
		by = yl
	}
	value, _ := m.fresh()
	if exact {
		quotient, rest := value, slices.Clone(x) // rest is x - by*quotient
		if v.op == derivedRem || v.op == derivedAnd {
			quotient, _ = m.fresh()
		}
		ok := rest.add(quotient, -by)
		below := make(intRow, m.sys.n+1)
		below[m.sys.n] = by - 1
		below, fits := below.minus(rest)
		m.least(rest, ok)
		m.least(below, ok && fits)
		if ok && (v.op == derivedRem || v.op == derivedAnd) {
			value = rest
		}
	} else {
		m.exact = false
		m.between(value, lo, hi)
	}
	s.values, s.ends = append(s.values, value), append(s.ends, end{lo, hi, true})
}

// between adds that a row lies between two numbers.
func (m *meeting) between(r intRow, lo, hi int64) {
	above, ok := r.addConst(-lo)
	m.least(above, ok && lo != math.MinInt64)
	below := make(intRow, len(r))
	ok = below.add(r, -1)
	sum, fits := addInt64(below[len(r)-1], hi)
	below[len(r)-1] = sum
	m.least(below, ok && fits)
}

// addElement adds which element a touch refers to, and what of it.
func (m *meeting) addElement(s *meetingSide) verdict {
	t := s.t
	count := m.p.values[t.count]
	if !count.ok {
		return undecided
	}
	if count.n <= 0 {
		return allInside
	}
	elem := int64(t.base.Type.Elem.Size)
	index, lo, hi, ok := m.form(s, &t.index)
	inside, bl, bh, fits := m.form(s, &t.inside)
	s.size = t.size
	if !t.known || !ok || !fits || !m.fit(s, t.fits) {
		m.exact = false
		index, _ = m.fresh()
		inside, bl, bh, s.size = make(intRow, m.sys.n+1), 0, 0, elem
		lo, hi = math.MinInt64, math.MaxInt64
	}
	if lo < 0 || hi >= count.n { // what is out of range is refused, or ends the kernel
		if lo, hi = max(lo, 0), min(hi, count.n-1); lo > hi {
			return allInside
		}
		m.between(index, 0, count.n-1)
	}
	if bl < 0 || bh > elem-s.size {
		if bl, bh = max(bl, 0), min(bh, elem-s.size); bl > bh {
			return allInside
		}
		m.between(inside, 0, elem-s.size)
	}
	s.index, s.bytes = index, slices.Clone(inside)
	first := number{lo, true}.times(number{elem, true}).plus(number{bl, true})
	last := number{hi, true}.times(number{elem, true}).plus(number{bh, true})
	if s.span = (end{first.n, last.n, true}); !s.bytes.add(index, elem) || !first.ok || !last.ok {
		return undecided
	}
	return someOutside
}

// addPlace adds that the two touches have a byte in common.
func (m *meeting) addPlace(gap int64) verdict {
	w, r := &m.sides[0], &m.sides[1]
	lo := number{r.span.lo, true}.plus(number{gap, true})
	hi := number{r.span.hi, true}.plus(number{gap, true})
	if !lo.ok || !hi.ok {
		return undecided
	}
	if w.span.hi+w.size <= lo.n || hi.n+r.size <= w.span.lo {
		return allInside
	}
	apart, ok := w.bytes.minus(r.bytes)
	if ok {
		apart, ok = apart.addConst(-gap)
	}
	if !ok {
		return undecided
	}
	m.between(apart, 1-w.size, r.size-1)
	return someOutside
}

// counter returns what counts the iterations of loop number depth for a side, nil for none, and the least value of that.
func (s *meetingSide) counter(depth int) (count intRow, least int64) {
	if depth >= len(s.t.loopVars) || s.t.loopVars[depth] < 0 {
		return nil, 0
	}
	v := s.t.loopVars[depth]
	return s.count[v], s.least[v]
}

// difference returns how many iterations the second side of m is behind the first, in loop number depth; ok is false where the iterations of
// both cannot be compared.
func (m *meeting) difference(depth int) (row intRow, ok bool) {
	w, _ := m.sides[0].counter(depth)
	r, _ := m.sides[1].counter(depth)
	if w == nil || r == nil {
		return nil, false
	}
	a, b := &m.sides[0].t.loops[depth], &m.sides[1].t.loops[depth] // of different calls of a helper they need not be the same
	if a.For != b.For || !a.first.Equal(b.first) || !a.last.Equal(b.last) || a.step != b.step || a.known != b.known || !a.known && !a.by.Equal(b.by) {
		return nil, false
	}
	return r.minus(w)
}

// addAround adds that the loops around are in the same iteration.
func (m *meeting) addAround() {
	for depth := range m.c.outer {
		m.exact = m.addSame(&m.sys, depth) && m.exact
	}
}

// addSame adds that loop number depth is in the same iteration; false where that cannot be said.
func (m *meeting) addSame(s *intSystem, depth int) bool {
	row, ok := m.difference(depth)
	if ok {
		s.equal = append(s.equal, row)
	}
	return ok
}

// A conflict is a solution: which side is in the earlier iteration, the numbers of the iterations in order, the point, and whether it is one of
// the kernel too.
type conflict struct {
	order []int64
	point []int64
	first int
	exact bool
}

// decide looks for two iterations of the nest: for each of its loops for those that differ there first, in either order.
func (m *meeting) decide(at *OverlapError) verdict {
	var best *conflict
	known, budget := true, firstWork
	for k := range m.c.n {
		for first := range 2 {
			s, exact := m.branch(k, first)
			work := conflictWork
			point, found := s.clone().solve(&work)
			if known = known && found != solvableUnknown; found != solvableBy {
				continue
			}
			x := conflict{point: point, first: first, exact: exact}
			if exact {
				m.minimise(s, &x, &budget)
			}
			if best == nil || x.exact && (!best.exact || slices.Compare(x.order, best.order) < 0) {
				best = &x
			}
		}
	}
	switch {
	case best == nil && known:
		return allInside
	case best == nil:
		return undecided
	}
	m.tell(at, best.point)
	if at.Sure = best.exact; at.Sure {
		return someOutside
	}
	return undecided
}

// branch returns the system of iterations that differ first in loop k of the nest, those of side first being earlier.
func (m *meeting) branch(k, first int) (s *intSystem, exact bool) {
	s, exact = m.sys.clone(), m.exact
	for j := range k {
		exact = m.addSame(s, m.c.outer+j) && exact
	}
	row, ok := m.difference(m.c.outer + k)
	if !ok {
		return s, false
	}
	if first == 1 {
		for i := range row {
			row[i] = -row[i]
		}
	}
	far := slices.Clone(row)
	row[s.n]--
	s.least = append(s.least, row)
	if d := m.c.loop.Directive; d.Parts == ir.Simd && d.Safelen > 0 && m.c.n == 1 {
		near := make(intRow, s.n+1)
		near.add(far, -1)
		near[s.n] = int64(d.Safelen) - 1
		s.least = append(s.least, near)
	}
	return s, exact
}

// minimise makes x the first conflict of s: that of the earliest iteration, with the earliest other one, at the least element that is written.
func (m *meeting) minimise(s *intSystem, x *conflict, budget *int) {
	var order []intRow
	next := func(count intRow, least int64) {
		if count == nil {
			return // what is in the bounds of an inner loop is not in it
		}
		order = append(order, count)
		s = m.lower(s, x, count, least, budget)
	}
	for depth := range m.c.outer {
		next(m.sides[0].counter(depth))
	}
	for _, side := range []int{x.first, 1 - x.first} {
		for k := range m.c.n {
			next(m.sides[side].counter(m.c.outer + k))
		}
	}
	m.lower(s, x, m.sides[0].index, 0, budget)
	for _, count := range order {
		n, _ := count.at(x.point)
		x.order = append(x.order, n)
	}
}

// lower makes x a solution of s with the least value of row, which is least or more, and returns s with that value.
func (m *meeting) lower(s *intSystem, x *conflict, row intRow, least int64, budget *int) *intSystem {
	value, ok := row.at(x.point)
	probe := least
	for ok && least < value {
		below := make(intRow, len(row))
		below.add(row, -1)
		if below[s.n], ok = addInt64(below[s.n], probe); !ok {
			break
		}
		point, found := s.with(below).solve(budget)
		switch found {
		case solvableBy:
			x.point = point
			value, ok = row.at(point)
		case solvableNever:
			least = probe + 1
		default:
			ok = false
		}
		probe = least + (value-least)/2
	}
	if !ok {
		return s
	}
	fixed := slices.Clone(row)
	if fixed[s.n], ok = addInt64(fixed[s.n], -value); !ok {
		return s
	}
	out := s.clone()
	out.equal = append(out.equal, fixed)
	return out
}

// tell fills in what conflicts.
func (m *meeting) tell(at *OverlapError, point []int64) {
	at.Example = true
	for i, to := range []*OverlapTouch{&at.Write, &at.Other} {
		s := &m.sides[i]
		to.Element, _ = s.index.at(point)
		var parts []string
		for depth := range min(m.c.outer+m.c.n, len(s.t.loopVars)) {
			if v := s.t.loopVars[depth]; v >= 0 && s.count[v] != nil {
				n, _ := s.values[v].at(point)
				parts = append(parts, fmt.Sprintf("%s = %d", s.t.vars[v].v.Name, n))
			}
		}
		to.Iteration = strings.Join(parts, ", ")
	}
}
