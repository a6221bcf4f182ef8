package codegen

import (
	"slices"

	"github.com/gompss/gompss/codegen/ir"
)

// Two loops around a third, in which iterations of neighbouring rows read the same elements, and those of neighbouring
// columns too, as in a product of matrices: a thread takes several rows and columns at once and runs the inner loop
// once for all, so that what it loads serves each row, or each column. The order of the iterations of the inner loop
// stays as it was for each of them, and so does every bit of the results. A team takes a rectangle of them, 32 threads
// beside each other: the columns are neighbours' in memory.
// Source: measured on an H200, product of 4096 x 4096 matrices of float32 without contraction, kernels written by hand:
// 4.9 TFLOP/s with an element a thread, 8.0 with 4 rows, 10.4 with 8 rows, 16.1 with 4 rows and 4 columns, 16.4 with 8 and 4.

const (
	blockRows    = 4 // rows that a thread takes at once
	blockColumns = 4
	blockLanes   = 32 // threads of a team beside each other
	blockWords   = 64 // 32-bit words that the values of all a thread's elements may take
	blockUnroll  = 4
)

// A block is what the loop over blocks is made from.
type block struct {
	row, column   *ir.For
	body          []ir.Stmt
	rows, columns int64 // of a thread
	slabs         []*slabbed
}

// blocks returns the loop over sp whose threads take blocks, nil where that is not right or gains nothing.
func (t *team) blocks(sp *space, d *ir.Directive, p portion, body []ir.Stmt) []ir.Stmt {
	switch d.Schedule.Kind {
	case ir.ScheduleNone, ir.ScheduleStatic, ir.ScheduleAuto:
	default:
		return nil
	}
	if t.slow || len(sp.loops) != 2 || p.only != nil || d.Schedule.Chunk != nil || !t.shuffles() || leavesIteration(body, sp.label) {
		return nil
	}
	b := &block{row: sp.loops[sp.order[0]], column: sp.loops[sp.order[1]], body: flat(body)}
	if !counts(b.row) || !counts(b.column) || !t.measure(b) {
		return nil
	}
	at := sp.at
	t.launch.Warps = true
	t.trips.width = max(t.trips.width, int(b.rows*b.columns))
	t.decide(at, "loop "+b.row.Var.Name, itoa(int(b.rows))+" rows and "+itoa(int(b.columns))+" columns of loop "+b.column.Var.Name+" in a thread at once",
		"what the inner loop loads for one of them serves the others", "schedule(onetoone)")
	if b.slabs != nil {
		t.limitThreads(intConst(slabTeam, at))
		t.launch.Threads, t.launch.Abreast = slabTeam, slabTeams
		t.decide(at, "inner loops of "+b.row.Var.Name, "slabs of "+itoa(slabLength)+" iterations in team memory",
			"all rows and columns of a team read them: each element is loaded once for the team", "schedule(onetoone)")
	}
	return t.overBlocks(b, p, at)
}

// counts reports whether f goes up by one, in ints.
func counts(f *ir.For) bool {
	step, ok := constInt(f.Step)
	return ok && step == 1 && f.Rel == ir.Lt && f.Var.Type.Kind == ir.Int64
}

// measure chooses the rows and columns of a thread. It reports false for a body that is more than loads and arithmetic
// around inner loops that all its iterations run alike.
func (t *team) measure(b *block) bool {
	own := ir.Declared(b.body)
	own.Add(b.row.Var)
	own.Add(b.column.Var)
	inner := false
	var words ir.Bytes
	for _, s := range b.body {
		switch s := s.(type) {
		case *ir.Decl:
			if !s.Var.Type.IsScalar() || s.Init != nil && !plainValue(s.Init) {
				return false
			}
			words += max(s.Var.Type.Size, 4) / 4
		case *ir.Assign:
			if !s.Value.Type().IsScalar() || !plainValue(s.Value) || !plainValue(s.Place) {
				return false
			}
		case *ir.For:
			if !t.runsAlike(s, own) {
				return false
			}
			inner = true
		default:
			return false
		}
	}
	for _, v := range ir.Assigned(b.body).List() {
		if !own.Has(v) {
			return false
		}
	}
	if !inner || len(ir.AddressTaken(b.body).List()) > 0 {
		return false
	}
	if t.inSlabs(b, words) {
		return true
	}
	b.rows, b.columns = b.shared()
	for b.rows*b.columns*int64(words) > blockWords {
		if b.rows >= b.columns {
			b.rows /= 2
		} else {
			b.columns /= 2
		}
	}
	return b.rows*b.columns > 1
}

