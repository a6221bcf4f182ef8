package cpu

import (
	"math"

	"github.com/gompss/gompss/codegen/cpu/image"
	"github.com/gompss/gompss/codegen/cpu/internal/analysis"
	"github.com/gompss/gompss/codegen/cpu/mach"
	"github.com/gompss/gompss/codegen/cpu/prepare"
	"github.com/gompss/gompss/codegen/cpu/x86"
	"github.com/gompss/gompss/codegen/ir"
)

// gp evaluates a uniform integer, bool or pointer, or the value in lane 0 of an affine integer,
// into a general register. The result may be a variable's own register: it is not to be changed.
func (g *gen) gp(e ir.Expr) x86.Reg {
	switch e := e.(type) {
	case *ir.Const:
		return g.constGeneral(int64(e.Bits))
	case *ir.Ref:
		h := g.home(e.Var, e.At)
		if h.gp == x86.NoReg {
			g.refuse(e.At, "%s is used where one value for all lanes is needed", e.Var.Name)
		}
		return h.gp
	case *ir.Unary:
		return g.gpUnary(e)
	case *ir.Binary:
		return g.gpBinary(e)
	case *ir.Convert:
		return g.gpConvert(e)
	case *ir.Len:
		return g.sliceOf(e.X).length
	case *ir.Index, *ir.Member:
		return g.gpLoad(e)
	case *ir.Math:
		return g.gpMath(e)
	case *ir.Query:
		return g.gpQuery(e)
	case *ir.Apart:
		return g.boolGeneral(e)
	case *ir.Select:
		r, other, end := g.NewGeneral(), g.NewLabel(), g.NewLabel()
		g.branch(e.Cond, false, other)
		g.move(r, g.gp(e.X))
		g.Jump(mach.Always, end)
		g.Place(other)
		g.move(r, g.gp(e.Y))
		g.Place(end)
		return r
	}
	g.refuse(e.Pos(), "%s has no form for lanes", ir.Source(e))
	return x86.NoReg
}

func (g *gen) gpUnary(e *ir.Unary) x86.Reg {
	if e.Op == ir.Not {
		return g.boolGeneral(e)
	}
	r := g.NewGeneral()
	g.move(r, g.gp(e.X))
	op := x86.NEGQ
	if e.Op == ir.Com {
		op = x86.NOTQ
	}
	g.Op(op, x86.W128, x86.RegArg(r))
	g.normalise(r, e.Type())
	return r
}

