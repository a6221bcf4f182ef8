package analysis

import (
	"cmp"
	"slices"

	"github.com/gompss/gompss/codegen/internal/analysis/affine"
	"github.com/gompss/gompss/codegen/ir"
	"github.com/gompss/gompss/codegen/ir/query"
)

// Touches lists the memory accesses of the iterations of f. If the body calls functions that access
// memory, uses parts of slices or pointers, or has atomics, Touches finds the accesses with a
// Collector.
func (m *Dependences) Touches(f *ir.For, d *ir.Directive) (list []AccessForm, why string) {
	list, why = m.accesses(f)
	local := func(a AccessForm) bool { return a.root == nil || a.root.Space != ir.Param }
	if d == nil || why == "" && !slices.ContainsFunc(list, local) {
		return list, why
	}
	if slices.ContainsFunc(m.k.Params, func(v *ir.Var) bool { return ir.Assigned(m.k.Body).Has(v) }) {
		return list, why // one name denotes several slices
	}
	c := NewCollector(m.k)
	c.Define(m.k.Body)
	c.Stmts(f.Body)
	if c.lost {
		return list, cmp.Or(why, "it reaches memory through what it reads from memory")
	}
	list = nil
	declared := m.inside(f)
	for _, r := range c.Out {
		if a, ok := accessOf(r, declared); ok {
			list = append(list, a)
		}
	}
	return list, ""
}

// accessOf returns r as an AccessForm. ok is false if r is not an access to memory, or accesses a
// variable that is private to an iteration.
func accessOf(r Reach, declared *ir.VarSet) (a AccessForm, ok bool) {
	kind := r.Base.Type.Kind
	_, whole := r.Expr.(*ir.Ref)
	switch {
	case kind != ir.Slice && kind != ir.Pointer && kind != ir.Array, whole, kind == ir.Array && declared.Has(r.Base):
		return a, false
	}
	a = AccessForm{root: r.Base, kinds: KindsOf(r.Expr.Type()), Form: r.Index, write: r.Write, Known: r.Index.Known(), atomic: r.Atomic, at: r.At}
	if kind != ir.Array && r.Base.Space != ir.Param || throughMemory(r.Expr) {
		a.root, a.Known = nil, false // each iteration may access a different slice
	}
	for _, l := range r.Loops {
		lo, hi := l.Ends()
		b := bounds{Var: l.Var, Lo: affine.Form{Unknown: true}, Hi: affine.Form{Unknown: true}}
		if l.Known {
			b.Lo, b.Hi = lo, hi
		}
		a.Loops, a.ranges = append(a.Loops, l.For), append(a.ranges, b)
	}
	return a, true
}

// throughMemory reports whether place e is accessed through a slice or pointer that is loaded from
// memory or computed.
func throughMemory(e ir.Expr) bool {
	switch e := e.(type) {
	case *ir.Index:
		if e.X.Type().Kind == ir.Slice {
			return !namesMemory(e.X)
		}
		return throughMemory(e.X)
	case *ir.Member:
		return throughMemory(e.X)
	case *ir.Deref:
		return !namesMemory(e.X)
	}
	return false
}

// namesMemory reports whether slice or pointer e consists of variables only.
func namesMemory(e ir.Expr) bool {
	switch e := e.(type) {
	case *ir.Ref:
		return true
	case *ir.Reslice:
		return e.X.Type().Kind == ir.Slice && namesMemory(e.X) || e.X.Type().Kind == ir.Array && !throughMemory(e.X)
	case *ir.AddrOf:
		return !throughMemory(e.X)
	}
	return false
}

// inside returns the variables that are private to an iteration of f, including those of the
// functions that it calls.
func (m *Dependences) inside(f *ir.For) *ir.VarSet {
	out := ir.Declared(f.Body)
	for _, fn := range m.k.Funcs {
		for _, v := range append(ir.Declared(fn.Body).List(), fn.Params...) {
			out.Add(v)
		}
	}
	return out
}

