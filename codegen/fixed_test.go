package codegen_test

import (
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gompss/gompss/codegen"
	"github.com/gompss/gompss/codegen/cuda"
	"github.com/gompss/gompss/codegen/simt"
)

// TestEmptyTeamsLowers: a teams body without a statement made lowering look at its first one.
func TestEmptyTeamsLowers(t *testing.T) {
	const source = `package p

//omp:target
//omp:task inout(x)
func Empty(x []int) {
	//omp:teams
	{
	}
	//omp:teams distribute parallel for
	for i := 0; i < len(x); i++ {
		x[i]++
	}
}
`
	p, err := codegen.Load(codegen.File{Name: "empty.go", Text: source})
	require.NoError(t, err)
	k, err := p.Kernel("Empty")
	require.NoError(t, err)
	l, err := codegen.Lower(k, codegen.LowerOptions{})
	require.NoError(t, err)
	require.NotEmpty(t, l.Program.Launches)
}

// runEverywhere runs the body of a kernel over x, of 20 elements, in every mode on grids of several shapes: x begins as
// 0, 1, 2 and must end as want.
func runEverywhere(t *testing.T, body string, want []int64) {
	t.Helper()
	for _, mode := range []string{"auto", "broadcast", "control_loop", "warp_specialized"} {
		text := "package k\n\nimport \"github.com/gompss/gompss/codegen/kernel\"\n\nvar _ = kernel.TeamNum\n\n" +
			"//omp:target device(acc)\n//omp:task inout(x)\nfunc K(x []int64) {\n" + strings.ReplaceAll(body, "MODE", "mode("+mode+")") + "\n}\n"
		p, err := codegen.Load(codegen.File{Name: "k.go", Text: text})
		require.NoError(t, err)
		l, err := codegen.Lower(p.Kernels()[0], codegen.LowerOptions{})
		require.NoError(t, err)
		program, err := simt.New(l.Program)
		require.NoError(t, err)
		for _, s := range shapes {
			x := make([]int64, 20)
			for i := range x {
				x[i] = int64(i)
			}
			require.NoError(t, runDevice(program, []any{x}, simt.Config{Teams: s.teams, Threads: s.threads, Races: true}))
			require.Equal(t, want, x[:len(want)], "mode %s, %d teams of %d threads\n%s", mode, s.teams, s.threads, text)
		}
	}
}

// TestAddressInSequentialCode: a variable of a team whose address is taken was declared twice, or nowhere, in code that
// thread 0 runs alone.
func TestAddressInSequentialCode(t *testing.T) {
	runEverywhere(t, `
	//omp:teams num_teams(1) MODE
	{
		if len(x) > 3 {
			var s [3]int64
			p := &s
			for i := 0; i < 4; i++ {
				p[1]++
			}
			x[1] = s[0] + s[1]
		}
		//omp:parallel for
		for i := 2; i < 5; i++ {
			x[i] = x[1]
		}
	}`, []int64{0, 4, 4, 4, 4, 5})
	runEverywhere(t, `
	//omp:teams parallel num_teams(1) if(len(x) > 3) MODE
	{
		//omp:single nowait
		{
			var s [3]int64
			//omp:simd reduction(+: s[0:2])
			for i := 0; i < 4; i++ {
				s[0]++
			}
			p := &s
			x[1] = p[0]
		}
	}`, []int64{0, 4, 2})
}

// TestPartsOfOneArray: where clauses combine parts of one array, only the last of them counted; and what is beside the
// parts was lost.
func TestPartsOfOneArray(t *testing.T) {
	runEverywhere(t, `
	var s [5]int64
	s[4] = 100
	//omp:teams distribute parallel for reduction(+: s[0:2]) reduction(max: s[2]) reduction(+: s[3]) MODE
	for i := range x {
		if i&1 == 0 {
			s[0] += x[i]
		} else {
			s[1] += x[i]
		}
		s[2] = max(s[2], x[i]+s[4])
		s[3]++
	}
	x[0], x[1], x[2], x[3] = s[0], s[1], s[2], s[3]
	x[4] = s[4]`, []int64{90, 100, 119, 20, 100, 5})
}

