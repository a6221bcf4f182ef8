package cuda

import (
	"fmt"
	"strconv"

	"github.com/gompss/gompss/codegen/internal/cprint"
	"github.com/gompss/gompss/codegen/ir"
)

// flatSlice is a slice parameter of a kernel: an address, and a length and capacity where they are
// used.
type flatSlice struct {
	ptr, len, cap string
	use           use
}

// A use is what a kernel uses of a slice.
type use uint8

const (
	usePtr use = 1 << iota
	useLen
	useCap
	// its length has to be within Limit, since an index is calculated in 32 bits that may not fit
	// otherwise
	useLimited
	useWhole // used as a value
)

// has reports whether all of u is used.
func (s *flatSlice) has(u use) bool { return s.use&u == u }

// sliceParams are the slices that are parameters of a kernel.
type sliceParams struct {
	flat       map[*ir.Var]*flatSlice
	copied     map[*ir.Var]*flatSlice // those of which the kernel has a variable of its own
	unchanging map[*ir.Var]bool       // those that the kernel only reads
}

// memory prints the expressions that reach into memory.
func (p placesPrinter) memory(e ir.Expr) cprint.Val {
	switch e := e.(type) {
	case *ir.Index:
		return p.index(e)
	case *ir.Member:
		return p.member(e)
	case *ir.Deref:
		return cprint.Value("*"+p.pointer(e).At(cprint.PrecUnary), cprint.PrecUnary, cprint.TypeOf(e.Type()))
	case *ir.AddrOf:
		return p.addressOf(e)
	case *ir.Apart:
		return cprint.Value(p.call("apart", append(p.extent(e.X), p.extent(e.Y)...)...), cprint.PrecPostfix, cprint.Bool)
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
func (p placesPrinter) extent(x ir.Expr) []string {
	if x.Type().Kind == ir.Pointer {
		return []string{p.expr(x).Text, "1"}
	}
	return []string{p.data(x), p.length(x).Text}
}

// index prints X[I].
func (p placesPrinter) index(e *ir.Index) cprint.Val {
	if v, ok := p.inWord(e); ok {
		return v
	}
	base := p.data(e.X)
	return cprint.Value(base+"["+p.subscript(e)+"]", cprint.PrecPostfix, cprint.TypeOf(e.Type()))
}

// data prints what is indexed: the address of a slice, or an array.
func (p placesPrinter) data(x ir.Expr) string {
	t := x.Type()
	if t.Kind == ir.Array {
		if p.isWrapped(t) {
			return p.expr(x).At(cprint.PrecPostfix) + ".v"
		}
		return p.expr(x).At(cprint.PrecPostfix)
	}
	if r, ok := x.(*ir.Ref); ok && p.flat[r.Var] != nil {
		p.flat[r.Var].use |= usePtr
		return p.flat[r.Var].ptr
	}
	return p.expr(x).At(cprint.PrecPostfix) + ".p"
}

// subscript prints the index, checked where it has to be. An unchecked one is in range, so that its
// low bits do.
func (p placesPrinter) subscript(e *ir.Index) string {
	if e.Checked {
		i := p.number(e.I)
		text := p.call("check_index", i.Text, p.bound(e.X), p.site(IndexSite, e.At, e.X), "fault")
		p.sites[len(p.sites)-1].Unsigned = e.I.Type().Kind == ir.Uint64
		return text
	}
	saved, was := p.wrap32, p.rising
	p.wrap32 = p.opt.Index32 && e.I.Type().Kind == ir.Int64
	if x, ok := e.X.(*ir.Ref); ok && p.flat[x.Var] != nil && p.wrap32 && !p.ranges.of(e.I).fits32() {
		p.flat[x.Var].use |= useLimited
	}
	p.rising = p.wrap32 && p.ranges.rises(e.I)
	v := p.expr(e.I)
	p.wrap32, p.rising = saved, was
	if v.Bits != cprint.Exact && (v.Bits < 32 || v.Bits < v.Type.Bits()) {
		v = p.exact(v, e.I.Type())
	}
	return v.Text
}

// bound prints the length that an index is checked against.
func (p placesPrinter) bound(x ir.Expr) string {
	if t := x.Type(); t.Kind == ir.Array {
		return strconv.FormatInt(t.Len, 10)
	}
	return p.length(x).Text
}

func (p placesPrinter) length(x ir.Expr) cprint.Val {
	if r, ok := x.(*ir.Ref); ok && p.flat[r.Var] != nil {
		p.flat[r.Var].use |= useLen
		return cprint.Value(p.flat[r.Var].len, cprint.PrecPostfix, p.lengthType())
	}
	return cprint.Value(p.expr(x).At(cprint.PrecPostfix)+".len", cprint.PrecPostfix, cprint.I64)
}

func (p placesPrinter) capacity(x ir.Expr) cprint.Val {
	if r, ok := x.(*ir.Ref); ok && p.flat[r.Var] != nil {
		p.flat[r.Var].use |= useCap
		return cprint.Value(p.flat[r.Var].cap, cprint.PrecPostfix, p.lengthType())
	}
	return cprint.Value(p.expr(x).At(cprint.PrecPostfix)+".cap", cprint.PrecPostfix, cprint.I64)
}

// lengthType is the type of a length that is an argument.
func (p placesPrinter) lengthType() cprint.Type {
	if p.opt.Index32 {
		return cprint.I32
	}
	return p.typed(cprint.I64)
}

// wholeSlice prints a slice parameter of a kernel as a value.
func (p placesPrinter) wholeSlice(v *ir.Var, s *flatSlice) string {
	s.use |= usePtr | useLen | useCap | useWhole
	return fmt.Sprintf("%s{%s, %s, %s}", p.typeName(v.Type), s.ptr, s.len, s.cap)
}

func (p placesPrinter) member(e *ir.Member) cprint.Val {
	t := e.X.Type()
	name, ct := p.fieldName(t, e.Field), cprint.TypeOf(e.Type())
	p.structName(t)
	if d, ok := e.X.(*ir.Deref); ok {
		return cprint.Value(p.pointer(d).At(cprint.PrecPostfix)+"->"+name, cprint.PrecPostfix, ct)
	}
	return cprint.Value(p.expr(e.X).At(cprint.PrecPostfix)+"."+name, cprint.PrecPostfix, ct)
}

// pointer prints the pointer that e follows, checked where it may be nil.
func (p placesPrinter) pointer(e *ir.Deref) cprint.Val {
	v := p.expr(e.X)
	if e.Checked {
		return cprint.Value(p.call("check_pointer", v.Text, p.site(PointerSite, e.At, e.X), "fault"), cprint.PrecPostfix, cprint.Other)
	}
	return v
}

func (p placesPrinter) addressOf(e *ir.AddrOf) cprint.Val {
	if d, ok := e.X.(*ir.Deref); ok {
		return p.pointer(d)
	}
	return cprint.Value("&"+p.expr(e.X).At(cprint.PrecUnary), cprint.PrecUnary, cprint.Other)
}

// reslice prints X[Lo:Hi:Max].
func (p placesPrinter) reslice(e *ir.Reslice) cprint.Val {
	whole, n := "", ""
	if t := e.X.Type(); t.Kind == ir.Array {
		n = strconv.FormatInt(t.Len, 10)
		whole = fmt.Sprintf("%s{%s, %s, %s}", p.typeName(ir.SliceOf(t.Elem)), p.data(e.X), n, n)
	} else {
		whole = p.expr(e.X).Text
	}
	args := []string{whole, "0", n}
	if e.Lo != nil {
		args[1] = p.wide(e.Lo)
	}
	switch {
	case e.Hi != nil:
		args[2] = p.wide(e.Hi)
	case n == "":
		args[2] = p.length(e.X).Text
	}
	if e.Max != nil {
		args = append(args, p.wide(e.Max))
	}
	if !e.Checked {
		return cprint.Value(p.call("slice", args...), cprint.PrecPostfix, cprint.Other)
	}
	args = append(args, p.site(SliceSite, e.At, e), "fault")
	return cprint.Value(p.call("check_slice", args...), cprint.PrecPostfix, cprint.Other)
}

// wide prints an argument of type int64; a uint64 beyond it turns negative and fails its check.
func (p placesPrinter) wide(e ir.Expr) string { return p.number(e).Text }
