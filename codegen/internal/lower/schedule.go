package lower

import (
	"slices"

	"github.com/gompss/gompss/codegen/internal/lower/crews"
	"github.com/gompss/gompss/codegen/internal/lower/forms"
	"github.com/gompss/gompss/codegen/internal/lower/spaces"
	"github.com/gompss/gompss/codegen/internal/lower/strategy"
	"github.com/gompss/gompss/codegen/internal/mapping"
	"github.com/gompss/gompss/codegen/ir"
	"github.com/gompss/gompss/codegen/ir/build"
)

// fromCounter reports whether teams obtain their next iterations from a counter. Other kinds of
// schedules distribute single iterations. Inside one team all kinds do, because its threads run in
// lockstep.
func fromCounter(k ir.ScheduleKind) bool {
	return k == ir.ScheduleCounter || k == ir.ScheduleDynamic || k == ir.ScheduleGuided
}

// asksCounter reports whether the teams obtain the iterations of a loop of the whole league from a
// counter. Chunks of dist_schedule are already distributed, and the threads of one team run in
// lockstep.
func asksCounter(d *ir.Directive) bool {
	return fromCounter(d.Schedule.Kind) && d.DistSchedule.Chunk == nil
}

// residentGrid reports whether the grid of a loop of the whole league has at most as many teams as
// the device can run concurrently. schedule(cyclic) requests such a grid, and schedule(onetoone) a
// thread for each iteration. For other schedules the cost of a team decides: a partial result of a
// reduction, or the access to the counter. Source: Ozen, Compiler and Runtime Based Parallelization
// & Optimization for GPUs, 2017, section 6.2.
func residentGrid(d *ir.Directive, reduces bool) bool {
	switch d.Schedule.Kind {
	case ir.ScheduleOneToOne:
		return false
	case ir.ScheduleCyclic:
		return true
	}
	return reduces || asksCounter(d)
}

// dealsUnseen reports whether d, of a loop of the whole league, has a schedule that the kernel
// cannot observe.
func dealsUnseen(k *ir.Kernel, d *ir.Directive) bool {
	if mapping.WholeSchedule(d) || d.DistSchedule.Chunk != nil || len(d.Reductions) > 0 {
		return false
	}
	return (d.Schedule.Chunk == nil || cannotFail(d.Schedule.Chunk)) && !asksNumbers(k.Body) &&
		!slices.ContainsFunc(k.Funcs, func(f *ir.Func) bool { return asksNumbers(f.Body) })
}

// regroup returns the loop over n by a strategy that improves coalescing, so that adjacent threads
// read adjacent memory; nil if none fits. Coalescing is worth more than any schedule, and the
// device starts teams as multiprocessors become free, which balances the load like the dynamic
// schedules.
func regroup(t *teamLaunch, n strategy.Sharing) []ir.Stmt {
	kind := n.D.Schedule.Kind
	own := *n.D
	own.Schedule = ir.Schedule{}
	n.D = &own
	out := strategy.Regroup(t.Sharer, n)
	if out != nil {
		t.Trips.Cyclic = kind == ir.ScheduleCyclic
		t.Decide(n.Sp.At, "loop "+n.Sp.Loops[0].Var.Text(), "blocks of iterations that the device deals to teams",
			"schedule("+kind.String()+") cannot tell which thread runs an iteration, and neighbours read together", strategy.AsItIs)
	}
	return out
}

// explainGrid reports the grid that a schedule requests by name.
func (t *teamLaunch) explainGrid(sp *spaces.Space, k ir.ScheduleKind, regrouped bool) {
	if regrouped && k != ir.ScheduleCyclic {
		return
	}
	grids := map[ir.ScheduleKind][2]string{
		ir.ScheduleOneToOne: {"a grid of one thread an iteration", "schedule(cyclic)"},
		ir.ScheduleCyclic:   {"a grid of the teams that run at once, each with iterations in turns", "schedule(onetoone)"},
	}
	if g, ok := grids[k]; ok {
		t.Decide(sp.At, "loop "+sp.Loops[0].Var.Text(), g[0], "schedule("+k.String()+") says so", g[1])
	}
}

// schedules creates the loops whose iterations are distributed in chunks.
type schedules struct {
	*teamLaunch
	*barriers
	counters map[*ir.Var]counter // of the loops, by their variables
	front    []ir.Stmt           // declarations at the start of the launch
}

