package x86

import (
	"fmt"
	"strings"
)

// fields are the parts of a VEX or EVEX encoding, collected from the operands before any byte is
// written.
type fields struct {
	reg      uint8 // ModRM.reg, 5 bits
	vvvv     uint8 // 5 bits
	rm       Arg
	imm32    int32
	immBytes uint8 // 0, 1 or 4
}

// Append adds the machine code of in to code. The error says which operand or width the form does
// not have.
func Append(code []byte, in Inst) ([]byte, error) {
	if in.Op == NoOp || in.Op >= NumForms {
		return code, fmt.Errorf("cpu: assembler: unknown operation %d", in.Op)
	}
	f := &Forms[in.Op]
	fl, err := f.assign(in)
	if err != nil {
		return code, err
	}
	if f.Flags&Legacy != 0 {
		return f.appendLegacy(code, fl), nil
	}
	evex, err := f.chooseEVEX(in)
	if err != nil {
		return code, err
	}
	if evex {
		return f.appendEVEX(code, in, fl), nil
	}
	return f.appendVEX(code, in, fl), nil
}

// assign puts the operands into the fields that the layout names.
func (f *Form) assign(in Inst) (fields, error) {
	a := in.Args
	var fl fields
	fl.reg = f.digit
	switch f.Layout {
	case lRVM, LayoutRVMI, LayoutRVMX:
		fl.reg, fl.vvvv, fl.rm = a[0].Reg.num(), a[1].Reg.num(), a[2]
		if f.Layout == LayoutRVMI {
			fl.setImm(a[3].Imm)
		} else if f.Layout == LayoutRVMX {
			fl.setImm(int64(a[3].Reg.num()) << 4)
		}
	case lRM, LayoutRMI:
		fl.reg, fl.rm = a[0].Reg.num(), a[1]
		if f.Layout == LayoutRMI {
			fl.setImm(a[2].Imm)
			if f.Flags&Legacy != 0 {
				fl.immBytes = f.Elem
			}
		}
	case lMR, LayoutMRI:
		fl.rm, fl.reg = a[0], a[1].Reg.num()
		if f.Layout == LayoutMRI {
			fl.setImm(a[2].Imm)
		}
	case LayoutVMI:
		fl.vvvv, fl.rm = a[0].Reg.num(), a[1]
		fl.setImm(a[2].Imm)
	case lRMV:
		fl.reg, fl.rm, fl.vvvv = a[0].Reg.num(), a[1], a[2].Reg.num()
	case lMVR:
		fl.rm, fl.vvvv, fl.reg = a[0], a[1].Reg.num(), a[2].Reg.num()
	case LayoutMI:
		fl.rm = a[0]
		fl.imm32, fl.immBytes = int32(a[1].Imm), f.Elem
	case lM:
		fl.rm = a[0]
	}
	if fl.rm.Kind != ArgReg && fl.rm.Kind != ArgMem {
		return fl, fmt.Errorf("cpu: assembler: %s: operand missing", f.Name)
	}
	return fl, nil
}

func (fl *fields) setImm(v int64) { fl.imm32, fl.immBytes = int32(v), 1 }

// chooseEVEX decides between the encodings: VEX, which is shorter, wherever it can say the same.
func (f *Form) chooseEVEX(in Inst) (bool, error) {
	need := in.Width == W512 && f.Flags&fNoLen == 0 || in.Mask != NoReg
	for _, a := range in.Args {
		switch a.Kind {
		case ArgReg:
			need = need || a.Reg.isVector() && a.Reg.num() >= 16 || f.Flags&ToMask != 0 && a.Reg.isMask()
		case ArgMem:
			need = need || a.Mem.Broadcast || a.Mem.Index != NoReg && a.Mem.Index.isVector() && a.Mem.Index.num() >= 16
		}
	}
	if need && f.Flags&fEVEX == 0 {
		return false, fmt.Errorf("cpu: assembler: %s has no EVEX encoding, which its operands need", f.Name)
	}
	return need || f.Flags&fVEX == 0, nil
}

// highBits are the fourth and fifth bits of reg, index and base, as prefixes carry them.
type highBits struct{ r, r2, x, b uint8 }

func (fl *fields) high(evex bool) highBits {
	h := highBits{r: fl.reg >> 3 & 1, r2: fl.reg >> 4 & 1}
	if fl.rm.Kind == ArgReg {
		n := fl.rm.Reg.num()
		h.b = n >> 3 & 1
		if evex {
			h.x = n >> 4 & 1
		}
		return h
	}
	if fl.rm.Mem.Base != RIP {
		h.b = fl.rm.Mem.Base.num() >> 3 & 1
	}
	if fl.rm.Mem.Index != NoReg {
		h.x = fl.rm.Mem.Index.num() >> 3 & 1
	}
	return h
}

func (f *Form) length(in Inst) uint8 {
	switch {
	case f.Flags&fNoLen != 0:
		return 0
	case f.Flags&fLen256 != 0 && in.Width < W256:
		return 1
	}
	return uint8(in.Width)
}

