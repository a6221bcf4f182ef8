package strategy

import (
	"maps"
	"math"
	"slices"

	"github.com/gompss/gompss/codegen/internal/analysis"
	"github.com/gompss/gompss/codegen/internal/lower/crews"
	"github.com/gompss/gompss/codegen/internal/lower/forms"
	"github.com/gompss/gompss/codegen/internal/lower/spaces"
	"github.com/gompss/gompss/codegen/internal/lower/strategy/bodies"
	"github.com/gompss/gompss/codegen/internal/lower/strategy/unchecked"
	"github.com/gompss/gompss/codegen/internal/mapping"
	"github.com/gompss/gompss/codegen/ir"
	"github.com/gompss/gompss/codegen/ir/build"
	"github.com/gompss/gompss/codegen/ir/query"
)

// The strategy "lanes" distributes the inner loop of an iteration among several lanes of a warp.
// The inner loop has contiguous reads, as a row of a sparse matrix has, and its reductions may be
// done in any order. Neighbouring lanes then read neighbouring elements, while one thread an
// iteration would make strided reads. The launch chooses the number of lanes from the lengths of
// the slices. Source: measured on an H200 with kernels written by hand, rows of 1 to 128 elements,
// 12 on average: 125 GFLOP/s with a thread a row, 161 with 4 lanes, 174 with 8, 156 with 16, 104
// with 32.

// A laneSplit is an iteration, split into the loop that its lanes share and the statements around
// it.
type laneSplit struct {
	before, after []ir.Stmt
	loop          *ir.For
	sums          []ir.Reduction
	picks         []partialPick
	clause        bool // a reduction clause declares sums
}

// lanes returns the loop over sp in which lanes share each iteration, or nil if this is not legal
// or not profitable.
func (t *Sharer) lanes(sp *spaces.Space, d *ir.Directive, p spaces.Portion, body []ir.Stmt, grid bool) []ir.Stmt {
	switch d.Schedule.Kind {
	case ir.ScheduleNone, ir.ScheduleStatic, ir.ScheduleAuto:
	default:
		return nil
	}
	f := sp.Loops[0]
	step, _ := query.Int64(f.Step)
	if !grid || t.Slow || !sp.Direct() || step != 1 || f.Rel != ir.Lt || p.Only != nil || d.Schedule.Chunk != nil || !t.Shuffles() || forms.LeavesIteration(body, sp.Label) {
		return nil
	}
	cut := t.cutForLanes(forms.Flat(body))
	if cut == nil || !t.gainsByLanes(f, cut) {
		return nil
	}
	at := f.At
	t.Launch.Warps = true
	if !t.Single { // a single team has a multiprocessor to itself, and as many threads as possible
		crews.UseLaneTeams(t.Crew, f.At)
	}
	hi, out := t.Temp("end", f.Hi, nil)
	number := laneNumberOf(t, f, cut)
	if t.Trips.Laned == nil {
		t.countLanes(f, number)
	}
	shift, out := t.Temp("shift", number.shift(at), out)
	var inner []ir.Stmt
	lanes, inner := t.Temp("lanes", shifted(ir.Shl, build.Int(1, at), shift, at), inner)
	per := func(x ir.Expr) ir.Expr { return shifted(ir.Shr, x, shift, at) }
	me := build.Query(ir.ThreadNum, at)
	lane, base, active := t.Local("lane", ir.IntType, at), t.Local("base", ir.IntType, at), t.Local("active", ir.BoolType, at)
	inner = append(inner, build.Decl(lane, &ir.Binary{Op: ir.And, X: me, Y: build.Binary(ir.Sub, lanes, build.Int(1, at), at), T: ir.IntType, At: at}, at))
	first := ir.Expr(build.Int(0, at))
	if b, ok := p.First.(*ir.Binary); ok {
		first = per(b.X) // teams are whole warps, and the number of lanes divides a warp
	}
	// A grid has at least one thread a lane; the maximum shows back ends that the stride is
	// positive.
	some := &ir.Math{Fn: ir.IMax, Args: []ir.Expr{per(p.Stride), build.Int(1, at)}, T: ir.IntType, At: at}
	stride, inner := t.Temp("stride", some, inner)
	turn := []ir.Stmt{build.Decl(f.Var, build.Binary(ir.Add, build.Ref(base, at), per(me), at), at),
		build.Decl(active, build.Compare(ir.Lt, build.Ref(f.Var, at), hi, at), at)}
	turn = append(turn, t.onLanes(cut, active, lane, lanes, at)...)
	next := build.Assign(build.Ref(base, at), build.Binary(ir.Add, build.Ref(base, at), stride, at), at)
	loop := &ir.While{Label: &ir.Label{}, Cond: build.Compare(ir.Lt, build.Ref(base, at), hi, at), Post: []ir.Stmt{next}, Body: turn, At: at}
	t.Decide(at, "loop "+f.Var.Text(), "lanes of a warp share each iteration", "loop "+cut.loop.Var.Text()+
		" reads memory next to each other, and its reduction may be done in any order; their number follows from the lengths of the slices",
		cut.inOrderInstead())
	inner = append(inner, build.Decl(base, build.Binary(ir.Add, f.Lo, first, at), at), loop)
	return []ir.Stmt{&ir.Block{Body: append(out, t.byLanes(shift, inner, at)...), At: at}}
}

