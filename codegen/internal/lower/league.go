package lower

import (
	"github.com/gompss/gompss/codegen/internal/analysis"
	"github.com/gompss/gompss/codegen/internal/lower/crews"
	"github.com/gompss/gompss/codegen/internal/lower/forms"
	"github.com/gompss/gompss/codegen/internal/lower/spaces"
	"github.com/gompss/gompss/codegen/ir"
	"github.com/gompss/gompss/codegen/ir/build"
)

// A shareOut contains the work that remains at the end of a loop that teams share.
type shareOut struct {
	reductions *reductions
	last       []ir.Stmt // the stores of lastprivate copies
}

// leagueLoops prepares the loops that the teams of a league share, and contains the values that the
// teams combine at the end.
type leagueLoops struct {
	*teamLaunch
	*placement
	shareOuts map[*ir.For]shareOut
	ends      []*reductions // of shareOuts: partial results of each team until its end
	postponed []*reductions // of loops that may run again
	inner     int           // the number of Ifs and loops around the current code
}

// hoistTeamLocals declares the variables that each team needs in a loop that the teams share -
// copies of firstprivate and lastprivate variables, parts of reductions - before the loop, at the
// level of team variables.
func (g *leagueLoops) hoistTeamLocals(list []ir.Stmt) []ir.Stmt {
	var out []ir.Stmt
	for _, s := range list {
		out = append(out, g.hoistIn(s)...)
	}
	return out
}

func (g *leagueLoops) hoistIn(s ir.Stmt) []ir.Stmt {
	switch s := s.(type) {
	case *ir.If:
		defer g.deeper()()
		return []ir.Stmt{&ir.If{Cond: s.Cond, Then: g.hoistTeamLocals(s.Then), Else: g.hoistTeamLocals(s.Else), At: s.At}}
	case *ir.Block:
		return []ir.Stmt{&ir.Block{Label: s.Label, Body: g.hoistTeamLocals(s.Body), At: s.At}}
	case *ir.While:
		defer g.deeper()()
		c := *s
		c.Body = g.hoistTeamLocals(s.Body)
		return []ir.Stmt{&c}
	case *ir.For:
		return g.hoistLoop(s)
	case *ir.Construct:
		if s.Directive.Parts&ir.Parallel == 0 {
			return []ir.Stmt{&ir.Construct{Directive: s.Directive, Body: g.hoistTeamLocals(s.Body), At: s.At}}
		}
	}
	return []ir.Stmt{s}
}

func (g *leagueLoops) hoistLoop(s *ir.For) []ir.Stmt {
	c := *s
	if s.Directive == nil {
		defer g.deeper()()
		c.Body = g.hoistTeamLocals(s.Body)
		return []ir.Stmt{&c}
	}
	d := *s.Directive
	d.Parts &^= ir.Teams
	c.Directive = &d
	if forms.ForThreads(&c) && d.Parts&ir.Distribute != 0 && g.inner > 0 && !g.Single && len(d.Reductions) > 0 {
		g.deferShared(&c, &d)
	}
	if forms.ForThreads(&c) || d.Parts&ir.Distribute == 0 {
		return []ir.Stmt{&c}
	}
	g.Trips.Reread = max(g.Trips.Reread, analysis.RereadBytes(s.Body, s.Var))
	firsts, body := g.lowering.ownCopies(d.Firstprivate, s.Body)
	lasts, last, body := g.LastCopies(d.Lastprivate, body, s.At)
	red, own := &reductions{}, d.Reductions
	if g.inner > 0 && !g.Single {
		var others []ir.Reduction
		own, others = g.ownFirst(d.Reductions)
		g.postpone(g.lowering.startReductions(others, &body, s.At))
	}
	red = g.lowering.startReductions(own, &body, s.At)
	d.Firstprivate, d.Lastprivate, d.Reductions = nil, nil, nil
	c.Body = g.hoistTeamLocals(body)
	red.league = true
	g.shareOuts[&c] = shareOut{reductions: red, last: last}
	g.ends = append(g.ends, red)
	return append(append(append(firsts, lasts...), red.decls...), &c)
}

