package check

import (
	"slices"

	"github.com/gompss/gompss/codegen/internal/analysis"
	"github.com/gompss/gompss/codegen/internal/analysis/affine"
	"github.com/gompss/gompss/codegen/internal/diag"
	"github.com/gompss/gompss/codegen/ir"
	"github.com/gompss/gompss/codegen/ir/query"
)

// This file finds updates of elements whose index depends only on data, such as counts[v[i]]++, in
// parallel loops: two iterations probably update the same element. A store without a read may be a
// permutation, so it is only a note.

// scattered warns of updates in the body of l of elements whose index depends only on data.
func scattered(c *Check, k *ir.Kernel, l *ir.For, reaches []analysis.Reach, inside *ir.VarSet, team *ir.Directive) {
	nest := analysis.NestOf(l)
	if trips, known := analysis.ConstTrips(l); known && trips < 2 || l.Directive.Parts == ir.Simd && l.Directive.Safelen > 0 {
		return
	}
	var from *sources
	for i := range reaches {
		w := &reaches[i]
		if !w.Write || w.Atomic || known(w) && w.Fixed(inside, nest) || inside.Has(w.Base) || w.Guarded(nest) || w.CopiedIn(l) || w.CopiedBy(team) || query.HasBadValue(w.Expr) {
			continue
		}
		index := indicesOf(w.Expr)
		if len(index) == 0 || c.scatters[w.At] {
			continue
		}
		if from == nil {
			from = sourcesOf(k, nest)
		}
		if slices.ContainsFunc(index, from.ofIteration) || !slices.ContainsFunc(index, from.ofData) {
			continue
		}
		if c.scatters == nil {
			c.scatters = map[ir.Pos]bool{}
		}
		c.scatters[w.At] = true
		name := query.Source(w.Expr)
		updated := slices.ContainsFunc(reaches, func(r analysis.Reach) bool {
			return !r.Write && r.Base == w.Base && query.Source(r.Expr) == name
		})
		what, at := "directive "+l.Directive.Parts.String(), " (loop at "+l.Directive.At.String()+")"
		if !updated {
			c.warnOf(w.Base, diag.Note, w.At, what, "data name the element that is stored to "+name+": the iterations over "+l.Var.Name+" must name different ones"+at, "")
			continue
		}
		c.warnOf(w.Base, diag.Warning, w.At, what, "data name the element of "+name+" that is read and written here, and two iterations over "+l.Var.Name+" may name the same"+at,
			"write //omp:atomic above the update"+reductionOf(w.Base)+", or //nolint:gompss behind it where no two do")
	}
}

// known reports whether all indices of r are affine.
func known(r *analysis.Reach) bool {
	return !slices.ContainsFunc(r.Indices(), func(a affine.Form) bool { return !a.Known() })
}

// reductionOf returns a clause to suggest for sums in v, "" if v has no fixed size.
func reductionOf(v *ir.Var) string {
	switch v.Type.Kind {
	case ir.Array:
		return ", or reduction(+: " + v.Name + ") on the loop"
	case ir.Pointer:
		return ", or reduction(+: *" + v.Name + ") on the loop"
	}
	return ""
}

// indicesOf returns the indices in a place, and the pointers that it dereferences.
func indicesOf(e ir.Expr) (out []ir.Expr) {
	switch e := e.(type) {
	case *ir.Member:
		return indicesOf(e.X)
	case *ir.Index:
		return append(indicesOf(e.X), e.I)
	case *ir.Reslice:
		if out = indicesOf(e.X); e.Lo != nil {
			out = append(out, e.Lo)
		}
		return out
	case *ir.AddrOf:
		return indicesOf(e.X)
	case *ir.Deref:
		return append(indicesOf(e.X), e.X)
	case *ir.Ref:
		return []ir.Expr{e}
	}
	return nil
}

// sources contains the origins of the values of a loop's variables.
type sources struct {
	iteration *ir.VarSet // derived from iteration numbers of the nest, without a load
	data      *ir.VarSet // derived from memory
}

