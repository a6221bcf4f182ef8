package kernel

import "math"

// Rsqrt returns 1/sqrt(x). On a device it is the device's own instruction, refined to the accuracy
// of DIALECT.md section 5.
func Rsqrt[T Float](x T) T { return T(1 / math.Sqrt(float64(x))) }

// FMA returns x*y + z, rounded once.
func FMA[T Float](x, y, z T) T {
	if float64(T(1)/3) == 1.0/3 {
		return T(math.FMA(float64(x), float64(y), float64(z)))
	}
	return T(oddSum(float64(x)*float64(y), float64(z)))
}

// oddSum returns p + z rounded to odd: where the sum is not exact, that of its two neighbours whose
// last bit is set. Its 53 bits then round to a float32 as the exact sum does, which a sum rounded
// to nearest would not always.
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
