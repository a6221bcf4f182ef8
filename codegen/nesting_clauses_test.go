package codegen_test

import (
	"fmt"
	"os"
	"regexp"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/gompss/gompss/codegen"
	"github.com/gompss/gompss/codegen/ir"
	"github.com/gompss/gompss/codegen/simt"
)

// This file puts every clause of DIALECT.md section 3 on every directive of every legal nest: kernel number j of a nest has at
// each level group number j of the clauses that the level's words take, an atomic statement or two in its innermost body,
// and in turn a barrier, shapes and lets.

// A level is one construct of a nest with what its clauses need around it.
type level struct {
	clauses  []string
	pre      []string // in front of the directive
	body     []string // in its body, by every thread that runs it
	once     []string // in its body, once
	after    []string // behind it, once
	collapse int
	results  []func(v []int64) int64 // what each of after adds, over the values of v in the bodies
	share    string                  // the dist_ clause
	barrier  bool
}

// clauseGroups are the clauses that stand together on a level, for the words that take them.
var clauseGroups = [][]string{
	{"private", "shared", "schedule", "num_teams", "simdlen"},
	{"firstprivate", "collapse", "thread_limit", "dist_schedule", "num_threads"},
	{"reduction", "safelen"},
	{"lastprivate", "if", "nested"},
	{"nowait"},
	{"dist_private"}, {"dist_firstprivate"}, {"dist_lastprivate"}, {"dist_firstlastprivate"},
}

// tableClauses are the clauses of each word as DIALECT.md section 3 has them; mode and bind vary with the nests.
func tableClauses(t *testing.T) map[string][]string {
	text, err := os.ReadFile("../DIALECT.md")
	require.NoError(t, err)
	_, text2, ok := strings.Cut(string(text), "| directive | governs | clauses |")
	require.True(t, ok)
	out := map[string][]string{}
	for _, row := range strings.Split(text2, "\n") {
		cells := strings.Split(row, "|")
		if len(cells) < 5 || !strings.Contains(row, "`") {
			continue
		}
		list, _, _ := strings.Cut(strings.Join(cells[3:], "|"), ": iteration i")
		for word := range strings.SplitSeq(cells[1], ",") {
			word = strings.Trim(word, " `")
			for i, c := range strings.Split(list, "`") {
				name, _, _ := strings.Cut(c, "(")
				name, _, _ = strings.Cut(name, "[")
				if i%2 == 1 && !strings.Contains(name, " ") && !strings.Contains(name, "+") && word != "masked" && name != "parallel" && name != "single" {
					out[word] = append(out[word], name)
				}
			}
		}
	}
	return out
}

// groupsOf returns the clauses that the words of a level take, group by group.
func groupsOf(table map[string][]string, text string) [][]string {
	fields := strings.Fields(text)
	takes := func(clause string) bool {
		if clause == "nested" {
			return slices.Contains(fields, "parallel") && slices.Contains(fields, "for")
		}
		if clause == "nowait" && slices.Contains(fields, "parallel") {
			return false
		}
		return slices.ContainsFunc(fields, func(w string) bool { return slices.Contains(table[w], clause) })
	}
	var out [][]string
	for _, g := range clauseGroups {
		if g = slices.DeleteFunc(slices.Clone(g), func(c string) bool { return !takes(c) }); len(g) > 0 {
			out = append(out, g)
		}
	}
	return out
}

// A reduction is one way to write one: the declaration of s, its update in the body, and what it comes to.
type reductionForm struct {
	clause, decl, update, result string
	fold                         func(v []int64) int64
}

func foldOf(start int64, op func(s, v int64) int64) func(v []int64) int64 {
	return func(v []int64) int64 {
		s := start
		for _, x := range v {
			s = op(s, x)
		}
		return s
	}
}

func truth(b bool) int64 {
	if b {
		return 1
	}
	return 0
}

