package mapping

import (
	"github.com/gompss/gompss/codegen/internal/analysis"
	"github.com/gompss/gompss/codegen/ir"
	"github.com/gompss/gompss/codegen/ir/build"
	"github.com/gompss/gompss/codegen/ir/query"
)

// A loop over rows whose iterations go along a row in several loops, each of which adds up what a
// reduction clause lets be added in any order or has independent iterations, is one of teams with
// the threads of a team along the row: the row is read side by side, and stays in the cache from
// one loop to the next. So is one with a single such loop where the rows are too few for a warp
// each to fill the device, and one where such loops stand in loops and conditions of the row, which
// a team runs alike: the strategy "lanes" takes only a loop that stands in the row itself. How long
// the rows are, and how many, each launch tests; short ones keep the loop as it is.

const (
	rowTeamThreads = 256 // of a team along a row
	rowTeamEach    = 2   // elements of a row for each of them, at least
	rowTeamLong    = 16  // the same where a warp a row would do, but for their number
)

// RowsToTeams finds such loops among those of the league; few is the largest number of rows for
// which a warp each does not fill the device. rooms gets how much memory there has to be of arrays
// that live across launches.
func RowsToTeams(l *Work, few int64, rooms map[*ir.Var]ir.Expr) {
	x := &rowsToTeams{Work: l, few: few, rooms: rooms}
	x.list(l.Kernel.Body)
	l.Kernel.Body = append(x.memory, l.Kernel.Body...)
}

// A rowsToTeams is one run of RowsToTeams.
type rowsToTeams struct {
	*Work
	few    int64
	rooms  map[*ir.Var]ir.Expr
	memory []ir.Stmt // declarations of what lives across launches
}

func (l *rowsToTeams) list(list []ir.Stmt) {
	for k, s := range list {
		switch s := s.(type) {
		case *ir.If:
			l.list(s.Then)
			l.list(s.Else)
		case *ir.Block:
			l.list(s.Body)
		case *ir.For:
			list[k] = l.inParts(s, l.teams(s))
		}
	}
}

// teams returns f, or a choice between it and a loop of teams.
func (l *rowsToTeams) teams(f *ir.For) ir.Stmt {
	if x := teamOfRow(l.Work, f); x != nil {
		return x.versions(l.few)
	}
	return f
}

// inParts returns else, which runs f, or a choice between it and loops over parts of the sums of f.
func (l *rowsToTeams) inParts(f *ir.For, other ir.Stmt) ir.Stmt {
	if !plainLeague(f) {
		return other
	}
	x := sumsOfParts(l.Work, f, query.Flatten(f.Body))
	if x == nil || !x.upTo() || !x.fits() || x.never() {
		return other
	}
	test := x.test()
	memory, loops := x.inParts(test, l.rooms)
	l.memory = append(l.memory, memory...)
	return &ir.If{Cond: test, Then: loops, Else: []ir.Stmt{other}, At: f.At}
}

// A rowTeam is a loop over rows and the loops along them.
type rowTeam struct {
	*Work
	f      *ir.For
	body   []ir.Stmt
	own    *ir.VarSet
	along  map[*ir.For]bool
	first  *ir.For
	inside bool // one of them stands in a loop or condition of the row
	conds  []ir.Expr
}

// plainLeague reports whether the threads of all teams share f, and its clauses say nothing else of
// how.
func plainLeague(f *ir.For) bool {
	d := f.Directive
	const league = ir.Teams | ir.Distribute | ir.Parallel | ir.Workshare
	return d != nil && d.Parts == league && d.Collapse <= 1 && WholeSchedule(d) && d.Schedule.Kind == ir.ScheduleNone && d.Scan == nil &&
		len(d.Reductions)+len(d.Lastprivate)+len(d.Firstprivate)+len(d.Private) == 0 && d.NumThreads == nil && d.NumTeams == nil && d.ThreadLimit == nil && d.If == nil &&
		!query.AsksForPlace(f.Body)
}

// rowTeam returns f as a loop over rows, nil where it is none.
func teamOfRow(l *Work, f *ir.For) *rowTeam {
	if !plainLeague(f) || !risesByOne(f) {
		return nil
	}
	x := &rowTeam{Work: l, f: f, body: query.Flatten(f.Body), along: map[*ir.For]bool{}}
	x.own = ir.Declared(x.body)
	x.own.Add(f.Var)
	if !x.list(x.body, 0) {
		return nil
	}
	if x.first == nil || len(ir.AddressTaken(x.body).List()) > 0 || !x.meets() {
		return nil
	}
	return x
}

// list finds the loops along the row in list; depth is the number of loops and conditions of the
// row around list. It reports false where the rest is more than scalar code around them.
func (x *rowTeam) list(list []ir.Stmt, depth int) bool {
	for _, s := range list {
		switch s := s.(type) {
		case *ir.Decl:
			if !s.Var.Type.IsScalar() {
				return false
			}
		case *ir.Assign:
			if r, ok := s.Place.(*ir.Ref); ok && !x.own.Has(r.Var) {
				return false
			}
		case *ir.Block:
			if s.Label != nil || !x.list(s.Body, depth) {
				return false
			}
		case *ir.If:
			if !x.list(s.Then, depth+1) || !x.list(s.Else, depth+1) {
				return false
			}
		case *ir.For:
			if x.goesAlong(s) {
				x.along[s] = true
				x.inside = x.inside || depth > 0
				if x.first == nil {
					x.first = s
				}
				continue
			}
			before := len(x.along)
			if s.Directive != nil || query.LeavesLoop(s) || !x.list(s.Body, depth+1) || len(x.along) == before {
				return false // one thread of the team, or each, would run all of it
			}
		default:
			return false
		}
	}
	return true
}

