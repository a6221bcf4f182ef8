package check

import (
	"fmt"
	"slices"

	"github.com/gompss/gompss/codegen/internal/analysis"
	"github.com/gompss/gompss/codegen/internal/analysis/affine"
	"github.com/gompss/gompss/codegen/internal/diag"
	"github.com/gompss/gompss/codegen/ir"
	"github.com/gompss/gompss/codegen/ir/query"
)

// This file finds iterations that write what others touch at an index that is not affine, as
// x[min(i+1, n-1)] and j after if j == n { j = 0 } are. It evaluates the indices in the first
// iterations, with several values of the parameters.

// Bounds of the work: maxBordered and maxBorderedInside are the numbers of iterations of each loop
// that are evaluated.
const (
	maxBordered       = 16
	maxBorderedInside = 6
	maxBorderedPairs  = 1024 // of touches in one loop
)

// bordered warns of pairs of a write and another touch in the body of l that meet.
func bordered(c *Check, k *ir.Kernel, l *ir.For, plain []analysis.Reach, inside *ir.VarSet, team *ir.Directive) {
	if d := l.Directive; d.Parts == ir.Simd && d.Safelen > 0 || !mayMeetAtBorders(plain) {
		return
	}
	all := analysis.NewCollector(k)
	all.Sites = analysis.NewSiteFinder()
	all.Stmts(k.Body)
	if all.Sites.TooMany() {
		return
	}
	nest := analysis.NestOf(l)
	var list []analysis.Reach
	for _, r := range all.Out {
		in := slices.ContainsFunc(r.Loops, func(x analysis.LoopRange) bool { return x.For == l })
		if in && r.Index.Known() && len(r.Inside) == 0 && !inside.Has(r.Base) && !r.Guarded(nest) && !r.CopiedIn(l) && !r.CopiedBy(team) && !query.HasBadValue(r.Expr) && decided(&r, nest) {
			list = append(list, r)
		}
	}
	list = analysis.DistinctReaches(list)
	e := &borderEval{finder: all.Sites, nest: nest}
	of := map[*ir.Var][]int{}
	bent := make([]bool, len(list))
	for i := range list {
		bent[i] = e.derived(list[i].Index)
		of[list[i].Base] = append(of[list[i].Base], i)
	}
	pairs := 0
	for i := range list {
		w := &list[i]
		if !w.Write || w.Atomic {
			continue
		}
		for _, j := range of[w.Base] {
			r := &list[j]
			if r.Write && j <= i || r.Atomic || !bent[i] && !bent[j] || otherField(w.Expr, r.Expr) {
				continue
			}
			if pairs++; pairs > maxBorderedPairs {
				return
			}
			if at, other, ok := e.meet(w, r); ok {
				borderFound(c, l, w, r, at, other)
				break
			}
		}
	}
}

// mayMeetAtBorders reports whether list has a write, and a touch of the same memory whose index is
// not affine.
func mayMeetAtBorders(list []analysis.Reach) bool {
	type uses struct{ written, bent bool }
	of := map[*ir.Var]*uses{}
	for i := range list {
		r := &list[i]
		if of[r.Base] == nil {
			of[r.Base] = &uses{}
		}
		u := of[r.Base]
		u.written, u.bent = u.written || r.Write && !r.Atomic, u.bent || !affineOver(r)
		if u.written && u.bent {
			return true
		}
	}
	return false
}

// affineOver reports whether the index of r is affine in parameters and the loops around.
func affineOver(r *analysis.Reach) bool {
	return r.Index.Known() && !slices.ContainsFunc(r.Index.Atoms(), func(x affine.Atom) bool {
		return x.Var.Space != ir.Param && !slices.ContainsFunc(r.Loops, func(l analysis.LoopRange) bool { return l.Var == x.Var })
	})
}

// decided reports whether the conditions that choose the iterations of r are known.
func decided(r *analysis.Reach, nest []*ir.For) bool {
	n := len(r.Facts)
	for _, cond := range r.Conds {
		said, ok := analysis.FactsIn(cond, true)
		if n -= said; !ok && query.ReadsMemory(cond) == nil {
			return false
		}
	}
	return n == 0 || len(r.Facts) == 0
}

func borderFound(c *Check, l *ir.For, w, r *analysis.Reach, at, other iteration) {
	verb := "reads"
	if r.Write {
		verb = "writes"
	}
	c.warnOf(w.Base, diag.Warning, w.At, "directive "+l.Directive.Parts.String(),
		fmt.Sprintf("the iterations over %s depend on one another: %s is written here, and another iteration %s it as %s at %v (loop at %v)",
			l.Var.Name, query.Source(w.Expr), verb, query.Source(r.Expr), r.At, l.Directive.At),
		"write to a slice of its own, take the directive off, or make the iterations independent")
}

// An iteration is the values of the loop variables of a nest.
type iteration [4]int64

// A borderEval evaluates indices in the first iterations of a nest.
type borderEval struct {
	finder *analysis.SiteFinder
	nest   []*ir.For
	values map[affine.Atom]int64
	other  int64 // the value of the next parameter
	failed bool
}

