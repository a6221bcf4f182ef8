// Package dot writes the graph of a run in the language of Graphviz.
package dot

import (
	"fmt"
	"io"
	"slices"

	"github.com/gompss/gompss/deps"
	"github.com/gompss/gompss/internal/graphviz"
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
// failed and skipped tasks in red. An edge goes from a task to one that waited for it.
func (g *Graph) WriteDOT(w io.Writer) error {
	g.mu.Lock()
	defer g.mu.Unlock()
	inside := map[deps.TaskID][]deps.TaskID{}
	for id, t := range g.tasks {
		inside[t.parent] = append(inside[t.parent], id)
	}
	for _, list := range inside {
		slices.Sort(list)
	}
	out := graphviz.New(w, "")
	g.writeLevel(out, inside, 0)
	edges := slices.Clone(g.edges)
	slices.SortFunc(edges, func(a, b [2]deps.TaskID) int {
		if a[0] != b[0] {
			return int(a[0]) - int(b[0])
		}
		return int(a[1]) - int(b[1])
	})
	for _, e := range edges {
		if g.tasks[e[0]] != nil && g.tasks[e[1]] != nil { // and not a wait
			out.Edge(node(e[0]), node(e[1]))
		}
	}
	return out.Close()
}

func node(id deps.TaskID) string { return fmt.Sprintf("t%d", id) }

func (g *Graph) writeLevel(out *graphviz.Writer, inside map[deps.TaskID][]deps.TaskID, parent deps.TaskID) {
	for _, id := range inside[parent] {
		t := g.tasks[id]
		text := fmt.Sprintf("%d %s", id, t.label)
		if t.device != "" {
			text += "\n" + t.device
		}
		var style []graphviz.Attribute
		if t.failed {
			style = append(style, graphviz.Attribute{Name: "color", Value: "red"})
		}
		out.Node(node(id), text, style...)
		if len(inside[id]) > 0 {
			out.Box(fmt.Sprintf("cluster_%d", id), text, func() { g.writeLevel(out, inside, id) })
		}
	}
}
