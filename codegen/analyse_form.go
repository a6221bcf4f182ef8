package codegen

import "github.com/gompss/gompss/codegen/ir"

// affineOf returns e, an integer expression, as a form over the variables and slice lengths that occur in it.
//
// Forms are over the mathematical integers while Go's integers wrap: e is taken to stay within 64 bits, and arithmetic
// in narrower types, which wraps early, has no form (a variable of a narrow type is an atom).
func affineOf(e ir.Expr) (Affine, bool) { return definitions(nil).affineOf(e) }

// definitions maps a variable that has one value during its whole life to that value as a form, so that forms see
// through temporaries. A nil map knows none.
type definitions map[*ir.Var]Affine

func (d definitions) affineOf(e ir.Expr) (Affine, bool) {
	a := d.form(e)
	return a, a.Known()
}

func (d definitions) form(e ir.Expr) Affine {
	if e == nil || !e.Type().IsInteger() {
		return Affine{unknown: true}
	}
	switch e := e.(type) {
	case *ir.Const:
		return constForm(e)
	case *ir.Ref:
		if known, ok := d[e.Var]; ok {
			return known
		}
		return varAffine(e.Var)
	case *ir.Len:
		return sliceForm(e.X, LenOf)
	case *ir.Cap:
		return sliceForm(e.X, CapOf)
	case *ir.Convert:
		return d.convertForm(e)
	case *ir.Unary:
		if e.Op == ir.Neg && wide(e.Type()) {
			return Affine{}.Sub(d.form(e.X))
		}
	case *ir.Binary:
		return d.binaryForm(e)
	}
	return Affine{unknown: true}
}

func (d definitions) binaryForm(e *ir.Binary) Affine {
	if !wide(e.T) {
		return Affine{unknown: true}
	}
	switch e.Op {
	case ir.Add:
		return d.form(e.X).Add(d.form(e.Y))
	case ir.Sub:
		return d.form(e.X).Sub(d.form(e.Y))
	case ir.Mul:
		return d.form(e.X).Mul(d.form(e.Y))
	case ir.Shl:
		if by, ok := d.form(e.Y).Const(); ok && by >= 0 && by < 62 {
			return d.form(e.X).Mul(constAffine(1 << by))
		}
	}
	return Affine{unknown: true}
}

// convertForm sees through conversions that keep every value: widening ones and those between 64-bit signed types.
func (d definitions) convertForm(e *ir.Convert) Affine {
	from, to := e.X.Type(), e.T
	keeps := from.IsInteger() && (to.Size > from.Size || to.Size == from.Size && to.IsSigned() == from.IsSigned())
	if keeps && from.IsSigned() && !to.IsSigned() {
		keeps = false
	}
	if !keeps {
		return Affine{unknown: true}
	}
	return d.form(e.X)
}

func constForm(e *ir.Const) Affine {
	if e.T.Kind == ir.Uint64 && e.Bits >= 1<<63 {
		return Affine{unknown: true}
	}
	return constAffine(int64(e.Bits))
}

func sliceForm(x ir.Expr, of AtomKind) Affine {
	if r, ok := x.(*ir.Ref); ok {
		return atomAffine(Atom{Var: r.Var, Of: of})
	}
	return Affine{unknown: true}
}

// wide reports whether arithmetic in t is taken not to wrap. Unsigned differences wrap at zero, so only int64 is.
func wide(t *ir.Type) bool { return t.Kind == ir.Int64 }