// chunks returns the loop in which a team takes one chunk of the iterations of sp at a time,
// distributed over its threads, until none is left. With schedule(dynamic) the first chunk of each
// team needs no access to the counter. Source: Ozen, Compiler and Runtime Based Parallelization &
// Optimization for GPUs, 2017, section 6; differs: nothing resets the counter, which is new and
// zero in each run.
func (sc *schedules) chunks(sp *spaces.Space, d *ir.Directive, p spaces.Portion, body, last []ir.Stmt) []ir.Stmt {
	at := sp.At
	sc.Decide(at, "loop "+sp.Loops[0].Var.Text(), "chunks from a counter", "schedule("+d.Schedule.Kind.String()+") says so",
		"schedule(static)")
	c, out := sc.Counted(sp)
	var cut chunking
	if d.Schedule.Kind == ir.ScheduleGuided {
		cut, out = sc.shrinkingChunks(p, sc.chunkOfTeam(d, p, c.Total, at), c.Total, at, out)
	} else {
		var size ir.Expr
		size, out = sc.Temp("chunk", sc.chunkOf(d, p, sp, c.Total, at), out)
		cut, out = sc.equalChunks(p, size, c.Total, at, out)
	}
	box := sc.Slot(crews.Slot{What: "next"}, ir.IntType, "next", at)
	n := sc.counterOf(sp, at)
	if n.round != nil {
		out = append(out, build.Assign(build.Ref(n.round, at), build.Binary(ir.Add, build.Ref(n.round, at), build.Int(1, at), at), at))
	}
	next := sc.Local("mine", ir.IntType, at)
	taken := build.Int(0, at) // the number of chunks that need no counter
	var begin []ir.Stmt
	if d.Schedule.Kind == ir.ScheduleDynamic {
		begin = []ir.Stmt{build.Decl(next, build.Query(ir.TeamNum, at), at)}
		taken = build.Query(ir.NumTeams, at)
	} else {
		begin = append([]ir.Stmt{build.Decl(next, nil, at)}, sc.take(n, cut.count, box, next, taken, at)...)
	}
	it := sc.Local("it", ir.IntType, at)
	base, end := sc.Local("base", ir.IntType, at), sc.Local("stop", ir.IntType, at)
	stride, run := cut.bounds(build.Ref(next, at), base, end)
	run = append(run, build.Decl(it, build.Binary(ir.Add, build.Ref(base, at), p.First, at), at),
		sc.Iterate(sp, c, it, build.Compare(ir.Lt, build.Ref(it, at), build.Ref(end, at), at), stride, body, last))
	if p.Only != nil {
		run = []ir.Stmt{&ir.If{Cond: p.Only, Then: run, At: at}}
	}
	loop := &ir.While{Label: &ir.Label{}, Cond: build.Compare(ir.Lt, build.Ref(next, at), cut.count, at), Body: run,
		Post: sc.take(n, cut.count, box, next, taken, at), At: at}
	out = append(append(out, begin...), loop)
	return []ir.Stmt{&ir.Block{Body: out, At: at}}
}

// A chunking divides a range of iterations into numbered chunks. bounds declares the first
// iteration of a chunk and the end of its batch; the iterations of adjacent threads are adjacent,
// and a thread advances by stride.
type chunking struct {
	count  ir.Expr // the number of chunks
	bounds func(chunk ir.Expr, base, end *ir.Var) (stride ir.Expr, decls []ir.Stmt)
}

// equalChunks divides total iterations into chunks of one size.
func (sc *schedules) equalChunks(p spaces.Portion, size, total ir.Expr, at ir.Pos, out []ir.Stmt) (chunking, []ir.Stmt) {
	count, out := sc.Temp("chunks", forms.CeilQuotient(total, size, at), out)
	bounds := func(chunk ir.Expr, base, end *ir.Var) (ir.Expr, []ir.Stmt) {
		return p.Stride, []ir.Stmt{build.Decl(base, build.Binary(ir.Mul, chunk, size, at), at),
			build.Decl(end, atMostInt(build.Binary(ir.Add, build.Ref(base, at), size, at), total, at), at)}
	}
	return chunking{count, bounds}, out
}

func atMostInt(x, most ir.Expr, at ir.Pos) ir.Expr {
	return &ir.Math{Fn: ir.IMin, Args: []ir.Expr{x, most}, T: ir.IntType, At: at}
}

