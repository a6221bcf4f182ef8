package cpu

import (
	"github.com/gompss/gompss/codegen/cpu/image"
	"github.com/gompss/gompss/codegen/cpu/x86"
	"github.com/gompss/gompss/codegen/ir"
)

// atomic updates a place, lane by lane: in a few instructions where that is all, else as plain
// code. Where one goroutine runs the loop, or each has copies of what is updated, updates need no
// lock; the form for several goroutines is in gen_locked.go.
func (g *gen) atomic(s *ir.Atomic) {
	t := s.Place.Type()
	op, ok := generalOps[s.Op]
	float := t.IsFloat() && (s.Op == ir.Add || s.Op == ir.Sub)
	if g.shapes == nil {
		if g.locked {
			g.lockedAtomic(s)
		} else {
			g.list(inSteps(s, -1000-len(g.homes)))
		}
		return
	}
	if _, isVar := s.Place.(*ir.Ref); isVar {
		g.refuse(s.At, "an atomic update of the local variable %s has no form for lanes: write a reduction", ir.Source(s.Place))
	}
	if g.atomicTogether(s) {
		return
	}
	if s.Kind != ir.AtomicUpdate || s.Swapped || !ok || t.IsFloat() != float || t.Kind == ir.Bool || s.Op == ir.Mul || g.laneOwned(s.Place) {
		g.serial(s)
		return
	}
	value := g.vec(s.Value)
	at := g.target(s.Place)
	g.each(func(u int) { at.checkNow(u) })
	if at.index == nil {
		at = g.strided(at, t, s.Place)
	}
	size := container(t)
	constant := x86.NoReg
	if !float && g.shape(s.Value).kind == uniform {
		constant = g.gp(s.Value)
	}
	g.each(func(u int) {
		bits := x86.NoReg
		if g.exec != nil {
			bits = g.spreadIndices(at, u)
		}
		if constant == x86.NoReg {
			g.Op(x86.VMOVUPSStore, widthOf(g.lanes*size), x86.MemArg(x86.At(x86.DI, 8*(image.WordLanes+8))), x86.RegArg(value[u]))
		}
		update := func(lane int, index x86.Reg) {
			place := x86.MemArg(x86.Indexed(at.mem.Base, index, at.scale, at.mem.Disp))
			operand := x86.MemArg(x86.At(x86.DI, int32(8*(image.WordLanes+8)+size*lane)))
			if g.locked {
				g.lockedLane(s, place, operand, constant)
				return
			}
			if float {
				g.addFloat(s.Op, place, operand, t)
				return
			}
			r, v := g.NewGeneral(), constant
			if v == x86.NoReg {
				v = g.NewGeneral()
				g.Op(map[bool]x86.Op{true: x86.MOVL, false: x86.MOVQ}[size == 4], x86.W128, x86.RegArg(v), operand)
			}
			if inPlace := memoryOps[s.Op][min(1, t.Size/8)]; inPlace != x86.NoOp && t.Size >= 4 {
				g.Op(inPlace, x86.W128, place, x86.RegArg(v))
				return
			}
			load := smallLoad(t)
			if t.Size >= 4 {
				load = map[bool]x86.Op{true: x86.MOVL, false: x86.MOVQ}[size == 4]
			}
			g.Op(load, x86.W128, x86.RegArg(r), place)
			g.Op(op, x86.W128, x86.RegArg(r), x86.RegArg(v))
			g.Op(laneStores[int64(t.Size)], x86.W128, place, x86.RegArg(r))
		}
		if g.exec == nil {
			g.lanesOut(at, u, update)
			return
		}
		g.inLanes(bits, func(lane int) { update(lane, g.laneIndex(at, lane)) })
	})
}

