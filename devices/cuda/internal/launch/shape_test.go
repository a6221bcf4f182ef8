package launch

import (
	"math"
	"testing"

	"github.com/gompss/gompss/codegen/ir"
	"github.com/stretchr/testify/require"
)

// h200 is what the chip allows a small kernel.
func h200() *Limits {
	f := &Limits{Multiprocessors: 132, Warp: 32, MaxThreads: 1024}
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
		{"a warp that leads", ir.Launch{TeamTrip: n(300), Trip: n(4000), Warps: true, ExtraWarps: 1}, h200(), math.MaxInt64, Grid{300, 160}},
		{"a warp that leads a full team", ir.Launch{MaxTeams: n(1), Warps: true, ExtraWarps: 1}, h200(), math.MaxInt64, Grid{1, 1024}},
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
