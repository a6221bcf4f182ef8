package strategy

import (
	"slices"
	"strconv"

	"github.com/gompss/gompss/codegen/internal/analysis"
	"github.com/gompss/gompss/codegen/internal/analysis/affine"
	"github.com/gompss/gompss/codegen/internal/integers"
	"github.com/gompss/gompss/codegen/internal/lower/crews"
	"github.com/gompss/gompss/codegen/internal/lower/forms"
	"github.com/gompss/gompss/codegen/internal/lower/strategy/bodies"
	"github.com/gompss/gompss/codegen/internal/lower/strategy/unchecked"
	"github.com/gompss/gompss/codegen/internal/mapping"
	"github.com/gompss/gompss/codegen/ir"
	"github.com/gompss/gompss/codegen/ir/build"
	"github.com/gompss/gompss/codegen/ir/query"
	"github.com/gompss/gompss/codegen/target"
)

// The strategy "short rows" is for iterations that each read a short row of their own, such as the
// coordinates of a point. Accesses of neighbouring threads would have the length of a row as their
// stride. Instead a team takes a block of iterations. Its threads load all rows of the block with
// contiguous accesses and store them transposed in team memory, from which each thread runs its
// iterations. If all iterations traverse a common table, a thread executes several of them
// together, as in the strategy "points". Each iteration keeps its order, so the results are
// bit-identical.
//
// A row may be loaded early because the outer loop is parallel, and because a test shows that it
// does not overlap the written slices. A row exists if the loops around its reads have an
// iteration, which is tested too.

// A shortRows describes a loop over short rows and the loop over blocks that replaces it.
type shortRows struct {
	*Sharer
	f     *ir.For
	body  []ir.Stmt
	own   *ir.VarSet // variables that differ from iteration to iteration, or may change
	elems []*shortRow
	table bool      // all iterations traverse the same elements
	conds []ir.Expr // run-time conditions of the strategy
	width int       // iterations that a thread executes together

	columns                  ir.Expr // of a row
	base, me, slot, row, col *ir.Var
	at                       ir.Pos
}

// A shortRow is an element of the rows of one slice, over the variable of the loop and that of a
// loop along the row, which has the bounds lo and hi wherever the element is read.
type shortRow struct {
	elem   *ir.Index // with col in the stead of the variable of the loop
	lo, hi ir.Expr
	tile   *ir.Var
}

// rowsInTiles returns the loop over n whose teams keep the short rows of their iterations, nil
// where there are none or it is not right.
func rowsInTiles(t *Sharer, n Sharing) []ir.Stmt {
	f := n.Sp.Loops[0]
	_, league := n.P.First.(*ir.Binary)
	if t.Single || t.Slow || t.Whole || !league || !n.Sp.Direct() || !forms.Counts(f) || n.P.Only != nil || !mapping.WholeSchedule(n.D) || !t.WholeTeams() ||
		forms.LeavesIteration(n.Body, n.Sp.Label) {
		return nil
	}
	body := bodies.Propagate(query.Flatten(n.Body))
	x := &shortRows{Sharer: t, f: f, body: body, own: ir.Declared(body), col: t.Local("column", ir.IntType, f.At), at: f.At}
	for _, v := range ir.Assigned(body).List() {
		if !x.own.Has(v) {
			return nil
		}
	}
	x.own.Add(f.Var)
	if len(ir.AddressTaken(body).List()) > 0 || !x.find() {
		return nil
	}
	return x.run(n)
}

// rowsBelow returns the loop over the blocks of x for rows that are too short for its tiles, and
// what has to hold for it; nil where it is not right. It lies in the memory of the tiles.
func rowsBelow(x *rowed) (loop []ir.Stmt, fits ir.Expr) {
	s := &shortRows{Sharer: x.Sharer, f: x.f, body: x.body, own: x.up.Own, col: x.Local("column", ir.IntType, x.f.At), at: x.f.At, width: 1}
	if !x.league || x.up.Any || s.tuning().Team < rowsThreads || !s.find() || len(s.elems) > 1 {
		return nil, nil
	}
	e := s.elems[0]
	for _, l := range x.inOrder() {
		for _, tile := range append(slices.Clone(l.staged), l.stores...) {
			if ir.Same(tile.tile.Type.Elem, e.elem.Type()) {
				e.tile = tile.tile
			}
		}
	}
	if e.tile == nil {
		return nil, nil
	}
	s.table = false
	s.columns = build.Trips(s.along(), e.lo, e.hi, build.Int(1, s.at))
	fits = build.Compare(ir.LAnd, s.may(), build.Compare(ir.Le, s.columns, build.Int(s.mostColumns(), s.at), s.at), s.at)
	return x.CopyOf(s.overBlocks(), &x.Kernel.NumVars), fits
}

