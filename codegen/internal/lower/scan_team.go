package lower

import (
	"github.com/gompss/gompss/codegen/internal/analysis"
	"github.com/gompss/gompss/codegen/internal/lower/crews"
	"github.com/gompss/gompss/codegen/internal/lower/forms"
	"github.com/gompss/gompss/codegen/internal/lower/spaces"
	"github.com/gompss/gompss/codegen/internal/lower/strategy/unchecked"
	"github.com/gompss/gompss/codegen/ir"
	"github.com/gompss/gompss/codegen/ir/build"
	"github.com/gompss/gompss/codegen/ir/query"
)

// A teamScan is a loop that the threads of a team scan, tile by tile.
//
// The order of the operations: groups of scanGroup iterations are combined by doubling distances,
// and the value before a group is the fold of the earlier groups, from the first one on. The order
// does not depend on the number of threads. Source: Kogge and Stone, A Parallel Algorithm for the
// Efficient Solution of a General Class of Recurrence Equations, 1973 (the doubling).
type teamScan struct {
	*threads
	sp        *spaces.Space
	c         spaces.Counting
	items     []scanItem
	exclusive bool
	input     []ir.Stmt // the statements that update the copies
	output    []ir.Stmt // the statements that read them
	at        ir.Pos
}

// A scanItem is one scanned place: the thread's copy and the value that is passed from tile to
// tile.
type scanItem struct {
	scalar
	place, placeIdx ir.Expr
	carry           pair
}

// A pair is a value and, for minloc and maxloc, its index.
type pair struct{ v, i *ir.Var }

func (x scanItem) acc() pair { return pair{x.scalar.acc, x.idx} }

// tileOfAny is the number of iterations in a tile if the team may have any number of threads.
const tileOfAny = 256

// shareScan lowers a scan that is a separate parallel construct.
func (t *team) shareScan(s *ir.For) []ir.Stmt {
	defer unchecked.InRegion(t.teamLaunch.Sharer.Crew, s)()
	d := s.Directive
	sp, ok := t.Nest(s, 1)
	if !ok {
		return nil
	}
	t.note(sp, &t.Trips.Threads)
	count, only := t.participants(d, s)
	x := t.Effects.Stmts([]ir.Stmt{s})
	firsts, body := t.lowering.ownCopies(d.Firstprivate, sp.Body)
	red := t.lowering.startReductions(d.Reductions, &body, s.At)
	sp.Body = body
	settle, count, only := t.settle(x, false, count, only, s.At)
	sc := &teamScan{threads: &threads{team: t, count: count, serial: true}, sp: sp, at: s.At}
	for _, v := range sc.start(red, d.Scan, only) {
		x.Writes.AddVar(v)
	}
	before := append(settle.ahead, t.sync(x, false, s.At)...)
	t.open.all.Add(x)
	out := append(append(settle.inside, firsts...), sc.lower(red, only)...)
	return t.called(before, append(out, sc.finish(t.barrier)...), s.At)
}

// shareScan lowers a scan inside a parallel construct.
func (p *threads) shareScan(s *ir.For) []ir.Stmt {
	d := s.Directive
	sp, ok := p.team.Nest(s, 1)
	if !ok {
		return nil
	}
	p.note(sp, &p.Trips.Threads)
	firsts, body := p.lowering.ownCopies(d.Firstprivate, sp.Body)
	red := p.lowering.startReductions(d.Reductions, &body, s.At)
	sp.Body = body
	sc := &teamScan{threads: &threads{team: p.team, count: p.count, serial: true}, sp: sp, at: s.At}
	sc.start(red, d.Scan, nil)
	plain := func(at ir.Pos) []ir.Stmt { return []ir.Stmt{build.Barrier(at)} }
	out := append(firsts, sc.lower(red, nil)...)
	out = append(append(out, sc.finish(plain)...), build.Barrier(s.At))
	return []ir.Stmt{&ir.Block{Body: out, At: s.At}}
}

