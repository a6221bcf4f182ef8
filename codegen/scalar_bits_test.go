//go:build linux && (amd64 || arm64)

package codegen_test

import (
	"reflect"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gompss/gompss/codegen"
	"github.com/gompss/gompss/codegen/cpu"
)

// TestScalarCodeGivesTheBitsOfLanes compares the code of one kernel with lanes and without, where
// cpu.DiffersByLanes says that both give the same: then the runtime takes either, from one launch
// to the next. Issue 16, item 21.
func TestScalarCodeGivesTheBitsOfLanes(t *testing.T) {
	p := loadCorpus(t)
	arena, err := cpu.NewArena()
	if err != nil {
		t.Skip(err)
	}
	defer func() { require.NoError(t, arena.Close()) }()
	detected, err := cpu.Detect()
	require.NoError(t, err)
	compared, lanesAlone, machines := 0, 0, 1
	if detected.AVX512 {
		machines = 2
	}
	for _, c := range corpus {
		k, err := p.Kernel(name(c.kernel))
		require.NoError(t, err)
		if why := cpu.DiffersByLanes(k); why != "" {
			lanesAlone++
			continue
		}
		for _, avx512 := range []bool{false, true} {
			if avx512 && !detected.AVX512 {
				continue
			}
			var runners []*cpu.Runner
			for _, single := range []cpu.Single{cpu.SingleNever, cpu.SingleAlways} {
				r, err := cpu.NewKernelRunner(arena, codegen.ForCPU(k), cpu.Options{AVX512: avx512, Single: single})
				if err == nil {
					runners = append(runners, r)
				}
			}
			if len(runners) < 2 {
				continue
			}
			compared++
			for _, n := range []int{9, 64, 257, 1001} {
				var left [2][]any
				for i, r := range runners {
					left[i] = c.makeArgs(n)
					var values []cpu.Value
					for _, a := range left[i] {
						values = append(values, cpuValue(reflect.ValueOf(a)))
					}
					require.NoError(t, r.Call(values, nil), k.Name)
				}
				for i := range left[0] {
					require.True(t, sameBits(reflect.ValueOf(left[0][i]), reflect.ValueOf(left[1][i])), "%s: argument %d at n=%d, AVX-512 %v:\n%v\n%v", k.Name, i, n, avx512, left[0][i], left[1][i])
				}
			}
		}
	}
	t.Logf("%d comparisons; %d kernels always have lanes", compared, lanesAlone)
	require.Greater(t, compared, 150*machines)
}
