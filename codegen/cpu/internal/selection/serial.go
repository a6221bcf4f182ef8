package selection

import (
	"maps"

	"github.com/gompss/gompss/codegen/cpu/image"
	"github.com/gompss/gompss/codegen/cpu/internal/analysis"
	"github.com/gompss/gompss/codegen/cpu/internal/memory"
	"github.com/gompss/gompss/codegen/cpu/internal/vector"
	"github.com/gompss/gompss/codegen/cpu/mach"
	"github.com/gompss/gompss/codegen/cpu/prepare"
	"github.com/gompss/gompss/codegen/cpu/vcode"
	"github.com/gompss/gompss/codegen/ir"
)

// bodies selects statements that contain each other.
type bodies interface {
	list(body []ir.Stmt)
	vectorStmt(s ir.Stmt)
}

// laneByLane selects statements without a vector form in one lane after the other.
type laneByLane struct {
	stores
	bodies
}

// A context is the state of selection at one place in the kernel. Code that is selected later, out
// of line, is selected in the context of the place that it belongs to. Other state of the generator
// may only grow between the two, such as constants and sites.
type context struct {
	at            ir.Pos
	shapes        *analysis.Shapes
	lanes, unroll int
	first         int
	exec          []vcode.Reg
	prefix        vcode.Reg
	split         bool
	loops         []*memory.LoopFrame
	pointer       map[string]vcode.Reg
	shared        map[string]vcode.Reg
	spreads       map[string]vcode.Reg
	indexUses     map[*ir.Var]int
	safe          map[*ir.Index]bool
	homes         map[*ir.Var]*memory.Home
	pastRow       *ir.Index
	serialBase    int
}

func (g *laneByLane) context() context {
	return context{g.At, g.Shapes, g.Lanes, g.Unroll, g.First, g.Exec, g.Prefix, g.Split, g.Loops, g.Pointer, g.Shared, g.Spreads, g.IndexUses, g.Safe, g.Homes, g.pastRow,
		g.SerialBase}
}

func (g *laneByLane) enterContext(c context) {
	g.At, g.Shapes, g.Lanes, g.Unroll, g.First, g.Exec, g.Prefix, g.Split = c.at, c.shapes, c.lanes, c.unroll, c.first, c.exec, c.prefix, c.split
	g.Loops, g.Pointer, g.Shared, g.Spreads, g.IndexUses, g.Safe, g.Homes, g.pastRow = c.loops, c.pointer, c.shared, c.spreads, c.indexUses, c.safe, c.homes, c.pastRow
	g.SerialBase = c.serialBase
}

// Statements without a vector form run lane by lane in the vector loop: each active lane loads its
// values from memory, runs the statement as scalar code, and stores the values that it has changed.

// A laneValue is a variable that a statement uses in one lane.
type laneValue struct {
	v        *ir.Var
	home     *memory.Home // the location for all lanes
	own      *memory.Home // the location for the current lane
	at       int64        // the offset of the values of all lanes in the scratch memory; -1: there are none
	stride   int64        // of an affine value
	kept     vcode.Reg    // for a uniform value that the statement changes, the initial value of all lanes
	assigned bool
}

// tryVectors selects a statement for vectors, or lane by lane if it has no such form.
func (g *laneByLane) tryVectors(s ir.Stmt) {
	if why := g.attempt(s); why != nil {
		g.Note("the statement at %s runs lane by lane: %s", s.Pos(), why.Why)
		g.serial(s)
	}
}

// attempt selects s, and discards the code if s is refused.
func (g *laneByLane) attempt(s ir.Stmt) (why *prepare.Refusal) {
	then := g.context()
	start, past, loops := g.Mark(), len(g.PastStores), len(g.Loops)
	defer func() {
		r := recover()
		if r == nil {
			return
		}
		refusal, ok := r.(*prepare.Refusal)
		if !ok || g.SerialBase > 0 {
			panic(r)
		}
		g.BackTo(start)
		g.PastStores, g.Loops = g.PastStores[:past], g.Loops[:loops]
		g.enterContext(then)
		why = refusal
	}()
	g.vectorStmt(s)
	return nil
}