// lanesKnown are the logarithms of the numbers of lanes with specialized code, most frequent first.
var lanesKnown = []int64{3, 2, 4, 5}

// byLanes returns list, in which shift is the logarithm of the number of lanes, with specialized
// copies for the numbers of lanesKnown. Only if the number of lanes is constant do compilers batch
// the loads of several iterations of a lane. Source: measured on an H200, 8 lanes a row: 155
// GFLOP/s with their number in a variable, 172 with a constant.
func (t *Sharer) byLanes(shift ir.Expr, list []ir.Stmt, at ir.Pos) []ir.Stmt {
	r, ok := shift.(*ir.Ref)
	if !ok {
		return list
	}
	rest := list
	for _, n := range slices.Backward(lanesKnown) {
		known := &ir.Rewrite{Expr: func(e ir.Expr) ir.Expr {
			if x, ok := e.(*ir.Ref); ok && x.Var == r.Var {
				return build.Int(n, x.At)
			}
			return e
		}}
		own := known.CopyStmts(t.CopyOf(list, &t.Kernel.NumVars))
		rest = []ir.Stmt{&ir.If{Cond: build.Compare(ir.Eq, shift, build.Int(n, at), at), Then: own, Else: rest, At: at}}
	}
	return rest
}

// cutForLanes splits body at its only loop with a reduction. It returns nil if the statements
// before the loop do more than compute values, or the loop does more than read.
func (t *Sharer) cutForLanes(body []ir.Stmt) *laneSplit {
	for i, s := range body {
		switch s := s.(type) {
		case *ir.Decl:
			continue
		case *ir.Assign:
			// every lane would change a variable that outlives the iteration, such as a private
			// copy of a reduction
			if query.IsRef(s.Place) && !t.IsShared(s.Place.(*ir.Ref).Var) && ir.Declared(body[:i]).Has(s.Place.(*ir.Ref).Var) {
				continue
			}
			return nil
		case *ir.For:
			g := *forms.Below(s)
			g.Body = query.Flatten(s.Body)
			c := &laneSplit{before: body[:i], after: body[i+1:], loop: &g, sums: t.anyOrder(s), picks: t.picksOf(&g, ir.Declared(body[:i]))}
			d := t.Simds[s]
			c.clause = d != nil && len(d.Reductions) > 0
			if !c.clause && bodies.HasLoop(&ir.Block{Body: g.Body, At: g.At}) {
				return nil // tiles in team memory for such a loop gain more
			}
			if len(c.sums)+len(c.picks) == 0 || !forms.Straight(c.after) {
				return nil
			}
			if t.isLaned(c) {
				return c
			}
			return nil
		default:
			return nil
		}
	}
	return nil
}

// anyOrder returns the reductions of f that may be done in any order: those of its directive, and
// those whose result does not depend on the order.
func (t *Sharer) anyOrder(f *ir.For) []ir.Reduction {
	var out []ir.Reduction
	if d := t.Simds[f]; d != nil {
		if ByLanes(d.Nested.Kind) {
			return d.Reductions
		}
		out = slices.Clone(d.Reductions)
	}
	for _, r := range analysis.OrderFree(t.Kernel, f) {
		if !slices.ContainsFunc(out, func(have ir.Reduction) bool { return query.PlaceVar(have.Place) == query.PlaceVar(r.Place) }) {
			out = append(out, r)
		}
	}
	return out
}

