package odd

import (
	"fmt"
	"math"
	"math/rand/v2"
	"strings"
)

// This file has programs that move slices about: code between parallel loops exchanges slices,
// reslices them and chooses between them, through structs of slices and helpers too, and records are
// stored through one slice and read through another of the same memory.

// firstMoved is the first seed of these programs.
const firstMoved = 1 << 41

// isSerial reports whether seed is one of serial_test.go.
func isSerial(seed uint64) bool { return seed >= firstSerial && seed < firstMoved }

// mover writes one program. The slices of its group never overlap: each lies in memory of its own,
// and statements only exchange them and make them shorter.
type mover struct {
	*gen
	params []parameter
	group  []*variable
	elem   *typ
	left   int // elements that reslicing may still take off each slice
	rounds int // that the statement at hand is repeated, at most
	depths int // of loops around it
	phases int // still to be written
	views  bool
}

// slack is how many elements more than others the slices of these programs have.
const slack = 64

// makeMoved returns the text of program seed.
func makeMoved(seed uint64) string {
	g := &gen{Rand: rand.New(rand.NewPCG(seed, 733)), id: fmt.Sprint(seed)}
	g.risky = g.chance(8)
	g.makeTypes()
	for _, t := range g.types[len(basic):] {
		if g.chance(40) {
			g.method(t)
		}
	}
	for range g.IntN(3) {
		g.function()
	}
	m := &mover{gen: g, left: slack / 2, rounds: 1, phases: 5 + g.IntN(5)}
	m.elem = g.anyType(1)
	for range 3 { // records, as a rule
		if m.elem.kind != structure && len(g.structs) > 0 {
			m.elem = g.anyType(1)
		}
	}
	m.kernel()
	return g.b.String()
}

// helpers are what exchanges go through.
func (m *mover) helpers() {
	e := m.elem.name
	m.line("type view_%s struct {", m.id)
	m.line("\tcur, nxt []%s", e)
	m.line("\tw        int")
	m.line("}")
	m.line("")
	m.line("func (v *view_%[1]s) flip() { v.cur, v.nxt = v.nxt, v.cur }", m.id)
	m.line("")
	m.line("func (v view_%[1]s) other() view_%[1]s { return view_%[1]s{v.nxt, v.cur, v.w} }", m.id)
	m.line("")
	m.line("func (v *view_%[1]s) drop(k int) { v.cur, v.nxt = v.cur[k:], v.nxt[:len(v.nxt)-k] }", m.id)
	m.line("")
	m.line("func swapped_%[1]s(x, y []%[2]s) ([]%[2]s, []%[2]s) { return y, x }", m.id, e)
	m.line("")
	m.line("func chosen_%[1]s(c bool, x, y []%[2]s) []%[2]s {", m.id, e)
	m.line("\tif c {")
	m.line("\t\treturn x")
	m.line("\t}")
	m.line("\treturn y")
	m.line("}")
	m.line("")
}

func (m *mover) kernel() {
	m.helpers()
	e := sliceOf(m.elem)
	params := []parameter{{"n", "", typeInt, false}, {"w", "", typeInt, false}, {"k2", "", m.intType(), false}, {"k3", "", m.scalarType(), false},
		{"outa", "inout", e, false}, {"outb", "inout", e, false}, {"outc", "inout", e, false}, {"in7", "in", sliceOf(m.anyType(1)), false}}
	if m.chance(35) {
		m.line("type rec_%s struct {", m.id)
		m.line("\tCur, Nxt []%s", m.elem.name)
		m.line("}")
		m.line("")
		m.line("func (r *rec_%s) flip() { r.Cur, r.Nxt = r.Nxt, r.Cur }", m.id)
		m.line("")
		m.views = true
	}
	params = append(params, parameter{"ix", "in", sliceOf(typeI32), false}, parameter{"acc", "inout", sliceOf(typeI64), false})
	var list, in, out []string
	for _, p := range params {
		list = append(list, p.name+" "+p.t.name)
		switch p.access {
		case "in":
			in = append(in, p.name)
		case "inout":
			out = append(out, p.name)
		}
	}
	if m.views {
		list = append(list, "rec rec_"+m.id)
		out = append(out, "rec.Cur", "rec.Nxt")
	}
	m.line("//omp:target device(acc, smp)")
	if m.chance(50) {
		m.line("//omp:task in(%s) inout(%s)", quoted(in), quoted(out))
	}
	m.line("func K_%s(%s) {", m.id, quoted(list))
	m.params = params
	m.gen.depth, m.level, m.nests = 1, 1, true
	m.line("if len(ix) < n*w || n < 0 || w < 0 {")
	m.line("\treturn")
	m.line("}")
	m.makeGroup()
	for m.phases > 0 {
		m.phase()
	}
	m.outside()
	m.gen.depth = 0
	m.line("}")
}

