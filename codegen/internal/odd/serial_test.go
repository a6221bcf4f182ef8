package odd

import (
	"fmt"
	"math/rand/v2"
	"strings"
)

// This file has programs of another make: ordinary functions as one writes them for one processor. No
// directive promises anything, so iterations may depend on one another in every way, arguments may
// overlap in memory, and each run is to do what Go's does. The compiler alone finds what is parallel.

// firstSerial is the first seed of these programs.
const firstSerial = 1 << 40

// A place is a variable, or a slice with its element type.
type place struct {
	name, t string
	set     bool
	least   int    // of a counter: its least value; of a slice: elements that it has at least
	wide    bool   // of a counter: it goes up to n*w
	base    string // of a part of a slice: the slice
}

// whole is the slice that p is a part of.
func (p place) whole() string {
	if p.base != "" {
		return p.base
	}
	return p.name
}

type serial struct {
	*rand.Rand
	b        strings.Builder
	id       string
	depth    int
	next     int
	budget   int
	exact    bool // indices stay in range
	types    []string
	vars     []place // scalars
	counters []place // ints that are indices of loops
	slices   []place
	records  []place // slices of structs
	rec      [][2]string
	labels   []string // of loops that may be left
	helpers  []string // kinds that are there
	elem     string   // of helpers
}

var (
	wholeNames   = []string{"int", "int", "int64", "int32", "int16", "int8", "uint8", "uint16", "uint32", "uint64", "uint"}
	floatNames   = []string{"float64", "float64", "float32"}
	complexNames = []string{"complex128", "complex64"}
)

func (s *serial) line(format string, args ...any) {
	s.b.WriteString(strings.Repeat("\t", s.depth) + fmt.Sprintf(format, args...) + "\n")
}
func (s *serial) pick(list ...string) string { return list[s.IntN(len(list))] }
func (s *serial) chance(percent int) bool    { return s.IntN(100) < percent }
func (s *serial) name(prefix string) string {
	s.next++
	return fmt.Sprintf("%s%d", prefix, s.next)
}
func isFloat(t string) bool   { return strings.HasPrefix(t, "float") }
func isComplex(t string) bool { return strings.HasPrefix(t, "complex") }
func isWhole(t string) bool   { return !isFloat(t) && !isComplex(t) && t != "bool" }
func isSigned(t string) bool  { return isWhole(t) && t[0] == 'i' }
func width(t string) int {
	for _, n := range []int{8, 16, 32} {
		if strings.HasSuffix(t, fmt.Sprint(n)) {
			return n
		}
	}
	return 64
}

// scalar is a random type, one of the program's few more often.
func (s *serial) scalar() string {
	if s.chance(85) {
		return s.pick(s.types...)
	}
	return s.pick(append(append([]string{}, wholeNames...), floatNames...)...)
}

// makeSerial returns the text of program seed.
func makeSerial(seed uint64) string {
	s := &serial{Rand: rand.New(rand.NewPCG(seed, 1901)), id: fmt.Sprint(seed)}
	s.exact = s.chance(80)
	for range 1 + s.IntN(3) {
		s.types = append(s.types, s.pick(append(append([]string{}, wholeNames...), floatNames...)...))
	}
	if s.chance(10) {
		s.types = append(s.types, s.pick(complexNames...))
	}
	s.elem = s.pick(s.types...)
	if s.chance(35) {
		s.record()
	}
	s.writeHelpers()
	s.kernel()
	return s.b.String()
}

// record declares a struct, and perhaps a method that changes it.
func (s *serial) record() {
	s.line("type rec_%s struct {", s.id)
	for i := range 2 + s.IntN(3) {
		f := [2]string{string(rune('a' + i)), s.scalar()}
		s.rec = append(s.rec, f)
		s.line("\t%s %s", f[0], f[1])
	}
	s.line("}\n")
	if s.chance(50) {
		f := s.rec[s.IntN(len(s.rec))]
		s.line("func (r *rec_%s) change(v %s) { r.%s += v }\n", s.id, f[1], f[0])
		s.helpers = append(s.helpers, "change "+f[1])
	}
}

