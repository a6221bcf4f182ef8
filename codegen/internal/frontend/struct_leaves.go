package frontend

import (
	"slices"

	"github.com/gompss/gompss/codegen/ir"
	"github.com/gompss/gompss/codegen/ir/query"
)

// A struct that holds slices or pointers is no value on a device: a kernel has a variable for each
// of its leaves instead (ir.Leaves), for parameters of the Go function as for locals and what
// helpers take and return. What is built has the structs; splitStructs, behind the last body,
// replaces them, so that no analysis and no target knows of them.
//
// Source: Muchnick, Advanced Compiler Design and Implementation, 1997, section 12.2 (scalar
// replacement of aggregates); differs: the leaves of a field without slices and pointers stay
// together.

// leavesOf returns the variables for the leaves of v, a variable that is split.
func (u *unit) leavesOf(v *ir.Var) []*ir.Var {
	if out := u.leaves[v]; out != nil {
		return out
	}
	var out []*ir.Var
	for _, l := range ir.Leaves(v.Type) {
		c := &ir.Var{Name: v.Name + "." + l.Name, Type: l.Type, Space: v.Space, ID: u.k.NumVars, At: v.At}
		u.k.NumVars++
		u.taken[c], u.fixed[c] = u.taken[v], u.fixed[v]
		out = append(out, c)
	}
	u.leaves[v] = out
	return out
}

// splitVars returns list with the leaves of variables in place of those that are split.
func (u *unit) splitVars(list []*ir.Var) []*ir.Var {
	if !slices.ContainsFunc(list, func(v *ir.Var) bool { return v != nil && ir.IsSplit(v.Type) }) {
		return list
	}
	var out []*ir.Var
	for _, v := range list {
		if v != nil && ir.IsSplit(v.Type) {
			out = append(out, u.leavesOf(v)...)
			continue
		}
		out = append(out, v)
	}
	return out
}

// ofLeaves returns e, which is not of a type that is split, over the leaves.
func (u *unit) ofLeaves(e ir.Expr) ir.Expr {
	if !u.splits {
		return e
	}
	return (&ir.Rewrite{Expr: u.leafExpr}).CopyExpr(e)
}

// splitStructs leaves no variable in the kernel that is split.
func (u *unit) splitStructs() {
	if !u.splits {
		return
	}
	u.rewriteAll(&ir.Rewrite{Expr: u.leafExpr, Stmt: u.leafStmt})
	for _, f := range u.k.Funcs {
		f.Params = u.splitVars(f.Params)
		f.Results = leafTypes(f.Results)
	}
	for i, v := range u.k.Params {
		if ir.IsSplit(v.Type) {
			first := len(u.splitVars(u.k.Params[:i]))
			u.k.Structs = append(u.k.Structs, ir.StructParam{Name: v.Name, Type: v.Type, First: first})
		}
	}
	u.k.Params = u.splitVars(u.k.Params)
}

// leafTypes returns list with the types of leaves in place of those that are split.
func leafTypes(list []*ir.Type) []*ir.Type {
	var out []*ir.Type
	for _, t := range list {
		for _, l := range ir.Leaves(t) {
			out = append(out, l.Type)
		}
	}
	return out
}

// leafExpr replaces a part of a struct that is split, where it is a leaf, by the leaf's variable or
// value.
func (u *unit) leafExpr(e ir.Expr) ir.Expr {
	m, ok := e.(*ir.Member)
	if !ok || ir.IsSplit(m.Type()) || !ir.IsSplit(m.X.Type()) {
		return e
	}
	first := 0
	for _, f := range m.X.Type().Fields[:m.Field] {
		first += len(ir.Leaves(f.Type))
	}
	leaf := u.leafValues(m.X)[first]
	if ref, ok := leaf.(*ir.Ref); ok {
		return &ir.Ref{Var: ref.Var, At: e.Pos()}
	}
	return leaf
}

// leafValues returns the leaves of e, of any type; one that could not be built has such leaves.
func (u *unit) leafValues(e ir.Expr) []ir.Expr {
	t := e.Type()
	if !ir.IsSplit(t) {
		return []ir.Expr{e}
	}
	var out []ir.Expr
	switch e := e.(type) {
	case *ir.Ref:
		if e.Var.Name == query.HoleName {
			break
		}
		for _, v := range u.leavesOf(e.Var) {
			out = append(out, &ir.Ref{Var: v, At: e.At})
		}
		return out
	case *ir.Member:
		first := 0
		for _, f := range e.X.Type().Fields[:e.Field] {
			first += len(ir.Leaves(f.Type))
		}
		return u.leafValues(e.X)[first : first+len(ir.Leaves(t))]
	case *ir.Composite:
		for _, x := range e.Elems {
			out = append(out, u.leafValues(x)...)
		}
		return out
	}
	for _, l := range ir.Leaves(t) {
		out = append(out, query.BadValue(l.Type, e.Pos()))
	}
	return out
}

