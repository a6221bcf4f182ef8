package lower

import (
	"fmt"
	"maps"

	"github.com/gompss/gompss/codegen/internal/lower/crews"
	"github.com/gompss/gompss/codegen/internal/lower/strategy"
	"github.com/gompss/gompss/codegen/ir"
	"github.com/gompss/gompss/codegen/ir/specialise"
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
// ([Result.OrderShows]).
//
// Cost: a lowering for each, and for those of the same code. Errors: those of Lower.
func Candidates(k *ir.Kernel, opt Options, most int) ([]Candidate, error) {
	first, err := Lower(k, opt)
	if err != nil {
		return nil, err
	}
	out := []Candidate{{opt.Choice, first}}
	if first.OrderShows() != "" {
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
			if text := next.Program.String(); next.open == nil && !seen[text] && len(out) < most {
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
			if checked.open != nil {
				continue
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

// OrderShows returns why the number of threads, or the order of operations, shows in the results
// of the kernel; "" if neither does: then other ways to lower it leave the same bits.
//
// Floats that a reduction clause combines come out differently if their order does. The order is
// fixed if it is that of package order; fastmath permits any. Threads can ask for their number, and
// a region that all of them run may count them.
func (r *Result) OrderShows() string { return r.orderShows(r.open) }

// orderShows is OrderShows where open is a reduction without a fixed order, nil for none.
func (r *Result) orderShows(open *ir.Pos) string {
	why := ""
	regions, counts := false, false
	note := func(at ir.Pos, format string, args ...any) {
		if why == "" {
			why = at.String() + ": " + fmt.Sprintf(format, args...)
		}
	}
	if open != nil {
		note(*open, "the order of a sum of floats would differ (fastmath permits that)")
	}
	each := func(list []ir.Stmt) {
		ir.Inspect(list, func(s ir.Stmt) {
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
	each(r.Kernel.Body)
	for _, f := range r.Kernel.Funcs {
		each(f.Body)
	}
	if regions && counts {
		note(r.Kernel.At, "what all threads of a region run may count them")
	}
	return why
}

// sumOrders tells, by the position of a reduction that rounds, whether each loop that combines its
// values does so in the order of package order.
type sumOrders map[ir.Pos]bool

func (o sumOrders) note(r *reductions) {
	for _, it := range r.items {
		if before, found := o[it.At]; ordered(it.Reduction) {
			o[it.At] = r.blocks != nil && (before || !found)
		}
	}
}

// with returns o and the loops of another launch.
func (o sumOrders) with(other sumOrders) sumOrders {
	out := maps.Clone(o)
	for at, fixed := range other {
		before, found := o[at]
		out[at] = fixed && (before || !found)
	}
	return out
}

// open returns the position of a reduction of k that rounds in an order other than that of package
// order, or may do so in another form of k; nil if there is none or k is compiled with fastmath.
// The strategies for nested loops have orders of their own: they count where within says so.
func (o sumOrders) open(k *ir.Kernel, within bool) (at *ir.Pos) {
	var look func(list []ir.Stmt, nested bool)
	look = func(list []ir.Stmt, nested bool) {
		for _, s := range list {
			inside := nested
			if d := ir.DirectiveOf(s); d != nil {
				for _, r := range d.Reductions {
					if at == nil && ordered(r) && (nested && within || !nested && !o[r.At]) {
						at = &r.At
					}
				}
				inside = inside || d.Parts&(ir.Loop|ir.Workshare) != 0
			}
			ir.Lists(s, func(inner []ir.Stmt) { look(inner, inside) })
		}
	}
	if k.Target.FastMath {
		return nil
	}
	look(k.Body, false)
	for _, f := range k.Funcs {
		look(f.Body, true)
	}
	return at
}

// Sizes returns the parameters of the kernel whose values LowerSized may know (specialise.Sizes):
// none if the order of a sum shows and may depend on such knowledge.
func (r *Result) Sizes() []int {
	if r.open != nil {
		return nil
	}
	return specialise.Sizes(r.Kernel)
}

// LowerSized makes device IR of k for launches in which the given parameters, of those of
// [Result.Sizes], have the given values. It leaves the same bits as that of Lower. Errors: those of
// Lower, and that a sum would have another order.
func LowerSized(k *ir.Kernel, values map[int]ir.Bits, opt Options) (*Result, error) {
	out, err := Lower(specialise.WithSizes(k, values), opt)
	if err == nil && out.open != nil {
		return nil, fmt.Errorf("%v: with the sizes known, this sum would have another order", *out.open)
	}
	return out, err
}

// ordered reports whether the order of its operations shows in a reduction.
func ordered(r ir.Reduction) bool {
	t := r.Place.Type()
	for t.Kind == ir.Array {
		t = t.Elem
	}
	return t.IsFloat() && (r.Op == ir.Add || r.Op == ir.Sub || r.Op == ir.Mul)
}
