package analysis

import (
	"math/bits"

	"github.com/gompss/gompss/codegen/ir"
)

// AffineOf returns integer expression e as a form of the variables and slice lengths in it.
//
// A form has mathematical integers, while Go's integers wrap. AffineOf assumes that e does not
// overflow 64 bits. Arithmetic in narrower types has no form, but a variable of a narrow type is an
// atom.
func AffineOf(e ir.Expr) (Affine, bool) { return Definitions(nil).AffineOf(e) }

// Definitions maps variables that keep one value for their whole life to the form of that value, so
// that forms look through temporaries. A nil map is empty.
type Definitions map[*ir.Var]Affine

// AffineOf is Form with ok false if e is not affine.
func (d Definitions) AffineOf(e ir.Expr) (Affine, bool) {
	a := d.Form(e)
	return a, a.Known()
}

// Form returns the affine form of e, the unknown form if e is not affine.
func (d Definitions) Form(e ir.Expr) Affine {
	if e == nil || !e.Type().IsInteger() {
		return Affine{Unknown: true}
	}
	switch e := e.(type) {
	case *ir.Const:
		return constForm(e)
	case *ir.Ref:
		if known, ok := d[e.Var]; ok {
			return known
		}
		return VarAffine(e.Var)
	case *ir.Len:
		return sliceForm(e.X, LenOf)
	case *ir.Cap:
		return sliceForm(e.X, CapOf)
	case *ir.Convert:
		return d.convertForm(e)
	case *ir.Unary:
		if e.Op == ir.Neg && IsWide(e.Type()) {
			return Affine{}.Sub(d.Form(e.X))
		}
	case *ir.Binary:
		return d.binaryForm(e)
	}
	return Affine{Unknown: true}
}

func (d Definitions) binaryForm(e *ir.Binary) Affine {
	if !IsWide(e.T) {
		return Affine{Unknown: true}
	}
	switch e.Op {
	case ir.Add:
		return d.Form(e.X).Add(d.Form(e.Y))
	case ir.Sub:
		return d.Form(e.X).Sub(d.Form(e.Y))
	case ir.Mul:
		return d.Form(e.X).Mul(d.Form(e.Y))
	case ir.Shl:
		if by, ok := d.Form(e.Y).Const(); ok && by >= 0 && by < 62 {
			return d.Form(e.X).Mul(ConstAffine(1 << by))
		}
	case ir.Or, ir.Xor:
		x, y := d.Form(e.X), d.Form(e.Y)
		if n, ok := y.Const(); ok && n >= 0 && multipleOf(x, uint(bits.Len64(uint64(n)))) {
			return x.Add(y) // the operands have no bit in common
		}
	}
	return Affine{Unknown: true}
}

// convertForm looks through conversions that preserve every value: widening conversions, and those
// between 64-bit signed types.
func (d Definitions) convertForm(e *ir.Convert) Affine {
	from, to := e.X.Type(), e.T
	keeps := from.IsInteger() && (to.Size > from.Size || to.Size == from.Size && to.IsSigned() == from.IsSigned())
	if keeps && from.IsSigned() && !to.IsSigned() {
		keeps = false
	}
	if !keeps {
		return Affine{Unknown: true}
	}
	return d.Form(e.X)
}

func constForm(e *ir.Const) Affine {
	if e.T.Kind == ir.Uint64 && e.Bits >= 1<<63 {
		return Affine{Unknown: true}
	}
	return ConstAffine(int64(e.Bits))
}

func sliceForm(x ir.Expr, of AtomKind) Affine {
	if r, ok := x.(*ir.Ref); ok {
		return AtomAffine(Atom{Var: r.Var, Of: of})
	}
	return Affine{Unknown: true}
}

// IsWide reports whether arithmetic in t is assumed not to wrap. This holds for int64 only, because
// unsigned differences wrap at zero.
func IsWide(t *ir.Type) bool { return t.Kind == ir.Int64 }
