package lower

import (
	"slices"

	"github.com/gompss/gompss/codegen/internal/analysis"
	"github.com/gompss/gompss/codegen/internal/lower/crews"
	"github.com/gompss/gompss/codegen/internal/lower/forms"
	"github.com/gompss/gompss/codegen/internal/lower/spaces"
	"github.com/gompss/gompss/codegen/internal/lower/strategy"
	"github.com/gompss/gompss/codegen/internal/lower/strategy/unchecked"
	"github.com/gompss/gompss/codegen/ir"
	"github.com/gompss/gompss/codegen/ir/build"
	"github.com/gompss/gompss/codegen/ir/order"
	"github.com/gompss/gompss/codegen/ir/query"
)

// blocks is a loop whose sums have the order of package order. The warps of a team, or its threads
// if there are no warps, run the blocks of a group concurrently. The groups are distributed over
// the teams of a league; a single team runs them in sequence. If iterations contain loops, each
// group has one block and is run by one warp.
type blocks struct {
	*team
	red           *reductions
	cut           order.Cut
	lo, step      ir.Expr // of the loop
	total, length ir.Expr // the number of iterations of the loop, and of a block
	by            sharers
	at            ir.Pos
}

// sharers says which teams run a loop in blocks.
type sharers uint8

const (
	byLeague    sharers = iota // all teams
	byTeam                     // a single team
	inIteration                // each team, in its iterations of an outer loop: the loop is one group
)

// sharersOf returns which teams run a loop.
func (t *team) sharersOf(grid bool) sharers {
	switch {
	case grid && !t.Single:
		return byLeague
	case t.iterations > 0:
		return inIteration
	}
	return byTeam
}

// inBlocks reports whether the result of a loop's reductions depends on the order, and the loop has
// a form whose order depends on the number of iterations only. The reductions of a loop that the
// league repeats, or runs under a condition, accumulate in a part of each team and have no such
// form.
//
// Collapsed loops have no such form: vector code assigns rows of the space to lanes, and the
// assignment would change with each row if it followed the iteration number in the space. Sums of
// arrays have none either, because each lane of a group would need an array.
func (t *team) inBlocks(sp *spaces.Space, d *ir.Directive, grid bool, only ir.Expr) bool {
	if len(sp.Loops) != 1 || only != nil || len(d.Lastprivate) > 0 || t.seg.whole != nil || t.Leads() || t.Kernel.Target.FastMath || t.lowering.opt.AtomicReductions {
		return false
	}
	rounds := false
	for _, r := range d.Reductions {
		if !r.Place.Type().IsScalar() || grid && !t.Single && t.own.Has(ir.RootVar(r.Place)) {
			return false
		}
		rounds = rounds || order.Shows(r)
	}
	return rounds && t.roomFor(d.Reductions) && !dealsSeen(t.Kernel, d) && !waits(sp.Body) && !(t.hasLoops(d) && t.sharersOf(grid) == inIteration)
}

// mayBeInBlocks is inBlocks for a loop in a parallel region.
func (t *team) mayBeInBlocks(s *ir.For) bool {
	sp := &spaces.Space{Loops: make([]*ir.For, max(s.Directive.Collapse, 1)), Body: s.Body}
	return len(s.Directive.Reductions) > 0 && t.inBlocks(sp, s.Directive, false, nil)
}

// hasLoops reports whether the iterations of the loop of d, which has reductions, contain loops.
func (t *team) hasLoops(d *ir.Directive) bool { return order.CutOf(d.Reductions[0]).Blocks == 1 }

// sharedBetter reports whether a loop whose iterations contain loops should be distributed by a
// strategy or a schedule instead of in blocks.
func (t *team) sharedBetter(sp *spaces.Space, d *ir.Directive, grid bool) bool {
	return t.hasLoops(d) && (fromCounter(d.Schedule.Kind) || t.hasStrategy(sp, d, grid))
}

