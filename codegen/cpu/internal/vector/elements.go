package vector

import (
	"github.com/gompss/gompss/codegen/cpu/mach"
	"github.com/gompss/gompss/codegen/cpu/x86"
	"github.com/gompss/gompss/codegen/ir"
)

// memoryOps are the operations on memory, of 4 and 8 bytes.
var MemoryOps = map[ir.Op][2]x86.Op{ir.Add: {x86.ADDLMem, x86.ADDQMem}, ir.Sub: {x86.SUBLMem, x86.SUBQMem}}

// singleFloatOps are those of single floats, of 4 and 8 bytes.
var singleFloatOps = map[ir.Op][2]x86.Op{ir.Add: {x86.VADDSS, x86.VADDSD}, ir.Sub: {x86.VSUBSS, x86.VSUBSD}}

func (g *Registers) AddFloat(op ir.Op, place, operand x86.Arg, t *ir.Type) {
	r := g.NewVector()
	load, store := x86.VMOVSSLoad, x86.VMOVSSStore
	if t.Size == 8 {
		load, store = x86.VMOVSDLoad, x86.VMOVSDStore
	}
	g.Op(load, x86.W128, x86.RegArg(r), place)
	g.Op(singleFloatOps[op][t.Size/8], x86.W128, x86.RegArg(r), x86.RegArg(r), operand)
	g.Op(store, x86.W128, place, x86.RegArg(r))
}

// ElementLoad brings an integer into a general register.
func ElementLoad(t *ir.Type) x86.Op {
	switch {
	case t.Size == 8:
		return x86.MOVQ
	case t.Size == 4:
		return x86.MOVL
	}
	return SmallLoad(t)
}

var LaneStores = map[int64]x86.Op{1: x86.MOVBStore, 2: x86.MOVWStore, 4: x86.MOVLStore, 8: x86.MOVQStore}

// A stage that several workers run at once, and whose slices have no copies, updates memory by the
// processor's atomic instructions, one lane after the other: a locked instruction where there is
// one for the operation, else a loop around a locked compare and exchange.

// lockedOps are the indivisible operations on memory, of 4 and 8 bytes, that leave no value.
var lockedOps = map[ir.Op][2]x86.Op{ir.Add: {x86.ADDLLock, x86.ADDQLock}, ir.Sub: {x86.SUBLLock, x86.SUBQLock}, ir.And: {x86.ANDLLock, x86.ANDQLock}, ir.Or: {x86.ORLLock, x86.ORQLock}, ir.Xor: {x86.XORLLock, x86.XORQLock}}

// compareExchange are the forms for elements of each size.
var CompareExchange = map[int64]x86.Op{1: x86.CMPXCHGBLock, 2: x86.CMPXCHGWLock, 4: x86.CMPXCHGLLock, 8: x86.CMPXCHGQLock}

// LockedOp is the locked instruction for x op= y, where there is one.
func LockedOp(s *ir.Atomic) (x86.Op, bool) {
	t := s.Place.Type()
	if !t.IsInteger() || t.Size < 4 || s.Swapped && s.Op == ir.Sub {
		return x86.NoOp, false
	}
	op, ok := lockedOps[s.Op]
	return op[t.Size/8], ok
}

// LoadElement extends an element of memory to a general register; the bits of a float are those of
// an unsigned integer.
func (g *Registers) LoadElement(r x86.Reg, place x86.Arg, t *ir.Type) {
	op := ElementLoad(t)
	if t.Kind == ir.Int32 {
		op = x86.MOVLQSX
	}
	g.Op(op, x86.W128, x86.RegArg(r), place)
}

