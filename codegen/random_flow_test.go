//go:build linux && (amd64 || arm64)

package codegen_test

import (
	"fmt"
	"math/rand/v2"
	"strings"
)

// flows makes random kernels of control flow: jumps out of every loop, switch and function, under conditions that are the same for all
// iterations and that are not; operators that step over accesses out of range; counters of few bits that wrap; loops over elements of several
// sizes in one kernel. Where Go's run ends with a panic, every target must fail.
type flows struct {
	*rand.Rand
	b       strings.Builder
	depth   int
	f, i, s string   // the types F, I and S
	at      string   // the element that the iteration owns; "" in functions
	row     bool     // at is r*w+c
	same    []string // integers that all iterations agree on
	differ  []string // integers that they do not
	assign  []string // variables of type I that may be assigned
	frames  []flowFrame
	outputs []string // what the parallel loop writes
	next    int
	returns bool // in a function of one result
	risky   bool // accesses out of range are made, seldom
	funcs   []string
	onCPU   bool // nested loops have nested(cpu)
}

// A flowFrame is a loop or switch that a jump may name.
type flowFrame struct {
	label string
	loop  bool
	used  bool
}

// The parameters of every kernel: there are n*w elements. Inputs have two more than twice as many, outputs as many, small ones 256; ix holds
// numbers of elements.
const flowParams = "(n, w int, k, m int64, s F, h I, lo, hi S, fa []F, ia []I, wa []int64, ua []uint8, ix []int32, ka []int64, fo []F, io []I, lo64 []int64, so []int16, so8 []int32, bins []int64)"

func (w *flows) line(format string, args ...any) {
	w.b.WriteString(strings.Repeat("\t", w.depth) + fmt.Sprintf(format, args...) + "\n")
}

func (w *flows) pick(list ...string) string { return list[w.IntN(len(list))] }

func (w *flows) chance(percent int) bool { return w.IntN(100) < percent }

func (w *flows) name(prefix string) string {
	w.next++
	return fmt.Sprintf("%s%d", prefix, w.next)
}

// inRange is an index below the length of every input.
func (w *flows) inRange() string {
	list := []string{"0", "int(k&3)", "int(m&1)", "n*w-1", "len(ia)-1"}
	if w.at != "" {
		list = append(list, w.at, w.at, w.at, w.at+"+1", w.at+"+n*w", "2*("+w.at+")", "int(ix["+w.at+"])", "n*w-1-("+w.at+")")
	} else {
		list = append(list, "int(m&3)")
	}
	return w.pick(list...)
}

// anywhere is an index that may be out of range.
func (w *flows) anywhere() string {
	list := []string{"int(k)", "int(k)-1", "int(m)-1", "int(k)+600", "int(k)-9", "len(ia)"}
	if w.at != "" {
		list = append(list, w.at+"-1", w.at+"-w", w.at+"+int(k)", "2*("+w.at+")+int(m)", "int(ix["+w.at+"])-1", w.at+"-int(m)")
	}
	for _, v := range w.same {
		list = append(list, "int("+v+")-1", "int("+v+")")
	}
	for _, v := range w.differ {
		list = append(list, "int("+v+")")
	}
	return w.pick(list...)
}

func (w *flows) input() string { return w.pick("ia", "wa", "ua", "fa") }

// integer is one of type int64; agreed says that it is the same for all iterations.
func (w *flows) integer(agreed bool, depth int) string {
	if depth <= 0 || w.chance(20) {
		list := []string{"k", "m", "int64(n)", "int64(h)", "int64(hi)"}
		for _, v := range w.same {
			list = append(list, "int64("+v+")")
		}
		list = append(list, "ka[k&3]", "wa["+w.pick("0", "int(m&1)")+"]")
		if !agreed {
			list = nil
			for _, v := range append(w.differ, w.assign...) {
				list = append(list, "int64("+v+")", "int64("+v+")")
			}
			list = append(list, "k", "wa["+w.inRange()+"]", "int64(ua["+w.inRange()+"])", "int64(ia["+w.inRange()+"])")
			if w.at != "" {
				list = append(list, "int64("+w.at+")")
			}
		}
		return w.pick(list...)
	}
	x, y := w.integer(agreed, depth-1), w.integer(agreed, depth-1)
	switch w.IntN(9) {
	case 0, 1:
		return "(" + x + " + " + y + ")"
	case 2:
		return "(" + x + " - " + y + ")"
	case 3:
		return "(" + x + " * " + w.pick("3", "5", y) + ")"
	case 4:
		return "(" + x + " " + w.pick("&", "|", "^") + " " + y + ")"
	case 5:
		return "(" + x + " & " + w.pick("1", "3", "7") + ")"
	case 6:
		return w.pick("min", "max") + "(" + x + ", " + y + ")"
	case 7:
		return "(" + x + " % " + w.pick("3", "5", "("+y+" | 1)") + ")"
	}
	return "(" + x + " >> 1)"
}