func (f *Form) appendVEX(code []byte, in Inst, fl fields) []byte {
	h := fl.high(false)
	w := uint8(0)
	if f.Flags&fVexW != 0 {
		w = 1
	}
	last := (^fl.vvvv&15)<<3 | f.length(in)<<2 | f.pp
	if h.x == 0 && h.b == 0 && w == 0 && f.mm == m0F {
		code = append(code, 0xC5, (h.r^1)<<7|last)
	} else {
		code = append(code, 0xC4, (h.r^1)<<7|(h.x^1)<<6|(h.b^1)<<5|f.mm, w<<7|last)
	}
	code = append(code, f.op)
	return fl.appendOperands(code, 1)
}

// appendLegacy writes an instruction on general registers. The low bytes of SP, BP, SI and DI need
// a REX prefix.
func (f *Form) appendLegacy(code []byte, fl fields) []byte {
	if f.Flags&fLock != 0 {
		code = append(code, 0xF0)
	}
	if f.pp != pNone {
		code = append(code, [...]byte{0, 0x66, 0xF3, 0xF2}[f.pp])
	}
	op := f.op
	if f.mm == m00 && op < 0x40 && fl.rm.Kind == ArgReg {
		// Between registers the Go assembler writes the form that stores; so do we, to be
		// comparable.
		op -= 2
		fl.reg, fl.rm = fl.rm.Reg.num(), RegArg(R(int(fl.reg)))
	}
	h := fl.high(false)
	lowByte := strings.HasSuffix(f.widths, "b") && (f.Layout == lMR && fl.reg >= 4 ||
		f.Layout != lMR && fl.rm.Kind == ArgReg && fl.rm.Reg.num() >= 4)
	if rex := f.w<<3 | h.r<<2 | h.x<<1 | h.b; rex != 0 || lowByte {
		code = append(code, 0x40|rex)
	}
	if f.mm == m0F {
		code = append(code, 0x0F)
	}
	code = append(code, op)
	return fl.appendOperands(code, 1)
}

func (f *Form) appendEVEX(code []byte, in Inst, fl fields) []byte {
	h := fl.high(true)
	v2 := fl.vvvv >> 4 & 1
	broadcast := uint8(0)
	if fl.rm.Kind == ArgMem {
		if f.Flags&VSIB != 0 {
			v2 = fl.rm.Mem.Index.num() >> 4 & 1
		}
		if fl.rm.Mem.Broadcast {
			broadcast = 1
		}
	}
	mask, zero := uint8(0), uint8(0)
	if in.Mask != NoReg {
		mask = in.Mask.num()
		if in.Zero {
			zero = 1
		}
	}
	code = append(code, 0x62,
		(h.r^1)<<7|(h.x^1)<<6|(h.b^1)<<5|(h.r2^1)<<4|f.mm,
		f.w<<7|(^fl.vvvv&15)<<3|1<<2|f.pp,
		zero<<7|f.length(in)<<5|broadcast<<4|(v2^1)<<3|mask,
		f.op)
	return fl.appendOperands(code, f.dispScale(in.Width, broadcast == 1))
}

// dispScale is N of the compressed displacement disp8*N.
func (f *Form) dispScale(w Width, broadcast bool) int32 {
	full := int32(w.Bytes())
	switch f.tuple {
	case tFull:
		if broadcast {
			return int32(f.Elem)
		}
		return full
	case tHalf:
		if broadcast {
			return int32(f.Elem)
		}
		return full / 2
	case tHalfMem:
		return full / 2
	case tQuarterMem:
		return full / 4
	case tEighthMem:
		return full / 8
	case tScalar:
		return int32(f.Elem)
	case tQuad32:
		return 16
	case tOct32:
		return 32
	}
	return full
}

func (fl *fields) appendOperands(code []byte, scale int32) []byte {
	code = appendModRM(code, fl.reg, fl.rm, scale)
	for i := range fl.immBytes {
		code = append(code, uint8(fl.imm32>>(8*i)))
	}
	return code
}

// appendModRM writes ModRM, SIB and displacement; a displacement that is a multiple of scale and
// fits is written as 8 bits.
func appendModRM(code []byte, reg uint8, rm Arg, scale int32) []byte {
	reg = reg & 7 << 3
	if rm.Kind == ArgReg {
		return append(code, 3<<6|reg|rm.Reg.num()&7)
	}
	m := rm.Mem
	if m.Base == RIP {
		return append(code, reg|5, uint8(m.Disp), uint8(m.Disp>>8), uint8(m.Disp>>16), uint8(m.Disp>>24))
	}
	base := m.Base.num() & 7
	mod, disp8 := uint8(2), m.Disp/scale
	switch {
	case m.Disp == 0 && base != 5: // BP and R13 as base always carry a displacement
		mod = 0
	case m.Disp%scale == 0 && disp8 >= -128 && disp8 <= 127:
		mod = 1
	}
	if m.Index == NoReg && base != 4 { // SP and R12 as base need a SIB byte
		code = append(code, mod<<6|reg|base)
	} else {
		code = append(code, mod<<6|reg|4, sib(m)|base)
	}
	switch mod {
	case 1:
		code = append(code, uint8(int8(disp8)))
	case 2:
		code = append(code, uint8(m.Disp), uint8(m.Disp>>8), uint8(m.Disp>>16), uint8(m.Disp>>24))
	}
	return code
}

func sib(m Mem) uint8 {
	index := uint8(4)
	if m.Index != NoReg {
		index = m.Index.num() & 7
	}
	scale := map[uint8]uint8{0: 0, 1: 0, 2: 1, 4: 2, 8: 3}[m.Scale]
	return scale<<6 | index<<3
}
