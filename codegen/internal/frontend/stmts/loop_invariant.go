package stmts

import "github.com/gompss/gompss/codegen/ir"

// invariant reports whether body leaves the value of e as it is, whatever runs in it.
func (b loops) invariant(e ir.Expr, body []ir.Stmt) bool {
	if !b.keeps(e, ir.Assigned(body)) {
		return false
	}
	w := &writes{kinds: map[ir.Kind]bool{}, seen: map[*ir.Func]bool{}}
	w.list(body)
	if !w.any {
		return true
	}
	if b.ReadsTaken(e) {
		return false // a write may go through a pointer at it
	}
	safe := true
	ir.WalkExpr(e, func(x ir.Expr) bool {
		if isLoad(x) {
			safe = safe && !w.barrier && !w.reach(x.Type())
		}
		return safe
	})
	return safe
}

// keeps reports whether no variable that e reads is changed.
func (b loops) keeps(e ir.Expr, changed *ir.VarSet) bool {
	for _, v := range ir.ExprVars(e).List() {
		if changed.Has(v) {
			return false
		}
	}
	return true
}

func isLoad(e ir.Expr) bool {
	switch e := e.(type) {
	case *ir.Deref:
		return true
	case *ir.Index:
		return e.X.Type().Kind == ir.Slice
	}
	return false
}

// writes are the kinds of scalars that statements write to memory. Go lets no pointer or slice of
// one kind refer to memory of another, so that a write of floats leaves every int as it is.
type writes struct {
	kinds   map[ir.Kind]bool
	any     bool
	barrier bool // after a barrier, other threads' writes can be seen
	seen    map[*ir.Func]bool
}

func (w *writes) list(list []ir.Stmt) {
	ir.WalkStmts(list, func(s ir.Stmt) bool {
		switch s := s.(type) {
		case *ir.Assign:
			w.place(s.Place)
		case *ir.Atomic:
			w.place(s.Place)
			if s.Old != nil {
				w.place(s.Old)
			}
		case *ir.Call:
			if !w.seen[s.Fn] {
				w.seen[s.Fn] = true
				w.list(s.Fn.Body)
			}
		case *ir.Barrier:
			w.barrier, w.any = true, true
		}
		return true
	})
}

func (w *writes) place(p ir.Expr) {
	if ir.RootVar(p) == nil {
		w.any = true
		w.add(p.Type())
	}
}

func (w *writes) add(t *ir.Type) {
	switch t.Kind {
	case ir.Array:
		w.add(t.Elem)
	case ir.Struct:
		for _, f := range t.Fields {
			w.add(f.Type)
		}
	default:
		w.kinds[t.Kind] = true
	}
}

// reach reports whether a write may change a value of type t.
func (w *writes) reach(t *ir.Type) bool {
	switch t.Kind {
	case ir.Array:
		return w.reach(t.Elem)
	case ir.Struct:
		for _, f := range t.Fields {
			if w.reach(f.Type) {
				return true
			}
		}
		return false
	}
	return w.kinds[t.Kind]
}
