package odd

import (
	"fmt"
	"math/rand/v2"
	"strconv"
	"strings"
)

// A variable is a name in scope. An element of a slice is owned where the iteration may write it.
type variable struct {
	name  string
	t     *typ
	set   bool   // it may be assigned
	owned bool   // of a slice: the index is the iteration's own
	least int    // of a slice: elements that it has at least; 0: 2n+8 of them
	at    string // of an owned slice: its index, where it is not the generator's
	level int    // of the block that declares it
	later bool   // code behind this may assign it
}

// gen writes one program.
type gen struct {
	*rand.Rand
	b       strings.Builder
	depth   int
	level   int // of blocks
	id      string
	next    int
	types   []*typ
	structs []*typ
	vars    []*variable
	frames  []frame
	funcs   []*function
	orphans []*orphan
	at      []string // indices that the iteration owns, or any where nothing is parallel
	own     string   // another form of the only index in at
	results []*typ   // of the function that is written; nil in a kernel
	reds    []*reduction
	budget  int          // statements left
	risky   bool         // indices and divisors out of range, seldom
	atomics []string     // arrays of shared memory, each with the operator that updates it
	written []*reduction // of the clauses just written
	private []*variable  // of them: the body sets these first
	nests   bool         // a parallel loop may stand here
	scratch *parameter   // the array of scratchNames, until a loop has it
	span    *span        // of the loops near the ends of a type
	twins   bool         // arrays that are written may be one memory
}

func (g *gen) line(format string, args ...any) {
	g.b.WriteString(strings.Repeat("\t", g.depth) + fmt.Sprintf(format, args...) + "\n")
}

func (g *gen) pick(list ...string) string { return list[g.IntN(len(list))] }

func (g *gen) chance(percent int) bool { return g.IntN(100) < percent }

func (g *gen) global(prefix string) string {
	g.next++
	return fmt.Sprintf("%s%d_%s", prefix, g.next, g.id)
}

// local is a new name, or one that hides another; texts, which the new variable must not catch, do not hold it.
func (g *gen) local(prefix string, texts ...string) string {
	if len(g.vars) > 0 && g.chance(12) {
		v := g.vars[g.IntN(len(g.vars))]
		ok := v.level < g.level && !strings.ContainsAny(v.name, ".(*[") && v.t.kind != slice && v.name != "n" && v.name != "w"
		for _, s := range texts {
			ok = ok && !strings.Contains(s, v.name)
		}
		for _, s := range g.at {
			ok = ok && !strings.Contains(s, v.name)
		}
		for _, r := range g.reds {
			ok = ok && r.name != v.name
		}
		for _, o := range g.vars {
			ok = ok && !strings.Contains(o.at, v.name)
		}
		if ok {
			return v.name
		}
	}
	g.next++
	return fmt.Sprintf("%s%d", prefix, g.next)
}

// declare puts a variable into scope and hides what had its name.
func (g *gen) declare(v *variable) {
	v.level = g.level
	g.hide(v.name)
	g.vars = append(g.vars, v)
}

// hide leaves out the variable of that name, and its fields, for what follows in the block.
func (g *gen) hide(name string) {
	var list []*variable
	for _, o := range g.vars {
		if o.name != name && !strings.HasPrefix(o.name, name+".") {
			list = append(list, o)
		}
	}
	g.vars = list
}

// place is an element, field or variable that begins at v and ends at a scalar, or at the type that stops it.
func (g *gen) place(v *variable, stop *typ) (string, *typ) {
	text, t := v.name, v.t
	for {
		if stop != nil && t.name == stop.name {
			return text, t
		}
		switch t.kind {
		case structure:
			f := t.fields[g.IntN(len(t.fields))]
			text, t = text+"."+f.name, f.t
		case array:
			text, t = fmt.Sprintf("%s[%s]", text, g.arrayIndex(t.n)), t.elem
		case slice:
			text, t = fmt.Sprintf("%s[%s]", text, g.sliceIndex(v)), t.elem
		case pointer:
			t = t.elem
			if t.kind != structure && t.kind != array {
				text = "(*" + text + ")"
			} else if stop != nil && t.name == stop.name {
				return "(*" + text + ")", t
			}
		default:
			return text, t
		}
	}
}

func (g *gen) arrayIndex(n int) string {
	switch {
	case g.risky && g.chance(2):
		return "int(" + g.leaf(typeInt) + ")"
	case g.chance(50) || n == 1:
		return strconv.Itoa(g.IntN(n))
	case n&(n-1) == 0 && g.chance(60):
		t := g.intType()
		return fmt.Sprintf("%s & %d", g.leaf(t), n-1)
	}
	return fmt.Sprintf("%s(%s) %% %d", g.pick("uint8", "uint16", "uint32", "uint64", "uint"), g.leaf(g.intType()), n)
}

