package cpu

import (
	"math"

	"github.com/gompss/gompss/codegen/ir"
)

// Masks are mask registers with AVX-512 and vectors with AVX2, there in one canonical lane size: bytes/lanes.

func (g *gen) newMask() Reg {
	if g.avx512 {
		return g.mask()
	}
	return g.vector()
}

func (g *gen) maskLane() int { return g.bytes / g.lanes }

func (g *gen) maskOp(k, v Op, x, y Reg) Reg {
	r := g.newMask()
	if g.avx512 {
		g.op(k, W128, RegArg(r), RegArg(x), RegArg(y))
	} else {
		g.op(v, widthOf(g.bytes), RegArg(r), RegArg(x), RegArg(y))
	}
	return r
}

func (g *gen) maskAnd(x, y Reg) Reg { return g.maskOp(KANDW, VPAND, x, y) }
func (g *gen) maskOr(x, y Reg) Reg  { return g.maskOp(KORW, VPOR, x, y) }
func (g *gen) maskXor(x, y Reg) Reg { return g.maskOp(KXORW, VPXOR, x, y) }

// maskAndNot is y and not x.
func (g *gen) maskAndNot(x, y Reg) Reg { return g.maskOp(KANDNW, VPANDN, x, y) }

func (g *gen) maskMove(dst, src Reg) {
	if dst == src {
		return
	}
	if g.avx512 {
		g.op(KMOVW, W128, RegArg(dst), RegArg(src))
	} else {
		g.op(VMOVUPSStore, widthOf(g.bytes), RegArg(dst), RegArg(src))
	}
}

// maskAll is the mask of all lanes.
func (g *gen) maskAll() Reg {
	if !g.avx512 {
		return g.allOnes(widthOf(g.bytes))
	}
	m := g.mask()
	g.op(MOVQImm, W128, RegArg(CX), ImmArg(1<<g.lanes-1))
	g.op(KMOVDSet, W128, RegArg(m), RegArg(CX))
	return m
}

func (g *gen) maskNone() Reg {
	m := g.newMask()
	if g.avx512 {
		g.op(XORQ, W128, RegArg(CX), RegArg(CX))
		g.op(KMOVDSet, W128, RegArg(m), RegArg(CX))
	} else {
		g.op(VPXOR, widthOf(g.bytes), RegArg(m), RegArg(g.undefined(m)), RegArg(m))
	}
	return m
}

// undefined tells the liveness analysis that r is defined here, for the idiom x xor x.
func (g *gen) undefined(r Reg) Reg {
	g.op(VMOVUPSStore, W128, RegArg(r), RegArg(V(15)))
	return r
}

// allOnes is a vector of ones.
func (g *gen) allOnes(w Width) Reg {
	return g.constVector(1<<64-1, 8)
}

// maskBits puts one bit a lane into a general register.
func (g *gen) maskBits(dst, m Reg) {
	switch {
	case g.avx512:
		g.op(KMOVWGet, W128, RegArg(dst), RegArg(m))
	case g.maskLane() == 8:
		g.op(VMOVMSKPD, widthOf(g.bytes), RegArg(dst), RegArg(m))
	default:
		g.op(VMOVMSKPS, widthOf(g.bytes), RegArg(dst), RegArg(m))
	}
}

// anyLane sets the zero flag when no lane of any copy is on.
func (g *gen) anyLane(masks []Reg) {
	m := masks[0]
	for _, n := range masks[1:] {
		if n != m {
			m = g.maskOr(m, n)
		}
	}
	if g.avx512 {
		g.op(KORTESTW, W128, RegArg(m), RegArg(m))
		return
	}
	g.op(VPTEST, widthOf(g.bytes), RegArg(m), RegArg(m))
}

// prefixMask turns on the first n lanes (n in a general register, at least 0).
func (g *gen) prefixMask(n Reg) Reg {
	if g.avx512 {
		m := g.mask()
		g.op(MOVQImm, W128, RegArg(CX), ImmArg(1<<g.lanes-1))
		g.op(BZHIQ, W128, RegArg(CX), RegArg(CX), RegArg(n))
		g.op(KMOVDSet, W128, RegArg(m), RegArg(CX))
		return m
	}
	size := g.maskLane()
	w := widthOf(g.bytes)
	b, m := g.vector(), g.vector()
	g.broadcastGeneral(b, n, size, w)
	op := VPCMPGTD
	if size == 8 {
		op = VPCMPGTQ
	}
	g.op(op, w, RegArg(m), RegArg(b), RegArg(g.iotaVector(1, size)))
	return m
}