// along is the loop along a row.
func (x *shortRows) along() *ir.For {
	return &ir.For{Var: x.col, Lo: x.elems[0].lo, Hi: x.elems[0].hi, Step: build.Int(1, x.at), Rel: ir.Lt, At: x.at}
}

// may is what has to hold, whatever the number of columns is.
func (x *shortRows) may() ir.Expr {
	out := build.Compare(ir.Le, build.Int(1, x.at), x.columns, x.at)
	for _, c := range x.conds {
		out = build.Compare(ir.LAnd, out, c, x.at)
	}
	return out
}

// plainNest reports whether list is arithmetic on scalars and elements that needs no checks, and
// loops of it.
func plainNest(list []ir.Stmt) bool {
	for _, s := range list {
		f, ok := s.(*ir.For)
		switch {
		case ok && (query.LeavesLoop(f) || !forms.PlainValue(f.Lo) || !forms.PlainValue(f.Hi) || !forms.PlainValue(f.Step) || !plainNest(query.Flatten(f.Body))):
			return false
		case !ok && !plainRow([]ir.Stmt{s}):
			return false
		}
	}
	return true
}

// find finds the rows, and reports whether all that is far apart for neighbours is in them.
func (x *shortRows) find() bool {
	if !plainNest(x.body) {
		return false
	}
	x.collect(x.body, nil)
	if len(x.elems) == 0 || len(x.elems) > x.tuning().Rows {
		return false
	}
	if n, known := analysis.ConstTrips(x.along()); known && n > int64(x.tuning().Bytes)/int64(x.tuning().Team)/4 {
		return false // no tile holds it
	}
	fine := true
	x.eachIndex(x.body, nil, func(ix *ir.Index, loops []*ir.For, reads, _ bool) {
		if x.isFar(ix) && reads {
			fine = fine && x.inRow(ix, loops) != nil
		}
		form, known := affine.Of(ix.I)
		if known && reads && !form.Has(x.f.Var) {
			x.table = x.table || slices.ContainsFunc(loops, func(l *ir.For) bool { return form.Has(l.Var) })
		}
	})
	x.table = x.table && bodies.Blockable(x.Sharer.Crew, x.body, x.own)
	for _, w := range writtenSlices(x.body) {
		for _, e := range x.elems {
			fine = fine && x.apart(w, e.elem.X.(*ir.Ref).Var)
		}
	}
	return fine
}

func (x *shortRows) tuning() target.ShortRows { return x.Device().Tuning.ShortRows }

// eachIndex calls do for the elements of slices in list: reads says that it is not a place that is
// assigned, sure that it is read in every iteration of loops, which are those around it.
func (x *shortRows) eachIndex(list []ir.Stmt, loops []*ir.For, do func(ix *ir.Index, loops []*ir.For, reads, sure bool)) {
	var in func(e ir.Expr, reads, sure bool)
	sureHere := true
	in = func(e ir.Expr, reads, sure bool) {
		switch s := e.(type) {
		case *ir.Index:
			do(s, loops, reads, sure && sureHere)
			in(s.I, true, sure)
			return
		case *ir.Select:
			in(s.Cond, true, sure)
			in(s.X, true, false)
			in(s.Y, true, false)
			return
		case *ir.Binary:
			if s.Op == ir.LAnd || s.Op == ir.LOr {
				in(s.X, true, sure)
				in(s.Y, true, false)
				return
			}
		}
		ir.Operands(e, func(y ir.Expr) { in(y, reads, sure) })
	}
	for _, s := range list {
		a, assigns := s.(*ir.Assign)
		ir.StmtExprs(s, func(e ir.Expr) { in(e, !assigns || e != a.Place, true) })
		switch s := s.(type) {
		case *ir.For:
			x.eachIndex(query.Flatten(s.Body), append(slices.Clone(loops), s), do)
		case *ir.If:
			each := func(ix *ir.Index, loops []*ir.For, reads, _ bool) { do(ix, loops, reads, false) }
			x.eachIndex(query.Flatten(s.Then), loops, each)
			x.eachIndex(query.Flatten(s.Else), loops, each)
		}
	}
}

