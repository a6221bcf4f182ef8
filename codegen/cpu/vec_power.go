package cpu

import (
	"math"

	"github.com/gompss/gompss/codegen/cpu/x86"
	"github.com/gompss/gompss/codegen/ir"
)

// power2 is x^y and y*log x, for positive normal x and a product in range.
func (s series) power2(x, y x86.Reg) (power, product x86.Reg) {
	high, low := s.twoWordLog(x)
	product = s.mul(y, x86.RegArg(high))
	rest := s.mul(y, x86.RegArg(low))
	rest = s.sub(rest, x86.RegArg(s.lost(product, y, high)))
	n := s.round(s.mul(product, s.at(math.Log2E)))
	ln2High, ln2Low := s.ln2()
	first := s.copy(product)
	s.subProduct(first, n, s.at(ln2High)) // exact
	second := s.mul(n, s.at(ln2Low))
	r := s.sub(first, x86.RegArg(second))
	rest = s.add(rest, x86.RegArg(s.sub(s.sub(first, x86.RegArg(r)), x86.RegArg(second))))
	q := s.expPoly(r)
	s.addProduct(q, s.copy(q), x86.RegArg(rest))
	return s.scale(q, n), product
}

// lost is p - x*y, what rounding the product p of x and y has added.
func (s series) lost(p, x, y x86.Reg) x86.Reg {
	r := s.copy(p)
	s.subProduct(r, x, x86.RegArg(y))
	return r
}

// twoWordLog is log x as the sum of two words. With x = m*2^e, f = m-1 and s = f/(2+f) = q + l it is e*ln2 + 2s + 2/3*s^3 + s^5*(2/5 + 2/7*s*s +
// ...); all but the last sum is kept in two words.
func (s series) twoWordLog(x x86.Reg) (high, low x86.Reg) {
	m, e := s.split(x)
	f := s.sub(m, s.at(1))
	d := s.add(f, s.at(2))
	dLow := s.sub(f, x86.RegArg(s.sub(d, s.at(2))))
	q := s.div(f, x86.RegArg(d))
	left := s.copy(f)
	s.subProduct(left, q, x86.RegArg(d))
	s.subProduct(left, q, x86.RegArg(dLow))
	l := s.div(left, x86.RegArg(d))

	z := s.mul(q, x86.RegArg(q))
	zLow := s.mul(s.add(q, x86.RegArg(q)), x86.RegArg(l))
	zLow = s.sub(zLow, x86.RegArg(s.lost(z, q, q)))
	cube := s.mul(q, x86.RegArg(z))
	cubeLow := s.mul(q, x86.RegArg(zLow))
	s.addProduct(cubeLow, l, x86.RegArg(z))
	cubeLow = s.sub(cubeLow, x86.RegArg(s.lost(cube, q, z)))
	two3, two3Low := 2.0/3, 3.700743415417188e-17
	if s.t.Size == 4 {
		two3 = float64(float32(2.0 / 3))
		two3Low = 2.0/3 - two3
	}
	third := s.mul(cube, s.at(two3))
	thirdLow := s.mul(cube, s.at(two3Low))
	s.addProduct(thirdLow, cubeLow, s.at(two3))
	thirdLow = s.sub(thirdLow, x86.RegArg(s.lost(third, cube, s.c(two3))))

	ln2High, ln2Low := s.ln2()
	whole := s.mul(e, s.at(ln2High)) // exact
	double := s.add(q, x86.RegArg(q))
	sum := s.add(whole, x86.RegArg(double))
	low = s.sub(double, x86.RegArg(s.sub(sum, x86.RegArg(whole))))
	high = s.add(sum, x86.RegArg(third))
	low = s.add(low, x86.RegArg(s.sub(third, x86.RegArg(s.sub(high, x86.RegArg(sum))))))
	small := s.mul(s.mul(cube, x86.RegArg(z)), x86.RegArg(s.poly(z, s.atanhRest()...)))
	s.addProduct(small, e, s.at(ln2Low))
	small = s.add(small, x86.RegArg(s.add(thirdLow, x86.RegArg(s.add(l, x86.RegArg(l))))))
	low = s.add(low, x86.RegArg(small))
	sum = s.add(high, x86.RegArg(low)) // the second word of ln2 is not small beside the first
	return sum, s.sub(low, x86.RegArg(s.sub(sum, x86.RegArg(high))))
}

// atanhRest are 2/5, 2/7, ...: s*s is at most 0.0295.
func (s series) atanhRest() []float64 {
	n := 12
	if s.t.Size == 4 {
		n = 6
	}
	c := make([]float64, n)
	for i := range c {
		c[i] = 2 / float64(5+2*i)
	}
	return c
}

// powerLimit is the largest |y*log x| that is raised here: beyond it the result may overflow or lose bits.
func powerLimit(t *ir.Type) float64 {
	if t.Size == 8 {
		return 700
	}
	return 86
}
