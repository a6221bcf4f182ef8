package cpu

import (
	"github.com/gompss/gompss/codegen/cpu/image"
	"github.com/gompss/gompss/codegen/cpu/internal/analysis"
	"github.com/gompss/gompss/codegen/cpu/mach"
	"github.com/gompss/gompss/codegen/cpu/x86"
	"github.com/gompss/gompss/codegen/ir"
)

// siteOf numbers a checked access, for the report.
func (g *gen) siteOf(a access, bytes int) int {
	n := g.newSite(image.Site{Kind: image.SiteBounds, What: ir.Source(a.at.X), Bytes: bytes})
	g.sites[n-1].At, g.sites[n-1].Part = a.at.At, g.bounds[a.at.At]
	g.sites[n-1].Wide = a.at.I.Type().Kind == ir.Uint64
	return n
}

// report stores what failed and returns from the code; r holds the index.
func (g *gen) report(n int, r, length x86.Reg) {
	g.Op(x86.MOVQStore, x86.W128, blockWord(image.WordIndex), x86.RegArg(r))
	g.Op(x86.MOVQStore, x86.W128, blockWord(image.WordLen), x86.RegArg(length))
	g.Op(x86.MOVQImm, x86.W128, x86.RegArg(x86.CX), x86.ImmArg(int64(n)))
	g.Op(x86.MOVQStore, x86.W128, blockWord(image.WordStatus), x86.RegArg(x86.CX))
	g.Return()
}

// checkAccess checks an index that is no vector: of the slice where it asks for that, and of the
// parts on the way.
func (g *gen) checkAccess(a access, l analysis.Linear, s analysis.Shape) {
	if a.at.Checked {
		g.checkIndex(a, l, s)
	}
	for _, w := range l.Withins {
		g.checkWithin(w)
	}
}

func (g *gen) checkIndex(a access, l analysis.Linear, s analysis.Shape) {
	if s.Kind == analysis.Uniform {
		g.checkUniform(a, l)
	} else {
		g.checkAffine(a, l, s.Stride)
	}
}

// checkWithin makes the check that w stands for.
func (g *gen) checkWithin(w *ir.Binary) {
	sx, sy := g.shape(w.X), g.shape(w.Y)
	a := g.withinAccess(w)
	if sx.Kind != analysis.Varying && sy.Kind == analysis.Uniform {
		a.root = &home{length: g.gp(w.Y)}
		l := analysis.LinearOf(w.X)
		for _, inner := range l.Withins {
			g.checkWithin(inner)
		}
		g.checkIndex(a, l, sx)
		return
	}
	g.checkVectors(a, g.vec(w.X), g.vec(w.Y))
}

// withinAccess is what the report of a failed check names.
func (g *gen) withinAccess(w *ir.Binary) access {
	v := &ir.Var{Name: g.names[w.At], Type: ir.SliceOf(ir.Uint8Type)}
	return access{at: &ir.Index{X: &ir.Ref{Var: v, At: w.At}, I: w.X, Checked: true, At: w.At}}
}

// checkVectors compares indices and limits that both differ between lanes.
func (g *gen) checkVectors(a access, index, limit []x86.Reg) {
	w := widthOf(g.lanes * 8)
	n := g.siteOf(a, 8)
	g.sites[n-1].Limits = true
	for u := range g.unroll {
		bad := g.outsideMask(index[u], limit[u], ir.Int64Type, w)
		if g.exec != nil {
			bad = g.maskAnd(bad, g.exec[u])
		}
		g.maskBits(x86.AX, bad)
		g.Op(x86.TESTQ, x86.W128, x86.RegArg(x86.AX), x86.RegArg(x86.AX))
		index, limit := index[u], limit[u]
		g.Jump(mach.CondNE, g.outOfLine(func() {
			g.Op(x86.MOVQStore, x86.W128, blockWord(image.WordBits), x86.RegArg(x86.AX))
			g.Op(x86.VMOVUPSStore, w, x86.MemArg(x86.At(x86.DI, 8*image.WordLanes)), x86.RegArg(index))
			g.Op(x86.VMOVUPSStore, w, x86.MemArg(x86.At(x86.DI, 8*(image.WordLanes+8))), x86.RegArg(limit))
			g.report(n, x86.AX, x86.AX)
		}))
	}
}

