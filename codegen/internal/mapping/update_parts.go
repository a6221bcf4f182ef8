package mapping

import (
	"math"
	"slices"

	"github.com/gompss/gompss/codegen/ir"
	"github.com/gompss/gompss/codegen/ir/build"
	"github.com/gompss/gompss/codegen/ir/query"
)

// Few iterations whose inner loop does nothing but update memory by atomics, as one that counts
// pairs in classes, do not fill a device. Where the order of the updates does not show, the inner
// loop is cut into parts, which are iterations of the league too: neighbouring threads run the same
// part of successive iterations. Integers come out the same in any order; updates of floats round.

// PartsOfUpdates cuts such loops among those of the league: into at most so many parts in all, of
// at least so many iterations.
func PartsOfUpdates(l *Work, most, least int64) { cutUpdates(l, l.Kernel.Body, most, least) }

func cutUpdates(l *Work, list []ir.Stmt, most, least int64) {
	for k, s := range list {
		switch s := s.(type) {
		case *ir.If:
			cutUpdates(l, s.Then, most, least)
			cutUpdates(l, s.Else, most, least)
		case *ir.Block:
			cutUpdates(l, s.Body, most, least)
		case *ir.For:
			if x := updatesOf(l, s); x != nil {
				list[k] = x.versions(most, least)
			}
		}
	}
}

// An updateParts is a loop of the league whose iterations consist of a loop of updates.
type updateParts struct {
	*Work
	f, g   *ir.For
	before []ir.Stmt // declarations of an iteration, which every part repeats
	ops    map[*ir.Var]ir.Op
	conds  []ir.Expr
}

// updatesOf returns f as such a loop, nil where it is none.
func updatesOf(l *Work, f *ir.For) *updateParts {
	body := query.Flatten(f.Body)
	if !plainLeague(f) || !risesByOne(f) || query.LeavesLoop(f) || len(body) == 0 || len(ir.AddressTaken(body).List()) > 0 {
		return nil
	}
	g, ok := body[len(body)-1].(*ir.For)
	if !ok || g.Directive != nil || !risesByOne(g) || query.LeavesLoop(g) {
		return nil
	}
	x := &updateParts{Work: l, f: f, g: g, before: body[:len(body)-1], ops: map[*ir.Var]ir.Op{}}
	for _, s := range x.before {
		if d, ok := s.(*ir.Decl); !ok || !d.Var.Type.IsScalar() {
			return nil
		}
	}
	for _, e := range []ir.Expr{f.Lo, f.Hi, g.Lo, g.Hi} {
		if !query.LoadFree(e) || slices.ContainsFunc(ir.ExprVars(e).List(), func(v *ir.Var) bool { return v.Space != ir.Param }) {
			return nil
		}
	}
	if !x.updatesOnly(g.Body, ir.Declared(g.Body)) || len(x.ops) == 0 || !x.apart(body) {
		return nil
	}
	return x
}

// updatesOnly reports whether list changes nothing but variables in own, and memory by atomics
// whose order does not show.
func (x *updateParts) updatesOnly(list []ir.Stmt, own *ir.VarSet) bool {
	for _, s := range list {
		switch s := s.(type) {
		case *ir.Decl:
			if !s.Var.Type.IsScalar() {
				return false
			}
		case *ir.Assign:
			if r, ok := s.Place.(*ir.Ref); !ok || !own.Has(r.Var) {
				return false
			}
		case *ir.Block:
			if s.Label != nil || !x.updatesOnly(s.Body, own) {
				return false
			}
		case *ir.If:
			if !x.updatesOnly(s.Then, own) || !x.updatesOnly(s.Else, own) {
				return false
			}
		case *ir.Continue:
			if s.Label != x.g.Label {
				return false
			}
		case *ir.Atomic:
			if !x.update(s) {
				return false
			}
		default:
			return false
		}
	}
	return true
}

// update notes the operation of s on its slice, the only one there.
func (x *updateParts) update(s *ir.Atomic) bool {
	ix, ok := s.Place.(*ir.Index)
	if !ok || s.Kind != ir.AtomicUpdate || s.Swapped || s.Ordered || !ix.Type().IsInteger() {
		return false
	}
	r, ok := ix.X.(*ir.Ref)
	if !ok || r.Var.Space != ir.Param || r.Var.Type.Kind != ir.Slice {
		return false
	}
	op := s.Op
	switch op {
	case ir.Sub:
		op = ir.Add
	case ir.Add, ir.Mul, ir.And, ir.Or, ir.Xor, ir.Min, ir.Max:
	default:
		return false
	}
	before, found := x.ops[r.Var]
	x.ops[r.Var] = op
	return !found || before == op
}

