package analysis

import (
	"fmt"
	"math"

	"github.com/gompss/gompss/codegen/ir"
)

// FoldsLanes tells the updates of integers in which the values of all lanes may be put together
// first.
func FoldsLanes(s *ir.Atomic) bool {
	switch s.Op {
	case ir.Add, ir.Sub, ir.And, ir.Or, ir.Xor, ir.Min, ir.Max:
		return s.Place.Type().IsInteger() && !s.Swapped
	}
	return false
}

// weight is what a part of a loop is expected to cost in cycles: all lanes at once, and one of them
// alone.
type weight struct{ lanes, one float64 }

func (w *weight) add(lanes, one float64) { w.lanes, w.one = w.lanes+lanes, w.one+one }

// weighing adds up the cost of the iterations of one loop.
type weighing struct {
	*Shapes
	avx512  bool
	count   float64 // lanes
	walks   ir.Pos  // the first loop that lanes leave at different times
	gathers int     // in such loops
	apart   int     // gathers and scatters elsewhere
	first   *ir.Index
	slow    *ir.Binary // the first operation on integers that AVX2 has no instruction for
	updates int        // atomic, of which lanes make one after the other
	update  *ir.Atomic // the first of them
	unfit   bool       // something in it is only good in vectors
	rows    bool       // lanes are iterations of a short loop inside
}

// roundTrips is how often loops inside are expected to go round. The others are cycles, of one
// number alone: several of them begin in one.
const (
	roundTrips   = 8
	perOperation = 0.4
	perLoad      = 0.5
	// Lanes that leave a loop one by one wait for the last: about so much longer than the average,
	// where it counts and where it searches.
	waitCounted = 1.1
	waitSearch  = 1.7
)

// WithoutLanes reports whether a parallel loop is better run one iteration after the other than in
// vectors of so many bytes, and why. arrays are the local arrays of the kernel.
func WithoutLanes(loop *ir.For, arrays map[*ir.Var]int64, bytes int, avx512 bool) (why string, ok bool) {
	d := loop.Directive
	if d == nil || !fitsWithoutLanes(loop, arrays) || !plainInside(loop) {
		return "", false
	}
	inner := ChooseLanes(loop) // of which the iterations would be lanes
	switch {
	case inner != loop && !fitsWithoutLanes(inner, arrays):
		return "", false
	case d.Collapse > 1 && !reads(inner.Lo) && !reads(inner.Hi): // rows of one length fill their lanes
		return "", false
	}
	step, _ := ir.ConstStep(inner)
	w := &weighing{Shapes: ShapesOf(inner, step), avx512: avx512, count: float64(bytes / LaneBytes(inner))}
	total := w.list(inner.Body, false)
	times := total.lanes / w.count / total.one
	if inner != loop {
		times = w.short(inner, total)
	}
	if w.unfit || w.gathers+w.apart+w.updates == 0 && w.walks == (ir.Pos{}) || times*0.8 < 1 {
		return "", false
	}
	return fmt.Sprintf("the loop at %s runs one iteration after the other: %s", loop.At, w.reason(times)), true
}

// fitsWithoutLanes tells the loops that have such code and ask for no lanes.
func fitsWithoutLanes(loop *ir.For, arrays map[*ir.Var]int64) bool {
	_, constant := ir.ConstStep(loop)
	if !constant || loop.Rel == ir.Ne {
		return false
	}
	d := loop.Directive
	return d == nil || d.Parts&ir.Simd == 0 && d.Simdlen == 0 && onlyArrays(d.Reductions, arrays) && len(d.Lastprivate) == 0
}

// perEntry is what it takes to enter a loop in lanes and to leave it, in cycles: its bounds are
// made masks, and its first and last rounds run under these.
const perEntry = 24

// short returns how many times the work of a loop inside another one would be in lanes. Where its
// bounds are read from memory it is expected to go round roundTrips times.
func (w *weighing) short(inner *ir.For, total weight) float64 {
	if !reads(inner.Lo) && !reads(inner.Hi) {
		return total.lanes / w.count / total.one
	}
	if w.walks == (ir.Pos{}) {
		w.walks = inner.At
	}
	w.rows = true
	return (perEntry + math.Ceil(roundTrips/w.count)*total.lanes) / (roundTrips * (1.2 + total.one))
}

