package reach

import (
	"fmt"
	"go/ast"
	"go/token"
	"go/types"
	"path"
	"slices"
	"strconv"
	"strings"

	"github.com/gompss/gompss/codegen/internal/diag"
	"github.com/gompss/gompss/codegen/internal/frontend/source"
	"github.com/gompss/gompss/codegen/internal/syntax"
)

// SourcesFor returns the files that the kernels of file need: file itself and those of its package
// with declarations that it uses, directly or indirectly; file comes first, the others by name. pkg
// has all files of the package that are built together, without tests and generated files. The
// result ends with a file for each file of another package with reached declarations. It has only
// these declarations, with line comments that give their positions.
//
// imported returns the files of the package of an import path, or none if the program does not have
// it. SourcesFor calls it for packages that kernels reach. It may be nil.
//
// Errors: syntax errors of file, and names that it needs and that two files declare. Load reports
// the errors of the other files.
func SourcesFor(file string, pkg []syntax.File, imported func(path string) []syntax.File) ([]syntax.File, error) {
	s := &sources{given: pkg, imported: imported, requested: map[string]bool{}}
	for {
		p, err := s.check(path.Base(file))
		if p == nil || err != nil {
			return nil, err
		}
		reached := p.reach(p.KernelsOf(path.Base(file))...)
		if s.ask(p, reached) {
			continue // types may be known now that were not, and with them methods
		}
		if errs := p.declaredTwice(reached); len(errs) > 0 {
			return nil, diag.Sorted(errs)
		}
		return s.files(p, path.Base(file), reached), nil
	}
}

// sources are the files that may have declarations that kernels use.
type sources struct {
	given     []syntax.File
	imported  func(path string) []syntax.File
	requested map[string]bool // packages for which imported was called
	others    []syntax.File   // files of these packages
}

// Check returns the package, type-checked; nil where file is not in it. Files with errors in their
// syntax count as far as they go.
func (s *sources) check(file string) (*Graph, error) {
	p := source.New()
	i := slices.IndexFunc(s.given, func(f syntax.File) bool { return path.Base(f.Name) == file })
	if i < 0 {
		return nil, nil
	}
	for _, f := range slices.Concat(s.given[i:i+1], s.given[:i], s.given[i+1:], s.others) {
		syntax, err := p.Parse(f.FileName(), f.Text)
		if list := source.SyntaxErrors(err); len(list) > 0 && len(p.Files) == 0 {
			return nil, diag.Sorted(list)
		}
		if deep, _ := source.Deepest(syntax); deep == nil {
			p.Add(syntax, f.Package)
		}
	}
	own := slices.DeleteFunc(p.LargeKernels(), func(d diag.Diagnostic) bool { return path.Base(d.Pos.File) != file })
	if large := append(p.LargeTypes(), own...); len(large) > 0 {
		return nil, diag.Sorted(large)
	}
	p.Check()
	return New(p), nil
}

// KernelsOf returns the kernels of a file.
func (p *Graph) KernelsOf(file string) []*source.Decl {
	var out []*source.Decl
	for _, d := range p.Decls {
		if f, ok := d.Node.(*ast.FuncDecl); ok && p.Position(d.Node.Pos()).File == file && (source.IsKernel(f) || p.IsKernel(f)) {
			out = append(out, d)
		}
	}
	return out
}

// ask asks for the packages that declarations use and that were not asked for before, and reports
// whether there are any.
func (s *sources) ask(p *Graph, reached map[*source.Decl]bool) bool {
	before := len(s.others)
	paths := map[string]bool{}
	for name := range p.importsIn(reached) {
		paths[name.Imported().Path()] = true
	}
	for _, importPath := range source.SortedKeys(paths) { // so that equal sources give equal files
		if s.requested[importPath] || p.Library.Has(importPath) {
			continue
		}
		s.requested[importPath] = true
		files := source.LibraryFiles(importPath)
		if len(files) == 0 && s.imported != nil {
			files = s.imported(importPath)
		}
		for _, f := range files {
			f.Package = importPath
			s.others = append(s.others, f)
		}
	}
	return len(s.others) > before
}

// importsIn returns the imports that declarations name.
func (p *Graph) importsIn(decls map[*source.Decl]bool) map[*types.PkgName]bool {
	out := map[*types.PkgName]bool{}
	for d := range decls {
		for _, o := range p.usedBy(d.Node) {
			if name, ok := o.(*types.PkgName); ok {
				out[name] = true
			}
		}
	}
	return out
}

// declaredTwice reports the names of declarations that other files declare, too.
func (p *Graph) declaredTwice(reached map[*source.Decl]bool) []diag.Diagnostic {
	type global struct {
		pkg  *types.Package
		name string
	}
	places, used := map[global][]token.Pos{}, map[global]bool{}
	for _, d := range p.Decls {
		for _, n := range d.Names() {
			g := global{p.PackageAt(n.Pos()), n.Name}
			if n.Name != "_" && n.Name != "init" {
				places[g] = append(places[g], n.Pos())
				used[g] = used[g] || reached[d]
			}
		}
	}
	var out []diag.Diagnostic
	for g, list := range places {
		if first, last := p.Position(list[0]), p.Position(list[len(list)-1]); used[g] && first.File != last.File {
			if first.File > last.File {
				first, last = last, first
			}
			out = append(out, diag.Diagnostic{Pos: last, What: "name " + g.name, Why: fmt.Sprintf("it is declared at %s:%d:%d, too", first.File, first.Line, first.Col),
				Instead: "rename one, or leave a file out by a build constraint"})
		}
	}
	return out
}

