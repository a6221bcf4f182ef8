package x86

import (
	"fmt"
	"slices"
	"strings"
)

// String is the instruction in the Go assembler's syntax: operands in reverse, destination last.
func (in Inst) String() string {
	f := &Forms[in.Op]
	var args []string
	for i, a := range in.Args {
		if a.Kind == argNone {
			break
		}
		args = append(args, f.argText(in, i, a))
	}
	order := make([]string, 0, len(args)+1)
	for i := len(args) - 1; i >= 0; i-- {
		order = append(order, args[i])
	}
	if f.Name == "CMPQ" { // the one instruction that Go writes in Intel's order
		slices.Reverse(order)
	}
	if in.Mask != NoReg {
		at := len(order) - 1
		order = append(order[:at], append([]string{in.Mask.Name(W512)}, order[at:]...)...)
	}
	return strings.TrimSpace(f.Name + in.suffix() + " " + strings.Join(order, ", "))
}

// narrowing is the set of conversions whose memory form does not tell the length: Go adds X or Y to
// the mnemonic.
var narrowing = map[Op]bool{VCVTTPD2DQ: true, VCVTPD2PS: true, VCVTQQ2PS: true, VCVTUQQ2PS: true, VCVTTPD2UDQ: true}

func (in Inst) suffix() string {
	s := ""
	if narrowing[in.Op] && in.Width < W512 {
		s = "XY"[in.Width : in.Width+1]
	}
	for _, a := range in.Args {
		if a.Kind == ArgMem && a.Mem.Broadcast {
			s += ".BCST"
		}
	}
	if in.Mask != NoReg && in.Zero {
		s += ".Z"
	}
	return s
}

func (f *Form) argText(in Inst, i int, a Arg) string {
	w := f.argWidth(in.Width, i)
	switch a.Kind {
	case ArgReg:
		return a.Reg.Name(w)
	case ArgMem:
		return a.Mem.text(w)
	}
	return fmt.Sprintf("$%d", a.Imm)
}

// argWidth is the length of operand i, as the table's last column says.
func (f *Form) argWidth(w Width, i int) Width {
	if i >= len(f.widths) {
		return W128
	}
	shrink := func(by Width) Width {
		if w < by {
			return W128
		}
		return w - by
	}
	switch f.widths[i] {
	case 'v', 'm': // a compare of AVX writes a vector where AVX-512 writes a mask
		return w
	case 'h':
		return shrink(1)
	case 'q':
		return shrink(2)
	case 'e':
		return shrink(3)
	case 'y':
		return W256
	}
	return W128
}
