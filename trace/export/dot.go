package export

import (
	"cmp"
	"fmt"
	"io"
	"maps"
	"slices"
	"strconv"

	"github.com/gompss/gompss/deps"
	"github.com/gompss/gompss/internal/graphviz"
	"github.com/gompss/gompss/trace/run"
)

// DotOptions choose the part of a graph that is drawn.
type DotOptions struct {
	Collapse bool // one node for all tasks of a sort
	Most     int  // nodes at most; 0 is 2000
}

// DOT writes the graph for Graphviz: tasks with their edges, the critical path in bold red; or
// sorts of tasks with the number of tasks and edges. A graph with too many nodes is drawn by sort,
// with a note.
func DOT(w io.Writer, r *run.Run, o DotOptions) error {
	if o.Most <= 0 {
		o.Most = 2000
	}
	note := title(r)
	if !o.Collapse && r.Len() > o.Most {
		o.Collapse = true
		note += fmt.Sprintf("; %d tasks are drawn by sort, as more than %d are not legible", r.Len(), o.Most)
	}
	g := graphviz.New(w, note)
	if o.Collapse {
		dotSorts(g, r)
	} else {
		dotTasks(g, r)
	}
	return g.Close()
}

// onCriticalPath is how nodes and edges of the critical path are drawn.
var onCriticalPath = []graphviz.Attribute{{Name: "color", Value: "red"}, {Name: "penwidth", Value: "2"}}

func node(id deps.TaskID) string { return fmt.Sprintf("t%d", id) }

func dotTasks(g *graphviz.Writer, r *run.Run) {
	critical := map[deps.TaskID]deps.TaskID{} // successor on the path
	path := r.Critical().Tasks
	on := map[deps.TaskID]bool{}
	for i, id := range path {
		on[id] = true
		if i > 0 {
			critical[path[i-1]] = id
		}
	}
	for i := range r.Len() {
		t := r.Task(i)
		var style []graphviz.Attribute
		if on[t.ID] {
			style = onCriticalPath
		}
		text := fmt.Sprintf("%s\n%d", run.Name(t), t.ID)
		if run.Ran(t) {
			text += fmt.Sprintf(" on %s, %v", r.PlaceName(t.Place), t.End-t.Start)
		}
		if t.Err != "" {
			text += "\n" + outcome(t)
		}
		g.Node(node(t.ID), text, style...)
	}
	for i := range r.Len() {
		for _, p := range r.Predecessors(r.Task(i).ID) {
			var style []graphviz.Attribute
			if critical[p] == r.Task(i).ID {
				style = onCriticalPath
			}
			g.Edge(node(p), node(r.Task(i).ID), style...)
		}
	}
}

func dotSorts(g *graphviz.Writer, r *run.Run) {
	type pair struct{ from, to string }
	count, edges := map[string]int{}, map[pair]int{}
	for i := range r.Len() {
		t := r.Task(i)
		count[run.Sort(t)]++
		for _, p := range r.Predecessors(t.ID) {
			if by := r.Find(p); by != nil {
				edges[pair{run.Sort(by), run.Sort(t)}]++
			}
		}
	}
	for _, s := range slices.Sorted(maps.Keys(count)) {
		g.Node(graphviz.Quote(s), fmt.Sprintf("%s x %d", s, count[s]))
	}
	pairs := slices.SortedFunc(maps.Keys(edges), func(a, b pair) int { return cmp.Or(cmp.Compare(a.from, b.from), cmp.Compare(a.to, b.to)) })
	for _, p := range pairs {
		g.Edge(graphviz.Quote(p.from), graphviz.Quote(p.to), graphviz.Attribute{Name: "label", Value: graphviz.Quote(strconv.Itoa(edges[p]))})
	}
}
