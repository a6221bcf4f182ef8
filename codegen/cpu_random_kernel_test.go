//go:build linux && (amd64 || arm64)

package codegen_test

import (
	"fmt"
	"math/rand/v2"
	"strconv"
	"strings"
)

// loops makes random kernels of parallel loops over slices: what becomes lanes. Iterations write places of their own or through atomics and
// reductions of integers, so every target must give what Go gives, bit for bit.
type loops struct {
	*rand.Rand
	b       strings.Builder
	depth   int
	inner   int
	jumps   bool   // break and continue are possible here
	f, i    string // the types
	scatter bool   // the outputs are written through a permutation
	fs, is  []string
	js      []string // small counters in scope
	sums    bool
	nests   bool
	steps   bool // the parallel loops stand in sequential ones
	pair    bool // minloc or maxloc
	counts  bool // an array is reduced
	last    bool // lastprivate
	least   string
	rows    *rand.Rand // of what is done with fields: kernels of old seeds are what they were, but for that
}

// The parameters of every kernel: inputs have 3n+4 elements, outputs n, ix numbers below n, perm is a permutation.
const loopParams = "(n int, s F, k I, fa, fb []F, ia, ib []I, ix, perm []int32, ps []triple, fo []F, io []I, bins []int64, qs []triple, rs []record)"

func (w *loops) line(format string, args ...any) {
	w.b.WriteString(strings.Repeat("\t", w.depth) + fmt.Sprintf(format, args...) + "\n")
}

func (w *loops) pick(list ...string) string { return list[w.IntN(len(list))] }

func (w *loops) chance(percent int) bool { return w.IntN(100) < percent }

// index is a place in an input, in range for every iteration.
func (w *loops) index() string {
	list := []string{"i", "i", "i", "i+1", "i+3", "2*i", "3*i+2", "n-1-i", "int(ix[i])", "int(ix[i])+i", "2*int(ix[n-1-i])+1", "n-1", "0", "i+n", "3*n+3-i"}
	for _, j := range w.js {
		list = append(list, "i+"+j, j, "int(ix[i])+"+j)
	}
	return w.pick(list...)
}

func (w *loops) float(depth int) string { return w.wrapFloat(w.plainFloat(depth)) }

func (w *loops) plainFloat(depth int) string {
	if depth <= 0 || w.chance(15) {
		list := append([]string{"s", "F(i)"}, w.fs...)
		for _, a := range []string{"fa", "fb"} {
			list = append(list, fmt.Sprintf("%s[%s]", a, w.index()))
		}
		return w.pick(append(list, fmt.Sprintf("F(ps[%s].x)", w.index()))...)
	}
	x, y := w.float(depth-1), w.float(depth-1)
	if w.chance(20) {
		y = w.pick("1.5", "-0.25", "3", "2", "1e9") // never both: Go computes with constants
	}
	switch w.IntN(16) {
	case 0, 1, 2:
		return fmt.Sprintf("(%s + %s)", x, y)
	case 3, 4:
		return fmt.Sprintf("(%s - %s)", x, y)
	case 5, 6, 7:
		return fmt.Sprintf("(%s * %s)", x, y)
	case 8:
		return fmt.Sprintf("(%s / %s)", x, y)
	case 9:
		return fmt.Sprintf("kernel.Sqrt(kernel.Abs(%s))", x)
	case 10:
		return fmt.Sprintf("min(%s, %s)", x, y)
	case 11:
		return fmt.Sprintf("max(%s, %s)", x, y)
	case 12:
		return fmt.Sprintf("F(%s)", w.integer(depth-1))
	case 13:
		return fmt.Sprintf("kernel.%s(%s)", w.pick("Floor", "Ceil", "Trunc", "Abs", "RoundToEven", "Round"), x)
	case 14:
		return fmt.Sprintf("F(%s(%s))", w.pick("float32", "float64"), x)
	}
	return fmt.Sprintf("-(%s)", x)
}

func (w *loops) integer(depth int) string { return w.wrapInteger(w.plainInteger(depth)) }

