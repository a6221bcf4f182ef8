// Package guard derives versions of device programs without the checks that the host can make once
// for each launch.
package guard

import (
	"slices"

	"github.com/gompss/gompss/codegen/ir"
)

// Proved returns p without the checks that guards prove, and the guards, which the host evaluates
// for the arguments of a run. If there are no guards, there is no such version. left prints a
// program, and reports for each of its launches whether a check remains in it.
//
// A kernel that cannot fail needs no fault record, and its successors can wait on the GPU. Proved
// therefore looks, for each launch, for a version without any check. Guards are tests that all
// indices of a loop are in range, and tests of single elements whose index the host knows, such as
// a result. If no such version is found, a launch that begins with a test is reduced to one branch
// of it.
func Proved(p *ir.Program, left func(*ir.Program) ([]bool, error)) (proved *ir.Program, guards []ir.Expr) {
	q := *p
	q.Launches = nil
	own := make([][]ir.Expr, len(p.Launches))
	for i, l := range p.Launches {
		var free *ir.Launch
		free, own[i] = withoutChecks(l)
		q.Launches = append(q.Launches, free)
	}
	faults, err := left(&q)
	if err != nil { // left gives the same error for p, which is reported when p is printed
		return nil, nil
	}
	for i, l := range p.Launches {
		if faults[i] || len(own[i]) == 0 {
			q.Launches[i], own[i] = branchOf(l)
		}
		if when := inOrder(l); when != nil && faults[i] {
			q.Launches[i], own[i] = notRun(l), []ir.Expr{&ir.Unary{Op: ir.Not, X: when, At: when.Pos()}}
			guards = withGuard(guards, own[i][0])
			continue
		}
		for _, g := range own[i] {
			guards = withGuard(guards, whereRun(l, g))
		}
	}
	if len(guards) == 0 {
		return nil, nil
	}
	return &q, guards
}

// inOrder returns the condition under which l runs if that is an overlap of slices, which the host
// can test: l then runs loops in order that another launch runs in parallel.
func inOrder(l *ir.Launch) ir.Expr {
	not, ok := l.When.(*ir.Unary)
	if !ok || not.Op != ir.Not || !sameOnHost(l.When) {
		return nil
	}
	overlap := false
	ir.WalkExpr(not.X, func(e ir.Expr) bool {
		_, is := e.(*ir.Apart)
		overlap = overlap || is
		return true
	})
	if !overlap {
		return nil
	}
	return l.When
}

// notRun returns l without work.
func notRun(l *ir.Launch) *ir.Launch {
	empty := *l
	empty.Body, empty.Team = nil, nil
	return &empty
}

// branchOf returns a launch with one branch of the test that is its whole body, and the test.
func branchOf(l *ir.Launch) (*ir.Launch, []ir.Expr) {
	body, test := thenOf(l.Body, l.When != nil)
	if test == nil || !sameOnHost(test) {
		return l, nil
	}
	branch := *l
	branch.Body = body
	return &branch, []ir.Expr{test}
}

// thenOf returns the first branch of a body that consists of one test with two branches, and the
// test; nil for other bodies. If the body need not run, tests with one branch may enclose the test.
// They remain, because the host cannot evaluate all of them, and because a launch in a graph always
// runs.
func thenOf(body []ir.Stmt, inside bool) ([]ir.Stmt, ir.Expr) {
	if len(body) != 1 {
		return nil, nil
	}
	around, ok := body[0].(*ir.If)
	switch {
	case !ok || len(around.Then) == 0:
		return nil, nil
	case len(around.Else) > 0:
		return around.Then, around.Cond
	case !inside:
		return nil, nil
	}
	then, test := thenOf(around.Then, true)
	return []ir.Stmt{&ir.If{Cond: around.Cond, Then: then, At: around.At}}, test
}

// whereRun returns the condition that guard holds whenever l runs: guard itself, or that l does not
// run.
func whereRun(l *ir.Launch, guard ir.Expr) ir.Expr {
	if l.When == nil || !sameOnHost(l.When) {
		return guard
	}
	return &ir.Select{Cond: l.When, X: guard, Y: &ir.Const{T: ir.BoolType, Bits: 1, At: guard.Pos()}, At: guard.Pos()}
}

