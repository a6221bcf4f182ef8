package codegen

import (
	"math"
	"slices"

	"github.com/gompss/gompss/codegen/ir"
)

// A space is the iteration space of the loops that one directive governs, a rectangle.
type space struct {
	loops []*ir.For // outermost first
	order []int     // indices of loops, the fastest varying last
	body  []ir.Stmt // of the innermost loop, with the declarations that stood between the loops in front
	label *ir.Label // of the innermost loop: what continue in body goes on with
	at    ir.Pos
}

// A portion says which iterations a thread runs: first, first+stride, and so on below the count; none at all where
// only is not nil and false.
type portion struct {
	first, stride, only ir.Expr
	deals               []deal // of chunks, outermost first: first and stride are then inside the innermost chunk
}

// nest collects the n perfectly nested loops that f begins. Declarations of plain values between the loops are allowed
// and sink into the body.
func (l *lowering) nest(f *ir.For, n int) (*space, bool) {
	sp := &space{at: f.At}
	var sunk []ir.Stmt
	defs := map[*ir.Var]ir.Expr{}
	outer := map[*ir.Var]bool{}
	for k := 0; ; k++ {
		if !l.rectangular(f, k, outer, defs) {
			return nil, false
		}
		c := *f
		c.Lo, c.Hi, c.Step = ir.Subst(f.Lo, defs), ir.Subst(f.Hi, defs), ir.Subst(f.Step, defs)
		sp.loops, sp.order = append(sp.loops, &c), append(sp.order, k)
		outer[f.Var] = true
		if k+1 >= n {
			sp.body, sp.label = append(sunk, f.Body...), f.Label
			return sp, true
		}
		decls, inner := perfect(f.Body)
		if inner == nil {
			l.refuse(f.At, "collapse", "only perfectly nested loops make one iteration space",
				"move the code between the loops into the innermost, or collapse fewer loops")
			return nil, false
		}
		sunk = append(sunk, decls...)
		for _, s := range decls {
			d := s.(*ir.Decl)
			defs[d.Var] = ir.Subst(d.Init, defs)
		}
		f = inner
	}
}

func (l *lowering) rectangular(f *ir.For, depth int, outer map[*ir.Var]bool, defs map[*ir.Var]ir.Expr) bool {
	for _, bound := range []ir.Expr{f.Lo, f.Hi, f.Step} {
		for _, v := range ir.ExprVars(ir.Subst(bound, defs)).List() {
			if depth > 0 && outer[v] {
				l.notYet(f.At, "collapse of loops whose bounds depend on the outer loop variable "+v.Name)
				return false
			}
		}
	}
	return true
}

// perfect splits the body of a loop into pure declarations and the one loop that follows; inner is nil where the body
// is anything else.
func perfect(body []ir.Stmt) (decls []ir.Stmt, inner *ir.For) {
	for k, s := range body {
		switch s := s.(type) {
		case *ir.Decl:
			if s.Init == nil || !loadFree(s.Init) {
				return nil, nil
			}
		case *ir.For:
			if k == len(body)-1 {
				return body[:k], s
			}
			return nil, nil
		case *ir.Block:
			if s.Label == nil && k == len(body)-1 {
				more, inner := perfect(s.Body)
				return append(append([]ir.Stmt{}, body[:k]...), more...), inner
			}
			return nil, nil
		default:
			return nil, nil
		}
	}
	return nil, nil
}

// loadFree reports whether the value of e does not depend on memory, nor on where it is computed.
func loadFree(e ir.Expr) bool {
	free := true
	ir.WalkExpr(e, func(x ir.Expr) bool {
		switch x := x.(type) {
		case *ir.Deref, *ir.Query, *ir.Shuffle:
			free = false
		case *ir.AddrOf:
			return addressFree(x.X, &free)
		case *ir.Index:
			if ir.RootVar(x) == nil {
				free = false
			}
		}
		return free
	})
	return free
}

