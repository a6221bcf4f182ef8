package selection

import (
	"github.com/gompss/gompss/codegen/cpu/image"
	"github.com/gompss/gompss/codegen/cpu/internal/analysis"
	"github.com/gompss/gompss/codegen/cpu/internal/memory"
	"github.com/gompss/gompss/codegen/cpu/internal/vector"
	"github.com/gompss/gompss/codegen/cpu/vcode"
	"github.com/gompss/gompss/codegen/ir"
)

// stores selects assignments to variables and elements.
type stores struct {
	preheader
	past       bool // non-temporal stores
	PastStores []image.PastStore
	inLoop     bool // a stage of a parallel loop
}

// moves reports whether s stores adjacent elements that are computed from adjacent elements,
// uniform values and simple operations.
func (g *stores) moves(s ir.Stmt) bool {
	a, ok := s.(*ir.Assign)
	if !ok {
		return false
	}
	if _, ok := a.Place.(*ir.Index); !ok {
		return false
	}
	good := true
	for _, e := range []ir.Expr{a.Place, a.Value} {
		ir.WalkExpr(e, func(e ir.Expr) bool {
			switch e := e.(type) {
			case *ir.Index:
				sh := g.Shape(e.I)
				simple := e.X.Type().Kind == ir.Slice && e.Type().IsFloat() && !g.Checks(e) && (sh.Kind == analysis.Uniform || sh.Kind == analysis.Affine && sh.Stride == 1)
				good = good && simple
				return false
			case *ir.Const:
			case *ir.Ref:
				good = good && g.Shape(e).Kind == analysis.Uniform && e.Var.Type.IsFloat()
			case *ir.Unary:
				good = good && e.Type().IsFloat()
			case *ir.Binary:
				good = good && e.T.IsFloat() && e.Op != ir.Div
			default:
				good = false
			}
			return good
		})
	}
	return good
}

// store stores a value of each active lane.
func (g *stores) store(place ir.Expr, value ir.Expr) {
	t := place.Type()
	if !t.IsScalar() {
		g.Refuse(place.Pos(), "storing a %s as a whole is not supported yet in vector code", t)
	}
	s := g.Shape(analysis.PlaceIndex(place))
	if s.Kind == analysis.Uniform && !g.LaneOwned(place) {
		g.storeUniform(place, value)
		return
	}
	var v []vcode.Reg
	if t.Kind == ir.Bool {
		v = g.BoolVector(value)
		t = ir.Uint8Type
	} else {
		v = g.VecLow(value)
	}
	at := g.Target(place)
	switch {
	case at.Index == nil && at.Stride == int64(t.Size):
		if ix, ok := place.(*ir.Index); ok {
			if p, ok := g.goesPast(ix); ok && g.Width(t) == vector.WidthOf(g.Bytes) {
				g.PastStores = append(g.PastStores, p)
				g.Each(func(u int) {
					g.StorePast(g.CopyMem(at, u), v[u], t, g.Width(t))
				})
				return
			}
		}
		g.Each(func(u int) { g.StoreVector(g.CopyMem(at, u), v[u], t, u) })
		return
	case at.Index == nil:
		if a, ok := g.ApartOf(at, t); ok && g.StoreApart(a, v) {
			return
		}
		at = g.AsGather(at, t, place)
	}
	g.Scatter(at, v, t)
}

// storeUniform stores one element for all lanes. It is correct only for uniform code, as outside
// the lanes loop.
func (g *stores) storeUniform(place, value ir.Expr) {
	if g.Shapes != nil {
		g.Refuse(place.Pos(), "every iteration writes %s: write a reduction, or make it atomic", ir.Source(place))
	}
	t := place.Type()
	m := g.ScalarAddress(place)
	if t.IsFloat() {
		v := g.Vector(value)[0]
		g.StoreFloat(vcode.MemArg(m), v, t)
		return
	}
	if g.Single && g.updateInPlace(m, place, value) {
		return
	}
	g.StoreInteger(vcode.MemArg(m), g.GeneralLow(value), t)
}

func (g *stores) decl(s *ir.Decl) {
	h := g.Declare(s.Var)
	if g.Arrays[s.Var] > 0 {
		return
	}
	init := s.Init
	if init == nil {
		init = &ir.Const{T: s.Var.Type, At: s.At}
	}
	g.set(s.Var, h, init, true)
	g.NoteEvenness(s.Var, h)
}

