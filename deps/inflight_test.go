package deps

import (
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"
)

// TestInFlight_AgainstAnOracle compares what InFlight and Known say of random regions with what the
// unfinished nodes, and all nodes, have accessed. A writer that a later one waits for need not be
// named; an element that is named is in some unfinished access.
func TestInFlight_AgainstAnOracle(t *testing.T) {
	const size = 64
	for seed := range programs(300) {
		rng := rand.New(rand.NewPCG(seed, 1))
		var d Domain
		var live []*Node
		accessed := map[*Node]Access{}
		ever := [size]bool{}
		region := func() Region {
			lo := rng.Int64N(size)
			return Interval(0, lo, lo+1+rng.Int64N(min(8, size-lo)))
		}
		for range 60 {
			if n := new(Node); rng.IntN(3) > 0 || len(live) == 0 {
				a := Access{Region: region(), Mode: Mode(rng.IntN(6))}
				d.Submit(n, []Access{a})
				accessed[n], live = a, append(live, n)
				for i := a.Region.Offset; i < a.Region.Offset+a.Region.Len(); i++ {
					ever[i] = true
				}
			} else { // the oldest has no predecessor any more
				d.Complete(live[0], func(*Node, bool) {})
				live = live[1:]
			}
			r := region()
			var written, read Set
			d.InFlight(&r, nil, &written, &read)
			known := false
			for i := r.Offset; i < r.Offset+r.Len(); i++ {
				at, writes, reads := Interval(0, i, i+1), false, false
				for _, n := range live {
					a := accessed[n]
					writes = writes || a.Mode.Writes() && a.Region.Overlaps(at)
					reads = reads || a.Mode == In && a.Region.Overlaps(at)
				}
				require.Equal(t, writes, written.Overlaps(at), "seed %d, element %d is written", seed, i)
				if !writes {
					require.Equal(t, reads, read.Overlaps(at), "seed %d, element %d is read", seed, i)
				}
				known = known || ever[i]
			}
			require.Equal(t, known, d.Known(&r), "seed %d: %v is known", seed, r)
		}
	}
}

// TestKnown_RemembersSweptRegions uses more regions than a domain keeps cells for.
func TestKnown_RemembersSweptRegions(t *testing.T) {
	var d Domain
	for i := range int64(3 * sweepCells) {
		n := new(Node)
		d.Submit(n, []Access{{Region: Interval(0, 4*i, 4*i+1), Mode: InOut}})
		d.Finish(n, func(*Node) {})
	}
	for _, i := range []int64{0, sweepCells, 3*sweepCells - 1} {
		r := Interval(0, 4*i, 4*i+1)
		require.True(t, d.Known(&r))
	}
	r := Interval(0, 12*sweepCells, 13*sweepCells)
	require.False(t, d.Known(&r))
	require.NoError(t, d.Forget(0))
	r = Interval(0, 0, 1)
	require.False(t, d.Known(&r))
}

// TestKnown_MergesUseNothing: nodes of EnterQuietly do not count, also in a region that others then
// access, and what is known of a buffer is inherited by another one, also after a sweep.
func TestKnown_MergesUseNothing(t *testing.T) {
	var d Domain
	known := func(b BufferID, lo, hi int64) bool { r := Interval(b, lo, hi); return d.Known(&r) }
	run := func(enter func(n *Node, accesses []Access) int32, accesses ...Access) {
		n := &Node{}
		require.True(t, d.Settle(n, enter(n, accesses)))
		d.Finish(n, func(*Node) {})
	}
	at := func(b BufferID, lo, hi int64) Access { return Access{Region: Interval(b, lo, hi), Mode: InOut} }
	run(d.Enter, at(1, 2, 4))
	d.Inherit(2, 1, 10)
	run(d.EnterQuietly, at(1, 0, 8), at(2, 10, 18))
	d.Inherit(3, 2, 0)
	for _, sweep := range []bool{false, true} {
		if sweep {
			d.sweep(d.tracts[2])
			d.sweep(d.tracts[2])
		}
		for b, lo := range map[BufferID]int64{1: 0, 2: 10, 3: 10} {
			require.False(t, known(b, lo, lo+2), b)
			require.True(t, known(b, lo+3, lo+4), b)
			require.False(t, known(b, lo+4, lo+8), b)
		}
	}
	run(d.EnterQuietly, at(2, 10, 18))
	run(d.Enter, at(2, 10, 18))
	run(d.EnterQuietly, at(2, 10, 18))
	require.True(t, known(2, 17, 18))
}