// makeGroup declares the slices that the program moves.
func (m *mover) makeGroup() {
	add := func(name string) {
		m.group = append(m.group, &variable{name: name, t: sliceOf(m.elem)})
	}
	parts := []string{"outa", "outb", "outc"}
	if m.chance(30) { // parts of one memory
		m.line("h := len(outb) / 2")
		m.line("_ = h")
		parts = m.pickList([]string{"outa", "outb[:h]", "outb[h:]"}, []string{"outb[h:]", "outb[:h]", "outc[1:]"}, []string{"outb[h:]", "outc[:len(outc)-3]", "outb[:h:h]"})
	}
	m.Shuffle(len(parts), func(i, j int) { parts[i], parts[j] = parts[j], parts[i] })
	switch n := m.IntN(10); {
	case n < 2 && m.views:
		add("rec.Cur")
		add("rec.Nxt")
		m.left /= 2 // they have no parts
	case n < 5:
		m.line("b := view_%s{%s, %s, w}", m.id, parts[0], parts[1])
		add("b.cur")
		add("b.nxt")
	case n < 7:
		m.line("x, y := %s, %s", parts[0], parts[1])
		add("x")
		add("y")
	case n < 8:
		m.line("x := %s", parts[0])
		m.line("var y []%s = %s", m.elem.name, parts[1])
		add("x")
		add("y")
	case n < 9 && strings.IndexByte(quoted(parts), '[') < 0: // the parameters themselves
		add(parts[0])
		add(parts[1])
		return
	default:
		m.line("x, y, z := %s, %s, %s", parts[0], parts[1], parts[2])
		add("x")
		add("y")
		add("z")
	}
	for _, v := range m.group {
		m.line("_ = %s", v.name)
	}
}

func (m *mover) pickList(lists ...[]string) []string { return lists[m.IntN(len(lists))] }

// scalars puts all but the group into scope.
func (m *mover) scalars() {
	m.vars, m.reds, m.frames, m.atomics, m.results = nil, nil, nil, nil, nil
	for _, p := range m.params {
		if p.access != "inout" {
			m.declare(&variable{name: p.name, t: p.t})
		}
	}
}

// outside is code between the loops: it runs once.
func (m *mover) outside() {
	m.scalars()
	for _, v := range m.group {
		m.declare(&variable{name: v.name, t: v.t, set: true, owned: true})
	}
	m.declare(&variable{name: "acc", t: sliceOf(typeI64), set: true, least: 8})
	m.at, m.budget = []string{"0", "n/2", "1"}, 2
	m.assign()
	m.line("acc[%d] += int64(len(%s))", m.IntN(8), m.group[m.IntN(len(m.group))].name)
}

// decision is a condition of the code between the loops.
func (m *mover) decision() string {
	m.scalars()
	m.at = []string{"0"}
	if m.chance(30) { // of what a loop wrote
		for _, v := range m.group {
			m.declare(&variable{name: v.name, t: v.t})
		}
	}
	return m.cond(typeBool, 1)
}

// phase is a loop, or a move, with code around it at times.
func (m *mover) phase() {
	m.phases--
	switch n := m.IntN(20); {
	case n < 6:
		m.step()
	case n < 11:
		m.exchange()
	case n < 13:
		m.reslice()
	case n == 13:
		m.outside()
	case n == 14:
		m.aliased()
	case n == 15:
		m.rows()
	case n < 18 && m.depths < 2:
		m.line("if %s {", m.decision())
		m.inside(1)
		if m.chance(40) {
			m.line("} else {")
			m.inside(1)
		}
		m.line("}")
	case m.depths < 2:
		m.times()
	default:
		m.step()
	}
}