func (w *loops) plainInteger(depth int) string {
	if depth <= 0 || w.chance(15) {
		list := append([]string{"k", "I(i)", "I(n)"}, w.is...)
		for _, j := range w.js {
			list = append(list, "I("+j+")")
		}
		for _, a := range []string{"ia", "ib"} {
			list = append(list, fmt.Sprintf("%s[%s]", a, w.index()))
		}
		return w.pick(append(list, fmt.Sprintf("I(ix[%s])", w.pick("i", "n-1-i")), fmt.Sprintf("I(ps[%s].n)", w.index()))...)
	}
	x, y := w.integer(depth-1), w.integer(depth-1)
	if w.chance(20) {
		y = w.pick("7", "3", "1", "2", "100")
	}
	switch w.IntN(14) {
	case 0, 1, 2:
		return fmt.Sprintf("(%s + %s)", x, y)
	case 3, 4:
		return fmt.Sprintf("(%s - %s)", x, y)
	case 5, 6:
		return fmt.Sprintf("(%s * %s)", x, y)
	case 7:
		return fmt.Sprintf("(%s %s %s)", x, w.pick("&", "|", "^", "&^"), y)
	case 8:
		return fmt.Sprintf("(%s %s %d)", x, w.pick("<<", ">>"), w.IntN(9))
	case 9:
		return fmt.Sprintf("(%s %s (uint32(%s) & 15))", x, w.pick("<<", ">>"), y)
	case 10:
		return fmt.Sprintf("(%s %s (%s | 1))", x, w.pick("/", "%"), y)
	case 11:
		return fmt.Sprintf("%s(%s, %s)", w.pick("min", "max"), x, y)
	case 12:
		return fmt.Sprintf("I(%s(%s))", w.pick("int8", "uint8", "int16", "uint16", "int32", "uint32", "int64", "uint64"), x)
	}
	return fmt.Sprintf("%s(%s)", w.pick("^", "-"), x)
}

func (w *loops) cond(depth int) string {
	cmp := w.pick("<", "<=", ">", ">=", "==", "!=")
	switch w.IntN(7) {
	case 0, 1, 2:
		return fmt.Sprintf("%s %s %s", w.float(depth), cmp, w.float(depth-1))
	case 3, 4:
		return fmt.Sprintf("%s %s %s", w.integer(depth), cmp, w.integer(depth-1))
	case 5:
		return fmt.Sprintf("(%s) %s (%s)", w.cond(depth-1), w.pick("&&", "||"), w.cond(depth-1))
	}
	return fmt.Sprintf("!(%s)", w.cond(depth-1))
}

func (w *loops) block(n int) {
	fs, is, js := w.fs, w.is, w.js
	w.depth++
	for range n {
		w.stmt()
	}
	w.depth--
	w.fs, w.is, w.js = fs, is, js
}

func (w *loops) stmt() {
	switch n := w.IntN(28); {
	case n < 4:
		w.line("%s %s %s", w.pick("x", "y"), w.pick("=", "+=", "-=", "*="), w.float(3))
	case n < 8:
		w.line("%s %s %s", w.pick("p", "q"), w.pick("=", "+=", "-=", "^=", "|=", "*="), w.integer(3))
	case n < 10 && w.depth < 5:
		w.line("if %s {", w.cond(2))
		w.block(1 + w.IntN(2))
		if w.chance(40) {
			w.line("} else {")
			w.block(1)
		}
		w.line("}")
	case n == 10:
		w.line("if x > %s && x < 100 {", map[bool]string{true: "0", false: "-100"}[w.i[0] == 'u'])
		w.line("\tp = I(x)")
		w.line("}")
	case n < 14 && w.depth < 4:
		w.loop()
	case n == 14 && w.depth < 4:
		w.simd()
	case n == 15:
		w.inner++
		v := fmt.Sprintf("v%d", w.inner)
		w.line("%s := %s", v, w.float(2))
		w.line("_ = %s", v)
		w.fs = append(w.fs[:len(w.fs):len(w.fs)], v)
	case n == 16 && w.jumps:
		w.line("if %s {", w.cond(1))
		w.line("\t%s", w.pick("break", "continue"))
		w.line("}")
	case n == 17 && w.sums:
		w.line("total %s= int64(%s)", w.pick("+", "-"), w.integer(2))
	case n == 18:
		switch {
		case w.chance(20):
			w.line("{")
			w.line("	var held int64")
			w.line("	//omp:atomic capture")
			w.line("	{")
			w.line("		held = bins[i%%4]")
			w.line("		bins[i%%4] += int64(%s)", w.pick("1", "i", "ix[i]"))
			w.line("	}")
			w.line("	if held == 1<<62 { // never: what it holds here is not said")
			w.line("		x++")
			w.line("	}")
			w.line("}")
		default:
			w.line("//omp:atomic")
			w.line("bins[%s] += int64(%s)", w.pick("ix[i]&3", "i&3", "2", "ix[i]%4"), w.integer(1))
		}
	case n == 19:
		w.line("switch {")
		w.line("case %s:", w.cond(1))
		w.block(1)
		w.line("case %s:", w.cond(1))
		w.block(1)
		w.line("default:")
		w.block(1)
		w.line("}")
	case n >= 20 && n < 27:
		w.parts(n - 20)
	default:
		w.line("t[%s] += %s", w.arrayIndex(4), w.float(1))
		w.line("x += t[%s]", w.arrayIndex(4))
	}
}

