package integers

import (
	"math"
	"slices"
)

// This file decides systems of linear equations and inequalities over the integers exactly: the
// Omega test (Pugh, "The Omega Test: a fast and practical integer programming algorithm for
// dependence analysis", 1991). Equations are solved by substitution, with Euclid's algorithm on the
// coefficients of a variable where none is 1; differs: no symmetric modulo, no new variables.
// Variables of inequalities are eliminated after Fourier and Motzkin; where that loses integers,
// between the real and the dark shadow, splinters are looked at one by one.

// An Row is a linear form: the coefficients of the variables, and a constant behind them.
type Row []int64

// An System is what rows over n variables have to hold: that those of equal are 0, and those of
// least not negative.
type System struct {
	N     int
	Equal []Row
	Least []Row
}

// A solvable says whether a system has a solution.
type solvable uint8

const (
	solvableUnknown solvable = iota // numbers leave 64 bits, or the work its bound
	SolvableNever
	SolvableBy // a point that was found
)

func (s *System) Clone() *System {
	out := &System{N: s.N, Equal: make([]Row, len(s.Equal)), Least: make([]Row, len(s.Least), len(s.Least)+1)}
	for i, r := range s.Equal {
		out.Equal[i] = slices.Clone(r)
	}
	for i, r := range s.Least {
		out.Least[i] = slices.Clone(r)
	}
	return out
}

// With returns s and one more row that must not be negative.
func (s *System) With(r Row) *System {
	out := s.Clone()
	out.Least = append(out.Least, slices.Clone(r))
	return out
}

// Solve looks for a solution. work is the number of rows that may still be looked at; it is taken
// from. s is used up.
func (s *System) Solve(work *int) ([]int64, solvable) {
	if found := s.tidy(work); found != solvableUnknown {
		return nil, found
	}
	if *work < 0 {
		return nil, solvableUnknown
	}
	if len(s.Equal) > 0 {
		return s.substitute(work)
	}
	x, exact := s.choose()
	switch {
	case x < 0:
		return make([]int64, s.N), SolvableBy
	case exact:
		return s.project(x, work)
	}
	return s.splinter(x, work)
}

// tidy divides rows by what their coefficients have in common, and leaves of rows with the same
// coefficients the tighter one. It returns SolvableNever where a row never holds, else
// solvableUnknown.
func (s *System) tidy(work *int) solvable {
	if !s.tidyEqual() {
		return SolvableNever
	}
	kept := s.Least[:0]
	for _, r := range s.Least {
		*work--
		g := r.divisor()
		if g == 0 {
			if r[s.N] < 0 {
				return SolvableNever
			}
			continue
		}
		if g > 1 {
			for i := range s.N {
				r[i] /= g
			}
			r[s.N] = FloorDiv(r[s.N], g)
		}
		switch again, never := s.parallel(kept, r); {
		case never:
			return SolvableNever
		case !again:
			kept = append(kept, r)
		}
	}
	s.Least = kept
	if len(s.Equal) > 0 && !s.tidyEqual() {
		return SolvableNever
	}
	return solvableUnknown
}

