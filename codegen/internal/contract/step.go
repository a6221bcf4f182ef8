package contract

import (
	"fmt"

	"github.com/gompss/gompss/codegen/ir"
	"github.com/gompss/gompss/codegen/ir/query"
)

// A stepCheck is what a launch has to hold for a parallel loop that it surely comes to: its step
// leads to its end. The numbers are of atoms.
type stepCheck struct {
	loop         *ir.For
	lo, hi, step int
}

// A StepError means that a parallel loop would never end, for its step is zero or leads away from
// its end. Nothing has been written. It is ir.ErrStep for errors.Is.
type StepError struct {
	Kernel string
	Pos    ir.Pos // of the loop
	Var    string // of the loop
	Step   string // as written
	Value  int64
}

func (e *StepError) Error() string {
	return fmt.Sprintf("%v: the loop over %s never ends: its step %s is %d", e.Pos, e.Var, e.Step, e.Value)
}

// Unwrap returns ir.ErrStep.
func (e *StepError) Unwrap() error { return ir.ErrStep }

// addSteps adds the checks of the parallel loops in list, which a launch comes to in any case, and
// reports whether it comes to the end of list. values has those of variables that never change.
func (b *Builder) addSteps(list []ir.Stmt, values map[*ir.Var]ir.Expr) bool {
	for _, s := range list {
		switch s := s.(type) {
		case *ir.Decl:
			if s.Init != nil && !b.changed.Has(s.Var) {
				values[s.Var] = ir.Subst(s.Init, values)
			}
		case *ir.Construct:
			if !b.addSteps(s.Body, values) {
				return false
			}
		case *ir.Block:
			if !b.addSteps(s.Body, values) {
				return false
			}
		case *ir.For:
			b.addStep(s, values)
		case *ir.Assign, *ir.Atomic, *ir.Barrier:
		default:
			return false
		}
	}
	return true
}

func (b *Builder) addStep(f *ir.For, values map[*ir.Var]ir.Expr) {
	if _, constant := query.Int64(f.Step); constant || f.Directive == nil || f.Rel == ir.Ne {
		return
	}
	c := stepCheck{loop: f}
	for _, part := range []struct {
		e  ir.Expr
		to *int
	}{{f.Lo, &c.lo}, {f.Hi, &c.hi}, {f.Step, &c.step}} {
		e := ir.Subst(part.e, values)
		if !b.known(e) {
			return
		}
		*part.to = b.opaque(e)
	}
	b.Out.steps = append(b.Out.steps, c)
}

// stepOf checks the step of a loop that makes an iteration. Errors: *StepError.
func (p *Proof) stepOf(c *stepCheck) error {
	lo, hi, step := p.atoms[c.lo], p.atoms[c.hi], p.atoms[c.step]
	if !lo.Ok || !hi.Ok || !step.Ok {
		return nil
	}
	runs, wrong := false, step.N <= 0
	switch c.loop.Rel {
	case ir.Lt:
		runs = lo.N < hi.N
	case ir.Le:
		runs = lo.N <= hi.N
	case ir.Gt:
		runs, wrong = lo.N > hi.N, step.N >= 0
	case ir.Ge:
		runs, wrong = lo.N >= hi.N, step.N >= 0
	}
	if !runs || !wrong {
		return nil
	}
	return &StepError{Kernel: p.k.Name, Pos: c.loop.At, Var: c.loop.Var.Name, Step: query.Source(c.loop.Step), Value: step.N}
}
