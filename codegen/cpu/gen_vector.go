package cpu

import (
	"math"

	"github.com/gompss/gompss/codegen/cpu/internal/analysis"
	"github.com/gompss/gompss/codegen/cpu/prepare"
	"github.com/gompss/gompss/codegen/cpu/vecmath"
	"github.com/gompss/gompss/codegen/cpu/x86"
	"github.com/gompss/gompss/codegen/ir"
)

// vec evaluates a number in every lane: one register for each unrolled copy. Results are not to be
// changed: they may be variables.
func (g *gen) vec(e ir.Expr) []x86.Reg { return g.vecTo(nil, e) }

// vecTo is vec with the wish that the result be put into dst. The caller looks where it is: copies
// and variables are not moved.
func (g *gen) vecTo(dst []x86.Reg, e ir.Expr) []x86.Reg {
	t := e.Type()
	switch e := e.(type) {
	case *ir.Const:
		return g.same(g.ConstVector(constBits(e), container(t)))
	case *ir.Ref:
		return g.vecRef(e)
	}
	if s := g.shape(e); t.IsInteger() && s.Kind != analysis.Varying {
		return g.spread(e, s)
	}
	switch e := e.(type) {
	case *ir.Unary:
		return g.vecUnary(dst, e)
	case *ir.Binary:
		return g.vecBinary(dst, e)
	case *ir.Convert:
		return g.vecConvert(dst, e)
	case *ir.Index, *ir.Member:
		return g.load(e, t)
	case *ir.Math:
		return g.vecMath(dst, e)
	case *ir.Select:
		return g.vecSelect(e)
	}
	g.refuse(e.Pos(), "%s is not supported yet in vector code", ir.Source(e))
	return nil
}

// constBits is a constant as its container holds it.
func constBits(e *ir.Const) uint64 { return e.Bits }

func (g *gen) vecRef(e *ir.Ref) []x86.Reg {
	h := g.home(e.Var, e.At)
	if h.vec != nil {
		if h.alike {
			return g.same(h.vec[0])
		}
		return h.vec
	}
	return g.spread(e, g.shape(e))
}

// spread makes vectors of a uniform or affine integer that lives in a general register.
func (g *gen) spread(e ir.Expr, s analysis.Shape) []x86.Reg {
	t := e.Type()
	size, w := container(t), g.width(t)
	if r, ok := g.spreads[spreadKey(e)]; ok && s.Kind == analysis.Uniform {
		return g.same(r)
	}
	base := g.NewVector()
	g.broadcastGeneral(base, g.gp(e), size, w)
	if s.Kind == analysis.Uniform {
		return g.same(base)
	}
	add := x86.VPADDD
	if size == 8 {
		add = x86.VPADDQ
	}
	out := g.vectors(g.unroll)
	g.each(func(u int) {
		from := base
		if u > 0 {
			from = out[u]
			g.Op(add, w, x86.RegArg(from), x86.RegArg(base), x86.RegArg(g.ConstVector(uint64(int64(u)*int64(g.lanes)*s.Stride), size)))
		}
		g.Op(add, w, x86.RegArg(out[u]), x86.RegArg(from), x86.RegArg(g.iotaVector(s.Stride, size)))
	})
	return out
}

// into returns dst, or fresh registers.
func (g *gen) into(dst []x86.Reg) []x86.Reg {
	if dst != nil {
		return dst
	}
	return g.vectors(g.unroll)
}

// lift runs a two-operand operation on every copy, once where the operands are the same for all.
func (g *gen) lift(dst []x86.Reg, x, y []x86.Reg, f func(d, x, y x86.Reg)) []x86.Reg {
	if dst == nil && allSame(x) && allSame(y) && g.unroll > 1 {
		d := g.NewVector()
		f(d, x[0], y[0])
		return g.same(d)
	}
	dst = g.into(dst)
	g.each(func(u int) { f(dst[u], x[u], y[u]) })
	return dst
}

func allSame(x []x86.Reg) bool {
	for _, r := range x {
		if r != x[0] {
			return false
		}
	}
	return true
}

