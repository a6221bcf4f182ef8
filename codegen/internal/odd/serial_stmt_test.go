package odd

import (
	"fmt"
	"strings"
)

// The statements of serial programs.

// stmt writes a statement of any kind.
func (s *serial) stmt() {
	if s.budget--; s.budget < 0 {
		s.store()
		return
	}
	switch s.IntN(28) {
	case 0, 1, 2, 3, 4:
		s.store()
	case 5, 6, 7:
		s.loop()
	case 8, 9:
		s.line("if %s {", s.cond(2))
		s.block(1 + s.IntN(2))
		if s.chance(40) {
			s.line("} else {")
			s.block(1 + s.IntN(2))
		}
		s.line("}")
	case 10:
		s.choice()
	case 11, 12:
		s.jump()
	case 13:
		s.carry()
	case 14:
		s.best()
	case 15:
		s.window()
	case 16:
		s.move()
	case 17:
		s.compact()
	case 18, 19, 20:
		s.help()
	case 21:
		s.table()
	case 22:
		s.pointer()
	case 23:
		s.literal()
	case 24:
		s.exchange()
	case 25:
		s.descend()
	case 26:
		t, v := s.scalar(), s.name("v")
		s.line("%s := %s(%s)", v, t, s.expr(t, 2))
		s.line("_ = %s", v)
		s.vars = append(s.vars, place{v, t, true, 0, false, ""})
	default:
		s.copyRecords()
	}
}

func (s *serial) choice() {
	v := s.whole(2)
	s.line("switch %s & 3 {", v)
	for i := range 1 + s.IntN(3) {
		s.line("case %d:", i)
		s.block(1)
		if s.chance(20) && i == 0 {
			s.line("\tfallthrough")
			s.line("case 7, 9:")
			s.block(1)
		}
	}
	if s.chance(60) {
		s.line("default:")
		s.block(1)
	}
	s.line("}")
}

// jump leaves a loop that no directive governs.
func (s *serial) jump() {
	var list []string
	for k := len(s.labels) - 1; k >= 0; k-- {
		if s.labels[k] == "" {
			if k == len(s.labels)-1 {
				list = append(list, "continue")
			}
			break
		}
		list = append(list, "continue "+s.labels[k], "break "+s.labels[k])
		if k == 0 && s.chance(30) {
			list = append(list, "return")
		}
	}
	if len(list) == 0 {
		s.store()
		return
	}
	s.line("if %s {", s.cond(2))
	if s.chance(40) {
		s.depth++
		s.store()
		s.depth--
	}
	s.line("\t%s", s.pick(list...))
	s.line("}")
}

// carry updates a variable that later iterations see.
func (s *serial) carry() {
	v, ok := s.scalarVar(func(t string) bool { return t != "bool" })
	if !ok {
		s.store()
		return
	}
	e := s.expr(v.t, 2)
	switch {
	case isWhole(v.t):
		switch s.IntN(5) {
		case 0:
			s.line("%s = %s*31 + %s", v.name, v.name, e)
		case 1:
			s.line("%s = %s(%s, %s)", v.name, s.pick("min", "max"), v.name, e)
		case 2:
			s.line("%s ^= %s >> 3", v.name, v.name)
		default:
			s.line("%s %s %s", v.name, s.pick("+=", "-=", "^=", "|=", "&="), e)
		}
	default:
		s.line("%s += %s", v.name, e)
	}
	if x := s.written(); s.chance(50) && x.name != "" {
		s.line("%s[%s] = %s", x.name, s.index(x), s.convert(v.name, v.t, x.t))
	}
}

// best keeps the greatest of something, and where it was.
func (s *serial) best() {
	v, ok := s.scalarVar(func(t string) bool { return !isComplex(t) && t != "bool" })
	if !ok || len(s.counters) == 0 {
		s.carry()
		return
	}
	e := s.expr(v.t, 1)
	s.line("if x := %s(%s); x %s %s {", v.t, e, s.pick("<", ">", "<=", ">="), v.name)
	s.line("\t%s = x", v.name)
	if u, ok := s.scalarVar(isWhole); ok && u.name != v.name {
		s.line("\t%s = %s(%s)", u.name, u.t, s.counters[len(s.counters)-1].name)
	}
	s.line("}")
}

