// Package guarded rewrites straight code in which comparisons of indices guard loads, as a stencil
// guards the neighbours of its boundary.
//
// Each distinct comparison becomes a variable, and each distinct load becomes a variable too: it
// loads once, under the conditions of all its uses. What remains under a guard is arithmetic, which
// device compilers predicate instead of branching. Neighbours in memory load together, so that
// device compilers merge them into wide loads. The operations and their order stay as they are.
//
// Invariants: a load moves only before loads and arithmetic, never before a store; it executes only
// if one of its uses executes.
package guarded

import (
	"math/bits"
	"slices"

	"github.com/gompss/gompss/codegen/internal/analysis"
	"github.com/gompss/gompss/codegen/internal/analysis/affine"
	"github.com/gompss/gompss/codegen/ir"
	"github.com/gompss/gompss/codegen/ir/build"
	"github.com/gompss/gompss/codegen/ir/query"
)

// maxGuards is the largest number of distinct comparisons: the bits of a guard.
const maxGuards = 64

// Code is straight code and what holds before it.
type Code struct {
	Given []affine.Form                                    // forms that are not negative
	Local func(name string, t *ir.Type, at ir.Pos) *ir.Var // declares a variable of the kernel

	defs    map[*ir.Var]affine.Form // affine values of variables that never change
	changed *ir.VarSet              // variables that are not available at the begin of the code
	tests   []test
}

// A test is a comparison, as a form that is not negative where it holds, and the variable that
// holds its value.
type test struct {
	form  affine.Form
	value *ir.Var
	at    ir.Pos
}

// A guard is a set of tests, a bit for each.
type guard uint64

// An item is statements under one guard, or one statement that stays as it is.
type item struct {
	when   guard
	list   []ir.Stmt
	opaque bool // the guard of list is not known
	at     ir.Pos
}

// A load is a distinct element that the code loads.
type load struct {
	e     *ir.Index
	form  affine.Form
	when  []guard // one of them holds where the element is used; none contains another
	value *ir.Var // nil before it is loaded
}

// LessForm returns the affine form that is non-negative if and only if the comparison c holds.
func LessForm(c *ir.Binary) (affine.Form, bool) {
	x, okx := affine.Of(c.X)
	y, oky := affine.Of(c.Y)
	if !okx || !oky || c.X.Type().Kind != ir.Int64 {
		return affine.Form{}, false
	}
	switch c.Op {
	case ir.Lt:
		return y.Sub(x).AddConst(-1), true
	case ir.Le:
		return y.Sub(x), true
	case ir.Gt:
		return x.Sub(y).AddConst(-1), true
	case ir.Ge:
		return x.Sub(y), true
	}
	return affine.Form{}, false
}

// Once returns list, which begins with declarations, with each load named once.
//
// Cost: O(n * m) for n statements and m distinct loads.
func (c *Code) Once(list []ir.Stmt) []ir.Stmt {
	first := slices.IndexFunc(list, func(s ir.Stmt) bool { _, ok := s.(*ir.Decl); return !ok })
	if first < 0 {
		return list
	}
	c.defs, c.changed = map[*ir.Var]affine.Form{}, ir.Declared(list[first:])
	for _, v := range ir.Assigned(list).List() {
		c.changed.Add(v)
	}
	for _, s := range list[:first] {
		d := s.(*ir.Decl)
		if d.Init != nil && d.Var.Type.Kind == ir.Int64 && !c.changed.Has(d.Var) && query.LoadFree(d.Init) {
			if form, ok := affine.Of(d.Init); ok {
				c.defs[d.Var] = c.resolved(form)
			}
		}
	}
	for k, form := range c.Given {
		c.Given[k] = c.resolved(form)
	}
	items := c.items(list[first:], 0)
	out := slices.Clone(list[:first])
	for _, t := range c.tests {
		out = append(out, build.Decl(t.value, analysis.NotNegativeTest(t.form, t.at), t.at))
	}
	for len(items) > 0 {
		n := slices.IndexFunc(items, stores)
		if n < 0 {
			n = len(items) - 1
		}
		out = append(out, c.between(items[:n+1])...)
		items = items[n+1:]
	}
	return out
}

// resolved returns form over variables without an affine definition.
func (c *Code) resolved(form affine.Form) affine.Form {
	for _, a := range form.Atoms() {
		if by, ok := c.defs[a.Var]; ok && form.Known() {
			if _, linear := form.Coef(a.Var); linear {
				form = form.Subst(a.Var, by)
			}
		}
	}
	return form
}

