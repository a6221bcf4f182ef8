// Package blocks has the strategies "blocks" and "squares": a thread executes a register tile of
// two parallel loops, or a team a square of them through team memory.
package blocks

import (
	"slices"
	"strconv"

	"github.com/gompss/gompss/codegen/internal/analysis"
	"github.com/gompss/gompss/codegen/internal/analysis/affine"
	"github.com/gompss/gompss/codegen/internal/integers"
	"github.com/gompss/gompss/codegen/internal/lower/crews"
	"github.com/gompss/gompss/codegen/internal/lower/forms"
	"github.com/gompss/gompss/codegen/internal/lower/spaces"
	"github.com/gompss/gompss/codegen/internal/lower/strategy/bodies"
	"github.com/gompss/gompss/codegen/ir"
	"github.com/gompss/gompss/codegen/ir/build"
	"github.com/gompss/gompss/codegen/ir/query"
)

// The strategy "blocks" is register tiling of a nest of two parallel loops, rows and columns,
// around an inner loop, such as a matrix product. A thread executes several rows and columns
// together and runs the inner loop once for all of them, so that an element that it loads is used
// by all columns of a row, or by all rows of a column. For each row and column the inner loop keeps
// the order of its iterations, so the results are bit-identical. A team takes a rectangle of rows
// and columns, in which 32 neighbouring threads take neighbouring columns, or neighbouring groups
// of columns: their accesses are contiguous in memory. Source: measured on an H200, product of 4096
// x 4096 matrices of float32 without contraction, kernels written by hand: 4.9 TFLOP/s with an
// element a thread, 8.0 with 4 rows, 10.4 with 8 rows, 16.1 with 4 rows and 4 columns, 16.4 with 8
// and 4.

const (
	blockLanes = 32 // neighbouring threads of a team that take columns of the same rows
)

// A block describes the register tile of a thread and the nest that it is cut from.
type block struct {
	outer         []*ir.For // the loops around row and column
	row, column   *ir.For
	body          []ir.Stmt    // body of an iteration
	fast          []ir.Stmt    // body if inside holds, with short loops unrolled
	inside        []ir.Expr    // conditions over row and column under which fast is correct
	boundary      []ir.Stmt    // body where inside may fail, with short loops unrolled; nil if it is not worth it
	wrapped       int          // number of remainders and minima of body that fast does not need
	rows, columns int64        // size of the tile of a thread
	lanes         int64        // neighbouring threads that take columns of the same rows
	near          columnLayout // whether the columns of a thread are contiguous
	flat          bool         // the nest has no loop but column: all warps of a team share the columns
	slabs         []*panelValue
}

// apart is how far the columns of a thread are from each other.
func (b *block) apart() int64 {
	if b.near != stridedColumns {
		return 1
	}
	return b.lanes
}

// first is the column that the first block begins at: aligned columns begin at a multiple, of which
// those below the first of the loop are left out.
func (b *block) first() ir.Expr {
	lo, known := query.Int64(b.column.Lo)
	if b.near != alignedColumns || !known {
		return b.column.Lo
	}
	return build.Int(lo-(lo%b.columns+b.columns)%b.columns, b.column.At)
}

// early reports whether first is below the first column of the loop.
func (b *block) early() bool { return !query.Same(b.first(), b.column.Lo) }

