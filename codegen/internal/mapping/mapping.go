// Package mapping decides which code runs each loop of a kernel: one thread, the threads of a team,
// or all teams. A Work is the copy of the kernel that the passes change, with the decisions, notes
// and errors that they leave. The passes that lower runs are methods of Work.
package mapping

import (
	"strconv"

	"github.com/gompss/gompss/codegen/internal/analysis"
	"github.com/gompss/gompss/codegen/ir"
	"github.com/gompss/gompss/codegen/ir/build"
	"github.com/gompss/gompss/codegen/ir/query"
)

// MapLoops gives every loop its place: descriptive loops become prescriptive ones, a kernel without
// directives gets them where its loops are provably independent, and a loop in the kernel's
// sequential code that need not know its team is spread over the whole league. Source: Ozen and
// Wolfe, Performant Portable OpenMP, 2022, section 5; Lee, Min and Eigenmann, OpenMP to GPGPU,
// 2009, sections 4.1.2 and 4.1.3.
func MapLoops(l *Work) {
	m := NewMapper(l)
	if l.Kernel.Target.Present && !AnyDirective(l.Kernel.Body) {
		m.Undirected(l.Kernel.Body)
	}
	m.list(l.Kernel.Body, InKernel)
	l.Kernel.Body = l.privatise(l.Kernel.Body)
}

// A Level says what code runs a statement.
type Level uint8

const (
	InKernel  Level = iota // one thread of one team
	inTeams                // each team
	inTeam                 // each team, in a loop that the teams share out
	InThreads              // each thread
	InLane                 // each thread, in a loop that the threads share out
)

type mapper struct {
	*Work
	*analysis.Dependences
	plain map[*ir.For]bool // loops for when a test does not hold

	Sequential bool // there is one team of one thread
	loops      int  // plain loops around
}

// NewMapper returns a mapper of the loops of w.
func NewMapper(w *Work) *mapper {
	return &mapper{Work: w, Dependences: analysis.NewDependences(w.Kernel), plain: map[*ir.For]bool{}}
}

// AnyDirective reports whether list has a directive at any depth.
func AnyDirective(list []ir.Stmt) bool {
	found := false
	ir.WalkStmts(list, func(s ir.Stmt) bool {
		found = found || ir.DirectiveOf(s) != nil
		return !found
	})
	return found
}

// Undirected marks the outermost loops that are provably independent.
func (m *mapper) Undirected(list []ir.Stmt) {
	for i, s := range list {
		f, ok := s.(*ir.For)
		if !ok {
			ir.Lists(s, m.Undirected)
			continue
		}
		if f.Directive != nil { // a scan that was found
			continue
		}
		why := m.Dependent(f)
		if why == "" {
			f.Directive = &ir.Directive{Parts: ir.Loop, At: f.At}
			continue
		}
		if !m.decided(f.At, inOrderPlace) { // it has no directive "loop" that says so already
			m.Decide(f.At, "loop "+f.Var.Text(), "one thread", why, prescribed)
		}
		if conds, ok := m.Supposing(f, func() bool { return m.Dependent(f) == "" }); ok {
			list[i] = m.Where(f, conds, func(f *ir.For) { f.Directive = &ir.Directive{Parts: ir.Loop, At: f.At} })
			continue
		}
		m.Undirected(f.Body)
	}
}

func (m *mapper) list(list []ir.Stmt, at Level) {
	for i, s := range list {
		if f, ok := s.(*ir.For); ok && f.Directive != nil && f.Directive.Parts&ir.Loop != 0 {
			list[i] = m.versions(f, at)
		}
		m.stmt(list[i], at)
	}
}

func (m *mapper) stmt(s ir.Stmt, at Level) {
	inner := at
	if test, ok := s.(*ir.If); ok {
		before := len(m.Known)
		m.Known = append(m.Known, m.holding(test)...)
		m.list(test.Then, at)
		m.Known = m.Known[:before]
		m.list(test.Else, at)
		return
	}
	switch s := s.(type) {
	case *ir.Construct:
		inner = LevelOf(s.Directive, at)
	case *ir.For:
		if s.Directive != nil {
			m.loop(s, at)
			inner = LevelOf(s.Directive, at)
		}
	}
	ir.Lists(s, func(list []ir.Stmt) { m.list(list, inner) })
}