// window is a part of a slice, which the code behind uses as a slice of its own.
func (s *serial) window() {
	x := s.slices[s.IntN(len(s.slices))]
	r := s.name("r")
	if x.name == "at" || x.least < 8 {
		s.line("%s := %s[%d:]", r, x.name, min(s.IntN(2), x.least-1))
		s.line("_ = %s", r)
		s.slices = append(s.slices, place{r, x.t, x.set, max(1, x.least-1), false, x.whole()})
		return
	}
	at := "0"
	if len(s.counters) > 0 {
		at = s.counters[s.IntN(len(s.counters))].name
	}
	s.line("%s := %s[%s]", r, x.name, s.pick(at+":", at+"*w:", at+":"+at+"+4", "1:", "n:", "w*"+at+":w*"+at+"+w+4"))
	s.line("_ = %s", r)
	s.slices = append(s.slices, place{r, x.t, x.set, 3, false, x.whole()})
	if s.chance(20) {
		s.line("%[1]s = %[1]s[1:]", r)
	}
}

// move copies or clears.
func (s *serial) move() {
	x := s.written()
	if x.name == "" {
		s.store()
		return
	}
	part := func(x place) string {
		if x.least < 8 {
			return x.name + s.pick("[:]", "[1:]")
		}
		at := "0"
		if len(s.counters) > 0 {
			at = s.counters[s.IntN(len(s.counters))].name
		}
		return x.name + "[" + s.pick(at+":"+at+"+3", at+":", "1:4", at+"*w:"+at+"*w+w", ":n", at+":n+"+at) + "]"
	}
	if s.chance(30) {
		s.line("clear(%s)", part(x))
		return
	}
	for range 8 {
		if y := s.slices[s.IntN(len(s.slices))]; y.t == x.t {
			s.line("copy(%s, %s)", part(x), part(y))
			return
		}
	}
	s.store()
}

// compact stores what passes a test, one behind the other.
func (s *serial) compact() {
	v, ok := s.scalarVar(func(t string) bool { return t == "int" || t == "int32" || t == "uint8" || t == "int64" })
	x := s.written()
	if !ok || x.name == "" {
		s.store()
		return
	}
	s.line("if %s && %s >= 0 && int(%s) < len(%s) {", s.cond(1), v.name, v.name, x.name)
	s.line("\t%s[%s] = %s", x.name, v.name, s.expr(x.t, 2))
	s.line("\t%s++", v.name)
	s.line("}")
}

