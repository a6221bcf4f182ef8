package exprs

import (
	"go/ast"
	"go/token"
	"go/types"

	"github.com/gompss/gompss/codegen/internal/frontend/scope"
	"github.com/gompss/gompss/codegen/ir"
	"github.com/gompss/gompss/codegen/ir/build"
	"github.com/gompss/gompss/codegen/ir/query"
)

// Expr returns the value of e, and emits the statements that must run before it. If e is not in the
// dialect, Expr reports the error and returns a placeholder of the same type, so that the
// surrounding expression can be checked too.
func (b *Builder) Expr(e ast.Expr) ir.Expr {
	if tv := b.Program.Info.Types[e]; tv.Value != nil {
		return constantOf(b, e, tv.Type, tv.Value)
	}
	switch e := e.(type) {
	case *ast.ParenExpr:
		return b.Expr(e.X)
	case *ast.Ident:
		return b.ident(e)
	case *ast.BasicLit:
		return literal(b, e)
	case *ast.UnaryExpr:
		return b.unary(e)
	case *ast.BinaryExpr:
		return b.binary(e)
	case *ast.CallExpr:
		return b.Single(e)
	case *ast.IndexExpr:
		return b.index(e)
	case *ast.SelectorExpr:
		return b.selector(e)
	case *ast.StarExpr:
		return b.Deref(b.Expr(e.X), e)
	case *ast.SliceExpr:
		return b.reslice(e)
	case *ast.CompositeLit:
		return composites{b}.composite(e)
	case *ast.TypeAssertExpr:
		b.Fail(e.Pos(), "type assertion", "there are no interface values on a device", "use a concrete type, or a type parameter")
	case *ast.FuncLit:
		b.Fail(e.Pos(), "function literal", "a function is no value on a device",
			"assign it to a local once (f := func...), or pass it to a helper")
	default:
		b.Unknown(e.Pos())
	}
	return b.Bad(e)
}

// ExprAs returns the value of e as type t, which an untyped nil takes.
func (b *Builder) ExprAs(e ast.Expr, t *ir.Type) ir.Expr {
	if !b.IsNil(e) {
		return b.Expr(e)
	}
	return &ir.Const{T: t, At: b.Pos(e.Pos())}
}

func (b *Builder) IsNil(e ast.Expr) bool {
	id, ok := ast.Unparen(e).(*ast.Ident)
	if !ok {
		return false
	}
	_, isNil := b.Program.Info.Uses[id].(*types.Nil)
	return isNil
}

// Bad stands for the value of an expression that an error was reported for.
// The parts of e that could be built are kept.
func (b *Builder) Bad(e ast.Expr, parts ...ir.Expr) ir.Expr {
	b.Keep(parts...)
	t := query.BadType
	if goType := b.Program.Info.TypeOf(e); goType != nil {
		t, _ = b.Env.Types.Convert(goType)
	}
	return query.BadValue(t, b.Pos(e.Pos()))
}

// TypeOf returns the type of e. One that was refused already, where it was declared as a rule, is
// not refused again.
func (b *Builder) TypeOf(e ast.Expr) *ir.Type {
	goType := b.Program.Info.TypeOf(e)
	if goType == nil || !b.Refused(goType) {
		return b.TypeAt(goType, e.Pos())
	}
	b.Unknown(e.Pos())
	return query.BadType
}

// Checked reports whether the kernel wants checks that are not proved away.
func (b *Builder) Checked() bool { return !b.Kernel.Target.NoBounds }

