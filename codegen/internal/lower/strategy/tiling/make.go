package tiling

import (
	"math/bits"
	"strconv"

	"github.com/gompss/gompss/codegen/internal/lower/forms"
	"github.com/gompss/gompss/codegen/internal/lower/spaces"
	"github.com/gompss/gompss/codegen/ir"
	"github.com/gompss/gompss/codegen/ir/build"
)

// walk returns the loop over sp in which all threads of a team execute the same number of turns.
// Threads without an iteration in the last turn only load tiles.
func (x *tiler) walk(sp *spaces.Space, p spaces.Portion, body []ir.Stmt) []ir.Stmt {
	at := sp.At
	base, active := x.Local("base", ir.IntType, at), x.Local("active", ir.BoolType, at)
	me := build.Query(ir.ThreadNum, at)
	first := ir.Expr(build.Int(0, at))
	if b, ok := p.First.(*ir.Binary); ok {
		first = b.X // the number of the team's first thread
	}
	var out, turn []ir.Stmt
	var cond, stride ir.Expr
	if x.inWhole(sp) {
		return x.walkWhole(sp, p, first, body)
	}
	if sp.Direct() {
		f := sp.Loops[0]
		var hi ir.Expr
		hi, out = x.Temp("end", f.Hi, nil)
		stride, out = x.Temp("stride", build.Binary(ir.Mul, p.Stride, f.Step, at), out)
		out = append(out, build.Decl(base, build.Binary(ir.Add, f.Lo, build.Binary(ir.Mul, first, f.Step, at), at), at))
		cond = build.Compare(f.Rel, build.Ref(base, at), hi, at)
		turn = append(turn, build.Decl(f.Var, build.Binary(ir.Add, build.Ref(base, at), build.Binary(ir.Mul, me, f.Step, at), at), at),
			build.Decl(active, build.Compare(f.Rel, build.Ref(f.Var, at), hi, at), at))
	} else {
		var c spaces.Counting
		c, out = x.Counted(sp)
		stride, out = x.Temp("stride", p.Stride, out)
		out = append(out, build.Decl(base, first, at))
		cond = build.Compare(ir.Lt, build.Ref(base, at), c.Total, at)
		it := x.Local("it", ir.IntType, at)
		turn = append(turn, build.Decl(it, build.Binary(ir.Add, build.Ref(base, at), me, at), at),
			build.Decl(active, build.Compare(ir.Lt, build.Ref(it, at), c.Total, at), at))
		turn = append(turn, x.Decode(sp, c, build.Ref(it, at))...)
	}
	turn = append(turn, x.body(body, active)...)
	next := build.Assign(build.Ref(base, at), build.Binary(ir.Add, build.Ref(base, at), stride, at), at)
	loop := &ir.While{Label: &ir.Label{}, Cond: cond, Post: []ir.Stmt{next}, Body: turn, At: at}
	return []ir.Stmt{&ir.Block{Body: append(out, loop), At: at}}
}

// body guards the statements outside the tiled loops by active. Their variables are declared before
// the guards.
func (x *tiler) body(list []ir.Stmt, active *ir.Var) []ir.Stmt {
	var out, own []ir.Stmt
	flush := func() {
		if len(own) > 0 {
			out = append(out, &ir.If{Cond: build.Ref(active, own[0].Pos()), Then: own, At: own[0].Pos()})
			own = nil
		}
	}
	last := 0
	for i, s := range list {
		if f, ok := s.(*ir.For); ok && x.loops[f] != nil {
			last = i
		}
	}
	for i, s := range list {
		if f, ok := s.(*ir.For); ok && x.loops[f] != nil {
			flush()
			x.decideTiles(x.loops[f])
			out = append(out, x.overTiles(x.loops[f], active)...)
			continue
		}
		d, ok := s.(*ir.Decl)
		switch {
		case !ok || i > last:
			own = append(own, s)
		case d.Init == nil || forms.IsConst(d.Init):
			out = append(out, d)
		case x.same[d.Var] != nil:
			out = append(out, build.Decl(d.Var, x.same[d.Var], d.At))
		default:
			own = append(own, build.Assign(build.Ref(d.Var, d.At), d.Init, d.At))
			out = append(out, build.Decl(d.Var, nil, d.At)) // in front of the guard, which comes later
		}
	}
	flush()
	return out
}

func (x *tiler) decideTiles(l *tiledLoop) {
	x.Decide(l.loop.At, "loop "+l.loop.Var.Text(), "tiles of "+strconv.Itoa(int(l.length))+" iterations in team memory",
		"all threads of a team read "+l.names()+": each is loaded once for the team", "")
}

