package accumulate

import (
	"math"

	"github.com/gompss/gompss/codegen/internal/analysis/affine"
	"github.com/gompss/gompss/codegen/internal/lower/forms"
	"github.com/gompss/gompss/codegen/internal/mapping"
	"github.com/gompss/gompss/codegen/ir"
	"github.com/gompss/gompss/codegen/ir/build"
	"github.com/gompss/gompss/codegen/ir/query"
)

// An element of a row that an iteration of a loop stores and the next iterations load again is
// carried in variables of the thread, so that no load of the loop depends on an earlier iteration.
// Source: Callahan, Carr, Kennedy, Improving register allocation for subscripted variables, 1990,
// section 3; differs: the caller compares the slices at run time.

// A Carrier makes loops over rows that count up and carry elements.
type Carrier struct {
	*mapping.Work
	Own   *ir.VarSet // variables that may change during the loops
	Most  int64      // largest distance between store and load, in iterations
	Conds []ir.Expr  // run-time conditions of the result
	Any   bool       // an element is carried, or a loop is reversed
}

// In returns list with the loops of its top level that count up and carry elements. It is correct
// if Conds hold, and if each slice with a carried element is apart from the others of its loop.
func (x *Carrier) In(list []ir.Stmt) []ir.Stmt {
	var out []ir.Stmt
	for _, s := range list {
		f, ok := s.(*ir.For)
		if !ok || query.LeavesLoop(f) {
			out = append(out, s)
			continue
		}
		up := x.upward(forms.Below(f))
		if !forms.Counts(up) {
			out = append(out, s)
			continue
		}
		g := *up
		g.Body = x.storesLast(query.Flatten(up.Body))
		before, loop := x.carried(&g)
		if loop == nil {
			loop = up
		} else {
			x.Any = true
		}
		out = append(append(out, before...), loop)
	}
	return out
}

// upward returns f, or, where it counts down by one, a loop over the number of its turn. A test
// before the strategy excludes that the number of turns overflows.
func (x *Carrier) upward(f *ir.For) *ir.For {
	step, ok := query.Int64(f.Step)
	if !ok || step != -1 || f.Rel != ir.Gt && f.Rel != ir.Ge || f.Var.Type.Kind != ir.Int64 || ir.Assigned(f.Body).Has(f.Var) {
		return f
	}
	at := f.At
	var conds []ir.Expr
	for _, e := range []ir.Expr{f.Lo, f.Hi} {
		if !query.LoadFree(e) || !forms.PlainValue(e) || e.Type().Kind != ir.Int64 {
			return f
		}
		if !build.Near(e) {
			conds = append(conds, build.Compare(ir.Le, e, build.Int(math.MaxInt64/4, at), at), build.Compare(ir.Ge, e, build.Int(-math.MaxInt64/4, at), at))
		}
	}
	for _, c := range conds {
		for _, v := range ir.ExprVars(c).List() {
			if v.Space != ir.Param || x.Own.Has(v) {
				return f
			}
		}
	}
	x.Conds, x.Any = append(x.Conds, conds...), true
	g := *f
	g.Var = x.Local("turn", ir.IntType, at)
	g.Lo, g.Hi, g.Step, g.Rel = build.Int(0, at), build.Binary(ir.Sub, f.Lo, f.Hi, at), build.Int(1, at), ir.Lt
	if f.Rel == ir.Ge {
		g.Hi = build.Binary(ir.Add, g.Hi, build.Int(1, at), at)
	}
	g.Body = ir.SubstStmts(f.Body, map[*ir.Var]ir.Expr{f.Var: build.Binary(ir.Sub, f.Lo, build.Ref(g.Var, at), at)})
	return &g
}

// storesLast returns list in which a place of memory that both sides of a branch store to is stored
// after the branch.
func (x *Carrier) storesLast(list []ir.Stmt) []ir.Stmt {
	var out []ir.Stmt
	for _, s := range list {
		c, ok := s.(*ir.If)
		if !ok {
			out = append(out, s)
			continue
		}
		a, b := lastStore(c.Then), lastStore(c.Else)
		if a == nil || b == nil || !query.Same(a.Place, b.Place) {
			out = append(out, s)
			continue
		}
		v := x.Local("stored", a.Place.Type(), c.At)
		to := func(list []ir.Stmt, a *ir.Assign) []ir.Stmt {
			n := len(list) - 1
			return append(list[:n:n], build.Assign(build.Ref(v, a.At), a.Value, a.At))
		}
		out = append(out, build.Decl(v, nil, c.At), &ir.If{Cond: c.Cond, Then: to(query.Flatten(c.Then), a), Else: to(query.Flatten(c.Else), b), At: c.At},
			build.Assign(a.Place, build.Ref(v, c.At), c.At))
	}
	return out
}

