package values

import (
	"math"

	"github.com/gompss/gompss/codegen/cpu/internal/analysis"
	"github.com/gompss/gompss/codegen/cpu/internal/memory"
	"github.com/gompss/gompss/codegen/cpu/internal/vector"
	"github.com/gompss/gompss/codegen/cpu/mach"
	"github.com/gompss/gompss/codegen/cpu/prepare"
	"github.com/gompss/gompss/codegen/cpu/vcode"
	"github.com/gompss/gompss/codegen/ir"
)

// Scalars evaluate numbers that are the same in all lanes, in general registers.
type Scalars struct{ Conditions }

// New adds expressions to memory. Values must be set to what evaluates them.
func New(m memory.Moves) Scalars { return Scalars{Conditions{Numbers{Library: Library{m}}}} }

// General evaluates a uniform integer, bool or pointer, or the value in lane 0 of an affine
// integer, into a general register. The result may be a variable's own register: it is not to be
// changed.
func (g *Scalars) General(e ir.Expr) vcode.Reg {
	switch e := e.(type) {
	case *ir.Const:
		return g.ConstGeneral(int64(e.Bits))
	case *ir.Ref:
		h := g.Home(e.Var, e.At)
		if h.General == vcode.NoReg {
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
	return vcode.NoReg
}

func (g *Scalars) gpUnary(e *ir.Unary) vcode.Reg {
	if e.Op == ir.Not {
		return g.boolGeneral(e)
	}
	r := g.NewGeneral()
	g.Move(r, g.General(e.X))
	op := vcode.Negate
	if e.Op == ir.Com {
		op = vcode.Not
	}
	g.Op(op, vcode.W128, vcode.RegArg(r))
	g.Normalise(r, e.Type())
	return r
}

func (g *Scalars) gpBinary(e *ir.Binary) vcode.Reg {
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
		if imm := vector.GeneralImms[e.Op]; isConst && imm != vcode.NoOp && c == int64(int32(c)) {
			g.Op(imm, vcode.W128, vcode.RegArg(r), vcode.ImmArg(c))
		} else if isConst && g.Single && c != int64(int32(c)) {
			g.Op(op, vcode.W128, vcode.RegArg(r), vcode.MemArg(vcode.Mem{Base: vcode.PoolBase, Index: vcode.NoReg, Disp: int32(g.PoolWord(uint64(c), 8))}))
		} else {
			g.Op(op, vcode.W128, vcode.RegArg(r), vcode.RegArg(g.General(e.Y)))
		}
		g.Normalise(r, e.T)
		return r
	}
	switch e.Op {
	case ir.AndNot:
		r, y := g.NewGeneral(), g.NewGeneral()
		g.Move(y, g.General(e.Y))
		g.Op(vcode.Not, vcode.W128, vcode.RegArg(y))
		g.Move(r, g.General(e.X))
		g.Op(vcode.And, vcode.W128, vcode.RegArg(r), vcode.RegArg(y))
		return r
	case ir.Shl, ir.Shr:
		return g.gpShift(e)
	case ir.Div, ir.Rem:
		return g.gpDivide(e)
	}
	g.Refuse(e.At, "operator %s on integers is not supported yet", e.Op)
	return vcode.NoReg
}

func (g *Scalars) gpShift(e *ir.Binary) vcode.Reg {
	c, ok := ir.ConstInt(e.Y)
	if !ok || c < 0 {
		return g.gpShiftBy(e)
	}
	r := g.NewGeneral()
	g.Move(r, g.General(e.X))
	op := vcode.ShiftLeftImm
	switch {
	case e.Op == ir.Shr && e.T.IsSigned():
		op, c = vcode.ShiftRightSignedImm, min(c, 63)
	case e.Op == ir.Shr:
		op = vcode.ShiftRightImm
	}
	if c > 63 {
		g.SetGeneral(r, 0)
		return r
	}
	g.Op(op, vcode.W128, vcode.RegArg(r), vcode.ImmArg(c))
	g.Normalise(r, e.T)
	return r
}

// gpShiftBy shifts by a count in a register: past the width, nothing but the sign is left.
func (g *Scalars) gpShiftBy(e *ir.Binary) vcode.Reg {
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
		g.Op(vcode.ShiftRightSigned, vcode.W128, vcode.RegArg(r), vcode.RegArg(x), vcode.RegArg(count))
		return r
	}
	zero := g.ConstGeneral(0) // no flags
	from := g.NewGeneral()
	g.Move(from, x)
	g.MoveIf(mach.CondA, from, zero)
	op := vcode.ShiftLeft
	if e.Op == ir.Shr {
		op = vcode.ShiftRight
	}
	g.Op(op, vcode.W128, vcode.RegArg(r), vcode.RegArg(from), vcode.RegArg(count))
	g.Normalise(r, e.T)
	return r
}

