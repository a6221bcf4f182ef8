package probe

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func TestKindsHaveNames(t *testing.T) {
	seen := map[string]bool{}
	for k := Submit; k <= Phase; k++ {
		require.False(t, seen[k.String()], "two kinds are called %s", k)
		seen[k.String()] = true
	}
	require.Equal(t, "kind(99)", Kind(99).String())
}

func TestFuncObserves(t *testing.T) {
	var got []Point
	var o Observer = Func(func(p Point) { got = append(got, p) })
	o.Observe(Point{Kind: Ready, Task: 3})
	require.Equal(t, []Point{{Kind: Ready, Task: 3}}, got)
}
