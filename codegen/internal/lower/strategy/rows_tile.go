package strategy

import (
	"strconv"

	"github.com/gompss/gompss/codegen/internal/analysis"
	"github.com/gompss/gompss/codegen/internal/lower/crews"
	"github.com/gompss/gompss/codegen/internal/lower/strategy/bodies"
	"github.com/gompss/gompss/codegen/ir"
	"github.com/gompss/gompss/codegen/ir/build"
	"github.com/gompss/gompss/codegen/ir/query"
)

// evenTiles gives the tiles of all loops the width of the narrowest, where team memory has no space
// for tiles of several widths.
func (x *rowed) evenTiles() {
	most, least := map[int64]ir.Bytes{}, int64(rowsThreads)
	for _, l := range x.inOrder() {
		if !l.free {
			n := l.columns
			most[n] = max(most[n], (bytesOf(l.staged)+bytesOf(l.stores))*ir.Bytes(x.rows*(n+1)))
			least = min(least, n)
		}
	}
	var size ir.Bytes
	for _, n := range most {
		size += n
	}
	if size <= x.Device().Memory.StaticShared*3/4 {
		return
	}
	for _, l := range x.inOrder() {
		if !l.free {
			l.columns = least
		}
	}
}

// stageAll allocates the team memory of all loops.
func (x *rowed) stageAll() {
	at := x.f.At
	x.evenTiles()
	for _, l := range x.inOrder() {
		for _, v := range l.needs {
			if x.box[v] == nil {
				x.box[v] = x.Slot(crews.Slot{What: "row", Kind: v.Type.Kind, N: len(x.boxes)}, ir.ArrayOf(v.Type, x.rows), v.Name+"Row", at)
				x.boxes = append(x.boxes, v)
			}
		}
		n := 0
		for _, list := range [][]rowStaged{l.staged, l.stores} {
			for k := range list {
				elem := list[k].e.Type()
				typ := ir.ArrayOf(elem, x.rows*(l.columns+1))
				list[k].tile = x.Slot(crews.Slot{What: "rowTile" + strconv.Itoa(int(x.rows)) + "x" + strconv.Itoa(int(l.columns)), Kind: elem.Kind, N: n}, typ, "rowTile", at)
				n++
			}
		}
	}
}

// overRows returns the loop in which the teams execute the blocks of rows.
func (x *rowed) overRows() []ir.Stmt {
	many := ir.Expr(build.Int(rowsOfTeam, x.f.At))
	if x.all() {
		many = build.Query(ir.NumThreads, x.f.At)
	}
	return x.overBlocks(many, func() []ir.Stmt { return x.inBlock(x.overLoop) })
}

