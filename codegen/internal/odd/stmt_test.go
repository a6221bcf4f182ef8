package odd

import (
	"fmt"
	"strings"
)

// A frame is a loop or switch that a jump may name.
type frame struct {
	label   string
	loop    bool
	used    bool
	barrier bool // no jump leaves it: a directive governs it
	closed  bool // nor does continue: it is a block
}

// A reduction is a variable that iterations combine.
type reduction struct {
	name, op   string
	t          *typ
	clause     string // what the clause names
	parts      int    // of an array: its elements, of which width from low on are reduced
	low, width int
	at, index  string // of minloc and maxloc: the variable of the index, and what it is set to
}

// place is what an iteration updates.
func (r *reduction) place(g *gen) string {
	switch {
	case r.parts == 0:
		return r.name
	case r.width == 1 || g.chance(50):
		return fmt.Sprintf("%s[%d]", r.name, r.low+g.IntN(r.width))
	}
	return fmt.Sprintf("%s[%d+uint8(%s)%%%d]", r.name, r.low, g.leaf(g.intType()), r.width)
}

// block writes up to n statements in a scope of their own.
func (g *gen) block(n int) {
	vars, reds := g.vars, g.reds
	g.depth++
	g.level++
	for range n {
		g.stmt()
	}
	g.level--
	g.depth--
	g.vars, g.reds = vars, reds
}

func (g *gen) stmt() {
	g.budget--
	if g.budget < 0 {
		g.assign()
		return
	}
	deep := g.depth > 6
	switch n := g.IntN(36); {
	case n < 8:
		g.assign()
	case n < 11:
		g.define()
	case n < 14 && !deep:
		g.branch()
	case n < 18 && !deep:
		g.loop()
	case n < 20 && !deep:
		g.choice()
	case n < 23:
		g.jump()
	case n == 23:
		g.swap()
	case n == 24:
		g.pointer()
	case n == 25:
		g.part()
	case n == 26:
		g.several()
	case n == 27 && !deep:
		g.closure()
	case n == 28:
		g.copies()
	case n == 29:
		g.change()
	case n == 30 && !deep:
		g.line("{")
		g.block(1 + g.IntN(3))
		g.line("}")
	case n == 31:
		g.combine()
	case n == 32:
		g.atomic()
	case n == 33:
		g.turn()
	case n > 33 && !deep && g.results == nil:
		g.row()
	default:
		g.assign()
	}
}

// target is a place that may be assigned.
func (g *gen) target() (string, *typ) {
	var list []*variable
	for _, v := range g.vars {
		if v.set {
			list = append(list, v)
		}
	}
	if len(list) == 0 {
		return "", nil
	}
	// Later ones more often: they are what the innermost block declares.
	v := list[max(g.IntN(len(list)), g.IntN(len(list)))]
	return g.place(v, nil)
}

// assign writes one place.
func (g *gen) assign() {
	to, t := g.target()
	if t == nil {
		return
	}
	if g.chance(8) {
		g.assignWhole()
		return
	}
	d := 1 + g.IntN(3)
	switch {
	case t.kind == boolean:
		g.line("%s = %s", to, g.expr(t, d))
	case t.kind == float && g.chance(50):
		g.line("%s %s %s", to, g.pick("+=", "-=", "*="), g.operandOf(t, d))
	case t.kind == integer && g.chance(10):
		g.line("%s%s", to, g.pick("++", "--"))
	case t.kind == integer && g.chance(10):
		g.line("%s %s %s & %d", to, g.pick("<<=", ">>="), g.expr(g.intType(), 1), t.bits-1)
	case t.kind == integer && g.chance(45):
		g.line("%s %s %s", to, g.pick("+=", "-=", "*=", "^=", "|=", "&=", "&^="), g.operand(t, d))
	default:
		g.line("%s = %s", to, g.expr(t, d))
	}
}

// operandOf is an operand of an assignment operator: fusion of the product is Go's to do where nothing converts.
func (g *gen) operandOf(t *typ, d int) string { return g.operand(t, d) }

