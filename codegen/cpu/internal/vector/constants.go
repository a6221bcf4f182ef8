package vector

import (
	"fmt"

	"github.com/gompss/gompss/codegen/cpu/mach"
	"github.com/gompss/gompss/codegen/cpu/vcode"
	"github.com/gompss/gompss/codegen/cpu/vecmath"
	"github.com/gompss/gompss/codegen/ir"
)

type constKey struct {
	bits  uint64
	size  int
	iota  int64 // stride of an iota vector; it may be 0
	lanes int   // of an iota vector, 0 for a broadcast
}

// ConstVector returns a register that holds the constant in every lane; it is loaded once, at the
// entry.
func (g *Registers) ConstVector(bits uint64, size int) vcode.Reg {
	key := constKey{bits: bits & (1<<(8*size-1)<<1 - 1), size: size}
	if r, ok := g.consts[key]; ok {
		return r
	}
	r := g.NewVector()
	g.consts[key] = r
	op, w := vcode.VBroadcastF32, WidthOf(g.Bytes)
	if size == 8 {
		op, w = vcode.VBroadcastF64, max(w, vcode.W256) // there is none for 16 bytes
	}
	g.LoadAtEntry(op, w, r, g.PoolWord(key.bits, size))
	return r
}

// Pattern is a register with these numbers, loaded once, at the entry.
func (g *Registers) Pattern(numbers []int64, size int) vcode.Reg {
	key := fmt.Sprint(size, numbers)
	if r, ok := g.patterns[key]; ok {
		return r
	}
	at, r := g.AlignPool(64), g.NewVector()
	for _, n := range numbers {
		g.PoolWord(uint64(n), size)
	}
	g.LoadAtEntry(vcode.VLoadF32, WidthOf(len(numbers)*size), r, at)
	g.patterns[key] = r
	return r
}

// AllOnes is a vector of ones.
func (g *Registers) AllOnes(w vcode.Width) vcode.Reg {
	return g.ConstVector(1<<64-1, 8)
}

// SeriesOf is that for vectors of width w.
func (g *Registers) SeriesOf(t *ir.Type, w vcode.Width) vecmath.Series {
	extra := vecmath.Operations(0)
	if g.ISA == mach.ARM64 {
		extra |= vecmath.LongProducts | vecmath.SumsInPlace
	}
	if g.ISA.Extremes() {
		extra |= vecmath.Extremes
	}
	return vecmath.New(g, vecmath.Features{AVX512: g.AVX512, FastMath: g.Kernel.Target.FastMath, Extra: extra}, t, w)
}

// PoolOnce puts n copies of a constant into the pool, and does so once.
func (g *Registers) PoolOnce(bits uint64, size, n int) int {
	key := constKey{bits: bits, size: size, iota: -int64(n)}
	if at, ok := g.pooled[key]; ok {
		return at
	}
	at := g.PoolWord(bits, size)
	for range n - 1 {
		g.PoolWord(bits, size)
	}
	g.pooled[key] = at
	return at
}
