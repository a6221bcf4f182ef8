package strategy

import (
	"slices"

	"github.com/gompss/gompss/codegen/internal/analysis"
	"github.com/gompss/gompss/codegen/internal/lower/crews"
	"github.com/gompss/gompss/codegen/internal/lower/forms"
	"github.com/gompss/gompss/codegen/internal/lower/strategy/bodies"
	"github.com/gompss/gompss/codegen/ir"
	"github.com/gompss/gompss/codegen/ir/build"
	"github.com/gompss/gompss/codegen/ir/query"
)

// If several loops traverse the same row, and at least two rows fit into team memory, a team loads
// its rows once and keeps them for all these loops. All threads share independent iterations and
// reductions whose result does not depend on the order. For a loop whose order matters, the threads
// first compute a costly staged value in place, and then one lane a row executes the loop. Staged
// values stay in team memory for the next loop that uses the same ones. The time of such a lane is
// that of its operations one after another: long rows, of which few are kept at once, are read from
// memory by each loop instead (longest).

const (
	keptWarps  = rowsThreads / rowsOfTeam
	keptOfTeam = 2 // least number of rows that must fit
)

// A keptRows describes the rows that a team keeps in team memory.
type keptRows struct {
	*rowed
	col     *ir.Var // replaces the induction variable of each loop
	elem    ir.Expr
	content ir.Expr // current value of a cell of the tile
	tile    *ir.Var
	elems   int64

	count, pitch, many ir.Expr // elements of a row, distance of rows in cells, rows of a block
	fits               ir.Expr
}

// keeps returns the rows that a team keeps, or nil if this is not legal or not profitable.
func (x *rowed) keeps() *keptRows {
	loops := x.inOrder()
	if x.all() || len(loops) < 2 || !x.Shuffles() {
		return nil
	}
	k := &keptRows{rowed: x, col: x.Local("column", ir.IntType, x.f.At)}
	first := loops[0].loop
	for _, l := range loops {
		if l.bent || l.upright || len(l.stores) > 0 || !query.Same(l.loop.Lo, first.Lo) || !query.Same(l.loop.Hi, first.Hi) {
			return nil
		}
	}
	if !k.findElem(loops) || !k.undisturbed(loops) {
		return nil
	}
	waits := 0 // additions and the like that a lane makes for an element of a row, one after another
	for _, l := range loops {
		sums := k.orderFree(l)
		switch {
		case l.free:
		case sums != nil:
			l.needs = k.needsOfAll(l, sums)
		case len(l.staged) > 1 && slices.ContainsFunc(l.staged, func(s rowStaged) bool { return costly(s.e) }):
			return nil // a cell has one value
		default:
			waits += l.operations()
		}
	}
	k.elems = int64((k.memory() - k.otherTiles()) / k.elem.Type().Size)
	at := x.f.At
	k.count = build.Trips(first, first.Lo, first.Hi, first.Step)
	twice := build.Binary(ir.Mul, k.pitchOf(k.count), build.Int(keptOfTeam, at), at)
	k.fits = build.Compare(ir.LAnd, build.Compare(ir.Ge, k.count, build.Int(x.Device().Tuning.KeptRow, at), at), build.Compare(ir.Le, twice, build.Int(k.elems, at), at), at)
	if waits > 0 {
		k.fits = build.Compare(ir.LAnd, k.fits, build.Compare(ir.Le, k.count, build.Int(k.longest(waits), at), at), at)
	}
	return k
}

// memory returns the size of the rows that a team keeps and of the tiles of its other form, and
// resident how many such teams fit into a multiprocessor.
func (k *keptRows) memory() ir.Bytes { return k.Device().Memory.StaticShared * 3 / 4 }
func (k *keptRows) resident() int    { return int(k.Device().Memory.Shared / k.memory()) }

