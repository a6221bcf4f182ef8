//go:build linux && (amd64 || arm64)

package codegen_test

import (
	"fmt"
	"reflect"
	"runtime/debug"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gompss/gompss/codegen"
	"github.com/gompss/gompss/codegen/cpu"
)

// TestStridesOnTheCPU is TestStrides for vector code.
func TestStridesOnTheCPU(t *testing.T) {
	p, err := codegen.Load(codegen.File{Name: "hostile_strides_test.go", Text: stridesSource})
	require.NoError(t, err)
	arena, err := cpu.NewArena()
	if err != nil {
		t.Skip(err)
	}
	defer func() { require.NoError(t, arena.Close()) }()
	defer debug.SetPanicOnFault(debug.SetPanicOnFault(true))
	for machine, o := range cpuMachines(t) {
		for _, c := range strideKernels {
			k, err := p.Kernel(name(c.fn))
			require.NoError(t, err)
			code, err := cpu.Compile(codegen.ForCPU(k), o)
			if err != nil {
				t.Logf("%s: %v", machine, err)
				continue
			}
			prog, err := arena.Install(code)
			require.NoError(t, err)
			run := cpu.NewRunner(prog)
			for _, n := range []int{0, 1, 2, 9, 33, 64} {
				for _, m := range hostileStrides {
					want, got := strideArgs(n, m, 4, c.wide), strideArgs(n, m, 4, c.wide)
					panicked := faultOf(c.fn, want)
					var values []cpu.Value
					for _, x := range got {
						values = append(values, cpuValue(reflect.ValueOf(x)))
					}
					err := faults(func() error { return run.Call(values, nil) })
					where := fmt.Sprintf("%s on %s: n=%d m=%d: Go: %v", k.Name, machine, n, m, panicked)
					require.Equal(t, panicked != nil, err != nil, "%s, code: %v", where, err)
					if err == nil {
						require.Empty(t, (corpusCase{}).differ(want, got), where)
					}
				}
			}
		}
	}
}