// LevelOf returns the level of the body of d.
func LevelOf(d *ir.Directive, at Level) Level {
	switch {
	case d.Parts == ir.Simd && d.Bind == ir.BindNone:
		return InLane
	case d.Parts&ir.Workshare != 0 && (d.Parts&ir.Parallel != 0 || at >= InThreads):
		return InLane
	case d.Parts&(ir.Single|ir.Masked) != 0:
		return InLane
	case d.Parts&ir.Parallel != 0:
		return max(at, InThreads)
	case d.Parts&ir.Distribute != 0:
		return max(at, inTeam)
	case d.Parts&ir.Teams != 0:
		return max(at, inTeams)
	}
	return at
}

// loop decides about one loop with a directive.
func (m *mapper) loop(f *ir.For, at Level) {
	d := f.Directive
	switch {
	case d.Parts&ir.Loop != 0:
		m.descriptive(f, at)
	case d.Parts == ir.Simd && d.Safelen == 0 && at <= inTeam:
		m.lanes(f, at)
	case d.Scan != nil: // splitScans has placed it
	case at == InKernel && d.Parts&(ir.Teams|ir.Distribute) == 0 && d.Parts&(ir.Parallel|ir.Workshare) != 0:
		m.spread(f)
	}
}

// spread gives a loop of the kernel's sequential code to the whole league where nothing in it can
// tell.
func (m *mapper) spread(f *ir.For) {
	d := f.Directive
	name := "loop " + f.Var.Text()
	if why := OneTeam(f); why != "" {
		m.Decide(f.At, name, "one team", why, "teams distribute parallel for")
		if d.Parts&ir.Parallel == 0 {
			d.Parts = 0 // worksharing of one thread
		}
		return
	}
	d.Parts |= ir.Teams | ir.Distribute | ir.Parallel | ir.Workshare
	m.Decide(f.At, name, "the whole league", "nothing in it depends on the team that runs it", "parallel for num_threads(n)")
}

// OneTeam returns what tells in f how many teams run it.
func OneTeam(f *ir.For) string {
	switch d := f.Directive; {
	case d.NumThreads != nil:
		return "num_threads bounds the threads that share it"
	case d.If != nil:
		return "if chooses between a team and one thread"
	case query.AsksForPlace(f.Body):
		return "its body asks for its place in the team"
	}
	return ""
}

// lanes gives a simd loop that no threads run yet to all that there are: its iterations may run at
// once.
func (m *mapper) lanes(f *ir.For, at Level) {
	if query.AsksForPlace(f.Body) || query.JumpsOut(f) || at != InKernel && !m.worthTeam(f) {
		return
	}
	d := f.Directive
	d.Parts |= ir.Parallel | ir.Workshare
	where := "threads of one team"
	if at == InKernel {
		d.Parts |= ir.Teams | ir.Distribute
		where = "threads of all teams"
	}
	m.Decide(f.At, "loop "+f.Var.Text(), where, "a device has no lanes but its threads", "safelen(n) keeps it in one thread")
}

// descriptive makes a loop directive prescriptive.
func (m *mapper) descriptive(f *ir.For, at Level) {
	d := f.Directive
	d.Parts &^= ir.Loop
	switch {
	case d.Bind == ir.BindThread || at == InLane:
		d.Parts = ir.Simd
		why := "bind(thread) says so"
		if at == InLane {
			why = "the loops around it use all threads already"
		}
		m.Decide(f.At, "loop "+f.Var.Text(), "one thread", why, "")
	case at == InThreads:
		d.Parts |= ir.Workshare
	case d.Bind == ir.BindParallel || at == inTeam || at == inTeams && d.Parts&ir.Parallel != 0:
		d.Parts |= ir.Parallel | ir.Workshare
	case d.Parts == ir.Parallel && OneTeam(f) != "":
		d.Parts |= ir.Workshare
		m.Decide(f.At, "loop "+f.Var.Text(), "one team", OneTeam(f), "teams loop")
	default:
		if at == InKernel {
			d.Parts |= ir.Teams
		}
		m.overLeague(f)
	}
}

