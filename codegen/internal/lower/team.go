package lower

import (
	"fmt"
	"slices"

	"github.com/gompss/gompss/codegen/internal/analysis"
	"github.com/gompss/gompss/codegen/internal/lower/crews"
	"github.com/gompss/gompss/codegen/internal/lower/forms"
	"github.com/gompss/gompss/codegen/internal/lower/spaces"
	"github.com/gompss/gompss/codegen/internal/lower/strategy"
	"github.com/gompss/gompss/codegen/ir"
	"github.com/gompss/gompss/codegen/ir/build"
	"github.com/gompss/gompss/codegen/ir/query"
)

// team lowers what the teams of one launch run. Code of the team outside parallel constructs is run
// by all threads alike where that is harmless, else by thread 0 with its results broadcast; every
// thread follows the control flow around parallel constructs.
//
// A variable of the team is either replicated - each thread has a copy and all hold the same value
// - or shared, in team memory. Barriers stand where threads would otherwise see memory in the wrong
// order, and nowhere else: open holds what was touched since the last one.
type team struct {
	lowering *lowering
	*strategy.Sharer
	seg    *segment
	number int // of the launch
	storage
	barriers
	firstThread
	regionForms
	leagueEnds
	counters   map[*ir.Var]counter // of the loops, by their variable
	front      []ir.Stmt           // declarations that the launch begins with
	cost       int64               // of the longest path through the code of a team
	sequential bool                // there is code of the team outside its parallel loops
}

// storage says which variables a team shares and which each thread has a copy of.
type storage struct {
	own    ir.VarSet            // variables that each team has for itself
	mine   *ir.VarSet           // those of them that the kernel's text declares
	needed map[*ir.Var]bool     // read by code that all threads run
	first  analysis.FirstValues // of variables that never change
}

// barriers is what decides where the threads of a team wait for each other.
type barriers struct {
	open  open
	jumps map[*ir.Label]*jump
	depth int // of loops of the team that may repeat a construct
}

// firstThread is what thread 0 runs alone, and what it hands to the others.
type firstThread struct {
	conds  map[ir.Expr]*ir.Var // where it leaves a condition
	sent   []*ir.Var           // what it broadcasts
	guards int                 // how often it runs something alone
}

// regionForms is what became of parallel regions and their loops.
type regionForms struct {
	serials map[*ir.Construct][]ir.Stmt // what one thread runs of a parallel body
	crews   map[*ir.Directive]bool      // parallel directives that apart prepared
	eithers map[*ir.Construct]*ir.If    // what apart made of a parallel body
	regions map[ir.Stmt]bool            // statements of parallel regions
}

// leagueEnds is what the teams of a league combine at the end.
type leagueEnds struct {
	shareOuts map[*ir.For]shareOut
	ends      []*reductions // of shareOuts: what each team holds a part of until it ends
	postponed []*reductions // of loops that may run again
	inner     int           // ifs and loops around what is exposed
	last      *ir.If        // what the last team does after the latest reduction over the league
}

// open is what was touched since the last barrier: by thread 0 alone, and by any thread.
type open struct{ solo, all analysis.Touch }

func (o open) clone() open { return open{o.solo.Clone(), o.all.Clone()} }

func (o *open) add(other open) {
	o.solo.Add(other.solo)
	o.all.Add(other.all)
}

func (o open) within(other open) bool { return o.solo.Within(other.solo) && o.all.Within(other.all) }

// jump collects what is open at the breaks and continues of one label.
type jump struct{ breaks, continues open }

