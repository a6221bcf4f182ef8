package codegen_test

import (
	"fmt"
	"strings"
	"testing"
	"unsafe"

	"github.com/stretchr/testify/require"

	"github.com/gompss/gompss/codegen"
	"github.com/gompss/gompss/codegen/ir"
	"github.com/gompss/gompss/codegen/simt"
)

// A loop without a directive over slices that may overlap does what Go does, wherever the slices lie in one buffer.
func TestOverlap(t *testing.T) {
	l, err := lowerText(t, "//omp:target device(acc)\n//omp:task inout(x, y)\nfunc K(x, y []int) {\nfor i := range x { x[i] = 2*y[i] + 1 }\n}",
		codegen.LowerOptions{})
	require.NoError(t, err)
	require.Contains(t, l.Explain(), "loop i -> two versions: more of it is parallel where x and y do not overlap")
	program, err := simt.New(l.Program)
	require.NoError(t, err)
	const n = 40
	for from := -n - 1; from <= n+1; from++ {
		want, got := make([]int, 5*n), make([]int, 5*n)
		for i := range want {
			want[i], got[i] = i*i, i*i
		}
		x, y := want[2*n:3*n], want[2*n+from:3*n+from]
		for i := range x {
			x[i] = 2*y[i] + 1
		}
		m := &simt.Memory{Name: "both", Bytes: unsafe.Slice((*byte)(unsafe.Pointer(&got[0])), 8*len(got))}
		args := []simt.Arg{{Memory: m, Offset: 16 * n, Len: n, Cap: n}, {Memory: m, Offset: 8 * int64(2*n+from), Len: n, Cap: n}}
		_, err := program.Run(args, simt.Config{Teams: 3, Threads: 5, Seed: 4, Races: true})
		require.NoError(t, err, "%d apart", from)
		require.Equal(t, want, got, "%d apart", from)
	}
}

// Only what would make more loops parallel is tested, and no more than is needed.
func TestWhereApart(t *testing.T) {
	for _, c := range []struct{ name, body, test string }{
		{"copy", "for i := range x { x[i] = y[i] }", "apart(x, y)"},
		{"itself", "for i := range x { x[i] = x[i] * y[i] }", "apart(x, y)"},
		{"two writes", "for i := range x { x[i] = f[i]; y[i] = 1 }", "apart(x, y)"},
		{"neighbours", "for i := 1; i < n; i++ { x[i] = x[i-1] + y[i] }", ""},
		{"unknown place", "for i := range x { x[int(y[i])] = y[i] }", ""},
		{"read only", "s := y[0]; for i := range x { s += x[i] }; y[0] = s", ""},
		{"under a loop", "for k := 0; k < n; k++ { for i := range x { x[i] += y[k] } }", "inside"}, // by one team
	} {
		t.Run(c.name, func(t *testing.T) {
			l, err := lowerText(t, "//omp:target device(acc) check(none)\n//omp:task inout(x, y, f)\nfunc K(x, y, f []float64, n int) {\n"+c.body+"\n}",
				codegen.LowerOptions{})
			require.NoError(t, err)
			tests := 0
			ir.WalkExprs(l.Program.Launches[0].Body, func(e ir.Expr) bool {
				if _, ok := e.(*ir.Apart); ok {
					tests++
				}
				return true
			})
			if c.name == "two writes" {
				require.Contains(t, l.Program.String(), "apart(x, f) && apart(x, y)")
				return
			}
			require.Equal(t, c.test != "", tests > 0, l.Program.String())
			if c.test != "inside" {
				require.Equal(t, c.test != "", strings.Contains(l.Program.String(), fmt.Sprintf("when %s ", c.test)), l.Program.String())
			}
		})
	}
}