// reads reports whether e reads memory.
func reads(e ir.Expr) (found bool) {
	ir.WalkExpr(e, func(x ir.Expr) bool {
		_, ok := x.(*ir.Index)
		found = found || ok
		return !found
	})
	return found
}

// reason says what lanes would do, and what to change.
func (w *weighing) reason(times float64) string {
	switch {
	case w.rows:
		return fmt.Sprintf("in lanes, each row of the loop at %s would be entered on its own, and rows are expected to be short, about %.1f times the work; "+
			"to have lanes, write //omp:simd above that inner loop", w.walks, times)
	case w.updates > 0:
		return fmt.Sprintf("in lanes, the atomic update of %s, and %d in all, would be made for one lane after the other, about %.1f times the work; "+
			"to have lanes, write a reduction, or add simd to the directive", ir.Source(w.update.Place), w.updates, times)
	case w.gathers > 0:
		return fmt.Sprintf("in lanes, each would walk the loop at %s on its own, with gathers and scatters at %d places, and wait for "+
			"the longest, about %.1f times the work; to have lanes, write //omp:simd above that inner loop, or store the rows so that neighbouring iterations read neighbours",
			w.walks, w.gathers, times)
	case w.apart > 0:
		return fmt.Sprintf("in lanes, %s and the like, at %d places, would be gathers and scatters, which take the elements one by one, about %.1f times the work; "+
			"to have lanes, compute what is looked up, or add simd to the directive", ir.Source(w.first), w.apart, times)
	case w.slow != nil:
		return fmt.Sprintf("in lanes, each would leave the loop at %s on its own, and all wait for the longest, with %s in it, which AVX2 has no instruction for, about %.1f times the work; "+
			"to have lanes, run it on a machine with AVX-512, use shorter integers or floats, or add simd to the directive", w.walks, ir.Source(w.slow), times)
	}
	return fmt.Sprintf("in lanes, each would leave the loop at %s on its own, and all wait for the longest, about %.1f times the work; "+
		"to have lanes, use types of fewer bytes, or add simd to the directive", w.walks, times)
}

// onlyArrays tells the reductions that need no lanes: each of many elements, of which an iteration
// touches a few. Sums of single variables would wait for one another.
func onlyArrays(reductions []ir.Reduction, arrays map[*ir.Var]int64) bool {
	for _, r := range reductions {
		ref, ok := r.Place.(*ir.Ref)
		if !ok || arrays[ref.Var] == 0 || ref.Var.Type.Elem.Kind == ir.Bool {
			return false
		}
	}
	return true
}

// plainInside tells the bodies without directives of their own, but for atomic updates: the inner
// loops of a collapsed nest have that of the nest.
func plainInside(loop *ir.For) bool {
	plain := true
	ir.WalkStmts(loop.Body, func(s ir.Stmt) bool {
		switch s := s.(type) {
		case *ir.For:
			plain = plain && (s.Directive == nil || s.Directive.At == loop.Directive.At)
		case *ir.Construct:
			plain = false
		}
		return plain
	})
	return plain
}

// list weighs statements; walking says that lanes are in a loop that they leave one by one.
func (w *weighing) list(body []ir.Stmt, walking bool) (sum weight) {
	for _, s := range body {
		ir.StmtExprs(s, func(e ir.Expr) { w.expr(e, walking, &sum) })
		if a, ok := s.(*ir.Assign); ok {
			w.store(a.Place, walking, &sum)
		}
		if a, ok := s.(*ir.Atomic); ok {
			w.atomic(a, &sum)
		}
		walk, wait := false, waitSearch
		switch s := s.(type) {
		case *ir.For:
			if !(&ShapeWalk{Shapes: w.Shapes}).LeavesSplit(s.Body) {
				wait = waitCounted
			}
			walk = (&ShapeWalk{Shapes: w.Shapes}).VariesFor(s) || (&ShapeWalk{Shapes: w.Shapes}).LeavesSplit(s.Body)
		case *ir.While:
			walk = s.Cond != nil && w.Shape(s.Cond).Kind != Uniform || (&ShapeWalk{Shapes: w.Shapes}).LeavesSplit(s.Body)
		case *ir.If:
			sum.add(3, 0.5)
			inner := w.list(s.Then, walking)
			other := w.list(s.Else, walking)
			sum.add(inner.lanes+other.lanes, inner.one+other.one)
			continue
		default:
			ir.Lists(s, func(inner []ir.Stmt) {
				x := w.list(inner, walking)
				sum.add(x.lanes, x.one)
			})
			continue
		}
		if walk && w.walks == (ir.Pos{}) {
			w.walks = s.Pos()
		}
		var inner weight
		ir.Lists(s, func(list []ir.Stmt) {
			x := w.list(list, walking || walk)
			inner.add(x.lanes, x.one)
		})
		lanes := 1.0 + inner.lanes
		if walk {
			lanes = (8 + inner.lanes) * wait
		}
		sum.add(roundTrips*lanes, roundTrips*(1.2+inner.one))
	}
	return sum
}

