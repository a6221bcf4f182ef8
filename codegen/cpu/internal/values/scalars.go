package values

import (
	"math"

	"github.com/gompss/gompss/codegen/cpu/internal/analysis"
	"github.com/gompss/gompss/codegen/cpu/internal/memory"
	"github.com/gompss/gompss/codegen/cpu/internal/vector"
	"github.com/gompss/gompss/codegen/cpu/mach"
	"github.com/gompss/gompss/codegen/cpu/prepare"
	"github.com/gompss/gompss/codegen/cpu/x86"
	"github.com/gompss/gompss/codegen/ir"
)

// Scalars evaluate numbers that are the same in all lanes, in general registers.
type Scalars struct{ Conditions }

// New adds expressions to memory. Values must be set to what evaluates them.
func New(m memory.Moves) Scalars { return Scalars{Conditions{Numbers{Library: Library{m}}}} }

// General evaluates a uniform integer, bool or pointer, or the value in lane 0 of an affine
// integer, into a general register. The result may be a variable's own register: it is not to be
// changed.
func (g *Scalars) General(e ir.Expr) x86.Reg {
	switch e := e.(type) {
	case *ir.Const:
		return g.ConstGeneral(int64(e.Bits))
	case *ir.Ref:
		h := g.Home(e.Var, e.At)
		if h.General == x86.NoReg {
			g.Refuse(e.At, "%s is used where one value for all lanes is needed", e.Var.Name)
		}
		return h.General
	case *ir.Unary:
		return g.gpUnary(e)
	case *ir.Binary:
		return g.gpBinary(e)
	case *ir.Convert:
		return g.gpConvert(e)
	case *ir.Len:
		return g.SliceOf(e.X).Length
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
		g.Branch(e.Cond, false, other)
		g.Move(r, g.General(e.X))
		g.Jump(mach.Always, end)
		g.Place(other)
		g.Move(r, g.General(e.Y))
		g.Place(end)
		return r
	}
	g.Refuse(e.Pos(), "%s has no form for lanes", ir.Source(e))
	return x86.NoReg
}

func (g *Scalars) gpUnary(e *ir.Unary) x86.Reg {
	if e.Op == ir.Not {
		return g.boolGeneral(e)
	}
	r := g.NewGeneral()
	g.Move(r, g.General(e.X))
	op := x86.NEGQ
	if e.Op == ir.Com {
		op = x86.NOTQ
	}
	g.Op(op, x86.W128, x86.RegArg(r))
	g.Normalise(r, e.Type())
	return r
}

func (g *Scalars) gpBinary(e *ir.Binary) x86.Reg {
	if e.T.Kind == ir.Bool {
		return g.boolGeneral(e)
	}
	if e.Op == prepare.Within {
		g.CheckWithin(e)
		return g.IndexValue(analysis.LinearOf(e.X))
	}
	if op, ok := vector.GeneralOps[e.Op]; ok {
		if x, ok := analysis.OtherOperand(e); ok {
			return g.General(x)
		}
		r := g.NewGeneral()
		if g.Single && g.timesAndMore(r, e) {
			g.Normalise(r, e.T)
			return r
		}
		g.Move(r, g.General(e.X))
		c, isConst := ir.ConstInt(e.Y)
		if imm := vector.GeneralImms[e.Op]; isConst && imm != x86.NoOp && c == int64(int32(c)) {
			g.Op(imm, x86.W128, x86.RegArg(r), x86.ImmArg(c))
		} else if isConst && g.Single && c != int64(int32(c)) {
			g.Op(op, x86.W128, x86.RegArg(r), x86.MemArg(x86.Mem{Base: x86.RIP, Index: x86.NoReg, Disp: int32(g.PoolWord(uint64(c), 8))}))
		} else {
			g.Op(op, x86.W128, x86.RegArg(r), x86.RegArg(g.General(e.Y)))
		}
		g.Normalise(r, e.T)
		return r
	}
	switch e.Op {
	case ir.AndNot:
		r, y := g.NewGeneral(), g.NewGeneral()
		g.Move(y, g.General(e.Y))
		g.Op(x86.NOTQ, x86.W128, x86.RegArg(y))
		g.Move(r, g.General(e.X))
		g.Op(x86.ANDQ, x86.W128, x86.RegArg(r), x86.RegArg(y))
		return r
	case ir.Shl, ir.Shr:
		return g.gpShift(e)
	case ir.Div, ir.Rem:
		return g.gpDivide(e)
	}
	g.Refuse(e.At, "operator %s on integers is not supported yet", e.Op)
	return x86.NoReg
}

