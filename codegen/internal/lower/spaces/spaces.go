// Package spaces has the iteration spaces of loops that threads share out, the portion of a thread,
// and the loops that walk one.
package spaces

import (
	"math"

	"github.com/gompss/gompss/codegen/internal/analysis/affine"
	"github.com/gompss/gompss/codegen/internal/mapping"
	"github.com/gompss/gompss/codegen/ir"
	"github.com/gompss/gompss/codegen/ir/build"
	"github.com/gompss/gompss/codegen/ir/query"
)

// A Space is the iteration space of the loops that one directive governs, a rectangle.
type Space struct {
	Loops []*ir.For // outermost first
	Order []int     // indices of Loops, the fastest varying last
	Body  []ir.Stmt // of the innermost loop, with the declarations that stood between the loops in front
	Label *ir.Label // of the innermost loop: the target of continue in Body
	At    ir.Pos

	// MayWrap says that the variable of the one loop may pass the end of its type where a thread
	// begins so many iterations behind the first one, or goes past the last: the loop begins at a
	// number that the program gives.
	MayWrap bool
}

// A Portion says which iterations a thread runs: First, First+Stride, and so on below the count;
// none at all where Only is not nil and false.
type Portion struct {
	First, Stride, Only ir.Expr
	Deals               []Deal // of chunks, outermost first: First and Stride are then inside the innermost chunk
}

// A Walker makes the loops of a kernel that walk spaces.
type Walker struct{ *mapping.Work }

