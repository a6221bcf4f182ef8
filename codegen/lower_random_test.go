package codegen_test

import (
	"fmt"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"
	"pgregory.net/rapid"

	"github.com/gompss/gompss/codegen"
	"github.com/gompss/gompss/codegen/ir"
	"github.com/gompss/gompss/codegen/simt"
)

// writer makes random kernels whose teams mix sequential code, control flow and parallel constructs. Each iteration r
// of the distributed loop touches row r alone, and no parallel loop reads what another of its iterations writes, so the
// kernels conform: one thread computes what they mean.
type writer struct {
	*rapid.T
	b     strings.Builder
	depth int
	loops int
}

func (w *writer) line(format string, args ...any) {
	w.b.WriteString(strings.Repeat("\t", w.depth) + fmt.Sprintf(format, args...) + "\n")
}

func (w *writer) pick(list ...string) string { return rapid.SampledFrom(list).Draw(w.T, "pick") }

// randomVariables are what random kernels may read of their package: by value, as memory, and through a slice and a pointer.
const randomVariables = `var level, table = int32(3), [4]int32{2, 7, 1, 8}

var most struct {
	by int32
	of [3]int8
}

var curve [1200]uint16

var knots []int32

var offset *int32
`

type randomMost struct {
	by int32
	of [3]int8
}

// variablesOf is what the program gives kernel k of the package variables that it reads; it sets others for each round.
func variablesOf(k *ir.Kernel, round int32) []any {
	curve, five := make([]uint16, 1200), 5+round
	for i := range curve {
		curve[i] = uint16(i*31) + uint16(round)
	}
	all := map[string]any{"level": 3 + round, "table": [4]int32{2, 7 - round, 1, 8}, "most": randomMost{4 * round, [3]int8{1, -2, 3}},
		"curve": curve, "knots": []int32{9, round, -4}, "offset": &five}
	var out []any
	for _, g := range k.Globals {
		out = append(out, all[g.Var.Name])
	}
	return out
}

// uniform is a value that all threads of a team agree on.
func (w *writer) uniform() string {
	return w.pick("a", "b", "c", "s[r]", "x[r*n]", "t[2]", "int32(r)", "3", "a+b", "b*2", "c-a", "t[5]^a", "int32(kernel.ThreadNum())",
		"level", "table[r&3]", "most.by+int32(most.of[r%3])", "int32(curve[r*99])", "knots[1]", "*offset")
}

// element is a value for iteration i that reads rows the loop does not write.
func (w *writer) element() string {
	return w.pick("a", "b", "c", "s[r]", "int32(i)", "a*int32(i)", "c+b", "7", "table[i&3]", "level*int32(i)", "int32(curve[i*70])", "knots[i%len(knots)]")
}

func (w *writer) scalar() string { return w.pick("a", "b", "c") }

func (w *writer) other(v string) string { return map[string]string{"a": "b", "b": "c", "c": "a"}[v] }

func (w *writer) block(n int) {
	w.depth++
	for range n {
		w.stmt()
	}
	w.depth--
}

func (w *writer) stmt() {
	kinds := []func(){w.assign, w.store, w.forEach, w.team, w.reduce, w.teamScan, w.region, w.fold}
	if w.depth < 4 {
		kinds = append(kinds, w.branch, w.loop)
	}
	rapid.SampledFrom(kinds).Draw(w.T, "kind")()
}

func (w *writer) assign() { w.line("%s = %s", w.scalar(), w.uniform()) }

func (w *writer) store() {
	w.line("%s %s %s", w.pick("s[r]", "x[r*n+1]", "t[3]", "y[r*n]"), w.pick("=", "+=", "-="), w.uniform())
}

func (w *writer) forEach() {
	target, other := "x", "y"
	if rapid.Bool().Draw(w.T, "swap") {
		target, other = other, target
	}
	w.line("//omp:parallel for%s", w.threadChunks())
	w.line("for i := 0; i < n; i++ {")
	w.line("\t%s[r*n+i] %s %s + %s[r*n+n-1-i]", target, w.pick("=", "+=", "^="), w.element(), other)
	w.line("}")
}

