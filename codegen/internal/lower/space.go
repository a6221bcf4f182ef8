package lower

import (
	"math"

	"github.com/gompss/gompss/codegen/internal/analysis"
	"github.com/gompss/gompss/codegen/ir"
	"github.com/gompss/gompss/codegen/ir/build"
	"github.com/gompss/gompss/codegen/ir/query"
)

// A space is the iteration space of the loops that one directive governs, a rectangle.
type space struct {
	loops []*ir.For // outermost first
	order []int     // indices of loops, the fastest varying last
	body  []ir.Stmt // of the innermost loop, with the declarations that stood between the loops in front
	label *ir.Label // of the innermost loop: the target of continue in body
	at    ir.Pos
}

// A portion says which iterations a thread runs: first, first+stride, and so on below the count;
// none at all where only is not nil and false.
type portion struct {
	first, stride, only ir.Expr
	deals               []deal // of chunks, outermost first: first and stride are then inside the innermost chunk
}

// nest collects the n perfectly nested loops that f begins. Declarations of plain values between
// the loops are allowed and sink into the body.
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
		decls, inner := query.Perfect(f.Body)
		if inner == nil {
			l.Refuse(f.At, "collapse", "only perfectly nested loops make one iteration space",
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
				l.NotYet(f.At, "collapse of loops whose bounds depend on the outer loop variable "+v.Name)
				return false
			}
		}
	}
	return true
}

// count returns the number of iterations of the whole space, over the expressions of the loops' own
// bounds.
func (sp *space) count() ir.Expr {
	var n ir.Expr = build.Int(1, sp.at)
	for _, f := range sp.loops {
		n = build.Binary(ir.Mul, n, build.Trips(f, build.ToInt(f.Lo), build.ToInt(f.Hi), build.ToInt(f.Step)), sp.at)
	}
	return n
}

// direct reports whether the loop variable itself can walk through a thread's portion. Each thread
// goes past the end by up to a step of the whole grid, which must not wrap around.
func (sp *space) direct() bool {
	f := sp.loops[0]
	step, ok := query.Int64(f.Step)
	if len(sp.loops) != 1 || !ok || !analysis.IsWide(f.Var.Type) || max(step, -step) > build.MaxShortStep || far(f.Lo) || far(f.Hi) {
		return false
	}
	up := f.Rel == ir.Lt || f.Rel == ir.Le
	down := f.Rel == ir.Gt || f.Rel == ir.Ge
	return up && step > 0 || down && step < 0
}

// far reports whether e is a constant near an end of int64.
func far(e ir.Expr) bool {
	c, ok := query.Int64(e)
	return ok && (c > math.MaxInt64/2 || c < math.MinInt64/2)
}

// walk returns the loop that runs body for the iterations of p. last, where given, runs after the
// last iteration of the whole space, in the thread that ran it, and can read what body declared
// outside.
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
	first := build.Binary(ir.Add, f.Lo, build.Binary(ir.Mul, p.first, f.Step, at), at)
	stride, out := l.temp("stride", build.Binary(ir.Mul, p.stride, f.Step, at), out)
	next := build.Assign(build.Ref(f.Var, at), build.Binary(ir.Add, build.Ref(f.Var, at), stride, at), at)
	loop := &ir.While{Label: labelOr(sp.label), Cond: build.Compare(f.Rel, build.Ref(f.Var, at), hi, at), Post: []ir.Stmt{next},
		Body: body, At: at}
	return append(out, build.Decl(f.Var, first, at), loop)
}

func (l *lowering) walkCounted(sp *space, p portion, body, last []ir.Stmt) []ir.Stmt {
	at := sp.at
	c, out := l.counted(sp)
	stride, out := l.temp("stride", p.stride, out)
	it := l.Local("it", ir.IntType, at)
	out = append(out, build.Decl(it, p.first, at))
	return append(out, l.iterate(sp, c, it, build.Compare(ir.Lt, build.Ref(it, at), c.total, at), stride, body, last))
}

// A counting is what it takes to make the loop variables of a space from the number of an
// iteration.
type counting struct {
	los, steps, counts []ir.Expr
	total              ir.Expr
	small              ir.Expr // total fits 32 bits, in which devices divide several times faster; nil where that is no gain
}

// counted computes the counting of sp, before the loop.
func (l *lowering) counted(sp *space) (c counting, out []ir.Stmt) {
	for _, f := range sp.loops {
		var lo, hi, step, n ir.Expr
		lo, out = l.temp("start", build.ToInt(f.Lo), out)
		hi, out = l.temp("end", build.ToInt(f.Hi), out)
		step, out = l.temp("step", build.ToInt(f.Step), out)
		n, out = l.temp("count", build.Trips(f, lo, hi, step), out)
		c.los, c.steps, c.counts = append(c.los, lo), append(c.steps, step), append(c.counts, n)
	}
	c.total = build.Int(1, sp.at)
	for _, n := range c.counts {
		c.total = build.Binary(ir.Mul, c.total, n, sp.at)
	}
	c.total, out = l.temp("total", c.total, out)
	for k := 1; k < len(sp.order); k++ {
		if _, constant := query.Int64(c.counts[sp.order[k]]); !constant {
			fits := build.Compare(ir.Le, c.total, build.Int(math.MaxUint32, sp.at), sp.at)
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
		isLast := build.Compare(ir.Eq, build.Ref(it, at), build.Binary(ir.Sub, c.total, build.Int(1, at), at), at)
		post = append(post, &ir.If{Cond: isLast, Then: last, At: at})
	}
	post = append(post, build.Assign(build.Ref(it, at), build.Binary(ir.Add, build.Ref(it, at), stride, at), at))
	return &ir.While{Label: labelOr(sp.label), Cond: cond, Post: post, At: at,
		Body: append(l.decode(sp, c, build.Ref(it, at)), body...)}
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
		digits[sp.order[k]] = build.Binary(ir.Sub, rest, build.Binary(ir.Mul, quotient, n, at), at)
		rest = quotient
	}
	digits[sp.order[0]] = rest
	for k, f := range sp.loops {
		value := build.Binary(ir.Add, c.los[k], build.Binary(ir.Mul, digits[k], c.steps[k], at), at)
		out = append(out, build.Decl(f.Var, build.Convert(f.Var.Type, value, at), at))
	}
	return out
}

// divide returns x / n of a number of an iteration and a count.
func (c counting) divide(x, n ir.Expr, at ir.Pos) ir.Expr {
	quotient := &ir.Binary{Op: ir.Div, X: x, Y: n, T: ir.IntType, At: at}
	if _, constant := query.Int64(n); constant || c.small == nil {
		return quotient
	}
	narrow := func(e ir.Expr) ir.Expr { return &ir.Convert{T: ir.Uint32Type, X: e, At: at} }
	short := &ir.Binary{Op: ir.Div, X: narrow(x), Y: narrow(n), T: ir.Uint32Type, At: at}
	return build.Choose(c.small, &ir.Convert{T: ir.IntType, X: short, At: at}, quotient, at)
}

func labelOr(l *ir.Label) *ir.Label {
	if l != nil {
		return l
	}
	return &ir.Label{}
}

// temp declares a temporary for e unless e is a constant or a variable that stays as it is, and
// returns what to read.
func (l *lowering) temp(name string, e ir.Expr, out []ir.Stmt) (ir.Expr, []ir.Stmt) {
	if _, ok := query.Int64(e); ok {
		return e, out
	}
	v := l.Local(name, e.Type(), e.Pos())
	return build.Ref(v, e.Pos()), append(out, build.Decl(v, e, e.Pos()))
}
