package opencl

import (
	"fmt"
	"strconv"

	"github.com/gompss/gompss/codegen/internal/cprint"
	"github.com/gompss/gompss/codegen/ir"
)

// A sliceVal is a slice as the three values that it is.
type sliceVal struct{ ptr, len, cap cprint.Val }

// memory prints the expressions that reach into memory.
func (p placesPrinter) memory(e ir.Expr) cprint.Val {
	switch e := e.(type) {
	case *ir.Index:
		base := p.data(e.X)
		return cprint.Value(base+"["+p.subscript(e)+"]", cprint.PrecPostfix, cprint.TypeOf(e.Type()))
	case *ir.Member:
		p.structName(e.X.Type())
		name, ct := p.fieldName(e.X.Type(), e.Field), cprint.TypeOf(e.Type())
		if d, ok := e.X.(*ir.Deref); ok {
			return cprint.Value(p.pointer(d).At(cprint.PrecPostfix)+"->"+name, cprint.PrecPostfix, ct)
		}
		return cprint.Value(p.expr(e.X).At(cprint.PrecPostfix)+"."+name, cprint.PrecPostfix, ct)
	case *ir.Deref:
		return cprint.Value("*"+p.pointer(e).At(cprint.PrecUnary), cprint.PrecUnary, cprint.TypeOf(e.Type()))
	case *ir.AddrOf:
		if d, ok := e.X.(*ir.Deref); ok {
			return p.pointer(d)
		}
		return cprint.Value("&"+p.expr(e.X).At(cprint.PrecUnary), cprint.PrecUnary, cprint.Other)
	case *ir.Apart:
		x, n := p.extent(e.X)
		y, m := p.extent(e.Y)
		name := p.piece("go_apart", apartText)
		return cprint.Value(fmt.Sprintf("%s((ulong)%s, %s, %d, (ulong)%s, %s, %d)", name, x, n, e.X.Type().Elem.Size, y, m, e.Y.Type().Elem.Size), cprint.PrecPostfix, cprint.Bool)
	case *ir.Len:
		return p.slice(e.X).len
	case *ir.Cap:
		return p.slice(e.X).cap
	}
	p.fail(e.Pos(), "expression %T: not supported by opencl", e)
	return cprint.Value("0", cprint.PrecPostfix, cprint.I32)
}

// extent prints the address and the number of elements that slice or pointer x refers to.
func (p placesPrinter) extent(x ir.Expr) (ptr, n string) {
	if x.Type().Kind == ir.Pointer {
		return p.expr(x).At(cprint.PrecUnary), "1"
	}
	s := p.slice(x)
	return s.ptr.At(cprint.PrecUnary), s.len.Text
}

// data prints what is indexed: the address of a slice, or an array.
func (p placesPrinter) data(x ir.Expr) string {
	t := x.Type()
	if t.Kind == ir.Slice {
		return p.slice(x).ptr.At(cprint.PrecPostfix)
	}
	if p.isWrapped(t) {
		return p.expr(x).At(cprint.PrecPostfix) + ".v"
	}
	return p.expr(x).At(cprint.PrecPostfix)
}

// subscript prints the index, checked where it has to be. An unchecked one is in range, so that it
// may be modular in 64 bits.
func (p placesPrinter) subscript(e *ir.Index) string {
	if e.Checked {
		i := p.stable(e.I, "index")
		n := p.bound(e.X)
		p.checks().check(e.At, "(ulong)"+i.At(cprint.PrecUnary)+" >= "+dialect.Cast(cprint.Value(n, cprint.PrecUnary, cprint.I64), cprint.U64).Text, ir.IndexCheck, ir.Source(e.X), e.I.Type().Kind == ir.Uint64, i.Text, n)
		return i.Text
	}
	v := p.expr(e.I)
	if !v.IsExact() && (cprint.Width(e.I.Type()) < 64 || v.Type.Bits() < 64) {
		v = p.exact(v, e.I.Type())
	}
	return v.Text
}

