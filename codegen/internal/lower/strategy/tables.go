package strategy

import (
	"fmt"
	"slices"
	"strings"

	"github.com/gompss/gompss/codegen/internal/lower/crews"
	"github.com/gompss/gompss/codegen/internal/lower/forms"
	"github.com/gompss/gompss/codegen/internal/lower/spaces"
	"github.com/gompss/gompss/codegen/internal/lower/strategy/bodies"
	"github.com/gompss/gompss/codegen/internal/mapping"
	"github.com/gompss/gompss/codegen/ir"
	"github.com/gompss/gompss/codegen/ir/build"
	"github.com/gompss/gompss/codegen/ir/query"
)

// A loop that counts into a short table by atomics, as a histogram does, is bound by their
// contention: many threads update few words. Each team counts into as many copies of the table as
// fit in team memory, with different copies for neighbouring threads, and adds them to the table at
// its end. Integers have the same sums in any order. A table that exceeds team memory, or is long
// compared with the iterations, is updated directly.
//
// Source: Gomez-Luna et al., An optimized approach to histogram computation on GPU, Machine Vision
// and Applications 24 (2013): copies side by side, so that lanes meet on no bank.

// A tabled is a loop with atomic updates of tables.
type tabled struct {
	*Sharer
	body   []ir.Stmt
	tables []*table
	conds  []ir.Expr
}

// A table is a slice that the loop accesses only by atomics of one operation.
type table struct {
	slice  *ir.Var
	op     ir.Op
	elem   *ir.Type
	room   int64   // elements in team memory
	copies *ir.Var // how many there are, a power of two
	tile   *ir.Var
}

// tables returns the loop over n whose teams have private tables, nil where there are no tables or
// the transformation is not legal.
func tables(t *Sharer, n Sharing) []ir.Stmt {
	sp, p := n.Sp, n.P
	if t.Single || t.Slow || t.Whole || p.Only != nil || !mapping.WholeSchedule(n.D) || !t.Shuffles() || len(t.Launch.Team) > 0 {
		return nil
	}
	x := &tabled{Sharer: t, body: forms.Flat(n.Body)}
	if !x.find() {
		return nil
	}
	at := sp.At
	if !x.place(at) {
		return nil
	}
	crews.UseTeams(t.Crew, t.Device().Tuning.Tables.Team, at)
	t.Trips.Resident = true
	var names []string
	for _, b := range x.tables {
		names = append(names, b.slice.Name)
	}
	t.Decide(at, "atomics on "+strings.Join(names, ", "), fmt.Sprintf("copies in team memory, up to %d elements", x.tables[0].room),
		"threads of a team meet there, and the table is updated once a team; one that is longer is updated as it is", "schedule(onetoone)")
	test, out := t.Temp("short", x.short(sp, at), nil)
	plain := t.CopyOf(forms.Unwrapped(t.Walk(sp, p, n.Body, nil)), &t.Kernel.NumVars)
	out = append(out, &ir.If{Cond: test, Then: x.counting(sp, p), Else: plain, At: at})
	return []ir.Stmt{&ir.Block{Body: out, At: at}}
}

// find collects the tables: slices that no other access in the body touches.
func (x *tabled) find() bool {
	if len(ir.AddressTaken(x.body).List()) > 0 {
		return false
	}
	fine := true
	places := map[ir.Expr]bool{}
	ir.WalkStmts(x.body, func(s ir.Stmt) bool {
		switch s := s.(type) {
		case *ir.Atomic:
			ix, ok := s.Place.(*ir.Index)
			fine = fine && ok && x.note(s, ix)
			places[s.Place] = true
		case *ir.Return, *ir.Barrier, *ir.Call, *ir.Construct:
			fine = false
		}
		return fine
	})
	if !fine || len(x.tables) == 0 {
		return false
	}
	others := &ir.VarSet{}
	ir.WalkExprs(x.body, func(e ir.Expr) bool {
		if places[e] {
			for _, v := range ir.ExprVars(e.(*ir.Index).I).List() {
				others.Add(v)
			}
			return false
		}
		if r, ok := e.(*ir.Ref); ok {
			others.Add(r.Var)
		}
		return true
	})
	return x.apart(others)
}

