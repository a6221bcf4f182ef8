package cuda

import (
	"fmt"
	"strings"

	"github.com/gompss/gompss/codegen/internal/cprint"
	"github.com/gompss/gompss/codegen/ir"
)

// typeName returns the C++ type of a value of t. Plain arrays have none (declare prints them).
func (p *file) typeName(t *ir.Type) string {
	switch t.Kind {
	case ir.Struct:
		return p.structName(t)
	case ir.Array:
		p.use("Array")
		return fmt.Sprintf("Array<%s, %d>", p.typeName(t.Elem), t.Len)
	case ir.Slice:
		p.use("Slice")
		return "Slice<" + p.typeName(t.Elem) + ">"
	case ir.Pointer:
		return p.typeName(t.Elem) + "*"
	}
	return p.scalarName(cprint.TypeOf(t))
}

// scalarName returns the name of c and remembers that its typedef is needed.
func (p *file) scalarName(c cprint.Type) string {
	switch c {
	case cprint.I8, cprint.I16, cprint.I64, cprint.U8, cprint.U16, cprint.U64:
		p.use(dialect.Name(c))
	}
	return dialect.Name(c)
}

// declarator returns a declaration of name with type t, without initial value.
func (p *file) declarator(t *ir.Type, name string) string {
	dims := ""
	for t.Kind == ir.Array && !p.isWrapped(t) {
		dims += fmt.Sprintf("[%d]", t.Len)
		t = t.Elem
	}
	return p.typeName(t) + " " + name + dims
}

// isWrapped reports whether arrays of type t are printed as Array<T, N>, because somewhere the
// program copies one.
func (p *file) isWrapped(t *ir.Type) bool { return p.structs.IsWrapped(t) }

// structName returns the name of struct t and prints its definition when it comes for the first
// time.
func (p *file) structName(t *ir.Type) string {
	key := p.structs.Key(t)
	if name, ok := p.structs.Names[key]; ok {
		return name
	}
	name := p.names.Fresh(cprint.WantedName(t))
	p.structs.Names[key] = name
	p.defineStruct(t, name)
	return name
}

func (p *file) defineStruct(t *ir.Type, name string) {
	var fields, checks strings.Builder
	for i, f := range t.Fields {
		if f.Type.Size == 0 {
			p.fail(ir.Pos{}, "field %s of struct %s has no size: not supported yet by cuda", f.Name, t)
		}
		fmt.Fprintf(&fields, "\t%s;\n", p.declarator(f.Type, p.fieldName(t, i)))
		fmt.Fprintf(&checks, " && %s(%s, %s) == %d", p.use("go_offset"), name, p.fieldName(t, i), f.Offset)
	}
	fmt.Fprintf(&p.structs.Text, "\nstruct %s {\n%s};\n", name, fields.String())
	fmt.Fprintf(&p.structs.Text, "static_assert(sizeof(%s) == %d%s, \"layout of %s\");\n", name, t.Size, checks.String(), name)
}

// fieldName returns the C++ name of field i: Go's, but for blanks and words of C++.
func (p *file) fieldName(t *ir.Type, i int) string {
	return p.structs.FieldName(t, i, reserved)
}

// equality prints operator== of a struct or array type once and remembers it.
func (p *file) equality(t *ir.Type) {
	key := ir.TypeKey(t)
	if p.structs.Equal[key] || t.Kind != ir.Struct && t.Kind != ir.Array {
		return
	}
	p.structs.Equal[key] = true
	name := p.typeName(t)
	var b strings.Builder
	if t.Kind == ir.Array {
		p.equality(t.Elem)
		fmt.Fprintf(&b, "\tfor (int i = 0; i < %d; i++) {\n\t\tif (!(x.v[i] == y.v[i]))\n\t\t\treturn false;\n\t}\n\treturn true;\n", t.Len)
	} else {
		fmt.Fprintf(&b, "\treturn %s;\n", p.equalFields(t))
	}
	fmt.Fprintf(&p.structs.Text, "\n__device__ __forceinline__ bool operator==(const %s& x, const %s& y)\n{\n%s}\n", name, name, b.String())
}

func (p *file) equalFields(t *ir.Type) string {
	var terms []string
	for i, f := range t.Fields {
		if f.Name == "_" {
			continue // Go leaves blank fields out
		}
		p.equality(f.Type)
		n := p.fieldName(t, i)
		terms = append(terms, fmt.Sprintf("x.%s == y.%s", n, n))
	}
	if terms == nil {
		return "true"
	}
	return strings.Join(terms, " && ")
}
