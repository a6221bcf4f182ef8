package vector

import (
	"github.com/gompss/gompss/codegen/cpu/vcode"
	"github.com/gompss/gompss/codegen/ir"
)

// OutsideMask is the lanes whose index is not in [0, limit).
func (g *Arithmetic) OutsideMask(index, limit vcode.Reg, t *ir.Type, w vcode.Width) vcode.Reg {
	if g.AVX512 {
		m := g.NewMask()
		op := vcode.VCompareU64
		if t.Size == 4 {
			op = vcode.VCompareU32
		}
		g.Op(op, w, vcode.RegArg(m), vcode.RegArg(index), vcode.RegArg(limit), vcode.ImmArg(5)) // not less, unsigned
		return m
	}
	if g.ISA.Compares() {
		m := g.NewVector()
		g.Op(Pick(t, vcode.VCompareU32, vcode.VCompareU64), w, vcode.RegArg(m), vcode.RegArg(index), vcode.RegArg(limit), vcode.ImmArg(5))
		return g.CanonicalMask(m, int(t.Size))
	}
	// AVX2 has only signed greater-than: bad = index < 0 or not(limit > index).
	zero, neg, ok := g.NewVector(), g.NewVector(), g.NewVector()
	gt := vcode.VGreaterI64
	if t.Size == 4 {
		gt = vcode.VGreaterI32
	}
	g.Op(vcode.VXor, w, vcode.RegArg(zero), vcode.RegArg(g.undefined(zero)), vcode.RegArg(zero))
	g.Op(gt, w, vcode.RegArg(neg), vcode.RegArg(zero), vcode.RegArg(index))
	g.Op(gt, w, vcode.RegArg(ok), vcode.RegArg(limit), vcode.RegArg(index))
	ones := g.AllOnes(w)
	g.Op(vcode.VXor, w, vcode.RegArg(ok), vcode.RegArg(ok), vcode.RegArg(ones))
	g.Op(vcode.VOr, w, vcode.RegArg(ok), vcode.RegArg(ok), vcode.RegArg(neg))
	return g.CanonicalMask(ok, int(t.Size))
}

// Predicates of VCompareF32: ordered and quiet, as Go compares floats; != is true for NaN.
var floatPredicates = map[ir.Op]int64{ir.Eq: 0x00, ir.Lt: 0x11, ir.Le: 0x12, ir.Ne: 0x04, ir.Ge: 0x1D, ir.Gt: 0x1E}

// Predicates of VCompareI32.
var intPredicates = map[ir.Op]int64{ir.Eq: 0, ir.Lt: 1, ir.Le: 2, ir.Ne: 4, ir.Ge: 5, ir.Gt: 6}

func (g *Arithmetic) CompareCopy(e *ir.Binary, t *ir.Type, x, y vcode.Reg) vcode.Reg {
	w := g.Width(t)
	if t.IsFloat() {
		op := vcode.VCompareF32
		if t.Kind == ir.Float64 {
			op = vcode.VCompareF64
		}
		m := g.NewMaskRegister()
		g.Op(op, w, vcode.RegArg(m), vcode.RegArg(x), vcode.RegArg(y), vcode.ImmArg(floatPredicates[e.Op]))
		return g.CanonicalMask(m, int(t.Size))
	}
	if g.AVX512 {
		m := g.NewMask()
		g.Op(IntCompareOp(t), w, vcode.RegArg(m), vcode.RegArg(x), vcode.RegArg(y), vcode.ImmArg(intPredicates[e.Op]))
		return m
	}
	return g.CanonicalMask(g.CompareAVX2(e.Op, t, x, y, w), Container(t))
}

func IntCompareOp(t *ir.Type) vcode.Op {
	switch {
	case Container(t) == 8 && t.IsSigned():
		return vcode.VCompareI64
	case Container(t) == 8:
		return vcode.VCompareU64
	case t.IsSigned():
		return vcode.VCompareI32
	}
	return vcode.VCompareU32
}

