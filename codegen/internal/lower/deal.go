package lower

import (
	"github.com/gompss/gompss/codegen/internal/lower/forms"
	"github.com/gompss/gompss/codegen/internal/lower/spaces"
	"github.com/gompss/gompss/codegen/ir"
	"github.com/gompss/gompss/codegen/ir/build"
	"github.com/gompss/gompss/codegen/ir/query"
)

// dealt returns the portion in which the chunks of dist_schedule(static, chunk) go to the teams and
// those of schedule(static, chunk), of what is a team's then, to its threads. p is what the
// directive means without a chunk.
func (sc *schedules) dealt(d *ir.Directive, grid bool, p spaces.Portion, count, total ir.Expr, at ir.Pos) (spaces.Portion, []ir.Stmt) {
	var out []ir.Stmt
	chunk := func(e ir.Expr) ir.Expr {
		var c ir.Expr
		c, out = sc.Temp("chunk", chunkWithin(e, total, at), out)
		return c
	}
	me := build.Query(ir.ThreadNum, at)
	if c := d.DistSchedule.Chunk; grid && c != nil {
		p.Deals = append(p.Deals, spaces.Deal{First: build.Query(ir.TeamNum, at), Stride: build.Query(ir.NumTeams, at), Chunk: chunk(forms.MasterOf(c))})
		p.First, p.Stride = me, count
		if d.Parts&(ir.Parallel|ir.Workshare) == 0 {
			p.First, p.Stride = build.Int(0, at), build.Int(1, at)
		}
	}
	if c := d.Schedule.Chunk; dealsChunks(d) {
		p.Deals = append(p.Deals, spaces.Deal{First: p.First, Stride: p.Stride, Chunk: chunk(c)})
		p.First, p.Stride = build.Int(0, at), build.Int(1, at)
	}
	return p, out
}

// chunkWithin is a chunk of at least one iteration and at most all: its products with numbers of
// threads then fit.
func chunkWithin(e, total ir.Expr, at ir.Pos) ir.Expr {
	if c, ok := query.Int64(e); ok && c < 1<<20 {
		return build.Int(max(c, 1), at)
	}
	limit := func(fn ir.MathFn, x, y ir.Expr) ir.Expr {
		return &ir.Math{Fn: fn, Args: []ir.Expr{x, y}, T: ir.IntType, At: at}
	}
	return limit(ir.IMax, limit(ir.IMin, build.ToInt(e), total), build.Int(1, at))
}

// dealsChunks reports whether the schedule of d deals chunks of a given size to the threads in
// turns.
func dealsChunks(d *ir.Directive) bool {
	k := d.Schedule.Kind
	return d.Schedule.Chunk != nil && (k == ir.ScheduleStatic || k == ir.ScheduleCyclic)
}

// inChunks reports whether d deals out chunks of iterations that are known before.
func inChunks(d *ir.Directive, grid bool) bool {
	return grid && d.DistSchedule.Chunk != nil || dealsChunks(d)
}

// dealChunksToTeams makes the chunks of static schedules in loops of the whole league those of a
// team, whose threads take the iterations side by side: that is the schedule without a chunk, and
// neighbouring threads touch neighbouring memory. Kernels that ask for numbers of threads or teams
// keep a chunk a thread, because they see it.
func dealChunksToTeams(l *lowering) {
	if asksNumbers(l.Kernel.Body) {
		return
	}
	ir.WalkStmts(l.Kernel.Body, func(s ir.Stmt) bool {
		f, ok := s.(*ir.For)
		if !ok || f.Directive == nil || f.Directive.Parts&(ir.Distribute|ir.Workshare) != ir.Distribute|ir.Workshare {
			return true
		}
		if d := f.Directive; dealsChunks(d) && d.DistSchedule.Chunk == nil && cannotFail(d.Schedule.Chunk) {
			own := *d
			own.Schedule.Chunk = nil
			f.Directive = &own
			l.Decide(f.At, "loop "+f.Var.Text(), "chunks of a team, whose threads take the iterations side by side",
				"schedule("+d.Schedule.Kind.String()+", "+ir.ExprString(d.Schedule.Chunk)+") cannot tell which thread runs an iteration", "")
		}
		return true
	})
}

// asksNumbers reports whether list asks for numbers of threads, teams or lanes.
func asksNumbers(list []ir.Stmt) bool {
	asks := false
	ir.WalkExprs(list, func(e ir.Expr) bool {
		_, query := e.(*ir.Query)
		asks = asks || query
		return !asks
	})
	return asks
}

