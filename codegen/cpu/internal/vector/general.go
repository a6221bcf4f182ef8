package vector

import (
	"math/bits"

	"github.com/gompss/gompss/codegen/cpu/mach"
	"github.com/gompss/gompss/codegen/cpu/vcode"
	"github.com/gompss/gompss/codegen/ir"
)

func (g *Registers) AddConst(r vcode.Reg, c int64) {
	switch {
	case c == 0:
	case c == int64(int32(c)):
		g.Op(vcode.AddImm, vcode.W128, vcode.RegArg(r), vcode.ImmArg(c))
	default:
		g.Add(r, g.ConstGeneral(c))
	}
}

// Times sets d to x*c.
func (g *Registers) Times(d, x vcode.Reg, c int64) {
	if c == 1 {
		g.Move(d, x)
		return
	}
	g.MultiplyConst(d, x, c)
}

// ClampLength brings a length into the range of 32-bit indices: every index is below 2^31 anyway.
func (g *Registers) ClampLength(length vcode.Reg, size4 bool) vcode.Reg {
	if !size4 {
		return length
	}
	r := g.NewGeneral()
	limit := g.ConstGeneral(1<<31 - 1)
	g.Move(r, length)
	g.Compare(r, limit)
	g.MoveIf(mach.CondG, r, limit)
	return r
}

// DivideConst divides a number, which 64 bits with a sign hold, by a constant other than -1 to 1
// and the least.
//
// Source: as for divideByConst, figure 5.2, and for powers of two figure 5.1.
func (g *Registers) DivideConst(op ir.Op, x vcode.Reg, c int64) vcode.Reg {
	by := uint64(max(c, -c))
	log := bits.Len64(by - 1) // rounded up
	q, sign := g.NewGeneral(), g.NewGeneral()
	g.Move(sign, x)
	g.Op(vcode.ShiftRightSignedImm, vcode.W128, vcode.RegArg(sign), vcode.ImmArg(63))
	if by&(by-1) == 0 {
		g.ShiftRight(sign, int64(64-log)) // what rounds towards 0
		g.Move(q, sign)
		g.Add(q, x)
		g.Op(vcode.ShiftRightSignedImm, vcode.W128, vcode.RegArg(q), vcode.ImmArg(int64(log)))
	} else {
		m, _ := bits.Div64(1<<(log-1), 0, by)
		g.Copy(vcode.Acc, x)
		g.MultiplyHigh(g.ConstGeneral(int64(m + 1)))
		g.Copy(q, vcode.High)
		g.Add(q, x)
		g.Op(vcode.ShiftRightSignedImm, vcode.W128, vcode.RegArg(q), vcode.ImmArg(int64(log-1)))
		g.Subtract(q, sign)
	}
	if op == ir.Rem {
		p := g.ConstGeneral(int64(by))
		g.Multiply(p, q)
		rest := g.NewGeneral()
		g.Move(rest, x)
		g.Subtract(rest, p)
		return rest
	}
	if c < 0 {
		g.Negate(q)
	}
	return q
}

// Normalise brings r back into the range of a type narrower than 64 bits: wrap-around.
func (g *Registers) Normalise(r vcode.Reg, t *ir.Type) {
	switch t.Kind {
	case ir.Int8:
		g.Op(vcode.LoadI8, vcode.W128, vcode.RegArg(r), vcode.RegArg(r))
	case ir.Int16:
		g.Op(vcode.LoadI16, vcode.W128, vcode.RegArg(r), vcode.RegArg(r))
	case ir.Int32:
		g.Op(vcode.LoadI32, vcode.W128, vcode.RegArg(r), vcode.RegArg(r))
	case ir.Uint8:
		g.Op(vcode.LoadU8, vcode.W128, vcode.RegArg(r), vcode.RegArg(r))
	case ir.Uint16:
		g.Op(vcode.LoadU16, vcode.W128, vcode.RegArg(r), vcode.RegArg(r))
	case ir.Uint32:
		g.Op(vcode.LoadU32, vcode.W128, vcode.RegArg(r), vcode.RegArg(r)) // clears the upper half
	}
}

var GeneralOps = map[ir.Op]vcode.Op{ir.Add: vcode.Add, ir.Sub: vcode.Sub, ir.And: vcode.And, ir.Or: vcode.Or, ir.Xor: vcode.Xor, ir.Mul: vcode.Mul}

var GeneralImms = map[ir.Op]vcode.Op{ir.Add: vcode.AddImm, ir.Sub: vcode.SubImm, ir.And: vcode.AndImm, ir.Or: vcode.OrImm, ir.Xor: vcode.XorImm}

func (g *Registers) Divide(e *ir.Binary, x, y, r vcode.Reg) {
	g.Copy(vcode.Acc, x)
	if e.T.IsSigned() {
		g.DivideSigned(y)
	} else {
		g.DivideUnsigned(y, e.T.Size <= 4)
	}
	from := vcode.Acc
	if e.Op == ir.Rem {
		from = vcode.High
	}
	g.Copy(r, from)
}

var SignedConds = map[ir.Op]mach.Cond{ir.Eq: mach.CondE, ir.Ne: mach.CondNE, ir.Lt: mach.CondL, ir.Le: mach.CondLE, ir.Gt: mach.CondG, ir.Ge: mach.CondGE}

var UnsignedConds = map[ir.Op]mach.Cond{ir.Eq: mach.CondE, ir.Ne: mach.CondNE, ir.Lt: mach.CondB, ir.Le: mach.CondBE, ir.Gt: mach.CondA, ir.Ge: mach.CondAE}

func LoopCond(s *ir.For) mach.Cond {
	if s.Var.Type.IsSigned() {
		return SignedConds[s.Rel]
	}
	return UnsignedConds[s.Rel]
}

// Fits jumps to fail unless r is a small number: products of two such do not wrap.
func (g *Registers) Fits(r vcode.Reg, fail mach.Label) {
	low := g.NewGeneral()
	g.Op(vcode.LoadI32, vcode.W128, vcode.RegArg(low), vcode.RegArg(r))
	g.Compare(low, r)
	g.Jump(mach.CondNE, fail)
}

var CondMoves = map[mach.Cond]vcode.Op{mach.CondB: vcode.MoveBelow, mach.CondAE: vcode.MoveAboveEqual, mach.CondE: vcode.MoveEqual, mach.CondNE: vcode.MoveNotEqual, mach.CondBE: vcode.MoveBelowEqual, mach.CondA: vcode.MoveAbove, mach.CondL: vcode.MoveLess, mach.CondGE: vcode.MoveGreaterEqual, mach.CondLE: vcode.MoveLessEqual, mach.CondG: vcode.MoveGreater}

func (g *Registers) Product(x, y vcode.Reg) vcode.Reg {
	r := g.NewGeneral()
	g.Move(r, x)
	g.Multiply(r, y)
	return r
}

// AddTimes adds coef*x to d.
func (g *Registers) AddTimes(d, x vcode.Reg, coef int64) {
	if coef != 1 {
		y := g.NewGeneral()
		g.MultiplyConst(y, x, coef)
		x = y
	}
	g.Add(d, x)
}

// HasGeneral tells the operations of Apply.
func HasGeneral(op ir.Op) bool { return GeneralOps[op] != vcode.NoOp }

// Apply sets d to d op x, in 64 bits.
func (g *Registers) Apply(op ir.Op, d, x vcode.Reg) {
	g.Op(GeneralOps[op], vcode.W128, vcode.RegArg(d), vcode.RegArg(x))
}