// arrayIndex is a number below n, constant or not.
func (w *loops) arrayIndex(n int) string {
	list := []string{strconv.Itoa(w.IntN(n)), strconv.Itoa(w.IntN(n)), fmt.Sprintf("int(ix[i])%%%d", n), fmt.Sprintf("i%%%d", n), fmt.Sprintf("uint8(%s)%%%d", w.integer(1), n)}
	for _, j := range w.js {
		list = append(list, fmt.Sprintf("%s%%%d", j, n))
	}
	return w.pick(list...)
}

// parts uses arrays of an iteration's own, parts of slices, pointers, structs and functions.
func (w *loops) parts(kind int) {
	w.inner++
	v := fmt.Sprintf("w%d", w.inner)
	switch kind {
	case 0:
		w.line("u[%s] %s= %s", w.arrayIndex(5), w.pick("+", "-", "^"), w.integer(2))
		w.line("q ^= u[%s]", w.arrayIndex(5))
	case 1:
		w.line("%s := u", v)
		w.line("%s[%s]++", v, w.arrayIndex(5))
		w.line("p += %s[%s] - u[%s]", v, w.arrayIndex(5), w.arrayIndex(5))
	case 2:
		w.line("%s := %s", v, w.pick("ia[i:i+3]", "ib[2*i:][:3]", "ia[int(ix[i]):int(ix[i])+1+i%3]", "ib[:n]", "u[1:4]", "u[i%3:]"))
		if w.chance(30) {
			w.line("%s = %s[1:]", v, v)
			w.line("for len(%s) > 2 {", v)
			w.line("	q += %s[1]", v)
			w.line("	%s = %s[2:]", v, v)
			w.line("}")
		}
		w.line("for k, e := range %s {", v)
		w.line("	if k > 4 {")
		w.line("		break")
		w.line("	}")
		w.line("	p %s e + I(len(%s)-k)", w.pick("+=", "^="), v)
		w.line("}")
	case 3:
		w.line("%s := &ps[%s]", v, w.index())
		w.line("x += F(%s.x)", v)
		w.line("q -= I(%s.n) + I(%s.b)", v, v)
	case 4:
		w.line("p += I(above(ix[%s:], int32(%s)))", w.pick("i", "min(i, 3)", "0"), w.pick("ix[i]", "i", "n/2"))
	case 5:
		w.line("%s, %ss := digits(int64(%s))", v, v, w.integer(1))
		w.line("q += I(%s*%ss)", v, v)
	case 6:
		w.line("%s := [3]triple{{n: ix[i]}, {x: float32(i), n: 3}, ps[i]}", v)
		w.line("bump(&%s[%s], int32(%s))", v, w.arrayIndex(3), w.integer(1))
		w.line("%ss := [4]int32{ix[i], %s[%s].n, int32(%s[2].b), 7}", v, v, w.arrayIndex(3), v)
		w.line("sorted(%ss[:])", v)
		w.line("p ^= I(%ss[%s])", v, w.arrayIndex(4))
		w.line("x -= F(%s[%s].x)", v, w.arrayIndex(3))
	}
}

