package mapping

import (
	"slices"

	"github.com/gompss/gompss/codegen/ir"
)

// InMemory makes the arrays and structs that k, which is the caller's own, is given by value slices
// and pointers, for vector code: that reads parameters from memory. Those that something changes,
// whose address is taken, and arrays that are used as a whole, are copied to variables first.
func InMemory(k *ir.Kernel) {
	k.Funcs = OwnFuncs(k)
	m := memoryParams{at: map[*ir.Var]*ir.Var{}}
	m.collect(k)
	for m.drop(k) {
	}
	m.copies(k)
	if len(m.at) == 0 {
		return
	}
	for v := range m.at {
		c := *v
		if v.Type.Kind == ir.Array {
			c.Type = ir.SliceOf(v.Type.Elem)
		} else {
			c.Type = ir.PointerTo(v.Type)
		}
		m.at[v] = &c
	}
	r := m.rewrite()
	k.Params, k.Body = m.params(k.Params), r.CopyStmts(k.Body)
	for _, f := range k.Funcs {
		f.Params, f.Body = m.params(f.Params), r.CopyStmts(f.Body)
	}
}

// OwnFuncs returns copies of the functions of k, and lets calls be of those.
func OwnFuncs(k *ir.Kernel) []*ir.Func {
	own := map[*ir.Func]*ir.Func{}
	r := &ir.Rewrite{Stmt: func(s ir.Stmt) []ir.Stmt {
		if c, ok := s.(*ir.Call); ok && own[c.Fn] != nil {
			c.Fn = own[c.Fn]
		}
		return []ir.Stmt{s}
	}}
	out := make([]*ir.Func, 0, len(k.Funcs))
	for _, f := range k.Funcs { // callees come first
		c := *f
		c.Body = r.CopyStmts(f.Body)
		own[f] = &c
		out = append(out, &c)
	}
	k.Body = r.CopyStmts(k.Body)
	return out
}

// memoryParams are parameters to be in memory, and what they are there.
type memoryParams struct {
	at map[*ir.Var]*ir.Var
}

func (m *memoryParams) collect(k *ir.Kernel) {
	add := func(params []*ir.Var, body []ir.Stmt) {
		changed, taken, named := ir.Assigned(body), ir.AddressTaken(body), inDirectives(body)
		for _, v := range params {
			if kind := v.Type.Kind; (kind == ir.Array || kind == ir.Struct) && !ir.HoldsAddress(v.Type) && !changed.Has(v) && !taken.Has(v) && !named.Has(v) {
				m.at[v] = nil
			}
		}
	}
	add(k.Params, k.Body)
	for _, f := range k.Funcs {
		add(f.Params, f.Body)
	}
}

// copies lets the kernel begin with variables for the parameters that cannot be used where they
// are.
func (m *memoryParams) copies(k *ir.Kernel) {
	var out []ir.Stmt
	with := map[*ir.Var]*ir.Var{}
	for _, v := range k.Params {
		if kind := v.Type.Kind; (kind != ir.Array && kind != ir.Struct) || ir.HoldsAddress(v.Type) {
			continue
		}
		if _, there := m.at[v]; there {
			continue
		}
		own := &ir.Var{Name: v.Name, Type: v.Type, Space: ir.Local, ID: k.NumVars, At: v.At}
		k.NumVars++
		with[v], m.at[v] = own, nil
		out = append(out, copyOfParam(k, own, v)...)
	}
	if len(out) == 0 {
		return
	}
	body := (&ir.Rewrite{Var: func(v *ir.Var) *ir.Var {
		if own := with[v]; own != nil {
			return own
		}
		return v
	}}).CopyStmts(k.Body)
	k.Body = append(out, body...)
}