// bound prints the length that an index is checked against.
func (p placesPrinter) bound(x ir.Expr) string {
	if t := x.Type(); t.Kind == ir.Array {
		return strconv.FormatInt(t.Len, 10)
	}
	return p.slice(x).len.Text
}

// pointer prints the pointer that e follows, checked where it may be nil.
func (p placesPrinter) pointer(e *ir.Deref) cprint.Val {
	v := p.expr(e.X)
	if e.Checked {
		p.checks().check(e.At, v.At(cprint.PrecEq)+" == NULL", ir.PointerCheck, ir.Source(e.X), false, "0", "0")
	}
	return v
}

// slice prints a slice value.
func (p placesPrinter) slice(e ir.Expr) sliceVal {
	switch e := e.(type) {
	case *ir.Ref:
		name, ok := p.Of[e.Var]
		if !ok {
			p.fail(e.At, "variable %s is not declared", e.Var.Name)
		}
		return sliceVal{cprint.Value(name, cprint.PrecPostfix, cprint.Other), cprint.Value(name+"_len", cprint.PrecPostfix, cprint.I64), cprint.Value(name+"_cap", cprint.PrecPostfix, cprint.I64)}
	case *ir.Const:
		return sliceVal{cprint.Value("NULL", cprint.PrecPostfix, cprint.Other), cprint.Value("0", cprint.PrecPostfix, cprint.I32), cprint.Value("0", cprint.PrecPostfix, cprint.I32)}
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
	return sliceVal{cprint.Value("NULL", cprint.PrecPostfix, cprint.Other), cprint.Value("0", cprint.PrecPostfix, cprint.I32), cprint.Value("0", cprint.PrecPostfix, cprint.I32)}
}

// reslice prints X[Lo:Hi:Max].
func (p placesPrinter) reslice(e *ir.Reslice) sliceVal {
	var s sliceVal
	if t := e.X.Type(); t.Kind == ir.Array {
		n := dialect.Signed(t.Len)
		s = sliceVal{cprint.Value(p.data(e.X), cprint.PrecPostfix, cprint.Other), n, n}
		if p.isWrapped(t.Elem) || t.Elem.Kind != ir.Array {
			s.ptr = cprint.Value("&"+p.data(e.X)+"[0]", cprint.PrecUnary, cprint.Other)
		}
	} else {
		s = p.slice(e.X)
	}
	bound := func(x ir.Expr, name string, other cprint.Val) cprint.Val {
		if x == nil {
			return other
		}
		return p.stable(x, name)
	}
	zero := cprint.Value("0", cprint.PrecPostfix, cprint.I32)
	lo := bound(e.Lo, "lo", zero)
	hi := bound(e.Hi, "hi", s.len)
	limit := bound(e.Max, "limit", s.cap)
	if e.Checked {
		p.bounds(e, lo, hi, limit, s.cap)
	}
	if lo.Text == "0" {
		return sliceVal{s.ptr, hi, limit}
	}
	minus := func(v cprint.Val) cprint.Val {
		return dialect.Join(ir.Sub, dialect.Cast(p.comparable(v, ir.IntType), cprint.I64), dialect.Cast(p.comparable(lo, ir.IntType), cprint.I64), cprint.I64)
	}
	return sliceVal{cprint.Value(s.ptr.At(cprint.PrecAdd)+" + "+lo.At(cprint.PrecMul), cprint.PrecAdd, cprint.Other), minus(hi), minus(limit)}
}

// bounds checks 0 <= lo <= hi <= limit <= capacity, from the right.
func (p placesPrinter) bounds(e *ir.Reslice, lo, hi, limit, capacity cprint.Val) {
	what := ir.Source(e)
	above := func(x, most cprint.Val) {
		if x.Text == most.Text || x.Text == "0" {
			return
		}
		p.checks().check(e.At, "(ulong)"+x.At(cprint.PrecUnary)+" > (ulong)"+most.At(cprint.PrecUnary), ir.SliceCheck, what, false, x.Text, most.Text)
	}
	above(limit, capacity)
	above(hi, limit)
	above(lo, hi)
}
