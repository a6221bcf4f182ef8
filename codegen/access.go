package codegen

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/gompss/gompss/codegen/ir"
	"github.com/gompss/gompss/deps"
)

// inferAccesses returns what the body of k does to the memory of its parameters, for a task directive without
// accesses: exact boxes where the indices are affine, everything where they are not; out only where every element of
// the box is sure to be written. shapes are those of the shape directives.
//
// Evaluated with arguments for which the loops make no iteration, a region is empty.
func inferAccesses(k *ir.Kernel, shapes map[*ir.Var][]ir.Expr) []ir.Access {
	reaches := throughLocals(k, collect(k, k.Body))
	var out []ir.Access
	for _, v := range k.Params {
		if v.Type.Kind == ir.Slice || v.Type.Kind == ir.Pointer {
			in := inference{k: k, v: v, shape: shapes[v]}
			for _, r := range reaches {
				if r.base == v {
					in.add(r)
				}
			}
			out = append(out, in.accesses()...)
		}
	}
	return out
}

// inference gathers the regions of one parameter.
type inference struct {
	k          *ir.Kernel
	v          *ir.Var
	shape      []ir.Expr
	list       []ir.Access
	boxes      []tile
	why        string // some access is all of the parameter
	readsAll   bool
	writesAll  bool
	readsSome  bool
	writesSome bool
}

func (in *inference) add(r reach) {
	region, exact, ok := in.region(r)
	mode := deps.In
	switch {
	case r.write && exact && r.certain && !r.atomic:
		mode = deps.Out
	case r.write:
		mode = deps.InOut
	}
	in.writesSome, in.readsSome = in.writesSome || r.write, in.readsSome || mode != deps.Out
	if !ok {
		if r.write && r.certain && !r.atomic {
			mode = deps.Out // where it is dense
		}
		if t, isTile := in.tileOf(r, mode); isTile && in.shape == nil {
			in.boxes = append(in.boxes, t)
			return
		}
		in.why = cmp.Or(in.why, in.whyWhole(r))
		in.writesAll, in.readsAll = in.writesAll || r.write, in.readsAll || !r.write
		return
	}
	in.list = append(in.list, ir.Access{Region: region, Mode: mode})
}

// accesses merges what was added: a use of everything takes the parts of its kind with it.
func (in *inference) accesses() []ir.Access {
	whole := ir.Region{Var: in.v, Text: in.text(), At: in.v.At}
	in.list = append(in.list, in.tiles()...)
	var out []ir.Access
	switch {
	case in.writesAll:
		return []ir.Access{{Region: whole, Mode: deps.InOut, Why: in.why}}
	case in.readsAll && in.writesSome && slices.ContainsFunc(in.list, func(a ir.Access) bool { return isWhole(a.Region) && a.Mode.Writes() }):
		return []ir.Access{{Region: whole, Mode: deps.InOut, Why: in.why}}
	case in.readsAll:
		out = []ir.Access{{Region: whole, Mode: deps.In, Why: in.why}}
		in.list = slices.DeleteFunc(in.list, func(a ir.Access) bool { return a.Mode == deps.In })
	}
	return mergeAccesses(append(out, in.list...))
}

func (in *inference) text() string {
	if in.v.Type.Kind == ir.Pointer {
		return "*" + in.v.Name
	}
	return in.v.Name
}

func isWhole(r ir.Region) bool { return len(r.Dims) == 0 && r.When == nil }

// region returns the part of the parameter that r touches; exact where it is that part and no more.
func (in *inference) region(r reach) (region ir.Region, exact, ok bool) {
	region = ir.Region{Var: in.v, Text: in.text(), At: r.at}
	if in.v.Type.Kind == ir.Pointer {
		return region, true, true
	}
	spans, ok := r.spans(in.shape, in.k.Params)
	if !ok {
		return region, false, false
	}
	exact = !slices.ContainsFunc(spans, func(s span) bool { return !s.dense })
	if len(spans) > 1 && (!exact || !r.certain) {
		return region, false, false // cutting a column to its extent would lose what wraps into the next row
	}
	region.Shape = in.shape
	for _, s := range spans {
		region.Dims = append(region.Dims, in.dimension(r, s, exact))
	}
	if len(spans) == 1 && len(in.shape) < 2 && in.covers(region.Dims[0]) {
		region.Dims, region.Shape = nil, nil
	}
	region.Text = regionText(region)
	return region, exact, true
}