// isFar reports whether neighbouring iterations touch elements far apart, or at places that no form
// tells.
func (x *shortRows) isFar(ix *ir.Index) bool {
	form, known := affine.Of(ix.I)
	coef, ok := form.Coef(x.f.Var)
	c, isConst := coef.Const()
	return !known || !ok || !isConst || integers.Magnitude(c) > bodies.FarStride
}

// collect adds the elements of rows that every iteration reads.
func (x *shortRows) collect(list []ir.Stmt, loops []*ir.For) {
	x.eachIndex(list, loops, func(ix *ir.Index, loops []*ir.For, reads, sure bool) {
		if !reads || !sure || !x.isFar(ix) || x.inRow(ix, loops) != nil {
			return
		}
		if one := x.rowOf(ix, loops); one != nil {
			x.elems = append(x.elems, one)
			for _, l := range loops {
				x.need(build.Compare(ir.Lt, l.Lo, l.Hi, x.at))
			}
		}
	})
}

func (x *shortRows) need(c ir.Expr) {
	if !containsExpr(x.conds, c) {
		x.conds = append(x.conds, c)
	}
}

// rowOf returns the element that ix is of a row along one of loops, nil where it is none.
func (x *shortRows) rowOf(ix *ir.Index, loops []*ir.For) *shortRow {
	v := query.RefVar(ix.X)
	if v == nil || v.Type.Kind != ir.Slice || v.Space != ir.Param || x.own.Has(v) || !query.LoadFree(ix.I) {
		return nil
	}
	var along *ir.For
	for _, l := range loops {
		if !forms.Counts(l) || !x.steady(l.Lo) || !x.steady(l.Hi) {
			return nil // whether it has iterations is not known in front
		}
		if ir.ExprVars(ix.I).Has(l.Var) {
			if along != nil {
				return nil
			}
			along = l
		}
	}
	form, known := affine.Of(ix.I)
	if along == nil || !known {
		return nil
	}
	coef, ok := form.Coef(along.Var)
	if c, isConst := coef.Const(); !ok || !isConst || c != 1 {
		return nil
	}
	if _, ok = form.Coef(x.f.Var); !ok {
		return nil
	}
	elem := x.canonical(ix, along)
	if !x.steady(ir.Subst(elem.I, map[*ir.Var]ir.Expr{x.f.Var: build.Int(0, x.at)})) {
		return nil
	}
	for _, have := range x.elems { // one number of columns for all
		if !query.Same(have.lo, along.Lo) || !query.Same(have.hi, along.Hi) {
			return nil
		}
	}
	return &shortRow{elem: elem, lo: along.Lo, hi: along.Hi}
}

// steady reports whether e is the same for all iterations.
func (x *shortRows) steady(e ir.Expr) bool {
	if !query.LoadFree(e) || !forms.PlainValue(e) {
		return false
	}
	for _, v := range ir.ExprVars(e).List() {
		if x.own.Has(v) || x.IsShared(v) {
			return false
		}
	}
	return true
}

func (x *shortRows) canonical(ix *ir.Index, along *ir.For) *ir.Index {
	return ir.Subst(ix, map[*ir.Var]ir.Expr{along.Var: build.Ref(x.col, x.at)}).(*ir.Index)
}

// inRow returns the row that has ix, along one of loops; nil where there is none.
func (x *shortRows) inRow(ix *ir.Index, loops []*ir.For) *shortRow {
	for _, l := range loops {
		for _, e := range x.elems {
			if query.Same(e.lo, l.Lo) && query.Same(e.hi, l.Hi) && forms.Counts(l) && query.Same(x.canonical(ix, l), e.elem) && ir.ExprVars(ix.I).Has(l.Var) {
				return e
			}
		}
	}
	return nil
}

