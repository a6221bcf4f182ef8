package lower

import (
	"fmt"
	"maps"
	"slices"

	"github.com/gompss/gompss/codegen/internal/lower/crews"
	"github.com/gompss/gompss/codegen/internal/lower/forms"
	"github.com/gompss/gompss/codegen/ir"
	"github.com/gompss/gompss/codegen/ir/build"
	"github.com/gompss/gompss/codegen/ir/query"
	"github.com/gompss/gompss/codegen/target"
)

// Sequential code around constructs can run on one team, whose threads wait for each other, or on
// all teams that the device runs at once, which wait for each other at grid barriers. In the second
// form all teams are one large team: what all threads of a team would compute alike, all threads of
// the grid compute; what thread 0 would do alone, thread 0 of team 0 does; barriers are those of
// the grid; and what the team shares lies in device memory. A loop that threads share out is dealt
// to those of all teams, in any form of a loop of a league. A reduction meets in each team first.

// A wholeGrid is what the second form of a segment needs.
type wholeGrid struct {
	words *ir.Var   // scratch memory in which the teams count themselves
	turn  *ir.Var   // of each thread: 0 and 1 in turn, by reduction; nil without one
	local *ir.Label // of blocks that each team runs as one of a league
}

// noWhole returns why sequential code around constructs cannot run on all teams; "" where it can.
func noWhole(l *lowering, s ir.Stmt) string {
	switch {
	case l.opt.NoShuffles || l.opt.Subgroups():
		return "the teams of " + l.opt.Target + " cannot wait for each other"
	case len(l.insisted) > 0:
		return "arrays are distributed over the memory of teams"
	}
	why := ""
	note := func(reason string) {
		if why == "" {
			why = reason
		}
	}
	ir.WalkStmts([]ir.Stmt{s}, func(s ir.Stmt) bool {
		if c, ok := s.(*ir.Call); ok && asksThread(c.Fn) {
			note("function " + c.Fn.Name + " asks for the number of its thread")
		}
		d := ir.DirectiveOf(s)
		if d == nil {
			return true
		}
		_, loop := s.(*ir.For)
		parallel := d.Parts&ir.Parallel != 0
		switch {
		case d.NumThreads != nil || d.ThreadLimit != nil || d.If != nil || d.NumTeams != nil:
			note("a clause bounds the threads of a construct")
		case d.Scan != nil:
			note("a scan is one of a team")
		case d.Parts&ir.Distribute != 0 && !(parallel && loop), d.Parts&ir.Teams != 0 && !loop:
			note("a construct has teams of its own")
		case d.Mode != ir.ModeAuto:
			note("a clause asks for a mode of teams")
		case fromCounter(d.Schedule.Kind) || d.DistSchedule.Chunk != nil:
			note("a schedule deals chunks to teams")
		}
		for _, r := range d.Reductions {
			if !r.Place.Type().IsScalar() {
				note("an array is reduced")
			}
		}
		return true
	})
	return why
}

// asksOverlap reports whether e asks whether slices overlap.
func asksOverlap(e ir.Expr) bool {
	found := false
	ir.WalkExpr(e, func(x ir.Expr) bool {
		_, is := x.(*ir.Apart)
		found = found || is
		return !found
	})
	return found
}

// asksThread reports whether f or what it calls asks for the number of a thread or team.
func asksThread(f *ir.Func) bool {
	found := false
	ir.WalkStmts(f.Body, func(s ir.Stmt) bool {
		if c, ok := s.(*ir.Call); ok {
			found = found || asksThread(c.Fn)
		}
		ir.StmtExprs(s, func(e ir.Expr) {
			ir.WalkExpr(e, func(x ir.Expr) bool {
				_, ok := x.(*ir.Query)
				found = found || ok
				return !found
			})
		})
		return !found
	})
	return found
}

// begin prepares the launch of a segment that all teams run.
func (w *wholeGrid) begin(t *teamLaunch, at ir.Pos) {
	t.Launch.Cooperative, t.Launch.MaxTeams = true, nil
	w.words = t.pad("meet", ir.Uint32Type, build.Int(2, at), at)
	w.local = &ir.Label{}
}

// share keeps a variable of the one large team in device memory.
func (w *wholeGrid) share(t *teamLaunch, v *ir.Var, why string) {
	t.Scratch[v] = t.pad(v.Name, v.Type, build.Int(1, v.At), v.At)
	t.Shared[v] = true
	t.Decide(v.At, "variable "+v.Text(), "device memory", why, "declare it inside the parallel construct to make it private")
}

