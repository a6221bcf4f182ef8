package bodies

import (
	"github.com/gompss/gompss/codegen/internal/analysis/affine"
	"github.com/gompss/gompss/codegen/ir"
)

// FarStride is the least stride, in elements, of an access that counts as strided.
const FarStride = 8

// Aligned reports whether index e rises by one with v, and whether all else in it is multiples of
// n, the constant too where whole says so.
func Aligned(e ir.Expr, v *ir.Var, n int64, whole bool) (near, multiple bool) {
	form, ok := affine.Of(e)
	if !ok {
		return false, false
	}
	return AlignedForm(form, v, n, whole)
}

func AlignedForm(form affine.Form, v *ir.Var, n int64, whole bool) (near, multiple bool) {
	coef, ok := form.Coef(v)
	if c, isConst := coef.Const(); !ok || !isConst || c != 1 {
		return false, false
	}
	for _, t := range form.Without(v).Terms {
		if t.Coef%n != 0 && (len(t.Atoms) > 0 || whole) {
			return true, false
		}
	}
	return true, true
}

// Fold returns the constant value of e, if it has one.
func Fold(e ir.Expr) ir.Expr {
	if form, ok := affine.Of(e); ok {
		if c, isConst := form.Const(); isConst {
			return &ir.Const{T: e.Type(), Bits: uint64(c), At: e.Pos()}
		}
	}
	return e
}
