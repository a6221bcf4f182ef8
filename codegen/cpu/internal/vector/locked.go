package vector

import (
	"github.com/gompss/gompss/codegen/cpu/mach"
	"github.com/gompss/gompss/codegen/cpu/x86"
	"github.com/gompss/gompss/codegen/ir"
)

// Locked are the indivisible operations on memory. One that keeps a value leaves it in a register
// of the machine: Kept takes it.
type Locked struct{ Registers }

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

// HasLocked tells whether there is a locked instruction for an update.
func HasLocked(s *ir.Atomic) bool {
	_, ok := lockedOp(s)
	return ok
}

// UpdateLocked makes an update that has a locked instruction.
func (g *Locked) UpdateLocked(s *ir.Atomic, place x86.Arg, x x86.Reg) {
	op, _ := lockedOp(s)
	g.Op(op, x86.W128, place, x86.RegArg(x))
}

// ExchangeIf stores x where memory still has old, in its bits; the flags say equal then.
func (g *Locked) ExchangeIf(place x86.Arg, old, x x86.Reg, t *ir.Type) {
	g.Copy(x86.AX, old)
	g.Op(compareExchange[int64(t.Size)], x86.W128, place, x86.RegArg(x))
}

// FetchAdd adds x to memory, or subtracts it, and keeps the value from before.
func (g *Locked) FetchAdd(op ir.Op, place x86.Arg, x x86.Reg, t *ir.Type) {
	g.Copy(x86.AX, x)
	if op == ir.Sub {
		g.Negate(x86.AX)
	}
	g.Op(map[int64]x86.Op{4: x86.XADDLLock, 8: x86.XADDQLock}[int64(t.Size)], x86.W128, place, x86.RegArg(x86.AX))
}

// Exchange stores x, of 4 or 8 bytes, and keeps the value from before.
func (g *Locked) Exchange(place x86.Arg, x x86.Reg, t *ir.Type) {
	g.Copy(x86.AX, x)
	g.Op(map[int64]x86.Op{4: x86.XCHGL, 8: x86.XCHGQ}[int64(t.Size)], x86.W128, place, x86.RegArg(x86.AX))
}

// Kept sets d to the value that FetchAdd or Exchange has kept.
func (g *Locked) Kept(d x86.Reg) { g.Move(d, x86.AX) }

// LockedLane is the update of one lane whose value lies in memory, or, of integers, in a register.
func (g *Locked) LockedLane(s *ir.Atomic, place, operand x86.Arg, constant x86.Reg, retry func(top mach.Label)) {
	t := s.Place.Type()
	at := g.NewGeneral() // AX is needed, which moves spilled registers where there are three
	g.Op(x86.LEAQ, x86.W128, x86.RegArg(at), place)
	place = x86.MemArg(x86.At(at, 0))
	if t.IsFloat() {
		g.lockedAdd(s.Op, place, operand, t, retry)
		return
	}
	v := constant
	if v == x86.NoReg {
		v = g.NewGeneral()
		g.Op(map[bool]x86.Op{true: x86.MOVL, false: x86.MOVQ}[Container(t) == 4], x86.W128, x86.RegArg(v), operand)
	}
	if op, ok := lockedOp(s); ok {
		g.Op(op, x86.W128, place, x86.RegArg(v))
		return
	}
	top, r := g.NewLabel(), g.NewGeneral()
	g.Place(top)
	g.Op(ElementLoad(t), x86.W128, x86.RegArg(x86.AX), place)
	g.Move(r, x86.AX)
	g.Op(GeneralOps[s.Op], x86.W128, x86.RegArg(r), x86.RegArg(v))
	g.Op(compareExchange[int64(t.Size)], x86.W128, place, x86.RegArg(r))
	retry(top)
}

// lockedAdd adds a float in memory to another, or subtracts it.
func (g *Locked) lockedAdd(op ir.Op, place, operand x86.Arg, t *ir.Type, retry func(top mach.Label)) {
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
	retry(top)
}
