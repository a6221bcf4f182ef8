package cpu

import (
	"github.com/gompss/gompss/codegen/cpu/internal/analysis"
	"github.com/gompss/gompss/codegen/cpu/mach"
	"github.com/gompss/gompss/codegen/cpu/x86"
	"github.com/gompss/gompss/codegen/ir"
)

// Branches in code for single numbers: what leaves a loop stands behind the code, so that going on
// costs no jump, and sides that only compute an integer or two are both computed, and one taken: a
// branch that goes now one way and now the other costs more than they do.

// branchSingle selects s where it has such a form.
func (g *gen) branchSingle(s *ir.If) bool {
	if g.takeOne(s) {
		return true
	}
	if len(s.Else) > 0 || len(s.Then) == 0 {
		return false
	}
	last := s.Then[len(s.Then)-1]
	to, ok := g.jumpTarget(last)
	switch {
	case !ok:
		return false
	case len(s.Then) == 1:
		g.branch(s.Cond, true, to)
	default:
		behind := g.NewLabel()
		g.branch(s.Cond, true, behind)
		g.later(behind, func() { g.list(s.Then) })
	}
	return true
}

// jumpTarget is where a break or continue goes.
func (g *gen) jumpTarget(s ir.Stmt) (mach.Label, bool) {
	var l *ir.Label
	next := false
	switch s := s.(type) {
	case *ir.Break:
		l = s.Label
	case *ir.Continue:
		l, next = s.Label, true
	default:
		return 0, false
	}
	for i := len(g.loops) - 1; i >= 0; i-- {
		f := g.loops[i]
		if f.label != l {
			continue
		}
		if f.varying || next && f.kind == labelledBlock {
			return 0, false
		}
		if next {
			return f.nextTo, true
		}
		return f.breakTo, true
	}
	return 0, false
}

// What takeOne takes on each side.
const (
	mostTaken      = 2 // variables
	mostOperations = 4
)

var taking = map[mach.Cond]x86.Op{mach.CondB: x86.CMOVQCS, mach.CondAE: x86.CMOVQCC, mach.CondE: x86.CMOVQEQ, mach.CondNE: x86.CMOVQNE, mach.CondBE: x86.CMOVQLS, mach.CondA: x86.CMOVQHI, mach.CondL: x86.CMOVQLT, mach.CondGE: x86.CMOVQGE, mach.CondLE: x86.CMOVQLE, mach.CondG: x86.CMOVQGT}

// takeOne computes both sides and moves on a condition, where both only assign plain integers to
// variables.
func (g *gen) takeOne(s *ir.If) bool {
	c, ok := s.Cond.(*ir.Binary)
	if !ok || !c.X.Type().IsInteger() || analysis.Loads(s.Cond) || !changing(s) {
		return false
	}
	k, ok := signedConds[c.Op]
	if !ok {
		return false
	}
	if !c.X.Type().IsSigned() {
		k = unsignedConds[c.Op]
	}
	then, ok1 := g.plainSide(s.Then)
	other, ok2 := g.plainSide(s.Else)
	if !ok1 || !ok2 || len(then)+len(other) == 0 {
		return false
	}
	values := func(side []*ir.Assign) []x86.Reg {
		var out []x86.Reg
		for _, a := range side {
			r := g.NewGeneral()
			g.move(r, g.gp(a.Value))
			out = append(out, r)
		}
		return out
	}
	thens, others := values(then), values(other)
	x := g.gp(c.X)
	if v, isConst := ir.ConstInt(c.Y); isConst && v == int64(int32(v)) {
		g.Op(x86.CMPQImm, x86.W128, x86.RegArg(x), x86.ImmArg(v))
	} else {
		g.Op(x86.CMPQ, x86.W128, x86.RegArg(x), x86.RegArg(g.gp(c.Y)))
	}
	for i, a := range then { // moves leave the flags as they are
		g.Op(taking[k], x86.W128, x86.RegArg(g.placeHome(a).gp), x86.RegArg(g.otherwise(a, other, others, k, thens[i])))
	}
	for i, a := range other {
		if !assigns(then, a) {
			g.Op(taking[k.Not()], x86.W128, x86.RegArg(g.placeHome(a).gp), x86.RegArg(others[i]))
		}
	}
	return true
}

// otherwise moves what the other side makes of the variable of a, where it makes something of it,
// and returns what this side does.
func (g *gen) otherwise(a *ir.Assign, other []*ir.Assign, others []x86.Reg, k mach.Cond, value x86.Reg) x86.Reg {
	for i, o := range other {
		if o.Place.(*ir.Ref).Var == a.Place.(*ir.Ref).Var {
			g.move(g.placeHome(a).gp, others[i])
		}
	}
	return value
}

func (g *gen) placeHome(a *ir.Assign) *home { return g.homes[a.Place.(*ir.Ref).Var] }