// sliceIndex is an index below the length, as a rule.
func (g *gen) sliceIndex(v *variable) string {
	if v.owned {
		if v.at != "" {
			return v.at
		}
		if g.own != "" && g.chance(50) {
			return g.own
		}
		return g.at[g.IntN(len(g.at))]
	}
	if g.risky && g.chance(3) {
		return "int(" + g.leaf(typeInt) + ")"
	}
	if v.least > 0 {
		if g.chance(50) {
			return strconv.Itoa(g.IntN(v.least))
		}
		return fmt.Sprintf("uint(%s) %% uint(len(%s))", g.leaf(g.intType()), v.name)
	}
	list := []string{"0", "3", "n", "n+1", "len(" + v.name + ")-1", fmt.Sprintf("uint(%s) %% uint(len(%s))", g.leaf(g.intType()), v.name), fmt.Sprintf("uint8(%s) & 7", g.leaf(g.intType()))}
	for _, at := range g.at {
		list = append(list, at, at, at, at+"+1", at+"+2", "2*("+at+")", "2*("+at+")+1", at+"+n", "2*n*w+3-("+at+")", "("+at+")&15")
	}
	return g.pick(list...)
}

// value is a place of a scalar type, of any variable in scope.
func (g *gen) value() (string, *typ) {
	for range 20 {
		v := g.vars[g.IntN(len(g.vars))]
		if v.t.kind == slice && g.chance(40) && !v.owned {
			continue
		}
		return g.place(v, nil)
	}
	return "n", typeInt
}

// leaf is a place as an expression of type t, never a constant.
func (g *gen) leaf(t *typ) string {
	saved := g.budget
	g.budget = 0
	defer func() { g.budget = saved }()
	// Indices hold leaves of their own: the shortest names stop that.
	for range 8 {
		v := g.vars[g.IntN(len(g.vars))]
		if v.t.scalar() {
			if e := g.convert(v.name, v.t, t); e != "" {
				return e
			}
		}
	}
	if t.kind == boolean {
		return "(n&1 == 0)"
	}
	return t.name + "(n)"
}

// convert is e as a t, "" where Go has no conversion.
func (g *gen) convert(e string, from, to *typ) string {
	switch {
	case from.name == to.name:
		return e
	case from.kind == boolean && to.kind == boolean:
		return to.name + "(" + e + ")"
	case from.number() && to.number():
		return to.name + "(" + e + ")"
	case from.kind == integer && to.kind == boolean:
		return to.name + "(" + e + "&1 == 0)"
	case from.kind == float && to.kind == boolean:
		return to.name + "(" + e + " > 0)"
	}
	return ""
}

// read is any place as an expression of type t.
func (g *gen) read(t *typ) string {
	for range 6 {
		e, from := g.value()
		if e = g.convert(e, from, t); e != "" {
			return e
		}
	}
	return g.leaf(t)
}

// literal is a constant of type t.
func (g *gen) literal(t *typ) string {
	switch t.kind {
	case boolean:
		return g.pick("true", "false")
	case float:
		return g.pick("0", "1", "2", "0.5", "-1.25", "3", "100", "1e-3", "-0.0", "7")
	}
	list := []string{"0", "1", "2", "3", "5", "7", "10", "16", "31", "100", "127"}
	if t.signed {
		list = append(list, "-1", "-2", "-7", "-128")
	}
	if t.bits >= 16 && t.name != "T" {
		list = append(list, "255", "256", "1000", "32767", "0x7f80")
	}
	if t.bits >= 32 {
		list = append(list, "65537", "1<<31 - 1", "1 << 24")
	}
	if t.bits == 64 {
		list = append(list, "1 << 40", "1<<63 - 1", "0x123456789abcdef")
	}
	if t.bits == 64 && !t.signed {
		list = append(list, "1 << 63", "1<<64 - 1")
	}
	return g.pick(list...)
}

// operand is a right operand: a constant or an expression.
func (g *gen) operand(t *typ, depth int) string {
	if g.chance(30) {
		return t.name + "(" + g.literal(t) + ")"
	}
	return g.expr(t, depth)
}

// expr is an expression of scalar type t, never a constant.
func (g *gen) expr(t *typ, depth int) string {
	switch {
	case depth <= 0 || g.chance(15):
		return g.read(t)
	case depth > 1 && g.chance(12):
		if e := g.call(t, depth-2); e != "" {
			return e
		}
	}
	switch t.kind {
	case boolean:
		return g.cond(t, depth)
	case float:
		return g.floating(t, depth)
	}
	return g.whole(t, depth)
}

