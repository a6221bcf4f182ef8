package stmts

import (
	"slices"

	"github.com/gompss/gompss/codegen/internal/syntax"
	"github.com/gompss/gompss/codegen/ir"
	"github.com/gompss/gompss/codegen/ir/query"
)

// An atomicForm is the form that the clauses of an atomic directive select.
type atomicForm int

const (
	atomicUpdate atomicForm = iota
	atomicRead
	atomicWrite
	atomicCapture
	atomicCompare
	atomicCompareCapture
)

func formOf(d *syntax.Directive) atomicForm {
	has := func(word string) bool { return syntax.Find(d.Clauses(), word) != nil }
	switch {
	case has("capture") && has("compare"):
		return atomicCompareCapture
	case has("capture"):
		return atomicCapture
	case has("compare"):
		return atomicCompare
	case has("read"):
		return atomicRead
	case has("write"):
		return atomicWrite
	}
	return atomicUpdate
}

// captures reports whether the value before or after the operation is kept.
func (f atomicForm) captures() bool { return f == atomicCapture || f == atomicCompareCapture }

// compares reports whether the operation depends on a comparison.
func (f atomicForm) compares() bool { return f == atomicCompare || f == atomicCompareCapture }

// written returns how each form is written.
func (f atomicForm) written() string {
	switch f {
	case atomicRead:
		return "write v = x"
	case atomicCompareCapture:
		return "write { v = x; if x == e { x = d } }"
	case atomicCompare:
		return "write if x == e { x = d }"
	case atomicCapture:
		return "write { v = x; x op= e } or { x op= e; v = x }"
	case atomicWrite:
		return "write x = e"
	}
	return "write x op= e, x++, x = x op e, x = min(x, e) or x = max(x, e)"
}

// decodeAtomic returns the one indivisible operation that list is, the IR of the statement or body
// below an atomic directive, with the declaration of v if list contains v := x. If list has another
// form, where and why are the position and the reason.
func decodeAtomic(f atomicForm, list []ir.Stmt, at ir.Pos) (decl *ir.Decl, a *ir.Atomic, where ir.Pos, why string) {
	list, decl = splitDecl(query.Flatten(list))
	for _, s := range list {
		if c, ok := s.(*ir.Call); ok {
			return nil, nil, c.At, "it calls " + c.Fn.Name + " as a part of it; only the operation itself can be indivisible: call it above, into a variable"
		}
	}
	d := atomicDecoder{form: f}
	if !d.decode(list) {
		where = at
		if len(list) > 0 {
			where = list[0].Pos()
		}
		if slices.ContainsFunc(list, ofComplex) {
			return nil, nil, where, "a complex number has two parts, and one operation on both is not indivisible: use reduction(+: s) for a sum, else update two floats, its parts, with an atomic each"
		}
		return nil, nil, where, "this is not one of its forms"
	}
	d.a.At = at
	return decl, &d.a, at, d.problem()
}

// ofComplex reports whether s changes a complex number or a part of one.
func ofComplex(s ir.Stmt) bool {
	a, ok := s.(*ir.Assign)
	if !ok {
		return false
	}
	m, part := a.Place.(*ir.Member)
	return a.Place.Type().Complex || part && m.X.Type().Complex
}

// callsBefore splits the calls of operands, which Go makes first, from the operation. The functions
// do not get the place of the operation as an argument.
func callsBefore(list []ir.Stmt) (calls, rest []ir.Stmt) {
	list = query.Flatten(list)
	n := 0
	for i, s := range list {
		switch s := s.(type) {
		case *ir.Call:
			n = i + 1
			continue
		case *ir.Decl:
			if s.Init == nil {
				continue
			}
		}
		break
	}
	if n == 0 {
		return nil, list
	}
	calls, rest = list[:n], list[n:]
	on := changed(rest)
	for _, s := range calls {
		if c, ok := s.(*ir.Call); ok && slices.ContainsFunc(c.Args, func(e ir.Expr) bool {
			return slices.ContainsFunc(ir.ExprVars(e).List(), on.Has)
		}) {
			return nil, list
		}
	}
	return calls, rest
}

// changed are the variables that list assigns to, and those that lead to the memory that it does.
func changed(list []ir.Stmt) *ir.VarSet {
	set := ir.Assigned(list)
	for _, s := range list {
		if a, ok := s.(*ir.Assign); ok {
			for at := a.Place; at != nil; {
				switch e := at.(type) {
				case *ir.Ref:
					set.Add(e.Var)
					at = nil
				case *ir.Index:
					at = e.X
				case *ir.Member:
					at = e.X
				case *ir.Deref:
					at = e.X
				default:
					at = nil
				}
			}
		}
	}
	return set
}

