package vector

import (
	"github.com/gompss/gompss/codegen/cpu/mach"
	"github.com/gompss/gompss/codegen/cpu/x86"
	"github.com/gompss/gompss/codegen/ir"
)

// InLanes calls f for every lane, which is stepped over where it is off.
func (g *Vectors) InLanes(bits x86.Reg, f func(lane int)) {
	for lane := range g.Lanes {
		skip := g.NewLabel()
		if bits != x86.NoReg {
			g.Op(x86.MOVQStore, x86.W128, x86.RegArg(x86.CX), x86.RegArg(bits))
			g.Op(x86.ANDQImm, x86.W128, x86.RegArg(x86.CX), x86.ImmArg(1<<lane))
			g.Jump(mach.CondE, skip)
		}
		f(lane)
		g.Place(skip)
	}
}

func (g *Vectors) BroadcastLane(d x86.Reg, from x86.Arg, t *ir.Type) {
	if Container(t) == 8 {
		g.Op(x86.VBROADCASTSD, max(g.Width(t), x86.W256), x86.RegArg(d), from)
	} else {
		g.Op(x86.VBROADCASTSS, g.Width(t), x86.RegArg(d), from)
	}
}