// reductionForms has each operator once, over types and places in turn. Q stands for a suffix that makes names distinct.
var reductionForms = []reductionForm{
	{"reduction(+: sQ)", "sQ := int64(2)", "sQ += v", "sQ", foldOf(2, func(s, v int64) int64 { return s + v })},
	{"reduction(+: sQ)", "sQ := float32(3)", "sQ -= float32(v)", "int64(sQ)", foldOf(3, func(s, v int64) int64 { return s - v })},
	{"reduction(*: sQ)", "sQ := float64(3)", "sQ *= float64(v%2 + 1)", "int64(sQ/3)", func(v []int64) int64 {
		p := 1.0
		for _, x := range v {
			p *= float64(x%2 + 1)
		}
		return int64(p)
	}},
	{"reduction(min: sQ)", "sQ := int32(1000)", "sQ = min(sQ, int32(v))", "int64(sQ)", foldOf(1000, func(s, v int64) int64 { return min(s, v) })},
	{"reduction(max: sQ)", "sQ := uint32(5)", "if uint32(v) > sQ {\nsQ = uint32(v)\n}", "int64(sQ)", foldOf(5, func(s, v int64) int64 { return max(s, v) })},
	{"reduction(&: sQ)", "sQ := int64(-1)", "sQ &= v | 6", "sQ", foldOf(-1, func(s, v int64) int64 { return s & (v | 6) })},
	{"reduction(|: sQ)", "sQ := uint64(1)", "sQ = sQ | uint64(v)", "int64(sQ)", foldOf(1, func(s, v int64) int64 { return s | v })},
	{"reduction(^: sQ)", "sQ := int32(0)", "sQ ^= int32(v)", "int64(sQ)", foldOf(0, func(s, v int64) int64 { return s ^ v })},
	{"reduction(&&: sQ)", "sQ := true", "sQ = sQ && v%3 != 0", "truth(sQ)", foldOf(1, func(s, v int64) int64 { return s * truth(v%3 != 0) })},
	{"reduction(||: sQ)", "sQ := false", "sQ = sQ || v%5 == 0", "truth(sQ)", foldOf(0, func(s, v int64) int64 { return max(s, truth(v%5 == 0)) })},
	{"reduction(minloc: (sQ, aQ))", "sQ, aQ := int64(1000), -7\n_ = aQ", "if v < sQ {\nsQ, aQ = v, at\n}", "sQ*1000 + int64(aQ%4)", nil},
	{"reduction(maxloc: (sQ, aQ))", "sQ, aQ := float32(-1), -7\n_ = aQ", "if float32(v) > sQ {\nsQ, aQ = float32(v), at\n}", "int64(sQ)*1000 + int64(aQ%4)", nil},
	{"reduction(+: sQ)", "var sQ [3]int64", "sQ[1] += v\nsQ[v&1] += 2", "sQ[0] + sQ[1]*3 + sQ[2]*5", foldOf(0, func(s, v int64) int64 { return s + 3*v + 2 + 4*(v&1) })},
	{"reduction(+: sQ[0:2]) reduction(max: sQ[2])", "var sQ [3]int64", "sQ[0] += v\nsQ[2] = max(sQ[2], v)", "sQ[0]*7 + sQ[1] + sQ[2]", func(v []int64) int64 {
		sum, most := int64(0), int64(0)
		for _, x := range v {
			sum, most = sum+x, max(most, x)
		}
		return sum*7 + most
	}},
}

func init() {
	located := func(better func(a, b int64) bool) func(v []int64) int64 {
		return func(v []int64) int64 {
			best := 0
			for i := range v {
				if better(v[i], v[best]) {
					best = i
				}
			}
			return v[best]*1000 + int64(best)
		}
	}
	reductionForms[10].fold = located(func(a, b int64) bool { return a < b })
	reductionForms[11].fold = located(func(a, b int64) bool { return a > b })
}

var scheduleForms = []string{"static", "static, 2", "dynamic", "dynamic, 1", "guided", "guided, 2", "auto", "onetoone", "cyclic",
	"cyclic, 3", "counter", "counter, 2"}

