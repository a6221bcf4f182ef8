package frontend

import (
	"cmp"
	"errors"
	"fmt"
	"go/ast"
	"go/parser"
	"go/scanner"
	"go/token"
	"go/types"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/gompss/gompss/codegen/internal/diag"
	"github.com/gompss/gompss/codegen/internal/syntax"
	"github.com/gompss/gompss/codegen/ir"
)

func newProgram() *program {
	p := &program{fset: token.NewFileSet(), texts: map[string]string{}, silent: map[ir.Pos]bool{}, directives: map[ast.Node]*syntax.Directive{},
		funcs: map[*types.Func]*ast.FuncDecl{}, others: map[string]*otherPackage{}}
	p.fates = &fates{p: p}
	return p
}

// parseFiles reads the files of a package.
func parseFiles(files []syntax.File) (*program, []diag.Diagnostic) {
	p := newProgram()
	if len(files) == 0 {
		return p, []diag.Diagnostic{{What: "package", Why: "it has no files", Instead: "give Load at least one"}}
	}
	var diags []diag.Diagnostic
	names := map[string]bool{}
	for _, f := range files {
		name := f.FileName()
		if names[name] {
			diags = append(diags, diag.Diagnostic{Pos: ir.Pos{File: name}, What: "file " + name, Why: "it is given twice", Instead: "give it once"})
			continue
		}
		names[name] = true
		syntax, err := p.parse(name, f.Text)
		diags = append(diags, syntaxErrors(err)...)
		if err == nil {
			diags = append(diags, p.add(syntax, f.Package)...)
		}
	}
	addLibrary(p)
	return p, diags
}

// addLibrary adds the packages below codegen/kernel that files import and that are not given.
func addLibrary(p *program) {
	for _, f := range p.allFiles() {
		for _, spec := range f.Imports {
			importPath, err := strconv.Unquote(spec.Path.Value)
			if err != nil || len(p.OtherNamed(importPath).files) > 0 {
				continue
			}
			for _, file := range libraryFiles(importPath) {
				syntax, err := p.parse(file.FileName(), file.Text)
				if diags := p.add(syntax, importPath); err != nil || len(diags) > 0 {
					panic(fmt.Sprintf("gompss: bug: codegen: own source %s: %v %v", file.FileName(), err, diags))
				}
			}
		}
	}
}

// parse reads one file. The parser drops what is most likely a consequence of an error, but stops
// at the tenth line with one; then it is asked again for all.
func (p *program) parse(name, text string) (*ast.File, error) {
	const mode = parser.ParseComments | parser.SkipObjectResolution
	p.texts[name] = text
	syntax, err := parser.ParseFile(p.fset, name, text, mode)
	var list scanner.ErrorList
	if errors.As(err, &list) && len(list) >= 10 {
		return parser.ParseFile(token.NewFileSet(), name, text, mode|parser.AllErrors)
	}
	return syntax, err
}

// add takes a file of a package, "" for that of the kernels, that has been parsed.
func (p *program) add(f *ast.File, pkg string) []diag.Diagnostic {
	if deep, most := deepest(f); deep != nil {
		return []diag.Diagnostic{{Pos: p.position(deep.Pos()), What: "syntax", Why: tooDeep(most), Instead: "name parts of it"}}
	}
	if p.name == "" && pkg == "" {
		p.name = f.Name.Name
	}
	if f.Name.Name != p.name && pkg == "" {
		return []diag.Diagnostic{{Pos: p.position(f.Name.Pos()), What: "package " + f.Name.Name, Why: "the first file is in package " + p.name,
			Instead: "load the packages one by one"}}
	}
	if pkg == "" {
		p.files = append(p.files, f)
	} else {
		other := p.OtherNamed(pkg)
		other.files = append(other.files, f)
		p.others[p.fset.File(f.Pos()).Name()] = other
	}
	p.silence(f)
	found, diags := syntax.Attach(p.fset, f)
	maps.Copy(p.directives, found)
	p.misread = append(p.misread, diags...)
	p.clouds = append(p.clouds, p.cloudsOf(f, diags)...)
	return nil
}

