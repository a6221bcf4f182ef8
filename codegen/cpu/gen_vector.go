package cpu

import (
	"math"

	"github.com/gompss/gompss/codegen/ir"
)

// vec evaluates a number in every lane: one register for each unrolled copy. Results are not to be changed: they may be variables.
func (g *gen) vec(e ir.Expr) []Reg { return g.vecTo(nil, e) }

// vecTo is vec with the wish that the result be put into dst. The caller looks where it is: copies and variables are not moved.
func (g *gen) vecTo(dst []Reg, e ir.Expr) []Reg {
	t := e.Type()
	switch e := e.(type) {
	case *ir.Const:
		return g.same(g.constVector(constBits(e), container(t)))
	case *ir.Ref:
		return g.vecRef(e)
	}
	if s := g.shape(e); t.IsInteger() && s.kind != varying {
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

func (g *gen) vecRef(e *ir.Ref) []Reg {
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
func (g *gen) spread(e ir.Expr, s shape) []Reg {
	t := e.Type()
	size, w := container(t), g.width(t)
	if r, ok := g.spreads[spreadKey(e)]; ok && s.kind == uniform {
		return g.same(r)
	}
	base := g.vector()
	g.broadcastGeneral(base, g.gp(e), size, w)
	if s.kind == uniform {
		return g.same(base)
	}
	add := VPADDD
	if size == 8 {
		add = VPADDQ
	}
	out := g.vectors(g.unroll)
	g.each(func(u int) {
		from := base
		if u > 0 {
			from = out[u]
			g.op(add, w, RegArg(from), RegArg(base), RegArg(g.constVector(uint64(int64(u)*int64(g.lanes)*s.stride), size)))
		}
		g.op(add, w, RegArg(out[u]), RegArg(from), RegArg(g.iotaVector(s.stride, size)))
	})
	return out
}

// into returns dst, or fresh registers.
func (g *gen) into(dst []Reg) []Reg {
	if dst != nil {
		return dst
	}
	return g.vectors(g.unroll)
}

// lift runs a two-operand operation on every copy, once where the operands are the same for all.
func (g *gen) lift(dst []Reg, x, y []Reg, f func(d, x, y Reg)) []Reg {
	if dst == nil && allSame(x) && allSame(y) && g.unroll > 1 {
		d := g.vector()
		f(d, x[0], y[0])
		return g.same(d)
	}
	dst = g.into(dst)
	g.each(func(u int) { f(dst[u], x[u], y[u]) })
	return dst
}

func allSame(x []Reg) bool {
	for _, r := range x {
		if r != x[0] {
			return false
		}
	}
	return true
}

func (g *gen) vecUnary(dst []Reg, e *ir.Unary) []Reg {
	x := g.vec(e.X)
	t := e.Type()
	w := g.width(t)
	return g.lift(dst, x, x, func(d, x, _ Reg) {
		switch {
		case e.Op == ir.Neg && t.IsFloat():
			sign := g.constVector(1<<(8*uint(t.Size)-1), int(t.Size))
			g.op(VXORPS, w, RegArg(d), RegArg(x), RegArg(sign))
		case e.Op == ir.Neg:
			g.op(pick(t, VPSUBD, VPSUBQ), w, RegArg(d), RegArg(g.constVector(0, container(t))), RegArg(x))
			g.wrap(d, t)
		case e.Op == ir.Com:
			g.op(VXORPS, w, RegArg(d), RegArg(x), RegArg(g.allOnes(w)))
			g.wrap(d, t)
		default:
			g.refuse(e.At, "operator %s is not supported yet in vector code", e.Op)
		}
	})
}

// pick chooses by the size of a lane.
func pick(t *ir.Type, four, eight Op) Op {
	if container(t) == 8 {
		return eight
	}
	return four
}

// wrap brings small integers, held as 32 bits, back into their range.
func (g *gen) wrap(d Reg, t *ir.Type) { g.wrapWidth(d, t, g.width(t)) }

func (g *gen) wrapWidth(d Reg, t *ir.Type, w Width) {
	if t.Size >= 4 {
		return
	}
	n := 32 - 8*int64(t.Size)
	right := VPSRLD
	if t.IsSigned() {
		right = VPSRAD
	}
	g.op(VPSLLD, w, RegArg(d), RegArg(d), ImmArg(n))
	g.op(right, w, RegArg(d), RegArg(d), ImmArg(n))
}

type opPair struct{ single, double Op }

var floatOps = map[ir.Op]opPair{ir.Add: {VADDPS, VADDPD}, ir.Sub: {VSUBPS, VSUBPD}, ir.Mul: {VMULPS, VMULPD}, ir.Div: {VDIVPS, VDIVPD}}
var intOps = map[ir.Op]opPair{ir.Add: {VPADDD, VPADDQ}, ir.Sub: {VPSUBD, VPSUBQ}, ir.Mul: {VPMULLD, VPMULLQ},
	ir.And: {VANDPS, VANDPS}, ir.Or: {VORPS, VORPS}, ir.Xor: {VXORPS, VXORPS}}

func (p opPair) of(t *ir.Type) Op { return pick(t, p.single, p.double) }

func (g *gen) vecBinary(dst []Reg, e *ir.Binary) []Reg {
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
				g.each(func(u int) { g.op(op, w, RegArg(dst[u]), RegArg(x[u]), y[u]) })
				return dst
			}
		}
		return g.lift(dst, g.vec(e.X), g.vec(e.Y), func(d, x, y Reg) { g.op(op, w, RegArg(d), RegArg(x), RegArg(y)) })
	}
	return g.vecInteger(dst, e)
}

