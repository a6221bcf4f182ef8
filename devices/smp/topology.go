package smp

import (
	"cmp"
	"fmt"
	"io/fs"
	"slices"
	"strconv"
	"strings"
)

// A Topology is the memory nodes of a machine: which processors each has, and how far they are from
// each other. One without nodes is a machine whose processors are all alike.
type Topology struct {
	nodes []memoryNode
}

type memoryNode struct {
	id        int
	rank      int // among the nodes of the system, by id: ids may have gaps
	cpus      []int
	distances []int // to the nodes of the system, by rank
}

// ReadTopology reads what Linux says in /sys/devices/system/node, of which root is the content: the
// nodes that have processors among allowed, or all with nil. A system without that has no nodes.
func ReadTopology(root fs.FS, allowed []int) (Topology, error) {
	var t Topology
	for rank, id := range nodeIDs(root) {
		n := memoryNode{id: id, rank: rank}
		var err error
		if n.cpus, err = readList(root, fmt.Sprintf("node%d/cpulist", id)); err != nil {
			return Topology{}, err
		}
		if allowed != nil {
			n.cpus = slices.DeleteFunc(n.cpus, func(c int) bool { return !slices.Contains(allowed, c) })
		}
		if n.distances, err = readNumbers(root, fmt.Sprintf("node%d/distance", id)); err != nil {
			return Topology{}, err
		}
		if len(n.cpus) > 0 {
			t.nodes = append(t.nodes, n)
		}
	}
	return t, nil
}

// nodeIDs returns the ids of all nodes, ascending: the order in which the system lists distances.
func nodeIDs(root fs.FS) (ids []int) {
	entries, _ := fs.ReadDir(root, ".") // a system without has no nodes
	for _, e := range entries {
		digits, isNode := strings.CutPrefix(e.Name(), "node")
		if id, err := strconv.Atoi(digits); isNode && err == nil {
			ids = append(ids, id)
		}
	}
	slices.Sort(ids)
	return ids
}

// Nearest returns for each of n workers the others in the order in which it should ask them for
// work.
func Nearest(n int) [][]int32 {
	t, err := systemTopology()
	if err != nil {
		t = Topology{} // what cannot be read is not needed
	}
	return t.near(t.workerNodes(n))
}

// Nodes returns how many nodes there are; 0 is a machine that does not say.
func (t *Topology) Nodes() int { return len(t.nodes) }

// readList reads numbers and ranges of them, such as 0-3,8-11.
func readList(root fs.FS, name string) (out []int, err error) {
	text, err := fs.ReadFile(root, name)
	if err != nil {
		return nil, fmt.Errorf("smp: topology: %w", err)
	}
	for part := range strings.SplitSeq(strings.TrimSpace(string(text)), ",") {
		if part == "" {
			continue
		}
		first, last, isRange := strings.Cut(part, "-")
		lo, err := strconv.Atoi(first)
		hi := lo
		if err == nil && isRange {
			hi, err = strconv.Atoi(last)
		}
		if err != nil || hi < lo || hi-lo > 1<<16 {
			return nil, fmt.Errorf("smp: topology: %s: %q is no list of processors", name, text)
		}
		for c := lo; c <= hi; c++ {
			out = append(out, c)
		}
	}
	return out, nil
}

func readNumbers(root fs.FS, name string) (out []int, err error) {
	text, err := fs.ReadFile(root, name)
	if err != nil {
		return nil, fmt.Errorf("smp: topology: %w", err)
	}
	for word := range strings.FieldsSeq(string(text)) {
		n, err := strconv.Atoi(word)
		if err != nil {
			return nil, fmt.Errorf("smp: topology: %s: %q is no list of distances", name, text)
		}
		out = append(out, n)
	}
	return out, nil
}

// workerNodes returns the index of the node of each of n workers: neighbours share a
// node, and nodes get workers in proportion to their processors.
func (t *Topology) workerNodes(n int) []int {
	out := make([]int, n)
	if len(t.nodes) == 0 {
		return out
	}
	total := 0
	for _, node := range t.nodes {
		total += len(node.cpus)
	}
	at, before := 0, 0
	for i := range out {
		for at < len(t.nodes)-1 && i*total >= (before+len(t.nodes[at].cpus))*n {
			before += len(t.nodes[at].cpus)
			at++
		}
		out[i] = at
	}
	return out
}

// near returns for each worker the others in the order in which it should ask them for work: those
// of its node, then of the nodes next to it. Among equals everyone begins with the one behind
// itself, so that not all ask the same.
func (t *Topology) near(nodeOf []int) [][]int32 {
	n := len(nodeOf)
	out := make([][]int32, n)
	for i := range out {
		out[i] = make([]int32, 0, n-1)
		for k := 1; k < n; k++ {
			out[i] = append(out[i], int32((i+k)%n))
		}
		slices.SortStableFunc(out[i], func(a, b int32) int {
			return cmp.Compare(t.distance(nodeOf[i], nodeOf[a]), t.distance(nodeOf[i], nodeOf[b]))
		})
	}
	return out
}

// distance returns how far two nodes are apart, by their places; what is not said is far.
func (t *Topology) distance(a, b int) int {
	if a == b {
		return 0
	}
	if of := t.nodes[a].distances; t.nodes[b].rank < len(of) {
		return of[t.nodes[b].rank]
	}
	return 1 << 16
}
