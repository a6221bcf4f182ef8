package mapping

import (
	"math"
	"slices"

	"github.com/gompss/gompss/codegen/internal/analysis"
	"github.com/gompss/gompss/codegen/internal/analysis/affine"
	"github.com/gompss/gompss/codegen/ir"
	"github.com/gompss/gompss/codegen/ir/build"
	"github.com/gompss/gompss/codegen/ir/query"
)

// Few iterations that each add up much do not fill a device. Their sums are cut into parts: one
// loop of the league adds up the parts, and leaves them in device memory, and one behind it adds up
// the parts of each iteration in their order. Of rows, a team has a part, and where rows read the
// same elements a part of several rows; of columns, a thread has a part, beside those of the
// neighbours. Into how many parts follows from the numbers of iterations of the two loops alone,
// on every device, and so does the order of the operations of a thread.

// A cut says into how many parts sums are cut. That shows in the last bits of sums of floats, which
// are to be the same on every device: none of these numbers is one of a target.
type cut struct {
	few    int64 // iterations that are cut at most: more of them fill a device as they are
	pieces int64 // of work that are made of all iterations together
	least  int64 // iterations of the inner loop in a part
}

var (
	cutRows    = cut{few: 1 << 9, pieces: 1 << 10, least: 1 << 12} // for teams
	cutColumns = cut{few: 1 << 10, pieces: 1 << 17, least: 1 << 8} // for threads
)

const (
	mostSums    = 8              // of a thread, and statements of an iteration, where a team takes several rows
	rowsAtOnce  = 4              // rows that a team takes where they read the same elements
	columnAhead = 8              // elements of a column that a thread loads ahead
	rowsTeam    = rowTeamThreads // threads of a team
)

// A partSums is a loop whose iterations each do little more than add up.
type partSums struct {
	*Work
	f, g          *ir.For // the loop, and the one that adds up
	before, after []ir.Stmt
	sums          []ir.Reduction
	columns       bool
	atOnce        int64 // iterations of f that a team takes

	count, parts ir.Expr             // of iterations of f, and of parts of each
	conds        []ir.Expr           // of the ends of the loops
	held         *ir.Var             // parts, in the loop that is made
	memory       map[*ir.Var]*ir.Var // of the parts of each sum
}

// partSums returns f as such a loop, nil where it is none.
func sumsOfParts(l *Work, f *ir.For, body []ir.Stmt) *partSums {
	k := slices.IndexFunc(body, func(s ir.Stmt) bool { _, loop := s.(*ir.For); return loop })
	if k < 0 {
		return nil
	}
	x := &partSums{Work: l, f: f, g: body[k].(*ir.For), before: body[:k], after: body[k+1:], atOnce: 1, memory: map[*ir.Var]*ir.Var{}}
	x.held = l.Local("parts", ir.IntType, f.At)
	if x.sums = sumsOf(l, x.g); len(x.sums) == 0 || !x.plain() || !x.addsUp() {
		return nil
	}
	return x
}

// sumsOf returns the reductions of g that may be done in any order: of its clause, and those whose
// order does not show.
func sumsOf(l *Work, g *ir.For) []ir.Reduction {
	var out []ir.Reduction
	if g.Directive != nil {
		out = slices.Clone(g.Directive.Reductions)
	}
	for _, r := range analysis.OrderFree(l.Kernel, g) {
		if !slices.ContainsFunc(out, func(have ir.Reduction) bool { return query.PlaceVar(have.Place) == query.PlaceVar(r.Place) }) {
			out = append(out, r)
		}
	}
	return out
}

// plain reports whether what stands in front of the loop does nothing but compute variables of the
// iteration, and what stands behind it has no loop.
func (x *partSums) plain() bool {
	for _, s := range x.before {
		switch s := s.(type) {
		case *ir.Decl:
		case *ir.Assign:
			if !query.IsRef(s.Place) {
				return false
			}
		default:
			return false
		}
	}
	return query.OnlyPlain(x.after)
}

