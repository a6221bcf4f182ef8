// Package typing converts types of Go to types of the IR, with type arguments in place of type
// parameters and the memory layout of the Go compiler. It refuses types outside the dialect, with
// the reason.
package typing

import (
	"fmt"
	"go/types"
	"strings"

	"github.com/gompss/gompss/codegen/internal/frontend/source"
	"github.com/gompss/gompss/codegen/internal/integers"
	"github.com/gompss/gompss/codegen/ir"
	"github.com/gompss/gompss/codegen/ir/query"
	"github.com/gompss/gompss/deps"
)

// maxLeaves bounds the leaves of a struct: they are arguments of a launch.
const maxLeaves = 256

// A Converter turns Go types into those of the IR, with the type arguments of one instance of a
// generic function.
type Converter struct {
	Args    map[*types.TypeParam]types.Type
	context *types.Context // makes equal instances of generic types one
	done    map[types.Type]*ir.Type
	errs    map[types.Type]*Refusal
	holds   map[*ir.Type]bool   // structs with slices or pointers in them
	parts   map[*ir.Type]uint64 // fields of structs, those of their fields and so on; also of the types of their elements and names
	open    map[*types.Named]bool
	causes  map[*Refusal]string // of named types: the error of the innermost named type in them
}

// New returns a converter without type arguments.
func New() *Converter {
	return &Converter{Args: map[*types.TypeParam]types.Type{}, context: types.NewContext(), done: map[types.Type]*ir.Type{},
		errs: map[types.Type]*Refusal{}, holds: map[*ir.Type]bool{}, parts: map[*ir.Type]uint64{}, causes: map[*Refusal]string{}, open: map[*types.Named]bool{}}
}

// A Refusal says why a Go type is not in the dialect. An empty one stands for a type that
// go/types has complained of.
type Refusal struct{ What, Why, Instead string }

// MaxTypeSize bounds the size of one value.
const MaxTypeSize = 1 << 40

// Convert returns the IR type of t.
func (y *Converter) Convert(t types.Type) (*ir.Type, *Refusal) {
	if out, ok := y.done[t]; ok {
		return out, y.errs[t]
	}
	out, err := y.of(t, 0)
	if err != nil {
		out = query.BadType
	}
	y.done[t], y.errs[t] = out, err
	return out, err
}

func (y *Converter) of(t types.Type, depth int) (*ir.Type, *Refusal) {
	if depth > source.MaxTypeDepth {
		return nil, &Refusal{"type " + goTypeText(t), "it is nested too deeply", "name fewer types"}
	}
	switch t := t.(type) {
	case *types.Alias:
		return y.of(types.Unalias(t), depth+1)
	case *types.TypeParam:
		if arg := y.Args[t]; arg != nil {
			return y.of(arg, depth+1)
		}
		return nil, &Refusal{}
	case *types.Named:
		return y.named(t, depth)
	case *types.Basic:
		return basicOf(t)
	case *types.Array:
		return y.array(t, depth)
	case *types.Struct:
		return y.structure(t, depth)
	case *types.Slice:
		elem, err := y.pointed(t.Elem(), depth, "[]")
		if err != nil {
			return nil, err
		}
		return ir.SliceOf(elem), nil
	case *types.Pointer:
		elem, err := y.pointed(t.Elem(), depth, "*")
		if err != nil {
			return nil, err
		}
		return ir.PointerTo(elem), nil
	}
	return nil, refusedType(t)
}

func (y *Converter) named(t *types.Named, depth int) (*ir.Type, *Refusal) {
	if t.TypeArgs().Len() > 0 {
		inst, ok := y.Closed(t).(*types.Named)
		if !ok {
			return nil, &Refusal{}
		}
		t = inst
	}
	if y.open[t] {
		return nil, &Refusal{"type " + goTypeText(t), "it refers to itself", "use indices into slices instead of pointers"}
	}
	y.open[t] = true
	defer delete(y.open, t)
	if out, ok := y.done[t]; ok { // shared, so that types that double at every level stay small
		return out, y.errs[t]
	}
	under, err := y.of(t.Underlying(), depth+1)
	if err != nil {
		return nil, y.inside(err, "type "+goTypeText(t), t.Obj().Pkg() != nil)
	}
	named := *under
	named.Name = goTypeText(t)
	y.done[t], y.holds[&named], y.parts[&named] = &named, y.holds[under], y.parts[under]
	return &named, nil
}

