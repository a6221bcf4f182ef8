package cuda

import (
	"github.com/gompss/gompss/codegen/cuda"
	"github.com/gompss/gompss/codegen/ir"
	"github.com/gompss/gompss/devices"
)

// A guarded is a program without the checks that the host makes once per launch: by the proof of the kernel, and by guards.
type guarded struct {
	program *ir.Program
	proves  func(args []devices.Arg) bool // nil for always
	guards  []ir.Expr
}

// guardOf returns the program of k without the checks that the host can make; nil where there is nothing to be gained.
func guardOf(k *devices.Kernel) *guarded {
	g := &guarded{program: k.Program}
	if k.Unchecked != nil {
		g.program, g.proves = k.Unchecked, k.Proves
	}
	if proved, guards := cuda.Proved(g.program); len(guards) > 0 {
		g.program, g.guards = proved, guards
	}
	if g.proves == nil && g.guards == nil {
		return nil
	}
	return g
}

// holds reports whether the host proves a launch with the arguments of b; what it cannot know it does not prove. b is of the parameters of g then.
func (g *guarded) holds(b *binding) bool {
	if g == nil || len(b.args) != len(g.program.Params) || g.proves != nil && !g.proves(b.args) {
		return false
	}
	checked := b.params
	b.params = g.program.Params
	for _, cond := range g.guards {
		if bits, err := ir.Eval(cond, b); err != nil || bits == 0 {
			b.params = checked
			return false
		}
	}
	return true
}