// start splits the loop into its phases and returns the team memory that the scan uses.
func (s *teamScan) start(red *reductions, scan *ir.Scan, only ir.Expr) []*ir.Var {
	last := len(s.sp.Body) - 1
	first, second := s.sp.Body[:last], s.sp.Body[last].(*ir.Block).Body
	s.exclusive = scan.Exclusive
	accs := &ir.VarSet{}
	for i, it := range red.items {
		x := scanItem{scalar: scalar{op: it.Op, acc: it.acc, idx: it.idx, n: i}, place: it.Place, placeIdx: it.Index}
		x.carry = s.pairLike(x.acc(), "carry")
		accs.Add(it.acc)
		accs.Add(it.idx)
		s.items = append(s.items, x)
	}
	s.input, s.output = first, second
	if s.exclusive {
		part, why, _ := analysis.SliceOf(first, second, accs)
		if why != "" {
			panic("gompss: bug: the front end let an input phase pass that uses " + why)
		}
		s.input = s.CopyOf(append(append([]ir.Stmt{}, part...), second...), &s.Kernel.NumVars)
		s.output = first
	}
	var slots []*ir.Var
	for _, x := range s.items {
		slots = append(slots, s.slotFor(x, false, only))
		if x.idx != nil {
			slots = append(slots, s.slotFor(x, true, only))
		}
	}
	return slots
}

// wholeTeam reports whether all threads of a team of whole warps take part in the scan.
func (s *teamScan) wholeTeam(only ir.Expr) bool {
	q, ok := s.count.(*ir.Query)
	return ok && q.What == ir.NumThreads && only == nil && s.Shuffles()
}

func (s *teamScan) slotFor(x scanItem, idx bool, only ir.Expr) *ir.Var {
	v, what := x.scalar.acc, "scan"
	if idx {
		v, what = x.idx, "scan index"
	}
	n := int64(2 * maxWarps)
	if !s.wholeTeam(only) {
		n, what = tileOfAny, what+" of any"
	}
	return s.Slot(crews.Slot{What: what, Kind: v.Type.Kind, N: x.n}, ir.ArrayOf(v.Type, n), "scan", s.at)
}

func (s *teamScan) pairLike(p pair, name string) pair {
	out := pair{v: s.Local(name, p.v.Type, s.at)}
	if p.i != nil {
		out.i = s.Local(name+"Index", p.i.Type, s.at)
	}
	return out
}

// lower returns the loop over the tiles.
func (s *teamScan) lower(red *reductions, only ir.Expr) []ir.Stmt {
	at := s.at
	c, out := s.Counted(s.sp)
	s.c = c
	for _, x := range s.items {
		out = append(out, build.Decl(x.carry.v, s.before(x.place), at))
		if x.carry.i != nil {
			out = append(out, build.Decl(x.carry.i, s.before(x.placeIdx), at))
		}
	}
	out = append(out, red.decls...)
	base := s.Local("base", ir.IntType, at)
	out = append(out, build.Decl(base, build.Int(0, at), at))
	var body []ir.Stmt
	var tile ir.Expr
	if s.wholeTeam(only) {
		s.Launch.Warps = true
		s.Decide(at, "scan "+s.sp.Loops[0].Var.Name, "shuffles in each warp, then team memory", "its threads are whole warps", "")
		parity := s.Local("parity", ir.IntType, at)
		out = append(out, build.Decl(parity, build.Int(0, at), at))
		body, tile = s.byWarps(base, parity), build.Query(ir.NumThreads, at)
	} else {
		s.Decide(at, "scan "+s.sp.Loops[0].Var.Name, "team memory", "its threads may be any number", "")
		body, tile = s.byAny(base, only), build.Int(tileOfAny, at)
	}
	next := build.Assign(build.Ref(base, at), build.Binary(ir.Add, build.Ref(base, at), tile, at), at)
	loop := &ir.While{Label: &ir.Label{}, Cond: build.Compare(ir.Lt, build.Ref(base, at), c.Total, at), Post: []ir.Stmt{next}, Body: body, At: at}
	return append(out, loop)
}

