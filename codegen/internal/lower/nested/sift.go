package nested

import (
	"slices"

	"github.com/gompss/gompss/codegen/internal/lower/forms"
	"github.com/gompss/gompss/codegen/internal/mapping"
	"github.com/gompss/gompss/codegen/ir"
	"github.com/gompss/gompss/codegen/ir/build"
	"github.com/gompss/gompss/codegen/ir/query"
	"github.com/gompss/gompss/codegen/target"
)

// Where a condition decides whether an iteration comes to its nested loops, most iterations may end
// there: a level of a breadth-first search has few of the nodes. Such a loop is sifted. A thread
// for each of a block of iterations runs what stands in front of the condition and tests it, and
// stores the context of an iteration that continues in team memory; then groups of lanes of the
// team take these. A team takes runs of siftedRun iterations from all over the loop, because
// iterations with long nested loops tend to be neighbours.
//
// Source: Merrill, Garland and Grimshaw, Scalable GPU Graph Traversal, 2012, section 6: the
// contraction of a frontier; differs: the list is that of one team, and is not written to device
// memory.

// siftedRun is the number of neighbouring iterations that one team tests: a warp reads them
// together.
const siftedRun = forms.LeastWarp

// siftedTurn is by how many runs each slab of the loop is turned against the one in front of it: a
// number without a pattern of bits. Rows of recursive graphs are long where their numbers have few
// one bits, as all those may have that are powers of two apart.
const siftedTurn = 40503

// siftedMost is the number of variables that a context in team memory has at most: the teams that a
// multiprocessor runs at once leave half of its L1 to the rows.
func siftedMost(gpu *target.Target) int {
	const variable = 8 // bytes, at most
	threads := gpu.Tuning.Lanes.Threads
	resident := max(gpu.Team.Warps*gpu.Team.Warp/threads, 1)
	return int(gpu.Memory.L1/2) / (resident * threads * variable)
}

// A sieve runs the iterations of f: each up to its nested loops by its own thread, the rest by
// lanes.
type sieve struct {
	*mapping.Work
	gpu *target.Target
	f   *ir.For

	captured []*ir.Var
	again    []ir.Stmt // slices that are made again of what is captured
	count    *ir.Var   // of contexts
	memory   []*ir.Var // of the contexts, by captured
}

// sieveOf returns the sieve for f where a condition stands in front of its nested loops and the
// loop can be dealt in blocks; else nil.
func (d *deferrals) sieveOf(f *ir.For) *sieve {
	dir := f.Directive
	if dir.Parts&ir.Distribute == 0 || dir.Parts&ir.Parallel == 0 || dir.Collapse > 1 || dir.Schedule.Chunk != nil || len(dir.DistArrays) > 0 || len(dir.Lastprivate) > 0 || d.loops > 0 {
		return nil
	}
	switch dir.Schedule.Kind {
	case ir.ScheduleNone, ir.ScheduleStatic, ir.ScheduleAuto:
	default:
		return nil
	}
	if !conditional(f.Body, f.Label) {
		return nil
	}
	return &sieve{Work: d.Work, gpu: d.gpu, f: f}
}

// branchTo returns the first statement of list with a nested loop in it, as a branch where all of
// them are on one side of it; i is less than 0 where there is none.
func branchTo(list []ir.Stmt) (i int, branch *ir.If) {
	nestedIn := func(list []ir.Stmt) bool { return slices.ContainsFunc(list, containsNested) }
	i = slices.IndexFunc(list, containsNested)
	if i < 0 {
		return i, nil
	}
	if branch, ok := list[i].(*ir.If); ok && !nestedIn(branch.Else) && !nestedIn(list[i+1:]) {
		return i, branch
	}
	return i, nil
}

// conditional reports whether a condition decides whether an iteration, whose label is given, comes
// to the nested loops of list.
func conditional(list []ir.Stmt, label *ir.Label) bool {
	list = forms.Flat(list)
	i, branch := branchTo(list)
	if i < 0 || branch != nil {
		return i >= 0
	}
	return slices.ContainsFunc(list[:i], func(s ir.Stmt) bool {
		c, ok := s.(*ir.If)
		return ok && forms.LeavesOnly(c, nil) && c.Then[len(c.Then)-1].(*ir.Continue).Label == label
	})
}

// split divides list in front of its first nested loop: ahead is what stands there, with store in
// the place of the rest.
func split(list, store []ir.Stmt) (ahead, rest []ir.Stmt) {
	list = forms.Flat(list)
	i, branch := branchTo(list)
	if branch == nil {
		return slices.Concat(list[:max(i, 0)], store), list[max(i, 0):]
	}
	ahead, rest = split(branch.Then, store)
	ahead = slices.Concat(list[:i], []ir.Stmt{&ir.If{Cond: branch.Cond, Then: ahead, Else: branch.Else, At: branch.At}}, list[i+1:])
	return ahead, slices.Concat(rest, list[i+1:])
}