// checkUniform checks one index for all lanes, of which one is on: below zero is a large unsigned
// number.
func (g *gen) checkUniform(a access, l analysis.Linear) {
	r := g.indexValue(l)
	length := a.root.length
	n := g.siteOf(a, 0)
	g.Op(x86.CMPQ, x86.W128, x86.RegArg(r), x86.RegArg(length))
	g.Jump(mach.CondAE, g.outOfLine(func() { g.report(n, r, length) }))
}

// checkAffine checks the first and the last lane at once; where that fails and lanes may be off,
// lane by lane.
func (g *gen) checkAffine(a access, l analysis.Linear, stride int64) {
	n := g.siteOf(a, 0)
	length := a.root.length
	first := g.indexValue(l)
	last := g.NewGeneral()
	if g.prefix != x86.NoReg {
		g.times(last, g.prefix, stride)
		g.Op(x86.ADDQ, x86.W128, x86.RegArg(last), x86.RegArg(first))
		g.addConst(last, -stride)
	} else {
		g.move(last, first)
		g.addConst(last, stride*int64(g.lanes*g.unroll-1))
	}
	back := g.NewLabel()
	exec := g.exec
	slow := g.outOfLine(func() { g.checkLanes(n, first, length, stride, exec, back) })
	g.Op(x86.CMPQ, x86.W128, x86.RegArg(first), x86.RegArg(length))
	g.Jump(mach.CondAE, slow)
	g.Op(x86.CMPQ, x86.W128, x86.RegArg(last), x86.RegArg(length))
	g.Jump(mach.CondAE, slow)
	g.Place(back)
}

// times sets d to x*c.
func (g *gen) times(d, x x86.Reg, c int64) {
	if c == 1 {
		g.move(d, x)
		return
	}
	g.Op(x86.IMUL3Q, x86.W128, x86.RegArg(d), x86.RegArg(x), x86.ImmArg(c))
}

// checkLanes looks at every lane that is on, one after the other; it is out of line and rare.
func (g *gen) checkLanes(n int, first, length x86.Reg, stride int64, exec []x86.Reg, back mach.Label) {
	index := g.NewGeneral()
	g.move(index, first)
	lanes := int64(g.lanes)
	for u := range g.copiesOf(exec) {
		left, bits := g.NewGeneral(), g.NewGeneral()
		if exec != nil {
			g.maskBits(bits, exec[u])
		} else {
			g.setGeneral(bits, -1)
		}
		g.setGeneral(left, lanes)
		loop, next := g.NewLabel(), g.NewLabel()
		bad := g.NewLabel()
		g.Place(loop)
		g.Op(x86.MOVQStore, x86.W128, x86.RegArg(x86.CX), x86.RegArg(bits))
		g.Op(x86.ANDQImm8, x86.W128, x86.RegArg(x86.CX), x86.ImmArg(1))
		g.Jump(mach.CondE, next)
		g.Op(x86.CMPQ, x86.W128, x86.RegArg(index), x86.RegArg(length))
		g.Jump(mach.CondAE, bad)
		g.Place(next)
		g.Op(x86.SHRQ, x86.W128, x86.RegArg(bits), x86.ImmArg(1))
		g.addConst(index, stride)
		g.Op(x86.ADDQImm8, x86.W128, x86.RegArg(left), x86.ImmArg(-1))
		g.Jump(mach.CondNE, loop)
		over := g.NewLabel()
		g.Jump(mach.Always, over)
		g.Place(bad)
		g.report(n, index, length)
		g.Place(over)
	}
	g.Jump(mach.Always, back)
}

// copiesOf is how many unrolled copies a slow check has to look at.
func (g *gen) copiesOf(exec []x86.Reg) int {
	if exec != nil {
		return len(exec)
	}
	return g.unroll
}

// checkGather compares all indices of the lanes that are on with the length.
func (g *gen) checkGather(a access, t target) {
	check := g.gatherCheck(a, t)
	for u := range g.unroll {
		check(u)
	}
}

