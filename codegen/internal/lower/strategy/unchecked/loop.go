// Package unchecked makes versions of loops and statements without index checks, and the tests that
// choose between these versions and the checked ones.
package unchecked

import (
	"slices"

	"github.com/gompss/gompss/codegen/internal/analysis"
	"github.com/gompss/gompss/codegen/internal/analysis/affine"
	"github.com/gompss/gompss/codegen/internal/lower/accumulate"
	"github.com/gompss/gompss/codegen/internal/lower/crews"
	"github.com/gompss/gompss/codegen/internal/lower/forms"
	"github.com/gompss/gompss/codegen/internal/lower/strategy/bodies"
	"github.com/gompss/gompss/codegen/internal/lower/unroll"
	"github.com/gompss/gompss/codegen/ir"
	"github.com/gompss/gompss/codegen/ir/build"
	"github.com/gompss/gompss/codegen/ir/query"
)

// A loop that only reads, with indices that it loads from memory, has a branch at every bounds
// check, and no load moves across a branch. Such a loop first runs in a version without these
// branches, in which a load whose check would fail is replaced by a load of a valid element. If one
// was replaced, the checked version of the loop runs again, and fails at the wrong access. The
// checks of the induction variable itself are hoisted into one test. Source: measured on an H200,
// sparse matrix times vector with 8 lanes a row: 145 GFLOP/s with a branch at every check, 163 with
// the checks of the row in front, 174 without checks.
//
// An inner loop with a constant trip count is part of the iteration of such a loop. Its indices
// have an invariant base, so that one test before it, of the first and the last element, covers all
// of its checks: see [uncheckedRewriter.inRun].

// ThreadBody returns list, what a thread runs by itself, with elements that its loops add to in
// registers and with loops in two versions.
func ThreadBody(t *crews.Crew, list []ir.Stmt) []ir.Stmt {
	if !t.Slow {
		list = accumulate.In(t.Work, list)
	}
	return Loops(t, list)
}

// Loops replaces the outermost loops of list for which this is possible by the result of Loop.
func Loops(t *crews.Crew, list []ir.Stmt) []ir.Stmt {
	return rewriteLoops(t, (&ir.Rewrite{}).CopyStmts(list))
}

// rewriteLoops changes list, and returns what it becomes.
func rewriteLoops(t *crews.Crew, list []ir.Stmt) []ir.Stmt {
	var out []ir.Stmt
	for _, s := range list {
		switch s := s.(type) {
		case *ir.For:
			if both := Loop(t, s, nil); len(both) != 1 || both[0] != ir.Stmt(s) {
				out = append(out, both...)
				continue
			}
			s.Body = rewriteLoops(t, s.Body)
		case *ir.If:
			s.Then, s.Else = rewriteLoops(t, s.Then), rewriteLoops(t, s.Else)
		case *ir.Block:
			s.Body = rewriteLoops(t, s.Body)
		case *ir.While:
			s.Body = rewriteLoops(t, s.Body)
		case *ir.Construct:
			s.Body = rewriteLoops(t, s.Body)
		}
		out = append(out, s)
	}
	return out
}

// A Fast is a faster version of a loop, which is correct if Fits holds and the loop has an
// iteration.
type Fast struct {
	Loop *ir.For
	Fits ir.Expr
}

