package wrapper

import (
	"go/ast"
	"go/build"
	"go/build/constraint"
	"io"
	"path"
	"strings"
)

// Constraint returns what decides whether go build takes a file: its build constraint, and what its
// name says of systems and processors. It is nil where every build takes it. syntax is the file,
// parsed with comments.
func Constraint(name string, syntax *ast.File) constraint.Expr {
	all := constraintOfName(path.Base(name))
	for _, group := range syntax.Comments {
		for _, c := range group.List {
			if expr, err := constraint.Parse(c.Text); err == nil && c.Pos() < syntax.Package && constraint.IsGoBuild(c.Text) {
				all = and(expr, all)
			}
		}
	}
	return all
}

func and(x, y constraint.Expr) constraint.Expr {
	if y == nil {
		return x
	}
	return &constraint.AndExpr{X: x, Y: y}
}

// elsewhere is no system and no processor that a name could mean.
const elsewhere = "elsewhere"

// constraintOfName returns what the end of a file's name says, as in a_linux_arm64.go. Only
// go/build knows which words mean something.
func constraintOfName(name string) constraint.Expr {
	words := strings.Split(strings.TrimSuffix(name, ".go"), "_")
	last, before := words[len(words)-1], ""
	if len(words) > 1 {
		before = words[len(words)-2]
	}
	switch {
	case builtFor(name, elsewhere, elsewhere):
		return nil
	case builtFor(name, last, elsewhere), builtFor(name, elsewhere, last):
		return &constraint.TagExpr{Tag: last}
	case builtFor(name, before, last):
		return and(&constraint.TagExpr{Tag: before}, &constraint.TagExpr{Tag: last})
	}
	return nil
}

// builtFor reports whether the name of a file lets a system and a processor have it.
func builtFor(name, system, processor string) bool {
	c := build.Default
	c.GOOS, c.GOARCH = system, processor
	c.OpenFile = func(string) (io.ReadCloser, error) { return io.NopCloser(strings.NewReader("package p\n")), nil }
	ok, err := c.MatchFile("", name)
	return err != nil || ok
}
