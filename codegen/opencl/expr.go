package opencl

import (
	"strconv"
	"strings"

	"github.com/gompss/gompss/codegen/internal/cprint"
	"github.com/gompss/gompss/codegen/ir"
)

// expr prints e. What has to be done before e, checks above all, is printed as statements in front
// of the line that e is part of: expressions change nothing, so that only checks have an order.
func (p *printer) expr(e ir.Expr) cprint.Val {
	switch e := e.(type) {
	case *ir.Const:
		return p.constant(e)
	case *ir.Ref:
		return p.ref(e)
	case *ir.Unary:
		return p.arith().unary(e)
	case *ir.Binary:
		return p.arith().binary(e)
	case *ir.Convert:
		return p.values().convert(e)
	case *ir.Math:
		return p.maths().math(e)
	case *ir.Query:
		if e.What > ir.NumTeams {
			return p.values().warpQuery(e)
		}
		return cprint.Value([...]string{"get_local_id(0)", "get_local_size(0)", "get_group_id(0)", "get_num_groups(0)"}[e.What], cprint.PrecPostfix, cprint.U64)
	case *ir.Select:
		return p.values().selection(e)
	case *ir.Composite:
		return cprint.Value("("+p.typeName(e.T)+")"+p.values().braces(e), cprint.PrecPostfix, cprint.Other)
	case *ir.Shuffle:
		return p.values().shuffle(e)
	}
	return p.places().memory(e)
}

// number prints e as Go's value.
func (p *printer) number(e ir.Expr) cprint.Val { return p.exact(p.expr(e), e.Type()) }

// exact returns v as Go's value of type t.
func (p *printer) exact(v cprint.Val, t *ir.Type) cprint.Val {
	if v.IsExact() {
		return v
	}
	return dialect.Cast(v, cprint.TypeOf(t))
}

// stable prints e so that it can be used twice: more than a name or a number becomes a constant of
// its own.
func (p *printer) stable(e ir.Expr, name string) cprint.Val {
	v := p.number(e)
	switch e := e.(type) {
	case *ir.Const, *ir.Query:
		return v
	case *ir.Ref:
		if e.Var.Space != ir.Team {
			return v
		}
	}
	return p.constantOf(e.Pos(), v.Text, cprint.TypeOf(e.Type()), name)
}

// constantOf declares a constant with a value.
func (p *printer) constantOf(at ir.Pos, text string, ct cprint.Type, name string) cprint.Val {
	name = p.Fresh(name)
	p.Printf(at, "const %s %s = %s;", dialect.Name(ct), name, text)
	return cprint.Value(name, cprint.PrecPostfix, ct)
}

// constant prints a constant.
func (p *printer) constant(c *ir.Const) cprint.Val {
	if c.T.Kind == ir.Float64 {
		p.needs["cl_khr_fp64"] = true
	}
	return dialect.Const(c)
}

func (p *printer) ref(e *ir.Ref) cprint.Val {
	name, ok := p.Of[e.Var]
	if !ok {
		p.fail(e.At, "variable %s is not declared", e.Var.Name)
	}
	return cprint.Value(name, cprint.PrecPostfix, cprint.TypeOf(e.Var.Type))
}

// selection prints cond ? x : y; as a statement where a side has checks.
func (p valuesPrinter) selection(e *ir.Select) cprint.Val {
	ct := cprint.TypeOf(e.Type())
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
		if x.Type.IsUnsigned() != y.Type.IsUnsigned() || ct.Bits() == 64 {
			x, y = p.asGo(x, e.Type()), p.asGo(y, e.Type())
		}
		ct = cprint.Common(x.Type, y.Type)
	}
	return cprint.Value(cond.At(cprint.PrecLOr)+" ? "+x.At(cprint.PrecLOr)+" : "+y.At(cprint.PrecCond), cprint.PrecCond, ct)
}

// asGo returns an exact v in the C type of its Go type, unless it is a number.
func (p *printer) asGo(v cprint.Val, t *ir.Type) cprint.Val {
	if cprint.IsNumber(v.Text) {
		return v
	}
	return dialect.Cast(v, cprint.TypeOf(t))
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
func (p valuesPrinter) convert(e *ir.Convert) cprint.Val {
	from, to := e.X.Type(), e.T
	ct := cprint.TypeOf(to)
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
	return dialect.Cast(p.number(e.X), ct)
}

func (p valuesPrinter) convertInt(e *ir.Convert, ct cprint.Type) cprint.Val {
	from, to := e.X.Type(), e.T
	v := p.expr(e.X)
	if !v.IsExact() && cprint.Width(to) > cprint.Width(from) {
		v = p.exact(v, from)
	}
	if !v.IsExact() {
		v.Type = cprint.Other // the cast below takes the low bits
		return dialect.Cast(v, ct)
	}
	if fits := p.rangeOf(e.X).within(typeRange(to)); fits && to.IsSigned() && !v.Type.IsUnsigned() && ct.Bits() >= 32 {
		return v
	}
	if cprint.IsNumber(v.Text) {
		if n, err := strconv.ParseInt(v.Text, 10, 64); err == nil && span(n, n).within(typeRange(to)) {
			return v
		}
	}
	return dialect.Cast(v, ct)
}

// reinterpret prints a conversion between types of one representation: structs with different
// names, pointers.
func (p valuesPrinter) reinterpret(e *ir.Convert) cprint.Val {
	if e.T.Kind == ir.Pointer {
		v := p.expr(e.X)
		if ir.TypeKey(e.T.Elem) == ir.TypeKey(e.X.Type().Elem) {
			return v
		}
		return cprint.Value("("+p.spaceOf(e.X).qualifier()+p.pointee(e.T.Elem)+" *)"+v.At(cprint.PrecUnary), cprint.PrecUnary, cprint.Other)
	}
	v := p.expr(e.X)
	if from, to := p.typeName(e.X.Type()), p.typeName(e.T); from != to {
		p.fail(e.At, "conversion from %s to %s: not supported by opencl", e.X.Type(), e.T)
	}
	return v
}

func (p valuesPrinter) floatToInt(e *ir.Convert) cprint.Val {
	x := p.expr(e.X)
	from := cprint.TypeOf(e.X.Type())
	var name string
	ct := cprint.I32
	switch {
	case e.T.Kind == ir.Uint64:
		p.typed("go_int64", int64Text, from)
		name, ct = p.piece("go_uint64_"+dialect.Name(from), map[cprint.Type]string{cprint.F32: uint64FloatText, cprint.F64: uint64DoubleText}[from]), cprint.U64
	case e.T.Kind == ir.Int64 || e.T.Kind == ir.Uint32:
		name, ct = p.typed("go_int64", int64Text, from), cprint.I64
	default:
		name = p.piece("go_int32_"+dialect.Name(from), map[cprint.Type]string{cprint.F32: int32FloatText, cprint.F64: int32DoubleText}[from])
	}
	return dialect.Cast(cprint.Value(name+"("+x.Text+")", cprint.PrecPostfix, ct), cprint.TypeOf(e.T))
}

// braces prints the elements of a literal.
func (p valuesPrinter) braces(e *ir.Composite) string {
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

func (p valuesPrinter) element(x ir.Expr, t *ir.Type) string {
	if c, ok := x.(*ir.Composite); ok {
		return p.braces(c)
	}
	return p.expr(x).Text
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
