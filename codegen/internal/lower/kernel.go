package lower

import (
	"maps"
	"slices"

	"github.com/gompss/gompss/codegen/internal/analysis"
	"github.com/gompss/gompss/codegen/internal/lower/forms"
	"github.com/gompss/gompss/codegen/ir"
	"github.com/gompss/gompss/codegen/ir/build"
	"github.com/gompss/gompss/codegen/ir/query"
)

// A segment is a piece of a kernel that becomes one launch: one construct, or code that runs once.
type segment struct {
	guards    []ir.Expr // the conditions of the enclosing Ifs
	list      []ir.Stmt
	construct bool
	oneTeam   bool       // list is sequential code with constructs, run by one team
	whole     *wholeGrid // or, if not nil, run by all teams together
	known     values     // of variables from outside, at the start of the segment
	initial   values     // the initial values of variables whose memory its reductions write first
	tail      *ir.If     // of a construct: the code that the last team to finish runs at the end
}

// values maps variables of the kernel's sequential code to their values, as expressions of the
// parameters only.
type values map[*ir.Var]ir.Expr

// maxKnown is the maximum size of such an expression.
const maxKnown = 60

// split divides the kernel's body into segments.
func (l *lowering) split() {
	sp := &segmenter{l: l, known: values{}, taken: ir.AddressTaken(l.Kernel.Body), renamed: map[*ir.Var]*ir.Var{}}
	for _, p := range l.Kernel.Params {
		sp.known[p] = build.Ref(p, p.At)
	}
	sp.list(l.Kernel.Body, nil)
	sp.flush(nil)
	l.segments = sp.segments
	l.chooseScratch(sp.taken)
}

type segmenter struct {
	l        *lowering
	segments []*segment
	run      []ir.Stmt // the sequential statements since the last segment
	atRun    values    // the known values at the start of run
	known    values
	taken    *ir.VarSet
	renamed  map[*ir.Var]*ir.Var // variables that were renamed because a reduction changed them
}

func (sp *segmenter) list(list []ir.Stmt, guards []ir.Expr) {
	for i, s := range list {
		if len(guards) == 0 && forms.Returns([]ir.Stmt{s}) && forms.AnyParallel(list[i:]) {
			rest := build.WithVars(sp.renamed).CopyStmts(list[i:])
			sp.byOneTeam(&ir.Block{Body: rest, At: s.Pos()}, guards, "a return leaves the kernel in front of constructs")
			return
		}
		s = build.WithVars(sp.renamed).CopyStmt(s)[0]
		if !forms.IsParallel(s) {
			sp.sequential(s)
			continue
		}
		sp.parallel(s, guards)
	}
}

func (sp *segmenter) sequential(s ir.Stmt) {
	if len(sp.run) == 0 {
		sp.atRun = maps.Clone(sp.known)
	}
	s = onceOnly(s)
	sp.run = append(sp.run, s)
	sp.known.track(s, sp.taken)
}

// onceOnly replaces the queries in code that one thread of one team runs by constants.
func onceOnly(s ir.Stmt) ir.Stmt { return (&ir.Rewrite{Expr: onceExpr, Stmt: undirect}).CopyStmt(s)[0] }

// undirect removes the directive of a loop that one thread runs: its clauses about lanes have no
// meaning there.
func undirect(s ir.Stmt) []ir.Stmt {
	if f, ok := s.(*ir.For); ok {
		f.Directive = nil
	}
	return []ir.Stmt{s}
}

func onceExpr(e ir.Expr) ir.Expr {
	if q, ok := e.(*ir.Query); ok {
		switch q.What {
		case ir.ThreadNum, ir.TeamNum:
			return build.Int(0, q.At)
		}
		return build.Int(1, q.At)
	}
	return e
}

func (sp *segmenter) flush(guards []ir.Expr) {
	if len(sp.run) > 0 {
		sp.segments = append(sp.segments, &segment{guards: guards, list: sp.run, known: sp.atRun})
		sp.run = nil
	}
}