// overLeague maps a parallel loop that no other is around: to the teams or to their threads,
// together with the parallel loops in it.
func (m *mapper) overLeague(f *ir.For) {
	d := f.Directive
	d.Parts |= ir.Distribute
	if d.Parts&ir.Parallel == 0 && d.Collapse <= 1 {
		if n := m.chain(f); n > 1 {
			d.Collapse = n
			m.Decide(f.At, "loop "+f.Var.Text(), "one iteration space of "+strconv.Itoa(n)+" loops",
				"they are parallel and perfectly nested", "loop collapse(1) and bind(parallel) on the inner loop")
			m.swap(f, n)
		} else if inner := m.threadLoop(f); inner != nil {
			m.inTeam(f, inner)
			return
		}
	} else if d.Collapse > 1 {
		m.swap(f, d.Collapse)
	}
	d.Parts |= ir.Parallel | ir.Workshare
}

// inTeam gives f to the teams and inner to their threads.
func (m *mapper) inTeam(f, inner *ir.For) {
	if inner.Directive == nil {
		inner.Directive = &ir.Directive{At: inner.At}
	}
	inner.Directive.Parts = ir.Parallel | ir.Workshare
	m.Decide(f.At, "loop "+f.Var.Text(), "teams", "loop "+inner.Var.Text()+" in it has more accesses of stride 1 to give to threads",
		"bind(thread) on the inner loop")
	m.Decide(inner.At, "loop "+inner.Var.Text(), "threads of one team", "neighbouring threads touch neighbouring memory",
		"bind(thread)")
}

// isParallelLoop reports whether the iterations of f may run in any order: by its directive or by
// proof.
func (m *mapper) isParallelLoop(f *ir.For) bool {
	if d := f.Directive; d != nil {
		return d.Parts&ir.Loop != 0 && d.Bind == ir.BindNone || d.Parts&ir.Loop != 0 && d.Bind == ir.BindParallel
	}
	return m.Dependent(f) == ""
}

// chain returns how many nested parallel loops f begins whose space is a rectangle. Between the
// loops there are only declarations that each iteration may repeat.
func (m *mapper) chain(f *ir.For) int {
	outer := map[*ir.Var]bool{}
	var between []ir.Stmt
	n := 1
	for ; n < maxCollapse; n++ {
		outer[f.Var] = true
		decls, inner := query.Perfect(f.Body)
		if inner == nil || !m.isParallelLoop(inner) || inner.Directive != nil && len(inner.Directive.Reductions) > 0 {
			break
		}
		for _, s := range decls {
			outer[s.(*ir.Decl).Var] = true
		}
		if between = append(between, decls...); !m.repeatable(between, inner) {
			break
		}
		for _, e := range []ir.Expr{inner.Lo, inner.Hi, inner.Step} {
			for _, v := range ir.ExprVars(e).List() {
				if outer[v] {
					return n
				}
			}
		}
		f = inner
	}
	return n
}

// repeatable reports whether each iteration of f may run the declarations in front of it: they are
// cheap, nothing changes their variables, and one that can fail does so with f, which has an
// iteration.
func (m *mapper) repeatable(decls []ir.Stmt, f *ir.For) bool {
	changed, taken, fails := ir.Assigned(f.Body), ir.AddressTaken(f.Body), false
	for _, s := range decls {
		d := s.(*ir.Decl)
		if !d.Var.Type.IsScalar() || changed.Has(d.Var) || taken.Has(d.Var) {
			return false
		}
		cheap := true
		ir.WalkExpr(d.Init, func(e ir.Expr) bool {
			switch e := e.(type) {
			case *ir.Math:
				cheap = cheap && (e.Fn == ir.IMin || e.Fn == ir.IMax || e.Fn == ir.FMin || e.Fn == ir.FMax || e.Fn == ir.Abs || e.Fn == ir.FMA)
			case *ir.Binary:
				fails = fails || e.Checked
			case *ir.Index:
				fails = fails || e.Checked
			}
			return true
		})
		for _, v := range ir.ExprVars(d.Init).List() {
			cheap = cheap && !changed.Has(v) && !taken.Has(v)
		}
		if !cheap {
			return false
		}
	}
	if trips, known := analysis.ConstTrips(f); !fails || known && trips > 0 {
		return true
	}
	return (f.Rel == ir.Lt || f.Rel == ir.Le) && m.SupposeAll(build.Compare(f.Rel, f.Lo, f.Hi, f.At))
}