// team goes through team memory.
func (w *writer) team() {
	w.line("//omp:parallel for")
	w.line("for i := 0; i < 8; i++ {")
	w.line("\tt[i] %s %s", w.pick("=", "+="), w.element())
	w.line("}")
	if rapid.Bool().Draw(w.T, "read") {
		w.line("//omp:parallel for")
		w.line("for i := 0; i < n; i++ {")
		w.line("\tx[r*n+i] += t[(i+3)%%8]")
		w.line("}")
	}
}

func (w *writer) reduce() {
	v := w.scalar()
	op := w.pick("+", "^", "|")
	w.line("//omp:parallel for reduction(%s: %s)%s", op, v, w.few())
	w.line("for i := 0; i < n; i++ {")
	w.line("\t%s %s= x[r*n+i]*int32(i)", v, op)
	w.line("}")
}

// threadChunks is how the iterations of a loop of one team are dealt out.
func (w *writer) threadChunks() string {
	return w.pick("", "", " schedule(static, 2)", " schedule(static, n-8)", " schedule(guided, 2)", " schedule(static, int(b&3)+1)")
}

// chunks is how the iterations of a loop of the whole league are dealt out.
func (w *writer) chunks() string {
	return w.pick("", "", " schedule(guided)", " schedule(guided, 3)", " schedule(dynamic, 2)", " schedule(counter)", " schedule(static, 3)",
		" schedule(static, n)", " dist_schedule(static, 5)", " dist_schedule(static, n) schedule(static, 2)", " dist_schedule(static, 7) schedule(guided)")
}

// bounds are bounds of a league, some of which depend on what the loop writes.
func (w *writer) bounds() string {
	return w.pick("", "", "", " num_teams(2)", " num_teams(int(x[1]&3))", " num_teams(int(a&3)+1)", " thread_limit(int(y[0]&7)+1)",
		" thread_limit(40)", " thread_limit(int(s[1]))")
}

// few bounds the threads of a parallel construct, or does not.
func (w *writer) few() string {
	return w.pick("", " num_threads(5)", " num_threads(40)", " num_threads(70)", " num_threads(n)", " num_threads(int(a&31)+1)",
		" num_threads(int(a&127)+1)", " if(a > 3)")
}

// fold is a parallel body whose threads combine what they have, of an array the parts.
func (w *writer) fold() {
	v, part, elem := w.scalar(), w.pick("t", "t[2:5]"), w.pick("2", "i%3+2", "4")
	if w.pick("some", "first") == "first" {
		part, elem = "t[:1]", "0"
	}
	w.line("//omp:parallel reduction(+: %s, %s)%s", v, part, w.few())
	w.line("{")
	if rapid.Bool().Draw(w.T, "both") {
		w.line("\t//omp:for reduction(^: %s)", w.other(v))
		w.line("\tfor i := 0; i < 9; i++ {")
		w.line("\t\t%s ^= int32(i)", w.other(v))
		w.line("\t}")
	}
	w.line("\t//omp:for%s", w.pick("", " nowait"))
	w.line("\tfor i := 0; i < n; i++ {")
	w.line("\t\t%s += x[r*n+i]", v)
	w.line("\t\tt[%s] += int32(i)", elem)
	w.line("\t}")
	w.line("}")
}

// region is a parallel body with barriers of its own.
func (w *writer) region() {
	w.line("//omp:parallel%s", w.few())
	w.line("{")
	w.line("\t//omp:for")
	w.line("\tfor i := 0; i < 8; i++ {")
	w.line("\t\tt[i] ^= %s", w.element())
	w.line("\t}")
	w.line("\t//omp:single")
	w.line("\t{")
	w.line("\t\tt[1] += t[6]")
	w.line("\t}")
	w.line("\t//omp:for%s%s", w.pick("", " nowait"), w.pick("", " schedule(static, 3)", " schedule(guided)"))
	w.line("\tfor i := 0; i < n; i++ {")
	w.line("\t\ty[r*n+i] += t[i%%8]")
	w.line("\t}")
	w.line("}")
}

