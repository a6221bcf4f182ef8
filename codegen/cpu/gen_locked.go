package cpu

import (
	"github.com/gompss/gompss/codegen/cpu/internal/analysis"
	"github.com/gompss/gompss/codegen/cpu/mach"
	"github.com/gompss/gompss/codegen/cpu/x86"
	"github.com/gompss/gompss/codegen/ir"
)

// A stage that several workers run at once, and whose slices have no copies, updates memory by the
// processor's atomic instructions, one lane after the other: a locked instruction where there is
// one for the operation, else a loop around a locked compare and exchange.

// lockedOps are the indivisible operations on memory, of 4 and 8 bytes, that leave no value.
var lockedOps = map[ir.Op][2]x86.Op{ir.Add: {x86.ADDLLock, x86.ADDQLock}, ir.Sub: {x86.SUBLLock, x86.SUBQLock}, ir.And: {x86.ANDLLock, x86.ANDQLock}, ir.Or: {x86.ORLLock, x86.ORQLock}, ir.Xor: {x86.XORLLock, x86.XORQLock}}

// compareExchange are the forms for elements of each size.
var compareExchange = map[int64]x86.Op{1: x86.CMPXCHGBLock, 2: x86.CMPXCHGWLock, 4: x86.CMPXCHGLLock, 8: x86.CMPXCHGQLock}

// lockedOp is the locked instruction for x op= y, where there is one.
func lockedOp(s *ir.Atomic) (x86.Op, bool) {
	t := s.Place.Type()
	if !t.IsInteger() || t.Size < 4 || s.Swapped && s.Op == ir.Sub {
		return x86.NoOp, false
	}
	op, ok := lockedOps[s.Op]
	return op[t.Size/8], ok
}

// lockedAtomic selects an atomic of one lane that other workers may get in between of.
func (g *gen) lockedAtomic(s *ir.Atomic) {
	if _, local := s.Place.(*ir.Ref); local {
		g.list(analysis.InSteps(s, -1000-len(g.homes))) // no other worker has it
		return
	}
	value, compare := g.ownValue(s.Value), g.ownValue(s.Compare)
	place := x86.MemArg(g.addressOnce(s.Place))
	t := s.Place.Type()
	switch op, direct := lockedOp(s); {
	case s.Kind == ir.AtomicRead:
		g.giveOld(s, g.variableOf(t, s.At, func(r x86.Reg) { g.loadElement(r, place, t) }))
	case s.Kind == ir.AtomicWrite:
		g.Op(laneStores[int64(t.Size)], x86.W128, place, x86.RegArg(g.bitsOf(value, t)))
	case s.Kind == ir.AtomicUpdate && direct:
		g.Op(op, x86.W128, place, x86.RegArg(g.gp(value)))
	case s.Kind == ir.AtomicCapture && direct && (s.Op == ir.Add || s.Op == ir.Sub):
		g.addAndFetch(s, place, value)
	case s.Kind == ir.AtomicCapture && s.Op == ir.NoOp && t.Size >= 4:
		g.exchange(s, place, value)
	default:
		g.exchangeLoop(s, place, value, compare)
	}
}

// ownValue evaluates e once, into a variable of its own.
func (g *gen) ownValue(e ir.Expr) ir.Expr {
	if e == nil {
		return nil
	}
	if _, ok := e.(*ir.Const); ok {
		return e
	}
	g.made++
	v := &ir.Var{Name: "operand", Type: e.Type(), Space: ir.Local, ID: -100000 - g.made, At: e.Pos()}
	g.decl(&ir.Decl{Var: v, Init: e, At: e.Pos()})
	return &ir.Ref{Var: v, At: e.Pos()}
}

// addressOnce is the address of a checked element, for several instructions.
func (g *gen) addressOnce(place ir.Expr) x86.Mem {
	m := g.scalarAddress(place)
	if m.Index == x86.NoReg {
		return m
	}
	r := g.NewGeneral()
	g.Op(x86.LEAQ, x86.W128, x86.RegArg(r), x86.MemArg(m))
	return x86.At(r, 0)
}