// inside returns the error of a named type for e, that of the type that it stands for. Those of the
// language itself, such as error, say it all by their name.
func (y *Converter) inside(e *Refusal, what string, declared bool) *Refusal {
	switch {
	case e.What == "" || e.What == what:
		return e
	case !declared:
		return &Refusal{what, e.Why, e.Instead}
	}
	why := y.causes[e]
	if why == "" {
		why = e.What + ": " + e.Why
	}
	out := &Refusal{what, why, e.Instead}
	if _, named := y.causes[e]; named {
		y.causes[out] = why // the types between are left out from here on
	} else {
		y.causes[out] = ""
	}
	return out
}

func (y *Converter) array(t *types.Array, depth int) (*ir.Type, *Refusal) {
	elem, err := y.of(t.Elem(), depth+1)
	switch {
	case err != nil:
		return nil, err
	case y.holds[elem] || query.IsAddress(elem):
		return nil, &Refusal{"type " + goTypeText(t), "the elements of an array hold no slices and pointers",
			"pass the slices as parameters of their own"}
	case t.Len() == 0:
		return nil, sizeZero(t)
	case t.Len() < 0 || t.Len() > MaxTypeSize/int64(elem.Size):
		return nil, &Refusal{"type " + goTypeText(t), "a value of it is larger than 1 TiB", "make it smaller"}
	}
	out := ir.ArrayOf(elem, t.Len())
	y.parts[out] = y.parts[elem]
	return out, nil
}

func sizeZero(t types.Type) *Refusal {
	return &Refusal{"type " + goTypeText(t), "a value of it has no bytes", "leave it out"}
}

// Pointed converts the element type of a slice or pointer.
func (y *Converter) pointed(elem types.Type, depth int, prefix string) (*ir.Type, *Refusal) {
	out, err := y.of(elem, depth+1)
	if err != nil {
		return nil, err
	}
	if y.holds[out] || query.IsAddress(out) {
		instead := "keep all elements in one slice and their places in a second one"
		switch {
		case out.Kind == ir.Slice && prefix == "[]":
			instead = "keep the rows behind one another in one slice, x[i*n+j], or all elements and where each row starts in a second slice"
		case out.Kind == ir.Struct && prefix == "*":
			instead = "pass the struct by value: its slices refer to the same memory"
		}
		return nil, &Refusal{"type " + prefix + goTypeText(elem), "the memory of a buffer holds no slices and pointers, which mean nothing on a device", instead}
	}
	return out, nil
}

// structure lays out a struct as gc does on a 64-bit machine.
func (y *Converter) structure(t *types.Struct, depth int) (*ir.Type, *Refusal) {
	out := &ir.Type{Kind: ir.Struct, Align: 1}
	for i := range t.NumFields() {
		f := t.Field(i)
		ft, err := y.of(f.Type(), depth+1)
		if err != nil {
			return nil, err
		}
		out.Size = roundUp(out.Size, ft.Align)
		out.Fields = append(out.Fields, ir.Field{Name: f.Name(), Type: ft, Offset: out.Size})
		out.Size += ft.Size
		out.Align = max(out.Align, ft.Align)
		y.parts[out] = integers.AddUpToMax(y.parts[out], max(y.parts[ft], 1))
		y.holds[out] = y.holds[out] || y.holds[ft] || query.IsAddress(ft)
		switch {
		case y.parts[out] > source.MaxParts: // of a generic type, whose text alone does not say
			return nil, &Refusal{What: "type " + goTypeText(t), Why: fmt.Sprintf("with the fields of its fields, and so on, it has more than %d", source.MaxParts),
				Instead: "use arrays and slices"}
		case out.Size > MaxTypeSize:
			return nil, &Refusal{"type " + goTypeText(t), "a value of it is larger than 1 TiB", "make it smaller"}
		}
	}
	if out.Size = roundUp(out.Size, out.Align); out.Size == 0 {
		return nil, sizeZero(t)
	}
	if n := len(ir.Leaves(out)); n > maxLeaves {
		return nil, &Refusal{"type " + goTypeText(t), fmt.Sprintf("it holds slices or pointers, so that its %d fields are arguments of their own, at most %d", n, maxLeaves),
			"put numbers into a struct or array of their own"}
	}
	return out, nil
}

func roundUp(n, align deps.Bytes) deps.Bytes { return (n + align - 1) / align * align }