// serial selects s lane by lane.
func (g *laneByLane) serial(list ...ir.Stmt) {
	if g.SerialBase > 0 {
		g.Refuse(list[0].Pos(), "lanes in lanes")
	}
	values := g.laneValues(list)
	base, number := g.NewGeneral(), g.ConstGeneral(0)
	g.ReadWord(base, image.WordScratch)
	for _, x := range values {
		g.storeLanes(x, base)
	}
	bits := g.ExecBits()
	old := g.context()
	g.Homes = maps.Clone(g.Homes)
	g.Shapes, g.Exec, g.Prefix, g.Split, g.Shared, g.Unroll, g.SerialBase = nil, nil, vcode.NoReg, false, nil, 1, len(g.Loops)+1
	g.Pointer = map[string]vcode.Reg{} // rows of loops inside the lanes loop start at the first lane
	top, next, end := g.NewLabel(), g.NewLabel(), g.NewLabel()
	g.Place(top)
	g.Test(bits)
	g.Jump(mach.CondE, end)
	g.TestLowest(bits)
	g.Jump(mach.CondE, next)
	for _, x := range values {
		g.enterLane(x, base, number)
	}
	g.list(list)
	for _, x := range values {
		g.leaveLane(x, base, number)
	}
	g.Place(next)
	g.ShiftRight(bits, 1)
	g.AddConst(number, 1)
	for _, x := range values {
		switch {
		case x.stride != 0:
			g.AddConst(x.kept, x.stride)
		case x.home.Per > 0:
			g.AddConst(x.own.General, int64(x.v.Type.Elem.Size))
		}
	}
	g.JumpBack(mach.Always, top)
	g.Place(end)
	g.enterContext(old)
	for _, x := range values {
		g.loadLanes(x, base)
	}
}

