package frontend

import (
	"go/ast"
	"go/token"
	"go/types"
	"slices"
	"strings"

	"github.com/gompss/gompss/codegen/internal/diag"
	"github.com/gompss/gompss/codegen/internal/frontend/source"
	"github.com/gompss/gompss/codegen/ir"
	"github.com/gompss/gompss/codegen/ir/build"
	"github.com/gompss/gompss/codegen/ir/query"
)

// expr returns the value of e. What has to run before it is emitted. Where e is not in the dialect
// the error is reported and the result stands for a value of its type, so that what is around it
// can be looked at too.
func (b *builder) expr(e ast.Expr) ir.Expr {
	if tv := b.u.p.Info.Types[e]; tv.Value != nil {
		return b.constant(e, tv.Type, tv.Value)
	}
	switch e := e.(type) {
	case *ast.ParenExpr:
		return b.expr(e.X)
	case *ast.Ident:
		return b.ident(e)
	case *ast.BasicLit:
		return b.literal(e)
	case *ast.UnaryExpr:
		return b.unary(e)
	case *ast.BinaryExpr:
		return b.binary(e)
	case *ast.CallExpr:
		return b.single(e)
	case *ast.IndexExpr:
		return b.index(e)
	case *ast.SelectorExpr:
		return b.selector(e)
	case *ast.StarExpr:
		return b.deref(b.expr(e.X), e)
	case *ast.SliceExpr:
		return b.reslice(e)
	case *ast.CompositeLit:
		return b.composite(e)
	case *ast.TypeAssertExpr:
		b.fail(e.Pos(), "type assertion", "there are no interface values on a device", "use a concrete type, or a type parameter")
	case *ast.FuncLit:
		b.fail(e.Pos(), "function literal", "a function is no value on a device",
			"assign it to a local once (f := func...), or pass it to a helper")
	default:
		b.unknown(e.Pos())
	}
	return b.bad(e)
}

// exprAs returns the value of e where type t is wanted, which a nil takes.
func (b *builder) exprAs(e ast.Expr, t *ir.Type) ir.Expr {
	if !b.isNil(e) {
		return b.expr(e)
	}
	return &ir.Const{T: t, At: b.pos(e.Pos())}
}

func (b *builder) isNil(e ast.Expr) bool {
	id, ok := ast.Unparen(e).(*ast.Ident)
	if !ok {
		return false
	}
	_, isNil := b.u.p.Info.Uses[id].(*types.Nil)
	return isNil
}

// bad stands for the value of an expression that an error was reported for.
// The parts of e that could be built are kept.
func (b *builder) bad(e ast.Expr, parts ...ir.Expr) ir.Expr {
	b.keep(parts...)
	t := query.BadType
	if goType := b.u.p.Info.TypeOf(e); goType != nil {
		t, _ = b.env.types.Convert(goType)
	}
	return query.BadValue(t, b.pos(e.Pos()))
}

// isBad reports whether e stands for a value whose type is not known.
func isBad(list ...ir.Expr) bool {
	for _, e := range list {
		if e.Type().Kind == ir.Invalid {
			return true
		}
	}
	return false
}

// typeOf returns the type of e. One that was refused already, where it was declared as a rule, is
// not refused again.
func (b *builder) typeOf(e ast.Expr) *ir.Type {
	goType := b.u.p.Info.TypeOf(e)
	if goType == nil || !b.refused(goType) {
		return b.typeAt(goType, e.Pos())
	}
	b.unknown(e.Pos())
	return query.BadType
}

// refused reports whether an error says already that t is not in the dialect.
func (b *builder) refused(t types.Type) bool {
	_, err := b.env.types.Convert(t)
	return err != nil && slices.ContainsFunc(b.u.diags, func(d diag.Diagnostic) bool { return d.What == err.What && d.Why == err.Why })
}

// checked reports whether the kernel wants checks that are not proved away.
func (b *builder) checked() bool { return !b.u.k.Target.NoBounds }

func (b *builder) ident(e *ast.Ident) ir.Expr {
	o := b.u.p.Info.ObjectOf(e)
	switch o := o.(type) {
	case *types.Const: // of the type of a type parameter
		return b.constant(e, b.u.p.Info.TypeOf(e), o.Val())
	case *types.Nil:
		b.typeAt(types.Typ[types.UntypedNil], e.Pos())
	case *types.Func:
		b.fail(e.Pos(), "function "+o.Name(), "a function is no value on a device", "call it, or pass it to a helper")
	case *types.Var:
		if v := b.find(o); v != nil {
			return &ir.Ref{Var: v, At: b.pos(e.Pos())}
		}
		if x := b.pointed(o); x != nil {
			return &ir.AddrOf{X: build.Copy(x), At: b.pos(e.Pos())}
		}
		if isPackageVariable(o) && !isFunction(o.Type()) {
			return b.packageVariable(e, o)
		}
		b.noVariable(e, o)
	default:
		b.unknown(e.Pos())
	}
	return b.bad(e)
}

