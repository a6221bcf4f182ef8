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
		if test, ok := wholeIf(admitted(l)); ok {
			branch := *l
			branch.Body = test.Then
			g.program.Launches = append(g.program.Launches, &branch)
			g.guards = append(g.guards, guard(l, test))
			continue
		}
		g.program.Launches = append(g.program.Launches, l)
	}
	if len(g.guards) == 0 {
		return nil
	}
	return g
}

// admitted returns the body of a launch for when it is to run at all.
func admitted(l *ir.Launch) []ir.Stmt {
	body := l.Body
	for l.When != nil && len(body) == 1 {
		test, ok := body[0].(*ir.If)
		if !ok || len(test.Else) > 0 {
			break
		}
		body = test.Then
	}
	return body
}

// guard is what must hold for the branch of test to be all of l: that the host sees it or l not to run at all.
func guard(l *ir.Launch, test *ir.If) ir.Expr {
	if l.When == nil {
		return test.Cond
	}
	return &ir.Select{Cond: l.When, X: test.Cond, Y: &ir.Const{T: ir.BoolType, Bits: 1, At: test.At}, At: test.At}
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