func (g *gen) vecUnary(dst []x86.Reg, e *ir.Unary) []x86.Reg {
	x := g.vec(e.X)
	t := e.Type()
	w := g.width(t)
	return g.lift(dst, x, x, func(d, x, _ x86.Reg) {
		switch {
		case e.Op == ir.Neg && t.IsFloat():
			sign := g.ConstVector(1<<(8*uint(t.Size)-1), int(t.Size))
			g.Op(x86.VXORPS, w, x86.RegArg(d), x86.RegArg(x), x86.RegArg(sign))
		case e.Op == ir.Neg:
			g.Op(pick(t, x86.VPSUBD, x86.VPSUBQ), w, x86.RegArg(d), x86.RegArg(g.ConstVector(0, container(t))), x86.RegArg(x))
			g.wrap(d, t)
		case e.Op == ir.Com:
			g.Op(x86.VXORPS, w, x86.RegArg(d), x86.RegArg(x), x86.RegArg(g.allOnes(w)))
			g.wrap(d, t)
		default:
			g.refuse(e.At, "operator %s is not supported yet in vector code", e.Op)
		}
	})
}

// pick chooses by the size of a lane.
func pick(t *ir.Type, four, eight x86.Op) x86.Op {
	if container(t) == 8 {
		return eight
	}
	return four
}

// wrap brings small integers, held as 32 bits, back into their range.
func (g *gen) wrap(d x86.Reg, t *ir.Type) { g.wrapWidth(d, t, g.width(t)) }