// addsUp reports whether the loop does nothing but add up: a store to memory could be read by
// another part.
func (x *partSums) addsUp() bool {
	if !query.OnlyPlain(query.Flatten(x.g.Body)) || storesToMemory(x.g.Body) {
		return false
	}
	sums := map[*ir.Var]bool{}
	for _, r := range x.sums {
		place, ok := r.Place.(*ir.Ref)
		if !ok || r.Index != nil || place.Var.Type.Size < 4 || !place.Var.Type.IsInteger() && !place.Var.Type.IsFloat() {
			return false
		}
		switch r.Op {
		case ir.Add, ir.Mul, ir.Min, ir.Max, ir.And, ir.Or, ir.Xor:
		default:
			return false
		}
		sums[place.Var] = true
	}
	inside := ir.Declared(x.g.Body)
	for _, v := range ir.Assigned(x.g.Body).List() {
		if !inside.Has(v) && !sums[v] {
			return false
		}
	}
	return true
}

// storesToMemory reports whether a statement assigns to anything but a whole variable.
func storesToMemory(list []ir.Stmt) bool {
	found := false
	ir.WalkStmts(list, func(s ir.Stmt) bool {
		a, is := s.(*ir.Assign)
		found = found || is && !query.IsRef(a.Place)
		return !found
	})
	return found
}

// upTo makes the two loops such as end in front of a bound, where they rise by one.
func (x *partSums) upTo() bool {
	for _, f := range []**ir.For{&x.f, &x.g} {
		if (*f).Rel == ir.Le {
			own := **f
			x.conds = append(x.conds, build.Compare(ir.Lt, own.Hi, build.Int(math.MaxInt64, own.At), own.At))
			own.Rel, own.Hi = ir.Lt, build.Binary(ir.Add, own.Hi, build.Int(1, own.At), own.At)
			*f = &own
		}
		if !risesByOne(*f) {
			return false
		}
	}
	return true
}

// fits reports whether neighbours in the inner loop are neighbours in memory, or those of f are,
// and whether the two loops are known before the first of them begins.
func (x *partSums) fits() bool {
	f, g := x.f, x.g
	if query.LeavesLoop(g) || len(ir.AddressTaken(append(slices.Clone(x.before), append([]ir.Stmt{g}, x.after...)...)).List()) > 0 {
		return false
	}
	if d := g.Directive; d != nil && (d.Parts&^ir.Simd != 0 || d.Scan != nil || len(d.Lastprivate)+len(d.Firstprivate)+len(d.Private) > 0) {
		return false
	}
	for _, e := range []ir.Expr{f.Lo, f.Hi, g.Lo, g.Hi} {
		if !query.LoadFree(e) || slices.ContainsFunc(ir.ExprVars(e).List(), func(v *ir.Var) bool { return v.Space != ir.Param }) {
			return false
		}
	}
	own := ir.Declared(x.before)
	for _, v := range ir.Assigned(append(slices.Clone(x.before), x.after...)).List() {
		if v.Type.IsScalar() && !own.Has(v) && !ir.Declared(x.after).Has(v) && v.Space == ir.Local {
			return false
		}
	}
	for _, s := range x.before {
		if d, ok := s.(*ir.Decl); ok && !d.Var.Type.IsScalar() {
			return false
		}
	}
	for _, r := range x.sums {
		if !own.Has(query.RefVar(r.Place)) {
			return false
		}
	}
	if query.Same(trips(f), trips(g)) {
		return false // then they are not few where they are long
	}
	m := analysis.NewDependences(x.Kernel)
	along, across := m.Stride1(g.Body, g.Var), m.Stride1(g.Body, f.Var)
	x.columns = across > along
	return max(along, across) > 0
}

// readsAlike reports whether iterations of f that are neighbours read an element in common.
func (x *partSums) readsAlike() bool {
	found := false
	ir.WalkExprs(x.g.Body, func(e ir.Expr) bool {
		if ix, ok := e.(*ir.Index); ok && ix.X.Type().Kind == ir.Slice {
			form, known := affine.Of(ix.I)
			found = found || known && form.Has(x.g.Var) && !form.Has(x.f.Var)
		}
		return !found
	})
	return found
}

// trips is how many iterations f has.
func trips(f *ir.For) ir.Expr {
	return build.Trips(f, build.Copy(f.Lo), build.Copy(f.Hi), build.Copy(f.Step))
}

