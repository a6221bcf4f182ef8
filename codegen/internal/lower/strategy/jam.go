package strategy

import (
	"strconv"

	"github.com/gompss/gompss/codegen/internal/analysis"
	"github.com/gompss/gompss/codegen/internal/analysis/affine"
	"github.com/gompss/gompss/codegen/internal/integers"
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

// The strategy "several at once" is thread coarsening for short loops that are bound by memory
// latency: with one element a thread, too few bytes are in flight. A thread executes several
// iterations together, with the width of the team as their distance, and issues all their loads
// before the first store. The device compiler cannot do this, because it does not know that the
// iterations are independent. target.Jam determines their number.

// jam returns the loop over sp in which each thread executes several iterations together, or nil if
// this is not profitable. The partial sums are private to a thread, which adds to them in the order
// of its iterations.
func (t *Sharer) jam(sp *spaces.Space, d *ir.Directive, p spaces.Portion, body []ir.Stmt, sums []Sum) []ir.Stmt {
	switch d.Schedule.Kind {
	case ir.ScheduleNone, ir.ScheduleStatic, ir.ScheduleAuto:
	default:
		return nil
	}
	f := sp.Loops[0]
	step, _ := query.Int64(f.Step)
	if !sp.Direct() || step != 1 || f.Rel != ir.Lt || p.Only != nil || d.Schedule.Chunk != nil {
		return nil
	}
	if _, ok := p.First.(*ir.Binary); !ok && (!isQuery(p.First, ir.ThreadNum) || !isQuery(p.Stride, ir.NumThreads)) {
		return nil
	}
	body = forms.Flat(body)
	width := t.jamWidth(f, body, sums)
	if width < 2 || mayPass(sp, body) {
		return nil
	}
	t.Decide(sp.At, "loop "+f.Var.Text(), strconv.Itoa(width)+" iterations of a thread at once", "it waits for memory, of which more is then on its way",
		"schedule(onetoone)")
	return severalAtOnce(t, sp, p, coarse{width: width, one: body, each: body, merged: func(copies [][]ir.Stmt) []ir.Stmt { return bodies.Interleave(t.Crew, copies) }})
}

// A coarse is a body of which a thread executes several iterations together.
type coarse struct {
	width int
	one   []ir.Stmt // body of a single iteration
	each  []ir.Stmt // body of one of several iterations
	// successive returns the body of iteration i+u where the iterations of a thread are successive;
	// nil where they are a team's width apart.
	successive func(i *ir.Var, u int64) []ir.Stmt
	before     int64 // iterations that the first thread begins in front of the loop, less than width
	merged     func(copies [][]ir.Stmt) []ir.Stmt
}

// mayPass reports whether the counter of sp may pass the end of its type where a thread goes past
// the end of the loop: nothing in its body shows that it is an index of a slice in each iteration.
func mayPass(sp *spaces.Space, body []ir.Stmt) bool {
	if !sp.MayWrap {
		return false
	}
	v, index := sp.Loops[0].Var, false
	for _, s := range body {
		for _, e := range query.DirectExprs(s) {
			ir.WalkExpr(e, func(e ir.Expr) bool {
				switch x := e.(type) {
				case *ir.Index:
					form, ok := affine.Of(x.I)
					c, single := form.Coef(v)
					n, known := c.Const()
					index = index || ok && single && known && n != 0 && x.X.Type().Kind == ir.Slice
				case *ir.Binary:
					return x.Op != ir.LAnd && x.Op != ir.LOr
				case *ir.Select:
					return false
				}
				return true
			})
		}
	}
	return !index
}

// severalAtOnce returns the loop over sp, which is direct with step 1, in which each thread
// executes several iterations together.
func severalAtOnce(t *Sharer, sp *spaces.Space, p spaces.Portion, c coarse) []ir.Stmt {
	f := sp.Loops[0]
	me, ofTeam := p.First, isQuery(p.First, ir.ThreadNum) && isQuery(p.Stride, ir.NumThreads)
	if first, ok := p.First.(*ir.Binary); ok {
		me = first.Y
	}
	at := sp.At
	sharer := build.Query(ir.NumThreads, at)
	wide := func(x ir.Expr) ir.Expr { return build.Binary(ir.Mul, x, build.Int(int64(c.width), at), at) }
	hi, out := t.Temp("end", f.Hi, nil)
	base := t.Local("base", ir.IntType, at)
	start, far := wide(build.Binary(ir.Mul, build.Query(ir.TeamNum, at), sharer, at)), wide(build.Binary(ir.Mul, build.Query(ir.NumTeams, at), sharer, at))
	if ofTeam {
		start, far = build.Int(0, at), wide(sharer)
	}
	stride, out := t.Temp("stride", far, out)
	whole := build.Compare(ir.Le, build.Binary(ir.Add, build.Ref(base, at), wide(sharer), at), hi, at)
	rest := spaces.Portion{First: build.Query(ir.ThreadNum, at), Stride: sharer}
	tail, from := *f, f.Lo
	tail.Lo = build.Ref(base, at)
	if c.before > 0 {
		whole = build.Compare(ir.LAnd, build.Compare(ir.Le, f.Lo, build.Ref(base, at), at), whole, at)
		tail.Lo = build.IntMath(ir.IMax, build.Ref(base, at), f.Lo)
		tail.Hi = build.IntMath(ir.IMin, build.Binary(ir.Add, build.Ref(base, at), wide(sharer), at), hi)
		from = bodies.Fold(build.Binary(ir.Sub, f.Lo, build.Int(c.before, at), at))
	}
	one := &spaces.Space{Loops: []*ir.For{&tail}, Order: []int{0}, Label: sp.Label, At: at}
	turn := &ir.If{Cond: whole, Then: t.abreast(f, base, me, sharer, c), Else: forms.Unwrapped(t.Walk(one, rest, c.one, nil)), At: at}
	next := build.Assign(build.Ref(base, at), build.Binary(ir.Add, build.Ref(base, at), stride, at), at)
	loop := &ir.While{Label: &ir.Label{}, Cond: build.Compare(ir.Lt, build.Ref(base, at), hi, at), Post: []ir.Stmt{next},
		Body: []ir.Stmt{turn}, At: at}
	if !ofTeam {
		t.Trips.Width = max(t.Trips.Width, c.width)
	}
	list := []ir.Stmt{build.Decl(base, build.Binary(ir.Add, from, start, at), at), loop}
	if sp.MayWrap { // of a loop without iterations the first of a thread may lie in front of it
		list = []ir.Stmt{&ir.If{Cond: build.Compare(ir.Lt, f.Lo, hi, at), Then: list, At: at}}
	}
	return []ir.Stmt{&ir.Block{Body: append(out, list...), At: at}}
}

// WalkBlock returns the loop over sp, a part of the iterations of a loop, by ones and direct, that
// so many lanes share out, of which the thread that runs it is number lane; several iterations at
// once where that pays.
func WalkBlock(t *Sharer, sp *spaces.Space, lane ir.Expr, lanes int64, body []ir.Stmt, sums []Sum) []ir.Stmt {
	f, at := sp.Loops[0], sp.At
	plain := body
	body = forms.Flat(unchecked.Loops(t.Crew, body))
	width := t.jamWidth(f, body, sums)
	if width < 2 {
		return t.Walk(sp, spaces.Portion{First: lane, Stride: build.Int(lanes, at)}, unchecked.Loops(t.Crew, unchecked.HoistChecks(t.Crew, plain)), nil)
	}
	c := coarse{width: width, one: body, each: body, merged: func(copies [][]ir.Stmt) []ir.Stmt { return bodies.Interleave(t.Crew, copies) }}
	base := t.Local("base", ir.IntType, at)
	stride := build.Int(lanes*int64(width), at)
	after := build.Binary(ir.Add, build.Ref(base, at), stride, at)
	whole := &ir.While{Label: &ir.Label{}, Cond: build.Compare(ir.Le, after, f.Hi, at), Post: []ir.Stmt{build.Assign(build.Ref(base, at), after, at)},
		Body: t.abreast(f, base, lane, build.Int(lanes, at), c), At: at}
	tail := *f
	tail.Lo = build.Ref(base, at)
	one := &spaces.Space{Loops: []*ir.For{&tail}, Order: []int{0}, Label: sp.Label, At: at}
	rest := t.Walk(one, spaces.Portion{First: lane, Stride: build.Int(lanes, at)}, body, nil)
	return append([]ir.Stmt{build.Decl(base, f.Lo, at), whole}, rest...)
}

func isQuery(e ir.Expr, what ir.QueryKind) bool {
	q, ok := e.(*ir.Query)
	return ok && q.What == what
}

// jamWidth returns the number of iterations that a thread should execute together: as many as fill
// Tuning.Jam.Bytes with the largest elements that it accesses. It returns 1 if the body is more
// than a few contiguous loads and stores, or sums of loaded elements.
func (t *Sharer) jamWidth(f *ir.For, body []ir.Stmt, sums []Sum) int {
	var largest ir.Bytes
	ops, fine := 0, true
	parts := map[*ir.Var]bool{}
	for _, it := range sums {
		parts[it.Acc] = it.N == 0
		if it.Idx != nil {
			parts[it.Idx] = true
		}
	}
	for _, s := range body {
		switch s := s.(type) {
		case *ir.Decl:
			fine = fine && s.Var.Type.IsScalar()
		case *ir.Assign:
			fine = fine && s.Value.Type().IsScalar() && (len(parts) == 0 || query.IsRef(s.Place))
		case *ir.If:
			fine = fine && len(parts) > 0 && assignsOnly(s.Then) && assignsOnly(s.Else)
		default:
			return 1
		}
	}
	defs := &analysis.AccessList{Defs: affine.Definitions{}, Changed: ir.Assigned(body), Taken: ir.AddressTaken(body)}
	defs.Stmts(body)
	for _, a := range defs.List {
		coef, ok := a.Form.Coef(f.Var)
		c, isConst := coef.Const()
		fine = fine && a.Known && ok && isConst && integers.Magnitude(c) <= 1
	}
	ir.WalkExprs(body, func(e ir.Expr) bool {
		switch e := e.(type) {
		case *ir.Index:
			fine = fine && !e.Checked && e.X.Type().Kind == ir.Slice && e.Type().IsScalar()
			largest = max(largest, e.Type().Size)
		case *ir.Binary:
			fine = fine && !e.Checked
			ops++
		case *ir.Math:
			ops += unroll.MathCost(e.Fn, 4)
		case *ir.Member, *ir.Deref, *ir.AddrOf, *ir.Reslice, *ir.Query, *ir.Composite:
			fine = false
		}
		return fine
	})
	for _, v := range ir.Assigned(body).List() {
		fine = fine && (ir.Declared(body).Has(v) || parts[v])
	}
	jam := t.Device().Tuning.Jam
	if !fine || defs.Why != "" || len(defs.List) == 0 || ops > jam.Operations {
		return 1
	}
	if len(parts) > 0 {
		return int(min(jam.SumBytes/largest, 8))
	}
	return int(min(jam.Bytes/largest, 4))
}

// assignsOnly reports whether all statements of list assign variables.
func assignsOnly(list []ir.Stmt) bool {
	for _, s := range list {
		if a, ok := s.(*ir.Assign); !ok || !query.IsRef(a.Place) {
			return false
		}
	}
	return true
}

// abreast returns the code of several iterations of a thread.
func (t *Sharer) abreast(f *ir.For, base *ir.Var, me, sharers ir.Expr, c coarse) []ir.Stmt {
	at := f.At
	copies := make([][]ir.Stmt, c.width)
	if c.successive != nil {
		i := t.Local(f.Var.Name, f.Var.Type, at)
		for u := range copies {
			copies[u] = t.CopyOf(c.successive(i, int64(u)), &t.Kernel.NumVars)
		}
		mine := build.Binary(ir.Mul, me, build.Int(int64(c.width), at), at)
		return append([]ir.Stmt{build.Decl(i, build.Binary(ir.Add, build.Ref(base, at), mine, at), at)}, c.merged(copies)...)
	}
	var out []ir.Stmt
	for u := range copies {
		i := t.Local(f.Var.Name, f.Var.Type, at)
		offset := build.Binary(ir.Mul, sharers, build.Int(int64(u), at), at)
		if u == 0 {
			offset = build.Int(0, at)
		}
		out = append(out, build.Decl(i, build.Binary(ir.Add, build.Ref(base, at), build.Binary(ir.Add, offset, me, at), at), at))
		copies[u] = t.CopyOf(build.WithVars(map[*ir.Var]*ir.Var{f.Var: i}).CopyStmts(c.each), &t.Kernel.NumVars)
	}
	return append(out, c.merged(copies)...)
}

// jamRows is jam for a nest of several loops: a thread takes the same column of several successive
// rows, which share the cost of computing the indices. It is profitable only if the accesses are
// contiguous across threads.
func (t *Sharer) jamRows(sp *spaces.Space, d *ir.Directive, p spaces.Portion, body []ir.Stmt) []ir.Stmt {
	return severalRows(t, sp, d, p, body, "iterations of a thread at once", "they wait for memory, and what one loads the next may need", func(column *ir.For, body []ir.Stmt) bool {
		return t.jamWidth(column, body, nil) > 1
	})
}

// rowsOfPoint is jamRows for bodies with more than a few loads and stores, but without loops: the
// rows share the divisions that compute the row and column of an iteration, and the values that
// depend only on the column.
func rowsOfPoint(t *Sharer, sp *spaces.Space, d *ir.Directive, p spaces.Portion, body []ir.Stmt) []ir.Stmt {
	own, jam := ir.Declared(query.Flatten(body)), t.Device().Tuning.Jam
	return severalRows(t, sp, d, p, body, "rows of a column in a thread", "which row and column they are takes divisions, once for all of them", func(_ *ir.For, body []ir.Stmt) bool {
		ops, fine := 0, !forms.LeavesIteration(body, sp.Label) && query.OnlyPlain(body) && len(ir.AddressTaken(body).List()) == 0
		for _, v := range ir.Assigned(body).List() {
			fine = fine && own.Has(v)
		}
		ir.WalkExprs(body, func(e ir.Expr) bool {
			fine = fine && !query.Checks(e) // which fails first
			switch e := e.(type) {
			case *ir.Binary, *ir.Index:
				ops++
			case *ir.Math:
				ops += unroll.MathCost(e.Fn, jam.PointOperations/4)
			case *ir.Query, *ir.Deref, *ir.Reslice, *ir.Composite:
				fine = false
			}
			return true
		})
		return fine && ops <= jam.PointOperations && wordsIn(body) <= jam.PointWords
	})
}

// severalRows is jamRows if fits reports that it is profitable. what and why are the decision and
// its reason for gompss explain.
func severalRows(t *Sharer, sp *spaces.Space, d *ir.Directive, p spaces.Portion, body []ir.Stmt, what, why string, fits func(column *ir.For, body []ir.Stmt) bool) []ir.Stmt {
	switch d.Schedule.Kind {
	case ir.ScheduleNone, ir.ScheduleStatic, ir.ScheduleAuto:
	default:
		return nil
	}
	n := len(sp.Loops)
	if n < 2 || p.Only != nil || d.Schedule.Chunk != nil {
		return nil
	}
	row, column := sp.Loops[sp.Order[n-2]], sp.Loops[sp.Order[n-1]]
	step, ok := query.Int64(row.Step)
	body = forms.Flat(body)
	if t.Slow || !ok || step != 1 || row.Rel != ir.Lt && row.Rel != ir.Le || row.Var.Type.Kind != ir.Int64 || !fits(column, body) {
		return nil
	}
	at, abreast := sp.At, int64(t.Device().Tuning.Jam.Rows)
	first, out := t.Temp("first", row.Lo, nil)
	end := row.Hi
	if row.Rel == ir.Le {
		end = build.Binary(ir.Add, end, build.Int(1, at), at)
	}
	block := &ir.For{Label: &ir.Label{}, Var: t.Local("block", ir.IntType, at), Lo: build.Int(0, at), Step: build.Int(1, at), Rel: ir.Lt, At: at}
	rows := build.Trips(row, build.ToInt(row.Lo), build.ToInt(row.Hi), build.ToInt(row.Step))
	block.Hi = &ir.Binary{Op: ir.Div, X: build.Binary(ir.Add, rows, build.Int(abreast-1, at), at), Y: build.Int(abreast, at),
		T: ir.IntType, At: at}
	blocks := *sp
	blocks.Loops = append([]*ir.For{}, sp.Loops...)
	blocks.Loops[sp.Order[n-2]] = block
	blocks.Label = &ir.Label{}
	top := t.Local("top", ir.IntType, at)
	offset := build.Binary(ir.Mul, build.Ref(block.Var, at), build.Int(abreast, at), at)
	whole := build.Compare(ir.Le, build.Binary(ir.Add, build.Ref(top, at), build.Int(abreast, at), at), end, at)
	one := t.CopyOf([]ir.Stmt{&ir.For{Label: spaces.LabelOr(sp.Label), Var: row.Var, Lo: build.Ref(top, at), Hi: end, Step: build.Int(1, at),
		Rel: ir.Lt, Body: body, At: at}}, &t.Kernel.NumVars)
	// The minimum changes nothing, and tells back ends how large the index can be.
	least := &ir.Math{Fn: ir.IMin, Args: []ir.Expr{build.Binary(ir.Add, first, offset, at), end}, T: ir.IntType, At: at}
	turn := []ir.Stmt{build.Decl(top, least, at),
		&ir.If{Cond: whole, Then: t.belowEachOther(row, top, body), Else: one, At: at}}
	if k := len(t.Trips.Grid) - 1; k >= 0 && !t.Trips.Unknown {
		if host := t.OnHost(blocks.Count()); host != nil {
			t.Trips.Grid[k] = host
		}
	}
	t.Decide(at, "loop "+row.Var.Text(), strconv.FormatInt(abreast, 10)+" "+what,
		why, "schedule(onetoone)")
	return append(out, t.Walk(&blocks, p, turn, nil)...)
}

// belowEachOther runs Tuning.Jam.Rows iterations of body from top on, as abreast does.
func (t *Sharer) belowEachOther(row *ir.For, top *ir.Var, body []ir.Stmt) []ir.Stmt {
	var out []ir.Stmt
	copies := make([][]ir.Stmt, t.Device().Tuning.Jam.Rows)
	for u := range copies {
		i := t.Local(row.Var.Name, row.Var.Type, row.At)
		out = append(out, build.Decl(i, build.Binary(ir.Add, build.Ref(top, row.At), build.Int(int64(u), row.At), row.At), row.At))
		copies[u] = t.CopyOf(build.WithVars(map[*ir.Var]*ir.Var{row.Var: i}).CopyStmts(body), &t.Kernel.NumVars)
	}
	return append(out, bodies.Interleave(t.Crew, copies)...)
}

// Iterations that all go through one table, and for each entry of it through what is their own, as
// points against the centres of clusters do: a thread takes several of them at once, for which it
// loads the table once, and several entries, for which it loads its own once. The iterations of a
// thread are a team apart; entries are compared in their order, so every bit stays.

// points returns the loop over sp whose threads take several iterations at once, nil where they
// share no table or it is not right. With windows, iterations may each read a window of a slice
// that they have in part in common with their neighbours, as those of a filter do.
func points(t *Sharer, sp *spaces.Space, d *ir.Directive, p spaces.Portion, body []ir.Stmt, windows bool) []ir.Stmt {
	f := sp.Loops[0]
	if t.Single || t.Slow || !sp.Direct() || !forms.Counts(f) || p.Only != nil || !mapping.WholeSchedule(d) || forms.LeavesIteration(body, sp.Label) {
		return nil
	}
	_, ok := p.First.(*ir.Binary)
	body = bodies.Propagate(query.Flatten(body))
	own := ir.Declared(body)
	own.Add(f.Var)
	for _, v := range ir.Assigned(body).List() {
		if !own.Has(v) {
			return nil
		}
	}
	if !ok || len(ir.AddressTaken(body).List()) > 0 || !bodies.Blockable(t.Crew, body, own) || !sharesTable(f, body, windows) {
		return nil
	}
	jammed, each := entriesAtOnce(t, body, own)
	width := t.Device().Tuning.Points.Most
	for width > 1 && width*each > t.Device().Tuning.Points.Words {
		width /= 2
	}
	if width < 2 || mayPass(sp, body) {
		return nil
	}
	at := f.At
	t.Decide(at, "loop "+f.Var.Text(), strconv.Itoa(width)+" iterations of a thread at once", "they read the same table: what one of them loads serves the others", "schedule(onetoone)")
	return severalAtOnce(t, sp, p, coarse{width: width, one: body, each: jammed, merged: func(copies [][]ir.Stmt) []ir.Stmt { return bodies.Fuse(t.Crew, copies) }})
}

// sharesTable reports whether body has a loop that reads elements which are the same for all
// iterations of f, none that are far apart for neighbours, and none of its own that it reads only
// once: then it waits for memory, and needs all threads. Elements of windows are its own, unless
// windows says otherwise.
func sharesTable(f *ir.For, body []ir.Stmt, windows bool) bool {
	shared, far, stream := false, false, false
	var in func(list []ir.Stmt, loops *ir.VarSet)
	in = func(list []ir.Stmt, loops *ir.VarSet) {
		for _, s := range list {
			inner := loops
			if g, ok := s.(*ir.For); ok {
				inner = &ir.VarSet{}
				for _, v := range loops.List() {
					inner.Add(v)
				}
				inner.Add(g.Var)
			}
			ir.StmtExprs(s, func(e ir.Expr) {
				ir.WalkExpr(e, func(y ir.Expr) bool {
					ix, ok := y.(*ir.Index)
					if !ok {
						return true
					}
					form, known := affine.Of(ix.I)
					coef, isForm := form.Coef(f.Var)
					c, isConst := coef.Const()
					if !known || !isForm || !isConst || c > bodies.FarStride || c < -bodies.FarStride {
						far = true
						return true
					}
					moves := 0
					for _, v := range ir.ExprVars(ix).List() {
						if loops.Has(v) {
							moves++
						}
					}
					shared = shared || c == 0 && moves > 0
					stream = stream || c != 0 && moves > 0 && moves == len(loops.List()) && !(windows && window(form, c, loops))
					return true
				})
			})
			ir.Lists(s, func(l []ir.Stmt) { in(l, inner) })
		}
	}
	in(body, &ir.VarSet{})
	return shared && !far && !stream
}

// window reports whether neighbouring iterations, which touch elements that are c apart, touch the
// same elements in other iterations of loops: the elements of a warp are a window that moves.
func window(form affine.Form, c int64, loops *ir.VarSet) bool {
	for _, v := range loops.List() {
		coef, known := form.Coef(v)
		step, isConst := coef.Const()
		if !known || !isConst || step >= max(c, -c)*forms.LeastWarp || -step >= max(c, -c)*forms.LeastWarp {
			return false
		}
	}
	return true
}

// entriesAtOnce returns body with loops around loops that take several of their iterations at once
// where these hand on nothing in front of the end of the inner loop, and how many words a copy of
// it holds.
func entriesAtOnce(t *Sharer, body []ir.Stmt, own *ir.VarSet) (out []ir.Stmt, words int) {
	for _, s := range body {
		f, ok := s.(*ir.For)
		if !ok {
			words += wordsIn([]ir.Stmt{s})
			out = append(out, s)
			continue
		}
		if loops := entries(t, f, own); loops != nil {
			words += t.Device().Tuning.Points.Entries * wordsIn(f.Body)
			out = append(out, loops...)
			continue
		}
		words += wordsIn(f.Body)
		out = append(out, s)
	}
	return out, words
}

// wordsIn is the number of 32-bit words that the variables take that list declares, those of loops
// apart.
func wordsIn(list []ir.Stmt) int {
	n := 0
	ir.WalkStmts(list, func(s ir.Stmt) bool {
		if d, ok := s.(*ir.Decl); ok {
			n += int(max(d.Var.Type.Size, 4) / 4)
		}
		return true
	})
	return n
}

// entries returns f as a loop of several iterations at once and the rest, nil where that is
// not right.
func entries(t *Sharer, f *ir.For, own *ir.VarSet) []ir.Stmt {
	atOnce := t.Device().Tuning.Points.Entries
	if n, known := analysis.ConstTrips(f); !forms.Counts(f) || known && n < 2*int64(atOnce) {
		return nil
	}
	body := query.Flatten(f.Body)
	last := -1
	for k, s := range body {
		if bodies.HasLoop(s) {
			last = k
		}
	}
	if last < 0 {
		return nil
	}
	front, inside := body[:last+1], ir.Declared(body)
	for _, v := range ir.Used(front).List() { // what iterations hand on comes behind the inner loop
		if !inside.Has(v) && ir.Assigned(body).Has(v) {
			return nil
		}
	}
	bent := false
	ir.WalkStmts(front, func(s ir.Stmt) bool {
		if g, ok := s.(*ir.For); ok {
			for _, e := range []ir.Expr{g.Lo, g.Hi, g.Step} {
				for _, v := range ir.ExprVars(e).List() {
					bent = bent || v == f.Var || own.Has(v)
				}
			}
		}
		return true
	})
	if bent || !query.OnlyPlain(body[last+1:]) {
		return nil
	}
	at := f.At
	trips := build.Trips(f, f.Lo, f.Hi, f.Step)
	several := build.Binary(ir.Mul, &ir.Binary{Op: ir.Div, X: trips, Y: build.Int(int64(atOnce), at), T: ir.IntType, At: at}, build.Int(int64(atOnce), at), at)
	mid, out := t.Temp("mid", build.Binary(ir.Add, f.Lo, several, at), nil)
	k0 := t.Local(f.Var.Name, ir.IntType, at)
	var turn, tails []ir.Stmt
	fronts := make([][]ir.Stmt, atOnce)
	for u := range fronts {
		k := t.Local(f.Var.Name, ir.IntType, at)
		turn = append(turn, build.Decl(k, build.Binary(ir.Add, build.Ref(k0, at), build.Int(int64(u), at), at), at))
		c := t.CopyOf(build.WithVars(map[*ir.Var]*ir.Var{f.Var: k}).CopyStmts(body), &t.Kernel.NumVars)
		fronts[u] = c[:last+1]
		tails = append(tails, c[last+1:]...)
	}
	turn = append(append(turn, bodies.Fuse(t.Crew, fronts)...), tails...)
	jam := &ir.For{Label: &ir.Label{}, Var: k0, Lo: f.Lo, Hi: mid, Step: build.Int(int64(atOnce), at), Rel: ir.Lt, Unroll: 1, Body: turn, At: at}
	rest := *f
	rest.Label, rest.Lo, rest.Unroll = &ir.Label{}, mid, 1
	return append(out, jam, &rest)
}
