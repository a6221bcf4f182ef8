package cpu

import (
	"slices"

	"github.com/gompss/gompss/codegen/cpu/mach"
	"github.com/gompss/gompss/codegen/cpu/prepare"
	"github.com/gompss/gompss/codegen/cpu/x86"
	"github.com/gompss/gompss/codegen/ir"
)

// Indices that are computed from the counter by more than sums, as i&(n-1), i/n*m + i%n or max(i-w,
// 0), are neighbours in most vectors of some launches and in none of others. The code looks, and
// gathers or scatters out of line only where they are not.

// computed tells whether an index is arithmetic of the counter and of numbers that are the same for
// all lanes, with an operation in it that cuts its lines into pieces.
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
		case *ir.Math:
			pieces = true
			return (e.Fn == ir.IMin || e.Fn == ir.IMax) && !slices.ContainsFunc(e.Args, func(x ir.Expr) bool { return !fits(x, depth) })
		case *ir.Binary:
			switch e.Op {
			case ir.And, ir.AndNot, ir.Shr, ir.Shl, ir.Div, ir.Rem:
				pieces = true
			case ir.Add, ir.Sub, ir.Mul, ir.Or, prepare.Within:
			default:
				return false
			}
			return e.T.IsInteger() && fits(e.X, depth) && fits(e.Y, depth)
		}
		return false
	}
	return fits(e, 8) && pieces
}

// An evenness says, of one copy of a variable that is an index more than once, where its first lane
// is, and whether the others follow.
type evenness struct{ first, apart x86.Reg }

// indexUses counts the places where a variable alone is an index.
func indexUses(body []ir.Stmt) map[*ir.Var]int {
	uses := map[*ir.Var]int{}
	ir.Inspect(body, nil, func(e ir.Expr) {
		if ix, ok := e.(*ir.Index); ok && ix.X.Type().Kind == ir.Slice {
			if r, ok := ix.I.(*ir.Ref); ok {
				uses[r.Var]++
			}
		}
	})
	return uses
}

// noteEvenness looks, where an index is declared, whether its lanes are neighbours.
func (g *gen) noteEvenness(v *ir.Var, h *home) {
	if g.indexUses[v] < 2 || g.exec != nil || g.shapes == nil || g.serialBase > 0 || len(h.vec) == 0 || h.alike || !v.Type.IsInteger() || !v.Type.IsSigned() && v.Type.Size < 8 ||
		container(v.Type) != int(v.Type.Size) || !g.shapes.once[v] || !g.shapes.computed(&ir.Ref{Var: v, At: v.At}) || g.width(v.Type).Bytes() != g.lanes*int(v.Type.Size) {
		return
	}
	t := target{index: h.vec, size4: v.Type.Size == 4}
	g.each(func(u int) {
		first, differ := g.lineOf(t, u)
		apart := g.NewGeneral()
		g.maskBits(apart, differ)
		h.even = append(h.even, evenness{first, apart})
	})
}

// evennessOf is what is known of the index of an access to whole elements.
func (g *gen) evennessOf(a access, index ir.Expr) []evenness {
	r, ok := index.(*ir.Ref)
	if !ok || g.exec != nil || a.size != 4 && a.size != 8 || a.inner != 0 || !a.at.Type().IsScalar() {
		return nil
	}
	return g.home(r.Var, r.At).even
}

// lastStart is one more than where as many elements as there are lanes may begin, in a general
// register that is made at the entry; NoReg where that is not possible.
func (g *gen) lastStart(a access) x86.Reg {
	root, ok := a.at.X.(*ir.Ref)
	if !ok || root.Var.Space != ir.Param || g.frame.word[root.Var] == 0 || ir.Assigned(g.kernel.Body).Has(root.Var) {
		return x86.NoReg
	}
	key := limitKey{root.Var, g.lanes, 0}
	if r, ok := g.limits[key]; ok {
		return r
	}
	r := g.NewGeneral()
	g.AtEntry(func() {
		zero := g.constGeneral(0)
		g.Op(x86.MOVQ, x86.W128, x86.RegArg(r), blockWord(g.frame.word[root.Var]+1))
		g.addConst(r, int64(1-g.lanes))
		g.Op(x86.CMPQ, x86.W128, x86.RegArg(r), x86.RegArg(zero))
		g.Op(x86.CMOVQLT, x86.W128, x86.RegArg(r), x86.RegArg(zero))
	})
	g.limits[key] = r
	return r
}

// lineOf compares the lanes of an index with the first one plus 0, 1, 2: what differs.
func (g *gen) lineOf(at target, u int) (first, differ x86.Reg) {
	size, t := 8, ir.Int64Type
	add, broadcast, out := x86.VPADDQ, x86.VPBROADCASTQ, x86.VMOVQStore
	if at.size4 {
		size, t = 4, ir.Int32Type
		add, broadcast, out = x86.VPADDD, x86.VPBROADCASTD, x86.VMOVDStore
	}
	w := widthOf(g.lanes * size)
	line := g.NewVector()
	first = g.NewGeneral()
	g.Op(broadcast, w, x86.RegArg(line), x86.RegArg(at.index[u]))
	g.Op(add, w, x86.RegArg(line), x86.RegArg(line), x86.RegArg(g.iotaVector(1, size)))
	g.Op(out, x86.W128, x86.RegArg(first), x86.RegArg(at.index[u]))
	if size == 4 {
		g.Op(x86.MOVLQSX, x86.W128, x86.RegArg(first), x86.RegArg(first))
	}
	return first, g.compareCopy(&ir.Binary{Op: ir.Ne}, t, at.index[u], line)
}

// evenly selects near for lanes whose elements turn out to be neighbours, the first of them at the
// address that it gets, and far, out of line, for others.
func (g *gen) evenly(at target, u int, near func(m x86.Mem), far func()) {
	apart, back := g.NewLabel(), g.NewLabel()
	var first x86.Reg
	if at.known != nil {
		first = at.known[u].first
		g.Op(x86.TESTQ, x86.W128, x86.RegArg(at.known[u].apart), x86.RegArg(at.known[u].apart))
		g.Jump(mach.CondNE, apart)
	} else {
		differ := x86.NoReg
		first, differ = g.lineOf(at, u)
		g.anyLane([]x86.Reg{differ})
		g.Jump(mach.CondNE, apart)
	}
	if at.check != nil {
		g.Op(x86.CMPQ, x86.W128, x86.RegArg(first), x86.RegArg(at.limit))
		g.Jump(mach.CondAE, apart) // as for an index below 0
	}
	near(x86.Indexed(at.mem.Base, first, at.scale, at.mem.Disp))
	g.Place(back)
	g.later(apart, func() {
		if at.check != nil {
			at.check(u)
		}
		far()
		g.Jump(mach.Always, back)
	})
}
