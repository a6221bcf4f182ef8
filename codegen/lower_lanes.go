package codegen

import (
	"math"
	"slices"

	"github.com/gompss/gompss/codegen/ir"
)

// An iteration whose inner loop reads memory next to each other, as a row of a sparse matrix does, is shared by lanes of a
// warp where a reduction clause lets them add up in any order: neighbouring lanes then read neighbouring elements, which
// iterations of neighbouring threads do not. How many lanes, the launch decides from the lengths of the slices.
// Source: measured on an H200 with kernels written by hand, rows of 1 to 128 elements, 12 on average: 125 GFLOP/s with a
// thread a row, 161 with 4 lanes, 174 with 8, 156 with 16, 104 with 32.

// laneSteps are the average numbers of inner iterations from which an iteration gets 32, 16, 8, 4 and 2 lanes, no more than
// the smallest warp has.
var laneSteps = []int64{40, 20, 8, 4, 2}

// lanesUnknown is the logarithm of the number of lanes where nothing tells the length of the inner loop.
const lanesUnknown = 3

// A laned is an iteration cut in front of and behind the loop that its lanes share.
type laned struct {
	before, after []ir.Stmt
	loop          *ir.For
	sums          []ir.Reduction
}

// lanes returns the loop over sp in which lanes share each iteration, nil where that is not right or gains nothing.
func (t *team) lanes(sp *space, d *ir.Directive, p portion, body []ir.Stmt, grid bool) []ir.Stmt {
	switch d.Schedule.Kind {
	case ir.ScheduleNone, ir.ScheduleStatic, ir.ScheduleAuto:
	default:
		return nil
	}
	f := sp.loops[0]
	step, _ := constInt(f.Step)
	if !grid || t.slow || !sp.direct() || step != 1 || f.Rel != ir.Lt || p.only != nil || d.Schedule.Chunk != nil || !t.shuffles() || leavesIteration(body, sp.label) {
		return nil
	}
	cut := t.cutForLanes(flat(body))
	if cut == nil || !t.gainsByLanes(f, cut) {
		return nil
	}
	at := f.At
	t.launch.Warps = true
	if !t.single { // which is alone on its multiprocessor, and takes all threads that it can have
		t.limitThreads(intConst(lanesThreads, f.At))
		t.launch.Abreast = lanesAbreast
	}
	hi, out := t.temp("end", f.Hi, nil)
	total, rows := t.sharedBy(f, cut)
	if t.trips.laned == nil {
		t.countLanes(f, total, rows)
	}
	shift, out := t.temp("shift", lanesFor(total, rows, at), out)
	var inner []ir.Stmt
	lanes, inner := t.temp("lanes", shifted(ir.Shl, intConst(1, at), shift, at), inner)
	per := func(x ir.Expr) ir.Expr { return shifted(ir.Shr, x, shift, at) }
	me := query(ir.ThreadNum, at)
	lane, base, active := t.local("lane", ir.IntType, at), t.local("base", ir.IntType, at), t.local("active", ir.BoolType, at)
	inner = append(inner, decl(lane, &ir.Binary{Op: ir.And, X: me, Y: binary(ir.Sub, lanes, intConst(1, at), at), T: ir.IntType, At: at}, at))
	first := ir.Expr(intConst(0, at))
	if b, ok := p.first.(*ir.Binary); ok {
		first = per(b.X) // teams are whole warps, which the lanes divide
	}
	// There is no grid of less than a thread for each lane; the maximum tells back ends that the loop goes on.
	some := &ir.Math{Fn: ir.IMax, Args: []ir.Expr{per(p.stride), intConst(1, at)}, T: ir.IntType, At: at}
	stride, inner := t.temp("stride", some, inner)
	turn := []ir.Stmt{decl(f.Var, binary(ir.Add, ref(base, at), per(me), at), at),
		decl(active, compare(ir.Lt, ref(f.Var, at), hi, at), at)}
	turn = append(turn, t.onLanes(cut, active, lane, lanes, at)...)
	next := assign(ref(base, at), binary(ir.Add, ref(base, at), stride, at), at)
	loop := &ir.While{Label: &ir.Label{}, Cond: compare(ir.Lt, ref(base, at), hi, at), Post: []ir.Stmt{next}, Body: turn, At: at}
	t.decide(at, "loop "+f.Var.Name, "lanes of a warp share each iteration", "loop "+cut.loop.Var.Name+
		" reads memory next to each other, and its reduction may be done in any order; their number follows from the lengths of the slices",
		"no reduction clause on the inner loop")
	inner = append(inner, decl(base, binary(ir.Add, f.Lo, first, at), at), loop)
	return []ir.Stmt{&ir.Block{Body: append(out, t.byLanes(shift, inner, at)...), At: at}}
}

