package cuda

import (
	"github.com/gompss/gompss/codegen/internal/cprint"
	"github.com/gompss/gompss/codegen/ir"
)

// dialect is how CUDA C++ spells what languages like C have.
var dialect = cprint.Dialect{
	Types: []string{"", "bool", "int8", "int16", "int", "int64", "uint8", "uint16", "unsigned", "uint64", "float", "double"},
	Long:  "ll", UnsignedLong: "ull", Nil: "nullptr",
	Float32Bits: "__int_as_float(0x%x)", Float64Bits: "__longlong_as_double(0x%xll)",
	FlatChains: true,
}

// constant prints a constant.
func (p *printer) constant(c *ir.Const) cprint.Val {
	if c.T.Kind == ir.Slice {
		return cprint.Value(p.typeName(c.T)+"{}", cprint.PrecPostfix, cprint.Other)
	}
	return dialect.Const(c)
}

// number returns e, whose C++ value is Go's value.
func (p *printer) number(e ir.Expr) cprint.Val {
	saved := p.wrap32
	p.wrap32 = false
	v := p.exact(p.expr(e), e.Type())
	p.wrap32 = saved
	return v
}
