package strategy

import (
	"slices"
	"strconv"

	"github.com/gompss/gompss/codegen/internal/analysis"
	"github.com/gompss/gompss/codegen/internal/analysis/affine"
	"github.com/gompss/gompss/codegen/internal/integers"
	"github.com/gompss/gompss/codegen/internal/lower/accumulate"
	"github.com/gompss/gompss/codegen/internal/lower/forms"
	"github.com/gompss/gompss/codegen/internal/lower/spaces"
	"github.com/gompss/gompss/codegen/internal/lower/strategy/bodies"
	"github.com/gompss/gompss/codegen/internal/lower/strategy/unchecked"
	"github.com/gompss/gompss/codegen/internal/lower/unroll"
	"github.com/gompss/gompss/codegen/internal/mapping"
	"github.com/gompss/gompss/codegen/ir"
	"github.com/gompss/gompss/codegen/ir/build"
	"github.com/gompss/gompss/codegen/ir/query"
)

// The strategy "rows" is for iterations that each traverse a row of memory once or several times.
// If neighbouring threads ran neighbouring iterations, their accesses would be strided. Instead a
// team takes as many rows as a warp has lanes. All its threads load a tile of the rows with
// contiguous accesses, compute the values that depend on one element of a row only, and store them
// in team memory. Then one warp, the walking warp, executes the loop on the tile, one row a lane,
// in the order of the loop. A loop along the row whose iterations are independent is shared by all
// warps, one row a warp. Every sum keeps its order, so the results are bit-identical.
//
// A tile may be loaded early because the outer loop is parallel and, if the row is written too,
// because a test shows that the slices do not overlap.

const (
	rowsOfTeam  = 32  // rows in the block of a team, one for each lane of its walking warp
	rowsThreads = 128 // threads of a team
	rowsShort   = 16  // largest trip count of another loop that the walking warp may run alone
)

// A rowed describes a loop over rows and the loop over blocks of rows that replaces it.
type rowed struct {
	*Sharer
	f     *ir.For // the loop over the rows
	body  []ir.Stmt
	up    *accumulate.Carrier // Own: variables that differ from row to row, or may change
	loops map[*ir.For]*rowLoop
	conds []ir.Expr // run-time conditions of the strategy
	box   map[*ir.Var]*ir.Var
	boxes []*ir.Var // the keys of box, in order

	tables []*rowTable
	league bool  // all teams share the rows
	rows   int64 // rows in a block: a row a lane of the walking warp, or a row a thread of the team

	base, row, lane, warp, warps, walker, active *ir.Var
	end, stop                                    ir.Expr // end of all rows, and of the rows of a block
}

// A rowLoop is a loop along a row.
type rowLoop struct {
	loop    *ir.For
	free    bool        // the iterations are independent
	upright bool        // the loop goes down a column
	bent    bool        // the bounds differ from row to row
	lo, hi  ir.Expr     // union of the bounds in a block, which rowed.blockOf declares
	staged  []rowStaged // values that all threads compute for the walking warp
	elems   []*ir.Index // elements of the row that staged depends on
	stores  []rowStaged
	needs   []*ir.Var // values of a row that all threads read
	columns int64     // columns of a tile
}

// A rowStaged is an expression, or a place that is written, and the tile that holds its values.
type rowStaged struct {
	e    ir.Expr
	tile *ir.Var
}

