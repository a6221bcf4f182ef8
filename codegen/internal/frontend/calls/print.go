package calls

import (
	"go/ast"
	"go/constant"
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
	if len(b.Busy) > 1 {
		b.Fail(e.Pos(), name, "only the body of a kernel prints, and not a function that it calls", "print in the kernel, with the result of the function")
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
	fn := &ir.Func{Name: printing.Name(len(b.Kernel.Prints)), At: site.At}
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
	b.Kernel.Prints = append(b.Kernel.Prints, site)
	b.Emit(&ir.Call{Fn: fn, Args: values, At: site.At})
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
