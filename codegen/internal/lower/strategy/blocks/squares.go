package blocks

import (
	"slices"
	"strconv"
	"strings"

	"github.com/gompss/gompss/codegen/internal/analysis"
	"github.com/gompss/gompss/codegen/internal/analysis/affine"
	"github.com/gompss/gompss/codegen/internal/integers"
	"github.com/gompss/gompss/codegen/internal/lower/crews"
	"github.com/gompss/gompss/codegen/internal/lower/forms"
	"github.com/gompss/gompss/codegen/internal/lower/spaces"
	"github.com/gompss/gompss/codegen/internal/lower/strategy/bodies"
	"github.com/gompss/gompss/codegen/internal/mapping"
	"github.com/gompss/gompss/codegen/ir"
	"github.com/gompss/gompss/codegen/ir/build"
	"github.com/gompss/gompss/codegen/ir/query"
)

// The strategy "squares" is for nests in which neighbouring threads access one slice with stride 1
// and another one with a large stride, as in a transposition. A team takes a square of the
// iteration space. The strided accesses are contiguous across the warps of the team: the threads
// load such a square transposed into team memory, and store from team memory in the same way. The
// rows of the tile are padded by one element, so that columns lie on different banks.
//
// The loads may move before, and the stores after, the other iterations of a square because the
// loops are parallel. Within an iteration all loads precede all stores in the source already.

const squareSide = 32 // iterations on a side: the lanes of a warp

// A square describes a nest and the accesses that go through team memory.
type square struct {
	*block
	loads  []transposedAccess
	stores []transposedAccess
}

// A transposedAccess is contiguous in the row loop and strided in the column loop.
type transposedAccess struct {
	elem *ir.Index
	tile *ir.Var
}

// ShareSquares returns the loop over sp in which each team executes squares, or nil if no access is
// transposed or this is not legal.
func ShareSquares(t *crews.Crew, sp *spaces.Space, d *ir.Directive, p spaces.Portion, body []ir.Stmt) []ir.Stmt {
	n := len(sp.Loops)
	if t.Slow || n < 2 || p.Only != nil || !mapping.WholeSchedule(d) || !t.WholeTeams() || forms.LeavesIteration(body, sp.Label) {
		return nil
	}
	q := &square{block: &block{row: sp.Loops[sp.Order[n-2]], column: sp.Loops[sp.Order[n-1]], body: bodies.Propagate(query.Flatten(body)), rows: 1, columns: 1, lanes: squareSide}}
	for _, k := range sp.Order[:n-2] {
		q.outer = append(q.outer, sp.Loops[k])
	}
	for _, f := range sp.Loops {
		if trips, known := analysis.ConstTrips(f); !forms.Counts(f) || known && trips < squareSide/2 && (f == q.row || f == q.column) {
			return nil
		}
	}
	if !findCrossed(t, q) {
		return nil
	}
	at := sp.At
	var names []string
	for _, list := range [][]transposedAccess{q.loads, q.stores} {
		for k := range list {
			elem := list[k].elem.Type()
			what := "square" + strconv.Itoa(len(names))
			list[k].tile = t.Slot(crews.Slot{What: "square", Kind: elem.Kind, N: len(names)}, ir.ArrayOf(ir.ArrayOf(elem, squareSide+1), squareSide), what, at)
			names = append(names, ir.ExprString(list[k].elem))
		}
	}
	t.Launch.Warps = true
	crews.UseTeams(t, t.Device().Tuning.Squares.Team, at)
	t.Trips.Whole = t.OnHost(q.teams())
	t.Decide(at, "loop "+q.row.Var.Text(), "squares of "+strconv.Itoa(squareSide)+" by "+strconv.Itoa(squareSide)+" through team memory",
		"neighbouring threads touch elements far apart of "+strings.Join(names, ", ")+", neighbours of which lie across loop "+q.row.Var.Text(), "schedule(onetoone)")
	return overSquares(t, q, p, at)
}

