package vector

import (
	"github.com/gompss/gompss/codegen/cpu/vcode"
	"github.com/gompss/gompss/codegen/cpu/vecmath"
	"github.com/gompss/gompss/codegen/ir"
)

// Arithmetic computes with vectors of numbers: conversions, comparisons, and what the instruction
// sets lack.
type Arithmetic struct{ Vectors }

// WhereOn is v, with the given bits in the lanes that are off.
func (g *Arithmetic) WhereOn(v vcode.Reg, u int, off uint64, t *ir.Type) vcode.Reg {
	if g.Exec == nil {
		return v
	}
	d := g.NewVector()
	g.Move(d, g.ConstVector(off, Container(t)))
	g.Blend(d, v, g.Exec[u], t)
	return d
}

// Shorten is the lower half of each lane.
func (g *Arithmetic) Shorten(q vcode.Reg, t *ir.Type) vcode.Reg {
	d := g.NewVector()
	if !g.AVX512 {
		g.Move(d, g.NarrowMask(q))
	} else {
		g.Op(vcode.VNarrowI64I32, WidthOf(8*g.Lanes), vcode.RegArg(d), vcode.RegArg(q))
	}
	g.Wrap(d, t)
	return d
}

// FirstLane is an integer in lane 0 of v.
func (g *Arithmetic) FirstLane(v vcode.Reg, t *ir.Type) vcode.Reg {
	r := g.NewGeneral()
	g.FirstLaneTo(r, v, t)
	return r
}

// FirstLaneTo sets d to the integer in lane 0 of v.
func (g *Arithmetic) FirstLaneTo(d, v vcode.Reg, t *ir.Type) {
	if Container(t) == 8 {
		g.Op(vcode.VGetI64, vcode.W128, vcode.RegArg(d), vcode.RegArg(v))
		return
	}
	g.Op(vcode.VGetI32, vcode.W128, vcode.RegArg(d), vcode.RegArg(v))
	g.Normalise(d, t)
}

// Combine is d = x op y in vectors of width w; false where there is no such operation.
func (g *Arithmetic) Combine(op ir.Op, t *ir.Type, d, x, y vcode.Reg, w vcode.Width) bool {
	if op == ir.Min || op == ir.Max {
		g.MinMax(d, x, y, op == ir.Min, t, w)
		return true
	}
	table := IntOps
	if t.IsFloat() {
		table = FloatOps
	}
	p, ok := table[op]
	if !ok {
		return false
	}
	in := p.Of(t)
	if in == vcode.VMulI64 && !g.AVX512 {
		g.SeriesOf(ir.Int64Type, w).MulLong(d, x, y)
		return true
	}
	g.Op(in, w, vcode.RegArg(d), vcode.RegArg(x), vcode.RegArg(y))
	if t.Size < 4 && (op == ir.Add || op == ir.Mul) {
		g.WrapWidth(d, t, w)
	}
	return true
}

// InsertSixteen is x with 16 bytes of memory as piece q of a vector of width w.
func (g *Arithmetic) InsertSixteen(x vcode.Reg, m vcode.Mem, q int, w vcode.Width) vcode.Reg {
	r, insert := g.NewVector(), vcode.VInsert128Of256
	if g.AVX512 {
		insert = vcode.VInsert128Of512
	}
	g.Op(insert, w, vcode.RegArg(r), vcode.RegArg(x), vcode.MemArg(m), vcode.ImmArg(int64(q)))
	return r
}

// StoreSixteen stores piece q, other than the first, of the 16 bytes of a vector of width w.
func (g *Arithmetic) StoreSixteen(m vcode.Mem, x vcode.Reg, q int, w vcode.Width) {
	extract := vcode.VExtract128Of512
	if !g.AVX512 {
		extract, w = vcode.VExtract128Of256, vcode.W256
	}
	g.Op(extract, w, vcode.MemArg(m), vcode.RegArg(x), vcode.ImmArg(int64(q)))
}

// Series is selection for the vectors that hold a t in each lane.
func (g *Arithmetic) Series(t *ir.Type) vecmath.Series { return g.SeriesOf(t, g.Width(t)) }