// lowerTeam makes the launch of a construct, with the code of the team in the given mode.
func (l *lowering) lowerTeam(s *segment, mode ir.TeamMode) *team {
	c := &crews.Crew{Walker: l.Walker, Opt: l.opt, Launch: l.launch(s), Whole: s.whole != nil, Mode: mode, Shared: map[*ir.Var]bool{}, Slots: map[crews.Slot]*ir.Var{},
		Simds: map[*ir.For]*ir.Directive{}, OnHost: s.onHost}
	t := &team{lowering: l, Sharer: &strategy.Sharer{Crew: c}, seg: s, number: len(l.program.Launches) - 1,
		storage:     storage{needed: map[*ir.Var]bool{}},
		barriers:    barriers{jumps: map[*ir.Label]*jump{}},
		firstThread: firstThread{conds: map[ir.Expr]*ir.Var{}},
		regionForms: regionForms{serials: map[*ir.Construct][]ir.Stmt{}, regions: map[ir.Stmt]bool{}, crews: map[*ir.Directive]bool{},
			eithers: map[*ir.Construct]*ir.If{}},
		leagueEnds: leagueEnds{shareOuts: map[*ir.For]shareOut{}}, counters: map[*ir.Var]counter{}}
	c.Box = func(sl crews.Slot, typ *ir.Type, name string, at ir.Pos) *ir.Var {
		return s.whole.box(t, sl, typ, name, at)
	}
	list, red := t.teamLevel()
	t.mine = ir.Declared(list)
	list = t.withPostponed(t.expose(list))
	t.limitAll(list)
	t.settleMode(list, ir.DirectiveOf(s.list[0]))
	t.place(list)
	if t.Leads() {
		t.placeLed(list, t.allEnds(red)...)
	}
	t.Effects = &analysis.Effects{Shared: t.IsShared, Exact: t.exact(list)}
	t.first = analysis.NewProver(list).First
	t.findNeeded(list)
	t.needEnds(t.allEnds(red)...)
	body := t.list(list)
	for _, r := range t.postponed {
		body = append(body, t.finishReductions(r, r.items[0].At, t.barrier)...)
	}
	body = append(body, t.finishReductions(red, s.list[0].Pos(), t.barrier)...)
	t.cost = t.pathCost(body)
	if t.Leads() {
		body = t.lead(body, s.list[0].Pos())
	} else if n := len(body); n > 0 && len(s.guards) == 0 && t.last != nil && body[n-1] == ir.Stmt(t.last) {
		s.tail = t.last
	}
	t.sequential = !onlyRegions(list)
	t.finishBounds()
	if w := s.whole; w != nil {
		body = w.finish(t, body, s.list[0].Pos())
	}
	t.Launch.Body = l.guarded(s, append(t.front, body...))
	for _, name := range t.Strategies {
		if !slices.Contains(l.strategies, name) {
			l.strategies = append(l.strategies, name)
		}
	}
	return t
}

// allEnds returns the reductions of which each team holds a part until it ends.
func (t *team) allEnds(red *reductions) []*reductions {
	return append(append(slices.Clone(t.ends), t.postponed...), red)
}

// teamLevel reads the clauses of the league and returns the code of a team, and the reductions of a
// teams body.
func (t *team) teamLevel() ([]ir.Stmt, *reductions) {
	s := t.seg.list[0]
	d := ir.DirectiveOf(s)
	if t.seg.oneTeam || d == nil || d.Parts&ir.Teams == 0 {
		t.Single = true
		t.Launch.MaxTeams = build.Int(1, s.Pos())
		if w := t.seg.whole; w != nil {
			w.begin(t, s.Pos())
		}
		return t.seg.list, &reductions{}
	}
	t.Launch.MaxTeams = t.boundTeams(d.NumTeams)
	t.LimitThreads(t.bound(d.ThreadLimit))
	if n, ok := query.Int64(forms.OrZero(t.Launch.MaxTeams)); ok && n == 1 {
		t.Single = true
	}
	if c, ok := s.(*ir.Construct); ok {
		return t.teamsBody(c)
	}
	return t.seg.list, &reductions{}
}

// teamsBody returns the code of a teams body. With parallel on the same line, the threads have the
// private copies.
func (t *team) teamsBody(s *ir.Construct) ([]ir.Stmt, *reductions) {
	d := *s.Directive
	d.Parts &^= ir.Teams
	body := s.Body
	if d.Parts != 0 {
		d.Reductions = nil
		body = []ir.Stmt{&ir.Construct{Directive: &d, Body: s.Body, At: s.At}}
	}
	red := t.lowering.startReductions(s.Directive.Reductions, &body, s.At)
	red.league = true
	if d.Parts != 0 && len(red.items) > 0 {
		inner := &d
		for i, r := range s.Directive.Reductions[:len(red.items)] { // the threads reduce into the copy of their team
			r.Place = build.Ref(red.items[i].acc, r.At)
			if red.items[i].idx != nil {
				r.Index = build.Ref(red.items[i].idx, r.At)
			}
			inner.Reductions = append(inner.Reductions, r)
		}
		body = []ir.Stmt{&ir.Construct{Directive: inner, Body: forms.BodyOf(body[0]), At: s.At}}
	}
	var copies []ir.Stmt
	if d.Parts == 0 {
		copies, body = t.lowering.ownCopies(s.Directive.Firstprivate, body)
	}
	return append(append(copies, red.decls...), body...), red
}

