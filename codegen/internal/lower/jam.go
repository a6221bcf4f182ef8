package lower

import (
	"strconv"

	"github.com/gompss/gompss/codegen/internal/analysis"
	"github.com/gompss/gompss/codegen/internal/integers"
	"github.com/gompss/gompss/codegen/ir"
	"github.com/gompss/gompss/codegen/ir/build"
	"github.com/gompss/gompss/codegen/ir/query"
)

// A short loop over memory waits for memory alone: with one element a thread too few bytes are on
// their way. Its threads take several iterations at once, as far apart as the team is wide, and
// load for all before they store for any, which a compiler could not do: it does not know that the
// iterations are independent. Source: measured on an H200 with kernels written by hand: copying
// float64 reaches 3835 GB/s with one element a thread and 4278 with two, float32 2536 and 3894.

const (
	jamBytes    = 16 // that a thread should load at once of each slice
	reduceBytes = 32 // the same of a loop that stores nothing: float64 reaches 3960 GB/s with 8 bytes, 4510 with 16, 4600 with 32
	jamOps      = 24 // operations of a body that is taken to wait for memory
)

// jam returns the loop over sp whose threads take several iterations at once, nil where that gains
// nothing. The parts in red are private to a thread, which adds to them in the order of its
// iterations.
func (t *team) jam(sp *space, d *ir.Directive, p portion, body []ir.Stmt, red *reductions) []ir.Stmt {
	switch d.Schedule.Kind {
	case ir.ScheduleNone, ir.ScheduleStatic, ir.ScheduleAuto:
	default:
		return nil
	}
	f := sp.loops[0]
	step, _ := query.Int64(f.Step)
	if !sp.direct() || step != 1 || f.Rel != ir.Lt || p.only != nil || d.Schedule.Chunk != nil {
		return nil
	}
	me, ofTeam := p.first, isQuery(p.first, ir.ThreadNum) && isQuery(p.stride, ir.NumThreads)
	if first, ok := p.first.(*ir.Binary); ok {
		me = first.Y
	} else if !ofTeam {
		return nil
	}
	body = flat(body)
	width := t.jamWidth(f, body, red)
	if width < 2 {
		return nil
	}
	at := sp.at
	team := build.Query(ir.NumThreads, at)
	wide := func(x ir.Expr) ir.Expr { return build.Binary(ir.Mul, x, build.Int(int64(width), at), at) }
	hi, out := t.temp("end", f.Hi, nil)
	base := t.Local("base", ir.IntType, at)
	start, far := wide(build.Binary(ir.Mul, build.Query(ir.TeamNum, at), team, at)), wide(build.Binary(ir.Mul, build.Query(ir.NumTeams, at), team, at))
	if ofTeam {
		start, far = build.Int(0, at), wide(team)
	}
	stride, out := t.temp("stride", far, out)
	whole := build.Compare(ir.Le, build.Binary(ir.Add, build.Ref(base, at), wide(team), at), hi, at)
	rest := portion{first: build.Query(ir.ThreadNum, at), stride: team}
	tail := *f
	tail.Lo = build.Ref(base, at)
	one := &space{loops: []*ir.For{&tail}, order: []int{0}, label: sp.label, at: at}
	turn := &ir.If{Cond: whole, Then: t.abreast(f, base, me, width, body), Else: unwrapped(t.walk(one, rest, body, nil)), At: at}
	next := build.Assign(build.Ref(base, at), build.Binary(ir.Add, build.Ref(base, at), stride, at), at)
	loop := &ir.While{Label: &ir.Label{}, Cond: build.Compare(ir.Lt, build.Ref(base, at), hi, at), Post: []ir.Stmt{next},
		Body: []ir.Stmt{turn}, At: at}
	if !ofTeam {
		t.trips.width = max(t.trips.width, width)
	}
	t.Decide(at, "loop "+f.Var.Name, strconv.Itoa(width)+" iterations of a thread at once", "it waits for memory, of which more is then on its way",
		"schedule(onetoone)")
	return []ir.Stmt{&ir.Block{Body: append(out, build.Decl(base, build.Binary(ir.Add, f.Lo, start, at), at), loop), At: at}}
}

