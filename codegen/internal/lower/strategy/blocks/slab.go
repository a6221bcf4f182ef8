package blocks

import (
	"slices"
	"strconv"

	"github.com/gompss/gompss/codegen/internal/analysis"
	"github.com/gompss/gompss/codegen/internal/lower/crews"
	"github.com/gompss/gompss/codegen/internal/lower/forms"
	"github.com/gompss/gompss/codegen/internal/lower/strategy/bodies"
	"github.com/gompss/gompss/codegen/ir"
	"github.com/gompss/gompss/codegen/ir/build"
	"github.com/gompss/gompss/codegen/ir/query"
	"github.com/gompss/gompss/codegen/target"
)

// If the inner loops of a block read only elements of their row and of their column, as in a matrix
// product, each element is used by a whole row or column of the team's rectangle. The team then
// strip-mines the inner loop into slabs of a few iterations: the threads load the elements of a
// slab together, with contiguous accesses, and run the slab from team memory. They load the next
// slab while the current one runs. At the boundary of the iteration space, threads without an
// iteration take part in the loads and store nothing.
//
// Elements may be read early, by other threads and more than once, because the outer loops are
// parallel, as for tiles. If they have a single iteration, the barriers keep the order, and no
// store precedes an inner loop. Source: measured on an H200 with kernels written by hand, 4096 x
// 4096, without contraction: float32 21.7 TFLOP/s with 8 x 4 elements a thread, 23.6 with 8 x 8 and
// twice the registers; float64 13.4 with 4 x 4, 12.3 with 8 x 4. Blocks without slabs: 14.0.

const (
	slabLength = 8   // iterations of the inner loop in a slab
	slabTeam   = 256 // threads of a team
	slabLanes  = 16  // neighbouring threads that take columns of the same rows, in wide slabs
)

// A panelValue is a value that a slab holds: an element that an inner loop reads in every
// iteration, or an expression over such elements.
type panelValue struct {
	loop   *ir.For
	elem   ir.Expr     // the value, over the induction variables of loop and of row or column
	parts  []*ir.Index // the elements in elem
	value  *ir.Var     // the variable that replaces elem in the body
	ofRow  bool
	across bool    // elem is contiguous in the inner loop
	steady bool    // elem is invariant in the inner loop and needs no tile
	tile   *ir.Var // [slabLength][rows or columns of the team]
}

// inSlabs reports whether b runs in slabs, and then sets the rows and columns of a thread. words is
// the number of 32-bit words that an iteration declares.
func inSlabs(t *crews.Crew, b *block, words ir.Bytes) bool {
	own := ir.Declared(b.body)
	var list []*panelValue
	stored := false
	for _, s := range b.body {
		switch s := s.(type) {
		case *ir.Assign:
			stored = stored || !query.IsRef(s.Place)
		case *ir.If:
			return false
		case *ir.For:
			found := slabOf(t, b, s, own)
			if found == nil || stored {
				return false
			}
			list = append(list, found...)
		}
	}
	sides := slabSides(t.Device().Tuning.Slabs, words, words == 1 && wideSlabs(t, b, list))
	if len(sides) == 0 {
		return false
	}
	side := sides[min(t.Opt.Choice.Parameter("blocks"), len(sides)-1)]
	rows, columns, lanes := side.rows, side.columns, side.lanes
	var size ir.Bytes
	kinds := map[bool]bool{}
	for _, x := range list {
		if x.steady {
			continue
		}
		kinds[x.ofRow] = true
		size += x.elem.Type().Size * ir.Bytes(slabLength*x.width(rows, columns, lanes))
	}
	if size > t.Device().Tuning.Slabs.Bytes || len(kinds) < 2 {
		return false
	}
	b.rows, b.columns, b.lanes, b.slabs = rows, columns, lanes, list
	return true
}

