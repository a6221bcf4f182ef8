package codegen_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gompss/gompss/codegen"
	"github.com/gompss/gompss/codegen/ir"
	"github.com/gompss/gompss/codegen/simt"
	"github.com/gompss/gompss/codegen/target"
)

// quickBarriers is a GPU whose grid barriers cost nothing and whose teams have one thread: all
// teams run sequential code around constructs that one team could run.
func quickBarriers() *target.Target {
	g := target.Default()
	g.Team.Threads, g.Cost.GridBarrier = 1, 0
	return g
}

// wholeKernels have sequential code around constructs that all teams may run; n and m are sizes.
var wholeKernels = []struct {
	name, body string
	launches   int    // that meet
	why        string // one team runs it, where no launch meets
	slices     bool   // the interpreter of tests has no variables that are slices: one thread is the oracle
}{
	{name: "time steps", body: `for t := 0; t < m; t++ {
		//omp:parallel for
		for i := 1; i < n-1; i++ { y[i] = x[i-1] + 2*x[i] + x[i+1] }
		//omp:parallel for
		for i := 1; i < n-1; i++ { x[i] = y[i] & 0xffff }
	}`, launches: 1},
	{name: "swapped slices", body: `a, b := x, y
	for t := 0; t < m; t++ {
		//omp:teams distribute parallel for
		for i := 1; i < n-1; i++ { b[i] = a[i-1] ^ a[i+1] + int64(t) }
		c := a
		a = b
		b = c
	}`, launches: 1, slices: true},
	{name: "convergence", body: `d := int64(100)
	steps := 0
	for d > 3 && steps < 40 {
		d = 0
		//omp:parallel for reduction(max: d)
		for i := 0; i < n; i++ {
			v := (x[i] + x[(i+1)%n]) / 2
			y[i] = v
			d = max(d, x[i]-v, v-x[i])
		}
		//omp:parallel for
		for i := 0; i < n; i++ { x[i] = y[i] }
		steps++
	}
	s[0], s[1] = d, int64(steps)`, launches: 1},
	{name: "several reductions", body: `for t := 0; t < m; t++ {
		sum, least := int64(t), int64(1000)
		//omp:parallel for reduction(+: sum) reduction(min: least)
		for i := 0; i < n; i++ { sum += x[i]; least = min(least, y[i]) }
		if sum&1 == 0 {
			//omp:parallel for
			for i := 0; i < n; i++ { x[i] += least }
		} else if t > 2 {
			break
		}
		s[t%4] += sum
		//omp:parallel for
		for i := 0; i < n; i++ { y[i] += s[t%4] & 7 }
	}`, launches: 1},
	{name: "bounds of the step", body: `for k := 0; k < n; k++ {
		//omp:parallel for
		for i := k + 1; i < n; i++ { x[i] -= x[k] & 15 }
		y[k] = x[k]
	}`, launches: 1},
	{name: "triangles", body: `for k := 0; k < m; k++ {
		p := x[k*m+k] | 1
		//omp:parallel for
		for i := k + 1; i < m; i++ { x[i*m+k] = x[i*m+k] / p }
		//omp:teams distribute parallel for collapse(2)
		for i := k + 1; i < m; i++ {
			for j := k + 1; j < m; j++ { x[i*m+j] -= x[i*m+k] * x[k*m+j] & 255 }
		}
	}`, launches: 1},
	{name: "small counters", body: `for t := int32(0); t < int32(m); t++ {
		//omp:parallel for
		for i := int32(1); i < int32(n); i++ { x[i] += int64(t) }
		//omp:parallel for
		for i := int16(3); i < int16(m+30); i++ { y[i] += int64(i) }
	}`, launches: 1},
	{name: "no steps", body: `for t := 0; t < m-m; t++ {
		//omp:parallel for
		for i := 0; i < n; i++ { x[i] = 0 }
	}`, launches: 1},
	{name: "no iterations", body: `for t := 0; t < m; t++ {
		//omp:parallel for
		for i := 5; i < int(s[0]&3); i++ { x[i] = 0 }
		s[1]++
	}`, launches: 1},
	{name: "from memory", body: `for s[0] < int64(m) {
		k := int(s[0])
		//omp:parallel for
		for i := k; i < n-int(s[1]&1); i++ { x[i] += s[0] }
		s[0]++
	}`, launches: 1},
	{name: "return", body: `for t := 0; t < m; t++ {
		if x[t] > 90 { return }
		//omp:parallel for
		for i := 0; i < n; i++ { x[i] += 7 }
	}
	s[2] = 5`, launches: 1},
	{name: "location", body: `for t := 0; t < m; t++ {
		best, at := int64(-1), 0
		//omp:parallel for reduction(maxloc: best, at)
		for i := 0; i < n; i++ { if x[i] > best { best = x[i]; at = i } }
		x[at] /= 2
		y[t%n] = best
	}`, launches: 1},
	{name: "lastprivate", body: `last := int64(0)
	for t := 0; t < m; t++ {
		//omp:parallel for lastprivate(last)
		for i := 0; i < n; i++ { last = x[i] + int64(t); y[i] = last }
		x[t%n] = last
	}
	s[3] = last`, launches: 1},
	{name: "arrays of the control code", body: `var h [40]int64
	for t := 0; t < m; t++ {
		//omp:parallel for
		for i := 0; i < 40; i++ { h[i] += x[i%n] }
		//omp:parallel for
		for i := 0; i < n; i++ { x[i] += h[(i+t)%40] & 3 }
	}`, launches: 1},
	{name: "bounded threads", body: `for t := 0; t < m; t++ {
		//omp:parallel for num_threads(8)
		for i := 0; i < n; i++ { x[i]++ }
	}`, why: "a clause bounds the threads of a construct"},
	{name: "teams of its own", body: `for t := 0; t < m; t++ {
		//omp:teams distribute
		for i := 0; i < 4; i++ {
			//omp:parallel for
			for j := 0; j < 8; j++ { y[8*i+j%8]++ }
		}
	}`, why: "a construct has teams of its own"},
}

