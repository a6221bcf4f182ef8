package ir

// A Rewrite defines the differences between a copy of IR and the original. A nil field changes
// nothing; the zero Rewrite makes a plain copy. The original does not change, and the copy shares
// only types, functions and the results of the hooks with it.
type Rewrite struct {
	// Expr returns the replacement of an expression. Its argument is a copy with rewritten
	// operands.
	Expr func(Expr) Expr
	// Instead returns the replacement of an expression, which is not rewritten further, or nil. Its
	// argument is the original, before its operands are rewritten.
	Instead func(Expr) Expr
	// Stmt returns the replacement of a statement. Its argument is a copy with rewritten
	// expressions and nested statements.
	Stmt func(Stmt) []Stmt
	// Var maps a variable wherever it occurs: declarations, references, results of calls, clauses.
	Var func(*Var) *Var
	// Label maps a label, of loops and blocks as of the jumps to them.
	Label func(*Label) *Label
}

// CopyExpr returns a rewritten copy of e; nil stays nil.
func (r *Rewrite) CopyExpr(e Expr) Expr {
	if e == nil {
		return nil
	}
	if r.Instead != nil {
		if x := r.Instead(e); x != nil {
			return x
		}
	}
	c := r.node(e)
	if r.Expr != nil {
		return r.Expr(c)
	}
	return c
}

func (r *Rewrite) node(e Expr) Expr {
	switch e := e.(type) {
	case *Const:
		c := *e
		return &c
	case *Query:
		c := *e
		return &c
	case *Ref:
		return &Ref{Var: r.variable(e.Var), At: e.At}
	case *Unary:
		return &Unary{Op: e.Op, X: r.CopyExpr(e.X), At: e.At}
	case *Binary:
		return &Binary{Op: e.Op, X: r.CopyExpr(e.X), Y: r.CopyExpr(e.Y), T: e.T, Checked: e.Checked, At: e.At}
	case *Convert:
		return &Convert{T: e.T, X: r.CopyExpr(e.X), At: e.At}
	case *Math:
		return &Math{Fn: e.Fn, Args: r.CopyExprs(e.Args), T: e.T, At: e.At}
	case *Select:
		return &Select{Cond: r.CopyExpr(e.Cond), X: r.CopyExpr(e.X), Y: r.CopyExpr(e.Y), At: e.At}
	case *Apart:
		return &Apart{X: r.CopyExpr(e.X), Y: r.CopyExpr(e.Y), At: e.At}
	case *Composite:
		return &Composite{T: e.T, Elems: r.CopyExprs(e.Elems), At: e.At}
	case *Shuffle:
		return &Shuffle{Kind: e.Kind, X: r.CopyExpr(e.X), By: r.CopyExpr(e.By), At: e.At}
	}
	return r.access(e)
}

// access copies the expressions that reach into memory.
func (r *Rewrite) access(e Expr) Expr {
	switch e := e.(type) {
	case *Index:
		return &Index{X: r.CopyExpr(e.X), I: r.CopyExpr(e.I), Checked: e.Checked, At: e.At}
	case *Member:
		return &Member{X: r.CopyExpr(e.X), Field: e.Field, At: e.At}
	case *Deref:
		return &Deref{X: r.CopyExpr(e.X), Checked: e.Checked, At: e.At}
	case *AddrOf:
		return &AddrOf{X: r.CopyExpr(e.X), At: e.At}
	case *Len:
		return &Len{X: r.CopyExpr(e.X), At: e.At}
	case *Cap:
		return &Cap{X: r.CopyExpr(e.X), At: e.At}
	case *Reslice:
		return &Reslice{X: r.CopyExpr(e.X), Lo: r.CopyExpr(e.Lo), Hi: r.CopyExpr(e.Hi), Max: r.CopyExpr(e.Max),
			Checked: e.Checked, At: e.At}
	}
	panic("gompss: bug: ir: no copy of this expression")
}