// findCrossed finds the transposed accesses of q. It reports false if there are none, or if the
// body is not a sequence of loads and arithmetic followed by stores.
func findCrossed(t *crews.Crew, q *square) bool {
	own := ir.Declared(q.body)
	fine := true
	var size ir.Bytes
	for _, s := range q.body {
		var value ir.Expr
		switch s := s.(type) {
		case *ir.Decl:
			fine = fine && s.Var.Type.IsScalar()
			value = s.Init
		case *ir.Assign:
			value = s.Value
			fine = fine && s.Value.Type().IsScalar()
			if ix, ok := s.Place.(*ir.Index); ok {
				fine = fine && forms.PlainValue(ix) && query.IsRef(ix.X) && query.LoadFree(ix.I)
				if fine && isCrossed(t, q, ix, own) {
					fine = !slices.ContainsFunc(q.stores, func(c transposedAccess) bool { return query.Same(c.elem.X, ix.X) })
					q.stores = append(q.stores, transposedAccess{elem: ix})
					size += ix.Type().Size
				}
			} else {
				fine = fine && query.IsRef(s.Place) && own.Has(s.Place.(*ir.Ref).Var)
			}
		default:
			return false
		}
		if !fine || value != nil && !forms.PlainValue(value) {
			return false
		}
		ir.WalkExpr(forms.OrZero(value), func(e ir.Expr) bool {
			if _, ok := e.(*ir.Select); ok {
				fine = false // the operand that is not selected may be out of range
			}
			ix, ok := e.(*ir.Index)
			if !ok {
				return true
			}
			if isCrossed(t, q, ix, own) && !slices.ContainsFunc(q.loads, func(c transposedAccess) bool { return query.Same(c.elem, ix) }) {
				q.loads = append(q.loads, transposedAccess{elem: ix})
				size += ix.Type().Size
			}
			return true
		})
	}
	if !fine || len(q.loads)+len(q.stores) == 0 || size*squareSide*(squareSide+1) > t.Device().Memory.StaticShared {
		return false
	}
	return storesLast(t, q)
}

// storesLast reports whether no statement of q loads behind a store, and no slice is both.
func storesLast(t *crews.Crew, q *square) bool {
	stored := false
	var into []*ir.Var
	for _, s := range q.body {
		loads := false
		ir.StmtExprs(s, func(e ir.Expr) {
			if a, ok := s.(*ir.Assign); ok && e == a.Place {
				return
			}
			ir.WalkExpr(e, func(x ir.Expr) bool { _, ok := x.(*ir.Index); loads = loads || ok; return true })
		})
		if stored && loads {
			return false
		}
		if a, ok := s.(*ir.Assign); ok {
			if ix, ok := a.Place.(*ir.Index); ok {
				stored = true
				into = append(into, ix.X.(*ir.Ref).Var)
			}
		}
	}
	for _, c := range q.loads {
		if slices.Contains(into, c.elem.X.(*ir.Ref).Var) {
			return false
		}
	}
	return true
}

// isCrossed reports whether e lies beside its neighbours of the row, and apart from those of the
// column.
func isCrossed(t *crews.Crew, q *square, e *ir.Index, own *ir.VarSet) bool {
	if !query.IsRef(e.X) || !query.LoadFree(e.I) || e.Type().Size < 4 {
		return false
	}
	form, ok := affine.Of(e.I)
	if !ok {
		return false
	}
	for _, v := range ir.ExprVars(e).List() {
		if own.Has(v) || t.IsShared(v) {
			return false
		}
	}
	down, ok1 := form.Coef(q.row.Var)
	across, ok2 := form.Coef(q.column.Var)
	near, isConst := down.Const()
	far, known := across.Const()
	return ok1 && ok2 && isConst && integers.Magnitude(near) == 1 && (!known || integers.Magnitude(far) >= bodies.FarStride)
}

// teams is the number of squares.
func (q *square) teams() ir.Expr {
	var n ir.Expr = build.Int(1, q.row.At)
	for _, f := range append(slices.Clone(q.outer), q.row, q.column) {
		at, count := f.At, build.Trips(f, f.Lo, f.Hi, f.Step)
		if f == q.row || f == q.column {
			count = &ir.Binary{Op: ir.Div, X: build.Binary(ir.Add, count, build.Int(squareSide-1, at), at), Y: build.Int(squareSide, at), T: ir.IntType, At: at}
		}
		n = build.Binary(ir.Mul, n, count, at)
	}
	return n
}

