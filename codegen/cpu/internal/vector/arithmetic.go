package vector

import (
	"github.com/gompss/gompss/codegen/cpu/vecmath"
	"github.com/gompss/gompss/codegen/cpu/x86"
	"github.com/gompss/gompss/codegen/ir"
)

// Arithmetic computes with vectors of numbers: conversions, comparisons, and what the instruction
// sets lack.
type Arithmetic struct{ Vectors }

// WhereOn is v, with the given bits in the lanes that are off.
func (g *Arithmetic) WhereOn(v x86.Reg, u int, off uint64, t *ir.Type) x86.Reg {
	if g.Exec == nil {
		return v
	}
	d := g.NewVector()
	g.Move(d, g.ConstVector(off, Container(t)))
	g.Blend(d, v, g.Exec[u], t)
	return d
}

// Shorten is the lower half of each lane.
func (g *Arithmetic) Shorten(q x86.Reg, t *ir.Type) x86.Reg {
	d := g.NewVector()
	if !g.AVX512 {
		g.Move(d, g.NarrowMask(q))
	} else {
		g.Op(x86.VPMOVQD, WidthOf(8*g.Lanes), x86.RegArg(d), x86.RegArg(q))
	}
	g.Wrap(d, t)
	return d
}

// FirstLane is an integer in lane 0 of v.
func (g *Arithmetic) FirstLane(v x86.Reg, t *ir.Type) x86.Reg {
	r := g.NewGeneral()
	g.FirstLaneTo(r, v, t)
	return r
}

// FirstLaneTo sets d to the integer in lane 0 of v.
func (g *Arithmetic) FirstLaneTo(d, v x86.Reg, t *ir.Type) {
	if Container(t) == 8 {
		g.Op(x86.VMOVQStore, x86.W128, x86.RegArg(d), x86.RegArg(v))
		return
	}
	g.Op(x86.VMOVDStore, x86.W128, x86.RegArg(d), x86.RegArg(v))
	g.Normalise(d, t)
}

// Combine is d = x op y in vectors of width w; false where there is no such operation.
func (g *Arithmetic) Combine(op ir.Op, t *ir.Type, d, x, y x86.Reg, w x86.Width) bool {
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
	if in == x86.VPMULLQ && !g.AVX512 {
		g.SeriesOf(ir.Int64Type, w).MulLong(d, x, y)
		return true
	}
	g.Op(in, w, x86.RegArg(d), x86.RegArg(x), x86.RegArg(y))
	if t.Size < 4 && (op == ir.Add || op == ir.Mul) {
		g.WrapWidth(d, t, w)
	}
	return true
}

// InsertSixteen is x with 16 bytes of memory as piece q of a vector of width w.
func (g *Arithmetic) InsertSixteen(x x86.Reg, m x86.Mem, q int, w x86.Width) x86.Reg {
	r, insert := g.NewVector(), x86.VINSERTF128
	if g.AVX512 {
		insert = x86.VINSERTF32X4
	}
	g.Op(insert, w, x86.RegArg(r), x86.RegArg(x), x86.MemArg(m), x86.ImmArg(int64(q)))
	return r
}

// StoreSixteen stores piece q, other than the first, of the 16 bytes of a vector of width w.
func (g *Arithmetic) StoreSixteen(m x86.Mem, x x86.Reg, q int, w x86.Width) {
	extract := x86.VEXTRACTF32X4
	if !g.AVX512 {
		extract, w = x86.VEXTRACTF128, x86.W256
	}
	g.Op(extract, w, x86.MemArg(m), x86.RegArg(x), x86.ImmArg(int64(q)))
}

// Series is selection for the vectors that hold a t in each lane.
func (g *Arithmetic) Series(t *ir.Type) vecmath.Series { return g.SeriesOf(t, g.Width(t)) }

// MaskVector holds 0 and 1 in 32-bit lanes, vectorMask what is not 0.
func (g *Arithmetic) MaskVector(m x86.Reg) x86.Reg {
	d := g.NewVector()
	g.Move(d, g.ConstVector(0, 4))
	g.Blend(d, g.ConstVector(1, 4), m, ir.Int32Type)
	return d
}

func (g *Arithmetic) VectorMask(v x86.Reg) x86.Reg {
	return g.CompareCopy(&ir.Binary{Op: ir.Ne}, ir.Int32Type, v, g.ConstVector(0, 4))
}

// UpperHalf moves the upper half of the first bytes of a to the front.
func (g *Arithmetic) UpperHalf(h, a x86.Reg, bytes int) {
	switch {
	case bytes == 64:
		g.Op(x86.VEXTRACTF64X4, x86.W512, x86.RegArg(h), x86.RegArg(a), x86.ImmArg(1))
	case bytes == 32 && g.AVX512:
		g.Op(x86.VEXTRACTF32X4, x86.W256, x86.RegArg(h), x86.RegArg(a), x86.ImmArg(1))
	case bytes == 32:
		g.Op(x86.VEXTRACTF128, x86.W256, x86.RegArg(h), x86.RegArg(a), x86.ImmArg(1))
	case bytes == 16:
		g.Op(x86.VPSHUFD, x86.W128, x86.RegArg(h), x86.RegArg(a), x86.ImmArg(0x4E))
	default:
		g.Op(x86.VPSHUFD, x86.W128, x86.RegArg(h), x86.RegArg(a), x86.ImmArg(0xB1))
	}
}