// rowTiles returns the loop over sp in which each team executes blocks of rows, or nil if this is
// not legal or not profitable.
func rowTiles(t *Sharer, sp *spaces.Space, d *ir.Directive, p spaces.Portion, body []ir.Stmt) []ir.Stmt {
	f := sp.Loops[0]
	if t.Single || t.Slow || !sp.Direct() || !forms.Counts(f) || p.Only != nil || !mapping.WholeSchedule(d) || !t.WholeTeams() || forms.LeavesIteration(body, sp.Label) {
		return nil
	}
	if n, ok := query.Int64(forms.OrZero(t.Launch.MaxThreads)); ok && n > 0 && n < rowsOfTeam {
		return nil
	}
	x := &rowed{Sharer: t, f: f, body: bodies.Propagate(query.Flatten(body)), box: map[*ir.Var]*ir.Var{}}
	if !x.find() {
		return nil
	}
	_, x.league = p.First.(*ir.Binary)
	x.findTables()
	kept := x.keeps()
	x.stageAll()
	at := f.At
	t.Launch.Warps = true
	t.LimitThreads(build.Int(rowsThreads, at))
	t.Launch.Threads, t.Launch.ResidentTeams = rowsThreads, t.Device().Tuning.Rows.Teams
	if x.all() {
		t.Launch.ResidentTeams = t.Device().Tuning.WalkTeams
	}
	long := x.long()
	ceil := func(n ir.Expr, size int64) ir.Expr {
		return &ir.Binary{Op: ir.Div, X: build.Binary(ir.Add, n, build.Int(size-1, at), at), Y: build.Int(size, at), T: ir.IntType, At: at}
	}
	trips := build.Trips(f, f.Lo, f.Hi, f.Step)
	t.Trips.Whole = t.OnHost(build.Choose(long, ceil(trips, x.rows), ceil(trips, rowsThreads), at))
	if kept != nil {
		t.Launch.ResidentTeams = max(t.Launch.ResidentTeams, kept.resident())
		kept.stage()
		kept.explain()
		if teams := kept.teams(trips); teams != nil && t.Trips.Whole != nil { // looked up in parts: the whole expression is large
			t.Trips.Whole = build.Choose(t.OnHost(kept.fits), teams, t.Trips.Whole, at)
		}
	}
	t.Decide(at, "loop "+f.Var.Text(), "rows: teams of "+strconv.Itoa(rowsThreads)+" threads take "+strconv.Itoa(int(x.rows))+" iterations at once, through team memory",
		x.why(), AsItIs)
	for _, c := range append(x.unwrapped(), x.conds...) {
		long = build.Compare(ir.LAnd, long, c, at)
	}
	test, out := t.Temp("long", long, nil)
	x.end, out = t.Temp("end", f.Hi, out)
	whole := t.CopyOf(forms.Unwrapped(t.Walk(sp, p, unchecked.Loops(t.Crew, body), nil)), &t.Kernel.NumVars)
	if below, fits := rowsBelow(x); below != nil {
		whole = []ir.Stmt{&ir.If{Cond: fits, Then: below, Else: whole, At: at}}
	}
	rows := x.overRows()
	if kept != nil {
		rows = []ir.Stmt{&ir.If{Cond: kept.fits, Then: kept.overKept(), Else: rows, At: at}}
	}
	out = append(out, &ir.If{Cond: test, Then: rows, Else: whole, At: at})
	return []ir.Stmt{&ir.Block{Body: out, At: at}}
}

func (x *rowed) why() string {
	for _, l := range x.inOrder() {
		if !l.upright {
			return "each iteration goes along a row of memory: neighbouring threads load neighbours, and the order of each row stays"
		}
	}
	return "each iteration goes down a column, and where these are few too little would be on its way; the order of each column stays"
}

// long returns the run-time condition that the rows are long enough for the strategy.
func (x *rowed) long() ir.Expr {
	var all ir.Expr
	upright := true
	for _, l := range x.inOrder() {
		f := l.loop
		upright = upright && l.upright
		c := build.Compare(ir.Ge, x.tripsOf(l), build.Int(x.Device().Tuning.Rows.Least, f.At), f.At)
		switch {
		case all == nil:
			all = c
		case !query.Same(all, c):
			all = build.Compare(ir.LAnd, all, c, f.At)
		}
	}
	if gpu := x.Device(); upright { // with many columns, neighbouring threads read contiguously without the strategy
		few := int64(gpu.Team.Multiprocessors * gpu.Team.Warps * gpu.Team.Warp / gpu.Tuning.Rows.Few)
		all = build.Compare(ir.LAnd, all, build.Compare(ir.Le, build.Trips(x.f, x.f.Lo, x.f.Hi, x.f.Step), build.Int(few, x.f.At), x.f.At), x.f.At)
	}
	return all
}

func (x *rowed) inOrder() []*rowLoop {
	var out []*rowLoop
	for _, s := range x.body {
		if f, ok := s.(*ir.For); ok && x.loops[f] != nil {
			out = append(out, x.loops[f])
		}
	}
	return out
}

