package memory

import (
	"math/bits"

	"github.com/gompss/gompss/codegen/cpu/internal/analysis"
	"github.com/gompss/gompss/codegen/cpu/internal/vector"
	"github.com/gompss/gompss/codegen/cpu/mach"
	"github.com/gompss/gompss/codegen/cpu/vcode"
	"github.com/gompss/gompss/codegen/ir"
)

// gatherTarget is the memory of an access whose index is computed in every lane.
func (g *Addresses) gatherTarget(a access) Target {
	t := g.gatherIndex(a)
	switch a.size {
	case 1, 2, 4, 8:
		t.Scale = uint8(a.size)
	default:
		t.Index = g.scaleIndices(t, a)
	}
	return t
}

// gatherIndex computes index vectors and checks them.
func (g *Addresses) gatherIndex(a access) Target {
	index := analysis.GatherIndex(a.at)
	t := Target{Mem: vcode.At(a.root.General, int32(a.inner)), root: a.root, size4: vector.Container(index.Type()) == 4, Scale: 1, even: g.Shapes != nil && g.Shapes.Computed(index)}
	t.Index = g.Vector(index)
	checked := a.at.Checked && !g.Safe[a.at] && !g.always[a.at]
	t.known = g.evennessOf(a, index)
	if checked && t.known != nil {
		if t.limit = g.lastStart(a); t.limit != vcode.NoReg {
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
func (g *Addresses) scaleIndices(t Target, a access) []vcode.Reg {
	size, op := 8, vcode.VMulI64
	if t.size4 {
		size, op = 4, vcode.VMulI32
	}
	out := g.NewVectors(g.Unroll)
	if bits.OnesCount64(uint64(a.size)) == 1 {
		shift := map[int]vcode.Op{4: vcode.VShiftLeftI32, 8: vcode.VShiftLeftI64}[size]
		g.Each(func(u int) {
			g.Op(shift, vector.WidthOf(g.Lanes*size), vcode.RegArg(out[u]), vcode.RegArg(t.Index[u]), vcode.ImmArg(int64(bits.TrailingZeros64(uint64(a.size)))))
		})
		return out
	}
	c := g.ConstVector(uint64(a.size), size)
	g.Each(func(u int) {
		if op == vcode.VMulI64 && !g.AVX512 {
			g.SeriesOf(ir.Int64Type, vector.WidthOf(g.Lanes*size)).MulLong(out[u], t.Index[u], c)
			return
		}
		g.Op(op, vector.WidthOf(g.Lanes*size), vcode.RegArg(out[u]), vcode.RegArg(t.Index[u]), vcode.RegArg(c))
	})
	return out
}

// laneTarget is the memory of an element of an array that every lane has for itself.
func (g *Addresses) laneTarget(a access, s analysis.Shape) Target {
	size := a.size
	if s.Kind != analysis.Varying {
		l := analysis.LinearOf(a.at.I)
		if g.Checks(a.at) {
			g.checkAccess(a, l, s)
		}
		t := Target{Stride: size * (s.Stride*a.root.Per + 1), root: a.root}
		if disp := l.C * size * a.root.Per; len(l.Terms) == 0 && disp == int64(int32(disp)) {
			t.Mem = vcode.At(a.root.General, int32(disp))
			return t
		}
		r := g.NewGeneral()
		g.MultiplyConst(r, g.IndexValue(l), size*a.root.Per)
		t.Mem = vcode.Indexed(a.root.General, r, 1, 0)
		return t
	}
	t := g.gatherIndex(a)
	g.Each(func(u int) { t.CheckNow(u) })
	t.known, t.check = nil, nil // of the numbers of elements, which do not lie side by side
	isize, add, mul := 8, vcode.VAddI64, vcode.VMulI64
	if t.size4 {
		isize, add, mul = 4, vcode.VAddI32, vcode.VMulI32
	}
	w := vector.WidthOf(g.Lanes * isize)
	per := g.ConstVector(uint64(a.root.Per), isize)
	out := g.NewVectors(g.Unroll)
	g.Each(func(u int) {
		x := g.NewVector()
		if mul == vcode.VMulI64 && !g.AVX512 {
			g.SeriesOf(ir.Int64Type, w).MulLong(x, t.Index[u], per)
		} else {
			g.Op(mul, w, vcode.RegArg(x), vcode.RegArg(t.Index[u]), vcode.RegArg(per))
		}
		g.Op(add, w, vcode.RegArg(out[u]), vcode.RegArg(x), vcode.RegArg(g.IotaVector(1, isize)))
		if u > 0 {
			g.Op(add, w, vcode.RegArg(out[u]), vcode.RegArg(out[u]), vcode.RegArg(g.ConstVector(uint64(u*g.Lanes), isize)))
		}
	})
	t.Index, t.Scale = out, uint8(size)
	return t
}

// evennessOf returns the known facts about the index of an access to whole elements.
func (g *Addresses) evennessOf(a access, index ir.Expr) []evenness {
	r, ok := index.(*ir.Ref)
	if !ok || g.Exec != nil || a.size != 4 && a.size != 8 || a.inner != 0 || !a.at.Type().IsScalar() {
		return nil
	}
	return g.Home(r.Var, r.At).Even
}

// lastStart is one more than where as many elements as there are lanes may begin, in a general
// register that is made at the entry; NoReg where that is not possible.
func (g *Addresses) lastStart(a access) vcode.Reg {
	root, ok := a.at.X.(*ir.Ref)
	if !ok || root.Var.Space != ir.Param || g.Frame.Word[root.Var] == 0 || ir.Assigned(g.Kernel.Body).Has(root.Var) {
		return vcode.NoReg
	}
	key := limitKey{root.Var, g.Lanes, 0}
	if r, ok := g.limits[key]; ok {
		return r
	}
	r := g.NewGeneral()
	g.AtEntry(func() {
		zero := g.ConstGeneral(0)
		g.ReadWord(r, g.Frame.Word[root.Var]+1)
		g.AddConst(r, int64(1-g.Lanes))
		g.Compare(r, zero)
		g.MoveIf(mach.CondL, r, zero)
	})
	g.limits[key] = r
	return r
}
