package codegen

import "github.com/gompss/gompss/codegen/ir"

// fromCounter reports whether teams take their next iterations from a counter. The other kinds are dealt out one by
// one; inside one team all are, since its threads run in step.
func fromCounter(k ir.ScheduleKind) bool { return k == ir.ScheduleCounter || k == ir.ScheduleDynamic }

// chunks returns the loop in which a team takes a chunk of the iterations of sp at a time, which its threads share out,
// until none is left. With schedule(dynamic) the first chunk of each team is its own without asking.
// Source: 001_ab8d859d95f513d8, section 6; differs: nothing resets the counter, it is new and zero in each run.
func (t *team) chunks(sp *space, d *ir.Directive, p portion, body, last []ir.Stmt) []ir.Stmt {
	at := sp.at
	if t.depth > 0 {
		t.notYet(at, "schedule("+d.Schedule.Kind.String()+") under an if or in a loop of the teams")
		return nil
	}
	t.decide(at, "loop "+sp.loops[0].Var.Name, "chunks from a counter", "schedule("+d.Schedule.Kind.String()+") says so",
		"schedule(static)")
	c, out := t.counted(sp)
	chunk, out := t.temp("chunk", t.chunkOf(d, p, at), out)
	box := t.slot(slot{what: "next"}, ir.IntType, "next", at)
	base := t.local("base", ir.IntType, at)
	first := intConst(0, at)
	var begin []ir.Stmt
	if d.Schedule.Kind == ir.ScheduleDynamic {
		begin = []ir.Stmt{decl(base, binary(ir.Mul, query(ir.TeamNum, at), chunk, at), at)}
		first = binary(ir.Mul, query(ir.NumTeams, at), chunk, at)
	} else {
		begin = append([]ir.Stmt{decl(base, nil, at)}, t.take(box, base, chunk, first, at)...)
	}
	it := t.local("it", ir.IntType, at)
	end := t.local("stop", ir.IntType, at)
	least := &ir.Math{Fn: ir.IMin, Args: []ir.Expr{binary(ir.Add, ref(base, at), chunk, at), c.total}, T: ir.IntType, At: at}
	run := []ir.Stmt{
		decl(end, least, at),
		decl(it, binary(ir.Add, ref(base, at), p.first, at), at),
		t.iterate(sp, c, it, compare(ir.Lt, ref(it, at), ref(end, at), at), p.stride, body, last),
	}
	if p.only != nil {
		run = []ir.Stmt{&ir.If{Cond: p.only, Then: run, At: at}}
	}
	loop := &ir.While{Label: &ir.Label{}, Cond: compare(ir.Lt, ref(base, at), c.total, at), Body: run,
		Post: t.take(box, base, chunk, first, at), At: at}
	out = append(append(out, begin...), loop)
	return []ir.Stmt{&ir.Block{Body: out, At: at}}
}

// chunkOf is the chunk of the clause, or one iteration for each thread.
func (t *team) chunkOf(d *ir.Directive, p portion, at ir.Pos) ir.Expr {
	if d.Schedule.Chunk == nil {
		return p.stride
	}
	if c, ok := constInt(d.Schedule.Chunk); ok {
		return intConst(max(c, 1), at)
	}
	return &ir.Math{Fn: ir.IMax, Args: []ir.Expr{asInt(masterOf(d.Schedule.Chunk)), intConst(1, at)}, T: ir.IntType, At: at}
}

// take gives the team its next chunk. The second barrier keeps thread 0 from taking another before all have read this.
func (t *team) take(box, base *ir.Var, chunk, first ir.Expr, at ir.Pos) []ir.Stmt {
	key := slot{what: "counter", of: base}
	if t.slots[key] == nil {
		t.slots[key] = t.pad("counter", ir.Int64Type, intConst(1, at), at)
	}
	old := t.local("taken", ir.IntType, at)
	ask := []ir.Stmt{
		decl(old, nil, at),
		&ir.Atomic{Kind: ir.AtomicCapture, Op: ir.Add, Place: index(ref(t.slots[key], at), intConst(0, at), at), Value: chunk,
			Old: ref(old, at), At: at},
		assign(ref(box, at), binary(ir.Add, first, ref(old, at), at), at),
	}
	t.open = open{}
	return []ir.Stmt{barrier(at), &ir.If{Cond: thread0(at), Then: ask, At: at}, barrier(at),
		assign(ref(base, at), ref(box, at), at)}
}