// assignWhole writes a whole array or struct.
func (g *gen) assignWhole() {
	var list []*variable
	for _, v := range g.vars {
		if v.set && (v.t.kind == structure || v.t.kind == array || v.t.kind == slice && !v.t.elem.scalar()) {
			list = append(list, v)
		}
	}
	if len(list) == 0 {
		return
	}
	v := list[g.IntN(len(list))]
	to, t := v.name, v.t
	if t.kind == slice {
		to, t = g.place(v, v.t.elem)
	}
	if g.chance(50) {
		g.line("%s = %s", to, g.whole2(t))
	} else {
		g.line("%s = %s", to, g.composite(t, 1))
	}
}

// define declares a local variable.
func (g *gen) define() {
	t := g.anyType(2)
	if t.size() > 12 {
		t = g.scalarType()
	}
	e := ""
	switch {
	case t.scalar():
		e = g.expr(t, 2)
	case g.chance(50):
		e = g.whole2(t)
	default:
		e = g.composite(t, 1)
	}
	v := g.local("v")
	switch g.IntN(4) {
	case 0:
		g.line("var %s %s", v, t.name)
	case 1:
		g.line("var %s %s = %s", v, t.name, e)
	default:
		g.line("%s := %s", v, e)
	}
	g.line("_ = %s", v)
	g.declare(&variable{name: v, t: t, set: g.chance(85)})
}

// branch is an if, with an initial statement at times.
func (g *gen) branch() {
	vars := g.vars
	g.level++
	defer func() { g.vars, g.level = vars, g.level-1 }()
	init := ""
	if g.chance(20) {
		t := g.scalarType()
		e, v := g.expr(t, 1), g.local("v")
		init = fmt.Sprintf("%s := %s; ", v, e)
		g.declare(&variable{name: v, t: t, set: true})
		init += g.convert(v, t, typeBool) + " == "
	}
	g.line("if %s%s {", init, g.cond(typeBool, 2))
	g.block(1 + g.IntN(3))
	for g.chance(20) {
		g.line("} else if %s {", g.cond(typeBool, 1))
		g.block(1 + g.IntN(2))
	}
	if g.chance(40) {
		g.line("} else {")
		g.block(1 + g.IntN(2))
	}
	g.line("}")
}

// framed writes a loop or switch, with its label where a jump names it.
func (g *gen) framed(f frame, write func()) {
	g.next++
	f.label = fmt.Sprintf("L%d", g.next)
	g.frames = append(g.frames, f)
	before := g.b.String()
	g.b.Reset()
	write()
	inner := g.b.String()
	g.b.Reset()
	g.b.WriteString(before)
	if f = g.frames[len(g.frames)-1]; f.used {
		g.b.WriteString(strings.Repeat("\t", g.depth) + f.label + ":\n")
	}
	g.b.WriteString(inner)
	g.frames = g.frames[:len(g.frames)-1]
}

// jump leaves a loop, a switch, an iteration or the function.
func (g *gen) jump() {
	var list []string
	for k := len(g.frames) - 1; k >= 0; k-- {
		f := &g.frames[k]
		if f.barrier {
			inner := true
			for _, o := range g.frames[k+1:] {
				inner = inner && !o.loop
			}
			if inner && !f.closed {
				list = append(list, "continue")
			}
			break
		}
		list = append(list, "break "+f.label)
		if k == len(g.frames)-1 {
			list = append(list, "break")
		}
		if f.loop {
			list = append(list, "continue "+f.label)
			inner := true
			for _, o := range g.frames[k+1:] {
				inner = inner && !o.loop
			}
			if inner {
				list = append(list, "continue")
			}
		}
	}
	if g.results != nil {
		list = append(list, "return", "return")
	}
	if len(list) == 0 {
		g.assign()
		return
	}
	j := g.pick(list...)
	if j == "return" {
		j = g.returned()
	}
	if _, label, ok := strings.Cut(j, " L"); ok && !strings.HasPrefix(j, "return") {
		for k := range g.frames {
			if g.frames[k].label == "L"+label {
				g.frames[k].used = true
			}
		}
	}
	g.line("if %s {", g.cond(typeBool, 2))
	if g.chance(30) {
		g.depth++
		g.assign()
		g.depth--
	}
	g.line("\t%s", j)
	g.line("}")
}