// overTiles returns the loop over the tiles of l. active is the condition that a thread has an
// iteration, or nil if all threads have one.
func (x *tiler) overTiles(l *tiledLoop, active *ir.Var) []ir.Stmt {
	f, at := l.loop, l.loop.At
	lo, out := x.Temp("from", ir.Subst(f.Lo, x.same), nil)
	hi, out := x.Temp("to", ir.Subst(f.Hi, x.same), out)
	start, n := x.Local(f.Var.Name+"0", ir.IntType, at), x.Local("n", ir.IntType, at)
	length := build.Int(l.length, at)
	rest := &ir.Math{Fn: ir.IMin, Args: []ir.Expr{build.Binary(ir.Sub, hi, build.Ref(start, at), at), length}, T: ir.IntType, At: at}
	k := x.Local("k", ir.IntType, at)
	var load []ir.Stmt
	for _, s := range l.staged {
		elem := ir.Subst(s.elem, map[*ir.Var]ir.Expr{f.Var: build.Binary(ir.Add, build.Ref(start, at), build.Ref(k, at), at)})
		load = append(load, build.Assign(s.at(build.Ref(k, at), at), elem, at))
	}
	body := []ir.Stmt{build.Barrier(at), build.Decl(n, rest, at)}
	body = append(body, x.Stride(k, build.Ref(n, at), load, at)...)
	full := &ir.If{Cond: build.Compare(ir.Eq, build.Ref(n, at), length, at), At: at,
		Then: []ir.Stmt{x.fullTile(l, start)}, Else: []ir.Stmt{x.partTile(l, start, n)}}
	run := ir.Stmt(full)
	if active != nil {
		run = &ir.If{Cond: build.Ref(active, at), Then: []ir.Stmt{full}, At: at}
	}
	body = append(body, build.Barrier(at), run)
	next := build.Assign(build.Ref(start, at), build.Binary(ir.Add, build.Ref(start, at), length, at), at)
	return append(out, build.Decl(start, lo, at), &ir.While{Label: &ir.Label{}, Cond: build.Compare(ir.Lt, build.Ref(start, at), hi, at),
		Post: []ir.Stmt{next}, Body: body, At: at})
}

// at returns element k of the tile, which is stored in groups.
func (s *staged) at(k ir.Expr, at ir.Pos) ir.Expr {
	group := func(op ir.Op) ir.Expr {
		return &ir.Binary{Op: op, X: k, Y: build.Int(tileGroup, at), T: ir.IntType, At: at}
	}
	return build.Index(build.Index(build.Ref(s.tile, at), group(ir.Div), at), group(ir.Rem), at)
}

// fullTile runs a whole tile, group by group; one access loads all elements of a group.
func (x *tiler) fullTile(l *tiledLoop, start *ir.Var) ir.Stmt {
	at := l.loop.At
	g, k := x.Local("g", ir.IntType, at), x.Local("k", ir.IntType, at)
	groups := map[*staged]*ir.Var{}
	var loads []ir.Stmt
	for i := range l.staged {
		s := &l.staged[i]
		groups[s] = x.Local(s.tile.Name+"Group", s.tile.Type.Elem, at)
		loads = append(loads, build.Decl(groups[s], build.Index(build.Ref(s.tile, at), build.Ref(g, at), at), at))
	}
	turn := build.Binary(ir.Add, build.Ref(start, at), build.Binary(ir.Add, build.Binary(ir.Mul, build.Ref(g, at), build.Int(tileGroup, at), at), build.Ref(k, at), at), at)
	inner := x.overTile(l, k, tileGroup, turn, func(s *staged) ir.Expr { return build.Index(build.Ref(groups[s], at), build.Ref(k, at), at) })
	inner.Unroll = tileGroup
	outer := &ir.For{Label: &ir.Label{}, Var: g, Lo: build.Int(0, at), Hi: build.Int(l.length/tileGroup, at), Step: build.Int(1, at),
		Rel: ir.Lt, Unroll: max(l.unrolled/tileGroup, 1), Body: append(loads, inner), At: at}
	return x.CopyOf([]ir.Stmt{outer}, &x.Kernel.NumVars)[0]
}

// partTile runs the first n iterations of a tile.
func (x *tiler) partTile(l *tiledLoop, start, n *ir.Var) ir.Stmt {
	at, k := l.loop.At, x.Local("k", ir.IntType, l.loop.At)
	loop := x.overTile(l, k, 0, build.Binary(ir.Add, build.Ref(start, at), build.Ref(k, at), at), func(s *staged) ir.Expr { return s.at(build.Ref(k, at), at) })
	loop.Hi = build.Ref(n, at)
	return x.CopyOf([]ir.Stmt{loop}, &x.Kernel.NumVars)[0]
}

// overTile returns the loop of k below n over the body of l, whose variable is turn, with the
// staged elements replaced.
func (x *tiler) overTile(l *tiledLoop, k *ir.Var, n int64, turn ir.Expr, elem func(*staged) ir.Expr) *ir.For {
	f := l.loop
	r := &ir.Rewrite{Expr: func(e ir.Expr) ir.Expr {
		if s := l.stagedAs(e); s != nil {
			return elem(s)
		}
		return e
	}}
	body := r.CopyStmts(f.Body)
	if forms.Mentions(body, f.Var) {
		body = append([]ir.Stmt{build.Decl(f.Var, turn, f.At)}, body...)
	}
	return &ir.For{Label: f.Label, Var: k, Lo: build.Int(0, f.At), Hi: build.Int(n, f.At), Step: build.Int(1, f.At), Rel: ir.Lt,
		Body: body, At: f.At}
}

// unroll returns how many iterations are worth writing out: many of a small body.
func (l *tiledLoop) unroll() int {
	ops := 1
	ir.WalkExprs(l.loop.Body, func(e ir.Expr) bool {
		switch e.(type) {
		case *ir.Binary, *ir.Unary, *ir.Convert, *ir.Math, *ir.Select:
			ops++
		}
		return true
	})
	most := max(1, min(unrollMost, unrollOps/ops))
	return 1 << (bits.Len(uint(most)) - 1)
}
