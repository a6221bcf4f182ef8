package codegen_test

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gompss/gompss/codegen"
	"github.com/gompss/gompss/codegen/simt"
)

// words are the constructs of DIALECT.md section 3 and their combined forms; those of loops end in a loop.
var words = []struct {
	text string
	loop bool
}{
	{"teams", false}, {"teams distribute", true}, {"teams distribute parallel for", true},
	{"teams distribute parallel for simd", true}, {"teams distribute simd", true}, {"teams parallel", false}, {"teams loop", true},
	{"distribute", true}, {"distribute parallel for", true}, {"distribute parallel for simd", true}, {"distribute simd", true},
	{"parallel", false}, {"parallel for", true}, {"parallel for simd", true}, {"parallel loop", true},
	{"for", true}, {"for simd", true}, {"simd", true},
	{"loop", true}, {"loop bind(teams)", true}, {"loop bind(parallel)", true}, {"loop bind(thread)", true},
	{"single", false}, {"masked", false},
}

// A nest is a list of words, outermost first.
type nest []int

func (n nest) String() string {
	var out []string
	for _, w := range n {
		out = append(out, words[w].text)
	}
	return strings.Join(out, " > ")
}

const nestTrips = 5

// text writes kernel K<number>: at each level a local that the levels inside read, and after what is inside a store of it;
// in the innermost body a store that every loop's variable decides. What a team or a thread would do again is done by the
// first one alone.
func (n nest) text(number int, mode string, reduce bool) string {
	b := &nestText{reduce: reduce, n: n}
	b.line("//omp:target device(acc)")
	b.line("//omp:task inout(x, y)")
	b.line("func K%d(x, y []int64) {", number)
	b.line("at, v := 0, int64(1)")
	b.level(0, mode)
	b.line("}")
	return b.out.String()
}

type nestText struct {
	n      nest
	reduce bool
	out    strings.Builder

	teams, distributed, parallel, shared, simd bool // the statement is inside
}

func (b *nestText) line(format string, args ...any) { fmt.Fprintf(&b.out, format+"\n", args...) }

func (b *nestText) level(k int, mode string) {
	if k == len(b.n) {
		b.once("x[at] += v")
		return
	}
	w, innermost := words[b.n[k]], k == len(b.n)-1
	clause := ""
	if k == 0 && strings.HasPrefix(w.text, "teams") && mode != "" {
		clause = " mode(" + mode + ")"
	}
	if innermost && b.reduce {
		b.line("s := int64(2)")
		clause += " reduction(+: s)"
	}
	outer := *b
	first := b.parallel && !b.shared && strings.Contains(strings.ReplaceAll(w.text, "bind(parallel)", ""), "parallel") // each thread would run all of it
	if first {
		b.line("if kernel.ThreadNum() == 0 {")
		b.shared = true
	}
	b.line("//omp:%s%s", w.text, clause)
	b.enter(w.text)
	if w.loop {
		b.line("for i%d := 0; i%d < %d; i%d++ {", k, k, nestTrips, k)
		b.line("at := at*%d + i%d", nestTrips, k)
	} else {
		b.line("{")
		b.line("at := at")
	}
	b.line("v := v*2 + int64(at)")
	if innermost && b.reduce {
		b.once("s += v")
	} else {
		b.level(k+1, mode)
	}
	b.once("y[%d+at] += v", k*1000)
	b.line("}")
	b.teams, b.distributed, b.parallel, b.shared, b.simd = outer.teams, outer.distributed, outer.parallel, outer.shared, outer.simd
	if first {
		b.line("}")
	}
	if innermost && b.reduce {
		b.once("y[%d+at] += s", (k+1)*1000)
	}
}

// enter notes what the code inside a construct is inside of. A descriptive loop is shared out as far as nothing around it
// is; inside simd one lane runs it.
func (b *nestText) enter(text string) {
	bind := ""
	for _, word := range strings.Fields(text) {
		switch {
		case strings.HasPrefix(word, "bind"):
			bind = word
		case word == "teams":
			b.teams = true
		case word == "distribute":
			b.distributed = true
		case word == "parallel":
			b.parallel = true
		case word == "for", word == "single", word == "masked":
			b.shared = true
		}
	}
	switch {
	case !strings.Contains(text, "loop") || b.simd || bind == "bind(thread)":
	case b.parallel || bind == "bind(parallel)":
		b.parallel, b.shared = true, true
	default:
		b.distributed, b.parallel, b.shared = true, true, true
	}
	b.simd = b.simd || text == "simd"
}

func (b *nestText) once(format string, args ...any) {
	var conds []string
	if b.teams && !b.distributed {
		conds = append(conds, "kernel.TeamNum() == 0")
	}
	if b.parallel && !b.shared {
		conds = append(conds, "kernel.ThreadNum() == 0")
	}
	if len(conds) == 0 {
		b.line(format, args...)
		return
	}
	b.line("if %s {", strings.Join(conds, " && "))
	b.line(format, args...)
	b.line("}")
}

// reduces reports whether the innermost construct may reduce into a variable declared around it. A loop of the league would
// leave each team a part of it, which depends on how many there are.
func (n nest) reduces() bool {
	var b nestText
	for _, w := range n[:len(n)-1] {
		b.enter(words[w].text)
	}
	around, w := b, words[n[len(n)-1]].text
	b.enter(w)
	league := around.teams && b.distributed && !around.distributed
	return !league && w != "single" && w != "masked"
}

