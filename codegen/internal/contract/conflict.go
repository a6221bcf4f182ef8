package contract

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"github.com/gompss/gompss/codegen/internal/analysis"
	"github.com/gompss/gompss/codegen/internal/integers"
	"github.com/gompss/gompss/codegen/ir"
)

// This file decides for a launch whether two touches of one prescriptive loop meet: whether its
// iterations, two different ones, and those of the loops inside them, are an integer solution of
// the bounds of all these loops, the conditions around, and of what the touches refer to being the
// same memory. The loops around are in the same iteration for both.

// Bounds of the work for one pair of touches, in rows of systems: conflictWork to decide it,
// firstWork to find the first conflict.
const (
	conflictWork = 1 << 15
	firstWork    = 1 << 17
)

// A meeting is the system of two touches in one launch.
type meeting struct {
	p     *Proof
	c     *overlapCheck
	sys   integers.System
	used  int // variables of sys
	exact bool
	sides [2]meetingSide
}

// A meetingSide is one touch in the system.
type meetingSide struct {
	t      *conflictTouch
	values []integers.Row // of its variables
	ends   []end
	count  []integers.Row // grows from one iteration of a loop to the next, from least on; nil where that is not known
	least  []int64
	index  integers.Row
	bytes  integers.Row // of the first byte, from the start of the parameter
	span   end          // of bytes
	size   int64
}

// meets decides whether the touches of c meet where the second parameter begins gap bytes behind
// the first: AllInside where they do not; SomeOutside where they do, at what at says; else
// undecided, with an example in at where there is one.
func (p *Proof) meets(c *overlapCheck, gap int64, at *OverlapError) Verdict {
	m := meeting{p: p, c: c, exact: c.region == NoRegion}
	m.sides[0].t, m.sides[1].t = c.write, c.other
	for i := range m.sides {
		m.sys.N += m.sides[i].t.width()
	}
	for i := range m.sides {
		if found := m.addSide(&m.sides[i]); found != SomeOutside {
			return found
		}
	}
	if found := m.addPlace(gap); found != SomeOutside {
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
		if op := t.vars[i].op; t.vars[i].loop == nil && (op == analysis.DerivedRem || op == analysis.DerivedAnd) {
			n++
		}
	}
	return n
}

// fresh returns a row that is a variable of its own.
func (m *meeting) fresh() (r integers.Row, n int) {
	n = m.used
	m.used++
	r = make(integers.Row, m.sys.N+1)
	r[n] = 1
	return r, n
}

// least adds that a row is not negative; a row that leaves 64 bits is left out.
func (m *meeting) least(r integers.Row, ok bool) {
	if !ok {
		m.exact = false
		return
	}
	m.sys.Least = append(m.sys.Least, r)
}

// form returns the row of f and the numbers that it lies between.
func (m *meeting) form(s *meetingSide, f *conflictForm) (r integers.Row, lo, hi int64, ok bool) {
	base := m.p.values[f.base]
	r = make(integers.Row, m.sys.N+1)
	r[m.sys.N] = base.N
	least, greatest := base, base
	for _, x := range f.terms {
		coef, e := m.p.values[x.coef], s.ends[x.v]
		if !coef.Ok || !e.fixed || !r.Add(s.values[x.v], coef.N) {
			return nil, 0, 0, false
		}
		a, b := coef.Times(integers.Number{N: e.lo, Ok: true}), coef.Times(integers.Number{N: e.hi, Ok: true})
		if coef.N < 0 {
			a, b = b, a
		}
		least, greatest = least.Plus(a), greatest.Plus(b)
	}
	return r, least.N, greatest.N, least.Ok && greatest.Ok
}

// fit reports whether forms are sure not to be negative.
func (m *meeting) fit(s *meetingSide, forms []conflictForm) bool {
	return !slices.ContainsFunc(forms, func(f conflictForm) bool {
		_, lo, _, ok := m.form(s, &f)
		return !ok || lo < 0
	})
}