// compare is a condition of one comparison.
func (w *flows) compare(agreed bool) string {
	if !agreed && w.chance(20) && w.at != "" {
		return w.pick("x", "y", "fa["+w.inRange()+"]") + w.pick(" < ", " > ", " != ") + w.pick("s", "y", "1", "fa["+w.inRange()+"]")
	}
	if !agreed && w.row && w.chance(25) {
		return w.pick("c < w-1", "c > 0", "r > 0", "c < n-1", "c&1 == 0", "r < n-1")
	}
	if w.chance(35) {
		return w.integer(agreed, 1) + w.pick("&1 == 0", "&1 == 1", "&3 != 2")
	}
	return w.integer(agreed, 1+w.IntN(2)) + w.pick(" < ", " <= ", " > ", " >= ", " == ", " != ") + w.pick("0", "1", "3", w.integer(agreed, 1))
}

// access is a comparison that reads memory at a place that may be out of range, which a check before it steps over, as a rule.
func (w *flows) access(agreed bool) string {
	i, a := w.anywhere(), w.input()
	if agreed {
		i = w.pick("int(k)", "int(k)-1", "int(m)-1", "int(k)+600", "int(m)*9")
	}
	at := fmt.Sprintf("%s[%s]", a, i)
	test := at + w.pick(" > 0", " < 3", " != 1", " >= 2")
	switch {
	case w.risky && w.chance(10):
		return test
	case w.chance(50):
		return fmt.Sprintf("(%s >= 0 && %s < len(%s) && %s)", i, i, a, test)
	case w.chance(50):
		return fmt.Sprintf("(%s < 0 || %s >= len(%s) || %s)", i, i, a, test)
	case w.risky: // what steps over it has nothing to do with it
		return fmt.Sprintf("(%s %s %s)", w.compare(agreed || w.chance(30)), w.pick("&&", "||"), test)
	}
	return fmt.Sprintf("(uint(%s) < uint(len(%s)) && (%s || %s))", i, a, w.compare(agreed), test)
}

func (w *flows) cond(agreed bool, depth int) string {
	switch {
	case depth > 0 && w.chance(25):
		return "(" + w.cond(agreed, depth-1) + w.pick(" && ", " || ") + w.cond(agreed || w.chance(40), depth-1) + ")"
	case depth > 0 && w.chance(10):
		return "!" + "(" + w.cond(agreed, depth-1) + ")"
	case w.chance(25):
		return w.access(agreed)
	}
	return w.compare(agreed)
}

// anyCond is the same for all iterations, or not.
func (w *flows) anyCond() string { return w.cond(w.chance(50), 2) }

// value is one of type I.
func (w *flows) value() string {
	if len(w.funcs) > 0 && w.at != "" && w.chance(12) {
		return w.call()
	}
	if w.chance(20) {
		return "h"
	}
	if w.chance(25) {
		return "ia[" + w.inRange() + "]"
	}
	return "I(" + w.integer(w.chance(30), 2) + ")"
}

func (w *flows) call() string {
	return fmt.Sprintf("%s(I(%s), %s, %s, ia, wa, ua, fa, ix, ka, n, w, h, hi)", w.funcs[w.IntN(len(w.funcs))], w.integer(false, 1), w.integer(w.chance(50), 1), w.pick("m", "k", "int64("+w.at+")"))
}

