package nested

import (
	"slices"

	"github.com/gompss/gompss/codegen/internal/analysis"
	"github.com/gompss/gompss/codegen/internal/lower/forms"
	"github.com/gompss/gompss/codegen/internal/mapping"
	"github.com/gompss/gompss/codegen/ir"
	"github.com/gompss/gompss/codegen/ir/build"
	"github.com/gompss/gompss/codegen/ir/query"
)

// chooseNested finds the nested loops of the loops of the league and says how they run: a loop
// whose length memory decides, and whose iterations may run in any order, is nested parallelism
// however it is written.
func chooseNested(l *mapping.Work) {
	c := &nestedChooser{Work: l, m: analysis.NewDependences(l.Kernel)}
	l.Kernel.Body = (&ir.Rewrite{Stmt: func(s ir.Stmt) []ir.Stmt {
		if f, ok := s.(*ir.For); ok && forms.ForThreads(f) && f.Directive.Collapse <= 1 {
			c.loaded, c.assigned = loadedIn(f.Body), ir.Assigned(f.Body)
			c.chosen = false
			body := c.in(f, f.Body)
			if c.chosen {
				f.Body = c.withBounds(body)
			}
		}
		return []ir.Stmt{s}
	}}).CopyStmts(l.Kernel.Body)
}

type nestedChooser struct {
	*mapping.Work
	m *analysis.Dependences

	loaded   map[*ir.Var]bool // variables of an iteration whose value memory decides
	assigned *ir.VarSet       // in an iteration, beside declarations
	chosen   bool             // one of its nested loops has a strategy
}

// in gives a strategy to the nested loops of list, a part of an iteration of f.
func (c *nestedChooser) in(f *ir.For, list []ir.Stmt) []ir.Stmt {
	var out []ir.Stmt
	for _, s := range list {
		switch s := s.(type) {
		case *ir.Block:
			if g := countedRow(s); g != nil {
				out = append(out, c.row(f, g, s))
				continue
			}
			out = append(out, &ir.Block{Label: s.Label, Body: c.in(f, s.Body), At: s.At})
		case *ir.If:
			out = append(out, &ir.If{Cond: s.Cond, Then: c.in(f, s.Then), Else: c.in(f, s.Else), At: s.At})
		case *ir.For:
			out = append(out, c.nested(f, s))
		default:
			out = append(out, s)
		}
	}
	return out
}

// withBounds gives the bounds of slices that an iteration makes of parameters variables of their
// own: a context has these, and the slices are made again of them.
func (c *nestedChooser) withBounds(list []ir.Stmt) []ir.Stmt {
	var out []ir.Stmt
	for _, s := range list {
		switch s := s.(type) {
		case *ir.Block:
			out = append(out, &ir.Block{Label: s.Label, Body: c.withBounds(s.Body), At: s.At})
		case *ir.If:
			out = append(out, &ir.If{Cond: s.Cond, Then: c.withBounds(s.Then), Else: c.withBounds(s.Else), At: s.At})
		case *ir.Decl:
			out = append(out, c.bounded(s)...)
		default:
			out = append(out, s)
		}
	}
	return out
}

func (c *nestedChooser) bounded(s *ir.Decl) []ir.Stmt {
	r, ok := s.Init.(*ir.Reslice)
	if !ok || s.Var.Type.Kind != ir.Slice || r.X.Type().Kind != ir.Slice || !query.IsRef(r.X) || r.X.(*ir.Ref).Var.Space != ir.Param || c.assigned.Has(s.Var) {
		return []ir.Stmt{s}
	}
	lo, hi := r.Lo, r.Hi
	if lo == nil {
		lo = build.Int(0, s.At)
	}
	if hi == nil {
		hi = &ir.Len{X: r.X, At: s.At}
	}
	from, to := c.Local(s.Var.Name+"From", ir.IntType, s.At), c.Local(s.Var.Name+"To", ir.IntType, s.At)
	own := *r
	own.Lo, own.Hi = build.Ref(from, s.At), build.Ref(to, s.At)
	return []ir.Stmt{build.Decl(from, build.ToInt(lo), s.At), build.Decl(to, build.ToInt(hi), s.At), build.Decl(s.Var, &own, s.At)}
}

