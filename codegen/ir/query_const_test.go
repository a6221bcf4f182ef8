package ir

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// TestConstInt_HoldsTheValue: a constant of uint64 from 1<<63 on is no int64, of whatever sign its bits are.
func TestConstInt_HoldsTheValue(t *testing.T) {
	for _, c := range []struct {
		t    *Type
		bits Bits
		want int64
		ok   bool
	}{
		{Uint64Type, 1<<63 - 1, 1<<63 - 1, true},
		{Uint64Type, 1 << 63, 0, false},
		{Uint64Type, ^Bits(0), 0, false},
		{IntType, ^Bits(0), -1, true},
		{IntType, 1 << 63, -1 << 63, true},
		{Uint32Type, 1<<32 - 1, 1<<32 - 1, true},
		{Float64Type, 1, 0, false},
	} {
		n, ok := ConstInt(&Const{T: c.t, Bits: c.bits})
		require.Equal(t, c.ok, ok, "%v %d", c.t, c.bits)
		require.Equal(t, c.want, n, "%v %d", c.t, c.bits)
	}
}
