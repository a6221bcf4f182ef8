package frontend

import (
	"go/ast"
	"go/token"
	"slices"

	"github.com/gompss/gompss/codegen/internal/diag"
	"github.com/gompss/gompss/codegen/ir"
	"github.com/gompss/gompss/codegen/ir/query"
)

// A scan directive governs no statement: it stands between two of the body of a loop and cuts that
// in two phases.

const scanPlace = "put it between two statements of the body of the loop itself, on a line of its own"

// scan hangs d on the body of the loop that it cuts.
func (a *attacher) scan(d *directive) {
	if errs := d.combination(); len(errs) > 0 {
		a.fail(errs...)
		return
	}
	block := a.around(d.at)
	list := statementsOf(block)
	d.before = len(list)
	if next := slices.IndexFunc(list, func(s ast.Stmt) bool { return s.End() > d.at }); next >= 0 {
		d.before = next
	}
	switch {
	case block == nil || !a.bodies[block]:
		a.fail(lineError{d.at, "directive scan", "it does not stand in the body of a loop itself", scanPlace})
	case d.before < len(list) && list[d.before].Pos() < d.at:
		a.fail(lineError{d.at, "directive scan", "it stands inside a statement", scanPlace})
	case a.found[block] != nil:
		a.fail(lineError{d.at, "directive scan", "the body of this loop has one already", "name all variables in the first"})
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

// failedScan stands for the scan of a loop whose clauses are wrong, which is reported.
var failedScan = &ir.Scan{}

// phases builds the body of a loop: where a scan directive cuts it, the second phase is a block at
// its end.
func (b *builder) phases(s *ast.BlockStmt, l *ir.Label, g governance) []ir.Stmt {
	d := b.u.p.directives[s]
	inscan := g.directive != nil && g.directive.Scan != nil
	if inscan && g.directive.Scan == failedScan {
		g.directive.Scan = nil
		return b.body(s)
	}
	switch {
	case d == nil && !inscan:
		return b.body(s)
	case d == nil:
		b.u.report(diag.Diagnostic{Pos: g.directive.Reductions[0].At, Severity: diag.Error, What: "clause reduction(inscan)",
			Why: "no //omp:scan cuts the body of the loop", Instead: "write //omp:scan inclusive(...) or exclusive(...) between what updates the variables and what reads them"})
		g.directive.Scan, g.directive.Reductions = nil, nil // the phases are not known
		return b.body(s)
	case !inscan:
		why, instead := "the loop around it has no reduction(inscan, op: ...)", "write one on the directive of the loop"
		if g.text != "" && g.directive == nil {
			why, instead = "the loop around it is collapsed into another one", "collapse fewer loops"
		}
		b.fail(d.at, "directive scan", why, instead)
		return b.body(s)
	}
	before := b.list(s.List[:d.before])
	ir.WalkStmts(before, func(s ir.Stmt) bool {
		if c, ok := s.(*ir.Continue); ok && c.Label == l {
			b.u.report(diag.Diagnostic{Pos: c.At, Severity: diag.Error, What: "continue", Why: "it leaves out the second phase of the scan at " + b.pos(d.at).String(),
				Instead: "put what it leaves out under an if, in each of the two phases"})
		}
		return true
	})
	after := b.list(s.List[d.before:])
	if !b.scanClause(d, g.directive) {
		g.directive.Scan, g.directive.Reductions = nil, nil
		return append(before, after...)
	}
	return append(before, &ir.Block{Body: after, At: g.directive.Scan.At})
}

// scanClause checks the variables of d against those of the loop's clause and completes that; ok is
// false where they do not agree.
func (b *builder) scanClause(d *directive, loop *ir.Directive) (ok bool) {
	clauses := d.clauses()
	if len(clauses) == 0 {
		b.fail(d.at, "directive scan", "it says neither inclusive nor exclusive", "write //omp:scan inclusive(s) where the second phase reads s with the update of its iteration, exclusive(s) where the first one reads it without")
		return false
	}
	c := clauses[0]
	r := &statementReader{clauseReader: clauseReader{b: b, scope: d.at}}
	what := "clause " + c.name.text
	named := make([]bool, len(loop.Reductions))
	ok = true
	for _, p := range c.args.split(',') {
		place := r.expr(what, p)
		if place == nil {
			ok = false
			continue
		}
		i := slices.IndexFunc(loop.Reductions, func(x ir.Reduction) bool {
			return query.Same(x.Place, place) || x.Index != nil && query.Same(x.Index, place)
		})
		if i < 0 {
			r.fail(p, what, p.text+" stands in no reduction(inscan, ...) of the loop", "name it in one")
			ok = false
			continue
		}
		named[i] = true
	}
	if i := slices.Index(named, false); i >= 0 && ok {
		r.fail(c.args, what, query.Source(loop.Reductions[i].Place)+" of the reduction at "+loop.Reductions[i].At.String()+" is missing", "name it, too")
		ok = false
	}
	loop.Scan = &ir.Scan{Exclusive: c.name.text == "exclusive", At: b.pos(d.at)}
	return ok
}

// modifier takes the modifier off the arguments of a reduction clause.
func (r *statementReader) modifier(args piece) (rest piece, inscan bool) {
	word, rest, found := args.cut(',')
	if !found || word.text != "inscan" {
		return args, false
	}
	return rest, true
}

// scans checks the clauses of a loop that scans, after all of them are read.
func (r *statementReader) scans(d *directive) {
	if r.out.Scan == nil {
		return
	}
	fail := func(at ir.Pos, why, instead string) {
		r.b.u.report(diag.Diagnostic{Pos: at, Severity: diag.Error, What: "clause reduction(inscan)", Why: why, Instead: instead})
		r.out.Scan, r.out.Reductions = failedScan, nil
	}
	at := r.out.At
	if len(r.out.Reductions) > 0 {
		at = r.out.Reductions[0].At
	}
	for _, x := range r.out.Reductions {
		if !x.Place.Type().IsScalar() {
			fail(x.At, "a scan is of scalars, and "+query.Source(x.Place)+" is "+x.Place.Type().String(), "scan a scalar variable")
			return
		}
	}
	for _, c := range d.clauses() {
		switch c.name.text {
		case "collapse", "schedule", "dist_schedule", "lastprivate", "nested", "dist_private", "dist_firstprivate", "dist_lastprivate", "dist_firstlastprivate":
			fail(r.b.pos(c.name.at), "it does not combine with "+c.name.text, "leave one of the two out")
			return
		}
	}
	p := r.out.Parts
	switch {
	case len(r.out.Reductions) == 0:
		r.out.Scan = failedScan // reported where it was read
	case r.plain > 0:
		fail(at, "a clause reduction without inscan stands beside it", "write inscan in both, or reduce in another loop")
	case p&(ir.Workshare|ir.Simd|ir.Loop) == 0:
		fail(at, "directive "+p.String()+" gives no thread an iteration of its own", "put it on teams distribute parallel for, for, simd or loop")
	case p&ir.Distribute != 0 && p&ir.Teams == 0:
		fail(at, "the teams that share the loop cannot wait for one another inside teams", "write //omp:teams distribute parallel for")
	case p&ir.Distribute != 0 && p&ir.Parallel == 0:
		fail(at, "each team would run a part of the loop by one thread", "write //omp:teams distribute parallel for")
	}
}
