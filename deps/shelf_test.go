package deps

import (
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestShelfAgainstAList puts random regions on a shelf, in any number, and takes them off: what
// overlaps is what a list says.
func TestShelfAgainstAList(t *testing.T) {
	for seed := range programs(200) {
		r := rand.New(rand.NewPCG(seed, 11))
		var s Shelf[int]
		list := map[Region]int{}
		region := func() Region {
			for {
				x := randomRegion(r)
				if x.Buffer = BufferID(r.IntN(2)); !x.Empty() {
					return x
				}
			}
		}
		for i := range 150 {
			x := region()
			if r.IntN(3) > 0 {
				*s.At(x) = i
				list[x] = i
			} else {
				for x = range list {
					break
				}
				s.Drop(x)
				delete(list, x)
			}
			require.Equal(t, len(list), s.Len())
			x = region()
			found := map[Region]int{}
			require.False(t, s.Any(&x, func(o *Region, v *int) bool { found[*o] = *v; return false }))
			want := map[Region]int{}
			for o, v := range list {
				if o.Overlaps(x) {
					want[o] = v
				}
			}
			require.Equal(t, want, found, "seed %d", seed)
			require.Equal(t, len(want) > 0, s.Any(&x, func(*Region, *int) bool { return true }))
		}
		for x := range list {
			s.Drop(x)
		}
		require.Zero(t, s.Len())
		require.Empty(t, s.roots)
	}
}

// TestExclusionOfManyRegions has thousands of holders: a search goes down a tree that is
// not deep. Nothing is allocated when regions come again.
func TestExclusionOfManyRegions(t *testing.T) {
	const n = 1 << 13
	var e Exclusion
	nodes := make([]*Node, n)
	for i := range nodes {
		nodes[i] = commuting(Interval(1, int64(2*i), int64(2*i+1)))
		require.True(t, e.TryAcquire(nodes[i]))
	}
	var depth func(x *shelved[int32]) int
	depth = func(x *shelved[int32]) int {
		if x == nil {
			return 0
		}
		return 1 + max(depth(x.left), depth(x.right))
	}
	require.Less(t, depth(e.held.roots[1]), 64)
	one := commuting(Interval(1, 2*n, 2*n+1))
	require.Zero(t, testing.AllocsPerRun(100, func() {
		if !e.TryAcquire(one) {
			t.Error("it is free")
		}
		e.Release(one, func(*Node) { t.Error("nobody waits") })
	}))
	all := commuting(Interval(1, 0, 2*n))
	require.False(t, e.TryAcquire(all))
	for i, x := range nodes {
		granted := 0
		e.Release(x, func(*Node) { granted++ })
		require.Equal(t, map[bool]int{true: 1}[i == n-1], granted)
	}
	e.Release(all, func(*Node) {})
	require.Zero(t, e.Len())
	require.Zero(t, e.held.Len())
}