func assigns(side []*ir.Assign, a *ir.Assign) bool {
	for _, b := range side {
		if b.Place.(*ir.Ref).Var == a.Place.(*ir.Ref).Var {
			return true
		}
	}
	return false
}

// plainSide takes the assignments of one side apart, where they are few and simple and none needs
// another's result.
func (g *gen) plainSide(side []ir.Stmt) (out []*ir.Assign, ok bool) {
	left := mostOperations
	seen := &ir.VarSet{}
	for _, s := range side {
		a, ok := s.(*ir.Assign)
		if !ok || len(out) == mostTaken {
			return nil, false
		}
		r, ok := a.Place.(*ir.Ref)
		if !ok || !r.Var.Type.IsInteger() || g.homes[r.Var] == nil || g.homes[r.Var].gp == x86.NoReg || seen.Has(r.Var) || !plainValue(a.Value, &left) {
			return nil, false
		}
		for _, v := range ir.ExprVars(a.Value).List() {
			if seen.Has(v) || g.homes[v] == nil || g.homes[v].gp == x86.NoReg {
				return nil, false
			}
		}
		seen.Add(r.Var)
		out = append(out, a)
	}
	return out, true
}

// plainValue tells the expressions of a few operations on integers that take a cycle and cannot
// fail.
func plainValue(e ir.Expr, left *int) bool {
	if !e.Type().IsInteger() {
		return false
	}
	switch e := e.(type) {
	case *ir.Const, *ir.Ref:
		return true
	case *ir.Convert:
		*left--
		return *left >= 0 && plainValue(e.X, left)
	case *ir.Binary:
		*left--
		if *left < 0 || e.Checked {
			return false
		}
		switch e.Op {
		case ir.Add, ir.Sub, ir.And, ir.Or, ir.Xor:
			return plainValue(e.X, left) && plainValue(e.Y, left)
		case ir.Mul:
			return plainValue(e.X, left) && plainValue(e.Y, left)
		case ir.Shl, ir.Shr:
			_, isConst := ir.ConstInt(e.Y)
			return isConst && plainValue(e.X, left)
		}
	}
	return false
}

// changing tells whether the condition depends on what the sides assign.
func changing(s *ir.If) bool {
	assigned := ir.Assigned([]ir.Stmt{s})
	for _, v := range ir.ExprVars(s.Cond).List() {
		if assigned.Has(v) {
			return true
		}
	}
	return false
}

// updateInPlace adds to a place in memory, or subtracts from it, at the address that the place has.
func (g *gen) updateInPlace(m x86.Mem, place, value ir.Expr) bool {
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
		g.Op(map[bool]x86.Op{true: x86.ADDLImm, false: x86.ADDQImm}[t.Size == 4], x86.W128, x86.MemArg(m), x86.ImmArg(c))
		return true
	}
	g.Op(memoryOps[e.Op][min(1, t.Size/8)], x86.W128, x86.MemArg(m), x86.RegArg(g.gp(e.Y)))
	return true
}

// timesAndMore computes x*3, x*5 and x*9, and that with a constant added, as an address.
func (g *gen) timesAndMore(r x86.Reg, e *ir.Binary) bool {
	disp := int64(0)
	if c, ok := ir.ConstInt(e.Y); ok && e.Op == ir.Add && c == int64(int32(c)) {
		disp = c
		if e, ok = e.X.(*ir.Binary); !ok || e.T.Size < 8 {
			return false
		}
	}
	if e.Op != ir.Mul {
		return false
	}
	c, x := int64(0), e.X
	if v, ok := ir.ConstInt(e.Y); ok {
		c = v
	} else if v, ok := ir.ConstInt(e.X); ok {
		c, x = v, e.Y
	}
	if c != 3 && c != 5 && c != 9 {
		return false
	}
	v := g.gp(x)
	g.Op(x86.LEAQ, x86.W128, x86.RegArg(r), x86.MemArg(x86.Indexed(v, v, uint8(c-1), int32(disp))))
	return true
}

// gpLow evaluates an integer of which only the bits of its type matter.
func (g *gen) gpLow(e ir.Expr) x86.Reg {
	if !g.single || e.Type().Size == 8 {
		return g.gp(e)
	}
	switch e := e.(type) {
	case *ir.Convert:
		if from := e.X.Type(); from.IsInteger() && from.Size >= e.T.Size {
			return g.gpLow(e.X)
		}
	case *ir.Binary:
		if op, ok := generalOps[e.Op]; ok && e.T.IsInteger() && e.T.Kind != ir.Bool {
			r := g.NewGeneral()
			g.move(r, g.gpLow(e.X))
			g.Op(op, x86.W128, x86.RegArg(r), x86.RegArg(g.gpLow(e.Y)))
			return r
		}
	}
	return g.gp(e)
}
