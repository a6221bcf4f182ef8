package source

import (
	"go/ast"
	"strings"

	"github.com/gompss/gompss/codegen/internal/diag"
	"github.com/gompss/gompss/codegen/internal/syntax"
	"github.com/gompss/gompss/codegen/ir"
)

// silence records the lines of f whose warnings are suppressed.
func silence(p *Program, f *ast.File) {
	busy := map[int]bool{} // lines that code starts or ends on
	line := func(n ast.Node) int { return p.Position(n.Pos()).Line }
	ast.Inspect(f, func(n ast.Node) bool {
		switch n := n.(type) {
		case nil, *ast.Comment, *ast.CommentGroup:
			return false
		default:
			busy[line(n)], busy[p.Position(n.End()-1).Line] = true, true
			return true
		}
	})
	for _, g := range f.Comments {
		for _, c := range g.List {
			at := ir.Pos{File: p.Position(c.Pos()).File, Line: line(c)}
			_, behind := syntax.WithoutSilence(c.Text)
			behind = behind && strings.HasPrefix(c.Text, syntax.Prefix)
			switch {
			case behind || syntax.SilencesWarnings(c.Text) && busy[at.Line]:
				p.silent[at] = true
			case syntax.SilencesWarnings(c.Text):
				at.Line++
				p.silent[at] = true
			}
		}
	}
}

// Silences reports whether a comment in the source suppresses the warning d.
func Silences(p *Program, d diag.Diagnostic) bool {
	return d.Severity == diag.Warning && p.silent[ir.Pos{File: d.Pos.File, Line: d.Pos.Line}]
}
