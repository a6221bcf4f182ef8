package prepare

import (
	"github.com/gompss/gompss/codegen/ir"
)

// lasts makes of every lastprivate variable a pair that a loop reduces: the number of the latest
// iteration that has set it, and what it was set to.
func (p *Result) lasts(body []ir.Stmt) []ir.Stmt {
	r := &ir.Rewrite{Stmt: func(s ir.Stmt) []ir.Stmt {
		f, ok := s.(*ir.For)
		if !ok || f.Directive == nil || len(f.Directive.Lastprivate) == 0 {
			return []ir.Stmt{s}
		}
		d := *f.Directive
		d.Lastprivate = nil
		d.Reductions = d.Reductions[:len(d.Reductions):len(d.Reductions)]
		var before, after []ir.Stmt
		for _, v := range f.Directive.Lastprivate {
			if !v.Type.IsScalar() {
				p.fail(f.At, "lastprivate("+v.Name+") of an array has no form for lanes: store what the last iteration has behind the loop")
				return nil
			}
			at, own := p.local(v.Name+"_last", ir.IntType, f.At), p.local(v.Name, v.Type, f.At)
			none := &ir.Const{T: ir.IntType, Bits: 1 << 63, At: f.At}
			before = append(before, &ir.Decl{Var: at, Init: none, At: f.At}, &ir.Decl{Var: own, Init: &ir.Ref{Var: v, At: f.At}, At: f.At})
			d.Reductions = append(d.Reductions, ir.Reduction{Op: ir.MaxLoc, Place: &ir.Ref{Var: at, At: f.At}, Index: &ir.Ref{Var: own, At: f.At}, At: f.At})
			after = append(after, &ir.If{Cond: &ir.Binary{Op: ir.Ne, X: &ir.Ref{Var: at, At: f.At}, Y: none, T: ir.BoolType, At: f.At},
				Then: []ir.Stmt{&ir.Assign{Place: &ir.Ref{Var: v, At: f.At}, Value: &ir.Ref{Var: own, At: f.At}, At: f.At}}, At: f.At})
			order, start := p.orderOf(f)
			before = append(before, start...)
			f.Body = stamped(f, v, own, at, order)
		}
		f.Directive = &d
		return append(append(before, f), after...)
	}}
	return r.CopyStmts(body)
}

// orderOf returns a number that rises with the iterations of f and is greater than the least int,
// and what computes it before the loop: for counters of 64 bits whose start is not constant it is
// the distance from that.
func (p *Result) orderOf(f *ir.For) (order ir.Expr, before []ir.Stmt) {
	order = ir.ToInt(&ir.Ref{Var: f.Var, At: f.At})
	step, ok := ir.ConstStep(f)
	down := ok && step < 0
	_, constant := ir.ConstInt(f.Lo)
	switch {
	case f.Var.Type.Size == 8 && !constant:
		start := p.local(f.Var.Name+"_start", ir.IntType, f.At)
		order = &ir.Binary{Op: ir.Sub, X: order, Y: &ir.Ref{Var: start, At: f.At}, T: ir.IntType, At: f.At}
		if down {
			order = &ir.Unary{Op: ir.Neg, X: order, At: f.At}
		}
		return order, []ir.Stmt{&ir.Decl{Var: start, Init: ir.ToInt((&ir.Rewrite{}).CopyExpr(f.Lo)), At: f.At}}
	case down:
		order = &ir.Unary{Op: ir.Com, X: order, At: f.At}
	}
	return order, nil
}

// stamped is the body of f with its own copy of v, each setting of which notes the iteration, of
// which order is the number.
func stamped(f *ir.For, v, own, at *ir.Var, order ir.Expr) []ir.Stmt {
	r := &ir.Rewrite{Var: func(x *ir.Var) *ir.Var {
		if x == v {
			return own
		}
		return x
	}, Stmt: func(s ir.Stmt) []ir.Stmt {
		sets := false
		switch s := s.(type) {
		case *ir.Assign:
			sets = ir.IsRef(s.Place, own)
		case *ir.Atomic:
			sets = s.Old != nil && ir.IsRef(s.Old, own) || ir.IsRef(s.Place, own)
		case *ir.For:
			for _, red := range reductionsIn(s) {
				sets = sets || ir.RootVar(red.Place) == own || red.Index != nil && ir.RootVar(red.Index) == own
			}
		}
		if !sets {
			return []ir.Stmt{s}
		}
		return []ir.Stmt{s, &ir.Assign{Place: &ir.Ref{Var: at, At: s.Pos()}, Value: (&ir.Rewrite{}).CopyExpr(order), At: s.Pos()}}
	}}
	return r.CopyStmts(f.Body)
}
