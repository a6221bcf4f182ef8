package codegen_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gompss/gompss/codegen"
	"github.com/gompss/gompss/codegen/simt"
)

// Clauses that read what the loop writes are evaluated once, in a launch of their own: the teams begin at different times.
func TestClausesThatReadWhatTheLoopWrites(t *testing.T) {
	for _, clause := range []string{"if(x[0] > 3)", "if(x[0] <= 3)", "num_threads(x[0])", "num_threads(x[1])", "schedule(static, x[0])",
		"schedule(dynamic, x[1])", "schedule(guided, x[1])", "dist_schedule(static, x[0])", "num_teams(x[0])", "num_teams(x[1])",
		"thread_limit(x[0])", "thread_limit(x[1])"} {
		t.Run(clause, func(t *testing.T) {
			l, err := lowerText(t, "//omp:target device(acc)\n//omp:task inout(x)\nfunc K(x []int) {\n//omp:teams distribute parallel for "+clause+
				"\nfor i := 0; i < len(x); i++ {\nx[i] += 3 - 2*i\n}\n}", codegen.LowerOptions{})
			require.NoError(t, err)
			require.Len(t, l.Program.Launches, 2, l.Program)
			require.Contains(t, l.Explain(), "evaluated once, before the launch: the teams do not begin together")
			for seed := range uint64(8) {
				x, want := make([]int, 100), make([]int, 100)
				x[0], want[0] = 5, 5
				for i := range want {
					want[i] += 3 - 2*i
				}
				cfg := simt.Config{Teams: 5, Threads: 32, Seed: seed, Races: true, Steps: 1_000_000}
				program, err := simt.New(l.Program)
				require.NoError(t, err)
				require.NoError(t, runDevice(program, []any{x}, cfg), l.Program)
				require.Equal(t, want, x)
			}
		})
	}
}

// What only the parameters and other memory decide stays in the launch, or on the host.
func TestClausesThatNothingWritesStay(t *testing.T) {
	for _, clause := range []string{"if(n > 3)", "num_threads(n)", "if(y[0] > 3)", "num_threads(int(y[0]))", "num_teams(n)"} {
		l, err := lowerText(t, "//omp:target device(acc)\n//omp:task inout(x)\nfunc K(x []int, y []int32, n int) {\n"+
			"//omp:teams distribute parallel for "+clause+"\nfor i := 0; i < len(x); i++ {\nx[i]++\n}\n}", codegen.LowerOptions{})
		require.NoError(t, err)
		require.Len(t, l.Program.Launches, 1, "%s\n%s", clause, l.Program)
	}
}

// Bounds that come from memory bound: kernel.NumTeams and kernel.ThreadNum see it.
func TestBoundsFromMemory(t *testing.T) {
	for _, c := range []struct {
		clauses        string
		teams, threads int
	}{{"", 6, 64}, {"num_teams(s[0])", 3, 64}, {"thread_limit(s[1])", 6, 40}, {"num_teams(s[0]) thread_limit(s[1])", 3, 40},
		{"num_teams(s[2])", 1, 64}, {"thread_limit(s[2])", 6, 1}} {
		for _, mode := range []string{"", " mode(control_loop)", " mode(warp_specialized)"} {
			l, err := lowerText(t, "import \"github.com/gompss/gompss/codegen/kernel\"\n\n//omp:target device(acc)\n//omp:task inout(x, y) in(s)\n"+
				"func K(x, y, s []int) {\n//omp:teams "+c.clauses+mode+"\n{\nk := kernel.TeamNum()\n//omp:parallel\n{\n"+
				"//omp:atomic\nx[k*1000+kernel.ThreadNum()]++\n//omp:single\n{\ny[k] = kernel.NumTeams()\n}\n}\n}\n}", codegen.LowerOptions{})
			require.NoError(t, err)
			program, err := simt.New(l.Program)
			require.NoError(t, err)
			x, y := make([]int, 6000), make([]int, 6)
			err = runDevice(program, []any{x, y, []int{3, 40, -1}}, simt.Config{Teams: 6, Threads: 64, Races: true, Steps: 1_000_000, Seed: 3})
			require.NoError(t, err, l.Program)
			for k := range y {
				want := 0
				if k < c.teams {
					want = c.teams
				}
				require.Equal(t, want, y[k], "%s%s team %d", c.clauses, mode, k)
			}
			for i, v := range x {
				if v > 0 {
					require.Less(t, i/1000, c.teams, c.clauses)
					require.Less(t, i%1000, c.threads, "%s%s", c.clauses, mode)
				}
			}
		}
	}
}