// hasStrategy reports whether a strategy other than one thread for each iteration fits a loop. If
// iterations contain loops, such a strategy saves more time than a fixed order of a sum is worth.
func (t *team) hasStrategy(sp *spaces.Space, d *ir.Directive, grid bool) (found bool) {
	strategy.Try(t.Sharer, func() {
		t.noteShare(sp, d, grid)
		own, trial := *d, *sp
		_, trial.Body = t.lowering.ownCopies(d.Firstprivate, sp.Body)
		red := t.lowering.startReductions(d.Reductions, &trial.Body, sp.At)
		if own.Schedule = (ir.Schedule{}); inChunks(d, grid) && !dealsUnseen(t.Kernel, d) {
			return
		}
		t.versions(&trial, func(sp *spaces.Space) []ir.Stmt {
			count := build.Query(ir.NumThreads, sp.At)
			th := &threads{team: t, count: count, serial: true}
			found = found || strategy.Fits(t.Sharer, strategy.Sharing{Sp: sp, D: &own, P: t.portion(grid, count, nil, sp.At), Body: th.list(sp.Body), Sums: red.sums(), Grid: grid})
			return nil
		})
	})
	return found
}

// roomFor reports whether the slots of list fit into the team memory that is left, and leave a
// quarter of it free.
func (t *team) roomFor(list []ir.Reduction) bool {
	var bytes ir.Bytes
	for _, v := range t.Launch.Team {
		bytes += v.Type.Size
	}
	add := func(what string, elem *ir.Type, n int) {
		more := elem.Size * order.LastLanes
		if v := t.Slots[slotOf(what, elem, n)]; v != nil {
			more -= v.Type.Size
		}
		bytes += max(more, 0)
	}
	for i, r := range list {
		add(slotValue, r.Place.Type(), i)
		if r.Index != nil {
			add(slotIndex, r.Index.Type(), i)
		}
	}
	return bytes <= t.Device().Memory.StaticShared*3/4
}

// dealsSeen reports whether a schedule distributes the iterations of a loop and the kernel can
// observe how.
func dealsSeen(k *ir.Kernel, d *ir.Directive) bool {
	if d.Schedule == (ir.Schedule{}) && d.DistSchedule == (ir.Schedule{}) {
		return false
	}
	for _, c := range []ir.Expr{d.Schedule.Chunk, d.DistSchedule.Chunk} {
		if c != nil && !cannotFail(c) {
			return true
		}
	}
	return asksNumbers(k.Body) || slices.ContainsFunc(k.Funcs, func(f *ir.Func) bool { return asksNumbers(f.Body) })
}

// waits reports whether list contains a construct whose threads synchronise, or a loop that threads
// share.
func waits(list []ir.Stmt) bool {
	found := false
	ir.WalkStmts(list, func(s ir.Stmt) bool {
		switch s := s.(type) {
		case *ir.Construct, *ir.Barrier:
			found = true
		case *ir.For:
			d := s.Directive
			found = found || d != nil && (d.Parts&ir.Parallel != 0 || strategy.ByLanes(d.Nested.Kind))
		}
		return !found
	})
	return found
}

// groupsOf returns the number of groups of a loop with total iterations, in blocks of length.
func groupsOf(total, length ir.Expr, cut order.Cut, at ir.Pos) ir.Expr {
	return roundedUp(total, build.Binary(ir.Mul, length, build.Int(cut.Blocks, at), at), at)
}

func roundedUp(n, by ir.Expr, at ir.Pos) ir.Expr {
	more := build.Binary(ir.Add, n, build.Binary(ir.Sub, by, build.Int(1, at), at), at)
	return &ir.Binary{Op: ir.Div, X: more, Y: by, T: ir.IntType, At: at}
}

// blockLength returns the length of a block in a loop with total iterations (order.Cut).
func blockLength(total ir.Expr, cut order.Cut, by sharers, at ir.Pos) ir.Expr {
	blocks := cut.Blocks * cut.MostGroups()
	if by == inIteration {
		blocks = order.LastBlocks
	}
	most := build.Int(cut.Block*blocks, at)
	return build.Binary(ir.Mul, &ir.Math{Fn: ir.IMax, Args: []ir.Expr{roundedUp(total, most, at), build.Int(1, at)}, T: ir.IntType, At: at}, build.Int(cut.Block, at), at)
}

