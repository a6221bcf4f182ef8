package prepare

import "github.com/gompss/gompss/codegen/ir"

// namedIndices gives the indices that are computed by more than sums, and that an iteration uses
// more than once, a variable: lanes look once whether they are neighbours.
func namedIndices(p *Result, body []ir.Stmt) []ir.Stmt {
	r := &ir.Rewrite{Stmt: func(s ir.Stmt) []ir.Stmt {
		if f, ok := ir.ParallelLoop(s); ok {
			f.Body = nameIndices(p, f)
		}
		return []ir.Stmt{s}
	}}
	return r.CopyStmts(body)
}

func nameIndices(p *Result, f *ir.For) []ir.Stmt {
	changed := ir.Assigned(f.Body)
	ir.WalkStmts(f.Body, func(s ir.Stmt) bool {
		if inner, ok := s.(*ir.For); ok {
			changed.Add(inner.Var)
		}
		return true
	})
	count := map[string]int{}
	ir.Inspect(f.Body, nil, func(e ir.Expr) {
		if key, ok := namedIndex(e, changed); ok {
			count[key]++
		}
	})
	named, seen := map[string]*ir.Var{}, map[string]bool{}
	r := &ir.Rewrite{Expr: func(e ir.Expr) ir.Expr {
		ix, ok := e.(*ir.Index)
		if !ok {
			return e
		}
		if key, ok := namedIndex(ix, changed); ok && named[key] != nil {
			return &ir.Index{X: ix.X, I: &ir.Ref{Var: named[key], At: ix.I.Pos()}, Checked: ix.Checked, At: ix.At}
		}
		return e
	}}
	var out []ir.Stmt
	for _, s := range f.Body {
		for _, e := range evaluatedFirst(s) {
			if key, ok := namedIndex(e, changed); ok && count[key] > 1 && !seen[key] {
				i := e.(*ir.Index).I
				named[key] = p.local("index", i.Type(), i.Pos())
				out = append(out, &ir.Decl{Var: named[key], Init: (&ir.Rewrite{}).CopyExpr(i), At: s.Pos()})
			}
		}
		ir.Inspect([]ir.Stmt{s}, nil, func(e ir.Expr) {
			if key, ok := namedIndex(e, changed); ok {
				seen[key] = true
			}
		})
		out = append(out, r.CopyStmt(s)...)
	}
	return out
}

// namedIndex is the key of an index that is worth a name, and does not change in the loop after it
// was computed.
func namedIndex(e ir.Expr, changed *ir.VarSet) (key string, ok bool) {
	ix, ok := e.(*ir.Index)
	if !ok || ix.X.Type().Kind != ir.Slice || readsMemory(ix.I) {
		return "", false
	}
	b, ok := ix.I.(*ir.Binary)
	if !ok || !ir.IsWide(b.T) {
		return "", false
	}
	pieces := false
	ir.WalkExpr(b, func(e ir.Expr) bool {
		if b, ok := e.(*ir.Binary); ok {
			switch b.Op {
			case ir.And, ir.AndNot, ir.Shr, ir.Shl, ir.Div, ir.Rem:
				pieces = true
			}
		}
		return true
	})
	for _, v := range ir.ExprVars(b).List() {
		pieces = pieces && !changed.Has(v)
	}
	if !pieces {
		return "", false
	}
	return ir.ExprKey(b), true
}

// evaluatedFirst lists the parts of s that are evaluated whatever the conditions are, before
// anything else that s does.
func evaluatedFirst(s ir.Stmt) []ir.Expr {
	var list, out []ir.Expr
	switch s := s.(type) {
	case *ir.Decl:
		list = append(list, s.Init)
	case *ir.Assign:
		list = append(list, s.Place, s.Value)
	case *ir.If:
		list = append(list, s.Cond)
	}
	for len(list) > 0 {
		e := list[0]
		list = list[1:]
		if e == nil {
			continue
		}
		ir.WalkExpr(e, func(e ir.Expr) bool {
			switch e := e.(type) {
			case *ir.Select:
				list = append(list, e.Cond)
				return false
			case *ir.Binary:
				if e.Op == ir.LAnd || e.Op == ir.LOr {
					list = append(list, e.X)
					return false
				}
			}
			out = append(out, e)
			return true
		})
	}
	return out
}
