package analysis

import (
	"slices"

	"github.com/gompss/gompss/codegen/cpu/prepare"
	"github.com/gompss/gompss/codegen/ir"
)

// Shapes holds the shape of every variable inside one lanes loop.
type Shapes struct {
	Lane   *ir.Var
	Step   int64
	Of     map[*ir.Var]Shape
	Inside map[*ir.Var]bool // declared in the loop
	Once   map[*ir.Var]bool // never assigned after its declaration
	inits  map[*ir.Var]ir.Expr
}

// Indices that are computed from the counter by more than sums, as i&(n-1), i/n*m + i%n or max(i-w,
// 0), are neighbours in most vectors of some launches and in none of others. The code looks, and
// gathers or scatters out of line only where they are not.

// Computed reports whether an index is arithmetic of the counter and of numbers that are the same
// for all lanes, with an operation in it that cuts its lines into pieces.
func (s *Shapes) Computed(e ir.Expr) bool {
	pieces := false
	var fits func(e ir.Expr, depth int) bool
	fits = func(e ir.Expr, depth int) bool {
		if s.Shape(e).Kind != Varying {
			return true
		}
		switch e := e.(type) {
		case *ir.Ref:
			init := s.inits[e.Var]
			return init != nil && s.Once[e.Var] && depth > 0 && fits(init, depth-1)
		case *ir.Convert:
			return e.T.IsInteger() && fits(e.X, depth)
		case *ir.Math:
			pieces = true
			return (e.Fn == ir.IMin || e.Fn == ir.IMax) && !slices.ContainsFunc(e.Args, func(x ir.Expr) bool { return !fits(x, depth) })
		case *ir.Binary:
			switch e.Op {
			case ir.And, ir.AndNot, ir.Shr, ir.Shl, ir.Div, ir.Rem:
				pieces = true
			case ir.Add, ir.Sub, ir.Mul, ir.Or, prepare.Within:
			default:
				return false
			}
			return e.T.IsInteger() && fits(e.X, depth) && fits(e.Y, depth)
		}
		return false
	}
	return fits(e, 8) && pieces
}

// A shapeKind says how a value differs between the lanes of a vector.
type shapeKind uint8

const (
	Uniform shapeKind = iota // the same in every lane
	Affine                   // an integer that grows by stride from lane to lane
	Varying
)

// A Shape is a shapeKind with the stride of an affine value, in units of the value.
type Shape struct {
	Kind   shapeKind
	Stride int64
}

func AffineShape(stride int64) Shape {
	if stride == 0 {
		return Shape{}
	}
	return Shape{Affine, stride}
}

// ShapesOf finds the shapes of all variables in the body of a lanes loop: a fixed point from
// "all uniform" up.
//
// Source: uniform and varying as in ISPC; the affine shape is that of stride analysis in outer-loop
// vectorisers.
func ShapesOf(f *ir.For, step int64) *Shapes {
	s := &Shapes{Lane: f.Var, Step: step, Of: map[*ir.Var]Shape{f.Var: AffineShape(step)}, Inside: map[*ir.Var]bool{f.Var: true},
		Once: map[*ir.Var]bool{}, inits: map[*ir.Var]ir.Expr{}}
	ir.WalkStmts(f.Body, func(x ir.Stmt) bool {
		switch d := x.(type) {
		case *ir.Decl:
			if d.Init != nil {
				s.inits[d.Var] = d.Init
			}
		case *ir.For: // lanes that walk neighbouring rows are neighbours in each step
			s.inits[d.Var] = d.Lo
		}
		return true
	})
	for _, v := range ir.Declared(f.Body).List() {
		s.Inside[v] = true
		s.Once[v] = true
		if v.Type.Kind == ir.Slice { // an array of every lane's own
			s.Of[v] = Shape{Kind: Varying}
		}
	}
	for _, v := range ir.Assigned(f.Body).List() {
		delete(s.Once, v)
	}
	for _, r := range ReductionsOf(f) {
		if v := ir.RootVar(r.Place); v != nil {
			s.Of[v] = Shape{Kind: Varying}
		}
		if r.Index != nil {
			s.Of[ir.RootVar(r.Index)] = Shape{Kind: Varying}
		}
	}
	for {
		w := ShapeWalk{Shapes: s}
		w.list(f.Body, false)
		if !w.changed {
			return s
		}
	}
}

func ReductionsOf(f *ir.For) []ir.Reduction {
	if f.Directive == nil {
		return nil
	}
	return f.Directive.Reductions
}

// ShapeWalk is one pass over the body. split says that lanes may be off: control varies around the
// statement.
type ShapeWalk struct {
	*Shapes
	changed bool
}

func (w *ShapeWalk) raise(v *ir.Var, to Shape) {
	old := w.Of[v]
	switch {
	case old == to || old.Kind == Varying:
		return
	case old.Kind == Uniform && to.Kind == Affine && w.Once[v]:
	case old.Kind == Uniform && to.Kind == Uniform:
		return
	default:
		to = Shape{Kind: Varying}
	}
	w.Of[v], w.changed = to, true
}

