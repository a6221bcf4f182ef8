package cost_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/gompss/gompss/codegen"
	"github.com/gompss/gompss/codegen/cost"
	"github.com/gompss/gompss/codegen/ir"
	"github.com/gompss/gompss/codegen/target"
)

// estimate lowers kernel K and estimates its first launch, with n for each number and so many
// elements in each slice, a thread for each iteration of the launch.
func estimate(t *testing.T, text string, n, length int64, opt codegen.LowerOptions) target.Estimate {
	t.Helper()
	p, err := codegen.Load(codegen.File{Name: "k.go", Text: "package k\n\n//omp:target device(acc)\n" + text})
	require.NoError(t, err)
	l, err := codegen.Lower(p.Kernels()[0], opt)
	require.NoError(t, err)
	env := cost.Nominal(l.Program.Params, n, length)
	g := l.Program.Launches[0]
	trip, err := ir.EvalInt(g.Trip, env)
	require.NoError(t, err)
	threads := int64(256)
	return cost.Of(g, env, target.Default(), cost.Grid{Teams: (trip + threads - 1) / threads / int64(max(g.Width, 1)), Threads: threads})
}

// A copy is bound by memory, at its bandwidth.
func TestOf_Copy(t *testing.T) {
	const n = 1 << 28
	e := estimate(t, "//omp:task in(a) inout(b)\nfunc K(a, b []float32) {\n//omp:teams distribute parallel for\nfor i := range a {\nb[i] = a[i]\n}\n}", 1, n, codegen.LowerOptions{})
	require.Equal(t, "memory", e.Bound)
	require.InDelta(t, 8*n/target.Default().Memory.Bandwidth, e.Time.Seconds(), 0.2e-3, "%v", e)
}

// Elements that lie apart for neighbouring threads ask for a sector each.
func TestOf_StridesCost(t *testing.T) {
	const text = "//omp:task in(a) inout(b)\nfunc K(a, b []float32, n int) {\n//omp:teams distribute parallel for\nfor i := 0; i < n; i++ {\nvar s float32\n" +
		"for j := 0; j < n; j++ {\ns += a[%]\n}\nb[i] = s\n}\n}"
	const n = 1 << 13
	plain := codegen.LowerOptions{Choice: codegen.Choice{"rows": -1}}
	columns := estimate(t, replace(text, "j*n+i"), n, 16*n*n, plain)
	apart := estimate(t, replace(text, "(j*n+i)*16"), n, 16*n*n, plain)
	require.Greater(t, apart.Time, 4*columns.Time, "%v beside %v", apart, columns)
}

// More work of one kind takes longer, and what computes a lot is bound by its instructions.
func TestOf_Instructions(t *testing.T) {
	const text = "//omp:task inout(a)\nfunc K(a []float64, n int) {\n//omp:teams distribute parallel for\nfor i := range a {\nx := a[i]\n" +
		"for j := 0; j < n; j++ {\nx = x*x + 0.5\n}\na[i] = x\n}\n}"
	few, many := estimate(t, text, 1000, 1<<22, codegen.LowerOptions{}), estimate(t, text, 4000, 1<<22, codegen.LowerOptions{})
	require.Equal(t, "instructions", many.Bound)
	require.InDelta(t, 4, float64(many.Time)/float64(few.Time), 0.4)
}

// Blocks of a product of matrices are expected to save most of the time.
func TestOf_BlocksOfProducts(t *testing.T) {
	const text = "//omp:task in(a, b) inout(c)\nfunc K(a, b, c []float32, n int) {\n//omp:teams distribute parallel for collapse(2)\nfor i := 0; i < n; i++ {\nfor j := 0; j < n; j++ {\n" +
		"var s float32\nfor k := 0; k < n; k++ {\ns += a[i*n+k] * b[k*n+j]\n}\nc[i*n+j] = s\n}\n}\n}"
	blocks := estimate(t, text, 4096, 4096*4096, codegen.LowerOptions{})
	plain := estimate(t, text, 4096, 4096*4096, codegen.LowerOptions{Choice: codegen.Choice{"blocks": -1}})
	require.Greater(t, plain.Time, 2*blocks.Time, "blocks %v, without %v", blocks, plain)
	require.Greater(t, blocks.Time, time.Millisecond)
}

// Copies in team memory are made of short tables alone: of a long one they cost nothing, and were expected to cost 120 times the kernel.
func TestOf_LongTables(t *testing.T) {
	const text = "//omp:task in(x) inout(h)\nfunc K(x []int32, h []int32) {\n//omp:teams distribute parallel for\nfor i := range x {\n//omp:atomic\nh[x[i]&255]++\n}\n}"
	tables := estimate(t, text, 1, 1<<24, codegen.LowerOptions{})
	plain := estimate(t, text, 1, 1<<24, codegen.LowerOptions{Choice: codegen.Choice{"tables": -1}})
	require.Less(t, tables.Time, 2*plain.Time, "tables %v, without %v", tables, plain)
}

func replace(text, with string) string {
	out := ""
	for _, r := range text {
		if r == '%' {
			out += with
			continue
		}
		out += string(r)
	}
	return out
}
