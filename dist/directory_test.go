package dist

import (
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gompss/gompss/deps"
	"github.com/gompss/gompss/task"
)

// For random submissions the sends that each rank derives are the receives that the other side
// derives, with the same region and key. Some messages are in pieces.
func TestDirectory_BothSidesDeriveTheSameMessages(t *testing.T) {
	defer func(n int64) { pieceBytes = n }(pieceBytes)
	pieceBytes = 30
	for seed := range uint64(2000) {
		r := rand.New(rand.NewPCG(seed, 3))
		ranks := 1 + r.IntN(7)
		n := int64(8 + r.IntN(60))
		all := make([]directory, ranks)
		for me := range all {
			all[me].me, all[me].ranks = int32(me), int32(ranks)
			l, err := Cyclic(1+int(seed%9)).make(n, ranks)
			require.NoError(t, err)
			all[me].buffers[all[me].add(4, l)].elem = 8
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

// A skipped task leaves the directory as a submitted one does that has no steps here, with the same
// hash: for random accesses to whole blocks of three buffers, with many ranks and few.
func TestDirectory_SkipIsSubmitWithoutSteps(t *testing.T) {
	skipped := 0
	for seed := range uint64(300) {
		r := rand.New(rand.NewPCG(seed, 5))
		ranks := int32(2 + r.IntN(4+int(seed%60)))
		var fast, slow directory
		for _, d := range []*directory{&fast, &slow} {
			d.me, d.ranks = int32(seed)%ranks, ranks
			for id := range deps.BufferID(3) {
				l, err := Cyclic(5).make(48, int(ranks)) // the last block is shorter
				require.NoError(t, err)
				d.add(id*2, l)
			}
		}
		for range 200 {
			n := r.IntN(task.SkipBlocks + 1)
			var blocks [task.SkipBlocks]task.BlockAccess
			var accesses []deps.Access
			hash := uint64(0)
			for i := range n {
				k, id, mode := int64(r.IntN(10)), deps.BufferID(2*r.IntN(3)), []deps.Mode{deps.In, deps.In, deps.Out, deps.InOut}[r.IntN(4)]
				a := deps.Access{Region: deps.Interval(id, 5*k, min(48, 5*k+5)), Mode: mode}
				number, ok := fast.block(id, 5*k, min(48, 5*k+5))
				require.True(t, ok)
				accesses, blocks[i] = append(accesses, a), task.BlockAccess(number<<8|uint64(mode))
				hash = joinAccess(hash, mode, regionHash(&a.Region, int32(id/2+1)))
			}
			want, err := slow.place(accesses)
			require.NoError(t, err)
			slow.submit(want, accesses)
			rank, got, ok := fast.skip(&blocks, n)
			if !ok {
				fast.submit(want, accesses)
				continue
			}
			skipped++
			require.Empty(t, slow.steps, "seed %d: %v", seed, accesses)
			require.Equal(t, want, rank)
			require.Equal(t, hash, got)
		}
		require.Equal(t, slow.sequence, fast.sequence)
		require.Equal(t, slow.messages, fast.messages)
		for i, b := range slow.buffers {
			for k := range b.first {
				require.Equal(t, b.first[k].writer, fast.buffers[i].first[k].writer, "seed %d", seed)
				require.Equal(t, append([]int32{}, b.first[k].ranks...), append([]int32{}, fast.buffers[i].first[k].ranks...), "seed %d", seed)
				require.Equal(t, b.first[k].mine, fast.buffers[i].first[k].holds(fast.me), "seed %d", seed)
			}
		}
	}
	require.Greater(t, skipped, 10000)
	var d directory
	l, err := BlockCyclic2D(8, 2, 2, 2, 2).make(64, 4)
	require.NoError(t, err)
	d.add(0, l)
	for _, bounds := range [][2]int64{{0, 2}, {0, 8}, {0, 64}} {
		_, ok := d.block(0, bounds[0], bounds[1])
		require.False(t, ok, "a matrix has no blocks that are intervals")
	}
}

// A large message is in pieces, which are its elements in order. A rank that forwards it forwards
// each of them.
func TestDirectory_LargeMessagesAreInPieces(t *testing.T) {
	const ranks = 12
	n := 3*pieceBytes/8 + 5
	sent, received := make([][]deps.Region, ranks), make([][]deps.Region, ranks)
	for me := range int32(ranks) {
		d := directory{me: me, ranks: ranks}
		l, err := On(5).make(n, ranks)
		require.NoError(t, err)
		d.buffers[d.add(0, l)].elem = 8
		for reader := range int32(ranks) {
			d.submit(reader, []deps.Access{{Region: deps.Interval(0, 0, n), Mode: deps.In}})
			for _, s := range d.steps {
				if s.kind == stepSend {
					sent[me] = append(sent[me], s.region)
				} else {
					received[me] = append(received[me], s.region)
				}
			}
		}
	}
	piece := pieceBytes / 8
	want := []deps.Region{deps.Interval(0, 0, piece), deps.Interval(0, piece, 2*piece), deps.Interval(0, 2*piece, 3*piece), deps.Interval(0, 3*piece, n)}
	forwards := 0
	for me := range ranks {
		if me != 5 {
			require.Equal(t, want, received[me])
			forwards += len(sent[me])
		}
	}
	require.Greater(t, forwards, 0)
}
