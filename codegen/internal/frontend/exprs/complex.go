package exprs

import (
	"go/constant"

	"github.com/gompss/gompss/codegen/ir"
	"github.com/gompss/gompss/codegen/ir/build"
	"github.com/gompss/gompss/codegen/ir/query"
)

// complexes makes the operations of complex numbers, which are structs of two floats. Their results
// have the bits of gc's: products and quotients of complex64 are computed in float64.
type complexes struct{ *Builder }

// Complex returns x op y of complex numbers of one type, nil where they are none or op is not
// defined on them.
func (b *Builder) Complex(op ir.Op, x, y ir.Expr, at ir.Pos) ir.Expr {
	t := x.Type()
	if !t.Complex || !ir.Same(t, y.Type()) {
		return nil
	}
	c := complexes{b}
	switch op {
	case ir.Add, ir.Sub:
		xr, xi := b.Parts(x)
		yr, yi := b.Parts(y)
		return c.number(t, b.Arithmetic(op, xr, yr, at), b.Arithmetic(op, xi, yi, at), at)
	case ir.Mul:
		return c.product(x, y, at)
	case ir.Div:
		return c.quotient(x, y, at)
	}
	return nil
}

// number returns the complex number with two parts.
func (b complexes) number(t *ir.Type, re, im ir.Expr, at ir.Pos) ir.Expr {
	return &ir.Composite{T: t, Elems: []ir.Expr{re, im}, At: at}
}

func (b complexes) constant(v constant.Value, t *ir.Type, at ir.Pos) ir.Expr {
	v = constant.ToComplex(v)
	re, _ := ConstantBits(constant.Real(v), t.Fields[0].Type)
	im, _ := ConstantBits(constant.Imag(v), t.Fields[1].Type)
	return b.number(t, &ir.Const{T: t.Fields[0].Type, Bits: re, At: at}, &ir.Const{T: t.Fields[1].Type, Bits: im, At: at}, at)
}

// Parts returns the real and the imaginary part of the complex number x, which may be evaluated
// several times.
func (b *Builder) Parts(x ir.Expr) (re, im ir.Expr) {
	if c, ok := x.(*ir.Composite); ok {
		return b.part(c.Elems[0]), b.part(c.Elems[1])
	}
	if !query.IsNamed(x) {
		x = b.Temp("value", x, x.Pos())
	}
	return &ir.Member{X: x, Field: 0, At: x.Pos()}, &ir.Member{X: build.Copy(x), Field: 1, At: x.Pos()}
}

func (b *Builder) part(x ir.Expr) ir.Expr {
	switch x := x.(type) {
	case *ir.Const:
		return x
	case *ir.Ref:
		if b.Temps[x.Var] {
			return x
		}
	}
	return b.Temp("part", x, x.Pos())
}

// ConvertComplex returns x as the complex type t.
func (b *Builder) ConvertComplex(x ir.Expr, t *ir.Type, at ir.Pos) ir.Expr {
	if ir.Same(x.Type(), t) {
		return x
	}
	re, im := b.Parts(x)
	return complexes{b}.number(t, build.Convert(t.Fields[0].Type, re, at), build.Convert(t.Fields[1].Type, im, at), at)
}

func (b complexes) negate(x ir.Expr, at ir.Pos) ir.Expr {
	re, im := b.Parts(x)
	return b.number(x.Type(), &ir.Unary{Op: ir.Neg, X: re, At: at}, &ir.Unary{Op: ir.Neg, X: im, At: at}, at)
}

// wide returns the parts of x as float64, or as they are where fastmath lets them.
func (b complexes) wide(x ir.Expr, at ir.Pos) (re, im ir.Expr) {
	re, im = b.Parts(x)
	if b.Kernel.Target.FastMath {
		return re, im
	}
	return b.part(build.Convert(ir.Float64Type, re, at)), b.part(build.Convert(ir.Float64Type, im, at))
}

// product returns x * y.
func (b complexes) product(x, y ir.Expr, at ir.Pos) ir.Expr {
	t := x.Type()
	part := t.Fields[0].Type
	xr, xi := b.wide(x, at)
	yr, yi := b.wide(y, at)
	mul := func(x, y ir.Expr) ir.Expr { return b.Arithmetic(ir.Mul, build.Copy(x), build.Copy(y), at) }
	re := b.Arithmetic(ir.Sub, mul(xr, yr), mul(xi, yi), at)
	im := b.Arithmetic(ir.Add, mul(xr, yi), mul(xi, yr), at)
	return b.number(t, build.Convert(part, re, at), build.Convert(part, im, at), at)
}