// ownFirst separates the reductions into variables of one team, which need no other team, from the
// others.
func (g *leagueLoops) ownFirst(list []ir.Reduction) (own, others []ir.Reduction) {
	for _, r := range list {
		if v := ir.RootVar(r.Place); v != nil && g.mine.Has(v) {
			own = append(own, r)
		} else {
			others = append(others, r)
		}
	}
	return own, others
}

// deeper records that the following code may run more than once, or not at all.
func (g *leagueLoops) deeper() (undo func()) {
	g.inner++
	return func() { g.inner-- }
}

// postpone lets each team accumulate its part of r over all executions of its loop. The league
// combines the parts once, when the teams end, because a team cannot wait for the others before.
func (g *leagueLoops) postpone(r *reductions) {
	if len(r.items) == 0 {
		return
	}
	r.league = true
	g.postponed = append(g.postponed, r)
	g.Decide(r.items[0].At, "reduction", "over the league, when the teams end", "its loop is under an if or in a loop of the teams", "")
}

// deferShared makes the threads of a loop of the whole league reduce into their team's part of a
// postponed reduction.
func (g *leagueLoops) deferShared(c *ir.For, d *ir.Directive) {
	own, list := g.ownFirst(d.Reductions)
	red := g.lowering.startReductions(list, &c.Body, c.At)
	d.Reductions = own
	if len(red.items) != len(list) {
		return // one of them was refused
	}
	for i, r := range list {
		r.Place = build.Ref(red.items[i].acc, r.At)
		if red.items[i].idx != nil {
			r.Index = build.Ref(red.items[i].idx, r.At)
		}
		d.Reductions = append(d.Reductions, r)
	}
	g.postpone(red)
}

// withPostponed declares the parts of postponed reductions before list.
func (g *leagueLoops) withPostponed(list []ir.Stmt) []ir.Stmt {
	var front []ir.Stmt
	first := map[*ir.Var]item{}
	for _, r := range g.postponed {
		front = append(front, r.decls...)
		for _, it := range r.items {
			v := ir.RootVar(it.Place)
			if v == nil {
				continue
			}
			what := "reduction(" + it.Op.String() + ": " + v.Name + ")"
			if before, ok := first[v]; ok && before.Op != it.Op {
				g.Refuse(it.At, what, "it is combined by "+before.Op.String()+" too, at "+before.At.String()+
					", under an if or in a loop of the teams: the order of the two is lost where the teams' parts meet, when they end",
					"end the teams between the two loops")
			}
			first[v] = it
			if at, used := usedBesides(list, v, it.Op); used {
				g.Refuse(it.At, what, "the loop is under an if or in a loop of the teams, so that the teams' parts meet when they end, and "+
					at.String()+" uses "+v.Name+" before: no team can wait for the others", "end the teams before it is used")
			}
		}
	}
	return append(front, list...)
}

// usedBesides returns a position at which list uses v other than in loops of the league that
// combine it by op too.
func usedBesides(list []ir.Stmt, v *ir.Var, op ir.Op) (at ir.Pos, used bool) {
	ir.WalkStmts(list, func(s ir.Stmt) bool {
		if d := ir.DirectiveOf(s); d != nil && d.Parts&ir.Distribute != 0 {
			for _, r := range d.Reductions {
				if ir.RootVar(r.Place) == v && r.Op == op {
					return false
				}
			}
		}
		ir.StmtExprs(s, func(e ir.Expr) {
			if !used && ir.ExprVars(e).Has(v) {
				at, used = e.Pos(), true
			}
		})
		return !used
	})
	return at, used
}