func (g *gen) whole(t *typ, depth int) string {
	x := g.expr(t, depth-1)
	y := func() string { return g.operand(t, depth-1) }
	switch g.IntN(16) {
	case 0, 1, 2:
		return fmt.Sprintf("(%s %s %s)", x, g.pick("+", "-"), y())
	case 3:
		return fmt.Sprintf("(%s * %s)", x, y())
	case 4, 5:
		return fmt.Sprintf("(%s %s %s)", x, g.pick("&", "|", "^", "&^"), y())
	case 6:
		return g.divided(t, x, depth)
	case 7, 8:
		return g.shifted(t, x, depth)
	case 9:
		return g.pick("-", "^", "^-") + "(" + x + ")"
	case 10:
		if g.chance(40) {
			return fmt.Sprintf("%s(%s, %s, %s)", g.pick("min", "max"), x, y(), y())
		}
		return fmt.Sprintf("%s(%s, %s)", g.pick("min", "max"), x, y())
	case 11:
		o := g.intType()
		return t.name + "(" + g.expr(o, depth-1) + ")"
	case 12:
		o := g.pick("float32", "float64")
		return fmt.Sprintf("%s(%s)", t.name, g.expr(map[string]*typ{"float32": typeF32, "float64": typeF64}[o], depth-1))
	case 13:
		return g.bitFunction(t, depth)
	case 14:
		return g.measured(t)
	}
	return x
}

// divided is a quotient or rest.
func (g *gen) divided(t *typ, x string, depth int) string {
	op := g.pick("/", "%")
	switch {
	case g.chance(50):
		return fmt.Sprintf("(%s %s %s)", x, op, g.pick("1", "2", "3", "7", "10", "16", "100", "127"))
	case g.chance(20) && t.signed:
		return fmt.Sprintf("(%s %s %s)", x, op, g.pick("-1", "-3", "-8"))
	case g.chance(15) && t.signed: // 1 and -1 by what varies, of the least number too
		return fmt.Sprintf("((%s | %s(-1)<<%d) %s (%s&2 - 1))", x, t.name, t.bits-1, op, g.leaf(t))
	case g.risky && g.chance(20):
		return fmt.Sprintf("(%s %s %s)", x, op, g.expr(t, depth-1))
	}
	return fmt.Sprintf("(%s %s (%s | 1))", x, op, g.expr(t, depth-1))
}

// shifted is a shift by a count of another type, past the width too.
func (g *gen) shifted(t *typ, x string, depth int) string {
	op, c := g.pick("<<", ">>"), g.intType()
	switch {
	case g.chance(40):
		return fmt.Sprintf("(%s %s %d)", x, op, g.IntN(t.bits+3))
	case !c.signed:
		if g.chance(40) {
			return fmt.Sprintf("(%s %s %s)", x, op, g.expr(c, depth-1))
		}
	case g.risky && g.chance(10):
		return fmt.Sprintf("(%s %s %s)", x, op, g.expr(c, depth-1))
	}
	if g.chance(20) { // counts past every width
		return fmt.Sprintf("(%s %s %s(%s))", x, op, g.pick("uint8", "uint16", "uint32", "uint64", "uint"), g.expr(c, depth-1))
	}
	return fmt.Sprintf("(%s %s (%s & %s))", x, op, g.expr(c, depth-1), g.pick("7", "15", "31", "63", "127"))
}

func (g *gen) bitFunction(t *typ, depth int) string {
	width := g.pick("8", "16", "32", "64")
	if g.chance(15) { // of numbers, as which NaN a NaN is does not count
		from := g.expr(g.intType(), depth-1)
		return fmt.Sprintf(g.pick("%s(math.Float32bits(float32(%s) / 4))", "%s(math.Float64bits(float64(%s) / 8))"), t.name, from)
	}
	u := map[string]*typ{"8": whole[5], "16": whole[6], "32": whole[7], "64": whole[8]}[width]
	x := g.expr(u, depth-1)
	switch g.IntN(5) {
	case 4:
		if width != "8" {
			return fmt.Sprintf("%s(bits.ReverseBytes%s(%s))", t.name, width, x)
		}
	case 0:
		return fmt.Sprintf("%s(bits.RotateLeft%s(%s, %s))", t.name, width, x, g.expr(typeInt, 0))
	case 1:
		return fmt.Sprintf("%s(bits.Reverse%s(%s))", t.name, width, x)
	}
	return fmt.Sprintf("%s(bits.%s%s(%s))", t.name, g.pick("LeadingZeros", "TrailingZeros", "OnesCount", "Len"), width, x)
}

