//go:build linux && (amd64 || arm64)

package codegen_test

import (
	"reflect"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gompss/gompss/codegen"
	"github.com/gompss/gompss/codegen/cpu"
)

// TestOverlappingSlicesRunInOrder passes slices that overlap, by one element and more, to loops that are independent only where slices do not:
// the version in order runs, and gives what Go gives.
func TestOverlappingSlicesRunInOrder(t *testing.T) {
	p := loadCorpus(t)
	arena, err := cpu.NewArena()
	if err != nil {
		t.Skip(err)
	}
	defer func() { require.NoError(t, arena.Close()) }()
	k, err := p.Kernel("AddArrays")
	require.NoError(t, err)
	for machine, o := range cpuMachines(t) {
		code, err := cpu.Compile(codegen.ForCPU(k), o)
		require.NoError(t, err)
		prog, err := arena.Install(code)
		require.NoError(t, err)
		r := cpu.NewRunner(prog)
		for shift := range 70 {
			for _, back := range []bool{false, true} {
				want, got := overlapping(shift, back), overlapping(shift, back)
				AddArrays(want[0], want[1], want[2])
				var values []cpu.Value
				for _, x := range got {
					values = append(values, cpuValue(reflect.ValueOf(x)))
				}
				require.NoError(t, r.Call(values, nil))
				require.True(t, slices.Equal(want[2], got[2]) && slices.Equal(want[0], got[0]), "%s: shift %d", machine, shift)
			}
		}
	}
}

// overlapping is three slices of 60 elements; the first and the third begin shift elements apart.
func overlapping(shift int, back bool) [3][]float32 {
	all, y := make([]float32, 200), make([]float32, 60)
	for i := range all {
		all[i] = float32(i%7) + 1
	}
	for i := range y {
		y[i] = float32(i % 3)
	}
	x, z := all[:60], all[shift:shift+60]
	if back {
		x, z = z, x
	}
	return [3][]float32{x, y, z}
}
