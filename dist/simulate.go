package dist

import (
	"container/heap"
	"errors"
	"fmt"
	"time"

	"github.com/gompss/gompss/deps"
)

// A Model is a simulated machine: ranks with workers, and a network of the LogGP family.
//
// Source: Alexandrov et al., LogGP: incorporating long messages into the LogP model, 1995. A rank
// sends one message at a time and receives one at a time; the network between has room for all.
type Model struct {
	Ranks, Workers         int
	Latency, Overhead, Gap time.Duration // L, o at each end, g between messages of one rank
	Bandwidth              float64       // bytes a second: 1 / G
	Submit, Skip           time.Duration // what a rank takes to submit a task of its own, and of another
	// Duration returns the run time of a task that accesses so many bytes.
	Duration func(name string, work deps.Bytes) time.Duration
}

func (m *Model) String() string {
	return fmt.Sprintf("%d ranks of %d workers, L %v, o %v, g %v, %.4g GB/s, %v a submission, %v a skip", m.Ranks, m.Workers, m.Latency, m.Overhead, m.Gap, m.Bandwidth/1e9, m.Submit, m.Skip)
}

// A Simulation is the predicted run of a program on a Model.
type Simulation struct {
	Elapsed         time.Duration
	Busy            time.Duration // of all workers
	Efficiency      float64       // Busy by all workers for all of Elapsed
	Tasks, Messages int
	Bytes           deps.Bytes // of messages
}

// Simulated returns the world of a rank whose program is submitted once, for all ranks of the
// model: its tasks do not run. Simulate then returns their makespan in virtual time.
//
// Memory: some 150 bytes a task and a message. Errors: a model without ranks, workers, bandwidth or
// durations.
func Simulated(m Model) (*World, error) {
	if m.Ranks < 1 || m.Workers < 1 || m.Bandwidth <= 0 || m.Duration == nil {
		return nil, errors.New("dist: simulated: want ranks, workers, a bandwidth and durations")
	}
	w, err := FakeRank(0, m.Ranks)
	if err != nil {
		return nil, err
	}
	w.simulation = &simulation{model: m, own: make([]int64, m.Ranks), versions: make([]version, 1)}
	w.directory.watch = w.simulation
	return w, nil
}

// A simulation is the graph of the tasks and messages of all ranks.
type simulation struct {
	model    Model
	nodes    []simNode
	versions []version // by cell.version; 0 has no writer: it exists from the start
	own      []int64   // tasks by rank
	current  int32     // the task that is submitted
	moved    deps.Bytes
	messages int
}

// A simNode is a task, or a message where to is not its rank.
type simNode struct {
	rank, to int32
	waits    int32 // predecessors that have not finished
	after    []int32
	took     time.Duration // of a task
	bytes    int64
	earliest time.Duration // when its rank has submitted it
}

// A version holds the locations of a cell's contents and the nodes that read them.
type version struct {
	at      []replica
	readers []int32
}

type replica struct{ rank, node int32 }

// task begins a task of a rank: its accesses follow.
func (s *simulation) task(name string, rank int32, sequence uint64, accesses []deps.Access, elem func(deps.BufferID) int64) {
	work := deps.Bytes(0)
	for i := range accesses {
		r := &accesses[i].Region
		work += deps.Bytes(r.Len() * elem(r.Buffer))
	}
	s.own[rank]++
	others := time.Duration(int64(sequence) - s.own[rank])
	s.current = s.add(simNode{rank: rank, to: rank, took: s.model.Duration(name, work), earliest: time.Duration(s.own[rank])*s.model.Submit + others*s.model.Skip})
}

func (s *simulation) add(n simNode) int32 {
	s.nodes = append(s.nodes, n)
	return int32(len(s.nodes) - 1)
}

func (s *simulation) edge(from, to int32) {
	if from != to {
		s.nodes[from].after = append(s.nodes[from].after, to)
		s.nodes[to].waits++
	}
}

// made adds an edge from each node that made a version valid on a rank: a reduction may have
// several, and a version that was valid before has none.
func (s *simulation) made(v *version, rank, to int32) {
	for _, r := range v.at {
		if r.rank == rank {
			s.edge(r.node, to)
		}
	}
}

// of returns the version of a cell, which has a number from now on.
func (s *simulation) of(c *cell) *version {
	if c.version == 0 {
		s.versions = append(s.versions, version{})
		c.version = int32(len(s.versions) - 1)
	}
	return &s.versions[c.version]
}

// message is called for each message of a submission.
func (s *simulation) message(c *cell, from, to int32, bytes int64) {
	m := s.add(simNode{rank: from, to: to, bytes: bytes, earliest: s.nodes[s.current].earliest})
	s.messages++
	s.moved += deps.Bytes(bytes)
	v := s.of(c)
	s.made(v, from, m)
	v.at = append(v.at, replica{to, m})
	v.readers = append(v.readers, m)
}