// inOrderInstead returns the directive that keeps the order of the reductions.
func (c *laneSplit) inOrderInstead() string {
	if c.clause {
		return "no reduction clause on the inner loop"
	}
	return AsItIs
}

func (t *Sharer) isLaned(c *laneSplit) bool {
	f := c.loop
	step, ok := query.Int64(f.Step)
	if !ok || step != 1 || f.Rel != ir.Lt || !f.Var.Type.IsInteger() || f.Var.Type.Kind == ir.Uint64 || query.LeavesLoop(f) {
		return false
	}
	x := t.Effects.Stmts(f.Body)
	if !x.Writes.Empty() || x.Atomics || x.Calls {
		return false
	}
	own := ir.Declared(c.before)
	into := map[*ir.Var]bool{}
	for _, r := range c.sums {
		place, ok := r.Place.(*ir.Ref)
		if !ok || r.Index != nil || !own.Has(place.Var) || place.Var.Type.Size < 4 || !place.Var.Type.IsInteger() && !place.Var.Type.IsFloat() {
			return false
		}
		switch r.Op {
		case ir.Add, ir.Mul, ir.Min, ir.Max, ir.And, ir.Or, ir.Xor:
		default:
			return false
		}
		into[place.Var] = true
	}
	for _, p := range c.picks {
		for _, v := range append([]*ir.Var{p.Best}, p.Carried...) {
			into[v] = true
		}
	}
	inside := ir.Declared(f.Body)
	for _, v := range ir.Assigned(f.Body).List() {
		if !inside.Has(v) && !into[v] {
			return false
		}
	}
	return len(ir.AddressTaken(append(append([]ir.Stmt{}, c.before...), f.Body...)).List()) == 0
}

// gainsByLanes reports whether more accesses have stride 1 in the inner loop than in f, and the
// inner loop is not known to be short.
func (t *Sharer) gainsByLanes(f *ir.For, c *laneSplit) bool {
	if n, ok := query.Int64(build.Trips(c.loop, build.ToInt(c.loop.Lo), build.ToInt(c.loop.Hi), build.ToInt(c.loop.Step))); ok && n < mapping.WarpTrips {
		return false
	}
	m := analysis.NewDependences(t.Kernel)
	mine := m.Stride1(c.loop.Body, c.loop.Var)
	return mine > 0 && mine > m.Stride1In(c.loop.Body, f.Var, c.loop.Var)
}

// A laneNumber determines the number of lanes of an iteration from the average trip count of the
// inner loop: total iterations in rows executions. steps are the least averages for 32, 16, 8, 4
// and 2 lanes; 32 is the size of the smallest warp.
type laneNumber struct {
	total, rows ir.Expr // nil if they are not known at launch
	steps       []int64
	unknown     int64 // logarithm of the number of lanes if total is nil
}

// laneNumberOf returns the laneNumber of f.
func laneNumberOf(t *Sharer, f *ir.For, c *laneSplit) laneNumber {
	u := t.Device().Tuning.Lanes
	n := laneNumber{steps: u.Average[:], unknown: u.Unknown}
	n.total, n.rows = t.sharedBy(f, c)
	if one, ok := query.Int64(forms.OrZero(n.rows)); ok && one == 1 {
		n.steps = u.Even[:]
	}
	return n
}

// sharedBy returns the trip count of the inner loop, in total for rows iterations of f. A trip
// count that depends on parameters only holds for one iteration. Otherwise total is an estimate for
// all iterations of f: the length of the shortest slice that the induction variable indexes, or
// nil.
func (t *Sharer) sharedBy(f *ir.For, c *laneSplit) (total, rows ir.Expr) {
	g, at := c.loop, f.At
	own := ir.Declared(c.before)
	own.Add(f.Var)
	n := build.Trips(g, build.ToInt(g.Lo), build.ToInt(g.Hi), build.ToInt(g.Step))
	known := query.LoadFree(n)
	for _, v := range ir.ExprVars(n).List() {
		known = known && !own.Has(v) && v.Space == ir.Param
	}
	if known {
		return n, build.Int(1, at)
	}
	return forms.IndexedBy(g, nil), build.Trips(f, f.Lo, f.Hi, f.Step)
}