// loadElement extends an element of memory to a general register; the bits of a float are those of
// an unsigned integer.
func (g *gen) loadElement(r x86.Reg, place x86.Arg, t *ir.Type) {
	op := elementLoad(t)
	if t.Kind == ir.Int32 {
		op = x86.MOVLQSX
	}
	g.Op(op, x86.W128, x86.RegArg(r), place)
}

// variableOf makes a variable of the bits that set puts into a general register.
func (g *gen) variableOf(t *ir.Type, at ir.Pos, set func(r x86.Reg)) *ir.Ref {
	g.made++
	v := &ir.Var{Name: "old", Type: t, Space: ir.Local, ID: -100000 - g.made, At: at}
	h := g.declare(v)
	if h.vec == nil {
		set(h.gp)
		return &ir.Ref{Var: v, At: at}
	}
	r := g.NewGeneral()
	set(r)
	g.broadcastGeneral(h.vec[0], r, container(t), x86.W128)
	return &ir.Ref{Var: v, At: at}
}

// bitsOf are the bits of a value, in a general register.
func (g *gen) bitsOf(e ir.Expr, t *ir.Type) x86.Reg {
	if !t.IsFloat() {
		return g.gp(e)
	}
	r := g.NewGeneral()
	op := x86.VMOVDStore
	if t.Size == 8 {
		op = x86.VMOVQStore
	}
	g.Op(op, x86.W128, x86.RegArg(r), x86.RegArg(g.vec(e)[0]))
	return r
}

// giveOld assigns what a capture keeps.
func (g *gen) giveOld(s *ir.Atomic, value ir.Expr) {
	if s.Old != nil {
		g.list([]ir.Stmt{&ir.Assign{Place: s.Old, Value: value, At: s.At}})
	}
}

// addAndFetch is a sum or a difference of which a value is kept.
func (g *gen) addAndFetch(s *ir.Atomic, place x86.Arg, value ir.Expr) {
	t := s.Place.Type()
	g.Op(x86.MOVQStore, x86.W128, x86.RegArg(x86.AX), x86.RegArg(g.gp(value)))
	if s.Op == ir.Sub {
		g.Op(x86.NEGQ, x86.W128, x86.RegArg(x86.AX))
	}
	g.Op(map[int64]x86.Op{4: x86.XADDLLock, 8: x86.XADDQLock}[int64(t.Size)], x86.W128, place, x86.RegArg(x86.AX))
	old := g.variableOf(t, s.At, func(r x86.Reg) {
		g.move(r, x86.AX)
		g.normalise(r, t)
	})
	if s.After {
		g.giveOld(s, &ir.Binary{Op: s.Op, X: old, Y: value, T: t, At: s.At})
		return
	}
	g.giveOld(s, old)
}

// exchange writes a value and keeps the one before.
func (g *gen) exchange(s *ir.Atomic, place x86.Arg, value ir.Expr) {
	t := s.Place.Type()
	g.Op(x86.MOVQStore, x86.W128, x86.RegArg(x86.AX), x86.RegArg(g.bitsOf(value, t)))
	g.Op(map[int64]x86.Op{4: x86.XCHGL, 8: x86.XCHGQ}[int64(t.Size)], x86.W128, place, x86.RegArg(x86.AX))
	old := g.variableOf(t, s.At, func(r x86.Reg) {
		g.move(r, x86.AX)
		if t.IsInteger() {
			g.normalise(r, t)
		}
	})
	if s.After {
		g.giveOld(s, value)
		return
	}
	g.giveOld(s, old)
}