// add adds clause c to a level; n picks one of its forms, watched says whether what it leaves may be looked at behind.
func (l *level) add(c string, k, n int, watched bool) {
	q := func(s string) string { return strings.ReplaceAll(s, "Q", fmt.Sprint(k)) }
	clause := func(format string, args ...any) { l.clauses = append(l.clauses, q(fmt.Sprintf(format, args...))) }
	switch c {
	case "private":
		clause("private(pQ)")
		l.pre = append(l.pre, q("pQ := int64(7)"), q("_ = pQ"))
		l.body = append(l.body, q("pQ = v + 3"), q("v = pQ - 3"))
	case "firstprivate":
		clause("firstprivate(fQ, gQ)")
		l.pre = append(l.pre, q("fQ, gQ := int64(4), [2]int64{1, 2}"))
		l.body = append(l.body, q("fQ += v"), q("v = fQ - 3 - gQ[0] + gQ[1] - 2"), q("fQ = 4"))
	case "shared":
		clause("shared(hQ)")
		l.pre = append(l.pre, q("hQ := int64(9)"))
		l.body = append(l.body, q("v += hQ - 9"))
	case "lastprivate":
		clause("lastprivate(tQ)")
		l.pre = append(l.pre, q("tQ := int64(0)"), q("_ = tQ"))
		l.body = append(l.body, q("tQ = v + 1"))
		if watched {
			l.after = append(l.after, q("tQ"))
			l.results = append(l.results, func(v []int64) int64 { return v[len(v)-1] + 1 })
		}
	case "reduction":
		f := reductionForms[n%len(reductionForms)]
		clause("%s", f.clause)
		l.pre = append(l.pre, q(f.decl), q("_ = sQ"))
		l.once = append(l.once, q(f.update))
		if watched {
			l.after = append(l.after, q(f.result))
			l.results = append(l.results, f.fold)
		}
	case "collapse":
		l.collapse = 2 + n%2
		clause("collapse(%d)", l.collapse)
	case "schedule":
		clause("schedule(%s)", scheduleForms[n%len(scheduleForms)])
	case "dist_schedule":
		clause("dist_schedule(static%s)", []string{"", ", 1", ", at + 2"}[n%3])
	case "num_teams", "num_threads":
		clause("%s(at + %d)", c, n%5+1)
	case "thread_limit":
		clause("thread_limit(%d)", []int{64, 32, 7, 1}[n%4])
	case "simdlen":
		clause("simdlen(%d)", []int{4, 8}[n%2])
	case "safelen":
		clause("safelen(%d)", []int{8, 16}[n%2])
	case "if":
		clause("if(%s)", []string{"v < 0", "at >= 0", "len(x) > 3"}[n%3])
	case "nested":
		clause("nested(%s)", []string{"inline", "auto"}[n%2])
	case "nowait":
		clause("nowait")
	case "dist_private", "dist_firstprivate", "dist_lastprivate", "dist_firstlastprivate":
		clause("%s([2]z)", c)
		l.share = c
	}
}

// A clauseNest is kernel number j of a nest.
type clauseNest struct {
	nest
	j      int
	mode   string
	levels []level
}

func makeClauseNest(table map[string][]string, n nest, j int, mode string) clauseNest {
	out := clauseNest{nest: n, j: j, mode: mode}
	for k, w := range n {
		l := level{}
		if g := groupsOf(table, words[w].text); len(g) > 0 {
			for _, c := range g[j%len(g)] {
				l.add(c, k, j*7+w*3+k+len(c), n[:k+1].watched())
			}
		}
		l.barrier = j%2 == 1 && (words[w].text == "parallel" || words[w].text == "teams parallel")
		out.levels = append(out.levels, l)
	}
	return out
}

// watched is reduces, for loops of the league that leave a variable as well.
func (n nest) watched() bool { return n.reduces() || words[n[len(n)-1]].text == "single" }

// kernels returns how many kernels it takes until every level has had all its groups.
func (n nest) kernels(table map[string][]string) int {
	most := 5 // of two atomic statements each
	for _, w := range n {
		most = max(most, len(groupsOf(table, words[w].text)))
	}
	return most
}

const clauseTrips = 4

