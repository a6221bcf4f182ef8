package cuda

import (
	"strings"

	"github.com/gompss/gompss/codegen/internal/cprint"
	"github.com/gompss/gompss/codegen/ir"
)

// A ctype is the C++ type of a printed expression, as far as the rules of C++ arithmetic care.
type ctype uint8

const (
	other ctype = iota // structs, slices, pointers
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

var ctypeNames = [...]string{"", "bool", "int8", "int16", "int", "int64", "uint8", "uint16", "unsigned", "uint64", "float", "double"}

func (c ctype) String() string { return ctypeNames[c] }

// ctypeOf returns the C++ type of a Go type's values in memory.
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

func (c ctype) isInt() bool      { return c >= i8 && c <= u64 }
func (c ctype) isUnsigned() bool { return c >= u8 && c <= u64 }

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

// promote is C++'s integral promotion.
func (c ctype) promote() ctype {
	if c == boolean || c.isInt() && c.bits() < 32 {
		return i32
	}
	return c
}

// common is the type in which C++ computes a op b.
func common(a, b ctype) ctype {
	a, b = a.promote(), b.promote()
	switch {
	case !a.isInt() || !b.isInt():
		return max(a, b)
	case a.bits() != b.bits() && a.bits() > b.bits():
		return a
	case a.bits() != b.bits():
		return b
	}
	return max(a, b) // of equal width, unsigned wins
}

func signed(bits int) ctype {
	if bits == 64 {
		return i64
	}
	return i32
}

func unsigned(bits int) ctype {
	if bits == 64 {
		return u64
	}
	return u32
}

// The binding strengths of C++.
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

// exact says that a value is Go's value; any other number of bits m that it is Go's value modulo
// 2^m.
const exact = 1000

// A val is a printed expression. Where bits is not exact, the text has to be cast to the type of
// the Go value before anything but an addition, subtraction or multiplication, or an assignment,
// may use it.
type val struct {
	text string
	prec int
	ct   ctype
	bits int
}

func value(text string, prec int, ct ctype) val { return val{text, prec, ct, exact} }

// at returns the text of v in a place that asks for a binding strength.
func (v val) at(prec int) string {
	if v.prec < prec {
		return "(" + v.text + ")"
	}
	return v.text
}

// cast returns v converted to ct. Casting to a type with as many bits as v has right makes it
// exact.
func (v val) cast(ct ctype) val {
	if v.ct == ct && v.bits == exact {
		return v
	}
	text := "(" + ct.String() + ")" + v.at(precUnary)
	if cprint.IsNumber(v.text) && ct == u32 {
		text = v.text + "u"
	}
	if cprint.IsNumber(v.text) && ct == u64 {
		text = v.text + "ull"
	}
	return value(text, precUnary, ct)
}

// beside returns v as an operand of an operation in ct: a negative number beside an unsigned one
// gets an explicit conversion.
func (v val) beside(ct ctype) val {
	digits := strings.TrimSuffix(v.text, "ll")
	if !ct.isUnsigned() || !strings.HasPrefix(digits, "-") || !cprint.IsNumber(digits[1:]) || digits != v.text && ct.bits() < 64 {
		return v
	}
	suffix := "u"
	if ct.bits() == 64 {
		suffix = "ull"
	}
	return val{text: digits + suffix, prec: v.prec, ct: ct, bits: ct.bits()}
}
