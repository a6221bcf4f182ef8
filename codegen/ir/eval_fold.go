package ir

import (
	"errors"
	"math"
)

// Bits is the bit pattern of a scalar, as in Const: signed integers are sign-extended to 64 bits,
// unsigned ones and float32 patterns zero-extended, bool is 0 or 1.
type Bits = uint64

// The errors of operators.
var (
	ErrDivide = errors.New("integer division by zero")
	ErrShift  = errors.New("negative shift count")
)

// Normal truncates b, a result of wider arithmetic, to the width of t and extends it to 64 bits as
// Bits requires.
func Normal(t *Type, b Bits) Bits {
	switch t.Kind {
	case Bool:
		return b & 1
	case Int8:
		return Bits(int8(b))
	case Int16:
		return Bits(int16(b))
	case Int32:
		return Bits(int32(b))
	case Uint8:
		return Bits(uint8(b))
	case Uint16:
		return Bits(uint16(b))
	case Uint32, Float32:
		return Bits(uint32(b))
	}
	return b
}

// Float returns the value of a floating-point number of type t. The conversion of a Float32 to
// float64 is exact.
func Float(t *Type, b Bits) float64 {
	if t.Kind == Float32 {
		return float64(math.Float32frombits(uint32(b)))
	}
	return math.Float64frombits(b)
}

// FloatBits returns f rounded to t.
func FloatBits(t *Type, f float64) Bits {
	if t.Kind == Float32 {
		return Bits(math.Float32bits(float32(f)))
	}
	return math.Float64bits(f)
}

// BoolBits returns 1 for true and 0 for false.
func BoolBits(b bool) Bits {
	if b {
		return 1
	}
	return 0
}

// FoldUnary returns op x for a scalar of type t.
func FoldUnary(op Op, t *Type, x Bits) Bits {
	switch op {
	case Not:
		return x ^ 1
	case Com:
		return Normal(t, ^x)
	case Neg:
		switch t.Kind {
		case Float32:
			return x ^ 1<<31
		case Float64:
			return x ^ 1<<63
		}
		return Normal(t, -x)
	}
	panic("gompss: bug: ir: no unary operator " + op.String())
}

// FoldBinary returns x op y with Go's semantics, for every operator except MinLoc and MaxLoc. xt is
// the type of x and yt the type of y; they differ only for shifts. Comparisons return a bool.
//
// Errors: ErrDivide and ErrShift.
func FoldBinary(op Op, xt, yt *Type, x, y Bits) (Bits, error) {
	switch {
	case op == Shl || op == Shr:
		return foldShift(op, xt, yt, x, y)
	case xt.Kind == Bool:
		return foldBool(op, x, y), nil
	case xt.Kind == Float32:
		return foldFloat32(op, math.Float32frombits(uint32(x)), math.Float32frombits(uint32(y))), nil
	case xt.Kind == Float64:
		return foldFloat64(op, math.Float64frombits(x), math.Float64frombits(y)), nil
	case (op == Div || op == Rem) && y == 0:
		return 0, ErrDivide
	case xt.IsSigned():
		return Normal(xt, foldSigned(op, int64(x), int64(y))), nil
	}
	return Normal(xt, foldUnsigned(op, x, y)), nil
}

func foldShift(op Op, xt, yt *Type, x, y Bits) (Bits, error) {
	if yt.IsSigned() && int64(y) < 0 {
		return 0, ErrShift
	}
	switch {
	case op == Shl:
		return Normal(xt, x<<y), nil
	case xt.IsSigned():
		return Bits(int64(x) >> y), nil
	}
	return x >> y, nil
}

func foldBool(op Op, x, y Bits) Bits {
	switch op {
	case Eq:
		return BoolBits(x == y)
	case Ne, Xor:
		return x ^ y
	case LAnd, And, Min:
		return x & y
	case LOr, Or, Max:
		return x | y
	}
	panic("gompss: bug: ir: no operator " + op.String() + " on bool")
}

// compared evaluates the comparisons, which are the same for all ordered types. ok is false for
// other operators.
func compared[T int64 | uint64 | float32 | float64](op Op, x, y T) (result, ok bool) {
	switch op {
	case Eq:
		return x == y, true
	case Ne:
		return x != y, true
	case Lt:
		return x < y, true
	case Le:
		return x <= y, true
	case Gt:
		return x > y, true
	case Ge:
		return x >= y, true
	}
	return false, false
}

func foldSigned(op Op, x, y int64) Bits {
	switch op {
	case Div:
		return Bits(x / y)
	case Rem:
		return Bits(x % y)
	case Min:
		return Bits(min(x, y))
	case Max:
		return Bits(max(x, y))
	}
	if r, ok := compared(op, x, y); ok {
		return BoolBits(r)
	}
	return foldBits(op, Bits(x), Bits(y))
}

func foldUnsigned(op Op, x, y Bits) Bits {
	switch op {
	case Div:
		return x / y
	case Rem:
		return x % y
	case Min:
		return min(x, y)
	case Max:
		return max(x, y)
	}
	if r, ok := compared(op, x, y); ok {
		return BoolBits(r)
	}
	return foldBits(op, x, y)
}

// foldBits evaluates the operators whose results do not depend on the sign.
func foldBits(op Op, x, y Bits) Bits {
	switch op {
	case Add:
		return x + y
	case Sub:
		return x - y
	case Mul:
		return x * y
	case And:
		return x & y
	case Or:
		return x | y
	case Xor:
		return x ^ y
	case AndNot:
		return x &^ y
	}
	panic("gompss: bug: ir: no operator " + op.String() + " on integers")
}

// foldFloat32 evaluates op in float32, as Go does.
func foldFloat32(op Op, x, y float32) Bits {
	if r, ok := compared(op, x, y); ok {
		return BoolBits(r)
	}
	var r float32
	switch op {
	case Add:
		r = x + y
	case Sub:
		r = x - y
	case Mul:
		r = x * y
	case Div:
		r = x / y
	case Min:
		r = min(x, y)
	case Max:
		r = max(x, y)
	default:
		panic("gompss: bug: ir: no operator " + op.String() + " on float32")
	}
	return Bits(math.Float32bits(r))
}

func foldFloat64(op Op, x, y float64) Bits {
	if r, ok := compared(op, x, y); ok {
		return BoolBits(r)
	}
	var r float64
	switch op {
	case Add:
		r = x + y
	case Sub:
		r = x - y
	case Mul:
		r = x * y
	case Div:
		r = x / y
	case Min:
		r = min(x, y)
	case Max:
		r = max(x, y)
	default:
		panic("gompss: bug: ir: no operator " + op.String() + " on float64")
	}
	return math.Float64bits(r)
}
