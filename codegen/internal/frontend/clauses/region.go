package clauses

import (
	"fmt"
	"slices"
	"strings"

	"github.com/gompss/gompss/codegen/internal/frontend/source"
	"github.com/gompss/gompss/codegen/internal/syntax"
	"github.com/gompss/gompss/codegen/ir"
	"github.com/gompss/gompss/codegen/ir/build"
	"github.com/gompss/gompss/codegen/ir/query"
)

// regions reads a list of regions.
func (r *kernelReader) regions(what string, args syntax.Piece) []ir.Region {
	var out []ir.Region
	list := args.Split(',')
	if r.count += len(list); r.count > source.MaxRegions {
		if r.count-len(list) <= source.MaxRegions {
			r.fail(args, what, fmt.Sprintf("kernel %s has %d regions here and above, at most %d", r.k.Name, r.count, source.MaxRegions), "name larger regions")
		}
		r.b.Incomplete.All = true
		return nil
	}
	for _, p := range list {
		if r.isValue(what, p) {
			continue
		}
		if region, ok := r.region(what, p); ok {
			out = append(out, region)
		} else {
			r.noteIncomplete(p)
		}
	}
	return out
}

// noteIncomplete marks the parameters that p, a region with an error, may describe: those that it
// names, or nearly names.
func (r *kernelReader) noteIncomplete(p syntax.Piece) {
	if r.b.Incomplete.Vars == nil {
		r.b.Incomplete.Vars = map[*ir.Var]bool{}
	}
	named := false
	for _, word := range strings.FieldsFunc(p.Text, syntax.NotInWord) {
		for _, v := range r.k.Params {
			if v.Name == word && ir.HoldsAddress(v.Type) {
				r.markIncomplete(v)
				named = true
			}
		}
	}
	if named {
		return
	}
	_, rest, _ := brackets(p)
	name, _ := syntax.NextWord(syntax.Piece{Text: strings.TrimLeft(rest.Text, "*"+syntax.Blanks)})
	names := make([]string, len(r.k.Params))
	for i, v := range r.k.Params {
		names[i] = v.Name
	}
	meant := name.Text
	if !slices.Contains(names, meant) {
		meant = syntax.Nearest(meant, names)
	}
	i := slices.Index(names, meant)
	if i < 0 || meant == "" {
		r.b.Incomplete.Name = true
		return
	}
	r.markIncomplete(r.k.Params[i])
}

// markIncomplete records that a region with an error may be of v, or of any leaf of it.
func (r *kernelReader) markIncomplete(v *ir.Var) {
	for _, v := range r.b.SplitVars([]*ir.Var{v}) {
		r.b.Incomplete.Vars[v] = true
	}
}

// region reads x, *p, x[i], x[lo:hi], x[start;length] and the shaped forms [n][m]x[i][lo:hi].
func (r *kernelReader) region(what string, p syntax.Piece) (ir.Region, bool) {
	shape, rest, ok := brackets(p)
	if !ok {
		r.fail(rest, what, "brackets do not match in "+p.Text, "write x[lo:hi]")
		return ir.Region{}, false
	}
	if strings.HasPrefix(rest.Text, "*") {
		return r.pointee(what, p, shape, rest.From(1).Trim())
	}
	name, rest := fieldPath(withoutParens(rest))
	dims, after, ok := brackets(rest)
	if len(name) == 0 || !ok || after.Text != "" {
		r.fail(p, what, "'"+p.Text+"' is not a region", "write x, *p, x[i], x[lo:hi], x[start;length] or [n][m]x[i][lo:hi]")
		return ir.Region{}, false
	}
	v := r.parameterPart(what, name)
	if v != nil && v.Type.Kind == ir.Pointer && v.Type.Elem.Kind == ir.Array {
		return r.arrayPart(what, p, v, shape, dims)
	}
	if v == nil || !r.isMemory(what, name[0], v) {
		return ir.Region{}, false
	}
	region := ir.Region{Var: v, Text: p.Text, At: r.b.Pos(p.At)}
	if region.Shape = r.shapes[v]; len(shape) > 0 {
		region.Shape = r.extents(what, shape)
	}
	if n := max(len(region.Shape), 1); len(dims) > n {
		why, verb := tooManyDims(v, len(region.Shape)), "give it a shape"
		if len(region.Shape) > 0 {
			verb = "give it a shape of more dimensions"
		}
		r.fail(dims[n], what, why, verb+": //omp:shape "+v.Name+" "+strings.Repeat("[n]", len(dims)))
		return ir.Region{}, false
	}
	for i, d := range dims {
		rg, ok := r.dimension(what, d, r.extent(region, i, p))
		if !ok {
			return ir.Region{}, false
		}
		region.Dims = append(region.Dims, rg)
	}
	return region, true
}