func (g *gen) vecInteger(dst []Reg, e *ir.Binary) []Reg {
	if e.Op == within {
		x := g.vec(e.X)
		g.checkVectors(g.withinAccess(e), x, g.vec(e.Y))
		return x
	}
	w := g.width(e.T)
	if p, ok := intOps[e.Op]; ok {
		op := p.of(e.T)
		return g.lift(dst, g.vec(e.X), g.vec(e.Y), func(d, x, y Reg) {
			if op == VPMULLQ && g.mulShort(e, d, x, y) {
				return
			}
			if op == VPMULLQ && !g.avx512 {
				g.mulLong(d, x, y, w)
				return
			}
			g.op(op, w, RegArg(d), RegArg(x), RegArg(y))
			g.wrap(d, e.T)
		})
	}
	switch e.Op {
	case ir.AndNot:
		return g.lift(dst, g.vec(e.X), g.vec(e.Y), func(d, x, y Reg) { g.op(VANDNPS, w, RegArg(d), RegArg(y), RegArg(x)) })
	case ir.Shl, ir.Shr:
		return g.vecShift(dst, e)
	case ir.Div, ir.Rem:
		return g.vecDivide(dst, e)
	}
	return g.binaryInGo(e)
}

// below32 tells the 64-bit numbers that are known to lie in the lower half of their lanes, without a sign.
func below32(e ir.Expr) bool {
	switch e := e.(type) {
	case *ir.Const:
		return e.Bits < 1<<32
	case *ir.Convert:
		from := e.X.Type()
		return from.IsInteger() && (from.Size <= 4 && !from.IsSigned() || from.Size == 8 && below32(e.X))
	case *ir.Math:
		switch e.Fn {
		case ir.OnesCount, ir.BitLen, ir.LeadingZeros, ir.TrailingZeros:
			return true
		}
	case *ir.Binary:
		switch e.Op {
		case ir.And:
			return below32(e.X) || below32(e.Y)
		case ir.Shr:
			c, ok := constInt(e.Y)
			return ok && (c >= 32 && !e.T.IsSigned() || below32(e.X))
		}
	}
	return false
}

// mulShort is a product of 64-bit lanes that are known to need fewer multiplications than that of any.
func (g *gen) mulShort(e *ir.Binary, d, x, y Reg) bool {
	small, other := below32(e.X), below32(e.Y)
	w := g.width(e.T)
	switch {
	case small && other:
		g.op(VPMULUDQ, w, RegArg(d), RegArg(x), RegArg(y))
		return true
	case !small && !other || g.avx512:
		return false
	case small:
		x, y = y, x
	}
	high, low := g.vector(), g.vector()
	g.op(VPSRLQ, w, RegArg(high), RegArg(x), ImmArg(32))
	g.op(VPMULUDQ, w, RegArg(high), RegArg(high), RegArg(y))
	g.op(VPSLLQ, w, RegArg(high), RegArg(high), ImmArg(32))
	g.op(VPMULUDQ, w, RegArg(low), RegArg(x), RegArg(y))
	g.op(VPADDQ, w, RegArg(d), RegArg(low), RegArg(high))
	return true
}

