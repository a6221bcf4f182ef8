package cpu

import (
	"fmt"

	"github.com/gompss/gompss/codegen/cpu/image"
	"github.com/gompss/gompss/codegen/cpu/internal/analysis"
	"github.com/gompss/gompss/codegen/cpu/mach"
	"github.com/gompss/gompss/codegen/cpu/prepare"
	"github.com/gompss/gompss/codegen/cpu/x86"
	"github.com/gompss/gompss/codegen/ir"
)

// A frameKind says what break and continue may name.
type frameKind uint8

const (
	plainLoop     frameKind = iota
	hoistingLoop            // what it does not change is computed before it
	labelledBlock           // break alone may name it
)

// A loopFrame is a loop or labelled block that break and continue may name, while its body is
// selected.
type loopFrame struct {
	label   *ir.Label
	kind    frameKind
	varying bool      // lanes leave at different times: live and skip are masks
	live    []x86.Reg // lanes that have not left the loop
	skip    []x86.Reg // lanes that have not left this iteration
	breakTo mach.Label
	nextTo  mach.Label
	changes *ir.VarSet // variables that the loop changes, for hoisting
	pieces  bool       // it looks whether to pause behind the loops inside and after many rounds
	counter *ir.Var
}

func (g *gen) home(v *ir.Var, at ir.Pos) *home {
	h, ok := g.homes[v]
	if !ok {
		g.refuse(at, "%s (%s) is not supported yet", v.Name, v.Type)
	}
	return h
}

// declare makes the home of a new variable, of the shape that it has all through the loop.
func (g *gen) declare(v *ir.Var) *home {
	if n, ok := g.arrays[v]; ok {
		return g.declareArray(v, n)
	}
	h := &home{gp: x86.NoReg, length: x86.NoReg}
	s := analysis.Shape{}
	if g.shapes != nil {
		s = g.shapes.Of[v]
	}
	t := v.Type
	switch {
	case t.Kind == ir.Bool && s.Kind != analysis.Uniform:
		h.masks = make([]x86.Reg, g.unroll)
		for u := range h.masks {
			h.masks[u] = g.newMask()
		}
	case t.IsFloat() && s.Kind == analysis.Uniform:
		h.vec, h.alike = []x86.Reg{g.NewVector()}, true
	case t.IsScalar() && (t.IsFloat() || s.Kind == analysis.Varying):
		h.vec = g.vectors(g.unroll)
	case t.IsScalar():
		h.gp = g.NewGeneral()
	default:
		g.refuse(v.At, "%s", localRefusal(v))
	}
	g.homes[v] = h
	return h
}

// localRefusal says why a local variable has no place in code for lanes.
func localRefusal(v *ir.Var) string {
	switch v.Type.Kind {
	case ir.Slice:
		return fmt.Sprintf("it is not known what the slice %s is a part of: give it its value where it is declared, by slicing a parameter or an array", v.Name)
	case ir.Pointer:
		return fmt.Sprintf("it is not known what %s points at: give it its value, the address of an element or a variable, where it is declared, and no other later", v.Name)
	}
	return fmt.Sprintf("the address of %s, of type %s, is taken in a way that code for lanes does not follow: use its elements", v.Name, v.Type)
}

// list selects statements one after the other.
//
// Two things hold at every statement. A lane is on: where the last may have left, a jump goes to
// the end of the list. And g.exec is made of registers that every way to the statement has set:
// list alone narrows it for those that follow a statement, and takes that back at its end, so that
// the code behind a loop, block or branch has the masks that were there before it. Lanes that have
// left stay in the masks of their frames, from which the list around narrows again.
func (g *gen) list(body []ir.Stmt) {
	exec, split := g.exec, g.split
	end, jumps := g.NewLabel(), false
	for len(body) > 0 {
		if n := g.piece(body); n > 0 {
			body = body[n:]
			continue
		}
		s := body[0]
		body = body[1:]
		g.stmt(s)
		if g.shapes != nil && len(body) > 0 && ir.LeavesLoop(s) && g.afterEscape() && g.needsLane(body) {
			g.anyLane(g.exec)
			g.Jump(mach.CondE, end)
			jumps = true
		}
	}
	if jumps {
		g.Place(end)
	}
	g.exec, g.split = exec, split
}

// afterEscape turns off the lanes that have left a loop or an iteration in the statement before; it
// tells whether there may be any.
func (g *gen) afterEscape() (any bool) {
	for _, f := range g.loops {
		if f.varying {
			any = true
			g.narrow(f.live)
			if f.skip != nil {
				g.narrow(f.skip)
			}
		}
	}
	return any
}

