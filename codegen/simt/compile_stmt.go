package simt

import "github.com/gompss/gompss/codegen/ir"

func (g *compiler) list(list []ir.Stmt) {
	for _, s := range list {
		mark := len(g.regs.live)
		g.stmt(s)
		g.regs.release(mark)
	}
}

func (g *compiler) stmt(s ir.Stmt) {
	switch s := s.(type) {
	case *ir.Decl:
		g.decl(s)
	case *ir.Assign:
		g.assign(s)
	case *ir.Call:
		g.call(s)
	case *ir.If:
		g.branch(s)
	case *ir.Block:
		g.list(s.Body)
		g.here(g.ends(s.Label).breaks...)
		delete(g.labels, s.Label)
	case *ir.While:
		g.while(s)
	case *ir.For:
		g.loop(s)
	case *ir.Break:
		x := g.ends(s.Label)
		x.breaks = append(x.breaks, g.emit(s.At, nil, opJump, 0, 0, 0, 0))
	case *ir.Continue:
		x := g.ends(s.Label)
		x.continues = append(x.continues, g.emit(s.At, nil, opJump, 0, 0, 0, 0))
	case *ir.Return:
		g.ret(s)
	case *ir.Atomic:
		g.atomic(s)
	case *ir.Barrier:
		g.barrier(s)
	default:
		refuse(s.Pos(), "this statement in device code")
	}
}

// ends returns the jumps to label l, an empty list if l is nil.
func (g *compiler) ends(l *ir.Label) *exits {
	if l == nil {
		return &exits{}
	}
	if g.labels[l] == nil {
		g.labels[l] = &exits{}
	}
	return g.labels[l]
}

func (g *compiler) decl(s *ir.Decl) {
	if s.Var.Space == ir.Team {
		return
	}
	v, t := g.local(s.Var), s.Var.Type
	c, literal := s.Init.(*ir.Composite)
	switch {
	case v.mem && s.Init == nil:
		g.emit(s.At, nil, opZero, v.reg, 0, 0, int64(t.Size))
	case s.Init == nil:
		zero := g.regs.constant(0)
		for i := range leaves(t) {
			g.emit(s.At, nil, opMove, v.reg+i, zero, 0, 0)
		}
	case v.mem && literal:
		g.fill(inMemory(v.reg, &ir.Ref{Var: s.Var, At: s.At}), c)
	case v.mem:
		g.mem.store(inMemory(v.reg, s.Init), t, g.expr(s.Init), s.At)
	default:
		g.into(v.reg, s.Init)
	}
}

func (g *compiler) assign(s *ir.Assign) {
	l, t := g.locate(s.Place), s.Place.Type()
	if s.Async {
		g.later(s, l)
		return
	}
	if !l.mem && oneStep(s.Value) {
		g.into(l.reg, s.Value)
		return
	}
	if l.mem {
		g.mem.store(l, t, g.expr(s.Value), s.At)
		return
	}
	tmp := g.regs.temp(leaves(t))
	g.into(tmp, s.Value)
	g.mem.store(l, t, tmp, s.At)
}

// later compiles a copy whose value is there behind the next barrier of the team; until then its
// place holds the complement, so that a read that comes too early shows.
func (g *compiler) later(s *ir.Assign, l location) {
	tmp := g.regs.temp(1)
	g.into(tmp, s.Value)
	to := inMemory(g.mem.address(l, s.At), l.site)
	g.emit(s.At, l.site, opLater, tmp, to.reg, 0, int64(storeOps[s.Place.Type().Kind]))
	g.mem.store(to, s.Place.Type(), tmp, s.At)
}

// call compiles a call. The code evaluates all arguments before it writes the first parameter.
func (g *compiler) call(s *ir.Call) {
	f := g.callee(s.Fn)
	args := make([]int32, len(s.Args))
	for i, a := range s.Args {
		args[i] = g.expr(a)
	}
	for i, v := range s.Fn.Params {
		g.mem.store(slotAt(g.vars[v], s.Args[i]), v.Type, args[i], s.At)
	}
	j := g.emit(s.At, nil, opCall, f.back, 0, 0, int64(f.entry))
	if f.entry < 0 {
		f.calls = append(f.calls, j)
	}
	for i, v := range s.Results {
		if v == nil {
			continue
		}
		src := f.results[i].reg // the registers of the result, or its address if it is in memory
		g.mem.store(slotAt(g.vars[v], &ir.Ref{Var: v, At: s.At}), v.Type, src, s.At)
	}
}

// slotAt returns the location of a slot.
func slotAt(s slot, site ir.Expr) location {
	if s.mem {
		return inMemory(s.reg, site)
	}
	return location{reg: s.reg}
}

func (g *compiler) ret(s *ir.Return) {
	if g.inside == nil {
		g.emit(s.At, nil, opExit, 0, 0, 0, 0)
		return
	}
	regs := make([]int32, len(s.Results))
	for i, e := range s.Results {
		regs[i] = g.expr(e)
	}
	for i, e := range s.Results {
		g.mem.store(slotAt(g.inside.results[i], e), e.Type(), regs[i], s.At)
	}
	g.emit(s.At, nil, opReturn, g.inside.back, 0, 0, 0)
}

