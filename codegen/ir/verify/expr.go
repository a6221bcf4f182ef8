package verify

import (
	"github.com/gompss/gompss/codegen/ir"
)

// expr checks e and its operands, and reports whether e has a type.
func (v *expressions) expr(e ir.Expr) bool {
	if e == nil {
		v.fail(ir.Pos{}, "a nil expression")
		return false
	}
	if (e.Pos() == ir.Pos{}) {
		v.fail(ir.Pos{}, "%T without a position", e)
	}
	known := len(v.problems)
	v.node(e)
	if len(v.problems) > known {
		return false // its type may not be computable: the problem inside is the one to report
	}
	if t := e.Type(); t == nil || t.Kind == ir.Invalid {
		v.fail(e.Pos(), "%T without a type", e)
		return false
	}
	return true
}

func (v *expressions) node(e ir.Expr) {
	switch e := e.(type) {
	case *ir.Const:
		v.constant(e)
	case *ir.Ref:
		v.use(e.Var, e.At)
	case *ir.Unary:
		v.unary(e)
	case *ir.Binary:
		v.binary(e)
	case *ir.Convert:
		v.convert(e)
	case *ir.Math:
		v.math(e)
	case *ir.Query:
		if e.What > ir.WarpSize || !v.is(inDevice) && e.What > ir.NumTeams {
			v.fail(e.At, "query %s", e.What)
		}
	case *ir.Select:
		v.boolean(e.Cond, "select")
		v.hasType(e.Y, v.typeOf(e.X), e.At, "select")
	case *ir.Composite:
		v.composite(e)
	case *ir.Shuffle:
		v.shuffle(e)
	default:
		v.access(e)
	}
}

// access checks the expressions that reach into memory.
func (v *expressions) access(e ir.Expr) {
	switch e := e.(type) {
	case *ir.Index:
		if v.expr(e.X) && e.X.Type().Kind != ir.Slice && e.X.Type().Kind != ir.Array {
			v.fail(e.At, "index of type %s", e.X.Type())
		}
		v.integer(e.I, "index")
	case *ir.Member:
		if v.expr(e.X) && (e.X.Type().Kind != ir.Struct || e.Field < 0 || e.Field >= len(e.X.Type().Fields)) {
			v.fail(e.At, "field %d of type %s", e.Field, e.X.Type())
		}
	case *ir.Deref:
		if v.expr(e.X) && e.X.Type().Kind != ir.Pointer {
			v.fail(e.At, "dereference of type %s", e.X.Type())
		}
		if v.is(onHost) {
			v.fail(e.At, "memory is read on the host")
		}
	case *ir.AddrOf:
		v.place(e.X, "address")
	case *ir.Len:
		v.slice(e.X, e.At)
	case *ir.Cap:
		v.slice(e.X, e.At)
	case *ir.Apart:
		v.memory(e.X, e.At)
		v.memory(e.Y, e.At)
	case *ir.Reslice:
		v.reslice(e)
	default:
		v.fail(e.Pos(), "unknown expression %T", e)
	}
}

func (v *expressions) constant(e *ir.Const) {
	switch {
	case e.T == nil:
	case e.T.IsScalar() && ir.Normal(e.T, e.Bits) != e.Bits:
		v.fail(e.At, "constant %#x is not extended as %s", e.Bits, e.T)
	case !e.T.IsScalar() && e.T.Kind != ir.Pointer && e.T.Kind != ir.Slice || !e.T.IsScalar() && e.Bits != 0:
		v.fail(e.At, "constant of type %s", e.T)
	}
}

func (v *expressions) unary(e *ir.Unary) {
	if !v.expr(e.X) {
		return
	}
	t := e.X.Type()
	ok := e.Op == ir.Neg && (t.IsInteger() || t.IsFloat()) || e.Op == ir.Not && t.Kind == ir.Bool || e.Op == ir.Com && t.IsInteger()
	if !ok {
		v.fail(e.At, "unary %s of type %s", e.Op, t)
	}
}

func (v *expressions) binary(e *ir.Binary) {
	if okX, okY := v.expr(e.X), v.expr(e.Y); !okX || !okY {
		return
	}
	x, y := e.X.Type(), e.Y.Type()
	if e.Op == ir.Shl || e.Op == ir.Shr {
		if !x.IsInteger() || !y.IsInteger() || !ir.Same(e.T, x) {
			v.fail(e.At, "%s %s %s giving %s", x, e.Op, y, e.T)
		}
		return
	}
	if !ir.Same(x, y) || !operandOf(e.Op, x) || !ir.Same(e.T, resultOf(e.Op, x)) {
		v.fail(e.At, "%s %s %s giving %s", x, e.Op, y, e.T)
	}
}

