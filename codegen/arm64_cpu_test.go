package codegen_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gompss/gompss/codegen"
	"github.com/gompss/gompss/codegen/cpu"
)

// TestCorpus_HasCodeForARM64 compiles the corpus for arm64, on any machine: what has code for AVX2 has code there.
func TestCorpus_HasCodeForARM64(t *testing.T) {
	t.Parallel()
	p := loadCorpus(t)
	n := 0
	for _, c := range corpus {
		k, err := p.Kernel(name(c.kernel))
		require.NoError(t, err)
		for _, single := range []cpu.Single{cpu.SingleNever, cpu.SingleAlways} {
			_, here := cpu.Compile(codegen.ForCPU(k), cpu.Options{ISA: cpu.AMD64, Single: single})
			code, err := cpu.Compile(codegen.ForCPU(k), cpu.Options{ISA: cpu.ARM64, Single: single})
			if here != nil {
				require.Error(t, err)
				continue
			}
			require.NoError(t, err)
			require.Zero(t, len(code.Bytes)%4, "%s: whole words", k.Name)
			n++
		}
	}
	require.Greater(t, n, 300)
}

// TestArena_RefusesCodeOfAnotherProcessor: it would be run.
func TestArena_RefusesCodeOfAnotherProcessor(t *testing.T) {
	arena, err := cpu.NewArena()
	if err != nil {
		t.Skip(err)
	}
	defer func() { require.NoError(t, arena.Close()) }()
	k, err := loadCorpus(t).Kernel("StreamTriad")
	require.NoError(t, err)
	ran := 0
	for _, isa := range []cpu.ISA{cpu.AMD64, cpu.ARM64} {
		code, err := cpu.Compile(codegen.ForCPU(k), cpu.Options{ISA: isa})
		require.NoError(t, err)
		if _, err := arena.Install(code); err == nil {
			ran++
		} else {
			require.ErrorContains(t, err, "does not run on")
		}
	}
	require.Equal(t, 1, ran)
}