// CopyExprs returns rewritten copies of a list.
func (r *Rewrite) CopyExprs(list []Expr) []Expr {
	if list == nil {
		return nil
	}
	out := make([]Expr, len(list))
	for i, e := range list {
		out[i] = r.CopyExpr(e)
	}
	return out
}

func (r *Rewrite) variable(v *Var) *Var {
	if r.Var == nil || v == nil {
		return v
	}
	return r.Var(v)
}

func (r *Rewrite) variables(list []*Var) []*Var {
	if list == nil {
		return nil
	}
	out := make([]*Var, len(list))
	for i, v := range list {
		out[i] = r.variable(v)
	}
	return out
}

func (r *Rewrite) label(l *Label) *Label {
	if r.Label == nil || l == nil {
		return l
	}
	return r.Label(l)
}

// CopyStmts returns a rewritten copy of list.
func (r *Rewrite) CopyStmts(list []Stmt) []Stmt {
	if list == nil {
		return nil
	}
	out := make([]Stmt, 0, len(list))
	for _, s := range list {
		out = append(out, r.CopyStmt(s)...)
	}
	return out
}

// CopyStmt returns the statements of the copy that replace s.
func (r *Rewrite) CopyStmt(s Stmt) []Stmt {
	c := r.plain(s)
	if r.Stmt != nil {
		return r.Stmt(c)
	}
	return []Stmt{c}
}

func (r *Rewrite) plain(s Stmt) Stmt {
	switch s := s.(type) {
	case *Decl:
		return &Decl{Var: r.variable(s.Var), Init: r.CopyExpr(s.Init), Unset: s.Unset, At: s.At}
	case *Assign:
		return &Assign{Place: r.CopyExpr(s.Place), Value: r.CopyExpr(s.Value), Async: s.Async, At: s.At}
	case *Call:
		return &Call{Results: r.variables(s.Results), Fn: s.Fn, Args: r.CopyExprs(s.Args), At: s.At}
	case *Break:
		return &Break{Label: r.label(s.Label), At: s.At}
	case *Continue:
		return &Continue{Label: r.label(s.Label), At: s.At}
	case *Return:
		return &Return{Results: r.CopyExprs(s.Results), At: s.At}
	case *Atomic:
		return &Atomic{Kind: s.Kind, Op: s.Op, Swapped: s.Swapped, Place: r.CopyExpr(s.Place), Value: r.CopyExpr(s.Value),
			Compare: r.CopyExpr(s.Compare), Old: r.CopyExpr(s.Old), After: s.After, Ordered: s.Ordered,
			At: s.At}
	case *Barrier:
		return &Barrier{Scope: s.Scope, ID: s.ID, Count: r.CopyExpr(s.Count), At: s.At}
	}
	return r.nest(s)
}

// nest copies the statements that hold others.
func (r *Rewrite) nest(s Stmt) Stmt {
	switch s := s.(type) {
	case *If:
		return &If{Cond: r.CopyExpr(s.Cond), Then: r.CopyStmts(s.Then), Else: r.CopyStmts(s.Else), At: s.At}
	case *Block:
		return &Block{Label: r.label(s.Label), Body: r.CopyStmts(s.Body), At: s.At}
	case *While:
		return &While{Label: r.label(s.Label), Pre: r.CopyStmts(s.Pre), Cond: r.CopyExpr(s.Cond), Post: r.CopyStmts(s.Post),
			Body: r.CopyStmts(s.Body), At: s.At}
	case *For:
		return &For{Label: r.label(s.Label), Var: r.variable(s.Var), Lo: r.CopyExpr(s.Lo), Hi: r.CopyExpr(s.Hi),
			Step: r.CopyExpr(s.Step), Rel: s.Rel, Directive: r.CopyDirective(s.Directive), Unroll: s.Unroll, Body: r.CopyStmts(s.Body),
			At: s.At}
	case *Construct:
		return &Construct{Directive: r.CopyDirective(s.Directive), Body: r.CopyStmts(s.Body), At: s.At}
	}
	panic("gompss: bug: ir: no copy of this statement")
}