// needsLane reports whether body must not run where no lane is on. What all lanes do together
// happens whether a lane is on or not: it fails, touches memory, repeats, or changes a variable
// that has one value for all of them.
func (g *gen) needsLane(body []ir.Stmt) bool {
	needs := false
	ir.Inspect(body, func(s ir.Stmt) {
		switch s := s.(type) {
		case *ir.For, *ir.While:
			needs = true
		case *ir.Assign:
			if r, ok := s.Place.(*ir.Ref); ok {
				h := g.homes[r.Var] // nil for a variable of body
				needs = needs || h != nil && h.masks == nil && (h.vec == nil || h.alike)
			}
		}
	}, func(e ir.Expr) { needs = needs || prepare.FailsHere(e) })
	return needs
}

func (g *gen) stmt(s ir.Stmt) {
	old := g.At
	g.At = s.Pos()
	defer func() { g.At = old }()
	if g.shapes != nil {
		g.tryVectors(s)
		return
	}
	g.vectorStmt(s)
}

func (g *gen) vectorStmt(s ir.Stmt) {
	switch s := s.(type) {
	case *ir.Decl:
		g.decl(s)
	case *ir.Assign:
		g.assign(s)
	case *ir.If:
		g.branchStmt(s)
	case *ir.Block:
		g.block(s)
	case *ir.For:
		g.forStmt(s)
	case *ir.While:
		g.while(s)
	case *ir.Break:
		g.leave(s.Label, false)
	case *ir.Continue:
		g.leave(s.Label, true)
	case *ir.Return:
		g.returnKernel(s)
	case *ir.Construct:
		g.refuse(s.At, "the directive %q is not supported yet in vector code", s.Directive.Text)
	case *ir.Call:
		g.refuse(s.At, "a call of %s is not supported yet in vector code", s.Fn.Name)
	case *ir.Atomic:
		g.atomic(s)
	default:
		g.refuse(s.Pos(), "this statement is not supported yet in vector code")
	}
}

// returnKernel ends the kernel from sequential code.
func (g *gen) returnKernel(s *ir.Return) {
	if g.inLoop || g.shapes != nil {
		g.refuse(s.At, "return out of a parallel loop")
	}
	g.Op(x86.MOVQImm, x86.W128, x86.RegArg(x86.CX), x86.ImmArg(image.StatusReturned))
	g.Op(x86.MOVQStore, x86.W128, blockWord(image.WordStatus), x86.RegArg(x86.CX))
	g.Return()
}

func (g *gen) decl(s *ir.Decl) {
	h := g.declare(s.Var)
	if g.arrays[s.Var] > 0 {
		return
	}
	init := s.Init
	if init == nil {
		init = &ir.Const{T: s.Var.Type, At: s.At}
	}
	g.set(s.Var, h, init, true)
	g.noteEvenness(s.Var, h)
}

// set assigns to a variable. Lanes that are off keep their value, but a variable that is only now
// declared has none to keep.
func (g *gen) set(v *ir.Var, h *home, value ir.Expr, fresh bool) {
	switch {
	case h.masks != nil:
		m := g.masksOf(value)
		g.each(func(u int) { g.setMask(h.masks[u], m[u], u, fresh) })
	case h.vec != nil && (g.exec == nil || fresh):
		dst := h.vec
		if h.alike {
			g.move(dst[0], g.vec(value)[0])
			return
		}
		r := g.vecTo(dst, value)
		g.each(func(u int) { g.move(dst[u], r[u]) })
	case h.vec != nil:
		r := g.vec(value)
		if h.alike {
			g.move(h.vec[0], r[0]) // all lanes agree, on or off
			return
		}
		g.each(func(u int) { g.blend(h.vec[u], r[u], g.exec[u], v.Type) })
	default:
		g.move(h.gp, g.gp(value))
	}
}

func (g *gen) setMask(dst, src x86.Reg, u int, fresh bool) {
	if g.exec == nil || fresh {
		g.maskMove(dst, src)
		return
	}
	on := g.maskAnd(src, g.exec[u])
	g.maskMove(dst, g.maskOr(on, g.maskAndNot(g.exec[u], dst)))
}

