package analysis

import (
	"math"

	"github.com/gompss/gompss/codegen/ir"
)

// InSteps is an atomic that no other thread can disturb, as a read, an operation and a write.
func InSteps(s *ir.Atomic, id int) []ir.Stmt {
	t := s.Place.Type()
	v := &ir.Var{Name: "old", Type: t, Space: ir.Local, ID: id, At: s.At}
	old := &ir.Ref{Var: v, At: s.At}
	out := []ir.Stmt{&ir.Decl{Var: v, Init: s.Place, At: s.At}}
	set := func(value ir.Expr) { out = append(out, &ir.Assign{Place: s.Place, Value: value, At: s.At}) }
	give := func(value ir.Expr) {
		if s.Old != nil {
			out = append(out, &ir.Assign{Place: s.Old, Value: value, At: s.At})
		}
	}
	switch {
	case s.Kind == ir.AtomicRead:
		give(old)
	case s.Kind == ir.AtomicCompare:
		equal := &ir.Binary{Op: ir.Eq, X: old, Y: s.Compare, T: ir.BoolType, At: s.At}
		out = append(out, &ir.If{Cond: equal, Then: []ir.Stmt{&ir.Assign{Place: s.Place, Value: s.Value, At: s.At}}, At: s.At})
		give(old)
	default:
		n := &ir.Var{Name: "new", Type: t, Space: ir.Local, ID: v.ID - 1, At: s.At}
		out = append(out, &ir.Decl{Var: n, Init: Updated(s, old), At: s.At})
		set(&ir.Ref{Var: n, At: s.At})
		if s.After {
			give(&ir.Ref{Var: n, At: s.At})
		} else {
			give(old)
		}
	}
	return out
}

// Updated is what an atomic stores.
func Updated(s *ir.Atomic, old ir.Expr) ir.Expr {
	t, x, y := s.Place.Type(), old, s.Value
	if s.Swapped {
		x, y = y, x
	}
	switch {
	case s.Kind == ir.AtomicWrite || s.Op == ir.NoOp:
		return s.Value
	case s.Op == ir.Min || s.Op == ir.Max:
		fn := map[bool]ir.MathFn{true: ir.IMin, false: ir.IMax}[s.Op == ir.Min]
		if t.IsFloat() {
			fn = map[bool]ir.MathFn{true: ir.FMin, false: ir.FMax}[s.Op == ir.Min]
		}
		return &ir.Math{Fn: fn, Args: []ir.Expr{x, y}, T: t, At: s.At}
	}
	checked := t.IsInteger() && (s.Op == ir.Div || s.Op == ir.Rem || (s.Op == ir.Shl || s.Op == ir.Shr) && y.Type().IsSigned())
	return &ir.Binary{Op: s.Op, X: x, Y: y, T: t, Checked: checked, At: s.At}
}

// HasAtomics reports whether the iterations of f update what others update.
func HasAtomics(f *ir.For) bool {
	found := false
	ir.WalkStmts(f.Body, func(s ir.Stmt) bool {
		if _, ok := s.(*ir.Atomic); ok {
			found = true
		}
		return !found
	})
	return found
}

// Identity is the value that changes nothing under the operator of a reduction, where there is
// one.
func Identity(r ir.Reduction) (bits uint64, ok bool) {
	t := r.Place.Type()
	size := 8 * uint(t.Size)
	float := func(v float64) uint64 {
		if t.Size == 4 {
			return uint64(math.Float32bits(float32(v)))
		}
		return math.Float64bits(v)
	}
	if t.Kind == ir.Slice { // of an array
		t = t.Elem
		size = 8 * uint(t.Size)
	}
	switch r.Op {
	case ir.LAnd:
		return 1, true
	case ir.LOr:
		return 0, true
	case ir.Add, ir.Or, ir.Xor:
		if t.IsFloat() {
			return float(math.Copysign(0, -1)), true // -0 + x is x, also for x = -0
		}
		return 0, true
	case ir.And:
		return 1<<64 - 1, true
	case ir.Mul:
		if t.IsFloat() {
			return float(1), true
		}
		return 1, true
	case ir.Min, ir.Max:
		least := r.Op == ir.Max // the identity of max is the least value
		switch {
		case t.IsFloat() && least:
			return float(math.Inf(-1)), true
		case t.IsFloat():
			return float(math.Inf(1)), true
		case t.IsSigned() && least:
			return 1 << (size - 1), true
		case t.IsSigned():
			return 1<<(size-1) - 1, true
		case least:
			return 0, true
		}
		return 1<<64 - 1, true
	}
	return 0, false
}

// CountUses adds what uses the slices but for their lengths.
func CountUses(f *ir.For, uses map[*ir.Var]int) {
	lengths := map[ir.Expr]bool{}
	ir.Inspect([]ir.Stmt{f}, nil, func(e ir.Expr) {
		if n, ok := e.(*ir.Len); ok {
			lengths[n.X] = true
		}
		if r, ok := e.(*ir.Ref); ok && !lengths[e] {
			uses[r.Var]++
		}
	})
}

// Combined is the operation that combines what several have made by op.
func Combined(op ir.Op) ir.Op {
	if op == ir.Sub {
		return ir.Add
	}
	return op
}