// inside is a block of a few phases.
func (m *mover) inside(rounds int) {
	m.gen.depth++
	m.level++
	m.depths++
	m.rounds *= rounds
	for range 1 + m.IntN(3) {
		m.phase()
	}
	m.rounds /= rounds
	m.depths--
	m.level--
	m.gen.depth--
}

// times is a loop around loops and moves.
func (m *mover) times() {
	it := fmt.Sprintf("it%d", m.next)
	m.next++
	m.line(m.pick("for %[1]s := range 3 {", "for %[1]s := 0; %[1]s < 2+w&1; %[1]s++ {", "for %[1]s := n & 3; %[1]s > 0; %[1]s-- {", "for %[1]s := int8(125); %[1]s > 0; %[1]s++ {"), it)
	m.line("\tacc[%d] += int64(%s)", m.IntN(8), it)
	if m.chance(30) {
		m.line("\tif %s {", m.decision())
		m.line("\t\t%s", m.pick("break", "continue"))
		m.line("\t}")
	}
	if m.chance(70) { // as stencils do
		m.gen.depth++
		m.step()
		m.rounds *= 3
		m.exchange()
		m.rounds /= 3
		m.gen.depth--
	}
	m.inside(3)
	m.line("}")
}

// exchange gives slices of the group other memory of it.
func (m *mover) exchange() {
	if m.chance(25) {
		m.line("if %s {", m.decision())
		m.gen.depth++
		m.moved()
		m.gen.depth--
		m.line("}")
		return
	}
	m.moved()
}

func (m *mover) moved() {
	m.Shuffle(len(m.group), func(i, j int) { m.group[i], m.group[j] = m.group[j], m.group[i] })
	a, b := m.group[0].name, m.group[1].name
	switch n := m.IntN(10); {
	case strings.HasPrefix(a, "rec.") && n < 5:
		m.line("rec.flip()")
	case strings.HasPrefix(a, "b.") && n < 3:
		m.line("b.flip()")
	case strings.HasPrefix(a, "b.") && n < 5:
		m.line("b = b.other()")
	case strings.HasPrefix(a, "b.") && n == 5:
		m.line("b = view_%s{nxt: %s, cur: %s, w: b.w}", m.id, a, b)
	case len(m.group) == 3 && n < 5:
		c := m.group[2].name
		m.line("%s, %s, %s = %s, %s, %s", a, b, c, b, c, a)
	case n == 6:
		m.line("%[1]s, %[2]s = swapped_%[3]s(%[1]s, %[2]s)", a, b, m.id)
	case n == 7:
		t := fmt.Sprintf("t%d", m.next)
		m.next++
		m.line("%s := %s", t, a)
		m.line("%s = %s", a, b)
		m.line("%s = %s", b, t)
	default:
		m.line("%s, %s = %s, %s", a, b, b, a)
	}
}

// reslice takes elements off a slice of the group.
func (m *mover) reslice() {
	take := 1 + m.IntN(3)
	if m.left < take*m.rounds {
		m.exchange()
		return
	}
	m.left -= take * m.rounds
	v := m.group[m.IntN(len(m.group))].name
	switch n := m.IntN(8); {
	case strings.HasPrefix(v, "b.") && n < 3:
		m.line("b.drop(%d)", take)
	case n < 3:
		m.line("%[1]s = %[1]s[%[2]d:]", v, take)
	case n == 3:
		m.line("%[1]s = %[1]s[:len(%[1]s)-%[2]d]", v, take)
	case n == 4:
		m.line("%[1]s = %[1]s[1 : len(%[1]s)-%[2]d : len(%[1]s)-%[2]d]", v, take-1)
	case n == 5: // back to what it was
		m.line("%[1]s = %[1]s[:3][:len(%[1]s)]", v)
	case n == 6:
		m.line("%[1]s = %[1]s[%[2]s&%[3]d:]", v, m.pick("n", "w", "len("+v+")"), m.pickBits(take))
	default:
		m.line("if %s {", m.decision())
		m.line("\t%[1]s = %[1]s[%[2]d:]", v, take)
		m.line("}")
	}
}

