package odd

import (
	"fmt"
	"math/rand/v2"
	"strings"
)

// imports are those of every program.
const imports = `import (
	"math"
	"math/bits"

	"github.com/gompss/gompss/codegen/kernel"
)

var _, _, _ = kernel.ThreadNum, bits.Len, math.Pi

`

// makeProgram returns the text of program seed, without package clause and imports.
func makeProgram(seed uint64) string {
	g := &gen{Rand: rand.New(rand.NewPCG(seed, 71)), id: fmt.Sprint(seed)}
	g.risky = g.chance(15)
	g.makeTypes()
	for _, t := range g.types[len(basic):] {
		if g.chance(50) {
			g.method(t)
		}
	}
	for range g.IntN(4) {
		g.function()
	}
	g.kernel()
	return g.b.String()
}

// A parameter of the kernel.
type parameter struct {
	name, access string
	t            *typ
}

func (g *gen) kernel() {
	params := []parameter{{"n", "", typeInt}, {"w", "", typeInt}}
	add := func(name, access string, t *typ) {
		params = append(params, parameter{fmt.Sprintf("%s%d", name, len(params)), access, t})
	}
	for range 1 + g.IntN(3) {
		add("k", "", g.scalarType())
	}
	if g.chance(35) {
		t := g.anyType(2)
		add("k", map[bool]string{true: "", false: "in"}[t.scalar()], t)
	}
	for range 1 + g.IntN(4) {
		add("in", "in", sliceOf(g.anyType(2)))
	}
	for range 1 + g.IntN(3) {
		add("out", "inout", sliceOf(g.anyType(2)))
	}
	params = append(params, parameter{"ix", "in", sliceOf(typeI32)}, parameter{"acc", "inout", sliceOf(typeI64)})
	if g.chance(40) {
		params = append(params, parameter{"sums", "inout", sliceOf(typeI64)}, parameter{"sums32", "inout", sliceOf(whole[7])}, parameter{"tickets", "inout", sliceOf(typeI64)})
	}
	var list, in, out []string
	for _, p := range params {
		list = append(list, p.name+" "+p.t.name)
		switch {
		case p.access == "in":
			in = append(in, p.name)
		case p.access == "inout":
			out = append(out, p.name)
		}
	}
	g.line("//omp:target device(acc, smp)")
	if g.chance(70) {
		g.line("//omp:task in(%s) inout(%s)", quoted(in), quoted(out))
	}
	g.line("func K_%s(%s) {", g.id, quoted(list))
	g.depth, g.level = 1, 1
	g.line("if len(ix) < n*w || n < 0 || w < 0 {")
	g.line("\treturn")
	g.line("}")
	for range 1 + g.IntN(2) {
		g.section(params)
	}
	g.depth = 0
	g.line("}")
}

// enter puts the parameters into scope, for parallel code or not.
func (g *gen) enter(params []parameter, sequential bool) {
	g.vars, g.reds, g.frames, g.atomics, g.results = nil, nil, nil, nil, nil
	for _, p := range params {
		switch {
		case p.name == "ix":
			g.declare(&variable{name: p.name, t: p.t})
		case strings.HasPrefix(p.name, "sums") || p.name == "tickets":
			if p.name == "tickets" && !sequential {
				g.atomics = append(g.atomics, "tickets")
			} else if !sequential {
				g.atomics = append(g.atomics, p.name+" "+g.pick("+", "^", "|", "&", "+", "min", "max"))
			}
		case p.name == "acc":
			if sequential {
				g.declare(&variable{name: "acc", t: p.t, set: true, least: 8})
			}
		case strings.HasPrefix(p.name, "out"):
			g.declare(&variable{name: p.name, t: p.t, set: true, owned: true})
		default:
			g.declare(&variable{name: p.name, t: p.t})
		}
	}
}

// section is a construct, with code around it that runs once.
func (g *gen) section(params []parameter) {
	g.line("{")
	g.depth++
	g.level++
	switch n := g.IntN(20); {
	case n < 8:
		g.enter(params, false)
		g.flat()
	case n < 11:
		g.enter(params, false)
		g.grid()
	case n < 14:
		g.enter(params, false)
		g.team()
	case n < 19:
		g.enter(params, true)
		g.ordered()
	default:
		g.enter(params, true)
		g.at = []string{"0", "n/2", "1"}
		g.budget = 12
		g.block(2 + g.IntN(4))
	}
	g.level--
	g.depth--
	g.line("}")
}

// freeze takes what is in scope as shared: iterations do not write it.
func (g *gen) freeze() {
	var list []*variable
	for _, v := range g.vars {
		if v.t.kind == pointer && v.set { // it may lead to what another iteration writes
			continue
		}
		c := *v
		c.later = v.later || v.set
		c.set = v.t.kind == slice && v.owned
		list = append(list, &c)
	}
	g.vars = list
}