// sourcesOf computes the origins of the local variables in the body of a nest and in the functions
// that the kernel calls, independent of the order of statements.
func sourcesOf(k *ir.Kernel, nest []*ir.For) *sources {
	s := &sources{iteration: &ir.VarSet{}, data: &ir.VarSet{}}
	for _, l := range nest {
		s.iteration.Add(l.Var)
	}
	s.follow(k, nest[0].Body)
	return s
}

// valuesOf computes the origins of all local variables of a kernel.
func valuesOf(k *ir.Kernel) *sources {
	s := &sources{iteration: &ir.VarSet{}, data: &ir.VarSet{}}
	s.follow(k, k.Body)
	return s
}

// follow computes the origins of the local variables of body and of all functions of k.
func (s *sources) follow(k *ir.Kernel, body []ir.Stmt) {
	bodies := [][]ir.Stmt{body}
	for _, f := range k.Funcs {
		bodies = append(bodies, f.Body)
	}
	for before := -1; before != s.iteration.Len()+s.data.Len(); {
		before = s.iteration.Len() + s.data.Len()
		for _, body := range bodies {
			ir.WalkStmts(body, func(st ir.Stmt) bool {
				s.stmt(st)
				return true
			})
		}
	}
}

func (s *sources) stmt(st ir.Stmt) {
	switch st := st.(type) {
	case *ir.Decl:
		s.set(st.Var, st.Init)
	case *ir.Assign:
		v := query.RefVar(st.Place)
		if b, ok := st.Value.(*ir.Binary); ok && v != nil && (b.Op == ir.Add || b.Op == ir.Sub) && query.RefVar(b.X) == v {
			s.iteration.Add(v) // it counts iterations, for example rows
		}
		s.set(ir.RootVar(st.Place), st.Value)
	case *ir.Atomic:
		if st.Old != nil { // a ticket: no other iteration gets the same value
			s.iteration.Add(ir.RootVar(st.Old))
		}
	case *ir.For:
		for _, e := range []ir.Expr{st.Lo, st.Hi} {
			if s.ofIteration(e) || s.ofData(e) { // probably the iteration's own rows
				s.iteration.Add(st.Var)
			}
		}
	case *ir.Call:
		for i, arg := range st.Args {
			s.set(st.Fn.Params[i], arg)
		}
		for _, v := range st.Results {
			ir.WalkStmts(st.Fn.Body, func(in ir.Stmt) bool {
				if r, ok := in.(*ir.Return); ok {
					for _, e := range r.Results {
						s.set(v, e)
					}
				}
				return true
			})
		}
	}
}

func (s *sources) set(v *ir.Var, value ir.Expr) {
	if v == nil || value == nil {
		return
	}
	if s.ofIteration(value) {
		s.iteration.Add(v)
	}
	if s.ofData(value) {
		s.data.Add(v)
	}
}

// ofIteration reports whether e depends on the iteration number other than through a load.
func (s *sources) ofIteration(e ir.Expr) bool {
	found := false
	ir.WalkExpr(e, func(x ir.Expr) bool {
		switch x := x.(type) {
		case *ir.Ref:
			found = found || s.iteration.Has(x.Var)
		case *ir.Query: // threads and teams have different parts
			found = true
		case *ir.AddrOf, *ir.Reslice:
			found = found || slices.ContainsFunc(indicesOf(x), s.ofIteration)
			return false
		default:
			return !found && !isData(x)
		}
		return !found
	})
	return found
}

// ofData reports whether e depends on data.
func (s *sources) ofData(e ir.Expr) bool {
	found := false
	ir.WalkExpr(e, func(x ir.Expr) bool {
		switch x := x.(type) {
		case *ir.Ref:
			found = found || s.data.Has(x.Var)
		case *ir.AddrOf, *ir.Reslice:
			found = found || slices.ContainsFunc(indicesOf(x), s.ofData)
			return false
		default:
			found = found || isData(x)
		}
		return !found
	})
	return found
}

// isData reports whether e is a load, or a float that is converted to an index.
func isData(e ir.Expr) bool {
	switch e := e.(type) {
	case *ir.Index:
		return e.X.Type().Kind == ir.Slice
	case *ir.Deref:
		return true
	case *ir.Convert:
		return e.T.IsInteger() && !e.X.Type().IsInteger()
	}
	return false
}
