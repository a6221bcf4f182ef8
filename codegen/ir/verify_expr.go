package ir

// expr checks e and what is in it, and reports whether it can be asked for its type.
func (v *verifier) expr(e Expr) bool {
	if e == nil {
		v.fail(Pos{}, "a nil expression")
		return false
	}
	if (e.Pos() == Pos{}) {
		v.fail(Pos{}, "%T without a position", e)
	}
	known := len(v.problems)
	v.node(e)
	if len(v.problems) > known {
		return false // its type may not be computable: the problem inside is the one to report
	}
	if t := e.Type(); t == nil || t.Kind == Invalid {
		v.fail(e.Pos(), "%T without a type", e)
		return false
	}
	return true
}

func (v *verifier) node(e Expr) {
	switch e := e.(type) {
	case *Const:
		v.constant(e)
	case *Ref:
		v.use(e.Var, e.At)
	case *Unary:
		v.unary(e)
	case *Binary:
		v.binary(e)
	case *Convert:
		v.convert(e)
	case *Math:
		v.math(e)
	case *Query:
		if e.What > WarpSize || !v.device && e.What > NumTeams {
			v.fail(e.At, "query %s", e.What)
		}
	case *Select:
		v.boolean(e.Cond, "select")
		v.hasType(e.Y, v.typeOf(e.X), e.At, "select")
	case *Composite:
		v.composite(e)
	case *Shuffle:
		v.shuffle(e)
	default:
		v.access(e)
	}
}

// access checks the expressions that reach into memory.
func (v *verifier) access(e Expr) {
	switch e := e.(type) {
	case *Index:
		if v.expr(e.X) && e.X.Type().Kind != Slice && e.X.Type().Kind != Array {
			v.fail(e.At, "index of type %s", e.X.Type())
		}
		v.integer(e.I, "index")
	case *Member:
		if v.expr(e.X) && (e.X.Type().Kind != Struct || e.Field < 0 || e.Field >= len(e.X.Type().Fields)) {
			v.fail(e.At, "field %d of type %s", e.Field, e.X.Type())
		}
	case *Deref:
		if v.expr(e.X) && e.X.Type().Kind != Pointer {
			v.fail(e.At, "dereference of type %s", e.X.Type())
		}
		if v.host {
			v.fail(e.At, "memory is read on the host")
		}
	case *AddrOf:
		v.place(e.X, "address")
	case *Len:
		v.slice(e.X, e.At)
	case *Cap:
		v.slice(e.X, e.At)
	case *Apart:
		v.memory(e.X, e.At)
		v.memory(e.Y, e.At)
	case *Reslice:
		v.reslice(e)
	default:
		v.fail(e.Pos(), "unknown expression %T", e)
	}
}

func (v *verifier) constant(e *Const) {
	switch {
	case e.T == nil:
	case e.T.IsScalar() && Normal(e.T, e.Bits) != e.Bits:
		v.fail(e.At, "constant %#x is not extended as %s", e.Bits, e.T)
	case !e.T.IsScalar() && e.T.Kind != Pointer && e.T.Kind != Slice || !e.T.IsScalar() && e.Bits != 0:
		v.fail(e.At, "constant of type %s", e.T)
	}
}

func (v *verifier) unary(e *Unary) {
	if !v.expr(e.X) {
		return
	}
	t := e.X.Type()
	ok := e.Op == Neg && (t.IsInteger() || t.IsFloat()) || e.Op == Not && t.Kind == Bool || e.Op == Com && t.IsInteger()
	if !ok {
		v.fail(e.At, "unary %s of type %s", e.Op, t)
	}
}

func (v *verifier) binary(e *Binary) {
	if okX, okY := v.expr(e.X), v.expr(e.Y); !okX || !okY {
		return
	}
	x, y := e.X.Type(), e.Y.Type()
	if e.Op == Shl || e.Op == Shr {
		if !x.IsInteger() || !y.IsInteger() || !Same(e.T, x) {
			v.fail(e.At, "%s %s %s giving %s", x, e.Op, y, e.T)
		}
		return
	}
	if !Same(x, y) || !operandOf(e.Op, x) || !Same(e.T, resultOf(e.Op, x)) {
		v.fail(e.At, "%s %s %s giving %s", x, e.Op, y, e.T)
	}
}

