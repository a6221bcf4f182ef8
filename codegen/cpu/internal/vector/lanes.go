package vector

import (
	"github.com/gompss/gompss/codegen/cpu/mach"
	"github.com/gompss/gompss/codegen/cpu/vcode"
	"github.com/gompss/gompss/codegen/ir"
)

// InLanes calls f for every lane, which is stepped over where it is off.
func (g *Vectors) InLanes(bits vcode.Reg, f func(lane int)) {
	for lane := range g.Lanes {
		skip := g.NewLabel()
		if bits != vcode.NoReg {
			g.Op(vcode.Store64, vcode.W128, vcode.RegArg(vcode.Count), vcode.RegArg(bits))
			g.Op(vcode.AndImm, vcode.W128, vcode.RegArg(vcode.Count), vcode.ImmArg(1<<lane))
			g.Jump(mach.CondE, skip)
		}
		f(lane)
		g.Place(skip)
	}
}

func (g *Vectors) BroadcastLane(d vcode.Reg, from vcode.Arg, t *ir.Type) {
	if Container(t) == 8 {
		g.Op(vcode.VBroadcastF64, max(g.Width(t), vcode.W256), vcode.RegArg(d), from)
	} else {
		g.Op(vcode.VBroadcastF32, g.Width(t), vcode.RegArg(d), from)
	}
}
