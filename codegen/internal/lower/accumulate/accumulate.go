// Package accumulate keeps elements of memory that all iterations of a loop change in variables of
// the thread while the loop runs.
package accumulate

import (
	"slices"

	"github.com/gompss/gompss/codegen/internal/lower/forms"
	"github.com/gompss/gompss/codegen/internal/mapping"
	"github.com/gompss/gompss/codegen/ir"
	"github.com/gompss/gompss/codegen/ir/build"
	"github.com/gompss/gompss/codegen/ir/query"
)

// A loop that adds to an element of memory whose place is the same in all iterations loads and
// stores it in each, as what it stores may be what the next iteration loads. Where the slices that
// it accesses are apart, which a test in front shows, the element is in a variable from before the
// loop until behind it.
//
// What the whole iteration of a parallel loop adds to is in a variable already, see ShapeNests of
// package mapping; here are the loops deeper in it. Each iteration has to store the element in any
// case, so that no store is made that the program does not make. An iteration that fails leaves the
// element as it was: what a task wrote that fails is undefined. Source: Lu and Cooper, Register
// promotion in C programs, 1997, section 3; differs: the slices are compared at run time.

// In keeps elements in all loops of list, the outermost that allow it.
func In(w *mapping.Work, list []ir.Stmt) []ir.Stmt {
	return in(w, (&ir.Rewrite{}).CopyStmts(list))
}

// in changes list, and returns what it becomes.
func in(w *mapping.Work, list []ir.Stmt) []ir.Stmt {
	var out []ir.Stmt
	for _, s := range list {
		switch s := s.(type) {
		case *ir.For:
			if both := sums(w, s); both != nil {
				out = append(out, both)
				continue
			}
			s.Body = in(w, s.Body)
		case *ir.If:
			s.Then, s.Else = in(w, s.Then), in(w, s.Else)
		case *ir.Block:
			s.Body = in(w, s.Body)
		case *ir.While:
			s.Body = in(w, s.Body)
		}
		out = append(out, s)
	}
	return out
}

// sums returns f in two versions, one of which keeps elements in variables; nil where there is
// nothing to keep, or the loop may do more than add.
func sums(w *mapping.Work, f *ir.For) ir.Stmt {
	if w.Kernel.Target.OverlapOK || f.Directive != nil || query.JumpsOut(f) {
		return nil
	}
	a := &accumulator{Work: w, loop: f, changing: changedIn(f), others: &ir.VarSet{}}
	if !a.collect() {
		return nil
	}
	at := f.At
	keep := &ir.Rewrite{Instead: func(e ir.Expr) ir.Expr {
		if i := a.index(e); i >= 0 {
			return build.Ref(a.kept[i].in, e.Pos())
		}
		return nil
	}}
	test := build.Compare(f.Rel, build.Copy(f.Lo), build.Copy(f.Hi), at) // there is an iteration
	for _, cond := range a.conds {
		test = build.Compare(ir.LAnd, test, cond, at)
	}
	version := keep.CopyStmts(w.CopyOf([]ir.Stmt{f}, &w.Kernel.NumVars))
	var before, after []ir.Stmt
	for _, k := range a.kept {
		before = append(before, build.Decl(k.in, build.Copy(k.place), at))
		after = append(after, build.Assign(build.Copy(k.place), build.Ref(k.in, at), at))
	}
	w.Decide(at, "loop "+f.Var.Text(), "elements that each iteration adds to are kept in registers", "their places are the same in all iterations; a test shows that no other slice overlaps them", "")
	return &ir.If{Cond: test, Then: slices.Concat(before, version, after), Else: []ir.Stmt{f}, At: at}
}

// A kept is an element, and the variable that it is kept in.
type kept struct {
	place *ir.Index
	slice *ir.Var
	in    *ir.Var
}

type accumulator struct {
	*mapping.Work
	loop     *ir.For
	changing *ir.VarSet // by the loop
	kept     []kept
	others   *ir.VarSet // slices that it only reads
	conds    []ir.Expr
}