// inSteps is an atomic where nobody else is about: a read, an operation and a write.
func inSteps(s *ir.Atomic, id int) []ir.Stmt {
	t := s.Place.Type()
	v := &ir.Var{Name: "old", Type: t, Space: ir.Local, ID: id, At: s.At}
	old := &ir.Ref{Var: v, At: s.At}
	out := []ir.Stmt{&ir.Decl{Var: v, Init: s.Place, At: s.At}}
	set := func(value ir.Expr) { out = append(out, &ir.Assign{Place: s.Place, Value: value, At: s.At}) }
	give := func(value ir.Expr) {
		if s.Old != nil {
			out = append(out, &ir.Assign{Place: s.Old, Value: value, At: s.At})
		}
	}
	switch {
	case s.Kind == ir.AtomicRead:
		give(old)
	case s.Kind == ir.AtomicCompare:
		equal := &ir.Binary{Op: ir.Eq, X: old, Y: s.Compare, T: ir.BoolType, At: s.At}
		out = append(out, &ir.If{Cond: equal, Then: []ir.Stmt{&ir.Assign{Place: s.Place, Value: s.Value, At: s.At}}, At: s.At})
		give(old)
	default:
		n := &ir.Var{Name: "new", Type: t, Space: ir.Local, ID: v.ID - 1, At: s.At}
		out = append(out, &ir.Decl{Var: n, Init: updated(s, old), At: s.At})
		set(&ir.Ref{Var: n, At: s.At})
		if s.After {
			give(&ir.Ref{Var: n, At: s.At})
		} else {
			give(old)
		}
	}
	return out
}

// updated is what an atomic stores.
func updated(s *ir.Atomic, old ir.Expr) ir.Expr {
	t, x, y := s.Place.Type(), old, s.Value
	if s.Swapped {
		x, y = y, x
	}
	switch {
	case s.Kind == ir.AtomicWrite || s.Op == ir.NoOp:
		return s.Value
	case s.Op == ir.Min || s.Op == ir.Max:
		fn := map[bool]ir.MathFn{true: ir.IMin, false: ir.IMax}[s.Op == ir.Min]
		if t.IsFloat() {
			fn = map[bool]ir.MathFn{true: ir.FMin, false: ir.FMax}[s.Op == ir.Min]
		}
		return &ir.Math{Fn: fn, Args: []ir.Expr{x, y}, T: t, At: s.At}
	}
	checked := t.IsInteger() && (s.Op == ir.Div || s.Op == ir.Rem || (s.Op == ir.Shl || s.Op == ir.Shr) && y.Type().IsSigned())
	return &ir.Binary{Op: s.Op, X: x, Y: y, T: t, Checked: checked, At: s.At}
}

// memoryOps are the operations on memory, of 4 and 8 bytes.
var memoryOps = map[ir.Op][2]x86.Op{ir.Add: {x86.ADDLMem, x86.ADDQMem}, ir.Sub: {x86.SUBLMem, x86.SUBQMem}}

// singleFloatOps are those of single floats, of 4 and 8 bytes.
var singleFloatOps = map[ir.Op][2]x86.Op{ir.Add: {x86.VADDSS, x86.VADDSD}, ir.Sub: {x86.VSUBSS, x86.VSUBSD}}

func (g *gen) addFloat(op ir.Op, place, operand x86.Arg, t *ir.Type) {
	r := g.NewVector()
	load, store := x86.VMOVSSLoad, x86.VMOVSSStore
	if t.Size == 8 {
		load, store = x86.VMOVSDLoad, x86.VMOVSDStore
	}
	g.Op(load, x86.W128, x86.RegArg(r), place)
	g.Op(singleFloatOps[op][t.Size/8], x86.W128, x86.RegArg(r), x86.RegArg(r), operand)
	g.Op(store, x86.W128, place, x86.RegArg(r))
}

// hasAtomics tells whether the iterations of f update what others update.
func hasAtomics(f *ir.For) bool {
	found := false
	ir.WalkStmts(f.Body, func(s ir.Stmt) bool {
		if _, ok := s.(*ir.Atomic); ok {
			found = true
		}
		return !found
	})
	return found
}
