package simt_test

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gompss/gompss/codegen/ir"
	"github.com/gompss/gompss/codegen/simt"
)

// treeSum sums a over one team in team memory: out[team] gets the sum of what the team's threads were dealt. Without
// meet, the barrier inside the loop is missing.
func treeSum(meet bool) *builder {
	b := newBuilder("Sum")
	a, out := b.param("a", ir.SliceOf(ir.IntType)), b.param("out", ir.SliceOf(ir.IntType))
	part := b.team("part", ir.ArrayOf(ir.IntType, 1024))
	i, d, s := b.local("i", ir.IntType), b.local("d", ir.IntType), b.local("s", ir.IntType)
	me := b.query(ir.ThreadNum)
	n := &ir.Len{X: b.ref(a), At: b.at}
	b.line(2).body(b.decl(s, nil))
	b.body(b.line(3).spread(i, n, b.set(b.ref(s), b.bin(ir.Add, b.ref(s), b.elem(a, b.ref(i)))))...)
	b.line(5).body(b.set(b.elem(part, me), b.ref(s)), b.barrier(), b.decl(d, b.num(1)))
	b.line(6)
	mate := b.bin(ir.Add, me, b.ref(d))
	twice := b.bin(ir.Mul, b.ref(d), b.num(2))
	adds := b.bin(ir.LAnd, b.bin(ir.Eq, b.bin(ir.Rem, me, twice), b.num(0)), b.bin(ir.Lt, mate, b.query(ir.NumThreads)))
	b.line(7)
	step := []ir.Stmt{b.when(adds, b.set(b.elem(part, me), b.bin(ir.Add, b.elem(part, me), b.elem(part, mate))))}
	if meet {
		step = append(step, b.barrier())
	}
	b.line(6).body(&ir.While{Label: &ir.Label{}, Cond: b.bin(ir.Lt, b.ref(d), b.query(ir.NumThreads)),
		Post: []ir.Stmt{b.set(b.ref(d), twice)}, Body: step, At: b.at})
	b.line(9).body(b.when(b.bin(ir.Eq, me, b.num(0)), b.set(b.elem(out, b.query(ir.TeamNum)), b.elem(part, b.num(0)))))
	b.l.Trip = n
	return b
}

func counting(n int) (list []int64, sum int64) {
	for i := range n {
		list = append(list, int64(i*i-7))
		sum += int64(i*i - 7)
	}
	return list, sum
}

func TestTeamsSumInTeamMemory(t *testing.T) {
	p := treeSum(true).compile(t)
	list, want := counting(1000)
	for _, cfg := range []simt.Config{{}, {Teams: 1, Threads: 1}, {Teams: 3, Threads: 64}, {Teams: 2, Threads: 37, Seed: 5, Races: true},
		{Teams: 4, Threads: 256, Seed: 6, Races: true}} {
		_, a := ints("a", list...)
		out, o := ints("out", make([]int64, 64)...)
		stats, err := p.Run([]simt.Arg{a, o}, cfg)
		require.NoError(t, err)
		var got int64
		for i := range stats.Launches[0].Teams {
			got += intAt(out, i)
		}
		require.Equal(t, want, got)
		require.EqualValues(t, 8192, stats.TeamBytes)
		require.Positive(t, stats.Barriers)
	}
}

func TestMissingBarrierIsARace(t *testing.T) {
	p := treeSum(false).compile(t)
	list, _ := counting(100)
	for seed := range uint64(3) {
		_, a := ints("a", list...)
		_, o := ints("out", make([]int64, 64)...)
		_, err := p.Run([]simt.Arg{a, o}, simt.Config{Teams: 1, Threads: 8, Seed: seed, Races: true})
		var race *simt.RaceError
		require.ErrorAs(t, err, &race)
		require.Equal(t, "team memory", race.Memory)
		require.Equal(t, 7, race.First.At.Line)
		require.Equal(t, 7, race.Second.At.Line)
		require.NotEqual(t, race.First.Thread, race.Second.Thread)
		require.ErrorContains(t, err, "simt: Sum: data race in team memory at byte ")
	}
}

// warpSum sums the lanes' numbers with shuffles; diverge lets lane 3 leave before.
func warpSum(diverge bool) *builder {
	b := newBuilder("Warp")
	out := b.param("out", ir.SliceOf(ir.IntType))
	s, d := b.local("s", ir.IntType), b.local("d", ir.IntType)
	b.l.Warps = true
	if diverge {
		b.line(2).body(b.when(b.bin(ir.Eq, b.query(ir.Lane), b.num(3)), &ir.Return{At: b.at}))
	}
	b.line(3).body(b.decl(s, b.query(ir.ThreadNum)), b.decl(d, b.bin(ir.Div, b.query(ir.WarpSize), b.num(2))))
	b.line(5)
	sh := &ir.Shuffle{Kind: ir.ShuffleDown, X: b.ref(s), By: b.ref(d), At: b.at}
	b.line(4).body(&ir.While{Label: &ir.Label{}, Cond: b.bin(ir.Gt, b.ref(d), b.num(0)), At: b.at,
		Body: []ir.Stmt{b.set(b.ref(s), b.bin(ir.Add, b.ref(s), sh))},
		Post: []ir.Stmt{b.set(b.ref(d), b.bin(ir.Div, b.ref(d), b.num(2)))}})
	b.line(8).body(b.set(b.elem(out, b.global()), b.ref(s)))
	return b
}

