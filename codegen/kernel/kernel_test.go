package kernel_test

import (
	"math"
	"math/big"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gompss/gompss/codegen/kernel"
)

func TestPlainGoIsOneTeamOfOneThread(t *testing.T) {
	require.Equal(t, []int{0, 1, 0, 1},
		[]int{kernel.ThreadNum(), kernel.NumThreads(), kernel.TeamNum(), kernel.NumTeams()})
	kernel.Barrier()
}

func TestFloat32FunctionsRoundTheFloat64Result(t *testing.T) {
	for _, x := range []float32{0.1, 0.5, 0.9} {
		require.Equal(t, float32(math.Exp(float64(x))), kernel.Exp(x))
		require.Equal(t, float32(math.Sqrt(float64(x))), kernel.Sqrt(x))
		require.Equal(t, float32(math.Pow(float64(x), 2.5)), kernel.Pow(x, 2.5))
		require.Equal(t, float32(1/math.Sqrt(float64(x))), kernel.Rsqrt(x))
		require.Equal(t, math.Sin(float64(x)), kernel.Sin(float64(x)))
	}
	require.Equal(t, math.Atan2(1, -2), kernel.Atan2(1.0, -2.0))
}

func TestClassification(t *testing.T) {
	nan, inf := float32(math.NaN()), float32(math.Inf(-1))
	require.True(t, kernel.IsNaN(nan))
	require.False(t, kernel.IsNaN(inf))
	require.True(t, kernel.IsInf(inf, 0))
	require.False(t, kernel.IsInf(inf, 1))
	require.True(t, kernel.Signbit(inf))
	require.False(t, kernel.Signbit(1.0))
}

// The float32 FMA is compared with the exact sum rounded once, on operands chosen to make double rounding show.
func TestFMARoundsOnce(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	draw := func() float32 {
		return float32(math.Ldexp(float64(rng.IntN(1<<24)|1), rng.IntN(60)-50)) * float32(1-2*rng.IntN(2))
	}
	for range 200_000 {
		x, y, z := draw(), draw(), draw()
		require.Equal(t, exactFMA(x, y, z), kernel.FMA(x, y, z), "FMA(%v, %v, %v)", x, y, z)
	}
	tiny := math.Float32frombits(1)
	require.Equal(t, exactFMA(tiny, 0.5, tiny), kernel.FMA(tiny, 0.5, tiny))
	require.Equal(t, math.FMA(0.1, 10, -1), kernel.FMA(0.1, 10.0, -1.0))
	require.True(t, kernel.IsNaN(kernel.FMA(float32(math.Inf(1)), 0, 1)))
}

func exactFMA(x, y, z float32) float32 {
	wide := func(f float32) *big.Float { return new(big.Float).SetPrec(400).SetFloat64(float64(f)) }
	p := new(big.Float).SetPrec(400).Mul(wide(x), wide(y))
	f, _ := p.Add(p, wide(z)).Float32()
	return f
}
