package cpu

import (
	"math/bits"

	"github.com/gompss/gompss/codegen/cpu/internal/analysis"
	"github.com/gompss/gompss/codegen/cpu/prepare"
	"github.com/gompss/gompss/codegen/cpu/x86"
	"github.com/gompss/gompss/codegen/ir"
)

// A target is a place in memory, for all lanes.
type target struct {
	mem    x86.Mem   // of lane 0 of copy 0
	stride int64     // bytes from lane to lane; 0: one place for all
	index  []x86.Reg // gather: one index vector a copy, scaled by scale
	size4  bool      // of 4-byte indices
	scale  uint8
	root   *home
	whole  bool        // all lanes may be read, also those that are off
	even   bool        // the indices may be neighbours
	known  []evenness  // whether they are, where it is known
	check  func(u int) // of copy u, where that is not done yet
	limit  x86.Reg     // the lengths less the lanes, and 1: where neighbours may begin, below
}

// access is an element access taken apart: slice, index, and what of the element.
type access struct {
	at    *ir.Index
	root  *home
	size  int64 // bytes of one element of the slice
	inner int64 // bytes from the element's start: fields, constant indices
}

// accessOf takes the place apart into one slice index and constant offsets in the element. Where
// arrays in the element are indexed by what is not constant, all is counted in bytes.
func (g *gen) accessOf(e ir.Expr) access {
	var terms []ir.Expr // in bytes
	inner := int64(0)
	for x := e; ; {
		switch p := x.(type) {
		case *ir.Member:
			inner += int64(p.X.Type().Fields[p.Field].Offset)
			x = p.X
			continue
		case *ir.Index:
			size := int64(p.Type().Size)
			if p.X.Type().Kind == ir.Slice {
				root := g.sliceOf(p.X)
				if root.alone {
					size *= root.per
				}
				if len(terms) == 0 {
					return access{at: p, root: root, size: size, inner: inner}
				}
				return access{at: g.bytewise(p, terms, size), root: root, size: 1, inner: inner}
			}
			if c, ok := ir.ConstInt(p.I); ok {
				inner += c * size
			} else {
				i := ir.ToInt(p.I)
				if p.Checked {
					g.names[p.At] = ir.Source(p.X)
					i = &ir.Binary{Op: prepare.Within, X: i, Y: ir.IntConst(p.X.Type().Len, p.At), T: ir.IntType, At: p.At}
				}
				terms = append(terms, prepare.Scaled(i, size))
			}
			x = p.X
			continue
		}
		g.refuse(e.Pos(), "%s is no element of a slice: pass what it lies in as a slice", ir.Source(e))
	}
}

// bytewise is an index that counts bytes: that of a slice element and those of arrays in it.
func (g *gen) bytewise(p *ir.Index, terms []ir.Expr, size int64) *ir.Index {
	i := ir.ToInt(p.I)
	if p.Checked && !g.safe[p] && !g.always[p] {
		g.names[p.At] = ir.Source(p.X)
		i = &ir.Binary{Op: prepare.Within, X: i, Y: &ir.Len{X: p.X, At: p.At}, T: ir.IntType, At: p.At}
	}
	sum := prepare.Scaled(i, size)
	for _, t := range terms {
		sum = &ir.Binary{Op: ir.Add, X: sum, Y: t, T: ir.IntType, At: p.At}
	}
	return &ir.Index{X: p.X, I: sum, At: p.At}
}

// sliceOf is the home of a slice-valued expression.
func (g *gen) sliceOf(e ir.Expr) *home {
	r, ok := e.(*ir.Ref)
	if !ok {
		g.refuse(e.Pos(), "it is not known what slice %s is a part of: index the parameter itself", ir.Source(e))
	}
	return g.home(r.Var, r.At)
}

// scalarAddress is the address of a uniform element, checked.
func (g *gen) scalarAddress(e ir.Expr) x86.Mem {
	a := g.accessOf(e)
	l := analysis.LinearOf(a.at.I)
	if g.checks(a.at) {
		g.checkAccess(a, l, analysis.Shape{})
	}
	return g.memOf(a, l)
}

// memOf computes the address of lane 0: hoisted pointer + remaining terms + constant.
func (g *gen) memOf(a access, l analysis.Linear) x86.Mem {
	base, rest := g.hoisted(a, l)
	disp := l.C*a.size + a.inner
	if disp != int64(int32(disp)) {
		g.refuse(a.at.At, "a constant index is too large")
	}
	if len(rest) == 0 {
		return x86.At(base, int32(disp))
	}
	if len(rest) == 1 {
		if s := rest[0].Coef * a.size; s == 1 || s == 2 || s == 4 || s == 8 {
			return x86.Indexed(base, g.gp(rest[0].Expr), uint8(s), int32(disp))
		}
	}
	r := g.sum(rest)
	if a.size <= 8 && bits.OnesCount64(uint64(a.size)) == 1 {
		return x86.Indexed(base, r, uint8(a.size), int32(disp))
	}
	t := g.NewGeneral()
	g.Op(x86.IMUL3Q, x86.W128, x86.RegArg(t), x86.RegArg(r), x86.ImmArg(a.size))
	return x86.Indexed(base, t, 1, int32(disp))
}