// Share returns the loop over sp in which each thread executes a register tile, or nil if this is
// not legal or not profitable.
func Share(t *crews.Crew, sp *spaces.Space, d *ir.Directive, p spaces.Portion, body []ir.Stmt) []ir.Stmt {
	switch d.Schedule.Kind {
	case ir.ScheduleNone, ir.ScheduleStatic, ir.ScheduleAuto:
	default:
		return nil
	}
	n := len(sp.Loops)
	if t.Slow || p.Only != nil || d.Schedule.Chunk != nil || !t.WholeTeams() || forms.LeavesIteration(body, sp.Label) {
		return nil
	}
	b := &block{column: sp.Loops[sp.Order[n-1]], body: mergeStores(bodies.Propagate(query.Flatten(body))), lanes: blockLanes}
	if n == 1 { // one row
		b.flat = true
		one := t.Local("row", ir.IntType, sp.At)
		b.row = &ir.For{Label: &ir.Label{}, Var: one, Lo: build.Int(0, sp.At), Hi: build.Int(1, sp.At), Step: build.Int(1, sp.At), Rel: ir.Lt, At: sp.At}
	} else {
		b.row = sp.Loops[sp.Order[n-2]]
	}
	for _, k := range sp.Order[:max(n-2, 0)] {
		b.outer = append(b.outer, sp.Loops[k])
		if !forms.Counts(sp.Loops[k]) {
			return nil
		}
	}
	if !forms.Counts(b.row) || !forms.Counts(b.column) || !measure(t, b) {
		return nil
	}
	at := sp.At
	t.Launch.Warps = true
	t.Trips.Width = max(t.Trips.Width, int(b.rows*b.columns))
	columns := " columns"
	if b.near != stridedColumns {
		columns = " neighbouring columns"
	}
	t.Decide(at, "loop "+b.row.Var.Text(), strconv.Itoa(int(b.rows))+" rows and "+strconv.Itoa(int(b.columns))+columns+" of loop "+b.column.Var.Text()+" in a thread at once",
		"what one of them loads serves the others", "schedule(onetoone)")
	switch {
	case b.slabs != nil:
		t.LimitThreads(build.Int(slabTeam, at))
		t.Launch.Threads, t.Launch.ResidentTeams = slabTeam, t.Device().Tuning.Slabs.Teams
		t.Decide(at, "inner loops of "+b.row.Var.Name, "slabs of "+strconv.Itoa(slabLength)+" iterations in team memory",
			"all rows and columns of a team read them: each element is loaded once for the team", "schedule(onetoone)")
	case t.Launch.Threads == 0:
		t.Launch.Threads = b.threads(t.Device().Tuning.Blocks.Team)
	}
	return overBlocks(t, b, p, at)
}

// threads returns the smallest team size that covers the rows of the nest, at most most, or 0 if
// the device chooses the size.
func (b *block) threads(most int64) int {
	rows, ok := analysis.ConstTrips(b.row)
	if !ok || b.flat {
		return 0
	}
	n := (rows + b.rows - 1) / b.rows * b.lanes
	return int(min(max((n+forms.LeastWarp-1)/forms.LeastWarp*forms.LeastWarp, forms.LeastWarp), most))
}

// measure chooses the rows and columns of a thread. It reports false if the body has other
// statements than loads, arithmetic, and inner loops with the same bounds in all iterations.
func measure(t *crews.Crew, b *block) bool {
	own := ir.Declared(b.body)
	own.Add(b.row.Var)
	own.Add(b.column.Var)
	for _, v := range ir.Assigned(b.body).List() {
		if !own.Has(v) {
			return false
		}
	}
	if len(ir.AddressTaken(b.body).List()) > 0 {
		return false
	}
	if len(b.outer) == 0 && !b.flat && bodies.Blockable(t, b.body, own) {
		given, words, inner := b.body, ir.Bytes(0), false
		b.body = namesOut(given)
		for _, s := range b.body {
			switch s := s.(type) {
			case *ir.Decl:
				words += max(s.Var.Type.Size, 4) / 4
			case *ir.For:
				inner = true
			}
		}
		if inner && inSlabs(t, b, words) {
			return true
		}
		b.body = given
	}
	most := int64(outMost)
	if b.flat {
		most = outFlat
	}
	b.fast = unrollLoops(t, b.body, most)
	every := b.fast
	b.splitWrapped()
	b.splitInside()
	if len(b.inside) > 0 && !slices.ContainsFunc(every, bodies.HasLoop) && !slices.ContainsFunc(every, storesUnder) && bodies.Blockable(t, every, own) {
		b.boundary = every
	}
	if !bodies.Blockable(t, b.fast, own) || b.flat && slices.ContainsFunc(b.fast, bodies.HasLoop) {
		return false // several columns a thread would evict the elements that an inner loop reads repeatedly
	}
	if b.flat && inRecords(b.fast, b.column.Var) {
		return false
	}
	return chooseBlock(t, b)
}

// inRecords reports whether list has an access whose index advances by more than one element with
// v, as accesses to members of records do. Neighbouring iterations then share cache lines, which
// stay in the cache only if a thread executes few iterations together.
func inRecords(list []ir.Stmt, v *ir.Var) bool {
	found := false
	ir.WalkExprs(list, func(e ir.Expr) bool {
		if ix, ok := e.(*ir.Index); ok && ix.X.Type().Kind == ir.Slice {
			form, known := affine.Of(ix.I)
			coef, ok := form.Coef(v)
			c, isConst := coef.Const()
			found = found || known && ok && isConst && integers.Magnitude(c) > 1
		}
		return !found
	})
	return found
}

