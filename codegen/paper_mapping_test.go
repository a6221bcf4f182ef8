package codegen_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gompss/gompss/codegen"
	"github.com/gompss/gompss/codegen/ir"
	"github.com/gompss/gompss/codegen/simt"
)

// Ozen and Wolfe, Performant Portable OpenMP, 2022, section 5.4 and figure 2: two nests that say
// "loop" and nothing about the device become one kernel in which neighbouring threads touch
// neighbouring memory, in both nests.
func TestPaperDescriptiveLoops(t *testing.T) {
	l := lowerKernel(t, loadCorpus(t), "Fluxes", codegen.LowerOptions{})
	require.Len(t, l.Program.Launches, 1)
	require.Equal(t, 2, strings.Count(l.Explain(), "one iteration space of 2 loops: they are parallel and perfectly nested"))
	require.Equal(t, []string{"j", "j"}, fastest(l.Program.Launches[0].Body))
}

// Lee, Min and Eigenmann, OpenMP to GPGPU, 2009, section 4.1.2 and figure 4: a loop over rows, or
// over columns, is shared out so that the loop over the columns is the one that varies from thread
// to thread.
func TestPaperLoopSwap(t *testing.T) {
	p := loadCorpus(t)
	for _, kernel := range []string{"JacobiRows", "JacobiColumns"} {
		l := lowerKernel(t, p, kernel, codegen.LowerOptions{})
		require.Equal(t, []string{"j"}, fastest(l.Program.Launches[0].Body), l.Program.String())
	}
	l := lowerKernel(t, p, "JacobiColumns", codegen.LowerOptions{})
	require.Contains(t, l.Explain(), "loop j -> innermost: most accesses have stride 1 in it")
}

// fastest returns the loop variables that differ by one from thread to thread, in the loops of several that come first in
// each test: those that are made of the remainder of a division.
func fastest(list []ir.Stmt) []string {
	var out []string
	seen := map[ir.Pos]bool{}
	ir.WalkStmts(list, func(s ir.Stmt) bool {
		d, ok := s.(*ir.Decl)
		if !ok || d.Init == nil || d.Var.Name != "i" && d.Var.Name != "j" && d.Var.Name != "k" {
			return true
		}
		remainder := false
		ir.WalkExpr(d.Init, func(e ir.Expr) bool {
			b, ok := e.(*ir.Binary)
			remainder = remainder || ok && b.Op == ir.Sub && strings.Contains(ir.ExprString(b), "rows * count")
			return true
		})
		if remainder && !seen[d.At] {
			seen[d.At] = true
			out = append(out, d.Var.Name)
		}
		return true
	})
	return out
}

// Ozen, Compiler and Runtime Based Parallelization & Optimization for GPUs, 2017, section 6.3: with
// the dynamic schedule a team asks for all chunks but its first, with the counter for all; and each
// stream, here each run, has a counter of its own, which is zero again (section 6.4).
func TestPaperDynamicSchedule(t *testing.T) {
	atomics := func(schedule string, teams int) int64 {
		l, err := lowerText(t, "//omp:target device(acc)\n//omp:task in(x) inout(y)\nfunc K(a float64, x, y []float64) {\n"+
			"//omp:teams distribute parallel for schedule("+schedule+")\nfor i := range y { y[i] += a * x[i] }\n}", codegen.LowerOptions{})
		require.NoError(t, err)
		require.True(t, l.Program.Launches[0].Resident, "the grid is what runs at once (section 6.4.2)")
		program, err := simt.New(l.Program)
		require.NoError(t, err)
		x, y := make([]float64, 1000), make([]float64, 1000)
		x[999] = 1
		first := int64(0)
		for run := range 2 {
			stats, err := program.Run([]simt.Arg{{Bits: 0x4000000000000000}, deviceArg(1, x), deviceArg(2, y)},
				simt.Config{Teams: teams, Threads: 8, Races: true})
			require.NoError(t, err)
			require.Equal(t, float64(2*run+2), y[999])
			if run == 0 {
				first = stats.Atomics
			}
			require.Equal(t, first, stats.Atomics, "a second run finds the counter at zero")
		}
		return first
	}
	const chunks = (1000 + 79) / 80 // whole turns of eight threads
	for _, teams := range []int{1, 4, 7} {
		require.EqualValues(t, chunks+teams, atomics("counter, 77", teams))
		require.EqualValues(t, chunks, atomics("dynamic, 77", teams))
	}
}

// Ozen, Compiler and Runtime Based Parallelization & Optimization for GPUs, 2017, section 4.2 and
// figure 4.10: the parts of the DG kernel's fluxes that belong to an element are read once into
// memory on chip and stored once; between the two nothing touches them in device memory.
func TestPaperOnChip(t *testing.T) {
	l := lowerKernel(t, loadCorpus(t), "DG", codegen.LowerOptions{})
	var onChip []ir.Stmt
	ir.WalkStmts(l.Program.Launches[0].Body, func(s ir.Stmt) bool {
		if f, ok := s.(*ir.If); ok && onChip == nil && strings.Contains(ir.ExprString(f.Cond), "len(flx)") {
			onChip = f.Then
		}
		return true
	})
	touched := map[string]int{}
	ir.WalkExprs(onChip, func(e ir.Expr) bool {
		if ix, ok := e.(*ir.Index); ok {
			touched[ir.ExprString(ix.X)]++
		}
		return true
	})
	for _, name := range []string{"flx", "fly"} {
		require.Equal(t, 2, touched[name])
		require.Greater(t, touched[name+"Part"], 2)
	}
}