// box returns device memory by which thread 0 of team 0 gives all others a value.
func (w *wholeGrid) box(t *teamLaunch, s crews.Slot, typ *ir.Type, name string, at ir.Pos) *ir.Var {
	v := t.Variable(name, typ, ir.Local, at)
	v.At = ir.Pos{}
	t.Slots[s] = v
	t.Effects.Exact[v] = true
	t.Shared[v] = true
	t.Scratch[v] = t.pad(name, typ, build.Int(1, at), at)
	return v
}

// own marks list as what each team runs as one of a league.
func (w *wholeGrid) own(list []ir.Stmt, at ir.Pos) []ir.Stmt {
	return []ir.Stmt{&ir.Block{Label: w.local, Body: list, At: at}}
}

// reduce leaves in every thread of the grid what all of them held: each team combines first, and
// behind a grid barrier each team combines the teams' parts, in their order. Parts of two
// reductions in turn lie apart, so that no barrier is needed behind.
func (w *wholeGrid) reduce(t *combiner, items []item, at ir.Pos, barrier func(ir.Pos) []ir.Stmt) []ir.Stmt {
	if w.turn == nil {
		w.turn = t.Local("turn", ir.IntType, at)
	}
	wait := func(at ir.Pos) []ir.Stmt { return []ir.Stmt{build.Barrier(at)} }
	before := t.open.clone()
	var scalars []scalar
	for i, it := range items {
		scalars = append(scalars, scalar{op: it.Op, acc: it.acc, idx: it.idx, n: i})
	}
	first := append(wait(at), t.combineTeam(scalars, at, wait)...) // the slots may be in use yet
	me, turn := build.Query(ir.TeamNum, at), build.Ref(w.turn, at)
	var store, again, gather []ir.Stmt
	k := t.Local("k", ir.IntType, at)
	for i := range items {
		it := &items[i]
		name := it.acc.Name + "Parts"
		it.part = t.newPart(name, it.acc.Type, 2, at)
		store = append(store, it.part.store(me, turn, build.Ref(it.acc, at), at))
		again = append(again, build.Assign(build.Ref(it.acc, at), build.Identity(it.Op, it.acc.Type, at), at))
		load, value := it.part.load(t.teamLaunch, build.Ref(k, at), turn, at)
		gather = append(gather, load...)
		var idx ir.Expr
		if it.idx != nil {
			it.idxPart = t.newPart(name, it.idx.Type, 2, at)
			store = append(store, it.idxPart.store(me, turn, build.Ref(it.idx, at), at))
			again = append(again, build.Assign(build.Ref(it.idx, at), build.Identity(ir.Min, it.idx.Type, at), at))
			load, idx = it.idxPart.load(t.teamLaunch, build.Ref(k, at), turn, at)
			gather = append(gather, load...)
		}
		gather = append(gather, fold(scalars[i], value, idx, at)...)
	}
	first = append(first, &ir.If{Cond: forms.Thread0(at), Then: store, At: at})
	t.open = before
	meet := barrier(at)
	after := t.open.clone()
	second := append(again, t.Stride(k, build.Query(ir.NumTeams, at), gather, at)...)
	second = append(append(second, wait(at)...), t.combineTeam(scalars, at, wait)...)
	second = append(second, build.Assign(build.Ref(w.turn, at), build.Binary(ir.Sub, build.Int(1, at), turn, at), at))
	t.open = after
	out := append(w.own(first, at), meet...)
	return append(out, w.own(second, at)...)
}

// finish makes body, code of one team, code of all.
func (w *wholeGrid) finish(t *teamLaunch, body []ir.Stmt, at ir.Pos) []ir.Stmt {
	g := t.Launch
	g.Trip, g.TeamTrip, g.Width, g.Resident, g.Threads, g.ResidentTeams = nil, nil, 0, false, 0, 0
	if w.turn == nil {
		return w.widen(body)
	}
	return append([]ir.Stmt{build.Decl(w.turn, build.Int(0, at), at)}, w.widen(body)...)
}