// bound returns the upper bound e of a clause for the host, nil where it cannot evaluate it.
func (t *team) bound(e ir.Expr) ir.Expr {
	if e == nil {
		return nil
	}
	if host := t.seg.onHost(e); host != nil {
		return build.ToInt(host)
	}
	return nil
}

// boundTeams is bound for num_teams: where the host cannot tell, teams that are too many end at
// once.
func (t *team) boundTeams(e ir.Expr) ir.Expr {
	host := t.bound(e)
	if e != nil && host == nil {
		t.lowering.fewTeams[t.Launch] = e
		t.Decide(e.Pos(), "num_teams", "evaluated on the device: teams that are too many end at once", "it depends on memory",
			"a bound that is a function of the parameters")
	}
	return host
}

// limitAll bounds the threads of the launch by all constructs in list that do, before code is made
// that rests on whole warps.
func (t *team) limitAll(list []ir.Stmt) {
	ir.WalkStmts(list, func(s ir.Stmt) bool {
		if !forms.ForThreads(s) {
			return true
		}
		d := ir.DirectiveOf(s)
		if d.NumThreads == nil {
			return false
		}
		c, body := s.(*ir.Construct)
		host := t.seg.onHost(d.NumThreads)
		one, known := query.Int64(d.NumThreads)
		if host == nil || body && (known && one == 1 || t.Mode == ir.ModeWarpSpecialized) {
			return false
		}
		if t.isRoot(s) || body && meets(c) {
			t.LimitThreads(build.ToInt(host))
		}
		return false
	})
}

// ownCopies declares copies of vars, initialised with their values, for body, which is returned
// with the copies in.
func (l *lowering) ownCopies(vars []*ir.Var, body []ir.Stmt) (decls, renamed []ir.Stmt) {
	if len(vars) == 0 {
		return nil, body
	}
	copies := map[*ir.Var]*ir.Var{}
	for _, v := range vars {
		c := l.Local(v.Name, v.Type, v.At)
		copies[v] = c
		decls = append(decls, build.Decl(c, build.Ref(v, v.At), v.At))
	}
	return decls, build.WithVars(copies).CopyStmts(body)
}

// maxReplicated is the size up to which each thread keeps its own copy of an array of the team.
const maxReplicated = 64

// place decides which variables of the team are shared.
func (t *team) place(list []ir.Stmt) {
	var region func(list []ir.Stmt)
	region = func(list []ir.Stmt) {
		for _, s := range list {
			switch s := s.(type) {
			case *ir.Decl:
				t.own.Add(s.Var)
			case *ir.For:
				t.own.Add(s.Var)
			}
			if forms.ForThreads(s) {
				t.placeIn(s)
				continue
			}
			ir.Lists(s, region)
		}
	}
	region(list)
	for _, v := range ir.AddressTaken(list).List() {
		t.share(v, "its address is taken")
	}
	for _, v := range t.own.List() {
		if v.Type.Kind == ir.Array && v.Type.Size > maxReplicated {
			t.share(v, "it is too large for a copy in each thread")
		}
	}
}

// placeIn shares the variables of the team that the threads of s write.
func (t *team) placeIn(s ir.Stmt) {
	d := ir.DirectiveOf(s)
	private := map[*ir.Var]bool{}
	for _, v := range d.Firstprivate {
		private[v] = true
	}
	reduced := map[*ir.Var]bool{}
	if c, ok := s.(*ir.Construct); ok && t.isApart(c) {
		reducedBy(d, reduced) // loops inside reduce for a part of the threads, and all need to know
	} else {
		reducedIn([]ir.Stmt{s}, reduced)
	}
	written := ir.Assigned(forms.BodyOf(s))
	for _, v := range d.Lastprivate {
		written.Add(v)
		delete(private, v)
	}
	for _, v := range written.List() {
		if t.own.Has(v) && !private[v] && !reduced[v] {
			t.share(v, "threads of the team write it")
		}
	}
}

