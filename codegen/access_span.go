package codegen

import (
	"slices"

	"github.com/gompss/gompss/codegen/ir"
)

// A span is the set of values that an index takes over the loops around it, or a part of [lo, hi] where it is not
// dense. Both ends are forms over parameters and lengths.
type span struct {
	lo, hi Affine // inclusive
	dense  bool   // every value between is taken, the ends too
	single bool   // empty, hi < lo, exactly where the loops make no iteration
}

// spanOf returns the values of index over the loops, outermost first; ok is false where they have no such bounds.
//
// A loop whose step in the index is the length of what the loops inside it cover continues that dense interval: rows of
// a matrix that are written whole add up to one interval.
func spanOf(index Affine, loops []loopRange, params []*ir.Var) (s span, ok bool) {
	s = span{lo: index, hi: index, dense: true}
	length := constAffine(1)
	var rest []loopRange
	for _, l := range loops {
		if index.Has(l.Var) || boundsHave(loops, l.Var) {
			rest = append(rest, l)
		}
	}
	s.single = len(loops) == 0 || len(loops) == 1 && len(rest) == 1
	for {
		i := slices.IndexFunc(rest, func(l loopRange) bool { return continues(index, l, length, loops) })
		if i < 0 {
			break
		}
		l := rest[i]
		coef, _ := index.Coef(l.Var)
		lo, hi := l.ends()
		if !coef.Equal(length) {
			lo, hi = hi, lo
		}
		s.lo, s.hi = s.lo.Subst(l.Var, lo), s.hi.Subst(l.Var, hi)
		length = length.Mul(l.last.Sub(l.first).Mul(constAffine(l.step)).AddConst(1))
		rest = slices.Delete(rest, i, i+1)
	}
	if len(rest) > 0 {
		s.dense = false
		if s.lo, _, ok = extremes(s.lo, rest); !ok {
			return s, false
		}
		if _, s.hi, ok = extremes(s.hi, rest); !ok {
			return s, false
		}
	}
	return s, onHost(s.lo, params) && onHost(s.hi, params)
}

// continues reports whether l moves index by exactly length in every iteration, over bounds that no loop changes.
func continues(index Affine, l loopRange, length Affine, loops []loopRange) bool {
	coef, ok := index.Coef(l.Var)
	if !ok || !l.known || l.step != 1 && l.step != -1 || !index.Has(l.Var) {
		return false
	}
	for _, other := range loops {
		if l.first.Has(other.Var) || l.last.Has(other.Var) || other.first.Has(l.Var) || other.last.Has(l.Var) {
			return false
		}
	}
	return coef.Equal(length) || coef.Equal(Affine{}.Sub(length))
}

// boundsHave reports whether v occurs in the bounds of one of the loops.
func boundsHave(loops []loopRange, v *ir.Var) bool {
	return slices.ContainsFunc(loops, func(l loopRange) bool { return l.first.Has(v) || l.last.Has(v) })
}

// onHost reports whether a can be evaluated from the arguments of the kernel.
func onHost(a Affine, params []*ir.Var) bool {
	return a.Known() && !slices.ContainsFunc(a.Atoms(), func(x Atom) bool { return !slices.Contains(params, x.Var) })
}

// split takes an index into a row-major array of the shape apart into one index per dimension. Terms that hold the
// stride of a dimension belong to it; ok is false where an extent is not a product.
func splitIndex(index Affine, shape []ir.Expr) (dims []Affine, ok bool) {
	if len(shape) < 2 {
		return []Affine{index}, index.Known()
	}
	rest := index
	for d := range shape {
		stride := constAffine(1)
		for _, e := range shape[d+1:] {
			extent, known := affineOf(e)
			if !known {
				return nil, false
			}
			stride = stride.Mul(extent)
		}
		if !rest.Known() || !stride.Known() || len(stride.Terms) != 1 {
			return nil, false
		}
		var q Affine
		q, rest = divide(rest, stride.Terms[0])
		dims = append(dims, q)
	}
	return dims, len(rest.Terms) == 0
}

// divide returns the terms of a that hold the factor by, without it, and the others.
func divide(a Affine, by Term) (quotient, rest Affine) {
	var q, r []Term
	for _, t := range a.Terms {
		if atoms, ok := removeAtoms(t.Atoms, by.Atoms); ok && t.Coef%by.Coef == 0 {
			q = append(q, Term{Coef: t.Coef / by.Coef, Atoms: atoms})
		} else {
			r = append(r, t)
		}
	}
	return normalise(q), normalise(r)
}

func removeAtoms(from, atoms []Atom) ([]Atom, bool) {
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

// spans returns the values of the index of r in each dimension of an array of the shape (none: one dimension); ok is
// false where one has no bounds.
func (r *reach) spans(shape []ir.Expr, params []*ir.Var) (out []span, ok bool) {
	dims, ok := splitIndex(r.index, shape)
	if !ok {
		return nil, false
	}
	for i, d := range dims {
		s, ok := spanOf(d, r.loops, params)
		if !ok {
			return nil, false
		}
		s.dense = s.dense && !sharesLoop(dims, i, r.loops)
		out = append(out, s)
	}
	return out, true
}

// sharesLoop reports whether a loop moves the index of dimension i and of another one together, along a diagonal.
func sharesLoop(dims []Affine, i int, loops []loopRange) bool {
	return slices.ContainsFunc(loops, func(l loopRange) bool {
		for j, d := range dims {
			if j != i && d.Has(l.Var) && dims[i].Has(l.Var) {
				return true
			}
		}
		return false
	})
}
