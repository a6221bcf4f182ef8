package analysis

import (
	"slices"

	"github.com/gompss/gompss/codegen/internal/analysis/affine"
	"github.com/gompss/gompss/codegen/ir"
)

// A Span is the set of values of an index over its enclosing loops. If Dense is false, it is only a
// superset of them. Both ends are forms of parameters and lengths.
type Span struct {
	Lo, Hi affine.Form // inclusive
	Dense  bool        // the index takes every value from Lo to Hi
	Single bool        // the span is empty, Hi < Lo, if and only if the loops have no iteration
}

// SpanOf returns the values of index over loops, outermost first. ok is false if it has no such
// bounds.
//
// If the step of a loop in the index equals the length of the dense interval that its inner loops
// cover, the loop extends this interval. In this way the rows of a whole matrix add up to one
// interval.
func SpanOf(index affine.Form, loops []LoopRange, params []*ir.Var) (s Span, ok bool) {
	s = Span{Lo: index, Hi: index, Dense: true}
	length := affine.Constant(1)
	var rest []LoopRange
	for _, l := range loops {
		if index.Has(l.Var) || BoundsHave(loops, l.Var) {
			rest = append(rest, l)
		}
	}
	s.Single = len(loops) == 0 || len(loops) == 1 && len(rest) == 1
	for {
		i := slices.IndexFunc(rest, func(l LoopRange) bool { return continues(index, l, length, loops) })
		if i < 0 {
			break
		}
		l := rest[i]
		coef, _ := index.Coef(l.Var)
		lo, hi := l.Ends()
		if !coef.Equal(length) {
			lo, hi = hi, lo
		}
		s.Lo, s.Hi = s.Lo.Subst(l.Var, lo), s.Hi.Subst(l.Var, hi)
		length = length.Mul(l.Last.Sub(l.First).Mul(affine.Constant(l.Stride)).AddConst(1))
		rest = slices.Delete(rest, i, i+1)
	}
	if len(rest) > 0 {
		s.Dense = false
		if s.Lo, _, ok = extremes(s.Lo, rest); !ok {
			return s, false
		}
		if _, s.Hi, ok = extremes(s.Hi, rest); !ok {
			return s, false
		}
	}
	return s, OnHost(s.Lo, params) && OnHost(s.Hi, params)
}

// continues reports whether each iteration of l moves index by exactly length, over bounds that no
// loop changes.
func continues(index affine.Form, l LoopRange, length affine.Form, loops []LoopRange) bool {
	coef, ok := index.Coef(l.Var)
	if !ok || !l.Known || l.Stride != 1 && l.Stride != -1 || !index.Has(l.Var) {
		return false
	}
	for _, other := range loops {
		if l.First.Has(other.Var) || l.Last.Has(other.Var) || other.First.Has(l.Var) || other.Last.Has(l.Var) {
			return false
		}
	}
	return coef.Equal(length) || coef.Equal(affine.Form{}.Sub(length))
}

// BoundsHave reports whether v occurs in the bounds of one of the loops.
func BoundsHave(loops []LoopRange, v *ir.Var) bool {
	return slices.ContainsFunc(loops, func(l LoopRange) bool { return l.First.Has(v) || l.Last.Has(v) })
}

// OnHost reports whether a can be evaluated from the arguments of the kernel.
func OnHost(a affine.Form, params []*ir.Var) bool {
	return a.Known() && !slices.ContainsFunc(a.Atoms(), func(x affine.Atom) bool { return !slices.Contains(params, x.Var) })
}

// splitIndex splits an index into a row-major array of shape into one index for each dimension.
// Terms that contain the stride of a dimension belong to it. ok is false if an extent is not a
// product.
func splitIndex(index affine.Form, shape []ir.Expr) (dims []affine.Form, ok bool) {
	if len(shape) < 2 {
		return []affine.Form{index}, index.Known()
	}
	rest := index
	for d := range shape {
		stride := affine.Constant(1)
		for _, e := range shape[d+1:] {
			extent, known := affine.Of(e)
			if !known {
				return nil, false
			}
			stride = stride.Mul(extent)
		}
		if !rest.Known() || !stride.Known() || len(stride.Terms) != 1 {
			return nil, false
		}
		var q affine.Form
		q, rest = Divide(rest, stride.Terms[0])
		dims = append(dims, q)
	}
	return dims, len(rest.Terms) == 0
}

// Divide returns the terms of a that contain the factor by, without that factor, and the other
// terms.
func Divide(a affine.Form, by affine.Term) (quotient, rest affine.Form) {
	var q, r []affine.Term
	for _, t := range a.Terms {
		if atoms, ok := removeAtoms(t.Atoms, by.Atoms); ok && t.Coef%by.Coef == 0 {
			q = append(q, affine.Term{Coef: t.Coef / by.Coef, Atoms: atoms})
		} else {
			r = append(r, t)
		}
	}
	return affine.Normalise(q), affine.Normalise(r)
}

func removeAtoms(from, atoms []affine.Atom) ([]affine.Atom, bool) {
	out := slices.Clone(from)
	for _, a := range atoms {
		i := slices.Index(out, a)
		if i < 0 {
			return nil, false
		}
		out = slices.Delete(out, i, i+1)
	}
	return out, true
}

// Spans returns the span of the index of r in each dimension of an array of shape; an empty shape
// means one dimension. ok is false if a dimension has no bounds.
func (r *Reach) Spans(shape []ir.Expr, params []*ir.Var) (out []Span, ok bool) {
	dims, ok := splitIndex(r.Index, shape)
	if !ok {
		return nil, false
	}
	for i, d := range dims {
		s, ok := SpanOf(d, r.Loops, params)
		if !ok {
			return nil, false
		}
		s.Dense = s.Dense && !SharesLoop(dims, i, r.Loops)
		out = append(out, s)
	}
	return out, true
}

// SharesLoop reports whether a loop changes the index of dimension i together with that of another
// dimension, along a diagonal.
func SharesLoop(dims []affine.Form, i int, loops []LoopRange) bool {
	return slices.ContainsFunc(loops, func(l LoopRange) bool {
		for j, d := range dims {
			if j != i && d.Has(l.Var) && dims[i].Has(l.Var) {
				return true
			}
		}
		return false
	})
}