// addSide adds the variables and conditions of a touch, and what it refers to: AllInside where it
// never happens.
func (m *meeting) addSide(s *meetingSide) Verdict {
	for i := range s.t.vars {
		v := &s.t.vars[i]
		s.count, s.least = append(s.count, nil), append(s.least, 0)
		if v.loop == nil {
			m.addDerivation(s, v)
		} else if !m.addLoop(s, v) {
			return AllInside
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
			return AllInside
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

// addLoop adds the variable of a loop: a variable of the system where its step is 1 or -1, else one
// that counts its iterations. It returns false where the loop has no iteration.
func (m *meeting) addLoop(s *meetingSide, v *conflictVar) (runs bool) {
	first, fl, fh, ok1 := m.form(s, &v.first)
	last, ll, lh, ok2 := m.form(s, &v.last)
	step := m.p.values[v.step]
	if !ok1 || !ok2 || !step.Ok || step.N == 0 || step.N == math.MinInt64 || !m.fit(s, v.fits) {
		m.open(s)
		return true
	}
	up := v.loop.Rel == ir.Lt || v.loop.Rel == ir.Le || v.loop.Rel == ir.Ne && step.N > 0
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
	size := int64(integers.Magnitude(step.N))
	if span := (integers.Number{N: hi, Ok: true}).Minus(integers.Number{N: lo, Ok: true}); fl == fh && ll == lh && span.Ok { // it ends at a known value
		if span.N = span.N / size * size; up {
			hi = lo + span.N
		} else {
			lo = hi - span.N
		}
	}
	most := LimitOf(v.v.Type, step.N)
	meetsBound := size == 1 && v.loop.Rel != ir.Le && v.loop.Rel != ir.Ge
	if up != (step.N > 0) || !meetsBound && (up && hi > most || !up && lo < most) { // it may wrap
		m.open(s)
		return true
	}
	count, _ := m.fresh()
	value, ok := count, true
	n := len(s.count) - 1
	switch {
	case size > 1:
		value = slices.Clone(first)
		ok = value.Add(count, step.N)
		m.least(slices.Clone(count), true)
		s.count[n] = count
	case up:
		s.count[n], s.least[n] = count, lo
	default:
		down := make(integers.Row, len(count))
		down.Add(count, -1)
		s.count[n], s.least[n] = down, -hi
	}
	if !ok {
		s.count[n], m.exact = nil, false
		s.values, s.ends = append(s.values, count), append(s.ends, end{})
		return true
	}
	above, ok1 := value.Minus(from)
	below, ok2 := to.Minus(value)
	m.least(above, ok1)
	m.least(below, ok2)
	s.values, s.ends = append(s.values, value), append(s.ends, end{lo, hi, true})
	return true
}

// addDerivation adds the variable of a derivation: exactly for quotients and remainders, and with
// its bounds for others.
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
	case analysis.DerivedShr:
		exact = yl == yh && yl < 62
		by = 1 << min(uint(yl), 62)
	case analysis.DerivedAnd:
		exact = yl == yh && yl < math.MaxInt64 && yl&(yl+1) == 0
		by = yl + 1
	case analysis.DerivedDiv, analysis.DerivedRem:
		exact = yl == yh && xl >= 0
		by = yl
	}
	value, _ := m.fresh()
	if exact {
		quotient, rest := value, slices.Clone(x) // rest is x - by*quotient
		if v.op == analysis.DerivedRem || v.op == analysis.DerivedAnd {
			quotient, _ = m.fresh()
		}
		ok := rest.Add(quotient, -by)
		below := make(integers.Row, m.sys.N+1)
		below[m.sys.N] = by - 1
		below, fits := below.Minus(rest)
		m.least(rest, ok)
		m.least(below, ok && fits)
		if ok && (v.op == analysis.DerivedRem || v.op == analysis.DerivedAnd) {
			value = rest
		}
	} else {
		m.exact = false
		m.between(value, lo, hi)
	}
	s.values, s.ends = append(s.values, value), append(s.ends, end{lo, hi, true})
}

// between adds that a row lies between two numbers.
func (m *meeting) between(r integers.Row, lo, hi int64) {
	above, ok := r.AddConst(-lo)
	m.least(above, ok && lo != math.MinInt64)
	below := make(integers.Row, len(r))
	ok = below.Add(r, -1)
	sum, fits := integers.Add(below[len(r)-1], hi)
	below[len(r)-1] = sum
	m.least(below, ok && fits)
}

// addElement adds which element a touch refers to, and what of it.
func (m *meeting) addElement(s *meetingSide) Verdict {
	t := s.t
	count := m.p.values[t.count]
	if !count.Ok {
		return Undecided
	}
	if count.N <= 0 {
		return AllInside
	}
	elem := int64(t.Base.Type.Elem.Size)
	index, lo, hi, ok := m.form(s, &t.index)
	inside, bl, bh, fits := m.form(s, &t.inside)
	s.size = t.size
	if !t.known || !ok || !fits || !m.fit(s, t.fits) {
		m.exact = false
		index, _ = m.fresh()
		inside, bl, bh, s.size = make(integers.Row, m.sys.N+1), 0, 0, elem
		lo, hi = math.MinInt64, math.MaxInt64
	}
	if lo < 0 || hi >= count.N { // what is out of range is refused, or ends the kernel
		if lo, hi = max(lo, 0), min(hi, count.N-1); lo > hi {
			return AllInside
		}
		m.between(index, 0, count.N-1)
	}
	if bl < 0 || bh > elem-s.size {
		if bl, bh = max(bl, 0), min(bh, elem-s.size); bl > bh {
			return AllInside
		}
		m.between(inside, 0, elem-s.size)
	}
	s.index, s.bytes = index, slices.Clone(inside)
	first := integers.Number{N: lo, Ok: true}.Times(integers.Number{N: elem, Ok: true}).Plus(integers.Number{N: bl, Ok: true})
	last := integers.Number{N: hi, Ok: true}.Times(integers.Number{N: elem, Ok: true}).Plus(integers.Number{N: bh, Ok: true})
	if s.span = (end{first.N, last.N, true}); !s.bytes.Add(index, elem) || !first.Ok || !last.Ok {
		return Undecided
	}
	return SomeOutside
}

// addPlace adds that the two touches have a byte in common.
func (m *meeting) addPlace(gap int64) Verdict {
	w, r := &m.sides[0], &m.sides[1]
	lo := integers.Number{N: r.span.lo, Ok: true}.Plus(integers.Number{N: gap, Ok: true})
	hi := integers.Number{N: r.span.hi, Ok: true}.Plus(integers.Number{N: gap, Ok: true})
	if !lo.Ok || !hi.Ok {
		return Undecided
	}
	if w.span.hi+w.size <= lo.N || hi.N+r.size <= w.span.lo {
		return AllInside
	}
	apart, ok := w.bytes.Minus(r.bytes)
	if ok {
		apart, ok = apart.AddConst(-gap)
	}
	if !ok {
		return Undecided
	}
	m.between(apart, 1-w.size, r.size-1)
	return SomeOutside
}

// counter returns what counts the iterations of loop number depth for a side, nil for none, and the
// least value of that.
func (s *meetingSide) counter(depth int) (count integers.Row, least int64) {
	if depth >= len(s.t.loopVars) || s.t.loopVars[depth] < 0 {
		return nil, 0
	}
	v := s.t.loopVars[depth]
	return s.count[v], s.least[v]
}

// difference returns how many iterations the second side of m is behind the first, in loop number
// depth; ok is false where the iterations of both cannot be compared.
func (m *meeting) difference(depth int) (row integers.Row, ok bool) {
	w, _ := m.sides[0].counter(depth)
	r, _ := m.sides[1].counter(depth)
	if w == nil || r == nil {
		return nil, false
	}
	a, b := &m.sides[0].t.Loops[depth], &m.sides[1].t.Loops[depth] // of different calls of a helper they need not be the same
	if a.For != b.For && !m.sameCount(depth) || !a.First.Equal(b.First) || !a.Last.Equal(b.Last) || a.Stride != b.Stride || a.Known != b.Known || !a.Known && !a.By.Equal(b.By) {
		return nil, false
	}
	return r.Minus(w)
}

// sameCount reports whether loop number depth is that of two constructs whose iterations of one
// number are one thread's.
func (m *meeting) sameCount(depth int) bool {
	return depth >= m.c.outer && depth < m.c.outer+m.c.n && !m.c.apart
}

// addAround adds that the loops around are in the same iteration.
func (m *meeting) addAround() {
	if m.c.drift {
		m.exact = false // not all of them are at once
		return
	}
	for depth := range m.c.outer {
		m.exact = m.addSame(&m.sys, depth) && m.exact
	}
}

// addSame adds that loop number depth is in the same iteration; false where that cannot be said.
func (m *meeting) addSame(s *integers.System, depth int) bool {
	row, ok := m.difference(depth)
	if ok {
		s.Equal = append(s.Equal, row)
	}
	return ok
}

// A conflict is a solution: which side is in the earlier iteration, the numbers of the iterations
// in order, the point, and whether it is one of the kernel too.
type conflict struct {
	order []int64
	point []int64
	first int
	exact bool
}

// A branch is the iterations of the nest that differ first in a loop of it, and the side that is
// earlier there.
type branch struct{ loop, first int }

// decide looks for two iterations of the nest: for each of its loops for those that differ there
// first, in either order.
func (m *meeting) decide(at *OverlapError) Verdict {
	var best *conflict
	var open []branch
	budget := firstWork
	look := func(b branch, work *int) (decided bool) {
		s, exact := m.branch(b.loop, b.first)
		point, found := s.Clone().Solve(work)
		if found != integers.SolvableBy {
			return found == integers.SolvableNever
		}
		x := conflict{point: point, first: b.first, exact: exact}
		if exact {
			m.minimise(s, &x, &budget)
		}
		if best == nil || x.exact && (!best.exact || slices.Compare(x.order, best.order) < 0) {
			best = &x
		}
		return true
	}
	for loop := range m.c.n {
		for first := range 2 {
			if m.c.apart && loop+first > 0 {
				break // one system of any two iterations
			}
			b, work := branch{loop, first}, conflictWork
			if !look(b, &work) {
				open = append(open, b)
			}
		}
	}
	known := len(open) == 0
	if best != nil && best.exact {
		for _, b := range open { // it may have an earlier one
			look(b, &budget)
		}
	}
	switch {
	case best == nil && known:
		return AllInside
	case best == nil:
		return Undecided
	}
	m.tell(at, best.point)
	if at.Sure = best.exact; at.Sure {
		return SomeOutside
	}
	return Undecided
}

// branch returns the system of iterations that differ first in loop k of the nest, those of side
// first being earlier.
func (m *meeting) branch(k, first int) (s *integers.System, exact bool) {
	s, exact = m.sys.Clone(), m.exact
	if m.c.apart {
		return s, exact
	}
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
	row[s.N]--
	s.Least = append(s.Least, row)
	if d := m.c.loop.Directive; d.Parts == ir.Simd && d.Safelen > 0 && m.c.n == 1 {
		near := make(integers.Row, s.N+1)
		near.Add(far, -1)
		near[s.N] = int64(d.Safelen) - 1
		s.Least = append(s.Least, near)
	}
	return s, exact
}

// minimise makes x the first conflict of s, as far as budget allows: that of the earliest
// iteration, with the earliest other one, at the least element that is written.
func (m *meeting) minimise(s *integers.System, x *conflict, budget *int) {
	var order []integers.Row
	next := func(count integers.Row, least int64) {
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
		n, _ := count.At(x.point)
		x.order = append(x.order, n)
	}
}

// lower makes x a solution of s with the least value of row, which is least or more, and returns s
// with that value.
func (m *meeting) lower(s *integers.System, x *conflict, row integers.Row, least int64, budget *int) *integers.System {
	value, ok := row.At(x.point)
	probe := least
	for ok && least < value {
		below := make(integers.Row, len(row))
		below.Add(row, -1)
		if below[s.N], ok = integers.Add(below[s.N], probe); !ok {
			break
		}
		point, found := s.With(below).Solve(budget)
		switch found {
		case integers.SolvableBy:
			x.point = point
			value, ok = row.At(point)
		case integers.SolvableNever:
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
	if fixed[s.N], ok = integers.Add(fixed[s.N], -value); !ok {
		return s
	}
	out := s.Clone()
	out.Equal = append(out.Equal, fixed)
	return out
}

// tell fills in what conflicts.
func (m *meeting) tell(at *OverlapError, point []int64) {
	at.Example = true
	for i, to := range []*OverlapTouch{&at.Write, &at.Other} {
		s := &m.sides[i]
		to.Element, _ = s.index.At(point)
		var parts []string
		for depth := range min(m.c.outer+m.c.n, len(s.t.loopVars)) {
			if v := s.t.loopVars[depth]; v >= 0 && s.count[v] != nil {
				n, _ := s.values[v].At(point)
				parts = append(parts, fmt.Sprintf("%s = %d", s.t.vars[v].v.Name, n))
			}
		}
		to.Iteration = strings.Join(parts, ", ")
	}
}
