package strategy

import (
	"slices"

	"github.com/gompss/gompss/codegen/internal/analysis"
	"github.com/gompss/gompss/codegen/internal/lower/forms"
	"github.com/gompss/gompss/codegen/ir"
	"github.com/gompss/gompss/codegen/ir/build"
	"github.com/gompss/gompss/codegen/ir/query"
)

// A loop that only reads, at places that memory decides, has a branch at every check, and no load
// moves across it. Such a loop first runs with loads that are left out where a check would fail,
// which takes no branch; where one was left out, the loop runs again as it is written, and fails at
// the access that is wrong. Checks of the loop variable itself are one test in front.
// Source: measured on an H200, sparse matrix times vector with 8 lanes a row: 145 GFLOP/s with a
// branch at every check, 163 with the checks of the row in front, 174 without checks.

// TrustedIn does that for all loops of list.
func (t *Sharer) TrustedIn(list []ir.Stmt) []ir.Stmt {
	return (&ir.Rewrite{Stmt: func(s ir.Stmt) []ir.Stmt {
		if f, ok := s.(*ir.For); ok {
			return t.Trusted(f, nil)
		}
		return []ir.Stmt{s}
	}}).CopyStmts(list)
}

// A quick is another way to write a loop, right where fits holds and the loop has an iteration.
type quick struct {
	loop *ir.For
	fits ir.Expr
}

// Trusted returns f, in two versions where that gains something; the one without branches is made
// of q where it is given.
func (t *Sharer) Trusted(f *ir.For, q *quick) []ir.Stmt {
	if t.Opt.KeepChecks || t.Slow || query.JumpsOut(f) {
		return []ir.Stmt{f}
	}
	x := t.Effects.Stmts(f.Body)
	if !x.Writes.Empty() || x.Atomics || x.Calls {
		return []ir.Stmt{f}
	}
	inside := ir.Declared(f.Body)
	moved := &ir.VarSet{} // what iterations hand on to the next
	for _, v := range ir.Assigned(f.Body).List() {
		if !inside.Has(v) {
			moved.Add(v)
		}
	}
	at := f.At
	var out []ir.Stmt
	once := *f
	once.Lo, out = t.held("from", f.Lo, out)
	once.Hi, out = t.held("to", f.Hi, out)
	whole := f
	f = &once
	u := &truster{Sharer: t, loop: f, moved: moved, bad: t.Local("bad", ir.BoolType, at), found: true, lo: f.Lo, hi: f.Hi}
	fast := f
	if q != nil {
		fast, u.bounds = q.loop, q.fits
	}
	fast = t.CopyOf([]ir.Stmt{fast}, &t.Kernel.NumVars)[0].(*ir.For)
	u.loop = fast
	fast.Body = u.list(forms.Flat(fast.Body))
	if !u.found || u.guarded == 0 {
		return []ir.Stmt{whole}
	}
	t.Decide(at, "loop "+f.Var.Name, "loads without branches", "it only reads: where a check fails it runs again, up to the access that is wrong", "")
	fast.Unroll = 0 // how far compilers unroll such loads by themselves is what was measured
	run := []ir.Stmt{fast}
	if u.bounds == nil {
		out = append(out, build.Decl(u.bad, nil, at))
	} else {
		some := build.Compare(ir.Lt, build.ToInt(f.Lo), build.ToInt(f.Hi), at)
		out = append(out, build.Decl(u.bad, build.Compare(ir.LAnd, some, build.Not(u.bounds, at), at), at))
		run = []ir.Stmt{&ir.If{Cond: build.Not(build.Ref(u.bad, at), at), Then: run, At: at}}
	}
	f.Unroll = 1 // it runs to fail: registers for more are taken from what runs otherwise
	out = append(append(out, run...), &ir.If{Cond: build.Ref(u.bad, at), Then: []ir.Stmt{f}, At: at})
	return []ir.Stmt{&ir.Block{Body: out, At: at}}
}