// measured is the length of a slice.
func (g *gen) measured(t *typ) string {
	for range 6 {
		if v := g.vars[g.IntN(len(g.vars))]; v.t.kind == slice {
			return fmt.Sprintf("%s(len(%s))", t.name, v.name)
		}
	}
	return g.leaf(t)
}

func (g *gen) floating(t *typ, depth int) string {
	x := g.expr(t, depth-1)
	y := func() string { return g.operand(t, depth-1) }
	pkg := func(name string, args ...string) string {
		if t.bits == 32 {
			for i := range args {
				args[i] = "float64(" + args[i] + ")"
			}
		} else if t.name != "float64" {
			for i := range args {
				args[i] = "float64(" + args[i] + ")"
			}
		}
		return fmt.Sprintf("%s(math.%s(%s))", t.name, name, quoted(args))
	}
	small := t.name + "(" + g.expr(g.intType(), 0) + ")"
	switch g.IntN(17) {
	case 16:
		if g.chance(40) {
			return fmt.Sprintf("%s(math.Pow10(int(%s)))", t.name, g.expr(g.intType(), 0))
		}
		return pkg("Nextafter", x, y())
	case 14:
		if t.bits == 64 && g.chance(30) {
			return pkg("FMA", x, y(), y())
		}
		return pkg(g.pick("Mod", "Remainder"), x, y())
	case 15:
		return pkg(g.pick("Max", "Min"), x, g.pick("math.Copysign(0, -1)", "0", "math.Inf(1)", "math.Inf(-1)"))
	case 0, 1, 2:
		return fmt.Sprintf("(%s %s %s)", x, g.pick("+", "-"), y())
	case 3, 4:
		return fmt.Sprintf("%s(%s * %s)", t.name, x, y())
	case 5:
		return fmt.Sprintf("(%s / %s)", x, y())
	case 6:
		return "-(" + x + ")"
	case 7:
		return fmt.Sprintf("%s(%s, %s)", g.pick("min", "max"), x, y())
	case 8:
		return pkg(g.pick("Floor", "Ceil", "Trunc", "RoundToEven", "Abs", "Sqrt", "Round"), x)
	case 9:
		return pkg(g.pick("Max", "Min", "Dim"), x, y())
	case 10:
		return pkg("Copysign", x, small)
	case 11:
		return t.name + "(" + g.expr(map[int]*typ{32: typeF64, 64: typeF32}[t.bits], depth-1) + ")"
	case 12:
		if t.bits == 32 {
			return fmt.Sprintf("%s(math.Float32frombits(%s))", t.name, g.expr(whole[7], depth-1))
		}
		return fmt.Sprintf("%s(math.Float64frombits(%s))", t.name, g.expr(whole[8], depth-1))
	}
	return small
}

// cond is a condition.
func (g *gen) cond(t *typ, depth int) string {
	wrap := func(e string) string {
		if t.name == "bool" {
			return e
		}
		return t.name + "(" + e + ")"
	}
	switch {
	case depth > 0 && g.chance(30):
		return wrap(fmt.Sprintf("(%s %s %s)", g.cond(typeBool, depth-1), g.pick("&&", "||"), g.cond(typeBool, depth-1)))
	case depth > 0 && g.chance(12):
		return wrap("!(" + g.cond(typeBool, depth-1) + ")")
	case depth > 0 && g.chance(6):
		return wrap(fmt.Sprintf("(%s %s %s)", g.cond(typeBool, depth-1), g.pick("==", "!="), g.cond(typeBool, depth-1)))
	case g.chance(12):
		return g.read(t)
	case g.chance(10):
		if e := g.guarded(); e != "" {
			return wrap(e)
		}
	case g.chance(6):
		if e := g.same(); e != "" {
			return wrap(e)
		}
	case g.chance(6):
		if g.chance(20) { // a NaN has any sign
			return wrap("math.Signbit(float64(" + g.expr(g.intType(), depth-1) + "))")
		}
		f := "float64(" + g.expr(map[bool]*typ{true: typeF32, false: typeF64}[g.chance(50)], depth-1) + ")"
		return wrap(fmt.Sprintf(g.pick("math.IsNaN(%s)", "math.IsInf(%s, 0)", "math.IsInf(%s, 1)", "math.IsInf(%s, -1)"), f))
	}
	u := g.types[g.IntN(len(g.types))]
	for !u.number() {
		u = g.types[g.IntN(len(g.types))]
	}
	return wrap(fmt.Sprintf("(%s %s %s)", g.expr(u, depth-1), g.pick("<", "<=", ">", ">=", "==", "!="), g.operand(u, depth-1)))
}

