package exprs

import (
	"go/ast"
	"go/constant"
	"go/types"
	"math"

	"github.com/gompss/gompss/codegen/ir"
)

// constantOf returns v as a constant of the Go type t.
func constantOf(b *Builder, e ast.Expr, t types.Type, v constant.Value) ir.Expr {
	to := b.TypeAt(t, e.Pos())
	if to.Kind == ir.Invalid {
		return b.Bad(e)
	}
	if to.Complex {
		return complexes{b}.constant(v, to, b.Pos(e.Pos()))
	}
	bits, ok := ConstantBits(v, to)
	if !ok {
		b.Fail(e.Pos(), "constant "+v.String(), "it does not fit type "+to.String(), "convert it to a type that holds it")
		return b.Bad(e)
	}
	return &ir.Const{T: to, Bits: bits, At: b.Pos(e.Pos())}
}

// literal returns a number whose type is a type parameter, for which go/types records no value.
func literal(b *Builder, e *ast.BasicLit) ir.Expr {
	return constantOf(b, e, b.Program.Info.TypeOf(e), constant.MakeFromLiteral(e.Value, e.Kind, 0))
}

// ConstantBits returns the bit pattern of v as a value of type t.
func ConstantBits(v constant.Value, t *ir.Type) (bits uint64, ok bool) {
	switch {
	case t.Kind == ir.Bool && v.Kind() == constant.Bool:
		return BoolBits(constant.BoolVal(v)), true
	case t.IsInteger():
		return integerBits(constant.ToInt(v), t)
	case t.Kind == ir.Float32:
		f, _ := constant.Float32Val(constant.ToFloat(v))
		return uint64(math.Float32bits(f)), isNumber(v)
	case t.Kind == ir.Float64:
		f, _ := constant.Float64Val(constant.ToFloat(v))
		return math.Float64bits(f), isNumber(v)
	}
	return 0, false
}

func isNumber(v constant.Value) bool { return constant.ToFloat(v).Kind() == constant.Float }

func BoolBits(b bool) uint64 {
	if b {
		return 1
	}
	return 0
}

func integerBits(v constant.Value, t *ir.Type) (uint64, bool) {
	if v.Kind() != constant.Int {
		return 0, false
	}
	width := uint(8 * t.Size)
	if t.IsSigned() {
		n, exact := constant.Int64Val(v)
		return uint64(n), exact && n<<(64-width)>>(64-width) == n
	}
	n, exact := constant.Uint64Val(v)
	return n, exact && n<<(64-width)>>(64-width) == n
}

// ZeroOf returns the zero value of t as an expression, nil where it is better made by a
// declaration.
func ZeroOf(t *ir.Type, at ir.Pos) ir.Expr {
	if t.IsScalar() || t.Kind == ir.Pointer || t.Kind == ir.Slice {
		return &ir.Const{T: t, At: at}
	}
	return nil
}