// sum evaluates terms into a fresh register.
func (g *gen) sum(terms []analysis.Term) x86.Reg {
	r := g.NewGeneral()
	for i, t := range terms {
		x := g.termValue(t)
		if t.Coef != 1 && t.Coef != -1 {
			y := g.NewGeneral()
			if t.Coef != int64(int32(t.Coef)) {
				g.refuse(t.Expr.Pos(), "a constant factor of an index is too large")
			}
			g.Op(x86.IMUL3Q, x86.W128, x86.RegArg(y), x86.RegArg(x), x86.ImmArg(t.Coef))
			x = y
		}
		switch {
		case i == 0 && t.Coef == -1:
			g.move(r, x)
			g.Op(x86.NEGQ, x86.W128, x86.RegArg(r))
		case i == 0:
			g.move(r, x)
		case t.Coef == -1:
			g.Op(x86.SUBQ, x86.W128, x86.RegArg(r), x86.RegArg(x))
		default:
			g.Op(x86.ADDQ, x86.W128, x86.RegArg(r), x86.RegArg(x))
		}
	}
	if len(terms) == 0 {
		g.setGeneral(r, 0)
	}
	return r
}

// termValue is the value of a term without its factor; where the code is straight, it is computed
// once.
func (g *gen) termValue(t analysis.Term) x86.Reg {
	if _, ok := t.Expr.(*ir.Ref); ok || g.shared == nil {
		return g.gp(t.Expr)
	}
	if r, ok := g.shared[t.Key]; ok {
		return r
	}
	r := g.gp(t.Expr)
	g.shared[t.Key] = r
	return r
}

// indexValue is the whole index of lane 0, in a register that is not to be changed.
func (g *gen) indexValue(l analysis.Linear) x86.Reg {
	if len(l.Terms) == 1 && l.Terms[0].Coef == 1 && l.C == 0 {
		return g.gp(l.Terms[0].Expr)
	}
	r := g.sum(l.Terms)
	if l.C != 0 {
		g.addConst(r, l.C)
	}
	return r
}

func (g *gen) addConst(r x86.Reg, c int64) {
	switch {
	case c == 0:
	case c == int64(int32(c)):
		g.Op(x86.ADDQImm, x86.W128, x86.RegArg(r), x86.ImmArg(c))
	default:
		g.Op(x86.ADDQ, x86.W128, x86.RegArg(r), x86.RegArg(g.constGeneral(c)))
	}
}

// target finds the memory that an element access touches in all lanes, checked.
func (g *gen) target(e ir.Expr) target {
	a := g.accessOf(e)
	s := g.shape(a.at.I)
	if a.root.per > 0 && !a.root.alone {
		return g.laneTarget(a, s)
	}
	if s.Kind == analysis.Varying {
		return g.gatherTarget(a)
	}
	l := analysis.LinearOf(a.at.I)
	if g.checks(a.at) {
		g.checkAccess(a, l, s)
	}
	whole := g.exec == nil || g.prefix == x86.NoReg && g.safe[a.at] && a.at.Checked && len(l.Withins) == 0
	return target{mem: g.memOf(a, l), stride: s.Stride * a.size, root: a.root, whole: whole}
}

// copyMem is the memory of unrolled copy u of an affine target.
func (g *gen) copyMem(t target, u int) x86.Mem {
	m := t.mem
	m.Disp += int32(int64(g.first+u) * int64(g.lanes) * t.stride)
	return m
}

// gatherTarget is the memory of an access whose index is computed in every lane.
func (g *gen) gatherTarget(a access) target {
	t := g.gatherIndex(a)
	switch a.size {
	case 1, 2, 4, 8:
		t.scale = uint8(a.size)
	default:
		t.index = g.scaleIndices(t, a)
	}
	return t
}

// gatherIndex computes index vectors, 4 bytes a lane where the Go index is an int32 made wide, and
// checks them.
func (g *gen) gatherIndex(a access) target {
	index := a.at.I
	if c, ok := index.(*ir.Convert); ok && ir.IsWide(c.T) && c.X.Type().IsInteger() && c.X.Type().IsSigned() && c.X.Type().Size <= 4 {
		index = c.X
	}
	if index.Type().Kind == ir.Uint32 {
		index = ir.ToInt(index)
	}
	t := target{mem: x86.At(a.root.gp, int32(a.inner)), root: a.root, size4: container(index.Type()) == 4, scale: 1, even: g.shapes != nil && g.shapes.Computed(index)}
	t.index = g.vec(index)
	checked := a.at.Checked && !g.safe[a.at] && !g.always[a.at]
	t.known = g.evennessOf(a, index)
	if checked && t.known != nil {
		if t.limit = g.lastStart(a); t.limit != x86.NoReg {
			t.check = g.gatherCheck(a, t)
			return t
		}
	}
	if checked {
		g.checkGather(a, t)
	}
	return t
}

// scaleIndices multiplies index vectors by the element size where the addressing mode cannot.
func (g *gen) scaleIndices(t target, a access) []x86.Reg {
	size, op := 8, x86.VPMULLQ
	if t.size4 {
		size, op = 4, x86.VPMULLD
	}
	out := g.vectors(g.unroll)
	if bits.OnesCount64(uint64(a.size)) == 1 {
		shift := map[int]x86.Op{4: x86.VPSLLD, 8: x86.VPSLLQ}[size]
		g.each(func(u int) {
			g.Op(shift, widthOf(g.lanes*size), x86.RegArg(out[u]), x86.RegArg(t.index[u]), x86.ImmArg(int64(bits.TrailingZeros64(uint64(a.size)))))
		})
		return out
	}
	c := g.ConstVector(uint64(a.size), size)
	g.each(func(u int) {
		if op == x86.VPMULLQ && !g.avx512 {
			g.seriesOf(ir.Int64Type, widthOf(g.lanes*size)).MulLong(out[u], t.index[u], c)
			return
		}
		g.Op(op, widthOf(g.lanes*size), x86.RegArg(out[u]), x86.RegArg(t.index[u]), x86.RegArg(c))
	})
	return out
}