// canonicalMask converts an AVX2 mask with lanes of size bytes to the canonical lane size.
func (g *gen) canonicalMask(m Reg, size int) Reg {
	if g.avx512 || size == g.maskLane() {
		return m
	}
	r := g.vector()
	if size < g.maskLane() {
		g.op(VPMOVSXDQ, W256, RegArg(r), RegArg(m))
		return r
	}
	return g.narrowMask(m)
}

// narrowMask halves 8-byte lanes to 4 bytes.
func (g *gen) narrowMask(m Reg) Reg {
	high, r := g.vector(), g.vector()
	g.op(VEXTRACTF128, W256, RegArg(high), RegArg(m), ImmArg(1))
	g.op(VSHUFPS, W128, RegArg(r), RegArg(m), RegArg(high), ImmArg(0x88))
	return r
}

// maskFor is the mask in the lane size of values of t, for AVX2.
func (g *gen) maskFor(m Reg, t *ir.Type) Reg {
	if g.avx512 || container(t) == g.maskLane() {
		return m
	}
	return g.narrowMask(m)
}

// blend sets dst to src in the lanes of m.
func (g *gen) blend(dst, src, m Reg, t *ir.Type) {
	w := g.width(t)
	if g.avx512 {
		op := VMOVUPSStore
		if container(t) == 8 {
			op = VMOVUPDStore
		}
		g.emit(I(op, w, RegArg(dst), RegArg(src)).Masked(m, false))
		return
	}
	g.op(VPBLENDVB, w, RegArg(dst), RegArg(dst), RegArg(src), RegArg(g.maskFor(m, t)))
}

// broadcastGeneral fills a vector with a general register.
func (g *gen) broadcastGeneral(dst, src Reg, size int, w Width) {
	switch {
	case g.avx512 && size == 8:
		g.op(VPBROADCASTQR, w, RegArg(dst), RegArg(src))
	case g.avx512:
		g.op(VPBROADCASTDR, w, RegArg(dst), RegArg(src))
	case size == 8:
		g.op(VMOVQ, W128, RegArg(dst), RegArg(src))
		g.op(VPBROADCASTQ, w, RegArg(dst), RegArg(dst))
	default:
		g.op(VMOVD, W128, RegArg(dst), RegArg(src))
		g.op(VPBROADCASTD, w, RegArg(dst), RegArg(dst))
	}
}

// masksOf evaluates a condition in every lane. A uniform condition gives masks that are all or none.
func (g *gen) masksOf(e ir.Expr) []Reg {
	if g.shape(e).kind == uniform {
		return g.uniformMask(e)
	}
	switch e := e.(type) {
	case *ir.Ref:
		return g.home(e.Var, e.At).masks
	case *ir.Unary:
		return g.mapMasks(g.masksOf(e.X), func(m Reg) Reg { return g.maskXor(m, g.maskAll()) })
	case *ir.Binary:
		switch e.Op {
		case ir.LAnd:
			return g.shortCircuit(e, true)
		case ir.LOr:
			return g.shortCircuit(e, false)
		case ir.Eq, ir.Ne:
			if e.X.Type().Kind == ir.Bool {
				return g.equalMasks(e)
			}
		}
		return g.compare(e)
	case *ir.Index, *ir.Member:
		return g.boolLoad(e)
	case *ir.Math:
		return g.boolMath(e)
	case *ir.Convert:
		return g.masksOf(e.X)
	case *ir.Select:
		return g.selectMasks(e)
	}
	g.refuse(e.Pos(), "the condition %s has no form for lanes", ir.Source(e))
	return nil
}