// parallel compares r with the rows before: again where one says as much, or is made to; never
// where r and one exclude each other. Two that leave one value make an equation.
func (s *System) parallel(rows []Row, r Row) (again, never bool) {
	n := s.N
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
		sum, ok := Add(o[n], r[n])
		if ok && sum < 0 {
			return false, true
		}
		if ok && sum == 0 {
			s.Equal = append(s.Equal, slices.Clone(r))
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
func (s *System) tidyEqual() bool {
	kept := s.Equal[:0]
	for _, r := range s.Equal {
		g := r.divisor()
		if g == 0 {
			if r[s.N] != 0 {
				return false
			}
			continue
		}
		if r[s.N]%g != 0 {
			return false
		}
		for i := range r {
			r[i] /= g
		}
		kept = append(kept, r)
	}
	s.Equal = kept
	return true
}

// divisor returns the greatest common divisor of the coefficients, 0 where there are none.
func (r Row) divisor() int64 {
	g := uint64(0)
	for _, c := range r[:len(r)-1] {
		for a := Magnitude(c); a != 0; {
			g, a = a, g%a
		}
		if g == 1 {
			break
		}
	}
	return int64(g)
}

// substitute takes an equation out of s.
func (s *System) substitute(work *int) ([]int64, solvable) {
	e, k := s.Equal[0], -1
	for _, r := range s.Equal {
		for i, c := range r[:s.N] {
			if c != 0 && (k < 0 || Magnitude(c) < Magnitude(e[k])) {
				e, k = r, i
			}
		}
	}
	if Magnitude(e[k]) > 1 {
		return s.euclid(e, k, work)
	}
	e = slices.Clone(e)
	for _, rows := range [][]Row{s.Equal, s.Least} {
		for _, r := range rows {
			*work--
			if r[k] != 0 && !r.Add(e, -r[k]*e[k]) {
				return nil, solvableUnknown
			}
		}
	}
	point, found := s.Solve(work)
	if found != SolvableBy {
		return nil, found
	}
	point[k] = 0
	rest, ok := e.At(point)
	if point[k] = -rest * e[k]; !ok {
		return nil, solvableUnknown
	}
	return point, found
}

// euclid makes variable k, whose coefficient in e is the least, stand for itself and multiples of
// the others, such that their coefficients in e get less than half of it.
func (s *System) euclid(e Row, k int, work *int) ([]int64, solvable) {
	times := make([]int64, s.N)
	for i, c := range e[:s.N] {
		if i != k && c != 0 {
			times[i] = nearestQuotient(c, e[k])
		}
	}
	for _, rows := range [][]Row{s.Equal, s.Least} {
		for _, r := range rows {
			*work--
			for i, q := range times {
				take, ok := Mul(r[k], q)
				sum, fits := Add(r[i], -take)
				if r[i] = sum; !ok || !fits || sum == math.MinInt64 {
					return nil, solvableUnknown
				}
			}
		}
	}
	point, found := s.Solve(work)
	if found != SolvableBy {
		return nil, found
	}
	own := Number{point[k], true}
	for i, q := range times {
		own = own.Minus(Number{q, true}.Times(Number{point[i], true}))
	}
	if point[k] = own.N; !own.Ok {
		return nil, solvableUnknown
	}
	return point, found
}

// nearestQuotient returns the integer nearest to a/b.
func nearestQuotient(a, b int64) int64 {
	q, r := a/b, a%b
	if Magnitude(r) > Magnitude(b)/2 {
		if (r < 0) == (b < 0) {
			q++
		} else {
			q--
		}
	}
	return q
}

// Add adds a multiple of o to r; false where a number leaves 64 bits.
func (r Row) Add(o Row, times int64) bool {
	for i, c := range o {
		product, ok := Mul(c, times)
		sum, fits := Add(r[i], product)
		if r[i] = sum; !ok || !fits || sum == math.MinInt64 {
			return false
		}
	}
	return true
}

// At returns the value of r at a point.
func (r Row) At(point []int64) (int64, bool) {
	n := len(r) - 1
	sum := Number{r[n], true}
	for i, c := range r[:n] {
		if c != 0 {
			sum = sum.Plus(Number{c, true}.Times(Number{point[i], true}))
		}
	}
	return sum.N, sum.Ok
}

// choose returns the variable that is eliminated next, -1 where no row has one, and whether that
// loses no integers.
func (s *System) choose() (best int, exact bool) {
	best = -1
	cost := 0
	for x := range s.N {
		up, down, lossy := 0, 0, false
		least, greatest := int64(1), int64(1)
		for _, r := range s.Least {
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

// exactly reports whether an integer lies between any two bounds of x that leave a number: each
// pair says the same in the real as in the dark shadow.
func (s *System) exactly(x int) bool {
	for _, lo := range s.Least {
		for _, hi := range s.Least {
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

// sameWithout reports whether r, or a row with no variables that holds, says the same where its
// constant is less by loss.
func (r Row) sameWithout(loss int64) bool {
	n := len(r) - 1
	less, ok := Add(r[n], -loss)
	g := r.divisor()
	if g == 0 {
		return r[n] < 0 || ok && less >= 0
	}
	return ok && FloorDiv(r[n], g) == FloorDiv(less, g)
}

// combineBounds returns what a bound from below and one from above leave of the others, and what
// its constant loses in the dark shadow.
func combineBounds(lo, hi Row, x int) (r Row, loss int64, ok bool) {
	a, b := lo[x], -hi[x]
	g := greatestDivisor(a, b)
	r = make(Row, len(lo))
	if !r.Add(lo, b/g) || !r.Add(hi, a/g) {
		return nil, 0, false
	}
	loss, ok = Mul(a-1, b-1)
	return r, ceilDiv(loss, g), ok
}

func greatestDivisor(a, b int64) int64 {
	for b != 0 {
		a, b = b, a%b
	}
	return a
}

// shadow returns s without variable x: the real one, or the dark one, of which each point is one of
// s.
func (s *System) shadow(x int, dark bool, work *int) (*System, bool) {
	out := &System{N: s.N}
	for _, lo := range s.Least {
		if lo[x] == 0 {
			out.Least = append(out.Least, slices.Clone(lo))
			continue
		}
		for _, hi := range s.Least {
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
				if r[s.N], ok = Add(r[s.N], -loss); !ok {
					return nil, false
				}
			}
			out.Least = append(out.Least, r)
		}
	}
	return out, true
}

// project solves s by its shadow without x, of which each point is one of s.
func (s *System) project(x int, work *int) ([]int64, solvable) {
	shadow, ok := s.shadow(x, false, work)
	if !ok {
		return nil, solvableUnknown
	}
	point, found := shadow.Solve(work)
	if found == SolvableBy {
		return s.lift(point, x)
	}
	return nil, found
}

// lift puts x at an integer between its bounds at point, solvableUnknown where there is none.
func (s *System) lift(point []int64, x int) ([]int64, solvable) {
	var lo, hi int64
	var below, above bool
	point[x] = 0
	for _, r := range s.Least {
		if r[x] == 0 {
			continue
		}
		rest, ok := r.At(point)
		if !ok || rest == -rest && rest != 0 {
			return nil, solvableUnknown
		}
		if r[x] > 0 {
			if n := ceilDiv(-rest, r[x]); !below || n > lo {
				lo, below = n, true
			}
		} else if n := FloorDiv(rest, -r[x]); !above || n < hi {
			hi, above = n, true
		}
	}
	if below && above && lo > hi {
		return nil, solvableUnknown
	}
	if point[x] = lo; !below {
		point[x] = hi
	}
	return point, SolvableBy
}

// splinter solves s where eliminating x may lose integers.
func (s *System) splinter(x int, work *int) ([]int64, solvable) {
	original := s.Clone()
	point, found := s.project(x, work)
	if found != solvableUnknown {
		return point, found
	}
	if dark, ok := original.shadow(x, true, work); ok {
		if point, found := dark.Solve(work); found == SolvableBy {
			return original.lift(point, x)
		}
	}
	most := int64(1) // coefficient of a bound from above
	for _, r := range original.Least {
		most = max(most, -r[x])
	}
	decided := true
	for _, r := range original.Least {
		if r[x] <= 1 {
			continue
		}
		product, ok := Mul(r[x], most)
		if !ok {
			return nil, solvableUnknown
		}
		for i := range (product-r[x]-most)/most + 1 {
			if *work < 0 {
				return nil, solvableUnknown
			}
			part := original.Clone()
			e := slices.Clone(r)
			if e[s.N], ok = Add(e[s.N], -i); !ok {
				return nil, solvableUnknown
			}
			part.Equal = append(part.Equal, e)
			point, found := part.Solve(work)
			if found == SolvableBy {
				return point, found
			}
			decided = decided && found == SolvableNever
		}
	}
	if !decided {
		return nil, solvableUnknown
	}
	return nil, SolvableNever
}

// ceilDiv returns the least integer that is at least a/b, b being positive.
func ceilDiv(a, b int64) int64 { return -FloorDiv(-a, b) }

// Minus returns a - b.
func (a Row) Minus(b Row) (Row, bool) {
	out := slices.Clone(a)
	return out, out.Add(b, -1)
}

// AddConst returns r + c.
func (r Row) AddConst(c int64) (Row, bool) {
	out := slices.Clone(r)
	sum, ok := Add(r[len(r)-1], c)
	out[len(r)-1] = sum
	return out, ok
}
