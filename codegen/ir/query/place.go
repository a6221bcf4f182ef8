package query

import "github.com/gompss/gompss/codegen/ir"

// PlaceVar returns the variable that contains the place e of a reduction, or the pointer or slice
// through which e is reached. It returns nil if e is not a place.
func PlaceVar(e ir.Expr) *ir.Var {
	if rs, ok := e.(*ir.Reslice); ok && rs.X.Type().Kind != ir.Array {
		return nil
	}
	return BaseVar(e)
}

// RefVar returns the variable of e if e is a reference to one, else nil.
func RefVar(e ir.Expr) *ir.Var {
	if ref, ok := e.(*ir.Ref); ok {
		return ref.Var
	}
	return nil
}

// BaseVar returns the variable that contains place, or the pointer through which it is reached.
func BaseVar(place ir.Expr) *ir.Var {
	switch e := place.(type) {
	case *ir.Ref:
		return e.Var
	case *ir.Deref:
		return BaseVar(e.X)
	case *ir.Member:
		return BaseVar(e.X)
	case *ir.Index:
		return BaseVar(e.X)
	case *ir.Reslice:
		return BaseVar(e.X)
	}
	return nil
}

// IsNamed reports whether place is a variable, the target of a pointer variable, or a field of one
// of these.
func IsNamed(place ir.Expr) bool {
	switch e := place.(type) {
	case *ir.Ref:
		return true
	case *ir.Deref:
		return RefVar(e.X) != nil
	case *ir.Member:
		return IsNamed(e.X)
	}
	return false
}

// OperandsOf calls f for the operands that select the place: indices, and the pointers and slices
// through which it is reached.
func OperandsOf(place ir.Expr, f func(ir.Expr)) {
	switch e := place.(type) {
	case *ir.Member:
		OperandsOf(e.X, f)
	case *ir.Deref:
		f(e.X)
	case *ir.Index:
		f(e.I)
		if e.X.Type().Kind == ir.Slice {
			f(e.X)
			return
		}
		OperandsOf(e.X, f)
	case *ir.Reslice:
		OperandsOf(e.X, f)
	}
}

// Disjoint reports whether two places in one variable, or behind one pointer or slice, surely have
// nothing in common: on the ways to them they part at different fields or constant indices.
func Disjoint(a, b ir.Expr) bool {
	to, other := stepsTo(a), stepsTo(b)
	for i := range min(len(to), len(other)) {
		switch x := to[i].(type) {
		case *ir.Member:
			y, ok := other[i].(*ir.Member)
			if !ok {
				return false
			}
			if x.Field != y.Field {
				return true
			}
		case *ir.Deref:
			if _, ok := other[i].(*ir.Deref); !ok {
				return false
			}
		case *ir.Index, *ir.Reslice:
			lo, hi, ok := elementsOf(x)
			from, end, known := elementsOf(other[i])
			if ok && known && (hi <= from || end <= lo) {
				return true
			}
			if !Same(x, other[i]) {
				return false
			}
		}
	}
	return false
}

// stepsTo returns the places on the way to a place, the variable left out, it itself last.
func stepsTo(place ir.Expr) []ir.Expr {
	var x ir.Expr
	switch e := place.(type) {
	case *ir.Member:
		x = e.X
	case *ir.Deref:
		x = e.X
	case *ir.Index:
		x = e.X
	case *ir.Reslice:
		x = e.X
	default:
		return nil
	}
	return append(stepsTo(x), place)
}

// elementsOf returns the range of elements that an index or a part of an array means, where it is
// constant.
func elementsOf(e ir.Expr) (lo, hi int64, ok bool) {
	switch e := e.(type) {
	case *ir.Index:
		lo, ok = Int64(e.I)
		return lo, lo + 1, ok
	case *ir.Reslice:
		if e.X.Type().Kind != ir.Array {
			return 0, 0, false
		}
		hi, ok = e.X.Type().Len, true
		if e.Lo != nil {
			lo, ok = Int64(e.Lo)
		}
		if e.Hi != nil && ok {
			hi, ok = Int64(e.Hi)
		}
	}
	return lo, hi, ok
}

// IsRef reports whether e is a use of a variable.
func IsRef(e ir.Expr) bool {
	_, ok := e.(*ir.Ref)
	return ok
}