// slabSides returns the possible shapes of a thread's block, largest first, if each iteration keeps
// words 32-bit words in registers.
func slabSides(u target.Slabs, words ir.Bytes, wide bool) (out []shape) {
	if wide {
		out = append(out, shape{2 * u.Rows, u.Wide / (2 * u.Rows), slabLanes, stridedColumns})
	}
	for _, s := range []shape{{2 * u.Rows, u.Columns, blockLanes, stridedColumns}, {u.Rows, u.Columns, blockLanes, stridedColumns}, {u.Rows, u.Columns / 2, blockLanes, stridedColumns}} {
		if s.rows*s.columns*int64(words) <= u.Words {
			out = append(out, s)
		}
	}
	return out
}

// wideSlabs reports whether a thread of b can execute a square block whose columns form contiguous
// groups, so that it reads the tiles with 16-byte loads.
func wideSlabs(t *crews.Crew, b *block, list []*panelValue) bool {
	u := t.Device().Tuning.Slabs
	for _, f := range []*ir.For{b.row, b.column} {
		if n, known := analysis.ConstTrips(f); known && n < slabLanes*u.Wide/(2*u.Rows) {
			return false
		}
	}
	return !slices.ContainsFunc(list, func(x *panelValue) bool { return x.elem.Type().Size != 4 })
}

// width returns the number of elements of x that a team needs for an iteration, plus the padding
// that puts rows of the tile on different memory banks.
func (x *panelValue) width(rows, columns, lanes int64) int64 {
	size, apart := int64(x.elem.Type().Size), int64(8)
	if x.ofRow || lanes < blockLanes {
		apart = 16 // keeps groups aligned
	}
	if x.ofRow {
		return slabTeam/lanes*rows + max(apart/size, 1)
	}
	return lanes*columns + max(apart/size, 1)
}

// group returns the number of contiguous columns of a thread.
func (b *block) group() int64 {
	if b.lanes < blockLanes {
		return 4
	}
	return 1
}

// columnAt returns the position of column c of a lane in the columns of the team.
func (w *slabTurn) columnAt(c int64) ir.Expr {
	g := w.group()
	var lane ir.Expr = build.Ref(w.lane, w.at)
	if g > 1 {
		lane = build.Binary(ir.Mul, lane, build.Int(g, w.at), w.at)
	}
	return w.add(lane, build.Int(c%g+c/g*g*w.block.lanes, w.at))
}

// A slabTurn is a team's turn at a block.
type slabTurn struct {
	*crews.Crew
	*block
	lane, level         *ir.Var // of the thread: its place in the warp, and its warp
	i0, j0              *ir.Var // the first row and column
	bottom, right       ir.Expr
	rowVars, columnVars []*ir.Var
	at                  ir.Pos
}

// inTurn runs a block in slabs.
func inTurn(t *crews.Crew, b *block, i0, j0 *ir.Var, bottom, right ir.Expr, at ir.Pos) []ir.Stmt {
	w := &slabTurn{Crew: t, block: b, i0: i0, j0: j0, bottom: bottom, right: right, at: at}
	w.lane, w.level = t.Local("lane", ir.IntType, at), t.Local("level", ir.IntType, at)
	me := build.Query(ir.ThreadNum, at)
	out := []ir.Stmt{build.Decl(w.level, w.div(me, b.lanes), at), build.Decl(w.lane, w.rem(me, b.lanes), at)}
	for r := range b.rows {
		v := t.Local(b.row.Var.Name, ir.IntType, at)
		out = append(out, build.Decl(v, w.add(build.Ref(i0, at), w.inRows(build.Int(r, at))), at))
		w.rowVars = append(w.rowVars, v)
	}
	for c := range b.columns {
		v := t.Local(b.column.Var.Name, ir.IntType, at)
		out = append(out, build.Decl(v, w.add(build.Ref(j0, at), w.columnAt(c)), at))
		w.columnVars = append(w.columnVars, v)
	}
	return append(out, w.run()...)
}