// finish assigns the values after the last iteration to the places.
func (s *teamScan) finish(barrier func(ir.Pos) []ir.Stmt) []ir.Stmt {
	out := barrier(s.at) // every thread has read the places
	var all, one []ir.Stmt
	for _, x := range s.items {
		set := []ir.Stmt{build.Assign(forms.MasterOf(x.place), build.Ref(x.carry.v, s.at), s.at)}
		if x.carry.i != nil {
			set = append(set, build.Assign(forms.MasterOf(x.placeIdx), build.Ref(x.carry.i, s.at), s.at))
		}
		if v := ir.RootVar(x.place); v != nil && !s.IsShared(v) {
			all = append(all, set...)
		} else {
			one = append(one, set...)
		}
	}
	out = append(out, all...)
	if len(one) > 0 {
		s.open.solo.Add(s.Effects.Stmts(one))
		out = append(out, &ir.If{Cond: forms.Thread0(s.at), Then: one, At: s.at})
	}
	return out
}

// reset initialises the thread's copies with identities.
func (s *teamScan) reset() []ir.Stmt {
	var out []ir.Stmt
	for _, x := range s.items {
		out = append(out, build.Assign(build.Ref(x.scalar.acc, s.at), build.Identity(x.op, x.scalar.acc.Type, s.at), s.at))
		if x.idx != nil {
			out = append(out, build.Assign(build.Ref(x.idx, s.at), build.Identity(ir.Min, x.idx.Type, s.at), s.at))
		}
	}
	return out
}

// byWarps scans a tile with one iteration for each thread: warps use shuffles, and their results
// are in team memory. Consecutive tiles use different memory, so that one barrier for each tile
// suffices.
func (s *teamScan) byWarps(base, parity *ir.Var) []ir.Stmt {
	at := s.at
	it, on := s.Local("it", ir.IntType, at), s.Local("on", ir.BoolType, at)
	lane, warp := s.Local("lane", ir.IntType, at), s.Local("warp", ir.IntType, at)
	group := &ir.Math{Fn: ir.IMin, Args: []ir.Expr{build.Query(ir.WarpSize, at), build.Int(scanGroup, at)}, T: ir.IntType, At: at}
	out := []ir.Stmt{
		build.Decl(it, build.Binary(ir.Add, build.Ref(base, at), build.Query(ir.ThreadNum, at), at), at),
		build.Decl(on, build.Compare(ir.Lt, build.Ref(it, at), s.c.Total, at), at),
		build.Decl(lane, build.Binary(ir.Rem, build.Query(ir.ThreadNum, at), group, at), at),
		build.Decl(warp, build.Binary(ir.Div, build.Query(ir.ThreadNum, at), group, at), at),
	}
	out = append(out, s.Decode(s.sp, s.c, build.Ref(it, at))...)
	out = append(out, s.reset()...)
	decls, input := hoisted(s.phase(s.input), s.output)
	out = append(out, decls...)
	out = append(out, &ir.If{Cond: build.Ref(on, at), Then: input, At: at})
	var prev []pair
	for _, x := range s.items {
		scan, before := s.overGroup(x, lane)
		out, prev = append(out, scan...), append(prev, before)
	}
	row := build.Binary(ir.Mul, build.Ref(parity, at), build.Int(maxWarps, at), at)
	var store []ir.Stmt
	for _, x := range s.items {
		store = append(store, s.put(x, build.Binary(ir.Add, row, build.Ref(warp, at), at), x.acc(), nil)...)
	}
	lead := build.Compare(ir.Eq, build.Ref(lane, at), build.Binary(ir.Sub, group, build.Int(1, at), at), at)
	out = append(out, &ir.If{Cond: lead, Then: store, At: at}, build.Barrier(at))
	out = append(out, s.foldWarps(row, warp, lane, group, prev)...)
	out = append(out, &ir.If{Cond: build.Ref(on, at), Then: s.phase(s.output), At: at})
	return append(out, build.Assign(build.Ref(parity, at), build.Binary(ir.Sub, build.Int(1, at), build.Ref(parity, at), at), at))
}