// atomicForms are statements that the innermost body makes, and what they leave in c after n times.
var atomicForms = []struct {
	text string
	want func(c []int64, v []int64)
}{
	{"//omp:atomic\nc[0] += v", func(c, v []int64) { c[0] += foldOf(0, func(s, v int64) int64 { return s + v })(v) }},
	{"//omp:atomic update\nc[1] = max(c[1], v)", func(c, v []int64) { c[1] = max(c[1], slices.Max(v)) }},
	{"//omp:atomic\nc[2]++", func(c, v []int64) { c[2] += int64(len(v)) }},
	{"//omp:atomic update\nc[3] = min(c[3], -v)", func(c, v []int64) { c[3] = min(c[3], -slices.Max(v)) }},
	{"//omp:atomic write\nc[4] = 77", func(c, v []int64) { c[4] = 77 }},
	{"var seen int64\n//omp:atomic read\nseen = c[5]\nx[at] += seen", func(c, v []int64) {}},
	{"var old int64\n//omp:atomic capture\n{\nold = c[6]\nc[6] += 2\n}\nif old%2 != 0 || old > 2000 {\nx[at]--\n}", func(c, v []int64) { c[6] += 2 * int64(len(v)) }},
	{"var now int64\n//omp:atomic capture\n{\nc[7] |= v\nnow = c[7]\n}\nif now&v != v {\nx[at]--\n}", func(c, v []int64) { c[7] |= foldOf(0, func(s, v int64) int64 { return s | v })(v) }},
	{"//omp:atomic compare\n{\nif c[8] == 0 {\nc[8] = 9\n}\n}", func(c, v []int64) { c[8] = 9 }},
	{"var had int64\n//omp:atomic compare capture\n{\nhad = c[9]\nif c[9] == 0 {\nc[9] = 6\n}\n}\nif had != 0 && had != 6 {\nx[at]--\n}", func(c, v []int64) { c[9] = 6 }},
}

func (n clauseNest) atomics() []int {
	return []int{2 * n.j % len(atomicForms), (2*n.j + 1) % len(atomicForms)}
}

// text writes kernel K<number>.
func (n clauseNest) text(number int) string {
	b := &nestText{n: n.nest}
	b.line("//omp:target device(acc)")
	if n.j%2 == 0 {
		b.line("//omp:let all = len(x)\n//omp:shape y [4][1000]\n//omp:task inout(x[0:all], y[0:4][0:1000], z)\n//omp:task inout(c)")
	} else {
		b.line("//omp:task inout(x, y, z, c)")
	}
	b.line("func K%d(x, y, z, c []int64) {", number)
	b.line("at, v := 0, int64(1)")
	n.level(b, 0)
	b.line("}")
	return b.out.String()
}

func (n clauseNest) level(b *nestText, k int) {
	if k == len(n.nest) {
		b.once("x[at] += v")
		for _, i := range n.atomics() {
			b.once("%s", atomicForms[i].text)
		}
		return
	}
	w, l := words[n.nest[k]], n.levels[k]
	for _, s := range l.pre {
		b.line("%s", s)
	}
	outer := *b
	first := b.parallel && !b.shared && strings.Contains(strings.ReplaceAll(w.text, "bind(parallel)", ""), "parallel") // each thread would run all of it
	if first {
		b.line("if kernel.ThreadNum() == 0 {")
		b.shared = true
	}
	mode := ""
	if k == 0 && strings.HasPrefix(w.text, "teams") && n.mode != "" {
		mode = " mode(" + n.mode + ")"
	}
	b.line("//omp:%s%s", w.text, mode)
	for _, c := range l.clauses {
		word, _, _ := strings.Cut(w.text, " bind")
		b.line("//omp:%s %s", word, c)
	}
	b.enter(w.text)
	n.open(b, k)
	b.line("v := v*2 + int64(at)")
	for _, s := range l.body {
		b.line("%s", s)
	}
	for _, s := range l.once {
		b.once("%s", s)
	}
	n.dist(b, k)
	if l.barrier {
		b.line("kernel.Barrier()")
	}
	n.level(b, k+1)
	if l.barrier {
		b.line("kernel.Barrier()")
	}
	b.once("y[%d+at] += v", k*1000)
	b.line("%s", strings.Repeat("}\n", max(l.collapse, 1)))
	b.teams, b.distributed, b.parallel, b.shared, b.simd = outer.teams, outer.distributed, outer.parallel, outer.shared, outer.simd
	if first {
		b.line("}")
	}
	for _, s := range l.after {
		b.once("y[%d+at] += %s", (k+1)*1000+500, s)
	}
}

