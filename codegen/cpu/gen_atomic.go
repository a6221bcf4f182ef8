package cpu

import (
	"github.com/gompss/gompss/codegen/cpu/image"
	"github.com/gompss/gompss/codegen/cpu/internal/analysis"
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
			g.list(analysis.InSteps(s, -1000-len(g.homes)))
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
	if !float && g.shape(s.Value).Kind == analysis.Uniform {
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