// apply returns f as the teams run it, whose nested loops have been deferred or left to groups of
// lanes; nil where contexts do not fit.
func (s *sieve) apply(f *ir.For) ir.Stmt {
	_, rest := split(f.Body, nil)
	if !groupsAlone(rest) {
		return nil
	}
	bounds, rest := s.withBounds(rest)
	if !s.capture(f, bounds, rest) {
		return nil
	}
	at := f.At
	s.count = s.Local("active", ir.Int32Type, at)
	for _, v := range s.captured {
		s.memory = append(s.memory, s.Local(v.Name+"Context", ir.ArrayOf(v.Type, int64(s.gpu.Tuning.Lanes.Threads)), v.At))
	}
	ahead, _ := split(f.Body, slices.Concat(bounds, s.store()))
	s.Decide(at, "loop "+f.Var.Text(), "blocks of iterations: a thread each tests whether it continues, and lanes of the team share those that do", "a condition decides whether an iteration comes to its nested loops", "nested(inline)")
	return s.inRuns(f, ahead, s.later(f, rest))
}

// withBounds gives the bounds of the nested loop that rest begins with variables of their own,
// which the thread of the iteration computes.
func (s *sieve) withBounds(rest []ir.Stmt) (bounds, own []ir.Stmt) {
	g, ok := rest[0].(*ir.For)
	if !ok {
		return nil, rest
	}
	c := *g
	bound := func(name string, e ir.Expr) ir.Expr {
		if query.LoadFree(e) {
			return e
		}
		v := s.Local(name, e.Type(), e.Pos())
		bounds = append(bounds, build.Decl(v, e, e.Pos()))
		return build.Ref(v, e.Pos())
	}
	c.Lo, c.Hi = bound("from", g.Lo), bound("to", g.Hi)
	return bounds, append([]ir.Stmt{&c}, rest[1:]...)
}

// groupsAlone reports whether all nested loops of list are those of groups of lanes.
func groupsAlone(list []ir.Stmt) bool {
	groups := true
	ir.WalkStmts(list, func(s ir.Stmt) bool {
		if f, ok := s.(*ir.For); ok && f.Directive != nil && f.Directive.Parts&ir.Parallel != 0 {
			groups = groups && f.Directive.Nested.Kind == ir.NestedGroups
		}
		return groups
	})
	return groups
}

// capture collects what rest needs of the iteration in front of it, and of bounds, and reports
// whether a context can have it.
func (s *sieve) capture(f *ir.For, bounds, rest []ir.Stmt) bool {
	inner := ir.Declared(slices.Concat(f.Body, bounds))
	inner.Add(f.Var)
	for _, v := range slices.Concat(f.Directive.Private, f.Directive.Firstprivate) {
		inner.Add(v)
	}
	if len(ir.AddressTaken(f.Body).List()) > 0 || jumpsFrom(rest, f.Label) {
		return false
	}
	for _, v := range ir.Free(rest).List() {
		if r := forms.SliceOf(f.Body, v); r != nil && inner.Has(v) {
			s.again = append(s.again, build.Decl(v, r, v.At))
		}
	}
	for _, v := range ir.Free(slices.Concat(s.again, rest)).List() {
		switch {
		case !inner.Has(v):
		case !v.Type.IsScalar():
			return false
		default:
			s.captured = append(s.captured, v)
		}
	}
	return len(s.captured) <= siftedMost(s.gpu)
}

// store stores the context of an iteration, for which there is room.
func (s *sieve) store() []ir.Stmt {
	at := s.f.At
	out, mine := number(s.Work, s.count, at)
	for i, v := range s.captured {
		out = append(out, build.Assign(build.Index(build.Ref(s.memory[i], at), mine(), at), build.Ref(v, at), at))
	}
	return append(out, &ir.Continue{Label: s.f.Label, At: at})
}

// later is the loop over the contexts.
func (s *sieve) later(f *ir.For, rest []ir.Stmt) *ir.For {
	at := f.At
	c := s.Local("context", ir.IntType, at)
	var body []ir.Stmt
	mine := map[*ir.Var]*ir.Var{}
	for i, v := range s.captured {
		own := s.Local(v.Name, v.Type, at)
		mine[v] = own
		body = append(body, build.Decl(own, build.Index(build.Ref(s.memory[i], at), build.Ref(c, at), at), at))
	}
	body = append(body, build.WithVars(mine).CopyStmts(slices.Concat(s.again, rest))...)
	return &ir.For{Label: f.Label, Var: c, Lo: build.Int(0, at), Hi: build.ToInt(build.Ref(s.count, at)), Step: build.Int(1, at), Rel: ir.Lt, Body: body, At: at, Directive: s.ofTeam(f.Directive)}
}