// TestParallelLoopInTeams: each team runs all of a parallel loop, as of a parallel for; the teams shared it out.
func TestParallelLoopInTeams(t *testing.T) {
	runEverywhere(t, `
	//omp:teams MODE
	{
		//omp:parallel loop num_threads(2)
		for i := 0; i < 8; i++ {
			if kernel.TeamNum() == 0 {
				x[i] += 10
			}
		}
	}`, []int64{10, 11, 12, 13, 14, 15, 16, 17, 8})
}

// TestLastprivateOfAThread: every thread knows what a lastprivate variable that each of them has ends with; only the one
// that ran the last iteration did.
func TestLastprivateOfAThread(t *testing.T) {
	runEverywhere(t, `
	//omp:teams parallel num_teams(1) MODE
	{
		last, none := int64(-1), int64(-2)
		for k := 0; k < 3; k++ {
			//omp:for lastprivate(last) nowait
			for i := 0; i < 11; i++ {
				last = int64(i + k)
			}
			//omp:for lastprivate(none)
			for i := 5; i < k; i++ {
				none = int64(i)
			}
			//omp:for
			for i := 0; i < 5; i++ {
				x[i] += last*10 + none
			}
		}
	}`, []int64{0 + 330 - 6, 1 + 330 - 6, 2 + 330 - 6, 3 + 330 - 6, 4 + 330 - 6, 5})
}

// TestSeveralReductionsOfOneVariable: of two constructs that reduce into one variable with a known first value, the second
// began with that value again, and what the first had found was lost.
func TestSeveralReductionsOfOneVariable(t *testing.T) {
	for _, form := range severalForms {
		runEverywhere(t, strings.ReplaceAll(severalReductions, "FORM", form), severalReductionsGive)
	}
}

var (
	severalForms          = []string{"teams distribute parallel for", "teams distribute", "loop", "parallel for", "teams loop", "simd"}
	severalReductionsGive = []int64{5 + 190 - 6 + 400, 3, 0, 3}
)

// severalReductions leaves severalReductionsGive in x, which holds the numbers from 0.
const severalReductions = `
	s, least, at := int64(5), int64(50), -1
	//omp:FORM reduction(+: s)
	for i := range x {
		s += x[i]
	}
	//omp:FORM reduction(+: s) reduction(minloc: least, at)
	for i := 0; i < 4; i++ {
		s -= int64(i)
		if x[i+3] < least {
			least, at = x[i+3], i
		}
	}
	if len(x) > 9 {
		//omp:FORM reduction(+: s)
		for i := 0; i < 4; i++ {
			s += 100
		}
	}
	//omp:FORM reduction(minloc: least, at)
	for i := 0; i < 4; i++ {
		if x[i+4] < least {
			least, at = x[i+4], i
		}
	}
	x[0], x[1], x[2] = s, least, int64(at)`

// TestLeagueBoundedByAnArray: a bound of a league that reads an array which goes by value, under a condition, made lowering panic. Random
// kernels that read package variables found it.
func TestLeagueBoundedByAnArray(t *testing.T) {
	l, err := lowerText(t, "//omp:target device(acc)\n//omp:task inout(x)\nfunc K(x []int64, t [4]int64) {\nif t[1]&1 == 0 {\n"+
		"//omp:teams distribute parallel for num_teams(int(t[1]&3) + 1)\nfor i := range x {\nx[i] += t[2]\n}\n}\n}\n", codegen.LowerOptions{})
	require.NoError(t, err)
	program, err := simt.New(l.Program)
	require.NoError(t, err)
	for _, s := range shapes {
		x := []int64{1, 2, 3, 4, 5}
		require.NoError(t, runDevice(program, []any{x, [4]int64{0, 2, 10, 0}}, simt.Config{Teams: s.teams, Threads: s.threads, Races: true}))
		require.Equal(t, []int64{11, 12, 13, 14, 15}, x)
	}
}

// TestStartIsHidden: NVRTC 13.0 read x[j+1] in the place of x[j] in a loop of 32-bit text whose j begins at 1 behind the
// number of the thread (TestCorpusOnADevice/PartsCounts, on an H100).
func TestStartIsHidden(t *testing.T) {
	l := lowerKernel(t, loadCorpus(t), "PartsCounts", codegen.LowerOptions{NoShuffles: true, KeepChecks: true})
	for narrow, want := range map[bool]string{true: "int j = gompss_hidden(1 + (", false: "int64 j = 1 + ("} {
		source, err := cuda.Print(l.Program, cuda.Options{Index32: narrow})
		require.NoError(t, err)
		require.Contains(t, source.Text, want)
	}
}
