package vector

import (
	"github.com/gompss/gompss/codegen/cpu/x86"
	"github.com/gompss/gompss/codegen/ir"
)

// testVector sets the zero flag when v is 0.
func (g *Vectors) testVector(v x86.Reg, w x86.Width) {
	if !g.AVX512 {
		g.Op(x86.VPTEST, w, x86.RegArg(v), x86.RegArg(v))
		return
	}
	m := g.NewMask()
	g.Op(x86.VPCMPQ, w, x86.RegArg(m), x86.RegArg(v), x86.RegArg(g.ConstVector(0, 8)), x86.ImmArg(4))
	g.Op(x86.KORTESTW, x86.W128, x86.RegArg(m), x86.RegArg(m))
}

func (g *Vectors) maskLane() int { return g.Bytes / g.Lanes }

func (g *Vectors) maskOp(k, v x86.Op, x, y x86.Reg) x86.Reg {
	r := g.NewMaskRegister()
	if g.AVX512 {
		g.Op(k, x86.W128, x86.RegArg(r), x86.RegArg(x), x86.RegArg(y))
	} else {
		g.Op(v, WidthOf(g.Bytes), x86.RegArg(r), x86.RegArg(x), x86.RegArg(y))
	}
	return r
}

func (g *Vectors) MaskAnd(x, y x86.Reg) x86.Reg { return g.maskOp(x86.KANDW, x86.VPAND, x, y) }

func (g *Vectors) MaskOr(x, y x86.Reg) x86.Reg { return g.maskOp(x86.KORW, x86.VPOR, x, y) }

func (g *Vectors) MaskXor(x, y x86.Reg) x86.Reg { return g.maskOp(x86.KXORW, x86.VPXOR, x, y) }

// MaskAndNot is y and not x.
func (g *Vectors) MaskAndNot(x, y x86.Reg) x86.Reg { return g.maskOp(x86.KANDNW, x86.VPANDN, x, y) }

func (g *Vectors) MaskMove(dst, src x86.Reg) {
	if dst == src {
		return
	}
	if g.AVX512 {
		g.Op(x86.KMOVW, x86.W128, x86.RegArg(dst), x86.RegArg(src))
	} else {
		g.Op(x86.VMOVUPSStore, WidthOf(g.Bytes), x86.RegArg(dst), x86.RegArg(src))
	}
}

// MaskAll is the mask of all lanes.
func (g *Vectors) MaskAll() x86.Reg {
	if !g.AVX512 {
		return g.AllOnes(WidthOf(g.Bytes))
	}
	m := g.NewMask()
	g.Op(x86.MOVQImm, x86.W128, x86.RegArg(x86.CX), x86.ImmArg(1<<g.Lanes-1))
	g.Op(x86.KMOVDSet, x86.W128, x86.RegArg(m), x86.RegArg(x86.CX))
	return m
}

func (g *Vectors) MaskNone() x86.Reg {
	m := g.NewMaskRegister()
	if g.AVX512 {
		g.Op(x86.XORQ, x86.W128, x86.RegArg(x86.CX), x86.RegArg(x86.CX))
		g.Op(x86.KMOVDSet, x86.W128, x86.RegArg(m), x86.RegArg(x86.CX))
	} else {
		g.Op(x86.VPXOR, WidthOf(g.Bytes), x86.RegArg(m), x86.RegArg(g.undefined(m)), x86.RegArg(m))
	}
	return m
}

// MaskBits puts one bit a lane into a general register.
func (g *Vectors) MaskBits(dst, m x86.Reg) {
	switch {
	case g.AVX512:
		g.Op(x86.KMOVWGet, x86.W128, x86.RegArg(dst), x86.RegArg(m))
	case g.maskLane() == 8:
		g.Op(x86.VMOVMSKPD, WidthOf(g.Bytes), x86.RegArg(dst), x86.RegArg(m))
	default:
		g.Op(x86.VMOVMSKPS, WidthOf(g.Bytes), x86.RegArg(dst), x86.RegArg(m))
	}
}

// AnyLane sets the zero flag when no lane of any copy is on.
func (g *Vectors) AnyLane(masks []x86.Reg) {
	m := masks[0]
	for _, n := range masks[1:] {
		if n != m {
			m = g.MaskOr(m, n)
		}
	}
	if g.AVX512 {
		g.Op(x86.KORTESTW, x86.W128, x86.RegArg(m), x86.RegArg(m))
		return
	}
	g.Op(x86.VPTEST, WidthOf(g.Bytes), x86.RegArg(m), x86.RegArg(m))
}