// Teams of at most lanesThreads threads, lanesAbreast of them on a multiprocessor at once: what lanes are for waits for memory, so that
// all warps of a multiprocessor are needed, and a kernel of a few more registers than these leave has a quarter fewer. A launch of one team
// has as many threads as a team can have: measured on an H200, Potrf of a tile of 512, 7.9 ms with 256 threads and 3.7 with 1024.
const (
	lanesThreads = 256
	lanesAbreast = 8
)

// lanesKnown are the logarithms of numbers of lanes for which there is code of its own, the most usual first.
var lanesKnown = []int64{3, 2, 4, 5}

// byLanes returns list, in which shift is the logarithm of the number of lanes, with copies for single numbers in front
// of it: only where the number is a constant do compilers load for several turns of a lane at once.
// Source: measured on an H200, 8 lanes a row: 155 GFLOP/s with their number in a variable, 172 with a constant.
func (t *team) byLanes(shift ir.Expr, list []ir.Stmt, at ir.Pos) []ir.Stmt {
	r, ok := shift.(*ir.Ref)
	if !ok {
		return list
	}
	rest := list
	for _, n := range slices.Backward(lanesKnown) {
		known := &ir.Rewrite{Expr: func(e ir.Expr) ir.Expr {
			if x, ok := e.(*ir.Ref); ok && x.Var == r.Var {
				return intConst(n, x.At)
			}
			return e
		}}
		own := known.CopyStmts(t.copyOf(list, &t.kernel.NumVars))
		rest = []ir.Stmt{&ir.If{Cond: compare(ir.Eq, shift, intConst(n, at), at), Then: own, Else: rest, At: at}}
	}
	return rest
}

