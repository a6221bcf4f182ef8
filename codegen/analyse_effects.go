package codegen

import (
	"maps"

	"github.com/gompss/gompss/codegen/ir"
)

// memory is a set of memory that code may touch: shared variables by name, and global memory, reached through slices
// and pointers, by the kinds of the scalars that are touched there. Go's slices of different element types do not
// overlap; those of the same type may, so kinds is all that tells two slices apart.
type memory struct {
	vars  map[*ir.Var]bool
	kinds uint32
}

// kindsOf returns the set of scalar kinds in a value of type t.
func kindsOf(t *ir.Type) uint32 {
	switch t.Kind {
	case ir.Array:
		return kindsOf(t.Elem)
	case ir.Struct:
		var k uint32
		for _, f := range t.Fields {
			k |= kindsOf(f.Type)
		}
		return k
	}
	return 1 << t.Kind
}

func (m *memory) addVar(v *ir.Var) {
	if m.vars == nil {
		m.vars = map[*ir.Var]bool{}
	}
	m.vars[v] = true
}

func (m *memory) add(other memory) {
	for v := range other.vars {
		m.addVar(v)
	}
	m.kinds |= other.kinds
}

func (m memory) meets(other memory) bool {
	if m.kinds&other.kinds != 0 {
		return true
	}
	for v := range m.vars {
		if other.vars[v] {
			return true
		}
	}
	return false
}

func (m memory) empty() bool { return m.kinds == 0 && len(m.vars) == 0 }

func (m memory) clone() memory { return memory{vars: maps.Clone(m.vars), kinds: m.kinds} }

// within reports whether every element of m is in other.
func (m memory) within(other memory) bool {
	for v := range m.vars {
		if !other.vars[v] {
			return false
		}
	}
	return m.kinds&^other.kinds == 0
}

// A touch is what code reads and writes in memory that several threads see.
type touch struct {
	reads, writes memory
	atomics       bool
	calls         bool // a call of a function that is not pure
}

func (t *touch) add(other touch) {
	t.reads.add(other.reads)
	t.writes.add(other.writes)
	t.atomics = t.atomics || other.atomics
	t.calls = t.calls || other.calls
}

// conflicts reports whether the order of a and b matters to what is in memory.
func (t touch) conflicts(other touch) bool {
	return t.writes.meets(other.writes) || t.writes.meets(other.reads) || t.reads.meets(other.writes)
}

func (t touch) clone() touch {
	t.reads, t.writes = t.reads.clone(), t.writes.clone()
	return t
}

func (t touch) within(other touch) bool {
	return t.reads.within(other.reads) && t.writes.within(other.writes)
}

// effects finds the touches of code. shared says which variables several threads see; a nil shared means none.
type effects struct {
	shared func(*ir.Var) bool
	exact  map[*ir.Var]bool // shared variables whose address is never taken
	seen   map[*ir.Func]touch
}

func (e *effects) stmts(list []ir.Stmt) touch {
	var t touch
	ir.WalkStmts(list, func(s ir.Stmt) bool {
		e.stmt(s, &t)
		return true
	})
	return t
}

// stmt adds what s itself touches, without the statements in it.
func (e *effects) stmt(s ir.Stmt, t *touch) {
	switch s := s.(type) {
	case *ir.Assign:
		e.place(s.Place, &t.writes, t)
		e.expr(s.Value, t)
	case *ir.Atomic:
		t.atomics = true
		e.place(s.Place, &t.reads, t)
		if s.Kind != ir.AtomicRead {
			e.place(s.Place, &t.writes, t)
		}
		e.exprs(t, s.Value, s.Compare)
		if s.Old != nil {
			e.place(s.Old, &t.writes, t)
		}
	case *ir.Call:
		e.call(s, t)
	case *ir.Decl:
		e.exprs(t, s.Init)
		if e.isShared(s.Var) {
			t.writes.addVar(s.Var)
		}
	default:
		ir.StmtExprs(s, func(x ir.Expr) { e.expr(x, t) })
		e.clauses(ir.DirectiveOf(s), t)
	}
}

// clauses adds the places that a construct writes when it ends.
func (e *effects) clauses(d *ir.Directive, t *touch) {
	if d == nil {
		return
	}
	for _, r := range d.Reductions {
		e.place(r.Place, &t.writes, t)
		if r.Index != nil {
			e.place(r.Index, &t.writes, t)
		}
	}
	for _, v := range d.Lastprivate {
		if e.isShared(v) {
			t.writes.addVar(v)
		}
	}
}

func (e *effects) call(s *ir.Call, t *touch) {
	e.exprs(t, s.Args...)
	for _, v := range s.Results {
		if v != nil && e.isShared(v) {
			t.writes.addVar(v)
		}
	}
	callee := e.function(s.Fn)
	t.add(callee)
	if !callee.writes.empty() || callee.atomics {
		t.calls = true
	}
}

// function returns what the memory outside of a function sees of it.
func (e *effects) function(f *ir.Func) touch {
	if t, ok := e.seen[f]; ok {
		return t
	}
	inner := &effects{shared: func(*ir.Var) bool { return false }, seen: e.seen}
	t := inner.stmts(f.Body)
	if e.seen == nil {
		e.seen = map[*ir.Func]touch{}
	}
	e.seen[f] = t
	return t
}

func (e *effects) isShared(v *ir.Var) bool { return e.shared != nil && e.shared(v) }

func (e *effects) exprs(t *touch, list ...ir.Expr) {
	for _, x := range list {
		if x != nil {
			e.expr(x, t)
		}
	}
}

// expr adds what evaluating x reads.
func (e *effects) expr(x ir.Expr, t *touch) {
	switch x := x.(type) {
	case *ir.Ref, *ir.Index, *ir.Member, *ir.Deref:
		e.place(x, &t.reads, t)
	case *ir.AddrOf:
		e.address(x.X, t)
	case *ir.Reslice:
		e.address(x.X, t)
		e.exprs(t, x.Lo, x.Hi, x.Max)
	default:
		ir.Operands(x, func(y ir.Expr) { e.expr(y, t) })
	}
}

// place adds the memory of place x to into, and what computing its address reads.
func (e *effects) place(x ir.Expr, into *memory, t *touch) {
	root, global := e.address(x, t)
	switch {
	case global:
		into.kinds |= kindsOf(x.Type())
	case root != nil && e.isShared(root):
		into.addVar(root)
		if !e.exact[root] {
			into.kinds |= kindsOf(x.Type())
		}
	}
}

// address adds what computing the address of place x reads. It returns the variable that x is a part of, or says that
// x lies in global memory.
func (e *effects) address(x ir.Expr, t *touch) (root *ir.Var, global bool) {
	switch x := x.(type) {
	case *ir.Ref:
		return x.Var, false
	case *ir.Member:
		return e.address(x.X, t)
	case *ir.Index:
		e.expr(x.I, t)
		if x.X.Type().Kind == ir.Array {
			return e.address(x.X, t)
		}
		e.expr(x.X, t)
		return nil, true
	case *ir.Deref:
		e.expr(x.X, t)
		return nil, true
	}
	e.expr(x, t) // a value, not a place
	return nil, false
}
