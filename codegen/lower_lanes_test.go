package codegen_test

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gompss/gompss/codegen"
	"github.com/gompss/gompss/codegen/ir"
	"github.com/gompss/gompss/codegen/simt"
)

// Rows of every average length run, on groups of eight lanes and as hubs, and fail at the access
// that is wrong.
func TestEveryNumberOfLanes(t *testing.T) {
	l := lowerKernel(t, loadCorpus(t), name(SpMV), codegen.LowerOptions{})
	for _, lanes := range []string{"ThreadNum() & 7\n", ">= 1024\n", "rContext"} {
		require.Contains(t, l.Program.String(), lanes)
	}
	program, err := simt.New(l.Program)
	require.NoError(t, err)
	c := corpusCaseOf(t, SpMV)
	for _, each := range []int{1, 3, 5, 9, 25, 50} {
		r := rand.New(rand.NewPCG(1, uint64(each)))
		start, col, val := []int32{0}, []int32{}, []float64{}
		x, y := make([]float64, 40), make([]float64, 40)
		for i := range x {
			for range max(0, each+r.IntN(5)-2) {
				col, val = append(col, int32(r.IntN(len(x)))), append(val, r.Float64())
			}
			start = append(start, int32(len(col)))
			x[i] = r.Float64()
		}
		for seed, s := range shapes {
			cfg := simt.Config{Teams: s.teams, Threads: s.threads, Seed: uint64(seed), Races: true}
			if s.threads%32 != 0 {
				continue
			}
			want, got := []any{start, col, val, x, make([]float64, len(y))}, []any{start, col, val, x, y}
			c.runGo(want)
			require.NoError(t, runDevice(program, got, cfg))
			require.Empty(t, c.differ(want, got), "rows of %d, %d teams of %d threads", each, s.teams, s.threads)
		}
		for i := range col {
			wrong := append([]int32{}, col...)
			wrong[i] = 40
			err := runDevice(program, []any{start, wrong, val, x, y}, simt.Config{Teams: 2, Threads: 64})
			require.ErrorContains(t, err, "x: index 40")
			if i > 100 {
				break
			}
		}
		err := runDevice(program, []any{start, col, val, x[:0], y}, simt.Config{Teams: 2, Threads: 64})
		require.ErrorContains(t, err, "length 0")
		short := append([]int32{}, start...)
		short[len(short)-1]++
		err = runDevice(program, []any{short, col, val, x, y}, simt.Config{Teams: 2, Threads: 64})
		require.ErrorContains(t, err, fmt.Sprint("index ", len(col)))
	}
}

// A launch has eight lanes for each row, however many there are.
func TestAThreadForEachLane(t *testing.T) {
	l := lowerKernel(t, loadCorpus(t), name(SpMV), codegen.LowerOptions{})
	for _, c := range []struct{ rows, threads int64 }{{1, 8}, {1000, 8000}, {10_000, 80_000}, {1 << 20, 8 << 20}} {
		env := ir.Values{}
		for i, n := range []int64{c.rows + 1, 12 * c.rows, 12 * c.rows, c.rows, c.rows} { // start, col, val, x, y
			env[l.Program.Params[i]] = ir.Value{Len: n, Cap: n}
		}
		trip, err := ir.EvalInt(l.Program.Launches[0].Trip, env)
		require.NoError(t, err)
		require.Equal(t, c.threads, trip, "%d rows", c.rows)
	}
}

// A launch of one team has all the threads that a team can have.
func TestLanesOfAWholeTeam(t *testing.T) {
	const text = `//omp:target device(acc)
//omp:task inout(a)
func K(n int, a []float64) {
	for j := 0; j < n; j++ {
		//omp:teams distribute parallel for
		for i := j; i < n; i++ {
			s := 0.0
			//omp:simd reduction(+: s)
			for k := 0; k < j; k++ {
				s += a[i*n+k] * a[j*n+k]
			}
			a[i*n+j] -= s
		}
	}
}`
	n := 40
	want := make([]float64, n*n)
	for i := range want {
		want[i] = (float64(i%7) - 2.5) / 100
	}
	start := append([]float64{}, want...)
	for j := range n {
		for i := j; i < n; i++ {
			s := 0.0
			for k := range j {
				s += want[i*n+k] * want[j*n+k]
			}
			want[i*n+j] -= s
		}
	}
	l, err := lowerText(t, text, codegen.LowerOptions{})
	require.NoError(t, err)
	require.NotContains(t, l.Program.String(), "threads <= 256")
	program, err := simt.New(l.Program)
	require.NoError(t, err)
	for _, threads := range []int{32, 256, 1024} {
		got := append([]float64{}, start...)
		require.NoError(t, runDevice(program, []any{n, got}, simt.Config{Teams: 1, Threads: threads, Races: true}))
		for i := range want {
			if want[i] != 0 {
				require.InEpsilon(t, want[i], got[i], 1e-6, "%d threads, element %d", threads, i)
			}
		}
	}
}

// Under fastmath a sum of products begins with what is no product, as far as that saves an
// operation.
func TestSumsBeginWithWhatIsNoProduct(t *testing.T) {
	for _, c := range []struct{ sum, want string }{
		{"a*a + b*b + c", "c + a * a + b * b"},
		{"a*a + b*b + c*c + 2 + a", "2.0 + a * a + b * b + c * c + a"},
		{"a*b + b + c*c", "a * b + b + c * c"},
		{"a*b + c", "a * b + c"},
		{"a + b*b + c", "a + b * b + c"},
		{"a*a + b*b - c", "a * a + b * b - c"},
		{"a*a + b*b + c*c", "a * a + b * b + c * c"},
		{"a*a + (b*b + c)", "a * a + (b * b + c)"},
	} {
		for _, fast := range []string{" fastmath", ""} {
			l, err := lowerText(t, fmt.Sprintf(`//omp:target device(acc)%s
//omp:task inout(y)
func K(y []float64, a, b, c float64) {
	//omp:teams distribute parallel for
	for i := range y {
		y[i] = %s
	}
}`, fast, c.sum), codegen.LowerOptions{})
			require.NoError(t, err)
			want := c.want
			if fast == "" {
				want = strings.ReplaceAll(strings.ReplaceAll(strings.ReplaceAll(c.sum, "*", " * "), "+ 2 ", "+ 2.0 "), "  ", " ")
			}
			require.Contains(t, l.Program.String(), "= "+want+"\n", "%s%s", c.sum, fast)
		}
	}
}
