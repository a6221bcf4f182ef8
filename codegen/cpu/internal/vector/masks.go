package vector

import (
	"github.com/gompss/gompss/codegen/cpu/mach"
	"github.com/gompss/gompss/codegen/cpu/vcode"
	"github.com/gompss/gompss/codegen/ir"
)

// testVector sets the zero flag when v is 0.
func (g *Vectors) testVector(v vcode.Reg, w vcode.Width) {
	if !g.AVX512 {
		g.Op(vcode.VTest, w, vcode.RegArg(v), vcode.RegArg(v))
		return
	}
	m := g.NewMask()
	g.Op(vcode.VCompareI64, w, vcode.RegArg(m), vcode.RegArg(v), vcode.RegArg(g.ConstVector(0, 8)), vcode.ImmArg(4))
	g.Op(vcode.MaskTestOr16, vcode.W128, vcode.RegArg(m), vcode.RegArg(m))
}

func (g *Vectors) maskLane() int { return g.Bytes / g.Lanes }

func (g *Vectors) maskOp(k, v vcode.Op, x, y vcode.Reg) vcode.Reg {
	r := g.NewMaskRegister()
	if g.AVX512 {
		g.Op(k, vcode.W128, vcode.RegArg(r), vcode.RegArg(x), vcode.RegArg(y))
	} else {
		g.Op(v, WidthOf(g.Bytes), vcode.RegArg(r), vcode.RegArg(x), vcode.RegArg(y))
	}
	return r
}

func (g *Vectors) MaskAnd(x, y vcode.Reg) vcode.Reg { return g.maskOp(vcode.MaskAnd, vcode.VAnd, x, y) }

func (g *Vectors) MaskOr(x, y vcode.Reg) vcode.Reg { return g.maskOp(vcode.MaskOr, vcode.VOr, x, y) }

func (g *Vectors) MaskXor(x, y vcode.Reg) vcode.Reg { return g.maskOp(vcode.MaskXor, vcode.VXor, x, y) }

// MaskAndNot is y and not x.
func (g *Vectors) MaskAndNot(x, y vcode.Reg) vcode.Reg {
	return g.maskOp(vcode.MaskAndNot, vcode.VAndNot, x, y)
}

func (g *Vectors) MaskMove(dst, src vcode.Reg) {
	if dst == src {
		return
	}
	if g.AVX512 {
		g.Op(vcode.MaskMove, vcode.W128, vcode.RegArg(dst), vcode.RegArg(src))
	} else {
		g.Op(vcode.VStoreF32, WidthOf(g.Bytes), vcode.RegArg(dst), vcode.RegArg(src))
	}
}

// MaskAll is the mask of all lanes.
func (g *Vectors) MaskAll() vcode.Reg {
	if !g.AVX512 {
		return g.AllOnes(WidthOf(g.Bytes))
	}
	m := g.NewMask()
	g.Op(vcode.SetImm, vcode.W128, vcode.RegArg(vcode.Count), vcode.ImmArg(1<<g.Lanes-1))
	g.Op(vcode.MaskSet32, vcode.W128, vcode.RegArg(m), vcode.RegArg(vcode.Count))
	return m
}

func (g *Vectors) MaskNone() vcode.Reg {
	m := g.NewMaskRegister()
	if g.AVX512 {
		g.Op(vcode.Xor, vcode.W128, vcode.RegArg(vcode.Count), vcode.RegArg(vcode.Count))
		g.Op(vcode.MaskSet32, vcode.W128, vcode.RegArg(m), vcode.RegArg(vcode.Count))
	} else {
		g.Op(vcode.VXor, WidthOf(g.Bytes), vcode.RegArg(m), vcode.RegArg(g.undefined(m)), vcode.RegArg(m))
	}
	return m
}

// MaskBits puts one bit a lane into a general register.
func (g *Vectors) MaskBits(dst, m vcode.Reg) {
	switch {
	case g.AVX512:
		g.Op(vcode.MaskGet16, vcode.W128, vcode.RegArg(dst), vcode.RegArg(m))
	case g.maskLane() == 8:
		g.Op(vcode.VSignsF64, WidthOf(g.Bytes), vcode.RegArg(dst), vcode.RegArg(m))
	default:
		g.Op(vcode.VSignsF32, WidthOf(g.Bytes), vcode.RegArg(dst), vcode.RegArg(m))
	}
}

// AnyLane sets the zero flag when no lane of any copy is on.
func (g *Vectors) AnyLane(masks []vcode.Reg) {
	m := masks[0]
	for _, n := range masks[1:] {
		if n != m {
			m = g.MaskOr(m, n)
		}
	}
	if g.AVX512 {
		g.Op(vcode.MaskTestOr16, vcode.W128, vcode.RegArg(m), vcode.RegArg(m))
		return
	}
	g.Op(vcode.VTest, WidthOf(g.Bytes), vcode.RegArg(m), vcode.RegArg(m))
}

