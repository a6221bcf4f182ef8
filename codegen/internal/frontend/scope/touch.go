package scope

import (
	"go/types"

	"github.com/gompss/gompss/codegen/ir"
)

// Meddles reports whether assigning one by one, from left to right, could change a value or place
// further right.
func (u *Unit) Meddles(dests []Dest, values []ir.Expr) bool {
	for i, d := range dests {
		if d.Place == nil {
			continue
		}
		for j := i + 1; j < len(dests); j++ {
			if u.touches(d.Place, values[j]) || dests[j].Place != nil && u.touchesOperands(d.Place, dests[j].Place) {
				return true
			}
		}
	}
	return false
}

// touches reports whether an assignment to place may change the value of e.
func (u *Unit) touches(place, e ir.Expr) bool {
	root := ir.RootVar(place)
	if root == nil {
		return LoadsMemory(e) || u.ReadsTaken(e)
	}
	return ir.ExprVars(e).Has(root) || u.Taken[root] && LoadsMemory(e)
}

// touchesOperands reports whether an assignment to place may change which place other is.
func (u *Unit) touchesOperands(place, other ir.Expr) bool {
	switch o := other.(type) {
	case *ir.Member:
		return u.touchesOperands(place, o.X)
	case *ir.Deref:
		return u.touches(place, o.X)
	case *ir.Index:
		if o.X.Type().Kind == ir.Array {
			return u.touches(place, o.I) || u.touchesOperands(place, o.X)
		}
		return u.touches(place, o.I) || u.touches(place, o.X)
	}
	return false
}

// ReadsTaken reports whether e reads a variable that a pointer may point at.
func (u *Unit) ReadsTaken(e ir.Expr) bool {
	for _, v := range ir.ExprVars(e).List() {
		if u.Taken[v] {
			return true
		}
	}
	return false
}

// A Dest is where a value goes: a new variable, a place, or nowhere.
type Dest struct {
	Object types.Object // of a new variable
	Place  ir.Expr
}

// MayFail reports whether e has a checked operation in it.
func MayFail(e ir.Expr) bool {
	found := false
	ir.WalkExpr(e, func(x ir.Expr) bool {
		switch x := x.(type) {
		case *ir.Index:
			found = found || x.Checked
		case *ir.Reslice:
			found = found || x.Checked
		case *ir.Binary:
			found = found || x.Checked
		case *ir.Deref:
			found = found || x.Checked
		}
		return !found
	})
	return found
}

// LoadsMemory reports whether e reads memory through slices or pointers.
func LoadsMemory(e ir.Expr) bool {
	found := false
	ir.WalkExpr(e, func(x ir.Expr) bool {
		switch x := x.(type) {
		case *ir.Deref:
			found = true
		case *ir.Index:
			found = found || x.X.Type().Kind == ir.Slice
		}
		return !found
	})
	return found
}