// laneValues returns the variables that differ between lanes or that the statements change.
func (g *laneByLane) laneValues(list []ir.Stmt) []*laneValue {
	assigned, inside := ir.Assigned(list), ir.Declared(list)
	vars := ir.Used(list)
	for _, v := range assigned.List() {
		vars.Add(v)
	}
	for _, s := range list {
		if d, ok := s.(*ir.Decl); ok { // the following statements use it
			vars.Add(d.Var)
			assigned.Add(d.Var)
			g.Declare(d.Var)
			inside = ir.Declared(without(list, d))
		}
	}
	var out []*laneValue
	for _, v := range vars.List() {
		h := g.Homes[v]
		if h == nil || inside.Has(v) {
			continue
		}
		x := &laneValue{v: v, home: h, at: -1, kept: vcode.NoReg, assigned: assigned.Has(v)}
		s := g.Shapes.Of[v]
		switch {
		case h.Per > 0:
			x.own = &memory.Home{General: g.NewGeneral(), Length: h.Length, Per: h.Per, Alone: true}
			g.Move(x.own.General, h.General)
		case h.Masks != nil:
			x.at, g.Scratch = g.Scratch, g.Scratch+image.RoundUp(int64(4*g.Lanes*g.Wanted), image.ScratchAlign)
		case h.Vectors != nil && !h.Alike:
			x.at, g.Scratch = g.Scratch, g.Scratch+image.RoundUp(int64(vector.Container(v.Type)*g.Lanes*g.Wanted), image.ScratchAlign)
		case s.Kind == analysis.Affine:
			if x.assigned {
				g.Refuse(v.At, "%s is counted by the lanes", v.Name)
			}
			x.kept, x.stride = g.NewGeneral(), s.Stride
			g.Move(x.kept, h.General)
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

func (g *laneByLane) copyOfHome(h *memory.Home) vcode.Reg {
	if h.Vectors != nil {
		r := g.NewVector()
		g.Move(r, h.Vectors[0])
		return r
	}
	r := g.NewGeneral()
	g.Move(r, h.General)
	return r
}

// storeLanes stores the values of all lanes in memory.
func (g *laneByLane) storeLanes(x *laneValue, base vcode.Reg) {
	if x.at < 0 {
		return
	}
	g.Each(func(u int) {
		if x.home.Masks != nil {
			g.WriteVector(g.laneSlot(x, base, u), g.MaskVector(x.home.Masks[u]), vector.WidthOf(4*g.Lanes))
			return
		}
		g.WriteVector(g.laneSlot(x, base, u), x.home.Vectors[u], g.Width(x.v.Type))
	})
}

// laneSlot returns the memory of the values of unrolled copy u.
func (g *laneByLane) laneSlot(x *laneValue, base vcode.Reg, u int) vcode.Mem {
	return vcode.At(base, int32(x.at+int64(u*g.Lanes*vector.Container(x.v.Type))))
}

// loadLanes loads the changed values.
func (g *laneByLane) loadLanes(x *laneValue, base vcode.Reg) {
	if !x.assigned || x.at < 0 {
		return
	}
	g.Each(func(u int) {
		d := g.NewVector()
		if x.home.Masks != nil {
			g.ReadVector(d, g.laneSlot(x, base, u), vector.WidthOf(4*g.Lanes))
			g.MaskMove(x.home.Masks[u], g.VectorMask(d))
			return
		}
		g.ReadVector(d, g.laneSlot(x, base, u), g.Width(x.v.Type))
		g.Move(x.home.Vectors[u], d)
	})
}

// enterLane assigns a variable a location for the current lane.
func (g *laneByLane) enterLane(x *laneValue, base, number vcode.Reg) {
	t := x.v.Type
	switch {
	case x.home.Per > 0:
		g.Homes[x.v] = x.own
		return
	case x.at < 0 && x.home.Vectors != nil:
		x.own = &memory.Home{General: vcode.NoReg, Length: vcode.NoReg, Vectors: []vcode.Reg{g.NewVector()}, Alike: true}
		g.Move(x.own.Vectors[0], x.kept)
	case x.at < 0:
		x.own = &memory.Home{General: g.NewGeneral(), Length: vcode.NoReg}
		g.Move(x.own.General, x.kept)
	case t.IsFloat():
		x.own = &memory.Home{General: vcode.NoReg, Length: vcode.NoReg, Vectors: []vcode.Reg{g.NewVector()}, Alike: true}
		g.LoadBroadcast(x.own.Vectors[0], vcode.Indexed(base, number, uint8(t.Size), int32(x.at)), t)
	default:
		x.own = &memory.Home{General: g.NewGeneral(), Length: vcode.NoReg}
		g.LoadContainer(x.own.General, vcode.MemArg(vcode.Indexed(base, number, uint8(vector.Container(t)), int32(x.at))), t, true)
	}
	g.Homes[x.v] = x.own
}

// leaveLane stores a changed value. If the value is uniform, every lane computes the same one.
func (g *laneByLane) leaveLane(x *laneValue, base, number vcode.Reg) {
	if !x.assigned || x.home.Per > 0 {
		return
	}
	t := x.v.Type
	slot := vcode.MemArg(vcode.Indexed(base, number, uint8(vector.Container(t)), int32(x.at)))
	switch {
	case x.at < 0:
		g.agreed(x)
	case t.IsFloat():
		g.StoreFloat(slot, x.own.Vectors[0], t)
	default:
		g.StoreContainer(slot, x.own.General, t)
	}
}

// agreed saves the value that a lane has computed for a uniform variable, separately from the
// initial value for the next lane.
func (g *laneByLane) agreed(x *laneValue) {
	if x.home.Vectors != nil {
		g.Move(x.home.Vectors[0], x.own.Vectors[0])
		return
	}
	g.Move(x.home.General, x.own.General)
}
