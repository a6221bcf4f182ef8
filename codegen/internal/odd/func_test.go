package odd

import (
	"fmt"
	"strings"
)

// A function is a helper of the kernel, or a literal in scope.
type function struct {
	name    string
	params  []*typ
	results []*typ
	generic bool // of one type parameter, which stands for every type in it
}

// typeParam is the type parameter of a generic helper.
var typeParam = &typ{name: "T", kind: integer, bits: 8}

// function writes a helper: its body sees its parameters alone.
func (g *gen) function() {
	f := &function{name: g.global("f")}
	saved := *g
	g.vars, g.at, g.reds, g.frames, g.atomics, g.level = nil, nil, nil, nil, nil, 1
	f.generic = g.chance(20)
	var params []string
	add := func(t *typ, set bool, least int) {
		name := fmt.Sprintf("a%d", len(f.params))
		f.params = append(f.params, t)
		params = append(params, name+" "+t.name)
		g.declare(&variable{name: name, t: t, set: set, least: least})
	}
	g.declare(&variable{name: "n", t: typeInt})
	for range 1 + g.IntN(3) {
		t := g.anyType(1)
		if f.generic {
			t = typeParam
		}
		add(t, true, 0)
	}
	if g.chance(25) && !f.generic {
		add(pointerTo(g.anyType(1)), true, 0)
	}
	if g.chance(20) && !f.generic {
		add(sliceOf(g.scalarType()), false, 4)
	}
	types := g.types
	if f.generic {
		g.types = append([]*typ{typeParam, typeParam}, basic...)
	}
	for range 1 + g.IntN(2) {
		t := g.anyType(1)
		if f.generic {
			t = typeParam
		}
		f.results = append(f.results, t)
	}
	var results []string
	named := g.chance(30)
	for i, t := range f.results {
		if named {
			name := fmt.Sprintf("r%d", i)
			g.declare(&variable{name: name, t: t, set: true})
			results = append(results, name+" "+t.name)
		} else {
			results = append(results, t.name)
		}
	}
	g.results, g.budget = f.results, 6+g.IntN(10)
	kind := ""
	if f.generic {
		kind = "[T kernel.Integer]"
	}
	g.line("func %s%s(n int, %s) (%s) {", f.name, kind, quoted(params), quoted(results))
	g.line("\t_ = n")
	g.depth++
	g.level = 1
	for range 1 + g.IntN(5) {
		g.stmt()
	}
	g.depth--
	if named && g.chance(60) {
		g.line("\treturn")
	} else {
		g.line("\t%s", g.returned())
	}
	g.line("}")
	g.line("")
	text, next, r := g.b.String(), g.next, g.Rand
	*g = saved
	g.b.Reset()
	g.b.WriteString(text)
	g.next, g.Rand, g.types = next, r, types
	g.funcs = append(g.funcs, f)
}

// An orphan is a helper whose loops have directives: the team that calls it shares their iterations.
type orphan struct {
	name string
	elem *typ
}

// orphan writes a helper of a row, which it may leave early.
func (g *gen) orphan() {
	o := &orphan{name: g.global("o"), elem: g.intType()}
	saved := *g
	g.vars, g.reds, g.frames, g.atomics, g.results, g.level = nil, nil, nil, nil, nil, 1
	for _, v := range []*variable{{name: "n", t: typeInt}, {name: "w", t: typeInt}, {name: "k", t: o.elem}} {
		g.declare(v)
	}
	g.line("func %s(n, w int, row []%s, k %s) %s {", o.name, o.elem.name, o.elem.name, o.elem.name)
	g.depth++
	g.level++
	for range 1 + g.IntN(3) {
		if g.chance(40) {
			g.at, g.budget = []string{"0"}, 2
			g.line("if %s {", g.cond(typeBool, 2))
			g.line("\treturn %s(%s)", o.elem.name, g.expr(o.elem, 1))
			g.line("}")
		}
		outer := g.vars
		g.declare(&variable{name: "row", t: sliceOf(o.elem), set: true, owned: true})
		kind := g.pick("parallel for", "parallel for", "parallel for simd", "parallel for schedule(static, 1)")
		g.line("//omp:%s", kind)
		g.line("%s", g.pick("for c := range w {", "for c := 0; c < w; c++ {", "for c := w - 1; c >= 0; c-- {", "for c := range row {", "for c := 1; c < w; c += 2 {"))
		g.parallelBody([]string{"c"}, []*variable{{name: "c", t: typeInt}})
		g.line("}")
		g.vars = outer
	}
	g.at = []string{"0"}
	g.line("return %s(%s)", o.elem.name, g.expr(o.elem, 1))
	g.depth--
	g.line("}")
	g.line("")
	text, next, r := g.b.String(), g.next, g.Rand
	*g = saved
	g.b.Reset()
	g.b.WriteString(text)
	g.next, g.Rand = next, r
	g.orphans = append(g.orphans, o)
}