// addressFree handles &a[i]: it computes an address and loads nothing of a's memory.
func addressFree(x ir.Expr, free *bool) bool {
	if ix, ok := x.(*ir.Index); ok && ix.X.Type().Kind == ir.Slice {
		*free = *free && loadFree(ix.X) && loadFree(ix.I)
		return false
	}
	return true
}

// trips returns the number of iterations of f as an int, given its bounds as ints. A step of zero or of the wrong sign
// fails as a division by zero.
func trips(f *ir.For, lo, hi, step ir.Expr) ir.Expr {
	at := f.At
	up := trip{at: at, from: lo, to: hi, step: step}
	down := trip{at: at, from: hi, to: lo, step: negate(step, at)}
	switch f.Rel {
	case ir.Lt:
		return up.count(false)
	case ir.Le:
		return up.count(true)
	case ir.Gt:
		return down.count(false)
	case ir.Ge:
		return down.count(true)
	}
	if c, ok := constInt(step); ok && c > 0 {
		return up.count(false)
	} else if ok {
		return down.count(false)
	}
	return choose(compare(ir.Gt, step, intConst(0, at), at), up.count(false), down.count(false), at)
}

type trip struct {
	at             ir.Pos
	from, to, step ir.Expr
}

// count is max(0, ceil((to-from)/step)), with to inside the range where inclusive.
func (t trip) count(inclusive bool) ir.Expr {
	width := binary(ir.Sub, t.to, t.from, t.at)
	if c, ok := constInt(t.step); ok && c == 1 {
		if inclusive {
			width = binary(ir.Add, width, intConst(1, t.at), t.at)
		}
		return atLeastZero(width, t.at)
	}
	step, checked := t.shortStep(width, inclusive), false
	extra := step
	if _, ok := constInt(t.step); !ok && !atLeastOne(t.step) {
		positive := compare(ir.Gt, t.step, intConst(0, t.at), t.at)
		step, checked = choose(positive, step, intConst(0, t.at), t.at), true
	}
	if !inclusive {
		extra = binary(ir.Sub, extra, intConst(1, t.at), t.at)
	}
	sum := binary(ir.Add, width, extra, t.at)
	quotient := &ir.Binary{Op: ir.Div, X: sum, Y: step, T: ir.IntType, Checked: checked, At: t.at}
	return atLeastZero(quotient, t.at)
}

// atLeastOne reports whether e is a maximum with a positive constant.
func atLeastOne(e ir.Expr) bool {
	if c, ok := e.(*ir.Convert); ok && c.T.Size >= c.X.Type().Size {
		return atLeastOne(c.X)
	}
	m, ok := e.(*ir.Math)
	return ok && m.Fn == ir.IMax && slices.ContainsFunc(m.Args, func(x ir.Expr) bool { n, ok := constInt(x); return ok && n > 0 })
}

// maxShortStep bounds the steps that may be added to a width, or taken by each thread of a grid, without a thought of the ends of int64.
const maxShortStep = 1 << 24

// shortStep returns a step that makes as many iterations as the one of t and does not wrap around where width is added to it: one that is
// longer than the range makes one iteration, as one that is as long does.
func (t trip) shortStep(width ir.Expr, inclusive bool) ir.Expr {
	if c, ok := constInt(t.step); ok && c <= maxShortStep {
		return t.step
	}
	if inclusive {
		width = binary(ir.Add, width, intConst(1, t.at), t.at)
	}
	most := &ir.Math{Fn: ir.IMax, Args: []ir.Expr{width, intConst(1, t.at)}, T: ir.IntType, At: t.at}
	return &ir.Math{Fn: ir.IMin, Args: []ir.Expr{t.step, most}, T: ir.IntType, At: t.at}
}

func atLeastZero(e ir.Expr, at ir.Pos) ir.Expr {
	if c, ok := constInt(e); ok {
		return intConst(max(c, 0), at)
	}
	return &ir.Math{Fn: ir.IMax, Args: []ir.Expr{e, intConst(0, at)}, T: ir.IntType, At: at}
}

