package cpu

import (
	"github.com/gompss/gompss/codegen/cpu/image"
	"github.com/gompss/gompss/codegen/cpu/internal/analysis"
	"github.com/gompss/gompss/codegen/cpu/mach"
	"github.com/gompss/gompss/codegen/cpu/x86"
	"github.com/gompss/gompss/codegen/ir"
)

// Local arrays lie in the scratch memory of a launch. One that is declared outside the vector loop
// is there once, like a slice. One that is declared in it belongs to a lane: the elements with one
// number lie side by side, one for each lane of each unrolled copy, so that a number that all lanes
// agree on is a plain vector load, and one that they do not is a gather.

const (
	manyScratch = 64 << 10 // bytes of scratch memory from which on fewer copies are better
	mostScratch = 16 << 20
)

// arrayHome makes room for an array.
func (g *gen) arrayHome(v *ir.Var, n int64) *home {
	h := &home{gp: g.NewGeneral(), length: g.constGeneral(n)}
	size := int64(v.Type.Elem.Size)
	at, ok := g.frame.Place[v]
	if !ok || g.shapes != nil {
		at = g.scratch
		if g.shapes != nil {
			h.per = int64(g.lanes * g.wanted)
			size *= h.per
		}
		if n > mostScratch/size {
			g.refuse(v.At, "the local array %s takes %d bytes for each of %d lanes, more than the %d that there are: make it a parameter", v.Name, n*size/max(h.per, 1), max(h.per, 1), mostScratch)
		}
		g.scratch += image.RoundUp(n*size, image.ScratchAlign)
	}
	g.Op(x86.MOVQ, x86.W128, x86.RegArg(h.gp), blockWord(image.WordScratch))
	g.addConst(h.gp, at)
	return h
}

// declareArray sets an array to zero.
func (g *gen) declareArray(v *ir.Var, n int64) *home {
	h := g.arrayHome(v, n)
	g.homes[v] = h
	g.fillArray(h, v.Type.Elem, n, g.ConstVector(0, 4))
	return h
}

// fillArray stores vectors of one value all over the array; it has room for whole vectors.
func (g *gen) fillArray(h *home, t *ir.Type, n int64, value x86.Reg) {
	w := widthOf(g.bytes)
	total := image.RoundUp(n*int64(t.Size)*max(h.per, 1), int64(g.bytes))
	if total <= 16*int64(g.bytes) {
		for at := int64(0); at < total; at += int64(g.bytes) {
			g.Op(x86.VMOVUPSStore, w, x86.MemArg(x86.At(h.gp, int32(at))), x86.RegArg(value))
		}
		return
	}
	p, left := g.NewGeneral(), g.NewGeneral()
	g.move(p, h.gp)
	g.setGeneral(left, total/int64(g.bytes))
	top := g.NewLabel()
	g.Place(top)
	g.Op(x86.VMOVUPSStore, w, x86.MemArg(x86.At(p, 0)), x86.RegArg(value))
	if total > manyScratch {
		g.pausePoint()
	}
	g.addConst(p, int64(g.bytes))
	g.Op(x86.ADDQImm8, x86.W128, x86.RegArg(left), x86.ImmArg(-1))
	g.JumpBack(mach.CondNE, top)
}

// laneTarget is the memory of an element of an array that every lane has for itself.
func (g *gen) laneTarget(a access, s analysis.Shape) target {
	size := a.size
	if s.Kind != analysis.Varying {
		l := analysis.LinearOf(a.at.I)
		if g.checks(a.at) {
			g.checkAccess(a, l, s)
		}
		t := target{stride: size * (s.Stride*a.root.per + 1), root: a.root}
		if disp := l.C * size * a.root.per; len(l.Terms) == 0 && disp == int64(int32(disp)) {
			t.mem = x86.At(a.root.gp, int32(disp))
			return t
		}
		r := g.NewGeneral()
		g.Op(x86.IMUL3Q, x86.W128, x86.RegArg(r), x86.RegArg(g.indexValue(l)), x86.ImmArg(size*a.root.per))
		t.mem = x86.Indexed(a.root.gp, r, 1, 0)
		return t
	}
	t := g.gatherIndex(a)
	g.each(func(u int) { t.checkNow(u) })
	t.known, t.check = nil, nil // of the numbers of elements, which do not lie side by side
	isize, add, mul := 8, x86.VPADDQ, x86.VPMULLQ
	if t.size4 {
		isize, add, mul = 4, x86.VPADDD, x86.VPMULLD
	}
	w := widthOf(g.lanes * isize)
	per := g.ConstVector(uint64(a.root.per), isize)
	out := g.vectors(g.unroll)
	g.each(func(u int) {
		x := g.NewVector()
		if mul == x86.VPMULLQ && !g.avx512 {
			g.seriesOf(ir.Int64Type, w).MulLong(x, t.index[u], per)
		} else {
			g.Op(mul, w, x86.RegArg(x), x86.RegArg(t.index[u]), x86.RegArg(per))
		}
		g.Op(add, w, x86.RegArg(out[u]), x86.RegArg(x), x86.RegArg(g.iotaVector(1, isize)))
		if u > 0 {
			g.Op(add, w, x86.RegArg(out[u]), x86.RegArg(out[u]), x86.RegArg(g.ConstVector(uint64(u*g.lanes), isize)))
		}
	})
	t.index, t.scale = out, uint8(size)
	return t
}
