package vector

import (
	"github.com/gompss/gompss/codegen/cpu/mach"
	"github.com/gompss/gompss/codegen/cpu/vcode"
	"github.com/gompss/gompss/codegen/ir"
)

// Locked are the indivisible operations on memory. One that keeps a value leaves it in a register
// of the machine: Kept takes it.
type Locked struct{ Registers }

// A stage that several workers run at once, and whose slices have no copies, updates memory by the
// processor's atomic instructions, one lane after the other: a locked instruction where there is
// one for the operation, else a loop around a locked compare and exchange.

// lockedOps are the indivisible operations on memory, of 4 and 8 bytes, that leave no value.
var lockedOps = map[ir.Op][2]vcode.Op{ir.Add: {vcode.AtomicAdd32, vcode.AtomicAdd64}, ir.Sub: {vcode.AtomicSub32, vcode.AtomicSub64}, ir.And: {vcode.AtomicAnd32, vcode.AtomicAnd64}, ir.Or: {vcode.AtomicOr32, vcode.AtomicOr64}, ir.Xor: {vcode.AtomicXor32, vcode.AtomicXor64}}

// compareExchange are the forms for elements of each size.
var compareExchange = map[int64]vcode.Op{1: vcode.AtomicCompareExchange8, 2: vcode.AtomicCompareExchange16, 4: vcode.AtomicCompareExchange32, 8: vcode.AtomicCompareExchange64}

// lockedOp is the locked instruction for x op= y, where there is one.
func lockedOp(s *ir.Atomic) (vcode.Op, bool) {
	t := s.Place.Type()
	if !t.IsInteger() || t.Size < 4 || s.Swapped && s.Op == ir.Sub {
		return vcode.NoOp, false
	}
	op, ok := lockedOps[s.Op]
	return op[t.Size/8], ok
}

// HasLocked reports whether there is a locked instruction for an update.
func HasLocked(s *ir.Atomic) bool {
	_, ok := lockedOp(s)
	return ok
}

// UpdateLocked makes an update that has a locked instruction.
func (g *Locked) UpdateLocked(s *ir.Atomic, place vcode.Arg, x vcode.Reg) {
	op, _ := lockedOp(s)
	g.Op(op, vcode.W128, place, vcode.RegArg(x))
}

// ExchangeIf stores x where memory still has old, in its bits; the flags say equal then.
func (g *Locked) ExchangeIf(place vcode.Arg, old, x vcode.Reg, t *ir.Type) {
	g.Copy(vcode.Acc, old)
	g.Op(compareExchange[int64(t.Size)], vcode.W128, place, vcode.RegArg(x))
}

// FetchAdd adds x to memory, or subtracts it, and keeps the value from before.
func (g *Locked) FetchAdd(op ir.Op, place vcode.Arg, x vcode.Reg, t *ir.Type) {
	g.Copy(vcode.Acc, x)
	if op == ir.Sub {
		g.Negate(vcode.Acc)
	}
	g.Op(map[int64]vcode.Op{4: vcode.AtomicFetchAdd32, 8: vcode.AtomicFetchAdd64}[int64(t.Size)], vcode.W128, place, vcode.RegArg(vcode.Acc))
}

// Exchange stores x, of 4 or 8 bytes, and keeps the value from before.
func (g *Locked) Exchange(place vcode.Arg, x vcode.Reg, t *ir.Type) {
	g.Copy(vcode.Acc, x)
	g.Op(map[int64]vcode.Op{4: vcode.AtomicExchange32, 8: vcode.AtomicExchange64}[int64(t.Size)], vcode.W128, place, vcode.RegArg(vcode.Acc))
}

// Kept sets d to the value that FetchAdd or Exchange has kept.
func (g *Locked) Kept(d vcode.Reg) { g.Move(d, vcode.Acc) }

// LockedLane is the update of one lane whose value lies in memory, or, of integers, in a register.
func (g *Locked) LockedLane(s *ir.Atomic, place, operand vcode.Arg, constant vcode.Reg, retry func(top mach.Label)) {
	t := s.Place.Type()
	at := g.NewGeneral() // Acc is needed, which moves spilled registers where there are three
	g.Op(vcode.Address, vcode.W128, vcode.RegArg(at), place)
	place = vcode.MemArg(vcode.At(at, 0))
	if t.IsFloat() {
		g.lockedAdd(s.Op, place, operand, t, retry)
		return
	}
	v := constant
	if v == vcode.NoReg {
		v = g.NewGeneral()
		g.Op(map[bool]vcode.Op{true: vcode.LoadU32, false: vcode.Load64}[Container(t) == 4], vcode.W128, vcode.RegArg(v), operand)
	}
	if op, ok := lockedOp(s); ok {
		g.Op(op, vcode.W128, place, vcode.RegArg(v))
		return
	}
	top, r := g.NewLabel(), g.NewGeneral()
	g.Place(top)
	g.Op(ElementLoad(t), vcode.W128, vcode.RegArg(vcode.Acc), place)
	g.Move(r, vcode.Acc)
	g.Op(GeneralOps[s.Op], vcode.W128, vcode.RegArg(r), vcode.RegArg(v))
	g.Op(compareExchange[int64(t.Size)], vcode.W128, place, vcode.RegArg(r))
	retry(top)
}

// lockedAdd adds a float in memory to another, or subtracts it.
func (g *Locked) lockedAdd(op ir.Op, place, operand vcode.Arg, t *ir.Type, retry func(top mach.Label)) {
	top, x, r := g.NewLabel(), g.NewVector(), g.NewGeneral()
	load, set, get := vcode.LoadU32, vcode.VSetI32, vcode.VGetI32
	if t.Size == 8 {
		load, set, get = vcode.Load64, vcode.VSetI64, vcode.VGetI64
	}
	g.Place(top)
	g.Op(load, vcode.W128, vcode.RegArg(vcode.Acc), place)
	g.Op(set, vcode.W128, vcode.RegArg(x), vcode.RegArg(vcode.Acc))
	g.Op(singleFloatOps[op][t.Size/8], vcode.W128, vcode.RegArg(x), vcode.RegArg(x), operand)
	g.Op(get, vcode.W128, vcode.RegArg(r), vcode.RegArg(x))
	g.Op(compareExchange[int64(t.Size)], vcode.W128, place, vcode.RegArg(r))
	retry(top)
}