func negate(e ir.Expr, at ir.Pos) ir.Expr {
	if c, ok := constInt(e); ok {
		return intConst(-c, at)
	}
	return &ir.Unary{Op: ir.Neg, X: e, At: at}
}

// count returns the number of iterations of the whole space, over the expressions of the loops' own bounds.
func (sp *space) count() ir.Expr {
	var n ir.Expr = intConst(1, sp.at)
	for _, f := range sp.loops {
		n = binary(ir.Mul, n, trips(f, asInt(f.Lo), asInt(f.Hi), asInt(f.Step)), sp.at)
	}
	return n
}

func asInt(e ir.Expr) ir.Expr { return convert(ir.IntType, e, e.Pos()) }

// direct reports whether the loop variable itself can walk through a thread's portion. Each thread goes past the end by up to a step of the
// whole grid, which must not wrap around.
func (sp *space) direct() bool {
	f := sp.loops[0]
	step, ok := constInt(f.Step)
	if len(sp.loops) != 1 || !ok || !wide(f.Var.Type) || max(step, -step) > maxShortStep || far(f.Lo) || far(f.Hi) {
		return false
	}
	up := f.Rel == ir.Lt || f.Rel == ir.Le
	down := f.Rel == ir.Gt || f.Rel == ir.Ge
	return up && step > 0 || down && step < 0
}

// far reports whether e is a constant near an end of int64.
func far(e ir.Expr) bool {
	c, ok := constInt(e)
	return ok && (c > math.MaxInt64/2 || c < math.MinInt64/2)
}

// walk returns the loop that runs body for the iterations of p. last, where given, runs after the last iteration of the
// whole space, in the thread that ran it, and can read what body declared outside.
func (l *lowering) walk(sp *space, p portion, body, last []ir.Stmt) []ir.Stmt {
	var out []ir.Stmt
	if sp.direct() && len(last) == 0 {
		out = l.walkDirect(sp, p, body)
	} else {
		out = l.walkCounted(sp, p, body, last)
	}
	if p.only != nil {
		return []ir.Stmt{&ir.If{Cond: p.only, Then: out, At: sp.at}}
	}
	return []ir.Stmt{&ir.Block{Body: out, At: sp.at}}
}

func (l *lowering) walkDirect(sp *space, p portion, body []ir.Stmt) []ir.Stmt {
	f, at := sp.loops[0], sp.at
	hi, out := l.temp("end", f.Hi, nil)
	first := binary(ir.Add, f.Lo, binary(ir.Mul, p.first, f.Step, at), at)
	stride, out := l.temp("stride", binary(ir.Mul, p.stride, f.Step, at), out)
	next := assign(ref(f.Var, at), binary(ir.Add, ref(f.Var, at), stride, at), at)
	loop := &ir.While{Label: labelOr(sp.label), Cond: compare(f.Rel, ref(f.Var, at), hi, at), Post: []ir.Stmt{next},
		Body: body, At: at}
	return append(out, decl(f.Var, first, at), loop)
}

func (l *lowering) walkCounted(sp *space, p portion, body, last []ir.Stmt) []ir.Stmt {
	at := sp.at
	c, out := l.counted(sp)
	stride, out := l.temp("stride", p.stride, out)
	it := l.local("it", ir.IntType, at)
	out = append(out, decl(it, p.first, at))
	return append(out, l.iterate(sp, c, it, compare(ir.Lt, ref(it, at), c.total, at), stride, body, last))
}

// A counting is what it takes to make the loop variables of a space from the number of an iteration.
type counting struct {
	los, steps, counts []ir.Expr
	total              ir.Expr
	small              ir.Expr // total fits 32 bits, in which devices divide several times faster; nil where that is no gain
}

