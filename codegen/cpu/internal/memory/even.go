package memory

import (
	"github.com/gompss/gompss/codegen/cpu/internal/vector"
	"github.com/gompss/gompss/codegen/cpu/mach"
	"github.com/gompss/gompss/codegen/cpu/vcode"
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
func (g *Moves) lineOf(at Target, u int) (first, differ vcode.Reg) {
	size, t := 8, ir.Int64Type
	add, broadcast, out := vcode.VAddI64, vcode.VBroadcastI64, vcode.VGetI64
	if at.size4 {
		size, t = 4, ir.Int32Type
		add, broadcast, out = vcode.VAddI32, vcode.VBroadcastI32, vcode.VGetI32
	}
	w := vector.WidthOf(g.Lanes * size)
	line := g.NewVector()
	first = g.NewGeneral()
	g.Op(broadcast, w, vcode.RegArg(line), vcode.RegArg(at.Index[u]))
	g.Op(add, w, vcode.RegArg(line), vcode.RegArg(line), vcode.RegArg(g.IotaVector(1, size)))
	g.Op(out, vcode.W128, vcode.RegArg(first), vcode.RegArg(at.Index[u]))
	if size == 4 {
		g.Op(vcode.LoadI32, vcode.W128, vcode.RegArg(first), vcode.RegArg(first))
	}
	return first, g.CompareCopy(&ir.Binary{Op: ir.Ne}, t, at.Index[u], line)
}

// evenly selects near for lanes whose elements turn out to be neighbours, the first of them at the
// address that it gets, and far, out of line, for others.
func (g *Moves) evenly(at Target, u int, near func(m vcode.Mem), far func()) {
	apart, back := g.NewLabel(), g.NewLabel()
	var first vcode.Reg
	if at.known != nil {
		first = at.known[u].first
		g.Test(at.known[u].apart)
		g.Jump(mach.CondNE, apart)
	} else {
		differ := vcode.NoReg
		first, differ = g.lineOf(at, u)
		g.AnyLane([]vcode.Reg{differ})
		g.Jump(mach.CondNE, apart)
	}
	if at.check != nil {
		g.Compare(first, at.limit)
		g.Jump(mach.CondAE, apart) // as for an index below 0
	}
	near(vcode.Indexed(at.Mem.Base, first, at.Scale, at.Mem.Disp))
	g.Place(back)
	g.Later(apart, func() {
		if at.check != nil {
			at.check(u)
		}
		far()
		g.Jump(mach.Always, back)
	})
}