// expr weighs what evaluating e takes.
func (w *weighing) expr(e ir.Expr, walking bool, sum *weight) {
	if e == nil {
		return
	}
	ir.WalkExpr(e, func(x ir.Expr) bool {
		switch x := x.(type) {
		case *ir.Index:
			w.access(x, walking, 1.2, sum)
		case *ir.Math:
			w.unfit = w.unfit || x.Fn != ir.IMin && x.Fn != ir.IMax && x.Fn != ir.FMA
			sum.add(1, 1)
		case *ir.Binary:
			w.operation(x, sum)
		case *ir.Convert, *ir.Select, *ir.Unary:
			sum.add(1, perOperation)
		}
		return true
	})
}

func (w *weighing) operation(e *ir.Binary, sum *weight) {
	switch {
	case e.Op == ir.Div && e.T.IsFloat():
		sum.add(8, 4)
	case (e.Op == ir.Div || e.Op == ir.Rem) && e.T.Size < 4:
		sum.add(6, 8)
	case (e.Op == ir.Div || e.Op == ir.Rem) && isConstInt(e.Y):
		sum.add(2*float64(e.T.Size), 8)
	case (e.Op == ir.Div || e.Op == ir.Rem) && !w.avx512 && w.Shape(e).Kind == Varying:
		w.lacks(e)
		sum.add(50, 8)
	case e.Op == ir.Div || e.Op == ir.Rem:
		sum.add(20, 8)
	case e.Op == ir.Mul && ir.IsWide(e.T) && !w.avx512 && w.Shape(e).Kind == Varying:
		w.lacks(e)
		sum.add(8, 1)
	default:
		sum.add(1, perOperation)
	}
}

func isConstInt(e ir.Expr) bool {
	_, ok := ir.ConstInt(e)
	return ok
}

func (w *weighing) lacks(e *ir.Binary) {
	if w.slow == nil {
		w.slow = e
	}
}

// access weighs a load, or, with more for each lane, a store.
func (w *weighing) access(x *ir.Index, walking bool, each float64, sum *weight) {
	if x.X.Type().Kind != ir.Slice {
		return
	}
	sh := w.Shape(x.I)
	switch {
	case sh.Kind == Uniform, sh.Kind == Affine && sh.Stride == 1:
		sum.add(1, perLoad)
		return
	case sh.Kind == Affine:
		sum.add(w.count*0.6, perLoad)
		return
	}
	if walking {
		w.gathers++
	} else {
		if w.apart == 0 {
			w.first = x
		}
		w.apart++
	}
	if x.Type().Size < 4 && walking { // under masks, each behind a jump
		each = 4
	} else if x.Type().Size < 4 { // put into registers one by one
		each = 1.2
	} else if !w.avx512 {
		each += 0.3
	}
	sum.add(w.count*each, perLoad)
}

// atomic weighs an update: of neighbours as of plain elements, of one place by integers as a sum,
// and else lane after lane.
func (w *weighing) atomic(s *ir.Atomic, sum *weight) {
	ix, ok := s.Place.(*ir.Index)
	together := ok && s.Kind == ir.AtomicUpdate && s.Old == nil && ix.X.Type().Kind == ir.Slice
	switch {
	case together && w.Shape(ix.I).Kind == Affine:
		sum.add(2, 1)
		return
	case together && w.Shape(ix.I).Kind == Uniform && FoldsLanes(s):
		sum.add(10, 1.5)
		return
	}
	if w.updates == 0 {
		w.update = s
	}
	w.updates++
	sum.add(w.count*4, 1.5)
}

// store adds what a store takes more than the load that expr has taken it for.
func (w *weighing) store(place ir.Expr, walking bool, sum *weight) {
	if x, ok := place.(*ir.Index); ok && x.X.Type().Kind == ir.Slice && w.Shape(x.I).Kind == Varying {
		sum.add(w.count, 0.3)
	}
}