// nested returns nested loop g of f with its strategy: where only slices that do not overlap let
// its iterations run in any order, behind a test, and as it is.
func (c *nestedChooser) nested(f, g *ir.For) ir.Stmt {
	plain := flagged{loop: g}
	if g.Directive == nil {
		plain = c.flagsOf(f, g)
	}
	d, conds := c.strategy(f, plain.loop)
	if g.Directive != nil && g.Directive.Nested.Boost {
		c.Decide(g.At, "loop "+g.Var.Text(), "no more than without boost", "no lane waits while another has a longer loop: lanes share them", "")
	}
	if d == nil {
		c.chosen = c.chosen || g.Directive != nil && g.Directive.Nested.Kind > ir.NestedInline
		return g
	}
	return c.where(plain, d, conds, g)
}

// where returns the loop of p under directive d where conds hold, else s.
func (c *nestedChooser) where(p flagged, d *ir.Directive, conds []ir.Expr, s ir.Stmt) ir.Stmt {
	c.chosen = true
	g := p.loop
	own := *g
	own.Directive = d
	list := slices.Concat(p.before, []ir.Stmt{&own}, p.after)
	var test ir.Expr
	for _, e := range conds {
		if test == nil {
			test = e
		} else {
			test = build.Compare(ir.LAnd, test, e, g.At)
		}
	}
	switch {
	case test == nil && len(list) == 1:
		return &own
	case test == nil:
		return &ir.Block{Body: list, At: g.At}
	}
	return &ir.If{Cond: test, Then: list, Else: c.CopyOf([]ir.Stmt{s}, &c.Kernel.NumVars), At: g.At}
}

// strategy returns the directive of nested loop g of f, and what must hold for it; nil leaves the
// one that it has.
func (c *nestedChooser) strategy(f, g *ir.For) (*ir.Directive, []ir.Expr) {
	d := g.Directive
	own := ir.Directive{Text: "loop " + g.Var.Name, At: g.At}
	if d != nil {
		own = *d
	}
	var conds []ir.Expr
	wanted := d != nil && d.Nested.Kind == ir.NestedAuto
	switch {
	case d != nil && d.Parts&ir.Parallel != 0:
		if d.Nested.Kind != ir.NestedNone && !wanted || !wanted && !c.gains(f, g) {
			return nil, nil
		}
	case f.Directive.Parts&ir.Distribute == 0 || !c.gains(f, g):
		return nil, nil
	case d == nil:
		var ok bool
		if own.Reductions, conds, ok = c.inAnyOrder(g); !ok {
			return nil, nil
		}
	case d.Parts&^ir.Simd != 0 || d.Safelen > 0:
		return nil, nil
	}
	own.Parts = ir.Parallel | ir.Workshare
	own.Nested = ir.Nested{Kind: ir.NestedAuto}
	if f.Directive.Parts&ir.Distribute == 0 {
		own.Nested.Kind = ir.NestedLanes
	}
	return &own, conds
}

// countedRow returns general loop b as a counted one, but for what its bound reads from memory,
// which its body may change; nil where it is no such loop.
func countedRow(b *ir.Block) *ir.For {
	if b.Label != nil || len(b.Body) != 2 {
		return nil
	}
	d, isDecl := b.Body[0].(*ir.Decl)
	w, isWhile := b.Body[1].(*ir.While)
	if !isDecl || !isWhile || d.Init == nil || !d.Var.Type.IsInteger() || len(w.Pre) > 0 || len(w.Post) != 1 {
		return nil
	}
	cond, ok := w.Cond.(*ir.Binary)
	if !ok || cond.Op != ir.Lt || query.RefVar(cond.X) != d.Var || query.LoadFree(cond.Y) {
		return nil
	}
	post, ok := w.Post[0].(*ir.Assign)
	if !ok || query.RefVar(post.Place) != d.Var {
		return nil
	}
	op, by, _, ok := query.UpdateForm(post.Place, post.Value)
	if one, is := query.Int64(by); !ok || op != ir.Add || !is || one != 1 {
		return nil
	}
	changed := ir.Assigned(w.Body)
	for _, v := range append(ir.ExprVars(cond.Y).List(), d.Var) {
		if changed.Has(v) || ir.AddressTaken(w.Body).Has(v) {
			return nil
		}
	}
	return &ir.For{Label: w.Label, Var: d.Var, Lo: d.Init, Hi: cond.Y, Step: &ir.Const{T: d.Var.Type, Bits: 1, At: w.At}, Rel: ir.Lt, Body: w.Body, At: w.At}
}

