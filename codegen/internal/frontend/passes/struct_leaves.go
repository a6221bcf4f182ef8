package passes

import (
	"slices"

	"github.com/gompss/gompss/codegen/internal/frontend/scope"
	"github.com/gompss/gompss/codegen/ir"
	"github.com/gompss/gompss/codegen/ir/query"
)

// SplitStructs leaves no variable in the kernel that is split.
func (u *Pass) SplitStructs() {
	if !u.Splits {
		return
	}
	u.RewriteAll(&ir.Rewrite{Expr: u.LeafExpr, Stmt: u.leafStmt})
	for _, f := range u.Kernel.Funcs {
		f.Params = u.SplitVars(f.Params)
		f.Results = leafTypes(f.Results)
	}
	for i, v := range u.Kernel.Params {
		if ir.IsSplit(v.Type) {
			first := len(u.SplitVars(u.Kernel.Params[:i]))
			u.Kernel.Structs = append(u.Kernel.Structs, ir.StructParam{Name: v.Name, Type: v.Type, First: first})
		}
	}
	if l := u.Kernel.Task.Loop; l != nil {
		l.Lo, l.Hi = len(u.SplitVars(u.Kernel.Params[:l.Lo])), len(u.SplitVars(u.Kernel.Params[:l.Hi]))
	}
	u.Kernel.Params = u.SplitVars(u.Kernel.Params)
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

// splitValues returns list with the leaves of values in place of those that are split.
func (u *Pass) splitValues(list []ir.Expr) []ir.Expr {
	var out []ir.Expr
	for _, e := range list {
		out = append(out, u.LeafValues(e)...)
	}
	return out
}

// leafStmt replaces a statement on structs that are split by those on their leaves.
func (u *Pass) leafStmt(s ir.Stmt) []ir.Stmt {
	if d := ir.DirectiveOf(s); d != nil {
		for _, list := range []*[]*ir.Var{&d.Private, &d.Firstprivate, &d.Lastprivate, &d.Shared} {
			*list = u.SplitVars(*list)
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
func (u *Pass) dropUnchanged(s ir.Stmt, d *ir.Directive) {
	leaves := map[*ir.Var]bool{}
	for _, list := range u.Leaves {
		for _, v := range list {
			leaves[v] = true
		}
	}
	changed, taken := ir.Assigned([]ir.Stmt{s}), ir.AddressTaken([]ir.Stmt{s})
	d.Firstprivate = slices.DeleteFunc(d.Firstprivate, func(v *ir.Var) bool {
		return leaves[v] && query.IsAddress(v.Type) && !changed.Has(v) && !taken.Has(v) && !slices.Contains(d.Lastprivate, v)
	})
}

func (u *Pass) leafDecls(s *ir.Decl) []ir.Stmt {
	var values []ir.Expr
	if s.Init != nil {
		values = u.LeafValues(s.Init)
	}
	var out []ir.Stmt
	for i, v := range u.LeavesOf(s.Var) {
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
func (u *Pass) leafAssigns(s *ir.Assign) []ir.Stmt {
	places, values := u.LeafValues(s.Place), u.LeafValues(s.Value)
	var first, then []ir.Stmt
	for i, p := range places {
		v := values[i]
		if scope.LoadsMemory(v) || readsAny(v, places) {
			t := &ir.Var{Name: "value", Type: v.Type(), Space: ir.Local, ID: u.Kernel.NumVars, At: s.At}
			u.Kernel.NumVars++
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
func (u *Pass) leafResults(s *ir.Call) []*ir.Var {
	var out []*ir.Var
	for i, t := range s.Fn.Results {
		switch v := s.Results[i]; {
		case v == nil:
			out = append(out, make([]*ir.Var, len(ir.Leaves(t)))...)
		default:
			out = append(out, u.SplitVars([]*ir.Var{v})...)
		}
	}
	return out
}
