package source

import (
	"go/ast"
	"go/token"

	"github.com/gompss/gompss/codegen/internal/diag"
	"github.com/gompss/gompss/codegen/ir"
)

// An unparsedRange is the source range that a directive with a syntax error governs, or most likely
// governs. Errors about the places of directives inside it may follow from that error alone.
type unparsedRange struct {
	file     string
	from, to int      // lines
	function ast.Node // the function that the directive stands above, nil where it stands in a body
}

// unparsedRanges returns the ranges of the directives of f that have syntax errors.
func (p *Program) unparsedRanges(f *ast.File, syntaxErrors []diag.Diagnostic) []unparsedRange {
	var out []unparsedRange
	for _, d := range syntaxErrors {
		if d.Severity != diag.Error {
			continue
		}
		n := p.below(f, d.Pos.Line)
		if n == nil {
			continue
		}
		c := unparsedRange{file: d.Pos.File, from: d.Pos.Line, to: p.Position(n.End()).Line}
		if _, ok := n.(*ast.FuncDecl); ok {
			c.function = n
		}
		out = append(out, c)
	}
	return out
}

// below returns the first statement of f that starts behind line, of the function around the line
// if there is one, or the function there; nil where there is none.
func (p *Program) below(f *ast.File, line int) (found ast.Node) {
	lineOf := func(pos token.Pos) int { return p.Position(pos).Line }
	ast.Inspect(f, func(n ast.Node) bool {
		if n == nil || found != nil {
			return false
		}
		if lineOf(n.End()) < line {
			return false
		}
		switch n := n.(type) {
		case *ast.FuncDecl:
			if lineOf(n.Type.Pos()) > line {
				found = n
			}
			return found == nil && n.Body != nil && lineOf(n.Body.Lbrace) <= line
		case *ast.GenDecl:
			return false
		case ast.Stmt:
			if lineOf(n.Pos()) > line {
				found = n
			}
		}
		return found == nil
	})
	if _, ok := found.(*ast.FuncDecl); ok && p.insideFunction(f, line) {
		return nil
	}
	return found
}

// insideFunction reports whether line lies in the body of a function of f.
func (p *Program) insideFunction(f *ast.File, line int) bool {
	for _, d := range f.Decls {
		fn, ok := d.(*ast.FuncDecl)
		if ok && fn.Body != nil && p.Position(fn.Body.Lbrace).Line <= line && line <= p.Position(fn.End()).Line {
			return true
		}
	}
	return false
}

// InUnparsed reports whether at lies in the range of a directive with a syntax error.
func (p *Program) InUnparsed(at ir.Pos) bool {
	for _, c := range p.unparsed {
		if c.function == nil && c.file == at.File && c.from <= at.Line && at.Line <= c.to {
			return true
		}
	}
	return false
}

// UnparsedFunction reports whether a directive above decl has a syntax error.
func (p *Program) UnparsedFunction(decl ast.Node) bool {
	for _, c := range p.unparsed {
		if c.function == decl {
			return true
		}
	}
	return false
}