func (g *gen) assign(s *ir.Assign) {
	r, ok := s.Place.(*ir.Ref)
	if !ok {
		g.store(s.Place, s.Value)
		return
	}
	if g.shapes != nil && !g.shapes.Inside[r.Var] && g.shapes.Of[r.Var].Kind == analysis.Uniform {
		g.refuse(s.At, "%s is shared by the iterations and assigned: write a reduction or private(%s)", r.Var.Name, r.Var.Name)
	}
	g.set(r.Var, g.home(r.Var, s.At), s.Value, false)
}

func (g *gen) branchStmt(s *ir.If) {
	if g.shape(s.Cond).Kind != analysis.Uniform {
		g.maskedIf(s)
		return
	}
	if g.single && g.shapes == nil && g.serialBase == 0 && g.branchSingle(s) {
		return
	}
	other, end := g.NewLabel(), g.NewLabel()
	g.branch(s.Cond, false, other)
	g.list(s.Then)
	if len(s.Else) > 0 {
		g.Jump(mach.Always, end)
	}
	g.Place(other)
	g.list(s.Else)
	g.Place(end)
}

// maskedIf runs both sides, each in the lanes that take it, and jumps over a side that no lane
// takes.
func (g *gen) maskedIf(s *ir.If) {
	cond := g.masksOf(s.Cond)
	old, split := g.exec, g.split
	side := func(masks []x86.Reg, body []ir.Stmt) {
		if len(body) == 0 {
			return
		}
		g.narrow(masks)
		skip := g.NewLabel()
		g.anyLane(g.exec)
		g.Jump(mach.CondE, skip)
		g.list(body)
		g.Place(skip)
		g.exec, g.split = old, split
	}
	if len(s.Else) > 0 || g.changesMask(s.Then, cond) { // the then side may change what the condition was made of
		kept := make([]x86.Reg, g.unroll)
		g.each(func(u int) {
			kept[u] = g.newMask()
			g.maskMove(kept[u], cond[u])
		})
		cond = kept
	}
	side(cond, s.Then)
	if len(s.Else) > 0 {
		side(g.notMasks(cond), s.Else)
	}
}

// changesMask tells whether statements assign to a variable whose own registers the masks are.
func (g *gen) changesMask(list []ir.Stmt, masks []x86.Reg) bool {
	for _, v := range ir.Assigned(list).List() {
		if h := g.homes[v]; h != nil && len(h.masks) > 0 && h.masks[0] == masks[0] {
			return true
		}
	}
	return false
}

func (g *gen) block(s *ir.Block) {
	if s.Label == nil {
		g.list(s.Body)
		return
	}
	f := &loopFrame{label: s.Label, kind: labelledBlock, breakTo: g.NewLabel()}
	f.varying = g.shapes != nil && (&analysis.ShapeWalk{Shapes: g.shapes}).LeavesSplit(s.Body)
	if f.varying {
		f.live = g.copyMasks()
	}
	g.loops = append(g.loops, f)
	g.list(s.Body)
	g.loops = g.loops[:len(g.loops)-1]
	g.Place(f.breakTo)
}

// copyMasks returns fresh masks that hold the lanes that are on.
func (g *gen) copyMasks() []x86.Reg {
	out := make([]x86.Reg, g.unroll)
	g.each(func(u int) {
		out[u] = g.newMask()
		if g.exec != nil {
			g.maskMove(out[u], g.exec[u])
		} else {
			g.maskMove(out[u], g.maskAll())
		}
	})
	return out
}

// leave is break or continue: a jump where all lanes go together, else the lanes that are on go
// off.
func (g *gen) leave(l *ir.Label, next bool) {
	for i := len(g.loops) - 1; i >= 0; i-- {
		f := g.loops[i]
		if f.label != l {
			continue
		}
		if i+1 < g.serialBase {
			break
		}
		if !f.varying {
			if next {
				g.Jump(mach.Always, f.nextTo)
			} else {
				g.Jump(mach.Always, f.breakTo)
			}
			return
		}
		masks := [][]x86.Reg{f.live}
		if next {
			masks[0] = f.skip
		}
		for _, inner := range g.loops[i+1:] { // what lies between is left, too
			if inner.varying {
				masks = append(masks, inner.live)
				if inner.skip != nil {
					masks = append(masks, inner.skip)
				}
			}
		}
		exec := g.copyMasks()
		for _, m := range masks {
			g.each(func(u int) { g.maskMove(m[u], g.maskAndNot(exec[u], m[u])) })
		}
		return
	}
	g.refuse(g.At, "a jump out of the vector loop is not supported")
}
