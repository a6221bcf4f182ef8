package analysis

import (
	"maps"

	"github.com/gompss/gompss/codegen/ir"
)

// Memory is a set of memory that code may access: shared variables, each by itself, and global
// memory (the memory that slices and pointers refer to), as a set of scalar kinds. Two slices with
// different element types do not overlap; two slices of the same type may. Kinds cannot distinguish
// two slices of the same type.
type Memory struct {
	Vars  map[*ir.Var]bool
	Kinds uint32
}

// KindsOf returns the set of scalar kinds in a value of type t.
func KindsOf(t *ir.Type) uint32 {
	switch t.Kind {
	case ir.Array:
		return KindsOf(t.Elem)
	case ir.Struct:
		var k uint32
		for _, f := range t.Fields {
			k |= KindsOf(f.Type)
		}
		return k
	}
	return 1 << t.Kind
}

// AddVar adds the memory of v.
func (m *Memory) AddVar(v *ir.Var) {
	if m.Vars == nil {
		m.Vars = map[*ir.Var]bool{}
	}
	m.Vars[v] = true
}

func (m *Memory) add(other Memory) {
	for v := range other.Vars {
		m.AddVar(v)
	}
	m.Kinds |= other.Kinds
}

// Overlaps reports whether m and other may overlap.
func (m Memory) Overlaps(other Memory) bool {
	if m.Kinds&other.Kinds != 0 {
		return true
	}
	for v := range m.Vars {
		if other.Vars[v] {
			return true
		}
	}
	return false
}

// Empty reports whether m is the empty set.
func (m Memory) Empty() bool { return m.Kinds == 0 && len(m.Vars) == 0 }

func (m Memory) clone() Memory { return Memory{Vars: maps.Clone(m.Vars), Kinds: m.Kinds} }

// within reports whether m is a subset of other.
func (m Memory) within(other Memory) bool {
	for v := range m.Vars {
		if !other.Vars[v] {
			return false
		}
	}
	return m.Kinds&^other.Kinds == 0
}

// A Touch is the set of reads and writes of a piece of code to memory that several threads share.
type Touch struct {
	Reads, Writes Memory
	Atomics       bool
	Calls         bool // a call of a function that is not pure
}

// Add makes t the union of t and other.
func (t *Touch) Add(other Touch) {
	t.Reads.add(other.Reads)
	t.Writes.add(other.Writes)
	t.Atomics = t.Atomics || other.Atomics
	t.Calls = t.Calls || other.Calls
}

// Conflicts reports whether t and other access common memory and at least one of them writes it, so
// that their order matters.
func (t Touch) Conflicts(other Touch) bool {
	return t.Writes.Overlaps(other.Writes) || t.Writes.Overlaps(other.Reads) || t.Reads.Overlaps(other.Writes)
}

// Clone returns a deep copy of t.
func (t Touch) Clone() Touch {
	t.Reads, t.Writes = t.Reads.clone(), t.Writes.clone()
	return t
}

// Within reports whether other contains all reads and all writes of t.
func (t Touch) Within(other Touch) bool {
	return t.Reads.within(other.Reads) && t.Writes.within(other.Writes)
}

// Effects computes the Touch of statements and expressions. Shared reports whether several threads
// share a variable; if Shared is nil, no variable is shared.
type Effects struct {
	Shared func(*ir.Var) bool
	Exact  map[*ir.Var]bool // shared variables whose address is never taken
	seen   map[*ir.Func]Touch
}

// Stmts returns the reads and writes of list.
func (e *Effects) Stmts(list []ir.Stmt) Touch {
	var t Touch
	ir.WalkStmts(list, func(s ir.Stmt) bool {
		e.stmt(s, &t)
		return true
	})
	return t
}

