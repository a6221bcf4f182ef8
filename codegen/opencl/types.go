package opencl

import (
	"fmt"
	"strings"

	"github.com/gompss/gompss/codegen/internal/cprint"
	"github.com/gompss/gompss/codegen/ir"
)

func (p *file) isWrapped(t *ir.Type) bool { return p.structs.IsWrapped(t) }

// typeName returns the C type of a value of t in memory. A bool in memory is a uchar: the size of
// bool is not defined.
func (p *file) typeName(t *ir.Type) string {
	switch t.Kind {
	case ir.Bool:
		return "uchar"
	case ir.Struct:
		return p.structName(t)
	case ir.Array:
		return p.arrayName(t)
	case ir.Float64:
		p.needs["cl_khr_fp64"] = true
	case ir.Slice, ir.Pointer:
		p.fail(p.prog.Launches[0].At, "a %s in memory: not supported by opencl: an address there belongs to no memory object", t)
		return "ulong"
	}
	return dialect.Name(cprint.TypeOf(t))
}

// declarator returns a declaration of name with type t in a space, without initial value.
func (p *file) declarator(t *ir.Type, name string, s space) string {
	switch t.Kind {
	case ir.Pointer:
		return s.qualifier() + p.pointee(t.Elem) + " *" + name
	case ir.Array:
		dims := ""
		for t.Kind == ir.Array && !p.isWrapped(t) {
			dims += fmt.Sprintf("[%d]", t.Len)
			t = t.Elem
		}
		return p.typeName(t) + " " + name + dims
	}
	return p.typeName(t) + " " + name
}

func (p *file) pointee(t *ir.Type) string { return p.typeName(t) }

// structName returns the name of struct t and prints its definition when it comes for the first
// time.
func (p *file) structName(t *ir.Type) string {
	key := p.structs.Key(t)
	if name, ok := p.structs.Names[key]; ok {
		return name
	}
	name := p.names.Fresh(cprint.WantedName(t))
	p.structs.Names[key] = name
	var fields strings.Builder
	for i, f := range t.Fields {
		if f.Type.Size == 0 {
			p.fail(ir.Pos{}, "field %s of struct %s has no size: not supported by opencl", f.Name, t)
		}
		fmt.Fprintf(&fields, "\t%s;\n", p.declarator(f.Type, p.fieldName(t, i), global))
	}
	p.define(name, fields.String(), t.Size)
	return name
}

// arrayName returns the struct that an array is as a value.
func (p *file) arrayName(t *ir.Type) string {
	key := p.structs.Key(t)
	if name, ok := p.structs.Names[key]; ok {
		return name
	}
	elem := p.typeName(t.Elem)
	name := p.names.Fresh(fmt.Sprintf("Array%d_%s", t.Len, elem))
	p.structs.Names[key] = name
	p.define(name, fmt.Sprintf("\t%s v[%d];\n", elem, t.Len), t.Size)
	return name
}

// define prints a struct, with a type that no compiler takes where its size is not Go's.
func (p *file) define(name, fields string, size ir.Bytes) {
	fmt.Fprintf(&p.structs.Text, "\ntypedef struct {\n%s} %s;\ntypedef char %s_has_%d_bytes[sizeof(%s) == %d ? 1 : -1];\n", fields, name, name, size, name, size)
}

// fieldName returns the C name of field i: Go's, but for blanks and words of C.
func (p *file) fieldName(t *ir.Type, i int) string {
	return p.structs.FieldName(t, i, reserved)
}

// equality returns the name of the function that compares two values of a struct or array type,
// which it prints once.
func (p *file) equality(t *ir.Type) string {
	name := "equal_" + p.typeName(t)
	if p.structs.Equal[name] {
		return name
	}
	p.structs.Equal[name] = true
	var terms []string
	compare := func(t *ir.Type, member string) {
		if t.Kind == ir.Struct || t.Kind == ir.Array && p.isWrapped(t) {
			terms = append(terms, fmt.Sprintf("%s(x.%s, y.%s)", p.equality(t), member, member))
			return
		}
		terms = append(terms, fmt.Sprintf("x.%s == y.%s", member, member))
	}
	body := ""
	if t.Kind == ir.Array {
		compare(t.Elem, "v[i]")
		body = fmt.Sprintf("\tfor (int i = 0; i < %d; i++) {\n\t\tif (!(%s))\n\t\t\treturn false;\n\t}\n\treturn true;\n", t.Len, terms[0])
	} else {
		for i, f := range t.Fields {
			if f.Name == "_" {
				continue // Go leaves blank fields out
			}
			p.compareField(t, i, f.Type, compare)
		}
		if terms == nil {
			terms = []string{"true"}
		}
		body = "\treturn " + strings.Join(terms, " && ") + ";\n"
	}
	fmt.Fprintf(&p.structs.Text, "\nbool %s(%s x, %s y)\n{\n%s}\n", name, p.typeName(t), p.typeName(t), body)
	return name
}

// compareField compares a field; one that is an array of C is compared element by element.
func (p *file) compareField(t *ir.Type, i int, f *ir.Type, compare func(*ir.Type, string)) {
	name := p.fieldName(t, i)
	if f.Kind != ir.Array || p.isWrapped(f) {
		compare(f, name)
		return
	}
	var each func(f *ir.Type, member string)
	each = func(f *ir.Type, member string) {
		if f.Kind != ir.Array || p.isWrapped(f) {
			compare(f, member)
			return
		}
		for k := range f.Len {
			each(f.Elem, fmt.Sprintf("%s[%d]", member, k))
		}
	}
	each(f, name)
}
