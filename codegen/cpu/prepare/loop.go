package prepare

import (
	"math"

	"github.com/gompss/gompss/codegen/ir"
)

// steps counts the parallel loops whose step is not constant: k runs from 0 below the number of
// iterations.
func (p *Result) steps(body []ir.Stmt) []ir.Stmt {
	r := &ir.Rewrite{Stmt: func(s ir.Stmt) []ir.Stmt {
		f, ok := ir.ParallelLoop(s)
		if ok && f.Var.Type.Kind == ir.Uint64 && (pastInt64(f.Lo) || pastInt64(f.Hi)) {
			p.fail(f.At, "the loop over "+f.Var.Name+" goes past the largest int64: count from 0 and add")
		}
		if !ok || f.Rel == ir.Ne || f.Directive.Collapse > 1 {
			return []ir.Stmt{s}
		}
		if step, ok := ir.ConstStep(f); ok && max(step, -step) <= maxShortStep {
			return []ir.Stmt{s}
		}
		return p.counted(f)
	}}
	return r.CopyStmts(body)
}

// maxShortStep bounds the steps that may be added to a number of iterations without a thought of
// the ends of int64.
const maxShortStep = 1 << 24

// pastInt64 tells a constant that an int64 does not hold, or hardly.
func pastInt64(e ir.Expr) bool {
	c, ok := ir.ConstInt(e)
	return ok && (c < 0 || c > math.MaxInt64/2)
}

func (p *Result) counted(f *ir.For) []ir.Stmt {
	at := f.At
	var out []ir.Stmt
	hold := func(name string, e ir.Expr) ir.Expr {
		v := p.local(f.Var.Name+name, e.Type(), at)
		out = append(out, &ir.Decl{Var: v, Init: e, At: at})
		return &ir.Ref{Var: v, At: at}
	}
	lo, step := hold("_from", f.Lo), hold("_step", f.Step)
	hi := hold("_to", f.Hi)
	from, to := ir.ToInt(lo), ir.ToInt(hi)
	first, end := lo, hi
	by := ir.ToInt(step)
	if f.Rel == ir.Gt || f.Rel == ir.Ge {
		from, to, first, end = to, from, hi, lo
		by = &ir.Unary{Op: ir.Neg, X: by, At: at}
	}
	op := ir.Lt
	distance := ir.Expr(&ir.Binary{Op: ir.Sub, X: to, Y: from, T: ir.IntType, At: at})
	if f.Rel == ir.Le || f.Rel == ir.Ge {
		op = ir.Le
	} else {
		distance = &ir.Binary{Op: ir.Sub, X: distance, Y: ir.IntConst(1, at), T: ir.IntType, At: at}
	}
	distance = hold("_more", distance)
	bits := &ir.Convert{T: ir.Uint64Type, X: distance, At: at} // as first is before end
	many := &ir.Binary{Op: ir.Ge, X: bits, Y: &ir.Const{T: ir.Uint64Type, Bits: ir.MostTrips, At: at}, T: ir.BoolType, At: at}
	distance = &ir.Select{Cond: many, X: ir.IntConst(ir.MostTrips-1, at), Y: distance, At: at}
	n := p.local(f.Var.Name+"_count", ir.IntType, at)
	p.Names[at] = "the step of the loop over " + f.Var.Name + ", less 1"
	by = &ir.Math{Fn: ir.IMin, Args: []ir.Expr{by, ir.IntConst(1<<62, at)}, T: ir.IntType, At: at} // longer ones end as soon
	less := &ir.Binary{Op: ir.Sub, X: by, Y: ir.IntConst(1, at), T: ir.IntType, At: at}
	checked := &ir.Binary{Op: Within, X: less, Y: ir.IntConst(1<<62, at), T: ir.IntType, At: at} // a step of zero, or away from the end, would never arrive
	divisor := &ir.Binary{Op: ir.Add, X: checked, Y: ir.IntConst(1, at), T: ir.IntType, At: at}
	count := &ir.Binary{Op: ir.Add, X: &ir.Binary{Op: ir.Div, X: distance, Y: divisor, T: ir.IntType, At: at}, Y: ir.IntConst(1, at), T: ir.IntType, At: at}
	out = append(out, &ir.Decl{Var: n, At: at}, &ir.If{Cond: &ir.Binary{Op: op, X: first, Y: end, T: ir.BoolType, At: at},
		Then: []ir.Stmt{&ir.Assign{Place: &ir.Ref{Var: n, At: at}, Value: count, At: at}}, At: at})
	k := p.local("k", ir.IntType, at)
	times := ir.Expr(&ir.Ref{Var: k, At: at})
	if f.Var.Type.Kind != ir.Int64 {
		times = &ir.Convert{T: f.Var.Type, X: times, At: at}
	}
	value := &ir.Binary{Op: ir.Add, X: lo, Y: &ir.Binary{Op: ir.Mul, X: times, Y: step, T: f.Var.Type, At: at}, T: f.Var.Type, At: at}
	c := *f
	c.Var, c.Lo, c.Hi, c.Step, c.Rel = k, ir.IntConst(0, at), &ir.Ref{Var: n, At: at}, ir.IntConst(1, at), ir.Lt
	c.Body = append([]ir.Stmt{&ir.Decl{Var: f.Var, Init: value, At: at}}, f.Body...)
	return append(out, &c)
}

