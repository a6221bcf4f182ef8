package exprs

import (
	"go/ast"
	"go/constant"
	"go/token"

	"github.com/gompss/gompss/codegen/internal/diag"
	"github.com/gompss/gompss/codegen/internal/frontend/scope"
	"github.com/gompss/gompss/codegen/ir"
	"github.com/gompss/gompss/codegen/ir/build"
	"github.com/gompss/gompss/codegen/ir/query"
)

var BinaryOps = map[token.Token]ir.Op{token.ADD: ir.Add, token.SUB: ir.Sub, token.MUL: ir.Mul, token.QUO: ir.Div,
	token.REM: ir.Rem, token.AND: ir.And, token.OR: ir.Or, token.XOR: ir.Xor, token.AND_NOT: ir.AndNot, token.SHL: ir.Shl,
	token.SHR: ir.Shr, token.EQL: ir.Eq, token.NEQ: ir.Ne, token.LSS: ir.Lt, token.LEQ: ir.Le, token.GTR: ir.Gt,
	token.GEQ: ir.Ge, token.LAND: ir.LAnd, token.LOR: ir.LOr}

func (b *Builder) binary(e *ast.BinaryExpr) ir.Expr {
	op, at := BinaryOps[e.Op], b.Pos(e.OpPos)
	switch {
	case op == ir.LAnd || op == ir.LOr:
		return b.ShortCircuit(op, b.Expr(e.X), func() ir.Expr { return b.Expr(e.Y) }, at)
	case op == ir.Eq || op == ir.Ne:
		return b.equality(op, e)
	case op == ir.Shl || op == ir.Shr:
		return b.Shift(op, b.Expr(e.X), b.ShiftCount(e.Y), e)
	}
	x, y := b.Expr(e.X), b.Expr(e.Y)
	if z := b.Complex(op, x, y, at); z != nil {
		return z
	}
	if !x.Type().IsScalar() || !ir.Same(x.Type(), y.Type()) || !Takes(op, x.Type()) {
		b.TypeOf(e)
		return b.Bad(e, x, y)
	}
	return b.Arithmetic(op, x, y, at)
}

// Arithmetic returns x op y of scalars of one type, with a check where an integer divisor may be 0.
func (b *Builder) Arithmetic(op ir.Op, x, y ir.Expr, at ir.Pos) ir.Expr {
	out := &ir.Binary{Op: op, X: x, Y: y, T: x.Type(), At: at}
	switch op {
	case ir.Lt, ir.Le, ir.Gt, ir.Ge, ir.Eq, ir.Ne, ir.LAnd, ir.LOr:
		out.T = ir.BoolType
	case ir.Div, ir.Rem:
		n, known := query.Int64(y)
		out.Checked = x.Type().IsInteger() && b.Checked() && (!known || n == 0)
	}
	return out
}

// Takes reports whether op is defined on scalars of type t. It is, unless an error was reported for
// an operand.
func Takes(op ir.Op, t *ir.Type) bool {
	switch op {
	case ir.Rem, ir.And, ir.Or, ir.Xor, ir.AndNot, ir.Shl, ir.Shr:
		return t.IsInteger()
	case ir.LAnd, ir.LOr:
		return t.Kind == ir.Bool
	case ir.Eq, ir.Ne:
		return true
	}
	return op != ir.NoOp && t.Kind != ir.Bool
}

// ShiftCount returns the count of a shift. go/types says of a constant without a type that it is an
// int; the language makes it a uint.
func (b *Builder) ShiftCount(e ast.Expr) ir.Expr {
	if tv := b.Program.Info.Types[e]; tv.Value != nil && tv.Value.Kind() == constant.Int {
		if n, ok := constant.Uint64Val(tv.Value); ok && n >= 1<<63 {
			return &ir.Const{T: ir.Uint64Type, Bits: n, At: b.Pos(e.Pos())}
		}
	}
	return b.Expr(e)
}

func (b *Builder) Shift(op ir.Op, x, y ir.Expr, e ast.Expr) ir.Expr {
	if !x.Type().IsInteger() || !y.Type().IsInteger() {
		b.TypeOf(e)
		return b.Bad(e, x, y)
	}
	n, known := query.Int64(y)
	sure := known && n >= 0 || !y.Type().IsSigned()
	return &ir.Binary{Op: op, X: x, Y: y, T: x.Type(), Checked: b.Checked() && !sure, At: b.Pos(e.Pos())}
}

