package contract

import (
	"fmt"
	"maps"
	"math"
	"math/bits"

	"github.com/gompss/gompss/codegen/internal/integers"
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
			b.addPositive(s.Directive, values)
			if !b.addSteps(s.Body, values) {
				return false
			}
		case *ir.Block:
			if !b.addSteps(s.Body, values) {
				return false
			}
		case *ir.For:
			b.addStep(s, values)
			b.addSpan(s, values)
			b.addPositive(s.Directive, values)
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
		*part.to = b.opaque(ir.ToInt(e))
	}
	b.Out.steps = append(b.Out.steps, c)
}

// stepOf checks the step of a loop that makes an iteration. Errors: *StepError, *CounterError.
func (p *Proof) stepOf(c *stepCheck) error {
	lo, hi, step, f := p.atoms[c.lo], p.atoms[c.hi], p.atoms[c.step], c.loop
	if !lo.Ok || !hi.Ok || !step.Ok {
		return nil
	}
	unsigned := f.Var.Type.Kind == ir.Uint64
	before := func(x, y int64) bool { return unsigned && uint64(x) < uint64(y) || !unsigned && x < y }
	runs, wrong := false, step.N <= 0
	switch f.Rel {
	case ir.Lt:
		runs = before(lo.N, hi.N)
	case ir.Le:
		runs = !before(hi.N, lo.N)
	case ir.Gt:
		runs, wrong = before(hi.N, lo.N), step.N >= 0
	case ir.Ge:
		runs, wrong = !before(lo.N, hi.N), step.N >= 0
	}
	switch {
	case !runs:
		return nil
	case wrong && (!unsigned || step.N == 0):
		return &StepError{Kernel: p.k.Name, Pos: f.At, Var: f.Var.Name, Step: query.Source(f.Step), Value: step.N}
	case !ir.IsWide(f.Var.Type) || integers.Magnitude(step.N) <= longStep && !wrong:
		return nil
	}
	for _, x := range []int64{lo.N, hi.N, step.N} {
		if x >= farNumber || x < -farNumber || x < 0 && unsigned {
			return &CounterError{Kernel: p.k.Name, Pos: f.At, Var: f.Var.Name, Type: f.Var.Type.String(), Step: query.Source(f.Step)}
		}
	}
	return nil
}

// longStep is the largest step of a variable with which a loop would run for years before its
// counter of 64 bits passes an end of the type. Between numbers below farNumber, with steps below
// it, no counter does.
const (
	longStep  = 1 << 24
	farNumber = 1 << 62
)

// A CounterError means that a parallel loop whose step is no constant has bounds and a step with
// which its counter may pass an end of its type. Nothing has been written. It is ir.ErrStep for
// errors.Is.
type CounterError struct {
	Kernel string
	Pos    ir.Pos // of the loop
	Var    string // of the loop
	Type   string // of the counter
	Step   string // as written
}

func (e *CounterError) Error() string {
	return fmt.Sprintf("%v: the loop over %s has a bound or step of 2^62 or more: its counter may pass an end of %s, as its step (%s) is no constant", e.Pos, e.Var, e.Type, e.Step)
}

// Unwrap returns ir.ErrStep.
func (e *CounterError) Unwrap() error { return ir.ErrStep }

// A spanCheck is what a launch has to hold for the loops of one iteration space, which it surely
// comes to: that their iterations can be counted.
type spanCheck struct{ loops []spanLoop }

type spanLoop struct {
	loop   *ir.For
	lo, hi int // atoms
	step   uint64
}

// A TripsError means that a parallel loop, or several that make one iteration space, have more
// iterations than are counted. Nothing has been written. It is ir.ErrBounds for errors.Is: no slice
// has so many elements.
type TripsError struct {
	Kernel string
	Pos    ir.Pos // of the outermost loop
	Var    string // of that loop
	Loops  int    // of the iteration space
}

