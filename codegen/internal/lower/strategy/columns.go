package strategy

import (
	"maps"
	"slices"
	"strconv"

	"github.com/gompss/gompss/codegen/internal/analysis"
	"github.com/gompss/gompss/codegen/internal/lower/crews"
	"github.com/gompss/gompss/codegen/internal/lower/forms"
	"github.com/gompss/gompss/codegen/internal/lower/spaces"
	"github.com/gompss/gompss/codegen/internal/lower/unroll"
	"github.com/gompss/gompss/codegen/internal/mapping"
	"github.com/gompss/gompss/codegen/ir"
	"github.com/gompss/gompss/codegen/ir/build"
	"github.com/gompss/gompss/codegen/ir/query"
)

// The strategy "columns" is for iterations that each reduce a column of a row-major matrix. There
// are few such iterations for the threads of a device, and each is long. If a reduction clause
// permits any order, the threads of a team share the rows: part v of columnParts takes rows v,
// v+columnParts and so on, and the partial results are combined in the order of the parts. This
// order depends only on the length of the column: a team with fewer threads executes several parts
// in sequence. A team takes one column a lane of a warp, or fewer if there would be too few teams.

// The number of parts determines the rounding of the sums, so it is the same on every device.
const (
	columnParts = 64
	columnLeast = 2 * columnParts // least number of rows of a column that is split
)

// columnShift returns the logarithm of the number of columns of a team, for a number of columns in
// all.
func columnShift(t *Sharer, columns ir.Expr, at ir.Pos) ir.Expr {
	gpu := t.Device()
	most := int64(gpu.Team.Multiprocessors * gpu.Tuning.Columns.Teams * forms.LeastWarp)
	return build.Choose(build.Compare(ir.Lt, columns, build.Int(most, at), at), build.Int(int64(gpu.Tuning.Columns.Few), at), build.Int(5, at), at)
}

// columnSums returns the loop over sp in which the warps of a team share each iteration, or nil if
// this is not legal or not profitable.
func (t *Sharer) columnSums(sp *spaces.Space, d *ir.Directive, p spaces.Portion, body []ir.Stmt, grid bool) []ir.Stmt {
	f := sp.Loops[0]
	if !grid || t.Single || t.Slow || !sp.Direct() || !forms.Counts(f) || p.Only != nil || !mapping.WholeSchedule(d) || !t.WholeTeams() || forms.LeavesIteration(body, sp.Label) {
		return nil
	}
	cut := t.cutForLanes(query.Flatten(body))
	if cut == nil || !t.isColumn(f, cut) {
		return nil
	}
	at, g := f.At, cut.loop
	t.Launch.Warps = true
	crews.UseTeams(t.Crew, t.Device().Tuning.Columns.Team, at)
	count := build.Trips(f, f.Lo, f.Hi, f.Step)
	shift := columnShift(t, count, at)
	below := build.Binary(ir.Sub, shifted(ir.Shl, build.Int(1, at), shift, at), build.Int(1, at), at)
	t.Trips.Whole = t.OnHost(shifted(ir.Shr, build.Binary(ir.Add, count, below, at), shift, at))
	t.Decide(at, "loop "+f.Var.Text(), "columns: the threads of a team share each iteration, in "+strconv.Itoa(columnParts)+" parts", "loop "+g.Var.Text()+
		" is long, its reduction may be done in any order, and neighbouring iterations read next to each other", cut.inOrderInstead())

	long, out := t.Temp("long", build.Compare(ir.Ge, build.Trips(g, build.ToInt(g.Lo), build.ToInt(g.Hi), build.ToInt(g.Step)), build.Int(columnLeast, at), at), nil)
	hi, out := t.Temp("end", f.Hi, out)
	whole := t.CopyOf(forms.Unwrapped(t.Walk(sp, p, body, nil)), &t.Kernel.NumVars)
	base, lane, level := t.Local("base", ir.IntType, at), t.Local("lane", ir.IntType, at), t.Local("level", ir.IntType, at)
	active := t.Local("active", ir.BoolType, at)
	me := build.Query(ir.ThreadNum, at)
	shift, out = t.Temp("shift", shift, out)
	lanes, out := t.Temp("lanes", shifted(ir.Shl, build.Int(1, at), shift, at), out)
	first, stride := build.Int(0, at), ir.Expr(lanes)
	start := ir.Expr(first)
	if _, ok := p.First.(*ir.Binary); ok {
		start = build.Binary(ir.Mul, build.Query(ir.TeamNum, at), lanes, at)
		stride = build.Binary(ir.Mul, build.Query(ir.NumTeams, at), lanes, at)
	}
	turn := []ir.Stmt{build.Decl(f.Var, build.Binary(ir.Add, build.Ref(base, at), build.Ref(lane, at), at), at), build.Decl(active, build.Compare(ir.Lt, build.Ref(f.Var, at), hi, at), at)}
	turn = append(turn, t.inColumns(cut, active, lane, level, shift, at)...)
	next := build.Assign(build.Ref(base, at), build.Binary(ir.Add, build.Ref(base, at), stride, at), at)
	shared := []ir.Stmt{build.Decl(level, shifted(ir.Shr, me, shift, at), at),
		build.Decl(lane, &ir.Binary{Op: ir.And, X: me, Y: build.Binary(ir.Sub, lanes, build.Int(1, at), at), T: ir.IntType, At: at}, at), build.Decl(base, build.Binary(ir.Add, f.Lo, start, at), at),
		&ir.While{Label: &ir.Label{}, Cond: build.Compare(ir.Lt, build.Ref(base, at), hi, at), Post: []ir.Stmt{next}, Body: turn, At: at}}
	return []ir.Stmt{&ir.Block{Body: append(out, &ir.If{Cond: long, Then: shared, Else: whole, At: at}), At: at}}
}