// items divides list, which runs under the guard when, by guards.
func (c *Code) items(list []ir.Stmt, when guard) []item {
	var out []item
	for _, s := range list {
		switch s := s.(type) {
		case *ir.Decl, *ir.Assign:
			if k := len(out) - 1; k >= 0 && when != 0 && out[k].when == when && !out[k].opaque {
				out[k].list = append(out[k].list, s)
				continue
			}
			out = append(out, item{when: when, list: []ir.Stmt{s}, at: s.Pos()})
		case *ir.If:
			more, ok := c.guardOf(s.Cond)
			if !ok || len(s.Else) > 0 || !onlyAssigns(s.Then) {
				out = append(out, item{when: when, list: []ir.Stmt{s}, opaque: true, at: s.At})
				continue
			}
			out = append(out, c.items(s.Then, when|more)...)
		default:
			out = append(out, item{when: when, list: []ir.Stmt{s}, opaque: true, at: s.Pos()})
		}
	}
	return out
}

// onlyAssigns reports whether list has only assignments, and branches over them.
func onlyAssigns(list []ir.Stmt) bool {
	for _, s := range list {
		switch s := s.(type) {
		case *ir.Assign:
		case *ir.If:
			if !onlyAssigns(s.Then) || !onlyAssigns(s.Else) {
				return false
			}
		default:
			return false
		}
	}
	return true
}

// guardOf returns the tests in the conjunction cond that do not always hold. It reports false if a
// part of cond is no comparison of affine forms over variables that are available at the begin.
func (c *Code) guardOf(cond ir.Expr) (guard, bool) {
	e, ok := cond.(*ir.Binary)
	if !ok {
		return 0, false
	}
	if e.Op == ir.LAnd {
		x, okx := c.guardOf(e.X)
		y, oky := c.guardOf(e.Y)
		return x | y, okx && oky
	}
	form, ok := LessForm(e)
	if !ok {
		return 0, false
	}
	form = c.resolved(form)
	if slices.ContainsFunc(form.Atoms(), func(a affine.Atom) bool { return c.changed.Has(a.Var) }) {
		return 0, false
	}
	for _, g := range c.Given {
		if more, isConst := form.Sub(g).Const(); isConst && more >= 0 {
			return 0, true
		}
	}
	if n, isConst := form.Const(); isConst && n >= 0 {
		return 0, true
	}
	for k, t := range c.tests {
		if t.form.Equal(form) {
			return 1 << k, true
		}
	}
	if len(c.tests) == maxGuards {
		return 0, false
	}
	c.tests = append(c.tests, test{form: form, value: c.Local("inside", ir.BoolType, e.At), at: e.At})
	return 1 << (len(c.tests) - 1), true
}

// stores reports whether x may change memory.
func stores(x item) bool {
	found := false
	ir.WalkStmts(x.list, func(s ir.Stmt) bool {
		switch s := s.(type) {
		case *ir.Decl, *ir.If:
		case *ir.Assign:
			found = found || !query.IsRef(s.Place)
		default:
			found = true
		}
		return !found
	})
	return found
}

// between returns items, of which the last one alone may store, with their loads named.
func (c *Code) between(items []item) []ir.Stmt {
	var loads []*load
	for _, x := range items {
		c.eachLoad(x, func(ix *ir.Index) {
			l := c.find(loads, ix)
			if l == nil {
				form, _ := affine.Of(ix.I)
				l = &load{e: ix, form: c.resolved(form)}
				loads = append(loads, l)
			}
			l.when = weakest(l.when, x.when)
		})
	}
	var out []ir.Stmt
	for _, x := range items {
		c.eachLoad(x, func(ix *ir.Index) {
			if l := c.find(loads, ix); l != nil && l.value == nil {
				out = append(out, c.loaded(run(loads, l))...)
			}
		})
		list := x.list
		if !x.opaque {
			named := map[*ir.Index]*ir.Var{}
			c.eachLoad(x, func(ix *ir.Index) {
				if l := c.find(loads, ix); l != nil {
					named[ix] = l.value
				}
			})
			list = withNames(list, named)
		}
		if x.when != 0 {
			list = []ir.Stmt{&ir.If{Cond: c.holds(x.when, x.at), Then: list, At: x.at}}
		}
		out = append(out, list...)
	}
	return out
}

// withNames returns list with variables in place of loads.
func withNames(list []ir.Stmt, named map[*ir.Index]*ir.Var) []ir.Stmt {
	if len(named) == 0 {
		return list
	}
	r := &ir.Rewrite{Instead: func(e ir.Expr) ir.Expr {
		if ix, ok := e.(*ir.Index); ok && named[ix] != nil {
			return build.Ref(named[ix], ix.At)
		}
		return nil
	}}
	return r.CopyStmts(list)
}

