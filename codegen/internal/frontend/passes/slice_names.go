package passes

import (
	"slices"

	"github.com/gompss/gompss/codegen/internal/frontend/scope"
	"github.com/gompss/gompss/codegen/ir"
	"github.com/gompss/gompss/codegen/ir/query"
)

// This pass gives a slice or pointer variable a new name at each further assignment, such as
// d = x[k:]. The analyses only follow variables that keep their value; after the pass they know to
// which memory each name refers. If the assignment is nested deeper than the declaration, the
// variable keeps its name, and may refer to any memory that is assigned to it anywhere (origins). A
// parameter of the kernel always keeps its value: code that assigns to a parameter works on a copy.
//
// Source: Cytron, Ferrante, Rosen, Wegman, Zadeck, Efficiently Computing Static Single Assignment
// Form and the Control Dependence Graph, 1991, section 1.1 (straight-line code); differs: no phi
// functions.

// NameSlices renames the slices and pointers of the kernel and of its functions.
func (u *Pass) NameSlices() {
	u.Kernel.Body = u.renamedBody(u.Kernel.Params, u.Kernel.Body)
	for _, f := range u.Kernel.Funcs {
		f.Body = u.renamedBody(f.Params, f.Body)
	}
	changed := ir.Assigned(u.Kernel.Body)
	own := map[*ir.Var]*ir.Var{}
	var copies []ir.Stmt
	for _, v := range u.Kernel.Params {
		if query.IsAddress(v.Type) && changed.Has(v) {
			own[v] = u.anew(v)
			copies = append(copies, &ir.Decl{Var: own[v], Init: &ir.Ref{Var: v, At: v.At}, At: v.At})
		}
	}
	if len(own) > 0 {
		u.Kernel.Body = append(copies, renaming(own).CopyStmts(u.Kernel.Body)...)
	}
}

func (u *Pass) renamedBody(params []*ir.Var, body []ir.Stmt) []ir.Stmt {
	if !assignsAddress(body) {
		return body
	}
	body = u.renamed(slices.DeleteFunc(slices.Clone(params), func(v *ir.Var) bool { return !query.IsAddress(v.Type) }), body)
	used := ir.Used(body)
	return (&ir.Rewrite{Stmt: func(s ir.Stmt) []ir.Stmt {
		if d, ok := s.(*ir.Decl); ok && query.IsAddress(d.Var.Type) && !used.Has(d.Var) && (d.Init == nil || !scope.MayFail(d.Init)) {
			return nil // every use of the variable now has another name
		}
		return []ir.Stmt{s}
	}}).CopyStmts(body)
}

func assignsAddress(body []ir.Stmt) bool {
	found := false
	ir.WalkStmts(body, func(s ir.Stmt) bool {
		a, ok := s.(*ir.Assign)
		found = found || ok && query.RefVar(a.Place) != nil && query.IsAddress(a.Place.Type())
		return !found
	})
	return found
}

// anew returns a local variable with the name and type of v.
func (u *Pass) anew(v *ir.Var) *ir.Var {
	c := *v
	c.Space, c.ID = ir.Local, u.Kernel.NumVars
	u.Kernel.NumVars++
	return &c
}

func renaming(with map[*ir.Var]*ir.Var) *ir.Rewrite {
	return &ir.Rewrite{Var: func(v *ir.Var) *ir.Var {
		if c := with[v]; c != nil {
			return c
		}
		return v
	}}
}

// renamed replaces each assignment directly in list by the declaration of a new variable, which the
// following statements use. It renames vars, which are declared outside list, and the slices and
// pointers that list declares.
func (u *Pass) renamed(vars []*ir.Var, list []ir.Stmt) []ir.Stmt {
	now := map[*ir.Var]*ir.Var{}
	for _, v := range vars {
		now[v] = v
	}
	return u.renamedFrom(now, list)
}

// renamedFrom is renamed where the variables have the names of now, which it updates.
func (u *Pass) renamedFrom(now map[*ir.Var]*ir.Var, list []ir.Stmt) []ir.Stmt {
	r := renaming(now)
	out := make([]ir.Stmt, 0, len(list))
	for len(list) > 0 {
		s := list[0]
		list = list[1:]
		if block, ok := s.(*ir.Block); ok && block.Label == nil && assignsOneOf(block.Body, now) {
			list = append(slices.Clone(block.Body), list...)
			continue
		}
		if d, ok := s.(*ir.Decl); ok && query.IsAddress(d.Var.Type) {
			now[d.Var] = d.Var
		}
		if a, ok := s.(*ir.Assign); ok {
			if v := query.RefVar(a.Place); v != nil && now[v] != nil {
				value := r.CopyExpr(a.Value)
				now[v] = u.anew(v)
				out = append(out, &ir.Decl{Var: now[v], Init: value, At: a.At})
				continue
			}
		}
		out = append(out, u.renamedInside(r.CopyStmt(s)[0]))
	}
	return out
}

// assignsOneOf reports whether a statement directly in list assigns to a variable that is a key of
// vars.
func assignsOneOf(list []ir.Stmt, vars map[*ir.Var]*ir.Var) bool {
	return slices.ContainsFunc(list, func(s ir.Stmt) bool {
		if b, ok := s.(*ir.Block); ok && b.Label == nil {
			return assignsOneOf(b.Body, vars)
		}
		a, ok := s.(*ir.Assign)
		return ok && vars[query.RefVar(a.Place)] != nil
	})
}

// renamedInside renames variables in the statement lists of s.
func (u *Pass) renamedInside(s ir.Stmt) ir.Stmt {
	switch s := s.(type) {
	case *ir.If:
		s.Then, s.Else = u.renamed(nil, s.Then), u.renamed(nil, s.Else)
	case *ir.Block:
		s.Body = u.renamed(nil, s.Body)
	case *ir.While:
		s.Body = u.renamed(nil, s.Body)
	case *ir.For:
		now := map[*ir.Var]*ir.Var{}
		if second := secondPhase(s); second != nil { // a block still, with the names of the first phase
			first := u.renamedFrom(now, s.Body[:len(s.Body)-1])
			second.Body = u.renamedFrom(now, second.Body)
			s.Body = append(first, second)
			break
		}
		s.Body = u.renamedFrom(now, s.Body)
	case *ir.Construct:
		s.Body = u.renamed(nil, s.Body)
	}
	return s
}
