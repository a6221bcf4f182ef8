//go:build linux && (amd64 || arm64)

package codegen_test

import "fmt"

// Operations that are wrapped around expressions at times: what vectors do by several instructions. They are chosen from numbers of their own, so that
// what else a kernel holds does not depend on them.

// wrapInteger is e, or a shift by a count that differs between lanes, a rotation, a count of bits, a division by a constant, or a float cut to an
// integer, of e.
func (w *loops) wrapInteger(e string) string {
	if w.rows.IntN(12) != 0 {
		return e
	}
	pick := func(list ...string) string { return list[w.rows.IntN(len(list))] }
	width := pick("8", "16", "32", "64")
	word := "uint" + width
	switch w.rows.IntN(7) {
	case 0, 1:
		count := pick("uint8(i)", "(ix[i] & 63)", "uint64(ia[i])", "uint32(q)", "uint16(ib[n-1-i])", "uint64(k)", "(int8(ia[i]) & 31)", "(int16(p) & 99)", "(int64(q) & 70)", "uint8(ix[i])%20")
		return fmt.Sprintf("(%s %s %s)", e, pick("<<", ">>"), count)
	case 2:
		return fmt.Sprintf("I(bits.RotateLeft%s(%s(%s), %s))", width, word, e, pick("int(ix[i])", "i-3", "int(ia[i])", "-n", "int(p)"))
	case 3:
		return fmt.Sprintf("I(bits.%s%s(%s(%s)))", pick("LeadingZeros", "TrailingZeros", "OnesCount", "Len"), width, word, e)
	case 4:
		return fmt.Sprintf("I(bits.Reverse%s(%s(%s)))", width, word, e)
	case 5:
		return fmt.Sprintf("(%s %s %s)", e, pick("/", "%"), pick("3", "7", "10", "16", "100", "125"))
	}
	return fmt.Sprintf("(%s ^ I(%s))", e, pick("x", "y", "fa[i]", "fb[n-1-i]", "x*1e6", "y*1e12"))
}

// wrapFloat is e, or an exact function of e. The sign that is copied is that of a number: which sign a NaN has is not said.
func (w *loops) wrapFloat(e string) string {
	if w.rows.IntN(12) != 0 {
		return e
	}
	pick := func(list ...string) string { return list[w.rows.IntN(len(list))] }
	number := pick("F(ix[i]%5-2)", "F(i-7)", "F(ia[i])", "F(0.75)")
	return fmt.Sprintf("kernel.%s(%s, %s)", pick("Copysign", "Dim", "Mod", "Remainder"), e, number)
}
