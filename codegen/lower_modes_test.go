package codegen_test

import (
	_ "embed"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gompss/gompss/codegen"
	"github.com/gompss/gompss/codegen/ir"
	"github.com/gompss/gompss/codegen/simt"
)

//go:embed corpus_modes_test.go
var corpusModesSource string

var modes = []string{"auto", "spmd", "broadcast", "control_loop", "warp_specialized"}

// loadModes compiles the kernels of corpus_modes_test.go in one mode.
func loadModes(t testing.TB, mode string) *codegen.Package {
	t.Helper()
	p, err := codegen.Load(codegen.File{Name: "corpus_modes_test.go", Text: strings.ReplaceAll(corpusModesSource, "mode(auto)",
		"mode("+mode+")")}, codegen.File{Name: "corpus_team_test.go", Text: corpusTeamSource},
		codegen.File{Name: "corpus_test.go", Text: corpusSource})
	require.NoError(t, err)
	return p
}

// modeCases are the kernels of corpus_modes_test.go.
var modeCases = []corpusCase{
	{kernel: ModeAlpha, args: func(n int, r *rand.Rand) []any {
		return []any{floats[float32](r, n+1), floats[float32](r, n+1), n}
	}},
	{kernel: ModeBranch, args: func(n int, r *rand.Rand) []any {
		s := side(n)
		return []any{ints[int32](r, s*s, 9), ints[int32](r, s, 5), s}
	}},
	{kernel: ModeSerial, args: func(n int, r *rand.Rand) []any {
		s := side(n)
		return []any{ints[int32](r, s*s, 9), ints[int32](r, s, 5), s}
	}},
	{kernel: ModeConverge, args: func(n int, r *rand.Rand) []any {
		s := side(n)
		return []any{ints[int64](r, s*s, 90), s, make([]int32, s)}
	}},
	{kernel: ModeRows, args: func(n int, r *rand.Rand) []any {
		s := side(n) + 1
		return []any{ints[int32](r, s*s, 9), s}
	}},
	{kernel: ModeSums, args: func(n int, r *rand.Rand) []any {
		s := side(n)
		return []any{s, s + 3, ints[int64](r, s*(s+3), 9), make([]int64, 2)}
	}},
	{kernel: ModeFew, args: func(n int, r *rand.Rand) []any {
		return []any{ints[int32](r, 3*(n+1), 9), n + 1, n/3 + 1}
	}},
	{kernel: ModeBins, args: func(n int, r *rand.Rand) []any {
		return []any{ints[uint8](r, n, 64), make([]int32, 64)}
	}},
	{kernel: ModeLast, args: func(n int, r *rand.Rand) []any {
		return []any{ints[int32](r, n+1, 99), make([]int32, 5), n + 1}
	}},
	{kernel: ModeOrphan, args: func(n int, r *rand.Rand) []any {
		s := side(n)
		return []any{ints[int32](r, s*s, 9), make([]int32, s), s}
	}},
	{kernel: ModeCondition, args: func(n int, r *rand.Rand) []any {
		s := side(n)
		return []any{ints[int32](r, s*s, 9), make([]int32, s), s}
	}},
	{kernel: ModeNodes, args: func(n int, r *rand.Rand) []any {
		nodes := make([]modeNode, n+1)
		for i := range nodes {
			nodes[i] = modeNode{Key: r.Int32N(int32(n + 1)), Value: r.Int32N(9),
				Pair: modePair{A: int16(r.IntN(3)), B: int16(r.IntN(2))}}
		}
		next := make([]int32, n)
		for i := range next {
			next[i] = r.Int32N(int32(n + 1))
		}
		return []any{nodes, next, make([]int32, side(n))}
	}},
	{kernel: ModeCrew, args: func(n int, r *rand.Rand) []any {
		few := make([]int32, side(n))
		for i := range few {
			few[i] = int32(1 + i*17)
		}
		return []any{ints[int32](r, len(few)*(n/4+1), 9), few, n/4 + 1}
	}},
}

// needBroadcast are the kernels that mode(spmd) cannot run, with what it says.
var needBroadcast = map[string]string{
	"ModeSerial": "the value of k depends on code that only one thread may run",
	"ModeCrew":   "the value of s depends on code that only one thread may run",
}

