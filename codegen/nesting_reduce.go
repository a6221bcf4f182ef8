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
		for _, r := range d.Reductions {
			check := &reductionCheck{nestingCheck: c, r: r, v: placeVar(r.Place)}
			if r.Index != nil {
				check.index = placeVar(r.Index)
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
			if placeVar(r.Place) == c.v {
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
		if !ok || baseVar(a.Place) == nil || baseVar(a.Place) != baseVar(r.Place) {
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
	case *ir.Ref:
		return p.Var == c.v
	case *ir.Deref:
		return refVar(p.X) == c.v
	case *ir.Index:
		return !c.elsewhere(p) && c.element(p)
	}
	return false
}

// elsewhere reports whether e is an element of the array beside the part of it that the reduction combines.
func (c *reductionCheck) elsewhere(e ir.Expr) bool {
	x, ok := e.(*ir.Index)
	if !ok || x.X.Type().Kind != ir.Array || refVar(x.X) != c.v {
		return false
	}
	at, constant := constInt(x.I)
	if !constant {
		return false
	}
	switch part := c.r.Place.(type) {
	case *ir.Index:
		only, _ := constInt(part.I)
		return refVar(part.X) == c.v && at != only
	case *ir.Reslice:
		if refVar(part.X) != c.v {
			return false
		}
		lo, hi := int64(0), x.X.Type().Len
		if part.Lo != nil {
			lo, _ = constInt(part.Lo)
		}
		if part.Hi != nil {
			hi, _ = constInt(part.Hi)
		}
		return at < lo || at >= hi
	}
	return false
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
		b, isBinary := value.(*ir.Binary)
		if !isBinary || !c.combines(b.Op) || c.mentions(b.Y) {
			return false
		}
		value = b.X
	}
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

// comparedWith returns what cond compares the place with, nil where it does not decide a minimum or maximum.
func (c *reductionCheck) comparedWith(cond ir.Expr) ir.Expr {
	b, ok := cond.(*ir.Binary)
	if !ok {
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