func TestWholeGrid_EqualsGo(t *testing.T) {
	for _, c := range wholeKernels {
		t.Run(c.name, func(t *testing.T) {
			t.Parallel()
			text := "//omp:target device(acc)\n//omp:task inout(x, y, s)\nfunc K(x, y, s []int64, n, m int) {\n" + c.body + "\n}\n"
			oracle, err := interpret("package k\n\n" + text)
			require.NoError(t, err)
			l, err := lowerText(t, text, codegen.LowerOptions{Device: quickBarriers()})
			require.NoError(t, err)
			require.Equal(t, c.launches, meeting(l.Program), l.Program)
			if c.why != "" {
				require.Contains(t, l.Explain(), c.why)
				return
			}
			require.NotContains(t, l.Explain(), "runs on one team")
			program, err := simt.New(l.Program)
			require.NoError(t, err)
			alone, err := lowerText(t, text, codegen.LowerOptions{NoShuffles: true})
			require.NoError(t, err)
			require.Zero(t, meeting(alone.Program))
			one, err := simt.New(alone.Program)
			require.NoError(t, err)
			for seed, shape := range []struct{ teams, threads int }{{1, 32}, {3, 64}, {5, 32}, {2, 128}, {7, 96}} {
				for _, n := range []int{1, 40, 333} {
					const m = 9
					args := func() []any {
						x, y, s := make([]int64, max(n, m*m)+1), make([]int64, max(n, m*m)+1), make([]int64, 4)
						for i := range x {
							x[i], y[i] = int64(i*i*31%83), int64(i*7%59)
						}
						return []any{x, y, s, n, m}
					}
					want, got := args(), args()
					if c.slices {
						require.NoError(t, runDevice(one, want, simt.Config{Teams: 1, Threads: 1}))
					} else {
						run := oracle.call("K", 1_000_000, want)
						require.Empty(t, run.panicked)
						require.False(t, run.endless)
					}
					err := runDevice(program, got, simt.Config{Teams: shape.teams, Threads: shape.threads, Seed: uint64(seed), Races: true, Steps: 50_000_000})
					require.NoError(t, err, "%+v, n %d\n%s", shape, n, l.Program)
					require.Equal(t, want, got, "%+v, n %d\n%s", shape, n, l.Program)
				}
			}
		})
	}
}

// meeting counts the launches whose teams meet.
func meeting(p *ir.Program) int {
	n := 0
	for _, g := range p.Launches {
		if g.Cooperative {
			n++
		}
	}
	return n
}
