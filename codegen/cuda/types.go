package cuda

import (
	"fmt"
	"strings"

	"github.com/gompss/gompss/codegen/internal/cprint"
	"github.com/gompss/gompss/codegen/ir"
)

// typeName returns the C++ type of a value of t. Plain arrays have none (declare prints them).
func (p *printer) typeName(t *ir.Type) string {
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
	return p.scalarName(ctypeOf(t))
}

// scalarName returns the name of c and remembers that its typedef is needed.
func (p *printer) scalarName(c ctype) string {
	switch c {
	case i8, i16, i64, u8, u16, u64:
		p.use(c.String())
	}
	return c.String()
}

// declarator returns a declaration of name with type t, without initial value.
func (p *printer) declarator(t *ir.Type, name string) string {
	dims := ""
	for t.Kind == ir.Array && !p.isWrapped(t) {
		dims += fmt.Sprintf("[%d]", t.Len)
		t = t.Elem
	}
	return p.typeName(t) + " " + name + dims
}

// isWrapped reports whether arrays of type t are printed as Array<T, N>, because somewhere the
// program copies one.
func (p *printer) isWrapped(t *ir.Type) bool { return p.wrapped[ir.TypeKey(t)] }

// structName returns the name of struct t and prints its definition when it comes for the first
// time.
func (p *printer) structName(t *ir.Type) string {
	key, ok := p.keys[t]
	if !ok {
		key = ir.TypeKey(t)
		p.keys[t] = key
	}
	if name, ok := p.structs[key]; ok {
		return name
	}
	want := t.Name
	if i := strings.LastIndexByte(want, '.'); i >= 0 && !strings.ContainsRune(want, '[') {
		want = want[i+1:]
	}
	if want == "" {
		want = "Struct"
	}
	name := p.file.Fresh(want)
	p.structs[key] = name
	p.defineStruct(t, name)
	return name
}

func (p *printer) defineStruct(t *ir.Type, name string) {
	var fields, checks strings.Builder
	for i, f := range t.Fields {
		if f.Type.Size == 0 {
			p.fail(ir.Pos{}, "field %s of struct %s has no size: not supported yet by cuda", f.Name, t)
		}
		fmt.Fprintf(&fields, "\t%s;\n", p.declarator(f.Type, p.fieldName(t, i)))
		fmt.Fprintf(&checks, " && %s(%s, %s) == %d", p.use("go_offset"), name, p.fieldName(t, i), f.Offset)
	}
	fmt.Fprintf(&p.structText, "\nstruct %s {\n%s};\n", name, fields.String())
	fmt.Fprintf(&p.structText, "static_assert(sizeof(%s) == %d%s, \"layout of %s\");\n", name, t.Size, checks.String(), name)
}

// fieldName returns the C++ name of field i: Go's, but for blanks and words of C++.
func (p *printer) fieldName(t *ir.Type, i int) string {
	if p.fields[t] == nil {
		p.fields[t] = cprint.FieldNames(t, reserved)
	}
	return p.fields[t][i]
}

// equality prints operator== of a struct or array type once and remembers it.
func (p *printer) equality(t *ir.Type) {
	key := ir.TypeKey(t)
	if p.equals[key] || t.Kind != ir.Struct && t.Kind != ir.Array {
		return
	}
	p.equals[key] = true
	name := p.typeName(t)
	var b strings.Builder
	if t.Kind == ir.Array {
		p.equality(t.Elem)
		fmt.Fprintf(&b, "\tfor (int i = 0; i < %d; i++) {\n\t\tif (!(x.v[i] == y.v[i]))\n\t\t\treturn false;\n\t}\n\treturn true;\n", t.Len)
	} else {
		fmt.Fprintf(&b, "\treturn %s;\n", p.equalFields(t))
	}
	fmt.Fprintf(&p.structText, "\n__device__ __forceinline__ bool operator==(const %s& x, const %s& y)\n{\n%s}\n", name, name, b.String())
}

func (p *printer) equalFields(t *ir.Type) string {
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