// withoutChecks returns a launch without the checks that guards prove, and the guards.
func withoutChecks(l *ir.Launch) (*ir.Launch, []ir.Expr) {
	g := &guarder{changed: ir.Assigned(l.Body), taken: ir.AddressTaken(l.Body), locals: map[*ir.Var]ir.Expr{}}
	ir.WalkStmts(l.Body, func(s ir.Stmt) bool {
		d, ok := s.(*ir.Decl)
		if ok && d.Init != nil && d.Var.Space == ir.Local && !g.changed.Has(d.Var) && !g.taken.Has(d.Var) && g.known(d.Init) {
			if value := ir.Subst(d.Init, g.locals); len(ir.ExprString(value)) < longValue {
				g.locals[d.Var] = value
			}
		}
		return true
	})
	out := *l
	out.Body = (&ir.Rewrite{}).CopyStmts(l.Body)
	g.list(out.Body, nil)
	return &out, g.guards
}

// longValue limits the text of a variable's value, because each use of the variable copies it.
const longValue = 200

type guarder struct {
	changed, taken *ir.VarSet          // in the launch
	locals         map[*ir.Var]ir.Expr // the values of local variables, as expressions of parameters, if the host can evaluate them
	guards         []ir.Expr
}

// list rewrites statements that run only if all conditions of under hold, which the host can
// evaluate. It removes the checks of elements whose index the host knows, and the branch with
// checks of a test that the host can evaluate if the other branch has none.
func (g *guarder) list(list []ir.Stmt, under []ir.Expr) {
	for i, s := range list {
		ir.StmtExprs(s, func(e ir.Expr) { g.elements(e, under) })
		test, ok := s.(*ir.If)
		if !ok {
			ir.Lists(s, func(inner []ir.Stmt) { g.list(inner, under) })
			continue
		}
		g.list(test.Then, g.where(under, test.Cond, true))
		before := len(g.guards)
		g.list(test.Else, g.where(under, test.Cond, false))
		if g.known(test.Cond) && g.unproved(test.Then) == 0 && g.unproved(test.Else) > 0 {
			g.guards = g.guards[:before]
			g.need(test.Cond, under)
			list[i] = &ir.Block{Body: test.Then, At: test.At}
		}
	}
}

// where returns under and the conditions that follow if cond has the given value, if the host can
// evaluate them.
func (g *guarder) where(under []ir.Expr, cond ir.Expr, value bool) []ir.Expr {
	if g.known(cond) {
		if !value {
			cond = &ir.Unary{Op: ir.Not, X: cond, At: cond.Pos()}
		}
		return append(slices.Clip(under), cond)
	}
	switch c := cond.(type) {
	case *ir.Unary:
		if c.Op == ir.Not {
			return g.where(under, c.X, !value)
		}
	case *ir.Binary:
		if c.Op == ir.LAnd && value || c.Op == ir.LOr && !value {
			return g.where(g.where(under, c.X, value), c.Y, value)
		}
	}
	return under
}

// elements is list for an expression.
func (g *guarder) elements(e ir.Expr, under []ir.Expr) {
	if x, ok := e.(*ir.Binary); ok && (x.Op == ir.LAnd || x.Op == ir.LOr) {
		g.elements(x.X, under)
		g.elements(x.Y, g.where(under, x.X, x.Op == ir.LAnd))
		return
	}
	ir.Operands(e, func(x ir.Expr) { g.elements(x, under) })
	ix, ok := e.(*ir.Index)
	if !ok || !ix.Checked || !g.isElement(ix) {
		return
	}
	ix.Checked = false
	at := ir.Expr(ix.I)
	if at.Type().Kind != ir.Int64 {
		at = &ir.Convert{T: ir.IntType, X: at, At: ix.At}
	}
	compare := func(op ir.Op, x, y ir.Expr) ir.Expr { return &ir.Binary{Op: op, X: x, Y: y, T: ir.BoolType, At: ix.At} }
	within := compare(ir.Lt, at, &ir.Len{X: ix.X, At: ix.At})
	if c, ok := at.(*ir.Const); !ok || int64(c.Bits) < 0 {
		within = compare(ir.LAnd, compare(ir.Le, &ir.Const{T: ir.IntType, At: ix.At}, at), within)
	}
	g.need(within, under)
}

// need adds a guard that must hold if all of under hold.
func (g *guarder) need(guard ir.Expr, under []ir.Expr) {
	for _, c := range slices.Backward(under) {
		guard = &ir.Select{Cond: c, X: guard, Y: &ir.Const{T: ir.BoolType, Bits: 1, At: guard.Pos()}, At: guard.Pos()}
	}
	g.guards = withGuard(g.guards, ir.Subst(guard, g.locals))
}