// guarded reads memory at an index that may be out of range, behind a check of it.
func (g *gen) guarded() string {
	for range 6 {
		v := g.vars[g.IntN(len(g.vars))]
		if v.t.kind != slice || v.owned || !v.t.elem.number() || v.least > 0 {
			continue
		}
		i := g.pick("int("+g.leaf(typeInt)+")", g.leaf(typeInt)+"-3", "n-9")
		if len(g.at) > 0 && g.chance(60) {
			i = g.pick("n-n+", "") + g.at[g.IntN(len(g.at))] + g.pick("-n", "+n*2", "-"+g.leaf(typeInt))
			if at := g.at[0]; at[0] > '9' && g.chance(50) {
				i = at + "-1"
			}
		}
		test := fmt.Sprintf("%s[%s] %s", v.name, i, g.pick("> 0", "!= 1", "< 3"))
		if g.chance(50) {
			return fmt.Sprintf("(%s >= 0 && %s < len(%s) && %s)", i, i, v.name, test)
		}
		return fmt.Sprintf("(%s < 0 || %s >= len(%s) || %s)", i, i, v.name, test)
	}
	return ""
}

// same compares arrays or structs.
func (g *gen) same() string {
	var list []*variable
	for _, v := range g.vars {
		if (v.t.kind == structure || v.t.kind == array) && v.t.comparable() {
			list = append(list, v)
		}
	}
	if len(list) == 0 {
		return ""
	}
	v := list[g.IntN(len(list))]
	return fmt.Sprintf("(%s %s %s)", v.name, g.pick("==", "!="), g.whole2(v.t))
}

// whole2 is a value of an array or struct type: a place, a converted slice, or a literal.
func (g *gen) whole2(t *typ) string {
	if t.kind == array && g.chance(40) {
		if e := g.converted(t); e != "" {
			return e
		}
	}
	for range 8 {
		v := g.vars[g.IntN(len(g.vars))]
		if e, u := g.place(v, t); u.name == t.name {
			return e
		}
	}
	return "(" + g.composite(t, 0) + ")"
}

// converted is a slice as an array of type t, "" where none is found. In risky programs it may be
// too short.
func (g *gen) converted(t *typ) string {
	for range 12 {
		v := g.vars[g.IntN(len(g.vars))]
		if v.t.kind != array && v.t.kind != slice || v.t.elem.name != t.elem.name {
			continue
		}
		short := g.risky && g.chance(10)
		switch {
		case v.t.kind == array && v.set && v.t.n >= t.n:
			lo := g.IntN(v.t.n - t.n + 1)
			return fmt.Sprintf("%s(%s[%d:%s])", t.name, v.name, lo, g.pick("", strconv.Itoa(lo+t.n)))
		case v.t.kind == slice && short && !v.owned:
			return fmt.Sprintf("%s(%s[int(uint8(%s))&7:])", t.name, v.name, g.leaf(g.intType()))
		case v.t.kind == slice && !v.owned && v.least >= t.n:
			return fmt.Sprintf("%s(%s[%d:])", t.name, v.name, g.IntN(v.least-t.n+1))
		case v.t.kind == slice && !v.owned && v.least == 0 && len(g.at) > 0 && g.chance(60):
			return fmt.Sprintf("%s(%s[%s:])", t.name, v.name, g.at[g.IntN(len(g.at))])
		case v.t.kind == slice && !v.owned && v.least == 0:
			return fmt.Sprintf("%s(%s)", t.name, v.name)
		}
	}
	return ""
}

// composite is a literal of an array or struct, keyed or not.
func (g *gen) composite(t *typ, depth int) string {
	if depth < 0 {
		return t.name + "{}"
	}
	one := func(u *typ) string {
		if u.scalar() {
			return g.expr(u, min(depth, g.IntN(2)))
		}
		if depth > 0 && g.chance(50) {
			return g.whole2(u)
		}
		return g.composite(u, depth-1)
	}
	var list []string
	switch {
	case t.kind == structure && g.chance(60):
		for _, f := range t.fields {
			if g.chance(70) {
				list = append(list, f.name+": "+one(f.t))
			}
		}
	case t.kind == structure:
		for _, f := range t.fields {
			list = append(list, one(f.t))
		}
	default:
		for i := range t.n {
			if g.chance(70) {
				list = append(list, fmt.Sprintf("%d: %s", i, one(t.elem)))
			}
		}
	}
	return fmt.Sprintf("%s{%s}", t.name, quoted(list))
}