// want computes what the kernel means.
func (n nest) want(x, y []int64, reduce bool) {
	var level func(k int, at int, v int64) int64
	level = func(k int, at int, v int64) int64 {
		if k == len(n) {
			x[at] += v
			return 0
		}
		s := int64(2)
		trips := 1
		if words[n[k]].loop {
			trips = nestTrips
		}
		for i := range trips {
			at := at
			if words[n[k]].loop {
				at = at*nestTrips + i
			}
			v := v*2 + int64(at)
			if reduce && k == len(n)-1 {
				s += v
			} else {
				level(k+1, at, v)
			}
			y[k*1000+at] += v
		}
		if reduce && k == len(n)-1 {
			y[(k+1)*1000+at] += s
		}
		return 0
	}
	level(0, 0, 1)
}

// nestErrors loads the nests together and returns the errors of each, by its number.
func nestErrors(t *testing.T, nests []nest, mode string, reduce bool) map[int][]codegen.Diagnostic {
	text, starts := nestFile(nests, mode, reduce)
	_, err := codegen.Load(codegen.File{Name: "k.go", Text: text})
	out := map[int][]codegen.Diagnostic{}
	var list codegen.ErrorList
	if err != nil {
		require.True(t, errors.As(err, &list), "%v", err)
	}
	for _, d := range list {
		require.Positive(t, d.Pos.Line, "an error without a position: %v", d)
		k, _ := slices.BinarySearch(starts, d.Pos.Line+1)
		out[k-1] = append(out[k-1], d)
	}
	return out
}

func nestFile(nests []nest, mode string, reduce bool) (text string, starts []int) {
	text = "package k\n\nimport \"github.com/gompss/gompss/codegen/kernel\"\n\nvar _ = kernel.TeamNum\n\n"
	for i, n := range nests {
		starts = append(starts, strings.Count(text, "\n")+1)
		text += n.text(i, mode, reduce) + "\n"
	}
	return text, starts
}

// extend puts every word inside every nest.
func extend(nests []nest) []nest {
	var out []nest
	for _, n := range nests {
		for w := range words {
			out = append(out, append(slices.Clone(n), w))
		}
	}
	return out
}

// nestingTable returns the nests up to depth 3 and, for those that are not legal, the reasons. What is inside an illegal nest
// is left out.
func nestingTable(t *testing.T) (legal []nest, table string) {
	var b strings.Builder
	level := extend([]nest{{}})
	for range 3 {
		wrong := nestErrors(t, level, "", false)
		var next []nest
		for i, n := range level {
			if len(wrong[i]) == 0 {
				next = append(next, n)
				fmt.Fprintf(&b, "%s\n", n)
				continue
			}
			d := wrong[i][0]
			why, _, _ := strings.Cut(d.Why, "(k.go")
			fmt.Fprintf(&b, "%s: %s: %s; %s\n", n, d.What, strings.TrimSpace(why), d.Instead)
		}
		legal = append(legal, next...)
		level = extend(next)
	}
	return legal, b.String()
}

// Every nest of constructs is legal, and then means on the device what it means in Go, or is an error with a position. The
// table of both is a golden file.
func TestNestingTable(t *testing.T) {
	t.Parallel()
	legal, table := nestingTable(t)
	golden(t, "nesting.txt", table)
	t.Logf("%d legal nests", len(legal))
	for _, v := range []struct {
		mode   string
		reduce bool
	}{{"", false}, {"", true}, {"broadcast", false}, {"control_loop", false}, {"warp_specialized", true}} {
		t.Run(fmt.Sprintf("mode %s reduce %v", v.mode, v.reduce), func(t *testing.T) {
			t.Parallel()
			runNests(t, legal, v.mode, v.reduce)
		})
	}
}

func runNests(t *testing.T, nests []nest, mode string, reduce bool) {
	if mode != "" {
		nests = slices.DeleteFunc(slices.Clone(nests), func(n nest) bool {
			deep := len(n) == 3 && (n[1]+n[2])%3 != 0 // a third of these is enough for each mode
			return !strings.HasPrefix(words[n[0]].text, "teams") || deep
		})
	}
	if reduce {
		nests = slices.DeleteFunc(slices.Clone(nests), func(n nest) bool { return !n.reduces() })
	}
	wrong := nestErrors(t, nests, mode, reduce)
	for i := range nests {
		require.Empty(t, wrong[i], "%s, mode %s, reduction %v", nests[i], mode, reduce)
	}
	text, _ := nestFile(nests, mode, reduce)
	p, err := codegen.Load(codegen.File{Name: "k.go", Text: text})
	require.NoError(t, err)
	for i, n := range nests {
		k, err := p.Kernel(fmt.Sprintf("K%d", i))
		require.NoError(t, err)
		l, err := codegen.Lower(k, codegen.LowerOptions{NoShuffles: i%3 == 2})
		if err != nil {
			t.Errorf("%s: %v\n%s", n, err, n.text(i, mode, reduce))
			continue
		}
		program, err := simt.New(l.Program)
		require.NoError(t, err)
		n.compare(t, program, mode, reduce, l)
	}
}

func (n nest) compare(t *testing.T, program *simt.Program, mode string, reduce bool, l *codegen.Lowering) {
	x, y := make([]int64, 125), make([]int64, 4000)
	n.want(x, y, reduce)
	for k, s := range []struct{ teams, threads int }{{1, 1}, {2, 32}, {3, 7}} {
		gotX, gotY := make([]int64, 125), make([]int64, 4000)
		err := runDevice(program, []any{gotX, gotY}, simt.Config{Teams: s.teams, Threads: s.threads, Seed: uint64(k), Races: true})
		if err != nil || !slices.Equal(x, gotX) || !slices.Equal(y, gotY) {
			t.Errorf("%s, %d teams of %d threads: %v\n%s\n%s", n, s.teams, s.threads, err, n.text(0, mode, reduce), l.Program)
			return
		}
	}
}
