package cmplx_test

import (
	"math"
	std "math/cmplx"
	"math/rand/v2"
	"testing"

	"github.com/gompss/gompss/codegen/kernel/cmplx"
	"github.com/stretchr/testify/require"
)

// alike reports whether x and y are the same but for some units in the last place of the larger
// part.
func alike(x, y complex128) bool {
	part := func(a, b, scale float64) bool {
		switch {
		case math.IsNaN(a) || math.IsNaN(b):
			return math.IsNaN(a) && math.IsNaN(b)
		case a == b:
			return a != 0 || math.Signbit(a) == math.Signbit(b)
		}
		return math.Abs(a-b) <= 8*0x1p-52*scale+math.SmallestNonzeroFloat64
	}
	scale := math.Abs(real(y)) + math.Abs(imag(y))
	return part(real(x), real(y), scale) && part(imag(x), imag(y), scale)
}

// The functions are those of math/cmplx, for numbers of all sizes and for all kinds of zeros,
// infinities and NaNs.
func TestFunctions_AreThoseOfMathCmplx(t *testing.T) {
	parts := []float64{0, math.Copysign(0, -1), 1, -1, 0.5, -3, 1e300, -1e300, math.MaxFloat64, 1e-300, -1e-290, 1e-160, math.Inf(1), math.Inf(-1), math.NaN()}
	r := rand.New(rand.NewPCG(5, 6))
	for range 60 {
		parts = append(parts, r.NormFloat64()*math.Pow(10, float64(r.IntN(30)-15)))
	}
	of := func(x float64) complex128 { return complex(x, 0) }
	for _, a := range parts {
		for _, b := range parts {
			x := complex(a, b)
			for name, got := range map[string][2]complex128{
				"Abs": {of(cmplx.Abs(x)), of(std.Abs(x))}, "Phase": {of(cmplx.Phase(x)), of(std.Phase(x))}, "Conj": {cmplx.Conj(x), std.Conj(x)},
				"Exp": {cmplx.Exp(x), std.Exp(x)}, "Log": {cmplx.Log(x), std.Log(x)}, "Sqrt": {cmplx.Sqrt(x), std.Sqrt(x)}, "Rect": {cmplx.Rect(a, b), std.Rect(a, b)},
			} {
				require.True(t, alike(got[0], got[1]), "%s(%v): %v, want %v", name, x, got[0], got[1])
			}
			require.Equal(t, std.IsInf(x), cmplx.IsInf(x))
			require.Equal(t, std.IsNaN(x), cmplx.IsNaN(x))
		}
	}
	m, θ := cmplx.Polar(3 + 4i)
	require.Equal(t, [2]float64{5, math.Atan2(4, 3)}, [2]float64{m, θ})
}
