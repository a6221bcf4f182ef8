package codegen_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gompss/gompss/codegen"
	"github.com/gompss/gompss/codegen/simt"
)

// whoRuns is whoRunsOf for 40 iterations.
func whoRuns(t *testing.T, directive string, teams, threads int) []string {
	return whoRunsOf(t, 40, directive, teams, threads)
}

// whoRunsOf lowers a loop that notes which team and thread ran each of its iterations, and returns what it noted.
func whoRunsOf(t *testing.T, iterations int, directive string, teams, threads int) []string {
	l, err := lowerText(t, "import \"github.com/gompss/gompss/codegen/kernel\"\n\n//omp:target device(acc)\n//omp:task inout(x, y)\n"+
		"func K(x, y []int, n int) {\n//omp:"+directive+
		fmt.Sprintf("\nfor i := 0; i < %d; i++ {\nx[i], y[i] = kernel.TeamNum(), kernel.ThreadNum()\n}\n}", iterations), codegen.LowerOptions{})
	require.NoError(t, err)
	program, err := simt.New(l.Program)
	require.NoError(t, err)
	x, y := make([]int, iterations), make([]int, iterations)
	cfg := simt.Config{Teams: teams, Threads: threads, Warp: 1, Races: true, Steps: 1_000_000}
	require.NoError(t, runDevice(program, []any{x, y, 3}, cfg), l.Program)
	out := make([]string, iterations)
	for i := range out {
		out[i] = fmt.Sprintf("%d.%d", x[i], y[i])
	}
	return out
}

// Chunks of iterations go round robin, to teams, to threads or to both, as the clauses say.
func TestStaticChunksGoRoundRobin(t *testing.T) {
	for _, c := range []struct {
		directive string
		team      func(i int) int
		thread    func(i int) int
	}{
		{"teams distribute dist_schedule(static, 4)", func(i int) int { return i / 4 % 3 }, func(int) int { return 0 }},
		{"teams distribute dist_schedule(static, n)", func(i int) int { return i / 3 % 3 }, func(int) int { return 0 }},
		{"teams distribute parallel for dist_schedule(static, 6)", func(i int) int { return i / 6 % 3 }, func(i int) int { return i % 6 % 4 }},
		{"teams distribute parallel for schedule(static, 2)", func(i int) int { return i / 8 % 3 }, func(i int) int { return i / 2 % 4 }},
		{"teams distribute parallel for dist_schedule(static, 10) schedule(static, 3)", func(i int) int { return i / 10 % 3 },
			func(i int) int { return i % 10 / 3 % 4 }},
		{"teams distribute parallel for dist_schedule(static, 1<<62) schedule(static, 1<<62)", func(int) int { return 0 }, func(int) int { return 0 }},
		{"parallel for num_threads(4) schedule(static, 5)", func(int) int { return 0 }, func(i int) int { return i / 5 % 4 }},
		{"teams distribute parallel for schedule(cyclic, 2)", func(i int) int { return i / 8 % 3 }, func(i int) int { return i / 2 % 4 }},
		{"parallel for num_threads(4) schedule(static, n)", func(int) int { return 0 }, func(i int) int { return i / 3 % 4 }},
	} {
		want := make([]string, 40)
		for i := range want {
			want[i] = fmt.Sprintf("%d.%d", c.team(i), c.thread(i))
		}
		require.Equal(t, want, whoRuns(t, c.directive, 3, 4), c.directive)
	}
}

// Batches of schedule(guided) are half of what is left, dealt to the teams in turns of their threads; then come chunks of
// what the clause says. Thread 0 begins every turn.
func TestGuidedChunksShrink(t *testing.T) {
	turns := func(schedule string) (out []int) {
		for i, ran := range whoRunsOf(t, 400, "teams distribute parallel for schedule("+schedule+")", 2, 16) {
			if strings.HasSuffix(ran, ".0") {
				out = append(out, i)
			}
		}
		return out
	}
	batches := func(starts ...int) (out []int) {
		for i, lo := range starts[:len(starts)-1] {
			for ; lo < starts[i+1]; lo += 16 {
				out = append(out, lo)
			}
		}
		return out
	}
	require.Equal(t, batches(0, 200, 300, 350, 400), turns("guided"))
	require.Equal(t, batches(0, 200, 264, 328, 392, 400), turns("guided, 51"), "whole turns of 16 threads")
}