func (w *slabTurn) add(x, y ir.Expr) ir.Expr { return build.Binary(ir.Add, x, y, w.at) }
func (w *slabTurn) div(x ir.Expr, n int64) ir.Expr {
	return &ir.Binary{Op: ir.Div, X: x, Y: build.Int(n, w.at), T: ir.IntType, At: w.at}
}
func (w *slabTurn) rem(x ir.Expr, n int64) ir.Expr {
	return &ir.Binary{Op: ir.Rem, X: x, Y: build.Int(n, w.at), T: ir.IntType, At: w.at}
}
func (w *slabTurn) least(x, y ir.Expr) ir.Expr {
	return &ir.Math{Fn: ir.IMin, Args: []ir.Expr{x, y}, T: ir.IntType, At: w.at}
}

// inRows is the place of row r of the thread among those of the team.
func (w *slabTurn) inRows(r ir.Expr) ir.Expr {
	return w.add(build.Binary(ir.Mul, build.Ref(w.level, w.at), build.Int(w.rows, w.at), w.at), r)
}

// run runs the body for all rows and columns of the thread, statement by statement.
func (w *slabTurn) run() []ir.Stmt {
	values := &ir.Rewrite{Instead: func(e ir.Expr) ir.Expr {
		for _, x := range w.slabs {
			if query.Same(x.elem, e) {
				return build.Ref(x.value, e.Pos())
			}
		}
		return nil
	}}
	body := make([]ir.Stmt, len(w.body))
	for k, s := range w.body {
		body[k] = s
		if f, ok := s.(*ir.For); ok {
			inner := *f
			inner.Body = values.CopyStmts(forms.Flat(f.Body))
			body[k] = &inner
		}
	}
	held := map[*panelValue][]*ir.Var{} // the registers of a thread for each value of a slab
	var active []ir.Expr
	var copies [][]ir.Stmt
	for r, row := range w.rowVars {
		for c, column := range w.columnVars {
			mine := map[*ir.Var]*ir.Var{w.row.Var: row, w.column.Var: column}
			for _, x := range w.slabs {
				mine[x.value] = w.heldOf(held, x, r, c)
			}
			copies = append(copies, w.CopyOf(build.WithVars(mine).CopyStmts(body), &w.Kernel.NumVars))
			active = append(active, build.Compare(ir.LAnd, build.Compare(ir.Lt, build.Ref(row, w.at), w.bottom, w.at), build.Compare(ir.Lt, build.Ref(column, w.at), w.right, w.at), w.at))
		}
	}
	var out []ir.Stmt
	for k, s := range w.body {
		one := make([]ir.Stmt, len(copies))
		for u := range copies {
			one[u] = copies[u][k]
		}
		if f, ok := s.(*ir.For); ok {
			out = append(out, w.overSlabs(f, one, held)...)
			continue
		}
		out = append(out, w.guarded(one, active)...)
	}
	return out
}

// heldOf returns the variable that holds x for row r and column c of the thread.
func (w *slabTurn) heldOf(held map[*panelValue][]*ir.Var, x *panelValue, r, c int) *ir.Var {
	k := c
	if x.ofRow {
		k = r
	}
	for len(held[x]) <= k {
		held[x] = append(held[x], w.Local(x.value.Name, x.value.Type, w.at))
	}
	return held[x][k]
}

// guarded runs copies of a statement for the elements that there are, all loads before the stores.
func (w *slabTurn) guarded(copies []ir.Stmt, active []ir.Expr) []ir.Stmt {
	var out, stores []ir.Stmt
	when := func(u int, s ir.Stmt) ir.Stmt {
		return &ir.If{Cond: (&ir.Rewrite{}).CopyExpr(active[u]), Then: []ir.Stmt{s}, At: s.Pos()}
	}
	for u, s := range copies {
		switch s := s.(type) {
		case *ir.Decl:
			if s.Init == nil || forms.IsConst(s.Init) {
				out = append(out, s)
				continue
			}
			out = append(out, build.Decl(s.Var, nil, s.At), when(u, build.Assign(build.Ref(s.Var, s.At), s.Init, s.At)))
		case *ir.Assign:
			if query.IsRef(s.Place) {
				out = append(out, when(u, s))
				continue
			}
			v := w.Local("value", s.Value.Type(), s.At)
			out = append(out, build.Decl(v, nil, s.At), when(u, build.Assign(build.Ref(v, s.At), s.Value, s.At)))
			stores = append(stores, when(u, build.Assign(s.Place, build.Ref(v, s.At), s.At)))
		}
	}
	return append(out, stores...)
}