// strided makes work-sharing loops of those in a parallel construct that go from the number of the
// thread in steps of the number of threads: threads run their iterations together, so lanes may.
func (p *Result) strided(c *ir.Construct) []ir.Stmt {
	if c.Directive.Parts&ir.Parallel == 0 {
		return c.Body
	}
	values := map[*ir.Var]ir.Expr{}
	assigned := ir.Assigned(c.Body)
	ir.WalkStmts(c.Body, func(s ir.Stmt) bool {
		if d, ok := s.(*ir.Decl); ok && d.Init != nil && !assigned.Has(d.Var) {
			values[d.Var] = d.Init
		}
		return true
	})
	reduced := map[*ir.Var]bool{}
	for _, r := range c.Directive.Reductions {
		reduced[ir.RootVar(r.Place)] = true
	}
	begin := map[*ir.Var]ir.Expr{}
	ir.WalkStmts(c.Body, func(s ir.Stmt) bool {
		if d, ok := s.(*ir.Decl); ok && d.Init != nil {
			begin[d.Var] = d.Init
		}
		return true
	})
	r := &ir.Rewrite{Stmt: func(s ir.Stmt) []ir.Stmt {
		f, ok := s.(*ir.For)
		if w, is := s.(*ir.While); is {
			f, ok = p.countedWhile(w, begin)
		}
		if !ok || f.Directive != nil || f.Rel != ir.Lt || !asks(f.Step, ir.NumThreads, values) || !asksThread(f.Lo, values, begin) {
			return []ir.Stmt{s}
		}
		byThread := false // a place of each thread's own would be one for all lanes
		ir.Inspect(f.Body, nil, func(e ir.Expr) {
			byThread = byThread || asks(e, ir.ThreadNum, values) || asks(e, ir.TeamNum, values)
		})
		inside := ir.Declared(f.Body)
		for _, v := range ir.Assigned(f.Body).List() {
			if !inside.Has(v) && !reduced[v] {
				return []ir.Stmt{s}
			}
		}
		if byThread || ir.LeavesLoop(f) {
			return []ir.Stmt{s}
		}
		f.Step = &ir.Const{T: f.Var.Type, Bits: 1, At: f.At}
		f.Directive = &ir.Directive{Parts: ir.Workshare, Text: c.Directive.Text, At: c.Directive.At, Sharing: ir.Sharing{Reductions: c.Directive.Reductions}}
		return []ir.Stmt{f}
	}}
	return r.CopyStmts(c.Body)
}

// countedWhile is a loop "for ; i < n; i += step" as a counted one.
func (p *Result) countedWhile(w *ir.While, begin map[*ir.Var]ir.Expr) (*ir.For, bool) {
	cond, ok := w.Cond.(*ir.Binary)
	if !ok || len(w.Pre) > 0 || len(w.Post) != 1 || cond.Op != ir.Lt {
		return nil, false
	}
	i, ok := cond.X.(*ir.Ref)
	next, ok2 := w.Post[0].(*ir.Assign)
	if !ok || !ok2 || begin[i.Var] == nil || !ir.IsRef(next.Place, i.Var) {
		return nil, false
	}
	sum, ok := next.Value.(*ir.Binary)
	if !ok || sum.Op != ir.Add || !ir.IsRef(sum.X, i.Var) || MayFail(cond.Y) {
		return nil, false
	}
	changed := ir.Assigned(w.Body)
	for _, v := range append(ir.ExprVars(cond.Y).List(), i.Var) {
		if changed.Has(v) {
			return nil, false
		}
	}
	v := p.local(i.Var.Name, i.Var.Type, w.At)
	body := (&ir.Rewrite{Var: func(x *ir.Var) *ir.Var {
		if x == i.Var {
			return v
		}
		return x
	}}).CopyStmts(w.Body)
	return &ir.For{Label: w.Label, Var: v, Lo: i, Hi: cond.Y, Step: sum.Y, Rel: ir.Lt, Body: body, At: w.At}, true
}

// asksThread reports whether a loop begins at the number of the thread.
func asksThread(lo ir.Expr, values, begin map[*ir.Var]ir.Expr) bool {
	if r, ok := lo.(*ir.Ref); ok && begin[r.Var] != nil {
		lo = begin[r.Var]
	}
	return asks(lo, ir.ThreadNum, values)
}

// asks reports whether e depends on a coordinate, through variables with these values.
func asks(e ir.Expr, what ir.QueryKind, values map[*ir.Var]ir.Expr) bool {
	found := false
	ir.WalkExpr(e, func(x ir.Expr) bool {
		switch x := x.(type) {
		case *ir.Query:
			found = found || x.What == what
		case *ir.Ref:
			if v, ok := values[x.Var]; ok && !found {
				found = asks(v, what, values)
			}
		}
		return !found
	})
	return found
}