// normalise brings r back into the range of a type narrower than 64 bits: wrap-around.
func (g *gen) normalise(r x86.Reg, t *ir.Type) {
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

var generalOps = map[ir.Op]x86.Op{ir.Add: x86.ADDQ, ir.Sub: x86.SUBQ, ir.And: x86.ANDQ, ir.Or: x86.ORQ, ir.Xor: x86.XORQ, ir.Mul: x86.IMULQ}

var generalImms = map[ir.Op]x86.Op{ir.Add: x86.ADDQImm, ir.Sub: x86.SUBQImm, ir.And: x86.ANDQImm, ir.Or: x86.ORQImm, ir.Xor: x86.XORQImm}

func (g *gen) gpBinary(e *ir.Binary) x86.Reg {
	if e.T.Kind == ir.Bool {
		return g.boolGeneral(e)
	}
	if e.Op == prepare.Within {
		g.checkWithin(e)
		return g.indexValue(analysis.LinearOf(e.X))
	}
	if op, ok := generalOps[e.Op]; ok {
		if x, ok := analysis.OtherOperand(e); ok {
			return g.gp(x)
		}
		r := g.NewGeneral()
		if g.single && g.timesAndMore(r, e) {
			g.normalise(r, e.T)
			return r
		}
		g.move(r, g.gp(e.X))
		c, isConst := ir.ConstInt(e.Y)
		if imm := generalImms[e.Op]; isConst && imm != x86.NoOp && c == int64(int32(c)) {
			g.Op(imm, x86.W128, x86.RegArg(r), x86.ImmArg(c))
		} else if isConst && g.single && c != int64(int32(c)) {
			g.Op(op, x86.W128, x86.RegArg(r), x86.MemArg(x86.Mem{Base: x86.RIP, Index: x86.NoReg, Disp: int32(g.PoolWord(uint64(c), 8))}))
		} else {
			g.Op(op, x86.W128, x86.RegArg(r), x86.RegArg(g.gp(e.Y)))
		}
		g.normalise(r, e.T)
		return r
	}
	switch e.Op {
	case ir.AndNot:
		r, y := g.NewGeneral(), g.NewGeneral()
		g.move(y, g.gp(e.Y))
		g.Op(x86.NOTQ, x86.W128, x86.RegArg(y))
		g.move(r, g.gp(e.X))
		g.Op(x86.ANDQ, x86.W128, x86.RegArg(r), x86.RegArg(y))
		return r
	case ir.Shl, ir.Shr:
		return g.gpShift(e)
	case ir.Div, ir.Rem:
		return g.gpDivide(e)
	}
	g.refuse(e.At, "operator %s on integers is not supported yet", e.Op)
	return x86.NoReg
}

func (g *gen) gpShift(e *ir.Binary) x86.Reg {
	c, ok := ir.ConstInt(e.Y)
	if !ok || c < 0 {
		return g.gpShiftBy(e)
	}
	r := g.NewGeneral()
	g.move(r, g.gp(e.X))
	op := x86.SHLQ
	switch {
	case e.Op == ir.Shr && e.T.IsSigned():
		op, c = x86.SARQ, min(c, 63)
	case e.Op == ir.Shr:
		op = x86.SHRQ
	}
	if c > 63 {
		g.setGeneral(r, 0)
		return r
	}
	g.Op(op, x86.W128, x86.RegArg(r), x86.ImmArg(c))
	g.normalise(r, e.T)
	return r
}

// gpShiftBy shifts by a count in a register: past the width, nothing but the sign is left.
func (g *gen) gpShiftBy(e *ir.Binary) x86.Reg {
	x, n, r := g.gp(e.X), g.gp(e.Y), g.NewGeneral()
	if e.Y.Type().IsSigned() && e.Checked {
		g.Op(x86.TESTQ, x86.W128, x86.RegArg(n), x86.RegArg(n))
		g.failIf(mach.CondL, ir.CountCheck, e)
	}
	limit := g.constGeneral(63)
	count := g.NewGeneral()
	g.move(count, n)
	g.Op(x86.CMPQ, x86.W128, x86.RegArg(count), x86.RegArg(limit))
	if e.Op == ir.Shr && e.T.IsSigned() {
		g.Op(x86.CMOVQHI, x86.W128, x86.RegArg(count), x86.RegArg(limit))
		g.Op(x86.SARXQ, x86.W128, x86.RegArg(r), x86.RegArg(x), x86.RegArg(count))
		return r
	}
	zero := g.constGeneral(0) // no flags
	from := g.NewGeneral()
	g.move(from, x)
	g.Op(x86.CMOVQHI, x86.W128, x86.RegArg(from), x86.RegArg(zero))
	op := x86.SHLXQ
	if e.Op == ir.Shr {
		op = x86.SHRXQ
	}
	g.Op(op, x86.W128, x86.RegArg(r), x86.RegArg(from), x86.RegArg(count))
	g.normalise(r, e.T)
	return r
}

// failIf ends the launch where the flags say k: the second operand of e fails a check.
func (g *gen) failIf(k mach.Cond, check ir.CheckKind, e *ir.Binary) {
	n := g.arithSite(check, e)
	g.Jump(k, g.outOfLine(func() {
		g.Op(x86.MOVQImm, x86.W128, x86.RegArg(x86.CX), x86.ImmArg(int64(n)))
		g.Op(x86.MOVQStore, x86.W128, blockWord(image.WordStatus), x86.RegArg(x86.CX))
		g.Return()
	}))
}

// gpDivide divides. The instruction faults for a divisor of 0, which is an error, and for the least
// integer by -1, which is avoided.
func (g *gen) gpDivide(e *ir.Binary) x86.Reg {
	x, r := g.gp(e.X), g.NewGeneral()
	if c, ok := ir.ConstInt(e.Y); ok && c != 0 && c != -1 {
		if c == 1 || c == math.MinInt64 || e.T.Size == 8 && !e.T.IsSigned() {
			g.divide(e, x, g.constGeneral(c), r)
			return r
		}
		return g.gpDivideConst(e.Op, x, c)
	}
	y := g.gp(e.Y)
	end := g.NewLabel()
	g.Op(x86.TESTQ, x86.W128, x86.RegArg(y), x86.RegArg(y))
	g.failIf(mach.CondE, ir.DivisorCheck, e)
	if e.T.IsSigned() {
		plain := g.NewLabel()
		g.Op(x86.CMPQImm8, x86.W128, x86.RegArg(y), x86.ImmArg(-1))
		g.Jump(mach.CondNE, plain)
		g.setGeneral(r, 0)
		if e.Op == ir.Div {
			g.Op(x86.SUBQ, x86.W128, x86.RegArg(r), x86.RegArg(x))
			g.normalise(r, e.T)
		}
		g.Jump(mach.Always, end)
		g.Place(plain)
	}
	g.divide(e, x, y, r)
	g.Place(end)
	return r
}

func (g *gen) divide(e *ir.Binary, x, y, r x86.Reg) {
	g.Op(x86.MOVQStore, x86.W128, x86.RegArg(x86.AX), x86.RegArg(x))
	if e.T.IsSigned() {
		g.DivideSigned(y)
	} else {
		g.DivideUnsigned(y, e.T.Size <= 4)
	}
	from := x86.AX
	if e.Op == ir.Rem {
		from = x86.DX
	}
	g.Op(x86.MOVQStore, x86.W128, x86.RegArg(r), x86.RegArg(from))
}

func (g *gen) gpConvert(e *ir.Convert) x86.Reg {
	from := e.X.Type()
	if from.IsFloat() {
		return g.firstLane(g.vecConvert(nil, e)[0], e.T)
	}
	x := g.gp(e.X)
	if e.T.Size >= from.Size && (e.T.Size == 8 || e.T.IsSigned() == from.IsSigned()) {
		return x
	}
	r := g.NewGeneral()
	g.move(r, x)
	g.normalise(r, e.T)
	return r
}

// firstLane is an integer in lane 0 of v.
func (g *gen) firstLane(v x86.Reg, t *ir.Type) x86.Reg {
	r := g.NewGeneral()
	if container(t) == 8 {
		g.Op(x86.VMOVQStore, x86.W128, x86.RegArg(r), x86.RegArg(v))
		return r
	}
	g.Op(x86.VMOVDStore, x86.W128, x86.RegArg(r), x86.RegArg(v))
	g.normalise(r, t)
	return r
}

func (g *gen) gpMath(e *ir.Math) x86.Reg {
	if e.T.Kind == ir.Bool {
		return g.boolGeneral(e)
	}
	if e.Fn != ir.IMin && e.Fn != ir.IMax {
		return g.firstLane(g.vecMath(nil, e)[0], e.T)
	}
	r := g.NewGeneral()
	g.move(r, g.gp(e.Args[0]))
	for _, a := range e.Args[1:] {
		y := g.gp(a)
		g.Op(x86.CMPQ, x86.W128, x86.RegArg(r), x86.RegArg(y))
		switch {
		case e.Fn == ir.IMin && e.T.IsSigned():
			g.Op(x86.CMOVQGT, x86.W128, x86.RegArg(r), x86.RegArg(y))
		case e.Fn == ir.IMin:
			g.Op(x86.CMOVQHI, x86.W128, x86.RegArg(r), x86.RegArg(y))
		case e.T.IsSigned():
			g.Op(x86.CMOVQLT, x86.W128, x86.RegArg(r), x86.RegArg(y))
		default:
			g.Op(x86.CMOVQCS, x86.W128, x86.RegArg(r), x86.RegArg(y))
		}
	}
	return r
}

// gpQuery answers as the run of one team of one thread does.
func (g *gen) gpQuery(e *ir.Query) x86.Reg {
	switch e.What {
	case ir.NumThreads, ir.NumTeams:
		return g.constGeneral(1)
	}
	return g.constGeneral(0)
}

// gpLoad loads a uniform integer or bool from memory.
func (g *gen) gpLoad(e ir.Expr) x86.Reg {
	m := g.scalarAddress(e)
	r := g.NewGeneral()
	op := x86.MOVQ
	switch e.Type().Kind {
	case ir.Bool, ir.Uint8:
		op = x86.MOVBLZX
	case ir.Int8:
		op = x86.MOVBQSX
	case ir.Int16:
		op = x86.MOVWQSX
	case ir.Uint16:
		op = x86.MOVWLZX
	case ir.Int32:
		op = x86.MOVLQSX
	case ir.Uint32:
		op = x86.MOVL
	case ir.Int64, ir.Uint64:
	default:
		g.refuse(e.Pos(), "loading a %s as one value is not supported yet", e.Type())
	}
	g.Op(op, x86.W128, x86.RegArg(r), x86.MemArg(m))
	return r
}

// boolGeneral makes 0 or 1 of a uniform condition.
func (g *gen) boolGeneral(e ir.Expr) x86.Reg {
	r := g.NewGeneral()
	done := g.NewLabel()
	g.setGeneral(r, 0)
	g.branch(e, false, done)
	g.setGeneral(r, 1)
	g.Place(done)
	return r
}

var signedConds = map[ir.Op]mach.Cond{ir.Eq: mach.CondE, ir.Ne: mach.CondNE, ir.Lt: mach.CondL, ir.Le: mach.CondLE, ir.Gt: mach.CondG, ir.Ge: mach.CondGE}

var unsignedConds = map[ir.Op]mach.Cond{ir.Eq: mach.CondE, ir.Ne: mach.CondNE, ir.Lt: mach.CondB, ir.Le: mach.CondBE, ir.Gt: mach.CondA, ir.Ge: mach.CondAE}

// branch jumps to the label when the uniform condition e has the value when.
func (g *gen) branch(e ir.Expr, when bool, to mach.Label) {
	switch e := e.(type) {
	case *ir.Const:
		if (e.Bits != 0) == when {
			g.Jump(mach.Always, to)
		}
		return
	case *ir.Unary:
		g.branch(e.X, !when, to)
		return
	case *ir.Binary:
		if g.branchBinary(e, when, to) {
			return
		}
	case *ir.Apart:
		g.branchApart(e, when, to)
		return
	case *ir.Math:
		g.maskBits(x86.AX, g.boolMath(e)[0])
		g.Op(x86.ANDQImm8, x86.W128, x86.RegArg(x86.AX), x86.ImmArg(1))
		g.Jump(map[bool]mach.Cond{true: mach.CondNE, false: mach.CondE}[when], to)
		return
	}
	r := g.gp(e)
	g.Op(x86.TESTQ, x86.W128, x86.RegArg(r), x86.RegArg(r))
	if when {
		g.Jump(mach.CondNE, to)
	} else {
		g.Jump(mach.CondE, to)
	}
}

func (g *gen) branchBinary(e *ir.Binary, when bool, to mach.Label) bool {
	switch e.Op {
	case ir.LAnd, ir.LOr:
		if (e.Op == ir.LAnd) == when { // both must agree: the first can only rule out
			skip := g.NewLabel()
			g.branch(e.X, !when, skip)
			g.branch(e.Y, when, to)
			g.Place(skip)
		} else {
			g.branch(e.X, when, to)
			g.branch(e.Y, when, to)
		}
		return true
	}
	k, ok := signedConds[e.Op]
	if !ok {
		return false
	}
	if e.X.Type().IsFloat() {
		g.branchFloat(e, when, to)
		return true
	}
	if e.X.Type().IsInteger() && !e.X.Type().IsSigned() {
		k = unsignedConds[e.Op]
	}
	x := g.gp(e.X)
	if c, isConst := ir.ConstInt(e.Y); isConst && c == int64(int32(c)) {
		g.Op(x86.CMPQImm, x86.W128, x86.RegArg(x), x86.ImmArg(c))
	} else {
		g.Op(x86.CMPQ, x86.W128, x86.RegArg(x), x86.RegArg(g.gp(e.Y)))
	}
	if !when {
		k = k.Not()
	}
	g.Jump(k, to)
	return true
}

// branchApart asks whether one slice ends before the other begins.
func (g *gen) branchApart(e *ir.Apart, when bool, to mach.Label) {
	yes, no := to, g.NewLabel()
	if !when {
		yes, no = no, to
	}
	x, y := g.sliceOf(e.X), g.sliceOf(e.Y)
	before := func(a, b *home, size int64) {
		end := g.NewGeneral()
		g.Op(x86.IMUL3Q, x86.W128, x86.RegArg(end), x86.RegArg(a.length), x86.ImmArg(size))
		g.Op(x86.ADDQ, x86.W128, x86.RegArg(end), x86.RegArg(a.gp))
		g.Op(x86.CMPQ, x86.W128, x86.RegArg(end), x86.RegArg(b.gp))
		g.Jump(mach.CondBE, yes)
	}
	before(x, y, int64(e.X.Type().Elem.Size))
	before(y, x, int64(e.Y.Type().Elem.Size))
	g.Jump(mach.Always, no)
	if when {
		g.Place(no)
	} else {
		g.Place(yes)
	}
}

// branchFloat compares the first lanes of two uniform floats.
func (g *gen) branchFloat(e *ir.Binary, when bool, to mach.Label) {
	m := g.compare(e)[0]
	g.maskBits(x86.AX, m)
	g.Op(x86.ANDQImm8, x86.W128, x86.RegArg(x86.AX), x86.ImmArg(1))
	if when {
		g.Jump(mach.CondNE, to)
	} else {
		g.Jump(mach.CondE, to)
	}
}
