package launch

import (
	"math"
	"testing"

	"github.com/gompss/gompss/codegen/ir"
	"github.com/stretchr/testify/require"
)

// h200 is what the chip allows a small kernel.
func h200() *Limits {
	f := &Limits{Multiprocessors: 132, Warp: 32, MaxThreads: 1024, L1: 256 << 10, InFlight: 32 << 10}
	for _, n := range []int{32, 64, 96, 128, 192, 256, 384, 512, 768, 1024} {
		f.Occupancies = append(f.Occupancies, Occupancy{Threads: n, Teams: min(32, 2048/n)})
	}
	return f
}

func TestShapes(t *testing.T) {
	n := func(v int64) ir.Expr { return &ir.Const{T: ir.IntType, Bits: uint64(v)} }
	half := h200() // a kernel with many registers
	half.MaxThreads = 512
	half.Occupancies = []Occupancy{{32, 16}, {64, 8}, {128, 4}, {256, 2}, {512, 1}}
	softmax := h200() // 40 registers a thread
	softmax.Occupancies = []Occupancy{{32, 32}, {64, 24}, {96, 17}, {128, 12}, {192, 8}, {256, 6}, {384, 4}, {512, 3}, {768, 2}, {1024, 1}}
	unknown := *softmax
	unknown.L1, unknown.InFlight = 0, 0
	row := func(length, reread int64) ir.Launch {
		return ir.Launch{TeamTrip: n(32768), Trip: n(length), Reread: ir.Bytes(reread), Warps: true}
	}
	for _, c := range []struct {
		name   string
		launch ir.Launch
		fit    *Limits
		limit  int64
		want   Grid
	}{
		{"many iterations", ir.Launch{Trip: n(1 << 27)}, h200(), math.MaxInt64, Grid{1 << 21 / 2, 128}},
		{"few iterations are spread", ir.Launch{Trip: n(1000)}, h200(), math.MaxInt64, Grid{16, 64}},
		{"none", ir.Launch{Trip: n(0)}, h200(), math.MaxInt64, Grid{1, 64}},
		{"less than none", ir.Launch{Trip: n(-5)}, h200(), math.MaxInt64, Grid{1, 64}},
		{"bounds", ir.Launch{Trip: n(1 << 20), MaxThreads: n(96), MaxTeams: n(7)}, h200(), math.MaxInt64, Grid{7, 96}},
		{"sequential", ir.Launch{MaxThreads: n(1), MaxTeams: n(1)}, h200(), math.MaxInt64, Grid{1, 1}},
		{"one team", ir.Launch{MaxTeams: n(1)}, h200(), math.MaxInt64, Grid{1, 1024}},
		{"one team of few", ir.Launch{MaxTeams: n(1), Trip: n(70)}, h200(), math.MaxInt64, Grid{1, 96}},
		{"warps", ir.Launch{MaxTeams: n(1), MaxThreads: n(50), Warps: true}, h200(), math.MaxInt64, Grid{1, 32}},
		{"teams", ir.Launch{TeamTrip: n(5000), Trip: n(40)}, h200(), math.MaxInt64, Grid{5000, 64}},
		{"teams of many", ir.Launch{TeamTrip: n(300), Trip: n(4000)}, h200(), math.MaxInt64, Grid{300, 128}},
		{"not known", ir.Launch{}, h200(), math.MaxInt64, Grid{132 * 16, 128}},
		{"grid of 32-bit indices", ir.Launch{Trip: n(1 << 29)}, h200(), 1 << 20, Grid{1 << 13, 128}},
		{"two iterations a thread", ir.Launch{Trip: n(1<<20 + 1), Width: 2}, h200(), math.MaxInt64, Grid{1<<12 + 1, 128}},
		{"two iterations a thread, 32-bit indices", ir.Launch{Trip: n(1 << 29), Width: 2}, h200(), 1 << 20, Grid{1 << 12, 128}},
		{"resident", ir.Launch{Trip: n(1 << 27), Resident: true}, h200(), math.MaxInt64, Grid{132 * 16, 128}},
		{"fewer than resident", ir.Launch{Trip: n(1 << 15), Resident: true}, h200(), math.MaxInt64, Grid{256, 128}},
		{"teams that are resident", ir.Launch{TeamTrip: n(1 << 20), Trip: n(128), Threads: 128, Resident: true}, h200(), math.MaxInt64, Grid{132 * 16, 128}},
		{"a warp that leads", ir.Launch{TeamTrip: n(300), Trip: n(4000), Warps: true, ExtraWarps: 1}, h200(), math.MaxInt64, Grid{300, 160}},
		{"a warp that leads a full team", ir.Launch{MaxTeams: n(1), Warps: true, ExtraWarps: 1}, h200(), math.MaxInt64, Grid{1, 1024}},
		{"rows that stay in the cache", row(1024, 4), softmax, math.MaxInt64, Grid{32768, 128}},
		{"rows that leave it", row(4096, 4), softmax, math.MaxInt64, Grid{32768, 256}},
		{"the same of float64", row(4096, 8), softmax, math.MaxInt64, Grid{32768, 512}},
		{"rows read once", row(4096, 0), softmax, math.MaxInt64, Grid{32768, 128}},
		{"rows of all of it", row(1<<16, 4), softmax, math.MaxInt64, Grid{32768, 128}},
		{"rows whose size has no int64", row(math.MaxInt64, 8), softmax, math.MaxInt64, Grid{32768, 128}},
		{"short rows of large records", row(128, 256), softmax, math.MaxInt64, Grid{32768, 128}},
		{"rows on another chip", row(4096, 4), &unknown, math.MaxInt64, Grid{32768, 128}},
		{"many registers", ir.Launch{Trip: n(1 << 20)}, half, math.MaxInt64, Grid{1 << 13, 128}},
	} {
		t.Run(c.name, func(t *testing.T) {
			g, err := Shape(&c.launch, ir.Values{}, c.fit, c.limit)
			require.NoError(t, err)
			require.Equal(t, c.want, g)
		})
	}
	_, err := Shape(&ir.Launch{Trip: &ir.Ref{Var: &ir.Var{Name: "n", Type: ir.IntType}}}, ir.Values{}, h200(), 1)
	require.ErrorIs(t, err, ir.ErrUnknown)
}