// operandOf reports whether op is defined on type t.
func operandOf(op ir.Op, t *ir.Type) bool {
	switch op {
	case ir.Add, ir.Sub, ir.Mul, ir.Div, ir.Lt, ir.Le, ir.Gt, ir.Ge:
		return t.IsInteger() || t.IsFloat()
	case ir.Rem, ir.And, ir.Or, ir.Xor, ir.AndNot:
		return t.IsInteger()
	case ir.LAnd, ir.LOr:
		return t.Kind == ir.Bool
	case ir.Eq, ir.Ne:
		return true
	}
	return false
}

func resultOf(op ir.Op, t *ir.Type) *ir.Type {
	if op >= ir.Eq && op <= ir.LOr {
		return ir.BoolType
	}
	return t
}

func (v *expressions) convert(e *ir.Convert) {
	if !v.expr(e.X) || e.T == nil {
		return
	}
	number := func(t *ir.Type) bool { return t.IsInteger() || t.IsFloat() }
	if from := e.X.Type(); !ir.Same(e.T, from) && (!number(e.T) || !number(from)) {
		v.fail(e.At, "conversion of %s to %s", from, e.T)
	}
}

func (v *expressions) composite(e *ir.Composite) {
	if e.T == nil {
		return
	}
	var elem func(i int) *ir.Type
	n := 0
	switch e.T.Kind {
	case ir.Array:
		n, elem = int(e.T.Len), func(int) *ir.Type { return e.T.Elem }
	case ir.Struct:
		n, elem = len(e.T.Fields), func(i int) *ir.Type { return e.T.Fields[i].Type }
	default:
		v.fail(e.At, "composite of type %s", e.T)
		return
	}
	if len(e.Elems) != n {
		v.fail(e.At, "composite of type %s with %d elements, not %d", e.T, len(e.Elems), n)
		return
	}
	for i, x := range e.Elems {
		if v.expr(x) && !ir.Same(x.Type(), elem(i)) {
			v.fail(x.Pos(), "element %d of %s is %s", i, e.T, x.Type())
		}
	}
}

func (v *expressions) shuffle(e *ir.Shuffle) {
	if !v.is(inDevice) || v.is(onHost) {
		v.fail(e.At, "a shuffle outside device code")
	} else if !v.is(withWarps) {
		v.fail(e.At, "a shuffle in a launch that announces none")
	}
	if v.expr(e.X) && !e.X.Type().IsScalar() {
		v.fail(e.At, "shuffle of type %s", e.X.Type())
	}
	v.integer(e.By, "shuffle")
}

func (v *expressions) slice(x ir.Expr, at ir.Pos) {
	if v.expr(x) && x.Type().Kind != ir.Slice {
		v.fail(at, "length of type %s", x.Type())
	}
}

func (v *expressions) memory(x ir.Expr, at ir.Pos) {
	if v.expr(x) && x.Type().Kind != ir.Slice && x.Type().Kind != ir.Pointer {
		v.fail(at, "memory of type %s", x.Type())
	}
}

func (v *expressions) reslice(e *ir.Reslice) {
	if v.expr(e.X) && e.X.Type().Kind != ir.Slice && (e.X.Type().Kind != ir.Array || !ir.IsPlace(e.X)) {
		v.fail(e.At, "slice of type %s that is not a slice or an array place", e.X.Type())
	}
	for _, b := range []ir.Expr{e.Lo, e.Hi, e.Max} {
		if b != nil {
			v.integer(b, "slice bound")
		}
	}
}

// typeOf checks e and returns its type, nil where it has none.
func (v *expressions) typeOf(e ir.Expr) *ir.Type {
	if !v.expr(e) {
		return nil
	}
	return e.Type()
}

// place checks e and that it is a place, and returns its type, nil where it has none.
func (v *expressions) place(e ir.Expr, what string) *ir.Type {
	t := v.typeOf(e)
	if t != nil && !ir.IsPlace(e) {
		v.fail(e.Pos(), "%s: %s is not a place", what, ir.ExprString(e))
	}
	return t
}

func (v *expressions) integer(e ir.Expr, what string) bool {
	if !v.expr(e) {
		return false
	}
	if !e.Type().IsInteger() {
		v.fail(e.Pos(), "%s of type %s", what, e.Type())
		return false
	}
	return true
}

func (v *expressions) boolean(e ir.Expr, what string) {
	if v.expr(e) && e.Type().Kind != ir.Bool {
		v.fail(e.Pos(), "%s condition of type %s", what, e.Type())
	}
}

// hasType checks e and that it is of type t; t is nil where that is not known.
func (v *expressions) hasType(e ir.Expr, t *ir.Type, at ir.Pos, what string) {
	if v.expr(e) && t != nil && !ir.Same(e.Type(), t) {
		v.fail(at, "%s: %s and %s", what, t, e.Type())
	}
}