// PrefixMask turns on the first n lanes (n in a general register, at least 0).
func (g *Vectors) PrefixMask(n vcode.Reg) vcode.Reg {
	if g.AVX512 {
		m := g.NewMask()
		g.Op(vcode.SetImm, vcode.W128, vcode.RegArg(vcode.Count), vcode.ImmArg(1<<g.Lanes-1))
		g.Op(vcode.LowBits, vcode.W128, vcode.RegArg(vcode.Count), vcode.RegArg(vcode.Count), vcode.RegArg(n))
		g.Op(vcode.MaskSet32, vcode.W128, vcode.RegArg(m), vcode.RegArg(vcode.Count))
		return m
	}
	size := g.maskLane()
	w := WidthOf(g.Bytes)
	b, m := g.NewVector(), g.NewVector()
	g.BroadcastGeneral(b, n, size, w)
	op := vcode.VGreaterI32
	if size == 8 {
		op = vcode.VGreaterI64
	}
	g.Op(op, w, vcode.RegArg(m), vcode.RegArg(b), vcode.RegArg(g.IotaVector(1, size)))
	return m
}

// CanonicalMask converts an AVX2 mask with lanes of size bytes to the canonical lane size.
func (g *Vectors) CanonicalMask(m vcode.Reg, size int) vcode.Reg {
	if g.AVX512 || size == g.maskLane() {
		return m
	}
	r := g.NewVector()
	if size < g.maskLane() {
		g.Op(vcode.VWidenI32I64, WidthOf(g.Bytes), vcode.RegArg(r), vcode.RegArg(m))
		return r
	}
	return g.NarrowMask(m)
}

// NarrowMask halves 8-byte lanes to 4 bytes.
func (g *Vectors) NarrowMask(m vcode.Reg) vcode.Reg {
	high, r := g.NewVector(), g.NewVector()
	if g.Bytes == 16 { // the upper half is 0: lanes that are off
		g.Op(vcode.VShuffleF32, vcode.W128, vcode.RegArg(r), vcode.RegArg(m), vcode.RegArg(g.ConstVector(0, 8)), vcode.ImmArg(0x88))
		return r
	}
	g.Op(vcode.VExtract128Of256, vcode.W256, vcode.RegArg(high), vcode.RegArg(m), vcode.ImmArg(1))
	g.Op(vcode.VShuffleF32, vcode.W128, vcode.RegArg(r), vcode.RegArg(m), vcode.RegArg(high), vcode.ImmArg(0x88))
	return r
}

// MaskFor is the mask in the lane size of values of t, for AVX2. The last one is made once in
// straight code.
func (g *Vectors) MaskFor(m vcode.Reg, t *ir.Type) vcode.Reg {
	if g.AVX512 || Container(t) == g.maskLane() {
		return m
	}
	if n := &g.narrowed; n.of != m || !mach.Kept(&g.Code, n.step, n.mask, n.of) {
		r := g.NarrowMask(m)
		g.narrowed = narrowed{m, r, g.Len() - 1}
	}
	return g.narrowed.mask
}

// A narrowed is a mask of 8-byte lanes, the same of 4-byte lanes, and the step that made it.
type narrowed struct {
	of, mask vcode.Reg
	step     int
}

// Blend sets dst to src in the lanes of m.
func (g *Vectors) Blend(dst, src, m vcode.Reg, t *ir.Type) {
	w := g.Width(t)
	if g.AVX512 {
		op := vcode.VStoreF32
		if Container(t) == 8 {
			op = vcode.VStoreF64
		}
		g.Emit(vcode.I(op, w, vcode.RegArg(dst), vcode.RegArg(src)).Masked(m, false))
		return
	}
	g.Op(vcode.VBlend, w, vcode.RegArg(dst), vcode.RegArg(dst), vcode.RegArg(src), vcode.RegArg(g.MaskFor(m, t)))
}

func (g *Vectors) mapMasks(in []vcode.Reg, f func(vcode.Reg) vcode.Reg) []vcode.Reg {
	out := make([]vcode.Reg, len(in))
	for i, m := range in {
		if i > 0 && m == in[0] {
			out[i] = out[0]
			continue
		}
		out[i] = f(m)
	}
	return out
}

func (g *Vectors) NotMasks(masks []vcode.Reg) []vcode.Reg {
	return g.mapMasks(masks, func(m vcode.Reg) vcode.Reg { return g.MaskXor(m, g.MaskAll()) })
}

func (g *Vectors) CopyMask(m vcode.Reg) vcode.Reg {
	r := g.NewMaskRegister()
	g.MaskMove(r, m)
	return r
}

// Narrow turns off the lanes outside masks.
func (g *Vectors) Narrow(masks []vcode.Reg) {
	next := make([]vcode.Reg, g.Unroll)
	g.Each(func(u int) {
		next[u] = masks[u]
		if g.Exec != nil && g.Exec[u] != masks[u] {
			next[u] = g.MaskAnd(g.Exec[u], masks[u])
		}
	})
	g.Exec, g.Split = next, true
}

func (g *Vectors) CombineMasks(op ir.Op, x, y vcode.Reg) vcode.Reg {
	if op == ir.LAnd {
		return g.MaskAnd(x, y)
	}
	return g.MaskOr(x, y)
}

func (g *Vectors) SetMask(dst, src vcode.Reg, u int, fresh bool) {
	if g.Exec == nil || fresh {
		g.MaskMove(dst, src)
		return
	}
	on := g.MaskAnd(src, g.Exec[u])
	g.MaskMove(dst, g.MaskOr(on, g.MaskAndNot(g.Exec[u], dst)))
}

// CopyMasks returns fresh masks that hold the lanes that are on.
func (g *Vectors) CopyMasks() []vcode.Reg {
	out := make([]vcode.Reg, g.Unroll)
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
