package opencl

import (
	"github.com/gompss/gompss/codegen/internal/cprint"
	"github.com/gompss/gompss/codegen/ir"
)

// A ctype is the C type of a printed expression, as far as the rules of C arithmetic care.
type ctype uint8

const (
	other ctype = iota // structs and pointers
	boolean
	i8
	i16
	i32
	i64
	u8
	u16
	u32
	u64
	f32
	f64
)

var ctypeNames = [...]string{"", "bool", "char", "short", "int", "long", "uchar", "ushort", "uint", "ulong", "float", "double"}

func (c ctype) String() string { return ctypeNames[c] }

// ctypeOf returns the C type of a Go type's values.
func ctypeOf(t *ir.Type) ctype {
	switch t.Kind {
	case ir.Bool:
		return boolean
	case ir.Int8, ir.Int16, ir.Int32, ir.Int64:
		return i8 + ctype(t.Kind-ir.Int8)
	case ir.Uint8, ir.Uint16, ir.Uint32, ir.Uint64:
		return u8 + ctype(t.Kind-ir.Uint8)
	case ir.Float32:
		return f32
	case ir.Float64:
		return f64
	}
	return other
}

func (c ctype) isUnsigned() bool { return c >= u8 && c <= u64 }
func (c ctype) isSigned() bool   { return c >= i8 && c <= i64 }

func (c ctype) bits() int {
	switch c {
	case boolean, i8, u8:
		return 8
	case i16, u16:
		return 16
	case i32, u32, f32:
		return 32
	}
	return 64
}

// promote is C's integral promotion.
func (c ctype) promote() ctype {
	if c >= boolean && c <= u64 && c.bits() < 32 {
		return i32
	}
	return c
}

// common is the type in which C computes a op b.
func common(a, b ctype) ctype {
	a, b = a.promote(), b.promote()
	if a.bits() != b.bits() && a < f32 && b < f32 {
		if a.bits() > b.bits() {
			return a
		}
		return b
	}
	return max(a, b) // of equal width, unsigned wins
}

// unsignedOf is the unsigned integer of a width, but at least of 32 bits.
func unsignedOf(bits int) ctype {
	if bits == 64 {
		return u64
	}
	return u32
}

func signedOf(bits int) ctype {
	if bits == 64 {
		return i64
	}
	return i32
}

// The binding strengths of C.
const (
	precNone    = 0
	precCond    = 3
	precLOr     = 4
	precLAnd    = 5
	precOr      = 6
	precXor     = 7
	precAnd     = 8
	precEq      = 9
	precRel     = 10
	precShift   = 11
	precAdd     = 12
	precMul     = 13
	precUnary   = 14
	precPostfix = 15
)

// A val is a printed expression. A modular one is an integer that is Go's value modulo 2^width
// only: it has to be cast to the type of the Go value before anything but an addition, subtraction
// or multiplication, or an assignment, may use it.
type val struct {
	text    string
	prec    int
	ct      ctype
	modular bool
}

func value(text string, prec int, ct ctype) val { return val{text: text, prec: prec, ct: ct} }

// at returns the text of v in a place that asks for a binding strength.
func (v val) at(prec int) string {
	if v.prec < prec {
		return "(" + v.text + ")"
	}
	return v.text
}

// cast returns v converted to ct.
func (v val) cast(ct ctype) val {
	if v.ct == ct && !v.modular {
		return v
	}
	if cprint.IsNumber(v.text) && (ct == u32 || ct == u64) {
		return value(v.text+map[ctype]string{u32: "u", u64: "ul"}[ct], precPostfix, ct)
	}
	return value("("+ct.String()+")"+v.at(precUnary), precUnary, ct)
}

// width is the number of bits of an integer.
func width(t *ir.Type) int { return int(t.Size) * 8 }
