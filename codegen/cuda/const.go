package cuda

import (
	"fmt"
	"math"
	"strconv"
	"strings"

	"github.com/gompss/gompss/codegen/ir"
)

// constant prints a constant. Small integers are plain numbers, which take the type of what they
// meet.
func (p *printer) constant(c *ir.Const) val {
	ct := ctypeOf(c.T)
	switch c.T.Kind {
	case ir.Bool:
		return value(strconv.FormatBool(c.Bits != 0), precPostfix, boolean)
	case ir.Float32:
		return float(float64(math.Float32frombits(uint32(c.Bits))), 32, fmt.Sprintf("__int_as_float(0x%x)", uint32(c.Bits)))
	case ir.Float64:
		return float(math.Float64frombits(c.Bits), 64, fmt.Sprintf("__longlong_as_double(0x%xll)", c.Bits))
	case ir.Pointer:
		return value("nullptr", precPostfix, other)
	case ir.Slice:
		return value(p.typeName(c.T)+"{}", precPostfix, other)
	}
	if c.T.IsSigned() {
		return signedConst(int64(c.Bits), ct)
	}
	return unsignedConst(c.Bits, ct)
}

func signedConst(v int64, ct ctype) val {
	switch {
	case v == math.MinInt32 && ct == i32:
		return value("(-2147483647 - 1)", precPostfix, i32)
	case v == math.MinInt64:
		return value("(-9223372036854775807ll - 1)", precPostfix, i64)
	case v < math.MinInt32 || v > math.MaxInt32:
		return number(strconv.FormatInt(v, 10)+"ll", i64)
	}
	return number(strconv.FormatInt(v, 10), i32)
}

func unsignedConst(v uint64, ct ctype) val {
	switch {
	case v <= math.MaxInt32:
		return number(strconv.FormatUint(v, 10), i32)
	case ct.bits() <= 32:
		return number(fmt.Sprintf("0x%xu", v), u32)
	}
	return number(fmt.Sprintf("0x%xull", v), u64)
}

func number(s string, ct ctype) val {
	if s[0] == '-' {
		return value(s, precUnary, ct)
	}
	return value(s, precPostfix, ct)
}

func float(v float64, bits int, special string) val {
	ct, suffix := f64, ""
	if bits == 32 {
		ct, suffix = f32, "f"
	}
	if math.IsInf(v, 0) || math.IsNaN(v) {
		return value(special, precPostfix, ct)
	}
	s := strconv.FormatFloat(v, 'g', -1, bits)
	if !strings.ContainsAny(s, ".e") {
		s += ".0"
	}
	return number(s+suffix, ct)
}

// number returns e, whose C++ value is Go's value.
func (p *printer) number(e ir.Expr) val {
	saved := p.wrap32
	p.wrap32 = false
	v := p.exact(p.expr(e), e.Type())
	p.wrap32 = saved
	return v
}
