//go:build linux && (amd64 || arm64)

package codegen_test

import (
	"fmt"
	"regexp"
	"slices"
	"strings"

	"github.com/gompss/gompss/codegen/ir"
)

// This file adds to random flows what is around their control flow: clauses that deal iterations
// out, modes, scans, nested parallel loops, builtins over memory, and kernels that get their
// arguments in structs and package variables.

// schedule is a clause that deals out the iterations of a loop, or "".
func (w *flows) schedule() string {
	if w.chance(55) {
		return ""
	}
	kind := w.pick("static", "dynamic", "guided", "auto", "onetoone", "cyclic", "counter", "counter", "dynamic")
	if kind == "auto" || kind == "onetoone" || w.chance(40) {
		return " schedule(" + kind + ")"
	}
	return " schedule(" + kind + ", " + w.pick("1", "2", "3", "5", "16", "64", "int(m&3)+1") + ")"
}

// league is the clauses of a league: how many teams, what they take, and how they run.
func (w *flows) league(loop bool) string {
	s := ""
	if w.chance(15) {
		s += " num_teams(" + w.pick("1", "2", "3", "n") + ")"
	}
	if w.chance(15) {
		s += " dist_schedule(static, " + w.pick("1", "2", "7", "int(k&3)+1") + ")"
	}
	if w.chance(25) {
		s += " mode(" + w.pick("auto", "spmd", "broadcast", "control_loop", "warp_specialized") + ")"
	}
	if loop {
		s += w.threads() + w.schedule()
	}
	return s
}

func (w *flows) threads() string {
	if w.chance(15) {
		return " num_threads(" + w.pick("1", "7", "32", "n+1") + ")"
	}
	return ""
}

// builtin copies or clears what the iteration has for itself.
func (w *flows) builtin() {
	switch w.IntN(5) {
	case 0:
		w.line("clear(t[%s:])", w.pick("0", "1", "k&3", "p&3"))
	case 1:
		w.line("copy(t[%s:], u[%s:])", w.pick("0", "1", "m&3", "p&3"), w.pick("0", "2", "k&3"))
	case 2: // what overlaps itself
		w.line("copy(t[%s:], t[%s:3])", w.pick("0", "1", "k&1"), w.pick("0", "1", "m&1", "p&1"))
	case 3:
		w.line("p += I(copy(u[:], fa[%s:]))", w.inRange())
	case 4:
		w.line("u[%s] = max(t[%s], x, y)", w.pick("0", "k&3", "p&3"), w.pick("1", "q&3"))
	}
}

// between is code outside of the constructs of a kernel, which runs once.
func (w *flows) between() {
	switch w.IntN(7) {
	case 0:
		w.line("copy(io[%s:], ia[%s:])", w.pick("0", "1", "int(k&1)"), w.pick("0", "2", "n*w"))
	case 1:
		w.line("clear(so8[%s:%s])", w.pick("0", "3", "int(k&7)"), w.pick("9", "200", "int(m&15)+8"))
	case 2:
		w.line("copy(fo[%s:], fo[:n*w-1])", w.pick("1", "0"))
	case 3:
		w.line("lo64[%s] += int64(min(n, w, int(ix[0])))", w.pick("0", "n*w-1"))
	case 4:
		w.line("for j := range %s {", w.pick("n", "int(k&3)", "min(w, 3)"))
		w.line("	io[j] = io[%s] + 1", w.pick("j", "n*w-1", "0"))
		w.line("}")
	case 5:
		w.line("if %s {", w.compare(true))
		w.line("	so[0] = so[n*w-1] - 1")
		w.line("}")
	case 6:
		w.line("clear(lo64[%s:])", w.pick("n*w-1", "w", "int(k&1)"))
	}
}

// scan is a loop whose body has two phases, of what an earlier iteration has summed up.
func (w *flows) scan() {
	w.row = false
	sum := w.name("sum")
	w.line("%s := %s", sum, w.pick("h", "I(0)", "I(3)"))
	op := w.pick("+", "+", "*", "^", "&", "|", "min", "max")
	directive := w.pick("teams distribute parallel for", "teams distribute parallel for", "parallel for", "loop", "teams distribute parallel for simd")
	w.line("//omp:%s reduction(inscan, %s: %s)", directive, op, sum)
	w.line("%s", w.pick("for i := 0; i < n*w; i++ {", "for i := range n * w {", "for i := range io {", "for i := 1; i < n*w; i += 2 {", "for i := n*w - 1; i >= 0; i-- {"))
	w.at = "i"
	w.depth++
	update := func() {
		value := w.pick("ia[i]", "ia[i+1]", "I(i)", "ia[ix[i]]", "h")
		guard := w.chance(30)
		if guard {
			w.line("if %s {", w.pick("ia[i] > 2", "i&1 == 0", "k > 1 || ia[i] != 0", "wa[i]&3 != 1"))
			w.depth++
		}
		switch op {
		case "min", "max":
			w.line("%s = %s(%s, %s)", sum, op, sum, value)
		default:
			w.line("%s %s= %s", sum, op, value)
		}
		if guard {
			w.depth--
			w.line("}")
		}
	}
	read := func() {
		w.line("io[i] = %s", sum)
		if w.chance(40) {
			w.line("if %s {", w.pick("ia[i] < 3", "i%3 == 0", "io[i] > 4"))
			w.line("	lo64[i] += int64(%s)", sum)
			w.line("}")
		}
	}
	if w.chance(50) {
		update()
		w.line("//omp:scan inclusive(%s)", sum)
		read()
	} else {
		read()
		w.line("//omp:scan exclusive(%s)", sum)
		update()
	}
	w.depth--
	w.line("}")
	w.line("so[0] += int16(%s)", sum)
}

