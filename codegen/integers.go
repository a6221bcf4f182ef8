package codegen

import (
	"math"
	"slices"
)

// This file decides systems of linear equations and inequalities over the integers exactly: the Omega test (Pugh, "The Omega Test: a fast and
// practical integer programming algorithm for dependence analysis", 1991). Equations are solved by substitution, with Euclid's algorithm on
// the coefficients of a variable where none is 1; differs: no symmetric modulo, no new variables. Variables of inequalities are eliminated
// after Fourier and Motzkin; where that loses integers, between the real and the dark shadow, splinters are looked at one by one.

// An intRow is a linear form: the coefficients of the variables, and a constant behind them.
type intRow []int64

// An intSystem is what rows over n variables have to hold: that those of equal are 0, and those of least not negative.
type intSystem struct {
	n     int
	equal []intRow
	least []intRow
}

// A solvable says whether a system has a solution.
type solvable uint8

const (
	solvableUnknown solvable = iota // numbers leave 64 bits, or the work its bound
	solvableNever
	solvableBy // a point that was found
)

func (s *intSystem) clone() *intSystem {
	out := &intSystem{n: s.n, equal: make([]intRow, len(s.equal)), least: make([]intRow, len(s.least), len(s.least)+1)}
	for i, r := range s.equal {
		out.equal[i] = slices.Clone(r)
	}
	for i, r := range s.least {
		out.least[i] = slices.Clone(r)
	}
	return out
}

// with returns s and one more row that must not be negative.
func (s *intSystem) with(r intRow) *intSystem {
	out := s.clone()
	out.least = append(out.least, slices.Clone(r))
	return out
}

// solve looks for a solution. work is how many rows may still be looked at; it is taken from. s is used up.
func (s *intSystem) solve(work *int) ([]int64, solvable) {
	if found := s.tidy(work); found != solvableUnknown {
		return nil, found
	}
	if *work < 0 {
		return nil, solvableUnknown
	}
	if len(s.equal) > 0 {
		return s.substitute(work)
	}
	x, exact := s.choose()
	switch {
	case x < 0:
		return make([]int64, s.n), solvableBy
	case exact:
		return s.project(x, work)
	}
	return s.splinter(x, work)
}

// tidy divides rows by what their coefficients have in common, and leaves of rows with the same coefficients the tighter one. It returns
// solvableNever where a row never holds, else solvableUnknown.
func (s *intSystem) tidy(work *int) solvable {
	if !s.tidyEqual() {
		return solvableNever
	}
	kept := s.least[:0]
	for _, r := range s.least {
		*work--
		g := r.divisor()
		if g == 0 {
			if r[s.n] < 0 {
				return solvableNever
			}
			continue
		}
		if g > 1 {
			for i := range s.n {
				r[i] /= g
			}
			r[s.n] = floorDiv(r[s.n], g)
		}
		switch again, never := s.parallel(kept, r); {
		case never:
			return solvableNever
		case !again:
			kept = append(kept, r)
		}
	}
	s.least = kept
	if len(s.equal) > 0 && !s.tidyEqual() {
		return solvableNever
	}
	return solvableUnknown
}

// parallel compares r with the rows before: again where one says as much, or is made to; never where r and one exclude each other. Two that
// leave one value make an equation.
func (s *intSystem) parallel(rows []intRow, r intRow) (again, never bool) {
	n := s.n
	for _, o := range rows {
		if slices.Equal(o[:n], r[:n]) {
			o[n] = min(o[n], r[n])
			return true, false
		}
	}
	for _, o := range rows {
		if !oppositeRows(o[:n], r[:n]) {
			continue
		}
		sum, ok := addInt64(o[n], r[n])
		if ok && sum < 0 {
			return false, true
		}
		if ok && sum == 0 {
			s.equal = append(s.equal, slices.Clone(r))
		}
	}
	return false, false
}

func oppositeRows(a, b []int64) bool {
	for i := range a {
		if a[i] != -b[i] {
			return false
		}
	}
	return true
}

// tidyEqual returns false where an equation has no solution over the integers.
func (s *intSystem) tidyEqual() bool {
	kept := s.equal[:0]
	for _, r := range s.equal {
		g := r.divisor()
		if g == 0 {
			if r[s.n] != 0 {
				return false
			}
			continue
		}
		if r[s.n]%g != 0 {
			return false
		}
		for i := range r {
			r[i] /= g
		}
		kept = append(kept, r)
	}
	s.equal = kept
	return true
}