// overSquares returns the loop over the squares of the teams.
func overSquares(t *crews.Crew, q *square, p spaces.Portion, at ir.Pos) []ir.Stmt {
	side := build.Int(squareSide, at)
	add := func(x, y ir.Expr) ir.Expr { return build.Binary(ir.Add, x, y, at) }
	div := func(x, y ir.Expr) ir.Expr { return &ir.Binary{Op: ir.Div, X: x, Y: y, T: ir.IntType, At: at} }
	over := func(f *ir.For) ir.Expr {
		return div(add(build.Trips(f, f.Lo, f.Hi, f.Step), build.Int(squareSide-1, at)), side)
	}
	lo, out := t.Temp("top", q.row.Lo, nil)
	hi, out := t.Temp("bottom", q.row.Hi, out)
	left, out := t.Temp("left", q.column.Lo, out)
	right, out := t.Temp("right", q.column.Hi, out)
	across, out := t.Temp("across", over(q.column), out)
	down, out := t.Temp("down", over(q.row), out)
	plane, out := t.Temp("plane", build.Binary(ir.Mul, down, across, at), out)
	total := plane
	var counts []ir.Expr
	for _, f := range q.outer {
		var n ir.Expr
		n, out = t.Temp("count", build.Trips(f, f.Lo, f.Hi, f.Step), out)
		counts = append(counts, n)
		total = build.Binary(ir.Mul, total, n, at)
	}
	total, out = t.Temp("squares", total, out)
	k := t.Local("square", ir.IntType, at)
	first, stride := ir.Expr(build.Int(0, at)), ir.Expr(build.Int(1, at))
	if _, ok := p.First.(*ir.Binary); ok {
		first, stride = build.Query(ir.TeamNum, at), build.Query(ir.NumTeams, at)
	}
	i0, j0, line := t.Local(q.row.Var.Name+"0", ir.IntType, at), t.Local(q.column.Var.Name+"0", ir.IntType, at), t.Local("line", ir.IntType, at)
	between := func(e, lo, hi ir.Expr) ir.Expr { // changes nothing, and tells back ends how large an index can be
		least := &ir.Math{Fn: ir.IMin, Args: []ir.Expr{e, hi}, T: ir.IntType, At: at}
		return &ir.Math{Fn: ir.IMax, Args: []ir.Expr{least, lo}, T: ir.IntType, At: at}
	}
	turn, inPlane := around(t, q.block, build.Ref(k, at), plane, counts, at)
	column := build.Binary(ir.Sub, inPlane, build.Binary(ir.Mul, build.Ref(line, at), across, at), at)
	turn = append(turn, build.Decl(line, &ir.Math{Fn: ir.IMin, Args: []ir.Expr{div(inPlane, across), down}, T: ir.IntType, At: at}, at),
		build.Decl(i0, between(add(lo, build.Binary(ir.Mul, build.Ref(line, at), side, at)), lo, hi), at),
		build.Decl(j0, between(add(left, build.Binary(ir.Mul, column, side, at)), left, right), at))
	whole := build.Compare(ir.LAnd, build.Compare(ir.Eq, build.Query(ir.NumThreads, at), build.Int(int64(t.Device().Tuning.Squares.Team), at), at),
		build.Compare(ir.LAnd, build.Compare(ir.Le, add(build.Ref(i0, at), side), hi, at), build.Compare(ir.Le, add(build.Ref(j0, at), side), right, at), at), at)
	turn = append(turn, &ir.If{Cond: whole, Then: inSquare(t, q, i0, j0, nil, nil, at), Else: inSquare(t, q, i0, j0, hi, right, at), At: at})
	return turns(t, out, turn, k, total, first, stride, at)
}