// files returns the given files with reached declarations, and a file for each file of another
// package with reached declarations.
func (s *sources) files(p *Graph, file string, reached map[*source.Decl]bool) []syntax.File {
	taken := map[string]bool{file: true}
	for d := range reached {
		taken[p.Position(d.Node.Pos()).File] = true
	}
	var out []syntax.File
	for _, f := range s.given {
		if taken[f.FileName()] {
			out = append(out, f)
		}
	}
	slices.SortFunc(out, func(a, b syntax.File) int { return strings.Compare(a.Name, b.Name) })
	slices.SortStableFunc(out, func(a, b syntax.File) int { return notFirst(a, file) - notFirst(b, file) })
	for _, f := range s.others {
		if part := p.partOf(f, reached); part != "" {
			out = append(out, syntax.File{Name: f.Name, Text: part, Package: f.Package})
		}
	}
	return out
}

// notFirst is 0 for file, 1 for others.
func notFirst(f syntax.File, file string) int {
	if path.Base(f.Name) == file {
		return 0
	}
	return 1
}

// partOf returns the reached declarations of a file of another package as a file, "" where there
// are none.
func (p *Graph) partOf(f syntax.File, reached map[*source.Decl]bool) string {
	var body strings.Builder
	imports := map[string]bool{}
	written := map[ast.Node]bool{}
	for _, d := range p.Decls {
		if !reached[d] || p.Fset.File(d.Node.Pos()).Name() != f.FileName() {
			continue
		}
		for name := range p.importsIn(map[*source.Decl]bool{d: true}) {
			imports[name.Name()+" "+strconv.Quote(name.Imported().Path())] = true
		}
		n, open, end := partText(d)
		if !written[n] {
			written[n] = true
			p.writePart(&body, f, n, open, end)
		}
	}
	if body.Len() == 0 {
		return ""
	}
	var head strings.Builder
	fmt.Fprintf(&head, "package %s\n", p.OtherNamed(f.Package).Files[0].Name.Name)
	for _, spec := range source.SortedKeys(imports) {
		fmt.Fprintf(&head, "import %s\n", spec)
	}
	return head.String() + body.String()
}

// partText returns the node that is printed for d, and the text before and after it. Constants are
// printed with their group, because of iota.
func partText(d *source.Decl) (n ast.Node, open, end string) {
	switch {
	case d.Group == nil:
		return d.Node, "", ""
	case d.Group.Tok == token.CONST || !d.Group.Lparen.IsValid():
		return d.Group, "", ""
	}
	return d.Node, d.Group.Tok.String() + " (\n", "\n)"
}

// writePart writes the text of n, its directives included, and where it stands.
func (p *Graph) writePart(b *strings.Builder, f syntax.File, n ast.Node, open, end string) {
	from := n.Pos()
	if fn, ok := n.(*ast.FuncDecl); ok && p.Directives[n] != nil {
		from = fn.Doc.Pos()
	}
	at := p.Fset.PositionFor(from, false)
	lo, hi := at.Offset, p.Fset.PositionFor(n.End(), false).Offset
	fmt.Fprintf(b, "\n%s//line %s:%d:%d\n%s%s\n", open, path.Base(f.Name), at.Line, at.Column, p.withoutComments(f, lo, hi), end)
}

// withoutComments returns the bytes lo to hi of a file with its directives and line ends, and
// without other comments.
func (p *Graph) withoutComments(f syntax.File, lo, hi int) string {
	var out strings.Builder
	at := lo
	for _, file := range p.OtherNamed(f.Package).Files {
		if p.Fset.File(file.Pos()).Name() != f.FileName() {
			continue
		}
		for _, g := range file.Comments {
			for _, c := range g.List {
				from := p.Fset.PositionFor(c.Pos(), false).Offset
				to := p.Fset.PositionFor(c.End(), false).Offset
				if from < at || to > hi || strings.HasPrefix(c.Text, syntax.Prefix) {
					continue
				}
				out.WriteString(strings.TrimRight(f.Text[at:from], syntax.Blanks))
				out.WriteString(strings.Repeat("\n", strings.Count(c.Text, "\n")))
				if c.Text[1] == '*' {
					out.WriteString(" ")
				}
				at = to
			}
		}
	}
	out.WriteString(f.Text[at:hi])
	return out.String()
}

// ImportsAt returns the imports that the words of a file name, by their place in it.
func (p *Graph) ImportsAt(file string) map[int]*types.PkgName {
	out := map[int]*types.PkgName{}
	for id, o := range p.Info.Uses {
		if name, ok := o.(*types.PkgName); ok && p.Position(id.Pos()).File == file {
			out[p.Fset.PositionFor(id.Pos(), false).Offset] = name
		}
	}
	return out
}

// DotsAt returns the packages of which the words of a file name something without the name of the
// package, as those of imports with a dot do, by their place in it.
func (p *Graph) DotsAt(file string) map[int]*types.Package {
	out := map[int]*types.Package{}
	for id, o := range p.Info.Uses {
		if pkg := o.Pkg(); pkg != nil && pkg != p.GoTypes && o.Parent() == pkg.Scope() && p.Position(id.Pos()).File == file {
			out[p.Fset.PositionFor(id.Pos(), false).Offset] = pkg
		}
	}
	return out
}
