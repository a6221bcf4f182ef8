// Package graphviz writes directed graphs in DOT, the language of Graphviz: nodes, edges and boxes
// around nodes, one statement a line, in the order of the calls.
package graphviz

import (
	"bufio"
	"fmt"
	"io"
	"strings"
)

// A Writer writes one graph. It is not safe for concurrent use; the first error of the writer below
// it is that of Close.
type Writer struct {
	out   *bufio.Writer
	depth int
}

// An Attribute is a property of a node or an edge, as color=red.
type Attribute struct{ Name, Value string }

// New begins a graph of boxes. An empty label is none.
func New(w io.Writer, label string) *Writer {
	g := &Writer{out: bufio.NewWriter(w)}
	fmt.Fprintln(g.out, "digraph tasks {")
	g.depth = 1
	if label != "" {
		g.line("label=%s;", Quote(label))
	}
	g.line(`node [shape=box, fontname="sans-serif"];`)
	return g
}

// Node writes a node.
func (g *Writer) Node(id, label string, more ...Attribute) {
	g.line("%s%s;", id, list(append([]Attribute{{"label", Quote(label)}}, more...)))
}

// Edge writes an edge between two nodes.
func (g *Writer) Edge(from, to string, attributes ...Attribute) {
	g.line("%s -> %s%s;", from, to, list(attributes))
}

// Box writes what inside writes in a box of its own. Graphviz draws boxes whose id begins with
// "cluster".
func (g *Writer) Box(id, label string, inside func()) {
	g.line("subgraph %s {", id)
	g.depth++
	g.line("label=%s;", Quote(label))
	inside()
	g.depth--
	g.line("}")
}

// Close ends the graph.
func (g *Writer) Close() error {
	fmt.Fprintln(g.out, "}")
	return g.out.Flush()
}

func (g *Writer) line(format string, args ...any) {
	g.out.WriteString(strings.Repeat("\t", g.depth))
	fmt.Fprintf(g.out, format+"\n", args...)
}

func list(attributes []Attribute) string {
	if len(attributes) == 0 {
		return ""
	}
	text := make([]string, len(attributes))
	for i, a := range attributes {
		text[i] = a.Name + "=" + a.Value
	}
	return " [" + strings.Join(text, ", ") + "]"
}

var escapes = strings.NewReplacer(`\`, `\\`, `"`, `\"`, "\n", `\n`)

// Quote returns s as a string of DOT, which shows every character of s as it is.
func Quote(s string) string { return `"` + escapes.Replace(s) + `"` }
