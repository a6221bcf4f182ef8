package launch

import (
	"github.com/gompss/gompss/codegen/cuda"
	"github.com/gompss/gompss/codegen/ir"
	"github.com/gompss/gompss/devices"
)

// A Guarded is a program without the checks that the host makes once per launch: by the proof of
// the kernel, and by guards.
type Guarded struct {
	Program *ir.Program
	proves  func(args []devices.Arg) bool // nil for always
	guards  []ir.Expr
}

// GuardOf returns the program of k without the checks that the host can make; nil where there is
// nothing to be gained.
func GuardOf(k *devices.Kernel) *Guarded {
	g := &Guarded{Program: k.Program}
	if k.Unchecked != nil {
		g.Program, g.proves = k.Unchecked, k.Proves
	}
	if proved, guards := cuda.Proved(g.Program); len(guards) > 0 {
		g.Program, g.guards = proved, guards
	}
	if g.proves == nil && g.guards == nil {
		return nil
	}
	return g
}

// Holds reports whether the host proves a launch with the arguments of b; what it cannot know it
// does not prove. b is of the parameters of g then.
func (g *Guarded) Holds(b *Binding) bool {
	if g == nil || len(b.Args) != len(g.Program.Params) || g.proves != nil && !g.proves(b.Args) {
		return false
	}
	checked := b.Params
	b.Params = g.Program.Params
	for _, cond := range g.guards {
		if bits, err := ir.Eval(cond, b); err != nil || bits == 0 {
			b.Params = checked
			return false
		}
	}
	return true
}
