package cprint

import (
	"fmt"
	"math"
	"strconv"
	"strings"

	"github.com/gompss/gompss/codegen/ir"
)

// A Dialect is the spelling of common constructs in one C-like language.
type Dialect struct {
	Types        []string // names of the types, by Type
	Long         string   // suffix of a number of 64 bits
	UnsignedLong string
	Nil          string
	Float32Bits  string // format of the float32 that has such bits, for those that no number stands for
	Float64Bits  string
	FlatChains   bool // chains of one associative operator have no parentheses in them
}

// Name returns the name of a type.
func (d *Dialect) Name(t Type) string { return d.Types[t] }

// Ops are the operators and their binding strengths.
var Ops = map[ir.Op]struct {
	Text string
	Prec int
}{
	ir.Add: {"+", PrecAdd}, ir.Sub: {"-", PrecAdd}, ir.Mul: {"*", PrecMul}, ir.Div: {"/", PrecMul}, ir.Rem: {"%", PrecMul},
	ir.And: {"&", PrecAnd}, ir.Or: {"|", PrecOr}, ir.Xor: {"^", PrecXor}, ir.AndNot: {"& ~", PrecAnd},
	ir.Shl: {"<<", PrecShift}, ir.Shr: {">>", PrecShift},
	ir.Eq: {"==", PrecEq}, ir.Ne: {"!=", PrecEq}, ir.Lt: {"<", PrecRel}, ir.Le: {"<=", PrecRel}, ir.Gt: {">", PrecRel},
	ir.Ge: {">=", PrecRel}, ir.LAnd: {"&&", PrecLAnd}, ir.LOr: {"||", PrecLOr},
}

// Join prints x op y with the parentheses that C needs, and for readability also around arithmetic
// below a shift or a bit operation and around && below ||.
func (d *Dialect) Join(op ir.Op, x, y Val, t Type) Val {
	o := Ops[op]
	left, right := d.operands(op, x, y)
	if op == ir.AndNot {
		return Value(x.At(left)+" & ~"+y.At(PrecUnary), o.Prec, t)
	}
	if d.FlatChains && op == ir.Add && y.Prec == PrecAdd && x.Type == t && y.Type == t && t.IsUnsigned() {
		right = PrecAdd // sums of unsigned numbers may be read from the left
	}
	rhs := y.At(right)
	if o.Prec == PrecAdd && strings.HasPrefix(rhs, "-") {
		rhs = "(" + rhs + ")"
	}
	return Value(x.At(left)+" "+o.Text+" "+rhs, o.Prec, t)
}

// operands returns the binding strengths that the operands of op need to be read at a glance.
func (d *Dialect) operands(op ir.Op, x, y Val) (left, right int) {
	prec := Ops[op].Prec
	switch {
	case op == ir.LOr:
		return aroundAnd(x), aroundAnd(y)
	case prec == PrecShift:
		return PrecUnary, PrecUnary
	case prec >= PrecOr && prec <= PrecAnd:
		return d.inChain(prec, x), d.inChain(prec, y)
	}
	return prec, prec + 1
}

// aroundAnd asks for parentheses around && below ||.
func aroundAnd(v Val) int {
	if v.Prec == PrecLAnd {
		return PrecUnary
	}
	return PrecLOr
}

// inChain asks for parentheses around everything but the same operator.
func (d *Dialect) inChain(prec int, v Val) int {
	if d.FlatChains && v.Prec == prec {
		return prec
	}
	return PrecUnary
}

// Cast returns v converted to t. Casting to a type with as many bits as v has right makes it exact.
func (d *Dialect) Cast(v Val, t Type) Val {
	if v.Type == t && v.Bits == Exact {
		return v
	}
	if suffix := d.suffix(t); suffix != "" && IsNumber(v.Text) {
		return Value(v.Text+suffix, PrecPostfix, t)
	}
	return Value("("+d.Name(t)+")"+v.At(PrecUnary), PrecUnary, t)
}

// suffix turns a plain number into an unsigned one.
func (d *Dialect) suffix(t Type) string {
	switch t {
	case U32:
		return "u"
	case U64:
		return d.UnsignedLong
	}
	return ""
}

// Beside returns v as an operand of an operation in t: a negative number beside an unsigned one
// gets an explicit conversion.
func (d *Dialect) Beside(v Val, t Type) Val {
	digits := strings.TrimSuffix(v.Text, d.Long)
	if !t.IsUnsigned() || !strings.HasPrefix(digits, "-") || !IsNumber(digits[1:]) || digits != v.Text && t.Bits() < 64 {
		return v
	}
	return Val{Text: digits + d.suffix(Unsigned(t.Bits())), Prec: v.Prec, Type: t, Bits: t.Bits()}
}

// Const prints a bool, a number or nil. Small integers are plain numbers, which take the type of
// the other operand.
func (d *Dialect) Const(c *ir.Const) Val {
	switch c.T.Kind {
	case ir.Bool:
		return Value(strconv.FormatBool(c.Bits != 0), PrecPostfix, Bool)
	case ir.Float32:
		return float(float64(math.Float32frombits(uint32(c.Bits))), F32, "f", fmt.Sprintf(d.Float32Bits, uint32(c.Bits)))
	case ir.Float64:
		return float(math.Float64frombits(c.Bits), F64, "", fmt.Sprintf(d.Float64Bits, c.Bits))
	case ir.Pointer, ir.Slice:
		return Value(d.Nil, PrecPostfix, Other)
	}
	if c.T.IsSigned() {
		return d.Signed(int64(c.Bits))
	}
	switch v := c.Bits; {
	case v <= math.MaxInt32:
		return d.Signed(int64(v))
	case Width(c.T) <= 32:
		return Value(fmt.Sprintf("0x%xu", v), PrecPostfix, U32)
	default:
		return Value(fmt.Sprintf("0x%x%s", v, d.UnsignedLong), PrecPostfix, U64)
	}
}

// Signed prints a signed number.
func (d *Dialect) Signed(v int64) Val {
	switch {
	case v == math.MinInt32:
		return Value("(-2147483647 - 1)", PrecPostfix, I32)
	case v == math.MinInt64:
		return Value("(-9223372036854775807"+d.Long+" - 1)", PrecPostfix, I64)
	case v < math.MinInt32 || v > math.MaxInt32:
		return Number(strconv.FormatInt(v, 10)+d.Long, I64)
	}
	return Number(strconv.FormatInt(v, 10), I32)
}

func float(v float64, t Type, suffix, special string) Val {
	if math.IsInf(v, 0) || math.IsNaN(v) {
		return Value(special, PrecPostfix, t)
	}
	s := strconv.FormatFloat(v, 'g', -1, t.Bits())
	if !strings.ContainsAny(s, ".e") {
		s += ".0"
	}
	return Number(s+suffix, t)
}