func (w *flows) block(n int) {
	same, differ := w.same, w.differ
	w.depth++
	for range n {
		w.stmt()
	}
	w.depth--
	w.same, w.differ = same, differ
}

func (w *flows) stmt() {
	deep := w.depth > 6
	switch n := w.IntN(25); {
	case n < 4:
		w.line("%s %s %s", w.pick(w.assign...), w.pick("=", "+=", "-=", "^=", "*="), w.value())
	case n < 8:
		w.store()
	case n < 11 && !deep:
		w.line("if %s {", w.anyCond())
		w.block(1 + w.IntN(2))
		if w.chance(40) {
			w.line("} else {")
			w.block(1)
		}
		w.line("}")
	case n < 15 && !deep:
		w.loop()
	case n < 20:
		w.jump()
	case n == 20 && !deep:
		w.choice()
	case n == 21:
		v := w.name("v")
		if w.chance(50) {
			w.line("%s := %s", v, w.integer(true, 2))
			w.same = append(w.same[:len(w.same):len(w.same)], v)
		} else {
			w.line("%s := %s", v, w.integer(false, 2))
			w.differ = append(w.differ[:len(w.differ):len(w.differ)], v)
		}
		w.line("_ = %s", v)
	case n == 22 && w.at != "":
		w.line("t[%s] %s %s", w.pick("1", "p&3", "k&3", "ix["+w.at+"]&3"), w.pick("=", "+="), w.pick("x", "y", "s"))
		w.line("x += t[%s]", w.pick("0", "q&3", "2"))
	case n == 23 && w.at != "" && w.chance(40):
		w.line("//omp:atomic")
		w.line("bins[%s] += %s", w.pick("ix["+w.at+"]&3", "2", "k&3"), w.pick("1", "wa["+w.inRange()+"]"))
	case n == 24 && w.at != "":
		w.builtin()
	default:
		w.line("%s++", w.pick(w.assign...))
	}
}

// store writes what the iteration owns, or, in a function, its result.
func (w *flows) store() {
	if w.at == "" {
		w.line("%s += %s", w.pick(w.assign...), w.value())
		return
	}
	switch w.pick(w.outputs...) {
	case "fo":
		w.line("fo[%s] %s %s", w.at, w.pick("=", "+=", "-="), w.pick("x", "y", "s", "fa["+w.inRange()+"]", "x*y", "fo["+w.at+"]+1"))
	case "io":
		w.line("io[%s] %s %s", w.at, w.pick("=", "+=", "^="), w.value())
	case "lo64":
		w.line("lo64[%s] %s %s", w.at, w.pick("=", "+=", "-="), w.integer(false, 2))
	case "so":
		w.line("so[%s] %s int16(%s)", w.at, w.pick("=", "+="), w.integer(false, 1))
	case "so8":
		w.line("so8[%s] += int32(%s)", w.at, w.integer(false, 1))
	default:
		w.line("x, y = y, x+%s", w.pick("1", "s", "y", "fa["+w.inRange()+"]"))
	}
}

// jump leaves something, under a condition or none.
func (w *flows) jump() {
	var list []string
	for k := range w.frames {
		f := &w.frames[k]
		last := k == len(w.frames)-1
		list = append(list, "break "+f.label)
		if last {
			list = append(list, "break")
		}
		if f.loop {
			list = append(list, "continue "+f.label)
		}
	}
	if n := len(w.frames); n > 0 && w.frames[n-1].loop || w.at != "" { // of the parallel loop itself, where there is none in between
		inner := false
		for _, f := range w.frames {
			inner = inner || f.loop
		}
		if inner || w.at != "" {
			list = append(list, "continue")
		}
	}
	if w.returns {
		list = append(list, "return "+w.value(), "return "+w.pick(w.assign...))
	}
	if len(list) == 0 {
		w.line("%s--", w.pick(w.assign...))
		return
	}
	j := w.pick(list...)
	if _, label, ok := strings.Cut(j, " "); ok && !strings.HasPrefix(j, "return") {
		for k := range w.frames {
			if w.frames[k].label == label {
				w.frames[k].used = true
			}
		}
	}
	w.line("if %s {", w.anyCond())
	if w.chance(30) {
		w.line("	%s %s %s", w.pick(w.assign...), w.pick("=", "+="), w.value())
	}
	w.line("	%s", j)
	w.line("}")
}