// Loop returns f, in two versions if this is profitable. If q is not nil, the version without
// branches is made from it.
func Loop(t *crews.Crew, f *ir.For, q *Fast) []ir.Stmt {
	if t.Opt.KeepChecks || t.Slow || query.JumpsOut(f) {
		return []ir.Stmt{f}
	}
	x := t.Effects.Stmts(f.Body)
	if !x.Writes.Empty() || x.Atomics || x.Calls {
		return []ir.Stmt{f}
	}
	inside := ir.Declared(f.Body)
	moved := &ir.VarSet{} // loop-carried variables
	for _, v := range ir.Assigned(f.Body).List() {
		if !inside.Has(v) {
			moved.Add(v)
		}
	}
	at := f.At
	var out []ir.Stmt
	once := *f
	once.Lo, out = held(t, "from", f.Lo, out)
	once.Hi, out = held(t, "to", f.Hi, out)
	whole := f
	f = &once
	u := &uncheckedRewriter{Crew: t, loop: f, moved: moved, bad: t.Local("bad", ir.BoolType, at), found: true, lo: f.Lo, hi: f.Hi}
	fast := f
	if q != nil {
		fast, u.bounds = q.Loop, q.Fits
	}
	fast = t.CopyOf([]ir.Stmt{fast}, &t.Kernel.NumVars)[0].(*ir.For)
	u.loop, u.changing = fast, bodies.Changed(fast.Body)
	u.changing.Add(fast.Var)
	fast.Body = u.list(forms.Flat(fast.Body))
	if !u.found || u.guarded == 0 {
		return []ir.Stmt{whole}
	}
	out = append(out, u.front...)
	t.Decide(at, "loop "+f.Var.Text(), "loads without branches", "it only reads: where a check fails it runs again, up to the access that is wrong", "")
	fast.Unroll = 0 // the device compiler chooses the unroll factor, as in the measurement above
	run := []ir.Stmt{fast}
	if u.bounds == nil {
		out = append(out, build.Decl(u.bad, nil, at))
	} else {
		some := build.Compare(ir.Lt, build.ToInt(f.Lo), build.ToInt(f.Hi), at)
		out = append(out, build.Decl(u.bad, build.Compare(ir.LAnd, some, build.Not(u.bounds, at), at), at))
		run = []ir.Stmt{&ir.If{Cond: build.Not(build.Ref(u.bad, at), at), Then: run, At: at}}
	}
	f.Unroll = 1 // this version runs only to fail; unrolling would raise the register pressure of the kernel
	for _, g := range loopsIn(f.Body) {
		if g.Unroll = 1; bodies.IndexesArray(g) { // which is in registers only where no variable indexes it
			g.Unroll = unroll.Later
		}
	}
	out = append(append(out, run...), &ir.If{Cond: build.Ref(u.bad, at), Then: []ir.Stmt{f}, At: at})
	return []ir.Stmt{&ir.Block{Body: out, At: at}}
}

func loopsIn(list []ir.Stmt) (out []*ir.For) {
	ir.WalkStmts(list, func(s ir.Stmt) bool {
		if f, ok := s.(*ir.For); ok {
			out = append(out, f)
		}
		return true
	})
	return out
}

// held returns e if it is a variable, else a temporary with its value.
func held(t *crews.Crew, name string, e ir.Expr, out []ir.Stmt) (ir.Expr, []ir.Stmt) {
	if query.IsRef(e) {
		return e, out
	}
	return t.Temp(name, e, out)
}

// An uncheckedRewriter rewrites the body of a loop for the version without checks.
type uncheckedRewriter struct {
	*crews.Crew
	loop    *ir.For
	moved   *ir.VarSet
	bad     *ir.Var
	bounds  ir.Expr // conditions on the bounds of the loop
	lo, hi  ir.Expr // the bounds of the loop as ints
	started bool    // bounds implies that lo is not negative
	guarded int
	found   bool // everything so far can be rewritten

	front    []ir.Stmt  // of the loop: what its bounds are compared with
	changing *ir.VarSet // what differs between its iterations
	maybe    int        // conditions around the place, inside the loop, or inside the outermost run
	runs     []*ir.For  // the loops of known numbers of turns around the place
	ahead    []ir.Stmt  // of the outermost of them
	inside   *ir.VarSet // what differs between its turns
}

func (u *uncheckedRewriter) list(list []ir.Stmt) []ir.Stmt {
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
			u.maybe++
			s.Then, s.Else = u.list(forms.Flat(s.Then)), u.list(forms.Flat(s.Else))
			u.maybe--
		case *ir.For:
			ahead = u.run(s)
		default:
			u.found = false
		}
		out = append(append(out, ahead...), s)
	}
	return out
}

