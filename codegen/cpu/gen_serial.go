package cpu

import (
	"maps"

	"github.com/gompss/gompss/codegen/cpu/image"
	"github.com/gompss/gompss/codegen/cpu/internal/analysis"
	"github.com/gompss/gompss/codegen/cpu/mach"
	"github.com/gompss/gompss/codegen/cpu/prepare"
	"github.com/gompss/gompss/codegen/cpu/x86"
	"github.com/gompss/gompss/codegen/ir"
)

// What has no form for vectors runs lane by lane in the vector loop: every lane that is on takes
// its values out of memory, runs the statement as code outside the loop would, and puts back what
// it has changed.

// A laneValue is a variable that a statement uses in one lane.
type laneValue struct {
	v        *ir.Var
	home     *home   // of all lanes
	own      *home   // of the lane that runs
	at       int64   // of the values of all lanes, in the scratch memory; -1: there are none
	stride   int64   // of an affine value
	kept     x86.Reg // what all lanes begin with, where they agree and the statement changes it
	assigned bool
}

// tryVectors selects a statement for vectors, and where it has no such form, lane by lane.
func (g *gen) tryVectors(s ir.Stmt) {
	if why := g.attempt(s); why != nil {
		g.note("the statement at %s runs lane by lane: %s", s.Pos(), why.Why)
		g.serial(s)
	}
}

// attempt selects s and takes all back where that is refused.
func (g *gen) attempt(s ir.Stmt) (why *prepare.Refusal) {
	then := g.context()
	start, past, loops := g.mark(), len(g.pastStores), len(g.loops)
	defer func() {
		r := recover()
		if r == nil {
			return
		}
		refusal, ok := r.(*prepare.Refusal)
		if !ok || g.serialBase > 0 {
			panic(r)
		}
		g.backTo(start)
		g.pastStores, g.loops = g.pastStores[:past], g.loops[:loops]
		g.enterContext(then)
		why = refusal
	}()
	g.vectorStmt(s)
	return nil
}

// serial selects s lane by lane.
func (g *gen) serial(list ...ir.Stmt) {
	if g.serialBase > 0 {
		g.refuse(list[0].Pos(), "lanes in lanes")
	}
	values := g.laneValues(list)
	base, number := g.NewGeneral(), g.constGeneral(0)
	g.Op(x86.MOVQ, x86.W128, x86.RegArg(base), blockWord(image.WordScratch))
	for _, x := range values {
		g.storeLanes(x, base)
	}
	bits := g.execBits()
	old := g.context()
	g.homes = maps.Clone(g.homes)
	g.shapes, g.exec, g.prefix, g.split, g.shared, g.unroll, g.serialBase = nil, nil, x86.NoReg, false, nil, 1, len(g.loops)+1
	g.pointer = map[string]x86.Reg{} // rows that loops inside of the lanes loop walk begin at the first lane
	top, next, end := g.NewLabel(), g.NewLabel(), g.NewLabel()
	g.Place(top)
	g.Op(x86.TESTQ, x86.W128, x86.RegArg(bits), x86.RegArg(bits))
	g.Jump(mach.CondE, end)
	g.Op(x86.MOVQStore, x86.W128, x86.RegArg(x86.CX), x86.RegArg(bits))
	g.Op(x86.ANDQImm8, x86.W128, x86.RegArg(x86.CX), x86.ImmArg(1))
	g.Jump(mach.CondE, next)
	for _, x := range values {
		g.enterLane(x, base, number)
	}
	g.list(list)
	for _, x := range values {
		g.leaveLane(x, base, number)
	}
	g.Place(next)
	g.Op(x86.SHRQ, x86.W128, x86.RegArg(bits), x86.ImmArg(1))
	g.addConst(number, 1)
	for _, x := range values {
		switch {
		case x.stride != 0:
			g.addConst(x.kept, x.stride)
		case x.home.per > 0:
			g.addConst(x.own.gp, int64(x.v.Type.Elem.Size))
		}
	}
	g.JumpBack(mach.Always, top)
	g.Place(end)
	g.enterContext(old)
	for _, x := range values {
		g.loadLanes(x, base)
	}
}

// laneValues finds the variables that differ between lanes, or that the statements change.
func (g *gen) laneValues(list []ir.Stmt) []*laneValue {
	assigned, inside := ir.Assigned(list), ir.Declared(list)
	vars := ir.Used(list)
	for _, v := range assigned.List() {
		vars.Add(v)
	}
	for _, s := range list {
		if d, ok := s.(*ir.Decl); ok { // what follows uses it
			vars.Add(d.Var)
			assigned.Add(d.Var)
			g.declare(d.Var)
			inside = ir.Declared(without(list, d))
		}
	}
	var out []*laneValue
	for _, v := range vars.List() {
		h := g.homes[v]
		if h == nil || inside.Has(v) {
			continue
		}
		x := &laneValue{v: v, home: h, at: -1, kept: x86.NoReg, assigned: assigned.Has(v)}
		s := g.shapes.Of[v]
		switch {
		case h.per > 0:
			x.own = &home{gp: g.NewGeneral(), length: h.length, per: h.per, alone: true}
			g.move(x.own.gp, h.gp)
		case h.masks != nil:
			x.at, g.scratch = g.scratch, g.scratch+image.RoundUp(int64(4*g.lanes*g.wanted), image.ScratchAlign)
		case h.vec != nil && !h.alike:
			x.at, g.scratch = g.scratch, g.scratch+image.RoundUp(int64(container(v.Type)*g.lanes*g.wanted), image.ScratchAlign)
		case s.Kind == analysis.Affine:
			if x.assigned {
				g.refuse(v.At, "%s is counted by the lanes", v.Name)
			}
			x.kept, x.stride = g.NewGeneral(), s.Stride
			g.move(x.kept, h.gp)
		case x.assigned:
			x.kept = g.copyOfHome(h)
		default:
			continue
		}
		out = append(out, x)
	}
	return out
}

