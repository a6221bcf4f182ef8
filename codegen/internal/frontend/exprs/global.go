package exprs

import (
	"go/ast"
	"go/types"

	"github.com/gompss/gompss/codegen/ir"
)

// packageVariable returns the value of the package variable o, which e names.
func packageVariable(b *Builder, e ast.Expr, o *types.Var) ir.Expr {
	if b.Host {
		b.Fail(e.Pos(), "package variable "+o.Name(), "clauses of target and task see parameters and package constants alone",
			"make it a parameter, or a constant")
		return b.Bad(e)
	}
	if other := b.Program.NameOfOther(o); other != "" && !o.Exported() {
		b.Fail(e.Pos(), "package variable "+other+"."+o.Name(), "the wrapper of the kernel, in package "+b.Program.Name+", cannot name it",
			"export it, make it a constant, or pass it as a parameter")
		return b.Bad(e)
	}
	t := b.TypeAt(o.Type(), e.Pos())
	if t.Kind == ir.Invalid {
		return b.Bad(e)
	}
	b.Splits = b.Splits || ir.IsSplit(t)
	return &ir.Ref{Var: b.GlobalOf(o, t), At: b.Pos(e.Pos())}
}
