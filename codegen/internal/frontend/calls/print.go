package calls

import (
	"go/ast"
	"go/constant"
	"go/types"
	"slices"

	"github.com/gompss/gompss/codegen/internal/frontend/exprs"
	"github.com/gompss/gompss/codegen/internal/frontend/scope"
	"github.com/gompss/gompss/codegen/ir"
	"github.com/gompss/gompss/codegen/ir/printing"
)

// printFuncs are the functions of package fmt that kernels call.
var printFuncs = []string{"println", "fmt.Println", "fmt.Printf"}

// printCall emits a statement that prints. Numbers and truth values are arguments of a call that
// package printing replaces; texts are constants.
func printCall(b *Caller, e *ast.CallExpr, name string) {
	if !slices.Contains(printFuncs, name) {
		b.Fail(e.Pos(), name, "kernels print with println, fmt.Println and fmt.Printf alone", "write one of these")
		return
	}
	site := ir.PrintSite{Func: name, At: b.Pos(e.Pos())}
	list := e.Args
	if name == "fmt.Printf" {
		if len(list) == 0 {
			return // reported by go/types
		}
		format := b.Program.Info.Types[list[0]].Value
		if format == nil || format.Kind() != constant.String {
			b.Fail(list[0].Pos(), name, "its format is known only when the kernel runs", "write a constant")
			return
		}
		site.Format, list = constant.StringVal(format), list[1:]
	}
	fn := &ir.Func{At: site.At}
	var values []ir.Expr
	for _, a := range list {
		arg, v, ok := printArgument(b, a, name)
		if !ok {
			return
		}
		site.Args = append(site.Args, arg)
		if v != nil {
			values = append(values, v)
			fn.Params = append(fn.Params, b.NewVar("value", v.Type(), ir.Param, site.At))
		}
	}
	fn.Name = printing.Name(len(b.Kernel.Prints)) // behind those in the arguments
	b.Kernel.Prints = append(b.Kernel.Prints, site)
	b.Emit(&ir.Call{Fn: fn, Args: values, At: site.At})
}

// prints reports whether f, or a function that it calls, prints. Such functions are inlined: all
// statements that print stand in the body of the kernel, where the loops around them are known.
func prints(b *Caller, f *types.Func) bool {
	if f == nil || isLibrary(f) {
		return false
	}
	if known, ok := b.Unit.Prints[f]; ok {
		return known
	}
	if b.Unit.Prints == nil {
		b.Unit.Prints = map[*types.Func]bool{}
	}
	b.Unit.Prints[f] = false // of a recursion
	decl, found := b.Program.Funcs[f], false
	if decl == nil || decl.Body == nil {
		return false
	}
	ast.Inspect(decl.Body, func(n ast.Node) bool {
		id, ok := n.(*ast.Ident)
		if !ok || found {
			return !found
		}
		switch o := b.Program.Info.Uses[id].(type) {
		case *types.Builtin:
			found = o.Name() == "println"
		case *types.Func:
			found = packagePath(o) == "fmt" || prints(b, o.Origin())
		}
		return !found
	})
	b.Unit.Prints[f] = found
	return found
}

// printArgument returns an argument of a statement that prints; v is nil for a constant text.
func printArgument(b *Caller, a ast.Expr, name string) (arg ir.PrintArg, v ir.Expr, ok bool) {
	tv := b.Program.Info.Types[a]
	if tv.Value != nil && tv.Value.Kind() == constant.String {
		return ir.PrintArg{Text: constant.StringVal(tv.Value)}, nil, true
	}
	if tv.Type != nil && exprs.IsText(tv.Type) || b.IsNil(a) {
		b.Fail(a.Pos(), name, "there are no strings and no nil on a device", "print numbers, bools and constant texts")
		return arg, nil, false
	}
	v = b.Expr(a)
	switch t := v.Type(); {
	case scope.IsBad(v):
		return arg, nil, false
	case !t.IsScalar():
		b.Fail(a.Pos(), name, "the argument is "+t.String(), "print its elements or fields")
		return arg, nil, false
	default:
		return ir.PrintArg{Type: t}, v, true
	}
}
