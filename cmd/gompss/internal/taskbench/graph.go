package taskbench

import (
	"fmt"
	"math/bits"
	"math/rand/v2"
	"strings"
)

// maxReads is the number of cells that a task of any pattern reads beside the one that it writes,
// and radix how many the patterns nearest and spread read: Task Bench's default.
const (
	maxReads = 5
	radix    = 5
)

// A stamp is an access: a cell and the version that it must have.
type stamp struct {
	cell, version int32
}

// A node is one task: it reads some cells and writes one, whose version it raises. own says that it
// reads that one too.
type node struct {
	reads  [maxReads]stamp
	writes stamp
	count  int8 // of reads
	own    bool
	writer bool // false: it accesses nothing
}

// A Graph is the tasks of a pattern in order of submission.
type Graph struct {
	Pattern      string
	Width, Steps int
	Edges        int
	nodes        []node
	cells        int
}

// Tasks is the number of tasks.
func (g *Graph) Tasks() int { return len(g.nodes) }

// writers is the number of tasks that write a cell: all or none.
func (g *Graph) writers() int {
	if g.cells == 0 {
		return 0
	}
	return len(g.nodes)
}

// patterns by name. A pattern adds the tasks of one step.
var patterns = []struct {
	name string
	step func(b *builder, t int)
}{
	{"independent", func(b *builder, _ int) { b.each(func(i int) { b.add(node{}) }) }},
	{"trivial", func(b *builder, t int) { b.each(func(i int) { b.write(int32(t*b.Width+i), false) }) }},
	{"chain", func(b *builder, _ int) { b.each(func(i int) { b.write(int32(i), true) }) }},
	{"stencil1d", func(b *builder, t int) { b.each(func(i int) { b.step(t, i, i-1, i, i+1) }) }},
	{"nearest", (*builder).nearest},
	{"spread", (*builder).spread},
	{"fft", (*builder).fft},
	{"tree", (*builder).tree},
	{"random", (*builder).random},
	{"cholesky", nil},
}

// Patterns returns the names of the patterns.
func Patterns() []string {
	var names []string
	for _, p := range patterns {
		names = append(names, p.name)
	}
	return names
}

// NewGraph makes a pattern with width tasks in each of steps steps. cholesky factors a matrix of
// width by width tiles again and again until it has as many tasks.
func NewGraph(pattern string, width, steps int) (*Graph, error) {
	if width < 1 || steps < 1 || width*steps > 1<<26 {
		return nil, fmt.Errorf("bench tasks: width %d and steps %d: want at least 1, and at most %d tasks", width, steps, 1<<26)
	}
	for _, p := range patterns {
		if p.name != pattern {
			continue
		}
		b := newBuilder(pattern, width, steps)
		if p.step == nil {
			b.cholesky()
		} else {
			for t := range steps {
				p.step(b, t)
			}
		}
		return &b.Graph, nil
	}
	return nil, fmt.Errorf("bench tasks: pattern %q: the patterns are %s", pattern, strings.Join(Patterns(), ", "))
}

// A builder follows the versions of the cells, and their last user.
type builder struct {
	Graph
	levels  int // log2 of the width, at least 1
	draw    *rand.Rand
	version []int32
	writer  []int32
	readers [][]int32
	preds   []int32
}

func newBuilder(pattern string, width, steps int) *builder {
	b := &builder{Graph: Graph{Pattern: pattern, Width: width, Steps: steps}, draw: rand.New(rand.NewPCG(2020, 20))}
	b.levels = max(1, bits.Len(uint(width-1)))
	switch pattern {
	case "independent":
	case "trivial":
		b.cells = width * steps
	case "cholesky":
		b.cells = width * width
	default:
		b.cells = 2 * width
	}
	b.version, b.writer, b.readers = make([]int32, b.cells), make([]int32, b.cells), make([][]int32, b.cells)
	for i := range b.writer {
		b.writer[i] = -1
	}
	b.nodes = make([]node, 0, width*steps)
	return b
}

func (b *builder) each(f func(i int)) {
	for i := range b.Width {
		f(i)
	}
}

