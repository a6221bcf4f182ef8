package analysis

import (
	"slices"

	"github.com/gompss/gompss/codegen/ir"
	"github.com/gompss/gompss/codegen/ir/build"
	"github.com/gompss/gompss/codegen/ir/query"
)

// A ReductionUse recognises the statements that use a reduction.
type ReductionUse struct {
	Reduction ir.Reduction
	Var       *ir.Var // the variable combined: the array for a part, the pointer for *p
	Index     *ir.Var // of minloc and maxloc
}

// Updates reports whether s is a permitted update of the reduction variable.
func (u *ReductionUse) Updates(s ir.Stmt) bool {
	if slices.ContainsFunc(query.DirectExprs(s), query.HasBadValue) {
		return true // the clause is erroneous
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

// Decides reports whether s is if !v { ...; v = e } for ||, or if v { ...; v = e } for &&, and
// contains no other use of v.
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

// touches reports whether place is the reduction variable or an element of it.
func (u *ReductionUse) touches(place ir.Expr) bool {
	if u.Index != nil {
		return false // a pair is replaced under a comparison only
	}
	switch p := place.(type) {
	case *ir.Ref, *ir.Deref, *ir.Member:
		return query.Same(place, u.Reduction.Place)
	case *ir.Index:
		return !u.Elsewhere(p) && u.element(p)
	}
	return false
}

// Elsewhere reports whether e is a part of Var that the reduction does not combine.
func (u *ReductionUse) Elsewhere(e ir.Expr) bool {
	switch e.(type) {
	case *ir.Index, *ir.Member:
		return query.BaseVar(e) == u.Var && query.Disjoint(e, u.Reduction.Place)
	}
	return false
}

// element reports whether e is an element of the array that the reduction combines, or the combined
// element itself.
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

// References calls f for the references in e to the variable, and to the index of a pair.
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

// assigns accepts s op= e, s -= e for +, s = s op e, s = e op s, and chains of these, as in s = s +
// a - b.
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

// chain returns the operands of value if its operator is that of the clause. In s - e only the
// first operand may be the reduction variable.
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

// combines reports whether an update by op is valid for the operator of the clause.
func (u *ReductionUse) combines(op ir.Op) bool {
	return op == u.Reduction.Op || op == ir.Sub && u.Reduction.Op == ir.Add
}

// selects accepts if e < s { s = e } for min and if e > s { s = e } for max, and for pairs the same
// with the index.
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

// comparedWith returns the value that cond, or one of several conditions that must all hold,
// compares the reduction variable with. It returns nil if the comparison does not select a minimum
// or maximum, or if another condition uses the variable.
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
		return nil // of equal values, the first wins
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

// OrderFree returns the reductions of loop g of k whose result does not depend on the order of
// updates: those of integers, minima and maxima of floats, and under fastmath also sums and
// products of floats.
func OrderFree(k *ir.Kernel, g *ir.For) []ir.Reduction {
	var out []ir.Reduction
	inside := ir.Declared(g.Body)
	for _, v := range ir.Assigned(g.Body).List() {
		if inside.Has(v) || !v.Type.IsInteger() && !v.Type.IsFloat() || v.Space != ir.Local {
			continue
		}
		if op, ok := combinedBy(k, g.Body, v); ok {
			out = append(out, ir.Reduction{Op: op, Place: build.Ref(v, g.At), At: g.At})
		}
	}
	return out
}

// combinedBy returns the only operator by which list combines values into v. ok is false if list
// uses v in another way.
func combinedBy(k *ir.Kernel, list []ir.Stmt, v *ir.Var) (op ir.Op, ok bool) {
	ir.WalkStmts(list, func(s ir.Stmt) bool {
		a, is := s.(*ir.Assign)
		if is && query.RefVar(a.Place) == v && op == ir.NoOp {
			op, ok = updateOp(v, a.Value)
		}
		return true
	})
	switch op {
	case ir.Sub:
		op = ir.Add
	case ir.Add, ir.Mul, ir.And, ir.Or, ir.Xor, ir.Min, ir.Max:
	default:
		return op, false
	}
	if v.Type.IsFloat() && op != ir.Min && op != ir.Max && !k.Target.FastMath {
		return op, false
	}
	use := &ReductionUse{Reduction: ir.Reduction{Op: op, Place: build.Ref(v, v.At)}, Var: v}
	uses, updates := 0, 0
	ir.Inspect(list, func(s ir.Stmt) {
		if a, is := s.(*ir.Assign); is && query.RefVar(a.Place) == v && use.Updates(s) {
			updates++
		}
	}, func(e ir.Expr) {
		if r, is := e.(*ir.Ref); is && r.Var == v {
			uses++
		}
	})
	return op, ok && updates > 0 && uses == 2*updates
}

// updateOp returns the operator by which value, assigned to v, combines v with other values. For a
// chain such as max(v, a, b) it is the outermost operator.
func updateOp(v *ir.Var, value ir.Expr) (op ir.Op, ok bool) {
	place := build.Ref(v, v.At)
	if op, _, _, ok = query.UpdateForm(place, value); ok {
		return op, true
	}
	switch e := value.(type) {
	case *ir.Binary:
		return e.Op, ir.ExprVars(e).Has(v)
	case *ir.Math:
		op, ok = query.MinMaxOf[e.Fn]
		return op, ok && ir.ExprVars(e).Has(v)
	}
	return ir.NoOp, false
}

// A Pick describes a loop that selects one of its iterations: if e < best { best = e; at = i },
// with no other use of best and at in the loop. The result is the first iteration with the best
// value, or the last one if the comparison accepts equal values.
type Pick struct {
	If      *ir.If
	Best    *ir.Var
	Rel     ir.Op     // <, <=, > or >=: the relation of a new value to the best one that it replaces
	Carried []*ir.Var // further variables that are set together with it
	Values  map[*ir.Var]ir.Expr
}

// PicksOf returns the picks of loop g. The body of g must be flat.
func PicksOf(g *ir.For) []Pick {
	var out []Pick
	inside := ir.Declared(g.Body)
	for k, s := range g.Body {
		test, ok := s.(*ir.If)
		if !ok || len(test.Else) > 0 {
			continue
		}
		p, ok := pickOf(test, inside)
		if !ok {
			continue
		}
		rest := ir.Used(append(slices.Clone(g.Body[:k]), g.Body[k+1:]...))
		if !slices.ContainsFunc(append(p.Carried, p.Best), rest.Has) {
			out = append(out, p)
		}
	}
	return out
}

func pickOf(test *ir.If, inside *ir.VarSet) (Pick, bool) {
	values := map[*ir.Var]ir.Expr{}
	p := Pick{If: test, Values: values}
	for _, s := range query.Flatten(test.Then) {
		a, ok := s.(*ir.Assign)
		if !ok {
			return p, false
		}
		v := query.RefVar(a.Place)
		if v == nil || inside.Has(v) || values[v] != nil || !v.Type.IsInteger() && !v.Type.IsFloat() {
			return p, false
		}
		values[v] = a.Value
	}
	var value ir.Expr
	var compared []ir.Expr
	conditions(test.Cond, &compared)
	for _, c := range compared {
		if v, rel, e := comparedBest(c, values); v != nil && p.Best == nil {
			p.Best, p.Rel, value = v, rel, e
			continue
		}
		for v := range values {
			if ir.ExprVars(c).Has(v) {
				return p, false
			}
		}
	}
	if p.Best == nil || !query.Same(value, values[p.Best]) {
		return p, false
	}
	for _, s := range query.Flatten(test.Then) {
		a := s.(*ir.Assign)
		for v := range values {
			if ir.ExprVars(a.Value).Has(v) {
				return p, false
			}
		}
		if v := query.RefVar(a.Place); v != p.Best {
			p.Carried = append(p.Carried, v)
		}
	}
	return p, true
}

// conditions appends to out the operands of &&, all of which must hold for e to hold.
func conditions(e ir.Expr, out *[]ir.Expr) {
	if b, ok := e.(*ir.Binary); ok && b.Op == ir.LAnd {
		conditions(b.X, out)
		conditions(b.Y, out)
		return
	}
	*out = append(*out, e)
}

// comparedBest returns the variable among values that e compares with another value, the relation,
// and that value.
func comparedBest(e ir.Expr, values map[*ir.Var]ir.Expr) (best *ir.Var, rel ir.Op, value ir.Expr) {
	b, ok := e.(*ir.Binary)
	if !ok {
		return nil, ir.NoOp, nil
	}
	turned := map[ir.Op]ir.Op{ir.Lt: ir.Gt, ir.Le: ir.Ge, ir.Gt: ir.Lt, ir.Ge: ir.Le}
	if turned[b.Op] == ir.NoOp {
		return nil, ir.NoOp, nil
	}
	if v := query.RefVar(b.Y); v != nil && values[v] != nil && !ir.ExprVars(b.X).Has(v) {
		return v, b.Op, b.X
	}
	if v := query.RefVar(b.X); v != nil && values[v] != nil && !ir.ExprVars(b.Y).Has(v) {
		return v, turned[b.Op], b.Y
	}
	return nil, ir.NoOp, nil
}
