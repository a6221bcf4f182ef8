package strategy

import (
	"slices"

	"github.com/gompss/gompss/codegen/internal/lower/crews"
	"github.com/gompss/gompss/codegen/internal/lower/forms"
	"github.com/gompss/gompss/codegen/internal/lower/spaces"
	"github.com/gompss/gompss/codegen/ir"
	"github.com/gompss/gompss/codegen/ir/build"
	"github.com/gompss/gompss/codegen/ir/query"
)

// The lanes of a warp share the nested loops of their iterations: each lane runs an iteration up to
// its nested loop and keeps the context in registers; then the lanes share these loops, several
// short ones at a time and each longer one by all lanes; then each lane continues its own
// iteration. Loads before and after nested loops are unchanged.
//
// Source: Ozen, Compiler and Runtime Based Parallelization & Optimization for GPUs, 2017, sections
// 5.5.2; Merrill, Garland and Grimshaw, Scalable GPU Graph Traversal, 2012, section 5; differs: no
// kernel is started for a bundle.

// A bundler lowers one loop whose iterations have nested loops.
type bundler struct {
	*Sharer
	f     *ir.For
	label *ir.Label // the target of continue in an iteration
	grid  bool      // the teams of the league share the loop
	body  []ir.Stmt // of an iteration
	nests []*bundledNest
	path  map[ir.Stmt]bool // statements with a nested loop in them
	hoist *ir.VarSet       // variables of an iteration that live across nested loops

	mine, here *ir.Var // place of the thread among 32, and in its warp
	want       *ir.Var // number of the nested loop that the lane's iteration has come to
	wide       *ir.Var // an if clause says that all lanes share it
	from, to   *ir.Var // its bounds
}

// A bundledNest is a nested loop of an iteration; rest is the code after it.
type bundledNest struct {
	number   int64
	loop     *ir.For
	d        *ir.Directive
	rest     []ir.Stmt
	captured []*ir.Var  // that the loop reads, by the lane whose iteration it is
	again    []*ir.Decl // slices that are made again of what is captured
	floats   bool       // it adds floats up: their order matters
}

// bundles returns the loop over n whose nested loops the lanes of a warp share, nil where there are
// none or where that is not legal.
func bundles(t *Sharer, n Sharing) []ir.Stmt {
	f, d := n.Sp.Loops[0], n.D
	step, _ := query.Int64(f.Step)
	if d.Schedule.Kind != ir.ScheduleNone && d.Schedule.Kind != ir.ScheduleStatic && d.Schedule.Kind != ir.ScheduleAuto {
		return nil
	}
	if t.Slow || t.Leads() || !n.Sp.Direct() || step != 1 || f.Rel != ir.Lt || n.P.Only != nil || d.Schedule.Chunk != nil || !t.Shuffles() {
		return nil
	}
	x := &bundler{Sharer: t, f: f, label: n.Sp.Label, grid: n.Grid, path: map[ir.Stmt]bool{}, hoist: &ir.VarSet{}}
	body := forms.Flat(n.Body)
	x.body = body
	if !x.find(body, nil) || !x.fits(body) {
		return nil
	}
	return x.run(n.P, body)
}

// find collects the nested loops of list; rest is the code of an iteration after list.
func (x *bundler) find(list, rest []ir.Stmt) bool {
	found := false
	for i, s := range list {
		after := append(slices.Clone(list[i+1:]), rest...)
		here := false
		switch s := s.(type) {
		case *ir.For:
			if d := x.Simds[s]; d != nil && ByLanes(d.Nested.Kind) {
				x.nests = append(x.nests, &bundledNest{number: int64(len(x.nests) + 1), loop: s, d: d, rest: after})
				here = true
			}
		case *ir.Block:
			here = x.find(s.Body, after)
		case *ir.If:
			then := x.find(s.Then, after)
			here = x.find(s.Else, after) || then
		}
		if here {
			x.path[s] = true
			found = true
		}
	}
	return found
}

// ByLanes reports whether the lanes of a warp share a nested loop.
func ByLanes(k ir.NestedKind) bool {
	return k == ir.NestedLanes || k == ir.NestedGroups || k == ir.NestedWarp || k == ir.NestedEager
}

