package calls

import (
	"go/ast"
	"go/types"

	"github.com/gompss/gompss/codegen/internal/frontend/scope"
	"github.com/gompss/gompss/codegen/internal/frontend/source"
	"github.com/gompss/gompss/codegen/ir"
)

// A method is a function whose first parameter is its receiver. Which method a call means is known
// when the kernel is compiled: of a type parameter it is that of the type argument.

// method returns the method that fun selects. Its receiver is evaluated now.
func (b *Caller) method(fun *ast.SelectorExpr, sel *types.Selection) *scope.Function {
	if sel.Kind() == types.FieldVal {
		b.TypeAt(sel.Type(), fun.Sel.Pos())
		return nil
	}
	from := b.Env.Types.Closed(sel.Recv())
	o, path, _ := types.LookupFieldOrMethod(from, true, sel.Obj().Pkg(), sel.Obj().Name())
	f, ok := o.(*types.Func)
	if !ok || f.Signature().Recv() == nil {
		b.Unknown(fun.Sel.Pos())
		return nil
	}
	if types.IsInterface(f.Signature().Recv().Type()) && b.Refused(from) {
		b.Unknown(fun.Sel.Pos())
		return nil
	}
	if types.IsInterface(f.Signature().Recv().Type()) {
		b.Fail(fun.Sel.Pos(), "method "+fun.Sel.Name, "which function it is is known only when the kernel runs: there are no interface values on a device",
			"use a concrete type, or a type parameter")
		return nil
	}
	in := &scope.Function{Fn: f.Origin(), Args: b.receiverArgs(f), Name: f.Name()}
	if sel.Kind() == types.MethodExpr {
		if len(path) > 1 || source.IsPointer(from) != source.IsPointer(f.Signature().Recv().Type()) {
			b.Fail(fun.Sel.Pos(), "method expression "+fun.Sel.Name, "its receiver is not the parameter of the method", "call it as a method, x."+fun.Sel.Name)
			return nil
		}
		return in
	}
	in.Recv = b.receiverOf(fun, path[:len(path)-1], source.IsPointer(f.Signature().Recv().Type()))
	if in.Recv == nil {
		return nil
	}
	return in
}

// receiverArgs returns the type arguments of the receiver of f, an instance of a method.
func (b *Caller) receiverArgs(f *types.Func) []types.Type {
	t := types.Unalias(f.Signature().Recv().Type())
	if p, ok := t.(*types.Pointer); ok {
		t = types.Unalias(p.Elem())
	}
	named, ok := t.(*types.Named)
	if !ok {
		return nil
	}
	var out []types.Type
	for i := range named.TypeArgs().Len() {
		out = append(out, b.Env.Types.Closed(named.TypeArgs().At(i)))
	}
	return out
}

// receiverOf returns the value, or the address where pointer is set, of the operand of fun, or of
// the embedded field at path in it; nil, and the error reported, where there is none.
func (b *Caller) receiverOf(fun *ast.SelectorExpr, path []int, pointer bool) ir.Expr {
	x, at := b.Expr(fun.X), b.Pos(fun.Sel.Pos())
	for _, i := range path {
		if x.Type().Kind == ir.Pointer {
			x = b.Deref(x, fun.X)
		}
		if t := x.Type(); t.Kind != ir.Struct || i >= len(t.Fields) {
			b.TypeOf(fun.X)
			return nil
		}
		x = &ir.Member{X: x, Field: i, At: at}
	}
	isAddress := x.Type().Kind == ir.Pointer
	switch {
	case scope.IsBad(x):
		b.Unknown(fun.X.Pos())
		return nil
	case isAddress == pointer:
		return x
	case isAddress:
		return b.Deref(x, fun.X)
	case !ir.IsPlace(x):
		b.Unknown(fun.X.Pos())
		return nil
	}
	return &ir.AddrOf{X: x, At: at}
}

// receiver declares the receiver of a method as a parameter.
func (b *Caller) receiver(sig *types.Signature, decl *ast.FuncDecl) []*ir.Var {
	if sig.Recv() == nil {
		return nil
	}
	t := b.TypeAt(sig.Recv().Type(), decl.Recv.Pos())
	return []*ir.Var{b.Variable(sig.Recv(), t, ir.Param)}
}

// receiverName returns the name of the type of the receiver of f and an underscore, "" where f has
// none.
func receiverName(f *types.Func) string {
	if f.Signature().Recv() == nil {
		return ""
	}
	t := types.Unalias(f.Signature().Recv().Type())
	if p, ok := t.(*types.Pointer); ok {
		t = types.Unalias(p.Elem())
	}
	if named, ok := t.(*types.Named); ok {
		return named.Obj().Name() + "_"
	}
	return ""
}
