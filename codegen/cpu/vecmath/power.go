package vecmath

import (
	"math"

	"github.com/gompss/gompss/codegen/cpu/x86"
	"github.com/gompss/gompss/codegen/ir"
)

// Power2 is x^y and y*log x, for positive normal x and a product in range.
func (s Series) Power2(x, y x86.Reg) (power, product x86.Reg) {
	high, low := s.twoWordLog(x)
	product = s.Mul(y, x86.RegArg(high))
	rest := s.Mul(y, x86.RegArg(low))
	rest = s.Sub(rest, x86.RegArg(s.lost(product, y, high)))
	n := s.round(s.Mul(product, s.At(math.Log2E)))
	ln2High, ln2Low := s.Ln2()
	first := s.Copy(product)
	s.subProduct(first, n, s.At(ln2High)) // exact
	second := s.Mul(n, s.At(ln2Low))
	r := s.Sub(first, x86.RegArg(second))
	rest = s.Add(rest, x86.RegArg(s.Sub(s.Sub(first, x86.RegArg(r)), x86.RegArg(second))))
	q := s.expPoly(r)
	s.AddProduct(q, s.Copy(q), x86.RegArg(rest))
	return s.scale(q, n), product
}

// lost is p - x*y, what rounding the product p of x and y has added.
func (s Series) lost(p, x, y x86.Reg) x86.Reg {
	r := s.Copy(p)
	s.subProduct(r, x, x86.RegArg(y))
	return r
}

// twoWordLog is log x as the sum of two words. With x = m*2^e, f = m-1 and s = f/(2+f) = q + l it
// is e*ln2 + 2s + 2/3*s^3 + s^5*(2/5 + 2/7*s*s + ...); all but the last sum is kept in two words.
func (s Series) twoWordLog(x x86.Reg) (high, low x86.Reg) {
	m, e := s.split(x)
	f := s.Sub(m, s.At(1))
	d := s.Add(f, s.At(2))
	dLow := s.Sub(f, x86.RegArg(s.Sub(d, s.At(2))))
	q := s.Div(f, x86.RegArg(d))
	left := s.Copy(f)
	s.subProduct(left, q, x86.RegArg(d))
	s.subProduct(left, q, x86.RegArg(dLow))
	l := s.Div(left, x86.RegArg(d))

	z := s.Mul(q, x86.RegArg(q))
	zLow := s.Mul(s.Add(q, x86.RegArg(q)), x86.RegArg(l))
	zLow = s.Sub(zLow, x86.RegArg(s.lost(z, q, q)))
	cube := s.Mul(q, x86.RegArg(z))
	cubeLow := s.Mul(q, x86.RegArg(zLow))
	s.AddProduct(cubeLow, l, x86.RegArg(z))
	cubeLow = s.Sub(cubeLow, x86.RegArg(s.lost(cube, q, z)))
	two3, two3Low := 2.0/3, 3.700743415417188e-17
	if s.Type.Size == 4 {
		two3 = float64(float32(2.0 / 3))
		two3Low = 2.0/3 - two3
	}
	third := s.Mul(cube, s.At(two3))
	thirdLow := s.Mul(cube, s.At(two3Low))
	s.AddProduct(thirdLow, cubeLow, s.At(two3))
	thirdLow = s.Sub(thirdLow, x86.RegArg(s.lost(third, cube, s.Const(two3))))

	ln2High, ln2Low := s.Ln2()
	whole := s.Mul(e, s.At(ln2High)) // exact
	double := s.Add(q, x86.RegArg(q))
	sum := s.Add(whole, x86.RegArg(double))
	low = s.Sub(double, x86.RegArg(s.Sub(sum, x86.RegArg(whole))))
	high = s.Add(sum, x86.RegArg(third))
	low = s.Add(low, x86.RegArg(s.Sub(third, x86.RegArg(s.Sub(high, x86.RegArg(sum))))))
	small := s.Mul(s.Mul(cube, x86.RegArg(z)), x86.RegArg(s.Polynomial(z, s.atanhRest()...)))
	s.AddProduct(small, e, s.At(ln2Low))
	small = s.Add(small, x86.RegArg(s.Add(thirdLow, x86.RegArg(s.Add(l, x86.RegArg(l))))))
	low = s.Add(low, x86.RegArg(small))
	sum = s.Add(high, x86.RegArg(low)) // the second word of ln2 is not small beside the first
	return sum, s.Sub(low, x86.RegArg(s.Sub(sum, x86.RegArg(high))))
}

// atanhRest are 2/5, 2/7, ...: s*s is at most 0.0295.
func (s Series) atanhRest() []float64 {
	n := 12
	if s.Type.Size == 4 {
		n = 6
	}
	c := make([]float64, n)
	for i := range c {
		c[i] = 2 / float64(5+2*i)
	}
	return c
}

// PowerLimit is the largest |y*log x| that is raised here: beyond it the result may overflow or
// lose bits.
func PowerLimit(t *ir.Type) float64 {
	if t.Size == 8 {
		return 700
	}
	return 86
}