// overBlocks returns the loop in which the teams execute blocks of the given number of rows.
func (x *rowed) overBlocks(many ir.Expr, block func() []ir.Stmt) []ir.Stmt {
	at := x.f.At
	me, lanes := build.Query(ir.ThreadNum, at), build.Int(rowsOfTeam, at)
	local := func(name string, typ *ir.Type) *ir.Var { return x.Local(name, typ, at) }
	x.base, x.lane, x.warp, x.warps = local("base", ir.IntType), local("lane", ir.IntType), local("warp", ir.IntType), local("warps", ir.IntType)
	x.walker, x.active = local("walker", ir.BoolType), local("active", ir.BoolType)
	start, stride := ir.Expr(build.Int(0, at)), many
	turnOf := ir.Expr(build.Int(0, at))
	if x.league {
		start = build.Binary(ir.Mul, build.Query(ir.TeamNum, at), many, at)
		stride = build.Binary(ir.Mul, build.Query(ir.NumTeams, at), many, at)
		// Warps with the same number share a scheduler, so teams on one multiprocessor use
		// different walking warps. The factor is the golden ratio, by 2^16.
		spread := &ir.Binary{Op: ir.Shr, X: build.Binary(ir.Mul, build.Query(ir.TeamNum, at), build.Int(40503, at), at), Y: build.Int(16, at), T: ir.IntType, At: at}
		turnOf = &ir.Binary{Op: ir.Rem, X: spread, Y: build.Ref(x.warps, at), T: ir.IntType, At: at}
	}
	out := []ir.Stmt{build.Decl(x.warp, &ir.Binary{Op: ir.Div, X: me, Y: lanes, T: ir.IntType, At: at}, at),
		build.Decl(x.lane, &ir.Binary{Op: ir.Rem, X: me, Y: lanes, T: ir.IntType, At: at}, at),
		build.Decl(x.warps, build.Binary(ir.Div, build.Query(ir.NumThreads, at), lanes, at), at)}
	tables := x.loadTables()
	x.row, x.stop = x.lane, x.end
	var turn []ir.Stmt
	if x.all() {
		x.row, x.walker = local("row", ir.IntType), nil
		out = append(out, build.Decl(x.row, me, at))
	} else {
		out = append(out, build.Decl(x.walker, build.Compare(ir.Eq, build.Ref(x.warp, at), turnOf, at), at))
	}
	if n, ok := query.Int64(many); !ok || n != rowsOfTeam {
		x.stop, turn = x.Temp("stop", build.IntMath(ir.IMin, build.Binary(ir.Add, build.Ref(x.base, at), many, at), x.end), turn)
	}
	out = append(out, build.Decl(x.base, build.Binary(ir.Add, x.f.Lo, start, at), at))
	active := build.Compare(ir.Lt, build.Ref(x.f.Var, at), x.stop, at)
	if x.walker != nil {
		active = build.Compare(ir.LAnd, build.Ref(x.walker, at), active, at)
	}
	turn = append(turn, build.Decl(x.f.Var, build.Binary(ir.Add, build.Ref(x.base, at), build.Ref(x.row, at), at), at), build.Decl(x.active, active, at))
	turn = append(turn, block()...)
	next := build.Assign(build.Ref(x.base, at), build.Binary(ir.Add, build.Ref(x.base, at), stride, at), at)
	out = append(out, tables...)
	return append(out, &ir.While{Label: &ir.Label{}, Cond: build.Compare(ir.Lt, build.Ref(x.base, at), x.end, at), Post: []ir.Stmt{next}, Body: turn, At: at})
}

// inBlock guards the statements of the walking warp outside the loops. Their variables are declared
// before the guards.
func (x *rowed) inBlock(over func(*rowLoop) []ir.Stmt) []ir.Stmt {
	var out, own []ir.Stmt
	flush := func() {
		if len(own) > 0 {
			out = append(out, &ir.If{Cond: build.Ref(x.active, own[0].Pos()), Then: own, At: own[0].Pos()})
			own = nil
		}
	}
	for _, s := range x.body {
		if f, ok := s.(*ir.For); ok && x.loops[f] != nil {
			flush()
			out = append(out, over(x.loops[f])...)
			continue
		}
		if d, ok := s.(*ir.Decl); ok {
			out = append(out, build.Decl(d.Var, nil, d.At))
			init := d.Init
			if init == nil {
				init = build.Zero(d.Var.Type, d.At)
			}
			own = append(own, build.Assign(build.Ref(d.Var, d.At), init, d.At))
			continue
		}
		own = append(own, s)
	}
	flush()
	return out
}

// overLoop runs l for the rows of the team.
func (x *rowed) overLoop(l *rowLoop) []ir.Stmt {
	at := l.loop.At
	out := []ir.Stmt{build.Barrier(at)}
	out = append(out, x.giveNeeds(l)...)
	if l.free {
		return append(append(out, x.byWarps(l)...), build.Barrier(at))
	}
	return append(out, x.byTiles(l)...)
}

// giveNeeds stores in team memory the values of a row that threads of other rows read.
func (x *rowed) giveNeeds(l *rowLoop) []ir.Stmt {
	at := l.loop.At
	var give []ir.Stmt
	for _, v := range l.needs {
		give = append(give, build.Assign(build.Index(build.Ref(x.box[v], at), build.Ref(x.row, at), at), build.Ref(v, at), at))
	}
	if len(give) == 0 {
		return nil
	}
	if x.walker != nil {
		give = []ir.Stmt{&ir.If{Cond: build.Ref(x.walker, at), Then: give, At: at}}
	}
	return append(give, build.Barrier(at))
}

// forRow returns the substitution for row i, whose number in the block is r, and column j.
func (x *rowed) forRow(l *rowLoop, i, j, r ir.Expr) map[*ir.Var]ir.Expr {
	at := l.loop.At
	out := map[*ir.Var]ir.Expr{x.f.Var: i, l.loop.Var: j}
	for _, v := range l.needs {
		out[v] = build.Index(build.Ref(x.box[v], at), r, at)
	}
	return out
}

