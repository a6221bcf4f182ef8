package codegen_test

import (
	"math/rand/v2"
	"sync"

	"github.com/gompss/gompss/codegen/testdata/geometry"
)

// More kernels of language_test.go: methods, and what other packages declare. Kernels do not use all of what this file imports.

type counter struct {
	n    int
	sums [3]int
}

func (c *counter) add(v int)         { c.n++; c.sums[v%3] += v }
func (c counter) total() int         { return c.sums[0] + c.sums[1] + c.sums[2] }
func (c counter) with(v int) counter { c.n += v; return c }
func (c counter) each(f func(int) int) (sum int) {
	for _, v := range c.sums {
		sum += f(v)
	}
	return sum
}

type outer struct {
	counter
	scale
}

type scale int

func (s scale) of(v int) int { return int(s) * v }

type ring[T int | int32] struct{ a, b T }

func (r *ring[T]) push(v T) { r.a, r.b = v, r.a }
func (r ring[T]) sum() T    { return r.a + r.b }

type summer interface{ total() int }

func totalOf[T summer](v T) int { return v.total() + 1 }

func applyTo(v int, f func(int) int) int { return f(v) }

var formsLock sync.Mutex

var _ = unusedByKernels

func unusedByKernels() int {
	formsLock.Lock()
	defer formsLock.Unlock()
	return rand.IntN(4) + geometry.Random()
}

//omp:target
//omp:task inout(x) in(y)
func LangMethods(x, y []int) {
	//omp:teams distribute parallel for
	for i := range x {
		var c counter
		for j := range i%5 + 1 {
			c.add(y[j%len(y)] + j)
		}
		o := outer{counter: c, scale: scale(i % 3)}
		o.add(i)
		inner := &c
		inner.add(2 * i)
		var r ring[int]
		r.push(o.total())
		r.push(c.with(3).n)
		double := func(v int) int { return 2*v + i }
		times := o.scale.of
		x[i] = r.sum() + o.of(i) + totalOf(c) + c.each(double) + c.each(o.of) + applyTo(i, times) + counter.total(c)
	}
}

//omp:target
//omp:task inout(p) in(q)
func LangOtherPackage(p []geometry.Point, q []geometry.Pair[float64]) {
	//omp:teams distribute parallel for num_threads(geometry.Two * 32)
	for i := range p {
		v := p[i]
		v.Move(geometry.Point{X: geometry.Unit, Y: q[i].Dot()})
		p[i].X = v.Norm() * geometry.Weigh(i)
		p[i].Y = float64(geometry.Three) + p[i].Norm()
	}
}

type sums struct {
	n     int
	part  struct{ even, odd int }
	least [2]int
	all   bool
}

//omp:target
//omp:task in(x) inout(*a, c, (*d)[1], w)
func LangReducedPlaces(x, w []int, a *sums, c *[2]int, d *[3]int) {
	//omp:teams distribute parallel for reduction(+: c[0]) reduction(max: (*c)[1]) reduction(+: (*d)[1])
	for i := range x {
		c[0] += x[i]
		if x[i] > c[1] && x[i] < 8 {
			c[1] = x[i]
		}
		(*d)[1] += 2
	}
	//omp:teams distribute parallel for reduction(+: a.n, a.part.even) reduction(+: a.part.odd) reduction(min: a.least[0]) reduction(&&: a.all)
	for i := range x {
		a.n++
		if x[i]%2 == 0 {
			a.part.even += x[i]
		} else {
			a.part.odd += x[i]
		}
		a.least[0] = min(x[i], a.least[0], x[i/2], i-len(w))
		a.all = a.all && x[i] >= 0
	}
	var local sums
	//omp:teams distribute parallel for reduction(^: local.part.even) reduction(max: local.least[1])
	for i := range x {
		local.part.even ^= x[i]
		local.least[1] = max(i, x[i], local.least[1])
	}
	a.least[1] = local.part.even + local.least[1]
	//omp:teams distribute
	for i := range w {
		//omp:parallel for reduction(+: w[i])
		for j := range x {
			w[i] += x[j] * i
		}
	}
	//omp:teams distribute parallel for
	for i := range w {
		//omp:simd reduction(max: w[i])
		for j := range x {
			w[i] = max(w[i], x[j], x[j]*i, j)
		}
	}
	//omp:teams distribute parallel for reduction(+: w[len(w)-1])
	for i := range x {
		w[len(w)-1] += x[i]
	}
}

//omp:target
//omp:task in(x) inout(y)
func LangLeastOfSeveral(x, y []int) {
	least, most, under, all := y[0], y[0], 0, 1000
	//omp:teams distribute parallel for reduction(min: least, all) reduction(max: most, under)
	for i := 0; i < len(x); i++ {
		least = min(least, x[i], x[(i+1)%len(x)]-3, i)
		most = max(x[i], most, 3*i)
		if i%3 == 0 && x[i] > under && x[i] < 7 {
			under = x[i]
		}
		if x[i] < all {
			all = x[i]
		}
	}
	y[0] = least + 100*most + 10000*under + all
}

func shift(row []int, by int) int { return copy(row[by:], row) + copy(row, row[by:]) }

//omp:target
//omp:task inout(x) in(y)
func LangCopyAndClear(rows, cols int, x, y []int) {
	//omp:teams distribute parallel for
	for r := 0; r < rows; r++ {
		row := x[r*cols : (r+1)*cols]
		n := copy(row, y[r*cols:])
		var keep [4]int
		var pairs [3]vector
		pairs[1].x = 2
		n += 10 * copy(keep[1:], row)
		copy(keep[:], keep[1:])
		copy(keep[2:], keep[:])
		n += shift(row, min(1, cols))
		clear(keep[3:])
		clear(pairs[1:])
		clear(row[cols/2:])
		row[0] += n + keep[0] + 10*keep[2] + 100*keep[3] + int(pairs[1].x)
	}
}

//omp:target
//omp:task in(v, v[0:2], q) inout(p[0:2]) out(x)
func LangArrayClauses(x []int, v [3]int, q vector, p *[4]int) {
	//omp:loop bind(teams, parallel)
	for i := range x {
		x[i] = v[i%3] + p[i%2] + int(q.x)
	}
	p[1] = v[2]
}

// LangBigUnsigned has uint64 constants that no int64 holds.
//
//omp:target device(acc, smp)
//omp:task inout(x, y)
func LangBigUnsigned(x []uint64, y []int) {
	const top, last, odd = 1 << 63, 1<<64 - 1, 0xfedcba9876543211
	//omp:teams distribute parallel for
	for i := range x {
		v := x[i]
		s := v + last
		s ^= v - top
		s += v * odd
		s ^= v * last
		s += v / odd
		s ^= v % odd
		s += v/top + v%top + v/last + v%last
		s ^= v & odd
		s += v | top
		s ^= odd &^ v
		s += top - v
		s ^= min(v, odd) + max(v, top)
		s += v<<(v|top) + v>>(v|odd) + v<<last&3 + uint64(int64(v)>>(v|top))
		if v > odd {
			s++
		}
		if v >= top && v != last {
			s += 5
		}
		if last-v < top {
			s ^= 9
		}
		for k := uint64(top - 3); k < top+3 && k < v; k++ {
			s += k
		}
		for k := uint64(last); k > last-3; k-- {
			s ^= k
		}
		for k := uint64(last - 5); k < last; k += 5 {
			s += k
		}
		switch v {
		case odd:
			s += 1000
		case last, top:
			s += 2000
		}
		s += uint64(y[(v|top)%uint64(len(y))]) + uint64(float64(v|top)/4)
		x[i] = s
	}
}