// returned is a return statement.
func (g *gen) returned() string {
	var list []string
	for _, t := range g.results {
		if t.scalar() {
			list = append(list, g.expr(t, 1))
		} else {
			list = append(list, g.whole2(t))
		}
	}
	return "return " + quoted(list)
}

// choice is a switch with or without tag, with fallthrough.
func (g *gen) choice() {
	vars := g.vars
	g.level++
	defer func() { g.vars, g.level = vars, g.level-1 }()
	g.framed(frame{}, func() {
		var cases []string
		switch {
		case g.chance(60):
			t := g.intType()
			values := []string{"0", "1", "2", "3", "5", "7", "100"}
			g.Shuffle(len(values), func(i, j int) { values[i], values[j] = values[j], values[i] })
			cases = []string{values[0], values[1] + ", " + values[2], values[3]}
			tag := g.expr(t, 1)
			if g.chance(70) {
				tag += " & 3"
			}
			init := ""
			if g.chance(15) {
				v := g.local("v")
				init, tag = v+" := "+tag+"; ", v
				g.declare(&variable{name: v, t: t, set: true})
			}
			if g.chance(25) { // a case that is computed
				cases[g.IntN(3)] = g.expr(t, 1)
			}
			g.line("switch %s%s {", init, tag)
		default:
			cases = []string{g.cond(typeBool, 1), g.cond(typeBool, 1), g.cond(typeBool, 0)}
			g.line("switch {")
		}
		cases = cases[:1+g.IntN(3)]
		fall := g.IntN(4)
		at := g.IntN(6)
		for i, c := range cases {
			if i == at {
				g.fallback(true)
			}
			g.line("case %s:", c)
			g.block(g.IntN(3))
			if i == fall && i+1 < len(cases) {
				g.line("\tfallthrough")
			}
		}
		if at >= len(cases) && at < 5 {
			g.fallback(false)
		}
		g.line("}")
	})
}

func (g *gen) fallback(more bool) {
	g.line("default:")
	g.block(1 + g.IntN(2))
	if more && g.chance(30) {
		g.line("\tfallthrough")
	}
}

// swap is an assignment of several places.
func (g *gen) swap() {
	a, t := g.target()
	b, u := g.target()
	if t == nil || a == b || strings.ContainsAny(a+b, "%&") { // one place twice is legal, yet its order is not what is tried here
		g.assign()
		return
	}
	g.line("%s, %s = %s, %s", a, b, g.expr(t, 1), g.expr(u, 1))
}

// pointer points at an element, a field or a variable.
func (g *gen) pointer() {
	var list []*variable
	for _, v := range g.vars {
		if v.t.kind != pointer && (v.set || v.t.kind == slice && !v.owned) && !(v.t.kind == slice && v.least > 0) {
			list = append(list, v)
		}
	}
	if len(list) == 0 {
		return
	}
	v := list[g.IntN(len(list))]
	var stop *typ
	if v.t.kind == slice {
		stop = v.t.elem
	} else if !v.t.scalar() && g.chance(50) {
		stop = v.t
	}
	place, t := g.place(v, stop)
	p := g.local("p")
	if p == v.name {
		return
	}
	g.line("%s := &%s", p, place)
	g.line("_ = %s", p)
	g.declare(&variable{name: p, t: pointerTo(t), set: v.set || v.owned && g.owner(v)})
}

// owner says that a slice's elements may be written at the iteration's own index.
func (g *gen) owner(v *variable) bool { return v.set }