// fits reports whether the lanes can share every nested loop, and collects the variables that
// sharing needs.
func (x *bundler) fits(body []ir.Stmt) bool {
	if len(ir.AddressTaken(body).List()) > 0 || !x.jumpsInside(body) {
		return false
	}
	own := ir.Declared(body)
	own.Add(x.f.Var)
	changed := ir.Assigned(body)
	needed := &ir.VarSet{}
	for _, k := range x.nests {
		if !x.shareable(k, own, changed) {
			return false
		}
		for _, v := range append(ir.Free(append([]ir.Stmt{k.loop}, k.rest...)).List(), k.captured...) {
			needed.Add(v)
		}
	}
	return x.hoistable(body, needed)
}

// jumpsInside reports whether jumps in list end in loops and blocks without nested loops, or leave
// the iteration.
func (x *bundler) jumpsInside(list []ir.Stmt) bool {
	labels := map[*ir.Label]bool{}
	fine := true
	ir.WalkStmts(list, func(s ir.Stmt) bool {
		switch b := s.(type) {
		case *ir.Return, *ir.Barrier:
			fine = false
		case *ir.Block:
			if b.Label != nil && x.path[s] {
				labels[b.Label] = true
			}
		case *ir.Break:
			fine = fine && !labels[b.Label]
		}
		return fine
	})
	return fine
}

// shareable reports whether lanes can share the loop of k. own are the variables of an iteration,
// changed all that it assigns.
func (x *bundler) shareable(k *bundledNest, own, changed *ir.VarSet) bool {
	g := k.loop
	step, ok := query.Int64(g.Step)
	if !ok || step != 1 || g.Rel != ir.Lt || !g.Var.Type.IsInteger() || g.Var.Type.Kind == ir.Uint64 || query.LeavesLoop(g) {
		return false
	}
	into := map[*ir.Var]bool{}
	for _, r := range k.d.Reductions {
		place, ok := r.Place.(*ir.Ref)
		if !ok || r.Index != nil || place.Var.Space != ir.Local || x.IsShared(place.Var) || place.Var.Type.Size < 4 || !place.Var.Type.IsInteger() && !place.Var.Type.IsFloat() {
			return false
		}
		switch r.Op {
		case ir.Add, ir.Mul:
			k.floats = k.floats || place.Var.Type.IsFloat()
		case ir.Min, ir.Max, ir.And, ir.Or, ir.Xor:
		default:
			return false
		}
		into[place.Var] = true
	}
	inside := ir.Declared(g.Body)
	inside.Add(g.Var)
	for _, v := range ir.Assigned(g.Body).List() {
		if !inside.Has(v) && !into[v] && !x.IsShared(v) {
			return false
		}
	}
	for _, v := range ir.Free(g.Body).List() {
		switch {
		case inside.Has(v) || into[v] || slices.Contains(k.captured, v):
		case own.Has(v):
			if r := forms.SliceOf(x.body, v); r != nil {
				k.again = append(k.again, &ir.Decl{Var: v, Init: r, At: v.At})
				for _, bound := range []ir.Expr{r.Lo, r.Hi} {
					if w := bound.(*ir.Ref).Var; !own.Has(w) || !w.Type.IsScalar() {
						return false
					} else if !slices.Contains(k.captured, w) {
						k.captured = append(k.captured, w)
					}
				}
				continue
			}
			if !v.Type.IsScalar() || v.Type.Size < 4 && v.Type.Kind != ir.Bool && !v.Type.IsInteger() {
				return false
			}
			k.captured = append(k.captured, v)
		case v.Space == ir.Local && changed.Has(v) && !x.IsShared(v):
			return false // a thread's own, such as its part of a sum of the loop around
		}
	}
	return true
}

// hoistable collects the variables that are declared in front of a nested loop and needed from
// there on, and reports whether all of them can be declared in front of the iteration.
func (x *bundler) hoistable(list []ir.Stmt, needed *ir.VarSet) bool {
	for _, s := range list {
		switch s := s.(type) {
		case *ir.Decl:
			if needed.Has(s.Var) {
				if t := s.Var.Type; !t.IsScalar() && (s.Init == nil || t.Kind != ir.Slice && t.Kind != ir.Pointer) {
					return false
				}
				x.hoist.Add(s.Var)
			}
		case *ir.Block:
			if x.path[s] && !x.hoistable(s.Body, needed) {
				return false
			}
		case *ir.If:
			if x.path[s] && (!x.hoistable(s.Then, needed) || !x.hoistable(s.Else, needed)) {
				return false
			}
		}
	}
	return true
}