// byWarps returns l, whose iterations are independent, distributed among the warps, a row a warp.
func (x *rowed) byWarps(l *rowLoop) []ir.Stmt {
	at, f := l.loop.At, l.loop
	r, i, first, hi := x.Local("r", ir.IntType, at), x.Local(x.f.Var.Name, ir.IntType, at), x.Local("first", ir.IntType, at), x.Local("to", ir.IntType, at)
	mine := map[*ir.Var]*ir.Var{x.f.Var: i}
	row := []ir.Stmt{build.Decl(i, build.Binary(ir.Add, build.Ref(x.base, at), build.Ref(r, at), at), at)}
	for _, v := range l.needs {
		mine[v] = x.Local(v.Name, v.Type, at)
		row = append(row, build.Decl(mine[v], build.Index(build.Ref(x.box[v], at), build.Ref(r, at), at), at))
	}
	body := build.WithVars(mine).CopyStmts(f.Body)
	with := func(j *ir.Var) []ir.Stmt {
		return x.CopyOf(build.WithVars(map[*ir.Var]*ir.Var{f.Var: j}).CopyStmts(body), &x.Kernel.NumVars)
	}
	add := func(a ir.Expr, c int64) ir.Expr { return build.Binary(ir.Add, a, build.Int(c, at), at) }
	var abreast []ir.Stmt
	jam := int64(x.Device().Tuning.Rows.Jam)
	copies := make([][]ir.Stmt, jam)
	for u := range copies {
		j := x.Local(f.Var.Name, ir.IntType, at)
		abreast = append(abreast, build.Decl(j, add(build.Binary(ir.Add, build.Ref(first, at), build.Ref(x.lane, at), at), int64(u)*rowsOfTeam), at))
		copies[u] = with(j)
	}
	abreast = append(abreast, bodies.Interleave(x.Sharer.Crew, copies)...)
	j := x.Local(f.Var.Name, ir.IntType, at)
	tail := &ir.For{Label: &ir.Label{}, Var: j, Lo: build.Binary(ir.Add, build.Ref(first, at), build.Ref(x.lane, at), at), Hi: build.Ref(hi, at),
		Step: build.Int(rowsOfTeam, at), Rel: ir.Lt, Unroll: 1, Body: with(j), At: at}
	whole := build.Compare(ir.Le, add(build.Ref(first, at), jam*rowsOfTeam), build.Ref(hi, at), at)
	along := &ir.While{Label: &ir.Label{}, Cond: build.Compare(ir.Lt, build.Ref(first, at), build.Ref(hi, at), at),
		Post: []ir.Stmt{build.Assign(build.Ref(first, at), add(build.Ref(first, at), jam*rowsOfTeam), at)},
		Body: []ir.Stmt{&ir.If{Cond: whole, Then: abreast, Else: []ir.Stmt{tail}, At: at}}, At: at}
	row = append(row, build.Decl(first, build.WithVars(mine).CopyExpr(f.Lo), at), build.Decl(hi, build.WithVars(mine).CopyExpr(f.Hi), at), along)
	some := &ir.Math{Fn: ir.IMin, Args: []ir.Expr{build.Binary(ir.Sub, x.stop, build.Ref(x.base, at), at), build.Int(x.rows, at)}, T: ir.IntType, At: at}
	loop := &ir.While{Label: &ir.Label{}, Cond: build.Compare(ir.Lt, build.Ref(r, at), some, at),
		Post: []ir.Stmt{build.Assign(build.Ref(r, at), build.Binary(ir.Add, build.Ref(r, at), build.Ref(x.warps, at), at), at)}, Body: row, At: at}
	return []ir.Stmt{build.Decl(r, build.Ref(x.warp, at), at), loop}
}

// A rowTile is a tile that the threads of a team load together. It has as many parts as a team has
// warps at most; turn u of part p loads the cells of one row (or column) for the lanes of a warp.
type rowTile struct {
	*rowed
	*rowLoop
	start *ir.Var
	at    ir.Pos
}

// tileAt returns a cell of tile.
func (w *rowTile) tileAt(tile *ir.Var, row, column ir.Expr) ir.Expr {
	return build.Index(build.Ref(tile, w.at), build.Binary(ir.Add, build.Binary(ir.Mul, row, build.Int(w.columns+1, w.at), w.at), column, w.at), w.at)
}

