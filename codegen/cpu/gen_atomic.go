package cpu

import "github.com/gompss/gompss/codegen/ir"

// atomic updates a place, lane by lane. A loop with atomics runs on one goroutine, as the Go function does: its updates need no lock, and
// locked ones would take longer than all the rest.
func (g *gen) atomic(s *ir.Atomic) {
	t := s.Place.Type()
	op, ok := generalOps[s.Op]
	float := t.IsFloat() && s.Op == ir.Add
	if s.Kind != ir.AtomicUpdate || s.Swapped || !ok && !float || t.Kind == ir.Bool || s.Op == ir.Mul {
		g.refuse(s.At, "this atomic operation has no vector form: updates of numbers by + - & | ^ have; write a reduction where one will do")
	}
	if _, isVar := s.Place.(*ir.Ref); isVar {
		g.refuse(s.At, "an atomic update of a local variable has no vector form: write a reduction")
	}
	if g.shapes == nil {
		g.storeUniform(s.Place, &ir.Binary{Op: s.Op, X: s.Place, Y: s.Value, T: t, At: s.At})
		return
	}
	value := g.vec(s.Value)
	at := g.target(s.Place)
	if at.index == nil {
		at = g.strided(at, t, s.Place)
	}
	size := container(t)
	constant := NoReg
	if !float && g.shape(s.Value).kind == uniform {
		constant = g.gp(s.Value)
	}
	g.each(func(u int) {
		bits := g.spreadIndices(at, u)
		if constant == NoReg {
			g.op(VMOVUPSStore, widthOf(g.lanes*size), MemArg(At(DI, 8*(wordLanes+8))), RegArg(value[u]))
		}
		g.inLanes(bits, func(lane int) {
			place := MemArg(Indexed(at.mem.Base, g.laneIndex(at, lane), at.scale, at.mem.Disp))
			operand := MemArg(At(DI, int32(8*(wordLanes+8)+size*lane)))
			if float {
				g.addFloat(place, operand, t)
				return
			}
			r, v := g.general(), constant
			if v == NoReg {
				v = g.general()
				g.op(map[bool]Op{true: MOVL, false: MOVQ}[size == 4], W128, RegArg(v), operand)
			}
			if inPlace := memoryOps[s.Op][min(1, t.Size/8)]; inPlace != NoOp && t.Size >= 4 {
				g.op(inPlace, W128, place, RegArg(v))
				return
			}
			load := smallLoad(t)
			if t.Size >= 4 {
				load = map[bool]Op{true: MOVL, false: MOVQ}[size == 4]
			}
			g.op(load, W128, RegArg(r), place)
			g.op(op, W128, RegArg(r), RegArg(v))
			g.op(laneStores[int64(t.Size)], W128, place, RegArg(r))
		})
	})
}

// memoryOps are the operations on memory, of 4 and 8 bytes.
var memoryOps = map[ir.Op][2]Op{ir.Add: {ADDLMem, ADDQMem}, ir.Sub: {SUBLMem, SUBQMem}}

func (g *gen) addFloat(place, operand Arg, t *ir.Type) {
	r := g.vector()
	load, add, store := VMOVSSLoad, VADDSS, VMOVSSStore
	if t.Size == 8 {
		load, add, store = VMOVSDLoad, VADDSD, VMOVSDStore
	}
	g.op(load, W128, RegArg(r), place)
	g.op(add, W128, RegArg(r), RegArg(r), operand)
	g.op(store, W128, place, RegArg(r))
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