// storesUnder reports whether s is a branch with a store: code of several rows and columns gains
// nothing where a load in front of each store has to wait for the store before it.
func storesUnder(s ir.Stmt) bool {
	found := false
	_, branch := s.(*ir.If)
	ir.WalkStmts([]ir.Stmt{s}, func(s ir.Stmt) bool {
		a, ok := s.(*ir.Assign)
		found = found || branch && ok && !query.IsRef(a.Place)
		return !found
	})
	return found
}

// overBlocks returns the loop in which the teams execute the blocks of the iteration space.
func overBlocks(t *crews.Crew, b *block, p spaces.Portion, at ir.Pos) []ir.Stmt {
	me := build.Query(ir.ThreadNum, at)
	add := func(x, y ir.Expr) ir.Expr { return build.Binary(ir.Add, x, y, at) }
	mul := func(x ir.Expr, c int64) ir.Expr { return build.Binary(ir.Mul, x, build.Int(c, at), at) }
	div := func(x, y ir.Expr) ir.Expr { return &ir.Binary{Op: ir.Div, X: x, Y: y, T: ir.IntType, At: at} }
	over := func(f *ir.For, size ir.Expr) ir.Expr { // number of blocks in the iterations of f
		n := build.Trips(f, f.Lo, f.Hi, f.Step)
		return div(build.Binary(ir.Sub, add(n, size), build.Int(1, at), at), size)
	}
	warps := div(build.Query(ir.NumThreads, at), build.Int(b.lanes, at))
	height, out := t.Temp("height", mul(warps, b.rows), nil)
	var width ir.Expr = build.Int(b.lanes*b.columns, at)
	if b.flat {
		height = build.Int(1, at)
		width, out = t.Temp("width", mul(warps, b.lanes*b.columns), nil)
	}
	lo, out := t.Temp("top", b.row.Lo, out)
	hi, out := t.Temp("bottom", b.row.Hi, out)
	left, out := t.Temp("left", b.first(), out)
	right, out := t.Temp("right", b.column.Hi, out)
	wide := *b.column
	wide.Lo = b.first()
	across, out := t.Temp("across", over(&wide, width), out)
	down, out := t.Temp("down", over(b.row, height), out)
	plane := build.Binary(ir.Mul, down, across, at)
	if len(b.outer) > 0 {
		plane, out = t.Temp("plane", plane, out)
	}
	total := plane
	var counts []ir.Expr // trip counts of the outer loops
	for _, f := range b.outer {
		var n ir.Expr
		n, out = t.Temp("count", build.Trips(f, f.Lo, f.Hi, f.Step), out)
		counts = append(counts, n)
		total = build.Binary(ir.Mul, total, n, at)
	}
	total, out = t.Temp("blocks", total, out)

	k := t.Local("block", ir.IntType, at)
	first, stride := ir.Expr(build.Int(0, at)), ir.Expr(build.Int(1, at))
	if _, ok := p.First.(*ir.Binary); ok {
		first, stride = build.Query(ir.TeamNum, at), build.Query(ir.NumTeams, at)
	}
	i0, j0 := t.Local(b.row.Var.Name+"0", ir.IntType, at), t.Local(b.column.Var.Name+"0", ir.IntType, at)
	line := t.Local("line", ir.IntType, at)
	least := func(x, y ir.Expr) ir.Expr { // without effect on the value; gives back ends the range of an index
		return &ir.Math{Fn: ir.IMin, Args: []ir.Expr{x, y}, T: ir.IntType, At: at}
	}
	most := func(x, y ir.Expr) ir.Expr {
		return &ir.Math{Fn: ir.IMax, Args: []ir.Expr{x, y}, T: ir.IntType, At: at}
	}
	turn, inPlane := around(t, b, build.Ref(k, at), plane, counts, at)
	top := most(least(add(lo, build.Binary(ir.Mul, build.Ref(line, at), height, at)), hi), lo)
	side := add(left, build.Binary(ir.Mul, build.Binary(ir.Sub, inPlane, build.Binary(ir.Mul, build.Ref(line, at), across, at), at), width, at))
	side = most(least(side, right), left)
	turn = append(turn, build.Decl(line, least(div(inPlane, across), down), at), build.Decl(i0, top, at), build.Decl(j0, side, at))
	if b.slabs != nil {
		return turns(t, out, append(turn, inTurn(t, b, i0, j0, hi, right, at)...), k, total, first, stride, at)
	}
	lane, level := build.Binary(ir.Sub, me, mul(div(me, build.Int(b.lanes, at)), b.lanes), at), div(me, build.Int(b.lanes, at))
	i, j := t.Local(b.row.Var.Name, ir.IntType, at), t.Local(b.column.Var.Name, ir.IntType, at)
	whole := build.Compare(ir.LAnd, build.Compare(ir.Le, add(build.Ref(i, at), build.Int(b.rows, at)), hi, at),
		build.Compare(ir.Lt, add(build.Ref(j, at), build.Int((b.columns-1)*b.apart(), at)), right, at), at)
	if b.early() {
		whole = build.Compare(ir.LAnd, whole, build.Compare(ir.Le, b.column.Lo, build.Ref(j, at), at), at)
	}
	and := func(cond ir.Expr, more []ir.Expr) ir.Expr {
		for _, c := range more {
			cond = build.Compare(ir.LAnd, cond, c, at)
		}
		return cond
	}
	if b.near != stridedColumns {
		lane = mul(lane, b.columns)
	}
	mine, own := add(build.Ref(i0, at), mul(level, b.rows)), add(build.Ref(j0, at), lane)
	if b.flat {
		mine, own = build.Ref(i0, at), add(add(build.Ref(j0, at), mul(level, b.lanes*b.columns)), lane)
	}
	turn = append(turn, build.Decl(i, mine, at), build.Decl(j, own, at))
	rest := oneByOne(t, b, i, j, hi, right, at)
	high, okHigh := affine.Of(height)
	broad, okBroad := affine.Of(width)
	if b.boundary == nil || !okHigh || !okBroad {
		inside := b.insideTests(i, j, affine.Constant(b.rows), affine.Constant((b.columns-1)*b.apart()+1))
		turn = append(turn, &ir.If{Cond: and(whole, inside), Then: jammed(t, b, i, j, false, at), Else: rest, At: at})
		return turns(t, out, turn, k, total, first, stride, at)
	}
	// All threads of a team take the same side: a warp that took both would take as long as both.
	team := build.Compare(ir.LAnd, build.Compare(ir.Le, add(build.Ref(i0, at), height), hi, at), build.Compare(ir.Le, add(build.Ref(j0, at), width), right, at), at)
	if b.early() {
		team = build.Compare(ir.LAnd, team, build.Compare(ir.Le, b.column.Lo, build.Ref(j0, at), at), at)
	}
	turn = append(turn, &ir.If{Cond: and(team, b.insideTests(i0, j0, high, broad)), Then: jammed(t, b, i, j, false, at),
		Else: []ir.Stmt{&ir.If{Cond: whole, Then: jammed(t, b, i, j, true, at), Else: rest, At: at}}, At: at})
	return turns(t, out, turn, k, total, first, stride, at)
}

