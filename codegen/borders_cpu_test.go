//go:build linux && (amd64 || arm64)

package codegen_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gompss/gompss/codegen/cpu"
)

// TestBorders_OnTheCPU compares vector code with Go.
func TestBorders_OnTheCPU(t *testing.T) {
	t.Parallel()
	p := loadBorders(t)
	arena, err := cpu.NewArena()
	if err != nil {
		t.Skip(err)
	}
	t.Cleanup(func() { require.NoError(t, arena.Close()) })
	for machine, o := range cpuMachines(t) {
		for _, b := range borderCases {
			c := practiceCase{fn: b.fn, name: b.name, args: b.args}
			t.Run(machine+"/"+c.name, func(t *testing.T) {
				run, code := practiceKernel(t, p, arena, c, o)
				for n := 1; n < 40; n++ {
					c.compare(t, run, code, n)
				}
			})
		}
	}
}
