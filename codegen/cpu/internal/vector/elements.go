package vector

import (
	"github.com/gompss/gompss/codegen/cpu/x86"
	"github.com/gompss/gompss/codegen/ir"
)

// MemoryOps are the operations on memory, of 4 and 8 bytes.
var MemoryOps = map[ir.Op][2]x86.Op{ir.Add: {x86.ADDLMem, x86.ADDQMem}, ir.Sub: {x86.SUBLMem, x86.SUBQMem}}

// singleFloatOps are those of single floats, of 4 and 8 bytes.
var singleFloatOps = map[ir.Op][2]x86.Op{ir.Add: {x86.VADDSS, x86.VADDSD}, ir.Sub: {x86.VSUBSS, x86.VSUBSD}}

// AddFloat adds a float in memory to another, or subtracts it.
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

// LaneStores are the stores of integers, by their bytes.
var LaneStores = map[int64]x86.Op{1: x86.MOVBStore, 2: x86.MOVWStore, 4: x86.MOVLStore, 8: x86.MOVQStore}

// LoadElement extends an element of memory to a general register; the bits of a float are those of
// an unsigned integer.
func (g *Registers) LoadElement(r x86.Reg, place x86.Arg, t *ir.Type) {
	op := ElementLoad(t)
	if t.Kind == ir.Int32 {
		op = x86.MOVLQSX
	}
	g.Op(op, x86.W128, x86.RegArg(r), place)
}

// SmallLoad brings an integer of one or two bytes into a general register.
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

// LoadInteger brings an integer into a general register, with zeros above it.
func (g *Registers) LoadInteger(d x86.Reg, place x86.Arg, t *ir.Type) {
	g.Op(ElementLoad(t), x86.W128, x86.RegArg(d), place)
}

// StoreInteger stores as many bytes of a general register as a t has.
func (g *Registers) StoreInteger(place x86.Arg, x x86.Reg, t *ir.Type) {
	g.Op(LaneStores[int64(t.Size)], x86.W128, place, x86.RegArg(x))
}

// LoadContainer brings the 32 or 64 bits that hold an integer in a lane into a general register,
// with zeros above them or, where signs is set, its sign.
func (g *Registers) LoadContainer(d x86.Reg, place x86.Arg, t *ir.Type, signs bool) {
	op := x86.MOVL
	switch {
	case Container(t) == 8:
		op = x86.MOVQ
	case signs && t.IsSigned():
		op = x86.MOVLQSX
	}
	g.Op(op, x86.W128, x86.RegArg(d), place)
}

// StoreContainer stores the 32 or 64 bits that hold an integer in a lane.
func (g *Registers) StoreContainer(place x86.Arg, x x86.Reg, t *ir.Type) {
	op := x86.MOVLStore
	if Container(t) == 8 {
		op = x86.MOVQStore
	}
	g.Op(op, x86.W128, place, x86.RegArg(x))
}

// StoreFloat stores the float in lane 0.
func (g *Registers) StoreFloat(place x86.Arg, v x86.Reg, t *ir.Type) {
	op := x86.VMOVSDStore
	if t.Size == 4 {
		op = x86.VMOVSSStore
	}
	g.Op(op, x86.W128, place, x86.RegArg(v))
}

// StorePast stores a vector past the caches.
func (g *Registers) StorePast(m x86.Mem, v x86.Reg, t *ir.Type, w x86.Width) {
	g.Op(Pick(t, x86.VMOVNTPSStore, x86.VMOVNTPDStore), w, x86.MemArg(m), x86.RegArg(v))
}

// UpdateInteger adds x to an integer in memory of 4 or 8 bytes, or subtracts it.
func (g *Registers) UpdateInteger(op ir.Op, place x86.Arg, x x86.Reg, t *ir.Type) {
	g.Op(MemoryOps[op][min(1, t.Size/8)], x86.W128, place, x86.RegArg(x))
}

// AddConstTo adds a constant of 32 bits to an integer in memory of 4 or 8 bytes.
func (g *Registers) AddConstTo(place x86.Arg, c int64, t *ir.Type) {
	op := x86.ADDQImm
	if t.Size == 4 {
		op = x86.ADDLImm
	}
	g.Op(op, x86.W128, place, x86.ImmArg(c))
}
