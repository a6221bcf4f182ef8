package lower

import (
	"fmt"

	"github.com/gompss/gompss/codegen/internal/lower/crews"
	"github.com/gompss/gompss/codegen/internal/lower/strategy"
	"github.com/gompss/gompss/codegen/ir"
)

// A Choice departs from what the cost model chooses.
type Choice = crews.Choice

// A Candidate is one way to lower a kernel.
type Candidate struct {
	Choice Choice
	*Result
}

// Candidates returns up to most ways to lower k, of different code, that all leave the same bits:
// what the model chooses first, then that with one of its strategies left out or with another
// parameter, and so on from there. There is one alone where another might leave other bits
// (OrderShows).
//
// Cost: a lowering for each, and for those of the same code. Errors: those of Lower.
func Candidates(k *ir.Kernel, opt Options, most int) ([]Candidate, error) {
	first, err := Lower(k, opt)
	if err != nil {
		return nil, err
	}
	out := []Candidate{{opt.Choice, first}}
	if OrderShows(k) != "" {
		return out, nil
	}
	seen := map[string]bool{first.Program.String(): true}
	for i := 0; i < len(out) && len(out) < most; i++ {
		for _, c := range neighbours(out[i]) {
			o := opt
			o.Choice = c
			next, err := Lower(k, o)
			if err != nil {
				return nil, fmt.Errorf("with %v: %w", c, err)
			}
			if text := next.Program.String(); !seen[text] && len(out) < most {
				seen[text] = true
				out = append(out, Candidate{c, next})
			}
		}
	}
	return out, nil
}

// A Variant is a candidate as a device takes it: in both forms that a kernel has. Unchecked is nil
// where there is no form without the checks that the host makes.
type Variant struct {
	Choice             Choice
	Program, Unchecked *ir.Program
}

// Variants returns the candidates of k beside the first one, for most of them in all. unchecked is
// k without the checks that the host makes, nil where there is none; where there is, it is what
// runs, and its strategies are those to choose from.
func Variants(k, unchecked *ir.Kernel, opt Options, most int) (out []Variant, err error) {
	runs := k
	if unchecked != nil {
		runs = unchecked
	}
	list, err := Candidates(runs, opt, most)
	if err != nil {
		return nil, err
	}
	for _, c := range list[1:] {
		v := Variant{Choice: c.Choice, Program: c.Program}
		if unchecked != nil {
			o := opt
			o.Choice = c.Choice
			checked, err := Lower(k, o)
			if err != nil {
				return nil, fmt.Errorf("with %v: %w", c.Choice, err)
			}
			v.Program, v.Unchecked = checked.Program, c.Program
		}
		out = append(out, v)
	}
	return out, nil
}

// neighbours are the choices that leave out one more strategy of those that c applies, and those
// that give one that has the model's parameter another.
func neighbours(c Candidate) (out []Choice) {
	for _, s := range c.Strategies {
		out = append(out, c.Choice.With(s, crews.Off))
	}
	for _, s := range c.Strategies {
		for n := 1; n <= strategy.Parameters[s] && c.Choice.Parameter(s) == 0; n++ {
			out = append(out, c.Choice.With(s, n))
		}
	}
	return out
}

// OrderShows returns why the number of threads, or the order of operations, shows in what k leaves;
// "" where it does not: then only one way to run it is right to choose.
//
// Floats that are added up by a reduction clause come out differently where their order does.
// fastmath permits that. Threads can ask for their number, and a region that all of them run may
// count them.
func OrderShows(k *ir.Kernel) string {
	why := ""
	regions, counts := false, false
	note := func(at ir.Pos, format string, args ...any) {
		if why == "" {
			why = at.String() + ": " + fmt.Sprintf(format, args...)
		}
	}
	look := func(d *ir.Directive) {
		if d == nil {
			return
		}
		for _, r := range d.Reductions {
			if ordered(r) && !k.Target.FastMath {
				note(r.At, "the order of a sum of floats would differ (fastmath permits that)")
			}
		}
	}
	each := func(list []ir.Stmt) {
		ir.Inspect(list, func(s ir.Stmt) {
			look(ir.DirectiveOf(s))
			switch s := s.(type) {
			case *ir.Construct:
				regions = regions || s.Directive.Parts&(ir.Teams|ir.Parallel) != 0
				counts = counts || len(s.Directive.Reductions) > 0
			case *ir.Atomic:
				counts = true
			}
		}, func(e ir.Expr) {
			if q, ok := e.(*ir.Query); ok {
				note(q.At, "it asks for the number of a thread or team")
			}
		})
	}
	each(k.Body)
	for _, f := range k.Funcs {
		each(f.Body)
	}
	if regions && counts {
		note(k.At, "what all threads of a region run may count them")
	}
	return why
}

// ordered reports whether the order of its operations shows in a reduction.
func ordered(r ir.Reduction) bool {
	t := r.Place.Type()
	for t.Kind == ir.Array {
		t = t.Elem
	}
	return t.IsFloat() && (r.Op == ir.Add || r.Op == ir.Sub || r.Op == ir.Mul)
}
