package frontend

import (
	"fmt"
	"go/token"
	"go/types"

	"github.com/gompss/gompss/codegen/internal/diag"
	"github.com/gompss/gompss/codegen/internal/frontend/source"
	"github.com/gompss/gompss/codegen/ir"
)

// Instance returns the loop IR of the generic kernel name with the given type arguments, which are
// written as in Go: "float32", or the name of a type of the package.
//
// Errors: no such kernel, no such type, a type that does not satisfy its constraint; an ErrorList
// of the code of this instance outside the dialect. Instance may be called from several goroutines.
func (p *Package) Instance(name string, typeArgs ...string) (*ir.Kernel, error) {
	f := p.Generic[name]
	if errs := p.broken[name]; errs != nil {
		return nil, errs
	}
	if f == nil {
		return nil, fmt.Errorf("codegen: kernel %s: package %s has no generic kernel of this name", name, p.src.Name)
	}
	params := f.Signature().TypeParams()
	if len(typeArgs) != params.Len() {
		return nil, fmt.Errorf("codegen: kernel %s: it takes %d %s, not %d", name, params.Len(),
			diag.Plural(params.Len(), "type argument", "type arguments"), len(typeArgs))
	}
	args := make([]types.Type, len(typeArgs))
	for i, text := range typeArgs {
		tv, err := types.Eval(p.src.Fset, p.src.GoTypes, token.NoPos, text)
		if err != nil {
			return nil, fmt.Errorf("codegen: kernel %s: type argument %s: %w", name, text, err)
		}
		if !tv.IsType() {
			return nil, fmt.Errorf("codegen: kernel %s: type argument %s: it is no type", name, text)
		}
		args[i] = tv.Type
	}
	if _, err := types.Instantiate(nil, f.Signature(), args, true); err != nil {
		return nil, fmt.Errorf("codegen: kernel %s: %s", name, source.GoMessage(err.Error()))
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	k, diags := p.build(f, p.src.Funcs[f], args)
	if errs, _ := source.Split(diags); len(errs) > 0 {
		return nil, diag.Sorted(errs)
	}
	return k, nil
}
