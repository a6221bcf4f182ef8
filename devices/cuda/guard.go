package cuda

import "github.com/gompss/gompss/codegen/ir"

// A guarded is a program whose launches begin with a test of their arguments that proves all checks of one branch: the
// branch without checks as a program of its own, and the tests, which the host makes once per launch.
type guarded struct {
	program *ir.Program
	guards  []ir.Expr
}

// guardOf takes the proved branches out of a program; nil when no launch has one.
//
// A kernel that cannot fail needs no fault record, and what comes behind it can wait on the GPU.
func guardOf(p *ir.Program) *guarded {
	g := &guarded{program: new(ir.Program)}
	*g.program = *p
	g.program.Launches = nil
	for _, l := range p.Launches {
		if test, ok := wholeIf(l.Body); ok {
			branch := *l
			branch.Body = test.Then
			g.program.Launches = append(g.program.Launches, &branch)
			g.guards = append(g.guards, test.Cond)
			continue
		}
		g.program.Launches = append(g.program.Launches, l)
	}
	if len(g.guards) == 0 {
		return nil
	}
	return g
}

// wholeIf returns the statement that is all of a body, if it is one that has both branches.
func wholeIf(body []ir.Stmt) (*ir.If, bool) {
	if len(body) != 1 {
		return nil, false
	}
	test, ok := body[0].(*ir.If)
	return test, ok && len(test.Then) > 0 && len(test.Else) > 0
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