// noteBlocks records the launch shape for the loop: a team for each group and a warp for each of
// its blocks, or a warp for each group.
func (t *team) noteBlocks(sp *spaces.Space, d *ir.Directive, by sharers) {
	at, name := sp.At, sp.Loops[0].Var.Text()
	total, cut := sp.Count(), order.CutOf(d.Reductions[0])
	length := blockLength(total, cut, by, at)
	lanes := build.Binary(ir.Mul, roundedUp(total, length, at), build.Int(order.Lanes, at), at)
	most := int64(order.LastLanes)
	if cut.Blocks == 1 && by == byTeam {
		most = maxTeam
	}
	where, mend := "blocks for the warps of one team", "teams distribute parallel for spreads it over all teams"
	if by == byLeague {
		where, mend = "blocks for the warps of all teams", "fastmath, where any order will do"
	}
	if by == byLeague && cut.Blocks == 1 {
		t.noteCount(lanes, &t.Trips.Grid)
		t.Trips.Resident = t.Trips.Resident || residentGrid(d, true)
	} else {
		t.noteCount(&ir.Math{Fn: ir.IMin, Args: []ir.Expr{lanes, build.Int(most, at)}, T: ir.IntType, At: at}, &t.Trips.Threads)
	}
	if by == byLeague && cut.Blocks > 1 {
		t.noteCount(groupsOf(total, length, cut, at), &t.Trips.Team)
	}
	because := forms.Because(d) + "; sums have the order of the number of iterations"
	if k := d.Schedule.Kind; k != ir.ScheduleNone {
		because += ", and schedule(" + k.String() + ") is left aside: nothing in the kernel sees it"
	}
	t.Decide(at, "loop "+name, where, because, mend)
}

// openBlocks declares the variables of the loop and of the code after it.
func (t *team) openBlocks(sp *spaces.Space, d *ir.Directive, red *reductions, by sharers) (b *blocks, out []ir.Stmt) {
	s, at := sp.Loops[0], sp.At
	b = &blocks{team: t, red: red, cut: order.CutOf(d.Reductions[0]), by: by, at: at}
	b.lo, out = b.Temp("start", build.ToInt(s.Lo), out)
	b.step, out = b.Temp("step", build.ToInt(s.Step), out)
	hi, out := b.Temp("end", build.ToInt(s.Hi), out)
	b.total, out = b.Temp("total", build.Trips(s, b.lo, hi, b.step), out)
	b.length, out = b.Temp("block", blockLength(b.total, b.cut, by, at), out)
	if by != inIteration {
		for i := range red.items {
			it := &red.items[i]
			it.part = b.partsOf(it.acc)
			if it.idx != nil {
				it.idxPart = b.partsOf(it.idx)
			}
		}
	}
	red.blocks = b
	return b, out
}

// partsOf returns the location of the values of groups, separate for each team if each team runs
// the loop.
func (b *blocks) partsOf(v *ir.Var) part {
	if b.by == byTeam && !b.Single {
		return b.newPart(v.Name+"Parts", v.Type, b.cut.MostGroups(), b.at)
	}
	return part{pad: b.pad(v.Name+"Parts", storable(v.Type), build.Int(b.cut.MostGroups(), b.at), b.at), elem: v.Type, n: 1}
}

// placeIn returns the position of group k in a part.
func (b *blocks) placeIn(k ir.Expr) (team, e ir.Expr) {
	if b.by == byTeam && !b.Single {
		return build.Query(ir.TeamNum, b.at), k
	}
	return k, build.Int(0, b.at)
}

// walk returns the loop over sp. Thread 0 stores the value of each group in scratch memory. In an
// iteration of another loop there is one group, and every thread has its value afterwards.
func (b *blocks) walk(sp *spaces.Space, body []ir.Stmt) []ir.Stmt {
	at := b.at
	list := b.scalars()
	if b.by == inIteration {
		return append(b.meet(list, func(block, lane ir.Expr) []ir.Stmt {
			return b.walkBlock(sp, body, build.Binary(ir.Mul, block, b.length, at), lane)
		}), b.inGroup(list)...)
	}
	begin, step := build.Query(ir.TeamNum, at), build.Query(ir.NumTeams, at)
	if b.by == byTeam {
		begin, step = build.Int(0, at), build.Int(1, at)
	}
	if b.cut.Blocks == 1 {
		return b.walkGroups(list, begin, step, func(group, lane ir.Expr) []ir.Stmt {
			return b.walkBlock(sp, body, build.Binary(ir.Mul, group, b.length, at), lane)
		})
	}
	group := b.Local("group", ir.IntType, at)
	first := build.Binary(ir.Mul, build.Ref(group, at), build.Binary(ir.Mul, b.length, build.Int(order.LastBlocks, at), at), at)
	work := append([]ir.Stmt{build.Barrier(at)}, b.meet(list, func(block, lane ir.Expr) []ir.Stmt {
		return b.walkBlock(sp, body, build.Binary(ir.Add, first, build.Binary(ir.Mul, block, b.length, at), at), lane)
	})...)
	work = append(append(work, b.inGroup(list)...), &ir.If{Cond: forms.Thread0(at), Then: b.leave(build.Ref(group, at)), At: at})
	return []ir.Stmt{&ir.Block{Body: b.counted(group, begin, step, build.Compare(ir.Lt, first, b.total, at), work), At: at}}
}