// gpDivide divides. The instruction faults for a divisor of 0, which is an error, and for the least
// integer by -1, which is avoided.
func (g *Scalars) gpDivide(e *ir.Binary) vcode.Reg {
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
		g.Op(vcode.CompareImm8, vcode.W128, vcode.RegArg(y), vcode.ImmArg(-1))
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

func (g *Scalars) gpConvert(e *ir.Convert) vcode.Reg {
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

func (g *Scalars) gpMath(e *ir.Math) vcode.Reg {
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
func (g *Scalars) gpQuery(e *ir.Query) vcode.Reg {
	switch e.What {
	case ir.NumThreads, ir.NumTeams:
		return g.ConstGeneral(1)
	}
	return g.ConstGeneral(0)
}

// gpLoad loads a uniform integer or bool from memory.
func (g *Scalars) gpLoad(e ir.Expr) vcode.Reg {
	m := g.ScalarAddress(e)
	r := g.NewGeneral()
	op := vcode.Load64
	switch e.Type().Kind {
	case ir.Bool, ir.Uint8:
		op = vcode.LoadU8
	case ir.Int8:
		op = vcode.LoadI8
	case ir.Int16:
		op = vcode.LoadI16
	case ir.Uint16:
		op = vcode.LoadU16
	case ir.Int32:
		op = vcode.LoadI32
	case ir.Uint32:
		op = vcode.LoadU32
	case ir.Int64, ir.Uint64:
	default:
		g.Refuse(e.Pos(), "loading a %s as one value is not supported yet", e.Type())
	}
	g.Op(op, vcode.W128, vcode.RegArg(r), vcode.MemArg(m))
	return r
}

// boolGeneral makes 0 or 1 of a uniform condition.
func (g *Scalars) boolGeneral(e ir.Expr) vcode.Reg {
	r := g.NewGeneral()
	done := g.NewLabel()
	g.SetGeneral(r, 0)
	g.Branch(e, false, done)
	g.SetGeneral(r, 1)
	g.Place(done)
	return r
}

// AddressOnce is the address of a checked element, for several instructions.
func (g *Scalars) AddressOnce(place ir.Expr) vcode.Mem {
	m := g.ScalarAddress(place)
	if m.Index == vcode.NoReg {
		return m
	}
	r := g.NewGeneral()
	g.AddressOf(r, m)
	return vcode.At(r, 0)
}

// BitsOf are the bits of a value, in a general register.
func (g *Scalars) BitsOf(e ir.Expr, t *ir.Type) vcode.Reg {
	if !t.IsFloat() {
		return g.General(e)
	}
	r := g.NewGeneral()
	op := vcode.VGetI32
	if t.Size == 8 {
		op = vcode.VGetI64
	}
	g.Op(op, vcode.W128, vcode.RegArg(r), vcode.RegArg(g.Vector(e)[0]))
	return r
}

// GeneralOutside evaluates a bound of the lanes loop, where no lane variable exists yet.
func (g *Scalars) GeneralOutside(e ir.Expr) vcode.Reg {
	old := g.Shapes
	g.Shapes = nil
	defer func() { g.Shapes = old }()
	return g.General(e)
}

// Trips is the number of iterations, in a fresh register: zero or less when there are none, and
// ir.MostTrips where there are more.
func (g *Scalars) Trips(s *ir.For, lo vcode.Reg, step int64) vcode.Reg {
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
	inclusive := s.Rel == ir.Le || s.Rel == ir.Ge
	if inclusive {
		g.AddConst(n, 1)
	}
	if mayWrap(s) { // the difference of bounds of which the first is behind the last may look positive
		from, to := lo, hi
		if step < 0 {
			from, to = hi, lo
		}
		none := mach.CondGE
		switch unsigned := s.Var.Type.Kind == ir.Uint64; {
		case unsigned && inclusive:
			none = mach.CondA
		case unsigned:
			none = mach.CondAE
		case inclusive:
			none = mach.CondG
		}
		many := g.ConstGeneral(ir.MostTrips)
		g.Compare(n, many) // of a width past the greatest int64 too
		g.MoveIf(mach.CondA, n, many)
		zero := g.ConstGeneral(0)
		g.Compare(from, to)
		g.MoveIf(none, n, zero)
	}
	if size == 1 {
		return n
	}
	// (n + size - 1) / size, for n > 0; n <= 0 stays at most zero with truncation
	g.AddConst(n, size-1)
	d := g.ConstGeneral(size)
	g.Copy(vcode.Acc, n)
	g.DivideSigned(d)
	r := g.NewGeneral()
	g.Copy(r, vcode.Acc)
	return r
}

// mayWrap reports whether the difference of the bounds of s may leave 64 bits.
func mayWrap(s *ir.For) bool {
	if !ir.IsWide(s.Var.Type) {
		return false
	}
	if c, ok := ir.ConstInt(s.Lo); ok && c == 0 && s.Var.Type.Kind == ir.Int64 {
		return false
	}
	return !isShort(s.Lo) || !isShort(s.Hi)
}

// isShort reports whether e is a number far from the ends of 64 bits.
func isShort(e ir.Expr) bool {
	switch e := e.(type) {
	case *ir.Const:
		return int64(e.Bits) == int64(int32(e.Bits))
	case *ir.Convert:
		return e.X.Type().IsInteger() && e.X.Type().Size < 8
	case *ir.Len:
		return true
	}
	return false
}

// timesAndMore computes x*3, x*5 and x*9, and that with a constant added, as an address.
func (g *Scalars) timesAndMore(r vcode.Reg, e *ir.Binary) bool {
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
	g.AddressOf(r, vcode.Indexed(v, v, uint8(c-1), int32(disp)))
	return true
}

// GeneralLow evaluates an integer of which only the bits of its type matter.
func (g *Scalars) GeneralLow(e ir.Expr) vcode.Reg {
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
			g.Op(op, vcode.W128, vcode.RegArg(r), vcode.RegArg(g.GeneralLow(e.Y)))
			return r
		}
	}
	return g.General(e)
}