// otherTiles returns the size of the tiles besides the one that the kept rows replace.
func (k *keptRows) otherTiles() ir.Bytes {
	type tile struct {
		columns int64
		kind    ir.Kind
		n       int
	}
	k.evenTiles()
	sizes := map[tile]ir.Bytes{}
	var replaced *tile
	for _, l := range k.inOrder() {
		for n, s := range l.staged {
			t := tile{l.columns, s.e.Type().Kind, n}
			if replaced == nil && ir.Same(s.e.Type(), k.elem.Type()) {
				replaced = &t
			}
			sizes[t] = s.e.Type().Size * ir.Bytes(k.rows*(l.columns+1))
		}
	}
	if replaced != nil {
		delete(sizes, *replaced)
	}
	var sum ir.Bytes
	for _, n := range sizes {
		sum += n
	}
	return sum
}

// longest returns the length of the rows up to which lanes that make the given number of operations
// for each element, one after another, take less time for the kept rows of a multiprocessor than
// reading the rows once more for each loop. The longer the rows, the fewer are kept at once.
func (k *keptRows) longest(operations int) int64 {
	gpu := k.Device()
	ofClock := gpu.Memory.Bandwidth / float64(gpu.Team.Multiprocessors) / gpu.Clock // bytes
	read := float64(len(k.inOrder())) * float64(k.elem.Type().Size) / ofClock       // clocks for an element
	return int64(read * float64(k.resident()) * float64(k.elems) / float64(operations*gpu.Cost.Addition))
}

// operations counts the operations of an iteration that may depend on the iteration before it.
func (l *rowLoop) operations() int {
	n := 0
	ir.WalkExprs(l.replaced(l.loop.Body, func(rowStaged) ir.Expr { return build.Zero(ir.IntType, l.loop.At) }), func(e ir.Expr) bool {
		switch e.(type) {
		case *ir.Binary, *ir.Unary, *ir.Math, *ir.Convert:
			n++
		}
		return true
	})
	return max(n, 1)
}

// canonical returns e with the induction variable of l replaced by k.col.
func (k *keptRows) canonical(e ir.Expr, l *rowLoop) ir.Expr {
	return ir.Subst(e, map[*ir.Var]ir.Expr{l.loop.Var: build.Ref(k.col, k.f.At)})
}

// findElem finds the element of the row that most loops read. It reports false if fewer than two
// loops read it, or if a sequential loop also reads another one, whose loads would be strided.
func (k *keptRows) findElem(loops []*rowLoop) bool {
	var found []ir.Expr
	times := map[int]int{}
	for _, l := range loops {
		var here []ir.Expr
		eachRead(l.loop.Body, func(e ir.Expr) {
			for _, ix := range k.rowElems(e, l.loop, false) {
				c := k.canonical(ix, l)
				if !containsExpr(here, c) {
					here = append(here, c)
				}
			}
		})
		if !l.free && len(here) != 1 {
			return false
		}
		for _, c := range here {
			n := slices.IndexFunc(found, func(have ir.Expr) bool { return query.Same(have, c) })
			if n < 0 {
				n, found = len(found), append(found, c)
			}
			times[n]++
		}
	}
	best := -1
	for n := range found {
		if best < 0 || times[n] > times[best] {
			best = n
		}
	}
	if best < 0 || times[best] < 2 {
		return false
	}
	k.elem = found[best]
	for _, l := range loops {
		if !l.free && !k.reads(l, k.elem) {
			return false
		}
	}
	return true
}

func containsExpr(list []ir.Expr, e ir.Expr) bool {
	return slices.ContainsFunc(list, func(have ir.Expr) bool { return query.Same(have, e) })
}

// reads reports whether l reads an expression whose canonical form is e.
func (k *keptRows) reads(l *rowLoop, e ir.Expr) bool {
	found := false
	eachRead(l.loop.Body, func(read ir.Expr) {
		ir.WalkExpr(k.canonical(read, l), func(y ir.Expr) bool {
			found = found || query.Same(y, e)
			return !found
		})
	})
	return found
}