// copyOfParam declares own with the value of v: that of an array element by element, as there is no
// whole one in memory.
func copyOfParam(k *ir.Kernel, own, v *ir.Var) []ir.Stmt {
	from, to := &ir.Ref{Var: v, At: v.At}, &ir.Ref{Var: own, At: v.At}
	if v.Type.Kind == ir.Struct {
		return []ir.Stmt{&ir.Decl{Var: own, Init: from, At: v.At}}
	}
	i := &ir.Var{Name: "element", Type: ir.IntType, Space: ir.Local, ID: k.NumVars, At: v.At}
	k.NumVars++
	number := func(n int64) ir.Expr { return &ir.Const{T: ir.IntType, Bits: uint64(n), At: v.At} }
	element := func(x ir.Expr) ir.Expr { return &ir.Index{X: x, I: &ir.Ref{Var: i, At: v.At}, At: v.At} }
	set := &ir.Assign{Place: element(to), Value: element(from), At: v.At}
	loop := &ir.For{Var: i, Lo: number(0), Hi: number(v.Type.Len), Step: number(1), Rel: ir.Lt, Body: []ir.Stmt{set}, Label: &ir.Label{Name: "copy"}, At: v.At}
	return []ir.Stmt{&ir.Decl{Var: own, At: v.At}, loop}
}

// inDirectives returns the variables that clauses name.
func inDirectives(body []ir.Stmt) *ir.VarSet {
	set := &ir.VarSet{}
	ir.WalkStmts(body, func(s ir.Stmt) bool {
		if d := ir.DirectiveOf(s); d != nil {
			for _, list := range [][]*ir.Var{d.Private, d.Firstprivate, d.Lastprivate} {
				for _, v := range list {
					set.Add(v)
				}
			}
			for _, a := range d.DistArrays {
				set.Add(a.Var)
			}
		}
		return true
	})
	return set
}

// drop takes out what cannot be in memory, and reports whether there was some.
func (m *memoryParams) drop(k *ir.Kernel) bool {
	before := len(m.at)
	bodies := [][]ir.Stmt{k.Body}
	for _, f := range k.Funcs {
		bodies = append(bodies, f.Body)
	}
	for _, body := range bodies {
		parts := map[ir.Expr]bool{}
		ir.Inspect(body, func(s ir.Stmt) {
			if c, ok := s.(*ir.Call); ok {
				m.dropArgs(c, parts)
			}
		}, func(e ir.Expr) {
			if ix, ok := e.(*ir.Index); ok {
				parts[ix.X] = true
			}
			if r, ok := e.(*ir.Ref); ok && r.Var.Type.Kind == ir.Array && !parts[e] {
				delete(m.at, r.Var)
			}
		})
	}
	return len(m.at) < before
}

// dropArgs takes out the parameters for which a call has another value than a parameter in memory;
// arguments that are passed on are no uses as a whole.
func (m *memoryParams) dropArgs(c *ir.Call, parts map[ir.Expr]bool) {
	for i, v := range c.Fn.Params {
		if _, ok := m.at[v]; !ok {
			continue
		}
		if r, isRef := c.Args[i].(*ir.Ref); isRef {
			if _, ok := m.at[r.Var]; ok {
				parts[r] = true
				continue
			}
		}
		delete(m.at, v)
	}
}

func (m *memoryParams) params(list []*ir.Var) []*ir.Var {
	out := slices.Clone(list)
	for i, v := range out {
		if c := m.at[v]; c != nil {
			out[i] = c
		}
	}
	return out
}

// rewrite lets code use what is in memory.
func (m *memoryParams) rewrite() *ir.Rewrite {
	pointers := map[*ir.Var]bool{}
	for _, c := range m.at {
		pointers[c] = c.Type.Kind == ir.Pointer
	}
	deref := func(e ir.Expr) ir.Expr {
		if r, ok := e.(*ir.Ref); ok && pointers[r.Var] {
			return &ir.Deref{X: e, At: r.At}
		}
		return e
	}
	return &ir.Rewrite{
		Var: func(v *ir.Var) *ir.Var {
			if c := m.at[v]; c != nil {
				return c
			}
			return v
		},
		Expr: deref,
		Stmt: func(s ir.Stmt) []ir.Stmt {
			if c, ok := s.(*ir.Call); ok {
				m.passOn(c)
			}
			return []ir.Stmt{s}
		},
	}
}

// passOn passes the address where the function has a pointer now.
func (m *memoryParams) passOn(c *ir.Call) {
	for i, v := range c.Fn.Params {
		d, ok := c.Args[i].(*ir.Deref)
		if w, changed := m.at[v]; ok && (changed && w.Type.Kind == ir.Pointer || v.Type.Kind == ir.Pointer && m.made(v)) {
			c.Args[i] = d.X
		}
	}
}

// made reports whether v is one of the new parameters.
func (m *memoryParams) made(v *ir.Var) bool {
	for _, c := range m.at {
		if c == v {
			return true
		}
	}
	return false
}
