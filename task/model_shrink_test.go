package task_test

import (
	"errors"
	"flag"
	"fmt"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/gompss/gompss/deps"
	"github.com/stretchr/testify/require"
)

var (
	modelShrink = flag.Bool("modelshrink", false, "print the smallest program that fails as the first of the random programs does")
	modelTries  = flag.Int("modeltries", 10, "how often a smaller program is run before it counts as one that does not fail")
)

// This file makes programs that fail smaller: go test ./task -run RandomProgramsAreAsInterpreted -firstseed N -modelseeds 1 -modelshrink.

// cloneSteps returns a copy of steps that shares no memory with them.
func cloneSteps(steps []step) []step {
	out := slices.Clone(steps)
	for i := range out {
		out[i].accs, out[i].body = slices.Clone(out[i].accs), cloneSteps(out[i].body)
	}
	return out
}

// unlink makes s a task without weak accesses.
func (s *step) unlink() {
	s.early = false
	for i := range s.accs {
		s.accs[i].weak = false
	}
}

// fails returns how c fails in one of some runs, nil where it does not.
func (c *modelCase) fails(ks modelKernels) error {
	for range *modelTries {
		if err := c.run(ks); err != nil {
			return err
		}
	}
	return nil
}

// shrink returns the smallest case found of which fails returns an error of the kind that it returns for c, and that error.
func (c *modelCase) shrink(fails func(c *modelCase) error) (*modelCase, error) {
	last := fails(c)
	kind := kindOf(last)
	for smaller := last != nil; smaller; {
		smaller = false
		for n := 0; ; n++ {
			next := *c
			next.program = cloneSteps(c.program)
			if !next.simplify(n) {
				break
			}
			if !valid(next.program, nil) {
				continue
			}
			if err := fails(&next); err != nil && kindOf(err) == kind {
				c, last, smaller = &next, err, true
				n--
			}
		}
	}
	return c, last
}

// simplify makes change n of those that are possible, and reports whether there are so many.
func (c *modelCase) simplify(n int) bool {
	did := false
	change := func(possible bool, f func()) {
		if possible && !did {
			if n--; n < 0 {
				f()
				did = true
			}
		}
	}
	eachList(&c.program, func(list *[]step) {
		for size := 8; size > 0; size /= 2 {
			for i := 0; i+size <= len(*list); i++ {
				// The wait at the end stays.
				change(list != &c.program || i+size < len(*list), func() { *list = slices.Delete(*list, i, i+size) })
			}
		}
	})
	eachList(&c.program, func(list *[]step) {
		for i := 0; i < len(*list) && !did; i++ {
			s := &(*list)[i]
			change(s.kind == groupOf && s.cancel == cancelNothing, func() { *list = slices.Replace(*list, i, i+1, s.body...) })
			if did {
				return
			}
			for k := range s.accs {
				change(len(s.accs) > 1 && k > 0, func() { s.accs = slices.Delete(s.accs, k, k+1) })
				if did {
					return
				}
			}
			change(s.kind == nestedTask && len(s.body) == 0, func() { s.kind = plainTask; s.unlink() })
			for k := range s.accs {
				change(s.accs[k].weak, func() { s.accs[k].weak = false })
			}
			for _, flag := range []*bool{&s.early, &s.kernel, &s.away, &s.flaky, &s.once, &s.final, &s.event, &s.reading, &s.fails} {
				change(*flag, func() { *flag = false })
			}
			for _, number := range []*int{&s.again, &s.tokens, &s.prio} {
				change(*number != 0, func() { *number = 0 })
			}
		}
	})
	for _, spec := range []string{"smp:1", "smp:2", "smp:1,sim:1(exec=cpu)", "smp:1,sim:2(exec=cpu)"} {
		change(len(spec) < len(c.options.Devices) && (c.storm == nil || strings.Contains(spec, "sim")), func() { c.options.Devices = spec })
	}
	change(c.options.Window != 0, func() { c.options.Window = 0 })
	change(c.options.Policy != "fifo", func() { c.options.Policy = "fifo" })
	change(c.options.Vector != "", func() { c.options.Vector = "" })
	return did
}

var (
	whereFailed = regexp.MustCompile(`^(seed \d+ \(.*?\): )+|steps? \d+[^:]*: `)
	numbers     = regexp.MustCompile(`0x[0-9a-f]+|\d+`)
)

// kindOf returns the beginning of the text of err without numbers.
func kindOf(err error) string {
	if err == nil {
		return ""
	}
	text := numbers.ReplaceAllString(whereFailed.ReplaceAllString(err.Error(), ""), "")
	return text[:min(len(text), 30)]
}