func without(list []ir.Stmt, d *ir.Decl) []ir.Stmt {
	var out []ir.Stmt
	for _, s := range list {
		if s != ir.Stmt(d) {
			out = append(out, s)
		}
	}
	return out
}

func (g *gen) copyOfHome(h *home) x86.Reg {
	if h.vec != nil {
		r := g.NewVector()
		g.move(r, h.vec[0])
		return r
	}
	r := g.NewGeneral()
	g.move(r, h.gp)
	return r
}

// storeLanes puts the values of all lanes into memory.
func (g *gen) storeLanes(x *laneValue, base x86.Reg) {
	if x.at < 0 {
		return
	}
	g.each(func(u int) {
		if x.home.masks != nil {
			g.Op(x86.VMOVUPSStore, widthOf(4*g.lanes), g.laneSlot(x, base, u), x86.RegArg(g.maskVector(x.home.masks[u])))
			return
		}
		g.Op(x86.VMOVUPSStore, g.width(x.v.Type), g.laneSlot(x, base, u), x86.RegArg(x.home.vec[u]))
	})
}

// laneSlot is the memory of the values of unrolled copy u.
func (g *gen) laneSlot(x *laneValue, base x86.Reg, u int) x86.Arg {
	return x86.MemArg(x86.At(base, int32(x.at+int64(u*g.lanes*container(x.v.Type)))))
}

// loadLanes takes changed values back.
func (g *gen) loadLanes(x *laneValue, base x86.Reg) {
	if !x.assigned || x.at < 0 {
		return
	}
	g.each(func(u int) {
		d := g.NewVector()
		if x.home.masks != nil {
			g.Op(x86.VMOVUPS, widthOf(4*g.lanes), x86.RegArg(d), g.laneSlot(x, base, u))
			g.maskMove(x.home.masks[u], g.vectorMask(d))
			return
		}
		g.Op(x86.VMOVUPS, g.width(x.v.Type), x86.RegArg(d), g.laneSlot(x, base, u))
		g.move(x.home.vec[u], d)
	})
}

// execBits has a bit for every lane of every copy that is on.
func (g *gen) execBits() x86.Reg {
	bits := g.NewGeneral()
	total := g.lanes * g.unroll
	if g.exec == nil {
		g.setGeneral(bits, int64(uint64(1)<<total-1))
		return bits
	}
	g.setGeneral(bits, 0)
	for u := g.unroll - 1; u >= 0; u-- {
		g.Op(x86.SHLQ, x86.W128, x86.RegArg(bits), x86.ImmArg(int64(g.lanes)))
		g.maskBits(x86.AX, g.exec[u])
		g.Op(x86.ORQ, x86.W128, x86.RegArg(bits), x86.RegArg(x86.AX))
	}
	return bits
}

// enterLane gives a variable a home of the lane that runs.
func (g *gen) enterLane(x *laneValue, base, number x86.Reg) {
	t := x.v.Type
	switch {
	case x.home.per > 0:
		g.homes[x.v] = x.own
		return
	case x.at < 0 && x.home.vec != nil:
		x.own = &home{gp: x86.NoReg, length: x86.NoReg, vec: []x86.Reg{g.NewVector()}, alike: true}
		g.move(x.own.vec[0], x.kept)
	case x.at < 0:
		x.own = &home{gp: g.NewGeneral(), length: x86.NoReg}
		g.move(x.own.gp, x.kept)
	case t.IsFloat():
		x.own = &home{gp: x86.NoReg, length: x86.NoReg, vec: []x86.Reg{g.NewVector()}, alike: true}
		g.loadBroadcast(x.own.vec[0], x86.Indexed(base, number, uint8(t.Size), int32(x.at)), t)
	default:
		x.own = &home{gp: g.NewGeneral(), length: x86.NoReg}
		op := x86.MOVL
		switch {
		case container(t) == 8:
			op = x86.MOVQ
		case t.IsSigned():
			op = x86.MOVLQSX
		}
		g.Op(op, x86.W128, x86.RegArg(x.own.gp), x86.MemArg(x86.Indexed(base, number, uint8(container(t)), int32(x.at))))
	}
	g.homes[x.v] = x.own
}

// leaveLane puts a changed value back. Where all lanes agree, each makes the same of it.
func (g *gen) leaveLane(x *laneValue, base, number x86.Reg) {
	if !x.assigned || x.home.per > 0 {
		return
	}
	t := x.v.Type
	slot := x86.MemArg(x86.Indexed(base, number, uint8(container(t)), int32(x.at)))
	switch {
	case x.at < 0:
		g.agreed(x)
	case t.IsFloat():
		g.Op(map[bool]x86.Op{true: x86.VMOVSSStore, false: x86.VMOVSDStore}[t.Size == 4], x86.W128, slot, x86.RegArg(x.own.vec[0]))
	case container(t) == 8:
		g.Op(x86.MOVQStore, x86.W128, slot, x86.RegArg(x.own.gp))
	default:
		g.Op(x86.MOVLStore, x86.W128, slot, x86.RegArg(x.own.gp))
	}
}

// agreed keeps what a lane has made of a value that all agree on, apart from what the next lane
// begins with.
func (g *gen) agreed(x *laneValue) {
	if x.home.vec != nil {
		g.move(x.home.vec[0], x.own.vec[0])
		return
	}
	g.move(x.home.gp, x.own.gp)
}
