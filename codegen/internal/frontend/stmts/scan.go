package stmts

import (
	"go/ast"

	"github.com/gompss/gompss/codegen/internal/diag"
	"github.com/gompss/gompss/codegen/internal/frontend/clauses"
	"github.com/gompss/gompss/codegen/ir"
)

// phases builds the body of a loop: where a scan directive cuts it, the second phase is a block at
// its end.
func (b loops) phases(s *ast.BlockStmt, l *ir.Label, g governance) []ir.Stmt {
	d := b.Program.Directives[s]
	inscan := g.directive != nil && g.directive.Scan != nil
	if inscan && g.directive.Scan == clauses.FailedScan {
		g.directive.Scan = nil
		return b.Block(s)
	}
	switch {
	case d == nil && !inscan:
		return b.Block(s)
	case d == nil:
		b.Report(diag.Diagnostic{Pos: g.directive.Reductions[0].At, Severity: diag.Error, What: "clause reduction(inscan)",
			Why: "no //omp:scan cuts the body of the loop", Instead: "write //omp:scan inclusive(...) or exclusive(...) between what updates the variables and what reads them"})
		g.directive.Scan, g.directive.Reductions = nil, nil // the phases are not known
		return b.Block(s)
	case !inscan:
		why, instead := "the loop around it has no reduction(inscan, op: ...)", "write one on the directive of the loop"
		if g.text != "" && g.directive == nil {
			why, instead = "the loop around it is collapsed into another one", "collapse fewer loops"
		}
		b.Fail(d.At, "directive scan", why, instead)
		return b.Block(s)
	}
	before := b.list(s.List[:d.Before])
	ir.WalkStmts(before, func(s ir.Stmt) bool {
		if c, ok := s.(*ir.Continue); ok && c.Label == l {
			b.Report(diag.Diagnostic{Pos: c.At, Severity: diag.Error, What: "continue", Why: "it leaves out the second phase of the scan at " + b.Pos(d.At).String(),
				Instead: "put what it leaves out under an if, in each of the two phases"})
		}
		return true
	})
	after := b.list(s.List[d.Before:])
	if !clauses.ReadScan(b.Caller.Builder, d, g.directive) {
		g.directive.Scan, g.directive.Reductions = nil, nil
		return append(before, after...)
	}
	return append(before, &ir.Block{Body: after, At: g.directive.Scan.At})
}
