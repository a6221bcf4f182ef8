package cpu

import (
	"github.com/gompss/gompss/codegen/cpu/mach"
	"github.com/gompss/gompss/codegen/cpu/x86"
	"github.com/gompss/gompss/codegen/ir"
)

// An evenness says, of one copy of a variable that is an index more than once, where its first lane
// is, and whether the others follow.
type evenness struct{ first, apart x86.Reg }

// noteEvenness looks, where an index is declared, whether its lanes are neighbours.
func (g *gen) noteEvenness(v *ir.Var, h *home) {
	if g.indexUses[v] < 2 || g.exec != nil || g.shapes == nil || g.serialBase > 0 || len(h.vec) == 0 || h.alike || !v.Type.IsInteger() || !v.Type.IsSigned() && v.Type.Size < 8 ||
		container(v.Type) != int(v.Type.Size) || !g.shapes.Once[v] || !g.shapes.Computed(&ir.Ref{Var: v, At: v.At}) || g.width(v.Type).Bytes() != g.lanes*int(v.Type.Size) {
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
	if !ok || root.Var.Space != ir.Param || g.frame.Word[root.Var] == 0 || ir.Assigned(g.kernel.Body).Has(root.Var) {
		return x86.NoReg
	}
	key := limitKey{root.Var, g.lanes, 0}
	if r, ok := g.limits[key]; ok {
		return r
	}
	r := g.NewGeneral()
	g.AtEntry(func() {
		zero := g.constGeneral(0)
		g.Op(x86.MOVQ, x86.W128, x86.RegArg(r), blockWord(g.frame.Word[root.Var]+1))
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
