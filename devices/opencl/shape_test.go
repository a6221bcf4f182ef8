//go:build linux && (amd64 || arm64)

package opencl

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gompss/gompss/codegen/ir"
)

func TestShapeOf_WholeTeamsAndResidentThreads(t *testing.T) {
	n := func(v int64) ir.Expr { return &ir.Const{T: ir.IntType, Bits: uint64(v)} }
	gpu := fit{units: 132, threads: 1024, usual: 128, resident: 2048}
	small := fit{units: 4, threads: 96, usual: 128, resident: 1024}
	for _, c := range []struct {
		what string
		l    ir.Launch
		f    fit
		want grid
	}{
		{"a thread an iteration", ir.Launch{Trip: n(1 << 20)}, gpu, grid{8192, 128}},
		{"few iterations", ir.Launch{Trip: n(1000)}, gpu, grid{32, 32}},
		{"no more than run at once", ir.Launch{Trip: n(1 << 30), Resident: true}, gpu, grid{132 * 16, 128}},
		{"one team of whole groups", ir.Launch{MaxTeams: n(1), Trip: n(50), Warps: true}, gpu, grid{1, 64}},
		{"one team of any number", ir.Launch{MaxTeams: n(1), Trip: n(50)}, gpu, grid{1, 50}},
		{"teams that share iterations", ir.Launch{TeamTrip: n(7), Trip: n(5), Warps: true}, gpu, grid{7, 32}},
		{"a bound that is no whole group", ir.Launch{Trip: n(1 << 20), MaxThreads: n(100), Warps: true}, gpu, grid{10923, 96}},
		{"what the kernel's registers leave", ir.Launch{Trip: n(1 << 20), Threads: 256, Warps: true}, small, grid{10923, 96}},
	} {
		got, err := shapeOf(&c.l, &binding{}, c.f)
		require.NoError(t, err, c.what)
		require.Equal(t, c.want, got, c.what)
	}
	_, err := shapeOf(&ir.Launch{Trip: n(9), Warps: true}, &binding{}, fit{units: 1, threads: 16, usual: 128, resident: 64})
	require.ErrorContains(t, err, "teams of 16 threads at most")
}