// find finds the loops along the row in the body. It reports whether the strategy can run the body.
func (x *rowed) find() bool {
	effects := x.Effects.Stmts(x.body)
	if effects.Atomics || effects.Calls || len(ir.AddressTaken(x.body).List()) > 0 {
		return false
	}
	x.up = &accumulate.Carrier{Work: x.Work, Own: bodies.Changed(x.body), Most: x.Device().Tuning.Rows.Carried}
	x.up.Own.Add(x.f.Var)
	x.body = x.up.In(x.body)
	for _, v := range bodies.Changed(x.body).List() {
		x.up.Own.Add(v)
	}
	if !x.findLoops(rowsOfTeam) {
		return false
	}
	many := (x.waitsLong() || x.short()) != (x.Opt.Choice.Parameter("rows") > 0)
	return !many || x.findLoops(rowsThreads) || x.findLoops(rowsOfTeam)
}

// waitsLong reports whether the walk of a loop has long latencies, so that a single walking warp
// per team would be too slow.
func (x *rowed) waitsLong() bool {
	return slices.ContainsFunc(x.inOrder(), func(l *rowLoop) bool { return !l.free && !l.upright && l.waits(x) })
}

// short reports whether there is one loop along a row, and a row is known to be shorter than a row
// of the tile: threads of the team would load nothing.
func (x *rowed) short() bool {
	loops := x.inOrder()
	if len(loops) != 1 || loops[0].free || loops[0].upright {
		return false
	}
	n, known := analysis.ConstTrips(loops[0].loop)
	return known && n < loops[0].columns
}

// findLoops finds the loops along rows for blocks of the given number of rows.
func (x *rowed) findLoops(rows int64) bool {
	x.rows, x.loops, x.conds = rows, map[*ir.For]*rowLoop{}, slices.Clone(x.up.Conds)
	for _, s := range x.body {
		if f, ok := s.(*ir.For); ok {
			if l := x.rowLoop(f); l != nil {
				x.loops[f] = l
				continue
			}
		}
		if !plainRow([]ir.Stmt{s}) {
			return false
		}
	}
	return len(x.loops) > 0
}

// all reports whether every thread of a team walks a row of its own.
func (x *rowed) all() bool { return x.rows > rowsOfTeam }

// waits reports whether an iteration of the walk has a long latency: it loads from an address that
// earlier iterations computed, has costly operations that depend on them, or has loops.
func (l *rowLoop) waits(x *rowed) bool {
	found := false
	rest := l.replaced(l.loop.Body, func(rowStaged) ir.Expr { return build.Zero(ir.IntType, l.loop.At) })
	for _, s := range rest {
		found = found || bodies.HasLoop(s)
		if a, ok := s.(*ir.Assign); ok && !query.IsRef(a.Place) {
			s = &ir.Assign{Place: build.Ref(l.loop.Var, a.At), Value: a.Value, At: a.At}
		}
		ir.WalkExprs([]ir.Stmt{s}, func(e ir.Expr) bool {
			ix, loads := e.(*ir.Index)
			found = found || loads && !x.computable(ix, l.loop) || costly(e) && !x.computable(e, l.loop)
			return !found
		})
	}
	return found
}

// plainRow reports whether list has only scalar arithmetic, accesses without checks, and short
// loops with constant trip counts.
func plainRow(list []ir.Stmt) bool {
	for _, s := range list {
		switch s := s.(type) {
		case *ir.Decl:
			if !s.Var.Type.IsScalar() || s.Init != nil && !forms.PlainValue(s.Init) {
				return false
			}
		case *ir.Assign:
			if !s.Value.Type().IsScalar() || !forms.PlainValue(s.Value) || !forms.PlainValue(s.Place) {
				return false
			}
		case *ir.If:
			if !forms.PlainValue(s.Cond) || !plainRow(s.Then) || !plainRow(s.Else) {
				return false
			}
		case *ir.Block:
			if s.Label != nil || !plainRow(s.Body) {
				return false
			}
		case *ir.For:
			if n, known := analysis.ConstTrips(s); !known || n > rowsShort || query.LeavesLoop(s) || !plainRow(s.Body) {
				return false
			}
		default:
			return false
		}
	}
	return true
}