// clauses are those of a parallel loop, with the variables that they need.
func (g *gen) clauses() (text string, after func()) {
	var b strings.Builder
	var reds []*reduction
	for range g.IntN(3) {
		t := g.scalarType()
		r := &reduction{t: t}
		switch t.kind {
		case boolean:
			r.op = g.pick("&&", "||")
		case float:
			r.op = g.pick("+", "*", "min", "max")
			t = map[int]*typ{32: typeF32, 64: typeF64}[t.bits]
			r.t = t
		default:
			r.op = g.pick("+", "+", "*", "min", "max", "&", "|", "^")
		}
		g.next++
		r.name = fmt.Sprintf("red%d", g.next)
		from := g.literal(t)
		if t.kind == integer && g.chance(50) {
			from = g.leaf(t)
		} else if t.kind == float {
			from = "1"
		}
		g.line("%s := %s(%s)", r.name, t.name, from)
		fmt.Fprintf(&b, " reduction(%s: %s)", r.op, r.name)
		g.line("_ = %s", r.name)
		reds = append(reds, r)
	}
	var first string
	if g.chance(20) {
		g.next++
		first = fmt.Sprintf("fp%d", g.next)
		t := g.scalarType()
		g.line("%s := %s(%s)", first, t.name, g.literal(t))
		g.line("_ = %s", first)
		fmt.Fprintf(&b, " firstprivate(%s)", first)
		defer func() { g.declare(&variable{name: first, t: t}) }()
	}
	g.freeze()
	g.reds, g.written = reds, reds
	return b.String(), func() {
		g.reds = nil
		for i, r := range reds {
			switch {
			case r.t.kind == boolean:
				g.line("if %s {", g.convert(r.name, r.t, typeBool))
				g.line("\tacc[%d] ^= 5", i)
				g.line("}")
			case r.t.kind == float:
				g.line("acc[%d] += int64(math.Float32bits(float32(%s)))", i, r.name)
			default:
				g.line("acc[%d] ^= int64(%s)", i, r.name)
			}
		}
	}
}

// heads are parallel loops over 0 to below n*w, each with what its counter is as an index.
func (g *gen) head(count string) (text, at string, t *typ) {
	t = g.pickType("int", "int", "int", "int64", "int32", "uint32", "uint16", "int16", "uint64")
	limit := t.name + "(" + count + ")"
	zero := t.name + "(0)"
	at = "i"
	if t == typeInt {
		limit, zero = count, "0"
	} else {
		at = "int(i)"
	}
	forms := []string{"for i := %[1]s; i < %[2]s; i++ {", "for i := %[1]s; i != %[2]s; i++ {", "for i := range %[2]s {", "for i := %[1]s; i < %[2]s; i += 2 {", "for i := %[1]s; i < %[2]s; i += 3 {"}
	if t.signed {
		forms = append(forms, "for i := %[2]s - 1; i >= 0; i-- {", "for i := %[2]s - 1; i >= %[1]s; i -= 2 {", "for i := %[1]s; i <= %[2]s-1; i++ {")
	}
	return fmt.Sprintf(g.pick(forms...), zero, limit), at, t
}

func (g *gen) pickType(names ...string) *typ {
	name := g.pick(names...)
	for _, t := range whole {
		if t.name == name {
			return t
		}
	}
	return typeInt
}

// flat is one parallel loop.
func (g *gen) flat() {
	g.at, g.budget = []string{"0"}, 3
	clauses, after := g.clauses()
	head, at, t := g.head("n*w")
	kind := g.pick("teams distribute parallel for", "teams distribute parallel for", "teams distribute parallel for simd", "parallel for", "teams loop", "parallel for simd")
	if kind != "teams loop" && g.chance(25) {
		clauses += " schedule(" + g.pick("static", "static, 3", "dynamic", "dynamic, 4", "guided", "cyclic", "onetoone", "counter", "auto") + ")"
	}
	if kind == "teams loop" && strings.Contains(clauses, "firstprivate") {
		kind = "teams distribute parallel for"
	}
	g.line("//omp:%s%s", kind, clauses)
	g.line("%s", head)
	g.own = "i"
	g.parallelBody([]string{at}, []*variable{{name: "i", t: t}})
	g.own = ""
	g.line("}")
	after()
}

// parallelBody is the body of a loop that a directive governs.
func (g *gen) parallelBody(at []string, counters []*variable) {
	vars, reds := g.vars, g.reds
	for _, v := range counters {
		g.level++
		g.declare(v)
		g.level--
		g.line("\t_ = %s", v.name)
	}
	g.frames = append(g.frames, frame{barrier: true})
	g.at, g.budget = at, 6+g.IntN(20)
	g.block(2 + g.IntN(6))
	g.frames = g.frames[:len(g.frames)-1]
	g.vars, g.reds = vars, reds
}