// turns returns the number of elements of a tile that a thread loads.
func (w *rowTile) turns() int { return int(w.columns * w.rows / rowsThreads) }

// cell returns row and column of turn u of part p of a tile.
func (w *rowTile) cell(p, u ir.Expr) (row, column ir.Expr) {
	if w.upright {
		return build.Ref(w.lane, w.at), build.Binary(ir.Add, p, build.Binary(ir.Mul, u, build.Int(rowsThreads/rowsOfTeam, w.at), w.at), w.at)
	}
	row = u
	if w.down() > 1 {
		row = build.Binary(ir.Add, w.part(ir.Div, p), build.Binary(ir.Mul, u, build.Int(w.down(), w.at), w.at), w.at)
	}
	return row, w.columnOf(p)
}

// columnOf returns the column of a thread in part p.
func (w *rowTile) columnOf(p ir.Expr) ir.Expr {
	column := ir.Expr(build.Ref(w.lane, w.at))
	if w.across() > 1 {
		column = build.Binary(ir.Add, build.Binary(ir.Mul, w.part(ir.Rem, p), build.Int(rowsOfTeam, w.at), w.at), column, w.at)
	}
	return column
}

// across returns the number of parts in a row, and down the distance of successive rows of a
// thread.
func (w *rowTile) across() int64 { return w.columns / rowsOfTeam }
func (w *rowTile) down() int64   { return rowsThreads / rowsOfTeam / w.across() }

func (w *rowTile) part(op ir.Op, p ir.Expr) ir.Expr {
	return &ir.Binary{Op: op, X: p, Y: build.Int(w.across(), w.at), T: ir.IntType, At: w.at}
}

// each returns the loop over the turns of part p. make returns its body for a row, a column and the
// number of the turn.
func (w *rowTile) each(p ir.Expr, unroll int, make func(row, column, u ir.Expr) []ir.Stmt) ir.Stmt {
	u, r := w.Local("u", ir.IntType, w.at), w.Local("r", ir.IntType, w.at)
	row, column := w.cell(p, build.Ref(u, w.at))
	body := append([]ir.Stmt{build.Decl(r, row, w.at)}, make(build.Ref(r, w.at), column, build.Ref(u, w.at))...)
	return &ir.For{Label: &ir.Label{}, Var: u, Lo: build.Int(0, w.at), Hi: build.Int(int64(w.turns()), w.at), Step: build.Int(1, w.at), Rel: ir.Lt,
		Unroll: unroll, Body: body, At: w.at}
}

// place returns the iteration i, j of a cell of the tile that begins at start, clamped to the last
// row and column. Rows with different bounds are masked instead and not clamped.
func (w *rowTile) place(row, column, start ir.Expr) (i, j ir.Expr) {
	last := func(e, end ir.Expr) ir.Expr {
		return &ir.Math{Fn: ir.IMin, Args: []ir.Expr{e, build.Binary(ir.Sub, end, build.Int(1, w.at), w.at)}, T: ir.IntType, At: w.at}
	}
	i, j = build.Binary(ir.Add, build.Ref(w.base, w.at), row, w.at), build.Binary(ir.Add, start, column, w.at)
	if w.bent {
		return i, j
	}
	return last(i, w.stop), last(j, w.loop.Hi)
}

// inside returns the condition that row i has a column j.
func (w *rowTile) inside(i, j ir.Expr) ir.Expr {
	in := map[*ir.Var]ir.Expr{w.f.Var: i}
	there := build.Compare(ir.Lt, i, w.stop, w.at)
	if ir.ExprVars(w.loop.Lo).Has(w.f.Var) {
		there = build.Compare(ir.LAnd, there, build.Compare(ir.Le, ir.Subst(w.loop.Lo, in), j, w.at), w.at)
	}
	return build.Compare(ir.LAnd, there, build.Compare(ir.Lt, j, ir.Subst(w.loop.Hi, in), w.at), w.at)
}

// where guards list by the condition that row i and column j exist, if they may not.
func (w *rowTile) where(row, i, j ir.Expr, list []ir.Stmt) []ir.Stmt {
	switch {
	case w.bent:
		return []ir.Stmt{&ir.If{Cond: w.inside(i, j), Then: list, At: w.at}}
	case w.all(): // a team of fewer threads has fewer rows
		return []ir.Stmt{&ir.If{Cond: build.Compare(ir.Lt, row, build.Binary(ir.Sub, w.stop, build.Ref(w.base, w.at), w.at), w.at), Then: list, At: w.at}}
	}
	return list
}