// deepest returns a node that is nested as deeply as a syntax tree may be and has others in it, nil
// where there is none, and how deep the tree is.
func deepest(f ast.Node) (deep ast.Node, most int) {
	depth := 0
	ast.Inspect(f, func(n ast.Node) bool {
		if n == nil {
			depth--
			return true
		}
		if depth == maxNesting && deep == nil {
			deep = n
		}
		depth++
		most = max(most, depth)
		return true
	})
	return deep, most
}

func tooDeep(depth int) string {
	return fmt.Sprintf("this is nested too deeply: %d levels, at most %d", depth, maxNesting)
}

func syntaxErrors(err error) []diag.Diagnostic {
	var list scanner.ErrorList
	if err == nil {
		return nil
	}
	if !errors.As(err, &list) {
		return []diag.Diagnostic{{What: "syntax", Why: err.Error()}}
	}
	var out []diag.Diagnostic
	for i, e := range list {
		if i > 0 && e.Pos.Line == list[i-1].Pos.Line {
			continue // most likely a consequence of the one before
		}
		out = append(out, diag.Diagnostic{Pos: ir.Pos{File: e.Pos.Filename, Line: e.Pos.Line, Col: e.Pos.Column},
			What: "syntax", Why: e.Msg})
	}
	return out
}

// A topDecl is a function or a specification of a package, with what go/types finds wrong in it.
type topDecl struct {
	node    ast.Node
	group   *ast.GenDecl // of a specification
	repeats *topDecl     // the constants before, whose values it repeats
	errors  []diag.Diagnostic
}

// check type-checks the package and the others that it is given.
func (p *program) check() {
	files := p.allFiles()
	for _, f := range files {
		p.index(f)
	}
	slices.SortFunc(p.decls, func(a, b *topDecl) int { return cmp.Compare(a.node.Pos(), b.node.Pos()) })
	p.info = &types.Info{Types: map[ast.Expr]types.TypeAndValue{}, Defs: map[*ast.Ident]types.Object{},
		Uses: map[*ast.Ident]types.Object{}, Implicits: map[ast.Node]types.Object{}, Selections: map[*ast.SelectorExpr]*types.Selection{},
		Instances: map[*ast.Ident]types.Instance{}}
	p.library = newImporter()
	p.nameImports(files)
	conf := p.config()
	p.types, _ = conf.Check(p.name, p.fset, p.files, p.info) // the errors have gone to typeError
	for _, f := range files {
		for _, d := range f.Decls {
			if fn, ok := d.(*ast.FuncDecl); ok {
				if obj, ok := p.info.Defs[fn.Name].(*types.Func); ok {
					p.funcs[obj] = fn
				}
			}
		}
	}
}

// names returns what d declares in its package.
func (d *topDecl) names() []*ast.Ident {
	if d.group != nil {
		return Declared(&ast.GenDecl{Specs: []ast.Spec{d.node.(ast.Spec)}})
	}
	return Declared(d.node.(ast.Decl))
}

// index notes the declarations of f. Imports are left out: what is wrong with one shows where it is
// used.
func (p *program) index(f *ast.File) {
	for _, d := range f.Decls {
		gen, ok := d.(*ast.GenDecl)
		if !ok {
			p.decls = append(p.decls, &topDecl{node: d})
			continue
		}
		if gen.Tok == token.IMPORT {
			continue
		}
		var before *topDecl
		for _, s := range gen.Specs {
			d := &topDecl{node: s, group: gen}
			if values, ok := s.(*ast.ValueSpec); ok && gen.Tok == token.CONST {
				if len(values.Values) == 0 {
					d.repeats = before
				} else {
					before = d
				}
			}
			p.decls = append(p.decls, d)
		}
	}
}