func (w *writer) branch() {
	w.line("if %s%%2 == 0 {", w.uniform())
	w.block(rapid.IntRange(1, 2).Draw(w.T, "then"))
	if rapid.Bool().Draw(w.T, "else") {
		w.line("} else {")
		w.block(1)
	}
	w.line("}")
}

func (w *writer) loop() {
	w.loops++
	j := fmt.Sprintf("j%d", w.loops)
	w.line("for %s := int32(0); %s < 3; %s++ {", j, j, j)
	w.depth++
	w.line("a += %s", j)
	if w.pick("run", "stop") == "stop" {
		w.line("if %s > 40 {", w.scalar())
		w.line("\t%s", w.pick("break", "continue"))
		w.line("}")
	}
	w.depth--
	w.block(rapid.IntRange(1, 2).Draw(w.T, "body"))
	w.line("}")
}

func (w *writer) kernel() string {
	w.line("package k\n\nimport \"github.com/gompss/gompss/codegen/kernel\"\n")
	w.line("var _ = kernel.ThreadNum\n\n" + randomVariables)
	w.line("//omp:target device(acc)\n//omp:task inout(x, y, s)\nfunc K(x, y, s []int32, n int) {")
	w.depth = 1
	w.line("//omp:teams distribute%s%s", w.pick("", "", " dist_schedule(static, 2)", " dist_schedule(static, n)"), w.pick("", " mode(broadcast)", " mode(control_loop)", " mode(warp_specialized)")+
		w.pick("", "", " thread_limit(5)", " thread_limit(33)", " thread_limit(64)", " thread_limit(n)"))
	w.line("for r := 0; r < len(s); r++ {")
	w.line("\tvar t [8]int32")
	w.line("\ta, b, c := int32(1), s[r], int32(r)")
	w.block(rapid.IntRange(2, 6).Draw(w.T, "statements"))
	w.line("\ts[r] += a + b + c + t[0]")
	w.line("}")
	w.depth = 0
	w.line("}")
	return w.b.String()
}

// once is a statement of the kernel's sequential code, or a construct in it.
func (w *writer) once() {
	kinds := []func(){w.onceAssign, w.onceStore, w.grid, w.grid, w.gridReduce, w.gridScan, w.gridLast, w.triangle}
	if w.depth < 3 {
		kinds = append(kinds, w.onceBranch, w.onceLoop)
	}
	rapid.SampledFrom(kinds).Draw(w.T, "once")()
}

func (w *writer) onceList(n int) {
	w.depth++
	for range n {
		w.once()
	}
	w.depth--
}

func (w *writer) onceValue() string {
	return w.pick("a", "b", "c", "s[1]", "x[2]", "int32(n)", "int32(len(y))", "a+b", "min(b, 9)", "c*3", "int32(kernel.NumTeams())",
		"level", "table[1]^level", "most.by", "int32(len(knots))", "knots[2]-*offset", "int32(curve[n])")
}

func (w *writer) onceAssign() { w.line("%s = %s", w.scalar(), w.onceValue()) }

func (w *writer) onceStore() { w.line("%s += %s", w.pick("s[1]", "x[2]", "y[0]"), w.onceValue()) }

func (w *writer) grid() {
	target, other := "x", "y"
	if rapid.Bool().Draw(w.T, "swap") {
		target, other = other, target
	}
	w.line("//omp:%s", w.pick("teams distribute parallel for"+w.chunks()+w.bounds(), "parallel for", "loop", "teams distribute"+w.bounds(),
		"parallel for num_threads(3)", "parallel for num_threads(int(x[0]&3)+1)", "teams distribute parallel for if(x[0]+y[0] > 9)",
		"teams distribute parallel for num_threads(int(x[0]&7))", "teams distribute parallel for schedule(static, int(x[3]&7))",
		"teams distribute parallel for dist_schedule(static, int(y[3]&7)) schedule(dynamic)", "parallel for if(y[0] > 3)"))
	w.line("for i := 0; i < m; i++ {")
	w.line("\t%s[i] %s %s + %s[m-1-i]", target, w.pick("=", "+="), w.pick("a", "b*int32(i)", "c-a", "int32(i)"), other)
	w.line("}")
}