func (w *ShapeWalk) list(body []ir.Stmt, split bool) {
	for _, s := range body {
		w.stmt(s, split)
		if !split && ir.LeavesLoop(s) && w.splits(s) {
			split = true // lanes that left are off in what follows
		}
	}
}

// splits reports whether s holds a condition that varies.
func (w *ShapeWalk) splits(s ir.Stmt) bool {
	found := false
	ir.WalkStmts([]ir.Stmt{s}, func(s ir.Stmt) bool {
		switch s := s.(type) {
		case *ir.If:
			found = found || w.Shape(s.Cond).Kind != Uniform
		case *ir.While:
			found = found || s.Cond != nil && w.Shape(s.Cond).Kind != Uniform
		case *ir.For:
			found = found || w.VariesFor(s)
		}
		return !found
	})
	return found
}

func (w *ShapeWalk) VariesFor(f *ir.For) bool {
	return w.Shape(f.Lo).Kind != Uniform || w.Shape(f.Hi).Kind != Uniform || w.Shape(f.Step).Kind != Uniform
}

func (w *ShapeWalk) assign(v *ir.Var, to Shape, split bool) {
	if split {
		to = Shape{Kind: Varying}
	}
	w.raise(v, to)
}

func (w *ShapeWalk) stmt(s ir.Stmt, split bool) {
	switch s := s.(type) {
	case *ir.Decl:
		if s.Init != nil {
			w.assign(s.Var, w.Shape(s.Init), split && !w.Once[s.Var])
		}
	case *ir.Assign:
		if r, ok := s.Place.(*ir.Ref); ok {
			w.assign(r.Var, w.Shape(s.Value), split)
		} else if v := ir.RootVar(s.Place); v != nil && v.Type.Kind != ir.Slice && v.Type.Kind != ir.Pointer {
			w.assign(v, Shape{Kind: Varying}, true)
		}
	case *ir.Atomic:
		if v := ir.RootVar(s.Old); s.Old != nil && v != nil {
			w.assign(v, Shape{Kind: Varying}, true)
		}
	case *ir.If:
		in := split || w.Shape(s.Cond).Kind != Uniform
		w.list(s.Then, in)
		w.list(s.Else, in)
	case *ir.Block:
		w.list(s.Body, split)
	case *ir.For:
		apart := w.VariesFor(s) || w.LeavesSplit(s.Body)
		if apart {
			w.raise(s.Var, Shape{Kind: Varying})
		}
		w.list(s.Body, split || apart)
	case *ir.While:
		in := split || s.Cond != nil && w.Shape(s.Cond).Kind != Uniform || w.LeavesSplit(s.Body)
		w.list(s.Pre, in)
		w.list(s.Body, in)
		w.list(s.Post, in)
	}
}

// LeavesSplit reports whether lanes may leave the loop at different times.
func (w *ShapeWalk) LeavesSplit(body []ir.Stmt) bool {
	for _, s := range body {
		if ir.LeavesLoop(s) && w.splits(s) {
			return true
		}
	}
	return false
}

// Shape is the shape of an expression.
func (s *Shapes) Shape(e ir.Expr) Shape {
	switch e := e.(type) {
	case nil, *ir.Const:
		return Shape{}
	case *ir.Ref:
		return s.Of[e.Var]
	case *ir.Binary:
		return s.binary(e)
	case *ir.Convert:
		return s.convert(e)
	}
	varies := false
	ir.Operands(e, func(x ir.Expr) { varies = varies || x != nil && s.Shape(x).Kind != Uniform })
	if varies {
		return Shape{Kind: Varying}
	}
	return Shape{}
}

func (s *Shapes) binary(e *ir.Binary) Shape {
	x, y := s.Shape(e.X), s.Shape(e.Y)
	if e.Op == prepare.Within {
		return x
	}
	if x.Kind == Uniform && y.Kind == Uniform {
		return Shape{}
	}
	if x.Kind == Varying || y.Kind == Varying || !ir.IsWide(e.T) {
		return Shape{Kind: Varying}
	}
	switch e.Op {
	case ir.Add:
		return AffineShape(x.Stride + y.Stride)
	case ir.Sub:
		return AffineShape(x.Stride - y.Stride)
	case ir.Mul:
		if c, ok := ir.ConstInt(e.Y); ok {
			return AffineShape(x.Stride * c)
		}
		if c, ok := ir.ConstInt(e.X); ok {
			return AffineShape(y.Stride * c)
		}
	}
	return Shape{Kind: Varying}
}

// convert keeps an affine value affine when it is widened to 64 bits: the loop's bounds keep the
// lane variable from wrapping.
func (s *Shapes) convert(e *ir.Convert) Shape {
	x := s.Shape(e.X)
	if x.Kind == Affine && ir.IsWide(e.T) && e.X.Type().IsInteger() {
		return x
	}
	if x.Kind == Uniform {
		return x
	}
	return Shape{Kind: Varying}
}
