package check

import (
	"fmt"
	"slices"

	"github.com/gompss/gompss/codegen/internal/analysis"
	"github.com/gompss/gompss/codegen/internal/diag"
	"github.com/gompss/gompss/codegen/ir"
	"github.com/gompss/gompss/codegen/ir/build"
	"github.com/gompss/gompss/codegen/ir/query"
)

// This file finds writes at indices that are not affine and map several iterations to one element,
// such as y[i/2] and y[i&7]. It evaluates the index in the first iterations, with several values of
// the other variables.

// maxFolded is the number of iterations that are evaluated.
const maxFolded = 40

// folded warns of writes in the body of l to an element that two of the first iterations write.
func folded(c *Check, k *ir.Kernel, l *ir.For, reaches []analysis.Reach, inside *ir.VarSet, team *ir.Directive, around []ir.Stmt) {
	nest := []*ir.For{l}
	if l.Directive.Collapse > 1 {
		return
	}
	var defs map[*ir.Var]ir.Expr
	for _, w := range reaches {
		if !w.Write || w.Atomic || w.Index.Known() && w.Fixed(inside, nest) || inside.Has(w.Base) || w.Guarded(nest) || w.CopiedIn(l) || w.CopiedBy(team) || query.HasBadValue(w.Expr) {
			continue
		}
		ix, ok := elementOf(w.Expr)
		if !ok || len(w.Inside) > 0 || !rectangular(&nestLoop{For: l}, w.Loops) {
			continue
		}
		if defs == nil {
			defs = valuesIn(l.Body)
		}
		if slices.ContainsFunc(w.Conds, func(cond ir.Expr) bool { return choosesIterations(withValues(cond, defs), l.Var) }) {
			continue
		}
		index, ok := fromBase(ix, w.Base, l.Body)
		if !ok {
			continue
		}
		f := folding{loop: l, index: withValues(index, defs), inner: w.Loops, inside: inside}
		first, distance, exact := f.find()
		if distance == 0 || withinSafelen(l, distance) {
			continue
		}
		say := func(at ir.Pos, what, why, instead string) { c.warnOf(w.Base, diag.Warning, at, what, why, instead) }
		trips, known := analysis.ConstTrips(l)
		switch {
		case known && trips <= first+distance:
			continue
		case c.sound && exact && (known || first+distance <= 1) && certainRace(l, &nestLoop{For: l}, w, w, 0, around):
			say = c.fail
		}
		say(w.At, "directive "+l.Directive.Parts.String(), fmt.Sprintf("iterations over %s write the same %s here, of which the first lie %d apart (loop at %v)",
			l.Var.Name, query.Source(w.Expr), distance, l.Directive.At), "write //omp:atomic above the update, or give each iteration elements of its own")
	}
}

// choosesIterations reports whether a condition depends on the value of v itself, and not only on
// data that v indexes.
func choosesIterations(cond ir.Expr, v *ir.Var) bool {
	found := false
	ir.WalkExpr(cond, func(e ir.Expr) bool {
		_, element := e.(*ir.Index)
		found = found || ir.IsRef(e, v)
		return !element && !found
	})
	return found
}

// elementOf returns the slice or array index of place e, or of the element of which e is a field.
func elementOf(e ir.Expr) (*ir.Index, bool) {
	if m, ok := e.(*ir.Member); ok {
		return elementOf(m.X)
	}
	ix, ok := e.(*ir.Index)
	return ix, ok && query.RefVar(ix.X) != nil
}