// overSlabs runs copies of the inner loop f together, in slabs.
func (w *slabTurn) overSlabs(f *ir.For, copies []ir.Stmt, held map[*panelValue][]*ir.Var) []ir.Stmt {
	at := f.At
	lo, out := w.Temp("from", f.Lo, nil)
	hi, out := w.Temp("to", f.Hi, out)
	start, n, k := w.Local(f.Var.Name+"0", ir.IntType, at), w.Local("n", ir.IntType, at), w.Local(f.Var.Name, ir.IntType, at)
	ahead := &slabLoads{slabTurn: w, f: f, start: start, hi: hi}
	for _, x := range w.slabs {
		if x.loop == f && !x.steady {
			ahead.plan(x)
		}
	}
	next := w.add(build.Ref(start, at), build.Int(slabLength, at))
	turn := append([]ir.Stmt{build.Barrier(at)}, ahead.store()...)
	turn = append(turn, build.Barrier(at), build.Decl(n, w.least(build.Binary(ir.Sub, hi, build.Ref(start, at), at), build.Int(slabLength, at)), at),
		&ir.If{Cond: build.Compare(ir.Lt, next, hi, at), Then: ahead.load(next), At: at})

	var body []ir.Stmt
	lists := make([][]ir.Stmt, len(copies))
	for u, s := range copies {
		g := s.(*ir.For)
		lists[u] = build.WithVars(map[*ir.Var]*ir.Var{g.Var: f.Var}).CopyStmts(forms.Flat(g.Body))
		if u == 0 && forms.Mentions(lists[u], f.Var) {
			body = append(body, build.Decl(f.Var, w.add(build.Ref(start, at), build.Ref(k, at)), at))
		}
	}
	for _, x := range w.slabs {
		for i, v := range held[x] {
			if x.loop == f && !x.steady {
				body = append(body, build.Decl(v, build.Index(build.Index(build.Ref(x.tile, at), build.Ref(k, at), at), w.place(x, int64(i)), at), at))
			}
		}
	}
	run := &ir.For{Label: &ir.Label{}, Var: k, Lo: build.Int(0, at), Hi: build.Ref(n, at), Step: build.Int(1, at), Rel: ir.Lt, Unroll: slabLength,
		Body: append(body, bodies.Interleave(w.Crew, lists)...), At: at}
	turn = append(turn, w.CopyOf([]ir.Stmt{run}, &w.Kernel.NumVars)...)
	loop := &ir.For{Label: &ir.Label{}, Var: start, Lo: lo, Hi: hi, Step: build.Int(slabLength, at), Rel: ir.Lt, Body: turn, At: at}
	some := append(append(append(w.steadyOf(f, held), ahead.decls...), ahead.load(lo)...), loop)
	return append(out, &ir.If{Cond: build.Compare(ir.Lt, lo, hi, at), Then: some, At: at})
}

// steadyOf declares the variables for the values that are invariant in f.
func (w *slabTurn) steadyOf(f *ir.For, held map[*panelValue][]*ir.Var) []ir.Stmt {
	var out []ir.Stmt
	last := func(e, end ir.Expr) ir.Expr {
		return w.least(e, build.Binary(ir.Sub, end, build.Int(1, w.at), w.at))
	}
	for _, x := range w.slabs {
		if x.loop != f || !x.steady {
			continue
		}
		for i, v := range held[x] {
			at := map[*ir.Var]ir.Expr{}
			if x.ofRow {
				at[w.row.Var] = last(build.Ref(w.rowVars[i], w.at), w.bottom)
			} else {
				at[w.column.Var] = last(build.Ref(w.columnVars[i], w.at), w.right)
			}
			out = append(out, build.Decl(v, ir.Subst(x.elem, at), w.at))
		}
	}
	return out
}

