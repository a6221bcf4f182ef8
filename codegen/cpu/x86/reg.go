package x86

import "fmt"

// A Reg is a machine register: 0 to 15 general, 16 to 47 vector, 48 to 55 mask.
type Reg uint16

// The first register of each class, and none.
const (
	AX    Reg = 0
	CX    Reg = 1
	DX    Reg = 2
	BX    Reg = 3
	SP    Reg = 4
	BP    Reg = 5
	SI    Reg = 6
	DI    Reg = 7
	R8    Reg = 8
	V0    Reg = 16
	K0    Reg = 48
	NoReg Reg = 0xFFFF
	RIP   Reg = 56 // as the base of a Mem: an address relative to the end of the instruction
)

// V returns vector register i, 0 to 31.
func V(i int) Reg { return V0 + Reg(i) }

// K returns mask register i, 0 to 7. K0 as an instruction's mask means no mask.
func K(i int) Reg { return K0 + Reg(i) }

// R returns general register i, 0 to 15.
func R(i int) Reg { return Reg(i) }

func (r Reg) isGeneral() bool { return r < V0 }
func (r Reg) isVector() bool  { return r >= V0 && r < K0 }
func (r Reg) isMask() bool    { return r >= K0 && r < K0+8 }

// num is the register's number within its class.
func (r Reg) num() uint8 {
	switch {
	case r.isGeneral():
		return uint8(r)
	case r.isVector():
		return uint8(r - V0)
	}
	return uint8(r - K0)
}

var generalNames = [16]string{"AX", "CX", "DX", "BX", "SP", "BP", "SI", "DI", "R8", "R9", "R10", "R11", "R12", "R13", "R14", "R15"}

// Name is the register as the Go assembler writes it, at a vector width.
func (r Reg) Name(w Width) string {
	switch {
	case r == NoReg:
		return "none"
	case r == RIP:
		return "IP"
	case r.isGeneral():
		return generalNames[r]
	case r.isVector():
		return fmt.Sprintf("%c%d", "XYZ"[w], r.num())
	}
	return fmt.Sprintf("K%d", r.num())
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

// At is the address base + disp.
func At(base Reg, disp int32) Mem { return Mem{Base: base, Index: NoReg, Scale: 1, Disp: disp} }

func (m Mem) text(w Width) string {
	s := ""
	if m.Disp != 0 {
		s = fmt.Sprint(m.Disp)
	}
	s += "(" + m.Base.Name(w) + ")"
	if m.Index != NoReg {
		s += fmt.Sprintf("(%s*%d)", m.Index.Name(w), m.Scale)
	}
	return s
}

// An ArgKind is the kind of an operand: register, memory or immediate.
type ArgKind uint8

const (
	argNone ArgKind = iota
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

// An Inst is one instruction. Args stand in Intel's order, destination first. Mask (K1 to K7, or
// NoReg) and Zero are EVEX masking. Width is the length that the encoding states; operands of
// another length follow from the form.
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