// open writes the loops of level k, of four iterations in all, or the body.
func (n clauseNest) open(b *nestText, k int) {
	loop := func(name string, trips int) {
		b.line("for %s%d := 0; %s%d < %d; %s%d++ {", name, k, name, k, trips, name, k)
	}
	switch {
	case !words[n.nest[k]].loop:
		b.line("{\nat := at")
	case n.levels[k].collapse == 2:
		loop("i", 2)
		loop("j", 2)
		b.line("at := at*4 + i%d*2 + j%d", k, k)
	case n.levels[k].collapse == 3:
		loop("i", 2)
		loop("l", 1)
		loop("j", 2)
		b.line("at := at*4 + i%d*2 + j%d + l%d", k, k, k)
	default:
		loop("i", clauseTrips)
		b.line("at := at*4 + i%d", k)
	}
}

// dist writes what level k does with its part of z.
func (n clauseNest) dist(b *nestText, k int) {
	at := fmt.Sprintf("z[i%d*2", k)
	switch n.levels[k].share {
	case "dist_private":
		b.once("%s] = v\n%s+1] = v + 1\nv2 := %s]*5 + %s+1]\ny[3900+i%d] += v2", at, at, at, at, k)
	case "dist_firstprivate":
		b.once("y[3900+i%d] += %s] + 3*%s+1]\n%s] = 1", k, at, at, at)
	case "dist_lastprivate":
		b.once("%s] = v\n%s+1] = v + 1", at, at)
	case "dist_firstlastprivate":
		b.once("%s] += v\n%s+1] -= v", at, at)
	}
}

// A clauseMemory is what a kernel is given; lostZ says that z is undefined afterwards.
type clauseMemory struct {
	x, y, z, c []int64
	lostZ      bool
}

func newClauseMemory() *clauseMemory {
	m := &clauseMemory{x: make([]int64, 64), y: make([]int64, 4000), z: make([]int64, 2*clauseTrips), c: make([]int64, 10)}
	for i := range m.z {
		m.z[i] = int64(10 + i*i)
	}
	m.c[5] = 4
	return m
}

// want computes what the kernel means.
func (n clauseNest) want() *clauseMemory {
	m := newClauseMemory()
	var deepest []int64
	var run func(k, at int, v int64)
	run = func(k, at int, v int64) {
		if k == len(n.nest) {
			m.x[at] += v
			for _, i := range n.atomics() {
				if i == 5 {
					m.x[at] += 4
				}
			}
			deepest = append(deepest, v)
			return
		}
		l, trips := n.levels[k], 1
		if words[n.nest[k]].loop {
			trips = clauseTrips
		}
		var values []int64
		for i := range trips {
			at := at
			if words[n.nest[k]].loop {
				at = at*4 + i
			}
			v := v*2 + int64(at)
			values = append(values, v)
			n.part(m, l.share, i, v)
			run(k+1, at, v)
			m.y[k*1000+at] += v
		}
		for _, f := range l.results {
			m.y[(k+1)*1000+500+at] += f(values)
		}
	}
	run(0, 0, 1)
	for _, i := range n.atomics() {
		atomicForms[i].want(m.c, deepest)
	}
	return m
}

func (n clauseNest) part(m *clauseMemory, share string, i int, v int64) {
	z := m.z[2*i:]
	switch share {
	case "dist_private":
		m.lostZ = true
		m.y[3900+i] += v*5 + v + 1
	case "dist_firstprivate":
		m.lostZ = true
		m.y[3900+i] += z[0] + 3*z[1]
	case "dist_lastprivate":
		z[0], z[1] = v, v+1
	case "dist_firstlastprivate":
		z[0] += v
		z[1] -= v
	}
}

