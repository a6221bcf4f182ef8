package odd

import (
	"fmt"
	"slices"
	"strings"
)

// This file has the forms of kernels that are more than one loop: scans, parallel regions, loops
// that own parts of arrays, loops inside an iteration that a directive governs; and parameters in
// structs and package variables.

// dress makes some parameters package variables and others fields of a struct, which come last.
func (g *gen) dress(params []parameter) []parameter {
	record, global := g.chance(25), g.chance(20)
	var out, fields []parameter
	var types strings.Builder
	for _, p := range params {
		plain := p.name != "n" && p.name != "w" && (strings.HasPrefix(p.name, "k") || strings.HasPrefix(p.name, "in") || strings.HasPrefix(p.name, "out"))
		switch {
		case plain && record && g.chance(40):
			p.name = "rec." + strings.ToUpper(p.name[:1]) + p.name[1:]
			fmt.Fprintf(&types, "\t%s %s\n", p.name[len("rec."):], p.t.name)
			if p.access == "in" && p.t.kind != slice { // by value
				p.access = ""
			}
			fields = append(fields, p)
		case plain && global && p.access != "inout" && g.chance(40):
			p.name, p.access, p.global = p.name+"_"+g.id, "", true
			g.line("var %s %s", p.name, p.t.name)
			g.line("")
			out = append(out, p)
		default:
			out = append(out, p)
		}
	}
	if len(fields) > 0 {
		g.line("type rec_%s struct {", g.id)
		g.b.WriteString(types.String())
		g.line("}")
		g.line("")
	}
	return append(out, fields...)
}

// scan is a loop whose iterations see what earlier ones have combined.
func (g *gen) scan() {
	g.at, g.budget, g.nests = []string{"0"}, 3, false
	defer func() { g.nests = true }()
	inclusive := g.chance(50)
	var reds []*reduction
	var names, clauses []string
	for range 1 + g.IntN(2) {
		t := g.scalarType()
		r := &reduction{t: t, op: g.pick("+", "*", "min", "max", "&", "|", "^")}
		switch t.kind {
		case boolean:
			r.op = g.pick("&&", "||")
		case float:
			r.op = g.pick("+", "min", "max")
		}
		g.next++
		r.name = fmt.Sprintf("red%d", g.next)
		from := g.literal(t)
		if t.kind == float { // exact in every order
			from = "1"
		}
		g.line("%s := %s(%s)", r.name, t.name, from)
		reds, names = append(reds, r), append(names, r.name)
		clauses = append(clauses, fmt.Sprintf("reduction(inscan, %s: %s)", r.op, r.name))
	}
	g.freeze()
	g.line("//omp:%s %s", g.pick("teams distribute parallel for", "teams distribute parallel for", "parallel for", "loop", "teams distribute parallel for simd", "simd"), strings.Join(clauses, " "))
	head, at, t := g.head("n*w")
	g.line("%s", head)
	vars := g.vars
	g.depth++
	g.level += 2
	g.declare(&variable{name: "i", t: t})
	g.line("_ = i")
	g.frames = append(g.frames, frame{barrier: true})
	g.at = []string{at}
	input := func() {
		owned := g.vars
		var list []*variable
		for _, v := range g.vars { // the input phase depends on nothing that the iteration writes
			if c := *v; !c.owned && !(c.t.kind == slice && c.set) {
				c.set = false
				list = append(list, &c)
			}
		}
		g.vars, g.reds = list, nil
		for _, r := range reds {
			g.reds = []*reduction{r}
			if g.chance(25) {
				g.line("if %s {", g.cond(typeBool, 1))
				g.depth++
				g.combine()
				g.depth--
				g.line("}")
			} else {
				g.combine()
			}
		}
		g.vars, g.reds = owned, nil
	}
	phase := func() {
		outer := g.vars
		for _, r := range reds {
			g.declare(&variable{name: r.name, t: r.t})
		}
		g.budget = 6
		saved := g.frames
		g.frames = nil // no continue passes the directive
		for range 1 + g.IntN(4) {
			g.stmt()
		}
		g.frames = saved
		g.vars = outer
	}
	if inclusive {
		input()
		g.line("//omp:scan inclusive(%s)", quoted(names))
		phase()
	} else {
		phase()
		g.line("//omp:scan exclusive(%s)", quoted(names))
		input()
	}
	g.frames = g.frames[:len(g.frames)-1]
	g.depth--
	g.level -= 2
	g.vars = vars
	g.line("}")
	for i, r := range reds {
		g.keep(i, r)
	}
}