// byTiles returns l as a loop over tiles, in which each row keeps its order.
func (x *rowed) byTiles(l *rowLoop) []ir.Stmt {
	at, f := l.loop.At, l.loop
	around := x.blockOf(l)
	w := &rowTile{rowed: x, rowLoop: l, start: x.Local(f.Var.Name+"0", ir.IntType, at), at: at}
	start := build.Ref(w.start, at)
	next := build.Binary(ir.Add, start, build.Int(l.columns, at), at)
	ahead, decls := w.aheadVars()
	var out, turn []ir.Stmt
	if x.all() { // other teams hide the latency of the loads, so there is no prefetch
		turn = append(decls, w.loadAhead(ahead, start)...)
		turn = append(append(append(turn, build.Barrier(at)), w.leave(ahead)...), build.Barrier(at))
	} else {
		out = append(decls, w.loadAhead(ahead, l.lo)...)
		turn = append([]ir.Stmt{build.Barrier(at)}, w.leave(ahead)...)
		turn = append(turn, build.Barrier(at), &ir.If{Cond: build.Compare(ir.Lt, next, l.hi, at), Then: w.loadAhead(ahead, next), At: at})
	}
	turn = append(turn, &ir.If{Cond: build.Ref(x.active, at), Then: []ir.Stmt{w.walkTile()}, At: at})
	if len(l.stores) > 0 {
		turn = append(append(turn, build.Barrier(at)), w.storeTile()...)
	}
	loop := &ir.For{Label: &ir.Label{}, Var: w.start, Lo: l.lo, Hi: l.hi, Step: build.Int(l.columns, at), Rel: ir.Lt, Unroll: 1, Body: turn, At: at}
	out = append(out, loop)
	if len(l.stores) > 0 {
		out = append(out, build.Barrier(at))
	}
	return append(around, &ir.If{Cond: build.Compare(ir.Lt, l.lo, l.hi, at), Then: out, At: at})
}

// aheadVars declares the registers for the elements that a thread prefetches for the next tile: an
// array for each element, with one value a turn.
func (w *rowTile) aheadVars() (vars []*ir.Var, decls []ir.Stmt) {
	for _, e := range w.elems {
		v := w.Local("ahead", ir.ArrayOf(e.Type(), int64(w.turns())), w.at)
		vars, decls = append(vars, v), append(decls, build.Decl(v, nil, w.at))
	}
	return vars, decls
}

// loadAhead loads a thread's part of the tile that begins at start, for the rows that exist. It
// advances one address by a constant step, because compilers would keep all addresses in registers.
func (w *rowTile) loadAhead(ahead []*ir.Var, start ir.Expr) []ir.Stmt {
	at := w.at
	if len(w.elems) == 0 {
		return nil
	}
	row, column := w.cell(build.Ref(w.warp, at), build.Int(0, at))
	_, j := w.place(row, column, start)
	i := ir.Expr(build.Binary(ir.Add, build.Ref(w.base, at), row, at))
	nextI, nextJ := build.Binary(ir.Add, i, build.Int(w.down(), at), at), j
	if w.upright {
		i, j = w.place(row, column, start)
		nextI, nextJ = i, build.Binary(ir.Add, j, build.Int(rowsThreads/rowsOfTeam, at), at)
	}
	var out []ir.Stmt
	var places, steps []ir.Expr
	for _, e := range w.elems {
		in := func(i, j ir.Expr) ir.Expr {
			return build.ToInt(ir.Subst(e.I, map[*ir.Var]ir.Expr{w.f.Var: i, w.loop.Var: j}))
		}
		var from, step ir.Expr
		from, out = w.Temp("place", in(i, j), out)
		step, out = w.Temp("step", build.Binary(ir.Sub, in(nextI, nextJ), from, at), out)
		places, steps = append(places, from), append(steps, step)
	}
	return append(out, w.each(build.Ref(w.warp, at), w.turns(), func(row, column, u ir.Expr) []ir.Stmt {
		var load, on []ir.Stmt
		for k, e := range w.elems {
			load = append(load, build.Assign(build.Index(build.Ref(ahead[k], at), u, at), build.Index(e.X, places[k], at), at))
			on = append(on, build.Assign(places[k], build.Binary(ir.Add, places[k], steps[k], at), at))
		}
		there := build.Compare(ir.Lt, row, build.Binary(ir.Sub, w.stop, build.Ref(w.base, at), at), at)
		switch {
		case w.bent:
			there = w.inside(build.Binary(ir.Add, build.Ref(w.base, at), row, at), build.Binary(ir.Add, start, column, at))
		case w.upright:
			there = build.Compare(ir.Lt, build.Binary(ir.Add, start, column, at), w.loop.Hi, at)
		}
		return append([]ir.Stmt{&ir.If{Cond: there, Then: load, At: at}}, on...)
	}))
}