// place returns the position in the tile of x for row or column i of the thread.
func (w *slabTurn) place(x *panelValue, i int64) ir.Expr {
	if x.ofRow {
		return w.inRows(build.Int(i, w.at))
	}
	return w.columnAt(i)
}

// slabLoads are the loads of a slab: first into variables, from there into team memory.
type slabLoads struct {
	*slabTurn
	f     *ir.For
	start *ir.Var
	hi    ir.Expr
	decls []ir.Stmt
	list  []slabLoad
	rest  []*panelValue
}

// A slabLoad is one load of a thread: of element at of the team's rows or columns, in iteration k
// of the slab.
type slabLoad struct {
	*panelValue
	k, at  ir.Expr
	values []*ir.Var // of its parts
}

// plan divides the elements of x among the threads: those of rows among the lanes of the warp that
// needs them; of columns a part for each of as many warps as there may be, which those that there
// are take in turn.
func (l *slabLoads) plan(x *panelValue) {
	t := x.elem.Type()
	wide := x.width(l.rows, l.columns, l.block.lanes)
	name := map[bool]string{true: "rowTile", false: "columnTile"}[x.ofRow]
	n := 0
	for _, y := range l.list {
		if y.tile != x.tile && y.ofRow == x.ofRow {
			n++
		}
	}
	x.tile = l.Slot(crews.Slot{What: name + strconv.Itoa(int(wide)), Kind: t.Kind, N: n + 100*len(l.rest)}, ir.ArrayOf(ir.ArrayOf(t, wide), slabLength), name, l.at)
	if !x.ofRow {
		l.rest = append(l.rest, x)
		for c := range l.inPart() {
			k, at := l.ofPart(x, build.Ref(l.level, l.at), c)
			l.addOne(x, k, at)
		}
		return
	}
	for u := range l.rows * slabLength / l.block.lanes {
		m := l.slabTurn.add(build.Ref(l.lane, l.at), build.Int(u*l.block.lanes, l.at))
		if x.across {
			l.addOne(x, l.rem(m, slabLength), l.inRows(l.div(m, slabLength)))
		} else {
			l.addOne(x, l.div(m, l.rows), l.inRows(l.rem(m, l.rows)))
		}
	}
}

func (l *slabLoads) addOne(x *panelValue, k, at ir.Expr) {
	one := slabLoad{panelValue: x, k: k, at: at}
	for _, e := range x.parts {
		v := l.Local("ahead", e.Type(), l.at)
		var steady ir.Expr // is loaded once
		if !ir.ExprVars(e).Has(l.f.Var) {
			steady = l.elemAt(x, e, build.Int(0, l.at), k, at)
		}
		l.decls = append(l.decls, build.Decl(v, steady, l.at))
		one.values = append(one.values, v)
	}
	l.list = append(l.list, one)
}

// inPart is the number of columns that a lane loads of a part: there are as many parts as a whole
// team has threads above each other.
func (l *slabLoads) inPart() int64 { return l.columns * slabLength * l.block.lanes / slabTeam }