// derived reports whether a is not affine.
func (e *borderEval) derived(a affine.Form) bool {
	return slices.ContainsFunc(a.Atoms(), func(x affine.Atom) bool {
		d := e.finder.Derived[x.Var]
		return d != nil && d.Host == nil
	})
}

// meet returns two different iterations in which w and r touch the same element, with each of
// several values of the parameters.
func (e *borderEval) meet(w, r *analysis.Reach) (at, other iteration, ok bool) {
	if len(e.nest) > len(iteration{}) {
		return at, other, false
	}
	for sample, first := range []int64{5, 1013, 65536} {
		e.values, e.other, e.failed = map[affine.Atom]int64{}, first, false
		written, touched := e.elements(w), e.elements(r)
		if e.failed {
			return at, other, false
		}
		found := false
		for _, t := range touched {
			i := slices.IndexFunc(written, func(x element) bool { return x.index == t.index && x.at != t.at })
			if found = i >= 0; !found {
				continue
			}
			if sample == 0 {
				at, other = written[i].at, t.at
			}
			break
		}
		if !found {
			return at, other, false
		}
	}
	return at, other, true
}

// An element is one that an iteration touches.
type element struct {
	index int64
	at    iteration
}

// elements returns the elements that r touches.
func (e *borderEval) elements(r *analysis.Reach) (out []element) {
	var visit func(depth int, at iteration)
	visit = func(depth int, at iteration) {
		if e.failed {
			return
		}
		if depth == len(r.Loops) {
			for _, f := range r.Facts {
				if n := e.form(f.Form); n < 0 && !e.failed {
					return
				}
				e.failed = false // data may let it hold
			}
			out = append(out, element{e.form(r.Index), at})
			return
		}
		l := &r.Loops[depth]
		first, last := e.form(l.First), e.form(l.Last)
		if e.failed = e.failed || !l.Known || l.Stride == 0; e.failed {
			return
		}
		level, most := slices.Index(e.nest, l.For), int64(maxBorderedInside)
		switch {
		case level >= 0:
			most = maxBordered
		case !slices.ContainsFunc(r.Loops[:depth], func(x analysis.LoopRange) bool { return x.For == e.nest[0] }):
			most = 1 // around the nest
		}
		for n := range most {
			v := first + n*l.Stride
			if l.Stride > 0 && v > last || l.Stride < 0 && v < last {
				break
			}
			e.values[affine.Atom{Var: l.Var}] = v
			if level >= 0 {
				at[level] = v
			}
			visit(depth+1, at)
		}
		delete(e.values, affine.Atom{Var: l.Var})
	}
	visit(0, iteration{})
	return out
}

// form returns the value of a; it fails where a has no value.
func (e *borderEval) form(a affine.Form) (sum int64) {
	e.failed = e.failed || !a.Known()
	for _, t := range a.Terms {
		n := t.Coef
		for _, x := range t.Atoms {
			n *= e.atom(x)
		}
		sum += n
	}
	return sum
}

func (e *borderEval) atom(x affine.Atom) int64 {
	if n, ok := e.values[x]; ok {
		return n
	}
	d := e.finder.Derived[x.Var]
	switch {
	case d != nil && (d.Op != analysis.DerivedAny || d.Host == nil):
		return e.derivation(d)
	case x.Var.Space != ir.Param && d == nil:
		e.failed = true
		return 0
	}
	e.values[x] = e.other
	e.other += 3
	return e.values[x]
}

// derivation returns the value of d.
func (e *borderEval) derivation(d *analysis.Derivation) int64 {
	if d.Op == analysis.DerivedEither {
		return e.either(d)
	}
	x, y := e.form(d.X), e.form(d.Y)
	switch d.Op {
	case analysis.DerivedMin:
		return min(x, y)
	case analysis.DerivedMax:
		return max(x, y)
	case analysis.DerivedNarrow:
		return x
	case analysis.DerivedShr:
		return x >> uint(y&63)
	case analysis.DerivedAnd:
		return x & y
	case analysis.DerivedDiv, analysis.DerivedRem:
		if y != 0 {
			if d.Op == analysis.DerivedDiv {
				return x / y
			}
			return x % y
		}
	}
	e.failed = true
	return 0
}

// either returns the value of d whose facts hold; it fails where that is not one value.
func (e *borderEval) either(d *analysis.Derivation) (value int64) {
	found := false
	for _, a := range d.Either {
		if slices.ContainsFunc(a.Facts, func(f analysis.Fact) bool { return !e.holds(f) }) {
			continue
		}
		n := e.form(a.Form)
		e.failed = e.failed || found && n != value
		value, found = n, true
	}
	e.failed = e.failed || !found
	return value
}

// holds reports whether f does.
func (e *borderEval) holds(f analysis.Fact) bool {
	if f.Unequal {
		return e.form(f.X) != e.form(f.Y)
	}
	return e.form(f.Form) >= 0
}