func TestShufflesSumAWarp(t *testing.T) {
	p := warpSum(false).compile(t)
	for _, warp := range []int{32, 8, 64} {
		out, o := ints("out", make([]int64, 256)...)
		stats, err := p.Run([]simt.Arg{o}, simt.Config{Teams: 1, Threads: 70, Warp: warp, Seed: 3})
		require.NoError(t, err)
		threads := stats.Launches[0].Threads
		require.Zero(t, threads%warp, "whole warps")
		for first := 0; first < threads; first += warp {
			require.EqualValues(t, warp*first+warp*(warp-1)/2, intAt(out, first))
		}
	}
}

func TestShuffleKinds(t *testing.T) {
	for kind, want := range map[ir.ShuffleKind][]int64{
		ir.ShuffleDown: {1, 2, 3, 3}, ir.ShuffleUp: {0, 0, 1, 2}, ir.ShuffleXor: {1, 0, 3, 2}, ir.ShuffleFrom: {1, 1, 1, 1},
	} {
		b := newBuilder("Kinds")
		out := b.param("out", ir.SliceOf(ir.IntType))
		b.l.Warps = true
		b.body(b.set(b.elem(out, b.query(ir.ThreadNum)),
			&ir.Shuffle{Kind: kind, X: b.query(ir.Lane), By: b.num(1), At: b.at}))
		m, o := ints("out", 0, 0, 0, 0)
		_, err := b.compile(t).Run([]simt.Arg{o}, simt.Config{Teams: 1, Threads: 4, Warp: 4})
		require.NoError(t, err)
		require.Equal(t, want, []int64{intAt(m, 0), intAt(m, 1), intAt(m, 2), intAt(m, 3)})
	}
}

func TestDivergentShuffle(t *testing.T) {
	_, o := ints("out", make([]int64, 64)...)
	_, err := warpSum(true).compile(t).Run([]simt.Arg{o}, simt.Config{Teams: 1, Threads: 64})
	var d *simt.DivergenceError
	require.ErrorAs(t, err, &d)
	require.EqualError(t, err, "simt: Warp: k.go:5:1: team 0: threads do not meet: threads 0-2,4-31 at a shuffle at k.go:5:1; thread 3 ended")
}

func TestDivergentBarrier(t *testing.T) {
	b := newBuilder("Split")
	out := b.param("out", ir.SliceOf(ir.IntType))
	odd := b.bin(ir.Eq, b.bin(ir.Rem, b.query(ir.ThreadNum), b.num(2)), b.num(1))
	b.line(2).body(b.when(b.bin(ir.Gt, b.query(ir.ThreadNum), b.num(5)), &ir.Return{At: b.at}))
	b.line(3)
	split := &ir.If{Cond: odd, At: b.at}
	split.Then = []ir.Stmt{b.line(4).barrier()}
	split.Else = []ir.Stmt{b.line(6).barrier()}
	b.body(split, b.set(b.elem(out, b.num(0)), b.num(1)))
	_, o := ints("out", 0)
	_, err := b.compile(t).Run([]simt.Arg{o}, simt.Config{Teams: 2, Threads: 8, Seed: 4})
	var d *simt.DivergenceError
	require.ErrorAs(t, err, &d)
	require.Equal(t, []simt.Group{
		{What: "at a barrier", At: ir.Pos{File: "k.go", Line: 6, Col: 1}, Threads: []int{0, 2, 4}},
		{What: "at a barrier", At: ir.Pos{File: "k.go", Line: 4, Col: 1}, Threads: []int{1, 3, 5}},
		{What: "ended", Threads: []int{6, 7}},
	}, d.Groups)
}