func (sp *segmenter) parallel(s ir.Stmt, guards []ir.Expr) {
	switch s := s.(type) {
	case *ir.Barrier: // a single thread needs no barrier
	case *ir.If:
		sp.branch(s, guards)
	case *ir.Block:
		if s.Label != nil && query.BreaksTo(s.Body, s.Label) {
			sp.byOneTeam(s, guards, "a break leaves it in front of constructs")
			return
		}
		sp.list(s.Body, guards)
	case *ir.Construct:
		sp.construct(s, guards, false)
	case *ir.For:
		if forms.Governed(s) {
			sp.construct(s, guards, false)
			return
		}
		sp.loopOfOneTeam(s, guards)
	default:
		sp.loopOfOneTeam(s, guards)
	}
}

// byOneTeam assigns sequential code with constructs, whose control flow the host cannot evaluate,
// to one team or to all teams.
func (sp *segmenter) byOneTeam(s ir.Stmt, guards []ir.Expr, why string) {
	sp.repeated(s, guards, repeated{what: "code around constructs", why: why, decide: "a task for each construct",
		note: "make each construct a task of its own"})
}

// A repeated describes sequential code around constructs in the output of explain.
type repeated struct{ what, why, decide, note string }

// repeated assigns sequential code around constructs to all teams of the device, if that is valid
// and the loops are long enough for grid barriers, otherwise to one team.
func (sp *segmenter) repeated(s ir.Stmt, guards []ir.Expr, r repeated) {
	why := noWhole(sp.l, s)
	if slices.ContainsFunc(guards, asksOverlap) {
		why = "this form of the loops is for slices that overlap"
	}
	if why == "" && sp.whole(s, guards, r.what) {
		return
	}
	sp.construct(s, guards, true)
	if why != "" {
		sp.l.Decide(s.Pos(), r.what, "one team runs it", r.why+"; and "+why, r.decide)
		sp.l.Note(s.Pos(), r.what, "runs on one team of the device: "+why, r.note)
	}
}

func (sp *segmenter) construct(s ir.Stmt, guards []ir.Expr, oneTeam bool) {
	if oneTeam {
		s = limitedTeams(s)
	} else {
		s = sp.hoistClauses(s)
	}
	sp.flush(guards)
	var initial values
	if !oneTeam && len(guards) == 0 {
		s, initial = sp.results(s)
	}
	sp.segment(&segment{guards: guards, list: []ir.Stmt{s}, construct: true, oneTeam: oneTeam, initial: initial})
}

// segment adds the segment of a construct.
func (sp *segmenter) segment(s *segment) {
	s.known = maps.Clone(sp.known)
	sp.segments = append(sp.segments, s)
	for _, v := range changedOutside(s.list).List() {
		delete(sp.known, v)
	}
}

// loopOfOneTeam assigns a loop around constructs to one team or to all teams.
func (sp *segmenter) loopOfOneTeam(s ir.Stmt, guards []ir.Expr) {
	sp.repeated(s, guards, repeated{what: "loop around constructs", why: "a launch cannot be repeated from the device",
		decide: "loop on the host: one task an iteration", note: "make the body of the loop a task of its own and loop on the host"})
}

// results renames the variables into which construct s reduces and whose previous value is known.
// The reduction then starts with that value, and their memory needs no store before the launch.
// Reductions of later constructs start with the value in memory.
func (sp *segmenter) results(s ir.Stmt) (ir.Stmt, values) {
	fresh, initial := map[*ir.Var]*ir.Var{}, values{}
	for _, r := range ir.DirectiveOf(s).Reductions {
		for _, e := range []ir.Expr{r.Place, r.Index} {
			x, ok := e.(*ir.Ref)
			if !ok || x.Var.Space == ir.Param || sp.known[x.Var] == nil || !x.Var.Type.IsScalar() || sp.taken.Has(x.Var) {
				continue
			}
			v := sp.l.Local(x.Var.Name, x.Var.Type, x.Var.At)
			fresh[x.Var] = v
			initial[v] = sp.known[x.Var]
		}
	}
	for old, now := range sp.renamed {
		if fresh[now] != nil {
			sp.renamed[old] = fresh[now]
		}
	}
	maps.Copy(sp.renamed, fresh)
	return build.WithVars(fresh).CopyStmt(s)[0], initial
}