// lastStore returns the last statement of list, if it is the only store to memory and its place
// depends on no variable that list changes.
func lastStore(list []ir.Stmt) *ir.Assign {
	list = query.Flatten(list)
	if len(list) == 0 {
		return nil
	}
	n := len(list) - 1
	a, ok := list[n].(*ir.Assign)
	if !ok || storesIn(list[:n]) {
		return nil
	}
	place, ok := a.Place.(*ir.Index)
	if !ok || place.X.Type().Kind != ir.Slice || !query.IsRef(place.X) || !query.LoadFree(place.I) || !forms.PlainValue(place) {
		return nil
	}
	inside, changed := ir.Declared(list), ir.Assigned(list)
	for _, v := range ir.ExprVars(place).List() {
		if inside.Has(v) || changed.Has(v) {
			return nil
		}
	}
	return a
}

// storesIn reports whether list stores to memory.
func storesIn(list []ir.Stmt) bool {
	found := false
	ir.WalkStmts(list, func(s ir.Stmt) bool {
		switch s := s.(type) {
		case *ir.Decl, *ir.If, *ir.For, *ir.Block:
		case *ir.Assign:
			found = found || !query.IsRef(s.Place)
		default:
			found = true
		}
		return !found
	})
	return found
}

// A carry is a place that each iteration of a loop stores to, and the scalars that hold its value
// in the last iterations.
type carry struct {
	store *ir.Assign
	form  affine.Form
	step  int64 // of the index, an iteration
	far   int64 // largest distance of a load
	sure  int64 // largest distance of a load that every iteration makes
	value *ir.Var
	held  []*ir.Var // by distance less one
}

// carried returns f, which counts up, with carried elements, and the statements before it. It
// returns nil where no element is carried.
func (x *Carrier) carried(f *ir.For) (before []ir.Stmt, loop *ir.For) {
	at := f.At
	g := *f
	var carries []*carry
	for _, s := range f.Body {
		if c := carryOf(f, s, x.Most); c != nil && c.far > 0 {
			carries = append(carries, c)
		}
	}
	if len(carries) == 0 || !x.alone(f, carries) {
		return nil, nil
	}
	peel := false
	for _, c := range carries {
		if c.sure < c.far {
			if c.far > 1 {
				return nil, nil
			}
			peel = true
		}
	}
	some := build.Compare(ir.Lt, f.Lo, f.Hi, at)
	if peel { // the first iteration may not load the element before its own
		before = append(before, &ir.If{Cond: some, Then: x.CopyOf(ir.SubstStmts(f.Body, map[*ir.Var]ir.Expr{f.Var: f.Lo}), &x.Kernel.NumVars), At: at})
		g.Lo = build.Binary(ir.Add, f.Lo, build.Int(1, at), at)
		if !build.Near(f.Lo) {
			return nil, nil
		}
	}
	var loads []ir.Stmt
	for _, c := range carries {
		place := c.store.Place.(*ir.Index)
		c.value = x.Local("carried", place.Type(), at)
		for d := int64(1); d <= c.far; d++ {
			v := x.Local("before", place.Type(), at)
			c.held = append(c.held, v)
			before = append(before, build.Decl(v, nil, at))
			first := ir.Subst(place, map[*ir.Var]ir.Expr{f.Var: build.Binary(ir.Sub, g.Lo, build.Int(d, at), at)})
			loads = append(loads, build.Assign(build.Ref(v, at), first, at))
		}
	}
	before = append(before, &ir.If{Cond: some, Then: loads, At: at})
	g.Body = carryIn(f, carries)
	return before, &g
}

// alone adds the tests that no other store of f changes an element of carries. It reports false
// where there is no such test.
func (x *Carrier) alone(f *ir.For, carries []*carry) bool {
	fine := true
	ir.WalkStmts(f.Body, func(s ir.Stmt) bool {
		a, ok := s.(*ir.Assign)
		if !ok || query.IsRef(a.Place) {
			return fine
		}
		ix, ok := a.Place.(*ir.Index)
		for _, c := range carries {
			if a == c.store {
				continue
			}
			to := c.store.Place.(*ir.Index).X.(*ir.Ref).Var
			if !ok || !x.parameter(to) || !x.parameter(query.RefVar(ix.X)) {
				fine = false
				break
			}
			x.Conds = append(x.Conds, &ir.Apart{X: build.Ref(to, f.At), Y: ix.X, At: f.At})
		}
		return fine
	})
	return fine
}

// parameter reports whether v is a slice that the host passes and no iteration changes.
func (x *Carrier) parameter(v *ir.Var) bool {
	return v != nil && v.Space == ir.Param && v.Type.Kind == ir.Slice && !x.Own.Has(v)
}

