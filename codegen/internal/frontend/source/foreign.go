package source

import (
	"go/ast"
	"go/token"
	"go/types"

	"github.com/gompss/gompss/codegen/internal/diag"
	"github.com/gompss/gompss/codegen/ir"
)

// ForeignCause returns the reason why the type of the object named at a position is unknown: a
// constant or variable that is made, itself or by others, of something in a package that the
// compiler does not have. Go accepts it.
func (p *Program) ForeignCause(at ir.Pos) (diag.Diagnostic, bool) {
	for id, o := range p.Info.Uses {
		if id.Name != o.Name() || !o.Pos().IsValid() || p.Position(id.Pos()) != at {
			continue
		}
		made := p.foreignValue(o, map[types.Object]bool{})
		if made == nil {
			continue
		}
		d := diag.Diagnostic{Pos: at, What: "constant " + o.Name(), Instead: "write its value as a number, or pass it as a parameter"}
		if _, ok := o.(*types.Var); ok {
			d.What, d.Instead = "variable "+o.Name(), "declare it with its type"
		}
		pkg := made.X.(*ast.Ident)
		d.Why = "it is made of " + pkg.Name + "." + made.Sel.Name + ", and package " + p.Info.Uses[pkg].(*types.PkgName).Imported().Path() + " has no device counterpart"
		return d, true
	}
	return diag.Diagnostic{}, false
}

// foreignValue returns the name from a package without device counterpart on which the value of o
// depends, or nil if there is none.
func (p *Program) foreignValue(o types.Object, seen map[types.Object]bool) (made *ast.SelectorExpr) {
	if seen[o] {
		return nil
	}
	seen[o] = true
	for _, e := range p.valuesOf(o.Pos()) {
		ast.Inspect(e, func(n ast.Node) bool {
			id, ok := n.(*ast.Ident)
			if sel, isSel := n.(*ast.SelectorExpr); isSel && made == nil {
				if x, ok := sel.X.(*ast.Ident); ok {
					if name, ok := p.Info.Uses[x].(*types.PkgName); ok && !name.Imported().Complete() {
						made = sel
					}
				}
			}
			if used := p.Info.Uses[id]; ok && made == nil && used != nil {
				made = p.foreignValue(used, seen)
			}
			return made == nil
		})
	}
	return made
}

// valuesOf returns the expressions of the specification or assignment that declares the object at
// pos.
func (p *Program) valuesOf(pos token.Pos) (out []ast.Expr) {
	d := p.DeclAt(pos)
	if d == nil {
		return nil
	}
	var before []ast.Expr // of the constants before, which a specification without values repeats
	for _, other := range p.Decls {
		if spec, ok := other.Node.(*ast.ValueSpec); ok && other != d && other.Node.Pos() < pos && len(spec.Values) > 0 {
			before = spec.Values
		}
	}
	ast.Inspect(d.Node, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.ValueSpec:
			for _, name := range n.Names {
				switch {
				case name.Pos() != pos:
				case n.Values == nil && n.Type == nil:
					out = before
				default:
					out = n.Values
				}
			}
			if n.Values != nil {
				before = n.Values
			}
		case *ast.AssignStmt:
			for _, left := range n.Lhs {
				if n.Tok == token.DEFINE && left.Pos() == pos {
					out = n.Rhs
				}
			}
		}
		return true
	})
	return out
}