func (b *Builder) ident(e *ast.Ident) ir.Expr {
	o := b.Program.Info.ObjectOf(e)
	switch o := o.(type) {
	case *types.Const: // of the type of a type parameter
		return constantOf(b, e, b.Program.Info.TypeOf(e), o.Val())
	case *types.Nil:
		b.TypeAt(types.Typ[types.UntypedNil], e.Pos())
	case *types.Func:
		b.Fail(e.Pos(), "function "+o.Name(), "a function is no value on a device", "call it, or pass it to a helper")
	case *types.Var:
		if v := b.Find(o); v != nil {
			return &ir.Ref{Var: v, At: b.Pos(e.Pos())}
		}
		if x := b.pointed(o); x != nil {
			return &ir.AddrOf{X: build.Copy(x), At: b.Pos(e.Pos())}
		}
		if scope.IsPackageVariable(o) && !scope.IsFunction(o.Type()) {
			return packageVariable(b, e, o)
		}
		b.NoVariable(e, o)
	default:
		b.Unknown(e.Pos())
	}
	return b.Bad(e)
}

// NoVariable returns the reason why a kernel cannot use the Go variable o.
func (b *Builder) NoVariable(e ast.Expr, o *types.Var) {
	switch {
	case scope.IsGlobal(o):
		b.Fail(e.Pos(), "package variable "+o.Name(), "which function it holds is known only when the kernel runs",
			"call a top-level function, or pass a function literal to a helper")
	default:
		b.TypeOf(e) // a function, or of a type that was refused
		b.Unknown(e.Pos())
	}
}

func (b *Builder) unary(e *ast.UnaryExpr) ir.Expr {
	at := b.Pos(e.Pos())
	op := ir.NoOp
	switch e.Op {
	case token.AND:
		return b.addressOf(e)
	case token.ARROW:
		b.Fail(e.Pos(), "receive from a channel", "there are no channels on a device", "pass values as parameters")
		return b.Bad(e)
	case token.ADD:
		return b.Expr(e.X)
	case token.SUB:
		op = ir.Neg
	case token.XOR:
		op = ir.Com
	case token.NOT:
		op = ir.Not
	}
	x := b.Expr(e.X)
	if op == ir.Neg && x.Type().Complex {
		return complexes{b}.negate(x, at)
	}
	if t := x.Type(); op == ir.NoOp || !t.IsScalar() {
		b.TypeOf(e)
		return b.Bad(e, x)
	}
	return &ir.Unary{Op: op, X: x, At: at}
}

// addressOf returns &x of a place, or of a composite literal, which gets a variable.
func (b *Builder) addressOf(e *ast.UnaryExpr) ir.Expr {
	at := b.Pos(e.Pos())
	if lit, ok := ast.Unparen(e.X).(*ast.CompositeLit); ok {
		x := composites{b}.composite(lit)
		if _, isVar := x.(*ir.Ref); !isVar {
			x = b.Temp("lit", x, at)
		}
		return &ir.AddrOf{X: x, At: at}
	}
	x := b.Expr(e.X)
	if scope.IsBad(x) || !ir.IsPlace(x) {
		b.TypeOf(e)
		return b.Bad(e)
	}
	return &ir.AddrOf{X: x, At: at}
}

// selector returns x.f, following embedded structs and pointers, or pkg.Name.
func (b *Builder) selector(e *ast.SelectorExpr) ir.Expr {
	sel := b.Program.Info.Selections[e]
	if sel == nil {
		return b.qualified(e)
	}
	if sel.Kind() != types.FieldVal {
		b.Fail(e.Sel.Pos(), "method "+e.Sel.Name, "a function is no value on a device", "write a top-level function and call it")
		return b.Bad(e)
	}
	x := b.Expr(e.X)
	for _, i := range sel.Index() {
		if x.Type().Kind == ir.Pointer {
			x = b.Deref(x, e.X)
		}
		if t := x.Type(); t.Kind != ir.Struct || i >= len(t.Fields) {
			if t.Kind != ir.Invalid { // which was said
				b.TypeOf(e)
			}
			return b.Bad(e)
		}
		x = &ir.Member{X: x, Field: i, At: b.Pos(e.Pos())}
	}
	return x
}

