package codegen

import (
	"slices"

	"github.com/gompss/gompss/codegen/ir"
)

// reductions checks, for every construct of list that combines copies of a place, that its body uses the place in
// the written forms of a reduction alone.
func (c *nestingCheck) reductions(list []ir.Stmt) {
	ir.WalkStmts(list, func(s ir.Stmt) bool {
		d := ir.DirectiveOf(s)
		if d == nil {
			return true
		}
		if f, ok := s.(*ir.For); ok && d.Scan != nil {
			c.scan(f)
		}
		for _, r := range d.Reductions {
			check := &reductionCheck{nestingCheck: c, r: r, v: placeVar(r.Place)}
			if r.Index != nil {
				check.index = placeVar(r.Index)
			}
			if !check.fixedPlace(s, d) {
				continue
			}
			if f, ok := s.(*ir.For); ok && d.Scan != nil {
				check.phases(f)
				continue
			}
			ir.Lists(s, check.stmts)
			if d.Parts&ir.Parallel != 0 {
				ir.Lists(s, check.again)
			}
			if f, ok := s.(*ir.For); ok && check.index != nil {
				check.downwards(f)
			}
		}
		return true
	})
}

// again finds work-sharing loops that combine, over the threads, what each of the same threads has a copy of already.
func (c *reductionCheck) again(list []ir.Stmt) {
	ir.WalkStmts(list, func(s ir.Stmt) bool {
		d := ir.DirectiveOf(s)
		if d == nil || d.Parts&ir.Parallel != 0 {
			return d == nil
		}
		if d.Parts&ir.Workshare == 0 && !(d.Parts == ir.Loop && d.Bind == ir.BindParallel) {
			return true
		}
		for _, r := range d.Reductions {
			if placeVar(r.Place) == c.v && !disjoint(r.Place, c.r.Place) {
				c.fail(r.At, "reduction("+r.Op.String()+") of "+sourceText(r.Place), "each thread has a copy of its own by the reduction at "+c.r.At.String()+
					", and every one of them would get what all combine here", "leave one of the two clauses out")
			}
		}
		return true
	})
}

// downwards warns where the Go function meets the largest index first among equals.
func (c *reductionCheck) downwards(f *ir.For) {
	for n := max(f.Directive.Collapse, 1); n > 0 && f != nil; n-- {
		if step, ok := constInt(f.Step); ok && step < 0 {
			c.warn(c.r.At, "reduction("+c.r.Op.String()+") of "+sourceText(c.r.Place), "it keeps the smallest index among equals, and the loop over "+f.Var.Name+
				" counts down, so that the Go function keeps the largest", "count up")
			return
		}
		f = onlyLoop(f.Body)
	}
}

// absorb writes s = true, in the body of a construct that reduces s by ||, as s = s || true, and s = false under && alike: what every target
// knows as an update.
func absorb(list []ir.Stmt) {
	ir.WalkStmts(list, func(s ir.Stmt) bool {
		d := ir.DirectiveOf(s)
		if d == nil {
			return true
		}
		for _, r := range d.Reductions {
			if r.Op == ir.LOr || r.Op == ir.LAnd {
				ir.Lists(s, func(body []ir.Stmt) { absorbInto(r, body) })
			}
		}
		return true
	})
}

func absorbInto(r ir.Reduction, body []ir.Stmt) {
	decides := uint64(0)
	if r.Op == ir.LOr {
		decides = 1
	}
	ir.WalkStmts(body, func(s ir.Stmt) bool {
		a, ok := s.(*ir.Assign)
		if !ok || baseVar(a.Place) == nil || baseVar(a.Place) != baseVar(r.Place) || disjoint(a.Place, r.Place) {
			return true
		}
		if c, ok := a.Value.(*ir.Const); ok && c.T.Kind == ir.Bool && c.Bits == decides {
			a.Value = &ir.Binary{Op: r.Op, X: again(a.Place), Y: c, T: c.T, At: a.At}
		}
		return true
	})
}