// distribute lowers a loop whose iterations are distributed over the teams.
func (t *team) distribute(s *ir.For) []ir.Stmt {
	d, ends := s.Directive, t.shareOuts[s]
	sp, ok := t.Nest(s, d.Collapse)
	if !ok {
		return nil
	}
	if d.DistSchedule.Chunk != nil {
		t.explainDealt(sp, d, true)
		t.noteDealt(sp, d)
	} else {
		t.note(sp, &t.Trips.Team)
	}
	t.Decide(s.At, "loop "+s.Var.Text(), "teams", forms.Because(d), "")
	var out, body, last []ir.Stmt
	for _, f := range sp.Loops {
		out = append(out, t.reads(s.At, f.Lo, f.Hi, f.Step)...)
	}
	if c := d.DistSchedule.Chunk; c != nil {
		out = append(out, t.reads(s.At, forms.MasterOf(c))...)
	}
	t.repeat(sp.Label, true, func() {
		body = t.list(sp.Body)
		if sp.Label != nil {
			t.open.add(t.jump(sp.Label).continues)
		}
		if len(ends.last) > 0 {
			before := t.open.clone()
			last = t.alone(ends.last)
			t.open.add(before)
		}
	})
	p := spaces.Portion{First: build.Query(ir.TeamNum, s.At), Stride: build.Query(ir.NumTeams, s.At)}
	if d.DistSchedule.Chunk != nil {
		out = append(out, t.walkDealt(sp, d, true, p, build.Int(1, s.At), body, last)...)
	} else {
		out = append(out, t.Walk(sp, p, body, last)...)
	}
	return append(out, t.finishReductions(ends.reductions, s.At, t.barrier)...)
}

// overLeague combines the results of the teams. Each team stores its part in scratch memory and
// takes a ticket; the team with the last ticket combines all parts in the order of the teams, so
// that the result depends on the shape of the grid only.
func (c *combiner) overLeague(r *reductions, at ir.Pos, barrier func(ir.Pos) []ir.Stmt) []ir.Stmt {
	if c.depth > 0 {
		panic("gompss: bug: a reduction over the league is not postponed")
	}
	c.Decide(at, "reduction", "over the league", "the team that finishes last combines the teams' parts in their order: the same bits for the same launch shape", "")
	out := c.reads(at, copiesOf(r, at)...)
	last := c.Slot(crews.Slot{What: "last"}, ir.BoolType, "last", at)
	var w analysis.Touch
	w.Writes.AddVar(last)
	if c.open.beyondTeam() {
		out = append(out, barrier(at)...) // all accesses of the threads precede the ticket and the code after it
	} else {
		out = append(out, c.sync(w, true, at)...)
	}
	store := c.storeParts(r, at)
	store = append(store, c.ticket(last, at)...)
	out = append(out, &ir.If{Cond: forms.Thread0(at), Then: store, At: at})
	c.open.solo.Add(w)
	out = append(out, barrier(at)...)
	c.open.all.Reads.AddVar(last)
	before := c.open.clone()
	finish := c.combineParts(r, at, barrier)
	c.open.add(before)
	c.last = &ir.If{Cond: build.Ref(last, at), Then: finish, At: at}
	return append(out, c.last)
}

// byAtomics makes thread 0 add the part of the team to the results. Scratch memory is zero
// initially; the first team also adds the previous value of the variable.
func (c *combiner) byAtomics(r *reductions, at ir.Pos) []ir.Stmt {
	out := c.reads(at, copiesOf(r, at)...)
	var add []ir.Stmt
	order := "whole numbers come out the same in any order"
	for _, it := range r.items {
		var part ir.Expr = build.Ref(it.acc, at)
		if x, ok := it.Place.(*ir.Ref); ok && c.lowering.initial[x.Var] != nil {
			first := build.Compare(ir.Eq, build.Query(ir.TeamNum, at), build.Int(0, at), at)
			part = build.Choose(first, build.Combine(it.Op, c.lowering.initial[x.Var], part, at), part, at)
		}
		if it.acc.Type.IsFloat() {
			order = "in any order, so the last bits may differ from run to run"
		}
		add = append(add, &ir.Atomic{Kind: ir.AtomicUpdate, Op: it.Op, Place: forms.MasterOf(it.Place), Value: part, At: at})
	}
	c.Decide(at, "reduction", "over the league by atomics", order, "")
	x := c.Effects.Stmts(add)
	out = append(out, c.sync(x, true, at)...)
	c.open.solo.Add(x)
	return append(out, &ir.If{Cond: forms.Thread0(at), Then: add, At: at})
}