func isQuery(e ir.Expr, what ir.QueryKind) bool {
	q, ok := e.(*ir.Query)
	return ok && q.What == what
}

// jamWidth returns how many iterations of a body a thread should take at once: as many as fill
// jamBytes with the largest elements that it touches. It is 1 for a body that is more than a few
// loads and stores next to each other, or sums of what it loads.
func (t *team) jamWidth(f *ir.For, body []ir.Stmt, red *reductions) int {
	var largest ir.Bytes
	ops, fine := 0, true
	parts := map[*ir.Var]bool{}
	for _, it := range red.items {
		parts[it.acc] = it.n == 0
		if it.idx != nil {
			parts[it.idx] = true
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
	defs := &analysis.AccessList{Defs: analysis.Definitions{}, Changed: ir.Assigned(body), Taken: ir.AddressTaken(body)}
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
			ops += mathCost(e.Fn, 4)
		case *ir.Member, *ir.Deref, *ir.AddrOf, *ir.Reslice, *ir.Query, *ir.Composite:
			fine = false
		}
		return fine
	})
	for _, v := range ir.Assigned(body).List() {
		fine = fine && (ir.Declared(body).Has(v) || parts[v])
	}
	if !fine || defs.Why != "" || len(defs.List) == 0 || ops > jamOps {
		return 1
	}
	if len(parts) > 0 {
		return int(min(reduceBytes/largest, 8))
	}
	return int(min(jamBytes/largest, 4))
}

// assignsOnly reports whether list does nothing but assign variables.
func assignsOnly(list []ir.Stmt) bool {
	for _, s := range list {
		if a, ok := s.(*ir.Assign); !ok || !query.IsRef(a.Place) {
			return false
		}
	}
	return true
}

// abreast runs width iterations of body, a team apart.
func (t *team) abreast(f *ir.For, base *ir.Var, me ir.Expr, width int, body []ir.Stmt) []ir.Stmt {
	at := f.At
	var out []ir.Stmt
	copies := make([][]ir.Stmt, width)
	for u := range copies {
		i := t.Local(f.Var.Name, f.Var.Type, at)
		offset := build.Binary(ir.Mul, build.Query(ir.NumThreads, at), build.Int(int64(u), at), at)
		if u == 0 {
			offset = build.Int(0, at)
		}
		out = append(out, build.Decl(i, build.Binary(ir.Add, build.Ref(base, at), build.Binary(ir.Add, offset, me, at), at), at))
		copies[u] = t.CopyOf(build.WithVars(map[*ir.Var]*ir.Var{f.Var: i}).CopyStmts(body), &t.Kernel.NumVars)
	}
	return append(out, t.interleaved(copies)...)
}

// interleaved runs copies of a body statement by statement, all loads of a statement before its
// stores.
func (t *team) interleaved(copies [][]ir.Stmt) []ir.Stmt {
	var out []ir.Stmt
	for k := range copies[0] {
		var stores []ir.Stmt
		for u := range copies {
			a, ok := copies[u][k].(*ir.Assign)
			if !ok || query.IsRef(a.Place) {
				out = append(out, copies[u][k])
				continue
			}
			v := t.Local("value", a.Value.Type(), a.At)
			out = append(out, build.Decl(v, a.Value, a.At))
			stores = append(stores, build.Assign(a.Place, build.Ref(v, a.At), a.At))
		}
		out = append(out, stores...)
	}
	return out
}

// rowsAbreast is how many neighbouring rows of float64 a thread takes at once: what one of them
// loads for the next is then in its registers, or at least in the cache of its multiprocessor.
const rowsAbreast = 4