// shrinkingChunks divides total iterations into batches of one chunk for each team. A batch
// contains half of the remaining iterations, until its chunks would have at most least iterations;
// the rest is divided into chunks of that size. The number of a chunk determines its iterations, so
// a team takes a chunk with one atomic addition, independent of the number of teams. The chunks of
// a batch interleave, so that teams access adjacent memory at the same time. Source: Hummel,
// Schonberg and Flynn, Factoring: a method for scheduling parallel loops, 1992; differs: chunks of
// a batch interleave.
func (sc *schedules) shrinkingChunks(p spaces.Portion, least, total ir.Expr, at ir.Pos, out []ir.Stmt) (chunking, []ir.Stmt) {
	teams := build.Query(ir.NumTeams, at)
	shr := func(x, n ir.Expr) ir.Expr { return &ir.Binary{Op: ir.Shr, X: x, Y: n, T: ir.IntType, At: at} }
	div := func(x, y ir.Expr) ir.Expr { return &ir.Binary{Op: ir.Div, X: x, Y: y, T: ir.IntType, At: at} }
	one := build.Int(1, at)
	least, out = sc.Temp("least", least, out)
	batches := sc.Local("batches", ir.IntType, at)
	halved := build.Binary(ir.Add, build.Ref(batches, at), one, at)
	out = append(out, build.Decl(batches, build.Int(0, at), at), &ir.While{Label: &ir.Label{}, At: at,
		Cond: build.Compare(ir.Gt, div(shr(total, halved), teams), least, at),
		Body: []ir.Stmt{build.Assign(build.Ref(batches, at), halved, at)}})
	before := build.Binary(ir.Mul, build.Ref(batches, at), teams, at) // chunks of the batches
	count, out := sc.Temp("chunks", build.Binary(ir.Add, before, forms.CeilQuotient(shr(total, build.Ref(batches, at)), least, at), at), out)
	bounds := func(chunk ir.Expr, base, end *ir.Var) (ir.Expr, []ir.Stmt) {
		batch, lo, size, stride := sc.Local("batch", ir.IntType, at), sc.Local("lo", ir.IntType, at), sc.Local("size", ir.IntType, at), sc.Local("stride", ir.IntType, at)
		b := build.Ref(batch, at)
		inBatch := build.Compare(ir.Lt, b, build.Ref(batches, at), at)
		left := func(batch ir.Expr) ir.Expr { return build.Binary(ir.Sub, total, shr(total, batch), at) }
		rank := build.Binary(ir.Sub, chunk, build.Binary(ir.Mul, b, teams, at), at)
		return build.Ref(stride, at), []ir.Stmt{
			build.Decl(batch, atMostInt(div(chunk, teams), build.Ref(batches, at), at), at),
			build.Decl(lo, left(b), at),
			build.Decl(size, build.Choose(inBatch, p.Stride, least, at), at),
			build.Decl(stride, build.Choose(inBatch, build.Binary(ir.Mul, teams, p.Stride, at), p.Stride, at), at),
			build.Decl(base, build.Binary(ir.Add, build.Ref(lo, at), build.Binary(ir.Mul, rank, build.Ref(size, at), at), at), at),
			build.Decl(end, build.Choose(inBatch, left(build.Binary(ir.Add, b, one, at)), atMostInt(build.Binary(ir.Add, build.Ref(base, at), least, at), total, at), at), at),
		}
	}
	return chunking{count, bounds}, out
}

// chunkOfTeam returns the clause's chunk for a team: rounded up to whole turns of its threads.
func (sc *schedules) chunkOfTeam(d *ir.Directive, p spaces.Portion, total ir.Expr, at ir.Pos) ir.Expr {
	if d.Schedule.Chunk == nil {
		return p.Stride
	}
	turns := forms.CeilQuotient(chunkWithin(forms.MasterOf(d.Schedule.Chunk), total, at), p.Stride, at)
	return build.Binary(ir.Mul, turns, p.Stride, at)
}

// chunkTurns is the number of iterations of each thread in a chunk if there are enough, and
// chunkShare the number of chunks that each team should get. A counter that is read for every
// iteration of a thread costs a memory-bound loop two thirds of its rate on an H200; one that is
// read for every eighth costs nothing.
const chunkTurns, chunkShare = 8, 4

// chunkOf returns the size of a team's chunk: the chunk of the clause, in whole turns of its
// threads, or a few turns. If all iterations cost the same, several chunks of the clause may be
// combined.
func (sc *schedules) chunkOf(d *ir.Directive, p spaces.Portion, sp *spaces.Space, total ir.Expr, at ir.Pos) ir.Expr {
	mul := func(x, y ir.Expr) ir.Expr { return build.Binary(ir.Mul, x, y, at) }
	limit := func(fn ir.MathFn, x, y ir.Expr) ir.Expr {
		return &ir.Math{Fn: fn, Args: []ir.Expr{x, y}, T: ir.IntType, At: at}
	}
	each := mul(mul(build.Query(ir.NumTeams, at), p.Stride), build.Int(chunkShare, at))
	turns := &ir.Binary{Op: ir.Div, X: total, Y: each, T: ir.IntType, At: at}
	few := mul(p.Stride, limit(ir.IMin, limit(ir.IMax, turns, build.Int(1, at)), build.Int(chunkTurns, at)))
	size := sc.chunkOfTeam(d, p, total, at)
	switch {
	case d.Schedule.Chunk == nil:
		return few
	case costsTheSame(sp.Body):
		return limit(ir.IMax, size, few)
	}
	return size
}