// set assigns to a variable. Inactive lanes keep their values; a variable that is being declared
// has none to keep.
func (g *stores) set(v *ir.Var, h *memory.Home, value ir.Expr, fresh bool) {
	switch {
	case h.Masks != nil:
		m := g.Masks(value)
		g.Each(func(u int) { g.SetMask(h.Masks[u], m[u], u, fresh) })
	case h.Vectors != nil && (g.Exec == nil || fresh):
		dst := h.Vectors
		if h.Alike {
			g.Move(dst[0], g.Vector(value)[0])
			return
		}
		r := g.VecTo(dst, value)
		g.Each(func(u int) { g.Move(dst[u], r[u]) })
	case h.Vectors != nil:
		r := g.Vector(value)
		if h.Alike {
			g.Move(h.Vectors[0], r[0]) // the value is uniform, in active and inactive lanes
			return
		}
		g.Each(func(u int) { g.Blend(h.Vectors[u], r[u], g.Exec[u], v.Type) })
	default:
		g.Move(h.General, g.General(value))
	}
}

func (g *stores) assign(s *ir.Assign) {
	r, ok := s.Place.(*ir.Ref)
	if !ok {
		g.store(s.Place, s.Value)
		return
	}
	if g.Shapes != nil && !g.Shapes.Inside[r.Var] && g.Shapes.Of[r.Var].Kind == analysis.Uniform {
		g.Refuse(s.At, "%s is shared by the iterations and assigned: write a reduction or private(%s)", r.Var.Name, r.Var.Name)
	}
	g.set(r.Var, g.Home(r.Var, s.At), s.Value, false)
}

// updateInPlace adds to a place in memory, or subtracts from it, with a memory operand.
func (g *stores) updateInPlace(m vcode.Mem, place, value ir.Expr) bool {
	e, ok := value.(*ir.Binary)
	t := place.Type()
	if !ok || e.Op != ir.Add && e.Op != ir.Sub || !t.IsInteger() || t.Size < 4 || analysis.Loads(e.Y) {
		return false
	}
	from, ok := e.X.(*ir.Index)
	if !ok || ir.ExprKey(from) != ir.ExprKey(place) {
		return false
	}
	if c, ok := ir.ConstInt(e.Y); ok && c == int64(int32(c)) && c != -1<<31 {
		if e.Op == ir.Sub {
			c = -c
		}
		g.AddConstTo(vcode.MemArg(m), c, t)
		return true
	}
	g.UpdateInteger(e.Op, vcode.MemArg(m), g.General(e.Y), t)
	return true
}

// rowGoesPast reports whether the store that a loop over lanes inside a parallel loop aligns may be
// non-temporal.
func (g *stores) rowGoesPast(ix *ir.Index, s *ir.For) bool {
	root, ok := ix.X.(*ir.Ref)
	return ok && g.past && g.inLoop && s != g.ParallelLanes && g.Frame.Word[root.Var] > 0 && !analysis.ReadFrom(g.Kernel, root.Var)
}

// goesPast reports whether the store of ix in the lanes loop may be non-temporal: it stores whole
// vectors to a slice that the kernel only writes, at the iteration number.
func (g *stores) goesPast(ix *ir.Index) (image.PastStore, bool) {
	if !g.past || g.Exec != nil || ix.Type().Size < 4 {
		return image.PastStore{}, false
	}
	root, ok := ix.X.(*ir.Ref)
	if ok && ix == g.pastRow && g.Exec == nil {
		return image.PastStore{Word: g.Frame.Word[root.Var], Size: int64(ix.Type().Size), Rows: true}, true
	}
	if !ok || g.ParallelLanes == nil || !ir.IsRef(ix.I, g.ParallelLanes.Var) || g.Arrays[root.Var] > 0 || analysis.ReadFrom(g.Kernel, root.Var) {
		return image.PastStore{}, false
	}
	if lo, ok := ir.ConstInt(g.ParallelLo); !ok || lo != 0 {
		return image.PastStore{}, false
	}
	return image.PastStore{Word: g.Frame.Word[root.Var], Size: int64(ix.Type().Size)}, true
}