// TestNamedBarriers lets two halves of a team meet among themselves, each at its own barrier, in any order.
func TestNamedBarriers(t *testing.T) {
	b := newBuilder("Halves")
	out := b.param("out", ir.SliceOf(ir.IntType))
	box := b.team("box", ir.ArrayOf(ir.IntType, 8))
	x := b.local("x", ir.IntType)
	me := b.query(ir.ThreadNum)
	named := func(id int) ir.Stmt { return &ir.Barrier{Scope: ir.NamedBarrier, ID: id, Count: b.num(4), At: b.at} }
	b.body(b.set(b.elem(box, me), b.bin(ir.Mul, me, b.num(10))))
	b.body(&ir.If{Cond: b.bin(ir.Lt, me, b.num(4)), Then: []ir.Stmt{named(1)}, Else: []ir.Stmt{named(2)}, At: b.at})
	b.body(b.decl(x, b.elem(box, b.bin(ir.Xor, me, b.num(3)))), b.set(b.elem(out, me), b.ref(x)))
	p := b.compile(t)
	m, o := ints("out", make([]int64, 8)...)
	stats, err := p.Run([]simt.Arg{o}, simt.Config{Teams: 1, Threads: 8, Warp: 4, Seed: 2, Races: true})
	require.NoError(t, err)
	require.EqualValues(t, 2, stats.Barriers)
	for i := range 8 {
		require.EqualValues(t, (i^3)*10, intAt(m, i))
	}
	_, err = p.Run([]simt.Arg{o}, simt.Config{Teams: 1, Threads: 7, Warp: 4})
	var d *simt.DivergenceError
	require.ErrorAs(t, err, &d)
}

func TestEndlessLoopsAreStopped(t *testing.T) {
	b := newBuilder("Forever")
	b.body(&ir.While{Label: &ir.Label{}, At: b.at})
	p := b.compile(t)
	_, err := p.Run(nil, simt.Config{Steps: 1000})
	require.ErrorIs(t, err, simt.ErrSteps)
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	_, err = p.Run(nil, simt.Config{Context: ctx})
	require.ErrorIs(t, err, context.Canceled)
}

func TestGrids(t *testing.T) {
	b := newBuilder("Grid")
	n := b.param("n", ir.IntType)
	type want struct{ teams, threads int }
	for _, c := range []struct {
		name              string
		trip, teamTrip    ir.Expr
		teams, threads    ir.Expr
		warps             bool
		n                 int64
		cfg               simt.Config
		wantT, wantThread int
	}{
		{name: "natural", trip: b.ref(n), n: 1000, wantT: 8, wantThread: 128},
		{name: "small", trip: b.ref(n), n: 10, wantT: 1, wantThread: 10},
		{name: "empty", trip: b.ref(n), n: 0, wantT: 1, wantThread: 1},
		{name: "warps", trip: b.ref(n), n: 10, warps: true, wantT: 1, wantThread: 32},
		{name: "sequential", teams: b.num(1), threads: b.num(1), wantT: 1, wantThread: 1},
		{name: "teams share out", teamTrip: b.ref(n), trip: b.num(16), n: 12, wantT: 12, wantThread: 16},
		{name: "bounded", trip: b.ref(n), teams: b.num(3), threads: b.num(20), n: 1000, wantT: 3, wantThread: 20},
		{name: "asked", trip: b.ref(n), threads: b.num(20), n: 1000, cfg: simt.Config{Teams: 9, Threads: 33}, wantT: 9, wantThread: 20},
	} {
		t.Run(c.name, func(t *testing.T) {
			b.l.Trip, b.l.TeamTrip, b.l.MaxTeams, b.l.MaxThreads, b.l.Warps = c.trip, c.teamTrip, c.teams, c.threads, c.warps
			stats, err := b.compile(t).Run([]simt.Arg{number(c.n)}, c.cfg)
			require.NoError(t, err)
			require.Equal(t, want{c.wantT, c.wantThread}, want{stats.Launches[0].Teams, stats.Launches[0].Threads})
		})
	}
}

// A warp has come to a named barrier when all of its threads that have not ended have; a barrier of the whole team does
// not wait for warps that have ended.
func TestNamedBarriersCountWarps(t *testing.T) {
	b := newBuilder("Warps")
	out := b.param("out", ir.SliceOf(ir.IntType))
	box := b.team("box", ir.IntType)
	me := b.query(ir.ThreadNum)
	all := func() ir.Stmt {
		return &ir.Barrier{Scope: ir.NamedBarrier, ID: 1, Count: b.query(ir.NumThreads), At: b.at}
	}
	lead := b.bin(ir.Eq, me, b.num(8))
	b.body(&ir.If{Cond: b.bin(ir.Gt, me, b.num(8)), Then: []ir.Stmt{&ir.Return{At: b.at}}, At: b.at})
	b.body(&ir.If{Cond: lead, Then: []ir.Stmt{b.set(b.ref(box), b.num(7)), all(), all()},
		Else: []ir.Stmt{all(), b.set(b.elem(out, me), b.ref(box)), all()}, At: b.at})
	b.l.Warps, b.l.ExtraWarps = true, 1
	m, o := ints("out", make([]int64, 8)...)
	stats, err := b.compile(t).Run([]simt.Arg{o}, simt.Config{Teams: 1, Threads: 8, Warp: 4, Seed: 3, Races: true})
	require.NoError(t, err)
	require.Equal(t, 12, stats.Launches[0].Threads, "8 threads and the warp that leads them")
	require.EqualValues(t, 2, stats.Barriers)
	for i := range 8 {
		require.EqualValues(t, 7, intAt(m, i))
	}
}