func (w *writer) gridReduce() {
	v, op := w.scalar(), w.pick("+", "^", "&")
	w.line("//omp:%s reduction(%s: %s)", w.pick("teams distribute parallel for"+w.chunks()+w.bounds(), "teams distribute"+w.bounds(), "parallel for"), op, v)
	w.line("for i := range x {")
	w.line("\t%s %s= x[i] * int32(i)", v, op)
	w.line("}")
}

func (w *writer) gridLast() {
	v := w.scalar()
	w.line("//omp:teams distribute parallel for lastprivate(%s)%s", v, w.chunks())
	w.line("for i := 0; i < m; i++ {")
	w.line("\t%s = y[i] + int32(i)", v)
	w.line("}")
}

// gridScan scans by the whole league, or by one team; without a clause the compiler finds the scan or runs it in order.
func (w *writer) gridScan() {
	v, op := w.scalar(), w.pick("+", "^", "&")
	directive := w.pick("teams distribute parallel for"+w.bounds(), "parallel for", "loop", "teams loop", "simd", "parallel for num_threads(3)", "parallel for if(y[0] > 3)", "")
	w.scanOf(directive, "for i := 0; i < m; i++ {", v, op, "i")
}

// teamScan scans the row of a team.
func (w *writer) teamScan() {
	v, op := w.scalar(), w.pick("+", "^", "|")
	w.scanOf(w.pick("parallel for"+w.few(), "parallel for", "simd", "loop"), w.pick("for i := 0; i < n; i++ {", "for i := n - 1; i >= 0; i -= 2 {"), v, op, "r*n+i")
}

func (w *writer) scanOf(directive, head, v, op, at string) {
	update := fmt.Sprintf("\t%s %s= x[%s] - %s", v, op, at, w.pick("1", "int32(i)", "3"))
	read := fmt.Sprintf("\ty[%s] %s %s", at, w.pick("=", "+="), v)
	if rapid.Bool().Draw(w.T, "in place") {
		update, read = fmt.Sprintf("\t%s %s= %s", v, op, "e"), fmt.Sprintf("\tx[%s] = %s", at, v)
	}
	if directive != "" && directive != "loop" || rapid.Bool().Draw(w.T, "clause") && directive != "" {
		directive += fmt.Sprintf(" reduction(inscan, %s: %s)", op, v)
	}
	if directive != "" {
		w.line("//omp:%s", directive)
	}
	w.line("%s", head)
	if strings.Contains(update, "= e") {
		w.line("\te := x[%s]", at)
	}
	first, second, kind := update, read, "inclusive"
	if rapid.Bool().Draw(w.T, "exclusive") {
		first, second, kind = read, update, "exclusive"
	}
	w.line("%s", first)
	if strings.Contains(directive, "inscan") {
		w.line("\t//omp:scan %s(%s)", kind, v)
	}
	w.line("%s", second)
	w.line("}")
}

// triangle is a collapsed nest whose inner bounds depend on the outer loop, over the elements of a 7 by 7 matrix.
func (w *writer) triangle() {
	v := w.scalar()
	w.line("//omp:%s collapse(2) reduction(^: %s)", w.pick("teams distribute parallel for"+w.chunks()+w.bounds(), "parallel for", "loop"), v)
	w.line("%s", w.pick("for i := 0; i < 7; i++ {", "for i := 6; i >= 0; i-- {", "for i := n - 11; i <= n-5; i += 2 {"))
	w.line("\t%s", w.pick("for j := 0; j < i; j++ {", "for j := i; j < 7; j++ {", "for j := 6; j > i; j -= 2 {", "for j := i; j >= 0; j-- {",
		"for j := max(i-2, 0); j < min(i+n-9, 7); j++ {", "for j := 3*i - n; j < i; j += 3 {"))
	w.line("\t\tif j < 0 {")
	w.line("\t\t\tcontinue")
	w.line("\t\t}")
	w.line("\t\ty[i*7+j] += int32(j-i)")
	w.line("\t\t%s ^= x[i*7+j]*int32(i)", v)
	w.line("\t}")
	w.line("}")
}