// branch turns the constructs of both branches into segments with guards.
func (sp *segmenter) branch(s *ir.If, guards []ir.Expr) {
	cond := sp.known.test(onceExprs(s.Cond))
	if cond == nil {
		v := sp.l.Local("branch", ir.BoolType, s.At)
		sp.sequential(build.Decl(v, s.Cond, s.At))
		cond = build.Ref(v, s.At)
	}
	sp.flush(guards)
	before := maps.Clone(sp.known)
	sp.side(s.Then, guards, cond)
	then := sp.known
	sp.known = before
	sp.side(s.Else, guards, build.Not(cond, s.At))
	sp.known = merge(cond, then, sp.known)
}

func onceExprs(e ir.Expr) ir.Expr { return (&ir.Rewrite{Expr: onceExpr}).CopyExpr(e) }

func (sp *segmenter) side(list []ir.Stmt, guards []ir.Expr, cond ir.Expr) {
	inner := append(append([]ir.Expr{}, guards...), cond)
	sp.list(list, inner)
	sp.flush(inner)
}

// test is of for a condition: each of its terms may have the size of a value.
func (k values) test(cond ir.Expr) ir.Expr {
	switch e := cond.(type) {
	case *ir.Unary:
		if x := k.test(e.X); x != nil && e.Op == ir.Not {
			return &ir.Unary{Op: ir.Not, X: x, At: e.At}
		}
	case *ir.Binary:
		if e.Op != ir.LAnd && e.Op != ir.LOr {
			break
		}
		x, y := k.test(e.X), k.test(e.Y)
		if x == nil || y == nil {
			return nil
		}
		return build.Compare(e.Op, x, y, e.At)
	}
	return k.of(cond)
}

// of returns the value of e as an expression of the parameters, nil if it is unknown.
func (k values) of(e ir.Expr) ir.Expr {
	if e == nil || !query.LoadFree(e) {
		return nil
	}
	for _, v := range ir.ExprVars(e).List() {
		if k[v] == nil {
			return nil
		}
	}
	e = simplifyLen(ir.Subst(e, k))
	size := 0
	ir.WalkExpr(e, func(ir.Expr) bool { size++; return true })
	if size > maxKnown {
		return nil
	}
	return e
}

// simplifyLen replaces len(a[lo:hi]) by hi-lo, which the host can evaluate.
func simplifyLen(e ir.Expr) ir.Expr {
	return (&ir.Rewrite{Expr: func(e ir.Expr) ir.Expr {
		ln, ok := e.(*ir.Len)
		if !ok {
			return e
		}
		rs, ok := ln.X.(*ir.Reslice)
		if !ok || rs.X.Type().Kind != ir.Slice {
			return e
		}
		hi := rs.Hi
		if hi == nil {
			hi = &ir.Len{X: rs.X, At: e.Pos()}
		}
		if rs.Lo == nil {
			return build.ToInt(hi)
		}
		return build.Binary(ir.Sub, build.ToInt(hi), build.ToInt(rs.Lo), e.Pos())
	}}).CopyExpr(e)
}

// track applies the effects of statement s, which contains no construct, to the values.
func (k values) track(s ir.Stmt, taken *ir.VarSet) {
	switch s := s.(type) {
	case *ir.Decl:
		init := s.Init
		if init == nil && s.Var.Type.IsScalar() {
			init = build.Zero(s.Var.Type, s.At)
		}
		k.set(s.Var, init, taken)
	case *ir.Assign:
		if r, ok := s.Place.(*ir.Ref); ok {
			k.set(r.Var, s.Value, taken)
		} else {
			k.forget(s)
		}
	case *ir.If:
		cond := k.of(s.Cond)
		if cond == nil || query.JumpsOut(s) {
			k.forget(s)
			return
		}
		then, els := maps.Clone(k), maps.Clone(k)
		then.trackAll(s.Then, taken)
		els.trackAll(s.Else, taken)
		both := merge(cond, then, els)
		clear(k)
		maps.Copy(k, both)
	default:
		k.forget(s)
	}
}

func (k values) trackAll(list []ir.Stmt, taken *ir.VarSet) {
	for _, s := range list {
		k.track(s, taken)
	}
}