// ofPart is load c of a lane in part p of the columns.
func (l *slabLoads) ofPart(x *panelValue, p ir.Expr, c int64) (k, at ir.Expr) {
	lane := build.Ref(l.lane, l.at)
	if x.across {
		first := l.slabTurn.add(build.Binary(ir.Mul, p, build.Int(l.block.lanes/slabLength, l.at), l.at), l.div(lane, slabLength))
		return l.rem(build.Ref(l.lane, l.at), slabLength), l.slabTurn.add(first, build.Int(c*slabTeam/slabLength, l.at))
	}
	n := l.inPart()
	if n == l.columns {
		return p, l.slabTurn.add(lane, build.Int(c*l.block.lanes, l.at))
	}
	first := build.Binary(ir.Mul, l.rem(p, l.columns/n), build.Int(n*l.block.lanes, l.at), l.at)
	return l.div(p, l.columns/n), l.slabTurn.add(l.slabTurn.add(first, lane), build.Int(c*l.block.lanes, l.at))
}

// elemAt is e, x or a part of it, for element at of the team's rows or columns in iteration k of
// the slab that begins at start, or the last there is.
func (l *slabLoads) elemAt(x *panelValue, e, start, k, at ir.Expr) ir.Expr {
	first, v, end := l.j0, l.column.Var, l.right
	if x.ofRow {
		first, v, end = l.i0, l.row.Var, l.bottom
	}
	last := func(e, end ir.Expr) ir.Expr { return l.least(e, build.Binary(ir.Sub, end, build.Int(1, l.at), l.at)) }
	return ir.Subst(e, map[*ir.Var]ir.Expr{v: last(l.slabTurn.add(build.Ref(first, l.at), at), end),
		l.f.Var: last(l.slabTurn.add(start, k), l.hi)})
}

// load loads the part of a slab that every thread has.
func (l *slabLoads) load(start ir.Expr) []ir.Stmt {
	var out []ir.Stmt
	for _, x := range l.list {
		for i, e := range x.parts {
			if ir.ExprVars(e).Has(l.f.Var) {
				out = append(out, build.Assign(build.Ref(x.values[i], l.at), l.elemAt(x.panelValue, e, start, x.k, x.at), l.at))
			}
		}
	}
	return out
}

// ofParts returns the expression of x over the loaded elements.
func (l *slabLoads) ofParts(x slabLoad) ir.Expr {
	loaded := &ir.Rewrite{Instead: func(e ir.Expr) ir.Expr {
		for i, part := range x.parts {
			if query.Same(part, e) {
				return build.Ref(x.values[i], e.Pos())
			}
		}
		return nil
	}}
	return l.elemAt(x.panelValue, loaded.CopyExpr(x.elem), build.Ref(l.start, l.at), x.k, x.at)
}

// store writes the values of load to team memory. If the team has fewer warps than parts, it also
// loads and writes the remaining parts.
func (l *slabLoads) store() []ir.Stmt {
	var out, body []ir.Stmt
	place := func(x *panelValue, k, at ir.Expr) ir.Expr {
		return build.Index(build.Index(build.Ref(x.tile, l.at), k, l.at), at, l.at)
	}
	for _, x := range l.list {
		out = append(out, build.Assign(place(x.panelValue, x.k, x.at), l.ofParts(x), l.at))
	}
	if len(l.rest) == 0 {
		return out
	}
	part, warps := l.Local("part", ir.IntType, l.at), l.div(build.Query(ir.NumThreads, l.at), l.block.lanes)
	for _, x := range l.rest {
		for c := range l.inPart() {
			k, at := l.ofPart(x, build.Ref(part, l.at), c)
			body = append(body, build.Assign(place(x, k, at), l.elemAt(x, x.elem, build.Ref(l.start, l.at), k, at), l.at))
		}
	}
	next := build.Assign(build.Ref(part, l.at), l.slabTurn.add(build.Ref(part, l.at), warps), l.at)
	return append(out, &ir.Block{Body: []ir.Stmt{build.Decl(part, l.slabTurn.add(build.Ref(l.level, l.at), warps), l.at),
		&ir.While{Label: &ir.Label{}, Cond: build.Compare(ir.Lt, build.Ref(part, l.at), build.Int(slabTeam/l.block.lanes, l.at), l.at),
			Post: []ir.Stmt{next}, Body: body, At: l.at}}, At: l.at})
}