// loop is a sequential loop with few rounds, whose bounds or end may differ between lanes.
func (w *loops) loop() {
	w.inner++
	j, old := fmt.Sprintf("j%d", w.inner), w.jumps
	w.jumps = true
	switch w.IntN(5) {
	case 0:
		w.line("for %s := 0; %s < %d; %s++ {", j, j, 1+w.IntN(4), j)
	case 1:
		w.line("for %s := 0; %s < int(ix[i]%%4); %s++ {", j, j, j)
	case 2:
		w.line("for %s := range min(n, 3) {", j)
	case 3:
		w.line("for %s := 3; %s >= int(ix[i]&1); %s-- {", j, j, j)
	case 4:
		w.line("for %s := 0; %s < 4 && (%s); %s++ {", j, j, w.cond(1), j)
	}
	js := w.js
	w.js = append(w.js[:len(w.js):len(w.js)], j)
	w.line("\t_ = %s", j)
	w.block(1 + w.IntN(2))
	w.js, w.jumps = js, old
	w.line("}")
}

// simd is a loop whose lanes add up integers.
func (w *loops) simd() {
	w.inner++
	j, sum := fmt.Sprintf("j%d", w.inner), fmt.Sprintf("sum%d", w.inner)
	op := w.pick("+", "^", "|", "&", "min", "max")
	w.line("%s := int32(%d)", sum, w.IntN(9))
	w.line("//omp:simd reduction(%s: %s)", op, sum)
	w.line("for %s := range %s {", j, w.pick("n", "37", "int(ix[i])", "5"))
	e := fmt.Sprintf("ix[%s]", j) // below n for every j: the counter is below n or the loop below says so
	if op == "min" || op == "max" {
		w.line("\tif %s < n {", j)
		w.line("\t\t%s = %s(%s, %s+int32(i))", sum, op, sum, e)
	} else {
		w.line("\tif %s < n {", j)
		w.line("\t\t%s %s= %s*int32(i)", sum, op, e)
	}
	w.line("\t}")
	w.line("}")
	w.line("p += I(%s)", sum)
}

// kernel writes function name and returns its text, with the types in place of F and I.
func (w *loops) kernel(name string) string {
	w.f = w.pick("float32", "float64")
	w.i = w.pick("int8", "int16", "int32", "int32", "int64", "int64", "uint8", "uint16", "uint32", "uint64")
	w.fs, w.is = []string{"x", "y"}, []string{"p", "q"}
	w.scatter, w.sums = w.chance(25), w.chance(40)
	w.line("//omp:target device(acc, smp)")
	w.line("//omp:task in(fa, fb, ia, ib, ix, perm, ps) inout(fo, io, bins, qs, rs)")
	w.line("func %s%s {", name, loopParams)
	w.depth = 1
	for range 1 + w.IntN(2) {
		if w.steps {
			w.line("for step := 0; step < 1+n%%3; step++ {")
		} else {
			w.line("{")
		}
		if w.nests {
			w.nest()
		} else {
			w.outer()
		}
		w.line("}")
	}
	w.depth = 0
	w.line("}")
	text := w.b.String()
	for from, to := range map[string]string{"[]F": "[]" + w.f, "[]I": "[]" + w.i, " F,": " " + w.f + ",", " I,": " " + w.i + ",", "]F": "]" + w.f, "]I": "]" + w.i} {
		text = strings.ReplaceAll(text, from, to)
	}
	// F(...) and I(...) are conversions; no other name ends in these letters.
	text = replaceCall(text, "F", w.f)
	return replaceCall(text, "I", w.i)
}

