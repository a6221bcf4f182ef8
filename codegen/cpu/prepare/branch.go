package prepare

import "github.com/gompss/gompss/codegen/ir"

// liftLoops takes the parallel loops out of conditions at the top of a kernel, where all workers
// may share them: such a loop has no iterations where its condition does not hold.
func (p *Result) liftLoops(body []ir.Stmt) []ir.Stmt {
	var out []ir.Stmt
	for _, s := range body {
		if f, ok := s.(*ir.If); ok && liftable(f) {
			out = append(out, p.lifted(f, nil)...)
			continue
		}
		out = append(out, s)
	}
	return out
}

// liftable reports whether f holds a parallel loop at its top, and nothing that a scope or a jump
// ties to it.
func liftable(f *ir.If) bool {
	found := false
	good := true
	for _, list := range [][]ir.Stmt{f.Then, f.Else} {
		for _, s := range list {
			switch s := s.(type) {
			case *ir.Decl:
				good = false
			case *ir.If:
				found = found || liftable(s)
			case *ir.For:
				if _, ok := ir.ParallelLoop(s); ok {
					found = true
					good = good && !MayFail(s.Lo) && !MayFail(s.Hi) && s.Rel != ir.Ne
				}
			}
			good = good && !ir.LeavesLoop(s)
		}
	}
	return found && good
}

// MayFail reports whether evaluating e where the program does not is an error.
func MayFail(e ir.Expr) bool {
	fails := false
	ir.WalkExpr(e, func(x ir.Expr) bool {
		fails = fails || FailsHere(x)
		return !fails
	})
	return fails
}

// FailsHere is MayFail for an expression apart from its operands.
func FailsHere(e ir.Expr) bool {
	switch e := e.(type) {
	case *ir.Index, *ir.Deref:
		return true
	case *ir.Binary:
		return e.Checked || e.Op == Within
	}
	return false
}

// lifted is f as statements of the top that hold where on does; nil: always.
func (p *Result) lifted(f *ir.If, on ir.Expr) []ir.Stmt {
	c := p.local("holds", ir.BoolType, f.At)
	holds := &ir.Ref{Var: c, At: f.At}
	out := []ir.Stmt{&ir.Decl{Var: c, At: f.At}}
	set := ir.Stmt(&ir.Assign{Place: holds, Value: f.Cond, At: f.At})
	if on != nil {
		set = &ir.If{Cond: on, Then: []ir.Stmt{set}, At: f.At}
	}
	out = append(out, set)
	out = append(out, p.guarded(f.Then, holds)...)
	if len(f.Else) == 0 {
		return out
	}
	o := p.local("otherwise", ir.BoolType, f.At)
	otherwise := ir.Expr(&ir.Unary{Op: ir.Not, X: holds, At: f.At})
	if on != nil {
		otherwise = &ir.Binary{Op: ir.LAnd, X: on, Y: otherwise, T: ir.BoolType, At: f.At}
	}
	out = append(out, &ir.Decl{Var: o, Init: otherwise, At: f.At})
	return append(out, p.guarded(f.Else, &ir.Ref{Var: o, At: f.At})...)
}

func (p *Result) guarded(list []ir.Stmt, on *ir.Ref) []ir.Stmt {
	var out []ir.Stmt
	for _, s := range list {
		if f, ok := ir.ParallelLoop(s); ok {
			out = append(out, p.guardedLoop(f, on)...)
			continue
		}
		if f, ok := s.(*ir.If); ok && liftable(f) {
			out = append(out, p.lifted(f, on)...)
			continue
		}
		out = append(out, &ir.If{Cond: on, Then: []ir.Stmt{s}, At: s.Pos()})
	}
	return out
}

// guardedLoop is f with an end that leaves it no iterations where on does not hold.
func (p *Result) guardedLoop(f *ir.For, on *ir.Ref) []ir.Stmt {
	end := p.local(f.Var.Name+"_end", f.Hi.Type(), f.At)
	none := (&ir.Rewrite{}).CopyExpr(f.Lo)
	one := &ir.Const{T: f.Lo.Type(), Bits: 1, At: f.At}
	rel := f.Rel
	hi := (&ir.Rewrite{}).CopyExpr(f.Hi)
	c := *f
	switch rel { // an end that is itself a number of the loop could not say that there is none
	case ir.Le:
		c.Rel, hi = ir.Lt, &ir.Binary{Op: ir.Add, X: hi, Y: one, T: hi.Type(), At: f.At}
	case ir.Ge:
		c.Rel, hi = ir.Gt, &ir.Binary{Op: ir.Sub, X: hi, Y: one, T: hi.Type(), At: f.At}
	}
	c.Hi = &ir.Ref{Var: end, At: f.At}
	return []ir.Stmt{&ir.Decl{Var: end, Init: none, At: f.At},
		&ir.If{Cond: on, Then: []ir.Stmt{&ir.Assign{Place: &ir.Ref{Var: end, At: f.At}, Value: hi, At: f.At}}, At: f.At}, &c}
}
