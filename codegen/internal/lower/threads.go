package lower

import (
	"github.com/gompss/gompss/codegen/internal/analysis"
	"github.com/gompss/gompss/codegen/internal/lower/crews"
	"github.com/gompss/gompss/codegen/internal/lower/forms"
	"github.com/gompss/gompss/codegen/internal/lower/nested"
	"github.com/gompss/gompss/codegen/internal/lower/spaces"
	"github.com/gompss/gompss/codegen/internal/lower/strategy"
	"github.com/gompss/gompss/codegen/internal/lower/strategy/unchecked"
	"github.com/gompss/gompss/codegen/internal/lower/unroll"
	"github.com/gompss/gompss/codegen/ir"
	"github.com/gompss/gompss/codegen/ir/build"
	"github.com/gompss/gompss/codegen/ir/query"
)

// threads lowers code that each thread of a team runs: the inside of a parallel construct.
type threads struct {
	*team
	count  ir.Expr // the number of threads of the construct
	serial bool    // inside a loop that is distributed over the threads: nested parallel code runs in order
	nested bool    // inside a nested parallel construct, which has one thread
	whole  bool    // all threads of the team run the construct
}

// shareLoop lowers a loop whose iterations are distributed over the threads of the team, or with
// distribute over those of all teams.
func (t *team) shareLoop(s *ir.For) []ir.Stmt {
	if s.Directive.Scan != nil {
		return t.shareScan(s)
	}
	defer unchecked.InRegion(t.teamLaunch.Sharer.Crew, s)()
	d := s.Directive
	whole := t.seg.whole
	grid := d.Parts&ir.Distribute != 0 || whole != nil
	sp, ok := t.Nest(s, d.Collapse)
	if !ok {
		return nil
	}
	count, only := t.participants(d, s)
	inBlocks := t.inBlocks(sp, d, grid, only) && !t.sharedBetter(sp, d, grid)
	if inBlocks {
		t.noteBlocks(sp, d, t.sharersOf(grid))
	} else {
		t.noteShare(sp, d, grid)
	}
	x := t.Effects.Stmts([]ir.Stmt{s})
	body := sp.Body
	firsts, body := t.lowering.ownCopies(d.Firstprivate, body)
	red := t.lowering.startReductions(d.Reductions, &body, s.At)
	red.inBlocks = inBlocks
	lasts, last, body := t.LastCopies(d.Lastprivate, body, s.At)
	for _, v := range t.slotsOf(red) {
		x.Writes.AddVar(v)
	}
	var settle settled
	if !grid || t.Single { // threads of other teams cannot synchronise with them; their clauses are hoisted
		settle, count, only = t.settle(x, false, count, only, s.At)
	}
	var chunk settled
	if !grid || t.Single {
		d, chunk = t.settleChunks(d, x, s.At)
	}
	before := append(append(settle.ahead, chunk.ahead...), t.sync(x, false, s.At)...)
	t.open.all.Add(x)
	out := append(append(append(append(settle.inside, chunk.inside...), firsts...), red.decls...), lasts...)
	sp.Body = body
	regrouped := false
	var sums *blocks
	if inBlocks {
		var decls []ir.Stmt
		sums, decls = t.openBlocks(sp, d, red, t.sharersOf(grid))
		out = append(out, decls...)
	}
	dealt := t.versions(sp, func(sp *spaces.Space) []ir.Stmt {
		th := &threads{team: t, count: count, serial: true}
		p, body := t.portion(grid, count, only, s.At), th.list(sp.Body)
		if inBlocks {
			return sums.walk(sp, body)
		}
		if grid && len(last) == 0 && dealsUnseen(t.Kernel, d) {
			if out := regroup(t.teamLaunch, strategy.Sharing{Sp: sp, D: d, P: p, Body: body, Sums: red.sums(), Grid: grid}); out != nil {
				regrouped = true
				return out
			}
		}
		if grid && asksCounter(d) && !regrouped {
			return t.chunks(sp, d, t.portion(false, count, only, s.At), body, last)
		}
		if inChunks(d, grid) && !regrouped {
			return t.walkDealt(sp, d, grid, p, count, body, last)
		}
		if len(last) == 0 {
			return t.ShareBy(strategy.Sharing{Sp: sp, D: d, P: p, Body: body, Sums: red.sums(), Grid: grid})
		}
		body = unchecked.ThreadBody(t.Sharer.Crew, body)
		return t.Walk(sp, p, body, last)
	})
	if whole != nil {
		dealt = whole.own(dealt, s.At)
	}
	out = append(out, dealt...)
	red.perThread, red.league = true, grid
	if grid && !inBlocks {
		t.explainGrid(sp, d.Schedule.Kind, regrouped)
	}
	t.Trips.Resident = t.Trips.Resident || grid && !inBlocks && !regrouped && residentGrid(d, len(red.items) > 0)
	return t.called(before, append(out, t.finishReductions(red, s.At, t.barrier)...), s.At)
}

