package lower

import (
	"github.com/gompss/gompss/codegen/internal/analysis"
	"github.com/gompss/gompss/codegen/internal/lower/forms"
	"github.com/gompss/gompss/codegen/ir"
	"github.com/gompss/gompss/codegen/ir/build"
)

// hoistClauses computes what the clauses of a construct of the whole league read from memory before
// its launch, in one of its own: the teams begin at different times, and the first may write what a
// later one would read. A num_teams and a thread_limit that the host cannot evaluate come from
// there too.
func (sp *segmenter) hoistClauses(s ir.Stmt) ir.Stmt {
	d := ir.DirectiveOf(s)
	if d == nil || d.Parts&ir.Teams == 0 {
		return s
	}
	h := &hoister{segmenter: sp, writes: sp.written(s), changed: ir.Assigned([]ir.Stmt{s})}
	own := *d
	h.all(&own)
	limit := h.limit(&own.ThreadLimit)
	c := (&ir.Rewrite{}).CopyStmt(s)[0]
	setDirective(c, &own)
	if b, ok := c.(*ir.Construct); ok && len(b.Body) > 0 {
		if f, ok := b.Body[0].(*ir.For); ok && f.Directive != nil && f.Directive.Parts&ir.Distribute != 0 {
			h.all(f.Directive) // nothing comes before it, so it can be computed before the teams begin
		}
	}
	if limit != nil {
		limitParallel([]ir.Stmt{c}, limit)
	}
	return c
}

type hoister struct {
	*segmenter
	writes  analysis.Memory
	changed *ir.VarSet
}

// written is what s writes of the memory that all teams see.
func (sp *segmenter) written(s ir.Stmt) analysis.Memory {
	e := &analysis.Effects{Shared: func(*ir.Var) bool { return false }}
	return e.Stmts([]ir.Stmt{s}).Writes
}

// all hoists the clauses of d that have to be.
func (h *hoister) all(d *ir.Directive) {
	h.limit(&d.NumTeams)
	for _, e := range []*ir.Expr{&d.NumThreads, &d.If, &d.Schedule.Chunk, &d.DistSchedule.Chunk} {
		switch {
		case *e == nil || !h.races(*e):
		case h.known.of(onceExprs(*e)) != nil: // over the parameters, whose names no reduction takes away
			*e = h.known.of(onceExprs(*e))
		default:
			*e = h.before(*e)
		}
	}
}

// races reports whether the construct may change what e reads.
func (h *hoister) races(e ir.Expr) bool {
	var t analysis.Touch
	(&analysis.Effects{}).Exprs(&t, e)
	for _, v := range ir.ExprVars(e).List() {
		if h.changed.Has(v) || h.taken.Has(v) {
			return true
		}
	}
	return t.Reads.Overlaps(h.writes)
}

// limit hoists a bound of the launch that the host cannot evaluate, and returns what it has become.
func (h *hoister) limit(e *ir.Expr) ir.Expr {
	if *e == nil {
		return nil
	}
	if host := (&segment{known: h.known}).onHost(*e); host != nil {
		*e = host
		return nil
	}
	if known := h.known.of(onceExprs(*e)); known != nil {
		*e = known // of an element of an array that goes by value: each team computes it
		return *e
	}
	*e = h.before(*e)
	return *e
}

// before computes e in front of the construct and returns the variable that holds it.
func (h *hoister) before(e ir.Expr) ir.Expr {
	at := e.Pos()
	v := h.l.Local("clause", e.Type(), at)
	h.sequential(build.Decl(v, e, at))
	h.l.Decide(at, "clause "+ir.ExprString(e), "evaluated once, before the launch", "the teams do not begin together", "")
	return build.Ref(v, at)
}

func setDirective(s ir.Stmt, d *ir.Directive) {
	switch s := s.(type) {
	case *ir.For:
		s.Directive = d
	case *ir.Construct:
		s.Directive = d
	}
}

// limitParallel bounds the threads of all parallel constructs in list that are in no other.
func limitParallel(list []ir.Stmt, limit ir.Expr) {
	ir.WalkStmts(list, func(s ir.Stmt) bool {
		d := ir.DirectiveOf(s)
		if d == nil || d.Parts&ir.Parallel == 0 {
			return true
		}
		if d.NumThreads == nil {
			d.NumThreads = limit
		} else {
			d.NumThreads = &ir.Math{Fn: ir.IMin, Args: []ir.Expr{build.ToInt(d.NumThreads), build.ToInt(limit)}, T: ir.IntType, At: limit.Pos()}
		}
		return false
	})
}

// limitedTeams makes the thread_limit of leagues in s, which one team runs, bounds of their
// parallel constructs.
func limitedTeams(s ir.Stmt) ir.Stmt {
	return (&ir.Rewrite{Stmt: func(s ir.Stmt) []ir.Stmt {
		if d := ir.DirectiveOf(s); d != nil && d.Parts&ir.Teams != 0 && d.ThreadLimit != nil {
			limitParallel([]ir.Stmt{s}, d.ThreadLimit)
		}
		return []ir.Stmt{s}
	}}).CopyStmt(s)[0]
}

// limitTeams ends the teams that num_teams allows no more, where the host does not know their
// number: the others take the league to be that large.
func limitTeams(l *lowering) {
	for _, g := range l.program.Launches {
		limit := l.fewTeams[g]
		if limit == nil {
			continue
		}
		v, at := l.Local("teams", ir.IntType, g.At), g.At
		all := build.Query(ir.NumTeams, at)
		body := (&ir.Rewrite{Expr: func(e ir.Expr) ir.Expr {
			if q, ok := e.(*ir.Query); ok && q.What == ir.NumTeams {
				return build.Ref(v, q.At)
			}
			return e
		}}).CopyStmts(g.Body)
		g.Body = append([]ir.Stmt{build.Decl(v, forms.AtMost(all, limit, at), at),
			&ir.If{Cond: build.Compare(ir.Ge, build.Query(ir.TeamNum, at), build.Ref(v, at), at), Then: []ir.Stmt{&ir.Return{At: at}}, At: at}}, body...)
	}
}
