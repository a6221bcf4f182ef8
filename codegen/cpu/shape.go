package cpu

import (
	"github.com/gompss/gompss/codegen/cpu/prepare"
	"github.com/gompss/gompss/codegen/ir"
)

// A shapeKind says how a value differs between the lanes of a vector.
type shapeKind uint8

const (
	uniform shapeKind = iota // the same in every lane
	affine                   // an integer that grows by stride from lane to lane
	varying
)

// A shape is a shapeKind with the stride of an affine value, in units of the value.
type shape struct {
	kind   shapeKind
	stride int64
}

func affineShape(stride int64) shape {
	if stride == 0 {
		return shape{}
	}
	return shape{affine, stride}
}

// shapes holds the shape of every variable inside one lanes loop.
type shapes struct {
	lane   *ir.Var
	step   int64
	of     map[*ir.Var]shape
	inside map[*ir.Var]bool // declared in the loop
	once   map[*ir.Var]bool // never assigned after its declaration
	inits  map[*ir.Var]ir.Expr
}

// analyseShapes finds the shapes of all variables in the body of a lanes loop: a fixed point from
// "all uniform" up.
//
// Source: uniform and varying as in ISPC; the affine shape is that of stride analysis in outer-loop
// vectorisers.
func analyseShapes(f *ir.For, step int64) *shapes {
	s := &shapes{lane: f.Var, step: step, of: map[*ir.Var]shape{f.Var: affineShape(step)}, inside: map[*ir.Var]bool{f.Var: true},
		once: map[*ir.Var]bool{}, inits: map[*ir.Var]ir.Expr{}}
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
		s.inside[v] = true
		s.once[v] = true
		if v.Type.Kind == ir.Slice { // an array of every lane's own
			s.of[v] = shape{kind: varying}
		}
	}
	for _, v := range ir.Assigned(f.Body).List() {
		delete(s.once, v)
	}
	for _, r := range reductionsOf(f) {
		if v := ir.RootVar(r.Place); v != nil {
			s.of[v] = shape{kind: varying}
		}
		if r.Index != nil {
			s.of[ir.RootVar(r.Index)] = shape{kind: varying}
		}
	}
	for {
		w := shapeWalk{shapes: s}
		w.list(f.Body, false)
		if !w.changed {
			return s
		}
	}
}

func reductionsOf(f *ir.For) []ir.Reduction {
	if f.Directive == nil {
		return nil
	}
	return f.Directive.Reductions
}

// shapeWalk is one pass over the body. split says that lanes may be off: control varies around the
// statement.
type shapeWalk struct {
	*shapes
	changed bool
}

func (w *shapeWalk) raise(v *ir.Var, to shape) {
	old := w.of[v]
	switch {
	case old == to || old.kind == varying:
		return
	case old.kind == uniform && to.kind == affine && w.once[v]:
	case old.kind == uniform && to.kind == uniform:
		return
	default:
		to = shape{kind: varying}
	}
	w.of[v], w.changed = to, true
}

func (w *shapeWalk) list(body []ir.Stmt, split bool) {
	for _, s := range body {
		w.stmt(s, split)
		if !split && ir.LeavesLoop(s) && w.splits(s) {
			split = true // lanes that left are off in what follows
		}
	}
}

// splits tells whether s holds a condition that varies.
func (w *shapeWalk) splits(s ir.Stmt) bool {
	found := false
	ir.WalkStmts([]ir.Stmt{s}, func(s ir.Stmt) bool {
		switch s := s.(type) {
		case *ir.If:
			found = found || w.shape(s.Cond).kind != uniform
		case *ir.While:
			found = found || s.Cond != nil && w.shape(s.Cond).kind != uniform
		case *ir.For:
			found = found || w.variesFor(s)
		}
		return !found
	})
	return found
}

func (w *shapeWalk) variesFor(f *ir.For) bool {
	return w.shape(f.Lo).kind != uniform || w.shape(f.Hi).kind != uniform || w.shape(f.Step).kind != uniform
}

func (w *shapeWalk) assign(v *ir.Var, to shape, split bool) {
	if split {
		to = shape{kind: varying}
	}
	w.raise(v, to)
}

func (w *shapeWalk) stmt(s ir.Stmt, split bool) {
	switch s := s.(type) {
	case *ir.Decl:
		if s.Init != nil {
			w.assign(s.Var, w.shape(s.Init), split && !w.once[s.Var])
		}
	case *ir.Assign:
		if r, ok := s.Place.(*ir.Ref); ok {
			w.assign(r.Var, w.shape(s.Value), split)
		} else if v := ir.RootVar(s.Place); v != nil && v.Type.Kind != ir.Slice && v.Type.Kind != ir.Pointer {
			w.assign(v, shape{kind: varying}, true)
		}
	case *ir.Atomic:
		if v := ir.RootVar(s.Old); s.Old != nil && v != nil {
			w.assign(v, shape{kind: varying}, true)
		}
	case *ir.If:
		in := split || w.shape(s.Cond).kind != uniform
		w.list(s.Then, in)
		w.list(s.Else, in)
	case *ir.Block:
		w.list(s.Body, split)
	case *ir.For:
		apart := w.variesFor(s) || w.leavesSplit(s.Body)
		if apart {
			w.raise(s.Var, shape{kind: varying})
		}
		w.list(s.Body, split || apart)
	case *ir.While:
		in := split || s.Cond != nil && w.shape(s.Cond).kind != uniform || w.leavesSplit(s.Body)
		w.list(s.Pre, in)
		w.list(s.Body, in)
		w.list(s.Post, in)
	}
}

// leavesSplit tells whether lanes may leave the loop at different times.
func (w *shapeWalk) leavesSplit(body []ir.Stmt) bool {
	for _, s := range body {
		if ir.LeavesLoop(s) && w.splits(s) {
			return true
		}
	}
	return false
}

// shape is the shape of an expression.
func (s *shapes) shape(e ir.Expr) shape {
	switch e := e.(type) {
	case nil, *ir.Const:
		return shape{}
	case *ir.Ref:
		return s.of[e.Var]
	case *ir.Binary:
		return s.binary(e)
	case *ir.Convert:
		return s.convert(e)
	}
	varies := false
	ir.Operands(e, func(x ir.Expr) { varies = varies || x != nil && s.shape(x).kind != uniform })
	if varies {
		return shape{kind: varying}
	}
	return shape{}
}

func (s *shapes) binary(e *ir.Binary) shape {
	x, y := s.shape(e.X), s.shape(e.Y)
	if e.Op == prepare.Within {
		return x
	}
	if x.kind == uniform && y.kind == uniform {
		return shape{}
	}
	if x.kind == varying || y.kind == varying || !ir.IsWide(e.T) {
		return shape{kind: varying}
	}
	switch e.Op {
	case ir.Add:
		return affineShape(x.stride + y.stride)
	case ir.Sub:
		return affineShape(x.stride - y.stride)
	case ir.Mul:
		if c, ok := ir.ConstInt(e.Y); ok {
			return affineShape(x.stride * c)
		}
		if c, ok := ir.ConstInt(e.X); ok {
			return affineShape(y.stride * c)
		}
	}
	return shape{kind: varying}
}

// convert keeps an affine value affine when it is widened to 64 bits: the loop's bounds keep the
// lane variable from wrapping.
func (s *shapes) convert(e *ir.Convert) shape {
	x := s.shape(e.X)
	if x.kind == affine && ir.IsWide(e.T) && e.X.Type().IsInteger() {
		return x
	}
	if x.kind == uniform {
		return x
	}
	return shape{kind: varying}
}
