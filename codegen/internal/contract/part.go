package contract

import (
	"fmt"
	"slices"

	"github.com/gompss/gompss/codegen/internal/analysis"
	"github.com/gompss/gompss/codegen/internal/analysis/affine"
	"github.com/gompss/gompss/codegen/ir"
)

// A partCheck is what a launch has to hold for an array of a dist_ clause: every part of an
// iteration lies in it.
type partCheck struct {
	analysis.DistPart
	first, last   Check // the first and the last element of each part
	chunk, length int   // forms
	conds         []int // atoms, all true where there are iterations
}

// A PartError means that a slice is too short for the parts that iterations own of it by a dist_
// clause. Nothing has been written. It is ir.ErrBounds for errors.Is.
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

// addPart adds the check of an array of a dist_ clause, where the host knows the iterations and the
// length.
func (b *Builder) addPart(p analysis.DistPart) {
	isParam := p.Var.Space == ir.Param && slices.Contains(b.k.Params, p.Var)
	if !p.Always || !isParam || b.changed.Has(p.Var) || len(p.Loops) > analysis.MaxDepth || len(p.Conds) > analysis.MaxConds {
		return
	}
	c := partCheck{DistPart: p, first: Check{Reach: analysis.Reach{Loops: p.Loops}, Passed: new(Launches)}}
	chunk, _ := affine.Of(p.Chunk)
	var n linear
	if !b.Nest(&c.first) || !b.bound(&n, chunk, p.Chunk, 0, nil) {
		return
	}
	for _, e := range p.Conds {
		if !b.known(e) {
			return
		}
		c.conds = append(c.conds, b.opaque(e))
	}
	c.chunk, c.length = n.base, b.form(affine.OfAtom(affine.Atom{Var: p.Var, Of: affine.LenOf}))
	c.first.Index.coefs[len(p.Loops)-1] = c.chunk
	c.last = c.first
	c.last.Passed = new(Launches)
	c.last.Index.base = b.number(append(slices.Clone(b.Out.Forms[c.chunk]), hostTerm{coef: -1}))
	if len(b.Out.Forms) <= analysis.MaxForms {
		b.Out.parts = append(b.Out.parts, c)
	}
}

// part checks that the parts of the iterations lie in their array. Errors: *PartError.
func (p *Proof) part(c *partCheck) error {
	chunk, length := p.values[c.chunk], p.values[c.length]
	if !chunk.Ok || !length.Ok {
		return nil
	}
	for _, cond := range c.conds {
		if holds := p.atoms[cond]; !holds.Ok || holds.N == 0 {
			return nil
		}
	}
	e := &PartError{Kernel: p.k.Name, Pos: c.At, Clause: c.Clause(), Param: c.Var.Name, Length: length.N, Part: chunk.N}
	if chunk.N < 1 {
		if p.empty(&c.first) {
			return nil
		}
		return e
	}
	if point, n, ok := p.leaves(&c.first, length.N, false); ok && n < 0 {
		e.First, e.At = n, iterationOf(c, point)
		return e
	}
	if point, n, ok := p.leaves(&c.last, length.N, true); ok {
		e.First, e.At, e.Need = n-chunk.N+1, iterationOf(c, point), n+1
		return e
	}
	return nil
}

// leaves looks for an index of c that is not in a slice of length n: the least or greatest one
// where that is easily found.
func (p *Proof) leaves(c *Check, n int64, greatest bool) (point *[analysis.MaxDepth]int64, index int64, found bool) {
	w := p.Below(n)
	verdict := p.Stays(c, w)
	if verdict == AllInside {
		return nil, 0, false
	}
	point = new([analysis.MaxDepth]int64)
	if end := p.extreme(c, greatest, point); end.Ok && !w.holds(end.N) {
		return point, end.N, true
	}
	*point = p.Point
	return point, p.At(&c.Index, len(c.loops), point).N, verdict == SomeOutside
}

// iterationOf names the iteration of the loop of c, and of those around.
func iterationOf(c *partCheck, point *[analysis.MaxDepth]int64) string {
	return c.first.point(point[:len(c.Loops)])
}

// empty reports whether a loop around c makes no iteration.
func (p *Proof) empty(c *Check) bool {
	var point [analysis.MaxDepth]int64
	for k := range c.loops {
		l := &c.loops[k]
		span := p.At(&l.last, k, &point).Minus(p.At(&l.first, k, &point))
		if span.Ok && span.N != 0 && span.N > 0 != (l.step > 0) {
			return true
		}
	}
	return false
}
