package codegen

import "github.com/gompss/gompss/codegen/ir"

// fromCounter reports whether teams take their next iterations from a counter. The other kinds are dealt out one by
// one; inside one team all are, since its threads run in step.
func fromCounter(k ir.ScheduleKind) bool {
	return k == ir.ScheduleCounter || k == ir.ScheduleDynamic || k == ir.ScheduleGuided
}

// asksCounter reports whether the teams take the iterations of a loop of the whole league from a counter: chunks that
// dist_schedule deals out are dealt out already, and the threads of one team run in step.
func asksCounter(d *ir.Directive) bool {
	return fromCounter(d.Schedule.Kind) && d.DistSchedule.Chunk == nil
}

// residentGrid reports whether the grid of a loop of the whole league has no more teams than the device runs at once.
// schedule(cyclic) asks for such a grid and schedule(onetoone) for a thread an iteration. Otherwise a team that costs
// something of its own decides: the partial results of a reduction, or the chunks taken from a counter.
// Source: Ozen, Compiler and Runtime Based Parallelization & Optimization for GPUs, 2017, section 6.2.
func residentGrid(d *ir.Directive, reduces bool) bool {
	switch d.Schedule.Kind {
	case ir.ScheduleOneToOne:
		return false
	case ir.ScheduleCyclic:
		return true
	}
	return reduces || asksCounter(d)
}

// explainGrid says which grid a schedule asks for by name.
func (t *team) explainGrid(sp *space, k ir.ScheduleKind) {
	grids := map[ir.ScheduleKind][2]string{
		ir.ScheduleOneToOne: {"a grid of one thread an iteration", "schedule(cyclic)"},
		ir.ScheduleCyclic:   {"a grid of the teams that run at once, each with iterations in turns", "schedule(onetoone)"},
	}
	if g, ok := grids[k]; ok {
		t.decide(sp.at, "loop "+sp.loops[0].Var.Name, g[0], "schedule("+k.String()+") says so", g[1])
	}
}

// chunks returns the loop in which a team takes a chunk of the iterations of sp at a time, which its threads share out,
// until none is left. With schedule(dynamic) the first chunk of each team is its own without asking. With
// schedule(guided) a chunk is its share of what is left, and the clause's chunk the least that a team takes.
// Source: 001_ab8d859d95f513d8, section 6; differs: nothing resets the counter, it is new and zero in each run.
func (t *team) chunks(sp *space, d *ir.Directive, p portion, body, last []ir.Stmt) []ir.Stmt {
	at := sp.at
	t.decide(at, "loop "+sp.loops[0].Var.Name, "chunks from a counter", "schedule("+d.Schedule.Kind.String()+") says so",
		"schedule(static)")
	c, out := t.counted(sp)
	least, out := t.temp("chunk", t.chunkOf(d, p, c.total, at), out)
	guided := d.Schedule.Kind == ir.ScheduleGuided
	size := func(taken ir.Expr) ir.Expr {
		if guided {
			return guidedChunk(c.total, taken, least, at)
		}
		return least
	}
	box := t.slot(slot{what: "next"}, ir.IntType, "next", at)
	n := t.counterOf(sp, guided, at)
	if n.round != nil {
		out = append(out, assign(ref(n.round, at), binary(ir.Add, ref(n.round, at), intConst(1, at), at), at))
	}
	base := t.local("base", ir.IntType, at)
	first := intConst(0, at)
	var begin []ir.Stmt
	if d.Schedule.Kind == ir.ScheduleDynamic {
		begin = []ir.Stmt{decl(base, binary(ir.Mul, query(ir.TeamNum, at), least, at), at)}
		first = binary(ir.Mul, query(ir.NumTeams, at), least, at)
	} else {
		begin = append([]ir.Stmt{decl(base, nil, at)}, t.take(n, c.total, box, base, size, first, at)...)
	}
	it := t.local("it", ir.IntType, at)
	end := t.local("stop", ir.IntType, at)
	stop := &ir.Math{Fn: ir.IMin, Args: []ir.Expr{binary(ir.Add, ref(base, at), size(ref(base, at)), at), c.total}, T: ir.IntType, At: at}
	run := []ir.Stmt{
		decl(end, stop, at),
		decl(it, binary(ir.Add, ref(base, at), p.first, at), at),
		t.iterate(sp, c, it, compare(ir.Lt, ref(it, at), ref(end, at), at), p.stride, body, last),
	}
	if p.only != nil {
		run = []ir.Stmt{&ir.If{Cond: p.only, Then: run, At: at}}
	}
	loop := &ir.While{Label: &ir.Label{}, Cond: compare(ir.Lt, ref(base, at), c.total, at), Body: run,
		Post: t.take(n, c.total, box, base, size, first, at), At: at}
	out = append(append(out, begin...), loop)
	return []ir.Stmt{&ir.Block{Body: out, At: at}}
}

// chunkTurns is how many iterations of each thread a chunk has where there are enough, and chunkShare how many chunks
// each team should find: a counter that is asked for every iteration of a thread costs a loop over memory two thirds of
// its rate on an H200, one that is asked every eighth nothing.
const chunkTurns, chunkShare = 8, 4

