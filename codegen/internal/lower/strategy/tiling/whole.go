package tiling

import (
	"github.com/gompss/gompss/codegen/internal/lower/forms"
	"github.com/gompss/gompss/codegen/internal/lower/spaces"
	"github.com/gompss/gompss/codegen/internal/lower/strategy/bodies"
	"github.com/gompss/gompss/codegen/ir"
	"github.com/gompss/gompss/codegen/ir/build"
	"github.com/gompss/gompss/codegen/ir/query"
)

// If every thread of a team has an iteration, as in all turns except the last, no guard is needed,
// and the loop-invariant loads of an iteration stay in registers through all tiles. With
// contraction the loads from team memory limit the loop, so each thread executes two iterations
// together, which share these loads. Source: measured on an H200, 131072 bodies in float32, kernels
// written by hand, teams of 128, 256 and 512: 29.3, 30.1 and 30.4 TFLOP/s; of 512 without guards
// and with the own body in registers 30.9; with contraction 38.6, and 39.5 with two bodies a
// thread, which without contraction has less: 28.2.

// tileThreads is the size of a team that suits tiles: each thread loads less of them, and fewer
// copies of them are made.
const tileThreads = 512

// inWhole reports whether the turns in which every thread has an iteration can be separated.
func (x *tiler) inWhole(sp *spaces.Space) bool {
	if x.Slow || !sp.Direct() {
		return false
	}
	f := sp.Loops[0]
	step, _ := query.Int64(f.Step)
	return step == 1 && f.Rel == ir.Lt
}

// walkWhole is walk with unguarded turns of whole teams and one guarded turn for the rest.
func (x *tiler) walkWhole(sp *spaces.Space, p spaces.Portion, first ir.Expr, body []ir.Stmt) []ir.Stmt {
	f, at := sp.Loops[0], sp.At
	width := 1
	if x.Kernel.Fuses() && x.fusible(body) {
		width = 2
		x.Trips.Width = max(x.Trips.Width, width)
		x.Decide(at, "loop "+f.Var.Text(), "2 iterations of a thread at once", "what is loaded from team memory serves both", "schedule(onetoone)")
	}
	if x.Launch.Threads == 0 {
		x.Launch.Threads = tileThreads
	}
	sharer, me := build.Query(ir.NumThreads, at), build.Query(ir.ThreadNum, at)
	wide := func(e ir.Expr) ir.Expr { return build.Binary(ir.Mul, e, build.Int(int64(width), at), at) }
	base, part := x.Local("base", ir.IntType, at), x.Local("part", ir.IntType, at)
	hi, out := x.Temp("end", f.Hi, nil)
	stride, out := x.Temp("stride", wide(p.Stride), out)
	out = append(out, build.Decl(base, build.Binary(ir.Add, f.Lo, wide(first), at), at))
	end := build.Binary(ir.Add, build.Ref(base, at), wide(sharer), at)

	active := x.Local("active", ir.BoolType, at)
	guarded := []ir.Stmt{build.Decl(f.Var, build.Binary(ir.Add, build.Ref(part, at), me, at), at), build.Decl(active, build.Compare(ir.Lt, build.Ref(f.Var, at), hi, at), at)}
	whole := x.wholeTurn(f, base, width, x.copyWithLoops(body)) // before body gives what it has to the guarded turn
	guarded = append(guarded, x.body(body, active)...)
	least := &ir.Math{Fn: ir.IMin, Args: []ir.Expr{end, hi}, T: ir.IntType, At: at}
	rest := []ir.Stmt{build.Decl(part, build.Ref(base, at), at), &ir.While{Label: &ir.Label{}, Cond: build.Compare(ir.Lt, build.Ref(part, at), least, at),
		Post: []ir.Stmt{build.Assign(build.Ref(part, at), build.Binary(ir.Add, build.Ref(part, at), sharer, at), at)}, Body: guarded, At: at}}
	turn := &ir.If{Cond: build.Compare(ir.Le, end, hi, at), Then: whole, Else: rest, At: at}
	next := build.Assign(build.Ref(base, at), build.Binary(ir.Add, build.Ref(base, at), stride, at), at)
	loop := &ir.While{Label: &ir.Label{}, Cond: build.Compare(ir.Lt, build.Ref(base, at), hi, at), Post: []ir.Stmt{next}, Body: []ir.Stmt{turn}, At: at}
	return []ir.Stmt{&ir.Block{Body: append(out, loop), At: at}}
}