// rowLoop returns the description of f as a loop over tiles, or as a loop that all threads share,
// or nil if neither is legal.
func (x *rowed) rowLoop(f *ir.For) *rowLoop {
	f = forms.Below(f)
	if !forms.Counts(f) || query.LeavesLoop(f) {
		return nil
	}
	bent := false
	for _, e := range []ir.Expr{f.Lo, f.Hi} {
		if !query.LoadFree(e) || !forms.PlainValue(e) {
			return nil
		}
		for _, v := range ir.ExprVars(e).List() {
			bent = bent || v == x.f.Var
			if v != x.f.Var && x.up.Own.Has(v) || x.IsShared(v) {
				return nil
			}
		}
		if _, ok := monotone(e, x.f.Var); !ok {
			return nil
		}
	}
	if n, known := analysis.ConstTrips(f); known && n < x.Device().Tuning.Rows.Least {
		return nil
	}
	g := *f
	g.Body = query.Flatten(f.Body)
	m := analysis.NewDependences(x.Kernel)
	along := m.Stride1(g.Body, g.Var)
	across := m.Stride1(g.Body, x.f.Var)
	if !plainRow(g.Body) || along == across || max(along, across) <= 0 {
		return nil
	}
	if x.all() && across > along { // a tile of columns has a row for each lane of a warp
		return nil
	}
	l := &rowLoop{loop: &g, upright: across > along, bent: bent, lo: g.Lo, hi: g.Hi}
	for _, s := range g.Body {
		l.stages(x, s)
	}
	if conds, ok := x.independent(m, &g); ok && !l.upright && !slices.ContainsFunc(g.Body, bodies.HasLoop) {
		l.free, l.staged, l.elems = true, nil, nil
		x.need(conds)
	} else if !l.storesOf(x, g.Body) || !l.chooseStaged(x) {
		return nil
	}
	l.needs = x.needsOf(l)
	for _, v := range l.needs {
		if !v.Type.IsScalar() {
			return nil
		}
	}
	return l
}

// independent returns the conditions under which the iterations of g are independent. It reports
// false if there are none that can be tested before the loop.
func (x *rowed) independent(m *analysis.Dependences, g *ir.For) ([]ir.Expr, bool) {
	if m.Dependent(g) == "" {
		return nil, true
	}
	conds, ok := m.Supposing(g, func() bool { return m.Dependent(g) == "" })
	return conds, ok && x.testable(conds)
}

// testable reports whether conds depend on parameters only.
func (x *rowed) testable(conds []ir.Expr) bool {
	for _, c := range conds {
		for _, v := range ir.ExprVars(c).List() {
			if v.Space != ir.Param || x.up.Own.Has(v) {
				return false
			}
		}
	}
	return true
}

func (x *rowed) need(conds []ir.Expr) {
	for _, c := range conds {
		if !slices.ContainsFunc(x.conds, func(have ir.Expr) bool { return query.Same(have, c) }) {
			x.conds = append(x.conds, c)
		}
	}
}

// isRow reports whether e has a small constant stride in v and a large stride in the row; for
// upright, a large stride in v and a small one in the row.
func (x *rowed) isRow(e *ir.Index, v *ir.Var, upright bool) bool {
	if !query.IsRef(e.X) || e.X.Type().Kind != ir.Slice || !query.LoadFree(e.I) || !e.Type().IsScalar() {
		return false
	}
	for _, w := range ir.ExprVars(e).List() {
		if w != v && w != x.f.Var && (x.up.Own.Has(w) || x.IsShared(w)) {
			return false
		}
	}
	form, ok := affine.Of(e.I)
	if !ok {
		return false
	}
	along, ok1 := form.Coef(v)
	apart, ok2 := form.Coef(x.f.Var)
	if upright {
		along, apart = apart, along
	}
	near, isConst := along.Const()
	far, known := apart.Const()
	return ok1 && ok2 && isConst && near != 0 && integers.Magnitude(near) <= 4 && (!known || integers.Magnitude(far) >= bodies.FarStride)
}

// computable reports whether every thread can compute e for the loop f of a row: e has no
// loop-carried value.
func (x *rowed) computable(e ir.Expr, f *ir.For) bool {
	inside, changed := ir.Declared(f.Body), ir.Assigned(f.Body)
	for _, v := range ir.ExprVars(e).List() {
		if inside.Has(v) || changed.Has(v) || x.IsShared(v) {
			return false
		}
	}
	return forms.PlainValue(e)
}

func (x *rowed) rowElems(e ir.Expr, f *ir.For, upright bool) (out []*ir.Index) {
	ir.WalkExpr(e, func(y ir.Expr) bool {
		if ix, ok := y.(*ir.Index); ok && x.isRow(ix, f.Var, upright) && x.computable(ix, f) {
			out = append(out, ix)
		}
		return true
	})
	return out
}

// stages adds the largest subexpressions with elements of rows that s computes unconditionally and
// that every thread can compute.
func (l *rowLoop) stages(x *rowed, s ir.Stmt) {
	each := func(e ir.Expr) { l.stageIn(x, e) }
	switch s := s.(type) {
	case *ir.Decl:
		if s.Init != nil {
			each(s.Init)
		}
	case *ir.Assign:
		each(s.Value)
	case *ir.If:
		each(s.Cond)
	}
}