// overGroup sets the copy of each thread to the combination of the values in its group up to its
// own. before is the copy of the preceding thread, for an exclusive scan.
func (s *teamScan) overGroup(x scanItem, lane *ir.Var) (out []ir.Stmt, before pair) {
	at := s.at
	from := func(d int64, name string) pair {
		p := s.pairLike(x.acc(), name)
		out = append(out, build.Decl(p.v, &ir.Shuffle{Kind: ir.ShuffleUp, X: build.Ref(x.scalar.acc, at), By: build.Int(d, at), At: at}, at))
		if p.i != nil {
			out = append(out, build.Decl(p.i, &ir.Shuffle{Kind: ir.ShuffleUp, X: build.Ref(x.idx, at), By: build.Int(d, at), At: at}, at))
		}
		return p
	}
	for d := int64(1); d < scanGroup; d *= 2 {
		other := from(d, "other")
		out = append(out, &ir.If{Cond: build.Compare(ir.Ge, build.Ref(lane, at), build.Int(d, at), at), Then: s.join(x, x.acc(), refs(other, at), refs(x.acc(), at)), At: at})
	}
	if s.exclusive {
		before = from(1, "prev")
	}
	return out, before
}

// exprPair is a value with its index, as expressions.
type exprPair struct{ v, i ir.Expr }

func refs(p pair, at ir.Pos) exprPair { return exprPair{build.Ref(p.v, at), refOr(p.i, at)} }

// join sets to to left combined with right, in this order: of two equal values the left one wins.
func (s *teamScan) join(x scanItem, to pair, left, right exprPair) []ir.Stmt {
	at := s.at
	if to.i == nil {
		return []ir.Stmt{build.Assign(build.Ref(to.v, at), build.Combine(x.op, left.v, right.v, at), at)}
	}
	better := build.Compare(beats(x.op), right.v, left.v, at)
	take := func(p exprPair) []ir.Stmt {
		if query.RefVar(p.v) == to.v {
			return nil
		}
		return []ir.Stmt{build.Assign(build.Ref(to.v, at), p.v, at), build.Assign(build.Ref(to.i, at), p.i, at)}
	}
	if r := take(right); r == nil {
		return []ir.Stmt{&ir.If{Cond: build.Not(better, at), Then: take(left), At: at}}
	}
	if l := take(left); l == nil {
		return []ir.Stmt{&ir.If{Cond: better, Then: take(right), At: at}}
	}
	return []ir.Stmt{&ir.If{Cond: better, Then: take(right), Else: take(left), At: at}}
}

// set assigns p to to.
func (s *teamScan) set(to pair, p exprPair) []ir.Stmt {
	out := []ir.Stmt{build.Assign(build.Ref(to.v, s.at), p.v, s.at)}
	if to.i != nil {
		out = append(out, build.Assign(build.Ref(to.i, s.at), p.i, s.at))
	}
	return out
}

// put stores p at index i of the team memory of x; got reads it.
func (s *teamScan) put(x scanItem, i ir.Expr, p pair, only ir.Expr) []ir.Stmt {
	out := []ir.Stmt{build.Assign(build.Index(build.Ref(s.slotFor(x, false, only), s.at), i, s.at), build.Ref(p.v, s.at), s.at)}
	if p.i != nil {
		out = append(out, build.Assign(build.Index(build.Ref(s.slotFor(x, true, only), s.at), i, s.at), build.Ref(p.i, s.at), s.at))
	}
	return out
}

func (s *teamScan) got(x scanItem, i ir.Expr, only ir.Expr) exprPair {
	p := exprPair{v: build.Index(build.Ref(s.slotFor(x, false, only), s.at), i, s.at)}
	if x.idx != nil {
		p.i = build.Index(build.Ref(s.slotFor(x, true, only), s.at), i, s.at)
	}
	return p
}

