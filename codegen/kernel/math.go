package kernel

import "math"

// The functions in this file are those of package math for both widths of float: of a float32 they
// give the float32 nearest to the float64 result. Compiled for a device they are the device's
// functions of that width.

// Abs returns the absolute value of x.
func Abs[T Float](x T) T { return T(math.Abs(float64(x))) }

// Sqrt returns the square root of x, correctly rounded.
func Sqrt[T Float](x T) T { return T(math.Sqrt(float64(x))) }

// Cbrt returns the cube root of x.
func Cbrt[T Float](x T) T { return T(math.Cbrt(float64(x))) }

// Exp returns e to the power of x.
func Exp[T Float](x T) T { return T(math.Exp(float64(x))) }

// Exp2 returns 2 to the power of x.
func Exp2[T Float](x T) T { return T(math.Exp2(float64(x))) }

// Expm1 returns e to the power of x, minus 1, accurate near 0.
func Expm1[T Float](x T) T { return T(math.Expm1(float64(x))) }

// Log returns the natural logarithm of x.
func Log[T Float](x T) T { return T(math.Log(float64(x))) }

// Log2 returns the binary logarithm of x.
func Log2[T Float](x T) T { return T(math.Log2(float64(x))) }

// Log10 returns the decimal logarithm of x.
func Log10[T Float](x T) T { return T(math.Log10(float64(x))) }

// Log1p returns the natural logarithm of 1+x, accurate near 0.
func Log1p[T Float](x T) T { return T(math.Log1p(float64(x))) }

// Sin returns the sine of x radians.
func Sin[T Float](x T) T { return T(math.Sin(float64(x))) }

// Cos returns the cosine of x radians.
func Cos[T Float](x T) T { return T(math.Cos(float64(x))) }

// Tan returns the tangent of x radians.
func Tan[T Float](x T) T { return T(math.Tan(float64(x))) }

// Asin returns the arcsine of x in radians.
func Asin[T Float](x T) T { return T(math.Asin(float64(x))) }

// Acos returns the arccosine of x in radians.
func Acos[T Float](x T) T { return T(math.Acos(float64(x))) }

// Atan returns the arctangent of x in radians.
func Atan[T Float](x T) T { return T(math.Atan(float64(x))) }

// Sinh returns the hyperbolic sine of x.
func Sinh[T Float](x T) T { return T(math.Sinh(float64(x))) }

// Cosh returns the hyperbolic cosine of x.
func Cosh[T Float](x T) T { return T(math.Cosh(float64(x))) }

// Tanh returns the hyperbolic tangent of x.
func Tanh[T Float](x T) T { return T(math.Tanh(float64(x))) }

// Asinh returns the inverse hyperbolic sine of x.
func Asinh[T Float](x T) T { return T(math.Asinh(float64(x))) }

// Acosh returns the inverse hyperbolic cosine of x.
func Acosh[T Float](x T) T { return T(math.Acosh(float64(x))) }

// Atanh returns the inverse hyperbolic tangent of x.
func Atanh[T Float](x T) T { return T(math.Atanh(float64(x))) }

// Erf returns the error function of x.
func Erf[T Float](x T) T { return T(math.Erf(float64(x))) }

// Erfc returns 1-Erf(x), accurate where that is near 0.
func Erfc[T Float](x T) T { return T(math.Erfc(float64(x))) }

// Gamma returns the gamma function of x.
func Gamma[T Float](x T) T { return T(math.Gamma(float64(x))) }

// Floor returns the largest integer that is at most x.
func Floor[T Float](x T) T { return T(math.Floor(float64(x))) }

// Ceil returns the smallest integer that is at least x.
func Ceil[T Float](x T) T { return T(math.Ceil(float64(x))) }

// Trunc returns the integer part of x.
func Trunc[T Float](x T) T { return T(math.Trunc(float64(x))) }

// Round returns x rounded to the nearest integer, halves away from zero.
func Round[T Float](x T) T { return T(math.Round(float64(x))) }

// RoundToEven returns x rounded to the nearest integer, halves to the even one.
func RoundToEven[T Float](x T) T { return T(math.RoundToEven(float64(x))) }

// Pow returns x to the power of y.
func Pow[T Float](x, y T) T { return T(math.Pow(float64(x), float64(y))) }

// Atan2 returns the angle of the point (y, x) in radians.
func Atan2[T Float](y, x T) T { return T(math.Atan2(float64(y), float64(x))) }

// Hypot returns the square root of x*x + y*y, without needless overflow.
func Hypot[T Float](x, y T) T { return T(math.Hypot(float64(x), float64(y))) }

// Mod returns the remainder of x/y with the sign of x.
func Mod[T Float](x, y T) T { return T(math.Mod(float64(x), float64(y))) }

// Remainder returns the IEEE 754 remainder of x/y.
func Remainder[T Float](x, y T) T { return T(math.Remainder(float64(x), float64(y))) }

// Copysign returns x with the sign of y.
func Copysign[T Float](x, y T) T { return T(math.Copysign(float64(x), float64(y))) }

// Dim returns x-y, or 0 where that is negative.
func Dim[T Float](x, y T) T { return T(math.Dim(float64(x), float64(y))) }

// IsNaN reports whether x is not a number.
func IsNaN[T Float](x T) bool { return x != x }

// IsInf reports whether x is an infinity: of the sign of sign, or of any where sign is 0.
func IsInf[T Float](x T, sign int) bool { return math.IsInf(float64(x), sign) }

// Signbit reports whether x is negative or -0.
func Signbit[T Float](x T) bool { return math.Signbit(float64(x)) }
