package vector

import (
	"github.com/gompss/gompss/codegen/cpu/vcode"
	"github.com/gompss/gompss/codegen/ir"
)

// MemoryOps are the operations on memory, of 4 and 8 bytes.
var MemoryOps = map[ir.Op][2]vcode.Op{ir.Add: {vcode.AddMem32, vcode.AddMem64}, ir.Sub: {vcode.SubMem32, vcode.SubMem64}}

// singleFloatOps are those of single floats, of 4 and 8 bytes.
var singleFloatOps = map[ir.Op][2]vcode.Op{ir.Add: {vcode.AddF32, vcode.AddF64}, ir.Sub: {vcode.SubF32, vcode.SubF64}}

// AddFloat adds a float in memory to another, or subtracts it.
func (g *Registers) AddFloat(op ir.Op, place, operand vcode.Arg, t *ir.Type) {
	r := g.NewVector()
	load, store := vcode.LoadF32, vcode.StoreF32
	if t.Size == 8 {
		load, store = vcode.LoadF64, vcode.StoreF64
	}
	g.Op(load, vcode.W128, vcode.RegArg(r), place)
	g.Op(singleFloatOps[op][t.Size/8], vcode.W128, vcode.RegArg(r), vcode.RegArg(r), operand)
	g.Op(store, vcode.W128, place, vcode.RegArg(r))
}

// ElementLoad brings an integer into a general register.
func ElementLoad(t *ir.Type) vcode.Op {
	switch {
	case t.Size == 8:
		return vcode.Load64
	case t.Size == 4:
		return vcode.LoadU32
	}
	return SmallLoad(t)
}

// LaneStores are the stores of integers, by their bytes.
var LaneStores = map[int64]vcode.Op{1: vcode.Store8, 2: vcode.Store16, 4: vcode.Store32, 8: vcode.Store64}

// LoadElement extends an element of memory to a general register; the bits of a float are those of
// an unsigned integer.
func (g *Registers) LoadElement(r vcode.Reg, place vcode.Arg, t *ir.Type) {
	op := ElementLoad(t)
	if t.Kind == ir.Int32 {
		op = vcode.LoadI32
	}
	g.Op(op, vcode.W128, vcode.RegArg(r), place)
}

// SmallLoad brings an integer of one or two bytes into a general register.
func SmallLoad(t *ir.Type) vcode.Op {
	switch {
	case t.Size == 1 && t.IsSigned():
		return vcode.LoadI8
	case t.Size == 1:
		return vcode.LoadU8
	case t.IsSigned():
		return vcode.LoadI16
	}
	return vcode.LoadU16
}

// Widening makes 32-bit lanes of elements of one or two bytes.
func Widening(t *ir.Type) vcode.Op {
	if t.Size == 2 {
		return map[bool]vcode.Op{true: vcode.VWidenI16I32, false: vcode.VWidenU16U32}[t.IsSigned()]
	}
	return map[bool]vcode.Op{true: vcode.VWidenI8I32, false: vcode.VWidenU8U32}[t.IsSigned()]
}

// GatherOp chooses by index and element size.
func GatherOp(size4 bool, t *ir.Type, avx512 bool) vcode.Op {
	table := map[[2]bool][2]vcode.Op{
		{true, true}:   {vcode.VGatherI32F32, vcode.VGatherSignsI32F32},
		{true, false}:  {vcode.VGatherI32F64, vcode.VGatherSignsI32F64},
		{false, true}:  {vcode.VGatherI64F32, vcode.VGatherSignsI64F32},
		{false, false}: {vcode.VGatherI64F64, vcode.VGatherSignsI64F64},
	}
	ops := table[[2]bool{size4, t.Size == 4}]
	if avx512 {
		return ops[0]
	}
	return ops[1]
}

