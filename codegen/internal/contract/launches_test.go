package contract

import (
	"slices"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"
)

// The launches of a loop over blocks are remembered from one turn of a time loop to the next.
func TestLaunches_RememberTheBlocksOfALoop(t *testing.T) {
	for _, blocks := range []int64{1, 10, 100, 300} {
		var l Launches
		key := func(b int64) []int64 { return []int64{0, b * 4096, 1, (b + 1) * 4096, 1, 1 << 20, 1} }
		for b := range blocks {
			require.False(t, l.has(key(b)))
			l.add(key(b))
		}
		known := int64(0)
		for b := range blocks {
			if l.has(key(b)) {
				known++
			}
		}
		require.GreaterOrEqual(t, 10*known, 8*blocks, "%d of %d", known, blocks)
	}
}

// A program whose launches never come again has bounded memory.
func TestLaunches_AreBounded(t *testing.T) {
	var l Launches
	var all sync.WaitGroup
	for g := range int64(4) {
		all.Go(func() {
			for i := range int64(20_000) {
				key := []int64{g, i, i * i}
				l.add(slices.Clone(key))
				_ = l.has(key)
			}
		})
	}
	all.Wait()
	require.LessOrEqual(t, len(*l.table.Load()), mostLaunches)
}