// writeHelpers writes functions that change what their arguments lead to.
func (s *serial) writeHelpers() {
	t, constraint := s.elem, s.elem+" | int16"
	if t == "int16" {
		constraint = "int16"
	}
	all := map[string]string{
		"put":    "func put_%[1]s(s []%[2]s, i int, v %[2]s) {\n\tif i < len(s) {\n\t\ts[i] = v\n\t}\n}\n\n",
		"swap":   "func swap_%[1]s(p, q *%[2]s) { *p, *q = *q, *p }\n\n",
		"add":    "func add_%[1]s[T %[3]s](dst, src []T, k T) (n int) {\n\tfor i := range min(len(dst), len(src)) {\n\t\tdst[i] += src[i]\n\t\tn++\n\t}\n\tdst[0] += k\n\treturn n\n}\n\n",
		"total":  "func total_%[1]s(s []%[2]s) (t %[2]s) {\n\tfor _, v := range s {\n\t\tt += v\n\t}\n\treturn\n}\n\n",
		"halves": "func halves_%[1]s(x, y int) (q, r int) {\n\tif y == 0 {\n\t\treturn 0, x\n\t}\n\tif x < 0 {\n\t\tq, r = halves_up_%[1]s(-x, y)\n\t\treturn -q, -r\n\t}\n\treturn x / y, x %% y\n}\n\nfunc halves_up_%[1]s(x, y int) (int, int) { return x / y, x %% y }\n\n",
		"find":   "func find_%[1]s(s []%[2]s, v %[2]s) int {\n\tfor i, x := range s {\n\t\tif x == v {\n\t\t\treturn i\n\t\t}\n\t}\n\treturn -1\n}\n\n",
		"gcd":    "func gcd_%[1]s(a, b uint32) uint32 {\n\tfor b != 0 {\n\t\ta, b = b, a%%b\n\t}\n\treturn a\n}\n\n",
		"apply":  "func apply_%[1]s(s []%[2]s, f func(int, %[2]s) %[2]s) {\n\tfor i := range s {\n\t\ts[i] = f(i, s[i])\n\t}\n}\n\n",
		"turn":   "func turn_%[1]s(s []%[2]s) {\n\tfor i, j := 0, len(s)-1; i < j; i, j = i+1, j-1 {\n\t\ts[i], s[j] = s[j], s[i]\n\t}\n}\n\n",
		"view":   "type view_%[1]s struct {\n\tdata []%[2]s\n\tw    int\n}\n\nfunc (v view_%[1]s) at(i, j int) %[2]s { return v.data[i*v.w+j] }\n\nfunc (v view_%[1]s) set(i, j int, x %[2]s) { v.data[i*v.w+j] = x }\n\nfunc (v view_%[1]s) row(i int) []%[2]s { return v.data[i*v.w : (i+1)*v.w] }\n\n",
	}
	for _, name := range []string{"put", "swap", "add", "total", "halves", "find", "gcd", "apply", "turn", "view"} {
		if s.chance(40) {
			fmt.Fprintf(&s.b, strings.ReplaceAll(all[name], "%[3]s", constraint), s.id, t)
			s.helpers = append(s.helpers, name)
		}
	}
}