// region is a distributed loop whose team runs a parallel region: shared loops, code that one
// thread runs, and barriers.
func (g *gen) region() {
	g.at, g.budget = []string{"0"}, 3
	clauses, after := g.clauses()
	g.line("//omp:teams distribute%s", clauses)
	g.line("%s", g.pick("for r := range n {", "for r := 0; r < n; r++ {", "for r := n - 1; r >= 0; r-- {"))
	vars, reds := g.vars, g.reds
	g.depth++
	g.level += 2
	g.declare(&variable{name: "r", t: typeInt})
	g.frames = append(g.frames, frame{barrier: true})
	g.depth--
	g.at = []string{"r*w"}
	g.fresh()
	g.depth++
	g.line("if w == 0 {")
	g.line("\tcontinue")
	g.line("}")
	team := fmt.Sprintf("tm%d", g.next)
	g.line("var %s [8]int32", team)
	g.line("_ = %s", team)
	g.line("//omp:parallel%s", g.pick("", "", " num_threads(5)", " num_threads(w)", " if(w > 3)"))
	g.line("{")
	g.depth++
	g.level++
	g.freeze()
	g.reds = nil
	for range 1 + g.IntN(3) {
		inside := g.vars
		switch g.IntN(5) {
		case 0, 1, 2:
			g.line("//omp:for%s", g.pick("", "", " schedule(static, 2)", " schedule(dynamic)"))
			g.line("%s", g.pick("for c := range w {", "for c := 0; c < w; c++ {", "for c := w - 1; c >= 0; c-- {"))
			g.declare(&variable{name: team, t: arrayOf(8, typeI32), later: true})
			g.parallelBody([]string{"r*w+c"}, []*variable{{name: "c", t: typeInt}})
		default:
			masked := g.chance(40)
			g.line("//omp:%s", map[bool]string{true: "masked", false: "single"}[masked])
			g.line("{")
			g.at, g.budget = []string{"r*w", "r*w+w-1", "r*w+w/2"}, 6
			g.declare(&variable{name: team, t: arrayOf(8, typeI32), set: true})
			g.frames = append(g.frames, frame{barrier: true, closed: true})
			g.block(1 + g.IntN(3))
			g.frames = g.frames[:len(g.frames)-1]
			if masked {
				g.line("}")
				g.line("kernel.Barrier()")
				g.vars = inside
				continue
			}
		}
		g.vars = inside
		g.line("}")
	}
	g.level--
	g.depth--
	g.line("}")
	g.vars, g.reds = vars, reds
	g.declare(&variable{name: team, t: arrayOf(8, typeI32)})
	g.declare(&variable{name: "r", t: typeInt})
	g.at, g.budget = []string{"r*w"}, 2
	g.assign()
	g.frames = g.frames[:len(g.frames)-1]
	g.level -= 2
	g.depth--
	g.vars, g.reds = vars, reds
	g.line("}")
	after()
}

// scratchNames begin the names of an array whose parts have no value in front of a loop, behind it,
// or both.
var scratchNames = []string{"scra", "scrb", "fin"}

func isScratch(name string) bool {
	return strings.HasPrefix(name, "scr") || strings.HasPrefix(name, "fin")
}

// targetClauses are clauses of target that change what a program means.
func (g *gen) targetClauses() string {
	return g.pick("", "", "", "", "", "", " contract", " overlap(ok)", " contract overlap(ok)")
}

