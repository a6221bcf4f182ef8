package analysis

import (
	"cmp"
	"fmt"
	"slices"

	"github.com/gompss/gompss/codegen/internal/analysis/affine"
	"github.com/gompss/gompss/codegen/ir"
	"github.com/gompss/gompss/codegen/ir/build"
	"github.com/gompss/gompss/codegen/ir/query"
	"github.com/gompss/gompss/deps"
)

// Infer returns the accesses of the body of k to the memory of its parameters, for a task directive
// without access clauses. They are exact boxes if the indices are affine, else whole parameters. An
// access is out only if the body certainly writes every element of the box. shapes has the arrays
// of the shape directives.
//
// For arguments for which the loops have no iteration, a region is empty, except that of a place
// that a loop reduces: devices and vector code read and write it once in any case.
func Infer(k *ir.Kernel, shapes map[*ir.Var][]ir.Expr) []ir.Access {
	reaches := ThroughLocals(k, Collect(k, k.Body))
	var out []ir.Access
	for _, v := range k.Params {
		if v.Type.Kind == ir.Slice || v.Type.Kind == ir.Pointer {
			in := inference{k: k, v: v, shape: shapes[v]}
			for _, r := range reaches {
				if r.Base == v {
					in.add(ofReduction(r))
				}
			}
			out = append(out, in.accesses()...)
		}
	}
	return out
}

// ofReduction returns the access that a reduction around r makes to its place, if r is to that
// place: outside of the loops that reduce it. Else it returns r.
func ofReduction(r Reach) Reach {
	for _, s := range r.In {
		outside := loopsAround(s, r.Loops)
		if len(outside) == len(r.Loops) || !slices.ContainsFunc(ir.DirectiveOf(s).Reductions, func(x ir.Reduction) bool { return isPartOf(r.Expr, x) }) {
			continue
		}
		r.Loops, r.Extent = outside, r.Extent.With(Reduced, true)
		return r
	}
	return r
}

// loopsAround returns the loops among list, outermost first, that s is in.
func loopsAround(s ir.Stmt, list []LoopRange) []LoopRange {
	inside := map[*ir.For]bool{}
	ir.WalkStmts([]ir.Stmt{s}, func(x ir.Stmt) bool {
		if f, ok := x.(*ir.For); ok {
			inside[f] = true
		}
		return true
	})
	for i, l := range list {
		if inside[l.For] {
			return list[:i]
		}
	}
	return list
}

// isPartOf reports whether e is, or lies in, what r reduces: its place, or of a part of an array
// that array, or its index.
func isPartOf(e ir.Expr, r ir.Reduction) bool {
	place := r.Place
	if part, ok := place.(*ir.Reslice); ok {
		place = part.X
	}
	for {
		if query.Same(e, place) || r.Index != nil && query.Same(e, r.Index) {
			return true
		}
		switch x := e.(type) {
		case *ir.Index:
			e = x.X
		case *ir.Member:
			e = x.X
		default:
			return false
		}
	}
}

// inference collects the regions of one parameter.
type inference struct {
	k          *ir.Kernel
	v          *ir.Var
	shape      []ir.Expr
	list       []ir.Access
	boxes      []tile
	why        string // the reason why an access is to the whole parameter
	readsAll   bool
	writesAll  bool
	writesSome bool
}

func (in *inference) add(r Reach) {
	region, exact, ok := in.region(r)
	mode := deps.In
	switch {
	case r.Write && exact && r.Is(Certain) && !r.Atomic:
		mode = deps.Out
	case r.Write:
		mode = deps.InOut
	}
	in.writesSome = in.writesSome || r.Write
	if !ok {
		if r.Write && r.Is(Certain) && !r.Atomic {
			mode = deps.Out // the tile is exact only if it is dense
		}
		if t, isTile := in.tileOf(r, mode); isTile && in.shape == nil {
			in.boxes = append(in.boxes, t)
			return
		}
		in.why = cmp.Or(in.why, in.whyWhole(r))
		in.writesAll, in.readsAll = in.writesAll || r.Write, in.readsAll || !r.Write
		return
	}
	in.list = append(in.list, ir.Access{Region: region, Mode: mode})
}