// baseVar returns the variable that place is in, or the pointer that it lies behind.
func baseVar(place ir.Expr) *ir.Var {
	switch e := place.(type) {
	case *ir.Ref:
		return e.Var
	case *ir.Deref:
		return baseVar(e.X)
	case *ir.Member:
		return baseVar(e.X)
	case *ir.Index:
		return baseVar(e.X)
	case *ir.Reslice:
		return baseVar(e.X)
	}
	return nil
}

// A reductionCheck follows one reduction through the body of its construct.
type reductionCheck struct {
	*nestingCheck
	r     ir.Reduction
	v     *ir.Var // the variable combined: the array for a part, the pointer for *p
	index *ir.Var // of minloc and maxloc
	said  ir.Pos  // the line of the last other use that was reported
}

func (c *reductionCheck) stmts(list []ir.Stmt) {
	for _, s := range list {
		if !c.updates(s) {
			c.uses(s)
			ir.Lists(s, c.stmts)
		}
	}
}

// updates reports whether s is one of the written forms.
func (c *reductionCheck) updates(s ir.Stmt) bool {
	if slices.ContainsFunc(directExprs(s), hasBadValue) {
		return true // it could not be built
	}
	switch s := s.(type) {
	case *ir.Assign:
		return c.touches(s.Place) && c.assigns(s)
	case *ir.If:
		return c.selects(s)
	case *ir.Atomic:
		return s.Kind == ir.AtomicUpdate && c.touches(s.Place) && s.Op == c.r.Op && !c.mentions(s.Value)
	}
	return false
}

// touches reports whether place is what the reduction combines, or an element of it.
func (c *reductionCheck) touches(place ir.Expr) bool {
	if c.index != nil {
		return false // a pair is only ever replaced under a comparison
	}
	switch p := place.(type) {
	case *ir.Ref, *ir.Deref, *ir.Member:
		return sameExpr(place, c.r.Place)
	case *ir.Index:
		return !c.elsewhere(p) && c.element(p)
	}
	return false
}

// fixedPlace reports whether the place is the same one in the whole construct s, and reports where it is not.
func (c *reductionCheck) fixedPlace(s ir.Stmt, d *ir.Directive) bool {
	places := []ir.Expr{c.r.Place}
	if c.r.Index != nil {
		places = append(places, c.r.Index)
	}
	changed := ir.Assigned([]ir.Stmt{s})
	for _, v := range d.Private {
		changed.Add(v)
	}
	for _, place := range places {
		var moved *ir.Var
		operandsOf(place, func(e ir.Expr) {
			for _, v := range ir.ExprVars(e).List() {
				if changed.Has(v) {
					moved = v
				}
			}
		})
		if moved != nil {
			c.fail(c.r.At, "reduction("+c.r.Op.String()+") of "+sourceText(place), "which place it is changes here, with "+moved.Name,
				"reduce a variable, and assign it to the place behind the construct")
			return false
		}
	}
	return true
}

// operandsOf calls f for what decides which place it is: indices, and the pointers and slices that it lies behind.
func operandsOf(place ir.Expr, f func(ir.Expr)) {
	switch e := place.(type) {
	case *ir.Member:
		operandsOf(e.X, f)
	case *ir.Deref:
		f(e.X)
	case *ir.Index:
		f(e.I)
		if e.X.Type().Kind == ir.Slice {
			f(e.X)
			return
		}
		operandsOf(e.X, f)
	case *ir.Reslice:
		operandsOf(e.X, f)
	}
}

// elsewhere reports whether e is a part of the variable beside what the reduction combines.
func (c *reductionCheck) elsewhere(e ir.Expr) bool {
	switch e.(type) {
	case *ir.Index, *ir.Member:
		return baseVar(e) == c.v && disjoint(e, c.r.Place)
	}
	return false
}

// disjoint reports whether two places in one variable, or behind one pointer or slice, surely have nothing in common: on the ways to them
// they part at different fields or constant indices.
func disjoint(a, b ir.Expr) bool {
	to, other := stepsTo(a), stepsTo(b)
	for i := range min(len(to), len(other)) {
		switch x := to[i].(type) {
		case *ir.Member:
			y, ok := other[i].(*ir.Member)
			if !ok {
				return false
			}
			if x.Field != y.Field {
				return true
			}
		case *ir.Deref:
			if _, ok := other[i].(*ir.Deref); !ok {
				return false
			}
		case *ir.Index, *ir.Reslice:
			lo, hi, ok := elementsOf(x)
			from, end, known := elementsOf(other[i])
			if ok && known && (hi <= from || end <= lo) {
				return true
			}
			if !sameExpr(x, other[i]) {
				return false
			}
		}
	}
	return false
}