// indexesArray reports whether the variable of f, which runs a known number of turns, indexes an
// array of the thread.
func indexesArray(f *ir.For) bool {
	found := false
	ir.WalkExprs(f.Body, func(e ir.Expr) bool {
		ix, ok := e.(*ir.Index)
		found = found || ok && ix.X.Type().Kind == ir.Array && ir.ExprVars(ix.I).Has(f.Var)
		return !found
	})
	_, known := analysis.ConstTrips(f)
	return known && found
}

// held is temp of what is more than a name.
func (t *Sharer) held(name string, e ir.Expr, out []ir.Stmt) (ir.Expr, []ir.Stmt) {
	if query.IsRef(e) {
		return e, out
	}
	return t.Temp(name, e, out)
}

// truster rewrites the body of a loop.
type truster struct {
	*Sharer
	loop    *ir.For
	moved   *ir.VarSet
	bad     *ir.Var
	bounds  ir.Expr // what must hold of the bounds of the loop
	lo, hi  ir.Expr // the bounds of the loop as ints
	started bool    // bounds says that lo is not negative
	guarded int
	found   bool // nothing was met that cannot be rewritten
}

func (u *truster) list(list []ir.Stmt) []ir.Stmt {
	var out []ir.Stmt
	for _, s := range list {
		var ahead []ir.Stmt
		switch s := s.(type) {
		case *ir.Decl:
			if s.Init != nil {
				s.Init, ahead = u.expr(s.Init, ahead)
			}
		case *ir.Assign:
			if !query.IsRef(s.Place) {
				u.found = u.found && !query.Checks(s.Place)
			}
			s.Value, ahead = u.expr(s.Value, ahead)
		case *ir.If:
			s.Cond, ahead = u.expr(s.Cond, ahead)
			s.Then, s.Else = u.list(s.Then), u.list(s.Else)
		default:
			u.found = false
		}
		out = append(append(out, ahead...), s)
	}
	return out
}

// expr returns e with loads that may be left out, and what has to be computed ahead of it.
func (u *truster) expr(e ir.Expr, ahead []ir.Stmt) (ir.Expr, []ir.Stmt) {
	if !query.Checks(e) {
		return e, ahead
	}
	each := func(x ir.Expr) ir.Expr {
		x, ahead = u.expr(x, ahead)
		return x
	}
	switch x := e.(type) {
	case *ir.Unary:
		x.X = each(x.X)
	case *ir.Convert:
		x.X = each(x.X)
	case *ir.Math:
		for i := range x.Args {
			x.Args[i] = each(x.Args[i])
		}
	case *ir.Binary:
		if x.Checked || (x.Op == ir.LAnd || x.Op == ir.LOr) && query.Checks(x.Y) {
			u.found = false
			return e, ahead
		}
		x.X = each(x.X)
		x.Y = each(x.Y)
	case *ir.Index:
		if !query.IsRef(x.X) || x.X.Type().Kind != ir.Slice || !x.Type().IsScalar() {
			u.found = false
			return e, ahead
		}
		x.I = each(x.I)
		if x.Checked {
			return u.load(x, ahead)
		}
	default:
		u.found = false
	}
	return e, ahead
}

