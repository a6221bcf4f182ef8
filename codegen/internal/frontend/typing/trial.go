package typing

import (
	"go/types"
	"strings"
	"unicode"

	"github.com/gompss/gompss/codegen/internal/frontend/source"
)

// TrialArgs returns type arguments that satisfy the constraints of params, with which a generic
// kernel is tried; nil where none are found.
func TrialArgs(params *types.TypeParamList) []types.Type {
	y := New()
	for range params.Len() { // a constraint may name parameters to its right
		for i := range params.Len() {
			tp := params.At(i)
			if y.Args[tp] == nil {
				if t := firstTerm(tp.Constraint(), 0); t != nil && !mentionsParam(y.Closed(t), 0) {
					y.Args[tp] = y.Closed(t)
				}
			}
		}
	}
	out := make([]types.Type, params.Len())
	for i := range out {
		if out[i] = y.Args[params.At(i)]; out[i] == nil {
			return nil
		}
	}
	return out
}

// firstTerm returns the first type of a constraint; float32 where it has no list of types.
func firstTerm(t types.Type, depth int) types.Type {
	if depth > source.MaxTypeDepth {
		return nil
	}
	switch t := t.Underlying().(type) {
	case *types.Interface:
		for i := range t.NumEmbeddeds() {
			if first := firstOf(t.EmbeddedType(i), depth+1); first != nil {
				return first
			}
		}
		if t.NumExplicitMethods() > 0 {
			return nil
		}
		return types.Typ[types.Float32]
	}
	return t
}

func firstOf(t types.Type, depth int) types.Type {
	union, ok := t.(*types.Union)
	if !ok {
		return firstTerm(t, depth)
	}
	if union.Len() == 0 {
		return nil
	}
	return firstTerm(union.Term(0).Type(), depth)
}

// mentionsParam reports whether a type parameter is left in t.
func mentionsParam(t types.Type, depth int) bool {
	if depth > source.MaxTypeDepth {
		return true
	}
	switch t := t.(type) {
	case *types.TypeParam:
		return true
	case *types.Slice:
		return mentionsParam(t.Elem(), depth+1)
	case *types.Array:
		return mentionsParam(t.Elem(), depth+1)
	case *types.Pointer:
		return mentionsParam(t.Elem(), depth+1)
	}
	return false
}

// InstanceName returns the name of an instance: F_float32 of F[float32].
func InstanceName(name string, args []types.Type) string {
	for _, a := range args {
		words := strings.FieldsFunc(goTypeText(a), func(r rune) bool { return !unicode.IsLetter(r) && !unicode.IsDigit(r) && r != '_' })
		name += "_" + strings.Join(words, "_")
	}
	return name
}
