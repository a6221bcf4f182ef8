package codegen_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gompss/gompss/codegen"
)

// Threads take as many successive iterations as make words of narrow elements, and the bits are those of the Go function
// with and without the checks that the host makes. A body that reads what it stored, one that changes a place
// behind its store, and one whose elements are wide, are left to others.
func TestWords_UncheckedEqualsGo(t *testing.T) {
	p := loadCorpus(t)
	for _, c := range []struct {
		kernel any
		words  bool
	}{{WordGray, true}, {WordLetters, true}, {WordChange, true}, {WordSmooth, true}, {WordMix, true}, {WordScale, true}, {WordRound, true},
		{WordSwap, false}, {WordTurns, false}, {StreamTriad, false}} {
		t.Run(name(c.kernel), func(t *testing.T) {
			t.Parallel()
			k, err := p.Kernel(name(c.kernel))
			require.NoError(t, err)
			free := codegen.NewContract(k).Unchecked(k)
			require.NotNil(t, free)
			l, err := codegen.Lower(free, codegen.LowerOptions{})
			require.NoError(t, err)
			if c.words {
				require.Contains(t, l.Strategies, "words")
			} else {
				require.NotContains(t, l.Strategies, "words")
			}
			corpusCaseOf(t, c.kernel).compare(t, l.Program, false)
		})
	}
}