// apart asks for the test that v and w have no byte in common.
func (x *shortRows) apart(v, w *ir.Var) bool {
	for _, y := range []*ir.Var{v, w} {
		if y.Space != ir.Param || y.Type.Kind != ir.Slice || x.own.Has(y) {
			return false
		}
	}
	x.need(&ir.Apart{X: build.Ref(v, x.at), Y: build.Ref(w, x.at), At: x.at})
	return v != w
}

// run returns the loop over the blocks: with as many iterations of a thread at once as pay, with
// one where rows are longer, and as it stands where they are too long.
func (x *shortRows) run(n Sharing) []ir.Stmt {
	at, u := x.at, x.tuning()
	x.chooseTiles()
	most := x.mostAtOnce()
	x.LimitThreads(build.Int(int64(u.Team), at))
	x.Launch.Threads, x.Launch.ResidentTeams = u.Team, u.Teams
	x.Trips.Width = max(x.Trips.Width, most)
	where := "short rows: teams of " + strconv.Itoa(u.Team) + " threads load theirs together"
	if most > 1 {
		where += ", " + strconv.Itoa(most) + " iterations of a thread at once"
	}
	x.Decide(at, "loop "+x.f.Var.Text(), where, "each iteration has a row of its own: neighbouring threads load neighbours", AsItIs)

	var out []ir.Stmt
	x.columns, out = x.Temp("columns", build.Trips(x.along(), x.elems[0].lo, x.elems[0].hi, build.Int(1, at)), out)
	may, out := x.Temp("may", x.may(), out)
	list := x.CopyOf(forms.Unwrapped(x.Walk(n.Sp, n.P, unchecked.Loops(x.Sharer.Crew, n.Body), nil)), &x.Kernel.NumVars)
	for _, x.width = range slices.Compact([]int{1, most}) {
		fits := build.Compare(ir.LAnd, may, build.Compare(ir.Le, x.columns, build.Int(x.mostColumns(), at), at), at)
		list = []ir.Stmt{&ir.If{Cond: fits, Then: x.overBlocks(), Else: list, At: at}}
	}
	return []ir.Stmt{&ir.Block{Body: append(out, list...), At: at}}
}

// mostAtOnce is how many iterations a thread takes at once: several where they go through a table.
func (x *shortRows) mostAtOnce() int {
	if !x.table {
		return 1
	}
	limits := x.Device().Tuning.Points
	x.width = limits.Most
	x.slot = x.Local("slot", ir.IntType, x.at)
	_, words := entriesAtOnce(x.Sharer, x.inTiles(x.body), x.own)
	n := limits.Most
	for n > 1 && n*words > limits.Words {
		n /= 2
	}
	return n
}

// pitch is the number of cells between the elements of a row.
func (x *shortRows) pitch() int64 { return int64(x.tuning().Team*x.width + x.tuning().Pad) }

// mostColumns is how many elements a row may have: as many as fit the tiles.
func (x *shortRows) mostColumns() int64 {
	least := int64(0)
	for _, e := range x.elems {
		if c := e.tile.Type.Len / x.pitch(); least == 0 || c < least {
			least = c
		}
	}
	return least
}

// chooseTiles finds team memory for the rows, the same for each slice.
func (x *shortRows) chooseTiles() {
	for k, e := range x.elems {
		elem := e.elem.Type()
		length := int64(x.tuning().Bytes) / int64(len(x.elems)) / int64(max(elem.Size, 4))
		e.tile = x.Slot(crews.Slot{What: "shortRows" + strconv.Itoa(len(x.elems)), Kind: elem.Kind, N: k}, ir.ArrayOf(elem, length), "shortRows", x.at)
	}
}

// cell is the cell of e of column c, counted from the first, and the iteration in place slot.
func (x *shortRows) cell(e *shortRow, c, slot ir.Expr) ir.Expr {
	return build.Index(build.Ref(e.tile, x.at), build.Binary(ir.Add, build.Binary(ir.Mul, c, build.Int(x.pitch(), x.at), x.at), slot, x.at), x.at)
}

