package cuda

import (
	"fmt"
	"strconv"

	"github.com/gompss/gompss/codegen/ir"
)

// flatSlice is a slice parameter of a kernel: an address, and a length and capacity where they are
// used.
type flatSlice struct {
	ptr, len, cap          string
	usePtr, useLen, useCap bool
	limited                bool // its length has to be within Limit, since an index is calculated in 32 bits that may not fit otherwise
	whole                  bool // used as a value
}

// memory prints the expressions that reach into memory.
func (p *printer) memory(e ir.Expr) val {
	switch e := e.(type) {
	case *ir.Index:
		return p.index(e)
	case *ir.Member:
		return p.member(e)
	case *ir.Deref:
		return value("*"+p.pointer(e).at(precUnary), precUnary, ctypeOf(e.Type()))
	case *ir.AddrOf:
		return p.addressOf(e)
	case *ir.Apart:
		return value(p.call("apart", append(p.extent(e.X), p.extent(e.Y)...)...), precPostfix, boolean)
	case *ir.Len:
		return p.length(e.X)
	case *ir.Cap:
		return p.capacity(e.X)
	case *ir.Reslice:
		return p.reslice(e)
	}
	panic(fmt.Sprintf("gompss: bug: cuda: no text for expression %T", e))
}

// extent prints the address and the number of elements that slice or pointer x refers to.
func (p *printer) extent(x ir.Expr) []string {
	if x.Type().Kind == ir.Pointer {
		return []string{p.expr(x).text, "1"}
	}
	return []string{p.data(x), p.length(x).text}
}

// index prints X[I].
func (p *printer) index(e *ir.Index) val {
	base := p.data(e.X)
	return value(base+"["+p.subscript(e)+"]", precPostfix, ctypeOf(e.Type()))
}

// data prints what is indexed: the address of a slice, or an array.
func (p *printer) data(x ir.Expr) string {
	t := x.Type()
	if t.Kind == ir.Array {
		if p.isWrapped(t) {
			return p.expr(x).at(precPostfix) + ".v"
		}
		return p.expr(x).at(precPostfix)
	}
	if r, ok := x.(*ir.Ref); ok && p.flat[r.Var] != nil {
		p.flat[r.Var].usePtr = true
		return p.flat[r.Var].ptr
	}
	return p.expr(x).at(precPostfix) + ".p"
}

// subscript prints the index, checked where it has to be. An unchecked one is in range, so that its
// low bits do.
func (p *printer) subscript(e *ir.Index) string {
	if e.Checked {
		i := p.number(e.I)
		text := p.call("check_index", i.text, p.bound(e.X), p.site(IndexSite, e.At, e.X), "fault")
		p.sites[len(p.sites)-1].Unsigned = e.I.Type().Kind == ir.Uint64
		return text
	}
	saved, was := p.wrap32, p.rising
	p.wrap32 = p.opt.Index32 && e.I.Type().Kind == ir.Int64
	if x, ok := e.X.(*ir.Ref); ok && p.flat[x.Var] != nil && p.wrap32 && !p.ranges.of(e.I).fits32() {
		p.flat[x.Var].limited = true
	}
	p.rising = p.wrap32 && p.ranges.rises(e.I)
	v := p.expr(e.I)
	p.wrap32, p.rising = saved, was
	if v.bits != exact && (v.bits < 32 || v.bits < v.ct.bits()) {
		v = p.exact(v, e.I.Type())
	}
	return v.text
}

// bound prints the length that an index is checked against.
func (p *printer) bound(x ir.Expr) string {
	if t := x.Type(); t.Kind == ir.Array {
		return strconv.FormatInt(t.Len, 10)
	}
	return p.length(x).text
}

func (p *printer) length(x ir.Expr) val {
	if r, ok := x.(*ir.Ref); ok && p.flat[r.Var] != nil {
		p.flat[r.Var].useLen = true
		return value(p.flat[r.Var].len, precPostfix, p.lengthType())
	}
	return value(p.expr(x).at(precPostfix)+".len", precPostfix, i64)
}

func (p *printer) capacity(x ir.Expr) val {
	if r, ok := x.(*ir.Ref); ok && p.flat[r.Var] != nil {
		p.flat[r.Var].useCap = true
		return value(p.flat[r.Var].cap, precPostfix, p.lengthType())
	}
	return value(p.expr(x).at(precPostfix)+".cap", precPostfix, i64)
}

// lengthType is the type of a length that is an argument.
func (p *printer) lengthType() ctype {
	if p.opt.Index32 {
		return i32
	}
	return p.typed(i64)
}

// wholeSlice prints a slice parameter of a kernel as a value.
func (p *printer) wholeSlice(v *ir.Var, s *flatSlice) string {
	s.usePtr, s.useLen, s.useCap, s.whole = true, true, true, true
	return fmt.Sprintf("%s{%s, %s, %s}", p.typeName(v.Type), s.ptr, s.len, s.cap)
}

func (p *printer) member(e *ir.Member) val {
	t := e.X.Type()
	name, ct := p.fieldName(t, e.Field), ctypeOf(e.Type())
	p.structName(t)
	if d, ok := e.X.(*ir.Deref); ok {
		return value(p.pointer(d).at(precPostfix)+"->"+name, precPostfix, ct)
	}
	return value(p.expr(e.X).at(precPostfix)+"."+name, precPostfix, ct)
}

// pointer prints the pointer that e follows, checked where it may be nil.
func (p *printer) pointer(e *ir.Deref) val {
	v := p.expr(e.X)
	if e.Checked {
		return value(p.call("check_pointer", v.text, p.site(PointerSite, e.At, e.X), "fault"), precPostfix, other)
	}
	return v
}

func (p *printer) addressOf(e *ir.AddrOf) val {
	if d, ok := e.X.(*ir.Deref); ok {
		return p.pointer(d)
	}
	return value("&"+p.expr(e.X).at(precUnary), precUnary, other)
}

// reslice prints X[Lo:Hi:Max].
func (p *printer) reslice(e *ir.Reslice) val {
	whole, n := "", ""
	if t := e.X.Type(); t.Kind == ir.Array {
		n = strconv.FormatInt(t.Len, 10)
		whole = fmt.Sprintf("%s{%s, %s, %s}", p.typeName(ir.SliceOf(t.Elem)), p.data(e.X), n, n)
	} else {
		whole = p.expr(e.X).text
	}
	args := []string{whole, "0", n}
	if e.Lo != nil {
		args[1] = p.wide(e.Lo)
	}
	switch {
	case e.Hi != nil:
		args[2] = p.wide(e.Hi)
	case n == "":
		args[2] = p.length(e.X).text
	}
	if e.Max != nil {
		args = append(args, p.wide(e.Max))
	}
	if !e.Checked {
		return value(p.call("slice", args...), precPostfix, other)
	}
	args = append(args, p.site(SliceSite, e.At, e), "fault")
	return value(p.call("check_slice", args...), precPostfix, other)
}

// wide prints an argument of type int64; a uint64 beyond it turns negative and fails its check.
func (p *printer) wide(e ir.Expr) string { return p.number(e).text }