// Nest collects the n perfectly nested loops that f begins. Declarations of plain values between
// the loops are allowed and sink into the body.
func (l Walker) Nest(f *ir.For, n int) (*Space, bool) {
	sp := &Space{At: f.At}
	var sunk []ir.Stmt
	defs := map[*ir.Var]ir.Expr{}
	outer := map[*ir.Var]bool{}
	for k := 0; ; k++ {
		if !l.rectangular(f, k, outer, defs) {
			return nil, false
		}
		c := *f
		c.Lo, c.Hi, c.Step = ir.Subst(f.Lo, defs), ir.Subst(f.Hi, defs), ir.Subst(f.Step, defs)
		sp.Loops, sp.Order = append(sp.Loops, &c), append(sp.Order, k)
		outer[f.Var] = true
		if k+1 >= n {
			sp.Body, sp.Label = append(sunk, f.Body...), f.Label
			sp.MayWrap = k == 0 && !build.Near(f.Lo)
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

func (l Walker) rectangular(f *ir.For, depth int, outer map[*ir.Var]bool, defs map[*ir.Var]ir.Expr) bool {
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

// Count returns the number of iterations of the whole space, over the expressions of the loops' own
// bounds.
func (sp *Space) Count() ir.Expr {
	var n ir.Expr = build.Int(1, sp.At)
	for _, f := range sp.Loops {
		n = build.Binary(ir.Mul, n, build.Trips(f, build.ToInt(f.Lo), build.ToInt(f.Hi), build.ToInt(f.Step)), sp.At)
	}
	return n
}

// Direct reports whether the loop variable itself can walk through a thread's portion. Each thread
// goes past the end by up to a step of the whole grid, which must not wrap around.
func (sp *Space) Direct() bool {
	f := sp.Loops[0]
	step, ok := query.Int64(f.Step)
	if len(sp.Loops) != 1 || !ok || !affine.NeverWraps(f.Var.Type) || max(step, -step) > build.MaxShortStep || far(f.Lo) || far(f.Hi) {
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

// Walk returns the loop that runs body for the iterations of p. last, where given, runs after the
// last iteration of the whole space, in the thread that ran it, and can read what body declared
// outside.
func (l Walker) Walk(sp *Space, p Portion, body, last []ir.Stmt) []ir.Stmt {
	var out []ir.Stmt
	if sp.Direct() && len(last) == 0 {
		out = l.walkDirect(sp, p, body)
	} else {
		out = l.walkCounted(sp, p, body, last)
	}
	if p.Only != nil {
		return []ir.Stmt{&ir.If{Cond: p.Only, Then: out, At: sp.At}}
	}
	return []ir.Stmt{&ir.Block{Body: out, At: sp.At}}
}

// walkFar is walkDirect where the loop variable may wrap: iterations count.
func (l Walker) walkFar(sp *Space, p Portion, body []ir.Stmt) []ir.Stmt {
	f, at := sp.Loops[0], sp.At
	lo, out := l.Temp("start", f.Lo, nil)
	hi, out := l.Temp("end", f.Hi, out)
	total, inside := l.Temp("total", build.Trips(f, build.ToInt(lo), build.ToInt(hi), build.ToInt(f.Step)), nil)
	stride, inside := l.Temp("stride", p.Stride, inside)
	it := l.Local("it", ir.IntType, at)
	value := build.Binary(ir.Add, lo, build.Convert(f.Var.Type, build.Binary(ir.Mul, build.Ref(it, at), build.ToInt(f.Step), at), at), at)
	loop := &ir.While{Label: LabelOr(sp.Label), Cond: build.Compare(ir.Lt, build.Ref(it, at), total, at), At: at,
		Post: []ir.Stmt{build.Assign(build.Ref(it, at), build.Binary(ir.Add, build.Ref(it, at), stride, at), at)},
		Body: append([]ir.Stmt{build.Decl(f.Var, value, at)}, body...)}
	return append(out, &ir.If{Cond: build.Compare(f.Rel, lo, hi, at), Then: append(inside, build.Decl(it, p.First, at), loop), At: at})
}

func (l Walker) walkDirect(sp *Space, p Portion, body []ir.Stmt) []ir.Stmt {
	if sp.MayWrap {
		return l.walkFar(sp, p, body)
	}
	f, at := sp.Loops[0], sp.At
	hi, out := l.Temp("end", f.Hi, nil)
	first := build.Binary(ir.Add, f.Lo, build.Binary(ir.Mul, p.First, f.Step, at), at)
	stride, out := l.Temp("stride", build.Binary(ir.Mul, p.Stride, f.Step, at), out)
	next := build.Assign(build.Ref(f.Var, at), build.Binary(ir.Add, build.Ref(f.Var, at), stride, at), at)
	loop := &ir.While{Label: LabelOr(sp.Label), Cond: build.Compare(f.Rel, build.Ref(f.Var, at), hi, at), Post: []ir.Stmt{next},
		Body: body, At: at}
	return append(out, build.Decl(f.Var, first, at), loop)
}

func (l Walker) walkCounted(sp *Space, p Portion, body, last []ir.Stmt) []ir.Stmt {
	at := sp.At
	c, out := l.Counted(sp)
	stride, out := l.Temp("stride", p.Stride, out)
	it := l.Local("it", ir.IntType, at)
	out = append(out, build.Decl(it, p.First, at))
	return append(out, l.Iterate(sp, c, it, build.Compare(ir.Lt, build.Ref(it, at), c.Total, at), stride, body, last))
}

// A Counting is what it takes to make the loop variables of a space from the number of an
// iteration.
type Counting struct {
	los, steps, counts []ir.Expr
	Total              ir.Expr
	small              ir.Expr // Total fits 32 bits, in which devices divide several times faster; nil where that is no gain
}

// Counted computes the counting of sp, before the loop.
func (l Walker) Counted(sp *Space) (c Counting, out []ir.Stmt) {
	for _, f := range sp.Loops {
		var lo, hi, step, n ir.Expr
		lo, out = l.Temp("start", build.ToInt(f.Lo), out)
		hi, out = l.Temp("end", build.ToInt(f.Hi), out)
		step, out = l.Temp("step", build.ToInt(f.Step), out)
		n, out = l.Temp("count", build.Trips(f, lo, hi, step), out)
		c.los, c.steps, c.counts = append(c.los, lo), append(c.steps, step), append(c.counts, n)
	}
	c.Total = build.Int(1, sp.At)
	for _, n := range c.counts {
		c.Total = build.Binary(ir.Mul, c.Total, n, sp.At)
	}
	c.Total, out = l.Temp("total", c.Total, out)
	for k := 1; k < len(sp.Order); k++ {
		if _, constant := query.Int64(c.counts[sp.Order[k]]); !constant {
			fits := build.Compare(ir.Le, c.Total, build.Int(math.MaxUint32, sp.At), sp.At)
			c.small, out = l.Temp("small", fits, out)
			break
		}
	}
	return c, out
}

// Iterate returns the loop over iteration numbers it, which is declared before, while cond.
func (l Walker) Iterate(sp *Space, c Counting, it *ir.Var, cond, stride ir.Expr, body, last []ir.Stmt) ir.Stmt {
	at := sp.At
	var post []ir.Stmt
	if len(last) > 0 {
		isLast := build.Compare(ir.Eq, build.Ref(it, at), build.Binary(ir.Sub, c.Total, build.Int(1, at), at), at)
		post = append(post, &ir.If{Cond: isLast, Then: last, At: at})
	}
	post = append(post, build.Assign(build.Ref(it, at), build.Binary(ir.Add, build.Ref(it, at), stride, at), at))
	return &ir.While{Label: LabelOr(sp.Label), Cond: cond, Post: post, At: at,
		Body: append(l.Decode(sp, c, build.Ref(it, at)), body...)}
}

// Decode declares the loop variables of iteration it.
func (l Walker) Decode(sp *Space, c Counting, it ir.Expr) []ir.Stmt {
	at := sp.At
	var out []ir.Stmt
	digits := make([]ir.Expr, len(sp.Loops))
	rest := it
	for k := len(sp.Order) - 1; k > 0; k-- {
		n := c.counts[sp.Order[k]]
		var quotient ir.Expr
		quotient, out = l.Temp("rows", c.divide(rest, n, at), out)
		digits[sp.Order[k]] = build.Binary(ir.Sub, rest, build.Binary(ir.Mul, quotient, n, at), at)
		rest = quotient
	}
	digits[sp.Order[0]] = rest
	for k, f := range sp.Loops {
		value := build.Binary(ir.Add, c.los[k], build.Binary(ir.Mul, digits[k], c.steps[k], at), at)
		out = append(out, build.Decl(f.Var, build.Convert(f.Var.Type, value, at), at))
	}
	return out
}

// divide returns x / n of a number of an iteration and a count.
func (c Counting) divide(x, n ir.Expr, at ir.Pos) ir.Expr {
	quotient := &ir.Binary{Op: ir.Div, X: x, Y: n, T: ir.IntType, At: at}
	if _, constant := query.Int64(n); constant || c.small == nil {
		return quotient
	}
	narrow := func(e ir.Expr) ir.Expr { return &ir.Convert{T: ir.Uint32Type, X: e, At: at} }
	short := &ir.Binary{Op: ir.Div, X: narrow(x), Y: narrow(n), T: ir.Uint32Type, At: at}
	return build.Choose(c.small, &ir.Convert{T: ir.IntType, X: short, At: at}, quotient, at)
}

// LabelOr returns l, or a new label where l is nil.
func LabelOr(l *ir.Label) *ir.Label {
	if l != nil {
		return l
	}
	return &ir.Label{}
}

// Temp declares a temporary for e unless e is a constant or a variable that stays as it is, and
// returns what to read.
func (l Walker) Temp(name string, e ir.Expr, out []ir.Stmt) (ir.Expr, []ir.Stmt) {
	if _, ok := query.Int64(e); ok {
		return e, out
	}
	v := l.Local(name, e.Type(), e.Pos())
	return build.Ref(v, e.Pos()), append(out, build.Decl(v, e, e.Pos()))
}

// A Deal gives the chunks of a range of iterations out in turns: those numbered First, First+Stride
// and so on.
type Deal struct{ First, Stride, Chunk ir.Expr }

// Fresh copies sp with variables and labels of its own.
func (l Walker) Fresh(sp *Space) *Space {
	inner := sp.Loops[len(sp.Loops)-1]
	whole := []ir.Stmt{&ir.For{Label: sp.Label, Var: inner.Var, Lo: inner.Lo, Hi: inner.Hi, Step: inner.Step, Rel: inner.Rel,
		Body: sp.Body, At: inner.At}}
	c := l.CopyOf(whole, &l.Kernel.NumVars)[0].(*ir.For)
	out := &Space{Order: sp.Order, Body: c.Body, Label: c.Label, MayWrap: sp.MayWrap, At: sp.At}
	outer := map[*ir.Var]*ir.Var{}
	for _, f := range sp.Loops[:len(sp.Loops)-1] {
		g := *f
		g.Var = l.Local(f.Var.Name, f.Var.Type, f.Var.At)
		outer[f.Var] = g.Var
		out.Loops = append(out.Loops, &g)
	}
	out.Body = build.WithVars(outer).CopyStmts(out.Body)
	out.Loops = append(out.Loops, &ir.For{Label: c.Label, Var: c.Var, Lo: inner.Lo, Hi: inner.Hi, Step: inner.Step,
		Rel: inner.Rel, At: inner.At})
	return out
}
