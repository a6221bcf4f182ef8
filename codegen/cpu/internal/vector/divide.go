package vector

import (
	"math"

	"github.com/gompss/gompss/codegen/cpu/internal/analysis"
	"github.com/gompss/gompss/codegen/cpu/mach"
	"github.com/gompss/gompss/codegen/cpu/vcode"
	"github.com/gompss/gompss/codegen/cpu/vecmath"
	"github.com/gompss/gompss/codegen/ir"
)

// Integers are divided as float64 where both fit 51 bits: the quotient, rounded, is never taken
// past an integer that the exact one does not reach, so that cut it is exact. Lanes with longer
// ones are divided one after the other, out of line.

// magic turns an integer of up to 51 bits into a float64 by adding it to the bits, and back: 3 *
// 2^51.
const magic = 0x4338000000000000

// AnyLong clears the zero flag where a value of some lane is too long: at or above 2^50, or below
// -2^50.
func (g *Arithmetic) AnyLong(t *ir.Type, x, y vcode.Reg, w vcode.Width) {
	part := func(v vcode.Reg) (d vcode.Reg, high uint64) {
		if !t.IsSigned() {
			return v, ^uint64(1<<50 - 1)
		}
		d = g.NewVector()
		g.Op(vcode.VAddI64, w, vcode.RegArg(d), vcode.RegArg(v), vcode.RegArg(g.ConstVector(1<<50, 8)))
		return d, ^uint64(1<<51 - 1)
	}
	both := g.NewVector()
	a, high := part(x)
	b, _ := part(y)
	g.Op(vcode.VOrF32, w, vcode.RegArg(both), vcode.RegArg(a), vcode.RegArg(b))
	g.Op(vcode.VAndF32, w, vcode.RegArg(both), vcode.RegArg(both), vcode.RegArg(g.ConstVector(high, 8)))
	g.testVector(both, w)
}

// Quotient divides lanes of 64 bits that hold numbers of up to 51. Lanes that divide by 0 are off,
// and get anything.
func (g *Arithmetic) Quotient(e *ir.Binary, x, y vcode.Reg, w vcode.Width) vcode.Reg {
	m := g.ConstVector(magic, 8)
	float := func(v vcode.Reg) vcode.Reg {
		d := g.NewVector()
		g.Op(vcode.VAddI64, w, vcode.RegArg(d), vcode.RegArg(v), vcode.RegArg(m))
		g.Op(vcode.VSubF64, w, vcode.RegArg(d), vcode.RegArg(d), vcode.RegArg(g.ConstVector(math.Float64bits(3<<51), 8)))
		return d
	}
	q := g.NewVector()
	g.Op(vcode.VDivF64, w, vcode.RegArg(q), vcode.RegArg(float(x)), vcode.RegArg(float(y)))
	round := vcode.VRoundF64
	if g.AVX512 {
		round = vcode.VRoundScaleF64
	}
	g.Op(round, w, vcode.RegArg(q), vcode.RegArg(q), vcode.ImmArg(11))
	g.Op(vcode.VAddF64, w, vcode.RegArg(q), vcode.RegArg(q), vcode.RegArg(g.ConstVector(math.Float64bits(3<<51), 8)))
	g.Op(vcode.VSubI64, w, vcode.RegArg(q), vcode.RegArg(q), vcode.RegArg(m))
	if e.Op == ir.Div {
		return q
	}
	p, r := g.NewVector(), g.NewVector()
	if g.AVX512 {
		g.Op(vcode.VMulI64, w, vcode.RegArg(p), vcode.RegArg(q), vcode.RegArg(y))
	} else {
		g.SeriesOf(ir.Int64Type, w).MulLong(p, q, y)
	}
	g.Op(vcode.VSubI64, w, vcode.RegArg(r), vcode.RegArg(x), vcode.RegArg(p))
	return r
}

// Above32 is 1/c, rounded away from 0.
func Above32(c int64) float32 {
	r := float32(1 / float64(c))
	if math.Abs(float64(r)) < math.Abs(1/float64(c)) {
		r = math.Nextafter32(r, float32(math.Copysign(2, float64(c))))
	}
	return r
}

