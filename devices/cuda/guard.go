package cuda

import (
	"github.com/gompss/gompss/codegen/cuda"
	"github.com/gompss/gompss/codegen/ir"
)

// A guarded is a program without checks, and the tests that prove them, which the host makes once per launch.
type guarded struct {
	program *ir.Program
	guards  []ir.Expr
}

// guardOf returns p without the checks that the host can make; nil where there is nothing to be gained.
func guardOf(p *ir.Program) *guarded {
	proved, guards := cuda.Proved(p)
	if len(guards) == 0 {
		return nil
	}
	return &guarded{proved, guards}
}

// holds reports whether all guards are true; one that the host cannot know is not.
func (g *guarded) holds(env ir.Env) bool {
	if g == nil {
		return false
	}
	for _, cond := range g.guards {
		if bits, err := ir.Eval(cond, env); err != nil || bits == 0 {
			return false
		}
	}
	return true
}