// chunkOf is the chunk of the clause, or a few iterations for each thread.
func (t *team) chunkOf(d *ir.Directive, p portion, total ir.Expr, at ir.Pos) ir.Expr {
	if d.Schedule.Chunk == nil && d.Schedule.Kind == ir.ScheduleGuided {
		return p.stride
	}
	if d.Schedule.Chunk == nil {
		mul := func(x, y ir.Expr) ir.Expr { return binary(ir.Mul, x, y, at) }
		limit := func(fn ir.MathFn, x ir.Expr, c int64) ir.Expr {
			return &ir.Math{Fn: fn, Args: []ir.Expr{x, intConst(c, at)}, T: ir.IntType, At: at}
		}
		each := mul(mul(query(ir.NumTeams, at), p.stride), intConst(chunkShare, at))
		turns := &ir.Binary{Op: ir.Div, X: total, Y: each, T: ir.IntType, At: at}
		return mul(p.stride, limit(ir.IMin, limit(ir.IMax, turns, 1), chunkTurns))
	}
	return t.chunkWithin(masterOf(d.Schedule.Chunk), total, at)
}

// guidedShare is how many turns of all teams a guided loop would take, did its chunks not shrink.
const guidedShare = 2

// guidedChunk is what a team takes when taken iterations are: an even share of half the rest, but at least so many.
func guidedChunk(total, taken, least ir.Expr, at ir.Pos) ir.Expr {
	shares := binary(ir.Mul, query(ir.NumTeams, at), intConst(guidedShare, at), at)
	share := &ir.Binary{Op: ir.Div, X: binary(ir.Sub, total, taken, at), Y: shares, T: ir.IntType, At: at}
	return &ir.Math{Fn: ir.IMax, Args: []ir.Expr{share, least}, T: ir.IntType, At: at}
}

// A counter is where teams take their chunks. A loop that the teams may run several times has rounds: a team that has
// left one goes on to the next while others are still in it, so the counter says which round it counts.
type counter struct {
	pad   *ir.Var
	round *ir.Var // of the thread: how often it has come to the loop; nil where that is once
}

// roundBits is how far the number of the round lies above the iterations taken in it.
const roundBits = 42

// counterOf returns the counter of a loop, the same one each time that the loop is lowered. rounds: it counts them even
// where there is one, because it cannot just be added to.
func (t *team) counterOf(sp *space, rounds bool, at ir.Pos) counter {
	v := sp.loops[0].Var
	n, ok := t.counters[v]
	if !ok {
		n.pad = t.pad("counter", ir.Int64Type, intConst(1, at), at)
		if t.depth > 0 || rounds {
			n.round = t.local("round", ir.IntType, at)
			t.front = append(t.front, decl(n.round, nil, at))
		}
		t.counters[v] = n
	}
	return n
}

// take gives the team its next chunk, of size(what is taken already) iterations. The second barrier keeps thread 0 from taking another before all have read this.
func (t *team) take(n counter, total ir.Expr, box, base *ir.Var, size func(ir.Expr) ir.Expr, first ir.Expr, at ir.Pos) []ir.Stmt {
	old := t.local("taken", ir.IntType, at)
	place := index(ref(n.pad, at), intConst(0, at), at)
	ask := []ir.Stmt{decl(old, nil, at)}
	if n.round == nil {
		ask = append(ask, &ir.Atomic{Kind: ir.AtomicCapture, Op: ir.Add, Place: place, Value: size(nil), Old: ref(old, at), At: at})
	} else {
		ask = append(ask, t.takeInRound(n, place, old, total, size, at)...)
	}
	ask = append(ask, assign(ref(box, at), binary(ir.Add, first, ref(old, at), at), at))
	t.open = open{}
	return []ir.Stmt{barrier(at), &ir.If{Cond: thread0(at), Then: ask, At: at}, barrier(at),
		assign(ref(base, at), ref(box, at), at)}
}

// takeInRound leaves in taken what this round had taken before, and takes a chunk. A counter of an earlier round begins
// again: who comes to the next round has seen the end of it. One of a later round says that this one is over.
func (t *team) takeInRound(n counter, place ir.Expr, taken *ir.Var, total ir.Expr, size func(ir.Expr) ir.Expr, at ir.Pos) []ir.Stmt {
	was, seen, of := t.local("was", ir.IntType, at), t.local("seen", ir.IntType, at), t.local("of", ir.IntType, at)
	shift := func(op ir.Op, x ir.Expr) ir.Expr {
		return &ir.Binary{Op: op, X: x, Y: intConst(roundBits, at), T: ir.IntType, At: at}
	}
	loop := &ir.While{Label: &ir.Label{}, At: at}
	leave := &ir.Break{Label: loop.Label, At: at}
	round := ref(n.round, at)
	begun := shift(ir.Shl, round)
	now := binary(ir.Add, binary(ir.Add, begun, ref(taken, at), at), size(ref(taken, at)), at)
	loop.Body = []ir.Stmt{
		decl(of, shift(ir.Shr, ref(was, at)), at),
		&ir.If{Cond: compare(ir.Gt, ref(of, at), round, at), Then: []ir.Stmt{assign(ref(taken, at), total, at), leave}, At: at},
		assign(ref(taken, at), choose(compare(ir.Lt, ref(of, at), round, at), intConst(0, at),
			binary(ir.Sub, ref(was, at), begun, at), at), at),
		&ir.Atomic{Kind: ir.AtomicCompare, Place: place, Compare: ref(was, at), Value: now, Old: ref(seen, at), At: at},
		&ir.If{Cond: compare(ir.Eq, ref(seen, at), ref(was, at), at), Then: []ir.Stmt{leave}, At: at},
		assign(ref(was, at), ref(seen, at), at),
	}
	return []ir.Stmt{
		decl(was, nil, at), decl(seen, nil, at),
		&ir.Atomic{Kind: ir.AtomicRead, Place: place, Old: ref(was, at), At: at}, loop,
	}
}