// framed writes a loop or switch, with its label where a jump names it.
func (w *flows) framed(loop bool, write func()) {
	f := flowFrame{label: w.name("L"), loop: loop}
	w.frames = append(w.frames, f)
	text := w.b.String()
	w.b.Reset()
	write()
	inner := w.b.String()
	w.b.Reset()
	w.b.WriteString(text)
	if f = w.frames[len(w.frames)-1]; f.used {
		w.b.WriteString(strings.Repeat("\t", w.depth) + f.label + ":\n")
	}
	w.b.WriteString(inner)
	w.frames = w.frames[:len(w.frames)-1]
}

// choice is a switch.
func (w *flows) choice() {
	w.framed(false, func() {
		if w.chance(50) {
			w.line("switch %s & 3 {", w.integer(w.chance(50), 1))
			w.line("case %s:", w.pick("0", "1", "0, 3"))
			w.block(1 + w.IntN(2))
			w.line("case 2:")
			w.block(1)
		} else {
			w.line("switch {")
			w.line("case %s:", w.anyCond())
			w.block(1 + w.IntN(2))
			w.line("case %s:", w.anyCond())
			w.block(1)
		}
		if w.chance(60) {
			w.line("default:")
			w.block(1)
		}
		w.line("}")
	})
}

// loop is a sequential loop.
func (w *flows) loop() {
	same, differ := w.same, w.differ
	j := w.name("j")
	agree := func() { w.same = append(same[:len(same):len(same)], j) }
	apart := func() { w.differ = append(differ[:len(differ):len(differ)], j) }
	count := func(agreed bool) string {
		if agreed {
			return w.pick("3", "k&7", "m&3", "int64(n&3)", "ka[1]&7", "5")
		}
		return w.pick(w.integer(false, 1)+"&7", "wa["+w.inRange()+"]&3", "int64(ua["+w.inRange()+"]&3)")
	}
	var head, guard string
	switch w.IntN(9) {
	case 0, 1, 2:
		head = fmt.Sprintf("for %s := int64(0); %s < %s; %s++ {", j, j, count(true), j)
		agree()
	case 3:
		head = fmt.Sprintf("for %s := int64(0); %s < %s; %s += %s {", j, j, count(false), j, w.pick("1", "2"))
		apart()
	case 4:
		head = fmt.Sprintf("for %s := %s; %s %s; %s-- {", j, count(true), j, w.pick("> 0", ">= 0", "!= 0"), j)
		agree()
	case 5: // of few bits: it may wrap around
		t := w.pick("uint8", "int8", "uint16", "int16", "uint8", "S")
		from, to := w.pick(t+"("+w.integer(true, 1)+")", t+"(k)"), w.pick(t+"("+w.integer(true, 0)+")", "120", "100", t+"(m)")
		if w.chance(40) {
			from = t + "(" + w.integer(false, 0) + ")"
		}
		step := w.pick("+= 7", "+= 10", "++", "+= 33", "-= 5", "--")
		rel := map[bool]string{true: w.pick("<", "<=", "!="), false: w.pick(">", ">=", "!=")}[step[0] == '+']
		head = fmt.Sprintf("for %s := %s; %s %s %s; %s %s {", j, from, j, rel, to, j, step)
		apart()
		guard = w.name("g")
	case 6:
		head = fmt.Sprintf("for %s := range %s {", j, w.pick("int(k&3)", "int(ua["+w.inRange()+"]&3)", "4", "ka", "ix[:2]"))
		apart()
	case 7:
		head = fmt.Sprintf("for %s {", w.anyCond())
		guard = w.name("g")
	default:
		head = "for {"
		guard = w.name("g")
	}
	if guard != "" {
		w.line("%s := %d", guard, 2+w.IntN(30))
	}
	w.framed(true, func() {
		w.line("%s", head)
		if strings.Contains(head, "range") {
			w.line("	_ = %s", j)
		}
		if guard != "" {
			w.line("	if %s == 0 {", guard)
			w.line("		break")
			w.line("	}")
			w.line("	%s--", guard)
		}
		w.block(1 + w.IntN(3))
		w.line("}")
	})
	w.same, w.differ = same, differ
}

