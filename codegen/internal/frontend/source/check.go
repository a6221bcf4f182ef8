package source

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

func New() *Program {
	p := &Program{Fset: token.NewFileSet(), Texts: map[string]string{}, silent: map[ir.Pos]bool{}, Directives: map[ast.Node]*syntax.Directive{},
		Funcs: map[*types.Func]*ast.FuncDecl{}, others: map[string]*otherPackage{}}
	p.Usages = &Usages{p: p}
	return p
}

// Parse reads the files of a package.
func Parse(files []syntax.File) (*Program, []diag.Diagnostic) {
	p := New()
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
		syntax, err := p.Parse(name, f.Text)
		diags = append(diags, SyntaxErrors(err)...)
		if err == nil {
			diags = append(diags, p.Add(syntax, f.Package)...)
		}
	}
	addLibrary(p)
	return p, diags
}

// addLibrary adds the packages below codegen/kernel that files import and that are not given.
func addLibrary(p *Program) {
	for _, f := range p.allFiles() {
		for _, spec := range f.Imports {
			importPath, err := strconv.Unquote(spec.Path.Value)
			if err != nil || len(p.OtherNamed(importPath).Files) > 0 {
				continue
			}
			for _, file := range LibraryFiles(importPath) {
				syntax, err := p.Parse(file.FileName(), file.Text)
				if diags := p.Add(syntax, importPath); err != nil || len(diags) > 0 {
					panic(fmt.Sprintf("gompss: bug: codegen: own source %s: %v %v", file.FileName(), err, diags))
				}
			}
		}
	}
}

// Parse reads one file. The parser suppresses consequential errors, but stops at the tenth line
// with an error. In this case Parse calls it again for all errors.
func (p *Program) Parse(name, text string) (*ast.File, error) {
	const mode = parser.ParseComments | parser.SkipObjectResolution
	p.Texts[name] = text
	syntax, err := parser.ParseFile(p.Fset, name, text, mode)
	var list scanner.ErrorList
	if errors.As(err, &list) && len(list) >= 10 {
		return parser.ParseFile(token.NewFileSet(), name, text, mode|parser.AllErrors)
	}
	return syntax, err
}

// Add takes a file of a package, "" for that of the kernels, that has been parsed.
func (p *Program) Add(f *ast.File, pkg string) []diag.Diagnostic {
	if deep, most := Deepest(f); deep != nil {
		return []diag.Diagnostic{{Pos: p.Position(deep.Pos()), What: "syntax", Why: TooDeep(most), Instead: "name parts of it"}}
	}
	if p.Name == "" && pkg == "" {
		p.Name = f.Name.Name
	}
	if f.Name.Name != p.Name && pkg == "" {
		return []diag.Diagnostic{{Pos: p.Position(f.Name.Pos()), What: "package " + f.Name.Name, Why: "the first file is in package " + p.Name,
			Instead: "load the packages one by one"}}
	}
	if pkg == "" {
		p.Files = append(p.Files, f)
	} else {
		other := p.OtherNamed(pkg)
		other.Files = append(other.Files, f)
		p.others[p.Fset.File(f.Pos()).Name()] = other
	}
	silence(p, f)
	found, diags := syntax.Attach(p.Fset, f)
	maps.Copy(p.Directives, found)
	p.SyntaxErrors = append(p.SyntaxErrors, diags...)
	p.unparsed = append(p.unparsed, p.unparsedRanges(f, diags)...)
	return nil
}

