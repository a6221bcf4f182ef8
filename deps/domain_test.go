package deps

import (
	"maps"
	"math/rand/v2"
	"runtime"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"unsafe"

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

// conflict is the definition, element by element: a common element that both do not use in the same
// sharing mode. The modes of one task on one element add up.
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

// A model runs a program in a random interleaving of submission and completion, next to the
// definition: a task is ready when every earlier task that it conflicts with is done, no sooner and
// no later.
type model struct {
	program
	t         *testing.T
	rand      *rand.Rand
	domain    Domain
	conflicts [][]bool
	edges     [][]int // predecessors reported to Edges
	done      []bool
	ready     map[int]bool
	submitted int
}

func newModel(t *testing.T, r *rand.Rand, p program) *model {
	n := len(p.nodes)
	m := &model{program: p, t: t, rand: r, edges: make([][]int, n), done: make([]bool, n), ready: map[int]bool{}}
	m.conflicts = make([][]bool, n)
	for i := range n {
		m.conflicts[i] = make([]bool, i)
		for j := range i {
			m.conflicts[i][j] = conflict(p.accesses[j], p.accesses[i])
		}
	}
	m.domain.KeepVersions = true
	m.domain.Edges = func(succ TaskID, preds []TaskID) {
		for _, p := range preds {
			m.edges[succ-1] = append(m.edges[succ-1], int(p-1))
		}
	}
	return m
}

// run returns the versions that the accesses were given.
func (m *model) run() (versions []uint64) {
	for i, n := range m.nodes {
		for len(m.ready) > 0 && m.rand.IntN(3) == 0 {
			m.complete()
		}
		if m.domain.Submit(n, m.accesses[i]) {
			m.ready[i] = true
		}
		m.checkAccesses(i)
		for k := range m.accesses[i] {
			versions = append(versions, n.Version(k))
		}
		m.submitted++
		m.checkEdges(i)
		m.checkReady()
	}
	for len(m.ready) > 0 {
		m.complete()
	}
	require.Zero(m.t, m.domain.Busy())
	require.Equal(m.t, len(m.nodes), len(m.done)-countFalse(m.done))
	return versions
}

func countFalse(bs []bool) (n int) {
	for _, b := range bs {
		if !b {
			n++
		}
	}
	return n
}

// complete ends a random ready task and checks the list of its successors.
func (m *model) complete() {
	order := slices.Sorted(maps.Keys(m.ready))
	i := order[m.rand.IntN(len(order))]
	delete(m.ready, i)
	require.False(m.t, m.done[i], "task %d runs twice", i)
	m.done[i] = true
	m.checkAccesses(i)
	var told []int
	m.domain.Complete(m.nodes[i], func(s *Node, ok bool) {
		k := int(s.ID - 1)
		told = append(told, k)
		if ok {
			require.False(m.t, m.ready[k], "task %d becomes ready twice", k)
			m.ready[k] = true
		}
	})
	slices.Sort(told)
	var want []int
	for k, preds := range m.edges {
		if slices.Contains(preds, i) {
			want = append(want, k)
		}
	}
	require.Equal(m.t, want, told, "successors of %d are told once each", i)
	m.checkReady()
}

func (m *model) checkEdges(i int) {
	for k, j := range m.edges[i] {
		require.True(m.t, m.conflicts[i][j], "edge %d -> %d without a conflict: %v and %v", j, i, m.accesses[j], m.accesses[i])
		require.False(m.t, m.done[j], "edge from %d, which is done", j)
		require.NotContains(m.t, m.edges[i][:k], j, "edge twice")
	}
}

func (m *model) checkReady() {
	for i := range m.submitted {
		want := !m.done[i]
		for j := range i {
			want = want && (m.done[j] || !m.conflicts[i][j])
		}
		require.Equal(m.t, want, m.ready[i], "task %d ready: %v", i, m.accesses[i])
	}
}

func TestDomainAgainstTheDefinition(t *testing.T) {
	for seed := range programs(1200) {
		r := rand.New(rand.NewPCG(seed, 4))
		p := randomProgram(r, 30)
		first := newModel(t, r, p).run()
		for _, n := range p.nodes {
			n.ID = 0
		}
		// The same nodes again, in another order of completion: recycled, and with the same
		// versions.
		require.Equal(t, first, newModel(t, r, p).run())
		if t.Failed() {
			t.Fatalf("seed %d", seed)
		}
	}
}

func FuzzDomain(f *testing.F) {
	f.Add(uint64(1), uint8(20))
	f.Fuzz(func(t *testing.T, seed uint64, n uint8) {
		r := rand.New(rand.NewPCG(seed, 5))
		newModel(t, r, randomProgram(r, int(n%60)+1)).run()
	})
}

// checkAccesses compares what a node in flight says of itself with what it was submitted with.
func (m *model) checkAccesses(i int) {
	n := m.nodes[i]
	require.Equal(m.t, len(m.accesses[i]), n.Accesses())
	for k, a := range m.accesses[i] {
		if got := n.Access(k); got.Mode != a.Mode || got.Region != a.Region && !(got.Region.Empty() && a.Region.Empty()) {
			m.t.Fatalf("access %d is %v, not %v", k, got, a)
		}
	}
}

func TestVersionsCountWriters(t *testing.T) {
	d := Domain{KeepVersions: true}
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

// TestHammer submits from several goroutines, each on regions of its own and on shared ones, and
// completes from others. A task that fails tells its successors before any of them may start. Run
// with -race.
func TestHammer(t *testing.T) {
	const submitters, completers, each = 4, 3, 2000
	type record struct {
		node   Node
		poison atomic.Bool
		shared bool
		fails  bool
	}
	var d Domain
	ready := make(chan *record, submitters*each)
	var sum int64      // written under the graph's order alone
	var poisoned bool  // likewise
	var unpoisoned int // tasks of the shared chain after a failure that were not told of it
	var left sync.WaitGroup
	left.Add(submitters * each)
	var submitting sync.Mutex
	finish := func(r *record) {
		failed := r.fails || r.poison.Load()
		if r.shared {
			sum++
			if poisoned && !failed {
				unpoisoned++
			}
			poisoned = failed
		}
		d.Complete(&r.node, func(s *Node, ok bool) {
			next := s.Owner.(*record)
			if failed {
				next.poison.Store(true)
			}
			if ok {
				ready <- next
			}
		})
		left.Done()
	}
	var wg sync.WaitGroup
	for s := range submitters {
		wg.Go(func() {
			for i := range int64(each) {
				r := &record{shared: i%3 == 0, fails: s == 0 && i == each/2}
				r.node.Owner = r
				as := []Access{on(InOut, Interval(BufferID(s+1), i%5, i%5+2)), on(Mode(i%6), Interval(9, i%7, i%7+9))}
				if r.shared {
					as = append(as, on(InOut, Interval(0, 0, 4)), on(In, Interval(0, 8, 9)))
				}
				submitting.Lock()
				if d.Submit(&r.node, as) {
					ready <- r
				}
				submitting.Unlock()
			}
		})
	}
	for range completers {
		wg.Go(func() {
			for r := range ready {
				finish(r)
			}
		})
	}
	left.Wait()
	close(ready)
	wg.Wait()
	require.EqualValues(t, submitters*((each+2)/3), sum)
	require.Zero(t, d.Busy())
	// A task submitted after the failing one was complete starts again: at most one of the chain.
	require.LessOrEqual(t, unpoisoned, 1)
}

// TestConcurrentSubmissionsHaveNoCycle has tasks that take two of a few buffers in any order.
func TestConcurrentSubmissionsHaveNoCycle(t *testing.T) {
	const submitters, each = 4, 1500
	var d Domain
	var left sync.WaitGroup
	var submitting sync.Mutex
	left.Add(submitters * each)
	var complete func(n *Node)
	complete = func(n *Node) {
		d.Complete(n, func(s *Node, ok bool) {
			if ok {
				go complete(s)
			}
		})
		left.Done()
	}
	for s := range submitters {
		go func() {
			r := rand.New(rand.NewPCG(uint64(s), 6))
			for range each {
				n := &Node{}
				submitting.Lock()
				if d.Submit(n, []Access{on(InOut, Interval(BufferID(r.IntN(3)), 0, 1)), on(InOut, Interval(BufferID(3+r.IntN(3)), 0, 1))}) {
					go complete(n)
				}
				submitting.Unlock()
			}
		}()
	}
	left.Wait()
	require.Zero(t, d.Busy())
}

func TestSizeOfAPendingTask(t *testing.T) {
	// Four accesses and nine successors need no memory but the node.
	require.LessOrEqual(t, unsafe.Sizeof(Node{}), uintptr(192))
}

func TestRegionsThatRepeatStay(t *testing.T) {
	load := cholesky(32) // more tiles than a sweep would leave if it dropped what is idle
	var w window
	for range 2 {
		for _, as := range load {
			w.submit(as)
		}
	}
	require.Equal(t, 32*33/2, w.domain.table.count)
	require.Zero(t, w.domain.tracts[0].pairs, "tiles do not overlap")
}

func TestManyTasksInConstantMemory(t *testing.T) {
	var w window
	load := slices.Concat(cholesky(8), stencil(16), intervals(4096))
	heap := func() uint64 {
		runtime.GC()
		var m runtime.MemStats
		runtime.ReadMemStats(&m)
		return m.HeapAlloc
	}
	run := func(n int) {
		for i := range n {
			w.submit(load[i%len(load)])
		}
	}
	run(100_000)
	before := heap()
	run(200_000)
	require.Less(t, heap(), before+1<<20)
	runtime.KeepAlive(&w)
}

func TestMisuseIsABug(t *testing.T) {
	var d Domain
	var a, b Node
	as := []Access{on(InOut, Interval(0, 0, 8))}
	require.True(t, d.Submit(&a, as))
	require.False(t, d.Submit(&b, as))
	require.PanicsWithValue(t, "gompss: bug: node 1 submitted twice", func() { d.Submit(&a, as) })
	require.PanicsWithValue(t, "gompss: bug: node 2 completed in state 1 with 1 predecessors", func() { d.Complete(&b, nil) })
	require.Panics(t, func() { d.Complete(&Node{}, nil) })
}

func TestForget(t *testing.T) {
	var d Domain
	var n Node
	require.NoError(t, d.Forget(4))
	d.Submit(&n, []Access{on(In, Interval(4, 0, 8)), on(Out, Interval(4, 8, 9)), on(In, Interval(5, 0, 8))})
	var busy *BusyError
	require.ErrorAs(t, d.Forget(4), &busy)
	require.ErrorIs(t, busy, ErrBusy)
	require.Equal(t, "deps: buffer 4: unfinished tasks access it: 2 regions, such as b4[0:8]", busy.Error())
	d.Complete(&n, nil)
	require.NoError(t, d.Forget(4))
	require.Equal(t, 1, d.table.count, "buffer 5 stays")
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
