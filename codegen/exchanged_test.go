package codegen_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gompss/gompss/codegen"
	"github.com/gompss/gompss/codegen/simt"
)

// Threads that take a part of a slice wait until the code of the team has exchanged it.
func TestExchangedSlices_ArePartedBehindABarrier(t *testing.T) {
	for _, part := range []string{"x[2:]", "x[:len(x)-1]", "x[1:5:5]", "x[lo[0]:]"} {
		l, err := lowerText(t, `
//omp:target device(acc)
//omp:task inout(outb, outc, acc) in(lo)
func K(n, w int, outb, outc []float32, acc []int64, lo []int) {
	h := len(outb) / 2
	x, y := outb[:h:h], outc[:len(outc)-3]
	for t := int8(125); t > 0; t++ {
		for k := range 3 {
			acc[7] += int64(k)
			for i := uint64(0); i < uint64(n*w); i++ {
			}
			x, y = y, x
			u, v := `+part+`, x[:len(x)-1]
			_, _ = u, v
		}
	}
}`, codegen.LowerOptions{})
		require.NoError(t, err, part)
		program, err := simt.New(l.Program)
		require.NoError(t, err, part)
		for seed, s := range shapes {
			b, c, acc := make([]float32, 50), make([]float32, 50), make([]int64, 8)
			err := runDevice(program, []any{5, 3, b, c, acc, []int{2}}, simt.Config{Teams: s.teams, Threads: s.threads, Seed: uint64(seed), Races: true})
			require.NoError(t, err, "%s, %v", part, s)
		}
	}
}

// A variable that a loop of sequential code declares is zero in each iteration, also where it lies
// in device memory.
func TestVariablesInDeviceMemory_AreZeroInEachIteration(t *testing.T) {
	for _, c := range []struct{ declare, change, read string }{
		{"var v int", "*p += 5", "v"},
		{"var v [3]int", "p[1] += 5", "v[1] + v[0]"},
		{"var v [2][3]int", "p[1][2] += 5", "v[1][2] + v[0][0]"},
		{"var v struct{ a int; b [2]int }", "p.b[1] += 5", "v.b[1] + v.a"},
		{"v := 0", "*p += 5", "v"},
	} {
		l, err := lowerText(t, `
//omp:target device(acc)
//omp:task inout(x, out)
func K(n int, x, out []int) {
	y := x
	if n&1 == 0 {
		y = out
	}
	for i := 0; i < n; i++ {
		`+c.declare+`
		p := &v
		`+c.change+`
		out[i] += `+c.read+`
	}
	for r := range n {
		for i := range n {
			e := [4]int{x[i], x[i], x[i], x[i]}
			y[i] += r
			clear(e[3:])
		}
	}
}`, codegen.LowerOptions{})
		require.NoError(t, err, c.declare)
		require.Greater(t, len(l.Program.Launches), 1, c.declare)
		program, err := simt.New(l.Program)
		require.NoError(t, err, c.declare)
		for seed, s := range shapes {
			const n = 7
			x, out := make([]int, n), make([]int, n)
			err := runDevice(program, []any{n, x, out}, simt.Config{Teams: s.teams, Threads: s.threads, Seed: uint64(seed), Races: true})
			require.NoError(t, err, "%s, %v", c.declare, s)
			for i := range n {
				require.Equal(t, 5, out[i], "%s, %v, element %d", c.declare, s, i)
				require.Equal(t, n*(n-1)/2, x[i], "%s, %v, element %d", c.declare, s, i)
			}
		}
	}
}