// pickBits is a mask of numbers up to n, as a number.
func (m *mover) pickBits(n int) int {
	if n >= 3 {
		return 3
	}
	return 1
}

// step is a parallel loop that writes one slice of the group, or more, and reads others.
func (m *mover) step() {
	m.scalars()
	m.at, m.budget = []string{"0"}, 3
	var writes int
	for i, v := range m.group {
		own := i == 0 || m.chance(20)
		if own {
			writes++
		}
		c := &variable{name: v.name, t: v.t, set: own, owned: own}
		if strings.Contains(v.name, ".") && m.chance(30) { // under a name of its own
			c.name = fmt.Sprintf("q%d", m.next)
			m.next++
			m.line("%s := %s", c.name, v.name)
			m.line("_ = %s", c.name)
		}
		m.declare(c)
	}
	m.Shuffle(len(m.group), func(i, j int) { m.group[i], m.group[j] = m.group[j], m.group[i] })
	m.freeze()
	head, at, t := m.head("n*w")
	if directive := m.pick("teams distribute parallel for", "teams distribute parallel for", "teams distribute parallel for simd", "parallel for", "teams loop", "loop", ""); directive != "" {
		m.line("//omp:%s", directive)
		m.nests = !strings.Contains(directive, "simd")
	}
	m.line("%s", head)
	m.own = "i"
	m.parallelBody([]string{at}, []*variable{{name: "i", t: t}})
	m.own, m.nests = "", true
	m.line("}")
}

// aliased is a loop in order, over slices that are one memory at different places.
func (m *mover) aliased() {
	m.scalars()
	v := m.group[m.IntN(len(m.group))].name
	m.next++
	u, o := fmt.Sprintf("u%d", m.next), fmt.Sprintf("o%d", m.next)
	m.line(m.pick("%[2]s, %[3]s := %[1]s[1:], %[1]s", "%[2]s, %[3]s := %[1]s, %[1]s[n:]", "%[2]s, %[3]s := %[1]s[2:], %[1]s[:len(%[1]s)-1]", "%[2]s, %[3]s := %[1]s, %[1]s"), v, u, o)
	m.line("_, _ = %s, %s", u, o)
	if m.chance(50) {
		m.line("if %s {", m.decision())
		m.line("\t%[1]s, %[2]s = %[2]s, %[1]s", u, o)
		m.line("}")
		m.scalars()
	}
	for _, name := range []string{u, o} {
		m.declare(&variable{name: name, t: sliceOf(m.elem), set: true, owned: true})
	}
	m.budget = 3
	at := []string{"i", "i+1", "i+2", "n*w-i", "i/2", "i&3", "int(ix[i%max(1, n*w)])", "0"}
	m.Shuffle(len(at), func(i, j int) { at[i], at[j] = at[j], at[i] })
	if m.chance(40) {
		m.line("//omp:%s", m.pick("loop", "teams loop"))
	}
	m.line("%s", m.pick("for i := range n*w {", "for i := 0; i < n+w; i++ {", "for i := n*w - 1; i >= 0; i-- {"))
	m.parallelBody(at[:1+m.IntN(3)], []*variable{{name: "i", t: typeInt}})
	m.line("}")
}