// test says that there are at least two parts.
func (x *partSums) test() ir.Expr {
	at := x.f.At
	c := cutRows
	if x.columns {
		c = cutColumns
	} else if len(x.sums)*rowsAtOnce <= mostSums && len(query.Flatten(x.g.Body)) <= mostSums && x.readsAlike() {
		x.atOnce = rowsAtOnce
	}
	x.count = trips(x.f)
	pieces := build.IntMath(ir.IMax, x.groups(), build.Int(1, at))
	x.parts = build.IntMath(ir.IMin, &ir.Binary{Op: ir.Div, X: build.Int(c.pieces, at), Y: pieces, T: ir.IntType, At: at},
		&ir.Binary{Op: ir.Div, X: trips(x.g), Y: build.Int(c.least, at), T: ir.IntType, At: at})
	out := build.Compare(ir.LAnd, build.Compare(ir.Le, x.groups(), build.Int(c.few, at), at), build.Compare(ir.Ge, x.parts, build.Int(2, at), at), at)
	for _, c := range x.conds {
		out = build.Compare(ir.LAnd, c, out, at)
	}
	return out
}

// never reports whether the inner loop is known to be too short for two parts.
func (x *partSums) never() bool {
	least := cutRows.least
	if x.columns {
		least = cutColumns.least
	}
	n, known := ir.ConstInt(trips(x.g))
	return known && n < 2*least
}

// groups is how many groups of iterations there are that a team takes together.
func (x *partSums) groups() ir.Expr {
	if x.atOnce == 1 {
		return x.count
	}
	at := x.f.At
	return &ir.Binary{Op: ir.Div, X: build.Binary(ir.Add, x.count, build.Int(x.atOnce-1, at), at), Y: build.Int(x.atOnce, at), T: ir.IntType, At: at}
}

// inParts returns the two loops. rooms gets how much memory of the parts there has to be, contexts
// the declarations of that memory; test is true where the loops run.
func (x *partSums) inParts(test ir.Expr, rooms map[*ir.Var]ir.Expr) (contexts, loops []ir.Stmt) {
	at := x.f.At
	room := build.Choose(build.Copy(test), build.IntMath(ir.IMax, build.Binary(ir.Mul, build.Copy(x.count), build.Copy(x.parts), at), build.Int(1, at)), build.Int(1, at), at)
	for _, r := range x.sums {
		v := query.RefVar(r.Place)
		c := x.Local(v.Name+"Parts", ir.ArrayOf(v.Type, math.MaxInt32), at)
		x.memory[v], rooms[c] = c, room
		contexts = append(contexts, build.Decl(c, nil, at))
	}
	made := x.ofTeams
	if x.columns {
		made = x.ofThreads
	}
	why := "few iterations that add up much do not fill the device, and their sums may be done in any order"
	x.Decide(at, "loop "+x.f.Var.Text(), "parts of loop "+x.g.Var.Text()+", added up in a loop behind, where the iterations are few and long", why, AsItIs)
	return contexts, []ir.Stmt{made(), x.behind()}
}

// AsItIs is the directive by which a thread runs an iteration as it stands, where another schedule
// would not: chunks of a warp's iterations to the teams, one to a thread.
const AsItIs = "dist_schedule(static, 32)"

// A piece is one part of one iteration of f.
type piece struct {
	row        *ir.Var // the value of the variable of f
	sums       map[*ir.Var]*ir.Var
	begin, end []ir.Stmt // what stands in front of the loop, and what keeps the part
	body       []ir.Stmt // of the loop, over the variable of g
}