// stmt adds to t the reads and writes of s itself, without those of the statements inside s.
func (e *Effects) stmt(s ir.Stmt, t *Touch) {
	switch s := s.(type) {
	case *ir.Assign:
		e.place(s.Place, &t.Writes, t)
		e.expr(s.Value, t)
	case *ir.Atomic:
		t.Atomics = true
		e.place(s.Place, &t.Reads, t)
		if s.Kind != ir.AtomicRead {
			e.place(s.Place, &t.Writes, t)
		}
		e.Exprs(t, s.Value, s.Compare)
		if s.Old != nil {
			e.place(s.Old, &t.Writes, t)
		}
	case *ir.Call:
		e.call(s, t)
	case *ir.Decl:
		e.Exprs(t, s.Init)
		e.variable(s.Var, &t.Writes)
	default:
		ir.StmtExprs(s, func(x ir.Expr) { e.expr(x, t) })
		e.clauses(ir.DirectiveOf(s), t)
	}
}

// clauses adds to t the variables that a construct writes at its end: reductions and lastprivate.
func (e *Effects) clauses(d *ir.Directive, t *Touch) {
	if d == nil {
		return
	}
	for _, r := range d.Reductions {
		e.place(r.Place, &t.Writes, t)
		if r.Index != nil {
			e.place(r.Index, &t.Writes, t)
		}
	}
	for _, v := range d.Lastprivate {
		e.variable(v, &t.Writes)
	}
}

func (e *Effects) call(s *ir.Call, t *Touch) {
	e.Exprs(t, s.Args...)
	for _, v := range s.Results {
		if v != nil {
			e.variable(v, &t.Writes)
		}
	}
	callee := e.function(s.Fn)
	t.Add(callee)
	if !callee.Writes.Empty() || callee.Atomics {
		t.Calls = true
	}
}

// function returns the reads and writes of f to memory outside f.
func (e *Effects) function(f *ir.Func) Touch {
	if t, ok := e.seen[f]; ok {
		return t
	}
	inner := &Effects{Shared: func(*ir.Var) bool { return false }, seen: e.seen}
	t := inner.Stmts(f.Body)
	if e.seen == nil {
		e.seen = map[*ir.Func]Touch{}
	}
	e.seen[f] = t
	return t
}

func (e *Effects) isShared(v *ir.Var) bool { return e.Shared != nil && e.Shared(v) }

// Exprs adds to t the reads and writes of the expressions in list. It skips nil expressions.
func (e *Effects) Exprs(t *Touch, list ...ir.Expr) {
	for _, x := range list {
		if x != nil {
			e.expr(x, t)
		}
	}
}

// expr adds to t the reads of the evaluation of x.
func (e *Effects) expr(x ir.Expr, t *Touch) {
	switch x := x.(type) {
	case *ir.Ref, *ir.Index, *ir.Member, *ir.Deref:
		e.place(x, &t.Reads, t)
	case *ir.AddrOf:
		e.address(x.X, t)
	case *ir.Reslice:
		if x.X.Type().Kind == ir.Array {
			e.address(x.X, t)
		} else {
			e.expr(x.X, t)
		}
		e.Exprs(t, x.Lo, x.Hi, x.Max)
	default:
		ir.Operands(x, func(y ir.Expr) { e.expr(y, t) })
	}
}

// place adds the memory of place x to into, and the reads of the computation of its address to t.
func (e *Effects) place(x ir.Expr, into *Memory, t *Touch) {
	root, global := e.address(x, t)
	switch {
	case global:
		into.Kinds |= KindsOf(x.Type())
	case root != nil:
		e.part(root, x.Type(), into)
	}
}

// variable adds the memory of v to into if v is shared.
func (e *Effects) variable(v *ir.Var, into *Memory) { e.part(v, v.Type, into) }

// part adds a part of v, of type part, to into if v is shared. If the address of v is taken,
// pointers may also refer to that part, so part adds its kinds too.
func (e *Effects) part(v *ir.Var, part *ir.Type, into *Memory) {
	if !e.isShared(v) {
		return
	}
	into.AddVar(v)
	if !e.Exact[v] {
		into.Kinds |= KindsOf(part)
	}
}

// address adds to t the reads of the computation of the address of place x. It returns the variable
// that contains x, or global as true if x is in global memory.
func (e *Effects) address(x ir.Expr, t *Touch) (root *ir.Var, global bool) {
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
