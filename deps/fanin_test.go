package deps

import (
	"maps"
	"math/rand/v2"
	"slices"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"
)

// A phase is a number of tasks that all do the same: each to its own part of a buffer, or all to
// the whole.
type phase struct {
	tasks int
	mode  Mode
	parts bool
}

const partSize = 4

func (p phase) access(i, parts int) Access {
	a := Access{Mode: p.mode, Region: Interval(0, 0, int64(parts)*partSize)}
	if p.parts {
		at := int64(i%parts) * partSize
		a.Region = Interval(0, at, at+partSize)
	}
	return a
}

// TestEdgesOfManyForManyAreLinear submits phases of n tasks each, of which none is complete: all of
// one wait for all of the one before.
func TestEdgesOfManyForManyAreLinear(t *testing.T) {
	const n = 400
	whole := func(m Mode) phase { return phase{n, m, false} }
	parts := func(m Mode) phase { return phase{n, m, true} }
	for name, phases := range map[string][]phase{
		"readers of what many wrote":        {parts(Out), whole(In), parts(Out), whole(In), parts(InOut), whole(In)},
		"readers of parts":                  {whole(InOut), parts(In), whole(In), parts(InOut), parts(In)},
		"concurrent, then readers":          {whole(Concurrent), whole(In), whole(Concurrent), whole(In)},
		"commutative, then readers":         {whole(Commutative), whole(In), whole(Commutative), whole(In)},
		"reductions, then readers":          {whole(Reduction), whole(In), whole(Reduction), whole(In)},
		"groups, one after the other":       {whole(Concurrent), whole(Commutative), whole(Reduction), whole(Concurrent)},
		"concurrent on the whole and parts": {parts(Out), whole(Concurrent), parts(In), whole(Concurrent), parts(Concurrent), whole(Commutative)},
		"writers of the whole":              {parts(Out), whole(InOut), parts(In), whole(InOut), parts(InOut)},
	} {
		t.Run(name, func(t *testing.T) {
			var d Domain
			for _, p := range phases {
				for i := range p.tasks {
					d.Submit(&Node{}, []Access{p.access(i, n)})
				}
			}
			require.LessOrEqual(t, d.edges, uint64(5*n*len(phases)), "for %d tasks; each for each are %d", n*len(phases), n*n*(len(phases)-1))
			require.GreaterOrEqual(t, d.edges, uint64(n*(len(phases)-1)))
		})
	}
}

// TestFewTasksHaveNoJoint: what makes the edges of many fewer is not to be paid for by few.
func TestFewTasksHaveNoJoint(t *testing.T) {
	for _, load := range workloads()[:8] {
		var w window
		for i := range 4 * len(load.tasks) {
			w.submit(load.tasks[i%len(load.tasks)])
		}
		require.Nil(t, w.domain.joints.free, load.name)
		require.Nil(t, w.domain.spent.list.Load(), load.name)
	}
}

// A fanModel is a model without edges, as there are joints where edges are not asked for: it knows
// what is ready and what failed.
type fanModel struct {
	*model
	fails, poisoned []bool
	inFlight        [][]int // by task, when it was submitted
}

func newFanModel(t *testing.T, r *rand.Rand, p program) *fanModel {
	m := &fanModel{model: newModel(t, r, p), fails: make([]bool, len(p.nodes)), poisoned: make([]bool, len(p.nodes))}
	m.domain.Edges = nil
	for i := range m.fails {
		m.fails[i] = r.IntN(20) == 0
	}
	return m
}

func (m *fanModel) run() {
	rate := 2 + m.rand.IntN(30) // from nearly nothing in flight to nearly all
	for i, n := range m.nodes {
		for len(m.ready) > 0 && m.rand.IntN(rate) == 0 {
			m.complete()
		}
		var inFlight []int
		for j := range i {
			if !m.done[j] {
				inFlight = append(inFlight, j)
			}
		}
		m.inFlight = append(m.inFlight, inFlight)
		if m.domain.Submit(n, m.accesses[i]) {
			m.ready[i] = true
		}
		m.submitted++
		m.checkReady()
	}
	for len(m.ready) > 0 {
		m.complete()
		m.checkReady()
	}
	m.checkFailures()
	require.Zero(m.t, m.domain.Busy())
	require.Zero(m.t, countFalse(m.done))
}

// complete ends a random ready task. A task that failed, or whose predecessor failed,
// passes the failure to its successors and to no other task.
func (m *fanModel) complete() {
	order := slices.Sorted(maps.Keys(m.ready))
	i := order[m.rand.IntN(len(order))]
	delete(m.ready, i)
	failed := m.fails[i] || m.poisoned[i]
	free := func(s *Node) {
		k := int(s.ID - 1)
		require.False(m.t, m.ready[k], "task %d becomes ready twice", k)
		m.ready[k] = true
	}
	m.done[i] = true
	if !failed {
		m.domain.Finish(m.nodes[i], free)
		return
	}
	m.domain.Complete(m.nodes[i], func(s *Node, ready bool) {
		k := int(s.ID - 1)
		require.True(m.t, m.conflicts[k][i], "task %d is told of the failure of %d", k, i)
		m.poisoned[k] = true
		if ready {
			free(s)
		}
	})
}

// checkFailures: a task gets a failure if and only if one that it conflicts with failed or got one,
// and was in flight when it was submitted. As every task in flight tells, that is what its
// predecessors do.
func (m *fanModel) checkFailures() {
	for k := range m.nodes {
		want := slices.ContainsFunc(m.inFlight[k], func(i int) bool { return m.conflicts[k][i] && (m.fails[i] || m.poisoned[i]) })
		require.Equal(m.t, want, m.poisoned[k], "task %d", k)
	}
}