// PrefixMask turns on the first n lanes (n in a general register, at least 0).
func (g *Vectors) PrefixMask(n x86.Reg) x86.Reg {
	if g.AVX512 {
		m := g.NewMask()
		g.Op(x86.MOVQImm, x86.W128, x86.RegArg(x86.CX), x86.ImmArg(1<<g.Lanes-1))
		g.Op(x86.BZHIQ, x86.W128, x86.RegArg(x86.CX), x86.RegArg(x86.CX), x86.RegArg(n))
		g.Op(x86.KMOVDSet, x86.W128, x86.RegArg(m), x86.RegArg(x86.CX))
		return m
	}
	size := g.maskLane()
	w := WidthOf(g.Bytes)
	b, m := g.NewVector(), g.NewVector()
	g.BroadcastGeneral(b, n, size, w)
	op := x86.VPCMPGTD
	if size == 8 {
		op = x86.VPCMPGTQ
	}
	g.Op(op, w, x86.RegArg(m), x86.RegArg(b), x86.RegArg(g.IotaVector(1, size)))
	return m
}

// CanonicalMask converts an AVX2 mask with lanes of size bytes to the canonical lane size.
func (g *Vectors) CanonicalMask(m x86.Reg, size int) x86.Reg {
	if g.AVX512 || size == g.maskLane() {
		return m
	}
	r := g.NewVector()
	if size < g.maskLane() {
		g.Op(x86.VPMOVSXDQ, WidthOf(g.Bytes), x86.RegArg(r), x86.RegArg(m))
		return r
	}
	return g.NarrowMask(m)
}

// NarrowMask halves 8-byte lanes to 4 bytes.
func (g *Vectors) NarrowMask(m x86.Reg) x86.Reg {
	high, r := g.NewVector(), g.NewVector()
	if g.Bytes == 16 { // the upper half is 0: lanes that are off
		g.Op(x86.VSHUFPS, x86.W128, x86.RegArg(r), x86.RegArg(m), x86.RegArg(g.ConstVector(0, 8)), x86.ImmArg(0x88))
		return r
	}
	g.Op(x86.VEXTRACTF128, x86.W256, x86.RegArg(high), x86.RegArg(m), x86.ImmArg(1))
	g.Op(x86.VSHUFPS, x86.W128, x86.RegArg(r), x86.RegArg(m), x86.RegArg(high), x86.ImmArg(0x88))
	return r
}

// MaskFor is the mask in the lane size of values of t, for AVX2.
func (g *Vectors) MaskFor(m x86.Reg, t *ir.Type) x86.Reg {
	if g.AVX512 || Container(t) == g.maskLane() {
		return m
	}
	return g.NarrowMask(m)
}

// Blend sets dst to src in the lanes of m.
func (g *Vectors) Blend(dst, src, m x86.Reg, t *ir.Type) {
	w := g.Width(t)
	if g.AVX512 {
		op := x86.VMOVUPSStore
		if Container(t) == 8 {
			op = x86.VMOVUPDStore
		}
		g.Emit(x86.I(op, w, x86.RegArg(dst), x86.RegArg(src)).Masked(m, false))
		return
	}
	g.Op(x86.VPBLENDVB, w, x86.RegArg(dst), x86.RegArg(dst), x86.RegArg(src), x86.RegArg(g.MaskFor(m, t)))
}

func (g *Vectors) mapMasks(in []x86.Reg, f func(x86.Reg) x86.Reg) []x86.Reg {
	out := make([]x86.Reg, len(in))
	for i, m := range in {
		if i > 0 && m == in[0] {
			out[i] = out[0]
			continue
		}
		out[i] = f(m)
	}
	return out
}

func (g *Vectors) NotMasks(masks []x86.Reg) []x86.Reg {
	return g.mapMasks(masks, func(m x86.Reg) x86.Reg { return g.MaskXor(m, g.MaskAll()) })
}

func (g *Vectors) CopyMask(m x86.Reg) x86.Reg {
	r := g.NewMaskRegister()
	g.MaskMove(r, m)
	return r
}

// Narrow turns off the lanes outside masks.
func (g *Vectors) Narrow(masks []x86.Reg) {
	next := make([]x86.Reg, g.Unroll)
	g.Each(func(u int) {
		next[u] = masks[u]
		if g.Exec != nil {
			next[u] = g.MaskAnd(g.Exec[u], masks[u])
		}
	})
	g.Exec, g.Split = next, true
}

func (g *Vectors) CombineMasks(op ir.Op, x, y x86.Reg) x86.Reg {
	if op == ir.LAnd {
		return g.MaskAnd(x, y)
	}
	return g.MaskOr(x, y)
}

func (g *Vectors) SetMask(dst, src x86.Reg, u int, fresh bool) {
	if g.Exec == nil || fresh {
		g.MaskMove(dst, src)
		return
	}
	on := g.MaskAnd(src, g.Exec[u])
	g.MaskMove(dst, g.MaskOr(on, g.MaskAndNot(g.Exec[u], dst)))
}

// CopyMasks returns fresh masks that hold the lanes that are on.
func (g *Vectors) CopyMasks() []x86.Reg {
	out := make([]x86.Reg, g.Unroll)
	g.Each(func(u int) {
		out[u] = g.NewMaskRegister()
		if g.Exec != nil {
			g.MaskMove(out[u], g.Exec[u])
		} else {
			g.MaskMove(out[u], g.MaskAll())
		}
	})
	return out
}
