package simt

import (
	"math"

	"github.com/gompss/gompss/codegen/ir"
)

// narrow is the operation that cuts a 64-bit result to an integer type; there is none for 64-bit
// types.
var narrow = map[ir.Kind]op{ir.Int8: opExtS8, ir.Int16: opExtS16, ir.Int32: opExtS32, ir.Uint8: opExtU8,
	ir.Uint16: opExtU16, ir.Uint32: opExtU32}

// choice is the operation for an operator: on signed and unsigned integers and the floats. Those
// that can leave the range of a narrow type are cut.
type choice struct {
	signed, unsigned, f32, f64 op
	swap, cut                  bool
}

var choices = map[ir.Op]choice{
	ir.Add:    {opAdd, opAdd, opAddF32, opAddF64, false, true},
	ir.Sub:    {opSub, opSub, opSubF32, opSubF64, false, true},
	ir.Mul:    {opMul, opMul, opMulF32, opMulF64, false, true},
	ir.Div:    {opDivS, opDivU, opDivF32, opDivF64, false, true},
	ir.Rem:    {opRemS, opRemU, 0, 0, false, false},
	ir.And:    {opAnd, opAnd, 0, 0, false, false},
	ir.Or:     {opOr, opOr, 0, 0, false, false},
	ir.Xor:    {opXor, opXor, 0, 0, false, false},
	ir.AndNot: {opAndNot, opAndNot, 0, 0, false, false},
	ir.Shl:    {opShl, opShl, 0, 0, false, true},
	ir.Shr:    {opShrS, opShrU, 0, 0, false, false},
	ir.Eq:     {opEq, opEq, opEqF32, opEqF64, false, false},
	ir.Ne:     {opNe, opNe, opNeF32, opNeF64, false, false},
	ir.Lt:     {opLtS, opLtU, opLtF32, opLtF64, false, false},
	ir.Le:     {opLeS, opLeU, opLeF32, opLeF64, false, false},
	ir.Gt:     {opLtS, opLtU, opLtF32, opLtF64, true, false},
	ir.Ge:     {opLeS, opLeU, opLeF32, opLeF64, true, false},
}

func (c choice) of(t *ir.Type) op {
	switch {
	case t.Kind == ir.Float32:
		return c.f32
	case t.Kind == ir.Float64:
		return c.f64
	case t.IsSigned():
		return c.signed
	}
	return c.unsigned
}

func (c *code) cut(reg int32, t *ir.Type, at ir.Pos) {
	if o := narrow[t.Kind]; o != 0 {
		c.emit(at, nil, o, reg, reg, 0, 0)
	}
}

func (g *compiler) unary(dst int32, e *ir.Unary) {
	x, t := g.expr(e.X), e.X.Type()
	switch {
	case e.Op == ir.Not:
		g.emit(e.At, nil, opXor, dst, x, g.regs.constant(1), 0)
	case t.Kind == ir.Float32:
		g.emit(e.At, nil, opXor, dst, x, g.regs.constant(1<<31), 0)
	case t.Kind == ir.Float64:
		g.emit(e.At, nil, opXor, dst, x, g.regs.constant(1<<63), 0)
	case e.Op == ir.Com:
		g.emit(e.At, nil, opCom, dst, x, 0, 0)
		g.cut(dst, t, e.At)
	default:
		g.emit(e.At, nil, opNeg, dst, x, 0, 0)
		g.cut(dst, t, e.At)
	}
}

func (g *compiler) binary(dst int32, e *ir.Binary) {
	t := e.X.Type()
	switch {
	case e.Op == ir.LAnd || e.Op == ir.LOr:
		g.logic(dst, e)
		return
	case !t.IsScalar() && t.Kind != ir.Pointer:
		g.equal(dst, e)
		return
	case e.Op == ir.Add && t.Kind == ir.Int64:
		if m, ok := e.X.(*ir.Binary); ok && m.Op == ir.Mul {
			x, y, z := g.expr(m.X), g.expr(m.Y), g.expr(e.Y)
			g.emit(e.At, nil, opMulAdd, dst, x, y, int64(z))
			return
		}
	}
	x, y := g.expr(e.X), g.expr(e.Y)
	if yt := e.Y.Type(); (e.Op == ir.Shl || e.Op == ir.Shr) && yt.IsSigned() {
		if k, ok := e.Y.(*ir.Const); !ok || int64(k.Bits) < 0 {
			g.emit(e.At, e, opNegative, 0, y, 0, 0)
		}
	}
	c := choices[e.Op]
	if c.swap {
		x, y = y, x
	}
	g.emit(e.At, e, c.of(t), dst, x, y, 0)
	if c.cut {
		g.cut(dst, t, e.At)
	}
}