// load returns what stands for the checked load x.
func (u *truster) load(x *ir.Index, ahead []ir.Stmt) (ir.Expr, []ir.Stmt) {
	at, f := x.At, u.loop
	for _, v := range ir.ExprVars(x).List() {
		u.found = u.found && !u.moved.Has(v)
	}
	x.Checked = false
	length := &ir.Len{X: x.X, At: at}
	u.guarded++
	if form, ok := analysis.AffineOf(x.I); ok && form.Equal(analysis.VarAffine(f.Var)) && f.Rel == ir.Lt {
		within := build.Compare(ir.Le, build.ToInt(u.hi), length, at)
		if !u.started {
			within = build.Compare(ir.LAnd, build.Compare(ir.Le, build.Int(0, at), build.ToInt(u.lo), at), within, at)
		}
		u.started = true
		u.need(within)
		return x, ahead
	}
	i, fits, value := u.Local("at", ir.IntType, at), u.Local("fits", ir.BoolType, at), u.Local("value", x.Type(), at)
	i.Source = ir.Source(x.I)
	ahead = append(ahead, build.Decl(i, build.ToInt(x.I), at),
		build.Decl(fits, build.Compare(ir.LAnd, build.Compare(ir.Le, build.Int(0, at), build.Ref(i, at), at), build.Compare(ir.Lt, build.Ref(i, at), length, at), at), at),
		build.Decl(value, u.guardedLoad(x, i, fits), at),
		build.Assign(build.Ref(u.bad, at), build.Compare(ir.LOr, build.Ref(u.bad, at), build.Not(build.Ref(fits, at), at), at), at))
	return build.Ref(value, at), ahead
}

// need adds to what must hold of the bounds of the loop.
func (u *truster) need(cond ir.Expr) {
	if u.bounds != nil {
		cond = build.Compare(ir.LAnd, u.bounds, cond, cond.Pos())
	}
	u.bounds = cond
}

// guardedLoad returns element i of what x indexes where fits holds, else any value: that of an
// element that is there, as a load that is left out is a branch to compilers, across which no load
// of the next turn moves.
func (u *truster) guardedLoad(x *ir.Index, i, fits *ir.Var) ir.Expr {
	at := x.At
	if x.X.(*ir.Ref).Var.Space != ir.Param {
		return build.Choose(build.Ref(fits, at), build.Index(x.X, build.Ref(i, at), at), build.Zero(x.Type(), at), at)
	}
	u.need(build.Compare(ir.Lt, build.Int(0, at), &ir.Len{X: x.X, At: at}, at)) // then there is an element to be loaded in its stead
	return build.Index(x.X, build.Choose(build.Ref(fits, at), build.Ref(i, at), build.Int(0, at), at), at)
}

// Statements that access several places that memory decides, as an interpolation does, check them
// by one branch: where all are in range the statements run without checks, else as they are
// written, up to the access that is wrong.

const (
	leastTogether = 2  // checks that are worth a branch of their own
	mostTogether  = 48 // statements that are written twice
)

// checksTogether returns list, the body of an iteration, with such statements in two versions.
func checksTogether(t *Sharer, list []ir.Stmt) []ir.Stmt {
	if t.Opt.KeepChecks || t.Slow || analysis.Jumps(list) {
		return list
	}
	if out, found := inVersions(t, query.Flatten(list)); found {
		return out
	}
	return list
}

// inVersions returns list with and without checks where that gains something.
func inVersions(t *Sharer, list []ir.Stmt) (out []ir.Stmt, found bool) {
	for _, s := range list {
		switch x := s.(type) {
		case *ir.If:
			then, inThen := inVersions(t, query.Flatten(x.Then))
			other, inElse := inVersions(t, query.Flatten(x.Else))
			if inThen || inElse {
				s, found = &ir.If{Cond: x.Cond, Then: then, Else: other, At: x.At}, true
			}
		case *ir.Decl, *ir.Assign:
			if both := inTwoVersions(t, list[len(out):]); both != nil {
				return append(out, both), true
			}
		}
		out = append(out, s)
	}
	return out, found
}