// fusible reports whether two iterations of body can be interleaved: it has only declarations,
// assignments and tiled loops, and declares no variable on which a tile depends.
func (x *tiler) fusible(body []ir.Stmt) bool {
	for _, s := range body {
		switch s := s.(type) {
		case *ir.Decl:
			if !s.Var.Type.IsScalar() {
				return false
			}
		case *ir.Assign:
			if !s.Value.Type().IsScalar() {
				return false
			}
		case *ir.For:
			l := x.loops[s]
			if l == nil || !forms.Straight(s.Body) || bodies.HasBranch(s.Body) { // divergent lanes profit from more warps, not from fewer loads
				return false
			}
			for _, v := range ir.Declared(s.Body).List() {
				if l.same[v] != nil {
					return false
				}
			}
		default:
			return false
		}
	}
	return true
}

// copyWithLoops copies list with the same variables, and remembers which of its loops run over
// tiles.
func (x *tiler) copyWithLoops(list []ir.Stmt) []ir.Stmt {
	var out []ir.Stmt
	for _, s := range list {
		c := (&ir.Rewrite{}).CopyStmt(s)
		if f, ok := s.(*ir.For); ok && x.loops[f] != nil {
			l := *x.loops[f]
			l.loop = c[0].(*ir.For)
			x.loops[l.loop] = &l
		}
		out = append(out, c...)
	}
	return out
}

// wholeTurn runs width iterations of each thread of a team, all of which have them.
func (x *tiler) wholeTurn(f *ir.For, base *ir.Var, width int, body []ir.Stmt) []ir.Stmt {
	at := f.At
	var out []ir.Stmt
	copies := make([][]ir.Stmt, width)
	for u := range copies {
		i := x.Local(f.Var.Name, f.Var.Type, at)
		offset := ir.Expr(build.Int(0, at))
		if u > 0 {
			offset = build.Binary(ir.Mul, build.Query(ir.NumThreads, at), build.Int(int64(u), at), at)
		}
		out = append(out, build.Decl(i, build.Binary(ir.Add, build.Ref(base, at), build.Binary(ir.Add, offset, build.Query(ir.ThreadNum, at), at), at), at))
		copies[u] = x.CopyOf(build.WithVars(map[*ir.Var]*ir.Var{f.Var: i}).CopyStmts(body), &x.Kernel.NumVars)
	}
	for k, s := range body {
		g, ok := s.(*ir.For)
		l := x.loops[g]
		if !ok || l == nil {
			one := make([][]ir.Stmt, width)
			for u := range copies {
				one[u] = copies[u][k : k+1]
			}
			out = append(out, bodies.Interleave(x.Crew, one)...)
			continue
		}
		fused := *l
		loop := *copies[0][k].(*ir.For)
		lists := make([][]ir.Stmt, width)
		for u := range copies {
			h := copies[u][k].(*ir.For)
			var held []ir.Stmt
			held, lists[u] = x.hold(g, build.WithVars(map[*ir.Var]*ir.Var{h.Var: g.Var}).CopyStmts(forms.Flat(h.Body)))
			out = append(out, held...)
		}
		loop.Var = g.Var
		loop.Lo, loop.Hi = g.Lo, g.Hi
		loop.Body = bodies.Interleave(x.Crew, lists)
		fused.loop = &loop
		out = append(out, x.overTiles(&fused, nil)...)
	}
	return out
}

// hold hoists the loads that are invariant in a loop.
func (x *tiler) hold(f *ir.For, body []ir.Stmt) (held, out []ir.Stmt) {
	moving := ir.Declared(body)
	moving.Add(f.Var)
	for _, v := range ir.Assigned(body).List() {
		moving.Add(v)
	}
	var list []ir.Expr
	var vars []*ir.Var
	find := func(e ir.Expr) int {
		for k := range list {
			if query.Same(list[k], e) {
				return k
			}
		}
		return -1
	}
	var look func(e ir.Expr)
	look = func(e ir.Expr) {
		switch s := e.(type) {
		case *ir.Select:
			look(s.Cond)
			return
		case *ir.Binary:
			if s.Op == ir.LAnd || s.Op == ir.LOr {
				look(s.X)
				return
			}
		case *ir.Index:
			fixed := query.IsRef(s.X) && s.X.Type().Kind == ir.Slice && !s.Checked && s.Type().IsScalar() && query.LoadFree(s.I)
			for _, v := range ir.ExprVars(s).List() {
				fixed = fixed && !moving.Has(v) && !x.IsShared(v)
			}
			if fixed && find(s) < 0 {
				v := x.Local("own", s.Type(), s.At)
				list, vars = append(list, s), append(vars, v)
				held = append(held, build.Decl(v, s, s.At))
			}
		}
		ir.Operands(e, look)
	}
	for _, s := range body {
		ir.StmtExprs(s, look)
		if query.JumpsOut(s) {
			break
		}
	}
	r := &ir.Rewrite{Expr: func(e ir.Expr) ir.Expr {
		if _, ok := e.(*ir.Index); ok {
			if k := find(e); k >= 0 {
				return build.Ref(vars[k], e.Pos())
			}
		}
		return e
	}}
	return held, r.CopyStmts(body)
}