// foldWarps folds the results of the groups of a tile after the value before the tile: each thread
// computes the value before its group, sets its copies to the input of the scan phase, and keeps
// the total for the next tile.
func (s *teamScan) foldWarps(row ir.Expr, warp, lane *ir.Var, group ir.Expr, prev []pair) []ir.Stmt {
	at := s.at
	w := s.Local("w", ir.IntType, at)
	var out, body, then []ir.Stmt
	for i, x := range s.items {
		mine := s.pairLike(x.acc(), "mine")
		out = append(out, build.Decl(mine.v, build.Ref(x.carry.v, at), at))
		if mine.i != nil {
			out = append(out, build.Decl(mine.i, build.Ref(x.carry.i, at), at))
		}
		body = append(body, &ir.If{Cond: build.Compare(ir.Eq, build.Ref(w, at), build.Ref(warp, at), at), Then: s.set(mine, refs(x.carry, at)), At: at})
		body = append(body, s.join(x, x.carry, refs(x.carry, at), s.got(x, build.Binary(ir.Add, row, build.Ref(w, at), at), nil))...)
		if !s.exclusive {
			then = append(then, s.join(x, x.acc(), refs(mine, at), refs(x.acc(), at))...)
			continue
		}
		first := build.Compare(ir.Eq, build.Ref(lane, at), build.Int(0, at), at)
		then = append(then, &ir.If{Cond: first, Then: s.set(x.acc(), refs(mine, at)), Else: s.join(x, x.acc(), refs(mine, at), refs(prev[i], at)), At: at})
	}
	groups := build.Binary(ir.Div, build.Query(ir.NumThreads, at), group, at)
	loop := &ir.For{Label: &ir.Label{}, Var: w, Lo: build.Int(0, at), Hi: groups, Step: build.Int(1, at), Rel: ir.Lt, Body: body, At: at}
	return append(append(out, loop), then...)
}

// byAny scans a tile of fixed size with any number of threads; each thread runs every count-th
// iteration.
func (s *teamScan) byAny(base *ir.Var, only ir.Expr) []ir.Stmt {
	at := s.at
	saved, again := s.between(only)
	var out []ir.Stmt
	share := func(n int64, body func(v *ir.Var) []ir.Stmt) {
		v := s.Local("v", ir.IntType, at)
		next := build.Assign(build.Ref(v, at), build.Binary(ir.Add, build.Ref(v, at), s.count, at), at)
		loop := &ir.While{Label: &ir.Label{}, Cond: build.Compare(ir.Lt, build.Ref(v, at), build.Int(n, at), at), Post: []ir.Stmt{next}, Body: body(v), At: at}
		list := []ir.Stmt{build.Decl(v, build.Query(ir.ThreadNum, at), at), loop}
		if only != nil {
			out = append(out, &ir.If{Cond: only, Then: list, At: at}, build.Barrier(at))
			return
		}
		out = append(out, &ir.Block{Body: list, At: at}, build.Barrier(at))
	}
	share(tileOfAny, func(v *ir.Var) []ir.Stmt { return s.inputOf(base, v, saved, only) })
	share(tileOfAny/scanGroup, func(v *ir.Var) []ir.Stmt { return s.overSlots(v, only) })
	share(tileOfAny, func(v *ir.Var) []ir.Stmt { return s.outputOf(base, v, saved, again, only) })
	h := s.Local("h", ir.IntType, at)
	var fold []ir.Stmt
	for _, x := range s.items {
		fold = append(fold, s.join(x, x.carry, refs(x.carry, at), s.got(x, s.lastOf(build.Ref(h, at)), only))...)
	}
	out = append(out, &ir.For{Label: &ir.Label{}, Var: h, Lo: build.Int(0, at), Hi: build.Int(tileOfAny/scanGroup, at), Step: build.Int(1, at), Rel: ir.Lt, Body: fold, At: at})
	return append(out, build.Barrier(at))
}

