package codegen

import (
	"slices"

	"github.com/gompss/gompss/codegen/ir"
)

// A slice or pointer variable that is assigned again, d = x[k:], gets a new name there, so that what it refers to is known: the analyses
// follow variables that keep their value. Where the assignment stands deeper than the declaration, the variable stays one, and may refer to
// any memory that it is given anywhere (origins). A parameter of the kernel always keeps its value: code that assigns to one works on a copy.
//
// Source: Cytron, Ferrante, Rosen, Wegman, Zadeck, Efficiently Computing Static Single Assignment Form and the Control Dependence Graph,
// 1991, section 1.1 (straight-line code); differs: no functions at joins.

// nameSlices renames the slices and pointers of the kernel and of its functions.
func (u *unit) nameSlices() {
	u.k.Body = u.renamedBody(u.k.Params, u.k.Body)
	for _, f := range u.k.Funcs {
		f.Body = u.renamedBody(f.Params, f.Body)
	}
	changed := ir.Assigned(u.k.Body)
	own := map[*ir.Var]*ir.Var{}
	var copies []ir.Stmt
	for _, v := range u.k.Params {
		if isAddress(v.Type) && changed.Has(v) {
			own[v] = u.anew(v)
			copies = append(copies, &ir.Decl{Var: own[v], Init: &ir.Ref{Var: v, At: v.At}, At: v.At})
		}
	}
	if len(own) > 0 {
		u.k.Body = append(copies, renaming(own).CopyStmts(u.k.Body)...)
	}
}

func (u *unit) renamedBody(params []*ir.Var, body []ir.Stmt) []ir.Stmt {
	if !assignsAddress(body) {
		return body
	}
	body = u.renamed(slices.DeleteFunc(slices.Clone(params), func(v *ir.Var) bool { return !isAddress(v.Type) }), body)
	used := ir.Used(body)
	return (&ir.Rewrite{Stmt: func(s ir.Stmt) []ir.Stmt {
		if d, ok := s.(*ir.Decl); ok && isAddress(d.Var.Type) && !used.Has(d.Var) && (d.Init == nil || !mayFail(d.Init)) {
			return nil // all that was left of it has other names
		}
		return []ir.Stmt{s}
	}}).CopyStmts(body)
}

func assignsAddress(body []ir.Stmt) bool {
	found := false
	ir.WalkStmts(body, func(s ir.Stmt) bool {
		a, ok := s.(*ir.Assign)
		found = found || ok && refVar(a.Place) != nil && isAddress(a.Place.Type())
		return !found
	})
	return found
}

