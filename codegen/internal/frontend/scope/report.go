package scope

import (
	"go/ast"
	"go/token"
	"go/types"
	"slices"
	"strings"

	"github.com/gompss/gompss/codegen/internal/diag"
	"github.com/gompss/gompss/codegen/internal/frontend/source"
	"github.com/gompss/gompss/codegen/internal/frontend/typing"
	"github.com/gompss/gompss/codegen/ir"
	"github.com/gompss/gompss/codegen/ir/query"
)

// IsBad reports whether e stands for a value whose type is not known.
func IsBad(list ...ir.Expr) bool {
	for _, e := range list {
		if e.Type().Kind == ir.Invalid {
			return true
		}
	}
	return false
}

// Refused reports whether t has already been reported as outside the dialect.
func (b *Body) Refused(t types.Type) bool {
	_, err := b.Env.Types.Convert(t)
	return err != nil && slices.ContainsFunc(b.Diags, func(d diag.Diagnostic) bool { return d.What == err.What && d.Why == err.Why })
}

// Blame reports the first name in n that belongs to a package without device counterpart, if there
// is one.
func (b *Body) Blame(n ast.Node) bool {
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
		name, ok := b.Program.Info.Uses[id].(*types.PkgName)
		if ok && !name.Imported().Complete() {
			found = true
			why, instead := notHere(name.Imported().Path())
			b.Fail(sel.Pos(), id.Name+"."+sel.Sel.Name, why, instead)
		}
		return !found
	})
	return found
}

// notHere returns the reason why the package of an import path is unknown, and the remedy.
func notHere(importPath string) (why, instead string) {
	if first, _, _ := strings.Cut(importPath, "/"); strings.Contains(first, ".") && !strings.HasPrefix(importPath, strings.TrimSuffix(source.KernelPath, "codegen/kernel")) {
		return "the source of package " + importPath + " is not at hand: it is of another module, or its files were not given",
			"copy what the kernel needs into this module, or give the files to task.NewKernel"
	}
	return "package " + importPath + " has no device counterpart", insteadOf(importPath)
}

// insteadOf returns the replacement of a package without device counterpart.
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

func IsFunction(t types.Type) bool {
	if t == nil {
		return false
	}
	_, ok := t.Underlying().(*types.Signature)
	return ok
}

// TypingOf returns the typing of an instance of f.
func TypingOf(f *types.Func, args []types.Type) *typing.Converter {
	y := typing.New()
	params := f.Signature().TypeParams()
	if f.Signature().Recv() != nil {
		params = f.Signature().RecvTypeParams()
	}
	for i := range min(params.Len(), len(args)) {
		y.Args[params.At(i)] = args[i]
	}
	return y
}

// TypeAt returns the IR type of t, which stands at pos; where it is not in the dialect the error is
// reported.
func (b *Body) TypeAt(t types.Type, pos token.Pos) *ir.Type {
	if t == nil {
		b.Unknown(pos)
		return query.BadType
	}
	out, err := b.Env.Types.Convert(t)
	switch {
	case err == nil:
	case err.What == "":
		b.Unknown(pos)
	default:
		b.Fail(pos, err.What, err.Why, err.Instead)
	}
	return out
}

// A kernel with errors is built as far as possible, so that its directives and accesses are checked
// too and all errors are reported at once. Parts that cannot be built are marked, and the checks
// report nothing that may follow from these parts alone: a bad statement stands for
// statements, a variable of the same name for a value.

// BadStmt emits the statement that stands for source text with errors, as ast.BadStmt of Go does.
func (b *Body) BadStmt(pos token.Pos) { b.Emit(query.BadStmt(b.Pos(pos))) }

// Keep emits the built parts of a value that could not be built as a whole: their reads count for
// the checks.
func (b *Body) Keep(parts ...ir.Expr) {
	for _, e := range parts {
		if e != nil && e.Type().Kind != ir.Invalid && LoadsMemory(e) {
			b.Emit(&ir.Decl{Var: &ir.Var{Name: "_", Type: e.Type(), Space: ir.Local, At: e.Pos()}, Init: e, At: e.Pos()})
		}
	}
}