// isColumn reports whether the inner loop of c has the same bounds in all iterations of f, and most
// of its reads have stride 1 in f.
func (t *Sharer) isColumn(f *ir.For, c *laneSplit) bool {
	own := ir.Declared(c.before)
	own.Add(f.Var)
	for _, e := range []ir.Expr{c.loop.Lo, c.loop.Hi, c.loop.Step} {
		if !query.LoadFree(e) {
			return false
		}
		for _, v := range ir.ExprVars(e).List() {
			if own.Has(v) || t.IsShared(v) {
				return false
			}
		}
	}
	if n, known := analysis.ConstTrips(c.loop); known && n < columnLeast || c.loop.Var.Type.Kind != ir.Int64 {
		return false
	}
	var cells ir.Bytes
	for _, r := range c.sums {
		cells += r.Place.Type().Size * columnParts * forms.LeastWarp
	}
	for _, p := range c.picks {
		for _, v := range p.vars {
			cells += v.Type.Size * columnParts * forms.LeastWarp
		}
	}
	m := analysis.NewDependences(t.Kernel)
	return cells <= t.Device().Memory.StaticShared*3/4 && m.Stride1In(c.loop.Body, f.Var, c.loop.Var) > 0
}

// inColumns returns the code of an iteration: all its threads execute the statements before the
// loop, each thread its parts of the rows, and the first thread the statements after the loop.
func (t *Sharer) inColumns(c *laneSplit, active, lane, level *ir.Var, shift ir.Expr, at ir.Pos) []ir.Stmt {
	out, own := t.declaredAhead(c.before)
	f := c.loop
	if len(own) > 0 {
		out = append(out, &ir.If{Cond: build.Ref(active, at), Then: own, At: at})
	}
	number, other := t.Local("part", ir.IntType, at), t.Local("part", ir.IntType, at)
	parts := map[*ir.Var]*ir.Var{}
	var begin, store, add, lead, give []ir.Stmt
	slots := 0
	cells := func(v *ir.Var) func(n *ir.Var) ir.Expr { // where the parts of v lie
		all := t.Slot(crews.Slot{What: "column", Kind: v.Type.Kind, N: slots}, ir.ArrayOf(ir.ArrayOf(v.Type, forms.LeastWarp), columnParts), "columnParts", at)
		slots++
		return func(n *ir.Var) ir.Expr {
			return build.Index(build.Index(build.Ref(all, at), build.Ref(n, at), at), build.Ref(lane, at), at)
		}
	}
	for _, r := range c.sums {
		v := r.Place.(*ir.Ref).Var
		mine, cell := t.Local(v.Name+"Part", v.Type, at), cells(v)
		parts[v] = mine
		begin = append(begin, build.Decl(mine, build.Identity(r.Op, v.Type, at), at))
		store = append(store, build.Assign(cell(number), build.Ref(mine, at), at))
		add = append(add, build.Assign(build.Ref(v, at), build.Combine(r.Op, build.Ref(v, at), cell(other), at), at))
	}
	for _, p := range c.picks {
		maps.Copy(parts, p.parts)
		begin = append(begin, p.begin(at)...)
		cell := map[*ir.Var]func(n *ir.Var) ir.Expr{}
		for _, v := range p.vars {
			cell[v] = cells(v)
			store = append(store, build.Assign(cell[v](number), build.Ref(p.parts[v], at), at))
		}
		own := map[*ir.Var]*ir.Var{}
		for _, v := range p.vars {
			own[v] = v
		}
		lead = append(lead, build.Decl(p.place, build.Int(noPlace, at), at))
		give = append(give, p.give(own, at)...)
		add = append(add, p.take(t, own, func(v *ir.Var) ir.Expr { return cell[v](other) }, at)...)
	}
	one := build.Int(1, at)
	rows := &ir.For{Label: f.Label, Var: f.Var, Lo: build.Binary(ir.Add, f.Lo, build.Ref(number, at), at), Hi: f.Hi, Step: build.Int(columnParts, at), Rel: ir.Lt,
		Unroll: unroll.Later, Body: build.WithVars(parts).CopyStmts(noting(f, c.picks)), At: f.At}
	body := append(begin, &ir.If{Cond: build.Ref(active, at), Then: []ir.Stmt{rows}, At: at})
	levels := shifted(ir.Shr, build.Query(ir.NumThreads, at), shift, at)
	out = append(out, build.Decl(number, build.Ref(level, at), at), &ir.While{Label: &ir.Label{}, Cond: build.Compare(ir.Lt, build.Ref(number, at), build.Int(columnParts, at), at),
		Post: []ir.Stmt{build.Assign(build.Ref(number, at), build.Binary(ir.Add, build.Ref(number, at), levels, at), at)}, Body: append(body, store...), At: at}, build.Barrier(at))
	sum := &ir.For{Label: &ir.Label{}, Var: other, Lo: build.Int(0, at), Hi: build.Int(columnParts, at), Step: one, Rel: ir.Lt, Unroll: columnParts / 4, Body: add, At: at}
	leads := build.Compare(ir.LAnd, build.Ref(active, at), build.Compare(ir.Eq, build.Ref(level, at), build.Int(0, at), at), at)
	return append(out, &ir.If{Cond: leads, Then: slices.Concat(lead, []ir.Stmt{sum}, give, c.after), At: at}, build.Barrier(at))
}