// byLength is loop later over contexts, with fewer lanes for each where the nested loops of f are
// short on average.
func (s *sieve) byLength(later, f *ir.For) []ir.Stmt {
	at := f.At
	run := func(lanes int64) []ir.Stmt {
		list := (&ir.Rewrite{Stmt: func(st ir.Stmt) []ir.Stmt {
			if g, ok := st.(*ir.For); ok && g.Directive != nil && g.Directive.Nested.Kind == ir.NestedGroups {
				d := *g.Directive
				d.Nested.Lanes = uint8(lanes)
				g.Directive = &d
			}
			return []ir.Stmt{st}
		}}).CopyStmts([]ir.Stmt{later})
		return s.CopyOf(list, &s.Kernel.NumVars)
	}
	var g *ir.For
	ir.WalkStmts(later.Body, func(st ir.Stmt) bool {
		if n, ok := st.(*ir.For); ok && g == nil && n.Directive != nil && n.Directive.Nested.Kind == ir.NestedGroups {
			g = n
		}
		return g == nil
	})
	if lanes := g.Directive.Nested.Lanes; lanes > 0 {
		return run(int64(lanes))
	}
	few := forms.FewEach(f, g, f.Body, s.gpu.Tuning.Lanes.Halved)
	if few == nil {
		return run(forms.ShortLanes)
	}
	return []ir.Stmt{&ir.If{Cond: few, Then: run(forms.ShortLanes / 2), Else: run(forms.ShortLanes), At: at}}
}

// ofTeam is directive d of the loop for a part of it that one team shares out.
func (s *sieve) ofTeam(d *ir.Directive) *ir.Directive {
	return &ir.Directive{Parts: ir.Parallel | ir.Workshare, Text: d.Text, At: d.At, Sharing: ir.Sharing{Shared: d.Shared, Reductions: d.Reductions}}
}

// inRuns is the loop of the teams over blocks of iterations: ahead for each, and then the loop over
// the contexts.
func (s *sieve) inRuns(f *ir.For, ahead []ir.Stmt, later *ir.For) ir.Stmt {
	at, d := f.At, f.Directive
	local := func(name string) *ir.Var { return s.Local(name, ir.IntType, at) }
	b, j, number, blocks := local("block"), local("j"), local("number"), local("blocks")
	ref := func(v *ir.Var) ir.Expr { return build.Ref(v, at) }
	binary := func(op ir.Op, x, y ir.Expr) ir.Expr { return &ir.Binary{Op: op, X: x, Y: y, T: ir.IntType, At: at} }
	lo, step := build.ToInt(f.Lo), build.ToInt(f.Step)
	total := build.Trips(f, lo, build.ToInt(f.Hi), step)
	size, run := build.Int(int64(s.gpu.Tuning.Lanes.Threads), at), build.Int(siftedRun, at)
	count := forms.CeilQuotient(total, size, at)
	slab := func() ir.Expr { return binary(ir.Div, ref(j), run) } // of as many runs as there are blocks
	turned := binary(ir.Rem, build.Binary(ir.Add, ref(b), binary(ir.Mul, slab(), build.Int(siftedTurn, at)), at), ref(blocks))
	first := binary(ir.Mul, build.Binary(ir.Add, binary(ir.Mul, slab(), ref(blocks)), turned, at), run)
	i := build.Convert(f.Var.Type, build.Binary(ir.Add, lo, build.Binary(ir.Mul, ref(number), step, at), at), at)
	test := s.ofTeam(d)
	test.Private, test.Firstprivate = d.Private, d.Firstprivate
	within := &ir.If{Cond: build.Compare(ir.Lt, ref(number), total, at), Then: append([]ir.Stmt{build.Decl(f.Var, i, at)}, ahead...), At: at}
	body := []ir.Stmt{build.Decl(s.count, build.Zero(s.count.Type, at), at)}
	for _, m := range s.memory {
		body = append(body, &ir.Decl{Var: m, Unset: true, At: at})
	}
	body = append(body, build.Decl(blocks, count, at), &ir.For{Label: f.Label, Var: j, Lo: build.Int(0, at), Hi: size, Step: build.Int(1, at), Rel: ir.Lt, At: at, Directive: test,
		Body: []ir.Stmt{build.Decl(number, binary(ir.Add, first, binary(ir.And, ref(j), build.Int(siftedRun-1, at))), at), within}})
	body = append(body, s.byLength(later, f)...)
	outer := *d
	outer.Parts &^= ir.Parallel | ir.Workshare | ir.Simd
	outer.Schedule, outer.Private, outer.Firstprivate = ir.Schedule{}, nil, nil
	if outer.ThreadLimit == nil {
		outer.ThreadLimit = size
	}
	return &ir.For{Label: &ir.Label{}, Var: b, Lo: build.Int(0, at), Hi: count, Step: build.Int(1, at), Rel: ir.Lt, Body: body, Directive: &outer, At: at}
}
