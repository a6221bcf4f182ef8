package scope

import (
	"go/types"

	"github.com/gompss/gompss/codegen/ir"
)

// IsPackageVariable reports whether o is a variable of a package.
func IsPackageVariable(o types.Object) bool {
	v, ok := o.(*types.Var)
	return ok && IsGlobal(v)
}

// IsGlobal reports whether o is declared in a package, outside of functions.
func IsGlobal(o types.Object) bool { return o.Pkg() != nil && o.Parent() == o.Pkg().Scope() }

func (b *Body) GlobalOf(o *types.Var, t *ir.Type) *ir.Var {
	if v := b.Globals[o]; v != nil {
		return v
	}
	name := o.Name()
	if other := b.Program.NameOfOther(o); other != "" {
		name = other + "." + name
	}
	v := b.NewVar(name, t, ir.Param, b.Program.Position(o.Pos()))
	b.Globals[o] = v
	b.Unit.Fixed[v] = true
	b.Taken[v] = !t.IsScalar() // slices of it may be arguments
	return v
}

// Bodies returns the bodies of the kernel and of all functions.
func (u *Unit) Bodies() [][]ir.Stmt {
	out := [][]ir.Stmt{u.Kernel.Body}
	for _, f := range u.Kernel.Funcs {
		out = append(out, f.Body)
	}
	return out
}

// RewriteAll replaces all bodies by copies.
func (u *Unit) RewriteAll(r *ir.Rewrite) {
	u.Kernel.Body = r.CopyStmts(u.Kernel.Body)
	for _, f := range u.Kernel.Funcs {
		f.Body = r.CopyStmts(f.Body)
	}
}
