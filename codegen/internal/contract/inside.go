package contract

import (
	"github.com/gompss/gompss/codegen/internal/analysis"
	"github.com/gompss/gompss/codegen/internal/analysis/affine"
	"github.com/gompss/gompss/codegen/ir"
)

// RegionList returns the regions of list as text, for messages.
func RegionList(list []ir.Access) string {
	text := ""
	for i, a := range list {
		if i > 0 {
			text += ", "
		}
		text += a.Region.Text
	}
	return text
}

// InRegion reports whether all that r touches is provably in region.
func InRegion(k *ir.Kernel, r analysis.Reach, region ir.Region) bool {
	if len(region.Dims) == 1 && len(region.Shape) < 2 {
		a, b, ok := RangeForms(region.Dims[0])
		if ok && r.Knows(r.Index.Sub(a), k.Params) && r.Knows(b.AddConst(-1).Sub(r.Index), k.Params) {
			return true
		}
	}
	spans, ok := r.Spans(region.Shape, k.Params)
	if !ok || !InsideRows(spans, region) {
		return false
	}
	for i, d := range region.Dims {
		a, b, ok := RangeForms(d)
		if !ok || !analysis.AtLeast(spans[i].Lo.Sub(a), 0) || !analysis.AtLeast(b.Sub(spans[i].Hi), 1) {
			return false
		}
	}
	return true
}

// InsideRows reports whether the spans of all dimensions but the first stay inside the shape, so
// that they are the coordinates of what is touched and nothing wraps into the next row.
func InsideRows(spans []analysis.Span, region ir.Region) bool {
	for i := 1; i < len(spans); i++ {
		s := spans[i]
		extent, known := affine.Of(region.Shape[i])
		low, high := analysis.AtLeast(s.Lo, 0), known && analysis.AtLeast(extent.Sub(s.Hi), 1)
		if i < len(region.Dims) {
			if a, b, ok := RangeForms(region.Dims[i]); ok {
				low, high = low || analysis.AtLeast(s.Lo.Sub(a), 0), high || analysis.AtLeast(b.Sub(s.Hi), 1)
			}
		}
		if !low || !high {
			return false
		}
	}
	return true
}

// RectangularNest reports whether no loop's bounds depend on another one's variable, so that where
// all of them run, every combination of their variables occurs.
func RectangularNest(loops []analysis.LoopRange) bool {
	for _, l := range loops {
		if !l.Known || analysis.BoundsHave(loops, l.Var) {
			return false
		}
	}
	return true
}

// RangeForms returns [a, b) of a dimension as forms.
func RangeForms(d ir.Range) (a, b affine.Form, ok bool) {
	a, ok1 := affine.Of(d.Lo)
	if d.Hi == nil {
		return a, a.AddConst(1), ok1
	}
	b, ok2 := affine.Of(d.Hi)
	return a, b, ok1 && ok2
}
