package cpu

import (
	"github.com/gompss/gompss/codegen/cpu/image"
	"github.com/gompss/gompss/codegen/cpu/internal/analysis"
	"github.com/gompss/gompss/codegen/cpu/mach"
	"github.com/gompss/gompss/codegen/cpu/x86"
	"github.com/gompss/gompss/codegen/ir"
)

// vecShift shifts by constants; counts past the width give what Go gives.
func (g *gen) vecShift(dst []x86.Reg, e *ir.Binary) []x86.Reg {
	c, ok := ir.ConstInt(e.Y)
	if !ok || c < 0 {
		return g.shiftByVector(dst, e)
	}
	w, bits := g.width(e.T), 8*int64(e.T.Size)
	x := g.vec(e.X)
	return g.lift(dst, x, x, func(d, x, _ x86.Reg) {
		switch {
		case e.Op == ir.Shr && e.T.IsSigned() && container(e.T) == 8 && !g.avx512 && !g.notNegative(e.X):
			c = min(c, bits-1)
			s := g.seriesOf(e.T, w)
			g.move(d, s.Extended(s.ShiftRight(x, c), s.ConstBits(1<<(63-c))))
		case e.Op == ir.Shr && e.T.IsSigned() && (container(e.T) == 4 || g.avx512):
			c = min(c, bits-1)
			g.Op(pick(e.T, x86.VPSRAD, x86.VPSRAQ), w, x86.RegArg(d), x86.RegArg(x), x86.ImmArg(c))
		case c >= bits:
			g.move(d, g.ConstVector(0, container(e.T)))
		case e.Op == ir.Shr:
			g.Op(pick(e.T, x86.VPSRLD, x86.VPSRLQ), w, x86.RegArg(d), x86.RegArg(x), x86.ImmArg(c))
		default:
			g.Op(pick(e.T, x86.VPSLLD, x86.VPSLLQ), w, x86.RegArg(d), x86.RegArg(x), x86.ImmArg(c))
			g.wrap(d, e.T)
		}
	})
}

// shiftByVector shifts every lane by its own count, or all by the same. The instructions give what
// Go gives for counts past the width, as long as the count fits its lane; a negative one in a lane
// that is on ends the launch.
func (g *gen) shiftByVector(dst []x86.Reg, e *ir.Binary) []x86.Reg {
	x := g.vec(e.X)
	var by []x86.Reg
	if g.shape(e.Y).Kind == analysis.Uniform {
		by = g.sameCount(e)
	} else {
		by = g.vec(e.Y)
		if e.Y.Type().IsSigned() && e.Checked {
			g.checkCounts(e, by)
		}
		by = g.countsFor(by, e.Y.Type(), e.T)
	}
	s := g.seriesOf(e.T, g.width(e.T))
	signed := e.Op == ir.Shr && e.T.IsSigned() && !g.notNegative(e.X)
	return g.lift(dst, x, by, func(d, x, n x86.Reg) {
		switch {
		case e.Op == ir.Shl:
			g.Op(pick(e.T, x86.VPSLLVD, x86.VPSLLVQ), s.Width, x86.RegArg(d), x86.RegArg(x), x86.RegArg(n))
			g.wrap(d, e.T)
		case !signed:
			g.Op(pick(e.T, x86.VPSRLVD, x86.VPSRLVQ), s.Width, x86.RegArg(d), x86.RegArg(x), x86.RegArg(n))
		case container(e.T) == 4 || g.avx512:
			g.Op(pick(e.T, x86.VPSRAVD, x86.VPSRAVQ), s.Width, x86.RegArg(d), x86.RegArg(x), x86.RegArg(n))
		default: // AVX2 shifts no signs into these: what is above the sign is shifted in as zeros
			sign, shifted := s.Signs(x), s.NewVector()
			g.Op(x86.VPSRLVQ, s.Width, x86.RegArg(shifted), x86.RegArg(s.Xor(x, x86.RegArg(sign))), x86.RegArg(n))
			g.Op(x86.VXORPS, s.Width, x86.RegArg(d), x86.RegArg(shifted), x86.RegArg(sign))
		}
	})
}

// checkCounts ends the launch where a lane that is on shifts by a negative count: one of those of
// all copies, put together, has a sign.
func (g *gen) checkCounts(e *ir.Binary, by []x86.Reg) {
	t := e.Y.Type()
	w, all := g.width(t), x86.NoReg
	for u, n := range by {
		if u > 0 && n == by[0] && (g.exec == nil || g.exec[u] == g.exec[0]) {
			continue
		}
		all = g.orWhereOn(all, n, u, t)
	}
	if g.avx512 {
		m := g.NewMask()
		g.Op(intCompareOp(t), w, x86.RegArg(m), x86.RegArg(all), x86.RegArg(g.ConstVector(0, container(t))), x86.ImmArg(1))
		g.Op(x86.KORTESTW, x86.W128, x86.RegArg(m), x86.RegArg(m))
	} else {
		g.Op(pick(t, x86.VMOVMSKPS, x86.VMOVMSKPD), w, x86.RegArg(x86.AX), x86.RegArg(all))
		g.Op(x86.TESTQ, x86.W128, x86.RegArg(x86.AX), x86.RegArg(x86.AX))
	}
	g.failAlways(mach.CondNE, ir.CountCheck, e)
}

