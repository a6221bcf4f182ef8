package clauses

import (
	"slices"

	"github.com/gompss/gompss/codegen/internal/diag"
	"github.com/gompss/gompss/codegen/internal/frontend/exprs"
	"github.com/gompss/gompss/codegen/internal/syntax"
	"github.com/gompss/gompss/codegen/ir"
	"github.com/gompss/gompss/codegen/ir/query"
)

// FailedScan stands for the scan of a loop whose clauses are wrong, which is reported.
var FailedScan = &ir.Scan{}

// ReadScan checks the variables of d against those of the loop's clause and completes that; ok is
// false where they do not agree.
func ReadScan(b *exprs.Builder, d *syntax.Directive, loop *ir.Directive) (ok bool) {
	clauses := d.Clauses()
	if len(clauses) == 0 {
		b.Fail(d.At, "directive scan", "it says neither inclusive nor exclusive", "write //omp:scan inclusive(s) where the second phase reads s with the update of its iteration, exclusive(s) where the first one reads it without")
		return false
	}
	c := clauses[0]
	r := &statementReader{ClauseReader: ClauseReader{b: b, scope: d.At}}
	what := "clause " + c.Name.Text
	named := make([]bool, len(loop.Reductions))
	ok = true
	for _, p := range c.Args.Split(',') {
		place := r.expr(what, p)
		if place == nil {
			ok = false
			continue
		}
		i := slices.IndexFunc(loop.Reductions, func(x ir.Reduction) bool {
			return query.Same(x.Place, place) || x.Index != nil && query.Same(x.Index, place)
		})
		if i < 0 {
			r.fail(p, what, p.Text+" stands in no reduction(inscan, ...) of the loop", "name it in one")
			ok = false
			continue
		}
		named[i] = true
	}
	if i := slices.Index(named, false); i >= 0 && ok {
		r.fail(c.Args, what, query.Source(loop.Reductions[i].Place)+" of the reduction at "+loop.Reductions[i].At.String()+" is missing", "name it, too")
		ok = false
	}
	loop.Scan = &ir.Scan{Exclusive: c.Name.Text == "exclusive", At: b.Pos(d.At)}
	return ok
}

// modifier takes the modifier off the arguments of a reduction clause.
func (r *statementReader) modifier(args syntax.Piece) (rest syntax.Piece, inscan bool) {
	word, rest, found := args.Cut(',')
	if !found || word.Text != "inscan" {
		return args, false
	}
	return rest, true
}

// scans checks the clauses of a loop that scans, after all of them are read.
func (r *statementReader) scans(d *syntax.Directive) {
	if r.out.Scan == nil {
		return
	}
	fail := func(at ir.Pos, why, instead string) {
		r.b.Report(diag.Diagnostic{Pos: at, Severity: diag.Error, What: "clause reduction(inscan)", Why: why, Instead: instead})
		r.out.Scan, r.out.Reductions = FailedScan, nil
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
	for _, c := range d.Clauses() {
		switch c.Name.Text {
		case "collapse", "schedule", "dist_schedule", "lastprivate", "nested", "dist_private", "dist_firstprivate", "dist_lastprivate", "dist_firstlastprivate":
			fail(r.b.Pos(c.Name.At), "it does not combine with "+c.Name.Text, "leave one of the two out")
			return
		}
	}
	p := r.out.Parts
	switch {
	case len(r.out.Reductions) == 0:
		r.out.Scan = FailedScan // reported where it was read
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