func copiesOf(r *reductions, at ir.Pos) []ir.Expr {
	var out []ir.Expr
	for _, it := range r.items {
		out = append(out, build.Ref(it.acc, at))
	}
	return out
}

// ticket counts the finished teams. last is true in the last one.
func (c *combiner) ticket(last *ir.Var, at ir.Pos) []ir.Stmt {
	counter := c.pad("ticket", ir.Uint32Type, build.Int(1, at), at)
	old := c.Local("ticket", ir.Uint32Type, at)
	one := &ir.Const{T: ir.Uint32Type, Bits: 1, At: at}
	teams := build.Convert(ir.Uint32Type, build.Query(ir.NumTeams, at), at)
	return []ir.Stmt{
		build.Decl(old, nil, at),
		&ir.Atomic{Kind: ir.AtomicCapture, Op: ir.Add, Place: build.Index(build.Ref(counter, at), build.Int(0, at), at), Value: one,
			Old: build.Ref(old, at), Ordered: true, At: at},
		build.Assign(build.Ref(last, at), build.Compare(ir.Eq, build.Ref(old, at), build.Binary(ir.Sub, teams, one, at), at), at),
	}
}

// A part is the memory in which the teams store one reduced value: n values for each array element,
// one for each team.
type part struct {
	pad  *ir.Var
	elem *ir.Type // of the value; the scratch memory holds it in at least 32 bits, for atomic accesses
	n    int64
}

func (t *teamLaunch) newPart(name string, elem *ir.Type, n int64, at ir.Pos) part {
	count := build.Binary(ir.Mul, build.Query(ir.NumTeams, at), build.Int(n, at), at)
	return part{pad: t.pad(name, storable(elem), count, at), elem: elem, n: n}
}

func storable(t *ir.Type) *ir.Type {
	switch t.Kind {
	case ir.Bool, ir.Uint8, ir.Uint16:
		return ir.Uint32Type
	case ir.Int8, ir.Int16:
		return ir.Int32Type
	}
	return t
}

func (p part) place(team, e ir.Expr, at ir.Pos) ir.Expr {
	i := build.Binary(ir.Mul, team, build.Int(p.n, at), at)
	return build.Index(build.Ref(p.pad, at), build.Binary(ir.Add, i, e, at), at)
}

func (p part) store(team, e, value ir.Expr, at ir.Pos) ir.Stmt {
	t := storable(p.elem)
	if p.elem.Kind == ir.Bool {
		value = build.Choose(value, &ir.Const{T: t, Bits: 1, At: at}, &ir.Const{T: t, At: at}, at)
	}
	return &ir.Atomic{Kind: ir.AtomicWrite, Place: p.place(team, e, at), Value: build.Convert(t, value, at), At: at}
}

// load reads into a new variable of the stored type and returns the value in the type of the
// reduction.
func (p part) load(t *teamLaunch, team, e ir.Expr, at ir.Pos) ([]ir.Stmt, ir.Expr) {
	v := t.Local("other", storable(p.elem), at)
	out := []ir.Stmt{build.Decl(v, nil, at), &ir.Atomic{Kind: ir.AtomicRead, Place: p.place(team, e, at), Old: build.Ref(v, at), At: at}}
	if p.elem.Kind == ir.Bool {
		return out, build.Compare(ir.Ne, build.Ref(v, at), &ir.Const{T: v.Type, At: at}, at)
	}
	return out, build.Convert(p.elem, build.Ref(v, at), at)
}