// shift returns the logarithm of the number of lanes.
func (n laneNumber) shift(at ir.Pos) ir.Expr {
	if n.total == nil {
		return build.Int(n.unknown, at)
	}
	out := ir.Expr(build.Int(0, at))
	for i := len(n.steps) - 1; i >= 0; i-- {
		enough := build.Compare(ir.Ge, n.total, build.Binary(ir.Mul, n.rows, build.Int(n.steps[i], at), at), at)
		out = build.Choose(enough, build.Int(int64(len(n.steps)-i), at), out, at)
	}
	return out
}

func shifted(op ir.Op, x, by ir.Expr, at ir.Pos) ir.Expr {
	return &ir.Binary{Op: op, X: x, Y: by, T: ir.IntType, At: at}
}

// countLanes makes the host launch one thread a lane of each iteration; with fewer threads, each
// would execute several iterations in sequence. The operands of the number of lanes are looked up
// one by one, because the whole expression is large. Source: measured on an H200, rows of 12
// elements on average: 162 GFLOP/s with a thread a row in the launch, 172 with 8.
func (t *Sharer) countLanes(f *ir.For, n laneNumber) {
	k := len(t.Trips.Grid) - 1
	if k < 0 || t.Trips.Unknown {
		return
	}
	count := t.OnHost(build.Trips(f, f.Lo, f.Hi, f.Step))
	if n.total != nil {
		n.total, n.rows = t.OnHost(n.total), t.OnHost(n.rows)
		if n.total == nil || n.rows == nil {
			return
		}
	}
	if count != nil {
		t.Trips.Laned = shifted(ir.Shl, count, n.shift(f.At), f.At)
		t.Trips.Grid[k] = t.Trips.Laned
	}
}

// onLanes returns the code of an iteration: all lanes execute the statements before the loop, each
// lane a part of the loop, and one lane the statements after it.
func (t *Sharer) onLanes(c *laneSplit, active, lane *ir.Var, lanes ir.Expr, at ir.Pos) []ir.Stmt {
	out, own := t.declaredAhead(c.before)
	f := c.loop
	from, to := t.Local("from", ir.IntType, at), t.Local("to", ir.IntType, at)
	if len(own) > 0 {
		out = append(out, &ir.If{Cond: build.Ref(active, at), Then: own, At: at})
	}
	none := func(e ir.Expr) ir.Expr { return build.Choose(build.Ref(active, at), e, build.Int(0, at), at) }
	out = append(out, build.Decl(from, build.Binary(ir.Add, none(build.ToInt(f.Lo)), build.Ref(lane, at), at), at), build.Decl(to, none(build.ToInt(f.Hi)), at))

	parts := map[*ir.Var]*ir.Var{}
	var mix, add []ir.Stmt
	distance := t.Local("d", ir.IntType, at)
	for _, r := range c.sums {
		v := r.Place.(*ir.Ref).Var
		part, other := t.Local(v.Name+"Part", v.Type, at), t.Local("other", v.Type, at)
		parts[v] = part
		out = append(out, build.Decl(part, build.Identity(r.Op, v.Type, at), at))
		mix = append(mix, build.Decl(other, &ir.Shuffle{Kind: ir.ShuffleXor, X: build.Ref(part, at), By: build.Ref(distance, at), At: at}, at),
			build.Assign(build.Ref(part, at), build.Combine(r.Op, build.Ref(part, at), build.Ref(other, at), at), at))
		add = append(add, build.Assign(build.Ref(v, at), build.Combine(r.Op, build.Ref(v, at), build.Ref(part, at), at), at))
	}
	for _, p := range c.picks {
		maps.Copy(parts, p.parts)
		out = append(out, p.begin(at)...)
		mix = append(mix, p.take(t, p.parts, func(v *ir.Var) ir.Expr {
			return &ir.Shuffle{Kind: ir.ShuffleXor, X: build.Ref(p.parts[v], at), By: build.Ref(distance, at), At: at}
		}, at)...)
		add = append(add, p.give(p.parts, at)...)
	}
	out = append(out, t.laneLoop(f, build.WithVars(parts).CopyStmts(noting(f, c.picks)), from, to, lanes, at)...)
	half := func(x ir.Expr) ir.Expr {
		return &ir.Binary{Op: ir.Div, X: x, Y: build.Int(2, at), T: ir.IntType, At: at}
	}
	out = append(out, build.Decl(distance, half(lanes), at), &ir.While{Label: &ir.Label{}, Cond: build.Compare(ir.Gt, build.Ref(distance, at), build.Int(0, at), at),
		Post: []ir.Stmt{build.Assign(build.Ref(distance, at), half(build.Ref(distance, at)), at)}, Body: mix, At: at})
	leads := build.Compare(ir.LAnd, build.Ref(active, at), build.Compare(ir.Eq, build.Ref(lane, at), build.Int(0, at), at), at)
	if changes(t, c.after, append(slices.Clone(c.before), c.loop.Body...)) {
		out = append(out, &ir.Barrier{Scope: ir.WarpBarrier, At: at}) // shuffles do not order memory accesses
	}
	return append(out, &ir.If{Cond: leads, Then: append(add, c.after...), At: at})
}