func (s *serial) kernel() {
	list := []string{"n int", "w int"}
	s.vars = append(s.vars, place{"n", "int", false, 0, false, ""}, place{"w", "int", false, 0, false, ""})
	for i := range 1 + s.IntN(2) {
		t := s.scalar()
		list = append(list, fmt.Sprintf("k%d %s", i, t))
		s.vars = append(s.vars, place{fmt.Sprintf("k%d", i), t, s.chance(50), 0, false, ""})
	}
	for i := range 2 + s.IntN(3) {
		t := s.elem
		if i > 1 && s.chance(60) {
			t = s.scalar()
		}
		list = append(list, fmt.Sprintf("s%d []%s", i, t))
		s.slices = append(s.slices, place{fmt.Sprintf("s%d", i), t, true, 8, false, ""})
	}
	if len(s.rec) > 0 {
		for i := range 1 + s.IntN(2) {
			list = append(list, fmt.Sprintf("p%d []rec_%s", i, s.id))
			s.records = append(s.records, place{fmt.Sprintf("p%d", i), "rec_" + s.id, true, 8, false, ""})
		}
	}
	if s.chance(30) {
		list = append(list, fmt.Sprintf("at *[4]%s", s.elem))
		s.slices = append(s.slices, place{"at", s.elem, true, 4, false, ""})
	}
	if s.chance(30) {
		t := s.scalar()
		list = append(list, "one *"+t)
		s.vars = append(s.vars, place{"(*one)", t, true, 0, false, ""})
	}
	list = append(list, "ix []int32", "res []float64")
	s.line("//omp:target device(acc, smp)%s", s.pick("", "", "", "", "", "", "", " contract"))
	s.line("func K_%s(%s) {", s.id, strings.Join(list, ", "))
	s.depth++
	outer := len(s.vars)
	for range 1 + s.IntN(4) {
		t := s.scalar()
		v := s.name("v")
		if s.chance(50) {
			s.line("var %s %s", v, t)
		} else {
			s.line("%s := %s(%s)", v, t, s.expr(t, 1))
		}
		s.line("_ = %s", v)
		s.vars = append(s.vars, place{v, t, true, 0, false, ""})
	}
	s.budget = 8 + s.IntN(24)
	kept := s.vars
	for range 1 + s.IntN(3) {
		if s.chance(35) {
			s.league()
		} else {
			s.loop()
		}
		if s.chance(30) {
			s.stmt()
		}
	}
	for i, v := range kept[outer:] {
		switch e := v.name; {
		case isComplex(v.t):
			s.line("res[%d] = float64(real(%s))", i, e)
		case v.t == "bool":
		default:
			s.line("res[%d] = float64(%s)", i, e)
		}
	}
	s.depth--
	s.line("}")
}

// scope writes what f writes, and forgets what it declares.
func (s *serial) scope(f func()) {
	vars, counters, slices, labels := s.vars, s.counters, s.slices, s.labels
	s.depth++
	f()
	s.depth--
	s.vars, s.counters, s.slices, s.labels = vars[:len(vars):len(vars)], counters[:len(counters):len(counters)], slices[:len(slices):len(slices)], labels[:len(labels):len(labels)]
}

func (s *serial) block(n int) {
	s.scope(func() {
		for range n {
			s.stmt()
		}
	})
}

// bound is the end of a loop.
func (s *serial) bound() string {
	if len(s.counters) > 0 {
		return s.pick("w", "w", "w", "3", "n", "4", "w-1")
	}
	return s.pick("n", "n", "n", "n*w", "n-1", "w")
}