// Deepest returns a node that is nested as deeply as a syntax tree may be and has others in it, nil
// where there is none, and how deep the tree is.
func Deepest(f ast.Node) (deep ast.Node, most int) {
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

func TooDeep(depth int) string {
	return fmt.Sprintf("this is nested too deeply: %d levels, at most %d", depth, maxNesting)
}

func SyntaxErrors(err error) []diag.Diagnostic {
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

// A Decl is a function or a specification of a package, with the errors that go/types finds in it.
type Decl struct {
	Node    ast.Node
	Group   *ast.GenDecl // of a specification
	Repeats *Decl        // the constants before, whose values it repeats
	errors  []diag.Diagnostic
}

// Check type-checks the package and the others that it is given.
func (p *Program) Check() {
	files := p.allFiles()
	for _, f := range files {
		p.index(f)
	}
	slices.SortFunc(p.Decls, func(a, b *Decl) int { return cmp.Compare(a.Node.Pos(), b.Node.Pos()) })
	p.Info = &types.Info{Types: map[ast.Expr]types.TypeAndValue{}, Defs: map[*ast.Ident]types.Object{},
		Uses: map[*ast.Ident]types.Object{}, Implicits: map[ast.Node]types.Object{}, Selections: map[*ast.SelectorExpr]*types.Selection{},
		Instances: map[*ast.Ident]types.Instance{}}
	p.Library = NewImporter()
	p.Library.fset, p.Library.info = p.Fset, p.Info
	p.nameImports(files)
	conf := p.config()
	p.GoTypes, _ = conf.Check(p.Name, p.Fset, p.Files, p.Info) // the errors have gone to Refusal
	for _, f := range append(files, p.Library.bodies...) {
		for _, d := range f.Decls {
			if fn, ok := d.(*ast.FuncDecl); ok && fn.Body != nil || ok && !slices.Contains(p.Library.bodies, f) {
				if obj, ok := p.Info.Defs[fn.Name].(*types.Func); ok {
					p.Funcs[obj] = fn
				}
			}
		}
	}
}

// Names returns the names that d declares in its package.
func (d *Decl) Names() []*ast.Ident {
	if d.Group != nil {
		return Declared(&ast.GenDecl{Specs: []ast.Spec{d.Node.(ast.Spec)}})
	}
	return Declared(d.Node.(ast.Decl))
}

// index records the declarations of f, without imports: an error in an import is reported at its
// use.
func (p *Program) index(f *ast.File) {
	for _, d := range f.Decls {
		gen, ok := d.(*ast.GenDecl)
		if !ok {
			p.Decls = append(p.Decls, &Decl{Node: d})
			continue
		}
		if gen.Tok == token.IMPORT {
			continue
		}
		var before *Decl
		for _, s := range gen.Specs {
			d := &Decl{Node: s, Group: gen}
			if values, ok := s.(*ast.ValueSpec); ok && gen.Tok == token.CONST {
				if len(values.Values) == 0 {
					d.Repeats = before
				} else {
					before = d
				}
			}
			p.Decls = append(p.Decls, d)
		}
	}
}

// Refusal takes an error of go/types.
func (p *Program) typeError(err error) {
	var e types.Error
	if !errors.As(err, &e) || strings.HasPrefix(e.Msg, "\t") { // a tab starts the second line of the error before
		return
	}
	if d := p.DeclAt(e.Pos); d != nil {
		d.errors = append(d.errors, diag.Diagnostic{Pos: p.Position(e.Pos), What: "Go", Why: GoMessage(e.Msg)})
	}
}

// GoMessage returns a message of go/types on one line and with short package names.
func GoMessage(msg string) string {
	return strings.ReplaceAll(strings.ReplaceAll(msg, "\n\t", ", "), KernelPath+".", "kernel.")
}

// DeclAt returns the declaration around pos.
func (p *Program) DeclAt(pos token.Pos) *Decl {
	i, found := slices.BinarySearchFunc(p.Decls, pos, func(d *Decl, pos token.Pos) int { return cmp.Compare(d.Node.Pos(), pos) })
	if !found {
		i--
	}
	if i >= 0 && i < len(p.Decls) && pos <= p.Decls[i].Node.End() {
		return p.Decls[i]
	}
	return nil
}

// ErrorsIn returns the errors of go/types in declarations.
func (p *Program) ErrorsIn(decls map[*Decl]bool) []diag.Diagnostic {
	var out []diag.Diagnostic
	for _, d := range p.Decls {
		if !decls[d] {
			continue
		}
		if foreign := p.foreignConstraints(d.Node); len(foreign) > 0 {
			out = append(out, foreign...) // the types that the constraint permits are unknown, so errors of go/types may be wrong
		} else {
			out = append(out, d.errors...)
		}
	}
	return out
}

// MisreadIn returns the errors of the directives in declarations.
func (p *Program) MisreadIn(decls map[*Decl]bool) []diag.Diagnostic {
	var out []diag.Diagnostic
	for _, d := range p.SyntaxErrors {
		if p.inside(d.Pos, decls) {
			out = append(out, d)
		}
	}
	return out
}

// foreignConstraints reports the constraints of type parameters that are in packages without device
// counterpart.
func (p *Program) foreignConstraints(n ast.Node) []diag.Diagnostic {
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
			if name, ok := p.Info.Uses[id].(*types.PkgName); ok && !name.Imported().Complete() {
				out = append(out, diag.Diagnostic{Pos: p.Position(sel.Pos()), What: "constraint " + id.Name + "." + sel.Sel.Name,
					Why: "package " + name.Imported().Path() + " has no device counterpart", Instead: "write cmp.Ordered, kernel.Float, kernel.Integer or the types themselves"})
			}
		}
		return true
	})
	return out
}

// inside reports whether at lies in one of the declarations.
func (p *Program) inside(at ir.Pos, decls map[*Decl]bool) bool {
	for d := range decls {
		from, to := p.Position(d.Node.Pos()), p.Position(d.Node.End())
		if f, ok := d.Node.(*ast.FuncDecl); ok && f.Doc != nil {
			from = p.Position(f.Doc.Pos())
		}
		if from.File == at.File && from.Line <= at.Line && at.Line <= to.Line {
			return true
		}
	}
	return false
}

func SortedKeys[V any](m map[string]V) []string { return slices.Sorted(maps.Keys(m)) }

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