// read is called when the task that is submitted reads a cell on its rank, reduced when it has a
// partial result there, written when it writes it.
func (s *simulation) read(c *cell, rank int32) {
	v := s.of(c)
	s.made(v, rank, s.current)
	v.readers = append(v.readers, s.current)
}

func (s *simulation) reduced(c *cell, rank int32) {
	v := s.of(c)
	v.at = append(v.at, replica{rank, s.current})
}

func (s *simulation) written(c *cell, rank int32) {
	old := &s.versions[c.version]
	for _, reader := range old.readers {
		if s.nodes[reader].rank == rank {
			s.edge(reader, s.current)
		}
	}
	s.made(old, rank, s.current)
	s.versions = append(s.versions, version{at: []replica{{rank, s.current}}})
	c.version = int32(len(s.versions) - 1)
}

// An event is the end of a node, or the moment from which it may begin.
type event struct {
	at    time.Duration
	node  int32
	begin bool
}

type events []event

func (e events) Len() int { return len(e) }
func (e events) Less(i, j int) bool {
	if e[i].at != e[j].at {
		return e[i].at < e[j].at
	}
	return e[i].node < e[j].node
}
func (e events) Swap(i, j int) { e[i], e[j] = e[j], e[i] }
func (e *events) Push(x any)   { *e = append(*e, x.(event)) }
func (e *events) Pop() any {
	x := (*e)[len(*e)-1]
	*e = (*e)[:len(*e)-1]
	return x
}

// waitingTasks are those of a rank that no worker has taken, in the order of their submission.
type waitingTasks []int32

func (q waitingTasks) Len() int           { return len(q) }
func (q waitingTasks) Less(i, j int) bool { return q[i] < q[j] }
func (q waitingTasks) Swap(i, j int)      { q[i], q[j] = q[j], q[i] }
func (q *waitingTasks) Push(x any)        { *q = append(*q, x.(int32)) }
func (q *waitingTasks) Pop() any {
	x := (*q)[len(*q)-1]
	*q = (*q)[:len(*q)-1]
	return x
}

// A simRank is one rank in virtual time.
type simRank struct {
	free    int // workers
	waiting waitingTasks
	out, in time.Duration // until when it sends and receives
}

// run carries out the graph in virtual time.
func (s *simulation) run() Simulation {
	ranks := make([]simRank, s.model.Ranks)
	for i := range ranks {
		ranks[i].free = s.model.Workers
	}
	waits := make([]int32, len(s.nodes))
	var queue events
	for i := range s.nodes {
		if waits[i] = s.nodes[i].waits; waits[i] == 0 {
			queue = append(queue, event{s.nodes[i].earliest, int32(i), true})
		}
	}
	heap.Init(&queue)
	out := Simulation{Messages: s.messages, Bytes: s.moved, Tasks: len(s.nodes) - s.messages}
	for len(queue) > 0 {
		e := heap.Pop(&queue).(event)
		n := &s.nodes[e.node]
		r := &ranks[n.rank]
		switch {
		case e.begin && n.to != n.rank:
			heap.Push(&queue, event{s.send(n, r, &ranks[n.to], e.at), e.node, false})
			continue
		case e.begin:
			heap.Push(&r.waiting, e.node)
		default:
			out.Elapsed = max(out.Elapsed, e.at)
			if n.to == n.rank {
				r.free++
				out.Busy += n.took
			}
			for _, k := range n.after {
				if waits[k]--; waits[k] == 0 {
					heap.Push(&queue, event{max(e.at, s.nodes[k].earliest), k, true})
				}
			}
		}
		for r.free > 0 && len(r.waiting) > 0 {
			k := heap.Pop(&r.waiting).(int32)
			r.free--
			heap.Push(&queue, event{e.at + s.nodes[k].took, k, false})
		}
	}
	if out.Elapsed > 0 {
		out.Efficiency = float64(out.Busy) / float64(out.Elapsed) / float64(s.model.Ranks*s.model.Workers)
	}
	return out
}

// send returns when a message that may leave now has arrived.
func (s *simulation) send(n *simNode, from, to *simRank, now time.Duration) time.Duration {
	m := &s.model
	bytes := time.Duration(float64(n.bytes) / m.Bandwidth * 1e9)
	begin := max(now, from.out)
	from.out = begin + max(m.Gap, m.Overhead+bytes)
	arrival := max(begin+m.Overhead+m.Latency, to.in) + bytes + m.Overhead
	to.in = arrival
	return arrival
}