// LoadOne and storeOne move one element between memory and the first lane.
func (g *Registers) LoadOne(d vcode.Reg, m vcode.Mem, t *ir.Type) {
	switch {
	case t.Size == 8:
		g.Op(vcode.LoadF64, vcode.W128, vcode.RegArg(d), vcode.MemArg(m))
	case t.Size == 4:
		g.Op(vcode.LoadF32, vcode.W128, vcode.RegArg(d), vcode.MemArg(m))
	default:
		r := g.NewGeneral()
		g.Op(SmallLoad(t), vcode.W128, vcode.RegArg(r), vcode.MemArg(m))
		g.Op(vcode.VSetI32, vcode.W128, vcode.RegArg(d), vcode.RegArg(r))
	}
}

func (g *Registers) StoreOne(m vcode.Mem, v vcode.Reg, t *ir.Type) {
	switch {
	case t.Size == 8:
		g.Op(vcode.StoreF64, vcode.W128, vcode.MemArg(m), vcode.RegArg(v))
	case t.Size == 4:
		g.Op(vcode.StoreF32, vcode.W128, vcode.MemArg(m), vcode.RegArg(v))
	default:
		r := g.NewGeneral()
		g.Op(vcode.VGetI32, vcode.W128, vcode.RegArg(r), vcode.RegArg(v))
		g.Op(LaneStores[int64(t.Size)], vcode.W128, vcode.MemArg(m), vcode.RegArg(r))
	}
}

// LoadInteger brings an integer into a general register, with zeros above it.
func (g *Registers) LoadInteger(d vcode.Reg, place vcode.Arg, t *ir.Type) {
	g.Op(ElementLoad(t), vcode.W128, vcode.RegArg(d), place)
}

// StoreInteger stores as many bytes of a general register as a t has.
func (g *Registers) StoreInteger(place vcode.Arg, x vcode.Reg, t *ir.Type) {
	g.Op(LaneStores[int64(t.Size)], vcode.W128, place, vcode.RegArg(x))
}

// LoadContainer brings the 32 or 64 bits that hold an integer in a lane into a general register,
// with zeros above them or, where signs is set, its sign.
func (g *Registers) LoadContainer(d vcode.Reg, place vcode.Arg, t *ir.Type, signs bool) {
	op := vcode.LoadU32
	switch {
	case Container(t) == 8:
		op = vcode.Load64
	case signs && t.IsSigned():
		op = vcode.LoadI32
	}
	g.Op(op, vcode.W128, vcode.RegArg(d), place)
}

// StoreContainer stores the 32 or 64 bits that hold an integer in a lane.
func (g *Registers) StoreContainer(place vcode.Arg, x vcode.Reg, t *ir.Type) {
	op := vcode.Store32
	if Container(t) == 8 {
		op = vcode.Store64
	}
	g.Op(op, vcode.W128, place, vcode.RegArg(x))
}

// StoreFloat stores the float in lane 0.
func (g *Registers) StoreFloat(place vcode.Arg, v vcode.Reg, t *ir.Type) {
	op := vcode.StoreF64
	if t.Size == 4 {
		op = vcode.StoreF32
	}
	g.Op(op, vcode.W128, place, vcode.RegArg(v))
}

// StorePast stores a vector past the caches.
func (g *Registers) StorePast(m vcode.Mem, v vcode.Reg, t *ir.Type, w vcode.Width) {
	g.Op(Pick(t, vcode.VStreamF32, vcode.VStreamF64), w, vcode.MemArg(m), vcode.RegArg(v))
}

// UpdateInteger adds x to an integer in memory of 4 or 8 bytes, or subtracts it.
func (g *Registers) UpdateInteger(op ir.Op, place vcode.Arg, x vcode.Reg, t *ir.Type) {
	g.Op(MemoryOps[op][min(1, t.Size/8)], vcode.W128, place, vcode.RegArg(x))
}

// AddConstTo adds a constant of 32 bits to an integer in memory of 4 or 8 bytes.
func (g *Registers) AddConstTo(place vcode.Arg, c int64, t *ir.Type) {
	op := vcode.AddImm
	if t.Size == 4 {
		op = vcode.AddMemImm32
	}
	g.Op(op, vcode.W128, place, vcode.ImmArg(c))
}
