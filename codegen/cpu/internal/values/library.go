package values

import (
	"math"

	"github.com/gompss/gompss/codegen/cpu/image"
	"github.com/gompss/gompss/codegen/cpu/internal/analysis"
	"github.com/gompss/gompss/codegen/cpu/internal/memory"
	"github.com/gompss/gompss/codegen/cpu/internal/protocol"
	"github.com/gompss/gompss/codegen/cpu/internal/vector"
	"github.com/gompss/gompss/codegen/cpu/vcode"
	"github.com/gompss/gompss/codegen/cpu/vecmath"
	"github.com/gompss/gompss/codegen/ir"
)

// Library evaluates functions in every lane.
type Library struct{ memory.Moves }

// vecPolynomial selects a function by polynomial; ok is false where it has none.
func (g *Library) vecPolynomial(dst []vcode.Reg, e *ir.Math) (out []vcode.Reg, ok bool) {
	s := g.Series(e.T)
	f := map[ir.MathFn]func(x vcode.Reg) vcode.Reg{
		ir.Exp:   func(x vcode.Reg) vcode.Reg { return s.Exp(x) },
		ir.Exp2:  func(x vcode.Reg) vcode.Reg { return s.Exp2(x) },
		ir.Log:   func(x vcode.Reg) vcode.Reg { return s.Log(x, math.Ln2, 1) },
		ir.Log2:  func(x vcode.Reg) vcode.Reg { return s.Log(x, 1, math.Log2E) },
		ir.Log10: func(x vcode.Reg) vcode.Reg { return s.Log(x, math.Log10E*math.Ln2, math.Log10E) },
		ir.Tanh:  s.Tanh,
		ir.Erf:   s.Erf,
	}[e.Fn]
	if f != nil || e.Fn == ir.Sin || e.Fn == ir.Cos || e.Fn == ir.Tan || e.Fn == ir.Pow {
		ulp, _ := vecmath.Bound(e.Fn, e.T)
		g.Note("%s of %s by polynomial, at most %g ulp", e.Fn, e.T, ulp)
	}
	if e.Fn == ir.Sin || e.Fn == ir.Cos || e.Fn == ir.Tan {
		return g.vecCircular(e), true
	}
	if e.Fn == ir.Pow {
		return g.vecPower(e), true
	}
	if f == nil {
		return nil, false
	}
	x := g.Vector(e.Args[0])
	return g.Lift(dst, x, x, func(d, x, _ vcode.Reg) { g.Move(d, f(x)) }), true
}

// product takes x*y apart, through a conversion that changes nothing.
func product(e ir.Expr) (*ir.Binary, bool) {
	b, ok := e.(*ir.Binary)
	return b, ok && b.Op == ir.Mul && b.T.IsFloat()
}

