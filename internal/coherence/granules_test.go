package coherence_test

import (
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gompss/gompss/deps"
	"github.com/gompss/gompss/internal/coherence"
)

func TestGranules_CoverARegion(t *testing.T) {
	rnd := rand.New(rand.NewPCG(3, 4))
	for range 3000 {
		dims := make([]deps.Dim, 1+rnd.IntN(3))
		stride := int64(1)
		for k := len(dims) - 1; k >= 0; k-- {
			stride += rnd.Int64N(40)
			dims[k] = deps.Dim{Count: 1 + rnd.Int64N(6), Stride: stride}
			stride *= dims[k].Count
		}
		region, err := deps.Strided(0, rnd.Int64N(50), dims)
		require.NoError(t, err)
		size := deps.Bytes(8 << rnd.IntN(6))
		elem := deps.Bytes(1 + rnd.IntN(24))
		want, got := map[int]bool{}, map[int]bool{}
		each(region, func(i int64) {
			for b := deps.Bytes(i) * elem; b < deps.Bytes(i+1)*elem; b++ {
				want[int(b/size)] = true
			}
		})
		last := 0
		coherence.EachGranules(region, elem, size, func(lo, hi int) {
			require.GreaterOrEqual(t, hi, last, "ascending")
			last = hi
			for i := lo; i < hi; i++ {
				got[i] = true
			}
		})
		require.Equal(t, want, got, "%v of %d bytes in granules of %d", region, elem, size)
	}
}