// divisor returns the greatest common divisor of the coefficients, 0 where there are none.
func (r intRow) divisor() int64 {
	g := uint64(0)
	for _, c := range r[:len(r)-1] {
		for a := magnitude(c); a != 0; {
			g, a = a, g%a
		}
		if g == 1 {
			break
		}
	}
	return int64(g)
}

// substitute takes an equation out of s.
func (s *intSystem) substitute(work *int) ([]int64, solvable) {
	e, k := s.equal[0], -1
	for _, r := range s.equal {
		for i, c := range r[:s.n] {
			if c != 0 && (k < 0 || magnitude(c) < magnitude(e[k])) {
				e, k = r, i
			}
		}
	}
	if magnitude(e[k]) > 1 {
		return s.euclid(e, k, work)
	}
	e = slices.Clone(e)
	for _, rows := range [][]intRow{s.equal, s.least} {
		for _, r := range rows {
			*work--
			if r[k] != 0 && !r.add(e, -r[k]*e[k]) {
				return nil, solvableUnknown
			}
		}
	}
	point, found := s.solve(work)
	if found != solvableBy {
		return nil, found
	}
	point[k] = 0
	rest, ok := e.at(point)
	if point[k] = -rest * e[k]; !ok {
		return nil, solvableUnknown
	}
	return point, found
}

// euclid makes variable k, whose coefficient in e is the least, stand for itself and multiples of the others, such that their coefficients in
// e get less than half of it.
func (s *intSystem) euclid(e intRow, k int, work *int) ([]int64, solvable) {
	times := make([]int64, s.n)
	for i, c := range e[:s.n] {
		if i != k && c != 0 {
			times[i] = nearestQuotient(c, e[k])
		}
	}
	for _, rows := range [][]intRow{s.equal, s.least} {
		for _, r := range rows {
			*work--
			for i, q := range times {
				take, ok := mulInt64(r[k], q)
				sum, fits := addInt64(r[i], -take)
				if r[i] = sum; !ok || !fits || sum == math.MinInt64 {
					return nil, solvableUnknown
				}
			}
		}
	}
	point, found := s.solve(work)
	if found != solvableBy {
		return nil, found
	}
	own := number{point[k], true}
	for i, q := range times {
		own = own.minus(number{q, true}.times(number{point[i], true}))
	}
	if point[k] = own.n; !own.ok {
		return nil, solvableUnknown
	}
	return point, found
}

// nearestQuotient returns the integer nearest to a/b.
func nearestQuotient(a, b int64) int64 {
	q, r := a/b, a%b
	if magnitude(r) > magnitude(b)/2 {
		if (r < 0) == (b < 0) {
			q++
		} else {
			q--
		}
	}
	return q
}

// add adds a multiple of o to r; false where a number leaves 64 bits.
func (r intRow) add(o intRow, times int64) bool {
	for i, c := range o {
		product, ok := mulInt64(c, times)
		sum, fits := addInt64(r[i], product)
		if r[i] = sum; !ok || !fits || sum == math.MinInt64 {
			return false
		}
	}
	return true
}

// at returns the value of r at a point.
func (r intRow) at(point []int64) (int64, bool) {
	n := len(r) - 1
	sum := number{r[n], true}
	for i, c := range r[:n] {
		if c != 0 {
			sum = sum.plus(number{c, true}.times(number{point[i], true}))
		}
	}
	return sum.n, sum.ok
}

// choose returns the variable that is eliminated next, -1 where no row has one, and whether that loses no integers.
func (s *intSystem) choose() (best int, exact bool) {
	best = -1
	cost := 0
	for x := range s.n {
		up, down, lossy := 0, 0, false
		least, greatest := int64(1), int64(1)
		for _, r := range s.least {
			switch {
			case r[x] > 0:
				up, least = up+1, max(least, r[x])
			case r[x] < 0:
				down, greatest = down+1, max(greatest, -r[x])
			}
		}
		if up+down == 0 {
			continue
		}
		lossy = least > 1 && greatest > 1 && !s.exactly(x)
		c := up*down - up - down
		if best < 0 || !lossy && !exact || lossy == !exact && c < cost {
			best, exact, cost = x, !lossy, c
		}
	}
	return best, exact
}

// exactly reports whether an integer lies between any two bounds of x that leave a number: each pair says the same in the real as in the dark
// shadow.
func (s *intSystem) exactly(x int) bool {
	for _, lo := range s.least {
		for _, hi := range s.least {
			if lo[x] <= 1 || hi[x] >= -1 {
				continue
			}
			r, loss, ok := combineBounds(lo, hi, x)
			if !ok || !r.sameWithout(loss) {
				return false
			}
		}
	}
	return true
}

