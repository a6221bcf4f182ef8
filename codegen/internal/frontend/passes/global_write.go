package passes

import (
	"github.com/gompss/gompss/codegen/internal/diag"
	"github.com/gompss/gompss/codegen/ir"
)

// checkGlobalWrites reports writes to a package variable or to memory that one refers to.
//
// It does not follow the order of statements: a pointer or slice variable that may hold the address
// of a package variable anywhere is not written through anywhere.
func (u *Pass) checkGlobalWrites(list []*ir.Var) {
	w := &globalWrites{u: u, of: map[*ir.Var]*ir.Var{}}
	for _, v := range list {
		w.of[v] = v
	}
	for changed := true; changed; {
		before := len(w.of)
		for _, body := range u.Bodies() {
			ir.Inspect(body, w.flow, func(ir.Expr) {})
		}
		changed = len(w.of) > before
	}
	for _, body := range u.Bodies() {
		ir.Inspect(body, w.check, func(ir.Expr) {})
	}
}

type globalWrites struct {
	u  *Pass
	of map[*ir.Var]*ir.Var // variables that refer to memory of a package variable, and that one
}

// flow records the variables to which s assigns addresses.
func (w *globalWrites) flow(s ir.Stmt) {
	switch s := s.(type) {
	case *ir.Decl:
		w.into(s.Var, s.Init)
	case *ir.Assign:
		w.into(ir.RootVar(s.Place), s.Value)
	case *ir.Call:
		for i, a := range s.Args {
			if i < len(s.Fn.Params) {
				w.into(s.Fn.Params[i], a)
			}
			for _, r := range s.Results {
				w.into(r, a) // it may return what it is given
			}
		}
		for i, r := range s.Results {
			w.returned(s.Fn, i, r)
		}
	}
}

// returned notes that r gets result i of f.
func (w *globalWrites) returned(f *ir.Func, i int, r *ir.Var) {
	ir.WalkStmts(f.Body, func(s ir.Stmt) bool {
		if ret, ok := s.(*ir.Return); ok && i < len(ret.Results) {
			w.into(r, ret.Results[i])
		}
		return true
	})
}

func (w *globalWrites) into(v *ir.Var, value ir.Expr) {
	if v == nil || value == nil || w.of[v] != nil || !ir.HoldsAddress(v.Type) || !ir.HoldsAddress(value.Type()) {
		return
	}
	if g := w.refersTo(value); g != nil {
		w.of[v] = g
	}
}

// refersTo returns the package variable whose memory the address or place e may lie in.
func (w *globalWrites) refersTo(e ir.Expr) *ir.Var {
	switch e := e.(type) {
	case *ir.Ref:
		return w.of[e.Var]
	case *ir.Index:
		return w.refersTo(e.X)
	case *ir.Member:
		return w.refersTo(e.X)
	case *ir.Deref:
		return w.refersTo(e.X)
	case *ir.AddrOf:
		return w.refersTo(e.X)
	case *ir.Reslice:
		return w.refersTo(e.X)
	case *ir.Convert:
		return w.refersTo(e.X)
	case *ir.Composite:
		for _, x := range e.Elems {
			if g := w.refersTo(x); g != nil && ir.HoldsAddress(x.Type()) {
				return g
			}
		}
	}
	return nil
}

// Check reports the places of package variables that s changes.
func (w *globalWrites) check(s ir.Stmt) {
	switch s := s.(type) {
	case *ir.Assign:
		w.write(s.Place, s.At)
	case *ir.Atomic:
		if s.Kind != ir.AtomicRead {
			w.write(s.Place, s.At)
		}
		w.write(s.Old, s.At)
	}
	if d := ir.DirectiveOf(s); d != nil {
		for _, r := range d.Reductions {
			w.write(r.Place, r.At)
			w.write(r.Index, r.At)
		}
		for _, v := range d.Lastprivate {
			w.write(&ir.Ref{Var: v}, d.At)
		}
	}
}

// firstPosOf returns the source position at which place begins; that of an element is its index.
func firstPosOf(place ir.Expr) ir.Pos {
	switch e := place.(type) {
	case *ir.Index:
		return firstPosOf(e.X)
	case *ir.Member:
		return firstPosOf(e.X)
	}
	return place.Pos()
}

func (w *globalWrites) write(place ir.Expr, at ir.Pos) {
	if place == nil {
		return
	}
	if r, ok := place.(*ir.Ref); ok && w.of[r.Var] != r.Var {
		return // a variable of the kernel's own that holds an address gets another one
	}
	g := w.refersTo(place)
	if g == nil {
		return
	}
	what := "write to package variable " + g.Name
	if first := firstPosOf(place); first != (ir.Pos{}) {
		at = first
	}
	if root := ir.RootVar(place); root != g {
		what = "write to the memory of package variable " + g.Name
	}
	w.u.Report(diag.Diagnostic{Pos: at, What: what, Why: "kernels read package variables and change none",
		Instead: "make it a parameter, a slice or a pointer, and declare it inout"})
}
