package codegen_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gompss/gompss/codegen"
	"github.com/gompss/gompss/codegen/simt"
)

func distText(clause, body string) string {
	return "//omp:target device(acc)\n//omp:task inout(x, y)\nfunc K(x, y []float64, n int) {\n//omp:teams distribute " + clause +
		"\nfor i := 0; i < n; i++ {\n" + body + "\n}\n}"
}

// What a dist_ clause names is placed on chip, or the reason why it cannot is reported.
func TestDistArrays(t *testing.T) {
	for _, c := range []struct{ name, clause, body, want string }{
		{"on chip", "dist_firstprivate([8]x)", "x[i*8] = y[i]", "array x -> on chip: each iteration works on a copy of the 8 elements"},
		{"variable chunk", "dist_firstprivate([n]x)", "x[i*n] = y[i]", "array x -> device memory: its chunk is no constant"},
		{"as a whole", "dist_firstprivate([8]x)", "z := x[i*8:i*8+8]; z[0] = y[i]", "array x -> device memory: it is used as a whole"},
		{"address", "dist_firstprivate([8]x)", "p := &x[i*8]; *p = y[i]", "array x -> device memory: it is used as a whole"},
	} {
		t.Run(c.name, func(t *testing.T) {
			l, err := lowerText(t, distText(c.clause, c.body), codegen.LowerOptions{})
			require.NoError(t, err)
			require.Contains(t, l.Explain(), c.want)
		})
	}
}

// What a clause wants on chip and does not fit there is an error with the bytes.
func TestDistArraysTooLarge(t *testing.T) {
	_, err := lowerText(t, distText("dist_firstprivate([6145]x)", "x[i*6145] = 1"), codegen.LowerOptions{})
	require.ErrorContains(t, err, "dist_firstprivate of x: a part of 6145 elements takes 49160 bytes, a team has 49152")
	body := "//omp:parallel for\nfor j := 0; j < 4000; j++ { x[i*4000+j] += y[i*4000+j] }"
	_, err = lowerText(t, distText("dist_firstlastprivate([4000]x, [4000]y)", body), codegen.LowerOptions{})
	require.ErrorContains(t, err, "the team needs 64000 bytes of memory on chip with y[i*4000 : (i+1)*4000], it has 49152")
}

// An iteration whose part is cut off by the end of the array fails where Go does, and only there.
func TestDistArraysAtTheEnd(t *testing.T) {
	l, err := lowerText(t, distText("dist_firstlastprivate([8]x)", "for j := 0; j < 8; j++ { if i*8+j < len(x)+int(y[0]) { x[i*8+j]++ } }"),
		codegen.LowerOptions{})
	require.NoError(t, err)
	program, err := simt.New(l.Program)
	require.NoError(t, err)
	x := make([]float64, 20)
	require.NoError(t, runDevice(program, []any{x, []float64{0}, 3}, simt.Config{Teams: 2, Threads: 32, Races: true}))
	for _, v := range x {
		require.Equal(t, 1.0, v)
	}
	require.ErrorContains(t, runDevice(program, []any{x, []float64{1}, 3}, simt.Config{Teams: 2, Threads: 32}), "x: index 20")
}
