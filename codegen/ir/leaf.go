package ir

import (
	"slices"

	"github.com/gompss/gompss/deps"
)

// A StructParam is a parameter of the Go function whose struct type holds slices or pointers. The
// leaves of Type are parameters of the kernel in its place: Params[First] and those behind it,
// named Name.Field.
type StructParam struct {
	Name  string
	Type  *Type
	First int
}

// A Leaf is a part of a struct: a slice, a pointer, or the whole of a field that holds neither.
type Leaf struct {
	Path   []int  // the fields that lead to it
	Name   string // "Data", or "Grid.Data" of a field that is a struct
	Type   *Type
	Offset deps.Bytes
}

// HoldsAddress reports whether a value of t has slices or pointers in it, or is one.
func HoldsAddress(t *Type) bool {
	switch t.Kind {
	case Slice, Pointer:
		return true
	case Array:
		return HoldsAddress(t.Elem)
	case Struct:
		return slices.ContainsFunc(t.Fields, func(f Field) bool { return HoldsAddress(f.Type) })
	}
	return false
}

// IsSplit reports whether values of t, a struct that holds slices or pointers, are variables of
// their own for each leaf.
func IsSplit(t *Type) bool { return t.Kind == Struct && HoldsAddress(t) }

// Leaves returns the leaves of t in the order of its fields; for a type that is not split, one with
// an empty path.
func Leaves(t *Type) []Leaf {
	if !IsSplit(t) {
		return []Leaf{{Type: t}}
	}
	var out []Leaf
	for i, f := range t.Fields {
		for _, l := range Leaves(f.Type) {
			name := f.Name
			if l.Name != "" {
				name += "." + l.Name
			}
			out = append(out, Leaf{Path: append([]int{i}, l.Path...), Name: name, Type: l.Type, Offset: f.Offset + l.Offset})
		}
	}
	return out
}

// A GoParam is a parameter of the Go function of a kernel. Its leaves are the Count parameters of
// the kernel from First.
type GoParam struct {
	Name         string
	Type         *Type
	First, Count int
}

// GoParams returns the parameters of the Go function.
func (k *Kernel) GoParams() []GoParam {
	var out []GoParam
	structs, written := k.Structs, k.Written()
	for i := 0; i < len(written); {
		p := GoParam{Name: written[i].Name, Type: written[i].Type, First: i, Count: 1}
		if len(structs) > 0 && structs[0].First == i {
			p.Name, p.Type, p.Count = structs[0].Name, structs[0].Type, len(Leaves(structs[0].Type))
			structs = structs[1:]
		}
		out = append(out, p)
		i += p.Count
	}
	return out
}
