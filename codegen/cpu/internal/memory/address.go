package memory

import (
	"math/bits"

	"github.com/gompss/gompss/codegen/cpu/internal/analysis"
	"github.com/gompss/gompss/codegen/cpu/internal/vector"
	"github.com/gompss/gompss/codegen/cpu/prepare"
	"github.com/gompss/gompss/codegen/cpu/vcode"
	"github.com/gompss/gompss/codegen/ir"
)

// Addresses find the memory of elements, and check that it is theirs.
type Addresses struct {
	Variables
	Safe    map[*ir.Index]bool // checked before the loop
	always  map[*ir.Index]bool // proved in range
	Loops   []*LoopFrame
	Pointer map[string]vcode.Reg // addresses computed before loops
	Shared  map[string]vcode.Reg // terms computed in the straight code before a loop
	limits  map[limitKey]vcode.Reg
	names   map[ir.Pos]string
	bounds  map[ir.Pos]bool
	pointed map[*ir.Var]bool
}

// A Target is a place in memory, for all lanes.
type Target struct {
	Mem    vcode.Mem   // of lane 0 of copy 0
	Stride int64       // bytes from lane to lane; 0: one place for all
	Index  []vcode.Reg // gather: one index vector a copy, scaled by scale
	size4  bool        // of 4-byte indices
	Scale  uint8
	root   *Home
	whole  bool        // all lanes may be read, also those that are off
	even   bool        // the indices may be neighbours
	known  []evenness  // whether they are, where it is known
	check  func(u int) // of copy u, where that is not done yet
	limit  vcode.Reg   // the lengths less the lanes, and 1: where neighbours may begin, below
}

// access is an element access taken apart: slice, index, and what of the element.
type access struct {
	at    *ir.Index
	root  *Home
	size  int64 // bytes of one element of the slice
	inner int64 // bytes from the element's start: fields, constant indices
}

// AccessOf takes the place apart into one slice index and constant offsets in the element. Where
// arrays in the element are indexed by what is not constant, all is counted in bytes.
func (g *Addresses) AccessOf(e ir.Expr) access {
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
				root := g.SliceOf(p.X)
				if root.Alone {
					size *= root.Per
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
		g.Refuse(e.Pos(), "%s is no element of a slice: pass what it lies in as a slice", ir.Source(e))
	}
}

// bytewise is an index that counts bytes: that of a slice element and those of arrays in it.
func (g *Addresses) bytewise(p *ir.Index, terms []ir.Expr, size int64) *ir.Index {
	i := ir.ToInt(p.I)
	if p.Checked && !g.Safe[p] && !g.always[p] {
		g.names[p.At] = ir.Source(p.X)
		i = &ir.Binary{Op: prepare.Within, X: i, Y: &ir.Len{X: p.X, At: p.At}, T: ir.IntType, At: p.At}
	}
	sum := prepare.Scaled(i, size)
	for _, t := range terms {
		sum = &ir.Binary{Op: ir.Add, X: sum, Y: t, T: ir.IntType, At: p.At}
	}
	return &ir.Index{X: p.X, I: sum, At: p.At}
}

// ScalarAddress is the address of a uniform element, checked.
func (g *Addresses) ScalarAddress(e ir.Expr) vcode.Mem {
	a := g.AccessOf(e)
	l := analysis.LinearOf(a.at.I)
	if g.Checks(a.at) {
		g.checkAccess(a, l, analysis.Shape{})
	}
	return g.MemOf(a, l)
}

// MemOf computes the address of lane 0: hoisted pointer + remaining terms + constant.
func (g *Addresses) MemOf(a access, l analysis.Linear) vcode.Mem {
	base, rest := g.hoisted(a, l)
	disp := l.C*a.size + a.inner
	if disp != int64(int32(disp)) {
		g.Refuse(a.at.At, "a constant index is too large")
	}
	if len(rest) == 0 {
		return vcode.At(base, int32(disp))
	}
	if len(rest) == 1 {
		if s := rest[0].Coef * a.size; s == 1 || s == 2 || s == 4 || s == 8 {
			return vcode.Indexed(base, g.General(rest[0].Expr), uint8(s), int32(disp))
		}
	}
	r := g.Sum(rest)
	if a.size <= 8 && bits.OnesCount64(uint64(a.size)) == 1 {
		return vcode.Indexed(base, r, uint8(a.size), int32(disp))
	}
	t := g.NewGeneral()
	g.MultiplyConst(t, r, a.size)
	return vcode.Indexed(base, t, 1, int32(disp))
}