// loop writes one, with a directive or without.
func (s *serial) loop() {
	if s.budget--; s.budget < 0 || len(s.counters) > 2 {
		s.store()
		return
	}
	i, hi := s.name("i"), s.bound()
	c := place{name: i, t: "int", wide: strings.Contains(hi, "*")}
	var elem []place
	head, plain := "", true
	tail := ""
	outer := ""
	if len(s.counters) > 0 {
		outer = s.counters[s.IntN(len(s.counters))].name
	}
	switch m := s.IntN(20); {
	case m < 5:
		head = fmt.Sprintf("for %[1]s := 0; %[1]s < %[2]s; %[1]s++ {", i, hi)
	case m < 7:
		head = fmt.Sprintf("for %s := range %s {", i, s.pick(hi, "n", "w"))
		if strings.HasSuffix(head, "range 3 {") || strings.HasSuffix(head, "range 4 {") {
			head = fmt.Sprintf("for %s := range 3 {", i)
		}
	case m < 9:
		head = fmt.Sprintf("for %[1]s := %[2]s - 1; %[1]s >= 0; %[1]s-- {", i, hi)
	case m < 11:
		c.least = 1
		head = fmt.Sprintf("for %[1]s := 1; %[1]s < %[2]s; %[1]s++ {", i, hi)
	case m == 11:
		c.least = s.IntN(2)
		head = fmt.Sprintf("for %[1]s := %[2]d; %[1]s < %[3]s; %[1]s += %[4]d {", i, c.least, hi, 2+s.IntN(2))
	case m == 12 && outer != "":
		head = fmt.Sprintf(s.pick("for %[1]s := 0; %[1]s <= %[2]s; %[1]s++ {", "for %[1]s := 0; %[1]s < %[2]s; %[1]s++ {", "for %[1]s := %[2]s; %[1]s >= 0; %[1]s-- {"), i, outer)
	case m == 13 && outer != "":
		c.least = 1
		head = fmt.Sprintf(s.pick("for %[1]s := %[2]s + 1; %[1]s < %[3]s; %[1]s++ {", "for %[1]s := %[3]s - 1; %[1]s > %[2]s; %[1]s-- {"), i, outer, hi)
	case m == 14:
		x := s.slices[s.IntN(len(s.slices))]
		v := s.name("e")
		elem = append(elem, place{v, x.t, s.chance(30), 0, false, ""})
		over := s.pick(fmt.Sprintf("%s[:min(n, len(%s))]", x.name, x.name), fmt.Sprintf("%s[1:4]", x.name))
		switch {
		case x.name == "at":
			over = s.pick("at", "at[1:]")
		case x.least < 8:
			over = x.name
		}
		head = fmt.Sprintf("for %s, %s := range %s {", i, v, over)
	case m == 15:
		t := s.pick("uint8", "int8", "uint16", "int32", "uint32", "uint64", "int64", "int16")
		c.t = t
		head = fmt.Sprintf(s.pick("for %[1]s := %[2]s(0); %[1]s < %[2]s(%[3]s); %[1]s++ {", "for %[1]s := range %[2]s(%[3]s) {", "for %[1]s := %[2]s(%[3]s); %[1]s > 0; %[1]s-- {"), i, t, s.pick("n&15", "w&15", "5"))
	case m == 16:
		plain = false
		s.line("%s := %s", i, s.pick("0", "1"))
		head, tail = fmt.Sprintf("for %s < %s {", i, hi), i+s.pick("++", "++", " += 2")
	case m == 17:
		plain = false
		head = fmt.Sprintf(s.pick("for %[1]s := n / 2; %[1]s > 0; %[1]s /= 2 {", "for %[1]s := 1; %[1]s < n; %[1]s *= 2 {", "for %[1]s := n; %[1]s > 0; %[1]s >>= 1 {"), i)
	case m == 18:
		j := s.name("j")
		plain = false
		elem = append(elem, place{j, "int", false, 0, false, ""})
		head = fmt.Sprintf("for %[1]s, %[2]s := 0, %[3]s-1; %[1]s < %[2]s; %[1]s, %[2]s = %[1]s+1, %[2]s-1 {", i, j, s.pick("n", "w", "n*w"))
	default:
		head = fmt.Sprintf("for %[1]s := %[2]s(%[3]s, 0); %[1]s < min(%[4]s, %[5]s); %[1]s++ {", i, "max", s.pick("n-5", "w-3", "n-w"), hi, s.pick("n+w", "7", "2*n"))
	}
	label := ""
	plain = plain && !(c.t[0] == 'u' && strings.HasSuffix(head, "-- {")) // loop is refused there
	switch {
	case !plain || s.chance(65):
		label = s.name("L")
	case len(s.labels) == 0 && s.chance(40): // a league stands outside of all loops
		s.line("//omp:teams loop")
	default:
		s.line("//omp:loop")
	}
	text := s.b.String()
	s.b.Reset()
	s.scope(func() {
		if c.t == "int" {
			s.counters = append(s.counters, c)
		}
		s.vars = append(append(s.vars, place{name: i, t: c.t}), elem...)
		for _, v := range append(elem, c) {
			s.line("_ = %s", v.name)
		}
		s.labels = append(s.labels, label) // "" where a directive governs the loop
		for range 1 + s.IntN(4) {
			s.stmt()
		}
		if tail != "" {
			s.line("%s", tail)
		}
	})
	body := s.b.String()
	s.b.Reset()
	s.b.WriteString(text)
	if tail != "" {
		body = strings.ReplaceAll(body, "continue "+label+"\n", "break "+label+"\n")
	}
	if label != "" && strings.Contains(body, " "+label+"\n") {
		s.b.WriteString(strings.Repeat("\t", s.depth) + label + ":\n")
	}
	s.line("%s", head)
	s.b.WriteString(body)
	s.line("}")
}

