package codegen

import (
	"fmt"
	"slices"

	"github.com/gompss/gompss/codegen/ir"
)

// A distPart is the use of one array by a dist_ clause: iterations of the innermost of loops own parts of it.
type distPart struct {
	ir.DistArray
	loops  []loopRange // outermost first
	conds  []ir.Expr   // of the Ifs around
	always bool        // but for conds it happens, and in every iteration of the loops around
}

// distParts notes the arrays of the dist_ clauses of s, the innermost of the loops around.
func (c *collector) distParts(s *ir.For) {
	if s.Directive == nil {
		return
	}
	for _, a := range s.Directive.DistArrays {
		c.parts = append(c.parts, distPart{DistArray: a, loops: slices.Clone(c.loops), conds: slices.Clone(c.conds), always: !c.jumps})
	}
}

// A partCheck is what a launch has to hold for an array of a dist_ clause: every part of an iteration lies in it.
type partCheck struct {
	distPart
	first, last   contractCheck // the first and the last element of each part
	chunk, length int           // forms
	conds         []int         // atoms, all true where there are iterations
}

// A PartError says that a slice is too short for the parts that iterations own of it by a dist_ clause. Nothing has been written. It is
// ir.ErrBounds for errors.Is.
type PartError struct {
	Kernel string
	Pos    ir.Pos
	Clause string // as written: dist_private([8]x)
	Param  string
	Length int64 // of Param
	Part   int64 // the length of a part
	First  int64 // of the part that does not lie in Param,
	At     string
	Need   int64 // the length that Param needs; 0 where no length is enough
}

func (e *PartError) Error() string {
	if e.Part < 1 {
		return fmt.Sprintf("%v: %s: a part of %s has %d elements, at least 1", e.Pos, e.Clause, e.Param, e.Part)
	}
	owns := fmt.Sprintf("elements %d to %d", e.First, e.First+e.Part-1)
	if e.Part == 1 {
		owns = fmt.Sprintf("element %d", e.First)
	}
	if e.Need == 0 {
		return fmt.Sprintf("%v: %s: iteration %s owns %s of %s: none is below 0", e.Pos, e.Clause, e.At, owns, e.Param)
	}
	return fmt.Sprintf("%v: %s: %s needs length %d and has length %d: iteration %s owns %s", e.Pos, e.Clause, e.Param, e.Need, e.Length, e.At, owns)
}

// Unwrap returns ir.ErrBounds.
func (e *PartError) Unwrap() error { return ir.ErrBounds }

// addPart adds the check of an array of a dist_ clause, where the host knows the iterations and the length.
func (b *contractBuilder) addPart(p distPart) {
	isParam := p.Var.Space == ir.Param && slices.Contains(b.k.Params, p.Var)
	if !p.always || !isParam || b.changed.Has(p.Var) || len(p.loops) > maxDepth || len(p.conds) > maxConds {
		return
	}
	c := partCheck{distPart: p, first: contractCheck{reach: reach{loops: p.loops}, passed: new(launches)}}
	chunk, _ := affineOf(p.Chunk)
	var n linear
	if !b.nest(&c.first) || !b.bound(&n, chunk, p.Chunk, 0, nil) {
		return
	}
	for _, e := range p.conds {
		if !b.known(e) {
			return
		}
		c.conds = append(c.conds, b.opaque(e))
	}
	c.chunk, c.length = n.base, b.form(atomAffine(Atom{Var: p.Var, Of: LenOf}))
	c.first.index.coefs[len(p.loops)-1] = c.chunk
	c.last = c.first
	c.last.passed = new(launches)
	c.last.index.base = b.number(append(slices.Clone(b.out.forms[c.chunk]), hostTerm{coef: -1}))
	if len(b.out.forms) <= maxForms {
		b.out.parts = append(b.out.parts, c)
	}
}

// part checks that the parts of the iterations lie in their array. Errors: *PartError.
func (p *Proof) part(c *partCheck) error {
	chunk, length := p.values[c.chunk], p.values[c.length]
	if !chunk.ok || !length.ok {
		return nil
	}
	for _, cond := range c.conds {
		if holds := p.atoms[cond]; !holds.ok || holds.n == 0 {
			return nil
		}
	}
	e := &PartError{Kernel: p.k.Name, Pos: c.At, Clause: c.Clause(), Param: c.Var.Name, Length: length.n, Part: chunk.n}
	if chunk.n < 1 {
		if p.empty(&c.first) {
			return nil
		}
		return e
	}
	if point, n, ok := p.leaves(&c.first, length.n, false); ok && n < 0 {
		e.First, e.At = n, iterationOf(c, point)
		return e
	}
	if point, n, ok := p.leaves(&c.last, length.n, true); ok {
		e.First, e.At, e.Need = n-chunk.n+1, iterationOf(c, point), n+1
		return e
	}
	return nil
}

// leaves looks for an index of c that is not in a slice of length n: the least or greatest one where that is easily found.
func (p *Proof) leaves(c *contractCheck, n int64, greatest bool) (point *[maxDepth]int64, index int64, found bool) {
	w := p.below(n)
	verdict := p.stays(c, w)
	if verdict == allInside {
		return nil, 0, false
	}
	point = new([maxDepth]int64)
	if end := p.extreme(c, greatest, point); end.ok && !w.holds(end.n) {
		return point, end.n, true
	}
	*point = p.point
	return point, p.at(&c.index, len(c.loops), point).n, verdict == someOutside
}

// iterationOf names the iteration of the loop of c, and of those around.
func iterationOf(c *partCheck, point *[maxDepth]int64) string {
	return c.first.point(point[:len(c.loops)])
}

// empty reports whether a loop around c makes no iteration.
func (p *Proof) empty(c *contractCheck) bool {
	var point [maxDepth]int64
	for k := range c.loops {
		l := &c.loops[k]
		span := p.at(&l.last, k, &point).minus(p.at(&l.first, k, &point))
		if span.ok && span.n != 0 && span.n > 0 != (l.step > 0) {
			return true
		}
	}
	return false
}