// inSquare runs the square at i0 and j0; if bottom and right are given, the part of it inside them,
// else all of it by a team of Tuning.Squares.
func inSquare(t *crews.Crew, q *square, i0, j0 *ir.Var, bottom, right ir.Expr, at ir.Pos) []ir.Stmt {
	threads := int64(t.Device().Tuning.Squares.Team)
	me, lanes := build.Query(ir.ThreadNum, at), build.Int(squareSide, at)
	lane, level := t.Local("lane", ir.IntType, at), t.Local("level", ir.IntType, at)
	out := []ir.Stmt{build.Decl(level, &ir.Binary{Op: ir.Div, X: me, Y: lanes, T: ir.IntType, At: at}, at),
		build.Decl(lane, &ir.Binary{Op: ir.Rem, X: me, Y: lanes, T: ir.IntType, At: at}, at)}
	// each runs what make gives for the lines of the square that the thread's warp has, with its
	// row and its column.
	each := func(down, across func(line ir.Expr) ir.Expr, make func(line ir.Expr) []ir.Stmt) ir.Stmt {
		line := t.Local("line", ir.IntType, at)
		body := []ir.Stmt{build.Decl(q.row.Var, build.Binary(ir.Add, build.Ref(i0, at), down(build.Ref(line, at)), at), at),
			build.Decl(q.column.Var, build.Binary(ir.Add, build.Ref(j0, at), across(build.Ref(line, at)), at), at)}
		do := make(build.Ref(line, at))
		if bottom != nil {
			inside := build.Compare(ir.LAnd, build.Compare(ir.Lt, build.Ref(q.row.Var, at), bottom, at), build.Compare(ir.Lt, build.Ref(q.column.Var, at), right, at), at)
			warps := build.Binary(ir.Div, build.Query(ir.NumThreads, at), lanes, at)
			next := build.Assign(build.Ref(line, at), build.Binary(ir.Add, build.Ref(line, at), warps, at), at)
			loop := &ir.While{Label: &ir.Label{}, Cond: build.Compare(ir.Lt, build.Ref(line, at), lanes, at), Post: []ir.Stmt{next},
				Body: append(body, &ir.If{Cond: inside, Then: do, At: at}), At: at}
			return t.CopyOf([]ir.Stmt{&ir.Block{Body: []ir.Stmt{build.Decl(line, build.Ref(level, at), at), loop}, At: at}}, &t.Kernel.NumVars)[0]
		}
		turn := t.Local("turn", ir.IntType, at)
		from := build.Binary(ir.Add, build.Ref(level, at), build.Binary(ir.Mul, build.Ref(turn, at), build.Int(threads/squareSide, at), at), at)
		body = append(append([]ir.Stmt{build.Decl(line, from, at)}, body...), do...)
		turns := squareSide * squareSide / threads
		f := &ir.For{Label: &ir.Label{}, Var: turn, Lo: build.Int(0, at), Hi: build.Int(turns, at), Step: build.Int(1, at), Rel: ir.Lt, Unroll: int(turns), Body: body, At: at}
		return t.CopyOf([]ir.Stmt{f}, &t.Kernel.NumVars)[0]
	}
	inLane := func(ir.Expr) ir.Expr { return build.Ref(lane, at) }
	inLine := func(line ir.Expr) ir.Expr { return line }
	cell := func(v *ir.Var, i, j ir.Expr) ir.Expr { return build.Index(build.Index(build.Ref(v, at), i, at), j, at) }
	if len(q.loads) > 0 {
		out = append(out, build.Barrier(at), each(inLane, inLine, func(line ir.Expr) []ir.Stmt {
			var list []ir.Stmt
			for _, c := range q.loads {
				list = append(list, build.Assign(cell(c.tile, line, build.Ref(lane, at)), (&ir.Rewrite{}).CopyExpr(c.elem), at))
			}
			return list
		}))
	}
	out = append(out, build.Barrier(at), each(inLine, inLane, func(line ir.Expr) []ir.Stmt {
		r := &ir.Rewrite{Expr: func(e ir.Expr) ir.Expr {
			for _, c := range q.loads {
				if query.Same(c.elem, e) {
					return cell(c.tile, build.Ref(lane, at), line)
				}
			}
			return e
		}, Stmt: func(s ir.Stmt) []ir.Stmt {
			if a, ok := s.(*ir.Assign); ok {
				for _, c := range q.stores {
					if query.Same(c.elem, a.Place) {
						return []ir.Stmt{build.Assign(cell(c.tile, line, build.Ref(lane, at)), a.Value, a.At)}
					}
				}
			}
			return []ir.Stmt{s}
		}}
		return r.CopyStmts(q.body)
	}))
	if len(q.stores) > 0 {
		out = append(out, build.Barrier(at), each(inLane, inLine, func(line ir.Expr) []ir.Stmt {
			var list []ir.Stmt
			for _, c := range q.stores {
				list = append(list, build.Assign((&ir.Rewrite{}).CopyExpr(c.elem), cell(c.tile, build.Ref(lane, at), line), at))
			}
			return list
		}))
	}
	return out
}
