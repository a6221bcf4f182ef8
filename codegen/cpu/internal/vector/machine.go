package vector

import (
	"github.com/gompss/gompss/codegen/cpu/mach"
	"github.com/gompss/gompss/codegen/cpu/vcode"
)

// A Machine has the instructions on integers in general registers, and on memory. A result
// overwrites the first operand; comparisons set the flags that jumps and MoveIf look at.
type Machine struct {
	mach.Code
	ISA    mach.ISA
	AVX512 bool
	Bytes  int // of a full vector
}

// Compare compares two integers.
func (g *Machine) Compare(x, y vcode.Reg) {
	g.Op(vcode.Compare, vcode.W128, vcode.RegArg(x), vcode.RegArg(y))
}

// CompareConst compares an integer with a constant of 32 bits.
func (g *Machine) CompareConst(x vcode.Reg, c int64) {
	g.Op(vcode.CompareImm, vcode.W128, vcode.RegArg(x), vcode.ImmArg(c))
}

// Test compares an integer with 0.
func (g *Machine) Test(x vcode.Reg) { g.Op(vcode.Test, vcode.W128, vcode.RegArg(x), vcode.RegArg(x)) }

// Add adds y to d.
func (g *Machine) Add(d, y vcode.Reg) { g.Op(vcode.Add, vcode.W128, vcode.RegArg(d), vcode.RegArg(y)) }

// Subtract subtracts y from d.
func (g *Machine) Subtract(d, y vcode.Reg) {
	g.Op(vcode.Sub, vcode.W128, vcode.RegArg(d), vcode.RegArg(y))
}

// Multiply multiplies d by y.
func (g *Machine) Multiply(d, y vcode.Reg) {
	g.Op(vcode.Mul, vcode.W128, vcode.RegArg(d), vcode.RegArg(y))
}

// MultiplyConst sets d to x times a constant of 32 bits.
func (g *Machine) MultiplyConst(d, x vcode.Reg, c int64) {
	g.Op(vcode.MulImm, vcode.W128, vcode.RegArg(d), vcode.RegArg(x), vcode.ImmArg(c))
}

// Negate changes the sign of d.
func (g *Machine) Negate(d vcode.Reg) { g.Op(vcode.Negate, vcode.W128, vcode.RegArg(d)) }

// AndConst keeps the bits of d that a constant of 32 bits has, too, and compares the rest with 0.
func (g *Machine) AndConst(d vcode.Reg, c int64) {
	g.Op(vcode.AndImm, vcode.W128, vcode.RegArg(d), vcode.ImmArg(c))
}

// LowestBit keeps the lowest bit of d, and compares it with 0.
func (g *Machine) LowestBit(d vcode.Reg) {
	g.Op(vcode.AndImm8, vcode.W128, vcode.RegArg(d), vcode.ImmArg(1))
}

// Decrement subtracts 1 from d, and compares the rest with 0.
func (g *Machine) Decrement(d vcode.Reg) {
	g.Op(vcode.AddImm8, vcode.W128, vcode.RegArg(d), vcode.ImmArg(-1))
}

// ShiftRight shifts d without its sign.
func (g *Machine) ShiftRight(d vcode.Reg, by int64) {
	g.Op(vcode.ShiftRightImm, vcode.W128, vcode.RegArg(d), vcode.ImmArg(by))
}

// MoveIf sets d to x where the flags say k.
func (g *Machine) MoveIf(k mach.Cond, d, x vcode.Reg) {
	g.Op(CondMoves[k], vcode.W128, vcode.RegArg(d), vcode.RegArg(x))
}

// Copy sets d to x. Unlike Move, d or x may be a register of the machine.
func (g *Machine) Copy(d, x vcode.Reg) {
	g.Op(vcode.Store64, vcode.W128, vcode.RegArg(d), vcode.RegArg(x))
}

// SetSmall sets d to a constant of 32 bits.
func (g *Machine) SetSmall(d vcode.Reg, c int64) {
	g.Op(vcode.SetImm, vcode.W128, vcode.RegArg(d), vcode.ImmArg(c))
}

// AddressOf sets d to an address.
func (g *Machine) AddressOf(d vcode.Reg, m vcode.Mem) {
	g.Op(vcode.Address, vcode.W128, vcode.RegArg(d), vcode.MemArg(m))
}

// ReadInt loads 64 bits.
func (g *Machine) ReadInt(d vcode.Reg, m vcode.Mem) {
	g.Op(vcode.Load64, vcode.W128, vcode.RegArg(d), vcode.MemArg(m))
}

// WriteInt stores 64 bits.
func (g *Machine) WriteInt(m vcode.Mem, x vcode.Reg) {
	g.Op(vcode.Store64, vcode.W128, vcode.MemArg(m), vcode.RegArg(x))
}

// ReadVector loads a vector of width w.
func (g *Machine) ReadVector(d vcode.Reg, m vcode.Mem, w vcode.Width) {
	g.Op(vcode.VLoadF32, w, vcode.RegArg(d), vcode.MemArg(m))
}

// WriteVector stores a vector of width w.
func (g *Machine) WriteVector(m vcode.Mem, x vcode.Reg, w vcode.Width) {
	g.Op(vcode.VStoreF32, w, vcode.MemArg(m), vcode.RegArg(x))
}

// Scratch holds no value from one operation to the next: what an operation leaves there is looked
// at next.
const Scratch = vcode.Acc

// TestLowest compares the lowest bit of x with 0.
func (g *Machine) TestLowest(x vcode.Reg) {
	g.Copy(vcode.Count, x)
	g.LowestBit(vcode.Count)
}

// CountOnes sets d to the number of bits that x has.
func (g *Machine) CountOnes(d, x vcode.Reg) {
	g.Op(vcode.OnesCount, vcode.W128, vcode.RegArg(d), vcode.RegArg(x))
}
