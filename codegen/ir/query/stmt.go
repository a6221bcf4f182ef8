// Package query answers questions about the IR: which place an expression names, whether two
// expressions are the same, which statements jump where. It changes nothing.
package query

import "github.com/gompss/gompss/codegen/ir"

// DirectExprs returns the expressions of s itself, without those of its directive.
func DirectExprs(s ir.Stmt) []ir.Expr {
	var out []ir.Expr
	if f, ok := s.(*ir.For); ok {
		for _, e := range []ir.Expr{f.Lo, f.Hi, f.Step} {
			if e != nil {
				out = append(out, e)
			}
		}
		return out
	}
	ir.StmtExprs(s, func(e ir.Expr) { out = append(out, e) })
	return out
}

// JumpsOut reports whether s has a break, continue or return whose target is outside of s.
func JumpsOut(s ir.Stmt) bool {
	inside := map[*ir.Label]bool{}
	out := false
	ir.WalkStmts([]ir.Stmt{s}, func(s ir.Stmt) bool {
		if l := ir.LabelOf(s); l != nil {
			inside[l] = true
		}
		switch s := s.(type) {
		case *ir.Break:
			out = out || !inside[s.Label]
		case *ir.Continue:
			out = out || !inside[s.Label]
		case *ir.Return:
			out = true
		}
		return !out
	})
	return out
}

// LeavesLoop reports whether f can end early.
func LeavesLoop(f *ir.For) bool {
	if JumpsOut(f) {
		return true
	}
	leaves := false
	ir.WalkStmts(f.Body, func(s ir.Stmt) bool {
		if b, ok := s.(*ir.Break); ok && b.Label == f.Label {
			leaves = true
		}
		return !leaves
	})
	return leaves
}

// Perfect splits the body of a loop into pure declarations and the one loop that follows; inner is
// nil where the body is anything else.
func Perfect(body []ir.Stmt) (decls []ir.Stmt, inner *ir.For) {
	for k, s := range body {
		switch s := s.(type) {
		case *ir.Decl:
			if s.Init == nil || !LoadFree(s.Init) {
				return nil, nil
			}
		case *ir.For:
			if k == len(body)-1 {
				return body[:k], s
			}
			return nil, nil
		case *ir.Block:
			if s.Label == nil && k == len(body)-1 {
				more, inner := Perfect(s.Body)
				return append(append([]ir.Stmt{}, body[:k]...), more...), inner
			}
			return nil, nil
		default:
			return nil, nil
		}
	}
	return nil, nil
}

// LoadFree reports whether the value of e does not depend on memory, nor on where it is computed.
func LoadFree(e ir.Expr) bool {
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
		*free = *free && LoadFree(ix.X) && LoadFree(ix.I)
		return false
	}
	return true
}

// IsProduct reports whether e is a multiplication.
func IsProduct(e ir.Expr) bool {
	b, ok := e.(*ir.Binary)
	return ok && b.Op == ir.Mul
}

// OnlyLoop returns the loop that list is, nil where there is more or less.
func OnlyLoop(list []ir.Stmt) *ir.For {
	list = Flatten(list)
	if len(list) != 1 {
		return nil
	}
	l, _ := list[0].(*ir.For)
	return l
}

// AsksForPlace reports whether list asks for the number of a thread or team.
func AsksForPlace(list []ir.Stmt) bool {
	found := false
	ir.WalkExprs(list, func(e ir.Expr) bool {
		if _, ok := e.(*ir.Query); ok {
			found = true
		}
		return !found
	})
	return found
}

// BreaksTo reports whether a break of label stands in list.
func BreaksTo(list []ir.Stmt, label *ir.Label) bool {
	found := false
	ir.WalkStmts(list, func(s ir.Stmt) bool {
		b, ok := s.(*ir.Break)
		found = found || ok && b.Label == label
		return !found
	})
	return found
}

// GoesOn reports whether list has a continue of label.
func GoesOn(list []ir.Stmt, label *ir.Label) bool {
	found := false
	ir.WalkStmts(list, func(s ir.Stmt) bool {
		c, ok := s.(*ir.Continue)
		found = found || ok && c.Label == label
		return !found
	})
	return found
}

// HasAtomic reports whether k or a function it calls has an atomic statement.
func HasAtomic(k *ir.Kernel) bool {
	found := false
	visit := func(s ir.Stmt) bool { _, ok := s.(*ir.Atomic); found = found || ok; return !found }
	ir.WalkStmts(k.Body, visit)
	for _, f := range k.Funcs {
		ir.WalkStmts(f.Body, visit)
	}
	return found
}

// Checks reports whether e can fail: whether it holds an access or an operation with a check.
func Checks(e ir.Expr) bool {
	found := false
	ir.WalkExpr(e, func(x ir.Expr) bool {
		switch x := x.(type) {
		case *ir.Index:
			found = found || x.Checked
		case *ir.Binary:
			found = found || x.Checked
		case *ir.Deref:
			found = found || x.Checked
		case *ir.Reslice:
			found = found || x.Checked
		}
		return !found
	})
	return found
}