// A form for teams of one size runs where the launch takes that size: not where few iterations are
// spread over smaller teams.
func TestExact_AsShapesAre(t *testing.T) {
	n := func(v int64) ir.Expr { return &ir.Const{T: ir.IntType, Bits: uint64(v)} }
	for _, c := range []struct {
		name    string
		launch  ir.Launch
		ok      bool
		threads int64
	}{
		{"many iterations", ir.Launch{Trip: n(1 << 27), Threads: 256, Exact: 256}, true, 256},
		{"few iterations are spread", ir.Launch{Trip: n(1000), Threads: 256, Exact: 256}, false, 64},
		{"few of each team", ir.Launch{TeamTrip: n(300), Trip: n(100), Threads: 256, Exact: 256}, false, 128},
		{"as many as the team has", ir.Launch{TeamTrip: n(1), Trip: n(256), Threads: 256, Exact: 256}, true, 256},
		{"a bound below", ir.Launch{Trip: n(1 << 27), Threads: 256, MaxThreads: n(128), Exact: 256}, false, 128},
		{"a warp that leads", ir.Launch{TeamTrip: n(300), Trip: n(256), Threads: 256, Warps: true, ExtraWarps: 1, Exact: 256}, true, 288},
		{"one team", ir.Launch{MaxTeams: n(1), Trip: n(70), Threads: 96, Exact: 96}, true, 96},
		{"an open size", ir.Launch{Trip: n(1000), Threads: 256}, true, 64},
	} {
		require.Equal(t, c.ok, Exact(&ir.Program{Launches: []*ir.Launch{&c.launch}}, ir.Values{}, 132, 32), c.name)
		g, err := Shape(&c.launch, ir.Values{}, h200(), math.MaxInt64)
		require.NoError(t, err)
		require.Equal(t, c.threads, g.Threads, c.name)
	}
}
