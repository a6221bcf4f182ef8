package memory

import (
	"github.com/gompss/gompss/codegen/cpu/image"
	"github.com/gompss/gompss/codegen/cpu/internal/analysis"
	"github.com/gompss/gompss/codegen/cpu/internal/protocol"
	"github.com/gompss/gompss/codegen/cpu/internal/vector"
	"github.com/gompss/gompss/codegen/cpu/mach"
	"github.com/gompss/gompss/codegen/cpu/vcode"
	"github.com/gompss/gompss/codegen/ir"
)

// siteOf numbers a checked access, for the report.
func (g *Addresses) siteOf(a access, bytes int) int {
	n := g.NewSite(image.Site{Kind: image.SiteBounds, What: ir.Source(a.at.X), Bytes: bytes})
	g.Sites[n-1].At, g.Sites[n-1].Part = a.at.At, g.bounds[a.at.At]
	g.Sites[n-1].Wide = a.at.I.Type().Kind == ir.Uint64
	if r, ok := a.at.X.(*ir.Ref); ok && g.pointed[r.Var] {
		g.Sites[n-1].Check = ir.PointerCheck
	}
	return n
}

// checkAccess checks an index that is no vector: of the slice where it asks for that, and of the
// parts on the way.
func (g *Addresses) checkAccess(a access, l analysis.Linear, s analysis.Shape) {
	if a.at.Checked {
		g.checkIndex(a, l, s)
	}
	for _, w := range l.Withins {
		g.CheckWithin(w)
	}
}

func (g *Addresses) checkIndex(a access, l analysis.Linear, s analysis.Shape) {
	if s.Kind == analysis.Uniform {
		g.checkUniform(a, l)
	} else {
		g.checkAffine(a, l, s.Stride)
	}
}

// CheckWithin makes the check that w stands for.
func (g *Addresses) CheckWithin(w *ir.Binary) {
	sx, sy := g.Shape(w.X), g.Shape(w.Y)
	a := g.WithinAccess(w)
	if sx.Kind != analysis.Varying && sy.Kind == analysis.Uniform {
		a.root = &Home{Length: g.General(w.Y)}
		l := analysis.LinearOf(w.X)
		for _, inner := range l.Withins {
			g.CheckWithin(inner)
		}
		g.checkIndex(a, l, sx)
		return
	}
	g.CheckVectors(a, g.Vector(w.X), g.Vector(w.Y))
}

// WithinAccess is what the report of a failed check names.
func (g *Addresses) WithinAccess(w *ir.Binary) access {
	v := &ir.Var{Name: g.names[w.At], Type: ir.SliceOf(ir.Uint8Type)}
	return access{at: &ir.Index{X: &ir.Ref{Var: v, At: w.At}, I: w.X, Checked: true, At: w.At}}
}

// CheckVectors compares indices and limits that both differ between lanes.
func (g *Addresses) CheckVectors(a access, index, limit []vcode.Reg) {
	w := vector.WidthOf(g.Lanes * 8)
	n := g.siteOf(a, 8)
	g.Sites[n-1].Limits = true
	for u := range g.Unroll {
		bad := g.OutsideMask(index[u], limit[u], ir.Int64Type, w)
		if g.Exec != nil {
			bad = g.MaskAnd(bad, g.Exec[u])
		}
		g.MaskBits(vcode.Acc, bad)
		g.Test(vcode.Acc)
		index, limit := index[u], limit[u]
		g.Jump(mach.CondNE, g.OutOfLine(func() {
			g.WriteWord(image.WordBits, vcode.Acc)
			g.WriteVector(protocol.LaneRoom(0), index, w)
			g.WriteVector(protocol.LaneRoom(64), limit, w)
			g.Report(n, vcode.Acc, vcode.Acc)
		}))
	}
}

// checkUniform checks one index for all lanes, of which one is on: below zero is a large unsigned
// number.
func (g *Addresses) checkUniform(a access, l analysis.Linear) {
	r := g.IndexValue(l)
	length := a.root.Length
	n := g.siteOf(a, 0)
	g.Compare(r, length)
	g.Jump(mach.CondAE, g.OutOfLine(func() { g.Report(n, r, length) }))
}

