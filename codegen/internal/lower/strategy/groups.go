package strategy

import (
	"math/bits"
	"slices"

	"github.com/gompss/gompss/codegen/internal/lower/crews"
	"github.com/gompss/gompss/codegen/internal/lower/forms"
	"github.com/gompss/gompss/codegen/internal/lower/spaces"
	"github.com/gompss/gompss/codegen/ir"
	"github.com/gompss/gompss/codegen/ir/build"
	"github.com/gompss/gompss/codegen/ir/query"
)

// Each iteration of a grouped loop belongs to a group of lanes: all lanes of the group run its
// computations and share the nested loops; one lane runs the statements that change memory.

// A grouper lowers one loop whose iterations belong to groups of lanes.
type grouper struct {
	*Sharer
	f            *ir.For
	at           ir.Pos
	label        *ir.Label  // the target of continue in an iteration
	grid         bool       // the teams of the league share the loop
	lanes        int64      // of a group: at most forms.ShortLanes, a power of two
	few          ir.Expr    // condition under which half as many lanes suffice
	own          *ir.VarSet // variables of an iteration, of which each lane has a copy
	out          []ir.Stmt  // code of a turn
	ahead        []ir.Stmt  // code of an iteration since the last barrier of the group
	active, lane *ir.Var
	around       []*ir.Var // active flags of the surrounding statements
}

// groups returns the loop over n in which each iteration belongs to a group of lanes; nil where its
// nested loops do not need that.
func groups(t *Sharer, n Sharing) []ir.Stmt {
	f, body := n.Sp.Loops[0], forms.Flat(n.Body)
	asked := groupedIn(t, body)
	if asked == nil {
		return nil
	}
	if step, _ := query.Int64(f.Step); t.Slow || t.Leads() || !n.Sp.Direct() || step != 1 || f.Rel != ir.Lt || n.P.Only != nil || !t.Shuffles() {
		return nil
	}
	switch n.D.Schedule.Kind {
	case ir.ScheduleNone, ir.ScheduleStatic, ir.ScheduleAuto:
	default:
		return nil
	}
	if n.D.Schedule.Chunk != nil {
		return nil
	}
	by := func(lanes int64) *grouper {
		return &grouper{Sharer: t, f: f, at: f.At, label: n.Sp.Label, grid: n.Grid, own: ir.Declared(body), lanes: lanes}
	}
	x := by(forms.ShortLanes)
	if lanes := int64(t.Simds[asked].Nested.Lanes); lanes > 0 {
		x.lanes = lanes
	} else if x.grid && !x.Single {
		x.few = forms.FewEach(f, asked, body, t.Device().Tuning.Lanes.Halved)
	}
	out, ok := x.run(n.P, body)
	if !ok {
		return nil
	}
	x.explain()
	if x.few == nil {
		return out
	}
	fewer, _ := by(x.lanes/2).run(n.P, body)
	return []ir.Stmt{&ir.If{Cond: x.few, Then: t.CopyOf(fewer, &t.Kernel.NumVars), Else: out, At: f.At}}
}

func (x *grouper) explain() {
	where := "lanes of a warp share each iteration"
	if x.few != nil {
		where += ", half as many where the loops in it are short on average"
	}
	x.Decide(x.at, "loop "+x.f.Var.Text(), where, "memory decides the length of the loops in it", "nested(inline)")
}

func asksGroups(t *Sharer, body []ir.Stmt) bool { return groupedIn(t, body) != nil }

// groupedIn returns the first loop in body that groups of lanes share, nil where there is none.
func groupedIn(t *Sharer, body []ir.Stmt) *ir.For {
	var found *ir.For
	ir.WalkStmts(body, func(s ir.Stmt) bool {
		if found == nil && sharedByGroup(t, s) {
			found = s.(*ir.For)
		}
		return found == nil
	})
	return found
}

// sharedByGroup reports whether groups of lanes share s.
func sharedByGroup(t *Sharer, s ir.Stmt) bool {
	f, ok := s.(*ir.For)
	return ok && t.Simds[f] != nil && t.Simds[f].Nested.Kind == ir.NestedGroups
}