// keeps reports whether the variables in forms have the same values in all iterations of f.
func (m *Dependences) keeps(f *ir.For, forms ...affine.Form) bool {
	if !keeps(f, forms...) {
		return false
	}
	inside := m.inside(f)
	return !slices.ContainsFunc(forms, func(a affine.Form) bool {
		return slices.ContainsFunc(a.Atoms(), func(x affine.Atom) bool { return inside.Has(x.Var) })
	})
}

// WithReductions removes from list the accesses to memory that the reductions of d combine, because
// each iteration has a copy of it, and adds the writes of the results at the end of the loop.
func WithReductions(list []AccessForm, d *ir.Directive) []AccessForm {
	if d == nil {
		return list
	}
	for _, r := range d.Reductions {
		for _, place := range []ir.Expr{r.Place, r.Index} {
			root, form := memoryOf(place)
			if root == nil {
				continue
			}
			list = slices.DeleteFunc(slices.Clone(list), func(a AccessForm) bool {
				return a.root == root && (root.Type.Kind == ir.Pointer || a.Known && a.Form.Equal(form))
			})
			list = append(list, AccessForm{root: root, kinds: KindsOf(place.Type()), Form: form, Known: form.Known(), write: true, atomic: true, at: r.At})
		}
	}
	return list
}

// memoryOf returns the pointer or slice through which place e is accessed, and the element. It
// returns nil if e is in the memory of a variable.
func memoryOf(e ir.Expr) (*ir.Var, affine.Form) {
	switch e := e.(type) {
	case *ir.Deref:
		return query.RefVar(e.X), affine.Form{}
	case *ir.Member:
		return memoryOf(e.X)
	case *ir.Reslice:
		return memoryOf(e.X)
	case *ir.Index:
		if e.X.Type().Kind == ir.Slice {
			form, _ := affine.Of(e.I)
			return query.RefVar(e.X), form
		}
		return memoryOf(e.X)
	}
	return nil, affine.Form{}
}

// atomicsIn returns the atomics of list and of the functions that list calls.
func atomicsIn(list []ir.Stmt) (out []*ir.Atomic) {
	ir.WalkStmts(list, func(s ir.Stmt) bool {
		switch s := s.(type) {
		case *ir.Atomic:
			out = append(out, s)
		case *ir.Call:
			out = append(out, atomicsIn(s.Fn.Body)...)
		}
		return true
	})
	return out
}

// commute reports whether the atomics have the same result in every order: all are updates with
// operators of one kind. The last bits of a float sum may depend on the order, as in a reduction.
func commute(list []*ir.Atomic) bool {
	class := func(op ir.Op) ir.Op {
		switch op {
		case ir.Sub:
			return ir.Add
		case ir.Add, ir.Mul, ir.Min, ir.Max, ir.And, ir.Or, ir.Xor, ir.LAnd, ir.LOr:
			return op
		}
		return ir.NoOp
	}
	for _, a := range list {
		if a.Kind != ir.AtomicUpdate || a.Swapped || class(a.Op) == ir.NoOp || class(a.Op) != class(list[0].Op) {
			return false
		}
	}
	return true
}

// updatedAlone reports whether atomics that commute are the only uses of variable v in list.
func updatedAlone(list []ir.Stmt, v *ir.Var) bool {
	uses, updates := 0, 0
	ir.Inspect(list, func(s ir.Stmt) {
		if a, ok := s.(*ir.Atomic); ok && ir.RootVar(a.Place) == v && a.Kind == ir.AtomicUpdate {
			updates++
		}
		if d := ir.DirectiveOf(s); d != nil && HasCopy(d, v) {
			uses++
		}
	}, func(e ir.Expr) {
		if r, ok := e.(*ir.Ref); ok && r.Var == v {
			uses++
		}
	})
	return updates > 0 && uses == updates && commute(atomicsIn(list))
}

// CarriedLast returns the reason why the last value of a lastprivate variable of d depends on more
// than the last iteration of body, "" if it does not.
func CarriedLast(body []ir.Stmt, d *ir.Directive) string {
	for _, v := range d.Lastprivate {
		flow := NewPrivateFlow(v, nil)
		if end := flow.Stmts(body, Unassigned); end != assigned || flow.warned {
			return "not every iteration assigns to " + v.Name + " before it reads it"
		}
	}
	return ""
}
