package cpu

import (
	"math"

	"github.com/gompss/gompss/codegen/cpu/internal/analysis"
	"github.com/gompss/gompss/codegen/cpu/mach"
	"github.com/gompss/gompss/codegen/cpu/prepare"
	"github.com/gompss/gompss/codegen/cpu/x86"
	"github.com/gompss/gompss/codegen/ir"
)

// Masks are mask registers with AVX-512 and vectors with AVX2, there in one canonical lane size:
// bytes/lanes.

func (g *gen) newMask() x86.Reg {
	if g.avx512 {
		return g.NewMask()
	}
	return g.NewVector()
}

func (g *gen) maskLane() int { return g.bytes / g.lanes }

func (g *gen) maskOp(k, v x86.Op, x, y x86.Reg) x86.Reg {
	r := g.newMask()
	if g.avx512 {
		g.Op(k, x86.W128, x86.RegArg(r), x86.RegArg(x), x86.RegArg(y))
	} else {
		g.Op(v, widthOf(g.bytes), x86.RegArg(r), x86.RegArg(x), x86.RegArg(y))
	}
	return r
}

func (g *gen) maskAnd(x, y x86.Reg) x86.Reg { return g.maskOp(x86.KANDW, x86.VPAND, x, y) }

func (g *gen) maskOr(x, y x86.Reg) x86.Reg { return g.maskOp(x86.KORW, x86.VPOR, x, y) }

func (g *gen) maskXor(x, y x86.Reg) x86.Reg { return g.maskOp(x86.KXORW, x86.VPXOR, x, y) }

// maskAndNot is y and not x.
func (g *gen) maskAndNot(x, y x86.Reg) x86.Reg { return g.maskOp(x86.KANDNW, x86.VPANDN, x, y) }

func (g *gen) maskMove(dst, src x86.Reg) {
	if dst == src {
		return
	}
	if g.avx512 {
		g.Op(x86.KMOVW, x86.W128, x86.RegArg(dst), x86.RegArg(src))
	} else {
		g.Op(x86.VMOVUPSStore, widthOf(g.bytes), x86.RegArg(dst), x86.RegArg(src))
	}
}

// maskAll is the mask of all lanes.
func (g *gen) maskAll() x86.Reg {
	if !g.avx512 {
		return g.allOnes(widthOf(g.bytes))
	}
	m := g.NewMask()
	g.Op(x86.MOVQImm, x86.W128, x86.RegArg(x86.CX), x86.ImmArg(1<<g.lanes-1))
	g.Op(x86.KMOVDSet, x86.W128, x86.RegArg(m), x86.RegArg(x86.CX))
	return m
}

func (g *gen) maskNone() x86.Reg {
	m := g.newMask()
	if g.avx512 {
		g.Op(x86.XORQ, x86.W128, x86.RegArg(x86.CX), x86.RegArg(x86.CX))
		g.Op(x86.KMOVDSet, x86.W128, x86.RegArg(m), x86.RegArg(x86.CX))
	} else {
		g.Op(x86.VPXOR, widthOf(g.bytes), x86.RegArg(m), x86.RegArg(g.undefined(m)), x86.RegArg(m))
	}
	return m
}

// undefined tells the liveness analysis that r is defined here, for the idiom x xor x.
func (g *gen) undefined(r x86.Reg) x86.Reg {
	g.Op(x86.VMOVUPSStore, x86.W128, x86.RegArg(r), x86.RegArg(x86.V(15)))
	return r
}

// allOnes is a vector of ones.
func (g *gen) allOnes(w x86.Width) x86.Reg {
	return g.ConstVector(1<<64-1, 8)
}

// maskBits puts one bit a lane into a general register.
func (g *gen) maskBits(dst, m x86.Reg) {
	switch {
	case g.avx512:
		g.Op(x86.KMOVWGet, x86.W128, x86.RegArg(dst), x86.RegArg(m))
	case g.maskLane() == 8:
		g.Op(x86.VMOVMSKPD, widthOf(g.bytes), x86.RegArg(dst), x86.RegArg(m))
	default:
		g.Op(x86.VMOVMSKPS, widthOf(g.bytes), x86.RegArg(dst), x86.RegArg(m))
	}
}