// piece makes part number p of iteration number n, which is that of row where that is not nil. kept
// says whether the part is needed.
func (x *partSums) piece(n ir.Expr, row *ir.Var, p, kept ir.Expr) piece {
	at := x.f.At
	out := piece{row: row, sums: map[*ir.Var]*ir.Var{}}
	number := x.Local("number", ir.IntType, at)
	out.begin = []ir.Stmt{build.Decl(number, n, at)}
	if row == nil {
		out.row = x.Local(x.f.Var.Name, x.f.Var.Type, at)
		out.begin = append(out.begin, build.Decl(out.row, build.Binary(ir.Add, build.Copy(x.f.Lo), build.Ref(number, at), at), at))
	}
	own := map[*ir.Var]*ir.Var{x.f.Var: out.row}
	for _, s := range x.before { // names of the piece's own
		if d, ok := s.(*ir.Decl); ok {
			own[d.Var] = x.Local(d.Var.Name, d.Var.Type, d.At)
		}
	}
	mine := build.WithVars(own)
	for _, s := range mine.CopyStmts(x.before) {
		if d, ok := s.(*ir.Decl); ok && slices.ContainsFunc(x.sums, func(r ir.Reduction) bool { return own[query.RefVar(r.Place)] == d.Var }) {
			continue
		}
		if a, ok := s.(*ir.Assign); ok && slices.ContainsFunc(x.sums, func(r ir.Reduction) bool { return own[query.RefVar(r.Place)] == query.RefVar(a.Place) }) {
			continue
		}
		out.begin = append(out.begin, s)
	}
	for _, r := range x.sums {
		v := query.RefVar(r.Place)
		part := own[v]
		out.sums[v] = part
		out.begin = append(out.begin, build.Decl(part, build.Identity(r.Op, v.Type, at), at))
		keep := build.Assign(x.cell(v, build.Ref(number, at), build.Copy(p)), build.Ref(part, at), at)
		if kept != nil {
			keep = &ir.If{Cond: build.Copy(kept), Then: []ir.Stmt{keep}, At: at}
		}
		out.end = append(out.end, keep)
	}
	out.body = x.CopyOf(mine.CopyStmts(query.Flatten(x.g.Body)), &x.Kernel.NumVars)
	return out
}

// cell is where part p of sum v of iteration number n lies: parts of one iteration are neighbours.
func (x *partSums) cell(v *ir.Var, n, p ir.Expr) ir.Expr {
	at := x.f.At
	return build.Index(build.Ref(x.memory[v], at), build.Binary(ir.Add, build.Binary(ir.Mul, n, build.Ref(x.held, at), at), p, at), at)
}

// bounds declares the bounds of part p of the loop.
func (x *partSums) bounds(p ir.Expr) (lo, hi *ir.Var, decls []ir.Stmt) {
	at, g := x.g.At, x.g
	long := x.Local("long", ir.IntType, at)
	each := build.Binary(ir.Sub, build.Binary(ir.Add, trips(g), build.Ref(x.held, at), at), build.Int(1, at), at)
	lo, hi = x.Local("from", ir.IntType, at), x.Local("to", ir.IntType, at)
	least := func(e ir.Expr) ir.Expr { return build.IntMath(ir.IMin, e, build.Copy(g.Hi)) }
	return lo, hi, []ir.Stmt{build.Decl(long, &ir.Binary{Op: ir.Div, X: each, Y: build.Ref(x.held, at), T: ir.IntType, At: at}, at),
		build.Decl(lo, least(build.Binary(ir.Add, build.Copy(g.Lo), build.Binary(ir.Mul, p, build.Ref(long, at), at), at)), at),
		build.Decl(hi, least(build.Binary(ir.Add, build.Ref(lo, at), build.Ref(long, at), at)), at)}
}

// along is the loop over part of g with body, and the reductions of pieces.
func (x *partSums) along(lo, hi *ir.Var, pieces []piece, parts ir.Parts, text string) ir.Stmt {
	at := x.g.At
	d := &ir.Directive{Parts: parts, Text: text, At: at}
	if x.g.Directive != nil {
		d.Private, d.Firstprivate = x.g.Directive.Private, x.g.Directive.Firstprivate
	}
	var body []ir.Stmt
	for _, p := range pieces {
		for _, r := range x.sums {
			own := r
			own.Place = build.Ref(p.sums[query.RefVar(r.Place)], at)
			d.Reductions = append(d.Reductions, own)
		}
		body = append(body, p.body...)
	}
	return &ir.For{Label: &ir.Label{}, Var: x.g.Var, Lo: build.Ref(lo, at), Hi: build.Ref(hi, at), Step: build.Int(1, at), Rel: ir.Lt, Body: body, Directive: d, At: at}
}

