package kernel

import "math"

// Rsqrt returns 1/sqrt(x). A device computes it with its own instruction, refined to the accuracy
// that DIALECT.md, section 5, states.
func Rsqrt[T Float](x T) T { return T(1 / math.Sqrt(float64(x))) }

// FMA returns x*y + z, rounded once.
func FMA[T Float](x, y, z T) T {
	if float64(T(1)/3) == 1.0/3 {
		return T(math.FMA(float64(x), float64(y), float64(z)))
	}
	return T(oddSum(float64(x)*float64(y), float64(z)))
}

// oddSum returns p + z rounded to odd: if the sum is not a float64, the neighbouring float64 whose
// last bit is set. Rounded to float32, the result equals the exact sum rounded to float32. A sum
// rounded to nearest would be rounded twice, which sometimes gives another float32.
func oddSum(p, z float64) float64 {
	s := p + z
	if math.IsNaN(s) || math.IsInf(s, 0) {
		return s
	}
	t := s - p
	rest := (p - (s - t)) + (z - t) // exact: s + rest is p + z
	if rest == 0 || math.Float64bits(s)&1 != 0 {
		return s
	}
	return math.Nextafter(s, math.Copysign(math.Inf(1), rest))
}
