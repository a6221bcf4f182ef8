package opencl

import (
	"fmt"
	"strconv"

	"github.com/gompss/gompss/codegen/ir"
)

// A sliceVal is a slice as the three values that it is.
type sliceVal struct{ ptr, len, cap val }

// memory prints the expressions that reach into memory.
func (p *printer) memory(e ir.Expr) val {
	switch e := e.(type) {
	case *ir.Index:
		base := p.data(e.X)
		return value(base+"["+p.subscript(e)+"]", precPostfix, ctypeOf(e.Type()))
	case *ir.Member:
		p.structName(e.X.Type())
		name, ct := p.fieldName(e.X.Type(), e.Field), ctypeOf(e.Type())
		if d, ok := e.X.(*ir.Deref); ok {
			return value(p.pointer(d).at(precPostfix)+"->"+name, precPostfix, ct)
		}
		return value(p.expr(e.X).at(precPostfix)+"."+name, precPostfix, ct)
	case *ir.Deref:
		return value("*"+p.pointer(e).at(precUnary), precUnary, ctypeOf(e.Type()))
	case *ir.AddrOf:
		if d, ok := e.X.(*ir.Deref); ok {
			return p.pointer(d)
		}
		return value("&"+p.expr(e.X).at(precUnary), precUnary, other)
	case *ir.Apart:
		x, n := p.extent(e.X)
		y, m := p.extent(e.Y)
		name := p.piece("go_apart", apartText)
		return value(fmt.Sprintf("%s((ulong)%s, %s, %d, (ulong)%s, %s, %d)", name, x, n, e.X.Type().Elem.Size, y, m, e.Y.Type().Elem.Size), precPostfix, boolean)
	case *ir.Len:
		return p.slice(e.X).len
	case *ir.Cap:
		return p.slice(e.X).cap
	}
	p.fail(e.Pos(), "expression %T: not supported by opencl", e)
	return value("0", precPostfix, i32)
}

// extent prints the address and the number of elements that slice or pointer x refers to.
func (p *printer) extent(x ir.Expr) (ptr, n string) {
	if x.Type().Kind == ir.Pointer {
		return p.expr(x).at(precUnary), "1"
	}
	s := p.slice(x)
	return s.ptr.at(precUnary), s.len.text
}

// data prints what is indexed: the address of a slice, or an array.
func (p *printer) data(x ir.Expr) string {
	t := x.Type()
	if t.Kind == ir.Slice {
		return p.slice(x).ptr.at(precPostfix)
	}
	if p.isWrapped(t) {
		return p.expr(x).at(precPostfix) + ".v"
	}
	return p.expr(x).at(precPostfix)
}

// subscript prints the index, checked where it has to be. An unchecked one is in range, so that it
// may be modular in 64 bits.
func (p *printer) subscript(e *ir.Index) string {
	if e.Checked {
		i := p.stable(e.I, "index")
		n := p.bound(e.X)
		p.check(e.At, "(ulong)"+i.at(precUnary)+" >= "+value(n, precUnary, i64).cast(u64).text, ir.IndexCheck, ir.Source(e.X), e.I.Type().Kind == ir.Uint64, i.text, n)
		return i.text
	}
	v := p.expr(e.I)
	if v.modular && (width(e.I.Type()) < 64 || v.ct.bits() < 64) {
		v = p.exact(v, e.I.Type())
	}
	return v.text
}

// bound prints the length that an index is checked against.
func (p *printer) bound(x ir.Expr) string {
	if t := x.Type(); t.Kind == ir.Array {
		return strconv.FormatInt(t.Len, 10)
	}
	return p.slice(x).len.text
}

// pointer prints the pointer that e follows, checked where it may be nil.
func (p *printer) pointer(e *ir.Deref) val {
	v := p.expr(e.X)
	if e.Checked {
		p.check(e.At, v.at(precEq)+" == NULL", ir.PointerCheck, ir.Source(e.X), false, "0", "0")
	}
	return v
}

// slice prints a slice value.
func (p *printer) slice(e ir.Expr) sliceVal {
	switch e := e.(type) {
	case *ir.Ref:
		name, ok := p.Of[e.Var]
		if !ok {
			p.fail(e.At, "variable %s is not declared", e.Var.Name)
		}
		return sliceVal{value(name, precPostfix, other), value(name+"_len", precPostfix, i64), value(name+"_cap", precPostfix, i64)}
	case *ir.Const:
		return sliceVal{value("NULL", precPostfix, other), value("0", precPostfix, i32), value("0", precPostfix, i32)}
	case *ir.Convert:
		return p.slice(e.X)
	case *ir.Reslice:
		return p.reslice(e)
	case *ir.Select:
		v := &ir.Var{Name: "chosen", Type: e.Type(), Space: ir.Local, At: e.At}
		p.spaces[v] = p.spaceOf(e)
		p.decl(&ir.Decl{Var: v, At: e.At})
		ref := &ir.Ref{Var: v, At: e.At}
		p.stmt(&ir.If{Cond: e.Cond, Then: []ir.Stmt{&ir.Assign{Place: ref, Value: e.X, At: e.At}}, Else: []ir.Stmt{&ir.Assign{Place: ref, Value: e.Y, At: e.At}}, At: e.At})
		return p.slice(ref)
	}
	p.fail(e.Pos(), "a slice in memory: not supported by opencl: an address there belongs to no memory object")
	return sliceVal{value("NULL", precPostfix, other), value("0", precPostfix, i32), value("0", precPostfix, i32)}
}

// reslice prints X[Lo:Hi:Max].
func (p *printer) reslice(e *ir.Reslice) sliceVal {
	var s sliceVal
	if t := e.X.Type(); t.Kind == ir.Array {
		n := signedConst(t.Len)
		s = sliceVal{value(p.data(e.X), precPostfix, other), n, n}
		if p.isWrapped(t.Elem) || t.Elem.Kind != ir.Array {
			s.ptr = value("&"+p.data(e.X)+"[0]", precUnary, other)
		}
	} else {
		s = p.slice(e.X)
	}
	bound := func(x ir.Expr, name string, other val) val {
		if x == nil {
			return other
		}
		return p.stable(x, name)
	}
	zero := value("0", precPostfix, i32)
	lo := bound(e.Lo, "lo", zero)
	hi := bound(e.Hi, "hi", s.len)
	limit := bound(e.Max, "limit", s.cap)
	if e.Checked {
		p.bounds(e, lo, hi, limit, s.cap)
	}
	if lo.text == "0" {
		return sliceVal{s.ptr, hi, limit}
	}
	minus := func(v val) val {
		return join(ir.Sub, p.comparable(v, ir.IntType).cast(i64), p.comparable(lo, ir.IntType).cast(i64), i64)
	}
	return sliceVal{value(s.ptr.at(precAdd)+" + "+lo.at(precMul), precAdd, other), minus(hi), minus(limit)}
}

// bounds checks 0 <= lo <= hi <= limit <= capacity, from the right.
func (p *printer) bounds(e *ir.Reslice, lo, hi, limit, capacity val) {
	what := ir.Source(e)
	above := func(x, most val) {
		if x.text == most.text || x.text == "0" {
			return
		}
		p.check(e.At, "(ulong)"+x.at(precUnary)+" > (ulong)"+most.at(precUnary), ir.SliceCheck, what, false, x.text, most.text)
	}
	above(limit, capacity)
	above(hi, limit)
	above(lo, hi)
}
