// Package source has the source of a Go package, and the declarations of other packages that its
// kernels use: parsed, with directives attached to the statements that they govern, and
// type-checked. It reports errors in the text, and finds the usage of each variable. It makes no
// IR.
//
// Declarations with errors of go/types stay in the program; their errors count only if a kernel
// reaches them.
package source

import (
	"cmp"
	"go/ast"
	"go/token"
	"go/types"
	"slices"
	"strings"

	"github.com/gompss/gompss/codegen/internal/diag"
	"github.com/gompss/gompss/codegen/internal/syntax"
	"github.com/gompss/gompss/codegen/ir"
)

// A Program is the source of a package, and of the declarations of other packages that it uses,
// parsed and type-checked.
type Program struct {
	Name         string
	Fset         *token.FileSet
	Texts        map[string]string // of the files, by their names
	Files        []*ast.File
	others       map[string]*otherPackage // that kernels use, by the names of their files
	Library      *importer
	GoTypes      *types.Package
	Directives   map[ast.Node]*syntax.Directive
	SyntaxErrors []diag.Diagnostic // errors in the text and the positions of directives
	unparsed     []unparsedRange   // source ranges of directives with syntax errors
	Funcs        map[*types.Func]*ast.FuncDecl
	Decls        []*Decl         // by position
	silent       map[ir.Pos]bool // lines, without columns, that warnings are not wanted of
	Info         *types.Info
	Usages       *Usages
}

// IsKernel reports whether n is a kernel of the package.
func (p *Program) IsKernel(n ast.Node) bool {
	d := p.Directives[n]
	return (d.Has("target") || d.Has("task")) && p.PackageAt(n.Pos()) == p.GoTypes
}

// Position returns where p is in the files as given to Load.
func (p *Program) Position(pos token.Pos) ir.Pos { return syntax.PositionOf(p.Fset, pos) }

// Functions returns the functions of the package by position.
func (p *Program) Functions() []*types.Func {
	var out []*types.Func
	for f := range p.Funcs {
		out = append(out, f)
	}
	slices.SortFunc(out, func(a, b *types.Func) int { return cmp.Compare(a.Pos(), b.Pos()) })
	return out
}

// Split separates errors from other diagnostics.
func Split(list []diag.Diagnostic) (errs, warnings []diag.Diagnostic) {
	for _, d := range list {
		if d.Severity != diag.Error {
			warnings = append(warnings, d)
		} else {
			errs = append(errs, d)
		}
	}
	return errs, warnings
}

// BodyStart is where the parameters can be seen and nothing of the body.
func BodyStart(decl *ast.FuncDecl) token.Pos { return decl.Body.Lbrace + 1 }

// NameOfOther returns the name of the package of o, "" where that is the package of the kernels.
func (p *Program) NameOfOther(o types.Object) string {
	if o.Pkg() == nil || o.Pkg() == p.GoTypes || o.Pkg().Path() == p.Name {
		return ""
	}
	return o.Pkg().Name()
}

// IsSource reports whether the source of pkg is among the files.
func (p *Program) IsSource(pkg *types.Package) bool {
	if pkg == nil || pkg == p.GoTypes {
		return pkg != nil
	}
	return len(p.OtherNamed(pkg.Path()).Files) > 0
}

// PackageAt returns the package whose source is at pos.
func (p *Program) PackageAt(pos token.Pos) *types.Package {
	if f := p.Fset.File(pos); f != nil {
		if other := p.others[f.Name()]; other != nil && other.Types != nil {
			return other.Types
		}
	}
	return p.GoTypes
}

// IsKernel reports whether a target or task directive stands on f. The file must have been parsed
// with comments.
func IsKernel(f *ast.FuncDecl) bool {
	if f.Doc == nil {
		return false
	}
	return slices.ContainsFunc(f.Doc.List, func(c *ast.Comment) bool {
		rest, ok := strings.CutPrefix(c.Text, syntax.Prefix)
		word := syntax.FirstWord(rest)
		return ok && (word == "target" || word == "task")
	})
}
