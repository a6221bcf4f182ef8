package values

import (
	"github.com/gompss/gompss/codegen/cpu/internal/memory"
	"github.com/gompss/gompss/codegen/cpu/internal/vector"
	"github.com/gompss/gompss/codegen/cpu/mach"
	"github.com/gompss/gompss/codegen/cpu/vcode"
	"github.com/gompss/gompss/codegen/ir"
)

// Branch jumps to the label when the uniform condition e has the value when.
func (g *Conditions) Branch(e ir.Expr, when bool, to mach.Label) {
	switch e := e.(type) {
	case *ir.Const:
		if (e.Bits != 0) == when {
			g.Jump(mach.Always, to)
		}
		return
	case *ir.Unary:
		g.Branch(e.X, !when, to)
		return
	case *ir.Binary:
		if g.branchBinary(e, when, to) {
			return
		}
	case *ir.Apart:
		g.branchApart(e, when, to)
		return
	case *ir.Math:
		g.MaskBits(vcode.Acc, g.boolMath(e)[0])
		g.LowestBit(vcode.Acc)
		g.Jump(map[bool]mach.Cond{true: mach.CondNE, false: mach.CondE}[when], to)
		return
	}
	r := g.General(e)
	g.Test(r)
	if when {
		g.Jump(mach.CondNE, to)
	} else {
		g.Jump(mach.CondE, to)
	}
}

func (g *Conditions) branchBinary(e *ir.Binary, when bool, to mach.Label) bool {
	switch e.Op {
	case ir.LAnd, ir.LOr:
		if (e.Op == ir.LAnd) == when { // both must agree: the first can only rule out
			skip := g.NewLabel()
			g.Branch(e.X, !when, skip)
			g.Branch(e.Y, when, to)
			g.Place(skip)
		} else {
			g.Branch(e.X, when, to)
			g.Branch(e.Y, when, to)
		}
		return true
	}
	k, ok := vector.SignedConds[e.Op]
	if !ok {
		return false
	}
	if e.X.Type().IsFloat() {
		g.branchFloat(e, when, to)
		return true
	}
	if e.X.Type().IsInteger() && !e.X.Type().IsSigned() {
		k = vector.UnsignedConds[e.Op]
	}
	x := g.General(e.X)
	if c, isConst := ir.ConstInt(e.Y); isConst && c == int64(int32(c)) {
		g.CompareConst(x, c)
	} else {
		g.Compare(x, g.General(e.Y))
	}
	if !when {
		k = k.Not()
	}
	g.Jump(k, to)
	return true
}

// branchApart asks whether one slice ends before the other begins.
func (g *Conditions) branchApart(e *ir.Apart, when bool, to mach.Label) {
	yes, no := to, g.NewLabel()
	if !when {
		yes, no = no, to
	}
	x, y := g.SliceOf(e.X), g.SliceOf(e.Y)
	before := func(a, b *memory.Home, size int64) {
		end := g.NewGeneral()
		g.MultiplyConst(end, a.Length, size)
		g.Add(end, a.General)
		g.Compare(end, b.General)
		g.Jump(mach.CondBE, yes)
	}
	before(x, y, int64(e.X.Type().Elem.Size))
	before(y, x, int64(e.Y.Type().Elem.Size))
	g.Jump(mach.Always, no)
	if when {
		g.Place(no)
	} else {
		g.Place(yes)
	}
}

// branchFloat compares the first lanes of two uniform floats.
func (g *Conditions) branchFloat(e *ir.Binary, when bool, to mach.Label) {
	m := g.compare(e)[0]
	g.MaskBits(vcode.Acc, m)
	g.LowestBit(vcode.Acc)
	if when {
		g.Jump(mach.CondNE, to)
	} else {
		g.Jump(mach.CondE, to)
	}
}