// splitValues returns list with the leaves of values in place of those that are split.
func (u *unit) splitValues(list []ir.Expr) []ir.Expr {
	var out []ir.Expr
	for _, e := range list {
		out = append(out, u.leafValues(e)...)
	}
	return out
}

// leafStmt replaces a statement on structs that are split by those on their leaves.
func (u *unit) leafStmt(s ir.Stmt) []ir.Stmt {
	if d := ir.DirectiveOf(s); d != nil {
		for _, list := range []*[]*ir.Var{&d.Private, &d.Firstprivate, &d.Lastprivate, &d.Shared} {
			*list = u.splitVars(*list)
		}
		if len(d.Firstprivate) > 0 {
			u.dropUnchanged(s, d)
		}
	}
	switch s := s.(type) {
	case *ir.Decl:
		if ir.IsSplit(s.Var.Type) {
			return u.leafDecls(s)
		}
	case *ir.Assign:
		if ir.IsSplit(s.Place.Type()) {
			return u.leafAssigns(s)
		}
	case *ir.Call:
		s.Args, s.Results = u.splitValues(s.Args), u.leafResults(s)
	case *ir.Return:
		s.Results = u.splitValues(s.Results)
	}
	return []ir.Stmt{s}
}

// dropUnchanged takes leaves that s does not change out of the firstprivate clause: a copy of such
// a slice says no more than itself.
func (u *unit) dropUnchanged(s ir.Stmt, d *ir.Directive) {
	leaves := map[*ir.Var]bool{}
	for _, list := range u.leaves {
		for _, v := range list {
			leaves[v] = true
		}
	}
	changed, taken := ir.Assigned([]ir.Stmt{s}), ir.AddressTaken([]ir.Stmt{s})
	d.Firstprivate = slices.DeleteFunc(d.Firstprivate, func(v *ir.Var) bool {
		return leaves[v] && query.IsAddress(v.Type) && !changed.Has(v) && !taken.Has(v) && !slices.Contains(d.Lastprivate, v)
	})
}

func (u *unit) leafDecls(s *ir.Decl) []ir.Stmt {
	var values []ir.Expr
	if s.Init != nil {
		values = u.leafValues(s.Init)
	}
	var out []ir.Stmt
	for i, v := range u.leavesOf(s.Var) {
		d := &ir.Decl{Var: v, At: s.At}
		if values != nil {
			d.Init = values[i]
		}
		out = append(out, d)
	}
	return out
}

// leafAssigns assigns leaf by leaf; where the values read leaves of the place, all are computed
// before.
func (u *unit) leafAssigns(s *ir.Assign) []ir.Stmt {
	places, values := u.leafValues(s.Place), u.leafValues(s.Value)
	var first, then []ir.Stmt
	for i, p := range places {
		v := values[i]
		if loadsMemory(v) || readsAny(v, places) {
			t := &ir.Var{Name: "value", Type: v.Type(), Space: ir.Local, ID: u.k.NumVars, At: s.At}
			u.k.NumVars++
			first = append(first, &ir.Decl{Var: t, Init: v, At: s.At})
			v = &ir.Ref{Var: t, At: s.At}
		}
		then = append(then, &ir.Assign{Place: p, Value: v, At: s.At})
	}
	return append(first, then...)
}

// readsAny reports whether e reads one of the variables that places are.
func readsAny(e ir.Expr, places []ir.Expr) bool {
	vars := ir.ExprVars(e)
	return slices.ContainsFunc(places, func(p ir.Expr) bool { v := ir.RootVar(p); return v != nil && vars.Has(v) })
}

// leafResults returns where the results of a call go, nil for those that are dropped.
func (u *unit) leafResults(s *ir.Call) []*ir.Var {
	var out []*ir.Var
	for i, t := range s.Fn.Results {
		switch v := s.Results[i]; {
		case v == nil:
			out = append(out, make([]*ir.Var, len(ir.Leaves(t)))...)
		default:
			out = append(out, u.splitVars([]*ir.Var{v})...)
		}
	}
	return out
}