// mulLong is the low half of a product of 64-bit lanes, from products of 32-bit halves.
func (g *gen) mulLong(d, x, y Reg, w Width) {
	xh, yh, a, b, low := g.vector(), g.vector(), g.vector(), g.vector(), g.vector()
	g.op(VPSRLQ, w, RegArg(xh), RegArg(x), ImmArg(32))
	g.op(VPSRLQ, w, RegArg(yh), RegArg(y), ImmArg(32))
	g.op(VPMULUDQ, w, RegArg(a), RegArg(xh), RegArg(y))
	g.op(VPMULUDQ, w, RegArg(b), RegArg(x), RegArg(yh))
	g.op(VPMULUDQ, w, RegArg(low), RegArg(x), RegArg(y))
	g.op(VPADDQ, w, RegArg(a), RegArg(a), RegArg(b))
	g.op(VPSLLQ, w, RegArg(a), RegArg(a), ImmArg(32))
	g.op(VPADDQ, w, RegArg(d), RegArg(low), RegArg(a))
}

// vecShift shifts by constants; counts past the width give what Go gives.
func (g *gen) vecShift(dst []Reg, e *ir.Binary) []Reg {
	c, ok := constInt(e.Y)
	if !ok || c < 0 {
		return g.shiftByVector(dst, e)
	}
	w, bits := g.width(e.T), 8*int64(e.T.Size)
	x := g.vec(e.X)
	return g.lift(dst, x, x, func(d, x, _ Reg) {
		switch {
		case e.Op == ir.Shr && e.T.IsSigned() && container(e.T) == 8 && !g.avx512 && !g.notNegative(e.X):
			c = min(c, bits-1)
			s := series{g, e.T, w}
			g.move(d, s.extended(s.shiftRight(x, c), s.cBits(1<<(63-c))))
		case e.Op == ir.Shr && e.T.IsSigned() && (container(e.T) == 4 || g.avx512):
			c = min(c, bits-1)
			g.op(pick(e.T, VPSRAD, VPSRAQ), w, RegArg(d), RegArg(x), ImmArg(c))
		case c >= bits:
			g.move(d, g.constVector(0, container(e.T)))
		case e.Op == ir.Shr:
			g.op(pick(e.T, VPSRLD, VPSRLQ), w, RegArg(d), RegArg(x), ImmArg(c))
		default:
			g.op(pick(e.T, VPSLLD, VPSLLQ), w, RegArg(d), RegArg(x), ImmArg(c))
			g.wrap(d, e.T)
		}
	})
}

// shiftByVector shifts every lane by its own count. The instructions give what Go gives for counts past the width, as long as the count
// fits its lane; a count that may be negative is left to Go, which checks it.
func (g *gen) shiftByVector(dst []Reg, e *ir.Binary) []Reg {
	ct, signed := e.Y.Type(), e.Op == ir.Shr && e.T.IsSigned()
	alike := g.shape(e.Y).kind == uniform
	long := signed && container(e.T) == 8 && !g.avx512 // AVX2 shifts no signs into these
	if !alike && (container(ct) != container(e.T) || ct.IsSigned() && e.Checked || long) {
		return g.binaryInGo(e)
	}
	long = long && !g.notNegative(e.X)
	op := pick(e.T, VPSLLVD, VPSLLVQ)
	if e.Op == ir.Shr {
		op = pick(e.T, VPSRLVD, VPSRLVQ)
	}
	if signed && !long && !(container(e.T) == 8 && !g.avx512) {
		op = pick(e.T, VPSRAVD, VPSRAVQ)
	}
	w := g.width(e.T)
	x := g.vec(e.X)
	var by []Reg
	if alike {
		by = g.sameCount(e, mostCount(long))
	} else {
		by = g.vec(e.Y)
	}
	return g.lift(dst, x, by, func(d, x, y Reg) {
		if long {
			s, shifted, sign := series{g, e.T, w}, g.vector(), g.vector()
			g.op(op, w, RegArg(shifted), RegArg(x), RegArg(y))
			g.op(op, w, RegArg(sign), RegArg(s.cBits(1<<63)), RegArg(y))
			g.move(d, s.extended(shifted, sign))
			return
		}
		g.op(op, w, RegArg(d), RegArg(x), RegArg(y))
		if e.Op == ir.Shl {
			g.wrap(d, e.T)
		}
	})
}