// run returns the loop in whose turns each lane of a warp takes an iteration.
func (x *bundler) run(p spaces.Portion, body []ir.Stmt) []ir.Stmt {
	f, at := x.f, x.f.At
	x.Launch.Warps = true
	if x.grid && !x.Single {
		crews.UseLaneTeams(x.Sharer.Crew, at)
		x.countThreads()
	}
	lo, out := x.Temp("begin", f.Lo, nil)
	hi, out := x.Temp("end", f.Hi, out)
	sub := func(a, b ir.Expr) ir.Expr { return build.Binary(ir.Sub, a, b, at) }
	add := func(a, b ir.Expr) ir.Expr { return build.Binary(ir.Add, a, b, at) }
	and := func(a, b ir.Expr) ir.Expr { return &ir.Binary{Op: ir.And, X: a, Y: b, T: ir.IntType, At: at} }
	me := build.Query(ir.ThreadNum, at)
	local := func(name string, init ir.Expr) *ir.Var {
		v := x.Local(name, init.Type(), at)
		out = append(out, build.Decl(v, init, at))
		return v
	}
	x.here = local("here", and(me, sub(build.Query(ir.WarpSize, at), build.Int(1, at))))
	x.mine = local("mine", and(me, build.Int(warpLanes-1, at)))
	threads := local("threads", p.Stride)
	count := local("count", build.Trips(f, lo, hi, build.Int(1, at)))
	spread := local("spread", build.Int(0, at))
	next := add(build.Ref(spread, at), build.Int(1, at))
	room := build.Compare(ir.Le, build.Ref(count, at), shifted(ir.Shr, build.Ref(threads, at), next, at), at)
	out = append(out, &ir.While{Label: &ir.Label{}, At: at, Cond: build.Compare(ir.LAnd, build.Compare(ir.Lt, build.Ref(spread, at), build.Int(5, at), at), room, at),
		Body: []ir.Stmt{build.Assign(build.Ref(spread, at), next, at)}})
	stride := local("stride", build.IntMath(ir.IMax, shifted(ir.Shr, build.Ref(threads, at), build.Ref(spread, at), at), build.Int(1, at)))
	base := local("base", add(lo, shifted(ir.Shr, sub(p.First, build.Ref(x.here, at)), build.Ref(spread, at), at)))
	few, out := x.fewLanes(out)

	i := add(build.Ref(base, at), shifted(ir.Shr, build.Ref(x.here, at), build.Ref(spread, at), at))
	active := x.Local("active", ir.BoolType, at)
	taken := build.Compare(ir.Eq, shifted(ir.Shl, shifted(ir.Shr, build.Ref(x.here, at), build.Ref(spread, at), at), build.Ref(spread, at), at), build.Ref(x.here, at), at)
	turn := []ir.Stmt{build.Decl(f.Var, i, at),
		build.Decl(active, build.Compare(ir.LAnd, taken, build.Compare(ir.Lt, build.Ref(f.Var, at), hi, at), at), at)}
	turn = append(turn, x.turn(active, few, body)...)
	step := build.Assign(build.Ref(base, at), add(build.Ref(base, at), build.Ref(stride, at)), at)
	loop := &ir.While{Label: &ir.Label{}, Cond: build.Compare(ir.Lt, build.Ref(base, at), hi, at), Post: []ir.Stmt{step}, Body: turn, At: at}
	for _, k := range x.nests {
		x.explain(k)
	}
	return []ir.Stmt{&ir.Block{Body: append(out, loop), At: at}}
}

// warpLanes is the number of lanes that share a nested loop at most: those of the smallest warp.
const warpLanes = forms.LeastWarp

func (x *bundler) explain(k *bundledNest) {
	where, why := "lanes of a warp share each iteration, several short ones side by side", "memory decides its length, which differs between iterations"
	switch k.d.Nested.Kind {
	case ir.NestedWarp:
		where, why = "lanes of a warp share each iteration, the long ones last", "nested(warp) says so"
	case ir.NestedEager:
		where, why = "lanes of a warp share each iteration, the long ones first", "nested(eager) says so"
	}
	x.Decide(k.loop.At, "loop "+k.loop.Var.Text(), where, why, "nested(inline)")
}

