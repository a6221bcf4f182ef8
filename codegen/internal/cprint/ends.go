package cprint

import "github.com/gompss/gompss/codegen/ir"

// MayNotEnd reports whether list, a launch, has a loop that data decide: where they are undefined
// it may never end. The turns of all other loops follow from parameters, lengths and the grid.
func MayNotEnd(list []ir.Stmt) bool {
	l := loops{inits: map[*ir.Var]ir.Expr{}, changed: ir.Assigned(list), taken: ir.AddressTaken(list), counters: &ir.VarSet{}}
	ir.WalkStmts(list, func(s ir.Stmt) bool {
		switch s := s.(type) {
		case *ir.Decl:
			l.inits[s.Var] = s.Init
		case *ir.For:
			l.counters.Add(s.Var)
		}
		return true
	})
	for before := -1; before != len(l.counters.List()); {
		before = len(l.counters.List())
		ir.WalkStmts(list, func(s ir.Stmt) bool {
			if w, ok := s.(*ir.While); ok && l.counts(w) {
				l.counters.Add(ir.RootVar(w.Post[len(w.Post)-1].(*ir.Assign).Place))
			}
			return true
		})
	}
	found := false
	ir.WalkStmts(list, func(s ir.Stmt) bool {
		found = found || l.byData(s)
		return !found
	})
	return found
}

// loops is what decides how often the loops of a launch run.
type loops struct {
	inits          map[*ir.Var]ir.Expr
	changed, taken *ir.VarSet
	counters       *ir.VarSet // of loops that data do not decide
}

// byData reports whether s is a loop that data decide, or calls a function with a loop.
func (l *loops) byData(s ir.Stmt) bool {
	switch s := s.(type) {
	case *ir.For:
		return !l.steady(s.Lo) || !l.steady(s.Hi) || !l.steady(s.Step)
	case *ir.While:
		return !l.counts(s)
	case *ir.Call:
		found := false
		ir.WalkStmts(s.Fn.Body, func(s ir.Stmt) bool {
			switch s.(type) {
			case *ir.For, *ir.While, *ir.Call:
				found = true
			}
			return !found
		})
		return found
	}
	return false
}

// counts reports whether w goes from a number to another, neither of which data decide.
func (l *loops) counts(w *ir.While) bool {
	cond, isBinary := w.Cond.(*ir.Binary)
	if !isBinary || len(w.Pre) > 0 || len(w.Post) == 0 {
		return false
	}
	next, isAssign := w.Post[len(w.Post)-1].(*ir.Assign)
	if !isAssign {
		return false
	}
	v, isRef := next.Place.(*ir.Ref)
	sum, isSum := next.Value.(*ir.Binary)
	if !isRef || !isSum || !ir.IsRef(cond.X, v.Var) || !ir.IsRef(sum.X, v.Var) || ir.Assigned(w.Body).Has(v.Var) || l.taken.Has(v.Var) {
		return false
	}
	switch cond.Op {
	case ir.Lt, ir.Le, ir.Gt, ir.Ge:
	default:
		return false
	}
	return l.steady(cond.Y) && l.steady(sum.Y) && (l.inits[v.Var] == nil || l.steady(l.inits[v.Var]))
}

// steady reports whether e depends on no data in memory.
func (l *loops) steady(e ir.Expr) bool {
	ok := true
	ir.WalkExpr(e, func(e ir.Expr) bool {
		switch e := e.(type) {
		case *ir.Len, *ir.Cap:
			return false // of a parameter, or of a slice of one
		case *ir.Index, *ir.Deref, *ir.Shuffle:
			ok = false
		case *ir.Ref:
			ok = ok && l.steadyVar(e.Var)
		}
		return ok
	})
	return ok
}

func (l *loops) steadyVar(v *ir.Var) bool {
	if l.taken.Has(v) {
		return false
	}
	init, declared := l.inits[v]
	switch {
	case l.counters.Has(v) || !declared && !l.changed.Has(v):
		return true
	case declared && !l.changed.Has(v):
		return init == nil || l.steady(init)
	}
	return false
}
