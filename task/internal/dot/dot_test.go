package dot

import (
	"strings"
	"testing"

	"github.com/gompss/gompss/trace/probe"
	"github.com/stretchr/testify/require"
)

func TestGraph_WriteDOT(t *testing.T) {
	g := NewGraph()
	for _, p := range []probe.Point{
		{Kind: probe.Submit, Task: 2, Label: "second"},
		{Kind: probe.Submit, Task: 1, Label: `with "quotes"`},
		{Kind: probe.Submit, Task: 3, Other: 1, Label: "child"},
		{Kind: probe.Edge, Task: 2, Other: 1},
		{Kind: probe.Edge, Task: 9, Other: 1}, // 9 is a wait
		{Kind: probe.Start, Task: 1, Device: "smp"},
		{Kind: probe.Failure, Task: 2},
	} {
		g.Observe(p)
	}
	var b strings.Builder
	require.NoError(t, g.WriteDOT(&b))
	require.Equal(t, `digraph tasks {
	node [shape=box, fontname="sans-serif"];
	t1 [label="1 with \"quotes\"\nsmp"];
	subgraph cluster_1 {
		label="1 with \"quotes\"\nsmp";
		t3 [label="3 child"];
	}
	t2 [label="2 second", color=red];
	t1 -> t2;
}
`, b.String())
}