// typeError takes an error of go/types.
func (p *program) typeError(err error) {
	var e types.Error
	if !errors.As(err, &e) || strings.HasPrefix(e.Msg, "\t") { // a tab starts the second line of the error before
		return
	}
	if d := p.declAt(e.Pos); d != nil {
		d.errors = append(d.errors, diag.Diagnostic{Pos: p.position(e.Pos), What: "Go", Why: goMessage(e.Msg)})
	}
}

// goMessage returns a message of go/types on one line and with short package names.
func goMessage(msg string) string {
	return strings.ReplaceAll(strings.ReplaceAll(msg, "\n\t", ", "), kernelPath+".", "kernel.")
}

// declAt returns the declaration around pos.
func (p *program) declAt(pos token.Pos) *topDecl {
	i, found := slices.BinarySearchFunc(p.decls, pos, func(d *topDecl, pos token.Pos) int { return cmp.Compare(d.node.Pos(), pos) })
	if !found {
		i--
	}
	if i >= 0 && i < len(p.decls) && pos <= p.decls[i].node.End() {
		return p.decls[i]
	}
	return nil
}

// errorsIn returns the errors of go/types in declarations.
func (p *program) errorsIn(decls map[*topDecl]bool) []diag.Diagnostic {
	var out []diag.Diagnostic
	for _, d := range p.decls {
		if !decls[d] {
			continue
		}
		if foreign := p.foreignConstraints(d.node); len(foreign) > 0 {
			out = append(out, foreign...) // what the constraint allows is not known: go/types sees errors that are none
		} else {
			out = append(out, d.errors...)
		}
	}
	return out
}

// misreadIn returns what is wrong with the directives in declarations.
func (p *program) misreadIn(decls map[*topDecl]bool) []diag.Diagnostic {
	var out []diag.Diagnostic
	for _, d := range p.misread {
		if p.inside(d.Pos, decls) {
			out = append(out, d)
		}
	}
	return out
}

// foreignConstraints reports the constraints of type parameters that are in packages without device
// counterpart.
func (p *program) foreignConstraints(n ast.Node) []diag.Diagnostic {
	var params *ast.FieldList
	switch n := n.(type) {
	case *ast.FuncDecl:
		params = n.Type.TypeParams
	case *ast.TypeSpec:
		params = n.TypeParams
	}
	if params == nil {
		return nil
	}
	var out []diag.Diagnostic
	ast.Inspect(params, func(n ast.Node) bool {
		sel, ok := n.(*ast.SelectorExpr)
		if !ok {
			return true
		}
		if id, ok := sel.X.(*ast.Ident); ok {
			if name, ok := p.info.Uses[id].(*types.PkgName); ok && !name.Imported().Complete() {
				out = append(out, diag.Diagnostic{Pos: p.position(sel.Pos()), What: "constraint " + id.Name + "." + sel.Sel.Name,
					Why: "package " + name.Imported().Path() + " has no device counterpart", Instead: "write cmp.Ordered, kernel.Float, kernel.Integer or the types themselves"})
			}
		}
		return true
	})
	return out
}

// inside reports whether at lies in one of the declarations.
func (p *program) inside(at ir.Pos, decls map[*topDecl]bool) bool {
	for d := range decls {
		from, to := p.position(d.node.Pos()), p.position(d.node.End())
		if f, ok := d.node.(*ast.FuncDecl); ok && f.Doc != nil {
			from = p.position(f.Doc.Pos())
		}
		if from.File == at.File && from.Line <= at.Line && at.Line <= to.Line {
			return true
		}
	}
	return false
}

func sortedKeys[V any](m map[string]V) []string { return slices.Sorted(maps.Keys(m)) }

// Declared returns the names that d declares.
func Declared(d ast.Decl) []*ast.Ident {
	var out []*ast.Ident
	switch d := d.(type) {
	case *ast.FuncDecl:
		if d.Recv == nil {
			out = append(out, d.Name)
		}
	case *ast.GenDecl:
		for _, s := range d.Specs {
			switch s := s.(type) {
			case *ast.ValueSpec:
				out = append(out, s.Names...)
			case *ast.TypeSpec:
				out = append(out, s.Name)
			}
		}
	}
	return out
}