// weakest adds g to list, in which no guard contains another.
func weakest(list []guard, g guard) []guard {
	if slices.ContainsFunc(list, func(h guard) bool { return h&^g == 0 }) {
		return list
	}
	list = slices.DeleteFunc(slices.Clone(list), func(h guard) bool { return g&^h == 0 })
	list = append(list, g)
	slices.Sort(list)
	return list
}

// eachLoad calls f for the loads of elements that x executes for certain under its guard.
func (c *Code) eachLoad(x item, f func(*ir.Index)) {
	if x.opaque {
		return
	}
	visit := func(e ir.Expr) {
		ir.WalkExpr(e, func(e ir.Expr) bool {
			switch e := e.(type) {
			case *ir.Select:
				return false
			case *ir.Binary:
				return e.Op != ir.LAnd && e.Op != ir.LOr
			case *ir.Index:
				if c.movable(e) {
					f(e)
					return false
				}
			}
			return true
		})
	}
	for _, s := range x.list {
		switch s := s.(type) {
		case *ir.Decl:
			if s.Init != nil {
				visit(s.Init)
			}
		case *ir.Assign:
			visit(s.Value)
			if ix, ok := s.Place.(*ir.Index); ok {
				visit(ix.I)
			}
		}
	}
}

// movable reports whether ix loads a scalar of a slice whose index is available at the begin.
func (c *Code) movable(ix *ir.Index) bool {
	if ix.Checked || !query.IsRef(ix.X) || ix.X.Type().Kind != ir.Slice || !ix.Type().IsScalar() || !query.LoadFree(ix.I) || query.Checks(ix.I) {
		return false
	}
	return !slices.ContainsFunc(ir.ExprVars(ix).List(), c.changed.Has)
}

// find returns the load of loads for the element ix, or nil.
func (c *Code) find(loads []*load, ix *ir.Index) *load {
	form, ok := affine.Of(ix.I)
	if ok {
		form = c.resolved(form)
	}
	for _, l := range loads {
		if query.Same(l.e.X, ix.X) && (query.Same(l.e.I, ix.I) || ok && l.form.Known() && form.Known() && len(l.form.Terms) > 0 && l.form.Equal(form)) {
			return l
		}
	}
	return nil
}

// run returns l and the loads of loads that are not loaded yet, have the conditions of l, and are
// neighbours of each other in memory, in the order of their elements.
func run(loads []*load, l *load) []*load {
	out := []*load{l}
	for k := 0; k < len(out); k++ {
		for _, x := range loads {
			if x.value != nil || slices.Contains(out, x) || !query.Same(x.e.X, l.e.X) || !slices.Equal(x.when, l.when) {
				continue
			}
			if n, ok := distance(x, out[k]); ok && (n == 1 || n == -1) {
				out = append(out, x)
			}
		}
	}
	slices.SortStableFunc(out, func(a, b *load) int {
		n, _ := distance(a, b)
		return int(n)
	})
	return out
}

// distance returns how many elements a is behind b, if that is a constant.
func distance(a, b *load) (int64, bool) {
	if !a.form.Known() || !b.form.Known() || len(a.form.Terms) == 0 || len(b.form.Terms) == 0 {
		return 0, false
	}
	n, ok := a.form.Sub(b.form).Const()
	return n, ok && n > -maxGuards && n < maxGuards
}

// loaded declares the variables of loads, which have the same conditions.
func (c *Code) loaded(loads []*load) []ir.Stmt {
	var out, then []ir.Stmt
	always := slices.Contains(loads[0].when, 0)
	for _, l := range loads {
		at := l.e.At
		l.value = c.Local("near", l.e.Type(), at)
		if always {
			out = append(out, build.Decl(l.value, l.e, at))
			continue
		}
		out = append(out, build.Decl(l.value, build.Zero(l.e.Type(), at), at))
		then = append(then, build.Assign(build.Ref(l.value, at), l.e, at))
	}
	if always {
		return out
	}
	at := loads[0].e.At
	var cond ir.Expr
	for _, g := range loads[0].when {
		if all := c.holds(g, at); cond == nil {
			cond = all
		} else {
			cond = build.Compare(ir.LOr, cond, all, at)
		}
	}
	return append(out, &ir.If{Cond: cond, Then: then, At: at})
}

// holds returns the conjunction of the tests of g, which is not empty.
func (c *Code) holds(g guard, at ir.Pos) ir.Expr {
	var out ir.Expr
	for ; g != 0; g &= g - 1 {
		one := ir.Expr(build.Ref(c.tests[bits.TrailingZeros64(uint64(g))].value, at))
		if out == nil {
			out = one
		} else {
			out = build.Compare(ir.LAnd, out, one, at)
		}
	}
	return out
}