// eachRead calls do for the expressions that list evaluates, except the places that it assigns.
func eachRead(list []ir.Stmt, do func(ir.Expr)) {
	ir.WalkStmts(list, func(s ir.Stmt) bool {
		ir.StmtExprs(s, func(e ir.Expr) {
			if a, ok := s.(*ir.Assign); !ok || e != a.Place {
				do(e)
			}
		})
		return true
	})
}

// undisturbed reports whether the row in team memory stays valid: all other written slices do not
// overlap it (a condition of the strategy), or only the last loop writes its elements.
func (k *keptRows) undisturbed(loops []*rowLoop) bool {
	of := k.elem.(*ir.Index).X.(*ir.Ref).Var
	last := loops[len(loops)-1]
	fine := true
	for n, s := range k.body {
		for _, w := range writtenSlices([]ir.Stmt{s}) {
			if w != of {
				fine = fine && k.apartFrom(w, of)
				continue
			}
			f, isLoop := s.(*ir.For)
			a, assigns := last.loop.Body[len(last.loop.Body)-1].(*ir.Assign)
			before := writtenSlices(last.loop.Body[:len(last.loop.Body)-1])
			fine = fine && n == len(k.body)-1 && isLoop && k.loops[f] == last && assigns && !slices.Contains(before, of) && query.Same(k.canonical(a.Place, last), k.elem)
		}
	}
	return fine
}

// stage allocates team memory for the rows.
func (k *keptRows) stage() {
	elem := k.elem.Type()
	for _, l := range k.inOrder() {
		for _, s := range l.staged {
			if ir.Same(s.e.Type(), elem) && k.tile == nil {
				k.tile = s.tile
				k.tile.Type = k.tileOf(max(k.elems, k.tile.Type.Len))
			}
		}
	}
	if k.tile == nil {
		k.tile = k.Slot(crews.Slot{What: "keptRows", Kind: elem.Kind}, k.tileOf(k.elems), "keptRows", k.f.At)
	}
}

// tileOf returns the type of a tile of n elements, which begins where the widest access does.
func (k *keptRows) tileOf(n int64) *ir.Type {
	t := ir.ArrayOf(k.elem.Type(), n)
	t.Align = max(t.Align, k.Device().Memory.Word)
	return t
}

// pitchOf returns the distance of rows of count elements, in cells. Each row begins where the
// widest access does, so that a lane that walks reads several elements at once, and the lanes that
// walk neighbouring rows read from different banks: the distance is an odd number of such accesses.
func (k *keptRows) pitchOf(count ir.Expr) ir.Expr {
	at := k.f.At
	wide := max(1, int64(k.Device().Memory.Word/k.elem.Type().Size))
	whole := &ir.Binary{Op: ir.Div, X: build.Binary(ir.Add, count, build.Int(wide-1, at), at), Y: build.Int(wide, at), T: ir.IntType, At: at}
	return build.Binary(ir.Mul, &ir.Binary{Op: ir.Or, X: whole, Y: build.Int(1, at), T: ir.IntType, At: at}, build.Int(wide, at), at)
}

// overKept returns the loop in which the teams execute the blocks of rows.
func (k *keptRows) overKept() []ir.Stmt {
	x := k.rowed
	var out []ir.Stmt
	k.count, out = x.Temp("count", k.count, out)
	k.pitch, out = x.Temp("pitch", k.pitchOf(k.count), out)
	k.many, out = x.Temp("many", k.rowsOf(k.pitch), out)
	inner := x.overBlocks(k.many, func() []ir.Stmt {
		k.content = k.elem
		return append(k.load(), x.inBlock(k.overLoop)...)
	})
	return x.CopyOf(append(out, inner...), &x.Kernel.NumVars)
}

// rowsOf returns the number of rows in a block for the given distance of rows in cells.
func (k *keptRows) rowsOf(pitch ir.Expr) ir.Expr {
	at := k.f.At
	return build.IntMath(ir.IMin, &ir.Binary{Op: ir.Div, X: build.Int(k.elems, at), Y: build.IntMath(ir.IMax, pitch, build.Int(1, at)), T: ir.IntType, At: at}, build.Int(rowsOfTeam, at))
}