// conflict reports whether one of two parts of an iteration changes memory that the other accesses:
// lanes that share the iteration may be at different parts of it.
func conflict(t *Sharer, a, b []ir.Stmt) bool { return changes(t, a, b) || changes(t, b, a) }

// changes reports whether list changes memory that other accesses. Different arguments that overlap
// are the same elements of one iteration, which only overlap(ok) promises of more of them.
func changes(t *Sharer, list, other []ir.Stmt) bool {
	touch, others := t.Effects.Stmts(list), t.Effects.Stmts(other)
	some := !touch.Writes.Empty() || touch.Atomics
	switch {
	case touch.Calls:
		return true
	case !some || !touch.Atomics && !others.Calls && !others.Reads.Overlaps(touch.Writes) && !others.Writes.Overlaps(touch.Writes):
		return false
	case others.Calls, t.Kernel.Target.OverlapOK:
		return true
	}
	used, known := &ir.VarSet{}, true
	ir.Inspect(other, nil, func(e ir.Expr) {
		if r, ok := e.(*ir.Ref); ok {
			used.Add(r.Var)
			if k := r.Var.Type.Kind; k == ir.Slice || k == ir.Pointer {
				known = known && r.Var.Space == ir.Param
			}
		}
	})
	ir.WalkStmts(list, func(s ir.Stmt) bool {
		var place ir.Expr
		switch s := s.(type) {
		case *ir.Assign:
			place = s.Place
		case *ir.Atomic:
			place = s.Place
		default:
			return known
		}
		v := query.BaseVar(place)
		refers := v != nil && (v.Type.Kind == ir.Slice || v.Type.Kind == ir.Pointer)
		switch {
		case v == nil:
			known = false
		case v.Space == ir.Local && !t.IsShared(v) && (!refers || query.IsRef(place)): // private to the thread
		default:
			known = known && !used.Has(v) && (!refers || v.Space == ir.Param)
		}
		return known
	})
	return !known
}

// laneLoop returns the loop over body from from to to, with the number of lanes as its step. If the
// induction variable of f is narrower than int, a lane may start beyond its last value, so the loop
// counts in ints; a second version counts in the narrow type if a test excludes overflow.
func (t *Sharer) laneLoop(f *ir.For, body []ir.Stmt, from, to *ir.Var, lanes ir.Expr, at ir.Pos) []ir.Stmt {
	k := t.Local(f.Var.Name, ir.IntType, at)
	wide := &ir.For{Label: f.Label, Var: k, Lo: build.Ref(from, at), Hi: build.Ref(to, at), Step: lanes, Rel: ir.Lt, At: f.At,
		Body: forms.Widened(t.CopyOf(body, &t.Kernel.NumVars), f.Var, k)}
	if x := t.Effects.Stmts(body); (x.Atomics || !x.Writes.Empty()) && !x.Calls {
		return checkedOnce(t, wide)
	}
	if f.Var.Type.Kind != ir.Int32 {
		return unchecked.Loop(t.Crew, wide, nil)
	}
	narrow := func(e ir.Expr) ir.Expr { return build.Convert(f.Var.Type, e, at) }
	most := build.Int(math.MaxInt32-forms.MostWarp, at)
	least := &ir.Math{Fn: ir.IMin, Args: []ir.Expr{build.Ref(to, at), most}, T: ir.IntType, At: at} // shows back ends that the variable does not overflow
	short := &ir.For{Label: &ir.Label{}, Var: f.Var, Lo: narrow(build.Ref(from, at)), Hi: narrow(least), Step: narrow(lanes), Rel: ir.Lt,
		Body: body, At: f.At}
	far := build.Compare(ir.Le, build.Ref(to, at), most, at)
	return unchecked.Loop(t.Crew, wide, &unchecked.Fast{Loop: short, Fits: far})
}

