package vector

import (
	"math/bits"

	"github.com/gompss/gompss/codegen/cpu/mach"
	"github.com/gompss/gompss/codegen/cpu/x86"
	"github.com/gompss/gompss/codegen/ir"
)

func (g *Registers) AddConst(r x86.Reg, c int64) {
	switch {
	case c == 0:
	case c == int64(int32(c)):
		g.Op(x86.ADDQImm, x86.W128, x86.RegArg(r), x86.ImmArg(c))
	default:
		g.Add(r, g.ConstGeneral(c))
	}
}

// Times sets d to x*c.
func (g *Registers) Times(d, x x86.Reg, c int64) {
	if c == 1 {
		g.Move(d, x)
		return
	}
	g.MultiplyConst(d, x, c)
}

// ClampLength brings a length into the range of 32-bit indices: every index is below 2^31 anyway.
func (g *Registers) ClampLength(length x86.Reg, size4 bool) x86.Reg {
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
func (g *Registers) DivideConst(op ir.Op, x x86.Reg, c int64) x86.Reg {
	by := uint64(max(c, -c))
	log := bits.Len64(by - 1) // rounded up
	q, sign := g.NewGeneral(), g.NewGeneral()
	g.Move(sign, x)
	g.Op(x86.SARQ, x86.W128, x86.RegArg(sign), x86.ImmArg(63))
	if by&(by-1) == 0 {
		g.ShiftRight(sign, int64(64-log)) // what rounds towards 0
		g.Move(q, sign)
		g.Add(q, x)
		g.Op(x86.SARQ, x86.W128, x86.RegArg(q), x86.ImmArg(int64(log)))
	} else {
		m, _ := bits.Div64(1<<(log-1), 0, by)
		g.Copy(x86.AX, x)
		g.MultiplyHigh(g.ConstGeneral(int64(m + 1)))
		g.Copy(q, x86.DX)
		g.Add(q, x)
		g.Op(x86.SARQ, x86.W128, x86.RegArg(q), x86.ImmArg(int64(log-1)))
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
func (g *Registers) Normalise(r x86.Reg, t *ir.Type) {
	switch t.Kind {
	case ir.Int8:
		g.Op(x86.MOVBQSX, x86.W128, x86.RegArg(r), x86.RegArg(r))
	case ir.Int16:
		g.Op(x86.MOVWQSX, x86.W128, x86.RegArg(r), x86.RegArg(r))
	case ir.Int32:
		g.Op(x86.MOVLQSX, x86.W128, x86.RegArg(r), x86.RegArg(r))
	case ir.Uint8:
		g.Op(x86.MOVBLZX, x86.W128, x86.RegArg(r), x86.RegArg(r))
	case ir.Uint16:
		g.Op(x86.MOVWLZX, x86.W128, x86.RegArg(r), x86.RegArg(r))
	case ir.Uint32:
		g.Op(x86.MOVL, x86.W128, x86.RegArg(r), x86.RegArg(r)) // clears the upper half
	}
}

var GeneralOps = map[ir.Op]x86.Op{ir.Add: x86.ADDQ, ir.Sub: x86.SUBQ, ir.And: x86.ANDQ, ir.Or: x86.ORQ, ir.Xor: x86.XORQ, ir.Mul: x86.IMULQ}

var GeneralImms = map[ir.Op]x86.Op{ir.Add: x86.ADDQImm, ir.Sub: x86.SUBQImm, ir.And: x86.ANDQImm, ir.Or: x86.ORQImm, ir.Xor: x86.XORQImm}

func (g *Registers) Divide(e *ir.Binary, x, y, r x86.Reg) {
	g.Copy(x86.AX, x)
	if e.T.IsSigned() {
		g.DivideSigned(y)
	} else {
		g.DivideUnsigned(y, e.T.Size <= 4)
	}
	from := x86.AX
	if e.Op == ir.Rem {
		from = x86.DX
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
func (g *Registers) Fits(r x86.Reg, fail mach.Label) {
	low := g.NewGeneral()
	g.Op(x86.MOVLQSX, x86.W128, x86.RegArg(low), x86.RegArg(r))
	g.Compare(low, r)
	g.Jump(mach.CondNE, fail)
}

var CondMoves = map[mach.Cond]x86.Op{mach.CondB: x86.CMOVQCS, mach.CondAE: x86.CMOVQCC, mach.CondE: x86.CMOVQEQ, mach.CondNE: x86.CMOVQNE, mach.CondBE: x86.CMOVQLS, mach.CondA: x86.CMOVQHI, mach.CondL: x86.CMOVQLT, mach.CondGE: x86.CMOVQGE, mach.CondLE: x86.CMOVQLE, mach.CondG: x86.CMOVQGT}

func (g *Registers) Product(x, y x86.Reg) x86.Reg {
	r := g.NewGeneral()
	g.Move(r, x)
	g.Multiply(r, y)
	return r
}

// AddTimes adds coef*x to d.
func (g *Registers) AddTimes(d, x x86.Reg, coef int64) {
	if coef != 1 {
		y := g.NewGeneral()
		g.MultiplyConst(y, x, coef)
		x = y
	}
	g.Add(d, x)
}

// HasGeneral tells the operations of Apply.
func HasGeneral(op ir.Op) bool { return GeneralOps[op] != x86.NoOp }

// Apply sets d to d op x, in 64 bits.
func (g *Registers) Apply(op ir.Op, d, x x86.Reg) {
	g.Op(GeneralOps[op], x86.W128, x86.RegArg(d), x86.RegArg(x))
}