// nest writes two parallel loops around others, as in a product of matrices: several rows may run at once.
func (w *loops) nest() {
	width := 1 + w.IntN(40)
	rows, cols := fmt.Sprintf("n/%d", width), fmt.Sprint(width)
	index := func(x, y string) string { return fmt.Sprintf("%s*%d+%s", x, width, y) }
	w.line("//omp:teams distribute parallel for collapse(2)")
	w.line("%s", w.pick("for i := 0; i < "+rows+"; i++ {", "for i := "+rows+" - 1; i >= 0; i-- {", "for i := range "+rows+" {"))
	w.line("%s", w.pick("for j := 0; j < "+cols+"; j++ {", "for j := 0; j < "+cols+"; j += 2 {", "for j := range "+cols+" {"))
	w.line("x, y := %s, %s", w.pick("F(k)", "s", "fa["+index("i", "j")+"]"), w.pick("F(2)", "fb["+index("i", "j")+"]"))
	for range 1 + w.IntN(2) {
		w.line("for l := 0; l < min(%s, %d); l++ {", rows, 1+w.IntN(5))
		for range 1 + w.IntN(2) {
			left := w.pick("fa["+index("i", "0")+"]", "fa["+index("l", "0")+"]", "fa[i]", "y", "F(ix[i])")
			right := w.pick("fb["+index("l", "j")+"]", "fa["+index("l", "j")+"]", "F(ia["+index("l", "j")+"])")
			w.line("%s %s %s * %s", w.pick("x", "y"), w.pick("+=", "-="), left, right)
		}
		w.line("}")
	}
	w.line("fo[%s] = x - y", index("i", "j"))
	w.line("}")
	w.line("}")
}

// replaceCall replaces name( where it is a whole word.
func replaceCall(text, name, with string) string {
	var b strings.Builder
	for {
		at := strings.Index(text, name+"(")
		if at < 0 {
			return b.String() + text
		}
		b.WriteString(text[:at])
		if at > 0 && (text[at-1] == '.' || text[at-1] >= 'a' && text[at-1] <= 'z' || text[at-1] >= 'A' && text[at-1] <= 'Z') {
			b.WriteString(name + "(")
		} else {
			b.WriteString(with + "(")
		}
		text = text[at+len(name)+1:]
	}
}

func (w *loops) outer() {
	clause := ""
	if w.sums {
		w.line("total := int64(n)")
		clause = " reduction(+: total)"
	}
	bounds := w.pick("for i := 0; i < n; i++ {", "for i := range n {", "for i := 0; i <= n-1; i++ {", "for i := n - 1; i >= 0; i-- {", "for i := 0; i < n; i += 3 {", "for i := range fo {")
	w.pair, w.counts, w.last, w.least = w.chance(15) && !strings.Contains(bounds, "--"), w.chance(15), w.chance(15), ""
	if w.chance(20) {
		w.least = w.pick("min", "max", "+", "*", "&", "|", "^")
	}
	if w.pair {
		w.line("best, where := F(1), -1")
		clause += fmt.Sprintf(" reduction(%s: (best, where))", map[bool]string{true: "minloc", false: "maxloc"}[w.chance(50)])
	}
	if w.counts {
		w.line("var counts [%d]int32", 6)
		clause += " reduction(+: counts)"
	}
	if w.last {
		w.line("end := I(3)")
		clause += " lastprivate(end)"
	}
	if w.least != "" {
		w.line("least, some, every := ia[0], false, true")
		clause += fmt.Sprintf(" reduction(%s: least) reduction(||: some) reduction(&&: every)", w.least)
	}
	w.line("//omp:teams distribute parallel for%s", clause)
	w.line("%s", bounds)
	w.depth++
	w.line("x, y := %s, %s", w.pick("fa[i]", "fb[n-1-i]", "F(i)"), w.pick("s", "fb[i]", "F(2)"))
	w.line("p, q := %s, %s", w.pick("ia[i]", "ib[i+1]", "I(i)"), w.pick("k", "ia[n-1-i]", "I(5)"))
	w.line("var t [4]F")
	w.line("var u [5]I")
	w.line("u[0] = p")
	w.depth--
	w.block(1 + w.IntN(5))
	w.depth++
	at := "i"
	if w.scatter {
		at = "perm[i]"
	}
	w.line("fo[%s] = x + y*t[1]", at)
	w.line("io[%s] %s p ^ q", at, map[bool]string{true: "=", false: w.pick("=", "+=")}[w.scatter])
	switch {
	case w.chance(30):
		w.line("qs[%s] = triple{float32(x), int32(q), int8(p)}", at)
	case w.chance(30):
		w.line("qs[%s].n += int32(p)", at)
	case w.chance(30):
		w.line("to := &qs[%s]", at)
		w.line("bump(to, int32(q))")
	}
	if w.rows.IntN(3) == 0 {
		others := w.Rand
		w.Rand = w.rows
		w.line("r := &rs[i]")
		for range 1 + w.IntN(5) {
			w.field(2)
		}
		w.Rand = others
	}
	w.folds(strings.Contains(clause, "minloc"))
	w.depth--
	w.line("}")
	w.results()
}