// part is a slice of an array or of another slice.
func (g *gen) part() {
	for range 8 {
		v := g.vars[g.IntN(len(g.vars))]
		switch {
		case v.t.kind == array && v.t.n > 1 && v.set:
			lo := g.IntN(v.t.n - 1)
			hi := lo + 1 + g.IntN(v.t.n-lo)
			name := g.local("q")
			if name == v.name {
				return
			}
			g.line("%s := %s[%d:%d]", name, v.name, lo, min(hi, v.t.n))
			g.line("_ = %s", name)
			g.declare(&variable{name: name, t: sliceOf(v.t.elem), set: true, least: min(hi, v.t.n) - lo})
			return
		case v.t.kind == slice && !v.owned && !v.set && v.least == 0:
			name := g.local("q")
			at := "n"
			if len(g.at) > 0 {
				at = g.at[g.IntN(len(g.at))]
			}
			forms := []string{"%[2]s[%[3]s:]", "%[2]s[%[3]s:][:4]", "%[2]s[%[3]s:%[3]s+5]", "%[2]s[1:%[3]s+6][1:]", ""}
			if name == v.name {
				return
			}
			g.line("%[1]s := "+forms[g.IntN(len(forms)-1)], name, v.name, at)
			g.line("_ = %s", name)
			g.declare(&variable{name: name, t: v.t, least: 4})
			return
		}
	}
	g.assign()
}

// copies is a copy or clear of a local array.
func (g *gen) copies() {
	for range 8 {
		v := g.vars[g.IntN(len(g.vars))]
		if v.t.kind != array || !v.set {
			continue
		}
		if g.chance(25) {
			g.line("clear(%s[%d:])", v.name, g.IntN(v.t.n))
			return
		}
		for range 8 {
			o := g.vars[g.IntN(len(g.vars))]
			if o.t.kind == slice && !o.owned && o.t.elem.name == v.t.elem.name {
				g.line("copy(%s[:], %s)", v.name, o.name)
				return
			}
			if o.t.kind == array && o.set && o.t.elem.name == v.t.elem.name {
				if g.chance(40) {
					w := g.scalarNamed()
					g.line("%s = %s(copy(%s[%d:], %s[%d:]))", w.name, w.t.name, v.name, g.IntN(v.t.n), o.name, g.IntN(o.t.n))
					return
				}
				g.line("copy(%s[%d:], %s[%d:])", v.name, g.IntN(v.t.n), o.name, g.IntN(o.t.n))
				return
			}
		}
	}
	g.assign()
}

// scalarNamed is a variable of an integer that may be assigned, or a new one.
func (g *gen) scalarNamed() *variable {
	for range 8 {
		if v := g.vars[g.IntN(len(g.vars))]; v.set && v.t.kind == integer {
			return v
		}
	}
	g.next++
	v := &variable{name: fmt.Sprintf("v%d", g.next), t: typeInt, set: true}
	g.line("var %s int", v.name)
	g.line("_ = %s", v.name)
	g.declare(v)
	return v
}

// combine gives a reduction what the iteration has.
func (g *gen) combine() {
	if len(g.reds) == 0 {
		g.assign()
		return
	}
	r := g.reds[g.IntN(len(g.reds))]
	if r.at != "" {
		g.locate(r)
		return
	}
	e, place := g.expr(r.t, 2), r.place(g)
	if r.t.kind == float && !(strings.HasPrefix(r.op, "m") && g.chance(60)) { // exact in every order
		e = fmt.Sprintf("%s(%s & 7)", r.t.name, g.expr(g.intType(), 1))
		if r.op == "*" {
			e = r.t.name + "(" + g.pick("1", "-1") + ")"
		}
	}
	switch r.op {
	case "min", "max":
		if g.chance(30) && r.t.kind == integer {
			g.line("if %s %s %s {", e, map[string]string{"min": "<", "max": ">"}[r.op], place)
			g.line("\t%s = %s", place, e)
			g.line("}")
			return
		}
		g.line("%s = %s(%s, %s)", place, r.op, place, e)
	case "&&", "||":
		g.line("%s = %s %s %s", place, place, r.op, e)
	case "+":
		if g.chance(20) && r.t.kind == integer {
			g.line("%s -= %s", place, e)
			return
		}
		fallthrough
	default:
		if g.chance(30) {
			g.line("%s = %s %s %s", place, place, r.op, e)
			return
		}
		g.line("%s %s= %s", place, r.op, e)
	}
}