// versions lowers sp with the checks of its indices, and a second version without them if that is
// useful.
func (t *teamLaunch) versions(sp *spaces.Space, lower func(*spaces.Space) []ir.Stmt) []ir.Stmt {
	test, fast := unchecked.Version(t.Sharer.Crew, sp)
	if test == nil {
		return lower(sp)
	}
	then := forms.Unwrapped(lower(fast))
	if c, ok := test.(*ir.Const); ok && c.Bits != 0 { // no check can fail
		return then
	}
	t.Slow = true // one of its accesses probably fails: its speed does not matter
	defer func() { t.Slow = false }()
	return []ir.Stmt{&ir.If{Cond: test, Then: then, Else: forms.Unwrapped(lower(sp)), At: sp.At}}
}

func (t *teamLaunch) noteShare(sp *spaces.Space, d *ir.Directive, grid bool) {
	name := sp.Loops[0].Var.Text()
	if k := d.Schedule.Kind; fromCounter(k) && !(grid && asksCounter(d)) {
		t.Decide(sp.At, "loop "+name, "schedule(auto)", "schedule("+k.String()+") has no meaning here: the threads of one team run in step",
			"teams distribute parallel for schedule("+k.String()+")")
	}
	t.explainDealt(sp, d, grid)
	if grid && inChunks(d, grid) {
		t.noteDealt(sp, d)
		t.Decide(sp.At, "loop "+name, "threads of all teams", forms.Because(d), "")
		return
	}
	if grid {
		t.note(sp, &t.Trips.Grid)
		t.Decide(sp.At, "loop "+name, "threads of all teams", forms.Because(d), "")
		return
	}
	t.note(sp, &t.Trips.Threads)
	t.Decide(sp.At, "loop "+name, "threads of one team", forms.Because(d),
		"teams distribute parallel for spreads it over all teams")
}

// parallel lowers the body of a parallel construct.
func (t *team) parallel(s *ir.Construct) []ir.Stmt {
	d := s.Directive
	if n, ok := query.Int64(forms.OrZero(d.NumThreads)); ok && n == 1 {
		t.Decide(s.At, "parallel", "one thread", "num_threads(1)", "")
		return t.list(t.serial(s))
	}
	if d.If != nil {
		return t.parallelIf(s)
	}
	if t.isApart(s) {
		return t.apart(s)
	}
	defer unchecked.InRegion(t.teamLaunch.Sharer.Crew, s)()
	var count, only ir.Expr
	if t.crews[d] {
		count, only = t.crew(s)
	} else {
		count, only = t.region(s)
	}
	x := t.Effects.Stmts([]ir.Stmt{s})
	decls, body := t.lowering.ownCopies(d.Firstprivate, s.Body)
	red := t.lowering.startReductions(d.Reductions, &body, s.At)
	for _, v := range t.allSlots(s, red, func(f *ir.For) bool { return only == nil && !t.crews[d] && t.mayBeInBlocks(f) }) {
		x.Writes.AddVar(v)
	}
	settle, count, only := t.settle(x, t.crews[d], count, only, s.At)
	ready := append(settle.ahead, t.sync(x, false, s.At)...)
	t.open.all.Add(x)
	th := &threads{team: t, count: count, whole: only == nil && !t.crews[d]}
	inner := append(decls, th.region(body)...)
	if t.crews[d] {
		inner = confine(inner, count, partBarrier)
	}
	if only != nil {
		inner = []ir.Stmt{&ir.If{Cond: only, Then: inner, At: s.At}}
	}
	red.perThread, red.league = true, false
	out := append(settle.inside, red.decls...) // the copies must still be in scope when they are combined
	out = append(out, inScope(inner, len(red.items) == 0, s.At)...)
	t.Decide(s.At, "parallel", "threads of one team", forms.Because(d), "")
	return t.called(ready, append(out, t.finishReductions(red, s.At, t.barrier)...), s.At)
}