func (g *gen) selectMasks(e *ir.Select) []Reg {
	c, x, y := g.masksOf(e.Cond), g.masksOf(e.X), g.masksOf(e.Y)
	out := make([]Reg, g.unroll)
	g.each(func(u int) { out[u] = g.maskOr(g.maskAnd(c[u], x[u]), g.maskAndNot(c[u], y[u])) })
	return out
}

// boolMath asks of what kind a float is.
func (g *gen) boolMath(e *ir.Math) []Reg {
	x, t := e.Args[0], e.Args[0].Type()
	bits := func(v float64) uint64 {
		if t.Size == 4 {
			return uint64(math.Float32bits(float32(v)))
		}
		return math.Float64bits(v)
	}
	compare := func(op ir.Op, x, y ir.Expr) ir.Expr { return &ir.Binary{Op: op, X: x, Y: y, T: ir.BoolType, At: e.At} }
	infinite := func(sign int) ir.Expr {
		return compare(ir.Eq, x, &ir.Const{T: t, Bits: bits(math.Inf(sign)), At: e.At})
	}
	sign := func(op ir.Op) ir.Expr { return compare(op, e.Args[1], number(0, e.At)) }
	logic := func(op ir.Op, x, y ir.Expr) ir.Expr { return &ir.Binary{Op: op, X: x, Y: y, T: ir.BoolType, At: e.At} }
	switch e.Fn {
	case ir.IsNaN:
		return g.masksOf(compare(ir.Ne, x, x))
	case ir.IsInf:
		return g.masksOf(logic(ir.LOr, logic(ir.LAnd, infinite(1), sign(ir.Ge)), logic(ir.LAnd, infinite(-1), sign(ir.Le))))
	case ir.Signbit:
		as, of := ir.Float64Bits, ir.Uint64Type
		if t.Size == 4 {
			as, of = ir.Float32Bits, ir.Uint32Type
		}
		word := &ir.Math{Fn: as, Args: []ir.Expr{x}, T: of, At: e.At}
		return g.masksOf(compare(ir.Ge, word, &ir.Const{T: of, Bits: 1 << (8*uint(t.Size) - 1), At: e.At}))
	}
	g.refuse(e.At, "the condition %s has no form for lanes", ir.Source(e))
	return nil
}

func (g *gen) mapMasks(in []Reg, f func(Reg) Reg) []Reg {
	out := make([]Reg, len(in))
	for i, m := range in {
		if i > 0 && m == in[0] {
			out[i] = out[0]
			continue
		}
		out[i] = f(m)
	}
	return out
}

func (g *gen) equalMasks(e *ir.Binary) []Reg {
	x, y := g.masksOf(e.X), g.masksOf(e.Y)
	out := make([]Reg, g.unroll)
	g.each(func(u int) {
		out[u] = g.maskXor(x[u], y[u])
		if e.Op == ir.Eq {
			out[u] = g.maskXor(out[u], g.maskAll())
		}
	})
	return out
}

// shortCircuit evaluates the right side only in the lanes where the left does not decide: an access there is guarded.
func (g *gen) shortCircuit(e *ir.Binary, and bool) []Reg {
	x := g.masksOf(e.X)
	old, split := g.exec, g.split
	decide := x
	if !and {
		decide = g.mapMasks(x, func(m Reg) Reg { return g.maskXor(m, g.maskAll()) })
	}
	g.narrow(decide)
	y := g.masksOf(e.Y)
	g.exec, g.split = old, split
	out := make([]Reg, g.unroll)
	g.each(func(u int) {
		if and {
			out[u] = g.maskAnd(x[u], y[u])
		} else {
			out[u] = g.maskOr(x[u], y[u])
		}
	})
	return out
}

// narrow turns off the lanes outside masks.
func (g *gen) narrow(masks []Reg) {
	next := make([]Reg, g.unroll)
	g.each(func(u int) {
		next[u] = masks[u]
		if g.exec != nil {
			next[u] = g.maskAnd(g.exec[u], masks[u])
		}
	})
	g.exec, g.split = next, true
}

func (g *gen) uniformMask(e ir.Expr) []Reg {
	r := g.newMask()
	none := g.newLabel()
	g.maskMove(r, g.maskNone())
	g.branch(e, false, none)
	g.maskMove(r, g.maskAll())
	g.place(none)
	return g.same(r)
}