func tooManyDims(v *ir.Var, n int) string {
	switch n {
	case 0:
		return v.Name + " has one dimension"
	case 1:
		return v.Name + " has only the one dimension of its shape"
	}
	return v.Name + " has only the dimensions of its shape"
}

// pointee reads the operand of a star.
func (r *kernelReader) pointee(what string, p syntax.Piece, shape []syntax.Piece, operand syntax.Piece) (ir.Region, bool) {
	name, rest := fieldPath(operand)
	if rest.Text != "" || len(name) == 0 {
		name = []syntax.Piece{operand}
	}
	v := r.parameterPart(what, name)
	switch {
	case v == nil, v.Type.Kind == ir.Invalid:
	case v.Type.Kind != ir.Pointer:
		r.fail(p, what, v.Name+" is "+v.Type.String()+", not a pointer", "write "+v.Name)
	case len(shape) > 0:
		r.fail(p, what, "a pointer has no shape", "write *"+v.Name)
	default:
		return ir.Region{Var: v, Text: p.Text, At: r.b.Pos(p.At)}, true
	}
	return ir.Region{}, false
}

// withoutParens turns (*x)... into x...: both mean the array that x points at.
func withoutParens(p syntax.Piece) syntax.Piece {
	if strings.HasPrefix(p.Text, "(") {
		if end := p.Closing(); end > 0 {
			if inner := p.Sub(1, end).Trim(); strings.HasPrefix(inner.Text, "*") {
				inner = inner.From(1).Trim()
				return syntax.Piece{Text: inner.Text + p.Text[end+1:], At: inner.At}
			}
		}
	}
	return p
}

// isValue reports whether p, in a clause in or copy_in, is an array or struct that is passed by
// value, or a part of one: it is part of the arguments and needs no access.
func (r *kernelReader) isValue(what string, p syntax.Piece) bool {
	if what != "clause in" && what != "clause copy_in" {
		return false
	}
	name, rest := fieldPath(p)
	dims, after, ok := brackets(rest)
	if len(name) == 0 || !ok || after.Text != "" {
		return false
	}
	v, why := r.partOf(name)
	if why != nil || ir.HoldsAddress(v.Type) {
		return false
	}
	t := v.Type
	for _, d := range dims {
		if t.Kind != ir.Array {
			return false
		}
		if rg, ok := r.dimension(what, d, build.Int(t.Len, r.b.Pos(d.At))); !ok || !r.insideArray(what, d, rg, t) {
			return true // reported
		}
		t = t.Elem
	}
	return v.Type.Kind == ir.Array || v.Type.Kind == ir.Struct
}

// arrayPart reads a, a[i] and a[lo:hi] of a pointer a to an array. The access is to all of the
// array: a is one element of memory.
func (r *kernelReader) arrayPart(what string, p syntax.Piece, v *ir.Var, shape, dims []syntax.Piece) (ir.Region, bool) {
	if len(shape) > 0 || len(dims) > 1 {
		r.fail(p, what, v.Name+" is a pointer to an array, which has its shape by its type", "write *"+v.Name)
		return ir.Region{}, false
	}
	whole := ir.Region{Var: v, Text: "*" + v.Name, At: r.b.Pos(p.At)}
	if len(dims) == 0 {
		return whole, true
	}
	d, ok := r.dimension(what, dims[0], build.Int(v.Type.Elem.Len, whole.At))
	if !ok {
		return whole, false
	}
	lo, hi, constant := constantRange(d)
	switch {
	case !r.insideArray(what, dims[0], d, v.Type.Elem):
		return whole, false
	case what == "clause out" && !(constant && lo == 0 && hi == v.Type.Elem.Len):
		r.fail(p, what, "a part of an array behind a pointer cannot be promised alone", "write inout(*"+v.Name+")")
		return whole, false
	case what == "clause reduction":
		r.fail(p, what, "a part of an array behind a pointer is not combined alone", "write *"+v.Name)
		return whole, false
	}
	return whole, true
}

