package source

import (
	"fmt"
	"go/ast"
	"go/token"
	"go/types"
	"path"
	"regexp"
	"slices"
	"strconv"
	"strings"

	"github.com/gompss/gompss/codegen/internal/syntax"
)

// This file is about the packages that the files of a package import: those of package math and its
// like come with the compiler, those of the program come as files, and of all others nothing is
// known but a name.

// An otherPackage is a package of the program that kernels use: its files are among those given to
// Load.
type otherPackage struct {
	path  string
	Files []*ast.File
	Types *types.Package
	open  bool // its import has begun
}

// OtherNamed returns the package of an import path, a new one where it has no files yet.
func (p *Program) OtherNamed(importPath string) *otherPackage {
	for _, o := range p.others {
		if o.path == importPath {
			return o
		}
	}
	return &otherPackage{path: importPath}
}

// allFiles returns the files of the package and then those of others.
func (p *Program) allFiles() []*ast.File {
	out := slices.Clone(p.Files)
	for _, name := range SortedKeys(p.others) {
		for _, f := range p.others[name].Files {
			if p.Fset.File(f.Pos()).Name() == name {
				out = append(out, f)
			}
		}
	}
	return out
}

// Import returns the package of an import path: one of the program, or one that the compiler has.
func (p *Program) Import(importPath string) (*types.Package, error) {
	o := p.OtherNamed(importPath)
	if len(o.Files) == 0 {
		return p.Library.Import(importPath)
	}
	if o.Types == nil && !o.open {
		o.open = true
		conf := p.config()
		o.Types, _ = conf.Check(importPath, p.Fset, o.Files, p.Info) // the errors have gone to Refusal
	}
	if o.Types == nil {
		return nil, fmt.Errorf("package %s imports itself", importPath)
	}
	return o.Types, nil
}

func (p *Program) config() types.Config {
	return types.Config{Importer: p, Sizes: Sizes(), DisableUnusedImportCheck: true, Error: p.typeError}
}

// nameImports finds the names of the packages that files import without a name and that the
// compiler does not have: the name that the path suggests, if the file uses it, else a name that
// the file uses without a declaration.
func (p *Program) nameImports(files []*ast.File) {
	for _, f := range files {
		free := p.freeNames(f)
		var left []string
		for _, spec := range f.Imports {
			importPath, err := strconv.Unquote(spec.Path.Value)
			if err != nil || spec.Name != nil || p.Library.names[importPath] != "" || p.Library.Has(importPath) || len(p.OtherNamed(importPath).Files) > 0 {
				continue
			}
			names := namesOfPath(importPath)
			i := slices.IndexFunc(names, func(n string) bool { return free[n] })
			if i < 0 {
				left = append(left, importPath)
				continue
			}
			p.Library.names[importPath] = names[i]
			delete(free, names[i])
		}
		if rest := SortedKeys(free); len(left) == 1 && len(rest) == 1 {
			p.Library.names[left[0]] = rest[0]
		}
	}
}

// freeNames returns the names before a dot that the package and f declare nowhere and f does not
// import: of packages, if anything.
func (p *Program) freeNames(f *ast.File) map[string]bool {
	free := map[string]bool{}
	declared := map[string]bool{}
	ast.Inspect(f, func(n ast.Node) bool {
		switch n := n.(type) {
		case *ast.SelectorExpr:
			if x, ok := n.X.(*ast.Ident); ok {
				free[x.Name] = true
			}
		case *ast.AssignStmt:
			for _, e := range n.Lhs {
				if x, ok := e.(*ast.Ident); ok {
					declared[x.Name] = declared[x.Name] || n.Tok == token.DEFINE
				}
			}
		case *ast.Field:
			for _, x := range n.Names {
				declared[x.Name] = true
			}
		case *ast.ValueSpec:
			for _, x := range n.Names {
				declared[x.Name] = true
			}
		case *ast.RangeStmt:
			for _, e := range []ast.Expr{n.Key, n.Value} {
				if x, ok := e.(*ast.Ident); ok {
					declared[x.Name] = true
				}
			}
		case *ast.ImportSpec:
			if n.Name != nil {
				declared[n.Name.Name] = true
			} else if importPath, err := strconv.Unquote(n.Path.Value); err == nil && p.Library.Has(importPath) {
				declared[path.Base(importPath)] = true
			}
		}
		return true
	})
	for n := range free {
		if declared[n] && !slices.ContainsFunc(f.Imports, func(s *ast.ImportSpec) bool { return suggests(s, n) }) {
			delete(free, n)
		}
	}
	for _, d := range p.Decls {
		for _, n := range d.Names() {
			delete(free, n.Name)
		}
	}
	return free
}

// suggests reports whether the path of an import without a name suggests the name n.
func suggests(s *ast.ImportSpec, n string) bool {
	importPath, err := strconv.Unquote(s.Path.Value)
	return err == nil && s.Name == nil && slices.Contains(namesOfPath(importPath), n)
}

// version is the last part of the path of a module from version 2 on; a suffix of gopkg.in has a
// dot.
var version = regexp.MustCompile(`^v[0-9]+$|\.v[0-9]+$`)

// namesOfPath returns the names that the package of an import path may have, the likeliest first.
func namesOfPath(importPath string) []string {
	base := path.Base(importPath)
	if version.MatchString(base) && !strings.Contains(base, ".") && strings.Contains(importPath, "/") {
		base = path.Base(path.Dir(importPath))
	}
	base = version.ReplaceAllString(base, "")
	words := strings.FieldsFunc(base, syntax.NotInWord)
	if len(words) == 0 {
		return nil
	}
	out := []string{base, words[len(words)-1], words[0], strings.Join(words, ""), strings.Join(words, "_")}
	return slices.Compact(slices.DeleteFunc(out, func(n string) bool { return !token.IsIdentifier(n) }))
}