func (g *Scalars) gpShift(e *ir.Binary) x86.Reg {
	c, ok := ir.ConstInt(e.Y)
	if !ok || c < 0 {
		return g.gpShiftBy(e)
	}
	r := g.NewGeneral()
	g.Move(r, g.General(e.X))
	op := x86.SHLQ
	switch {
	case e.Op == ir.Shr && e.T.IsSigned():
		op, c = x86.SARQ, min(c, 63)
	case e.Op == ir.Shr:
		op = x86.SHRQ
	}
	if c > 63 {
		g.SetGeneral(r, 0)
		return r
	}
	g.Op(op, x86.W128, x86.RegArg(r), x86.ImmArg(c))
	g.Normalise(r, e.T)
	return r
}

// gpShiftBy shifts by a count in a register: past the width, nothing but the sign is left.
func (g *Scalars) gpShiftBy(e *ir.Binary) x86.Reg {
	x, n, r := g.General(e.X), g.General(e.Y), g.NewGeneral()
	if e.Y.Type().IsSigned() && e.Checked {
		g.Test(n)
		g.FailIf(mach.CondL, ir.CountCheck, e)
	}
	limit := g.ConstGeneral(63)
	count := g.NewGeneral()
	g.Move(count, n)
	g.Compare(count, limit)
	if e.Op == ir.Shr && e.T.IsSigned() {
		g.MoveIf(mach.CondA, count, limit)
		g.Op(x86.SARXQ, x86.W128, x86.RegArg(r), x86.RegArg(x), x86.RegArg(count))
		return r
	}
	zero := g.ConstGeneral(0) // no flags
	from := g.NewGeneral()
	g.Move(from, x)
	g.MoveIf(mach.CondA, from, zero)
	op := x86.SHLXQ
	if e.Op == ir.Shr {
		op = x86.SHRXQ
	}
	g.Op(op, x86.W128, x86.RegArg(r), x86.RegArg(from), x86.RegArg(count))
	g.Normalise(r, e.T)
	return r
}

// gpDivide divides. The instruction faults for a divisor of 0, which is an error, and for the least
// integer by -1, which is avoided.
func (g *Scalars) gpDivide(e *ir.Binary) x86.Reg {
	x, r := g.General(e.X), g.NewGeneral()
	if c, ok := ir.ConstInt(e.Y); ok && c != 0 && c != -1 {
		if c == 1 || c == math.MinInt64 || e.T.Size == 8 && !e.T.IsSigned() {
			g.Divide(e, x, g.ConstGeneral(c), r)
			return r
		}
		return g.DivideConst(e.Op, x, c)
	}
	y := g.General(e.Y)
	end := g.NewLabel()
	g.Test(y)
	g.FailIf(mach.CondE, ir.DivisorCheck, e)
	if e.T.IsSigned() {
		plain := g.NewLabel()
		g.Op(x86.CMPQImm8, x86.W128, x86.RegArg(y), x86.ImmArg(-1))
		g.Jump(mach.CondNE, plain)
		g.SetGeneral(r, 0)
		if e.Op == ir.Div {
			g.Subtract(r, x)
			g.Normalise(r, e.T)
		}
		g.Jump(mach.Always, end)
		g.Place(plain)
	}
	g.Divide(e, x, y, r)
	g.Place(end)
	return r
}

func (g *Scalars) gpConvert(e *ir.Convert) x86.Reg {
	from := e.X.Type()
	if from.IsFloat() {
		return g.FirstLane(g.vecConvert(nil, e)[0], e.T)
	}
	x := g.General(e.X)
	if e.T.Size >= from.Size && (e.T.Size == 8 || e.T.IsSigned() == from.IsSigned()) {
		return x
	}
	r := g.NewGeneral()
	g.Move(r, x)
	g.Normalise(r, e.T)
	return r
}

func (g *Scalars) gpMath(e *ir.Math) x86.Reg {
	if e.T.Kind == ir.Bool {
		return g.boolGeneral(e)
	}
	if e.Fn != ir.IMin && e.Fn != ir.IMax {
		return g.FirstLane(g.vecMath(nil, e)[0], e.T)
	}
	r := g.NewGeneral()
	g.Move(r, g.General(e.Args[0]))
	for _, a := range e.Args[1:] {
		y := g.General(a)
		g.Compare(r, y)
		switch {
		case e.Fn == ir.IMin && e.T.IsSigned():
			g.MoveIf(mach.CondG, r, y)
		case e.Fn == ir.IMin:
			g.MoveIf(mach.CondA, r, y)
		case e.T.IsSigned():
			g.MoveIf(mach.CondL, r, y)
		default:
			g.MoveIf(mach.CondB, r, y)
		}
	}
	return r
}

// gpQuery answers as the run of one team of one thread does.
func (g *Scalars) gpQuery(e *ir.Query) x86.Reg {
	switch e.What {
	case ir.NumThreads, ir.NumTeams:
		return g.ConstGeneral(1)
	}
	return g.ConstGeneral(0)
}