// row returns nested loop g of f, which is written as b, with its strategy where its iterations may
// run in any order, and change nothing that its bound reads.
func (c *nestedChooser) row(f, g *ir.For, b *ir.Block) ir.Stmt {
	if f.Directive.Parts&ir.Distribute == 0 || !c.gains(f, g) {
		return b
	}
	plain := c.flagsOf(f, g)
	g = plain.loop
	reading := *g
	reading.Body = append([]ir.Stmt{build.Decl(c.Local("bound", g.Var.Type, g.At), g.Hi, g.At)}, g.Body...)
	sums, conds, ok := c.inAnyOrder(&reading)
	if !ok {
		return b
	}
	d := &ir.Directive{Text: "loop " + g.Var.Name, At: g.At, Sharing: ir.Sharing{Reductions: sums}, Parts: ir.Parallel | ir.Workshare, Nested: ir.Nested{Kind: ir.NestedAuto}}
	return c.where(plain, d, conds, b)
}

// inAnyOrder reports whether the iterations of plain loop g may run in any order, with what they
// add up and what slices must not overlap for that.
func (c *nestedChooser) inAnyOrder(g *ir.For) (sums []ir.Reduction, conds []ir.Expr, ok bool) {
	sums = analysis.OrderFree(c.Kernel, g)
	d := &ir.Directive{Parts: ir.Loop, Sharing: ir.Sharing{Reductions: sums}, At: g.At}
	alike := c.settingOnce(g)
	free := func() bool { return c.m.DependentUnder(alike, d) == "" }
	if free() {
		return sums, nil, true
	}
	conds, ok = c.m.Supposing(alike, free)
	return sums, conds, ok
}

// settingOnce is g with an update in the place of each atomic comparison that replaces one value by
// another, both the same in all iterations, and keeps nothing of what it found: whichever iteration
// is the first, the memory ends as the others would leave it.
func (c *nestedChooser) settingOnce(g *ir.For) *ir.For {
	inside := ir.Assigned(g.Body)
	for _, v := range ir.Declared(g.Body).List() {
		inside.Add(v)
	}
	inside.Add(g.Var)
	same := func(e ir.Expr) bool {
		for _, v := range ir.ExprVars(e).List() {
			if inside.Has(v) {
				return false
			}
		}
		return query.LoadFree(e)
	}
	var first *ir.Atomic
	fine := true
	ir.WalkStmts(g.Body, func(s ir.Stmt) bool {
		a, is := s.(*ir.Atomic)
		if !is {
			return true
		}
		if first == nil {
			first = a
		}
		fine = fine && a.Kind == ir.AtomicCompare && a.Old == nil && same(a.Compare) && same(a.Value) && query.Same(a.Compare, first.Compare) && query.Same(a.Value, first.Value)
		return true
	})
	if !fine || first == nil {
		return g
	}
	return (&ir.Rewrite{Stmt: func(s ir.Stmt) []ir.Stmt {
		if a, is := s.(*ir.Atomic); is {
			return []ir.Stmt{&ir.Atomic{Kind: ir.AtomicUpdate, Op: ir.Max, Place: a.Place, Value: a.Value, At: a.At}}
		}
		return []ir.Stmt{s}
	}}).CopyStmts([]ir.Stmt{g})[0].(*ir.For)
}

// gains reports whether nested loop g of f is worth more than the thread that meets it: memory
// decides its length, and neighbouring iterations of f do not read memory next to each other in it
// while those of g do not.
func (c *nestedChooser) gains(f, g *ir.For) bool {
	step, ok := query.Int64(g.Step)
	if !ok || step != 1 || g.Rel != ir.Lt || query.LeavesLoop(g) || query.JumpsOut(g) || !c.isLoaded(g.Lo) && !c.isLoaded(g.Hi) {
		return false
	}
	mine := c.m.Stride1(g.Body, g.Var)
	return mine > 0 || mine == 0 && c.m.Stride1(g.Body, f.Var) <= 0
}

// isLoaded reports whether memory decides e.
func (c *nestedChooser) isLoaded(e ir.Expr) bool {
	return !query.LoadFree(e) || anyOf(e, c.loaded)
}

func anyOf(e ir.Expr, vars map[*ir.Var]bool) bool {
	for _, v := range ir.ExprVars(e).List() {
		if vars[v] {
			return true
		}
	}
	return false
}

