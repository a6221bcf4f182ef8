package ir

import (
	"math"
	"runtime"
	"testing"

	"github.com/stretchr/testify/require"
)

// Go leaves open what a conversion gives of a float that does not fit, and processors differ: a constant that was folded on an arm64 host
// had other bits than the code that a kernel runs.
func TestFoldConvert_FloatsThatDoNotFit(t *testing.T) {
	nan, most := math.NaN(), math.Inf(1)
	for _, c := range []struct {
		x                                float64
		i8, u8, i16, u16, i32, u32, i64h uint64 // i64h: the upper 32 bits of int64
		u64                              uint64
	}{
		{nan, 0, 0, 0, 0, 1 << 31, 0, 1 << 31, 1 << 63},
		{most, 0, 0, 0, 0, 1 << 31, 0, 1 << 31, 1 << 63},
		{-most, 0, 0, 0, 0, 1 << 31, 0, 1 << 31, 1 << 63},
		{3e9, 0, 0, 0, 0, 1 << 31, 3e9, 0, 3e9},
		{-1<<31 - 0.5, 0, 0, 0, 0, 1 << 31, 1 << 31, 1<<32 - 1, 1<<64 - 1<<31},
		{300, 44, 44, 300, 300, 300, 300, 0, 300},
		{-1, 255, 255, 65535, 65535, 1<<32 - 1, 1<<32 - 1, 1<<32 - 1, 1<<64 - 1},
		{1e12, 0, 0, 0, 0, 1 << 31, 0xd4a51000, 232, 1e12},
		{1.5 * (1 << 63), 0, 0, 0, 0, 1 << 31, 0, 1 << 31, 3 << 62},
		{1 << 64, 0, 0, 0, 0, 1 << 31, 0, 1 << 31, 1 << 63},
	} {
		for _, from := range []*Type{Float32Type, Float64Type} {
			x, bits := c.x, Bits(math.Float64bits(c.x))
			if from == Float32Type {
				x, bits = float64(float32(c.x)), Bits(math.Float32bits(float32(c.x)))
				if x != c.x && c.x == c.x {
					continue
				}
			}
			for to, want := range map[*Type]uint64{Int8Type: c.i8, Uint8Type: c.u8, Int16Type: c.i16, Uint16Type: c.u16, Int32Type: c.i32, Uint32Type: c.u32, Uint64Type: c.u64} {
				require.Equal(t, want, uint64(FoldConvert(to, from, bits))&(1<<(8*to.Size-1)<<1-1), "%v(%v)", to, x)
			}
			require.Equal(t, c.i64h, uint64(FoldConvert(Int64Type, from, bits))>>32, "int64(%v)", x)
			if runtime.GOARCH == "amd64" { // the rule is that of Go there
				require.Equal(t, uint64(x), uint64(FoldConvert(Uint64Type, from, bits)), x)
				require.Equal(t, uint32(x), uint32(FoldConvert(Uint32Type, from, bits)), x)
				require.Equal(t, int32(x), int32(FoldConvert(Int32Type, from, bits)), x)
				require.Equal(t, int8(x), int8(FoldConvert(Int8Type, from, bits)), x)
			}
		}
	}
}
