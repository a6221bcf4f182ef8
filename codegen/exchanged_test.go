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