// withGuard adds a guard to list, unless it is present.
func withGuard(list []ir.Expr, guard ir.Expr) []ir.Expr {
	text := ir.ExprString(guard)
	if slices.ContainsFunc(list, func(have ir.Expr) bool { return ir.ExprString(have) == text }) {
		return list
	}
	return append(list, guard)
}

// isElement reports whether ix is an element of a parameter whose index the host knows.
func (g *guarder) isElement(ix *ir.Index) bool {
	x, ok := ix.X.(*ir.Ref)
	return ok && x.Var.Type.Kind == ir.Slice && g.isParam(x.Var) && g.known(ix.I)
}

// unproved returns the number of checks in list that elements does not remove.
func (g *guarder) unproved(list []ir.Stmt) int {
	n := 0
	count := func(checked bool) {
		if checked {
			n++
		}
	}
	ir.WalkExprs(list, func(e ir.Expr) bool {
		switch e := e.(type) {
		case *ir.Index:
			count(e.Checked && !g.isElement(e))
		case *ir.Binary:
			count(e.Checked)
		case *ir.Deref:
			count(e.Checked)
		case *ir.Reslice:
			count(e.Checked)
		}
		return true
	})
	return n
}

func (g *guarder) isParam(v *ir.Var) bool {
	return v.Space == ir.Param && !g.changed.Has(v) && !g.taken.Has(v)
}

// sameOnHost reports whether the host and every GPU compute the same value of e. For floats they
// may not: functions differ in the last digits, fastmath contracts and approximates, and the
// conversion of a value out of range of an integer type depends on the processor. Differences of
// integers as floats, and products of these, are rounded equally everywhere.
func sameOnHost(e ir.Expr) bool {
	fine := true
	ir.WalkExpr(e, func(x ir.Expr) bool {
		switch x := x.(type) {
		case *ir.Const, *ir.Ref:
		case *ir.Binary:
			if exactAlike(x.X) && exactAlike(x.Y) && !x.T.IsFloat() || exactAlike(x) {
				return false
			}
			fine = fine && !x.T.IsFloat()
		case *ir.Convert:
			fine = fine && !x.T.IsFloat() && !x.X.Type().IsFloat()
		case *ir.Math:
			fine = fine && !slices.ContainsFunc(x.Args, func(a ir.Expr) bool { return a.Type().IsFloat() })
		default:
			fine = fine && !x.Type().IsFloat()
		}
		return fine
	})
	return fine
}

// exactAlike reports whether e is a product of integers as floats, or of differences of these,
// which no printer contracts.
func exactAlike(e ir.Expr) bool {
	switch e := e.(type) {
	case *ir.Const:
		return e.T.IsFloat()
	case *ir.Convert:
		return e.T.IsFloat() && e.X.Type().IsInteger() && sameOnHost(e.X)
	case *ir.Binary:
		_, left := e.X.(*ir.Convert)
		_, right := e.Y.(*ir.Convert)
		return e.T.IsFloat() && (e.Op == ir.Mul || e.Op == ir.Sub && left && right) && exactAlike(e.X) && exactAlike(e.Y)
	}
	return false
}

// known reports whether the host can evaluate e, and e does not change during the launch.
func (g *guarder) known(e ir.Expr) bool {
	fine := sameOnHost(e)
	ir.WalkExpr(e, func(x ir.Expr) bool {
		switch x := x.(type) {
		case *ir.Const, *ir.Unary, *ir.Convert, *ir.Math, *ir.Select:
		case *ir.Binary:
			fine = fine && !x.Checked
		case *ir.Ref:
			fine = fine && x.Var.Type.IsScalar() && (g.isParam(x.Var) || g.locals[x.Var] != nil)
		case *ir.Len:
			fine = fine && g.isParamRef(x.X)
			return false
		case *ir.Cap:
			fine = fine && g.isParamRef(x.X)
			return false
		case *ir.Apart:
			fine = fine && g.isParamRef(x.X) && g.isParamRef(x.Y)
			return false
		default:
			fine = false
		}
		return fine
	})
	return fine
}

func (g *guarder) isParamRef(e ir.Expr) bool {
	x, ok := e.(*ir.Ref)
	return ok && g.isParam(x.Var)
}
