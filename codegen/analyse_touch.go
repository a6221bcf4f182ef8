package codegen

import (
	"cmp"
	"slices"

	"github.com/gompss/gompss/codegen/ir"
)

// touches lists what the iterations of f touch in memory. Where the body calls functions that touch memory, uses parts of slices or
// pointers, or has atomics, the accesses are those that the collector finds through them.
func (m *mapper) touches(f *ir.For, d *ir.Directive) (list []accessForm, why string) {
	list, why = m.accesses(f)
	local := func(a accessForm) bool { return a.root == nil || a.root.Space != ir.Param }
	if d == nil || why == "" && !slices.ContainsFunc(list, local) {
		return list, why
	}
	if slices.ContainsFunc(m.kernel.Params, func(v *ir.Var) bool { return ir.Assigned(m.kernel.Body).Has(v) }) {
		return list, why // a name stands for several slices
	}
	c := newCollector(m.kernel)
	c.define(m.kernel.Body)
	c.stmts(f.Body)
	if c.lost {
		return list, cmp.Or(why, "it reaches memory through what it reads from memory")
	}
	list = nil
	declared := m.inside(f)
	for _, r := range c.out {
		if a, ok := accessOf(r, declared); ok {
			list = append(list, a)
		}
	}
	return list, ""
}

// accessOf returns r as an access; ok is false where it is of a variable that each iteration has for itself, or of no memory.
func accessOf(r reach, declared *ir.VarSet) (a accessForm, ok bool) {
	kind := r.base.Type.Kind
	_, whole := r.expr.(*ir.Ref)
	switch {
	case kind != ir.Slice && kind != ir.Pointer && kind != ir.Array, whole, kind == ir.Array && declared.Has(r.base):
		return a, false
	}
	a = accessForm{root: r.base, kinds: kindsOf(r.expr.Type()), form: r.index, write: r.write, known: r.index.Known(), atomic: r.atomic, at: r.at}
	if kind != ir.Array && r.base.Space != ir.Param || throughMemory(r.expr) {
		a.root, a.known = nil, false // it may be another slice in every iteration
	}
	for _, l := range r.loops {
		lo, hi := l.ends()
		b := bounds{v: l.Var, lo: Affine{unknown: true}, hi: Affine{unknown: true}}
		if l.known {
			b.lo, b.hi = lo, hi
		}
		a.loops, a.ranges = append(a.loops, l.For), append(a.ranges, b)
	}
	return a, true
}

// throughMemory reports whether place e lies where a slice or pointer says that is itself in memory, or is made anew.
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

// namesMemory reports whether slice or pointer e is made of variables alone.
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

// inside returns the variables that each iteration of f has for itself, those of the functions that it calls too.
func (m *mapper) inside(f *ir.For) *ir.VarSet {
	out := ir.Declared(f.Body)
	for _, fn := range m.kernel.Funcs {
		for _, v := range append(ir.Declared(fn.Body).List(), fn.Params...) {
			out.Add(v)
		}
	}
	return out
}

// keeps reports whether the variables in forms have the same values in all iterations of f.
func (m *mapper) keeps(f *ir.For, forms ...Affine) bool {
	if !keeps(f, forms...) {
		return false
	}
	inside := m.inside(f)
	return !slices.ContainsFunc(forms, func(a Affine) bool {
		return slices.ContainsFunc(a.Atoms(), func(x Atom) bool { return inside.Has(x.Var) })
	})
}

// withReductions leaves out of list what the reductions of d combine in memory, which each iteration has copies of, and adds what is
// written in these places when the loop ends.
func withReductions(list []accessForm, d *ir.Directive) []accessForm {
	if d == nil {
		return list
	}
	for _, r := range d.Reductions {
		for _, place := range []ir.Expr{r.Place, r.Index} {
			root, form := memoryOf(place)
			if root == nil {
				continue
			}
			list = slices.DeleteFunc(slices.Clone(list), func(a accessForm) bool {
				return a.root == root && (root.Type.Kind == ir.Pointer || a.known && a.form.Equal(form))
			})
			list = append(list, accessForm{root: root, kinds: kindsOf(place.Type()), form: form, known: form.Known(), write: true, atomic: true, at: r.At})
		}
	}
	return list
}

// memoryOf returns the pointer or slice through which place e is reached, and the element; nil where it is a variable's own memory.
func memoryOf(e ir.Expr) (*ir.Var, Affine) {
	switch e := e.(type) {
	case *ir.Deref:
		return refVar(e.X), Affine{}
	case *ir.Member:
		return memoryOf(e.X)
	case *ir.Reslice:
		return memoryOf(e.X)
	case *ir.Index:
		if e.X.Type().Kind == ir.Slice {
			form, _ := affineOf(e.I)
			return refVar(e.X), form
		}
		return memoryOf(e.X)
	}
	return nil, Affine{}
}

// atomicsIn returns the atomics of list and of the functions that it calls.
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

// commute reports whether the atomics do the same in every order: updates whose operators are of one kind. The sum of floats may
// differ in its last bits, as a reduction does.
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

// updatedAlone reports whether list does nothing with variable v but update it by atomics that commute.
func updatedAlone(list []ir.Stmt, v *ir.Var) bool {
	uses, updates := 0, 0
	ir.Inspect(list, func(s ir.Stmt) {
		if a, ok := s.(*ir.Atomic); ok && ir.RootVar(a.Place) == v && a.Kind == ir.AtomicUpdate {
			updates++
		}
		if d := ir.DirectiveOf(s); d != nil && copied(d, v) {
			uses++
		}
	}, func(e ir.Expr) {
		if r, ok := e.(*ir.Ref); ok && r.Var == v {
			uses++
		}
	})
	return updates > 0 && uses == updates && commute(atomicsIn(list))
}

// carriedLast returns why the last value of a lastprivate variable of d depends on more than the last iteration of body.
func carriedLast(body []ir.Stmt, d *ir.Directive) string {
	for _, v := range d.Lastprivate {
		flow := &privateFlow{nestingCheck: &nestingCheck{}, v: v, d: d}
		if end := flow.stmts(body, unassigned); end != assigned || flow.warned {
			return "not every iteration assigns to " + v.Name + " before it reads it"
		}
	}
	return ""
}