// lastOf returns the index of the last element of group h.
func (s *teamScan) lastOf(h ir.Expr) ir.Expr {
	return build.Binary(ir.Add, build.Binary(ir.Mul, h, build.Int(scanGroup, s.at), s.at), build.Int(scanGroup-1, s.at), s.at)
}

// inputOf runs the input phase of iteration base+v and stores the updated values in team memory.
func (s *teamScan) inputOf(base, v *ir.Var, saved []savedLocal, only ir.Expr) []ir.Stmt {
	at := s.at
	it := s.Local("it", ir.IntType, at)
	out := append([]ir.Stmt{build.Decl(it, build.Binary(ir.Add, build.Ref(base, at), build.Ref(v, at), at), at)}, s.reset()...)
	run := append(s.Decode(s.sp, s.c, build.Ref(it, at)), s.phase(s.input)...)
	for _, x := range saved {
		run = append(run, build.Assign(build.Index(build.Ref(x.slot, at), build.Ref(v, at), at), build.Ref(x.local, at), at))
	}
	out = append(out, &ir.If{Cond: build.Compare(ir.Lt, build.Ref(it, at), s.c.Total, at), Then: s.CopyOf(run, &s.Kernel.NumVars), At: at})
	for _, x := range s.items {
		out = append(out, s.put(x, build.Ref(v, at), x.acc(), only)...)
	}
	return out
}

// overSlots scans group g in team memory, in the order of a warp.
func (s *teamScan) overSlots(g *ir.Var, only ir.Expr) []ir.Stmt {
	at := s.at
	first := s.Local("first", ir.IntType, at)
	out := []ir.Stmt{build.Decl(first, build.Binary(ir.Mul, build.Ref(g, at), build.Int(scanGroup, at), at), at)}
	for d := int64(1); d < scanGroup; d *= 2 {
		j := s.Local("j", ir.IntType, at)
		k := build.Binary(ir.Add, build.Ref(first, at), build.Ref(j, at), at)
		var body []ir.Stmt
		for _, x := range s.items {
			to := s.pairLike(x.acc(), "to")
			right := s.got(x, k, only)
			body = append(body, build.Decl(to.v, right.v, at))
			if to.i != nil {
				body = append(body, build.Decl(to.i, right.i, at))
			}
			body = append(body, s.join(x, to, s.got(x, build.Binary(ir.Sub, k, build.Int(d, at), at), only), refs(to, at))...)
			body = append(body, s.put(x, k, to, only)...)
		}
		out = append(out, &ir.For{Label: &ir.Label{}, Var: j, Lo: build.Int(scanGroup-1, at), Hi: build.Int(d, at), Step: build.Int(-1, at), Rel: ir.Ge, Body: body, At: at})
	}
	return out
}

// outputOf runs the scan phase of iteration base+v.
func (s *teamScan) outputOf(base, v *ir.Var, saved []savedLocal, again []ir.Stmt, only ir.Expr) []ir.Stmt {
	at := s.at
	it, h := s.Local("it", ir.IntType, at), s.Local("h", ir.IntType, at)
	var run, fold, then []ir.Stmt
	for _, x := range s.items {
		run = append(run, s.set(x.acc(), refs(x.carry, at))...)
		fold = append(fold, s.join(x, x.acc(), refs(x.acc(), at), s.got(x, s.lastOf(build.Ref(h, at)), only))...)
		i := ir.Expr(build.Ref(v, at))
		if s.exclusive {
			i = build.Binary(ir.Sub, i, build.Int(1, at), at)
		}
		then = append(then, s.join(x, x.acc(), refs(x.acc(), at), s.got(x, i, only))...)
	}
	groups := build.Binary(ir.Div, build.Ref(v, at), build.Int(scanGroup, at), at)
	run = append(run, &ir.For{Label: &ir.Label{}, Var: h, Lo: build.Int(0, at), Hi: groups, Step: build.Int(1, at), Rel: ir.Lt, Body: fold, At: at})
	if s.exclusive {
		inside := build.Compare(ir.Ne, build.Binary(ir.Rem, build.Ref(v, at), build.Int(scanGroup, at), at), build.Int(0, at), at)
		then = []ir.Stmt{&ir.If{Cond: inside, Then: then, At: at}}
	}
	run = append(run, then...)
	run = append(run, s.Decode(s.sp, s.c, build.Ref(it, at))...)
	for _, x := range saved {
		run = append(run, build.Decl(x.local, build.Index(build.Ref(x.slot, at), build.Ref(v, at), at), at))
	}
	run = append(run, s.threads.list(again)...)
	run = append(run, s.phase(s.output)...)
	return []ir.Stmt{build.Decl(it, build.Binary(ir.Add, build.Ref(base, at), build.Ref(v, at), at), at),
		&ir.If{Cond: build.Compare(ir.Lt, build.Ref(it, at), s.c.Total, at), Then: run, At: at}}
}

