package contract

import (
	"fmt"
	"slices"

	"github.com/gompss/gompss/codegen/internal/integers"
	"github.com/gompss/gompss/codegen/ir"
	"github.com/gompss/gompss/codegen/ir/query"
)

// A Box is the part [Lo[d], Hi[d]) in every dimension d of a slice that is read as a row-major
// array of the extents Shape; all in elements, from the start of the slice. No dimension is empty.
// An unshaped region has one dimension, whose extent is the length of the slice.
type Box struct {
	Shape, Lo, Hi []int64
}

// A RegionError is the reason why a region is no part of the memory that was passed for its
// parameter. For errors.Is it is ir.ErrBounds, or what kept an expression in it from having a
// value.
type RegionError struct {
	Region string // as written
	Param  string
	Pos    ir.Pos
	What   string // with the numbers
	Err    error  // of an expression; nil where all have values
}

func (e *RegionError) Error() string {
	return fmt.Sprintf("%v: region %s of parameter %s: %s", e.Pos, e.Region, e.Param, e.What)
}

// Unwrap returns Err, or ir.ErrBounds.
func (e *RegionError) Unwrap() error {
	if e.Err != nil {
		return e.Err
	}
	return ir.ErrBounds
}

// EvalRegion returns the boxes of r over the arguments in env; none where r is empty.
//
// length is the number of elements of the slice that was passed for r.Var, 1 for a pointer. Errors:
// *RegionError where the region does not lie inside the slice, where its shape does not fit, or
// where an expression cannot be evaluated (a division by zero). Nothing has been touched then.
func EvalRegion(r ir.Region, length int64, env ir.Env) ([]Box, error) {
	return new(Regions).Eval(&r, length, env)
}

// Regions evaluates regions one after the other and keeps its memory.
type Regions struct {
	eval    regionEval
	numbers []int64
	boxes   []Box
}

// Reset makes room: what Eval returned before is no longer valid.
func (s *Regions) Reset() { s.numbers, s.boxes = s.numbers[:0], s.boxes[:0] }

// Eval is EvalRegion; what it returns is valid until Reset. Cost: no allocation once there is room.
func (s *Regions) Eval(r *ir.Region, length int64, env ir.Env) ([]Box, error) {
	e := &s.eval
	*e = regionEval{r: r, length: length, env: env}
	if r.When != nil && e.integer(r.When) == 0 && e.err == nil {
		return nil, nil
	}
	box := e.box(s)
	if e.err != nil {
		return nil, e.err
	}
	for d := range box.Lo {
		if box.Lo[d] >= box.Hi[d] {
			return nil, nil
		}
	}
	if e.inside(box); e.err != nil {
		return nil, e.err
	}
	n := len(s.boxes)
	s.boxes = append(s.boxes, box)
	return s.boxes[n : n+1 : n+1], nil
}

// take returns n numbers of s, all 0.
func (s *Regions) take(n int) []int64 {
	at := len(s.numbers)
	s.numbers = slices.Grow(s.numbers, n)[:at+n]
	out := s.numbers[at : at+n : at+n]
	clear(out)
	return out
}

// regionEval evaluates one region; the first error stays.
type regionEval struct {
	r      *ir.Region
	length int64 // of the slice; 1 for a pointer
	env    ir.Env
	err    error
}

func (e *regionEval) fail(format string, args ...any) {
	if e.err == nil {
		e.err = &RegionError{Region: e.r.Text, Param: e.r.Var.Name, Pos: e.r.At, What: fmt.Sprintf(format, args...)}
	}
}

// failed is fail for an expression that has no value.
func (e *regionEval) failed(err error) {
	if e.err == nil {
		e.err = &RegionError{Region: e.r.Text, Param: e.r.Var.Name, Pos: e.r.At, What: err.Error(), Err: err}
	}
}

func (e *regionEval) integer(x ir.Expr) int64 {
	if e.err != nil {
		return 0
	}
	n, err := ir.EvalInt(x, e.env)
	if err != nil {
		e.failed(err)
	}
	return n
}