// MaskVector holds 0 and 1 in 32-bit lanes, vectorMask what is not 0.
func (g *Arithmetic) MaskVector(m vcode.Reg) vcode.Reg {
	d := g.NewVector()
	g.Move(d, g.ConstVector(0, 4))
	g.Blend(d, g.ConstVector(1, 4), m, ir.Int32Type)
	return d
}

func (g *Arithmetic) VectorMask(v vcode.Reg) vcode.Reg {
	return g.CompareCopy(&ir.Binary{Op: ir.Ne}, ir.Int32Type, v, g.ConstVector(0, 4))
}

// UpperHalf moves the upper half of the first bytes of a to the front.
func (g *Arithmetic) UpperHalf(h, a vcode.Reg, bytes int) {
	switch {
	case bytes == 64:
		g.Op(vcode.VExtract256Of512, vcode.W512, vcode.RegArg(h), vcode.RegArg(a), vcode.ImmArg(1))
	case bytes == 32 && g.AVX512:
		g.Op(vcode.VExtract128Of512, vcode.W256, vcode.RegArg(h), vcode.RegArg(a), vcode.ImmArg(1))
	case bytes == 32:
		g.Op(vcode.VExtract128Of256, vcode.W256, vcode.RegArg(h), vcode.RegArg(a), vcode.ImmArg(1))
	case bytes == 16:
		g.Op(vcode.VPermuteWithinI32, vcode.W128, vcode.RegArg(h), vcode.RegArg(a), vcode.ImmArg(0x4E))
	default:
		g.Op(vcode.VPermuteWithinI32, vcode.W128, vcode.RegArg(h), vcode.RegArg(a), vcode.ImmArg(0xB1))
	}
}

// Turn exchanges rows and columns, in every 16 bytes of four vectors of 32-bit lanes or two of
// 64-bit ones.
func (g *Arithmetic) Turn(x []vcode.Reg, w vcode.Width) []vcode.Reg {
	two := func(op vcode.Op, x, y vcode.Reg) vcode.Reg {
		r := g.NewVector()
		g.Op(op, w, vcode.RegArg(r), vcode.RegArg(x), vcode.RegArg(y))
		return r
	}
	if len(x) == 2 {
		return []vcode.Reg{two(vcode.VInterleaveLowF64, x[0], x[1]), two(vcode.VInterleaveHighF64, x[0], x[1])}
	}
	a, b, c, d := two(vcode.VInterleaveLowF32, x[0], x[1]), two(vcode.VInterleaveHighF32, x[0], x[1]), two(vcode.VInterleaveLowF32, x[2], x[3]), two(vcode.VInterleaveHighF32, x[2], x[3])
	return []vcode.Reg{two(vcode.VInterleaveLowF64, a, c), two(vcode.VInterleaveHighF64, a, c), two(vcode.VInterleaveLowF64, b, d), two(vcode.VInterleaveHighF64, b, d)}
}

// ExecBits has a bit for every lane of every copy that is on.
func (g *Arithmetic) ExecBits() vcode.Reg {
	bits := g.NewGeneral()
	total := g.Lanes * g.Unroll
	if g.Exec == nil {
		g.SetGeneral(bits, int64(uint64(1)<<total-1))
		return bits
	}
	g.SetGeneral(bits, 0)
	for u := g.Unroll - 1; u >= 0; u-- {
		g.Op(vcode.ShiftLeftImm, vcode.W128, vcode.RegArg(bits), vcode.ImmArg(int64(g.Lanes)))
		g.MaskBits(vcode.Acc, g.Exec[u])
		g.Op(vcode.Or, vcode.W128, vcode.RegArg(bits), vcode.RegArg(vcode.Acc))
	}
	return bits
}