// run is the loop in which each group takes one iteration per turn, body; not ok where groups
// cannot run it.
func (x *grouper) run(p spaces.Portion, body []ir.Stmt) (out []ir.Stmt, ok bool) {
	at := x.at
	x.lane, x.active = x.Local("lane", ir.IntType, at), x.Local("active", ir.BoolType, at)
	active := x.active
	if !x.list(body) {
		return nil, false
	}
	x.Launch.Warps = true
	if !x.Single {
		crews.UseLaneTeams(x.Sharer.Crew, at)
		if x.grid {
			x.count()
		}
	}
	per := func(e ir.Expr) ir.Expr { return shifted(ir.Shr, e, build.Int(x.shift(), at), at) }
	hi, out := x.Temp("end", x.f.Hi, nil)
	me := build.Query(ir.ThreadNum, at)
	lane := &ir.Binary{Op: ir.And, X: me, Y: build.Int(x.lanes-1, at), T: ir.IntType, At: at}
	first := ir.Expr(build.Int(0, at))
	if b, ok := p.First.(*ir.Binary); ok {
		first = per(b.X) // teams are whole warps
	}
	stride, out := x.Temp("stride", build.IntMath(ir.IMax, per(p.Stride), build.Int(1, at)), out)
	base := x.Local("base", ir.IntType, at)
	turn := []ir.Stmt{build.Decl(x.f.Var, build.Binary(ir.Add, build.Ref(base, at), per(me), at), at),
		build.Decl(active, build.Compare(ir.Lt, build.Ref(x.f.Var, at), hi, at), at)}
	out = append(out, build.Decl(x.lane, lane, at), build.Decl(base, build.Binary(ir.Add, x.f.Lo, first, at), at))
	next := build.Assign(build.Ref(base, at), build.Binary(ir.Add, build.Ref(base, at), stride, at), at)
	loop := &ir.While{Label: &ir.Label{}, Cond: build.Compare(ir.Lt, build.Ref(base, at), hi, at), Post: []ir.Stmt{next}, Body: append(turn, x.out...), At: at}
	return []ir.Stmt{&ir.Block{Body: append(out, loop), At: at}}, true
}

// shift is the logarithm of the number of lanes.
func (x *grouper) shift() int64 { return int64(bits.TrailingZeros64(uint64(x.lanes))) }

// count tells the host that each iteration takes the lanes of a group.
func (x *grouper) count() {
	k := len(x.Trips.Grid) - 1
	if k < 0 || x.Trips.Unknown || x.Trips.Laned != nil {
		return
	}
	if n := x.OnHost(build.Trips(x.f, x.f.Lo, x.f.Hi, x.f.Step)); n != nil {
		by := ir.Expr(build.Int(x.shift(), x.at))
		if x.few != nil {
			if few := x.OnHost(x.few); few != nil {
				by = build.Choose(few, build.Int(x.shift()-1, x.at), by, x.at)
			}
		}
		x.Trips.Laned = shifted(ir.Shl, n, by, x.at)
		x.Trips.Grid[k] = x.Trips.Laned
	}
}

// list makes the code of list, a part of an iteration, and reports whether groups can run it.
func (x *grouper) list(list []ir.Stmt) bool {
	last := len(list) - 1
	for last >= 0 && !asksGroups(x.Sharer, list[last:last+1]) {
		last--
	}
	for i := 0; i <= last; i++ {
		if !x.stmt(list[i], i == last) {
			return false
		}
	}
	return x.byOne(list[last+1:])
}

// boundsOf returns statements with the reads of the bounds of f.
func boundsOf(f *ir.For) []ir.Stmt {
	return []ir.Stmt{&ir.If{Cond: build.Compare(ir.Lt, build.ToInt(f.Lo), build.ToInt(f.Hi), f.At), At: f.At}}
}