// apart records the tests that no updated slice overlaps memory that list reads. It returns false
// if no test can show it.
func (x *updateParts) apart(list []ir.Stmt) bool {
	places, fine := map[ir.Expr]bool{}, true
	var tables, others []*ir.Var
	ir.WalkStmts(list, func(s ir.Stmt) bool {
		if a, ok := s.(*ir.Atomic); ok {
			places[a.Place] = true
		}
		return true
	})
	add := func(to *[]*ir.Var, v *ir.Var) {
		if !slices.Contains(*to, v) {
			*to = append(*to, v)
		}
	}
	var look func(e ir.Expr) bool
	look = func(e ir.Expr) bool {
		if places[e] {
			ix := e.(*ir.Index)
			add(&tables, ix.X.(*ir.Ref).Var)
			ir.WalkExpr(ix.I, look)
			return false
		}
		if r, ok := e.(*ir.Ref); ok && !r.Var.Type.IsScalar() {
			fine = fine && r.Var.Space == ir.Param && r.Var.Type.Kind == ir.Slice && !query.HasAddress(r.Var.Type.Elem)
			add(&others, r.Var)
		}
		return true
	}
	ir.WalkExprs(list, look)
	for k, t := range tables {
		for _, v := range append(slices.Clone(tables[:k]), others...) {
			fine = fine && v != t
			x.conds = append(x.conds, &ir.Apart{X: build.Ref(t, x.f.At), Y: build.Ref(v, x.f.At), At: x.f.At})
		}
	}
	return fine
}

// versions returns the loop over parts and the loop as it is, with the test between.
func (x *updateParts) versions(most, least int64) ir.Stmt {
	f, g, at := x.f, x.g, x.f.At
	count := build.IntMath(ir.IMax, trips(f), build.Int(1, at))
	parts := build.IntMath(ir.IMin, &ir.Binary{Op: ir.Div, X: build.Int(most, at), Y: count, T: ir.IntType, At: at},
		&ir.Binary{Op: ir.Div, X: trips(g), Y: build.Int(least, at), T: ir.IntType, At: at})
	test := build.Compare(ir.Ge, parts, build.Int(2, at), at)
	ends := build.Compare(ir.Lt, build.Copy(g.Hi), build.Int(math.MaxInt64-most, at), at) // so that sums of a part do not wrap
	test = build.Compare(ir.LAnd, test, ends, at)
	for _, c := range x.conds {
		test = build.Compare(ir.LAnd, test, c, at)
	}
	x.Decide(at, "loop "+f.Var.Text(), "parts of loop "+g.Var.Text()+", each of a thread, where the iterations are few and long",
		"few iterations do not fill the device, and the order of these updates does not show", AsItIs)
	part := x.Local("part", ir.IntType, at)
	each := build.Binary(ir.Sub, build.Binary(ir.Add, trips(g), build.Copy(parts), at), build.Int(1, at), at)
	long := &ir.Binary{Op: ir.Div, X: each, Y: build.IntMath(ir.IMax, build.Copy(parts), build.Int(1, at)), T: ir.IntType, At: at}
	from := build.Binary(ir.Add, build.Copy(g.Lo), build.Binary(ir.Mul, build.Ref(part, at), long, at), at)
	own := *g
	own.Lo = build.IntMath(ir.IMax, build.IntMath(ir.IMin, from, build.Copy(g.Hi)), build.Copy(g.Lo))
	own.Hi = build.IntMath(ir.IMin, build.Binary(ir.Add, build.Copy(from), build.Copy(long), at), build.Copy(g.Hi))
	inner := *f
	inner.Directive, inner.Body = nil, append(slices.Clone(x.before), &own)
	both := *f.Directive
	both.Collapse, both.Text = 2, "teams distribute parallel for collapse(2)"
	loop := &ir.For{Label: &ir.Label{}, Var: part, Lo: build.Int(0, at), Hi: build.Copy(parts), Step: build.Int(1, at), Rel: ir.Lt,
		Directive: &both, Body: []ir.Stmt{&inner}, At: at}
	fast := x.CopyOf([]ir.Stmt{loop}, &x.Kernel.NumVars)
	return &ir.If{Cond: test, Then: fast, Else: []ir.Stmt{f}, At: at}
}