func (k values) set(v *ir.Var, e ir.Expr, taken *ir.VarSet) {
	value := k.of(e)
	t := v.Type
	if value == nil || taken.Has(v) || !t.IsScalar() && t.Kind != ir.Slice && t.Kind != ir.Pointer {
		delete(k, v)
		return
	}
	k[v] = value
}

func (k values) forget(s ir.Stmt) {
	for _, v := range ir.Assigned([]ir.Stmt{s}).List() {
		delete(k, v)
	}
}

// merge combines the known values after both branches of an If.
func merge(cond ir.Expr, then, els values) values {
	out := values{}
	for v, x := range then {
		y := els[v]
		switch {
		case y == nil:
		case query.Same(x, y):
			out[v] = x
		case v.Type.IsScalar():
			out[v] = build.Choose(cond, x, y, x.Pos())
		}
	}
	return out
}

// chooseScratch selects the variables that need memory across launches: those that a construct
// changes or whose address it takes, and those that cannot be recomputed from the parameters.
func (l *lowering) chooseScratch(taken *ir.VarSet) {
	for _, s := range l.segments {
		changed := &ir.VarSet{}
		if s.construct {
			changed = changedOutside(s.list)
		}
		for _, v := range l.outside(s) {
			if s.known[v] == nil || changed.Has(v) || taken.Has(v) {
				l.keepInScratch(v)
			}
		}
	}
	l.keepPointedAt(taken)
}

// keepPointedAt also selects the variables that a pointer or slice in scratch memory may refer to:
// the variables of one launch do not exist in the next.
func (l *lowering) keepPointedAt(taken *ir.VarSet) {
	leads := false
	for v := range l.Scratch {
		leads = leads || ir.HoldsAddress(v.Type)
	}
	if !leads {
		return
	}
	for _, s := range l.segments {
		if s.construct {
			continue
		}
		ir.Inspect(s.list, func(st ir.Stmt) {
			if d, ok := st.(*ir.Decl); ok && taken.Has(d.Var) {
				l.keepInScratch(d.Var)
			}
		}, nil)
	}
}

// changedOutside returns the variables that list assigns, except its firstprivate copies.
func changedOutside(list []ir.Stmt) *ir.VarSet {
	private := map[*ir.Var]bool{}
	if d := ir.DirectiveOf(list[0]); d != nil {
		for _, v := range d.Firstprivate {
			private[v] = true
		}
		for _, v := range d.Lastprivate {
			private[v] = false
		}
	}
	out := &ir.VarSet{}
	for _, v := range ir.Assigned(list).List() {
		if !private[v] {
			out.Add(v)
		}
	}
	return out
}

// outside returns the variables that s uses and other segments declare.
func (l *lowering) outside(s *segment) []*ir.Var {
	var out []*ir.Var
	used := append([]ir.Stmt{}, s.list...)
	for _, g := range s.guards {
		used = append(used, &ir.If{Cond: g})
	}
	for _, v := range ir.Free(used).List() {
		if v.Space != ir.Param {
			out = append(out, v)
		}
	}
	return out
}

func (l *lowering) keepInScratch(v *ir.Var) {
	if l.Scratch[v] != nil {
		return
	}
	elem, count := v.Type, build.Int(1, v.At)
	room := l.rooms[v] // of contexts, which are stored before they are read
	if room != nil {
		elem, count = v.Type.Elem, room
	}
	pad := l.Variable(v.Name, ir.SliceOf(elem), ir.Scratch, v.At)
	l.Scratch[v] = pad
	l.program.Scratch = append(l.program.Scratch, ir.Scratchpad{Var: pad, Count: count, Unset: room != nil})
	l.Decide(v.At, "variable "+v.Text(), "device memory", "it lives across launches", "")
}

// typeName returns t as text for an error.
func typeName(t *ir.Type) string {
	switch {
	case t.Name != "":
		return t.Name
	case t.Kind == ir.Slice:
		return "[]" + typeName(t.Elem)
	case t.Kind == ir.Pointer:
		return "*" + typeName(t.Elem)
	case t.Kind == ir.Array:
		return "array of " + typeName(t.Elem)
	}
	return "struct"
}

