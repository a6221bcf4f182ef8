package prepare

import (
	"strconv"

	"github.com/gompss/gompss/codegen/ir"
)

// A loop inside an iteration may load the same field of an element in each of its rounds. For
// lanes that is a gather, or several loads and shuffles, each time. Where the loop runs at least
// once and stores nothing that may lie there, the field is loaded before it.

// invariants loads before the inner loops of parallel ones what these do not change.
func invariants(p *Result, body []ir.Stmt) []ir.Stmt {
	r := &ir.Rewrite{Stmt: func(s ir.Stmt) []ir.Stmt {
		if f, ok := ir.ParallelLoop(s); ok {
			f.Body = (&ir.Rewrite{Stmt: func(s ir.Stmt) []ir.Stmt { return liftLoads(p, s) }}).CopyStmts(f.Body)
		}
		return []ir.Stmt{s}
	}}
	return r.CopyStmts(body)
}

// liftLoads returns loop s behind the loads that it makes in every round.
func liftLoads(p *Result, s ir.Stmt) []ir.Stmt {
	f, ok := s.(*ir.For)
	if !ok || f.Directive != nil || !plainRows(f.Body) {
		return []ir.Stmt{s}
	}
	if values, constant := constantTrips(f); !constant || len(values) == 0 {
		return []ir.Stmt{s}
	}
	stored, known := storedBy(f.Body)
	if !known {
		return []ir.Stmt{s}
	}
	l := &lifting{Result: p, changed: changedBy(f), stored: stored, vars: map[string]*ir.Var{}}
	for _, s := range f.Body {
		for _, e := range evaluatedFirst(s) {
			l.lift(e, s)
		}
		if ir.LeavesLoop(s) {
			break // what follows is not evaluated in every round
		}
	}
	if len(l.vars) == 0 {
		return []ir.Stmt{s}
	}
	f.Body = (&ir.Rewrite{Expr: l.replace}).CopyStmts(f.Body)
	return append(l.decls, f)
}

// A lifting is what is loaded before one loop.
type lifting struct {
	*Result
	changed *ir.VarSet
	stored  []*ir.Var // slices
	vars    map[string]*ir.Var
	decls   []ir.Stmt
}

// changedBy returns the variables that have another value in another round of f.
func changedBy(f *ir.For) *ir.VarSet {
	set := ir.Assigned(f.Body)
	set.Add(f.Var)
	for _, v := range ir.Declared(f.Body).List() {
		set.Add(v)
	}
	ir.WalkStmts(f.Body, func(s ir.Stmt) bool {
		if inner, ok := s.(*ir.For); ok {
			set.Add(inner.Var)
		}
		return true
	})
	return set
}

// storedBy returns the slices that list stores to; known is false where a store is to something
// else than these and variables.
func storedBy(list []ir.Stmt) (stored []*ir.Var, known bool) {
	set := &ir.VarSet{}
	known = true
	ir.WalkStmts(list, func(s ir.Stmt) bool {
		a, ok := s.(*ir.Assign)
		if !ok || ir.RootVar(a.Place) != nil {
			return true
		}
		if v := sliceOf(a.Place); v != nil {
			set.Add(v)
		} else {
			known = false
		}
		return true
	})
	return set.List(), known
}

// sliceOf returns the slice variable that place e is in an element of, nil for none.
func sliceOf(e ir.Expr) *ir.Var {
	for {
		switch x := e.(type) {
		case *ir.Member:
			e = x.X
		case *ir.Index:
			if r, ok := x.X.(*ir.Ref); ok && x.X.Type().Kind == ir.Slice {
				return r.Var
			}
			e = x.X
		default:
			return nil
		}
	}
}

// lift notes place e, which statement s of the loop evaluates, where it is worth a load before the
// loop.
func (l *lifting) lift(e ir.Expr, s ir.Stmt) {
	if a, ok := s.(*ir.Assign); ok && a.Place == e || !l.inElement(e) || !l.same(e) {
		return
	}
	key := ir.ExprKey(e)
	if l.vars[key] != nil {
		return
	}
	v := l.local("row"+strconv.Itoa(len(l.vars)), e.Type(), e.Pos())
	l.vars[key] = v
	l.decls = append(l.decls, &ir.Decl{Var: v, Init: (&ir.Rewrite{}).CopyExpr(e), At: e.Pos()})
}

// inElement tells the scalars in elements of a slice of structs or arrays, whose neighbours lie
// apart.
func (l *lifting) inElement(e ir.Expr) bool {
	if !IsElement(e) || !e.Type().IsScalar() {
		return false
	}
	v := sliceOf(e)
	return v != nil && !v.Type.Elem.IsScalar() && l.Arrays[v] == 0
}

// same reports whether e has one value in all rounds, and holds no other field that may be lifted.
func (l *lifting) same(e ir.Expr) bool {
	is := true
	ir.WalkExpr(e, func(x ir.Expr) bool {
		if x != e && l.inElement(x) {
			is = false // that is loaded before the loop, and then e is another expression
		}
		switch e := x.(type) {
		case *ir.Ref:
			is = is && !l.changed.Has(e.Var) && (e.Var.Type.Kind != ir.Slice || !l.mayStore(e.Var))
		case *ir.Math:
			is = is && e.Type().IsInteger()
		}
		return is
	})
	return is
}

// mayStore reports whether the loop may store to elements of x.
func (l *lifting) mayStore(x *ir.Var) bool {
	for _, y := range l.stored {
		if x == y || l.Arrays[x] == 0 && l.Arrays[y] == 0 && (l.Pointed[x] || l.Pointed[y] || sharesMemory(x.Type.Elem, y.Type.Elem)) {
			return true
		}
	}
	return false
}

func (l *lifting) replace(e ir.Expr) ir.Expr {
	if !IsElement(e) || !e.Type().IsScalar() {
		return e
	}
	if v := l.vars[ir.ExprKey(e)]; v != nil {
		return &ir.Ref{Var: v, At: e.Pos()}
	}
	return e
}
