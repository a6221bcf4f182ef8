package codegen

import (
	"fmt"
	"go/ast"
	"go/parser"
	"go/token"
	"path"
	"slices"
	"strings"
	"unicode"

	"github.com/gompss/gompss/codegen/ir"
)

// SourcesFor returns the files that the kernels of file need: file itself and those of its package that declare what
// it uses, and so on; file first, then by name. pkg holds all files of the package that are built together, tests and
// generated ones left out.
//
// Errors: the syntax of file, and names that it needs and two files declare. What is wrong with the others Load says of
// those that are needed.
func SourcesFor(file string, pkg []File) ([]File, error) {
	c := &closure{declares: map[string]int{}, taken: map[int]bool{}, places: map[string]token.Pos{}, twice: map[string]Diagnostic{}}
	first, fset := -1, token.NewFileSet()
	for i, f := range pkg {
		syntax, err := parser.ParseFile(fset, f.Name, f.Text, parser.SkipObjectResolution|parser.ParseComments)
		if err != nil && path.Base(f.Name) == path.Base(file) {
			return nil, sortedErrors(syntaxErrors(err))
		}
		c.files = append(c.files, syntax)
		for _, d := range syntax.Decls {
			for _, n := range declared(d) {
				c.declare(fset, i, n)
			}
		}
		if path.Base(f.Name) == path.Base(file) {
			first = i
		}
	}
	if first < 0 {
		return nil, nil
	}
	for _, d := range c.files[first].Decls {
		if f, ok := d.(*ast.FuncDecl); ok && IsKernel(f) {
			c.use(f, map[ast.Node]bool{})
		}
	}
	c.clauses(first, map[ast.Node]bool{})
	if len(c.errs) > 0 {
		return nil, sortedErrors(c.errs)
	}
	out := []File{pkg[first]}
	for i, f := range pkg {
		if c.taken[i] && i != first {
			out = append(out, f)
		}
	}
	slices.SortFunc(out[1:], func(a, b File) int { return strings.Compare(a.Name, b.Name) })
	return out, nil
}

// IsKernel reports whether a target or task directive stands on f. The file must have been parsed with comments.
func IsKernel(f *ast.FuncDecl) bool {
	if f.Doc == nil {
		return false
	}
	return slices.ContainsFunc(f.Doc.List, func(c *ast.Comment) bool {
		rest, ok := strings.CutPrefix(c.Text, prefix)
		word := firstWord(rest)
		return ok && (word == "target" || word == "task")
	})
}

// A closure follows names to the files that declare them.
type closure struct {
	files    []*ast.File
	declares map[string]int // the file of each package-level name
	taken    map[int]bool
	places   map[string]token.Pos  // where it is
	twice    map[string]Diagnostic // what is wrong with names that two files declare
	errs     []Diagnostic          // those that are needed
}

// declare notes that file i declares n.
func (c *closure) declare(fset *token.FileSet, i int, n *ast.Ident) {
	if n.Name == "_" || n.Name == "init" {
		return
	}
	if before, ok := c.declares[n.Name]; ok && before != i && c.files[before].Name.Name == c.files[i].Name.Name {
		at, other := fset.PositionFor(n.Pos(), false), fset.PositionFor(c.places[n.Name], false)
		c.twice[n.Name] = Diagnostic{Pos: ir.Pos{File: path.Base(at.Filename), Line: at.Line, Col: at.Column}, What: "name " + n.Name,
			Why:     fmt.Sprintf("it is declared at %s:%d:%d, too", path.Base(other.Filename), other.Line, other.Column),
			Instead: "rename one, or leave a file out by a build constraint"}
	}
	c.declares[n.Name], c.places[n.Name] = i, n.Pos()
}

// use takes the files of everything that n names, and of what those declarations name.
func (c *closure) use(n ast.Node, seen map[ast.Node]bool) {
	if seen[n] {
		return
	}
	seen[n] = true
	ast.Inspect(n, func(x ast.Node) bool {
		id, ok := x.(*ast.Ident)
		if !ok {
			return true
		}
		if i, ok := c.declares[id.Name]; ok {
			c.take(i, id.Name, seen)
		}
		return true
	})
}

// take takes file i for its declaration of name.
func (c *closure) take(i int, name string, seen map[ast.Node]bool) {
	if d, ok := c.twice[name]; ok {
		c.errs = append(c.errs, d)
		delete(c.twice, name)
	}
	if !c.taken[i] {
		c.taken[i] = true
		c.clauses(i, seen)
	}
	for _, d := range c.files[i].Decls {
		if slices.Contains(declaredNames(d), name) {
			c.use(d, seen)
		}
	}
}

// clauses takes what the directives of file i name.
func (c *closure) clauses(i int, seen map[ast.Node]bool) {
	for _, g := range c.files[i].Comments {
		for _, comment := range g.List {
			rest, ok := strings.CutPrefix(comment.Text, prefix)
			if !ok {
				continue
			}
			for _, word := range strings.FieldsFunc(rest, notInWord) {
				if j, ok := c.declares[word]; ok {
					c.take(j, word, seen)
				}
			}
		}
	}
}

func notInWord(r rune) bool { return r != '_' && !unicode.IsLetter(r) && !unicode.IsDigit(r) }