// teams returns the number of teams for the given number of rows, or nil if the host cannot compute
// it.
func (k *keptRows) teams(rows ir.Expr) ir.Expr {
	at := k.f.At
	rows, count := k.OnHost(rows), k.OnHost(k.count)
	if rows == nil || count == nil || k.OnHost(k.fits) == nil {
		return nil
	}
	many := k.rowsOf(k.pitchOf(count))
	return &ir.Binary{Op: ir.Div, X: build.Binary(ir.Sub, build.Binary(ir.Add, rows, many, at), build.Int(1, at), at), Y: many, T: ir.IntType, At: at}
}

// cell returns the cell of the tile for column c, relative to the first, of row r of the block.
func (k *keptRows) cell(r, c ir.Expr) ir.Expr {
	at := k.f.At
	return build.Index(build.Ref(k.tile, at), build.Binary(ir.Add, build.Binary(ir.Mul, r, k.pitch, at), c, at), at)
}

// eachRow runs the body that make returns for each row of the block, of all threads: r is its
// number in the block, i its own.
func (k *keptRows) eachRow(body func(r, i *ir.Var) []ir.Stmt) ir.Stmt {
	at := k.f.At
	r, i := k.Local("r", ir.IntType, at), k.Local(k.f.Var.Name, ir.IntType, at)
	list := append([]ir.Stmt{build.Decl(i, build.Binary(ir.Add, build.Ref(k.base, at), build.Ref(r, at), at), at)}, body(r, i)...)
	return &ir.For{Label: &ir.Label{}, Var: r, Lo: build.Int(0, at), Hi: build.Binary(ir.Sub, k.stop, build.Ref(k.base, at), at), Step: build.Int(1, at), Rel: ir.Lt, Unroll: 1, Body: list, At: at}
}

// eachColumn shares the columns among the threads, each of which takes as many of them at once
// where there are so many: compilers do not write out turns of which the number of threads is the
// step, and a load then waits for the store in front of it.
func (k *keptRows) eachColumn(atOnce int, body func(c *ir.Var) []ir.Stmt) ir.Stmt {
	at, threads := k.f.At, build.Query(ir.NumThreads, k.f.At)
	one := k.columnByColumn(atOnce, body)
	if atOnce < 2 || !onlyValues(query.Flatten(one.Body)) {
		return one
	}
	first := k.Local("first", ir.IntType, at)
	ahead := func(u int) ir.Expr {
		if u == 0 {
			return build.Ref(first, at)
		}
		return build.Binary(ir.Add, build.Ref(first, at), build.Binary(ir.Mul, threads, build.Int(int64(u), at), at), at)
	}
	var whole []ir.Stmt
	copies := make([][]ir.Stmt, atOnce)
	for u := range copies {
		own := k.Local("c", ir.IntType, at)
		whole = append(whole, build.Decl(own, ahead(u), at))
		copies[u] = k.CopyOf(query.Flatten(body(own)), &k.Kernel.NumVars)
	}
	whole = append(whole, bodies.Interleave(k.rowed.Sharer.Crew, copies)...)
	one.Lo, one.Unroll = build.Ref(first, at), min(atOnce, k.Device().Tuning.Rows.Jam)
	turn := &ir.If{Cond: build.Compare(ir.Lt, ahead(atOnce-1), k.count, at), Then: whole, Else: []ir.Stmt{one}, At: at}
	return &ir.For{Label: &ir.Label{}, Var: first, Lo: build.Query(ir.ThreadNum, at), Hi: k.count, Step: build.Binary(ir.Mul, threads, build.Int(int64(atOnce), at), at), Rel: ir.Lt,
		Unroll: 1, Body: []ir.Stmt{turn}, At: at}
}

