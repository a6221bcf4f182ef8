package analysis

import (
	"slices"

	"github.com/gompss/gompss/codegen/internal/analysis/affine"
	"github.com/gompss/gompss/codegen/ir"
	"github.com/gompss/gompss/codegen/ir/query"
)

// origins maps local slice and pointer variables to the kernel parameters and arrays that they may
// refer to. The analysis ignores the order of statements.
type origins struct {
	k       *ir.Kernel
	of      map[*ir.Var]*ir.VarSet
	changed bool
}

// originsOf computes the origins of the local slices and pointers of k, as a fixed point.
func originsOf(k *ir.Kernel) *origins {
	o := &origins{k: k, of: map[*ir.Var]*ir.VarSet{}, changed: true}
	for o.changed {
		o.changed = false
		for _, f := range k.Funcs {
			ir.WalkStmts(f.Body, o.stmt)
		}
		ir.WalkStmts(k.Body, o.stmt)
	}
	return o
}

func (o *origins) stmt(s ir.Stmt) bool {
	switch s := s.(type) {
	case *ir.Decl:
		o.give(s.Var, s.Init)
	case *ir.Assign:
		o.give(query.RefVar(s.Place), s.Value)
	case *ir.Call:
		for i, a := range s.Args {
			o.give(s.Fn.Params[i], a)
		}
		for i, v := range s.Results {
			ir.WalkStmts(s.Fn.Body, func(s ir.Stmt) bool {
				if r, ok := s.(*ir.Return); ok && len(r.Results) > i {
					o.give(v, r.Results[i])
				}
				return true
			})
		}
	}
	return true
}

// give records that v may refer to the memory that value refers to.
func (o *origins) give(v *ir.Var, value ir.Expr) {
	if v == nil || value == nil || !query.IsAddress(v.Type) {
		return
	}
	if a, ok := value.(*ir.AddrOf); ok {
		value = a.X
	}
	base := query.BaseVar(value)
	if base == nil || base == v {
		return
	}
	from := &ir.VarSet{}
	if from.Add(base); query.IsAddress(base.Type) && !slices.Contains(o.k.Params, base) {
		if from = o.of[base]; from == nil {
			return // a later round adds v, when base has an origin
		}
	}
	if o.of[v] == nil {
		o.of[v] = &ir.VarSet{}
	}
	for _, b := range from.List() {
		if !o.of[v].Has(b) {
			o.of[v].Add(b)
			o.changed = true
		}
	}
}

// ThroughLocals adds to reaches, for each reference through a slice or pointer that is assigned in
// several places, references to the parameters of k that the slice or pointer may refer to. Their
// index is unknown and they may not be executed.
func ThroughLocals(k *ir.Kernel, reaches []Reach) []Reach {
	isLocal := func(r Reach) bool {
		_, itself := r.Expr.(*ir.Ref)
		return query.IsAddress(r.Base.Type) && !itself && !slices.Contains(k.Params, r.Base)
	}
	if !slices.ContainsFunc(reaches, isLocal) {
		return reaches
	}
	from := originsOf(k)
	out := make([]Reach, 0, len(reaches))
	for _, r := range reaches {
		if out = append(out, r); !isLocal(r) || from.of[r.Base] == nil {
			continue
		}
		list := from.of[r.Base].List()
		for _, v := range list {
			if slices.Contains(k.Params, v) {
				via := r
				via.Base, via.Index, via.Through = v, affine.Form{Unknown: true}, r.Base
				via.Extent = Extent(0).With(Maybe, len(list) > 1)
				out = append(out, via)
			}
		}
	}
	return out
}