func TestModesEqualGo(t *testing.T) {
	for _, mode := range modes {
		p := loadModes(t, mode)
		for _, c := range modeCases {
			t.Run(mode+"/"+name(c.kernel), func(t *testing.T) {
				t.Parallel()
				for _, opt := range []codegen.LowerOptions{{}, {NoShuffles: true, KeepChecks: true}} {
					k, err := p.Kernel(name(c.kernel))
					require.NoError(t, err)
					l, err := codegen.Lower(k, opt)
					if why := needBroadcast[k.Name]; mode == "spmd" && why != "" {
						require.ErrorContains(t, err, why)
						continue
					}
					require.NoError(t, err)
					c.compare(t, l.Program, opt.NoShuffles)
				}
			})
		}
	}
}

// costs runs the kernel in one mode, with checks that cannot be proved left out, and counts.
func (c corpusCase) costs(t *testing.T, p *codegen.Package) (simt.Stats, bool) {
	k, err := p.Kernel(name(c.kernel))
	require.NoError(t, err)
	l, err := codegen.Lower(k, codegen.LowerOptions{})
	if err != nil {
		require.Contains(t, needBroadcast, k.Name)
		return simt.Stats{}, false
	}
	program, err := simt.New(l.Program)
	require.NoError(t, err)
	args := c.makeArgs(333)
	list := make([]simt.Arg, len(args))
	for i, a := range args {
		list[i] = deviceArg(i, a)
	}
	stats, err := program.Run(list, simt.Config{Teams: 4, Threads: 96})
	require.NoError(t, err)
	return stats, true
}

// What each mode costs is counted on one grid, 4 teams that share out 96 threads' work: barriers completed, bytes of team
// memory, thousands of instructions run by all threads together. Barriers alone favour a leader where memory that thread 0
// writes decides where the team goes; auto does not count them alone, see pathCost.
func TestModeCosts(t *testing.T) {
	var b strings.Builder
	fmt.Fprintf(&b, "%-14s", "kernel")
	for _, m := range modes {
		fmt.Fprintf(&b, " %25s", m)
	}
	b.WriteString("\n")
	in := map[string]*codegen.Package{}
	for _, m := range modes {
		in[m] = loadModes(t, m)
	}
	total := map[string]simt.Stats{}
	for _, c := range modeCases {
		fmt.Fprintf(&b, "%-14s", name(c.kernel))
		least := map[string]simt.Stats{}
		for _, m := range modes {
			s, ok := c.costs(t, in[m])
			if !ok {
				fmt.Fprintf(&b, " %25s", "refused")
				continue
			}
			least[m] = s
			fmt.Fprintf(&b, " %25s", fmt.Sprintf("%d bar %d B %d k", s.Barriers, s.TeamBytes, s.Instructions/1000))
		}
		b.WriteString("\n")
		auto := least["auto"]
		require.LessOrEqual(t, auto.Barriers, max(least["spmd"].Barriers, least["broadcast"].Barriers), "%s: auto takes one of the two",
			name(c.kernel))
		for _, m := range []string{"control_loop", "warp_specialized"} {
			require.Less(t, auto.TeamBytes, least[m].TeamBytes, "%s: a leader's variables lie in team memory: %s", name(c.kernel), m)
		}
		bytes := int64(0)
		for _, m := range modes {
			s, ran := least[m]
			if !ran {
				continue
			}
			require.LessOrEqual(t, bytes, s.TeamBytes, "%s: mode(%s) needs no less team memory than the modes before it", name(c.kernel), m)
			bytes = s.TeamBytes
			sum := total[m]
			sum.Barriers, sum.Instructions = sum.Barriers+s.Barriers, sum.Instructions+s.Instructions
			total[m] = sum
		}
	}
	require.Less(t, total["auto"].Barriers, total["control_loop"].Barriers, "over all kernels")
	require.LessOrEqual(t, total["control_loop"].Barriers, total["warp_specialized"].Barriers, "both meet before and after each region")
	require.Less(t, total["warp_specialized"].Barriers, total["broadcast"].Barriers, "a broadcast costs a barrier, and each condition is one")
	require.Less(t, total["auto"].Instructions, total["broadcast"].Instructions, "over all kernels")
	require.Less(t, total["auto"].Instructions, total["warp_specialized"].Instructions, "over all kernels")
	require.Less(t, total["warp_specialized"].Instructions, total["control_loop"].Instructions, "its leader needs no state")
	golden(t, "modes.txt", b.String())
}