func (g *gen) wrapWidth(d x86.Reg, t *ir.Type, w x86.Width) {
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

type opPair struct{ single, double x86.Op }

var floatOps = map[ir.Op]opPair{ir.Add: {x86.VADDPS, x86.VADDPD}, ir.Sub: {x86.VSUBPS, x86.VSUBPD}, ir.Mul: {x86.VMULPS, x86.VMULPD}, ir.Div: {x86.VDIVPS, x86.VDIVPD}}

var intOps = map[ir.Op]opPair{ir.Add: {x86.VPADDD, x86.VPADDQ}, ir.Sub: {x86.VPSUBD, x86.VPSUBQ}, ir.Mul: {x86.VPMULLD, x86.VPMULLQ},
	ir.And: {x86.VANDPS, x86.VANDPS}, ir.Or: {x86.VORPS, x86.VORPS}, ir.Xor: {x86.VXORPS, x86.VXORPS}}

func (p opPair) of(t *ir.Type) x86.Op { return pick(t, p.single, p.double) }

func (g *gen) vecBinary(dst []x86.Reg, e *ir.Binary) []x86.Reg {
	if e.T.IsFloat() {
		if g.kernel.Target.FastMath {
			if r := g.fused(dst, e); r != nil {
				return r
			}
		}
		p, ok := floatOps[e.Op]
		if !ok {
			g.refuse(e.At, "operator %s on floats is not supported yet in vector code", e.Op)
		}
		op, w := p.of(e.T), g.width(e.T)
		if e.Op == ir.Add || e.Op == ir.Mul || e.Op == ir.Sub || e.Op == ir.Div {
			if mem := g.foldable(e.Y); mem != nil {
				x := g.vec(e.X)
				y := mem()
				dst = g.into(dst)
				g.each(func(u int) { g.Op(op, w, x86.RegArg(dst[u]), x86.RegArg(x[u]), y[u]) })
				return dst
			}
		}
		return g.lift(dst, g.vec(e.X), g.vec(e.Y), func(d, x, y x86.Reg) { g.Op(op, w, x86.RegArg(d), x86.RegArg(x), x86.RegArg(y)) })
	}
	return g.vecInteger(dst, e)
}

func (g *gen) vecInteger(dst []x86.Reg, e *ir.Binary) []x86.Reg {
	if e.Op == prepare.Within {
		x := g.vec(e.X)
		g.checkVectors(g.withinAccess(e), x, g.vec(e.Y))
		return x
	}
	w := g.width(e.T)
	if p, ok := intOps[e.Op]; ok {
		op := p.of(e.T)
		return g.lift(dst, g.vec(e.X), g.vec(e.Y), func(d, x, y x86.Reg) {
			if op == x86.VPMULLQ && g.mulShort(e, d, x, y) {
				return
			}
			if op == x86.VPMULLQ && !g.avx512 {
				g.seriesOf(ir.Int64Type, w).MulLong(d, x, y)
				return
			}
			g.Op(op, w, x86.RegArg(d), x86.RegArg(x), x86.RegArg(y))
			g.wrap(d, e.T)
		})
	}
	switch e.Op {
	case ir.AndNot:
		return g.lift(dst, g.vec(e.X), g.vec(e.Y), func(d, x, y x86.Reg) { g.Op(x86.VANDNPS, w, x86.RegArg(d), x86.RegArg(y), x86.RegArg(x)) })
	case ir.Shl, ir.Shr:
		return g.vecShift(dst, e)
	case ir.Div, ir.Rem:
		return g.vecDivide(dst, e)
	}
	g.refuse(e.At, "operator %s on integers is not supported yet", e.Op)
	return nil
}

// mulShort is a product of 64-bit lanes that are known to need fewer multiplications than that of
// any.
func (g *gen) mulShort(e *ir.Binary, d, x, y x86.Reg) bool {
	small, other := analysis.Below32(e.X), analysis.Below32(e.Y)
	w := g.width(e.T)
	switch {
	case small && other:
		g.Op(x86.VPMULUDQ, w, x86.RegArg(d), x86.RegArg(x), x86.RegArg(y))
		return true
	case !small && !other || g.avx512:
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

// product takes x*y apart, through a conversion that changes nothing.
func product(e ir.Expr) (*ir.Binary, bool) {
	b, ok := e.(*ir.Binary)
	return b, ok && b.Op == ir.Mul && b.T.IsFloat()
}

// fused makes a fused multiply-add of a sum with a product in it; nil where there is none. Only
// under fastmath.
func (g *gen) fused(dst []x86.Reg, e *ir.Binary) []x86.Reg {
	if e.Op != ir.Add && e.Op != ir.Sub {
		return nil
	}
	minus := func(x ir.Expr) ir.Expr {
		if e.Op == ir.Sub {
			return &ir.Unary{Op: ir.Neg, X: x, At: e.At}
		}
		return x
	}
	if m, ok := product(e.Y); ok {
		return g.multiplyAdd(dst, minus(m.X), m.Y, e.X)
	}
	if m, ok := product(e.X); ok {
		return g.multiplyAdd(dst, m.X, m.Y, minus(e.Y))
	}
	return nil
}

// fusedOps are the forms of x*y + z that add to their destination: with z or -z, of x*y or -(x*y).
var fusedOps = [2][2]opPair{{{x86.VFMADD231PS, x86.VFMADD231PD}, {x86.VFMSUB231PS, x86.VFMSUB231PD}},
	{{x86.VFNMADD231PS, x86.VFNMADD231PD}, {x86.VFNMSUB231PS, x86.VFNMSUB231PD}}}

// multiplyAdd is x*y + z in one operation, which takes the signs of the three in.
func (g *gen) multiplyAdd(dst []x86.Reg, x, y, z ir.Expr) []x86.Reg {
	x, minusX := unsigned(x)
	y, minusY := unsigned(y)
	z, minusZ := unsigned(z)
	op, w := fusedOps[bit(minusX != minusY)][bit(minusZ)].of(z.Type()), g.width(z.Type())
	mem := g.foldable(y)
	if mem == nil {
		if m := g.foldable(x); m != nil {
			x, mem = y, m
		}
	}
	s, a := g.vec(z), g.vec(x)
	var b []x86.Arg
	if mem != nil {
		b = mem()
	} else {
		b = regArgs(g.vec(y))
	}
	acc := g.accumulator(dst, s, z, a, b)
	g.each(func(u int) { g.Op(op, w, x86.RegArg(acc[u]), x86.RegArg(a[u]), b[u]) })
	return acc
}

// unsigned takes the sign off e.
func unsigned(e ir.Expr) (of ir.Expr, minus bool) {
	if u, ok := e.(*ir.Unary); ok && u.Op == ir.Neg {
		return u.X, true
	}
	return e, false
}

func bit(b bool) int {
	if b {
		return 1
	}
	return 0
}

func regArgs(r []x86.Reg) []x86.Arg {
	out := make([]x86.Arg, len(r))
	for i := range r {
		out[i] = x86.RegArg(r[i])
	}
	return out
}

// accumulator returns registers that hold s and may be overwritten: s itself where it is dst or a
// temporary.
func (g *gen) accumulator(dst, s []x86.Reg, sum ir.Expr, x []x86.Reg, y []x86.Arg) []x86.Reg {
	if dst != nil && &dst[0] == &s[0] {
		return dst
	}
	if dst == nil && !allSame(s) && temporary(sum) {
		return s
	}
	if dst == nil || touches(dst, x, y) {
		dst = g.vectors(g.unroll)
	}
	g.each(func(u int) { g.move(dst[u], s[u]) })
	return dst
}

// temporary tells the expressions whose value is in registers of nobody else.
func temporary(e ir.Expr) bool {
	switch e := e.(type) {
	case *ir.Binary, *ir.Index, *ir.Member:
		return true
	case *ir.Math:
		return e.Fn != ir.Float32FromBits && e.Fn != ir.Float64FromBits // of a variable they are the registers of that
	case *ir.Convert:
		return !ir.Same(e.T, e.X.Type())
	}
	return false
}

func touches(dst, x []x86.Reg, y []x86.Arg) bool {
	for u := range dst {
		for v := range x {
			if dst[u] == x[v] || y[v].Kind == x86.ArgReg && y[v].Reg == dst[u] {
				return true
			}
		}
	}
	return false
}

// foldable returns a function that makes memory operands of e, or nil where e has to be loaded
// first: loads of neighbouring floats in full vectors.
func (g *gen) foldable(e ir.Expr) func() []x86.Arg {
	ix, ok := e.(*ir.Index)
	if !ok || g.exec != nil || !ix.Type().IsFloat() {
		return nil
	}
	s := g.shape(ix.I)
	if s.Kind != analysis.Affine || s.Stride != 1 || g.shape(ix.X).Kind == analysis.Varying {
		return nil
	}
	return func() []x86.Arg {
		t := g.target(e)
		out := make([]x86.Arg, g.unroll)
		g.each(func(u int) { out[u] = x86.MemArg(g.copyMem(t, u)) })
		return out
	}
}

// vecSelect evaluates each side only in the lanes that take it.
func (g *gen) vecSelect(e *ir.Select) []x86.Reg {
	m := g.masksOf(e.Cond)
	out, zero := g.vectors(g.unroll), g.ConstVector(0, 8)
	g.each(func(u int) { g.move(out[u], zero) })
	g.under(g.notMasks(m), e.Y, func() {
		y := g.vec(e.Y)
		g.each(func(u int) { g.move(out[u], y[u]) })
	})
	g.under(m, e.X, func() {
		x := g.vec(e.X)
		g.each(func(u int) { g.blend(out[u], x[u], m[u], e.Type()) })
	})
	return out
}

// vecMath evaluates library functions that have vector instructions.
func (g *gen) vecMath(dst []x86.Reg, e *ir.Math) []x86.Reg {
	w := g.width(e.T)
	one := func(f func(d, x x86.Reg)) []x86.Reg {
		x := g.vec(e.Args[0])
		return g.lift(dst, x, x, func(d, x, _ x86.Reg) { f(d, x) })
	}
	switch e.Fn {
	case ir.Sqrt:
		return one(func(d, x x86.Reg) { g.Op(pick(e.T, x86.VSQRTPS, x86.VSQRTPD), w, x86.RegArg(d), x86.RegArg(x)) })
	case ir.Rsqrt:
		return g.rsqrt(dst, e)
	case ir.Abs:
		m := g.ConstVector(1<<(8*uint(e.T.Size)-1)-1, int(e.T.Size))
		return one(func(d, x x86.Reg) { g.Op(x86.VANDPS, w, x86.RegArg(d), x86.RegArg(x), x86.RegArg(m)) })
	case ir.Floor, ir.Ceil, ir.Trunc, ir.RoundToEven:
		mode := map[ir.MathFn]int64{ir.Floor: 9, ir.Ceil: 10, ir.Trunc: 11, ir.RoundToEven: 8}[e.Fn]
		op := pick(e.T, x86.VROUNDPS, x86.VROUNDPD)
		if g.avx512 {
			op = pick(e.T, x86.VRNDSCALEPS, x86.VRNDSCALEPD)
		}
		return one(func(d, x x86.Reg) { g.Op(op, w, x86.RegArg(d), x86.RegArg(x), x86.ImmArg(mode)) })
	case ir.FMA:
		return g.multiplyAdd(dst, e.Args[0], e.Args[1], e.Args[2])
	case ir.IMin, ir.IMax, ir.FMin, ir.FMax:
		return g.vecMinMax(e)
	case ir.Float32Bits, ir.Float32FromBits, ir.Float64Bits, ir.Float64FromBits:
		return g.vec(e.Args[0])
	}
	if out, ok := g.vecPolynomial(dst, e); ok {
		return out
	}
	if out, ok := g.vecBits(dst, e); ok {
		return out
	}
	if out, ok := g.vecWords(dst, e); ok {
		return out
	}
	if out, ok := g.vecExact(dst, e); ok {
		return out
	}
	return g.mathInGo(e)
}

// rsqrt is 1/sqrt(x) as the Go body of kernel.Rsqrt computes it; under fastmath an estimate with
// one Newton step for float32 (relative error below 1e-6) and two for float64.
func (g *gen) rsqrt(dst []x86.Reg, e *ir.Math) []x86.Reg {
	w, t := g.width(e.T), e.T
	x := g.vec(e.Args[0])
	one := g.ConstVector(map[int]uint64{4: uint64(math.Float32bits(1)), 8: math.Float64bits(1)}[int(t.Size)], int(t.Size))
	if !g.kernel.Target.FastMath || !g.avx512 && t.Size == 8 {
		return g.lift(dst, x, x, func(d, x, _ x86.Reg) {
			s := g.NewVector()
			g.Op(pick(t, x86.VSQRTPS, x86.VSQRTPD), w, x86.RegArg(s), x86.RegArg(x))
			g.Op(pick(t, x86.VDIVPS, x86.VDIVPD), w, x86.RegArg(d), x86.RegArg(one), x86.RegArg(s))
		})
	}
	estimate, steps := x86.VRSQRTPS, 1
	if g.avx512 {
		estimate = pick(t, x86.VRSQRT14PS, x86.VRSQRT14PD)
	}
	if t.Size == 8 {
		steps = 2
	}
	half := g.ConstVector(map[int]uint64{4: uint64(math.Float32bits(0.5)), 8: math.Float64bits(0.5)}[int(t.Size)], int(t.Size))
	return g.lift(dst, x, x, func(d, given, _ x86.Reg) {
		x, small := given, x86.NoReg
		s := g.seriesOf(t, w)
		if !g.avx512 { // the estimate takes subnormal numbers for 0: scale them
			small = s.CompareTo(given, s.At(math.Ldexp(1, -126)), vecmath.CmpLT)
			x = s.Copy(given)
			s.Choose(x, s.Mul(given, s.At(1<<24)), small)
		}
		y := g.NewVector()
		g.Op(estimate, w, x86.RegArg(y), x86.RegArg(x))
		for i := range steps { // y += y/2 * (1 - x*y*y)
			r, next := g.NewVector(), g.NewVector()
			if i == steps-1 && d != x && d != given {
				next = d
			}
			g.Op(pick(t, x86.VMULPS, x86.VMULPD), w, x86.RegArg(r), x86.RegArg(x), x86.RegArg(y))
			g.Op(pick(t, x86.VFNMADD213PS, x86.VFNMADD213PD), w, x86.RegArg(r), x86.RegArg(y), x86.RegArg(one))
			g.Op(pick(t, x86.VMULPS, x86.VMULPD), w, x86.RegArg(next), x86.RegArg(y), x86.RegArg(half))
			g.Op(pick(t, x86.VFMADD213PS, x86.VFMADD213PD), w, x86.RegArg(next), x86.RegArg(r), x86.RegArg(y))
			y = next
		}
		if !g.avx512 {
			s.Choose(y, s.Mul(y, s.At(1<<12)), small)
		}
		g.rsqrtSpecials(y, given, t, w)
		g.move(d, y)
	})
}

// rsqrtSpecials mends what Newton's step makes a NaN of: 0 gives infinity and infinity 0.
func (g *gen) rsqrtSpecials(y, x x86.Reg, t *ir.Type, w x86.Width) {
	if g.avx512 {
		// By class of x, 4 bits each: quiet NaN, signalling NaN, 0, 1, -Inf, +Inf, negative,
		// positive.
		const classes = 2 | 2<<4 | 6<<8 | 3<<16 | 8<<20 | 3<<24
		g.Op(pick(t, x86.VFIXUPIMMPS, x86.VFIXUPIMMPD), w, x86.RegArg(y), x86.RegArg(x), x86.RegArg(g.ConstVector(classes, int(t.Size))), x86.ImmArg(0))
		return
	}
	s := g.seriesOf(t, w)
	s.Choose(y, s.Const(math.Inf(1)), s.CompareTo(x, s.At(0), vecmath.CmpEQ))
	s.Choose(y, s.Const(0), s.CompareTo(x, s.At(math.Inf(1)), vecmath.CmpEQ))
}

// vecMinMax follows Go: a NaN operand gives NaN, and -0 is below +0.
func (g *gen) vecMinMax(e *ir.Math) []x86.Reg {
	w, t := g.width(e.T), e.T
	acc := g.vec(e.Args[0])
	for _, a := range e.Args[1:] {
		y := g.vec(a)
		acc = g.lift(nil, acc, y, func(d, x, y x86.Reg) { g.minMax(d, x, y, e.Fn == ir.IMin || e.Fn == ir.FMin, t, w) })
	}
	return acc
}

func (g *gen) minMax(d, x, y x86.Reg, least bool, t *ir.Type, w x86.Width) {
	if t.IsFloat() {
		g.floatMinMax(d, x, y, least, t, w)
		return
	}
	op := pick(t, x86.VPMAXSD, x86.VPMAXSQ)
	switch {
	case least && t.IsSigned():
		op = pick(t, x86.VPMINSD, x86.VPMINSQ)
	case least:
		op = pick(t, x86.VPMINUD, x86.VPMINUQ)
	case !t.IsSigned():
		op = pick(t, x86.VPMAXUD, x86.VPMAXUQ)
	}
	if container(t) == 8 && !g.avx512 {
		cmp := ir.Gt
		if least {
			cmp = ir.Lt
		}
		m := g.compareAVX2(cmp, t, x, y, w)
		g.Op(x86.VPBLENDVB, w, x86.RegArg(d), x86.RegArg(y), x86.RegArg(x), x86.RegArg(m))
		return
	}
	g.Op(op, w, x86.RegArg(d), x86.RegArg(x), x86.RegArg(y))
}

// floatMinMax: the instruction returns its second operand when the two are equal or one is a NaN.
// Both orders are combined: equal bits or signs by or (min) and and (max), and a NaN of either wins
// by adding the two.
func (g *gen) floatMinMax(d, x, y x86.Reg, least bool, t *ir.Type, w x86.Width) {
	a, b, s := g.NewVector(), g.NewVector(), g.NewVector()
	op, merge := pick(t, x86.VMAXPS, x86.VMAXPD), x86.VANDPS
	if least {
		op, merge = pick(t, x86.VMINPS, x86.VMINPD), x86.VORPS
	}
	g.Op(op, w, x86.RegArg(a), x86.RegArg(x), x86.RegArg(y))
	g.Op(op, w, x86.RegArg(b), x86.RegArg(y), x86.RegArg(x))
	g.Op(merge, w, x86.RegArg(a), x86.RegArg(a), x86.RegArg(b))
	g.Op(pick(t, x86.VADDPS, x86.VADDPD), w, x86.RegArg(s), x86.RegArg(x), x86.RegArg(y))
	m := g.newMask()
	g.Op(pick(t, x86.VCMPPS, x86.VCMPPD), w, x86.RegArg(m), x86.RegArg(x), x86.RegArg(y), x86.ImmArg(3))
	if g.avx512 {
		g.Emit(x86.I(pick(t, x86.VMOVUPSStore, x86.VMOVUPDStore), w, x86.RegArg(a), x86.RegArg(s)).Masked(m, false))
		g.move(d, a)
		return
	}
	g.Op(x86.VPBLENDVB, w, x86.RegArg(d), x86.RegArg(a), x86.RegArg(s), x86.RegArg(m))
}
