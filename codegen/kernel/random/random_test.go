package random

import (
	"math"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestPhilox_KnownAnswers takes its words from the known answers of the authors' library Random123
// (kat_vectors, philox4x32 with 10 rounds).
func TestPhilox_KnownAnswers(t *testing.T) {
	const all = math.MaxUint32
	for _, c := range []struct{ in, want [6]uint32 }{
		{[6]uint32{}, [6]uint32{0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8}},
		{[6]uint32{all, all, all, all, all, all}, [6]uint32{0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd}},
		{[6]uint32{0xa4093822, 0x299f31d0, 0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344},
			[6]uint32{0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1}},
	} {
		w0, w1, w2, w3 := Philox(c.in[0], c.in[1], c.in[2], c.in[3], c.in[4], c.in[5])
		require.Equal(t, c.want, [6]uint32{w0, w1, w2, w3})
	}
}

// TestDistributions_Moments compares means and variances of a million numbers with those of the
// distributions, within five standard errors.
func TestDistributions_Moments(t *testing.T) {
	const n = 1 << 20
	var mean, square, mean32, normal, normalSquare float64
	for i := range uint64(n) {
		u, u32 := Float64(7, i), float64(Float32(9, i))
		require.True(t, u >= 0 && u < 1 && u32 >= 0 && u32 < 1)
		x, y := Normal(11, i)
		mean, square, mean32 = mean+u, square+u*u, mean32+u32
		normal, normalSquare = normal+x+y, normalSquare+x*x+y*y
	}
	require.InDelta(t, 0.5, mean/n, 5*math.Sqrt(1./12/n))
	require.InDelta(t, 1./3, square/n, 5*math.Sqrt(4./45/n))
	require.InDelta(t, 0.5, mean32/n, 5*math.Sqrt(1./12/n))
	require.InDelta(t, 0, normal/(2*n), 5*math.Sqrt(1./(2*n)))
	require.InDelta(t, 1, normalSquare/(2*n), 5*math.Sqrt(2./(2*n)))
}
