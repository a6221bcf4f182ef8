package dist

import (
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gompss/gompss/deps"
)

// For random submissions the sends that each rank derives are the receives that the other side
// derives, with the same region and key.
func TestDirectory_BothSidesDeriveTheSameMessages(t *testing.T) {
	for seed := range uint64(2000) {
		r := rand.New(rand.NewPCG(seed, 3))
		ranks := 1 + r.IntN(7)
		n := int64(8 + r.IntN(60))
		all := make([]directory, ranks)
		for me := range all {
			all[me].me, all[me].ranks = int32(me), int32(ranks)
			l, err := Cyclic(1+int(seed%9)).make(n, ranks)
			require.NoError(t, err)
			all[me].add(4, l)
		}
		for range 40 {
			lo := r.Int64N(n)
			access := deps.Access{Region: deps.Interval(4, lo, lo+1+r.Int64N(n-lo)), Mode: []deps.Mode{deps.In, deps.In, deps.Out, deps.InOut, deps.Reduction}[r.IntN(5)], Op: 1}
			if access.Mode != deps.Reduction {
				access.Op = 0
			}
			on := int32(r.IntN(ranks))
			type end struct {
				from, to int32
				key      Key
				region   deps.Region
			}
			ends := map[end]int{}
			for me := range all {
				all[me].submit(on, []deps.Access{access})
				for _, s := range all[me].steps {
					switch s.kind {
					case stepSend:
						ends[end{int32(me), s.peer, s.key, s.region}]++
					case stepRecv, stepFold:
						ends[end{s.peer, int32(me), s.key, s.region}] += 10
					}
				}
			}
			for e, count := range ends {
				require.Equal(t, 11, count, "seed %d: %+v has one side", seed, e)
				require.NotEqual(t, e.from, e.to, "seed %d: a rank sends to itself", seed)
			}
		}
	}
}

// A version that many ranks read travels along a tree: no rank sends it to more than three others.
func TestDirectory_ManyReadersFormATree(t *testing.T) {
	const ranks = 64
	sends := make([]int, ranks)
	for me := range int32(ranks) {
		d := directory{me: me, ranks: ranks}
		l, err := On(5).make(100, ranks)
		require.NoError(t, err)
		d.add(0, l)
		for reader := range int32(ranks) {
			d.submit(reader, []deps.Access{{Region: deps.Interval(0, 0, 100), Mode: deps.In}})
			for _, s := range d.steps {
				if s.kind == stepSend {
					sends[me]++
				}
			}
		}
	}
	for rank, n := range sends {
		require.LessOrEqual(t, n, 3, "rank %d", rank)
	}
}