// inTiles puts cells of the tiles in the stead of the elements of rows in list.
func (x *shortRows) inTiles(list []ir.Stmt) []ir.Stmt {
	var loops []*ir.For
	var in func(list []ir.Stmt) []ir.Stmt
	in = func(list []ir.Stmt) []ir.Stmt {
		rw := &ir.Rewrite{Instead: func(e ir.Expr) ir.Expr {
			ix, ok := e.(*ir.Index)
			if !ok || ix.X.Type().Kind != ir.Slice {
				return nil
			}
			if row := x.inRow(ix, loops); row != nil {
				for _, l := range loops {
					if query.Same(x.canonical(ix, l), row.elem) && ir.ExprVars(ix.I).Has(l.Var) {
						return x.cell(row, build.Binary(ir.Sub, build.Ref(l.Var, x.at), build.Copy(row.lo), x.at), build.Ref(x.slot, x.at))
					}
				}
			}
			return nil
		}}
		var out []ir.Stmt
		for _, s := range query.Flatten(list) {
			switch s := s.(type) {
			case *ir.For:
				g := *s
				loops = append(loops, s)
				g.Body = in(s.Body)
				loops = loops[:len(loops)-1]
				out = append(out, &g)
			case *ir.If:
				out = append(out, &ir.If{Cond: rw.CopyExpr(s.Cond), Then: in(s.Then), Else: in(s.Else), At: s.At})
			default:
				out = append(out, readsReplaced([]ir.Stmt{s}, rw)...)
			}
		}
		return out
	}
	return in(list)
}

// overBlocks returns the loop over the blocks of the teams.
func (x *shortRows) overBlocks() []ir.Stmt {
	at := x.at
	x.slot = x.Local("slot", ir.IntType, at)
	jammed := x.inTiles(x.body)
	if x.table {
		jammed, _ = entriesAtOnce(x.Sharer, jammed, x.own)
	}
	add := func(a, b ir.Expr) ir.Expr { return build.Binary(ir.Add, a, b, at) }
	x.base, x.me = x.Local("base", ir.IntType, at), x.Local("me", ir.IntType, at)
	end, out := x.Temp("end", x.f.Hi, nil)
	threads, out := x.Temp("threads", build.Query(ir.NumThreads, at), out)
	many, out := x.Temp("many", build.Binary(ir.Mul, threads, build.Int(int64(x.width), at), at), out)
	stride, out := x.Temp("stride", build.Binary(ir.Mul, build.Query(ir.NumTeams, at), many, at), out)
	out = append(out, build.Decl(x.me, build.Query(ir.ThreadNum, at), at))
	load, out := x.load(threads, end, out)
	turn := append(append([]ir.Stmt{build.Barrier(at)}, load...), build.Barrier(at))

	copies := make([][]ir.Stmt, x.width)
	var several, single []ir.Stmt
	for u := range copies {
		i, slot := x.Local(x.f.Var.Name, ir.IntType, at), x.Local("slot", ir.IntType, at)
		first := add(build.Ref(x.base, at), build.Ref(x.me, at))
		if u > 0 {
			first = add(first, build.Binary(ir.Mul, threads, build.Int(int64(u), at), at))
		}
		several = append(several, build.Decl(i, first, at), build.Decl(slot, add(build.Ref(x.me, at), build.Int(int64(u*x.tuning().Team), at)), at))
		copies[u] = x.CopyOf(build.WithVars(map[*ir.Var]*ir.Var{x.f.Var: i, x.slot: slot}).CopyStmts(jammed), &x.Kernel.NumVars)
	}
	if x.width > 1 {
		several = append(several, bodies.Fuse(x.Sharer.Crew, copies)...)
	}
	body, v := jammed, x.Local("turn", ir.IntType, at)
	if x.width > 1 {
		body = x.inTiles(x.body)
	}
	one := append([]ir.Stmt{
		build.Decl(x.f.Var, add(add(build.Ref(x.base, at), build.Ref(x.me, at)), build.Binary(ir.Mul, threads, build.Ref(v, at), at)), at),
		build.Decl(x.slot, add(build.Ref(x.me, at), build.Binary(ir.Mul, build.Ref(v, at), build.Int(int64(x.tuning().Team), at), at)), at)},
		&ir.If{Cond: build.Compare(ir.Lt, build.Ref(x.f.Var, at), end, at), Then: body, At: at})
	single = x.CopyOf([]ir.Stmt{&ir.For{Label: &ir.Label{}, Var: v, Lo: build.Int(0, at), Hi: build.Int(int64(x.width), at), Step: build.Int(1, at), Rel: ir.Lt, Unroll: 1, Body: one, At: at}}, &x.Kernel.NumVars)
	if x.width > 1 {
		whole := build.Compare(ir.Le, add(build.Ref(x.base, at), many), end, at)
		single = []ir.Stmt{&ir.If{Cond: whole, Then: several, Else: single, At: at}}
	}
	next := build.Assign(build.Ref(x.base, at), add(build.Ref(x.base, at), stride), at)
	start := add(x.f.Lo, build.Binary(ir.Mul, build.Query(ir.TeamNum, at), many, at))
	return append(out, build.Decl(x.base, start, at), &ir.While{Label: &ir.Label{}, Cond: build.Compare(ir.Lt, build.Ref(x.base, at), end, at),
		Post: []ir.Stmt{next}, Body: append(turn, single...), At: at})
}