func (x *grouper) stmt(s ir.Stmt, last bool) bool {
	switch s := s.(type) {
	case *ir.For:
		if !sharedByGroup(x.Sharer, s) || changes(x.Sharer, s.Body, boundsOf(s)) {
			return false // a lane may yet read the bounds when another is in the loop
		}
		x.nest(s)
		return true
	case *ir.If:
		if asksGroups(x.Sharer, []ir.Stmt{s}) {
			return last && x.branch(s)
		}
		return x.leave(s)
	}
	return x.everyLane(s)
}

// branch runs both sides of s, each in the groups whose iteration takes it.
func (x *grouper) branch(s *ir.If) bool {
	x.order(&ir.If{Cond: s.Cond, At: s.At})
	before := x.active
	side := func(name string, cond ir.Expr, list []ir.Stmt) bool {
		if len(list) == 0 {
			return true
		}
		x.active = x.Local(name, ir.BoolType, s.At)
		x.out = append(x.out, build.Decl(x.active, build.Compare(ir.LAnd, build.Ref(before, s.At), cond, s.At), s.At))
		x.around = append(x.around, before)
		defer func() { x.active, x.around = before, x.around[:len(x.around)-1] }()
		return x.list(forms.Flat(list))
	}
	if len(s.Else) == 0 {
		return side("inside", s.Cond, s.Then)
	}
	cond := x.Local("cond", ir.BoolType, s.At)
	x.out = append(x.out, build.Decl(cond, build.Compare(ir.LAnd, build.Ref(before, s.At), s.Cond, s.At), s.At))
	return side("inside", build.Ref(cond, s.At), s.Then) && side("outside", build.Not(build.Ref(cond, s.At), s.At), s.Else)
}

// leave runs s, which ends the iteration where its condition holds.
func (x *grouper) leave(s *ir.If) bool {
	if !forms.LeavesOnly(s, x.own) || s.Then[len(s.Then)-1].(*ir.Continue).Label != x.label {
		return false
	}
	x.order(&ir.If{Cond: s.Cond, At: s.At})
	goes := x.Local("leaves", ir.BoolType, s.At)
	x.out = append(x.out, build.Decl(goes, build.Compare(ir.LAnd, build.Ref(x.active, s.At), s.Cond, s.At), s.At))
	if rest := s.Then[:len(s.Then)-1]; len(rest) > 0 {
		x.order(rest...)
		x.out = append(x.out, &ir.If{Cond: build.Compare(ir.LAnd, build.Ref(goes, s.At), x.leads0(), s.At), Then: rest, At: s.At})
	}
	for _, v := range append(slices.Clone(x.around), x.active) {
		stays := build.Compare(ir.LAnd, build.Ref(v, s.At), build.Not(build.Ref(goes, s.At), s.At), s.At)
		x.out = append(x.out, build.Assign(build.Ref(v, s.At), stays, s.At))
	}
	return true
}

func (x *grouper) leads0() ir.Expr {
	return build.Compare(ir.Eq, build.Ref(x.lane, x.at), build.Int(0, x.at), x.at)
}

// byOne lets one lane of each group run list, after which the group shares no part of the
// iteration.
func (x *grouper) byOne(list []ir.Stmt) bool {
	if len(list) == 0 {
		return true
	}
	exit := &ir.Label{}
	leave := &ir.Rewrite{Stmt: func(s ir.Stmt) []ir.Stmt {
		if c, ok := s.(*ir.Continue); ok && c.Label == x.label && x.label != nil {
			var out []ir.Stmt
			for _, v := range x.around { // this lane also executes the following statements: its own flags suffice
				out = append(out, build.Assign(build.Ref(v, c.At), build.Bool(false, c.At), c.At))
			}
			return append(out, &ir.Break{Label: exit, At: c.At})
		}
		return []ir.Stmt{s}
	}}
	x.order(list...)
	x.out = append(x.out, &ir.If{Cond: build.Compare(ir.LAnd, build.Ref(x.active, x.at), x.leads0(), x.at),
		Then: []ir.Stmt{&ir.Block{Label: exit, Body: leave.CopyStmts(list), At: x.at}}, At: x.at})
	return true
}