// anew returns a local variable of the name and type of v.
func (u *unit) anew(v *ir.Var) *ir.Var {
	c := *v
	c.Space, c.ID = ir.Local, u.k.NumVars
	u.k.NumVars++
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

// renamed gives each assignment directly in list to one of vars, which are declared outside of it, or to a slice or pointer that list
// declares, a variable of its own for what follows.
func (u *unit) renamed(vars []*ir.Var, list []ir.Stmt) []ir.Stmt {
	now := map[*ir.Var]*ir.Var{}
	for _, v := range vars {
		now[v] = v
	}
	r := renaming(now)
	out := make([]ir.Stmt, 0, len(list))
	for len(list) > 0 {
		s := list[0]
		list = list[1:]
		if block, ok := s.(*ir.Block); ok && block.Label == nil && assignsOneOf(block.Body, now) {
			list = append(slices.Clone(block.Body), list...)
			continue
		}
		if d, ok := s.(*ir.Decl); ok && isAddress(d.Var.Type) {
			now[d.Var] = d.Var
		}
		if a, ok := s.(*ir.Assign); ok {
			if v := refVar(a.Place); v != nil && now[v] != nil {
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

// assignsOneOf reports whether a statement directly in list assigns to a variable that is a key of vars.
func assignsOneOf(list []ir.Stmt, vars map[*ir.Var]*ir.Var) bool {
	return slices.ContainsFunc(list, func(s ir.Stmt) bool {
		if b, ok := s.(*ir.Block); ok && b.Label == nil {
			return assignsOneOf(b.Body, vars)
		}
		a, ok := s.(*ir.Assign)
		return ok && vars[refVar(a.Place)] != nil
	})
}

// renamedInside renames in the lists of s.
func (u *unit) renamedInside(s ir.Stmt) ir.Stmt {
	switch s := s.(type) {
	case *ir.If:
		s.Then, s.Else = u.renamed(nil, s.Then), u.renamed(nil, s.Else)
	case *ir.Block:
		s.Body = u.renamed(nil, s.Body)
	case *ir.While:
		s.Body = u.renamed(nil, s.Body)
	case *ir.For:
		s.Body = u.renamed(nil, s.Body)
	case *ir.Construct:
		s.Body = u.renamed(nil, s.Body)
	}
	return s
}

// origins are the parameters of the kernel and the arrays that slice and pointer variables may refer to, whatever the order of statements.
type origins struct {
	k       *ir.Kernel
	of      map[*ir.Var]*ir.VarSet
	changed bool
}

// originsOf returns what the local slices and pointers of k may refer to.
func originsOf(k *ir.Kernel) *origins {
	o := &origins{k: k, of: map[*ir.Var]*ir.VarSet{}, changed: true}
	for o.changed {
		o.changed = false
		for _, f := range k.Funcs {
			ir.WalkStmts(f.Body, o.stmt)
		}
		ir.WalkStmts(k.Body, o.stmt)
	}
	return o
}

func (o *origins) stmt(s ir.Stmt) bool {
	switch s := s.(type) {
	case *ir.Decl:
		o.give(s.Var, s.Init)
	case *ir.Assign:
		o.give(refVar(s.Place), s.Value)
	case *ir.Call:
		for i, a := range s.Args {
			o.give(s.Fn.Params[i], a)
		}
		for i, v := range s.Results {
			ir.WalkStmts(s.Fn.Body, func(s ir.Stmt) bool {
				if r, ok := s.(*ir.Return); ok && len(r.Results) > i {
					o.give(v, r.Results[i])
				}
				return true
			})
		}
	}
	return true
}

// give notes that v may refer to what value does.
func (o *origins) give(v *ir.Var, value ir.Expr) {
	if v == nil || value == nil || !isAddress(v.Type) {
		return
	}
	if a, ok := value.(*ir.AddrOf); ok {
		value = a.X
	}
	base := baseVar(value)
	if base == nil || base == v {
		return
	}
	from := &ir.VarSet{}
	if from.Add(base); isAddress(base.Type) && !slices.Contains(o.k.Params, base) {
		if from = o.of[base]; from == nil {
			return // it gets there when this is known
		}
	}
	if o.of[v] == nil {
		o.of[v] = &ir.VarSet{}
	}
	for _, b := range from.List() {
		if !o.of[v].Has(b) {
			o.of[v].Add(b)
			o.changed = true
		}
	}
}

// throughLocals adds to reaches, for those through slices and pointers that are assigned in several places, reaches of the parameters of k
// that these may refer to: somewhere, and maybe not at all.
func throughLocals(k *ir.Kernel, reaches []reach) []reach {
	isLocal := func(r reach) bool {
		_, itself := r.expr.(*ir.Ref)
		return isAddress(r.base.Type) && !itself && !slices.Contains(k.Params, r.base)
	}
	if !slices.ContainsFunc(reaches, isLocal) {
		return reaches
	}
	from := originsOf(k)
	out := make([]reach, 0, len(reaches))
	for _, r := range reaches {
		if out = append(out, r); !isLocal(r) || from.of[r.base] == nil {
			continue
		}
		list := from.of[r.base].List()
		for _, v := range list {
			if slices.Contains(k.Params, v) {
				via := r
				via.base, via.index, via.through, via.maybe = v, Affine{unknown: true}, r.base, len(list) > 1
				via.always, via.certain, via.sure, via.whole = false, false, false, false
				out = append(out, via)
			}
		}
	}
	return out
}
