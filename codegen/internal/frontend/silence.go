package frontend

import (
	"go/ast"
	"regexp"
	"strings"

	"github.com/gompss/gompss/codegen/internal/diag"
	"github.com/gompss/gompss/codegen/ir"
)

// A comment //nolint:gompss silences the warnings about a line: the one that it ends, or, alone on
// its line, the one below. Other linters of Go may stand in its list, and a reason behind it.
// Errors are not silenced.

var noLint = regexp.MustCompile(`^//nolint(:[\w-]+(, ?[\w-]+)*)?(\s|$)`)

// silences reports whether a comment silences warnings.
func silences(comment string) bool {
	m := noLint.FindStringSubmatch(comment)
	if m == nil {
		return false
	}
	for name := range strings.SplitSeq(strings.TrimPrefix(m[1], ":"), ",") {
		if name = strings.TrimSpace(name); name == "" || name == "all" || name == "gompss" {
			return true
		}
	}
	return false
}

// withoutSilence returns the text of a directive without a comment behind it that silences
// warnings.
func withoutSilence(text string) (directive string, silent bool) {
	if i := strings.Index(text, "//nolint"); i > 0 && strings.IndexByte(Blanks, text[i-1]) >= 0 {
		return strings.TrimRight(text[:i], Blanks), silences(text[i:])
	}
	return text, false
}

// silence notes the lines of f that warnings are not wanted of.
func (p *Package) silence(f *ast.File) {
	busy := map[int]bool{} // lines that code starts or ends on
	line := func(n ast.Node) int { return p.position(n.Pos()).Line }
	ast.Inspect(f, func(n ast.Node) bool {
		switch n := n.(type) {
		case nil, *ast.Comment, *ast.CommentGroup:
			return false
		default:
			busy[line(n)], busy[p.position(n.End()-1).Line] = true, true
			return true
		}
	})
	for _, g := range f.Comments {
		for _, c := range g.List {
			at := ir.Pos{File: p.position(c.Pos()).File, Line: line(c)}
			_, behind := withoutSilence(c.Text)
			behind = behind && strings.HasPrefix(c.Text, prefix)
			switch {
			case behind || silences(c.Text) && busy[at.Line]:
				p.silent[at] = true
			case silences(c.Text):
				at.Line++
				p.silent[at] = true
			}
		}
	}
}

// Silences reports whether the source says that it does not want to hear of d, a warning.
func (p *Package) Silences(d diag.Diagnostic) bool {
	return d.Severity == diag.Warning && p.silent[ir.Pos{File: d.Pos.File, Line: d.Pos.Line}]
}