// loadedIn returns the variables that list computes from memory.
func loadedIn(list []ir.Stmt) map[*ir.Var]bool {
	loaded := map[*ir.Var]bool{}
	set := func(v *ir.Var, e ir.Expr) {
		if e != nil && (!query.LoadFree(e) || anyOf(e, loaded)) {
			loaded[v] = true
		}
	}
	for n := -1; n != len(loaded); {
		n = len(loaded)
		ir.WalkStmts(list, func(s ir.Stmt) bool {
			switch s := s.(type) {
			case *ir.Decl:
				set(s.Var, s.Init)
			case *ir.Assign:
				if v := query.RefVar(s.Place); v != nil {
					set(v, s.Value)
				}
			}
			return true
		})
	}
	return loaded
}

// restWith is what follows a nested loop, with each nested loop in it, which no thread alone runs,
// replaced by what instead returns for it.
func restWith(list []ir.Stmt, instead func(*ir.For) []ir.Stmt) []ir.Stmt {
	var out []ir.Stmt
	for _, s := range list {
		switch s := s.(type) {
		case *ir.Block:
			out = append(out, &ir.Block{Label: s.Label, Body: restWith(s.Body, instead), At: s.At})
		case *ir.If:
			out = append(out, &ir.If{Cond: s.Cond, Then: restWith(s.Then, instead), Else: restWith(s.Else, instead), At: s.At})
		case *ir.For:
			if forms.IsNestedLoop(s) {
				out = append(out, instead(s)...)
				continue
			}
			out = append(out, s)
		default:
			out = append(out, s)
		}
	}
	return out
}

// restByTeam is what follows a nested loop, as a team runs it: it shares out the nested loops in
// it.
func restByTeam(l *mapping.Work, list []ir.Stmt) []ir.Stmt {
	return restWith(list, func(g *ir.For) []ir.Stmt { return sharedByTeam(l, g, false) })
}

// sharedByTeam is nested loop g as the threads of a team share it: sums of floats in the order of
// their virtual lanes, whatever the number of threads. Where it is known to be long the number of
// these is a constant: compilers then load for several turns at once.
func sharedByTeam(l *mapping.Work, g *ir.For, long bool) []ir.Stmt {
	inner := *g.Directive
	inner.Parts = inner.Parts&^(ir.Teams|ir.Distribute) | ir.Parallel | ir.Workshare
	inner.Nested, inner.If = ir.Nested{}, nil
	shared := *g
	shared.Directive = &inner
	if step, ok := query.Int64(g.Step); !ok || step != 1 || g.Rel != ir.Lt || !forms.AddsFloats(inner.Reductions) && !(long && combinesScalars(inner.Reductions)) {
		return []ir.Stmt{&shared}
	}
	r := &teamRowSum{Work: l, g: g, d: &inner, at: g.At, long: long}
	return []ir.Stmt{&ir.Block{Body: r.run(), At: g.At}}
}

// combinesScalars reports whether list combines numbers of 32 or 64 bits, and nothing else.
func combinesScalars(list []ir.Reduction) bool {
	for _, r := range list {
		if !query.IsRef(r.Place) || r.Index != nil || r.Place.Type().Size < 4 || !r.Place.Type().IsInteger() && !r.Place.Type().IsFloat() {
			return false
		}
		switch r.Op {
		case ir.Add, ir.Mul, ir.Min, ir.Max, ir.And, ir.Or, ir.Xor:
		default:
			return false
		}
	}
	return len(list) > 0
}

// A teamRowSum is a nested loop with a sum of floats that a team runs.
type teamRowSum struct {
	*mapping.Work
	g  *ir.For
	d  *ir.Directive
	at ir.Pos

	long            bool // of forms.TeamRow iterations or more
	from, to, lanes *ir.Var
	parts           []*ir.Var // of the virtual lanes, in team memory
}

func (r *teamRowSum) ref(v *ir.Var) ir.Expr { return build.Ref(v, r.at) }

// number is the number of virtual lanes.
func (r *teamRowSum) number() ir.Expr {
	if r.long {
		return r.int(forms.TeamLanes)
	}
	return r.ref(r.lanes)
}

func (r *teamRowSum) int(n int64) ir.Expr { return build.Int(n, r.at) }

