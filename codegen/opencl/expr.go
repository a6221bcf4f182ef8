package opencl

import (
	"fmt"
	"math"
	"strconv"
	"strings"

	"github.com/gompss/gompss/codegen/internal/cprint"
	"github.com/gompss/gompss/codegen/ir"
)

// expr prints e. What has to be done before e, checks above all, is printed as statements in front
// of the line that e is part of: expressions change nothing, so that only checks have an order.
func (p *printer) expr(e ir.Expr) val {
	switch e := e.(type) {
	case *ir.Const:
		return p.constant(e)
	case *ir.Ref:
		return p.ref(e)
	case *ir.Unary:
		return p.unary(e)
	case *ir.Binary:
		return p.binary(e)
	case *ir.Convert:
		return p.convert(e)
	case *ir.Math:
		return p.math(e)
	case *ir.Query:
		if e.What > ir.NumTeams {
			p.fail(e.At, "a question about warps: not supported by opencl")
			return value("0", precPostfix, i32)
		}
		return value([...]string{"get_local_id(0)", "get_local_size(0)", "get_group_id(0)", "get_num_groups(0)"}[e.What], precPostfix, u64)
	case *ir.Select:
		return p.selection(e)
	case *ir.Composite:
		return value("("+p.typeName(e.T)+")"+p.braces(e), precPostfix, other)
	case *ir.Shuffle:
		p.fail(e.At, "a shuffle between threads: not supported by opencl")
		return value("0", precPostfix, i32)
	}
	return p.memory(e)
}

// number prints e as Go's value.
func (p *printer) number(e ir.Expr) val { return p.exact(p.expr(e), e.Type()) }

// exact returns v as Go's value of type t.
func (p *printer) exact(v val, t *ir.Type) val {
	if !v.modular {
		return v
	}
	return v.cast(ctypeOf(t))
}

// stable prints e so that it can be used twice: more than a name or a number becomes a constant of
// its own.
func (p *printer) stable(e ir.Expr, name string) val {
	v := p.number(e)
	switch e := e.(type) {
	case *ir.Const, *ir.Query:
		return v
	case *ir.Ref:
		if e.Var.Space != ir.Team {
			return v
		}
	}
	return p.constantOf(e.Pos(), v.text, ctypeOf(e.Type()), name)
}

// constantOf declares a constant with a value.
func (p *printer) constantOf(at ir.Pos, text string, ct ctype, name string) val {
	name = p.Fresh(name)
	p.printf(at, "const %s %s = %s;", ct, name, text)
	return value(name, precPostfix, ct)
}

// constant prints a constant. Small integers are plain numbers, which take the type of what they
// meet.
func (p *printer) constant(c *ir.Const) val {
	switch c.T.Kind {
	case ir.Bool:
		return value(strconv.FormatBool(c.Bits != 0), precPostfix, boolean)
	case ir.Float32:
		return floatConst(float64(math.Float32frombits(uint32(c.Bits))), 32, fmt.Sprintf("as_float(0x%xu)", uint32(c.Bits)))
	case ir.Float64:
		p.needs["cl_khr_fp64"] = true
		return floatConst(math.Float64frombits(c.Bits), 64, fmt.Sprintf("as_double(0x%xul)", c.Bits))
	case ir.Pointer:
		return value("NULL", precPostfix, other)
	}
	if c.T.IsSigned() {
		return signedConst(int64(c.Bits))
	}
	switch v := c.Bits; {
	case v <= math.MaxInt32:
		return signedConst(int64(v))
	case width(c.T) <= 32:
		return value(fmt.Sprintf("0x%xu", v), precPostfix, u32)
	default:
		return value(fmt.Sprintf("0x%xul", v), precPostfix, u64)
	}
}

func signedConst(v int64) val {
	switch {
	case v == math.MinInt32:
		return value("(-2147483647 - 1)", precPostfix, i32)
	case v == math.MinInt64:
		return value("(-9223372036854775807l - 1)", precPostfix, i64)
	case v < math.MinInt32 || v > math.MaxInt32:
		return signedText(strconv.FormatInt(v, 10)+"l", i64)
	}
	return signedText(strconv.FormatInt(v, 10), i32)
}

func signedText(s string, ct ctype) val {
	if s[0] == '-' {
		return value(s, precUnary, ct)
	}
	return value(s, precPostfix, ct)
}

func floatConst(v float64, bits int, special string) val {
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
	return signedText(s+suffix, ct)
}

func (p *printer) ref(e *ir.Ref) val {
	name, ok := p.Of[e.Var]
	if !ok {
		p.fail(e.At, "variable %s is not declared", e.Var.Name)
	}
	return value(name, precPostfix, ctypeOf(e.Var.Type))
}

// selection prints cond ? x : y; as a statement where a side has checks.
func (p *printer) selection(e *ir.Select) val {
	ct := ctypeOf(e.Type())
	if p.needsStatements(e.X) || p.needsStatements(e.Y) {
		v := &ir.Var{Name: "chosen", Type: e.Type(), Space: ir.Local, At: e.At}
		p.spaces[v] = p.spaceOf(e)
		p.decl(&ir.Decl{Var: v, At: e.At})
		ref := &ir.Ref{Var: v, At: e.At}
		p.stmt(&ir.If{Cond: e.Cond, Then: []ir.Stmt{&ir.Assign{Place: ref, Value: e.X, At: e.At}}, Else: []ir.Stmt{&ir.Assign{Place: ref, Value: e.Y, At: e.At}}, At: e.At})
		return p.ref(ref)
	}
	cond, x, y := p.expr(e.Cond), p.number(e.X), p.number(e.Y)
	if e.Type().IsInteger() {
		if x.ct.isUnsigned() != y.ct.isUnsigned() || ct.bits() == 64 {
			x, y = p.asGo(x, e.Type()), p.asGo(y, e.Type())
		}
		ct = common(x.ct, y.ct)
	}
	return value(cond.at(precLOr)+" ? "+x.at(precLOr)+" : "+y.at(precCond), precCond, ct)
}