// lowerSegments creates the launches.
func (l *lowering) lowerSegments() {
	for i, s := range l.segments {
		switch {
		case s.construct:
			l.initial = s.initial
			l.lowerLeague(s)
		case !l.hasEffect(s):
		case i > 0 && l.segments[i-1].tail != nil && len(s.guards) == 0:
			l.finishWith(l.segments[i-1].tail, s)
		default:
			g := l.launch(s)
			g.MaxTeams, g.MaxThreads = build.Int(1, g.At), build.Int(1, g.At)
			g.Body = l.guarded(s, s.list)
			l.Decide(g.At, "sequential code", "one thread", "it is outside of every construct and runs once", "")
		}
	}
}

// finishWith makes the last team of a launch run the sequential code that follows, which saves a
// launch.
func (l *lowering) finishWith(tail *ir.If, s *segment) {
	at := s.list[0].Pos()
	own := l.CopyOf(l.guarded(s, s.list), &l.Kernel.NumVars) // the launch declares the same variables for its own code
	tail.Then = append(tail.Then, &ir.If{Cond: forms.Thread0(at), Then: own, At: at})
	l.Decide(at, "sequential code", "one thread of the team that finishes last", "it follows a reduction over the league", "")
}

// hasEffect reports whether sequential code does more than compute variables that launches
// recompute, including their checks.
func (l *lowering) hasEffect(s *segment) bool {
	e := &analysis.Effects{Shared: func(v *ir.Var) bool { return l.Scratch[v] != nil }, Exact: nil}
	for _, st := range s.list {
		if d, ok := st.(*ir.Decl); ok && d.Init == nil && l.Scratch[d.Var] != nil {
			continue // scratch memory is zero initially
		}
		t := e.Stmts([]ir.Stmt{st})
		if !t.Writes.Empty() || t.Atomics || t.Calls || failsAlone(l, s, st) {
			return true
		}
	}
	return false
}

// failsAlone reports whether statement st of sequential code may fail although no launch recomputes
// it: Go makes the check even if the value is unused.
func failsAlone(l *lowering, s *segment, st ir.Stmt) bool {
	if d, ok := st.(*ir.Decl); ok {
		return d.Init != nil && query.Checks(d.Init) && !computedAgain(l, s, d.Var)
	}
	found := false
	ir.WalkExprs([]ir.Stmt{st}, func(e ir.Expr) bool {
		found = found || query.Checks(e)
		return false
	})
	return found
}

// computedAgain reports whether another segment recomputes v from known values in its own
// declaration. The value of a variable that sequential code assigns is not that of its declaration.
func computedAgain(l *lowering, s *segment, v *ir.Var) bool {
	if slices.ContainsFunc(l.segments, func(o *segment) bool { return !o.construct && ir.Assigned(o.list).Has(v) }) {
		return false
	}
	return slices.ContainsFunc(l.segments, func(o *segment) bool {
		return o != s && o.construct && l.Scratch[v] == nil && o.known[v] != nil && slices.Contains(l.outside(o), v)
	})
}

// launch adds the launch of s to the program.
func (l *lowering) launch(s *segment) *ir.Launch {
	g := &ir.Launch{Name: l.Kernel.Name, At: s.list[0].Pos()}
	for _, e := range s.guards {
		switch host := s.onHost(e); {
		case host == nil:
		case g.When == nil:
			g.When = host
		default:
			g.When = build.Compare(ir.LAnd, g.When, host, host.Pos())
		}
	}
	if n := len(l.program.Launches); n > 0 {
		g.Name = launchName(l.Kernel.Name, n+1)
	}
	l.program.Launches = append(l.program.Launches, g)
	return g
}

// guarded returns list after the declarations that it needs and inside the guards of s.
func (l *lowering) guarded(s *segment, list []ir.Stmt) []ir.Stmt {
	var out []ir.Stmt
	for _, v := range l.outside(s) {
		if l.Scratch[v] == nil && s.known[v] != nil {
			out = append(out, build.Decl(v, s.known[v], v.At))
		}
	}
	out = append(out, list...)
	for i := len(s.guards) - 1; i >= 0; i-- {
		out = []ir.Stmt{&ir.If{Cond: s.guards[i], Then: out, At: s.guards[i].Pos()}}
	}
	return out
}