// leave stores the staged values of the tile in team memory: those of the prefetched elements and,
// if the team has fewer warps than parts, those of the other parts.
func (w *rowTile) leave(ahead []*ir.Var) []ir.Stmt {
	at, start := w.at, build.Ref(w.start, w.at)
	if len(w.staged) == 0 {
		return nil
	}
	part := w.Local("part", ir.IntType, at)
	turns := func(p ir.Expr, unroll int, loaded bool) ir.Stmt {
		return w.each(p, unroll, func(row, column, u ir.Expr) []ir.Stmt {
			i, j := w.place(row, column, start)
			var out []ir.Stmt
			for _, s := range w.staged {
				e := s.e
				if loaded && w.inTwo(s) {
					e = w.elems[0]
				}
				if loaded {
					e = (&ir.Rewrite{Instead: func(y ir.Expr) ir.Expr {
						for k, have := range w.elems {
							if query.Same(have, y) {
								return build.Index(build.Ref(ahead[k], at), u, at)
							}
						}
						return nil
					}}).CopyExpr(e)
				}
				out = append(out, build.Assign(w.tileAt(s.tile, row, column), ir.Subst(e, w.forRow(w.rowLoop, i, j, row)), at))
			}
			if loaded && w.copies() {
				return out
			}
			return w.where(row, i, j, out)
		})
	}
	parts := build.Int(rowsThreads/rowsOfTeam, at)
	rest := &ir.While{Label: &ir.Label{}, Cond: build.Compare(ir.Lt, build.Ref(part, at), parts, at),
		Post: []ir.Stmt{build.Assign(build.Ref(part, at), build.Binary(ir.Add, build.Ref(part, at), build.Ref(w.warps, at), at), at)},
		Body: []ir.Stmt{turns(build.Ref(part, at), 1, false)}, At: at}
	few := &ir.If{Cond: build.Compare(ir.Lt, build.Ref(w.warps, at), parts, at), Then: []ir.Stmt{
		build.Decl(part, build.Binary(ir.Add, build.Ref(w.warp, at), build.Ref(w.warps, at), at), at), rest}, At: at}
	if again := w.again(); again != nil {
		return append([]ir.Stmt{turns(build.Ref(w.warp, at), w.turns(), true)}, again, few)
	}
	return []ir.Stmt{turns(build.Ref(w.warp, at), w.turns(), true), few}
}

// inTwo reports whether the elements of s are first stored in the tile, and the staged values are
// computed in place afterwards: the code of a costly value would be repeated for each load.
func (w *rowTile) inTwo(s rowStaged) bool {
	return len(w.elems) == 1 && len(w.staged) == 1 && costly(s.e) && ir.Same(s.e.Type(), w.elems[0].Type())
}

// again returns the statement that computes the staged values of inTwo in place, or nil if there
// are none.
func (w *rowTile) again() ir.Stmt {
	s, at := w.staged[0], w.at
	if !w.inTwo(s) {
		return nil
	}
	return w.each(build.Ref(w.warp, at), w.Device().Tuning.Rows.Jam, func(row, column, _ ir.Expr) []ir.Stmt {
		cell := func() ir.Expr { return w.tileAt(s.tile, row, column) }
		i, j := w.place(row, column, build.Ref(w.start, at))
		e := (&ir.Rewrite{Instead: func(y ir.Expr) ir.Expr {
			if query.Same(w.elems[0], y) {
				return cell()
			}
			return nil
		}}).CopyExpr(s.e)
		set := build.Assign(cell(), ir.Subst(e, w.forRow(w.rowLoop, i, j, row)), at)
		return w.where(row, i, j, []ir.Stmt{set})
	})
}

