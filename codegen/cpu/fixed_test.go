package cpu_test

import (
	"errors"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gompss/gompss/codegen/cpu"
)

// TestSpilledValuesKeepWhatTheyHold: an instruction that writes its first operand and reads it as another, as sums do, took what the scratch
// register happened to hold where the operand was spilled. Here nearly everything is, in every kernel.
func TestSpilledValuesKeepWhatTheyHold(t *testing.T) {
	p := loadKernels(t)
	arena, err := cpu.NewArena()
	if err != nil {
		t.Skip(err)
	}
	defer func() { require.NoError(t, arena.Close()) }()
	ran := map[string]int{}
	for name, tr := range trials {
		k, err := p.Kernel(name)
		require.NoError(t, err)
		for machine, o := range machines() {
			o.Unroll = 1
			code, err := cpu.Compile(k, fewRegisters(o))
			var refusal *cpu.Refusal
			if errors.As(err, &refusal) {
				continue // more values than the block has room for
			}
			require.NoError(t, err)
			prog, err := arena.Install(code)
			require.NoError(t, err)
			ran[machine]++
			t.Run(name+"/"+machine, func(t *testing.T) {
				for n := range 41 {
					tr.compare(t, rand.New(rand.NewPCG(uint64(n), 9)), prog, k, n)
					if t.Failed() {
						t.Fatalf("n=%d\n%s", n, code.Listing())
					}
				}
			})
		}
	}
	t.Log(ran)
	for machine := range machines() {
		require.Greater(t, ran[machine], len(trials)/2, machine)
	}
}