// inScope encloses list in a block if the code after it uses none of its variables.
func inScope(list []ir.Stmt, own bool, at ir.Pos) []ir.Stmt {
	if !own {
		return list
	}
	return []ir.Stmt{&ir.Block{Body: list, At: at}}
}

// regionForms caches the lowered forms of parallel regions and their loops.
type regionForms struct {
	*teamLaunch
	*placement
	serials map[*ir.Construct][]ir.Stmt // the form of a parallel body for one thread
	crews   map[*ir.Directive]bool      // parallel directives that apart has prepared
	eithers map[*ir.Construct]*ir.If    // the form that apart has made of a parallel body
}

// isApart reports whether the threads of s synchronise while other threads of the team do not take
// part.
func (rf *regionForms) isApart(s *ir.Construct) bool {
	d := s.Directive
	if d.NumThreads == nil || !meetsInside(s) || rf.crews[d] {
		return false
	}
	return rf.Mode == ir.ModeWarpSpecialized || rf.seg.onHost(d.NumThreads) == nil
}

// apart lowers a parallel body for the first threads of the team, which have a separate barrier.
// That requires whole warps: if num_threads permits less than one, or the device has none, one
// thread runs the body.
func (t *team) apart(s *ir.Construct) []ir.Stmt {
	n, known := query.Int64(s.Directive.NumThreads)
	if !t.Shuffles() || known && n < forms.LeastWarp {
		t.Decide(s.At, "parallel", "one thread", "its threads meet at barriers, which takes a whole warp, and num_threads allows less",
			"num_threads(n) with n a multiple of 32")
		return t.list(t.serial(s))
	}
	either := t.eithers[s] // lowering the body of a loop again must find the same condition, which may have memory
	if either == nil {
		d := *s.Directive
		t.crews[&d] = true
		crew := &ir.Construct{Directive: &d, Body: s.Body, At: s.At}
		whole := build.Compare(ir.Ge, build.ToInt(d.NumThreads), build.Query(ir.WarpSize, s.At), s.At)
		either = &ir.If{Cond: whole, Then: []ir.Stmt{crew}, Else: t.serial(s), At: s.At}
		t.eithers[s] = either
	}
	t.Decide(s.At, "parallel", "whole warps of the team", "they meet at a barrier of their own, the others wait for the end", "")
	if known && n >= forms.MostWarp {
		return t.list(either.Then)
	}
	return t.branch(either)
}

// meets reports whether the threads of s synchronise, inside it or at its end.
func meets(s *ir.Construct) bool { return len(s.Directive.Reductions) > 0 || meetsInside(s) }

func meetsInside(s *ir.Construct) bool {
	found := false
	ir.WalkStmts(s.Body, func(s ir.Stmt) bool {
		switch s := s.(type) {
		case *ir.Barrier:
			found = true
		case *ir.For:
			found = found || forms.Governed(s)
		case *ir.Construct:
			found = found || s.Directive.Parts&ir.Single != 0
		}
		return !found
	})
	return found
}

// parallelIf lowers the parallel body, and the same code for one thread.
func (t *team) parallelIf(s *ir.Construct) []ir.Stmt {
	d := *s.Directive
	d.If = nil
	c := &ir.Construct{Directive: &d, Body: s.Body, At: s.At}
	alone := t.serial(s)
	t.Decide(s.At, "parallel", "two versions", "if chooses between the team and one thread", "")
	return t.branch(&ir.If{Cond: s.Directive.If, Then: []ir.Stmt{c}, Else: alone, At: s.At})
}

