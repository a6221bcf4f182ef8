package analysis

import (
	"slices"

	"github.com/gompss/gompss/codegen/ir"
	"github.com/gompss/gompss/codegen/ir/query"
)

// A ReductionUse is what a reduction combines, and how statements use it.
type ReductionUse struct {
	Reduction ir.Reduction
	Var       *ir.Var // the variable combined: the array for a part, the pointer for *p
	Index     *ir.Var // of minloc and maxloc
}

// Updates reports whether s is one of the written forms.
func (u *ReductionUse) Updates(s ir.Stmt) bool {
	if slices.ContainsFunc(query.DirectExprs(s), query.HasBadValue) {
		return true // it could not be built
	}
	switch s := s.(type) {
	case *ir.Assign:
		return u.touches(s.Place) && u.assigns(s)
	case *ir.If:
		return u.selects(s) || u.Decides(s)
	case *ir.Atomic:
		return s.Kind == ir.AtomicUpdate && u.touches(s.Place) && s.Op == u.Reduction.Op && !u.Mentions(s.Value)
	}
	return false
}

// Decides reports whether s is if !v { ...; v = e } for ||, or if v { ...; v = e } for &&, where
// nothing else has to do with v.
func (u *ReductionUse) Decides(s ir.Stmt) bool {
	test, ok := s.(*ir.If)
	if !ok || len(test.Else) > 0 || len(test.Then) == 0 {
		return false
	}
	cond, op := test.Cond, ir.LAnd
	if not, is := cond.(*ir.Unary); is && not.Op == ir.Not {
		cond, op = not.X, ir.LOr
	}
	last := len(test.Then) - 1
	set, ok := test.Then[last].(*ir.Assign)
	if !ok || op != u.Reduction.Op || !query.Same(cond, u.Reduction.Place) || !query.Same(set.Place, u.Reduction.Place) || u.Mentions(set.Value) {
		return false
	}
	found := false
	ir.Inspect(test.Then[:last], nil, func(e ir.Expr) { found = found || u.Mentions(e) })
	return !found && !ir.Assigned(test.Then[:last]).Has(u.Var)
}

// touches reports whether place is what the reduction combines, or an element of it.
func (u *ReductionUse) touches(place ir.Expr) bool {
	if u.Index != nil {
		return false // a pair is only ever replaced under a comparison
	}
	switch p := place.(type) {
	case *ir.Ref, *ir.Deref, *ir.Member:
		return query.Same(place, u.Reduction.Place)
	case *ir.Index:
		return !u.Elsewhere(p) && u.element(p)
	}
	return false
}

// Elsewhere reports whether e is a part of the variable beside what the reduction combines.
func (u *ReductionUse) Elsewhere(e ir.Expr) bool {
	switch e.(type) {
	case *ir.Index, *ir.Member:
		return query.BaseVar(e) == u.Var && query.Disjoint(e, u.Reduction.Place)
	}
	return false
}

// element reports whether e is an element of what the reduction combines, an array, or is it
// itself.
func (u *ReductionUse) element(e *ir.Index) bool {
	if query.Same(e, u.Reduction.Place) {
		return true
	}
	if e.X.Type().Kind != ir.Array || u.Mentions(e.I) {
		return false
	}
	whole := u.Reduction.Place
	if part, ok := whole.(*ir.Reslice); ok {
		whole = part.X
	}
	if query.Same(e.X, whole) {
		return true
	}
	inner, ok := e.X.(*ir.Index)
	return ok && u.element(inner)
}

// Mentions reports whether the variable occurs in e.
func (u *ReductionUse) Mentions(e ir.Expr) bool {
	found := false
	u.References(e, func(*ir.Ref) { found = true })
	return found
}

// References calls f for the places in e that name the variable, or the index of a pair.
func (u *ReductionUse) References(e ir.Expr, f func(*ir.Ref)) {
	if e == nil {
		return
	}
	ir.WalkExpr(e, func(x ir.Expr) bool {
		if ref, ok := x.(*ir.Ref); ok && (ref.Var == u.Var || u.Index != nil && ref.Var == u.Index) {
			f(ref)
		}
		if length, ok := x.(*ir.Len); ok && query.RefVar(length.X) != nil {
			return false
		}
		return !u.Elsewhere(x)
	})
}