// cannotFail reports whether e is a constant or the value of a variable.
func cannotFail(e ir.Expr) bool {
	switch e.(type) {
	case *ir.Const, *ir.Ref:
		return true
	}
	return false
}

// walkDealt is walk for iterations dealt out in chunks.
func (sc *schedules) walkDealt(sp *spaces.Space, d *ir.Directive, grid bool, p spaces.Portion, count ir.Expr, body, last []ir.Stmt) []ir.Stmt {
	at := sp.At
	c, out := sc.Counted(sp)
	p, chunks := sc.dealt(d, grid, p, count, c.Total, at)
	out = append(out, chunks...)
	lo, hi := ir.Expr(build.Int(0, at)), c.Total
	inner := &out
	for _, k := range p.Deals {
		base, end := sc.Local("base", ir.IntType, at), sc.Local("stop", ir.IntType, at)
		var stride ir.Expr
		start := build.Binary(ir.Add, lo, build.Binary(ir.Mul, k.First, k.Chunk, at), at)
		stride, *inner = sc.Temp("stride", build.Binary(ir.Mul, k.Stride, k.Chunk, at), *inner)
		least := &ir.Math{Fn: ir.IMin, Args: []ir.Expr{build.Binary(ir.Add, build.Ref(base, at), k.Chunk, at), hi}, T: ir.IntType, At: at}
		loop := &ir.While{Label: &ir.Label{}, Cond: build.Compare(ir.Lt, build.Ref(base, at), hi, at), At: at, Body: []ir.Stmt{build.Decl(end, least, at)},
			Post: []ir.Stmt{build.Assign(build.Ref(base, at), build.Binary(ir.Add, build.Ref(base, at), stride, at), at)}}
		*inner = append(*inner, build.Decl(base, start, at), loop)
		lo, hi, inner = build.Ref(base, at), build.Ref(end, at), &loop.Body
	}
	it := sc.Local("it", ir.IntType, at)
	*inner = append(*inner, build.Decl(it, build.Binary(ir.Add, lo, p.First, at), at),
		sc.Iterate(sp, c, it, build.Compare(ir.Lt, build.Ref(it, at), hi, at), p.Stride, body, last))
	if p.Only != nil {
		return []ir.Stmt{&ir.If{Cond: p.Only, Then: out, At: at}}
	}
	return []ir.Stmt{&ir.Block{Body: out, At: at}}
}

// noteDealt says how many teams and threads chunks are for, where the host can tell.
func (t *teamLaunch) noteDealt(sp *spaces.Space, d *ir.Directive) {
	at := sp.At
	total := sp.Count()
	chunks := func(of, chunk ir.Expr) ir.Expr {
		return &ir.Binary{Op: ir.Div, X: build.Binary(ir.Add, of, build.Binary(ir.Sub, chunk, build.Int(1, at), at), at), Y: chunk, T: ir.IntType, At: at}
	}
	threads := total
	if c := d.DistSchedule.Chunk; c != nil {
		size := chunkWithin(forms.MasterOf(c), total, at)
		t.noteCount(chunks(total, size), &t.Trips.Team)
		threads = size
	}
	if dealsChunks(d) {
		threads = chunks(threads, chunkWithin(d.Schedule.Chunk, total, at))
	}
	switch {
	case d.DistSchedule.Chunk == nil:
		t.noteCount(threads, &t.Trips.Grid)
	case d.Parts&(ir.Parallel|ir.Workshare) != 0:
		t.noteCount(threads, &t.Trips.Threads)
	}
}

// explainDealt says what the chunks of d are for.
func (t *teamLaunch) explainDealt(sp *spaces.Space, d *ir.Directive, grid bool) {
	name := "loop " + sp.Loops[0].Var.Text()
	if c := d.DistSchedule.Chunk; grid && c != nil {
		t.Decide(sp.At, name, "chunks of "+ir.ExprString(c)+" iterations to the teams in turn",
			"dist_schedule(static, "+ir.ExprString(c)+") says so", "dist_schedule(static), by which neighbours run next to each other")
	}
	if c := d.Schedule.Chunk; dealsChunks(d) {
		t.Decide(sp.At, name, "chunks of "+ir.ExprString(c)+" iterations to the threads in turn",
			"schedule("+d.Schedule.Kind.String()+", "+ir.ExprString(c)+") says so, though neighbouring threads then touch memory that far apart",
			"schedule(static), by which neighbouring threads touch neighbouring memory")
	}
}
