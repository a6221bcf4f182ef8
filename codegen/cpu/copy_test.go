//go:build linux && amd64

package cpu_test

import (
	"errors"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gompss/gompss/codegen/cpu"
	"github.com/gompss/gompss/codegen/ir"
)

// TestCopiesPastTheCaches runs a copy loop as it runs far away: large and small, at all alignments, in chunks, in place, overlapping and out of
// range.
func TestCopiesPastTheCaches(t *testing.T) {
	arena, err := cpu.NewArena()
	if err != nil {
		t.Skip(err)
	}
	defer func() { require.NoError(t, arena.Close()) }()
	k, err := loadKernels(t).Kernel("Move")
	require.NoError(t, err)
	plain, err := cpu.Compile(k, cpu.Options{})
	require.NoError(t, err)
	otherwise, err := arena.Install(plain)
	require.NoError(t, err)
	past, err := cpu.Compile(k, cpu.Options{Past: true})
	require.NoError(t, err)
	p, err := arena.InstallPast(past, otherwise)
	require.NoError(t, err)
	runner := cpu.NewRunner(p)
	r := rand.New(rand.NewPCG(1, 1))
	for range 400 {
		n := 1 + r.IntN(200_000)
		a, b := integers[int16](r, n+100), integers[int16](r, n+100)
		i, j := r.IntN(100), r.IntN(100)
		to, from := a[i:i+n], b[j:j+n]
		if r.IntN(4) == 0 {
			to, from = a[i:i+n], a[j:j+n]
			if i > j { // what iterations write others read: only one way round gives what Go gives
				to, from = from, to
			}
		}
		want := append([]int16{}, to...)
		copy(want[1:], from[1:])
		require.NoError(t, runner.Call(values([]any{to, from}), func(l *cpu.Loop) error {
			cut := r.Int64N(l.Trips + 1)
			return errors.Join(l.Run(0, cut), l.Run(cut, l.Trips))
		}))
		require.Equal(t, want, to)
	}
	short := runner.Call(values([]any{make([]int16, 100_000), make([]int16, 99_999)}), nil)
	var bounds *ir.CheckError
	require.ErrorAs(t, short, &bounds)
	require.EqualValues(t, 99_999, bounds.Index)
}