// carryOf returns what s, a statement of the body of f, stores to an element of a row, or nil. All
// other accesses to its slice are loads at constant distances, at most so many iterations.
func carryOf(f *ir.For, s ir.Stmt, most int64) *carry {
	a, ok := s.(*ir.Assign)
	if !ok {
		return nil
	}
	place, ok := a.Place.(*ir.Index)
	if !ok || !query.IsRef(place.X) || place.X.Type().Kind != ir.Slice || !place.Type().IsScalar() || !forms.PlainValue(place) {
		return nil
	}
	c := &carry{store: a}
	c.form, ok = affine.Of(place.I)
	coef, known := c.form.Coef(f.Var)
	step, constant := coef.Const()
	if !ok || !known || !constant || step == 0 {
		return nil
	}
	c.step = step
	inside, changed := ir.Declared(f.Body), ir.Assigned(f.Body)
	for _, v := range ir.ExprVars(place).List() {
		if inside.Has(v) || changed.Has(v) {
			return nil
		}
	}
	to, fine := place.X.(*ir.Ref).Var, true
	ir.WalkStmts(f.Body, func(t ir.Stmt) bool {
		if b, ok := t.(*ir.Assign); ok && b != a {
			ix, stores := b.Place.(*ir.Index)
			fine = fine && (!stores || query.IsRef(ix.X) && ix.X.(*ir.Ref).Var != to)
		}
		return true
	})
	for _, t := range f.Body {
		always := func(e ir.Expr) { c.sure = max(c.sure, c.surely(e, to)) }
		switch t := t.(type) {
		case *ir.Decl:
			if t.Init != nil {
				always(t.Init)
			}
		case *ir.Assign:
			always(t.Value)
		case *ir.If:
			always(t.Cond)
		}
	}
	ir.WalkExprs(f.Body, func(e ir.Expr) bool {
		if ix, ok := e.(*ir.Index); ok && query.RefVar(ix.X) == to {
			d, known := c.distance(ix)
			fine = fine && known && d <= most
			c.far = max(c.far, d)
		}
		return fine
	})
	if !fine {
		return nil
	}
	return c
}

// distance returns how many iterations before that of ix its element is stored; negative where it
// is stored later. It reports false where that is not known.
func (c *carry) distance(ix *ir.Index) (int64, bool) {
	form, ok := affine.Of(ix.I)
	if !ok || ix.Checked {
		return 0, false
	}
	n, constant := c.form.Sub(form).Const()
	return n / c.step, constant && n%c.step == 0
}

// surely returns the largest distance of a load of to that the value of e needs in any case.
func (c *carry) surely(e ir.Expr, to *ir.Var) (far int64) {
	switch s := e.(type) {
	case *ir.Select:
		return c.surely(s.Cond, to)
	case *ir.Binary:
		if s.Op == ir.LAnd || s.Op == ir.LOr {
			return c.surely(s.X, to)
		}
	case *ir.Index:
		if query.RefVar(s.X) == to {
			d, _ := c.distance(s)
			return d
		}
	}
	ir.Operands(e, func(y ir.Expr) { far = max(far, c.surely(y, to)) })
	return far
}

// carryIn returns the body of f with the scalars of carries.
func carryIn(f *ir.For, carries []*carry) []ir.Stmt {
	stored := map[*carry]bool{}
	r := &ir.Rewrite{Instead: func(e ir.Expr) ir.Expr {
		ix, ok := e.(*ir.Index)
		if !ok {
			return nil
		}
		for _, c := range carries {
			if query.RefVar(ix.X) != query.RefVar(c.store.Place.(*ir.Index).X) {
				continue
			}
			switch d, _ := c.distance(ix); {
			case d > 0:
				return build.Ref(c.held[d-1], ix.At)
			case d == 0 && stored[c]:
				return build.Ref(c.value, ix.At)
			}
		}
		return nil
	}}
	var out, next []ir.Stmt
	for _, s := range f.Body {
		var c *carry
		for _, have := range carries {
			if s == ir.Stmt(have.store) {
				c = have
			}
		}
		if c == nil {
			out = append(out, r.CopyStmts([]ir.Stmt{s})...)
			continue
		}
		at := c.store.At
		out = append(out, build.Decl(c.value, r.CopyExpr(c.store.Value), at), build.Assign(c.store.Place, build.Ref(c.value, at), at))
		stored[c] = true
		for d := len(c.held) - 1; d > 0; d-- {
			next = append(next, build.Assign(build.Ref(c.held[d], at), build.Ref(c.held[d-1], at), at))
		}
		next = append(next, build.Assign(build.Ref(c.held[0], at), build.Ref(c.value, at), at))
	}
	return append(out, next...)
}