// Turn exchanges rows and columns, in every 16 bytes of four vectors of 32-bit lanes or two of
// 64-bit ones.
func (g *Arithmetic) Turn(x []x86.Reg, w x86.Width) []x86.Reg {
	two := func(op x86.Op, x, y x86.Reg) x86.Reg {
		r := g.NewVector()
		g.Op(op, w, x86.RegArg(r), x86.RegArg(x), x86.RegArg(y))
		return r
	}
	if len(x) == 2 {
		return []x86.Reg{two(x86.VUNPCKLPD, x[0], x[1]), two(x86.VUNPCKHPD, x[0], x[1])}
	}
	a, b, c, d := two(x86.VUNPCKLPS, x[0], x[1]), two(x86.VUNPCKHPS, x[0], x[1]), two(x86.VUNPCKLPS, x[2], x[3]), two(x86.VUNPCKHPS, x[2], x[3])
	return []x86.Reg{two(x86.VUNPCKLPD, a, c), two(x86.VUNPCKHPD, a, c), two(x86.VUNPCKLPD, b, d), two(x86.VUNPCKHPD, b, d)}
}

// ExecBits has a bit for every lane of every copy that is on.
func (g *Arithmetic) ExecBits() x86.Reg {
	bits := g.NewGeneral()
	total := g.Lanes * g.Unroll
	if g.Exec == nil {
		g.SetGeneral(bits, int64(uint64(1)<<total-1))
		return bits
	}
	g.SetGeneral(bits, 0)
	for u := g.Unroll - 1; u >= 0; u-- {
		g.Op(x86.SHLQ, x86.W128, x86.RegArg(bits), x86.ImmArg(int64(g.Lanes)))
		g.MaskBits(x86.AX, g.Exec[u])
		g.Op(x86.ORQ, x86.W128, x86.RegArg(bits), x86.RegArg(x86.AX))
	}
	return bits
}

// OrWhereOn is all or x in the lanes of copy u that are on, and all in the others; NoReg is 0.
func (g *Arithmetic) OrWhereOn(all, x x86.Reg, u int, t *ir.Type) x86.Reg {
	w := g.Width(t)
	switch {
	case g.Exec == nil && all == x86.NoReg:
		return x
	case g.Exec == nil || !g.AVX512:
		if g.Exec != nil {
			on := g.NewVector()
			g.Op(x86.VPAND, w, x86.RegArg(on), x86.RegArg(x), x86.RegArg(g.MaskFor(g.Exec[u], t)))
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
		g.Emit(x86.I(Pick(t, x86.VMOVUPSStore, x86.VMOVUPDStore), w, x86.RegArg(all), x86.RegArg(x)).Masked(g.Exec[u], true))
		return all
	}
	g.Emit(x86.I(Pick(t, x86.VPORD, x86.VPORQ), w, x86.RegArg(all), x86.RegArg(all), x86.RegArg(x)).Masked(g.Exec[u], false))
	return all
}

// LowHalves takes the lower 32 bits of lanes of 64.
func (g *Arithmetic) LowHalves(d, x x86.Reg) {
	if !g.AVX512 {
		g.Move(d, g.NarrowMask(x))
		return
	}
	g.Op(x86.VPMOVQD, WidthOf(g.Lanes*8), x86.RegArg(d), x86.RegArg(x))
}

// Wrap brings small integers, held as 32 bits, back into their range.
func (g *Arithmetic) Wrap(d x86.Reg, t *ir.Type) { g.WrapWidth(d, t, g.Width(t)) }

func (g *Arithmetic) WrapWidth(d x86.Reg, t *ir.Type, w x86.Width) {
	if t.Size >= 4 {
		return
	}
	n := 32 - 8*int64(t.Size)
	right := x86.VPSRLD
	if t.IsSigned() {
		right = x86.VPSRAD
	}
	g.Op(x86.VPSLLD, w, x86.RegArg(d), x86.RegArg(d), x86.ImmArg(n))
	g.Op(right, w, x86.RegArg(d), x86.RegArg(d), x86.ImmArg(n))
}

type opPair struct{ Single, double x86.Op }

var FloatOps = map[ir.Op]opPair{ir.Add: {x86.VADDPS, x86.VADDPD}, ir.Sub: {x86.VSUBPS, x86.VSUBPD}, ir.Mul: {x86.VMULPS, x86.VMULPD}, ir.Div: {x86.VDIVPS, x86.VDIVPD}}

var IntOps = map[ir.Op]opPair{ir.Add: {x86.VPADDD, x86.VPADDQ}, ir.Sub: {x86.VPSUBD, x86.VPSUBQ}, ir.Mul: {x86.VPMULLD, x86.VPMULLQ},
	ir.And: {x86.VANDPS, x86.VANDPS}, ir.Or: {x86.VORPS, x86.VORPS}, ir.Xor: {x86.VXORPS, x86.VXORPS}}

func (p opPair) Of(t *ir.Type) x86.Op { return Pick(t, p.Single, p.double) }

// fusedOps are the forms of x*y + z that add to their destination: with z or -z, of x*y or -(x*y).
var FusedOps = [2][2]opPair{{{x86.VFMADD231PS, x86.VFMADD231PD}, {x86.VFMSUB231PS, x86.VFMSUB231PD}},
	{{x86.VFNMADD231PS, x86.VFNMADD231PD}, {x86.VFNMSUB231PS, x86.VFNMSUB231PD}}}

// Words is a series of numbers without a sign in lanes of t.
func (g *Arithmetic) Words(t *ir.Type) vecmath.Series {
	if Container(t) == 8 {
		return g.SeriesOf(ir.Uint64Type, g.Width(t))
	}
	return g.SeriesOf(ir.Uint32Type, g.Width(t))
}