// noVariable says why the Go variable o has no place in a kernel.
func (b *builder) noVariable(e ast.Expr, o *types.Var) {
	switch {
	case isGlobal(o):
		b.fail(e.Pos(), "package variable "+o.Name(), "which function it holds is known only when the kernel runs",
			"call a top-level function, or pass a function literal to a helper")
	default:
		b.typeOf(e) // a function, or of a type that was refused
		b.unknown(e.Pos())
	}
}

func (b *builder) unary(e *ast.UnaryExpr) ir.Expr {
	at := b.pos(e.Pos())
	op := ir.NoOp
	switch e.Op {
	case token.AND:
		return b.addressOf(e)
	case token.ARROW:
		b.fail(e.Pos(), "receive from a channel", "there are no channels on a device", "pass values as parameters")
		return b.bad(e)
	case token.ADD:
		return b.expr(e.X)
	case token.SUB:
		op = ir.Neg
	case token.XOR:
		op = ir.Com
	case token.NOT:
		op = ir.Not
	}
	x := b.expr(e.X)
	if t := x.Type(); op == ir.NoOp || !t.IsScalar() {
		b.typeOf(e)
		return b.bad(e, x)
	}
	return &ir.Unary{Op: op, X: x, At: at}
}

// addressOf returns &x of a place, or of a composite literal, which gets a variable.
func (b *builder) addressOf(e *ast.UnaryExpr) ir.Expr {
	at := b.pos(e.Pos())
	if lit, ok := ast.Unparen(e.X).(*ast.CompositeLit); ok {
		x := b.composite(lit)
		if _, isVar := x.(*ir.Ref); !isVar {
			x = b.temp("lit", x, at)
		}
		return &ir.AddrOf{X: x, At: at}
	}
	x := b.expr(e.X)
	if isBad(x) || !ir.IsPlace(x) {
		b.typeOf(e)
		return b.bad(e)
	}
	return &ir.AddrOf{X: x, At: at}
}

// selector returns x.f, following embedded structs and pointers, or pkg.Name.
func (b *builder) selector(e *ast.SelectorExpr) ir.Expr {
	sel := b.u.p.Info.Selections[e]
	if sel == nil {
		return b.qualified(e)
	}
	if sel.Kind() != types.FieldVal {
		b.fail(e.Sel.Pos(), "method "+e.Sel.Name, "a function is no value on a device", "write a top-level function and call it")
		return b.bad(e)
	}
	x := b.expr(e.X)
	for _, i := range sel.Index() {
		if x.Type().Kind == ir.Pointer {
			x = b.deref(x, e.X)
		}
		if t := x.Type(); t.Kind != ir.Struct || i >= len(t.Fields) {
			if t.Kind != ir.Invalid { // which was said
				b.typeOf(e)
			}
			return b.bad(e)
		}
		x = &ir.Member{X: x, Field: i, At: b.pos(e.Pos())}
	}
	return x
}

// qualified returns a name of another package.
func (b *builder) qualified(e *ast.SelectorExpr) ir.Expr {
	if b.blame(e) {
		return b.bad(e)
	}
	switch o := b.u.p.Info.Uses[e.Sel].(type) {
	case *types.Const: // of the type of a type parameter
		return b.constant(e, b.u.p.Info.TypeOf(e), o.Val())
	case *types.Func:
		b.fail(e.Pos(), "function "+o.Name(), "a function is no value on a device", "call it, or pass it to a helper")
	case *types.Var:
		if !isFunction(o.Type()) {
			return b.packageVariable(e, o)
		}
		b.noVariable(e, o)
	default:
		b.unknown(e.Pos())
	}
	return b.bad(e)
}

// blame reports the first name in n that belongs to a package without device counterpart, if there
// is one.
func (b *builder) blame(n ast.Node) bool {
	found := false
	if n == nil {
		return false
	}
	ast.Inspect(n, func(n ast.Node) bool {
		sel, ok := n.(*ast.SelectorExpr)
		if !ok || found {
			return !found
		}
		id, ok := sel.X.(*ast.Ident)
		if !ok {
			return true
		}
		name, ok := b.u.p.Info.Uses[id].(*types.PkgName)
		if ok && !name.Imported().Complete() {
			found = true
			why, instead := notHere(name.Imported().Path())
			b.fail(sel.Pos(), id.Name+"."+sel.Sel.Name, why, instead)
		}
		return !found
	})
	return found
}