// OrWhereOn is all or x in the lanes of copy u that are on, and all in the others; NoReg is 0.
func (g *Arithmetic) OrWhereOn(all, x vcode.Reg, u int, t *ir.Type) vcode.Reg {
	w := g.Width(t)
	switch {
	case g.Exec == nil && all == vcode.NoReg:
		return x
	case g.Exec == nil || !g.AVX512:
		if g.Exec != nil {
			on := g.NewVector()
			g.Op(vcode.VAnd, w, vcode.RegArg(on), vcode.RegArg(x), vcode.RegArg(g.MaskFor(g.Exec[u], t)))
			x = on
		}
		if all == vcode.NoReg {
			return x
		}
		r := g.NewVector()
		g.Op(vcode.VOrF32, w, vcode.RegArg(r), vcode.RegArg(all), vcode.RegArg(x))
		return r
	case all == vcode.NoReg:
		all = g.NewVector()
		g.Emit(vcode.I(Pick(t, vcode.VStoreF32, vcode.VStoreF64), w, vcode.RegArg(all), vcode.RegArg(x)).Masked(g.Exec[u], true))
		return all
	}
	g.Emit(vcode.I(Pick(t, vcode.VOrI32, vcode.VOrI64), w, vcode.RegArg(all), vcode.RegArg(all), vcode.RegArg(x)).Masked(g.Exec[u], false))
	return all
}

// LowHalves takes the lower 32 bits of lanes of 64.
func (g *Arithmetic) LowHalves(d, x vcode.Reg) {
	if !g.AVX512 {
		g.Move(d, g.NarrowMask(x))
		return
	}
	g.Op(vcode.VNarrowI64I32, WidthOf(g.Lanes*8), vcode.RegArg(d), vcode.RegArg(x))
}

// Wrap brings small integers, held as 32 bits, back into their range.
func (g *Arithmetic) Wrap(d vcode.Reg, t *ir.Type) { g.WrapWidth(d, t, g.Width(t)) }

func (g *Arithmetic) WrapWidth(d vcode.Reg, t *ir.Type, w vcode.Width) {
	if t.Size >= 4 {
		return
	}
	n := 32 - 8*int64(t.Size)
	right := vcode.VShiftRightU32
	if t.IsSigned() {
		right = vcode.VShiftRightI32
	}
	g.Op(vcode.VShiftLeftI32, w, vcode.RegArg(d), vcode.RegArg(d), vcode.ImmArg(n))
	g.Op(right, w, vcode.RegArg(d), vcode.RegArg(d), vcode.ImmArg(n))
}

type opPair struct{ Single, double vcode.Op }

var FloatOps = map[ir.Op]opPair{ir.Add: {vcode.VAddF32, vcode.VAddF64}, ir.Sub: {vcode.VSubF32, vcode.VSubF64}, ir.Mul: {vcode.VMulF32, vcode.VMulF64}, ir.Div: {vcode.VDivF32, vcode.VDivF64}}

var IntOps = map[ir.Op]opPair{ir.Add: {vcode.VAddI32, vcode.VAddI64}, ir.Sub: {vcode.VSubI32, vcode.VSubI64}, ir.Mul: {vcode.VMulI32, vcode.VMulI64},
	ir.And: {vcode.VAndF32, vcode.VAndF32}, ir.Or: {vcode.VOrF32, vcode.VOrF32}, ir.Xor: {vcode.VXorF32, vcode.VXorF32}}

func (p opPair) Of(t *ir.Type) vcode.Op { return Pick(t, p.Single, p.double) }

// FusedOps are the forms of x*y + z that add to their destination: with z or -z, of x*y or -(x*y).
var FusedOps = [2][2]opPair{{{vcode.VFusedAddF32, vcode.VFusedAddF64}, {vcode.VFusedReverseSubF32, vcode.VFusedReverseSubF64}},
	{{vcode.VFusedSubF32, vcode.VFusedSubF64}, {vcode.VFusedNegSubF32, vcode.VFusedNegSubF64}}}

// Words is a series of numbers without a sign in lanes of t.
func (g *Arithmetic) Words(t *ir.Type) vecmath.Series {
	if Container(t) == 8 {
		return g.SeriesOf(ir.Uint64Type, g.Width(t))
	}
	return g.SeriesOf(ir.Uint32Type, g.Width(t))
}
