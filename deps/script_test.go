package deps

import (
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
)

var update = flag.Bool("update", false, "rewrite the golden files")

// TestScripts tells the stories in testdata/scripts. A block is a command, a line "----" and what
// it prints, up to an empty line.
//
//	submit NAME mode=b0[0:8] mode=b0[64x64;0:16,16:32] ...   the second form is a box of a row-major
//	                                                         array; reduction:2= has an operator
//	complete NAME
//	acquire NAME | release NAME                              the exclusion of commutative regions
//	merge mode=region ...
//	forget b0
func TestScripts(t *testing.T) {
	files, err := filepath.Glob("testdata/scripts/*.txt")
	require.NoError(t, err)
	require.NotEmpty(t, files)
	for _, file := range files {
		t.Run(filepath.Base(file), func(t *testing.T) {
			raw, err := os.ReadFile(file)
			require.NoError(t, err)
			got := newStory(t).tell(string(raw))
			if *update {
				require.NoError(t, os.WriteFile(file, []byte(got), 0o644))
				return
			}
			require.Equal(t, string(raw), got)
		})
	}
}

type story struct {
	t         *testing.T
	domain    Domain
	exclusion Exclusion
	nodes     map[string]*Node
	preds     map[TaskID][]string
}

func newStory(t *testing.T) *story {
	s := &story{t: t, nodes: map[string]*Node{}, preds: map[TaskID][]string{}}
	s.domain.KeepVersions = true
	s.domain.Edges = func(succ TaskID, preds []TaskID) {
		for _, p := range preds {
			s.preds[succ] = append(s.preds[succ], s.name(p))
		}
	}
	return s
}

func (s *story) name(id TaskID) string {
	for name, n := range s.nodes {
		if n.ID == id {
			return name
		}
	}
	return "?"
}

// tell runs the commands of a script and returns it with what they print now.
func (s *story) tell(script string) string {
	var out strings.Builder
	printed := false // inside the old output of a command
	for line := range strings.Lines(script) {
		line = strings.TrimRight(line, "\n")
		switch words := strings.Fields(line); {
		case line == "----":
			printed = true
		case line == "":
			printed = false
			out.WriteString("\n")
		case printed:
		case strings.HasPrefix(line, "#"):
			out.WriteString(line + "\n")
		default:
			fmt.Fprintf(&out, "%s\n----\n%s\n", line, s.run(words[0], words[1:]))
		}
	}
	return out.String()
}

func (s *story) run(command string, words []string) string {
	switch command {
	case "submit":
		return s.submit(words[0], s.accesses(words[1:]))
	case "complete":
		return s.complete(s.node(words[0]))
	case "acquire":
		if s.exclusion.TryAcquire(s.node(words[0])) {
			return "granted"
		}
		return "waits"
	case "release":
		return s.release(s.node(words[0]))
	case "merge":
		return accessesString(Merge(s.accesses(words)))
	case "forget":
		if err := s.domain.Forget(BufferID(s.number(words[0][1:]))); err != nil {
			return err.Error()
		}
		return "forgotten"
	}
	s.t.Fatalf("unknown command %q", command)
	return ""
}

func (s *story) node(name string) *Node {
	n := s.nodes[name]
	require.NotNil(s.t, n, "task %s", name)
	return n
}

func (s *story) submit(name string, accesses []Access) string {
	n := &Node{}
	s.nodes[name] = n
	ready := s.domain.Submit(n, accesses)
	var versions []string
	for i := range accesses {
		versions = append(versions, fmt.Sprint(n.Version(i)))
	}
	state := "ready"
	if !ready {
		state = "waits for " + strings.Join(s.preds[n.ID], " ")
	}
	return state + "; versions " + strings.Join(versions, " ")
}

func (s *story) complete(n *Node) string {
	var ready, told []string
	s.domain.Complete(n, func(succ *Node, ok bool) {
		if ok {
			ready = append(ready, s.name(succ.ID))
		} else {
			told = append(told, s.name(succ.ID))
		}
	})
	out := "ready: " + strings.Join(ready, " ")
	if len(told) > 0 {
		out += "; still waiting: " + strings.Join(told, " ")
	}
	return strings.TrimRight(out, " ")
}

func (s *story) release(n *Node) string {
	out := "granted:"
	s.exclusion.Release(n, func(g *Node) { out += " " + s.name(g.ID) })
	return out
}

func accessesString(as []Access) string {
	var out []string
	for _, a := range as {
		out = append(out, fmt.Sprintf("%v=%v", a.Mode, a.Region))
	}
	return strings.Join(out, "\n")
}

func (s *story) accesses(words []string) (out []Access) {
	for _, w := range words {
		mode, region, ok := strings.Cut(w, "=")
		require.True(s.t, ok, "access %q", w)
		mode, op, _ := strings.Cut(mode, ":")
		a := Access{Region: s.region(region), Mode: s.mode(mode)}
		if op != "" {
			a.Op = ReductionID(s.number(op))
		}
		out = append(out, a)
	}
	return out
}

func (s *story) mode(name string) Mode {
	for m := In; m <= Reduction; m++ {
		if m.String() == name {
			return m
		}
	}
	s.t.Fatalf("unknown mode %q", name)
	return In
}

// region parses b0[0:8] and b0[64x64;0:16,16:32].
func (s *story) region(text string) Region {
	buffer, rest, ok := strings.Cut(strings.TrimPrefix(strings.TrimSuffix(text, "]"), "b"), "[")
	require.True(s.t, ok, "region %q", text)
	b := BufferID(s.number(buffer))
	extents, ranges, shaped := strings.Cut(rest, ";")
	if !shaped {
		lo, hi := s.span(rest)
		return Interval(b, lo, hi)
	}
	var shape, los, his []int64
	for _, e := range strings.Split(extents, "x") {
		shape = append(shape, s.number(e))
	}
	for _, r := range strings.Split(ranges, ",") {
		lo, hi := s.span(r)
		los, his = append(los, lo), append(his, hi)
	}
	r, err := Box(b, 0, shape, los, his)
	require.NoError(s.t, err)
	return r
}

func (s *story) span(text string) (lo, hi int64) {
	a, b, ok := strings.Cut(text, ":")
	require.True(s.t, ok, "range %q", text)
	return s.number(a), s.number(b)
}

func (s *story) number(text string) int64 {
	n, err := strconv.ParseInt(text, 10, 64)
	require.NoError(s.t, err)
	return n
}
