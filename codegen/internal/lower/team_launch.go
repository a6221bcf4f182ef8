package lower

import (
	"github.com/gompss/gompss/codegen/internal/lower/forms"
	"github.com/gompss/gompss/codegen/internal/lower/spaces"
	"github.com/gompss/gompss/codegen/internal/lower/strategy"
	"github.com/gompss/gompss/codegen/ir"
	"github.com/gompss/gompss/codegen/ir/build"
	"github.com/gompss/gompss/codegen/ir/query"
	"github.com/gompss/gompss/codegen/target"
)

// teamLaunch is the launch that a team's code is made for: its bounds on teams and threads, its
// scratch memory, and the segment of the kernel that it runs.
type teamLaunch struct {
	lowering *lowering
	*strategy.Sharer
	seg        *segment
	number     int  // of the launch
	sequential bool // there is code of the team outside its parallel loops
	sums       sumOrders
}

// teamLevel reads the clauses of the league and returns the code of a team, and the reductions of a
// teams body.
func (t *teamLaunch) teamLevel() ([]ir.Stmt, *reductions) {
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
func (t *teamLaunch) teamsBody(s *ir.Construct) ([]ir.Stmt, *reductions) {
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
func (t *teamLaunch) bound(e ir.Expr) ir.Expr {
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
func (t *teamLaunch) boundTeams(e ir.Expr) ir.Expr {
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
func (t *teamLaunch) limitAll(list []ir.Stmt) {
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

// isRoot reports whether s is what the whole launch is for, so that its bounds may be those of the
// launch.
func (t *teamLaunch) isRoot(s ir.Stmt) bool {
	return !t.seg.oneTeam && ir.DirectiveOf(t.seg.list[0]) != nil && ir.DirectiveOf(t.seg.list[0]).Text == ir.DirectiveOf(s).Text &&
		t.seg.list[0].Pos() == s.Pos()
}

// settleMode decides how the code of the team runs where the directive leaves that open, or asks
// for what is not there.
func (t *teamLaunch) settleMode(list []ir.Stmt, d *ir.Directive) {
	if d == nil || !t.Leads() {
		return
	}
	name := t.Mode.String()
	if onlyRegions(list) {
		t.Decide(d.At, "mode("+name+")", "needs nothing", "no code of the team is outside its parallel loops", "")
		t.Mode = ir.ModeAuto
		t.limitAll(list)
		return
	}
	if opt := &t.lowering.opt; t.Mode == ir.ModeWarpSpecialized && (opt.Subgroups() || !t.Shuffles()) {
		why := opt.Target + " has no warps that wait apart"
		if !opt.NoShuffles && !opt.Subgroups() {
			why = "a team of at most " + ir.ExprString(t.Launch.MaxThreads) + " threads may have less than two warps"
		}
		t.lowering.Note(d.At, "mode(warp_specialized)", "acts as mode(control_loop): "+why, "")
		t.Mode = ir.ModeControlLoop
	}
}

func onlyRegions(list []ir.Stmt) bool {
	for _, s := range list {
		if _, ok := s.(*ir.Decl); !ok && !forms.ForThreads(s) {
			return false
		}
	}
	return true
}

// participants returns how many threads a parallel construct has, and the test that a thread is one
// of them (nil: all).
func (t *teamLaunch) participants(d *ir.Directive, s ir.Stmt) (count, only ir.Expr) {
	at := s.Pos()
	count = build.Query(ir.NumThreads, at)
	if n := d.NumThreads; n != nil {
		if host := t.seg.onHost(n); host != nil && t.isRoot(s) {
			t.LimitThreads(build.ToInt(host))
		} else {
			count = forms.AtMost(count, forms.MasterOf(n), at)
			only = build.Compare(ir.Lt, build.Query(ir.ThreadNum, at), count, at)
		}
	}
	if d.If != nil {
		count = build.Choose(forms.MasterOf(d.If), count, build.Int(1, at), at)
		only = build.Compare(ir.Lt, build.Query(ir.ThreadNum, at), count, at)
	}
	return count, only
}

// portion deals iterations out one by one, so that neighbouring threads touch neighbouring memory.
func (t *teamLaunch) portion(grid bool, count, only ir.Expr, at ir.Pos) spaces.Portion {
	p := spaces.Portion{First: build.Query(ir.ThreadNum, at), Stride: count, Only: only}
	if grid && (!t.Single || t.seg.whole != nil) {
		p.First = build.Binary(ir.Add, build.Binary(ir.Mul, build.Query(ir.TeamNum, at), count, at), p.First, at)
		p.Stride = build.Binary(ir.Mul, build.Query(ir.NumTeams, at), count, at)
	}
	return p
}

// region returns how many threads run a parallel body and the test for them.
func (t *teamLaunch) region(s *ir.Construct) (count, only ir.Expr) {
	d, at := s.Directive, s.At
	count = build.Query(ir.NumThreads, at)
	if d.NumThreads == nil {
		return count, nil
	}
	host := t.seg.onHost(d.NumThreads)
	if host != nil && t.Mode != ir.ModeWarpSpecialized && (t.isRoot(s) || meets(s)) {
		t.LimitThreads(build.ToInt(host))
		t.Decide(at, "parallel", "bounds the threads of the launch", "its threads meet at barriers, where all must come", "")
		return count, nil
	}
	count = forms.AtMost(count, forms.MasterOf(d.NumThreads), at)
	return count, build.Compare(ir.Lt, build.Query(ir.ThreadNum, at), count, at)
}

// crew returns the threads of a body that apart prepared: their number and the test for them.
func (t *teamLaunch) crew(s *ir.Construct) (count, only ir.Expr) {
	at := s.At
	t.Launch.Warps = true
	least := &ir.Math{Fn: ir.IMin, Args: []ir.Expr{build.Query(ir.NumThreads, at), build.ToInt(forms.MasterOf(s.Directive.NumThreads))},
		T: ir.IntType, At: at}
	warps := build.Binary(ir.Div, least, build.Query(ir.WarpSize, at), at)
	count = build.Binary(ir.Mul, warps, build.Query(ir.WarpSize, at), at)
	return count, build.Compare(ir.Lt, build.Query(ir.ThreadNum, at), count, at)
}

// note adds the count of a loop that is shared out to counts.
func (t *teamLaunch) note(sp *spaces.Space, counts *[]ir.Expr) { t.noteCount(sp.Count(), counts) }

// noteCount adds count to counts, where the host can evaluate it.
func (t *teamLaunch) noteCount(count ir.Expr, counts *[]ir.Expr) {
	if n := t.seg.onHost(count); n != nil {
		*counts = append(*counts, n)
	} else if counts != &t.Trips.Threads {
		t.Trips.Unknown = true
	}
}

// finishBounds writes down how many iterations the launch shares out.
func (t *teamLaunch) finishBounds() {
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
	sizeTeams(g, t.Device(), t.Single)
}

// sizeTeams asks for a thread an iteration, or as many as the program allows, where the loops of
// the teams have few iterations and their number is a constant: twice as many as fill a
// multiprocessor are what devices choose by themselves.
func sizeTeams(g *ir.Launch, device *target.Target, single bool) {
	trips, isConst := query.Int64(forms.OrZero(g.Trip))
	if !isConst || trips <= 0 || g.Threads > 0 || g.TeamTrip == nil && !single || g.Reread > 0 {
		return
	}
	most, given := query.Int64(forms.OrZero(g.MaxThreads))
	switch {
	case g.MaxThreads != nil && !given:
	case given && trips >= most:
		g.Threads = int(most)
	case given || trips <= 2*device.Team.Filling():
		g.Threads = int((trips + forms.LeastWarp - 1) / forms.LeastWarp * forms.LeastWarp)
	}
}

func largestOf(list []ir.Expr) ir.Expr {
	var out ir.Expr
	for _, e := range list {
		x, isConst := query.Int64(forms.OrZero(out))
		y, bothConst := query.Int64(e)
		switch {
		case out == nil || query.Same(out, e) || isConst && bothConst && y >= x:
			out = e
		case isConst && bothConst:
		default:
			out = &ir.Math{Fn: ir.IMax, Args: []ir.Expr{out, e}, T: ir.IntType, At: e.Pos()}
		}
	}
	return out
}

// pad adds scratch memory of count elements, evaluated for this launch.
func (t *teamLaunch) pad(name string, elem *ir.Type, count ir.Expr, at ir.Pos) *ir.Var {
	v := t.Variable(name, ir.SliceOf(elem), ir.Scratch, ir.Pos{})
	t.lowering.program.Scratch = append(t.lowering.program.Scratch, ir.Scratchpad{Var: v, Count: count, Launch: t.number})
	return v
}

// before returns what a place holds before the reduction.
func (t *teamLaunch) before(place ir.Expr) ir.Expr {
	if r, ok := place.(*ir.Ref); ok && t.lowering.initial[r.Var] != nil {
		return t.lowering.initial[r.Var]
	}
	return forms.MasterOf(place)
}