// serial returns a copy of the body of s for one thread, the same copy in each call.
func (rf *regionForms) serial(s *ir.Construct) []ir.Stmt {
	if rf.serials[s] == nil {
		rf.serials[s] = rf.newSerial(s)
	}
	return rf.serials[s]
}

func (rf *regionForms) newSerial(s *ir.Construct) []ir.Stmt {
	decls, body := rf.lowering.ownCopies(s.Directive.Firstprivate, rf.CopyOf(s.Body, &rf.Kernel.NumVars))
	r := &ir.Rewrite{Stmt: func(s ir.Stmt) []ir.Stmt {
		switch s := s.(type) {
		case *ir.Barrier:
			return nil
		case *ir.For:
			if s.Directive == nil {
				break
			}
			var decls []ir.Stmt
			decls, s.Body = rf.lowering.ownCopies(forms.FirstOnly(s.Directive), s.Body)
			s.Directive = nil
			return forms.Scoped(decls, []ir.Stmt{s}, s.At)
		case *ir.Construct:
			decls, body := rf.lowering.ownCopies(s.Directive.Firstprivate, s.Body)
			return []ir.Stmt{&ir.Block{Body: append(decls, body...), At: s.At}}
		}
		return []ir.Stmt{s}
	}}
	inner := r.CopyStmts(body)
	for _, v := range ir.Declared(inner).List() {
		rf.own.Add(v)
	}
	out := []ir.Stmt{&ir.Block{Body: append(decls, inner...), At: s.At}}
	for _, v := range ir.AddressTaken(out).List() { // array parts in clauses of removed directives do not count
		rf.share(v, "its address is taken")
	}
	rf.findNeeded(out)
	return out
}

// region lowers the whole body of a parallel construct. Its last statement needs no barrier.
func (p *threads) region(list []ir.Stmt) []ir.Stmt {
	var out []ir.Stmt
	for i, s := range list {
		out = append(out, p.stmt(s, i == len(list)-1)...)
	}
	return out
}

func (p *threads) list(list []ir.Stmt) []ir.Stmt {
	var out []ir.Stmt
	for _, s := range list {
		out = append(out, p.stmt(s, false)...)
	}
	return out
}

func (p *threads) rewrite() *ir.Rewrite {
	return &ir.Rewrite{Expr: func(e ir.Expr) ir.Expr {
		q, ok := e.(*ir.Query)
		switch {
		case !ok:
			return e
		case p.nested:
			return forms.MasterExpr(e)
		case q.What == ir.NumThreads:
			return p.count
		}
		return e
	}}
}

func (p *threads) expr(e ir.Expr) ir.Expr { return p.rewrite().CopyExpr(e) }

func (p *threads) stmt(s ir.Stmt, tail bool) []ir.Stmt {
	switch s := s.(type) {
	case *ir.If:
		return []ir.Stmt{&ir.If{Cond: p.expr(s.Cond), Then: p.list(s.Then), Else: p.list(s.Else), At: s.At}}
	case *ir.Block:
		return []ir.Stmt{&ir.Block{Label: s.Label, Body: p.list(s.Body), At: s.At}}
	case *ir.While:
		return []ir.Stmt{&ir.While{Label: s.Label, Pre: p.list(s.Pre), Cond: p.expr(s.Cond), Post: p.list(s.Post),
			Body: p.list(s.Body), At: s.At}}
	case *ir.For:
		return p.loop(s, tail)
	case *ir.Construct:
		return p.construct(s, tail)
	case *ir.Barrier:
		if p.nested {
			return nil
		}
		if p.serial {
			p.Refuse(s.At, "barrier", "the iterations of a loop that threads share out cannot wait for each other",
				"end the loop before it")
		}
	}
	return p.rewrite().CopyStmt(s)
}