// whyWhole says why r is taken to touch all of the parameter.
func (in *inference) whyWhole(r reach) string {
	text := sourceText(r.expr)
	if r.through != nil {
		return fmt.Sprintf("%s (%v) is of %s, which is assigned in several places", text, r.at, r.through.Name)
	}
	if !r.index.Known() {
		return fmt.Sprintf("the index of %s (%v) is not a sum of products of parameters and loop variables", text, r.at)
	}
	for _, l := range r.loops {
		if !l.known && r.index.Has(l.Var) {
			return fmt.Sprintf("the bounds of loop %s around %s (%v) depend on data", l.Var.Name, text, r.at)
		}
	}
	if _, ok := r.spans(in.shape, in.k.Params); ok {
		return fmt.Sprintf("%s (%v) may leave its row, or leave elements of it out", text, r.at)
	}
	return fmt.Sprintf("%s (%v) is no box of a row-major array of lengths that parameters give", text, r.at)
}

// covers reports whether d is all of the slice.
func (in *inference) covers(d ir.Range) bool {
	lo, ok1 := affineOf(d.Lo)
	hi, ok2 := affineOf(d.Hi)
	c, zero := lo.Const()
	return ok1 && ok2 && zero && c == 0 && hi.Equal(atomAffine(Atom{Var: in.v, Of: LenOf}))
}

// dimension returns [s.lo, s.hi+1), empty where a loop around r makes no iteration. What is only an upper bound of the
// touch, or may not happen, is cut to the slice, so that the region stays within it where the kernel does.
func (in *inference) dimension(r reach, s span, exact bool) ir.Range {
	lo, hi := s.lo.Expr(r.at), s.hi.AddConst(1).Expr(r.at)
	if !exact || !r.certain {
		if !atLeast(s.lo, 0) {
			lo = intMath(ir.IMax, lo, intConst(0, r.at))
		}
		if length := atomAffine(Atom{Var: in.v, Of: LenOf}); !atLeast(length.Sub(s.hi), 1) {
			hi = intMath(ir.IMin, hi, length.Expr(r.at))
		}
	}
	if cond := in.nonEmpty(r); cond != nil && !s.single {
		hi = &ir.Select{Cond: cond, X: hi, Y: lo, At: r.at}
	}
	return ir.Range{Lo: lo, Hi: hi}
}

// nonEmpty returns the condition under which all loops around r whose bounds the host knows make an iteration; nil
// where they always do.
func (in *inference) nonEmpty(r reach) ir.Expr {
	var cond ir.Expr
	for _, l := range r.loops {
		if n, ok := constTrips(l.For); ok && n > 0 || !l.known {
			continue
		}
		lo, hi := l.ends()
		if !onHost(lo, in.k.Params) || !onHost(hi, in.k.Params) {
			continue
		}
		test := &ir.Binary{Op: ir.Le, X: lo.Expr(r.at), Y: hi.Expr(r.at), T: ir.BoolType, At: r.at}
		if cond == nil {
			cond = test
			continue
		}
		cond = &ir.Binary{Op: ir.LAnd, X: cond, Y: test, T: ir.BoolType, At: r.at}
	}
	return cond
}

func intMath(fn ir.MathFn, x, y ir.Expr) ir.Expr {
	return &ir.Math{Fn: fn, Args: []ir.Expr{x, y}, T: ir.IntType, At: x.Pos()}
}

// regionText returns r as an author would write it.
func regionText(r ir.Region) string {
	text := ""
	for _, n := range r.Shape {
		if n == nil {
			text += "[]"
			continue
		}
		text += "[" + sourceText(n) + "]"
	}
	text += r.Var.Name
	for _, d := range r.Dims {
		text += "[" + sourceText(d.Lo)
		if d.Hi != nil {
			text += ":" + sourceText(d.Hi)
		}
		text += "]"
	}
	return text
}