// callOrphan gives a helper the row of the team, if there is one of its type.
func (g *gen) callOrphan() {
	g.at = []string{"r*w"}
	for _, o := range g.orphans {
		for _, v := range g.vars {
			if v.owned && v.set && v.t.kind == slice && v.t.elem.name == o.elem.name && v.at == "" {
				g.line("%[1]s[r*w] %[2]s %[3]s(n, w, %[1]s[r*w:r*w+w], %[4]s)", v.name, g.pick("=", "+=", "^="), o.name, g.expr(o.elem, 1))
				return
			}
		}
	}
}

// method gives a named type or struct a method, and a struct one that changes it.
func (g *gen) method(t *typ) {
	write := func(head string, self *typ, change bool) {
		saved := *g
		g.vars, g.at, g.reds, g.frames, g.atomics, g.level = nil, nil, nil, nil, nil, 1
		g.declare(&variable{name: "n", t: typeI64})
		g.declare(&variable{name: "z", t: self, set: true})
		g.budget, g.results = 5, []*typ{typeI64}
		if change {
			g.results = []*typ{}
		}
		g.line("%s", head)
		g.depth++
		for range 1 + g.IntN(4) {
			g.stmt()
		}
		if !change {
			g.line("%s", g.returned())
		}
		g.depth--
		g.line("}")
		g.line("")
		text, next := g.b.String(), g.next
		*g = saved
		g.b.Reset()
		g.b.WriteString(text)
		g.next = next
	}
	name := "Take"
	write(fmt.Sprintf("func (z %s) %s(n int64) int64 {", t.name, name), t, false)
	t.method = name
	if t.kind == structure {
		write(fmt.Sprintf("func (z *%s) Change(n int64) {", t.name), pointerTo(t), true)
		t.change = "Change"
	}
}

// argument is one for a parameter of type t, "" where there is none in scope.
func (g *gen) argument(t *typ, depth int) string {
	switch t.kind {
	case slice:
		for range 20 {
			v := g.vars[g.IntN(len(g.vars))]
			if v.t.kind == array && v.set && v.t.n >= 4 && v.t.elem.name == t.elem.name {
				return v.name + "[:]"
			}
			if v.t.kind == slice && !v.owned && !v.set && v.t.elem.name == t.elem.name && (v.least == 0 || v.least >= 4) {
				return v.name
			}
		}
		return ""
	case pointer:
		for range 20 {
			v := g.vars[g.IntN(len(g.vars))]
			if !v.set || strings.Contains(v.name, "(") {
				continue
			}
			if e, u := g.place(v, t.elem); u.name == t.elem.name {
				return "&" + e
			}
		}
		return ""
	}
	if !t.scalar() {
		return g.whole2(t)
	}
	if g.chance(25) {
		return t.name + "(" + g.literal(t) + ")"
	}
	return g.expr(t, depth)
}

// arguments are those of a call, false where one is missing.
func (g *gen) arguments(f *function, depth int) (string, *typ, bool) {
	bound := typeParam
	list := []string{g.pick("n", "int("+g.leaf(typeInt)+")")}
	if f.generic {
		bound = g.intType()
	}
	if strings.HasPrefix(f.name, "fn") {
		list = nil
	}
	for _, t := range f.params {
		if t == typeParam {
			t = bound
		}
		a := g.argument(t, depth)
		if a == "" {
			return "", nil, false
		}
		list = append(list, a)
	}
	return quoted(list), bound, true
}

