package vector

import (
	"slices"

	"github.com/gompss/gompss/codegen/cpu/vcode"
	"github.com/gompss/gompss/codegen/ir"
)

// Vectors know the lanes: how many there are, in how many unrolled copies, and which are on.
type Vectors struct {
	Locked
	Lanes  int
	Unroll int
	First  int         // the copy that is selected, where they are selected one by one
	Wanted int         // unrolled copies in the main loop
	Exec   []vcode.Reg // lanes that are on, one mask a copy; nil: all
	Prefix vcode.Reg   // in the tail: how many lanes from the first are in range
	Split  bool        // Exec is narrower than the prefix

	narrowed narrowed
}

// Width is the length of a vector of g.lanes values of type t.
// Width is that of a vector with a t in each lane; where that is more than a vector holds, all
// lanes have the same.
func (g *Vectors) Width(t *ir.Type) vcode.Width { return WidthOf(min(g.Lanes*Container(t), g.Bytes)) }

// Fills reports whether a t in each lane fills a vector of its width: where lanes are 8 bytes of
// 16, shorter numbers do not, and more must not be read or written in memory.
func (g *Vectors) Fills(t *ir.Type) bool { return g.Lanes*Container(t) >= 16 }

// Same returns r for every unrolled copy.
func (g *Vectors) Same(r vcode.Reg) []vcode.Reg {
	out := make([]vcode.Reg, g.Unroll)
	for i := range out {
		out[i] = r
	}
	return out
}

// Each calls f for every unrolled copy.
func (g *Vectors) Each(f func(u int)) {
	for u := range g.Unroll {
		f(u)
	}
}

// IotaVector returns 0, stride, 2*stride, ... in lanes of size bytes.
func (g *Vectors) IotaVector(stride int64, size int) vcode.Reg {
	key := constKey{size: size, iota: stride, lanes: g.Lanes}
	if r, ok := g.consts[key]; ok {
		return r
	}
	r := g.NewVector()
	g.consts[key] = r
	at := g.AlignPool(64)
	for l := range int64(g.Lanes) {
		g.PoolWord(uint64(l*stride), size)
	}
	g.LoadAtEntry(vcode.VLoadF32, WidthOf(g.Lanes*size), r, at)
	return r
}

// CopiesOf is the number of unrolled copies that a slow check has to look at.
func (g *Vectors) CopiesOf(exec []vcode.Reg) int {
	if exec != nil {
		return len(exec)
	}
	return g.Unroll
}

// Into returns dst, or fresh registers.
func (g *Vectors) Into(dst []vcode.Reg) []vcode.Reg {
	if dst != nil {
		return dst
	}
	return g.NewVectors(g.Unroll)
}

// Lift runs a two-operand operation on every copy, once where the operands are the same for all.
func (g *Vectors) Lift(dst []vcode.Reg, x, y []vcode.Reg, f func(d, x, y vcode.Reg)) []vcode.Reg {
	if dst == nil && AllSame(x) && AllSame(y) && g.Unroll > 1 {
		d := g.NewVector()
		f(d, x[0], y[0])
		return g.Same(d)
	}
	dst = g.Into(dst)
	g.Each(func(u int) { f(dst[u], x[u], y[u]) })
	return dst
}

func AllSame(x []vcode.Reg) bool {
	for _, r := range x {
		if r != x[0] {
			return false
		}
	}
	return true
}

func RegArgs(r []vcode.Reg) []vcode.Arg {
	out := make([]vcode.Arg, len(r))
	for i := range r {
		out[i] = vcode.RegArg(r[i])
	}
	return out
}

// Accumulator returns registers that hold s and may be overwritten: s itself where it is dst or a
// temporary.
func (g *Vectors) Accumulator(dst, s []vcode.Reg, sum ir.Expr, x []vcode.Reg, y []vcode.Arg) []vcode.Reg {
	if dst != nil && &dst[0] == &s[0] {
		return dst
	}
	if dst == nil && !AllSame(s) && temporary(sum) {
		return s
	}
	if dst == nil || Touches(dst, x, y) {
		dst = g.NewVectors(g.Unroll)
	}
	g.Each(func(u int) { g.Move(dst[u], s[u]) })
	return dst
}

// temporary reports whether the value of e is in registers that hold nothing else.
func temporary(e ir.Expr) bool {
	switch e := e.(type) {
	case *ir.Binary, *ir.Index, *ir.Member:
		return true
	case *ir.Math:
		return e.Fn != ir.Float32FromBits && e.Fn != ir.Float64FromBits // of a variable they are the registers of that
	case *ir.Convert:
		return !ir.Same(e.T, e.X.Type())
	}
	return false
}

// Touches reports whether a register of dst is one of x or y, which need not be as many.
func Touches(dst, x []vcode.Reg, y []vcode.Arg) bool {
	return slices.ContainsFunc(dst, func(r vcode.Reg) bool {
		return slices.Contains(x, r) || slices.ContainsFunc(y, func(a vcode.Arg) bool { return a.Kind == vcode.ArgReg && a.Reg == r })
	})
}