func (w *wholeGrid) widen(list []ir.Stmt) []ir.Stmt {
	r := &ir.Rewrite{Expr: wideExpr}
	var out []ir.Stmt
	for _, s := range list {
		switch s := s.(type) {
		case *ir.Block:
			c := &ir.Block{Label: s.Label, Body: s.Body, At: s.At}
			if s.Label == w.local {
				c.Label = nil
			} else {
				c.Body = w.widen(s.Body)
			}
			out = append(out, c)
		case *ir.If:
			out = append(out, &ir.If{Cond: r.CopyExpr(s.Cond), Then: w.widen(s.Then), Else: w.widen(s.Else), At: s.At})
		case *ir.While:
			out = append(out, &ir.While{Label: s.Label, Pre: w.widen(s.Pre), Cond: r.CopyExpr(s.Cond), Post: w.widen(s.Post),
				Body: w.widen(s.Body), At: s.At})
		case *ir.For:
			c := *s
			c.Lo, c.Hi, c.Step, c.Body = r.CopyExpr(s.Lo), r.CopyExpr(s.Hi), r.CopyExpr(s.Step), w.widen(s.Body)
			out = append(out, &c)
		case *ir.Barrier:
			word := build.Index(build.Ref(w.words, s.At), build.Int(0, s.At), s.At)
			out = append(out, &ir.Barrier{Scope: ir.GridBarrier, Count: word, At: s.At})
		default:
			out = append(out, r.CopyStmt(s)...)
		}
	}
	return out
}

// wideExpr answers the queries of a thread of one team for one of the grid.
func wideExpr(e ir.Expr) ir.Expr {
	q, ok := e.(*ir.Query)
	if !ok {
		return e
	}
	mine, all := build.Query(ir.ThreadNum, q.At), build.Query(ir.NumThreads, q.At)
	switch q.What {
	case ir.TeamNum:
		return build.Int(0, q.At)
	case ir.NumTeams:
		return build.Int(1, q.At)
	case ir.ThreadNum:
		return build.Binary(ir.Add, build.Binary(ir.Mul, build.Query(ir.TeamNum, q.At), all, q.At), mine, q.At)
	case ir.NumThreads:
		return build.Binary(ir.Mul, build.Query(ir.NumTeams, q.At), all, q.At)
	}
	return e
}

// whole gives s to all teams; where the loops may be too short for grid barriers the host chooses
// between that form and the one of one team. It reports false where they surely are.
func (sp *segmenter) whole(s ir.Stmt, guards []ir.Expr, what string) bool {
	l, at := sp.l, s.Pos()
	gpu := l.opt.GPU()
	iterations, least := sp.longest(s), leastShared(gpu, s)
	costs := fmt.Sprintf("a grid barrier takes %v on %s, which pays from about %d iterations between two", gpu.Cost.GridBarrier, gpu.Name, least)
	n, known := int64(0), false
	if iterations != nil {
		n, known = query.Int64(iterations)
	}
	switch {
	case iterations == nil || known && n >= least:
		sp.onAll(s, guards)
		l.Decide(at, what, "all teams of the device, which wait for each other at grid barriers", costs, "")
		return true
	case known:
		l.Decide(at, what, "one team runs it", fmt.Sprintf("%d iterations: %s", n, costs), "")
		return false
	}
	many := build.Compare(ir.Ge, iterations, build.Int(least, at), at)
	few := l.CopyOf([]ir.Stmt{s}, &l.Kernel.NumVars)[0]
	before := maps.Clone(sp.known)
	sp.flush(guards)
	sp.onAll(s, append(slices.Clip(guards), many))
	after := sp.known
	sp.known = before
	sp.construct(few, append(slices.Clip(guards), build.Not(many, at)), true)
	sp.known = merge(many, after, sp.known)
	l.Decide(at, what, "all teams of the device, which wait for each other at grid barriers, or one team where the loops are short", costs, "")
	return true
}

// onAll adds the segment of s, which all teams run. What s changes of the variables around it every
// thread keeps for itself meanwhile, so that the code of the teams needs no memory for it.
func (sp *segmenter) onAll(s ir.Stmt, guards []ir.Expr) {
	s = limitedTeams(s)
	at, own := s.Pos(), map[*ir.Var]*ir.Var{}
	var copies, back []ir.Stmt
	free := ir.Free([]ir.Stmt{s})
	for _, v := range changedOutside([]ir.Stmt{s}).List() {
		if !free.Has(v) || v.Space == ir.Param || sp.taken.Has(v) || !v.Type.IsScalar() && v.Type.Kind != ir.Slice {
			continue
		}
		c := sp.l.Local(v.Name, v.Type, v.At)
		own[v] = c
		copies = append(copies, build.Decl(c, build.Ref(v, at), at))
		back = append(back, build.Assign(build.Ref(v, at), build.Ref(c, at), at))
	}
	if len(own) > 0 {
		body := build.WithVars(own).CopyStmts([]ir.Stmt{s})
		s = &ir.Block{Body: append(append(copies, body...), back...), At: at}
	}
	sp.flush(guards)
	sp.segment(&segment{guards: guards, list: []ir.Stmt{s}, construct: true, oneTeam: true, whole: &wholeGrid{}})
}

