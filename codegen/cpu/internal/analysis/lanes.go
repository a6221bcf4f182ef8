package analysis

import (
	"github.com/gompss/gompss/codegen/cpu/prepare"
	"github.com/gompss/gompss/codegen/ir"
)

// HoldsLanes reports whether a loop in f, or f, is chosen already.
func HoldsLanes(lanes map[*ir.For]bool, f *ir.For) bool {
	found := lanes[f]
	ir.WalkStmts(f.Body, func(s ir.Stmt) bool {
		if inner, ok := s.(*ir.For); ok && lanes[inner] {
			found = true
		}
		return !found
	})
	return found
}

// ChooseLanes decides which loop's iterations become lanes: the parallel loop itself, or a loop in
// it that a directive or a collapse clause frees, by what its accesses would cost. Between equals
// the outer loop wins: no sums across lanes.
func ChooseLanes(parallel *ir.For) *ir.For {
	best, cost := parallel, laneCost(parallel)
	var look func(body []ir.Stmt, free int)
	look = func(body []ir.Stmt, free int) {
		for _, s := range body {
			f, ok := s.(*ir.For)
			if !ok {
				ir.Lists(s, func(inner []ir.Stmt) { look(inner, 0) })
				continue
			}
			inner := free - 1
			if d := f.Directive; d != nil {
				inner = max(inner, d.Collapse-1)
			}
			if free > 0 || f.Directive != nil && f.Directive.Parts&(ir.Simd|ir.Loop|ir.Workshare) != 0 {
				if c := laneCost(f); c < cost {
					best, cost = f, c
				}
			}
			look(f.Body, inner)
		}
	}
	free := 0
	if parallel.Directive != nil {
		free = parallel.Directive.Collapse - 1
	}
	look(parallel.Body, free)
	return best
}

// laneCost weighs the accesses of a loop as lanes: neighbours and one element for all are cheap,
// everything else is a gather; loops inside count more.
func laneCost(f *ir.For) float64 {
	step, ok := ir.ConstStep(f)
	if !ok || f.Rel == ir.Ne {
		return 1e18
	}
	s := ShapesOf(f, step)
	total, weight := 0.0, 0.0
	var walk func(body []ir.Stmt, w float64)
	walk = func(body []ir.Stmt, w float64) {
		for _, st := range body {
			ir.StmtExprs(st, func(e ir.Expr) {
				ir.WalkExpr(e, func(x ir.Expr) bool {
					if ix, ok := x.(*ir.Index); ok && ix.X.Type().Kind == ir.Slice {
						total += w * accessCost(s, ix)
						weight += w
					}
					return true
				})
			})
			in := w
			switch l := st.(type) {
			case *ir.For:
				in = 8 * w
				if (&ShapeWalk{Shapes: s}).VariesFor(l) {
					total += 4 * in
				}
			case *ir.While:
				in = 8 * w
			}
			ir.Lists(st, func(inner []ir.Stmt) { walk(inner, in) })
		}
	}
	walk(f.Body, 1)
	if weight == 0 {
		return 1
	}
	return total / weight
}

func accessCost(s *Shapes, ix *ir.Index) float64 {
	switch sh := s.Shape(ix.I); {
	case sh.Kind == Uniform:
		return 1
	case sh.Kind == Affine && (sh.Stride == 1):
		return 1
	}
	return 8
}

// LaneBytes is the size of the widest value that differs between lanes: it decides how many lanes a
// vector has.
func LaneBytes(f *ir.For) int {
	step, _ := ir.ConstStep(f)
	s := ShapesOf(f, step)
	size := 4
	var value func(e ir.Expr)
	index := func(at *ir.Index) {
		if e := GatherIndex(at); s.Shape(e).Kind == Varying {
			value(e)
		}
	}
	value = func(e ir.Expr) {
		if e == nil {
			return
		}
		t := e.Type()
		if t.IsScalar() && t.Size == 8 && (t.IsFloat() || s.Shape(e).Kind != Uniform) {
			size = 8
		}
		switch e := e.(type) {
		case *ir.Index:
			index(e)
			if e.X.Type().Kind != ir.Slice {
				if s.Shape(e).Kind == Varying && !plainElement(e, s) {
					size = 8 // counted in bytes
				}
				value(e.X)
			}
			return
		case *ir.Len, *ir.Cap:
			return
		case *ir.Binary:
			if e.T.Kind == ir.Bool && s.Shape(e).Kind == Uniform {
				return
			}
		}
		ir.Operands(e, value)
	}
	place := func(e ir.Expr) {
		if ix, ok := e.(*ir.Index); ok && e.Type().IsScalar() && e.Type().Size == 8 {
			size = 8
			index(ix)
			return
		}
		value(e)
	}
	ir.WalkStmts(f.Body, func(st ir.Stmt) bool {
		switch st := st.(type) {
		case *ir.Assign:
			if r, ok := st.Place.(*ir.Ref); ok && s.Of[r.Var].Kind == Uniform && r.Var.Type.IsInteger() {
				return true
			}
			place(st.Place)
			value(st.Value)
			return true
		case *ir.Decl:
			if st.Init != nil && st.Var.Type.IsInteger() && s.Of[st.Var].Kind != Varying {
				return true
			}
			value(st.Init)
			return true
		case *ir.For:
			if s.Of[st.Var].Kind != Varying {
				return true // its counter and bounds are single numbers
			}
			if st.Var.Type.Size == 8 {
				size = 8
			}
		}
		ir.StmtExprs(st, value)
		return true
	})
	ir.Inspect(f.Body, nil, func(e ir.Expr) { // also those whose value is the same in all lanes: what it is compared with is not
		if b, ok := e.(*ir.Binary); ok && b.Op == prepare.Within && (s.Shape(b.X).Kind == Varying || s.Shape(b.Y).Kind != Uniform) {
			size = 8
		}
	})
	for _, r := range ReductionsOf(f) { // also those of what the loop does not touch
		if takesEight(r.Place.Type()) || r.Index != nil && takesEight(r.Index.Type()) {
			size = 8
		}
	}
	return size
}

// takesEight reports whether lanes of a scalar, or of the elements of an array, which memory of the
// kernel may hold as a slice, take 8 bytes.
func takesEight(t *ir.Type) bool {
	for t.Kind == ir.Array || t.Kind == ir.Slice {
		t = t.Elem
	}
	return t.IsScalar() && t.Size == 8
}

// plainElement reports whether the place of an element in an array, itself in an element of a
// slice, is affine or uniform.
func plainElement(e ir.Expr, s *Shapes) bool {
	switch e := e.(type) {
	case *ir.Index:
		if s.Shape(e.I).Kind == Varying {
			_, isConst := ir.ConstInt(e.I)
			return isConst
		}
		return e.X.Type().Kind == ir.Slice || plainElement(e.X, s)
	case *ir.Member:
		return plainElement(e.X, s)
	}
	return false
}