// countThreads tells the host that each iteration may take all lanes of a warp where there are too
// few iterations for the threads of the device.
func (x *bundler) countThreads() {
	k := len(x.Trips.Grid) - 1
	if k < 0 || x.Trips.Unknown || x.Trips.Laned != nil {
		return
	}
	at := x.f.At
	count := x.OnHost(build.Trips(x.f, x.f.Lo, x.f.Hi, x.f.Step))
	if count == nil {
		return
	}
	g := x.Device().Team
	resident := build.Int(int64(g.Multiprocessors*g.Warps*g.Warp), at)
	most := build.IntMath(ir.IMin, shifted(ir.Shl, count, build.Int(5, at), at), resident)
	x.Trips.Laned = build.IntMath(ir.IMax, count, most)
	x.Trips.Grid[k] = x.Trips.Laned
}

// fewLanes returns a variable that says whether the nested loops are so short on average that four
// lanes share one; nil where the launch does not determine that.
func (x *bundler) fewLanes(out []ir.Stmt) (*ir.Var, []ir.Stmt) {
	at := x.f.At
	test := forms.FewEach(x.f, x.nests[0].loop, x.body, x.Device().Tuning.Lanes.Halved)
	if test == nil {
		return nil, out
	}
	few := x.Local("few", ir.BoolType, at)
	return few, append(out, build.Decl(few, test, at))
}

// turn runs an iteration of each lane: the part up to its nested loop, the nested loops of all
// lanes, and the rest.
func (x *bundler) turn(active, few *ir.Var, body []ir.Stmt) []ir.Stmt {
	at := x.f.At
	local := func(name string, t *ir.Type) *ir.Var { return x.Local(name, t, at) }
	x.want, x.wide = local("want", ir.IntType), local("wide", ir.BoolType)
	x.from, x.to = local("from", ir.IntType), local("to", ir.IntType)
	var out []ir.Stmt
	for _, v := range append([]*ir.Var{x.want, x.wide, x.from, x.to}, x.hoist.List()...) {
		out = append(out, build.Decl(v, nil, at))
	}
	out = append(out, &ir.If{Cond: build.Ref(active, at), Then: []ir.Stmt{x.phase(body)}, At: at})
	touch := x.Effects.Stmts(body)
	order := !touch.Writes.Empty() || touch.Atomics || touch.Calls
	meet := func() {
		if order {
			out = append(out, &ir.Barrier{Scope: ir.WarpBarrier, At: at})
		}
	}
	for _, k := range x.nests {
		meet()
		out = append(out, x.shareNested(k, few)...)
		if len(k.rest) == 0 {
			continue
		}
		meet()
		came := build.Compare(ir.Eq, build.Ref(x.want, at), build.Int(k.number, at), at)
		rest := x.CopyOf([]ir.Stmt{x.phase(k.rest)}, &x.Kernel.NumVars)
		goOn := append([]ir.Stmt{build.Assign(build.Ref(x.want, at), build.Int(0, at), at)}, rest...)
		out = append(out, &ir.If{Cond: came, Then: goOn, At: at})
	}
	meet()
	return out
}

// phase is list up to the next nested loop on each path through it.
func (x *bundler) phase(list []ir.Stmt) ir.Stmt {
	exit := &ir.Label{}
	out := x.upTo(list, exit)
	leave := &ir.Rewrite{Stmt: func(s ir.Stmt) []ir.Stmt {
		if c, ok := s.(*ir.Continue); ok && c.Label == x.label && x.label != nil {
			return []ir.Stmt{&ir.Break{Label: exit, At: c.At}}
		}
		return []ir.Stmt{s}
	}}
	return &ir.Block{Label: exit, Body: leave.CopyStmts(out), At: x.f.At}
}

func (x *bundler) upTo(list []ir.Stmt, exit *ir.Label) []ir.Stmt {
	var out []ir.Stmt
	for _, s := range list {
		switch s := s.(type) {
		case *ir.Decl:
			if x.hoist.Has(s.Var) {
				init := s.Init
				if init == nil {
					init = build.Zero(s.Var.Type, s.At)
				}
				out = append(out, build.Assign(build.Ref(s.Var, s.At), init, s.At))
				continue
			}
		case *ir.For:
			if x.path[s] {
				return append(out, x.capture(s, exit)...)
			}
		case *ir.Block:
			if x.path[s] {
				out = append(out, &ir.Block{Label: s.Label, Body: x.upTo(s.Body, exit), At: s.At})
				continue
			}
		case *ir.If:
			if x.path[s] {
				out = append(out, &ir.If{Cond: s.Cond, Then: x.upTo(s.Then, exit), Else: x.upTo(s.Else, exit), At: s.At})
				continue
			}
		}
		out = append(out, s)
	}
	return out
}