func (e *TripsError) Error() string {
	what := "the loop over " + e.Var + " has"
	if e.Loops > 1 {
		what = fmt.Sprintf("the %d loops from that over %s on have together", e.Loops, e.Var)
	}
	return fmt.Sprintf("%v: %s more than %d iterations: no slice has so many elements", e.Pos, what, int64(ir.MostTrips))
}

// Unwrap returns ir.ErrBounds.
func (e *TripsError) Unwrap() error { return ir.ErrBounds }

// addSpan adds the check of the iteration space that begins with f, where its ends are known.
func (b *Builder) addSpan(f *ir.For, values map[*ir.Var]ir.Expr) {
	if f.Directive == nil {
		return
	}
	n := max(f.Directive.Collapse, 1)
	if n == 1 && !spansFar(f) {
		return
	}
	c, values := spanCheck{}, maps.Clone(values)
	for f != nil && len(c.loops) < n {
		step, constant := query.Int64(f.Step)
		lo, hi := ir.Subst(f.Lo, values), ir.Subst(f.Hi, values)
		if !constant || f.Rel == ir.Ne || !b.known(lo) || !b.known(hi) {
			return
		}
		if step < 0 {
			step = -step
		}
		c.loops = append(c.loops, spanLoop{f, b.opaque(ir.ToInt(lo)), b.opaque(ir.ToInt(hi)), uint64(step)})
		decls, inner := query.Perfect(f.Body)
		for _, s := range decls {
			d := s.(*ir.Decl)
			values[d.Var] = ir.Subst(d.Init, values)
		}
		f = inner
	}
	b.Out.spans = append(b.Out.spans, c)
}

// spansFar reports whether f may have more than ir.MostTrips iterations, by the types of its
// bounds.
func spansFar(f *ir.For) bool {
	from := f.Lo
	if f.Rel == ir.Gt || f.Rel == ir.Ge {
		from = f.Hi
	}
	if c, ok := query.Int64(from); !ir.IsWide(f.Var.Type) || ok && c >= 0 && f.Var.Type.IsSigned() {
		return false
	}
	return !isShort(f.Lo) || !isShort(f.Hi)
}

// isShort reports whether e is a number far from the ends of 64 bits.
func isShort(e ir.Expr) bool {
	switch e := e.(type) {
	case *ir.Const:
		return int64(e.Bits) == int64(int32(e.Bits))
	case *ir.Convert:
		return e.X.Type().IsInteger() && e.X.Type().Size < 8
	case *ir.Len:
		return true
	}
	return false
}

// of checks the number of iterations of a space. Errors: *TripsError.
func (c *spanCheck) of(p *Proof) error {
	total := uint64(1)
	for i := range c.loops {
		l := &c.loops[i]
		lo, hi := p.atoms[l.lo], p.atoms[l.hi]
		if !lo.Ok || !hi.Ok {
			return nil
		}
		high, low := bits.Mul64(total, min(l.trips(lo.N, hi.N), ir.MostTrips+1))
		if total = low; high > 0 {
			total = math.MaxUint64
		}
	}
	if total <= ir.MostTrips {
		return nil
	}
	f := c.loops[0].loop
	return &TripsError{Kernel: p.k.Name, Pos: f.At, Var: f.Var.Name, Loops: len(c.loops)}
}

// trips counts the iterations of l from lo to hi, both as ints.
func (l *spanLoop) trips(lo, hi int64) uint64 {
	inclusive := l.loop.Rel == ir.Le || l.loop.Rel == ir.Ge
	if l.loop.Rel == ir.Gt || l.loop.Rel == ir.Ge {
		lo, hi = hi, lo
	}
	runs := lo < hi
	if l.loop.Var.Type.Kind == ir.Uint64 {
		runs = uint64(lo) < uint64(hi)
	}
	more := uint64(hi) - uint64(lo) // iterations behind the first, times the step
	switch {
	case !runs && !(inclusive && lo == hi):
		return 0
	case !inclusive:
		more--
	}
	return min(more/l.step, math.MaxUint64-1) + 1
}