// fromBase returns the index of an element relative to the start of base. ix indexes base itself,
// or a view of it that list creates once, such as own := base[i*4 : i*4+4].
func fromBase(ix *ir.Index, base *ir.Var, list []ir.Stmt) (index ir.Expr, ok bool) {
	index = ix.I
	for view := query.RefVar(ix.X); view != base; {
		var cut *ir.Reslice
		made := 0
		ir.WalkStmts(list, func(s ir.Stmt) bool {
			switch s := s.(type) {
			case *ir.Decl:
				if s.Var == view {
					cut, _ = s.Init.(*ir.Reslice)
					made++
				}
			case *ir.Assign:
				if query.RefVar(s.Place) == view {
					made = 2
				}
			}
			return true
		})
		if made != 1 || cut == nil || query.RefVar(cut.X) == nil {
			return nil, false
		}
		if cut.Lo != nil {
			index = build.Binary(ir.Add, build.Convert(ir.IntType, index, ix.At), build.Convert(ir.IntType, build.Copy(cut.Lo), ix.At), ix.At)
		}
		view = query.RefVar(cut.X)
	}
	return index, true
}

// valuesIn returns the values of the variables that list declares and never changes.
func valuesIn(list []ir.Stmt) map[*ir.Var]ir.Expr {
	out, changed := map[*ir.Var]ir.Expr{}, ir.Assigned(list)
	for _, v := range ir.AddressTaken(list).List() {
		changed.Add(v)
	}
	ir.WalkStmts(list, func(s ir.Stmt) bool {
		if d, ok := s.(*ir.Decl); ok && d.Init != nil && !changed.Has(d.Var) && d.Var.Type.IsInteger() {
			out[d.Var] = d.Init
		}
		return true
	})
	return out
}

// withValues replaces variables in e by their values, recursively.
func withValues(e ir.Expr, values map[*ir.Var]ir.Expr) ir.Expr {
	for range 4 {
		if !slices.ContainsFunc(ir.ExprVars(e).List(), func(v *ir.Var) bool { return values[v] != nil }) {
			break
		}
		e = ir.Subst(e, values)
	}
	return e
}

// A folding searches for iterations of a loop with equal indices.
type folding struct {
	loop   *ir.For
	index  ir.Expr
	inner  []analysis.LoopRange
	inside *ir.VarSet
}

// find returns an early iteration and the distance to one with the same index; the distance is 0 if
// there is none. exact is true if the index depends only on the loop variable, which starts at a
// constant.
func (f *folding) find() (first, distance int64, exact bool) {
	step, constant := query.Int64(f.loop.Step)
	if !constant || query.ReadsMemory(f.index) != nil || !ir.ExprVars(f.index).Has(f.loop.Var) {
		return 0, 0, false
	}
	for _, v := range ir.ExprVars(f.index).List() {
		own := v == f.loop.Var || slices.ContainsFunc(f.inner, func(l analysis.LoopRange) bool { return l.Var == v })
		if !own && f.inside.Has(v) {
			return 0, 0, false // the index may differ between iterations
		}
	}
	lo, fromConst := query.Int64(f.loop.Lo)
	exact = fromConst && ir.ExprVars(f.index).Len() == 1
	for sample, other := range []int64{5, 1013, 65536} {
		if !fromConst {
			lo = other + int64(sample)
		}
		at, apart := f.pair(lo, step, other)
		if apart == 0 || sample > 0 && apart != distance {
			return 0, 0, false
		}
		first, distance = max(first, at), apart
	}
	return first, distance, exact
}

// pair returns the first two iterations with the same index, where all other variables have the
// value other.
func (f *folding) pair(lo, step, other int64) (first, distance int64) {
	env, seen := ir.Values{}, map[int64]int64{}
	for _, v := range ir.ExprVars(f.index).List() {
		env[v] = ir.Value{Bits: uint64(other), Len: other, Cap: other}
		other += 3
	}
	for n := range int64(maxFolded) {
		env[f.loop.Var] = ir.Value{Bits: ir.Normal(f.loop.Var.Type, uint64(lo+n*step))}
		at, err := ir.EvalInt(f.index, env)
		if err != nil {
			return 0, 0
		}
		if before, ok := seen[at]; ok {
			return before, n - before
		}
		seen[at] = n
	}
	return 0, 0
}