// capture records that the lane's iteration has reached nested loop g.
func (x *bundler) capture(g *ir.For, exit *ir.Label) []ir.Stmt {
	at := g.At
	k := x.nests[slices.IndexFunc(x.nests, func(k *bundledNest) bool { return k.loop == g })]
	out := []ir.Stmt{build.Assign(build.Ref(x.want, at), build.Int(k.number, at), at),
		build.Assign(build.Ref(x.from, at), build.ToInt(g.Lo), at), build.Assign(build.Ref(x.to, at), build.ToInt(g.Hi), at)}
	if k.d.If != nil {
		out = append(out, build.Assign(build.Ref(x.wide, at), k.d.If, at))
	}
	return append(out, &ir.Break{Label: exit, At: at})
}

// shareNested runs the nested loops k of all lanes that have reached one.
func (x *bundler) shareNested(k *bundledNest, few *ir.Var) []ir.Stmt {
	at := k.loop.At
	came := func() ir.Expr { return build.Compare(ir.Eq, build.Ref(x.want, at), build.Int(k.number, at), at) }
	long := func() ir.Expr {
		n := build.Binary(ir.Sub, build.Ref(x.to, at), build.Ref(x.from, at), at)
		switch {
		case k.floats: // their order is that of few lanes
			return build.Compare(ir.Ge, n, build.Int(forms.TeamRow, at), at)
		case k.d.If == nil:
			return build.Compare(ir.Gt, n, build.Int(forms.ShortRow, at), at)
		}
		return build.Ref(x.wide, at)
	}
	some := build.Compare(ir.Lt, build.Ref(x.from, at), build.Ref(x.to, at), at)
	wide := x.share(k, build.Compare(ir.LAnd, came(), build.Compare(ir.LAnd, some, long(), at), at), warpLanes)
	short := func(lanes int64) []ir.Stmt {
		return x.share(k, build.Compare(ir.LAnd, came(), build.Compare(ir.LAnd, some, build.Not(long(), at), at), at), lanes)
	}
	narrow := short(forms.ShortLanes)
	if few != nil && !k.floats {
		narrow = []ir.Stmt{&ir.If{Cond: build.Ref(few, at), Then: short(forms.ShortLanes / 2), Else: narrow, At: at}}
	}
	if k.d.Nested.Kind == ir.NestedEager {
		return append(wide, narrow...)
	}
	return append(narrow, wide...)
}

// share lets groups of lanes run nested loops k of those lanes among them where chosen holds, one
// after the other.
func (x *bundler) share(k *bundledNest, chosen ir.Expr, lanes int64) []ir.Stmt {
	at := k.loop.At
	s := &sharedNest{bundler: x, k: k, lanes: lanes, at: at}
	word := func(c uint64) ir.Expr { return &ir.Const{T: ir.Uint32Type, Bits: c, At: at} }
	bit := &ir.Binary{Op: ir.Shl, X: word(1), Y: build.Ref(x.mine, at), T: ir.Uint32Type, At: at}
	left := s.local("left", build.Choose(chosen, bit, word(0), at))
	for d := lanes / 2; d > 0; d /= 2 {
		s.assign(left, &ir.Binary{Op: ir.Or, X: build.Ref(left, at), Y: s.swapped(left, d), T: ir.Uint32Type, At: at})
	}
	ones := &ir.Math{Fn: ir.OnesCount, Args: []ir.Expr{build.Ref(left, at)}, T: ir.IntType, At: at}
	number := func(c uint64) ir.Expr { return &ir.Const{T: ir.Int32Type, Bits: c, At: at} }
	rounds := s.local("rounds", build.Convert(ir.Int32Type, ones, at))
	for d := lanes; d < forms.MostWarp; d *= 2 {
		s.assign(rounds, &ir.Math{Fn: ir.IMax, Args: []ir.Expr{build.Ref(rounds, at), s.swapped(rounds, d)}, T: ir.Int32Type, At: at})
	}
	head := s.out
	s.out = nil
	s.round(left)
	down := build.Assign(build.Ref(rounds, at), build.Binary(ir.Sub, build.Ref(rounds, at), number(1), at), at)
	loop := &ir.While{Label: &ir.Label{}, Cond: build.Compare(ir.Gt, build.Ref(rounds, at), number(0), at), Body: s.out, Post: []ir.Stmt{down}, At: at}
	return []ir.Stmt{&ir.Block{Body: append(head, loop), At: at}}
}