// grid is a parallel loop of two or three that are collapsed.
func (g *gen) grid() {
	g.at, g.budget = []string{"0"}, 3
	clauses, after := g.clauses()
	g.line("//omp:%s collapse(2)%s", g.pick("teams distribute parallel for", "teams distribute parallel for", "parallel for"), clauses)
	g.line("%s", g.pick("for r := range n {", "for r := 0; r < n; r++ {", "for r := n - 1; r >= 0; r-- {"))
	g.line("%s", g.pick("for c := range w {", "for c := 0; c < w; c++ {", "for c := w - 1; c >= 0; c-- {", "for c := 1; c < w; c += 2 {"))
	g.parallelBody([]string{g.pick("r*w+c", "c+w*r", "w*r+c")}, []*variable{{name: "r", t: typeInt}, {name: "c", t: typeInt}})
	g.line("}")
	g.line("}")
	after()
}

// team is a distributed loop whose body has code of the team and parallel loops.
func (g *gen) team() {
	g.at, g.budget = []string{"0"}, 3
	clauses, after := g.clauses()
	g.line("//omp:%s%s", g.pick("teams distribute", "teams distribute", "teams distribute dist_schedule(static, 1)"), clauses)
	g.line("%s", g.pick("for r := range n {", "for r := 0; r < n; r++ {", "for r := n - 1; r >= 0; r-- {", "for r := 0; r < n; r += 2 {"))
	vars, reds := g.vars, g.reds
	g.depth++
	g.level++
	g.declare(&variable{name: "r", t: typeInt})
	g.level++
	g.frames = append(g.frames, frame{barrier: true})
	g.line("if w == 0 {")
	g.line("\tcontinue")
	g.line("}")
	for range 1 + g.IntN(3) {
		g.at, g.budget = []string{"r*w", "r*w+w/2", "r*w"}, 5
		for range g.IntN(3) {
			g.stmt()
		}
		g.inner()
	}
	g.frames = g.frames[:len(g.frames)-1]
	g.level -= 2
	g.depth--
	g.vars, g.reds = vars, reds
	g.line("}")
	after()
}

// inner is a parallel loop of a team.
func (g *gen) inner() {
	outer, reds, atomics := g.vars, g.reds, g.atomics
	g.line("{")
	g.depth++
	g.level++
	clauses, _ := g.clauses()
	g.line("//omp:%s%s", g.pick("parallel for", "parallel for", "parallel for simd", "parallel for schedule(static, 1)"), clauses)
	g.line("%s", g.pick("for c := range w {", "for c := 0; c < w; c++ {", "for c := w - 1; c >= 0; c-- {", "for c := 1; c < w; c += 2 {"))
	g.parallelBody([]string{g.pick("r*w+c", "c+w*r")}, []*variable{{name: "c", t: typeInt}})
	g.line("}")
	inner := g.written
	g.vars, g.reds, g.atomics, g.written = outer, reds, atomics, nil
	for _, r := range inner { // what the team reduced goes into an element of its own
		g.declare(&variable{name: r.name, t: r.t})
		g.at = []string{"r*w"}
		g.assign()
	}
	g.vars = outer
	g.level--
	g.depth--
	g.line("}")
}

// ordered is code without a prescriptive directive: the compiler maps it where it proves that it may.
func (g *gen) ordered() {
	count := g.pick("n*w", "n", "n+w")
	if g.chance(50) {
		g.at = []string{"i", "i+1", "i+2", "2*i", "2*i+1", "n*w-i", "i/2", "i&3", "int(ix[i%max(1, n*w)])", "0", "n"}
		g.Shuffle(len(g.at), func(i, j int) { g.at[i], g.at[j] = g.at[j], g.at[i] })
		g.at = g.at[:1+g.IntN(3)]
		if g.chance(40) {
			g.line("//omp:%s", g.pick("loop", "teams loop"))
		}
		g.line("%s", fmt.Sprintf(g.pick("for i := range %s {", "for i := 0; i < %s; i++ {", "for i := %s - 1; i >= 0; i-- {", "for i := 1; i < %s; i += 2 {", "for i := 0; i <= %s; i++ {"), count))
		at := g.at
		g.parallelBody(at, []*variable{{name: "i", t: typeInt}})
		g.line("}")
		return
	}
	row := g.pick("w", "w", "n", "3")
	g.at = []string{"r*" + row + "+c", "r*" + row + "+c+1", "c*" + row + "+r", "r+c", "r*" + row, "c", "r", "r*" + row + "+" + row + "-1-c", "(r+1)*" + row + "+c"}
	g.Shuffle(len(g.at), func(i, j int) { g.at[i], g.at[j] = g.at[j], g.at[i] })
	g.at = g.at[:1+g.IntN(3)]
	at := g.at
	if g.chance(40) {
		g.line("//omp:%s", g.pick("loop", "teams loop", "loop collapse(2)"))
	}
	g.line("%s", g.pick("for r := range n {", "for r := 0; r < n; r++ {", "for r := n - 1; r >= 0; r-- {", "for r := 1; r < n; r++ {"))
	g.line("%s", g.pick("for c := range w {", "for c := 0; c < w; c++ {", "for c := w - 1; c >= 0; c-- {", "for c := 1; c < w-1; c++ {", "for c := 0; c < min(n, w); c++ {"))
	g.parallelBody(at, []*variable{{name: "r", t: typeInt}, {name: "c", t: typeInt}})
	g.line("}")
	g.line("}")
}
