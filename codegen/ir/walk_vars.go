package ir

import "slices"

// A VarSet is a set of variables that remembers the order in which they came.
type VarSet struct {
	list []*Var
	has  map[*Var]bool
}

// Add puts v into the set; nil is ignored.
func (s *VarSet) Add(v *Var) {
	if v == nil || s.has[v] {
		return
	}
	if s.has == nil {
		s.has = map[*Var]bool{}
	}
	s.has[v] = true
	s.list = append(s.list, v)
}

// Has reports whether v is in the set.
func (s *VarSet) Has(v *Var) bool { return s.has[v] }

// List returns the variables in the order in which they came; the caller must not change it.
func (s *VarSet) List() []*Var { return s.list }

// Len returns the number of variables.
func (s *VarSet) Len() int { return len(s.list) }

// RootVar returns the variable that place e is, or is a part of (a field, an element of an array).
// It is nil where e lies in memory that a slice or a pointer refers to.
func RootVar(e Expr) *Var {
	switch e := e.(type) {
	case *Ref:
		return e.Var
	case *Member:
		return RootVar(e.X)
	case *Index:
		if e.X.Type().Kind == Array {
			return RootVar(e.X)
		}
	}
	return nil
}

// Declared returns the variables that list declares: by Decl and as loop variables.
func Declared(list []Stmt) *VarSet {
	set := &VarSet{}
	WalkStmts(list, func(s Stmt) bool {
		switch s := s.(type) {
		case *Decl:
			set.Add(s.Var)
		case *For:
			set.Add(s.Var)
		}
		return true
	})
	return set
}

// Assigned returns the variables that list changes, wholly or in part, after their declaration: by
// assignment, as the result of a call, by an atomic, as the place of a reduction or in a
// lastprivate clause. Assignments through pointers do not count: see AddressTaken.
func Assigned(list []Stmt) *VarSet {
	set := &VarSet{}
	WalkStmts(list, func(s Stmt) bool {
		assignedBy(s, set)
		return true
	})
	return set
}

func assignedBy(s Stmt, set *VarSet) {
	switch s := s.(type) {
	case *Assign:
		set.Add(RootVar(s.Place))
	case *Call:
		for _, v := range s.Results {
			set.Add(v)
		}
	case *Atomic:
		if s.Kind != AtomicRead {
			set.Add(RootVar(s.Place))
		}
		if s.Old != nil {
			set.Add(RootVar(s.Old))
		}
	}
	if d := DirectiveOf(s); d != nil {
		assignedByDirective(d, set)
	}
}

func assignedByDirective(d *Directive, set *VarSet) {
	for _, r := range d.Reductions {
		set.Add(RootVar(r.Place))
		if r.Index != nil {
			set.Add(RootVar(r.Index))
		}
	}
	for _, v := range d.Lastprivate {
		set.Add(v)
	}
}

// AddressTaken returns the variables of which list takes the address or a slice, wholly or in part.
func AddressTaken(list []Stmt) *VarSet {
	set := &VarSet{}
	Inspect(list, nil, func(e Expr) {
		switch e := e.(type) {
		case *AddrOf:
			set.Add(RootVar(e.X))
		case *Reslice:
			if e.X.Type().Kind == Array {
				set.Add(RootVar(e.X))
			}
		}
	})
	return set
}

// Used returns every variable that occurs in an expression of list, as a value or as a place, in
// its directives, or as the result of a call; variables that are only declared are not in it.
func Used(list []Stmt) *VarSet {
	set := &VarSet{}
	Inspect(list, func(s Stmt) { usedBy(s, set) }, func(e Expr) {
		if r, ok := e.(*Ref); ok {
			set.Add(r.Var)
		}
	})
	return set
}

func usedBy(s Stmt, set *VarSet) {
	if c, ok := s.(*Call); ok {
		for _, v := range c.Results {
			set.Add(v)
		}
	}
	for _, v := range UsedByDirective(s) {
		set.Add(v)
	}
}

// UsedByDirective returns the variables that the data clauses of s name.
func UsedByDirective(s Stmt) (out []*Var) {
	d := DirectiveOf(s)
	if d == nil {
		return nil
	}
	out = slices.Concat(d.Private, d.Firstprivate, d.Lastprivate, d.Shared)
	for _, a := range d.DistArrays {
		out = append(out, a.Var)
	}
	return out
}

// ExprVars returns the variables that occur in e.
func ExprVars(e Expr) *VarSet {
	set := &VarSet{}
	WalkExpr(e, func(e Expr) bool {
		if r, ok := e.(*Ref); ok {
			set.Add(r.Var)
		}
		return true
	})
	return set
}

// Free returns the variables that list uses and does not declare.
func Free(list []Stmt) *VarSet {
	declared, free := Declared(list), &VarSet{}
	for _, v := range Used(list).List() {
		if !declared.Has(v) {
			free.Add(v)
		}
	}
	return free
}