// note adds the table of atomic s, if it updates one.
func (x *tabled) note(s *ir.Atomic, ix *ir.Index) bool {
	r, ok := ix.X.(*ir.Ref)
	elem := ix.Type()
	if !ok || s.Kind != ir.AtomicUpdate || s.Swapped || s.Ordered || r.Var.Space != ir.Param || r.Var.Type.Kind != ir.Slice || elem.Size < 4 {
		return false
	}
	op := s.Op
	if op == ir.Sub {
		op = ir.Add
	}
	switch op {
	case ir.Add:
		if !elem.IsInteger() && !elem.IsFloat() {
			return false
		}
	case ir.Or, ir.Xor, ir.And, ir.Min, ir.Max:
		if !elem.IsInteger() {
			return false
		}
	default:
		return false
	}
	for _, b := range x.tables {
		if b.slice == r.Var {
			return b.op == op
		}
	}
	x.tables = append(x.tables, &table{slice: r.Var, op: op, elem: elem})
	return true
}

// apart adds the tests that no table overlaps other memory that the body accesses.
func (x *tabled) apart(others *ir.VarSet) bool {
	for i, b := range x.tables {
		if others.Has(b.slice) {
			return false
		}
		list := slices.Clone(others.List())
		for _, c := range x.tables[:i] {
			list = append(list, c.slice)
		}
		for _, v := range list {
			switch {
			case v.Type.Kind == ir.Pointer, v.Type.Kind == ir.Slice && v.Space != ir.Param:
				return false
			case v.Type.Kind == ir.Slice:
				x.conds = append(x.conds, &ir.Apart{X: build.Ref(b.slice, v.At), Y: build.Ref(v, v.At), At: v.At})
			}
		}
	}
	return true
}

// place gives each table its part of the team memory that still permits all warps of a
// multiprocessor. It reports whether there is any.
func (x *tabled) place(at ir.Pos) bool {
	bytes := x.Device().TeamShare(x.Device().Tuning.Tables.Team) / ir.Bytes(len(x.tables))
	for _, b := range x.tables {
		if b.room = int64(bytes) / int64(b.elem.Size); b.room == 0 {
			return false
		}
	}
	for i, b := range x.tables {
		b.copies = x.Local("copies", ir.IntType, at)
		b.tile = x.Slot(crews.Slot{What: "table", Kind: b.elem.Kind, N: i}, ir.ArrayOf(b.elem, b.room), b.slice.Name+"Tile", at)
	}
	return true
}

// short returns the condition that the tables fit, and that there are more iterations than
// operations to set up and add up the copies of all teams.
func (x *tabled) short(sp *spaces.Space, at ir.Pos) ir.Expr {
	all := x.conds
	total := sp.Count()
	for _, b := range x.tables {
		n := x.length(b, at)
		all = append(all, build.Compare(ir.Le, n, build.Int(b.room, at), at))
		all = append(all, build.Compare(ir.Ge, total, build.Binary(ir.Mul, n, build.Query(ir.NumTeams, at), at), at))
	}
	out := all[0]
	for _, c := range all[1:] {
		out = build.Compare(ir.LAnd, out, c, at)
	}
	return out
}

func (x *tabled) length(b *table, at ir.Pos) ir.Expr {
	return &ir.Len{X: build.Ref(b.slice, at), At: at}
}

// counting sets up the copies, runs the loop on them and adds them to the tables.
func (x *tabled) counting(sp *spaces.Space, p spaces.Portion) []ir.Stmt {
	at := sp.At
	var out []ir.Stmt
	for _, b := range x.tables {
		out = append(out, x.setUp(b, at)...)
	}
	out = append(out, build.Barrier(at))
	body := x.onTiles(x.body)
	f := sp.Loops[0]
	step, _ := query.Int64(f.Step)
	loops := slices.ContainsFunc(x.body, bodies.HasLoop) // which would run one after the other
	if sp.Direct() && step == 1 && f.Rel == ir.Lt && !loops && !forms.LeavesIteration(x.body, sp.Label) && !mayPass(sp, x.body) {
		out = append(out, severalAtOnce(x.Sharer, sp, p, coarse{width: x.Device().Tuning.Tables.Width, one: body, each: loadsFirst(x.Sharer, body), merged: sideBySide})...)
	} else {
		out = append(out, x.Walk(sp, p, body, nil)...)
	}
	out = append(out, build.Barrier(at))
	for _, b := range x.tables {
		out = append(out, x.addUp(b, at)...)
	}
	return x.CopyOf(append(out, build.Barrier(at)), &x.Kernel.NumVars)
}

