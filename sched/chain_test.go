package sched

import (
	"testing"

	"github.com/stretchr/testify/require"
)

// Workers that always continue with what they have made ready come to what waits besides, however
// long their chains are: to one like them, and to one that needs all tokens.
func TestChainsLetOthersRun(t *testing.T) {
	for _, policy := range []string{"locality", "versioning"} {
		for _, need := range []int{30, 100} {
			s, err := New(Options{Policy: policy, Places: []Place{{Name: "smp", Kind: "smp", Width: 3, Host: true}}})
			require.NoError(t, err)
			push := func(name string, need int) *Item {
				it := &Item{Name: name}
				require.NoError(t, s.Prepare(it, 1, []Tokens{{"smp", need}}))
				require.True(t, s.Push(it))
				return it
			}
			var running []*Item
			for range 3 {
				running = append(running, s.PopAfter(0, push("chain", 30)))
			}
			push("other", need)
			pops, met := 0, false
			for ; !met && len(running) > 0 && pops < 10*chainFairness; pops++ {
				was := running[0]
				running = running[1:]
				s.Done(was)
				for it := s.PopAfter(0, push("chain", 30)); it != nil && !met; it = s.Pop(0) { // the second one is an idle worker
					running = append(running, it)
					met = it.Name == "other"
				}
			}
			require.True(t, met, "%s: after %d links of chains", policy, pops)
			require.LessOrEqual(t, pops, 2*chainFairness)
		}
	}
}