// storeParts stores the copies of thread 0 in new scratch memory.
func (c *combiner) storeParts(r *reductions, at ir.Pos) []ir.Stmt {
	var out []ir.Stmt
	for i := range r.items {
		it := &r.items[i]
		name := it.acc.Name + "Parts"
		me := build.Query(ir.TeamNum, at)
		if it.n > 0 {
			it.part = c.newPart(name, scalarOf(it.acc.Type), it.n, at)
			e := c.Local("e", ir.IntType, at)
			k := build.Binary(ir.Sub, build.Ref(e, at), build.Int(it.lo, at), at)
			body := []ir.Stmt{it.part.store(me, k, scalarAt(build.Ref(it.acc, at), build.Ref(e, at), at), at)}
			out = append(out, elements(*it, e, body, at))
			continue
		}
		it.part = c.newPart(name, it.acc.Type, 1, at)
		out = append(out, it.part.store(me, build.Int(0, at), build.Ref(it.acc, at), at))
		if it.idx != nil {
			it.idxPart = c.newPart(name, it.idx.Type, 1, at)
			out = append(out, it.idxPart.store(me, build.Int(0, at), build.Ref(it.idx, at), at))
		}
	}
	return out
}

// combineParts is the code of the last team: its threads fold the parts, then combine their
// results.
func (c *combiner) combineParts(r *reductions, at ir.Pos, barrier func(ir.Pos) []ir.Stmt) []ir.Stmt {
	var out []ir.Stmt
	var whole []item
	for _, it := range r.items {
		if it.n > 0 {
			continue
		}
		total := it
		total.acc = c.Local(it.acc.Name, it.acc.Type, at)
		out = append(out, build.Decl(total.acc, build.Identity(it.Op, it.acc.Type, at), at))
		if it.idx != nil {
			total.idx = c.Local(it.idx.Name, it.idx.Type, at)
			out = append(out, build.Decl(total.idx, build.Identity(ir.Min, it.idx.Type, at), at))
		}
		whole = append(whole, total)
	}
	if len(whole) > 0 {
		out = append(out, c.gather(whole, at)...)
		out = append(out, c.overTeam(whole, at, barrier)...)
		out = append(out, c.apply(whole, at)...)
		if len(whole) < len(r.items) {
			out = append(out, barrier(at)...) // elements use the same slots
		}
	}
	for i, it := range r.items {
		if it.n > 0 {
			out = append(out, c.gatherElements(it, i, at, barrier)...)
		}
	}
	return out
}

// gather folds every NumThreads-th part into the copies of a thread.
func (c *combiner) gather(items []item, at ir.Pos) []ir.Stmt {
	k := c.Local("k", ir.IntType, at)
	var body []ir.Stmt
	for _, it := range items {
		load, value := it.part.load(c.teamLaunch, build.Ref(k, at), build.Int(0, at), at)
		body = append(body, load...)
		var idx ir.Expr
		if it.idx != nil {
			load, idx = it.idxPart.load(c.teamLaunch, build.Ref(k, at), build.Int(0, at), at)
			body = append(body, load...)
		}
		body = append(body, fold(scalar{op: it.Op, acc: it.acc, idx: it.idx}, value, idx, at)...)
	}
	return c.Stride(k, build.Query(ir.NumTeams, at), body, at)
}

func (c *combiner) gatherElements(it item, n int, at ir.Pos, barrier func(ir.Pos) []ir.Stmt) []ir.Stmt {
	e, k := c.Local("e", ir.IntType, at), c.Local("k", ir.IntType, at)
	x := c.Local("x", it.part.elem, at)
	load, value := it.part.load(c.teamLaunch, build.Ref(k, at), build.Binary(ir.Sub, build.Ref(e, at), build.Int(it.lo, at), at), at)
	s := scalar{op: it.Op, acc: x, n: n}
	body := []ir.Stmt{build.Decl(x, build.Identity(it.Op, x.Type, at), at)}
	body = append(body, c.Stride(k, build.Query(ir.NumTeams, at), append(load, fold(s, value, nil, at)...), at)...)
	body = append(body, c.combineTeam([]scalar{s}, at, barrier)...)
	place := scalarAt(forms.MasterOf(it.Place), build.Ref(e, at), at)
	update := []ir.Stmt{build.Assign(place, build.Combine(it.Op, place, build.Ref(x, at), at), at)}
	body = append(body, &ir.If{Cond: forms.Thread0(at), Then: update, At: at})
	body = append(body, barrier(at)...)
	return []ir.Stmt{elements(it, e, body, at)}
}
