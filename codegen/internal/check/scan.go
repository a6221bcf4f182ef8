package check

import (
	"github.com/gompss/gompss/codegen/internal/analysis"
	"github.com/gompss/gompss/codegen/ir"
	"github.com/gompss/gompss/codegen/ir/query"
)

// scanPlace reports a scan that would require synchronisation between the teams of a league.
func scanPlace(c *Check, d *ir.Directive, ctx context) {
	if d.Scan == nil || d.Parts&ir.Loop == 0 || d.Parts&(ir.Teams|ir.Parallel) != 0 || d.Bind == ir.BindParallel || d.Bind == ir.BindThread {
		return
	}
	if ctx.teams && !ctx.distribute && !ctx.parallel && ctx.inner == "" {
		c.fail(d.Reductions[0].At, "clause reduction(inscan)", "the teams that share the loop cannot wait for one another inside teams"+ctx.origin(),
			"write //omp:teams loop, or bind(parallel)")
	}
}

// phases checks that the input phase only updates the scanned variables, and that the scan phase
// only reads them.
func (c *reductionCheck) phases(f *ir.For) {
	if _, _, ok := analysis.ScanPhases(f); !ok {
		return
	}
	c.stmts(analysis.InputPhase(f))
	which := "first"
	if !f.Directive.Scan.Exclusive {
		which = "second"
	}
	c.changes(analysis.ScanPhase(f), func(v *ir.Var, at ir.Pos) {
		c.fail(at, "reduction(inscan, "+c.Reduction.Op.String()+") of "+query.Source(c.Reduction.Place), v.Name+" is changed in the "+which+
			" phase of the scan at "+f.Directive.Scan.At.String()+", which reads it", "update it in the other phase alone, on the other side of //omp:scan")
	})
	if c.Index != nil {
		c.downwards(f)
	}
}

// changes calls f for each change of the variable, or of the index of a pair, in list.
func (c *reductionCheck) changes(list []ir.Stmt, f func(v *ir.Var, at ir.Pos)) {
	mine := func(e ir.Expr) *ir.Var {
		v := query.BaseVar(e)
		switch {
		case v == nil || v != c.Var && v != c.Index || c.Elsewhere(e):
			return nil
		case e.Type().Kind == ir.Slice || e.Type().Kind == ir.Pointer:
			return v
		case query.BaseVar(c.Reduction.Place) == v && !analysis.TouchesPlace(e, c.Reduction.Place) && (c.Reduction.Index == nil || !analysis.TouchesPlace(e, c.Reduction.Index)):
			return nil
		}
		return v
	}
	see := func(e ir.Expr, at ir.Pos) {
		if v := mine(e); v != nil {
			f(v, at)
		}
	}
	ir.WalkStmts(list, func(s ir.Stmt) bool {
		switch s := s.(type) {
		case *ir.Assign:
			see(s.Place, s.At)
		case *ir.Atomic:
			if s.Kind != ir.AtomicRead {
				see(s.Place, s.At)
			}
			if s.Old != nil {
				see(s.Old, s.At)
			}
		case *ir.Call:
			for _, v := range s.Results {
				if v != nil {
					see(&ir.Ref{Var: v, At: s.At}, s.At)
				}
			}
		}
		if d := ir.DirectiveOf(s); d != nil {
			for _, r := range d.Reductions {
				see(r.Place, r.At)
			}
		}
		for _, e := range query.DirectExprs(s) {
			ir.WalkExpr(e, func(x ir.Expr) bool {
				if a, ok := x.(*ir.AddrOf); ok {
					see(a.X, a.At)
				}
				return true
			})
		}
		return true
	})
}