// longest returns the iterations of the longest loop in s that threads share out, as the host knows
// them: with variables of sequential loops at their first and last value. It is nil where the host
// does not.
func (sp *segmenter) longest(s ir.Stmt) ir.Expr {
	var counts []ir.Expr
	known := true
	var look func(list []ir.Stmt, first, last values)
	look = func(list []ir.Stmt, first, last values) {
		for _, s := range list {
			f, ok := s.(*ir.For)
			if !ok {
				ir.Lists(s, func(list []ir.Stmt) { look(list, first, last) })
				continue
			}
			if forms.Governed(f) {
				a, b := first.iterations(f), last.iterations(f)
				known = known && a != nil && b != nil
				counts = append(counts, a, b)
				continue
			}
			inFirst, inLast := maps.Clone(first), maps.Clone(last)
			inFirst.set(f.Var, f.Lo, sp.taken)
			inLast.set(f.Var, build.Binary(ir.Sub, build.ToInt(f.Hi), build.Int(1, f.At), f.At), sp.taken)
			if f.Var.Type.Kind != ir.Int64 || f.Rel != ir.Lt && f.Rel != ir.Le {
				delete(inFirst, f.Var)
				delete(inLast, f.Var)
			}
			look(f.Body, inFirst, inLast)
		}
	}
	at := maps.Clone(sp.known)
	for _, v := range ir.Assigned([]ir.Stmt{s}).List() {
		delete(at, v)
	}
	look([]ir.Stmt{s}, at, at)
	if !known || len(counts) == 0 {
		return nil
	}
	most := (&segment{known: at}).onHost(largestOf(counts))
	if most == nil {
		return nil
	}
	return most
}

// iterations returns how many iterations f shares out, nil where k does not tell.
func (k values) iterations(f *ir.For) ir.Expr {
	var n ir.Expr
	for depth := max(f.Directive.Collapse, 1); ; depth-- {
		step, ok := query.Int64(f.Step)
		trips := k.of(build.Trips(f, build.ToInt(f.Lo), build.ToInt(f.Hi), build.ToInt(f.Step)))
		if !ok || step == 0 || trips == nil {
			return nil
		}
		if n == nil {
			n = trips
		} else {
			n = build.Binary(ir.Mul, n, trips, f.At)
		}
		if depth == 1 {
			return n
		}
		inner, ok := f.Body[0].(*ir.For)
		if !ok || len(f.Body) != 1 {
			return nil
		}
		f = inner
	}
}

// leastShared is from how many iterations between two barriers the whole device is faster than one
// team: one team takes them in rounds of all its threads, the device in one and a grid barrier.
// A round takes as long as its loads wait for memory, or its instructions.
func leastShared(gpu *target.Target, s ir.Stmt) int64 {
	var w target.Work
	count := func(f *ir.For) {
		var all target.Work
		ir.WalkExprs(f.Body, func(e ir.Expr) bool {
			switch e := e.(type) {
			case *ir.Index:
				all.Loads++
			case *ir.Binary:
				switch {
				case e.T.Kind == ir.Float64:
					all.Float64++
				case e.T.Kind == ir.Float32:
					all.Float32++
				default:
					all.Int++
				}
			}
			return true
		})
		if gpu.Clocks(all) > gpu.Clocks(w) {
			w = all
		}
	}
	ir.WalkStmts([]ir.Stmt{s}, func(s ir.Stmt) bool {
		f, ok := s.(*ir.For)
		if ok && forms.Governed(f) {
			count(f)
			return false
		}
		return true
	})
	threads := float64(gpu.Team.Threads)
	busy := gpu.Clocks(w) * threads / float64(gpu.Team.Warp) / gpu.Clock
	round := max(busy, gpu.Memory.Latency.Seconds())
	return int64(threads * (1 + gpu.Cost.GridBarrier.Seconds()/round))
}
