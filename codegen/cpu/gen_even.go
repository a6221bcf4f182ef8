package cpu

import "github.com/gompss/gompss/codegen/ir"

// Indices that are computed from the counter by more than sums, as i&(n-1) or i/n*m + i%n, are neighbours in most vectors of some launches and in
// none of others. The code looks, and gathers or scatters out of line only where they are not.

// computed tells whether an index is arithmetic of the counter and of numbers that are the same for all lanes, with an operation in it that cuts
// its lines into pieces.
func (s *shapes) computed(e ir.Expr) bool {
	pieces := false
	var fits func(e ir.Expr, depth int) bool
	fits = func(e ir.Expr, depth int) bool {
		if s.shape(e).kind != varying {
			return true
		}
		switch e := e.(type) {
		case *ir.Ref:
			init := s.inits[e.Var]
			return init != nil && s.once[e.Var] && depth > 0 && fits(init, depth-1)
		case *ir.Convert:
			return e.T.IsInteger() && fits(e.X, depth)
		case *ir.Binary:
			switch e.Op {
			case ir.And, ir.AndNot, ir.Shr, ir.Shl, ir.Div, ir.Rem:
				pieces = true
			case ir.Add, ir.Sub, ir.Mul, ir.Or, within:
			default:
				return false
			}
			return e.T.IsInteger() && fits(e.X, depth) && fits(e.Y, depth)
		}
		return false
	}
	return fits(e, 8) && pieces
}

// evenly selects near for lanes whose elements turn out to be neighbours, the first of them at the address that it gets, and far, out of line, for others.
func (g *gen) evenly(at target, u int, near func(m Mem), far func()) {
	size, t := 8, ir.Int64Type
	add, broadcast, out := VPADDQ, VPBROADCASTQ, VMOVQStore
	if at.size4 {
		size, t = 4, ir.Int32Type
		add, broadcast, out = VPADDD, VPBROADCASTD, VMOVDStore
	}
	w := widthOf(g.lanes * size)
	first, line := g.general(), g.vector()
	g.op(broadcast, w, RegArg(line), RegArg(at.index[u]))
	g.op(add, w, RegArg(line), RegArg(line), RegArg(g.iotaVector(1, size)))
	g.op(out, W128, RegArg(first), RegArg(at.index[u]))
	if size == 4 {
		g.op(MOVLQSX, W128, RegArg(first), RegArg(first))
	}
	apart, back := g.newLabel(), g.newLabel()
	g.anyLane([]Reg{g.compareCopy(&ir.Binary{Op: ir.Ne}, t, at.index[u], line)})
	g.jump(condNE, apart)
	near(Indexed(at.mem.Base, first, at.scale, at.mem.Disp))
	g.place(back)
	g.later(apart, func() {
		far()
		g.jump(always, back)
	})
}
