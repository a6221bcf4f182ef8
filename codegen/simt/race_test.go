package simt_test

import (
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/gompss/gompss/codegen/ir"
	"github.com/gompss/gompss/codegen/simt"
)

// What a thread of the scripted kernel does in one step: nothing, or one access to a cell of box or of team memory.
const (
	idle = iota
	reads
	writes
	updates
	kinds
)

// scripted makes a kernel in which thread g does step s as script[g*steps+s] says: kind*16 + cell. Cells below 8 are
// in box, the others in team memory. Steps in barriers end with one.
func scripted(steps int, barriers map[int]bool) *builder {
	b := newBuilder("Script")
	script, box := b.param("script", ir.SliceOf(ir.IntType)), b.param("box", ir.SliceOf(ir.IntType))
	team := b.team("team", ir.ArrayOf(ir.IntType, 8))
	c, x := b.local("c", ir.IntType), b.local("x", ir.IntType)
	first := b.bin(ir.Eq, b.query(ir.ThreadNum), b.num(0))
	i := b.local("i", ir.IntType)
	b.body(b.when(first, b.forTo(i, b.num(8), b.set(b.elem(team, b.ref(i)), b.num(0)))), b.barrier())
	b.body(b.decl(c, nil), b.decl(x, nil))
	for s := range steps {
		b.line(10 + s)
		at := b.bin(ir.Add, b.bin(ir.Mul, b.global(), b.num(int64(steps))), b.num(int64(s)))
		b.body(b.set(b.ref(c), b.elem(script, at)))
		kind, cell := b.bin(ir.Div, b.ref(c), b.num(16)), b.bin(ir.Rem, b.ref(c), b.num(8))
		act := func(v *ir.Var) []ir.Stmt {
			place := b.elem(v, cell)
			when := func(k int64, s ir.Stmt) ir.Stmt { return b.when(b.bin(ir.Eq, kind, b.num(k)), s) }
			return []ir.Stmt{when(reads, b.set(b.ref(x), place)), when(writes, b.set(place, b.num(1))),
				when(updates, &ir.Atomic{Kind: ir.AtomicUpdate, Op: ir.Add, Place: place, Value: b.num(1), At: b.at})}
		}
		low := b.bin(ir.Lt, b.bin(ir.Rem, b.ref(c), b.num(16)), b.num(8))
		b.body(&ir.If{Cond: low, Then: act(box), Else: act(team), At: b.at})
		if barriers[s] {
			b.body(b.barrier())
		}
	}
	return b
}

// collide says whether the script has a race: by looking at all pairs of steps.
func collide(script []int64, steps, threads int, barriers map[int]bool) bool {
	phase := make([]int, steps)
	for s := 1; s < steps; s++ {
		phase[s] = phase[s-1]
		if barriers[s-1] {
			phase[s]++
		}
	}
	for i, x := range script {
		for j, y := range script[:i] {
			ti, tj, team := i/steps, j/steps, i/steps/threads == j/steps/threads
			if ti == tj || x%16 != y%16 || !team && x%16 >= 8 || team && phase[i%steps] != phase[j%steps] {
				continue
			}
			kx, ky := x/16, y/16
			if kx != idle && ky != idle && (kx != reads || ky != reads) && (kx != updates || ky != updates) {
				return true
			}
		}
	}
	return false
}

func TestRacesAreThoseOfAllPairs(t *testing.T) {
	found := 0
	rapid.Check(t, func(r *rapid.T) {
		steps, teams, threads := rapid.IntRange(1, 5).Draw(r, "steps"), rapid.IntRange(1, 2).Draw(r, "teams"), rapid.IntRange(1, 4).Draw(r, "threads")
		barriers := map[int]bool{}
		for s := range steps {
			barriers[s] = rapid.Bool().Draw(r, "barrier")
		}
		quiet := rapid.IntRange(0, 9).Draw(r, "quiet") // scripts without any race must occur too
		script := make([]int64, steps*teams*threads)
		for i := range script {
			if rapid.IntRange(0, 9).Draw(r, "busy") >= quiet {
				script[i] = rapid.Int64Range(0, kinds-1).Draw(r, "kind")*16 + rapid.Int64Range(0, 15).Draw(r, "cell")
			}
		}
		_, s := ints("script", script...)
		_, box := ints("box", make([]int64, 8)...)
		p, err := simt.New(scripted(steps, barriers).p)
		require.NoError(r, err)
		_, err = p.Run([]simt.Arg{s, box}, simt.Config{Teams: teams, Threads: threads, Races: true,
			Seed: rapid.Uint64Range(0, 3).Draw(r, "seed")})
		if !collide(script, steps, threads, barriers) {
			require.NoError(r, err)
			return
		}
		var race *simt.RaceError
		require.ErrorAs(r, err, &race)
		found++
	})
	require.Positive(t, found)
}

// TestRunsShareAProgram runs one program from several goroutines at once.
func TestRunsShareAProgram(t *testing.T) {
	p := treeSum(true).compile(t)
	list, want := counting(300)
	for range 4 {
		t.Run("run", func(t *testing.T) {
			t.Parallel()
			_, a := ints("a", list...)
			out, o := ints("out", 0)
			_, err := p.Run([]simt.Arg{a, o}, simt.Config{Teams: 1, Threads: 50, Races: true})
			require.NoError(t, err)
			require.Equal(t, want, intAt(out, 0))
		})
	}
}