func (p *threads) loop(s *ir.For, tail bool) []ir.Stmt {
	d := s.Directive
	switch {
	case d == nil || d.Parts&^(ir.Simd|ir.Loop) == 0:
		return p.plain(s)
	case d.Parts&ir.Parallel != 0:
		if strategy.ByLanes(d.Nested.Kind) && (p.Slow || !p.Shuffles()) && forms.AddsFloats(d.Reductions) {
			return p.list(nested.InThread(p.Work, s, d))
		}
		return p.nestedIn(d, s.At, s.Var.Name).inOrder(s)
	case p.serial || p.nested:
		return p.inOrder(s)
	case d.Parts&ir.Distribute != 0:
		p.NotYet(s.At, "distribute inside parallel")
		return nil
	}
	return p.share(s, tail)
}

// inOrder lowers a loop that its thread runs alone.
func (p *threads) inOrder(s *ir.For) []ir.Stmt {
	decls, body := p.lowering.ownCopies(forms.FirstOnly(s.Directive), s.Body)
	f := *s
	f.Body = body
	return forms.Scoped(decls, p.plain(&f), s.At)
}

func (p *threads) plain(s *ir.For) []ir.Stmt {
	f := &ir.For{Label: s.Label, Var: s.Var, Lo: p.expr(s.Lo), Hi: p.expr(s.Hi), Step: p.expr(s.Step), Rel: s.Rel,
		Unroll: s.Unroll, Body: p.list(s.Body), At: s.At}
	if p.Slow {
		f.Unroll = 1 // unrolling would take registers from other code
		return []ir.Stmt{f}
	}
	if s.Directive != nil && strategy.ByLanes(s.Directive.Nested.Kind) {
		p.Simds[f] = s.Directive
		return []ir.Stmt{f}
	}
	if out := p.ahead(f); out != nil {
		return out
	}
	if f.Unroll == 0 {
		f.Unroll = unroll.Later
	}
	if s.Directive != nil {
		p.Simds[f] = s.Directive
	}
	if !p.serial {
		return unchecked.Loop(p.team.teamLaunch.Sharer.Crew, f, nil)
	}
	return []ir.Stmt{f} // shareLoop handles it
}

// nestedIn returns the lowering of a parallel construct inside this one, which each thread runs
// alone.
func (p *threads) nestedIn(d *ir.Directive, at ir.Pos, name string) *threads {
	switch d.Nested.Kind {
	case ir.NestedLanes, ir.NestedGroups, ir.NestedWarp, ir.NestedEager:
		return &threads{team: p.team, count: build.Int(1, at), serial: true, nested: true}
	case ir.NestedCPU, ir.NestedCross:
		p.NotYet(at, "nested("+d.Nested.Kind.String()+"); write nested(inline), which runs it in the thread that meets it")
	}
	p.Decide(at, "loop "+name, "one thread", "it is nested in a parallel construct: each thread runs all of it",
		"collapse, where the loops are perfectly nested")
	return &threads{team: p.team, count: build.Int(1, at), serial: true, nested: true}
}

// share lowers a worksharing loop inside a parallel construct.
func (p *threads) share(s *ir.For, tail bool) []ir.Stmt {
	if s.Directive.Scan != nil {
		return p.shareScan(s)
	}
	d := s.Directive
	sp, ok := p.team.Nest(s, d.Collapse)
	if !ok {
		return nil
	}
	by := p.sharersOf(false)
	inBlocks := p.whole && p.inBlocks(sp, d, false, nil)
	if inBlocks {
		p.noteBlocks(sp, d, by)
	} else {
		p.noteShare(sp, d, false)
	}
	firsts, body := p.lowering.ownCopies(d.Firstprivate, sp.Body)
	red := p.lowering.startReductions(d.Reductions, &body, s.At)
	red.inBlocks = inBlocks
	lasts, last, body := p.LastCopies(d.Lastprivate, body, s.At)
	d, out := p.ownChunk(d, s)
	out = append(append(append(out, firsts...), red.decls...), lasts...)
	told, last, out := p.broadcastLast(d.Lastprivate, sp, last, out)
	inner := &threads{team: p.team, count: p.count, serial: true}
	sp.Body = body
	var sums *blocks
	if inBlocks {
		var known []ir.Stmt
		sums, known = p.openBlocks(sp, d, red, by)
		out = append(out, known...)
	}
	out = append(out, p.versions(sp, func(sp *spaces.Space) []ir.Stmt {
		if inBlocks {
			return sums.walk(sp, inner.list(sp.Body))
		}
		mine, body := spaces.Portion{First: build.Query(ir.ThreadNum, s.At), Stride: p.count}, unchecked.ThreadBody(p.Sharer.Crew, inner.list(sp.Body))
		if inChunks(d, false) {
			return p.walkDealt(sp, d, false, mine, p.count, body, last)
		}
		return p.Walk(sp, mine, body, last)
	})...)
	red.perThread = true
	plain := func(at ir.Pos) []ir.Stmt { return []ir.Stmt{build.Barrier(at)} }
	out = append(append(out, told...), p.finishReductions(red, s.At, plain)...)
	if len(red.items)+len(told) > 0 || !d.Nowait && !tail {
		out = append(out, build.Barrier(s.At))
	}
	return out
}