// checkAffine checks the first and the last lane at once; where that fails and lanes may be off,
// lane by lane.
func (g *Addresses) checkAffine(a access, l analysis.Linear, stride int64) {
	n := g.siteOf(a, 0)
	length := a.root.Length
	first := g.IndexValue(l)
	last := g.NewGeneral()
	if g.Prefix != vcode.NoReg {
		g.Times(last, g.Prefix, stride)
		g.Add(last, first)
		g.AddConst(last, -stride)
	} else {
		g.Move(last, first)
		g.AddConst(last, stride*int64(g.Lanes*g.Unroll-1))
	}
	back := g.NewLabel()
	exec := g.Exec
	slow := g.OutOfLine(func() { g.checkLanes(n, first, length, stride, exec, back) })
	g.Compare(first, length)
	g.Jump(mach.CondAE, slow)
	g.Compare(last, length)
	g.Jump(mach.CondAE, slow)
	g.Place(back)
}

// checkLanes looks at every lane that is on, one after the other; it is out of line and rare.
func (g *Addresses) checkLanes(n int, first, length vcode.Reg, stride int64, exec []vcode.Reg, back mach.Label) {
	index := g.NewGeneral()
	g.Move(index, first)
	lanes := int64(g.Lanes)
	for u := range g.CopiesOf(exec) {
		left, bits := g.NewGeneral(), g.NewGeneral()
		if exec != nil {
			g.MaskBits(bits, exec[u])
		} else {
			g.SetGeneral(bits, -1)
		}
		g.SetGeneral(left, lanes)
		loop, next := g.NewLabel(), g.NewLabel()
		bad := g.NewLabel()
		g.Place(loop)
		g.Copy(vcode.Count, bits)
		g.LowestBit(vcode.Count)
		g.Jump(mach.CondE, next)
		g.Compare(index, length)
		g.Jump(mach.CondAE, bad)
		g.Place(next)
		g.ShiftRight(bits, 1)
		g.AddConst(index, stride)
		g.Decrement(left)
		g.Jump(mach.CondNE, loop)
		over := g.NewLabel()
		g.Jump(mach.Always, over)
		g.Place(bad)
		g.Report(n, index, length)
		g.Place(over)
	}
	g.Jump(mach.Always, back)
}

// checkGather compares all indices of the lanes that are on with the length.
func (g *Addresses) checkGather(a access, t Target) {
	check := g.gatherCheck(a, t)
	for u := range g.Unroll {
		check(u)
	}
}

// gatherCheck selects, for one copy, what checkGather does.
func (g *Addresses) gatherCheck(a access, t Target) func(u int) {
	size, typ := 8, ir.Int64Type
	if t.size4 {
		size, typ = 4, ir.Int32Type
	}
	n := g.siteOf(a, size)
	w := vector.WidthOf(g.Lanes * size)
	limit := g.limit(a, t.size4)
	return func(u int) {
		bad := g.OutsideMask(t.Index[u], limit, typ, w)
		if g.Exec != nil {
			bad = g.MaskAnd(bad, g.Exec[u])
		}
		index, length := t.Index[u], a.root.Length
		tests := g.ISA.Compares() // that some lane is on, for less than which ones
		if tests {
			g.AnyLane([]vcode.Reg{bad})
		} else {
			g.MaskBits(vcode.Acc, bad)
			g.Test(vcode.Acc)
		}
		g.Jump(mach.CondNE, g.OutOfLine(func() {
			if tests {
				g.MaskBits(vcode.Acc, bad)
			}
			g.WriteWord(image.WordBits, vcode.Acc)
			g.WriteVector(protocol.LaneRoom(0), index, w)
			g.Report(n, vcode.Acc, length)
		}))
	}
}

// limit is the length of a slice in every lane. That of a parameter is made once, at the entry.
func (g *Addresses) limit(a access, size4 bool) vcode.Reg {
	size := 8
	if size4 {
		size = 4
	}
	root, ok := a.at.X.(*ir.Ref)
	if !ok || root.Var.Space != ir.Param || g.Frame.Word[root.Var] == 0 || ir.Assigned(g.Kernel.Body).Has(root.Var) {
		r := g.NewVector()
		g.BroadcastGeneral(r, g.ClampLength(a.root.Length, size4), size, vector.WidthOf(g.Lanes*size))
		return r
	}
	key := limitKey{root.Var, g.Lanes, size}
	if r, ok := g.limits[key]; ok {
		return r
	}
	r, length := g.NewVector(), g.NewGeneral()
	g.AtEntry(func() {
		g.ReadWord(length, g.Frame.Word[root.Var]+1)
		g.BroadcastGeneral(r, g.ClampLength(length, size4), size, vector.WidthOf(g.Lanes*size))
	})
	g.limits[key] = r
	return r
}

// A limitKey tells lengths in vectors apart.
type limitKey struct {
	v           *ir.Var
	lanes, size int
}
