package vector

import (
	"github.com/gompss/gompss/codegen/cpu/mach"
	"github.com/gompss/gompss/codegen/cpu/x86"
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
func (g *Machine) Compare(x, y x86.Reg) { g.Op(x86.CMPQ, x86.W128, x86.RegArg(x), x86.RegArg(y)) }

// CompareConst compares an integer with a constant of 32 bits.
func (g *Machine) CompareConst(x x86.Reg, c int64) {
	g.Op(x86.CMPQImm, x86.W128, x86.RegArg(x), x86.ImmArg(c))
}

// Test compares an integer with 0.
func (g *Machine) Test(x x86.Reg) { g.Op(x86.TESTQ, x86.W128, x86.RegArg(x), x86.RegArg(x)) }

// Add adds y to d.
func (g *Machine) Add(d, y x86.Reg) { g.Op(x86.ADDQ, x86.W128, x86.RegArg(d), x86.RegArg(y)) }

// Subtract subtracts y from d.
func (g *Machine) Subtract(d, y x86.Reg) { g.Op(x86.SUBQ, x86.W128, x86.RegArg(d), x86.RegArg(y)) }

// Multiply multiplies d by y.
func (g *Machine) Multiply(d, y x86.Reg) { g.Op(x86.IMULQ, x86.W128, x86.RegArg(d), x86.RegArg(y)) }

// MultiplyConst sets d to x times a constant of 32 bits.
func (g *Machine) MultiplyConst(d, x x86.Reg, c int64) {
	g.Op(x86.IMUL3Q, x86.W128, x86.RegArg(d), x86.RegArg(x), x86.ImmArg(c))
}

// Negate changes the sign of d.
func (g *Machine) Negate(d x86.Reg) { g.Op(x86.NEGQ, x86.W128, x86.RegArg(d)) }

// AndConst keeps the bits of d that a constant of 32 bits has, too, and compares the rest with 0.
func (g *Machine) AndConst(d x86.Reg, c int64) {
	g.Op(x86.ANDQImm, x86.W128, x86.RegArg(d), x86.ImmArg(c))
}

// LowestBit keeps the lowest bit of d, and compares it with 0.
func (g *Machine) LowestBit(d x86.Reg) { g.Op(x86.ANDQImm8, x86.W128, x86.RegArg(d), x86.ImmArg(1)) }

// Decrement subtracts 1 from d, and compares the rest with 0.
func (g *Machine) Decrement(d x86.Reg) { g.Op(x86.ADDQImm8, x86.W128, x86.RegArg(d), x86.ImmArg(-1)) }

// ShiftRight shifts d without its sign.
func (g *Machine) ShiftRight(d x86.Reg, by int64) {
	g.Op(x86.SHRQ, x86.W128, x86.RegArg(d), x86.ImmArg(by))
}

// MoveIf sets d to x where the flags say k.
func (g *Machine) MoveIf(k mach.Cond, d, x x86.Reg) {
	g.Op(CondMoves[k], x86.W128, x86.RegArg(d), x86.RegArg(x))
}

// Copy sets d to x. Unlike Move, d or x may be a register of the machine.
func (g *Machine) Copy(d, x x86.Reg) { g.Op(x86.MOVQStore, x86.W128, x86.RegArg(d), x86.RegArg(x)) }

// SetSmall sets d to a constant of 32 bits.
func (g *Machine) SetSmall(d x86.Reg, c int64) {
	g.Op(x86.MOVQImm, x86.W128, x86.RegArg(d), x86.ImmArg(c))
}

// AddressOf sets d to an address.
func (g *Machine) AddressOf(d x86.Reg, m x86.Mem) {
	g.Op(x86.LEAQ, x86.W128, x86.RegArg(d), x86.MemArg(m))
}

// ReadInt loads 64 bits.
func (g *Machine) ReadInt(d x86.Reg, m x86.Mem) {
	g.Op(x86.MOVQ, x86.W128, x86.RegArg(d), x86.MemArg(m))
}

// WriteInt stores 64 bits.
func (g *Machine) WriteInt(m x86.Mem, x x86.Reg) {
	g.Op(x86.MOVQStore, x86.W128, x86.MemArg(m), x86.RegArg(x))
}

// ReadVector loads a vector of width w.
func (g *Machine) ReadVector(d x86.Reg, m x86.Mem, w x86.Width) {
	g.Op(x86.VMOVUPS, w, x86.RegArg(d), x86.MemArg(m))
}

// WriteVector stores a vector of width w.
func (g *Machine) WriteVector(m x86.Mem, x x86.Reg, w x86.Width) {
	g.Op(x86.VMOVUPSStore, w, x86.MemArg(m), x86.RegArg(x))
}

// Scratch holds no value from one operation to the next: what an operation leaves there is looked
// at next.
const Scratch = x86.AX

// TestLowest compares the lowest bit of x with 0.
func (g *Machine) TestLowest(x x86.Reg) {
	g.Copy(x86.CX, x)
	g.LowestBit(x86.CX)
}

// CountOnes sets d to the number of bits that x has.
func (g *Machine) CountOnes(d, x x86.Reg) {
	g.Op(x86.POPCNTQ, x86.W128, x86.RegArg(d), x86.RegArg(x))
}