// splitDecl turns v := x into a declaration of v and v = x.
func splitDecl(list []ir.Stmt) ([]ir.Stmt, *ir.Decl) {
	for i, s := range list {
		if d, ok := s.(*ir.Decl); ok && d.Init != nil {
			out := slices.Clone(list)
			out[i] = &ir.Assign{Place: &ir.Ref{Var: d.Var, At: d.At}, Value: d.Init, At: d.At}
			return out, &ir.Decl{Var: d.Var, At: d.At}
		}
	}
	return list, nil
}

type atomicDecoder struct {
	form atomicForm
	a    ir.Atomic
}

func (d *atomicDecoder) decode(list []ir.Stmt) bool {
	if d.form.captures() {
		return d.capture(list)
	}
	if len(list) != 1 {
		return false
	}
	if d.form.compares() {
		return d.compare(list[0])
	}
	s, ok := list[0].(*ir.Assign)
	if !ok {
		return false
	}
	switch {
	case d.form == atomicRead:
		d.a.Kind, d.a.Old, d.a.Place = ir.AtomicRead, s.Place, s.Value
		return ir.IsPlace(s.Value)
	case d.form == atomicWrite:
		d.a.Kind, d.a.Place, d.a.Value = ir.AtomicWrite, s.Place, s.Value
		return true
	}
	d.a.Kind = ir.AtomicUpdate
	return d.update(s)
}

// update takes x = x op e and its like.
func (d *atomicDecoder) update(s *ir.Assign) bool {
	op, operand, swapped, ok := query.UpdateForm(s.Place, s.Value)
	d.a.Place, d.a.Op, d.a.Value, d.a.Swapped = s.Place, op, operand, swapped
	return ok
}

// capture takes an operation and v = x in either order; the operation is an update, a write or a
// comparison.
func (d *atomicDecoder) capture(list []ir.Stmt) bool {
	if len(list) != 2 {
		return false
	}
	if d.operation(list[1]) && d.captures(list[0]) {
		return true
	}
	d.a = ir.Atomic{After: true}
	return !d.form.compares() && d.operation(list[0]) && d.a.Op != ir.NoOp && d.captures(list[1])
}

func (d *atomicDecoder) operation(s ir.Stmt) bool {
	if d.form.compares() {
		return d.compare(s)
	}
	assign, ok := s.(*ir.Assign)
	if !ok {
		return false
	}
	d.a.Kind = ir.AtomicCapture
	if !d.update(assign) {
		d.a.Op, d.a.Value, d.a.Swapped = ir.NoOp, assign.Value, false
	}
	return true
}

// captures takes v = x of the place of the operation.
func (d *atomicDecoder) captures(s ir.Stmt) bool {
	assign, ok := s.(*ir.Assign)
	if !ok || !query.Same(assign.Value, d.a.Place) {
		return false
	}
	d.a.Old = assign.Place
	return true
}

// compare takes if x == e { x = d }.
func (d *atomicDecoder) compare(s ir.Stmt) bool {
	test, ok := s.(*ir.If)
	if !ok || len(test.Else) > 0 || len(query.Flatten(test.Then)) != 1 {
		return false
	}
	cond, ok := test.Cond.(*ir.Binary)
	assign, isAssign := query.Flatten(test.Then)[0].(*ir.Assign)
	if !ok || !isAssign || cond.Op != ir.Eq {
		return false
	}
	d.a.Kind, d.a.Place, d.a.Value = ir.AtomicCompare, assign.Place, assign.Value
	switch {
	case query.Same(cond.X, assign.Place):
		d.a.Compare = cond.Y
	case query.Same(cond.Y, assign.Place):
		d.a.Compare = cond.X
	}
	return d.a.Compare != nil
}

// problem returns the error in the operands of a recognised form, or "" if there is none.
func (d *atomicDecoder) problem() string {
	place := query.Source(d.a.Place)
	switch {
	case !d.a.Place.Type().IsScalar():
		return place + " is " + d.a.Place.Type().String() + ", and only bools, ints and floats can be indivisible"
	case d.a.Value != nil && reads(d.a.Value, d.a.Place):
		return "the new value reads " + place + " a second time"
	case d.a.Compare != nil && reads(d.a.Compare, d.a.Place):
		return "what it is compared with reads " + place + " itself"
	case d.a.Old != nil && query.Same(d.a.Old, d.a.Place):
		return "the value is captured in " + place + " itself"
	}
	return ""
}

// reads reports whether place occurs in e.
func reads(e, place ir.Expr) bool {
	found := false
	ir.WalkExpr(e, func(x ir.Expr) bool {
		found = found || query.Same(x, place)
		return !found
	})
	return found
}