// stepsTo returns the places on the way to a place, the variable left out, it itself last.
func stepsTo(place ir.Expr) []ir.Expr {
	var x ir.Expr
	switch e := place.(type) {
	case *ir.Member:
		x = e.X
	case *ir.Deref:
		x = e.X
	case *ir.Index:
		x = e.X
	case *ir.Reslice:
		x = e.X
	default:
		return nil
	}
	return append(stepsTo(x), place)
}

// elementsOf returns the range of elements that an index or a part of an array means, where it is constant.
func elementsOf(e ir.Expr) (lo, hi int64, ok bool) {
	switch e := e.(type) {
	case *ir.Index:
		lo, ok = constInt(e.I)
		return lo, lo + 1, ok
	case *ir.Reslice:
		if e.X.Type().Kind != ir.Array {
			return 0, 0, false
		}
		hi, ok = e.X.Type().Len, true
		if e.Lo != nil {
			lo, ok = constInt(e.Lo)
		}
		if e.Hi != nil && ok {
			hi, ok = constInt(e.Hi)
		}
	}
	return lo, hi, ok
}

// element reports whether e is an element of what the reduction combines, an array, or is it itself.
func (c *reductionCheck) element(e *ir.Index) bool {
	if sameExpr(e, c.r.Place) {
		return true
	}
	if e.X.Type().Kind != ir.Array || c.mentions(e.I) {
		return false
	}
	whole := c.r.Place
	if part, ok := whole.(*ir.Reslice); ok {
		whole = part.X
	}
	if sameExpr(e.X, whole) {
		return true
	}
	inner, ok := e.X.(*ir.Index)
	return ok && c.element(inner)
}

// mentions reports whether the variable occurs in e.
func (c *reductionCheck) mentions(e ir.Expr) bool {
	found := false
	c.references(e, func(*ir.Ref) { found = true })
	return found
}

// references calls f for the places in e that name the variable, or the index of a pair.
func (c *reductionCheck) references(e ir.Expr, f func(*ir.Ref)) {
	if e == nil {
		return
	}
	ir.WalkExpr(e, func(x ir.Expr) bool {
		if ref, ok := x.(*ir.Ref); ok && (ref.Var == c.v || c.index != nil && ref.Var == c.index) {
			f(ref)
		}
		if length, ok := x.(*ir.Len); ok && refVar(length.X) != nil {
			return false
		}
		return !c.elsewhere(x)
	})
}

// assigns accepts s op= e, s -= e under +, s = s op e, s = e op s, and chains of these, s = s + a - b.
func (c *reductionCheck) assigns(s *ir.Assign) bool {
	value := s.Value
	for {
		op, operand, swapped, ok := updateForm(s.Place, value)
		if ok {
			return c.combines(op) && !swapped && !c.mentions(operand)
		}
		first, last := c.chain(value)
		if first == nil || c.mentions(last) && c.mentions(first) {
			return false
		}
		if value = first; c.mentions(last) {
			value = last
		}
	}
}

// chain returns the operands of value, where that combines two by the operator of the clause; of s - e the first one alone may be what is
// combined.
func (c *reductionCheck) chain(value ir.Expr) (first, last ir.Expr) {
	switch v := value.(type) {
	case *ir.Binary:
		if c.combines(v.Op) && (v.Op != ir.Sub || !c.mentions(v.Y)) {
			return v.X, v.Y
		}
	case *ir.Math:
		if op, ok := minMaxOf[v.Fn]; ok && op == c.r.Op && len(v.Args) == 2 {
			return v.Args[0], v.Args[1]
		}
	}
	return nil, nil
}

