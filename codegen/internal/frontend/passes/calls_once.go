package passes

import (
	"github.com/gompss/gompss/codegen/ir"
	"github.com/gompss/gompss/codegen/ir/build"
	"github.com/gompss/gompss/codegen/ir/query"
)

// CallsOnce eliminates common calls without side effects between the condition of an if and the
// begin of its body: if f(x) < m { m = f(x) } becomes t := f(x); if t < m { m = t }, which is
// recognised as a reduction.
func CallsOnce(p *Pass) {
	m := callMerger{}
	m.list(p.Kernel.Body)
	for _, f := range p.Kernel.Funcs {
		m.list(f.Body)
	}
}

// A callMerger knows of functions whether a call has no effect but its results.
type callMerger map[*ir.Func]bool

func (m callMerger) list(list []ir.Stmt) {
	for i, s := range list {
		if c, ok := s.(*ir.If); ok {
			made := m.before(list[:i])
			c.Then, c.Else = m.withResults(c.Then, made), m.withResults(c.Else, made)
		}
		ir.Lists(s, m.list)
	}
}

// before returns the calls at the end of list behind which nothing but calls and declarations
// stands.
func (m callMerger) before(list []ir.Stmt) (out []*ir.Call) {
	for i := len(list) - 1; i >= 0; i-- {
		switch s := list[i].(type) {
		case *ir.Decl:
		case *ir.Call:
			if !m.changesNothing(s.Fn) {
				return out
			}
			out = append(out, s)
		default:
			return out
		}
	}
	return out
}

// withResults is list without the calls at its beginning that were made before.
func (m callMerger) withResults(list []ir.Stmt, made []*ir.Call) []ir.Stmt {
	with := map[*ir.Var]*ir.Var{}
	var begin []ir.Stmt
	for i, s := range list {
		if _, ok := s.(*ir.Decl); ok {
			begin = append(begin, s)
			continue
		}
		c, ok := s.(*ir.Call)
		if !ok || !m.changesNothing(c.Fn) {
			return replaced(begin, list[i:], with)
		}
		if old := sameCall(c, made, list[i+1:]); old != nil {
			with[c.Results[0]] = old.Results[0]
			continue
		}
		begin = append(begin, s)
	}
	return replaced(begin, nil, with)
}

// replaced returns begin and rest with other variables, without the declarations of those that they
// replace.
func replaced(begin, rest []ir.Stmt, with map[*ir.Var]*ir.Var) []ir.Stmt {
	var out []ir.Stmt
	for _, s := range begin {
		if d, ok := s.(*ir.Decl); !ok || with[d.Var] == nil {
			out = append(out, s)
		}
	}
	out = append(out, rest...)
	if len(with) == 0 {
		return out
	}
	return build.WithVars(with).CopyStmts(out)
}

// sameCall returns the call of made with the same value as c, or nil. rest, the statements after c,
// changes neither of the two results.
func sameCall(c *ir.Call, made []*ir.Call, rest []ir.Stmt) *ir.Call {
	assigned, taken := ir.Assigned(rest), ir.AddressTaken(rest)
	kept := func(c *ir.Call) bool {
		return len(c.Results) == 1 && c.Results[0] != nil && !assigned.Has(c.Results[0]) && !taken.Has(c.Results[0])
	}
	for _, old := range made {
		if old.Fn == c.Fn && kept(old) && kept(c) && sameArgs(old.Args, c.Args) {
			return old
		}
	}
	return nil
}

func sameArgs(a, b []ir.Expr) bool {
	for i := range a {
		if !query.Same(a[i], b[i]) {
			return false
		}
	}
	return len(a) == len(b)
}

// changesNothing reports whether a call of f has no effect but its results.
func (m callMerger) changesNothing(f *ir.Func) bool {
	if pure, ok := m[f]; ok {
		return pure
	}
	m[f] = false
	pure, own := true, ownMemoryOf(f)
	ir.WalkStmts(f.Body, func(s ir.Stmt) bool {
		switch s := s.(type) {
		case *ir.Assign:
			pure = pure && own.holds(s.Place)
		case *ir.Call:
			pure = pure && m.changesNothing(s.Fn)
		case *ir.Decl, *ir.If, *ir.Block, *ir.While, *ir.For, *ir.Break, *ir.Continue, *ir.Return:
			pure = pure && ir.DirectiveOf(s) == nil
		default:
			pure = false
		}
		return pure
	})
	m[f] = pure
	return pure
}

// ownMemory is the memory that each call of a function has for itself: its variables and
// parameters. foreign are those of its pointers and slices that may refer to other memory.
type ownMemory struct{ vars, foreign *ir.VarSet }

func ownMemoryOf(f *ir.Func) ownMemory {
	own := ownMemory{vars: ir.Declared(f.Body), foreign: ir.AddressTaken(f.Body)}
	for _, v := range f.Params {
		own.vars.Add(v)
		own.foreign.Add(v)
	}
	for before := -1; before != own.foreign.Len(); {
		before = own.foreign.Len()
		ir.WalkStmts(f.Body, func(s ir.Stmt) bool { own.exclude(s); return true })
	}
	return own
}

// exclude adds to foreign the variables that s gives an address of other memory.
func (own ownMemory) exclude(s ir.Stmt) {
	switch s := s.(type) {
	case *ir.Decl:
		if s.Init != nil && !own.refersTo(s.Init) {
			own.foreign.Add(s.Var)
		}
	case *ir.Assign:
		if v := query.RefVar(s.Place); v != nil && !own.refersTo(s.Value) {
			own.foreign.Add(v)
		}
	case *ir.Call:
		for _, v := range s.Results {
			if v != nil {
				own.foreign.Add(v)
			}
		}
	}
}

// holds reports whether a place is in the memory of the call.
func (own ownMemory) holds(place ir.Expr) bool {
	switch e := place.(type) {
	case *ir.Ref:
		return own.vars.Has(e.Var)
	case *ir.Member:
		return own.holds(e.X)
	case *ir.Index:
		if e.X.Type().Kind == ir.Array {
			return own.holds(e.X)
		}
		return own.refersTo(e.X)
	case *ir.Deref:
		return own.refersTo(e.X)
	}
	return false
}

// refersTo reports whether a pointer or slice refers to the memory of the call.
func (own ownMemory) refersTo(address ir.Expr) bool {
	switch e := address.(type) {
	case *ir.Ref:
		return own.vars.Has(e.Var) && !own.foreign.Has(e.Var)
	case *ir.AddrOf:
		return own.holds(e.X)
	case *ir.Reslice:
		if e.X.Type().Kind == ir.Array {
			return own.holds(e.X)
		}
		return own.refersTo(e.X)
	}
	return false
}
