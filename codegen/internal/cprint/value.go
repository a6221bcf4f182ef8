package cprint

import "strings"

// The binding strengths of C.
const (
	PrecNone    = 0
	PrecCond    = 3
	PrecLOr     = 4
	PrecLAnd    = 5
	PrecOr      = 6
	PrecXor     = 7
	PrecAnd     = 8
	PrecEq      = 9
	PrecRel     = 10
	PrecShift   = 11
	PrecAdd     = 12
	PrecMul     = 13
	PrecUnary   = 14
	PrecPostfix = 15
)

// Exact says that a value is Go's value; any other number of bits m that it is Go's value modulo
// 2^m.
const Exact = 1000

// A Val is a printed expression. Where Bits is not Exact, the text has to be cast to the type of
// the Go value before anything but an addition, subtraction or multiplication, or an assignment,
// may use it.
type Val struct {
	Text string
	Prec int
	Type Type
	Bits int
}

// Value returns an exact value.
func Value(text string, prec int, t Type) Val { return Val{text, prec, t, Exact} }

// At returns the text of v in a context that needs a binding strength.
func (v Val) At(prec int) string {
	if v.Prec < prec {
		return "(" + v.Text + ")"
	}
	return v.Text
}

// Number returns the text of a number, negative or not, as a value.
func Number(s string, t Type) Val {
	if s[0] == '-' {
		return Value(s, PrecUnary, t)
	}
	return Value(s, PrecPostfix, t)
}

// Minus prints -x; two signs are kept apart.
func Minus(x Val, t Type) Val {
	text := x.At(PrecUnary)
	if strings.HasPrefix(text, "-") {
		text = "(" + text + ")"
	}
	return Value("-"+text, PrecUnary, t)
}

// Modulo returns v as Go's value modulo 2^bits where inexact, else as it is.
func (v Val) Modulo(bits int, inexact bool) Val {
	if inexact {
		v.Bits = bits
	}
	return v
}

// IsExact reports whether v is Go's value.
func (v Val) IsExact() bool { return v.Bits == Exact }