// counted returns a loop in which v starts at first and advances by step while cond holds.
func (b *blocks) counted(v *ir.Var, first, step, cond ir.Expr, body []ir.Stmt) []ir.Stmt {
	at := b.at
	return []ir.Stmt{build.Decl(v, first, at), &ir.While{Label: &ir.Label{}, Cond: cond, Body: body, At: at,
		Post: []ir.Stmt{build.Assign(build.Ref(v, at), build.Binary(ir.Add, build.Ref(v, at), step, at), at)}}}
}

// walkGroups is walk for groups of one block. one returns the code of a lane of a group. Each warp
// runs a group, and its first lane stores the value; without warps, a team runs as many groups
// concurrently as it has slots. Groups are distributed round robin over the teams; team is the
// number of this one.
func (b *blocks) walkGroups(list []scalar, team, teams ir.Expr, one func(group, lane ir.Expr) []ir.Stmt) []ir.Stmt {
	at := b.at
	groups, out := b.Temp("groups", groupsOf(b.total, b.length, b.cut, at), nil)
	v := b.Local("group", ir.IntType, at)
	group := build.Ref(v, at)
	within := func(g ir.Expr) ir.Expr { return build.Compare(ir.Lt, g, groups, at) }
	if b.Shuffles() {
		b.Launch.Warps = true
		warps := func(q ir.QueryKind) ir.Expr {
			return build.Binary(ir.Div, build.Query(q, at), build.Query(ir.WarpSize, at), at)
		}
		lane := build.Query(ir.Lane, at)
		first := build.Binary(ir.Add, build.Binary(ir.Mul, team, warps(ir.NumThreads), at), warps(ir.ThreadNum), at)
		work := append(append(b.identities(list), one(group, lane)...), b.halve(list)...)
		work = append(work, &ir.If{Cond: build.Compare(ir.Eq, lane, build.Int(0, at), at), Then: b.leave(group), At: at})
		out = append(out, b.counted(v, first, build.Binary(ir.Mul, teams, warps(ir.NumThreads), at), within(group), work)...)
		return []ir.Stmt{&ir.Block{Body: out, At: at}}
	}
	atOnce := build.Int(order.LastBlocks, at)
	work := append([]ir.Stmt{build.Barrier(at)}, b.meet(list, func(block, lane ir.Expr) []ir.Stmt {
		return one(build.Binary(ir.Add, group, block, at), lane)
	})...)
	work = append(work, b.halveSlots(list, order.LastBlocks)...)
	work = append(work, b.threads(order.LastBlocks, func(k ir.Expr) []ir.Stmt {
		mine, known := b.Temp("mine", build.Binary(ir.Add, group, k, at), nil)
		var leave []ir.Stmt
		for _, s := range list {
			leave = append(leave, b.fromSlot(s, b.placeOf(k, build.Int(0, at)), at)...)
		}
		return append(known, &ir.If{Cond: within(mine), Then: append(leave, b.leave(mine)...), At: at})
	})...)
	out = append(out, b.counted(v, build.Binary(ir.Mul, team, atOnce, at), build.Binary(ir.Mul, teams, atOnce, at), within(group), work)...)
	return []ir.Stmt{&ir.Block{Body: out, At: at}}
}