// call is a call of a function of one result, or of a method, as a t; "" where there is none.
func (g *gen) call(t *typ, depth int) string {
	if g.chance(30) {
		for range 6 {
			v := g.vars[g.IntN(len(g.vars))]
			if v.t.method != "" && v.t.kind != slice {
				return g.convert(fmt.Sprintf("%s.%s(int64(%s))", v.name, v.t.method, g.leaf(typeInt)), typeI64, t)
			}
		}
	}
	for range 4 {
		if len(g.funcs) == 0 {
			return ""
		}
		f := g.funcs[g.IntN(len(g.funcs))]
		if len(f.results) != 1 || !f.results[0].scalar() {
			continue
		}
		args, bound, ok := g.arguments(f, min(depth, 1))
		if !ok {
			continue
		}
		r := f.results[0]
		if r == typeParam {
			r = bound
		}
		if e := g.convert(fmt.Sprintf("%s(%s)", f.name, args), r, t); e != "" {
			return e
		}
	}
	return ""
}

// several takes all results of a call.
func (g *gen) several() {
	if len(g.funcs) == 0 {
		g.assign()
		return
	}
	f := g.funcs[g.IntN(len(g.funcs))]
	args, bound, ok := g.arguments(f, 1)
	if !ok {
		g.assign()
		return
	}
	var names []string
	var vars []*variable
	for _, r := range f.results {
		if r == typeParam {
			r = bound
		}
		if g.chance(15) && len(f.results) > 1 && len(names) > 0 {
			names = append(names, "_")
			continue
		}
		g.next++
		v := &variable{name: fmt.Sprintf("v%d", g.next), t: r, set: true}
		names, vars = append(names, v.name), append(vars, v)
	}
	if len(f.results) == 1 && g.chance(20) {
		g.line("_ = %s(%s)", f.name, args)
		return
	}
	g.line("%s := %s(%s)", quoted(names), f.name, args)
	for _, v := range vars {
		g.line("_ = %s", v.name)
		g.declare(v)
	}
}

// change calls a method that changes its receiver.
func (g *gen) change() {
	for range 8 {
		v := g.vars[g.IntN(len(g.vars))]
		if v.set && v.t.kind == structure && v.t.change != "" {
			g.line("%s.Change(int64(%s))", v.name, g.leaf(typeInt))
			return
		}
		if v.set && v.t.kind == pointer && v.t.elem.change != "" {
			g.line("%s.Change(int64(%s))", v.name, g.leaf(typeInt))
			return
		}
		if v.set && v.t.kind == slice && v.t.elem.change != "" {
			e, _ := g.place(v, v.t.elem)
			g.line("%s.Change(int64(%s))", e, g.leaf(typeInt))
			return
		}
	}
	g.assign()
}

// closure is a function literal in a local: it captures what no statement assigns.
func (g *gen) closure() {
	g.next++
	f := &function{name: fmt.Sprintf("fn%d", g.next)}
	saved := *g
	var vars []*variable
	for _, v := range g.vars {
		if !v.set && !v.later && !(v.t.kind == slice && v.owned) && v.t.kind != pointer {
			vars = append(vars, v)
		}
	}
	g.vars, g.frames, g.reds, g.atomics, g.nests = vars, nil, nil, nil, false
	g.level++
	var params []string
	for range 1 + g.IntN(2) {
		t := g.scalarType()
		name := fmt.Sprintf("c%d", len(f.params))
		f.params = append(f.params, t)
		params = append(params, name+" "+t.name)
		g.declare(&variable{name: name, t: t, set: true})
	}
	f.results = []*typ{g.scalarType()}
	g.results, g.budget = f.results, 4
	g.line("%s := func(%s) %s {", f.name, quoted(params), f.results[0].name)
	g.depth++
	for range 1 + g.IntN(3) {
		g.stmt()
	}
	g.line("%s", g.returned())
	g.depth--
	g.line("}")
	text, next := g.b.String(), g.next
	budget := saved.budget
	*g = saved
	g.b.Reset()
	g.b.WriteString(text)
	g.next, g.budget = next, budget-2
	// The literal is in scope until its block ends: a variable of its result is what stays.
	args, _, _ := g.arguments(f, 1)
	v := g.local("v")
	g.line("%s := %s(%s)", v, f.name, args)
	g.line("_ = %s", v)
	g.declare(&variable{name: v, t: f.results[0], set: true})
}
