package exprs

import (
	"math"

	"github.com/gompss/gompss/codegen/ir"
	"github.com/gompss/gompss/codegen/ir/build"
)

// A division makes (a + bi) / (c + di) in float64, as gc's runtime computes it.
//
// Source: Robert L. Smith, Algorithm 116: Complex division, Communications of the ACM, 1962; for
// infinities and zeros, ISO/IEC 9899:1999, section G.5.1.
type division struct {
	complexes
	at         ir.Pos
	a, b, c, d ir.Expr // variables and constants
	re, im     ir.Expr // the variables of the result
}

// quotient returns x / y.
func (b complexes) quotient(x, y ir.Expr, at ir.Pos) ir.Expr {
	v := division{complexes: b, at: at}
	v.a, v.b = v.operands(x)
	v.c, v.d = v.operands(y)
	v.re, v.im = b.ZeroVar("real", ir.Float64Type, at), b.ZeroVar("imag", ir.Float64Type, at)
	b.Emit(&ir.If{Cond: v.op(ir.Ge, v.call(ir.Abs, v.c), v.call(ir.Abs, v.d)),
		Then: b.Collect(v.byReal), Else: b.Collect(v.byImag), At: at})
	b.Emit(&ir.If{Cond: v.op(ir.LAnd, v.isNaN(v.re), v.isNaN(v.im)), Then: b.Collect(v.special), At: at})
	part := x.Type().Fields[0].Type
	return b.number(x.Type(), build.Convert(part, v.re, at), build.Convert(part, v.im, at), at)
}

// operands returns the parts of x as float64.
func (v *division) operands(x ir.Expr) (re, im ir.Expr) {
	re, im = v.Parts(x)
	return v.part(build.Convert(ir.Float64Type, re, v.at)), v.part(build.Convert(ir.Float64Type, im, v.at))
}

// byReal divides where the real part of the divisor is the greater one.
func (v *division) byReal() {
	ratio := v.Temp("ratio", v.op(ir.Div, v.d, v.c), v.at)
	denom := v.Temp("denom", v.op(ir.Add, v.c, v.op(ir.Mul, ratio, v.d)), v.at)
	v.set(v.re, v.op(ir.Div, v.op(ir.Add, v.a, v.op(ir.Mul, v.b, ratio)), denom))
	v.set(v.im, v.op(ir.Div, v.op(ir.Sub, v.b, v.op(ir.Mul, v.a, ratio)), denom))
}

// byImag divides where the imaginary part of the divisor is the greater one.
func (v *division) byImag() {
	ratio := v.Temp("ratio", v.op(ir.Div, v.c, v.d), v.at)
	denom := v.Temp("denom", v.op(ir.Add, v.d, v.op(ir.Mul, ratio, v.c)), v.at)
	v.set(v.re, v.op(ir.Div, v.op(ir.Add, v.op(ir.Mul, v.a, ratio), v.b), denom))
	v.set(v.im, v.op(ir.Div, v.op(ir.Sub, v.op(ir.Mul, v.b, ratio), v.a), denom))
}

// special gives the results that are no NaN although the division came to NaN in both parts: of a
// zero as divisor, and of infinities.
func (v *division) special() {
	and, or := ir.LAnd, ir.LOr
	zero := v.number64(0)
	byZero := v.op(and, v.op(and, v.op(ir.Eq, v.c, zero), v.op(ir.Eq, v.d, zero)),
		v.op(or, build.Not(v.isNaN(v.a), v.at), build.Not(v.isNaN(v.b), v.at)))
	ofInfinity := v.op(and, v.op(or, v.isInf(v.a), v.isInf(v.b)), v.op(and, v.isFinite(v.c), v.isFinite(v.d)))
	byInfinity := v.op(and, v.op(or, v.isInf(v.c), v.isInf(v.d)), v.op(and, v.isFinite(v.a), v.isFinite(v.b)))
	infinite := v.number64(math.Inf(1))
	v.choose(byZero, func() {
		scale := v.Temp("scale", v.call(ir.Copysign, infinite, v.c), v.at)
		v.set(v.re, v.op(ir.Mul, scale, v.a))
		v.set(v.im, v.op(ir.Mul, scale, v.b))
	}, func() {
		v.choose(ofInfinity, func() {
			v.products(infinite, v.unit(v.a), v.unit(v.b), v.c, v.d)
		}, func() {
			v.choose(byInfinity, func() { v.products(zero, v.a, v.b, v.unit(v.c), v.unit(v.d)) }, func() {})
		})
	})
}

// products sets the result to scale times (a + bi) * (c - di).
func (v *division) products(scale, a, b, c, d ir.Expr) {
	v.set(v.re, v.op(ir.Mul, scale, v.op(ir.Add, v.op(ir.Mul, a, c), v.op(ir.Mul, b, d))))
	v.set(v.im, v.op(ir.Mul, scale, v.op(ir.Sub, v.op(ir.Mul, b, c), v.op(ir.Mul, a, d))))
}

// unit returns 1 for an infinity and 0 for another number, with the sign of x.
func (v *division) unit(x ir.Expr) ir.Expr {
	size := build.Choose(v.isInf(x), v.number64(1), v.number64(0), v.at)
	return v.Temp("unit", v.call(ir.Copysign, size, x), v.at)
}

func (v *division) choose(cond ir.Expr, then, otherwise func()) {
	v.Emit(&ir.If{Cond: cond, Then: v.Collect(then), Else: v.Collect(otherwise), At: v.at})
}

func (v *division) set(place, x ir.Expr) {
	v.Emit(&ir.Assign{Place: build.Copy(place), Value: x, At: v.at})
}

func (v *division) op(op ir.Op, x, y ir.Expr) ir.Expr {
	return v.Arithmetic(op, build.Copy(x), build.Copy(y), v.at)
}

func (v *division) call(fn ir.MathFn, args ...ir.Expr) ir.Expr {
	for i, x := range args {
		args[i] = build.Copy(x)
	}
	return &ir.Math{Fn: fn, Args: args, T: ir.Float64Type, At: v.at}
}

func (v *division) number64(x float64) ir.Expr {
	return &ir.Const{T: ir.Float64Type, Bits: math.Float64bits(x), At: v.at}
}

func (v *division) isNaN(x ir.Expr) ir.Expr { return v.op(ir.Ne, x, x) }

func (v *division) isInf(x ir.Expr) ir.Expr {
	return v.op(ir.Eq, v.call(ir.Abs, x), v.number64(math.Inf(1)))
}

func (v *division) isFinite(x ir.Expr) ir.Expr {
	return v.op(ir.Lt, v.call(ir.Abs, x), v.number64(math.Inf(1)))
}
