package reach

import (
	"cmp"
	"go/ast"
	"go/token"
	"go/types"
	"slices"

	"github.com/gompss/gompss/codegen/internal/frontend/source"
)

// Constants returns the constants of other packages that a kernel uses and that its package can
// name: the exported constants of imported packages. The source text stored in the wrapper contains
// their values. The hash of the kernel does not show when a value has changed since; the wrapper
// must compare the values.
func (p *Graph) Constants(kernel string) (out []*types.Const) {
	for d := range p.reach(p.kernelsNamed(kernel)...) {
		spec, ok := d.Node.(*ast.ValueSpec)
		if !ok || d.Group == nil || d.Group.Tok != token.CONST || !slices.Contains(p.GoTypes.Imports(), p.PackageAt(spec.Pos())) {
			continue
		}
		for _, name := range spec.Names {
			if c, ok := p.Info.Defs[name].(*types.Const); ok && c.Exported() {
				out = append(out, c)
			}
		}
	}
	slices.SortFunc(out, func(a, b *types.Const) int {
		return cmp.Or(cmp.Compare(a.Pkg().Path(), b.Pkg().Path()), cmp.Compare(a.Name(), b.Name()))
	})
	return out
}

// kernelsNamed returns the declarations of the named kernels.
func (p *Graph) kernelsNamed(kernels ...string) (out []*source.Decl) {
	for _, d := range p.Decls {
		f, ok := d.Node.(*ast.FuncDecl)
		if ok && f.Recv == nil && slices.Contains(kernels, f.Name.Name) && p.PackageAt(f.Pos()) == p.GoTypes {
			out = append(out, d)
		}
	}
	return out
}