// CountsFor are counts without a sign in lanes of the number that is shifted. Those that do not fit
// them become longer than it.
func (g *Arithmetic) CountsFor(by []vcode.Reg, from, to *ir.Type) []vcode.Reg {
	switch {
	case Container(from) == Container(to):
		return by
	case Container(from) == 4:
		return g.Widen(nil, by, ir.Uint32Type, ir.Uint64Type, vcode.VWidenU32U64)
	}
	w := g.Width(from)
	return g.Lift(nil, by, by, func(d, n, _ vcode.Reg) {
		if g.AVX512 {
			short := g.NewVector()
			g.Op(vcode.VMinU64, w, vcode.RegArg(short), vcode.RegArg(n), vcode.RegArg(g.ConstVector(64, 8)))
			g.Op(vcode.VNarrowI64I32, w, vcode.RegArg(d), vcode.RegArg(short))
			return
		}
		s := g.SeriesOf(ir.Uint64Type, w)
		none, fits := g.ConstVector(0, 8), g.NewVector()
		g.Op(vcode.VEqualI32, w, vcode.RegArg(fits), vcode.RegArg(s.ShiftRight(n, 32)), vcode.RegArg(none)) // of its lower half
		rest := g.NewVector()
		g.Op(vcode.VAndNot, w, vcode.RegArg(rest), vcode.RegArg(fits), vcode.RegArg(g.AllOnes(w)))
		g.Move(d, g.NarrowMask(s.Or(n, vcode.RegArg(rest))))
	})
}

// mostCount is a count from which on all shifts are alike.
const mostCount = 64

func (g *Arithmetic) CountVector(e *ir.Binary, n vcode.Reg) vcode.Reg {
	limit, count, by := g.ConstGeneral(mostCount), g.NewGeneral(), g.NewVector()
	g.Move(count, n)
	g.Compare(count, limit)
	g.MoveIf(mach.CondA, count, limit)
	g.BroadcastGeneral(by, count, Container(e.T), g.Width(e.T))
	return by
}

// MulShort is a product of 64-bit lanes that are known to need fewer multiplications than that of
// any.
func (g *Arithmetic) MulShort(e *ir.Binary, d, x, y vcode.Reg) bool {
	small, other := analysis.Below32(e.X), analysis.Below32(e.Y)
	w := g.Width(e.T)
	switch {
	case small && other:
		g.Op(vcode.VMulWideU32, w, vcode.RegArg(d), vcode.RegArg(x), vcode.RegArg(y))
		return true
	case !small && !other || g.AVX512:
		return false
	case small:
		x, y = y, x
	}
	high, low := g.NewVector(), g.NewVector()
	g.Op(vcode.VShiftRightU64, w, vcode.RegArg(high), vcode.RegArg(x), vcode.ImmArg(32))
	g.Op(vcode.VMulWideU32, w, vcode.RegArg(high), vcode.RegArg(high), vcode.RegArg(y))
	g.Op(vcode.VShiftLeftI64, w, vcode.RegArg(high), vcode.RegArg(high), vcode.ImmArg(32))
	g.Op(vcode.VMulWideU32, w, vcode.RegArg(low), vcode.RegArg(x), vcode.RegArg(y))
	g.Op(vcode.VAddI64, w, vcode.RegArg(d), vcode.RegArg(low), vcode.RegArg(high))
	return true
}

// RsqrtSpecials mends what Newton's step makes a NaN of: 0 gives infinity and infinity 0.
func (g *Arithmetic) RsqrtSpecials(y, x vcode.Reg, t *ir.Type, w vcode.Width) {
	if g.AVX512 {
		// By class of x, 4 bits each: quiet NaN, signalling NaN, 0, 1, -Inf, +Inf, negative,
		// positive.
		const classes = 2 | 2<<4 | 6<<8 | 3<<16 | 8<<20 | 3<<24
		g.Op(Pick(t, vcode.VFixF32, vcode.VFixF64), w, vcode.RegArg(y), vcode.RegArg(x), vcode.RegArg(g.ConstVector(classes, int(t.Size))), vcode.ImmArg(0))
		return
	}
	s := g.SeriesOf(t, w)
	s.Choose(y, s.Const(math.Inf(1)), s.CompareTo(x, s.At(0), vecmath.CmpEQ))
	s.Choose(y, s.Const(0), s.CompareTo(x, s.At(math.Inf(1)), vecmath.CmpEQ))
}