// locate updates a least or greatest value with its index.
func (g *gen) locate(r *reduction) {
	e := g.expr(r.t, 2)
	g.next++
	v := fmt.Sprintf("e%d", g.next)
	g.line("%s := %s", v, e)
	g.line("if %s %s %s {", v, map[string]string{"minloc": "<", "maxloc": ">"}[r.op], r.name)
	if g.chance(50) {
		g.line("\t%s, %s = %s, int(%s)", r.name, r.at, v, r.index)
	} else {
		g.line("\t%s = %s", r.name, v)
		g.line("\t%s = int(%s)", r.at, r.index)
	}
	g.line("}")
}

// atomic updates shared memory in an order-free way.
func (g *gen) atomic() {
	if len(g.atomics) == 0 {
		g.assign()
		return
	}
	place := func(name string) string { return fmt.Sprintf("%s[uint8(%s) %% 8]", name, g.leaf(g.intType())) }
	switch a := g.pick(g.atomics...); {
	case a == "tickets" && g.chance(50):
		t := g.local("v")
		g.line("var %s int64", t)
		g.hide(t) // its value depends on the order of iterations
		g.line("//omp:atomic capture")
		g.line("{")
		if g.chance(50) {
			g.line("\t%s = tickets[0]", t)
			g.line("\ttickets[0]++")
		} else {
			g.line("\ttickets[0]++")
			g.line("\t%s = tickets[0]", t)
		}
		g.line("}")
		g.line("//omp:atomic")
		g.line("tickets[1] += %s", t)
	case a == "tickets":
		g.assign()
	default:
		i, t := strings.Index(a, " "), typeI64
		name, op := a[:i], a[i+1:]
		if strings.HasPrefix(name, "sums32") {
			t = whole[7]
		}
		e := g.expr(t, 1)
		to := place(name)
		g.line("//omp:atomic%s", g.pick("", " update"))
		if op == "min" || op == "max" {
			g.line("%s = %s(%s, %s)", to, op, to, e)
		} else {
			g.line("%s %s= %s", to, op, e)
		}
	}
}

// A header is that of a loop, with what it declares.
type header struct {
	text     string
	guarded  bool
	counters []*variable
}

// counter declares a variable of the header.
func (g *gen) counter(h *header, t *typ, set bool, texts ...string) string {
	for {
		name := g.local("j", texts...)
		if len(h.counters) > 0 && h.counters[0].name == name {
			continue
		}
		h.counters = append(h.counters, &variable{name: name, t: t, set: set})
		return name
	}
}

// few is a small number of type t, and whether it is a constant.
func (g *gen) few(t *typ) (string, bool) {
	if g.chance(50) {
		return fmt.Sprint(1 + g.IntN(5)), true
	}
	return g.expr(t, 1) + " & 3", false
}