// around declares the induction variables of the outer loops in block k. It returns the
// declarations and the number of the block in the plane of row and column.
func around(t *crews.Crew, b *block, k, plane ir.Expr, counts []ir.Expr, at ir.Pos) ([]ir.Stmt, ir.Expr) {
	if len(b.outer) == 0 {
		return nil, k
	}
	var out []ir.Stmt
	number, out := t.Temp("outer", &ir.Binary{Op: ir.Div, X: k, Y: plane, T: ir.IntType, At: at}, out)
	inPlane, out := t.Temp("inPlane", build.Binary(ir.Sub, k, build.Binary(ir.Mul, number, plane, at), at), out)
	for n := len(b.outer) - 1; n >= 0; n-- {
		f := b.outer[n]
		digit := number
		if n > 0 {
			var rest ir.Expr
			rest, out = t.Temp("rest", &ir.Binary{Op: ir.Div, X: number, Y: counts[n], T: ir.IntType, At: at}, out)
			digit = build.Binary(ir.Sub, number, build.Binary(ir.Mul, rest, counts[n], at), at)
			number = rest
		}
		own := &ir.Math{Fn: ir.IMin, Args: []ir.Expr{build.Binary(ir.Add, f.Lo, digit, at), f.Hi}, T: ir.IntType, At: at}
		own = &ir.Math{Fn: ir.IMax, Args: []ir.Expr{own, f.Lo}, T: ir.IntType, At: at} // without effect on the value: gives back ends the range
		out = append(out, build.Decl(f.Var, own, at))
	}
	return out, inPlane
}

