package sched

import (
	"math/rand/v2"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
)

// TestWhatRunsBesideOthersIsExpectedByItsMean: kernels that run four at once on each of four accelerators are told as one long time and
// three short ones, those of all accelerators mixed; what is expected is what each keeps its accelerator busy for, from the first round on.
func TestWhatRunsBesideOthersIsExpectedByItsMean(t *testing.T) {
	r := rand.New(rand.NewPCG(1, 1))
	var h history
	for round := range 200 {
		type one struct {
			took   time.Duration
			beside bool
		}
		var told []one
		for range 4 {
			told = append(told, one{30 * time.Millisecond, false})
		}
		for range 4 {
			told = append(told, one{10 * time.Millisecond, true}, one{3 * time.Millisecond, true}, one{time.Millisecond, true})
		}
		r.Shuffle(12, func(i, j int) { told[4+i], told[4+j] = told[4+j], told[4+i] })
		for _, o := range told {
			h.add(o.took, countsAsEver, o.beside)
		}
		require.InDelta(t, 11, h.expected().run.Seconds()*1e3, 5, "round %d: 44 ms for four", round)
	}
	require.EqualValues(t, 200*16, h.samples.Load())
}