// columnByColumn shares the columns among the threads, written out so many times.
func (k *keptRows) columnByColumn(unroll int, body func(c *ir.Var) []ir.Stmt) *ir.For {
	at, c := k.f.At, k.Local("c", ir.IntType, k.f.At)
	return &ir.For{Label: &ir.Label{}, Var: c, Lo: build.Query(ir.ThreadNum, at), Hi: k.count, Step: build.Query(ir.NumThreads, at), Rel: ir.Lt, Unroll: unroll, Body: body(c), At: at}
}

// onlyValues reports whether list only computes scalars and stores them.
func onlyValues(list []ir.Stmt) bool {
	for _, s := range list {
		switch s := s.(type) {
		case *ir.Decl:
			if !s.Var.Type.IsScalar() {
				return false
			}
		case *ir.Assign:
			if !s.Value.Type().IsScalar() {
				return false
			}
		default:
			return false
		}
	}
	return true
}

// columnOf returns the value of the induction variable in column c.
func (k *keptRows) columnOf(c *ir.Var) ir.Expr {
	return build.Binary(ir.Add, k.inOrder()[0].loop.Lo, build.Ref(c, k.f.At), k.f.At)
}

// load fills the tile after a barrier that ends its last use. Nothing waits for one element: the
// copies of all rows are on their way together.
func (k *keptRows) load() []ir.Stmt {
	at := k.f.At
	return []ir.Stmt{build.Barrier(at), k.eachRow(func(r, i *ir.Var) []ir.Stmt {
		return []ir.Stmt{k.columnByColumn(k.Device().Tuning.Rows.KeptLoads, func(c *ir.Var) []ir.Stmt {
			e := ir.Subst(k.elem, map[*ir.Var]ir.Expr{k.f.Var: build.Ref(i, at), k.col: k.columnOf(c)})
			return []ir.Stmt{&ir.Assign{Place: k.cell(build.Ref(r, at), build.Ref(c, at)), Value: e, Async: true, At: at}}
		})}
	})}
}

// overLoop runs l for the rows of the block.
func (k *keptRows) overLoop(l *rowLoop) []ir.Stmt {
	at := l.loop.At
	out := append([]ir.Stmt{build.Barrier(at)}, k.giveNeeds(l)...)
	if l.free {
		return append(out, k.shared(l), build.Barrier(at))
	}
	if sums := k.orderFree(l); sums != nil {
		return append(out, k.combined(l, sums)...)
	}
	if len(l.staged) == 1 && costly(l.staged[0].e) {
		out = append(out, k.computed(l), build.Barrier(at))
	}
	return append(out, &ir.If{Cond: build.Ref(k.active, at), Then: []ir.Stmt{k.walk(l)}, At: at}, build.Barrier(at))
}

// inCell replaces in list the value that the tile holds by the cell of row r and column c, and the
// induction variables of the row and of l by i and the variable of the column.
func (k *keptRows) inCell(l *rowLoop, list []ir.Stmt, i, r ir.Expr, c *ir.Var) []ir.Stmt {
	at := l.loop.At
	j := k.Local(l.loop.Var.Name, ir.IntType, at)
	held := ir.Subst(k.content, map[*ir.Var]ir.Expr{k.col: build.Ref(l.loop.Var, at)})
	rw := &ir.Rewrite{Instead: func(e ir.Expr) ir.Expr {
		if query.Same(e, held) {
			return k.cell(r, build.Ref(c, at))
		}
		return nil
	}}
	values := k.forRow(l, i, build.Ref(j, at), r)
	if query.RefVar(i) == k.f.Var { // the lane that walks uses its own variables
		values = map[*ir.Var]ir.Expr{l.loop.Var: build.Ref(j, at)}
	}
	body := ir.SubstStmts(readsReplaced(list, rw), values)
	return k.CopyOf(append([]ir.Stmt{build.Decl(j, k.columnOf(c), at)}, body...), &k.Kernel.NumVars)
}