func (w *writer) onceBranch() {
	w.line("if %s%%2 == 0 {", w.onceValue())
	w.onceList(rapid.IntRange(1, 3).Draw(w.T, "then"))
	if rapid.Bool().Draw(w.T, "else") {
		w.line("} else {")
		w.onceList(rapid.IntRange(1, 2).Draw(w.T, "otherwise"))
	}
	w.line("}")
}

func (w *writer) onceLoop() {
	w.loops++
	j := fmt.Sprintf("j%d", w.loops)
	w.line("for %s := int32(0); %s < 2; %s++ {", j, j, j)
	w.line("\tb += %s", j)
	w.onceList(rapid.IntRange(1, 2).Draw(w.T, "body"))
	w.line("}")
}

func (w *writer) sequence() string {
	w.line("package k\n\nimport \"github.com/gompss/gompss/codegen/kernel\"\n")
	w.line("var _ = kernel.ThreadNum\n\n" + randomVariables)
	w.line("//omp:target device(acc)\n//omp:task inout(x, y, s)\nfunc K(x, y, s []int32, n int) {")
	w.depth = 1
	w.line("m := len(x)")
	w.line("if m > 40 {\n\t\tm = 40\n\t}")
	if rapid.Bool().Draw(w.T, "return") {
		w.line("if n > 50 {\n\t\ts[0] = 1\n\t\treturn\n\t}")
	}
	w.line("a, b, c := int32(1), %s, int32(3)", w.pick("int32(n)", "s[2]"))
	w.depth = 0
	w.onceList(rapid.IntRange(2, 7).Draw(w.T, "statements"))
	w.line("\ts[0] += a + b + c")
	w.line("}")
	return w.b.String()
}

func TestRandomTeams(t *testing.T) { checkRandom(t, (*writer).kernel) }

func TestRandomSequences(t *testing.T) { checkRandom(t, (*writer).sequence) }

func checkRandom(t *testing.T, write func(*writer) string) {
	rapid.Check(t, func(rt *rapid.T) {
		text := write(&writer{T: rt})
		p, err := codegen.Load(codegen.File{Name: "k.go", Text: text})
		if err != nil {
			rt.Fatalf("%v\n%s", err, text)
		}
		k, err := p.Kernel("K")
		require.NoError(rt, err)
		for _, opt := range []codegen.LowerOptions{{}, {NoShuffles: true}, {Device: quickBarriers()}} {
			l, err := codegen.Lower(k, opt)
			if err != nil && strings.Contains(err.Error(), "across constructs") {
				rt.Skip(err)
			}
			if err != nil {
				rt.Fatalf("%v\n%s", err, text)
			}
			compareShapes(rt, l, text)
		}
	})
}

// compareShapes runs one thread, and then many, on the same memory.
func compareShapes(t rapid.TB, l *codegen.Lowering, text string) {
	program, err := simt.New(l.Program)
	require.NoError(t, err)
	const rows, n = 5, 11
	args := func(round int32) []any {
		x, y, s := make([]int32, rows*n), make([]int32, rows*n), make([]int32, rows)
		for i := range x {
			x[i], y[i] = int32(i*7%23), int32(i*5%19)
		}
		for i := range s {
			s[i] = int32(i * 3)
		}
		return append([]any{x, y, s, n}, variablesOf(l.Program.Kernel, round)...)
	}
	for seed, shape := range []struct{ teams, threads, warp int }{{1, 4, 4}, {3, 8, 2}, {2, 13, 1}, {7, 16, 8}, {2, 96, 32}, {2, 128, 64}} {
		round := int32(seed % 2) // the program changes them between launches
		want, got := args(round), args(round)
		if err := runDevice(program, want, simt.Config{Teams: 1, Threads: 1, Warp: 1}); err != nil {
			t.Fatalf("one thread: %v\n%s", err, text)
		}
		cfg := simt.Config{Teams: shape.teams, Threads: shape.threads, Warp: shape.warp, Seed: uint64(seed), Races: true}
		if err := runDevice(program, got, cfg); err != nil {
			t.Fatalf("%+v: %v\n%s\n%s", shape, err, text, l.Program)
		}
		if d := (corpusCase{}).differ(want, got); d != "" {
			t.Fatalf("%+v: %s\n%s\n%s", shape, d, text, l.Program)
		}
	}
}