// rows is a loop of teams, each of which exchanges its rows between loops of its threads.
func (m *mover) rows() {
	m.scalars()
	m.at, m.budget = []string{"0"}, 3
	a, b := m.group[0].name, m.group[1].name
	m.freeze()
	m.line("//omp:teams distribute")
	m.line("%s", m.pick("for r := range n {", "for r := n - 1; r >= 0; r-- {"))
	vars := m.vars
	m.gen.depth++
	m.level += 2
	m.declare(&variable{name: "r", t: typeInt})
	m.line("p, q := %s[r*w:r*w+w], %s[%s]", a, b, m.pick("r*w:r*w+w", "r*w:r*w+w:r*w+w"))
	m.line("for s := range 1 + w&3 {")
	m.line("\t_ = s")
	m.gen.depth++
	m.level += 2
	m.declare(&variable{name: "s", t: typeInt})
	outer := m.vars
	m.declare(&variable{name: "q", t: sliceOf(m.elem), set: true, owned: true})
	for i := range 1 + m.IntN(2) { // of the other row: an element
		m.next++
		e := fmt.Sprintf("e%d", m.next)
		if i == 0 {
			kind := m.pick("", "", " simd", " schedule(static, 1)")
			m.line("//omp:parallel for%s", kind)
			m.nests = kind != " simd"
		} else {
			m.line("//omp:parallel for")
		}
		m.line("for c := range w {")
		m.gen.depth++
		m.line("%s := p[%s]", e, m.pick("c", "(c+1)%w", "w-1-c", "(c+s)%w"))
		m.line("_ = %s", e)
		m.level += 2
		inner := m.vars
		first := &variable{name: e, t: m.elem, set: true}
		m.declare(first)
		first.level = math.MaxInt // the body declares it: no statement of the body does so again
		m.gen.depth--
		m.parallelBody([]string{"c"}, []*variable{{name: "c", t: typeInt}})
		m.nests = true
		if m.chance(60) {
			m.line("\tq[c] = %s", e)
		}
		m.vars = inner
		m.level -= 2
		m.line("}")
	}
	m.vars, m.at = outer, []string{"0"}
	switch m.IntN(4) {
	case 0:
		m.line("if %s {", m.cond(typeBool, 1))
		m.line("\tp, q = q, p")
		m.line("}")
	case 1:
		m.line("p, q = swapped_%s(p, q)", m.id)
	default:
		m.line("p, q = q, p")
	}
	m.level -= 4
	m.gen.depth--
	m.line("}")
	m.gen.depth--
	m.line("}")
	m.vars = vars
}

// turn is two slices in an iteration that are exchanged, resliced and chosen.
func (g *gen) turn() {
	if len(g.at) == 0 {
		g.assign()
		return
	}
	for range 12 {
		v, o := g.vars[g.IntN(len(g.vars))], g.vars[g.IntN(len(g.vars))]
		if v.t.kind != slice || o.t.kind != slice || v.t.elem.name != o.t.elem.name || v.at != "" || o.at != "" || v.least > 0 || o.least > 0 {
			continue
		}
		own := v.owned && v.set && o.owned && o.set
		if !own && (v.owned || v.set || o.owned || o.set) {
			continue
		}
		at := g.at[g.IntN(len(g.at))]
		g.next++
		p, q := fmt.Sprintf("p%d", g.next), fmt.Sprintf("q%d", g.next)
		least := 1
		if own {
			g.line("%[1]s, %[2]s := %[3]s[%[5]s:%[5]s+1], %[4]s[%[5]s:][:1]", p, q, v.name, o.name, at)
		} else {
			least = 2
			g.line("%[1]s, %[2]s := %[3]s[%[5]s:], %[4]s[%[5]s+1:%[5]s+6]", p, q, v.name, o.name, at)
		}
		g.line("_, _ = %s, %s", p, q)
		switch g.IntN(5) {
		case 0:
			g.line("%[1]s, %[2]s = %[2]s, %[1]s", p, q)
		case 1:
			g.line("if %s {", g.cond(typeBool, 1))
			g.line("\t%[1]s, %[2]s = %[2]s, %[1]s", p, q)
			g.line("}")
		case 2:
			g.line("for range int(uint8(%s)) & 3 {", g.leaf(g.intType()))
			g.line("\t%[1]s, %[2]s = %[2]s, %[1]s", p, q)
			if !own {
				g.line("\t%[1]s = %[1]s[1:]", p)
			}
			g.line("}")
		case 3:
			g.line("if %s {", g.cond(typeBool, 1))
			g.line("\t%[1]s = %[2]s", p, q)
			g.line("}")
		default:
			if !own {
				g.line("%[1]s = %[1]s[1:3]", p)
			}
			g.line("%[1]s, %[2]s = %[2]s[:%[3]d], %[1]s", p, q, least)
		}
		for _, name := range []string{p, q} {
			g.declare(&variable{name: name, t: v.t, set: own, least: least})
		}
		return
	}
	g.assign()
}