// insideArray reports whether a range lies in an array of type t as far as it is constant, and
// reports where it does not.
func (r *kernelReader) insideArray(what string, p syntax.Piece, d ir.Range, t *ir.Type) bool {
	if lo, hi, ok := constantRange(d); ok && (lo > hi || hi > t.Len) {
		r.fail(p, what, "["+p.Text+"] is outside of "+t.String(), "write a part of it")
		return false
	}
	return true
}

// constantRange returns the bounds of a range where they are constant.
func constantRange(d ir.Range) (lo, hi int64, ok bool) {
	lo, ok = query.Int64(d.Lo)
	if d.Hi == nil {
		return lo, lo + 1, ok
	}
	hi, known := query.Int64(d.Hi)
	return lo, hi, ok && known
}

// isMemory reports a parameter that is no slice.
func (r *kernelReader) isMemory(what string, p syntax.Piece, v *ir.Var) bool {
	switch v.Type.Kind {
	case ir.Invalid: // reported where it is declared
	case ir.Slice:
		return true
	case ir.Pointer:
		r.fail(p, what, v.Name+" is a pointer", "write *"+v.Name)
	default:
		instead := "leave it out: it needs no access"
		if what != "clause in" && what != "clause copy_in" && v.Type.IsScalar() {
			instead = "give the value back through a parameter of type *" + v.Type.String() + ", or leave it out"
		}
		r.fail(p, what, v.Name+" is "+v.Type.String()+", which is passed by value", instead)
	}
	return false
}

// extent returns the length of dimension i of region: of the whole slice where it has no shape. It
// is nil where the first extent of a shape is left open.
func (r *kernelReader) extent(region ir.Region, i int, p syntax.Piece) ir.Expr {
	if len(region.Shape) > 0 {
		return region.Shape[i]
	}
	at := r.b.Pos(p.At)
	return &ir.Len{X: &ir.Ref{Var: region.Var, At: at}, At: at}
}

// dimension reads i, lo:hi with either bound left out, and start;length.
func (r *kernelReader) dimension(what string, p syntax.Piece, extent ir.Expr) (ir.Range, bool) {
	at := r.b.Pos(p.At)
	if start, length, found := p.Cut(';'); found {
		lo, n := r.index(what, start), r.index(what, length)
		if lo == nil || n == nil {
			return ir.Range{}, false
		}
		return ir.Range{Lo: lo, Hi: &ir.Binary{Op: ir.Add, X: lo, Y: n, T: ir.IntType, At: at}}, true
	}
	first, second, found := p.Cut(':')
	if bad, instead := notARange(p); bad != "" {
		r.fail(p, what, bad, instead)
		return ir.Range{}, false
	}
	if !found {
		lo := r.index(what, p)
		return ir.Range{Lo: lo}, lo != nil
	}
	out := ir.Range{Lo: build.Int(0, at), Hi: extent}
	if first.Text != "" {
		out.Lo = r.index(what, first)
	}
	if second.Text != "" {
		out.Hi = r.index(what, second)
	} else if extent == nil {
		r.fail(p, what, "the first extent of the shape is open, so the range needs an upper bound", "write lo:hi")
	}
	return out, out.Lo != nil && out.Hi != nil
}

// notARange recognises how other languages write ranges and several indices.
func notARange(p syntax.Piece) (why, instead string) {
	if lo, hi, found := strings.Cut(p.Text, ".."); found {
		return p.Text + " is no range of Go", "write " + strings.TrimSpace(lo) + ":" + strings.TrimSpace(strings.TrimLeft(hi, ".<="))
	}
	if parts := p.Split(','); len(parts) > 1 {
		return "an index stands alone in its brackets, and a range has a colon", "write [" + parts[0].Text + ":" + parts[1].Text + "] for a range, [" +
			parts[0].Text + "][" + parts[1].Text + "] for two dimensions"
	}
	return "", ""
}

// index returns an integer expression as an int; a constant one is not negative.
func (r *kernelReader) index(what string, p syntax.Piece) ir.Expr {
	e := r.integer(what, p)
	if v, ok := query.Int64(e); ok && v < 0 {
		r.fail(p, what, p.Text+" is negative, and a region lies inside the slice", "write 0 or more")
		return nil
	}
	if e == nil || e.Type().Kind == ir.Int64 {
		return e
	}
	return &ir.Convert{T: ir.IntType, X: e, At: e.Pos()}
}
