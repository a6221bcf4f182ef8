// Package dot writes the graph of a run in the language of Graphviz.
package dot

import (
	"bufio"
	"fmt"
	"io"
	"slices"

	"github.com/gompss/gompss/deps"
	"github.com/gompss/gompss/internal/spin"
	"github.com/gompss/gompss/trace/probe"
)

// A Graph is an observer (Options.Observer) that keeps which task waited for which, to write it in
// the language of Graphviz. It keeps every task of the run: it is for programs under inspection.
type Graph struct {
	mu    spin.Mutex
	tasks map[deps.TaskID]*graphTask
	edges [][2]deps.TaskID
}

type graphTask struct {
	label, device string
	parent        deps.TaskID
	failed        bool
}

// NewGraph returns a Graph without tasks.
func NewGraph() *Graph { return &Graph{tasks: map[deps.TaskID]*graphTask{}} }

// Observe implements probe.Observer.
func (g *Graph) Observe(p probe.Point) {
	switch p.Kind {
	case probe.Submit, probe.Edge, probe.Start, probe.Failure:
	default:
		return
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	if p.Kind == probe.Edge {
		g.edges = append(g.edges, [2]deps.TaskID{p.Other, p.Task})
		return
	}
	t := g.tasks[p.Task]
	if t == nil {
		t = &graphTask{}
		g.tasks[p.Task] = t
	}
	switch p.Kind {
	case probe.Submit:
		t.label, t.parent = p.Label, p.Other
	case probe.Start:
		t.device = p.Device
	case probe.Failure:
		t.failed = true
	}
}

// WriteDOT writes the graph so far: tasks by number, those inside a task in a box of their own,
// what failed or was skipped in red. An edge goes from a task to one that waited for it.
func (g *Graph) WriteDOT(w io.Writer) error {
	g.mu.Lock()
	defer g.mu.Unlock()
	out := bufio.NewWriter(w)
	inside := map[deps.TaskID][]deps.TaskID{}
	for id, t := range g.tasks {
		inside[t.parent] = append(inside[t.parent], id)
	}
	for _, list := range inside {
		slices.Sort(list)
	}
	fmt.Fprint(out, "digraph tasks {\n\tnode [shape=box];\n")
	g.writeLevel(out, inside, 0, "\t")
	edges := slices.Clone(g.edges)
	slices.SortFunc(edges, func(a, b [2]deps.TaskID) int {
		if a[0] != b[0] {
			return int(a[0]) - int(b[0])
		}
		return int(a[1]) - int(b[1])
	})
	for _, e := range edges {
		if g.tasks[e[0]] != nil && g.tasks[e[1]] != nil { // and not a wait
			fmt.Fprintf(out, "\tt%d -> t%d;\n", e[0], e[1])
		}
	}
	fmt.Fprint(out, "}\n")
	return out.Flush()
}

func (g *Graph) writeLevel(out io.Writer, inside map[deps.TaskID][]deps.TaskID, parent deps.TaskID, indent string) {
	for _, id := range inside[parent] {
		t := g.tasks[id]
		text := fmt.Sprintf("%d %s", id, t.label)
		if t.device != "" {
			text += "\n" + t.device
		}
		colour := ""
		if t.failed {
			colour = ", color=red"
		}
		fmt.Fprintf(out, "%st%d [label=%q%s];\n", indent, id, text, colour)
		if len(inside[id]) > 0 {
			fmt.Fprintf(out, "%ssubgraph cluster_%d {\n%s\tlabel=%q;\n", indent, id, indent, text)
			g.writeLevel(out, inside, id, indent+"\t")
			fmt.Fprintf(out, "%s}\n", indent)
		}
	}
}
