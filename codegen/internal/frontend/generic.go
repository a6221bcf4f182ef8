package frontend

import (
	"fmt"
	"go/token"
	"go/types"
	"strings"
	"unicode"

	"github.com/gompss/gompss/codegen/internal/diag"
	"github.com/gompss/gompss/codegen/ir"
)

// Instance returns the loop IR of the generic kernel name with the given type arguments, which are
// written as in Go: "float32", or the name of a type of the package.
//
// Errors: no such kernel, no such type, a type that does not satisfy its constraint; an ErrorList
// of what this instance does that is not in the dialect. It may be called from several goroutines.
func (p *Package) Instance(name string, typeArgs ...string) (*ir.Kernel, error) {
	f := p.Generic[name]
	if errs := p.broken[name]; errs != nil {
		return nil, errs
	}
	if f == nil {
		return nil, fmt.Errorf("codegen: kernel %s: package %s has no generic kernel of this name", name, p.src.name)
	}
	params := f.Signature().TypeParams()
	if len(typeArgs) != params.Len() {
		return nil, fmt.Errorf("codegen: kernel %s: it takes %d %s, not %d", name, params.Len(),
			diag.Plural(params.Len(), "type argument", "type arguments"), len(typeArgs))
	}
	args := make([]types.Type, len(typeArgs))
	for i, text := range typeArgs {
		tv, err := types.Eval(p.src.fset, p.src.types, token.NoPos, text)
		if err != nil {
			return nil, fmt.Errorf("codegen: kernel %s: type argument %s: %w", name, text, err)
		}
		if !tv.IsType() {
			return nil, fmt.Errorf("codegen: kernel %s: type argument %s: it is no type", name, text)
		}
		args[i] = tv.Type
	}
	if _, err := types.Instantiate(nil, f.Signature(), args, true); err != nil {
		return nil, fmt.Errorf("codegen: kernel %s: %s", name, goMessage(err.Error()))
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	k, diags := p.build(f, p.src.funcs[f], args)
	if errs, _ := split(diags); len(errs) > 0 {
		return nil, diag.Sorted(errs)
	}
	return k, nil
}

// trialArgs returns type arguments that satisfy the constraints of params, with which a generic
// kernel is tried; nil where none are found.
func trialArgs(params *types.TypeParamList) []types.Type {
	y := newTyping()
	for range params.Len() { // a constraint may name parameters to its right
		for i := range params.Len() {
			tp := params.At(i)
			if y.args[tp] == nil {
				if t := firstTerm(tp.Constraint(), 0); t != nil && !mentionsParam(y.closed(t), 0) {
					y.args[tp] = y.closed(t)
				}
			}
		}
	}
	out := make([]types.Type, params.Len())
	for i := range out {
		if out[i] = y.args[params.At(i)]; out[i] == nil {
			return nil
		}
	}
	return out
}

// firstTerm returns the first type of a constraint; float32 where it has no list of types.
func firstTerm(t types.Type, depth int) types.Type {
	if depth > maxTypeDepth {
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
	if depth > maxTypeDepth {
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

// instanceName returns the name of an instance: F_float32 of F[float32].
func instanceName(name string, args []types.Type) string {
	for _, a := range args {
		words := strings.FieldsFunc(goTypeText(a), func(r rune) bool { return !unicode.IsLetter(r) && !unicode.IsDigit(r) && r != '_' })
		name += "_" + strings.Join(words, "_")
	}
	return name
}