// checkedOnce returns f, whose iterations write memory, in two versions. If one test shows that all
// indices by the induction variable are in range, an iteration loads the operands of an atomic
// update before it checks the index of the place, so that its loads overlap.
func checkedOnce(t *Sharer, f *ir.For) []ir.Stmt {
	if t.Slow {
		return []ir.Stmt{f}
	}
	test, fast := unchecked.Version(t.Crew, &spaces.Space{Loops: []*ir.For{f}, Order: []int{0}, Body: f.Body, Label: f.Label, At: f.At})
	if test == nil {
		return []ir.Stmt{f}
	}
	loop := *fast.Loops[0]
	loop.Label = fast.Label
	loop.Body = (&ir.Rewrite{Stmt: func(s ir.Stmt) []ir.Stmt {
		a, ok := s.(*ir.Atomic)
		if !ok || a.Kind != ir.AtomicUpdate || query.LoadFree(a.Value) {
			return []ir.Stmt{s}
		}
		c, v := *a, t.Local("value", a.Value.Type(), a.At)
		c.Value = build.Ref(v, a.At)
		return []ir.Stmt{build.Decl(v, a.Value, a.At), &c}
	}}).CopyStmts(fast.Body)
	return []ir.Stmt{&ir.If{Cond: test, Then: []ir.Stmt{&loop}, Else: []ir.Stmt{f}, At: f.At}}
}

// declaredAhead splits list into declarations without computed initial values, and the remaining
// statements with assignments in place of these values.
func (t *Sharer) declaredAhead(list []ir.Stmt) (decls, rest []ir.Stmt) {
	for _, s := range list {
		d, ok := s.(*ir.Decl)
		switch {
		case !ok:
			rest = append(rest, s)
		case d.Init == nil || forms.IsConst(d.Init) && len(rest) == 0:
			decls = append(decls, d)
		default:
			decls = append(decls, build.Decl(d.Var, nil, d.At))
			rest = append(rest, build.Assign(build.Ref(d.Var, d.At), d.Init, d.At))
		}
	}
	return decls, rest
}

// A pick, such as the least element and its index (argmin), can be split like a reduction: each
// part picks among its iterations, and the better pick of two parts wins. Of equal picks the
// earlier iteration wins, or the later one if the comparison accepts equal values. A part that
// picked nothing keeps the values from before the loop.

// noPlace stands for no iteration; no loop over elements reaches this value.
const noPlace = math.MinInt64

// A partialPick is a pick of a part of the loop.
type partialPick struct {
	analysis.Pick
	f     *ir.For
	vars  []*ir.Var           // variables of a part: the best value, carried values that place does not determine, place
	parts map[*ir.Var]*ir.Var // private copies of vars
	place *ir.Var             // the iteration that was picked, or noPlace
	made  map[*ir.Var]ir.Expr // carried values as expressions over place
}

// picksOf returns the picks of f, of variables in own.
func (t *Sharer) picksOf(f *ir.For, own *ir.VarSet) []partialPick {
	var out []partialPick
	changing := ir.Assigned(f.Body)
	for _, v := range ir.Declared(f.Body).List() {
		changing.Add(v)
	}
	for _, p := range analysis.PicksOf(f) {
		k := partialPick{Pick: p, f: f, vars: []*ir.Var{p.Best}, parts: map[*ir.Var]*ir.Var{}, place: t.Local("place", ir.IntType, f.At), made: map[*ir.Var]ir.Expr{}}
		fine := own.Has(p.Best) && p.Best.Type.Size >= 4
		for _, v := range p.Carried {
			e := p.Values[v]
			if query.LoadFree(e) && !query.Checks(e) && !slices.ContainsFunc(ir.ExprVars(e).List(), changing.Has) {
				k.made[v] = e
			} else {
				k.vars = append(k.vars, v)
				fine = fine && v.Type.Size >= 4
			}
			fine = fine && own.Has(v)
		}
		k.vars = append(k.vars, k.place)
		for _, v := range k.vars {
			k.parts[v] = t.Local(v.Name+"Part", v.Type, f.At)
		}
		if fine {
			out = append(out, k)
		}
	}
	return out
}