// walkBlock returns the part of a lane in the block that starts with iteration first.
func (b *blocks) walkBlock(sp *spaces.Space, body []ir.Stmt, first, lane ir.Expr) []ir.Stmt {
	at, f := b.at, sp.Loops[0]
	from, out := b.Temp("from", first, nil)
	until, out := b.Temp("until", &ir.Math{Fn: ir.IMin, Args: []ir.Expr{build.Binary(ir.Add, from, b.length, at), b.total}, T: ir.IntType, At: at}, out)
	if step, ok := query.Int64(f.Step); ok && step == 1 && f.Rel == ir.Lt && sp.Direct() && !sp.MayWrap {
		number := func(n ir.Expr) ir.Expr { return build.Convert(f.Var.Type, build.Binary(ir.Add, b.lo, n, at), at) }
		cut := *f
		cut.Lo = number(from)
		cut.Hi, out = b.Temp("end", number(until), out)
		part := &spaces.Space{Loops: []*ir.For{&cut}, Order: []int{0}, Label: sp.Label, At: at}
		return append(out, strategy.WalkBlock(b.Sharer, part, lane, order.Lanes, body, b.red.sums())...)
	}
	// A counter with another step, or with few bits, may wrap after its last value, so iterations
	// are counted.
	k := b.Local("it", ir.IntType, at)
	value := build.Binary(ir.Add, b.lo, build.Binary(ir.Mul, build.Ref(k, at), b.step, at), at)
	one := append([]ir.Stmt{build.Decl(f.Var, build.Convert(f.Var.Type, value, at), at)}, unchecked.Loops(b.team.teamLaunch.Sharer.Crew, body)...)
	return append(out, build.Decl(k, build.Binary(ir.Add, from, lane, at), at),
		&ir.While{Label: spaces.LabelOr(sp.Label), Cond: build.Compare(ir.Lt, build.Ref(k, at), until, at), Body: one, At: at,
			Post: []ir.Stmt{build.Assign(build.Ref(k, at), build.Binary(ir.Add, build.Ref(k, at), build.Int(order.Lanes, at), at), at)}})
}

// scalars returns the private copies into which a block combines values.
func (b *blocks) scalars() []scalar {
	var out []scalar
	for i, it := range b.red.items {
		out = append(out, scalar{op: it.Op, acc: it.acc, idx: it.idx, n: i, lanes: true})
	}
	return out
}

// leave stores the value of a group.
func (b *blocks) leave(group ir.Expr) []ir.Stmt {
	at := b.at
	var store []ir.Stmt
	for _, it := range b.red.items {
		team, e := b.placeIn(group)
		store = append(store, it.part.store(team, e, build.Ref(it.acc, at), at))
		if it.idx != nil {
			store = append(store, it.idxPart.store(team, e, build.Ref(it.idx, at), at))
		}
	}
	return store
}

// identities initialises the copies of a thread with the identities.
func (b *blocks) identities(list []scalar) []ir.Stmt {
	at := b.at
	var out []ir.Stmt
	for _, s := range list {
		out = append(out, build.Assign(build.Ref(s.acc, at), build.Identity(s.op, s.acc.Type, at), at))
		if s.idx != nil {
			out = append(out, build.Assign(build.Ref(s.idx, at), build.Identity(ir.Min, s.idx.Type, at), at))
		}
	}
	return out
}

// meet returns the code for the blocks of a group. one returns the code of a lane of a block.
// Afterwards the values of the lanes are in their slots, those of a block next to each other.
func (b *blocks) meet(list []scalar, one func(block, lane ir.Expr) []ir.Stmt) []ir.Stmt {
	at := b.at
	for _, s := range list {
		b.readSlot(s, at)
	}
	keep := func(body []ir.Stmt, place ir.Expr) []ir.Stmt {
		out := append(b.identities(list), body...)
		for _, s := range list {
			out = append(out, b.toSlot(s, place, at)...)
		}
		return out
	}
	if b.Shuffles() {
		b.Launch.Warps = true
		warps := func(q ir.QueryKind) ir.Expr {
			return build.Binary(ir.Div, build.Query(q, at), build.Query(ir.WarpSize, at), at)
		}
		lane := build.Query(ir.Lane, at)
		return append(b.each("block", warps(ir.ThreadNum), order.LastBlocks, warps(ir.NumThreads), func(block ir.Expr) []ir.Stmt {
			return keep(one(block, lane), b.placeOf(block, lane))
		}), build.Barrier(at))
	}
	part := func(op ir.Op, q ir.Expr) ir.Expr { return build.Binary(op, q, build.Int(order.Lanes, at), at) }
	return append(b.threads(order.LastLanes, func(q ir.Expr) []ir.Stmt {
		return keep(one(part(ir.Div, q), part(ir.Rem, q)), q)
	}), build.Barrier(at))
}

