package codegen_test

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gompss/gompss/codegen"
	"github.com/gompss/gompss/codegen/ir"
	"github.com/gompss/gompss/codegen/ir/specialise"
	"github.com/gompss/gompss/codegen/ir/verify"
	"github.com/gompss/gompss/codegen/simt"
)

// sizesOf returns the values of the sizes of k in args, those of an odd number left out where some
// is true: a form has some of them as constants.
func sizesOf(k *ir.Kernel, args []any, some bool) map[int]ir.Bits {
	out := map[int]ir.Bits{}
	for n, i := range specialise.Sizes(k) {
		if !some || n%2 == 0 {
			out[i] = deviceArg(i, args[i]).Bits
		}
	}
	return out
}

// Code in which the sizes of a launch are constants gives what the Go function gives: sums keep
// their order, and checks their places.
func TestSizes_LeaveTheSameBits(t *testing.T) {
	p, formed := loadCorpus(t), 0
	for i, c := range corpus {
		k, err := p.Kernel(name(c.kernel))
		require.NoError(t, err)
		if len(specialise.Sizes(k)) == 0 {
			continue
		}
		if formed++; testing.Short() && i%4 > 0 {
			continue
		}
		t.Run(name(c.kernel), func(t *testing.T) {
			t.Parallel()
			free := codegen.NewContract(k).Unchecked(k)
			for _, n := range []int{0, 7, 333} {
				want := c.makeArgs(n)
				sizes := []map[int]ir.Bits{sizesOf(k, want, false), sizesOf(k, want, true)}
				c.runGo(want)
				for some, values := range sizes {
					for _, form := range []*ir.Kernel{k, free} {
						if form != nil {
							c.comparesFor(t, specialise.WithSizes(form, values), n, fmt.Sprintf("size %d, form %d", n, some), want)
						}
					}
				}
			}
		})
	}
	require.Greater(t, formed, 60)
}

// comparesFor runs a form of the kernel of c for the size n.
func (c corpusCase) comparesFor(t *testing.T, form *ir.Kernel, n int, where string, want []any) {
	require.NoError(t, verify.Kernel(form), where)
	lowered, err := codegen.Lower(form, codegen.LowerOptions{})
	require.NoError(t, err, where)
	program, err := simt.New(lowered.Program)
	require.NoError(t, err, where)
	for seed, s := range shapes[4:] {
		got := c.makeArgs(n)
		cfg := simt.Config{Teams: s.teams, Threads: s.threads, Seed: uint64(seed), Races: true, Steps: 50_000_000}
		require.NoError(t, runDevice(program, got, cfg), "%s: %v\n%s", where, s, lowered.Program)
		if d := c.differ(want, got); d != "" {
			t.Fatalf("%s: %v: %s\n%s", where, s, d, lowered.Program)
		}
	}
}
