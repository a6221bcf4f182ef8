package vcode

import (
	"fmt"
	"strings"
)

// A Reg is a register: 0 to 15 general, 16 to 47 vector, 48 to 55 mask; from FirstVirtual on it is
// one of those that the allocator replaces.
type Reg uint16

// Registers with a role, the first of each class, and none.
const (
	Acc      Reg = 0  // of selection itself: dividends and quotients, and what is looked at next
	Count    Reg = 1  // of selection itself
	High     Reg = 2  // remainders and upper halves of products, where there are any
	Block    Reg = 7  // the address of the argument block
	V0       Reg = 16 // vectors
	K0       Reg = 48 // masks
	PoolBase Reg = 56 // as the base of a Mem: an offset in the pool of constants

	FirstVirtual Reg = 64
	NoReg        Reg = 0xFFFF
)

// V returns vector register i, 0 to 31.
func V(i int) Reg { return V0 + Reg(i) }

// K returns mask register i, 0 to 7. K0 as an instruction's mask means no mask.
func K(i int) Reg { return K0 + Reg(i) }

// R returns general register i, 0 to 15.
func R(i int) Reg { return Reg(i) }

// IsVirtual reports whether r still has to be given a register.
func (r Reg) IsVirtual() bool { return r >= FirstVirtual && r != NoReg }

// String is the register as listings of virtual code have it.
func (r Reg) String() string {
	switch {
	case r == NoReg:
		return "none"
	case r.IsVirtual():
		return fmt.Sprintf("%%%d", r-FirstVirtual)
	case r == PoolBase:
		return "pool"
	case r == Block:
		return "block"
	case r >= K0:
		return fmt.Sprintf("k%d", r-K0)
	case r >= V0:
		return fmt.Sprintf("v%d", r-V0)
	}
	return fmt.Sprintf("r%d", uint16(r))
}

// A Width is the length of vector registers in an instruction.
type Width uint8

// The widths.
const (
	W128 Width = iota
	W256
	W512
)

// Bytes is the length of a vector in bytes.
func (w Width) Bytes() int { return 16 << w }

// A Mem is a memory operand: Base + Index*Scale + Disp. Index is a vector register in gathers and
// scatters. Broadcast repeats one element over all lanes.
type Mem struct {
	Base, Index Reg
	Scale       uint8 // 1, 2, 4, 8
	Disp        int32
	Broadcast   bool
}

// Plus returns m displaced by that many bytes.
func (m Mem) Plus(bytes int64) Mem {
	m.Disp += int32(bytes)
	return m
}

// At is the address base + disp.
func At(base Reg, disp int32) Mem { return Mem{Base: base, Index: NoReg, Scale: 1, Disp: disp} }

// Indexed is the address base + index*scale + disp.
func Indexed(base, index Reg, scale uint8, disp int32) Mem {
	return Mem{Base: base, Index: index, Scale: scale, Disp: disp}
}

func (m Mem) String() string {
	s := fmt.Sprintf("%d(%s", m.Disp, m.Base)
	if m.Index != NoReg {
		s += fmt.Sprintf("+%s*%d", m.Index, m.Scale)
	}
	return s + ")"
}

// An ArgKind is the kind of an operand: register, memory or immediate.
type ArgKind uint8

// The kinds.
const (
	ArgNone ArgKind = iota
	ArgReg
	ArgMem
	ArgImm
)

// An Arg is one operand of an Inst.
type Arg struct {
	Kind ArgKind
	Reg  Reg
	Mem  Mem
	Imm  int64
}

// RegArg makes a register operand.
func RegArg(r Reg) Arg { return Arg{Kind: ArgReg, Reg: r} }

// MemArg makes a memory operand.
func MemArg(m Mem) Arg { return Arg{Kind: ArgMem, Mem: m} }

// ImmArg makes an immediate operand.
func ImmArg(v int64) Arg { return Arg{Kind: ArgImm, Imm: v} }

func (a Arg) String() string {
	switch a.Kind {
	case ArgReg:
		return a.Reg.String()
	case ArgMem:
		return a.Mem.String()
	}
	return fmt.Sprintf("$%d", a.Imm)
}

// An Inst is one instruction, its destination first. Under a Mask only lanes that are on are
// computed; the others keep what the destination has, or become 0 with Zero. Width is the length of
// vectors; operands of another length follow from the operation.
type Inst struct {
	Op    Op
	Width Width
	Args  [4]Arg
	Mask  Reg
	Zero  bool
}

// I makes an unmasked instruction.
func I(op Op, w Width, args ...Arg) Inst {
	in := Inst{Op: op, Width: w, Mask: NoReg}
	copy(in.Args[:], args)
	return in
}

// Masked returns in under mask k, merging or zeroing.
func (in Inst) Masked(k Reg, zero bool) Inst {
	in.Mask, in.Zero = k, zero
	return in
}

// String is the instruction as listings of virtual code have it.
func (in Inst) String() string {
	s := names[in.Op]
	if strings.HasPrefix(s, "V") {
		s += fmt.Sprintf(".%d", 8*in.Width.Bytes())
	}
	for i, a := range in.Args {
		if a.Kind == ArgNone {
			break
		}
		s += []string{" ", ", "}[min(i, 1)] + a.String()
	}
	if in.Mask != NoReg {
		s += fmt.Sprintf(" under %s", in.Mask)
	}
	return s
}