// anyLane sets the zero flag when no lane of any copy is on.
func (g *gen) anyLane(masks []x86.Reg) {
	m := masks[0]
	for _, n := range masks[1:] {
		if n != m {
			m = g.maskOr(m, n)
		}
	}
	if g.avx512 {
		g.Op(x86.KORTESTW, x86.W128, x86.RegArg(m), x86.RegArg(m))
		return
	}
	g.Op(x86.VPTEST, widthOf(g.bytes), x86.RegArg(m), x86.RegArg(m))
}

// prefixMask turns on the first n lanes (n in a general register, at least 0).
func (g *gen) prefixMask(n x86.Reg) x86.Reg {
	if g.avx512 {
		m := g.NewMask()
		g.Op(x86.MOVQImm, x86.W128, x86.RegArg(x86.CX), x86.ImmArg(1<<g.lanes-1))
		g.Op(x86.BZHIQ, x86.W128, x86.RegArg(x86.CX), x86.RegArg(x86.CX), x86.RegArg(n))
		g.Op(x86.KMOVDSet, x86.W128, x86.RegArg(m), x86.RegArg(x86.CX))
		return m
	}
	size := g.maskLane()
	w := widthOf(g.bytes)
	b, m := g.NewVector(), g.NewVector()
	g.broadcastGeneral(b, n, size, w)
	op := x86.VPCMPGTD
	if size == 8 {
		op = x86.VPCMPGTQ
	}
	g.Op(op, w, x86.RegArg(m), x86.RegArg(b), x86.RegArg(g.iotaVector(1, size)))
	return m
}

// canonicalMask converts an AVX2 mask with lanes of size bytes to the canonical lane size.
func (g *gen) canonicalMask(m x86.Reg, size int) x86.Reg {
	if g.avx512 || size == g.maskLane() {
		return m
	}
	r := g.NewVector()
	if size < g.maskLane() {
		g.Op(x86.VPMOVSXDQ, x86.W256, x86.RegArg(r), x86.RegArg(m))
		return r
	}
	return g.narrowMask(m)
}

// narrowMask halves 8-byte lanes to 4 bytes.
func (g *gen) narrowMask(m x86.Reg) x86.Reg {
	high, r := g.NewVector(), g.NewVector()
	g.Op(x86.VEXTRACTF128, x86.W256, x86.RegArg(high), x86.RegArg(m), x86.ImmArg(1))
	g.Op(x86.VSHUFPS, x86.W128, x86.RegArg(r), x86.RegArg(m), x86.RegArg(high), x86.ImmArg(0x88))
	return r
}

// maskFor is the mask in the lane size of values of t, for AVX2.
func (g *gen) maskFor(m x86.Reg, t *ir.Type) x86.Reg {
	if g.avx512 || container(t) == g.maskLane() {
		return m
	}
	return g.narrowMask(m)
}

// blend sets dst to src in the lanes of m.
func (g *gen) blend(dst, src, m x86.Reg, t *ir.Type) {
	w := g.width(t)
	if g.avx512 {
		op := x86.VMOVUPSStore
		if container(t) == 8 {
			op = x86.VMOVUPDStore
		}
		g.Emit(x86.I(op, w, x86.RegArg(dst), x86.RegArg(src)).Masked(m, false))
		return
	}
	g.Op(x86.VPBLENDVB, w, x86.RegArg(dst), x86.RegArg(dst), x86.RegArg(src), x86.RegArg(g.maskFor(m, t)))
}

// broadcastGeneral fills a vector with a general register.
func (g *gen) broadcastGeneral(dst, src x86.Reg, size int, w x86.Width) {
	switch {
	case g.avx512 && size == 8:
		g.Op(x86.VPBROADCASTQR, w, x86.RegArg(dst), x86.RegArg(src))
	case g.avx512:
		g.Op(x86.VPBROADCASTDR, w, x86.RegArg(dst), x86.RegArg(src))
	case size == 8:
		g.Op(x86.VMOVQ, x86.W128, x86.RegArg(dst), x86.RegArg(src))
		g.Op(x86.VPBROADCASTQ, w, x86.RegArg(dst), x86.RegArg(dst))
	default:
		g.Op(x86.VMOVD, x86.W128, x86.RegArg(dst), x86.RegArg(src))
		g.Op(x86.VPBROADCASTD, w, x86.RegArg(dst), x86.RegArg(dst))
	}
}