// runsAlike reports whether f is a loop of loads and arithmetic with the same bounds for all rows and columns.
func (t *team) runsAlike(f *ir.For, own *ir.VarSet) bool {
	for _, e := range []ir.Expr{f.Lo, f.Hi, f.Step} {
		if !loadFree(e) || !plainValue(e) {
			return false
		}
		for _, v := range ir.ExprVars(e).List() {
			if own.Has(v) || t.isShared(v) {
				return false
			}
		}
	}
	if _, ok := constInt(f.Step); !ok || leavesLoop(f) {
		return false
	}
	for _, s := range flat(f.Body) {
		switch s := s.(type) {
		case *ir.Decl:
			if !s.Var.Type.IsScalar() || s.Init != nil && !plainValue(s.Init) {
				return false
			}
		case *ir.Assign:
			if !isRef(s.Place) || !plainValue(s.Value) {
				return false
			}
		default:
			return false
		}
	}
	return true
}

// plainValue reports whether e is arithmetic on variables and elements of slices that needs no checks.
func plainValue(e ir.Expr) bool {
	plain := true
	ir.WalkExpr(e, func(x ir.Expr) bool {
		switch x := x.(type) {
		case *ir.Const, *ir.Ref, *ir.Unary, *ir.Convert, *ir.Math, *ir.Len:
		case *ir.Binary:
			plain = plain && !x.Checked
		case *ir.Index:
			plain = plain && !x.Checked && x.X.Type().Kind == ir.Slice && x.Type().IsScalar()
		default:
			plain = false
		}
		return plain
	})
	return plain
}

// shared looks at the loads of the inner loops: one that does not depend on the row serves several rows, one that does not
// depend on the column several columns.
func (b *block) shared() (rows, columns int64) {
	rows, columns = 1, 1
	defs := definitions{}
	changed := ir.Assigned(b.body)
	for _, s := range b.body {
		switch s := s.(type) {
		case *ir.Decl:
			if form, ok := defs.affineOf(s.Init); s.Init != nil && ok && !changed.Has(s.Var) {
				defs[s.Var] = form
			}
		case *ir.For:
			c := &accessList{defs: defs, changed: changed, taken: &ir.VarSet{}}
			c.stmts(s.Body)
			for _, a := range c.list {
				if !a.known || !a.form.Has(s.Var) {
					continue
				}
				if !a.form.Has(b.row.Var) {
					rows = blockRows
				}
				if !a.form.Has(b.column.Var) {
					columns = blockColumns
				}
			}
		}
	}
	return rows, columns
}

// overBlocks returns the loop over the blocks of the teams.
func (t *team) overBlocks(b *block, p portion, at ir.Pos) []ir.Stmt {
	me := query(ir.ThreadNum, at)
	add := func(x, y ir.Expr) ir.Expr { return binary(ir.Add, x, y, at) }
	mul := func(x ir.Expr, c int64) ir.Expr { return binary(ir.Mul, x, intConst(c, at), at) }
	div := func(x, y ir.Expr) ir.Expr { return &ir.Binary{Op: ir.Div, X: x, Y: y, T: ir.IntType, At: at} }
	over := func(f *ir.For, size ir.Expr) ir.Expr { // how many blocks its iterations make
		n := trips(f, f.Lo, f.Hi, f.Step)
		return div(binary(ir.Sub, add(n, size), intConst(1, at), at), size)
	}
	height, out := t.temp("height", mul(div(query(ir.NumThreads, at), intConst(blockLanes, at)), b.rows), nil)
	width := intConst(blockLanes*b.columns, at)
	lo, out := t.temp("top", b.row.Lo, out)
	hi, out := t.temp("bottom", b.row.Hi, out)
	left, out := t.temp("left", b.column.Lo, out)
	right, out := t.temp("right", b.column.Hi, out)
	across, out := t.temp("across", over(b.column, width), out)
	down, out := t.temp("down", over(b.row, height), out)
	total, out := t.temp("blocks", binary(ir.Mul, down, across, at), out)

	k := t.local("block", ir.IntType, at)
	first, stride := ir.Expr(intConst(0, at)), ir.Expr(intConst(1, at))
	if _, ok := p.first.(*ir.Binary); ok {
		first, stride = query(ir.TeamNum, at), query(ir.NumTeams, at)
	}
	i0, j0 := t.local(b.row.Var.Name+"0", ir.IntType, at), t.local(b.column.Var.Name+"0", ir.IntType, at)
	line := t.local("line", ir.IntType, at)
	least := func(x, y ir.Expr) ir.Expr { // changes nothing, and tells back ends how large an index can be
		return &ir.Math{Fn: ir.IMin, Args: []ir.Expr{x, y}, T: ir.IntType, At: at}
	}
	top := least(add(lo, binary(ir.Mul, ref(line, at), height, at)), hi)
	side := add(left, binary(ir.Mul, binary(ir.Sub, ref(k, at), binary(ir.Mul, ref(line, at), across, at), at), width, at))
	if b.slabs != nil {
		most := func(x, y ir.Expr) ir.Expr {
			return &ir.Math{Fn: ir.IMax, Args: []ir.Expr{x, y}, T: ir.IntType, At: at}
		}
		top, side = most(top, lo), most(least(side, right), left)
	}
	turn := []ir.Stmt{decl(line, least(div(ref(k, at), across), down), at), decl(i0, top, at), decl(j0, side, at)}
	if b.slabs != nil {
		return t.turns(out, append(turn, t.inTurn(b, i0, j0, hi, right, at)...), k, total, first, stride, at)
	}
	whole := compare(ir.LAnd, compare(ir.Le, add(ref(i0, at), height), hi, at), compare(ir.Le, add(ref(j0, at), width), right, at), at)
	lane, level := binary(ir.Sub, me, mul(div(me, intConst(blockLanes, at)), blockLanes), at), div(me, intConst(blockLanes, at))
	turn = append(turn, &ir.If{Cond: whole, Then: t.jammed(b, add(ref(i0, at), mul(level, b.rows)), add(ref(j0, at), lane), at),
		Else: t.partBlock(b, i0, j0, height, width, hi, right, at), At: at})
	return t.turns(out, turn, k, total, first, stride, at)
}