// mostKept is the largest number of elements that a loop keeps in variables.
const mostKept = 4

// collect finds what is to be kept, and reports whether the loop does nothing that hinders it.
func (a *accumulator) collect() bool {
	for _, s := range forms.Flat(a.loop.Body) {
		if s, ok := s.(*ir.Assign); ok {
			a.keep(s.Place)
		}
	}
	if len(a.kept) == 0 || len(a.kept) > mostKept {
		return false
	}
	fine, updates := true, false
	ir.WalkStmts(a.loop.Body, func(s ir.Stmt) bool {
		switch s := s.(type) {
		case *ir.Decl, *ir.If, *ir.Block, *ir.For:
		case *ir.Assign:
			v := query.BaseVar(s.Place)
			fine = fine && (a.index(s.Place) >= 0 || v != nil && v.Space == ir.Local && !query.HasAddress(v.Type))
			updates = updates || a.index(s.Place) >= 0 && a.mentions(s.Value)
		default:
			fine = false
		}
		return fine
	})
	return fine && updates && a.readsApart()
}

// keep notes an element that a statement of each iteration stores.
func (a *accumulator) keep(e ir.Expr) {
	ix, ok := e.(*ir.Index)
	if !ok || a.index(e) >= 0 || ix.Checked || query.Checks(ix.I) || !query.LoadFree(ix.I) || !query.IsRef(ix.X) || !ix.Type().IsScalar() {
		return
	}
	v := query.RefVar(ix.X)
	if v.Space != ir.Param || v.Type.Kind != ir.Slice || slices.ContainsFunc(ir.ExprVars(ix).List(), a.changing.Has) {
		return
	}
	a.kept = append(a.kept, kept{place: ix, slice: v, in: a.Local("sum", ix.Type(), ix.At)})
}

// index returns which of the kept elements e is, -1 where it is none.
func (a *accumulator) index(e ir.Expr) int {
	if _, ok := e.(*ir.Index); !ok {
		return -1
	}
	return slices.IndexFunc(a.kept, func(k kept) bool { return query.Same(k.place, e) })
}

func (a *accumulator) mentions(e ir.Expr) bool {
	found := false
	ir.WalkExpr(e, func(x ir.Expr) bool {
		found = found || a.index(x) >= 0
		return !found
	})
	return found
}

// readsApart collects the tests that nothing else that the loop accesses is a kept element.
func (a *accumulator) readsApart() bool {
	fine := true
	ir.WalkExprs(a.loop.Body, func(e ir.Expr) bool {
		if a.index(e) >= 0 {
			return false // nothing is loaded for its place
		}
		switch x := e.(type) {
		case *ir.Deref, *ir.AddrOf, *ir.Reslice, *ir.Shuffle:
			fine = false
		case *ir.Ref:
			if query.HasAddress(x.Var.Type) {
				fine = fine && x.Var.Space == ir.Param && x.Var.Type.Kind == ir.Slice
				a.others.Add(x.Var)
			}
		case *ir.Len:
			return !query.IsRef(x.X)
		}
		return fine
	})
	for i, k := range a.kept {
		list := a.others.List()
		for _, other := range a.kept[:i] {
			list = append(list, other.slice)
		}
		for _, v := range list {
			fine = fine && v != k.slice
			if v.Type.Elem.Kind == k.slice.Type.Elem.Kind || !v.Type.Elem.IsScalar() {
				a.conds = append(a.conds, &ir.Apart{X: build.Ref(k.slice, k.place.At), Y: build.Ref(v, k.place.At), At: k.place.At})
			}
		}
	}
	return fine
}

// changedIn returns the variables that f declares or assigns to.
func changedIn(f *ir.For) *ir.VarSet {
	out := ir.Declared([]ir.Stmt{f})
	for _, v := range ir.Assigned(f.Body).List() {
		if v.Type.Kind != ir.Slice { // an element of it
			out.Add(v)
		}
	}
	return out
}