func (r *teamRowSum) run() []ir.Stmt {
	at := r.at
	r.from, r.to = r.Local("from", ir.IntType, at), r.Local("to", ir.IntType, at)
	r.lanes = r.Local("lanes", ir.IntType, at)
	n := build.Binary(ir.Sub, r.ref(r.to), r.ref(r.from), at)
	lanes := build.Choose(build.Compare(ir.Ge, n, r.int(forms.TeamRow), at), r.int(forms.TeamLanes), r.int(forms.ShortLanes), at)
	out := []ir.Stmt{build.Decl(r.from, build.ToInt(r.g.Lo), at), build.Decl(r.to, build.ToInt(r.g.Hi), at)}
	if !r.long {
		out = append(out, build.Decl(r.lanes, lanes, at))
	}
	for _, x := range r.d.Reductions {
		p := r.Local(x.Place.(*ir.Ref).Var.Name+"Part", ir.ArrayOf(x.Place.Type(), forms.TeamLanes), at)
		r.parts = append(r.parts, p)
		out = append(out, build.Decl(p, nil, at))
	}
	out = append(out, r.eachLane())
	out = append(out, r.halves()...)
	return append(out, r.inOrder()...)
}

// overLanes is a loop of the team over the virtual lanes.
func (r *teamRowSum) overLanes(lane *ir.Var, d ir.Directive, body []ir.Stmt) ir.Stmt {
	d.Parts, d.Text, d.At = ir.Parallel|ir.Workshare, r.d.Text, r.at
	return &ir.For{Label: &ir.Label{}, Var: lane, Lo: r.int(0), Hi: r.number(), Step: r.int(1), Rel: ir.Lt, Body: body, Directive: &d, At: r.at}
}

// eachLane lets each virtual lane add its elements up in order.
func (r *teamRowSum) eachLane() ir.Stmt {
	at := r.at
	lane, k := r.Local("lane", ir.IntType, at), r.Local("k", ir.IntType, at)
	var body, store []ir.Stmt
	own := map[*ir.Var]*ir.Var{}
	for i, x := range r.d.Reductions {
		v := x.Place.(*ir.Ref).Var
		sum := r.Local(v.Name, v.Type, at)
		own[v] = sum
		body = append(body, build.Decl(sum, build.Identity(x.Op, v.Type, at), at))
		store = append(store, build.Assign(build.Index(r.ref(r.parts[i]), r.ref(lane), at), r.ref(sum), at))
	}
	list := forms.Widened(build.WithVars(own).CopyStmts(r.g.Body), r.g.Var, k)
	body = append(body, &ir.For{Label: r.g.Label, Var: k, Lo: build.Binary(ir.Add, r.ref(r.from), r.ref(lane), at), Hi: r.ref(r.to),
		Step: r.number(), Rel: ir.Lt, Body: list, At: at})
	return r.overLanes(lane, ir.Directive{Sharing: ir.Sharing{Firstprivate: r.d.Firstprivate, Private: r.d.Private}}, append(body, store...))
}

// halves combines the parts of each block of forms.ShortRow lanes, half of them with the other.
func (r *teamRowSum) halves() []ir.Stmt {
	at := r.at
	d, lane := r.Local("d", ir.IntType, at), r.Local("lane", ir.IntType, at)
	half := func(e ir.Expr) ir.Expr { return &ir.Binary{Op: ir.Div, X: e, Y: r.int(2), T: ir.IntType, At: at} }
	var add []ir.Stmt
	for i, x := range r.d.Reductions {
		place := func() ir.Expr { return build.Index(r.ref(r.parts[i]), r.ref(lane), at) }
		other := build.Index(r.ref(r.parts[i]), build.Binary(ir.Add, r.ref(lane), r.ref(d), at), at)
		add = append(add, build.Assign(place(), build.Combine(x.Op, place(), other, at), at))
	}
	inBlock := &ir.Binary{Op: ir.And, X: r.ref(lane), Y: r.int(forms.ShortRow - 1), T: ir.IntType, At: at}
	body := []ir.Stmt{&ir.If{Cond: build.Compare(ir.Lt, inBlock, r.ref(d), at), Then: add, At: at}}
	return []ir.Stmt{build.Decl(d, half(build.IntMath(ir.IMin, r.number(), r.int(forms.ShortRow))), at),
		&ir.While{Label: &ir.Label{}, Cond: build.Compare(ir.Gt, r.ref(d), r.int(0), at), Body: []ir.Stmt{r.overLanes(lane, ir.Directive{}, body)},
			Post: []ir.Stmt{build.Assign(r.ref(d), half(r.ref(d)), at)}, At: at}}
}