// each returns a loop of the team's threads from 0 to n.
func (x *tabled) each(name string, n ir.Expr, at ir.Pos, body func(i *ir.Var) []ir.Stmt) ir.Stmt {
	i := x.Local(name, ir.IntType, at)
	next := build.Assign(build.Ref(i, at), build.Binary(ir.Add, build.Ref(i, at), build.Query(ir.NumThreads, at), at), at)
	loop := &ir.While{Label: &ir.Label{}, Cond: build.Compare(ir.Lt, build.Ref(i, at), n, at), Post: []ir.Stmt{next}, Body: body(i), At: at}
	return &ir.Block{Body: []ir.Stmt{build.Decl(i, build.Query(ir.ThreadNum, at), at), loop}, At: at}
}

// setUp computes how many copies there are and clears them.
func (x *tabled) setUp(b *table, at ir.Pos) []ir.Stmt {
	n := x.Local("copies", ir.IntType, at)
	twice := func() ir.Expr { return build.Binary(ir.Mul, build.Ref(n, at), build.Int(2, at), at) }
	fits := build.Compare(ir.LAnd, build.Compare(ir.Lt, build.Ref(n, at), build.Int(x.Device().Tuning.Tables.Copies, at), at),
		build.Compare(ir.Le, build.Binary(ir.Mul, x.length(b, at), twice(), at), build.Int(b.room, at), at), at)
	double := &ir.While{Label: &ir.Label{}, Cond: fits, Body: []ir.Stmt{build.Assign(build.Ref(n, at), twice(), at)}, At: at}
	known := &ir.Math{Fn: ir.IMax, Args: []ir.Expr{&ir.Math{Fn: ir.IMin, Args: []ir.Expr{build.Ref(n, at), build.Int(x.Device().Tuning.Tables.Copies, at)}, T: ir.IntType, At: at},
		build.Int(1, at)}, T: ir.IntType, At: at} // changes nothing, and tells back ends how large it can be
	all := build.Binary(ir.Mul, x.length(b, at), build.Ref(b.copies, at), at)
	return []ir.Stmt{build.Decl(n, build.Int(1, at), at), double, build.Decl(b.copies, known, at), x.each("k", all, at, func(k *ir.Var) []ir.Stmt {
		return []ir.Stmt{build.Assign(build.Index(build.Ref(b.tile, at), build.Ref(k, at), at), build.Identity(b.op, b.elem, at), at)}
	})}
}

// onTiles returns list with its atomics on the team's copies. An index out of range takes the
// original atomic, which fails.
func (x *tabled) onTiles(list []ir.Stmt) []ir.Stmt {
	r := &ir.Rewrite{Stmt: func(s ir.Stmt) []ir.Stmt {
		a, ok := s.(*ir.Atomic)
		if !ok {
			return []ir.Stmt{s}
		}
		ix := a.Place.(*ir.Index)
		k := slices.IndexFunc(x.tables, func(b *table) bool { return b.slice == ix.X.(*ir.Ref).Var })
		return x.onTile(x.tables[k], a, ix)
	}}
	return r.CopyStmts(list)
}

