package graphviz

import (
	"errors"
	"os/exec"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestWriter_NodesEdgesBoxes(t *testing.T) {
	var b strings.Builder
	g := New(&b, "two tasks")
	g.Node("t1", "first\n\"quoted\" <a&b> \\", Attribute{"color", "red"})
	g.Box("cluster_1", "inside", func() { g.Node("t2", "second") })
	g.Edge("t1", "t2")
	g.Edge("t2", "t1", Attribute{"label", Quote("3")}, Attribute{"color", "red"})
	require.NoError(t, g.Close())
	require.Equal(t, `digraph tasks {
	label="two tasks";
	node [shape=box, fontname="sans-serif"];
	t1 [label="first\n\"quoted\" <a&b> \\", color=red];
	subgraph cluster_1 {
		label="inside";
		t2 [label="second"];
	}
	t1 -> t2;
	t2 -> t1 [label="3", color=red];
}
`, b.String())
	if dot, err := exec.LookPath("dot"); err == nil {
		c := exec.Command(dot, "-Tplain")
		c.Stdin = strings.NewReader(b.String())
		out, err := c.CombinedOutput()
		require.NoError(t, err, "%s", out)
	}
}

type failing struct{}

func (failing) Write([]byte) (int, error) { return 0, errors.New("disk full") }

func TestWriter_CloseReturnsTheError(t *testing.T) {
	g := New(failing{}, "")
	for range 1000 {
		g.Node("t1", "a label of some length")
	}
	require.EqualError(t, g.Close(), "disk full")
}