// turns runs turn for the blocks k that a team takes, behind what out computes.
func (t *team) turns(out, turn []ir.Stmt, k *ir.Var, total, first, stride ir.Expr, at ir.Pos) []ir.Stmt {
	next := assign(ref(k, at), binary(ir.Add, ref(k, at), stride, at), at)
	loop := &ir.While{Label: &ir.Label{}, Cond: compare(ir.Lt, ref(k, at), total, at), Post: []ir.Stmt{next}, Body: turn, At: at}
	return []ir.Stmt{&ir.Block{Body: append(out, decl(k, first, at), loop), At: at}}
}

// jammed runs the rows from i on and the columns from j on, a team's width apart.
func (t *team) jammed(b *block, i, j ir.Expr, at ir.Pos) []ir.Stmt {
	rows, columns := make([]*ir.Var, b.rows), make([]*ir.Var, b.columns)
	var out []ir.Stmt
	for r := range rows {
		rows[r] = t.local(b.row.Var.Name, ir.IntType, at)
		from := i
		if r > 0 {
			from = binary(ir.Add, ref(rows[0], at), intConst(int64(r), at), at)
		}
		out = append(out, decl(rows[r], from, at))
	}
	for c := range columns {
		columns[c] = t.local(b.column.Var.Name, ir.IntType, at)
		from := j
		if c > 0 {
			from = binary(ir.Add, ref(columns[0], at), intConst(int64(c)*blockLanes, at), at)
		}
		out = append(out, decl(columns[c], from, at))
	}
	var copies [][]ir.Stmt
	for r := range rows {
		for c := range columns {
			mine := paramsOf(map[*ir.Var]*ir.Var{b.row.Var: rows[r], b.column.Var: columns[c]})
			copies = append(copies, t.copyOf(mine.CopyStmts(b.body), &t.kernel.NumVars))
		}
	}
	return append(out, t.fused(copies)...)
}

// fused is interleaved with the loops at the same place of all copies made one.
func (t *team) fused(copies [][]ir.Stmt) []ir.Stmt {
	var out []ir.Stmt
	for k, s := range copies[0] {
		f, ok := s.(*ir.For)
		if !ok {
			one := make([][]ir.Stmt, len(copies))
			for u := range copies {
				one[u] = copies[u][k : k+1]
			}
			out = append(out, t.interleaved(one)...)
			continue
		}
		bodies := make([][]ir.Stmt, len(copies))
		for u := range copies {
			g := copies[u][k].(*ir.For)
			bodies[u] = paramsOf(map[*ir.Var]*ir.Var{g.Var: f.Var}).CopyStmts(flat(g.Body))
		}
		one := *f
		one.Label, one.Unroll = &ir.Label{}, blockUnroll
		one.Body = t.interleaved(bodies)
		out = append(out, &one)
	}
	return out
}

// partBlock runs a block at the edge of the space, whose iterations the threads share out one by one.
func (t *team) partBlock(b *block, i0, j0 *ir.Var, height, width, bottom, right ir.Expr, at ir.Pos) []ir.Stmt {
	least := func(size, end ir.Expr, from *ir.Var) ir.Expr {
		return &ir.Math{Fn: ir.IMin, Args: []ir.Expr{size, binary(ir.Sub, end, ref(from, at), at)}, T: ir.IntType, At: at}
	}
	rows, out := t.temp("rows", least(height, bottom, i0), nil)
	columns, out := t.temp("columns", least(width, right, j0), out)
	e, line := t.local("e", ir.IntType, at), t.local("line", ir.IntType, at)
	body := t.copyOf([]ir.Stmt{&ir.Block{Body: append([]ir.Stmt{
		decl(line, &ir.Binary{Op: ir.Div, X: ref(e, at), Y: columns, T: ir.IntType, At: at}, at),
		decl(b.row.Var, binary(ir.Add, ref(i0, at), ref(line, at), at), at),
		decl(b.column.Var, binary(ir.Add, ref(j0, at), binary(ir.Sub, ref(e, at), binary(ir.Mul, ref(line, at), columns, at), at), at), at),
	}, slices.Clone(b.body)...), At: at}}, &t.kernel.NumVars)[0].(*ir.Block).Body
	return append(out, t.stride(e, binary(ir.Mul, rows, columns, at), body, at)...)
}
