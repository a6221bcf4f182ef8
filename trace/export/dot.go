package export

import (
	"bufio"
	"cmp"
	"fmt"
	"io"
	"maps"
	"slices"

	"github.com/gompss/gompss/deps"
	"github.com/gompss/gompss/trace/run"
)

// DotOptions choose what of a graph is drawn.
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
	out := bufio.NewWriter(w)
	note := title(r)
	if !o.Collapse && r.Len() > o.Most {
		o.Collapse = true
		note += fmt.Sprintf("; %d tasks are drawn by sort, as more than %d are not legible", r.Len(), o.Most)
	}
	fmt.Fprintf(out, "digraph tasks {\n\tlabel=%s;\n\tnode [shape=box, fontname=\"sans-serif\"];\n", quote(note))
	if o.Collapse {
		dotSorts(out, r)
	} else {
		dotTasks(out, r)
	}
	fmt.Fprintln(out, "}")
	return out.Flush()
}

func dotTasks(w io.Writer, r *run.Run) {
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
		style := ""
		if on[t.ID] {
			style = ", color=red, penwidth=2"
		}
		text := fmt.Sprintf("%s\n%d", run.Name(t), t.ID)
		if run.Ran(t) {
			text += fmt.Sprintf(" on %s, %v", r.PlaceName(t.Place), t.End-t.Start)
		}
		if t.Err != "" {
			text += "\n" + outcome(t)
		}
		fmt.Fprintf(w, "\tt%d [label=%s%s];\n", t.ID, quote(text), style)
	}
	for i := range r.Len() {
		for _, p := range r.Predecessors(r.Task(i).ID) {
			style := ""
			if critical[p] == r.Task(i).ID {
				style = " [color=red, penwidth=2]"
			}
			fmt.Fprintf(w, "\tt%d -> t%d%s;\n", p, r.Task(i).ID, style)
		}
	}
}

func dotSorts(w io.Writer, r *run.Run) {
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
		fmt.Fprintf(w, "\t%s [label=%s];\n", quote(s), quote(fmt.Sprintf("%s x %d", s, count[s])))
	}
	pairs := slices.SortedFunc(maps.Keys(edges), func(a, b pair) int { return cmp.Or(cmp.Compare(a.from, b.from), cmp.Compare(a.to, b.to)) })
	for _, p := range pairs {
		fmt.Fprintf(w, "\t%s -> %s [label=\"%d\"];\n", quote(p.from), quote(p.to), edges[p])
	}
}
