package cprint

import "github.com/gompss/gompss/codegen/ir"

// A Type is the C type of a printed expression, as far as the rules of C arithmetic care. A Dialect
// has its name.
type Type uint8

// The types.
const (
	Other Type = iota // structs, slices, pointers
	Bool
	I8
	I16
	I32
	I64
	U8
	U16
	U32
	U64
	F32
	F64
)

// TypeOf returns the C type of a Go type's values in memory.
func TypeOf(t *ir.Type) Type {
	switch t.Kind {
	case ir.Bool:
		return Bool
	case ir.Int8, ir.Int16, ir.Int32, ir.Int64:
		return I8 + Type(t.Kind-ir.Int8)
	case ir.Uint8, ir.Uint16, ir.Uint32, ir.Uint64:
		return U8 + Type(t.Kind-ir.Uint8)
	case ir.Float32:
		return F32
	case ir.Float64:
		return F64
	}
	return Other
}

// IsInt reports whether t is an integer.
func (t Type) IsInt() bool { return t >= I8 && t <= U64 }

// IsUnsigned reports whether t is an unsigned integer.
func (t Type) IsUnsigned() bool { return t >= U8 && t <= U64 }

// IsSigned reports whether t is a signed integer.
func (t Type) IsSigned() bool { return t >= I8 && t <= I64 }

// Bits is the width of t.
func (t Type) Bits() int {
	switch t {
	case Bool, I8, U8:
		return 8
	case I16, U16:
		return 16
	case I32, U32, F32:
		return 32
	}
	return 64
}

// Promote is C's integral promotion.
func (t Type) Promote() Type {
	if t == Bool || t.IsInt() && t.Bits() < 32 {
		return I32
	}
	return t
}

// Common is the type in which C computes a op b.
func Common(a, b Type) Type {
	a, b = a.Promote(), b.Promote()
	switch {
	case !a.IsInt() || !b.IsInt():
		return max(a, b)
	case a.Bits() > b.Bits():
		return a
	case a.Bits() < b.Bits():
		return b
	}
	return max(a, b) // of equal width, unsigned wins
}

// Signed is the signed integer of a width, but at least of 32 bits.
func Signed(bits int) Type {
	if bits == 64 {
		return I64
	}
	return I32
}

// Unsigned is the unsigned integer of a width, but at least of 32 bits.
func Unsigned(bits int) Type {
	if bits == 64 {
		return U64
	}
	return U32
}

// Width is the number of bits of a scalar type of Go.
func Width(t *ir.Type) int { return int(t.Size) * 8 }
