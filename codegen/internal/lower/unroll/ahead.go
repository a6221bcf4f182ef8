package unroll

import (
	"github.com/gompss/gompss/codegen/internal/mapping"
	"github.com/gompss/gompss/codegen/ir"
	"github.com/gompss/gompss/codegen/ir/build"
	"github.com/gompss/gompss/codegen/ir/query"
)

// A loop that loads from far places needs several loads in flight. Compilers that unroll it may
// still load one value after the other, so that each waits for the one before: here a turn loads
// all values first. With other loads beside them a turn holds more than compilers keep in
// registers, and those are in order already.
// Source: measured on an H100, rows of 2048 float32, 0.43 ms and 0.21 with one load an iteration;
// 0.37 and 0.43 with two, of which one is the same for all columns (`gompss bench gpu -suite
// kernels -only ColumnMoments,ColumnDot`).

// A loadAhead is a loop whose turns load first.
type loadAhead struct {
	*mapping.Work
	f     *ir.For
	step  int64
	loads []*ir.Index // the places, each once
}

// findLoads returns f as such a loop, nil where an iteration does anything but compute scalars from
// far loads that all iterations make, at places that the loop alone decides.
func findLoads(l *mapping.Work, f *ir.For) *loadAhead {
	step, known := query.Int64(f.Step)
	a := &loadAhead{Work: l, f: f, step: step}
	if !known || step <= 0 || f.Rel != ir.Lt || !query.LoadFree(f.Lo) || !query.LoadFree(f.Hi) || query.Checks(f.Lo) || query.Checks(f.Hi) {
		return nil
	}
	changed := ir.Assigned(f.Body)
	for _, v := range ir.Declared(f.Body).List() {
		changed.Add(v)
	}
	for _, v := range ir.ExprVars(f.Hi).List() {
		if changed.Has(v) {
			return nil
		}
	}
	fine := !changed.Has(f.Var) && f.Var.Type.Size == 8
	for _, s := range f.Body {
		switch s := s.(type) {
		case *ir.Decl:
			fine = fine && s.Var.Type.IsScalar() && s.Init != nil
		case *ir.Assign:
			fine = fine && query.IsRef(s.Place) && s.Value.Type().IsScalar()
		default:
			fine = false
		}
	}
	if !fine {
		return nil
	}
	ir.WalkExprs(f.Body, func(e ir.Expr) bool { fine = fine && a.take(e, changed); return fine })
	if !fine || len(a.loads) == 0 {
		return nil
	}
	return a
}

// take notes what e loads. It reports false where e rules the form out.
func (a *loadAhead) take(e ir.Expr, changed *ir.VarSet) bool {
	switch e := e.(type) {
	case *ir.Select, *ir.Deref, *ir.Shuffle, *ir.Reslice, *ir.Composite:
		return false
	case *ir.Binary:
		return e.Op != ir.LAnd && e.Op != ir.LOr
	case *ir.Index:
		if e.X.Type().Kind != ir.Slice {
			return true
		}
		if !query.IsRef(e.X) || !e.Type().IsScalar() || !query.LoadFree(e.I) || !far(a.f, e) {
			return false
		}
		for _, v := range ir.ExprVars(e).List() {
			if changed.Has(v) {
				return false
			}
		}
		for _, have := range a.loads {
			if query.Same(have, e) {
				return true
			}
		}
		a.loads = append(a.loads, e)
	}
	return true
}

// turns returns the loop with so many iterations a turn, a power of two, and one for the rest.
func (a *loadAhead) turns(n int) []ir.Stmt {
	f, at := a.f, a.f.At
	first, from, mid := a.Local(f.Var.Name, f.Var.Type, at), a.Local("from", f.Var.Type, at), a.Local("mid", f.Var.Type, at)
	place := func(u int) ir.Expr {
		return build.Binary(ir.Add, build.Ref(first, at), a.constant(int64(u)*a.step), at)
	}
	var loads, work []ir.Stmt
	values := make([][]*ir.Var, n)
	for u := range n {
		for _, e := range a.loads {
			v := a.Local("value", e.Type(), at)
			values[u] = append(values[u], v)
			loads = append(loads, build.Decl(v, ir.Subst(e, map[*ir.Var]ir.Expr{f.Var: place(u)}), at))
		}
	}
	for u := range n {
		loaded := &ir.Rewrite{Instead: func(e ir.Expr) ir.Expr {
			for k, have := range a.loads {
				if query.Same(have, e) {
					return build.Ref(values[u][k], at)
				}
			}
			return nil
		}}
		list := ir.SubstStmts(loaded.CopyStmts(f.Body), map[*ir.Var]ir.Expr{f.Var: place(u)})
		work = append(work, a.CopyOf(list, &a.Kernel.NumVars)...)
	}
	// Where lo is below hi, what is loaded is in range, and so is the number of iterations.
	op := func(op ir.Op, x ir.Expr, c int64) ir.Expr { return build.Binary(op, x, a.constant(c), at) }
	trips := op(ir.Div, op(ir.Add, build.Binary(ir.Sub, f.Hi, build.Ref(from, at), at), a.step-1), a.step)
	turn := int64(n) * a.step
	whole := op(ir.Mul, op(ir.Div, trips, int64(n)), turn)
	main, rest := *f, *f
	main.Label, main.Var, main.Lo, main.Hi, main.Step, main.Unroll, main.Body = &ir.Label{}, first, build.Ref(from, at), build.Ref(mid, at), a.constant(turn), 1, append(loads, work...)
	rest.Lo, rest.Unroll = build.Ref(mid, at), unrollTurns
	return []ir.Stmt{&ir.If{Cond: build.Compare(ir.Lt, f.Lo, f.Hi, at), At: at, Then: []ir.Stmt{
		build.Decl(from, f.Lo, at), build.Decl(mid, build.Binary(ir.Add, build.Ref(from, at), whole, at), at), &main, &rest}}}
}

// constant is c as a value of the type of the loop's variable.
func (a *loadAhead) constant(c int64) ir.Expr {
	return &ir.Const{T: a.f.Var.Type, Bits: ir.Bits(c), At: a.f.At}
}
