package cpu

import (
	"fmt"

	"github.com/gompss/gompss/codegen/ir"
)

// A loopFrame is a loop or labelled block that break and continue may name, while its body is selected.
type loopFrame struct {
	label   *ir.Label
	block   bool
	varying bool  // lanes leave at different times: live and skip are masks
	live    []Reg // lanes that have not left the loop
	skip    []Reg // lanes that have not left this iteration
	breakTo label
	nextTo  label
	changes *ir.VarSet // variables that the loop changes, for hoisting
	hoists  bool
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
	h := &home{gp: NoReg, length: NoReg}
	s := shape{}
	if g.shapes != nil {
		s = g.shapes.of[v]
	}
	t := v.Type
	switch {
	case t.Kind == ir.Bool && s.kind != uniform:
		h.masks = make([]Reg, g.unroll)
		for u := range h.masks {
			h.masks[u] = g.newMask()
		}
	case t.IsFloat() && s.kind == uniform:
		h.vec, h.alike = []Reg{g.vector()}, true
	case t.IsScalar() && (t.IsFloat() || s.kind == varying):
		h.vec = g.vectors(g.unroll)
	case t.IsScalar():
		h.gp = g.general()
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

func (g *gen) list(body []ir.Stmt) {
	for len(body) > 0 {
		if n := g.piece(body); n > 0 {
			body = body[n:]
			continue
		}
		s := body[0]
		body = body[1:]
		g.stmt(s)
		if g.shapes != nil && escapes(s) {
			g.afterEscape()
		}
	}
}

// afterEscape turns off the lanes that have left a loop or an iteration in the statement before.
func (g *gen) afterEscape() {
	for _, f := range g.loops {
		if f.varying {
			g.narrow(f.live)
			if f.skip != nil {
				g.narrow(f.skip)
			}
		}
	}
}

func (g *gen) stmt(s ir.Stmt) {
	old := g.at
	g.at = s.Pos()
	defer func() { g.at = old }()
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
	g.op(MOVQImm, W128, RegArg(CX), ImmArg(statusReturned))
	g.op(MOVQStore, W128, blockWord(wordStatus), RegArg(CX))
	g.ret()
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

// set assigns to a variable. Lanes that are off keep their value, but a variable that is only now declared has none to keep.
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

func (g *gen) setMask(dst, src Reg, u int, fresh bool) {
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
	if g.shapes != nil && !g.shapes.inside[r.Var] && g.shapes.of[r.Var].kind == uniform {
		g.refuse(s.At, "%s is shared by the iterations and assigned: write a reduction or private(%s)", r.Var.Name, r.Var.Name)
	}
	g.set(r.Var, g.home(r.Var, s.At), s.Value, false)
}

func (g *gen) branchStmt(s *ir.If) {
	if g.shape(s.Cond).kind != uniform {
		g.maskedIf(s)
		return
	}
	if g.single && g.shapes == nil && g.serialBase == 0 && g.branchSingle(s) {
		return
	}
	other, end := g.newLabel(), g.newLabel()
	exec, split := g.exec, g.split
	g.branch(s.Cond, false, other)
	g.list(s.Then)
	g.exec, g.split = exec, split // masks that one side has narrowed are not there on the other way
	if len(s.Else) > 0 {
		g.jump(always, end)
	}
	g.place(other)
	g.list(s.Else)
	g.exec, g.split = exec, split
	g.place(end)
}

// maskedIf runs both sides, each in the lanes that take it, and jumps over a side that no lane takes.
func (g *gen) maskedIf(s *ir.If) {
	cond := g.masksOf(s.Cond)
	old, split := g.exec, g.split
	side := func(masks []Reg, body []ir.Stmt) {
		if len(body) == 0 {
			return
		}
		g.narrow(masks)
		skip := g.newLabel()
		g.anyLane(g.exec)
		g.jump(condE, skip)
		g.list(body)
		g.place(skip)
		g.exec, g.split = old, split
	}
	if len(s.Else) > 0 || g.changesMask(s.Then, cond) { // the then side may change what the condition was made of
		kept := make([]Reg, g.unroll)
		g.each(func(u int) {
			kept[u] = g.newMask()
			g.maskMove(kept[u], cond[u])
		})
		cond = kept
	}
	side(cond, s.Then)
	if len(s.Else) > 0 {
		side(g.mapMasks(cond, func(m Reg) Reg { return g.maskXor(m, g.maskAll()) }), s.Else)
	}
}

// changesMask tells whether statements assign to a variable whose own registers the masks are.
func (g *gen) changesMask(list []ir.Stmt, masks []Reg) bool {
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
	f := &loopFrame{label: s.Label, block: true, breakTo: g.newLabel()}
	f.varying = g.shapes != nil && (&shapeWalk{shapes: g.shapes}).leavesSplit(s.Body)
	old, split := g.exec, g.split
	if f.varying {
		f.live = g.copyMasks()
	}
	g.loops = append(g.loops, f)
	g.list(s.Body)
	g.loops = g.loops[:len(g.loops)-1]
	g.exec, g.split = old, split
	g.place(f.breakTo)
}

// copyMasks returns fresh masks that hold the lanes that are on.
func (g *gen) copyMasks() []Reg {
	out := make([]Reg, g.unroll)
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

// leave is break or continue: a jump where all lanes go together, else the lanes that are on go off.
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
				g.jump(always, f.nextTo)
			} else {
				g.jump(always, f.breakTo)
			}
			return
		}
		masks := [][]Reg{f.live}
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
	g.refuse(g.at, "a jump out of the vector loop is not supported")
}