// load fills the tiles. The rows of the threads lie one behind the other in this order: the place
// of an element is that of the one before and a step, row and column.
func (x *shortRows) load(threads, end ir.Expr, out []ir.Stmt) (load, decls []ir.Stmt) {
	at := x.at
	add := func(a, b ir.Expr) ir.Expr { return build.Binary(ir.Add, a, b, at) }
	div := func(a, b ir.Expr) ir.Expr { return &ir.Binary{Op: ir.Div, X: a, Y: b, T: ir.IntType, At: at} }
	left := func(a, q, b ir.Expr) ir.Expr { return build.Binary(ir.Sub, a, build.Binary(ir.Mul, q, b, at), at) }
	most := build.IntMath(ir.IMax, x.columns, build.Int(1, at))
	most, out = x.Temp("divisor", most, out)
	firstRow, out := x.Temp("firstRow", div(build.Ref(x.me, at), most), out)
	firstColumn, out := x.Temp("firstColumn", left(build.Ref(x.me, at), firstRow, most), out)
	rows, out := x.Temp("rowStep", div(threads, most), out)
	columns, out := x.Temp("columnStep", left(threads, rows, most), out)

	x.row = x.Local("row", ir.IntType, at)
	row, q, v := build.Ref(x.row, at), x.Local("q", ir.IntType, at), x.Local("turn", ir.IntType, at)
	c := x.Local("c", ir.IntType, at)
	i := x.Local(x.f.Var.Name, ir.IntType, at)
	var fill []ir.Stmt
	for _, e := range x.elems {
		slot := add(row, build.Binary(ir.Mul, build.Ref(v, at), build.Int(int64(x.tuning().Team), at), at))
		fill = append(fill, build.Assign(x.cell(e, build.Ref(c, at), slot), ir.Subst(e.elem, map[*ir.Var]ir.Expr{x.f.Var: build.Ref(i, at)}), at))
	}
	over := build.Compare(ir.Le, x.columns, build.Ref(c, at), at)
	each := []ir.Stmt{
		build.Decl(i, add(add(build.Ref(x.base, at), row), build.Binary(ir.Mul, threads, build.Ref(v, at), at)), at),
		build.Decl(x.col, add(build.Copy(x.elems[0].lo), build.Ref(c, at)), at),
		&ir.If{Cond: build.Compare(ir.Lt, build.Ref(i, at), end, at), Then: fill, At: at},
		build.Assign(build.Ref(c, at), add(build.Ref(c, at), columns), at),
		build.Assign(row, add(row, rows), at),
		&ir.If{Cond: over, Then: []ir.Stmt{build.Assign(build.Ref(c, at), build.Binary(ir.Sub, build.Ref(c, at), x.columns, at), at),
			build.Assign(row, add(row, build.Int(1, at)), at)}, At: at},
	}
	along := &ir.For{Label: &ir.Label{}, Var: q, Lo: build.Int(0, at), Hi: x.columns, Step: build.Int(1, at), Rel: ir.Lt, Unroll: x.tuning().Loads, Body: each, At: at}
	turns := &ir.For{Label: &ir.Label{}, Var: v, Lo: build.Int(0, at), Hi: build.Int(int64(x.width), at), Step: build.Int(1, at), Rel: ir.Lt, Unroll: 1,
		Body: []ir.Stmt{build.Decl(x.row, firstRow, at), build.Decl(c, firstColumn, at), along}, At: at}
	return []ir.Stmt{turns}, out
}