// A savedLocal is a local variable of the input phase that the scan phase uses, stored in team
// memory in between.
type savedLocal struct{ local, slot *ir.Var }

// between decides how the scan phase obtains the local variables of the input phase: computed
// again, or saved.
func (s *teamScan) between(only ir.Expr) (saved []savedLocal, again []ir.Stmt) {
	if s.exclusive {
		return nil, nil
	}
	accs := &ir.VarSet{}
	for _, x := range s.items {
		accs.Add(x.scalar.acc)
		accs.Add(x.idx)
	}
	part, why, _ := analysis.SliceOf(s.input, s.output, accs)
	_, stores := analysis.SideEffect(s.input, ir.Declared(s.input), &ir.Directive{Sharing: ir.Sharing{Reductions: s.reductions()}})
	if why == "" && !stores {
		return nil, part
	}
	declared := ir.Declared(s.input)
	for i, v := range ir.Free(s.output).List() {
		if !declared.Has(v) {
			continue
		}
		if !v.Type.IsScalar() {
			s.NotYet(v.At, "a variable of the input phase of a scan that is no scalar, where the phase stores, too, and the team may have any number of threads")
			return nil, nil
		}
		box := s.Slot(crews.Slot{What: "scan local", Kind: v.Type.Kind, N: i}, ir.ArrayOf(v.Type, tileOfAny), "scan", s.at)
		saved = append(saved, savedLocal{v, box})
	}
	return saved, nil
}

func (s *teamScan) reductions() []ir.Reduction {
	var out []ir.Reduction
	for _, x := range s.items {
		r := ir.Reduction{Op: x.op, Place: build.Ref(x.scalar.acc, s.at), At: s.at}
		if x.idx != nil {
			r.Index = build.Ref(x.idx, s.at)
		}
		out = append(out, r)
	}
	return out
}

// phase lowers a phase; a continue in it jumps to its end.
func (s *teamScan) phase(list []ir.Stmt) []ir.Stmt {
	end, used := &ir.Label{}, false
	r := &ir.Rewrite{Stmt: func(st ir.Stmt) []ir.Stmt {
		if c, ok := st.(*ir.Continue); ok && s.sp.Label != nil && c.Label == s.sp.Label {
			used = true
			return []ir.Stmt{&ir.Break{Label: end, At: c.At}}
		}
		return []ir.Stmt{st}
	}}
	list = r.CopyStmts(list)
	out := s.threads.list(list)
	if used {
		return []ir.Stmt{&ir.Block{Label: end, Body: out, At: s.at}}
	}
	return out
}

// hoisted moves the declarations of variables that later uses out of list, in which they become
// assignments.
func hoisted(list, later []ir.Stmt) (decls, rest []ir.Stmt) {
	used := ir.Used(later)
	for _, st := range list {
		if d, ok := st.(*ir.Decl); ok && used.Has(d.Var) {
			decls = append(decls, build.Decl(d.Var, nil, d.At))
			st = firstValue(d)
		}
		rest = append(rest, st)
	}
	return decls, rest
}
