// Package reach has the use graph of the declarations of a program, from the objects of go/types.
// It gives the files that a kernel needs, and a hash of all declarations that it reaches.
package reach

import (
	"go/ast"
	"go/token"
	"go/types"
	"slices"
	"strings"

	"github.com/gompss/gompss/codegen/internal/frontend/source"
	"github.com/gompss/gompss/codegen/internal/syntax"
)

// Uses are objects of go/types, so a local name hides the name of a package-level declaration.

// A Graph is the use graph of the declarations of a program. It is for one goroutine at a time.
type Graph struct {
	*source.Program
	uses map[*ast.FuncDecl]map[*source.Decl]bool // declarations that functions reach
}

// New returns the graph of a program that has been type-checked.
func New(p *source.Program) *Graph {
	return &Graph{Program: p, uses: map[*ast.FuncDecl]map[*source.Decl]bool{}}
}

// reach returns roots and all declarations that they use, directly or indirectly.
func (p *Graph) reach(roots ...*source.Decl) map[*source.Decl]bool {
	seen := map[*source.Decl]bool{}
	todo := slices.Clone(roots)
	for len(todo) > 0 {
		d := todo[len(todo)-1]
		todo = todo[:len(todo)-1]
		if d == nil || seen[d] {
			continue
		}
		seen[d] = true
		todo = append(todo, d.Repeats)
		for _, o := range p.usedBy(d.Node) {
			if p.IsSource(o.Pkg()) {
				todo = append(todo, p.DeclAt(o.Pos()))
			}
		}
	}
	return seen
}

// ReachOf returns the declarations that a function reaches.
func (p *Graph) ReachOf(f *ast.FuncDecl) map[*source.Decl]bool {
	if p.uses[f] == nil {
		p.uses[f] = p.reach(p.DeclAt(f.Pos()))
	}
	return p.uses[f]
}

// usedBy returns the objects that n and its directives name: package-level ones, methods, fields,
// and locals of n.
func (p *Graph) usedBy(n ast.Node) []types.Object {
	var out []types.Object
	ast.Inspect(n, func(n ast.Node) bool {
		if id, ok := n.(*ast.Ident); ok {
			if o := p.Info.Uses[id]; o != nil {
				out = append(out, o)
			}
			out = append(out, methodsFor(p.Info.Instances[id])...)
		}
		if d := p.Directives[n]; d != nil {
			out = append(out, p.namedIn(d, n)...)
		}
		return true
	})
	return out
}

// methodsFor returns the methods of type arguments: a constraint may ask for them.
func methodsFor(inst types.Instance) []types.Object {
	var out []types.Object
	for i := range inst.TypeArgs.Len() {
		if named, ok := types.Unalias(inst.TypeArgs.At(i)).(*types.Named); ok {
			out = append(out, named.Obj())
			for m := range named.Methods() {
				out = append(out, m)
			}
		}
	}
	return out
}

// keywordClauses take words of the dialect, or text, and name nothing of the program.
var keywordClauses = []string{"device", "mode", "bind", "check", "label"}

// namedIn returns the objects that the clauses of d, which governs n, name.
func (p *Graph) namedIn(d *syntax.Directive, n ast.Node) []types.Object {
	at := n.Pos()
	if f, ok := n.(*ast.FuncDecl); ok && f.Body != nil {
		at = source.BodyStart(f)
	}
	lets := map[string]bool{}
	for _, l := range d.Named("let") {
		name, _ := syntax.NextWord(l.Rest)
		lets[name.Text] = true
	}
	var out []types.Object
	for _, l := range d.Lines {
		out = append(out, p.namesIn(l.Rest.Text, at, lets)...)
		for _, c := range l.Clauses {
			if !slices.Contains(keywordClauses, c.Name.Text) {
				out = append(out, p.namesIn(c.Args.Text, at, lets)...)
			}
		}
	}
	return out
}

// namesIn returns the objects of the identifiers of a clause at a position, except names of lets
// and identifiers after a dot, which are members or belong to another package.
func (p *Graph) namesIn(text string, at token.Pos, lets map[string]bool) []types.Object {
	if text == "" {
		return nil
	}
	pkg := p.PackageAt(at)
	scope := pkg.Scope().Innermost(at)
	if scope == nil {
		scope = pkg.Scope()
	}
	var out []types.Object
	var before types.Object // of a word with a dot behind it
	for i := 0; i < len(text); {
		word, _ := syntax.NextWord(syntax.Piece{Text: text[i:]})
		if word.Text == "" {
			if text[i] != '.' && strings.IndexByte(syntax.Blanks, text[i]) < 0 {
				before = nil
			}
			i += syntax.LiteralLength(text, i)
			continue
		}
		o := memberOf(before, word.Text)
		if i == 0 || !strings.HasSuffix(strings.TrimRight(text[:i], syntax.Blanks), ".") {
			_, o = scope.LookupParent(word.Text, at)
		}
		if before = o; o != nil && !lets[word.Text] {
			out = append(out, o)
		}
		i += len(word.Text)
	}
	return out
}

// memberOf returns the object name of the package that o, the name of an import, stands for.
func memberOf(o types.Object, name string) types.Object {
	if imported, ok := o.(*types.PkgName); ok {
		return imported.Imported().Scope().Lookup(name)
	}
	return nil
}
