package stmts

import (
	"go/ast"
	"go/token"
	"go/types"

	"github.com/gompss/gompss/codegen/internal/frontend/assigns"
	"github.com/gompss/gompss/codegen/internal/frontend/scope"
	"github.com/gompss/gompss/codegen/internal/syntax"
	"github.com/gompss/gompss/codegen/ir"
	"github.com/gompss/gompss/codegen/ir/build"
	"github.com/gompss/gompss/codegen/ir/query"
)

// A ranging is a range loop under construction.
type ranging struct {
	s    *ast.RangeStmt
	g    governance
	name string
	at   ir.Pos
	x    ir.Expr // operand of range
	loop *ir.For
}

// rangeLoop emits a range loop over an integer, a slice, an array or a pointer to one. It is always
// a For.
func (b loops) rangeLoop(s *ast.RangeStmt, label string, d *syntax.Directive) {
	r := &ranging{s: s, g: b.governance(d, s), name: label, at: b.Pos(s.Pos())}
	if r.g.text != "" && s.Tok == token.ASSIGN {
		b.Fail(s.Pos(), "loop under "+r.g.text, "it assigns to variables from outside", "write for i := range ...")
	}
	if !b.rangeOver(r) {
		b.standIn(s, r.g, nil, b.loopBody(s.Body, label, &ir.Label{}, r.g)) // for the errors in it
		return
	}
	if s.Tok == token.ASSIGN {
		b.rangeAssign(r)
		return
	}
	b.rangeDefine(r)
}

// rangeOver evaluates the operand of r. If it is not in the dialect, rangeOver reports the error
// and returns false.
func (b loops) rangeOver(r *ranging) (ok bool) {
	t := b.Program.Info.TypeOf(r.s.X)
	if scope.IsFunction(t) {
		b.Fail(r.s.X.Pos(), "range over a function", "a function is no value on a device", "write a counted loop")
		b.declareRange(r)
		return false
	}
	if r.s.Key != nil && b.Program.Info.Types[r.s.X].Value != nil && !assigns.IsBlank(r.s.Key) {
		r.x = b.Converted(r.s.X, b.TypeAt(b.Program.Info.TypeOf(r.s.Key), r.s.Key.Pos()))
	} else {
		r.x = b.Expr(r.s.X)
	}
	xt := r.x.Type()
	over := xt
	if xt.Kind == ir.Pointer {
		over = xt.Elem
	}
	if !xt.IsInteger() && over.Kind != ir.Array && xt.Kind != ir.Slice {
		b.TypeOf(r.s.X)
		b.declareRange(r)
		return false
	}
	r.loop = &ir.For{Label: &ir.Label{Name: r.name}, Rel: ir.Lt, Directive: r.g.directive, At: r.at}
	counter := ir.IntType
	if xt.IsInteger() {
		counter = xt
	}
	r.loop.Lo, r.loop.Step = &ir.Const{T: counter, At: r.at}, assigns.OneOf(counter, r.at)
	return true
}

// declareRange gives the variables of a loop that is not possible a meaning, for the errors in its
// body.
func (b loops) declareRange(r *ranging) {
	for _, e := range []ast.Expr{r.s.Key, r.s.Value} {
		if o := b.defined(e); o != nil {
			t, _ := b.Env.Types.Convert(o.Type())
			b.Variable(o, t, ir.Local)
		}
	}
}

// defined returns the variable that e defines, nil where it defines none.
func (b loops) defined(e ast.Expr) types.Object {
	id, ok := e.(*ast.Ident)
	if !ok || id.Name == "_" {
		return nil
	}
	return b.Program.Info.Defs[id]
}

// rangeDefine emits for i, v := range x.
func (b loops) rangeDefine(r *ranging) {
	key, value := b.defined(r.s.Key), b.defined(r.s.Value)
	counter := r.loop.Lo.Type()
	var i, v *ir.Var
	if key != nil {
		i = b.Variable(key, b.TypeAt(key.Type(), key.Pos()), ir.Local)
	} else {
		i = b.NewVar("i", counter, ir.Local, r.at)
	}
	if value != nil {
		v = b.Variable(value, b.TypeAt(value.Type(), value.Pos()), ir.Local)
	}
	body := b.loopBody(r.s.Body, r.name, r.loop.Label, r.g)
	r.loop.Var = i
	if ir.Assigned(body).Has(i) || b.Taken[i] { // the loop continues with its own count
		r.loop.Var = b.NewVar(i.Name, counter, ir.Local, r.at)
		first := &ir.Decl{Var: i, Init: &ir.Ref{Var: r.loop.Var, At: r.at}, At: r.at}
		body = append([]ir.Stmt{first}, body...)
	}
	b.bounds(r, body, v != nil)
	if v != nil {
		first := &ir.Decl{Var: v, Init: b.rangeElement(r), At: v.At}
		body = append([]ir.Stmt{first}, body...)
	}
	r.loop.Body = body
	b.Emit(r.loop)
}

// rangeAssign emits for i, v = range x, where i and v are places.
func (b loops) rangeAssign(r *ranging) {
	r.loop.Var = b.NewVar("i", r.loop.Lo.Type(), ir.Local, r.at)
	b.bounds(r, nil, true)
	first := b.Collect(func() {
		var dests []scope.Dest
		var values []ir.Expr
		add := func(e ast.Expr, value func() ir.Expr) {
			if e == nil || assigns.IsBlank(e) {
				return
			}
			if x := b.Expr(e); ir.IsPlace(x) && !scope.IsBad(x) {
				dests, values = append(dests, scope.Dest{Place: x}), append(values, value())
			} else {
				b.BadStmt(e.Pos())
			}
		}
		add(r.s.Key, func() ir.Expr { return &ir.Ref{Var: r.loop.Var, At: r.at} })
		add(r.s.Value, func() ir.Expr { return b.rangeElement(r) })
		b.AssignAll(dests, values, r.at)
	})
	r.loop.Body = append(first, b.loopBody(r.s.Body, r.name, r.loop.Label, r.g)...)
	b.Emit(r.loop)
}

// bounds sets the upper bound of the loop. Go evaluates the operand of range once: if the body may
// change it, or is not known (nil), it is copied before the loop.
func (b loops) bounds(r *ranging, body []ir.Stmt, elements bool) {
	t := r.x.Type()
	array := t.Kind == ir.Array || t.Kind == ir.Pointer
	cheap := ir.IsPlace(r.x) || t.IsInteger()
	if !b.Fixed(r.x) && (!array || elements) && (body == nil || !cheap || !b.invariant(r.x, body)) {
		r.x = b.Temp("over", r.x, r.at)
	}
	switch {
	case t.IsInteger():
		r.loop.Hi = r.x
	case t.Kind == ir.Slice:
		r.loop.Hi = &ir.Len{X: build.Copy(r.x), At: r.at}
	case t.Kind == ir.Pointer:
		r.loop.Hi = build.Int(t.Elem.Len, r.at)
	default:
		r.loop.Hi = build.Int(t.Len, r.at)
	}
}

// rangeElement returns the element of an iteration, which is inside the bounds.
func (b loops) rangeElement(r *ranging) ir.Expr {
	x := build.Copy(r.x)
	if x.Type().Kind == ir.Pointer {
		x = b.Deref(x, r.s.X)
	}
	if k := x.Type().Kind; k != ir.Array && k != ir.Slice {
		b.UnknownAt(r.at)
		return &ir.Const{T: query.BadType, At: r.at}
	}
	return &ir.Index{X: x, I: &ir.Ref{Var: r.loop.Var, At: r.at}, At: r.at}
}