// turns returns out followed by the loop that runs turn for each block k of a team.
func turns(t *crews.Crew, out, turn []ir.Stmt, k *ir.Var, total, first, stride ir.Expr, at ir.Pos) []ir.Stmt {
	next := build.Assign(build.Ref(k, at), build.Binary(ir.Add, build.Ref(k, at), stride, at), at)
	loop := &ir.While{Label: &ir.Label{}, Cond: build.Compare(ir.Lt, build.Ref(k, at), total, at), Post: []ir.Stmt{next}, Body: turn, At: at}
	return []ir.Stmt{&ir.Block{Body: append(out, build.Decl(k, first, at), loop), At: at}}
}

// jammed returns the unroll-and-jammed body: b.rows rows from i on, and b.columns columns from j on
// with a stride of b.apart(), some of them at the boundary or none.
func jammed(t *crews.Crew, b *block, i, j *ir.Var, boundary bool, at ir.Pos) []ir.Stmt {
	rows, columns := make([]*ir.Var, b.rows), make([]*ir.Var, b.columns)
	var out []ir.Stmt
	for r := range rows {
		rows[r] = t.Local(b.row.Var.Name, ir.IntType, at)
		from := ir.Expr(build.Ref(i, at))
		if r > 0 {
			from = build.Binary(ir.Add, build.Ref(rows[0], at), build.Int(int64(r), at), at)
		}
		out = append(out, build.Decl(rows[r], from, at))
	}
	left := ir.Expr(build.Ref(j, at))
	if b.near == alignedColumns { // the first of a block is a multiple already, which back ends see by this
		left = &ir.Binary{Op: ir.And, X: left, Y: build.Int(-b.columns, at), T: ir.IntType, At: at}
	}
	for c := range columns {
		columns[c] = t.Local(b.column.Var.Name, ir.IntType, at)
		from := left
		if c > 0 {
			from = build.Binary(ir.Add, build.Ref(columns[0], at), build.Int(int64(c)*b.apart(), at), at)
		}
		out = append(out, build.Decl(columns[c], from, at))
	}
	body := b.fast
	if boundary {
		body = b.boundary
	}
	var copies [][]ir.Stmt
	for r := range rows {
		for c := range columns {
			mine := build.WithVars(map[*ir.Var]*ir.Var{b.row.Var: rows[r], b.column.Var: columns[c]})
			copies = append(copies, t.CopyOf(mine.CopyStmts(body), &t.Kernel.NumVars))
		}
	}
	out = append(out, bodies.Fuse(t, copies)...)
	return b.loadsOnce(t, out, rows[0], columns[0])
}

// oneByOne returns the remainder loops: they execute the part of a thread's block that lies inside
// the iteration space, one iteration at a time.
func oneByOne(t *crews.Crew, b *block, i, j *ir.Var, bottom, right ir.Expr, at ir.Pos) []ir.Stmt {
	end := &ir.Math{Fn: ir.IMin, Args: []ir.Expr{build.Binary(ir.Add, build.Ref(i, at), build.Int(b.rows, at), at), bottom}, T: ir.IntType, At: at}
	least := &ir.Math{Fn: ir.IMin, Args: []ir.Expr{build.Binary(ir.Add, build.Ref(j, at), build.Int(b.columns*b.apart(), at), at), right}, T: ir.IntType, At: at}
	from := ir.Expr(build.Ref(j, at))
	if b.early() {
		from = &ir.Math{Fn: ir.IMax, Args: []ir.Expr{from, b.column.Lo}, T: ir.IntType, At: at}
	}
	columns := &ir.For{Label: &ir.Label{}, Var: b.column.Var, Lo: from, Hi: least, Step: build.Int(b.apart(), at), Rel: ir.Lt, Unroll: 1,
		Body: slices.Clone(b.body), At: at}
	rows := &ir.For{Label: &ir.Label{}, Var: b.row.Var, Lo: build.Ref(i, at), Hi: end, Step: build.Int(1, at), Rel: ir.Lt, Unroll: 1,
		Body: []ir.Stmt{columns}, At: at}
	return t.CopyOf([]ir.Stmt{rows}, &t.Kernel.NumVars)
}