// asGo returns an exact v in the C type of its Go type, unless it is a number.
func (p *printer) asGo(v val, t *ir.Type) val {
	if cprint.IsNumber(v.text) {
		return v
	}
	return v.cast(ctypeOf(t))
}

// needsStatements reports whether printing e prints statements in front of it.
func (p *printer) needsStatements(e ir.Expr) bool {
	found := false
	ir.WalkExpr(e, func(x ir.Expr) bool {
		switch x := x.(type) {
		case *ir.Index:
			found = found || x.Checked
		case *ir.Deref:
			found = found || x.Checked
		case *ir.Binary:
			found = found || x.Checked
		case *ir.Reslice:
			found = true
		}
		return !found
	})
	return found
}

// convert prints Go's conversion.
func (p *printer) convert(e *ir.Convert) val {
	from, to := e.X.Type(), e.T
	ct := ctypeOf(to)
	if to.Kind == ir.Float64 || from.Kind == ir.Float64 {
		p.needs["cl_khr_fp64"] = true
	}
	switch {
	case !to.IsScalar() || !from.IsScalar():
		return p.reinterpret(e)
	case from.IsInteger() && to.IsInteger():
		return p.convertInt(e, ct)
	case from.IsFloat() && to.IsInteger():
		return p.floatToInt(e)
	case from.Kind == to.Kind:
		return p.expr(e.X)
	}
	return p.number(e.X).cast(ct)
}

func (p *printer) convertInt(e *ir.Convert, ct ctype) val {
	from, to := e.X.Type(), e.T
	v := p.expr(e.X)
	if v.modular && width(to) > width(from) {
		v = p.exact(v, from)
	}
	if v.modular {
		v.ct = other // the cast below takes the low bits
		return v.cast(ct)
	}
	if fits := p.rangeOf(e.X).within(typeRange(to)); fits && to.IsSigned() && !v.ct.isUnsigned() && ct.bits() >= 32 {
		return v
	}
	if cprint.IsNumber(v.text) {
		if n, err := strconv.ParseInt(v.text, 10, 64); err == nil && span(n, n).within(typeRange(to)) {
			return v
		}
	}
	return v.cast(ct)
}

// reinterpret prints a conversion between types of one representation: structs with different
// names, pointers.
func (p *printer) reinterpret(e *ir.Convert) val {
	if e.T.Kind == ir.Pointer {
		v := p.expr(e.X)
		if ir.TypeKey(e.T.Elem) == ir.TypeKey(e.X.Type().Elem) {
			return v
		}
		return value("("+p.spaceOf(e.X).qualifier()+p.pointee(e.T.Elem)+" *)"+v.at(precUnary), precUnary, other)
	}
	v := p.expr(e.X)
	if from, to := p.typeName(e.X.Type()), p.typeName(e.T); from != to {
		p.fail(e.At, "conversion from %s to %s: not supported by opencl", e.X.Type(), e.T)
	}
	return v
}

func (p *printer) floatToInt(e *ir.Convert) val {
	x := p.expr(e.X)
	from := ctypeOf(e.X.Type())
	var name string
	ct := i32
	switch {
	case e.T.Kind == ir.Uint64:
		p.typed("go_int64", int64Text, from)
		name, ct = p.piece("go_uint64_"+from.String(), map[ctype]string{f32: uint64FloatText, f64: uint64DoubleText}[from]), u64
	case e.T.Kind == ir.Int64 || e.T.Kind == ir.Uint32:
		name, ct = p.typed("go_int64", int64Text, from), i64
	default:
		name = p.piece("go_int32_"+from.String(), map[ctype]string{f32: int32FloatText, f64: int32DoubleText}[from])
	}
	return value(name+"("+x.text+")", precPostfix, ct).cast(ctypeOf(e.T))
}

// braces prints the elements of a literal.
func (p *printer) braces(e *ir.Composite) string {
	out := make([]string, len(e.Elems))
	for i, x := range e.Elems {
		t := e.T.Elem
		if e.T.Kind == ir.Struct {
			t = e.T.Fields[i].Type
		}
		out[i] = p.element(x, t)
	}
	list := "{" + strings.Join(out, ", ") + "}"
	if e.T.Kind == ir.Array && p.isWrapped(e.T) {
		return "{" + list + "}"
	}
	return list
}

func (p *printer) element(x ir.Expr, t *ir.Type) string {
	if c, ok := x.(*ir.Composite); ok {
		return p.braces(c)
	}
	return p.expr(x).text
}

// zero prints the zero value of a variable of type t as it is declared.
func zero(t *ir.Type) string {
	switch t.Kind {
	case ir.Bool:
		return "false"
	case ir.Float32:
		return "0.0f"
	case ir.Float64:
		return "0.0"
	case ir.Pointer, ir.Slice:
		return "NULL"
	case ir.Array:
		return "{" + zero(t.Elem) + "}"
	case ir.Struct:
		if len(t.Fields) == 0 {
			return "{}"
		}
		return "{" + zero(t.Fields[0].Type) + "}"
	}
	return "0"
}