// logic computes && and ||, whose right side may not be evaluated.
func (g *compiler) logic(dst int32, e *ir.Binary) {
	g.into(dst, e.X)
	o := opJumpNot
	if e.Op == ir.LOr {
		o = opJumpIf
	}
	skip := g.emit(e.At, nil, o, 0, dst, 0, 0)
	g.into(dst, e.Y)
	g.here(skip)
}

// maxEqual bounds the parts of a value that can be compared with ==.
const maxEqual = 256

// equal compares structs, arrays, and slices with nil.
func (g *compiler) equal(dst int32, e *ir.Binary) {
	t := e.X.Type()
	x, y := g.locate(e.X), g.locate(e.Y)
	var skip []int
	a, b := g.regs.temp(1), g.regs.temp(1)
	i, n := int32(0), 0
	eachLeaf(t, 0, func(l leaf) {
		if n++; n > maxEqual {
			refuse(e.At, "== on a type with so many parts")
		}
		if t.Kind == ir.Slice && l.off > 0 {
			return
		}
		lt := &ir.Type{Kind: l.kind, Size: 8, Align: 8}
		g.mem.part(x, l, i, a, e.At)
		g.mem.part(y, l, i, b, e.At)
		g.emit(e.At, nil, choices[ir.Eq].of(lt), dst, a, b, 0)
		skip = append(skip, g.emit(e.At, nil, opJumpNot, 0, dst, 0, 0))
		i++
	})
	g.here(skip...)
	if e.Op == ir.Ne {
		g.emit(e.At, nil, opXor, dst, dst, g.regs.constant(1), 0)
	}
}

// part loads leaf l, number i, of the value at x.
func (m *mover) part(x location, l leaf, i, dst int32, at ir.Pos) {
	if !x.mem {
		m.move(dst, x.reg+i, 1, at)
		return
	}
	p := m.address(x, at)
	m.code.grain = min(m.code.grain, opSizes[loadOps[l.kind]])
	m.code.emit(at, x.site, loadOps[l.kind], dst, p, 0, l.off)
}

// keepsBits reports whether a conversion leaves the Bits as they are.
func keepsBits(to, from *ir.Type) bool {
	switch {
	case to.Kind == from.Kind:
		return true
	case to.IsFloat() || from.IsFloat() || !to.IsInteger():
		return false
	case to.Size == 8:
		return true
	}
	return from.Size < to.Size && (to.IsSigned() || !from.IsSigned())
}

func (g *compiler) convert(dst int32, e *ir.Convert) {
	to, from := e.T, e.X.Type()
	x := g.expr(e.X)
	switch {
	case keepsBits(to, from):
		g.mem.move(dst, x, leaves(to), e.At)
	case from.IsInteger() && to.IsInteger():
		g.emit(e.At, nil, narrow[to.Kind], dst, x, 0, 0)
	case from.IsSigned() && to.Kind == ir.Float32:
		g.emit(e.At, nil, opS64ToF32, dst, x, 0, 0)
	case from.IsSigned() && to.Kind == ir.Float64:
		g.emit(e.At, nil, opS64ToF64, dst, x, 0, 0)
	case from.Kind == ir.Float32 && to.Kind == ir.Float64:
		g.emit(e.At, nil, opF32ToF64, dst, x, 0, 0)
	case from.Kind == ir.Float64 && to.Kind == ir.Float32:
		g.emit(e.At, nil, opF64ToF32, dst, x, 0, 0)
	case from.Kind == ir.Float32 && to.Kind == ir.Int64:
		g.emit(e.At, nil, opF32ToS64, dst, x, 0, 0)
	case from.Kind == ir.Float64 && to.Kind == ir.Int64:
		g.emit(e.At, nil, opF64ToS64, dst, x, 0, 0)
	default:
		g.conversions = append(g.conversions, conversion{to, from})
		g.emit(e.At, nil, opConvert, dst, x, 0, int64(len(g.conversions)-1))
	}
}