// qualified returns a name of another package.
func (b *Builder) qualified(e *ast.SelectorExpr) ir.Expr {
	if b.Blame(e) {
		return b.Bad(e)
	}
	switch o := b.Program.Info.Uses[e.Sel].(type) {
	case *types.Const: // of the type of a type parameter
		return constantOf(b, e, b.Program.Info.TypeOf(e), o.Val())
	case *types.Func:
		b.Fail(e.Pos(), "function "+o.Name(), "a function is no value on a device", "call it, or pass it to a helper")
	case *types.Var:
		if !scope.IsFunction(o.Type()) {
			return packageVariable(b, e, o)
		}
		b.NoVariable(e, o)
	default:
		b.Unknown(e.Pos())
	}
	return b.Bad(e)
}

func (b *Builder) Deref(x ir.Expr, e ast.Expr) ir.Expr {
	if x.Type().Kind != ir.Pointer {
		b.TypeOf(e)
		return b.Bad(e)
	}
	if a, ok := x.(*ir.AddrOf); ok {
		return a.X
	}
	return &ir.Deref{X: x, Checked: b.Checked(), At: b.Pos(e.Pos())}
}

// index returns x[i] of a slice, an array or a pointer to one.
func (b *Builder) index(e *ast.IndexExpr) ir.Expr {
	if tv := b.Program.Info.Types[e.X]; tv.IsType() || scope.IsFunction(tv.Type) {
		b.Fail(e.Pos(), "function", "a function is no value on a device", "call it, or pass it to a helper")
		return b.Bad(e)
	}
	x, i := b.Expr(e.X), b.Expr(e.Index)
	if t := x.Type(); t.Kind == ir.Pointer && t.Elem.Kind == ir.Array {
		x = b.Deref(x, e.X)
	}
	k := x.Type().Kind
	switch {
	case k == ir.Invalid: // which was said
		return b.Bad(e, x, i)
	case k != ir.Slice && k != ir.Array:
		b.TypeOf(e)
		return b.Bad(e, x, i)
	case !i.Type().IsInteger():
		b.TypeOf(e)
		b.Keep(i)
		i = query.BadValue(ir.IntType, b.Pos(e.Index.Pos())) // x is used nevertheless
	}
	at := b.Pos(e.Index.Pos())
	return &ir.Index{X: x, I: i, Checked: b.Checked() && !inArray(x.Type(), i), At: at}
}

// inArray reports whether i is a constant index of an array of type t: go/types has proved it.
func inArray(t *ir.Type, i ir.Expr) bool {
	n, ok := query.Int64(i)
	return ok && t.Kind == ir.Array && n >= 0 && n < t.Len
}

// reslice returns x[lo:hi:max] of a slice, an array or a pointer to one.
func (b *Builder) reslice(e *ast.SliceExpr) ir.Expr {
	x := b.Expr(e.X)
	if t := x.Type(); t.Kind == ir.Pointer && t.Elem.Kind == ir.Array {
		x = b.Deref(x, e.X)
	}
	out := &ir.Reslice{X: x, At: b.Pos(e.Lbrack)}
	sure := true
	for _, p := range []struct {
		from ast.Expr
		to   *ir.Expr
	}{{e.Low, &out.Lo}, {e.High, &out.Hi}, {e.Max, &out.Max}} {
		if p.from == nil {
			continue
		}
		*p.to = b.Expr(p.from)
		if !(*p.to).Type().IsInteger() {
			return b.Bad(e, x, *p.to)
		}
		sure = sure && BoundsKnown(x.Type(), *p.to, p.to == &out.Lo)
	}
	if k := x.Type().Kind; k != ir.Slice && (k != ir.Array || !ir.IsPlace(x)) {
		b.TypeOf(e)
		return b.Bad(e)
	}
	out.Checked = b.Checked() && !sure
	return out
}

// BoundsKnown reports whether a slice bound cannot fail: a constant that go/types has compared with
// the length of an array, or a lower bound of 0.
func BoundsKnown(t *ir.Type, bound ir.Expr, low bool) bool {
	n, ok := query.Int64(bound)
	return ok && (t.Kind == ir.Array && n >= 0 && n <= t.Len || low && n == 0)
}
