// Package cmplx has the functions of math/cmplx that kernels can call. If a kernel imports
// math/cmplx, devices run the bodies of this package; a program does not import it.
//
// The results differ from those of math/cmplx by a few units in the last place, like those of
// package math on a device. Infinities, signed zeros and NaNs are the same. In contrast to
// math/cmplx, Sqrt does not round the square roots of the smallest numbers to 0.
package cmplx

import "math"

// Abs returns the absolute value of x.
func Abs(x complex128) float64 { return math.Hypot(real(x), imag(x)) }

// Phase returns the argument of x, from -Pi to Pi.
func Phase(x complex128) float64 { return math.Atan2(imag(x), real(x)) }

// Polar returns the absolute value and the argument of x.
func Polar(x complex128) (r, θ float64) { return Abs(x), Phase(x) }

// Rect returns the number with absolute value r and argument θ.
func Rect(r, θ float64) complex128 { return complex(r*math.Cos(θ), r*math.Sin(θ)) }

// Conj returns the conjugate of x.
func Conj(x complex128) complex128 { return complex(real(x), -imag(x)) }

// IsInf reports whether a part of x is an infinity.
func IsInf(x complex128) bool { return math.IsInf(real(x), 0) || math.IsInf(imag(x), 0) }

// IsNaN reports whether a part of x is a NaN and none is an infinity.
func IsNaN(x complex128) bool {
	return !IsInf(x) && (math.IsNaN(real(x)) || math.IsNaN(imag(x)))
}

// Exp returns e to the power of x.
func Exp(x complex128) complex128 {
	re, im := real(x), imag(x)
	if im == 0 && (math.IsNaN(re) || math.IsInf(re, 1)) {
		return x
	}
	if math.IsInf(re, 0) && (math.IsNaN(im) || math.IsInf(im, 0)) {
		if re > 0 {
			return complex(re, math.NaN())
		}
		return complex(0, math.Copysign(0, im))
	}
	r := math.Exp(re)
	return complex(r*math.Cos(im), r*math.Sin(im))
}

// Log returns the natural logarithm of x whose imaginary part lies between -Pi and Pi.
func Log(x complex128) complex128 { return complex(math.Log(Abs(x)), Phase(x)) }

// Sqrt returns the square root of x whose real part is not negative. Numbers near the ends of the
// range are scaled by a power of four, so that no step overflows or loses digits.
func Sqrt(x complex128) complex128 {
	a, b := real(x), imag(x)
	if b == 0 {
		if a < 0 {
			return complex(0, math.Copysign(math.Sqrt(-a), b))
		}
		if a == 0 {
			return complex(0, b)
		}
		return complex(math.Sqrt(a), b)
	}
	if math.IsInf(b, 0) {
		return complex(math.Inf(1), b)
	}
	back := 1.0
	if largest := math.Abs(a) + math.Abs(b); largest > 0x1p1000 {
		a, b, back = a*0x1p-4, b*0x1p-4, 0x1p2
	} else if largest < 0x1p-900 {
		a, b, back = a*0x1p108, b*0x1p108, 0x1p-54
	}
	t := math.Sqrt(0.5*math.Hypot(a, b) + 0.5*math.Abs(a))
	other := math.Abs(b) / (2 * t)
	if a < 0 {
		return complex(back*other, math.Copysign(back*t, b))
	}
	return complex(back*t, math.Copysign(back*other, b))
}