func (e *regionEval) box(s *Regions) Box {
	n := max(len(e.r.Shape), 1)
	all := s.take(3 * n)
	b := Box{Shape: all[:n:n], Lo: all[n : 2*n : 2*n], Hi: all[2*n:]}
	e.shape(b.Shape)
	for d, extent := range b.Shape {
		b.Lo[d], b.Hi[d] = 0, extent
		if d < len(e.r.Dims) {
			b.Lo[d], b.Hi[d] = e.dimension(e.r.Dims[d])
		}
	}
	if open := len(e.r.Shape) > 0 && e.r.Shape[0] == nil; open && b.Hi[0] == b.Shape[0]+1 && len(e.r.Dims) > 0 {
		row := int64(1)
		for _, extent := range b.Shape[1:] {
			row *= extent
		}
		if row > 0 && e.length%row > 0 {
			b.Shape[0]++ // a part of a row
		}
	}
	return b
}

func (e *regionEval) dimension(d ir.Range) (lo, hi int64) {
	lo = e.integer(d.Lo)
	if d.Hi == nil {
		return lo, lo + 1
	}
	return lo, e.integer(d.Hi)
}

// shape fills in the extents. An open first one is as many whole rows as the slice holds.
func (e *regionEval) shape(out []int64) {
	if len(e.r.Shape) == 0 {
		out[0] = e.length
		return
	}
	product := int64(1)
	for d := len(out) - 1; d >= 0; d-- {
		switch {
		case e.r.Shape[d] != nil:
			out[d] = e.integer(e.r.Shape[d])
		case product > 0:
			out[d] = e.length / product
		}
		if out[d] < 0 {
			e.fail("extent %d of its shape, %s, is negative: %d", d+1, query.Source(e.r.Shape[d]), out[d])
		}
		var ok bool
		if product, ok = integers.Mul(product, out[d]); !ok {
			e.fail("its shape %v has more elements than an int counts", out)
			product = 0
		}
	}
	if product > e.length && product-e.length >= max(product/max(out[0], 1), 1) {
		e.tooLarge(out, product)
	}
}

// tooLarge reports a shape of more elements than the slice has.
func (e *regionEval) tooLarge(shape []int64, elements int64) {
	e.fail("its shape %v has %d elements, and the slice has %d", shape, elements, e.length)
}

// inside checks that the box is in the shape and in the slice, which may end in the last row of the
// shape, as those of tiles of a larger matrix do.
func (e *regionEval) inside(b Box) {
	for d, extent := range b.Shape {
		if b.Lo[d] >= 0 && b.Hi[d] <= extent {
			continue
		}
		what := "the slice has %d elements"
		if len(b.Shape) > 1 {
			what = fmt.Sprintf("dimension %d of the shape has", d+1) + " %d"
		}
		e.fail("it is [%d:%d], and "+what, b.Lo[d], b.Hi[d], extent)
		return
	}
	last, stride := int64(0), int64(1)
	for d := len(b.Shape) - 1; d >= 0; d-- {
		last += (b.Hi[d] - 1) * stride
		stride *= b.Shape[d]
	}
	if last >= e.length && stride > e.length {
		e.tooLarge(b.Shape, stride)
	}
}

// Interval returns the box as one run of elements [lo, hi) of the slice; ok is false where it is
// several.
func (b Box) Interval() (lo, hi int64, ok bool) {
	stride := int64(1)
	single := true // every dimension further in is whole
	for d := len(b.Shape) - 1; d >= 0; d-- {
		n := b.Hi[d] - b.Lo[d]
		if !single && n != 1 {
			return 0, 0, false
		}
		lo += b.Lo[d] * stride
		hi += (b.Hi[d] - 1) * stride
		single = single && n == b.Shape[d]
		stride *= b.Shape[d]
	}
	return lo, hi + 1, true
}