// readsReplaced applies rw to the expressions that list reads, but not to the places that it
// assigns.
func readsReplaced(list []ir.Stmt, rw *ir.Rewrite) []ir.Stmt {
	var out []ir.Stmt
	for _, s := range list {
		switch s := s.(type) {
		case *ir.Assign:
			out = append(out, build.Assign(build.Copy(s.Place), rw.CopyExpr(s.Value), s.At))
		case *ir.If:
			out = append(out, &ir.If{Cond: rw.CopyExpr(s.Cond), Then: readsReplaced(s.Then, rw), Else: readsReplaced(s.Else, rw), At: s.At})
		case *ir.Block:
			out = append(out, &ir.Block{Body: readsReplaced(s.Body, rw), At: s.At})
		case *ir.For:
			g := *s
			g.Body = readsReplaced(s.Body, rw)
			out = append(out, &g)
		default:
			out = append(out, rw.CopyStmts([]ir.Stmt{s})...)
		}
	}
	return out
}

// shared returns l, whose iterations are independent, distributed among all threads.
func (k *keptRows) shared(l *rowLoop) ir.Stmt {
	at := l.loop.At
	return k.eachRow(func(r, i *ir.Var) []ir.Stmt {
		return []ir.Stmt{k.eachColumn(k.Device().Tuning.Rows.Jam, func(c *ir.Var) []ir.Stmt {
			return k.inCell(l, l.loop.Body, build.Ref(i, at), build.Ref(r, at), c)
		})}
	})
}

// computed replaces each element in the tile by the staged value of l.
func (k *keptRows) computed(l *rowLoop) ir.Stmt {
	at, e := l.loop.At, l.staged[0].e
	out := k.eachRow(func(r, i *ir.Var) []ir.Stmt {
		return []ir.Stmt{k.eachColumn(k.Device().Tuning.Rows.Jam, func(c *ir.Var) []ir.Stmt {
			return k.inCell(l, []ir.Stmt{build.Assign(k.cell(build.Ref(r, at), build.Ref(c, at)), e, at)}, build.Ref(i, at), build.Ref(r, at), c)
		})}
	})
	k.content = k.canonical(e, l)
	return out
}

// walk returns the sequential loop l over a row.
func (k *keptRows) walk(l *rowLoop) ir.Stmt {
	at := l.loop.At
	c := k.Local("c", ir.IntType, at)
	return &ir.For{Label: &ir.Label{}, Var: c, Lo: build.Int(0, at), Hi: k.count, Step: build.Int(1, at), Rel: ir.Lt, Unroll: k.walkUnroll(l.loop.Body) * k.Device().Tuning.Rows.KeptTurns,
		Body: k.inCell(l, l.loop.Body, build.Ref(k.f.Var, at), build.Ref(k.lane, at), c), At: at}
}

// orderFree returns the reductions of l if it has no other results, else nil.
func (k *keptRows) orderFree(l *rowLoop) []ir.Reduction {
	sums := analysis.OrderFree(k.Kernel, l.loop)
	inside := ir.Declared(l.loop.Body)
	for _, v := range ir.Assigned(l.loop.Body).List() {
		of := slices.ContainsFunc(sums, func(r ir.Reduction) bool { return query.RefVar(r.Place) == v })
		if !inside.Has(v) && (!of || v.Type.Size < 4) {
			return nil
		}
	}
	return sums
}

// needsOfAll returns the variables of a row that all threads read if they share l, whose results
// are sums.
func (k *keptRows) needsOfAll(l *rowLoop, sums []ir.Reduction) []*ir.Var {
	inside := ir.Declared(l.loop.Body)
	var out []*ir.Var
	for _, v := range ir.Used(l.loop.Body).List() {
		of := slices.ContainsFunc(sums, func(r ir.Reduction) bool { return query.RefVar(r.Place) == v })
		if k.up.Own.Has(v) && !inside.Has(v) && !of && v != k.f.Var && v != l.loop.Var {
			out = append(out, v)
		}
	}
	return out
}