// fused makes a fused multiply-add of a sum with a product in it; nil where there is none. Only
// under fastmath.
func (g *Library) fused(dst []vcode.Reg, e *ir.Binary) []vcode.Reg {
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

// multiplyAdd is x*y + z in one operation, which takes the signs of the three in.
func (g *Library) multiplyAdd(dst []vcode.Reg, x, y, z ir.Expr) []vcode.Reg {
	x, minusX := unsigned(x)
	y, minusY := unsigned(y)
	z, minusZ := unsigned(z)
	op, w := vector.FusedOps[bit(minusX != minusY)][bit(minusZ)].Of(z.Type()), g.Width(z.Type())
	mem := g.foldable(y)
	if mem == nil {
		if m := g.foldable(x); m != nil {
			x, mem = y, m
		}
	}
	s, a := g.Vector(z), g.Vector(x)
	var b []vcode.Arg
	if mem != nil {
		b = mem()
	} else {
		b = vector.RegArgs(g.Vector(y))
	}
	acc := g.Accumulator(dst, s, z, a, b)
	g.Each(func(u int) { g.Op(op, w, vcode.RegArg(acc[u]), vcode.RegArg(a[u]), b[u]) })
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

// foldable returns a function that makes memory operands of e, or nil where e has to be loaded
// first: loads of neighbouring floats in full vectors.
func (g *Library) foldable(e ir.Expr) func() []vcode.Arg {
	ix, ok := e.(*ir.Index)
	if !ok || g.Exec != nil || !ix.Type().IsFloat() || !g.Fills(ix.Type()) {
		return nil
	}
	s := g.Shape(ix.I)
	if s.Kind != analysis.Affine || s.Stride != 1 || g.Shape(ix.X).Kind == analysis.Varying {
		return nil
	}
	return func() []vcode.Arg {
		t := g.Target(e)
		out := make([]vcode.Arg, g.Unroll)
		g.Each(func(u int) { out[u] = vcode.MemArg(g.CopyMem(t, u)) })
		return out
	}
}

// vecMath evaluates library functions that have vector instructions.
func (g *Library) vecMath(dst []vcode.Reg, e *ir.Math) []vcode.Reg {
	w := g.Width(e.T)
	one := func(f func(d, x vcode.Reg)) []vcode.Reg {
		x := g.Vector(e.Args[0])
		return g.Lift(dst, x, x, func(d, x, _ vcode.Reg) { f(d, x) })
	}
	switch e.Fn {
	case ir.Sqrt:
		return one(func(d, x vcode.Reg) {
			g.Op(vector.Pick(e.T, vcode.VSqrtF32, vcode.VSqrtF64), w, vcode.RegArg(d), vcode.RegArg(x))
		})
	case ir.Rsqrt:
		return g.rsqrt(dst, e)
	case ir.Abs:
		m := g.ConstVector(1<<(8*uint(e.T.Size)-1)-1, int(e.T.Size))
		return one(func(d, x vcode.Reg) { g.Op(vcode.VAndF32, w, vcode.RegArg(d), vcode.RegArg(x), vcode.RegArg(m)) })
	case ir.Floor, ir.Ceil, ir.Trunc, ir.RoundToEven:
		mode := map[ir.MathFn]int64{ir.Floor: 9, ir.Ceil: 10, ir.Trunc: 11, ir.RoundToEven: 8}[e.Fn]
		op := vector.Pick(e.T, vcode.VRoundF32, vcode.VRoundF64)
		if g.AVX512 {
			op = vector.Pick(e.T, vcode.VRoundScaleF32, vcode.VRoundScaleF64)
		}
		return one(func(d, x vcode.Reg) { g.Op(op, w, vcode.RegArg(d), vcode.RegArg(x), vcode.ImmArg(mode)) })
	case ir.FMA:
		return g.multiplyAdd(dst, e.Args[0], e.Args[1], e.Args[2])
	case ir.IMin, ir.IMax, ir.FMin, ir.FMax:
		return g.vecMinMax(e)
	case ir.Float32Bits, ir.Float32FromBits, ir.Float64Bits, ir.Float64FromBits:
		return g.Vector(e.Args[0])
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
func (g *Library) rsqrt(dst []vcode.Reg, e *ir.Math) []vcode.Reg {
	w, t := g.Width(e.T), e.T
	x := g.Vector(e.Args[0])
	one := g.ConstVector(map[int]uint64{4: uint64(math.Float32bits(1)), 8: math.Float64bits(1)}[int(t.Size)], int(t.Size))
	if !g.Kernel.Target.FastMath || !g.AVX512 && t.Size == 8 {
		return g.Lift(dst, x, x, func(d, x, _ vcode.Reg) {
			s := g.NewVector()
			g.Op(vector.Pick(t, vcode.VSqrtF32, vcode.VSqrtF64), w, vcode.RegArg(s), vcode.RegArg(x))
			g.Op(vector.Pick(t, vcode.VDivF32, vcode.VDivF64), w, vcode.RegArg(d), vcode.RegArg(one), vcode.RegArg(s))
		})
	}
	if g.ISA.InverseRoots() {
		return g.Lift(dst, x, x, func(d, x, _ vcode.Reg) { g.Op(vcode.VInverseSqrtF32, w, vcode.RegArg(d), vcode.RegArg(x)) })
	}
	estimate, steps := vcode.VRoughRecipSqrtF32, 1
	if g.AVX512 {
		estimate = vector.Pick(t, vcode.VRecipSqrtF32, vcode.VRecipSqrtF64)
	}
	if t.Size == 8 {
		steps = 2
	}
	half := g.ConstVector(map[int]uint64{4: uint64(math.Float32bits(0.5)), 8: math.Float64bits(0.5)}[int(t.Size)], int(t.Size))
	return g.Lift(dst, x, x, func(d, given, _ vcode.Reg) {
		x, small := given, vcode.NoReg
		s := g.SeriesOf(t, w)
		if !g.AVX512 { // the estimate takes subnormal numbers for 0: scale them
			small = s.CompareTo(given, s.At(math.Ldexp(1, -126)), vecmath.CmpLT)
			x = s.Copy(given)
			s.Choose(x, s.Mul(given, s.At(1<<24)), small)
		}
		y := g.NewVector()
		g.Op(estimate, w, vcode.RegArg(y), vcode.RegArg(x))
		for i := range steps { // y += y/2 * (1 - x*y*y)
			r, next := g.NewVector(), g.NewVector()
			if i == steps-1 && d != x && d != given {
				next = d
			}
			g.Op(vector.Pick(t, vcode.VMulF32, vcode.VMulF64), w, vcode.RegArg(r), vcode.RegArg(x), vcode.RegArg(y))
			g.Op(vector.Pick(t, vcode.VFusedNegScaleAddF32, vcode.VFusedNegScaleAddF64), w, vcode.RegArg(r), vcode.RegArg(y), vcode.RegArg(one))
			g.Op(vector.Pick(t, vcode.VMulF32, vcode.VMulF64), w, vcode.RegArg(next), vcode.RegArg(y), vcode.RegArg(half))
			g.Op(vector.Pick(t, vcode.VFusedScaleAddF32, vcode.VFusedScaleAddF64), w, vcode.RegArg(next), vcode.RegArg(r), vcode.RegArg(y))
			y = next
		}
		if !g.AVX512 {
			s.Choose(y, s.Mul(y, s.At(1<<12)), small)
		}
		g.RsqrtSpecials(y, given, t, w)
		g.Move(d, y)
	})
}

// vecMinMax follows Go: a NaN operand gives NaN, and -0 is below +0.
func (g *Library) vecMinMax(e *ir.Math) []vcode.Reg {
	w, t := g.Width(e.T), e.T
	acc := g.Vector(e.Args[0])
	for _, a := range e.Args[1:] {
		y := g.Vector(a)
		acc = g.Lift(nil, acc, y, func(d, x, y vcode.Reg) { g.MinMax(d, x, y, e.Fn == ir.IMin || e.Fn == ir.FMin, t, w) })
	}
	return acc
}

// inGo lets Go compute something of one or two numbers in the lanes that are on: what has no vector
// code, and where that of others does not reach. It is slow, some 10 ns a lane.
func (g *Library) inGo(e ir.Expr, eval func(x, y ir.Bits) (ir.Bits, error), operands ...ir.Expr) []vcode.Reg {
	s := image.Site{Kind: image.SiteLanes, Result: e.Type(), Eval: eval}
	var args [][]vcode.Reg
	for i, a := range operands {
		if i > 1 || !a.Type().IsScalar() || a.Type().Kind == ir.Bool {
			g.Refuse(e.Pos(), "%s has no vector form yet", ir.Source(e))
		}
		s.Args[i], s.Alike[i] = a.Type(), g.Shape(a).Kind == analysis.Uniform
		args = append(args, g.Vector(a))
	}
	if e.Type().Kind == ir.Bool {
		g.Refuse(e.Pos(), "%s has no vector form yet", ir.Source(e))
	}
	g.Note("%s at %s is computed by Go, lane by lane, some 10 ns each", ir.Source(e), e.Pos())
	n := g.NewSite(s)
	out := g.NewVectors(g.Unroll)
	one := g.Shape(e).Kind == analysis.Uniform
	for u := range g.Unroll {
		if one && u > 0 {
			out[u] = out[0]
			continue
		}
		var x [2]vcode.Reg
		for i := range args {
			x[i] = args[i][u]
		}
		var on vcode.Reg = vcode.NoReg
		if g.Exec != nil {
			on = g.Exec[u]
		}
		g.CallLanes(out[u], x[:len(args)], n, on, one)
	}
	return out
}

// mathInGo is inGo for a library function.
func (g *Library) mathInGo(e *ir.Math) []vcode.Reg { return g.inGo(e, protocol.FoldMath(e), e.Args...) }
