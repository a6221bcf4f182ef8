package vector

import (
	"math"

	"github.com/gompss/gompss/codegen/cpu/internal/analysis"
	"github.com/gompss/gompss/codegen/cpu/mach"
	"github.com/gompss/gompss/codegen/cpu/vecmath"
	"github.com/gompss/gompss/codegen/cpu/x86"
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
func (g *Arithmetic) AnyLong(t *ir.Type, x, y x86.Reg, w x86.Width) {
	part := func(v x86.Reg) (d x86.Reg, high uint64) {
		if !t.IsSigned() {
			return v, ^uint64(1<<50 - 1)
		}
		d = g.NewVector()
		g.Op(x86.VPADDQ, w, x86.RegArg(d), x86.RegArg(v), x86.RegArg(g.ConstVector(1<<50, 8)))
		return d, ^uint64(1<<51 - 1)
	}
	both := g.NewVector()
	a, high := part(x)
	b, _ := part(y)
	g.Op(x86.VORPS, w, x86.RegArg(both), x86.RegArg(a), x86.RegArg(b))
	g.Op(x86.VANDPS, w, x86.RegArg(both), x86.RegArg(both), x86.RegArg(g.ConstVector(high, 8)))
	g.testVector(both, w)
}

// Quotient divides lanes of 64 bits that hold numbers of up to 51. Lanes that divide by 0 are off,
// and get anything.
func (g *Arithmetic) Quotient(e *ir.Binary, x, y x86.Reg, w x86.Width) x86.Reg {
	m := g.ConstVector(magic, 8)
	float := func(v x86.Reg) x86.Reg {
		d := g.NewVector()
		g.Op(x86.VPADDQ, w, x86.RegArg(d), x86.RegArg(v), x86.RegArg(m))
		g.Op(x86.VSUBPD, w, x86.RegArg(d), x86.RegArg(d), x86.RegArg(g.ConstVector(math.Float64bits(3<<51), 8)))
		return d
	}
	q := g.NewVector()
	g.Op(x86.VDIVPD, w, x86.RegArg(q), x86.RegArg(float(x)), x86.RegArg(float(y)))
	round := x86.VROUNDPD
	if g.AVX512 {
		round = x86.VRNDSCALEPD
	}
	g.Op(round, w, x86.RegArg(q), x86.RegArg(q), x86.ImmArg(11))
	g.Op(x86.VADDPD, w, x86.RegArg(q), x86.RegArg(q), x86.RegArg(g.ConstVector(math.Float64bits(3<<51), 8)))
	g.Op(x86.VPSUBQ, w, x86.RegArg(q), x86.RegArg(q), x86.RegArg(m))
	if e.Op == ir.Div {
		return q
	}
	p, r := g.NewVector(), g.NewVector()
	if g.AVX512 {
		g.Op(x86.VPMULLQ, w, x86.RegArg(p), x86.RegArg(q), x86.RegArg(y))
	} else {
		g.SeriesOf(ir.Int64Type, w).MulLong(p, q, y)
	}
	g.Op(x86.VPSUBQ, w, x86.RegArg(r), x86.RegArg(x), x86.RegArg(p))
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
func (g *Arithmetic) CountsFor(by []x86.Reg, from, to *ir.Type) []x86.Reg {
	switch {
	case Container(from) == Container(to):
		return by
	case Container(from) == 4:
		return g.Widen(nil, by, ir.Uint32Type, ir.Uint64Type, x86.VPMOVZXDQ)
	}
	w := g.Width(from)
	return g.Lift(nil, by, by, func(d, n, _ x86.Reg) {
		if g.AVX512 {
			short := g.NewVector()
			g.Op(x86.VPMINUQ, w, x86.RegArg(short), x86.RegArg(n), x86.RegArg(g.ConstVector(64, 8)))
			g.Op(x86.VPMOVQD, w, x86.RegArg(d), x86.RegArg(short))
			return
		}
		s := g.SeriesOf(ir.Uint64Type, w)
		none, fits := g.ConstVector(0, 8), g.NewVector()
		g.Op(x86.VPCMPEQD, w, x86.RegArg(fits), x86.RegArg(s.ShiftRight(n, 32)), x86.RegArg(none)) // of its lower half
		rest := g.NewVector()
		g.Op(x86.VPANDN, w, x86.RegArg(rest), x86.RegArg(fits), x86.RegArg(g.AllOnes(w)))
		g.Move(d, g.NarrowMask(s.Or(n, x86.RegArg(rest))))
	})
}

// mostCount is a count from which on all shifts are alike.
const mostCount = 64

func (g *Arithmetic) CountVector(e *ir.Binary, n x86.Reg) x86.Reg {
	limit, count, by := g.ConstGeneral(mostCount), g.NewGeneral(), g.NewVector()
	g.Move(count, n)
	g.Compare(count, limit)
	g.MoveIf(mach.CondA, count, limit)
	g.BroadcastGeneral(by, count, Container(e.T), g.Width(e.T))
	return by
}

// MulShort is a product of 64-bit lanes that are known to need fewer multiplications than that of
// any.
func (g *Arithmetic) MulShort(e *ir.Binary, d, x, y x86.Reg) bool {
	small, other := analysis.Below32(e.X), analysis.Below32(e.Y)
	w := g.Width(e.T)
	switch {
	case small && other:
		g.Op(x86.VPMULUDQ, w, x86.RegArg(d), x86.RegArg(x), x86.RegArg(y))
		return true
	case !small && !other || g.AVX512:
		return false
	case small:
		x, y = y, x
	}
	high, low := g.NewVector(), g.NewVector()
	g.Op(x86.VPSRLQ, w, x86.RegArg(high), x86.RegArg(x), x86.ImmArg(32))
	g.Op(x86.VPMULUDQ, w, x86.RegArg(high), x86.RegArg(high), x86.RegArg(y))
	g.Op(x86.VPSLLQ, w, x86.RegArg(high), x86.RegArg(high), x86.ImmArg(32))
	g.Op(x86.VPMULUDQ, w, x86.RegArg(low), x86.RegArg(x), x86.RegArg(y))
	g.Op(x86.VPADDQ, w, x86.RegArg(d), x86.RegArg(low), x86.RegArg(high))
	return true
}

// RsqrtSpecials mends what Newton's step makes a NaN of: 0 gives infinity and infinity 0.
func (g *Arithmetic) RsqrtSpecials(y, x x86.Reg, t *ir.Type, w x86.Width) {
	if g.AVX512 {
		// By class of x, 4 bits each: quiet NaN, signalling NaN, 0, 1, -Inf, +Inf, negative,
		// positive.
		const classes = 2 | 2<<4 | 6<<8 | 3<<16 | 8<<20 | 3<<24
		g.Op(Pick(t, x86.VFIXUPIMMPS, x86.VFIXUPIMMPD), w, x86.RegArg(y), x86.RegArg(x), x86.RegArg(g.ConstVector(classes, int(t.Size))), x86.ImmArg(0))
		return
	}
	s := g.SeriesOf(t, w)
	s.Choose(y, s.Const(math.Inf(1)), s.CompareTo(x, s.At(0), vecmath.CmpEQ))
	s.Choose(y, s.Const(0), s.CompareTo(x, s.At(math.Inf(1)), vecmath.CmpEQ))
}