// combined returns l, whose reductions may be done in any order: each thread accumulates a partial
// result, a warp combines those of its lanes by shuffles, and the lane of the row combines those of
// the warps.
func (k *keptRows) combined(l *rowLoop, sums []ir.Reduction) []ir.Stmt {
	at := l.loop.At
	warp, d := k.Local("w", ir.IntType, at), k.Local("d", ir.IntType, at)
	parts := map[*ir.Var]*ir.Var{}
	var begin, mix, keep, gather []ir.Stmt
	slot := make([]func(r, w ir.Expr) ir.Expr, len(sums))
	for n, s := range sums {
		v := query.RefVar(s.Place)
		all := k.Slot(crews.Slot{What: "rowParts", Kind: v.Type.Kind, N: n}, ir.ArrayOf(v.Type, rowsOfTeam*keptWarps), "rowParts", at)
		slot[n] = func(r, w ir.Expr) ir.Expr {
			return build.Index(build.Ref(all, at), build.Binary(ir.Add, build.Binary(ir.Mul, r, build.Int(keptWarps, at), at), w, at), at)
		}
		part, other := k.Local(v.Name+"Part", v.Type, at), k.Local("other", v.Type, at)
		parts[v] = part
		begin = append(begin, build.Decl(part, build.Identity(s.Op, v.Type, at), at))
		mix = append(mix, build.Decl(other, &ir.Shuffle{Kind: ir.ShuffleXor, X: build.Ref(part, at), By: build.Ref(d, at), At: at}, at),
			build.Assign(build.Ref(part, at), build.Combine(s.Op, build.Ref(part, at), build.Ref(other, at), at), at))
		gather = append(gather, build.Assign(build.Ref(v, at), build.Combine(s.Op, build.Ref(v, at), slot[n](build.Ref(k.lane, at), build.Ref(warp, at)), at), at))
	}
	half := func(e ir.Expr) ir.Expr {
		return &ir.Binary{Op: ir.Div, X: e, Y: build.Int(2, at), T: ir.IntType, At: at}
	}
	rows := k.eachRow(func(r, i *ir.Var) []ir.Stmt {
		for n, s := range sums {
			keep = append(keep, build.Assign(slot[n](build.Ref(r, at), build.Ref(k.warp, at)), build.Ref(parts[query.RefVar(s.Place)], at), at))
		}
		along := k.eachColumn(k.Device().Tuning.Rows.KeptLoads, func(c *ir.Var) []ir.Stmt {
			return k.inCell(l, build.WithVars(parts).CopyStmts(l.loop.Body), build.Ref(i, at), build.Ref(r, at), c)
		})
		fold := &ir.While{Label: &ir.Label{}, Cond: build.Compare(ir.Gt, build.Ref(d, at), build.Int(0, at), at),
			Post: []ir.Stmt{build.Assign(build.Ref(d, at), half(build.Ref(d, at)), at)}, Body: mix, At: at}
		return append(begin, along, build.Decl(d, build.Int(rowsOfTeam/2, at), at), fold,
			&ir.If{Cond: build.Compare(ir.Eq, build.Ref(k.lane, at), build.Int(0, at), at), Then: keep, At: at})
	})
	all := &ir.For{Label: &ir.Label{}, Var: warp, Lo: build.Int(0, at), Hi: build.Ref(k.warps, at), Step: build.Int(1, at), Rel: ir.Lt, Unroll: 1, Body: gather, At: at}
	return []ir.Stmt{rows, build.Barrier(at), &ir.If{Cond: build.Ref(k.active, at), Then: []ir.Stmt{all}, At: at}}
}

// explain records the decision for gompss explain.
func (k *keptRows) explain() {
	k.Decide(k.f.At, "loop "+k.f.Var.Text(), "rows that are kept in team memory, at least two of a team", "several loops read "+query.Source(k.elem), AsItIs)
}

