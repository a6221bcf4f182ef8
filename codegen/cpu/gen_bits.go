package cpu

import (
	"github.com/gompss/gompss/codegen/cpu/x86"
	"github.com/gompss/gompss/codegen/ir"
)

// vecBits evaluates the functions of math/bits that shifts and sums of fields do; ok is false for
// others. Small integers lie in 32 bits, with zeros above them.
//
// Source: Warren, "Hacker's Delight", 2nd edition, sections 5-1 (population count), 5-3, 5-4
// (zeros) and 7-1 (reversal).
func (g *gen) vecBits(dst []x86.Reg, e *ir.Math) (out []x86.Reg, ok bool) {
	t := e.Args[0].Type()
	if !t.IsInteger() {
		return nil, false
	}
	s := g.seriesOf(ir.Uint32Type, g.width(t))
	if container(t) == 8 {
		s.Type = ir.Uint64Type
	}
	width := 8 * int64(t.Size)
	f := map[ir.MathFn]func(x x86.Reg) x86.Reg{
		ir.OnesCount:     func(x x86.Reg) x86.Reg { return s.OnesCount(x, width) },
		ir.BitLen:        func(x x86.Reg) x86.Reg { return s.BitLen(x, width) },
		ir.LeadingZeros:  func(x x86.Reg) x86.Reg { return s.LeadingZeros(x, width) },
		ir.TrailingZeros: func(x x86.Reg) x86.Reg { return s.TrailingZeros(x, width) },
		ir.Reverse:       func(x x86.Reg) x86.Reg { return s.ReverseBytes(s.ReverseInBytes(x), width) },
		ir.ReverseBytes:  func(x x86.Reg) x86.Reg { return s.ReverseBytes(x, width) },
	}[e.Fn]
	if k, isConst := rotation(e); isConst {
		f = func(x x86.Reg) x86.Reg { return s.Rotate(x, k&(width-1), width) }
	}
	if f == nil {
		return nil, false
	}
	x := g.vec(e.Args[0])
	if container(e.T) > container(t) { // counts are of type int
		counts := g.lift(nil, x, x, func(d, x, _ x86.Reg) { g.move(d, f(x)) })
		return g.widen(dst, counts, ir.Uint32Type, e.T, x86.VPMOVZXDQ), true
	}
	return g.lift(dst, x, x, func(d, x, _ x86.Reg) { g.move(d, f(x)) }), true
}

// rotation is the count of a RotateLeft by a constant.
func rotation(e *ir.Math) (k int64, ok bool) {
	if e.Fn != ir.RotateLeft {
		return 0, false
	}
	return ir.ConstInt(e.Args[1])
}