// What thread 0 computes alone goes to the other threads only where one of them reads it: here thread 0 alone
// uses k, and mode(spmd) is right.
//
// Source: Ozen and Wolfe, Performant Portable OpenMP, 2022, section 6.2.
func TestNeedlessBroadcastsAreLeftOut(t *testing.T) {
	const kernel = `
//omp:target device(acc)
//omp:task inout(x, s)
func K(x []float32, s []int32, n int) {
	//omp:teams distribute mode(MODE)
	for r := 0; r < len(s); r++ {
		k := int32(r)
		for j := int32(0); j < 3; j++ {
			s[r] += k
			k += s[r]
		}
		s[r] -= k
		//omp:parallel for
		for i := 0; i < n; i++ {
			x[r*n+i] += FACTOR
		}
	}
}`
	for _, c := range []struct {
		mode, factor string
		team         int // variables in team memory
		barriers     int
	}{{"spmd", "2", 0, 0}, {"auto", "2", 0, 0}, {"broadcast", "2", 0, 0}, {"auto", "float32(k)", 1, 2}} {
		text := strings.NewReplacer("MODE", c.mode, "FACTOR", c.factor).Replace(kernel)
		l, err := lowerText(t, text, codegen.LowerOptions{})
		require.NoError(t, err)
		require.Len(t, l.Program.Launches[0].Team, c.team, "%s\n%s", c.mode, l.Program)
		require.Equal(t, c.barriers, barriers(l.Program, -1), "%s\n%s", c.mode, l.Program)
	}
}

// The loops of parallel regions lose their index checks in every mode: what a leader sets does not change while a region runs.
func TestModesKeepLoopsWithoutChecks(t *testing.T) {
	t.Parallel()
	fast := map[string]int{}
	for _, mode := range modes {
		for _, k := range loadModes(t, mode).Kernels() {
			l, err := codegen.Lower(k, codegen.LowerOptions{})
			if _, refused := needBroadcast[k.Name]; refused && mode == "spmd" || !strings.HasPrefix(k.Name, "Mode") {
				continue
			}
			require.NoError(t, err)
			n := strings.Count(l.Explain(), "a version without index checks")
			if mode == "auto" {
				fast[k.Name] = n
			}
			require.Equal(t, fast[k.Name], n, "%s in mode(%s):\n%s", k.Name, mode, l.Program)
		}
	}
	require.Positive(t, fast["ModeFew"])
}

// inMode returns the kernel with all its leagues in one mode, and whether it has any.
func inMode(k *ir.Kernel, mode ir.TeamMode) (*ir.Kernel, bool) {
	c, found := *k, false
	c.Body = (&ir.Rewrite{Stmt: func(s ir.Stmt) []ir.Stmt {
		if d := ir.DirectiveOf(s); d != nil && d.Parts&ir.Teams != 0 {
			d.Mode, found = mode, true
		}
		return []ir.Stmt{s}
	}}).CopyStmts(k.Body)
	return &c, found
}

// Every kernel of the corpus that has teams gives in each mode that can run it what Go gives; where mode(spmd) cannot, it says
// that a value would have to be broadcast.
func TestCorpusInEveryMode(t *testing.T) {
	p := loadCorpus(t)
	var ran, refused [ir.ModeWarpSpecialized + 1]int
	for _, c := range corpus {
		k, err := p.Kernel(name(c.kernel))
		require.NoError(t, err)
		for mode := ir.ModeSPMD; mode <= ir.ModeWarpSpecialized; mode++ {
			own, teams := inMode(k, mode)
			if !teams {
				continue
			}
			l, err := codegen.Lower(own, codegen.LowerOptions{})
			if err != nil && mode == ir.ModeSPMD {
				require.ErrorContains(t, err, "depends on code that only one thread may run", k.Name)
				refused[mode]++
				continue
			}
			require.NoError(t, err, "%s in mode(%s)", k.Name, mode)
			ran[mode]++
			program, err := simt.New(l.Program)
			require.NoError(t, err)
			for seed, n := range []int{7, 100} {
				want, got := c.makeArgs(n), c.makeArgs(n)
				c.runGo(want)
				cfg := simt.Config{Teams: 3, Threads: 64, Seed: uint64(seed), Races: true, Steps: 50_000_000}
				require.NoError(t, runDevice(program, got, cfg), "%s in mode(%s), size %d\n%s", k.Name, mode, n, l.Program)
				require.Empty(t, c.differ(want, got), "%s in mode(%s), size %d\n%s", k.Name, mode, n, l.Program)
			}
		}
	}
	t.Log("kernels run:", ran, "refused:", refused)
	for mode := ir.ModeBroadcast; mode <= ir.ModeWarpSpecialized; mode++ {
		require.Equal(t, ran[ir.ModeSPMD]+refused[ir.ModeSPMD], ran[mode], "every mode but spmd runs all")
	}
}