// gatherCheck selects, for one copy, what checkGather does.
func (g *gen) gatherCheck(a access, t target) func(u int) {
	size, typ := 8, ir.Int64Type
	if t.size4 {
		size, typ = 4, ir.Int32Type
	}
	n := g.siteOf(a, size)
	w := widthOf(g.lanes * size)
	limit := g.limit(a, t.size4)
	return func(u int) {
		bad := g.outsideMask(t.index[u], limit, typ, w)
		if g.exec != nil {
			bad = g.maskAnd(bad, g.exec[u])
		}
		g.maskBits(x86.AX, bad)
		g.Op(x86.TESTQ, x86.W128, x86.RegArg(x86.AX), x86.RegArg(x86.AX))
		index, length := t.index[u], a.root.length
		g.Jump(mach.CondNE, g.outOfLine(func() {
			g.Op(x86.MOVQStore, x86.W128, blockWord(image.WordBits), x86.RegArg(x86.AX))
			g.Op(x86.VMOVUPSStore, w, x86.MemArg(x86.At(x86.DI, 8*image.WordLanes)), x86.RegArg(index))
			g.report(n, x86.AX, length)
		}))
	}
}

// limit is the length of a slice in every lane. That of a parameter is made once, at the entry.
func (g *gen) limit(a access, size4 bool) x86.Reg {
	size := 8
	if size4 {
		size = 4
	}
	root, ok := a.at.X.(*ir.Ref)
	if !ok || root.Var.Space != ir.Param || g.frame.Word[root.Var] == 0 || ir.Assigned(g.kernel.Body).Has(root.Var) {
		r := g.NewVector()
		g.broadcastGeneral(r, g.clampLength(a.root.length, size4), size, widthOf(g.lanes*size))
		return r
	}
	key := limitKey{root.Var, g.lanes, size}
	if r, ok := g.limits[key]; ok {
		return r
	}
	r, length := g.NewVector(), g.NewGeneral()
	g.AtEntry(func() {
		g.Op(x86.MOVQ, x86.W128, x86.RegArg(length), blockWord(g.frame.Word[root.Var]+1))
		g.broadcastGeneral(r, g.clampLength(length, size4), size, widthOf(g.lanes*size))
	})
	g.limits[key] = r
	return r
}

// A limitKey tells lengths in vectors apart.
type limitKey struct {
	v           *ir.Var
	lanes, size int
}

// clampLength brings a length into the range of 32-bit indices: every index is below 2^31 anyway.
func (g *gen) clampLength(length x86.Reg, size4 bool) x86.Reg {
	if !size4 {
		return length
	}
	r := g.NewGeneral()
	limit := g.constGeneral(1<<31 - 1)
	g.move(r, length)
	g.Op(x86.CMPQ, x86.W128, x86.RegArg(r), x86.RegArg(limit))
	g.Op(x86.CMOVQGT, x86.W128, x86.RegArg(r), x86.RegArg(limit))
	return r
}

// outsideMask is the lanes whose index is not in [0, limit).
func (g *gen) outsideMask(index, limit x86.Reg, t *ir.Type, w x86.Width) x86.Reg {
	if g.avx512 {
		m := g.NewMask()
		op := x86.VPCMPUQ
		if t.Size == 4 {
			op = x86.VPCMPUD
		}
		g.Op(op, w, x86.RegArg(m), x86.RegArg(index), x86.RegArg(limit), x86.ImmArg(5)) // not less, unsigned
		return m
	}
	// AVX2 has only signed greater-than: bad = index < 0 or not(limit > index).
	zero, neg, ok := g.NewVector(), g.NewVector(), g.NewVector()
	gt := x86.VPCMPGTQ
	if t.Size == 4 {
		gt = x86.VPCMPGTD
	}
	g.Op(x86.VPXOR, w, x86.RegArg(zero), x86.RegArg(g.undefined(zero)), x86.RegArg(zero))
	g.Op(gt, w, x86.RegArg(neg), x86.RegArg(zero), x86.RegArg(index))
	g.Op(gt, w, x86.RegArg(ok), x86.RegArg(limit), x86.RegArg(index))
	ones := g.allOnes(w)
	g.Op(x86.VPXOR, w, x86.RegArg(ok), x86.RegArg(ok), x86.RegArg(ones))
	g.Op(x86.VPOR, w, x86.RegArg(ok), x86.RegArg(ok), x86.RegArg(neg))
	return g.canonicalMask(ok, int(t.Size))
}