// inTwoVersions returns list with and without the checks that its first statement begins, nil where
// that gains nothing.
func inTwoVersions(t *Sharer, list []ir.Stmt) ir.Stmt {
	begins := false
	for _, e := range query.DirectExprs(list[0]) {
		begins = begins || query.Checks(e)
	}
	size := 0
	ir.WalkStmts(list, func(ir.Stmt) bool { size++; return true })
	if !begins || size > mostTogether || len(ir.AddressTaken(list).List()) > 0 {
		return nil
	}
	c := &together{list: list, values: map[*ir.Var]ir.Expr{}, changed: ir.Assigned(list)}
	c.collect()
	if len(c.conds) < leastTogether || c.left {
		return nil // what is checked anyway has its branch
	}
	at := list[0].Pos()
	test := c.conds[0]
	for _, more := range c.conds[1:] {
		test = build.Compare(ir.LAnd, test, more, at)
	}
	for _, ix := range c.cleared {
		ix.Checked = false
	}
	fast := t.CopyOf(list, &t.Kernel.NumVars)
	for _, ix := range c.cleared {
		ix.Checked = true
	}
	t.Decide(at, "accesses", "checked by one branch", "memory decides which elements they are: where all are in range the statements run without checks", "")
	return &ir.If{Cond: test, Then: fast, Else: t.CopyOf(list, &t.Kernel.NumVars), At: at}
}

// A together collects checks that can be made in front of a list of statements.
type together struct {
	list    []ir.Stmt
	values  map[*ir.Var]ir.Expr // of variables that the list declares, over what it does not change
	changed *ir.VarSet
	stored  bool // a statement before has written memory
	conds   []ir.Expr
	cleared []*ir.Index
	left    bool // a check stays that is made in any case
}

func (c *together) collect() {
	for _, s := range c.list {
		switch s := s.(type) {
		case *ir.Decl:
			if s.Init == nil {
				continue
			}
			c.expr(s.Init)
			if v := c.value(s.Init); v != nil && s.Var.Type.IsScalar() && !c.changed.Has(s.Var) {
				c.values[s.Var] = v
			}
		case *ir.Assign:
			c.expr(s.Value)
			if !query.IsRef(s.Place) {
				c.expr(s.Place)
				c.stored = true
			}
		case *ir.If:
			c.expr(s.Cond)
			c.stored = true // perhaps
		default:
			c.left = true
		}
	}
}

// value returns e over what the list does not change, nil where that cannot be told in front of it.
func (c *together) value(e ir.Expr) ir.Expr {
	e = ir.Subst(e, c.values)
	if query.Checks(e) || c.stored && !query.LoadFree(e) {
		return nil
	}
	own := ir.Declared(c.list)
	for _, v := range ir.ExprVars(e).List() {
		if own.Has(v) || c.changed.Has(v) {
			return nil
		}
	}
	return e
}

// expr collects the checks that e makes in any case.
func (c *together) expr(e ir.Expr) {
	switch x := e.(type) {
	case *ir.Binary:
		c.expr(x.X)
		if x.Op != ir.LAnd && x.Op != ir.LOr {
			c.expr(x.Y)
		}
		c.left = c.left || x.Checked
		return
	case *ir.Select:
		c.expr(x.Cond)
		return
	case *ir.Index:
		if x.Checked {
			c.left = !c.check(x) || c.left
			c.expr(x.I)
			return
		}
	case *ir.Deref:
		c.left = c.left || x.Checked
	case *ir.Reslice:
		c.left = c.left || x.Checked
	}
	ir.Operands(e, c.expr)
}

// check reports whether the check of ix is one of those in front.
func (c *together) check(ix *ir.Index) bool {
	r, ok := ix.X.(*ir.Ref)
	if !ok || r.Var.Type.Kind != ir.Slice || ir.Declared(c.list).Has(r.Var) || c.changed.Has(r.Var) {
		return false
	}
	of, i := r.Var, c.value(ix.I)
	if i == nil {
		return false
	}
	at := ix.At
	word := func(e ir.Expr) ir.Expr { return build.Convert(ir.Uint64Type, e, at) }
	cond := build.Compare(ir.Lt, word(i), word(&ir.Len{X: build.Ref(of, at), At: at}), at)
	c.cleared = append(c.cleared, ix)
	if !slices.ContainsFunc(c.conds, func(have ir.Expr) bool { return query.Same(have, cond) }) {
		c.conds = append(c.conds, cond)
	}
	return true
}