// gpLoad loads a uniform integer or bool from memory.
func (g *Scalars) gpLoad(e ir.Expr) x86.Reg {
	m := g.ScalarAddress(e)
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
		g.Refuse(e.Pos(), "loading a %s as one value is not supported yet", e.Type())
	}
	g.Op(op, x86.W128, x86.RegArg(r), x86.MemArg(m))
	return r
}

// boolGeneral makes 0 or 1 of a uniform condition.
func (g *Scalars) boolGeneral(e ir.Expr) x86.Reg {
	r := g.NewGeneral()
	done := g.NewLabel()
	g.SetGeneral(r, 0)
	g.Branch(e, false, done)
	g.SetGeneral(r, 1)
	g.Place(done)
	return r
}

// AddressOnce is the address of a checked element, for several instructions.
func (g *Scalars) AddressOnce(place ir.Expr) x86.Mem {
	m := g.ScalarAddress(place)
	if m.Index == x86.NoReg {
		return m
	}
	r := g.NewGeneral()
	g.AddressOf(r, m)
	return x86.At(r, 0)
}

// BitsOf are the bits of a value, in a general register.
func (g *Scalars) BitsOf(e ir.Expr, t *ir.Type) x86.Reg {
	if !t.IsFloat() {
		return g.General(e)
	}
	r := g.NewGeneral()
	op := x86.VMOVDStore
	if t.Size == 8 {
		op = x86.VMOVQStore
	}
	g.Op(op, x86.W128, x86.RegArg(r), x86.RegArg(g.Vector(e)[0]))
	return r
}

// GeneralOutside evaluates a bound of the lanes loop, where no lane variable exists yet.
func (g *Scalars) GeneralOutside(e ir.Expr) x86.Reg {
	old := g.Shapes
	g.Shapes = nil
	defer func() { g.Shapes = old }()
	return g.General(e)
}

// Trips is the number of iterations, in a fresh register: zero or less when there are none.
func (g *Scalars) Trips(s *ir.For, lo x86.Reg, step int64) x86.Reg {
	n := g.NewGeneral()
	hi := g.GeneralOutside(s.Hi)
	size := step
	if step > 0 {
		g.Move(n, hi)
		g.Subtract(n, lo)
	} else {
		g.Move(n, lo)
		g.Subtract(n, hi)
		size = -step
	}
	if s.Rel == ir.Le || s.Rel == ir.Ge {
		g.AddConst(n, 1)
	}
	if size == 1 {
		return n
	}
	// (n + size - 1) / size, for n > 0; n <= 0 stays at most zero with truncation
	g.AddConst(n, size-1)
	d := g.ConstGeneral(size)
	g.Copy(x86.AX, n)
	g.DivideSigned(d)
	r := g.NewGeneral()
	g.Copy(r, x86.AX)
	return r
}

// timesAndMore computes x*3, x*5 and x*9, and that with a constant added, as an address.
func (g *Scalars) timesAndMore(r x86.Reg, e *ir.Binary) bool {
	disp := int64(0)
	if c, ok := ir.ConstInt(e.Y); ok && e.Op == ir.Add && c == int64(int32(c)) {
		disp = c
		if e, ok = e.X.(*ir.Binary); !ok || e.T.Size < 8 {
			return false
		}
	}
	if e.Op != ir.Mul {
		return false
	}
	c, x := int64(0), e.X
	if v, ok := ir.ConstInt(e.Y); ok {
		c = v
	} else if v, ok := ir.ConstInt(e.X); ok {
		c, x = v, e.Y
	}
	if c != 3 && c != 5 && c != 9 {
		return false
	}
	v := g.General(x)
	g.AddressOf(r, x86.Indexed(v, v, uint8(c-1), int32(disp)))
	return true
}

// GeneralLow evaluates an integer of which only the bits of its type matter.
func (g *Scalars) GeneralLow(e ir.Expr) x86.Reg {
	if !g.Single || e.Type().Size == 8 {
		return g.General(e)
	}
	switch e := e.(type) {
	case *ir.Convert:
		if from := e.X.Type(); from.IsInteger() && from.Size >= e.T.Size {
			return g.GeneralLow(e.X)
		}
	case *ir.Binary:
		if op, ok := vector.GeneralOps[e.Op]; ok && e.T.IsInteger() && e.T.Kind != ir.Bool {
			r := g.NewGeneral()
			g.Move(r, g.GeneralLow(e.X))
			g.Op(op, x86.W128, x86.RegArg(r), x86.RegArg(g.GeneralLow(e.Y)))
			return r
		}
	}
	return g.General(e)
}