func (l *rowLoop) stageIn(x *rowed, e ir.Expr) {
	if len(x.rowElems(e, l.loop, l.upright)) == 0 {
		return
	}
	if x.computable(e, l.loop) && e.Type().IsScalar() && e.Type().Kind != ir.Bool {
		l.stage(e)
		return
	}
	switch s := e.(type) {
	case *ir.Select:
		l.stageIn(x, s.Cond)
		return
	case *ir.Binary:
		if s.Op == ir.LAnd || s.Op == ir.LOr {
			l.stageIn(x, s.X)
			return
		}
	}
	ir.Operands(e, func(y ir.Expr) { l.stageIn(x, y) })
}

func (l *rowLoop) stage(e ir.Expr) {
	if !slices.ContainsFunc(l.staged, func(s rowStaged) bool { return query.Same(s.e, e) }) {
		l.staged = append(l.staged, rowStaged{e: e})
	}
}

// surely appends to out the elements of rows that e reads unconditionally.
func (l *rowLoop) surely(x *rowed, e ir.Expr, out []*ir.Index) []*ir.Index {
	switch s := e.(type) {
	case *ir.Select:
		return l.surely(x, s.Cond, out)
	case *ir.Binary:
		if s.Op == ir.LAnd || s.Op == ir.LOr {
			return l.surely(x, s.X, out)
		}
	case *ir.Index:
		if x.isRow(s, l.loop.Var, l.upright) {
			if !slices.ContainsFunc(out, func(have *ir.Index) bool { return query.Same(have, s) }) {
				out = append(out, s)
			}
			return out
		}
	}
	ir.Operands(e, func(y ir.Expr) { out = l.surely(x, y, out) })
	return out
}

// costly reports whether the evaluation of e takes much longer than a load of its value.
func costly(e ir.Expr) bool {
	found := false
	ir.WalkExpr(e, func(y ir.Expr) bool {
		switch y := y.(type) {
		case *ir.Math:
			_, least := query.MinMaxOf[y.Fn]
			found = found || unroll.MathCost(y.Fn, 4) > 1 && !least
		case *ir.Binary:
			found = found || y.Op == ir.Div || y.Op == ir.Rem
		}
		return !found
	})
	return found
}

// chooseStaged decides whether the threads store computed values or loaded elements in team memory,
// and chooses the number of columns of a tile. It reports false if no tile fits.
func (l *rowLoop) chooseStaged(x *rowed) bool {
	var elems, left []*ir.Index
	dear := false
	for _, s := range l.staged {
		elems = l.surely(x, s.e, elems)
		dear = dear || costly(s.e)
	}
	rest := l.replaced(l.loop.Body, func(rowStaged) ir.Expr { return build.Zero(ir.IntType, l.loop.At) })
	ir.WalkExprs(rest, func(e ir.Expr) bool {
		if ix, ok := e.(*ir.Index); ok && slices.ContainsFunc(elems, func(have *ir.Index) bool { return query.Same(have, ix) }) {
			left = append(left, ix)
		}
		return true
	})
	if len(elems) == 0 && len(l.stores) == 0 {
		return false
	}
	if len(left) > 0 || !dear && (len(l.staged) > len(elems) || bytesOf(l.staged) > bytesOf(stagedElems(elems))) {
		l.staged = stagedElems(elems)
	}
	l.elems = elems
	var words ir.Bytes
	for _, e := range elems {
		words += max(e.Type().Size, 4) / 4
	}
	tiles := bytesOf(l.staged) + bytesOf(l.stores)
	for l.columns = rowsThreads; l.columns >= rowsOfTeam; l.columns /= 2 {
		loads := ir.Bytes(l.columns * x.rows / rowsThreads)
		if words*loads <= x.Device().Tuning.Rows.Words && tiles*ir.Bytes(x.rows)*ir.Bytes(l.columns+1) <= x.Device().Memory.StaticShared*3/4 {
			return true
		}
	}
	return false
}

// bytesOf returns the sum of the sizes of one value of each.
func bytesOf(list []rowStaged) (n ir.Bytes) {
	for _, s := range list {
		n += s.e.Type().Size
	}
	return n
}

