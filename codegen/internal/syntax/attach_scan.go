package syntax

import (
	"go/ast"
	"go/token"
	"slices"
)

// A scan directive governs no statement: it stands between two of the body of a loop and cuts that
// in two phases.

const scanPlace = "put it between two statements of the body of the loop itself, on a line of its own"

// scan hangs d on the body of the loop that it cuts.
func (a *attacher) scan(d *Directive) {
	if errs := d.combination(); len(errs) > 0 {
		a.fail(errs...)
		return
	}
	block := a.around(d.At)
	list := statementsOf(block)
	d.Before = len(list)
	if next := slices.IndexFunc(list, func(s ast.Stmt) bool { return s.End() > d.At }); next >= 0 {
		d.Before = next
	}
	switch {
	case block == nil || !a.bodies[block]:
		a.fail(lineError{d.At, "directive scan", "it does not stand in the body of a loop itself", scanPlace})
	case d.Before < len(list) && list[d.Before].Pos() < d.At:
		a.fail(lineError{d.At, "directive scan", "it stands inside a statement", scanPlace})
	case a.found[block] != nil:
		a.fail(lineError{d.At, "directive scan", "the body of this loop has one already", "name all variables in the first"})
	default:
		a.fail(d.check()...)
		a.found[block] = d
	}
}

// around returns the innermost list of statements that at lies in, nil where it lies in none.
func (a *attacher) around(at token.Pos) ast.Node {
	var inner ast.Node
	for _, b := range a.blocks {
		if b.Pos() < at && at < b.End() && (inner == nil || inner.Pos() < b.Pos()) {
			inner = b
		}
	}
	return inner
}

func statementsOf(block ast.Node) []ast.Stmt {
	switch b := block.(type) {
	case *ast.BlockStmt:
		return b.List
	case *ast.CaseClause:
		return b.Body
	}
	return nil
}
