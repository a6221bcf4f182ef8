package codegen_test

import (
	_ "embed"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gompss/gompss/codegen"
	"github.com/gompss/gompss/codegen/ir/verify"
	"github.com/gompss/gompss/codegen/simt"
)

//go:embed load_corpus_test.go
var subsetSource string

// The IR of a kernel computes what its Go function does.
func TestSubsetEqualsGo(t *testing.T) {
	p, err := codegen.Load(codegen.File{Name: "load_corpus_test.go", Text: subsetSource})
	require.NoError(t, err)
	for _, fn := range subsetKernels {
		t.Run(name(fn), func(t *testing.T) {
			k, err := p.Kernel(name(fn))
			require.NoError(t, err)
			require.NoError(t, verify.Kernel(k))
			l, err := codegen.Lower(k, codegen.LowerOptions{})
			require.NoError(t, err)
			program, err := simt.New(l.Program)
			require.NoError(t, err)
			for seed := range uint64(50) {
				equalsGo(t, fn, program, seed)
			}
		})
	}
}

func equalsGo(t *testing.T, fn any, program *simt.Program, seed uint64) {
	c := corpusCase{kernel: fn, args: func(n int, r *rand.Rand) []any { return []any{ints[int](r, n, 10), floats[float32](r, n)} }}
	want, got := c.args(64, rand.New(rand.NewPCG(seed, 1))), c.args(64, rand.New(rand.NewPCG(seed, 1)))
	c.runGo(want)
	require.NoError(t, runDevice(program, got, simt.Config{Teams: 1, Threads: 1, Steps: 10_000_000}), "seed %d", seed)
	require.Empty(t, c.differ(want, got), "seed %d", seed)
}