// league is a loop of which a directive says that it is parallel: each iteration writes a part of a slice
// that no other reads, and variables of its own.
func (s *serial) league() {
	vars, slices, records := s.vars, s.slices, s.records
	defer func() { s.vars, s.slices, s.records = vars, slices, records }()
	at := s.IntN(2)
	own := slices[at]
	frozen := func(list []place) (out []place) {
		for _, x := range list {
			x.set = false
			if !strings.HasPrefix(x.name, "(*p") && x.whole() != own.name {
				out = append(out, x)
			}
		}
		return out
	}
	s.vars, s.records = frozen(vars), frozen(records)
	s.slices = frozen(slices)
	i, k := s.name("i"), 1+s.IntN(4)
	s.line("//omp:%s", s.pick("teams distribute parallel for", "teams distribute parallel for", "parallel for", "teams distribute parallel for simd", "teams distribute parallel for schedule(dynamic, 2)"))
	s.line(s.pick("for %[1]s := 0; %[1]s < %[2]s; %[1]s++ {", "for %[1]s := range %[2]s {", "for %[1]s := %[2]s - 1; %[1]s >= 0; %[1]s-- {"), i, s.pick("n", "w", "n*w/2", "n+w"))
	s.scope(func() {
		s.line("own := %s[%s]", own.name, s.pick(fmt.Sprintf("%[1]s*%[2]d:%[1]s*%[2]d+%[2]d", i, k), fmt.Sprintf("%[1]s*%[2]d:%[1]s*%[2]d+%[2]d:%[1]s*%[2]d+%[2]d", i, k)))
		s.line("_ = own")
		if k == 1 {
			s.dropLast()
			s.dropLast()
			s.line("own := &%s[%s]", own.name, i)
			s.line("_ = own")
			s.vars = append(s.vars, place{name: "(*own)", t: own.t, set: true})
		} else {
			s.slices = append(s.slices, place{"own", own.t, true, k, false, ""}, place{"own", own.t, true, k, false, ""})
		}
		s.counters = append(s.counters, place{name: i, t: "int", wide: true})
		s.vars = append(s.vars, place{name: i, t: "int"})
		for range 1 + s.IntN(2) {
			t, v := s.scalar(), s.name("v")
			s.line("%s := %s(%s)", v, t, s.expr(t, 2))
			s.line("_ = %s", v)
			s.vars = append(s.vars, place{name: v, t: t, set: true})
		}
		s.labels = append(s.labels, "")
		s.budget += 4
		for range 2 + s.IntN(4) {
			s.stmt()
		}
		if k == 1 {
			s.line("*own = %s", s.expr(own.t, 3))
		} else {
			s.line("own[%d] = %s", s.IntN(k), s.expr(own.t, 2))
		}
	})
	s.line("}")
}