// A walk may index a small table with a loop-carried value, as a checksum or an automaton does.
// Each such load is on the critical path. If the bits of the index bound it, the team keeps a copy
// of the table in team memory, where loads have a shorter latency.

// A rowTable is a table and where the team keeps it.
type rowTable struct {
	slice *ir.Var
	elems int64
	tile  *ir.Var
}

// findTables finds the tables that walks index.
func (x *rowed) findTables() {
	if !x.all() {
		return
	}
	for _, l := range x.inOrder() {
		if l.free {
			continue
		}
		ir.WalkExprs(l.loop.Body, func(e ir.Expr) bool {
			if ix, ok := e.(*ir.Index); ok && !slices.ContainsFunc(l.elems, func(have *ir.Index) bool { return query.Same(have, ix) }) {
				x.findTable(ix)
			}
			return true
		})
	}
	for _, b := range x.tables {
		x.need([]ir.Expr{build.Compare(ir.Le, build.Int(b.elems, x.f.At), &ir.Len{X: build.Ref(b.slice, x.f.At), At: x.f.At}, x.f.At)})
		for _, w := range writtenSlices(x.body) {
			x.apartFrom(w, b.slice)
		}
	}
}

func (x *rowed) findTable(ix *ir.Index) {
	v := query.RefVar(ix.X)
	n, ok := analysis.Masked(ix.I)
	if v == nil || v.Type.Kind != ir.Slice || v.Space != ir.Param || x.up.Own.Has(v) || !ok || forms.IsConst(ix.I) {
		return
	}
	if n > int64(x.Device().Tuning.LookupTable/ix.Type().Size) || slices.Contains(writtenSlices(x.body), v) {
		return
	}
	for _, b := range x.tables {
		if b.slice == v {
			b.elems = max(b.elems, n)
			return
		}
	}
	x.tables = append(x.tables, &rowTable{slice: v, elems: n})
}

// writtenSlices returns the slices whose elements list assigns.
func writtenSlices(list []ir.Stmt) []*ir.Var {
	var out []*ir.Var
	ir.WalkStmts(list, func(s ir.Stmt) bool {
		if a, ok := s.(*ir.Assign); ok {
			if ix, ok := a.Place.(*ir.Index); ok {
				if v := query.BaseVar(ix); v != nil && !slices.Contains(out, v) {
					out = append(out, v)
				}
			}
		}
		return true
	})
	return out
}

// loadTables copies the tables into team memory; it is the first code of the team.
func (x *rowed) loadTables() []ir.Stmt {
	var out []ir.Stmt
	at := x.f.At
	for n, b := range x.tables {
		elem := b.slice.Type.Elem
		b.tile = x.Slot(crews.Slot{What: "rowTable", Of: nil, Kind: elem.Kind, N: n}, ir.ArrayOf(elem, b.elems), "rowTable", at)
		k := x.Local("k", ir.IntType, at)
		out = append(out, x.Stride(k, build.Int(b.elems, at), []ir.Stmt{build.Assign(build.Index(build.Ref(b.tile, at), build.Ref(k, at), at),
			build.Index(build.Ref(b.slice, at), build.Ref(k, at), at), at)}, at)...)
	}
	if len(out) > 0 {
		out = append(out, build.Barrier(at))
	}
	return out
}

// inTables replaces the tables that list indexes by their copies in team memory.
func (x *rowed) inTables(list []ir.Stmt) []ir.Stmt {
	if len(x.tables) == 0 {
		return list
	}
	return (&ir.Rewrite{Expr: func(e ir.Expr) ir.Expr {
		ix, ok := e.(*ir.Index)
		if !ok {
			return e
		}
		for _, b := range x.tables {
			if query.RefVar(ix.X) != b.slice {
				continue
			}
			if n, bounded := analysis.Masked(ix.I); bounded && n <= b.elems {
				return build.Index(build.Ref(b.tile, ix.At), build.ToInt(ix.I), ix.At)
			}
		}
		return e
	}}).CopyStmts(list)
}