// nested is a parallel loop in another one, which the clause nested and a condition place.
func (w *flows) nested() {
	w.line("//omp:teams distribute parallel for%s", w.league(true))
	w.line("%s", w.pick("for r := 0; r < n; r++ {", "for r := range n {"))
	w.depth++
	w.at, w.row = "r", false
	count := w.pick("w", "w", "int(ua[r]&7)", "min(w, int(ix[r]))", "w-r")
	w.line("low := %s", w.pick("0", "0", "int(k&1)"))
	w.line("_ = low")
	if w.chance(30) {
		w.line("if %s {", w.pick("ia[r] > 0", "r&1 == 0", "k > 1"))
		w.line("	%s", w.pick("continue", "so[r*w]++"))
		w.line("}")
	}
	clause := ""
	if w.chance(60) {
		clause = " if(" + w.pick(count+" > 3", "k > 1", "r&1 == 0", "ia[r] > 0", "w > 40") + ")"
	}
	how := "cpu"
	if !w.onCPU {
		how = w.pick("host", "host", "host", "inline", "auto")
	}
	w.line("//omp:parallel for nested(%s)%s", how, clause)
	w.line("for c := low; c < min(%s, w); c++ {", count)
	w.choose()
	w.at, w.row = "r*w+c", true
	w.body()
	w.line("}")
	w.depth--
	w.line("}")
}

// dressing says which parameters of a kernel are fields of a struct, and which package variables.
type dressing struct{ fields, globals []string }

// dress chooses it.
func (w *flows) dress() (d dressing) {
	scalars, memory := []string{"k", "m", "s", "h", "lo", "hi"}, []string{"fa", "ia", "wa", "ua", "ix", "fo", "io", "lo64", "so", "so8"}
	if w.chance(30) {
		for _, name := range append(append([]string{}, memory...), scalars...) {
			if w.chance(40) {
				d.fields = append(d.fields, name)
			}
		}
	}
	if len(d.fields) > 0 && !slices.Contains(d.fields, "ua") { // a struct without slices is one value
		d.fields = append(d.fields, "ua")
	}
	if w.chance(30) {
		for _, name := range append([]string{"ka"}, scalars...) {
			if w.chance(40) && !strings.Contains(" "+strings.Join(d.fields, " ")+" ", " "+name+" ") {
				d.globals = append(d.globals, name)
			}
		}
	}
	return d
}

// apply writes a kernel with these parameters.
func (d dressing) apply(text string) string {
	if len(d.fields)+len(d.globals) == 0 {
		return text
	}
	at := strings.Index(text, "//omp:target")
	before, kernel := text[:at], text[at:]
	open := strings.Index(kernel, "func K(") + len("func K(")
	end := open + strings.Index(kernel[open:], ") {")
	types := map[string]string{}
	var rest []string
	pending := []string{}
	for _, part := range strings.Split(kernel[open:end], ", ") {
		name, kind, typed := strings.Cut(part, " ")
		pending = append(pending, name)
		if !typed {
			continue
		}
		for _, name := range pending {
			types[name] = kind
			if !d.has(name) {
				rest = append(rest, name+" "+kind)
			}
		}
		pending = pending[:0]
	}
	var b strings.Builder
	if len(d.fields) > 0 {
		b.WriteString("type record struct {\n")
		for _, name := range d.fields {
			fmt.Fprintf(&b, "\t%s %s\n", name, types[name])
		}
		b.WriteString("}\n\n")
		rest = append(rest, "rec record")
	}
	for _, name := range d.globals {
		fmt.Fprintf(&b, "var %s %s\n", name, types[name])
	}
	head, body := kernel[:open], kernel[end:]
	for _, name := range d.fields {
		word := regexp.MustCompile(`\b` + name + `\b`)
		body = word.ReplaceAllString(body, "rec."+name)
		lines := strings.Split(head, "\n")
		for i, l := range lines {
			if strings.HasPrefix(l, "//omp:task") {
				lines[i] = word.ReplaceAllString(l, "rec."+name)
			}
		}
		head = strings.Join(lines, "\n")
	}
	for _, name := range d.globals { // clauses have no package variables
		head = regexp.MustCompile(`, `+name+`\b`).ReplaceAllString(head, "")
	}
	return b.String() + "\n" + before + head + strings.Join(rest, ", ") + body
}

func (d dressing) has(name string) bool {
	list := " " + strings.Join(append(append([]string{}, d.fields...), d.globals...), " ") + " "
	return strings.Contains(list, " "+name+" ")
}

// flowOrder returns which argument of the kernel as it was made each parameter of k is.
func flowOrder(k *ir.Kernel, made string) ([]int, error) {
	open := strings.Index(made, "func K(") + len("func K(")
	var names []string
	for _, part := range strings.Split(made[open:open+strings.Index(made[open:], ") {")], ", ") {
		name, _, _ := strings.Cut(part, " ")
		names = append(names, name)
	}
	var out []int
	for _, v := range k.Params {
		at := -1
		for i, name := range names {
			if v.Name == name || v.Name == "rec."+name {
				at = i
			}
		}
		if at < 0 {
			return nil, fmt.Errorf("no argument for parameter %s of %v", v.Name, names)
		}
		out = append(out, at)
	}
	return out, nil
}

// inOrder returns args as a kernel takes them.
func inOrder[T any](order []int, args []T) []T {
	if order == nil {
		return args
	}
	var out []T
	for _, at := range order {
		out = append(out, args[at])
	}
	return out
}