// placeOf returns the slot number of a lane.
func (b *blocks) placeOf(block, lane ir.Expr) ir.Expr {
	return build.Binary(ir.Add, build.Binary(ir.Mul, block, build.Int(order.Lanes, b.at), b.at), lane, b.at)
}

// threads returns a loop that distributes the numbers below n over the threads of the team.
func (b *blocks) threads(n int64, body func(i ir.Expr) []ir.Stmt) []ir.Stmt {
	return b.each("place", build.Query(ir.ThreadNum, b.at), n, build.Query(ir.NumThreads, b.at), body)
}

// addBlocks adds the values of a lane from the blocks after the first to list, in their order.
func (b *blocks) addBlocks(list []scalar, lane ir.Expr) []ir.Stmt {
	v := b.Local("block", ir.IntType, b.at)
	var more []ir.Stmt
	for _, s := range list {
		more = append(more, b.foldSlot(s, b.placeOf(build.Ref(v, b.at), lane), b.at)...)
	}
	return []ir.Stmt{&ir.For{Label: &ir.Label{}, Var: v, Lo: build.Int(1, b.at), Hi: build.Int(order.LastBlocks, b.at), Step: build.Int(1, b.at), Rel: ir.Lt, Body: more, At: b.at}}
}

// halve combines the values of all lanes, each in its own copy of list, into list of every thread:
// by halves.
func (b *blocks) halve(list []scalar) []ir.Stmt {
	at := b.at
	var out []ir.Stmt
	for n := int64(order.Lanes / 2); n > 0; n /= 2 {
		for _, s := range list {
			swapped := func(v *ir.Var) ir.Expr {
				if v == nil {
					return nil
				}
				other := b.Local("other", v.Type, at)
				out = append(out, build.Decl(other, &ir.Shuffle{Kind: ir.ShuffleXor, X: build.Ref(v, at), By: build.Int(n, at), At: at}, at))
				return build.Ref(other, at)
			}
			value := swapped(s.acc)
			out = append(out, fold(s, value, swapped(s.idx), at)...)
		}
	}
	return out
}

// halveSlots combines the lanes of each block in its first slot, by halves.
func (b *blocks) halveSlots(list []scalar, blocks int64) []ir.Stmt {
	at := b.at
	var out []ir.Stmt
	for n := int64(order.Lanes / 2); n > 0; n /= 2 {
		out = append(out, b.threads(n*blocks, func(q ir.Expr) []ir.Stmt {
			place := q
			if blocks > 1 {
				part := func(op ir.Op) ir.Expr { return build.Binary(op, q, build.Int(n, at), at) }
				place = b.placeOf(part(ir.Div), part(ir.Rem))
			}
			var meet []ir.Stmt
			for _, s := range list {
				meet = append(meet, b.fromSlot(s, place, at)...)
				meet = append(meet, b.foldSlot(s, build.Binary(ir.Add, place, build.Int(n, at), at), at)...)
				meet = append(meet, b.toSlot(s, place, at)...)
			}
			return meet
		})...)
		out = append(out, build.Barrier(at))
	}
	return out
}

// each returns a loop from first to n-1 by step.
func (b *blocks) each(name string, first ir.Expr, n int64, step ir.Expr, body func(i ir.Expr) []ir.Stmt) []ir.Stmt {
	v := b.Local(name, ir.IntType, b.at)
	i := build.Ref(v, b.at)
	return b.counted(v, first, step, build.Compare(ir.Lt, i, build.Int(n, b.at), b.at), body(i))
}

// inGroup sets list of every thread to the value of a group, whose lanes are in the slots.
func (b *blocks) inGroup(list []scalar) []ir.Stmt {
	at := b.at
	if b.Shuffles() {
		lane := build.Query(ir.Lane, at)
		var out []ir.Stmt
		for _, s := range list {
			out = append(out, b.fromSlot(s, lane, at)...)
		}
		return append(append(out, b.addBlocks(list, lane)...), b.halve(list)...)
	}
	out := b.threads(order.Lanes, func(lane ir.Expr) []ir.Stmt {
		var add []ir.Stmt
		for _, s := range list {
			add = append(add, b.fromSlot(s, lane, at)...)
		}
		add = append(add, b.addBlocks(list, lane)...)
		for _, s := range list {
			add = append(add, b.toSlot(s, lane, at)...)
		}
		return add
	})
	out = append(append(out, build.Barrier(at)), b.halveSlots(list, 1)...)
	for _, s := range list {
		out = append(out, b.fromSlot(s, build.Int(0, at), at)...)
	}
	return out
}

