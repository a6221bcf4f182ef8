// Package affine has affine forms of integer expressions: sums of products of variables and lengths
// of slices over the mathematical integers.
package affine

import (
	"math/bits"

	"github.com/gompss/gompss/codegen/ir"
)

// Of returns integer expression e as a form of the variables and slice lengths in it.
//
// A form has mathematical integers, while Go's integers wrap. Of assumes that e does not
// overflow 64 bits. Arithmetic in narrower types has no form, but a variable of a narrow type is an
// atom.
func Of(e ir.Expr) (Form, bool) { return Definitions(nil).Of(e) }

// Is reports whether e has a form.
func Is(e ir.Expr) bool {
	_, ok := Of(e)
	return ok
}

// Definitions maps variables that keep one value for their whole life to the form of that value, so
// that forms look through temporaries. A nil map is empty.
type Definitions map[*ir.Var]Form

// Of is Form with ok false if e is not affine.
func (d Definitions) Of(e ir.Expr) (Form, bool) {
	a := d.Form(e)
	return a, a.Known()
}

// Form returns the affine form of e, the unknown form if e is not affine.
func (d Definitions) Form(e ir.Expr) Form {
	if e == nil || !e.Type().IsInteger() {
		return Form{Unknown: true}
	}
	switch e := e.(type) {
	case *ir.Const:
		return OfConst(e)
	case *ir.Ref:
		if known, ok := d[e.Var]; ok {
			return known
		}
		return OfVar(e.Var)
	case *ir.Len:
		return sliceForm(e.X, LenOf)
	case *ir.Cap:
		return sliceForm(e.X, CapOf)
	case *ir.Convert:
		return d.convertForm(e)
	case *ir.Unary:
		if e.Op == ir.Neg && NeverWraps(e.Type()) {
			return Form{}.Sub(d.Form(e.X))
		}
	case *ir.Binary:
		return d.binaryForm(e)
	}
	return Form{Unknown: true}
}

func (d Definitions) binaryForm(e *ir.Binary) Form {
	if !NeverWraps(e.T) {
		return Form{Unknown: true}
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
			return d.Form(e.X).Mul(Constant(1 << by))
		}
	case ir.Or, ir.Xor:
		x, y := d.Form(e.X), d.Form(e.Y)
		if n, ok := y.Const(); ok && n >= 0 && MultipleOf(x, uint(bits.Len64(uint64(n)))) {
			return x.Add(y) // the operands have no bit in common
		}
	}
	return Form{Unknown: true}
}

// convertForm looks through conversions that preserve every value: widening conversions, and those
// between 64-bit signed types.
func (d Definitions) convertForm(e *ir.Convert) Form {
	from, to := e.X.Type(), e.T
	keeps := from.IsInteger() && (to.Size > from.Size || to.Size == from.Size && to.IsSigned() == from.IsSigned())
	if keeps && from.IsSigned() && !to.IsSigned() {
		keeps = false
	}
	if !keeps {
		return Form{Unknown: true}
	}
	return d.Form(e.X)
}

func OfConst(e *ir.Const) Form {
	if e.T.Kind == ir.Uint64 && e.Bits >= 1<<63 {
		return Form{Unknown: true}
	}
	return Constant(int64(e.Bits))
}

func sliceForm(x ir.Expr, of AtomKind) Form {
	if r, ok := x.(*ir.Ref); ok {
		return OfAtom(Atom{Var: r.Var, Of: of})
	}
	return Form{Unknown: true}
}

// NeverWraps reports whether arithmetic in t is assumed not to wrap. This holds for int64 only:
// unsigned differences wrap at zero.
func NeverWraps(t *ir.Type) bool { return t.Kind == ir.Int64 }