// ownChunk computes the chunk size of a loop before a thread writes the variables that it depends
// on.
func (p *threads) ownChunk(d *ir.Directive, s *ir.For) (*ir.Directive, []ir.Stmt) {
	if d.Schedule.Chunk == nil {
		return d, nil
	}
	c := *d
	c.Schedule.Chunk = p.expr(d.Schedule.Chunk)
	var reads analysis.Touch
	p.Effects.Exprs(&reads, c.Schedule.Chunk)
	if !reads.Reads.Overlaps(p.Effects.Stmts([]ir.Stmt{s}).Writes) {
		return &c, nil
	}
	v := p.Local("chunk", c.Schedule.Chunk.Type(), s.At)
	known := []ir.Stmt{build.Decl(v, c.Schedule.Chunk, s.At), build.Barrier(s.At)}
	c.Schedule.Chunk = build.Ref(v, s.At)
	return &c, known
}

// broadcastLast makes the thread that ran the last iteration broadcast the value of a lastprivate
// variable to the other threads, if each has the variable. more extends last, and told is the code
// of all threads after the loop.
func (p *threads) broadcastLast(vars []*ir.Var, sp *spaces.Space, last, out []ir.Stmt) (told, more, decls []ir.Stmt) {
	at := sp.At
	var hear []ir.Stmt
	for _, v := range vars {
		if p.IsShared(v) {
			continue
		}
		s := p.Slot(crews.Slot{What: "last value", Of: v}, v.Type, v.Name, at)
		last = append(last, build.Assign(build.Ref(s, at), build.Ref(v, at), at))
		hear = append(hear, build.Assign(build.Ref(v, at), build.Ref(s, at), at))
	}
	if len(hear) == 0 {
		return nil, last, out
	}
	ran, out := p.Temp("total", sp.Count(), out)
	return []ir.Stmt{build.Barrier(at), &ir.If{Cond: build.Compare(ir.Gt, ran, build.Int(0, at), at), Then: hear, At: at}}, last, out
}

func (p *threads) construct(s *ir.Construct, tail bool) []ir.Stmt {
	d := s.Directive
	switch {
	case d.Parts&ir.Parallel != 0:
		decls, body := p.lowering.ownCopies(d.Firstprivate, s.Body)
		return []ir.Stmt{&ir.Block{Body: append(decls, p.nestedIn(d, s.At, "of parallel").list(body)...), At: s.At}}
	case p.serial || p.nested:
		return []ir.Stmt{&ir.Block{Body: p.list(s.Body), At: s.At}}
	case d.Parts&(ir.Single|ir.Masked) != 0:
		first := build.Compare(ir.Eq, build.Query(ir.ThreadNum, s.At), build.Int(0, s.At), s.At)
		decls, body := p.lowering.ownCopies(d.Firstprivate, s.Body)
		inner := &threads{team: p.team, count: p.count, serial: true}
		out := []ir.Stmt{&ir.If{Cond: first, Then: append(decls, inner.list(body)...), At: s.At}}
		if d.Parts&ir.Single != 0 && !d.Nowait && !tail {
			out = append(out, build.Barrier(s.At))
		}
		return out
	}
	p.NotYet(s.At, d.Text+" inside parallel")
	return nil
}
