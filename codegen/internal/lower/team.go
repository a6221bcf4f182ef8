package lower

import (
	"slices"

	"github.com/gompss/gompss/codegen/internal/analysis"
	"github.com/gompss/gompss/codegen/internal/lower/crews"
	"github.com/gompss/gompss/codegen/internal/lower/strategy"
	"github.com/gompss/gompss/codegen/ir"
	"github.com/gompss/gompss/codegen/ir/build"
)

// team lowers what the teams of one launch run. Code of the team outside parallel constructs is run
// by all threads alike where that is harmless, else by thread 0 with its results broadcast; every
// thread follows the control flow around parallel constructs.
//
// A variable of the team is either replicated - each thread has a copy and all hold the same value
// - or shared, in team memory. Barriers stand where threads would otherwise see memory in the wrong
// order, and nowhere else.
//
// Each part holds one thing, and none of them knows the team: the launch, where variables lie, what
// was touched since the last barrier, the thread that leads, the combination of reductions, the
// loops of the league, the counters of schedules, the forms of parallel regions.
type team struct {
	*teamLaunch
	*placement
	*barriers
	*leader
	*combiner
	*leagueLoops
	*schedules
	*regionForms
	conds map[ir.Expr]*ir.Var // where thread 0 leaves a condition
	cost  int64               // of the longest path through the code of a team
}

// newTeam returns the team of the launch of s, with its parts.
func (l *lowering) newTeam(s *segment, mode ir.TeamMode) *team {
	c := &crews.Crew{Walker: l.Walker, Opt: l.opt, Launch: l.launch(s), Whole: s.whole != nil, Mode: mode, Shared: map[*ir.Var]bool{}, Slots: map[crews.Slot]*ir.Var{},
		Simds: map[*ir.For]*ir.Directive{}, OnHost: s.onHost}
	launch := &teamLaunch{lowering: l, Sharer: &strategy.Sharer{Crew: c}, seg: s, number: len(l.program.Launches) - 1, sums: sumOrders{}}
	c.Box = func(sl crews.Slot, typ *ir.Type, name string, at ir.Pos) *ir.Var {
		return s.whole.box(launch, sl, typ, name, at)
	}
	place := &placement{teamLaunch: launch, needed: map[*ir.Var]bool{}}
	wait := &barriers{teamLaunch: launch, jumps: map[*ir.Label]*jump{}}
	lead := &leader{teamLaunch: launch, regions: map[ir.Stmt]bool{}}
	return &team{teamLaunch: launch, placement: place, barriers: wait, leader: lead,
		combiner:    &combiner{teamLaunch: launch, placement: place, barriers: wait, leader: lead},
		leagueLoops: &leagueLoops{teamLaunch: launch, placement: place, shareOuts: map[*ir.For]shareOut{}},
		schedules:   &schedules{teamLaunch: launch, barriers: wait, counters: map[*ir.Var]counter{}},
		regionForms: &regionForms{teamLaunch: launch, placement: place, serials: map[*ir.Construct][]ir.Stmt{},
			crews: map[*ir.Directive]bool{}, eithers: map[*ir.Construct]*ir.If{}},
		conds: map[ir.Expr]*ir.Var{}}
}

// lowerTeam makes the launch of a construct, with the code of the team in the given mode.
func (l *lowering) lowerTeam(s *segment, mode ir.TeamMode) *team {
	t := l.newTeam(s, mode)
	list, red := t.teamLevel()
	t.mine = ir.Declared(list)
	list = t.withPostponed(t.hoistTeamLocals(list))
	t.limitAll(list)
	t.settleMode(list, ir.DirectiveOf(s.list[0]))
	t.place(list, t.isApart)
	if t.Leads() {
		t.placeLed(list, t.allEnds(red)...)
	}
	t.Effects = &analysis.Effects{Shared: t.IsShared, Exact: exact(list)}
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
		body = w.finish(t.teamLaunch, body, s.list[0].Pos())
	}
	t.Launch.Body = l.guarded(s, append(t.front, body...))
	for _, name := range t.Strategies {
		if !slices.Contains(l.strategies, name) {
			l.strategies = append(l.strategies, name)
		}
	}
	l.sums = l.sums.with(t.sums)
	return t
}

// allEnds returns the reductions of which each team holds a part until it ends.
func (g *leagueLoops) allEnds(red *reductions) []*reductions {
	return append(append(slices.Clone(g.ends), g.postponed...), red)
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