// jamRows is jam for a space of several loops: a thread takes an element of several rows, one below
// the other, which also divides the cost of finding out which they are. Only accesses that are
// neighbours from thread to thread pay for it.
func (t *team) jamRows(sp *space, d *ir.Directive, p portion, body []ir.Stmt) []ir.Stmt {
	switch d.Schedule.Kind {
	case ir.ScheduleNone, ir.ScheduleStatic, ir.ScheduleAuto:
	default:
		return nil
	}
	n := len(sp.loops)
	if n < 2 || p.only != nil || d.Schedule.Chunk != nil {
		return nil
	}
	row, column := sp.loops[sp.order[n-2]], sp.loops[sp.order[n-1]]
	step, ok := query.Int64(row.Step)
	body = flat(body)
	if !ok || step != 1 || row.Rel != ir.Lt && row.Rel != ir.Le || row.Var.Type.Kind != ir.Int64 || t.jamWidth(column, body, &reductions{}) < 2 {
		return nil
	}
	at := sp.at
	first, out := t.temp("first", row.Lo, nil)
	end := row.Hi
	if row.Rel == ir.Le {
		end = build.Binary(ir.Add, end, build.Int(1, at), at)
	}
	block := &ir.For{Label: &ir.Label{}, Var: t.Local("block", ir.IntType, at), Lo: build.Int(0, at), Step: build.Int(1, at), Rel: ir.Lt, At: at}
	rows := build.Trips(row, build.ToInt(row.Lo), build.ToInt(row.Hi), build.ToInt(row.Step))
	block.Hi = &ir.Binary{Op: ir.Div, X: build.Binary(ir.Add, rows, build.Int(rowsAbreast-1, at), at), Y: build.Int(rowsAbreast, at),
		T: ir.IntType, At: at}
	blocks := *sp
	blocks.loops = append([]*ir.For{}, sp.loops...)
	blocks.loops[sp.order[n-2]] = block
	blocks.label = &ir.Label{}
	top := t.Local("top", ir.IntType, at)
	offset := build.Binary(ir.Mul, build.Ref(block.Var, at), build.Int(rowsAbreast, at), at)
	whole := build.Compare(ir.Le, build.Binary(ir.Add, build.Ref(top, at), build.Int(rowsAbreast, at), at), end, at)
	one := t.CopyOf([]ir.Stmt{&ir.For{Label: labelOr(sp.label), Var: row.Var, Lo: build.Ref(top, at), Hi: end, Step: build.Int(1, at),
		Rel: ir.Lt, Body: body, At: at}}, &t.Kernel.NumVars)
	// The minimum changes nothing, and tells back ends how large the index can be.
	least := &ir.Math{Fn: ir.IMin, Args: []ir.Expr{build.Binary(ir.Add, first, offset, at), end}, T: ir.IntType, At: at}
	turn := []ir.Stmt{build.Decl(top, least, at),
		&ir.If{Cond: whole, Then: t.belowEachOther(row, top, body), Else: one, At: at}}
	if k := len(t.trips.grid) - 1; k >= 0 && !t.trips.unknown {
		if host := t.seg.onHost(blocks.count()); host != nil {
			t.trips.grid[k] = host
		}
	}
	t.Decide(at, "loop "+row.Var.Name, strconv.Itoa(rowsAbreast)+" iterations of a thread at once",
		"they wait for memory, and what one loads the next may need", "schedule(onetoone)")
	return append(out, t.walk(&blocks, p, turn, nil)...)
}

// belowEachOther runs rowsAbreast iterations of body from top on, as abreast does.
func (t *team) belowEachOther(row *ir.For, top *ir.Var, body []ir.Stmt) []ir.Stmt {
	var out []ir.Stmt
	copies := make([][]ir.Stmt, rowsAbreast)
	for u := range copies {
		i := t.Local(row.Var.Name, row.Var.Type, row.At)
		out = append(out, build.Decl(i, build.Binary(ir.Add, build.Ref(top, row.At), build.Int(int64(u), row.At), row.At), row.At))
		copies[u] = t.CopyOf(build.WithVars(map[*ir.Var]*ir.Var{row.Var: i}).CopyStmts(body), &t.Kernel.NumVars)
	}
	return append(out, t.interleaved(copies)...)
}
