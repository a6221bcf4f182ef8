package vector

import (
	"github.com/gompss/gompss/codegen/cpu/x86"
	"github.com/gompss/gompss/codegen/ir"
)

// OutsideMask is the lanes whose index is not in [0, limit).
func (g *Arithmetic) OutsideMask(index, limit x86.Reg, t *ir.Type, w x86.Width) x86.Reg {
	if g.AVX512 {
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
	ones := g.AllOnes(w)
	g.Op(x86.VPXOR, w, x86.RegArg(ok), x86.RegArg(ok), x86.RegArg(ones))
	g.Op(x86.VPOR, w, x86.RegArg(ok), x86.RegArg(ok), x86.RegArg(neg))
	return g.CanonicalMask(ok, int(t.Size))
}

// Predicates of VCMPPS: ordered and quiet, as Go compares floats; != is true for NaN.
var floatPredicates = map[ir.Op]int64{ir.Eq: 0x00, ir.Lt: 0x11, ir.Le: 0x12, ir.Ne: 0x04, ir.Ge: 0x1D, ir.Gt: 0x1E}

// Predicates of VPCMPD.
var intPredicates = map[ir.Op]int64{ir.Eq: 0, ir.Lt: 1, ir.Le: 2, ir.Ne: 4, ir.Ge: 5, ir.Gt: 6}

func (g *Arithmetic) CompareCopy(e *ir.Binary, t *ir.Type, x, y x86.Reg) x86.Reg {
	w := g.Width(t)
	if t.IsFloat() {
		op := x86.VCMPPS
		if t.Kind == ir.Float64 {
			op = x86.VCMPPD
		}
		m := g.NewMaskRegister()
		g.Op(op, w, x86.RegArg(m), x86.RegArg(x), x86.RegArg(y), x86.ImmArg(floatPredicates[e.Op]))
		return g.CanonicalMask(m, int(t.Size))
	}
	if g.AVX512 {
		m := g.NewMask()
		g.Op(IntCompareOp(t), w, x86.RegArg(m), x86.RegArg(x), x86.RegArg(y), x86.ImmArg(intPredicates[e.Op]))
		return m
	}
	return g.CanonicalMask(g.CompareAVX2(e.Op, t, x, y, w), Container(t))
}

func IntCompareOp(t *ir.Type) x86.Op {
	switch {
	case Container(t) == 8 && t.IsSigned():
		return x86.VPCMPQ
	case Container(t) == 8:
		return x86.VPCMPUQ
	case t.IsSigned():
		return x86.VPCMPD
	}
	return x86.VPCMPUD
}

// CompareAVX2 builds the six comparisons of equal and signed greater.
func (g *Arithmetic) CompareAVX2(op ir.Op, t *ir.Type, x, y x86.Reg, w x86.Width) x86.Reg {
	eq, gt, sign := x86.VPCMPEQD, x86.VPCMPGTD, g.ConstVector(1<<31, 4)
	if Container(t) == 8 {
		eq, gt, sign = x86.VPCMPEQQ, x86.VPCMPGTQ, g.ConstVector(1<<63, 8)
	}
	r := g.NewVector()
	if op == ir.Eq || op == ir.Ne {
		g.Op(eq, w, x86.RegArg(r), x86.RegArg(x), x86.RegArg(y))
	} else {
		if !t.IsSigned() && t.Size >= 4 { // unsigned order is signed order with the top bit flipped
			fx, fy := g.NewVector(), g.NewVector()
			g.Op(x86.VPXOR, w, x86.RegArg(fx), x86.RegArg(x), x86.RegArg(sign))
			g.Op(x86.VPXOR, w, x86.RegArg(fy), x86.RegArg(y), x86.RegArg(sign))
			x, y = fx, fy
		}
		if op == ir.Lt || op == ir.Ge {
			x, y = y, x
		}
		g.Op(gt, w, x86.RegArg(r), x86.RegArg(x), x86.RegArg(y))
	}
	if op == ir.Ne || op == ir.Le || op == ir.Ge {
		n := g.NewVector()
		g.Op(x86.VPXOR, w, x86.RegArg(n), x86.RegArg(r), x86.RegArg(g.AllOnes(w)))
		return n
	}
	return r
}

func (g *Arithmetic) MinMax(d, x, y x86.Reg, least bool, t *ir.Type, w x86.Width) {
	if t.IsFloat() {
		g.floatMinMax(d, x, y, least, t, w)
		return
	}
	op := Pick(t, x86.VPMAXSD, x86.VPMAXSQ)
	switch {
	case least && t.IsSigned():
		op = Pick(t, x86.VPMINSD, x86.VPMINSQ)
	case least:
		op = Pick(t, x86.VPMINUD, x86.VPMINUQ)
	case !t.IsSigned():
		op = Pick(t, x86.VPMAXUD, x86.VPMAXUQ)
	}
	if Container(t) == 8 && !g.AVX512 {
		cmp := ir.Gt
		if least {
			cmp = ir.Lt
		}
		m := g.CompareAVX2(cmp, t, x, y, w)
		g.Op(x86.VPBLENDVB, w, x86.RegArg(d), x86.RegArg(y), x86.RegArg(x), x86.RegArg(m))
		return
	}
	g.Op(op, w, x86.RegArg(d), x86.RegArg(x), x86.RegArg(y))
}

// floatMinMax: the instruction returns its second operand when the two are equal or one is a NaN.
// Both orders are combined: equal bits or signs by or (min) and and (max), and a NaN of either wins
// by adding the two.
func (g *Arithmetic) floatMinMax(d, x, y x86.Reg, least bool, t *ir.Type, w x86.Width) {
	a, b, s := g.NewVector(), g.NewVector(), g.NewVector()
	op, merge := Pick(t, x86.VMAXPS, x86.VMAXPD), x86.VANDPS
	if least {
		op, merge = Pick(t, x86.VMINPS, x86.VMINPD), x86.VORPS
	}
	g.Op(op, w, x86.RegArg(a), x86.RegArg(x), x86.RegArg(y))
	g.Op(op, w, x86.RegArg(b), x86.RegArg(y), x86.RegArg(x))
	g.Op(merge, w, x86.RegArg(a), x86.RegArg(a), x86.RegArg(b))
	g.Op(Pick(t, x86.VADDPS, x86.VADDPD), w, x86.RegArg(s), x86.RegArg(x), x86.RegArg(y))
	m := g.NewMaskRegister()
	g.Op(Pick(t, x86.VCMPPS, x86.VCMPPD), w, x86.RegArg(m), x86.RegArg(x), x86.RegArg(y), x86.ImmArg(3))
	if g.AVX512 {
		g.Emit(x86.I(Pick(t, x86.VMOVUPSStore, x86.VMOVUPDStore), w, x86.RegArg(a), x86.RegArg(s)).Masked(m, false))
		g.Move(d, a)
		return
	}
	g.Op(x86.VPBLENDVB, w, x86.RegArg(d), x86.RegArg(a), x86.RegArg(s), x86.RegArg(m))
}