func (n clauseNest) compare(t *testing.T, program *simt.Program, text string) {
	want := n.want()
	for k, s := range []struct{ teams, threads int }{{1, 1}, {2, 32}, {3, 7}} {
		got := newClauseMemory()
		err := runDevice(program, []any{got.x, got.y, got.z, got.c}, simt.Config{Teams: s.teams, Threads: s.threads, Seed: uint64(k), Races: true})
		equal := slices.Equal(want.x, got.x) && slices.Equal(want.y, got.y) && (want.lostZ || slices.Equal(want.z, got.z)) && slices.Equal(want.c, got.c)
		if err != nil || !equal {
			t.Errorf("%s, %d teams of %d threads: %v\n%s%s", n, s.teams, s.threads, err, text, difference(want, got))
			return
		}
	}
}

func difference(want, got *clauseMemory) string {
	var out strings.Builder
	for _, m := range []struct {
		name      string
		want, got []int64
	}{{"x", want.x, got.x}, {"y", want.y, got.y}, {"z", want.z, got.z}, {"c", want.c, got.c}} {
		for i := range m.want {
			if m.want[i] != m.got[i] {
				fmt.Fprintf(&out, "%s[%d] is %d, not %d\n", m.name, i, m.got[i], m.want[i])
			}
		}
	}
	return out.String()
}

// TestClausesInEveryNesting runs every directive with every clause in every legal nest, and compares with Go. A seventh of
// the kernels are tried, all with GOMPSS_NESTS=all, then also in each mode.
func TestClausesInEveryNesting(t *testing.T) {
	t.Parallel()
	table := tableClauses(t)
	legal, _ := nestingTable(t)
	all := os.Getenv("GOMPSS_NESTS") == "all"
	modes := []string{""}
	if all {
		modes = []string{"", "spmd", "broadcast", "control_loop", "warp_specialized"}
	}
	for _, mode := range modes {
		var kernels []clauseNest
		for i, n := range legal {
			if mode != "" && !strings.HasPrefix(words[n[0]].text, "teams") {
				continue
			}
			for j := range n.kernels(table) {
				if all || (i+j)%7 == 0 {
					m := mode
					if !all && strings.HasPrefix(words[n[0]].text, "teams") {
						m = []string{"", "broadcast", "control_loop", "warp_specialized"}[(i/7+j)%4]
					}
					kernels = append(kernels, makeClauseNest(table, n, j, m))
				}
			}
		}
		t.Logf("mode %q: %d kernels", mode, len(kernels))
		var wait sync.WaitGroup
		for part := range slices.Chunk(kernels, 250) {
			wait.Go(func() { runClauses(t, part) })
		}
		wait.Wait()
	}
}

const clauseHead = "package k\n\nimport \"github.com/gompss/gompss/codegen/kernel\"\n\nvar _ = kernel.TeamNum\n\n" +
	"func truth(b bool) int64 {\n\tif b {\n\t\treturn 1\n\t}\n\treturn 0\n}\n\n"

func runClauses(t *testing.T, kernels []clauseNest) {
	text := clauseHead
	for i, n := range kernels {
		text += n.text(i) + "\n"
	}
	p, err := codegen.Load(codegen.File{Name: "k.go", Text: text})
	if err != nil {
		list := strings.Split(err.Error(), "\n")
		t.Errorf("%s\n%s", strings.Join(list[:min(len(list), 10)], "\n"), numbered(text))
		return
	}
	for i, n := range kernels {
		k, err := p.Kernel(fmt.Sprintf("K%d", i))
		if p := broken(k); p != nil {
			t.Errorf("%s: %v\n%s", n, p, n.text(i))
			continue
		}
		if err == nil {
			var l *codegen.Lowering
			if l, err = codegen.Lower(k, codegen.LowerOptions{NoShuffles: i%3 == 2}); err == nil {
				var program *simt.Program
				if program, err = simt.New(l.Program); err == nil {
					n.compare(t, program, n.text(i))
				}
			}
		}
		if err != nil && !refusedInOrder(n.text(i), err) {
			t.Errorf("%s: %v\n%s", n, err, n.text(i))
		}
	}
}