// Predicates of VCMPPS: ordered and quiet, as Go compares floats; != is true for NaN.
var floatPredicates = map[ir.Op]int64{ir.Eq: 0x00, ir.Lt: 0x11, ir.Le: 0x12, ir.Ne: 0x04, ir.Ge: 0x1D, ir.Gt: 0x1E}

// Predicates of VPCMPD.
var intPredicates = map[ir.Op]int64{ir.Eq: 0, ir.Lt: 1, ir.Le: 2, ir.Ne: 4, ir.Ge: 5, ir.Gt: 6}

// compare compares two numbers in every lane.
func (g *gen) compare(e *ir.Binary) []Reg {
	t := e.X.Type()
	x, y := g.vec(e.X), g.vec(e.Y)
	out := make([]Reg, g.unroll)
	g.each(func(u int) {
		if u > 0 && x[u] == x[0] && y[u] == y[0] {
			out[u] = out[0]
			return
		}
		out[u] = g.compareCopy(e, t, x[u], y[u])
	})
	return out
}

func (g *gen) compareCopy(e *ir.Binary, t *ir.Type, x, y Reg) Reg {
	w := g.width(t)
	if t.IsFloat() {
		op := VCMPPS
		if t.Kind == ir.Float64 {
			op = VCMPPD
		}
		m := g.newMask()
		g.op(op, w, RegArg(m), RegArg(x), RegArg(y), ImmArg(floatPredicates[e.Op]))
		return g.canonicalMask(m, int(t.Size))
	}
	if g.avx512 {
		m := g.mask()
		g.op(intCompareOp(t), w, RegArg(m), RegArg(x), RegArg(y), ImmArg(intPredicates[e.Op]))
		return m
	}
	return g.canonicalMask(g.compareAVX2(e.Op, t, x, y, w), container(t))
}

func intCompareOp(t *ir.Type) Op {
	switch {
	case container(t) == 8 && t.IsSigned():
		return VPCMPQ
	case container(t) == 8:
		return VPCMPUQ
	case t.IsSigned():
		return VPCMPD
	}
	return VPCMPUD
}

// compareAVX2 builds the six comparisons of equal and signed greater.
func (g *gen) compareAVX2(op ir.Op, t *ir.Type, x, y Reg, w Width) Reg {
	eq, gt, sign := VPCMPEQD, VPCMPGTD, g.constVector(1<<31, 4)
	if container(t) == 8 {
		eq, gt, sign = VPCMPEQQ, VPCMPGTQ, g.constVector(1<<63, 8)
	}
	r := g.vector()
	if op == ir.Eq || op == ir.Ne {
		g.op(eq, w, RegArg(r), RegArg(x), RegArg(y))
	} else {
		if !t.IsSigned() && t.Size >= 4 { // unsigned order is signed order with the top bit flipped
			fx, fy := g.vector(), g.vector()
			g.op(VPXOR, w, RegArg(fx), RegArg(x), RegArg(sign))
			g.op(VPXOR, w, RegArg(fy), RegArg(y), RegArg(sign))
			x, y = fx, fy
		}
		if op == ir.Lt || op == ir.Ge {
			x, y = y, x
		}
		g.op(gt, w, RegArg(r), RegArg(x), RegArg(y))
	}
	if op == ir.Ne || op == ir.Le || op == ir.Ge {
		n := g.vector()
		g.op(VPXOR, w, RegArg(n), RegArg(r), RegArg(g.allOnes(w)))
		return n
	}
	return r
}

// boolLoad loads a []bool in every lane.
func (g *gen) boolLoad(e ir.Expr) []Reg {
	bytes := g.load(e, ir.Uint8Type)
	zero := g.constVector(0, 4)
	out := make([]Reg, g.unroll)
	w := widthOf(g.lanes * 4)
	g.each(func(u int) {
		if g.avx512 {
			out[u] = g.mask()
			g.op(VPCMPD, w, RegArg(out[u]), RegArg(bytes[u]), RegArg(zero), ImmArg(4))
			return
		}
		out[u] = g.canonicalMask(g.compareAVX2(ir.Ne, ir.Int32Type, bytes[u], zero, w), 4)
	})
	return out
}