// index is an index of slice x, in range where the program is to be exact.
func (s *serial) index(x place) string {
	if x.name == "at" || x.least <= 4 && x.least > 0 {
		if s.chance(50) {
			return fmt.Sprint(s.IntN(x.least))
		}
		return fmt.Sprintf("uint(%s) %% %d", s.whole(1), x.least)
	}
	var list []string
	for _, c := range s.counters {
		i := c.name
		list = append(list, i, i, i+"+1", i+"+2", "n*w-1-"+i+"+n", "2*"+i, i+"/2", i+"^1", i+"&3", "2*"+i+"+1", "n+"+i)
		if c.least > 0 {
			list = append(list, i+"-1", i+"-1", "2*"+i+"-1")
		}
		for _, d := range s.counters {
			if d.name != i && !c.wide && !d.wide {
				j := d.name
				list = append(list, i+"*w+"+j, i+"*w+"+j, i+"+"+j, j+"*n+"+i, i+"*w+"+j+"+1", i+"*w+w-"+j, "("+i+"+1)*w+"+j, i+"*4+"+j+"&3")
				if c.least > 0 {
					list = append(list, "("+i+"-1)*w+"+j, i+"*w+"+j+"-1")
				}
			}
		}
	}
	list = append(list, "0", "n", "w", fmt.Sprintf("uint(%s) %% uint(len(%s))", s.whole(1), x.name), fmt.Sprintf("uint8(%s) & 7", s.whole(1)))
	if len(s.counters) > 0 {
		list = append(list, "int(ix["+s.counters[0].name+"])", "int(ix["+s.counters[len(s.counters)-1].name+"])")
	}
	if !s.exact && s.chance(4) {
		return "int(" + s.whole(1) + ")"
	}
	return s.pick(list...)
}

// target is a place that is assigned.
func (s *serial) target() (string, string) {
	if len(s.records) > 0 && s.records[0].set && s.chance(25) {
		x, f := s.records[s.IntN(len(s.records))], s.rec[s.IntN(len(s.rec))]
		return fmt.Sprintf("%s[%s].%s", x.name, s.index(x), f[0]), f[1]
	}
	if s.chance(30) {
		for range 6 {
			if v := s.vars[s.IntN(len(s.vars))]; v.set {
				return v.name, v.t
			}
		}
	}
	x := s.written()
	if x.name == "" {
		for _, v := range s.vars {
			if v.set {
				return v.name, v.t
			}
		}
	}
	return fmt.Sprintf("%s[%s]", x.name, s.index(x)), x.t
}

// written is a slice that may be written, one without a name where there is none.
func (s *serial) written() place {
	for range 20 {
		if x := s.slices[s.IntN(len(s.slices))]; x.set {
			return x
		}
	}
	return place{t: s.elem}
}

func (s *serial) store() {
	to, t := s.target()
	switch {
	case t == "bool":
		s.line("%s = %s", to, s.cond(1))
	case isWhole(t) && s.chance(40):
		s.line("%s %s %s", to, s.pick("+=", "-=", "*=", "^=", "|=", "&=", "&^="), s.expr(t, 2))
	case isWhole(t) && s.chance(10):
		s.line("%s %s uint8(%s)", to, s.pick("<<=", ">>="), s.whole(1))
	case isWhole(t) && s.chance(15):
		s.line("%s%s", to, s.pick("++", "--"))
	case !isWhole(t) && s.chance(40):
		s.line("%s %s %s", to, s.pick("+=", "-="), s.expr(t, 2))
	default:
		s.line("%s = %s", to, s.expr(t, 3))
	}
}

func (s *serial) scalarVar(want func(string) bool) (place, bool) {
	for range 12 {
		if v := s.vars[s.IntN(len(s.vars))]; v.set && want(v.t) {
			return v, true
		}
	}
	return place{}, false
}
