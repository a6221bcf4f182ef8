package vecmath

import (
	"math"

	"github.com/gompss/gompss/codegen/cpu/vcode"
	"github.com/gompss/gompss/codegen/ir"
)

// Power2 is x^y and y*log x, for positive normal x and a product in range.
func (s Series) Power2(x, y vcode.Reg) (power, product vcode.Reg) {
	high, low := s.twoWordLog(x)
	product = s.Mul(y, vcode.RegArg(high))
	rest := s.Mul(y, vcode.RegArg(low))
	rest = s.Sub(rest, vcode.RegArg(s.lost(product, y, high)))
	n := s.round(s.Mul(product, s.At(math.Log2E)))
	ln2High, ln2Low := s.Ln2()
	first := s.Copy(product)
	s.subProduct(first, n, s.At(ln2High)) // exact
	second := s.Mul(n, s.At(ln2Low))
	r := s.Sub(first, vcode.RegArg(second))
	rest = s.Add(rest, vcode.RegArg(s.Sub(s.Sub(first, vcode.RegArg(r)), vcode.RegArg(second))))
	q := s.expPoly(r)
	s.AddProduct(q, s.Copy(q), vcode.RegArg(rest))
	return s.scale(q, n), product
}

// lost is p - x*y, what rounding the product p of x and y has added.
func (s Series) lost(p, x, y vcode.Reg) vcode.Reg {
	r := s.Copy(p)
	s.subProduct(r, x, vcode.RegArg(y))
	return r
}

// twoWordLog is log x as the sum of two words. With x = m*2^e, f = m-1 and s = f/(2+f) = q + l it
// is e*ln2 + 2s + 2/3*s^3 + s^5*(2/5 + 2/7*s*s + ...); all but the last sum is kept in two words.
func (s Series) twoWordLog(x vcode.Reg) (high, low vcode.Reg) {
	m, e := s.split(x)
	f := s.Sub(m, s.At(1))
	d := s.Add(f, s.At(2))
	dLow := s.Sub(f, vcode.RegArg(s.Sub(d, s.At(2))))
	q := s.Div(f, vcode.RegArg(d))
	left := s.Copy(f)
	s.subProduct(left, q, vcode.RegArg(d))
	s.subProduct(left, q, vcode.RegArg(dLow))
	l := s.Div(left, vcode.RegArg(d))

	z := s.Mul(q, vcode.RegArg(q))
	zLow := s.Mul(s.Add(q, vcode.RegArg(q)), vcode.RegArg(l))
	zLow = s.Sub(zLow, vcode.RegArg(s.lost(z, q, q)))
	cube := s.Mul(q, vcode.RegArg(z))
	cubeLow := s.Mul(q, vcode.RegArg(zLow))
	s.AddProduct(cubeLow, l, vcode.RegArg(z))
	cubeLow = s.Sub(cubeLow, vcode.RegArg(s.lost(cube, q, z)))
	two3, two3Low := 2.0/3, 3.700743415417188e-17
	if s.Type.Size == 4 {
		two3 = float64(float32(2.0 / 3))
		two3Low = 2.0/3 - two3
	}
	third := s.Mul(cube, s.At(two3))
	thirdLow := s.Mul(cube, s.At(two3Low))
	s.AddProduct(thirdLow, cubeLow, s.At(two3))
	thirdLow = s.Sub(thirdLow, vcode.RegArg(s.lost(third, cube, s.Const(two3))))

	ln2High, ln2Low := s.Ln2()
	whole := s.Mul(e, s.At(ln2High)) // exact
	double := s.Add(q, vcode.RegArg(q))
	sum := s.Add(whole, vcode.RegArg(double))
	low = s.Sub(double, vcode.RegArg(s.Sub(sum, vcode.RegArg(whole))))
	high = s.Add(sum, vcode.RegArg(third))
	low = s.Add(low, vcode.RegArg(s.Sub(third, vcode.RegArg(s.Sub(high, vcode.RegArg(sum))))))
	small := s.Mul(s.Mul(cube, vcode.RegArg(z)), vcode.RegArg(s.Polynomial(z, s.atanhRest()...)))
	s.AddProduct(small, e, s.At(ln2Low))
	small = s.Add(small, vcode.RegArg(s.Add(thirdLow, vcode.RegArg(s.Add(l, vcode.RegArg(l))))))
	low = s.Add(low, vcode.RegArg(small))
	sum = s.Add(high, vcode.RegArg(low)) // the second word of ln2 is not small beside the first
	return sum, s.Sub(low, vcode.RegArg(s.Sub(sum, vcode.RegArg(high))))
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