// CompareAVX2 builds the six comparisons of equal and signed greater.
func (g *Arithmetic) CompareAVX2(op ir.Op, t *ir.Type, x, y vcode.Reg, w vcode.Width) vcode.Reg {
	if g.ISA.Compares() {
		r := g.NewVector()
		g.Op(IntCompareOp(t), w, vcode.RegArg(r), vcode.RegArg(x), vcode.RegArg(y), vcode.ImmArg(intPredicates[op]))
		return r
	}
	eq, gt, sign := vcode.VEqualI32, vcode.VGreaterI32, g.ConstVector(1<<31, 4)
	if Container(t) == 8 {
		eq, gt, sign = vcode.VEqualI64, vcode.VGreaterI64, g.ConstVector(1<<63, 8)
	}
	r := g.NewVector()
	if op == ir.Eq || op == ir.Ne {
		g.Op(eq, w, vcode.RegArg(r), vcode.RegArg(x), vcode.RegArg(y))
	} else {
		if !t.IsSigned() && t.Size >= 4 { // unsigned order is signed order with the top bit flipped
			fx, fy := g.NewVector(), g.NewVector()
			g.Op(vcode.VXor, w, vcode.RegArg(fx), vcode.RegArg(x), vcode.RegArg(sign))
			g.Op(vcode.VXor, w, vcode.RegArg(fy), vcode.RegArg(y), vcode.RegArg(sign))
			x, y = fx, fy
		}
		if op == ir.Lt || op == ir.Ge {
			x, y = y, x
		}
		g.Op(gt, w, vcode.RegArg(r), vcode.RegArg(x), vcode.RegArg(y))
	}
	if op == ir.Ne || op == ir.Le || op == ir.Ge {
		n := g.NewVector()
		g.Op(vcode.VXor, w, vcode.RegArg(n), vcode.RegArg(r), vcode.RegArg(g.AllOnes(w)))
		return n
	}
	return r
}

func (g *Arithmetic) MinMax(d, x, y vcode.Reg, least bool, t *ir.Type, w vcode.Width) {
	if t.IsFloat() {
		g.floatMinMax(d, x, y, least, t, w)
		return
	}
	op := Pick(t, vcode.VMaxI32, vcode.VMaxI64)
	switch {
	case least && t.IsSigned():
		op = Pick(t, vcode.VMinI32, vcode.VMinI64)
	case least:
		op = Pick(t, vcode.VMinU32, vcode.VMinU64)
	case !t.IsSigned():
		op = Pick(t, vcode.VMaxU32, vcode.VMaxU64)
	}
	if Container(t) == 8 && !g.AVX512 {
		cmp := ir.Gt
		if least {
			cmp = ir.Lt
		}
		m := g.CompareAVX2(cmp, t, x, y, w)
		g.Op(vcode.VBlend, w, vcode.RegArg(d), vcode.RegArg(y), vcode.RegArg(x), vcode.RegArg(m))
		return
	}
	g.Op(op, w, vcode.RegArg(d), vcode.RegArg(x), vcode.RegArg(y))
}

// floatMinMax is one operation where there is one for it. Else the instruction returns its second
// operand when the two are equal or one is a NaN, and both orders are combined: equal bits or signs
// by or (min) and and (max), and a NaN of either wins by adding the two.
func (g *Arithmetic) floatMinMax(d, x, y vcode.Reg, least bool, t *ir.Type, w vcode.Width) {
	if g.ISA.Extremes() {
		op := Pick(t, vcode.VGreatestF32, vcode.VGreatestF64)
		if least {
			op = Pick(t, vcode.VLeastF32, vcode.VLeastF64)
		}
		g.Op(op, w, vcode.RegArg(d), vcode.RegArg(x), vcode.RegArg(y))
		return
	}
	a, b, s := g.NewVector(), g.NewVector(), g.NewVector()
	op, merge := Pick(t, vcode.VMaxF32, vcode.VMaxF64), vcode.VAndF32
	if least {
		op, merge = Pick(t, vcode.VMinF32, vcode.VMinF64), vcode.VOrF32
	}
	g.Op(op, w, vcode.RegArg(a), vcode.RegArg(x), vcode.RegArg(y))
	g.Op(op, w, vcode.RegArg(b), vcode.RegArg(y), vcode.RegArg(x))
	g.Op(merge, w, vcode.RegArg(a), vcode.RegArg(a), vcode.RegArg(b))
	g.Op(Pick(t, vcode.VAddF32, vcode.VAddF64), w, vcode.RegArg(s), vcode.RegArg(x), vcode.RegArg(y))
	m := g.NewMaskRegister()
	g.Op(Pick(t, vcode.VCompareF32, vcode.VCompareF64), w, vcode.RegArg(m), vcode.RegArg(x), vcode.RegArg(y), vcode.ImmArg(3))
	if g.AVX512 {
		g.Emit(vcode.I(Pick(t, vcode.VStoreF32, vcode.VStoreF64), w, vcode.RegArg(a), vcode.RegArg(s)).Masked(m, false))
		g.Move(d, a)
		return
	}
	g.Op(vcode.VBlend, w, vcode.RegArg(d), vcode.RegArg(a), vcode.RegArg(s), vcode.RegArg(m))
}