// masksOf evaluates a condition in every lane. A uniform condition gives masks that are all or
// none.
func (g *gen) masksOf(e ir.Expr) []x86.Reg {
	if g.shape(e).Kind == analysis.Uniform {
		return g.uniformMask(e)
	}
	switch e := e.(type) {
	case *ir.Ref:
		return g.home(e.Var, e.At).masks
	case *ir.Unary:
		return g.notMasks(g.masksOf(e.X))
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

// selectMasks evaluates each side only in the lanes that take it.
func (g *gen) selectMasks(e *ir.Select) []x86.Reg {
	c := g.masksOf(e.Cond)
	out := make([]x86.Reg, g.unroll)
	g.each(func(u int) { out[u] = g.maskNone() })
	g.under(c, e.X, func() {
		x := g.masksOf(e.X)
		g.each(func(u int) { g.maskMove(out[u], g.maskAnd(c[u], x[u])) })
	})
	g.under(g.notMasks(c), e.Y, func() {
		y := g.masksOf(e.Y)
		g.each(func(u int) { g.maskMove(out[u], g.maskOr(out[u], g.maskAndNot(c[u], y[u]))) })
	})
	return out
}

// boolMath asks of what kind a float is.
func (g *gen) boolMath(e *ir.Math) []x86.Reg {
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
	sign := func(op ir.Op) ir.Expr { return compare(op, e.Args[1], ir.IntConst(0, e.At)) }
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

func (g *gen) mapMasks(in []x86.Reg, f func(x86.Reg) x86.Reg) []x86.Reg {
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

func (g *gen) equalMasks(e *ir.Binary) []x86.Reg {
	x, y := g.masksOf(e.X), g.masksOf(e.Y)
	out := make([]x86.Reg, g.unroll)
	g.each(func(u int) {
		out[u] = g.maskXor(x[u], y[u])
		if e.Op == ir.Eq {
			out[u] = g.maskXor(out[u], g.maskAll())
		}
	})
	return out
}

// shortCircuit evaluates the right side only in the lanes where the left does not decide.
func (g *gen) shortCircuit(e *ir.Binary, and bool) []x86.Reg {
	x := g.masksOf(e.X)
	out, undecided := make([]x86.Reg, g.unroll), x
	if !and {
		undecided = g.notMasks(x)
	}
	g.each(func(u int) { out[u] = g.copyMask(x[u]) })
	g.under(undecided, e.Y, func() {
		y := g.masksOf(e.Y)
		g.each(func(u int) {
			if and {
				g.maskMove(out[u], g.maskAnd(x[u], y[u]))
			} else {
				g.maskMove(out[u], g.maskOr(x[u], y[u]))
			}
		})
	})
	return out
}

// under evaluates e in the lanes of masks, and steps over it where there are none and e would touch
// memory or fail: what it sets must have a value before.
func (g *gen) under(masks []x86.Reg, e ir.Expr, evaluate func()) {
	exec, split := g.exec, g.split
	none, jumps := g.NewLabel(), prepare.MayFail(e)
	g.narrow(masks)
	if jumps {
		g.anyLane(g.exec)
		g.Jump(mach.CondE, none)
	}
	evaluate()
	if jumps {
		g.Place(none)
	}
	g.exec, g.split = exec, split
}

func (g *gen) notMasks(masks []x86.Reg) []x86.Reg {
	return g.mapMasks(masks, func(m x86.Reg) x86.Reg { return g.maskXor(m, g.maskAll()) })
}

func (g *gen) copyMask(m x86.Reg) x86.Reg {
	r := g.newMask()
	g.maskMove(r, m)
	return r
}

// narrow turns off the lanes outside masks.
func (g *gen) narrow(masks []x86.Reg) {
	next := make([]x86.Reg, g.unroll)
	g.each(func(u int) {
		next[u] = masks[u]
		if g.exec != nil {
			next[u] = g.maskAnd(g.exec[u], masks[u])
		}
	})
	g.exec, g.split = next, true
}

func (g *gen) uniformMask(e ir.Expr) []x86.Reg {
	r := g.newMask()
	none := g.NewLabel()
	g.maskMove(r, g.maskNone())
	g.branch(e, false, none)
	g.maskMove(r, g.maskAll())
	g.Place(none)
	return g.same(r)
}

// Predicates of VCMPPS: ordered and quiet, as Go compares floats; != is true for NaN.
var floatPredicates = map[ir.Op]int64{ir.Eq: 0x00, ir.Lt: 0x11, ir.Le: 0x12, ir.Ne: 0x04, ir.Ge: 0x1D, ir.Gt: 0x1E}

// Predicates of VPCMPD.
var intPredicates = map[ir.Op]int64{ir.Eq: 0, ir.Lt: 1, ir.Le: 2, ir.Ne: 4, ir.Ge: 5, ir.Gt: 6}

// compare compares two numbers in every lane.
func (g *gen) compare(e *ir.Binary) []x86.Reg {
	t := e.X.Type()
	x, y := g.vec(e.X), g.vec(e.Y)
	out := make([]x86.Reg, g.unroll)
	g.each(func(u int) {
		if u > 0 && x[u] == x[0] && y[u] == y[0] {
			out[u] = out[0]
			return
		}
		out[u] = g.compareCopy(e, t, x[u], y[u])
	})
	return out
}

func (g *gen) compareCopy(e *ir.Binary, t *ir.Type, x, y x86.Reg) x86.Reg {
	w := g.width(t)
	if t.IsFloat() {
		op := x86.VCMPPS
		if t.Kind == ir.Float64 {
			op = x86.VCMPPD
		}
		m := g.newMask()
		g.Op(op, w, x86.RegArg(m), x86.RegArg(x), x86.RegArg(y), x86.ImmArg(floatPredicates[e.Op]))
		return g.canonicalMask(m, int(t.Size))
	}
	if g.avx512 {
		m := g.NewMask()
		g.Op(intCompareOp(t), w, x86.RegArg(m), x86.RegArg(x), x86.RegArg(y), x86.ImmArg(intPredicates[e.Op]))
		return m
	}
	return g.canonicalMask(g.compareAVX2(e.Op, t, x, y, w), container(t))
}

func intCompareOp(t *ir.Type) x86.Op {
	switch {
	case container(t) == 8 && t.IsSigned():
		return x86.VPCMPQ
	case container(t) == 8:
		return x86.VPCMPUQ
	case t.IsSigned():
		return x86.VPCMPD
	}
	return x86.VPCMPUD
}

// compareAVX2 builds the six comparisons of equal and signed greater.
func (g *gen) compareAVX2(op ir.Op, t *ir.Type, x, y x86.Reg, w x86.Width) x86.Reg {
	eq, gt, sign := x86.VPCMPEQD, x86.VPCMPGTD, g.ConstVector(1<<31, 4)
	if container(t) == 8 {
		eq, gt, sign = x86.VPCMPEQQ, x86.VPCMPGTQ, g.ConstVector(1<<63, 8)
	}
	r := g.NewVector()
	if op == ir.Eq || op == ir.Ne {
		g.Op(eq, w, x86.RegArg(r), x86.RegArg(x), x86.RegArg(y))
	} else {
		if !t.IsSigned() && t.Size >= 4 { // unsigned order is signed order with the top bit flipped
			fx, fy := g.NewVector(), g.NewVector()
			g.Op(x86.VPXOR, w, x86.RegArg(fx), x86.RegArg(x), x86.RegArg(sign))
			g.Op(x86.VPXOR, w, x86.RegArg(fy), x86.RegArg(y), x86.RegArg(sign))
			x, y = fx, fy
		}
		if op == ir.Lt || op == ir.Ge {
			x, y = y, x
		}
		g.Op(gt, w, x86.RegArg(r), x86.RegArg(x), x86.RegArg(y))
	}
	if op == ir.Ne || op == ir.Le || op == ir.Ge {
		n := g.NewVector()
		g.Op(x86.VPXOR, w, x86.RegArg(n), x86.RegArg(r), x86.RegArg(g.allOnes(w)))
		return n
	}
	return r
}

// boolLoad loads a []bool in every lane.
func (g *gen) boolLoad(e ir.Expr) []x86.Reg {
	bytes := g.load(e, ir.Uint8Type)
	zero := g.ConstVector(0, 4)
	out := make([]x86.Reg, g.unroll)
	w := widthOf(g.lanes * 4)
	g.each(func(u int) {
		if g.avx512 {
			out[u] = g.NewMask()
			g.Op(x86.VPCMPD, w, x86.RegArg(out[u]), x86.RegArg(bytes[u]), x86.RegArg(zero), x86.ImmArg(4))
			return
		}
		out[u] = g.canonicalMask(g.compareAVX2(ir.Ne, ir.Int32Type, bytes[u], zero, w), 4)
	})
	return out
}