// noting returns the body of f in which each pick records its iteration.
func noting(f *ir.For, picks []partialPick) []ir.Stmt {
	list := slices.Clone(f.Body)
	for i, s := range list {
		for _, p := range picks {
			if s == ir.Stmt(p.If) {
				list[i] = p.noted()
			}
		}
	}
	return list
}

// noted returns the pick with an assignment to place instead of the values that place determines.
func (p *partialPick) noted() ir.Stmt {
	s := *p.If
	s.Then = []ir.Stmt{build.Assign(build.Ref(p.place, s.At), build.ToInt(build.Ref(p.f.Var, s.At)), s.At)}
	for _, a := range query.Flatten(p.If.Then) {
		if p.made[query.RefVar(a.(*ir.Assign).Place)] == nil {
			s.Then = append(s.Then, a)
		}
	}
	return &s
}

// begin declares the variables of a part with their initial values.
func (p *partialPick) begin(at ir.Pos) []ir.Stmt {
	var out []ir.Stmt
	for _, v := range p.vars {
		first := ir.Expr(build.Ref(v, at))
		if v == p.place {
			first = build.Int(noPlace, at)
		}
		out = append(out, build.Decl(p.parts[v], first, at))
	}
	return out
}

// take replaces the pick of this part by the pick whose values other returns, if that one is
// better.
func (p *partialPick) take(t *Sharer, mine map[*ir.Var]*ir.Var, other func(v *ir.Var) ir.Expr, at ir.Pos) []ir.Stmt {
	var out, set []ir.Stmt
	theirs := map[*ir.Var]ir.Expr{}
	for _, v := range p.vars {
		o := t.Local("other", v.Type, at)
		out = append(out, build.Decl(o, other(v), at))
		theirs[v] = build.Ref(o, at)
		set = append(set, build.Assign(build.Ref(mine[v], at), theirs[v], at))
	}
	strict, ahead := p.Rel, ir.Lt
	switch p.Rel {
	case ir.Le:
		strict, ahead = ir.Lt, ir.Gt
	case ir.Ge:
		strict, ahead = ir.Gt, ir.Gt
	}
	best := func() ir.Expr { return build.Ref(mine[p.Best], at) }
	better := build.Compare(strict, theirs[p.Best], best(), at)
	tie := build.Compare(ir.LAnd, build.Compare(ir.Eq, theirs[p.Best], best(), at), build.Compare(ahead, theirs[p.place], build.Ref(mine[p.place], at), at), at)
	return append(out, &ir.If{Cond: build.Compare(ir.LOr, better, tie, at), Then: set, At: at})
}

// give assigns the pick of the part, in the variables of mine, to the variables of the iteration.
func (p *partialPick) give(mine map[*ir.Var]*ir.Var, at ir.Pos) []ir.Stmt {
	var out, set []ir.Stmt
	for _, v := range p.vars {
		if v != p.place && mine[v] != v {
			out = append(out, build.Assign(build.Ref(v, at), build.Ref(mine[v], at), at))
		}
	}
	there := map[*ir.Var]ir.Expr{p.f.Var: build.Convert(p.f.Var.Type, build.Ref(mine[p.place], at), at)}
	for _, v := range p.Carried {
		if e := p.made[v]; e != nil {
			set = append(set, build.Assign(build.Ref(v, at), ir.Subst(e, there), at))
		}
	}
	if len(set) == 0 {
		return out
	}
	some := build.Compare(ir.Ne, build.Ref(mine[p.place], at), build.Int(noPlace, at), at)
	return append(out, &ir.If{Cond: some, Then: set, At: at})
}