// counted computes the counting of sp, before the loop.
func (l *lowering) counted(sp *space) (c counting, out []ir.Stmt) {
	for _, f := range sp.loops {
		var lo, hi, step, n ir.Expr
		lo, out = l.temp("start", asInt(f.Lo), out)
		hi, out = l.temp("end", asInt(f.Hi), out)
		step, out = l.temp("step", asInt(f.Step), out)
		n, out = l.temp("count", trips(f, lo, hi, step), out)
		c.los, c.steps, c.counts = append(c.los, lo), append(c.steps, step), append(c.counts, n)
	}
	c.total = intConst(1, sp.at)
	for _, n := range c.counts {
		c.total = binary(ir.Mul, c.total, n, sp.at)
	}
	c.total, out = l.temp("total", c.total, out)
	for k := 1; k < len(sp.order); k++ {
		if _, constant := constInt(c.counts[sp.order[k]]); !constant {
			fits := compare(ir.Le, c.total, intConst(math.MaxUint32, sp.at), sp.at)
			c.small, out = l.temp("small", fits, out)
			break
		}
	}
	return c, out
}

// iterate returns the loop over iteration numbers it, which is declared before, while cond.
func (l *lowering) iterate(sp *space, c counting, it *ir.Var, cond, stride ir.Expr, body, last []ir.Stmt) ir.Stmt {
	at := sp.at
	var post []ir.Stmt
	if len(last) > 0 {
		isLast := compare(ir.Eq, ref(it, at), binary(ir.Sub, c.total, intConst(1, at), at), at)
		post = append(post, &ir.If{Cond: isLast, Then: last, At: at})
	}
	post = append(post, assign(ref(it, at), binary(ir.Add, ref(it, at), stride, at), at))
	return &ir.While{Label: labelOr(sp.label), Cond: cond, Post: post, At: at,
		Body: append(l.decode(sp, c, ref(it, at)), body...)}
}

// decode declares the loop variables of iteration it.
func (l *lowering) decode(sp *space, c counting, it ir.Expr) []ir.Stmt {
	at := sp.at
	var out []ir.Stmt
	digits := make([]ir.Expr, len(sp.loops))
	rest := it
	for k := len(sp.order) - 1; k > 0; k-- {
		n := c.counts[sp.order[k]]
		var quotient ir.Expr
		quotient, out = l.temp("rows", c.divide(rest, n, at), out)
		digits[sp.order[k]] = binary(ir.Sub, rest, binary(ir.Mul, quotient, n, at), at)
		rest = quotient
	}
	digits[sp.order[0]] = rest
	for k, f := range sp.loops {
		value := binary(ir.Add, c.los[k], binary(ir.Mul, digits[k], c.steps[k], at), at)
		out = append(out, decl(f.Var, convert(f.Var.Type, value, at), at))
	}
	return out
}

// divide returns x / n of a number of an iteration and a count.
func (c counting) divide(x, n ir.Expr, at ir.Pos) ir.Expr {
	quotient := &ir.Binary{Op: ir.Div, X: x, Y: n, T: ir.IntType, At: at}
	if _, constant := constInt(n); constant || c.small == nil {
		return quotient
	}
	narrow := func(e ir.Expr) ir.Expr { return &ir.Convert{T: ir.Uint32Type, X: e, At: at} }
	short := &ir.Binary{Op: ir.Div, X: narrow(x), Y: narrow(n), T: ir.Uint32Type, At: at}
	return choose(c.small, &ir.Convert{T: ir.IntType, X: short, At: at}, quotient, at)
}

func labelOr(l *ir.Label) *ir.Label {
	if l != nil {
		return l
	}
	return &ir.Label{}
}

// temp declares a temporary for e unless e is a constant or a variable that stays as it is, and returns what to read.
func (l *lowering) temp(name string, e ir.Expr, out []ir.Stmt) (ir.Expr, []ir.Stmt) {
	if _, ok := constInt(e); ok {
		return e, out
	}
	v := l.local(name, e.Type(), e.Pos())
	return ref(v, e.Pos()), append(out, decl(v, e, e.Pos()))
}