// header chooses one.
func (g *gen) header() (h header) {
	t := g.intType()
	if t == typeParam {
		t = typeInt
	}
	h.guarded = true
	switch g.IntN(14) {
	case 12, 13:
		h.text = g.endless(&h, t)
	case 0, 1:
		e, _ := g.few(t)
		j := g.counter(&h, t, false, e)
		h.text, h.guarded = fmt.Sprintf("for %s := %s(0); %s < %s; %s++ {", j, t.name, j, e, j), false
	case 2:
		e, _ := g.few(t)
		j := g.counter(&h, t, false, e)
		h.text = fmt.Sprintf("for %s := %s(%d); %s %s %s; %s += %d {", j, t.name, g.IntN(3), j, g.pick("<", "<=", "!="), e, j, 1+g.IntN(3))
	case 3: // down, through 0 and around
		from, to := g.expr(t, 1), g.operand(t, 0)
		j := g.counter(&h, t, g.chance(30), from, to)
		h.text = fmt.Sprintf("for %s := %s; %s %s %s; %s %s {", j, from, j, g.pick(">", ">=", "!="), to, j, g.pick("--", "-= 2", "-= 7", ">>= 1"))
	case 4: // up, around
		from, to := g.expr(t, 1), g.operand(t, 1)
		j := g.counter(&h, t, g.chance(30), from, to)
		h.text = fmt.Sprintf("for %s := %s; %s %s %s; %s %s {", j, from, j, g.pick("<", "<=", "!="), to, j, g.pick("++", "+= 3", "+= 33", "<<= 1", "= "+j+"*3 + 1"))
	case 5, 6:
		e, constant := g.few(t)
		if constant {
			e = t.name + "(" + e + ")"
		}
		h.text, h.guarded = fmt.Sprintf("for range %s {", e), false
		if g.chance(80) {
			h.text = fmt.Sprintf("for %s := range %s {", g.counter(&h, t, g.chance(40)), e)
		}
	case 7, 8:
		h.text, h.guarded = g.rangeOver(&h), false
	case 9:
		h.text = fmt.Sprintf("for %s {", g.cond(typeBool, 2))
	case 10:
		h.text = "for {"
	case 11:
		a, b := g.expr(t, 1), g.expr(t, 1)
		i := g.counter(&h, t, g.chance(20), a, b)
		j := g.counter(&h, t, false, a, b)
		h.text = fmt.Sprintf("for %[1]s, %[2]s := %[3]s, %[4]s; %[1]s < %[2]s; %[1]s, %[2]s = %[1]s+%[5]d, %[2]s-%[6]d {", i, j, a, b, 1+g.IntN(3), 1+g.IntN(3))
	}
	return h
}

// loop is a sequential loop of few rounds.
func (g *gen) loop() {
	vars := g.vars
	g.level++
	defer func() { g.vars, g.level = vars, g.level-1 }()
	h := g.header()
	g.next++
	guard := fmt.Sprintf("g%d", g.next)
	if h.guarded {
		g.line("%s := %d", guard, 1+g.IntN(12))
	}
	for _, v := range h.counters {
		g.declare(v)
	}
	g.framed(frame{loop: true}, func() {
		g.line("%s", h.text)
		for _, v := range h.counters {
			g.line("\t_ = %s", v.name)
		}
		if h.guarded {
			g.line("\tif %s == 0 {", guard)
			g.line("\t\tbreak")
			g.line("\t}")
			g.line("\t%s--", guard)
		}
		g.block(1 + g.IntN(3))
		g.line("}")
	})
}

// rangeOver ranges over an array, a pointer to one, or a short slice, which the body may change.
func (g *gen) rangeOver(h *header) string {
	for range 12 {
		v := g.vars[g.IntN(len(g.vars))]
		over, elem := v.name, (*typ)(nil)
		switch {
		case v.t.kind == array:
			elem = v.t.elem
			if v.set && g.chance(20) {
				over = "&" + over
			} else if v.set && g.chance(30) {
				over += "[:]"
			}
		case v.t.kind == pointer && v.t.elem.kind == array:
			elem = v.t.elem.elem
		case v.t.kind == slice && v.least > 0:
			elem = v.t.elem
			over += fmt.Sprintf("[:%d]", v.least)
		case v.t.kind == slice && !v.owned && v.least == 0:
			elem = v.t.elem
			over += fmt.Sprintf("[%d:%d]", g.IntN(3), 3+g.IntN(3))
		default:
			continue
		}
		j := g.counter(h, typeInt, g.chance(30))
		if g.chance(30) {
			return fmt.Sprintf("for %s := range %s {", j, over)
		}
		if g.chance(30) {
			h.counters = nil
			return fmt.Sprintf("for _, %s := range %s {", g.counter(h, elem, g.chance(40)), over)
		}
		return fmt.Sprintf("for %s, %s := range %s {", j, g.counter(h, elem, g.chance(40)), over)
	}
	return fmt.Sprintf("for %s := range 3 {", g.counter(h, typeInt, true))
}
