package contract

import (
	"fmt"

	"github.com/gompss/gompss/codegen/ir"
	"github.com/gompss/gompss/codegen/ir/query"
)

// A positiveCheck is what a launch has to hold for the argument of a clause that OpenMP requires
// to be positive, on a directive that the launch surely comes to.
type positiveCheck struct {
	at     ir.Pos
	clause string
	arg    ir.Expr // as written
	value  int     // an atom
}

// A ClauseError means that the argument of a clause is not positive, as in num_teams(0). Nothing
// has been written.
//
// Source: OpenMP Application Programming Interface 5.2, sections 10.1.2 (num_threads), 10.2
// (num_teams, thread_limit), 11.5.3 (schedule) and 11.6.1 (dist_schedule).
type ClauseError struct {
	Kernel string
	Pos    ir.Pos // of the directive
	Clause string
	Arg    string // as written
	Value  int64
}

func (e *ClauseError) Error() string {
	return fmt.Sprintf("%v: %s: %s is %d, and must be positive", e.Pos, e.Clause, e.Arg, e.Value)
}

// addPositive adds the checks of the clauses of d, which may be nil.
func (b *Builder) addPositive(d *ir.Directive, values map[*ir.Var]ir.Expr) {
	if d == nil {
		return
	}
	for _, c := range []struct {
		name string
		arg  ir.Expr
	}{{"num_teams", d.NumTeams}, {"thread_limit", d.ThreadLimit}, {"num_threads", d.NumThreads}, {"schedule", d.Schedule.Chunk}, {"dist_schedule", d.DistSchedule.Chunk}} {
		if c.arg == nil {
			continue
		}
		e := ir.Subst(c.arg, values)
		if _, constant := query.Int64(e); !constant && b.known(e) {
			b.Out.positives = append(b.Out.positives, positiveCheck{at: d.At, clause: c.name, arg: c.arg, value: b.opaque(e)})
		}
	}
}

// of checks the value of the argument. Errors: *ClauseError.
func (c *positiveCheck) of(p *Proof) error {
	n := p.atoms[c.value]
	if !n.Ok || n.N > 0 {
		return nil
	}
	return &ClauseError{Kernel: p.k.Name, Pos: c.at, Clause: c.clause, Arg: query.Source(c.arg), Value: n.N}
}