// help calls a function that changes things.
func (s *serial) help() {
	if len(s.helpers) == 0 {
		s.store()
		return
	}
	t := s.elem
	var list []place
	for _, x := range s.slices {
		if x.t == t && x.name != "at" && x.least > 2 && x.set {
			list = append(list, x)
		}
	}
	if len(list) == 0 {
		s.store()
		return
	}
	x := list[s.IntN(len(list))]
	y := list[s.IntN(len(list))]
	lo, hi := s.pick("0", "1"), s.pick("3", "2")
	if len(s.counters) > 0 && x.least >= 8 && s.chance(70) {
		i := s.counters[s.IntN(len(s.counters))].name
		lo, hi = i, i+s.pick("+3", "+w", "+1")
	}
	part := fmt.Sprintf("%s[%s:%s]", x.name, lo, hi)
	switch h := s.helpers[s.IntN(len(s.helpers))]; h {
	case "put":
		s.line("put_%s(%s, %s, %s)", s.id, s.pick(x.name+"[:]", part), s.index(x), s.expr(t, 2))
		if strings.Contains(s.last(), "uint") { // the index is an int
			s.dropLast()
			s.line("put_%s(%s[:], int(%s), %s)", s.id, x.name, s.index(x), s.expr(t, 1))
		}
	case "swap":
		s.line("swap_%s(&%s[%s], &%s[%s])", s.id, x.name, s.index(x), y.name, s.index(y))
	case "add":
		if v, ok := s.scalarVar(func(t string) bool { return t == "int" }); ok && s.chance(50) {
			s.line("%s += add_%s(%s, %s[1:], %s)", v.name, s.id, part, y.name, s.expr(t, 1))
			return
		}
		s.line("add_%s(%s, %s[1:], %s)", s.id, part, y.name, s.expr(t, 1))
	case "total":
		if z := s.slices[s.IntN(len(s.slices))]; z.t == t && z.least >= 8 {
			part = z.name + "[1:3]"
		}
		s.line("%s[%s] = total_%s(%s)", y.name, s.index(y), s.id, part)
	case "halves":
		v, ok := s.scalarVar(func(t string) bool { return t == "int" })
		if !ok {
			s.store()
			return
		}
		q := s.name("q")
		s.line("%s, rest := halves_%s(int(%s), %s)", q, s.id, s.whole(2), s.pick("3", "-4", "w", "int("+s.whole(1)+")"))
		s.line("%s += rest ^ %s", v.name, q)
	case "find":
		s.line("if f := find_%s(%s, %s); f >= 0 {", s.id, part, s.expr(t, 1))
		s.depth++
		s.line("%s[f] = %s", x.name, s.expr(t, 1))
		s.depth--
		s.line("}")
	case "gcd":
		to, u := s.target()
		if !isWhole(u) {
			s.store()
			return
		}
		s.line("%s = %s(gcd_%s(uint32(%s), uint32(%s)))", to, u, s.id, s.whole(1), s.whole(1))
	case "apply":
		saved := s.freeze()
		s.line("apply_%s(%s, func(i int, v %s) %s {", s.id, part, t, t)
		s.line("\treturn v + %s", s.expr(t, 1))
		s.line("})")
		s.vars = saved
	case "turn":
		s.line("turn_%s(%s)", s.id, part)
	case "view":
		if len(s.counters) < 1 || x.least < 8 {
			s.store()
			return
		}
		i, j := s.counters[0].name, s.counters[len(s.counters)-1].name
		v := s.name("m")
		s.line("%s := view_%s{%s, %s}", v, s.id, x.name, s.pick("w", "w", "2"))
		switch s.IntN(3) {
		case 0:
			s.line("%s.set(%s, %s, %s.at(%s, %s) + %s)", v, i, j, v, s.pick(i, j, "0"), s.pick(j, "1", i), s.expr(t, 1))
		case 1:
			s.line("%s.row(%s)[%s] = %s", v, i, s.pick("0", "w-1"), s.expr(t, 1))
		default:
			s.line("%s.set(%s, %s, %s)", v, i, s.pick("0", "1", j), s.expr(t, 2))
		}
	default: // change
		if len(s.records) == 0 || !s.records[0].set {
			s.store()
			return
		}
		p := s.records[s.IntN(len(s.records))]
		s.line("%s[%s].change(%s)", p.name, s.index(p), s.expr(strings.TrimPrefix(h, "change "), 1))
	}
}

func (s *serial) last() string {
	t := strings.TrimSuffix(s.b.String(), "\n")
	return t[strings.LastIndex(t, "\n")+1:]
}

func (s *serial) dropLast() {
	t := strings.TrimSuffix(s.b.String(), "\n")
	s.b.Reset()
	s.b.WriteString(t[:strings.LastIndex(t, "\n")+1])
}

// table is a local array.
func (s *serial) table() {
	t, v, n := s.scalar(), s.name("t"), 1+s.IntN(6)
	switch s.IntN(3) {
	case 0:
		s.line("var %s [%d]%s", v, n, t)
	case 1:
		s.line("%s := [%d]%s{%s}", v, n, t, s.expr(t, 1))
	default:
		s.line("%s := [%d]%s{%d: %s}", v, n, t, n-1, s.expr(t, 1))
	}
	s.line("_ = %s", v)
	s.slices = append(s.slices, place{v, t, true, min(n, 4), false, ""})
	if s.chance(40) && n > 1 {
		s.line("for j := range %s {", v)
		s.line("\t%s[j] = %s", v, s.expr(t, 1))
		s.line("}")
	}
}

func (s *serial) pointer() {
	x := s.slices[s.IntN(len(s.slices))]
	p := s.name("p")
	s.line("%s := &%s[%s]", p, x.name, s.index(x))
	s.line("_ = %s", p)
	s.vars = append(s.vars, place{"(*" + p + ")", x.t, x.set, 0, false, ""})
}