// reducedIn finds the variables that constructs in list reduce into; the threads write copies of
// them.
func reducedIn(list []ir.Stmt, into map[*ir.Var]bool) {
	ir.WalkStmts(list, func(s ir.Stmt) bool {
		if d := ir.DirectiveOf(s); d != nil {
			reducedBy(d, into)
		}
		return true
	})
}

func reducedBy(d *ir.Directive, into map[*ir.Var]bool) {
	for _, r := range d.Reductions {
		into[ir.RootVar(r.Place)] = true
		if r.Index != nil {
			into[ir.RootVar(r.Index)] = true
		}
	}
}

func (t *team) share(v *ir.Var, why string) {
	if !t.own.Has(v) || t.Shared[v] {
		return
	}
	if w := t.seg.whole; w != nil {
		w.share(t, v, why)
		return
	}
	if t.spill(v) {
		return
	}
	t.Shared[v] = true
	v.Space = ir.Team
	t.Launch.Team = append(t.Launch.Team, v)
	t.Decide(v.At, "variable "+v.Name, "team memory", why, "declare it inside the parallel construct to make it private")
}

// spill keeps a variable of the team in device memory where it does not fit into team memory any
// more; what a clause wants on chip is refused then.
func (t *team) spill(v *ir.Var) bool {
	size := v.Type.Size
	for _, w := range t.Launch.Team {
		size += w.Type.Size
	}
	if size <= forms.TeamLimit {
		return false
	}
	if clause := t.lowering.insisted[v]; clause != "" {
		t.Refuse(v.At, clause, fmt.Sprintf("the team needs %d bytes of memory on chip with %s, it has %d", int64(size), ir.Source(&ir.Ref{Var: v}),
			int64(forms.TeamLimit)), "make the chunk smaller, or take an array out of the clause")
	}
	t.lowering.perTeam[v] = true
	t.Scratch[v] = t.pad(v.Name, v.Type, build.Query(ir.NumTeams, v.At), v.At)
	t.Shared[v] = true
	t.Decide(v.At, "variable "+v.Name, "device memory, one for each team",
		fmt.Sprintf("with it the team would need %d bytes on chip, it has %d", int64(size), int64(forms.TeamLimit)), "make it smaller")
	return true
}

// exact returns the shared variables that no pointer reaches.
func (t *team) exact(list []ir.Stmt) map[*ir.Var]bool {
	taken, out := ir.AddressTaken(list), map[*ir.Var]bool{}
	for _, v := range append(ir.Used(list).List(), ir.Declared(list).List()...) {
		if !taken.Has(v) {
			out[v] = true
		}
	}
	return out
}

// finishBounds writes down how many iterations the launch shares out.
func (t *team) finishBounds() {
	g, c := t.Launch, t.Trips
	switch {
	case c.Unknown:
		if n, ok := query.Int64(forms.OrZero(g.MaxThreads)); ok && n == forms.TeamLanes && len(t.lowering.rooms) > 0 {
			g.Threads = forms.TeamLanes // the longest loop is what the launch takes
		}
	case len(c.Grid) == 1 && c.Whole != nil:
		g.TeamTrip, g.Trip, g.Resident = c.Whole, build.Int(int64(g.Threads), g.At), c.Cyclic
	case len(c.Grid) > 0:
		g.Trip, g.Width, g.Resident = largestOf(c.Grid), c.Width, c.Resident
	case len(c.Team) > 0:
		g.TeamTrip, g.Trip, g.Reread = largestOf(c.Team), largestOf(c.Threads), c.Reread
	case t.Single:
		g.Trip = largestOf(c.Threads)
	}
}

func largestOf(list []ir.Expr) ir.Expr {
	var out ir.Expr
	for _, e := range list {
		switch {
		case out == nil || query.Same(out, e):
			out = e
		default:
			out = &ir.Math{Fn: ir.IMax, Args: []ir.Expr{out, e}, T: ir.IntType, At: e.Pos()}
		}
	}
	return out
}

// note adds the count of a loop that is shared out to counts.
func (t *team) note(sp *spaces.Space, counts *[]ir.Expr) { t.noteCount(sp.Count(), counts) }

// noteCount adds count to counts, where the host can evaluate it.
func (t *team) noteCount(count ir.Expr, counts *[]ir.Expr) {
	if n := t.seg.onHost(count); n != nil {
		*counts = append(*counts, n)
	} else if counts != &t.Trips.Threads {
		t.Trips.Unknown = true
	}
}
