package deps

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/require"
)

// A task may follow that has unfinished predecessors, all of them launched on one stream.
func TestFollowIsToldOnceWhenAllPredecessorsAreLaunched(t *testing.T) {
	var d Domain
	var told []string
	d.Follow = func(n *Node, stream int) { told = append(told, fmt.Sprintf("%v@%d", n.Owner, stream)) }
	part := func(lo, hi int64) Access { return Access{Region: Interval(0, lo, hi), Mode: InOut} }
	node := func(name string, a ...Access) *Node {
		n := &Node{Owner: name}
		d.Submit(n, a)
		return n
	}
	none := func(*Node, bool) {}
	a, b, h := node("a", part(0, 1)), node("b", part(1, 2)), node("h", part(2, 3))
	node("ab", part(0, 2))
	node("ah", part(0, 1), part(2, 3)) // waits for ab and h
	d.Launch(a, 1)
	require.Empty(t, told)
	d.Launch(b, 1)
	d.Launch(b, 2) // the first counts
	require.Equal(t, []string{"ab@1"}, told)
	ab := a.near[0]
	d.Launch(ab, 1)
	require.Equal(t, []string{"ab@1"}, told, "h is not launched")
	d.Complete(h, none)
	require.Equal(t, []string{"ab@1", "ah@1"}, told, "and need not be when it is complete")
	node("late", part(1, 2)) // its predecessor was launched before it was submitted
	require.Equal(t, "late@1", told[2])
	c := node("c", part(5, 6))
	d.Launch(c, 2)
	node("mixed", part(1, 2), part(5, 6))
	require.Len(t, told, 3, "late is not launched")
	d.Complete(a, none)
	d.Complete(b, none)
	d.Complete(ab, none)
	require.Len(t, told, 3)
}

// TestFollowAgainstAModel submits, launches and completes at random.
func TestFollowAgainstAModel(t *testing.T) {
	for seed := range programs(200) {
		rng := rand.New(rand.NewPCG(seed, 3))
		var d, whole Domain
		type entry struct {
			node    *Node
			preds   []*entry
			stream  int
			over    bool
			follows int
			twin    *Node // in whole, where nothing is prepared apart
			told    int   // of that
		}
		var all []*entry
		of := map[*Node]*entry{}
		d.Follow = func(n *Node, stream int) {
			e := of[n]
			e.follows++
			unfinished := 0
			for _, p := range e.preds {
				if p.over {
					continue
				}
				unfinished++
				require.Equal(t, stream, p.stream, "seed %d: a predecessor is not on the stream", seed)
			}
			require.Positive(t, unfinished, "seed %d", seed)
		}
		whole.Follow = func(n *Node, _ int) { of[n].told++ }
		cells := map[int64][]*entry{} // the writers of the cell, in order
		for range 60 {
			e := &entry{node: &Node{}, twin: &Node{}}
			of[e.node], of[e.twin] = e, e
			var accesses []Access
			for range 1 + rng.IntN(3) {
				at := rng.Int64N(5)
				accesses = append(accesses, Access{Region: Interval(0, at, at+1), Mode: InOut})
				for _, p := range cells[at] {
					if p != e {
						e.preds = append(e.preds, p)
					}
				}
				cells[at] = append(cells[at], e)
			}
			all = append(all, e)
			if rng.IntN(2) == 0 { // prepared for a submission that was given up, or for this one
				d.Prepare(e.node, []Access{{Region: Interval(0, 0, 9), Mode: Commutative}, {Region: Interval(0, 0, 5), Mode: InOut}})
			}
			d.Prepare(e.node, Merge(accesses))
			require.Empty(t, e.node.Exclusive(), "seed %d", seed)
			edges := d.Place(e.node, Merge(accesses))
			if stream := d.Behind(e.node); stream != 0 {
				d.Follow(e.node, stream)
			}
			d.Settle(e.node, edges)
			whole.Submit(e.twin, Merge(accesses))
			require.LessOrEqual(t, e.follows, 1)
			for _, e := range all {
				ready, stream := true, 1+rng.IntN(2)
				for _, p := range e.preds {
					if !p.over {
						if ready {
							stream = p.stream
						}
						if ready = false; p.stream != stream {
							stream = 0 // not launched, or elsewhere
						}
					}
				}
				switch {
				case e.over || rng.IntN(4) > 0:
				case e.stream == 0 && stream != 0:
					e.stream = stream
					d.Launch(e.node, stream)
					whole.Launch(e.twin, stream)
				case ready:
					e.over = true // before Complete: what is let go is not unfinished any more
					d.Complete(e.node, func(*Node, bool) {})
					whole.Complete(e.twin, func(*Node, bool) {})
				}
				require.Equal(t, e.told, e.follows, "seed %d", seed)
			}
		}
	}
}
