package memory

import (
	"github.com/gompss/gompss/codegen/cpu/internal/vector"
	"github.com/gompss/gompss/codegen/cpu/mach"
	"github.com/gompss/gompss/codegen/cpu/x86"
	"github.com/gompss/gompss/codegen/ir"
)

// NoteEvenness looks, where an index is declared, whether its lanes are neighbours.
func (g *Moves) NoteEvenness(v *ir.Var, h *Home) {
	if g.IndexUses[v] < 2 || g.Exec != nil || g.Shapes == nil || g.SerialBase > 0 || len(h.Vectors) == 0 || h.Alike || !v.Type.IsInteger() || !v.Type.IsSigned() && v.Type.Size < 8 ||
		vector.Container(v.Type) != int(v.Type.Size) || !g.Shapes.Once[v] || !g.Shapes.Computed(&ir.Ref{Var: v, At: v.At}) || g.Width(v.Type).Bytes() != g.Lanes*int(v.Type.Size) {
		return
	}
	t := Target{Index: h.Vectors, size4: v.Type.Size == 4}
	g.Each(func(u int) {
		first, differ := g.lineOf(t, u)
		apart := g.NewGeneral()
		g.MaskBits(apart, differ)
		h.Even = append(h.Even, evenness{first, apart})
	})
}

// lineOf compares the lanes of an index with the first one plus 0, 1, 2: what differs.
func (g *Moves) lineOf(at Target, u int) (first, differ x86.Reg) {
	size, t := 8, ir.Int64Type
	add, broadcast, out := x86.VPADDQ, x86.VPBROADCASTQ, x86.VMOVQStore
	if at.size4 {
		size, t = 4, ir.Int32Type
		add, broadcast, out = x86.VPADDD, x86.VPBROADCASTD, x86.VMOVDStore
	}
	w := vector.WidthOf(g.Lanes * size)
	line := g.NewVector()
	first = g.NewGeneral()
	g.Op(broadcast, w, x86.RegArg(line), x86.RegArg(at.Index[u]))
	g.Op(add, w, x86.RegArg(line), x86.RegArg(line), x86.RegArg(g.IotaVector(1, size)))
	g.Op(out, x86.W128, x86.RegArg(first), x86.RegArg(at.Index[u]))
	if size == 4 {
		g.Op(x86.MOVLQSX, x86.W128, x86.RegArg(first), x86.RegArg(first))
	}
	return first, g.CompareCopy(&ir.Binary{Op: ir.Ne}, t, at.Index[u], line)
}

// evenly selects near for lanes whose elements turn out to be neighbours, the first of them at the
// address that it gets, and far, out of line, for others.
func (g *Moves) evenly(at Target, u int, near func(m x86.Mem), far func()) {
	apart, back := g.NewLabel(), g.NewLabel()
	var first x86.Reg
	if at.known != nil {
		first = at.known[u].first
		g.Test(at.known[u].apart)
		g.Jump(mach.CondNE, apart)
	} else {
		differ := x86.NoReg
		first, differ = g.lineOf(at, u)
		g.AnyLane([]x86.Reg{differ})
		g.Jump(mach.CondNE, apart)
	}
	if at.check != nil {
		g.Compare(first, at.limit)
		g.Jump(mach.CondAE, apart) // as for an index below 0
	}
	near(x86.Indexed(at.Mem.Base, first, at.Scale, at.Mem.Disp))
	g.Place(back)
	g.Later(apart, func() {
		if at.check != nil {
			at.check(u)
		}
		far()
		g.Jump(mach.Always, back)
	})
}