// LockedLane is the update of one lane whose value lies in memory, or, of integers, in a register.
func (g *Registers) LockedLane(s *ir.Atomic, place, operand x86.Arg, constant x86.Reg) {
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
		g.Op(map[bool]x86.Op{true: x86.MOVL, false: x86.MOVQ}[Container(t) == 4], x86.W128, x86.RegArg(v), operand)
	}
	if op, ok := LockedOp(s); ok {
		g.Op(op, x86.W128, place, x86.RegArg(v))
		return
	}
	top, r := g.NewLabel(), g.NewGeneral()
	g.Place(top)
	g.Op(ElementLoad(t), x86.W128, x86.RegArg(x86.AX), place)
	g.Move(r, x86.AX)
	g.Op(GeneralOps[s.Op], x86.W128, x86.RegArg(r), x86.RegArg(v))
	g.Op(CompareExchange[int64(t.Size)], x86.W128, place, x86.RegArg(r))
	g.Jump(mach.CondNE, top)
}

// lockedAdd adds a float in memory to another, or subtracts it.
func (g *Registers) lockedAdd(op ir.Op, place, operand x86.Arg, t *ir.Type) {
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
	g.Op(CompareExchange[int64(t.Size)], x86.W128, place, x86.RegArg(r))
	g.Jump(mach.CondNE, top)
}

func SmallLoad(t *ir.Type) x86.Op {
	switch {
	case t.Size == 1 && t.IsSigned():
		return x86.MOVBQSX
	case t.Size == 1:
		return x86.MOVBLZX
	case t.IsSigned():
		return x86.MOVWQSX
	}
	return x86.MOVWLZX
}

// Widening makes 32-bit lanes of elements of one or two bytes.
func Widening(t *ir.Type) x86.Op {
	if t.Size == 2 {
		return map[bool]x86.Op{true: x86.VPMOVSXWD, false: x86.VPMOVZXWD}[t.IsSigned()]
	}
	return map[bool]x86.Op{true: x86.VPMOVSXBD, false: x86.VPMOVZXBD}[t.IsSigned()]
}

// GatherOp chooses by index and element size.
func GatherOp(size4 bool, t *ir.Type, avx512 bool) x86.Op {
	table := map[[2]bool][2]x86.Op{
		{true, true}:   {x86.VGATHERDPS, x86.VGATHERDPSAVX},
		{true, false}:  {x86.VGATHERDPD, x86.VGATHERDPDAVX},
		{false, true}:  {x86.VGATHERQPS, x86.VGATHERQPSAVX},
		{false, false}: {x86.VGATHERQPD, x86.VGATHERQPDAVX},
	}
	ops := table[[2]bool{size4, t.Size == 4}]
	if avx512 {
		return ops[0]
	}
	return ops[1]
}

// LoadOne and storeOne move one element between memory and the first lane.
func (g *Registers) LoadOne(d x86.Reg, m x86.Mem, t *ir.Type) {
	switch {
	case t.Size == 8:
		g.Op(x86.VMOVSDLoad, x86.W128, x86.RegArg(d), x86.MemArg(m))
	case t.Size == 4:
		g.Op(x86.VMOVSSLoad, x86.W128, x86.RegArg(d), x86.MemArg(m))
	default:
		r := g.NewGeneral()
		g.Op(SmallLoad(t), x86.W128, x86.RegArg(r), x86.MemArg(m))
		g.Op(x86.VMOVD, x86.W128, x86.RegArg(d), x86.RegArg(r))
	}
}

func (g *Registers) StoreOne(m x86.Mem, v x86.Reg, t *ir.Type) {
	switch {
	case t.Size == 8:
		g.Op(x86.VMOVSDStore, x86.W128, x86.MemArg(m), x86.RegArg(v))
	case t.Size == 4:
		g.Op(x86.VMOVSSStore, x86.W128, x86.MemArg(m), x86.RegArg(v))
	default:
		r := g.NewGeneral()
		g.Op(x86.VMOVDStore, x86.W128, x86.RegArg(r), x86.RegArg(v))
		g.Op(LaneStores[int64(t.Size)], x86.W128, x86.MemArg(m), x86.RegArg(r))
	}
}