// function writes a helper with returns.
func (w *flows) function() {
	name := w.name("help")
	w.at, w.row, w.returns = "", false, true
	w.same, w.differ, w.assign = []string{"b"}, []string{"a", "d"}, []string{"a", "e"}
	w.line("func %s(a I, b, m int64, ia []I, wa []int64, ua []uint8, fa []F, ix []int32, ka []int64, n, w int, h I, hi S) I {", name)
	w.depth++
	w.line("d, e, k := m-int64(b), h, b")
	w.line("_, _, _ = d, e, k")
	w.depth--
	w.block(2 + w.IntN(3))
	w.line("	return %s", w.pick("a", "e", "a + e"))
	w.line("}")
	w.line("")
	w.returns = false
	w.funcs = append(w.funcs, name)
}

// body is that of a parallel loop.
func (w *flows) body() {
	w.depth++
	w.line("x, y := %s, %s", w.pick("fa["+w.at+"]", "s", "F(1)"), w.pick("s", "fa["+w.at+"+1]", "F(2)"))
	w.line("p, q := %s, %s", w.pick("ia["+w.at+"]", "h", "I(3)"), w.pick("h", "ia["+w.at+"+1]", "I("+w.at+")"))
	w.line("var t, u [4]F")
	w.line("_, _, _, _, _, _, _ = x, y, p, q, t[0], u[0], %s", w.at)
	w.depth--
	w.assign = []string{"p", "q"}
	w.block(1 + w.IntN(6))
	w.depth++
	if w.chance(70) {
		w.store()
	}
	if w.chance(60) {
		out := w.pick(w.outputs...)
		if out == "fo" {
			w.line("fo[%s] += x", w.at)
		} else if out == "io" {
			w.line("io[%s] ^= p", w.at)
		} else if out != "" {
			w.line("%s[%s]++", out, w.at)
		}
	}
	w.depth--
}

// choose takes what a parallel loop writes: elements of one size or of several.
func (w *flows) choose() {
	list := []string{"fo", "io", "lo64", "so"}
	w.Shuffle(len(list), func(i, j int) { list[i], list[j] = list[j], list[i] })
	w.outputs = append(list[:1+w.IntN(3)], "")
}

// flat is a parallel loop over all elements.
func (w *flows) flat() {
	w.choose()
	w.row = false
	head, at := w.pick("for i := 0; i < n*w; i++ {", "for i := range n * w {", "for i := n*w - 1; i >= 0; i-- {", "for i := range fo {", "for i := 0; i <= n*w-1; i++ {", "for i := 1; i < n*w; i += 2 {"), "i"
	if w.chance(15) && strings.HasSuffix(w.s, "int8") {
		head = fmt.Sprintf("for i := %s; i %s; i += %d {", w.pick("lo", "S(3)", "min(lo, 40)"), w.pick("< hi", "< 120", "<= hi", "< 100"), []int{1, 2, 3, 7, 10, 33}[w.IntN(6)])
		at, w.outputs = "uint8(i)", []string{"so8", "so8", ""}
	}
	w.line("//omp:teams distribute parallel for%s", w.league(true))
	w.line("%s", head)
	w.at = at
	if at != "i" {
		w.small()
	} else {
		w.body()
	}
	w.line("}")
}

// small is the body of a loop whose counter has few bits: elements of the inputs are not where it counts.
func (w *flows) small() {
	w.depth++
	w.line("p := int32(i)")
	w.line("for j := int64(0); j < k&7; j++ {")
	w.line("	if %s {", w.pick("j&1 == 1", "p > 40", "int64(p) == m"))
	w.line("		%s", w.pick("break", "continue"))
	w.line("	}")
	w.line("	p += 3")
	w.line("}")
	w.line("so8[uint8(i)] %s p", w.pick("=", "+=", "-="))
	w.depth--
}