// A sharedNest makes the code in which groups of lanes share nested loops.
type sharedNest struct {
	*bundler
	k     *bundledNest
	lanes int64
	at    ir.Pos
	out   []ir.Stmt
	lane  *ir.Var // place of the thread in its group
}

func (s *sharedNest) local(name string, init ir.Expr) *ir.Var {
	v := s.Local(name, init.Type(), s.at)
	s.out = append(s.out, build.Decl(v, init, s.at))
	return v
}

func (s *sharedNest) assign(v *ir.Var, e ir.Expr) {
	s.out = append(s.out, build.Assign(build.Ref(v, s.at), e, s.at))
}

// swapped returns v of the lane at distance d.
func (s *sharedNest) swapped(v *ir.Var, d int64) ir.Expr {
	other := s.local("other", &ir.Shuffle{Kind: ir.ShuffleXor, X: build.Ref(v, s.at), By: build.Int(d, s.at), At: s.at})
	return build.Ref(other, s.at)
}

// of returns v of the lane src of the warp. Shuffles are of words.
func (s *sharedNest) of(v, src *ir.Var) *ir.Var {
	at := s.at
	var value ir.Expr = build.Ref(v, at)
	number := func(c uint64) ir.Expr { return &ir.Const{T: ir.Int32Type, Bits: c, At: at} }
	switch {
	case v.Type.Kind == ir.Bool:
		value = build.Choose(value, number(1), number(0), at)
	case v.Type.Size < 4:
		value = build.Convert(ir.Int32Type, value, at)
	}
	got := s.local(v.Name, &ir.Shuffle{Kind: ir.ShuffleFrom, X: value, By: build.Ref(src, at), At: at})
	switch {
	case v.Type.Kind == ir.Bool:
		return s.local(v.Name, build.Compare(ir.Ne, build.Ref(got, at), number(0), at))
	case v.Type.Size < 4:
		return s.local(v.Name, build.Convert(v.Type, build.Ref(got, at), at))
	}
	return got
}

// round runs one nested loop in each group that has one left.
func (s *sharedNest) round(left *ir.Var) {
	at := s.at
	on := s.local("on", build.Compare(ir.Ne, build.Ref(left, at), build.Zero(ir.Uint32Type, at), at))
	first := &ir.Math{Fn: ir.TrailingZeros, Args: []ir.Expr{build.Ref(left, at)}, T: ir.IntType, At: at}
	owner := s.local("owner", build.Choose(build.Ref(on, at), first, build.Ref(s.mine, at), at))
	below := &ir.Binary{Op: ir.Sub, X: build.Ref(left, at), Y: &ir.Const{T: ir.Uint32Type, Bits: 1, At: at}, T: ir.Uint32Type, At: at}
	s.assign(left, &ir.Binary{Op: ir.And, X: build.Ref(left, at), Y: below, T: ir.Uint32Type, At: at})
	src := s.local("src", build.Binary(ir.Add, build.Binary(ir.Sub, build.Ref(s.here, at), build.Ref(s.mine, at), at), build.Ref(owner, at), at))
	s.lane = s.local("lane", &ir.Binary{Op: ir.And, X: build.Ref(s.mine, at), Y: build.Int(s.lanes-1, at), T: ir.IntType, At: at})
	from := s.of(s.from, src)
	to := s.of(s.to, src)
	s.assign(to, build.Choose(build.Ref(on, at), build.Ref(to, at), build.Ref(from, at), at))
	own := map[*ir.Var]*ir.Var{}
	for _, v := range s.k.captured {
		own[v] = s.of(v, src)
	}
	for _, d := range s.k.again {
		own[d.Var] = s.local(d.Var.Name, build.WithVars(own).CopyExpr(d.Init))
	}
	mine := build.Compare(ir.LAnd, build.Ref(on, at), build.Compare(ir.Eq, build.Ref(owner, at), build.Ref(s.mine, at), at), at)
	switch {
	case !s.k.floats || s.lanes < warpLanes:
		s.inAnyOrder(from, to, own, mine) // the lanes are the virtual ones
	default:
		s.byWarp(from, to, own, mine)
	}
}