// Sum evaluates terms into a fresh register.
func (g *Addresses) Sum(terms []analysis.Term) vcode.Reg {
	r := g.NewGeneral()
	for i, t := range terms {
		x := g.termValue(t)
		if t.Coef != 1 && t.Coef != -1 {
			y := g.NewGeneral()
			if t.Coef != int64(int32(t.Coef)) {
				g.Refuse(t.Expr.Pos(), "a constant factor of an index is too large")
			}
			g.MultiplyConst(y, x, t.Coef)
			x = y
		}
		switch {
		case i == 0 && t.Coef == -1:
			g.Move(r, x)
			g.Negate(r)
		case i == 0:
			g.Move(r, x)
		case t.Coef == -1:
			g.Subtract(r, x)
		default:
			g.Add(r, x)
		}
	}
	if len(terms) == 0 {
		g.SetGeneral(r, 0)
	}
	return r
}

// termValue is the value of a term without its factor; where the code is straight, it is computed
// once.
func (g *Addresses) termValue(t analysis.Term) vcode.Reg {
	if _, ok := t.Expr.(*ir.Ref); ok || g.Shared == nil {
		return g.General(t.Expr)
	}
	if r, ok := g.Shared[t.Key]; ok {
		return r
	}
	r := g.General(t.Expr)
	g.Shared[t.Key] = r
	return r
}

// IndexValue is the whole index of lane 0, in a register that is not to be changed.
func (g *Addresses) IndexValue(l analysis.Linear) vcode.Reg {
	if len(l.Terms) == 1 && l.Terms[0].Coef == 1 && l.C == 0 {
		return g.General(l.Terms[0].Expr)
	}
	r := g.Sum(l.Terms)
	if l.C != 0 {
		g.AddConst(r, l.C)
	}
	return r
}

// Target finds the memory that an element access touches in all lanes, checked.
func (g *Addresses) Target(e ir.Expr) Target {
	a := g.AccessOf(e)
	s := g.Shape(a.at.I)
	if a.root.Per > 0 && !a.root.Alone {
		return g.laneTarget(a, s)
	}
	if s.Kind == analysis.Varying {
		return g.gatherTarget(a)
	}
	l := analysis.LinearOf(a.at.I)
	if g.Checks(a.at) {
		g.checkAccess(a, l, s)
	}
	whole := g.Exec == nil || g.Prefix == vcode.NoReg && g.Safe[a.at] && a.at.Checked && len(l.Withins) == 0
	return Target{Mem: g.MemOf(a, l), Stride: s.Stride * a.size, root: a.root, whole: whole}
}

// CopyMem is the memory of unrolled copy u of an affine target.
func (g *Addresses) CopyMem(t Target, u int) vcode.Mem {
	m := t.Mem
	m.Disp += int32(int64(g.First+u) * int64(g.Lanes) * t.Stride)
	return m
}

func (t Target) indexSize() int {
	if t.size4 {
		return 4
	}
	return 8
}

// AsGather turns an affine access with gaps into a gather with computed indices.
func (g *Addresses) AsGather(at Target, t *ir.Type, e ir.Expr) Target {
	size := 8
	if g.Lanes*8 > g.Bytes {
		size = 4
		if at.Stride*int64(g.Lanes) != int64(int32(at.Stride*int64(g.Lanes))) {
			g.Refuse(e.Pos(), "the stride is too large")
		}
	}
	iota := g.IotaVector(at.Stride, size)
	at.Index = make([]vcode.Reg, g.Unroll)
	base := g.NewGeneral()
	g.AddressOf(base, at.Mem)
	at.Mem, at.size4, at.Scale = vcode.At(base, 0), size == 4, 1
	g.Each(func(u int) {
		at.Index[u] = iota
		if u > 0 {
			at.Index[u] = g.NewVector()
			add := map[int]vcode.Op{4: vcode.VAddI32, 8: vcode.VAddI64}[size]
			g.Op(add, vector.WidthOf(g.Lanes*size), vcode.RegArg(at.Index[u]), vcode.RegArg(iota),
				vcode.RegArg(g.ConstVector(uint64(int64(u*g.Lanes)*at.Stride), size)))
		}
	})
	return at
}

// CheckNow makes the check of copy u, which waits until it is known whether lanes are neighbours.
func (at Target) CheckNow(u int) {
	if at.check != nil {
		at.check(u)
	}
}