// sameWithout reports whether r, or a row with no variables that holds, says the same where its constant is less by loss.
func (r intRow) sameWithout(loss int64) bool {
	n := len(r) - 1
	less, ok := addInt64(r[n], -loss)
	g := r.divisor()
	if g == 0 {
		return r[n] < 0 || ok && less >= 0
	}
	return ok && floorDiv(r[n], g) == floorDiv(less, g)
}

// combineBounds returns what a bound from below and one from above leave of the others, and what its constant loses in the dark shadow.
func combineBounds(lo, hi intRow, x int) (r intRow, loss int64, ok bool) {
	a, b := lo[x], -hi[x]
	g := greatestDivisor(a, b)
	r = make(intRow, len(lo))
	if !r.add(lo, b/g) || !r.add(hi, a/g) {
		return nil, 0, false
	}
	loss, ok = mulInt64(a-1, b-1)
	return r, ceilDiv(loss, g), ok
}

func greatestDivisor(a, b int64) int64 {
	for b != 0 {
		a, b = b, a%b
	}
	return a
}

// shadow returns s without variable x: the real one, or the dark one, of which each point is one of s.
func (s *intSystem) shadow(x int, dark bool, work *int) (*intSystem, bool) {
	out := &intSystem{n: s.n}
	for _, lo := range s.least {
		if lo[x] == 0 {
			out.least = append(out.least, slices.Clone(lo))
			continue
		}
		for _, hi := range s.least {
			if lo[x] < 0 || hi[x] >= 0 {
				continue
			}
			if *work--; *work < 0 {
				return nil, false
			}
			r, loss, ok := combineBounds(lo, hi, x)
			if !ok {
				return nil, false
			}
			if dark {
				if r[s.n], ok = addInt64(r[s.n], -loss); !ok {
					return nil, false
				}
			}
			out.least = append(out.least, r)
		}
	}
	return out, true
}

// project solves s by its shadow without x, of which each point is one of s.
func (s *intSystem) project(x int, work *int) ([]int64, solvable) {
	shadow, ok := s.shadow(x, false, work)
	if !ok {
		return nil, solvableUnknown
	}
	point, found := shadow.solve(work)
	if found == solvableBy {
		return s.lift(point, x)
	}
	return nil, found
}

// lift puts x at an integer between its bounds at point, solvableUnknown where there is none.
func (s *intSystem) lift(point []int64, x int) ([]int64, solvable) {
	var lo, hi int64
	var below, above bool
	point[x] = 0
	for _, r := range s.least {
		if r[x] == 0 {
			continue
		}
		rest, ok := r.at(point)
		if !ok || rest == -rest && rest != 0 {
			return nil, solvableUnknown
		}
		if r[x] > 0 {
			if n := ceilDiv(-rest, r[x]); !below || n > lo {
				lo, below = n, true
			}
		} else if n := floorDiv(rest, -r[x]); !above || n < hi {
			hi, above = n, true
		}
	}
	if below && above && lo > hi {
		return nil, solvableUnknown
	}
	if point[x] = lo; !below {
		point[x] = hi
	}
	return point, solvableBy
}

// splinter solves s where eliminating x may lose integers.
func (s *intSystem) splinter(x int, work *int) ([]int64, solvable) {
	original := s.clone()
	point, found := s.project(x, work)
	if found != solvableUnknown {
		return point, found
	}
	if dark, ok := original.shadow(x, true, work); ok {
		if point, found := dark.solve(work); found == solvableBy {
			return original.lift(point, x)
		}
	}
	most := int64(1) // coefficient of a bound from above
	for _, r := range original.least {
		most = max(most, -r[x])
	}
	decided := true
	for _, r := range original.least {
		if r[x] <= 1 {
			continue
		}
		product, ok := mulInt64(r[x], most)
		if !ok {
			return nil, solvableUnknown
		}
		for i := range (product-r[x]-most)/most + 1 {
			if *work < 0 {
				return nil, solvableUnknown
			}
			part := original.clone()
			e := slices.Clone(r)
			if e[s.n], ok = addInt64(e[s.n], -i); !ok {
				return nil, solvableUnknown
			}
			part.equal = append(part.equal, e)
			point, found := part.solve(work)
			if found == solvableBy {
				return point, found
			}
			decided = decided && found == solvableNever
		}
	}
	if !decided {
		return nil, solvableUnknown
	}
	return nil, solvableNever
}

// ceilDiv returns the least integer that is at least a/b, b being positive.
func ceilDiv(a, b int64) int64 { return -floorDiv(-a, b) }