// notHere says why nothing is known of the package of an import path, and what to do.
func notHere(importPath string) (why, instead string) {
	if first, _, _ := strings.Cut(importPath, "/"); strings.Contains(first, ".") && !strings.HasPrefix(importPath, strings.TrimSuffix(source.KernelPath, "codegen/kernel")) {
		return "the source of package " + importPath + " is not at hand: it is of another module, or its files were not given",
			"copy what the kernel needs into this module, or give the files to task.NewKernel"
	}
	return "package " + importPath + " has no device counterpart", insteadOf(importPath)
}

// insteadOf says what to use for a package without device counterpart.
func insteadOf(path string) string {
	switch path {
	case "fmt", "log", "os", "log/slog":
		return "write the value to a slice parameter"
	case "math/rand", "math/rand/v2":
		return "use package " + source.KernelPath + "/random, or pass the numbers as a parameter"
	case "sync", "sync/atomic":
		return "write //omp:atomic above the update"
	}
	return "use functions of this package or module, math, math/bits and " + source.KernelPath
}

func (b *builder) deref(x ir.Expr, e ast.Expr) ir.Expr {
	if x.Type().Kind != ir.Pointer {
		b.typeOf(e)
		return b.bad(e)
	}
	if a, ok := x.(*ir.AddrOf); ok {
		return a.X
	}
	return &ir.Deref{X: x, Checked: b.checked(), At: b.pos(e.Pos())}
}

// index returns x[i] of a slice, an array or a pointer to one.
func (b *builder) index(e *ast.IndexExpr) ir.Expr {
	if tv := b.u.p.Info.Types[e.X]; tv.IsType() || isFunction(tv.Type) {
		b.fail(e.Pos(), "function", "a function is no value on a device", "call it, or pass it to a helper")
		return b.bad(e)
	}
	x, i := b.expr(e.X), b.expr(e.Index)
	if t := x.Type(); t.Kind == ir.Pointer && t.Elem.Kind == ir.Array {
		x = b.deref(x, e.X)
	}
	k := x.Type().Kind
	switch {
	case k == ir.Invalid: // which was said
		return b.bad(e, x, i)
	case k != ir.Slice && k != ir.Array:
		b.typeOf(e)
		return b.bad(e, x, i)
	case !i.Type().IsInteger():
		b.typeOf(e)
		b.keep(i)
		i = query.BadValue(ir.IntType, b.pos(e.Index.Pos())) // x is used all the same
	}
	at := b.pos(e.Index.Pos())
	return &ir.Index{X: x, I: i, Checked: b.checked() && !inArray(x.Type(), i), At: at}
}

// inArray reports whether i is a constant index of an array of type t: go/types has proved it.
func inArray(t *ir.Type, i ir.Expr) bool {
	n, ok := query.Int64(i)
	return ok && t.Kind == ir.Array && n >= 0 && n < t.Len
}

func isFunction(t types.Type) bool {
	if t == nil {
		return false
	}
	_, ok := t.Underlying().(*types.Signature)
	return ok
}

// reslice returns x[lo:hi:max] of a slice, an array or a pointer to one.
func (b *builder) reslice(e *ast.SliceExpr) ir.Expr {
	x := b.expr(e.X)
	if t := x.Type(); t.Kind == ir.Pointer && t.Elem.Kind == ir.Array {
		x = b.deref(x, e.X)
	}
	out := &ir.Reslice{X: x, At: b.pos(e.Lbrack)}
	sure := true
	for _, p := range []struct {
		from ast.Expr
		to   *ir.Expr
	}{{e.Low, &out.Lo}, {e.High, &out.Hi}, {e.Max, &out.Max}} {
		if p.from == nil {
			continue
		}
		*p.to = b.expr(p.from)
		if !(*p.to).Type().IsInteger() {
			return b.bad(e, x, *p.to)
		}
		sure = sure && boundsKnown(x.Type(), *p.to, p.to == &out.Lo)
	}
	if k := x.Type().Kind; k != ir.Slice && (k != ir.Array || !ir.IsPlace(x)) {
		b.typeOf(e)
		return b.bad(e)
	}
	out.Checked = b.checked() && !sure
	return out
}

// boundsKnown reports whether a slice bound cannot fail: a constant that go/types has compared with
// the length of an array, or a lower bound of 0.
func boundsKnown(t *ir.Type, bound ir.Expr, low bool) bool {
	n, ok := query.Int64(bound)
	return ok && (t.Kind == ir.Array && n >= 0 && n <= t.Len || low && n == 0)
}