// CopyDirective returns a rewritten copy of d; nil stays nil.
func (r *Rewrite) CopyDirective(d *Directive) *Directive {
	if d == nil {
		return nil
	}
	c := *d
	c.NumTeams, c.ThreadLimit = r.CopyExpr(d.NumTeams), r.CopyExpr(d.ThreadLimit)
	c.NumThreads, c.If = r.CopyExpr(d.NumThreads), r.CopyExpr(d.If)
	c.Schedule.Chunk, c.DistSchedule.Chunk = r.CopyExpr(d.Schedule.Chunk), r.CopyExpr(d.DistSchedule.Chunk)
	c.Private, c.Firstprivate = r.variables(d.Private), r.variables(d.Firstprivate)
	c.Lastprivate, c.Shared = r.variables(d.Lastprivate), r.variables(d.Shared)
	c.Reductions, c.DistArrays = r.reductions(d.Reductions), r.distArrays(d.DistArrays)
	return &c
}

func (r *Rewrite) reductions(list []Reduction) []Reduction {
	if list == nil {
		return nil
	}
	out := make([]Reduction, len(list))
	for i, x := range list {
		out[i] = Reduction{Op: x.Op, Place: r.CopyExpr(x.Place), Index: r.CopyExpr(x.Index), Block: x.Block, Blocks: x.Blocks, At: x.At}
	}
	return out
}

func (r *Rewrite) distArrays(list []DistArray) []DistArray {
	if list == nil {
		return nil
	}
	out := make([]DistArray, len(list))
	for i, x := range list {
		out[i] = DistArray{Kind: x.Kind, Var: r.variable(x.Var), Chunk: r.CopyExpr(x.Chunk), At: x.At}
	}
	return out
}

// Subst returns a copy of e in which each reference of a variable that is a key of with is a copy
// of its expression.
func Subst(e Expr, with map[*Var]Expr) Expr { return substitution(with).CopyExpr(e) }

// SubstStmts is Subst for a list of statements. list must not assign to a variable that is a key.
func SubstStmts(list []Stmt, with map[*Var]Expr) []Stmt { return substitution(with).CopyStmts(list) }

func substitution(with map[*Var]Expr) *Rewrite {
	return &Rewrite{Expr: func(e Expr) Expr {
		if ref, ok := e.(*Ref); ok {
			if x, ok := with[ref.Var]; ok {
				return (&Rewrite{}).CopyExpr(x)
			}
		}
		return e
	}}
}

// Fresh returns a Rewrite that gives every variable declared in list, and every label in it, a new
// identity, so that a copy of list may stand beside the original. newVar makes a variable like the
// given one, with an ID of its own.
func Fresh(list []Stmt, newVar func(*Var) *Var) *Rewrite {
	declared, vars, labels := Declared(list), map[*Var]*Var{}, map[*Label]*Label{}
	for _, v := range declared.List() {
		vars[v] = newVar(v)
	}
	WalkStmts(list, func(s Stmt) bool {
		if l := LabelOf(s); l != nil {
			labels[l] = &Label{Name: l.Name}
		}
		return true
	})
	return &Rewrite{
		Var:   func(v *Var) *Var { return mapped(vars, v) },
		Label: func(l *Label) *Label { return mapped(labels, l) },
	}
}

func mapped[T any](m map[*T]*T, key *T) *T {
	if x, ok := m[key]; ok {
		return x
	}
	return key
}

// LabelOf returns the label of a loop or block, nil for every other statement.
func LabelOf(s Stmt) *Label {
	switch s := s.(type) {
	case *For:
		return s.Label
	case *While:
		return s.Label
	case *Block:
		return s.Label
	}
	return nil
}