// accesses merges the collected accesses. A read or write of the whole parameter replaces the reads
// or writes of its parts.
func (in *inference) accesses() []ir.Access {
	whole := ir.Region{Var: in.v, Text: in.text(), At: in.v.At}
	in.list = append(in.list, in.tiles()...)
	var out []ir.Access
	switch {
	case in.writesAll:
		return []ir.Access{{Region: whole, Mode: deps.InOut, Why: in.why}}
	case in.readsAll && in.writesSome && slices.ContainsFunc(in.list, func(a ir.Access) bool { return query.IsWhole(a.Region) && a.Mode.Writes() }):
		return []ir.Access{{Region: whole, Mode: deps.InOut, Why: in.why}}
	case in.readsAll:
		out = []ir.Access{{Region: whole, Mode: deps.In, Why: in.why}}
		in.list = slices.DeleteFunc(in.list, func(a ir.Access) bool { return a.Mode == deps.In })
	}
	return MergeAccesses(append(out, in.list...))
}

func (in *inference) text() string {
	if in.v.Type.Kind == ir.Pointer {
		return "*" + in.v.Name
	}
	return in.v.Name
}

// region returns a region of the parameter that contains the elements that r accesses. exact is
// true if it contains no other element.
func (in *inference) region(r Reach) (region ir.Region, exact, ok bool) {
	region = ir.Region{Var: in.v, Text: in.text(), At: r.At}
	if in.v.Type.Kind == ir.Pointer {
		return region, true, true
	}
	spans, ok := r.Spans(in.shape, in.k.Params)
	if !ok {
		return region, false, false
	}
	exact = !slices.ContainsFunc(spans, func(s Span) bool { return !s.Dense })
	if len(spans) > 1 && (!exact || !r.Is(Certain)) {
		return region, false, false // cutting a column at its extent would lose the elements that wrap into the next row
	}
	region.Shape = in.shape
	for _, s := range spans {
		region.Dims = append(region.Dims, in.dimension(r, s, exact))
	}
	if len(spans) == 1 && len(in.shape) < 2 && in.covers(region.Dims[0]) {
		region.Dims, region.Shape = nil, nil
	}
	region.Text = RegionText(region)
	return region, exact, true
}

// whyWhole returns the reason why r counts as an access to the whole parameter.
func (in *inference) whyWhole(r Reach) string {
	text := query.Source(r.Expr)
	if r.Through != nil {
		return fmt.Sprintf("%s (%v) is of %s, which is assigned in several places", text, r.At, r.Through.Name)
	}
	if !r.Index.Known() {
		return fmt.Sprintf("the index of %s (%v) is not a sum of products of parameters and loop variables", text, r.At)
	}
	for _, l := range r.Loops {
		if !l.Known && r.Index.Has(l.Var) {
			return fmt.Sprintf("the bounds of loop %s around %s (%v) depend on data", l.Var.Name, text, r.At)
		}
	}
	if _, ok := r.Spans(in.shape, in.k.Params); ok {
		return fmt.Sprintf("%s (%v) may leave its row, or leave elements of it out", text, r.At)
	}
	return fmt.Sprintf("%s (%v) is no box of a row-major array of lengths that parameters give", text, r.At)
}

// covers reports whether d is the whole slice.
func (in *inference) covers(d ir.Range) bool {
	lo, ok1 := affine.Of(d.Lo)
	hi, ok2 := affine.Of(d.Hi)
	c, zero := lo.Const()
	return ok1 && ok2 && zero && c == 0 && hi.Equal(affine.OfAtom(affine.Atom{Var: in.v, Of: affine.LenOf}))
}