// field is a statement on the fields of the iteration's own record.
func (w *loops) field(depth int) {
	one := func() string {
		return w.pick("float64(r.a)", "float64(r.b)", "float64(r.z)", "r.w", "float64(r.n)", "float64(r.m)", "float64(r.c)", "float64(r.u>>40)", "float64(x)", "float64(i)", "1.5")
	}
	whole := func() string {
		return w.pick("int64(r.n)", "int64(r.m)", "int64(r.c)", "int64(r.u)", "int64(p)", "int64(ix[i])", "3", "int64(i)")
	}
	cond := w.pick("r.f", "!r.f", one()+" < "+one(), whole()+" >= "+whole(), "r.f && "+whole()+" != "+whole(), one()+" > "+one()+" || r.f")
	switch n := w.IntN(12); {
	case n < 4:
		to := w.pick("a", "b", "z", "w")
		w.line("r.%s %s %s(%s %s %s)", to, w.pick("=", "+=", "-="), map[bool]string{true: "float64", false: "float32"}[to == "w"], one(), w.pick("+", "-", "*"), one())
	case n < 8:
		to := w.pick("n", "m", "u", "c")
		w.line("r.%s %s %s(%s %s %s)", to, w.pick("=", "+=", "^="), map[string]string{"n": "int32", "m": "int32", "u": "uint64", "c": "int16"}[to], whole(), w.pick("+", "-", "*", "&"), whole())
	case n == 8:
		w.line("r.f = %s", cond)
	case n == 9:
		w.line("r.a, r.b, r.n, r.m = r.b, r.a, r.m, r.n")
	case depth > 0:
		w.line("%s {", w.pick("if "+cond, "if "+cond, fmt.Sprintf("for range %d", 1+w.IntN(3))))
		w.depth++
		for range 1 + w.IntN(3) {
			w.field(depth - 1)
		}
		w.depth--
		w.line("}")
	default:
		w.line("r.w += r.w")
	}
}

// folds gives the reductions of the loop what an iteration has.
func (w *loops) folds(least bool) {
	if w.pair {
		w.line("if v := %s; v %s best {", w.pick("fa[i]", "fb[n-1-i]", "F(ix[i])", "x"), map[bool]string{true: "<", false: ">"}[least])
		w.line("	best, where = v, i")
		w.line("}")
	}
	if w.counts {
		w.line("counts[%s]++", w.arrayIndex(6))
		w.line("counts[%s] += int32(i)", w.arrayIndex(6))
	}
	if w.last {
		w.line("end = p ^ q")
	}
	if w.least == "min" || w.least == "max" {
		w.line("least = %s(least, %s)", w.least, w.pick("p", "q", "ia[i]"))
	} else if w.least != "" {
		w.line("least %s= %s", w.least, w.pick("p", "q", "ia[i]"))
	}
	if w.least != "" {
		w.line("some = some || p == 3")
		w.line("every = every && ix[i] >= 0 && q != 7")
	}
}

// results stores the reductions.
func (w *loops) results() {
	if w.sums {
		w.line("bins[0] += total")
		w.sums = false
	}
	if w.pair {
		w.line("bins[1] += int64(where)")
		w.line("fo[0] = best")
	}
	if w.counts {
		w.line("for c := range counts {")
		w.line("	bins[c&3] = bins[c&3]*31 + int64(counts[c])")
		w.line("}")
	}
	if w.last {
		w.line("io[0] ^= end")
	}
	if w.least != "" {
		w.line("io[0] += least")
		w.line("if some != every {")
		w.line("	bins[2] ^= 5")
		w.line("}")
	}
	w.pair, w.counts, w.last, w.least = false, false, false, ""
}
