package vecmath

import "github.com/gompss/gompss/codegen/ir"

// Functions by polynomial. The bound is in units in the last place of the exact result, over the
// whole range; the tests of package cpu hold them to it. NaN, infinities, zeros of both signs and
// subnormal numbers give what Go's functions give. Under fastmath the bound of DIALECT.md holds
// with room to spare, so the same code serves both.
//
// Source: the ranges and rationals of log, tanh and erf are those of fdlibm and Cephes as in Go's
// package math; exp, sin and cos interpolate at Chebyshev nodes.
var mathBounds = map[ir.MathFn]struct{ single, double float64 }{
	ir.Exp: {1.5, 1.5}, ir.Exp2: {1.5, 1.5}, ir.Log: {1.5, 1.5}, ir.Log2: {2.5, 2.5}, ir.Log10: {2.5, 2.5}, ir.Sin: {2, 2}, ir.Cos: {2, 2},
	ir.Tan: {4, 4}, ir.Tanh: {3, 3}, ir.Erf: {3.5, 3.5}, ir.Rsqrt: {2, 2}, ir.Pow: {1.5, 1.5}, ir.Hypot: {2, 2},
}

// Bound is the largest error of the vector code of fn in units in the last place, and whether it
// has any: other functions are computed by Go, lane by lane.
func Bound(fn ir.MathFn, t *ir.Type) (ulp float64, ok bool) {
	b, ok := mathBounds[fn]
	if t.Size == 4 {
		return b.single, ok
	}
	return b.double, ok
}