func (x *tabled) onTile(b *table, a *ir.Atomic, ix *ir.Index) []ir.Stmt {
	at := a.At
	k, v := x.Local("k", ir.IntType, at), x.Local("value", a.Value.Type(), at)
	own := &ir.Binary{Op: ir.And, X: build.Query(ir.ThreadNum, at), Y: build.Binary(ir.Sub, build.Ref(b.copies, at), build.Int(1, at), at), T: ir.IntType, At: at}
	place := build.Binary(ir.Add, build.Binary(ir.Mul, build.Ref(k, at), build.Ref(b.copies, at), at), own, at)
	mine, failing := *a, *a
	mine.Place, mine.Value = build.Index(build.Ref(b.tile, at), place, at), build.Ref(v, at)
	whole := *ix
	whole.I = build.Ref(k, at)
	failing.Place, failing.Value = &whole, build.Ref(v, at)
	decls := []ir.Stmt{build.Decl(k, build.ToInt(ix.I), at), build.Decl(v, a.Value, at)}
	if !ix.Checked {
		return append(decls, &mine)
	}
	inside := build.Compare(ir.LAnd, build.Compare(ir.Le, build.Int(0, at), build.Ref(k, at), at), build.Compare(ir.Lt, build.Ref(k, at), x.length(b, at), at), at)
	return append(decls, &ir.If{Cond: inside, Then: []ir.Stmt{&mine}, Else: []ir.Stmt{&failing}, At: at})
}

// addUp adds the copies of a table to the table.
func (x *tabled) addUp(b *table, at ir.Pos) []ir.Stmt {
	none := build.Identity(b.op, b.elem, at)
	return []ir.Stmt{x.each("k", x.length(b, at), at, func(k *ir.Var) []ir.Stmt {
		sum, c := x.Local("sum", b.elem, at), x.Local("c", ir.IntType, at)
		from := build.Index(build.Ref(b.tile, at), build.Binary(ir.Add, build.Binary(ir.Mul, build.Ref(k, at), build.Ref(b.copies, at), at), build.Ref(c, at), at), at)
		add := &ir.For{Label: &ir.Label{}, Var: c, Lo: build.Int(0, at), Hi: build.Ref(b.copies, at), Step: build.Int(1, at), Rel: ir.Lt,
			Body: []ir.Stmt{build.Assign(build.Ref(sum, at), build.Combine(b.op, build.Ref(sum, at), from, at), at)}, At: at}
		update := &ir.Atomic{Kind: ir.AtomicUpdate, Op: b.op, Place: build.Index(build.Ref(b.slice, at), build.Ref(k, at), at), Value: build.Ref(sum, at), At: at}
		return []ir.Stmt{build.Decl(sum, none, at), add, &ir.If{Cond: build.Compare(ir.Ne, build.Ref(sum, at), none, at), Then: []ir.Stmt{update}, At: at}}
	})}
}

// loadsFirst returns list in which variables hold the elements that its first statements read.
func loadsFirst(t *Sharer, list []ir.Stmt) []ir.Stmt {
	var out []ir.Stmt
	for i, s := range list {
		d, ok := s.(*ir.Decl)
		if !ok {
			return append(out, list[i:]...)
		}
		if d.Init == nil {
			out = append(out, d)
			continue
		}
		r := &ir.Rewrite{Expr: func(e ir.Expr) ir.Expr {
			ix, ok := e.(*ir.Index)
			if !ok || ix.X.Type().Kind != ir.Slice || !ix.Type().IsScalar() || e == d.Init {
				return e
			}
			v := t.Local("loaded", ix.Type(), ix.At)
			out = append(out, build.Decl(v, ix, ix.At))
			return build.Ref(v, ix.At)
		}}
		if !surely(d.Init) {
			out = append(out, d)
			continue
		}
		init := r.CopyExpr(d.Init)
		out = append(out, build.Decl(d.Var, init, d.At))
	}
	return out
}

// surely reports whether every operand of e is evaluated unconditionally.
func surely(e ir.Expr) bool {
	fine := true
	ir.WalkExpr(e, func(x ir.Expr) bool {
		switch x := x.(type) {
		case *ir.Select:
			fine = false
		case *ir.Binary:
			fine = fine && x.Op != ir.LAnd && x.Op != ir.LOr
		}
		return fine
	})
	return fine
}

// sideBySide interleaves the copies: statement i of every copy before statement i+1 of any.
func sideBySide(copies [][]ir.Stmt) []ir.Stmt {
	var out []ir.Stmt
	for k := range copies[0] {
		for _, c := range copies {
			out = append(out, c[k])
		}
	}
	return out
}