// replaced returns list with each staged value replaced by the result of instead.
func (l *rowLoop) replaced(list []ir.Stmt, instead func(rowStaged) ir.Expr) []ir.Stmt {
	return (&ir.Rewrite{Instead: func(e ir.Expr) ir.Expr {
		for _, s := range l.staged {
			if query.Same(s.e, e) {
				return instead(s)
			}
		}
		return nil
	}}).CopyStmts(list)
}

// walkTile goes through the tile, a lane a row.
func (w *rowTile) walkTile() ir.Stmt {
	at, f := w.at, w.loop
	k := w.Local("k", ir.IntType, at)
	cell := func(tile *ir.Var) ir.Expr {
		return w.tileAt(tile, build.Ref(w.row, at), build.Ref(k, at))
	}
	body := w.inTables(w.replaced(f.Body, func(s rowStaged) ir.Expr { return cell(s.tile) }))
	for i, s := range body {
		if a, ok := s.(*ir.Assign); ok {
			for _, st := range w.stores {
				if query.Same(st.e, f.Body[i].(*ir.Assign).Place) {
					body[i] = build.Assign(cell(st.tile), a.Value, a.At)
				}
			}
		}
	}
	n := &ir.Math{Fn: ir.IMin, Args: []ir.Expr{build.Binary(ir.Sub, f.Hi, build.Ref(w.start, at), at), build.Int(w.columns, at)}, T: ir.IntType, At: at}
	first := ir.Expr(build.Int(0, at))
	if w.bent {
		first = build.IntMath(ir.IMax, build.Binary(ir.Sub, f.Lo, build.Ref(w.start, at), at), first)
	}
	body = append([]ir.Stmt{build.Decl(f.Var, build.Binary(ir.Add, build.Ref(w.start, at), build.Ref(k, at), at), at)}, body...)
	walk := &ir.For{Label: &ir.Label{}, Var: k, Lo: first, Hi: n, Step: build.Int(1, at), Rel: ir.Lt, Unroll: w.walkUnroll(f.Body), Body: body, At: at}
	return w.CopyOf([]ir.Stmt{walk}, &w.Kernel.NumVars)[0]
}

// walkUnroll is how many iterations of a walk with this body are written out: fewer where it has
// loops, which are written out too.
func (x *rowed) walkUnroll(body []ir.Stmt) int {
	most := int64(1)
	for _, s := range body {
		ir.WalkStmts([]ir.Stmt{s}, func(s ir.Stmt) bool {
			if g, ok := s.(*ir.For); ok {
				n, _ := analysis.ConstTrips(g)
				most = max(most, n)
			}
			return true
		})
	}
	return max(1, x.Device().Tuning.Rows.Unroll/int(most))
}

// storeTile stores the results of the walk from the tile to memory with contiguous accesses.
func (w *rowTile) storeTile() []ir.Stmt {
	at := w.at
	part, i, j := w.Local("part", ir.IntType, at), w.Local(w.f.Var.Name, ir.IntType, at), w.Local(w.loop.Var.Name, ir.IntType, at)
	cells := w.each(build.Ref(part, at), w.Device().Tuning.Rows.Jam, func(row, column, _ ir.Expr) []ir.Stmt {
		var store []ir.Stmt
		for _, s := range w.stores {
			place := ir.Subst(s.e, w.forRow(w.rowLoop, build.Ref(i, at), build.Ref(j, at), row))
			store = append(store, build.Assign(place, w.tileAt(s.tile, row, column), at))
		}
		inside := w.inside(build.Ref(i, at), build.Ref(j, at))
		return []ir.Stmt{build.Decl(i, build.Binary(ir.Add, build.Ref(w.base, at), row, at), at),
			build.Decl(j, build.Binary(ir.Add, build.Ref(w.start, at), column, at), at), &ir.If{Cond: inside, Then: store, At: at}}
	})
	parts := build.Int(rowsThreads/rowsOfTeam, at)
	loop := &ir.While{Label: &ir.Label{}, Cond: build.Compare(ir.Lt, build.Ref(part, at), parts, at),
		Post: []ir.Stmt{build.Assign(build.Ref(part, at), build.Binary(ir.Add, build.Ref(part, at), build.Ref(w.warps, at), at), at)}, Body: []ir.Stmt{cells}, At: at}
	return []ir.Stmt{build.Decl(part, build.Ref(w.warp, at), at), loop}
}