// cutForLanes finds the one loop of a body that has a reduction, nil where what stands in front of it does more than
// compute, or the loop does more than read.
func (t *team) cutForLanes(body []ir.Stmt) *laned {
	for i, s := range body {
		switch s := s.(type) {
		case *ir.Decl:
			continue
		case *ir.Assign:
			if isRef(s.Place) && !t.isShared(s.Place.(*ir.Ref).Var) {
				continue
			}
			return nil
		case *ir.For:
			sums := t.simds[s]
			if len(sums) == 0 || !straight(body[i+1:]) {
				return nil
			}
			c := &laned{before: body[:i], after: body[i+1:], loop: s, sums: sums}
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

func (t *team) isLaned(c *laned) bool {
	f := c.loop
	step, ok := constInt(f.Step)
	if !ok || step != 1 || f.Rel != ir.Lt || !f.Var.Type.IsInteger() || f.Var.Type.Kind == ir.Uint64 || leavesLoop(f) {
		return false
	}
	x := t.effects.stmts(f.Body)
	if !x.writes.empty() || x.atomics || x.calls {
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
	inside := ir.Declared(f.Body)
	for _, v := range ir.Assigned(f.Body).List() {
		if !inside.Has(v) && !into[v] {
			return false
		}
	}
	return len(ir.AddressTaken(append(append([]ir.Stmt{}, c.before...), f.Body...)).List()) == 0
}

// gainsByLanes reports whether the inner loop reads more elements next to each other than the loop around, and is not known
// to be short.
func (t *team) gainsByLanes(f *ir.For, c *laned) bool {
	if n, ok := constInt(trips(c.loop, asInt(c.loop.Lo), asInt(c.loop.Hi), asInt(c.loop.Step))); ok && n < warpTrips {
		return false
	}
	m := &mapper{lowering: t.lowering}
	mine := m.stride1(c.loop.Body, c.loop.Var)
	return mine > 0 && mine > m.stride1(c.loop.Body, f.Var)
}

// sharedBy returns how long the inner loop is, and for how many iterations of f together: its trips, or what all its runs together
// go through, the shortest of the slices that its variable indexes; nil where nothing tells.
func (t *team) sharedBy(f *ir.For, c *laned) (total, rows ir.Expr) {
	g, at := c.loop, f.At
	own := ir.Declared(c.before)
	own.Add(f.Var)
	n := trips(g, asInt(g.Lo), asInt(g.Hi), asInt(g.Step))
	known := loadFree(n)
	for _, v := range ir.ExprVars(n).List() {
		known = known && !own.Has(v) && v.Space == ir.Param
	}
	if known {
		return n, intConst(1, at)
	}
	return t.indexedBy(g), trips(f, f.Lo, f.Hi, f.Step)
}

// indexedBy returns the length of the shortest slice that the variable of g indexes, nil where there is none.
func (t *team) indexedBy(g *ir.For) ir.Expr {
	var least ir.Expr
	ir.WalkExprs(g.Body, func(e ir.Expr) bool {
		ix, ok := e.(*ir.Index)
		if !ok || ix.X.Type().Kind != ir.Slice || !isRef(ix.X) || ix.X.(*ir.Ref).Var.Space != ir.Param {
			return true
		}
		if form, ok := affineOf(ix.I); !ok || !form.Equal(varAffine(g.Var)) {
			return true
		}
		length := &ir.Len{X: ix.X, At: g.At}
		switch {
		case least == nil:
			least = length
		case !ir.ExprVars(least).Has(ix.X.(*ir.Ref).Var):
			least = &ir.Math{Fn: ir.IMin, Args: []ir.Expr{least, length}, T: ir.IntType, At: g.At}
		}
		return true
	})
	return least
}

// lanesFor chooses the logarithm of the number of lanes by laneSteps for iterations of total / rows on average.
func lanesFor(total, rows ir.Expr, at ir.Pos) ir.Expr {
	if total == nil {
		return intConst(lanesUnknown, at)
	}
	out := ir.Expr(intConst(0, at))
	for i := len(laneSteps) - 1; i >= 0; i-- {
		enough := compare(ir.Ge, total, binary(ir.Mul, rows, intConst(laneSteps[i], at), at), at)
		out = choose(enough, intConst(int64(len(laneSteps)-i), at), out, at)
	}
	return out
}

func shifted(op ir.Op, x, by ir.Expr, at ir.Pos) ir.Expr {
	return &ir.Binary{Op: op, X: x, Y: by, T: ir.IntType, At: at}
}

// countLanes tells the host that each iteration takes as many threads as it has lanes: with fewer, each of them would go through several
// iterations one after the other. What the number follows from is looked up piece by piece, as all of it is a large expression.
// Source: measured on an H200, rows of 12 elements on average: 162 GFLOP/s with a thread a row in the launch, 172 with 8.
func (t *team) countLanes(f *ir.For, total, rows ir.Expr) {
	k := len(t.trips.grid) - 1
	if k < 0 || t.trips.unknown {
		return
	}
	count := t.seg.onHost(trips(f, f.Lo, f.Hi, f.Step))
	if total != nil {
		total, rows = t.seg.onHost(total), t.seg.onHost(rows)
		if total == nil || rows == nil {
			return
		}
	}
	if count != nil {
		t.trips.laned = shifted(ir.Shl, count, lanesFor(total, rows, f.At), f.At)
		t.trips.grid[k] = t.trips.laned
	}
}

// onLanes runs an iteration: all lanes what stands in front of the loop, each its part of the loop, one what follows.
func (t *team) onLanes(c *laned, active, lane *ir.Var, lanes ir.Expr, at ir.Pos) []ir.Stmt {
	out, own := t.declaredAhead(c.before)
	f := c.loop
	from, to := t.local("from", ir.IntType, at), t.local("to", ir.IntType, at)
	if len(own) > 0 {
		out = append(out, &ir.If{Cond: ref(active, at), Then: own, At: at})
	}
	none := func(e ir.Expr) ir.Expr { return choose(ref(active, at), e, intConst(0, at), at) }
	out = append(out, decl(from, binary(ir.Add, none(asInt(f.Lo)), ref(lane, at), at), at), decl(to, none(asInt(f.Hi)), at))

	parts := map[*ir.Var]*ir.Var{}
	var mix, add []ir.Stmt
	distance := t.local("d", ir.IntType, at)
	for _, r := range c.sums {
		v := r.Place.(*ir.Ref).Var
		part, other := t.local(v.Name+"Part", v.Type, at), t.local("other", v.Type, at)
		parts[v] = part
		out = append(out, decl(part, identity(r.Op, v.Type, at), at))
		mix = append(mix, decl(other, &ir.Shuffle{Kind: ir.ShuffleXor, X: ref(part, at), By: ref(distance, at), At: at}, at),
			assign(ref(part, at), combine(r.Op, ref(part, at), ref(other, at), at), at))
		add = append(add, assign(ref(v, at), combine(r.Op, ref(v, at), ref(part, at), at), at))
	}
	out = append(out, t.laneLoop(f, paramsOf(parts).CopyStmts(f.Body), from, to, lanes, at)...)
	half := func(x ir.Expr) ir.Expr {
		return &ir.Binary{Op: ir.Div, X: x, Y: intConst(2, at), T: ir.IntType, At: at}
	}
	out = append(out, decl(distance, half(lanes), at), &ir.While{Label: &ir.Label{}, Cond: compare(ir.Gt, ref(distance, at), intConst(0, at), at),
		Post: []ir.Stmt{assign(ref(distance, at), half(ref(distance, at)), at)}, Body: mix, At: at})
	leads := compare(ir.LAnd, ref(active, at), compare(ir.Eq, ref(lane, at), intConst(0, at), at), at)
	return append(out, &ir.If{Cond: leads, Then: append(add, c.after...), At: at})
}

// laneLoop runs body for every so many values of the variable of f between from and to. Where the variable is narrow a lane
// may begin behind its last value, and the loop counts in ints; far from it, which a test shows, it need not.
func (t *team) laneLoop(f *ir.For, body []ir.Stmt, from, to *ir.Var, lanes ir.Expr, at ir.Pos) []ir.Stmt {
	k := t.local(f.Var.Name, ir.IntType, at)
	wide := &ir.For{Label: f.Label, Var: k, Lo: ref(from, at), Hi: ref(to, at), Step: lanes, Rel: ir.Lt, At: f.At,
		Body: t.widened(t.copyOf(body, &t.kernel.NumVars), f.Var, k)}
	if f.Var.Type.Kind != ir.Int32 {
		return t.trusted(wide, nil)
	}
	narrow := func(e ir.Expr) ir.Expr { return convert(f.Var.Type, e, at) }
	most := intConst(math.MaxInt32-mostWarp, at)
	least := &ir.Math{Fn: ir.IMin, Args: []ir.Expr{ref(to, at), most}, T: ir.IntType, At: at} // tells back ends that the variable cannot wrap
	short := &ir.For{Label: &ir.Label{}, Var: f.Var, Lo: narrow(ref(from, at)), Hi: narrow(least), Step: narrow(lanes), Rel: ir.Lt,
		Body: body, At: f.At}
	far := compare(ir.Le, ref(to, at), most, at)
	return t.trusted(wide, &quick{loop: short, fits: far})
}

// widened puts k, whose value fits the type of v, in the stead of v in body, which it may change.
func (t *team) widened(body []ir.Stmt, v, k *ir.Var) []ir.Stmt {
	if v.Type.Kind == ir.Int64 {
		return paramsOf(map[*ir.Var]*ir.Var{v: k}).CopyStmts(body)
	}
	ir.WalkExprs(body, func(e ir.Expr) bool {
		if ix, ok := e.(*ir.Index); ok {
			if form, ok := affineOf(ix.I); ok && form.Equal(varAffine(v)) {
				ix.I = ref(k, ix.At)
			}
		}
		return true
	})
	if !mentions(body, v) {
		return body
	}
	return append([]ir.Stmt{decl(v, convert(v.Type, ref(k, v.At), v.At), v.At)}, body...)
}

// declaredAhead splits list into declarations without a value that is computed, and the statements that compute it.
func (t *team) declaredAhead(list []ir.Stmt) (decls, rest []ir.Stmt) {
	for _, s := range list {
		d, ok := s.(*ir.Decl)
		switch {
		case !ok:
			rest = append(rest, s)
		case d.Init == nil || isConst(d.Init) && len(rest) == 0:
			decls = append(decls, d)
		default:
			decls = append(decls, decl(d.Var, nil, d.At))
			rest = append(rest, assign(ref(d.Var, d.At), d.Init, d.At))
		}
	}
	return decls, rest
}