// inOrder adds the blocks up, and their sum to the variable.
func (r *teamRowSum) inOrder() []ir.Stmt {
	at := r.at
	b := r.Local("block", ir.IntType, at)
	var out, add, last []ir.Stmt
	for i, x := range r.d.Reductions {
		v := x.Place.(*ir.Ref).Var
		total := r.Local(v.Name+"Total", v.Type, at)
		out = append(out, build.Decl(total, build.Index(r.ref(r.parts[i]), r.int(0), at), at))
		add = append(add, build.Assign(r.ref(total), build.Combine(x.Op, r.ref(total), build.Index(r.ref(r.parts[i]), r.ref(b), at), at), at))
		last = append(last, build.Assign(r.ref(v), build.Combine(x.Op, r.ref(v), r.ref(total), at), at))
	}
	out = append(out, &ir.For{Label: &ir.Label{}, Var: b, Lo: r.int(forms.ShortRow), Hi: r.number(), Step: r.int(forms.ShortRow), Rel: ir.Lt, Body: add, At: at})
	return append(out, last...)
}

// inTeamMemory places the contexts in the memory of the team: one for each iteration of a block.
func (x *deferral) inTeamMemory() {
	x.count = x.Local("deferred", ir.Int32Type, x.g.At)
	threads := int64(x.gpu.Tuning.Lanes.Threads)
	x.room, x.sure = build.Int(threads, x.g.At), true
	for _, v := range x.captured {
		x.memory = append(x.memory, x.Local(v.Name+"Context", ir.ArrayOf(v.Type, threads), v.At))
	}
}

// inBlocks is the loop of the teams over blocks of iterations of f: the threads run those of a
// block, and then the team the nested loops that wait.
func inBlocks(l *mapping.Work, f *ir.For, waiting []*deferral, threads int) ir.Stmt {
	at, d := f.At, f.Directive
	b, j := l.Local("block", ir.IntType, at), l.Local("j", ir.IntType, at)
	lo, step := build.ToInt(f.Lo), build.ToInt(f.Step)
	total := build.Trips(f, lo, build.ToInt(f.Hi), step)
	size := build.Int(int64(threads), at)
	first := build.Binary(ir.Mul, build.Ref(b, at), size, at)
	number := build.Binary(ir.Add, first, build.Ref(j, at), at)
	i := build.Convert(f.Var.Type, build.Binary(ir.Add, lo, build.Binary(ir.Mul, number, step, at), at), at)
	var body, behind []ir.Stmt
	for _, x := range waiting {
		body = append(body, build.Decl(x.count, build.Zero(x.count.Type, at), at))
		for _, c := range x.memory {
			body = append(body, &ir.Decl{Var: c, Unset: true, At: at})
		}
		c := l.Local("context", ir.IntType, at)
		run := &ir.For{Label: f.Label, Var: c, Lo: build.Int(0, at), Hi: build.ToInt(build.Ref(x.count, at)), Step: build.Int(1, at), Rel: ir.Lt, Body: x.later(c), At: at}
		behind = append(behind, l.CopyOf([]ir.Stmt{run}, &l.Kernel.NumVars)...)
	}
	left := build.Binary(ir.Sub, total, first, at)
	body = append(body, &ir.For{Label: f.Label, Var: j, Lo: build.Int(0, at), Hi: build.IntMath(ir.IMin, left, size), Step: build.Int(1, at), Rel: ir.Lt, At: at,
		Body:      append([]ir.Stmt{build.Decl(f.Var, i, at)}, f.Body...),
		Directive: &ir.Directive{Parts: ir.Parallel | ir.Workshare, Text: d.Text, At: d.At, Sharing: ir.Sharing{Shared: d.Shared, Private: d.Private, Firstprivate: d.Firstprivate, Reductions: d.Reductions}}})
	outer := *d
	outer.Parts &^= ir.Parallel | ir.Workshare | ir.Simd
	outer.Schedule, outer.Private, outer.Firstprivate = ir.Schedule{}, nil, nil
	if outer.ThreadLimit == nil {
		outer.ThreadLimit = size
	}
	return &ir.For{Label: &ir.Label{}, Var: b, Lo: build.Int(0, at), Hi: forms.CeilQuotient(total, size, at), Step: build.Int(1, at), Rel: ir.Lt,
		Body: append(body, behind...), Directive: &outer, At: at}
}