// combines reports whether updating with op agrees with the operator of the clause.
func (c *reductionCheck) combines(op ir.Op) bool {
	return op == c.r.Op || op == ir.Sub && c.r.Op == ir.Add
}

// selects accepts if e < s { s = e } for min and if e > s { s = e } for max, and the same with the index for pairs.
func (c *reductionCheck) selects(s *ir.If) bool {
	value := c.comparedWith(s.Cond)
	if value == nil || len(s.Else) > 0 {
		return false
	}
	set, setIndex := false, c.index == nil
	for _, t := range flatten(s.Then) {
		a, ok := t.(*ir.Assign)
		switch {
		case !ok || c.mentions(a.Value):
			return false
		case sameExpr(a.Place, c.r.Place) || c.touches(a.Place):
			set = sameExpr(a.Value, value)
		case c.index != nil && sameExpr(a.Place, c.r.Index):
			setIndex = true
		default:
			return false
		}
	}
	return set && setIndex
}

// comparedWith returns what cond, or one of several conditions that must all hold, compares the place with; nil where it does not decide a
// minimum or maximum, or another condition has to do with the place.
func (c *reductionCheck) comparedWith(cond ir.Expr) ir.Expr {
	b, ok := cond.(*ir.Binary)
	if !ok {
		return nil
	}
	if b.Op == ir.LAnd {
		switch {
		case !c.mentions(b.Y):
			return c.comparedWith(b.X)
		case !c.mentions(b.X):
			return c.comparedWith(b.Y)
		}
		return nil
	}
	less, greater := b.Op == ir.Lt || b.Op == ir.Le, b.Op == ir.Gt || b.Op == ir.Ge
	if c.index != nil && (b.Op == ir.Le || b.Op == ir.Ge) {
		return nil // among equals the first one wins
	}
	wantLess := c.r.Op == ir.Min || c.r.Op == ir.MinLoc
	wantGreater := c.r.Op == ir.Max || c.r.Op == ir.MaxLoc
	onRight, onLeft := c.isPlace(b.Y), c.isPlace(b.X)
	switch {
	case onRight && (less && wantLess || greater && wantGreater) && !c.mentions(b.X):
		return b.X
	case onLeft && (greater && wantLess || less && wantGreater) && !c.mentions(b.Y):
		return b.Y
	}
	return nil
}

func (c *reductionCheck) isPlace(e ir.Expr) bool { return sameExpr(e, c.r.Place) || c.touches(e) }

// uses reports every other use of the variable that stands directly in s. Clauses of inner directives are no use.
func (c *reductionCheck) uses(s ir.Stmt) {
	if call, ok := s.(*ir.Call); ok {
		for _, v := range call.Results {
			if v != nil && (v == c.v || v == c.index) {
				c.misuse(v, call.At)
			}
		}
	}
	if con, ok := s.(*ir.Construct); ok && con != nil {
		return
	}
	for _, e := range directExprs(s) {
		c.references(e, func(ref *ir.Ref) { c.misuse(ref.Var, ref.At) })
	}
}

// directExprs returns the expressions of s itself, without those of its directive.
func directExprs(s ir.Stmt) []ir.Expr {
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

func (c *reductionCheck) misuse(v *ir.Var, at ir.Pos) {
	line := ir.Pos{File: at.File, Line: at.Line}
	if line == c.said {
		return // a statement is wrong once
	}
	c.said = line
	op := c.r.Op.String()
	name := sourceText(c.r.Place)
	instead := name + " = " + op + "(" + name + ", e)"
	switch c.r.Op {
	case ir.Add, ir.Mul, ir.And, ir.Or, ir.Xor:
		instead = name + " " + op + "= e"
	case ir.LAnd, ir.LOr:
		instead = name + " = " + name + " " + op + " e"
	case ir.MinLoc:
		instead = "if e < " + name + " { " + name + " = e; " + c.index.Name + " = i }"
	case ir.MaxLoc:
		instead = "if e > " + name + " { " + name + " = e; " + c.index.Name + " = i }"
	}
	c.fail(at, "reduction("+op+") of "+name, v.Name+" is combined at "+c.r.At.String()+" and may only be updated by its operator here",
		"write "+instead)
}