// ShortCircuit returns x && y or x || y. Where y needs statements of its own, they run only if x
// does not decide.
func (b *Builder) ShortCircuit(op ir.Op, x ir.Expr, y func() ir.Expr, at ir.Pos) ir.Expr {
	var second ir.Expr
	before := b.Collect(func() { second = y() })
	if x.Type().Kind != ir.Bool || second.Type().Kind != ir.Bool {
		b.Out = append(b.Out, before...)
		b.Keep(x, second)
		return query.BadValue(ir.BoolType, at)
	}
	if len(before) == 0 {
		return &ir.Binary{Op: op, X: x, Y: second, T: ir.BoolType, At: at}
	}
	result := b.Temp("cond", x, at)
	more := result
	if op == ir.LOr {
		more = &ir.Unary{Op: ir.Not, X: result, At: at}
	}
	then := append(before, &ir.Assign{Place: result, Value: second, At: at})
	b.Emit(&ir.If{Cond: more, Then: then, At: at})
	return result
}

// equality returns x == y or x != y.
func (b *Builder) equality(op ir.Op, e *ast.BinaryExpr) ir.Expr {
	if b.IsNil(e.X) || b.IsNil(e.Y) {
		return b.nilTest(op, e)
	}
	x, y := b.Expr(e.X), b.Expr(e.Y)
	if scope.IsBad(x, y) || !ir.Same(x.Type(), y.Type()) {
		return b.Bad(e, x, y)
	}
	return b.Equal(op, x, y, b.Pos(e.OpPos))
}

func (b *Builder) nilTest(op ir.Op, e *ast.BinaryExpr) ir.Expr {
	other := e.X
	if b.IsNil(other) {
		other = e.Y
	}
	x, at := b.Expr(other), b.Pos(e.OpPos)
	switch x.Type().Kind {
	case ir.Pointer:
		return &ir.Binary{Op: op, X: x, Y: &ir.Const{T: x.Type(), At: at}, T: ir.BoolType, At: at}
	case ir.Slice:
		b.Fail(e.OpPos, "comparison with nil", "a slice that is nil and one that is empty are the same on a device", "compare len with 0")
	}
	return b.Bad(e, x)
}

// maxCompared bounds the size in bytes of structs and arrays whose comparison is written out.
const maxCompared = 512

// Equal compares two values of one type: structs and arrays part by part, as Go does.
func (b *Builder) Equal(op ir.Op, x, y ir.Expr, at ir.Pos) ir.Expr {
	t := x.Type()
	if t.IsScalar() || t.Kind == ir.Pointer {
		return &ir.Binary{Op: op, X: x, Y: y, T: ir.BoolType, At: at}
	}
	if t.Size > maxCompared {
		b.Report(diag.Diagnostic{Pos: at, What: "comparison of " + t.String(), Why: "the values are larger than 512 bytes",
			Instead: "compare them in a loop"})
		return &ir.Const{T: ir.BoolType, At: at}
	}
	all := b.equalParts(b.Stable(x), b.Stable(y), at)
	if op == ir.Ne {
		return &ir.Unary{Op: ir.Not, X: all, At: at}
	}
	return all
}

// Stable returns an expression for the value of x that may be evaluated several times.
func (b *Builder) Stable(x ir.Expr) ir.Expr {
	if ir.IsPlace(x) {
		return x
	}
	return b.Temp("value", x, x.Pos())
}

// equalParts returns the conjunction of the comparisons of all parts; blank fields do not count.
func (b *Builder) equalParts(x, y ir.Expr, at ir.Pos) ir.Expr {
	var all ir.Expr
	and := func(e ir.Expr) {
		if all == nil {
			all = e
			return
		}
		all = &ir.Binary{Op: ir.LAnd, X: all, Y: e, T: ir.BoolType, At: at}
	}
	switch t := x.Type(); t.Kind {
	case ir.Struct:
		for i, f := range t.Fields {
			if f.Name != "_" {
				and(b.equalParts(&ir.Member{X: x, Field: i, At: at}, &ir.Member{X: y, Field: i, At: at}, at))
			}
		}
	case ir.Array:
		for i := range t.Len {
			n := build.Int(i, at)
			and(b.equalParts(&ir.Index{X: x, I: n, At: at}, &ir.Index{X: y, I: n, At: at}, at))
		}
	default:
		return &ir.Binary{Op: ir.Eq, X: x, Y: y, T: ir.BoolType, At: at}
	}
	if all == nil {
		return &ir.Const{T: ir.BoolType, Bits: 1, At: at}
	}
	return all
}
