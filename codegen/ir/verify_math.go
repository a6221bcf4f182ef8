package ir

import "strings"

// signatures has one letter for each argument of a function, a colon, and one for the result: f
// float of the type of the first argument, i integer likewise, u unsigned likewise, n int, b bool,
// s and d float32 and float64, 4 and 8 the unsigned integers of these widths.
var signatures = map[MathFn]string{
	FMA: "fff:f", IsNaN: "f:b", IsInf: "fn:b", Signbit: "f:b", IMin: "ii:i", IMax: "ii:i",
	Float32Bits: "s:4", Float32FromBits: "4:s", Float64Bits: "d:8", Float64FromBits: "8:d",
	LeadingZeros: "u:n", TrailingZeros: "u:n", OnesCount: "u:n", BitLen: "u:n", Reverse: "u:u", ReverseBytes: "u:u",
	RotateLeft: "un:u", MulHi: "uu:u",
}

func signature(fn MathFn) string {
	switch {
	case fn >= numMath:
	case signatures[fn] != "":
		return signatures[fn]
	case binaryFloat[fn] != nil:
		return "ff:f"
	case unaryFloat[fn] != nil || fn == Rsqrt:
		return "f:f"
	}
	return ""
}

func (v *verifier) math(e *Math) {
	args, result, ok := strings.Cut(signature(e.Fn), ":")
	if !ok {
		v.fail(e.At, "no function %d", e.Fn)
		return
	}
	if len(e.Args) != len(args) {
		v.fail(e.At, "%s of %d arguments, not %d", e.Fn, len(e.Args), len(args))
		return
	}
	for i, a := range e.Args {
		if !v.expr(a) {
			return
		}
		if !fits(args[i], a.Type(), e.Args[0].Type()) {
			v.fail(a.Pos(), "%s: argument %d is %s", e.Fn, i, a.Type())
		}
	}
	if e.T != nil && !fits(result[0], e.T, e.Args[0].Type()) {
		v.fail(e.At, "%s(%s) gives %s", e.Fn, e.Args[0].Type(), e.T)
	}
}

// fits reports whether t is what letter asks for; first is the type of the first argument.
func fits(letter byte, t, first *Type) bool {
	switch letter {
	case 'f':
		return t.IsFloat() && Same(t, first)
	case 'i':
		return t.IsInteger() && Same(t, first)
	case 'u':
		return t.IsInteger() && !t.IsSigned() && Same(t, first)
	}
	return Same(t, map[byte]*Type{'n': IntType, 'b': BoolType, 's': Float32Type, 'd': Float64Type, '4': Uint32Type,
		'8': Uint64Type}[letter])
}