// freeze leaves in scope what no code behind it assigns: a literal captures nothing else.
func (s *serial) freeze() (saved []place) {
	saved = s.vars
	s.vars = nil
	for _, v := range saved {
		if !v.set {
			s.vars = append(s.vars, v)
		}
	}
	return saved
}

// literal is a function in place.
func (s *serial) literal() {
	t, f := s.scalar(), s.name("f")
	x := s.written()
	saved := s.freeze()
	s.vars = append(s.vars, place{"x", t, false, 0, false, ""})
	s.line("%s := func(x %s) %s {", f, t, t)
	s.depth++
	if s.chance(50) && x.name != "" {
		s.line("%s[%s] = %s", x.name, s.index(x), s.expr(x.t, 1))
	}
	s.line("if %s {", s.cond(1))
	s.line("\treturn %s", s.expr(t, 1))
	s.line("}")
	s.line("return x + %s", s.expr(t, 1))
	s.depth--
	s.line("}")
	s.vars = saved
	to, u := s.target()
	if u == "bool" {
		s.line("_ = %s(%s)", f, s.expr(t, 1))
		return
	}
	s.line("%s = %s", to, s.convert(fmt.Sprintf("%s(%s)", f, s.expr(t, 1)), t, u))
}

// exchange assigns two places of one type at once.
func (s *serial) exchange() {
	x := s.written()
	if x.name == "" {
		s.store()
		return
	}
	y := x
	for range 8 {
		if z := s.slices[s.IntN(len(s.slices))]; z.t == x.t && z.set {
			y = z
			break
		}
	}
	a, b := fmt.Sprintf("%s[%s]", x.name, s.index(x)), fmt.Sprintf("%s[%s]", y.name, s.index(y))
	if s.chance(60) {
		s.line("if %s {", s.cond(1))
		s.line("\t%s, %s = %s, %s", a, b, b, a)
		s.line("}")
		return
	}
	s.line("%s, %s = %s, %s", a, b, s.expr(x.t, 1), a)
}

// descend is a loop of a condition that becomes false by itself.
func (s *serial) descend() {
	t, v := s.pick(wholeNames...), s.name("d")
	s.line("%s := %s(%s)", v, t, s.expr(t, 2))
	s.vars = append(s.vars, place{v, t, false, 0, false, ""})
	c := s.pick(wholeNames...)
	if u, ok := s.scalarVar(isWhole); ok {
		s.line("for %s != 0 {", v)
		s.line("\t%s += %s(%s %% 10)", u.name, u.t, v)
		if s.chance(30) {
			s.line("\tif %s == 5 {", v)
			s.line("\t\tbreak")
			s.line("\t}")
		}
		s.line("\t%s /= %d", v, 3+s.IntN(8))
		s.line("}")
		return
	}
	s.line("%s = %s(%s(%s) / 3)", v, t, c, v)
}

// copyRecords changes and copies records, whole and by their fields.
func (s *serial) copyRecords() {
	if len(s.records) == 0 || !s.records[0].set {
		s.store()
		return
	}
	x := s.records[s.IntN(len(s.records))]
	y := s.records[s.IntN(len(s.records))]
	f := s.rec[s.IntN(len(s.rec))]
	v := s.name("z")
	switch s.IntN(3) {
	case 0:
		s.line("%s := %s[%s]", v, x.name, s.index(x))
		s.line("%s.%s += %s", v, f[0], s.expr(f[1], 1))
		s.line("%s[%s] = %s", y.name, s.index(y), v)
	case 1:
		s.line("%s := &%s[%s]", v, x.name, s.index(x))
		s.line("%s.%s = %s", v, f[0], s.expr(f[1], 2))
		s.line("*%s = %s[%s]", v, y.name, s.index(y))
	default:
		s.line("%s[%s], %s[%s] = %s[%s], rec_%s{%s: %s}", x.name, s.index(x), y.name, s.index(y), y.name, s.index(y), s.id, f[0], s.expr(f[1], 1))
	}
}