// operandOf reports whether op is defined on type t.
func operandOf(op Op, t *Type) bool {
	switch op {
	case Add, Sub, Mul, Div, Lt, Le, Gt, Ge:
		return t.IsInteger() || t.IsFloat()
	case Rem, And, Or, Xor, AndNot:
		return t.IsInteger()
	case LAnd, LOr:
		return t.Kind == Bool
	case Eq, Ne:
		return true
	}
	return false
}

func resultOf(op Op, t *Type) *Type {
	if op >= Eq && op <= LOr {
		return BoolType
	}
	return t
}

func (v *verifier) convert(e *Convert) {
	if !v.expr(e.X) || e.T == nil {
		return
	}
	number := func(t *Type) bool { return t.IsInteger() || t.IsFloat() }
	if from := e.X.Type(); !Same(e.T, from) && (!number(e.T) || !number(from)) {
		v.fail(e.At, "conversion of %s to %s", from, e.T)
	}
}

func (v *verifier) composite(e *Composite) {
	if e.T == nil {
		return
	}
	var elem func(i int) *Type
	n := 0
	switch e.T.Kind {
	case Array:
		n, elem = int(e.T.Len), func(int) *Type { return e.T.Elem }
	case Struct:
		n, elem = len(e.T.Fields), func(i int) *Type { return e.T.Fields[i].Type }
	default:
		v.fail(e.At, "composite of type %s", e.T)
		return
	}
	if len(e.Elems) != n {
		v.fail(e.At, "composite of type %s with %d elements, not %d", e.T, len(e.Elems), n)
		return
	}
	for i, x := range e.Elems {
		if v.expr(x) && !Same(x.Type(), elem(i)) {
			v.fail(x.Pos(), "element %d of %s is %s", i, e.T, x.Type())
		}
	}
}

func (v *verifier) shuffle(e *Shuffle) {
	if !v.device || v.host {
		v.fail(e.At, "a shuffle outside device code")
	} else if !v.warps {
		v.fail(e.At, "a shuffle in a launch that announces none")
	}
	if v.expr(e.X) && !e.X.Type().IsScalar() {
		v.fail(e.At, "shuffle of type %s", e.X.Type())
	}
	v.integer(e.By, "shuffle")
}

func (v *verifier) slice(x Expr, at Pos) {
	if v.expr(x) && x.Type().Kind != Slice {
		v.fail(at, "length of type %s", x.Type())
	}
}

func (v *verifier) memory(x Expr, at Pos) {
	if v.expr(x) && x.Type().Kind != Slice && x.Type().Kind != Pointer {
		v.fail(at, "memory of type %s", x.Type())
	}
}

func (v *verifier) reslice(e *Reslice) {
	if v.expr(e.X) && e.X.Type().Kind != Slice && (e.X.Type().Kind != Array || !IsPlace(e.X)) {
		v.fail(e.At, "slice of type %s that is not a slice or an array place", e.X.Type())
	}
	for _, b := range []Expr{e.Lo, e.Hi, e.Max} {
		if b != nil {
			v.integer(b, "slice bound")
		}
	}
}

// typeOf checks e and returns its type, nil where it has none.
func (v *verifier) typeOf(e Expr) *Type {
	if !v.expr(e) {
		return nil
	}
	return e.Type()
}

// place checks e and that it is a place, and returns its type, nil where it has none.
func (v *verifier) place(e Expr, what string) *Type {
	t := v.typeOf(e)
	if t != nil && !IsPlace(e) {
		v.fail(e.Pos(), "%s: %s is not a place", what, ExprString(e))
	}
	return t
}

func (v *verifier) integer(e Expr, what string) bool {
	if !v.expr(e) {
		return false
	}
	if !e.Type().IsInteger() {
		v.fail(e.Pos(), "%s of type %s", what, e.Type())
		return false
	}
	return true
}

func (v *verifier) boolean(e Expr, what string) {
	if v.expr(e) && e.Type().Kind != Bool {
		v.fail(e.Pos(), "%s condition of type %s", what, e.Type())
	}
}

// hasType checks e and that it is of type t; t is nil where that is not known.
func (v *verifier) hasType(e Expr, t *Type, at Pos, what string) {
	if v.expr(e) && t != nil && !Same(e.Type(), t) {
		v.fail(at, "%s: %s and %s", what, t, e.Type())
	}
}