// assigns accepts s op= e, s -= e under +, s = s op e, s = e op s, and chains of these, s = s + a -
// b.
func (u *ReductionUse) assigns(s *ir.Assign) bool {
	value := s.Value
	for {
		op, operand, swapped, ok := query.UpdateForm(s.Place, value)
		if ok {
			return u.combines(op) && !swapped && !u.Mentions(operand)
		}
		first, last := u.chain(value)
		if first == nil || u.Mentions(last) && u.Mentions(first) {
			return false
		}
		if value = first; u.Mentions(last) {
			value = last
		}
	}
}

// chain returns the operands of value, where that combines two by the operator of the clause; of s
// - e the first one alone may be what is combined.
func (u *ReductionUse) chain(value ir.Expr) (first, last ir.Expr) {
	switch v := value.(type) {
	case *ir.Binary:
		if u.combines(v.Op) && (v.Op != ir.Sub || !u.Mentions(v.Y)) {
			return v.X, v.Y
		}
	case *ir.Math:
		if op, ok := query.MinMaxOf[v.Fn]; ok && op == u.Reduction.Op && len(v.Args) == 2 {
			return v.Args[0], v.Args[1]
		}
	}
	return nil, nil
}

// combines reports whether updating with op agrees with the operator of the clause.
func (u *ReductionUse) combines(op ir.Op) bool {
	return op == u.Reduction.Op || op == ir.Sub && u.Reduction.Op == ir.Add
}

// selects accepts if e < s { s = e } for min and if e > s { s = e } for max, and the same with the
// index for pairs.
func (u *ReductionUse) selects(s *ir.If) bool {
	value := u.comparedWith(s.Cond)
	if value == nil || len(s.Else) > 0 {
		return false
	}
	set, setIndex := false, u.Index == nil
	for _, t := range query.Flatten(s.Then) {
		a, ok := t.(*ir.Assign)
		switch {
		case !ok || u.Mentions(a.Value):
			return false
		case query.Same(a.Place, u.Reduction.Place) || u.touches(a.Place):
			set = query.Same(a.Value, value)
		case u.Index != nil && query.Same(a.Place, u.Reduction.Index):
			setIndex = true
		default:
			return false
		}
	}
	return set && setIndex
}

// comparedWith returns what cond, or one of several conditions that must all hold, compares the
// place with; nil where it does not decide a minimum or maximum, or another condition has to do
// with the place.
func (u *ReductionUse) comparedWith(cond ir.Expr) ir.Expr {
	b, ok := cond.(*ir.Binary)
	if !ok {
		return nil
	}
	if b.Op == ir.LAnd {
		switch {
		case !u.Mentions(b.Y):
			return u.comparedWith(b.X)
		case !u.Mentions(b.X):
			return u.comparedWith(b.Y)
		}
		return nil
	}
	less, greater := b.Op == ir.Lt || b.Op == ir.Le, b.Op == ir.Gt || b.Op == ir.Ge
	if u.Index != nil && (b.Op == ir.Le || b.Op == ir.Ge) {
		return nil // among equals the first one wins
	}
	wantLess := u.Reduction.Op == ir.Min || u.Reduction.Op == ir.MinLoc
	wantGreater := u.Reduction.Op == ir.Max || u.Reduction.Op == ir.MaxLoc
	onRight, onLeft := u.isPlace(b.Y), u.isPlace(b.X)
	switch {
	case onRight && (less && wantLess || greater && wantGreater) && !u.Mentions(b.X):
		return b.X
	case onLeft && (greater && wantLess || less && wantGreater) && !u.Mentions(b.Y):
		return b.Y
	}
	return nil
}

func (u *ReductionUse) isPlace(e ir.Expr) bool {
	return query.Same(e, u.Reduction.Place) || u.touches(e)
}