// part declares copies of the sums of the loop, and adds the elements from, from+step and so on
// below to up into them. If it does so repeatedly, each copy of the loop has its own variables.
func (s *sharedNest) part(from, to *ir.Var, step ir.Expr, own map[*ir.Var]*ir.Var) []*ir.Var {
	var parts []*ir.Var
	mine := map[*ir.Var]*ir.Var{}
	for v, w := range own {
		mine[v] = w
	}
	for _, r := range s.k.d.Reductions {
		v := r.Place.(*ir.Ref).Var
		p := s.local(v.Name+"Part", build.Identity(r.Op, v.Type, s.at))
		mine[v] = p
		parts = append(parts, p)
	}
	g := build.WithVars(mine).CopyStmts(s.CopyOf([]ir.Stmt{s.k.loop}, &s.Kernel.NumVars))[0].(*ir.For)
	s.out = append(s.out, s.laneLoop(g, g.Body, from, to, step, s.at)...)
	return parts
}

// combine adds other into p, by reduction i of the loop.
func (s *sharedNest) combine(i int, p *ir.Var, other ir.Expr) {
	s.assign(p, build.Combine(s.k.d.Reductions[i].Op, build.Ref(p, s.at), other, s.at))
}

// halves combines parts of neighbouring lanes, as many as there are.
func (s *sharedNest) halves(parts []*ir.Var, lanes int64) {
	for d := lanes / 2; d > 0; d /= 2 {
		for i, p := range parts {
			s.combine(i, p, s.swapped(p, d))
		}
	}
}

// deliver adds parts to the sums of the lane that owns the iteration.
func (s *sharedNest) deliver(parts []*ir.Var, mine ir.Expr) {
	if len(parts) == 0 {
		return
	}
	before := s.out
	s.out = nil
	for i, r := range s.k.d.Reductions {
		s.combine(i, r.Place.(*ir.Ref).Var, build.Ref(parts[i], s.at))
	}
	s.out = append(before, &ir.If{Cond: mine, Then: s.out, At: s.at})
}

// begin returns the first element of a lane.
func (s *sharedNest) begin(from *ir.Var, ahead int64) *ir.Var {
	at := s.at
	return s.local("k", build.Binary(ir.Add, build.Binary(ir.Add, build.Ref(from, at), build.Ref(s.lane, at), at), build.Int(ahead, at), at))
}

func (s *sharedNest) inAnyOrder(from, to *ir.Var, own map[*ir.Var]*ir.Var, mine ir.Expr) {
	parts := s.part(s.begin(from, 0), to, build.Int(s.lanes, s.at), own)
	s.halves(parts, s.lanes)
	s.deliver(parts, mine)
}

// byWarp is for long loops: the warp acts as one block of virtual lanes after the other.
func (s *sharedNest) byWarp(from, to *ir.Var, own map[*ir.Var]*ir.Var, mine ir.Expr) {
	at := s.at
	var totals []*ir.Var
	for _, r := range s.k.d.Reductions {
		v := r.Place.(*ir.Ref).Var
		totals = append(totals, s.local(v.Name+"Total", build.Identity(r.Op, v.Type, at)))
	}
	b := s.local("block", build.Int(0, at))
	before := s.out
	s.out = nil
	ahead := &ir.Binary{Op: ir.Mul, X: build.Ref(b, at), Y: build.Int(warpLanes, at), T: ir.IntType, At: at}
	first := s.local("k", build.Binary(ir.Add, build.Ref(s.begin(from, 0), at), ahead, at))
	parts := s.part(first, to, build.Int(forms.TeamLanes, at), own)
	s.halves(parts, warpLanes)
	for i, p := range parts {
		op := s.k.d.Reductions[i].Op
		s.assign(totals[i], build.Choose(build.Compare(ir.Eq, build.Ref(b, at), build.Int(0, at), at), build.Ref(p, at),
			build.Combine(op, build.Ref(totals[i], at), build.Ref(p, at), at), at))
	}
	loop := &ir.While{Label: &ir.Label{}, Cond: build.Compare(ir.Lt, build.Ref(b, at), build.Int(forms.TeamLanes/warpLanes, at), at), Body: s.out, At: at,
		Post: []ir.Stmt{build.Assign(build.Ref(b, at), build.Binary(ir.Add, build.Ref(b, at), build.Int(1, at), at), at)}}
	s.out = append(before, loop)
	s.deliver(totals, mine)
}
