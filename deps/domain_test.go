package deps

import (
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"testing"

	"github.com/stretchr/testify/require"
)

type program struct {
	nodes    []*Node
	accesses [][]Access
}

func randomProgram(r *rand.Rand, n int) program {
	var p program
	var seen []Region
	for range n {
		var as []Access
		for range 1 + r.IntN(4) {
			region := randomRegion(r)
			if len(seen) > 0 && r.IntN(2) == 0 {
				region = seen[r.IntN(len(seen))]
			}
			region.Buffer = BufferID(r.IntN(2))
			seen = append(seen, region)
			as = append(as, Access{region, Mode(r.IntN(6)), ReductionID(r.IntN(2))})
		}
		p.nodes = append(p.nodes, &Node{})
		p.accesses = append(p.accesses, Merge(as))
	}
	return p
}

// conflict is the definition, element by element: a common element that both do not use in the same sharing mode. The modes of one
// task on one element add up.
func conflict(a, b []Access) bool {
	for _, x := range effective(a) {
		for _, y := range effective(b) {
			if !compatible(x, y) && x.Region.Overlaps(y.Region) {
				return true
			}
		}
	}
	return false
}

func compatible(a, b Access) bool { return keyOf(&a) == keyOf(&b) && a.Mode != Out && a.Mode != InOut }

// effective drops the operator where it means nothing, and merges.
func effective(as []Access) []Access {
	out := append([]Access(nil), as...)
	return Merge(out)
}

// TestDomainAgainstTheDefinition runs random programs in random interleavings of submission and completion. Every conflicting pair
// must be ordered, every edge must be a conflicting pair, and all nodes run once.
func TestDomainAgainstTheDefinition(t *testing.T) {
	for seed := range uint64(1500) {
		checkDomain(t, rand.New(rand.NewPCG(seed, 4)), 30)
		if t.Failed() {
			t.Fatalf("seed %d", seed)
		}
	}
}

func checkDomain(t *testing.T, r *rand.Rand, n int) {
	t.Helper()
	p := randomProgram(r, n)
	var d Domain
	before := make([]map[int]bool, n) // transitive predecessors
	direct := make([][]int, n)
	d.Edge = func(pred, succ TaskID) { direct[succ-1] = append(direct[succ-1], int(pred-1)) }
	var ready []int
	done := make([]bool, n)
	finish := func() {
		k := r.IntN(len(ready))
		i := ready[k]
		ready = append(ready[:k], ready[k+1:]...)
		require.False(t, done[i])
		done[i] = true
		d.Complete(p.nodes[i], func(s *Node, ok bool) {
			if ok {
				ready = append(ready, int(s.ID-1))
			}
		})
	}
	for i := range n {
		for len(ready) > 0 && r.IntN(3) == 0 {
			finish()
		}
		atSubmit := append([]bool(nil), done...)
		if d.Submit(p.nodes[i], p.accesses[i]) {
			require.Empty(t, direct[i])
			ready = append(ready, i)
		}
		before[i] = map[int]bool{}
		for _, j := range direct[i] {
			require.True(t, conflict(p.accesses[j], p.accesses[i]), "edge %d -> %d without a conflict: %v and %v", j, i, p.accesses[j], p.accesses[i])
			before[i][j] = true
			for k := range before[j] {
				before[i][k] = true
			}
		}
		for j := range i {
			if !atSubmit[j] && conflict(p.accesses[j], p.accesses[i]) {
				require.True(t, before[i][j], "%d and %d conflict and are not ordered: %v and %v", j, i, p.accesses[j], p.accesses[i])
			}
		}
	}
	for len(ready) > 0 {
		finish()
	}
	for i := range n {
		require.True(t, done[i], "node %d never became ready", i)
	}
	require.Zero(t, d.Live())
}

func FuzzDomain(f *testing.F) {
	f.Add(uint64(1), uint8(20))
	f.Fuzz(func(t *testing.T, seed uint64, n uint8) {
		checkDomain(t, rand.New(rand.NewPCG(seed, 5)), int(n%60)+1)
	})
}

func TestVersionsCountWriters(t *testing.T) {
	var d Domain
	nodes := make([]Node, 4)
	d.Submit(&nodes[0], []Access{{Region: Interval(0, 0, 8), Mode: Out}})
	d.Submit(&nodes[1], []Access{{Region: Interval(0, 0, 8), Mode: In}})
	d.Submit(&nodes[2], []Access{{Region: Interval(0, 4, 8), Mode: InOut}})
	d.Submit(&nodes[3], []Access{{Region: Interval(0, 0, 8), Mode: In}})
	for i, want := range []uint64{0, 1, 1, 2} {
		require.Equal(t, want, nodes[i].Version(0))
	}
	require.ErrorIs(t, d.Forget(0), ErrBusy)
}

func TestFreshRegionsDoNotPileUp(t *testing.T) {
	var d Domain
	var n Node
	for i := range int64(100_000) {
		n.ID = 0
		require.True(t, d.Submit(&n, []Access{{Region: Interval(0, i*3, i*3+7), Mode: InOut}}))
		d.Complete(&n, func(*Node, bool) {})
	}
	require.LessOrEqual(t, d.tracts[0].cells, 2*sweepPairs)
	require.NoError(t, d.Forget(0))
}

// TestHammer submits from several goroutines, each on a buffer of its own and on a shared one, and completes from others. Run with -race.
func TestHammer(t *testing.T) {
	const submitters, each = 4, 3000
	var d Domain
	ready := make(chan *Node, submitters*each)
	var completed atomic.Int64
	var shared int64 // written under the graph's order alone
	var wg sync.WaitGroup
	for s := range submitters {
		wg.Go(func() {
			for i := range int64(each) {
				n := &Node{}
				as := []Access{{Region: Interval(BufferID(s+1), i%5, i%5+2), Mode: InOut}}
				if i%3 == 0 {
					as = append(as, Access{Region: Interval(0, 0, 4), Mode: InOut})
					n.Owner = &shared
				}
				if d.Submit(n, as) {
					ready <- n
				}
			}
		})
	}
	for range 2 {
		wg.Go(func() {
			for completed.Load() < submitters*each {
				select {
				case n := <-ready:
					if p, ok := n.Owner.(*int64); ok {
						*p++
					}
					d.Complete(n, func(s *Node, ok bool) {
						if ok {
							ready <- s
						}
					})
					completed.Add(1)
				default:
				}
			}
		})
	}
	wg.Wait()
	require.EqualValues(t, submitters*each/3, shared)
	require.Zero(t, d.Live())
}

func TestSteadyStateDoesNotAllocate(t *testing.T) {
	for _, load := range workloads() {
		var w window
		i := 0
		step := func() {
			w.submit(load.tasks[i%len(load.tasks)])
			i++
		}
		for range 4*len(load.tasks) + 4096 {
			step()
		}
		require.Zero(t, testing.AllocsPerRun(2000, step), load.name)
	}
}