// over is the loop of the league over n numbers.
func (x *partSums) over(v *ir.Var, n ir.Expr, parts ir.Parts, text string, body []ir.Stmt) ir.Stmt {
	at := x.f.At
	loop := &ir.For{Label: &ir.Label{}, Var: v, Lo: build.Int(0, at), Hi: n, Step: build.Int(1, at), Rel: ir.Lt, Body: body, At: at,
		Directive: &ir.Directive{Parts: parts, Text: text, At: at, Sharing: ir.Sharing{Shared: x.f.Directive.Shared}}}
	if parts&ir.Parallel == 0 {
		loop.Directive.ThreadLimit = build.Int(rowsTeam, at)
	}
	return x.CopyOf([]ir.Stmt{loop}, &x.Kernel.NumVars)[0]
}

// split declares the digits of number q: the rest by n first, and how often n is in it.
func (x *partSums) split(q *ir.Var, n ir.Expr) (rest, times *ir.Var, decls []ir.Stmt) {
	at := x.f.At
	rest, times = x.Local("rest", ir.IntType, at), x.Local("part", ir.IntType, at)
	size := build.IntMath(ir.IMax, n, build.Int(1, at))
	return rest, times, []ir.Stmt{build.Decl(times, &ir.Binary{Op: ir.Div, X: build.Ref(q, at), Y: size, T: ir.IntType, At: at}, at),
		build.Decl(rest, build.Binary(ir.Sub, build.Ref(q, at), build.Binary(ir.Mul, build.Ref(times, at), build.Copy(size), at), at), at)}
}

// ofTeams is the loop whose teams each take a part of a row, or of several.
func (x *partSums) ofTeams() ir.Stmt {
	at := x.f.At
	q := x.Local("piece", ir.IntType, at)
	group, part, split := x.split(q, build.Copy(x.groups()))
	lo, hi, decls := x.bounds(build.Ref(part, at))
	body := append(append([]ir.Stmt{build.Decl(x.held, build.Copy(x.parts), at)}, split...), decls...)
	var pieces []piece
	first, apart := x.window(group)
	for k := range x.atOnce {
		if apart > 0 {
			pieces = append(pieces, x.piece(build.Binary(ir.Add, build.Copy(first), build.Int(k*apart, at), at), nil, build.Ref(part, at), nil))
			continue
		}
		n := build.Binary(ir.Add, build.Binary(ir.Mul, build.Ref(group, at), build.Int(x.atOnce, at), at), build.Int(k, at), at)
		var kept ir.Expr
		if k > 0 { // the last group may have fewer rows, and computes the last one again
			kept = build.Compare(ir.Lt, build.Copy(n), build.Copy(x.count), at)
			n = build.IntMath(ir.IMin, n, build.Binary(ir.Sub, build.Copy(x.count), build.Int(1, at), at))
		}
		pieces = append(pieces, x.piece(n, nil, build.Ref(part, at), kept))
	}
	for _, p := range pieces {
		body = append(body, p.begin...)
	}
	body = append(body, x.along(lo, hi, pieces, ir.Parallel|ir.Workshare, "parallel for"))
	for _, p := range pieces {
		body = append(body, p.end...)
	}
	n := build.Binary(ir.Mul, build.Copy(x.groups()), build.Copy(x.parts), at)
	return x.over(q, n, ir.Teams|ir.Distribute, "teams distribute", body)
}

// window returns the first row of a group whose rows share a sliding window, and how far its rows
// are apart; 0 where there is none.
//
// Where an element of row f is one of row f+d some iterations ahead, as in correlations, a thread
// that takes rows as far apart as its own iterations loads one element for all rows in an
// iteration, and has the others from the iterations before. The sums keep their order.
func (x *partSums) window(group *ir.Var) (first ir.Expr, apart int64) {
	at := x.f.At
	n, known := ir.ConstInt(x.count)
	if !known || x.atOnce == 1 || n%(x.atOnce*WarpTrips) != 0 || !x.slides() {
		return nil, 0
	}
	lane := &ir.Binary{Op: ir.Rem, X: build.Ref(group, at), Y: build.Int(WarpTrips, at), T: ir.IntType, At: at}
	block := build.Binary(ir.Sub, build.Ref(group, at), lane, at)
	return build.Binary(ir.Add, build.Binary(ir.Mul, block, build.Int(x.atOnce, at), at), build.Copy(lane), at), WarpTrips
}