// finishLeague makes the last team to finish combine the values of the groups.
func (b *blocks) finishLeague(barrier func(ir.Pos) []ir.Stmt) []ir.Stmt {
	if b.depth > 0 {
		panic("gompss: bug: a reduction over the league in blocks is in a loop of the teams")
	}
	at := b.at
	b.Decide(at, "reduction", "over the league", "the team that finishes last combines the values of groups of iterations: the same bits on every device", "")
	last := b.Slot(crews.Slot{What: "last"}, ir.BoolType, "last", at)
	var w analysis.Touch
	w.Writes.AddVar(last)
	var out []ir.Stmt
	if b.open.beyondTeam() || b.cut.Blocks == 1 {
		out = barrier(at) // all accesses of the threads precede the ticket and the code after it
	} else {
		out = b.sync(w, true, at)
	}
	out = append(out, &ir.If{Cond: forms.Thread0(at), Then: b.ticket(last, at), At: at})
	b.open.solo.Add(w)
	out = append(out, barrier(at)...)
	b.open.all.Reads.AddVar(last)
	before := b.open.clone()
	finish := append(b.meetGroups(), b.apply(b.red.items, at)...)
	b.open.add(before)
	b.last = &ir.If{Cond: build.Ref(last, at), Then: finish, At: at}
	return append(out, b.last)
}

// meetGroups sets the copies of every thread of the team to the combined values of the groups in
// scratch memory.
func (b *blocks) meetGroups() []ir.Stmt {
	at := b.at
	groups, out := b.Temp("groups", groupsOf(b.total, b.length, b.cut, at), nil)
	list := b.scalars()
	atOnce := int64(1)
	if b.cut.Blocks == 1 {
		atOnce = groupsAtOnce
	}
	out = append(out, b.meet(list, func(block, lane ir.Expr) []ir.Stmt {
		v := b.Local("group", ir.IntType, at)
		var loads, folds []ir.Stmt
		for n := range atOnce {
			k := build.Binary(ir.Add, build.Ref(v, at), build.Int(n*order.LastLanes, at), at)
			if n == 0 {
				load, one := b.takeGroup(list, k)
				loads, folds = append(loads, load...), append(folds, one...)
				continue
			}
			load, one := b.takeGroup(list, &ir.Math{Fn: ir.IMin, Args: []ir.Expr{k, build.Binary(ir.Sub, groups, build.Int(1, at), at)}, T: ir.IntType, At: at})
			loads, folds = append(loads, load...), append(folds, &ir.If{Cond: build.Compare(ir.Lt, k, groups, at), Then: one, At: at})
		}
		return b.counted(v, b.placeOf(block, lane), build.Int(atOnce*order.LastLanes, at), build.Compare(ir.Lt, build.Ref(v, at), groups, at), append(loads, folds...))
	})...)
	return append(out, b.inGroup(list)...)
}

// groupsAtOnce is the number of values of groups that a lane loads before it combines the first of
// them, if there may be many: the loads overlap.
const groupsAtOnce = 4

// takeGroup returns the loads of the values of group k, and the code that combines them into list.
func (b *blocks) takeGroup(list []scalar, k ir.Expr) (loads, folds []ir.Stmt) {
	at := b.at
	for i, it := range b.red.items {
		team, e := b.placeIn(k)
		load, value := it.part.load(b.teamLaunch, team, e, at)
		loads = append(loads, load...)
		var idx ir.Expr
		if it.idx != nil {
			load, idx = it.idxPart.load(b.teamLaunch, team, e, at)
			loads = append(loads, load...)
		}
		folds = append(folds, fold(list[i], value, idx, at)...)
	}
	return loads, folds
}

// finishTeam sets the copies of every thread of a single team to the result.
func (b *blocks) finishTeam() []ir.Stmt {
	if b.by == inIteration {
		return nil // the threads have it
	}
	return append([]ir.Stmt{build.Barrier(b.at)}, b.meetGroups()...)
}