// expr returns e with unchecked loads, and the statements that must precede it.
func (u *uncheckedRewriter) expr(e ir.Expr, ahead []ir.Stmt) (ir.Expr, []ir.Stmt) {
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

// load returns the replacement of the checked load x.
func (u *uncheckedRewriter) load(x *ir.Index, ahead []ir.Stmt) (ir.Expr, []ir.Stmt) {
	at, f := x.At, u.loop
	for _, v := range ir.ExprVars(x).List() { // a place that hangs on what was loaded instead may be any
		u.found = u.found && !u.moved.Has(v)
	}
	x.Checked = false
	length := &ir.Len{X: x.X, At: at}
	u.guarded++
	if isVar(x.I, f.Var) && f.Rel == ir.Lt {
		within := build.Compare(ir.Le, build.ToInt(u.hi), length, at)
		if !u.started {
			within = build.Compare(ir.LAnd, build.Compare(ir.Le, build.Int(0, at), build.ToInt(u.lo), at), within, at)
		}
		u.started = true
		u.need(within)
		return x, ahead
	}
	if out := u.inRun(x); out != nil {
		return out, ahead
	}
	if u.inLoop(x) {
		return x, ahead
	}
	value, more := u.guardedValue(x)
	if u.inside != nil {
		u.inside.Add(value.Var)
	}
	return value, append(ahead, more...)
}

// guardedValue returns the element that x loads, and the statements that load it where it is there.
func (u *uncheckedRewriter) guardedValue(x *ir.Index) (*ir.Ref, []ir.Stmt) {
	at := x.At
	i, fits, list := u.test(x, build.ToInt(x.I), 0)
	value := u.Local("value", x.Type(), at)
	list = append(list, build.Decl(value, u.guardedLoad(x, i, fits), at), u.note(fits, at))
	return build.Ref(value, at), list
}

// test declares that i is first and fits whether so many elements from there on are in what x
// indexes, one and more.
func (u *uncheckedRewriter) test(x *ir.Index, first ir.Expr, more int64) (i, fits *ir.Var, list []ir.Stmt) {
	at := x.At
	i, fits = u.Local("at", ir.IntType, at), u.Local("fits", ir.BoolType, at)
	i.Source = ir.Source(x.I)
	end := build.Binary(ir.Sub, &ir.Len{X: x.X, At: at}, build.Int(more, at), at)
	within := build.Compare(ir.LAnd, build.Compare(ir.Le, build.Int(0, at), build.Ref(i, at), at), build.Compare(ir.Lt, build.Ref(i, at), end, at), at)
	return i, fits, []ir.Stmt{build.Decl(i, first, at), build.Decl(fits, within, at)}
}

// note notes where fits does not hold.
func (u *uncheckedRewriter) note(fits *ir.Var, at ir.Pos) ir.Stmt {
	return build.Assign(build.Ref(u.bad, at), build.Compare(ir.LOr, build.Ref(u.bad, at), build.Not(build.Ref(fits, at), at), at), at)
}

// run rewrites a loop of a known number of turns, and returns what has to be computed ahead of it.
func (u *uncheckedRewriter) run(f *ir.For) (ahead []ir.Stmt) {
	n, known := analysis.ConstTrips(f)
	if step, ok := query.Int64(f.Step); !known || !ok || n < 1 || step < 1 || !f.Var.Type.IsInteger() || f.Directive != nil {
		u.found = false
		return nil
	}
	outermost := len(u.runs) == 0
	maybe := u.maybe
	if outermost {
		u.ahead, u.inside, u.maybe = nil, bodies.Changed(f.Body), 0
	}
	u.runs = append(u.runs, f)
	f.Body = u.list(forms.Flat(f.Body))
	u.runs = u.runs[:len(u.runs)-1]
	if !outermost {
		return nil
	}
	ahead, u.maybe = u.ahead, maybe
	u.ahead, u.inside = nil, nil
	return ahead
}

// inRun returns what stands for the load x of a run where each turn makes it: its first and its
// last element are tested ahead of the run. It is nil where the place differs otherwise.
func (u *uncheckedRewriter) inRun(x *ir.Index) ir.Expr {
	if len(u.runs) == 0 || u.maybe > 0 || u.changes(x.I, u.inside) {
		return nil
	}
	at := x.At
	first, offset, more := map[*ir.Var]ir.Expr{}, ir.Expr(build.Int(0, at)), int64(0)
	for _, f := range u.runs {
		by, ok := slope(x.I, f.Var)
		lo, _ := query.Int64(f.Lo)
		n, _ := analysis.ConstTrips(f)
		step, _ := query.Int64(f.Step)
		if !ok || max(n, step, lo, -lo) >= mostSlope {
			return nil
		}
		if by == 0 {
			continue
		}
		span, least := (n-1)*step, lo
		if by < 0 {
			least = lo + span
		}
		first[f.Var] = build.Convert(f.Var.Type, build.Int(least, at), at)
		gone := build.Binary(ir.Sub, build.ToInt(build.Ref(f.Var, at)), build.Int(least, at), at)
		offset = build.Binary(ir.Add, offset, build.Binary(ir.Mul, build.Int(by, at), gone, at), at)
		more += max(by, -by) * span
	}
	if len(first) == 0 {
		value, list := u.guardedValue(x)
		u.ahead = append(u.ahead, list...)
		return value
	}
	if x.X.(*ir.Ref).Var.Space != ir.Param || more >= mostSlope {
		return nil
	}
	i, fits, list := u.test(x, ir.Subst(build.ToInt(x.I), first), more)
	u.need(build.Compare(ir.Lt, build.Int(more, at), &ir.Len{X: x.X, At: at}, at))
	safe := u.Local("safe", ir.IntType, at)
	u.ahead = append(append(u.ahead, list...), build.Decl(safe, build.Choose(build.Ref(fits, at), build.Ref(i, at), build.Int(0, at), at), at), u.note(fits, at))
	return build.Index(x.X, build.Binary(ir.Add, build.Ref(safe, at), offset, at), at)
}

// inLoop reports whether one test in front of the loop shows that the load x, which the variable of
// the loop indexes from a place that is the same in all its iterations, is in range.
func (u *uncheckedRewriter) inLoop(x *ir.Index) bool {
	f, at := u.loop, x.At
	if len(u.runs) > 0 || u.maybe > 0 || f.Rel != ir.Lt || x.X.(*ir.Ref).Var.Space != ir.Param {
		return false
	}
	others := &ir.VarSet{}
	for _, v := range u.changing.List() {
		if v != f.Var {
			others.Add(v)
		}
	}
	if by, ok := slope(x.I, f.Var); !ok || by != 1 || u.changes(x.I, others) {
		return false
	}
	start := ir.Subst(build.ToInt(x.I), map[*ir.Var]ir.Expr{f.Var: build.Convert(f.Var.Type, u.lo, at)})
	if !query.LoadFree(start) { // what only an iteration loads may not be there otherwise
		start = build.Choose(build.Compare(ir.Lt, build.ToInt(u.lo), build.ToInt(u.hi), at), start, build.Int(0, at), at)
	}
	first, list := u.Temp("first", start, nil)
	u.front = append(u.front, list...)
	length := func() ir.Expr { return &ir.Len{X: x.X, At: at} }
	if !u.started {
		u.need(build.Compare(ir.Le, build.Int(0, at), build.ToInt(u.lo), at)) // no difference of bounds wraps
	}
	u.started = true
	u.need(build.Compare(ir.LAnd, build.Compare(ir.Le, build.Int(0, at), first, at), build.Compare(ir.Lt, first, length(), at), at))
	trips := build.Binary(ir.Sub, build.ToInt(u.hi), build.ToInt(u.lo), at)
	u.need(build.Compare(ir.Le, trips, build.Binary(ir.Sub, length(), first, at), at))
	return true
}

// changes reports whether e mentions a variable of set that is not that of a run.
func (u *uncheckedRewriter) changes(e ir.Expr, set *ir.VarSet) bool {
	return slices.ContainsFunc(ir.ExprVars(e).List(), func(v *ir.Var) bool {
		return set.Has(v) && !slices.ContainsFunc(u.runs, func(f *ir.For) bool { return f.Var == v })
	})
}

// isVar reports whether e has the value of v.
func isVar(e ir.Expr, v *ir.Var) bool {
	if c, ok := e.(*ir.Convert); ok && c.T.Kind == ir.Int64 && v.Type.Kind != ir.Uint64 {
		e = c.X
	}
	form, ok := affine.Of(e)
	return ok && form.Equal(affine.OfVar(v)) || query.RefVar(e) == v && v.Type.IsInteger()
}

// mostSlope bounds the numbers of elements that are computed here.
const mostSlope = 1 << 20

// slope returns by how much e, an int, rises with v, also where sums wrap; ok is false where it
// does not rise evenly.
func slope(e ir.Expr, v *ir.Var) (by int64, ok bool) {
	if !ir.ExprVars(e).Has(v) {
		return 0, true
	}
	switch x := e.(type) {
	case *ir.Ref:
		return 1, x.Var == v && v.Type.Kind == ir.Int64
	case *ir.Convert:
		if r, ok := x.X.(*ir.Ref); ok && x.T.Kind == ir.Int64 {
			return 1, r.Var == v && v.Type.IsInteger() && v.Type.Kind != ir.Uint64
		}
	case *ir.Binary:
		if x.T == nil || x.T.Kind != ir.Int64 || x.Checked {
			return 0, false
		}
		a, fine := slope(x.X, v)
		b, right := slope(x.Y, v)
		fine = fine && right
		switch x.Op {
		case ir.Add:
			by = a + b
		case ir.Sub:
			by = a - b
		case ir.Mul:
			c, isConst := query.Int64(x.Y)
			if !isConst {
				c, isConst = query.Int64(x.X)
			}
			fine, by = fine && isConst && max(c, -c) < mostSlope, c*(a+b)
		default:
			fine = false
		}
		return by, fine && max(by, -by) < mostSlope
	}
	return 0, false
}

// need adds cond to the conditions on the bounds of the loop.
func (u *uncheckedRewriter) need(cond ir.Expr) {
	if u.bounds != nil {
		cond = build.Compare(ir.LAnd, u.bounds, cond, cond.Pos())
	}
	u.bounds = cond
}

// guardedLoad returns element i of the slice that x indexes if fits holds, else an arbitrary
// existing element: a load that is skipped would be a branch, across which compilers move no load
// of the next iteration.
func (u *uncheckedRewriter) guardedLoad(x *ir.Index, i, fits *ir.Var) ir.Expr {
	at := x.At
	if x.X.(*ir.Ref).Var.Space != ir.Param {
		return build.Choose(build.Ref(fits, at), build.Index(x.X, build.Ref(i, at), at), build.Zero(x.Type(), at), at)
	}
	u.need(build.Compare(ir.Lt, build.Int(0, at), &ir.Len{X: x.X, At: at}, at)) // so there is an element to load instead
	return build.Index(x.X, build.Choose(build.Ref(fits, at), build.Ref(i, at), build.Int(0, at), at), at)
}

// Statements with several indices that are loaded or computed, as in an interpolation, check all of
// them by one branch: if all are in range, a version without checks runs, else the checked version,
// up to the wrong access.

const (
	leastTogether = 2  // least number of checks for a second version
	mostTogether  = 48 // largest number of statements in two versions
)

// HoistChecks returns list, the body of an iteration, with statements in a checked and an
// unchecked version.
func HoistChecks(t *crews.Crew, list []ir.Stmt) []ir.Stmt {
	if t.Opt.KeepChecks || t.Slow || analysis.Jumps(list) {
		return list
	}
	if out, found := inVersions(t, query.Flatten(list)); found {
		return out
	}
	return list
}

// inVersions returns list with statements in two versions where this is profitable.
func inVersions(t *crews.Crew, list []ir.Stmt) (out []ir.Stmt, found bool) {
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

// inTwoVersions returns a branch between list with and without checks, or nil if this is not
// profitable.
func inTwoVersions(t *crews.Crew, list []ir.Stmt) ir.Stmt {
	begins := false
	for _, e := range query.DirectExprs(list[0]) {
		begins = begins || query.Checks(e)
	}
	size := 0
	ir.WalkStmts(list, func(ir.Stmt) bool { size++; return true })
	if !begins || size > mostTogether || len(ir.AddressTaken(list).List()) > 0 {
		return nil
	}
	c := &hoistedChecks{list: list, values: map[*ir.Var]ir.Expr{}, changed: ir.Assigned(list)}
	c.collect()
	if len(c.conds) < leastTogether || c.left {
		return nil // a check that stays has its branch anyway
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

// hoistedChecks collects the checks that can be hoisted before a list of statements.
type hoistedChecks struct {
	list    []ir.Stmt
	values  map[*ir.Var]ir.Expr // values of variables that the list declares, over invariant variables
	changed *ir.VarSet
	stored  bool // an earlier statement may have written memory
	conds   []ir.Expr
	cleared []*ir.Index
	left    bool // an unconditional check cannot be hoisted
}

func (c *hoistedChecks) collect() {
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
			c.stored = true
		default:
			c.left = true
		}
	}
}

// value returns e as an expression over variables that the list does not change, or nil if it
// cannot be computed before the list.
func (c *hoistedChecks) value(e ir.Expr) ir.Expr {
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

// expr collects the checks that e makes unconditionally.
func (c *hoistedChecks) expr(e ir.Expr) {
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

// check reports whether the check of ix is one of the hoisted checks.
func (c *hoistedChecks) check(ix *ir.Index) bool {
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