// meets reports whether a loop of the row adds something up: else a thread an iteration is as good.
func (x *rowTeam) meets() bool {
	for g := range x.along {
		if g.Directive != nil && len(g.Directive.Reductions) > 0 {
			return true
		}
	}
	return false
}

// goesAlong reports whether the threads of a team may share g, whose neighbours are neighbours in
// memory and whose length is that of each row.
func (x *rowTeam) goesAlong(g *ir.For) bool {
	if !risesByOne(g) || query.LeavesLoop(g) || g.Directive != nil && (g.Directive.Parts&^ir.Simd != 0 || g.Directive.Scan != nil) ||
		!query.OnlyPlain(query.Flatten(g.Body)) {
		return false
	}
	for _, e := range []ir.Expr{g.Lo, g.Hi} {
		for _, v := range ir.ExprVars(e).List() {
			if v.Space != ir.Param || x.own.Has(v) {
				return false
			}
		}
		if !query.LoadFree(e) {
			return false
		}
	}
	if n, known := analysis.ConstTrips(g); known && n < rowTeamThreads*rowTeamEach {
		return false
	}
	inside, sums := ir.Declared(g.Body), map[*ir.Var]bool{}
	reduces := false
	if g.Directive != nil {
		for _, r := range g.Directive.Reductions {
			place, ok := r.Place.(*ir.Ref)
			if !ok || r.Index != nil || !x.own.Has(place.Var) {
				return false
			}
			sums[place.Var], reduces = true, true
		}
	}
	for _, v := range ir.Assigned(g.Body).List() {
		if !inside.Has(v) && !sums[v] && v.Type.Kind != ir.Slice {
			return false
		}
	}
	m := analysis.NewDependences(x.Kernel)
	along, across := m.Stride1(g.Body, g.Var), m.Stride1(g.Body, x.f.Var)
	return along > 0 && along > across && (reduces || x.independent(m, g))
}

// risesByOne reports whether f goes up by one, in ints.
func risesByOne(f *ir.For) bool {
	step, ok := query.Int64(f.Step)
	return ok && step == 1 && f.Rel == ir.Lt && f.Var.Type.Kind == ir.Int64
}

// independent notes what has to hold for the iterations of g to be independent.
func (x *rowTeam) independent(m *analysis.Dependences, g *ir.For) bool {
	if g.Directive != nil || m.Dependent(g) == "" {
		return true
	}
	conds, ok := m.Supposing(g, func() bool { return m.Dependent(g) == "" })
	for _, c := range conds {
		for _, v := range ir.ExprVars(c).List() {
			ok = ok && v.Space == ir.Param
		}
	}
	x.conds = append(x.conds, conds...)
	return ok
}

// versions returns the loop of teams and the loop as it is, with the test between.
func (x *rowTeam) versions(few int64) ir.Stmt {
	f, at := x.f, x.f.At
	trips := func(g *ir.For) ir.Expr { return build.Trips(g, build.Copy(g.Lo), build.Copy(g.Hi), build.Copy(g.Step)) }
	each, why := rowTeamEach, "each row is read by several loops, and stays in the cache of one multiprocessor"
	alone := len(x.along) == 1 && !x.inside
	switch {
	case alone:
		each, why = rowTeamLong, "the rows are few, and long"
	case len(x.along) == 1:
		why = "its elements are neighbours in memory, and the loops and conditions around it are those of the iteration"
	}
	test := build.Compare(ir.Ge, trips(x.first), build.Int(int64(rowTeamThreads*each), at), at)
	if alone {
		test = build.Compare(ir.LAnd, test, build.Compare(ir.Le, trips(f), build.Int(few, at), at), at)
	}
	for _, c := range x.conds {
		test = build.Compare(ir.LAnd, test, c, at)
	}
	x.Decide(at, "loop "+f.Var.Text(), "a team an iteration where loop "+x.first.Var.Text()+" is long", why, "schedule(onetoone)")
	team := *f
	d := *f.Directive
	d.Parts = ir.Teams | ir.Distribute
	team.Directive = &d
	team.Body = x.shared(x.body)
	fast := x.CopyOf([]ir.Stmt{&team}, &x.Kernel.NumVars)
	return &ir.If{Cond: test, Then: fast, Else: []ir.Stmt{f}, At: at}
}

// shared returns list with the loops along the row as loops of the team's threads.
func (x *rowTeam) shared(list []ir.Stmt) []ir.Stmt {
	out := make([]ir.Stmt, len(list))
	for k, s := range list {
		switch s := s.(type) {
		case *ir.Block:
			out[k] = &ir.Block{Body: x.shared(s.Body), At: s.At}
		case *ir.If:
			out[k] = &ir.If{Cond: s.Cond, Then: x.shared(s.Then), Else: x.shared(s.Else), At: s.At}
		case *ir.For:
			own := *s
			if !x.along[s] {
				own.Body = x.shared(s.Body)
			} else {
				d := &ir.Directive{Parts: ir.Parallel | ir.Workshare, Text: "parallel for", At: s.At}
				if s.Directive != nil {
					d.Reductions, d.Private, d.Firstprivate = s.Directive.Reductions, s.Directive.Private, s.Directive.Firstprivate
				}
				own.Directive = d
			}
			out[k] = &own
		default:
			out[k] = s
		}
	}
	return out
}