// The grid that the device takes by itself has a team for each chunk, and a thread for each iteration or chunk in it.
func TestChunksHaveTheirGrid(t *testing.T) {
	for _, c := range []struct{ directive, trip, teams string }{
		{"teams distribute dist_schedule(static, 4)", "", "(max(n, 0) + 3) / 4"},
		{"teams distribute parallel for dist_schedule(static, 64)", "64", "(max(n, 0) + 63) / 64"},
		{"teams distribute parallel for dist_schedule(static, 64) schedule(static, 2)", "65 / 2", "(max(n, 0) + 63) / 64"},
		{"teams distribute parallel for schedule(static, 8)", "max(n, 0)", ""},
	} {
		l, err := lowerText(t, "//omp:target device(acc)\n//omp:task inout(x)\nfunc K(x []int, n int) {\n//omp:"+c.directive+
			"\nfor i := 0; i < n; i++ {\nx[i]++\n}\n}", codegen.LowerOptions{})
		require.NoError(t, err)
		text := l.Program.String()
		if c.trip != "" {
			require.Contains(t, text, "trip "+c.trip)
		}
		if c.teams != "" {
			require.Contains(t, text, c.teams)
		}
		require.Regexp(t, "iterations (to the|side by side)", l.Explain())
	}
}

// schedule(onetoone) and schedule(cyclic) are two grids: a thread an iteration, and the teams that run at once, also
// where a reduction or a chunk would choose the other (issue 16, point 17).
func TestSchedule_OneToOneAndCyclicDiffer(t *testing.T) {
	for _, c := range []struct {
		clauses  string
		resident bool
	}{
		{"schedule(onetoone)", false}, {"schedule(cyclic)", true}, {"schedule(cyclic, 8)", true}, {"schedule(static, 8)", false},
		{"collapse(2) schedule(onetoone)", false}, {"collapse(2) schedule(cyclic)", true},
		{"schedule(onetoone) reduction(+: s)", false}, {"schedule(cyclic) reduction(+: s)", true},
	} {
		sum, use := "", ""
		if strings.Contains(c.clauses, "reduction") {
			sum, use = "s := 0", "s += i"
		}
		l, err := lowerText(t, fmt.Sprintf("//omp:target device(acc)\n//omp:task inout(x)\nfunc K(x []int, n int) {\n%s\n"+
			"//omp:teams distribute parallel for %s\nfor i := 0; i < n; i++ {\nfor j := 0; j < n; j++ {\n%s\nx[i*n+j] = j\n}\n}\n%s\n}",
			sum, c.clauses, use, strings.Replace(sum, "s := 0", "x[0] += s", 1)), codegen.LowerOptions{})
		require.NoError(t, err, c.clauses)
		launch := l.Program.Launches[0]
		require.Equal(t, c.resident, launch.Resident, c.clauses)
		require.Zero(t, launch.Width, c.clauses)
	}
}

// Where neighbouring iterations go along rows, blocks of them are dealt to teams whatever the
// schedule; schedule(cyclic) keeps its grid, and a kernel that asks for numbers its schedule.
func TestSchedule_RowsAreReadTogether(t *testing.T) {
	for _, c := range []struct {
		clauses, extra string
		rows, resident bool
	}{
		{"schedule(dynamic)", "", true, false}, {"schedule(guided, 3)", "", true, false}, {"schedule(counter)", "", true, false},
		{"schedule(onetoone)", "", true, false}, {"schedule(cyclic)", "", true, true},
		{"schedule(dynamic)", "y[i] = float32(kernel.TeamNum())", false, true}, {"dist_schedule(static, 32)", "", false, false},
	} {
		l, err := lowerText(t, "import \"github.com/gompss/gompss/codegen/kernel\"\n\nvar _ = kernel.TeamNum\n\n//omp:target device(acc)\n//omp:task in(x) inout(y)\nfunc K(n, m int, x, y []float32) {\n"+
			"//omp:teams distribute parallel for "+c.clauses+"\nfor i := 0; i < n; i++ {\nvar s float32\nfor j := 0; j < m; j++ {\ns = 0.5*s + x[i*m+j]\n}\ny[i] = s\n"+c.extra+"\n}\n}",
			codegen.LowerOptions{})
		require.NoError(t, err, c.clauses)
		require.Equal(t, c.rows, slices.Contains(l.Strategies, "rows"), c.clauses)
		require.Equal(t, c.resident, l.Program.Launches[0].Resident, c.clauses)
		require.Equal(t, !c.rows && strings.Contains(c.clauses, "dynamic"), len(l.Program.Scratch) > 1, c.clauses)
	}
}