func (g *compiler) math(dst int32, e *ir.Math) {
	t := e.Args[0].Type()
	if o, ok := mathOps[mathKey{e.Fn, t.Kind}]; ok {
		c := int32(0)
		x := g.expr(e.Args[0])
		if len(e.Args) > 1 {
			c = g.expr(e.Args[1])
		}
		g.emit(e.At, nil, o, dst, x, c, 0)
		return
	}
	if e.Fn == ir.Abs {
		mask := uint64(math.MaxInt64)
		if t.Kind == ir.Float32 {
			mask = math.MaxInt32
		}
		g.emit(e.At, nil, opAnd, dst, g.expr(e.Args[0]), g.regs.constant(mask), 0)
		return
	}
	args := g.regs.temp(3)
	for i, a := range e.Args {
		g.into(args+int32(i), a)
	}
	g.functions = append(g.functions, mathFunction(e.Fn, t, len(e.Args)))
	g.emit(e.At, nil, opMath, dst, args, 0, int64(len(g.functions)-1))
}

type mathKey struct {
	fn   ir.MathFn
	kind ir.Kind
}

var mathOps = map[mathKey]op{
	{ir.Sqrt, ir.Float32}: opSqrtF32, {ir.Sqrt, ir.Float64}: opSqrtF64,
	{ir.Rsqrt, ir.Float32}: opRsqrtF32, {ir.Rsqrt, ir.Float64}: opRsqrtF64,
	{ir.IMin, ir.Int64}: opMinS, {ir.IMin, ir.Int32}: opMinS, {ir.IMax, ir.Int64}: opMaxS, {ir.IMax, ir.Int32}: opMaxS,
}

func mathFunction(fn ir.MathFn, t *ir.Type, args int) func(x, y, z ir.Bits) ir.Bits {
	switch args {
	case 1:
		return func(x, _, _ ir.Bits) ir.Bits { return ir.FoldMath(fn, t, x) }
	case 2:
		return func(x, y, _ ir.Bits) ir.Bits { return ir.FoldMath(fn, t, x, y) }
	}
	return func(x, y, z ir.Bits) ir.Bits { return ir.FoldMath(fn, t, x, y, z) }
}

// jumps are the comparisons of integers that jump, with what they are when they fail.
var jumps = map[op]struct{ yes, no op }{
	opEq: {opJumpEq, opJumpNe}, opNe: {opJumpNe, opJumpEq}, opLtS: {opJumpLtS, opJumpLeS}, opLeS: {opJumpLeS, opJumpLtS},
	opLtU: {opJumpLtU, opJumpLeU}, opLeU: {opJumpLeU, opJumpLtU},
}

// jumpIf emits jumps that are taken when cond is sense; the caller points them to their target.
func (g *compiler) jumpIf(cond ir.Expr, sense bool) []int {
	switch e := cond.(type) {
	case *ir.Unary:
		return g.jumpIf(e.X, !sense)
	case *ir.Binary:
		if e.Op == ir.LAnd || e.Op == ir.LOr {
			return g.jumpLogic(e, sense)
		}
		if t := e.X.Type(); t.IsInteger() || t.Kind == ir.Pointer || t.Kind == ir.Bool {
			return []int{g.jumpCompare(e, sense)}
		}
	}
	o := opJumpIf
	if !sense {
		o = opJumpNot
	}
	return []int{g.emit(cond.Pos(), nil, o, 0, g.expr(cond), 0, 0)}
}

func (g *compiler) jumpUnless(cond ir.Expr) []int { return g.jumpIf(cond, false) }

func (g *compiler) jumpLogic(e *ir.Binary, sense bool) []int {
	if (e.Op == ir.LOr) == sense { // either side alone decides for the jump
		first := g.jumpIf(e.X, sense)
		return append(first, g.jumpIf(e.Y, sense)...)
	}
	skip := g.jumpIf(e.X, !sense)
	taken := g.jumpIf(e.Y, sense)
	g.here(skip...)
	return taken
}

func (g *compiler) jumpCompare(e *ir.Binary, sense bool) int {
	c := choices[e.Op]
	x, y := g.expr(e.X), g.expr(e.Y)
	if c.swap {
		x, y = y, x
	}
	compare := c.of(e.X.Type())
	j := jumps[compare]
	o := j.yes
	if !sense {
		o = j.no
		if compare != opEq && compare != opNe {
			x, y = y, x // not x < y is y <= x
		}
	}
	return g.emit(e.At, nil, o, 0, x, y, 0)
}