// swap exchanges the loops of a chain of n so that the one with the most accesses of stride 1 is
// the innermost, which varies fastest from thread to thread.
func (m *mapper) swap(f *ir.For, n int) {
	loops := []*ir.For{f}
	var between []ir.Stmt
	for len(loops) < n {
		decls, next := query.Perfect(loops[len(loops)-1].Body)
		if next == nil {
			return
		}
		loops, between = append(loops, next), append(between, decls...)
	}
	last := loops[n-1]
	body := append(between, last.Body...)
	best, most := n-1, m.Stride1(body, last.Var)
	for i := n - 2; i >= 0; i-- {
		if s := m.Stride1(body, loops[i].Var); s > most {
			best, most = i, s
		}
	}
	if best == n-1 {
		return
	}
	for k, g := range loops[:n-1] { // what stood between them may depend on a loop that is inside now
		g.Body = []ir.Stmt{loops[k+1]}
	}
	last.Body = body
	m.Decide(loops[best].At, "loop "+loops[best].Var.Text(), "innermost", "most accesses have stride 1 in it", "")
	a, b := loops[best], last
	a.Var, b.Var = b.Var, a.Var
	a.Lo, b.Lo, a.Hi, b.Hi = b.Lo, a.Lo, b.Hi, a.Hi
	a.Step, b.Step, a.Rel, b.Rel = b.Step, a.Step, b.Rel, a.Rel
}

// threadLoop returns the loop inside f that should have the threads of a team, nil where f should
// have them itself.
func (m *mapper) threadLoop(f *ir.For) *ir.For {
	mine := m.Stride1(f.Body, f.Var)
	var best *ir.For
	most := mine
	for _, inner := range m.innerLoops(f.Body) {
		if inOrderOfIterations(m, inner) {
			return nil // each thread of a team would run all of it
		}
		if s := m.Stride1(inner.Body, inner.Var); m.isParallelLoop(inner) && s > most && m.worthTeam(inner) {
			best, most = inner, s
		}
	}
	return best
}

// inOrderOfIterations reports whether f is a loop of some length whose iterations hand values on.
func inOrderOfIterations(m *mapper, f *ir.For) bool {
	if n, known := analysis.ConstTrips(f); f.Directive != nil || known && n < WarpTrips {
		return false
	}
	return m.ScalarDependence(f, nil) != ""
}

// innerLoops returns the loops directly in list, not under conditions or loops.
func (m *mapper) innerLoops(list []ir.Stmt) []*ir.For {
	var out []*ir.For
	for _, s := range list {
		switch s := s.(type) {
		case *ir.For:
			out = append(out, s)
		case *ir.Block:
			if s.Label == nil {
				out = append(out, m.innerLoops(s.Body)...)
			}
		}
	}
	return out
}

// WarpTrips is the number of iterations below which a loop is not given to the threads of a team.
const WarpTrips = 32

// worthTeam reports whether f is likely to have an iteration for each thread of a team. A trip
// count read from memory, as in the rows of a sparse matrix, is taken to be small.
func (m *mapper) worthTeam(f *ir.For) bool {
	n := build.Trips(f, build.ToInt(f.Lo), build.ToInt(f.Hi), build.ToInt(f.Step))
	if c, ok := query.Int64(n); ok && c < WarpTrips {
		m.Decide(f.At, "loop "+f.Var.Text(), "one thread", "it has fewer iterations than a warp has lanes", "bind(parallel)")
		return false
	}
	if !query.LoadFree(f.Lo) || !query.LoadFree(f.Hi) {
		m.Decide(f.At, "loop "+f.Var.Text(), "one thread", "its length depends on memory and is taken to be small",
			"bind(parallel)")
		return false
	}
	return true
}
