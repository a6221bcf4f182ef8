package devices_test

import (
	"bytes"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gompss/gompss/devices"
	"github.com/gompss/gompss/devices/devicetest"
)

// TestCopyBytes_CopiesAsCopyDoes: all lengths around pieces, the shorter one counts, and nothing
// else is written.
func TestCopyBytes_CopiesAsCopyDoes(t *testing.T) {
	const piece = 256 << 10
	from := make([]byte, 3*piece+9)
	for i := range from {
		from[i] = byte(i*7 + i>>8)
	}
	for _, n := range []int{0, 1, piece - 1, piece, piece + 1, 2 * piece, 3*piece + 8} {
		to := make([]byte, len(from)+3)
		require.Equal(t, n, devices.CopyBytes(to[1:], from[:n]))
		require.True(t, bytes.Equal(from[:n], to[1:n+1]), n)
		require.Zero(t, to[0])
		require.Zero(t, to[n+1])
		require.Equal(t, n, devices.CopyBytes(to[:n], from))
		require.True(t, bytes.Equal(from[:n], to[:n]), n)
	}
}

// TestCopyBytes_LetsTheWorldStop: a built-in copy of so much takes longer than that.
func TestCopyBytes_LetsTheWorldStop(t *testing.T) {
	to, from := make([]byte, 256<<20), make([]byte, 256<<20)
	devicetest.StopsSoon(t, func() { devices.CopyBytes(to, from) })
}
