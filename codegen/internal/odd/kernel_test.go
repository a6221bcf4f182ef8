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
	if seed >= firstMoved {
		return makeMoved(seed)
	}
	if isSerial(seed) {
		return makeSerial(seed)
	}
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
	for range g.IntN(3) {
		g.orphan()
	}
	g.kernel()
	return g.b.String()
}

// A parameter of the kernel.
type parameter struct {
	name, access string
	t            *typ
	global       bool // a package variable
}

func (g *gen) kernel() {
	params := []parameter{{"n", "", typeInt, false}, {"w", "", typeInt, false}}
	add := func(name, access string, t *typ) {
		params = append(params, parameter{fmt.Sprintf("%s%d", name, len(params)), access, t, false})
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
	for _, o := range g.orphans {
		add("out", "inout", sliceOf(o.elem))
	}
	params = append(params, parameter{"ix", "in", sliceOf(typeI32), false}, parameter{"acc", "inout", sliceOf(typeI64), false})
	if g.chance(40) {
		params = append(params, parameter{"sums", "inout", sliceOf(typeI64), false}, parameter{"sums32", "inout", sliceOf(whole[7]), false}, parameter{"tickets", "inout", sliceOf(typeI64), false})
	}
	clauses := g.targetClauses()
	if g.twins = strings.Contains(clauses, "overlap"); g.twins {
		t := sliceOf(g.anyType(2))
		add("out", "inout", t)
		add("out", "inout", t)
	} else if g.chance(30) {
		add(g.pick(scratchNames...), "inout", sliceOf(g.scalarType()))
		g.scratch = &params[len(params)-1]
	}
	if g.chance(20) {
		g.span = g.makeSpan()
		params = append(params, parameter{"lo", "", g.span.t, false}, parameter{"hi", "", g.span.t, false})
	}
	params = g.dress(params)
	var list, in, out []string
	for _, p := range params {
		if p.global {
			continue
		}
		if !strings.Contains(p.name, ".") {
			list = append(list, p.name+" "+p.t.name)
		}
		switch {
		case p.access == "in":
			in = append(in, p.name)
		case p.access == "inout":
			out = append(out, p.name)
		}
	}
	if strings.HasPrefix(params[len(params)-1].name, "rec.") {
		list = append(list, "rec rec_"+g.id)
	}
	g.line("//omp:target device(acc, smp)%s", clauses)
	if g.chance(70) {
		g.line("//omp:task in(%s) inout(%s)", quoted(in), quoted(out))
	}
	g.line("func K_%s(%s) {", g.id, quoted(list))
	g.depth, g.level, g.nests = 1, 1, true
	g.line("if len(ix) < n*w || n < 0 || w < 0 {")
	g.line("\treturn")
	g.line("}")
	if g.span != nil {
		g.line("%s", g.span)
	}
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
		case isScratch(p.name): // dist alone uses it
		case strings.HasPrefix(p.name, "out") || strings.HasPrefix(p.name, "rec.Out"):
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
	n := g.IntN(26)
	switch {
	case g.scratch != nil && g.chance(50):
		n = 24
	case g.twins: // parts that lie on chip twice are two memories
		n = g.IntN(24)
	}
	if n < 24 && len(g.orphans) > 0 && g.chance(40) {
		n = 11 // a team, which calls them
	}
	switch {
	case g.span != nil && g.scratch == nil && g.chance(70):
		g.enter(params, false)
		g.ends()
	case n >= 24:
		g.enter(params, false)
		g.dist()
	case n >= 22:
		g.enter(params, false)
		g.region()
	case n >= 20:
		g.enter(params, false)
		g.scan()
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
		if (v.t.kind == pointer || v.t.kind == slice && !v.owned) && v.set { // it may lead to what another iteration writes
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
		r := g.reduced()
		fmt.Fprintf(&b, " reduction(%s: %s)", r.op, r.clause)
		reds = append(reds, r)
	}
	var private []*variable
	if g.chance(20) {
		v := g.outside("fp")
		fmt.Fprintf(&b, " firstprivate(%s)", v.name)
		v.set = false // each iteration has the value from in front of the loop
		defer g.declare(v)
	}
	var last *variable
	if g.chance(15) {
		last = g.outside("last")
		fmt.Fprintf(&b, " lastprivate(%s)", last.name)
		private = append(private, last)
	}
	if g.chance(10) {
		v := g.outside("own")
		fmt.Fprintf(&b, " private(%s)", v.name)
		private = append(private, v)
	}
	g.freeze()
	g.reds, g.written, g.private = reds, reds, private
	return b.String(), func() {
		g.reds = nil
		if last != nil {
			reds = append(reds, &reduction{name: last.name, t: last.t})
		}
		for i, r := range reds {
			g.keep(i, r)
		}
	}
}

// keep puts what a loop left in a variable into element i of acc.
func (g *gen) keep(i int, r *reduction) {
	place := r.name
	if r.parts > 0 {
		place += "[j]"
		g.line("for j := range %d {", r.parts)
		g.depth++
		defer func() {
			g.depth--
			g.line("}")
		}()
	}
	switch {
	case r.t.kind == boolean:
		g.line("if %s {", g.convert(place, r.t, typeBool))
		g.line("\tacc[%d] ^= 5", i)
		g.line("}")
	case r.t.kind == float: // which NaN it is does not count
		g.line("if %[1]s == %[1]s {", place)
		g.line("\tacc[%d] += int64(math.Float32bits(float32(%s)))", i, place)
		g.line("}")
	default:
		g.line("acc[%d] ^= int64(%s)", i, place)
	}
	if r.at != "" {
		g.line("acc[%d] += int64(%s)", i, r.at)
	}
}

// outside declares a variable in front of a loop, which a clause of it takes.
func (g *gen) outside(prefix string) *variable {
	g.next++
	v := &variable{name: fmt.Sprintf("%s%d", prefix, g.next), t: g.scalarType(), set: true}
	g.line("%s := %s(%s)", v.name, v.t.name, g.literal(v.t))
	g.line("_ = %s", v.name)
	return v
}

// reduced declares what a loop reduces to: a variable, an array or a part of one, an element, a
// field, or what a pointer is to.
func (g *gen) reduced() *reduction {
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
	from = t.name + "(" + from + ")"
	r.clause = r.name
	switch base := r.name; {
	case g.chance(60):
		g.line("%s := %s", base, from)
	case t.kind != boolean && g.chance(40):
		n := 2 + g.IntN(4)
		g.line("%s := [%d]%s{%s, 1: %s}", base, n, t.name, from, from)
		r.parts, r.width = n, n
		if g.chance(30) {
			lo := g.IntN(n - 1)
			r.low, r.width = lo, 1+g.IntN(n-lo)
			r.clause = fmt.Sprintf("%s[%d:%d]", base, lo, lo+r.width)
		}
	case g.chance(30):
		g.line("%s := [3]%s{2: %s}", base, t.name, from)
		r.name = fmt.Sprintf("%s[%d]", base, g.IntN(3))
		r.clause = r.name
		defer g.line("_ = %s", base)
	case g.chance(50):
		g.line("var %s struct { a int32; b, c %s }", base, t.name)
		r.name = base + g.pick(".b", ".c")
		g.line("%s = %s", r.name, from)
		r.clause = r.name
	default:
		g.line("%sv := %s", base, from)
		g.line("%s := &%sv", base, base)
		r.name = "*" + base
		r.clause, r.name = r.name, "(*"+base+")"
	}
	g.line("_ = %s", r.name)
	return r
}

// located adds a reduction to the least or greatest value and the first index of it.
func (g *gen) located(index string) string {
	t := g.scalarType()
	for !t.number() {
		t = g.scalarType()
	}
	g.next++
	r := &reduction{name: fmt.Sprintf("red%d", g.next), op: g.pick("minloc", "maxloc"), t: t, at: fmt.Sprintf("at%d", g.next), index: index}
	g.line("%s, %s := %s(%s), -1", r.name, r.at, t.name, g.literal(t))
	g.line("_, _ = %s, %s", r.name, r.at)
	g.reds = append(g.reds, r)
	g.written = g.reds
	if g.chance(50) {
		return fmt.Sprintf(" reduction(%s: (%s, %s))", r.op, r.name, r.at)
	}
	return fmt.Sprintf(" reduction(%s: %s, %s)", r.op, r.name, r.at)
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
	if !strings.Contains(head, "-") && g.chance(20) {
		clauses += g.located("i")
	}
	kind := g.pick("teams distribute parallel for", "teams distribute parallel for", "teams distribute parallel for simd", "parallel for", "teams loop", "parallel for simd")
	if kind != "teams loop" && g.chance(25) {
		clauses += " schedule(" + g.pick("static", "static, 3", "dynamic", "dynamic, 4", "guided", "cyclic", "onetoone", "counter", "auto") + ")"
	}
	if kind == "teams loop" && strings.Contains(clauses, "firstprivate") {
		kind = "teams distribute parallel for"
	}
	ends := 1
	if strings.HasPrefix(kind, "teams distribute") && !strings.Contains(clauses, "lastprivate") && g.chance(25) { // code of the teams around it
		kind = strings.TrimPrefix(kind, "teams ")
		g.line("//omp:teams")
		if g.chance(50) {
			g.line("{")
			g.line("if n > 3 {")
			ends++
		} else { // halves, as no team waits for another in between
			g.line("for half := 0; half < 2; half++ {")
			head, at, t = "for i := half*(n*w)/2; i < (half+1)*(n*w)/2; i++ {", "i", typeInt
		}
		ends++
	}
	g.line("//omp:%s%s", kind, clauses)
	g.line("%s", head)
	g.nests = !strings.Contains(kind, "simd")
	defer func() { g.nests = true }()
	g.own = "i"
	g.parallelBody([]string{at}, []*variable{{name: "i", t: t}})
	g.own = ""
	for range ends {
		g.line("}")
	}
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
	g.fresh()
	g.block(2 + g.IntN(6))
	g.frames = g.frames[:len(g.frames)-1]
	g.vars, g.reds = vars, reds
}

// fresh gives each variable of clause private or lastprivate a value.
func (g *gen) fresh() {
	private := g.private
	g.private = nil
	g.depth++
	for _, v := range private {
		g.line("%s = %s", v.name, g.expr(v.t, 1))
		c := *v
		g.level++
		g.declare(&c)
		g.level--
	}
	g.depth--
}

// grid is a parallel loop of two or three that are collapsed.
func (g *gen) grid() {
	g.at, g.budget = []string{"0"}, 3
	clauses, after := g.clauses()
	kind := g.pick("teams distribute parallel for", "teams distribute parallel for", "parallel for")
	if g.chance(30) {
		g.line("//omp:%s collapse(3)%s", kind, clauses)
		g.line("%s", g.pick("for r := range n {", "for r := 0; r < n; r++ {", "for r := n - 1; r >= 0; r-- {"))
		g.line("%s", g.pick("for c := range w {", "for c := 0; c < w; c++ {", "for c := w - 1; c >= 0; c-- {", "for c := 1; c < w; c += 2 {"))
		t := g.pickType("int", "int", "uint8", "int64", "int8")
		g.line(g.pick("for q := %[1]s(0); q < 2; q++ {", "for q := range %[1]s(2) {", "for q := %[1]s(0); q <= 1; q++ {"), t.name)
		g.parallelBody([]string{g.pick("(r*w+c)*2+int(q)", "r*w*2+c*2+int(q)", "(r*2+int(q))*w+c")}, []*variable{{name: "r", t: typeInt}, {name: "c", t: typeInt}, {name: "q", t: t}})
		g.line("}")
		g.line("}")
		g.line("}")
		after()
		return
	}
	g.line("//omp:%s collapse(2)%s", kind, clauses)
	t := g.pickType("int", "int", "int", "int32", "int64", "uint32", "uint64")
	if t == typeInt {
		inner := []string{"for c := range w {", "for c := 0; c < w; c++ {", "for c := w - 1; c >= 0; c-- {", "for c := 1; c < w; c += 2 {"}
		if !strings.Contains(clauses, "lastprivate") { // of a triangle no one knows the last iteration
			inner = append(inner, "for c := r; c < w; c++ {", "for c := 0; c < min(r, w); c++ {", "for c := 0; c < min(r+1, w); c++ {")
		}
		g.line("%s", g.pick("for r := range n {", "for r := 0; r < n; r++ {", "for r := n - 1; r >= 0; r-- {"))
		g.line("%s", g.pick(inner...))
		g.parallelBody([]string{g.pick("r*w+c", "c+w*r", "w*r+c")}, []*variable{{name: "r", t: typeInt}, {name: "c", t: typeInt}})
	} else {
		g.line(g.pick("for r := range %[1]s(n) {", "for r := %[1]s(0); r < %[1]s(n); r++ {"), t.name)
		g.line(g.pick("for c := range %[1]s(w) {", "for c := %[1]s(0); c < %[1]s(w); c++ {", "for c := %[1]s(1); c < %[1]s(w); c += 2 {"), t.name)
		g.parallelBody([]string{"int(r)*w+int(c)"}, []*variable{{name: "r", t: t}, {name: "c", t: t}})
	}
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
	g.depth--
	g.at = []string{"r*w"}
	g.fresh()
	g.depth++
	g.line("if w == 0 {")
	g.line("\tcontinue")
	g.line("}")
	for range 1 + g.IntN(3) {
		g.at, g.budget = []string{"r*w", "r*w+w/2", "r*w"}, 5
		for range g.IntN(3) {
			g.stmt()
		}
		if g.inner(); g.chance(60) {
			g.callOrphan()
		}
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
	kind := g.pick("parallel for", "parallel for", "parallel for simd", "parallel for schedule(static, 1)")
	g.line("//omp:%s%s", kind, clauses)
	g.nests = !strings.Contains(kind, "simd")
	defer func() { g.nests = true }()
	g.line("%s", g.pick("for c := range w {", "for c := 0; c < w; c++ {", "for c := w - 1; c >= 0; c-- {", "for c := 1; c < w; c += 2 {"))
	g.parallelBody([]string{g.pick("r*w+c", "c+w*r")}, []*variable{{name: "c", t: typeInt}})
	g.line("}")
	inner := g.written
	g.vars, g.reds, g.atomics, g.written = outer, reds, atomics, nil
	for _, r := range inner { // what the team reduced goes into an element of its own
		t := r.t
		if r.parts > 0 {
			t = arrayOf(r.parts, t)
		}
		g.declare(&variable{name: r.name, t: t, later: true})
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