// slides reports whether a row reads elements that another row reads in other iterations.
func (x *partSums) slides() bool {
	found := false
	ir.WalkExprs(x.g.Body, func(e ir.Expr) bool {
		if ix, ok := e.(*ir.Index); ok && ix.X.Type().Kind == ir.Slice {
			form, known := affine.Of(ix.I)
			across, okAcross := form.Coef(x.f.Var)
			along, okAlong := form.Coef(x.g.Var)
			a, constA := across.Const()
			b, constB := along.Const()
			found = found || known && okAcross && okAlong && constA && constB && a == b && a != 0
		}
		return !found
	})
	return found
}

// ofThreads is the loop whose threads each take a part of a column. The bounds of a part say of
// themselves that they are within those of the column.
func (x *partSums) ofThreads() ir.Stmt {
	at, g := x.f.At, x.g
	part, column := x.Local("part", ir.IntType, at), x.Local(x.f.Var.Name, ir.IntType, at)
	each := build.Binary(ir.Sub, build.Binary(ir.Add, trips(g), build.Copy(x.parts), at), build.Int(1, at), at)
	long := &ir.Binary{Op: ir.Div, X: each, Y: build.Copy(x.parts), T: ir.IntType, At: at}
	from := build.Binary(ir.Add, build.Copy(g.Lo), build.Binary(ir.Mul, build.Ref(part, at), long, at), at)
	lo := build.IntMath(ir.IMax, build.IntMath(ir.IMin, from, build.Copy(g.Hi)), build.Copy(g.Lo))
	hi := build.IntMath(ir.IMin, build.Binary(ir.Add, build.Copy(from), build.Copy(long), at), build.Copy(g.Hi))
	p := x.piece(build.Binary(ir.Sub, build.Ref(column, at), build.Copy(x.f.Lo), at), column, build.Ref(part, at), nil)
	along := &ir.For{Label: &ir.Label{}, Var: g.Var, Lo: lo, Hi: hi, Step: build.Int(1, at), Rel: ir.Lt, Unroll: columnAhead, Body: p.body, At: g.At}
	body := append(append([]ir.Stmt{build.Decl(x.held, build.Copy(x.parts), at)}, append(p.begin, along)...), p.end...)
	inner := &ir.For{Label: &ir.Label{}, Var: column, Lo: build.Copy(x.f.Lo), Hi: build.Copy(x.f.Hi), Step: build.Int(1, at), Rel: ir.Lt, Body: body, At: at}
	loop := x.over(part, build.Copy(x.parts), ir.Teams|ir.Distribute|ir.Parallel|ir.Workshare, "teams distribute parallel for collapse(2)", []ir.Stmt{inner}).(*ir.For)
	loop.Directive.Collapse = 2
	return loop
}

// behind is the loop that adds up the parts.
func (x *partSums) behind() ir.Stmt {
	at := x.f.At
	n, p := x.Local("number", ir.IntType, at), x.Local("part", ir.IntType, at)
	body := append([]ir.Stmt{build.Decl(x.held, build.Copy(x.parts), at), build.Decl(x.f.Var, build.Binary(ir.Add, build.Copy(x.f.Lo), build.Ref(n, at), at), at)}, build.WithVars(nil).CopyStmts(x.before)...)
	var add []ir.Stmt
	d := &ir.Directive{Parts: ir.Parallel | ir.Workshare, Text: "parallel for", At: at}
	for _, r := range x.sums {
		v := query.RefVar(r.Place)
		add = append(add, build.Assign(build.Ref(v, at), build.Combine(r.Op, build.Ref(v, at), x.cell(v, build.Ref(n, at), build.Ref(p, at)), at), at))
		own := r
		own.Place = build.Ref(v, at)
		d.Reductions = append(d.Reductions, own)
	}
	body = append(body, &ir.For{Label: &ir.Label{}, Var: p, Lo: build.Int(0, at), Hi: build.Copy(x.parts), Step: build.Int(1, at), Rel: ir.Lt, Body: add, Directive: d, At: at})
	body = append(body, build.WithVars(nil).CopyStmts(x.after)...)
	return x.over(n, build.Copy(x.count), ir.Teams|ir.Distribute, "teams distribute", body)
}