// rows is a league over rows with parallel loops in each.
func (w *flows) rows() {
	w.line("//omp:teams distribute%s", w.league(false))
	w.line("%s", w.pick("for r := 0; r < n; r++ {", "for r := range n {"))
	w.depth++
	for range 1 + w.IntN(3) {
		w.choose()
		w.line("//omp:parallel for%s%s", w.threads(), w.schedule())
		w.line("%s", w.pick("for c := 0; c < w; c++ {", "for c := range w {", "for c := 0; c < w; c += 2 {", "for c := w - 1; c >= 0; c-- {"))
		w.depth++
		switch w.IntN(3) {
		case 0:
			w.line("i := r*w + c")
			w.at = "i"
		default:
			w.at = "r*w+c"
		}
		w.row = true
		if w.chance(35) {
			out := w.pick("fo", "io", "lo64")
			in := map[string]string{"fo": "fa", "io": "ia", "lo64": "wa"}[out]
			w.line("if %s {", w.pick("c < w-1", "c < n-1", "c > 0 && r > 0", "r < n-1 && c < w-1"))
			w.line("	%s[%s] %s %s[%s%s]", out, w.at, w.pick("=", "+="), in, w.at, w.pick("+1", "-1", "+w", "-w", ""))
			w.line("}")
		}
		w.depth--
		if w.chance(70) {
			w.body()
		} else {
			w.line("	%s[%s]++", w.pick("fo", "io", "lo64", "so"), w.at)
		}
		w.line("}")
	}
	w.depth--
	w.line("}")
}

// A flowKernel is one that flows made.
type flowKernel struct {
	seed    uint64
	text    string // what Go's run is
	f, i, s string
	as      dressing // what targets get
}

func makeFlow(seed uint64) flowKernel {
	w := &flows{Rand: rand.New(rand.NewPCG(seed, 41))}
	w.f = w.pick("float32", "float64")
	w.i = w.pick("int8", "int16", "int32", "int32", "int64", "int64", "uint8", "uint16", "uint32", "uint64")
	w.s = w.pick("uint8", "int8", "uint8", "uint16", "int16")
	w.risky = w.chance(40)
	for range w.IntN(3) {
		w.function()
	}
	w.line("//omp:target device(acc, smp)")
	w.line("//omp:task in(fa, ia, wa, ua, ix, ka) inout(fo, io, lo64, so, so8, bins)")
	w.line("func K%s {", flowParams)
	w.depth++
	w.same, w.differ = nil, nil
	for range 1 + w.IntN(3) {
		switch w.IntN(10) {
		case 0:
			w.scan()
		case 1:
			w.nested()
		case 2, 3, 4:
			w.rows()
		default:
			w.flat()
		}
		if w.at = ""; w.chance(20) {
			w.between()
		}
	}
	w.depth--
	w.line("}")
	return w.kernel(seed)
}

// makeDeferringFlow makes a kernel of which accelerators leave iterations to CPU workers.
func makeDeferringFlow(seed uint64) flowKernel {
	w := &flows{Rand: rand.New(rand.NewPCG(seed, 43)), onCPU: true}
	w.f = w.pick("float32", "float64")
	w.i = w.pick("int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64")
	w.s = w.pick("uint8", "int8", "uint8", "uint16", "int16")
	w.risky = w.chance(30)
	for range w.IntN(2) {
		w.function()
	}
	w.line("//omp:target device(acc, smp)")
	w.line("//omp:task in(fa, ia, wa, ua, ix, ka) inout(fo, io, lo64, so, so8, bins)")
	w.line("func K%s {", flowParams)
	w.depth++
	w.same, w.differ = nil, nil
	w.nested()
	w.depth--
	w.line("}")
	k := w.kernel(seed)
	k.as.globals = nil
	return k
}

// kernel is the kernel whose lines have been written.
func (w *flows) kernel(seed uint64) flowKernel {
	text := w.b.String()
	for _, t := range []struct{ short, long string }{{"F", w.f}, {"I", w.i}, {"S", w.s}} {
		for _, form := range []string{"[]%s", " %s,", "]%s", " %s) ", ") %s {", "\n%s"} {
			text = strings.ReplaceAll(text, fmt.Sprintf(form, t.short), fmt.Sprintf(form, t.long))
		}
		text = replaceCall(text, t.short, t.long)
	}
	return flowKernel{seed, text, w.f, w.i, w.s, w.dress()}
}
