package selection

import (
	"github.com/gompss/gompss/codegen/cpu/internal/analysis"
	"github.com/gompss/gompss/codegen/cpu/internal/memory"
	"github.com/gompss/gompss/codegen/cpu/internal/vector"
	"github.com/gompss/gompss/codegen/cpu/mach"
	"github.com/gompss/gompss/codegen/cpu/vcode"
	"github.com/gompss/gompss/codegen/ir"
)

// Branches in scalar code: code that leaves a loop is out of line, so that continuing costs no
// jump. If both sides only compute an integer or two, both are computed and one result is selected,
// because a branch that the processor cannot predict costs more.

// branchSingle selects s if it has such a form, and reports whether it did so.
func (g *statements) branchSingle(s *ir.If) bool {
	if g.selectOne(s) {
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
		g.Branch(s.Cond, true, to)
	default:
		behind := g.NewLabel()
		g.Branch(s.Cond, true, behind)
		g.Later(behind, func() { g.list(s.Then) })
	}
	return true
}

// jumpTarget returns the target of a break or continue.
func (g *statements) jumpTarget(s ir.Stmt) (mach.Label, bool) {
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
	for i := len(g.Loops) - 1; i >= 0; i-- {
		f := g.Loops[i]
		if f.Label != l {
			continue
		}
		if f.Varying || next && f.Kind == memory.LabelledBlock {
			return 0, false
		}
		if next {
			return f.NextTo, true
		}
		return f.BreakTo, true
	}
	return 0, false
}

// Limits of selectOne for each side.
const (
	mostTaken      = 2 // variables
	mostOperations = 4
)

// selectOne computes both sides and selects results with conditional moves, if both sides only
// assign simple integers to variables.
func (g *statements) selectOne(s *ir.If) bool {
	c, ok := s.Cond.(*ir.Binary)
	if !ok || !c.X.Type().IsInteger() || analysis.Loads(s.Cond) || !changing(s) {
		return false
	}
	k, ok := vector.SignedConds[c.Op]
	if !ok {
		return false
	}
	if !c.X.Type().IsSigned() {
		k = vector.UnsignedConds[c.Op]
	}
	then, ok1 := g.plainSide(s.Then)
	other, ok2 := g.plainSide(s.Else)
	if !ok1 || !ok2 || len(then)+len(other) == 0 {
		return false
	}
	values := func(side []*ir.Assign) []vcode.Reg {
		var out []vcode.Reg
		for _, a := range side {
			r := g.NewGeneral()
			g.Move(r, g.General(a.Value))
			out = append(out, r)
		}
		return out
	}
	thens, others := values(then), values(other)
	x := g.General(c.X)
	if v, isConst := ir.ConstInt(c.Y); isConst && v == int64(int32(v)) {
		g.CompareConst(x, v)
	} else {
		g.Compare(x, g.General(c.Y))
	}
	for i, a := range then { // moves do not change the flags
		g.MoveIf(k, g.placeHome(a).General, g.otherwise(a, other, others, k, thens[i]))
	}
	for i, a := range other {
		if !assigns(then, a) {
			g.MoveIf(k.Not(), g.placeHome(a).General, others[i])
		}
	}
	return true
}

// otherwise moves the value that the other side assigns to the variable of a, if it assigns one,
// and returns the value of this side.
func (g *statements) otherwise(a *ir.Assign, other []*ir.Assign, others []vcode.Reg, k mach.Cond, value vcode.Reg) vcode.Reg {
	for i, o := range other {
		if o.Place.(*ir.Ref).Var == a.Place.(*ir.Ref).Var {
			g.Move(g.placeHome(a).General, others[i])
		}
	}
	return value
}

func (g *statements) placeHome(a *ir.Assign) *memory.Home { return g.Homes[a.Place.(*ir.Ref).Var] }

func assigns(side []*ir.Assign, a *ir.Assign) bool {
	for _, b := range side {
		if b.Place.(*ir.Ref).Var == a.Place.(*ir.Ref).Var {
			return true
		}
	}
	return false
}

// plainSide returns the assignments of one side if they are few and simple, and none uses the
// result of another.
func (g *statements) plainSide(side []ir.Stmt) (out []*ir.Assign, ok bool) {
	left := mostOperations
	seen := &ir.VarSet{}
	for _, s := range side {
		a, ok := s.(*ir.Assign)
		if !ok || len(out) == mostTaken {
			return nil, false
		}
		r, ok := a.Place.(*ir.Ref)
		if !ok || !r.Var.Type.IsInteger() || g.Homes[r.Var] == nil || g.Homes[r.Var].General == vcode.NoReg || seen.Has(r.Var) || !plainValue(a.Value, &left) {
			return nil, false
		}
		for _, v := range ir.ExprVars(a.Value).List() {
			if seen.Has(v) || g.Homes[v] == nil || g.Homes[v].General == vcode.NoReg {
				return nil, false
			}
		}
		seen.Add(r.Var)
		out = append(out, a)
	}
	return out, true
}

// plainValue reports whether e consists of at most left integer operations that take one cycle and
// cannot fail.
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

// changing reports whether the condition depends on a variable that one of the sides assigns.
func changing(s *ir.If) bool {
	assigned := ir.Assigned([]ir.Stmt{s})
	for _, v := range ir.ExprVars(s.Cond).List() {
		if assigned.Has(v) {
			return true
		}
	}
	return false
}