// refusedInOrder reports whether err is the refusal of mode(spmd) for a kernel whose descriptive loop is not proved
// independent: it runs in order on one thread then, which that mode cannot do. Every other mode takes the same kernel.
func refusedInOrder(text string, err error) bool {
	return strings.Contains(text, "mode(spmd)") && descriptive.MatchString(text) &&
		strings.Contains(err.Error(), "depends on code that only one thread may run; use mode(auto) or mode(broadcast)")
}

var descriptive = regexp.MustCompile(`(?m)^\s*//omp:.*\bloop\b`)

func numbered(text string) string {
	var b strings.Builder
	for i, l := range strings.Split(text, "\n") {
		fmt.Fprintf(&b, "%d\t%s\n", i+1, l)
	}
	return b.String()
}

// broken lowers k and returns what it panics with.
func broken(k *ir.Kernel) (out any) {
	defer func() { out = recover() }()
	_, _ = codegen.Lower(k, codegen.LowerOptions{})
	return nil
}

// clauseExamples is each clause of a statement directive as it may stand on one.
var clauseExamples = map[string]string{"num_teams": "num_teams(2)", "thread_limit": "thread_limit(32)", "private": "private(p)", "firstprivate": "firstprivate(p)",
	"shared": "shared(p)", "reduction": "reduction(+: p)", "mode": "mode(spmd)", "collapse": "collapse(1)", "dist_schedule": "dist_schedule(static)",
	"lastprivate": "lastprivate(p)", "dist_private": "dist_private([1]x)", "dist_firstprivate": "dist_firstprivate([1]x)",
	"dist_lastprivate": "dist_lastprivate([1]x)", "dist_firstlastprivate": "dist_firstlastprivate([1]x)", "num_threads": "num_threads(2)", "if": "if(p > 0)",
	"schedule": "schedule(static)", "nowait": "nowait", "simdlen": "simdlen(4)", "safelen": "safelen(4)", "bind": "bind(parallel)", "nested": "nested(inline)",
	"read": "read", "write": "write", "update": "update", "capture": "capture", "compare": "compare",
	"in": "in(x)", "copy_in": "copy_in(x)", "device": "device(acc)", "priority": "priority(1)", "fastmath": "fastmath", "contract": "contract",
	"inclusive": "inclusive(p)", "exclusive": "exclusive(p)"}

// TestClausesElsewhere puts each clause on each directive that does not take it by DIALECT.md section 3: one error, at the
// clause.
func TestClausesElsewhere(t *testing.T) {
	table := tableClauses(t)
	for _, clauses := range table {
		for _, c := range clauses {
			if _, ok := clauseExamples[c]; !ok && !slices.Contains([]string{"copy_out", "copy_inout", "copy_deps", "no_copy_deps", "implements", "check", "resources",
				"out", "inout", "concurrent", "commutative", "priority", "final", "untied", "label"}, c) {
				t.Errorf("there is no example of clause %s", c)
			}
		}
	}
	tried := 0
	for _, w := range words {
		if strings.Contains(w.text, "bind") {
			continue
		}
		for name, clause := range clauseExamples {
			fields := strings.Fields(w.text)
			takes := slices.ContainsFunc(fields, func(f string) bool { return slices.Contains(table[f], name) }) ||
				name == "nested" && slices.Contains(fields, "parallel") && slices.Contains(fields, "for")
			if takes && (name != "nowait" || !slices.Contains(fields, "parallel")) {
				continue
			}
			body := "{\nx[0] = p\n}"
			if w.loop {
				body = "for i := range x {\nx[i] = i\n}"
			}
			text := "package k\n\n//omp:target\n//omp:task inout(x)\nfunc K(x []int) {\np := 1\n_ = p\n//omp:" + w.text + " " + clause + "\n" + body + "\n}\n"
			_, err := codegen.Load(codegen.File{Name: "k.go", Text: text})
			var list codegen.ErrorList
			require.ErrorAs(t, err, &list, "%s %s", w.text, clause)
			require.True(t, slices.ContainsFunc(list, func(d codegen.Diagnostic) bool {
				return d.Pos.Line == 8 && d.Pos.Col == len("//omp:"+w.text+" ")+1 && d.What == "clause "+name
			}), "%s %s: %v", w.text, clause, err)
			tried++
		}
	}
	require.Greater(t, tried, 300)
}
