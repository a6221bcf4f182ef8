package analysis

import (
	"github.com/gompss/gompss/codegen/ir"
	"github.com/gompss/gompss/codegen/ir/query"
)

// An AssignedState says whether a variable has been assigned when control reaches a program point.
type AssignedState uint8

const (
	Unassigned AssignedState = iota // on no path
	SomePaths                       // on some path
	assigned                        // on every path
	unreached                       // no path leads to the point: it follows a jump
)

func joinStates(a, b AssignedState) AssignedState {
	switch {
	case a == b, b == unreached:
		return a
	case a == unreached:
		return b
	}
	return SomePaths
}

// privateFlow is the data-flow analysis of one private variable in the body of a construct.
type privateFlow struct {
	v      *ir.Var
	report func(at ir.Pos, in AssignedState) // called for the first read without a value; may be nil
	warned bool
	left   map[*ir.Label]AssignedState // by target, the joined states of the jumps out of a statement or to its next iteration
}

// NewPrivateFlow returns the analysis of private variable v. It calls report with the position of
// the first read of v at which v may have no value, and the state of v there.
func NewPrivateFlow(v *ir.Var, report func(at ir.Pos, in AssignedState)) *privateFlow {
	return &privateFlow{v: v, report: report, left: map[*ir.Label]AssignedState{}}
}

// jump joins the state in at a jump with the states of the other jumps to the same label.
func (f *privateFlow) jump(to *ir.Label, in AssignedState) AssignedState {
	f.left[to] = joinStates(f.landed(to), in)
	return unreached
}

// landed returns the joined state of the jumps to a label.
func (f *privateFlow) landed(l *ir.Label) AssignedState {
	if state, ok := f.left[l]; ok && l != nil {
		return state
	}
	return unreached
}

// Iteration returns the state after an iteration of l.
func (f *privateFlow) Iteration(l *ir.For) AssignedState {
	return joinStates(f.Stmts(l.Body, Unassigned), f.landed(l.Label))
}

func (f *privateFlow) Stmts(list []ir.Stmt, in AssignedState) AssignedState {
	for _, s := range list {
		in = f.stmt(s, in)
	}
	return in
}

func (f *privateFlow) stmt(s ir.Stmt, in AssignedState) AssignedState {
	if query.IsBadStmt(s) {
		return assigned // the statement may assign to it
	}
	switch s := s.(type) {
	case *ir.Assign:
		f.place(s.Place, in)
		f.read(s.Value, in)
		if ir.RootVar(s.Place) == f.v {
			return assigned // an assignment to an element or field counts as one to the whole variable
		}
	case *ir.Call:
		f.reads(s, in)
		for _, v := range s.Results {
			if v == f.v {
				return assigned
			}
		}
		return f.lent(s, in)
	case *ir.If:
		f.read(s.Cond, in)
		return joinStates(f.Stmts(s.Then, in), f.Stmts(s.Else, in))
	case *ir.While:
		in = f.Stmts(s.Pre, in)
		f.reads(s, in)
		return f.loop(in, f.Stmts(s.Post, f.Stmts(s.Body, in)), s.Label, isTrue(s.Cond))
	case *ir.For:
		f.reads(s, in)
		if privateAgain(s.Directive, f.v) {
			return in
		}
		n, constant := ConstTrips(s)
		return f.loop(in, f.Stmts(s.Body, in), s.Label, constant && n > 0)
	case *ir.Construct:
		if privateAgain(s.Directive, f.v) {
			return in
		}
		return f.Stmts(s.Body, in)
	case *ir.Block:
		return joinStates(f.Stmts(s.Body, in), f.landed(s.Label))
	case *ir.Atomic:
		return f.atomic(s, in)
	case *ir.Break:
		return f.jump(s.Label, in)
	case *ir.Continue:
		return f.jump(s.Label, in)
	case *ir.Return:
		f.reads(s, in)
		return unreached
	default:
		f.reads(s, in)
		return f.lent(s, in)
	}
	return in
}

// lent returns the state after s. Code that receives the address of the variable, or a slice of it,
// counts as an assignment.
func (f *privateFlow) lent(s ir.Stmt, in AssignedState) AssignedState {
	for _, e := range query.DirectExprs(s) {
		ir.WalkExpr(e, func(x ir.Expr) bool {
			if lends(x, f.v) {
				in = assigned
			}
			return true
		})
	}
	return in
}

// lends reports whether e is the address of v or of a part of it, or a slice of array v.
func lends(e ir.Expr, v *ir.Var) bool {
	switch e := e.(type) {
	case *ir.AddrOf:
		return ir.RootVar(e.X) == v
	case *ir.Reslice:
		return ir.RootVar(e.X) == v && e.X.Type().Kind == ir.Array
	}
	return false
}

// loop returns the state after a loop, where in is the state before it and out is the state at the
// end of its body. entered is true if the loop runs at least one iteration. The assignment of an
// element counts as one of the whole array, so a loop that fills an array leaves it assigned.
func (f *privateFlow) loop(in, out AssignedState, label *ir.Label, entered bool) AssignedState {
	out = joinStates(out, f.landed(label))
	if entered || out == assigned && f.v.Type.Kind == ir.Array {
		return out
	}
	return joinStates(in, out)
}

// isTrue reports whether e is nil or the constant true.
func isTrue(e ir.Expr) bool {
	c, ok := e.(*ir.Const)
	return e == nil || ok && c.Bits == 1
}

func (f *privateFlow) atomic(s *ir.Atomic, in AssignedState) AssignedState {
	if s.Kind != ir.AtomicWrite {
		f.read(s.Place, in)
	}
	f.read(s.Value, in)
	f.read(s.Compare, in)
	if ir.RootVar(s.Place) == f.v || s.Old != nil && ir.RootVar(s.Old) == f.v {
		return assigned
	}
	return in
}

// privateAgain reports whether d makes new private copies of v.
func privateAgain(d *ir.Directive, v *ir.Var) bool {
	if d == nil {
		return false
	}
	for _, list := range [][]*ir.Var{d.Private, d.Firstprivate, d.Lastprivate} {
		for _, x := range list {
			if x == v {
				return true
			}
		}
	}
	return false
}

// place visits the indices and pointers of an assigned place.
func (f *privateFlow) place(e ir.Expr, in AssignedState) {
	switch e := e.(type) {
	case *ir.Ref:
	case *ir.Index:
		f.read(e.I, in)
		if e.X.Type().Kind == ir.Array {
			f.place(e.X, in)
			return
		}
		f.read(e.X, in)
	case *ir.Member:
		f.place(e.X, in)
	default:
		f.read(e, in)
	}
}

func (f *privateFlow) reads(s ir.Stmt, in AssignedState) {
	for _, e := range query.DirectExprs(s) {
		f.read(e, in)
	}
}

// read reports the first read of the variable at which it has, or may have, no value.
func (f *privateFlow) read(e ir.Expr, in AssignedState) {
	if e == nil || in == assigned || in == unreached || f.warned {
		return
	}
	ir.WalkExpr(e, func(x ir.Expr) bool {
		if lends(x, f.v) {
			return false
		}
		ref, ok := x.(*ir.Ref)
		if !ok || ref.Var != f.v || f.warned {
			return !f.warned
		}
		f.warned = true
		if f.report != nil {
			f.report(ref.At, in)
		}
		return false
	})
}
