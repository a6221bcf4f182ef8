package cprint

import "github.com/gompss/gompss/codegen/ir"

// HasChecks reports whether evaluating e can fail.
func HasChecks(e ir.Expr) bool {
	found := false
	ir.WalkExpr(e, func(e ir.Expr) bool {
		switch e := e.(type) {
		case *ir.Index:
			found = found || e.Checked
		case *ir.Binary:
			found = found || e.Checked
		case *ir.Deref:
			found = found || e.Checked
		case *ir.Reslice:
			found = found || e.Checked
		}
		return !found
	})
	return found
}

// Combined returns the new value of an atomic update.
func Combined(s *ir.Atomic, old ir.Expr) ir.Expr {
	if s.Op == ir.NoOp {
		return s.Value
	}
	x, y, t := old, s.Value, old.Type()
	if s.Swapped {
		x, y = y, x
	}
	switch s.Op {
	case ir.Min, ir.Max:
		return &ir.Math{Fn: extremeOf(s.Op, t), Args: []ir.Expr{x, y}, T: t, At: s.At}
	}
	return &ir.Binary{Op: s.Op, X: x, Y: y, T: t, At: s.At}
}

func extremeOf(op ir.Op, t *ir.Type) ir.MathFn {
	fns := map[ir.Op][2]ir.MathFn{ir.Min: {ir.IMin, ir.FMin}, ir.Max: {ir.IMax, ir.FMax}}[op]
	if t.IsFloat() {
		return fns[1]
	}
	return fns[0]
}

// Swapped returns the value that compare-and-swap s stores if it found old. Floats are compared as
// numbers, not as bits.
func Swapped(s *ir.Atomic, old, compare ir.Expr) ir.Expr {
	same := &ir.Binary{Op: ir.Eq, X: old, Y: compare, T: ir.BoolType, At: s.At}
	return &ir.Select{Cond: same, X: s.Value, Y: old, At: s.At}
}

// Unshared returns the plain form of an atomic operation on a variable that no other thread sees
// and that hardware atomics cannot address.
func Unshared(s *ir.Atomic) []ir.Stmt {
	set := &ir.Assign{Place: s.Place, Value: s.Value, At: s.At}
	if s.Kind == ir.AtomicUpdate || s.Kind == ir.AtomicCapture {
		set.Value = Combined(s, s.Place)
	}
	var out []ir.Stmt
	if s.Old != nil && !s.After {
		out = append(out, &ir.Assign{Place: s.Old, Value: s.Place, At: s.At})
	}
	switch s.Kind {
	case ir.AtomicRead:
	case ir.AtomicCompare:
		same := &ir.Binary{Op: ir.Eq, X: s.Place, Y: s.Compare, T: ir.BoolType, At: s.At}
		out = append(out, &ir.If{Cond: same, Then: []ir.Stmt{set}, At: s.At})
	default:
		out = append(out, set)
	}
	if s.Old != nil && s.After {
		out = append(out, &ir.Assign{Place: s.Old, Value: s.Place, At: s.At})
	}
	return out
}

// TeamAlign is the alignment of a team variable, and more is set where C would give it less. Groups
// of elements that vectors hold can be loaded as vectors.
func TeamAlign(t *ir.Type) (align ir.Bytes, more bool) {
	align, inner := t.Align, t
	for inner.Kind == ir.Array {
		inner = inner.Elem
	}
	if t.Kind == ir.Array && t.Elem.Kind == ir.Array && t.Elem.Size%vector == 0 {
		align = vector
	}
	return align, align > inner.Align
}

// vector is the size of the widest load.
const vector ir.Bytes = 16

// AlignUp is n, or the next multiple of align.
func AlignUp(n, align ir.Bytes) ir.Bytes { return (n + align - 1) / align * align }