var basicTypes = map[types.BasicKind]*ir.Type{
	types.Bool: ir.BoolType, types.Int: ir.IntType, types.Int8: ir.Int8Type, types.Int16: ir.Int16Type,
	types.Int32: ir.Int32Type, types.Int64: ir.Int64Type, types.Uint: ir.UintType, types.Uint8: ir.Uint8Type,
	types.Uint16: ir.Uint16Type, types.Uint32: ir.Uint32Type, types.Uint64: ir.Uint64Type, types.Float32: ir.Float32Type,
	types.Float64: ir.Float64Type, types.UntypedBool: ir.BoolType, types.UntypedInt: ir.IntType,
	types.UntypedRune: ir.Int32Type, types.UntypedFloat: ir.Float64Type,
	types.Complex64: ir.Complex64Type, types.Complex128: ir.Complex128Type, types.UntypedComplex: ir.Complex128Type,
}

func basicOf(t *types.Basic) (*ir.Type, *Refusal) {
	if out, ok := basicTypes[t.Kind()]; ok {
		return out, nil
	}
	text := "type " + strings.TrimPrefix(t.Name(), "untyped ")
	switch {
	case t.Kind() == types.Invalid:
		return nil, &Refusal{}
	case t.Info()&types.IsString != 0:
		return nil, &Refusal{text, "there are no strings on a device", "pass numbers, or a []byte"}
	case t.Kind() == types.UntypedNil:
		return nil, &Refusal{"nil", "its type is not known here", "declare a variable of the type"}
	}
	return nil, &Refusal{text, "addresses are no numbers in a kernel", "use indices"}
}

// refusedType says why the dialect has no type like t.
func refusedType(t types.Type) *Refusal {
	text := goTypeText(t)
	switch t.(type) {
	case *types.Map:
		return &Refusal{"type " + text, "there are no maps on a device", "use slices and indices"}
	case *types.Chan:
		return &Refusal{"type " + text, "there are no channels on a device", "write results into a slice"}
	case *types.Interface:
		return &Refusal{"type " + text, "there are no interface values on a device", "use a concrete type, or a type parameter"}
	case *types.Signature:
		return &Refusal{"type " + text, "a function is no value on a device",
			"assign a function literal to a local once (f := func...), or pass it to a helper"}
	case *types.Tuple:
		return &Refusal{"several values", "one value is needed here", "assign them to variables first"}
	}
	return &Refusal{"type " + text, "it is not in the dialect", "use numbers, arrays, structs, slices and pointers"}
}

// goTypeText returns t as the user's package writes it. That package has no import path, only its
// name.
func goTypeText(t types.Type) string {
	return types.TypeString(t, func(p *types.Package) string {
		if p.Path() != p.Name() {
			return p.Name()
		}
		return ""
	})
}

// Closed returns t with the type arguments in place of the type parameters.
func (y *Converter) Closed(t types.Type) types.Type { return y.close(t, 0) }

func (y *Converter) close(t types.Type, depth int) types.Type {
	if depth > source.MaxTypeDepth {
		return types.Typ[types.Invalid]
	}
	sub := func(t types.Type) types.Type { return y.close(t, depth+1) }
	switch t := t.(type) {
	case *types.TypeParam:
		if arg := y.Args[t]; arg != nil {
			return arg
		}
	case *types.Alias:
		return sub(types.Unalias(t))
	case *types.Slice:
		return types.NewSlice(sub(t.Elem()))
	case *types.Pointer:
		return types.NewPointer(sub(t.Elem()))
	case *types.Array:
		return types.NewArray(sub(t.Elem()), t.Len())
	case *types.Named:
		return y.closeNamed(t, sub)
	case *types.Struct:
		fields := make([]*types.Var, t.NumFields())
		for i := range fields {
			f := t.Field(i)
			fields[i] = types.NewField(f.Pos(), f.Pkg(), f.Name(), sub(f.Type()), f.Embedded())
		}
		return types.NewStruct(fields, nil)
	}
	return t
}

func (y *Converter) closeNamed(t *types.Named, sub func(types.Type) types.Type) types.Type {
	n := t.TypeArgs().Len()
	if n == 0 {
		return t
	}
	args := make([]types.Type, n)
	for i := range args {
		args[i] = sub(t.TypeArgs().At(i))
	}
	inst, err := types.Instantiate(y.context, t.Origin(), args, false)
	if err != nil {
		return types.Typ[types.Invalid]
	}
	return inst
}