// orWhereOn is all or x in the lanes of copy u that are on, and all in the others; NoReg is 0.
func (g *gen) orWhereOn(all, x x86.Reg, u int, t *ir.Type) x86.Reg {
	w := g.width(t)
	switch {
	case g.exec == nil && all == x86.NoReg:
		return x
	case g.exec == nil || !g.avx512:
		if g.exec != nil {
			on := g.NewVector()
			g.Op(x86.VPAND, w, x86.RegArg(on), x86.RegArg(x), x86.RegArg(g.maskFor(g.exec[u], t)))
			x = on
		}
		if all == x86.NoReg {
			return x
		}
		r := g.NewVector()
		g.Op(x86.VORPS, w, x86.RegArg(r), x86.RegArg(all), x86.RegArg(x))
		return r
	case all == x86.NoReg:
		all = g.NewVector()
		g.Emit(x86.I(pick(t, x86.VMOVUPSStore, x86.VMOVUPDStore), w, x86.RegArg(all), x86.RegArg(x)).Masked(g.exec[u], true))
		return all
	}
	g.Emit(x86.I(pick(t, x86.VPORD, x86.VPORQ), w, x86.RegArg(all), x86.RegArg(all), x86.RegArg(x)).Masked(g.exec[u], false))
	return all
}

// failAlways ends the launch where the flags say k: the second operand of e fails a check.
func (g *gen) failAlways(k mach.Cond, check ir.CheckKind, e *ir.Binary) {
	n := g.arithSite(check, e)
	g.Jump(k, g.outOfLine(func() {
		g.Op(x86.MOVQImm, x86.W128, x86.RegArg(x86.CX), x86.ImmArg(int64(n)))
		g.Op(x86.MOVQStore, x86.W128, blockWord(image.WordStatus), x86.RegArg(x86.CX))
		g.Return()
	}))
}

// countsFor are counts without a sign in lanes of the number that is shifted. Those that do not fit
// them become longer than it.
func (g *gen) countsFor(by []x86.Reg, from, to *ir.Type) []x86.Reg {
	switch {
	case container(from) == container(to):
		return by
	case container(from) == 4:
		return g.widen(nil, by, ir.Uint32Type, ir.Uint64Type, x86.VPMOVZXDQ)
	}
	w := g.width(from)
	return g.lift(nil, by, by, func(d, n, _ x86.Reg) {
		if g.avx512 {
			short := g.NewVector()
			g.Op(x86.VPMINUQ, w, x86.RegArg(short), x86.RegArg(n), x86.RegArg(g.ConstVector(64, 8)))
			g.Op(x86.VPMOVQD, w, x86.RegArg(d), x86.RegArg(short))
			return
		}
		s := g.seriesOf(ir.Uint64Type, w)
		none, fits := g.ConstVector(0, 8), g.NewVector()
		g.Op(x86.VPCMPEQD, w, x86.RegArg(fits), x86.RegArg(s.ShiftRight(n, 32)), x86.RegArg(none)) // of its lower half
		rest := g.NewVector()
		g.Op(x86.VPANDN, w, x86.RegArg(rest), x86.RegArg(fits), x86.RegArg(g.allOnes(w)))
		g.move(d, g.narrowMask(s.Or(n, x86.RegArg(rest))))
	})
}

// mostCount is a count from which on all shifts are alike.
const mostCount = 64

// sameCount is the count of a shift by the same in all lanes, in lanes of the number that is
// shifted; all from mostCount on are alike.
func (g *gen) sameCount(e *ir.Binary) []x86.Reg {
	n := g.gp(e.Y)
	if e.Y.Type().IsSigned() && e.Checked {
		g.Op(x86.TESTQ, x86.W128, x86.RegArg(n), x86.RegArg(n))
		g.failIf(mach.CondL, ir.CountCheck, e)
	}
	if r, ok := g.spreads[countKey(e)]; ok {
		return g.same(r)
	}
	return g.same(g.countVector(e, n))
}

func (g *gen) countVector(e *ir.Binary, n x86.Reg) x86.Reg {
	limit, count, by := g.constGeneral(mostCount), g.NewGeneral(), g.NewVector()
	g.move(count, n)
	g.Op(x86.CMPQ, x86.W128, x86.RegArg(count), x86.RegArg(limit))
	g.Op(x86.CMOVQHI, x86.W128, x86.RegArg(count), x86.RegArg(limit))
	g.broadcastGeneral(by, count, container(e.T), g.width(e.T))
	return by
}