func stagedElems(list []*ir.Index) []rowStaged {
	out := make([]rowStaged, len(list))
	for k, e := range list {
		out[k] = rowStaged{e: e}
	}
	return out
}

// storesOf finds the places that the loop writes. It reports whether each of them is one element of
// the row in each iteration, which no other access of the loop reads.
func (l *rowLoop) storesOf(x *rowed, list []ir.Stmt) bool {
	fine := true
	for _, s := range list {
		if a, ok := s.(*ir.Assign); ok {
			if ix, ok := a.Place.(*ir.Index); ok {
				again := slices.ContainsFunc(l.stores, func(have rowStaged) bool { return query.Same(have.e.(*ir.Index).X, ix.X) })
				fine = fine && !again && x.isRow(ix, l.loop.Var, l.upright) && x.computable(ix, l.loop)
				l.stores = append(l.stores, rowStaged{e: ix})
				continue
			}
		}
		if isNested(s) {
			e := x.Effects.Stmts([]ir.Stmt{s})
			fine = fine && e.Writes.Empty()
		}
	}
	if !fine {
		return false
	}
	for n, s := range l.stores {
		place := s.e.(*ir.Index)
		to := place.X.(*ir.Ref).Var
		for _, other := range l.stores[n+1:] {
			fine = fine && x.apartFrom(to, other.e.(*ir.Index).X.(*ir.Ref).Var)
		}
		stored := false
		for _, s := range list {
			ir.StmtExprs(s, func(e ir.Expr) {
				if a, ok := s.(*ir.Assign); ok && e == a.Place {
					return
				}
				ir.WalkExpr(e, func(y ir.Expr) bool {
					if ix, ok := y.(*ir.Index); ok && ix.X.Type().Kind == ir.Slice {
						r, isRef := ix.X.(*ir.Ref)
						fine = fine && isRef && (r.Var == to && (query.Same(ix, place) && !stored || ahead(place, ix, l.loop.Var)) || r.Var != to && x.apartFrom(to, r.Var))
					}
					return true
				})
			})
			if a, ok := s.(*ir.Assign); ok && a.Place == ir.Expr(place) {
				stored = true
			}
			if isNested(s) {
				ir.WalkExprs([]ir.Stmt{s}, func(y ir.Expr) bool {
					if ix, ok := y.(*ir.Index); ok && ix.X.Type().Kind == ir.Slice {
						r, isRef := ix.X.(*ir.Ref)
						fine = fine && isRef && r.Var != to && x.apartFrom(to, r.Var)
					}
					return true
				})
			}
		}
	}
	return fine
}

// ahead reports whether ix is an element that a later iteration of v stores to place.
func ahead(place, ix *ir.Index, v *ir.Var) bool {
	stored, ok := affine.Of(place.I)
	loaded, fine := affine.Of(ix.I)
	coef, known := stored.Coef(v)
	step, constant := coef.Const()
	far, near := loaded.Sub(stored).Const()
	return ok && fine && known && constant && near && far != 0 && far%step == 0 && far/step > 0
}

// isNested reports whether s is a branch or a loop.
func isNested(s ir.Stmt) bool {
	switch s.(type) {
	case *ir.If, *ir.For:
		return true
	}
	return false
}

// apartFrom adds the no-alias test of v and w to the conditions. It reports false if there is no
// such test.
func (x *rowed) apartFrom(v, w *ir.Var) bool {
	for _, y := range []*ir.Var{v, w} {
		if y.Space != ir.Param || y.Type.Kind != ir.Slice || x.up.Own.Has(y) {
			return false
		}
	}
	x.need([]ir.Expr{&ir.Apart{X: build.Ref(v, x.f.At), Y: build.Ref(w, x.f.At), At: x.f.At}})
	return true
}

// needsOf returns the variables of a row that threads of other rows read.
func (x *rowed) needsOf(l *rowLoop) []*ir.Var {
	used := &ir.VarSet{}
	if l.free {
		used = ir.Used(l.loop.Body)
	}
	for _, list := range [][]rowStaged{l.staged, l.stores} {
		for _, s := range list {
			for _, v := range ir.ExprVars(s.e).List() {
				used.Add(v)
			}
		}
	}
	inside := ir.Declared(l.loop.Body)
	var out []*ir.Var
	for _, v := range used.List() {
		if x.up.Own.Has(v) && !inside.Has(v) && v != x.f.Var && v != l.loop.Var {
			out = append(out, v)
		}
	}
	return out
}