// extended copies the bit that sign names into all above it, where those are 0.
func (s series) extended(x, sign Reg) Reg { return s.subInts(s.xor(x, RegArg(sign)), sign) }

// sameCount is the count of a shift by the same in all lanes, in lanes of the number that is shifted; all from most on are alike.
func (g *gen) sameCount(e *ir.Binary, most int64) []Reg {
	n := g.gp(e.Y)
	if e.Y.Type().IsSigned() && e.Checked {
		g.op(TESTQ, W128, RegArg(n), RegArg(n))
		g.failIf(condL, ir.ErrShift)
	}
	if r, ok := g.spreads[countKey(e.Y, most)]; ok {
		return g.same(r)
	}
	return g.same(g.countVector(e, n, most))
}

func mostCount(long bool) int64 {
	if long {
		return 63
	}
	return 64
}

func (g *gen) countVector(e *ir.Binary, n Reg, most int64) Reg {
	limit, count, by := g.constGeneral(most), g.general(), g.vector()
	g.move(count, n)
	g.op(CMPQ, W128, RegArg(count), RegArg(limit))
	g.op(CMOVQHI, W128, RegArg(count), RegArg(limit))
	g.broadcastGeneral(by, count, container(e.T), g.width(e.T))
	return by
}

// product takes x*y apart, through a conversion that changes nothing.
func product(e ir.Expr) (*ir.Binary, bool) {
	b, ok := e.(*ir.Binary)
	return b, ok && b.Op == ir.Mul && b.T.IsFloat()
}

// fused makes a fused multiply-add of a sum with a product in it; nil where there is none. Only under fastmath.
func (g *gen) fused(dst []Reg, e *ir.Binary) []Reg {
	if e.Op != ir.Add && e.Op != ir.Sub {
		return nil
	}
	var sum ir.Expr
	var mul *ir.Binary
	var op opPair
	if m, ok := product(e.Y); ok {
		sum, mul, op = e.X, m, opPair{VFMADD231PS, VFMADD231PD}
		if e.Op == ir.Sub {
			op = opPair{VFNMADD231PS, VFNMADD231PD}
		}
	} else if m, ok := product(e.X); ok {
		sum, mul, op = e.Y, m, opPair{VFMADD231PS, VFMADD231PD}
		if e.Op == ir.Sub {
			op = opPair{VFMSUB231PS, VFMSUB231PD}
		}
	} else {
		return nil
	}
	w := g.width(e.T)
	s, x := g.vec(sum), g.vec(mul.X)
	mem := g.foldable(mul.Y)
	var y []Arg
	if mem != nil {
		y = mem()
	} else {
		y = regArgs(g.vec(mul.Y))
	}
	acc := g.accumulator(dst, s, sum, x, y)
	g.each(func(u int) { g.op(op.of(e.T), w, RegArg(acc[u]), RegArg(x[u]), y[u]) })
	return acc
}

func regArgs(r []Reg) []Arg {
	out := make([]Arg, len(r))
	for i := range r {
		out[i] = RegArg(r[i])
	}
	return out
}

// accumulator returns registers that hold s and may be overwritten: s itself where it is dst or a temporary.
func (g *gen) accumulator(dst, s []Reg, sum ir.Expr, x []Reg, y []Arg) []Reg {
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
	case *ir.Binary, *ir.Index, *ir.Member, *ir.Math:
		return true
	case *ir.Convert:
		return !ir.Same(e.T, e.X.Type())
	}
	return false
}

func touches(dst, x []Reg, y []Arg) bool {
	for u := range dst {
		for v := range x {
			if dst[u] == x[v] || y[v].kind == argReg && y[v].reg == dst[u] {
				return true
			}
		}
	}
	return false
}

// foldable returns a function that makes memory operands of e, or nil where e has to be loaded first: loads of neighbouring floats in
// full vectors.
func (g *gen) foldable(e ir.Expr) func() []Arg {
	ix, ok := e.(*ir.Index)
	if !ok || g.exec != nil || !ix.Type().IsFloat() {
		return nil
	}
	s := g.shape(ix.I)
	if s.kind != affine || s.stride != 1 || g.shape(ix.X).kind == varying {
		return nil
	}
	return func() []Arg {
		t := g.target(e)
		out := make([]Arg, g.unroll)
		g.each(func(u int) { out[u] = MemArg(g.copyMem(t, u)) })
		return out
	}
}