// valid reports whether the accesses of steps lie inside those of their parent, nil for the program, kernels have theirs, and
// nothing is in flight where the runtime is cancelled.
func valid(steps []step, parent *step) bool {
	for i := range steps {
		s := &steps[i]
		if s.kernel && !(len(s.accs) == 1 && s.accs[0].mode != deps.InOut || len(s.accs) == 2 && s.accs[0].mode == deps.InOut) {
			return false
		}
		if s.cancel == cancelRuntime && (i == 0 || steps[i-1].kind != waitAll) {
			return false
		}
		below := parent
		switch s.kind {
		case groupOf, loopOf:
		default:
			for _, a := range s.accs {
				if parent != nil && !slices.ContainsFunc(parent.accs, a.allowedBy) {
					return false
				}
			}
			below = s
		}
		if !valid(s.body, below) {
			return false
		}
	}
	return true
}

// allowedBy reports whether a child may have access a where its parent has p.
func (a area) allowedBy(p area) bool {
	if a.buf != p.buf || a.i0 < p.i0 || a.i1 > p.i1 || a.j0 < p.j0 || a.j1 > p.j1 || p.mode == deps.Reduction {
		return false
	}
	return a.mode == p.mode || p.mode == deps.Out || p.mode == deps.InOut
}

// eachList calls f for every list of steps that may be made shorter: the parts of a loop stay together.
func eachList(list *[]step, f func(list *[]step)) {
	f(list)
	for i := range *list {
		if s := &(*list)[i]; s.kind != loopOf {
			eachList(&s.body, f)
		}
	}
}

// --- printing

func (a area) String() string {
	mode := map[deps.Mode]string{deps.In: "in", deps.Out: "out", deps.InOut: "inout", deps.Concurrent: "concurrent",
		deps.Commutative: "commutative", deps.Reduction: "sum"}[a.mode]
	if a.xor {
		mode = "xor"
	}
	if a.weak {
		mode = "weak " + mode
	}
	return fmt.Sprintf("%s b%d[%d:%d,%d:%d]", mode, a.buf, a.i0, a.i1, a.j0, a.j1)
}

func (s *step) String() string {
	kind := [...]string{plainTask: "task", nestedTask: "nested task", wideTask: "wide task", loopOf: "loop", groupOf: "group", waitAll: "wait", waitFor: "wait for"}[s.kind]
	text := fmt.Sprintf("%s %d %v k=%#x", kind, s.id, s.accs, s.k)
	for _, f := range []struct {
		name string
		set  bool
	}{{"fails", s.fails}, {"flaky", s.flaky}, {"kernel", s.kernel}, {"away", s.away}, {"once", s.once}, {"final", s.final}, {"event", s.event}, {"early", s.early},
		{"reading", s.reading}, {"cancelled", s.cancel == cancelGroup}, {"cancels the runtime", s.cancel == cancelRuntime}} {
		if f.set {
			text += ", " + f.name
		}
	}
	for _, n := range []struct {
		name string
		n    int
	}{{"again", s.again}, {"tokens", s.tokens}, {"priority", s.prio}, {"grain", s.grain}, {"after", s.after}} {
		if n.n != 0 {
			text += fmt.Sprintf(", %s %d", n.name, n.n)
		}
	}
	return text
}

// textOf returns steps as text, a line each.
func textOf(steps []step, indent string) string {
	var out strings.Builder
	for i := range steps {
		fmt.Fprintf(&out, "%s%v\n%s", indent, &steps[i], textOf(steps[i].body, indent+"\t"))
	}
	return out.String()
}

// Of a program that fails because of two of its tasks, those are left.
func TestModelShrink_KeepsWhatMatters(t *testing.T) {
	c := modelOf(5)
	var ids []int
	var all func(steps []step)
	all = func(steps []step) {
		for _, s := range steps {
			if s.kind != groupOf && s.kind != loopOf && len(s.accs) > 0 && s.kind != waitFor {
				ids = append(ids, s.id)
			}
			all(s.body)
		}
	}
	all(c.program)
	require.Greater(t, len(ids), 16)
	want := []int{ids[1], ids[len(ids)-1]}
	errBoth := errors.New("both are there")
	small, err := c.shrink(func(c *modelCase) error {
		ids = nil
		all(c.program)
		if slices.Contains(ids, want[0]) && slices.Contains(ids, want[1]) {
			return errBoth
		}
		return nil
	})
	require.ErrorIs(t, err, errBoth)
	ids = nil
	all(small.program)
	require.Subset(t, ids, want)
	require.LessOrEqual(t, len(ids), 8, "the two, and those that they are in: %s", textOf(small.program, ""))
}