// exchangeLoop computes the new value from the value in memory and repeats that until no other
// worker has changed memory meanwhile. It compares bits, so that a NaN ends the loop too.
func (g *gen) exchangeLoop(s *ir.Atomic, place x86.Arg, value, compare ir.Expr) {
	t, top, done := s.Place.Type(), g.NewLabel(), g.NewLabel()
	bits := g.NewGeneral()
	g.Place(top)
	old := g.variableOf(t, s.At, func(r x86.Reg) {
		g.loadElement(r, place, t)
		g.move(bits, r)
	})
	next := value
	if s.Kind == ir.AtomicCompare {
		g.branch(&ir.Binary{Op: ir.Eq, X: old, Y: compare, T: ir.BoolType, At: s.At}, false, done)
	} else {
		c := *s
		c.Value = value
		next = g.ownValue(analysis.Updated(&c, old))
	}
	r := g.bitsOf(next, t)
	g.Op(x86.MOVQStore, x86.W128, x86.RegArg(x86.AX), x86.RegArg(bits))
	g.Op(compareExchange[int64(t.Size)], x86.W128, place, x86.RegArg(r))
	g.Jump(mach.CondNE, top)
	g.Place(done)
	if s.After {
		g.giveOld(s, next)
		return
	}
	g.giveOld(s, old)
}

// lockedFold updates one place by what the lanes that are on make together.
func (g *gen) lockedFold(s *ir.Atomic, x *sum, m x86.Mem, all x86.Reg) {
	t, place := s.Place.Type(), x86.MemArg(m)
	if op, ok := lockedOp(s); ok {
		g.Op(op, x86.W128, place, x86.RegArg(g.firstLane(all, t)))
		return
	}
	top, bits, old, next := g.NewLabel(), g.NewGeneral(), g.NewVector(), g.NewVector()
	g.Place(top)
	g.loadElement(bits, place, t)
	g.broadcastGeneral(old, bits, container(t), x86.W128)
	g.combine(x, next, old, all, x86.W128)
	r := g.firstLane(next, t)
	g.Op(x86.MOVQStore, x86.W128, x86.RegArg(x86.AX), x86.RegArg(bits))
	g.Op(compareExchange[int64(t.Size)], x86.W128, place, x86.RegArg(r))
	g.Jump(mach.CondNE, top)
}

// lockedLane is the update of one lane whose value lies in memory, or, of integers, in a register.
func (g *gen) lockedLane(s *ir.Atomic, place, operand x86.Arg, constant x86.Reg) {
	t := s.Place.Type()
	at := g.NewGeneral() // AX is needed, which moves spilled registers where there are three
	g.Op(x86.LEAQ, x86.W128, x86.RegArg(at), place)
	place = x86.MemArg(x86.At(at, 0))
	if t.IsFloat() {
		g.lockedAdd(s.Op, place, operand, t)
		return
	}
	v := constant
	if v == x86.NoReg {
		v = g.NewGeneral()
		g.Op(map[bool]x86.Op{true: x86.MOVL, false: x86.MOVQ}[container(t) == 4], x86.W128, x86.RegArg(v), operand)
	}
	if op, ok := lockedOp(s); ok {
		g.Op(op, x86.W128, place, x86.RegArg(v))
		return
	}
	top, r := g.NewLabel(), g.NewGeneral()
	g.Place(top)
	g.Op(elementLoad(t), x86.W128, x86.RegArg(x86.AX), place)
	g.move(r, x86.AX)
	g.Op(generalOps[s.Op], x86.W128, x86.RegArg(r), x86.RegArg(v))
	g.Op(compareExchange[int64(t.Size)], x86.W128, place, x86.RegArg(r))
	g.Jump(mach.CondNE, top)
}

// lockedAdd adds a float in memory to another, or subtracts it.
func (g *gen) lockedAdd(op ir.Op, place, operand x86.Arg, t *ir.Type) {
	top, x, r := g.NewLabel(), g.NewVector(), g.NewGeneral()
	load, set, get := x86.MOVL, x86.VMOVD, x86.VMOVDStore
	if t.Size == 8 {
		load, set, get = x86.MOVQ, x86.VMOVQ, x86.VMOVQStore
	}
	g.Place(top)
	g.Op(load, x86.W128, x86.RegArg(x86.AX), place)
	g.Op(set, x86.W128, x86.RegArg(x), x86.RegArg(x86.AX))
	g.Op(singleFloatOps[op][t.Size/8], x86.W128, x86.RegArg(x), x86.RegArg(x), operand)
	g.Op(get, x86.W128, x86.RegArg(r), x86.RegArg(x))
	g.Op(compareExchange[int64(t.Size)], x86.W128, place, x86.RegArg(r))
	g.Jump(mach.CondNE, top)
}
