package cpu

import "github.com/gompss/gompss/codegen/ir"

// What has no form for vectors runs lane by lane in the vector loop: every lane that is on takes its values out of memory, runs the statement
// as code outside the loop would, and puts back what it has changed.

// A laneValue is a variable that a statement uses in one lane.
type laneValue struct {
	v        *ir.Var
	home     *home // of all lanes
	own      *home // of the lane that runs
	at       int64 // of the values of all lanes, in the scratch memory; -1: there are none
	stride   int64 // of an affine value
	kept     Reg   // what all lanes begin with, where they agree and the statement changes it
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
func (g *gen) attempt(s ir.Stmt) (why *Refusal) {
	then := *g
	steps, fails, sites, past, loops, notes := len(g.steps), len(g.fails), len(g.sites), len(g.pastStores), len(g.loops), len(g.notes)
	defer func() {
		r := recover()
		if r == nil {
			return
		}
		refusal, ok := r.(*Refusal)
		if !ok || g.serialBase > 0 {
			panic(r)
		}
		g.steps, g.fails, g.sites, g.pastStores, g.loops, g.notes = g.steps[:steps], g.fails[:fails], g.sites[:sites], g.pastStores[:past], g.loops[:loops], g.notes[:notes]
		g.exec, g.prefix, g.split, g.unroll, g.lanes, g.shapes = then.exec, then.prefix, then.split, then.unroll, then.lanes, then.shapes
		g.pointer, g.safe, g.at, g.shared = then.pointer, then.safe, then.at, nil
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
	base, number := g.general(), g.constGeneral(0)
	g.op(MOVQ, W128, RegArg(base), blockWord(wordScratch))
	for _, x := range values {
		g.storeLanes(x, base)
	}
	bits := g.execBits()
	homes, old, at := g.homes, g.context(), len(g.loops)
	g.homes = make(map[*ir.Var]*home, len(homes))
	for v, h := range homes {
		g.homes[v] = h
	}
	g.shapes, g.exec, g.prefix, g.split, g.shared, g.unroll, g.serialBase = nil, nil, NoReg, false, nil, 1, at+1
	g.pointer = map[string]Reg{} // rows that loops inside of the lanes loop walk begin at the first lane
	top, next, end := g.newLabel(), g.newLabel(), g.newLabel()
	g.place(top)
	g.op(TESTQ, W128, RegArg(bits), RegArg(bits))
	g.jump(condE, end)
	g.op(MOVQStore, W128, RegArg(CX), RegArg(bits))
	g.op(ANDQImm8, W128, RegArg(CX), ImmArg(1))
	g.jump(condE, next)
	for _, x := range values {
		g.enterLane(x, base, number)
	}
	g.list(list)
	for _, x := range values {
		g.leaveLane(x, base, number)
	}
	g.place(next)
	g.op(SHRQ, W128, RegArg(bits), ImmArg(1))
	g.addConst(number, 1)
	for _, x := range values {
		switch {
		case x.stride != 0:
			g.addConst(x.kept, x.stride)
		case x.home.per > 0:
			g.addConst(x.own.gp, int64(x.v.Type.Elem.Size))
		}
	}
	g.again(always, top)
	g.place(end)
	g.enterContext(old)
	g.homes, g.serialBase = homes, 0
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
		x := &laneValue{v: v, home: h, at: -1, kept: NoReg, assigned: assigned.Has(v)}
		s := g.shapes.of[v]
		switch {
		case h.per > 0:
			x.own = &home{gp: g.general(), length: h.length, per: h.per, alone: true}
			g.move(x.own.gp, h.gp)
		case h.masks != nil:
			x.at, g.scratch = g.scratch, g.scratch+roundUp(int64(4*g.lanes*g.wanted), scratchAlign)
		case h.vec != nil && !h.alike:
			x.at, g.scratch = g.scratch, g.scratch+roundUp(int64(container(v.Type)*g.lanes*g.wanted), scratchAlign)
		case s.kind == affine:
			if x.assigned {
				g.refuse(v.At, "%s is counted by the lanes", v.Name)
			}
			x.kept, x.stride = g.general(), s.stride
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

func (g *gen) copyOfHome(h *home) Reg {
	if h.vec != nil {
		r := g.vector()
		g.move(r, h.vec[0])
		return r
	}
	r := g.general()
	g.move(r, h.gp)
	return r
}

// storeLanes puts the values of all lanes into memory.
func (g *gen) storeLanes(x *laneValue, base Reg) {
	if x.at < 0 {
		return
	}
	g.each(func(u int) {
		if x.home.masks != nil {
			g.op(VMOVUPSStore, widthOf(4*g.lanes), g.laneSlot(x, base, u), RegArg(g.maskVector(x.home.masks[u])))
			return
		}
		g.op(VMOVUPSStore, g.width(x.v.Type), g.laneSlot(x, base, u), RegArg(x.home.vec[u]))
	})
}

// laneSlot is the memory of the values of unrolled copy u.
func (g *gen) laneSlot(x *laneValue, base Reg, u int) Arg {
	return MemArg(At(base, int32(x.at+int64(u*g.lanes*container(x.v.Type)))))
}

// loadLanes takes changed values back.
func (g *gen) loadLanes(x *laneValue, base Reg) {
	if !x.assigned || x.at < 0 {
		return
	}
	g.each(func(u int) {
		d := g.vector()
		if x.home.masks != nil {
			g.op(VMOVUPS, widthOf(4*g.lanes), RegArg(d), g.laneSlot(x, base, u))
			g.maskMove(x.home.masks[u], g.vectorMask(d))
			return
		}
		g.op(VMOVUPS, g.width(x.v.Type), RegArg(d), g.laneSlot(x, base, u))
		g.move(x.home.vec[u], d)
	})
}

// execBits has a bit for every lane of every copy that is on.
func (g *gen) execBits() Reg {
	bits := g.general()
	total := g.lanes * g.unroll
	if g.exec == nil {
		g.setGeneral(bits, int64(uint64(1)<<total-1))
		return bits
	}
	g.setGeneral(bits, 0)
	for u := g.unroll - 1; u >= 0; u-- {
		g.op(SHLQ, W128, RegArg(bits), ImmArg(int64(g.lanes)))
		g.maskBits(AX, g.exec[u])
		g.op(ORQ, W128, RegArg(bits), RegArg(AX))
	}
	return bits
}

// enterLane gives a variable a home of the lane that runs.
func (g *gen) enterLane(x *laneValue, base, number Reg) {
	t := x.v.Type
	switch {
	case x.home.per > 0:
		g.homes[x.v] = x.own
		return
	case x.at < 0 && x.home.vec != nil:
		x.own = &home{gp: NoReg, length: NoReg, vec: []Reg{g.vector()}, alike: true}
		g.move(x.own.vec[0], x.kept)
	case x.at < 0:
		x.own = &home{gp: g.general(), length: NoReg}
		g.move(x.own.gp, x.kept)
	case t.IsFloat():
		x.own = &home{gp: NoReg, length: NoReg, vec: []Reg{g.vector()}, alike: true}
		g.loadBroadcast(x.own.vec[0], Indexed(base, number, uint8(t.Size), int32(x.at)), t)
	default:
		x.own = &home{gp: g.general(), length: NoReg}
		op := MOVL
		switch {
		case container(t) == 8:
			op = MOVQ
		case t.IsSigned():
			op = MOVLQSX
		}
		g.op(op, W128, RegArg(x.own.gp), MemArg(Indexed(base, number, uint8(container(t)), int32(x.at))))
	}
	g.homes[x.v] = x.own
}

// leaveLane puts a changed value back. Where all lanes agree, each makes the same of it.
func (g *gen) leaveLane(x *laneValue, base, number Reg) {
	if !x.assigned || x.home.per > 0 {
		return
	}
	t := x.v.Type
	slot := MemArg(Indexed(base, number, uint8(container(t)), int32(x.at)))
	switch {
	case x.at < 0:
		g.agreed(x)
	case t.IsFloat():
		g.op(map[bool]Op{true: VMOVSSStore, false: VMOVSDStore}[t.Size == 4], W128, slot, RegArg(x.own.vec[0]))
	case container(t) == 8:
		g.op(MOVQStore, W128, slot, RegArg(x.own.gp))
	default:
		g.op(MOVLStore, W128, slot, RegArg(x.own.gp))
	}
}

// agreed keeps what a lane has made of a value that all agree on, apart from what the next lane begins with.
func (g *gen) agreed(x *laneValue) {
	if x.home.vec != nil {
		g.move(x.home.vec[0], x.own.vec[0])
		return
	}
	g.move(x.home.gp, x.own.gp)
}
