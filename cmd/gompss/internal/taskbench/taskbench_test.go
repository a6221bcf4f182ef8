package taskbench

import (
	"testing"

	"github.com/stretchr/testify/require"
	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func TestEdgesOfSmallGraphs(t *testing.T) {
	for _, c := range []struct {
		pattern      string
		width, steps int
		tasks, edges int
	}{
		{"independent", 4, 3, 12, 0},
		{"trivial", 4, 3, 12, 0},
		{"chain", 4, 3, 12, 8},
		// Step 1 reads the step before: 2+2 of the corners, 3+3 of the rest. Step 2 writes what
		// step 1 read, and reads what step 1 wrote: the same tasks.
		{"stencil1d", 4, 3, 12, 20},
		// A task of step 1 reads 3, 4, 4 and 3 columns, which were written by as many tasks.
		{"nearest", 4, 2, 8, 14},
		// A task of step 1 reads the columns at odd distances, and writes what five others at even
		// ones have read.
		{"spread", 10, 2, 20, 100},
		{"tree", 2, 2, 4, 2 + 1},
		{"cholesky", 2, 1, 4, 3},
		{"cholesky", 3, 1, 10, 12},
	} {
		g, err := NewGraph(c.pattern, c.width, c.steps)
		require.NoError(t, err)
		require.Equal(t, c.tasks, g.Tasks(), c.pattern)
		require.Equal(t, c.edges, g.Edges, c.pattern)
	}
}

func TestEveryPatternRuns(t *testing.T) {
	for _, pattern := range Patterns() {
		for _, submitters := range []int{1, 3} {
			for _, replay := range []bool{false, true} {
				o := Options{Pattern: pattern, Width: 5, Steps: 20, Workers: 2, Submitters: submitters, Repetitions: 1, Replay: replay}
				got, err := Measure(o)
				require.NoError(t, err)
				require.Equal(t, "ok", got.Order)
				require.Positive(t, got.PerTask)
				require.Positive(t, got.Submit)
				g, err := NewGraph(pattern, 5, 20/submitters)
				require.NoError(t, err)
				require.Equal(t, submitters*g.Tasks(), got.Tasks)
				require.Equal(t, submitters*g.Edges, got.Edges)
			}
		}
	}
}

// TestABrokenOrderIsSeen submits the tasks in the wrong order: what runs is another program, and
// the result says so, in each way of running it.
func TestABrokenOrderIsSeen(t *testing.T) {
	for _, pattern := range []string{"chain", "stencil1d", "fft", "tree", "random", "cholesky"} {
		for _, submitters := range []int{1, 3} {
			for _, replay := range []bool{false, true} {
				o := Options{Pattern: pattern, Width: 4, Steps: 20, Workers: 2, Submitters: submitters, Repetitions: 1, Replay: replay, backwards: true}
				got, err := Measure(o)
				require.ErrorIs(t, err, ErrOrder)
				require.Contains(t, got.Order, "accesses out of order")
				_, err = METG(o)
				require.ErrorIs(t, err, ErrOrder)
			}
		}
	}
}

// TestTheCheckSees runs tasks in a wrong order, twice, or not at all: the check must find each of
// them.
func TestTheCheckSees(t *testing.T) {
	for _, pattern := range []string{"independent", "trivial", "chain", "stencil1d", "cholesky"} {
		o := Options{Pattern: pattern, Width: 4, Steps: 8, Workers: 1, Submitters: 1}
		r, err := o.open(0)
		require.NoError(t, err)
		p := r.programs[0]
		last := len(p.bodies) - 1
		run := func(order func(i int) int) error {
			p.reset()
			for i := range p.bodies {
				if at := order(i); at >= 0 {
					require.NoError(t, p.bodies[at]())
				}
			}
			return p.check()
		}
		require.NoError(t, run(func(i int) int { return i }))
		require.Error(t, run(func(i int) int { return max(0, i-1) }), "%s: one twice, the last never", pattern)
		require.Error(t, run(func(i int) int { return i - 1 }), "%s: one never", pattern)
		if pattern != "independent" && pattern != "trivial" {
			require.Error(t, run(func(i int) int { return last - i }), "%s: backwards", pattern)
		}
		require.NoError(t, r.rt.Close())
	}
}

func TestMistakesAreErrors(t *testing.T) {
	_, err := NewGraph("star", 4, 4)
	require.ErrorContains(t, err, "the patterns are independent, trivial, chain")
	_, err = NewGraph("chain", 0, 4)
	require.ErrorContains(t, err, "width 0")
}

func TestMETGFindsAGrain(t *testing.T) {
	if testing.Short() {
		t.Skip("searches for minutes where a processor is emulated, or shared with others")
	}
	for _, submitters := range []int{1, 2} {
		for _, replay := range []bool{false, true} {
			us, err := METG(Options{Pattern: "chain", Width: 4, Steps: 50, Workers: 1, Submitters: submitters, Replay: replay})
			require.NoError(t, err)
			require.Positive(t, us)
		}
	}
}