// order has the lanes of a group wait for each other in front of list where the order of its memory
// accesses and of those since they last did matters.
func (x *grouper) order(list ...ir.Stmt) {
	if conflict(x.Sharer, x.ahead, list) {
		x.out = append(x.out, &ir.Barrier{Scope: ir.WarpBarrier, At: x.at})
		x.ahead = nil
	}
	x.ahead = append(x.ahead, list...)
}

// everyLane lets all lanes of a group execute s, which declares or assigns a variable.
func (x *grouper) everyLane(s ir.Stmt) bool {
	touch := x.Effects.Stmts([]ir.Stmt{s})
	if !forms.Computes(s, x.own) || touch.Atomics || touch.Calls {
		return false
	}
	x.order(s)
	if d, ok := s.(*ir.Decl); ok {
		if !d.Var.Type.IsScalar() && d.Var.Type.Kind != ir.Slice && d.Var.Type.Kind != ir.Pointer {
			return false
		}
		if d.Init == nil || forms.IsConst(d.Init) {
			x.out = append(x.out, s)
			return true
		}
		x.out = append(x.out, build.Decl(d.Var, nil, d.At))
		s = build.Assign(build.Ref(d.Var, d.At), d.Init, d.At)
	}
	x.out = append(x.out, &ir.If{Cond: build.Ref(x.active, x.at), Then: []ir.Stmt{s}, At: x.at})
	return true
}

// nest lets the lanes of each group share nested loop g, of fewer than forms.TeamRow iterations:
// they act as the virtual lanes of a sum, each as one or several.
func (x *grouper) nest(g *ir.For) {
	at := g.At
	s := &sharedNest{bundler: &bundler{Sharer: x.Sharer, f: x.f}, k: &bundledNest{loop: g, d: x.Simds[g]}, lanes: x.lanes, at: at, lane: x.lane}
	x.order(g)
	if len(s.k.d.Reductions) == 0 { // nothing is exchanged: a warp without an iteration continues
		from, to := s.local("from", build.ToInt(g.Lo)), s.local("to", build.ToInt(g.Hi))
		s.part(s.begin(from, 0), to, build.Int(x.lanes, at), map[*ir.Var]*ir.Var{})
		x.out = append(x.out, &ir.If{Cond: build.Ref(x.active, at), Then: s.out, At: at})
		return
	}
	none := func(e ir.Expr) ir.Expr {
		return build.Choose(build.Ref(x.active, at), build.ToInt(e), build.Int(0, at), at)
	}
	from, to := s.local("from", none(g.Lo)), s.local("to", none(g.Hi))
	virtual := x.lanes
	if forms.AddsFloats(s.k.d.Reductions) {
		virtual = forms.ShortLanes
	}
	parts := s.virtualParts(from, to, virtual)
	s.halves(parts, x.lanes)
	x.out = append(x.out, s.out...)
	for i, r := range s.k.d.Reductions {
		v := r.Place.(*ir.Ref).Var
		add := build.Assign(build.Ref(v, at), build.Combine(r.Op, build.Ref(v, at), build.Ref(parts[i], at), at), at)
		if !x.own.Has(v) { // of the loop around it: one lane adds to it
			add = &ir.If{Cond: build.Compare(ir.LAnd, build.Ref(x.active, at), x.leads0(), at), Then: []ir.Stmt{add}, At: at}
		}
		x.out = append(x.out, add)
	}
}

// virtualParts adds up the elements of so many virtual lanes, and combines those of one lane in
// halves.
func (s *sharedNest) virtualParts(from, to *ir.Var, virtual int64) []*ir.Var {
	var each [][]*ir.Var
	for ahead := int64(0); ahead < virtual; ahead += s.lanes {
		each = append(each, s.part(s.begin(from, ahead), to, build.Int(virtual, s.at), map[*ir.Var]*ir.Var{}))
	}
	for half := len(each) / 2; half > 0; half /= 2 {
		for j := range half {
			for i, p := range each[j] {
				s.combine(i, p, build.Ref(each[j+half][i], s.at))
			}
		}
	}
	return each[0]
}