// dist is a distributed loop whose iterations own parts of an array.
func (g *gen) dist() {
	g.at, g.budget = []string{"0"}, 3
	clauses, after := g.clauses()
	part := g.pick("1", "2", "3", "4", "w")
	scratch := g.scratch
	g.scratch = nil // behind the loop its values are undefined
	if scratch != nil {
		clause := "dist_private"
		switch {
		case strings.HasPrefix(scratch.name, "scrb"):
			clause = "dist_firstprivate"
		case strings.HasPrefix(scratch.name, "fin"):
			clause = "dist_lastprivate"
		}
		clauses += fmt.Sprintf(" %s([%s]%s)", clause, part, scratch.name)
	}
	for _, v := range g.vars {
		if v.owned && !strings.Contains(v.name, ".") && g.chance(60) {
			clauses += fmt.Sprintf(" dist_firstlastprivate([%s]%s)", part, v.name)
		}
	}
	flat := g.chance(40) && part != "w"
	g.line("//omp:teams distribute%s%s", map[bool]string{true: " parallel for", false: ""}[flat], clauses)
	g.line("for r := 0; r < min(n, n*w); r++ {")
	begin := func() {
		if scratch == nil {
			return
		}
		if !strings.HasPrefix(scratch.name, "scrb") {
			g.line("\tfor q := range %s {", part)
			g.at, g.budget = []string{"r*" + part}, 2
			g.line("\t\t%s[r*%s+q] = %s", scratch.name, part, g.expr(scratch.t.elem, 1))
			g.line("\t}")
		}
		g.declare(&variable{name: scratch.name, t: scratch.t, set: true, owned: true})
	}
	if flat {
		outer := g.vars
		begin()
		defer func() { g.vars = outer }()
		g.parallelBody([]string{"r*" + part}, []*variable{{name: "r", t: typeInt}})
		g.line("}")
		after()
		return
	}
	vars, reds := g.vars, g.reds
	g.depth++
	g.level += 2
	g.declare(&variable{name: "r", t: typeInt})
	g.frames = append(g.frames, frame{barrier: true})
	g.depth--
	g.at = []string{"r*" + part}
	g.fresh()
	begin()
	g.depth++
	for range 1 + g.IntN(3) {
		g.at, g.budget = []string{"r*" + part}, 4
		for range g.IntN(3) {
			g.stmt()
		}
		outer := g.vars
		g.freeze()
		kind := g.pick("", "", " simd", " schedule(static, 1)")
		g.line("//omp:parallel for%s", kind)
		g.nests = kind != " simd"
		g.line("for c := range %s {", part)
		inner := g.reds
		g.reds = nil
		g.parallelBody([]string{"r*" + part + "+c"}, []*variable{{name: "c", t: typeInt}})
		g.reds, g.vars, g.nests = inner, outer, true
		g.line("}")
	}
	g.frames = g.frames[:len(g.frames)-1]
	g.level -= 2
	g.depth--
	g.vars, g.reds = vars, reds
	g.line("}")
	after()
}

// row is a loop in an iteration that only combines: a directive may govern it.
func (g *gen) row() {
	var list []*variable
	for _, v := range g.vars {
		if v.set && v.t.kind == integer && !strings.ContainsAny(v.name, ".(*[") {
			list = append(list, v)
		}
	}
	if len(list) == 0 {
		g.assign()
		return
	}
	v := list[g.IntN(len(list))]
	r := &reduction{name: v.name, t: v.t, op: g.pick("+", "+", "^", "|", "&", "min", "max", "*")}
	vars, reds, frames, atomics := g.vars, g.reds, g.frames, g.atomics
	defer func() { g.vars, g.reds, g.frames, g.atomics = vars, reds, frames, atomics }()
	var others []*variable
	for _, o := range g.vars {
		if c := *o; o.t.kind != pointer && !(o.t.kind == slice && o.set) && !strings.Contains(o.name, v.name) && !strings.Contains(o.at, v.name) {
			c.later, c.set = c.later || c.set, false
			others = append(others, &c)
		}
	}
	g.vars, g.reds, g.frames, g.atomics = others, []*reduction{r}, []frame{{barrier: true}}, nil
	var at []string
	for _, s := range g.at {
		if !strings.Contains(s, v.name) {
			at = append(at, s)
		}
	}
	saved := g.at
	g.at = at
	defer func() { g.at = saved }()
	count := g.pick("3", "8", "w", "n+w", "int(ix["+g.pick("0", "3", "n")+"])", "int(ix[3]&7)")
	if strings.Contains(count, "ix") && !slices.ContainsFunc(g.vars, func(v *variable) bool { return v.name == "ix" }) {
		count = "5" // in a helper
	}
	g.level++
	j := g.local("j", count, v.name)
	g.level--
	if j == v.name {
		return
	}
	directive := g.pick("", "", "simd", "simd", "loop", "parallel for", "parallel for nested(inline)", "parallel for nested(auto)", "parallel for nested(warp)", "parallel for nested(cta)", "parallel for nested(host)", "parallel for nested(eager)")
	if !g.nests && directive != "loop" {
		directive = ""
	}
	if directive != "" {
		g.line("//omp:%s reduction(%s: %s)", directive, r.op, r.name)
	}
	g.line(g.pick("for %[1]s := range %[2]s {", "for %[1]s := 0; %[1]s < %[2]s; %[1]s++ {", "for %[1]s := 1; %[1]s < %[2]s; %[1]s += 2 {", "for %[1]s := %[2]s - 1; %[1]s >= 0; %[1]s-- {"), j, count)
	g.line("\t_ = %s", j)
	g.level++
	g.declare(&variable{name: j, t: typeInt})
	g.depth++
	g.budget--
	for range 1 + g.IntN(2) {
		if g.chance(25) {
			g.line("if %s {", g.cond(typeBool, 1))
			g.depth++
			g.combine()
			g.depth--
			g.line("}")
			continue
		}
		g.combine()
	}
	g.depth--
	g.level--
	g.line("}")
}