// phasesProgram has phases on the same parts, the whole, and some regions in between.
func phasesProgram(r *rand.Rand, n int) program {
	var p program
	parts := 2 + r.IntN(3*fanIn)
	for len(p.nodes) < n {
		ph := phase{1 + r.IntN(3*fanIn), Mode(r.IntN(6)), r.IntN(2) == 0}
		halves, op := r.IntN(4) == 0, ReductionID(r.IntN(2))
		for i := range ph.tasks {
			a := ph.access(i, parts)
			if ph.parts && r.IntN(8) == 0 {
				a = phase{1, Mode(r.IntN(6)), true}.access(r.IntN(parts), parts)
			}
			if a.Op = op; halves && !ph.parts {
				a.Region = Interval(0, int64(i%2*parts/2*partSize), int64((i%2*parts/2+(parts+1)/2)*partSize))
			}
			as := []Access{a}
			if r.IntN(3) == 0 {
				as = append(as, phase{1, Mode(r.IntN(6)), r.IntN(2) == 0}.access(r.IntN(parts), parts))
			}
			p.nodes, p.accesses = append(p.nodes, &Node{}), append(p.accesses, Merge(as))
		}
	}
	return p
}

func TestFanInAgainstTheDefinition(t *testing.T) {
	for seed := range programs(200) {
		r := rand.New(rand.NewPCG(seed, 9))
		m := newFanModel(t, r, phasesProgram(r, 100))
		m.run()
		if t.Failed() {
			t.Fatalf("seed %d", seed)
		}
	}
}

// The same with random regions, many tasks to few of them.
func TestFanInOnAnyRegions(t *testing.T) {
	for seed := range programs(150) {
		r := rand.New(rand.NewPCG(seed, 10))
		var pool []Region
		for range 2 + r.IntN(2*fanIn) {
			pool = append(pool, randomRegion(r))
		}
		var p program
		mode := Mode(0)
		for range 100 {
			if r.IntN(8) == 0 {
				mode = Mode(r.IntN(6))
			}
			as := []Access{{pool[r.IntN(len(pool))], mode, 0}}
			if r.IntN(3) == 0 {
				as = append(as, Access{pool[r.IntN(len(pool))], Mode(r.IntN(6)), ReductionID(r.IntN(2))})
			}
			p.nodes, p.accesses = append(p.nodes, &Node{}), append(p.accesses, Merge(as))
		}
		newFanModel(t, r, p).run()
		if t.Failed() {
			t.Fatalf("seed %d", seed)
		}
	}
}

// TestFanInHammer completes from several goroutines what one submits: the values are those of the
// order of submission. Run with -race.
func TestFanInHammer(t *testing.T) {
	const parts, rounds, completers = 3 * fanIn, 60, 3
	type record struct {
		node Node
		body func()
	}
	var d Domain
	var left sync.WaitGroup
	values, sums := make([]int, parts), make([]int, rounds*2*fanIn)
	ready := make(chan *record, 2*rounds*(parts+2*fanIn))
	submit := func(a Access, body func()) {
		r := &record{body: body}
		r.node.Owner = r
		left.Add(1)
		if d.Submit(&r.node, []Access{a}) {
			ready <- r
		}
	}
	var workers sync.WaitGroup
	for range completers {
		workers.Go(func() {
			for r := range ready {
				r.body()
				d.Finish(&r.node, func(s *Node) { ready <- s.Owner.(*record) })
				left.Done()
			}
		})
	}
	for round := range rounds {
		for i := range parts {
			submit(phase{1, InOut, true}.access(i, parts), func() { values[i]++ })
		}
		for i := range 2 * fanIn {
			submit(phase{1, In, false}.access(i, parts), func() {
				for _, v := range values {
					sums[round*2*fanIn+i] += v
				}
			})
		}
	}
	left.Wait()
	close(ready)
	workers.Wait()
	for i, sum := range sums {
		require.Equal(t, parts*(i/(2*fanIn)+1), sum)
	}
	require.Zero(t, d.Busy())
}

// TestFanIn_AccessesThatOverlapThemselves: the accesses of a task may overlap each other, and name a region twice. One that writes a
// part and reads the whole twice, with the whole wide from then on, waited for itself through a joint.
func TestFanIn_AccessesThatOverlapThemselves(t *testing.T) {
	for seed := range programs(200) {
		r := rand.New(rand.NewPCG(seed, 13))
		var p program
		for range 80 {
			var as []Access
			for range 1 + r.IntN(4) {
				lo := r.Int64N(12)
				a := Access{Interval(0, lo, lo+1+r.Int64N(12-lo)), Mode(r.IntN(6)), ReductionID(r.IntN(2))}
				if last := len(as) - 1; last >= 0 && r.IntN(2) == 0 {
					a.Region = as[last].Region
				}
				as = append(as, a)
			}
			p.nodes, p.accesses = append(p.nodes, &Node{}), append(p.accesses, as)
		}
		m := newFanModel(t, r, p)
		for i := range p.nodes { // each access counts by itself, as nothing has merged them
			for k := range i {
				m.conflicts[i][k] = slices.ContainsFunc(p.accesses[i], func(a Access) bool {
					return slices.ContainsFunc(p.accesses[k], func(b Access) bool { return !compatible(a, b) && a.Region.Overlaps(b.Region) })
				})
			}
		}
		m.run()
		if t.Failed() {
			t.Fatalf("seed %d", seed)
		}
	}
}
