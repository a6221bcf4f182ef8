package deps

import (
	"math/rand/v2"
	"slices"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"
)

// commuting submits a node that is ready at once: every node has a domain of its own.
func commuting(regions ...Region) *Node {
	n := &Node{}
	var as []Access
	for _, r := range regions {
		as = append(as, on(Commutative, r))
	}
	if new(Domain).Submit(n, as) {
		return n
	}
	panic("a node without predecessors is not ready")
}

// TestExclusionGrants acquires and releases in random order: holders never share an element, no
// task overtakes the one that waits longest, and all are granted once.
func TestExclusionGrants(t *testing.T) {
	for seed := range programs(300) {
		r := rand.New(rand.NewPCG(seed, 7))
		var e Exclusion
		var holding, waiting []*Node
		grant := func(n *Node) {
			for _, h := range holding {
				require.False(t, exclude(h, n), "seed %d: two holders of a common element", seed)
			}
			holding = append(holding, n)
		}
		release := func() {
			i := r.IntN(len(holding))
			n := holding[i]
			holding = slices.Delete(holding, i, i+1)
			e.Release(n, func(g *Node) {
				i := slices.Index(waiting, g)
				require.GreaterOrEqual(t, i, 0, "seed %d: granted without waiting", seed)
				require.True(t, i == 0 || !exclude(waiting[0], g), "seed %d: overtakes", seed)
				waiting = slices.Delete(waiting, i, i+1)
				grant(g)
			})
		}
		for range 40 {
			var regions []Region
			for range 1 + r.IntN(3) {
				regions = append(regions, randomRegion(r))
			}
			n := commuting(regions...)
			if e.TryAcquire(n) {
				require.True(t, len(n.Exclusive()) == 0 || len(waiting) == 0 || !exclude(waiting[0], n), "seed %d: overtakes", seed)
				if len(n.Exclusive()) > 0 {
					grant(n)
				}
			} else {
				waiting = append(waiting, n)
			}
			if len(holding) > 0 && r.IntN(2) == 0 {
				release()
			}
			for i, w := range waiting { // no task at the head of its queue waits without success
				head := !slices.ContainsFunc(waiting[:i], func(o *Node) bool { return o.Exclusive()[0] == w.Exclusive()[0] })
				kept := i > 0 && exclude(waiting[0], w) || slices.ContainsFunc(holding, func(h *Node) bool { return exclude(h, w) })
				require.True(t, kept || !head, "seed %d: %d waits for nobody", seed, i)
			}
		}
		for len(holding) > 0 {
			release()
		}
		require.Empty(t, waiting, "seed %d", seed)
		require.Empty(t, e.queues)
	}
}

// TestPhilosophers is the classic: every philosopher needs two forks, named in the order that
// deadlocks when they are taken one by one.
func TestPhilosophers(t *testing.T) {
	const n, meals = 7, 400
	var e Exclusion
	var forks [n]atomic.Int32
	var all sync.WaitGroup
	all.Add(n * meals)
	var eat func(seat int, p *Node)
	eat = func(seat int, p *Node) {
		for _, f := range []int{seat, (seat + 1) % n} {
			if forks[f].Add(1) != 1 {
				t.Errorf("fork %d is in two hands", f)
			}
		}
		for _, f := range []int{seat, (seat + 1) % n} {
			forks[f].Add(-1)
		}
		e.Release(p, func(g *Node) { go eat(g.Owner.(int), g) })
		all.Done()
	}
	for seat := range n {
		go func() {
			for range meals {
				p := commuting(Interval(0, int64(seat), int64(seat)+1), Interval(0, int64(seat+1)%n, int64(seat+1)%n+1))
				p.Owner = seat
				if e.TryAcquire(p) {
					eat(seat, p)
				}
			}
		}()
	}
	all.Wait()
	require.Zero(t, e.held.Len())
	require.Empty(t, e.waiting)
}

func TestReleaseOfWhatIsNotHeld(t *testing.T) {
	var e Exclusion
	n := commuting(Interval(0, 0, 1))
	require.Panics(t, func() { e.Release(n, nil) })
	require.True(t, e.TryAcquire(&Node{}), "nothing to exclude")
}

func TestManyWaitersInOneQueue(t *testing.T) {
	var e Exclusion
	nodes := make([]*Node, 5000)
	for i := range nodes {
		nodes[i] = commuting(Interval(0, 0, 8))
		require.Equal(t, i == 0, e.TryAcquire(nodes[i]))
	}
	for i, n := range nodes {
		var next []*Node
		e.Release(n, func(g *Node) { next = append(next, g) })
		require.Equal(t, nodes[i+1:min(i+2, len(nodes))], append([]*Node{}, next...))
	}
}