func (g *gen) vecSelect(e *ir.Select) []Reg {
	m := g.masksOf(e.Cond)
	x, y := g.vec(e.X), g.vec(e.Y)
	out := g.vectors(g.unroll)
	g.each(func(u int) {
		g.move(out[u], y[u])
		g.blend(out[u], x[u], m[u], e.Type())
	})
	return out
}

// vecMath evaluates library functions that have vector instructions.
func (g *gen) vecMath(dst []Reg, e *ir.Math) []Reg {
	w := g.width(e.T)
	one := func(f func(d, x Reg)) []Reg {
		x := g.vec(e.Args[0])
		return g.lift(dst, x, x, func(d, x, _ Reg) { f(d, x) })
	}
	switch e.Fn {
	case ir.Sqrt:
		return one(func(d, x Reg) { g.op(pick(e.T, VSQRTPS, VSQRTPD), w, RegArg(d), RegArg(x)) })
	case ir.Rsqrt:
		return g.rsqrt(dst, e)
	case ir.Abs:
		m := g.constVector(1<<(8*uint(e.T.Size)-1)-1, int(e.T.Size))
		return one(func(d, x Reg) { g.op(VANDPS, w, RegArg(d), RegArg(x), RegArg(m)) })
	case ir.Floor, ir.Ceil, ir.Trunc, ir.RoundToEven:
		mode := map[ir.MathFn]int64{ir.Floor: 9, ir.Ceil: 10, ir.Trunc: 11, ir.RoundToEven: 8}[e.Fn]
		op := pick(e.T, VROUNDPS, VROUNDPD)
		if g.avx512 {
			op = pick(e.T, VRNDSCALEPS, VRNDSCALEPD)
		}
		return one(func(d, x Reg) { g.op(op, w, RegArg(d), RegArg(x), ImmArg(mode)) })
	case ir.FMA:
		x, y, z := g.vec(e.Args[0]), g.vec(e.Args[1]), g.vec(e.Args[2])
		out := g.vectors(g.unroll)
		g.each(func(u int) {
			g.move(out[u], z[u])
			g.op(pick(e.T, VFMADD231PS, VFMADD231PD), w, RegArg(out[u]), RegArg(x[u]), RegArg(y[u]))
		})
		return out
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
	return g.mathInGo(e)
}

// rsqrt is 1/sqrt(x) as the Go body of kernel.Rsqrt computes it; under fastmath an estimate with one Newton step for float32 (relative
// error below 1e-6) and two for float64.
func (g *gen) rsqrt(dst []Reg, e *ir.Math) []Reg {
	w, t := g.width(e.T), e.T
	x := g.vec(e.Args[0])
	one := g.constVector(map[int]uint64{4: uint64(math.Float32bits(1)), 8: math.Float64bits(1)}[int(t.Size)], int(t.Size))
	if !g.kernel.Target.FastMath || !g.avx512 && t.Size == 8 {
		return g.lift(dst, x, x, func(d, x, _ Reg) {
			s := g.vector()
			g.op(pick(t, VSQRTPS, VSQRTPD), w, RegArg(s), RegArg(x))
			g.op(pick(t, VDIVPS, VDIVPD), w, RegArg(d), RegArg(one), RegArg(s))
		})
	}
	estimate, steps := VRSQRTPS, 1
	if g.avx512 {
		estimate = pick(t, VRSQRT14PS, VRSQRT14PD)
	}
	if t.Size == 8 {
		steps = 2
	}
	half := g.constVector(map[int]uint64{4: uint64(math.Float32bits(0.5)), 8: math.Float64bits(0.5)}[int(t.Size)], int(t.Size))
	return g.lift(dst, x, x, func(d, given, _ Reg) {
		x, small := given, NoReg
		s := series{g, t, w}
		if !g.avx512 { // the estimate takes subnormal numbers for 0: scale them
			small = s.compareTo(given, s.at(math.Ldexp(1, -126)), cmpLT)
			x = s.copy(given)
			s.choose(x, s.mul(given, s.at(1<<24)), small)
		}
		y := g.vector()
		g.op(estimate, w, RegArg(y), RegArg(x))
		for i := range steps { // y += y/2 * (1 - x*y*y)
			r, next := g.vector(), g.vector()
			if i == steps-1 && d != x && d != given {
				next = d
			}
			g.op(pick(t, VMULPS, VMULPD), w, RegArg(r), RegArg(x), RegArg(y))
			g.op(pick(t, VFNMADD213PS, VFNMADD213PD), w, RegArg(r), RegArg(y), RegArg(one))
			g.op(pick(t, VMULPS, VMULPD), w, RegArg(next), RegArg(y), RegArg(half))
			g.op(pick(t, VFMADD213PS, VFMADD213PD), w, RegArg(next), RegArg(r), RegArg(y))
			y = next
		}
		if !g.avx512 {
			s.choose(y, s.mul(y, s.at(1<<12)), small)
		}
		g.rsqrtSpecials(y, given, t, w)
		g.move(d, y)
	})
}

// rsqrtSpecials mends what Newton's step makes a NaN of: 0 gives infinity and infinity 0.
func (g *gen) rsqrtSpecials(y, x Reg, t *ir.Type, w Width) {
	if g.avx512 {
		// By class of x, 4 bits each: quiet NaN, signalling NaN, 0, 1, -Inf, +Inf, negative, positive.
		const classes = 2 | 2<<4 | 6<<8 | 3<<16 | 8<<20 | 3<<24
		g.op(pick(t, VFIXUPIMMPS, VFIXUPIMMPD), w, RegArg(y), RegArg(x), RegArg(g.constVector(classes, int(t.Size))), ImmArg(0))
		return
	}
	s := series{g, t, w}
	s.choose(y, s.c(math.Inf(1)), s.compareTo(x, s.at(0), cmpEQ))
	s.choose(y, s.c(0), s.compareTo(x, s.at(math.Inf(1)), cmpEQ))
}

// vecMinMax follows Go: a NaN operand gives NaN, and -0 is below +0.
func (g *gen) vecMinMax(e *ir.Math) []Reg {
	w, t := g.width(e.T), e.T
	acc := g.vec(e.Args[0])
	for _, a := range e.Args[1:] {
		y := g.vec(a)
		acc = g.lift(nil, acc, y, func(d, x, y Reg) { g.minMax(d, x, y, e.Fn == ir.IMin || e.Fn == ir.FMin, t, w) })
	}
	return acc
}

func (g *gen) minMax(d, x, y Reg, least bool, t *ir.Type, w Width) {
	if t.IsFloat() {
		g.floatMinMax(d, x, y, least, t, w)
		return
	}
	op := pick(t, VPMAXSD, VPMAXSQ)
	switch {
	case least && t.IsSigned():
		op = pick(t, VPMINSD, VPMINSQ)
	case least:
		op = pick(t, VPMINUD, VPMINUQ)
	case !t.IsSigned():
		op = pick(t, VPMAXUD, VPMAXUQ)
	}
	if container(t) == 8 && !g.avx512 {
		cmp := ir.Gt
		if least {
			cmp = ir.Lt
		}
		m := g.compareAVX2(cmp, t, x, y, w)
		g.op(VPBLENDVB, w, RegArg(d), RegArg(y), RegArg(x), RegArg(m))
		return
	}
	g.op(op, w, RegArg(d), RegArg(x), RegArg(y))
}

// floatMinMax: the instruction returns its second operand when the two are equal or one is a NaN. Both orders are combined: equal bits
// or signs by or (min) and and (max), and a NaN of either wins by adding the two.
func (g *gen) floatMinMax(d, x, y Reg, least bool, t *ir.Type, w Width) {
	a, b, s := g.vector(), g.vector(), g.vector()
	op, merge := pick(t, VMAXPS, VMAXPD), VANDPS
	if least {
		op, merge = pick(t, VMINPS, VMINPD), VORPS
	}
	g.op(op, w, RegArg(a), RegArg(x), RegArg(y))
	g.op(op, w, RegArg(b), RegArg(y), RegArg(x))
	g.op(merge, w, RegArg(a), RegArg(a), RegArg(b))
	g.op(pick(t, VADDPS, VADDPD), w, RegArg(s), RegArg(x), RegArg(y))
	m := g.newMask()
	g.op(pick(t, VCMPPS, VCMPPD), w, RegArg(m), RegArg(x), RegArg(y), ImmArg(3))
	if g.avx512 {
		g.emit(I(pick(t, VMOVUPSStore, VMOVUPDStore), w, RegArg(a), RegArg(s)).Masked(m, false))
		g.move(d, a)
		return
	}
	g.op(VPBLENDVB, w, RegArg(d), RegArg(a), RegArg(s), RegArg(m))
}