func (g *compiler) branch(s *ir.If) {
	other := g.jumpUnless(s.Cond)
	g.list(s.Then)
	if len(s.Else) == 0 {
		g.here(other...)
		return
	}
	end := g.emit(s.At, nil, opJump, 0, 0, 0, 0)
	g.here(other...)
	g.list(s.Else)
	g.here(end)
}

// while compiles a loop. The condition is tested again at the end of the body, so that each
// iteration has only one jump.
func (g *compiler) while(s *ir.While) {
	x := g.ends(s.Label)
	var out []int
	top := len(g.ins)
	g.list(s.Pre)
	if s.Cond != nil {
		out = g.test(s.Cond, false)
	}
	body := len(g.ins)
	g.list(s.Body)
	g.here(x.continues...)
	g.list(s.Post)
	switch {
	case len(s.Pre) > 0 || s.Cond == nil:
		g.emit(s.At, nil, opJump, 0, 0, 0, int64(top))
	default:
		g.back(g.test(s.Cond, true), body)
	}
	g.here(out...)
	g.here(x.breaks...)
	delete(g.labels, s.Label) // a copy of the loop may follow
}

// test is jumpIf, but releases the temporaries.
func (g *compiler) test(cond ir.Expr, sense bool) []int {
	mark := len(g.regs.live)
	list := g.jumpIf(cond, sense)
	g.regs.release(mark)
	return list
}

// back sets the target of jumps to an existing instruction.
func (c *code) back(list []int, to int) {
	for _, i := range list {
		c.ins[i].imm = int64(to)
	}
}

func (g *compiler) loop(s *ir.For) {
	t, x := s.Var.Type, g.ends(s.Label)
	v := g.local(s.Var)
	i := v.reg
	if v.mem {
		i = g.regs.temp(1)
	}
	hi, step := g.regs.temp(1), g.regs.temp(1)
	g.into(hi, s.Hi)
	g.into(step, s.Step)
	g.into(i, s.Lo)
	if _, ok := s.Step.(*ir.Const); !ok {
		g.emit(s.At, s.Step, opStep, 0, step, narrowSign(t), int64(s.Rel))
	}
	cond := &counter{g: g, s: s, i: i, hi: hi}
	out := cond.jump(false)
	body := len(g.ins)
	if v.mem {
		g.mem.store(inMemory(v.reg, &ir.Ref{Var: s.Var, At: s.At}), t, i, s.At)
	}
	g.list(s.Body)
	g.here(x.continues...)
	if s.Rel == ir.Lt && t.Kind == ir.Int64 {
		g.emit(s.At, nil, opLoopLt, i, step, hi, int64(body))
	} else {
		g.emit(s.At, nil, opAdd, i, i, step, 0)
		g.cut(i, t, s.At)
		g.back([]int{cond.jump(true)}, body)
	}
	g.here(out)
	g.here(x.breaks...)
	delete(g.labels, s.Label)
}

// narrowSign returns the operand of opStep for a step of type t: 1 if t is unsigned, so that the
// step is never negative, else 0.
func narrowSign(t *ir.Type) int32 {
	if t.IsSigned() {
		return 0
	}
	return 1
}

// counter is the condition of a counted loop.
type counter struct {
	g     *compiler
	s     *ir.For
	i, hi int32
}

func (c *counter) jump(sense bool) int {
	ch := choices[c.s.Rel]
	x, y := c.i, c.hi
	if ch.swap {
		x, y = y, x
	}
	compare := ch.of(c.s.Var.Type)
	o := jumps[compare].yes
	if !sense {
		o = jumps[compare].no
		if compare != opNe {
			x, y = y, x
		}
	}
	return c.g.emit(c.s.At, nil, o, 0, x, y, 0)
}

func (g *compiler) atomic(s *ir.Atomic) {
	t := s.Place.Type()
	l := g.locate(s.Place)
	a := g.mem.address(l, s.At)
	value, compare := g.regs.constant(0), g.regs.constant(0)
	if s.Value != nil {
		value = g.expr(s.Value)
	}
	if s.Compare != nil {
		compare = g.expr(s.Compare)
	}
	g.smallest(t)
	old := g.regs.temp(1)
	g.atomics = append(g.atomics, atomicOp{s, compare})
	g.emit(s.At, s.Place, opAtomic, old, a, value, int64(len(g.atomics)-1))
	if s.Old != nil {
		g.mem.store(g.locate(s.Old), t, old, s.At)
	}
}

func (g *compiler) barrier(s *ir.Barrier) {
	g.sync = true
	count := g.regs.constant(0)
	if s.Scope == ir.NamedBarrier {
		count = g.expr(s.Count)
	}
	g.barriers = append(g.barriers, s)
	g.emit(s.At, nil, opBarrier, 0, count, 0, int64(len(g.barriers)-1))
}
