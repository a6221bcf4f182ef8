package scope

import (
	"slices"

	"github.com/gompss/gompss/codegen/ir"
	"github.com/gompss/gompss/codegen/ir/query"
)

// A struct with slices or pointers is not a value on a device. A kernel has a variable for each of
// its leaves instead (ir.Leaves): for parameters of the Go function, locals, and parameters and
// results of helpers. The builder makes the structs, and SplitStructs replaces them after the last
// body is built, so analyses and targets do not see them.
//
// Source: Muchnick, Advanced Compiler Design and Implementation, 1997, section 12.2 (scalar
// replacement of aggregates); differs: the leaves of a field without slices and pointers stay
// together.

// LeavesOf returns the variables for the leaves of v, a variable that is split.
func (u *Unit) LeavesOf(v *ir.Var) []*ir.Var {
	if out := u.Leaves[v]; out != nil {
		return out
	}
	var out []*ir.Var
	for _, l := range ir.Leaves(v.Type) {
		c := &ir.Var{Name: v.Name + "." + l.Name, Type: l.Type, Space: v.Space, ID: u.Kernel.NumVars, At: v.At}
		u.Kernel.NumVars++
		u.Taken[c], u.Fixed[c] = u.Taken[v], u.Fixed[v]
		out = append(out, c)
	}
	u.Leaves[v] = out
	return out
}

// SplitVars returns list with the leaves of variables in place of those that are split.
func (u *Unit) SplitVars(list []*ir.Var) []*ir.Var {
	if !slices.ContainsFunc(list, func(v *ir.Var) bool { return v != nil && ir.IsSplit(v.Type) }) {
		return list
	}
	var out []*ir.Var
	for _, v := range list {
		if v != nil && ir.IsSplit(v.Type) {
			out = append(out, u.LeavesOf(v)...)
			continue
		}
		out = append(out, v)
	}
	return out
}

// OfLeaves returns e, which is not of a type that is split, over the leaves.
func (u *Unit) OfLeaves(e ir.Expr) ir.Expr {
	if !u.Splits {
		return e
	}
	return (&ir.Rewrite{Expr: u.LeafExpr}).CopyExpr(e)
}

// LeafExpr replaces a part of a struct that is split, where it is a leaf, by the leaf's variable or
// value.
func (u *Unit) LeafExpr(e ir.Expr) ir.Expr {
	m, ok := e.(*ir.Member)
	if !ok || ir.IsSplit(m.Type()) || !ir.IsSplit(m.X.Type()) {
		return e
	}
	first := 0
	for _, f := range m.X.Type().Fields[:m.Field] {
		first += len(ir.Leaves(f.Type))
	}
	leaf := u.LeafValues(m.X)[first]
	if ref, ok := leaf.(*ir.Ref); ok {
		return &ir.Ref{Var: ref.Var, At: e.Pos()}
	}
	return leaf
}

// LeafValues returns the leaves of e, of any type; one that could not be built has such leaves.
func (u *Unit) LeafValues(e ir.Expr) []ir.Expr {
	t := e.Type()
	if !ir.IsSplit(t) {
		return []ir.Expr{e}
	}
	var out []ir.Expr
	switch e := e.(type) {
	case *ir.Ref:
		if e.Var.Name == query.BadName {
			break
		}
		for _, v := range u.LeavesOf(e.Var) {
			out = append(out, &ir.Ref{Var: v, At: e.At})
		}
		return out
	case *ir.Member:
		first := 0
		for _, f := range e.X.Type().Fields[:e.Field] {
			first += len(ir.Leaves(f.Type))
		}
		return u.LeafValues(e.X)[first : first+len(ir.Leaves(t))]
	case *ir.Composite:
		for _, x := range e.Elems {
			out = append(out, u.LeafValues(x)...)
		}
		return out
	}
	for _, l := range ir.Leaves(t) {
		out = append(out, query.BadValue(l.Type, e.Pos()))
	}
	return out
}