// add appends n, whose accesses have cells and no versions yet.
func (b *builder) add(n node) {
	id := int32(len(b.nodes))
	b.preds = b.preds[:0]
	for i := range n.reads[:n.count] {
		c := n.reads[i].cell
		n.reads[i].version = b.version[c]
		b.after(b.writer[c])
		b.readers[c] = append(b.readers[c], id)
	}
	if n.writer {
		c := n.writes.cell
		n.writes.version = b.version[c]
		if len(b.readers[c]) == 0 || n.own {
			b.after(b.writer[c])
		}
		for _, r := range b.readers[c] {
			b.after(r)
		}
		b.version[c]++
		b.writer[c], b.readers[c] = id, b.readers[c][:0]
	}
	b.Edges += len(b.preds)
	b.nodes = append(b.nodes, n)
}

// after counts a predecessor, once.
func (b *builder) after(p int32) {
	if p < 0 || p == int32(len(b.nodes)) {
		return
	}
	for _, q := range b.preds {
		if q == p {
			return
		}
	}
	b.preds = append(b.preds, p)
}

// write adds a task that writes a cell alone.
func (b *builder) write(cell int32, own bool, reads ...int32) {
	n := node{writes: stamp{cell: cell}, own: own, writer: true}
	for _, c := range reads {
		n.reads[n.count].cell = c
		n.count++
	}
	b.add(n)
}

// step adds task i of step t, which reads columns of the step before, clipped and each once, and
// writes its own.
func (b *builder) step(t, i int, from ...int) {
	n := node{writes: stamp{cell: b.cell(t, i)}, writer: true}
	for _, j := range from {
		if j < 0 || j >= b.Width || n.reading(b.cell(t+1, j)) {
			continue
		}
		n.reads[n.count].cell = b.cell(t+1, j)
		n.count++
	}
	b.add(n)
}

// cell is what task i of step t writes: every column has two buffers.
func (b *builder) cell(t, i int) int32 { return int32(t%2*b.Width + i) }

func (n *node) reading(c int32) bool {
	for _, r := range n.reads[:n.count] {
		if r.cell == c {
			return true
		}
	}
	return false
}

// nearest reads the radix columns around a task's own.
func (b *builder) nearest(t int) {
	b.each(func(i int) { b.step(t, i, i-2, i-1, i, i+1, i+2) })
}

// spread reads radix columns at equal distances, from one that moves with the step.
func (b *builder) spread(t int) {
	b.each(func(i int) {
		var from [radix]int
		for k := range from {
			from[k] = (i + k*b.Width/radix + t) % b.Width
		}
		b.step(t, i, from[:]...)
	})
}

func (b *builder) fft(t int) {
	d := 1 << (t % b.levels)
	b.each(func(i int) { b.step(t, i, i, i-d, i+d) })
}

// tree spreads from column 0 to all and gathers again.
func (b *builder) tree(t int) {
	out := t%(2*b.levels) < b.levels
	b.each(func(i int) {
		switch {
		case out:
			b.step(t, i, i/2)
		case 2*i < b.Width:
			b.step(t, i, 2*i, 2*i+1)
		default:
			b.step(t, i, i)
		}
	})
}

func (b *builder) random(t int) {
	b.each(func(i int) { b.step(t, i, b.draw.IntN(b.Width), b.draw.IntN(b.Width), b.draw.IntN(b.Width)) })
}

// cholesky factors the lower triangle of the tiles in place, right-looking.
func (b *builder) cholesky() {
	w := int32(b.Width)
	at := func(i, j int32) int32 { return i*w + j }
	for len(b.nodes) < b.Width*b.Steps {
		for k := range w {
			b.write(at(k, k), true)
			for i := k + 1; i < w; i++ {
				b.write(at(i, k), true, at(k, k))
			}
			for i := k + 1; i < w; i++ {
				for j := k + 1; j < i; j++ {
					b.write(at(i, j), true, at(i, k), at(j, k))
				}
				b.write(at(i, i), true, at(i, k))
			}
		}
	}
}