// onHost returns e as an expression that the host can evaluate before the launch, nil if there is
// none.
func (s *segment) onHost(e ir.Expr) ir.Expr {
	e = s.known.test(onceExprs(e))
	if e == nil {
		return nil
	}
	if !evaluable(e) {
		return nil
	}
	return e
}

// evaluable reports whether the host can evaluate e, an expression of the parameters.
func evaluable(e ir.Expr) bool {
	fine := true
	ir.WalkExpr(e, func(x ir.Expr) bool {
		switch x := x.(type) {
		case *ir.Const, *ir.Unary, *ir.Binary, *ir.Convert, *ir.Math, *ir.Select:
		case *ir.Ref:
			fine = fine && x.Var.Type.IsScalar()
		case *ir.Apart:
			fine = fine && query.IsRef(x.X) && query.IsRef(x.Y)
			return false
		case *ir.Len:
			fine = fine && query.IsRef(x.X)
			return false
		case *ir.Cap:
			fine = fine && query.IsRef(x.X)
			return false
		default:
			fine = false
		}
		return fine
	})
	return fine
}

// placeScratch replaces the variables that live across launches by places in scratch memory.
func (l *lowering) placeScratch() {
	var again *ir.VarSet
	r := &ir.Rewrite{
		Expr: func(e ir.Expr) ir.Expr {
			if x, ok := e.(*ir.Ref); ok && l.Scratch[x.Var] != nil {
				return l.inScratch(x.Var, x.At)
			}
			return e
		},
		Stmt: func(s ir.Stmt) []ir.Stmt { return l.scratchStmt(s, again) },
	}
	for _, g := range l.program.Launches {
		again = ir.Declared(loopsIn(g.Body))
		g.Body = r.CopyStmts(g.Body)
	}
}

// inScratch returns the place of a variable in scratch memory.
func (l *lowering) inScratch(v *ir.Var, at ir.Pos) ir.Expr {
	if l.perTeam[v] {
		return build.Index(build.Ref(l.Scratch[v], at), build.Query(ir.TeamNum, at), at)
	}
	if l.rooms[v] != nil {
		return build.Ref(l.Scratch[v], at)
	}
	return build.Index(build.Ref(l.Scratch[v], at), build.Int(0, at), at)
}

// loopsIn returns the outermost loops in list.
func loopsIn(list []ir.Stmt) (out []ir.Stmt) {
	ir.WalkStmts(list, func(s ir.Stmt) bool {
		switch s.(type) {
		case *ir.For, *ir.While:
			out = append(out, s)
			return false
		}
		return true
	})
	return out
}

// scratchStmt returns s without declarations of variables in scratch memory, which is zero at
// first. Those of again are declared in loops, and become zero in each iteration.
func (l *lowering) scratchStmt(s ir.Stmt, again *ir.VarSet) []ir.Stmt {
	switch s := s.(type) {
	case *ir.Decl:
		pad := l.Scratch[s.Var]
		if pad == nil {
			return []ir.Stmt{s}
		}
		switch {
		case s.Init == nil && (s.Unset || l.rooms[s.Var] != nil || !again.Has(s.Var)):
			return nil
		case s.Init == nil:
			return clearElem(l.Local, l.inScratch(s.Var, s.At), s.Var.Type, s.At)
		}
		return []ir.Stmt{build.Assign(l.inScratch(s.Var, s.At), s.Init, s.At)}
	case *ir.Call:
		return l.scratchResults(s)
	}
	return []ir.Stmt{s}
}

// scratchResults stores the results of a call through local variables, because results are
// variables and not places.
func (l *lowering) scratchResults(c *ir.Call) []ir.Stmt {
	var before, after []ir.Stmt
	for i, v := range c.Results {
		if v == nil || l.Scratch[v] == nil {
			continue
		}
		t := l.Local(v.Name, v.Type, c.At)
		before = append(before, build.Decl(t, nil, c.At))
		after = append(after, build.Assign(l.inScratch(v, c.At), build.Ref(t, c.At), c.At))
		c.Results[i] = t
	}
	return append(append(before, c), after...)
}