// costsTheSame reports whether each execution of list takes about the same time: it contains no
// loop.
func costsTheSame(list []ir.Stmt) bool {
	same := true
	ir.WalkStmts(list, func(s ir.Stmt) bool {
		switch s.(type) {
		case *ir.For, *ir.While:
			same = false
		}
		return same
	})
	return same
}

// A counter is the place from which teams obtain their chunks. A loop that the teams may execute
// several times has rounds: a team that has finished one starts the next while others are still in
// it, so the counter contains the number of its round.
type counter struct {
	pad   *ir.Var
	round *ir.Var // of the thread: how often it has reached the loop; nil if that is once
}

// roundBits is the position of the round number in the counter, above the number of taken chunks.
const roundBits = 42

// counterOf returns the counter of a loop, the same one each time that the loop is lowered.
func (sc *schedules) counterOf(sp *spaces.Space, at ir.Pos) counter {
	v := sp.Loops[0].Var
	n, ok := sc.counters[v]
	if !ok {
		n.pad = sc.pad("counter", ir.Int64Type, build.Int(1, at), at)
		if sc.depth > 0 || sc.Leads() { // a leading thread may call a region again
			n.round = sc.Local("round", ir.IntType, at)
			sc.front = append(sc.front, build.Decl(n.round, nil, at))
		}
		sc.counters[v] = n
	}
	return n
}

// take gives the team the number of its next chunk; the first chunks do not come from the counter.
// The second barrier keeps thread 0 from taking another chunk before all threads have read this
// one.
func (sc *schedules) take(n counter, count ir.Expr, box, next *ir.Var, first ir.Expr, at ir.Pos) []ir.Stmt {
	old := sc.Local("taken", ir.IntType, at)
	place := build.Index(build.Ref(n.pad, at), build.Int(0, at), at)
	ask := []ir.Stmt{build.Decl(old, nil, at)}
	if n.round == nil {
		ask = append(ask, &ir.Atomic{Kind: ir.AtomicCapture, Op: ir.Add, Place: place, Value: build.Int(1, at), Old: build.Ref(old, at), At: at})
	} else {
		ask = append(ask, sc.takeInRound(n, place, old, count, at)...)
	}
	ask = append(ask, build.Assign(build.Ref(box, at), build.Binary(ir.Add, first, build.Ref(old, at), at), at))
	sc.open = open{}
	return []ir.Stmt{build.Barrier(at), &ir.If{Cond: forms.Thread0(at), Then: ask, At: at}, build.Barrier(at),
		build.Assign(build.Ref(next, at), build.Ref(box, at), at)}
}

// takeInRound sets taken to the number of chunks that were taken before in this round, and takes
// one. A counter of an earlier round restarts, because a team in the next round has observed the
// end of that one. A counter of a later round means that this round has finished.
func (sc *schedules) takeInRound(n counter, place ir.Expr, taken *ir.Var, count ir.Expr, at ir.Pos) []ir.Stmt {
	was, seen, of := sc.Local("was", ir.IntType, at), sc.Local("seen", ir.IntType, at), sc.Local("of", ir.IntType, at)
	shift := func(op ir.Op, x ir.Expr) ir.Expr {
		return &ir.Binary{Op: op, X: x, Y: build.Int(roundBits, at), T: ir.IntType, At: at}
	}
	loop := &ir.While{Label: &ir.Label{}, At: at}
	leave := &ir.Break{Label: loop.Label, At: at}
	round := build.Ref(n.round, at)
	begun := shift(ir.Shl, round)
	now := build.Binary(ir.Add, build.Binary(ir.Add, begun, build.Ref(taken, at), at), build.Int(1, at), at)
	loop.Body = []ir.Stmt{
		build.Decl(of, shift(ir.Shr, build.Ref(was, at)), at),
		&ir.If{Cond: build.Compare(ir.Gt, build.Ref(of, at), round, at), Then: []ir.Stmt{build.Assign(build.Ref(taken, at), count, at), leave}, At: at},
		build.Assign(build.Ref(taken, at), build.Choose(build.Compare(ir.Lt, build.Ref(of, at), round, at), build.Int(0, at),
			build.Binary(ir.Sub, build.Ref(was, at), begun, at), at), at),
		&ir.Atomic{Kind: ir.AtomicCompare, Place: place, Compare: build.Ref(was, at), Value: now, Old: build.Ref(seen, at), At: at},
		&ir.If{Cond: build.Compare(ir.Eq, build.Ref(seen, at), build.Ref(was, at), at), Then: []ir.Stmt{leave}, At: at},
		build.Assign(build.Ref(was, at), build.Ref(seen, at), at),
	}
	return []ir.Stmt{
		build.Decl(was, nil, at), build.Decl(seen, nil, at),
		&ir.Atomic{Kind: ir.AtomicRead, Place: place, Old: build.Ref(was, at), At: at}, loop,
	}
}