// dimension returns [s.Lo, s.Hi+1), empty if a loop around r has no iteration. If the range is only
// an upper bound, or r may not be executed, dimension clips it to the slice, so that the region is
// inside the slice whenever the kernel's accesses are.
func (in *inference) dimension(r Reach, s Span, exact bool) ir.Range {
	lo, hi := s.Lo.Expr(r.At), s.Hi.AddConst(1).Expr(r.At)
	if !exact || !r.Is(Certain) || r.Is(Reduced) && in.shape == nil {
		if !AtLeast(s.Lo, 0) {
			lo = build.IntMath(ir.IMax, lo, build.Int(0, r.At))
		}
		if length := affine.OfAtom(affine.Atom{Var: in.v, Of: affine.LenOf}); !AtLeast(length.Sub(s.Hi), 1) {
			hi = build.IntMath(ir.IMin, hi, length.Expr(r.At))
		}
	}
	if cond := in.nonEmpty(r); cond != nil && !s.Single {
		hi = &ir.Select{Cond: cond, X: hi, Y: lo, At: r.At}
	}
	return ir.Range{Lo: lo, Hi: hi}
}

// nonEmpty returns the condition under which all loops around r whose bounds the host can evaluate
// have an iteration; nil if they always have one.
func (in *inference) nonEmpty(r Reach) ir.Expr {
	var cond ir.Expr
	for _, l := range r.Loops {
		if n, ok := ConstTrips(l.For); ok && n > 0 || !l.Known {
			continue
		}
		lo, hi := l.Ends()
		if !OnHost(lo, in.k.Params) || !OnHost(hi, in.k.Params) {
			continue
		}
		test := &ir.Binary{Op: ir.Le, X: lo.Expr(r.At), Y: hi.Expr(r.At), T: ir.BoolType, At: r.At}
		if cond == nil {
			cond = test
			continue
		}
		cond = &ir.Binary{Op: ir.LAnd, X: cond, Y: test, T: ir.BoolType, At: r.At}
	}
	return cond
}

// RegionText returns r as an author would write it in a clause.
func RegionText(r ir.Region) string {
	text := ""
	for _, n := range r.Shape {
		if n == nil {
			text += "[]"
			continue
		}
		text += "[" + query.Source(n) + "]"
	}
	text += r.Var.Name
	for _, d := range r.Dims {
		text += "[" + query.Source(d.Lo)
		if d.Hi != nil {
			text += ":" + query.Source(d.Hi)
		}
		text += "]"
	}
	return text
}

// MergeAccesses removes duplicates, and merges an in and an out access to the same region into
// inout.
func MergeAccesses(list []ir.Access) []ir.Access {
	var out []ir.Access
	for _, a := range list {
		i := slices.IndexFunc(out, func(b ir.Access) bool { return SameRegion(a.Region, b.Region) })
		if i < 0 || !mergeModes(&out[i], a) {
			out = append(out, a)
		}
	}
	return out
}

// mergeModes merges access b into a, an access to the same region, if one mode can represent both.
func mergeModes(a *ir.Access, b ir.Access) bool {
	plain := func(m deps.Mode) bool { return m == deps.In || m == deps.Out || m == deps.InOut }
	switch {
	case a.Mode == b.Mode && a.Op == b.Op:
		return true
	case plain(a.Mode) && plain(b.Mode):
		a.Mode = deps.InOut
		return true
	}
	return false
}

// SameRegion reports whether the expanded texts of a and b are equal.
func SameRegion(a, b ir.Region) bool {
	if a.Var != b.Var || len(a.Shape) != len(b.Shape) || len(a.Dims) != len(b.Dims) || !query.Same(a.When, b.When) {
		return false
	}
	for i := range a.Shape {
		if !query.Same(a.Shape[i], b.Shape[i]) {
			return false
		}
	}
	for i := range a.Dims {
		if !query.Same(a.Dims[i].Lo, b.Dims[i].Lo) || !query.Same(a.Dims[i].Hi, b.Dims[i].Hi) {
			return false
		}
	}
	return true
}
